//! What a local server and its process let people know: that it was started, what it wrote, and how it ended.
//!
//! News only: what becomes of them is in the engine (`servers/`), where texts are capped and kept. They come over the
//! [`ProcessListener`] that a connection is opened with (`upstream.rs`).

use std::fmt;
use std::sync::Arc;

use super::upstream::LogMessage;

/// What a server and its process let people know, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProcessNews {
    /// It was started, and leads the process group of this number.
    Started {
        pid: u32,
    },
    /// A core found it with its keeper: what it wrote before has no time.
    Resumed {
        pid: u32,
    },
    /// A line of its standard error, capped, without secrets and without characters that act.
    Wrote(String),
    /// The same, written before this core found it.
    WroteEarlier(String),
    /// It sent a message for the log over its connection.
    Logged(LogMessage),
    /// So many lines or messages came faster than they are taken.
    Skipped(u64),
    Ended(ProcessExit),
}

/// How the process of a local server ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessExit {
    pub code: Option<i32>,
    /// The number of the signal that ended it.
    pub signal: Option<i32>,
    /// Whether Taskwarden ended it.
    pub is_ours: bool,
}

/// Receives what a server and its process let people know.
pub trait ProcessObserver: Send + Sync + 'static {
    /// Takes one piece of news, in order, and never waits.
    fn heard(&self, news: ProcessNews);
}

/// A shared observer of a server's processes; compared by identity.
#[derive(Clone)]
pub struct ProcessListener(pub Arc<dyn ProcessObserver>);

impl PartialEq for ProcessListener {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for ProcessListener {}

impl fmt::Debug for ProcessListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProcessListener")
    }
}
