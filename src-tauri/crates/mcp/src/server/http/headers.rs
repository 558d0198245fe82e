//! Headers that mirror a modern body, and the version header of the older eras.
//!
//! A mirrored header must equal the body, because an intermediary may have routed by it. `Mcp-Name` may be missing on
//! `tasks/*`, where a common client omits it (protocol.md §9.14). Which parameters a tool mirrors is the service's
//! matter.

use std::borrow::Cow;

use axum::http::{HeaderMap, HeaderName};
use base64::Engine as _;

use super::super::service::Request;
use super::super::version;
use crate::server::request_meta;
use crate::server::rpc_error::{RequestError, RequestErrorKind};

const VERSION_HEADER: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD_HEADER: HeaderName = HeaderName::from_static("mcp-method");
const NAME_HEADER: HeaderName = HeaderName::from_static("mcp-name");
const PARAM_PREFIX: &str = "mcp-param-";

/// Whether the version header names the modern era.
pub(crate) fn modern_version(headers: &HeaderMap) -> bool {
    headers.get(VERSION_HEADER).and_then(|version| version.to_str().ok()).is_some_and(version::is_modern)
}

/// The event that a client had last from a stream that broke.
pub(crate) fn last_event(headers: &HeaderMap) -> Option<&str> {
    headers.get("last-event-id").and_then(|id| id.to_str().ok())
}

/// The version header of an older client: absent, or one we serve.
pub(crate) fn legacy_version(headers: &HeaderMap) -> Result<(), RequestError> {
    match headers.get(VERSION_HEADER).map(|version| version.to_str()) {
        None => Ok(()),
        Some(Ok(named)) if version::is_legacy(named) => Ok(()),
        Some(_) => Err(RequestError::new(
            RequestErrorKind::InvalidRequest,
            "`MCP-Protocol-Version` names no version served here",
        )),
    }
}

/// Compares the mirrored headers with the body.
pub(crate) fn name_check(headers: &HeaderMap, request: &Request) -> Result<(), RequestError> {
    let named = request_meta::named_version(&request.params);
    let header = decoded(headers, &VERSION_HEADER)?;
    match (named, header.as_deref()) {
        // Neither has a version; reading `_meta` reports what is missing.
        (None, _) => return Ok(()),
        (Some(_), None) => return Err(mismatch("`MCP-Protocol-Version` is missing")),
        (Some(named), Some(header)) if named != header => {
            return Err(mismatch("`MCP-Protocol-Version` differs from `_meta`"));
        }
        (Some(_), Some(_)) => {}
    }
    match decoded(headers, &METHOD_HEADER)? {
        None => return Err(mismatch("`Mcp-Method` is missing")),
        Some(method) if method != request.method => return Err(mismatch("`Mcp-Method` differs from `method`")),
        Some(_) => {}
    }
    let (member, may_miss) = match request.method.as_str() {
        "tools/call" | "prompts/get" => ("name", false),
        "resources/read" => ("uri", false),
        "tasks/get" | "tasks/update" | "tasks/cancel" => ("taskId", true),
        _ => return Ok(()),
    };
    let said = request.params.str(member);
    match (decoded(headers, &NAME_HEADER)?, said) {
        (None, _) if may_miss => Ok(()),
        (None, _) => Err(mismatch("`Mcp-Name` is missing")),
        (Some(name), Some(said)) if name == said => Ok(()),
        (Some(_), _) => Err(mismatch("`Mcp-Name` differs from the body")),
    }
}

/// The parameters that a client mirrored: name without prefix, plain value.
pub(crate) fn mirrored(headers: &HeaderMap) -> Result<Vec<(String, String)>, RequestError> {
    let names = headers.keys().filter_map(|name| Some((name, name.as_str().strip_prefix(PARAM_PREFIX)?)));
    let mut all = Vec::new();
    for (name, short) in names {
        if let Some(value) = decoded(headers, name)? {
            all.push((short.to_owned(), value.into_owned()));
        }
    }
    Ok(all)
}

fn mismatch(why: &str) -> RequestError {
    RequestError::new(RequestErrorKind::HeaderMismatch, why)
}

/// A header's value, out of its base64 sentinel when it has one.
fn decoded<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<Cow<'a, str>>, RequestError> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(mismatch("a mirrored header is there twice"));
    }
    let unreadable = || mismatch("a mirrored header cannot be read");
    let text = value.to_str().map_err(|_| unreadable())?.trim();
    let Some(sealed) = text.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) else {
        return Ok(Some(Cow::Borrowed(text)));
    };
    let bytes = base64::engine::general_purpose::STANDARD.decode(sealed).map_err(|_| unreadable())?;
    String::from_utf8(bytes).map(|text| Some(Cow::Owned(text))).map_err(|_| unreadable())
}
