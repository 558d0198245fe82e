//! Following tasks through the feed, across cores: what `watch`, `call --wait` and `cancel --wait` stand on.
//!
//! A core that goes away, or does not answer, is told once and waited for; the feed then goes on from the last place, so nothing is missed.
//! It never ends by itself: what counts as the end is the caller's.

use std::collections::VecDeque;
use std::time::Duration;

use api::dto::TaskDto;
use api::feed::task_feed::TaskUpdate;
use api::{ApiError, Code};
use futures::StreamExt as _;
use futures::stream::BoxStream;

use super::screen::Screen;
use crate::attach::{self, Attached, SILENT_HINT};
use crate::config::Config;

/// Tasks being followed.
pub(crate) struct Follow<'a> {
    attached: Attached,
    tasks: Vec<String>,
    after: Option<u64>,
    news: Option<BoxStream<'static, Result<TaskUpdate, ApiError>>>,
    waiting: VecDeque<TaskDto>,
    again: Duration,
    screen: &'a Screen,
    lost: bool,
    /// The first connection must work: without a core there is nothing to wait for.
    begun: bool,
}

impl<'a> Follow<'a> {
    /// Follows these tasks, or all.
    pub(crate) fn new(attached: &Attached, tasks: Vec<String>, config: &Config, screen: &'a Screen) -> Self {
        Self {
            attached: attached.clone(),
            tasks,
            after: None,
            news: None,
            waiting: VecDeque::new(),
            again: config.policy.hosting.attach_again,
            screen,
            lost: false,
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
                    Some(Err(error)) => self.lose(Some(&error)).await,
                    None => self.lose(None).await,
                },
                None => self.connect().await?,
            }
        }
    }

    async fn connect(&mut self) -> Result<(), ApiError> {
        match self.attached.feed(&self.tasks, self.after).await {
            Ok(news) => {
                if self.lost {
                    self.lost = false;
                    self.screen.note("The core is back.");
                }
                self.begun = true;
                self.news = Some(news);
                Ok(())
            }
            Err(error) if error.code == Code::NoCore && self.begun => {
                self.lose(Some(&error)).await;
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// There is no core to hear from: says so once, and lets a moment pass.
    async fn lose(&mut self, error: Option<&ApiError>) {
        self.news = None;
        if !self.lost {
            self.lost = true;
            if error.is_some_and(attach::is_silent) {
                self.screen.note(&format!("The core does not answer; waiting for it. {SILENT_HINT}"));
            } else {
                self.screen.note("The core went away; waiting for it. Nothing that was recorded is lost.");
            }
        }
        tokio::time::sleep(self.again).await;
    }
}

/// How a task that nothing more can come of counts as an exit code; `None` while it goes on.
pub(crate) fn ended(task: &TaskDto) -> Option<u8> {
    if task.phase == "done" {
        return Some(super::DONE);
    }
    // The reply of an unanswered call can no longer arrive; waiting for it would never end.
    (task.over || task.view == "unanswered").then_some(super::FAILED)
}
