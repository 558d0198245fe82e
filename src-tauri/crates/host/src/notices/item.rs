//! What one notice is about, read from the task as it is at this moment.
//!
//! A notice is made when it is shown, not when it was decided to tell: what was answered meanwhile makes none. It holds
//! no argument, answer or result. `words.rs` has the copy; when and whether it is shown is `plan.rs`'s.

use domain::handle::{Attention, TaskHandle};
use domain::ids::{HandleId, RequestKey};
use domain::request::{Ask, InputRequest};
use domain::status::{Phase, ServerView};
use domain::time::Timestamp;
use serde_json::Value;

use super::words::{self, Local, plain};
use crate::places;

/// A question that *Yes* and *No* answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct YesNo {
    /// Which question.
    pub(crate) key: RequestKey,
    /// The one field of its form.
    pub(crate) field: String,
    /// The server's words, whole.
    pub(super) message: String,
    /// What the field is called.
    pub(super) label: String,
}

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
    /// Its rows in the inbox, for *Not now*.
    pub(crate) inbox: Vec<String>,
    pub(crate) yes_no: Option<YesNo>,
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
    /// Whether the server says of the tool that it destroys nothing.
    pub(crate) is_harmless: bool,
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
    let yes_no = match asked.as_slice() {
        [one] if attention == Attention::Waiting && around.is_harmless => yes_no(one),
        _ => None,
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
        Attention::Waiting => words::waiting(handle, &asked, yes_no.as_ref(), deadline, since, around),
        Attention::Problem => words::problem(handle, phase, around),
        Attention::Finished => words::finished(handle, phase, around),
    };
    Some(Item { handle: handle.id, attention, phase, title, body, place, inbox, yes_no, deadline, since })
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

/// A form with one field that is yes or no, and words short enough to be read whole in a notice. What cannot be read
/// there is not answered there.
fn yes_no(request: &InputRequest) -> Option<YesNo> {
    let Ask::Form { message, schema } = &request.ask else { return None };
    let fields = schema.get("properties").and_then(Value::as_object)?;
    let (name, field) = fields.iter().next().filter(|_| fields.len() == 1)?;
    let is_plain = field.get("type").and_then(Value::as_str) == Some("boolean") && field.get("description").is_none();
    let label = field.get("title").and_then(Value::as_str).unwrap_or(name);
    // Whole: short enough, and nothing of it was dropped or drawn together.
    let whole = |text: &str, most: usize| {
        let (text, shown) = (text.trim(), plain(text, most));
        let length = text.chars().count();
        (length > 0 && length <= most && shown.chars().count() == length).then_some(shown)
    };
    let (message, label) = (whole(message, words::QUESTION_CHARS)?, whole(label, words::LABEL_CHARS)?);
    is_plain.then(|| YesNo { key: request.key.clone(), field: name.clone(), message, label })
}
