//! Holds a call that has a handle until there is something to answer: its end, a handle, or a question.
//!
//! From here on the gateway only watches the handle. A client that takes tasks gets one as soon as there is one, or when
//! a plain call outlasts `promote_after`; any other is held with progress, and shortly before its program gives up
//! (`clients.rs`) it gets an ordinary result that names the task. A handle leaves only after it is recorded as given.
//! When the client goes first, the engine is told how: whether the work is cancelled is its decision.

use std::sync::Arc;
use std::time::Duration;

use domain::task::{AgentView, TaskHandle, agent_view};
use domain::ids::HandleId;
use domain::task::payload::Payload;
use engine::HangUp;
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::budget::Tap;
use super::clients::WaitingProgram;
use super::guest::Guest;
use super::names::ToolPlace;
use super::tell::Teller;
use super::{Gate, outcome, own_tools, questions, service, wire};
use crate::server::rpc_error::{RequestError, RequestErrorKind};
use crate::server::{CancelReason, RawResult, ResponseStream};

/// A call to hold.
pub(super) struct Held {
    /// Its handle.
    pub(super) id: HandleId,
    /// Until when, and what then.
    pub(super) patience: Patience,
    /// This only waits for a task that has its handle already: giving up says nothing about the task.
    pub(super) waits: bool,
    /// What `tasks_wait` was called with as `since`.
    pub(super) since: Option<u64>,
}

/// What happens to a held call that lasts.
#[derive(Debug, Clone, Copy)]
pub(super) enum Patience {
    /// The client takes tasks: from then on this is one.
    Promote(Instant),
    /// The client does not: by then it gets an ordinary result that names the task.
    Limit(Instant),
}

impl Patience {
    /// The patience of this client with a call that began at `begun`.
    pub(super) fn of(
        gate: &Gate,
        guest: &Guest,
        place: &ToolPlace,
        (program, begun): (&WaitingProgram, Instant),
    ) -> Self {
        let policy = &gate.policy;
        if guest.takes_tasks() {
            let rules = gate.engine.agents().rules();
            let after = rules.resolve(guest.agent, place.server, &place.tool).promote_after;
            return Self::Promote(begun + after.unwrap_or(policy.promote_after));
        }
        // Without the task tools nothing could be done with a handle: such a client waits as long as it can.
        let limit = if guest.wants_own_tools() {
            program.call_limit(&policy.gateway)
        } else {
            policy.gateway.call_limit_ceiling
        };
        Self::Limit(begun + limit)
    }

    /// The patience with a call that the bridge makes again for a client that has waited since `age` ago. Where that is
    /// longer than it waits, it gave the first call up, and this is another one.
    pub(super) fn joined(self, now: Instant, age: Duration) -> Self {
        match self {
            Self::Limit(at) => Self::Limit(at.checked_sub(age).filter(|at| *at > now).unwrap_or(at)),
            Self::Promote(_) => self,
        }
    }

    const fn at(self) -> Instant {
        match self {
            Self::Promote(at) | Self::Limit(at) => at,
        }
    }
}

/// Holds the call, as long as its client is there: a reply that nobody reads would be delivered to nobody, and the same
/// call, made again meanwhile, joins its task (ruling 24).
///
/// # Errors
/// The error it ended with, raw, or the one answer when it was taken from its agent.
pub(super) async fn hold(
    gate: &Arc<Gate>,
    guest: &Guest,
    held: Held,
    teller: &mut Teller,
    seat: &ResponseStream,
    tap: &mut Tap<'_>,
) -> Result<RawResult, RequestError> {
    tokio::select! {
        biased;
        answered = until_answered(gate, guest, held, teller, seat, tap) => answered,
        // Where closing the stream cancels, whoever serves it says so.
        () = seat.gone(), if !seat.closing_cancels() => Err(RequestError::new(RequestErrorKind::Internal, "the client hung up")),
    }
}

/// Holds the call until there is something to answer.
async fn until_answered(
    gate: &Arc<Gate>,
    guest: &Guest,
    held: Held,
    teller: &mut Teller,
    seat: &ResponseStream,
    tap: &mut Tap<'_>,
) -> Result<RawResult, RequestError> {
    let watch = gate.engine.watch(held.id).await.map_err(|error| service::fault(&error))?;
    let mut watch = watch.ok_or_else(RequestError::unknown_task)?;
    match held.waits {
        true => tap.about(&watch.now()),
        false => tap.becomes(&watch.now()),
    }
    let mut grip = Grip { gate: Arc::clone(gate), id: (!held.waits).then_some(held.id), seat: seat.clone() };
    loop {
        let handle = watch.now();
        let sight = agent_view(&handle, gate.clock.now());
        if let Some(task) = becomes_task(&held.patience, &handle, &sight) {
            let given = if task.given.is_some() {
                handle
            } else {
                gate.engine.give(held.id).await.map_err(|error| service::fault(&error))?
            };
            grip.arrives();
            let task = created(gate, guest, &given).await?;
            gate.looks.told(gate, guest, &given, false);
            tap.handle(&task);
            return Ok(RawResult::Raw(task));
        }
        match &sight {
            AgentView::Completed | AgentView::Failed | AgentView::Cancelled | AgentView::Gone => {
                let end = outcome::of_call(gate, guest, &handle, &sight).await?;
                teller.rest(Some(&handle), seat).await;
                if !seat.is_gone() {
                    grip.let_go();
                    gate.engine.delivered(held.id);
                }
                tap.ended(&end);
                return outcome::reply(guest, end).map(RawResult::Text);
            }
            AgentView::InputRequired { keys } => {
                let asked = questions::on_call(gate, guest, &handle, keys, seat);
                tokio::pin!(asked);
                // It ends by itself when somebody else answered: mere progress must not take it from the screen.
                loop {
                    tokio::select! {
                        asked = &mut asked => match asked? {
                            Some(result) => {
                                grip.let_go();
                                return Ok(RawResult::Raw(result));
                            }
                            None => break,
                        },
                        () = teller.next(Some(&handle), seat) => {}
                        () = tokio::time::sleep_until(held.patience.at()) => break,
                    }
                }
            }
            AgentView::Working { message } => {
                teller.handle(&handle, message.as_deref(), seat).await;
                tokio::select! {
                    _ = watch.changed() => {}
                    () = teller.next(Some(&handle), seat) => {}
                    () = tokio::time::sleep_until(held.patience.at()) => {}
                }
            }
        }
        if let Patience::Limit(at) = held.patience
            && at <= Instant::now()
            && !agent_view(&watch.now(), gate.clock.now()).is_terminal()
        {
            let given = gate.engine.give(held.id).await.map_err(|error| service::fault(&error))?;
            grip.arrives();
            let note = own_tools::goes_on(gate, guest, &given, &held).await?;
            if held.waits {
                let look = gate.looks.at(gate, guest, &given).look(Payload::new(note.get()));
                tap.shows(look);
            } else {
                gate.looks.told(gate, guest, &given, false);
                tap.handle(&note);
            }
            return Ok(RawResult::Raw(note));
        }
    }
}

/// The handle, when its client gets it as a task now: there is one on the server, or the plain call lasted long enough.
fn becomes_task<'a>(patience: &Patience, handle: &'a Arc<TaskHandle>, sight: &AgentView) -> Option<&'a Arc<TaskHandle>> {
    let Patience::Promote(at) = patience else { return None };
    let lasts = *at <= Instant::now() && !sight.is_terminal();
    (*sight != AgentView::Gone && (handle.view.task().is_some() || lasts)).then_some(handle)
}

/// The flat handle of 2026-07-28, with the fields of the server that we do not know.
///
/// # Errors
/// The one answer, when it was taken from its agent meanwhile.
pub(super) async fn created(gate: &Gate, guest: &Guest, handle: &TaskHandle) -> Result<Box<RawValue>, RequestError> {
    let said = outcome::stored(gate, guest, handle, domain::task::payload::PayloadKind::Task).await?;
    let filling = wire::Filling { said, end: None, asks: None };
    wire::task(handle, Some("task"), filling, gate.clock.now(), &gate.policy)?.end()
}

/// Tells the engine when the client goes before its answer.
struct Grip {
    gate: Arc<Gate>,
    id: Option<HandleId>,
    seat: ResponseStream,
}

impl Grip {
    fn let_go(&mut self) {
        self.id = None;
    }

    /// The reply leaves now. While the client is there it counts as delivered: the same call again is a new one.
    fn arrives(&mut self) {
        if !self.seat.is_gone()
            && let Some(id) = self.id.take()
        {
            self.gate.engine.delivered(id);
        }
    }
}

impl Drop for Grip {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        let how = match self.seat.given_up() {
            Some(CancelReason::Cancelled) => HangUp::Cancel,
            Some(CancelReason::TimedOut) | None => HangUp::Keep,
        };
        let gate = Arc::clone(&self.gate);
        self.gate.scope.spawn("hung up call", async move { gate.engine.hung_up(id, how).await });
    }
}
