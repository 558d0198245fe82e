//! What the task list asks for and how it is grouped, in the window's words.
//!
//! Servers are named, not identified; `calls/tasks/list_query.rs` translates. Counting is the registry's.

use domain::ports::{HiddenTasks, TaskFlag};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// Which tasks a list shows; an empty list is no condition.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ListQuery {
    /// In any of these phases.
    #[ts(type = "Array<Phase>")]
    pub phases: Vec<String>,
    /// On any of these servers, by name.
    pub servers: Vec<String>,
    /// Of any of these agents, by name or id.
    pub agents: Vec<String>,
    /// With all of these flags.
    pub flags: Vec<TaskFlagDto>,
    /// Any of these tools.
    pub tools: Vec<String>,
    /// In the id, tool, server or agent name, or in what the task says; case does not matter.
    pub text: Option<String>,
    /// Changed within this time.
    pub changed_within_ms: Option<u64>,
    /// Created longer ago than this.
    pub older_than_ms: Option<u64>,
    /// By what it is divided.
    pub group_by: Grouping,
    /// Which come first.
    pub sort: Sorting,
    /// By a column: the last value first.
    #[ts(optional, as = "Option<bool>")]
    pub reversed: bool,
}

/// What is said of a task beside its phase (ruling 3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(rename = "Flag")]
pub enum TaskFlagDto {
    /// Its agent is gone.
    Orphaned,
    /// Its result is there and waits for a person.
    Held,
    /// A person has to act on it.
    NeedsYou,
    /// A person hid it: a list has hidden tasks only where it asks for them.
    Hidden,
}

impl TaskFlagDto {
    /// The registry's word; `None` for hidden tasks, which are no flag of a task ([`HiddenTasks`]).
    pub(crate) const fn flag(self) -> Option<TaskFlag> {
        match self {
            Self::Orphaned => Some(TaskFlag::Orphaned),
            Self::Held => Some(TaskFlag::Held),
            Self::NeedsYou => Some(TaskFlag::NeedsYou),
            Self::Hidden => None,
        }
    }
}

impl ListQuery {
    /// Whether hidden tasks are in the list.
    pub(crate) fn hidden(&self) -> HiddenTasks {
        if self.flags.contains(&TaskFlagDto::Hidden) { HiddenTasks::Only } else { HiddenTasks::LeftOut }
    }
}

/// By what a list is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum Grouping {
    /// By who has to act.
    #[default]
    Need,
    Server,
    Agent,
    /// Not at all.
    None,
}

/// Which tasks come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum Sorting {
    #[default]
    Newest,
    Oldest,
    Changed,
    /// By a column; equal ones newest first, those without a value last.
    Phase,
    Task,
    Server,
    Agent,
}

/// A group of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ListGroup {
    /// Its word or name; empty for tasks of nobody.
    pub group: String,
    pub count: u64,
}

/// Whether a number is left out.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
const fn is_none(tasks: &u64) -> bool {
    *tasks == 0
}

/// How a list is divided.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ListView {
    /// Tasks in all groups together.
    pub total: u64,
    /// Tasks that there are and that nobody hid, whatever the query; counted at the same moment.
    #[serde(default)]
    pub all: u64,
    /// Tasks that match and that a person hid; left out where there are none.
    #[serde(default, skip_serializing_if = "is_none")]
    #[ts(optional, as = "Option<u64>")]
    pub hidden: u64,
    /// Groups that are not empty.
    pub groups: Vec<ListGroup>,
    /// How far a text was searched in what tasks say; null without a text, and without a running core.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[ts(optional, as = "Option<TextReachDto>")]
    pub text: Option<TextReachDto>,
}

/// How far the search in messages, arguments and results reaches; it is done in memory (ruling 49).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(rename = "TextReach")]
pub struct TextReachDto {
    /// What older tasks say is not searched; null when all is.
    pub back_to: Option<String>,
    /// Whether more is being read.
    pub reading: bool,
    /// More tasks say it than are shown.
    pub more: bool,
}
