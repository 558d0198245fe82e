//! The end of a child's standard error, as a bounded log.
//!
//! It is free text and never a sign of failure by itself. Quotes of it lose control characters and the secret values
//! that we put into the child's environment, because a server that prints its environment must not publish them.

use std::collections::VecDeque;
use std::sync::Arc;

use domain::policy::plain_text;
use domain::ports::Secret;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt};

/// Shorter values are common words; cutting them out would garble the text and hide nothing.
const SECRET_CHARS_MIN: usize = 4;

/// The kept end.
#[derive(Clone)]
pub(crate) struct StderrTail {
    kept: Arc<Mutex<VecDeque<u8>>>,
    cap: usize,
    secrets: Arc<[Secret]>,
}

impl StderrTail {
    /// Keeps the last `cap` bytes.
    pub(crate) fn new(cap: usize, secrets: Vec<Secret>) -> Self {
        let secrets = secrets.into_iter().filter(|secret| secret.reveal().len() >= SECRET_CHARS_MIN).collect();
        Self { kept: Arc::default(), cap, secrets }
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
        let mut kept = self.kept.lock();
        kept.extend(piece);
        let surplus = kept.len().saturating_sub(self.cap);
        kept.drain(..surplus);
    }

    /// The text, harmless to show.
    pub(crate) fn text(&self) -> String {
        let bytes: Vec<u8> = self.kept.lock().iter().copied().collect();
        let mut text = String::from_utf8_lossy(&bytes).into_owned();
        for secret in self.secrets.iter() {
            text = text.replace(secret.reveal(), "…");
        }
        plain_text(&text, self.cap)
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
