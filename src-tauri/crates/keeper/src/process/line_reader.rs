//! Reads lines from a pipe, bounded: of a line that is too long only the message id is kept.
//!
//! With the id, the request that the line answers can fail at once and the link survives. Not cancel-safe: one reader
//! reads to the end.

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

use super::message_skim::MessageSkim;

/// One line of output.
pub enum OutputLine<'a> {
    /// A line without its end, not empty.
    Whole(&'a [u8]),
    /// A line that was too long, as far as it was skimmed.
    TooLong(MessageSkim),
}

/// Reads lines with bounded memory.
pub struct LineReader<R> {
    from: BufReader<R>,
    line: Vec<u8>,
    cap: usize,
    id_cap: usize,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    /// Lines of at most `cap` bytes.
    pub fn new(from: R, cap: usize, id_cap: usize) -> Self {
        Self { from: BufReader::new(from), line: Vec::new(), cap, id_cap }
    }

    /// Waits for the first byte; `false` when the pipe ended before it.
    pub async fn first(&mut self) -> bool {
        matches!(self.from.fill_buf().await, Ok(bytes) if !bytes.is_empty())
    }

    /// The next line that is not empty; `None` at the end. What follows the last line break counts as a line.
    pub async fn next(&mut self) -> Option<OutputLine<'_>> {
        self.line.clear();
        // A burst of one large line must not hold its memory for ever.
        self.line.shrink_to(self.cap / 64);
        let mut skim: Option<MessageSkim> = None;
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
                    let mut begun = MessageSkim::default();
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
                return Some(OutputLine::TooLong(skim));
            }
            if self.line.iter().all(u8::is_ascii_whitespace) {
                self.line.clear();
                continue;
            }
            return Some(OutputLine::Whole(self.line.trim_ascii()));
        }
    }
}
