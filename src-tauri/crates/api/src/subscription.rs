//! The feed of a window: a snapshot, then at most one delta in a frame's time.
//!
//! It follows the engine's news, what the window watches, the desk and a few clocks, and puts what changed into one
//! frame. It is pulled: a slow reader gets fewer, fuller frames, and what it has not asked for stays in the change log.
//! Counts are read a few times a second at most, and once more at rest. `state.rs` beside it reads the rows;
//! `watching.rs` knows all feeds; `news.rs` is the older feed of the command line.

mod agents;
mod budgets;
mod inbox;
mod state;

use futures::StreamExt;
use futures::stream::{self, BoxStream};

use crate::api::Api;
use crate::caller::{Ability, Caller};
use crate::calls::Done;
use crate::error::{ApiError, Code};
use crate::frame::{FocusInput, Frame, SubscribeInput};
use crate::watching::Interest;
use state::Following;

impl Api {
    /// Opens a feed. The first frame is a snapshot; the stream ends with the core, after [`Frame::Resync`], or with an
    /// error. Dropping it closes the feed.
    ///
    /// # Errors
    /// When no core runs, a query cannot be read, or too many feeds are open.
    pub async fn open_feed(
        &self,
        caller: &Caller,
        input: SubscribeInput,
    ) -> Result<BoxStream<'static, Result<Frame, ApiError>>, ApiError> {
        caller.require(Ability::Read)?;
        let engine = self.live()?.engine.clone();
        let SubscribeInput { query, ids, task, visible } = input;
        let interest = self.interest(Interest { query, visible, ..Interest::default() }, &ids, task.as_deref())?;
        let most = self.policy.asking.feeds_max;
        let seat = self.feeds.take(interest, most).ok_or_else(|| {
            ApiError::new(
                Code::Refused,
                format!("{most} windows follow this core already"),
                "Close one of them; a closed one leaves at once.",
            )
        })?;
        let mut following = Following::new(self.clone(), caller.person.clone(), engine, seat);
        let first = following.snapshot().await?;
        let rest = stream::unfold(Some(following), |held| async move {
            let mut following = held?;
            match following.next().await {
                Ok(Some(frame @ (Frame::Snapshot(_) | Frame::Delta(_)))) => Some((Ok(frame), Some(following))),
                Ok(Some(last @ Frame::Resync { .. })) => Some((Ok(last), None)),
                Ok(None) => None,
                Err(error) => Some((Err(error), None)),
            }
        });
        Ok(stream::once(async move { Ok(first) }).chain(rest).boxed())
    }

    /// Changes what a feed watches; its next frame carries the view and the task anew.
    ///
    /// # Errors
    /// When there is no such feed, or a query cannot be read.
    pub async fn feed_focus(&self, _caller: &Caller, input: FocusInput) -> Result<Done, ApiError> {
        self.live()?;
        let FocusInput { feed, query, ids, task, visible } = input;
        let interest = self.interest(Interest { query, visible, ..Interest::default() }, &ids, task.as_deref())?;
        if self.feeds.focus(&feed, interest) {
            return Ok(Done {});
        }
        Err(ApiError::new(
            Code::NotFound,
            format!("there is no feed `{}`", crate::lookup::short(&feed)),
            "The window subscribes anew by itself.",
        ))
    }

    /// What is watched, with ids read. What is not an id is left out: a row may be gone before the window knows.
    fn interest(&self, begun: Interest, ids: &[String], task: Option<&str>) -> Result<Interest, ApiError> {
        let most = self.policy.asking.feed_rows_max;
        if ids.len() > most {
            return Err(ApiError::new(
                Code::Usage,
                format!("{} rows are too many to watch", ids.len()),
                format!("Watch the rows on screen, at most {most}."),
            ));
        }
        if let Some(query) = &begun.query {
            for word in &query.phases {
                crate::lookup::phase(word)?;
            }
        }
        Ok(Interest {
            ids: ids.iter().filter_map(|id| id.parse().ok()).collect(),
            task: task.and_then(|id| id.parse().ok()),
            visible: begun.visible,
            ..begun
        })
    }
}
