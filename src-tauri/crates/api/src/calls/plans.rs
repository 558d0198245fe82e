//! End many tasks at once: a plan fixes which, its run asks each, and afterwards it says what became of them.
//!
//! The tasks are those that matched when the plan was made. How they are chosen is `plans/selection.rs`; the work is the
//! engine's.

mod selection;

pub(crate) use selection::{filter_words, is_asked};

use std::collections::HashMap;
use std::sync::Arc;

use domain::ids::{HandleId, OperationId, PlanId};
use domain::policy::{TOOL_NAME_CHARS, plain_text, reason_text};
use domain::task::cancel::plan::{BulkPlan, BulkResult};
use domain::task::status::Delivery;
use engine::{EngineError, NewPlan, RunPlan};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use ts_rs::TS;

use crate::api::Api;
use crate::caller::{Ability, Caller};
use crate::dto::plan::{
    BulkActDto, BulkCounts, BulkTask, OperationBegun, OperationDto, PlanMade, PlanShown, RefusedTask,
};
use crate::dto::{ListQuery, iso};
use crate::error::{ApiError, Code};
use crate::lookup::{Names, short};

/// Open tasks to choose, in the words of `tasks.list`. All conditions must hold; an empty one is no condition.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[ts(optional_fields = nullable)]
pub struct PlanFilter {
    /// In any of these phases.
    #[ts(optional, type = "Array<Phase>")]
    pub phases: Vec<String>,
    /// On this server.
    pub server: Option<String>,
    /// Of this agent, by name or id.
    pub agent: Option<String>,
    /// Calls of this tool.
    pub tool: Option<String>,
}

/// Tasks to choose: by handle, by filter, or by the query of a list. Exactly one of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MakePlan {
    pub kind: BulkActDto,
    #[serde(default)]
    #[ts(optional, as = "Option<Vec<String>>")]
    pub ids: Vec<String>,
    #[serde(default)]
    #[ts(optional = nullable)]
    pub filter: Option<PlanFilter>,
    #[serde(default)]
    #[ts(optional = nullable)]
    pub query: Option<ListQuery>,
}

/// A plan to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RunPlanInput {
    pub plan_id: String,
    /// In the caller's words, for the audit log and for servers that accept one.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub reason: Option<String>,
}

/// A plan to show.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ShowPlan {
    /// The id of the plan, or of its operation.
    pub id: String,
    /// Tasks before the first that is shown.
    #[serde(default)]
    #[ts(optional, as = "Option<u64>")]
    pub offset: u64,
}

impl Api {
    /// Fixes the tasks of a plan. Nothing is asked yet.
    ///
    /// # Errors
    /// When no open task matches, too many do, or a name is unknown.
    pub async fn plan_make(&self, caller: &Caller, input: MakePlan) -> Result<PlanMade, ApiError> {
        let live = self.live()?;
        require_kind(caller, input.kind)?;
        let chosen = self.choose(&input).await?;
        let new = NewPlan {
            act: input.kind.into(),
            by: caller.person.clone().into(),
            filter: chosen.words,
            tasks: chosen.tasks,
        };
        let plan = live.engine.make_plan(new).await?;
        Ok(PlanMade {
            plan_id: plan.id.to_string(),
            kind: input.kind,
            count: count_of(plan.tasks.len()),
            handles: plan.tasks.iter().take(self.policy.control.ids_shown).map(HandleId::to_string).collect(),
            excluded: chosen.excluded,
            expires_at: iso(plan.expires),
        })
    }

    /// Runs a plan: asks each of its tasks that is still open. Returns when all were asked, or says how many are left.
    ///
    /// # Errors
    /// When there is no such plan, it was run before, has expired, or nothing of it is open any more: then nothing was
    /// asked.
    pub async fn plan_run(&self, caller: &Caller, input: RunPlanInput) -> Result<OperationBegun, ApiError> {
        self.live()?;
        let reason = self.bounded_reason(input.reason.as_deref())?;
        let plan = input.plan_id.parse::<PlanId>().map_err(|_| no_such_plan(&input.plan_id))?;
        require_kind(caller, self.find_plan(&input.plan_id).await?.act.into())?;
        self.run_plan(RunPlan { plan, by: caller.person.clone().into(), reason }, &input.plan_id).await
    }

    /// Runs a plan that its caller may run; `named` is what the caller calls it.
    pub(crate) async fn run_plan(&self, run: RunPlan, named: &str) -> Result<OperationBegun, ApiError> {
        let live = self.live()?;
        let watched = live.engine.run_plan(run).await.map_err(|error| match error {
            EngineError::UnknownPlan => no_such_plan(named),
            other => other.into(),
        })?;
        self.followed(watched, named).await
    }

    /// What a plan that was run has asked; follows it while it runs.
    pub(crate) async fn plan_begun(&self, id: PlanId, named: &str) -> Result<OperationBegun, ApiError> {
        match self.live()?.engine.running_plan(id) {
            Some(watched) => self.followed(watched, named).await,
            None => {
                let plan = self.find_plan(named).await?;
                self.operation_begun(&plan, named)
            }
        }
    }

    /// Waits until all tasks of a plan were asked. When the time is over, or the core ends, it says how far it came.
    async fn followed(
        &self,
        mut watched: watch::Receiver<Arc<BulkPlan>>,
        named: &str,
    ) -> Result<OperationBegun, ApiError> {
        let over = watched.wait_for(|plan| !plan.is_running());
        let _ = tokio::time::timeout(self.policy.control.run_wait, over).await;
        let plan = Arc::clone(&watched.borrow());
        self.operation_begun(&plan, named)
    }

    fn operation_begun(&self, plan: &BulkPlan, named: &str) -> Result<OperationBegun, ApiError> {
        let Some(operation) = &plan.operation else { return Err(no_such_plan(named)) };
        let page = usize::try_from(self.policy.page_rows_max).unwrap_or(usize::MAX);
        let refused = operation.left_out.iter().take(page);
        Ok(OperationBegun {
            operation: operation.id.to_string(),
            asked: count_of(operation.asked()),
            left: count_of(plan.tasks.len().saturating_sub(operation.next_index)),
            refused: refused.map(|one| RefusedTask { id: one.task.to_string(), why: one.why.clone() }).collect(),
            cut_short: operation.cut_short.clone(),
        })
    }

    /// A plan, with what became of its tasks.
    ///
    /// # Errors
    /// When there is none of this id.
    pub async fn plan_show(&self, _caller: &Caller, input: ShowPlan) -> Result<PlanShown, ApiError> {
        self.show_plan(&input).await
    }

    pub(crate) async fn show_plan(&self, input: &ShowPlan) -> Result<PlanShown, ApiError> {
        let plan = self.find_plan(&input.id).await?;
        let mut names = self.names().await?;
        let (mut counts, mut settled, mut tasks) = (BulkCounts::default(), true, Vec::new());
        let from = usize::try_from(input.offset).unwrap_or(usize::MAX);
        let left_out: HashMap<HandleId, &str> = plan
            .operation
            .iter()
            .flat_map(|operation| &operation.left_out)
            .map(|one| (one.task, one.why.as_str()))
            .collect();
        let upto = from.saturating_add(usize::try_from(self.policy.page_rows_max).unwrap_or(usize::MAX));
        for (place, id) in plan.tasks.iter().enumerate() {
            let is_shown = (from..upto).contains(&place);
            let task = self
                .bulk_task(
                    *id,
                    left_out.get(id).copied(),
                    plan.operation.as_ref().is_some_and(|run| place < run.next_index),
                    is_shown,
                    &mut names,
                )
                .await?;
            counts.add(task.0);
            settled &= task.0.is_settled();
            tasks.extend(task.1);
        }
        let operation = plan.operation.as_ref().map(|operation| OperationDto {
            id: operation.id.to_string(),
            by: operation.by.to_string(),
            reason: operation.reason.clone(),
            begun_at: iso(operation.begun),
            ended_at: operation.ended.map(iso),
            cut_short: operation.cut_short.clone(),
            settled: settled || operation.cut_short.is_some() && counts.asked + counts.acknowledged == 0,
            counts,
        });
        Ok(PlanShown {
            plan_id: plan.id.to_string(),
            kind: plan.act.into(),
            by: plan.by.to_string(),
            filter: plan.filter.clone(),
            count: count_of(plan.tasks.len()),
            created_at: iso(plan.created),
            expires_at: iso(plan.expires),
            operation,
            tasks,
            next: (upto < plan.tasks.len()).then(|| count_of(upto)),
        })
    }

    /// A plan by its id, or by that of its operation.
    pub(crate) async fn find_plan(&self, text: &str) -> Result<Arc<BulkPlan>, ApiError> {
        let plan = match (text.parse::<PlanId>(), text.parse::<OperationId>()) {
            (Ok(id), _) => Some(id),
            (_, Ok(id)) => self.registry.plan_of(id).await?.map(|plan| plan.id),
            _ => None,
        };
        let id = plan.ok_or_else(|| no_such_plan(text))?;
        let found = match self.engine() {
            Some(engine) => engine.plan(id).await?,
            None => self.registry.plan(id).await?.map(Arc::new),
        };
        found.ok_or_else(|| no_such_plan(text))
    }

    /// What became of one task, and its line when it is shown.
    async fn bulk_task(
        &self,
        id: HandleId,
        left_out: Option<&str>,
        was_asked: bool,
        is_shown: bool,
        names: &mut Names,
    ) -> Result<(BulkResult, Option<BulkTask>), ApiError> {
        if !is_shown && (left_out.is_some() || !was_asked) {
            let result = if left_out.is_some() { BulkResult::EndedMeanwhile } else { BulkResult::NotAsked };
            return Ok((result, None));
        }
        let live = self.engine().and_then(|engine| engine.task(id));
        let task = match live {
            Some(task) => Some(task),
            None => self.registry.handle(id).await?.map(Arc::new),
        };
        let result = match (&task, left_out, was_asked) {
            (_, Some(_), _) => BulkResult::EndedMeanwhile,
            (_, None, false) => BulkResult::NotAsked,
            (Some(task), None, true) => task.bulk_result(self.now(), self.policy.halt.confirm_within),
            (None, None, true) => BulkResult::NotConfirmed,
        };
        if !is_shown {
            return Ok((result, None));
        }
        let refused = task.as_ref().and_then(|task| task.cancel_request()).and_then(|cancel| match &cancel.delivery {
            Delivery::Refused { why, .. } => Some(why.clone()),
            Delivery::Recorded | Delivery::Sent { .. } | Delivery::Acknowledged { .. } => None,
        });
        let (mut server, mut agent, mut tool) = (None, None, None);
        if let Some(task) = &task {
            server = Some(self.server_name(task.server, names).await?);
            tool = task.tool.as_deref().map(|tool| plain_text(tool, TOOL_NAME_CHARS));
            if let Some(id) = task.agent {
                agent = Some(self.agent_name(id, names).await?);
            }
        }
        let why = left_out.map(str::to_owned).or_else(|| refused.filter(|_| was_asked));
        Ok((result, Some(BulkTask { id: id.to_string(), result: result.into(), server, agent, tool, why })))
    }

    /// A reason as one line of plain text; one that nobody can see is none.
    pub(crate) fn bounded_reason(&self, text: Option<&str>) -> Result<Option<String>, ApiError> {
        let Some(reason) = text.and_then(reason_text) else { return Ok(None) };
        let (chars, most) = (reason.chars().count(), self.policy.control.reason_chars);
        if chars > most {
            return Err(ApiError::new(
                Code::Usage,
                format!("the reason has {chars} characters; at most {most} are kept"),
                "Shorten it; nothing was done.",
            ));
        }
        Ok(Some(reason))
    }
}

/// Revoking needs more than cancelling.
fn require_kind(caller: &Caller, kind: BulkActDto) -> Result<(), ApiError> {
    match kind {
        BulkActDto::Cancel => Ok(()),
        BulkActDto::Revoke => caller.require(Ability::Revoke),
    }
}

pub(crate) fn no_such_plan(text: &str) -> ApiError {
    ApiError::new(
        Code::NotFound,
        format!("there is no plan `{}`", short(text)),
        "A plan that is not run is forgotten when it expires. Make a new one.",
    )
}

fn count_of(many: usize) -> u64 {
    u64::try_from(many).unwrap_or(u64::MAX)
}
