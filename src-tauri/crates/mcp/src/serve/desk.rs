//! The work behind the front: tools, jobs and what they tell, in neither dialect.
//!
//! Every call is a [`Job`], whether its client ever gets a handle or just waits. A job is read as a [`Sheet`], watched
//! through a level (a [`Pulse`] that only grows) and never pushes. The front turns sheets into the wire of either
//! dialect; a desk decides who may see which job, and how long it is kept. `front.rs` is the reader.

use std::sync::Arc;

use domain::time::Timestamp;
use serde_json::{Map, Value};
use tokio::sync::watch;

use super::fault::Fault;

/// What the server says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Card {
    /// Programmatic name.
    pub name: &'static str,
    /// For people.
    pub title: &'static str,
    /// Version of the program.
    pub version: &'static str,
    /// What to know before using it.
    pub instructions: &'static str,
}

/// Whether a call of the tool becomes a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// Answers at once, never a task.
    Short,
    /// A task for clients that know tasks; others wait.
    Long,
    /// Without end: only for clients that know tasks.
    Endless,
}

/// What a tool needs of people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// Nothing.
    Nobody,
    /// Answers to forms.
    Forms,
    /// A visit to a page.
    Visits,
}

/// One tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCard {
    /// Name.
    pub name: &'static str,
    /// For people.
    pub title: &'static str,
    /// For models.
    pub description: &'static str,
    /// JSON Schema of the arguments; the front checks them.
    pub input_schema: Value,
    /// JSON Schema of the structured result.
    pub output_schema: Option<Value>,
    /// `annotations`, an object.
    pub annotations: Value,
    /// Whether it becomes a task.
    pub length: Length,
    /// What it needs of people.
    pub needs: Needs,
}

/// Whose jobs are whose.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Owner {
    /// Modern clients: the unguessable id is the key.
    Bearer,
    /// One session of the older eras.
    Session(String),
}

/// A call to begin.
pub struct Order {
    /// A tool of this desk.
    pub tool: &'static str,
    /// Arguments that fit its schema.
    pub arguments: Map<String, Value>,
    /// For whom.
    pub owner: Owner,
    /// The client gets a handle: keep the job for the time it asked for (`None`: ours). Otherwise the job lasts as
    /// long as somebody holds it.
    pub kept: Kept,
}

/// How long a job is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// The client waits for it; it appears in no list.
    WhileHeld,
    /// The client has a handle.
    For(Option<std::time::Duration>),
}

/// Where a job is.
#[derive(Debug, Clone, PartialEq)]
pub enum Stage {
    /// It runs.
    Working,
    /// Questions are open.
    Asking,
    /// It ended with a tool result, maybe with `isError`.
    Done(Arc<Value>),
    /// It ended with a JSON-RPC error.
    Failed(Fault),
    /// It was stopped.
    Cancelled,
}

impl Stage {
    /// Whether it is the end.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        match self {
            Self::Working | Self::Asking => false,
            Self::Done(_) | Self::Failed(_) | Self::Cancelled => true,
        }
    }
}

/// What is asked.
#[derive(Debug, Clone, PartialEq)]
pub enum Ask {
    /// A form by a flat schema.
    Form {
        /// For people.
        message: String,
        /// The `requestedSchema`.
        schema: Value,
    },
    /// A page to open.
    Visit {
        /// For people.
        message: String,
        /// Where.
        url: String,
    },
}

/// An open question. Keys are unique over the job's life.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// Its key.
    pub key: String,
    /// What.
    pub ask: Ask,
}

/// What a person answered.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// Yes, with the form's content.
    Accept(Map<String, Value>),
    /// An explicit no.
    Decline,
    /// Dismissed without a choice.
    Dismiss,
}

/// How far a job is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Done so far; only grows.
    pub done: f64,
    /// Of how many, when known.
    pub total: Option<f64>,
}

/// A job at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Sheet {
    /// Where it is.
    pub stage: Stage,
    /// One line of its own.
    pub message: Option<String>,
    /// How far.
    pub progress: Option<Progress>,
    /// All open questions.
    pub questions: Vec<Question>,
    /// Begun.
    pub created: Timestamp,
    /// Last change of stage, message or questions.
    pub updated: Timestamp,
    /// How long it is kept from `created`, in milliseconds.
    pub ttl_ms: u64,
    /// The interval between two looks that we advise, in milliseconds.
    pub poll_ms: u64,
}

/// How often something changed; equal pulses mean nothing did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pulse {
    /// Changes of stage or questions.
    pub turns: u64,
    /// Changes of any kind.
    pub ticks: u64,
}

/// One call at work.
pub trait Job: Send + Sync + 'static {
    /// At least 128 random bits, visible ASCII.
    fn id(&self) -> &str;
    /// The job now.
    fn sheet(&self) -> Sheet;
    /// Told at every change.
    fn pulse(&self) -> watch::Receiver<Pulse>;
    /// Answers a question; unknown and answered keys are ignored.
    fn answer(&self, key: &str, reply: Reply);
    /// Asks it to stop; it may go on.
    fn ask_stop(&self);
    /// Ends it as cancelled in the eyes of its client, whatever the work does (2025-11-25).
    fn declare_cancelled(&self);
}

/// Does the work and keeps the jobs.
pub trait Desk: Send + Sync + 'static {
    /// What the server is.
    fn card(&self) -> Card;
    /// The tools, in a stable order.
    fn tools(&self) -> &[ToolCard];
    /// Begins a call.
    ///
    /// # Errors
    /// When a limit is reached.
    fn begin(&self, order: Order) -> Result<Arc<dyn Job>, Fault>;
    /// A kept job of this owner.
    fn job(&self, owner: &Owner, id: &str) -> Option<Arc<dyn Job>>;
    /// Kept jobs of this owner in order of creation, those after `after` (an id), at most `most`. `None` when `after`
    /// is unknown.
    fn jobs(&self, owner: &Owner, after: Option<&str>, most: usize) -> Option<Vec<Arc<dyn Job>>>;
    /// Whether a kept job of this owner still runs.
    fn is_busy(&self, owner: &Owner) -> bool;
    /// Nobody can ask for this owner's jobs any more.
    fn forget(&self, owner: &Owner);
}
