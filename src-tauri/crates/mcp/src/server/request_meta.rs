//! What a modern request says in `params._meta`: version, capabilities and client.
//!
//! Required keys are checked here for both transports (protocol.md §2.1); mirrored HTTP headers in `http/headers.rs`.

use std::sync::Arc;

use serde_json::json;

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

/// Whether the request opens the modern way: it names a version in `_meta`.
#[must_use]
pub(crate) fn opens_modern(params: &RequestParams) -> bool {
    params.meta().contains_key(META_VERSION) || params.meta().contains_key(META_CAPABILITIES)
}

/// The version that the request names.
#[must_use]
pub(crate) fn named_version(params: &RequestParams) -> Option<&str> {
    params.meta().get(META_VERSION)?.as_str()
}

/// Reads who asks.
///
/// # Errors
/// When a required key is missing, or the version is not served.
pub(crate) fn read(params: &RequestParams) -> Result<Arc<ModernClient>, RequestError> {
    let bad = |key| RequestError::new(RequestErrorKind::BadMeta, format!("`params._meta` must hold `{key}`"));
    let version = named_version(params).ok_or_else(|| bad(META_VERSION))?;
    if !version::is_modern(version) {
        return Err(unsupported(version));
    }
    let capabilities = params.meta().get(META_CAPABILITIES);
    let capabilities = capabilities.filter(|declared| declared.is_object()).ok_or_else(|| bad(META_CAPABILITIES))?;
    let program = ClientProgram::read(params.meta().get(META_CLIENT));
    Ok(Arc::new(ModernClient { version: version.to_owned(), capabilities: capabilities.clone(), program }))
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
