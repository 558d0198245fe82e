//! Counted tokens in memory: windows as they are, series added up by the hour.
//!
//! Old rows go as in the real registry: the oldest hour with a later flush, ended windows beyond those shown when another
//! window of their agent ends.

use std::collections::{BTreeMap, BTreeSet};

use std::sync::Arc;

use domain::budget::price::Price;
use domain::budget::waste::Waste;
use domain::budget::window::{TokenFlow, Window};
use domain::ids::{AgentId, ServerId, WindowId};
use domain::policy::CountingPolicy;
use domain::ports::{BudgetNote, HourSum, SeriesQuery, SpendRow, WasteRow};
use domain::time::Timestamp;
use domain::tokens::Family;

type SpendKey = (Timestamp, AgentId, Option<ServerId>, TokenFlow, Family);
type WasteKey = (Timestamp, Option<AgentId>, ServerId, Waste);

/// Windows and series.
#[derive(Debug, Clone, Default)]
pub(crate) struct UsageStore {
    windows: BTreeMap<WindowId, Window>,
    spend: BTreeMap<SpendKey, SpendRow>,
    waste: BTreeMap<WasteKey, WasteRow>,
    hours: BTreeSet<Timestamp>,
    prices: BTreeMap<Arc<str>, Price>,
}

impl UsageStore {
    /// Stores windows as they are and adds to the series.
    pub(crate) fn note(&mut self, note: BudgetNote, policy: &CountingPolicy) {
        for mut window in note.windows {
            // What came in lately is not kept over a restart.
            window.lately.clear();
            let ended = window.ended.map(|_| window.agent);
            self.windows.insert(window.id, window);
            if let Some(agent) = ended {
                self.forget_windows(agent, policy);
            }
        }
        let newest = (note.spend.iter().map(|row| row.hour).max(), note.waste.iter().map(|row| row.hour).max());
        let newest_hour = note.hours.iter().max().copied();
        self.hours.extend(note.hours);
        if let Some((oldest, newest)) = self.hours.first().copied().zip(newest_hour)
            && newest.since(oldest) > policy.series_kept
        {
            self.hours.remove(&oldest);
        }
        for row in note.spend {
            let key = (row.hour, row.agent, row.server, row.flow, row.family);
            match self.spend.get_mut(&key) {
                Some(sum) => {
                    sum.tokens = sum.tokens.saturating_add(row.tokens);
                    sum.passed = sum.passed.saturating_add(row.passed);
                    sum.passed_exactness = sum.passed_exactness.max(row.passed_exactness);
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
        forget(&mut self.spend, |key| key.0, newest.0, policy);
        forget(&mut self.waste, |key| key.0, newest.1, policy);
    }

    fn forget_windows(&mut self, agent: AgentId, policy: &CountingPolicy) {
        let ended = self.windows.values().filter(|window| window.agent == agent && window.ended.is_some());
        let mut ended: Vec<_> = ended.map(|window| (window.ended, window.began, window.id)).collect();
        ended.sort_unstable_by_key(|place| std::cmp::Reverse(*place));
        for (.., id) in ended.into_iter().skip(usize::try_from(policy.windows_shown).unwrap_or(usize::MAX)) {
            self.windows.remove(&id);
        }
    }

    /// The windows that fill, and so many of each agent that do not, the newest first.
    pub(crate) fn windows(&self, ended: u32) -> Vec<Window> {
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
    pub(crate) fn spend(&self, query: &SeriesQuery) -> Vec<SpendRow> {
        let rows = self.spend.values().filter(|row| query.agent.is_none_or(|agent| row.agent == agent));
        rows.filter(|row| within(query, row.hour)).cloned().collect()
    }

    /// What flowed in these hours, over agents, servers and families.
    pub(crate) fn spend_by_hour(&self, query: &SeriesQuery) -> Vec<HourSum> {
        let mut sums: BTreeMap<(Timestamp, TokenFlow), HourSum> = BTreeMap::new();
        for row in self.spend(query) {
            let sum = sums.entry((row.hour, row.flow)).or_insert_with(|| HourSum {
                hour: row.hour,
                flow: row.flow,
                exactness: row.exactness,
                tokens: 0,
                passed_exactness: row.passed_exactness,
                passed: 0,
                messages: 0,
            });
            sum.exactness = sum.exactness.max(row.exactness);
            sum.tokens = sum.tokens.saturating_add(row.tokens);
            sum.passed_exactness = sum.passed_exactness.max(row.passed_exactness);
            sum.passed = sum.passed.saturating_add(row.passed);
            sum.messages = sum.messages.saturating_add(row.messages);
        }
        let mut sums: Vec<HourSum> = sums.into_values().collect();
        sums.sort_unstable();
        sums
    }

    /// The hours of these in which counting ran.
    pub(crate) fn counted_hours(&self, query: &SeriesQuery) -> Vec<Timestamp> {
        self.hours.iter().copied().filter(|hour| within(query, *hour)).collect()
    }

    /// Puts the price of a model, or takes it away.
    pub(crate) fn put_price(&mut self, price: Price, remove: bool) {
        if remove {
            self.prices.remove(&price.model);
        } else {
            self.prices.insert(Arc::clone(&price.model), price);
        }
    }

    /// All prices, by model.
    pub(crate) fn prices(&self) -> Vec<Price> {
        self.prices.values().cloned().collect()
    }

    /// What was wasted in these hours.
    pub(crate) fn waste(&self, query: &SeriesQuery) -> Vec<WasteRow> {
        let rows = self.waste.values().filter(|row| query.agent.is_none_or(|agent| row.agent == Some(agent)));
        rows.filter(|row| within(query, row.hour)).cloned().collect()
    }
}

/// Takes away the oldest hour when it is too old beside the newest that came.
fn forget<K: Ord, V>(
    rows: &mut BTreeMap<K, V>,
    hour: impl Fn(&K) -> Timestamp,
    newest: Option<Timestamp>,
    policy: &CountingPolicy,
) {
    let oldest = rows.keys().next().map(&hour);
    if let (Some(oldest), Some(newest)) = (oldest, newest)
        && newest.since(oldest) > policy.series_kept
    {
        rows.retain(|key, _| hour(key) != oldest);
    }
}

fn within(query: &SeriesQuery, hour: Timestamp) -> bool {
    query.from <= hour && hour < query.to
}
