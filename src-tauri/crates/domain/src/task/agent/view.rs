//! What an agent sees of a task: one pure function of the handle and the moment.
//!
//! An end that was shown never changes (statement 69), all keys are shown or none (66), and an agent that is not asked
//! sees honest work (68). How this is written on the wire of a dialect is the gateway's.

use std::sync::Arc;
use std::time::Duration;

use crate::ids::RequestKey;
use crate::policy::{LATE_REPLY_WAIT, Policy};
use crate::task::status::{Contact, GateReason, Intent, Outcome, REMOVED_BEFORE_SENT, ServerView, TaskStatus, Ttl};
use crate::task::{HoldReason, HoldVerdict, ResultHold, TaskHandle};
use crate::time::Timestamp;
use crate::tokens::{are_free, grouped};

/// A task as its agent sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentView {
    /// It continues, as far as this agent is concerned.
    Working {
        /// The server's words, or ours about what it waits for.
        message: Option<String>,
    },
    /// The agent is asked; all that is outstanding.
    InputRequired {
        /// The keys of [`TaskHandle::requests`].
        keys: Vec<RequestKey>,
    },
    /// It is finished, and its result is here ([`crate::task::payload::PayloadKind::Result`]).
    Completed,
    /// It failed; with what, says [`agent_failure`].
    Failed,
    /// It is cancelled.
    Cancelled,
    /// Unknown to this agent: one answer for all reasons.
    Gone,
}

impl AgentView {
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
    /// With the server's own error object ([`crate::task::payload::PayloadKind::Error`]), where it was kept.
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
    /// The server refused the sign-in for the call, and did not run it.
    SignInRefused,
    /// The server did not take the call and asked to wait.
    AskedToWait,
    /// A person removed the server before the call was sent.
    ServerRemoved,
    /// The reply can no longer arrive.
    ReplyLost,
    /// The reply came and could not be read.
    ReplyUnreadable,
    /// In words that the agent was shown before.
    Told(Arc<str>),
}

impl OwnFailure {
    /// The text form in the registry, for an end that its agent was shown.
    #[must_use]
    pub(crate) fn kept(&self) -> Arc<str> {
        match self {
            Self::Withheld { .. } => Arc::from(WITHHELD),
            Self::WithoutReason => Arc::from(WITHOUT_REASON),
            Self::NoResult => Arc::from(NO_RESULT),
            Self::GivenUp => Arc::from(GIVEN_UP),
            Self::SignInRefused => Arc::from(SIGN_IN_REFUSED),
            Self::AskedToWait => Arc::from(ASKED_TO_WAIT),
            Self::ServerRemoved => Arc::from(SERVER_REMOVED),
            Self::ReplyLost => Arc::from(REPLY_LOST),
            Self::ReplyUnreadable => Arc::from(REPLY_UNREADABLE),
            Self::Told(words) => Arc::clone(words),
        }
    }

    /// Reads [`OwnFailure::kept`] back. What is none of its words is a sentence that an earlier version stored.
    fn read(kept: &Arc<str>, hold: Option<&ResultHold>) -> Self {
        match &**kept {
            WITHHELD => {
                let reason = match hold.and_then(|hold| hold.verdict.as_ref()) {
                    Some(HoldVerdict::Withhold { reason, .. }) => reason.clone(),
                    Some(HoldVerdict::Deliver { .. } | HoldVerdict::ByLimit { .. }) | None => None,
                };
                Self::Withheld { reason }
            }
            WITHOUT_REASON => Self::WithoutReason,
            NO_RESULT => Self::NoResult,
            GIVEN_UP => Self::GivenUp,
            SIGN_IN_REFUSED => Self::SignInRefused,
            ASKED_TO_WAIT => Self::AskedToWait,
            SERVER_REMOVED => Self::ServerRemoved,
            REPLY_LOST => Self::ReplyLost,
            REPLY_UNREADABLE => Self::ReplyUnreadable,
            _ => Self::Told(Arc::clone(kept)),
        }
    }
}

/// What an agent reads while its call waits.
const PAUSED: &str =
    "A person paused this agent. The call waits and has not been sent; it is sent when the pause ends.";
const SERVER_PAUSED: &str =
    "A person paused the server. The call waits and has not been sent; it is sent when the pause ends.";
const ALARM: &str = "This agent made calls like this one again and again, or too many of them. The call waits and has \
                     not been sent; a person decides whether it is.";
const FROZEN: &str = "A person paused the server. The task goes on when the pause ends.";

const WITHHELD: &str = "withheld";
const WITHOUT_REASON: &str = "withoutReason";
const NO_RESULT: &str = "noResult";
const SIGN_IN_REFUSED: &str = "signInRefused";
const ASKED_TO_WAIT: &str = "askedToWait";
const SERVER_REMOVED: &str = "serverRemoved";
const GIVEN_UP: &str = "givenUp";
const REPLY_LOST: &str = "replyLost";
const REPLY_UNREADABLE: &str = "replyUnreadable";

/// The times of a task as its agent sees them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentTaskTimes {
    /// When it was created; never changes.
    pub created: Timestamp,
    /// When it last changed; never goes back.
    pub updated: Timestamp,
    /// How long it is kept, from its creation.
    pub ttl: Ttl,
    /// How long to wait between two polls.
    pub hint: Duration,
}

/// What the agent sees of this task at a moment.
#[must_use]
pub fn agent_view(handle: &TaskHandle, now: Timestamp) -> AgentView {
    if handle.intent.is_revoked() {
        return AgentView::Gone;
    }
    if handle.cancelled_for_agent.is_some() {
        return AgentView::Cancelled;
    }
    if handle.failed_for_agent.is_some() {
        return AgentView::Failed;
    }
    if let Some(end) = ended_view(handle, now) {
        return end;
    }
    if handle.contact.is_gone() {
        return AgentView::Gone;
    }
    if handle.asks_agent(now) {
        let open = handle.requests.values().filter(|request| request.state.is_open());
        // Of what people are asked the agent sees nothing (statement 68).
        let open = open.filter(|request| handle.may_ask_agent(&request.ask));
        return AgentView::InputRequired { keys: open.map(|request| request.key.clone()).collect() };
    }
    AgentView::Working { message: work_message(handle) }
}

/// The view of what has ended or whose reply is lost.
fn ended_view(handle: &TaskHandle, now: Timestamp) -> Option<AgentView> {
    let soon = |since: Timestamp| now < since.plus(LATE_REPLY_WAIT);
    match &handle.view {
        ServerView::Task(task) => match &task.status {
            TaskStatus::Completed(outcome) => Some(outcome_view(handle, outcome)),
            TaskStatus::Failed(Some(_)) => Some(held_view(handle).unwrap_or(AgentView::Failed)),
            // The error, or a result that shows a tool error, may come with the next poll.
            TaskStatus::Failed(None) if soon(handle.ended.unwrap_or(handle.changed)) => {
                Some(AgentView::working("The server says it failed; its error is being fetched."))
            }
            TaskStatus::Failed(None) => Some(held_view(handle).unwrap_or(AgentView::Failed)),
            TaskStatus::Cancelled => Some(AgentView::Cancelled),
            TaskStatus::Working | TaskStatus::InputRequired | TaskStatus::Other(_) => None,
        },
        ServerView::Direct(outcome) => Some(outcome_view(handle, outcome)),
        ServerView::Refused(_) => Some(held_view(handle).unwrap_or(AgentView::Failed)),
        ServerView::NotSent { .. } => {
            Some(if handle.cancelled_unsent() { AgentView::Cancelled } else { AgentView::Failed })
        }
        ServerView::Unanswered { .. } if handle.cancelled_unsent() => Some(AgentView::Cancelled),
        ServerView::Unanswered { since, .. } if soon(*since) => Some(AgentView::working(unanswered(&handle.view))),
        ServerView::Unanswered { .. } => Some(AgentView::Failed),
        ServerView::Awaiting { .. }
        | ServerView::OwnCall { .. }
        | ServerView::Asking { .. }
        | ServerView::Gated { .. } => None,
    }
}

/// What is said of a call without its reply until it counts as failed.
fn unanswered(view: &ServerView) -> &'static str {
    if view.is_reply_unreadable() {
        "The server replied, and the reply cannot be read because of its size or its form; the call ends soon."
    } else {
        "The connection was lost; Taskwarden looks for the reply."
    }
}

fn outcome_view(handle: &TaskHandle, outcome: &Outcome) -> AgentView {
    match outcome {
        Outcome::Ok(_) | Outcome::ToolError(_) | Outcome::FailedWithResult(_) => {
            held_view(handle).unwrap_or(AgentView::Completed)
        }
        Outcome::Error(_) => held_view(handle).unwrap_or(AgentView::Failed),
        Outcome::NotFetched => AgentView::working("The server has finished; its result is being fetched."),
        Outcome::Unavailable => AgentView::Failed,
    }
}

/// What a hold makes of an end; `None` when the agent gets it.
fn held_view(handle: &TaskHandle) -> Option<AgentView> {
    match &handle.hold {
        Some(ResultHold { verdict: None, why, .. }) => {
            Some(AgentView::Working { message: Some(held_message(handle, *why)) })
        }
        Some(ResultHold { verdict: Some(HoldVerdict::Withhold { shown: false, .. }), .. }) => Some(AgentView::Failed),
        Some(ResultHold { verdict: Some(HoldVerdict::Withhold { shown: true, .. }), .. }) => None,
        Some(ResultHold { verdict: Some(HoldVerdict::Deliver { .. } | HoldVerdict::ByLimit { .. }), .. }) | None => {
            None
        }
    }
}

fn held_message(handle: &TaskHandle, why: HoldReason) -> String {
    match why {
        HoldReason::Review => "A person is checking the result.".to_owned(),
        HoldReason::TooLarge { tokens, limit } => {
            let (size, limit) = (handle.result_in_words(tokens), grouped(limit));
            format!("The result has {size}, more than the {limit} that are allowed; a person decides.")
        }
        HoldReason::DoesNotFit { tokens, free } => {
            let (size, free) = (handle.result_in_words(tokens), are_free(free));
            format!("The result has {size}, and {free} in the window; a person decides.")
        }
        HoldReason::WouldBeCut { tokens, shown, program } => {
            let (size, shown) = (handle.result_in_words(tokens), grouped(shown));
            format!(
                "The result has {size}, above the {shown} that {} surely shows its model; a person decides.",
                program.label
            )
        }
    }
}

/// What is said of a working task: what it waits for here, or else the server's own words.
fn work_message(handle: &TaskHandle) -> Option<String> {
    if let Some(why) = handle.cancelled_by_limit() {
        return Some(format!("A limit stops this task: {why}."));
    }
    let paused = match (&handle.view, handle.frozen_since) {
        (ServerView::Gated { reason: GateReason::Paused, .. }, _) => Some(PAUSED),
        (ServerView::Gated { reason: GateReason::Frozen, .. }, _) => Some(SERVER_PAUSED),
        (ServerView::Gated { reason: GateReason::Alarm, .. }, _) => Some(ALARM),
        (_, Some(_)) => Some(FROZEN),
        (_, None) => None,
    };
    let ours = match (&handle.intent, &handle.contact) {
        (Intent::Unwatched { .. }, _) => Some("A person stopped watching this task; nothing more is heard of it."),
        // A call that waits here ends here: its server is not asked.
        (Intent::Cancel(_), _) if handle.cancelled_unsent() && !handle.view.is_gated() => {
            Some("The server was asked to stop.")
        }
        (Intent::None | Intent::Cancel(_) | Intent::Revoked(_), Contact::Blocked { .. }) => {
            Some("The server needs a person first.")
        }
        (
            Intent::None | Intent::Cancel(_) | Intent::Revoked(_),
            Contact::Fresh { .. } | Contact::Silent { .. } | Contact::Gone { .. },
        ) => paused.or_else(|| handle.has_open_request().then_some("Waiting for a person to answer.")),
    };
    let servers = || match &handle.view {
        ServerView::Task(task) => task.message.clone(),
        ServerView::Awaiting { .. }
        | ServerView::OwnCall { .. }
        | ServerView::Asking { .. }
        | ServerView::Gated { .. }
        | ServerView::NotSent { .. }
        | ServerView::Unanswered { .. }
        | ServerView::Direct(_)
        | ServerView::Refused(_) => handle.progress.as_ref().and_then(|progress| progress.message.clone()),
    };
    ours.map(str::to_owned).or_else(servers)
}

/// With what the task failed for its agent; `None` when [`agent_view`] is not `Failed`.
#[must_use]
pub fn agent_failure(handle: &TaskHandle, now: Timestamp) -> Option<AgentFailure> {
    if agent_view(handle, now) != AgentView::Failed {
        return None;
    }
    let ours = |failure| Some(AgentFailure::Ours(failure));
    if let Some(kept) = &handle.failed_for_agent {
        return ours(OwnFailure::read(kept, handle.hold.as_ref()));
    }
    if let Some(ResultHold { verdict: Some(HoldVerdict::Withhold { reason, .. }), .. }) = &handle.hold
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
        ServerView::NotSent { why } if why == REMOVED_BEFORE_SENT => ours(OwnFailure::ServerRemoved),
        ServerView::NotSent { .. } if handle.view.is_sign_in_refused() => ours(OwnFailure::SignInRefused),
        ServerView::NotSent { .. } if handle.view.is_asked_to_wait() => ours(OwnFailure::AskedToWait),
        ServerView::NotSent { .. } => ours(OwnFailure::GivenUp),
        ServerView::Unanswered { .. } if handle.view.is_reply_unreadable() => ours(OwnFailure::ReplyUnreadable),
        ServerView::Unanswered { .. } => ours(OwnFailure::ReplyLost),
        ServerView::Awaiting { .. }
        | ServerView::OwnCall { .. }
        | ServerView::Asking { .. }
        | ServerView::Gated { .. }
        | ServerView::Direct(_) => ours(OwnFailure::NoResult),
    }
}

/// The times of this task as its agent sees them. What the server says of its ttl is passed on; if it says nothing,
/// the task is kept here without a limit.
#[must_use]
pub fn agent_task_times(handle: &TaskHandle, policy: &Policy) -> AgentTaskTimes {
    let numbers = &policy.gateway;
    let task = handle.view.task();
    let servers = || match task.map(|task| task.ttl) {
        Some(Ttl::For(span)) => Ttl::For(span),
        Some(Ttl::Unsaid | Ttl::Unlimited) | None => Ttl::Unlimited,
    };
    let hint = task.and_then(|task| task.hint).unwrap_or(numbers.agent_poll);
    AgentTaskTimes {
        created: handle.created,
        updated: handle.end_shown.unwrap_or(handle.changed).max(handle.created),
        ttl: handle.agent_ttl.map_or_else(servers, Ttl::For),
        hint: hint.clamp(numbers.agent_poll_min, numbers.agent_poll_max.max(numbers.agent_poll_min)),
    }
}

impl TaskHandle {
    /// Whether it ended in a way that leaves nothing to hold back: cancelled, never sent, or its reply lost.
    pub(crate) fn ended_without_result(&self) -> bool {
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
            | ServerView::Gated { .. }
            | ServerView::Refused(_) => false,
        }
    }
}
