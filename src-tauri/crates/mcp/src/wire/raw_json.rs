//! Reads and edits JSON text in place, without building values.
//!
//! What is forwarded must keep its order, spelling and unknown members, so places are found by walking and replaced by
//! splicing. The text was validated before; on anything else a walk ends early. Which places matter is decided by
//! `rewrite.rs` and by the params of each side.

use std::borrow::Cow;
use std::ops::Range;

/// Iterates over the members of an object or the elements of a list.
#[derive(Debug, Clone)]
pub(crate) struct JsonMembers<'a> {
    text: &'a str,
    at: usize,
    object: bool,
    over: bool,
}

/// One member or element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JsonPart<'a> {
    /// The unescaped name of a member; empty for an element.
    pub(crate) name: Cow<'a, str>,
    /// Where its name begins, or the value of an element.
    pub(crate) begin: usize,
    /// Where its value is.
    pub(crate) value: Range<usize>,
}

impl<'a> JsonMembers<'a> {
    /// Opens the object or list that `text` is; `None` for anything else.
    pub(crate) fn of(text: &'a str) -> Option<Self> {
        let at = blank(text.as_bytes(), 0);
        let object = match text.as_bytes().get(at)? {
            b'{' => true,
            b'[' => false,
            _ => return None,
        };
        Some(Self { text, at: at + 1, object, over: false })
    }

    /// Opens it if it is an object.
    pub(crate) fn object(text: &'a str) -> Option<Self> {
        Self::of(text).filter(|inside| inside.object)
    }

    /// Just behind the opening bracket, before anything was read.
    const fn start(&self) -> usize {
        self.at
    }

    fn step(&mut self) -> Option<JsonPart<'a>> {
        let bytes = self.text.as_bytes();
        let begin = blank(bytes, self.at);
        let (name, from) = if self.object {
            (bytes.get(begin) == Some(&b'"')).then_some(())?;
            let end = behind_text(bytes, begin + 1)?;
            let colon = blank(bytes, end);
            (bytes.get(colon) == Some(&b':')).then_some(())?;
            (meaning(self.text.get(begin..end)?)?, blank(bytes, colon + 1))
        } else {
            (Cow::Borrowed(""), begin)
        };
        let end = behind_value(bytes, from)?;
        let next = blank(bytes, end);
        match bytes.get(next)? {
            b',' => self.at = next + 1,
            _ => self.over = true,
        }
        Some(JsonPart { name, begin, value: from..end })
    }
}

impl<'a> Iterator for JsonMembers<'a> {
    type Item = JsonPart<'a>;

    fn next(&mut self) -> Option<JsonPart<'a>> {
        if self.over {
            return None;
        }
        let step = self.step();
        self.over |= step.is_none();
        step
    }
}

/// The text of a member of an object; of several with one name the last, as readers take it.
pub(crate) fn member<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let part = JsonMembers::object(text)?.filter(|part| part.name == name).last()?;
    text.get(part.value)
}

/// The value of a member that is a string.
pub(crate) fn text_member<'a>(text: &'a str, name: &str) -> Option<Cow<'a, str>> {
    meaning(member(text, name)?)
}

/// The value of a JSON string; `None` for anything else.
pub(crate) fn meaning(json: &str) -> Option<Cow<'_, str>> {
    let inner = json.strip_prefix('"')?.strip_suffix('"')?;
    if inner.contains('\\') { serde_json::from_str(json).ok().map(Cow::Owned) } else { Some(Cow::Borrowed(inner)) }
}

/// A range of the text and its replacement.
pub(crate) type JsonEdit<'a> = (Range<usize>, Cow<'a, str>);

/// Applies all edits. They must be in order and must not overlap; one that does is left out.
pub(crate) fn splice(text: &str, changes: &[JsonEdit<'_>]) -> String {
    let more: usize = changes.iter().map(|(_, new)| new.len()).sum();
    let mut spliced = String::with_capacity(text.len() + more);
    let mut done = 0;
    for (place, new) in changes {
        let Some(kept) = text.get(done..place.start) else { continue };
        spliced.push_str(kept);
        spliced.push_str(new);
        done = place.end;
    }
    spliced.push_str(text.get(done..).unwrap_or_default());
    spliced
}

/// The object with members set and others left out. What is set stands where it stood, or at the end; everything else
/// stays byte for byte. Of a name that is there twice only one place is left. What is no object counts as `{}`.
pub(crate) fn with_members(object: &str, set: &[(&str, Cow<'_, str>)], drop: &[&str]) -> String {
    let Some(inside) = JsonMembers::object(object) else { return with_members("{}", set, drop) };
    let start = inside.start();
    let mut changes: Vec<JsonEdit<'_>> = Vec::new();
    let mut placed = vec![false; set.len()];
    // Where the last member that stays ends, and where what is left out in front of all others begins.
    let mut kept_end: Option<usize> = None;
    let mut cut_from: Option<usize> = None;
    for part in inside {
        let new = set.iter().zip(placed.iter_mut()).find(|((name, _), _)| part.name == *name);
        let stays = match &new {
            Some((_, placed)) => !**placed,
            None => !drop.iter().any(|name| part.name == *name),
        };
        if !stays {
            match kept_end {
                Some(end) => changes.push((end..part.value.end, Cow::Borrowed(""))),
                None => {
                    cut_from.get_or_insert(part.begin);
                }
            }
            kept_end = kept_end.map(|_| part.value.end);
            continue;
        }
        if let Some(from) = cut_from.take() {
            changes.push((from..part.begin, Cow::Borrowed("")));
        }
        kept_end = Some(part.value.end);
        if let Some(((_, value), placed)) = new {
            *placed = true;
            changes.push((part.value, Cow::Borrowed(value)));
        }
    }
    let mut tail = String::new();
    let mut first = kept_end.is_none();
    for ((name, value), placed) in set.iter().zip(&placed) {
        if *placed {
            continue;
        }
        if !std::mem::take(&mut first) {
            tail.push(',');
        }
        tail.push_str(&serde_json::Value::from(*name).to_string());
        tail.push(':');
        tail.push_str(value);
    }
    match (kept_end, cut_from) {
        (Some(end), _) => changes.push((end..end, tail.into())),
        // Nothing stays: all of the inside gives way.
        (None, Some(_)) => {
            let end = object.rfind('}').unwrap_or(start);
            changes.push((start..end.max(start), tail.into()));
        }
        (None, None) => changes.push((start..start, tail.into())),
    }
    splice(object, &changes)
}

/// The first byte at or behind `at` that is no blank.
fn blank(bytes: &[u8], mut at: usize) -> usize {
    while matches!(bytes.get(at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
        at += 1;
    }
    at
}

/// Behind the closing quote of the text whose inside begins at `at`.
pub(crate) fn behind_text(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        match bytes.get(at)? {
            b'"' => return Some(at + 1),
            _ => at += 2,
        }
    }
}

/// Behind the value that begins at `at`.
fn behind_value(bytes: &[u8], at: usize) -> Option<usize> {
    match bytes.get(at)? {
        b'"' => behind_text(bytes, at + 1),
        b'{' | b'[' => behind_nest(bytes, at),
        b',' | b'}' | b']' | b':' => None,
        _ => {
            let rest = bytes.get(at..)?;
            let length = rest.iter().position(|byte| matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r'));
            Some(at + length.unwrap_or(rest.len()))
        }
    }
}

fn behind_nest(bytes: &[u8], mut at: usize) -> Option<usize> {
    let mut depth = 0_usize;
    loop {
        match bytes.get(at)? {
            b'"' => {
                at = behind_text(bytes, at + 1)?;
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn set(object: &str, set: &[(&str, &str)], drop: &[&str]) -> String {
        let set: Vec<_> = set.iter().map(|(name, value)| (*name, Cow::Borrowed(*value))).collect();
        with_members(object, &set, drop)
    }

    #[test]
    fn members_are_found_whatever_stands_around_them() {
        let text = " { \"a\" : 1.50 , \"\\u0062\":[1, {\"}\":\"]\\\"\"}],\"c\":\"x\\\\\" , \"d\":null} ";
        let found: Vec<_> = JsonMembers::object(text).expect("an object").collect();
        let told: Vec<_> = found.iter().map(|part| (&*part.name, &text[part.value.clone()])).collect();
        let wanted = [("a", "1.50"), ("b", "[1, {\"}\":\"]\\\"\"}]"), ("c", "\"x\\\\\""), ("d", "null")];
        assert_eq!(told, wanted, "names as they mean, values as they stand");
        assert_eq!(JsonMembers::of("[ ]").expect("a list").count(), 0, "an empty list has nothing inside");
        assert_eq!(JsonMembers::of("[1,2 , 3]").expect("a list").count(), 3, "elements are found too");
        assert!(JsonMembers::of("7").is_none(), "a number has no inside");
        assert_eq!(member(r#"{"a":1,"a":2}"#, "a"), Some("2"), "readers take the last");
    }

    #[test]
    fn what_is_set_stands_where_it_stood_and_the_rest_stays() {
        let text = r#"{ "a" : 1.50 ,"b":[1e2], "c":{"a":0} }"#;
        type Case<'a> = (&'a [(&'a str, &'a str)], &'a [&'a str], &'a str);
        let cases: [Case<'_>; 8] = [
            (&[], &[], text),
            (&[("b", "7")], &[], r#"{ "a" : 1.50 ,"b":7, "c":{"a":0} }"#),
            (&[("z", "7")], &[], r#"{ "a" : 1.50 ,"b":[1e2], "c":{"a":0},"z":7 }"#),
            (&[], &["a"], r#"{ "b":[1e2], "c":{"a":0} }"#),
            (&[], &["b"], r#"{ "a" : 1.50, "c":{"a":0} }"#),
            (&[], &["c"], r#"{ "a" : 1.50 ,"b":[1e2] }"#),
            (&[("z", "7")], &["b", "c"], r#"{ "a" : 1.50,"z":7 }"#),
            (&[("z", "7")], &["a", "b", "c"], r#"{"z":7}"#),
        ];
        for (new, gone, wanted) in cases {
            assert_eq!(set(text, new, gone), wanted, "setting {new:?} without {gone:?}");
        }
        assert_eq!(set("{}", &[("a", "1"), ("b", "2")], &[]), r#"{"a":1,"b":2}"#, "an empty object takes members");
        assert_eq!(set(r#"{"a":1,"a":2,"b":3}"#, &[("a", "9")], &[]), r#"{"a":9,"b":3}"#, "one place is left");
        assert_eq!(set("[]", &[("a", "1")], &[]), r#"{"a":1}"#, "what is no object counts as empty");
    }

    proptest! {
        #[test]
        fn setting_and_leaving_out_means_what_it_means_for_values(
            names in proptest::collection::vec("[a-c]{1,2}", 0..6),
            new in proptest::collection::btree_map("[a-d]{1,2}", 0_i64..100, 0..3),
            gone in proptest::collection::vec("[a-c]{1,2}", 0..3),
            pretty: bool,
        ) {
            let members: serde_json::Map<String, serde_json::Value> =
                names.into_iter().enumerate().map(|(at, name)| (name, at.into())).collect();
            let value = serde_json::Value::Object(members.clone());
            let text = if pretty { serde_json::to_string_pretty(&value).expect("JSON") } else { value.to_string() };
            let pairs: Vec<_> = new.iter().map(|(name, value)| (name.as_str(), Cow::Owned(value.to_string()))).collect();
            let gone: Vec<&str> = gone.iter().map(String::as_str).collect();
            let made = with_members(&text, &pairs, &gone);
            let read: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&made).expect("still JSON");
            let mut wanted = members;
            wanted.retain(|name, _| new.contains_key(name) || !gone.contains(&name.as_str()));
            for (name, value) in &new {
                wanted.insert(name.clone(), (*value).into());
            }
            prop_assert_eq!(read, wanted);
        }
    }
}
