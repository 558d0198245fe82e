//! Settings that a person pastes into an agent's program, as JSON shows them.
//!
//! They may hold the agent's token: they are shown once and kept nowhere. `format::program_settings` writes their text.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// Settings that can be pasted into an agent's program. They may hold the token: shown once, kept nowhere.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ReadySettings {
    /// JSON for programs that speak HTTP; null when no address is open.
    pub http: Option<String>,
    /// JSON for programs that start a command.
    pub stdio: String,
    /// A command line that adds it to Claude Code; null when no address is open. It holds the token, which the shell
    /// would keep in its history: people are shown `programs`.
    pub claude: Option<String>,
    /// The same for each program in the forms that it takes, those that were measured first.
    pub programs: Vec<ProgramSettings>,
}

/// Settings for one program.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ProgramSettings {
    /// Its word, such as `codex`; `other` for every program that has no line of its own.
    pub program: String,
    /// What people read.
    pub label: String,
    /// What to paste. One of them is enough.
    pub texts: Vec<SettingsText>,
    /// What to know about these settings, as sentences.
    pub notes: Vec<String>,
    /// The command that shows what the program makes of them; null when none is known.
    pub check: Option<String>,
}

/// One text to paste.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SettingsText {
    /// How the program reaches the gateway with it.
    pub transport: SettingsTransport,
    /// Where it is pasted.
    pub place: SettingsPlace,
    /// The file it belongs into; null for a command line, and where each program has its own.
    pub file: Option<String>,
    /// The text, whole and unchanged.
    pub text: String,
}

/// How a program reaches the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum SettingsTransport {
    /// The program speaks HTTP.
    Http,
    /// The program starts `taskwarden connect`.
    Stdio,
}

/// Where settings are pasted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum SettingsPlace {
    /// Into a terminal, as one line.
    Terminal,
    /// Into a file of settings.
    File,
}

impl std::fmt::Debug for ReadySettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ReadySettings(…)")
    }
}

impl std::fmt::Debug for ProgramSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ProgramSettings({}, …)", self.program)
    }
}

impl std::fmt::Debug for SettingsText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SettingsText({:?}, {:?}, …)", self.transport, self.place)
    }
}
