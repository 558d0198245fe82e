//! One task, question or result in the words of either dialect (protocol.md §7.3).
//!
//! Pure: nothing here reads the registry, sends a message or asks anybody. What an agent may see of a task is decided by
//! `domain::task::agent_view`.

pub(crate) mod input_requests;
pub(crate) mod legacy_task;
pub(crate) mod meta;
pub(crate) mod modern_task;
pub(crate) mod raw_json;
pub(crate) mod result_dialect;
pub(crate) mod result_uri;
