//! What a modern request says in `params._meta`: version, capabilities and client.
//!
//! A connection reads it once for requests that send the same. Required keys are checked here for both transports
//! (protocol.md §2.1); mirrored HTTP headers in `http/headers.rs`.

use std::sync::{Arc, OnceLock};

use domain::policy::REMEMBERED_META_MAX_BYTES;
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use super::principal::{ClientProgram, ModernClient};
use super::version;
use crate::server::request_params::RequestParams;
use crate::server::rpc_error::{RequestError, RequestErrorKind};

/// The key of the version in `_meta`.
pub(crate) const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// The key of the client's name in `_meta`.
const META_CLIENT: &str = "io.modelcontextprotocol/clientInfo";
/// The key of the capabilities in `_meta`.
pub(crate) const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// What one `_meta` says, read once.
#[derive(Debug, Default)]
pub(crate) struct RequestMeta {
    text: Box<str>,
    members: Map<String, Value>,
    /// Known once it was asked for, if there is nothing wrong with it.
    client: OnceLock<Arc<ModernClient>>,
}

impl RequestMeta {
    /// Reads the JSON text of a `_meta`; what is no object says nothing.
    pub(crate) fn read(text: &str) -> Self {
        Self { text: text.into(), members: serde_json::from_str(text).unwrap_or_default(), client: OnceLock::new() }
    }

    pub(crate) const fn members(&self) -> &Map<String, Value> {
        &self.members
    }
}

/// The `_meta` that a connection's client sent last. Most clients send the same one with every request.
#[derive(Debug, Default)]
pub(crate) struct LastMeta(Mutex<Option<Arc<RequestMeta>>>);

impl LastMeta {
    /// What this `_meta` says.
    pub(crate) fn read(&self, text: &str) -> Arc<RequestMeta> {
        if text.len() > REMEMBERED_META_MAX_BYTES {
            return Arc::new(RequestMeta::read(text));
        }
        let mut last = self.0.lock();
        match &*last {
            Some(known) if *known.text == *text => Arc::clone(known),
            Some(_) | None => Arc::clone(last.insert(Arc::new(RequestMeta::read(text)))),
        }
    }
}

/// Whether the request opens the modern way: it names a version in `_meta`.
#[must_use]
pub(crate) fn opens_modern(params: &RequestParams) -> bool {
    params.request_meta().client.get().is_some()
        || params.meta().contains_key(META_VERSION)
        || params.meta().contains_key(META_CAPABILITIES)
}

/// The version that the request names.
#[must_use]
pub(crate) fn named_version(params: &RequestParams) -> Option<&str> {
    if let Some(client) = params.request_meta().client.get() {
        return Some(&client.version);
    }
    params.meta().get(META_VERSION)?.as_str()
}

/// Reads who asks.
///
/// # Errors
/// When a required key is missing, or the version is not served.
pub(crate) fn read(params: &RequestParams) -> Result<Arc<ModernClient>, RequestError> {
    let known = &params.request_meta().client;
    if let Some(client) = known.get() {
        return Ok(Arc::clone(client));
    }
    let bad = |key| RequestError::new(RequestErrorKind::BadMeta, format!("`params._meta` must hold `{key}`"));
    let version = named_version(params).ok_or_else(|| bad(META_VERSION))?;
    if !version::is_modern(version) {
        return Err(unsupported(version));
    }
    let capabilities = params.meta().get(META_CAPABILITIES);
    let capabilities = capabilities.filter(|declared| declared.is_object()).ok_or_else(|| bad(META_CAPABILITIES))?;
    let program = ClientProgram::read(params.meta().get(META_CLIENT));
    let client = ModernClient { version: version.to_owned(), capabilities: capabilities.clone(), program };
    Ok(Arc::clone(known.get_or_init(|| Arc::new(client))))
}

/// The answer to a version we do not serve the modern way.
#[must_use]
pub(crate) fn unsupported(requested: &str) -> RequestError {
    RequestError {
        kind: RequestErrorKind::UnsupportedVersion,
        message: "this protocol version is not served".to_owned(),
        data: Some(Box::new(json!({"supported": version::MODERN, "requested": requested}))),
        raw: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_reads_the_same_meta_once_and_another_anew() {
        let last = LastMeta::default();
        let meta = |name: &str| {
            json!({META_VERSION: version::MODERN[0], META_CAPABILITIES: {}, META_CLIENT: {"name": name}}).to_string()
        };
        let client = |meta: &str| {
            let params = format!(r#"{{"_meta":{meta}}}"#);
            let params = RequestParams::open_shared(Some(params.into()), |meta| last.read(meta)).expect("an object");
            assert!(opens_modern(&params) && named_version(&params) == Some(version::MODERN[0]), "it is modern");
            read(&params).expect("a modern client")
        };
        let (one, again, other) = (client(&meta("one")), client(&meta("one")), client(&meta("other")));
        assert!(Arc::ptr_eq(&one, &again), "the same text is the same client");
        assert_eq!(other.program.as_ref().map(|program| program.name.as_str()), Some("other"));
        let nobody = RequestParams::open_shared(Some("{}".into()), |meta| last.read(meta)).expect("an object");
        assert!(!opens_modern(&nobody) && read(&nobody).is_err(), "a request without one is not taken for the last");
    }
}
