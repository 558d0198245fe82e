//! Whether a server's schema may be evaluated here at all.
//!
//! Schemas are hostile input: references can loop without ever consuming an argument, or double at each step. A schema
//! that loops, refers outside itself, or unfolds to more than a fixed size is not evaluated; the server decides then.

use std::collections::BTreeMap;

use domain::policy::SharePolicy;
use serde_json::Value;

/// Places of a schema after all references are unfolded. Judgement: large real tools have a few thousand.
const UNFOLDED_MAX: u64 = 20_000;

/// Whether the schema refers only into itself, never in a circle, and stays small when unfolded.
pub(crate) fn is_harmless(schema: &Value) -> bool {
    let mut walk = Walk { root: schema, known: BTreeMap::new() };
    walk.cost(schema).is_some_and(|cost| cost <= UNFOLDED_MAX)
}

/// Whether the patterns of the schema are so few and short that they may be compiled here.
pub(crate) fn has_few_short_patterns(schema: &Value, shares: &SharePolicy) -> bool {
    let mut left = shares.patterns_per_tool;
    take_patterns(schema, shares.pattern_cap_bytes, &mut left)
}

/// Bytes that a compiled schema takes for each byte of its text. Judgement: a keyword of some twenty bytes becomes a few
/// boxes of some hundred.
const COMPILED_PER_TEXT: usize = 16;

/// What a schema with few short patterns may take when it is compiled.
pub(crate) fn compiled_bytes_max(schema: &Value, shares: &SharePolicy) -> usize {
    let mut left = shares.patterns_per_tool;
    take_patterns(schema, shares.pattern_cap_bytes, &mut left);
    let patterns = shares.patterns_per_tool.saturating_sub(left);
    let text = schema.to_string().len().saturating_mul(COMPILED_PER_TEXT);
    text.saturating_add(patterns.saturating_mul(shares.pattern_compiled_bytes))
}

/// Takes every pattern below off what is left; false when there are too many, or one is too long. Text that only looks
/// like a pattern, such as an example, counts as well.
fn take_patterns(schema: &Value, cap: usize, left: &mut usize) -> bool {
    match schema {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
        Value::Array(items) => items.iter().all(|item| take_patterns(item, cap, left)),
        Value::Object(members) => members.iter().all(|(name, member)| match (name.as_str(), member) {
            ("pattern", Value::String(pattern)) => take_one(pattern, cap, left),
            ("patternProperties", Value::Object(by_pattern)) => {
                by_pattern.iter().all(|(pattern, part)| take_one(pattern, cap, left) && take_patterns(part, cap, left))
            }
            (_, member) => take_patterns(member, cap, left),
        }),
    }
}

fn take_one(pattern: &str, cap: usize, left: &mut usize) -> bool {
    let fits = pattern.len() <= cap && *left > 0;
    *left = left.saturating_sub(1);
    fits
}

struct Walk<'a> {
    root: &'a Value,
    /// Cost of each target; `None` while it is being computed, so that a circle is seen.
    known: BTreeMap<&'a str, Option<u64>>,
}

impl<'a> Walk<'a> {
    /// Places below this one, or `None` when it may not be evaluated.
    fn cost(&mut self, value: &'a Value) -> Option<u64> {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Some(1),
            Value::Array(items) => items.iter().try_fold(1, |sum, item| add(sum, self.cost(item)?)),
            // A part with an address of its own changes what references below it mean.
            Value::Object(members)
                if members.get("$id").is_some_and(Value::is_string) && !std::ptr::eq(value, self.root) =>
            {
                None
            }
            Value::Object(members) => members.iter().try_fold(1, |sum, (name, member)| {
                let below = match (name.as_str(), member) {
                    ("$ref", Value::String(target)) => self.target_cost(target)?,
                    ("$dynamicRef" | "$recursiveRef", Value::String(_)) => return None,
                    (_, member) => self.cost(member)?,
                };
                add(sum, below)
            }),
        }
    }

    fn target_cost(&mut self, target: &'a str) -> Option<u64> {
        if let Some(known) = self.known.get(target) {
            return *known;
        }
        let pointer = target.strip_prefix('#').filter(|rest| rest.is_empty() || rest.starts_with('/'))?;
        // An escaped pointer may name what it hides; such references are rare and left to the server.
        if pointer.contains('%') {
            return None;
        }
        let value = self.root.pointer(pointer)?;
        self.known.insert(target, None);
        let cost = self.cost(value)?;
        self.known.insert(target, Some(cost));
        Some(cost)
    }
}

fn add(sum: u64, below: u64) -> Option<u64> {
    sum.checked_add(below).filter(|sum| *sum <= UNFOLDED_MAX)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_schema_that_refers_to_its_own_parts_is_evaluated() {
        let schema = json!({"properties": {"a": {"$ref": "#/$defs/t"}, "b": {"$ref": "#/$defs/t"}},
                            "$defs": {"t": {"type": "string"}}});
        assert!(is_harmless(&schema), "plain references are common");
    }

    #[test]
    fn patterns_are_counted_wherever_they_stand() {
        let shares = SharePolicy { patterns_per_tool: 3, pattern_cap_bytes: 5, ..SharePolicy::default() };
        let three = json!({"pattern": "a", "patternProperties": {"b": {"items": [{"pattern": "c"}]}}});
        assert!(has_few_short_patterns(&three, &shares), "three are allowed");
        let four = json!({"allOf": [three, {"pattern": "d"}]});
        assert!(!has_few_short_patterns(&four, &shares), "the fourth is too many");
        assert!(!has_few_short_patterns(&json!({"pattern": "abcdef"}), &shares), "and a long one too long");
        let parameter = json!({"properties": {"pattern": {"type": "string"}}});
        assert!(has_few_short_patterns(&parameter, &shares), "a parameter of that name is no pattern");
    }

    #[test]
    fn circles_and_doublings_and_outside_references_are_not_evaluated() {
        let mut doubling = serde_json::Map::new();
        doubling.insert("d0".into(), json!({"type": "string"}));
        for level in 1..64 {
            let below = format!("#/$defs/d{}", level - 1);
            doubling.insert(format!("d{level}"), json!({"allOf": [{"$ref": below}, {"$ref": below}]}));
        }
        let bad = [
            json!({"$ref": "#"}),
            json!({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}),
            json!({"$ref": "https://example.org/schema.json"}),
            json!({"$ref": "other.json"}),
            json!({"$ref": "#anchor"}),
            json!({"$dynamicRef": "#node"}),
            json!({"properties": {"a": {"$id": "https://example.org/a", "$ref": "#"}}}),
            json!({"$ref": "#/$defs/d63", "$defs": doubling}),
        ];
        for schema in bad {
            assert!(!is_harmless(&schema), "must not be evaluated");
        }
    }
}
