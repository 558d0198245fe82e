//! The tokens of each beginning of one piece, all together about as cheap as counting it once.
//!
//! The first tokens of an encoding are the encoding of their bytes, so one encoding answers for every beginning that
//! ends where a token does. Any other needs only its last bytes encoded anew, from the last token that may stand before
//! them.

use super::merge::{are_neighbours, ends};
use super::table::Table;

/// One piece, encoded as far as it was needed.
pub(crate) struct Beginnings<'a> {
    table: &'static Table,
    piece: &'a str,
    /// Where each token ends.
    ends: Vec<usize>,
}

impl<'a> Beginnings<'a> {
    /// Encodes a piece until `is_enough` says so of the bytes and tokens of a beginning.
    pub(super) fn of(table: &'static Table, piece: &'a str, mut is_enough: impl FnMut(usize, usize) -> bool) -> Self {
        let ends = ends(table, piece.as_bytes(), |ends| is_enough(ends.last().copied().unwrap_or(0), ends.len()));
        Self { table, piece, ends }
    }

    /// Where a search for the longest beginning that fits may start: a token's end that fits, close before the last that does.
    pub(crate) fn start_of_search(&self, fits: impl Fn(usize, usize) -> bool) -> usize {
        let (mut fitting, mut beyond) = (0, self.ends.len());
        while fitting < beyond {
            let middle = fitting + (beyond - fitting).div_ceil(2);
            if fits(self.end(middle), middle) { fitting = middle } else { beyond = middle - 1 }
        }
        let starts = (0..=fitting).rev().map(|tokens| self.end(tokens));
        let mut characters = starts.filter(|end| self.piece.is_char_boundary(*end));
        characters.find(|end| fits(*end, self.tokens(*end))).unwrap_or(0)
    }

    /// The tokens of the beginning that ends at a byte.
    pub(crate) fn tokens(&self, end: usize) -> usize {
        let whole = self.ends.partition_point(|token_end| *token_end <= end);
        let found = (0..=whole).rev().find_map(|kept| {
            let rest = self.piece.as_bytes().get(self.end(kept)..end)?;
            if rest.is_empty() {
                return Some(kept);
            }
            let rest_ends = ends(self.table, rest, |_| false);
            let first = rest.get(..rest_ends.first().copied()?)?;
            let may_follow = kept == 0 || are_neighbours(self.table, self.token(kept)?, first);
            may_follow.then_some(kept + rest_ends.len())
        });
        found.unwrap_or(0)
    }

    /// Where so many tokens end.
    fn end(&self, tokens: usize) -> usize {
        tokens.checked_sub(1).and_then(|last| self.ends.get(last)).copied().unwrap_or(0)
    }

    /// The token that is the last of so many.
    fn token(&self, tokens: usize) -> Option<&[u8]> {
        self.piece.as_bytes().get(self.end(tokens - 1)..self.end(tokens))
    }
}
