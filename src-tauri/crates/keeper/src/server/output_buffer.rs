//! Output of the child that no core has recorded yet.
//!
//! Ordered, bounded in bytes, and settled piece by piece in any order. A new core gets everything that is left. Nothing
//! is dropped: when the buffer is full, the child is not read.

use std::collections::BTreeMap;

use bytes::Bytes;

use crate::protocol::frame::{FrameKind, KeeperFrame};

/// Fixed cost of a piece, so that a million empty lines are bounded too.
const PIECE_BYTES: usize = 64;

/// The buffer, by piece number.
pub(crate) struct OutputBuffer {
    pieces: BTreeMap<u64, KeeperFrame>,
    bytes: usize,
    cap: usize,
    next: u64,
    /// The first piece that the current core did not get.
    unsent: u64,
}

impl OutputBuffer {
    /// A buffer for `cap` bytes.
    pub(crate) const fn new(cap: usize) -> Self {
        Self { pieces: BTreeMap::new(), bytes: 0, cap, next: 1, unsent: 1 }
    }

    /// Whether another piece may be added.
    pub(crate) const fn has_room(&self) -> bool {
        self.bytes < self.cap
    }

    /// Adds a piece and returns its number.
    pub(crate) fn put(&mut self, kind: FrameKind, body: impl Into<Bytes>) -> u64 {
        let body = body.into();
        let number = self.next;
        self.next += 1;
        self.bytes += body.len() + PIECE_BYTES;
        self.pieces.insert(number, KeeperFrame::new(kind, number, body));
        number
    }

    /// A piece is recorded, or needs no record.
    pub(crate) fn settle(&mut self, number: u64) {
        if let Some(frame) = self.pieces.remove(&number) {
            self.bytes -= frame.body.len() + PIECE_BYTES;
        }
    }

    /// Another core connects: it gets all that is left.
    pub(crate) const fn rewind(&mut self) {
        self.unsent = 0;
    }

    /// Whether the current core has not been sent everything.
    pub(crate) fn has_unsent(&self) -> bool {
        self.pieces.range(self.unsent..).next().is_some()
    }

    /// The next piece for the current core.
    pub(crate) fn next_unsent(&mut self) -> Option<KeeperFrame> {
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
        let mut buffer = OutputBuffer::new(10_000);
        let numbers: Vec<u64> = (0..4_u8).map(|n| buffer.put(FrameKind::Line, vec![n])).collect();
        let sent: Vec<u64> = std::iter::from_fn(|| buffer.next_unsent()).map(|frame| frame.number).collect();
        assert_eq!(sent, numbers, "the first core gets all");
        buffer.settle(numbers[1]);
        assert!(!buffer.has_unsent(), "nothing new for it");
        buffer.rewind();
        let again: Vec<u64> = std::iter::from_fn(|| buffer.next_unsent()).map(|frame| frame.number).collect();
        assert_eq!(again, [numbers[0], numbers[2], numbers[3]], "the next core gets what is not on record");
    }

    #[test]
    fn a_full_buffer_has_room_again_once_something_is_settled() {
        let mut buffer = OutputBuffer::new(1_000);
        let first = buffer.put(FrameKind::Line, vec![0; 900]);
        assert!(buffer.has_room(), "not full yet");
        buffer.put(FrameKind::Line, vec![0; 900]);
        assert!(!buffer.has_room(), "one piece may go over, no more");
        buffer.settle(first);
        buffer.settle(first);
        assert!(buffer.has_room(), "settled once, however often it is said");
    }
}
