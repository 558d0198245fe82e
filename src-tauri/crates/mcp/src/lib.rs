//! The only crate that knows MCP.
//!
//! `message.rs` is the raw JSON-RPC core for both sides of the wire; `link.rs` one connection; `transport/` what it
//! runs over, with era probe and handshake; `client/` the `Connector` and `Upstream` ports; `dialect/` the two
//! generations of tasks; `serve/` the dual-era serving face, `gateway/` the service
//! behind it for agents. It stores nothing and decides nothing for people.

pub mod client;
mod dialect;
pub mod gateway;
pub mod link;
pub mod message;
mod probe;
pub mod rewrite;
pub mod serve;
pub mod sse;
pub mod transport;
mod view;
