//! The params of our requests as they go out: what the caller gave, what stays verbatim, and the `_meta` keys that
//! the modern era wants on every request (protocol.md §2.1).
//!
//! It says who we are and what we can do, for both eras; sampling and roots are not among it.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

/// The modern version that we speak.
pub(crate) const MODERN_VERSION: &str = "2026-07-28";

/// The versions with a handshake that we know, the one we ask for first.
pub(crate) const LEGACY_VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const META_CLIENT: &str = "io.modelcontextprotocol/clientInfo";
const META_ABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// Params of a request.
pub(crate) struct Params {
    value: Value,
    verbatim: Vec<(&'static str, Box<RawValue>)>,
}

impl Params {
    /// As the caller gave them.
    pub(crate) const fn plain(value: Value, verbatim: Vec<(&'static str, Box<RawValue>)>) -> Self {
        Self { value, verbatim }
    }

    /// With the modern `_meta` keys; other keys of the caller's `_meta` stay.
    pub(crate) fn stamped(value: Value, verbatim: Vec<(&'static str, Box<RawValue>)>, version: &str) -> Self {
        let mut members = match value {
            Value::Object(members) => members,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
        };
        let meta = members.entry("_meta").or_insert_with(|| Value::Object(Map::new()));
        if !meta.is_object() {
            *meta = Value::Object(Map::new());
        }
        if let Value::Object(meta) = meta {
            meta.insert(META_VERSION.into(), version.into());
            meta.insert(META_CLIENT.into(), client());
            meta.insert(META_ABILITIES.into(), modern_abilities());
        }
        Self { value: Value::Object(members), verbatim }
    }

    /// A member that is text, for mirrored headers.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.value.get(name).and_then(Value::as_str)
    }
}

impl Serialize for Params {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        for (name, value) in self.value.as_object().into_iter().flatten() {
            if !self.verbatim.iter().any(|(other, _)| other == name) {
                map.serialize_entry(name, value)?;
            }
        }
        for (name, raw) in &self.verbatim {
            map.serialize_entry(name, raw)?;
        }
        map.end()
    }
}

/// Params of `initialize`. No extensions: a server could take them for tasks of another dialect (protocol.md §9.12).
pub(crate) fn initialize() -> Value {
    json!({
        "protocolVersion": LEGACY_VERSIONS.first(),
        "capabilities": { "elicitation": { "form": {}, "url": {} } },
        "clientInfo": client(),
    })
}

fn client() -> Value {
    json!({ "name": "taskwarden", "version": env!("CARGO_PKG_VERSION") })
}

fn modern_abilities() -> Value {
    json!({ "elicitation": { "form": {}, "url": {} }, "extensions": { TASKS_EXTENSION: {} } })
}
