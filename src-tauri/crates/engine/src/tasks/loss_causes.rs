//! Names the cause of losses: tasks of one server that are lost one right after the other have one cause.
//!
//! The name is the moment of the first loss. It is stored with each task, so that an item of the inbox keeps its name
//! when its first task is settled alone (decision 0043).

use std::collections::HashMap;
use std::time::Duration;

use domain::ids::ServerId;
use domain::task::TaskHandle;
use domain::task::status::ServerView;
use domain::time::Timestamp;
use parking_lot::Mutex;

/// Where something is lost, and in which way.
type LossPlace = (ServerId, u32, bool);

/// The last cause at each place.
#[derive(Debug, Default)]
pub(crate) struct LossCauses {
    last: Mutex<HashMap<LossPlace, LastLoss>>,
}

#[derive(Debug, Clone, Copy)]
struct LastLoss {
    first: Timestamp,
    newest: Timestamp,
}

impl LossCauses {
    /// When the first task was lost for the cause for which this one is lost now.
    pub(crate) fn first_of(&self, handle: &TaskHandle, now: Timestamp, gap: Duration) -> Timestamp {
        let is_unanswered = matches!(handle.view, ServerView::Unanswered { .. });
        let mut last = self.last.lock();
        // What is older than the gap is no cause of anything any more; so there is at most one for each server.
        last.retain(|_, loss| now.since(loss.newest) <= gap);
        let loss = last
            .entry((handle.server, handle.home.generation, is_unanswered))
            .or_insert(LastLoss { first: now, newest: now });
        loss.newest = now;
        loss.first
    }
}
