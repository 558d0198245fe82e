//! What is true about tasks, servers, agents and what people decided.
//!
//! Pure and synchronous: it reads no clock, awaits nothing, stores and sends nothing, and serialises no type. Time and
//! randomness arrive as values. Read `task.rs` for the aggregate and its transitions, `policy.rs` for every number, and
//! `ports.rs` for what the product needs from the outside.

#![expect(missing_docs, reason = "a field or variant whose name says everything has no doc comment")]

pub mod agent;
pub mod audit;
pub mod budget;
pub mod client;
pub mod digest;
pub mod ids;
pub mod policy;
pub mod ports;
pub mod raw_message;
pub mod rule;
pub mod server;
pub mod task;
pub mod time;
pub mod tokens;
