//! The scale itself: the port, put together from the parts of this crate.
//!
//! Has no state that a count depends on: tables are read at the first use and shared by all. What is shown is `shapes.rs`,
//! how it is counted `tally.rs`; this file only brings them together.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::payload::Payload;
use domain::ports::{Cut, Load, Scale, Weight};
use domain::tokens::{Count, Family};

use crate::json::{Members, elements};
use crate::shapes::{Part, instead, reported, shown, tool};
use crate::tally::{Tally, count};
use crate::{cut, families, trim, words};

/// Weighs and cuts with the vocabularies and factors that come with the program.
#[derive(Debug, Clone, Copy, Default)]
pub struct Weigher;

impl Weigher {
    /// The scale. Costs nothing; the first count reads a table.
    #[must_use]
    pub const fn new() -> Self {
        Self
    }
}

/// The name under which a list shows what is in it and is no tool.
const NO_TOOL: &str = "?";

impl Scale for Weigher {
    fn weigh(&self, family: Family, load: Load<'_>) -> Weight {
        let mut tally = Tally::new(family);
        shown(load, |part| match part {
            Part::Text(text) => tally.text(&text),
            Part::Medium(medium) => tally.medium(&medium),
        });
        let instead = instead(load).map_or(0, |structured| count(family, structured).tokens);
        Weight { count: tally.count(), reported: reported(load), instead, media: tally.media() }
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
        let of = |blocks: &str| Weigher.weigh(Family::O200k, Load::Result(&format!(r#"{{"content":[{blocks}]}}"#)));
        let (text, picture) = (r#"{"type":"text","text":"a map"}"#, r#"{"type":"image","data":"AAAA"}"#);
        let file = r#"{"type":"resource","resource":{"uri":"x:y","blob":"AAAAAAAA"}}"#;
        let (words, seen) = (of(text), of(&format!("{text},{picture},{file}")));
        assert_eq!((words.media, words.is_mostly_text()), (0, true));
        assert_eq!(seen.media, seen.count.tokens - words.count.tokens, "all but the texts: {seen:?}");
        assert!(!seen.is_mostly_text(), "a picture weighs more than two words: {seen:?}");
    }
}
