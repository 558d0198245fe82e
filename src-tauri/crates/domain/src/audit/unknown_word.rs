//! Words of verbs that only a newer version knows, kept for the life of the program.
//!
//! A verb is small and copied everywhere, so its word must live as long as the program. Somebody who writes into the file
//! could make up words without end; their number is bounded, and what is beyond it is shown as one word.

use std::sync::OnceLock;

/// Unknown words that are kept; a newer version has some more verbs, not hundreds. Judgement.
const KEPT: usize = 64;
/// What is shown for a word beyond those.
const BEYOND: &str = "unknown";

static WORDS: [OnceLock<&'static str>; KEPT] = [const { OnceLock::new() }; KEPT];

/// The same word, for the life of the program.
pub(super) fn kept(word: &str) -> &'static str {
    let here =
        |slot: &'static OnceLock<&'static str>| *slot.get_or_init(|| Box::leak(word.to_owned().into_boxed_str()));
    WORDS.iter().map(here).find(|kept| *kept == word).unwrap_or(BEYOND)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_kept_once_and_words_without_end_are_not() {
        assert_eq!(kept("foretold"), "foretold");
        assert!(std::ptr::eq(kept("foretold"), kept("foretold")), "it is kept once");
        for number in 0..200 {
            kept(&format!("word{number}"));
        }
        assert_eq!(kept("oneMore"), BEYOND);
        assert_eq!(kept("foretold"), "foretold");
    }
}
