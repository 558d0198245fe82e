//! Reads the few fields that we need from raw JSON.
//!
//! A view borrows the message and never changes it. Reading is tolerant where servers differ (protocol.md §7.7, §9) and
//! names the JSON path where it gives up. It knows no dialect: see `dialect/`. Depth and size were bounded before.

mod error_object;
mod question;
mod server_hello;
mod task;
mod tool;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use domain::policy::{Policy, plain_text, without_control_sequences};
use domain::ports::UpstreamError;
use domain::task::payload::Payload;
use domain::time::Timestamp;
use serde_json::Value;
use serde_json::value::RawValue;

pub(crate) use error_object::ServerError;
pub(crate) use question::{ELICITATION, ask, asks, asks_raw};
pub(crate) use server_hello::ServerHello;
pub(crate) use task::{SightingTimes, TaskFields, plain_outcome, task_id};
pub(crate) use tool::{TaskSupport, ToolEntry, tool};

/// What could not be read, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot be read at `{path}`: {why}")]
pub(crate) struct Misread {
    /// JSON path from the message, such as `$.result.status`.
    pub(crate) path: String,
    /// One line, without values.
    pub(crate) why: String,
}

impl Misread {
    pub(crate) fn new(path: impl Into<String>, why: impl Into<String>) -> Self {
        Self { path: path.into(), why: why.into() }
    }

    /// The port's error, with the beginning of the message for `doctor`.
    pub(crate) fn of(self, raw: &RawValue, policy: &Policy) -> UpstreamError {
        let text = raw.get();
        let cut = text.floor_char_boundary(policy.unreadable_kept_bytes);
        let kept = text.get(..cut).map(Payload::new);
        UpstreamError::Unreadable { path: self.path, why: self.why, raw: kept }
    }
}

/// The members of one JSON object, each raw.
#[derive(Debug)]
pub(crate) struct JsonFields<'a> {
    path: Cow<'static, str>,
    text: &'a str,
    members: BTreeMap<String, &'a RawValue>,
}

impl<'a> JsonFields<'a> {
    /// Reads the object at `path`.
    pub(crate) fn of(raw: &'a RawValue, path: impl Into<Cow<'static, str>>) -> Result<Self, Misread> {
        let path = path.into();
        match serde_json::from_str(raw.get()) {
            Ok(members) => Ok(Self { path, text: raw.get(), members }),
            Err(_) => Err(Misread::new(path, "is not an object")),
        }
    }

    /// The object as it came.
    pub(crate) const fn as_it_came(&self) -> &'a str {
        self.text
    }

    /// The path of this object.
    pub(crate) fn here(&self) -> &str {
        &self.path
    }

    /// The path of a member.
    pub(crate) fn path(&self, name: &str) -> String {
        format!("{}.{name}", self.path)
    }

    /// A member; `null` counts as absent.
    pub(crate) fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.members.get(name).copied().filter(|raw| raw.get() != "null")
    }

    /// Whether the member is there and `null`.
    pub(crate) fn is_null(&self, name: &str) -> bool {
        self.members.get(name).is_some_and(|raw| raw.get() == "null")
    }

    /// The names and values of all members.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.members.iter().map(|(name, raw)| (name.as_str(), *raw))
    }

    /// How many members there are.
    pub(crate) fn len(&self) -> usize {
        self.members.len()
    }

    /// A string; `None` when it is absent or of another type.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        self.get(name).and_then(|raw| serde_json::from_str(raw.get()).ok())
    }

    /// A string for people: plain and capped.
    pub(crate) fn words(&self, name: &str, policy: &Policy) -> Option<String> {
        self.text(name)
            .map(|text| plain_text(&without_control_sequences(&text), policy.server_text_cap_chars))
            .filter(|text| !text.is_empty())
    }

    /// A required string.
    pub(crate) fn required_text(&self, name: &str) -> Result<String, Misread> {
        match self.get(name) {
            None => Err(Misread::new(self.path(name), "is missing")),
            Some(raw) => serde_json::from_str(raw.get()).map_err(|_| Misread::new(self.path(name), "is not a string")),
        }
    }

    /// A boolean; `None` for anything else.
    pub(crate) fn flag(&self, name: &str) -> Option<bool> {
        self.get(name).and_then(|raw| serde_json::from_str(raw.get()).ok())
    }

    /// A finite number; `None` for anything else.
    pub(crate) fn number(&self, name: &str) -> Option<f64> {
        self.get(name).and_then(|raw| raw.get().parse::<f64>().ok()).filter(|number| number.is_finite())
    }

    /// Milliseconds as a time span: negative ones count as absent, absurdly long ones are cut to what a
    /// [`Timestamp`] can hold. Fractions are cut off (`60000.0` is common).
    pub(crate) fn millis(&self, name: &str) -> Option<Duration> {
        let number = self.get(name)?.get().parse::<f64>().ok()?;
        if number.is_nan() || number < 0.0 {
            return None;
        }
        let longest = Duration::from_millis(u64::try_from(i64::MAX).unwrap_or(u64::MAX));
        Some(Duration::try_from_secs_f64(number / 1_000.0).map_or(longest, |span| span.min(longest)))
    }

    /// A timestamp by the server's clock; `None` for anything else.
    pub(crate) fn moment(&self, name: &str) -> Option<Timestamp> {
        self.text(name).and_then(|text| text.parse().ok())
    }

    /// An object below this one; absent is fine, another kind is not.
    pub(crate) fn object(&self, name: &str) -> Result<Option<Self>, Misread> {
        self.get(name).map(|raw| JsonFields::of(raw, self.path(name))).transpose()
    }

    /// An object below this one, or nothing when it is absent or anything else.
    pub(crate) fn object_or_none(&self, name: &str) -> Option<Self> {
        self.object(name).ok().flatten()
    }

    /// A list below this one; absent is empty, another kind is a mistake.
    pub(crate) fn list(&self, name: &str) -> Result<Vec<&'a RawValue>, Misread> {
        match self.get(name) {
            None => Ok(Vec::new()),
            Some(raw) => serde_json::from_str(raw.get()).map_err(|_| Misread::new(self.path(name), "is not an array")),
        }
    }

    /// A member as a whole value.
    pub(crate) fn value(&self, name: &str) -> Option<Value> {
        self.get(name).and_then(|raw| serde_json::from_str(raw.get()).ok())
    }
}
