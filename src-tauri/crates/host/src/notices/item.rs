//! What one notice is about, read from the task as it is at this moment.
//!
//! A notice is made when it is shown, not when it was decided to tell: what was answered meanwhile makes none. It holds
//! no argument, answer or result. `words.rs` has the copy; when and whether it is shown is `plan.rs`'s.

use domain::task::{Attention, TaskHandle};
use domain::ids::HandleId;
use domain::task::input_request::InputRequest;
use domain::task::status::{Phase, ServerView};
use domain::time::Timestamp;

use super::words::{self, Local};
use crate::places;

/// One notice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Item {
    pub(crate) handle: HandleId,
    pub(crate) attention: Attention,
    /// The phase it speaks of.
    pub(crate) phase: Phase,
    pub(crate) title: String,
    /// At most two lines.
    pub(crate) body: String,
    /// The place in the window, as the hash of its address.
    pub(crate) place: String,
    /// Its rows in the inbox; they may be snoozed there.
    pub(crate) inbox: Vec<String>,
    /// After it nobody can answer any more.
    pub(crate) deadline: Option<Timestamp>,
    /// Since when it waits, or is as it is.
    pub(crate) since: Timestamp,
}

/// What of the surroundings a notice says.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Around<'a> {
    /// The name of the server.
    pub(crate) server: &'a str,
    pub(crate) now: Timestamp,
    pub(crate) local: &'a Local,
}

/// The notice of a task; `None` when there is nothing to tell any more.
pub(crate) fn item(handle: &TaskHandle, attention: Attention, around: Around<'_>) -> Option<Item> {
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
        | ServerView::NotSent { .. }
        | ServerView::Unanswered { .. }
        | ServerView::Direct(_)
        | ServerView::Refused(_) => None,
    };
    let deadline = expires.filter(|_| attention == Attention::Waiting && !asked.is_empty());
    let place = match inbox.first() {
        Some(row) => places::inbox_item(row),
        None => format!("#/tasks/{}", handle.id),
    };
    let (title, body) = match attention {
        Attention::Waiting if asked.is_empty() => words::decision(handle, since, around),
        Attention::Waiting => words::waiting(handle, &asked, deadline, since, around),
        Attention::Problem => words::problem(handle, phase, around),
        Attention::Finished => words::finished(handle, phase, around),
    };
    Some(Item { handle: handle.id, attention, phase, title, body, place, inbox, deadline, since })
}

/// What a person decides about a task that asks nothing itself: a held result, or whether it goes on past its limit.
fn decision(handle: &TaskHandle) -> Option<(Vec<String>, Timestamp)> {
    if handle.is_held() && handle.view.is_terminal() {
        return Some((vec![format!("{}/held", handle.id)], handle.ended_at().unwrap_or(handle.changed)));
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
