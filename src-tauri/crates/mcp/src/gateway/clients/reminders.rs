//! Reminds calls that have been waiting for a while that time passes, so that a quick call needs no timer of its own.
//!
//! One task serves all calls: it ticks while any call waits for its first reply and sleeps without a timer otherwise. A
//! call that is reminded sets its own timer for the next heartbeat (`calls/progress.rs`).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

use crate::gateway::clients::agent_meter::{AgentMeter, WaitingCall};
use crate::gateway::state::GatewayState;

/// Whether reminders are being sent.
#[derive(Default)]
pub(crate) struct Reminders {
    is_running: AtomicBool,
    begun: Notify,
}

impl Reminders {
    /// A call waits for its first reply from now until the value is dropped.
    pub(crate) fn begin<'a>(&self, meter: &'a AgentMeter) -> WaitingCall<'a> {
        let waiting = meter.wait();
        // It counts before it looks, and the task below looks again after it said that it stops: one sees the other.
        if !self.is_running.load(Ordering::SeqCst) && !self.is_running.swap(true, Ordering::SeqCst) {
            self.begun.notify_one();
        }
        waiting
    }
}

/// Reminds waiting calls, for ever. They are reminded twice in the time after which a heartbeat is due, so that the
/// first heartbeat is never late.
pub(crate) async fn run(state: Arc<GatewayState>) {
    let every = state.policy.gateway.progress_every / 2;
    loop {
        state.reminders.begun.notified().await;
        loop {
            tokio::time::sleep(every).await;
            if state.limits.remind() {
                continue;
            }
            state.reminders.is_running.store(false, Ordering::SeqCst);
            let is_needed = state.limits.has_waiting_calls();
            if !is_needed || state.reminders.is_running.swap(true, Ordering::SeqCst) {
                break;
            }
        }
    }
}
