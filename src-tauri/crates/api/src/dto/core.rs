//! The core itself, as the status bar and the settings show it.

pub mod anchor;
pub mod audit;
pub mod receipt;
pub mod report;
pub mod sink;
pub mod storage;

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::AgentsAt;

/// Where notices go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum NoticesGo {
    /// To the desktop.
    Desktop,
    /// There is no service for them here.
    #[default]
    None,
    /// Turned off in the configuration.
    Off,
}

/// The core that answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CoreDto {
    pub version: String,
    pub process: u32,
    pub person: String,
    /// When it was started.
    pub started_at: String,
    /// Its data directory.
    pub home: String,
    /// Where secrets lie, in one line.
    pub secrets: String,
    /// Whether they lie in a file that only the user can read.
    pub secrets_in_file: bool,
    /// Where notices go.
    #[ts(inline)]
    pub notifications: NoticesGo,
    /// Where agents reach it over HTTP.
    pub agents_at: AgentsAt,
    /// What the check of the registry found at the start; empty is good.
    pub registry_findings: Vec<String>,
}
