//! A JSON argument: in the argument itself, in a file (`@file`), or on standard input (`-`).
//!
//! Read whole but bounded, and checked to be JSON before anything is sent; the error names the position.

use std::collections::HashSet;
use std::fmt;
use std::io::Read as _;

use api::{ApiError, Code};
use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// Reads JSON from an argument. `what` names it in errors; `most` is the largest size.
pub(crate) fn json(argument: &str, what: &str, most: usize) -> Result<Box<RawValue>, ApiError> {
    let text = match argument.strip_prefix('@') {
        Some(path) => {
            let file = std::fs::File::open(path).map_err(|error| {
                ApiError::new(
                    Code::Usage,
                    format!("the file `{path}` with {what} cannot be read: {error}"),
                    "Give an existing file after `@`, or the JSON itself.",
                )
            })?;
            bounded(file, what, most)?
        }
        None if argument == "-" => bounded(std::io::stdin().lock(), what, most)?,
        None => argument.to_owned(),
    };
    let read = serde_json::from_str(&text).map_err(|error| {
        ApiError::new(
            Code::Usage,
            format!("{what} are not JSON: {error}"),
            "Give JSON such as `'{\"name\": \"value\"}'`, `@file.json`, or `-` for standard input.",
        )
    })?;
    match serde_json::from_str::<Unrepeated>(&text) {
        Ok(Unrepeated) => Ok(read),
        Err(error) if error.is_data() => {
            Err(ApiError::new(Code::Usage, format!("{what} are not clear: {error}"), "Leave out one of the two."))
        }
        Err(error) => Err(ApiError::new(
            Code::Usage,
            format!("{what} cannot be read: {error}"),
            "Numbers go up to about 1.7e308, and lists and objects lie at most 127 deep.",
        )),
    }
}

/// JSON in which no object has a member twice: programs disagree on which of the two counts.
struct Unrepeated;

impl<'de> Deserialize<'de> for Unrepeated {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Self)
    }
}

impl<'de> Visitor<'de> for Unrepeated {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<Self, A::Error> {
        while all.next_element::<Self>()?.is_some() {}
        Ok(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self, A::Error> {
        let mut names = HashSet::new();
        while let Some(name) = members.next_key::<String>()? {
            if names.contains(&name) {
                return Err(A::Error::custom(format_args!("`{name}` stands twice")));
            }
            members.next_value::<Self>()?;
            names.insert(name);
        }
        Ok(self)
    }
}

fn bounded(source: impl std::io::Read, what: &str, most: usize) -> Result<String, ApiError> {
    let most = u64::try_from(most).unwrap_or(u64::MAX);
    let mut text = String::new();
    let read = source.take(most.saturating_add(1)).read_to_string(&mut text);
    read.map_err(|error| ApiError::new(Code::Usage, format!("{what} cannot be read: {error}"), "Give UTF-8 text."))?;
    if u64::try_from(text.len()).unwrap_or(u64::MAX) > most {
        return Err(ApiError::new(
            Code::Usage,
            format!("{what} are longer than {most} bytes"),
            "Pass a path or an address instead of the content.",
        ));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_that_stands_twice_is_named_and_nothing_is_guessed() {
        let read = |text| json(text, "the answers", 1_000);
        for clear in ["{}", r#"{"a":1,"b":{"a":[1.5,-2,"x",true,null]}}"#, "[]", "7"] {
            assert!(read(clear).is_ok(), "{clear}");
        }
        for twice in [r#"{"name":"Al","name":"Bo"}"#, r#"{"a":[{"name":1,"n\u0061me":2}]}"#] {
            let refused = read(twice).expect_err("it is not clear which counts");
            assert!(refused.message.contains("`name` stands twice"), "{}", refused.message);
        }
        let endless = read(r#"{"a":1e400}"#).expect_err("many programs read it as infinite");
        assert!(endless.message.contains("out of range") && endless.hint.contains("1.7e308"), "{endless:?}");
    }
}
