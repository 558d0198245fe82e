//! What one notification is about, read from the task as it is now.
//!
//! It is made when it is shown, not when it was decided to notify: what was answered in between makes none. It contains
//! no argument, answer or result. `card_text.rs` has the text, `card_plan.rs` decides when it is shown.

use domain::ids::HandleId;
use domain::task::input_request::InputRequest;
use domain::task::status::{Phase, ServerView};
use domain::task::{Attention, TaskHandle};
use domain::time::Timestamp;

use crate::notifications::card_text::{self, LocalTime};
use crate::window::routes;

/// The subject of one notification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NotificationSubject {
    pub(crate) handle: HandleId,
    pub(crate) attention: Attention,
    /// The phase it speaks of.
    pub(crate) phase: Phase,
    pub(crate) title: String,
    /// At most two lines.
    pub(crate) body: String,
    /// The place in the window, as the hash of its address.
    pub(crate) place: String,
    /// Its rows in the inbox, where they can be snoozed.
    pub(crate) inbox: Vec<String>,
    /// After this nobody can answer any more.
    pub(crate) deadline: Option<Timestamp>,
    /// Since when it waits, or has been in this state.
    pub(crate) since: Timestamp,
}

/// What else the text of a notification needs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SubjectContext<'a> {
    /// The name of the server.
    pub(crate) server: &'a str,
    pub(crate) now: Timestamp,
    pub(crate) local: &'a LocalTime,
}

/// The subject of a task; `None` if there is nothing to notify about any more.
pub(crate) fn item(
    handle: &TaskHandle,
    attention: Attention,
    around: SubjectContext<'_>,
) -> Option<NotificationSubject> {
    let phase = handle.phase(around.now);
    let asked: Vec<&InputRequest> = handle.requests.values().filter(|request| request.state.is_open()).collect();
    if phase == Phase::Unwatched {
        return None;
    }
    let (inbox, since) = match attention {
        Attention::Waiting => match asked.iter().map(|request| request.opened).min() {
            Some(since) => (asked.iter().map(|request| format!("{}/{}", handle.id, request.key)).collect(), since),
            None => decision(handle)?,
        },
        Attention::Problem => (problem_row(handle, phase, around.server).into_iter().collect(), handle.changed),
        Attention::Finished => (Vec::new(), handle.changed),
    };
    let expires = match &handle.view {
        ServerView::Task(task) => task.expires,
        ServerView::Awaiting { .. }
        | ServerView::OwnCall { .. }
        | ServerView::Asking { .. }
        | ServerView::Gated { .. }
        | ServerView::NotSent { .. }
        | ServerView::Unanswered { .. }
        | ServerView::Direct(_)
        | ServerView::Refused(_) => None,
    };
    let deadline = expires.filter(|_| attention == Attention::Waiting && !asked.is_empty());
    let place = match inbox.first() {
        Some(row) => routes::inbox_item(row),
        None => format!("#/tasks/{}", handle.id),
    };
    let (title, body) = match attention {
        Attention::Waiting if asked.is_empty() => card_text::decision(handle, since, around),
        Attention::Waiting => card_text::waiting(handle, &asked, deadline, since, around),
        Attention::Problem => card_text::problem(handle, phase, around),
        Attention::Finished => card_text::finished(handle, phase, around),
    };
    Some(NotificationSubject { handle: handle.id, attention, phase, title, body, place, inbox, deadline, since })
}

/// A decision about a task without a question: a held result, or continuing past its limit.
fn decision(handle: &TaskHandle) -> Option<(Vec<String>, Timestamp)> {
    if handle.is_held() && handle.view.is_terminal() {
        return Some((vec![format!("{}/held", handle.id)], handle.ended_at().unwrap_or(handle.changed)));
    }
    if let Some((_, limit)) = handle.asks_for_time() {
        return Some((vec![format!("{}/timeLimit", handle.id)], limit.reached.unwrap_or(handle.changed)));
    }
    let over = handle.over_limit.as_ref().filter(|_| handle.asks_to_go_on())?;
    Some((vec![format!("{}/overLimit", handle.id)], over.at))
}

/// The row of the inbox that a problem has, where it has one.
fn problem_row(handle: &TaskHandle, phase: Phase, server: &str) -> Option<String> {
    match phase {
        Phase::Overdue | Phase::Lost | Phase::Unconfirmed => Some(format!("{}/{}", handle.id, phase.word())),
        Phase::Blocked => Some(format!("{server}/blocked")),
        Phase::Running
        | Phase::Waiting
        | Phase::Answering
        | Phase::Cancelling
        | Phase::Silent
        | Phase::Done
        | Phase::DoneWithError
        | Phase::Failed
        | Phase::Cancelled
        | Phase::Revoked
        | Phase::Unwatched
        | Phase::Expired => None,
    }
}
