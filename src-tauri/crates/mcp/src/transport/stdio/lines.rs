//! Lines of a pipe, bounded: a line longer than the limit is skimmed for its id and thrown away.
//!
//! Nothing of an oversized line is kept but the id, so that the request it answers can be told at once and the link
//! lives on. It does not look into lines otherwise. Not cancel-safe: one reader reads to the end.

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

use crate::message::Skim;

/// What was read.
pub(super) enum Line<'a> {
    /// A line without its end, not empty.
    Whole(&'a [u8]),
    /// A line that was too long.
    TooLong(Skim),
}

/// Reads lines.
pub(super) struct Lines<R> {
    from: BufReader<R>,
    line: Vec<u8>,
    cap: usize,
    id_cap: usize,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Lines of at most `cap` bytes.
    pub(super) fn new(from: R, cap: usize, id_cap: usize) -> Self {
        Self { from: BufReader::new(from), line: Vec::new(), cap, id_cap }
    }

    /// Waits until there is something, and tells whether there is.
    pub(super) async fn first(&mut self) -> bool {
        matches!(self.from.fill_buf().await, Ok(bytes) if !bytes.is_empty())
    }

    /// The next line that is not empty; `None` at the end. What follows the last line break counts as a line.
    pub(super) async fn next(&mut self) -> Option<Line<'_>> {
        self.line.clear();
        // A burst of one large line must not hold its memory for ever.
        self.line.shrink_to(self.cap / 64);
        let mut skim: Option<Skim> = None;
        loop {
            let Ok(bytes) = self.from.fill_buf().await else { return None };
            if bytes.is_empty() && self.line.is_empty() && skim.is_none() {
                return None;
            }
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let piece = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default();
            match &mut skim {
                Some(skim) => skim.feed(piece, self.id_cap),
                None if self.line.len() + piece.len() > self.cap => {
                    let mut begun = Skim::default();
                    begun.feed(&self.line, self.id_cap);
                    begun.feed(piece, self.id_cap);
                    self.line = Vec::new();
                    skim = Some(begun);
                }
                None => self.line.extend_from_slice(piece),
            }
            let ended = end.is_some() || bytes.is_empty();
            let used = end.map_or(bytes.len(), |at| at + 1);
            self.from.consume(used);
            if !ended {
                continue;
            }
            if let Some(skim) = skim {
                return Some(Line::TooLong(skim));
            }
            if self.line.iter().all(u8::is_ascii_whitespace) {
                self.line.clear();
                continue;
            }
            return Some(Line::Whole(self.line.trim_ascii()));
        }
    }
}
