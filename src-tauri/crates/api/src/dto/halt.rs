//! A halt as JSON: what is stopped, by whom, how far the way back has come, and what became of the tasks.
//!
//! Words only: what follows from them is the domain's (`domain::server::halt`). The calls are in `calls/halts.rs`.

use domain::server::halt::{HaltEffect, RecoveryStage};
use domain::task::status::Phase;
use domain::task::status::halted::HaltedTaskState;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::dto::words::Word;

/// What an order does where it applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub enum HaltEffectDto {
    /// New calls are refused.
    Calls,
    /// Open tasks are asked to cancel, and results that still arrive are held.
    Running,
    /// Questions are frozen.
    Requests,
}

impl From<HaltEffectDto> for HaltEffect {
    fn from(effect: HaltEffectDto) -> Self {
        match effect {
            HaltEffectDto::Calls => Self::Calls,
            HaltEffectDto::Running => Self::Running,
            HaltEffectDto::Requests => Self::Requests,
        }
    }
}

impl From<HaltEffect> for HaltEffectDto {
    fn from(effect: HaltEffect) -> Self {
        match effect {
            HaltEffect::Calls => Self::Calls,
            HaltEffect::Running => Self::Running,
            HaltEffect::Requests => Self::Requests,
        }
    }
}

/// How far the way back has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum RecoveryStageDto {
    /// A person has seen what ended and what did not.
    Acknowledged,
    /// Questions are answered again.
    Requests,
    /// Calls of confirmed tools that only read pass.
    ReadOnly,
    /// All calls pass: the halt is over.
    Calls,
}

impl From<RecoveryStageDto> for RecoveryStage {
    fn from(stage: RecoveryStageDto) -> Self {
        match stage {
            RecoveryStageDto::Acknowledged => Self::Acknowledged,
            RecoveryStageDto::Requests => Self::Requests,
            RecoveryStageDto::ReadOnly => Self::ReadOnly,
            RecoveryStageDto::Calls => Self::Calls,
        }
    }
}

impl From<RecoveryStage> for RecoveryStageDto {
    fn from(stage: RecoveryStage) -> Self {
        match stage {
            RecoveryStage::Acknowledged => Self::Acknowledged,
            RecoveryStage::Requests => Self::Requests,
            RecoveryStage::ReadOnly => Self::ReadOnly,
            RecoveryStage::Calls => Self::Calls,
        }
    }
}

/// What became of one task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum HaltedTaskStateDto {
    /// Its server was asked to cancel it, or is about to be.
    Requested,
    /// The server acknowledged that.
    Acknowledged,
    /// The server said how it ended, or a person ended its process.
    Confirmed,
    /// Nobody knows whether it ended.
    NotConfirmed,
    /// It was not asked to cancel.
    Open,
}

impl From<HaltedTaskState> for HaltedTaskStateDto {
    fn from(state: HaltedTaskState) -> Self {
        match state {
            HaltedTaskState::Requested => Self::Requested,
            HaltedTaskState::Acknowledged => Self::Acknowledged,
            HaltedTaskState::Confirmed => Self::Confirmed,
            HaltedTaskState::NotConfirmed => Self::NotConfirmed,
            HaltedTaskState::Open => Self::Open,
        }
    }
}

/// A tool of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ToolOfServer {
    pub server: String,
    pub tool: String,
}

/// One order to stop. Without a server and an agent it applies to everything.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct HaltOrderDto {
    pub server: Option<String>,
    pub agent: Option<String>,
    /// Only this tool of the server.
    pub tool: Option<String>,
    /// What it did when it was given.
    pub scope: Vec<HaltEffectDto>,
    /// What of it is in force.
    pub in_force: Vec<HaltEffectDto>,
    pub at: String,
    /// Null for the file `HALT`, which any program can make; `control:ctl_…` for a supervisor program.
    pub by: Option<String>,
    /// The name of that program's control token; left out for a person.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[ts(optional)]
    pub by_name: Option<String>,
    pub reason: String,
}

/// One stage that was reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RecoveryStepDto {
    pub stage: RecoveryStageDto,
    pub at: String,
    pub by: String,
}

/// One task that the halt covers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct HaltedTaskDto {
    pub id: String,
    pub server: String,
    pub agent: Option<String>,
    pub tool: Option<String>,
    pub state: HaltedTaskStateDto,
    /// The task's phase, and why its cancel was refused where it was.
    pub evidence: String,
    #[ts(type = "Phase")]
    pub phase: Word<Phase>,
    /// When somebody asked to cancel it; null when nobody did.
    pub asked_at: Option<String>,
    /// When the server acknowledged that.
    pub acknowledged_at: Option<String>,
    /// Why the server refused it, in its words.
    pub refused: Option<String>,
    /// When the task ended, where its server said so.
    pub ended_at: Option<String>,
    /// It has a result that its agent does not get.
    pub held: bool,
}

/// How many tasks are in which state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct HaltedTaskCounts {
    pub requested: u64,
    pub acknowledged: u64,
    pub confirmed: u64,
    pub not_confirmed: u64,
    pub open: u64,
    /// Those of `notConfirmed` of which nothing more can be learnt, because contact with them ended.
    pub beyond_reach: u64,
}

impl HaltedTaskCounts {
    pub(crate) const fn add(&mut self, state: HaltedTaskState, phase: Phase) {
        match state {
            HaltedTaskState::Requested => self.requested += 1,
            HaltedTaskState::Acknowledged => self.acknowledged += 1,
            HaltedTaskState::Confirmed => self.confirmed += 1,
            HaltedTaskState::NotConfirmed => self.not_confirmed += 1,
            HaltedTaskState::Open => self.open += 1,
        }
        if state.is_beyond_reach(phase) {
            self.beyond_reach += 1;
        }
    }

    /// How many tasks are not known to have ended.
    #[must_use]
    pub const fn unsettled(&self) -> u64 {
        self.requested + self.acknowledged + self.not_confirmed + self.open
    }

    /// How many tasks may still run, and of how many of them nothing more can be learnt: a sentence without a full stop.
    /// `None` when all are known to have ended.
    #[must_use]
    pub fn unsettled_words(&self) -> Option<String> {
        let (lost, may_run) = (self.beyond_reach, self.unsettled().saturating_sub(self.beyond_reach));
        let (runs, does, them) = if lost == 1 { ("runs", "does", "it") } else { ("run", "do", "them") };
        let tasks = |many: u64| if many == 1 { "1 task".to_owned() } else { format!("{many} tasks") };
        let (may, lost_tasks) = (tasks(may_run), tasks(lost));
        let contact = format!("cannot be known, because contact with {them} ended");
        match (may_run, lost) {
            (0, 0) => None,
            (_, 0) => Some(format!("{may} may still run")),
            (0, _) => Some(format!("whether {lost_tasks} still {runs} {contact}")),
            (_, _) => Some(format!("{may} may still run, and whether {lost_tasks} {does} {contact}")),
        }
    }
}

/// A halt with all of its orders.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct HaltDto {
    pub id: String,
    pub at: String,
    /// No call of the newest order began to leave after this; null while that is not known.
    pub closed_at: Option<String>,
    pub orders: Vec<HaltOrderDto>,
    pub steps: Vec<RecoveryStepDto>,
    /// The stage that comes next.
    pub next_stage: Option<RecoveryStageDto>,
    /// Tools whose calls pass at the stage `readOnly`.
    pub confirmed_tools: Vec<ToolOfServer>,
    pub counts: HaltedTaskCounts,
    /// The first of the tasks, those that may still run first.
    pub tasks: Vec<HaltedTaskDto>,
}

/// What is halted now.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct HaltShown {
    /// Null when nothing is halted.
    pub halt: Option<HaltDto>,
    /// Why the halts on record cannot be read; everything is halted then.
    pub unreadable: Option<String>,
}

impl HaltShown {
    /// Whether anything is halted.
    #[must_use]
    pub const fn is_in_force(&self) -> bool {
        self.halt.is_some() || self.unreadable.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_task_is_not_told_as_one_that_may_still_run() {
        let of = |tasks: &[(HaltedTaskState, Phase)]| {
            let mut counts = HaltedTaskCounts::default();
            tasks.iter().for_each(|(state, phase)| counts.add(*state, *phase));
            counts.unsettled_words()
        };
        let (lost, refused) =
            ((HaltedTaskState::NotConfirmed, Phase::Lost), (HaltedTaskState::NotConfirmed, Phase::Cancelling));
        let (ended, asked) =
            ((HaltedTaskState::Confirmed, Phase::Cancelled), (HaltedTaskState::Requested, Phase::Cancelling));
        assert_eq!(of(&[ended]), None, "all are known to have ended");
        assert_eq!(of(&[ended, asked, refused]).as_deref(), Some("2 tasks may still run"));
        assert_eq!(
            of(&[ended, lost]).as_deref(),
            Some("whether 1 task still runs cannot be known, because contact with it ended")
        );
        assert_eq!(
            of(&[asked, lost, lost]).as_deref(),
            Some("1 task may still run, and whether 2 tasks do cannot be known, because contact with them ended")
        );
    }
}
