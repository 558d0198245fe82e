//! The flat schema of a server's question, as fields to show and rules to check (protocol.md §2.8).
//!
//! Supports strings, numbers, booleans, single and multiple choice. Any other field takes any JSON value, so that an unusual
//! schema can still be answered. This is not a JSON Schema validator: `mcp` checks tool arguments. Keywords that the protocol
//! does not have for these fields, such as `pattern` and `uniqueItems`, go to people and agents and are not checked: the
//! server judges them.

mod check;
#[cfg(test)]
mod tests;

pub use check::{FormError, check, check_field};

use serde_json::Value;

/// A choice with its title for people.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldChoice {
    /// What is sent.
    pub value: Value,
    /// What is shown.
    pub title: String,
}

/// What a field holds.
#[derive(Debug, Clone, PartialEq)]
pub enum FieldKind {
    Text {
        min: Option<u64>,
        max: Option<u64>,
        /// `email`, `uri` (also `url`), `date` or `date-time`; others are not checked.
        format: Option<String>,
    },
    Number {
        /// Only whole ones.
        whole: bool,
        min: Option<f64>,
        max: Option<f64>,
        /// It must be greater than this.
        above: Option<f64>,
        /// It must be less than this.
        below: Option<f64>,
    },
    /// Yes or no.
    YesNo,
    /// One of several.
    One(Vec<FieldChoice>),
    /// Some of several.
    Many { of: Vec<FieldChoice>, min: Option<u64>, max: Option<u64> },
    /// Anything else: any JSON value.
    Json,
}

/// One field of a form. All text is the server's.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// Its key in the answer.
    pub name: String,
    /// Its title, or the name.
    pub title: String,
    /// What the server says about it.
    pub description: Option<String>,
    /// Whether an answer needs it.
    pub required: bool,
    /// What it holds.
    pub kind: FieldKind,
    /// What the server suggests; `None` also where that would not fit the field.
    pub default: Option<Value>,
    /// Whether `null` is an answer: given on purpose, which is not the same as left out.
    pub nullable: bool,
}

/// The fields of a form in the server's order.
#[must_use]
pub fn fields(schema: &Value) -> Vec<Field> {
    let required: Vec<&str> =
        schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .map(|(name, rule)| {
            let field = Field {
                name: name.clone(),
                title: rule.get("title").and_then(Value::as_str).unwrap_or(name).to_owned(),
                description: rule.get("description").and_then(Value::as_str).map(str::to_owned),
                required: required.contains(&name.as_str()),
                kind: kind(without_null(rule)),
                default: None,
                nullable: is_nullable(rule),
            };
            let suggested = rule.get("default").filter(|value| !value.is_null());
            let default = suggested.filter(|value| check_field(&field, value).is_ok()).cloned();
            Field { default, ..field }
        })
        .collect()
}

fn kind(rule: &Value) -> FieldKind {
    if let Some(choices) = choices(rule) {
        return FieldKind::One(choices);
    }
    let whole = |name: &str| rule.get(name).and_then(Value::as_u64);
    match type_word(rule) {
        Some("string") => FieldKind::Text {
            min: whole("minLength"),
            max: whole("maxLength"),
            format: rule.get("format").and_then(Value::as_str).map(str::to_owned),
        },
        Some(word @ ("number" | "integer")) => FieldKind::Number {
            whole: word == "integer",
            min: rule.get("minimum").and_then(Value::as_f64),
            max: rule.get("maximum").and_then(Value::as_f64),
            above: rule.get("exclusiveMinimum").and_then(Value::as_f64),
            below: rule.get("exclusiveMaximum").and_then(Value::as_f64),
        },
        Some("boolean") => FieldKind::YesNo,
        Some("array") => match rule.get("items").and_then(choices) {
            Some(of) => FieldKind::Many { of, min: whole("minItems"), max: whole("maxItems") },
            None => FieldKind::Json,
        },
        Some(_) | None => FieldKind::Json,
    }
}

/// `null` among the types, the values or the branches.
fn is_nullable(rule: &Value) -> bool {
    let listed =
        |name: &str, null: &Value| rule.get(name).and_then(Value::as_array).is_some_and(|all| all.contains(null));
    listed("type", &Value::from("null")) || listed("enum", &Value::Null) || branches(rule).iter().any(is_null)
}

fn is_null(branch: &Value) -> bool {
    branch.get("type").and_then(Value::as_str) == Some("null") || branch.get("const").is_some_and(Value::is_null)
}

fn branches(rule: &Value) -> &[Value] {
    let branches = rule.get("oneOf").or_else(|| rule.get("anyOf")).and_then(Value::as_array);
    branches.map_or(&[], Vec::as_slice)
}

/// The other branch of `anyOf: [{…}, {"type": "null"}]`, the common way to write a nullable field.
fn without_null(rule: &Value) -> &Value {
    match branches(rule) {
        [one, null] | [null, one] if is_null(null) && !is_null(one) && rule.get("type").is_none() => {
            if one.get("const").is_none() { one } else { rule }
        }
        _ => rule,
    }
}

/// The type, also when it is given as a list with `null`.
fn type_word(rule: &Value) -> Option<&str> {
    match rule.get("type")? {
        Value::String(word) => Some(word),
        Value::Array(words) => {
            let mut others = words.iter().filter_map(Value::as_str).filter(|word| *word != "null");
            let first = others.next();
            if others.next().is_some() { None } else { first }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

/// `enum` with or without `enumNames`, `oneOf` or `anyOf` of constants. `None` when a branch is not a plain constant.
fn choices(rule: &Value) -> Option<Vec<FieldChoice>> {
    let plain = |value: &Value| value.is_string() || value.is_number() || value.is_boolean();
    let shown = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    if let Some(values) = rule.get("enum").and_then(Value::as_array) {
        let names = rule.get("enumNames").and_then(Value::as_array);
        let all: Vec<FieldChoice> = values
            .iter()
            .enumerate()
            .filter(|(_, value)| plain(value))
            .map(|(at, value)| FieldChoice {
                value: value.clone(),
                title: names
                    .and_then(|names| names.get(at))
                    .and_then(Value::as_str)
                    .map_or_else(|| shown(value), str::to_owned),
            })
            .collect();
        return if all.is_empty() { None } else { Some(all) };
    }
    let all: Vec<FieldChoice> = branches(rule)
        .iter()
        .filter(|branch| !is_null(branch))
        .map(|branch| {
            let value = branch.get("const").filter(|value| plain(value))?;
            let title = branch.get("title").and_then(Value::as_str).map_or_else(|| shown(value), str::to_owned);
            Some(FieldChoice { value: value.clone(), title })
        })
        .collect::<Option<_>>()?;
    if all.is_empty() { None } else { Some(all) }
}

/// A value as its form shows it: choices by their titles.
#[must_use]
pub fn shown(value: &Value, kind: Option<&FieldKind>) -> String {
    let choices: &[FieldChoice] = match kind {
        Some(FieldKind::One(of) | FieldKind::Many { of, .. }) => of,
        Some(FieldKind::Text { .. } | FieldKind::Number { .. } | FieldKind::YesNo | FieldKind::Json) | None => &[],
    };
    if let Some(choice) = choices.iter().find(|choice| choice.value == *value) {
        return choice.title.clone();
    }
    match value {
        Value::Bool(true) => "yes".into(),
        Value::Bool(false) => "no".into(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(|item| shown(item, kind)).collect::<Vec<_>>().join(", "),
        Value::Null | Value::Number(_) | Value::Object(_) => value.to_string(),
    }
}
