//! Headers that mirror the body, and values that are safe in a header (protocol.md §2.3).
//!
//! A value that is not plain header text, or that looks like the encoded form, is sent encoded. The headers of 2025
//! sessions are in `connection.rs`.

use std::borrow::Cow;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::header::{HeaderMap, HeaderName, HeaderValue};

use crate::upstream::transport::request_params::OutgoingParams;

pub(crate) const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
pub(crate) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
pub(crate) const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
const PARAM_PREFIX: &str = "mcp-param-";
const ENCODED_BEFORE: &str = "=?base64?";
const ENCODED_AFTER: &str = "?=";

/// The headers of a modern request.
pub(crate) fn modern(
    method: &str,
    params: &OutgoingParams,
    version: &'static str,
    extra: &[(String, String)],
) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(VERSION, HeaderValue::from_static(version));
    match method {
        "tools/call" => {
            headers.insert(METHOD, HeaderValue::from_static("tools/call"));
        }
        _ => put(&mut headers, METHOD, method),
    }
    let name = match method {
        "tools/call" | "prompts/get" => params.text("name"),
        "resources/read" => params.text("uri"),
        _ if method.starts_with("tasks/") => params.text("taskId"),
        _ => None,
    };
    if let Some(name) = name {
        put(&mut headers, NAME, &name);
    }
    for (name, value) in extra {
        // The caller has checked that these are header names; one that is not is left out, and the server says so.
        if let Ok(name) = HeaderName::from_bytes(format!("{PARAM_PREFIX}{name}").as_bytes()) {
            put(&mut headers, name, value);
        }
    }
    headers
}

fn put(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(&encode(value)) {
        headers.insert(name, value);
    }
}

/// A value as it may stand in a header.
fn encode(value: &str) -> Cow<'_, str> {
    let visible = value.bytes().all(|byte| matches!(byte, b' '..=b'~')) && value.trim() == value;
    let looks_encoded = value.starts_with(ENCODED_BEFORE) && value.ends_with(ENCODED_AFTER);
    let plain = visible && !looks_encoded;
    if plain {
        return Cow::Borrowed(value);
    }
    Cow::Owned(format!("{ENCODED_BEFORE}{}{ENCODED_AFTER}", BASE64_STANDARD.encode(value)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_are_mirrored_and_unsafe_ones_are_encoded() {
        let cases = [
            ("tools/call", json!({"name":"plain"}), Some("plain")),
            ("tools/call", json!({"name":"grüß"}), Some("=?base64?Z3LDvMOf?=")),
            ("prompts/get", json!({"name":"=?base64?eA==?="}), Some("=?base64?PT9iYXNlNjQ/ZUE9PT89?=")),
            ("resources/read", json!({"uri":"file:///a b"}), Some("file:///a b")),
            ("resources/read", json!({"uri":" a"}), Some("=?base64?IGE=?=")),
            ("tasks/get", json!({"taskId":"3"}), Some("3")),
            ("tasks/cancel", json!({"taskId":"a\r\nEvil: 1"}), Some("=?base64?YQ0KRXZpbDogMQ==?=")),
            ("tools/list", json!({"name":"x"}), None),
        ];
        for (method, params, name) in cases {
            let params = OutgoingParams::plain(params, Vec::new());
            let headers = modern(method, &params, "2026-07-28", &[("Region".into(), "eu-1".into())]);
            let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok().map(ToOwned::to_owned));
            assert_eq!(header("mcp-name").as_deref(), name, "{method}");
            assert_eq!(header("mcp-method").as_deref(), Some(method), "on every request");
            assert_eq!(header("mcp-protocol-version").as_deref(), Some("2026-07-28"));
            assert_eq!(header("mcp-param-region").as_deref(), Some("eu-1"));
        }
    }
}
