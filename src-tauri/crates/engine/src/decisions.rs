//! What people and agents decide about tasks: recorded first (`decide.rs`), then delivered (`deliver.rs`).
//!
//! Nothing here talks to a server outside of `deliver`.

pub(crate) mod bulk;
pub(crate) mod decide;
pub(crate) mod deliver;
pub(crate) mod escalate;
pub(crate) mod halt;
pub(crate) mod pause;
pub(crate) mod revoke;
pub(crate) mod shared_questions;
