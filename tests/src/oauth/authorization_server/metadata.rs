//! The metadata of the authorization server (RFC 8414), and the other origin to which faults redirect.
//!
//! Only one of the places of [`MetadataPlace`] answers; requests at the others are counted and get 404.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::Response;
use serde_json::{Value, json};

use super::client_auth::ClientAuthentication;
use super::{AuthorizationOptions, Issuer};
use crate::oauth::fault::Fault;
use crate::oauth::wire::{bearer, html_reply, json_reply, redirect_to};

/// Spaces after the document of [`Fault::MetadataHuge`].
const HUGE: usize = 16 << 20;

/// Where the metadata is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetadataPlace {
    /// `/.well-known/oauth-authorization-server[/path]`.
    OAuth,
    /// `/.well-known/openid-configuration[/path]`.
    OpenIdInserted,
    /// `[/path]/.well-known/openid-configuration`.
    OpenIdAppended,
}

/// The path of the metadata.
pub(super) fn path(options: &AuthorizationOptions) -> String {
    let tail = if options.issuer_path.is_empty() { String::new() } else { format!("/{}", options.issuer_path) };
    match options.metadata {
        MetadataPlace::OAuth => format!("/.well-known/oauth-authorization-server{tail}"),
        MetadataPlace::OpenIdInserted => format!("/.well-known/openid-configuration{tail}"),
        MetadataPlace::OpenIdAppended => format!("{tail}/.well-known/openid-configuration"),
    }
}

/// Answers everything that is no endpoint.
pub(super) async fn metadata(State(issuer): State<Arc<Issuer>>, uri: Uri, headers: HeaderMap) -> Response {
    if uri.path().contains("/.well-known/") {
        let mut ledger = issuer.ledger.lock();
        ledger.counts.metadata_requests += 1;
        ledger.discovery_paths.push(uri.path().to_owned());
        if bearer(&headers).is_some() {
            ledger.note(format!("{}: a token was sent with a request for metadata", uri.path()));
        }
    }
    if uri.path() != path(&issuer.options) {
        return json_reply(StatusCode::NOT_FOUND, &json!({"error": "not_found"}));
    }
    issuer.hang(Fault::MetadataHangs).await;
    if issuer.is_broken(Fault::MetadataBreaks) {
        return html_reply(StatusCode::INTERNAL_SERVER_ERROR, "<h1>Something broke</h1>");
    }
    if issuer.is_broken(Fault::MetadataHtml) {
        return html_reply(StatusCode::OK, "<h1>Welcome</h1>");
    }
    if issuer.is_broken(Fault::MetadataRedirects) {
        return redirect_to(StatusCode::FOUND, &format!("{}{}", issuer.elsewhere, uri.path()));
    }
    let mut text = document(&issuer).to_string();
    if issuer.is_broken(Fault::MetadataHuge) {
        text.push_str(&" ".repeat(HUGE));
    }
    let mut reply = json_reply(StatusCode::OK, &Value::Null);
    *reply.body_mut() = text.into();
    reply
}

/// How clients may authenticate: as the known ones do that have a secret, and in all ways when there are none.
pub(super) fn auth_methods(options: &AuthorizationOptions) -> Vec<&'static str> {
    let uses = |is_it: fn(&ClientAuthentication) -> bool| {
        let mut with_secret = options.clients.iter().filter(|known| known.authentication != ClientAuthentication::None);
        with_secret.clone().next().is_none() || with_secret.any(|known| is_it(&known.authentication))
    };
    let mut methods = vec!["none"];
    if uses(|authentication| matches!(authentication, ClientAuthentication::Basic(_))) {
        methods.push("client_secret_basic");
    }
    if uses(|authentication| matches!(authentication, ClientAuthentication::Post(_))) {
        methods.push("client_secret_post");
    }
    methods
}

fn document(issuer: &Issuer) -> Value {
    let (base, options) = (&issuer.base, &issuer.options);
    let broken = |fault| issuer.is_broken(fault);
    let endpoint = |path: &str| Value::String(format!("{base}{path}"));
    let mut document = json!({
        "issuer": issuer.name(),
        "authorization_endpoint": endpoint("/authorize"),
        "token_endpoint": endpoint("/token"),
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": auth_methods(options),
        "authorization_response_iss_parameter_supported": options.promises_issuer,
        "client_id_metadata_document_supported": !options.document_clients.is_empty(),
    });
    let Some(fields) = document.as_object_mut() else { return document };
    if options.registration && !broken(Fault::NoRegistrationEndpoint) {
        fields.insert("registration_endpoint".into(), endpoint("/register"));
    }
    if options.revocation {
        fields.insert("revocation_endpoint".into(), endpoint("/revoke"));
    }
    if !options.scopes.is_empty() {
        fields.insert("scopes_supported".into(), json!(options.scopes));
    }
    let changes = [
        (Fault::IssuerLies, "issuer", json!("https://honest.example")),
        (Fault::PkcePlain, "code_challenge_methods_supported", json!(["plain"])),
        (Fault::AuthorizationEndpointPlain, "authorization_endpoint", json!("http://example.invalid/authorize")),
        (Fault::AuthorizationEndpointScript, "authorization_endpoint", json!("javascript:alert(document.domain)")),
        (Fault::TokenEndpointPrivate, "token_endpoint", json!("http://10.0.0.1/token")),
        (Fault::CallbackIssuerMissing, "authorization_response_iss_parameter_supported", json!(true)),
    ];
    for (_, key, value) in changes.into_iter().filter(|(fault, ..)| broken(*fault)) {
        fields.insert(key.to_owned(), value);
    }
    let gaps = [(Fault::IssuerMissing, "issuer"), (Fault::PkceMissing, "code_challenge_methods_supported")];
    for (_, key) in gaps.into_iter().filter(|(fault, _)| broken(*fault)) {
        fields.remove(key);
    }
    document
}

/// The metadata of a protected resource (RFC 9728).
pub(in crate::oauth) fn resource_document(issuer: &Issuer, resource: &str, scopes: &[String]) -> Value {
    let mut document = json!({
        "resource": resource,
        "authorization_servers": [issuer.name()],
        "bearer_methods_supported": ["header"],
    });
    if let Some(fields) = document.as_object_mut().filter(|_| !scopes.is_empty()) {
        fields.insert("scopes_supported".into(), json!(scopes));
    }
    document
}

/// Another origin: serves the documents that redirects lead to, so that a client which follows finds what it wants.
pub(super) async fn elsewhere(State(issuer): State<Arc<Issuer>>, uri: Uri, headers: HeaderMap) -> Response {
    let path = uri.path();
    let resource = {
        let mut ledger = issuer.ledger.lock();
        ledger.strayed.push(path.to_owned());
        if ["/token", "/register", "/revoke"].contains(&path) {
            ledger.note(format!("{path}: a request with credentials went to another origin"));
        }
        if bearer(&headers).is_some() {
            ledger.note(format!("{path}: a token went to another origin"));
        }
        ledger.resources.iter().next().map(|(resource, scopes)| (resource.clone(), scopes.clone()))
    };
    match resource {
        Some((resource, scopes)) if path.contains("/.well-known/oauth-protected-resource") => {
            json_reply(StatusCode::OK, &resource_document(&issuer, &resource, &scopes))
        }
        _ if path.contains("/.well-known/") => json_reply(StatusCode::OK, &document(&issuer)),
        Some(_) | None => json_reply(StatusCode::NOT_FOUND, &json!({"error": "not_found"})),
    }
}
