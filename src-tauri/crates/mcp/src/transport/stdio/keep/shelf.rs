//! The child's output that no core has put on record yet.
//!
//! In order, bounded by bytes, settled piece by piece in any order. A core that comes gets everything that is left
//! from the beginning. It drops nothing: a child whose output is not taken is not read any further.

use std::collections::BTreeMap;

use super::frame::{Frame, Kind};

/// Fixed cost of a piece, so that a million empty lines are bounded too.
const PIECE_BYTES: usize = 64;

/// Pieces of output.
pub(super) struct Shelf {
    pieces: BTreeMap<u64, Frame>,
    bytes: usize,
    cap: usize,
    next: u64,
    /// The first piece that the present core did not get.
    unsent: u64,
}

impl Shelf {
    /// A shelf for so many bytes.
    pub(super) const fn new(cap: usize) -> Self {
        Self { pieces: BTreeMap::new(), bytes: 0, cap, next: 1, unsent: 1 }
    }

    /// Whether another piece may be put.
    pub(super) const fn has_room(&self) -> bool {
        self.bytes < self.cap
    }

    /// Puts a piece; its number.
    pub(super) fn put(&mut self, kind: Kind, body: Vec<u8>) -> u64 {
        let number = self.next;
        self.next += 1;
        self.bytes += body.len() + PIECE_BYTES;
        self.pieces.insert(number, Frame::new(kind, number, body));
        number
    }

    /// A piece is on record, or needs none.
    pub(super) fn settle(&mut self, number: u64) {
        if let Some(frame) = self.pieces.remove(&number) {
            self.bytes -= frame.body.len() + PIECE_BYTES;
        }
    }

    /// Another core comes: all that is left goes to it.
    pub(super) const fn rewind(&mut self) {
        self.unsent = 0;
    }

    /// Whether the present core has not got everything.
    pub(super) fn has_unsent(&self) -> bool {
        self.pieces.range(self.unsent..).next().is_some()
    }

    /// The next piece for the present core.
    pub(super) fn next_unsent(&mut self) -> Option<Frame> {
        let (number, frame) = self.pieces.range(self.unsent..).next()?;
        self.unsent = number + 1;
        Some(frame.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_settled_comes_again_in_order_and_what_is_settled_never() {
        let mut shelf = Shelf::new(10_000);
        let numbers: Vec<u64> = (0..4_u8).map(|n| shelf.put(Kind::Line, vec![n])).collect();
        let sent: Vec<u64> = std::iter::from_fn(|| shelf.next_unsent()).map(|frame| frame.number).collect();
        assert_eq!(sent, numbers, "the first core gets all");
        shelf.settle(numbers[1]);
        assert!(!shelf.has_unsent(), "nothing new for it");
        shelf.rewind();
        let again: Vec<u64> = std::iter::from_fn(|| shelf.next_unsent()).map(|frame| frame.number).collect();
        assert_eq!(again, [numbers[0], numbers[2], numbers[3]], "the next core gets what is not on record");
    }

    #[test]
    fn a_full_shelf_has_room_again_once_something_is_settled() {
        let mut shelf = Shelf::new(1_000);
        let first = shelf.put(Kind::Line, vec![0; 900]);
        assert!(shelf.has_room(), "not full yet");
        shelf.put(Kind::Line, vec![0; 900]);
        assert!(!shelf.has_room(), "one piece may go over, no more");
        shelf.settle(first);
        shelf.settle(first);
        assert!(shelf.has_room(), "settled once, however often it is said");
    }
}
