//! Plans of a supervisor program: tasks in its reach, seen and run with its own token only.
//!
//! A plan of somebody else does not exist for it. How a plan is run is the engine's (`decisions/bulk.rs`), which also ends
//! the run of a token that is revoked.

use domain::ids::{HandleId, PlanId};
use domain::task::cancel::plan::PlanRefused;
use engine::{EngineError, NewPlan, RunPlan};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::caller::ControlCaller;
use super::tasks::either;
use crate::api::Api;
use crate::caller::Ability;
use crate::calls::plans::{PlanFilter, RunPlanInput, ShowPlan, filter_words, is_asked, no_such_plan};
use crate::dto::iso;
use crate::dto::plan::{BulkActDto, BulkResultDto, ExcludedTasks, ExcludedWhy, OperationBegun, PlanMade, PlanShown};
use crate::error::{ApiError, Code};

/// Tasks to choose: exactly one of `ids` and `filter`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ControlMakePlan {
    pub kind: BulkActDto,
    #[serde(default)]
    pub ids: Vec<String>,
    /// All open tasks that match; `{}` is every one in reach.
    #[serde(default)]
    pub filter: Option<PlanFilter>,
}

impl Api {
    /// Fixes the tasks of a plan. Nothing is asked yet.
    ///
    /// # Errors
    /// When no open task in reach matches, or more do than the token may end in one call.
    pub(super) async fn control_plan_make(
        &self,
        caller: &ControlCaller,
        input: ControlMakePlan,
    ) -> Result<PlanMade, ApiError> {
        let live = self.live()?;
        require_kind(caller, input.kind)?;
        let (tasks, words) = match (&input.ids[..], &input.filter) {
            ([], Some(filter)) => (self.control_matching(caller, filter).await?, filter_words(filter)),
            (ids @ [_, ..], None) => (self.control_named(caller, ids).await?, "by handle".to_owned()),
            _ => return Err(either("a plan")),
        };
        let (mut over, mut asked, mut chosen) = (0, 0, Vec::new());
        for task in &tasks {
            if task.is_over() {
                over += 1;
            } else if is_asked(task, input.kind) {
                asked += 1;
            } else {
                chosen.push(task.id);
            }
        }
        if chosen.is_empty() {
            return Err(ApiError::new(
                Code::Refused,
                "no task is left to ask: each is over, or was asked before",
                "`tasks.list` shows what became of them. Nothing was asked.",
            ));
        }
        live.engine.check_control_call(&caller.token, u64::try_from(chosen.len()).unwrap_or(u64::MAX)).await?;
        let new = NewPlan { act: input.kind.into(), by: caller.decider(), filter: words, tasks: chosen };
        let plan = live.engine.make_plan(new).await?;
        let counted = [(ExcludedWhy::AlreadyOver, over), (ExcludedWhy::AlreadyAsked, asked)];
        let excluded = counted.into_iter().filter(|(_, many)| *many > 0);
        Ok(PlanMade {
            plan_id: plan.id.to_string(),
            kind: input.kind,
            count: u64::try_from(plan.tasks.len()).unwrap_or(u64::MAX),
            handles: plan.tasks.iter().take(self.policy.control.ids_shown).map(HandleId::to_string).collect(),
            excluded: excluded.map(|(why, count)| ExcludedTasks { why, count }).collect(),
            expires_at: iso(plan.expires),
        })
    }

    /// Runs a plan of this token.
    ///
    /// # Errors
    /// When there is none, it was run before by another call or has expired, or the token may not end as many: then nothing
    /// was asked.
    pub(super) async fn control_plan_run(
        &self,
        caller: &ControlCaller,
        input: RunPlanInput,
    ) -> Result<OperationBegun, ApiError> {
        let live = self.live()?;
        let reason = self.control_reason(caller, input.reason.as_deref())?;
        let id = input.plan_id.parse::<PlanId>().map_err(|_| no_such_plan(&input.plan_id))?;
        let plan = self.find_plan(&input.plan_id).await?;
        if plan.by != caller.decider() {
            return Err(no_such_plan(&input.plan_id));
        }
        require_kind(caller, plan.act.into())?;
        if let Some(operation) = &plan.operation {
            if caller.first_began.is_some_and(|began| operation.begun >= began) && operation.by == caller.decider() {
                return self.plan_begun(id, &input.plan_id).await;
            }
            return Err(EngineError::PlanRefused(PlanRefused::Run(operation.id)).into());
        }
        live.engine.count_control_use(&caller.token, u64::try_from(plan.tasks.len()).unwrap_or(u64::MAX)).await?;
        self.run_plan(RunPlan { plan: id, by: caller.decider(), reason }, &input.plan_id).await
    }

    /// A plan of this token, with what became of its tasks.
    ///
    /// # Errors
    /// When there is none.
    pub(super) async fn control_plan_show(
        &self,
        caller: &ControlCaller,
        input: ShowPlan,
    ) -> Result<PlanShown, ApiError> {
        let plan = self.find_plan(&input.id).await?;
        if plan.by != caller.decider() {
            return Err(no_such_plan(&input.id));
        }
        let mut shown = self.show_plan(&input).await?;
        for task in &mut shown.tasks {
            // What a server wrote is content; why nothing was asked is ours.
            if task.result != BulkResultDto::EndedMeanwhile {
                task.why = None;
            }
        }
        Ok(shown)
    }
}

/// Revoking needs more than cancelling. Without it, plans of that kind do not exist.
fn require_kind(caller: &ControlCaller, kind: BulkActDto) -> Result<(), ApiError> {
    if kind == BulkActDto::Cancel || caller.may(Ability::Revoke) {
        return Ok(());
    }
    Err(ApiError::new(
        Code::NotFound,
        "there is no plan of the kind `revoke` for this control token",
        "It cancels tasks only: use the kind `cancel`. Nothing was asked.",
    ))
}
