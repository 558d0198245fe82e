//! What a modern request says of itself in `params._meta`.
//!
//! Required keys, version and capabilities are checked here for both faces (protocol.md §2.1); the mirrored headers
//! of HTTP are in `http/headers.rs`.

use std::sync::Arc;

use serde_json::{Value, json};

use super::fault::{Fault, FaultKind};
use super::params::Params;
use super::service::{ModernClient, Program};
use super::version;

/// The key of the version in `_meta`.
pub(crate) const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// The key of the client's name in `_meta`.
const META_CLIENT: &str = "io.modelcontextprotocol/clientInfo";
/// Longest name or version of a client that is kept, in characters. Judgement: for people, on one line.
pub(super) const PROGRAM_CHARS_MAX: usize = 80;
/// The key of the capabilities in `_meta`.
pub(crate) const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// Whether the request opens the modern way: it names a version in `_meta`.
#[must_use]
pub(crate) fn opens_modern(params: &Params) -> bool {
    params.meta().contains_key(META_VERSION) || params.meta().contains_key(META_CAPABILITIES)
}

/// The version that the request names.
#[must_use]
pub(crate) fn named_version(params: &Params) -> Option<&str> {
    params.meta().get(META_VERSION)?.as_str()
}

/// Reads who asks.
///
/// # Errors
/// When a required key is missing, or the version is not served.
pub(crate) fn read(params: &Params) -> Result<Arc<ModernClient>, Fault> {
    let bad = |key| Fault::new(FaultKind::BadMeta, format!("`params._meta` must hold `{key}`"));
    let version = named_version(params).ok_or_else(|| bad(META_VERSION))?;
    if !version::is_modern(version) {
        return Err(unsupported(version));
    }
    let capabilities = params.meta().get(META_CAPABILITIES);
    let capabilities = capabilities.filter(|declared| declared.is_object()).ok_or_else(|| bad(META_CAPABILITIES))?;
    let program = Program::read(params.meta().get(META_CLIENT), PROGRAM_CHARS_MAX);
    Ok(Arc::new(ModernClient { version: version.to_owned(), capabilities: capabilities.clone(), program }))
}

/// The answer to a version we do not serve the modern way.
#[must_use]
pub(crate) fn unsupported(requested: &str) -> Fault {
    Fault {
        kind: FaultKind::UnsupportedVersion,
        message: "this protocol version is not served".to_owned(),
        data: Some(Box::new(json!({"supported": version::MODERN, "requested": requested}))),
        raw: None,
    }
}

impl ModernClient {
    /// Whether this request declares the tasks extension.
    #[must_use]
    pub fn has_tasks(&self) -> bool {
        let extensions = self.capabilities.get("extensions");
        extensions.and_then(|all| all.get(super::fault::TASKS_EXTENSION)).is_some_and(Value::is_object)
    }
}
