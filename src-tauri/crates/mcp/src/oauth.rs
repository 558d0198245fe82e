//! Signs in to servers over HTTP with OAuth (protocol.md §5) and puts their tokens into requests.
//!
//! The way of a sign-in: `resource.rs` asks the server, `discovery.rs` finds the issuer, `sign_in.rs` registers a client
//! and waits, `callback.rs` is where the browser comes back, `browser.rs` judges its address. Then `token.rs` is read by
//! each request, `renewal.rs` renews it and `revocation.rs` gives it up; `stored.rs` is what is kept. The protocol itself
//! is rmcp's `auth`, whose requests `issuer_client.rs` makes.

mod allowed_addresses;
mod browser;
mod callback;
mod discovery;
mod faults;
mod issuer_client;
mod renewal;
mod resource;
mod revocation;
mod sign_in;
mod stored;
mod token;

use std::collections::HashMap;
use std::sync::Arc;

use domain::ids::ServerId;
use domain::policy::Policy;
use domain::ports::{Clock, Secrets};
use domain::server::{Server, ServerAddress};
use engine::runtime::supervisor::Supervisor;
use parking_lot::Mutex;

pub(crate) use sign_in::WaitingSignIn;
pub(crate) use token::{Bearer, RefusedRequest, ServerToken};

/// What all tokens use.
pub(crate) struct OAuthShared {
    pub(crate) policy: Arc<Policy>,
    pub(crate) supervisor: Supervisor,
    pub(crate) secrets: Arc<dyn Secrets>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) draw: Arc<dyn Fn() -> u128 + Send + Sync>,
    /// The URL of the document that describes Taskwarden as a client, where somebody publishes one.
    pub(crate) client_document: Option<String>,
}

/// The tokens of all servers, and the sign-ins that wait for a browser.
pub struct OAuth {
    shared: Arc<OAuthShared>,
    tokens: Mutex<HashMap<ServerId, Arc<ServerToken>>>,
    waiting: Mutex<HashMap<ServerId, WaitingSignIn>>,
}

impl OAuth {
    pub(crate) fn new(shared: OAuthShared) -> Self {
        Self { shared: Arc::new(shared), tokens: Mutex::default(), waiting: Mutex::default() }
    }

    /// The token of a server; `None` where it is not reached over HTTP, or a person set its `Authorization` header.
    ///
    /// Reads what is kept when the server is met for the first time, or has another address now.
    pub(crate) fn token(&self, server: &Server) -> Option<Arc<ServerToken>> {
        let ServerAddress::Http { url, secret_headers } = &server.address else { return None };
        if secret_headers.iter().any(|name| name.eq_ignore_ascii_case("authorization")) {
            return None;
        }
        if let Some(token) = self.tokens.lock().get(&server.id).filter(|token| token.url == *url) {
            return Some(Arc::clone(token));
        }
        let kept = stored::load(self.shared.secrets.as_ref(), server.id).unwrap_or_else(|error| {
            tracing::warn!(server = %server.id, %error, "a sign-in cannot be read; its server is asked without it");
            None
        });
        let token = ServerToken::of(server.id, &server.name, url, kept, Arc::clone(&self.shared));
        let mut tokens = self.tokens.lock();
        // Another connection to the same server may have been faster.
        let token = match tokens.get(&server.id).filter(|token| token.url == *url) {
            Some(token) => Arc::clone(token),
            None => Arc::new(token),
        };
        tokens.insert(server.id, Arc::clone(&token));
        Some(token)
    }
}
