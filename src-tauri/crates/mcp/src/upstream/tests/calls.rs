//! Calls: what goes out, what a reply becomes, what a lost one becomes.

use domain::ids::RequestKey;
use domain::ports::AnswerToSend;
use domain::ports::{CallError, CallReply, Continuation, UpstreamError};
use domain::task::input_request::{AnswerAction, Ask, AskDoor};
use domain::task::status::TaskStatus;

use super::*;

fn tools(support: Value) -> Value {
    json!({"tools": [{"name": "dig", "inputSchema": {"type": "object"}, "execution": {"taskSupport": support}},
                     {"name": "plain", "inputSchema": {"type": "object"}}]})
}

#[tokio::test(start_paused = true)]
async fn a_plain_result_is_kept_as_it_was_written() {
    let rig = Rig::modern(|sent| match &*sent.method {
        "tools/list" => Reply::Result(json!({"tools": []})),
        _ => Reply::Result(json!({"content": [], "isError": true, "vendor": 1.0})),
    });
    let reply = rig.upstream.call(call(1, "dig", "{\"depth\": 1.50}")).await.expect("a reply");
    let CallReply::Result { payload, is_error } = reply else { panic!("a plain result") };
    assert_eq!(payload.as_str(), r#"{"content":[],"isError":true,"vendor":1.0}"#, "the text as received");
    assert!(is_error, "isError is told apart");
    let sent = rig.link.nth("tools/call", 1).await;
    assert_eq!(sent.params["arguments"].to_string(), r#"{"depth":1.5}"#, "arguments go along");
    assert_eq!(sent.params["_meta"]["progressToken"], json!(sent.tag.0), "progress can be told apart");
    assert!(!sent.limited, "a call may take as long as it takes");
    assert!(sent.params.get("task").is_none(), "the modern server decides about tasks");
}

#[tokio::test(start_paused = true)]
async fn a_call_is_augmented_only_where_server_and_tool_allow_it() {
    let without = json!({"protocolVersion": LEGACY, "capabilities": {"tasks": {"list": {}}}});
    let unsaid = json!({"protocolVersion": LEGACY, "capabilities": {"tasks": {}}});
    let cases = [
        (LEGACY, legacy_hello(), json!("required"), true),
        (LEGACY, legacy_hello(), json!("optional"), true),
        (LEGACY, legacy_hello(), json!("forbidden"), false),
        (LEGACY, legacy_hello(), Value::Null, false),
        (LEGACY, without, json!("required"), false),
        (LEGACY, unsaid, json!("required"), false),
        ("2025-06-18", legacy_hello(), json!("required"), false),
    ];
    for (version, hello, support, augmented) in cases {
        let listed = tools(support.clone());
        let rig = Rig::new(Era::Legacy, version, &hello, true, move |sent| match &*sent.method {
            "tools/list" => Reply::Result(listed.clone()),
            _ => Reply::Result(json!({"content": []})),
        });
        rig.upstream.call(call(1, "dig", "{}")).await.expect("a reply");
        let sent = rig.link.nth("tools/call", 1).await;
        assert_eq!(sent.params.get("task").is_some(), augmented, "{version} {hello} taskSupport {support}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_created_task_is_found_in_either_generation() {
    let mut modern = Rig::modern(|sent| match &*sent.method {
        "tools/list" => Reply::Result(json!({"tools": []})),
        _ => Reply::Result(json!({"resultType": "task", "taskId": "t-1", "status": "working", "createdAt":
             "2026-11-21T03:25:00Z", "lastUpdatedAt": "2026-11-21T03:25:00Z", "ttlMs": 60000.0, "pollIntervalMs": 250})),
    });
    let CallReply::Task { id, seen } = modern.upstream.call(call(1, "dig", "{}")).await.expect("a reply") else {
        panic!("a task")
    };
    assert_eq!((id, seen.status), (task("t-1"), TaskStatus::Working), "the flat handle");
    assert_eq!(seen.hint, Some(Duration::from_millis(250)), "the interval");
    assert_eq!(seen.ttl, domain::task::status::Ttl::For(Duration::from_secs(60)), "a float is a number");
    modern.closes().await;
    assert!(matches!(modern.heard().await, UpstreamEvent::Closed(_)), "nothing was said unasked");

    let legacy = Rig::legacy(|sent| match &*sent.method {
        "tools/list" => Reply::Result(tools(json!("optional"))),
        _ => Reply::Result(json!({"task": {"taskId": "3", "status": "working", "ttl": null}})),
    });
    let CallReply::Task { id, seen } = legacy.upstream.call(call(1, "dig", "{}")).await.expect("a reply") else {
        panic!("a task")
    };
    assert_eq!((id, seen.ttl), (task("3"), domain::task::status::Ttl::Unlimited), "the nested handle");
    assert_eq!(seen.outstanding, None, "2025 says nothing of questions");
}

#[tokio::test(start_paused = true)]
async fn a_modern_handle_of_a_legacy_server_is_not_lost() {
    let rig = Rig::legacy(|sent| match &*sent.method {
        "tools/list" => Reply::Result(tools(Value::Null)),
        "tools/call" => Reply::Result(json!({"resultType": "task", "taskId": "m", "status": "working", "ttlMs": null})),
        "tasks/get" => Reply::Result(json!({"taskId": "m", "status": "completed", "result": {"content": []}})),
        other => panic!("unexpected {other}"),
    });
    let reply = rig.upstream.call(call(1, "plain", "{}")).await.expect("a reply");
    assert!(matches!(reply, CallReply::Task { .. }), "the handle is told");
    let seen = rig.upstream.read(task("m")).await.expect("an observation");
    assert!(seen.payload.is_some(), "and it is read in its own generation");
}

#[tokio::test(start_paused = true)]
async fn a_handle_hidden_in_metadata_is_an_ordinary_result() {
    let rig = Rig::legacy(|sent| match &*sent.method {
        "tools/list" => Reply::Result(tools(json!("optional"))),
        _ => Reply::Result(json!({"content": [], "_meta": {"task": {"taskId": "h", "status": "working"}}})),
    });
    let reply = rig.upstream.call(call(1, "dig", "{}")).await.expect("a reply");
    assert!(matches!(reply, CallReply::Result { is_error: false, .. }), "protocol.md §9.9");
}

#[tokio::test(start_paused = true)]
async fn questions_before_a_task_go_round_with_their_state_unchanged() {
    let state = "eyJ\u{e9} \"quoted\" \\ end";
    let asked = json!({"resultType": "input_required", "requestState": state, "inputRequests": {
        "who": {"method": "elicitation/create", "params": {"message": "Who?", "requestedSchema": {"type": "object"}}}}});
    let rig = Rig::modern(move |sent| match &*sent.method {
        "tools/list" => Reply::Result(json!({"tools": []})),
        _ if sent.verbatim.iter().any(|(name, _)| *name == "requestState") => Reply::Result(json!({"content": []})),
        _ => Reply::Result(asked.clone()),
    });
    let reply = rig.upstream.call(call(1, "dig", "{\"a\":1}")).await.expect("a reply");
    let CallReply::NeedsInput { questions, state: kept, raw, asks_raw, whole } = reply else { panic!("questions") };
    assert!(whole.as_str().contains("requestState"), "the whole result is there for relaying");
    assert!(raw.is_some_and(|raw| raw.body.as_str().contains("inputRequests")), "the message is kept for people");
    let key = RequestKey::new("who");
    assert!(asks_raw.get(&key).is_some_and(|asked| asked.as_str().contains("elicitation/create")), "each as it came");
    assert!(matches!(questions.get(&key), Some(Ask::Form { message, .. }) if message == "Who?"), "the form");
    let answers = vec![AnswerToSend {
        door: AskDoor::Round { round: 1, key: "who".into() },
        action: AnswerAction::Accept,
        content: Some(Payload::new("{\"name\":\"Ada\"}")),
    }];
    let mut again = call(1, "dig", "{\"a\":1}");
    again.continuation = Some(Continuation { state: kept, answers });
    rig.upstream.call(again).await.expect("a reply");
    let first = rig.link.nth("tools/call", 1).await;
    let second = rig.link.nth("tools/call", 2).await;
    assert_ne!(first.tag, second.tag, "a new request");
    assert_eq!(second.params["arguments"], first.params["arguments"], "the same parameters");
    assert_eq!(second.params["requestState"], json!(state), "the state as it was given");
    let answer = json!({"who": {"action": "accept", "content": {"name": "Ada"}}});
    assert_eq!(second.params["inputResponses"], answer, "bare results by the server's keys");
    assert!(first.params.get("requestState").is_none(), "and only if it was given");
}

#[tokio::test(start_paused = true)]
async fn replies_that_make_no_sense_are_unreadable_at_their_place() {
    let cases = [
        (json!({"resultType": "magic"}), "$.result.resultType"),
        (json!({"resultType": "input_required"}), "$.result.inputRequests"),
        (json!({"resultType": "task", "status": "working"}), "$.result.taskId"),
        (json!({"resultType": "task", "taskId": 7, "status": "working"}), "$.result.taskId"),
        (json!({"resultType": "task", "taskId": "t"}), "$.result.status"),
        (json!({"resultType": "task", "taskId": "x".repeat(5_000), "status": "working"}), "$.result.taskId"),
        (json!([1, 2]), "$.result"),
    ];
    for (reply, place) in cases {
        let answer = reply.clone();
        let rig = Rig::modern(move |sent| match &*sent.method {
            "tools/list" => Reply::Result(json!({"tools": []})),
            _ => Reply::Result(answer.clone()),
        });
        match rig.upstream.call(call(1, "dig", "{}")).await {
            Err(CallError::ReplyLost(UpstreamError::Unreadable { path, .. })) => assert_eq!(path, place, "{reply}"),
            other => panic!("{reply} became {other:?}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_keeps_its_text_and_names_a_missing_capability() {
    let rig = Rig::modern(|sent| match &*sent.method {
        "tools/list" => Reply::Result(json!({"tools": []})),
        _ => Reply::Error(json!({"code": -32003, "message": "no\u{1b}[31m", "data":
              {"requiredCapabilities": {"sampling": {}, "extensions": {"a.b/c": {}}}}})),
    });
    let CallReply::Error { error, payload } = rig.upstream.call(call(1, "dig", "{}")).await.expect("a reply") else {
        panic!("an error")
    };
    assert_eq!(error.code, -32003, "as it came");
    assert!(error.message.contains("sampling, extensions.a.b/c"), "recognised by the shape of data: {}", error.message);
    assert!(!error.message.contains('\u{1b}'), "text of servers is plain");
    assert!(payload.as_str().contains("requiredCapabilities"), "the error as received");
}

#[tokio::test(start_paused = true)]
async fn a_lost_reply_and_a_call_that_never_left_are_told_apart() {
    let cases: [(fn() -> LinkError, bool); 6] = [
        (|| broken(false), true),
        (|| broken(true), false),
        (|| LinkError::RateLimited(Some(Duration::from_secs(9))), true),
        (|| LinkError::Unauthorized { why: "no".into(), hint: "Sign in.".into() }, true),
        (|| LinkError::NoAnswer(Duration::from_secs(1)), false),
        (|| LinkError::Unreadable { why: "too deep".into(), raw: Payload::new("{") }, false),
    ];
    for (failure, not_sent) in cases {
        let rig = Rig::modern(move |sent| match &*sent.method {
            "tools/list" => Reply::Result(json!({"tools": []})),
            _ => Reply::Fail(failure()),
        });
        let failed = rig.upstream.call(call(1, "dig", "{}")).await.expect_err("no reply");
        assert_eq!(matches!(failed, CallError::NotSent(_)), not_sent, "{failed:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_detached_call_goes_on_its_ticket_stops_it_and_a_dropped_one_leaves_nothing_behind() {
    let rig = Rig::modern(|sent| match &*sent.method {
        "tools/list" => Reply::Result(json!({"tools": []})),
        _ => Reply::Hold,
    });
    let upstream = Arc::clone(&rig.upstream);
    let mut calling = Box::pin(async move { upstream.call(call(1, "dig", "{}")).await });
    let sent = tokio::select! {
        _ = &mut calling => panic!("it is held"),
        sent = rig.link.nth("tools/call", 1) => sent,
    };
    let detached = aside(calling);
    tokio::task::yield_now().await;
    assert!(rig.link.wire.lock().cancelled.is_empty(), "nothing was cancelled");
    rig.upstream.cancel_call(ticket(1), None).await.expect("it is in flight");
    assert_eq!(rig.link.wire.lock().cancelled, vec![sent.tag], "by its tag");
    let stopped = detached.await.expect("it ends");
    assert!(matches!(stopped, Err(CallError::ReplyLost(_))), "its holder hears of it: {stopped:?}");
    tokio::select! {
        _ = rig.upstream.call(call(2, "dig", "{}")) => panic!("it is held"),
        _ = rig.link.nth("tools/call", 2) => {}
    }
    let dropped = rig.upstream.cancel_call(ticket(2), None).await;
    assert_eq!(dropped, Err(UpstreamError::ChannelGone), "who dropped it gave it up");
    let gone = rig.upstream.cancel_call(ticket(9), None).await;
    assert_eq!(gone, Err(UpstreamError::ChannelGone), "no such call here");
}

#[tokio::test(start_paused = true)]
async fn a_call_stopped_while_tools_are_listed_is_never_sent() {
    let rig = Rig::modern(|_| Reply::Hold);
    let upstream = Arc::clone(&rig.upstream);
    let calling = aside(async move { upstream.call(call(1, "dig", "{}")).await });
    let listing = rig.link.nth("tools/list", 1).await;
    rig.upstream.cancel_call(ticket(1), None).await.expect("it is being prepared");
    rig.link.release(listing.tag, result(json!({"tools": []}))).await;
    let stopped = calling.await.expect("it ends");
    assert!(matches!(stopped, Err(CallError::NotSent(_))), "{stopped:?}");
    assert_eq!(rig.link.count("tools/call"), 0, "nothing left");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_should_have_been_a_task_is_told_and_the_next_one_knows_better() {
    let mut lists = 0;
    let rig = Rig::legacy(move |sent| match &*sent.method {
        "tools/list" => {
            lists += 1;
            Reply::Result(tools(if lists == 1 { Value::Null } else { json!("required") }))
        }
        _ if sent.params.get("task").is_some() => Reply::Result(json!({"task": {"taskId": "3", "status": "working"}})),
        _ => error(-32600, "task augmentation required"),
    });
    let first = rig.upstream.call(call(1, "dig", "{}")).await.expect("a reply");
    assert!(matches!(first, CallReply::Error { .. }), "the error is told, nothing is resent: {first:?}");
    assert_eq!(rig.link.count("tools/call"), 1, "once");
    let second = rig.upstream.call(call(2, "dig", "{}")).await.expect("a reply");
    assert!(matches!(second, CallReply::Task { .. }), "from a fresh list: {second:?}");
}
