//! Rows to domain and back: the only place that knows how values are encoded.
//!
//! What is queried has a column of its own; the rest of an aggregate is one JSON object with a version (`v`).
//! An unknown word or a missing field is a [`Flaw`] that names the field, never a panic and never a default: a newer
//! encoding must not be read as an older one. Here is no SQL and no sealing; read `rows/handle.rs` first.

pub(crate) mod agent;
pub(crate) mod audit;
pub(crate) mod budget;
pub(crate) mod contact;
#[cfg(test)]
mod golden;
pub(crate) mod handle;
pub(crate) mod intent;
pub(crate) mod request;
pub(crate) mod rule;
pub(crate) mod server;
pub(crate) mod view;
pub(crate) mod window;

use std::collections::BTreeMap;
use std::time::Duration;

use domain::time::Timestamp;
use serde_json::{Map, Value, json};

/// Version of the JSON encodings that this version writes and reads.
pub(crate) const ENCODING: u64 = 1;

/// What is wrong with a stored value: the field, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{field}` {why}")]
pub(crate) struct Flaw {
    field: String,
    why: String,
}

impl Flaw {
    /// A flaw of one field.
    pub(crate) fn new(field: &str, why: impl Into<String>) -> Self {
        Self { field: field.into(), why: why.into() }
    }

    /// An unknown word; the word is ours, so it may be shown, cut short.
    pub(crate) fn word(field: &str, word: &str) -> Self {
        Self::new(field, format!("has the unknown word `{}`", word.chars().take(40).collect::<String>()))
    }

    fn within(self, outer: &str) -> Self {
        Self { field: format!("{outer}.{}", self.field), why: self.why }
    }
}

/// What reading gives.
pub(crate) type Read<T> = Result<T, Flaw>;

/// Reads the fields of one JSON object.
#[derive(Clone, Copy)]
pub(crate) struct Fields<'a>(&'a Map<String, Value>);

impl<'a> Fields<'a> {
    /// The object; `name` says which in a flaw.
    pub(crate) fn of(value: &'a Value, name: &str) -> Read<Self> {
        value.as_object().map(Self).ok_or_else(|| Flaw::new(name, "is not an object"))
    }

    /// A whole stored object, with its version checked.
    pub(crate) fn stored(value: &'a Value, name: &str) -> Read<Self> {
        let fields = Self::of(value, name)?;
        match fields.u64("v")? {
            ENCODING => Ok(fields),
            other => Err(Flaw::new("v", format!("is {other}, this version reads {ENCODING}"))),
        }
    }

    /// The value, when it is there and not null.
    pub(crate) fn get(&self, name: &str) -> Option<&'a Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    fn need(&self, name: &str) -> Read<&'a Value> {
        self.get(name).ok_or_else(|| Flaw::new(name, "is missing"))
    }

    /// The value as it is, null included.
    pub(crate) fn raw(&self, name: &str) -> Read<&'a Value> {
        self.0.get(name).ok_or_else(|| Flaw::new(name, "is missing"))
    }

    /// A text.
    pub(crate) fn text(&self, name: &str) -> Read<&'a str> {
        self.need(name)?.as_str().ok_or_else(|| Flaw::new(name, "is not a text"))
    }

    /// A text that may be absent.
    pub(crate) fn maybe_text(&self, name: &str) -> Read<Option<&'a str>> {
        self.maybe(name, |value| value.as_str().ok_or_else(|| Flaw::new(name, "is not a text")))
    }

    /// A text that reads as an id or the like.
    pub(crate) fn parsed<T: std::str::FromStr>(&self, name: &str) -> Read<T> {
        self.text(name)?.parse().map_err(|_| Flaw::new(name, "does not read as an id"))
    }

    /// A whole number.
    pub(crate) fn u64(&self, name: &str) -> Read<u64> {
        self.need(name)?.as_u64().ok_or_else(|| Flaw::new(name, "is not a whole number"))
    }

    /// A small whole number.
    pub(crate) fn u32(&self, name: &str) -> Read<u32> {
        u32::try_from(self.u64(name)?).map_err(|_| Flaw::new(name, "is too large"))
    }

    /// A signed whole number.
    pub(crate) fn i64(&self, name: &str) -> Read<i64> {
        self.need(name)?.as_i64().ok_or_else(|| Flaw::new(name, "is not a whole number"))
    }

    /// Yes or no.
    pub(crate) fn flag(&self, name: &str) -> Read<bool> {
        self.need(name)?.as_bool().ok_or_else(|| Flaw::new(name, "is neither true nor false"))
    }

    /// A moment.
    pub(crate) fn time(&self, name: &str) -> Read<Timestamp> {
        self.i64(name).map(Timestamp::from_millis)
    }

    /// A moment that may be absent.
    pub(crate) fn maybe_time(&self, name: &str) -> Read<Option<Timestamp>> {
        self.get(name).map(|_| self.time(name)).transpose()
    }

    /// A span of time.
    pub(crate) fn span(&self, name: &str) -> Read<Duration> {
        let parts = self.need(name)?.as_array().map(Vec::as_slice);
        match parts {
            Some([seconds, nanos]) => seconds
                .as_u64()
                .zip(nanos.as_u64().and_then(|nanos| u32::try_from(nanos).ok()).filter(|nanos| *nanos < 1_000_000_000))
                .map(|(seconds, nanos)| Duration::new(seconds, nanos)),
            _ => None,
        }
        .ok_or_else(|| Flaw::new(name, "is not a span of time"))
    }

    /// A number with a fraction; kept as text, because JSON has no infinities and readers round.
    pub(crate) fn maybe_real(&self, name: &str) -> Read<Option<f64>> {
        self.maybe_text(name)?.map(|text| text.parse().map_err(|_| Flaw::new(name, "is not a number"))).transpose()
    }

    /// A list of texts.
    pub(crate) fn texts(&self, name: &str) -> Read<Vec<String>> {
        let flaw = || Flaw::new(name, "is not a list of texts");
        let list = self.need(name)?.as_array().ok_or_else(flaw)?;
        list.iter().map(|item| item.as_str().map(str::to_owned).ok_or_else(flaw)).collect()
    }

    /// Texts by name.
    pub(crate) fn text_map(&self, name: &str) -> Read<BTreeMap<String, String>> {
        let flaw = || Flaw::new(name, "is not an object of texts");
        let map = self.need(name)?.as_object().ok_or_else(flaw)?;
        map.iter().map(|(key, value)| Ok((key.clone(), value.as_str().ok_or_else(flaw)?.to_owned()))).collect()
    }

    /// An inner object.
    pub(crate) fn inner<T>(&self, name: &str, read: impl FnOnce(Fields<'a>) -> Read<T>) -> Read<T> {
        let fields = Fields::of(self.need(name)?, name)?;
        read(fields).map_err(|flaw| flaw.within(name))
    }

    /// An inner object that may be absent.
    pub(crate) fn maybe_inner<T>(&self, name: &str, read: impl FnOnce(Fields<'a>) -> Read<T>) -> Read<Option<T>> {
        self.get(name).map(|_| self.inner(name, read)).transpose()
    }

    fn maybe<T>(&self, name: &str, read: impl FnOnce(&'a Value) -> Read<T>) -> Read<Option<T>> {
        self.get(name).map(read).transpose()
    }
}

/// Writes a moment.
pub(crate) fn time(at: Timestamp) -> Value {
    at.as_millis().into()
}

/// Writes a moment that may be absent.
pub(crate) fn maybe_time(at: Option<Timestamp>) -> Value {
    at.map_or(Value::Null, time)
}

/// Writes a span of time exactly.
pub(crate) fn span(span: Duration) -> Value {
    json!([span.as_secs(), span.subsec_nanos()])
}

/// Writes a number with a fraction; `{:?}` gives the shortest text that reads back as the same number.
pub(crate) fn maybe_real(number: Option<f64>) -> Value {
    number.map_or(Value::Null, |number| format!("{number:?}").into())
}
