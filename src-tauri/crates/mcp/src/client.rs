//! The `Connector` and `Upstream` ports over MCP.
//!
//! `connector.rs` opens, `connection.rs` holds what one connection remembers, and the files beside it each do one
//! thing on it: calls, tasks, blocking results, live questions, subscriptions, tools. What words mean is
//! in `dialect/` and `view.rs`. Nothing here is durable, nothing is retried but a call whose headers were refused
//! before it ran, and nothing reconnects: the engine decides that.

mod arguments;
mod calls;
mod connection;
mod connector;
mod events;
mod failure;
mod greeting;
mod hearing;
mod param_headers;
mod questions;
mod results;
mod schema_cost;
mod subscription;
mod tasks;
mod toolbox;

pub use connector::{ConnectorParts, McpConnector};

#[cfg(test)]
mod tests;
