//! Lets a request through that carries a good token with the scopes it needs, and answers the others itself.
//!
//! The body is read before it is sent on, because the name of the tool decides about the scope. Answers stream.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use parking_lot::Mutex;
use serde_json::Value;

use super::challenge::{insufficient_scope, invalid_token, missing_token};
use super::{ProtectedCounts, ProtectedOptions};
use crate::oauth::authorization_server::{Issuer, TokenState};
use crate::oauth::fault::Fault;
use crate::oauth::wire::{Fields, bearer};

/// The largest request that is read.
const MOST: usize = 16 << 20;

/// Why a token does not let a request through.
enum Lacking {
    Token,
    GoodToken,
}

/// What all requests share.
pub(super) struct Guard {
    pub(super) issuer: Mutex<Arc<Issuer>>,
    pub(super) address: SocketAddr,
    pub(super) upstream: SocketAddr,
    pub(super) client: Client<HttpConnector, Body>,
    pub(super) options: ProtectedOptions,
    pub(super) counts: Mutex<ProtectedCounts>,
    pub(super) metadata_paths: Mutex<Vec<String>>,
}

impl Guard {
    /// The authorization server of now.
    pub(super) fn issuer(&self) -> Arc<Issuer> {
        Arc::clone(&self.issuer.lock())
    }

    pub(super) fn resource(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    pub(super) fn all_scopes(&self) -> Vec<String> {
        let mut scopes = self.options.scopes.clone();
        for (_, scope) in &self.options.tool_scopes {
            if !scopes.contains(scope) {
                scopes.push(scope.clone());
            }
        }
        scopes
    }

    /// The scopes of a good token, or what the request lacks.
    fn check_token(&self, request: &Request) -> Result<Vec<String>, Lacking> {
        if Fields::read(request.uri().query().unwrap_or_default()).get("access_token").is_some() {
            self.issuer().note("resource: a token is in the address");
        }
        if !request.headers().contains_key(header::AUTHORIZATION) {
            self.counts.lock().without_token += 1;
            return Err(Lacking::Token);
        }
        let state = match bearer(request.headers()) {
            Some(token) => self.issuer().token_state(token, &self.resource()),
            None => {
                self.issuer().note("resource: Authorization is not a bearer token");
                TokenState::Unknown
            }
        };
        match state {
            TokenState::Good(scopes) if !self.issuer().is_broken(Fault::TokenRevoked) => return Ok(scopes),
            TokenState::Good(_) | TokenState::Over => {}
            TokenState::Foreign => self.issuer().note("resource: the token was issued for another resource"),
            TokenState::Unknown => self.issuer().note("resource: the token was never issued"),
        }
        self.counts.lock().refused_tokens += 1;
        Err(Lacking::GoodToken)
    }

    /// The scopes that a message needs and the token lacks, all at once.
    fn lacking(&self, body: &[u8], granted: &[String]) -> Vec<String> {
        let message: Value = serde_json::from_slice(body).unwrap_or(Value::Null);
        let is_call = message.get("method").and_then(Value::as_str) == Some("tools/call");
        let tool = message.pointer("/params/name").and_then(Value::as_str).filter(|_| is_call);
        let of_tool = self.options.tool_scopes.iter().filter(|(name, _)| Some(name.as_str()) == tool);
        let needed: Vec<&String> = self.options.scopes.iter().chain(of_tool.map(|(_, scope)| scope)).collect();
        let is_endless = self.issuer().is_broken(Fault::StepUpEndless) && is_call;
        if is_endless || needed.iter().any(|scope| !granted.contains(scope)) {
            needed.into_iter().cloned().collect()
        } else {
            Vec::new()
        }
    }
}

/// Answers every request to the MCP endpoint.
pub(super) async fn answer(State(guard): State<Arc<Guard>>, request: Request) -> Response {
    let granted = match guard.check_token(&request) {
        Ok(granted) => granted,
        Err(Lacking::Token) => return missing_token(&guard),
        Err(Lacking::GoodToken) => return invalid_token(&guard),
    };
    let (mut parts, body) = request.into_parts();
    let Ok(body) = to_bytes(body, MOST).await else { return StatusCode::PAYLOAD_TOO_LARGE.into_response() };
    let lacking = guard.lacking(&body, &granted);
    if !lacking.is_empty() {
        guard.counts.lock().forbidden += 1;
        return insufficient_scope(&guard, &lacking);
    }
    guard.counts.lock().served += 1;
    let path = parts.uri.path_and_query().map_or("/mcp", |path| path.as_str()).to_owned();
    let Ok(uri) = format!("http://{}{path}", guard.upstream).parse::<Uri>() else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    parts.uri = uri;
    for name in [header::AUTHORIZATION, header::HOST, header::CONNECTION, header::TRANSFER_ENCODING] {
        parts.headers.remove(name);
    }
    match guard.client.request(Request::from_parts(parts, Body::from(body))).await {
        Ok(response) => response.map(Body::new),
        Err(_) => StatusCode::BAD_GATEWAY.into_response(),
    }
}
