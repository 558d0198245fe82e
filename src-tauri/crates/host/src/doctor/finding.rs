//! One thing that `doctor` looked at, how bad it is, and what a person can do about it.

use serde::Serialize;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Grade {
    /// Nothing needs to be done.
    Fine,
    /// Good to know, and not broken.
    Note,
    /// Something does not work.
    Broken,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Finding {
    /// What was checked.
    pub(crate) area: String,
    /// How bad it is.
    pub(crate) grade: Grade,
    /// What was found.
    pub(crate) message: String,
    /// How to fix it; null if there is nothing to do.
    pub(crate) cure: Option<String>,
}

impl Finding {
    pub(crate) fn fine(area: &str, message: impl Into<String>) -> Self {
        Self { area: area.into(), grade: Grade::Fine, message: message.into(), cure: None }
    }

    pub(crate) fn note(area: &str, message: impl Into<String>, cure: impl Into<String>) -> Self {
        Self { area: area.into(), grade: Grade::Note, message: message.into(), cure: Some(cure.into()) }
    }

    pub(crate) fn broken(area: &str, message: impl Into<String>, cure: impl Into<String>) -> Self {
        Self { area: area.into(), grade: Grade::Broken, message: message.into(), cure: Some(cure.into()) }
    }
}
