//! What a core and a keeper say to each other: a kind, a number, and bytes.
//!
//! Thirteen bytes of head and a body of a length that is known before it is read, so that a frame that was cut by
//! the end of a core is thrown away whole and never reaches a child. It knows no JSON-RPC.

use std::io;

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncReadExt, BufReader};

/// What a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::transport::stdio) enum Kind {
    /// Core: a line for the child.
    Input,
    /// Core: keep this text about the request with this id.
    Note,
    /// Core: forget that text.
    Forget,
    /// Core: this piece of output is on record.
    Settle,
    /// Core: what the next core has to know about the child.
    State,
    /// Core: end the child.
    End,
    /// Core: its challenge, and the proof that it knows the secret; always first.
    Proof,
    /// Keeper: its challenge; always first.
    Challenge,
    /// Keeper: how things stand; to a core that proved itself.
    Hello,
    /// Keeper: another core is here; always last.
    Busy,
    /// Keeper: a line of the child.
    Line,
    /// Keeper: a line that was too long, as far as it matters.
    TooLong,
    /// Keeper: the child has ended.
    Exited,
    /// Keeper: the line with this number was written, or why not.
    Wrote,
    /// Keeper: the child's first byte.
    Heard,
    /// Keeper: a piece of standard error.
    Stderr,
}

const KINDS: [(u8, Kind); 16] = [
    (1, Kind::Input),
    (2, Kind::Note),
    (3, Kind::Forget),
    (4, Kind::Settle),
    (5, Kind::State),
    (6, Kind::End),
    (7, Kind::Proof),
    (16, Kind::Hello),
    (17, Kind::Busy),
    (18, Kind::Line),
    (19, Kind::TooLong),
    (20, Kind::Exited),
    (21, Kind::Wrote),
    (22, Kind::Heard),
    (23, Kind::Stderr),
    (24, Kind::Challenge),
];

/// Kind, number and length.
pub(super) const HEAD_BYTES: usize = 13;

/// One frame. Bodies hold arguments and results: only kind and size show.
#[derive(Clone)]
pub(in crate::transport::stdio) struct Frame {
    pub(in crate::transport::stdio) kind: Kind,
    pub(in crate::transport::stdio) number: u64,
    pub(in crate::transport::stdio) body: Bytes,
}

impl std::fmt::Debug for Frame {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}({}, {} bytes)", self.kind, self.number, self.body.len())
    }
}

impl Frame {
    /// A frame.
    pub(in crate::transport::stdio) fn new(kind: Kind, number: u64, body: impl Into<Bytes>) -> Self {
        Self { kind, number, body: body.into() }
    }

    /// A frame that says all by its kind and number.
    pub(in crate::transport::stdio) const fn bare(kind: Kind, number: u64) -> Self {
        Self { kind, number, body: Bytes::new() }
    }

    /// Appends it to what is about to be written.
    pub(in crate::transport::stdio) fn put(&self, to: &mut Vec<u8>) {
        let code = KINDS.iter().find(|(_, kind)| *kind == self.kind).map_or(0, |(code, _)| *code);
        to.push(code);
        to.extend_from_slice(&self.number.to_be_bytes());
        // Bodies are bounded far below by whoever makes them.
        to.extend_from_slice(&u32::try_from(self.body.len()).unwrap_or(u32::MAX).to_be_bytes());
        to.extend_from_slice(&self.body);
    }
}

/// Reads frames. Not cancel-safe: one reader reads to the end.
pub(in crate::transport::stdio) struct Frames<R> {
    from: BufReader<R>,
    cap: usize,
}

impl<R: AsyncRead + Unpin> Frames<R> {
    /// Frames with bodies of at most `cap` bytes.
    pub(in crate::transport::stdio) fn new(from: R, cap: usize) -> Self {
        Self { from: BufReader::with_capacity(READ_BYTES, from), cap }
    }

    /// The next frame; `None` at the end, also in the middle of a frame.
    pub(in crate::transport::stdio) async fn next(&mut self) -> io::Result<Option<Frame>> {
        let mut head = [0_u8; HEAD_BYTES];
        match self.from.read_exact(&mut head).await {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            Err(error) => return Err(error),
        }
        let [code, n0, n1, n2, n3, n4, n5, n6, n7, l0, l1, l2, l3] = head;
        let number = u64::from_be_bytes([n0, n1, n2, n3, n4, n5, n6, n7]);
        let length = usize::try_from(u32::from_be_bytes([l0, l1, l2, l3])).unwrap_or(usize::MAX);
        let Some((_, kind)) = KINDS.iter().find(|(known, _)| *known == code) else {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a frame of an unknown kind"));
        };
        if length > self.cap {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a frame that is too long"));
        }
        let mut body = vec![0_u8; length];
        match self.from.read_exact(&mut body).await {
            Ok(_) => Ok(Some(Frame::new(*kind, number, body))),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// One read of the socket: many small frames at once, and few reads for a large one.
const READ_BYTES: usize = 64 * 1_024;

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn frames_come_out_as_they_went_in_and_a_cut_one_never() {
        let mut wire = Vec::new();
        for (code, kind) in KINDS {
            Frame::new(kind, u64::from(code) << 40, vec![code; usize::from(code)]).put(&mut wire);
        }
        let whole = wire.len();
        Frame::new(Kind::Input, 1, "cut").put(&mut wire);
        for end in whole..wire.len() {
            let mut frames = Frames::new(&wire[..end], 64);
            for (code, kind) in KINDS {
                let frame = frames.next().await.expect("readable").expect("there");
                assert_eq!((frame.kind, frame.number), (kind, u64::from(code) << 40), "head");
                assert_eq!(frame.body, vec![code; usize::from(code)], "body");
            }
            assert!(frames.next().await.expect("an end").is_none(), "what was cut at {end} is no frame");
        }
    }

    #[tokio::test]
    async fn a_frame_longer_than_agreed_is_not_read() {
        let mut wire = Vec::new();
        Frame::new(Kind::Line, 1, vec![b'x'; 65]).put(&mut wire);
        assert!(Frames::new(&wire[..], 64).next().await.is_err(), "one byte too many");
    }
}
