//! JSON, strict or with comments.

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
