//! Pages of a result: cut from its text at a character, at most so many tokens, characters or bytes each.
//!
//! Pages put together are the whole text, to the character. Who may read them is decided in `outcome.rs`; they are asked
//! for by URI (`tasks/result_resource.rs`) or by a task tool.

use domain::ports::TokenCounter;
use domain::tokens::Family;
use serde_json::Value;

use crate::gateway::results::hold_limit::LEAST_PAGE_TOKENS;

/// Follows the name of a parameter that is no number.
pub(crate) const NOT_A_NUMBER: &str = "must be a whole number, such as 8000";

/// Tokens for the words after a page that say how to continue. Measured: 46 with the longest handle and numbers in o200k,
/// with room for other tokenisers.
const NOTE_TOKENS: u64 = 64;

/// The part of a result that is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct PageRange {
    /// The first character.
    pub(crate) offset: usize,
    /// At most so many of each.
    pub(crate) tokens: Option<u64>,
    pub(crate) chars: Option<usize>,
    pub(crate) bytes: Option<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ResultPage {
    pub(crate) text: String,
    /// Where it begins, in characters.
    pub(crate) offset: usize,
    /// Where the next page begins; `None` at the end.
    pub(crate) next: Option<usize>,
    /// Characters of the whole text.
    pub(crate) of: usize,
}

/// Cuts a page out of a text, so that it and the words after it have `most` tokens. It has one character at least, unless
/// it begins behind the end.
pub(crate) fn cut(scale: &dyn TokenCounter, family: Family, text: &str, range: PageRange, most: u64) -> ResultPage {
    let of = text.chars().count();
    let offset = range.offset.min(of);
    let begin = text.char_indices().nth(offset).map_or(text.len(), |(at, _)| at);
    let rest = text.get(begin..).unwrap_or_default();
    let room = most.saturating_sub(NOTE_TOKENS).max(LEAST_PAGE_TOKENS.min(most));
    let tokens = range.tokens.unwrap_or(room).clamp(1, room);
    let by_tokens = scale.cut(family, rest, tokens).bytes;
    let by_bytes = range.bytes.map_or(rest.len(), |bytes| floor(rest, bytes));
    let by_chars = match range.chars {
        Some(chars) => rest.char_indices().nth(chars).map_or(rest.len(), |(at, _)| at),
        None => rest.len(),
    };
    let first = rest.chars().next().map_or(0, char::len_utf8);
    let upto = by_tokens.min(by_bytes).min(by_chars).max(first);
    let part = rest.get(..upto).unwrap_or(rest);
    let end = offset + part.chars().count();
    ResultPage { text: part.to_owned(), offset, next: (end < of).then_some(end), of }
}

/// The last character boundary at or before `bytes`.
fn floor(text: &str, bytes: usize) -> usize {
    let mut at = bytes.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The whole number that a model means: as a number, or as digits in a text.
pub(crate) fn whole_number(said: &Value) -> Option<u64> {
    /// Above this, not every whole number is an `f64`.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match said {
        Value::String(text) => digits(text),
        Value::Number(number) => number.as_u64().or_else(|| {
            let number = number.as_f64().filter(|number| number.fract() == 0.0 && (0.0..EXACT).contains(number))?;
            Some(number as u64)
        }),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

pub(crate) fn digits(text: &str) -> Option<u64> {
    text.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use testkit::token_counter::ByteTokenCounter;

    use super::*;

    fn all(text: &str, range: PageRange, most: u64) -> (String, usize) {
        let (mut read, mut offset, mut slices) = (String::new(), 0, 0);
        loop {
            let part = cut(&ByteTokenCounter, Family::O200k, text, PageRange { offset, ..range }, most);
            assert_eq!((part.offset, part.of), (offset, text.chars().count()), "it says where it stands");
            read.push_str(&part.text);
            slices += 1;
            let Some(next) = part.next else { return (read, slices) };
            assert!(next > offset, "every slice brings something");
            offset = next;
        }
    }

    proptest! {
        #[test]
        fn slices_of_any_size_are_the_whole_to_the_character(text in "[a蜜🐝é\\n]{0,80}|\\PC{0,60}", tokens in 0_u64..12) {
            let range = PageRange { tokens: Some(tokens), ..PageRange::default() };
            prop_assert_eq!(all(&text, range, 9).0, text);
        }

        #[test]
        fn limits_in_characters_and_bytes_lose_nothing_either(text in "\\PC{0,60}", chars in 0_usize..9, bytes in 0_usize..9) {
            let range = PageRange { chars: Some(chars), bytes: Some(bytes), ..PageRange::default() };
            prop_assert_eq!(all(&text, range, 1_000).0, text);
        }
    }

    #[test]
    fn a_range_behind_the_end_is_empty_and_says_so() {
        let part = cut(&ByteTokenCounter, Family::O200k, "äöü", PageRange { offset: 7, ..PageRange::default() }, 100);
        assert_eq!(part, ResultPage { text: String::new(), offset: 3, next: None, of: 3 });
        let last = cut(&ByteTokenCounter, Family::O200k, "äöü", PageRange { offset: 2, ..PageRange::default() }, 100);
        assert_eq!((last.text.as_str(), last.next), ("ü", None), "the last character");
    }

    #[test]
    fn no_slice_is_larger_than_the_policy_allows() {
        let wants = PageRange { tokens: Some(u64::MAX), ..PageRange::default() };
        assert_eq!(cut(&ByteTokenCounter, Family::O200k, &"x".repeat(50), wants, 10).text.len(), 10);
        assert_eq!(all(&"x".repeat(50), wants, 10).1, 5, "five slices of ten");
    }
}
