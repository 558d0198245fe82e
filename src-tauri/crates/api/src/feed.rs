//! The window's feed: a snapshot, then at most one delta per frame interval.
//!
//! It merges engine changes, the window's focus, user data and a few timers into one frame. It is pull-based: a slow reader
//! gets fewer, fuller frames, and unread changes stay in the change log. `window_feed.rs` builds frames, `open_feeds.rs`
//! lists open feeds; `task_feed.rs` is the command line's feed.

mod agents;
mod budgets;
pub mod frame;
mod halt;
mod inbox;
pub(crate) mod open_feeds;
mod pauses;
pub mod task_feed;
mod window_feed;

use futures::StreamExt;
use futures::stream::{self, BoxStream};

use crate::api::Api;
use crate::caller::{Ability, Caller};
use crate::calls::Done;
use crate::error::{ApiError, Code};
use crate::feed::frame::{FeedFrame, FocusInput, SubscribeInput};
use crate::feed::open_feeds::FeedFocus;
use window_feed::WindowFeed;

impl Api {
    /// Opens a feed. The first frame is a snapshot; the stream ends with the core, after [`FeedFrame::Resync`], or with an
    /// error. Dropping it closes the feed.
    ///
    /// # Errors
    /// When no core runs, a query cannot be read, or too many feeds are open.
    pub async fn open_feed(
        &self,
        caller: &Caller,
        input: SubscribeInput,
    ) -> Result<BoxStream<'static, Result<FeedFrame, ApiError>>, ApiError> {
        caller.require(Ability::Read)?;
        let engine = self.live()?.engine.clone();
        let SubscribeInput { query, ids, task, visible } = input;
        let interest = self.interest(FeedFocus { query, visible, ..FeedFocus::default() }, &ids, task.as_deref())?;
        let most = self.policy.asking.feeds_max;
        let seat = self.feeds.take(interest, most).ok_or_else(|| {
            ApiError::new(
                Code::Refused,
                format!("{most} windows are already connected to this core"),
                "Close one of them.",
            )
        })?;
        // Boxed: what it remembers, and what a snapshot holds while it waits, are large.
        let mut following = Box::new(WindowFeed::new(self.clone(), caller.person.clone(), engine, seat));
        let first = Box::pin(following.snapshot()).await?;
        let rest = stream::unfold(Some(following), |held| async move {
            let mut following = held?;
            match following.next().await {
                Ok(Some(frame @ (FeedFrame::Snapshot(_) | FeedFrame::Delta(_)))) => Some((Ok(frame), Some(following))),
                Ok(Some(last @ FeedFrame::Resync { .. })) => Some((Ok(last), None)),
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
        let interest = self.interest(FeedFocus { query, visible, ..FeedFocus::default() }, &ids, task.as_deref())?;
        if self.feeds.focus(&feed, interest) {
            return Ok(Done {});
        }
        Err(ApiError::new(
            Code::NotFound,
            format!("there is no feed `{}`", crate::lookup::short(&feed)),
            "The window subscribes again automatically.",
        ))
    }

    /// What is watched, with ids read. What is not an id is left out: a row may be gone before the window knows.
    fn interest(&self, begun: FeedFocus, ids: &[String], task: Option<&str>) -> Result<FeedFocus, ApiError> {
        let most = self.policy.asking.feed_rows_max;
        if ids.len() > most {
            return Err(ApiError::new(
                Code::Usage,
                format!("{} rows were given; too many to watch", ids.len()),
                format!("Watch the rows on screen, at most {most}."),
            ));
        }
        if let Some(query) = &begun.query {
            for word in &query.phases {
                crate::lookup::phase(word)?;
            }
        }
        Ok(FeedFocus {
            ids: ids.iter().filter_map(|id| id.parse().ok()).collect(),
            task: task.and_then(|id| id.parse().ok()),
            visible: begun.visible,
            ..begun
        })
    }
}
