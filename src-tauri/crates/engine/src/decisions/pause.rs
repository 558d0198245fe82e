//! Pauses agents and local servers, and ends pauses.
//!
//! A pause is recorded first; then the gate closes and processes are frozen. Its end is recorded with the choice of the
//! calls that are sent, before the first of them leaves. After a restart the gate is closed before any connection is
//! opened, and what an end began goes on from the registry.

mod hold;
pub(crate) mod release;

use std::collections::BTreeSet;
use std::sync::Arc;

use domain::audit::{Actor, AuditEvent, Subject, Verb};
use domain::ids::{AgentId, HandleId, PauseId, PersonId, ServerId};
use domain::ports::PauseUnit;
use domain::server::ServerAddress;
use domain::server::halt::HaltedBy;
use domain::server::pause::{GateVerdict, Pause, PauseEnd, PauseRefused, PauseSubject, SendWaiting};
use domain::task::TaskHandle;
use domain::task::decider::Decider;
use domain::time::Timestamp;
use tokio::sync::watch;

use crate::access::halt_gate::work_of;
use crate::connections::freeze::{self, FrozenProcesses};
use crate::core::EngineCore;
use crate::engine::Engine;
use crate::error::EngineError;

/// What somebody wants to pause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartPause {
    /// One agent or one server.
    pub subject: PauseSubject,
    /// A person, or a supervisor program.
    pub by: HaltedBy,
    /// In the words of whoever pauses; may be empty.
    pub reason: String,
    /// Results that arrive for a paused agent are held.
    pub holds_results: bool,
}

/// A pause that ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedPause {
    /// As it is now, with its end.
    pub pause: Pause,
    /// Waiting calls that are sent now.
    pub sent: usize,
    /// Waiting calls that are cancelled.
    pub left_out: usize,
    /// Waiting calls that another pause holds still.
    pub still_waiting: usize,
}

impl Engine {
    /// Pauses an agent or a local server. When this returns, the pause is durable and new calls wait; the processes of a
    /// server stand still, as far as [`Engine::frozen_processes`] says.
    ///
    /// # Errors
    /// When it is paused already, has no access any more, runs elsewhere, or the pause cannot be recorded: then nothing is
    /// paused.
    pub async fn pause(&self, start: StartPause) -> Result<Pause, EngineError> {
        let core = &self.core;
        let turn = core.pauses.turn.lock().await;
        let StartPause { subject, by, reason, holds_results } = start;
        if let Some(earlier) = core.pauses.of(subject) {
            return Err(PauseRefused::AlreadyPaused(earlier.at).into());
        }
        match subject {
            PauseSubject::Server(server) => check_can_freeze(core, server)?,
            PauseSubject::Agent(agent) if !core.access.has_access(agent) => {
                return Err(PauseRefused::AgentRevoked.into());
            }
            PauseSubject::Agent(_) => {}
        }
        let id = PauseId::from_random(core.time.random.bits());
        let pause = Pause { id, subject, by, at: core.time.now(), reason, holds_results, ended: None };
        let actor = Decider::from(&pause.by).actor();
        record(core, &pause, actor, Verb::PauseBegun, begun_note(&pause)).await?;
        drop(turn);
        match subject {
            PauseSubject::Agent(agent) if holds_results => hold::results_of(core, &pause, agent).await,
            PauseSubject::Agent(_) => {}
            PauseSubject::Server(server) => freeze::apply(core, server).await,
        }
        tracing::warn!(pause.id = %pause.id, "paused");
        Ok(pause)
    }

    /// Ends a pause. When this returns, its end is durable, processes continue, and the calls that waited leave in their
    /// order. `send` may be left out while the pause is young.
    ///
    /// # Errors
    /// When it is not paused, calls must be chosen first, one of those chosen does not wait, or it cannot be recorded.
    pub async fn end_pause(
        &self,
        subject: PauseSubject,
        by: PersonId,
        send: Option<SendWaiting>,
    ) -> Result<EndedPause, EngineError> {
        let core = &self.core;
        let turn = core.pauses.turn.lock().await;
        let now = core.time.now();
        let pause = core.pauses.of(subject).ok_or(PauseRefused::NotPaused)?;
        let calls = waiting(core, subject);
        let waiting: BTreeSet<HandleId> = calls.iter().map(|handle| handle.id).collect();
        let send = match send {
            None if !waiting.is_empty() && pause.needs_choice(now, core.policy.control.pauses.choice_after) => {
                return Err(PauseRefused::MustChoose { waiting: waiting.len(), since: pause.at }.into());
            }
            None => SendWaiting::All,
            Some(SendWaiting::All) => SendWaiting::All,
            Some(SendWaiting::Only(chosen)) => match chosen.difference(&waiting).next() {
                Some(stranger) => return Err(PauseRefused::NotWaiting(*stranger).into()),
                None => SendWaiting::Only(chosen),
            },
        };
        let ended = pause.end(PauseEnd { at: now, by: by.clone(), send })?;
        let ReleasedCalls { sent, left_out, still_waiting } = ReleasedCalls::of(core, &ended, &calls);
        let note = match still_waiting {
            0 => format!("{sent} sent, {left_out} cancelled"),
            calls => format!("{sent} sent, {left_out} cancelled, {calls} held by another pause or an alarm"),
        };
        record(core, &ended, Actor::Person(by), Verb::PauseEnded, note).await?;
        drop(turn);
        if let PauseSubject::Server(server) = subject {
            freeze::apply(core, server).await;
        }
        release::begin(core);
        tracing::warn!(pause.id = %ended.id, calls.sent = sent, calls.left_out = left_out, "a pause ended");
        Ok(EndedPause { pause: ended, sent, left_out, still_waiting })
    }

    /// Pauses in force, the newest first.
    #[must_use]
    pub fn pauses(&self) -> Vec<Pause> {
        self.core.pauses.all().iter().filter(|pause| pause.is_in_force()).cloned().collect()
    }

    /// The pause of an agent or a server that is in force.
    #[must_use]
    pub fn pause_of(&self, subject: PauseSubject) -> Option<Pause> {
        self.core.pauses.of(subject)
    }

    /// Told when a pause begins or ends. Which calls wait may change without it.
    #[must_use]
    pub fn pauses_watch(&self) -> watch::Receiver<()> {
        self.core.pauses.watch()
    }

    /// Calls that wait because this is paused, in the order in which they would leave.
    #[must_use]
    pub fn waiting_calls(&self, subject: PauseSubject) -> Vec<Arc<TaskHandle>> {
        waiting(&self.core, subject)
    }

    /// What was found last of the processes of a frozen server.
    #[must_use]
    pub fn frozen_processes(&self, server: ServerId) -> FrozenProcesses {
        self.core.pauses.processes(server)
    }
}

/// Goes on with what an earlier run began: held results, frozen processes, calls that leave.
pub(crate) fn go_on(core: &Arc<EngineCore>) {
    let held = Arc::clone(core);
    core.supervisor.spawn("pause", async move {
        let mut servers = BTreeSet::new();
        for pause in held.pauses.all().iter() {
            match pause.subject {
                PauseSubject::Agent(agent) if pause.is_in_force() && pause.holds_results => {
                    hold::results_of(&held, pause, agent).await;
                }
                PauseSubject::Agent(_) => {}
                PauseSubject::Server(server) => {
                    servers.insert(server);
                }
            }
        }
        for server in servers {
            freeze::apply(&held, server).await;
        }
        release::begin(&held);
    });
}

/// Calls at the gate that this pause covers, in their order.
fn waiting(core: &EngineCore, subject: PauseSubject) -> Vec<Arc<TaskHandle>> {
    let open = match subject {
        PauseSubject::Agent(agent) => core.ledger.of_agent(agent),
        PauseSubject::Server(server) => core.ledger.of_server(server),
    };
    let waits = |handle: &Arc<TaskHandle>| handle.may_leave_gate() && subject.covers(work_of(handle));
    in_order(open.into_iter().filter(waits).collect())
}

/// What becomes of waiting calls when a pause ends.
#[derive(Default)]
struct ReleasedCalls {
    sent: usize,
    left_out: usize,
    still_waiting: usize,
}

impl ReleasedCalls {
    fn of(core: &EngineCore, ended: &Pause, calls: &[Arc<TaskHandle>]) -> Self {
        let known = core.pauses.all();
        let after = || known.iter().map(|pause| if pause.id == ended.id { ended } else { pause });
        let mut counted = Self::default();
        for verdict in calls.iter().filter_map(|call| core.pauses.verdict_with(after(), call)) {
            match verdict {
                GateVerdict::Leaves => counted.sent += 1,
                GateVerdict::LeftOut(_) => counted.left_out += 1,
                GateVerdict::Waits => counted.still_waiting += 1,
            }
        }
        counted
    }
}

/// In the order in which they were made.
fn in_order(mut calls: Vec<Arc<TaskHandle>>) -> Vec<Arc<TaskHandle>> {
    calls.sort_by_key(|handle| (handle.gated().map(|(since, _)| since), handle.id));
    calls
}

fn check_can_freeze(core: &EngineCore, server: ServerId) -> Result<(), EngineError> {
    let shared = core.connections.shared(server).ok_or(EngineError::UnknownServer)?;
    match shared.configured().address {
        ServerAddress::Http { .. } => return Err(PauseRefused::RunsElsewhere.into()),
        ServerAddress::Stdio { .. } => {}
    }
    let running = core.connections.of_server(server).into_iter().filter_map(|connection| connection.live());
    if running.into_iter().all(|live| live.upstream.can_freeze()) {
        Ok(())
    } else {
        Err(PauseRefused::CannotFreeze.into())
    }
}

fn begun_note(pause: &Pause) -> String {
    let what = match (pause.subject, pause.holds_results) {
        (PauseSubject::Server(_), _) => "processes",
        (PauseSubject::Agent(_), false) => "new calls",
        (PauseSubject::Agent(_), true) => "new calls and results",
    };
    if pause.reason.is_empty() { what.to_owned() } else { format!("{what}: {}", pause.reason) }
}

/// The pause of an agent that loses its access, ended: none of its waiting calls is sent. It is recorded with the agent,
/// and obeyed by [`obey`] then.
pub(super) fn ended_with_access(core: &EngineCore, agent: AgentId, by: &PersonId, now: Timestamp) -> Option<PauseUnit> {
    let subject = PauseSubject::Agent(agent);
    let send = SendWaiting::Only(BTreeSet::new());
    let ended = core.pauses.of(subject)?.end(PauseEnd { at: now, by: by.clone(), send }).ok()?;
    let note = format!("its agent was revoked; 0 sent, {} cancelled", waiting(core, subject).len());
    Some(unit(core, &ended, Actor::Person(by.clone()), Verb::PauseEnded, note))
}

/// Records a pause, and obeys it once it is durable.
async fn record(core: &EngineCore, pause: &Pause, actor: Actor, verb: Verb, note: String) -> Result<(), EngineError> {
    let seq = core.registry.put_pause(unit(core, pause, actor, verb, note)).await?;
    obey(core, pause.clone());
    core.effects.commits.committed(seq);
    Ok(())
}

/// Takes over a pause that is durable.
pub(super) fn obey(core: &EngineCore, pause: Pause) {
    core.pauses.set(pause, usize::try_from(core.policy.control.pauses.kept).unwrap_or(usize::MAX));
}

fn unit(core: &EngineCore, pause: &Pause, actor: Actor, verb: Verb, note: String) -> PauseUnit {
    let subject = match pause.subject {
        PauseSubject::Agent(id) => Subject::Agent(id),
        PauseSubject::Server(id) => Subject::Server(id),
    };
    let at = pause.ended.as_ref().map_or(pause.at, |end| end.at);
    let kept = core.policy.control.pauses.kept;
    PauseUnit { pause: pause.clone(), kept, audit: vec![AuditEvent { at, actor, verb, subject, note }] }
}
