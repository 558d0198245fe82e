//! The server side: MCP for clients of both eras, over stdio and Streamable HTTP.
//!
//! `stdio.rs` and `http.rs` know envelopes, headers, sessions and streams, and pass requests to a [`Service`], which
//! knows methods. The gateway is one service; the demo's script server is another. Nothing outlives a session here,
//! except what the client keeps for us, signed (`signing.rs`).

mod client_requests;
mod http;
mod in_flight;
mod principal;
mod raw_result;
mod request_meta;
pub(crate) mod request_params;
pub(crate) mod response_stream;
pub mod rpc_error;
mod service;
pub(crate) mod session;
mod signing;
mod stdio;
mod stream_writer;
pub mod version;

#[cfg(test)]
mod tests;

pub use client_requests::ClientRequestError;
pub use http::{
    BodyHold, ClientConnection, ForeignRequest, HttpEndpoint, PATH, ReplyBody, RequestSender, ServeHttpError,
    check_fetch_site, check_host_and_origin, serve_http, takes_post,
};
pub use in_flight::CancelReason;
pub use principal::{AgentPrincipal, ClientProgram, ModernClient, Principal};
pub use raw_result::RawResult;
pub use request_params::RequestParams;
pub use response_stream::ResponseStream;
pub use service::{Client, Request, ResumeRequest, Service};
pub use session::{Session, SessionTransport};
pub use signing::SigningKey;
pub use stdio::line_budget::{LineBudget, LineBytes};
pub use stdio::{ServerParts, serve_counted_pipes, serve_pipes};
pub use stream_writer::StreamGone;
