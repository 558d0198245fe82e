//! Builds agents' budgets for display, from a running core or from the registry alone.
//!
//! Combines and sorts; it counts nothing and decides nothing. Without a core there are no pending results and no burn rate.
//! The calls are `calls/budgets.rs`; the feed's part is `feed/budgets.rs`.

use std::cmp::Reverse;
use std::sync::Arc;

use domain::agent::{Agent, Rules};
use domain::budget::models;
use domain::budget::names::full_name;
use domain::budget::window::{Burn, Window, time_to_limit};
use domain::ids::AgentId;
use domain::rule::{Rule, RuleScope};
use engine::{AgentBudget, PendingResult, PendingResultState};

use crate::api::Api;
use crate::dto::words::Word;
use crate::dto::{
    BudgetDto, BudgetList, ExactnessDto, FamilyDto, LimitDto, PendingResultDto, PendingStateDto, ProgramDto,
    SizeFromDto, WindowDto, millis,
};
use crate::error::ApiError;
use crate::lookup::Names;

impl Api {
    /// The budgets of agents with access, those nearest to their limit first.
    pub(crate) async fn budgets(&self, names: &mut Names) -> Result<BudgetList, ApiError> {
        let budgets = match self.engine() {
            Some(engine) => engine.budgets(),
            None => self.stored_budgets().await?,
        };
        let most = self.policy.counting.agents_shown;
        let more = budgets.len().saturating_sub(most);
        let mut sorted: Vec<(BudgetRank, AgentBudget)> = Vec::with_capacity(budgets.len());
        for budget in budgets {
            sorted.push((BudgetRank::of(&budget, self.agent_name(budget.agent, names).await?), budget));
        }
        sorted.sort_by(|(one, _), (other, _)| one.cmp(other));
        sorted.truncate(most);
        let agents = self.agents_now().await?;
        let mut list = Vec::with_capacity(sorted.len());
        for (_, budget) in sorted {
            let Some(agent) = agents.iter().find(|agent| agent.id == budget.agent) else { continue };
            list.push(self.budget_dto(agent, budget, names).await?);
        }
        let counting = &self.policy.counting;
        Ok(BudgetList {
            budgets: list,
            more: u64::try_from(more).unwrap_or(u64::MAX),
            warn_percent: counting.warn_percent,
            full_percent: counting.full_percent,
            slice_tokens: counting.slice_tokens,
        })
    }

    /// The budget of this agent, also when nothing was seen of it.
    pub(crate) async fn budget_of(&self, agent: &Agent) -> Result<AgentBudget, ApiError> {
        let budgets = match self.engine() {
            Some(engine) => engine.budgets(),
            None => self.stored_budgets().await?,
        };
        Ok(budgets.into_iter().find(|budget| budget.agent == agent.id).unwrap_or_else(|| self.unseen(agent)))
    }

    /// A budget as it is shown.
    pub(crate) async fn budget_dto(
        &self,
        agent: &Agent,
        budget: AgentBudget,
        names: &mut Names,
    ) -> Result<BudgetDto, ApiError> {
        let mut coming = Vec::with_capacity(budget.coming.len());
        for one in &budget.coming {
            coming.push(self.coming_dto(one, names).await?);
        }
        coming.sort_by_key(|one: &PendingResultDto| (Reverse(one.tokens), one.id.clone()));
        let occupied = budget.now.as_ref().map_or(0, |window| window.occupancy().tokens);
        let size = budget.measure.window.map(|(size, _)| size);
        let was_full = size.is_some_and(|size| occupied >= size);
        let ceiling = ceiling(&budget).filter(|_| !was_full);
        let full_in = ceiling.and_then(|most| time_to_limit(occupied, most, budget.burn.per_minute()));
        let holds_cut = self.rules_of(agent.id).await?.is_none_or(|rule| holds_cut(&rule));
        Ok(BudgetDto {
            agent: agent.name.clone(),
            agent_id: agent.id.to_string(),
            family: FamilyDto::of(budget.measure.family, budget.error_percent),
            program: ProgramDto::of(&budget.measure, holds_cut),
            window_tokens: size,
            window_from: budget.measure.window.map(|(_, from)| SizeFromDto::from(from)),
            model: agent.meter.model.as_deref().map(str::to_owned),
            model_label: agent.meter.model.as_deref().map(full_name),
            now: budget.now.as_deref().map(|window| WindowDto::of(window, size)),
            beside: budget.beside.iter().map(|window| WindowDto::of(window, size)).collect(),
            burn_per_minute: budget.burn.per_minute(),
            burn_too_early: budget.burn == Burn::TooEarly,
            full_in_ms: full_in.map(millis),
            coming,
            limit: budget.limit.map(LimitDto::from),
        })
    }

    async fn coming_dto(&self, coming: &PendingResult, names: &mut Names) -> Result<PendingResultDto, ApiError> {
        Ok(PendingResultDto {
            id: coming.handle.to_string(),
            server: self.server_name(coming.server, names).await?,
            tool: coming.tool.as_deref().map(str::to_owned),
            tokens: coming.tokens.map(|count| count.tokens),
            exactness: coming.tokens.map_or(ExactnessDto::AtMost, |count| count.exactness.into()),
            state: match coming.state {
                PendingResultState::Held => PendingStateDto::Held,
                PendingResultState::Slices => PendingStateDto::Slices,
                PendingResultState::Working => PendingStateDto::Working,
                PendingResultState::Ready => PendingStateDto::Ready,
            },
            phase: coming.phase.map(Word),
            percent: coming.percent,
        })
    }

    /// The rule of an agent, where it has one.
    async fn rules_of(&self, agent: AgentId) -> Result<Option<Rule>, ApiError> {
        let scope = RuleScope::Agent(agent);
        let of_agent = |rules: &Rules| rules.all().iter().rev().find(|rule| rule.scope == scope).cloned();
        match self.engine() {
            Some(engine) => Ok(of_agent(&engine.agents().rules())),
            None => Ok(of_agent(&Rules::new(self.registry.rules().await?))),
        }
    }

    /// Agents as they are now; in memory where a core runs.
    async fn agents_now(&self) -> Result<Vec<Arc<Agent>>, ApiError> {
        match self.engine() {
            Some(engine) => Ok(engine.agents().all()),
            None => Ok(self.registry.agents().await?.into_iter().map(Arc::new).collect()),
        }
    }

    /// What a stopped core left: the windows that were open.
    async fn stored_budgets(&self) -> Result<Vec<AgentBudget>, ApiError> {
        let rules = Rules::new(self.registry.rules().await?);
        let mut open: Vec<Window> = self.registry.windows(0).await?;
        open.retain(|window| window.ended.is_none());
        open.sort_by_key(|window| Reverse((window.last, window.began)));
        let mut budgets = Vec::new();
        for agent in self.registry.agents().await?.into_iter().filter(|agent| agent.revoked.is_none()) {
            let mut windows = open.iter().filter(|window| window.agent == agent.id).cloned().map(Arc::new);
            let now = windows.next();
            let beside: Vec<_> = windows.collect();
            if now.is_none() && agent.meter == domain::budget::window::CountingSettings::default() {
                continue;
            }
            let of_agent = rules.all().iter().rev().find(|rule| rule.scope == RuleScope::Agent(agent.id));
            let limit = of_agent.and_then(|rule| rule.window_limit);
            budgets.push(AgentBudget { now, beside, limit, ..self.unseen(&agent) });
        }
        Ok(budgets)
    }

    fn unseen(&self, agent: &Agent) -> AgentBudget {
        let measure = match self.engine() {
            Some(engine) => engine.measure(agent.id),
            None => models::counting_method(&agent.meter, agent.client.as_deref()),
        };
        AgentBudget {
            agent: agent.id,
            measure,
            error_percent: self.scale.error_percent(measure.family),
            now: None,
            beside: Vec::new(),
            burn: Burn::Quiet,
            coming: Vec::new(),
            limit: None,
        }
    }
}

/// Whether results that its program would cut are held by this rule of an agent, where no narrower one says otherwise.
fn holds_cut(rule: &Rule) -> bool {
    rule.hold_cut.unwrap_or(true) && rule.result_limit.is_none()
}

/// What must not be passed: the limit of the window, or its size where that is lower or alone.
fn ceiling(budget: &AgentBudget) -> Option<u64> {
    let size = budget.measure.window.map(|(size, _)| size);
    let limit = budget.limit.map(|limit| limit.tokens);
    size.into_iter().chain(limit).min()
}

/// The place of a budget in lists.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum BudgetRank {
    /// How near it is to its limit, in millionths.
    Near(Reverse<u128>, String),
    /// What stands in a window of unknown size.
    Open(Reverse<u64>, String),
    /// No window yet.
    Unseen(String),
}

impl BudgetRank {
    fn of(budget: &AgentBudget, name: String) -> Self {
        let Some(window) = &budget.now else { return Self::Unseen(name) };
        let tokens = window.occupancy().tokens;
        match ceiling(budget) {
            Some(most) => Self::Near(Reverse(u128::from(tokens) * 1_000_000 / u128::from(most.max(1))), name),
            None => Self::Open(Reverse(tokens), name),
        }
    }
}
