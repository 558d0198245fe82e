//! Which era a server speaks, from its answers to `server/discover` and `initialize` (protocol.md §3).
//!
//! Pure reading: the transports send, wait and decide how long silence may last. A modern error is recognised by its
//! code or by the shape of its `data`, because servers built before the final numbering exist. A list of old versions
//! under another code is how old servers refuse, and no sign of a modern one.

use std::ops::RangeInclusive;

use domain::policy::{Policy, plain_text};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::upstream::transport::link::Answer;
use crate::upstream::transport::request_params::{LEGACY_VERSIONS, MODERN_VERSION};
use crate::wire::error_codes::{HEADER_MISMATCH, UNSUPPORTED_VERSION};

/// Errors that only modern servers send (protocol.md §2.1).
const MODERN_CODES: RangeInclusive<i64> = UNSUPPORTED_VERSION..=HEADER_MISMATCH;

/// What an answer to `server/discover` says.
#[derive(Debug)]
pub(crate) enum Discovered {
    /// A modern server: agreed version and the whole result.
    Modern(&'static str, Box<RawValue>),
    /// A modern server that wants this version instead.
    TryVersion(&'static str),
    /// A modern server without a version in common; its versions, for display.
    NoCommon(String),
    /// A modern server that refuses for another reason; its error, for display.
    Refused(String),
    /// Anything else: a server with a handshake.
    Legacy,
}

/// What an answer to `initialize` says.
#[derive(Debug)]
pub(crate) enum Initialized {
    /// Agreed: version and the whole result.
    Agreed(&'static str, Box<RawValue>),
    /// The server wants a version that we do not know.
    NoCommon(String),
    /// A modern server: it knows no handshake.
    Modern,
    /// The server refuses; its error, for display.
    Refused(String),
    /// A result that is not one of `initialize`.
    Odd,
}

/// Reads the answer to `server/discover`.
pub(crate) fn discovered(answer: &Answer, policy: &Policy) -> Discovered {
    match answer {
        Answer::Result(raw) => {
            let Ok(result) = serde_json::from_str::<Value>(raw.get()) else { return Discovered::Legacy };
            let Some(listed) = result.get("supportedVersions").and_then(Value::as_array) else {
                return Discovered::Legacy;
            };
            if holds(listed, MODERN_VERSION) {
                Discovered::Modern(MODERN_VERSION, raw.clone())
            } else if has_legacy(listed) {
                Discovered::Legacy
            } else {
                Discovered::NoCommon(shown(listed, policy))
            }
        }
        Answer::Error(raw) => match modern_error(raw, policy) {
            Some(ModernError::Versions(listed)) if holds(&listed, MODERN_VERSION) => {
                Discovered::TryVersion(MODERN_VERSION)
            }
            Some(ModernError::Versions(listed)) => Discovered::NoCommon(shown(&listed, policy)),
            Some(ModernError::Other(text)) => Discovered::Refused(text),
            None => Discovered::Legacy,
        },
    }
}

/// Reads the answer to `initialize`.
pub(crate) fn initialized(answer: &Answer, policy: &Policy) -> Initialized {
    match answer {
        Answer::Result(raw) => {
            let version = serde_json::from_str::<Value>(raw.get()).ok();
            let version = version.as_ref().and_then(|result| result.get("protocolVersion")).and_then(Value::as_str);
            let Some(version) = version else { return Initialized::Odd };
            match LEGACY_VERSIONS.into_iter().find(|known| *known == version) {
                Some(known) => Initialized::Agreed(known, raw.clone()),
                None => Initialized::NoCommon(plain_text(version, SHOWN_CHARS.min(policy.server_text_cap_chars))),
            }
        }
        Answer::Error(raw) => match modern_error(raw, policy) {
            Some(_) => Initialized::Modern,
            None => Initialized::Refused(error_line(raw, policy)),
        },
    }
}

enum ModernError {
    Versions(Vec<Value>),
    Other(String),
}

fn modern_error(raw: &RawValue, policy: &Policy) -> Option<ModernError> {
    let error: Value = serde_json::from_str(raw.get()).ok()?;
    let code = error.get("code").and_then(Value::as_i64);
    let supported = error.pointer("/data/supported").and_then(Value::as_array);
    let by_code = code.is_some_and(|code| MODERN_CODES.contains(&code));
    if let Some(supported) = supported
        && (code == Some(UNSUPPORTED_VERSION) || supported.iter().any(is_modern_version))
    {
        return Some(ModernError::Versions(supported.clone()));
    }
    let by_shape = error.pointer("/data/requiredCapabilities").is_some_and(Value::is_object);
    (by_code || by_shape).then(|| ModernError::Other(error_line(raw, policy)))
}

fn is_modern_version(version: &Value) -> bool {
    version.as_str().is_some_and(|version| version >= MODERN_VERSION && version.starts_with("20"))
}

fn holds(listed: &[Value], version: &str) -> bool {
    listed.iter().any(|one| one.as_str() == Some(version))
}

fn has_legacy(listed: &[Value]) -> bool {
    LEGACY_VERSIONS.iter().any(|known| holds(listed, known))
}

/// A line of an error has room for this much of what the server says.
const SHOWN_CHARS: usize = 200;
/// Versions of a server that are worth showing.
const SHOWN_VERSIONS: usize = 8;

fn shown(listed: &[Value], policy: &Policy) -> String {
    let names: Vec<&str> = listed.iter().filter_map(Value::as_str).take(SHOWN_VERSIONS).collect();
    let line = names.join("`, `");
    plain_text(&line, SHOWN_CHARS.min(policy.server_text_cap_chars))
}

/// `code: message` of an error, on one line, capped.
pub(crate) fn error_line(raw: &RawValue, policy: &Policy) -> String {
    let error: Value = serde_json::from_str(raw.get()).unwrap_or_default();
    let code = error.get("code").and_then(Value::as_i64).map_or_else(|| "no code".into(), |code| code.to_string());
    let message = error.get("message").and_then(Value::as_str).unwrap_or_default();
    let message: String = message.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("error {code}: {}", plain_text(&message, SHOWN_CHARS.min(policy.server_text_cap_chars)))
}

#[cfg(test)]
mod tests;
