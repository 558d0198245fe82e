//! What waits for a person, as JSON shows it.
//!
//! `request.rs` is a question of a task and the inbox of the command line; `row.rs` is a row of the window's inbox,
//! `loss.rs` makes one row of what was lost together, `answered.rs` is a question that was answered.

pub mod answered;
pub mod loss;
pub mod request;
pub mod row;
pub(crate) mod url_host;
