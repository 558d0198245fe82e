//! Asks a person at the terminal while a command waits (ruling 19).
//!
//! Shows who asks and quotes the question, asks field by field with the server's defaults and choices, and sends one of
//! the three outcomes. Where nobody can be asked, the question goes to standard error and the command ends with 6. The
//! host of a page is shown apart, and the page opens only on consent.

use api::calls::inbox::answer::{AnswerChoice, AnswerGiven, AnswerRequest};
use api::dto::{RequestDto, TaskDto};
use api::{ApiError, Code};
use domain::task::input_request::form::{self, Field, FieldKind};
use serde_json::{Map, Value, json};
use url::Url;

use crate::app::core_client::CoreClient;
use crate::cli::inbox;
use crate::cli::input::prompt;
use crate::cli::output::screen::Screen;
use crate::cli::output::sentences::{one_line, quoted};
use crate::cli::output::web_address;

/// What became of an open question.
pub(crate) enum QuestionOutcome {
    /// There was none.
    Nothing,
    /// It was answered, one way or another.
    Answered,
    /// It stays open; the error says how to answer it.
    Left(ApiError),
}

/// Asks the first open question of a task, if there is one.
pub(crate) async fn open_question(
    core: &CoreClient,
    task: &TaskDto,
    screen: &Screen,
) -> Result<QuestionOutcome, ApiError> {
    let Some(request) = task.requests.iter().find(|request| request.is_open()) else {
        return Ok(QuestionOutcome::Nothing);
    };
    if !screen.can_ask() {
        if !screen.is_json() {
            screen.note(&format!("{} asks:\n{}", task.server, quoted(&request.message)));
            if let Some(url) = &request.url {
                screen.note(&web_address::page(url));
            }
        }
        return Ok(QuestionOutcome::Left(left_open(task, request)));
    }
    let Some((action, content)) = dialogue(task, request, screen).await? else {
        return Ok(QuestionOutcome::Left(left_open(task, request)));
    };
    let answer = AnswerRequest {
        id: task.id.clone(),
        key: Some(request.key.clone()),
        action,
        content: raw(content)?,
        hold: false,
    };
    match core.request::<AnswerGiven>("tasks.answer", &answer).await {
        Ok(_) => Ok(QuestionOutcome::Answered),
        // Somebody else was faster, or the server took it back: that is not this command's failure.
        Err(error) if error.code == Code::Refused => {
            screen.note(&error.message);
            Ok(QuestionOutcome::Answered)
        }
        Err(error) => Err(error),
    }
}

fn left_open(task: &TaskDto, request: &RequestDto) -> ApiError {
    ApiError::new(
        Code::NeedsInput,
        format!("task `{}` waits for an answer to `{}`", task.id, one_line(&request.key)),
        format!("Answer it with `{}`, or `--decline`, or `--dismiss`.", inbox::answer_command(&task.id, request)),
    )
}

fn raw(content: Option<Value>) -> Result<Option<Box<serde_json::value::RawValue>>, ApiError> {
    content
        .map(|value| serde_json::value::to_raw_value(&value))
        .transpose()
        .map_err(|error| ApiError::unwritable(&error))
}

/// The whole dialogue; `None` when the person leaves it open.
async fn dialogue(
    task: &TaskDto,
    request: &RequestDto,
    screen: &Screen,
) -> Result<Option<(AnswerChoice, Option<Value>)>, ApiError> {
    let tool = task.tool.as_deref().map(|tool| format!(" ({})", one_line(tool))).unwrap_or_default();
    screen.note(&format!("\n{}{tool} asks:\n{}", task.server, quoted(&request.message)));
    match (&request.url, &request.schema) {
        (Some(url), _) => visit(task, url, screen).await,
        (None, Some(schema)) => {
            screen.note(&format!("Enter only what {} may know.", task.server));
            for field in &request.secret_fields {
                screen.warning(&format!(
                    "field `{}` looks like a secret. Servers must not ask for secrets in a form",
                    one_line(field)
                ));
            }
            ask_fields(schema, screen).await
        }
        (None, None) => Ok(None),
    }
}

async fn visit(task: &TaskDto, url: &str, screen: &Screen) -> Result<Option<(AnswerChoice, Option<Value>)>, ApiError> {
    let parsed = Url::parse(url).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    let Some((parsed, host)) = parsed.and_then(|url| web_address::readable_host(&url).map(|host| (url, host))) else {
        screen.warning(&format!("{} names a page that is not a web address; it is not opened", task.server));
        screen.note(&web_address::page(url));
        return Ok(None);
    };
    screen.note(&format!("  host  {host}\n  page  {}", crate::cli::output::sentences::shell_word(parsed.as_str())));
    match choice("Open it in your browser? [o]pen, [d]ecline, dis[m]iss, [l]eave open: ", &["o", "open"], "l", screen)
        .await?
    {
        Picked::Yes => {
            open_page(&parsed, screen);
            Ok(Some((AnswerChoice::Accept, None)))
        }
        Picked::Refusal(choice) => Ok(Some((choice, None))),
        Picked::Leave => Ok(None),
    }
}

async fn ask_fields(schema: &Value, screen: &Screen) -> Result<Option<(AnswerChoice, Option<Value>)>, ApiError> {
    match choice("[a]nswer, [d]ecline, dis[m]iss, [l]eave open: ", &["a", "answer"], "a", screen).await? {
        Picked::Yes => {}
        Picked::Refusal(choice) => return Ok(Some((choice, None))),
        Picked::Leave => return Ok(None),
    }
    let fields = form::fields(schema);
    let mut content = Map::new();
    for (number, field) in fields.iter().enumerate() {
        let Some(answer) = ask_field(number.saturating_add(1), fields.len(), field, screen).await? else {
            return Ok(None);
        };
        if let Some(value) = answer {
            content.insert(field.name.clone(), value);
        }
    }
    Ok(Some((AnswerChoice::Accept, Some(Value::Object(content)))))
}

/// What a person picked.
#[derive(Debug, PartialEq)]
enum Picked {
    Yes,
    Refusal(AnswerChoice),
    Leave,
}

/// The choice that a word means; `None` if it means none here.
fn picked(word: &str, yes: &[&str]) -> Option<Picked> {
    match word {
        "y" | "yes" => Some(Picked::Yes),
        word if yes.contains(&word) => Some(Picked::Yes),
        "d" | "decline" | "n" | "no" => Some(Picked::Refusal(AnswerChoice::Decline)),
        "m" | "dismiss" => Some(Picked::Refusal(AnswerChoice::Dismiss)),
        "l" | "leave" | "leave open" => Some(Picked::Leave),
        _ => None,
    }
}

/// Asks until one of the offered words is typed; the end of input leaves the question open.
async fn choice(prompt: &str, yes: &[&str], fallback: &str, screen: &Screen) -> Result<Picked, ApiError> {
    loop {
        let Some(typed) = prompt::line(prompt).await? else { return Ok(Picked::Leave) };
        let word = typed.trim().to_lowercase();
        match picked(if word.is_empty() { fallback } else { &word }, yes) {
            Some(picked) => return Ok(picked),
            None => screen.note("  type one of the letters in brackets"),
        }
    }
}

/// Asks until the value fits. `None` when input ended; `Some(None)` when an optional field is left out.
async fn ask_field(
    number: usize,
    of: usize,
    field: &Field,
    screen: &Screen,
) -> Result<Option<Option<Value>>, ApiError> {
    screen.note(&format!("\n{number}/{of}  {}", one_line(&field.title)));
    if let Some(words) = &field.description {
        screen.note(&quoted(words));
    }
    let choices = match &field.kind {
        FieldKind::One(of) | FieldKind::Many { of, .. } => of.as_slice(),
        FieldKind::Text { .. } | FieldKind::Number { .. } | FieldKind::YesNo | FieldKind::Json => &[],
    };
    for (at, choice) in choices.iter().enumerate() {
        screen.note(&format!("  {}. {}", at.saturating_add(1), one_line(&choice.title)));
    }
    let prompt = format!("{}{}: ", expected(field), suggested(field));
    loop {
        let Some(typed) = prompt::line(&prompt).await? else { return Ok(None) };
        match parse_field(field, typed.trim()) {
            Ok(value) => return Ok(Some(value)),
            Err(why) => screen.note(&format!("  {why}")),
        }
    }
}

fn expected(field: &Field) -> &'static str {
    match &field.kind {
        FieldKind::Text { format, .. } => match format.as_deref() {
            Some("email") => "e-mail address",
            Some("uri") => "URL",
            Some("date") => "date such as 2026-11-21",
            Some("date-time") => "time such as 2026-11-21T03:25:00Z",
            Some(_) | None => "text",
        },
        FieldKind::Number { whole: true, .. } => "whole number",
        FieldKind::Number { whole: false, .. } => "number",
        FieldKind::YesNo => "yes or no",
        FieldKind::One(_) => "number of your choice",
        FieldKind::Many { .. } => "numbers of your choices, with commas",
        FieldKind::Json => "JSON",
    }
}

fn suggested(field: &Field) -> String {
    match (&field.default, field.required) {
        (Some(value), _) => {
            let shown = match (&field.kind, value) {
                (FieldKind::One(of), value) => choice_title(of, value),
                (FieldKind::Many { of, .. }, Value::Array(values)) => {
                    values.iter().map(|value| choice_title(of, value)).collect::<Vec<_>>().join(", ")
                }
                (FieldKind::YesNo, Value::Bool(yes)) => if *yes { "yes" } else { "no" }.to_owned(),
                (_, Value::String(text)) => text.clone(),
                (_, value) => value.to_string(),
            };
            format!(" (Enter for {})", one_line(&shown))
        }
        (None, true) => String::new(),
        (None, false) => " (Enter to skip)".into(),
    }
}

/// A choice as people read it.
fn choice_title(of: &[form::FieldChoice], value: &Value) -> String {
    of.iter().find(|choice| &choice.value == value).map_or_else(|| value.to_string(), |choice| choice.title.clone())
}

/// What was typed, as the value of the field; `None` leaves it out.
fn parse_field(field: &Field, typed: &str) -> Result<Option<Value>, String> {
    if typed.is_empty() {
        return match (&field.default, field.required) {
            (Some(value), _) => Ok(Some(value.clone())),
            (None, false) => Ok(None),
            (None, true) => Err("this field is required".into()),
        };
    }
    if field.nullable && typed == "null" {
        return Ok(Some(Value::Null));
    }
    let picked = |of: &[form::FieldChoice], word: &str| -> Result<Value, String> {
        let by_number = word.trim().parse::<usize>().ok().and_then(|n| n.checked_sub(1)).and_then(|at| of.get(at));
        let by_title = || {
            of.iter()
                .find(|choice| choice.title.eq_ignore_ascii_case(word.trim()) || choice.value == json!(word.trim()))
        };
        by_number
            .or_else(by_title)
            .map(|choice| choice.value.clone())
            .ok_or_else(|| "type the number of a choice".into())
    };
    let value = match &field.kind {
        FieldKind::Text { .. } => json!(typed),
        FieldKind::Number { whole: true, .. } => {
            json!(typed.parse::<i64>().map_err(|_| "type a whole number".to_owned())?)
        }
        FieldKind::Number { whole: false, .. } => {
            let number: f64 = typed.parse().map_err(|_| "type a number".to_owned())?;
            serde_json::Number::from_f64(number).map(Value::Number).ok_or("type a number")?
        }
        FieldKind::YesNo => match typed.to_lowercase().as_str() {
            "y" | "yes" | "true" => json!(true),
            "n" | "no" | "false" => json!(false),
            _ => return Err("type yes or no".into()),
        },
        FieldKind::One(of) => picked(of, typed)?,
        FieldKind::Many { of, .. } => {
            Value::Array(typed.split(',').map(|word| picked(of, word)).collect::<Result<_, _>>()?)
        }
        FieldKind::Json => serde_json::from_str(typed).map_err(|error| format!("this is not JSON: {error}"))?,
    };
    form::check_field(field, &value).map_err(|error| error.to_string())?;
    Ok(Some(value))
}

/// Opens a page with the desktop's opener. If there is none, the address is on the screen already.
fn open_page(url: &Url, screen: &Screen) {
    use std::process::{Command, Stdio};
    let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let started =
        Command::new(opener).arg(url.as_str()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    if started.is_err() {
        screen.note("No browser could be started; open the page above by hand.");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(rule: Value, required: bool) -> Field {
        let required = if required { json!(["f"]) } else { json!([]) };
        form::fields(&json!({"properties": {"f": rule}, "required": required})).remove(0)
    }

    #[test]
    fn what_is_typed_becomes_a_value_of_the_right_kind() {
        let number = field(json!({"type": "integer", "minimum": 2}), true);
        assert_eq!(parse_field(&number, "7"), Ok(Some(json!(7))));
        assert_eq!(parse_field(&number, "1"), Err("field `f` must be 2 or more".into()));
        assert_eq!(parse_field(&number, "many"), Err("type a whole number".into()));
        assert_eq!(parse_field(&number, ""), Err("this field is required".into()));
        let choice = field(json!({"enum": ["r", "g"], "enumNames": ["Red", "Green"]}), true);
        assert_eq!(parse_field(&choice, "2"), Ok(Some(json!("g"))));
        assert_eq!(parse_field(&choice, "red"), Ok(Some(json!("r"))));
        assert_eq!(parse_field(&choice, "3"), Err("type the number of a choice".into()));
        let many = field(json!({"type": "array", "items": {"enum": ["a", "b", "c"]}, "maxItems": 2}), false);
        assert_eq!(parse_field(&many, "1, 3"), Ok(Some(json!(["a", "c"]))));
        assert!(parse_field(&many, "1,2,3").is_err(), "the form's own limit holds");
        assert_eq!(parse_field(&many, ""), Ok(None), "an optional field may be left out");
        let yes = field(json!({"type": "boolean", "default": false}), true);
        assert_eq!(parse_field(&yes, ""), Ok(Some(json!(false))), "Enter takes the server's default");
        let broken = field(json!({"type": "integer", "maximum": 3, "default": 9}), true);
        assert!(parse_field(&broken, "").is_err(), "a default that breaks its own rule is not sent");
    }

    #[test]
    fn an_unknown_letter_is_no_choice_and_is_asked_again() {
        assert_eq!(picked("x", &["o", "open"]), None, "nothing happens by a slip of the finger");
        assert_eq!(picked("a", &["o", "open"]), None, "a letter of another question is unknown here");
        assert_eq!(picked("o", &["o", "open"]), Some(Picked::Yes), "the letter offered");
        assert_eq!(picked("m", &["o"]), Some(Picked::Refusal(AnswerChoice::Dismiss)), "a refusal");
        assert_eq!(picked("l", &["o"]), Some(Picked::Leave), "it stays open");
    }
}
