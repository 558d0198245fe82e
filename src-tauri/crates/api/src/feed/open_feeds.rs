//! Open feeds and what each of them watches.
//!
//! A feed's entry lives as long as its [`FeedRegistration`], which the stream holds. Its focus is a single slot that the feed
//! reads when it is ready, so that a busy window cannot fill a queue. User data has a change counter of its own.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::ids::HandleId;
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::dto::ListQuery;

/// What a feed watches.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct FeedFocus {
    pub(crate) query: Option<ListQuery>,
    pub(crate) ids: Vec<HandleId>,
    pub(crate) task: Option<HandleId>,
    pub(crate) visible: bool,
}

/// All open feeds.
#[derive(Clone)]
pub(crate) struct Feeds {
    open: Arc<Mutex<Open>>,
    desk: Arc<watch::Sender<u64>>,
    hidden: Arc<watch::Sender<u64>>,
}

#[derive(Default)]
struct Open {
    made: u64,
    feeds: BTreeMap<String, watch::Sender<FeedFocus>>,
}

/// The place of one feed.
pub(crate) struct FeedRegistration {
    pub(crate) name: String,
    pub(crate) interest: watch::Receiver<FeedFocus>,
    pub(crate) desk: watch::Receiver<u64>,
    /// Moves when people hide tasks or show them again.
    pub(crate) hidden: watch::Receiver<u64>,
    open: Arc<Mutex<Open>>,
}

impl Feeds {
    pub(crate) fn new() -> Self {
        Self { open: Arc::default(), desk: Arc::new(watch::Sender::new(0)), hidden: Arc::new(watch::Sender::new(0)) }
    }

    /// A place for one more feed; `None` when all are taken.
    pub(crate) fn take(&self, interest: FeedFocus, most: usize) -> Option<FeedRegistration> {
        let mut open = self.open.lock();
        if open.feeds.len() >= most {
            return None;
        }
        open.made += 1;
        let name = format!("feed-{}", open.made);
        let (sender, interest) = watch::channel(interest);
        open.feeds.insert(name.clone(), sender);
        Some(FeedRegistration {
            name,
            interest,
            desk: self.desk.subscribe(),
            hidden: self.hidden.subscribe(),
            open: Arc::clone(&self.open),
        })
    }

    /// Changes what a feed watches; false when there is no such feed.
    pub(crate) fn focus(&self, feed: &str, interest: FeedFocus) -> bool {
        let open = self.open.lock();
        let Some(sender) = open.feeds.get(feed) else { return false };
        sender.send_replace(interest);
        true
    }

    /// Whether this task is before somebody's eyes.
    pub(crate) fn is_on_screen(&self, task: HandleId) -> bool {
        self.open.lock().feeds.values().any(|feed| {
            let interest = feed.borrow();
            interest.visible && interest.task == Some(task)
        })
    }

    /// Moves when something at the desk changes.
    pub(crate) fn desk(&self) -> watch::Receiver<u64> {
        self.desk.subscribe()
    }

    /// Something at the desk changed.
    pub(crate) fn desk_changed(&self) {
        self.desk.send_modify(|times| *times += 1);
    }

    /// Tasks were hidden, or shown again.
    pub(crate) fn hidden_changed(&self) {
        self.hidden.send_modify(|times| *times += 1);
    }
}

impl Drop for FeedRegistration {
    fn drop(&mut self) {
        self.open.lock().feeds.remove(&self.name);
    }
}
