//! The state that the parts of the engine share: the ports, the ledger and one sub-state for each folder.
//!
//! A part that needs one sub-state takes that, not the core. How the core is put together is in `engine.rs`.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use domain::ids::{HandleId, HostId, ServerId};
use domain::policy::Policy;
use domain::ports::{
    CallIntents, Connected, ConnectionSpec, Connector, Notifier, Registry, RegistryError, UpstreamError,
};
use domain::server::Server;
use domain::task::{TaskHandle, Transition};
use domain::time::Timestamp;
use tokio::sync::Semaphore;

use crate::access::Access;
use crate::access::control::ControlAccess;
use crate::access::halt_gate::HaltGate;
use crate::access::pause_gate::PauseGate;
use crate::attention::standing_answers::StandingAnswers;
use crate::budget::Budget;
use crate::calls::{CallState, recording};
use crate::connections::pool::ConnectionPool;
use crate::decisions::bulk::BulkState;
use crate::error::{EngineError, LedgerError};
use crate::runtime::gauges::Gauges;
use crate::runtime::supervisor::Supervisor;
use crate::runtime::time::Time;
use crate::servers::person_acts::sign_in::SignInState;
use crate::tasks::audit_log::anchors::AnchorState;
use crate::tasks::audit_log::call_receipts::ReceiptState;
use crate::tasks::audit_log::checkpoints::CheckpointState;
use crate::tasks::audit_log::sinks::SinkState;
use crate::tasks::effects::Effects;
use crate::tasks::ledger::{Applied, TaskLedger};
use crate::tasks::retention::RetentionState;
use crate::tasks::text_index::TextIndex;

/// The state of the engine, shared by all its parts.
pub(crate) struct EngineCore {
    pub(crate) registry: Arc<dyn Registry>,
    pub(crate) intents: Arc<dyn CallIntents>,
    pub(crate) connector: Arc<dyn Connector>,
    pub(crate) notifier: Arc<dyn Notifier>,
    pub(crate) policy: Arc<Policy>,
    /// This run of the core.
    pub(crate) host: HostId,
    pub(crate) supervisor: Supervisor,
    pub(crate) time: Arc<Time>,
    pub(crate) ledger: TaskLedger,
    /// Who is woken after a commit.
    pub(crate) effects: Arc<Effects>,
    pub(crate) connections: Arc<ConnectionPool>,
    /// Our own reads over all servers; first come, first served, and no server may wait with more than its own slots,
    /// so that one with 9,990 tasks cannot keep the others waiting (ruling 12).
    pub(crate) poll_slots: Semaphore,
    /// Processes of earlier runs that are being taken over for agents (`connections/kept_processes.rs`).
    pub(crate) take_over_slots: Semaphore,
    /// Closed where people halted work.
    pub(crate) gate: HaltGate,
    /// Closed for paused agents and frozen servers.
    pub(crate) pauses: PauseGate,
    /// Plans that run now.
    pub(crate) bulk: BulkState,
    pub(crate) calls: CallState,
    pub(crate) access: Arc<Access>,
    pub(crate) control: ControlAccess,
    /// What agents' windows hold, and what may come into them.
    pub(crate) budget: Arc<Budget>,
    /// What people decided to answer in advance.
    pub(crate) standing: StandingAnswers,
    pub(crate) retention: RetentionState,
    /// Receipts of calls on their way to the registry.
    pub(crate) receipts: ReceiptState,
    /// Who signs the audit log.
    pub(crate) checkpoints: CheckpointState,
    /// Where copies of checkpoints go.
    pub(crate) anchors: AnchorState,
    /// Collectors that rows of the audit log are sent to.
    pub(crate) sinks: SinkState,
    /// Who signs in to servers.
    pub(crate) sign_ins: SignInState,
    /// What tasks say, for the search.
    pub(crate) text: TextIndex,
    pub(crate) gauges: Gauges,
    /// New calls are refused and nothing is polled any more.
    pub(crate) stopping: AtomicBool,
}

impl EngineCore {
    /// Reads agents and rules again, and wakes the readers of the feed.
    pub(crate) async fn refresh_access(&self) -> Result<(), EngineError> {
        self.access.refresh(self.registry.as_ref()).await?;
        self.effects.commits.committed(self.registry.newest_seq().await?);
        Ok(())
    }

    /// The person's name for a server, or its id when it is not followed.
    pub(crate) fn server_name(&self, id: ServerId) -> Arc<str> {
        self.connections.names().name(id).unwrap_or_else(|| Arc::from(id.to_string().as_str()))
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
                hint: "Taskwarden tries again automatically.".into(),
            }),
        }
    }

    /// Opens a connection. The connector limits each of its steps (probe, a second child, handshake); this is for one that
    /// does not.
    pub(crate) async fn connect(&self, server: &Server, spec: &ConnectionSpec) -> Result<Connected, UpstreamError> {
        match tokio::time::timeout(self.opening_limit(), self.connector.connect(server, spec)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(UpstreamError::Unreachable {
                why: "connecting took too long".into(),
                hint: "Check that the server starts and answers outside of Taskwarden.".into(),
            }),
        }
    }

    /// The longest time that opening a connection may take.
    pub(crate) fn opening_limit(&self) -> Duration {
        (self.policy.probe_first_output + self.policy.initialize_limit + self.policy.connect_limit) * 2
    }

    /// Waits before something is stored again after so many failures; not longer than recording is impossible.
    pub(crate) async fn pause(&self, failures: u32) {
        let back_off = tokio::time::sleep(self.time.back_off(failures));
        if recording::fault(self).is_none() {
            return back_off.await;
        }
        tokio::select! {
            () = back_off => {}
            () = self.calls.recording.possible() => {}
        }
    }

    /// Changes a handle by something that has already happened and must not be forgotten: while the registry cannot
    /// store it, this waits and tries again, until it is stored or the registry is closed.
    pub(crate) async fn must_apply(
        &self,
        id: HandleId,
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
