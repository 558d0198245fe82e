//! The longest beginning of a text that fits into so many tokens.
//!
//! Goes piece by piece and ends between two of them, so that words stay whole; a piece that is long by itself (a line
//! of base64, Chinese without spaces) is cut inside, between characters. Estimates are cut with their error on top, so
//! that a slice fits whatever the true count is. Costs as much as the beginning, not as the text.

use domain::ports::Cut;
use domain::tokens::Family;

use crate::bpe::wide;
use crate::token_sum::{TokenSum, at_most, count};

/// Bytes from which a piece is cut inside. Judgement: longer than words are.
const LONG_PIECE: usize = 48;
/// Characters that are looked at beyond the first that does not fit. Judgement: as long as words are.
const BEYOND: usize = 12;
/// How often a cut steps back when the end of the beginning has more tokens alone than it did in the whole. Judgement: one
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
    let mut sum = TokenSum::new(family);
    let vocabulary = sum.vocabulary();
    let mut bytes = 0;
    for piece in vocabulary.pieces(text) {
        if piece.len() > LONG_PIECE || bytes == 0 {
            let fits = inside(&mut sum, piece, tokens);
            bytes += fits;
            if fits < piece.len() {
                return bytes;
            }
        } else {
            sum.piece(piece, vocabulary.piece(piece));
            if sum.at_most() > tokens {
                return bytes;
            }
            bytes += piece.len();
        }
    }
    bytes
}

/// Bytes of the beginning of one piece that fit, and adds them to the sum. Goes a little beyond: one more character
/// can join two tokens into one.
fn inside(sum: &mut TokenSum, piece: &str, tokens: u64) -> usize {
    let until = |end: usize| piece.get(..piece.floor_char_boundary(end)).unwrap_or_default();
    let fits = |end: usize, of: usize| sum.at_most_with(until(end), wide(of)) <= tokens;
    let beginnings = sum.vocabulary().beginnings(piece, |end, of| !fits(end, of));
    let start = beginnings.start_of_search(fits);
    let mut best = (start, beginnings.tokens(start));
    let mut beyond = 0;
    for (at, character) in piece.get(start..).unwrap_or_default().char_indices() {
        let end = start + at + character.len_utf8();
        let of = beginnings.tokens(end);
        if fits(end, of) {
            (best, beyond) = ((end, of), 0);
        } else {
            beyond += 1;
            if beyond > BEYOND {
                break;
            }
        }
    }
    sum.piece(until(best.0), wide(best.1));
    best.0
}

/// Where the last piece of a text starts.
fn last_start(family: Family, text: &str) -> usize {
    let last = TokenSum::new(family).vocabulary().pieces(text).last().map_or(0, str::len);
    text.len() - last
}
