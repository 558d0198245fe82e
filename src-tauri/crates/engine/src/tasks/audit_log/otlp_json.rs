//! What log records and spans have in common in the JSON encoding of OTLP: attributes, times, the resource and the scope.
//!
//! Attributes have the names of the OpenTelemetry semantic conventions where these have one, and begin with `taskwarden.`
//! otherwise. Bodies are written here without a library (decision 0100); tests hold them against the published messages.

use domain::ports::LogEpoch;
use domain::time::Timestamp;
use serde_json::{Value, json};

/// Of the program that writes them.
const VERSION: &str = env!("CARGO_PKG_VERSION");

pub(super) fn text(key: &str, value: &str) -> Value {
    json!({"key": key, "value": {"stringValue": value}})
}

/// Whole numbers of 64 bits are texts in this encoding.
pub(super) fn whole(key: &str, value: u64) -> Value {
    json!({"key": key, "value": {"intValue": value.to_string()}})
}

/// Nanoseconds since 1970; a time before it counts as unknown.
pub(super) fn nanos(at: Timestamp) -> String {
    let millis = u128::try_from(at.as_millis()).unwrap_or_default();
    (millis * 1_000_000).to_string()
}

/// The id in the name of a log, with its epoch: `LOG_ID` of `taskwarden/LOG_ID`, `LOG_ID/2` of `taskwarden/LOG_ID/2`.
pub(super) fn log_id(origin: &str) -> &str {
    origin.split_once('/').map_or(origin, |(_, id)| id)
}

/// Who sends: this program, for the log of this name.
pub(super) fn resource(origin: &str) -> Value {
    json!({"attributes": [
        text("service.name", "taskwarden"),
        text("service.version", VERSION),
        text("service.instance.id", log_id(LogEpoch::of(origin).log)),
    ]})
}

/// Which part of the program made what follows.
pub(super) fn scope(name: &str) -> Value {
    json!({"name": name, "version": VERSION})
}

/// The id behind the kind of a subject or actor, such as `hdl_…` of `handle:hdl_…`; of a request, its task.
pub(super) fn id_of<'a>(word: &'a str, kind: &str) -> Option<&'a str> {
    let rest = word.strip_prefix(kind)?.strip_prefix(':')?;
    Some(rest.split_once(':').map_or(rest, |(id, _)| id))
}

#[cfg(test)]
pub(super) mod schema;
