//! The durable registry: SQLite behind the `Registry` port.
//!
//! One file per data directory holds state, change log and audit together. `sqlite/` has the SQL, `codec/` the encodings,
//! `seal.rs` the sealing of private fields; agents' calls that may be on their way have a file of their own
//! (`call_intents/`). Nothing here decides anything about tasks, reads a clock or knows MCP. Start at
//! [`SqliteRegistry::open`]; the meaning of each method is in `domain::ports::Registry`.

mod call_intents;
mod codec;
mod seal;
mod sqlite;

pub use call_intents::{CallIntentsOptions, SqliteCallIntents};
pub use seal::SealKey;
pub use sqlite::{RegistryOptions, SqliteRegistry};
