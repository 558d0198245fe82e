//! A task as JSON shows it.
//!
//! Every field of product.md is always present, null where there is nothing to say. `status` and `statusMessage` are the
//! server's word, `contact` is what we know of reaching it, `intent` is what people want.

pub mod content;
pub mod escalation;
pub mod facts;
pub mod history;
pub mod list;
pub mod related_tasks;
pub mod row;
pub mod run_limit;

use domain::task::figures::CountedState;
use domain::task::observation::LogLine;
use domain::task::status::{Phase, PhaseGroup, ServerView};
use domain::task::{Audience, Origin, TaskHandle};
use domain::time::Timestamp;
use engine::LiveFacts;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::pause::TaskPauseDto;
use super::task::facts::{
    ContactDto, ErrorDto, IntentDto, OverdueWhy, ProgressDto, ResultDto, ServerEndedDto, UsualDto,
};
use super::task::run_limit::TaskRunLimitDto;
use super::words::{Word, words};
use super::{HeldDto, JobDto, OverLimitDto, ParentDto, RelatedTaskDto, RequestDto, TokensDto, WhoIsAsked, iso, millis};

words! {
    /// How a task came to be.
    TaskOrigin {
        /// A person called the tool here.
        Started = "started",
        /// An agent called the tool through the gateway.
        Agent = "agent",
        /// The server listed it.
        Discovered = "discovered",
        /// A person gave its id.
        Adopted = "adopted",
    }
    /// What the server's view of a task is.
    ServerViewKind {
        /// There is a task on the server.
        Task = "task",
        /// The call has no reply yet.
        Awaiting = "awaiting",
        /// The call has no reply yet and lives on a connection of its own.
        OwnCall = "ownCall",
        /// The call waits until a person ends a pause, and was not sent.
        Gated = "gated",
        /// The call waits for answers to its questions.
        Asking = "asking",
        /// The server answered directly, without a task.
        Direct = "direct",
        /// The server refused the call.
        Refused = "refused",
        /// Nothing of the call runs: it was not sent, or its server refused the sign-in for it or asked to wait.
        NotSent = "notSent",
        /// The reply was lost.
        Unanswered = "unanswered",
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct TaskDto {
    /// Our handle of it, `hdl_…`.
    pub id: String,
    /// The name of its server.
    pub server: String,
    /// The name of the agent whose call it is; null when a person's, or unknown.
    pub agent: Option<String>,
    /// Our id of that agent.
    pub agent_id: Option<String>,
    /// The tool, where known.
    pub tool: Option<String>,
    /// How it came to be.
    #[ts(inline)]
    pub origin: TaskOrigin,
    /// The one word for it.
    #[ts(type = "Phase")]
    pub phase: Word<Phase>,
    /// Who has to act.
    #[ts(type = "PhaseGroup")]
    pub group: Word<PhaseGroup>,
    /// Whether it is over.
    pub over: bool,
    /// What the server's view of it is.
    #[ts(type = "string")]
    pub view: ServerViewKind,
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
    /// When nothing more was expected of it; null while something is.
    pub ended_at: Option<String>,
    /// Time it waited for people so far, without a wait that goes on.
    pub paused_ms: u64,
    /// Since when it waits for a person; null when it does not.
    pub paused_since: Option<String>,
    /// How long it worked, without the time that it works since `worksSince`. Waiting for people and pauses are not counted.
    pub worked_ms: u64,
    /// Since when it works besides; null while it stands still, once contact with it ended and once it is over.
    pub works_since: Option<String>,
    /// That it stands still until a person ends a pause.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[ts(optional)]
    pub paused: Option<TaskPauseDto>,
    /// When it was last heard of.
    pub last_seen_at: String,
    /// When it is looked at next; null when it is not looked at.
    pub next_look_at: Option<String>,
    /// When the server may forget it.
    pub expires_at: Option<String>,
    /// Every question it ever asked, oldest first.
    pub requests: Vec<RequestDto>,
    /// Rows of the inbox with questions that this task may be asking, and that are stored with another one.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    #[ts(optional, as = "Option<Vec<String>>")]
    pub asked_elsewhere: Vec<String>,
    /// Questions that its server asks beside the open ones of `requests`; they come up as others close.
    #[serde(skip_serializing_if = "crate::dto::inbox::request::is_none", default)]
    #[ts(optional, as = "Option<u32>")]
    pub more_questions: u32,
    /// What people want of it.
    pub intent: Option<IntentDto>,
    /// What it costs its agent's window; null until it is counted, and for tasks without an agent.
    pub tokens: Option<TokensDto>,
    /// That it said and brought more than it may; null while it did not.
    pub over_limit: Option<OverLimitDto>,
    /// Its limits of time, if rules set any.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    #[ts(optional, as = "Option<Vec<TaskRunLimitDto>>")]
    pub run_limits: Vec<TaskRunLimitDto>,
    /// Why it is overdue, when the phase is `overdue`.
    #[ts(inline)]
    pub overdue_why: Option<OverdueWhy>,
    /// When it should be finished.
    pub due_at: Option<String>,
    /// What this tool on this server usually takes.
    pub usual: Option<UsualDto>,
    /// Time from its start to now or its end, waiting for people not counted.
    pub elapsed_ms: u64,
    /// What is known about reaching it.
    pub contact: ContactDto,
    /// What keeps it from going on or its result from coming, as a sentence: its polls fail, its server needs input and
    /// asks nothing that can be answered here, or it sent no result. Left out while nothing does.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[ts(optional)]
    pub trouble: Option<String>,
    /// How a person ended its server, when it is lost for that.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[ts(optional)]
    pub server_ended: Option<ServerEndedDto>,
    /// The error it ended with.
    pub error: Option<ErrorDto>,
    /// Its stored result.
    pub result: Option<ResultDto>,
    /// Who is asked when it asks.
    #[ts(inline)]
    pub audience: WhoIsAsked,
    /// With `agentThenPeople`: when people are asked.
    pub people_at: Option<String>,
    /// When its agent was given a handle of it; null when it was not.
    pub given_at: Option<String>,
    /// Since when its agent is gone; null while it is there.
    pub orphaned_at: Option<String>,
    /// Its result waits, or waited, for a person.
    pub held: Option<HeldDto>,
    /// Whether it lives on a connection that its agent has alone.
    pub own_connection: bool,
    /// The task during which it was started; said of a single task, null in lists.
    pub parent: Option<ParentDto>,
    /// Tasks that were started while it was open, newest first; said of a single task, empty in lists.
    pub children: Vec<RelatedTaskDto>,
    /// Its job, when there was more than one attempt; said of a single task, null in lists.
    pub job: Option<JobDto>,
    /// Who started or adopted it, when a person did; said of a single task, null in lists.
    pub started_by: Option<String>,
    /// In lists: its question, its error or the first line of its result; null when it has none of these, and for a single
    /// task.
    #[ts(optional = nullable)]
    pub says: Option<String>,
}

/// A line of the status log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct TaskListDto {
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
pub(crate) struct TaskContext {
    pub(crate) server: String,
    /// The name of its agent.
    pub(crate) agent: Option<String>,
    pub(crate) next_poll: Option<Timestamp>,
    pub(crate) live: Option<LiveFacts>,
    pub(crate) now: Timestamp,
}

impl TaskDto {
    pub(crate) fn of(task: &TaskHandle, beside: TaskContext) -> Self {
        let TaskContext { server, agent, next_poll, live, now } = beside;
        let phase = task.phase(now);
        let over = phase.is_over() || task.view.is_terminal();
        let seen = live.as_ref().map_or(task.contact.seen(), |facts| facts.seen.max(task.contact.seen()));
        let next_poll = live.as_ref().map_or(next_poll, |facts| facts.next_poll);
        let failing = facts::failing(task, over, live.as_ref());
        let upstream = task.view.task();
        let work = task.work_time();
        let mut requests: Vec<_> = task.requests.values().collect();
        requests.sort_by(|a, b| a.opened.cmp(&b.opened).then_with(|| a.key.cmp(&b.key)));
        Self {
            id: task.id.to_string(),
            server,
            agent,
            agent_id: task.agent.map(|agent| agent.to_string()),
            tool: task.tool.as_deref().map(str::to_owned),
            origin: TaskOrigin::of(task.origin),
            phase: phase.into(),
            group: CountedState::of(task, phase, now).group().into(),
            over,
            view: ServerViewKind::of(&task.view),
            status: upstream.map(|known| known.status.word().to_owned()),
            status_message: upstream.and_then(|known| known.message.clone()),
            progress: task.progress.as_ref().map(ProgressDto::of),
            created_at: iso(task.created),
            changed_at: iso(task.changed),
            ended_at: task.ended_at().map(iso),
            paused_ms: task.paused_ms,
            paused_since: task.paused_since.map(iso),
            worked_ms: millis(work.so_far),
            works_since: work.works_since.filter(|_| !over).map(iso),
            paused: TaskPauseDto::of(task),
            last_seen_at: iso(seen),
            next_look_at: if over { None } else { next_poll.map(iso) },
            expires_at: upstream.and_then(|known| known.expires).map(iso),
            requests: requests.into_iter().map(|request| RequestDto::of_task(task, request)).collect(),
            more_questions: task.more_questions,
            asked_elsewhere: asked_elsewhere(task),
            intent: facts::intent(task),
            tokens: task.tokens.map(TokensDto::from),
            over_limit: task.over_limit.as_ref().map(OverLimitDto::from),
            run_limits: TaskRunLimitDto::of(task, now),
            overdue_why: facts::overdue_why(task, phase),
            due_at: task.due.map(|due| iso(due.at)),
            usual: task.usual.map(UsualDto::of),
            elapsed_ms: elapsed_ms(task, over, now),
            contact: facts::contact(&task.contact, seen, failing),
            trouble: facts::trouble(task, failing),
            server_ended: facts::server_ended(task, phase),
            error: facts::error(&task.view),
            result: task.view.outcome().and_then(facts::result),
            audience: who_is_asked(task.audience),
            people_at: people_at(task.audience).map(iso),
            given_at: task.given.map(iso),
            orphaned_at: task.orphaned.map(iso),
            held: task.hold.as_ref().map(HeldDto::of),
            own_connection: task.seat.is_some(),
            parent: None,
            children: Vec::new(),
            job: None,
            started_by: None,
            says: None,
        }
    }
}

fn asked_elsewhere(task: &TaskHandle) -> Vec<String> {
    task.shared.elsewhere.iter().map(|question| format!("{}/{}", question.task, question.key)).collect()
}

pub(crate) fn elapsed_ms(task: &TaskHandle, over: bool, now: Timestamp) -> u64 {
    millis(task.worked(if over { task.changed } else { now }))
}

const fn who_is_asked(audience: Audience) -> WhoIsAsked {
    match audience {
        Audience::People => WhoIsAsked::People,
        Audience::Agent => WhoIsAsked::Agent,
        Audience::AgentThenPeople { .. } => WhoIsAsked::AgentThenPeople,
        Audience::Both => WhoIsAsked::Both,
    }
}

const fn people_at(audience: Audience) -> Option<Timestamp> {
    match audience {
        Audience::AgentThenPeople { people_at } => Some(people_at),
        Audience::People | Audience::Agent | Audience::Both => None,
    }
}

impl TaskOrigin {
    const fn of(origin: Origin) -> Self {
        match origin {
            Origin::Started => Self::Started,
            Origin::Agent => Self::Agent,
            Origin::Discovered => Self::Discovered,
            Origin::Adopted => Self::Adopted,
        }
    }
}

impl ServerViewKind {
    const fn of(view: &ServerView) -> Self {
        match view {
            ServerView::Awaiting { .. } => Self::Awaiting,
            ServerView::OwnCall { .. } => Self::OwnCall,
            ServerView::Gated { .. } => Self::Gated,
            ServerView::Asking { .. } => Self::Asking,
            ServerView::NotSent { .. } => Self::NotSent,
            ServerView::Unanswered { .. } => Self::Unanswered,
            ServerView::Direct(_) => Self::Direct,
            ServerView::Refused(_) => Self::Refused,
            ServerView::Task(_) => Self::Task,
        }
    }
}
