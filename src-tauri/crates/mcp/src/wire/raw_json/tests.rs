//! The walker and the editor: any value is walked to its end, and what is not meant to change keeps every byte.

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
fn a_name_without_meaning_hides_nothing_behind_it() {
    let text = r#"{"\ud800":1,"a\ud800":{"b":2},"b":3}"#;
    assert!(serde_json::from_str::<&serde_json::value::RawValue>(text).is_ok(), "such text passes as JSON");
    assert_eq!(member(text, "b"), Some("3"), "what stands behind is found");
    let (mut inside, mut names) = (JsonMembers::object(text).expect("an object"), Vec::new());
    while let Some(part) = inside.next_part().expect("it is JSON") {
        names.push(part.name);
    }
    assert_eq!(names, ["\\ud800", "a\\ud800", "b"], "and the names stay as they are spelled");
    assert_eq!(set(text, &[("b", "4")], &[]), text.replace('3', "4"), "with every other byte");
}

#[test]
fn text_that_breaks_off_is_an_error_and_no_part_of_it_counts() {
    for text in
        [r#"{"a":1"#, r#"{"a":1,}"#, r#"{"a":1,"b}"#, r#"{"a":1,"b\"#, r#"{"a":1 2}"#, r#"{"a":[1}"#, r#"{"a":1,7:2}"#]
    {
        assert_eq!(member(text, "a"), None, "{text}");
        let mut inside = JsonMembers::object(text).expect("it begins as an object");
        let ended = loop {
            match inside.next_part() {
                Ok(Some(_)) => {}
                Ok(None) => break None,
                Err(wrong) => break Some(wrong.at),
            }
        };
        assert!(ended.is_some_and(|at| at <= text.len()), "{text}: {ended:?}");
        assert_eq!(set(text, &[("z", "1")], &[]), r#"{"z":1}"#, "what is no object counts as empty: {text}");
    }
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

/// Any JSON value.
fn any_json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(serde_json::Value::from),
        any::<i64>().prop_map(serde_json::Value::from),
        any::<f64>().prop_filter("JSON has no infinity", |number| number.is_finite()).prop_map(serde_json::Value::from),
        ".{0,8}".prop_map(serde_json::Value::from),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(serde_json::Value::from),
            proptest::collection::vec((".{0,4}|[a-c]", inner), 0..5)
                .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
        ]
    })
}

/// The text of a value in one of two spellings.
fn spelled(value: &serde_json::Value, pretty: bool) -> String {
    if pretty { serde_json::to_string_pretty(value).expect("JSON") } else { value.to_string() }
}

/// Walks all of a value, and checks that each part is the part of the value.
fn walk_all(cursor: &mut JsonCursor<'_>, value: &serde_json::Value) -> Result<(), TestCaseError> {
    let fits = |walked: Result<_, MalformedJson>| walked.map_err(|wrong| TestCaseError::fail(wrong.to_string()));
    let Some(mut nest) = cursor.enter() else {
        let place = fits(cursor.skip())?;
        let read: serde_json::Value = serde_json::from_str(cursor.text(place)).expect("a scalar");
        prop_assert_eq!(&read, value);
        return Ok(());
    };
    let names: Vec<&str> = value.as_object().map(|all| all.keys().map(String::as_str).collect()).unwrap_or_default();
    let inside: Vec<&serde_json::Value> = match value {
        serde_json::Value::Object(members) => members.values().collect(),
        _ => value.as_array().map(|all| all.iter().collect()).unwrap_or_default(),
    };
    for (at, inner) in inside.iter().enumerate() {
        let name = cursor.next_in(&mut nest).map_err(|wrong| TestCaseError::fail(wrong.to_string()))?;
        prop_assert_eq!(name.as_deref(), Some(names.get(at).copied().unwrap_or_default()));
        walk_all(cursor, inner)?;
    }
    prop_assert_eq!(cursor.next_in(&mut nest).expect("the end"), None);
    Ok(())
}

/// Each member with its name and value as they are spelled.
fn members_as_spelled(text: &str) -> Vec<(String, &str, &str)> {
    let parts = JsonMembers::object(text).expect("an object");
    let spelled = |part: JsonPart<'_>| {
        let name = text.get(part.begin..part.value.start).expect("a name");
        (part.name.into_owned(), name.trim_end(), text.get(part.value).expect("a value"))
    };
    // The cursor borrows the text, not itself.
    parts.map(spelled).collect()
}

proptest! {
    #[test]
    fn any_value_is_walked_to_its_end_in_one_pass(value in any_json(), pretty: bool) {
        let text = spelled(&value, pretty);
        let mut cursor = JsonCursor::of(&text);
        walk_all(&mut cursor, &value)?;
        prop_assert_eq!(cursor.at, text.len());
        let mut skipping = JsonCursor::of(&text);
        prop_assert_eq!(skipping.skip(), Ok(0..text.len()), "and stepped over as a whole");
    }

    #[test]
    fn members_that_are_not_set_or_left_out_keep_every_byte(
        members in proptest::collection::vec(("[a-d]|.{0,4}", any_json()), 0..6),
        new in proptest::collection::btree_map("[a-e]", any_json(), 0..3),
        gone in proptest::collection::vec("[a-e]", 0..3),
        pretty: bool,
    ) {
        let value = serde_json::Value::Object(members.into_iter().collect());
        let text = spelled(&value, pretty);
        let pairs: Vec<_> = new.iter().map(|(name, value)| (name.as_str(), Cow::Owned(value.to_string()))).collect();
        let gone: Vec<&str> = gone.iter().map(String::as_str).collect();
        let made = with_members(&text, &pairs, &gone);
        let is_unknown = |name: &str| !new.contains_key(name) && !gone.contains(&name);
        let stays = |text| -> Vec<(String, String, String)> {
            let all = members_as_spelled(text).into_iter();
            all.filter(|(name, _, _)| is_unknown(name)).map(|(n, s, v)| (n, s.to_owned(), v.to_owned())).collect()
        };
        prop_assert_eq!(stays(&made), stays(&text));
    }

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
