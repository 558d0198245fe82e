//! Statements 55, 59 and 61: every position of protocol.md §7.2, one by one and in arbitrary messages.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;

/// What a server's identities look like in these tests, and what they become.
const UP: &str = "up-canary";
const DOWN: &str = "down-alias";

/// Exchanges canaries and numbers of ours: text `up-canary-…` becomes `down-alias-…`, 7001 becomes "t-7001", a server's
/// name is turned around.
fn outward(identity: Identity, there: &str) -> Option<String> {
    match identity {
        Identity::Server => Some(there.replace(UP, DOWN)),
        _ if there == "7001" => Some("\"t-7001\"".to_owned()),
        _ => meaning(there)?.strip_prefix(UP).map(|rest| json_text(&format!("{DOWN}{rest}"))),
    }
}

fn inward(identity: Identity, there: &str) -> Option<String> {
    match identity {
        Identity::Server => Some(there.replace(DOWN, UP)),
        _ if there == "\"t-7001\"" => Some("7001".to_owned()),
        _ => meaning(there)?.strip_prefix(DOWN).map(|rest| json_text(&format!("{UP}{rest}"))),
    }
}

/// One message for each row of the table in protocol.md §7.2, written by hand from the document.
fn positions() -> Vec<(RewrittenPart<'static>, Value)> {
    let id = format!("{UP}-1");
    let related = json!({"io.modelcontextprotocol/related-task": {"taskId": id}});
    let listening = json!({"io.modelcontextprotocol/subscriptionId": id});
    vec![
        (RewrittenPart::Result("tools/call"), json!({"resultType": "task", "taskId": id, "status": "working"})),
        (RewrittenPart::Result("tasks/get"), json!({"taskId": id, "result": {"content": [], "_meta": related}})),
        (
            RewrittenPart::Result("tasks/get"),
            json!({"inputRequests": {"q": {"method": "x", "params": {"_meta": related}}}}),
        ),
        (RewrittenPart::Result("tools/call"), json!({"task": {"taskId": id, "ttl": null}, "_meta": related})),
        (RewrittenPart::Result("tasks/list"), json!({"tasks": [{"taskId": id}, {"taskId": format!("{UP}-2")}]})),
        (RewrittenPart::Result("tasks/cancel"), json!({"taskId": id, "status": "cancelled"})),
        (RewrittenPart::Result("tasks/result"), json!({"content": [{"type": "text", "text": "x"}], "_meta": related})),
        (RewrittenPart::Params("tasks/get"), json!({"taskId": id})),
        (RewrittenPart::Params("tasks/update"), json!({"taskId": id, "inputResponses": {"q": {"_meta": related}}})),
        (RewrittenPart::Params("tasks/cancel"), json!({"taskId": id})),
        (
            RewrittenPart::Params("notifications/tasks"),
            json!({"taskId": id, "_meta": listening, "result": {"_meta": related}}),
        ),
        (RewrittenPart::Params("notifications/tasks/status"), json!({"taskId": id, "status": "working"})),
        (RewrittenPart::Params("subscriptions/listen"), json!({"notifications": {"taskIds": [id, format!("{UP}-2")]}})),
        (
            RewrittenPart::Params("notifications/subscriptions/acknowledged"),
            json!({"notifications": {"taskIds": [id], "resourceSubscriptions": [id]}, "_meta": listening}),
        ),
        (RewrittenPart::Params("elicitation/create"), json!({"message": "?", "_meta": related})),
        (
            RewrittenPart::Params("notifications/progress"),
            json!({"progressToken": id, "progress": 1, "_meta": related}),
        ),
        (RewrittenPart::Params("notifications/progress"), json!({"progressToken": 7001, "progress": 1.0})),
        (RewrittenPart::Params("tools/call"), json!({"name": id, "_meta": {"progressToken": id}, "arguments": {}})),
        (RewrittenPart::Params("notifications/cancelled"), json!({"requestId": 7001, "reason": "x"})),
        (RewrittenPart::Params("prompts/get"), json!({"name": id})),
        (RewrittenPart::Params("completion/complete"), json!({"ref": {"type": "ref/prompt", "name": id}})),
        (RewrittenPart::Params("completion/complete"), json!({"ref": {"type": "ref/resource", "uri": id}})),
        (RewrittenPart::Params("resources/read"), json!({"uri": id})),
        (RewrittenPart::Params("resources/subscribe"), json!({"uri": id})),
        (RewrittenPart::Params("notifications/resources/updated"), json!({"uri": id, "_meta": listening})),
        (RewrittenPart::Params("tools/list"), json!({"cursor": id})),
        (RewrittenPart::Result("tools/list"), json!({"tools": [{"name": id, "inputSchema": {}}], "nextCursor": id})),
        (RewrittenPart::Result("prompts/list"), json!({"prompts": [{"name": id}]})),
        (RewrittenPart::Result("resources/list"), json!({"resources": [{"uri": id, "name": "x"}]})),
        (RewrittenPart::Result("resources/templates/list"), json!({"resourceTemplates": [{"uriTemplate": id}]})),
        (RewrittenPart::Result("resources/read"), json!({"contents": [{"uri": id, "text": "x"}]})),
        (
            RewrittenPart::Result("prompts/get"),
            json!({"messages": [{"content": {"type": "resource", "resource": {"uri": id}}}]}),
        ),
        (RewrittenPart::Result("tools/call"), json!({"content": [{"type": "resource_link", "uri": id}]})),
        (
            RewrittenPart::Result("tasks/get"),
            json!({"result": {"content": [{"type": "resource", "resource": {"uri": id}}]}}),
        ),
        (
            RewrittenPart::Result("tools/call"),
            json!({"content": [], "_meta": {"io.modelcontextprotocol/serverInfo": {"name": id}, "vendor/x": 1}}),
        ),
    ]
}

#[test]
fn no_identity_of_the_server_stays_at_any_position_and_the_inverse_restores_it() {
    for (half, message) in positions() {
        for text in [message.to_string(), serde_json::to_string_pretty(&message).expect("JSON")] {
            let told = rewrite(half, &text, &outward);
            assert!(!told.contains(UP), "{half:?} lets an identity through: {told}");
            assert!(!told.contains("7001,") || told.contains("t-7001"), "{half:?} lets a number through: {told}");
            assert_ne!(told, text, "{half:?} has something to exchange");
            assert_eq!(rewrite(half, &told, &inward), text, "{half:?} and back, byte for byte");
        }
    }
}

#[test]
fn an_identity_behind_an_escaped_name_or_a_second_one_is_exchanged_too() {
    let text = r#"{"task\u0049d":"up-canary-1","taskId":"up-\u0063anary-2","taskId":"up-canary-3"}"#;
    let told = rewrite(RewrittenPart::Result("tasks/get"), text, &outward);
    let wanted = r#"{"task\u0049d":"down-alias-1","taskId":"down-alias-2","taskId":"down-alias-3"}"#;
    assert_eq!(told, wanted, "whichever a reader takes");
}

#[test]
fn an_identity_behind_a_name_without_meaning_is_exchanged_too() {
    let text = r#"{"\ud800":{"taskId":"up-canary-0"},"taskId":"up-canary-1"}"#;
    let told = rewrite(RewrittenPart::Result("tasks/get"), text, &outward);
    assert_eq!(told, r#"{"\ud800":{"taskId":"up-canary-0"},"taskId":"down-alias-1"}"#, "the walk goes on behind it");
}

#[test]
fn of_a_message_that_breaks_off_nothing_is_passed_on() {
    for text in
        [r#"{"content":[}],"taskId":"up-canary-1"}"#, r#"{"taskId":"up-canary-1"#, r#"{"a":1,,"taskId":"up-c"}"#]
    {
        assert_eq!(rewrite(RewrittenPart::Result("tasks/get"), text, &outward), "{}", "{text}");
    }
}

/// Every kind of identity.
const KINDS: [Identity; 11] = [
    Identity::Task,
    Identity::Related,
    Identity::Progress,
    Identity::Subscription,
    Identity::Request,
    Identity::Cursor,
    Identity::Tool,
    Identity::Prompt,
    Identity::Uri,
    Identity::UriTemplate,
    Identity::Server,
];

#[test]
fn free_text_and_what_only_looks_like_an_identity_stay() {
    let text = r#"{"content":[{"type":"text","text":"task up-canary-1"}],"structuredContent":{"taskId":"up-canary-1"},
        "name":"up-canary-1","isError":false,"n":1.50e2}"#;
    let told = rewrite(RewrittenPart::Result("tools/call"), text, &outward);
    assert!(matches!(told, Cow::Borrowed(_)), "nothing is copied where nothing changes");
    assert_eq!(told, text, "what tools say is never rewritten");
}

/// Anything a vendor may write, with names that are also names of the table.
fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-1_000_i64..1_000).prop_map(Value::from),
        (0.0..1.0_f64).prop_map(Value::from),
        "[ -~äöü€\\n\"\\\\]{0,12}".prop_map(Value::from),
    ];
    let name = prop_oneof![
        "[a-zA-Z_ä\"\\\\]{0,8}".boxed(),
        prop::sample::select(vec!["_meta", "task", "tasks", "result", "params", "content", "inputRequests", "uri"])
            .prop_map(str::to_owned)
            .boxed(),
    ];
    leaf.prop_recursive(4, 40, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((name.clone(), inner), 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// Puts what is in `from` into `into`, keeping what was there where the two do not meet.
fn overlay(into: &mut Value, from: &Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (name, value) in from {
                overlay(into.entry(name.clone()).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from.clone(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn in_arbitrary_messages_only_identities_change(
        which in 0..positions().len(), noise in anything(), pretty: bool
    ) {
        let (half, canaries) = positions().swap_remove(which);
        let mut message = if noise.is_object() { noise } else { json!({"noise": noise}) };
        overlay(&mut message, &canaries);
        let text = if pretty { serde_json::to_string_pretty(&message).expect("JSON") } else { message.to_string() };
        let told = rewrite(half, &text, &outward);
        prop_assert!(!told.contains(UP), "{:?}: {}", half, told);
        let read: Result<Value, _> = serde_json::from_str(&told);
        prop_assert!(read.is_ok(), "still JSON");
        prop_assert_eq!(rewrite(half, &told, &inward), &*text, "and back, byte for byte");
    }

    #[test]
    fn a_text_that_the_quick_look_passes_over_holds_nothing_to_exchange(
        which in 0..positions().len(), noise in anything(), kind in 0..KINDS.len(), escaped: bool
    ) {
        let (half, canaries) = positions().swap_remove(which);
        let mut message = if noise.is_object() { noise } else { json!({"noise": noise}) };
        overlay(&mut message, &canaries);
        let mut text = message.to_string();
        if escaped {
            text = text.replace("askId", "ask\\u0049d").replace("serverInfo", "server\\u0049nfo").replace("uri", "\\u0075ri");
        }
        let kind = KINDS[kind];
        let one_kind = |identity: Identity, there: &str| (identity == kind).then(|| outward(identity, there)).flatten();
        let has_changed = rewrite(half, &text, &one_kind) != text;
        prop_assert!(!has_changed || IdProbe::of(&[kind]).may_find(&text), "{:?} in {}", kind, text);
    }

    #[test]
    fn nothing_that_is_no_json_makes_it_fall(text in "[\\[\\]{}\",:a-z\\\\0-9 ]{0,60}") {
        let _ = rewrite(RewrittenPart::Result("tools/list"), &text, &outward);
        let _ = rewrite(RewrittenPart::Params("tools/call"), &text, &outward);
    }
}
