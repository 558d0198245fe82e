//! What only the inside can provoke: a full disk, and the next version's migration.

mod full;
mod upgrade;
