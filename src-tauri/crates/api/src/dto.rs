//! Plain data in the user's vocabulary, as it stands in JSON (ruling 20).
//!
//! camelCase keys, ISO 8601 times with milliseconds, durations that end in `Ms`. Nothing here decides: phases come
//! from `domain`, and upstream ids, sessions and payloads never stand here. `task.rs` is a task, `request.rs` its
//! questions, `server.rs` a server with its tools.

pub mod request;
pub mod server;
pub mod task;

pub use request::{AnswerDto, InboxDto, InboxRow, RequestDto};
pub use server::{AddressDto, HealthDto, ServerDto, ToolDto};
pub use task::{ContactDto, ErrorDto, IntentDto, LogLineDto, ProgressDto, ResultDto, TaskDto, TaskListDto, UsualDto};

use std::time::Duration;

use domain::time::Timestamp;

/// A moment as it stands in JSON.
pub(crate) fn iso(at: Timestamp) -> String {
    at.to_string()
}

/// A duration as it stands in JSON.
pub(crate) fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

/// Reads a moment of ours back.
#[must_use]
pub fn moment(text: &str) -> Option<Timestamp> {
    text.parse().ok()
}
