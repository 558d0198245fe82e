//! What is kept of budgets in memory: windows as they are, series added up by the hour.

use std::collections::BTreeMap;

use domain::ids::{AgentId, ServerId, WindowId};
use domain::ports::{BudgetNote, SeriesQuery, SpendRow, WasteRow};
use domain::time::Timestamp;
use domain::tokens::Family;
use domain::waste::Waste;
use domain::window::{Flow, Window};

type SpendKey = (Timestamp, AgentId, Option<ServerId>, Flow, Family);
type WasteKey = (Timestamp, Option<AgentId>, ServerId, Waste);

/// Windows and series.
#[derive(Debug, Clone, Default)]
pub(super) struct Budgets {
    windows: BTreeMap<WindowId, Window>,
    spend: BTreeMap<SpendKey, SpendRow>,
    waste: BTreeMap<WasteKey, WasteRow>,
}

impl Budgets {
    /// Stores windows as they are and adds to the series.
    pub(super) fn note(&mut self, note: BudgetNote) {
        for mut window in note.windows {
            // What came in lately is not kept over a restart.
            window.lately.clear();
            self.windows.insert(window.id, window);
        }
        for row in note.spend {
            let key = (row.hour, row.agent, row.server, row.flow, row.family);
            match self.spend.get_mut(&key) {
                Some(sum) => {
                    sum.tokens = sum.tokens.saturating_add(row.tokens);
                    sum.messages = sum.messages.saturating_add(row.messages);
                    sum.exactness = sum.exactness.max(row.exactness);
                }
                None => {
                    self.spend.insert(key, row);
                }
            }
        }
        for row in note.waste {
            let key = (row.hour, row.agent, row.server, row.waste);
            match self.waste.get_mut(&key) {
                Some(sum) => {
                    sum.count = sum.count.saturating_add(row.count);
                    sum.tokens = sum.tokens.saturating_add(row.tokens);
                    sum.exactness = sum.exactness.max(row.exactness);
                }
                None => {
                    self.waste.insert(key, row);
                }
            }
        }
    }

    /// The windows that fill, and so many of each agent that do not, the newest first.
    pub(super) fn windows(&self, ended: u32) -> Vec<Window> {
        let mut all: Vec<&Window> = self.windows.values().collect();
        all.sort_by_key(|window| std::cmp::Reverse((window.ended, window.began, window.id)));
        let mut shown: BTreeMap<AgentId, u32> = BTreeMap::new();
        let mut is_shown = |window: &&Window| {
            if window.ended.is_none() {
                return true;
            }
            let so_far = shown.entry(window.agent).or_default();
            *so_far = so_far.saturating_add(1);
            *so_far <= ended
        };
        all.retain(|window| is_shown(window));
        all.sort_by_key(|window| (window.ended.is_some(), std::cmp::Reverse((window.ended, window.began, window.id))));
        all.into_iter().cloned().collect()
    }

    /// What flowed in these hours.
    pub(super) fn spend(&self, query: &SeriesQuery) -> Vec<SpendRow> {
        let rows = self.spend.values().filter(|row| query.agent.is_none_or(|agent| row.agent == agent));
        rows.filter(|row| within(query, row.hour)).cloned().collect()
    }

    /// What was wasted in these hours.
    pub(super) fn waste(&self, query: &SeriesQuery) -> Vec<WasteRow> {
        let rows = self.waste.values().filter(|row| query.agent.is_none_or(|agent| row.agent == Some(agent)));
        rows.filter(|row| within(query, row.hour)).cloned().collect()
    }
}

fn within(query: &SeriesQuery, hour: Timestamp) -> bool {
    query.from <= hour && hour < query.to
}
