//! The durable registry: SQLite behind the `Registry` port.
//!
//! One file per data directory holds state, change log and audit together; private fields are sealed (`seal.rs`),
//! encodings live in `rows.rs`, SQL beside its methods in `sqlite/`. Nothing here decides anything about tasks, reads a
//! clock or knows MCP. Start at [`Sqlite::open`]; the meaning of each method is in `domain::ports::Registry`.

mod rows;
mod seal;
mod sqlite;

pub use seal::SealKey;
pub use sqlite::{Opening, Sqlite};
