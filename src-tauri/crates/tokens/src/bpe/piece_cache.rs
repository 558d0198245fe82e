//! Caches the token counts of short pieces.
//!
//! A text repeats its words, and a tokenizer works each one out anew. This table has one slot for each of many pieces,
//! found by their bytes; a new piece replaces the one in its slot. It never guesses: a slot holds the whole piece, and
//! a piece that is not there is counted. Each thread has its own, one for each vocabulary.

use std::cell::RefCell;
use std::thread::LocalKey;

use crate::bpe::Vocabulary;

/// Bytes of the longest piece that is kept: with its length it fills a key. English words with their space are shorter.
const LONGEST: usize = 15;
/// Slots, as a power of two. Measured on texts that do not repeat: 76 % of the pieces of the golden texts and 90 % of
/// those of this project's engine are found; twice as many slots find 1 to 3 % more, and take twice the processor's
/// cache.
const SLOTS_LOG2: u32 = 12;

/// A short piece and its tokens.
#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    /// The piece, padded with zeros, its length in the last byte: no two pieces share one, and none is zero.
    key: u128,
    tokens: u64,
}

/// Slots by the key of a piece.
#[derive(Debug, Default)]
struct PieceCache(Box<[Slot]>);

thread_local! {
    static O200K: RefCell<PieceCache> = RefCell::default();
    static CL100K: RefCell<PieceCache> = RefCell::default();
}

/// Tokens of a piece: as they were the last time, or as `counted` says.
pub(crate) fn remembered(vocabulary: Vocabulary, piece: &str, counted: impl FnOnce() -> u64) -> u64 {
    let Some(key) = key(piece.as_bytes()) else { return counted() };
    of(vocabulary).with_borrow_mut(|cache| match cache.slot(key) {
        Some(slot) if slot.key == key => slot.tokens,
        Some(slot) => {
            *slot = Slot { key, tokens: counted() };
            slot.tokens
        }
        None => counted(),
    })
}

fn of(vocabulary: Vocabulary) -> &'static LocalKey<RefCell<PieceCache>> {
    match vocabulary {
        Vocabulary::O200k => &O200K,
        Vocabulary::Cl100k => &CL100K,
    }
}

fn key(piece: &[u8]) -> Option<u128> {
    let length = u8::try_from(piece.len()).ok().filter(|length| (1..=LONGEST).contains(&usize::from(*length)))?;
    let mut bytes = [0; LONGEST + 1];
    bytes.get_mut(..piece.len())?.copy_from_slice(piece);
    bytes[LONGEST] = length;
    Some(u128::from_le_bytes(bytes))
}

impl PieceCache {
    /// The slot of a key. The table is made at the first use.
    fn slot(&mut self, key: u128) -> Option<&mut Slot> {
        /// An odd number whose bits look like chance: what is multiplied by it is spread over the high bits.
        const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;
        if self.0.is_empty() {
            self.0 = vec![Slot::default(); 1 << SLOTS_LOG2].into_boxed_slice();
        }
        let [low, high] = [key, key >> u64::BITS].map(|half| (half & u128::from(u64::MAX)) as u64);
        let mixed = (low ^ high.wrapping_mul(SPREAD)).wrapping_mul(SPREAD);
        self.0.get_mut((mixed >> (u64::BITS - SLOTS_LOG2)) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_is_counted_once_while_it_keeps_its_place() {
        let mut counted = 0;
        for _ in 0..3 {
            let tokens = remembered(Vocabulary::O200k, " remembered", || {
                counted += 1;
                2
            });
            assert_eq!(tokens, 2, "the same at each look");
        }
        assert_eq!(counted, 1, "the second and third were remembered");
    }

    #[test]
    fn a_piece_whose_place_was_taken_is_counted_again() {
        let many = 4 << SLOTS_LOG2;
        let mut counted = 0_u64;
        for turn in 0..2 {
            for number in 0..many {
                let expected = number % 7;
                let tokens = remembered(Vocabulary::Cl100k, &format!("p{number}"), || {
                    counted += 1;
                    expected
                });
                assert_eq!(tokens, expected, "piece {number}, turn {turn}");
            }
        }
        // At the end of the first turn each slot holds one piece at most: the others lost theirs.
        let again = counted - many;
        assert!(again >= many - (1 << SLOTS_LOG2), "pieces that lost their slot were counted again: {again}");
    }

    #[test]
    fn pieces_that_differ_have_keys_that_differ() {
        let pieces = ["a", "a\0", "\0", "\0\0", "\0a", "ä", "123456789012345"];
        for one in pieces {
            for other in pieces {
                assert_eq!(key(one.as_bytes()) == key(other.as_bytes()), one == other, "{one:?} and {other:?}");
            }
        }
        assert_eq!(key(b"1234567890123456"), None, "too long to be kept");
        assert_eq!(key(b""), None, "nothing to keep");
    }
}
