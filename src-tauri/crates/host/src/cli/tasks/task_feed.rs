//! Watches tasks through the core's feed, across restarts of the core, for `watch`, `call --wait` and `cancel --wait`.
//!
//! A core that ends or does not answer is reported once and waited for, for as long as the policy says; the feed then
//! continues after the last change, so nothing is missed. What counts as the end of the task is the caller's decision.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use api::dto::TaskDto;
use api::dto::task::ServerViewKind;
use api::feed::task_feed::TaskUpdate;
use api::format::time;
use api::{ApiError, Code};
use domain::task::status::Phase;
use futures::StreamExt as _;
use futures::stream::BoxStream;

use crate::app::socket_client::{self, SILENT_HINT, SocketClient};
use crate::cli::output::screen::Screen;
use crate::config::Config;

/// Changes of some tasks, or of all.
pub(crate) struct TaskFeed<'a> {
    attached: SocketClient,
    tasks: Vec<String>,
    after: Option<u64>,
    news: Option<BoxStream<'static, Result<TaskUpdate, ApiError>>>,
    waiting: VecDeque<TaskDto>,
    core: CoreWait<'a>,
    /// The first connection has to work: without a core there is nothing to wait for.
    begun: bool,
}

impl<'a> TaskFeed<'a> {
    /// Watches these tasks, or all if there are none.
    pub(crate) fn new(attached: &SocketClient, tasks: Vec<String>, config: &Config, screen: &'a Screen) -> Self {
        Self {
            attached: attached.clone(),
            tasks,
            after: None,
            news: None,
            waiting: VecDeque::new(),
            core: CoreWait::new(config, screen),
            begun: false,
        }
    }

    /// The next task that changed, as it is now. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Result<TaskDto, ApiError> {
        loop {
            if let Some(task) = self.waiting.pop_front() {
                return Ok(task);
            }
            match &mut self.news {
                Some(news) => match news.next().await {
                    Some(Ok(piece)) => {
                        self.after = Some(piece.upto);
                        self.waiting.extend(piece.tasks);
                    }
                    Some(Err(error)) if error.code != Code::NoCore => return Err(error),
                    Some(Err(error)) => self.lose(Some(&error)).await?,
                    None => self.lose(None).await?,
                },
                None => self.connect().await?,
            }
        }
    }

    async fn connect(&mut self) -> Result<(), ApiError> {
        match self.attached.feed(&self.tasks, self.after).await {
            Ok(news) => {
                self.core.back();
                self.begun = true;
                self.news = Some(news);
                Ok(())
            }
            Err(error) if error.code == Code::NoCore && self.begun => self.lose(Some(&error)).await,
            Err(error) => Err(error),
        }
    }

    async fn lose(&mut self, error: Option<&ApiError>) -> Result<(), ApiError> {
        self.news = None;
        self.core.lost(error).await
    }
}

/// Waits for a core that ended or does not answer.
pub(crate) struct CoreWait<'a> {
    retry_after: Duration,
    limit: Duration,
    screen: &'a Screen,
    /// Since when it cannot be reached.
    lost: Option<Instant>,
}

impl<'a> CoreWait<'a> {
    pub(crate) fn new(config: &Config, screen: &'a Screen) -> Self {
        let hosting = &config.policy.hosting;
        Self { retry_after: hosting.attach_again, limit: hosting.core_wait, screen, lost: None }
    }

    /// The core cannot be reached: says so once, and waits before the next attempt. Cancel-safe.
    ///
    /// # Errors
    /// When it has been away for longer than a command waits.
    pub(crate) async fn lost(&mut self, error: Option<&ApiError>) -> Result<(), ApiError> {
        match self.lost {
            None => {
                self.lost = Some(Instant::now());
                if error.is_some_and(socket_client::is_silent) {
                    self.screen.note(&format!("The core does not answer; waiting for it. {SILENT_HINT}"));
                } else {
                    self.screen.note("The core ended; waiting for a new one. Nothing that was recorded is lost.");
                }
            }
            Some(since) if since.elapsed() >= self.limit => return Err(self.gave_up()),
            Some(_) => {}
        }
        tokio::time::sleep(self.retry_after).await;
        Ok(())
    }

    /// The core answers again: says so, if it did not before.
    pub(crate) fn back(&mut self) {
        if self.lost.take().is_some() {
            self.screen.note("The core is back.");
        }
    }

    fn gave_up(&self) -> ApiError {
        ApiError::new(
            Code::NoCore,
            format!("no core answered for {}", time::span(self.limit)),
            "Start one with `taskwarden serve` and watch again. Nothing that was recorded is lost.",
        )
    }
}

/// The exit code of a task from which nothing more can come; `None` while it is open.
pub(crate) fn ended(task: &TaskDto) -> Option<u8> {
    if task.phase.0 == Phase::Done {
        return Some(crate::cli::DONE);
    }
    // The reply of an unanswered call can no longer arrive; waiting for it would never end.
    (task.over || task.view == ServerViewKind::Unanswered).then_some(crate::cli::output::exit_code::FAILED)
}
