//! An MCP server behind bearer checks: a checking reverse proxy in front of a server that knows nothing of OAuth.
//!
//! Behind it is the [`Recorder`] of 2026-07-28 with all its manners, or a small server of 2025-11-25. Every request needs
//! a token that was issued for this resource; the checks are in `guard.rs`, the challenges and the metadata of the
//! resource (RFC 9728) in `challenge.rs`. The server behind it never sees a token.

mod challenge;
mod guard;
mod legacy;

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::routing::any;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use parking_lot::Mutex;
use tokio::net::TcpListener;

use super::AuthorizationServer;
use crate::server::{Manner, Recorder};
use guard::Guard;
use legacy::LegacyServer;

/// The dialect of the server behind the checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// 2026-07-28, without sessions.
    Modern,
    /// 2025-11-25, with sessions.
    Legacy,
}

/// How a client finds the metadata of the resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResourceDiscovery {
    /// The 401 names the address.
    pub by_header: bool,
    /// It is at `/.well-known/oauth-protected-resource/mcp`.
    pub at_path: bool,
    /// It is at `/.well-known/oauth-protected-resource`.
    pub at_root: bool,
}

/// How the server is set up.
#[derive(Debug, Clone)]
pub struct ProtectedOptions {
    /// Port on loopback; 0 takes a free one.
    pub port: u16,
    /// The dialect of the server.
    pub era: Era,
    /// How the [`Recorder`] behaves; the server of 2025 takes the poll interval from it.
    pub manner: Manner,
    /// Scopes that every request needs.
    pub scopes: Vec<String>,
    /// Tools with a scope that a call needs beside those: 403 `insufficient_scope` without it.
    pub tool_scopes: Vec<(String, String)>,
    /// Whether the 401 names the scopes.
    pub names_scopes: bool,
    /// Where the metadata is. With none of its places, the header names an address that only it knows.
    pub discovery: ResourceDiscovery,
}

impl Default for ProtectedOptions {
    fn default() -> Self {
        Self {
            port: 0,
            era: Era::Modern,
            manner: Manner::default(),
            scopes: vec!["mcp:use".into()],
            tool_scopes: vec![("hold".into(), "mcp:admin".into())],
            names_scopes: true,
            discovery: ResourceDiscovery { by_header: true, at_path: true, at_root: true },
        }
    }
}

/// What the checks decided so far.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct ProtectedCounts {
    /// Requests without a token: 401.
    pub without_token: u32,
    /// Requests with a token that is not good (any more): 401.
    pub refused_tokens: u32,
    /// Requests that lacked a scope: 403.
    pub forbidden: u32,
    /// Requests that reached the server.
    pub served: u32,
}

enum Behind {
    Modern(Recorder),
    Legacy(LegacyServer),
}

/// A running protected server; stops accepting when dropped.
pub struct ProtectedServer {
    guard: Arc<Guard>,
    behind: Behind,
    serving: tokio::task::AbortHandle,
}

impl ProtectedServer {
    /// Starts on loopback, and makes its resource known to the authorization server.
    #[expect(clippy::disallowed_methods, reason = "a test server has no supervisor")]
    pub async fn start(authorization: &AuthorizationServer, options: ProtectedOptions) -> std::io::Result<Self> {
        let (behind, upstream) = match options.era {
            Era::Modern => {
                let server = Recorder::start(options.manner).await?;
                let address = server.address();
                (Behind::Modern(server), address)
            }
            Era::Legacy => {
                let server = LegacyServer::start(options.manner.poll_interval).await?;
                let address = server.address();
                (Behind::Legacy(server), address)
            }
        };
        let listener = TcpListener::bind(("127.0.0.1", options.port)).await?;
        let address = listener.local_addr()?;
        let guard = Arc::new(Guard {
            issuer: Mutex::new(authorization.issuer_state()),
            address,
            upstream,
            client: Client::builder(TokioExecutor::new()).build_http::<Body>(),
            options,
            counts: Mutex::default(),
            metadata_paths: Mutex::default(),
        });
        guard.issuer().add_resource(&guard.resource(), &guard.all_scopes());
        let router = Router::new()
            .route("/mcp", any(guard::answer))
            .fallback(challenge::metadata)
            .with_state(Arc::clone(&guard));
        let serving = tokio::spawn(async move {
            let _ = axum::serve(listener, router).await;
        });
        Ok(Self { guard, behind, serving: serving.abort_handle() })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.guard.address
    }

    /// The MCP endpoint, which is the canonical address of the resource too.
    #[must_use]
    pub fn url(&self) -> String {
        self.guard.resource()
    }

    /// Trusts another authorization server from now on, and its tokens alone: what a client has of the one before is
    /// worth nothing. Faults are those of the new one, and are noted there.
    pub fn move_to(&self, authorization: &AuthorizationServer) {
        let issuer = authorization.issuer_state();
        issuer.add_resource(&self.guard.resource(), &self.guard.all_scopes());
        *self.guard.issuer.lock() = issuer;
    }

    /// What it checked so far.
    #[must_use]
    pub fn counts(&self) -> ProtectedCounts {
        *self.guard.counts.lock()
    }

    /// Paths at which clients looked for the metadata of the resource, in order.
    #[must_use]
    pub fn metadata_paths(&self) -> Vec<String> {
        self.guard.metadata_paths.lock().clone()
    }

    /// The server behind the checks; `None` when it is one of 2025-11-25.
    #[must_use]
    pub fn recorder(&self) -> Option<&Recorder> {
        match &self.behind {
            Behind::Modern(recorder) => Some(recorder),
            Behind::Legacy(_) => None,
        }
    }

    /// What the server of 2025-11-25 holds against a client, in words.
    #[must_use]
    pub fn legacy_violations(&self) -> Vec<String> {
        match &self.behind {
            Behind::Modern(_) => Vec::new(),
            Behind::Legacy(server) => server.violations(),
        }
    }
}

impl Drop for ProtectedServer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}
