//! Servers over HTTP: the modern era, the sessions of the older ones, and the HTTP+SSE of 2024.
//!
//! `handshake.rs` opens; `wire.rs` is one link's state and the way of a request; `stream.rs` what streams carry;
//! `reply.rs` what statuses mean; `endpoint.rs` addresses and redirects. It holds no tokens of its own: headers come
//! ready. Sign-in flows are not here.

mod clients;
mod endpoint;
mod handshake;
mod headers;
mod link;
mod reply;
mod sse2024;
mod stream;
mod wire;

#[cfg(test)]
mod tests;

pub(crate) use clients::Clients;
pub(crate) use handshake::{Target, open};
