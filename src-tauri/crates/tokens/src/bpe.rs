//! Counting with the tokenizers that are public: OpenAI's two vocabularies.
//!
//! The tables come with `bpe-openai`, which is linear in the length of any text; they are read at the first use and stay.
//! This file adds nothing to the counts. How other families are estimated from the same pieces is `estimate.rs`.

use bpe_openai::Tokenizer;

/// A vocabulary that we have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Vocabulary {
    /// GPT-4o and later.
    O200k,
    /// GPT-4 and GPT-3.5.
    Cl100k,
}

impl Vocabulary {
    fn tokenizer(self) -> &'static Tokenizer {
        match self {
            Self::O200k => bpe_openai::o200k_base(),
            Self::Cl100k => bpe_openai::cl100k_base(),
        }
    }

    /// Tokens of a text.
    pub(crate) fn count(self, text: &str) -> u64 {
        wide(self.tokenizer().count(text))
    }

    /// The pieces that a text is split into before it is encoded, each with its tokens. No token spans two pieces.
    pub(crate) fn pieces(self, text: &str) -> impl Iterator<Item = (&str, u64)> {
        let tokenizer = self.tokenizer();
        tokenizer.split(text).map(|piece| (piece, wide(tokenizer.bpe.count(piece.as_bytes()))))
    }
}

/// A length as a count.
pub(crate) fn wide(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}
