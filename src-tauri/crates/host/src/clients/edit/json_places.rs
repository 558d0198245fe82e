//! Where entries stand in a text of strict JSON, and that text without the values beside them.
//!
//! Programs keep histories of megabytes in the file that also has their servers. A syntax tree with all of its tokens
//! takes seven times as long as reading its values, so an edit is made in the outline: the text in which every longer
//! value that no place leads to is one digit. What is between values, such as indents, is the same in both.

use std::fmt;
use std::ops::Range;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// A shorter value is not worth a replacement.
const SHORT_BYTES: usize = 64;

/// What stands for a value in an outline.
const STAND_IN: &str = "0";

/// Where some entries stand in a text.
pub(super) struct JsonPlaces {
    /// The braces of each entry and what is between them, in the order in which they were asked for.
    pub(super) entries: Vec<Range<usize>>,
    /// The longer values that no place leads to, in the order of the text.
    beside: Vec<Range<usize>>,
}

/// Finds entries in one pass; `None` where the text is not strict JSON, or a place leads to no object.
pub(super) fn locate(text: &str, places: &[&[String]]) -> Option<JsonPlaces> {
    let asked: Vec<(usize, &[String])> = places.iter().copied().enumerate().collect();
    let mut found = Found { base: text.as_ptr().addr(), entries: vec![None; places.len()], beside: Vec::new() };
    if asked.iter().any(|(_, rest)| rest.is_empty()) {
        found.entry::<serde_json::Error>(serde_json::from_str(text).ok()?, &asked).ok()?;
    } else {
        let mut from = serde_json::Deserializer::from_str(text);
        let descent = Descent { found: &mut found, places: asked, is_inside: false };
        descent.deserialize(&mut from).ok()?;
        from.end().ok()?;
    }
    let entries = found.entries.into_iter().collect::<Option<Vec<_>>>()?;
    Some(JsonPlaces { entries, beside: found.beside })
}

impl JsonPlaces {
    /// The text with one digit in the place of each longer value beside the entries; `None` when there is none.
    pub(super) fn outline(&self, text: &str) -> Option<String> {
        if self.beside.is_empty() {
            return None;
        }
        let mut outline = String::new();
        let mut from = 0;
        for value in &self.beside {
            outline.push_str(text.get(from..value.start)?);
            outline.push_str(STAND_IN);
            from = value.end;
        }
        outline.push_str(text.get(from..)?);
        Some(outline)
    }
}

/// What was found so far.
struct Found {
    /// The address of the first byte of the text: values are parts of it.
    base: usize,
    entries: Vec<Option<Range<usize>>>,
    beside: Vec<Range<usize>>,
}

impl Found {
    fn range(&self, value: &RawValue) -> Range<usize> {
        let start = value.get().as_ptr().addr().saturating_sub(self.base);
        start..start.saturating_add(value.get().len())
    }

    /// Notes an entry for the places that end at it, and searches within it for the others.
    fn entry<E: serde::de::Error>(&mut self, value: &RawValue, places: &[(usize, &[String])]) -> Result<(), E> {
        if !value.get().starts_with('{') {
            return Err(E::custom("an entry is no object"));
        }
        let range = self.range(value);
        for (index, _) in places.iter().filter(|(_, rest)| rest.is_empty()) {
            let is_twice = self.entries.get_mut(*index).is_some_and(|found| found.replace(range.clone()).is_some());
            // Of two objects under one key, nobody knows which one counts.
            if is_twice {
                return Err(E::custom("an entry stands twice"));
            }
        }
        let deeper: Vec<(usize, &[String])> = places.iter().filter(|(_, rest)| !rest.is_empty()).copied().collect();
        if deeper.is_empty() {
            return Ok(());
        }
        let mut from = serde_json::Deserializer::from_str(value.get());
        Descent { found: self, places: deeper, is_inside: true }.deserialize(&mut from).map_err(E::custom)
    }
}

/// The way through one object. `places` are those that lead here, each with the rest of its keys, at least one.
struct Descent<'f, 'p> {
    found: &'f mut Found,
    places: Vec<(usize, &'p [String])>,
    /// Within an entry, nothing is left out.
    is_inside: bool,
}

impl<'de> DeserializeSeed<'de> for Descent<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Descent<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        while let Some(name) = members.next_key::<String>()? {
            let below: Vec<(usize, &[String])> = self
                .places
                .iter()
                .filter_map(|(index, rest)| Some((*index, rest.split_first().filter(|(key, _)| **key == name)?.1)))
                .collect();
            if below.is_empty() {
                let value: &RawValue = members.next_value()?;
                if !self.is_inside && value.get().len() > SHORT_BYTES {
                    let range = self.found.range(value);
                    self.found.beside.push(range);
                }
            } else if below.iter().any(|(_, rest)| rest.is_empty()) {
                let value: &RawValue = members.next_value()?;
                self.found.entry(value, &below)?;
            } else {
                let is_inside = self.is_inside;
                members.next_value_seed(Descent { found: &mut *self.found, places: below, is_inside })?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(keys: &[&str]) -> Vec<String> {
        keys.iter().map(|key| (*key).to_owned()).collect()
    }

    #[test]
    fn entries_are_found_by_their_bytes_and_the_rest_is_left_out() {
        let long = "x".repeat(SHORT_BYTES);
        let text = format!(
            "\n {{ \"history\": [\"{long}\"],\n  \"s\" : {{\"a\": {{ \"x\": \"{long}\" }}, \"b\":{{}}, \"c\": \"{long}\"}} }}\n"
        );
        let (a, b) = (place(&["s", "a"]), place(&["s", "b"]));
        let found = locate(&text, &[&b, &a]).expect("both are there");
        let of = |range: &Range<usize>| text.get(range.clone()).expect("a part of the text");
        assert_eq!(of(&found.entries[0]), "{}");
        assert_eq!(of(&found.entries[1]), format!("{{ \"x\": \"{long}\" }}"));
        let outline = found.outline(&text).expect("there is much beside them");
        let left =
            format!("\n {{ \"history\": 0,\n  \"s\" : {{\"a\": {{ \"x\": \"{long}\" }}, \"b\":{{}}, \"c\": 0}} }}\n");
        assert_eq!(outline, left);
    }

    #[test]
    fn what_is_not_one_object_is_not_found() {
        for text in ["{}", r#"{"a": []}"#, r#"{"a": {}, "a": {}}"#, r#"{"a": {},}"#, "// mine\n{\"a\": {}}", "", "[]"] {
            assert!(locate(text, &[&place(&["a"])]).is_none(), "{text}");
        }
        let whole = locate(r#"{"a": {}}"#, &[&place(&[])]);
        assert_eq!(whole.and_then(|found| found.entries.first().cloned()), Some(0..9), "the whole text");
    }
}
