//! What the product needs from the outside, as traits.
//!
//! Production and test adapters implement these; nothing else crosses. Futures are boxed so that the traits can be
//! objects. Every method is cancel-safe: dropping its future leaves the other side consistent, though the act may have
//! happened. Next: `registry.rs` and `upstream.rs`.

mod anchor_places;
mod call_intents;
pub mod change;
mod log_collector;
mod process_news;
mod registry;
mod server_processes;
mod server_sign_ins;
mod token_counter;
mod upstream;

use futures_core::future::BoxFuture;

pub use anchor_places::{AnchorPlace, AnchorPlaceFault, AnchorPlaces};
pub use call_intents::{ArgumentsDigest, CallIntent, CallIntents, arguments_digest};
pub use log_collector::{CollectorReply, LogCollectors};
pub use process_news::{ProcessExit, ProcessListener, ProcessNews, ProcessObserver};
pub use registry::alarms::{AlarmStore, AlarmUnit};
pub use registry::audit::{AuditFilter, AuditOrder, AuditQuery, AuditRow, AuditRows, MonthRead};
pub use registry::budget::{BudgetNote, HourSum, PriceUnit, SeriesQuery, SpendRow, WasteRow};
pub use registry::checkpoints::{
    BrokenCheckpoint, Checkpoint, CheckpointStore, CheckpointUnit, EpochUnit, LeafSpan, LogEpoch, LogHash, LogHead,
    LogKey, LogSigner, SignedHead, TreeCheck, TreeGrowth, TreeStart, UnsignedRows,
};
pub use registry::control::{ControlStore, ControlTokenUnit};
pub use registry::error::RegistryError;
pub use registry::pauses::{PauseStore, PauseUnit};
pub use registry::receipts::{
    BrokenReceipt, Receipt, ReceiptBatch, ReceiptCheck, ReceiptFilter, ReceiptQuery, ReceiptRow, ReceiptRows,
    ReceiptStore, StoredBatch,
};
pub use registry::routes::{RouteStore, RouteUnit};
pub use registry::sinks::{SinkNote, SinkStore, SinkUnit, StoredSinks};
pub use registry::storage::{
    AuditCheck, AuditRecheck, BrokenLink, Recording, RecordingFault, RegistryFacts, Removal, StorageFacts, StoredKind,
    StoredUse,
};
pub use registry::task_list::{
    AlikeTasks, CancelFacts, GroupBy, HiddenTasks, HideUnit, SortColumn, TaskFlag, TaskGroups, TaskListQuery,
    TaskOrder, TaskRows, UserDataItem,
};
pub use registry::{
    AgentNote, AgentUnit, AuditLink, AuditPage, CommitError, ContactNote, ErasableDetail, HaltUnit, InboxItem,
    InboxPage, KnownTask, PlanUnit, Recorded, Registry, RuleUnit, SaltedFields, ServerUnit, TaskCursor, TaskPage,
    TaskQuery,
};
pub use server_processes::{FreezeReading, ProcessReading, ProcessWatch};
pub use server_sign_ins::{
    GrantedSignIn, OwnClient, Revocation, ServerSignIns, SignInBegun, SignInFault, SignInWish, TokenFacts,
};
pub use token_counter::{Cut, MessagePart, PartCount, TokenCounter, with_error};
pub use upstream::{
    Abilities, AnswerToSend, ArgumentError, CallError, CallListener, CallObserver, CallRequest, Closure, Connected,
    ConnectionSpec, Connector, Continuation, ListedTasks, LogLevel, LogMessage, SendGate, SendPermit, ToolFacts,
    Upstream, UpstreamError, UpstreamEvent, UpstreamSubject,
};

use crate::ids::{HandleId, ServerId};
use crate::task::Attention;
pub use crate::task::{CallReply, Commit};
use crate::time::Timestamp;

/// The moment now, and what the computer's wall clock makes of it. Sleeping is the runtime's.
///
/// Deadlines and ages are differences of moments, so a moment must move as time passes: when somebody sets the wall
/// clock, `now` continues as before, and the engine applies the step once it has moved its deadlines by as much.
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
    /// Other tasks that the line is about.
    pub also: Vec<HandleId>,
    /// One line in our words: server, tool and phase; no arguments, no answers.
    pub line: String,
}

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

/// The keychain, or its replacement.
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
