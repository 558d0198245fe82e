//! Forms that servers really send, and answers that do and do not fit them.

use serde_json::{Value, json};

use super::{Field, FieldKind, check, fields};

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "title": "Your name", "minLength": 2, "maxLength": 5},
            "mail": {"type": "string", "format": "email"},
            "day": {"type": "string", "format": "date"},
            "count": {"type": "integer", "minimum": 1, "maximum": 9, "default": 3},
            "share": {"type": "number"},
            "sure": {"type": "boolean"},
            "colour": {"type": "string", "enum": ["r", "g"], "enumNames": ["Red", "Green"]},
            "size": {"oneOf": [{"const": "s", "title": "Small"}, {"const": "l"}]},
            "extras": {"type": "array", "items": {"anyOf": [{"const": "a"}, {"const": "b"}]}, "minItems": 1},
            "odd": {"oneOf": [{"type": "object"}]},
            "note": {"type": ["string", "null"], "minLength": 2},
            "ratio": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
            "level": {"anyOf": [{"type": "integer", "maximum": 3}, {"type": "null"}]},
            "page": {"type": "string", "format": "url"}
        },
        "required": ["name"]
    })
}

#[track_caller]
fn answer(content: Value, expected: Result<(), &str>) {
    let found = check(&schema(), &content).map_err(|error| error.to_string());
    assert_eq!(found, expected.map_err(str::to_owned), "for {content}");
}

#[test]
fn null_is_an_answer_where_the_form_says_so() {
    answer(json!({"name": "Dana", "note": null}), Ok(()));
    answer(json!({"name": null}), Err("field `name` must be text"));
}

#[test]
fn bounds_that_exclude_and_branches_with_null_are_rules_as_well() {
    answer(json!({"name": "Dana", "ratio": 0.5, "level": null, "page": "https://example.org"}), Ok(()));
    answer(json!({"name": "Dana", "ratio": 0}), Err("field `ratio` must be more than 0"));
    answer(json!({"name": "Dana", "ratio": 1}), Err("field `ratio` must be less than 1"));
    answer(json!({"name": "Dana", "level": 4}), Err("field `level` must be 3 or less"));
    answer(json!({"name": "Dana", "page": "nowhere"}), Err("field `page` must be a URL with its scheme"));
}

#[test]
fn an_answer_that_fits_its_form_passes() {
    answer(json!({"name": "Dana"}), Ok(()));
    answer(
        json!({"name": "Dana", "mail": "d@x.org", "day": "2026-11-21", "count": 9, "share": 0.5, "sure": true,
               "colour": "g", "size": "l", "extras": ["b"], "odd": {"any": 1}}),
        Ok(()),
    );
}

#[test]
fn an_answer_that_does_not_fit_names_the_field_and_the_rule() {
    answer(json!([]), Err("the answer must be one JSON object with a value for each field"));
    answer(json!({}), Err("field `name` is required"));
    answer(json!({"name": "D"}), Err("field `name` must have at least 2 characters"));
    answer(json!({"name": "Daniela"}), Err("field `name` must have at most 5 characters"));
    answer(json!({"name": 7}), Err("field `name` must be text"));
    answer(json!({"name": "Dana", "mail": "nobody"}), Err("field `mail` must be an e-mail address"));
    answer(json!({"name": "Dana", "day": "2026-13-01"}), Err("field `day` must be a date such as `2026-11-21`"));
    answer(json!({"name": "Dana", "count": 0}), Err("field `count` must be 1 or more"));
    answer(json!({"name": "Dana", "count": 1.5}), Err("field `count` must be a whole number"));
    answer(json!({"name": "Dana", "sure": "yes"}), Err("field `sure` must be `true` or `false`"));
    answer(json!({"name": "Dana", "colour": "b"}), Err("field `colour` must be one of `r`, `g`"));
    answer(json!({"name": "Dana", "extras": []}), Err("field `extras` must have at least 1 of its choices"));
    answer(json!({"name": "Dana", "extras": ["c"]}), Err("field `extras` may only hold `a`, `b`"));
    answer(json!({"name": "Dana", "nmae": "x"}), Err("the form has no field `nmae`"));
}

#[test]
fn a_form_shows_titles_defaults_and_falls_back_to_json() {
    let all = fields(&schema());
    let of = |name: &str| -> &Field { all.iter().find(|field| field.name == name).expect("the field") };
    assert_eq!(of("name").title, "Your name");
    assert!(of("name").required, "it stands in `required`");
    assert_eq!(of("count").default, Some(json!(3)));
    assert!(matches!(&of("colour").kind, FieldKind::One(of) if of[0].title == "Red"), "enumNames are titles");
    assert!(
        matches!(&of("size").kind, FieldKind::One(of) if of[1].title == "l"),
        "a choice without title shows itself"
    );
    assert_eq!(of("odd").kind, FieldKind::Json, "branches that are no constants are plain JSON");
    let names: Vec<&str> = all.iter().map(|field| field.name.as_str()).collect();
    assert_eq!(names.first(), Some(&"name"), "fields keep the server's order");
}

#[test]
fn a_suggestion_that_does_not_fit_its_field_is_none() {
    let default = |rule: Value| fields(&json!({"properties": {"f": rule}})).remove(0).default;
    assert_eq!(default(json!({"type": "integer", "default": "foo"})), None, "another type");
    assert_eq!(default(json!({"type": "integer", "maximum": 3, "default": 9})), None, "out of its bounds");
    assert_eq!(default(json!({"type": "string", "enum": ["a"], "default": "b"})), None, "no choice of it");
    assert_eq!(default(json!({"type": "boolean", "default": false})), Some(json!(false)));
}

#[test]
fn keywords_that_the_protocol_does_not_have_are_not_checked() {
    let rules = json!({"properties": {
        "code": {"type": "string", "pattern": "^[0-9]+$"},
        "tags": {"type": "array", "uniqueItems": true, "items": {"enum": ["a", "b"]}},
    }});
    assert_eq!(check(&rules, &json!({"code": "letters", "tags": ["a", "a"]})), Ok(()), "the server judges them");
}

#[test]
fn no_schema_makes_the_reader_fail() {
    for strange in [json!(null), json!([]), json!({"properties": 7}), json!({"properties": {"a": null}})] {
        let _ = fields(&strange);
        assert_eq!(check(&strange, &json!({"a": 1})), Ok(()), "nothing is known, so nothing is refused: {strange}");
    }
}

#[test]
fn a_log_gets_the_field_and_neither_the_rule_nor_the_value() {
    let words = |answer: Value| check(&schema(), &answer).expect_err("it does not fit").field_words();
    assert_eq!(words(json!([])), "it is no JSON object");
    assert_eq!(words(json!({"name": "Ann", "sure": true, "strange\n": 1})), "the form has no field `strange`");
    assert_eq!(words(json!({"name": 7, "sure": true})), "field `name` does not fit");
}
