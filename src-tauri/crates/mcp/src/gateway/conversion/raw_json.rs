//! Raw JSON as the gateway writes it: objects member by member, and changes to `_meta`.
//!
//! Values of servers and clients go in as they came and are not parsed. Finding and replacing members is
//! `wire/raw_json.rs`.

use domain::task::payload::Payload;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::server::rpc_error::{RequestError, RequestErrorKind};
use crate::wire::raw_json::{JsonMembers, member, with_members};

/// An object written member by member, each value as it is.
pub(crate) struct ObjectWriter(String);

impl ObjectWriter {
    pub(crate) fn new() -> Self {
        Self("{".to_owned())
    }

    /// A member whose value is JSON text already.
    pub(crate) fn raw(&mut self, name: &str, json: &str) {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        // A string always serialises.
        self.0.push_str(&Value::from(name).to_string());
        self.0.push(':');
        self.0.push_str(json);
    }

    /// A member whose value is serialised.
    pub(crate) fn set<T: Serialize>(&mut self, name: &str, value: &T) {
        if let Ok(json) = serde_json::to_string(value) {
            self.raw(name, &json);
        }
    }

    /// The finished object.
    ///
    /// # Errors
    /// When a raw value was no JSON.
    pub(crate) fn finish(mut self) -> Result<Box<RawValue>, RequestError> {
        self.0.push('}');
        RawValue::from_string(self.0).map_err(|_| unwritten())
    }
}

/// A value as raw JSON.
///
/// # Errors
/// When it cannot be JSON.
pub(crate) fn serialize<T: Serialize>(value: &T) -> Result<Box<RawValue>, RequestError> {
    serde_json::value::to_raw_value(value).map_err(|_| unwritten())
}

fn unwritten() -> RequestError {
    RequestError::new(RequestErrorKind::Internal, "the result could not be written")
}

pub(crate) fn raw(text: String) -> Option<Box<RawValue>> {
    RawValue::from_string(text).ok()
}

/// Texts in the shape of a tool result, as they are counted.
pub(crate) fn text_result(texts: &[&str]) -> Payload {
    let blocks: Vec<Value> = texts.iter().map(|text| serde_json::json!({"type": "text", "text": text})).collect();
    Payload::new(serde_json::json!({"content": blocks}).to_string())
}

/// The object with this member of its `_meta`, whose value is JSON text.
pub(crate) fn with_meta(object: &str, name: &str, json: &str) -> String {
    let meta = with_members(member(object, "_meta").unwrap_or("{}"), &[(name, json.into())], &[]);
    with_members(object, &[("_meta", meta.into())], &[])
}

/// The object without these members of its `_meta`; a `_meta` that held nothing else goes with them.
pub(crate) fn without_meta(object: &str, names: &[&str]) -> String {
    let Some(meta) = member(object, "_meta") else { return object.to_owned() };
    let Some(mut inside) = JsonMembers::object(meta) else { return object.to_owned() };
    let (mut has_gone, mut has_kept) = (false, false);
    while let Some(part) = inside.next_part().unwrap_or_default() {
        let goes = names.contains(&&*part.name);
        (has_gone, has_kept) = (has_gone || goes, has_kept || !goes);
    }
    match (has_gone, has_kept) {
        (false, _) => object.to_owned(),
        (true, false) => with_members(object, &[], &["_meta"]),
        (true, true) => {
            let meta = with_members(meta, &[], names);
            with_members(object, &[("_meta", meta.into())], &[])
        }
    }
}
