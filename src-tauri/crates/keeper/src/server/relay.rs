//! Carries lines between the current core and the child, and remembers what the next core needs.
//!
//! One poll moves everything that can move, in both directions: what the core sent goes into the child's pipe, what the
//! child wrote is buffered and goes to the core. No task, channel or wake-up lies between them.

use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::task::{Context, Poll};

use bytes::Bytes;
use domain::ports::FreezeReading;
use tokio::net::UnixStream;

use super::child::ChildPipes;
use super::child_input::InputLine;
use super::core_session::CoreSession;
use super::output_buffer::OutputBuffer;
use crate::process::line_reader::OutputLine;
use crate::process::shutdown::ChildExit;
use crate::protocol::frame::{FrameKind, KeeperFrame};
use crate::protocol::start_order::{self as order, FreezeReport, KeeperHello, KeeperLimits};

/// Pieces of standard error that are queued for a slow core. Judgement.
const STDERR_PIECES_MAX: usize = 256;
/// Orders to stop the child's processes that wait. Judgement: a core waits for each.
const FREEZE_ORDERS_MAX: usize = 8;
/// Output that is read before the core gets some of it.
const READ_AHEAD_BYTES: usize = 64 * 1_024;
/// A shorter line is copied out of what was read, so that one line that is kept for long does not hold the rest.
const COPIED_BYTES: usize = 16 * 1_024;

/// The child's lines, and the core they go to.
pub(crate) struct Relay {
    limits: KeeperLimits,
    pid: u32,
    pub(crate) pipes: ChildPipes,
    pub(crate) output: OutputBuffer,
    pub(crate) output_over: bool,
    notes: BTreeMap<u64, String>,
    state: Option<String>,
    stderr: VecDeque<u8>,
    is_heard: bool,
    visits: u64,
    session: Option<CoreSession>,
    /// A core ordered the end of the child.
    pub(crate) is_end_ordered: bool,
    /// A core ordered that the child's processes stop (true) or continue, under this number.
    pub(crate) freeze_orders: VecDeque<(bool, u64)>,
    /// The number of the exit message in the output buffer; zero once a core has confirmed it.
    last: Option<u64>,
}

impl Relay {
    /// A relay without a core.
    pub(crate) fn new(pid: u32, pipes: ChildPipes, limits: &KeeperLimits) -> Self {
        Self {
            limits: *limits,
            pid,
            pipes,
            output: OutputBuffer::new(limits.kept_bytes),
            output_over: false,
            notes: BTreeMap::new(),
            state: None,
            stderr: VecDeque::new(),
            is_heard: false,
            visits: 0,
            session: None,
            is_end_ordered: false,
            freeze_orders: VecDeque::new(),
            last: None,
        }
    }

    /// Whether a core is connected.
    pub(crate) const fn has_core(&self) -> bool {
        self.session.is_some()
    }

    /// Whether the child's exit is buffered for a core.
    pub(crate) const fn is_exit_buffered(&self) -> bool {
        self.last.is_some()
    }

    /// Whether a core has confirmed the child's exit.
    pub(crate) const fn is_exit_confirmed(&self) -> bool {
        matches!(self.last, Some(0))
    }

    /// Buffers the exit message, after all output.
    pub(crate) fn put_exit(&mut self, exit: ChildExit) {
        self.last = Some(self.output.put(FrameKind::Exited, serde_json::to_vec(&exit).unwrap_or_default()));
    }

    /// Greets a core and begins to serve it. `proof` shows that this is the keeper.
    pub(crate) fn begin_session(&mut self, stream: UnixStream, proof: String) {
        self.visits += 1;
        let (front, back) = self.stderr.as_slices();
        let hello = KeeperHello {
            frames_version: order::FRAMES_VERSION,
            visit: self.visits,
            proof,
            pid: self.pid,
            heard: self.is_heard,
            state: self.state.clone(),
            notes: self.notes.iter().map(|(id, text)| (*id, text.clone())).collect(),
            stderr: String::from_utf8_lossy(&[front, back].concat()).into_owned(),
        };
        let Ok(hello) = serde_json::to_vec(&hello) else { return };
        self.output.rewind();
        let hello = KeeperFrame::new(FrameKind::Hello, self.visits, hello);
        self.session = CoreSession::begin(stream, self.visits, hello, &self.limits).ok();
    }

    /// Tells the core what was found of the child's processes.
    pub(crate) fn answer_freeze(&mut self, number: u64, reading: FreezeReading) {
        let Ok(body) = serde_json::to_vec(&FreezeReport::from(reading)) else { return };
        if let Some(core) = &mut self.session {
            core.first.push_back(KeeperFrame::new(FrameKind::Frozen, number, body));
        }
    }

    /// Keeps the end of standard error, and passes it on.
    pub(crate) fn on_stderr(&mut self, piece: Vec<u8>) {
        self.stderr.extend(&piece);
        let surplus = self.stderr.len().saturating_sub(self.limits.stderr_bytes);
        self.stderr.drain(..surplus);
        // A slow core gets less of it; the tail is what matters, and the next greeting has it.
        if let Some(core) = self.session.as_mut().filter(|core| core.first.len() < STDERR_PIECES_MAX) {
            core.first.push_back(KeeperFrame::new(FrameKind::Stderr, 0, piece));
        }
    }

    /// Carries lines until something happened that the event loop decides about: the core left, confirmed the exit or
    /// ordered the child's end, or the output has ended. Cancel-safe.
    pub(crate) async fn carry(&mut self) {
        poll_fn(|cx| self.poll_carry(cx)).await;
    }

    fn poll_carry(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            let (had_core, was_over, was_confirmed) = (self.has_core(), self.output_over, self.is_exit_confirmed());
            self.take_frames(cx);
            let session = &mut self.session;
            self.pipes.input.poll_write(cx, |line, done| {
                if let Some(core) = session.as_mut() {
                    core.wrote(&line, done);
                }
            });
            let has_more = self.read_output(cx);
            if let Some(core) = &mut self.session {
                core.poll_write(cx, &mut self.output);
            }
            let is_news = had_core != self.has_core()
                || was_over != self.output_over
                || was_confirmed != self.is_exit_confirmed()
                || self.is_end_ordered
                || !self.freeze_orders.is_empty();
            if is_news {
                return Poll::Ready(());
            }
            if !has_more {
                return Poll::Pending;
            }
        }
    }

    /// Takes in what the core sent; ends the session when the core is gone or breaks the protocol.
    fn take_frames(&mut self, cx: &mut Context<'_>) {
        while let Some(core) = self.session.as_mut() {
            let Poll::Ready(frame) = core.poll_frame(cx) else { return };
            let visit = core.visit();
            let is_fine = frame.is_some_and(|frame| self.on_frame(visit, frame));
            if !is_fine {
                self.session = None;
            }
        }
    }

    /// Returns whether the core keeps to the protocol.
    fn on_frame(&mut self, visit: u64, KeeperFrame { kind, number, body }: KeeperFrame) -> bool {
        match kind {
            FrameKind::Input | FrameKind::Request => {
                let is_awaited = kind == FrameKind::Input;
                // One that exceeds the agreed window is no core of ours.
                return self.pipes.input.push(InputLine { visit, number, body, is_awaited });
            }
            FrameKind::Note if body.len() <= order::NOTE_BYTES && self.notes.len() < self.limits.notes => {
                self.notes.insert(number, String::from_utf8_lossy(&body).into_owned());
            }
            FrameKind::Forget => {
                self.notes.remove(&number);
            }
            FrameKind::Settle => {
                self.output.settle(number);
                if self.last == Some(number) {
                    self.last = Some(0);
                }
            }
            FrameKind::State => self.state = Some(String::from_utf8_lossy(&body).into_owned()),
            FrameKind::End => self.is_end_ordered = true,
            // Whoever orders waits for the answer before it orders again.
            FrameKind::Freeze | FrameKind::Thaw if self.freeze_orders.len() < FREEZE_ORDERS_MAX => {
                self.freeze_orders.push_back((kind == FrameKind::Freeze, number));
            }
            FrameKind::Freeze | FrameKind::Thaw => return false,
            // Too many notes, or too long: the next core cannot match the reply to a handle. The call itself is fine.
            FrameKind::Note => {}
            // Only keepers send these, or they belong before the greeting.
            FrameKind::Proof
            | FrameKind::Challenge
            | FrameKind::Hello
            | FrameKind::Busy
            | FrameKind::Line
            | FrameKind::TooLong
            | FrameKind::Exited
            | FrameKind::Wrote
            | FrameKind::Heard
            | FrameKind::Stderr
            | FrameKind::Frozen => return false,
        }
        true
    }

    /// Reads what the child wrote, as far as there is room; true when there may be more.
    fn read_output(&mut self, cx: &mut Context<'_>) -> bool {
        let mut read = 0;
        while self.output.has_room() && !self.output_over {
            if read > READ_AHEAD_BYTES {
                return true;
            }
            let polled = self.pipes.lines.poll_next(cx);
            if self.pipes.lines.has_read() && !self.is_heard {
                self.is_heard = true;
                if let Some(core) = &mut self.session {
                    core.first.push_back(KeeperFrame::bare(FrameKind::Heard, 0));
                }
            }
            let Poll::Ready(line) = polled else { return false };
            match line {
                Some(OutputLine::Whole(line)) => {
                    read += line.len();
                    let line = if line.len() > COPIED_BYTES { line } else { Bytes::copy_from_slice(&line) };
                    self.output.put(FrameKind::Line, line);
                }
                Some(OutputLine::TooLong(skim)) => {
                    self.output.put(FrameKind::TooLong, skim.stub());
                }
                None => self.output_over = true,
            }
        }
        false
    }
}
