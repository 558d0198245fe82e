//! One question of a task as JSON. Its key, its age and the word of its state have columns of their own.
//!
//! The words and address a server asks with are private, so the body is sealed. Answers are payloads, not here.

use domain::task::decider::Decider;
use domain::ids::RequestKey;
use domain::task::input_request::{AnswerAction, Ask, AskDoor, InputRequest, RecordedAnswer, RequestState};
use domain::time::Timestamp;
use serde_json::{Value, json};

use super::contact::{delivery, read_delivery};
use super::{ENCODING, Fields, Flaw, Read, maybe_time, time};

fn ask(ask: &Ask) -> Value {
    match ask {
        Ask::Form { message, schema } => json!({ "is": "form", "message": message, "schema": schema }),
        Ask::Visit { message, url, elicitation } => {
            json!({ "is": "visit", "message": message, "url": url, "elicitation": elicitation })
        }
        Ask::Sampling => json!({ "is": "sampling" }),
        Ask::Roots => json!({ "is": "roots" }),
        Ask::Unsupported(method) => json!({ "is": "unsupported", "method": method }),
    }
}

fn read_ask(fields: Fields<'_>) -> Read<Ask> {
    match fields.text("is")? {
        "form" => Ok(Ask::Form { message: fields.text("message")?.into(), schema: fields.raw("schema")?.clone() }),
        "visit" => Ok(Ask::Visit {
            message: fields.text("message")?.into(),
            url: fields.text("url")?.into(),
            elicitation: fields.maybe_text("elicitation")?.map(Into::into),
        }),
        "sampling" => Ok(Ask::Sampling),
        "roots" => Ok(Ask::Roots),
        "unsupported" => Ok(Ask::Unsupported(fields.text("method")?.into())),
        other => Err(Flaw::word("is", other)),
    }
}

fn door(door: &AskDoor) -> Value {
    match door {
        AskDoor::Listed { key } => json!({ "is": "listed", "key": key }),
        AskDoor::Round { round, key } => json!({ "is": "round", "round": round, "key": key }),
        AskDoor::Live { connection, token, digest } => {
            json!({ "is": "live", "connection": connection.to_string(), "token": token, "digest": digest })
        }
    }
}

fn read_door(fields: Fields<'_>) -> Read<AskDoor> {
    match fields.text("is")? {
        "listed" => Ok(AskDoor::Listed { key: fields.text("key")?.into() }),
        "round" => Ok(AskDoor::Round { round: fields.u32("round")?, key: fields.text("key")?.into() }),
        "live" => Ok(AskDoor::Live {
            connection: fields.parsed("connection")?,
            token: fields.text("token")?.into(),
            digest: fields.text("digest")?.into(),
        }),
        other => Err(Flaw::word("is", other)),
    }
}

fn answered(word: &str, answered: &RecordedAnswer) -> Value {
    let RecordedAnswer { by, at, action, not_before, delivery: way } = answered;
    json!({
        "is": word,
        "by": by.to_string(),
        "at": time(*at),
        "action": action.word(),
        "notBefore": maybe_time(*not_before),
        "delivery": delivery(way),
    })
}

fn read_answered(fields: Fields<'_>) -> Read<RecordedAnswer> {
    let action = fields.text("action")?;
    Ok(RecordedAnswer {
        by: Decider::from_text(fields.text("by")?),
        at: fields.time("at")?,
        action: AnswerAction::from_word(action).ok_or_else(|| Flaw::word("action", action))?,
        not_before: fields.maybe_time("notBefore")?,
        delivery: fields.inner("delivery", read_delivery)?,
    })
}

fn state(state: &RequestState) -> Value {
    match state {
        RequestState::Open => json!({ "is": "open" }),
        RequestState::Answered(answer) => answered("answered", answer),
        RequestState::Confirmed(answer) => answered("confirmed", answer),
        RequestState::Withdrawn { at, why } => json!({ "is": "withdrawn", "at": time(*at), "why": why }),
    }
}

fn read_state(fields: Fields<'_>) -> Read<RequestState> {
    match fields.text("is")? {
        "open" => Ok(RequestState::Open),
        "answered" => read_answered(fields).map(RequestState::Answered),
        "confirmed" => read_answered(fields).map(RequestState::Confirmed),
        "withdrawn" => Ok(RequestState::Withdrawn { at: fields.time("at")?, why: fields.text("why")?.into() }),
        other => Err(Flaw::word("is", other)),
    }
}

/// Writes the body of a question.
pub(crate) fn body(request: &InputRequest) -> Value {
    let InputRequest { key: _, ask: asked, door: came, opened: _, state: now } = request;
    json!({ "v": ENCODING, "ask": ask(asked), "door": door(came), "state": state(now) })
}

/// Reads a question from its columns and its body.
pub(crate) fn read(key: &str, opened: Timestamp, body: &Value) -> Read<InputRequest> {
    let fields = Fields::stored(body, "body")?;
    Ok(InputRequest {
        key: RequestKey::new(key),
        ask: fields.inner("ask", read_ask)?,
        door: fields.inner("door", read_door)?,
        opened,
        state: fields.inner("state", read_state)?,
    })
}
