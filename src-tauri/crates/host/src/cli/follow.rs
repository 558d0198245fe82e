//! Following tasks through the feed, across cores: what `watch`, `call --wait` and `cancel --wait` stand on.
//!
//! A core that goes away is told once and waited for; the feed then goes on from the last place, so nothing is missed.
//! It never ends by itself: what counts as the end is the caller's.

use std::collections::VecDeque;
use std::time::Duration;

use api::dto::TaskDto;
use api::news::News;
use api::{ApiError, Code};
use futures::StreamExt as _;
use futures::stream::BoxStream;

use super::screen::Screen;
use crate::attach::Attached;
use crate::config::Config;

/// Tasks being followed.
pub(crate) struct Follow<'a> {
    attached: Attached,
    tasks: Vec<String>,
    after: Option<u64>,
    news: Option<BoxStream<'static, Result<News, ApiError>>>,
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
                    Some(Err(_)) | None => {
                        self.news = None;
                        self.tell_lost();
                        tokio::time::sleep(self.again).await;
                    }
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
                self.tell_lost();
                tokio::time::sleep(self.again).await;
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    fn tell_lost(&mut self) {
        if !self.lost {
            self.lost = true;
            self.screen.note("The core went away; waiting for it. Nothing that was recorded is lost.");
        }
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
