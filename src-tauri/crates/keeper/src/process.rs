//! Child processes: how one is started, read and ended, and the records by which a later core finds it.
//!
//! Cores use it for children without a keeper, and the keeper for its own. Nothing here decides when a child ends.

pub(crate) mod child_records;
pub(crate) mod group;
pub(crate) mod launch;
pub(crate) mod line_reader;
pub(crate) mod message_skim;
pub(crate) mod process_watch;
pub(crate) mod server_processes;
pub(crate) mod shutdown;
