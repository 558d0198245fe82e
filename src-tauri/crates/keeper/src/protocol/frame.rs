//! The frames between a core and a keeper: a kind, a number and a body.
//!
//! The length of the body comes first, so a frame that was cut off by the end of a core is dropped as a whole and never
//! reaches the child.

use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf as _, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt as _};

use crate::read_buffer::make_room;

/// The kind of a frame, with its sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameKind {
    /// Core: a line for the child; whoever sent it waits until the child has it.
    Input,
    /// Core: the same, when the child's own answer says that it has the line: the confirmation can wait for company.
    Request,
    /// Core: store this note about the request with this id.
    Note,
    /// Core: remove that note.
    Forget,
    /// Core: this piece of output is recorded.
    Settle,
    /// Core: what the next core must know about the child.
    State,
    /// Core: end the child.
    End,
    /// Core: its challenge, and the proof that it knows the secret; always first.
    Proof,
    /// Core: stop the child's processes.
    Freeze,
    /// Core: let the child's processes continue.
    Thaw,
    /// Keeper: its challenge; always first.
    Challenge,
    /// Keeper: its greeting to an authenticated core.
    Hello,
    /// Keeper: another core is connected; always last.
    Busy,
    /// Keeper: a line of the child.
    Line,
    /// Keeper: a stand-in for a line that was too long.
    TooLong,
    /// Keeper: the child has ended.
    Exited,
    /// Keeper: the line with this number and all before it were written, or why this one was not.
    Wrote,
    /// Keeper: the child's first byte.
    Heard,
    /// Keeper: a piece of standard error.
    Stderr,
    /// Keeper: what was found of the child's processes when they were stopped, or continued.
    Frozen,
}

const KINDS: [(u8, FrameKind); 20] = [
    (1, FrameKind::Input),
    (2, FrameKind::Note),
    (3, FrameKind::Forget),
    (4, FrameKind::Settle),
    (5, FrameKind::State),
    (6, FrameKind::End),
    (7, FrameKind::Proof),
    (8, FrameKind::Request),
    (9, FrameKind::Freeze),
    (10, FrameKind::Thaw),
    (16, FrameKind::Hello),
    (17, FrameKind::Busy),
    (18, FrameKind::Line),
    (19, FrameKind::TooLong),
    (20, FrameKind::Exited),
    (21, FrameKind::Wrote),
    (22, FrameKind::Heard),
    (23, FrameKind::Stderr),
    (24, FrameKind::Challenge),
    (25, FrameKind::Frozen),
];

/// Bytes of kind, number and length.
pub(crate) const HEAD_BYTES: usize = 13;

/// One frame. Bodies hold arguments and results: only kind and size show.
#[derive(Clone)]
pub struct KeeperFrame {
    /// What it means.
    pub kind: FrameKind,
    /// What it is about: a piece of output, a line, a request or a visit, by kind.
    pub number: u64,
    /// Its content; empty for kinds that need none.
    pub body: Bytes,
}

impl std::fmt::Debug for KeeperFrame {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}({}, {} bytes)", self.kind, self.number, self.body.len())
    }
}

impl KeeperFrame {
    /// A frame with a body.
    pub fn new(kind: FrameKind, number: u64, body: impl Into<Bytes>) -> Self {
        Self { kind, number, body: body.into() }
    }

    /// A frame without a body.
    pub const fn bare(kind: FrameKind, number: u64) -> Self {
        Self { kind, number, body: Bytes::new() }
    }

    /// Appends its bytes to `to`.
    pub fn put(&self, to: &mut Vec<u8>) {
        self.put_head(to);
        to.extend_from_slice(&self.body);
    }

    /// Appends what precedes the body.
    pub(crate) fn put_head(&self, to: &mut Vec<u8>) {
        put_frame_head(self.kind, self.number, self.body.len(), to);
    }
}

/// Appends what precedes a body of `length` bytes.
pub fn put_frame_head(kind: FrameKind, number: u64, length: usize, to: &mut Vec<u8>) {
    let code = KINDS.iter().find(|(_, known)| *known == kind).map_or(0, |(code, _)| *code);
    to.push(code);
    to.extend_from_slice(&number.to_be_bytes());
    // Every sender bounds its bodies far below this.
    to.extend_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes());
}

/// Reads frames; their bodies are slices of what was read. Cancel-safe: what was read is kept.
pub struct FrameReader<R> {
    from: R,
    read: BytesMut,
    cap: usize,
}

impl<R: AsyncRead + Unpin> FrameReader<R> {
    /// Reads frames with bodies of at most `cap` bytes.
    pub fn new(from: R, cap: usize) -> Self {
        Self { from, read: BytesMut::new(), cap }
    }

    /// The next frame; `None` at the end, also in the middle of a frame.
    ///
    /// # Errors
    /// When reading fails, or it is no frame.
    pub async fn next(&mut self) -> io::Result<Option<KeeperFrame>> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    /// The same for a caller that polls.
    ///
    /// # Errors
    /// When reading fails, or it is no frame.
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<KeeperFrame>>> {
        loop {
            let missing = match self.decode()? {
                Decoded::Frame(frame) => return Poll::Ready(Ok(Some(frame))),
                Decoded::Missing(missing) => missing,
            };
            make_room(&mut self.read, missing);
            let read = ready!(pin!(self.from.read_buf(&mut self.read)).poll(cx))?;
            if read == 0 {
                return Poll::Ready(Ok(None));
            }
        }
    }

    fn decode(&mut self) -> io::Result<Decoded> {
        let Some((head, rest)) = self.read.split_first_chunk::<HEAD_BYTES>() else {
            return Ok(Decoded::Missing(HEAD_BYTES - self.read.len().min(HEAD_BYTES)));
        };
        let [code, n0, n1, n2, n3, n4, n5, n6, n7, l0, l1, l2, l3] = *head;
        let number = u64::from_be_bytes([n0, n1, n2, n3, n4, n5, n6, n7]);
        let length = usize::try_from(u32::from_be_bytes([l0, l1, l2, l3])).unwrap_or(usize::MAX);
        let Some((_, kind)) = KINDS.iter().find(|(known, _)| *known == code) else {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a frame of an unknown kind"));
        };
        if length > self.cap {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a frame that is too long"));
        }
        if rest.len() < length {
            return Ok(Decoded::Missing(length - rest.len()));
        }
        self.read.advance(HEAD_BYTES);
        let body = if length == 0 { Bytes::new() } else { self.read.split_to(length).freeze() };
        Ok(Decoded::Frame(KeeperFrame { kind: *kind, number, body }))
    }
}

enum Decoded {
    Frame(KeeperFrame),
    /// At least so many bytes are missing.
    Missing(usize),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn frames_come_out_as_they_went_in_and_a_cut_one_never() {
        let mut wire = Vec::new();
        for (code, kind) in KINDS {
            KeeperFrame::new(kind, u64::from(code) << 40, vec![code; usize::from(code)]).put(&mut wire);
        }
        let whole = wire.len();
        KeeperFrame::new(FrameKind::Input, 1, "cut").put(&mut wire);
        for end in whole..wire.len() {
            let mut frames = FrameReader::new(&wire[..end], 64);
            for (code, kind) in KINDS {
                let frame = frames.next().await.expect("readable").expect("there");
                assert_eq!((frame.kind, frame.number), (kind, u64::from(code) << 40), "head");
                assert_eq!(frame.body, vec![code; usize::from(code)], "body");
            }
            assert!(frames.next().await.expect("an end").is_none(), "what was cut at {end} is no frame");
        }
    }

    #[tokio::test]
    async fn frames_that_arrive_in_pieces_are_whole_however_they_were_cut() {
        use tokio::io::AsyncWriteExt as _;
        let mut wire = Vec::new();
        let sizes = [0_usize, 1, 12, 13, 5_000, 70_000, 3, 300_000, 0, 9];
        for (number, size) in (0_u64..).zip(sizes) {
            KeeperFrame::new(FrameKind::Line, number, vec![b'x'; size]).put(&mut wire);
        }
        for piece in [5, 13, 4_096, 65_537] {
            let (mut to, from) = tokio::io::duplex(70_000);
            let sent = wire.clone();
            let writing = async move {
                for part in sent.chunks(piece) {
                    to.write_all(part).await.expect("written");
                }
            };
            let reading = async move {
                let mut frames = FrameReader::new(from, 1 << 20);
                for (number, size) in (0_u64..).zip(sizes) {
                    let frame = frames.next().await.expect("readable").expect("there");
                    assert_eq!((frame.number, frame.body.len()), (number, size), "in pieces of {piece}");
                }
                assert!(frames.next().await.expect("an end").is_none(), "nothing after the last");
            };
            tokio::join!(writing, reading);
        }
    }

    #[tokio::test]
    async fn a_frame_longer_than_agreed_is_not_read() {
        let mut wire = Vec::new();
        KeeperFrame::new(FrameKind::Line, 1, vec![b'x'; 65]).put(&mut wire);
        assert!(FrameReader::new(&wire[..], 64).next().await.is_err(), "one byte too many");
    }
}
