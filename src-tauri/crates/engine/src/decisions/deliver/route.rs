//! A delivery's connection to its server, and how the delivery ended.
//!
//! What is sent is in `answer.rs`, `cancel.rs` and `input_round.rs`.

use std::sync::Arc;
use std::time::Duration;

use domain::ports::UpstreamError;
use domain::time::Timestamp;

use crate::connections::connection::ServerConnection;
use crate::connections::live_connection::LiveConnection;
use crate::core::EngineCore;

/// How a delivery ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DeliveryOutcome {
    /// Nothing is left to send now.
    Clear,
    /// Not before this moment: it is held back.
    Held(Timestamp),
    /// It did not work; again after a growing while, or after this long.
    Again(Option<Duration>),
    /// There is no connection it could go over; the server's return wakes it.
    Unconnected,
}

/// The open connection that a delivery takes.
pub(crate) struct DeliveryRoute {
    pub(crate) core: Arc<EngineCore>,
    pub(crate) connection: Arc<ServerConnection>,
    pub(crate) live: Arc<LiveConnection>,
}

/// When to try again after an error; `None` when the server refused.
pub(super) fn retry(error: &UpstreamError) -> Option<DeliveryOutcome> {
    match error {
        UpstreamError::RateLimited { after } => Some(DeliveryOutcome::Again(*after)),
        UpstreamError::Unreachable { .. } | UpstreamError::Unauthorized { .. } | UpstreamError::Unreadable { .. } => {
            Some(DeliveryOutcome::Again(None))
        }
        // The next poll says what became of the task; no alarm (protocol.md §7.6).
        UpstreamError::UnknownTask | UpstreamError::GivenUp => Some(DeliveryOutcome::Again(None)),
        UpstreamError::ChannelGone => Some(DeliveryOutcome::Unconnected),
        UpstreamError::Refused(_) | UpstreamError::MissingCapability(_) | UpstreamError::Unsupported(_) => None,
    }
}
