//! The longest beginning of a text that fits into so many tokens.
//!
//! Goes piece by piece and ends between two of them, so that words stay whole; a piece that is long by itself (a line of
//! base64, Chinese without spaces) is cut inside, between characters. Estimates are cut with their error on top, so that
//! a slice fits whatever the true count is. Costs as much as the beginning, not as the text.

use domain::ports::Cut;
use domain::tokens::Family;

use crate::tally::{Tally, at_most, count};

/// Bytes from which a piece is cut inside. Judgement: longer than words are.
const LONG_PIECE: usize = 48;
/// How often a cut steps back when the end of the beginning weighs more alone than it did in the whole. Judgement: one
/// step is what the split rules need.
const STEPS_BACK: usize = 8;

/// Cuts a text.
pub(crate) fn cut(family: Family, text: &str, tokens: u64) -> Cut {
    let mut bytes = fitting(family, text, tokens);
    for _ in 0..STEPS_BACK {
        let head = text.get(..bytes).unwrap_or_default();
        if at_most(family, head) <= tokens {
            break;
        }
        bytes = last_start(family, head);
    }
    // At least one character: a reader must get on.
    let bytes = bytes.max(text.chars().next().map_or(0, char::len_utf8));
    Cut { bytes, count: count(family, text.get(..bytes).unwrap_or_default()) }
}

/// Bytes of the pieces that fit, with the part of a long one that does.
fn fitting(family: Family, text: &str, tokens: u64) -> usize {
    let mut tally = Tally::new(family);
    let mut bytes = 0;
    for (piece, of) in tally.vocabulary().pieces(text) {
        tally.piece(piece, of);
        if tally.at_most() > tokens {
            let long = piece.len() > LONG_PIECE || bytes == 0;
            let rest = tokens.saturating_sub(at_most(family, text.get(..bytes).unwrap_or_default()));
            return bytes + if long { inside(family, piece, rest) } else { 0 };
        }
        bytes += piece.len();
    }
    bytes
}

/// Bytes of the beginning of one piece that fit, by halving.
fn inside(family: Family, piece: &str, tokens: u64) -> usize {
    // No token of any family is longer than 128 bytes of one piece, so what is far beyond is not looked at.
    let far = usize::try_from(tokens.saturating_add(1).saturating_mul(256)).unwrap_or(usize::MAX).min(piece.len());
    let (mut fits, mut over) = (0, far.saturating_add(1));
    while over - fits > 1 {
        let middle = piece.floor_char_boundary(fits + (over - fits) / 2);
        if middle <= fits {
            // No border of a character in the lower half: try the next one above.
            let next = piece.ceil_char_boundary(fits + 1);
            if next >= over || at_most(family, piece.get(..next).unwrap_or_default()) > tokens {
                break;
            }
            fits = next;
        } else if at_most(family, piece.get(..middle).unwrap_or_default()) <= tokens {
            fits = middle;
        } else {
            over = middle;
        }
    }
    fits
}

/// Where the last piece of a text starts.
fn last_start(family: Family, text: &str) -> usize {
    let last = Tally::new(family).vocabulary().pieces(text).last().map_or(0, |(piece, _)| piece.len());
    text.len() - last
}
