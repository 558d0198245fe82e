//! What came into windows over time and today, with what it cost, as JSON shows them.
//!
//! Sums of the registry's hours in the parts of time that the caller names, so that days begin where the person's do.
//! They are made in `calls/budgets/chart.rs` and `calls/budgets/today.rs`.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::ExactnessDto;
use super::price::CostDto;

/// Parts of time, and whose tokens are wanted in them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ShowChart {
    /// Of this agent, by name or id; of all when left out.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub agent: Option<String>,
    /// When each part begins, the oldest first; a part ends where the next begins, the last one now. The caller knows
    /// in which time zone a day begins and which day has 23 hours.
    pub starts: Vec<String>,
}

/// One part of time. An hour in which two parts meet counts where it begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ChartPoint {
    /// When it begins, as it was asked for.
    pub at: String,
    /// Tokens that came into windows.
    pub tokens: u64,
    pub exactness: ExactnessDto,
    /// Tokens that were passed to programs.
    pub passed: u64,
    pub passed_exactness: ExactnessDto,
    /// What tasks kept out of windows.
    pub kept_out: u64,
    pub kept_out_exactness: ExactnessDto,
    pub messages: u64,
    /// Hours of it in which counting ran: with none, its zeros are unknown and not nothing.
    pub counted_hours: u32,
    /// Hours that it has, as far as they have begun.
    pub hours: u32,
}

/// Tokens over time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ChartDto {
    /// The parts that were asked for, the oldest first.
    pub points: Vec<ChartPoint>,
    /// The sums of all.
    pub tokens: u64,
    pub exactness: ExactnessDto,
    pub kept_out: u64,
    pub kept_out_exactness: ExactnessDto,
    pub messages: u64,
}

/// When the day of the person began, and whose rows are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ShowToday {
    /// A moment of the last two days.
    pub since: String,
    /// Ids of the agents whose own figures are wanted; the sums are always of all. Of nobody when left out.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub agents: Option<Vec<String>>,
}

/// Why tokens have no cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum UnpricedDto {
    /// Nobody set the agent's model.
    NoModel,
    /// The model has no price.
    NoPrice,
}

/// What one agent took in today.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AgentToday {
    pub agent_id: String,
    pub agent: String,
    pub tokens: u64,
    pub exactness: ExactnessDto,
    pub kept_out: u64,
    pub kept_out_exactness: ExactnessDto,
    /// By the price of the model that is set for it now; null without one.
    pub cost: Option<CostDto>,
    /// Why there is no cost; null where there is one.
    pub unpriced: Option<UnpricedDto>,
}

/// What all agents took in today.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct TodayDto {
    /// The beginning of the first hour that is counted.
    pub since: String,
    /// Tokens that came into windows.
    pub tokens: u64,
    pub exactness: ExactnessDto,
    /// What tasks kept out of them.
    pub kept_out: u64,
    pub kept_out_exactness: ExactnessDto,
    /// Both together: what would have come in without tasks.
    pub without_tasks: u64,
    pub without_tasks_exactness: ExactnessDto,
    /// The part of that which was kept out, in percent; null where nothing came or was kept out.
    pub kept_out_percent: Option<u8>,
    /// Costs by currency: amounts of two currencies are never added.
    pub costs: Vec<CostDto>,
    /// Agents that took something in and whose tokens are in no cost, by name, the first few.
    pub left_out: Vec<String>,
    /// How many there are in all.
    pub left_out_count: u64,
    /// The agents that were asked for and took something in.
    pub agents: Vec<AgentToday>,
}
