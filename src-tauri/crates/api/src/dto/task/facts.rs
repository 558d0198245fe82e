//! The pieces that a task and its row share: progress, intent, contact, error, result.
//!
//! Each is made from one of the three truths alone and decides nothing.

use std::collections::BTreeSet;

use domain::server::ServerAct;
use domain::task::input_request::Ask;
use domain::task::observation::Progress;
use domain::task::status::{
    CancelState, Contact, Delivery, DueWhy, GoneWhy, Intent, Miss, Needs, Outcome, Phase, ServerView, TaskStatus,
};
use domain::task::{TaskHandle, UsualDuration};
use domain::time::Timestamp;
use engine::{FailingPolls, LiveFacts};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::dto::iso;
use crate::dto::words::words;

words! {
    /// What people want of a task.
    IntentKind {
        /// The server was asked to cancel it.
        Cancel = "cancel",
        /// It was taken from its agent, and the server was asked to cancel it.
        Revoked = "revoked",
        /// Nobody watches it any more.
        Unwatched = "unwatched",
    }
    /// How far a request to cancel got.
    CancelStateDto {
        /// Recorded, and sent or about to be sent.
        Asked = "asked",
        /// The server acknowledged the request.
        Acknowledged = "acknowledged",
        /// The server says that it ended the task.
        Stopped = "stopped",
        /// The call was not sent, or not sent again; it ended here, and its server was not asked.
        EndedHere = "endedHere",
        /// The task ended by itself all the same.
        FinishedAnyway = "finishedAnyway",
        /// The server refused.
        Refused = "refused",
        /// The server was not asked: the task was over, or a cancel had been asked before.
        NotAsked = "notAsked",
    }
    /// How a person ended the server of a task.
    EndedHow {
        /// A person ended the process.
        Ended = "ended",
        /// A person restarted the server.
        Restarted = "restarted",
        /// A person changed how the server is reached.
        Changed = "changed",
    }
    /// Why a task is overdue.
    OverdueWhy {
        /// It is past the limit agreed for it.
        Agreed = "agreed",
        /// It takes longer than this tool usually does.
        Usual = "usual",
    }
    /// Whether a task can be reached.
    ContactKind {
        Fresh = "fresh",
        /// The last polls brought nothing.
        Silent = "silent",
        /// It is gone from its server, or the server is gone.
        Gone = "gone",
        /// A person has to act before the server can be reached.
        Blocked = "blocked",
    }
    /// Where a result is.
    ResultState {
        Stored = "stored",
        /// Still on its server.
        NotFetched = "notFetched",
        /// The server can no longer give it.
        Unavailable = "unavailable",
    }
}

impl From<CancelState> for CancelStateDto {
    fn from(state: CancelState) -> Self {
        match state {
            CancelState::Asked => Self::Asked,
            CancelState::Acknowledged => Self::Acknowledged,
            CancelState::Stopped => Self::Stopped,
            CancelState::EndedHere => Self::EndedHere,
            CancelState::FinishedAnyway => Self::FinishedAnyway,
            CancelState::Refused => Self::Refused,
        }
    }
}

/// How far a task is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct IntentDto {
    /// What they want.
    #[ts(inline)]
    pub kind: IntentKind,
    pub at: String,
    /// Who wants it: a person, or `control:ctl_…` for a supervisor program.
    pub by: String,
    /// The name of that program's control token; left out for everybody else.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[ts(optional)]
    pub by_name: Option<String>,
    /// In the person's words, or what a limit found.
    pub reason: Option<String>,
    /// Why, for programs: `tokenLimit`, `timeLimit` or `progressLimit` where a limit decided.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[ts(optional)]
    pub reason_code: Option<String>,
    /// How far the server is with it; null when nothing was asked of the server.
    #[ts(
        type = "\"asked\" | \"acknowledged\" | \"stopped\" | \"endedHere\" | \"finishedAnyway\" | \"refused\" | null"
    )]
    pub state: Option<CancelStateDto>,
    /// Why the server refused, when it did.
    pub refused_why: Option<String>,
    /// When the wish was first sent, where known.
    pub sent_at: Option<String>,
    /// When the server acknowledged it, where it did.
    pub acknowledged_at: Option<String>,
}

/// How the server of a lost task was ended, when and by whom.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ServerEndedDto {
    #[ts(inline)]
    pub how: EndedHow,
    pub by: String,
    /// When the task was lost by that.
    pub at: String,
}

/// What a tool usually takes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct UsualDto {
    /// Half of the calls took at most this.
    pub median_ms: u64,
    /// Nine of ten took at most this.
    pub p90_ms: u64,
    /// 95 of 100 took at most this: past it a task is overdue.
    pub p95_ms: u64,
    /// Finished calls behind the figures.
    pub samples: u32,
}

/// What is known about reaching a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ContactDto {
    /// Whether it can be reached.
    #[ts(inline)]
    pub kind: ContactKind,
    pub since: String,
    /// Looks in a row that brought nothing.
    pub failures: u32,
    /// Why nothing was heard, as a sentence.
    pub last: Option<String>,
    /// When the first of these looks failed, while the task does not count as silent yet.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[ts(optional)]
    pub failing_since: Option<String>,
}

/// An error a task ended with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ErrorDto {
    /// JSON-RPC code; null when the error is not the server's.
    pub code: Option<i64>,
    /// What it says.
    pub message: String,
}

/// A stored result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ResultDto {
    /// Its size; null while it is being fetched or when it can no longer be had.
    pub bytes: Option<u64>,
    /// Whether the tool reported an error.
    pub is_error: bool,
    /// Where it is.
    #[ts(inline)]
    pub state: ResultState,
}

impl ProgressDto {
    pub(crate) fn of(progress: &Progress) -> Self {
        Self { done: progress.done, total: progress.total, message: progress.message.clone() }
    }
}

impl UsualDto {
    pub(crate) fn of(usual: UsualDuration) -> Self {
        let UsualDuration { samples, median_ms, p90_ms, p95_ms } = usual;
        Self { median_ms, p90_ms, p95_ms, samples }
    }
}

/// Why it is overdue, when it is.
pub(crate) fn overdue_why(task: &TaskHandle, phase: Phase) -> Option<OverdueWhy> {
    let due = task.due.filter(|_| phase == Phase::Overdue)?;
    Some(match due.why {
        DueWhy::Agreed => OverdueWhy::Agreed,
        DueWhy::Usual => OverdueWhy::Usual,
    })
}

/// How its server was ended, when it is lost for that.
pub(crate) fn server_ended(task: &TaskHandle, phase: Phase) -> Option<ServerEndedDto> {
    let (Phase::Lost, Contact::Gone { at, why: GoneWhy::EndedByPerson { by, act }, .. }) = (phase, &task.contact)
    else {
        return None;
    };
    let how = match act {
        ServerAct::End => EndedHow::Ended,
        ServerAct::Restart => EndedHow::Restarted,
        ServerAct::Change => EndedHow::Changed,
    };
    Some(ServerEndedDto { how, by: by.to_string(), at: iso(*at) })
}

pub(crate) fn intent(task: &TaskHandle) -> Option<IntentDto> {
    let (kind, wish) = match &task.intent {
        Intent::None => return None,
        Intent::Unwatched { by, at } => {
            return Some(IntentDto {
                kind: IntentKind::Unwatched,
                at: iso(*at),
                by: by.to_string(),
                by_name: None,
                reason: None,
                reason_code: None,
                state: None,
                refused_why: None,
                sent_at: None,
                acknowledged_at: None,
            });
        }
        Intent::Cancel(wish) => (IntentKind::Cancel, wish),
        Intent::Revoked(wish) => (IntentKind::Revoked, wish),
    };
    Some(IntentDto {
        kind,
        at: iso(wish.at),
        by: wish.by.name(),
        by_name: None,
        // Where the person gave none, ours for the step that this was.
        reason: wish.reason.clone().or_else(|| {
            let step = task.escalation.steps.iter().find(|taken| taken.at == wish.at && taken.by == wish.by);
            step.and_then(|taken| taken.reason.clone())
        }),
        reason_code: wish.by.limit().map(|kind| kind.reason_code().to_owned()),
        state: task.stop_state().map(CancelStateDto::from),
        refused_why: match &wish.delivery {
            Delivery::Refused { why, .. } => Some(why.clone()),
            Delivery::Recorded | Delivery::Sent { .. } | Delivery::Acknowledged { .. } => None,
        },
        sent_at: wish.sent.map(iso),
        acknowledged_at: wish.acknowledged_at().map(iso),
    })
}

pub(crate) fn contact(contact: &Contact, seen: Timestamp, failing: Option<&FailingPolls>) -> ContactDto {
    let dto = |kind, failures, last| ContactDto { kind, since: iso(seen), failures, last, failing_since: None };
    match contact {
        Contact::Fresh { .. } => match failing {
            None => dto(ContactKind::Fresh, 0, None),
            Some(FailingPolls { count, since, last }) => ContactDto {
                failing_since: Some(iso(*since)),
                ..dto(ContactKind::Fresh, *count, Some(miss_words(last)))
            },
        },
        Contact::Silent { failures, last, .. } => dto(ContactKind::Silent, *failures, Some(miss_words(last))),
        Contact::Gone { why, .. } => dto(ContactKind::Gone, 0, Some(gone_words(why))),
        Contact::Blocked { needs, .. } => dto(
            ContactKind::Blocked,
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
        // The answer as a whole.
        Miss::Unreadable { path, why } if path == "$" => format!("the server's answer could not be read: {why}"),
        Miss::Unreadable { path, why } => format!("the server's answer could not be read at `{path}`: {why}"),
        Miss::Refused(error) => format!("the server answered with error {}: {}", error.code, error.message),
    }
}

fn gone_words(why: &GoneWhy) -> String {
    match why {
        GoneWhy::Unknown => "the server no longer knows the task".into(),
        GoneWhy::Expired => "its time on the server ran out".into(),
        GoneWhy::ProcessEnded(end) => format!("the process that ran it ended: {end}"),
        GoneWhy::OutOfReach(why) => format!("its process may go on out of reach: {why}"),
        GoneWhy::EndedByPerson { by, act: ServerAct::End } => format!("{by} ended the process that ran it"),
        GoneWhy::EndedByPerson { by, act: ServerAct::Restart } => format!("{by} restarted its server"),
        GoneWhy::EndedByPerson { by, act: ServerAct::Change } => format!("{by} changed its server"),
        GoneWhy::Replaced => "the server shows another task under the same id".into(),
        GoneWhy::ServerRemoved => "the server was removed".into(),
    }
}

/// The polls of a task that fail, where it matters: it goes on or its result is to be fetched, and it is not silent.
pub(crate) fn failing<'a>(task: &TaskHandle, over: bool, live: Option<&'a LiveFacts>) -> Option<&'a FailingPolls> {
    let polled = matches!(task.contact, Contact::Fresh { .. }) && (!over || task.view.lacks_result());
    live.filter(|_| polled)?.failing.as_ref()
}

/// What keeps a task from going on, or its result from coming, that its phase does not say; as a sentence.
pub(crate) fn trouble(task: &TaskHandle, failing: Option<&FailingPolls>) -> Option<String> {
    if let Some(FailingPolls { count, last, .. }) = failing {
        let which = if *count == 1 { "its last check".to_owned() } else { format!("its last {count} checks") };
        return Some(format!("{which} failed: {}", miss_words(last)));
    }
    if let (Contact::Fresh { .. }, Some(asks)) = (&task.contact, task.unmet_input()) {
        let why = unmet_reasons(&asks);
        return Some(format!("needs input, but asks nothing that can be answered here: {why}"));
    }
    (task.view.outcome() == Some(&Outcome::Unavailable)).then(|| NO_RESULT.to_owned())
}

/// Of a task that completed, where its result never came.
pub(crate) const NO_RESULT: &str = "the server sent no result";

fn unmet_reasons(asks: &[&Ask]) -> String {
    let (mut methods, mut unknown) = (BTreeSet::new(), BTreeSet::new());
    for ask in asks {
        match ask {
            Ask::Sampling => _ = methods.insert("`sampling/createMessage`"),
            Ask::Roots => _ = methods.insert("`roots/list`"),
            Ask::Unsupported(what) => _ = unknown.insert(format!("it sent `{what}`")),
            Ask::Form { .. } | Ask::Visit { .. } => {}
        }
    }
    let methods: Vec<_> = methods.into_iter().collect();
    let for_programs = (!methods.is_empty()).then(|| format!("people do not answer {}", methods.join(" or ")));
    let reasons: Vec<_> = for_programs.into_iter().chain(unknown).take(UNMET_REASONS_MAX).collect();
    if reasons.is_empty() { "it sent no question".to_owned() } else { reasons.join(", ") }
}

/// Reasons in one line; more are not readable. Judgement.
const UNMET_REASONS_MAX: usize = 3;

pub(crate) fn error(view: &ServerView) -> Option<ErrorDto> {
    let rpc =
        |error: &domain::task::status::RpcError| ErrorDto { code: Some(error.code), message: error.message.clone() };
    let ours = |why: &str| ErrorDto { code: None, message: why.to_owned() };
    match view {
        ServerView::Refused(refusal) => Some(rpc(refusal)),
        ServerView::NotSent { why } | ServerView::Unanswered { why, .. } => Some(ours(why)),
        ServerView::Task(task) => match &task.status {
            TaskStatus::Failed(Some(failure)) | TaskStatus::Completed(Outcome::Error(failure)) => Some(rpc(failure)),
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
        | ServerView::Gated { .. }
        | ServerView::Direct(_) => None,
    }
}

/// What is known of the result; `None` when the call ended with an error instead.
pub(crate) fn result(outcome: &Outcome) -> Option<ResultDto> {
    let dto = |bytes, is_error, state| Some(ResultDto { bytes, is_error, state });
    match outcome {
        Outcome::Ok(stored) => dto(Some(stored.bytes), false, ResultState::Stored),
        Outcome::ToolError(stored) | Outcome::FailedWithResult(stored) => {
            dto(Some(stored.bytes), true, ResultState::Stored)
        }
        Outcome::NotFetched => dto(None, false, ResultState::NotFetched),
        Outcome::Unavailable => dto(None, false, ResultState::Unavailable),
        Outcome::Error(_) => None,
    }
}
