//! What both servers need of HTTP and OAuth: form fields, random secrets, S256, replies.

use std::collections::{BTreeMap, BTreeSet};

use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use reqwest::Url;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Fields of a query or of a form, in order.
pub(super) struct Fields(Vec<(String, String)>);

impl Fields {
    pub(super) fn read(text: &str) -> Self {
        let Ok(mut url) = Url::parse("http://127.0.0.1/") else { return Self(Vec::new()) };
        url.set_query(Some(text));
        Self(url.query_pairs().map(|(name, value)| (name.into_owned(), value.into_owned())).collect())
    }

    /// The first field of this name; one without a value counts as omitted (RFC 6749 §3.1).
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(other, value)| other == name && !value.is_empty()).map(|(_, value)| value.as_str())
    }

    /// The name of a field that came twice.
    pub(super) fn repeated(&self) -> Option<&str> {
        let mut seen = BTreeSet::new();
        self.0.iter().map(|(name, _)| name.as_str()).find(|name| !seen.insert(*name))
    }

    pub(super) fn to_map(&self) -> BTreeMap<String, String> {
        self.0.iter().cloned().collect()
    }
}

/// The S256 challenge of a PKCE verifier.
#[must_use]
pub fn s256(verifier: &str) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()))
}

/// A random name that cannot be guessed, after a prefix that says what it is.
pub(super) fn random(prefix: &str) -> String {
    let mut bytes = [0_u8; 24];
    getrandom::fill(&mut bytes).expect("the system has random numbers");
    format!("{prefix}-{}", BASE64_URL_SAFE_NO_PAD.encode(bytes))
}

/// Scopes of a text, each once, in order.
pub(super) fn scopes_of(text: &str) -> Vec<String> {
    let mut scopes: Vec<String> = Vec::new();
    for scope in text.split_ascii_whitespace() {
        if !scopes.iter().any(|known| known == scope) {
            scopes.push(scope.to_owned());
        }
    }
    scopes
}

/// What follows `Bearer` in a well-formed `Authorization` header.
pub(super) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

pub(super) fn json_reply(status: StatusCode, body: &Value) -> Response {
    let headers = [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-store")];
    (status, headers, body.to_string()).into_response()
}

/// A page of HTML; `body` is markup already.
pub(super) fn html_reply(status: StatusCode, body: &str) -> Response {
    let page = format!("<!doctype html><meta charset=utf-8><title>Authorization server</title>\n{body}\n");
    (status, [(header::CONTENT_TYPE, "text/html; charset=utf-8"), (header::CACHE_CONTROL, "no-store")], page)
        .into_response()
}

/// Text as HTML shows it.
pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

pub(super) fn redirect_to(status: StatusCode, location: &str) -> Response {
    (status, [(header::LOCATION, location), (header::CACHE_CONTROL, "no-store")]).into_response()
}
