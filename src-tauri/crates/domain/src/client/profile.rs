//! What each agent program does with tools: how long it waits, what of a result its model sees, and what breaks it.
//!
//! One table, with the measured version and the source of each row. A program names itself in `clientInfo.name`, or a
//! person names it for an agent. Unmatched programs get [`UNKNOWN`], the careful profile. The documentation page
//! `agents.md` shows the table to people.

use std::time::Duration;

use crate::policy::MINUTE;
use crate::tokens::{Count, Exactness};

/// How long a program waits for the answer to a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallTimeout {
    /// It gives a call up after this.
    pub after: Duration,
    /// Whether a progress notification starts the time anew.
    pub progress_resets: bool,
}

impl CallTimeout {
    const fn fixed(after: Duration) -> Self {
        Self { after, progress_resets: false }
    }

    const fn without_progress(after: Duration) -> Self {
        Self { after, progress_resets: true }
    }
}

/// What a program shows people of the progress of a call that it waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShownProgress {
    /// The notification's `message` beside the tool, and a percentage where it has a `total`.
    MessageAndPercent,
    /// Nothing. Whether progress resets its timeout is another question.
    Nothing,
    Unknown,
}

/// Which part of a tool result a program puts before its model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShownPart {
    /// `content` and `structuredContent`.
    Both,
    /// `structuredContent` where there is one, otherwise `content`.
    StructuredFirst,
    Content,
}

/// What a program does with a result that is longer than it lets its model see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LongResult {
    /// It cuts the result after so many characters, which are more tokens of figures than of prose.
    Cut {
        /// Tokens up to which the model sees all of a result, whatever is in it: prose, at 4.8 characters a token.
        above: u64,
        /// Tokens that the model sees of a longer one at most: figures, at 2.5 characters a token.
        shown: u64,
    },
    /// It writes a result above `above` tokens to a file; the model sees `shown` tokens that name the file.
    File {
        /// Tokens up to which the model sees all of a result.
        above: u64,
        /// Tokens that the model sees of a longer one.
        shown: u64,
    },
    /// It is not known that it does anything.
    Whole,
}

impl LongResult {
    /// Tokens up to which the model sees all of a result; `None` when no limit is known.
    #[must_use]
    pub const fn cap(self) -> Option<u64> {
        match self {
            Self::Cut { above, .. } | Self::File { above, .. } => Some(above),
            Self::Whole => None,
        }
    }

    /// Tokens that the model sees of a result that has `tokens`.
    #[must_use]
    pub fn shown_of(self, tokens: u64) -> u64 {
        match self {
            Self::Cut { shown, .. } => tokens.min(shown),
            Self::File { above, shown } if tokens > above => shown,
            Self::File { .. } | Self::Whole => tokens,
        }
    }

    /// Tokens that the model sees at most of a result that has between `least` and `most`.
    #[must_use]
    pub fn shown_at_most(self, least: u64, most: u64) -> u64 {
        match self {
            Self::Cut { shown, .. } => most.min(shown),
            Self::File { above, shown } if least > above => shown,
            Self::File { above, .. } => most.min(above),
            Self::Whole => most,
        }
    }
}

/// What of the tool definitions is in a request to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ToolListCost {
    /// Percent of the stated definitions that are in a request: below 100 the program drops parts of them, above it
    /// adds its own.
    pub percent: u16,
    /// Whether the program leaves definitions out until the model searches for them. Then fewer are in a request than
    /// `percent` says, and only the program knows how many.
    pub searched: bool,
}

impl ToolListCost {
    /// All of the stated definitions are in a request.
    pub const STATED: Self = Self { percent: 100, searched: false };

    /// What of definitions of so many tokens is in a request, rounded up.
    #[must_use]
    pub fn of(self, stated: Count) -> Count {
        if self == Self::STATED || stated.tokens == 0 {
            return stated;
        }
        let tokens = stated.tokens.saturating_mul(u64::from(self.percent)).div_ceil(100);
        let exactness = if self.searched { Exactness::AtMost } else { Exactness::About };
        Count { tokens, exactness: exactness.max(stated.exactness) }
    }
}

/// What a program does with a result without `structuredContent` when the tool promises an `outputSchema`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissingStructure {
    /// It takes the result.
    Accepts,
    /// The model sees a failed call.
    Fails,
    /// It throws the result away and reports an error of its own.
    Refuses,
    /// Not known: treated as a refusal.
    Unknown,
}

/// One agent program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientProfile {
    /// Its word in settings, on the command line and in JSON, such as `claude-code`.
    pub word: &'static str,
    /// What people read.
    pub label: &'static str,
    /// How `clientInfo.name` begins, in lower case.
    pub client_names: &'static [&'static str],
    /// The version that was measured; empty where nothing was.
    pub version: &'static str,
    /// How long it waits over HTTP.
    pub http: CallTimeout,
    /// How long it waits over stdio, which is what `taskwarden connect` speaks.
    pub stdio: CallTimeout,
    /// What it shows people of progress while it waits.
    pub progress: ShownProgress,
    /// The part of a result that its model sees.
    pub shown: ShownPart,
    /// What it does with a long result.
    pub long_result: LongResult,
    /// What tool definitions cost.
    pub tool_list: ToolListCost,
    /// What it does when a tool with an output schema answers without structured content.
    pub missing_structure: MissingStructure,
    /// So many identical calls in a row and it ends its turn as a loop; `None` when it does not count them.
    pub identical_calls_max: Option<u32>,
    /// Whether it ends all descendants of its servers when it exits.
    pub ends_descendants: bool,
    /// Where the figures come from.
    pub source: &'static str,
}

const MEASURED: &str = "measured on a scripted model over HTTP and over `taskwarden connect`, 2026-11";

/// The table. The first line that one of its client names begins counts.
pub const PROFILES: &[ClientProfile] = &[
    ClientProfile {
        word: "claude-code",
        label: "Claude Code",
        client_names: &["claude-code"],
        version: "2.1.197",
        http: CallTimeout::without_progress(Duration::from_secs(300)),
        stdio: CallTimeout::fixed(Duration::from_secs(100_080)),
        // The message is shown since 2.1.153, up to 200 characters: anthropics/claude-code issue 51713.
        progress: ShownProgress::MessageAndPercent,
        shown: ShownPart::StructuredFirst,
        // Above 50,000 characters, which are 12,500 tokens of prose and 17,600 of figures, the request holds the first
        // 2,000 characters and the file's name: 370 tokens of prose, 860 of figures. MAX_MCP_OUTPUT_TOKENS (25,000) is
        // never reached before.
        long_result: LongResult::File { above: 12_500, shown: 370 },
        // 107 and 109 of two servers, both sides in the same tokens; none with tool search, until the model searches.
        tool_list: ToolListCost { percent: 108, searched: true },
        missing_structure: MissingStructure::Accepts,
        identical_calls_max: None,
        ends_descendants: false,
        source: MEASURED,
    },
    ClientProfile {
        word: "codex",
        label: "Codex",
        client_names: &["codex-mcp-client", "codex"],
        version: "0.169.0",
        http: CallTimeout::fixed(Duration::from_secs(300)),
        stdio: CallTimeout::fixed(Duration::from_secs(300)),
        // openai/codex issue 21153.
        progress: ShownProgress::Nothing,
        shown: ShownPart::StructuredFirst,
        // 12,000 characters.
        long_result: LongResult::Cut { above: 2_500, shown: 5_000 },
        tool_list: ToolListCost { percent: 102, searched: false },
        missing_structure: MissingStructure::Fails,
        identical_calls_max: None,
        ends_descendants: false,
        source: MEASURED,
    },
    ClientProfile {
        word: "gemini-cli",
        label: "Gemini CLI",
        client_names: &["gemini-cli"],
        version: "0.61.0",
        http: CallTimeout::fixed(Duration::from_secs(600)),
        stdio: CallTimeout::fixed(Duration::from_secs(600)),
        // google-gemini/gemini-cli pull request 19046.
        progress: ShownProgress::MessageAndPercent,
        shown: ShownPart::Content,
        // The first 8,000 and the last 32,000 characters.
        long_result: LongResult::Cut { above: 8_300, shown: 16_000 },
        // It adds the parameter `wait_for_previous` to each tool, about 60 tokens: 166 to 188 of two servers.
        tool_list: ToolListCost { percent: 180, searched: false },
        missing_structure: MissingStructure::Fails,
        identical_calls_max: Some(5),
        ends_descendants: false,
        source: MEASURED,
    },
    ClientProfile {
        word: "opencode",
        label: "opencode",
        client_names: &["opencode"],
        version: "1.18.33",
        http: CallTimeout::without_progress(MINUTE),
        stdio: CallTimeout::without_progress(MINUTE),
        // It asks for progress to wait longer, and shows none: anomalyco/opencode pull request 32477.
        progress: ShownProgress::Nothing,
        shown: ShownPart::Content,
        // 50 KiB.
        long_result: LongResult::Cut { above: 10_600, shown: 20_000 },
        tool_list: ToolListCost { percent: 110, searched: false },
        missing_structure: MissingStructure::Refuses,
        identical_calls_max: None,
        ends_descendants: true,
        source: MEASURED,
    },
    // "No result received ... after waiting 4 minutes", Claude Desktop 1.11187.
    unmeasured("claude-desktop", "Claude Desktop", &["claude-ai"], 240, "anthropics/claude-code issue 65643"),
    // 60 s in the editor; its command line was mended to the same in 12546.
    unmeasured("cline", "Cline", &["cline"], 60, "cline/cline issue 12576"),
    // 60 s whatever is configured.
    unmeasured("copilot-cli", "GitHub Copilot CLI", &["github-copilot-developer"], 60, "github/copilot-cli issue 1535"),
];

/// The profile of a program that is not in the table: it gets a handle early, nothing that some program trips over, and
/// every token counts.
pub const UNKNOWN: ClientProfile =
    unmeasured("other", "another program", &[], 30, "ruling 22: unknown programs are answered within 25 s");

/// A program of which no more than its timeout is known.
const fn unmeasured(
    word: &'static str,
    label: &'static str,
    client_names: &'static [&'static str],
    seconds: u64,
    source: &'static str,
) -> ClientProfile {
    ClientProfile {
        word,
        label,
        client_names,
        version: "",
        http: CallTimeout::fixed(Duration::from_secs(seconds)),
        stdio: CallTimeout::fixed(Duration::from_secs(seconds)),
        progress: ShownProgress::Unknown,
        shown: ShownPart::Both,
        long_result: LongResult::Whole,
        tool_list: ToolListCost::STATED,
        missing_structure: MissingStructure::Unknown,
        identical_calls_max: None,
        ends_descendants: false,
        source,
    }
}

/// The profile of the program that names itself so.
#[must_use]
pub fn of_client(name: Option<&str>) -> &'static ClientProfile {
    let name = name.unwrap_or_default().to_ascii_lowercase();
    let is_it = |profile: &&ClientProfile| profile.client_names.iter().any(|known| name.starts_with(known));
    PROFILES.iter().find(is_it).unwrap_or(&UNKNOWN)
}

/// The profile with this word; `None` when there is none.
#[must_use]
pub fn of_word(word: &str) -> Option<&'static ClientProfile> {
    PROFILES.iter().chain([&UNKNOWN]).find(|profile| profile.word == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_known_by_how_its_name_begins_and_a_stranger_gets_the_careful_profile() {
        for (name, word) in [
            ("claude-code", "claude-code"),
            ("codex-mcp-client", "codex"),
            ("gemini-cli-mcp-client-taskwarden", "gemini-cli"),
            ("opencode", "opencode"),
            ("Cline", "cline"),
            ("claude-ai", "claude-desktop"),
            ("somebody", "other"),
        ] {
            assert_eq!(of_client(Some(name)).word, word, "{name}");
        }
        assert_eq!(*of_client(None), UNKNOWN);
    }

    #[test]
    fn every_line_can_be_reached_by_its_word_and_by_its_names_and_has_a_source() {
        for profile in PROFILES {
            assert_eq!(of_word(profile.word), Some(profile));
            assert!(!profile.source.is_empty() && !profile.client_names.is_empty(), "{}", profile.word);
            for name in profile.client_names {
                assert_eq!(of_client(Some(name)).word, profile.word, "{name}");
                assert_eq!(*name, name.to_ascii_lowercase(), "names are compared in lower case");
            }
            assert!(profile.http.after >= UNKNOWN.http.after, "{}", profile.word);
        }
    }

    #[test]
    fn of_a_long_result_the_model_sees_what_its_program_lets_through() {
        let cut = LongResult::Cut { above: 2_500, shown: 5_000 };
        assert_eq!((cut.shown_of(69_387), cut.shown_of(3_000), cut.cap()), (5_000, 3_000, Some(2_500)));
        let file = LongResult::File { above: 25_000, shown: 370 };
        assert_eq!((file.shown_of(25_000), file.shown_of(88_842), file.cap()), (25_000, 370, Some(25_000)));
        assert_eq!((LongResult::Whole.shown_of(9), LongResult::Whole.cap()), (9, None));
        assert_eq!(file.shown_at_most(24_000, 29_000), 25_000, "an estimate at the limit may be shown whole");
        assert_eq!((file.shown_at_most(26_000, 29_000), file.shown_at_most(10, 12)), (370, 12));
        assert_eq!(cut.shown_at_most(4_000, 6_000), 5_000);
    }

    #[test]
    fn tool_definitions_cost_what_the_program_makes_of_them_rounded_up() {
        let stated = Count { tokens: 1_575, exactness: Exactness::Exact };
        let of = |word: &str| of_word(word).expect("in the table").tool_list.of(stated);
        assert_eq!(of("gemini-cli"), Count { tokens: 2_835, exactness: Exactness::About }, "2,827 were measured");
        assert_eq!(of("codex"), Count { tokens: 1_607, exactness: Exactness::About });
        let searched = Count { tokens: 1_701, exactness: Exactness::AtMost };
        assert_eq!(of("claude-code"), searched, "how many its model searched for is not known");
        assert_eq!(of("other"), stated);
    }
}
