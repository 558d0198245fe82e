//! The client side: connections to MCP servers, behind the `Connector` and `Upstream` ports.
//!
//! `connector.rs` opens, `connection.rs` is the state of one connection, `port.rs` starts what runs on it, and each
//! other file does one thing: calls, tasks, elicitation, subscriptions, tools. `transport/` is the link below. Nothing
//! is durable and nothing reconnects: the engine decides that.

mod calls;
mod connection;
mod connector;
mod elicitation;
mod forwarder;
mod inbound;
mod negotiation;
mod port;
mod port_errors;
mod subscriptions;
mod tasks;
pub(crate) mod tool_cache;

pub use connector::{ConnectorParts, CopiedFolder, McpConnector, kept_child_name};
pub use forwarder::{Forward, Forwarder, Forwarding};
pub use notifications::broadcast::{Broadcast, BroadcastReceiver};
pub use notifications::request_listeners::RequestEvent;
pub(crate) use port_errors::upstream_error;
pub use state::subscription_filter::SubscriptionFilter;
pub use state::subscription_leases::SubscriptionLease;
pub(crate) use tool_cache::param_headers::{ANNOTATION, header_values};

pub(crate) mod notifications;
pub(crate) mod state;
#[cfg(test)]
mod tests;
pub mod transport;
