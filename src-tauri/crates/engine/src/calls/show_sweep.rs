//! Gives calls that last a row, so that people see them: one look at all calls in flight instead of a timer for each.
//!
//! Looks at intervals while agents make calls, and sleeps otherwise. A call that ends before its row is wanted never
//! hears of this. How the row is made is in `pending_call.rs`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::connections::connection::ServerConnection;
use crate::connections::in_flight_call::InFlightCall;
use crate::core::EngineCore;

/// The sweep waits for a call.
const ASLEEP: u8 = 0;
/// No call began since the last look.
const QUIET: u8 = 1;
/// A call began since the last look.
const BEGAN: u8 = 2;

/// Wakes the sweep when the first call comes.
pub(crate) struct ShowSweep {
    state: AtomicU8,
    wake: Notify,
}

impl Default for ShowSweep {
    fn default() -> Self {
        Self { state: AtomicU8::new(QUIET), wake: Notify::new() }
    }
}

impl ShowSweep {
    /// A call without a row was registered with its connection. Wakes the sweep only when it sleeps.
    pub(crate) fn call_began(&self) {
        if self.state.load(Ordering::Acquire) != BEGAN && self.state.swap(BEGAN, Ordering::AcqRel) == ASLEEP {
            self.wake.notify_one();
        }
    }
}

/// Looks for calls that last, for ever.
pub(crate) async fn run(core: Arc<EngineCore>) {
    let sweep = &core.calls.show_sweep;
    loop {
        let before = sweep.state.swap(QUIET, Ordering::AcqRel);
        let is_idle = !has_swept(&core) && before != BEGAN;
        if is_idle && sweep.state.compare_exchange(QUIET, ASLEEP, Ordering::AcqRel, Ordering::Acquire).is_ok() {
            // A call that was registered before the state was set does not wake this, so it is looked for once more. The
            // lock of the connection's calls orders the two.
            if !has_swept(&core) {
                sweep.wake.notified().await;
            }
        }
        tokio::time::sleep(core.policy.gateway.show_every).await;
    }
}

/// Asks for the rows that are due. Returns whether any call in flight has none.
fn has_swept(core: &EngineCore) -> bool {
    let mut has_calls = false;
    let now = Instant::now();
    for connection in core.connections.all() {
        has_calls |= has_swept_connection(core, &connection, now);
    }
    has_calls
}

fn has_swept_connection(core: &EngineCore, connection: &ServerConnection, now: Instant) -> bool {
    let policy = &core.policy;
    let calls = connection.calls_without_row();
    // With many at once it is the machine that is slow, and not the call.
    let is_busy = calls.len() > policy.gateway.shown_at_once;
    let mut due: Vec<&Arc<InFlightCall>> = Vec::new();
    for call in &calls {
        let age = now.saturating_duration_since(call.since);
        if age < policy.gateway.shown_after {
            continue;
        }
        if call.is_deferred() {
            if age >= policy.promote_after {
                due.push(call);
            }
        } else if is_busy {
            call.defer_row();
        } else {
            due.push(call);
        }
    }
    due.sort_by_key(|call| call.since);
    due.iter().for_each(|call| call.want_row());
    !calls.is_empty()
}
