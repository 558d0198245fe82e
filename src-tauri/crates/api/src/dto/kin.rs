//! What a task has to do with others and with its agent: parent, children, attempts of one job, a held result.
//!
//! Each is a few words about another task, enough to go there. Counting and finding them is the registry's.

use domain::handle::{Hold, Verdict};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::iso;

/// The task that was open when this one was started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ParentDto {
    /// Its handle.
    pub id: String,
    /// Its server.
    pub server: String,
    /// Its tool, where known.
    pub tool: Option<String>,
    /// `trace` when both carry the same trace, `openTask` when it was the agent's newest open task.
    #[ts(type = "\"trace\" | \"openTask\"")]
    pub why: String,
}

/// A child, or another attempt of the same job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct KinDto {
    /// Its handle.
    pub id: String,
    /// Its server.
    pub server: String,
    /// Its tool, where known.
    pub tool: Option<String>,
    /// The one word for it.
    #[ts(type = "Phase")]
    pub phase: String,
    /// Which attempt of its job it is, from 1.
    pub attempt: u32,
    /// When it was admitted.
    pub created_at: String,
    /// When nothing more was expected of it.
    pub ended_at: Option<String>,
}

/// Calls of the same tool with the same arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct JobDto {
    /// Names the job.
    pub key: String,
    /// Which attempt this task is, from 1.
    pub attempt: u32,
    /// All attempts that are kept, this one among them, the newest first.
    pub attempts: Vec<KinDto>,
}

/// A result that waits for a person before the agent gets it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct HeldDto {
    /// Since when.
    pub at: String,
    /// Who holds it: a person, or the rule that does.
    pub by: String,
    /// What a person decided; null while nobody did.
    pub verdict: Option<VerdictDto>,
}

/// What a person decided about a held result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct VerdictDto {
    /// Whether the agent gets it.
    pub delivered: bool,
    /// Who.
    pub by: String,
    /// When.
    pub at: String,
    /// Why not, in the person's words.
    pub reason: Option<String>,
}

impl HeldDto {
    pub(crate) fn of(hold: &Hold) -> Self {
        let verdict = hold.verdict.as_ref().map(|verdict| match verdict {
            Verdict::Deliver { by, at } => {
                VerdictDto { delivered: true, by: by.to_string(), at: iso(*at), reason: None }
            }
            Verdict::Withhold { by, at, reason } => {
                VerdictDto { delivered: false, by: by.to_string(), at: iso(*at), reason: reason.clone() }
            }
        });
        Self { at: iso(hold.at), by: hold.by.as_ref().map_or_else(|| "a rule".into(), ToString::to_string), verdict }
    }
}
