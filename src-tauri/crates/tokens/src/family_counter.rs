//! Implements the port by the parts of this crate.
//!
//! Has no state that a count depends on: tables are read at the first use and shared by all. What is shown is decided
//! in `shown_parts.rs`, how it is counted in `token_sum.rs`.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::ports::{Cut, MessagePart, PartCount, TokenCounter};
use domain::task::payload::Payload;
use domain::tokens::{Count, Family};

use crate::json::{Members, elements};
use crate::shown_parts::{Beside, VisiblePart, shown, tool};
use crate::token_sum::{TokenSum, count};
use crate::{cut, families, trim, words};

/// Counts and cuts with the vocabularies and factors that come with the program.
#[derive(Debug, Clone, Copy, Default)]
pub struct FamilyCounter;

impl FamilyCounter {
    /// A counter. Costs nothing; the first count reads a table.
    #[must_use]
    pub const fn new() -> Self {
        Self
    }
}

/// The name under which a list shows what is in it and is no tool.
const NO_TOOL: &str = "?";

impl TokenCounter for FamilyCounter {
    fn count_part(&self, family: Family, load: MessagePart<'_>) -> PartCount {
        let mut sum = TokenSum::new(family);
        let Beside { reported, instead } = shown(load, |part| match part {
            VisiblePart::Text(text) => sum.text(&text),
            VisiblePart::Medium(medium) => sum.medium(&medium),
        });
        let instead = instead.map_or(0, |structured| count(family, structured).tokens);
        PartCount { count: sum.count(), reported, instead, media: sum.media() }
    }

    fn tools(&self, family: Family, list: &str) -> BTreeMap<Arc<str>, Count> {
        let mut counts = BTreeMap::<Arc<str>, Count>::new();
        let mut add = |name: &str, text: &str| {
            let sum = counts.entry(name.into()).or_default();
            *sum = *sum + count(family, text);
        };
        match Members::of(list).and_then(|members| elements(members.get("tools")?)) {
            Some(tools) => tools.into_iter().for_each(|json| match tool(json) {
                Some((name, definition)) => add(&name, &definition),
                None => add(NO_TOOL, json),
            }),
            None => add(NO_TOOL, list),
        }
        counts
    }

    fn cut(&self, family: Family, text: &str, tokens: u64) -> Cut {
        cut::cut(family, text, tokens)
    }

    fn words(&self, result: &str) -> String {
        words::words(result)
    }

    fn trim(&self, family: Family, result: &str, tokens: u64) -> Payload {
        Payload::new(trim::trim(family, result, tokens))
    }

    fn error_percent(&self, family: Family) -> u8 {
        families::error_percent(family)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_slice_shows_is_told_apart_from_the_texts() {
        let of = |blocks: &str| {
            FamilyCounter.count_part(Family::O200k, MessagePart::Result(&format!(r#"{{"content":[{blocks}]}}"#)))
        };
        let (text, picture) = (r#"{"type":"text","text":"a map"}"#, r#"{"type":"image","data":"AAAA"}"#);
        let file = r#"{"type":"resource","resource":{"uri":"x:y","blob":"AAAAAAAA"}}"#;
        let (words, seen) = (of(text), of(&format!("{text},{picture},{file}")));
        assert_eq!((words.media, words.is_mostly_text()), (0, true));
        assert_eq!(seen.media, seen.count.tokens - words.count.tokens, "all but the texts: {seen:?}");
        assert!(!seen.is_mostly_text(), "a picture has more tokens than two words: {seen:?}");
    }
}
