//! The only crate that knows MCP.
//!
//! `wire/` is messages as text; `upstream/` talks to servers and implements the `Connector` and `Upstream` ports;
//! `oauth/` signs in to servers; `server/` talks to clients in both eras; `gateway/` is the service for agents. It stores nothing and decides nothing
//! for people.

pub mod gateway;
mod loopback;
pub mod oauth;
mod probe;
pub mod server;
pub mod upstream;
pub mod wire;
