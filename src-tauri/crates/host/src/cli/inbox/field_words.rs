//! What a field of a form takes, in words, for a person who writes the answer as JSON.
//!
//! It only describes: answers are checked by `domain::task::input_request::form`. `question_dialogue.rs` asks field by
//! field at the terminal, and the window shows fields as controls.

use domain::task::input_request::form::{Field, FieldChoice, FieldKind};

use crate::cli::output::sentences::one_line;

/// Choices that are listed. Judgement: about a screen.
const CHOICES_SHOWN: usize = 20;

/// What this field takes, and what its server suggests.
pub(crate) fn takes(field: &Field) -> String {
    let null = if field.nullable { ", or null" } else { "" };
    let suggested = field.default.as_ref().map(|value| format!("; suggested: {}", one_line(&value.to_string())));
    format!("{}{null}{}", kind(&field.kind), suggested.unwrap_or_default())
}

fn kind(kind: &FieldKind) -> String {
    match kind {
        FieldKind::Text { min, max, format } => {
            let what = match format.as_deref() {
                Some("email") => "an e-mail address",
                Some("uri" | "url") => "a URL",
                Some("date") => "a date such as \"2026-11-21\"",
                Some("date-time") => "a time such as \"2026-11-21T03:25:00Z\"",
                Some(_) | None => "text",
            };
            match (min.filter(|min| *min > 0), max) {
                (Some(min), Some(max)) => format!("{what} of {min} to {max} characters"),
                (Some(min), None) => format!("{what} of at least {min} characters"),
                (None, Some(max)) => format!("{what} of at most {max} characters"),
                (None, None) => what.to_owned(),
            }
        }
        FieldKind::Number { whole, min, max, above, below } => {
            let what = if *whole { "a whole number" } else { "a number" };
            let bounds = [
                min.map(|min| format!("{min} or more")),
                above.map(|above| format!("more than {above}")),
                max.map(|max| format!("{max} or less")),
                below.map(|below| format!("less than {below}")),
            ];
            std::iter::once(what.to_owned()).chain(bounds.into_iter().flatten()).collect::<Vec<_>>().join(", ")
        }
        FieldKind::YesNo => "true or false".to_owned(),
        FieldKind::One(of) => format!("one of {}", choices(of)),
        FieldKind::Many { of, min, max } => {
            let many = match (min.filter(|min| *min > 0), max) {
                (Some(min), Some(max)) => format!("{min} to {max}"),
                (Some(min), None) => format!("at least {min}"),
                (None, Some(max)) => format!("at most {max}"),
                (None, None) => "any".to_owned(),
            };
            format!("a list with {many} of {}", choices(of))
        }
        FieldKind::Json => "any JSON value".to_owned(),
    }
}

fn choices(of: &[FieldChoice]) -> String {
    let one = |choice: &FieldChoice| {
        let value = one_line(&choice.value.to_string());
        let is_itself = choice.value.as_str() == Some(choice.title.as_str());
        if is_itself { value } else { format!("{value} ({})", one_line(&choice.title)) }
    };
    let shown: Vec<String> = of.iter().take(CHOICES_SHOWN).map(one).collect();
    let more = of.len().saturating_sub(shown.len());
    let rest = if more > 0 { format!(" and {more} more, which `--json` lists") } else { String::new() };
    format!("{}{rest}", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use domain::task::input_request::form;
    use serde_json::{Value, json};

    use super::*;

    fn words(property: &Value) -> String {
        let schema = json!({"type": "object", "properties": {"a": property}});
        form::fields(&schema).first().map(takes).expect("there is a field")
    }

    #[test]
    fn a_field_says_what_may_be_answered() {
        let colours = json!({"type": "string", "oneOf": [
            {"const": "r", "title": "Red"}, {"const": "g", "title": "Green"},
        ]});
        assert_eq!(words(&colours), r#"one of "r" (Red), "g" (Green)"#);
        assert_eq!(words(&json!({"type": "string", "enum": ["on", "off"]})), r#"one of "on", "off""#);
        let number = json!({"type": "integer", "minimum": 3, "maximum": 9, "default": 5});
        assert_eq!(words(&number), "a whole number, 3 or more, 9 or less; suggested: 5");
        assert_eq!(words(&json!({"type": "string", "minLength": 2, "maxLength": 8})), "text of 2 to 8 characters");
        assert_eq!(words(&json!({"type": "string", "format": "email"})), "an e-mail address");
        assert_eq!(words(&json!({"type": "boolean"})), "true or false");
        let some = json!({"type": "array", "maxItems": 2, "items": {"type": "string", "enum": ["p", "q"]}});
        assert_eq!(words(&some), r#"a list with at most 2 of "p", "q""#);
    }

    #[test]
    fn a_field_with_more_choices_than_a_screen_says_how_many_are_left_out() {
        let many: Vec<String> = (0..500).map(|number| format!("choice {number}")).collect();
        let said = words(&json!({"type": "string", "enum": many}));
        assert!(said.ends_with("and 480 more, which `--json` lists") && said.contains("choice 19"), "{said}");
    }
}
