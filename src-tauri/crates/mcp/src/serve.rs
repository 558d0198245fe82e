//! The dual-era serving face: MCP towards clients, over stdio and Streamable HTTP.
//!
//! Two layers. The faces (`stdio.rs`, `http.rs` with `session.rs`, `seat.rs`, `asks.rs`, `in_work.rs`, `modern.rs`)
//! know envelopes, headers, sessions and streams, and hand requests to a [`Service`]. `front.rs` is the service for
//! tools and tasks in both dialects, over a [`desk::Desk`] that does the work and keeps the tasks. Nothing here
//! stores anything beyond a session (what outlives the process is signed and kept by the client, `signed.rs`), and
//! nothing here knows a tool. The demo server and the gateway
//! (`crate::gateway`) are built on it.

mod answered;
mod asks;
pub mod desk;
pub mod fault;
mod front;
mod http;
mod in_work;
mod lines;
mod modern;
pub(crate) mod params;
pub(crate) mod seat;
mod service;
pub(crate) mod session;
mod signed;
mod stdio;
pub(crate) mod version;

#[cfg(test)]
mod tests;

pub use answered::Answered;
pub use asks::AskError;
pub use front::{BadTool, Front};
pub use http::{HttpError, PATH, router, serve_http};
pub use params::Params;
pub use seat::{GivenUp, Gone, Seat};
pub use service::{Client, ModernClient, Program, Request, Resumed, Service, Visitor};
pub use session::{Door, Session};
pub use signed::FaceKey;
pub use stdio::{FaceParts, serve_pipes};
