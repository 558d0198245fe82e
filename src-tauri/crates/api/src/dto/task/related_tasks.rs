//! A task's parent, children, attempts of the same job, and its held result.
//!
//! Each is just enough to show and to open the other task. The registry finds and counts them.

use domain::task::status::Phase;
use domain::task::{HoldReason, HoldVerdict, ParentWhy, ResultForm, ResultHold};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::dto::iso;
use crate::dto::words::Word;

/// The task that was open when this one was started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ParentDto {
    pub id: String,
    pub server: String,
    /// Its tool, where known.
    pub tool: Option<String>,
    /// `trace` when both carry the same trace, `openTask` when it was the agent's newest open task.
    #[ts(type = "\"trace\" | \"openTask\"")]
    pub why: Word<ParentWhy>,
}

/// A child, or another attempt of the same job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(rename = "KinDto")]
pub struct RelatedTaskDto {
    pub id: String,
    pub server: String,
    /// Its tool, where known.
    pub tool: Option<String>,
    /// The one word for it.
    #[ts(type = "Phase")]
    pub phase: Word<Phase>,
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
    pub attempts: Vec<RelatedTaskDto>,
}

/// Why a result is held back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum HeldWhy {
    /// A person or a rule wants to see it first.
    Review,
    /// It is larger than one result may be.
    TooLarge,
    /// With it the window would be fuller than it may be.
    DoesNotFit,
    /// The agent's program would cut it and tell nobody.
    WouldBeCut,
}

/// In which form an agent gets a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum FormDto {
    /// As it came.
    Whole,
    /// A short result, and the rest in slices that the agent reads.
    Slices,
    /// Cut to a number of tokens.
    Trimmed,
}

/// A result that waits for a person before the agent gets it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct HeldDto {
    pub at: String,
    /// Who holds it: a person, or the rule or the limit that does.
    pub by: String,
    pub why: HeldWhy,
    /// Its size in tokens, where it is held for it.
    pub tokens: Option<u64>,
    /// The limit, with `tooLarge`; up to which the program shows its model all of a result, with `wouldBeCut`.
    pub limit: Option<u64>,
    /// The program that would cut it, as people read it, with `wouldBeCut`.
    pub program: Option<String>,
    /// What was free in the window below the limit, with `doesNotFit`.
    pub free: Option<u64>,
    /// What was decided; null while nobody did.
    pub verdict: Option<VerdictDto>,
}

/// What was decided about a held result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct VerdictDto {
    /// Whether the agent gets it.
    pub delivered: bool,
    /// In which form; null when it does not.
    pub form: Option<FormDto>,
    /// To how many tokens it is cut, with `trimmed`.
    pub trim_tokens: Option<u64>,
    pub by: String,
    /// Whether the limit decided so by itself: a person can still decide otherwise.
    pub by_limit: bool,
    pub at: String,
    /// Why not, in the person's words.
    pub reason: Option<String>,
}

impl HeldDto {
    pub(crate) fn of(hold: &ResultHold) -> Self {
        let (why, tokens, limit, free) = match hold.why {
            HoldReason::Review => (HeldWhy::Review, None, None, None),
            HoldReason::TooLarge { tokens, limit } => (HeldWhy::TooLarge, Some(tokens), Some(limit), None),
            HoldReason::DoesNotFit { tokens, free } => (HeldWhy::DoesNotFit, Some(tokens), None, Some(free)),
            HoldReason::WouldBeCut { tokens, shown, .. } => (HeldWhy::WouldBeCut, Some(tokens), Some(shown), None),
        };
        let program = match hold.why {
            HoldReason::WouldBeCut { program, .. } => Some(program.label.to_owned()),
            HoldReason::Review | HoldReason::TooLarge { .. } | HoldReason::DoesNotFit { .. } => None,
        };
        let holder = match why {
            HeldWhy::Review => "a rule",
            HeldWhy::TooLarge | HeldWhy::DoesNotFit => "a limit",
            HeldWhy::WouldBeCut => "Taskwarden",
        };
        Self {
            at: iso(hold.at),
            by: hold.by.as_ref().map_or_else(|| holder.into(), ToString::to_string),
            why,
            tokens,
            limit,
            program,
            free,
            verdict: hold.verdict.as_ref().map(VerdictDto::of),
        }
    }
}

impl VerdictDto {
    fn of(verdict: &HoldVerdict) -> Self {
        let (delivered, by, at) = match verdict {
            HoldVerdict::ByLimit { at } => (true, "a limit".into(), at),
            HoldVerdict::Deliver { by, at, .. } => (true, by.to_string(), at),
            HoldVerdict::Withhold { by, at, .. } => (false, by.to_string(), at),
        };
        let plain = Self { delivered, form: None, trim_tokens: None, by, by_limit: false, at: iso(*at), reason: None };
        match verdict {
            HoldVerdict::ByLimit { .. } => Self { form: Some(FormDto::Slices), by_limit: true, ..plain },
            HoldVerdict::Withhold { reason, .. } => Self { reason: reason.clone(), ..plain },
            HoldVerdict::Deliver { form, .. } => match form {
                ResultForm::Whole => Self { form: Some(FormDto::Whole), ..plain },
                ResultForm::Slices => Self { form: Some(FormDto::Slices), ..plain },
                ResultForm::Trimmed { tokens } => {
                    Self { form: Some(FormDto::Trimmed), trim_tokens: Some(*tokens), ..plain }
                }
            },
        }
    }
}
