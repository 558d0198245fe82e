//! What people want of a task, and how far it has got on its way to the server.
//!
//! The transitions are in `cancel.rs`; sending is the engine's.

use crate::ids::PersonId;
use crate::task::decider::Decider;
use crate::time::Timestamp;

/// How far something that people want has got on its way to the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delivery {
    /// In the registry, not yet sent.
    Recorded,
    /// Sent at least once, outcome not known.
    Sent { at: Timestamp, attempts: u32 },
    /// The server acknowledged; that is not yet obedience.
    Acknowledged { at: Timestamp },
    /// The server refused, or has no such method; plain sentence.
    Refused { at: Timestamp, why: String },
}

impl Delivery {
    /// Whether the reconciler still has something to do.
    #[must_use]
    pub fn is_pending(&self) -> bool {
        matches!(self, Self::Recorded | Self::Sent { .. })
    }

    /// Whether the server refused it, which ends the delivery.
    #[must_use]
    pub const fn is_refused(&self) -> bool {
        matches!(self, Self::Refused { .. })
    }
}

/// What people want of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Intent {
    /// Nothing in particular.
    None,
    /// To be cancelled by its server.
    Cancel(CancelRequest),
    /// Taken from its agent at once, and to be cancelled.
    Revoked(CancelRequest),
    /// No longer polled; nothing was asked of the server.
    Unwatched { by: PersonId, at: Timestamp },
}

impl Intent {
    /// Whether the handle was taken from its agent.
    #[must_use]
    pub const fn is_revoked(&self) -> bool {
        matches!(self, Self::Revoked(_))
    }

    /// The request to cancel, when there is one.
    #[must_use]
    pub const fn cancel_request(&self) -> Option<&CancelRequest> {
        match self {
            Self::Cancel(request) | Self::Revoked(request) => Some(request),
            Self::None | Self::Unwatched { .. } => None,
        }
    }

    /// The request to cancel, to record how far it got.
    pub(crate) const fn cancel_request_mut(&mut self) -> Option<&mut CancelRequest> {
        match self {
            Self::Cancel(request) | Self::Revoked(request) => Some(request),
            Self::None | Self::Unwatched { .. } => None,
        }
    }
}

/// A cancel request, with its way to the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CancelRequest {
    pub by: Decider,
    pub at: Timestamp,
    /// In the person's words.
    pub reason: Option<String>,
    /// How far it got.
    pub delivery: Delivery,
    /// When it was first sent; kept as the delivery continues.
    pub sent: Option<Timestamp>,
}

impl CancelRequest {
    /// A cancel request of this moment.
    #[must_use]
    pub fn new(by: &Decider, at: Timestamp, reason: Option<&str>, delivery: Delivery) -> Self {
        Self { by: by.clone(), at, reason: reason.map(str::to_owned), delivery, sent: None }
    }

    /// When the server acknowledged it, if it did.
    #[must_use]
    pub fn acknowledged_at(&self) -> Option<Timestamp> {
        match &self.delivery {
            Delivery::Acknowledged { at } => Some(*at),
            Delivery::Recorded | Delivery::Sent { .. } | Delivery::Refused { .. } => None,
        }
    }

    /// Since when nothing was heard of it: since the server acknowledged it, else since it was first sent, else since it was
    /// asked for. A long queue of cancels takes none of the time that the server has.
    #[must_use]
    pub fn silent_since(&self) -> Timestamp {
        self.acknowledged_at().or(self.sent).map_or(self.at, |heard| heard.max(self.at))
    }
}

/// How a cancel that was sent counts in the record of its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SentCancel {
    /// The server could say something to it; how far it got.
    OfTask(CancelState),
    /// It was a notification about a call without a task, to which MCP has no reply.
    OfCall,
}

impl SentCancel {
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::OfTask(state) => state.word(),
            Self::OfCall => "noReply",
        }
    }
}

/// How far a cancel request got, in the words of promise R1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelState {
    /// Recorded or sent; no word from the server.
    Asked,
    /// The server acknowledged; the task may continue.
    Acknowledged,
    /// The server says it cancelled.
    Stopped,
    /// Nothing of the call ran on its server, so it ended here and the server was not asked.
    EndedHere,
    /// It ended by itself in spite of the cancel request.
    FinishedAnyway,
    /// The server refused to cancel it, or cannot.
    Refused,
}

impl CancelState {
    /// Lower camel case word for JSON and the registry.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Asked => "asked",
            Self::Acknowledged => "acknowledged",
            Self::Stopped => "stopped",
            Self::EndedHere => "endedHere",
            Self::FinishedAnyway => "finishedAnyway",
            Self::Refused => "refused",
        }
    }
}
