//! Alerts about context windows that fill up: shown once per window and level, withdrawn when the window is emptied.
//!
//! Pure: budgets go in, cards to show or withdraw come out. What was shown is kept in memory only; windows that are
//! full already when the core starts were reported by the run before, so a restart repeats nothing. Whether the person
//! wants alerts now is asked in `actor.rs`.

use std::collections::{BTreeMap, BTreeSet};

use api::dto::ExactnessDto;
use api::format::tokens;
use domain::budget::window::Window;
use domain::ids::{AgentId, WindowId};
use domain::policy::CountingPolicy;
use domain::task::Attention;
use engine::AgentBudget;

use crate::notifications::card_plan::{CardChange, CardKey, NotificationCard};

/// The level of an alert.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    /// Its tokens reached the warning share.
    Warn,
    /// It is nearly full.
    Full,
    /// It exceeds the limit of a rule.
    Limit,
}

/// Alerts that were shown, and cards that may still be on the screen.
pub(crate) struct BudgetAlerts {
    reported: BTreeMap<WindowId, Level>,
    /// Agents whose card may be on the screen.
    shown: BTreeSet<AgentId>,
}

impl BudgetAlerts {
    /// Counts windows that are full at the start of the core as reported.
    pub(crate) fn new(budgets: &[AgentBudget], counting: &CountingPolicy) -> Self {
        let levels = budgets.iter().flat_map(|budget| {
            windows(budget).filter_map(move |window| Some((window.id, level(budget, window, counting)?)))
        });
        Self { reported: levels.collect(), shown: BTreeSet::new() }
    }

    /// Alerts for windows that reached a higher level; `name` names agents.
    pub(crate) fn update(
        &mut self,
        budgets: &[AgentBudget],
        counting: &CountingPolicy,
        name: impl Fn(AgentId) -> String,
    ) -> Vec<CardChange> {
        let mut acts = Vec::new();
        let open: BTreeSet<WindowId> = budgets.iter().flat_map(windows).map(|window| window.id).collect();
        self.reported.retain(|window, _| open.contains(window));
        for budget in budgets {
            let mut is_full = false;
            for window in windows(budget) {
                let Some(now) = level(budget, window, counting) else { continue };
                is_full = true;
                if self.reported.get(&window.id).is_some_and(|before| *before >= now) {
                    continue;
                }
                self.reported.insert(window.id, now);
                self.shown.insert(budget.agent);
                acts.push(CardChange::Show(Box::new(card(budget, window, now, &name(budget.agent)))));
            }
            acts.extend(self.withdrawn(budget.agent, is_full));
        }
        acts
    }

    /// Withdrawals while no new alert may be shown: of agents without a full window.
    pub(crate) fn emptied(&mut self, budgets: &[AgentBudget], counting: &CountingPolicy) -> Vec<CardChange> {
        let full = |budget: &AgentBudget| windows(budget).any(|window| level(budget, window, counting).is_some());
        budgets.iter().filter_map(|budget| self.withdrawn(budget.agent, full(budget))).collect()
    }

    /// Withdraws the card of an agent if none of its windows is full.
    fn withdrawn(&mut self, agent: AgentId, is_full: bool) -> Option<CardChange> {
        (!is_full && self.shown.remove(&agent)).then_some(CardChange::Withdraw(CardKey::Window(agent)))
    }

    /// Agents whose card may be on the screen.
    pub(crate) fn shown(&self) -> impl Iterator<Item = AgentId> + '_ {
        self.shown.iter().copied()
    }
}

fn windows(budget: &AgentBudget) -> impl Iterator<Item = &Window> {
    budget.now.iter().chain(&budget.beside).map(|window| &**window)
}

fn level(budget: &AgentBudget, window: &Window, counting: &CountingPolicy) -> Option<Level> {
    let tokens = window.occupancy().tokens;
    if budget.limit.is_some_and(|limit| tokens > limit.tokens) {
        return Some(Level::Limit);
    }
    let (size, _) = budget.measure.window?;
    let reached = |percent: u32| size > 0 && u128::from(tokens) * 100 >= u128::from(size) * u128::from(percent);
    if reached(counting.full_percent) {
        Some(Level::Full)
    } else {
        reached(counting.warn_percent).then_some(Level::Warn)
    }
}

fn card(budget: &AgentBudget, window: &Window, level: Level, name: &str) -> NotificationCard {
    let count = window.occupancy();
    let exactness = ExactnessDto::from(count.exactness);
    let size = budget.measure.window.map(|(size, _)| size).filter(|size| *size > 0);
    let (title, of) = match (level, budget.limit, size) {
        (Level::Limit, Some(limit), _) => (
            format!("{name} exceeds the limit of its window"),
            format!(", at most {} allowed", tokens::short(limit.tokens)),
        ),
        (Level::Warn | Level::Full | Level::Limit, _, Some(size)) => {
            let percent = u128::from(count.tokens.min(size)) * 100 / u128::from(size);
            (format!("{name} used {percent} % of its window"), format!(" of {}", tokens::short(size)))
        }
        (Level::Warn | Level::Full | Level::Limit, _, None) => {
            (format!("The window of {name} is filling up"), String::new())
        }
    };
    let exact = match exactness {
        ExactnessDto::Exact => ", exact",
        ExactnessDto::About | ExactnessDto::AtMost => "",
    };
    // A window holds no more than its size.
    let shown = count.tokens.min(size.unwrap_or(u64::MAX));
    let body = match level {
        Level::Limit => format!("{}{of}{exact}.", tokens::marked_tokens(shown, exactness)),
        Level::Warn | Level::Full => format!("{}{of} tokens{exact}.", tokens::tokens(shown, exactness)),
    };
    NotificationCard {
        key: CardKey::Window(budget.agent),
        attention: Attention::Problem,
        title,
        body,
        with_sound: false,
    }
}

#[cfg(test)]
mod tests;
