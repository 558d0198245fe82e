//! What is true about tasks, servers and people's wishes.
//!
//! Pure and synchronous: no clock is read, nothing is awaited, stored or sent, and no type here is serialised.
//! Time and randomness arrive as values. Read `handle.rs` for the aggregate and its transitions, `policy.rs`
//! for every number, `ports.rs` for what the product needs of the outside.

pub mod agent;
pub mod audit;
pub mod budget;
pub mod change;
pub mod client_profile;
pub mod decider;
pub mod figure;
pub mod handle;
pub mod ids;
pub mod learned_timeout;
pub mod models;
pub mod observation;
pub mod origin;
pub mod payload;
pub mod policy;
pub mod ports;
pub mod raw;
pub mod request;
pub mod rule;
pub mod schedule;
pub mod server;
pub mod status;
pub mod time;
pub mod tokens;
pub mod waste;
pub mod window;
