//! Tasks: start, list, show, result, adopt.
//!
//! Starting returns as soon as the handle is durable. Cancelling is `tasks/cancel.rs`, the window's list `tasks/page.rs`,
//! answering `inbox/answer.rs`, following `feed/task_feed.rs`.

pub mod answers;
pub mod cancel;
pub mod content;
pub mod escalate;
pub mod hide;
pub mod history;
pub(crate) mod last_line;
pub(crate) mod list_query;
pub mod page;
pub mod recent_arguments;
pub(crate) mod related_tasks;
pub mod result_hold;
mod step_evidence;
pub mod time_limit;
pub(crate) mod wait_until;

use std::time::Duration;

use domain::ids::{HandleId, UpstreamTaskId};
use domain::ports::{TaskCursor, TaskQuery};
use domain::task::TaskHandle;
use domain::task::payload::{Payload, PayloadKind};
use domain::task::status::{Outcome, Phase, TaskStatus};
use domain::time::Timestamp;
use engine::StartCall;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use ts_rs::TS;

use super::OneTask;
use crate::api::Api;
use crate::caller::Caller;
use crate::dto::task::escalation::EscalationDto;
use crate::dto::task::facts::{self, ResultState};
use crate::dto::words::{Word, words};
use crate::dto::{HistoryEvent, LogLineDto, TaskDto, TaskListDto};
use crate::error::{ApiError, Code};
use crate::lookup::{Names, phase, short};

/// A call to start. Has no `Debug`: it carries arguments.
#[derive(Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StartTask {
    /// The server's name.
    pub server: String,
    pub tool: String,
    /// A JSON object, sent as it stands here.
    #[ts(type = "object")]
    pub arguments: Box<RawValue>,
    /// Time agreed for it: past it, it is overdue.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub limit_ms: Option<u64>,
}

/// Which tasks to list.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[ts(optional_fields = nullable)]
pub struct ListTasks {
    /// In any of these phases.
    #[ts(optional, type = "Array<Phase>")]
    pub phases: Vec<String>,
    /// Only those that are not over.
    #[ts(optional, as = "Option<bool>")]
    pub open: bool,
    /// On this server.
    pub server: Option<String>,
    /// Of this agent, by name or id.
    pub agent: Option<String>,
    /// Rows at most.
    pub limit: Option<u32>,
    /// `next` of the page before.
    pub before: Option<String>,
}

/// A task with its status log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ShownTask {
    #[serde(flatten)]
    pub task: TaskDto,
    /// The server's messages over time, oldest first.
    pub log: Vec<LogLineDto>,
    /// What people decided about it, oldest first, each with the way it came in.
    #[serde(default)]
    pub decisions: Vec<HistoryEvent>,
    /// How far people went to end it, and which steps are left.
    #[serde(default)]
    #[ts(optional, as = "Option<EscalationDto>")]
    pub escalation: EscalationDto,
}

words! {
    /// What a task left.
    ResultKind {
        Result = "result",
        /// A JSON-RPC error.
        Error = "error",
    }
}

/// The terminal payload of a task. Has no `Debug`: it carries a result.
#[derive(Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct TaskResult {
    pub id: String,
    #[ts(type = "Phase")]
    pub phase: Word<Phase>,
    /// Whether it is a result or a JSON-RPC error.
    #[ts(inline)]
    pub kind: ResultKind,
    /// Whether the tool reported an error.
    pub is_error: bool,
    /// Of a JSON-RPC error, what people read of it; it also names a capability that the server misses.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[ts(optional)]
    pub message: Option<String>,
    /// The result, or the JSON-RPC error object, exactly as received.
    #[ts(type = "unknown")]
    pub payload: Box<RawValue>,
}

/// A task to take up by the server's id of it. Has no `Debug`: task ids may act as secrets.
#[derive(Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AdoptTask {
    /// The server's name.
    pub server: String,
    /// The server's id of the task.
    pub task: String,
}

impl Api {
    /// Starts a call; its handle is durable when this returns.
    ///
    /// # Errors
    /// When the server or tool is unknown, the server cannot be reached, or the arguments do not fit: then nothing was
    /// sent.
    pub async fn task_start(&self, caller: &Caller, input: StartTask) -> Result<TaskDto, ApiError> {
        let live = self.live()?;
        let server = self.find_server(&input.server).await?;
        let call = StartCall {
            server: server.id,
            tool: input.tool,
            arguments: Payload::new(input.arguments.get()),
            by: caller.person.clone(),
            limit: input.limit_ms.map(Duration::from_millis),
        };
        let id = live.engine.call(call).await?;
        self.task_show_id(id).await
    }

    /// A page of tasks, newest first.
    ///
    /// # Errors
    /// When a phase, server, agent or place is unknown.
    pub async fn task_list(&self, _caller: &Caller, input: ListTasks) -> Result<TaskListDto, ApiError> {
        let mut phases = input.phases.iter().map(|word| phase(word)).collect::<Result<Vec<_>, _>>()?;
        if input.open {
            let open: Vec<Phase> = Phase::ALL.into_iter().filter(|phase| !phase.is_over()).collect();
            phases = if phases.is_empty() { open } else { phases.into_iter().filter(|p| !p.is_over()).collect() };
            if phases.is_empty() {
                return Ok(TaskListDto { tasks: Vec::new(), next: None });
            }
        }
        let server = match &input.server {
            Some(name) => Some(self.find_server(name).await?.id),
            None => None,
        };
        let query = TaskQuery {
            phases,
            server,
            agent: match &input.agent {
                Some(name) => Some(self.find_agent(name).await?.id),
                None => None,
            },
            before: input.before.as_deref().map(cursor).transpose()?,
            limit: input.limit.unwrap_or(self.policy.page_rows_max).clamp(1, self.policy.page_rows_max),
        };
        let page = self.registry.list(query).await?;
        let mut names = self.names().await?;
        let mut tasks = Vec::with_capacity(page.rows.len());
        for (task, next_poll) in &page.rows {
            let says = self.last_line(task).await?;
            tasks.push(TaskDto { says, ..self.show(task, *next_poll, &mut names).await? });
        }
        Ok(TaskListDto { tasks, next: page.next.map(|next| format!("{}.{}", next.created.as_millis(), next.id)) })
    }

    /// One task with its status log.
    ///
    /// # Errors
    /// When there is none of this handle.
    pub async fn task_show(&self, _caller: &Caller, input: OneTask) -> Result<ShownTask, ApiError> {
        let id = self.find_id(&input.id).await?;
        let (task, escalation) =
            (self.task_show_id(id).await?, self.escalation(&self.find_task(&input.id).await?).await?);
        let log = self.registry.status_log(id, self.policy.log_lines_per_task).await?;
        let decisions = self.decisions_on(id, &task.server).await?;
        Ok(ShownTask { task, log: log.into_iter().map(LogLineDto::from).collect(), decisions, escalation })
    }

    pub(crate) async fn task_show_id(&self, id: HandleId) -> Result<TaskDto, ApiError> {
        let task = self.find_task(&id.to_string()).await?;
        self.whole(&task, &mut Names::default()).await
    }

    /// A task with everything that is said of a single one; `None` when there is none of this handle.
    pub(crate) async fn task_if_there(&self, id: HandleId, names: &mut Names) -> Result<Option<TaskDto>, ApiError> {
        match self.registry.handle(id).await? {
            Some(task) => Ok(Some(self.whole(&task, names).await?)),
            None => Ok(None),
        }
    }

    async fn whole(&self, task: &TaskHandle, names: &mut Names) -> Result<TaskDto, ApiError> {
        let next_poll = self.registry.next_poll(task.id).await?;
        let started_by = self.started_by(task.id, task.origin).await?;
        let (parent, children, job) = self.kin(task, names).await?;
        Ok(TaskDto { started_by, parent, children, job, ..self.show(task, next_poll, names).await? })
    }

    /// The stored result of a task, whole.
    ///
    /// # Errors
    /// When it is not over yet, or left nothing.
    pub async fn task_result(&self, _caller: &Caller, input: OneTask) -> Result<TaskResult, ApiError> {
        let id = self.find_id(&input.id).await?;
        self.await_result(id).await?;
        let task = self.task_show_id(id).await?;
        for (stored, kind) in [(PayloadKind::Result, ResultKind::Result), (PayloadKind::Error, ResultKind::Error)] {
            let Some(payload) = self.registry.payload(id, stored).await? else { continue };
            let payload = RawValue::from_string(payload.as_str().to_owned()).map_err(|_| {
                ApiError::new(Code::Failed, "the stored result is not JSON", "Run `taskwarden doctor`.")
            })?;
            let is_error = kind == ResultKind::Error || task.result.as_ref().is_some_and(|result| result.is_error);
            let message = task.error.map(|error| error.message);
            return Ok(TaskResult { id: task.id, phase: task.phase, kind, is_error, message, payload });
        }
        Err(no_result(&task))
    }

    /// Waits a few seconds for the result of a task that is done and whose result is still being fetched.
    async fn await_result(&self, id: HandleId) -> Result<(), ApiError> {
        let Some(engine) = self.engine() else { return Ok(()) };
        let since = self.registry.newest_seq().await?;
        let is_fetched = |task: &TaskHandle| {
            task.view.task().is_none_or(|known| known.status != TaskStatus::Completed(Outcome::NotFetched))
        };
        if self.registry.handle(id).await?.is_some_and(|task| !is_fetched(&task)) {
            engine.poll_soon(id);
            self.settle(&[id], since, self.policy.asking.result_wait, is_fetched).await?;
        }
        Ok(())
    }

    /// Takes up a task by the server's id of it.
    ///
    /// # Errors
    /// When the server does not know it, or cannot be reached.
    pub async fn task_adopt(&self, caller: &Caller, input: AdoptTask) -> Result<TaskDto, ApiError> {
        let live = self.live()?;
        let server = self.find_server(&input.server).await?;
        if input.task.is_empty() || input.task.len() > self.policy.task_id_cap_bytes {
            return Err(ApiError::new(
                Code::Usage,
                format!("a task id has 1 to {} bytes", self.policy.task_id_cap_bytes),
                "Give the id as the server wrote it.",
            ));
        }
        let id = live.engine.adopt(server.id, UpstreamTaskId::new(input.task), caller.person.clone()).await?;
        self.task_show_id(id).await
    }
}

/// Why there is no payload, in words.
fn no_result(task: &TaskDto) -> ApiError {
    if !task.over {
        return ApiError::new(
            Code::Refused,
            format!("task `{}` is not over yet ({})", task.id, task.phase),
            format!("`taskwarden tasks watch {}` follows it to its end.", task.id),
        );
    }
    if task.result.as_ref().is_some_and(|result| result.state == ResultState::NotFetched) {
        return ApiError::new(
            Code::Refused,
            format!("the result of task `{}` is still being fetched from `{}`", task.id, task.server),
            "Try again in a moment; Taskwarden is fetching it.",
        );
    }
    let why = match (&task.error, &task.contact.last, task.result.as_ref().map(|result| result.state)) {
        (_, _, Some(ResultState::Stored)) => ": it was removed because it exceeded a storage limit".into(),
        (Some(error), ..) => format!(": {}", error.message),
        (None, Some(last), _) => format!(": {last}"),
        (None, None, Some(ResultState::Unavailable)) => format!(": {}", facts::NO_RESULT),
        (None, None, _) => String::new(),
    };
    ApiError::new(
        Code::Failed,
        format!("task `{}` left no result ({}){why}", task.id, task.phase),
        format!("`taskwarden tasks show {}` shows what is known of it.", task.id),
    )
}

pub(crate) fn cursor(text: &str) -> Result<TaskCursor, ApiError> {
    text.split_once('.')
        .and_then(|(created, id)| {
            Some(TaskCursor { created: Timestamp::from_millis(created.parse().ok()?), id: id.parse().ok()? })
        })
        .ok_or_else(|| {
            ApiError::new(
                Code::Usage,
                format!("`{}` is not a position in the list", short(text)),
                "Pass `next` of the previous page unchanged.",
            )
        })
}
