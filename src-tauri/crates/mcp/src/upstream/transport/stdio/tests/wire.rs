//! Messages over pipes, good and bad.

use std::time::Duration;

use domain::policy::Policy;
use futures::StreamExt;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::peer::{Bench, COPY, LIMIT, NOT_FOUND, ask, legacy, modern, quick, text, until_written};
use crate::upstream::transport::link::{InboundMessage, LinkError, OutgoingRequest, RequestTag, Response};

#[tokio::test]
async fn every_modern_request_carries_the_meta_and_keeps_the_callers_keys() {
    let bench = Bench::new(quick());
    let then = r#"read -r line; echo "$line" >> "$DIR/in"
echo '{"jsonrpc":"2.0","id":2,"result":{"resultType":"complete"}}'; cat > /dev/null"#;
    let opened = bench.open(&modern(then)).await.expect("a modern server");
    let raw = serde_json::value::RawValue::from_string("{\"n\": 1.0,\n \"big\": 12345678901234567890123}".into());
    let outgoing = OutgoingRequest {
        params: json!({"name":"t","_meta":{"progressToken":"p-1"}}),
        verbatim: vec![("arguments", raw.expect("JSON").get().into())],
        ..ask("tools/call", 5, None)
    };
    opened.link.request(outgoing).await.expect("answered");
    let line = std::fs::read_to_string(bench.dir.path().join("in")).expect("written");
    let sent = line.lines().nth(1).expect("one line, though the arguments had a line break");
    assert!(sent.contains(r#""arguments":{"n": 1.0,  "big": 12345678901234567890123}"#), "verbatim: {sent}");
    let sent: Value = serde_json::from_str(sent).expect("JSON");
    assert_eq!(sent["params"]["_meta"]["progressToken"], "p-1", "the caller's key stays");
    assert_eq!(sent["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
}

#[tokio::test]
async fn in_the_modern_era_nothing_is_answered_and_cancels_are_notifications() {
    let bench = Bench::new(quick());
    let then = r#"read -r line; echo "$line" >> "$DIR/in"
echo '{"jsonrpc":"2.0","id":"s1","method":"ping"}'
echo '{"jsonrpc":"2.0","id":"s2","method":"elicitation/create","params":{}}'
echo '{"jsonrpc":"2.0","method":"notifications/message","params":{}}'
while read -r line; do echo "$line" >> "$DIR/in"; done"#;
    let mut opened = bench.open(&modern(then)).await.expect("a modern server");
    let link = opened.link.clone();
    let waiting = link.request(ask("tools/call", 9, None));
    let cancel = async {
        let first = timeout(LIMIT, opened.inbound.next()).await.expect("in time");
        assert!(
            matches!(&first, Some(InboundMessage::Notification { method, .. }) if method == "notifications/message"),
            "requests of the server are not heard: {first:?}"
        );
        link.cancel(RequestTag(9), Some("enough".into())).await
    };
    let (answer, cancelled) = tokio::join!(waiting, cancel);
    cancelled.expect("the cancel is written");
    assert_eq!(answer.err(), Some(LinkError::GivenUp), "the request ends");
    until_written(&bench, "in", 3).await;
    let said = bench.written("in");
    assert_eq!(
        said[2],
        json!({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2,"reason":"enough"}}),
        "and no answer was ever written"
    );
}

#[tokio::test]
async fn questions_are_answered_once_and_withdrawn_ones_not_at_all() {
    let bench = Bench::new(quick());
    let then = r#"echo '{"jsonrpc":"2.0","id":1.0,"method":"elicitation/create","params":{"message":"a"}}'
echo '{"jsonrpc":"2.0","id":"q-2","method":"elicitation/create","params":{"message":"b"}}'
echo '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"q-2"}}'
while read -r line; do echo "$line" >> "$DIR/in"; done"#;
    let mut opened = bench.open(&legacy(NOT_FOUND, then)).await.expect("a server with a handshake");
    let mut tokens = Vec::new();
    for _ in 0..3 {
        match timeout(LIMIT, opened.inbound.next()).await.expect("in time") {
            Some(InboundMessage::Request { token, .. }) => tokens.push(token),
            Some(InboundMessage::Notification { method, .. }) => tokens.push(method),
            other => panic!("in order of arrival: {other:?}"),
        }
    }
    assert_eq!(tokens, ["1", "\"q-2\"", "notifications/cancelled"], "statement 14, and tokens are the ids");
    let reply = Response::Result(serde_json::value::to_raw_value(&json!({"action":"decline"})).expect("JSON"));
    opened.link.respond("1", reply.clone()).await.expect("pending");
    for gone in ["1", "\"q-2\""] {
        let again = opened.link.respond(gone, reply.clone()).await;
        assert!(matches!(again, Err(LinkError::Broken { sent: false, .. })), "not pending: {gone}");
    }
    until_written(&bench, "in", 4).await;
    assert_eq!(bench.written("in")[3], json!({"jsonrpc":"2.0","id":1,"result":{"action":"decline"}}));
}

#[tokio::test]
async fn a_request_without_answer_is_given_up_cancelled_and_forgotten() {
    let bench = Bench::new(quick());
    let opened = bench.open(&legacy(NOT_FOUND, COPY)).await.expect("a server with a handshake");
    let limit = Duration::from_millis(50);
    let answer = opened.link.request(ask("tasks/get", 3, Some(limit))).await;
    assert_eq!(answer.err(), Some(LinkError::NoAnswer(limit)));
    until_written(&bench, "in", 5).await;
    assert_eq!(bench.written("in")[4]["params"]["requestId"], 3, "the server is told");
}

#[tokio::test]
async fn an_oversized_answer_fails_its_request_and_the_link_lives_on() {
    let bench = Bench::new(Policy { message_cap_bytes: 65_536, ..quick() });
    let then = r#"read -r line
printf '{"jsonrpc":"2.0","result":{"id":99,"t":"%0100000d"},"id":3}\n' 0
read -r line
echo 'Listening on port 3000'
echo '{"jsonrpc":"2.0","id":4,"result":{},"error":{}}'
read -r line
printf '{"jsonrpc":"2.0","id":5,"result":{"t":"\377"}}\n'
read -r line
echo '{"jsonrpc":"2.0","id":6,"result":{"fine":1}}'; cat > /dev/null"#;
    let opened = bench.open(&legacy(NOT_FOUND, then)).await.expect("a server with a handshake");
    for (wanted, what) in [("65536 bytes", "too large"), ("neither", "not a message"), ("UTF-8", "not text")] {
        let answer = opened.link.request(ask("tools/call", 1, None)).await;
        let Err(LinkError::Unreadable { why, .. }) = answer else { panic!("{what}: {answer:?}") };
        assert!(why.contains(wanted), "{what}: {why}");
    }
    let answer = opened.link.request(ask("tools/call", 1, None)).await;
    assert_eq!(text(answer), r#"{"fine":1}"#, "one bad answer ends one request");
}

#[tokio::test]
async fn an_answer_that_is_nested_too_deep_fails_its_request() {
    let bench = Bench::new(quick());
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    let then = format!(r#"read -r line; echo '{{"jsonrpc":"2.0","id":3,"result":{deep}}}'; cat > /dev/null"#);
    let opened = bench.open(&legacy(NOT_FOUND, &then)).await.expect("a server with a handshake");
    let answer = opened.link.request(ask("tools/call", 1, None)).await;
    assert!(
        matches!(&answer, Err(LinkError::Unreadable { why, .. }) if why.contains("deeper than 100 levels")),
        "{answer:?}"
    );
}

#[tokio::test]
async fn a_batch_is_taken_apart_in_order() {
    let bench = Bench::new(quick());
    let then = r#"read -r line
echo '[{"jsonrpc":"2.0","method":"notifications/a"},17,{"id":3,"result":{}},{"jsonrpc":"2.0","method":"notifications/b"}]'
cat > /dev/null"#;
    let mut opened = bench.open(&legacy(NOT_FOUND, then)).await.expect("a server with a handshake");
    assert_eq!(text(opened.link.request(ask("tools/call", 1, None)).await), "{}");
    for expected in ["notifications/a", "notifications/b"] {
        let item = timeout(LIMIT, opened.inbound.next()).await.expect("in time");
        assert!(matches!(&item, Some(InboundMessage::Notification { method, .. }) if method == expected), "{item:?}");
    }
}
