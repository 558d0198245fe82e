//! JSON, strict or with comments.
//!
//! Strict text is read in one pass (`strict.rs`), because a program may keep megabytes in its file. What is not strict, or
//! is refused there, is read as a syntax tree, which also says in which line a fault stands.

mod strict;

use jsonc_parser::ast::{ObjectPropName, Value as Node};
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions, parse_to_ast};
use serde_json::{Map, Value};

/// What is no JSON is refused.
pub(super) const STRICT: ParseOptions = ParseOptions {
    allow_comments: false,
    allow_loose_object_property_names: false,
    allow_trailing_commas: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// Comments and trailing commas are allowed, as in the settings of editors.
pub(super) const WITH_COMMENTS: ParseOptions =
    ParseOptions { allow_comments: true, allow_trailing_commas: true, ..STRICT };

pub(super) fn parse(text: &str, options: ParseOptions) -> Result<Value, String> {
    match strict::parse(text) {
        Some(value) => Ok(value),
        None => parse_tree(text, options),
    }
}

fn parse_tree(text: &str, options: ParseOptions) -> Result<Value, String> {
    let collect = CollectOptions { comments: CommentCollectionStrategy::Off, tokens: false };
    let parsed = parse_to_ast(text, &collect, &options).map_err(|error| {
        let line = text.get(..error.range().start).map_or(1, |before| before.split('\n').count());
        format!("it is not valid JSON: {} in line {line}", error.kind())
    })?;
    parsed.value.map_or_else(|| Err("it holds no value".into()), |node| value(&node))
}

fn value(node: &Node<'_>) -> Result<Value, String> {
    Ok(match node {
        Node::StringLit(text) => Value::String(text.value.to_string()),
        // A number that is no JSON number here stays its text, which compares as well.
        Node::NumberLit(number) => {
            serde_json::from_str(number.value).unwrap_or_else(|_| Value::String(number.value.to_owned()))
        }
        Node::BooleanLit(flag) => Value::Bool(flag.value),
        Node::NullKeyword(_) => Value::Null,
        Node::Array(array) => Value::Array(array.elements.iter().map(value).collect::<Result<_, _>>()?),
        Node::Object(object) => {
            let mut map = Map::new();
            for property in &object.properties {
                let name = match &property.name {
                    ObjectPropName::String(text) => text.value.to_string(),
                    ObjectPropName::Word(word) => word.value.to_owned(),
                };
                if map.contains_key(&name) {
                    return Err(super::duplicate(&name));
                }
                map.insert(name, value(&property.value)?);
            }
            Value::Object(map)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_of_reading_give_the_same_values() {
        for text in [
            r#"{"a": [1, -0, 2.50, 1e3, 18446744073709551615, 0.1], "b": {"c": null, "d": true}, "é\u00e9\n": "\ud83d\ude00"}"#,
            "[]",
            " 3 ",
            "\"text\"",
        ] {
            let read = strict::parse(text).unwrap_or_else(|| panic!("it is strict: {text}"));
            assert_eq!(parse_tree(text, STRICT), Ok(read), "{text}");
        }
    }

    #[test]
    fn what_one_way_cannot_read_is_left_to_the_other() {
        for text in [r#"{"a": 1, "a": 2}"#, "{\"a\": 1,}", "// mine\n{}", "{\"a\": 1e999}", "{} {}"] {
            assert_eq!(strict::parse(text), None, "{text}");
        }
        let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));
        assert_eq!(strict::parse(&deep), None, "the depth is limited");
        let twice = parse(r#"{"a": 1, "a": 2}"#, STRICT).expect_err("a key stands twice");
        assert!(twice.contains("twice"), "{twice}");
        let broken = parse("{\n\"a\": 1,\n}", STRICT).expect_err("a comma too many");
        assert!(broken.contains("line"), "{broken}");
    }
}
