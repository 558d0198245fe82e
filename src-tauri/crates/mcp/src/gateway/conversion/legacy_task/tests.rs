//! What crossing the eras adds and takes away, byte by byte.

use domain::ids::{ConnectionId, HandleId};
use domain::task::input_request::{AnswerAction, Ask, AskDoor, InputRequest, RequestState};
use domain::task::payload::Payload;
use domain::time::Timestamp;
use serde_json::{Value, json};

use crate::gateway::conversion::input_requests;
use crate::gateway::conversion::input_requests::{legacy_question, modern_question, round_key, task_key};
use crate::wire::raw_json::member;

fn request(ask: Ask, door: AskDoor) -> InputRequest {
    let key = domain::ids::RequestKey::new("ours#1");
    InputRequest { key, ask, door, opened: Timestamp::EPOCH, state: RequestState::Open }
}

fn form() -> Ask {
    Ask::Form { message: "Go?".into(), schema: json!({"type": "object", "properties": {}}) }
}

fn live() -> AskDoor {
    AskDoor::Live { connection: ConnectionId::from_random(1), token: "7".into(), digest: "d".into() }
}

fn handle() -> HandleId {
    HandleId::from_random(1)
}

#[test]
fn a_form_of_choices_is_spelled_as_its_client_knows_it() {
    let whole = Payload::new(
        r#"{"method":"elicitation/create","params":{"mode":"form","message":"Which?","x":1.50,"requestedSchema":{"type":"object",
        "properties":{"one":{"type":"string","oneOf":[{"const":"a","title":"A"}]},"many":{"type":"array","items":{"enum":["b"]}}},
        "required":["one","many"]}}}"#,
    );
    let asked = |version| legacy_question(handle(), &request(form(), live()), Some(&whole), version, false);
    let newest = asked("2025-11-25").expect("it is known there");
    assert_eq!(Some(newest.params.get()), member(whole.as_str(), "params"), "as it came, byte for byte");
    let older = asked("2025-06-18").expect("forms are known there");
    let older: Value = serde_json::from_str(older.params.get()).expect("JSON");
    assert_eq!(
        older["requestedSchema"]["properties"],
        json!({"one": {"type": "string", "enum": ["a"], "enumNames": ["A"]}})
    );
    assert_eq!(older["requestedSchema"]["required"], json!(["one"]), "what cannot be shown is not required");
    assert!(older.get("mode").is_none(), "there is only one mode");
}

#[test]
fn an_answer_that_says_more_than_we_hold_goes_on_as_it_is() {
    let plain = input_requests::answer(&form(), r#"{"action":"accept","content":{"n":1.50}}"#);
    assert_eq!(plain, Some((AnswerAction::Accept, Some(Payload::new(r#"{"n":1.50}"#)))), "its content, byte for byte");
    let tied = r#"{"action":"decline","_meta":{"io.modelcontextprotocol/related-task":{"taskId":"hdl_1"}}}"#;
    assert_eq!(
        input_requests::answer(&form(), tied),
        Some((AnswerAction::Decline, None)),
        "a tie to the client's task says nothing"
    );
    let vendor = r#"{"action":"accept","content":{},"x":{"y":1e2}}"#;
    assert_eq!(
        input_requests::answer(&form(), vendor),
        Some((AnswerAction::Forwarded, Some(Payload::new(vendor)))),
        "nothing is lost"
    );
    let empty = input_requests::answer(&form(), r#"{"action":"accept"}"#);
    assert_eq!(empty, Some((AnswerAction::Accept, Some(Payload::new("{}")))), "missing content is an empty form");
    for bad in ["[]", "{}", r#"{"action":"maybe"}"#, r#"{"action":"accept","content":[1]}"#] {
        assert_eq!(input_requests::answer(&form(), bad), None, "`{bad}` is no answer to a form");
    }
}

#[test]
fn a_live_question_becomes_an_input_request_without_what_is_of_its_era() {
    let whole = Payload::new(
        r#"{"method":"elicitation/create","params":{"mode":"url","url":"https://x.test/","elicitationId":"e1","z":1.50,"_meta":{"progressToken":3,"io.modelcontextprotocol/related-task":{"taskId":"upstream-1"},"k":true}}}"#,
    );
    let told = modern_question(handle(), &request(form(), live()), Some(&whole)).expect("it is one");
    let wanted = r#"{"method":"elicitation/create","params":{"mode":"url","url":"https://x.test/","z":1.50,"_meta":{"k":true}}}"#;
    assert_eq!(told, wanted, "the rest is untouched");
    let listed = request(form(), AskDoor::Listed { key: "k".into() });
    let told = modern_question(handle(), &listed, Some(&whole)).expect("it is one");
    assert!(
        told.contains(&handle().to_string()) && !told.contains("upstream-1"),
        "a tie is to the agent's task: {told}"
    );
}

#[test]
fn keys_are_the_servers_own_where_they_are_unique() {
    let of = |door| {
        let request = request(form(), door);
        (task_key(&request).to_owned(), round_key(&request).to_owned())
    };
    assert_eq!(of(AskDoor::Listed { key: "k".into() }), ("k".into(), "k".into()), "unique in the life of its task");
    assert_eq!(of(AskDoor::Round { round: 2, key: "k".into() }), ("ours#1".into(), "k".into()), "unique in one round");
    assert_eq!(of(live()), ("ours#1".into(), "ours#1".into()), "ours, because there is none (§7.2)");
}
