//! A call that may be on its way. Its id is a column of its own.
//!
//! The digest of the arguments is in here, and arguments can be guessed from it, so the body is sealed.

use std::sync::Arc;

use domain::ids::{AgentId, HandleId, HostId, ServerId};
use domain::ports::{ArgumentsDigest, CallIntent};
use domain::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::form::{As, Maybe, column, mirrors};
use super::primitive::{IdText, Millis};
use super::{DecodeError, decode};

#[derive(Serialize, Deserialize)]
#[serde(remote = "CallIntent")]
pub(crate) struct CallIntentDef {
    #[serde(skip, default = "column")]
    id: HandleId,
    #[serde(with = "As::<IdText<ServerId>>")]
    server: ServerId,
    #[serde(default, with = "As::<Maybe<IdText<AgentId>>>")]
    seat: Option<AgentId>,
    #[serde(with = "As::<IdText<AgentId>>")]
    agent: AgentId,
    tool: Arc<str>,
    #[serde(rename = "digest", with = "digest_text")]
    arguments_digest: ArgumentsDigest,
    #[serde(with = "As::<Millis>")]
    at: Timestamp,
    #[serde(with = "As::<IdText<HostId>>")]
    host: HostId,
}

/// A digest is stored as its hex digits; writing it is what computes it.
mod digest_text {
    use domain::ports::ArgumentsDigest;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(digest: &ArgumentsDigest, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(digest.get())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ArgumentsDigest, D::Error> {
        String::deserialize(deserializer).map(|digits| ArgumentsDigest::from(digits.as_str()))
    }
}

mirrors! {
    CallIntentDef => CallIntent;
}

/// Reads a call from its id and its body.
pub(crate) fn read(id: HandleId, body: Value) -> Result<CallIntent, DecodeError> {
    let mut intent = decode::<CallIntentDef>(body)?;
    intent.id = id;
    Ok(intent)
}
