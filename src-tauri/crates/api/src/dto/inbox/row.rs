//! A row of the window's inbox: one item that needs a person.
//!
//! Rows are made from the task's current state; the feed decides which are sent. A question is identified by its key, a task
//! by its phase, a server by its name. The command line's inbox is `request.rs`.

use domain::ids::RequestKey;
use domain::policy::{Policy, plain_text};
use domain::server::ServerHealth;
use domain::task::input_request::standing_answer::{check_may_stand, form_digest};
use domain::task::input_request::{Ask, InputRequest, RequestState};
use domain::task::status::{Contact, Phase, ServerView};
use domain::task::{HoldReason, TaskHandle};
use domain::time::Timestamp;
use domain::tokens::Exactness;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::dto::alarm::AlarmDto;
use crate::dto::inbox::loss::{Loss, LostCall};
use crate::dto::inbox::url_host::UrlHost;
use crate::dto::pause::PauseDto;
use crate::dto::task::run_limit::TaskRunLimitDto;
use crate::dto::words::words;
use crate::dto::{ExactnessDto, HeldWhy, iso, moment};

/// Characters of the digest of a form. Judgement: within one tool they never meet by chance.
const FORM_CHARS: usize = 16;

words! {
    /// What an inbox row is about.
    InboxKind {
        /// A form to fill in.
        Form = "form",
        /// A page to visit.
        Url = "url",
        /// A question that this version cannot answer.
        Unsupported = "unsupported",
        /// A held result.
        Held = "held",
        /// A task past a limit that asks.
        OverLimit = "overLimit",
        /// A task that reached a limit of time that asks.
        TimeLimit = "timeLimit",
        /// A task that is overdue.
        Overdue = "overdue",
        /// A task that is gone from its server.
        Lost = "lost",
        /// A call of which nobody knows whether it arrived.
        Unconfirmed = "unconfirmed",
        /// A server that needs a person before it can be reached.
        Blocked = "blocked",
        /// An agent that does something again and again.
        Alarm = "alarm",
        /// Calls that wait for the end of a pause, which asks a person which of them are sent.
        PauseChoice = "pauseChoice",
    }
}

/// Something that waits for a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct InboxRow {
    /// `hdl_…/KEY` for a question, `hdl_…/overdue` and so on for a task, `NAME/blocked` for a server, `alm_…/alarm` for an
    /// alarm, `pau_…/pauseChoice` for a pause.
    pub id: String,
    /// What it is.
    #[ts(inline)]
    pub kind: InboxKind,
    pub task: Option<String>,
    pub key: Option<String>,
    /// The server's name; empty for a paused agent, whose calls may be to several.
    pub server: String,
    /// The tool, where known.
    pub tool: Option<String>,
    /// Whose call it is.
    pub agent: Option<String>,
    /// The server's own words, their beginning.
    pub message: Option<String>,
    /// Host of a link.
    pub host: Option<String>,
    /// Since when it waits.
    pub opened_at: String,
    /// When it is too late.
    pub deadline: Option<String>,
    /// Not now: asleep until then.
    pub snoozed_until: Option<String>,
    /// When its task last changed.
    pub changed_at: String,
    /// Set for a few seconds after somebody answered.
    pub answered_by: Option<String>,
    /// The server says that the tool destroys something; false when it says nothing.
    pub destructive: bool,
    /// Tokens of a held result, or of a task that went past its limit; null elsewhere and while they are not counted.
    pub tokens: Option<u64>,
    /// The limit that it is held for, or that the task went past.
    pub limit: Option<u64>,
    /// How exact `tokens` is.
    pub exactness: Option<ExactnessDto>,
    /// What a task past a limit of time reached, and what it counted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[ts(optional)]
    pub run_limit: Option<TaskRunLimitDto>,
    /// What an agent does again and again.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[ts(optional)]
    pub alarm: Option<Box<AlarmDto>>,
    /// The pause whose waiting calls a person chooses from, with the first `calls_shown` of them.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[ts(optional)]
    pub pause: Option<Box<PauseDto>>,
    /// Why a result is held; null elsewhere.
    pub why: Option<HeldWhy>,
    /// The tasks of which one asks, where the server does not say which; then neither tool nor agent is named.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    #[ts(optional, as = "Option<Vec<String>>")]
    pub one_of: Vec<String>,
    /// On the last question of a task: questions that its server asks besides. They come up as others close.
    #[serde(skip_serializing_if = "crate::dto::inbox::request::is_none", default)]
    #[ts(optional, as = "Option<u32>")]
    pub more_questions: u32,
    /// Names the form of a question: open questions of one server and tool with the same can be answered together. Left out
    /// where each must be answered for itself.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[ts(optional)]
    pub form: Option<String>,
    /// The calls that were lost together, the oldest first and at most `loss_calls_shown`; empty where one task is meant.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    #[ts(optional, as = "Option<Vec<LostCall>>")]
    pub calls: Vec<LostCall>,
    /// How many calls were lost together; 0 where one task is meant.
    #[serde(skip_serializing_if = "crate::dto::inbox::request::is_none", default)]
    #[ts(optional, as = "Option<u32>")]
    pub call_count: u32,
    /// Not now: asleep until its task changes.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    #[ts(optional, as = "Option<bool>")]
    pub snoozed_until_change: bool,
    /// When the server may forget the task: a deadline once it is near.
    #[serde(skip)]
    pub(crate) expires: Option<Timestamp>,
    /// What was lost when, where other tasks may have been lost with it.
    #[serde(skip)]
    pub(crate) loss: Option<Loss>,
}

/// What a row says beside its task.
#[derive(Clone, Copy)]
pub(crate) struct RowContext<'a> {
    pub(crate) server: &'a str,
    pub(crate) agent: Option<&'a str>,
    pub(crate) destructive: bool,
    pub(crate) now: Timestamp,
    pub(crate) policy: &'a Policy,
}

impl InboxRow {
    /// The rows of a task as it is now: its open questions, or what is wrong with it.
    pub(crate) fn of_task(task: &TaskHandle, asked: RowContext<'_>) -> Vec<Self> {
        let phase = task.phase(asked.now);
        let mut rows = Vec::new();
        if phase.asks_people() {
            let open = task.requests.values().filter(|request| task.asks_people(request, asked.now));
            rows.extend(open.map(|request| Self::of_request(task, request, asked)));
            if let Some(last) = rows.iter_mut().max_by(|a, b| a.before(b)) {
                last.more_questions = task.more_questions;
            }
        }
        if let Some(over) = task.over_limit.as_ref().filter(|_| task.asks_to_go_on()) {
            rows.push(Self {
                tokens: Some(over.tokens),
                limit: Some(over.limit.tokens),
                exactness: exactness(task),
                ..Self::of_state(task, InboxKind::OverLimit, over.at, asked)
            });
        }
        if let Some(limit) = TaskRunLimitDto::of(task, asked.now).into_iter().find(|limit| limit.asks) {
            let since = task.asks_for_time().and_then(|(_, limit)| limit.reached).unwrap_or(task.changed);
            rows.push(Self { run_limit: Some(limit), ..Self::of_state(task, InboxKind::TimeLimit, since, asked) });
        }
        let held = task.hold.as_ref().filter(|_| task.is_held() && task.view.is_terminal());
        if let Some(hold) = held {
            let counted = task.tokens.and_then(|tokens| tokens.result);
            let tokens = hold.why.tokens().or(counted);
            let (why, limit) = match hold.why {
                HoldReason::Review => (HeldWhy::Review, None),
                HoldReason::TooLarge { limit, .. } => (HeldWhy::TooLarge, Some(limit)),
                HoldReason::DoesNotFit { .. } => (HeldWhy::DoesNotFit, None),
                HoldReason::WouldBeCut { shown, .. } => (HeldWhy::WouldBeCut, Some(shown)),
            };
            rows.push(Self {
                tokens,
                limit,
                why: Some(why),
                exactness: tokens.and_then(|_| exactness(task)),
                ..Self::of_state(task, InboxKind::Held, task.ended_at().unwrap_or(task.changed), asked)
            });
        } else if let Some((kind, since)) = trouble(task, phase) {
            rows.push(Self { loss: Loss::of(task, kind, since), ..Self::of_state(task, kind, since, asked) });
        }
        rows
    }

    /// The row of what a task is, not of what it asks.
    fn of_state(task: &TaskHandle, kind: InboxKind, since: Timestamp, asked: RowContext<'_>) -> Self {
        Self {
            id: format!("{}/{kind}", task.id),
            message: task
                .view
                .task()
                .and_then(|known| known.message.as_deref())
                .map(|text| plain_text(text, asked.policy.asking.row_text_chars)),
            opened_at: iso(since),
            ..Self::blank(task, kind, asked)
        }
    }

    /// The row of one question.
    fn of_request(task: &TaskHandle, request: &InputRequest, asked: RowContext<'_>) -> Self {
        let cut =
            |text: &str| Some(plain_text(text, asked.policy.asking.row_text_chars)).filter(|text| !text.is_empty());
        let (kind, message, host) = match &request.ask {
            Ask::Form { message, .. } => (InboxKind::Form, cut(message), None),
            Ask::Visit { message, url, .. } => (InboxKind::Url, cut(message), UrlHost::of(url).map(|host| host.shown)),
            Ask::Sampling | Ask::Roots | Ask::Unsupported(_) => (InboxKind::Unsupported, None, None),
        };
        let mut row = Self {
            id: row_id(task, request),
            key: Some(request.key.to_string()),
            message,
            host,
            opened_at: iso(request.opened),
            expires: task.view.task().and_then(|known| known.expires),
            ..Self::blank(task, kind, asked)
        };
        row.form = check_may_stand(task, request, Some(asked.destructive))
            .ok()
            .and_then(|()| form_digest(&request.ask))
            .map(|digest| digest.chars().take(FORM_CHARS).collect());
        row.one_of = super::request::one_of(task, request);
        if !row.one_of.is_empty() {
            (row.tool, row.agent) = (None, None);
        }
        row.approach(asked.now, asked.policy);
        row
    }

    /// The row of a server that needs a person before it can be reached.
    pub(crate) fn of_server(name: &str, health: &ServerHealth) -> Option<Self> {
        match health {
            ServerHealth::Blocked { since, .. } => {
                Some(Self::without_task(format!("{name}/blocked"), InboxKind::Blocked, name, iso(*since)))
            }
            ServerHealth::Unknown
            | ServerHealth::Connecting
            | ServerHealth::Up { .. }
            | ServerHealth::Down { .. }
            | ServerHealth::Ended { .. } => None,
        }
    }

    /// The row of an alarm that nobody has dismissed.
    pub(crate) fn of_alarm(alarm: AlarmDto) -> Self {
        let id = format!("{}/{}", alarm.id, InboxKind::Alarm);
        // What happens after it was raised does not wake a row that sleeps until a change, but its end does.
        let changed_at = alarm.over_at.clone().unwrap_or_else(|| alarm.raised_at.clone());
        let row = Self::without_task(id, InboxKind::Alarm, &alarm.server, alarm.raised_at.clone());
        let (tool, agent) = (Some(alarm.tool.clone()), Some(alarm.agent.clone()));
        Self { tool, agent, changed_at, alarm: Some(Box::new(alarm)), ..row }
    }

    /// The row of a pause that asks since then which calls are sent; `last_call` is when the newest of them began to wait.
    pub(crate) fn of_pause(pause: PauseDto, since: Timestamp, last_call: Timestamp) -> Self {
        let id = format!("{}/{}", pause.id, InboxKind::PauseChoice);
        let server = pause.server.clone().unwrap_or_default();
        let row = Self::without_task(id, InboxKind::PauseChoice, &server, iso(since));
        // A further call wakes a row that sleeps until a change.
        let changed_at = iso(last_call.max(since));
        Self { agent: pause.agent.clone(), changed_at, pause: Some(Box::new(pause)), ..row }
    }

    /// The row of something that is no task.
    fn without_task(id: String, kind: InboxKind, server: &str, since: String) -> Self {
        Self {
            id,
            kind,
            task: None,
            key: None,
            server: server.into(),
            tool: None,
            agent: None,
            message: None,
            host: None,
            opened_at: since.clone(),
            deadline: None,
            snoozed_until: None,
            changed_at: since,
            answered_by: None,
            destructive: false,
            tokens: None,
            limit: None,
            exactness: None,
            run_limit: None,
            alarm: None,
            pause: None,
            why: None,
            one_of: Vec::new(),
            more_questions: 0,
            form: None,
            calls: Vec::new(),
            call_count: 0,
            snoozed_until_change: false,
            expires: None,
            loss: None,
        }
    }

    /// Whether a person decides about work that asks nothing itself.
    pub(crate) fn is_decision(&self) -> bool {
        matches!(self.kind, InboxKind::Held | InboxKind::OverLimit | InboxKind::TimeLimit | InboxKind::PauseChoice)
    }

    /// Whether something is wrong with its task or server.
    pub(crate) fn is_trouble(&self) -> bool {
        matches!(
            self.kind,
            InboxKind::Lost | InboxKind::Unconfirmed | InboxKind::Overdue | InboxKind::Blocked | InboxKind::Alarm
        )
    }

    /// Whether its person hid it, and the time is not over.
    pub(crate) fn is_asleep(&self, now: Timestamp) -> bool {
        self.snoozed_until_change || self.snoozed_until.as_deref().and_then(moment).is_some_and(|until| until > now)
    }

    /// Shows the expiry as a deadline once it is near; returns whether that changed the row.
    pub(crate) fn approach(&mut self, now: Timestamp, policy: &Policy) -> bool {
        let near = self.expires.filter(|at| at.since(now) <= policy.asking.deadline_near).map(iso);
        let changed = self.deadline != near;
        self.deadline = near;
        changed
    }

    /// Cost of delay: a deadline first, the soonest first; then the oldest first.
    #[must_use]
    pub fn before(&self, other: &Self) -> std::cmp::Ordering {
        let place = |row: &Self| (row.deadline.is_none(), row.deadline.clone(), row.opened_at.clone(), row.id.clone());
        place(self).cmp(&place(other))
    }

    fn blank(task: &TaskHandle, kind: InboxKind, asked: RowContext<'_>) -> Self {
        let chars = asked.policy.asking.row_text_chars;
        Self {
            id: String::new(),
            kind,
            task: Some(task.id.to_string()),
            key: None,
            server: asked.server.into(),
            tool: task.tool.as_deref().map(|tool| plain_text(tool, chars)),
            agent: asked.agent.map(str::to_owned),
            message: None,
            host: None,
            opened_at: String::new(),
            deadline: None,
            snoozed_until: None,
            changed_at: iso(task.changed),
            answered_by: None,
            destructive: asked.destructive,
            tokens: None,
            limit: None,
            exactness: None,
            run_limit: None,
            alarm: None,
            pause: None,
            why: None,
            one_of: Vec::new(),
            more_questions: 0,
            form: None,
            calls: Vec::new(),
            call_count: 0,
            snoozed_until_change: false,
            expires: None,
            loss: None,
        }
    }
}

/// How exact what is known of a task's tokens is; at most that much where its figures are not stored yet.
fn exactness(task: &TaskHandle) -> Option<ExactnessDto> {
    Some(task.tokens.map_or(Exactness::AtMost, |tokens| tokens.exactness).into())
}

/// The id of the row of a question.
pub(crate) fn row_id(task: &TaskHandle, request: &InputRequest) -> String {
    format!("{}/{}", task.id, request.key)
}

/// Who answered the question of this row, if it was answered here.
pub(crate) fn answered_by(task: &TaskHandle, row: &str) -> Option<String> {
    let (_, key) = row.split_once('/')?;
    let request = task.requests.get(&RequestKey::new(key))?;
    match &request.state {
        RequestState::Answered(answered) | RequestState::Confirmed(answered) => Some(answered.by.name()),
        RequestState::Open | RequestState::Withdrawn { .. } => None,
    }
}

/// What is wrong with a task that asks nothing, and since when.
fn trouble(task: &TaskHandle, phase: Phase) -> Option<(InboxKind, Timestamp)> {
    match phase {
        Phase::Overdue => Some((InboxKind::Overdue, task.due.map_or(task.changed, |due| due.at))),
        Phase::Lost if task.is_settled_loss(phase) => None,
        Phase::Lost => Some((
            InboxKind::Lost,
            match &task.contact {
                Contact::Gone { at, .. } => *at,
                Contact::Fresh { .. } | Contact::Silent { .. } | Contact::Blocked { .. } => task.changed,
            },
        )),
        Phase::Unconfirmed => Some((
            InboxKind::Unconfirmed,
            match &task.view {
                ServerView::Unanswered { since, .. } => *since,
                ServerView::Awaiting { .. }
                | ServerView::OwnCall { .. }
                | ServerView::Asking { .. }
                | ServerView::Gated { .. }
                | ServerView::NotSent { .. }
                | ServerView::Direct(_)
                | ServerView::Refused(_)
                | ServerView::Task(_) => task.changed,
            },
        )),
        Phase::Blocked => Some((InboxKind::Blocked, task.contact.seen())),
        Phase::Waiting
        | Phase::Running
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

#[cfg(test)]
mod tests;
