//! Looking at JSON without taking it apart: the members of an object and the elements of an array, as raw text.
//!
//! Long results are never built as trees: a level is read when it is asked for, and steps over what lies below without
//! recursion. What is not an object or an array is `None`, and its reader takes it as text.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The members of an object in their order.
#[derive(Debug)]
pub(crate) struct Members<'a>(pub(crate) Vec<(Cow<'a, str>, &'a str)>);

impl<'a> Members<'a> {
    /// Reads an object.
    pub(crate) fn of(json: &'a str) -> Option<Self> {
        serde_json::from_str(json).ok()
    }

    /// The raw text of a member; of several with the same name the last, as most readers have it.
    pub(crate) fn get(&self, name: &str) -> Option<&'a str> {
        self.0.iter().rev().find(|(key, _)| key == name).map(|(_, value)| *value)
    }

    /// The text of a member that is a string.
    pub(crate) fn text(&self, name: &str) -> Option<Cow<'a, str>> {
        self.get(name).and_then(string)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = Vec<(Cow<'de, str>, &'de str)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some((Text(key), value)) = map.next_entry::<Text<'de>, &'de RawValue>()? {
                    members.push((key, value.get()));
                }
                Ok(members)
            }
        }

        deserializer.deserialize_map(Reader).map(Self)
    }
}

/// A string, borrowed where it has no escapes.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// A JSON string as text; `None` when it is something else.
pub(crate) fn string(json: &str) -> Option<Cow<'_, str>> {
    serde_json::from_str::<Text<'_>>(json).ok().map(|Text(text)| text)
}

/// The elements of an array, as raw text; `None` when it is something else.
pub(crate) fn elements(json: &str) -> Option<Vec<&str>> {
    let all: Vec<&RawValue> = serde_json::from_str(json).ok()?;
    Some(all.into_iter().map(RawValue::get).collect())
}

/// A value as JSON. Of texts and maps of texts, which can always be written.
pub(crate) fn written(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// An object of raw members.
pub(crate) fn object<'a>(members: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut json = String::from("{");
    for (key, value) in members {
        if json.len() > 1 {
            json.push(',');
        }
        json.push_str(&written(&key));
        json.push(':');
        json.push_str(value);
    }
    json.push('}');
    json
}

/// JSON without the white space between its tokens.
pub(crate) fn compact(json: &str) -> Cow<'_, str> {
    let mut quoted = false;
    let mut escaped = false;
    // Whether a byte is white space outside of strings; all bytes have to be asked in order.
    let mut blank = move |byte: u8| {
        if quoted {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => quoted = false,
                _ => {}
            }
            return false;
        }
        quoted = byte == b'"';
        matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
    };
    let mut ask = blank;
    if !json.bytes().any(&mut ask) {
        return Cow::Borrowed(json);
    }
    let mut kept = String::with_capacity(json.len());
    let mut from = 0;
    for (at, byte) in json.bytes().enumerate() {
        if blank(byte) {
            kept.push_str(json.get(from..at).unwrap_or_default());
            from = at + 1;
        }
    }
    kept.push_str(json.get(from..).unwrap_or_default());
    Cow::Owned(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_goes_between_tokens_and_stays_in_strings() {
        assert_eq!(compact("{ \"a b\" : [ 1,\n 2 ], \"c\\\" \": \" \" }"), "{\"a b\":[1,2],\"c\\\" \":\" \"}");
        assert!(matches!(compact("{\"a b\":1}"), Cow::Borrowed(_)), "nothing to take away, nothing copied");
    }

    #[test]
    fn a_level_is_read_and_what_lies_below_is_stepped_over() {
        let deep = format!("{{\"a\":{}1{},\"b\":\"x\"}}", "[".repeat(200_000), "]".repeat(200_000));
        let members = Members::of(&deep).expect("depth below is nobody's business");
        assert_eq!(members.text("b").as_deref(), Some("x"));
        assert_eq!(members.get("a").map(str::len), Some(400_001));
        assert!(Members::of("[1]").is_none() && elements("{}").is_none() && string("1").is_none());
    }
}
