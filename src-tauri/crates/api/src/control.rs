//! The calls of supervisor programs with a control token (decision 0066).
//!
//! A program reaches the table in `table.rs` and nothing else. Each call has a body of its own, which reads only tasks in
//! the reach of the token and gives only the fields that its types name; what a person's call gives is never cut down.
//! `caller.rs` is who asks, `body.rs` reads what it sends, `answers.rs` a call from its text to its status, `feed.rs` what
//! says that something changed, `openapi.rs` the document.

pub mod alarms;
mod answers;
mod body;
mod caller;
pub mod feed;
pub mod halts;
mod lookup;
mod open_feeds;
pub mod openapi;
pub mod pauses;
pub mod plans;
mod table;
pub mod tasks;

pub use answers::{ControlReply, ControlRequest};
pub use caller::ControlCaller;
pub(crate) use open_feeds::ControlFeeds;
pub use table::{CONTROL_CALLS, ControlEntry};
