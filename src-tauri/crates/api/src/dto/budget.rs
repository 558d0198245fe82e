//! Windows, spend, waste and limits, as JSON shows them.
//!
//! Every token figure comes with its tokenizer family and its exactness. `tokens` is what is in the model's window, by the
//! profile of its program; `passed` is what was passed to the program (decision 0022). Figures are defined in `domain` and
//! converted in `from_domain.rs`.

pub(crate) mod from_domain;
pub mod price;
pub mod spend;

use domain::task::status::Phase;
use domain::tokens::Family;
use serde::{Deserialize, Deserializer, Serialize};
use ts_rs::TS;

use super::agent::program::{ProgramChoice, ProgramDto};
use super::words::Word;

/// How exact a figure is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum ExactnessDto {
    /// Counted with the tokenizer itself, or reported: no mark.
    Exact,
    /// An estimate with a measured error: `≈`.
    About,
    /// An upper bound: `≤`.
    AtMost,
}

/// What a token came from; the order of lists and bars.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum SourceDto {
    /// Definitions of servers' tools.
    Tools,
    /// Definitions of the gateway's own tools.
    OwnTools,
    /// Names and arguments of calls.
    Arguments,
    /// Results and errors.
    Results,
    /// Handles, looks at tasks and their messages.
    Handles,
    /// Prompts and resources.
    Prompts,
}

/// One source of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SourcePart {
    pub source: SourceDto,
    /// Tokens in the window.
    pub tokens: u64,
    pub exactness: ExactnessDto,
    /// Tokens that were passed to the program.
    pub passed: u64,
}

/// In which tokens an agent is counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct FamilyDto {
    /// Its word: `o200k`, `cl100k`, `claude3`, `claude47`, `gemini`, `llama`, `unknown`.
    #[ts(type = "string")]
    pub id: Word<Family>,
    /// For people: `GPT o200k`.
    pub label: String,
    /// How exact its counts of text are.
    pub exactness: ExactnessDto,
    /// The measured error of an estimate, in percent either way; 0 where it is exact or a bound.
    pub error_percent: u8,
}

/// How the size of a window is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum SizeFromDto {
    /// A person set it.
    Set,
    /// From the model that a person set.
    Model,
    /// From the client's name.
    Client,
}

/// Something that is about to come into a window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(rename = "ComingDto")]
pub struct PendingResultDto {
    /// The task, `hdl_…`.
    pub id: String,
    pub server: String,
    pub tool: Option<String>,
    /// Tokens; null while nothing is known.
    pub tokens: Option<u64>,
    pub exactness: ExactnessDto,
    /// What keeps it.
    pub state: PendingStateDto,
    /// The phase of an open task, as lists of tasks show it; null when its result is here.
    #[ts(type = "Phase | null")]
    pub phase: Option<Word<Phase>>,
    /// How far the task is, in percent, while it works and says so.
    pub percent: Option<u8>,
}

/// Why something is not in the window yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(rename = "ComingState")]
pub enum PendingStateDto {
    /// A person decides.
    Held,
    /// The agent reads it in slices.
    Slices,
    /// The task is open, in its `phase`; `tokens` is what this tool usually brings, at most.
    Working,
    /// It comes with the agent's next look.
    Ready,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct WindowDto {
    pub id: String,
    /// Since when it fills.
    pub began_at: String,
    /// When something last came in.
    pub last_at: String,
    /// When it was emptied; null while it fills.
    pub ended_at: Option<String>,
    /// What stands in it, if nothing was taken out since it began. More than its size means that it was full, see
    /// `fullTimes`.
    pub tokens: u64,
    pub exactness: ExactnessDto,
    /// What was passed to the program since it began.
    pub passed: u64,
    pub passed_exactness: ExactnessDto,
    /// How often it was full since it began, at least: a window cannot hold more than its size, so its program compacted
    /// it, or it is another conversation. 0 while it never was, or where its size is not known.
    pub full_times: u64,
    /// By source, all of them, in order.
    pub sources: Vec<SourcePart>,
    /// What tasks kept out of it.
    pub kept_out: u64,
    pub kept_out_exactness: ExactnessDto,
}

/// The budget of one agent, as lists show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct BudgetDto {
    /// The agent's name.
    pub agent: String,
    pub agent_id: String,
    /// In which tokens.
    pub family: FamilyDto,
    /// Its program, whose profile says what of all that stands in the window.
    pub program: ProgramDto,
    /// Size of the window, in tokens; null when nothing says it.
    pub window_tokens: Option<u64>,
    /// How that is known.
    pub window_from: Option<SizeFromDto>,
    /// The model that a person set.
    pub model: Option<String>,
    /// Its maker and full name, such as `Anthropic Claude Opus 4.7`; null where no model is set.
    pub model_label: Option<String>,
    /// The window that something last came into; null before anything was seen.
    pub now: Option<WindowDto>,
    /// Windows of conversations beside it.
    pub beside: Vec<WindowDto>,
    /// Tokens a minute that come into the window, over the last minutes; 0 when nothing does or no rate is known.
    pub burn_per_minute: u64,
    /// Something came in lately, but less than three minutes or five messages: that is no rate yet.
    pub burn_too_early: bool,
    /// How long until it is full at that burn, or at its limit where that is lower, in milliseconds; null when never, not
    /// known, or when it was full already.
    pub full_in_ms: Option<u64>,
    /// What is about to come in, the largest first.
    pub coming: Vec<PendingResultDto>,
    /// The limit of its window, where a rule sets one.
    pub limit: Option<LimitDto>,
}

/// What happens at a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum AtLimitDto {
    /// People are told.
    Warn,
    /// A person decides.
    Ask,
    /// The result is held and given in slices.
    Hold,
    /// The task is asked to stop.
    Stop,
}

/// A limit of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LimitDto {
    /// So many are allowed.
    pub tokens: u64,
    /// What happens with more.
    pub at: AtLimitDto,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct BudgetList {
    /// Agents with access, those nearest to their limit first; those without a window last.
    pub budgets: Vec<BudgetDto>,
    /// Agents beyond those that are given.
    pub more: u64,
    /// Share of a window, in percent, from which people are told that it fills.
    pub warn_percent: u32,
    /// Share from which it is nearly full.
    pub full_percent: u32,
    /// A held result is read in slices of so many tokens at most, counted with the error of an estimate on top.
    pub slice_tokens: u64,
}

/// A tool and what its definition costs each window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ToolCost {
    /// As the agent knows it.
    pub tool: String,
    /// Tokens in the window.
    pub tokens: u64,
    pub exactness: ExactnessDto,
    /// Tokens that were passed to the program.
    pub passed: u64,
}

/// The budget of one agent, whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct BudgetShown {
    /// As in lists.
    pub budget: BudgetDto,
    /// What each tool's definition costs, the most costly first.
    pub tools: Vec<ToolCost>,
    /// Windows that were emptied, the newest first.
    pub earlier: Vec<WindowDto>,
    /// What it spent today, by source.
    pub spent_today: Vec<SourcePart>,
    /// What tasks kept out today.
    pub kept_out_today: u64,
    pub kept_out_exactness: ExactnessDto,
    /// What it wasted today, by server.
    pub waste: Vec<WasteDto>,
}

/// An agent whose budget is wanted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OneAgent {
    /// Its name or id.
    pub agent: String,
}

/// How an agent is counted. What is left out stays; null takes it back to what is known of its client.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SetBudget {
    /// The agent's name or id.
    pub agent: String,
    /// The model, such as `claude-opus-4-7`.
    #[serde(default, deserialize_with = "said", skip_serializing_if = "Option::is_none")]
    #[ts(optional, type = "string | null")]
    pub model: Option<Option<String>>,
    /// The family, by its word.
    #[serde(default, deserialize_with = "said", skip_serializing_if = "Option::is_none")]
    #[ts(optional, type = "string | null")]
    pub family: Option<Option<String>>,
    /// The size of its window, in tokens.
    #[serde(default, deserialize_with = "said", skip_serializing_if = "Option::is_none")]
    #[ts(optional, type = "number | null")]
    pub window_tokens: Option<Option<u64>>,
    /// The program that the agent is, by its word such as `codex`; see `budgets.choices`.
    #[serde(default, deserialize_with = "said", skip_serializing_if = "Option::is_none")]
    #[ts(optional, type = "string | null")]
    pub program: Option<Option<String>>,
}

/// What was said, also when it is null: what is left out is another thing.
fn said<'de, T: Deserialize<'de>, D: Deserializer<'de>>(from: D) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(from).map(Some)
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ShowSeries {
    /// Of this agent, by name or id; of all when left out.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub agent: Option<String>,
    /// How far back, in milliseconds; the point in which that time began is there whole.
    pub span_ms: u64,
    /// How long one point is, in milliseconds: a whole number of hours.
    pub step_ms: u64,
}

/// One point of a series.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SeriesPoint {
    /// When it begins.
    pub at: String,
    /// Tokens that came in, by source, all of them, in order.
    pub sources: Vec<SourcePart>,
    /// What tasks kept out.
    pub kept_out: u64,
    pub messages: u64,
}

/// What flowed over time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SeriesDto {
    /// Points, the oldest first, without gaps.
    pub points: Vec<SeriesPoint>,
    /// How long one is.
    pub step_ms: u64,
    /// The least exact of the figures.
    pub exactness: ExactnessDto,
    /// The families they were counted in, by their words: sums over several are what was spent, not comparable sizes.
    pub families: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ShowWaste {
    /// How far back, in milliseconds.
    pub span_ms: u64,
    /// Of this agent, by name or id; of all when left out.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub agent: Option<String>,
}

/// What a server cost that brought nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct WasteDto {
    /// The server's id, `srv_…`: one that was removed and added again is two, of one name.
    pub server_id: String,
    /// The server's name.
    pub server: String,
    /// Looks of agents at its tasks.
    pub looks: u64,
    /// Those that brought nothing new.
    pub empty: u64,
    /// Those that came sooner than the interval.
    pub hasty: u64,
    /// Questions that waited too long.
    pub stalled: u64,
    /// Tasks that it lost before their time.
    pub lost: u64,
    /// Results that nobody read.
    pub unread: u64,
    /// Tasks and calls that it is known to have finished after it was asked to cancel them.
    pub disobeyed: u64,
    /// Tokens of all that.
    pub tokens: u64,
    pub exactness: ExactnessDto,
    /// What to do about the worst of it, in a sentence; null when there is nothing to do.
    pub advice: Option<String>,
}

/// Waste by server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct WasteList {
    /// The worst first; servers without any are left out.
    pub servers: Vec<WasteDto>,
}

/// What a task costs its agent's window, and keeps out of it (ruling 20).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct TokensDto {
    /// Its handle and all looks at it.
    pub handle: u64,
    /// What is not in the window so far: output on the way, and the unread part of the result, which may still come in.
    pub kept_out: u64,
    /// Its result, as it is passed when it is read whole; null while there is none.
    pub result: Option<u64>,
    /// What of that result would stand in the window, by the profile of the agent's program; null while there is none.
    pub in_window: Option<u64>,
    pub in_window_exactness: ExactnessDto,
    /// What of the result was passed to the program.
    pub delivered: u64,
    /// The call's name and arguments.
    pub arguments: u64,
    /// The family's word.
    #[ts(type = "string")]
    pub family: Word<Family>,
    /// The least exact of the figures.
    pub exactness: ExactnessDto,
}

/// A task said and brought more than it may.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct OverLimitDto {
    /// Tokens, when it was noticed.
    pub tokens: u64,
    /// The limit that it went past, and what happens at it.
    pub limit: LimitDto,
    /// When it was noticed.
    pub at: String,
    /// Who let it go on; null while nobody did.
    pub settled_by: Option<String>,
}

/// A model whose window is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ModelDto {
    pub name: String,
    /// Its maker and full name.
    pub label: String,
    /// Its family's word.
    #[ts(type = "string")]
    pub family: Word<Family>,
    /// The size of its window, in tokens.
    pub window_tokens: u64,
    /// Where the size stands.
    pub source: String,
}

/// What can be set for an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct BudgetChoices {
    /// Families of tokenizers.
    pub families: Vec<FamilyDto>,
    pub models: Vec<ModelDto>,
    /// Agent programs whose behaviour is known.
    pub programs: Vec<ProgramChoice>,
}
