//! Whether calls can be recorded now, since when not, and which calls in flight have no row because of it.
//!
//! Asked before every agent call, watched by feeds, and retried while it is not possible. While the disk has little room
//! left, new work is refused although changes are still recorded: a call that left can then get its row. What the registry
//! does about a full disk is its own; the calls are in `unrecorded.rs`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use domain::ports::{Recording, RecordingFault};
use domain::time::Timestamp;
use tokio::sync::watch;

use crate::calls::unrecorded::UnrecordedCall;
use crate::core::EngineCore;
use crate::engine::Engine;

/// Whether calls can be recorded, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordingState {
    /// Whether changes are recorded.
    pub recording: Recording,
    /// Whether calls are refused although what is in progress and what people decide is recorded: there is still room.
    pub is_early: bool,
    /// Since when this holds.
    pub since: Timestamp,
    /// Calls in flight whose row could not be written, the oldest first.
    pub unrecorded: Vec<UnrecordedCall>,
}

/// The current state, to be watched.
pub(crate) struct RecordingMonitor {
    state: watch::Sender<RecordingState>,
    /// The disk has little room left.
    is_disk_low: AtomicBool,
}

impl RecordingMonitor {
    pub(crate) fn new(now: Timestamp) -> Self {
        let recording = Recording::Possible;
        let state = RecordingState { recording, is_early: false, since: now, unrecorded: Vec::new() };
        Self { state: watch::Sender::new(state), is_disk_low: AtomicBool::new(false) }
    }

    /// The state as of the last check.
    pub(crate) fn state(&self) -> RecordingState {
        self.state.borrow().clone()
    }

    /// Wakes at every change.
    pub(crate) fn watch(&self) -> watch::Receiver<RecordingState> {
        self.state.subscribe()
    }

    /// Waits until changes are recorded.
    pub(crate) async fn possible(&self) {
        let _ = self.state.subscribe().wait_for(|state| state.recording == Recording::Possible).await;
    }
}

/// What holds for new work, and whether it is refused although changes are recorded.
fn for_new_work(core: &EngineCore) -> (Recording, bool) {
    match core.registry.recording() {
        Recording::Possible if core.calls.recording.is_disk_low.load(Ordering::Relaxed) => {
            (Recording::Impossible(RecordingFault::DiskFull), true)
        }
        recording => (recording, false),
    }
}

/// Why a call cannot be recorded at this moment, or soon after; `None` when it can.
pub(crate) fn fault(core: &EngineCore) -> Option<RecordingFault> {
    let (recording, _) = for_new_work(core);
    let is_news = core.calls.recording.state.borrow().recording != recording;
    if is_news {
        refresh(core);
    }
    match recording {
        Recording::Possible => None,
        Recording::Impossible(fault) => Some(fault),
    }
}

/// Reads what the registry says now, and wakes watchers of a change.
pub(crate) fn refresh(core: &EngineCore) {
    let ((recording, is_early), now) = (for_new_work(core), core.time.now());
    let unrecorded = core.calls.unrecorded.calls();
    core.calls.recording.state.send_if_modified(|state| {
        let is_other = state.recording != recording;
        if is_other {
            (state.recording, state.since) = (recording, now);
        }
        let has_others = state.unrecorded != unrecorded;
        state.unrecorded = unrecorded;
        let is_nearer = std::mem::replace(&mut state.is_early, is_early) != is_early;
        is_other || has_others || is_nearer
    });
}

impl Engine {
    /// Whether calls can be recorded, and which in flight have no row because they cannot.
    #[must_use]
    pub fn recording(&self) -> RecordingState {
        refresh(&self.core);
        self.core.calls.recording.state()
    }

    /// Says whether the disk of the registry has so little room left that no new work begins. What is in progress and what
    /// people decide is recorded as before.
    pub fn note_disk_room(&self, is_low: bool) {
        let monitor = &self.core.calls.recording;
        if monitor.is_disk_low.swap(is_low, Ordering::Relaxed) != is_low {
            if is_low {
                tracing::warn!("the disk has little room left; new calls of agents are refused before they leave");
            } else {
                tracing::warn!("the disk has room again for new calls of agents");
            }
            refresh(&self.core);
        }
    }

    /// Sleeps until the next whole interval, together with the engine's own workers: an idle core wakes no more often for
    /// one more of them.
    pub async fn next_interval(&self, every: Duration) {
        self.core.time.next_interval(every).await;
    }

    /// Wakes when that changes.
    #[must_use]
    pub fn recording_watch(&self) -> watch::Receiver<RecordingState> {
        self.core.calls.recording.watch()
    }
}

/// Checks at intervals and tries again while recording is not possible, for ever.
pub(crate) async fn run(core: Arc<EngineCore>) {
    loop {
        core.time.next_interval(core.policy.retention.record_again).await;
        refresh(&core);
        match core.registry.recording() {
            Recording::Possible | Recording::Impossible(RecordingFault::Damaged | RecordingFault::SlowDisk) => {}
            Recording::Impossible(_) => {
                let tried = core.registry.try_recording();
                // A disk that hangs must not hang this.
                let _ = tokio::time::timeout(core.policy.retention.slow_commit, tried).await;
                refresh(&core);
            }
        }
    }
}
