//! The expressions by which the vocabularies split a text into pieces, as OpenAI published them.
//!
//! Theirs look ahead (`\s+(?!\S)`), which needs a slower kind of expression. Here the first alternatives stand alone, and
//! white space before something else is found with one character more, which is given back.

use std::sync::LazyLock;

use regex_automata::meta::Regex;
use regex_automata::{Anchored, Input};

/// White space and one more blank: the last belongs to what follows.
const BLANKS_BEFORE: &str = r"\s+\s";
/// White space that nothing above takes.
const BLANKS: &str = r"\s+";

/// What one vocabulary splits texts by.
pub(super) struct Expression(Option<Regex>);

pub(super) static O200K: LazyLock<Expression> = LazyLock::new(|| {
    Expression::new(concat!(
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+$",
    ))
});

pub(super) static CL100K: LazyLock<Expression> = LazyLock::new(|| {
    Expression::new(concat!(
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}",
        r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+$",
    ))
});

impl Expression {
    fn new(pieces: &str) -> Self {
        Self(Regex::new_many(&[pieces, BLANKS_BEFORE, BLANKS]).ok())
    }

    /// The bytes of the first piece of a text that is not empty.
    pub(super) fn first(&self, text: &str) -> usize {
        let found = self.0.as_ref().and_then(|regex| regex.find(Input::new(text).anchored(Anchored::Yes)));
        let Some(found) = found else { return text.len() };
        let piece = text.get(..found.end()).unwrap_or(text);
        // The second of the three took one character more.
        let given_back = if found.pattern().as_usize() == 1 { piece.chars().next_back() } else { None };
        piece.len() - given_back.map_or(0, char::len_utf8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_expressions_can_be_read() {
        for expression in [&O200K, &CL100K] {
            assert!(expression.0.is_some(), "an expression that is broken would take every text for one piece");
        }
    }
}
