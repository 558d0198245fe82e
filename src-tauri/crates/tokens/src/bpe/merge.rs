//! Byte pair encoding of one piece: how many tokens it has, and where each ends.
//!
//! The definition is that of the vocabularies: of all neighbours that are a token together, those are joined whose
//! token was made first, until none are left. A queue finds them in order.
//!
//! A long piece is encoded in windows, so that the time grows with its length. This is exact: bytes cut into tokens are
//! cut as the encoding cuts them when, and only when, each two neighbours are (`are_neighbours`). The end of a window may
//! be cut otherwise once more text follows, so the next window begins some tokens before it, and is taken when its
//! first token may follow the last one kept.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::table::Table;

/// Bytes that are encoded at once. Judgement: the queue of so many stays in the fastest cache.
const WINDOW: usize = 1_024;
/// Bytes at the end of a window that are encoded again with what follows. Twice the longest token of any vocabulary.
const AGAIN: usize = 256;
/// How often a window begins one token earlier before the whole piece is encoded at once. Judgement: no text of the tests
/// needs it once.
const STEPS_BACK: usize = 16;

/// The tokens of a piece.
pub(super) fn count(table: &Table, piece: &[u8]) -> usize {
    if table.token(piece).is_some() {
        return 1;
    }
    if piece.len() > WINDOW {
        return ends(table, piece, |_| false).len();
    }
    Merge::of(table, piece).tokens
}

/// Where each token of a piece ends. `is_enough` is asked after each window, with the ends so far; these are those of a
/// beginning of the piece then.
pub(super) fn ends(table: &Table, piece: &[u8], is_enough: impl FnMut(&[usize]) -> bool) -> Vec<usize> {
    ends_by(WINDOW, table, piece, is_enough).unwrap_or_else(|| Merge::of(table, piece).ends().collect())
}

/// The same by windows of a length. `None` when no window fits to what stands before it.
fn ends_by(
    window: usize,
    table: &Table,
    piece: &[u8],
    mut is_enough: impl FnMut(&[usize]) -> bool,
) -> Option<Vec<usize>> {
    let mut ends: Vec<usize> = Vec::new();
    let mut steps_back = 0;
    loop {
        let from = ends.last().copied().unwrap_or(0);
        let text = piece.get(from..(from + window).min(piece.len()))?;
        let is_last = from + text.len() == piece.len();
        let keep = if is_last { text.len() } else { text.len().saturating_sub(AGAIN) };
        let merged = Merge::of(table, text);
        let mut found = merged.ends().peekable();
        let last_kept = piece.get(ends.iter().rev().nth(1).copied().unwrap_or(0)..from)?;
        let first = text.get(..found.peek().copied().unwrap_or(0))?;
        if last_kept.is_empty() || first.is_empty() || are_neighbours(table, last_kept, first) {
            ends.extend(found.map(|end| end + from).filter(|end| end - from <= keep));
            if is_last || is_enough(&ends) {
                return Some(ends);
            }
        } else {
            steps_back += 1;
            ends.pop();
            if steps_back > STEPS_BACK {
                return None;
            }
        }
    }
}

/// Whether two tokens stand beside each other where their bytes are encoded together.
pub(super) fn are_neighbours(table: &Table, left: &[u8], right: &[u8]) -> bool {
    let both = [left, right].concat();
    Merge::of(table, &both).ends().eq([left.len(), both.len()])
}

/// The joined neighbours of some bytes.
struct Merge {
    /// Where the part that starts at a byte ends; 0 where none starts.
    next: Vec<u32>,
    tokens: usize,
}

impl Merge {
    fn of(table: &Table, text: &[u8]) -> Self {
        let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
        let mut merge = Self { next: (1..=length).collect(), tokens: text.len() };
        // Where the part before the one that starts at a byte starts.
        let mut before: Vec<u32> = (0..length).map(|start| start.saturating_sub(1)).collect();
        let mut queue: BinaryHeap<Reverse<Pair>> = BinaryHeap::with_capacity(text.len());
        queue.extend((0..length).filter_map(|start| Pair::at(table, text, start, start.checked_add(2)?)));
        while let Some(Reverse(pair)) = queue.pop() {
            // Its parts may have been joined to others meanwhile: then the two that start there have another length.
            let Some(middle) = merge.end(pair.start) else { continue };
            let Some(end) = merge.end(middle).filter(|end| *end == pair.end) else { continue };
            merge.set(pair.start, end);
            merge.set(middle, 0);
            merge.tokens -= 1;
            if let Some(before) = before.get_mut(wide(end)) {
                *before = pair.start;
            }
            if let Some(following) = merge.end(end) {
                queue.extend(Pair::at(table, text, pair.start, following));
            }
            if pair.start > 0
                && let Some(&previous) = before.get(wide(pair.start))
            {
                queue.extend(Pair::at(table, text, previous, end));
            }
        }
        merge
    }

    /// Where the part that starts here ends; `None` where none does.
    fn end(&self, start: u32) -> Option<u32> {
        self.next.get(wide(start)).copied().filter(|end| *end > 0)
    }

    fn set(&mut self, start: u32, end: u32) {
        if let Some(next) = self.next.get_mut(wide(start)) {
            *next = end;
        }
    }

    fn ends(&self) -> impl Iterator<Item = usize> {
        std::iter::successors(self.end(0), |start| self.end(*start)).map(wide)
    }
}

/// Two neighbours that are a token together: the first made comes first, and of equal ones the first in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Pair {
    token: u32,
    start: u32,
    end: u32,
}

impl Pair {
    fn at(table: &Table, text: &[u8], start: u32, end: u32) -> Option<Reverse<Self>> {
        let token = table.token(text.get(wide(start)..wide(end))?)?;
        Some(Reverse(Self { token, start, end }))
    }
}

fn wide(place: u32) -> usize {
    usize::try_from(place).unwrap_or(usize::MAX)
}
