//! Counts with the tokenizers that are public: OpenAI's two vocabularies.
//!
//! The tables come with `bpe-openai`, which is linear in the length of any text; they are read at the first use and
//! stay. `pieces.rs` splits plain text faster than it does, `piece_cache.rs` saves making the same count twice. How other
//! families are estimated from the same pieces is in `estimate.rs`.

mod piece_cache;
mod pieces;

use bpe_openai::Tokenizer;
use bpe_openai::appendable_encoder::AppendableEncoder;

use piece_cache::remembered;
use pieces::{Pieces, SplitRules};

/// A vocabulary that we have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Vocabulary {
    /// GPT-4o and later.
    O200k,
    /// GPT-4 and GPT-3.5.
    Cl100k,
}

impl Vocabulary {
    pub(crate) fn tokenizer(self) -> &'static Tokenizer {
        match self {
            Self::O200k => bpe_openai::o200k_base(),
            Self::Cl100k => bpe_openai::cl100k_base(),
        }
    }

    /// Tokens of a text.
    pub(crate) fn count(self, text: &str) -> u64 {
        self.pieces(text).map(|piece| self.piece(piece)).sum()
    }

    /// The pieces that a text is split into before it is encoded. No token spans two of them.
    pub(crate) fn pieces(self, text: &str) -> impl Iterator<Item = &str> {
        let rules = match self {
            Self::O200k => SplitRules::O200k,
            Self::Cl100k => SplitRules::Cl100k,
        };
        Pieces::of(text, rules, self.tokenizer())
    }

    /// Tokens of one piece.
    pub(crate) fn piece(self, piece: &str) -> u64 {
        remembered(self, piece, || wide(self.tokenizer().bpe.count(piece.as_bytes())))
    }

    /// A piece that grows by characters and always knows its tokens; all together as cheap as counting it once.
    pub(crate) fn growing(self) -> Growing {
        Growing(AppendableEncoder::new(&self.tokenizer().bpe))
    }
}

/// A growing piece.
pub(crate) struct Growing(AppendableEncoder<'static>);

impl Growing {
    /// Adds to it and says its tokens.
    pub(crate) fn push(&mut self, text: &str) -> u64 {
        self.0.extend(text.bytes());
        wide(self.0.token_count())
    }
}

/// A length as a count.
pub(crate) fn wide(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_the_tokens_of_its_tokenizer_however_often_its_pieces_were_counted() {
        let words =
            ["the", " the", " The", "\n\n", " internationalisation", "中文", "é", "123", "{\"a\":", "\0", "======"];
        // Every order of four of them, so that pieces grow together, and far more pieces than are remembered.
        let texts = (0..words.len().pow(4)).map(|number| {
            let nth = |place: u32| words[number / words.len().pow(place) % words.len()];
            format!("{}{}{}{}{number}", nth(0), nth(1), nth(2), nth(3))
        });
        for text in texts {
            for vocabulary in [Vocabulary::O200k, Vocabulary::Cl100k] {
                assert_eq!(vocabulary.count(&text), wide(vocabulary.tokenizer().count(&text)), "{text:?}");
            }
        }
    }

    #[test]
    fn a_growing_piece_has_the_tokens_of_the_whole_at_each_step() {
        for piece in ["internationalisation", "======----", "中文字符很多", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"]
        {
            let mut growing = Vocabulary::O200k.growing();
            let mut end = 0;
            for character in piece.chars() {
                end += character.len_utf8();
                let tokens = growing.push(&piece[end - character.len_utf8()..end]);
                assert_eq!(tokens, Vocabulary::O200k.piece(&piece[..end]), "`{}`", &piece[..end]);
            }
        }
    }
}
