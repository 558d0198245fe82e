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
}

impl<R: AsyncRead + Unpin> StdioLines<R> {
    /// Lines of at most `cap` bytes.
    pub(crate) fn new(from: R, cap: usize) -> Self {
        Self { from: BufReader::new(from), line: Vec::new(), cap, is_too_long: false }
    }

    /// The next line that is not empty; `None` at the end. The last line needs no line break. Cancel-safe.
    pub(crate) async fn next(&mut self) -> io::Result<Option<StdioLine>> {
        loop {
            let chunk = self.from.fill_buf().await?;
            let is_end = chunk.is_empty();
            let end = chunk.iter().position(|byte| *byte == b'\n');
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
    use std::pin::Pin;

    use rustix::fs::{FileType, fstat};
    use tokio::io::{AsyncRead, AsyncWrite};
    use tokio::net::UnixStream;
    use tokio::net::unix::pipe;

    pub(crate) fn input() -> Option<Pin<Box<dyn AsyncRead + Send>>> {
        let (kind, own) = copy(rustix::stdio::stdin())?;
        match kind {
            FileType::Fifo => Some(Box::pin(pipe::Receiver::from_owned_fd(own).ok()?)),
            FileType::Socket => Some(Box::pin(socket(own)?)),
            _ => None,
        }
    }

    pub(crate) fn output() -> Option<Pin<Box<dyn AsyncWrite + Send>>> {
        let (kind, own) = copy(rustix::stdio::stdout())?;
        match kind {
            FileType::Fifo => Some(Box::pin(pipe::Sender::from_owned_fd(own).ok()?)),
            FileType::Socket => Some(Box::pin(socket(own)?)),
            _ => None,
        }
    }

    fn copy(fd: BorrowedFd<'_>) -> Option<(FileType, OwnedFd)> {
        let kind = FileType::from_raw_mode(fstat(fd).ok()?.st_mode);
        Some((kind, fd.try_clone_to_owned().ok()?))
    }

    fn socket(own: OwnedFd) -> Option<UnixStream> {
        let stream = std::os::unix::net::UnixStream::from(own);
        stream.set_nonblocking(true).ok()?;
        UnixStream::from_std(stream).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
