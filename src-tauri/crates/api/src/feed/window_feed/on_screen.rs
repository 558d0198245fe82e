//! What is on screen of one feed: the list with its counts, the rows of it that are seen, and one task.
//!
//! The window says what that is (`feed.focus`). A row is told when its task changes and, while the window is in front, when
//! it was heard of again, which is no change of the task.

use std::collections::HashSet;
use std::sync::Arc;

use domain::ids::HandleId;

use super::WindowFeed;
use crate::dto::{ListView, TaskDto};
use crate::error::ApiError;
use crate::feed::frame::FeedDelta;

impl WindowFeed {
    pub(super) fn watches_contact(&self) -> bool {
        self.interest.visible && (self.interest.task.is_some() || !self.rows.is_empty())
    }

    pub(super) async fn refocus(&mut self, delta: &mut FeedDelta) -> Result<(), ApiError> {
        self.interest = self.seat.interest.borrow_and_update().clone();
        let now: HashSet<HandleId> = self.interest.ids.iter().copied().collect();
        let before = std::mem::replace(&mut self.rows, now);
        self.heard.retain(|id, _| self.rows.contains(id) || self.interest.task == Some(*id));
        // Between the page that brought a row and this moment it may have changed.
        for id in self.rows.difference(&before).copied().collect::<Vec<_>>() {
            self.push_row(id, delta).await?;
        }
        delta.view = self.view().await?;
        delta.task = self.task_on_screen().await?;
        Ok(())
    }

    /// Contact is no change of a task, but people read it on screen.
    pub(super) async fn read_heard(&mut self, delta: &mut FeedDelta) -> Result<(), ApiError> {
        for id in self.rows.iter().copied().chain(self.interest.task).collect::<Vec<_>>() {
            let Some(facts) = self.engine.live(id) else { continue };
            if self.heard.insert(id, facts.clone()) == Some(facts) {
                continue;
            }
            if self.rows.contains(&id) && !delta.rows.iter().any(|row| row.id == id.to_string()) {
                self.push_row(id, delta).await?;
            }
            if self.interest.task == Some(id) && delta.task.is_none() {
                delta.task = self.task_on_screen().await?;
            }
        }
        Ok(())
    }

    async fn push_row(&mut self, id: HandleId, delta: &mut FeedDelta) -> Result<(), ApiError> {
        let task = match self.engine.task(id) {
            Some(task) => Some(task),
            None => self.api.registry.handle(id).await?.map(Arc::new),
        };
        if let Some(task) = task {
            delta.rows.push(self.api.row(&task, &mut self.names).await?);
        }
        Ok(())
    }

    pub(super) async fn task_on_screen(&mut self) -> Result<Option<TaskDto>, ApiError> {
        match self.interest.task {
            Some(id) => self.api.task_if_there(id, &mut self.names).await,
            None => Ok(None),
        }
    }

    pub(super) async fn view(&mut self) -> Result<Option<ListView>, ApiError> {
        match &self.interest.query {
            Some(query) => Ok(Some(self.api.list_view(query, &mut self.names).await?)),
            None => Ok(None),
        }
    }
}
