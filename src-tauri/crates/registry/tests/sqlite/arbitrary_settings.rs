//! Any rule, and any way in which an agent is counted.

use domain::budget::window::CountingSettings;
use domain::ids::{AgentId, ServerId};
use domain::rule::{Rule, RuleScope};
use proptest::option::of;
use proptest::prelude::*;

use super::arbitrary::{family, limit, span, text};

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
