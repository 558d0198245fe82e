//! What a person keeps (saved views, snoozes, drafts), and how they want the window to behave.
//!
//! Settings are user data of the kind `setting`; a missing one has the default written here. What may be stored is checked in
//! `calls/user_data.rs`.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

use super::words::words;

words! {
    /// A kind of user data.
    UserDataKind {
        /// A saved view.
        View = "view",
        /// When a hidden inbox row comes back.
        Snooze = "snooze",
        /// A form half filled in.
        Draft = "draft",
        /// How the window behaves.
        Setting = "setting",
    }
}

/// A saved view, a snooze, a draft or the settings.
#[derive(Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(rename = "DeskItem")]
pub struct UserDataDto {
    /// `view`, `snooze`, `draft` or `setting`.
    #[ts(type = "string")]
    pub kind: UserDataKind,
    /// Names it among those of its kind.
    pub key: String,
    /// What it is.
    #[ts(type = "unknown")]
    pub value: Value,
    /// When it was put there.
    pub changed_at: String,
}

impl std::fmt::Debug for UserDataDto {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "DeskItemDto({} {})", self.kind, self.key)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum Theme {
    /// As the desktop has it.
    #[default]
    System,
    Light,
    Dark,
}

/// How the window and its notices behave.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct SettingsDto {
    pub theme: Theme,
    /// Tell when something waits for a person.
    pub notify_waiting: bool,
    /// Tell when something is wrong.
    pub notify_problem: bool,
    /// Tell when something is over.
    pub notify_finished: bool,
    /// Quiet from this time of the day, `22:00`, by the local clock.
    pub quiet_from: Option<String>,
    /// Quiet until this time of the day.
    pub quiet_to: Option<String>,
    /// No notices until then.
    pub paused_until: Option<String>,
    /// A key of the whole system opens the newest waiting item.
    pub global_shortcut: bool,
    /// Start with the session.
    pub autostart: bool,
    /// Closing the window keeps watching.
    pub close_to_tray: bool,
    /// After the window quits, an agent's bridge starts a core without a window; null until a person was asked once.
    pub keep_serving_agents: Option<bool>,
    /// Columns of the task list that are not shown.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<String>>")]
    pub hidden_task_columns: Vec<String>,
}

impl Default for SettingsDto {
    fn default() -> Self {
        Self {
            theme: Theme::System,
            notify_waiting: true,
            notify_problem: true,
            // Off: a person who started something looks for its end, and agents end many things a minute.
            notify_finished: false,
            quiet_from: None,
            quiet_to: None,
            paused_until: None,
            global_shortcut: false,
            autostart: false,
            close_to_tray: true,
            keep_serving_agents: None,
            hidden_task_columns: Vec::new(),
        }
    }
}
