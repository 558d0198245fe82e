//! The sum of the tokens of one family in what was shown so far.
//!
//! Texts are gathered as features, so that rounding and bounds come once at the end and not with every block. What is
//! shown is decided in `shown_parts.rs`.

use domain::tokens::{Count, Exactness, Family};

use crate::bpe::Vocabulary;
use crate::factors::{CL100K, CLAUDE3, CLAUDE47, GEMINI, LLAMA};
use crate::families::{Counter, counter};
use crate::media::{Medium, count_part};
use crate::piece_classes::Features;

/// A sum of texts and media.
#[derive(Debug, Clone)]
pub(crate) struct TokenSum {
    family: Family,
    counter: Counter,
    exact: u64,
    features: Features,
    media: Count,
}

impl TokenSum {
    pub(crate) fn new(family: Family) -> Self {
        Self { family, counter: counter(family), exact: 0, features: Features::default(), media: Count::ZERO }
    }

    /// Adds a text.
    pub(crate) fn text(&mut self, text: &str) {
        match self.counter {
            Counter::Exact(vocabulary) => self.exact += vocabulary.count(text),
            Counter::About(_) | Counter::Most => {
                for piece in Vocabulary::O200k.pieces(text) {
                    self.piece(piece, Vocabulary::O200k.piece(piece));
                }
            }
        }
    }

    /// Adds one piece of the vocabulary that [`TokenSum::pieces`] splits by.
    pub(crate) fn piece(&mut self, piece: &str, tokens: u64) {
        self.exact += tokens;
        match self.counter {
            Counter::Exact(_) => {}
            Counter::About(_) | Counter::Most => self.features.add(piece, tokens),
        }
    }

    /// The vocabulary whose pieces this family is counted by.
    pub(crate) const fn vocabulary(&self) -> Vocabulary {
        match self.counter {
            Counter::Exact(vocabulary) => vocabulary,
            Counter::About(_) | Counter::Most => Vocabulary::O200k,
        }
    }

    /// Adds a picture, a sound or other bytes.
    pub(crate) fn medium(&mut self, medium: &Medium<'_>) {
        self.media = self.media + count_part(self.family, medium);
    }

    /// What of the sum is no text.
    pub(crate) const fn media(&self) -> u64 {
        self.media.tokens
    }

    pub(crate) fn count(&self) -> Count {
        let tokens = match self.counter {
            Counter::Exact(_) => self.exact,
            Counter::About(factors) => factors.tokens(&self.features),
            Counter::Most => [&CLAUDE3, &CLAUDE47, &GEMINI, &LLAMA, &CL100K]
                .into_iter()
                .map(|factors| factors.tokens_at_most(&self.features))
                .fold(self.exact, u64::max),
        };
        let exactness = if tokens == 0 { Exactness::Exact } else { self.family.exactness() };
        Count { tokens, exactness } + self.media
    }

    /// The sum as limits are held against it: with the error of an estimate on top.
    pub(crate) fn at_most(&self) -> u64 {
        let text = match self.counter {
            Counter::Exact(_) | Counter::Most => return self.count().tokens,
            Counter::About(factors) => factors.tokens_at_most(&self.features),
        };
        text.saturating_add(self.media.tokens)
    }

    /// The same with one more piece, which is not added.
    pub(crate) fn at_most_with(&self, piece: &str, tokens: u64) -> u64 {
        match self.counter {
            Counter::Exact(_) => self.exact.saturating_add(tokens).saturating_add(self.media.tokens),
            Counter::About(_) | Counter::Most => {
                let mut with = self.clone();
                with.piece(piece, tokens);
                with.at_most()
            }
        }
    }
}

/// The count of one text.
pub(crate) fn count(family: Family, text: &str) -> Count {
    let mut sum = TokenSum::new(family);
    sum.text(text);
    sum.count()
}

/// The count of one text, with the error of an estimate on top.
pub(crate) fn at_most(family: Family, text: &str) -> u64 {
    let mut sum = TokenSum::new(family);
    sum.text(text);
    sum.at_most()
}
