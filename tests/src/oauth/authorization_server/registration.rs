//! Dynamic registration of clients (RFC 7591), for native programs alone.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use serde_json::{Value, json};

use super::Issuer;
use super::client_auth::{Client, ClientAuthentication, Redirects, is_loopback};
use super::metadata::auth_methods;
use crate::oauth::fault::Fault;
use crate::oauth::wire::{html_reply, json_reply, random};

/// When clients are registered: no test looks at it.
const ISSUED_AT: u64 = 1_795_000_000;

/// Registers a client, or says what is wrong with its metadata.
pub(super) async fn register(State(issuer): State<Arc<Issuer>>, headers: HeaderMap, body: Bytes) -> Response {
    let request: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
    issuer.ledger.lock().registration_requests.push(request.clone());
    if !issuer.options.registration || issuer.is_broken(Fault::NoRegistrationEndpoint) {
        issuer.note("registration: there is no registration endpoint in the metadata");
        issuer.ledger.lock().counts.refused_registrations += 1;
        return json_reply(StatusCode::NOT_FOUND, &json!({"error": "not_found"}));
    }
    let mut wrong = check(&request, &auth_methods(&issuer.options));
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if !kind.starts_with("application/json") {
        wrong.push(("invalid_client_metadata", format!("Content-Type is `{kind}`")));
    }
    let first = wrong.first().map(|(code, words)| (*code, words.clone()));
    let mut ledger = issuer.ledger.lock();
    for (_, words) in wrong {
        ledger.note(format!("registration: {words}"));
    }
    let refused = if let Some((code, words)) = first {
        Some(json_reply(StatusCode::BAD_REQUEST, &json!({"error": code, "error_description": words})))
    } else if issuer.is_broken(Fault::RegistrationForbidden) {
        Some(html_reply(StatusCode::FORBIDDEN, "<h1>Ask your administrator</h1>"))
    } else if issuer.is_broken(Fault::RegistrationInvalid) {
        let error =
            json!({"error": "invalid_redirect_uri", "error_description": "<b>loopback</b> is not allowed here"});
        Some(json_reply(StatusCode::BAD_REQUEST, &error))
    } else {
        None
    };
    if let Some(refused) = refused {
        ledger.counts.refused_registrations += 1;
        return refused;
    }
    let (id, client, answer) = accept(request, issuer.is_broken(Fault::RegistrationExpires));
    ledger.clients.insert(id, client);
    ledger.counts.registrations += 1;
    json_reply(StatusCode::CREATED, &answer)
}

fn texts(request: &Value, key: &str) -> Vec<String> {
    let values = request.get(key).and_then(Value::as_array).into_iter().flatten();
    values.filter_map(|value| value.as_str().map(str::to_owned)).collect()
}

fn check(request: &Value, methods: &[&str]) -> Vec<(&'static str, String)> {
    let mut wrong = Vec::new();
    let mut metadata = |words: String| wrong.push(("invalid_client_metadata", words));
    if !request.is_object() {
        metadata("the body is not a JSON object".into());
    }
    let kind = request.get("application_type");
    if kind.and_then(Value::as_str) != Some("native") {
        metadata(format!("application_type is {}", kind.unwrap_or(&Value::Null)));
    }
    let grants = texts(request, "grant_types");
    for grant in ["authorization_code", "refresh_token"] {
        if !grants.iter().any(|known| known == grant) {
            metadata(format!("grant_types lacks {grant}"));
        }
    }
    if request.get("response_types").is_some() && texts(request, "response_types") != ["code"] {
        metadata("response_types is not `code` alone".into());
    }
    let method = request.get("token_endpoint_auth_method").and_then(Value::as_str);
    if method.is_some_and(|method| !methods.contains(&method)) {
        metadata("token_endpoint_auth_method is none that the metadata offers".into());
    }
    if request.get("client_name").and_then(Value::as_str).is_none_or(str::is_empty) {
        metadata("client_name is missing: a person could not tell who asks".into());
    }
    let redirects = texts(request, "redirect_uris");
    if redirects.is_empty() {
        wrong.push(("invalid_redirect_uri", "redirect_uris is empty".into()));
    }
    for redirect in redirects.iter().filter(|redirect| !is_loopback(redirect)) {
        wrong.push(("invalid_redirect_uri", format!("`{redirect}` is not on loopback")));
    }
    wrong
}

/// The client, and the answer that tells it its id.
fn accept(request: Value, is_expired: bool) -> (String, Client, Value) {
    let id = random("client");
    let method = request.get("token_endpoint_auth_method").and_then(Value::as_str);
    let authentication = match method {
        Some("none") if !is_expired => ClientAuthentication::None,
        Some("client_secret_post" | "none") => ClientAuthentication::Post(random("secret")),
        Some(_) | None => ClientAuthentication::Basic(random("secret")),
    };
    let client = Client {
        name: request.get("client_name").and_then(Value::as_str).unwrap_or_default().to_owned(),
        redirects: Redirects::Registered(texts(&request, "redirect_uris")),
        authentication,
        is_expired,
    };
    let mut answer = request;
    if let Some(fields) = answer.as_object_mut() {
        fields.insert("client_id".into(), json!(id));
        fields.insert("client_id_issued_at".into(), json!(ISSUED_AT));
        let (method, secret) = match &client.authentication {
            ClientAuthentication::None => ("none", None),
            ClientAuthentication::Basic(secret) => ("client_secret_basic", Some(secret)),
            ClientAuthentication::Post(secret) => ("client_secret_post", Some(secret)),
        };
        fields.insert("token_endpoint_auth_method".into(), json!(method));
        if let Some(secret) = secret {
            fields.insert("client_secret".into(), json!(secret));
            // 0 is never; a second after registration is long ago.
            let expires = if is_expired { ISSUED_AT + 1 } else { 0 };
            fields.insert("client_secret_expires_at".into(), json!(expires));
        }
    }
    (id, client, answer)
}
