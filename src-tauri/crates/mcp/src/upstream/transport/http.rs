//! Servers over HTTP: the modern era, 2025 sessions, and the HTTP+SSE of 2024.
//!
//! `handshake.rs` opens; `connection.rs` is the state of one link and the way of a request; `event_streams.rs` reads
//! streams; `response.rs` interprets statuses; `endpoint.rs` follows redirects, over the plain connections of
//! `plain_pool.rs` where it can. Headers with tokens are given; signing
//! in is in `oauth.rs`.

mod client_pool;
mod connection;
mod endpoint;
mod event_streams;
mod handshake;
mod headers;
mod http_link;
mod plain_connection;
mod plain_pool;
mod response;
mod server_response;
mod sse2024;

#[cfg(test)]
mod tests;

pub(crate) use client_pool::Clients;
pub(crate) use handshake::{Target, open};
