//! Where entries stand in a text of strict JSON, and that text without the values beside them.
//!
//! Programs keep histories of megabytes in the file that also has their servers. A syntax tree of all of it takes a
//! hundred times as long as a pass over its bytes, so an edit is made in the outline: the text in which every longer value
//! that no place leads to is one digit. What is between values, such as indents, is the same in both.

use std::fmt;
use std::ops::Range;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
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

/// Finds entries; `None` where the text is not strict JSON, or a place leads to no object.
pub(super) fn locate(text: &str, places: &[&[String]]) -> Option<JsonPlaces> {
    let asked: Vec<(usize, &[String])> = places.iter().copied().enumerate().collect();
    let mut search = Search { text, entries: vec![None; places.len()], beside: Vec::new() };
    let blanks = text.len().saturating_sub(text.trim_start().len());
    search.object(text.trim(), blanks, &asked)?;
    let entries = search.entries.into_iter().collect::<Option<Vec<_>>>()?;
    Some(JsonPlaces { entries, beside: search.beside })
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

struct Search<'a> {
    text: &'a str,
    entries: Vec<Option<Range<usize>>>,
    beside: Vec<Range<usize>>,
}

impl<'a> Search<'a> {
    /// Searches an object that begins at this byte. `places` are those that lead here, each with the rest of its keys.
    fn object(&mut self, object: &'a str, start: usize, places: &[(usize, &[String])]) -> Option<()> {
        if !object.starts_with('{') {
            return None;
        }
        let mut is_end = false;
        for (index, _) in places.iter().filter(|(_, rest)| rest.is_empty()) {
            let found = self.entries.get_mut(*index)?;
            // Of two objects under one key, nobody knows which one counts.
            if found.replace(start..start.checked_add(object.len())?).is_some() {
                return None;
            }
            is_end = true;
        }
        if is_end && places.iter().all(|(_, rest)| rest.is_empty()) {
            return Some(());
        }
        let members: RawMembers<'a> = serde_json::from_str(object).ok()?;
        for (name, value) in members.0 {
            let value = value.get();
            let start = value.as_ptr().addr().checked_sub(self.text.as_ptr().addr())?;
            let below: Vec<(usize, &[String])> = places
                .iter()
                .filter_map(|(index, rest)| Some((*index, rest.split_first().filter(|(key, _)| **key == name)?.1)))
                .collect();
            if !below.is_empty() {
                self.object(value, start, &below)?;
            } else if !is_end && value.len() > SHORT_BYTES {
                self.beside.push(start..start.checked_add(value.len())?);
            }
        }
        Some(())
    }
}

/// The members of an object in their order, with the text of each value.
struct RawMembers<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for RawMembers<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(RawMembersVisitor).map(Self)
    }
}

struct RawMembersVisitor;

impl<'de> Visitor<'de> for RawMembersVisitor {
    type Value = Vec<(String, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let mut all = Vec::new();
        while let Some(member) = members.next_entry()? {
            all.push(member);
        }
        Ok(all)
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
        assert!(locate(r#"{"a": {}}"#, &[&place(&[])]).is_some_and(|found| found.entries == [0..9]), "the whole text");
    }
}
