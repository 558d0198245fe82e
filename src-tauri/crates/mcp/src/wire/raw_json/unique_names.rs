//! Whether the objects of a JSON value name each of their members once.
//!
//! Of a name that is there twice one reader takes the first value and another the last, so a person or a rule could see
//! other arguments than the server. It steps over the value in the same pass and allocates nothing for small objects.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use super::{JsonCursor, JsonNest, MalformedJson, blank};

/// Names of an object up to which they are compared with each other; of more, a set is made. Judgement: as for the members
/// of params.
const COMPARED_MAX: usize = 16;
/// Levels that are looked at; a message has fewer (`message_depth_max` is at most 120).
const LEVELS_MAX: usize = 128;

/// A value that was stepped over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SteppedValue {
    pub(crate) place: Range<usize>,
    /// Whether an object in it names a member twice.
    pub(crate) names_twice: bool,
}

impl JsonCursor<'_> {
    /// Steps over the value that begins here as [`JsonCursor::skip`] does, and looks at the names in it.
    pub(crate) fn skip_with_names(&mut self) -> Result<SteppedValue, MalformedJson> {
        let begin = blank(self.text.as_bytes(), self.at);
        let names_twice = step_over(self, LEVELS_MAX)?;
        Ok(SteppedValue { place: begin..self.at, names_twice })
    }
}

/// Steps over a value. Returns whether an object in it names a member twice.
fn step_over(cursor: &mut JsonCursor<'_>, levels: usize) -> Result<bool, MalformedJson> {
    let entered = if levels > 0 { cursor.enter() } else { None };
    match entered {
        Some(object) if object.is_object => step_over_object(cursor, object, levels),
        Some(mut list) => {
            let mut names_twice = false;
            while cursor.next_in(&mut list)?.is_some() {
                names_twice |= step_over(cursor, levels.saturating_sub(1))?;
            }
            Ok(names_twice)
        }
        None => cursor.skip().map(|_| false),
    }
}

fn step_over_object(cursor: &mut JsonCursor<'_>, mut object: JsonNest, levels: usize) -> Result<bool, MalformedJson> {
    let mut names = NamesOfObject::default();
    let mut names_twice = false;
    while let Some(name) = cursor.next_in(&mut object)? {
        names_twice |= !names.insert(name);
        names_twice |= step_over(cursor, levels.saturating_sub(1))?;
    }
    Ok(names_twice)
}

/// The names of one object.
#[derive(Default)]
struct NamesOfObject<'a> {
    first: [&'a str; COMPARED_MAX],
    count: usize,
    /// Those behind the first, and those with escapes.
    rest: Option<HashSet<Cow<'a, str>>>,
}

impl<'a> NamesOfObject<'a> {
    /// Adds a name; false where it is there.
    fn insert(&mut self, name: Cow<'a, str>) -> bool {
        if self.first.iter().take(self.count).any(|known| *known == name) {
            return false;
        }
        match (name, self.first.get_mut(self.count), &mut self.rest) {
            (Cow::Borrowed(name), Some(place), None) => {
                *place = name;
                self.count += 1;
                true
            }
            (name, _, rest) => rest.get_or_insert_default().insert(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn names_twice(json: &str) -> bool {
        let stepped = JsonCursor::of(json).skip_with_names().expect("JSON");
        let skipped = JsonCursor::of(json).skip().expect("JSON");
        assert_eq!(stepped.place, skipped, "both step over the same of `{json}`");
        stepped.names_twice
    }

    #[test]
    fn a_name_that_is_there_twice_is_found_at_any_depth_and_in_any_spelling() {
        for twice in [
            r#"{"a":1,"a":2}"#,
            r#"{"a":1,"b":2,"a":1}"#,
            r#" { "a" : 1 , "\u0061" : 2 } "#,
            r#"{"\u0061":1,"a":2}"#,
            r#"[0,{"b":[{"c":{"d":1,"d":1}}]}]"#,
            r#"{"a":{"x":1,"x":2},"b":0}"#,
            r#"{"":1,"":2}"#,
        ] {
            assert!(names_twice(twice), "{twice}");
        }
        for once in [
            "{}",
            "[]",
            "7",
            r#""{\"a\":1,\"a\":2}""#,
            r#"{"a":{"a":{"a":1}},"b":{"a":1}}"#,
            r#"[{"a":1},{"a":1}]"#,
            r#"{"a":"a","A":"a","":0}"#,
        ] {
            assert!(!names_twice(once), "{once}");
        }
    }

    #[test]
    fn large_objects_are_looked_at_as_well() {
        let members = |last: &str| {
            let many: Vec<String> = (0..2_000).map(|number| format!("\"n{number}\":{number}")).collect();
            format!("{{{},\"{last}\":0}}", many.join(","))
        };
        for (last, is_twice) in [("n3", true), ("n16", true), ("n1999", true), ("new", false)] {
            assert_eq!(names_twice(&members(last)), is_twice, "`{last}`");
        }
    }

    proptest! {
        #[test]
        fn it_agrees_with_a_count_of_all_names(names in proptest::collection::vec("[a-c]{0,2}", 0..40)) {
            let members: Vec<String> = names.iter().map(|name| format!("\"{name}\":[{{}}]")).collect();
            let unique: HashSet<&String> = names.iter().collect();
            prop_assert_eq!(names_twice(&format!("{{{}}}", members.join(","))), unique.len() < names.len());
        }
    }
}
