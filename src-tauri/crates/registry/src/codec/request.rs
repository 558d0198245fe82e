//! One question of a task. Its key, its age and the word of its state have columns of their own.
//!
//! The words and address a server asks with are private, so the body is sealed. Answers are payloads, not here.

use domain::ids::{ConnectionId, RequestKey};
use domain::task::decider::Decider;
use domain::task::input_request::{AnswerAction, Ask, AskDoor, InputRequest, RecordedAnswer, RequestState};
use domain::task::status::Delivery;
use domain::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::contact::DeliveryDef;
use super::form::{As, In, Maybe, MethodField, column, mirrors};
use super::primitive::{EncodedWord, IdText, Millis, Plain, Text};
use super::{DecodeError, decode};

#[derive(Serialize, Deserialize)]
#[serde(remote = "Ask", tag = "is", rename_all = "camelCase")]
enum AskDef {
    Form { message: String, schema: Value },
    Visit { message: String, url: String, elicitation: Option<String> },
    Sampling,
    Roots,
    Unsupported(#[serde(with = "In::<MethodField, Plain<String>>")] String),
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "AskDoor", tag = "is", rename_all = "camelCase")]
enum AskDoorDef {
    Listed {
        key: String,
    },
    Round {
        round: u32,
        key: String,
    },
    Live {
        #[serde(with = "As::<IdText<ConnectionId>>")]
        connection: ConnectionId,
        token: String,
        digest: String,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "RecordedAnswer", rename_all = "camelCase")]
struct AnsweredDef {
    #[serde(with = "As::<Text<Decider>>")]
    by: Decider,
    #[serde(with = "As::<Millis>")]
    at: Timestamp,
    #[serde(with = "As::<EncodedWord<AnswerAction>>")]
    action: AnswerAction,
    #[serde(default, with = "As::<Maybe<Millis>>")]
    not_before: Option<Timestamp>,
    #[serde(with = "DeliveryDef")]
    delivery: Delivery,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "RequestState", tag = "is", rename_all = "camelCase")]
enum RequestStateDef {
    Open,
    Answered(#[serde(with = "AnsweredDef")] RecordedAnswer),
    Confirmed(#[serde(with = "AnsweredDef")] RecordedAnswer),
    Withdrawn {
        #[serde(with = "As::<Millis>")]
        at: Timestamp,
        why: String,
    },
}

/// The body of a question; `key` and `opened` are columns.
#[derive(Serialize, Deserialize)]
#[serde(remote = "InputRequest")]
pub(crate) struct InputRequestDef {
    #[serde(skip, default = "column")]
    key: RequestKey,
    #[serde(with = "AskDef")]
    ask: Ask,
    #[serde(with = "AskDoorDef")]
    door: AskDoor,
    #[serde(skip, default = "column")]
    opened: Timestamp,
    #[serde(with = "RequestStateDef")]
    state: RequestState,
}

mirrors! {
    InputRequestDef => InputRequest;
}

/// Reads a question from its columns and its body.
pub(crate) fn read(key: &str, opened: Timestamp, body: Value) -> Result<InputRequest, DecodeError> {
    let mut request = decode::<InputRequestDef>(body)?;
    (request.key, request.opened) = (RequestKey::new(key), opened);
    Ok(request)
}
