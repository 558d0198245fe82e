//! What a client without a good token is told: challenges (RFC 6750, RFC 9728 §5.1) and the metadata of the resource.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::Response;
use serde_json::json;

use super::guard::Guard;
use crate::oauth::authorization_server::resource_document;
use crate::oauth::fault::Fault;
use crate::oauth::wire::{bearer, html_reply, json_reply, redirect_to};

const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";
/// Where the metadata is when only the header names it.
const HIDDEN: &str = "/oauth/resource-metadata";

/// The path that the challenge names.
fn named_path(guard: &Guard) -> String {
    match guard.options.discovery {
        super::ResourceDiscovery { at_path: true, .. } => format!("{WELL_KNOWN}/mcp"),
        super::ResourceDiscovery { at_root: true, .. } => WELL_KNOWN.to_owned(),
        super::ResourceDiscovery { .. } => HIDDEN.to_owned(),
    }
}

/// 401 for a request without a token: no error code (RFC 6750 §3.1).
pub(super) fn missing_token(guard: &Guard) -> Response {
    let scopes = if guard.options.names_scopes { guard.options.scopes.clone() } else { Vec::new() };
    challenge(guard, StatusCode::UNAUTHORIZED, None, &scopes)
}

/// 401 for a token that is not good.
pub(super) fn invalid_token(guard: &Guard) -> Response {
    let scopes = if guard.options.names_scopes { guard.options.scopes.clone() } else { Vec::new() };
    challenge(guard, StatusCode::UNAUTHORIZED, Some("invalid_token"), &scopes)
}

/// 403 with all scopes that the request needs.
pub(super) fn insufficient_scope(guard: &Guard, scopes: &[String]) -> Response {
    challenge(guard, StatusCode::FORBIDDEN, Some("insufficient_scope"), scopes)
}

fn challenge(guard: &Guard, status: StatusCode, error: Option<&str>, scopes: &[String]) -> Response {
    let issuer = guard.issuer();
    let broken = |fault| issuer.is_broken(fault);
    let path = named_path(guard);
    let address = if broken(Fault::ChallengeRelative) {
        path
    } else if broken(Fault::ChallengeElsewhere) {
        format!("{}{WELL_KNOWN}/mcp", issuer.elsewhere())
    } else {
        format!("http://{}{path}", guard.address)
    };
    let mut parameters = Vec::new();
    parameters.extend(error.map(|error| format!("error=\"{error}\"")));
    if guard.options.discovery.by_header {
        parameters.push(format!("resource_metadata=\"{address}\""));
    }
    if !scopes.is_empty() {
        parameters.push(format!("scope=\"{}\"", scopes.join(" ")));
    }
    let bearer = format!("Bearer {}", parameters.join(", "));
    let lines = if broken(Fault::ChallengeMissing) {
        Vec::new()
    } else if broken(Fault::ChallengeMalformed) {
        vec![format!("Bearer error=, resource_metadata=\"{address}")]
    } else if broken(Fault::ChallengeTwo) {
        vec![format!("Basic realm=\"old, with a comma\", {bearer}")]
    } else if broken(Fault::ChallengeTwoLines) {
        vec!["Basic realm=\"old\"".to_owned(), bearer]
    } else {
        vec![bearer.trim_end().to_owned()]
    };
    let mut answer = json_reply(status, &json!({"error": error.unwrap_or("unauthorized")}));
    for line in lines {
        if let Ok(value) = HeaderValue::from_str(&line) {
            answer.headers_mut().append(header::WWW_AUTHENTICATE, value);
        }
    }
    answer
}

/// Answers everything beside the MCP endpoint: the metadata, and 404.
pub(super) async fn metadata(State(guard): State<Arc<Guard>>, uri: Uri, headers: HeaderMap) -> Response {
    let (path, discovery, issuer) = (uri.path(), guard.options.discovery, guard.issuer());
    if path.contains("/.well-known/") || path == HIDDEN {
        guard.metadata_paths.lock().push(path.to_owned());
        if bearer(&headers).is_some() {
            issuer.note("resource: a token was sent with a request for metadata");
        }
    }
    if ["/authorize", "/token", "/register"].contains(&path) {
        issuer.note(format!("resource: {path} was guessed: endpoints are in the metadata of an authorization server"));
    }
    let is_hidden = !discovery.at_path && !discovery.at_root;
    let is_there = (discovery.at_root && path == WELL_KNOWN)
        || (discovery.at_path && path.strip_prefix(WELL_KNOWN) == Some("/mcp"))
        || (is_hidden && path == HIDDEN);
    if !is_there {
        return json_reply(StatusCode::NOT_FOUND, &json!({"error": "not_found"}));
    }
    let broken = |fault| issuer.is_broken(fault);
    issuer.hang(Fault::ResourceMetadataHangs).await;
    if broken(Fault::ResourceMetadataHtml) {
        return html_reply(StatusCode::OK, "<h1>Welcome</h1>");
    }
    if broken(Fault::ResourceMetadataRedirects) {
        return redirect_to(StatusCode::FOUND, &format!("{}{WELL_KNOWN}/mcp", issuer.elsewhere()));
    }
    let mut document = resource_document(&issuer, &guard.resource(), &guard.all_scopes());
    let changes = [
        (Fault::ResourceLies, "resource", json!("https://other.example/mcp")),
        (Fault::NoAuthorizationServer, "authorization_servers", json!([])),
        (Fault::AuthorizationServerPrivate, "authorization_servers", json!(["http://10.0.0.1"])),
    ];
    for (_, key, value) in changes.into_iter().filter(|(fault, ..)| broken(*fault)) {
        if let Some(fields) = document.as_object_mut() {
            fields.insert(key.to_owned(), value);
        }
    }
    json_reply(StatusCode::OK, &document)
}
