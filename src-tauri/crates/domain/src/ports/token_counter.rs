//! Counts the tokens of MCP messages, and cuts results to a size.
//!
//! Knows how hosts show MCP messages to their models (decision 0014) and how families split text. Pure and synchronous:
//! microseconds per kilobyte, so callers keep it off the paths of calls. It stores nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::task::payload::Payload;
use crate::tokens::{Count, Family};

/// A part of a message, as JSON text that is to be counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessagePart<'a> {
    /// The params of `tools/call`: the name and the arguments.
    Call(&'a str),
    /// The result of `tools/call`: its content blocks; where it has none, its structured content, or else whatever it
    /// has.
    Result(&'a str),
    /// An error object: its message.
    Error(&'a str),
    /// A task object: all of it but `result`, `error` and `_meta`.
    Task(&'a str),
    /// The result of `prompts/get`.
    Prompt(&'a str),
    /// The result of `resources/read`.
    Resource(&'a str),
    /// Plain text, as it is.
    Text(&'a str),
}

/// How many tokens a part of a message has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PartCount {
    /// By our own count.
    pub count: Count,
    /// What its maker says it counts (`_meta.usage`, `usage`). Wins where figures are shown, never where a limit is
    /// held.
    pub reported: Option<u64>,
    /// Tokens, by our own count, of what some hosts show in place of the rest: structured content beside blocks, an
    /// error with its data. 0 where there is no such thing. Counts where a limit is held, never where figures are
    /// shown.
    pub instead: u64,
    /// Tokens, of `count`, of the pictures, sounds and other bytes in it: slices are text and show none of them.
    pub media: u64,
}

impl PartCount {
    /// The figure to show.
    #[must_use]
    pub fn shown(&self) -> Count {
        match self.reported {
            Some(tokens) => Count { tokens, exactness: crate::tokens::Exactness::Exact },
            None => self.count,
        }
    }

    /// The most that a host may show of it, by our own count.
    #[must_use]
    pub fn own(&self) -> u64 {
        self.count.tokens.max(self.instead)
    }

    /// Whether slices give the heavier part of it: its media count no more than its texts, or what is shown in their
    /// place.
    #[must_use]
    pub fn is_mostly_text(&self) -> bool {
        self.media <= self.count.tokens.saturating_sub(self.media).max(self.instead)
    }

    /// The most of all that is said of it.
    #[must_use]
    pub fn cautious(&self) -> u64 {
        self.own().max(self.reported.unwrap_or(0))
    }
}

/// An estimate with its error on top, as limits are held. Errors are shares of the true count
/// ([`TokenCounter::error_percent`]), so the truth may be as much as `estimate / (1 - error)`.
#[must_use]
pub fn with_error(tokens: u64, percent: u8) -> u64 {
    let left = 100_u64.saturating_sub(u64::from(percent)).max(1);
    tokens.saturating_mul(100).div_ceil(left)
}

/// A cut text: where it ends in the whole, and how many tokens it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// Bytes of the whole, at the border of a character, before the cut.
    pub bytes: usize,
    pub count: Count,
}

/// Counts tokens and cuts texts.
pub trait TokenCounter: Send + Sync + 'static {
    /// Counts a part of a message. What cannot be read is counted as plain text.
    fn count_part(&self, family: Family, load: MessagePart<'_>) -> PartCount;

    /// Counts each tool of a `tools/list` result, by name: its name, description and input schema.
    fn tools(&self, family: Family, list: &str) -> BTreeMap<Arc<str>, Count>;

    /// The longest beginning of a text that is at most so many tokens. At least one character, unless the text is
    /// empty.
    fn cut(&self, family: Family, text: &str, tokens: u64) -> Cut;

    /// A result as plain text, for reading it in slices: its texts, one after the other; its structured content as
    /// JSON where it has no text, and after texts that are far shorter.
    fn words(&self, result: &str) -> String;

    /// A result trimmed to about so many tokens that is still a valid result: texts are cut and say so, other blocks
    /// that do not fit are left out, structured content loses members from its end and stays valid JSON.
    fn trim(&self, family: Family, result: &str, tokens: u64) -> Payload;

    /// The measured error of a family's counts, in percent of the true count, either way; 0 where they are exact.
    fn error_percent(&self, family: Family) -> u8;
}

#[cfg(test)]
mod tests {
    use crate::tokens::Exactness;

    use super::*;

    #[test]
    fn slices_give_what_is_mostly_text() {
        for (tokens, media, instead, is_text) in [
            (0, 0, 0, true),
            (2_000, 0, 0, true),
            (2_000, 1_000, 0, true),
            (2_001, 1_001, 0, false),
            (1_500, 1_500, 0, false),
            (1_500, 1_500, 1_500, true),
        ] {
            let count = Count { tokens, exactness: Exactness::About };
            let weight = PartCount { count, reported: Some(1), instead, media };
            assert_eq!(weight.is_mostly_text(), is_text, "{weight:?}");
        }
    }

    #[test]
    fn an_estimate_with_its_error_on_top_is_never_below_the_truth() {
        for percent in 0..=50_u8 {
            for truth in [0_u64, 1, 90, 20_482, 1_000_003] {
                let least = (truth * (100 - u64::from(percent))).div_ceil(100);
                let held = with_error(least, percent);
                assert!(held >= truth, "{truth} tokens, counted as {least} with an error of {percent} %, are {held}");
            }
        }
        assert_eq!(
            (with_error(17_000, 17), with_error(7, 0)),
            (20_482, 7),
            "a share of the truth, not of the estimate"
        );
        assert_eq!(with_error(u64::MAX, 100), u64::MAX, "an error that cannot be ends nothing");
    }
}
