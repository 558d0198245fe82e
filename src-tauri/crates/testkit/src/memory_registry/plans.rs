//! Plans in memory.

use std::collections::BTreeMap;

use domain::ids::{OperationId, PlanId};
use domain::ports::PlanUnit;
use domain::task::cancel::plan::BulkPlan;
use domain::time::Timestamp;

use super::store::MemoryStore;

/// Plans, each with the moment until when it is kept.
#[derive(Debug, Clone, Default)]
pub(crate) struct PlanStore(BTreeMap<PlanId, (BulkPlan, Option<Timestamp>)>);

pub(super) fn put(state: &mut MemoryStore, unit: PlanUnit) {
    let PlanUnit { plan, kept_until, at, audit } = unit;
    state.plans.0.retain(|_, (_, until)| until.is_none_or(|until| until >= at));
    let tasks = state.plans.0.get(&plan.id).map_or_else(|| plan.tasks.clone(), |(known, _)| known.tasks.clone());
    state.plans.0.insert(plan.id, (BulkPlan { tasks, ..plan }, kept_until));
    state.facts(audit);
}

pub(super) fn find(state: &MemoryStore, is_meant: impl Fn(&BulkPlan) -> bool) -> Option<BulkPlan> {
    state.plans.0.values().map(|(plan, _)| plan).find(|plan| is_meant(plan)).cloned()
}

pub(super) fn run_by(state: &MemoryStore, operation: OperationId) -> Option<BulkPlan> {
    find(state, |plan| plan.operation.as_ref().is_some_and(|run| run.id == operation))
}

/// The oldest first.
pub(super) fn running(state: &MemoryStore) -> Vec<BulkPlan> {
    let mut plans: Vec<BulkPlan> = state.plans.0.values().map(|(plan, _)| plan.clone()).collect();
    plans.retain(BulkPlan::is_running);
    plans.sort_by_key(|plan| (plan.created, plan.id));
    plans
}
