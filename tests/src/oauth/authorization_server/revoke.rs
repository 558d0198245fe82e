//! The revocation endpoint (RFC 7009): what a client does when a person signs out.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::Issuer;
use super::client_auth::authenticate;
use crate::oauth::wire::{Fields, json_reply};

/// Answers `POST /revoke`; a token that nobody knows is revoked already.
pub(super) async fn revoke(State(issuer): State<Arc<Issuer>>, headers: HeaderMap, body: Bytes) -> Response {
    let fields = Fields::read(&String::from_utf8_lossy(&body));
    let mut ledger = issuer.ledger.lock();
    ledger.counts.revocations += 1;
    if !issuer.options.revocation {
        ledger.note("revocation: there is no revocation endpoint in the metadata".into());
        return json_reply(StatusCode::NOT_FOUND, &json!({"error": "not_found"}));
    }
    let client = match authenticate(&ledger, &headers, &fields) {
        Ok(client) => client,
        Err(refused) => {
            if let Some(words) = refused.fault {
                ledger.note(format!("revocation: {words}"));
            }
            return json_reply(StatusCode::UNAUTHORIZED, &json!({"error": refused.code}));
        }
    };
    let Some(token) = fields.get("token") else {
        ledger.note("revocation: token is missing".into());
        return json_reply(StatusCode::BAD_REQUEST, &json!({"error": "invalid_request"}));
    };
    if !ledger.revoke_token(token, &client) {
        ledger.note("revocation: the token is another client's".into());
        return json_reply(StatusCode::BAD_REQUEST, &json!({"error": "invalid_grant"}));
    }
    StatusCode::OK.into_response()
}
