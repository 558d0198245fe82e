//! Checks arguments against a tool's schema before anything is sent.
//!
//! Errors name the place and the rule, never a value. A schema that does not compile, or that `schema_cost.rs` rejects,
//! is left to the server as a whole, because part of a schema can mean something else. References are never fetched. It
//! runs off the runtime's workers, because a server's schema may be slow.

use domain::policy::{Policy, plain_text};
use domain::ports::ArgumentError;
use domain::task::payload::Payload;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{PatternOptions, ValidationError, Validator};
use serde_json::{Map, Value};

use super::schema_cost::{has_few_short_patterns, is_harmless};

/// Choices quoted of an `enum`. Judgement: one line.
const CHOICES_NAMED: usize = 8;
/// Longest quote of a schema in an error. Judgement: one line.
const QUOTE_CAP_CHARS: usize = 120;

/// A JSON object within the cap, or why not.
pub(crate) fn object_of(arguments: &Payload, policy: &Policy) -> Result<Value, ArgumentError> {
    let cap = u64::try_from(policy.arguments_cap_bytes).unwrap_or(u64::MAX);
    if arguments.bytes() > cap {
        return Err(ArgumentError::TooLarge { bytes: arguments.bytes(), cap });
    }
    match serde_json::from_str::<Map<String, Value>>(arguments.as_str()) {
        Ok(members) => Ok(Value::Object(members)),
        Err(failed) if failed.is_data() => Err(ArgumentError::NotAnObject("they are another kind of value".into())),
        Err(failed) => {
            let place = format!("line {}, column {}", failed.line(), failed.column());
            Err(ArgumentError::NotAnObject(format!("they stop being JSON at {place}")))
        }
    }
}

/// Compiles a schema, if it can and may be.
pub(crate) fn compile(schema: &Value, policy: &Policy) -> Option<Validator> {
    if schema.to_string().len() > policy.schema_cap_bytes || !is_harmless(schema) {
        tracing::debug!("a tool's schema is left to its server: too large, circular or not self-contained");
        return None;
    }
    if !has_few_short_patterns(schema, &policy.shares) {
        tracing::info!(
            patterns_max = policy.shares.patterns_per_tool,
            "arguments of a tool are left to its server: its schema has too many patterns, or too long ones"
        );
        return None;
    }
    let compiled = policy.shares.pattern_compiled_bytes;
    let patterns = PatternOptions::regex().size_limit(compiled).dfa_size_limit(compiled);
    match jsonschema::options().offline().with_pattern_options(patterns).build(schema) {
        Ok(validator) => Some(validator),
        Err(_) => {
            tracing::info!("arguments of a tool are left to its server: its schema does not compile within its limits");
            None
        }
    }
}

/// The first rule that is broken.
pub(crate) fn check(validator: &Validator, arguments: &Value) -> Result<(), ArgumentError> {
    validator.validate(arguments).map_err(|broken| {
        let (path, why) = told(&broken);
        ArgumentError::BreaksSchema {
            path: plain_text(&path, QUOTE_CAP_CHARS),
            why: plain_text(&why, QUOTE_CAP_CHARS * 2),
        }
    })
}

/// Where, and which rule. Only the schema's own words are quoted, and names of parameters.
fn told(broken: &ValidationError<'_>) -> (String, String) {
    let here = broken.instance_path().as_str();
    let at = if here.is_empty() { "/".to_owned() } else { here.to_owned() };
    let below = |name: &str| format!("{here}/{}", name.replace('~', "~0").replace('/', "~1"));
    match broken.kind() {
        ValidationErrorKind::Required { property } => {
            (below(property.as_str().unwrap_or_default()), "is required and missing".into())
        }
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            (unexpected.first().map_or(at, |name| below(name)), "is not a parameter of this tool".into())
        }
        ValidationErrorKind::Type { kind } => (at, format!("must be {}", type_words(kind))),
        ValidationErrorKind::Enum { options } => (at, format!("must be one of {}", choices(options))),
        ValidationErrorKind::Constant { expected_value } => (at, format!("must be {}", quote(expected_value))),
        ValidationErrorKind::Minimum { limit } => (at, format!("must be at least {limit}")),
        ValidationErrorKind::Maximum { limit } => (at, format!("must be at most {limit}")),
        ValidationErrorKind::ExclusiveMinimum { limit } => (at, format!("must be more than {limit}")),
        ValidationErrorKind::ExclusiveMaximum { limit } => (at, format!("must be less than {limit}")),
        ValidationErrorKind::MinLength { limit } => (at, format!("must have at least {limit} characters")),
        ValidationErrorKind::MaxLength { limit } => (at, format!("must have at most {limit} characters")),
        ValidationErrorKind::MinItems { limit } => (at, format!("must have at least {limit} items")),
        ValidationErrorKind::MaxItems { limit } => (at, format!("must have at most {limit} items")),
        ValidationErrorKind::Pattern { pattern } => {
            (at, format!("does not match the pattern `{}`", plain_text(pattern, QUOTE_CAP_CHARS)))
        }
        ValidationErrorKind::Format { format } => {
            (at, format!("is not of the format `{}`", plain_text(format, QUOTE_CAP_CHARS)))
        }
        other => (at, format!("breaks the rule `{}`", plain_text(other.keyword(), QUOTE_CAP_CHARS))),
    }
}

fn type_words(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(one) => format!("of type {one}"),
        TypeKind::Multiple(several) => {
            let names: Vec<String> = several.iter().map(|one| one.to_string()).collect();
            format!("of type {}", names.join(" or "))
        }
    }
}

fn choices(options: &Value) -> String {
    let all = options.as_array().map(Vec::as_slice).unwrap_or_default();
    let more = if all.len() > CHOICES_NAMED { " and others" } else { "" };
    let named: Vec<String> = all.iter().take(CHOICES_NAMED).map(quote).collect();
    format!("{}{more}", named.join(", "))
}

fn quote(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    format!("`{}`", plain_text(&text, QUOTE_CAP_CHARS / 4))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn broken(schema: &Value, arguments: &Value) -> (String, String) {
        let validator = compile(schema, &Policy::default()).expect("the schema compiles");
        match check(&validator, arguments) {
            Err(ArgumentError::BreaksSchema { path, why }) => (path, why),
            other => panic!("expected a broken schema, got {other:?}"),
        }
    }

    #[test]
    fn a_broken_rule_is_named_with_its_place_and_without_the_value() {
        let schema = json!({"type": "object", "required": ["path"], "additionalProperties": false, "properties": {
            "path": {"type": "string", "maxLength": 10},
            "deep": {"type": "object", "properties": {"n": {"type": "integer", "maximum": 5}}},
            "mode": {"enum": ["dry", "wet"]}}});
        let cases = [
            (json!({}), "/path", "is required and missing"),
            (json!({"path": 1}), "/path", "must be of type string"),
            (json!({"path": "secret-secret-secret"}), "/path", "must have at most 10 characters"),
            (json!({"path": "a", "deep": {"n": 77}}), "/deep/n", "must be at most 5"),
            (json!({"path": "a", "mode": "secret"}), "/mode", "must be one of `dry`, `wet`"),
            (json!({"path": "a", "pth/x": 1}), "/pth~1x", "is not a parameter of this tool"),
        ];
        for (arguments, place, rule) in cases {
            let (path, why) = broken(&schema, &arguments);
            assert_eq!((path.as_str(), why.as_str()), (place, rule), "for {arguments}");
            assert!(!why.contains("secret"), "no value is quoted");
        }
    }

    #[test]
    fn arguments_that_are_no_object_say_where_they_stop_being_json() {
        let policy = Policy { arguments_cap_bytes: 20, ..Policy::default() };
        let broken = object_of(&Payload::new("{\"a\": }"), &policy).expect_err("not JSON");
        assert!(broken.to_string().contains("line 1, column 7"), "the place is named: {broken}");
        assert!(object_of(&Payload::new("[1]"), &policy).is_err(), "an array is no object");
        let large = object_of(&Payload::new("{\"a\": \"123456789012345\"}"), &policy);
        assert!(matches!(large, Err(ArgumentError::TooLarge { .. })), "the cap holds");
    }

    #[test]
    fn schemas_that_cannot_be_judged_here_are_left_to_the_server() {
        let policy = Policy::default();
        assert!(compile(&json!({"$ref": "https://example.org/x"}), &policy).is_none(), "nothing is fetched");
        assert!(compile(&json!({"type": "nonsense"}), &policy).is_none(), "broken schemas are left out");
        assert!(compile(&json!({"$ref": "#"}), &policy).is_none(), "circles are not followed");
        assert!(compile(&json!({"pattern": "(a+)+(?=b)"}), &policy).is_none(), "no backtracking patterns");
        assert!(compile(&json!({"pattern": r"^\p{L}{60}$"}), &policy).is_none(), "none that fills the memory");
        let many: Vec<_> = (0..5_000).map(|nth| json!({"pattern": format!("^{nth}$")})).collect();
        assert!(compile(&json!({"anyOf": many}), &policy).is_none(), "and no thousands of them");
    }
}
