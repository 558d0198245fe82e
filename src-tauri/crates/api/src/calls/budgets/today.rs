//! What agents took in since the person's day began, what tasks kept out of it, and what it cost.
//!
//! Every token costs once, when it comes in: calls are written by a model and have its output price, all else is read by
//! it. A token that stays in a window is read again with every turn, which only the agent's program sees. Costs are by
//! the model that is set for an agent now; amounts of two currencies are never added.

use std::collections::{BTreeMap, BTreeSet};

use domain::agent::Agent;
use domain::budget::price::{Cost, Currency, Price, model_key};
use domain::budget::window::{TokenFlow, TokenSource};
use domain::ids::AgentId;
use domain::ports::{SeriesQuery, SpendRow};
use domain::time::Timestamp;
use domain::tokens::{Count, Exactness};

use super::series::{HOUR, hour_of};
use crate::api::Api;
use crate::caller::Caller;
use crate::dto::budget::price::CostDto;
use crate::dto::budget::spend::{AgentToday, ShowToday, TodayDto, UnpricedDto};
use crate::dto::{iso, moment};
use crate::error::{ApiError, Code};
use crate::lookup::short;

/// A day has at most so many hours, where clocks go back by one; two are room for clocks that differ. Judgement.
const SINCE_HOURS_MAX: i64 = 48;
/// Agents without a cost that are named. Judgement: a line; their number is told as well.
const LEFT_OUT_NAMED: usize = 3;

/// What one agent took in.
#[derive(Default)]
struct Taken {
    tokens: Count,
    kept_out: Count,
    /// What its model wrote.
    written: Count,
}

impl Taken {
    fn add(&mut self, row: &SpendRow) {
        let count = Count { tokens: row.tokens, exactness: row.exactness };
        match row.flow {
            TokenFlow::In(source) => {
                self.tokens = self.tokens + count;
                if source == TokenSource::Arguments {
                    self.written = self.written + count;
                }
            }
            TokenFlow::KeptOut => self.kept_out = self.kept_out + count,
        }
    }

    fn cost(&self, price: &Price) -> Cost {
        let read = self.tokens.tokens.saturating_sub(self.written.tokens);
        price.input.of(read) + price.output.of(self.written.tokens)
    }
}

/// Costs, by currency.
#[derive(Default)]
struct CostSums(BTreeMap<Currency, (Cost, Exactness)>);

impl CostSums {
    fn add(&mut self, currency: Currency, cost: Cost, exactness: Exactness) {
        let (sum, least) = self.0.entry(currency).or_insert((Cost::default(), Exactness::Exact));
        *sum = *sum + cost;
        *least = (*least).max(exactness);
    }

    fn shown(self) -> Vec<CostDto> {
        self.0.into_iter().map(|(currency, (cost, exactness))| shown(currency, cost, exactness)).collect()
    }
}

fn shown(currency: Currency, cost: Cost, exactness: Exactness) -> CostDto {
    CostDto { currency: currency.to_string(), micros: cost.micros(), exactness: exactness.into() }
}

impl Api {
    /// What came in since the day began, over all agents and of those that are named.
    ///
    /// # Errors
    /// When the beginning is no moment of the last two days, or the registry cannot be read.
    pub async fn budget_today(&self, _caller: &Caller, input: ShowToday) -> Result<TodayDto, ApiError> {
        let since = self.since(&input.since)?;
        let wanted: BTreeSet<String> = input.agents.unwrap_or_default().into_iter().collect();
        self.flush_budget().await;
        let query = SeriesQuery { agent: None, from: since, to: hour_of(self.now()).shifted(HOUR) };
        let mut taken: BTreeMap<AgentId, Taken> = BTreeMap::new();
        for row in self.registry.spend(query).await? {
            taken.entry(row.agent).or_default().add(&row);
        }
        let known = self.registry.agents().await?;
        let known: BTreeMap<AgentId, &Agent> = known.iter().map(|agent| (agent.id, agent)).collect();
        let prices = self.registry.prices().await?;
        let (mut costs, mut left_out, mut rows) = (CostSums::default(), Vec::new(), Vec::new());
        for (id, taken) in &taken {
            let Some(agent) = known.get(id) else { continue };
            let price = price_of(agent, &prices);
            match price {
                Ok(price) => costs.add(price.currency, taken.cost(price), taken.tokens.exactness),
                Err(_) if taken.tokens.tokens > 0 => left_out.push(agent.name.clone()),
                Err(_) => {}
            }
            if wanted.contains(&id.to_string()) {
                let cost = price.map(|price| shown(price.currency, taken.cost(price), taken.tokens.exactness));
                rows.push(AgentToday {
                    agent_id: id.to_string(),
                    agent: agent.name.clone(),
                    tokens: taken.tokens.tokens,
                    exactness: taken.tokens.exactness.into(),
                    kept_out: taken.kept_out.tokens,
                    kept_out_exactness: taken.kept_out.exactness.into(),
                    unpriced: cost.as_ref().err().copied(),
                    cost: cost.ok(),
                });
            }
        }
        let tokens: Count = taken.values().map(|taken| taken.tokens).sum();
        let kept_out: Count = taken.values().map(|taken| taken.kept_out).sum();
        let without = tokens + kept_out;
        left_out.sort_unstable();
        let left_out_count = u64::try_from(left_out.len()).unwrap_or(u64::MAX);
        left_out.truncate(LEFT_OUT_NAMED);
        Ok(TodayDto {
            since: iso(since),
            tokens: tokens.tokens,
            exactness: tokens.exactness.into(),
            kept_out: kept_out.tokens,
            kept_out_exactness: kept_out.exactness.into(),
            without_tasks: without.tokens,
            without_tasks_exactness: without.exactness.into(),
            kept_out_percent: percent(kept_out.tokens, without.tokens),
            costs: costs.shown(),
            left_out,
            left_out_count,
            agents: rows,
        })
    }

    /// The first whole hour of the day: the hour before it belongs to the day before, as in a chart of days.
    fn since(&self, text: &str) -> Result<Timestamp, ApiError> {
        let bad = |why: String| ApiError::new(Code::Usage, why, "Give the moment at which your day began.");
        let since = moment(text).ok_or_else(|| bad(format!("`{}` is not a moment", short(text))))?;
        let age = self.now().as_millis().saturating_sub(since.as_millis());
        if !(-HOUR..=SINCE_HOURS_MAX * HOUR).contains(&age) {
            return Err(bad(format!("`{}` is not in the last two days", short(text))));
        }
        let begun = hour_of(since);
        Ok(if begun == since { begun } else { begun.shifted(HOUR) })
    }
}

/// The price of an agent's model.
fn price_of<'a>(agent: &Agent, prices: &'a [Price]) -> Result<&'a Price, UnpricedDto> {
    let key = agent.meter.model.as_deref().map(model_key).ok_or(UnpricedDto::NoModel)?;
    prices.iter().find(|price| *price.model == *key).ok_or(UnpricedDto::NoPrice)
}

/// A part of a whole, to the nearest percent; neither all nor nothing unless it is.
fn percent(part: u64, whole: u64) -> Option<u8> {
    if whole == 0 {
        return None;
    }
    let (part, whole) = (u128::from(part), u128::from(whole));
    let nearest = (part * 200 + whole) / (2 * whole);
    let shown = if part == 0 || part == whole { nearest } else { nearest.clamp(1, 99) };
    u8::try_from(shown).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_all_or_nothing_only_where_it_is() {
        assert_eq!(percent(0, 0), None);
        for (part, whole, shown) in [(34, 113, 30), (0, 5, 0), (5, 5, 100), (1, 100_000, 1), (99_999, 100_000, 99)] {
            assert_eq!(percent(part, whole), Some(shown), "{part} of {whole}");
        }
        assert_eq!(percent(u64::MAX, u64::MAX), Some(100));
    }
}
