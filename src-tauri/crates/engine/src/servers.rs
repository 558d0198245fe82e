//! One actor per connection: it connects, polls open tasks and takes in what the server pushes.
//!
//! It sends no answers or cancels (`decisions/deliver.rs`) and starts no calls (`calls.rs`). Start with `actor.rs`.

pub(crate) mod actor;
pub(crate) mod circuit_breaker;
pub(crate) mod connect;
pub(crate) mod discover;
pub(crate) mod open_connection;
pub(crate) mod person_acts;
pub(crate) mod poll;
pub(crate) mod push;
pub(crate) mod registration;
pub(crate) mod resume;
pub(crate) mod server_record;
pub(crate) mod state;
pub(crate) mod status;
pub(crate) mod tool_memory;
pub(crate) mod waiting_questions;
