//! What every part of the engine holds: the ports, the ledger, and the places where words are left.
//!
//! No behaviour of its own beyond small questions that several parts ask. Read `engine.rs` for how it is put together.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use domain::task::TaskHandle;
use domain::task::Transition;
use domain::ids::{AgentId, HostId, ServerId};
use domain::policy::Policy;
use domain::ports::{CallIntents, Clock, Connector, Notifier, Registry, RegistryError, UpstreamError};
use domain::policy::schedule::next_reconnect;
use domain::time::Timestamp;
use parking_lot::{Mutex, RwLock};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::attend::Board;
use crate::budget::Budget;
use crate::clock_watch::ClockSteps;
use crate::company::Companies;
use crate::dice::Dice;
use crate::gauge::Gauges;
use crate::ledger::{Applied, Ledger, LedgerError};
use crate::parcels::Parcels;
use crate::post::Posts;
use crate::presence::Presences;
use crate::pulse::Pulse;
use crate::recording::RecordingMonitor;
use crate::repeats::Repeats;
use crate::retention::Storage;
use crate::roster::Roster;
use crate::shared_questions::SharedBoard;
use crate::supervisor::Supervisor;
use crate::unrecorded::Unrecorded;

/// The engine's insides, shared by all its parts.
pub(crate) struct Core {
    pub(crate) registry: Arc<dyn Registry>,
    pub(crate) intents: Arc<dyn CallIntents>,
    pub(crate) connector: Arc<dyn Connector>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) notifier: Arc<dyn Notifier>,
    pub(crate) policy: Arc<Policy>,
    pub(crate) host: HostId,
    pub(crate) dice: Dice,
    pub(crate) ledger: Ledger,
    /// What agents' windows hold, and what may come into them.
    pub(crate) budget: Arc<Budget>,
    pub(crate) posts: Arc<Posts>,
    pub(crate) parcels: Arc<Parcels>,
    pub(crate) board: Arc<Board>,
    pub(crate) pulse: Arc<Pulse>,
    pub(crate) scope: Supervisor,
    /// Agents and rules as last read.
    pub(crate) roster: Arc<RwLock<Arc<Roster>>>,
    /// Told when agents or rules were read anew.
    pub(crate) roster_read: tokio::sync::watch::Sender<()>,
    /// Why people revoked agents in this run, in their words.
    pub(crate) revocations: Mutex<HashMap<AgentId, Arc<str>>>,
    pub(crate) presences: Arc<Presences>,
    pub(crate) repeats: Repeats,
    pub(crate) companies: Companies,
    /// When the wall clock was set.
    pub(crate) clock_steps: ClockSteps,
    /// Whether calls can be recorded.
    pub(crate) recording: RecordingMonitor,
    /// Calls in flight that have no row because they cannot be recorded.
    pub(crate) unrecorded: Unrecorded,
    /// What is stored, and how long.
    pub(crate) storage: Storage,
    /// Tasks that store questions which may be others'.
    pub(crate) shared: Arc<SharedBoard>,
    /// Our own reads over all servers; first come, first served, and no server may wait with more than its own slots,
    /// so that one with 9,990 tasks cannot keep the others waiting (ruling 12).
    pub(crate) reads: Arc<Semaphore>,
    /// New calls are refused and nothing is looked at any more.
    pub(crate) stopping: AtomicBool,
    /// What is in use of the limits.
    pub(crate) gauges: Gauges,
}

impl Core {
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Agents and rules of this moment.
    pub(crate) fn roster(&self) -> Arc<Roster> {
        Arc::clone(&self.roster.read())
    }

    /// The runtime's instant of a moment, for sleeping until then, at most `timer_look` away: the runtime's clock stands
    /// still while the computer sleeps, so whoever wakes looks whether the moment has come.
    pub(crate) fn instant(&self, at: Timestamp) -> Instant {
        Instant::now() + at.since(self.now()).min(self.policy.timer_look)
    }

    /// The moment of an instant, for showing it.
    pub(crate) fn moment(&self, at: Instant) -> Timestamp {
        self.now().plus(at.saturating_duration_since(Instant::now()))
    }

    /// How long to wait after so many failures in a row.
    pub(crate) fn back_off(&self, failures: u32) -> Duration {
        next_reconnect(failures, self.dice.share(), &self.policy)
    }

    /// The person's name for a server, or its id when it is not followed (any more).
    pub(crate) fn server_name(&self, id: ServerId) -> Arc<str> {
        self.posts.shared(id).map_or_else(|| Arc::from(id.to_string().as_str()), |post| post.name())
    }

    /// Asks a server something that is one request, or two. Connections limit their requests themselves; this is for
    /// one that does not, so that it cannot hold a slot for ever.
    pub(crate) async fn ask<T>(
        &self,
        request: impl Future<Output = Result<T, UpstreamError>>,
    ) -> Result<T, UpstreamError> {
        let limit = self.policy.reply_limit * 2 + self.policy.connect_limit;
        match tokio::time::timeout(limit, request).await {
            Ok(answer) => answer,
            Err(_) => Err(UpstreamError::Unreachable {
                why: "it did not answer in time".into(),
                hint: "Taskwarden tries again by itself.".into(),
            }),
        }
    }

    /// Waits before something is stored again after so many failures; not longer than recording is impossible.
    pub(crate) async fn pause(&self, failures: u32) {
        let back_off = tokio::time::sleep(self.back_off(failures));
        if crate::recording::fault(self).is_none() {
            return back_off.await;
        }
        tokio::select! {
            () = back_off => {}
            () = self.recording.possible() => {}
        }
    }

    /// Changes a handle by something that has already happened and must not be forgotten: while the registry cannot
    /// store it, this waits and tries again, until it is stored or the registry is closed.
    pub(crate) async fn must_apply(
        &self,
        id: domain::ids::HandleId,
        mut decide: impl FnMut(&TaskHandle, Timestamp) -> Transition,
    ) -> Result<Applied, LedgerError<std::convert::Infallible>> {
        let mut failures = 0;
        loop {
            match self.ledger.apply(id, &mut decide).await {
                Err(LedgerError::Registry(error)) if error != RegistryError::Closed => {
                    failures += 1;
                    if failures == 1 {
                        tracing::error!(handle.id = %id, %error, "a change of a task cannot be stored, trying again");
                    }
                    self.pause(failures).await;
                }
                other => return other,
            }
        }
    }
}

/// Runs a further transition on the outcome of one, so that both are one commit.
pub(crate) fn then(first: Transition, second: impl FnOnce(&TaskHandle) -> Transition) -> Transition {
    let second = second(&first.next);
    let mut both = first;
    both.next = second.next;
    both.changed |= second.changed;
    both.audit.extend(second.audit);
    both.log.extend(second.log);
    both.payloads.extend(second.payloads);
    both.raw.extend(second.raw);
    both.learned_ms = second.learned_ms.or(both.learned_ms);
    both.effects.extend(second.effects);
    both
}
