//! Tool parameters that are mirrored into `Mcp-Param-*` headers (protocol.md §2.3, statement 11).
//!
//! A parameter asks for it by `x-mcp-header` in its schema. Only strings, integers and booleans reached by `properties`
//! alone may; a tool that breaks this must not be used over HTTP. Encoding for the header is the link's.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// The schema keyword that names a header.
pub(crate) const ANNOTATION: &str = "x-mcp-header";

/// One mirrored parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ParamHeader {
    /// Header name without the prefix.
    pub(crate) name: String,
    /// From the arguments' root to the value.
    path: Vec<String>,
}

/// Why a tool's annotations are no good: one line for the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct BadAnnotation(&'static str);

/// The mirrored parameters of a tool.
pub(crate) fn param_headers(schema: &Value) -> Result<Vec<ParamHeader>, BadAnnotation> {
    let mut found = Vec::new();
    if let Value::Object(root) = schema {
        if root.contains_key(ANNOTATION) {
            return Err(BadAnnotation("the whole input is annotated"));
        }
        walk(root, &Place::Chain(Vec::new()), &mut found)?;
    }
    let names: BTreeSet<String> = found.iter().map(|header| header.name.to_ascii_lowercase()).collect();
    if names.len() == found.len() { Ok(found) } else { Err(BadAnnotation("two parameters share one header")) }
}

/// Header names and plain values for these arguments; absent and `null` ones are left out.
pub(crate) fn header_values(headers: &[ParamHeader], arguments: &Value) -> Vec<(String, String)> {
    headers
        .iter()
        .filter_map(|header| {
            let value = header.path.iter().try_fold(arguments, |value, step| value.get(step))?;
            let text = match value {
                Value::String(text) => text.clone(),
                Value::Bool(flag) => flag.to_string(),
                Value::Number(number) => number.to_string(),
                Value::Null | Value::Array(_) | Value::Object(_) => return None,
            };
            Some((header.name.clone(), text))
        })
        .collect()
}

/// Where a schema occurs.
enum Place {
    /// Reached from the root by `properties` alone, by these names.
    Chain(Vec<String>),
    /// Anywhere else: nothing may be annotated there.
    Elsewhere,
}

fn walk(schema: &Map<String, Value>, place: &Place, found: &mut Vec<ParamHeader>) -> Result<(), BadAnnotation> {
    if let Some(annotation) = schema.get(ANNOTATION) {
        match place {
            Place::Chain(path) if path.is_empty() => {}
            Place::Chain(path) => found.push(annotated(annotation, schema, path)?),
            Place::Elsewhere => return Err(BadAnnotation("a parameter that has no fixed place is annotated")),
        }
    }
    for (keyword, value) in schema {
        match (keyword.as_str(), value) {
            // Data, not schemas.
            (ANNOTATION | "default" | "const" | "enum" | "examples", _) => {}
            ("properties", Value::Object(members)) => {
                for (name, member) in members {
                    walk_value(member, &place.below(name), found)?;
                }
            }
            ("patternProperties" | "$defs" | "definitions" | "dependentSchemas", Value::Object(members)) => {
                members.values().try_for_each(|member| walk_value(member, &Place::Elsewhere, found))?;
            }
            (_, value) => walk_value(value, &Place::Elsewhere, found)?,
        }
    }
    Ok(())
}

fn walk_value(value: &Value, place: &Place, found: &mut Vec<ParamHeader>) -> Result<(), BadAnnotation> {
    match value {
        Value::Object(schema) => walk(schema, place, found),
        Value::Array(items) => items.iter().try_for_each(|item| walk_value(item, &Place::Elsewhere, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

impl Place {
    fn below(&self, name: &str) -> Self {
        match self {
            Self::Chain(path) => Self::Chain(path.iter().cloned().chain([name.to_owned()]).collect()),
            Self::Elsewhere => Self::Elsewhere,
        }
    }
}

fn annotated(annotation: &Value, schema: &Map<String, Value>, path: &[String]) -> Result<ParamHeader, BadAnnotation> {
    let name = annotation.as_str().filter(|name| is_token(name)).ok_or(BadAnnotation("a header name is not one"))?;
    match schema.get("type").and_then(Value::as_str) {
        Some("string" | "integer" | "boolean") => Ok(ParamHeader { name: name.to_owned(), path: path.to_vec() }),
        Some(_) | None => Err(BadAnnotation("a parameter that is no text, integer or truth value is annotated")),
    }
}

/// A token of RFC 9110.
fn is_token(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.bytes().all(fits)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn names(schema: &Value) -> Result<Vec<String>, BadAnnotation> {
        param_headers(schema).map(|found| found.into_iter().map(|header| header.name).collect())
    }

    #[test]
    fn annotated_parameters_are_mirrored_also_below_others_and_absent_ones_are_left_out() {
        let schema = json!({"type": "object", "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "to": {"type": "object", "properties": {
                "shard": {"type": "integer", "x-mcp-header": "Shard"},
                "dry": {"type": "boolean", "x-mcp-header": "Dry"},
                "gone": {"type": "string", "x-mcp-header": "Gone"},
                "nil": {"type": "string", "x-mcp-header": "Nil"}}},
            "x-mcp-header": {"type": "string"}}});
        let headers = param_headers(&schema).expect("all annotations are sound");
        let values = header_values(
            &headers,
            &json!({"region": "eu west", "to": {"shard": 7, "dry": false, "nil": null}, "x-mcp-header": "a name"}),
        );
        let expected = [("Region", "eu west"), ("Shard", "7"), ("Dry", "false")];
        let expected: Vec<_> = expected.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        assert_eq!(values, expected, "present values are mirrored, null and absent ones are not");
    }

    #[test]
    fn annotations_that_cannot_be_kept_are_refused() {
        let bad = [
            json!({"x-mcp-header": "Root"}),
            json!({"properties": {"a": {"type": "number", "x-mcp-header": "A"}}}),
            json!({"properties": {"a": {"x-mcp-header": "A"}}}),
            json!({"properties": {"a": {"type": "string", "x-mcp-header": ""}}}),
            json!({"properties": {"a": {"type": "string", "x-mcp-header": "two words"}}}),
            json!({"properties": {"a": {"type": "string", "x-mcp-header": 4}}}),
            json!({"properties": {"a": {"type": "string", "x-mcp-header": "X"},
                                  "b": {"type": "string", "x-mcp-header": "x"}}}),
            json!({"properties": {"a": {"type": "array", "items": {"type": "string", "x-mcp-header": "A"}}}}),
            json!({"anyOf": [{"properties": {"a": {"type": "string", "x-mcp-header": "A"}}}]}),
            json!({"$defs": {"a": {"type": "string", "x-mcp-header": "A"}}}),
        ];
        for schema in bad {
            assert!(names(&schema).is_err(), "must be refused: {schema}");
        }
    }

    #[test]
    fn data_that_looks_like_an_annotation_is_none() {
        let schema = json!({"properties": {
            "a": {"type": "object", "default": {"x-mcp-header": "A"}, "examples": [{"x-mcp-header": "B"}]},
            "x-mcp-header": {"type": "string"}}});
        assert_eq!(names(&schema), Ok(Vec::new()), "values and property names are no annotations");
    }
}
