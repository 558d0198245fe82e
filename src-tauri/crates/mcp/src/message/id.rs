//! The id of a request, in the type its sender chose.
//!
//! JSON-RPC ids are texts or whole numbers, and an answer carries the id in the same type. Some peers write `1.0` for
//! `1`; that is read as the number it is. Fractions, `null`, lists and overlong ids are no ids.

use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};

/// Largest whole number that a float holds exactly: beyond it `1e300` names no single id.
const FLOAT_EXACT_MAX: f64 = 9_007_199_254_740_992.0;

/// An id.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Id {
    /// A whole number.
    Number(i128),
    /// A text.
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

/// Ids of servers are theirs alone: only kind and size show.
impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(_) => f.write_str("Id(number)"),
            Self::Text(text) => write!(f, "Id({} bytes)", text.len()),
        }
    }
}
