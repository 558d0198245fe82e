//! The seams: what the product needs of the outside, as traits.
//!
//! Production and test adapters implement these; nothing else crosses. Futures are boxed so that the traits can be
//! objects; every method is cancel-safe in the sense that dropping its future leaves the other side consistent,
//! though the act may have happened. Where to read next: `registry` (Registry), `mcp::client` (Connector, Upstream).

mod budget;
mod intents;
mod listing;
mod registry;
mod registry_error;
mod scale;
mod storage;
mod upstream;

use futures_core::future::BoxFuture;

pub use budget::{BudgetNote, SeriesQuery, SpendRow, WasteRow};
pub use intents::{Intent, Intents};
pub use listing::{Alike, CancelFacts, DeskItem, Flag, GroupBy, Page, PageQuery, TaskOrder, View};
pub use registry::{
    AgentNote, AgentUnit, AuditLink, AuditPage, Commit, CommitError, ContactNote, InboxItem, InboxPage, Recorded,
    Registry, RuleUnit, ServerUnit, TaskCursor, TaskPage, TaskQuery,
};
pub use registry_error::RegistryError;
pub use scale::{Cut, Load, Scale, Weight, with_error};
pub use storage::{
    AuditCheck, BrokenLink, PayloadUse, Recording, RecordingFault, Removal, StorageFacts, StoreFacts, StoredKind,
};
pub use upstream::{
    Abilities, AnswerToSend, ArgumentError, CallError, CallListener, CallReply, CallRequest, Closure, Connected,
    Connector, Continuation, HearsCall, LineFacts, Listed, ToolFacts, Upstream, UpstreamError, UpstreamEvent,
    UpstreamSubject,
};

use crate::handle::Attention;
use crate::ids::{HandleId, ServerId};
use crate::time::Timestamp;

/// The moment now, and what the computer's wall clock makes of it. Sleeping is the runtime's.
///
/// Deadlines and ages are differences of moments, so a moment must move as time passes: when somebody sets the wall
/// clock, `now` goes on as before, and the engine takes the step over once it has moved its deadlines by as much.
pub trait Clock: Send + Sync + 'static {
    /// The moment now. Moves as fast as time passes, also while the computer sleeps, and never steps by itself.
    fn now(&self) -> Timestamp;

    /// By how many milliseconds the wall clock is ahead of [`Clock::now`]; negative when it is behind.
    fn wall_ahead_ms(&self) -> i64 {
        0
    }

    /// From here on [`Clock::now`] is this many milliseconds later; earlier when negative.
    fn step_by(&self, _millis: i64) {}
}

/// Something a person should know, without content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// Which kind; kinds have their own channels.
    pub attention: Attention,
    /// About which task.
    pub handle: HandleId,
    /// Other tasks that the line stands for too.
    pub also: Vec<HandleId>,
    /// One line in our words: server, tool and phase; no arguments, no answers.
    pub line: String,
}

/// Tells people.
pub trait Notifier: Send + Sync + 'static {
    /// Shows or replaces the notice of this handle. Never blocks, never fails: a notice is not a fact.
    fn tell(&self, notice: Notice);
}

/// Why a secret could not be stored or read; plain sentence without the secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SecretError(pub String);

/// A secret value: redacted in `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a secret.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The secret itself, for the one place that puts it on the wire.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// The keychain, or what stands in for it.
pub trait Secrets: Send + Sync + 'static {
    /// Reads a secret of a server by name (a header or an environment variable).
    fn get(&self, server: ServerId, name: &str) -> Result<Option<Secret>, SecretError>;
    /// Stores or replaces one.
    fn put(&self, server: ServerId, name: &str, secret: &Secret) -> Result<(), SecretError>;
    /// Forgets one; forgetting what is not there is fine.
    fn forget(&self, server: ServerId, name: &str) -> Result<(), SecretError>;
    /// One line for `doctor`: where secrets lie.
    fn describe(&self) -> String;
}

/// The future all ports return.
pub type PortFuture<'a, T> = BoxFuture<'a, T>;
