//! Checks an answer against the form it answers.
//!
//! An error names the field and the rule; it never repeats the value, which may be private.

use jiff::civil::Date;
use serde_json::Value;

use super::{Field, FieldKind, fields};

/// An answer that does not fit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FormError {
    /// Not an object at all.
    #[error("the answer must be one JSON object with a value for each field")]
    NotAnObject,
    /// A required field is not there.
    #[error("field `{field}` is required")]
    Missing { field: String },
    /// A value breaks a rule.
    #[error("field `{field}` {rule}")]
    Breaks {
        field: String,
        /// The rule, in words.
        rule: String,
    },
    /// The form has no such field.
    #[error("the form has no field `{field}`")]
    Unknown {
        /// What was given.
        field: String,
        /// The fields there are.
        known: Vec<String>,
    },
}

/// Characters of a field's name that are repeated. Judgement: longer names are no names.
const NAME_SHOWN: usize = 80;

impl FormError {
    /// What does not fit, for logs: the field by its name, without the rule and its choices.
    #[must_use]
    pub fn field_words(&self) -> String {
        let named = |field: &str| field.chars().filter(|c| !c.is_control()).take(NAME_SHOWN).collect::<String>();
        match self {
            Self::NotAnObject => "it is no JSON object".to_owned(),
            Self::Missing { field } => format!("field `{}` is missing", named(field)),
            Self::Breaks { field, .. } => format!("field `{}` does not fit", named(field)),
            Self::Unknown { field, .. } => format!("the form has no field `{}`", named(field)),
        }
    }
}

/// Checks the content of an accepted form.
///
/// # Errors
/// Names the first field that does not fit and the rule it breaks.
pub fn check(schema: &Value, content: &Value) -> Result<(), FormError> {
    let given = content.as_object().ok_or(FormError::NotAnObject)?;
    let known = fields(schema);
    for field in &known {
        match given.get(&field.name) {
            Some(value) => check_field(field, value)?,
            None if field.required => return Err(FormError::Missing { field: field.name.clone() }),
            None => {}
        }
    }
    // A schema without properties says nothing about fields: then every object fits.
    let has_fields = schema.get("properties").is_some_and(Value::is_object);
    match given.keys().find(|name| has_fields && known.iter().all(|field| &field.name != *name)) {
        Some(stranger) => Err(FormError::Unknown {
            field: stranger.chars().take(NAME_SHOWN).collect(),
            known: known.into_iter().map(|field| field.name).collect(),
        }),
        None => Ok(()),
    }
}

/// Checks one value.
///
/// # Errors
/// Names the rule it breaks.
pub fn check_field(field: &Field, value: &Value) -> Result<(), FormError> {
    if field.nullable && value.is_null() {
        return Ok(());
    }
    match broken_rule(&field.kind, value) {
        None => Ok(()),
        Some(rule) => Err(FormError::Breaks { field: field.name.clone(), rule }),
    }
}

fn broken_rule(kind: &FieldKind, value: &Value) -> Option<String> {
    match kind {
        FieldKind::Text { min, max, format } => {
            let Some(text) = value.as_str() else { return Some("must be text".into()) };
            let length = u64::try_from(text.chars().count()).unwrap_or(u64::MAX);
            if let Some(min) = min.filter(|min| length < *min) {
                return Some(format!("must have at least {min} characters"));
            }
            if let Some(max) = max.filter(|max| length > *max) {
                return Some(format!("must have at most {max} characters"));
            }
            format.as_deref().and_then(|format| broken_format(format, text))
        }
        FieldKind::Number { whole, min, max, above, below } => {
            let Some(number) = value.as_f64() else { return Some("must be a number".into()) };
            if *whole && number.fract() != 0.0 {
                return Some("must be a whole number".into());
            }
            if let Some(min) = min.filter(|min| number < *min) {
                return Some(format!("must be {min} or more"));
            }
            if let Some(max) = max.filter(|max| number > *max) {
                return Some(format!("must be {max} or less"));
            }
            if let Some(above) = above.filter(|above| number <= *above) {
                return Some(format!("must be more than {above}"));
            }
            below.filter(|below| number >= *below).map(|below| format!("must be less than {below}"))
        }
        FieldKind::YesNo => (!value.is_boolean()).then(|| "must be `true` or `false`".into()),
        FieldKind::One(of) => {
            (!of.iter().any(|choice| &choice.value == value)).then(|| format!("must be one of {}", listed(of)))
        }
        FieldKind::Many { of, min, max } => {
            let Some(picked) = value.as_array() else { return Some("must be a list".into()) };
            let count = u64::try_from(picked.len()).unwrap_or(u64::MAX);
            if picked.iter().any(|one| !of.iter().any(|choice| &choice.value == one)) {
                return Some(format!("may only hold {}", listed(of)));
            }
            if let Some(min) = min.filter(|min| count < *min) {
                return Some(format!("must have at least {min} of its choices"));
            }
            max.filter(|max| count > *max).map(|max| format!("must have at most {max} of its choices"))
        }
        FieldKind::Json => None,
    }
}

/// The choices, the first ten of them.
fn listed(of: &[super::FieldChoice]) -> String {
    /// Enough to find the right one; the form shows all. Judgement.
    const SHOWN: usize = 10;
    let mut words: Vec<String> = of
        .iter()
        .take(SHOWN)
        .map(|choice| format!("`{}`", choice.value.as_str().map_or_else(|| choice.value.to_string(), str::to_owned)))
        .collect();
    if of.len() > SHOWN {
        words.push("…".into());
    }
    words.join(", ")
}

fn broken_format(format: &str, text: &str) -> Option<String> {
    let (fits, rule) = match format {
        "email" => (is_email(text), "must be an e-mail address"),
        "uri" | "url" => (is_uri(text), "must be a URL with its scheme"),
        "date" => (text.parse::<Date>().is_ok() && text.len() == 10, "must be a date such as `2026-11-21`"),
        "date-time" => {
            (text.parse::<jiff::Timestamp>().is_ok(), "must be a time with its zone such as `2026-11-21T03:25:00Z`")
        }
        _ => (true, ""),
    };
    (!fits).then(|| rule.to_owned())
}

fn is_email(text: &str) -> bool {
    match text.rsplit_once('@') {
        Some((user, host)) => {
            !user.is_empty() && !host.is_empty() && !text.contains(char::is_whitespace) && !host.ends_with('.')
        }
        None => false,
    }
}

fn is_uri(text: &str) -> bool {
    match text.split_once(':') {
        Some((scheme, rest)) => {
            scheme.chars().next().is_some_and(|first| first.is_ascii_alphabetic())
                && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
                && !rest.is_empty()
                && !text.contains(char::is_whitespace)
        }
        None => false,
    }
}
