//! The aggregate: one task behind one handle, and the transitions that change it.
//!
//! `admission` and `call` begin it, `observation` applies what servers say, `input_request` what is asked and answered,
//! `cancel` what people want, `agent` what its agent gets; `phase` derives the one word shown for it. Each transition
//! is pure: it takes a moment, returns a [`Transition`], and neither stores nor sends anything.

mod admission;
pub(crate) mod agent;
mod call;
pub mod cancel;
mod clock_step;
mod commit;
pub mod decider;
mod end;
pub mod figures;
pub mod input_request;
pub mod observation;
pub mod payload;
mod phase;
mod settle;
pub mod status;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

pub use admission::{FoundTask, NewCall};
pub use agent::result_hold::{HoldReason, HoldVerdict, ResultForm, ResultHold};
pub use agent::run_time::{MoreTime, TaskRunLimit, TaskRunLimits};
pub use agent::token_usage::OverLimit;
pub use agent::view::{
    AgentFailure, AgentTaskTimes, AgentView, OwnFailure, agent_failure, agent_task_times, agent_view,
};
pub use call::{CallReply, LetThrough};
pub use commit::Commit;
pub use end::WorkTime;
pub use input_request::answer::AnswerInput;
pub use input_request::live_question::LiveOutcome;
pub use input_request::request_map::InputRequests;
pub use input_request::shared_question::{QuestionRef, SharedQuestions};
pub use observation::missed_polls::MissCount;
pub use status::escalation::{Escalation, EscalationStep, LeftProcess, ProcessEnd, StepDone, StoppedBy, TakenStep};

use crate::audit::AuditEvent;
use crate::ids::{AgentId, HandleId, JobKey, PersonId, RequestKey, ServerId, SessionKey};
use crate::raw_message::RawMessage;
use crate::task::decider::Decider;
use crate::task::input_request::AnswerAction;
use crate::task::input_request::form::FormError;
use crate::task::observation::Progress;
use crate::task::payload::PayloadWrite;
use crate::task::status::LogLine;
use crate::task::status::{Contact, Due, Intent, ServerView};
use crate::time::Timestamp;
use crate::tokens::TaskTokens;

/// How a handle came to be (promise T3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// A person called the tool here.
    Started,
    /// An agent called the tool through the gateway.
    Agent,
    /// The server listed it.
    Discovered,
    /// A person gave its id.
    Adopted,
}

impl Origin {
    /// Lower camel case word for JSON and the registry.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Started => "started",
            Self::Agent => "agent",
            Self::Discovered => "discovered",
            Self::Adopted => "adopted",
        }
    }
}

/// Who is asked when the task asks (rule 13).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// People only (the default for forms and visits).
    People,
    /// The agent only.
    Agent,
    /// The agent, and people after a time.
    AgentThenPeople {
        /// When people are asked.
        people_at: Timestamp,
    },
    /// Both; the first recorded answer wins.
    Both,
}

/// Where on its server the task lives (ruling 14). Task ids are unique only within one of these.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    /// Raised when the server is re-installed or its ids were seen to be used again.
    pub generation: u32,
    /// The legacy session or child that owns the task; `None` where tasks belong to the principal.
    pub session: Option<SessionKey>,
}

/// Why a task is taken for one that was started during another, in the code its parent. Neither has to have caused the
/// other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParentWhy {
    /// Both calls carry the same trace.
    Trace,
    /// It was the agent's newest open task.
    OpenTask,
}

impl ParentWhy {
    /// Lower camel case word for JSON and the registry.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Trace => "trace",
            Self::OpenTask => "openTask",
        }
    }

    /// Reads [`ParentWhy::word`] back.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Trace, Self::OpenTask].into_iter().find(|why| why.word() == word)
    }
}

/// The task during which this one was called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parent {
    pub id: HandleId,
    /// How it is known.
    pub why: ParentWhy,
}

/// What this tool on this server usually takes, as known when the call began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UsualDuration {
    /// Number of finished calls behind the figures.
    pub samples: u32,
    /// Half of them took at most this, in milliseconds.
    pub median_ms: u64,
    /// 90 % took at most this, in milliseconds.
    pub p90_ms: u64,
    /// 95 % took at most this, in milliseconds: past it a task is overdue.
    pub p95_ms: u64,
}

/// One task, as we hold it. Arguments, results and answers are payloads beside it, not in it.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskHandle {
    pub id: HandleId,
    pub server: ServerId,
    /// Whose call it is; `None` when a person's, or unknown.
    pub agent: Option<AgentId>,
    /// How it came here.
    pub origin: Origin,
    /// The tool, where known (a listed or adopted task does not say).
    pub tool: Option<Arc<str>>,
    /// Hex SHA-256 of the canonical arguments, where known.
    pub arguments_digest: Option<Arc<str>>,
    /// Where on the server it lives; known from the reply on.
    pub home: Home,
    /// The agent on whose own connection it lives; `None` on the one that is shared (ruling 14).
    pub seat: Option<AgentId>,
    /// What the server says.
    pub view: ServerView,
    /// What we know about reaching it.
    pub contact: Contact,
    /// What people want.
    pub intent: Intent,
    /// Who is asked.
    pub audience: Audience,
    /// Every question it ever asked.
    pub requests: InputRequests,
    /// Questions of which it is not known whether this call asks them.
    pub shared: SharedQuestions,
    /// Questions that the server asks now beyond `open_questions_per_task`, or beyond what its server may ask: they are
    /// counted, and come up as others close.
    pub more_questions: u32,
    /// The latest progress, where the dialect has it.
    pub progress: Option<Progress>,
    /// What it usually takes, as known at the start.
    pub usual: Option<UsualDuration>,
    /// When it should be finished.
    pub due: Option<Due>,
    /// Since when it waits for a person; that time does not count (promise A5).
    pub paused_since: Option<Timestamp>,
    /// Time spent waiting for people so far, in milliseconds.
    pub paused_ms: u64,
    /// How far the wall clock was set while it worked, in milliseconds; negative when back. `created` is history and is
    /// not moved, so this is taken off the time since then.
    pub stepped_ms: i64,
    /// Since when the processes of its server are frozen; that time does not count.
    pub frozen_since: Option<Timestamp>,
    /// Whether it once said something that contradicts a terminal status (audited once, rule 1).
    pub contradicted: bool,
    /// What was notified once and is not notified again; kept so that a restart does not repeat it.
    pub told: BTreeSet<Told>,
    /// When its handle was released to its agent; durable before it left.
    pub given: Option<Timestamp>,
    /// Since when the agent's reply could not be delivered; a repeated call may join it then (ruling 24).
    pub undelivered: Option<Timestamp>,
    /// Since when its agent is gone; `None` again when the agent is back.
    pub orphaned: Option<Timestamp>,
    /// Its result waits, or waited, for a person before the agent gets it.
    pub hold: Option<ResultHold>,
    /// How far people went to end it, and what was observed of its processes.
    pub escalation: Escalation,
    /// What it costs its agent's window; `None` until something was counted.
    pub tokens: Option<TaskTokens>,
    /// That it said and brought more than a task may.
    pub over_limit: Option<OverLimit>,
    /// How long it may run, and whether it ran longer.
    pub run_limits: TaskRunLimits,
    /// When it was declared cancelled to its agent, whatever the server does since (protocol.md §7.3).
    pub cancelled_for_agent: Option<Timestamp>,
    /// With what it failed for its agent, when the server's word came too late (statement 69): a word of
    /// [`OwnFailure`], or a sentence that an earlier version stored.
    pub failed_for_agent: Option<Arc<str>>,
    /// The last change that an agent sees of a task that ended for it: what is recorded of the task later, such as that a
    /// result was delivered, moves [`TaskHandle::changed`] and not this. `None` while its agent sees no end.
    pub end_shown: Option<Timestamp>,
    /// When the first task was lost that was lost for the same cause as this one; `None` while it is not lost. It names
    /// the cause, whatever becomes of the other tasks.
    pub loss_cause: Option<Timestamp>,
    /// The task during which it was called.
    pub parent: Option<Parent>,
    /// The 32 hex digits of the call's trace id.
    pub trace: Option<Arc<str>>,
    /// The logical job: calls of the same server, tool and arguments share it.
    pub job: Option<JobKey>,
    /// Which attempt of its job it is, from 1.
    pub attempt: u32,
    /// The `ttl` that a 2025 agent asked for; shown back to it.
    pub agent_ttl: Option<Duration>,
    /// Optimistic lock; raised by each commit.
    pub version: u64,
    /// When it was admitted.
    pub created: Timestamp,
    /// When anything but contact last changed.
    pub changed: Timestamp,
    /// When nothing more was expected of it; `None` while something is.
    pub ended: Option<Timestamp>,
}

/// Something that is said or done once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Told {
    /// It is overdue. Forgotten when the due time moves.
    Overdue,
    /// Its time on the server ran out while there was still news of it. Forgotten when the time is extended.
    Expiry,
    /// The cancel request was not obeyed within the grace. Forgotten with a new cancel request.
    Disobeyed,
    /// It asked more than one task may; what is beyond is ignored.
    TooMuchAsked,
    /// A person marked it resolved though its handle stays taken from its agent.
    Resolved,
    /// Somebody answered what was answered already.
    AnsweredLate,
    /// An agent's answer did not fit the form. Forgotten when a question changes.
    AnswerUnfit,
}

impl Told {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Overdue,
        Self::Expiry,
        Self::Disobeyed,
        Self::TooMuchAsked,
        Self::Resolved,
        Self::AnsweredLate,
        Self::AnswerUnfit,
    ];

    /// Lower camel case word for the registry.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Overdue => "overdue",
            Self::Expiry => "expiry",
            Self::Disobeyed => "disobeyed",
            Self::TooMuchAsked => "tooMuchAsked",
            Self::Resolved => "resolved",
            Self::AnsweredLate => "answeredLate",
            Self::AnswerUnfit => "answerUnfit",
        }
    }

    /// Reads [`Told::word`] back.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|told| told.word() == word)
    }
}

/// Something the engine must do after the transition is committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Read the task no earlier than then.
    PollAt(Timestamp),
    /// The server need not be asked again.
    StopPolling,
    /// There is something to deliver (an answer or a cancel).
    Deliver,
    /// A person should be notified.
    Tell(Attention),
    /// Give back what was reserved at admission.
    Release,
}

/// What a person is notified about, without any content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Attention {
    /// A question was opened.
    Waiting,
    /// Something is wrong: silent, lost, overdue, blocked, not obeyed.
    Problem,
    /// It is over.
    Finished,
}

/// The outcome of one transition: all of it is committed in one transaction, then its effects are performed.
#[derive(Debug, Clone, PartialEq)]
pub struct Transition {
    /// The handle as it is from now on. `version` is unchanged; the registry raises it.
    pub next: TaskHandle,
    /// Whether anything but contact changed; if not, there is nothing to commit (rule 2).
    pub changed: bool,
    /// Facts for the audit log.
    pub audit: Vec<AuditEvent>,
    /// Lines for the status log.
    pub log: Vec<LogLine>,
    /// Payloads to store or erase.
    pub payloads: Vec<PayloadWrite>,
    /// Raw messages to keep.
    pub raw: Vec<RawMessage>,
    /// A finished duration to learn from, in milliseconds, waiting for people not counted.
    pub learned_ms: Option<u64>,
    /// What to do after the commit.
    pub effects: Vec<Effect>,
}

impl Transition {
    /// A transition that changes nothing.
    #[must_use]
    pub fn none(handle: &TaskHandle) -> Self {
        Self {
            next: handle.clone(),
            changed: false,
            audit: Vec::new(),
            log: Vec::new(),
            payloads: Vec::new(),
            raw: Vec::new(),
            learned_ms: None,
            effects: Vec::new(),
        }
    }
}

/// Why something a person asked for is not done. An outcome, not an error (style 32).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// No such question on this task.
    #[error("this task has no request `{0}`")]
    UnknownKey(RequestKey),
    /// There are several open questions and none was named.
    #[error("this task has {0} open requests")]
    AmbiguousKey(usize),
    /// Nothing is asked.
    #[error("this task is not waiting for an answer")]
    NothingAsked,
    /// Somebody was faster.
    #[error("already {} by {} at {at}; your answer was not recorded", .action.past(), .by.name_and_door())]
    AlreadyAnswered { by: Decider, at: Timestamp, action: AnswerAction },
    /// The server took the question back.
    #[error("the server no longer asks this")]
    Withdrawn,
    /// The call or task is over, and with it the question.
    #[error("the call ended before the answer reached the server")]
    EndedBeforeAnswer,
    /// An accepted form needs its fields, as a JSON object.
    #[error("accepting `{0}` needs its content as a JSON object")]
    NeedsContent(RequestKey),
    /// Only an accepted form carries content.
    #[error("this answer to `{0}` carries no content")]
    NoContent(RequestKey),
    /// An agent's answer breaks a rule of the form. The value is not repeated.
    #[error("the answer to `{key}` does not fit its form: {broken}")]
    DoesNotFit { key: RequestKey, broken: Box<FormError> },
    /// The question is not one that people answer here.
    #[error("`{0}` is not answered by people in Taskwarden")]
    NotForPeople(String),
    /// The question is not for this agent: of another's task, or people are asked.
    #[error("`{0}` is not for this agent to answer")]
    NotForAgent(RequestKey),
    /// The result is held back already.
    #[error("the result is already held back")]
    AlreadyHeld,
    /// The result is not held back, or nobody waits for it.
    #[error("the result is not held back")]
    NotHeld,
    /// A step of an escalation that is higher was taken.
    #[error("step {asked} comes before step {taken}, which was taken; steps only go up")]
    HigherStepTaken { asked: u8, taken: u8 },
    /// The step concerns an agent, and the task has none.
    #[error("no agent has this task")]
    NoAgent,
    /// Only people decide this.
    #[error("only a person can decide this")]
    NotByPerson,
    /// Nobody is asked whether it may continue.
    #[error("the task is not waiting at a limit")]
    NotAskedToGoOn,
    /// No rule limited this when the task began.
    #[error("this task has no {0} limit")]
    NoSuchLimit(&'static str),
    /// Somebody decided about the held result before.
    #[error("already decided by {by} at {at}")]
    AlreadyDecided { by: PersonId, at: Timestamp },
    /// The task is over.
    #[error("the task is already over ({0})")]
    AlreadyOver(&'static str),
    /// A cancel was requested before.
    #[error("a cancel was already requested by {} at {at}", .by.name())]
    AlreadyAsked { by: Decider, at: Timestamp },
    /// The question already left, or its time to undo is over.
    #[error("the answer was already sent")]
    AlreadySent,
}
