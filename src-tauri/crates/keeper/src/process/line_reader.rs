//! Reads lines from a pipe, bounded: of a line that is too long only the message id is kept.
//!
//! With the id, the request that the line answers can fail at once and the link survives. Lines are slices of what was
//! read. Cancel-safe: what was read is kept.

use std::future::poll_fn;
use std::pin::pin;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt as _};

use super::message_skim::MessageSkim;
use crate::read_buffer::{line_end, make_room};

/// One line of output.
pub enum OutputLine {
    /// A line without its end and the space around it, not empty.
    Whole(Bytes),
    /// A line that was too long, as far as it was skimmed.
    TooLong(MessageSkim),
}

/// Reads lines with bounded memory.
pub struct LineReader<R> {
    from: R,
    read: BytesMut,
    /// So many bytes of `read` hold no line break.
    searched: usize,
    skim: Option<MessageSkim>,
    is_over: bool,
    has_read: bool,
    cap: usize,
    id_cap: usize,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    /// Lines of at most `cap` bytes.
    pub fn new(from: R, cap: usize, id_cap: usize) -> Self {
        let read = BytesMut::new();
        Self { from, read, searched: 0, skim: None, is_over: false, has_read: false, cap, id_cap }
    }

    /// Waits for the first byte; `false` when the pipe ended before it.
    pub async fn first(&mut self) -> bool {
        while !self.has_read && !self.is_over {
            poll_fn(|cx| self.poll_read(cx)).await;
        }
        self.has_read
    }

    /// Whether a byte arrived.
    pub const fn has_read(&self) -> bool {
        self.has_read
    }

    /// The next line that is not empty; `None` at the end. What follows the last line break counts as a line.
    pub async fn next(&mut self) -> Option<OutputLine> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    /// The same for a caller that polls.
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<OutputLine>> {
        loop {
            if let Some(line) = self.take_line() {
                return Poll::Ready(Some(line));
            }
            if self.is_over {
                return Poll::Ready(None);
            }
            ready!(self.poll_read(cx));
        }
    }

    fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        make_room(&mut self.read, 1);
        // A pipe that cannot be read any more has ended; what came before is a line.
        let read = ready!(pin!(self.from.read_buf(&mut self.read)).poll(cx)).unwrap_or(0);
        self.has_read |= read > 0;
        self.is_over = read == 0;
        Poll::Ready(())
    }

    fn take_line(&mut self) -> Option<OutputLine> {
        loop {
            let unsearched = self.read.get(self.searched..).unwrap_or_default();
            let Some(end) = line_end(unsearched).map(|at| self.searched + at) else {
                self.searched = self.read.len();
                return self.take_part();
            };
            let mut line = self.read.split_to(end + 1);
            line.truncate(end);
            self.searched = 0;
            if let Some(line) = self.whole(line) {
                return Some(line);
            }
        }
    }

    /// What is there without a line break: skimmed when it is too much, and a line when the pipe has ended.
    fn take_part(&mut self) -> Option<OutputLine> {
        if self.is_over {
            self.searched = 0;
            let line = self.read.split();
            return if line.is_empty() && self.skim.is_none() { None } else { self.whole(line) };
        }
        if self.skim.is_some() || self.read.len() > self.cap {
            self.skim.get_or_insert_default().feed(&self.read, self.id_cap);
            self.read.clear();
            self.searched = 0;
        }
        None
    }

    fn whole(&mut self, line: BytesMut) -> Option<OutputLine> {
        if self.skim.is_some() || line.len() > self.cap {
            let mut skim = self.skim.take().unwrap_or_default();
            skim.feed(&line, self.id_cap);
            return Some(OutputLine::TooLong(skim));
        }
        let line = line.freeze();
        let text = line.trim_ascii();
        (!text.is_empty()).then(|| OutputLine::Whole(line.slice_ref(text)))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt as _;

    use super::*;

    /// Lines of at most 20 bytes out of `text`, which arrives in pieces of `piece` bytes; `!` is one that was too long.
    async fn lines_of(text: &[u8], piece: usize) -> Vec<String> {
        let (mut to, from) = tokio::io::duplex(64);
        let writing = async move {
            for part in text.chunks(piece) {
                to.write_all(part).await.expect("written");
            }
        };
        let reading = async move {
            let (mut lines, mut all) = (LineReader::new(from, 20, 10), Vec::new());
            while let Some(line) = lines.next().await {
                all.push(match line {
                    OutputLine::Whole(line) => String::from_utf8(line.to_vec()).expect("text"),
                    OutputLine::TooLong(skim) => format!("!{}", skim.id_text().unwrap_or_default()),
                });
            }
            all
        };
        tokio::join!(writing, reading).1
    }

    #[tokio::test]
    async fn lines_are_the_same_however_the_pipe_cuts_them() {
        let text = b"\n one \r\n\n  \n{\"x\":\"0123456789012345\",\"id\":7}\ntwelve bytes\n01234567890123456789\n\
            012345678901234567890\nlast";
        let expected = ["one", "!7", "twelve bytes", "01234567890123456789", "!", "last"];
        for piece in 1..=text.len() {
            assert_eq!(lines_of(text, piece).await, expected, "in pieces of {piece}");
        }
        assert!(lines_of(b"", 1).await.is_empty() && lines_of(b" \n\n", 1).await.is_empty(), "nothing is no line");
        assert_eq!(lines_of(b"{\"id\":12,\"and\":\"so on", 3).await, ["!12"], "the last may be too long as well");
    }
}
