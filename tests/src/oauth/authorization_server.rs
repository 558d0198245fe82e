//! The authorization server: metadata, registration, authorization, tokens, revocation.
//!
//! Strict: a request that the protocol forbids is refused and noted in [`AuthorizationServer::faults`]. `ledger.rs` is
//! its memory; one file for each endpoint. A second port, the *elsewhere* of redirects, shows whether a client
//! followed one. Clock and tokens live in memory: [`AuthorizationServer::expire_access`] takes the place of waiting.

mod authorize;
mod client_auth;
mod ledger;
mod metadata;
mod registration;
mod revoke;
mod token;

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::{HeaderValue, header};
use axum::middleware::map_response;
use axum::response::Response;
use axum::routing::{get, post};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::fault::Fault;
use ledger::Ledger;

pub use client_auth::{ClientAuthentication, KnownClient};
pub(super) use ledger::TokenState;
pub use ledger::{IssuedTokens, OAuthCounts};
pub use metadata::MetadataPlace;
pub(super) use metadata::resource_document;

/// How the server is set up.
#[derive(Debug, Clone)]
pub struct AuthorizationOptions {
    /// Port on loopback; 0 takes a free one.
    pub port: u16,
    /// How long an access token is good.
    pub lifetime: Duration,
    /// Path of the issuer without slashes (`tenant1`); empty for an issuer without a path.
    pub issuer_path: String,
    /// Where its metadata is found.
    pub metadata: MetadataPlace,
    /// Whether clients may register themselves.
    pub registration: bool,
    /// Clients that it knows from the start.
    pub clients: Vec<KnownClient>,
    /// Addresses of client metadata documents that it accepts as client ids, as if it had fetched them. Its metadata
    /// offers this when there is one.
    pub document_clients: Vec<String>,
    /// Scopes it grants; when empty, a request may come without a scope.
    pub scopes: Vec<String>,
    /// Whether it answers at once; otherwise a page with an *Allow* button does.
    pub auto_approve: bool,
    /// Whether the metadata promises `iss` in the callback. It is sent in any case.
    pub promises_issuer: bool,
    /// Whether there is a revocation endpoint.
    pub revocation: bool,
}

impl Default for AuthorizationOptions {
    fn default() -> Self {
        Self {
            port: 0,
            lifetime: Duration::from_secs(3_600),
            issuer_path: String::new(),
            metadata: MetadataPlace::OAuth,
            registration: true,
            clients: Vec::new(),
            document_clients: Vec::new(),
            scopes: ["mcp:use", "mcp:admin"].map(str::to_owned).to_vec(),
            auto_approve: true,
            promises_issuer: true,
            revocation: true,
        }
    }
}

/// What all endpoints share, and the protected servers too.
pub(super) struct Issuer {
    options: AuthorizationOptions,
    base: String,
    elsewhere: String,
    broken: watch::Sender<BTreeSet<Fault>>,
    ledger: Mutex<Ledger>,
}

impl Issuer {
    /// The issuer identifier.
    pub(super) fn name(&self) -> String {
        if self.options.issuer_path.is_empty() {
            self.base.clone()
        } else {
            format!("{}/{}", self.base, self.options.issuer_path)
        }
    }

    pub(super) fn elsewhere(&self) -> &str {
        &self.elsewhere
    }

    pub(super) fn is_broken(&self, fault: Fault) -> bool {
        self.broken.borrow().contains(&fault)
    }

    /// Waits as long as this fault is set.
    pub(super) async fn hang(&self, fault: Fault) {
        // The sender is in `self`: it cannot end before this does.
        let _ = self.broken.subscribe().wait_for(|broken| !broken.contains(&fault)).await;
    }

    /// Notes what a strict server holds against a client.
    pub(super) fn note(&self, words: impl Into<String>) {
        self.ledger.lock().note(words.into());
    }

    /// Makes a resource known: tokens are issued for it from now on.
    pub(super) fn add_resource(&self, resource: &str, scopes: &[String]) {
        self.ledger.lock().resources.insert(resource.to_owned(), scopes.to_vec());
    }

    /// What a token is worth at a resource.
    pub(super) fn token_state(&self, token: &str, resource: &str) -> TokenState {
        self.ledger.lock().token_state(token, resource)
    }
}

/// One request for each connection: nothing reaches a server over an old one after it was dropped.
async fn close(mut response: Response) -> Response {
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

/// A running authorization server; unreachable once it is dropped.
pub struct AuthorizationServer {
    issuer: Arc<Issuer>,
    address: SocketAddr,
    serving: [tokio::task::AbortHandle; 2],
}

impl AuthorizationServer {
    /// Starts on loopback.
    #[expect(clippy::disallowed_methods, reason = "a test server has no supervisor")]
    pub async fn start(options: AuthorizationOptions) -> std::io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", options.port)).await?;
        let other = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let issuer = Arc::new(Issuer {
            base: format!("http://{address}"),
            elsewhere: format!("http://{}", other.local_addr()?),
            broken: watch::Sender::default(),
            ledger: Mutex::new(Ledger::new(&options)),
            options,
        });
        let router = Router::new()
            .route("/authorize", get(authorize::authorize))
            .route("/decide", post(authorize::decide))
            .route("/token", post(token::token))
            .route("/register", post(registration::register))
            .route("/revoke", post(revoke::revoke))
            .fallback(metadata::metadata)
            .layer(map_response(close))
            .with_state(Arc::clone(&issuer));
        let elsewhere = Router::new().fallback(metadata::elsewhere).with_state(Arc::clone(&issuer));
        let serving = [(listener, router), (other, elsewhere)].map(|(listener, router)| {
            let serving = tokio::spawn(async move {
                let _ = axum::serve(listener, router).await;
            });
            serving.abort_handle()
        });
        Ok(Self { issuer, address, serving })
    }

    pub(super) fn issuer_state(&self) -> Arc<Issuer> {
        Arc::clone(&self.issuer)
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The issuer identifier.
    #[must_use]
    pub fn issuer(&self) -> String {
        self.issuer.name()
    }

    /// The address of its metadata.
    #[must_use]
    pub fn metadata_url(&self) -> String {
        format!("{}{}", self.issuer.base, metadata::path(&self.issuer.options))
    }

    /// The origin to which redirects lead.
    #[must_use]
    pub fn elsewhere(&self) -> &str {
        &self.issuer.elsewhere
    }

    /// Misbehaves from now on, in this way too.
    pub fn set_fault(&self, fault: Fault) {
        self.issuer.broken.send_modify(|broken| {
            broken.insert(fault);
        });
    }

    /// Stops misbehaving in this way. Requests that hang because of it go on.
    pub fn clear_fault(&self, fault: Fault) {
        self.issuer.broken.send_modify(|broken| {
            broken.remove(&fault);
        });
    }

    /// Behaves well from now on.
    pub fn clear_faults(&self) {
        self.issuer.broken.send_modify(BTreeSet::clear);
    }

    /// What clients did that a strict server holds against them, in words, in order; of the protected servers too.
    #[must_use]
    pub fn faults(&self) -> Vec<String> {
        self.issuer.ledger.lock().client_faults.clone()
    }

    /// How often each endpoint was used.
    #[must_use]
    pub fn counts(&self) -> OAuthCounts {
        self.issuer.ledger.lock().counts
    }

    /// Registration requests as they came, accepted or not.
    #[must_use]
    pub fn registration_requests(&self) -> Vec<Value> {
        self.issuer.ledger.lock().registration_requests.clone()
    }

    /// Parameters of authorization requests as they came, accepted or not.
    #[must_use]
    pub fn authorization_requests(&self) -> Vec<BTreeMap<String, String>> {
        self.issuer.ledger.lock().authorization_requests.clone()
    }

    /// Parameters of token requests as they came, accepted or not, with all secrets.
    #[must_use]
    pub fn token_requests(&self) -> Vec<BTreeMap<String, String>> {
        self.issuer.ledger.lock().token_requests.clone()
    }

    /// Paths at which clients looked for metadata, in order.
    #[must_use]
    pub fn discovery_paths(&self) -> Vec<String> {
        self.issuer.ledger.lock().discovery_paths.clone()
    }

    /// Paths that were requested at the other origin, to which redirects lead.
    #[must_use]
    pub fn strayed(&self) -> Vec<String> {
        self.issuer.ledger.lock().strayed.clone()
    }

    /// Issues tokens without a sign-in: for tests of what comes after it. The client must be known.
    #[must_use]
    pub fn issue(&self, client: &str, resource: &str, scopes: &[&str]) -> IssuedTokens {
        let scopes: Vec<String> = scopes.iter().map(|scope| (*scope).to_owned()).collect();
        let mut ledger = self.issuer.ledger.lock();
        let family = ledger.new_family(client, resource, &scopes);
        ledger.issue(family, &scopes, self.issuer.options.lifetime)
    }

    /// Lets all access tokens expire now; refresh tokens stay good.
    pub fn expire_access(&self) {
        self.issuer.ledger.lock().expire_access();
    }

    /// Revokes all access and refresh tokens, as a person does at the account page.
    pub fn revoke_grants(&self) {
        self.issuer.ledger.lock().revoke_families();
    }

    /// Forgets the clients that registered themselves: their requests are `invalid_client` from now on.
    pub fn forget_clients(&self) {
        self.issuer.ledger.lock().forget_clients();
    }

    /// Everything that must be in no log, address, export or answer to an agent: codes, tokens, client secrets and PKCE
    /// verifiers, of all sign-ins so far.
    #[must_use]
    pub fn secrets(&self) -> Vec<String> {
        self.issuer.ledger.lock().secrets()
    }

    /// How many access tokens are good now.
    #[must_use]
    pub fn good_tokens(&self) -> usize {
        self.issuer.ledger.lock().good_tokens()
    }
}

impl Drop for AuthorizationServer {
    fn drop(&mut self) {
        for serving in &self.serving {
            serving.abort();
        }
    }
}
