//! What commands print: the streams they write to, their tables, their exit codes, and the sentences people read.
//!
//! Nothing here asks the core. `sentences.rs` has the words shared by several commands; read it first to proofread
//! them.

pub(crate) mod exit_code;
pub(crate) mod left_entries;
pub(crate) mod run_limits;
pub(crate) mod screen;
pub(crate) mod sentences;
pub(crate) mod table;
pub(crate) mod web_address;
