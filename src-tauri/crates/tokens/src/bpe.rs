//! Counts with the tokenizers that are public: OpenAI's two vocabularies.
//!
//! A text is split into pieces (`pieces.rs`, `expression.rs`), and each piece is encoded by itself (`merge.rs`) with a
//! vocabulary that lies in the program as tables (`table.rs`, decision 0089). `piece_cache.rs` saves making the same count
//! twice, `beginnings.rs` serves cuts. Tests hold pieces and counts against `bpe-openai`. How other families are estimated
//! from the same pieces is in `estimate.rs`.

mod beginnings;
mod expression;
mod merge;
mod piece_cache;
mod pieces;
mod slots;
mod table;

use beginnings::Beginnings;
use expression::Expression;
use piece_cache::remembered;
use pieces::{Pieces, SplitRules};
use table::Table;

/// A vocabulary that we have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Vocabulary {
    /// GPT-4o and later.
    O200k,
    /// GPT-4 and GPT-3.5.
    Cl100k,
}

impl Vocabulary {
    /// Tokens of a text.
    pub(crate) fn count(self, text: &str) -> u64 {
        self.pieces(text).map(|piece| self.piece(piece)).sum()
    }

    /// The pieces that a text is split into before it is encoded. No token spans two of them.
    pub(crate) fn pieces(self, text: &str) -> impl Iterator<Item = &str> {
        let (rules, expression): (_, &'static Expression) = match self {
            Self::O200k => (SplitRules::O200k, &expression::O200K),
            Self::Cl100k => (SplitRules::Cl100k, &expression::CL100K),
        };
        Pieces::of(text, rules, expression)
    }

    /// Tokens of one piece.
    pub(crate) fn piece(self, piece: &str) -> u64 {
        remembered(self, piece, || wide(merge::count(self.table(), piece.as_bytes())))
    }

    /// The tokens of each beginning of a piece, up to one that is enough by its bytes and tokens.
    pub(crate) fn beginnings(self, piece: &str, is_enough: impl FnMut(usize, usize) -> bool) -> Beginnings<'_> {
        Beginnings::of(self.table(), piece, is_enough)
    }

    const fn table(self) -> &'static Table {
        match self {
            Self::O200k => &table::O200K,
            Self::Cl100k => &table::CL100K,
        }
    }
}

/// A length as a count.
pub(crate) fn wide(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use bpe_openai::Tokenizer;

    use super::*;

    const BOTH: [Vocabulary; 2] = [Vocabulary::O200k, Vocabulary::Cl100k];

    /// The same vocabulary, counted by other people's code.
    pub(super) fn oracle(vocabulary: Vocabulary) -> &'static Tokenizer {
        match vocabulary {
            Vocabulary::O200k => bpe_openai::o200k_base(),
            Vocabulary::Cl100k => bpe_openai::cl100k_base(),
        }
    }

    /// A fixed walk through some words: the same texts in every run.
    fn walks(words: &[&str], length: usize, texts: usize) -> impl Iterator<Item = String> {
        let mut state = 0x2545_F491_4F6C_DD1D_u64;
        let mut next = move |below: usize| {
            state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
            usize::try_from(state >> 33).unwrap_or(0) % below
        };
        (0..texts).map(move |_| (0..length).map(|_| words[next(words.len())]).collect())
    }

    /// What makes long pieces: each walk through one of these rows is one piece.
    const LONG_PIECES: [&[&str]; 6] = [
        &["a"],
        &["a", "b", "th", "ing", "inter", "ation", "ss", "X"],
        &["=", "-", "==", "#", "/", "*", "\"", "}", "("],
        &["中", "文", "字", "符", "很", "多", "の", "한"],
        &["é", "\u{301}", "ß", "ı", "я", "ж", "q"],
        &["👩", "\u{200d}", "👧", "\u{fe0f}", "→", "…", "€"],
    ];

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
            for vocabulary in BOTH {
                assert_eq!(vocabulary.count(&text), wide(oracle(vocabulary).count(&text)), "{text:?}");
            }
        }
    }

    #[test]
    fn every_token_of_a_vocabulary_is_one_token() {
        for vocabulary in BOTH {
            let dictionary = &oracle(vocabulary).bpe;
            for token in 0..u32::try_from(dictionary.num_tokens()).expect("thousands") {
                let bytes = dictionary.token_bytes(token);
                assert_eq!(vocabulary.table().token(bytes), Some(token), "{bytes:?}");
            }
        }
    }

    #[test]
    fn pieces_of_any_length_have_the_tokens_of_their_tokenizer() {
        for words in LONG_PIECES {
            for (length, texts) in [(3, 300), (12, 300), (60, 100), (3_000, 3), (20_000, 1)] {
                for text in walks(words, length, texts) {
                    for vocabulary in BOTH {
                        let expected = oracle(vocabulary).bpe.count(text.as_bytes());
                        let start: String = text.chars().take(60).collect();
                        assert_eq!(merge::count(vocabulary.table(), text.as_bytes()), expected, "{start:?}…");
                    }
                }
            }
        }
    }

    #[test]
    fn each_beginning_of_a_piece_has_the_tokens_of_its_tokenizer() {
        for words in LONG_PIECES {
            for (length, texts) in [(12, 40), (200, 3), (1_500, 1)] {
                for text in walks(words, length, texts) {
                    for vocabulary in BOTH {
                        let beginnings = vocabulary.beginnings(&text, |_, _| false);
                        let mut theirs =
                            bpe_openai::appendable_encoder::AppendableEncoder::new(&oracle(vocabulary).bpe);
                        let mut end = 0;
                        for character in text.chars() {
                            theirs.extend(character.to_string().bytes());
                            end += character.len_utf8();
                            assert_eq!(beginnings.tokens(end), theirs.token_count(), "{end} bytes of {text:?}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn a_piece_is_encoded_only_as_far_as_is_asked() {
        let text = "ab".repeat(100_000);
        let mut asked = 0;
        let beginnings = Vocabulary::O200k.beginnings(&text, |bytes, tokens| {
            asked = bytes;
            tokens > 100
        });
        assert!(asked < 10_000, "{asked} of 200,000 bytes");
        assert_eq!(
            beginnings.tokens(text.len() / 50),
            merge::count(&table::O200K, &text.as_bytes()[..text.len() / 50])
        );
    }
}
