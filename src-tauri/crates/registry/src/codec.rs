//! How domain values are stored: the only place that knows their encodings.
//!
//! What is queried has a column of its own; the rest of an aggregate is one JSON object with a version (`v`), written and
//! read by serde through definitions that mirror the domain's types (`#[serde(remote = …)]`), because the domain itself
//! does not serialise. An unknown word or a missing field is a [`DecodeError`] that names the field, never a default: a
//! newer encoding must not be read as an older one. No SQL and no sealing here; `golden.rs` freezes what is stored.

pub(crate) mod audit;
pub(crate) mod call_intent;
mod contact;
mod form;
#[cfg(test)]
mod golden;
pub(crate) mod halt;
mod primitive;
pub(crate) mod request;
pub(crate) mod rule;
pub(crate) mod server;
mod server_view;
pub(crate) mod task;
mod task_agent;
mod tokens;
pub(crate) mod window;

pub(crate) use call_intent::CallIntentDef;
pub(crate) use halt::HaltDef;
pub(crate) use request::InputRequestDef;
pub(crate) use rule::RuleDef;
pub(crate) use server::ServerDef;
pub(crate) use task::TaskDef;
pub(crate) use task::control_token::ControlTokenDef;
pub(crate) use task::plan::PlanDef;
pub(crate) use tokens::MeterDef;
pub(crate) use window::WindowDef;

use domain::ports::RegistryError;
use serde::Serialize;
use serde_json::Value;

use form::{Encoded, Mirror};

/// Version of the JSON encodings that this version writes and reads.
const ENCODING: u64 = 1;

/// What is wrong with a stored value: the field, and why. It shows no content but unknown words, which are ours.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{field}` {why}")]
pub(crate) struct DecodeError {
    field: String,
    why: String,
}

impl DecodeError {
    pub(crate) fn new(field: &str, why: impl Into<String>) -> Self {
        Self { field: field.into(), why: why.into() }
    }

    /// An unknown word, cut short.
    pub(crate) fn word(field: &str, word: &str) -> Self {
        Self::new(field, Self::unknown_word(word))
    }

    fn unknown_word(word: &str) -> String {
        format!("has the unknown word `{}`", word.chars().take(40).collect::<String>())
    }

    /// What serde says, without the content that it quotes.
    fn of_serde(error: &serde_path_to_error::Error<serde_json::Error>) -> Self {
        let (path, said) = (error.path().to_string(), error.inner().to_string());
        let within = |inner: &str| if path == "." { inner.to_owned() } else { format!("{path}.{inner}") };
        if let Some((field, _)) = said.strip_prefix("missing field `").and_then(|rest| rest.split_once('`')) {
            return Self::new(&within(field), "is missing");
        }
        if let Some((word, _)) = said.strip_prefix("unknown variant `").and_then(|rest| rest.rsplit_once("`, expected"))
        {
            return Self::word(&path, word);
        }
        if let Some((field, why)) = said.strip_prefix('`').and_then(|rest| rest.split_once("` ")) {
            return Self::new(&within(field), why);
        }
        match said.rsplit_once(", expected ") {
            Some((_, expected)) if said.starts_with("invalid ") => Self::new(&path, format!("is not {expected}")),
            _ => Self::new(&path, said),
        }
    }
}

#[derive(Serialize)]
#[serde(bound = "")]
struct Versioned<'a, M: Mirror> {
    v: u64,
    #[serde(flatten)]
    body: Encoded<'a, M>,
}

/// The JSON text of a value, with the version of its encoding.
pub(crate) fn encode<M: Mirror>(value: &M::Of) -> Result<String, RegistryError> {
    text_of(&Versioned::<M> { v: ENCODING, body: Encoded(value) })
}

/// The JSON text of a value that is a part of a row, without a version.
pub(crate) fn encode_part<M: Mirror>(value: &M::Of) -> Result<String, RegistryError> {
    text_of(&Encoded::<M>(value))
}

fn text_of(value: &impl Serialize) -> Result<String, RegistryError> {
    serde_json::to_string(value)
        .map_err(|error| RegistryError::Other { operation: "encode a value", why: error.to_string() })
}

/// Reads a value back, once its version is checked.
pub(crate) fn decode<M: Mirror>(mut body: Value) -> Result<M::Of, DecodeError> {
    match body.get("v") {
        None | Some(Value::Null) => return Err(DecodeError::new("v", "is missing")),
        Some(version) if version.as_u64() == Some(ENCODING) => {}
        Some(version) => {
            let found = version.as_u64().map_or_else(|| "no version".to_owned(), |version| version.to_string());
            return Err(DecodeError::new("v", format!("is {found}, this version reads {ENCODING}")));
        }
    }
    M::upgrade(&mut body);
    decode_part::<M>(body)
}

/// Reads a value that was written without a version.
pub(crate) fn decode_part<M: Mirror>(body: Value) -> Result<M::Of, DecodeError> {
    let mut track = serde_path_to_error::Track::new();
    M::read(serde_path_to_error::Deserializer::new(body, &mut track))
        .map_err(|error| DecodeError::of_serde(&serde_path_to_error::Error::new(track.path(), error)))
}
