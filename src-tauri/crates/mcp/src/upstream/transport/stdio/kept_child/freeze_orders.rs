//! Orders to a keeper to stop the processes of its child, each with its answer.
//!
//! One order is one reading; whoever wants the processes to stand still orders again until two readings agree (the
//! engine's `connections/freeze.rs`).

use std::collections::HashMap;
use std::time::Duration;

use domain::ports::FreezeReading;
use keeper::{FrameKind, FreezeReport, KeeperFrame};
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::keeper_link::Kept;

/// Orders that the keeper has not answered.
pub(super) struct FreezeOrders {
    /// A keeper of an earlier version leaves a core that sends it such an order.
    may_order: bool,
    limit: Duration,
    open: Mutex<OpenOrders>,
}

#[derive(Default)]
struct OpenOrders {
    last: u64,
    waiting: HashMap<u64, oneshot::Sender<FreezeReading>>,
}

impl FreezeOrders {
    pub(super) fn new(may_order: bool, limit: Duration) -> Self {
        Self { may_order, limit, open: Mutex::default() }
    }

    /// Whether the keeper knows such orders.
    pub(super) const fn may_order(&self) -> bool {
        self.may_order
    }

    /// The number of a new order, and where its answer comes.
    pub(super) fn begin(&self) -> Option<(u64, oneshot::Receiver<FreezeReading>)> {
        if !self.may_order {
            return None;
        }
        let (tell, found) = oneshot::channel();
        let mut open = self.open.lock();
        open.last += 1;
        let number = open.last;
        open.waiting.insert(number, tell);
        Some((number, found))
    }

    /// Waits for the answer; `None` when the keeper gives none in time.
    pub(super) async fn wait(&self, number: u64, found: oneshot::Receiver<FreezeReading>) -> Option<FreezeReading> {
        let found = timeout(self.limit, found).await;
        self.open.lock().waiting.remove(&number);
        found.ok()?.ok()
    }

    /// The keeper answered.
    pub(super) fn answered(&self, number: u64, body: &[u8]) {
        let waiting = self.open.lock().waiting.remove(&number);
        let report = serde_json::from_slice::<FreezeReport>(body).ok();
        if let (Some(waiting), Some(report)) = (waiting, report) {
            let _ = waiting.send(report.into());
        }
    }
}

impl Kept {
    /// Orders the keeper to stop the child's processes, or to let them continue, and waits for what it found.
    pub(super) async fn freeze(&self, is_frozen: bool) -> Option<FreezeReading> {
        let (number, found) = self.freezing.begin()?;
        let kind = if is_frozen { FrameKind::Freeze } else { FrameKind::Thaw };
        self.tell(|log| log.say(KeeperFrame::bare(kind, number)));
        self.freezing.wait(number, found).await
    }
}
