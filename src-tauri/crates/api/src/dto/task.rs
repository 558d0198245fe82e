//! A task as JSON shows it.
//!
//! Every field of product.md is always present, with null where there is nothing to say. The three truths stay apart:
//! `status` and `statusMessage` are the server's, `contact` is ours, `intent` is people's.

use domain::handle::TaskHandle;
use domain::observation::LogLine;
use domain::status::{
    Contact, Delivery, DueWhy, GoneWhy, Intent, Miss, Needs, Outcome, Phase, ServerView, StopState, TaskStatus,
};
use domain::time::Timestamp;
use engine::LiveFacts;
use serde::{Deserialize, Serialize};

use super::{RequestDto, iso, millis};

/// A task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskDto {
    /// Our handle of it, `hdl_…`.
    pub id: String,
    /// The name of its server.
    pub server: String,
    /// The agent whose call it is; null when a person's, or unknown.
    pub agent: Option<String>,
    /// The tool, where known.
    pub tool: Option<String>,
    /// `started`, `agent`, `discovered` or `adopted`.
    pub origin: String,
    /// The one word for it.
    pub phase: String,
    /// Whether it is over.
    pub over: bool,
    /// What the server's view of it is: `task`, `awaiting`, `ownCall`, `asking`, `direct`, `refused`, `notSent`,
    /// `unanswered`.
    pub view: String,
    /// The server's own word; null when there is no task on the server.
    pub status: Option<String>,
    /// The server's own sentence.
    pub status_message: Option<String>,
    /// How far it is, where the dialect says.
    pub progress: Option<ProgressDto>,
    /// When it was admitted here.
    pub created_at: String,
    /// When anything but contact last changed.
    pub changed_at: String,
    /// When it was last heard of.
    pub last_seen_at: String,
    /// When it is looked at next; null when it is not looked at.
    pub next_look_at: Option<String>,
    /// When the server may forget it.
    pub expires_at: Option<String>,
    /// Every question it ever asked, oldest first.
    pub requests: Vec<RequestDto>,
    /// What people want of it.
    pub intent: Option<IntentDto>,
    /// Context tokens; null until they are counted.
    pub tokens: Option<serde_json::Value>,
    /// `agreed` or `usual` when the phase is `overdue`.
    pub overdue_why: Option<String>,
    /// When it should be finished.
    pub due_at: Option<String>,
    /// What this tool on this server usually takes.
    pub usual: Option<UsualDto>,
    /// Time from its start to now or its end, waiting for people not counted.
    pub elapsed_ms: u64,
    /// What is known about reaching it.
    pub contact: ContactDto,
    /// The error it ended with.
    pub error: Option<ErrorDto>,
    /// Its stored result.
    pub result: Option<ResultDto>,
}

/// How far a task is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProgressDto {
    /// Done so far, in the server's unit.
    pub done: Option<f64>,
    /// Of how much.
    pub total: Option<f64>,
    /// The server's words.
    pub message: Option<String>,
}

/// What people want of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IntentDto {
    /// `cancel`, `revoked` or `unwatched`.
    pub kind: String,
    /// When.
    pub at: String,
    /// Who.
    pub by: String,
    /// In the person's words.
    pub reason: Option<String>,
    /// `asked`, `acknowledged`, `stopped`, `finishedAnyway` or `refused`; null when nothing was asked of the server.
    pub state: Option<String>,
    /// Why the server refused, when it did.
    pub refused_why: Option<String>,
}

/// What a tool usually takes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UsualDto {
    /// Half of the calls took at most this.
    pub median_ms: u64,
    /// Nine of ten took at most this.
    pub p90_ms: u64,
    /// Finished calls behind the figures.
    pub samples: u32,
}

/// What is known about reaching a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContactDto {
    /// `fresh`, `silent`, `gone` or `blocked`.
    pub kind: String,
    /// Last heard.
    pub since: String,
    /// Looks in a row that brought nothing.
    pub failures: u32,
    /// Why nothing was heard, as a sentence.
    pub last: Option<String>,
}

/// An error a task ended with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ErrorDto {
    /// JSON-RPC code; null when the error is not the server's.
    pub code: Option<i64>,
    /// What it says.
    pub message: String,
}

/// A stored result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResultDto {
    /// Its size; null while it is being fetched or when it can no longer be had.
    pub bytes: Option<u64>,
    /// Whether the tool reported an error.
    pub is_error: bool,
    /// `stored`, `notFetched` or `unavailable`.
    pub state: String,
}

/// A line of the status log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LogLineDto {
    /// When it was seen.
    pub at: String,
    /// The server's word then.
    pub status: String,
    /// The server's sentence.
    pub text: String,
}

/// A page of tasks, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskListDto {
    /// The tasks.
    pub tasks: Vec<TaskDto>,
    /// Hand this back as `before` for the next page; null at the end.
    pub next: Option<String>,
}

impl From<LogLine> for LogLineDto {
    fn from(line: LogLine) -> Self {
        Self { at: iso(line.at), status: line.status, text: line.text }
    }
}

/// What a task is beyond its row: names and what is only in memory.
pub(crate) struct Beside {
    pub(crate) server: String,
    pub(crate) next_look: Option<Timestamp>,
    pub(crate) live: Option<LiveFacts>,
    pub(crate) now: Timestamp,
}

impl TaskDto {
    pub(crate) fn of(task: &TaskHandle, beside: Beside) -> Self {
        let Beside { server, next_look, live, now } = beside;
        let phase = task.phase(now);
        let over = phase.is_over() || task.view.is_terminal();
        let seen = live.map_or(task.contact.seen(), |facts| facts.seen.max(task.contact.seen()));
        let next_look = live.map_or(next_look, |facts| facts.next_look);
        let upstream = task.view.task();
        let mut requests: Vec<_> = task.requests.values().collect();
        requests.sort_by(|a, b| a.opened.cmp(&b.opened).then_with(|| a.key.cmp(&b.key)));
        Self {
            id: task.id.to_string(),
            server,
            agent: task.agent.map(|agent| agent.to_string()),
            tool: task.tool.as_deref().map(str::to_owned),
            origin: task.origin.word().into(),
            phase: phase.word().into(),
            over,
            view: view_word(&task.view).into(),
            status: upstream.map(|known| known.status.word().to_owned()),
            status_message: upstream.and_then(|known| known.message.clone()),
            progress: task.progress.as_ref().map(|progress| ProgressDto {
                done: progress.done,
                total: progress.total,
                message: progress.message.clone(),
            }),
            created_at: iso(task.created),
            changed_at: iso(task.changed),
            last_seen_at: iso(seen),
            next_look_at: if over { None } else { next_look.map(iso) },
            expires_at: upstream.and_then(|known| known.expires).map(iso),
            requests: requests.into_iter().map(RequestDto::of).collect(),
            intent: intent(task),
            tokens: None,
            overdue_why: match (phase, task.due) {
                (Phase::Overdue, Some(due)) => Some(due_word(due.why).into()),
                _ => None,
            },
            due_at: task.due.map(|due| iso(due.at)),
            usual: task.usual.map(|usual| UsualDto {
                median_ms: usual.median_ms,
                p90_ms: usual.p90_ms,
                samples: usual.samples,
            }),
            elapsed_ms: elapsed_ms(task, over, now),
            contact: contact(&task.contact, seen),
            error: error(&task.view),
            result: outcome(&task.view).map(result),
        }
    }
}

fn elapsed_ms(task: &TaskHandle, over: bool, now: Timestamp) -> u64 {
    let end = if over { task.changed } else { now };
    let waiting = task.paused_since.map_or(0, |since| millis(end.since(since)));
    millis(end.since(task.created)).saturating_sub(task.paused_ms).saturating_sub(waiting)
}

const fn due_word(why: DueWhy) -> &'static str {
    match why {
        DueWhy::Agreed => "agreed",
        DueWhy::Usual => "usual",
    }
}

const fn view_word(view: &ServerView) -> &'static str {
    match view {
        ServerView::Awaiting { .. } => "awaiting",
        ServerView::OwnCall { .. } => "ownCall",
        ServerView::Asking { .. } => "asking",
        ServerView::NotSent { .. } => "notSent",
        ServerView::Unanswered { .. } => "unanswered",
        ServerView::Direct(_) => "direct",
        ServerView::Refused(_) => "refused",
        ServerView::Task(_) => "task",
    }
}

/// The word of promise R1.
#[must_use]
pub const fn stop_word(state: StopState) -> &'static str {
    match state {
        StopState::Asked => "asked",
        StopState::Acknowledged => "acknowledged",
        StopState::Stopped => "stopped",
        StopState::FinishedAnyway => "finishedAnyway",
        StopState::Refused => "refused",
    }
}

fn intent(task: &TaskHandle) -> Option<IntentDto> {
    let (kind, wish) = match &task.intent {
        Intent::None => return None,
        Intent::Unwatched { by, at } => {
            return Some(IntentDto {
                kind: "unwatched".into(),
                at: iso(*at),
                by: by.to_string(),
                reason: None,
                state: None,
                refused_why: None,
            });
        }
        Intent::Cancel(wish) => ("cancel", wish),
        Intent::Revoked(wish) => ("revoked", wish),
    };
    Some(IntentDto {
        kind: kind.into(),
        at: iso(wish.at),
        by: wish.by.to_string(),
        reason: wish.reason.clone(),
        state: task.stop_state().map(|state| stop_word(state).to_owned()),
        refused_why: match &wish.delivery {
            Delivery::Refused { why, .. } => Some(why.clone()),
            Delivery::Recorded | Delivery::Sent { .. } | Delivery::Acknowledged { .. } => None,
        },
    })
}

fn contact(contact: &Contact, seen: Timestamp) -> ContactDto {
    let dto = |kind: &str, failures, last| ContactDto { kind: kind.into(), since: iso(seen), failures, last };
    match contact {
        Contact::Fresh { .. } => dto("fresh", 0, None),
        Contact::Silent { failures, last, .. } => dto("silent", *failures, Some(miss_words(last))),
        Contact::Gone { why, .. } => dto("gone", 0, Some(gone_words(why))),
        Contact::Blocked { needs, .. } => dto(
            "blocked",
            0,
            Some(match needs {
                Needs::SignIn(hint) => format!("the server asks for sign-in: {hint}"),
                Needs::Upgrade(what) => format!("the server needs what this version cannot do: {what}"),
            }),
        ),
    }
}

fn miss_words(miss: &Miss) -> String {
    match miss {
        Miss::Unreachable(why) => why.clone(),
        Miss::UnknownTask => "the server does not know the task".into(),
        Miss::Unreadable { path, why } => format!("the server's answer could not be read at `{path}`: {why}"),
        Miss::Refused(error) => format!("the server answered with error {}: {}", error.code, error.message),
    }
}

fn gone_words(why: &GoneWhy) -> String {
    match why {
        GoneWhy::Unknown => "the server no longer knows the task".into(),
        GoneWhy::Expired => "its time on the server ran out".into(),
        GoneWhy::ProcessEnded(end) => format!("the process that ran it ended: {end}"),
        GoneWhy::Replaced => "the server shows another task under the same id".into(),
        GoneWhy::ServerRemoved => "the server was removed".into(),
    }
}

fn error(view: &ServerView) -> Option<ErrorDto> {
    let rpc = |error: &domain::status::RpcError| ErrorDto { code: Some(error.code), message: error.message.clone() };
    let ours = |why: &str| ErrorDto { code: None, message: why.to_owned() };
    match view {
        ServerView::Refused(refusal) => Some(rpc(refusal)),
        ServerView::NotSent { why } | ServerView::Unanswered { why, .. } => Some(ours(why)),
        ServerView::Task(task) => match &task.status {
            TaskStatus::Failed(Some(failure)) => Some(rpc(failure)),
            TaskStatus::Failed(None) => Some(ours(task.message.as_deref().unwrap_or("the server gave no reason"))),
            TaskStatus::Working
            | TaskStatus::InputRequired
            | TaskStatus::Completed(_)
            | TaskStatus::Cancelled
            | TaskStatus::Other(_) => None,
        },
        ServerView::Awaiting { .. }
        | ServerView::OwnCall { .. }
        | ServerView::Asking { .. }
        | ServerView::Direct(_) => None,
    }
}

fn outcome(view: &ServerView) -> Option<&Outcome> {
    match view {
        ServerView::Direct(outcome) => Some(outcome),
        ServerView::Task(task) => match &task.status {
            TaskStatus::Completed(outcome) => Some(outcome),
            TaskStatus::Working
            | TaskStatus::InputRequired
            | TaskStatus::Failed(_)
            | TaskStatus::Cancelled
            | TaskStatus::Other(_) => None,
        },
        ServerView::Awaiting { .. }
        | ServerView::OwnCall { .. }
        | ServerView::Asking { .. }
        | ServerView::NotSent { .. }
        | ServerView::Unanswered { .. }
        | ServerView::Refused(_) => None,
    }
}

fn result(outcome: &Outcome) -> ResultDto {
    let dto = |bytes, is_error, state: &str| ResultDto { bytes, is_error, state: state.into() };
    match outcome {
        Outcome::Ok(stored) => dto(Some(stored.bytes), false, "stored"),
        Outcome::ToolError(stored) => dto(Some(stored.bytes), true, "stored"),
        Outcome::NotFetched => dto(None, false, "notFetched"),
        Outcome::Unavailable => dto(None, false, "unavailable"),
    }
}
