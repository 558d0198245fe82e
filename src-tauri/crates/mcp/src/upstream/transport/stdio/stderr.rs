//! The end of a child's standard error, and what the server's log is told of the child.
//!
//! It is free text and never a sign of failure by itself. Quotes of it lose control characters and the secret values
//! that we put into the child's environment, because a server that prints its environment must not publish them.

use std::collections::VecDeque;
use std::sync::Arc;

use domain::policy::{Policy, plain_text};
use domain::ports::{ProcessExit, ProcessListener, ProcessNews, Secret};
use keeper::ChildExit;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt};

use super::log_lines::LogLines;
use crate::upstream::transport::SecretValues;

/// The kept end.
#[derive(Clone)]
pub(crate) struct StderrTail {
    kept: Arc<Mutex<VecDeque<u8>>>,
    cap: usize,
    secrets: SecretValues,
    /// The lines of the server's log, and who takes them.
    log: Option<(ProcessListener, Arc<Mutex<LogLines>>)>,
}

impl StderrTail {
    /// Keeps as much as the policy says, and tells `log` every line.
    pub(crate) fn new(policy: &Policy, secrets: Vec<Secret>, log: Option<ProcessListener>) -> Self {
        let secrets = SecretValues::new(secrets);
        let log = log.map(|to| {
            let lines = LogLines::new(to.clone(), secrets.clone(), &policy.observed);
            (to, Arc::new(Mutex::new(lines)))
        });
        Self { kept: Arc::default(), cap: policy.stderr_kept_bytes, secrets, log }
    }

    /// The child runs, started by this core.
    pub(crate) fn started(&self, pid: u32) {
        self.tell(ProcessNews::Started { pid });
    }

    /// The child ran on behind its keeper, and wrote this meanwhile and before.
    pub(crate) fn resumed(&self, pid: u32, earlier: &str) {
        self.keep(earlier.as_bytes());
        if let Some((_, lines)) = &self.log {
            lines.lock().push_earlier(earlier);
        }
        self.tell(ProcessNews::Resumed { pid });
    }

    /// The child is over.
    pub(crate) fn ended(&self, exit: ChildExit, is_ours: bool) {
        if let Some((_, lines)) = &self.log {
            lines.lock().finish();
        }
        self.tell(ProcessNews::Ended(ProcessExit { code: exit.code(), signal: exit.signal(), is_ours }));
    }

    fn tell(&self, news: ProcessNews) {
        if let Some((to, _)) = &self.log {
            to.0.heard(news);
        }
    }

    /// Reads to the end of the pipe. The child is never held up: what is too much is dropped, oldest first.
    pub(crate) async fn fill(self, mut from: impl AsyncRead + Unpin) {
        let mut piece = vec![0_u8; self.cap.clamp(1, PIECE_BYTES)];
        while let Ok(read) = from.read(&mut piece).await
            && read > 0
        {
            self.push(piece.get(..read).unwrap_or_default());
        }
    }

    /// Adds a piece.
    pub(crate) fn push(&self, piece: &[u8]) {
        self.keep(piece);
        if let Some((_, lines)) = &self.log {
            lines.lock().push(piece);
        }
    }

    fn keep(&self, piece: &[u8]) {
        let mut kept = self.kept.lock();
        kept.extend(piece);
        let surplus = kept.len().saturating_sub(self.cap);
        kept.drain(..surplus);
    }

    /// The text, harmless to show.
    pub(crate) fn text(&self) -> String {
        let bytes: Vec<u8> = self.kept.lock().iter().copied().collect();
        plain_text(&self.secrets.cut_out(&String::from_utf8_lossy(&bytes)), self.cap)
    }

    /// The last line with letters in it, for one-line reasons.
    pub(crate) fn last_line(&self) -> Option<String> {
        let text = self.text();
        let line = text.lines().rev().map(str::trim).find(|line| line.chars().any(char::is_alphanumeric))?;
        Some(plain_text(line, LINE_CHARS))
    }
}

/// One read of the pipe.
const PIECE_BYTES: usize = 4_096;
/// A reason is one line.
const LINE_CHARS: usize = 300;
