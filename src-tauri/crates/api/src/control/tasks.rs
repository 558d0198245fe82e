//! Tasks as a supervisor program sees them, and ending them one by one.
//!
//! Phases, times, names and counts: no word of a server, no argument, no result.

use std::collections::HashSet;
use std::time::Duration;

use domain::ids::HandleId;
use domain::policy::{TOOL_NAME_CHARS, plain_text};
use domain::ports::{TaskListQuery, TaskQuery};
use domain::task::TaskHandle;
use domain::task::status::{Intent, Outcome, Phase};
use engine::EngineError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::caller::ControlCaller;
use crate::api::Api;
use crate::calls::plans::PlanFilter;
use crate::calls::tasks::cancel::CancelList;
use crate::calls::tasks::cursor;
use crate::dto::iso;
use crate::dto::task::elapsed_ms;
use crate::dto::task::facts::CancelStateDto;
use crate::error::{ApiError, Code};
use crate::format::time::count;
use crate::format::tokens::grouped;
use crate::lookup::{Names, phase};

/// Pages of the registry read for one page of the reach; the next call goes on. Judgement.
const PAGES_READ: usize = 20;

/// Names one task by its whole handle: a beginning of one names none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OneControlTask {
    pub id: String,
}

/// Which tasks to list.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ListControlTasks {
    /// In any of these phases.
    pub phases: Vec<String>,
    /// Only those that are not over.
    pub open: bool,
    /// On this server, by name.
    pub server: Option<String>,
    /// Of this agent, by name or id.
    pub agent: Option<String>,
    /// Tasks at most.
    pub limit: Option<u32>,
    /// `next` of the page before.
    pub before: Option<String>,
}

/// A page of tasks; it may be shorter than the limit though more follow.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ControlTaskList {
    pub tasks: Vec<ControlTask>,
    /// Hand this back as `before` for the next page; null at the end.
    pub next: Option<String>,
}

/// A task, without content.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ControlTask {
    /// The handle, `hdl_…`.
    pub id: String,
    pub server: String,
    /// The agent that called; null for a call of a person.
    pub agent: Option<String>,
    pub tool: Option<String>,
    /// The one word for it.
    pub phase: String,
    pub over: bool,
    pub created_at: String,
    pub changed_at: String,
    pub ended_at: Option<String>,
    /// Time from its start to now or its end, waiting for people not counted.
    pub elapsed_ms: u64,
    /// The same call of the same agent, counted: 1 for the first.
    pub attempt: u32,
    /// Questions that wait for a person.
    pub open_requests: u32,
    /// How far a cancel got: `asked`, `acknowledged`, `stopped`, `endedHere`, `finishedAnyway` or `refused`.
    pub cancel_state: Option<String>,
    /// Size of its result.
    pub result_bytes: Option<u64>,
    pub is_error: bool,
}

/// Tasks to cancel: exactly one of `ids` and `filter`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ControlCancel {
    #[serde(default)]
    pub ids: Vec<String>,
    /// All open tasks that match; `{}` is every one in reach.
    #[serde(default)]
    pub filter: Option<PlanFilter>,
    /// How many tasks the caller expects; when the count differs, nothing is asked.
    #[serde(default)]
    pub expect: Option<u64>,
    #[serde(default)]
    pub reason: Option<String>,
}

/// Tasks to take from their agents: exactly one of `id` and `ids`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ControlRevoke {
    /// One task; that it was revoked before is an error.
    #[serde(default)]
    pub id: Option<String>,
    /// Several tasks. One that was revoked before is not asked again; its outcome says how far that got.
    #[serde(default)]
    pub ids: Vec<String>,
    #[serde(default)]
    pub reason: Option<String>,
}

/// What became of each task, in the order asked.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ControlOutcomes {
    pub outcomes: Vec<ControlOutcome>,
}

/// What became of one task.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ControlOutcome {
    pub id: String,
    /// `asked`, `acknowledged`, `stopped`, `endedHere`, `finishedAnyway`, `refused` or `notAsked`.
    pub state: String,
    /// Why it was not asked.
    pub why: Option<String>,
}

impl Api {
    /// A page of the tasks in reach.
    ///
    /// # Errors
    /// When a phase, server, agent or place is unknown.
    pub(super) async fn control_tasks(
        &self,
        caller: &ControlCaller,
        input: ListControlTasks,
    ) -> Result<ControlTaskList, ApiError> {
        let mut phases = input.phases.iter().map(|word| phase(word)).collect::<Result<Vec<_>, _>>()?;
        if input.open {
            let is_chosen = |one: &Phase| !one.is_over() && (phases.is_empty() || phases.contains(one));
            phases = Phase::ALL.into_iter().filter(is_chosen).collect();
            if phases.is_empty() {
                return Ok(ControlTaskList { tasks: Vec::new(), next: None });
            }
        }
        let most = self.policy.control.tokens.page_rows;
        let wanted = input.limit.unwrap_or(most).clamp(1, most);
        let reach = &caller.token.reach;
        let mut query = TaskQuery {
            phases,
            server: match &input.server {
                Some(name) => Some(self.control_server(caller, name).await?.id),
                None => reach.servers.first().copied().filter(|_| reach.servers.len() == 1),
            },
            agent: match &input.agent {
                Some(name) => Some(self.control_agent(caller, name).await?.id),
                None => reach.agents.first().copied().filter(|_| reach.agents.len() == 1),
            },
            before: input.before.as_deref().map(cursor).transpose()?,
            limit: wanted,
        };
        let (mut names, mut tasks) = (self.names().await?, Vec::new());
        for _ in 0..PAGES_READ {
            let page = self.registry.list(query.clone()).await?;
            for (task, _) in page.rows.iter().filter(|(task, _)| caller.token.reaches(task)) {
                tasks.push(self.control_dto(task, &mut names).await?);
            }
            query.before = page.next;
            let read = u32::try_from(tasks.len()).unwrap_or(u32::MAX);
            query.limit = wanted.saturating_sub(read);
            if query.before.is_none() || query.limit == 0 {
                break;
            }
        }
        let next = query.before.map(|next| format!("{}.{}", next.created.as_millis(), next.id));
        Ok(ControlTaskList { tasks, next })
    }

    /// One task in reach.
    ///
    /// # Errors
    /// When there is none.
    pub(super) async fn control_task_show(
        &self,
        caller: &ControlCaller,
        input: OneControlTask,
    ) -> Result<ControlTask, ApiError> {
        let task = self.control_task(caller, &input.id).await?;
        self.control_dto(&task, &mut Names::default()).await
    }

    /// Asks servers to cancel tasks in reach.
    ///
    /// # Errors
    /// When a task is not found, another number was expected, or the token may not end as many: then nothing was asked.
    pub(super) async fn control_cancel(
        &self,
        caller: &ControlCaller,
        input: ControlCancel,
    ) -> Result<ControlOutcomes, ApiError> {
        let live = self.live()?;
        refuse_without_plan(caller)?;
        let reason = self.control_reason(caller, input.reason.as_deref())?;
        let tasks = match (&input.ids[..], &input.filter) {
            ([], Some(filter)) => self.control_matching(caller, filter).await?,
            (ids @ [_, ..], None) => self.control_named(caller, ids).await?,
            _ => return Err(either("a cancel")),
        };
        let many = u64::try_from(tasks.len()).unwrap_or(u64::MAX);
        let asked_before = tasks.iter().filter(|task| caller.asked_before(task)).count();
        // Where the call that this one repeats asked any, the number was as expected.
        if let Some(expected) = input.expect.filter(|expected| *expected != many && asked_before == 0) {
            return Err(ApiError::new(
                Code::Refused,
                format!("{} match now, and {} were expected", count(many, "task"), grouped(expected)),
                "Nothing was asked. Look at the tasks again, or make a plan, whose tasks do not change.",
            ));
        }
        self.count_ends(caller, tasks.len() - asked_before).await?;
        let since = self.registry.newest_seq().await?;
        let (mut outcomes, mut left) = (Vec::with_capacity(tasks.len()), Vec::new());
        for task in tasks {
            if caller.asked_before(&task) {
                outcomes.push((task.id, Ok(())));
                continue;
            }
            match live.engine.control_ended(caller.token.id) {
                Some(why) => left.push(not_asked(task.id, why)),
                None => {
                    let asked = live.engine.cancel(task.id, caller.decider(), reason.clone()).await;
                    outcomes.push((task.id, asked));
                }
            }
        }
        let mut done = self.control_outcomes(outcomes, since).await?;
        done.outcomes.extend(left);
        Ok(done)
    }

    /// Takes tasks in reach from their agents.
    ///
    /// # Errors
    /// When a task is not found, the only one was revoked before, or the token may not end as many: then nothing was
    /// asked.
    pub(super) async fn control_revoke(
        &self,
        caller: &ControlCaller,
        input: ControlRevoke,
    ) -> Result<ControlOutcomes, ApiError> {
        let live = self.live()?;
        refuse_without_plan(caller)?;
        let reason = self.control_reason(caller, input.reason.as_deref())?;
        let tasks = match (&input.id, &input.ids[..]) {
            (Some(id), []) => vec![self.control_task(caller, id).await?],
            (None, ids @ [_, ..]) => self.control_named(caller, ids).await?,
            _ => {
                return Err(ApiError::new(
                    Code::Usage,
                    "a revocation needs exactly one of `id` and `ids`",
                    "Name the tasks by their handles. Nothing was asked.",
                ));
            }
        };
        let is_revoked = |task: &TaskHandle| matches!(task.intent, Intent::Revoked(_)) && caller.asked_before(task);
        self.count_ends(caller, tasks.iter().filter(|task| !is_revoked(task)).count()).await?;
        let since = self.registry.newest_seq().await?;
        let (mut outcomes, mut left) = (Vec::with_capacity(tasks.len()), Vec::new());
        for task in tasks {
            if is_revoked(&task) {
                outcomes.push((task.id, Ok(())));
                continue;
            }
            match live.engine.control_ended(caller.token.id) {
                Some(why) => left.push(not_asked(task.id, why)),
                None => {
                    let asked = live.engine.revoke(task.id, caller.decider(), reason.clone()).await;
                    match asked {
                        Err(error) if input.id.is_some() => return Err(error.into()),
                        asked => outcomes.push((task.id, asked)),
                    }
                }
            }
        }
        let mut done = self.control_outcomes(outcomes, since).await?;
        done.outcomes.extend(left);
        Ok(done)
    }

    /// Counts the tasks that a call is about to end. A repeat has counted those that it asked the first time.
    async fn count_ends(&self, caller: &ControlCaller, tasks: usize) -> Result<(), ApiError> {
        if tasks == 0 {
            return Ok(());
        }
        let tasks = u64::try_from(tasks).unwrap_or(u64::MAX);
        Ok(self.live()?.engine.count_control_use(&caller.token, tasks).await?)
    }

    async fn control_outcomes(
        &self,
        asked: Vec<(HandleId, Result<(), EngineError>)>,
        since: domain::ids::Seq,
    ) -> Result<ControlOutcomes, ApiError> {
        let limit: Duration = self.policy.reply_limit;
        let CancelList { stops } = self.stops(asked, since, limit).await?;
        let outcomes = stops.into_iter().map(|one| ControlOutcome {
            id: one.id,
            state: one.state.to_string(),
            // What a server wrote is content; why nothing was asked is ours.
            why: one.why.filter(|_| one.state == CancelStateDto::NotAsked),
        });
        Ok(ControlOutcomes { outcomes: outcomes.collect() })
    }

    /// Named tasks, each once; all of them must be in reach.
    pub(super) async fn control_named(
        &self,
        caller: &ControlCaller,
        ids: &[String],
    ) -> Result<Vec<TaskHandle>, ApiError> {
        let mut found: Vec<TaskHandle> = Vec::with_capacity(ids.len());
        for text in ids {
            let task = self.control_task(caller, text).await?;
            if found.iter().all(|known| known.id != task.id) {
                found.push(task);
            }
        }
        Ok(found)
    }

    /// The open tasks in reach that match; at least one. A repeat finds what its first call asked, and of the others those
    /// that were there then.
    pub(super) async fn control_matching(
        &self,
        caller: &ControlCaller,
        filter: &PlanFilter,
    ) -> Result<Vec<TaskHandle>, ApiError> {
        let reach = &caller.token.reach;
        let query = TaskListQuery {
            phases: filter.phases.iter().map(|word| phase(word)).collect::<Result<Vec<_>, _>>()?,
            servers: match &filter.server {
                Some(name) => vec![self.control_server(caller, name).await?.id],
                None => reach.servers.iter().copied().collect(),
            },
            agents: match &filter.agent {
                Some(name) => vec![self.control_agent(caller, name).await?.id],
                None => reach.agents.iter().copied().collect(),
            },
            tools: filter.tool.iter().cloned().collect(),
            open: Some(true),
            ..TaskListQuery::default()
        };
        let most = self.policy.asking.stops_max;
        let asked =
            TaskListQuery { phases: Vec::new(), open: None, changed_after: caller.first_began, ..query.clone() };
        let query = TaskListQuery { created_before: caller.first_began, ..query };
        let ids = self.registry.matching_ids(query, most.saturating_add(1)).await?;
        let mut found = Vec::new();
        for id in &ids {
            let task = self.registry.handle(*id).await?;
            found.extend(task.filter(|task| caller.token.reaches(task) && !task.is_over()));
        }
        if caller.first_began.is_some() {
            let known: HashSet<HandleId> = found.iter().map(|task| task.id).collect();
            for id in self.registry.matching_ids(asked, most).await? {
                let task = if known.contains(&id) { None } else { self.registry.handle(id).await? };
                found.extend(task.filter(|task| caller.token.reaches(task) && caller.asked_before(task)));
            }
        }
        if found.is_empty() || ids.len() > usize::try_from(most).unwrap_or(usize::MAX) {
            let too_many = !found.is_empty();
            let message = if too_many { "too many tasks match" } else { "no open task in reach matches" };
            return Err(ApiError::new(
                Code::Refused,
                message,
                "Nothing was asked. Change the filter; `tasks.list` lists the tasks in reach.",
            ));
        }
        Ok(found)
    }

    async fn control_dto(&self, task: &TaskHandle, names: &mut Names) -> Result<ControlTask, ApiError> {
        let now = self.now();
        let phase = task.phase(now);
        let over = phase.is_over() || task.view.is_terminal();
        let (result_bytes, is_error) = match task.view.outcome() {
            Some(Outcome::Ok(stored)) => (Some(stored.bytes), false),
            Some(Outcome::ToolError(stored) | Outcome::FailedWithResult(stored)) => (Some(stored.bytes), true),
            Some(Outcome::Error(_)) => (None, true),
            Some(Outcome::NotFetched | Outcome::Unavailable) | None => (None, false),
        };
        let open = task.requests.values().filter(|request| task.asks_people(request, now)).count();
        Ok(ControlTask {
            id: task.id.to_string(),
            server: self.server_name(task.server, names).await?,
            agent: match task.agent {
                Some(agent) => Some(self.agent_name(agent, names).await?),
                None => None,
            },
            tool: task.tool.as_deref().map(|tool| plain_text(tool, TOOL_NAME_CHARS)),
            phase: phase.word().to_owned(),
            over,
            created_at: iso(task.created),
            changed_at: iso(task.changed),
            ended_at: task.ended_at().map(iso),
            elapsed_ms: elapsed_ms(task, over, now),
            attempt: task.attempt,
            open_requests: u32::try_from(open).unwrap_or(u32::MAX),
            cancel_state: task.stop_state().map(|state| CancelStateDto::from(state).to_string()),
            result_bytes,
            is_error,
        })
    }
}

fn not_asked(id: HandleId, why: &str) -> ControlOutcome {
    ControlOutcome { id: id.to_string(), state: CancelStateDto::NotAsked.to_string(), why: Some(why.to_owned()) }
}

fn refuse_without_plan(caller: &ControlCaller) -> Result<(), ApiError> {
    if !caller.token.needs_plan {
        return Ok(());
    }
    Err(ApiError::new(
        Code::Refused,
        "this control token ends tasks by a plan only",
        "Call `plans.make`, look at its tasks, then `plans.run`; on the command line, choose tasks with `--agent`, \
         `--server`, `--phase` or `--all`. Nothing was asked.",
    ))
}

pub(super) fn either(what: &str) -> ApiError {
    ApiError::new(
        Code::Usage,
        format!("{what} needs exactly one of `ids` and `filter`"),
        "Name the tasks by their handles, or say which match; `\"filter\": {}` is every open task in reach.",
    )
}
