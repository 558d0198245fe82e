//! The only crate that knows MCP.
//!
//! `wire/` is messages as text; `upstream/` talks to servers and implements the `Connector` and `Upstream` ports;
//! `server/` talks to clients in both eras; `gateway/` is the service for agents. It stores nothing and decides nothing
//! for people.

pub mod gateway;
mod probe;
pub mod server;
pub mod upstream;
pub mod wire;
