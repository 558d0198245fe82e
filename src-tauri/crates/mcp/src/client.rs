//! The `Connector` and `Upstream` ports over MCP.
//!
//! `connector.rs` opens, `connection.rs` holds what one connection remembers, and the files beside it each do one
//! thing on it: calls, tasks, blocking results, live questions, subscriptions, tools. What words mean is
//! in `dialect/` and `view.rs`. Nothing here is durable, nothing is retried but a call whose headers were refused
//! before it ran, and nothing reconnects: the engine decides that.

mod arguments;
mod aside;
mod calls;
mod connection;
mod connector;
mod events;
mod failure;
mod forwarder;
mod greeting;
mod hearing;
mod param_headers;
mod questions;
mod relay;
mod results;
mod schema_cost;
mod subscription;
mod tasks;
mod toolbox;
mod unasked;

pub use aside::Heard;
pub use connector::{ConnectorParts, McpConnector};
pub(crate) use failure::upstream_error;
pub use forwarder::{Forward, Forwarder, Forwarding};
pub(crate) use param_headers::{ANNOTATION, header_values, param_headers};
pub use relay::{Filter, Listening};
pub use unasked::{Hearing, Unasked};

#[cfg(test)]
mod tests;
