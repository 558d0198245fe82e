//! What a server asks: elicitation by form or link, and requests that people do not answer.
//!
//! A question in a task is read like one that is sent by itself (protocol.md §6.2). What cannot be shown faithfully (a
//! link with hidden characters, an oversized form) becomes `Unsupported` instead of being trimmed.

use std::collections::BTreeMap;

use domain::ids::RequestKey;
use domain::policy::{Policy, plain_text};
use domain::task::input_request::Ask;
use domain::task::payload::Payload;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{JsonFields, Misread};

/// Longest method name shown of a request that we do not know. Judgement.
const METHOD_CAP_CHARS: usize = 80;

/// The method that asks a person.
pub(crate) const ELICITATION: &str = "elicitation/create";

/// Reads one question.
pub(crate) fn ask(method: &str, params: Option<&JsonFields<'_>>, policy: &Policy) -> Ask {
    match (method, params) {
        (ELICITATION, Some(params)) => elicitation(params, policy),
        (ELICITATION, None) => unsupported(method, "without parameters"),
        ("sampling/createMessage", _) => Ask::Sampling,
        ("roots/list", _) => Ask::Roots,
        (other, _) => Ask::Unsupported(plain_text(other, METHOD_CAP_CHARS)),
    }
}

/// Reads `inputRequests`: everything that is outstanding, by the server's keys.
pub(crate) fn asks(requests: &JsonFields<'_>, policy: &Policy) -> Result<BTreeMap<RequestKey, Ask>, Misread> {
    if requests.len() > policy.requests_per_task_max {
        let why = format!("asks more than {} questions at once", policy.requests_per_task_max);
        return Err(Misread::new(requests.here(), why));
    }
    let mut found = BTreeMap::new();
    for (key, raw) in requests.iter() {
        if key.len() > policy.task_id_cap_bytes {
            let why = format!("has a key longer than {} bytes", policy.task_id_cap_bytes);
            return Err(Misread::new(requests.here(), why));
        }
        let request = JsonFields::of(raw, format!("{}[…]", requests.here()))?;
        let method = request.required_text("method")?;
        let params = request.object("params")?;
        found.insert(RequestKey::new(key), ask(&method, params.as_ref(), policy));
    }
    Ok(found)
}

/// Each question as it came, by the server's keys; one that is too large for keeping is left out.
pub(crate) fn asks_raw(requests: &JsonFields<'_>, policy: &Policy) -> BTreeMap<RequestKey, Payload> {
    let cap = policy.gateway.question_raw_cap_bytes;
    let kept = requests.iter().filter(|(_, raw)| raw.get().len() <= cap);
    kept.map(|(key, raw)| (RequestKey::new(key), Payload::new(raw.get()))).collect()
}

/// What is said of a form that is more than one task may ask at once.
const TOO_LARGE: &str = "with a form that is too large";

fn elicitation(params: &JsonFields<'_>, policy: &Policy) -> Ask {
    let message = params.words("message", policy).unwrap_or_default();
    match params.text("mode").as_deref() {
        None | Some("form") => match form_schema(params.get("requestedSchema"), policy) {
            Ok(schema) => {
                let form = Ask::Form { message, schema };
                // A small text can be many values: `[0,0,0…]` takes sixteen times its length.
                if form.bytes() > policy.open_question_bytes_per_task {
                    return unsupported(ELICITATION, TOO_LARGE);
                }
                form
            }
            Err(why) => unsupported(ELICITATION, why),
        },
        Some("url") => match params.text("url") {
            Some(url) if plain_text(&url, policy.server_text_cap_chars) == url && url::Url::parse(&url).is_ok() => {
                Ask::Visit { message, url, elicitation: params.text("elicitationId") }
            }
            Some(_) => unsupported(ELICITATION, "with a link that cannot be shown"),
            None => unsupported(ELICITATION, "without a link"),
        },
        Some(_) => unsupported(ELICITATION, "of an unknown mode"),
    }
}

/// The form as it came. A form without a schema asks for nothing but a yes or no.
fn form_schema(raw: Option<&RawValue>, policy: &Policy) -> Result<Value, &'static str> {
    let Some(raw) = raw else { return Ok(json!({"type": "object", "properties": {}})) };
    if raw.get().len() > policy.schema_cap_bytes {
        return Err(TOO_LARGE);
    }
    match serde_json::from_str(raw.get()) {
        Ok(Value::Object(schema)) => Ok(Value::Object(schema)),
        Ok(_) => Err("with a form that is not an object"),
        // It is JSON by its form: what fails is a number beyond all that can be stored, or a broken character.
        Err(_) => Err("with a form that has a number or a text that cannot be read"),
    }
}

fn unsupported(method: &str, what: &str) -> Ask {
    Ask::Unsupported(format!("{method} {what}"))
}
