//! Models by name: tokenizer family and size of the window, each with its source.
//!
//! A table for defaults: whoever runs an agent can set both (`crate::budget::window::CountingSettings`). Sizes are
//! meant to be those that the maker documents for the model without paid extensions; where that was not read there, the
//! source says so.

use crate::budget::window::CountingSettings;
use crate::client::profile::{self, ClientProfile};
use crate::tokens::{Family, family_of_client};

/// One line of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Model {
    /// Its name, as makers write it in their interfaces; a name with more behind it is the same model.
    pub name: &'static str,
    pub family: Family,
    /// Tokens of its window.
    pub window: u64,
    /// Where the size was read.
    pub source: &'static str,
}

/// How the size of a window is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SizeFrom {
    /// A person set it.
    Set,
    /// From the model that a person set.
    Model,
    /// From the client's name: what its maker ships by default.
    Client,
}

/// Who says which program an agent is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramFrom {
    /// A person: figures by its profile hold limits.
    Set,
    /// The program itself, by the name in `clientInfo`: good for figures to show, never to get past a limit.
    Client,
    Nobody,
}

/// How an agent's tokens are counted, resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CountingMethod {
    pub family: Family,
    /// The size of the window and how it is known; `None` when nothing says it.
    pub window: Option<(u64, SizeFrom)>,
    /// What its program does with results and tool definitions.
    pub profile: &'static ClientProfile,
    /// Who says that it is this program.
    pub program_from: ProgramFrom,
}

impl CountingMethod {
    /// Whether a person said which program it is, so that limits may count by its profile.
    #[must_use]
    pub fn is_confirmed(&self) -> bool {
        self.program_from == ProgramFrom::Set
    }
}

/// The window of Gemini and of some others: makers count it in binary millions.
const MEBI: u64 = 1_048_576;
/// The window of early models: makers count it in binary thousands.
const EIGHT_KIBI: u64 = 8_192;

/// The table, as it was read on 2026-11-21. The first line whose name begins the asked one counts, so longer names
/// stand first; the last line of a maker takes what is not named. Tokenizer families of Claude are distinguished by
/// generation: up to 4.6, and later.
pub const MODELS: &[Model] = &[
    line("claude-fable", Family::Claude47, 1_000_000, CLAUDE),
    line("claude-opus-5", Family::Claude47, 1_000_000, CLAUDE),
    line("claude-opus-4-8", Family::Claude47, 1_000_000, NOT_READ),
    line("claude-opus-4-7", Family::Claude47, 1_000_000, NOT_READ),
    line("claude-opus-4-6", Family::Claude3, 1_000_000, NOT_READ),
    line("claude-opus-4", Family::Claude3, 200_000, NOT_READ),
    line("claude-sonnet-5", Family::Claude47, 1_000_000, CLAUDE),
    line("claude-sonnet-4-6", Family::Claude3, 1_000_000, NOT_READ),
    line("claude-sonnet-4", Family::Claude3, 200_000, NOT_READ),
    line("claude-haiku-4-5", Family::Claude3, 200_000, CLAUDE),
    line("claude-3", Family::Claude3, 200_000, NOT_READ),
    line("claude-", Family::Claude47, 200_000, CLAUDE_CODE),
    line("gpt-6", Family::O200k, 1_050_000, GPT),
    line("gpt-5.6", Family::O200k, 1_050_000, SECOND_HAND),
    line("gpt-5.5", Family::O200k, 1_050_000, SECOND_HAND),
    line("gpt-5.4-mini", Family::O200k, 400_000, SECOND_HAND),
    line("gpt-5.4-nano", Family::O200k, 400_000, SECOND_HAND),
    line("gpt-5.4", Family::O200k, 1_050_000, SECOND_HAND),
    line("gpt-5.3-codex-spark", Family::O200k, 128_000, SECOND_HAND),
    line("gpt-5", Family::O200k, 400_000, SECOND_HAND),
    line("gpt-oss", Family::O200k, 131_072, NOT_READ),
    line("gpt-4.1", Family::O200k, 1_047_576, NOT_READ),
    line("gpt-4o", Family::O200k, 128_000, NOT_READ),
    line("gpt-4.5", Family::O200k, 128_000, NOT_READ),
    line("gpt-4-turbo", Family::Cl100k, 128_000, NOT_READ),
    line("gpt-4-1106", Family::Cl100k, 128_000, NOT_READ),
    line("gpt-4-0125", Family::Cl100k, 128_000, NOT_READ),
    line("gpt-4-vision", Family::Cl100k, 128_000, NOT_READ),
    line("gpt-4-32k", Family::Cl100k, 4 * EIGHT_KIBI, NOT_READ),
    line("gpt-4", Family::Cl100k, EIGHT_KIBI, NOT_READ),
    line("gpt-3.5-turbo", Family::Cl100k, 16_385, NOT_READ),
    line("gpt-", Family::O200k, 272_000, CODEX),
    line("o4-mini", Family::O200k, 200_000, NOT_READ),
    line("o3", Family::O200k, 200_000, NOT_READ),
    line("o1", Family::O200k, 200_000, NOT_READ),
    line("gemini-3", Family::Gemini, MEBI, GEMINI),
    line("gemini-2", Family::Gemini, MEBI, NOT_READ),
    line("gemini-", Family::Gemini, MEBI, NOT_READ),
    line("llama-4-scout", Family::Llama, 10 * MEBI, NOT_READ),
    line("llama-4-maverick", Family::Llama, MEBI, NOT_READ),
    line("llama-4", Family::Llama, MEBI, NOT_READ),
    line("llama-3.3", Family::Llama, 131_072, NOT_READ),
    line("llama-3.2", Family::Llama, 131_072, NOT_READ),
    line("llama-3.1", Family::Llama, 131_072, NOT_READ),
    line("llama-3", Family::Llama, EIGHT_KIBI, NOT_READ),
];

const CLAUDE: &str = "Claude docs, Models overview, 2026-11";
const CLAUDE_CODE: &str = "Claude Code docs, Model configuration (window without the long-context setting), 2026-11";
const GPT: &str = "OpenAI API docs, Models, 2026-11";
const CODEX: &str = "Codex CLI release notes 0.144.6 (context window of its models), 2026-07";
const GEMINI: &str = "Gemini API docs, Gemini models (input token limit), 2026-11";
/// Pages of others that quote the maker.
const SECOND_HAND: &str = "pages of others about OpenAI's models, 2026-11; not read at OpenAI";
/// What is generally said of a model. To be read at its maker's before anybody relies on it.
const NOT_READ: &str = "as generally known; not read at the maker's";

const fn line(name: &'static str, family: Family, window: u64, source: &'static str) -> Model {
    Model { name, family, window, source }
}

/// The model of this name.
#[must_use]
pub fn model(name: &str) -> Option<&'static Model> {
    let name = name.to_ascii_lowercase();
    MODELS.iter().find(|model| name.starts_with(model.name))
}

/// The window that a family's own clients work with when nobody set a model. The smaller one where plans differ: a
/// gauge that is full too early is seen, one that is never full is not.
const fn usual_window(family: Family) -> Option<u64> {
    match family {
        Family::Claude3 | Family::Claude47 => Some(200_000),
        Family::O200k => Some(272_000),
        Family::Cl100k => Some(128_000),
        Family::Gemini => Some(MEBI),
        Family::Llama => Some(131_072),
        Family::Unknown => None,
    }
}

/// How an agent is measured: by what a person set, else most cautiously. The name that its client gives itself is for
/// display: it says how large the window probably is and what of a result the model probably sees, and never how tokens
/// are counted, because limits are held by that and an agent chooses the name (decision 0022).
#[must_use]
pub fn counting_method(meter: &CountingSettings, client: Option<&str>) -> CountingMethod {
    let set = meter.model.as_deref().and_then(model);
    let program = meter.program.as_deref().and_then(profile::of_word);
    let profile = program.unwrap_or_else(|| profile::of_client(client));
    let program_from = match program {
        Some(_) => ProgramFrom::Set,
        None if *profile == profile::UNKNOWN => ProgramFrom::Nobody,
        None => ProgramFrom::Client,
    };
    let by_program = program.and_then(|profile| family_of_client(profile.word));
    let by_client = match program {
        Some(_) => by_program,
        None => client.and_then(family_of_client),
    };
    let by_person = meter.family.or(set.map(|model| model.family)).or(by_program);
    let family = by_person.unwrap_or(Family::Unknown);
    let window = (meter.window.map(|size| (size, SizeFrom::Set)))
        .or(set.map(|model| (model.window, SizeFrom::Model)))
        .or_else(|| by_client.and_then(usual_window).map(|size| (size, SizeFrom::Client)));
    CountingMethod { family, window, profile, program_from }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn meter(model: &str) -> CountingSettings {
        CountingSettings { model: Some(Arc::from(model)), ..CountingSettings::default() }
    }

    #[test]
    fn every_line_of_the_table_can_be_reached_and_has_a_source() {
        for line in MODELS {
            assert_eq!(model(line.name), Some(line), "`{}` stands behind a shorter name", line.name);
            assert!(line.window > 0 && !line.source.is_empty(), "`{}`", line.name);
            assert_eq!(line.name, line.name.to_ascii_lowercase(), "names are asked in lower case");
        }
    }

    #[test]
    fn a_model_is_known_with_its_date_and_in_any_case() {
        let of = |name| model(name).map(|model| (model.family, model.window));
        assert_eq!(of("claude-sonnet-4-5-20250929"), Some((Family::Claude3, 200_000)));
        assert_eq!(of("Claude-Opus-4-8"), Some((Family::Claude47, 1_000_000)));
        assert_eq!(of("gpt-5.4-mini-2026-03-17"), Some((Family::O200k, 400_000)));
        assert_eq!(of("gpt-4-0613"), Some((Family::Cl100k, EIGHT_KIBI)));
        assert_eq!(of("gpt-4-32k-0613"), Some((Family::Cl100k, 32_768)));
        assert_eq!(of("gpt-4-1106-preview"), Some((Family::Cl100k, 128_000)));
        assert_eq!(of("gpt-4-0125-preview"), Some((Family::Cl100k, 128_000)));
        assert_eq!(of("gpt-4.5-preview"), Some((Family::O200k, 128_000)));
        assert_eq!(of("mistral-large"), None);
    }

    #[test]
    fn what_a_person_set_counts_and_the_name_of_a_client_only_says_how_large_its_window_is() {
        for claimed in ["claude-code", "codex", "gemini-cli"] {
            let by_client = counting_method(&CountingSettings::default(), Some(claimed));
            assert_eq!(by_client.family, Family::Unknown, "`{claimed}` does not choose how its limits are counted");
        }
        let by_client = counting_method(&CountingSettings::default(), Some("claude-code"));
        assert_eq!(by_client.window, Some((200_000, SizeFrom::Client)), "the usual window of a Claude client");
        let by_model = counting_method(&meter("gemini-3-flash-preview"), Some("claude-code"));
        assert_eq!((by_model.family, by_model.window), (Family::Gemini, Some((MEBI, SizeFrom::Model))));
        let set = CountingSettings { family: Some(Family::Llama), window: Some(9_000), ..meter("gpt-4o") };
        let set = counting_method(&set, None);
        assert_eq!((set.family, set.window), (Family::Llama, Some((9_000, SizeFrom::Set))));
        let other = counting_method(&CountingSettings::default(), Some("zed"));
        assert_eq!((other.family, other.window, other.program_from), (Family::Unknown, None, ProgramFrom::Nobody));
    }

    #[test]
    fn a_family_that_a_person_set_keeps_the_window_of_the_client() {
        let set = CountingSettings { family: Some(Family::O200k), ..CountingSettings::default() };
        let measured = counting_method(&set, Some("claude-code"));
        assert_eq!(measured.family, Family::O200k);
        assert_eq!(measured.window, Some((200_000, SizeFrom::Client)), "the client's program still has its window");
    }

    #[test]
    fn a_program_that_a_person_set_wins_over_the_name_it_gives_itself_and_says_the_usual_model() {
        let set = CountingSettings { program: Some("codex".into()), ..CountingSettings::default() };
        let measured = counting_method(&set, Some("claude-code"));
        assert_eq!((measured.profile.word, measured.is_confirmed()), ("codex", true));
        assert_eq!((measured.family, measured.window), (Family::O200k, Some((272_000, SizeFrom::Client))));
        let claimed = counting_method(&CountingSettings::default(), Some("codex-mcp-client"));
        assert_eq!((claimed.profile.word, claimed.program_from), ("codex", ProgramFrom::Client));
        assert!(!claimed.is_confirmed(), "an agent chooses the name that it gives itself");
        let model = CountingSettings { model: Some("claude-opus-4-7".into()), ..set };
        assert_eq!(counting_method(&model, None).family, Family::Claude47, "a model that a person set says more");
    }
}
