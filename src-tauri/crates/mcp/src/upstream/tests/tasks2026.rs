//! Tasks of 2026: looks, answers, cancels, and what was agreed.

use domain::ports::{AnswerToSend, UpstreamError};
use domain::server::Dialect;
use domain::task::input_request::{AnswerAction, AskDoor};
use domain::task::status::{Outcome, TaskStatus};

use super::*;

#[tokio::test(start_paused = true)]
async fn a_look_brings_questions_results_and_errors() {
    let ask = json!({"method": "elicitation/create", "params": {"message": "Go?"}});
    let cases = [
        (json!({"taskId": "t", "status": "working"}), Some(0), false),
        (json!({"taskId": "t", "status": "input_required", "inputRequests": {"a": ask}}), Some(1), false),
        (json!({"taskId": "t", "status": "input_required"}), None, false),
        (json!({"taskId": "t", "status": "half-done"}), None, false),
        (json!({"taskId": "t", "status": "completed", "result": {"isError": true}}), Some(0), true),
        (json!({"taskId": "t", "status": "failed", "error": {"code": 1, "message": "m"}}), Some(0), true),
        (json!({"resultType": "task", "taskId": "t", "status": "completed", "result": {}}), Some(0), true),
    ];
    for (reply, questions, payload) in cases {
        let told = reply.clone();
        let rig = Rig::modern(move |_| Reply::Result(told.clone()));
        let seen = rig.upstream.read(task("t")).await.expect("an observation");
        assert_eq!(seen.outstanding.map(|asks| asks.len()), questions, "questions of {reply}");
        assert_eq!(seen.payload.is_some(), payload, "payload of {reply}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_completed_task_without_a_result_is_told_as_it_is() {
    let rig = Rig::modern(|_| Reply::Result(json!({"taskId": "t", "status": "completed"})));
    let seen = rig.upstream.read(task("t")).await.expect("an observation");
    assert_eq!(seen.status, TaskStatus::Completed(Outcome::Unavailable), "there is no other way to it");
}

#[tokio::test(start_paused = true)]
async fn answers_of_one_look_go_together_and_byte_for_byte() {
    let rig = Rig::modern(|_| Reply::Result(json!({"resultType": "complete"})));
    let answer = |key: &str, action, content: Option<&str>| AnswerToSend {
        door: AskDoor::Listed { key: key.into() },
        action,
        content: content.map(Payload::new),
    };
    let answers = vec![
        answer("a\"b", AnswerAction::Accept, Some("{\"n\": 12345678901234567890}")),
        answer("c", AnswerAction::Decline, None),
    ];
    rig.upstream.answer(Some(task("t")), answers).await.expect("acknowledged");
    let sent = rig.link.nth("tasks/update", 1).await;
    let expected = json!({"a\"b": {"action": "accept", "content": {"n": 12_345_678_901_234_567_890_u64}}, "c": {"action": "decline"}});
    assert_eq!(sent.params["inputResponses"], expected, "bare results by key");
    assert_eq!(sent.params["taskId"], json!("t"), "of this task");
    assert_eq!(rig.link.wire.lock().sent.len(), 1, "in one message");
}

#[tokio::test(start_paused = true)]
async fn answers_that_cannot_go_this_way_leave_nothing() {
    let rig = Rig::modern(|_| panic!("nothing may be sent"));
    let listed = |content: &str| AnswerToSend {
        door: AskDoor::Listed { key: "k".into() },
        action: AnswerAction::Accept,
        content: Some(Payload::new(content)),
    };
    let round = AnswerToSend { door: AskDoor::Round { round: 1, key: "k".into() }, ..listed("{}") };
    for (of, answer) in [
        (None, listed("{}")),
        (Some(task("t")), listed("not json")),
        (Some(task("t")), listed("[]")),
        (Some(task("t")), round),
    ] {
        let refused = rig.upstream.answer(of, vec![answer]).await;
        assert!(matches!(refused, Err(UpstreamError::Unsupported(_))), "{refused:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn errors_of_task_methods_are_told_apart() {
    let missing = json!({"code": -32021, "message": "m", "data": {"requiredCapabilities":
        {"extensions": {"io.modelcontextprotocol/tasks": {}}}}});
    let rig = Rig::modern(move |_| Reply::Error(missing.clone()));
    let name = "extensions.io.modelcontextprotocol/tasks".to_owned();
    assert_eq!(rig.upstream.read(task("t")).await, Err(UpstreamError::MissingCapability(name)), "statement 27");
    let cases = [
        (-32602, UpstreamError::UnknownTask),
        (-32601, UpstreamError::Unsupported("cancel tasks")),
        (-5, UpstreamError::Refused(domain::task::status::RpcError { code: -5, message: "no".into() })),
    ];
    for (code, expected) in cases {
        let rig = Rig::modern(move |_| error(code, "no"));
        assert_eq!(rig.upstream.cancel(task("t")).await, Err(expected), "{code}");
    }
    let acked = Rig::modern(|_| Reply::Result(json!({"resultType": "complete"})));
    assert_eq!(acked.upstream.cancel(task("t")).await, Ok(None), "an acknowledgement is no observation");
    let limited = Rig::modern(|_| Reply::Fail(LinkError::RateLimited(Some(Duration::from_secs(90_000)))));
    let wait = UpstreamError::RateLimited { after: Some(Policy::default().retry_after_ceiling) };
    assert_eq!(limited.upstream.read(task("t")).await, Err(wait), "obeyed up to the ceiling");
}

#[tokio::test(start_paused = true)]
async fn the_dialect_follows_the_version_and_nothing_else() {
    let both = |version: &str| {
        json!({"protocolVersion": version, "serverInfo": {"name": "a\u{1b}b", "version": "2"}, "capabilities":
            {"tasks": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}}})
    };
    let none = json!({"capabilities": {}});
    let cases = [
        (Era::Modern, MODERN, both(MODERN), Dialect::Extension2026, false, true),
        (Era::Legacy, LEGACY, both(LEGACY), Dialect::Experimental2025, true, true),
        (Era::Legacy, "2025-06-18", both("2025-06-18"), Dialect::NoTasks, false, false),
        (Era::LegacySse, "2024-11-05", both("2024-11-05"), Dialect::NoTasks, false, false),
        (Era::Modern, MODERN, none.clone(), Dialect::NoTasks, false, false),
        (Era::Legacy, LEGACY, none, Dialect::NoTasks, false, false),
        (Era::Legacy, LEGACY, json!("odd"), Dialect::NoTasks, false, false),
    ];
    for (era, version, hello, dialect, list, cancel) in cases {
        let rig = Rig::new(era, version, &hello, true, |_| Reply::Hold);
        let found = (rig.negotiated.dialect, rig.negotiated.can_list, rig.negotiated.can_cancel);
        assert_eq!(found, (dialect, list, cancel), "{era:?} {version} {hello}");
        assert!(!rig.negotiated.server_name.contains('\u{1b}'), "names are plain");
    }
}
