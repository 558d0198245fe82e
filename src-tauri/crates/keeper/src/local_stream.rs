//! One end of a unix socket, watched for input only.
//!
//! The runtime's own type is also watched for room to write, and a unix socket reports that whenever the peer reads:
//! one wake-up of the process for each message that was sent. Here the writing half watches only while it is blocked.

use std::io::{self, IoSlice, Write as _};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdStream;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::AsyncWrite;
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

/// The reading half. The type reads any descriptor of a stream and watches it for input only.
pub type LocalReader = pipe::Receiver;

/// The writing half. Dropping it tells the peer that nothing more comes.
#[derive(Debug)]
pub struct LocalWriter {
    stream: StdStream,
    /// Watches for room while there is none.
    blocked: Option<pipe::Sender>,
}

/// Splits a connection into its halves, watched by the runtime of the calling task.
///
/// # Errors
/// When the process has no descriptors left.
pub fn split(stream: UnixStream) -> io::Result<(LocalReader, LocalWriter)> {
    // It stays non-blocking.
    let stream = stream.into_std()?;
    Ok((reader(stream.try_clone()?)?, LocalWriter::new(stream)))
}

/// Reads a non-blocking stream.
///
/// # Errors
/// When the runtime cannot watch it.
pub fn reader(stream: StdStream) -> io::Result<LocalReader> {
    pipe::Receiver::from_owned_fd_unchecked(OwnedFd::from(stream))
}

impl LocalWriter {
    /// Writes to a non-blocking stream.
    #[must_use]
    pub const fn new(stream: StdStream) -> Self {
        Self { stream, blocked: None }
    }

    /// Writes what there is room for now, without waiting and without a runtime. `WouldBlock` when there is none.
    ///
    /// # Errors
    /// When there is no room, or the peer is gone.
    pub fn write_now(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        if self.blocked.is_some() {
            // Whoever waits for room goes first.
            return Err(io::ErrorKind::WouldBlock.into());
        }
        loop {
            match (&self.stream).write_vectored(parts) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                done => return done,
            }
        }
    }
}

impl AsyncWrite for LocalWriter {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.blocked.is_none() {
            match self.write_now(parts) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                done => return Poll::Ready(done),
            }
            let copy = OwnedFd::from(self.stream.try_clone()?);
            self.blocked = Some(pipe::Sender::from_owned_fd_unchecked(copy)?);
        }
        match &mut self.blocked {
            Some(blocked) => Pin::new(blocked).poll_write_vectored(cx, parts),
            None => Poll::Ready(Ok(0)),
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    /// Everything is with the system already; room is not watched any more.
    fn poll_flush(mut self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.blocked = None;
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.as_mut().poll_flush(cx))?;
        Poll::Ready(self.stream.shutdown(Shutdown::Write))
    }
}

impl Drop for LocalWriter {
    fn drop(&mut self) {
        // It fails when the peer is gone, who then needs no word.
        let _ = self.stream.shutdown(Shutdown::Write);
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    #[tokio::test]
    async fn more_than_a_socket_holds_arrives_whole_and_the_end_is_told() {
        let (one, other) = UnixStream::pair().expect("a pair");
        let ((mut from, _back), (_, mut to)) = (split(one).expect("halves"), split(other).expect("halves"));
        let sent: Vec<u8> = (0..2_000_000_u32).map(|n| (n % 251) as u8).collect();
        let expected = sent.clone();
        let writing = async {
            to.write_all(&sent).await.expect("written");
            to.flush().await.expect("flushed");
            to.write_all(b"more").await.expect("written");
            drop(to);
        };
        let mut read = Vec::new();
        let reading = from.read_to_end(&mut read);
        let ((), done) = tokio::join!(writing, reading);
        assert_eq!(done.ok(), Some(2_000_004), "everything, and then the end");
        assert!(read.starts_with(&expected) && read.ends_with(b"more"), "as it was sent");
    }

    #[tokio::test]
    async fn writing_at_once_takes_what_fits_and_never_waits() {
        let (one, _other) = UnixStream::pair().expect("a pair");
        let (_from, mut to) = split(one).expect("halves");
        let piece = vec![7_u8; 100_000];
        let refused = (0..100).find_map(|_| to.write_now(&[IoSlice::new(&piece)]).err());
        assert_eq!(refused.map(|error| error.kind()), Some(io::ErrorKind::WouldBlock), "nobody reads");
    }
}
