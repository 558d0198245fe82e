//! Lines of bounded length, and the process's own standard streams without a thread in between.
//!
//! Reading is cancel-safe: what was read is kept. A line that is too long is dropped to its end and reported as such.

use std::io;
use std::pin::Pin;

use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, BufReader};

/// One line of input.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum StdioLine {
    /// Without its line break; never empty.
    Whole(Vec<u8>),
    /// It was longer than allowed, and was dropped.
    TooLong,
}

/// Lines as they arrive.
pub(crate) struct StdioLines<R> {
    from: BufReader<R>,
    line: Vec<u8>,
    cap: usize,
    is_too_long: bool,
    /// Whether a last line without a line break is one.
    has_open_end: bool,
}

/// One read: many small lines at once, and few reads for a large one.
const READ_BYTES: usize = 64 * 1_024;

impl<R: AsyncRead + Unpin> StdioLines<R> {
    /// Lines of at most `cap` bytes.
    pub(crate) fn new(from: R, cap: usize) -> Self {
        Self {
            from: BufReader::with_capacity(READ_BYTES, from),
            line: Vec::new(),
            cap,
            is_too_long: false,
            has_open_end: true,
        }
    }

    /// A last line without a line break is half a line, and is dropped: its writer died over it.
    pub(crate) fn without_half_lines(self) -> Self {
        Self { has_open_end: false, ..self }
    }

    /// Whether the next line was read already, so that [`StdioLines::next`] does not wait for it.
    pub(crate) fn has_line(&self) -> bool {
        let read = self.from.buffer();
        let line = keeper::line_end(read).and_then(|end| read.get(..end));
        // An empty line is skipped, and what comes after it may not be here yet.
        line.is_some_and(|line| !line.trim_ascii().is_empty())
    }

    /// The next line that is not empty; `None` at the end. The last line needs no line break, unless half lines are
    /// dropped. Cancel-safe.
    pub(crate) async fn next(&mut self) -> io::Result<Option<StdioLine>> {
        loop {
            let chunk = self.from.fill_buf().await?;
            let is_end = chunk.is_empty();
            let end = keeper::line_end(chunk);
            let taken = end.unwrap_or(chunk.len());
            if self.line.len().saturating_add(taken) > self.cap {
                self.is_too_long = true;
                self.line = Vec::new();
            }
            if !self.is_too_long {
                self.line.extend_from_slice(chunk.get(..taken).unwrap_or_default());
            }
            self.from.consume(taken.saturating_add(usize::from(end.is_some())));
            if end.is_none() && !is_end {
                continue;
            }
            if is_end && !self.has_open_end {
                self.line = Vec::new();
                return Ok(None);
            }
            if std::mem::take(&mut self.is_too_long) {
                return Ok(Some(StdioLine::TooLong));
            }
            let mut line = std::mem::take(&mut self.line);
            if line.last() == Some(&b'\r') {
                line.pop();
            }
            if !line.iter().all(u8::is_ascii_whitespace) {
                return Ok(Some(StdioLine::Whole(line)));
            }
            if is_end {
                return Ok(None);
            }
        }
    }
}

/// This process's standard input.
pub(crate) fn input() -> Pin<Box<dyn AsyncRead + Send>> {
    #[cfg(unix)]
    if let Some(input) = unix::input() {
        return input;
    }
    Box::pin(tokio::io::stdin())
}

/// This process's standard output.
pub(crate) fn output() -> Pin<Box<dyn AsyncWrite + Send>> {
    #[cfg(unix)]
    if let Some(output) = unix::output() {
        return output;
    }
    Box::pin(tokio::io::stdout())
}

/// Pipes and sockets are polled by the system; for everything else tokio's thread reads.
#[cfg(unix)]
mod unix {
    use std::os::fd::{BorrowedFd, OwnedFd};
    use std::os::unix::net::UnixStream;
    use std::pin::Pin;

    use rustix::fs::{FileType, fstat};
    use tokio::io::{AsyncRead, AsyncWrite};
    use tokio::net::unix::pipe;

    pub(crate) fn input() -> Option<Pin<Box<dyn AsyncRead + Send>>> {
        let (kind, own) = copy(rustix::stdio::stdin())?;
        match kind {
            FileType::Fifo => Some(Box::pin(pipe::Receiver::from_owned_fd(own).ok()?)),
            FileType::Socket => Some(Box::pin(keeper::reader(socket(own)?).ok()?)),
            _ => None,
        }
    }

    pub(crate) fn output() -> Option<Pin<Box<dyn AsyncWrite + Send>>> {
        let (kind, own) = copy(rustix::stdio::stdout())?;
        match kind {
            FileType::Fifo => Some(Box::pin(pipe::Sender::from_owned_fd(own).ok()?)),
            FileType::Socket => Some(Box::pin(keeper::LocalWriter::new(socket(own)?))),
            _ => None,
        }
    }

    fn copy(fd: BorrowedFd<'_>) -> Option<(FileType, OwnedFd)> {
        let kind = FileType::from_raw_mode(fstat(fd).ok()?.st_mode);
        Some((kind, fd.try_clone_to_owned().ok()?))
    }

    fn socket(own: OwnedFd) -> Option<UnixStream> {
        let stream = UnixStream::from(own);
        stream.set_nonblocking(true).ok()?;
        Some(stream)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn half_a_line_of_a_core_that_died_is_no_line() {
        let text: &[u8] = b"{\"id\":1,\"result\":{}}\n{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"content\":[";
        let mut lines = StdioLines::new(text, 100).without_half_lines();
        let whole = Some(StdioLine::Whole(b"{\"id\":1,\"result\":{}}".to_vec()));
        assert_eq!(lines.next().await.expect("a line"), whole, "what ended is a line");
        assert_eq!(lines.next().await.expect("the end"), None, "what broke off answers nothing");
    }

    #[tokio::test]
    async fn lines_are_cut_at_their_marks_and_too_long_ones_are_told() {
        let text: &[u8] = b"{\"a\":1}\r\n\n  \nxxxxxxxxxxxxxxxxxxxx\n{\"b\":2}";
        let mut lines = StdioLines::new(text, 10);
        let whole = |text: &str| Some(StdioLine::Whole(text.into()));
        assert_eq!(lines.next().await.expect("a line"), whole("{\"a\":1}"), "without the mark");
        assert_eq!(
            lines.next().await.expect("a line"),
            Some(StdioLine::TooLong),
            "empty lines say nothing, long ones are told"
        );
        assert_eq!(lines.next().await.expect("a line"), whole("{\"b\":2}"), "the last needs no mark");
        assert_eq!(lines.next().await.expect("the end"), None);
    }

    #[tokio::test]
    async fn a_line_is_only_announced_when_it_can_be_had_without_waiting() {
        use tokio::io::AsyncWriteExt as _;
        let (mut to, from) = tokio::io::duplex(1_024);
        let mut lines = StdioLines::new(from, 100);
        to.write_all(b"one\ntwo\n \nthr").await.expect("written");
        lines.next().await.expect("one");
        assert!(lines.has_line(), "the second came with it");
        lines.next().await.expect("two");
        assert!(!lines.has_line(), "a blank line is none, and the third is not whole");
        to.write_all(b"ee\nfour").await.expect("written");
        assert_eq!(lines.next().await.expect("a line"), Some(StdioLine::Whole(b"three".to_vec())));
        assert!(!lines.has_line(), "the last has no end yet");
    }
}
