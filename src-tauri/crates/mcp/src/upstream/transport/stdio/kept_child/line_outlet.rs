//! What goes out to a keeper: written by the task that sends it, or by the writer task when that has to wait.
//!
//! A line is written at once when nothing waits before it, so that a call costs no wake-up of another task. Lines that
//! follow each other closely are left to the writer task, which writes them together.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use keeper::{FrameKind, LocalWriter, put_frame_head};
use tokio::io::AsyncWrite as _;

/// Frames are written together up to about this size.
pub(crate) const WRITE_BYTES: usize = 64 * 1_024;
/// Lines within this part of the time that a confirmation waits are written together. Judgement: 20 µs of 5 ms, about one
/// write and the wake-up of the keeper.
const TOGETHER_SHARE: u32 = 250;

/// What may be on its way to the child at once.
pub(super) struct WriteLimits {
    pub(super) messages: usize,
    pub(super) bytes: usize,
}

/// Bytes on their way to a keeper.
pub(crate) struct LineOutlet {
    /// `None` once nothing goes out any more.
    to: Option<LocalWriter>,
    staged: Vec<u8>,
    staged_from: usize,
    wrote_at: Option<Instant>,
    together: Duration,
    takes_lines: bool,
}

/// What became of a line that was sent at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SentNow {
    /// The system has all of it.
    Whole,
    /// The writer task has to be woken for the rest.
    Staged,
}

impl LineOutlet {
    /// An outlet with nothing in it.
    pub(crate) fn new(to: LocalWriter, confirm_wait: Duration) -> Self {
        let together = confirm_wait / TOGETHER_SHARE;
        Self { to: Some(to), staged: Vec::new(), staged_from: 0, wrote_at: None, together, takes_lines: true }
    }

    /// Whether a line may be sent at once: nothing waits before it.
    pub(crate) const fn is_free(&self) -> bool {
        self.takes_lines && self.to.is_some() && self.staged.is_empty()
    }

    /// The child is to end: nothing but frames for the keeper goes out any more.
    pub(crate) const fn take_no_lines(&mut self) {
        self.takes_lines = false;
    }

    /// Where frames are put that go out with the next write.
    pub(crate) const fn staged(&mut self) -> &mut Vec<u8> {
        &mut self.staged
    }

    /// Sends a line behind what is staged, as far as that goes without waiting.
    pub(crate) fn send(&mut self, kind: FrameKind, number: u64, line: &[u8]) -> SentNow {
        put_frame_head(kind, number, line.len(), &mut self.staged);
        let now = Instant::now();
        let is_close = self.wrote_at.is_some_and(|at| now.saturating_duration_since(at) < self.together);
        self.wrote_at = Some(now);
        let wrote = match &mut self.to {
            // A failed write fails again in the writer task, which ends then.
            Some(to) if !is_close => to.write_now(&[IoSlice::new(&self.staged), IoSlice::new(line)]).unwrap_or(0),
            Some(_) | None => 0,
        };
        let of_line = wrote.saturating_sub(self.staged.len());
        self.staged_from = wrote.min(self.staged.len());
        if self.staged_from == self.staged.len() && of_line == line.len() {
            self.clear();
            return SentNow::Whole;
        }
        self.staged.extend_from_slice(line.get(of_line..).unwrap_or_default());
        SentNow::Staged
    }

    /// Writes all that is staged.
    pub(crate) fn poll_write(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(to) = &mut self.to else { return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())) };
        while self.staged_from < self.staged.len() {
            let rest = self.staged.get(self.staged_from..).unwrap_or_default();
            let wrote = ready!(Pin::new(&mut *to).poll_write(cx, rest))?;
            if wrote == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.staged_from += wrote;
        }
        let flushed = Pin::new(to).poll_flush(cx);
        self.clear();
        flushed
    }

    /// Nothing goes out any more; the keeper is told.
    pub(crate) fn close(&mut self) {
        self.to = None;
        self.clear();
    }

    fn clear(&mut self) {
        self.staged.clear();
        self.staged.shrink_to(WRITE_BYTES);
        self.staged_from = 0;
    }
}
