//! One file for each table: its rows ready to write, the SQL that writes them, and the methods that read them.
//!
//! Nothing is decided here; which statements make one transaction is in `write/`, lists over many tasks are in `read/`.

pub(crate) mod agents;
pub(crate) mod audit;
pub(crate) mod changes;
pub(crate) mod durations;
pub(crate) mod payloads;
pub(crate) mod prices;
pub(crate) mod raw_messages;
pub(crate) mod requests;
pub(crate) mod rules;
pub(crate) mod servers;
pub(crate) mod status_log;
pub(crate) mod task_row;
pub(crate) mod tasks;
pub(crate) mod token_series;
pub(crate) mod user_data;

/// The name under which something that belongs to a task, or to another owner, is sealed: no id contains a space.
pub(crate) fn row_name(owner: &str, own: &str) -> String {
    format!("{owner} {own}")
}
