//! Any rule, any limits of time of a task, and any way in which an agent is counted.

use std::time::Duration;

use domain::budget::window::CountingSettings;
use domain::ids::{AgentId, ServerId};
use domain::rule::{Rule, RuleLevel, RuleScope, RuleSource, RunAction};
use domain::task::{TaskRunLimit, TaskRunLimits};
use proptest::option::of;
use proptest::prelude::*;

use super::arbitrary::{family, limit, person, span, text, time};

pub(crate) fn any_rule() -> impl Strategy<Value = Rule> {
    let id = || any::<u128>();
    let scope = prop_oneof![
        id().prop_map(|id| RuleScope::Agent(AgentId::from_random(id))),
        id().prop_map(|id| RuleScope::Server(ServerId::from_random(id))),
        (id(), text()).prop_map(|(id, tool)| RuleScope::Tool(ServerId::from_random(id), tool.into())),
    ];
    let limits = (of(limit()), of(limit()), of(limit()));
    let holds = (of(any::<bool>()), of(any::<bool>()));
    (scope, holds, of(span()), limits).prop_map(|(scope, (hold_results, hold_cut), promote_after, limits)| Rule {
        hold_results,
        hold_cut,
        promote_after,
        result_limit: limits.0,
        task_limit: limits.1,
        window_limit: limits.2,
        ..Rule::new(scope)
    })
}

/// How any agent is counted.
pub(crate) fn any_meter() -> impl Strategy<Value = CountingSettings> {
    (of(text()), of(family()), of(any::<u64>()), of(text())).prop_map(|(model, family, window, program)| {
        CountingSettings { model: model.map(Into::into), family, window, program: program.map(Into::into) }
    })
}

pub(crate) fn run_limits() -> impl Strategy<Value = TaskRunLimits> {
    let action = || prop_oneof![Just(RunAction::Warn), Just(RunAction::Ask), Just(RunAction::Cancel)];
    let level = || prop_oneof![Just(RuleLevel::Agent), Just(RuleLevel::Server), Just(RuleLevel::Tool)];
    let times = || (any::<Duration>(), any::<Duration>(), time(), of(time()), of((person(), time())));
    let limit = move || {
        (times(), action(), level(), any::<u32>()).prop_map(|(times, action, level, version)| {
            let (agreed, allowed, due, reached, removed) = times;
            TaskRunLimit { agreed, allowed, action, rule: RuleSource { level, version }, due, reached, removed }
        })
    };
    (of(limit()), of(limit())).prop_map(|(time, progress)| TaskRunLimits { time, progress })
}
