//! Whether calls can be recorded now, since when not, and which calls in flight have no row because of it.
//!
//! Asked before every agent call, watched by feeds, and retried while it is not possible. What the registry does about
//! a full disk is its own; the calls are in `unrecorded.rs`.

use std::sync::Arc;

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
    /// Since when this holds.
    pub since: Timestamp,
    /// Calls in flight whose row could not be written, the oldest first.
    pub unrecorded: Vec<UnrecordedCall>,
}

/// The current state, to be watched.
pub(crate) struct RecordingMonitor(watch::Sender<RecordingState>);

impl RecordingMonitor {
    pub(crate) fn new(now: Timestamp) -> Self {
        let state = RecordingState { recording: Recording::Possible, since: now, unrecorded: Vec::new() };
        Self(watch::Sender::new(state))
    }

    /// The state as of the last check.
    pub(crate) fn state(&self) -> RecordingState {
        self.0.borrow().clone()
    }

    /// Wakes at every change.
    pub(crate) fn watch(&self) -> watch::Receiver<RecordingState> {
        self.0.subscribe()
    }

    /// Waits until changes are recorded.
    pub(crate) async fn possible(&self) {
        let _ = self.0.subscribe().wait_for(|state| state.recording == Recording::Possible).await;
    }
}

/// Why a call cannot be recorded at this moment; `None` when it can.
pub(crate) fn fault(core: &EngineCore) -> Option<RecordingFault> {
    let recording = core.registry.recording();
    let is_news = core.calls.recording.0.borrow().recording != recording;
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
    let (recording, now) = (core.registry.recording(), core.time.now());
    let unrecorded = core.calls.unrecorded.calls();
    core.calls.recording.0.send_if_modified(|state| {
        let is_other = state.recording != recording;
        if is_other {
            (state.recording, state.since) = (recording, now);
        }
        let has_others = state.unrecorded != unrecorded;
        state.unrecorded = unrecorded;
        is_other || has_others
    });
}

impl Engine {
    /// Whether calls can be recorded, and which in flight have no row because they cannot.
    #[must_use]
    pub fn recording(&self) -> RecordingState {
        refresh(&self.core);
        self.core.calls.recording.state()
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
