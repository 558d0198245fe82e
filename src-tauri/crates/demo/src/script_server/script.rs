//! The [`ToolScript`] trait: the tools of a server and the jobs that run them, in neither dialect.
//!
//! Every call is a [`ScriptJob`], whether it becomes a task or blocks its caller. Readers watch its [`JobRevision`] and
//! take a [`JobSnapshot`]; jobs push nothing. A script decides who may see a job and how long it is kept. The dialects
//! are written by `dialect_json.rs`.

use std::sync::Arc;

use domain::time::Timestamp;
use serde_json::{Map, Value};
use tokio::sync::watch;

use mcp::server::rpc_error::RequestError;

/// The server's identity, as sent to clients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerCard {
    /// Name for programs, without spaces.
    pub name: &'static str,
    /// Text shown to people.
    pub title: &'static str,
    /// Version of the program.
    pub version: &'static str,
    /// Instructions for the model.
    pub instructions: &'static str,
}

/// Whether a call of the tool becomes a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolLength {
    /// Answers at once, never a task.
    Short,
    /// A task for clients that know tasks; others wait.
    Long,
    /// Without end: only for clients that know tasks.
    Endless,
}

/// What a tool asks people for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolNeeds {
    /// The tool asks nothing.
    Nobody,
    /// The tool asks people to fill in forms.
    Forms,
    /// The tool asks people to open a page.
    Visits,
}

/// A tool as clients see it in `tools/list`.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCard {
    /// Name for `tools/call`, unique in a script.
    pub name: &'static str,
    /// Text shown to people.
    pub title: &'static str,
    /// Description for models.
    pub description: &'static str,
    /// JSON Schema of the arguments; [`super::ScriptServer`] checks them.
    pub input_schema: Value,
    /// JSON Schema of the structured result.
    pub output_schema: Option<Value>,
    /// `annotations`, an object.
    pub annotations: Value,
    /// Whether it becomes a task.
    pub length: ToolLength,
    /// What it asks people for.
    pub needs: ToolNeeds,
}

/// Who may see a job.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum JobOwner {
    /// Modern clients: the unguessable id is the key.
    Bearer,
    /// One session of the older eras.
    Session(String),
}

/// A call to begin.
pub struct CallOrder {
    /// A tool of this script.
    pub tool: &'static str,
    /// Arguments that fit its schema.
    pub arguments: Map<String, Value>,
    /// Who may see the job.
    pub owner: JobOwner,
    /// The client gets a handle: keep the job for the time it asked for (`None`: ours). Otherwise the job lasts as
    /// long as somebody holds it.
    pub kept: JobRetention,
}

/// How long a job is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobRetention {
    /// The client waits for it; it appears in no list.
    WhileHeld,
    /// The client has a handle.
    For(Option<std::time::Duration>),
}

/// The state of a job.
#[derive(Debug, Clone, PartialEq)]
pub enum JobStage {
    /// The tool is running.
    Working,
    /// The tool waits for answers.
    Asking,
    /// It ended with a tool result, maybe with `isError`.
    Done(Arc<Value>),
    /// It ended with a JSON-RPC error.
    Failed(RequestError),
    /// It was cancelled.
    Cancelled,
}

impl JobStage {
    /// Whether it is the end.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        match self {
            Self::Working | Self::Asking => false,
            Self::Done(_) | Self::Failed(_) | Self::Cancelled => true,
        }
    }
}

/// What a question asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum Elicitation {
    /// A form by a flat schema.
    Form {
        /// Text shown to people.
        message: String,
        /// The `requestedSchema` of the elicitation.
        schema: Value,
    },
    /// A page to open.
    Visit {
        /// Text shown to people.
        message: String,
        /// The page to open.
        url: String,
    },
}

/// An open question. Keys are unique over the job's life.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// Names it within the job.
    pub key: String,
    /// What it asks for.
    pub ask: Elicitation,
}

/// A person's answer.
#[derive(Debug, Clone, PartialEq)]
pub enum ElicitationReply {
    /// Yes, with the form's content.
    Accept(Map<String, Value>),
    /// An explicit no.
    Decline,
    /// Dismissed without a choice.
    Dismiss,
}

/// Progress of a job.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JobProgress {
    /// Done so far; only grows.
    pub done: f64,
    /// Of how many, when known.
    pub total: Option<f64>,
}

/// The state of a job at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct JobSnapshot {
    /// Running, waiting or ended.
    pub stage: JobStage,
    /// The tool's latest status line.
    pub message: Option<String>,
    /// Latest progress report.
    pub progress: Option<JobProgress>,
    /// All open questions.
    pub questions: Vec<Question>,
    /// When the call began.
    pub created: Timestamp,
    /// Last change of stage, message or questions.
    pub updated: Timestamp,
    /// How long it is kept from `created`, in milliseconds.
    pub ttl_ms: u64,
    /// The polling interval we suggest, in milliseconds.
    pub poll_ms: u64,
}

/// Change counters; equal revisions mean that nothing changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct JobRevision {
    /// Changes of stage or questions.
    pub turns: u64,
    /// Changes of any kind.
    pub ticks: u64,
}

/// One running or finished call.
pub trait ScriptJob: Send + Sync + 'static {
    /// At least 128 random bits, visible ASCII.
    fn id(&self) -> &str;
    /// The current state.
    fn snapshot(&self) -> JobSnapshot;
    /// Changes with every change of the job.
    fn revision(&self) -> watch::Receiver<JobRevision>;
    /// Answers a question; unknown and answered keys are ignored.
    fn answer(&self, key: &str, reply: ElicitationReply);
    /// Requests a cancel, which the tool may ignore.
    fn request_cancel(&self);
    /// Reports it as cancelled to its client, whatever the tool does (2025-11-25).
    fn declare_cancelled(&self);
}

/// Runs tools and keeps their jobs.
pub trait ToolScript: Send + Sync + 'static {
    /// The server's identity.
    fn card(&self) -> ServerCard;
    /// The tools, in a stable order.
    fn tools(&self) -> &[ToolCard];
    /// Starts a call.
    ///
    /// # Errors
    /// When a limit is reached.
    fn begin(&self, order: CallOrder) -> Result<Arc<dyn ScriptJob>, RequestError>;
    /// A kept job of this owner.
    fn job(&self, owner: &JobOwner, id: &str) -> Option<Arc<dyn ScriptJob>>;
    /// Kept jobs of this owner in order of creation, those after `after` (an id), at most `most`. `None` when `after`
    /// is unknown.
    fn jobs(&self, owner: &JobOwner, after: Option<&str>, most: usize) -> Option<Vec<Arc<dyn ScriptJob>>>;
    /// Whether a kept job of this owner is still running.
    fn is_busy(&self, owner: &JobOwner) -> bool;
    /// The owner is gone: cancels and removes its jobs.
    fn forget(&self, owner: &JobOwner);
}
