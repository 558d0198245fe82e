//! What a person keeps at their desk, and how they want the window to behave.
//!
//! Settings are things at the desk of the kind `setting`; what is missing there is the default written here. Where
//! they lie is the registry's; what may be put there is `calls/desk.rs`.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

/// Something at the desk: a saved view, a snooze, a draft.
#[derive(Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(rename = "DeskItem")]
pub struct DeskItemDto {
    /// `view`, `snooze` or `draft`.
    pub kind: String,
    /// Names it among those of its kind.
    pub key: String,
    /// What it is.
    #[ts(type = "unknown")]
    pub value: Value,
    /// When it was put there.
    pub changed_at: String,
}

impl std::fmt::Debug for DeskItemDto {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "DeskItemDto({} {})", self.kind, self.key)
    }
}

/// Which colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum Theme {
    /// As the desktop has it.
    #[default]
    System,
    /// Light.
    Light,
    /// Dark.
    Dark,
}

/// How the window and its notices behave.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct SettingsDto {
    /// Which colours.
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
        }
    }
}
