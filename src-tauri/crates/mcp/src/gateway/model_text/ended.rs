//! How a call ended that has no result of its server to show: cancelled, taken away, withheld, lost.
//!
//! A server's work counts as stopped only where the server says so. Which of these ends are errors is decided in
//! `results/outcome.rs`, and who sees the end of a task at all in `domain::task::agent_view`.

use domain::rule::LimitKind;
use domain::server::ServerAct;
use domain::task::decider::Decider;
use domain::task::input_request::AskDoor;
use domain::task::status::{CancelRequest, Delivery, GoneWhy, ServerView, TaskStatus};
use domain::task::{OwnFailure, TaskHandle};
use domain::time::Timestamp;

use crate::gateway::model_text::{REASON_CHARS, a_person, a_program, at, on, quoted};

/// What is known of the work of a cancelled call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    /// The call never left this machine.
    NeverSent,
    /// The server refused the sign-in for the call.
    SignInRefused,
    /// The server did not take the call and asked to wait.
    AskedToWait,
    /// The server had asked something and was not working.
    BetweenQuestions,
    /// The server says that it stopped.
    Confirmed,
    /// The server was told to stop, and calls without a task are never confirmed.
    Told,
    /// The server is not known to have heard of it.
    Untold,
}

impl Work {
    fn of(handle: &TaskHandle) -> Self {
        match &handle.view {
            ServerView::Task(task) if task.status == TaskStatus::Cancelled => Self::Confirmed,
            ServerView::NotSent { .. } => {
                let has_asked = handle.requests.values().any(|request| matches!(request.door, AskDoor::Round { .. }));
                if has_asked {
                    Self::BetweenQuestions
                } else if handle.view.is_sign_in_refused() {
                    Self::SignInRefused
                } else if handle.view.is_asked_to_wait() {
                    Self::AskedToWait
                } else {
                    Self::NeverSent
                }
            }
            _ if handle.cancel_request().is_some_and(|wish| wish.sent.is_some()) => Self::Told,
            _ => Self::Untold,
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::NeverSent => "The call was never sent to the server, so nothing was done.",
            Self::SignInRefused => "The server refused the sign-in for the call, so nothing was done.",
            Self::AskedToWait => "The server did not take the call and asked to wait, so nothing was done.",
            Self::BetweenQuestions => {
                "The server was waiting for an answer and nothing of the call runs there any more; what it did before is \
                 not undone."
            }
            Self::Confirmed => {
                "The server confirmed that it stopped; what it did before, such as files it wrote, is not undone."
            }
            Self::Told => {
                "The server was told to stop but does not confirm that, so the work may have gone on or even finished; \
                 what it did is not undone."
            }
            Self::Untold => {
                "It is not known whether the server was told to stop, so the work may go on; what it does is not undone."
            }
        }
    }
}

/// A cancelled call: who wanted that, and what became of the work.
pub(in crate::gateway) fn cancelled(handle: &TaskHandle) -> String {
    cancelled_by(handle.cancel_request(), Work::of(handle))
}

/// A cancelled task of a client that knows tasks, which needs no explanation of its own cancel.
pub(in crate::gateway) fn cancelled_by_others(handle: &TaskHandle) -> Option<String> {
    let is_agents = handle.cancel_request().is_none_or(|wish| wish.by.agent().is_some());
    (!is_agents).then(|| cancelled(handle))
}

pub(super) fn cancelled_by(wish: Option<&CancelRequest>, work: Work) -> String {
    let work = work.words();
    let Some(wish) = wish else {
        return "The server says that this task was cancelled; nobody asked for that in Taskwarden. Tell the user before \
                you repeat the call."
            .to_owned();
    };
    match &wish.by {
        Decider::Person(_) => {
            let who = a_person("cancelled this call", &at(wish.at), wish.reason.as_deref());
            format!("{who} {work} Do not repeat this call unless the user asks for it.")
        }
        Decider::Limit(kind) => {
            let (limit, unsaid) = match kind {
                LimitKind::Tokens => ("A token limit", "it used too many tokens"),
                LimitKind::Time => ("A time limit", "it ran too long"),
                LimitKind::Progress => ("A progress limit", "it showed no progress for too long"),
                LimitKind::Calls => ("An alarm", "calls like it were made again and again, or too many at once"),
            };
            let why = wish.reason.as_deref().unwrap_or(unsaid);
            format!(
                "{limit} cancelled this call {}: {why}. {work} Do not repeat this call as it is; the user can raise \
                 the limit in Taskwarden.",
                at(wish.at)
            )
        }
        Decider::Control(_) => {
            let who = a_program("cancelled this call", &at(wish.at), wish.reason.as_deref());
            format!("{who} {work} Do not repeat this call unless the user asks for it.")
        }
        // A standing answer answers; it cancels nothing.
        Decider::Rule(_) => a_person("cancelled this call", &at(wish.at), wish.reason.as_deref()),
        Decider::Agent(_) => format!("You asked {} for this call to be cancelled. {work}", at(wish.at)),
    }
}

/// A task that was taken from its agent, for the call that waits for it and for whoever asks for it by its handle.
pub(in crate::gateway) fn taken_away(wish: &CancelRequest) -> String {
    let was_over = matches!(&wish.delivery, Delivery::Refused { at, .. } if *at == wish.at);
    let work = if was_over {
        "It had ended by then, and what was done is not undone."
    } else {
        "Taskwarden asks the server to stop it; what it did before is not undone."
    };
    let (did, when, reason) = ("took this call from you", on(wish.at), wish.reason.as_deref());
    let who = match &wish.by {
        Decider::Control(_) => a_program(did, &when, reason),
        Decider::Person(_) | Decider::Limit(_) | Decider::Rule(_) | Decider::Agent(_) => a_person(did, &when, reason),
    };
    format!(
        "{who} {work} Its result will not reach you: do not wait for it and do not repeat the call unless the user asks for it."
    )
}

/// A result that a person withheld.
pub(in crate::gateway) fn withheld(reason: Option<&str>) -> String {
    let why = reason.map(|reason| format!(" and said: {}", quoted(reason, REASON_CHARS))).unwrap_or_default();
    format!(
        "The server finished this call, but a person withheld its result{why}. There is nothing to read; do not repeat the \
         call unless the user asks for it."
    )
}

/// What to do when nobody knows what became of the work.
const UNKNOWN_WORK: &str =
    "It is not known whether the work was done, in whole or in part: check that before you repeat the call.";

/// A task that is beyond reach for good, for its own agent.
pub(in crate::gateway) fn lost(why: &GoneWhy) -> String {
    let what = match why {
        GoneWhy::ProcessEnded(_) => "The server's process ended while it worked on this call, so its result is lost.",
        GoneWhy::OutOfReach(_) => {
            "The process that works on this call may go on, but Taskwarden does not reach it, so its result will not arrive."
        }
        GoneWhy::EndedByPerson { act: ServerAct::End, .. } => {
            "A person ended this server's process while it worked on this call, so its result will not arrive."
        }
        GoneWhy::EndedByPerson { act: ServerAct::Restart | ServerAct::Change, .. } => {
            "A person restarted this server while it worked on this call, so its result will not arrive."
        }
        GoneWhy::Unknown | GoneWhy::Replaced => "The server does not know this task any more, so its result is lost.",
        GoneWhy::Expired => {
            "The server keeps a task for a limited time, and that time ran out before Taskwarden had its result."
        }
        GoneWhy::ServerRemoved => {
            "A person removed this server from Taskwarden while the call was open, so its result will not arrive."
        }
    };
    format!("{what} {UNKNOWN_WORK}")
}

/// A call that failed for its agent without an error of the server's.
pub(in crate::gateway) fn failed(failure: &OwnFailure) -> String {
    match failure {
        OwnFailure::Withheld { reason } => withheld(reason.as_deref()),
        OwnFailure::WithoutReason => {
            "The server says that this call failed, without a reason that can be shown. What it did before is not undone.".to_owned()
        }
        OwnFailure::NoResult => {
            "The server finished this call without a result that can be read. What it did is not undone: check that \
             before you repeat the call."
                .to_owned()
        }
        OwnFailure::GivenUp => {
            "Taskwarden gave this call up: it could not be sent, or the server asked for something that cannot be answered \
             here. Nothing of it runs on the server."
                .to_owned()
        }
        OwnFailure::SignInRefused => {
            "The server refused the sign-in for this call, so nothing of it runs there. Ask the user to sign in to this server \
             in Taskwarden, or to change the token that is stored for it there; then try again."
                .to_owned()
        }
        OwnFailure::AskedToWait => {
            "The server did not take this call and asked to wait, so nothing of it runs there. Wait a while, then try again."
                .to_owned()
        }
        OwnFailure::ServerRemoved => {
            "This call was not sent: it waited, and a person removed the server from Taskwarden before it left. Nothing of it \
             was done. Do not repeat the call unless the user asks for it."
                .to_owned()
        }
        OwnFailure::ReplyLost => reply_lost(),
        OwnFailure::ReplyUnreadable => reply_unreadable(),
        OwnFailure::Told(words) => words.to_string(),
    }
}

/// A call whose reply can no longer arrive.
pub(in crate::gateway) fn reply_lost() -> String {
    format!(
        "The reply to this call was lost: the server's process or connection ended, or Taskwarden was restarted, while the \
         call ran. {UNKNOWN_WORK}"
    )
}

/// A call whose reply came and could not be read.
pub(in crate::gateway) fn reply_unreadable() -> String {
    format!(
        "The server replied to this call, but Taskwarden cannot read the reply because of its size or its form, and does not \
         ask for it again. {UNKNOWN_WORK}"
    )
}

/// What a repeated call is told beside the reply of an earlier one.
pub(in crate::gateway) fn of_earlier_call(called: Timestamp) -> String {
    format!(
        "This is the reply to the same call that was made {}; it could not be delivered then. The tool did not run again: \
         repeat the call if you need a new result.",
        on(called)
    )
}

/// A call that ended without saying how.
pub(in crate::gateway) fn without_words() -> &'static str {
    "The server answered this call with an error that can no longer be read."
}
