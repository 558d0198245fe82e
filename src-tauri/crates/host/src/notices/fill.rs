//! Windows that fill: told once for each window and level, and taken away when the window is emptied.
//!
//! Pure: budgets go in, cards to show or take away come out. What was told is kept in memory alone; what is so full
//! already when the core starts was told by the run before, so that a restart repeats nothing. Whether the person wants
//! to be told now is `run.rs`'s to ask.

use std::collections::{BTreeMap, BTreeSet};

use api::dto::ExactnessDto;
use api::format::tokens;
use domain::task::Attention;
use domain::ids::{AgentId, WindowId};
use domain::policy::CountingPolicy;
use domain::budget::window::Window;
use engine::AgentBudget;

use super::plan::{Act, Card, Key};

/// How full a window is, as far as people are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    /// It fills.
    Warn,
    /// It is nearly full.
    Full,
    /// It is past the limit that a rule sets.
    Limit,
}

/// What was told of windows.
pub(crate) struct Fill {
    told: BTreeMap<WindowId, Level>,
    /// Agents whose card may stand on the screen.
    shown: BTreeSet<AgentId>,
}

impl Fill {
    /// What is so full when the core starts counts as told.
    pub(crate) fn new(budgets: &[AgentBudget], counting: &CountingPolicy) -> Self {
        let levels = budgets.iter().flat_map(|budget| {
            windows(budget).filter_map(move |window| Some((window.id, level(budget, window, counting)?)))
        });
        Self { told: levels.collect(), shown: BTreeSet::new() }
    }

    /// Windows that reached a level since they were told last; agents by `name`.
    pub(crate) fn news(
        &mut self,
        budgets: &[AgentBudget],
        counting: &CountingPolicy,
        name: impl Fn(AgentId) -> String,
    ) -> Vec<Act> {
        let mut acts = Vec::new();
        let open: BTreeSet<WindowId> = budgets.iter().flat_map(windows).map(|window| window.id).collect();
        self.told.retain(|window, _| open.contains(window));
        for budget in budgets {
            let mut is_full = false;
            for window in windows(budget) {
                let Some(now) = level(budget, window, counting) else { continue };
                is_full = true;
                if self.told.get(&window.id).is_some_and(|before| *before >= now) {
                    continue;
                }
                self.told.insert(window.id, now);
                self.shown.insert(budget.agent);
                acts.push(Act::Show(Box::new(card(budget, window, now, &name(budget.agent)))));
            }
            acts.extend(self.withdrawn(budget.agent, is_full));
        }
        acts
    }

    /// Cards to take away while nothing new may be told: of agents none of whose windows is full any more.
    pub(crate) fn emptied(&mut self, budgets: &[AgentBudget], counting: &CountingPolicy) -> Vec<Act> {
        let full = |budget: &AgentBudget| windows(budget).any(|window| level(budget, window, counting).is_some());
        budgets.iter().filter_map(|budget| self.withdrawn(budget.agent, full(budget))).collect()
    }

    /// Takes an agent's card away where none of its windows is full.
    fn withdrawn(&mut self, agent: AgentId, is_full: bool) -> Option<Act> {
        (!is_full && self.shown.remove(&agent)).then_some(Act::Withdraw(Key::Window(agent)))
    }

    /// Agents whose card may stand on the screen.
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

fn card(budget: &AgentBudget, window: &Window, level: Level, name: &str) -> Card {
    let count = window.occupancy();
    let exactness = ExactnessDto::from(count.exactness);
    let size = budget.measure.window.map(|(size, _)| size).filter(|size| *size > 0);
    let (title, of) = match (level, budget.limit, size) {
        (Level::Limit, Some(limit), _) => (
            format!("{name} is past the limit of its window"),
            format!(", {} are allowed", tokens::short(limit.tokens)),
        ),
        (Level::Warn | Level::Full | Level::Limit, _, Some(size)) => {
            let percent = u128::from(count.tokens.min(size)) * 100 / u128::from(size);
            (format!("{name} used {percent} % of its window"), format!(" of {}", tokens::short(size)))
        }
        (Level::Warn | Level::Full | Level::Limit, _, None) => (format!("The window of {name} fills"), String::new()),
    };
    let exact = match exactness {
        ExactnessDto::Exact => ", exact",
        ExactnessDto::About | ExactnessDto::AtMost => "",
    };
    // A window holds no more than its size.
    let shown = tokens::tokens(count.tokens.min(size.unwrap_or(u64::MAX)), exactness);
    let body = match level {
        Level::Limit => format!("{shown} tokens{of}{exact}."),
        Level::Warn | Level::Full => format!("{shown}{of} tokens{exact}."),
    };
    Card { key: Key::Window(budget.agent), attention: Attention::Problem, title, body, with_sound: false }
}

#[cfg(test)]
mod tests;
