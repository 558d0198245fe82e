//! What the registry keeps of budgets: windows, and series by the hour.
//!
//! Flushed in batches: a crash may lose the last seconds of counting, never a task's own figures, which are committed
//! with the task.

use crate::audit::AuditEvent;
use crate::budget::price::Price;
use crate::budget::waste::Waste;
use crate::budget::window::{TokenFlow, Window};
use crate::ids::{AgentId, ServerId};
use crate::time::Timestamp;
use crate::tokens::{Exactness, Family};

/// Tokens that flowed in one hour, to be added to what is stored.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SpendRow {
    /// The beginning of the hour.
    pub hour: Timestamp,
    pub agent: AgentId,
    /// From which server; `None` for the gateway's own.
    pub server: Option<ServerId>,
    /// What it was.
    pub flow: TokenFlow,
    /// In whose tokens.
    pub family: Family,
    /// How exact the least exact part of `tokens` is.
    pub exactness: Exactness,
    /// Tokens in the window.
    pub tokens: u64,
    /// How exact the least exact part of `passed` is.
    pub passed_exactness: Exactness,
    /// Tokens that were passed to the program.
    pub passed: u64,
    pub messages: u64,
}

/// Waste of one hour, to be added to what is stored.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct WasteRow {
    /// The beginning of the hour.
    pub hour: Timestamp,
    /// Whose; `None` where no agent is at fault.
    pub agent: Option<AgentId>,
    /// On which server.
    pub server: ServerId,
    pub waste: Waste,
    pub count: u64,
    /// Tokens that it cost the window.
    pub tokens: u64,
    /// How exact its least exact part is.
    pub exactness: Exactness,
}

/// A flush: windows as they are, series to be added.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BudgetNote {
    pub windows: Vec<Window>,
    /// Added to the rows of the same hour, agent, server, flow and family.
    pub spend: Vec<SpendRow>,
    /// Added to the rows of the same hour, agent, server and kind.
    pub waste: Vec<WasteRow>,
    /// Hours in which counting ran, so that an hour without tokens differs from one that nobody measured.
    pub hours: Vec<Timestamp>,
}

/// What flowed in one hour in one way, over all agents and servers of a query.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct HourSum {
    /// The beginning of the hour.
    pub hour: Timestamp,
    pub flow: TokenFlow,
    /// How exact the least exact part of `tokens` is.
    pub exactness: Exactness,
    /// Tokens in the windows.
    pub tokens: u64,
    /// How exact the least exact part of `passed` is.
    pub passed_exactness: Exactness,
    /// Tokens that were passed to the programs.
    pub passed: u64,
    pub messages: u64,
}

/// A price that is put in place of the one of its model, or taken away.
#[derive(Debug, Clone, PartialEq)]
pub struct PriceUnit {
    pub price: Price,
    pub remove: bool,
    pub audit: Vec<AuditEvent>,
}

/// Which hours to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeriesQuery {
    /// Of this agent, or of all.
    pub agent: Option<AgentId>,
    /// Hours that begin at this moment or later.
    pub from: Timestamp,
    /// Hours that begin before.
    pub to: Timestamp,
}
