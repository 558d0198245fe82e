//! The params of one request: the text as it came, with an index of its members.
//!
//! Members are read one at a time, and only `_meta` is parsed at once. A member that occurs twice is refused, because
//! two readers could take different ones. It knows no method.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::server::rpc_error::RequestError;

/// The params of a request, with an index of their members.
#[derive(Clone, Default)]
pub struct RequestParams {
    raw: Option<Box<RawValue>>,
    members: Vec<(Box<str>, Range<usize>)>,
    meta: Map<String, Value>,
}

/// Arguments and answers are private: only the size shows.
impl fmt::Debug for RequestParams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Params({} bytes)", self.raw.as_ref().map_or(0, |raw| raw.get().len()))
    }
}

impl RequestParams {
    /// Opens them.
    ///
    /// # Errors
    /// When they are no object, or hold a member twice.
    pub fn open(raw: Option<Box<RawValue>>) -> Result<Self, RequestError> {
        let Some(raw) = raw else { return Ok(Self::default()) };
        let text = raw.get();
        let Top(found) = serde_json::from_str(text)
            .map_err(|_| RequestError::params("`params` must be an object that holds each member once"))?;
        let mut members = Vec::with_capacity(found.len());
        let mut meta = Map::new();
        for (name, value) in found {
            if name == "_meta" {
                meta = serde_json::from_str(value.get()).unwrap_or_default();
            }
            // Both are slices of the same text.
            let begin = (value.get().as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
            members.push((name.into_owned().into_boxed_str(), begin..begin + value.get().len()));
        }
        Ok(Self { raw: Some(raw), members, meta })
    }

    /// The whole, as it came.
    #[must_use]
    pub fn raw(&self) -> Option<&RawValue> {
        self.raw.as_deref()
    }

    /// The whole, as it came.
    #[must_use]
    pub fn into_raw(self) -> Option<Box<RawValue>> {
        self.raw
    }

    /// A member as JSON text, also when it is `null`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        let (_, place) = self.members.iter().find(|(named, _)| **named == *name)?;
        self.raw.as_deref()?.get().get(place.clone())
    }

    /// A member that is there and not `null`, as JSON text.
    #[must_use]
    pub fn said(&self, name: &str) -> Option<&str> {
        self.get(name).filter(|text| *text != "null")
    }

    /// A member that is a text.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<String> {
        serde_json::from_str(self.get(name)?).ok()
    }

    /// A member as a value.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<Value> {
        serde_json::from_str(self.get(name)?).ok()
    }

    /// The members of `_meta`; empty when it is absent or no object.
    #[must_use]
    pub fn meta(&self) -> &Map<String, Value> {
        &self.meta
    }

    /// The token for progress: text or number, as it came.
    #[must_use]
    pub fn progress_token(&self) -> Option<Value> {
        self.meta.get("progressToken").filter(|token| token.is_string() || token.is_number()).cloned()
    }

    /// Everything as values, for those who forward nothing.
    #[must_use]
    pub fn map(&self) -> Map<String, Value> {
        self.raw.as_deref().and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
    }
}

/// The members of an object that stands as JSON text, in their order and each raw; `None` when it is no object, or holds
/// a member twice.
pub(crate) fn members(text: &str) -> Option<Vec<(Cow<'_, str>, &RawValue)>> {
    serde_json::from_str(text).ok().map(|Top(members)| members)
}

/// The members of an object, each raw, none twice.
struct Top<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

/// A name, borrowed when it has no escapes.
struct Name<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Reads;
        impl<'de> Visitor<'de> for Reads {
            type Value = Name<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name")
            }
            fn visit_borrowed_str<E: Error>(self, name: &'de str) -> Result<Self::Value, E> {
                Ok(Name(Cow::Borrowed(name)))
            }
            fn visit_str<E: Error>(self, name: &str) -> Result<Self::Value, E> {
                Ok(Name(Cow::Owned(name.to_owned())))
            }
        }
        from.deserialize_str(Reads)
    }
}

impl<'de> Deserialize<'de> for Top<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Reads;
        impl<'de> Visitor<'de> for Reads {
            type Value = Top<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members: Vec<(Cow<'de, str>, &'de RawValue)> = Vec::new();
                let mut seen = std::collections::HashSet::new();
                while let Some((Name(name), value)) = map.next_entry::<Name<'de>, &'de RawValue>()? {
                    if !seen.insert(name.clone()) {
                        return Err(A::Error::custom("a member is there twice"));
                    }
                    members.push((name, value));
                }
                Ok(Top(members))
            }
        }
        from.deserialize_map(Reads)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(text: &str) -> Result<RequestParams, RequestError> {
        RequestParams::open(Some(RawValue::from_string(text.to_owned()).expect("JSON")))
    }

    #[test]
    fn a_member_keeps_its_spelling_and_meta_is_read() {
        let params = open(r#" { "a" : 1.50 , "\u0062":[1, 2],"_meta":{"progressToken":"p"},"n":null} "#).expect("open");
        assert_eq!(params.get("a"), Some("1.50"), "as it was written");
        assert_eq!(params.get("b"), Some("[1, 2]"), "an escaped name is the name it means");
        assert_eq!((params.get("n"), params.said("n")), (Some("null"), None), "null is there and says nothing");
        assert_eq!(params.progress_token(), Some(Value::from("p")), "the token is in `_meta`");
    }

    #[test]
    fn what_two_readers_could_take_differently_is_refused() {
        for text in [r#"{"name":"a","name":"b"}"#, r#"{"name":1,"n\u0061me":2}"#, "[]"] {
            assert!(open(text).is_err(), "{text}");
        }
    }
}
