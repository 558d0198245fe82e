//! What waits for a person, as JSON shows it.
//!
//! `request.rs` is a question of a task and the inbox of the command line; `row.rs` is a row of the window's inbox.

pub mod request;
pub mod row;
pub(crate) mod url_host;
