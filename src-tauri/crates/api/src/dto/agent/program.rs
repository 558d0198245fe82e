//! The program of an agent, and what is known of it, as JSON shows it.
//!
//! One to one from `domain::client::profile`; what follows from it for figures and limits is decision 0022.

use domain::budget::models::{CountingMethod, ProgramFrom};
use domain::client::profile::{ClientProfile, LongResult, ShownPart};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// Who says which program an agent is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum ProgramFromDto {
    /// A person: limits count what is in the window by its profile.
    Set,
    /// The program itself, by its name: limits count the larger of both figures.
    Client,
    /// Nobody: what is passed counts.
    Nobody,
}

/// The part of a result that a program puts before its model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum ShownPartDto {
    /// Not known: both parts count.
    Both,
    /// The structured content where there is one, otherwise the text.
    StructuredFirst,
    /// The text only.
    Content,
}

/// What a program does with a long result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum LongResultDto {
    /// It cuts it.
    Cut,
    /// It writes it to a file and names that.
    File,
    /// Nothing is known.
    Whole,
}

/// What is known of the program of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ProgramDto {
    /// Its word, such as `codex`; `other` when it is not known.
    pub id: String,
    /// For people: `Codex`.
    pub label: String,
    /// Who says so.
    pub from: ProgramFromDto,
    /// The version that was measured; empty where none was.
    pub version: String,
    /// What of a result its model sees.
    pub shows: ShownPartDto,
    /// What it does with a result that is longer than `resultTokens`.
    pub long_result: LongResultDto,
    /// Tokens of one result that its model sees at most; null when no limit is known.
    pub result_tokens: Option<u64>,
    /// Percent of the stated tool definitions that stand in a request.
    pub tools_percent: u32,
    /// Whether it leaves tool definitions out until its model searches for them: only the program knows how many.
    pub tools_searched: bool,
    /// Whether results that it would cut are held and given in slices.
    pub holds_cut: bool,
}

/// An agent program that can be set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ProgramChoice {
    /// Its word: `claude-code`, `codex`, `gemini-cli`, `opencode` ….
    pub id: String,
    /// For people: `Claude Code`.
    pub label: String,
}

impl From<&ClientProfile> for ProgramChoice {
    fn from(profile: &ClientProfile) -> Self {
        Self { id: profile.word.into(), label: profile.label.into() }
    }
}

impl ProgramDto {
    /// What is known of the program of an agent that is measured so, and whether what it would cut is held.
    pub(crate) fn of(measure: &CountingMethod, holds_cut: bool) -> Self {
        let profile = measure.profile;
        let long_result = match profile.long_result {
            LongResult::Cut { .. } => LongResultDto::Cut,
            LongResult::File { .. } => LongResultDto::File,
            LongResult::Whole => LongResultDto::Whole,
        };
        Self {
            id: profile.word.into(),
            label: profile.label.into(),
            from: match measure.program_from {
                ProgramFrom::Set => ProgramFromDto::Set,
                ProgramFrom::Client => ProgramFromDto::Client,
                ProgramFrom::Nobody => ProgramFromDto::Nobody,
            },
            version: profile.version.into(),
            shows: match profile.shown {
                ShownPart::Both => ShownPartDto::Both,
                ShownPart::StructuredFirst => ShownPartDto::StructuredFirst,
                ShownPart::Content => ShownPartDto::Content,
            },
            long_result,
            result_tokens: profile.long_result.cap(),
            tools_percent: u32::from(profile.tool_list.percent),
            tools_searched: profile.tool_list.searched,
            holds_cut: holds_cut && profile.long_result.cap().is_some(),
        }
    }
}
