//! Tool calls, from admission to the task row, for people (`admission.rs`) and agents (`agent_call.rs`).
//!
//! A call is sent once and never again. Polling the task that a call creates is the server actor's.

pub(crate) mod admission;
pub(crate) mod agent_call;
mod alarm_cancels;
pub(crate) mod call_share;
pub(crate) mod context;
pub(crate) mod dedup;
pub(crate) mod gated;
pub(crate) mod handle_release;
pub(crate) mod lineage;
pub(crate) mod loop_detector;
pub(crate) mod pending_call;
pub(crate) mod receipts;
pub(crate) mod recording;
pub(crate) mod show_sweep;
pub(crate) mod unrecorded;

use domain::time::Timestamp;

use crate::calls::context::CallContexts;
use crate::calls::dedup::CallDedup;
use crate::calls::loop_detector::LoopDetector;
use crate::calls::recording::RecordingMonitor;
use crate::calls::show_sweep::ShowSweep;
use crate::calls::unrecorded::UnrecordedCalls;

/// What is known of calls beside their rows.
pub(crate) struct CallState {
    /// What further rounds of a call carry.
    pub(crate) contexts: CallContexts,
    /// Which calls a repeated one joins.
    pub(crate) dedup: CallDedup,
    /// Whether calls can be recorded.
    pub(crate) recording: RecordingMonitor,
    /// Calls in flight that have no row because they cannot be recorded.
    pub(crate) unrecorded: UnrecordedCalls,
    /// Gives calls that last a row.
    pub(crate) show_sweep: ShowSweep,
    /// Tells people what agents call again and again.
    pub(crate) loops: LoopDetector,
}

impl CallState {
    pub(crate) fn new(now: Timestamp) -> Self {
        Self {
            contexts: CallContexts::default(),
            dedup: CallDedup::default(),
            recording: RecordingMonitor::new(now),
            unrecorded: UnrecordedCalls::default(),
            show_sweep: ShowSweep::default(),
            loops: LoopDetector::default(),
        }
    }
}
