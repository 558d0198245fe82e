//! The calls, one file or folder a noun: input, required ability, and a short body.
//!
//! Every call is a method of [`crate::Api`]; `dispatch.rs` gives them their names. Bodies decide nothing that `domain`
//! decides.

pub mod agents;
pub mod alarms;
pub mod budgets;
pub mod clients;
pub mod control_tokens;
pub mod core;
pub mod halts;
pub mod inbox;
pub mod left_entries;
pub mod pauses;
pub mod plans;
pub mod rules;
pub mod servers;
pub mod tasks;
pub mod user_data;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// Names one task by its handle or a unique beginning of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OneTask {
    pub id: String,
}

/// Names one server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OneServer {
    pub name: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

/// Nothing to say but that it is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Done {}
