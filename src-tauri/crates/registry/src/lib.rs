//! The durable registry: SQLite behind the `Registry` port.
//!
//! One file per data directory holds state, change log and audit together; private fields are sealed (`seal.rs`),
//! encodings live in `rows.rs`, SQL beside its methods in `sqlite/`. Calls of
//! agents that may be on their way are in a file of their own (`intents.rs`). Nothing here decides anything about tasks, reads a
//! clock or knows MCP. Start at [`Sqlite::open`]; the meaning of each method is in `domain::ports::Registry`.

mod intents;
mod rows;
mod seal;
mod sqlite;

pub use intents::{IntentsOpening, SqliteIntents};
pub use seal::SealKey;
pub use sqlite::{Opening, Sqlite};
