//! An authorization server and a protected MCP server, for tests of signing in.
//!
//! Both are written by hand against the protocol (OAuth 2.1, RFC 7591, 7636, 8414, 8707, 9207, 9728), not against our
//! client: what they note is what a strict server would hold against a client. Start an [`AuthorizationServer`], put a
//! [`ProtectedServer`] behind it, let [`browse`] and [`land`] play the browser, and read
//! [`AuthorizationServer::faults`]. [`Fault`] makes either of them misbehave. They speak plain HTTP on loopback and
//! never forget, so they are only for tests; the example `oauth_peer` runs both for a person.

mod authorization_server;
mod browser;
mod fault;
mod protected_server;
mod wire;

pub use authorization_server::{
    AuthorizationOptions, AuthorizationServer, ClientAuthentication, IssuedTokens, KnownClient, MetadataPlace,
    OAuthCounts,
};
pub use browser::{Landing, browse, land};
pub use fault::{Fault, UnknownFault};
pub use protected_server::{Era, ProtectedCounts, ProtectedOptions, ProtectedServer, ResourceDiscovery};
pub use wire::s256;

#[cfg(test)]
mod tests;
