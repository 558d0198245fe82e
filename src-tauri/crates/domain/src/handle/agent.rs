//! What an agent sees of a task: one pure function of the handle and the moment.
//!
//! An end that was shown never changes (statement 69), keys are shown all or not at all (66), and an agent that is not
//! asked sees honest work (68). How this is written on the wire of a dialect is `mcp::gateway`'s; nothing here knows one.

use std::sync::Arc;
use std::time::Duration;

use super::{Hold, HoldWhy, TaskHandle, Verdict};
use crate::ids::RequestKey;
use crate::policy::{LATE_REPLY_WAIT, Policy};
use crate::status::{Contact, Intent, Outcome, ServerView, TaskStatus, Ttl};
use crate::time::Timestamp;
use crate::tokens::grouped;

/// A task as its agent sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sight {
    /// It goes on, as far as this agent is concerned.
    Working {
        /// The server's words, or ours about what it waits for.
        message: Option<String>,
    },
    /// The agent is asked; all that is outstanding.
    InputRequired {
        /// The keys of [`TaskHandle::requests`].
        keys: Vec<RequestKey>,
    },
    /// It is finished, and its result is here ([`crate::payload::PayloadKind::Result`]).
    Completed,
    /// It failed; with what, says [`agent_failure`].
    Failed,
    /// It is cancelled.
    Cancelled,
    /// Unknown to this agent: one answer for all reasons.
    Gone,
}

impl Sight {
    /// Whether it will never change again, unless the handle is taken from the agent.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        match self {
            Self::Completed | Self::Failed | Self::Cancelled => true,
            Self::Working { .. } | Self::InputRequired { .. } | Self::Gone => false,
        }
    }

    fn working(message: &str) -> Self {
        Self::Working { message: Some(message.to_owned()) }
    }
}

/// With what a task failed for its agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentFailure {
    /// With the server's own error object ([`crate::payload::PayloadKind::Error`]), where it was kept.
    Stored,
    /// With none of the server's. The words are the gateway's.
    Ours(OwnFailure),
}

/// Why a task failed for its agent without an error of the server's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OwnFailure {
    /// A person withheld the result.
    Withheld {
        /// Why, in the person's words.
        reason: Option<String>,
    },
    /// The server says that it failed, without an error.
    WithoutReason,
    /// The server finished, and the result can no longer be had.
    NoResult,
    /// The call was given up while nothing of it ran on the server.
    GivenUp,
    /// The reply can no longer arrive.
    ReplyLost,
    /// In words that the agent was told before.
    Told(Arc<str>),
}

impl OwnFailure {
    /// The text form in the registry, for an end that its agent was told.
    #[must_use]
    pub(super) fn kept(&self) -> Arc<str> {
        match self {
            Self::Withheld { .. } => Arc::from(WITHHELD),
            Self::WithoutReason => Arc::from(WITHOUT_REASON),
            Self::NoResult => Arc::from(NO_RESULT),
            Self::GivenUp => Arc::from(GIVEN_UP),
            Self::ReplyLost => Arc::from(REPLY_LOST),
            Self::Told(words) => Arc::clone(words),
        }
    }

    /// Reads [`OwnFailure::kept`] back. What is none of its words is a sentence that an earlier version stored.
    fn read(kept: &Arc<str>, hold: Option<&Hold>) -> Self {
        match &**kept {
            WITHHELD => {
                let reason = match hold.and_then(|hold| hold.verdict.as_ref()) {
                    Some(Verdict::Withhold { reason, .. }) => reason.clone(),
                    Some(Verdict::Deliver { .. } | Verdict::ByLimit { .. }) | None => None,
                };
                Self::Withheld { reason }
            }
            WITHOUT_REASON => Self::WithoutReason,
            NO_RESULT => Self::NoResult,
            GIVEN_UP => Self::GivenUp,
            REPLY_LOST => Self::ReplyLost,
            _ => Self::Told(Arc::clone(kept)),
        }
    }
}

const WITHHELD: &str = "withheld";
const WITHOUT_REASON: &str = "withoutReason";
const NO_RESULT: &str = "noResult";
const GIVEN_UP: &str = "givenUp";
const REPLY_LOST: &str = "replyLost";

/// The times of a task as its agent is told them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentTask {
    /// When it was created; never changes.
    pub created: Timestamp,
    /// When it last changed; never goes back.
    pub updated: Timestamp,
    /// How long it is kept, from its creation.
    pub ttl: Ttl,
    /// How long to wait between two looks.
    pub hint: Duration,
}

/// What the agent sees of this task at a moment.
#[must_use]
pub fn agent_sight(handle: &TaskHandle, now: Timestamp) -> Sight {
    match handle.intent {
        Intent::Revoked(_) => return Sight::Gone,
        Intent::None | Intent::Cancel(_) | Intent::Unwatched { .. } => {}
    }
    if handle.cancelled_for_agent.is_some() {
        return Sight::Cancelled;
    }
    if handle.failed_for_agent.is_some() {
        return Sight::Failed;
    }
    if let Some(end) = end_sight(handle, now) {
        return end;
    }
    match handle.contact {
        Contact::Gone { .. } => return Sight::Gone,
        Contact::Fresh { .. } | Contact::Silent { .. } | Contact::Blocked { .. } => {}
    }
    if handle.asks_agent(now) {
        let open = handle.requests.values().filter(|request| request.state.is_open());
        // Of what people are asked the agent sees nothing (statement 68).
        let open = open.filter(|request| handle.may_ask_agent(&request.ask));
        return Sight::InputRequired { keys: open.map(|request| request.key.clone()).collect() };
    }
    Sight::Working { message: work_message(handle) }
}

/// The sight of what has ended or whose reply is lost.
fn end_sight(handle: &TaskHandle, now: Timestamp) -> Option<Sight> {
    let soon = |since: Timestamp| now < since.plus(LATE_REPLY_WAIT);
    match &handle.view {
        ServerView::Task(task) => match &task.status {
            TaskStatus::Completed(outcome) => Some(outcome_sight(handle, outcome)),
            TaskStatus::Failed(Some(_)) => Some(held_sight(handle).unwrap_or(Sight::Failed)),
            // The error, or a result that shows a tool error, may come with the next look.
            TaskStatus::Failed(None) if soon(handle.ended.unwrap_or(handle.changed)) => {
                Some(Sight::working("The server says it failed; its error is being fetched."))
            }
            TaskStatus::Failed(None) => Some(held_sight(handle).unwrap_or(Sight::Failed)),
            TaskStatus::Cancelled => Some(Sight::Cancelled),
            TaskStatus::Working | TaskStatus::InputRequired | TaskStatus::Other(_) => None,
        },
        ServerView::Direct(outcome) => Some(outcome_sight(handle, outcome)),
        ServerView::Refused(_) => Some(held_sight(handle).unwrap_or(Sight::Failed)),
        ServerView::NotSent { .. } => Some(if handle.stopped_unsent() { Sight::Cancelled } else { Sight::Failed }),
        ServerView::Unanswered { .. } if handle.stopped_unsent() => Some(Sight::Cancelled),
        ServerView::Unanswered { since, .. } if soon(*since) => {
            Some(Sight::working("The connection was lost; Taskwarden looks for the reply."))
        }
        ServerView::Unanswered { .. } => Some(Sight::Failed),
        ServerView::Awaiting { .. } | ServerView::OwnCall { .. } | ServerView::Asking { .. } => None,
    }
}

fn outcome_sight(handle: &TaskHandle, outcome: &Outcome) -> Sight {
    match outcome {
        Outcome::Ok(_) | Outcome::ToolError(_) | Outcome::FailedWithResult(_) => {
            held_sight(handle).unwrap_or(Sight::Completed)
        }
        Outcome::Error(_) => held_sight(handle).unwrap_or(Sight::Failed),
        Outcome::NotFetched => Sight::working("The server has finished; its result is being fetched."),
        Outcome::Unavailable => Sight::Failed,
    }
}

/// What a hold makes of an end; `None` when the agent gets it.
fn held_sight(handle: &TaskHandle) -> Option<Sight> {
    match &handle.hold {
        Some(Hold { verdict: None, why, .. }) => Some(Sight::Working { message: Some(held_message(handle, *why)) }),
        Some(Hold { verdict: Some(Verdict::Withhold { shown: false, .. }), .. }) => Some(Sight::Failed),
        Some(Hold { verdict: Some(Verdict::Withhold { shown: true, .. }), .. }) => None,
        Some(Hold { verdict: Some(Verdict::Deliver { .. } | Verdict::ByLimit { .. }), .. }) | None => None,
    }
}

fn held_message(handle: &TaskHandle, why: HoldWhy) -> String {
    match why {
        HoldWhy::Review => "A person is checking the result.".to_owned(),
        HoldWhy::TooLarge { tokens, limit } => {
            let (size, limit) = (handle.result_in_words(tokens), grouped(limit));
            format!("The result has {size}, more than the {limit} that are allowed; a person decides.")
        }
        HoldWhy::DoesNotFit { tokens, free } => {
            let (size, free) = (handle.result_in_words(tokens), grouped(free));
            format!("The result has {size}, and {free} are free in the window; a person decides.")
        }
        HoldWhy::WouldBeCut { tokens, shown, program } => {
            let (size, shown) = (handle.result_in_words(tokens), grouped(shown));
            format!(
                "The result has {size}, above the {shown} that {} surely shows its model; a person decides.",
                program.label
            )
        }
    }
}

/// What is said of work that goes on: what it waits for here, or else the server's own words.
fn work_message(handle: &TaskHandle) -> Option<String> {
    if let Some(why) = handle.stopped_by_limit() {
        return Some(format!("A limit stops this task: {why}."));
    }
    let ours = match (&handle.intent, &handle.contact) {
        (Intent::Unwatched { .. }, _) => Some("A person stopped watching this task; nothing more is heard of it."),
        (Intent::Cancel(_), _) if handle.stopped_unsent() => Some("The server was asked to stop."),
        (Intent::None | Intent::Cancel(_) | Intent::Revoked(_), Contact::Blocked { .. }) => {
            Some("The server needs a person first.")
        }
        (
            Intent::None | Intent::Cancel(_) | Intent::Revoked(_),
            Contact::Fresh { .. } | Contact::Silent { .. } | Contact::Gone { .. },
        ) => handle.has_open_request().then_some("Waiting for a person to answer."),
    };
    let servers = || match &handle.view {
        ServerView::Task(task) => task.message.clone(),
        ServerView::Awaiting { .. }
        | ServerView::OwnCall { .. }
        | ServerView::Asking { .. }
        | ServerView::NotSent { .. }
        | ServerView::Unanswered { .. }
        | ServerView::Direct(_)
        | ServerView::Refused(_) => handle.progress.as_ref().and_then(|progress| progress.message.clone()),
    };
    ours.map(str::to_owned).or_else(servers)
}

/// With what the task failed for its agent; `None` when [`agent_sight`] is not `Failed`.
#[must_use]
pub fn agent_failure(handle: &TaskHandle, now: Timestamp) -> Option<AgentFailure> {
    if agent_sight(handle, now) != Sight::Failed {
        return None;
    }
    let ours = |failure| Some(AgentFailure::Ours(failure));
    if let Some(kept) = &handle.failed_for_agent {
        return ours(OwnFailure::read(kept, handle.hold.as_ref()));
    }
    if let Some(Hold { verdict: Some(Verdict::Withhold { reason, .. }), .. }) = &handle.hold
        && !handle.ended_without_result()
    {
        return ours(OwnFailure::Withheld { reason: reason.clone() });
    }
    match &handle.view {
        ServerView::Refused(_) => Some(AgentFailure::Stored),
        ServerView::Task(task) => match &task.status {
            TaskStatus::Failed(Some(_)) | TaskStatus::Completed(Outcome::Error(_)) => Some(AgentFailure::Stored),
            TaskStatus::Failed(None) => ours(OwnFailure::WithoutReason),
            TaskStatus::Completed(_)
            | TaskStatus::Cancelled
            | TaskStatus::Working
            | TaskStatus::InputRequired
            | TaskStatus::Other(_) => ours(OwnFailure::NoResult),
        },
        ServerView::NotSent { .. } => ours(OwnFailure::GivenUp),
        ServerView::Unanswered { .. } => ours(OwnFailure::ReplyLost),
        ServerView::Awaiting { .. }
        | ServerView::OwnCall { .. }
        | ServerView::Asking { .. }
        | ServerView::Direct(_) => ours(OwnFailure::NoResult),
    }
}

/// The times of this task as its agent is told them. What the server says of its ttl is passed on; without a word of it
/// the task is kept here without a limit.
#[must_use]
pub fn agent_task_facts(handle: &TaskHandle, policy: &Policy) -> AgentTask {
    let numbers = &policy.gateway;
    let task = handle.view.task();
    let servers = || match task.map(|task| task.ttl) {
        Some(Ttl::For(span)) => Ttl::For(span),
        Some(Ttl::Unsaid | Ttl::Unlimited) | None => Ttl::Unlimited,
    };
    let hint = task.and_then(|task| task.hint).unwrap_or(numbers.agent_poll);
    AgentTask {
        created: handle.created,
        updated: handle.changed.max(handle.created),
        ttl: handle.agent_ttl.map_or_else(servers, Ttl::For),
        hint: hint.clamp(numbers.agent_poll_min, numbers.agent_poll_max.max(numbers.agent_poll_min)),
    }
}

impl TaskHandle {
    /// Whether it ended in a way that leaves nothing to hold back: cancelled, never sent, or its reply lost.
    pub(super) fn ended_without_result(&self) -> bool {
        match &self.view {
            ServerView::Task(task) => match task.status {
                TaskStatus::Cancelled | TaskStatus::Completed(Outcome::Unavailable) => true,
                TaskStatus::Completed(
                    Outcome::Ok(_)
                    | Outcome::ToolError(_)
                    | Outcome::FailedWithResult(_)
                    | Outcome::Error(_)
                    | Outcome::NotFetched,
                )
                | TaskStatus::Failed(_)
                | TaskStatus::Working
                | TaskStatus::InputRequired
                | TaskStatus::Other(_) => false,
            },
            ServerView::Direct(outcome) => *outcome == Outcome::Unavailable,
            ServerView::NotSent { .. } | ServerView::Unanswered { .. } => true,
            ServerView::Awaiting { .. }
            | ServerView::OwnCall { .. }
            | ServerView::Asking { .. }
            | ServerView::Refused(_) => false,
        }
    }
}
