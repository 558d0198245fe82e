//! How agents come in over HTTP and over the socket: their token, the server they ask for, and what they may use up.
//!
//! `entry.rs` decides who is let in; `request_budget.rs` bounds bytes and connections. What an agent may ask for once
//! it is in is the gateway's decision (`mcp::gateway`).

pub(crate) mod counted_pipe;
pub(crate) mod entry;
pub(crate) mod json_reply;
pub(crate) mod request_budget;
pub(crate) mod token_file;
