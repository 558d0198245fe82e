//! Lines on their way into the child, in order.
//!
//! Lines that wait are written together. A child that does not read holds up nothing but its own input.

use std::collections::VecDeque;
use std::io::IoSlice;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use tokio::io::AsyncWrite;
use tokio::process::ChildStdin;

/// Lines that are written together; each takes two pieces of one system call.
const LINES_TOGETHER: usize = 16;

/// A line for the child.
pub(crate) struct InputLine {
    /// Which core sent it.
    pub(crate) visit: u64,
    pub(crate) number: u64,
    pub(crate) body: Bytes,
    /// Whether its core waits for the confirmation that it was written.
    pub(crate) is_awaited: bool,
}

/// The queue in front of the child's standard input.
pub(crate) struct ChildInput {
    stdin: Option<ChildStdin>,
    lines: VecDeque<InputLine>,
    /// So many bytes of the first line are written.
    begun: usize,
    /// Why nothing is written any more.
    broken: String,
    lines_max: usize,
}

impl ChildInput {
    /// An empty queue for at most `lines_max` lines.
    pub(crate) fn new(stdin: ChildStdin, lines_max: usize) -> Self {
        Self { stdin: Some(stdin), lines: VecDeque::new(), begun: 0, broken: "it is being ended".into(), lines_max }
    }

    /// Adds a line; false when more of the same core wait than was agreed. What an earlier core left does not count: the
    /// one that sends now knows nothing of it.
    pub(crate) fn push(&mut self, line: InputLine) -> bool {
        let of_same_core = self.lines.iter().rev().take_while(|other| other.visit == line.visit).count();
        let has_room = of_same_core < self.lines_max;
        if has_room {
            self.lines.push_back(line);
        }
        has_room
    }

    /// Whether nothing is written any more.
    pub(crate) const fn is_closed(&self) -> bool {
        self.stdin.is_none()
    }

    /// Closes the child's input; its output is still read.
    pub(crate) fn close(&mut self) {
        self.stdin = None;
    }

    /// Writes what the pipe takes; `done` gets every line that was written, or why it was not.
    pub(crate) fn poll_write(&mut self, cx: &mut Context<'_>, mut done: impl FnMut(InputLine, Result<(), &str>)) {
        while !self.lines.is_empty() {
            let Some(stdin) = &mut self.stdin else {
                self.begun = 0;
                self.lines.drain(..).for_each(|line| done(line, Err(&self.broken)));
                return;
            };
            let mut parts = [IoSlice::new(&[]); 2 * LINES_TOGETHER];
            let mut begun = self.begun;
            for (line, parts) in self.lines.iter().zip(parts.chunks_exact_mut(2)) {
                if let [text, end] = parts {
                    *text = IoSlice::new(line.body.get(begun..).unwrap_or_default());
                    *end = IoSlice::new(b"\n");
                }
                begun = 0;
            }
            let Poll::Ready(wrote) = Pin::new(stdin).poll_write_vectored(cx, &parts) else { return };
            match wrote {
                Ok(bytes) if bytes > 0 => self.advance(bytes, &mut done),
                Ok(_) => self.break_off("the pipe takes nothing"),
                Err(error) => self.break_off(&error.to_string()),
            }
        }
    }

    fn advance(&mut self, bytes: usize, done: &mut impl FnMut(InputLine, Result<(), &str>)) {
        self.begun += bytes;
        while let Some(length) = self.lines.front().map(|line| line.body.len() + 1)
            && self.begun >= length
            && let Some(line) = self.lines.pop_front()
        {
            self.begun -= length;
            done(line, Ok(()));
        }
    }

    fn break_off(&mut self, why: &str) {
        self.broken = why.to_owned();
        self.stdin = None;
    }
}

#[cfg(test)]
mod tests {
    use std::process::Stdio;

    use super::*;

    #[tokio::test]
    async fn what_a_dead_core_left_takes_no_room_from_the_next_one() {
        let mut sleeper = tokio::process::Command::new("sleep");
        let mut child = sleeper.arg("60").stdin(Stdio::piped()).kill_on_drop(true).spawn().expect("started");
        let mut input = ChildInput::new(child.stdin.take().expect("a pipe"), 2);
        let line = |visit, number| InputLine { visit, number, body: Bytes::from_static(b"{}"), is_awaited: false };
        assert!(input.push(line(1, 1)) && input.push(line(1, 2)), "two were agreed");
        assert!(!input.push(line(1, 3)), "and no more");
        assert!(input.push(line(2, 1)) && input.push(line(2, 2)), "the next core has room of its own");
        assert!(!input.push(line(2, 3)), "and no more than the first");
    }
}
