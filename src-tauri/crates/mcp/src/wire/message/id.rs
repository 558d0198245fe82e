//! The id of a request, in the type that its sender chose.
//!
//! An answer carries the id in the same type. `1.0` is read as `1`, because some peers write that. Fractions, `null`,
//! lists and overlong ids are not ids.

use std::fmt;
use std::sync::Arc;

use keeper::MessageSkim;
use serde::{Serialize, Serializer};

/// Largest whole number that a float holds exactly: beyond it `1e300` names no single id.
const FLOAT_EXACT_MAX: f64 = 9_007_199_254_740_992.0;

/// A JSON-RPC request id.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Id {
    /// A whole number.
    Number(i128),
    /// A string, as it was sent.
    Text(Arc<str>),
}

impl Id {
    /// Reads the JSON text of an id; `None` when it is none, or longer than `cap_bytes`.
    #[must_use]
    pub fn read(json: &str, cap_bytes: usize) -> Option<Self> {
        let json = json.trim();
        if json.len() > cap_bytes {
            return None;
        }
        if json.starts_with('"') {
            return serde_json::from_str::<String>(json).ok().map(|text| Self::Text(text.into()));
        }
        if let Ok(whole) = json.parse::<i128>() {
            return (!json.starts_with('+')).then_some(Self::Number(whole));
        }
        let float = serde_json::from_str::<f64>(json).ok()?;
        (float.fract() == 0.0 && float.abs() < FLOAT_EXACT_MAX).then_some(Self::Number(float as i128))
    }

    /// The id of the request that an oversized or broken message answers; `None` when it has none, or is a request itself.
    #[must_use]
    pub fn of_answer(skim: &MessageSkim, cap_bytes: usize) -> Option<Self> {
        if skim.has_method() { None } else { Self::read(skim.id_text()?, cap_bytes) }
    }

    /// The id as JSON text: `7`, `"q-1"`.
    #[must_use]
    pub fn json(&self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Text(text) => serde_json::Value::from(&**text).to_string(),
        }
    }
}

impl From<u64> for Id {
    fn from(number: u64) -> Self {
        Self::Number(i128::from(number))
    }
}

impl From<&str> for Id {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl Serialize for Id {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(number) => to.serialize_i128(*number),
            Self::Text(text) => to.serialize_str(text),
        }
    }
}

/// Ids are private to the peer: only kind and size are shown.
impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(_) => f.write_str("Id(number)"),
            Self::Text(text) => write!(f, "Id({} bytes)", text.len()),
        }
    }
}
