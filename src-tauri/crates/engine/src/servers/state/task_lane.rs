//! Updates of tasks: applied in order for each task, and concurrently for different ones.
//!
//! Updates of one task wait for each other, so that a question and its withdrawal cannot overtake one another. When too
//! many wait, the actor stops reading events from the wire. Nothing is decided here: the transition is the domain's,
//! the commit the ledger's.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use domain::ids::{ConnectionId, HandleId};
use domain::task::input_request::LiveQuestion;
use domain::task::observation::{Observation, Progress};
use domain::task::payload::{Payload, PayloadKind, PayloadWrite};
use domain::task::status::{Contact, GoneWhy, Miss, Needs, TaskStatus};
use domain::task::{LiveOutcome, MissCount, TaskHandle, Transition};

use crate::connections::call_reply::gone_with_process;
use crate::connections::connection::ServerConnection;
use crate::core::{EngineCore, then};
use crate::error::LedgerError;

/// Updates that may wait over all tasks of a server before events are left on the wire. Enough for a burst of a
/// thousand pushes; beyond it the server is slowed down instead of our memory filled.
pub(crate) const WAITING_MAX: usize = 1_024;

/// Something that happened to a task.
#[derive(Debug, Clone)]
pub(crate) enum LaneUpdate {
    /// It was seen.
    Seen(Box<Observation>),
    /// A poll brought nothing.
    Missed(Miss, MissCount, Option<Payload>),
    /// It is beyond reach for good.
    Gone(GoneWhy),
    /// The server needs a person first.
    Blocked(Needs),
    /// A question came on the live connection, which may be one of these other calls' as well.
    Asked(Box<LiveQuestion>, BTreeSet<HandleId>),
    /// So many live questions of it wait for others to close, as counted when this is applied.
    QuestionsWait(Arc<AtomicU32>),
    /// It was taken back.
    TakenBack(ConnectionId, String),
    /// The connection on which it was asked is gone.
    ChannelLost(ConnectionId, bool),
    /// It got further.
    Progressed(Progress),
}

/// What became of an update.
#[derive(Debug)]
pub(crate) struct AppliedUpdate {
    pub(crate) id: HandleId,
    /// The server showed another task under the same id.
    pub(crate) replaced: bool,
    /// What a live question turned out to be.
    pub(crate) asked: Option<StoredQuestion>,
}

/// A live question after it was applied.
#[derive(Debug)]
pub(crate) struct StoredQuestion {
    pub(crate) question: LiveQuestion,
    /// Other calls that may be asking.
    pub(crate) others: BTreeSet<HandleId>,
    pub(crate) outcome: LiveOutcome,
}

/// Applies an update, however long the registry takes to store it.
pub(crate) async fn run(
    core: Arc<EngineCore>,
    connection: Arc<ServerConnection>,
    id: HandleId,
    mut step: LaneUpdate,
) -> AppliedUpdate {
    let policy = &core.policy;
    let mut outcome = None;
    if let Some(in_flight) = connection.in_flight_call(id).filter(|in_flight| !in_flight.has_row()) {
        match step {
            // Nothing is recorded of a call that made progress and nothing else.
            LaneUpdate::Progressed(progress) => {
                connection.keep_progress(id, progress);
                return AppliedUpdate { id, replaced: false, asked: None };
            }
            LaneUpdate::Asked(question, others) if !in_flight.row().await => {
                let outcome = LiveOutcome::Rejected("the call is over".to_owned());
                return AppliedUpdate {
                    id,
                    replaced: false,
                    asked: Some(StoredQuestion { question: *question, others, outcome }),
                };
            }
            other => step = other,
        }
    }
    if let LaneUpdate::Asked(_, others) = &mut step {
        with_rows(&connection, others).await;
    }
    // The last progress lands before the end, after which none is accepted.
    let last = if ends(&step) { connection.take_progress(id) } else { None };
    let room = |handle: &TaskHandle| core.ledger.question_room(handle);
    let applied = core
        .must_apply(id, |handle, now| match &step {
            LaneUpdate::Seen(seen) => match &last {
                Some(last) => {
                    then(handle.progressed(last, now, policy), |next| next.observe_within(seen, room(next), policy))
                }
                None => handle.observe_within(seen, room(handle), policy),
            },
            LaneUpdate::Missed(miss, count, raw) => with_raw(handle.missed(miss, count, now, policy), raw.as_ref()),
            LaneUpdate::Gone(why) => gone_with_process(handle, why, now),
            LaneUpdate::Blocked(needs) => handle.blocked(needs, now),
            LaneUpdate::Asked(question, others) => {
                let (transition, said) = handle.asked_within(question, room(handle), now, policy);
                let shared = match &said {
                    LiveOutcome::Opened(key) | LiveOutcome::Same(key) => {
                        then(transition, |next| next.shares_question(key, others, now))
                    }
                    LiveOutcome::AnsweredBefore(_) | LiveOutcome::NoSpace | LiveOutcome::Rejected(_) => transition,
                };
                outcome = Some(said);
                shared
            }
            LaneUpdate::QuestionsWait(count) => handle.questions_wait(count.load(Ordering::Relaxed), now),
            LaneUpdate::TakenBack(connection, token) => handle.taken_back(*connection, token, now),
            LaneUpdate::ChannelLost(connection, survives) => handle.channel_lost(*connection, *survives, now),
            LaneUpdate::Progressed(progress) => handle.progressed(progress, now, policy),
        })
        .await;
    let replaced = match applied {
        Ok(applied) => applied.changed && is_replaced(&applied.handle.contact),
        Err(LedgerError::Registry(domain::ports::RegistryError::Closed) | LedgerError::Unknown) => false,
        Err(error) => {
            tracing::error!(handle.id = %id, %error, "what was seen of a task could not be stored");
            false
        }
    };
    let asked = match (step, outcome) {
        (LaneUpdate::Asked(question, others), Some(outcome)) => {
            Some(StoredQuestion { question: *question, others, outcome })
        }
        _ => None,
    };
    AppliedUpdate { id, replaced, asked }
}

/// Gives the other calls that may be asking their rows, so that people see them wait; forgets those that are over.
async fn with_rows(connection: &ServerConnection, others: &mut BTreeSet<HandleId>) {
    for id in others.clone() {
        let over = match connection.in_flight_call(id) {
            Some(in_flight) => !in_flight.row().await,
            None => false,
        };
        if over {
            others.remove(&id);
        }
    }
}

fn is_replaced(contact: &Contact) -> bool {
    match contact {
        Contact::Gone { why, .. } => *why == GoneWhy::Replaced,
        Contact::Fresh { .. } | Contact::Silent { .. } | Contact::Blocked { .. } => false,
    }
}

fn ends(step: &LaneUpdate) -> bool {
    matches!(step, LaneUpdate::Seen(seen) if seen.status.is_terminal())
}

/// Keeps what could not be read beside the handle, for `doctor`, when the miss is a change at all.
fn with_raw(mut transition: Transition, raw: Option<&Payload>) -> Transition {
    if let (true, Some(raw)) = (transition.changed, raw) {
        transition.payloads.push(PayloadWrite { kind: PayloadKind::Unreadable, payload: Some(raw.clone()) });
    }
    transition
}

/// Whether an observation says that the task ended, without what it ended with though there must be something:
/// then a poll brings both together.
pub(crate) fn lacks_payload(seen: &Observation) -> bool {
    match seen.status {
        TaskStatus::Completed(_) | TaskStatus::Failed(None) => seen.payload.is_none(),
        TaskStatus::Failed(Some(_))
        | TaskStatus::Working
        | TaskStatus::InputRequired
        | TaskStatus::Cancelled
        | TaskStatus::Other(_) => false,
    }
}

/// Updates under way and waiting, by task.
#[derive(Debug, Default)]
pub(crate) struct TaskLanes {
    busy: HashMap<HandleId, VecDeque<LaneUpdate>>,
    waiting: usize,
}

impl TaskLanes {
    /// Whether an update of this task is under way.
    pub(crate) fn is_busy(&self, id: HandleId) -> bool {
        self.busy.contains_key(&id)
    }

    /// Whether so many wait that no more should be taken from the wire.
    pub(crate) fn is_full(&self) -> bool {
        self.waiting >= WAITING_MAX
    }

    /// Starts the update now (returned) or lets it wait.
    pub(crate) fn enter(&mut self, id: HandleId, step: LaneUpdate) -> Option<LaneUpdate> {
        match self.busy.get_mut(&id) {
            None => {
                self.busy.insert(id, VecDeque::new());
                Some(step)
            }
            Some(queue) => {
                queue.push_back(step);
                self.waiting += 1;
                None
            }
        }
    }

    /// The update under way is done: the next one, if any.
    pub(crate) fn leave(&mut self, id: HandleId) -> Option<LaneUpdate> {
        let next = self.busy.get_mut(&id)?.pop_front();
        if next.is_some() {
            self.waiting -= 1;
        } else {
            self.busy.remove(&id);
        }
        next
    }
}
