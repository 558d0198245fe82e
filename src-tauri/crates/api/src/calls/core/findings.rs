//! What was checked of an installation: the findings of `taskwarden doctor` and of the window's page of it.
//!
//! Only their shape and the call; the checks are the host's, which knows the data directory and the keychain
//! (`host::doctor`).

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::doctor::CoreFacts;
use crate::api::Api;
use crate::caller::Caller;
use crate::calls::Nothing;
use crate::error::ApiError;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum Grade {
    /// Nothing needs to be done.
    Fine,
    /// Good to know, and not broken.
    Note,
    /// Something does not work.
    Broken,
}

/// One thing that was checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// What was checked.
    pub area: String,
    /// How bad it is.
    #[ts(inline)]
    pub grade: Grade,
    /// What was found.
    pub message: String,
    /// How to fix it; null if there is nothing to do.
    pub cure: Option<String>,
}

/// A server process that goes on for a while when the core ends, because a keeper holds it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct KeptProcess {
    /// The process of the server.
    pub process: u32,
    /// The process of its keeper.
    pub keeper: u32,
    /// The server's command, without its arguments.
    pub command: String,
}

/// Everything that was checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct DoctorReport {
    pub findings: Vec<Finding>,
    /// How many of them are broken.
    pub broken: u64,
    /// Server processes that a keeper holds when the core ends.
    pub kept: Vec<KeptProcess>,
    /// How long a keeper waits for a core before it ends its server.
    pub kept_ms: u64,
}

/// The checks of the program around the core.
pub trait Examiner: Send + Sync + 'static {
    /// Checks everything, with these facts of the core itself.
    fn examine(&self, facts: CoreFacts) -> BoxFuture<'_, DoctorReport>;
}

impl Finding {
    #[must_use]
    pub fn fine(area: &str, message: impl Into<String>) -> Self {
        Self { area: area.into(), grade: Grade::Fine, message: message.into(), cure: None }
    }

    #[must_use]
    pub fn note(area: &str, message: impl Into<String>, cure: impl Into<String>) -> Self {
        Self { area: area.into(), grade: Grade::Note, message: message.into(), cure: Some(cure.into()) }
    }

    #[must_use]
    pub fn broken(area: &str, message: impl Into<String>, cure: impl Into<String>) -> Self {
        Self { area: area.into(), grade: Grade::Broken, message: message.into(), cure: Some(cure.into()) }
    }
}

impl DoctorReport {
    /// A report of these findings.
    #[must_use]
    pub fn of(findings: Vec<Finding>, kept: Vec<KeptProcess>, kept_for: std::time::Duration) -> Self {
        let broken = findings.iter().filter(|finding| finding.grade == Grade::Broken).count();
        Self {
            findings,
            broken: u64::try_from(broken).unwrap_or(u64::MAX),
            kept,
            kept_ms: u64::try_from(kept_for.as_millis()).unwrap_or(u64::MAX),
        }
    }
}

impl Api {
    /// Checks this installation as `taskwarden doctor` does.
    ///
    /// # Errors
    /// Without a core, or when the registry cannot be read at all.
    pub async fn doctor_run(&self, caller: &Caller, input: Nothing) -> Result<DoctorReport, ApiError> {
        let examiner = std::sync::Arc::clone(&self.live()?.examiner);
        let facts = self.doctor(caller, input).await?;
        Ok(examiner.examine(facts).await)
    }
}
