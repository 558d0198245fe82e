//! The connection to the current core: frames in, and frames and output out.
//!
//! Frames that wait are written together. The confirmation of a request's line waits for company, because the child's
//! answer says the same; so a quick call costs one write.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Buf as _, Bytes};
use tokio::io::AsyncWrite as _;
use tokio::net::UnixStream;
use tokio::time::{Instant, Sleep};

use super::child_input::InputLine;
use super::output_buffer::OutputBuffer;
use crate::local_stream::{self, LocalReader, LocalWriter};
use crate::protocol::frame::{FrameKind, FrameReader, KeeperFrame};
use crate::protocol::start_order::KeeperLimits;

/// Frames that wait are written together up to about this size.
const WRITE_BYTES: usize = 64 * 1_024;
/// Larger bodies are written from where they are.
const COPIED_BYTES: usize = 16 * 1_024;
/// Bytes of lines whose confirmation may wait. Judgement: little of what the core may have on its way.
const CONFIRM_BYTES: usize = 64 * 1_024;

/// The connection to the current core.
pub(crate) struct CoreSession {
    visit: u64,
    from: FrameReader<LocalReader>,
    to: LocalWriter,
    /// Frames that go out before the child's next line.
    pub(crate) first: VecDeque<KeeperFrame>,
    staged: Vec<u8>,
    staged_from: usize,
    /// A large body behind what is staged.
    body: Bytes,
    /// Writing failed; the reader notices the end.
    is_broken: bool,
    confirmation: Confirmation,
}

/// Lines that the child has and the core does not know of.
struct Confirmation {
    number: Option<u64>,
    lines: usize,
    bytes: usize,
    lines_max: usize,
    wait: Duration,
    is_due: bool,
    timer: Pin<Box<Sleep>>,
    is_timed: bool,
}

impl CoreSession {
    /// Starts with a greeting.
    ///
    /// # Errors
    /// When the process has no descriptors left.
    pub(crate) fn begin(stream: UnixStream, visit: u64, hello: KeeperFrame, limits: &KeeperLimits) -> io::Result<Self> {
        let (from, to) = local_stream::split(stream)?;
        Ok(Self {
            visit,
            from: FrameReader::new(from, limits.frame_bytes()),
            to,
            first: VecDeque::from([hello]),
            staged: Vec::new(),
            staged_from: 0,
            body: Bytes::new(),
            is_broken: false,
            confirmation: Confirmation {
                number: None,
                lines: 0,
                bytes: 0,
                lines_max: limits.input_messages / 4,
                wait: limits.confirm_wait(),
                is_due: false,
                timer: Box::pin(tokio::time::sleep(limits.confirm_wait())),
                is_timed: false,
            },
        })
    }

    /// The core's next frame; `None` when it is gone or sends nonsense.
    pub(crate) fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<KeeperFrame>> {
        self.from.poll_next(cx).map(|frame| frame.unwrap_or(None))
    }

    /// The number of this connection; a later core has a higher one.
    pub(crate) const fn visit(&self) -> u64 {
        self.visit
    }

    /// Notes that a line was written into the child, or why not.
    pub(crate) fn wrote(&mut self, line: &InputLine, done: Result<(), &str>) {
        if line.visit != self.visit {
            // An earlier core sent it.
            return;
        }
        match done {
            Ok(()) => self.confirmation.add(line),
            Err(why) => self.first.push_back(KeeperFrame::new(FrameKind::Wrote, line.number, why.to_owned())),
        }
    }

    /// Writes what the socket takes: what waits in `first`, then output that this core has not got.
    pub(crate) fn poll_write(&mut self, cx: &mut Context<'_>, output: &mut OutputBuffer) {
        self.confirmation.poll_due(cx);
        while !self.is_broken {
            if self.staged_from >= self.staged.len() && self.body.is_empty() {
                self.fill(output);
                if self.staged.is_empty() {
                    // It only stops watching for room, and does not wait.
                    let _ = Pin::new(&mut self.to).poll_flush(cx);
                    return;
                }
            }
            let staged = self.staged.get(self.staged_from..).unwrap_or_default();
            let parts = [IoSlice::new(staged), IoSlice::new(&self.body)];
            let staged = staged.len();
            match Pin::new(&mut self.to).poll_write_vectored(cx, &parts) {
                Poll::Pending => return,
                Poll::Ready(Ok(wrote)) if wrote > 0 => {
                    self.staged_from += wrote.min(staged);
                    self.body.advance(wrote.saturating_sub(staged));
                }
                Poll::Ready(_) => self.is_broken = true,
            }
        }
    }

    fn fill(&mut self, output: &mut OutputBuffer) {
        self.staged.clear();
        self.staged.shrink_to(WRITE_BYTES);
        self.staged_from = 0;
        let has_company = !self.first.is_empty() || output.has_unsent();
        if let Some(number) = self.confirmation.take(has_company) {
            KeeperFrame::bare(FrameKind::Wrote, number).put(&mut self.staged);
        }
        while self.staged.len() < WRITE_BYTES
            && let Some(frame) = self.first.pop_front().or_else(|| output.next_unsent())
        {
            if frame.body.len() > COPIED_BYTES {
                frame.put_head(&mut self.staged);
                self.body = frame.body;
                return;
            }
            frame.put(&mut self.staged);
        }
    }
}

impl Confirmation {
    fn add(&mut self, line: &InputLine) {
        // It stands for all lines before it as well.
        self.number = Some(line.number);
        self.lines += 1;
        self.bytes += line.body.len();
        self.is_due |= line.is_awaited || self.lines > self.lines_max || self.bytes > CONFIRM_BYTES;
        if !self.is_timed {
            self.is_timed = true;
            self.timer.as_mut().reset(Instant::now() + self.wait);
        }
    }

    fn poll_due(&mut self, cx: &mut Context<'_>) {
        if self.is_timed && self.timer.as_mut().poll(cx).is_ready() {
            self.is_timed = false;
            self.is_due |= self.number.is_some();
        }
    }

    fn take(&mut self, has_company: bool) -> Option<u64> {
        if !self.is_due && !has_company {
            return None;
        }
        (self.is_due, self.lines, self.bytes) = (false, 0, 0);
        self.number.take()
    }
}
