//! Tasks of 2025: looks, results, the open result, lists, cancels.

use domain::ports::UpstreamError;
use domain::task::status::{Outcome, TaskStatus};

use super::*;

fn status(word: &str) -> Value {
    json!({"taskId": "3", "status": word, "createdAt": "2026-11-21T03:25:00Z", "ttl": 60000})
}

#[tokio::test(start_paused = true)]
async fn the_end_comes_with_its_payload_whatever_tasks_result_says() {
    let ok = json!({"content": [], "_meta": {"io.modelcontextprotocol/related-task": {"taskId": "3"}}});
    let tool_error = json!({"content": [], "isError": true});
    let cases = [
        ("completed", Reply::Result(ok.clone()), "ok"),
        ("completed", Reply::Result(tool_error.clone()), "tool error"),
        ("failed", Reply::Result(tool_error), "failed with a result"),
        ("failed", Reply::Result(ok), "failed with a result"),
        ("failed", error(-32603, "boom"), "error"),
        ("failed", error(-32602, "bad input"), "error"),
        ("completed", error(-32603, "boom"), "completed with an error"),
    ];
    for (word, reply, expected) in cases {
        let (told, mut reply) = (status(word), Some(reply));
        let rig = Rig::legacy(move |sent| match &*sent.method {
            "tasks/get" => Reply::Result(told.clone()),
            "tasks/result" => reply.take().expect("fetched once"),
            other => panic!("unexpected {other}"),
        });
        let seen = rig.upstream.read(task("3")).await.expect("an observation");
        let found = match &seen.status {
            TaskStatus::Completed(Outcome::Ok(_)) => "ok",
            TaskStatus::Completed(Outcome::ToolError(_)) => "tool error",
            TaskStatus::Completed(Outcome::FailedWithResult(_)) => "failed with a result",
            TaskStatus::Completed(Outcome::Error(_)) => "completed with an error",
            TaskStatus::Failed(Some(_)) => "error",
            other => panic!("{word} became {other:?}"),
        };
        assert_eq!(found, expected, "{word}");
        assert_eq!(seen.status.word(), word, "the server's own word is never changed");
        assert!(seen.payload.is_some(), "with the text as received");
        assert!(rig.link.nth("tasks/result", 1).await.limited, "a fetch does not wait for ever");
    }
}

#[tokio::test(start_paused = true)]
async fn a_result_that_stays_withheld_is_unavailable_in_the_end_and_a_lost_one_is_fetched_again() {
    let rig = Rig::legacy(|sent| match &*sent.method {
        "tasks/get" => Reply::Result(status("completed")),
        _ => error(-32602, "no such task"),
    });
    for expected in [Outcome::NotFetched, Outcome::NotFetched, Outcome::Unavailable] {
        let seen = rig.upstream.read(task("3")).await.expect("an observation");
        assert_eq!(seen.status, TaskStatus::Completed(expected), "a completed task never turns into a failed one");
    }
    let mut tries = 0;
    let flaky = Rig::legacy(move |sent| match &*sent.method {
        "tasks/get" => Reply::Result(status("failed")),
        _ => {
            tries += 1;
            if tries < 5 { Reply::Fail(LinkError::NoAnswer(Duration::from_secs(30))) } else { error(-1, "why") }
        }
    });
    for _ in 1..5 {
        let seen = flaky.upstream.read(task("3")).await.expect("an observation");
        assert_eq!(seen.status, TaskStatus::Failed(None), "the error may still come");
    }
    let seen = flaky.upstream.read(task("3")).await.expect("an observation");
    assert!(matches!(seen.status, TaskStatus::Failed(Some(_))), "and it did");
}

#[tokio::test(start_paused = true)]
async fn input_required_opens_one_result_that_stays_open_and_whose_payload_is_kept() {
    let mut gets = 0;
    let mut rig = Rig::legacy(move |sent| match &*sent.method {
        "tasks/get" => {
            gets += 1;
            Reply::Result(status(match gets {
                1 | 2 => "input_required",
                3 => "working",
                _ => "completed",
            }))
        }
        _ => Reply::Hold,
    });
    for expected in [TaskStatus::InputRequired, TaskStatus::InputRequired, TaskStatus::Working] {
        let seen = rig.upstream.read(task("3")).await.expect("an observation");
        assert_eq!((seen.status, seen.outstanding), (expected, None), "2025 says nothing of what is asked");
    }
    let open = rig.link.nth("tasks/result", 1).await;
    assert!(!open.limited, "it blocks as long as the person thinks");
    assert_eq!(rig.link.count("tasks/result"), 1, "one, and it stays open while working");
    rig.link.release(open.tag, result(json!({"content": [1]}))).await;
    assert_eq!(rig.heard().await, UpstreamEvent::PollSoon(task("3")), "its end is worth a look");
    let seen = rig.upstream.read(task("3")).await.expect("an observation");
    assert_eq!(seen.payload.map(|p| p.as_str().to_owned()).as_deref(), Some(r#"{"content":[1]}"#), "what it brought");
    assert_eq!(rig.link.count("tasks/result"), 1, "nothing is fetched twice");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_forgets_a_task_on_delivery_loses_nothing() {
    let mut gets = 0;
    let mut rig = Rig::legacy(move |sent| match &*sent.method {
        "tasks/get" => {
            gets += 1;
            if gets == 1 { Reply::Result(status("input_required")) } else { error(-32602, "unknown") }
        }
        _ => Reply::Hold,
    });
    rig.upstream.read(task("3")).await.expect("it asks");
    let open = rig.link.nth("tasks/result", 1).await;
    rig.link.release(open.tag, result(json!({"content": []}))).await;
    rig.heard().await;
    let seen = rig.upstream.read(task("3")).await.expect("an observation");
    assert!(matches!(seen.status, TaskStatus::Completed(Outcome::Ok(_))), "the result was handed over");
    assert_eq!(rig.upstream.read(task("3")).await, Err(UpstreamError::UnknownTask), "and then it is unknown");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_answers_the_open_result_at_once_is_not_asked_in_a_circle() {
    let mut rig = Rig::legacy(|sent| match &*sent.method {
        "tasks/get" => Reply::Result(status("input_required")),
        _ => error(-32600, "not ready"),
    });
    for look in 1..=3 {
        rig.upstream.read(task("3")).await.expect("it asks");
        rig.link.nth("tasks/result", look).await;
        if look == 1 {
            assert_eq!(rig.heard().await, UpstreamEvent::PollSoon(task("3")), "once");
        }
        // The open result ends on a task of its own; this lets it.
        tokio::time::advance(Duration::from_secs(1)).await;
    }
    rig.closes().await;
    assert!(matches!(rig.heard().await, UpstreamEvent::Closed(_)), "and never again");
}

#[tokio::test(start_paused = true)]
async fn a_pushed_input_required_opens_the_result_of_a_task_that_is_ours() {
    let mut rig = Rig::legacy(|_| Reply::Hold);
    rig.upstream.watch(vec![task("3")]);
    rig.notifies("notifications/tasks/status", json!({"taskId": "other", "status": "input_required"})).await;
    rig.notifies("notifications/tasks/status", status("input_required")).await;
    rig.heard().await;
    rig.heard().await;
    let open = rig.link.nth("tasks/result", 1).await;
    assert_eq!(open.params, json!({"taskId": "3"}), "statement 30: at once, and only ours");
}

#[tokio::test(start_paused = true)]
async fn looks_that_bring_something_else_are_named() {
    let other = json!({"taskId": "4", "status": "working"});
    let cases = [
        (Reply::Result(other), "answers for another task"),
        (Reply::Result(json!({"status": "working"})), "is missing"),
        (Reply::Result(json!("text")), "is not an object"),
    ];
    for (reply, why) in cases {
        let mut reply = Some(reply);
        let rig = Rig::legacy(move |_| reply.take().expect("asked once"));
        match rig.upstream.read(task("3")).await {
            Err(UpstreamError::Unreadable { why: said, raw, .. }) => {
                assert_eq!(said, why, "in plain words");
                assert!(raw.is_some(), "the message is kept for doctor");
            }
            other => panic!("{why}: {other:?}"),
        }
    }
    for (code, expected) in [(-32602, UpstreamError::UnknownTask), (-32601, UpstreamError::Unsupported("show tasks"))] {
        let rig = Rig::legacy(move |_| error(code, "no"));
        assert_eq!(rig.upstream.read(task("3")).await, Err(expected), "{code}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancel_is_tried_wherever_and_its_reply_is_an_observation() {
    let rig = Rig::legacy(|_| Reply::Result(status("cancelled")));
    let seen = rig.upstream.cancel(task("3")).await.expect("acknowledged").expect("an observation");
    assert_eq!(seen.status, TaskStatus::Cancelled, "2025 answers with the task");
    let silent = Rig::legacy(|_| Reply::Result(json!({})));
    assert_eq!(silent.upstream.cancel(task("3")).await, Ok(None), "an empty acknowledgement will do");
    for (code, expected) in [(-32602, UpstreamError::UnknownTask), (-32601, UpstreamError::Unsupported("cancel tasks"))]
    {
        let rig = Rig::legacy(move |_| error(code, "no"));
        assert_eq!(rig.upstream.cancel(task("3")).await, Err(expected), "{code}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_list_is_read_where_it_was_declared_and_one_bad_entry_hides_no_other() {
    let rig = Rig::legacy(|_| {
        Reply::Result(json!({"tasks": [status("working"), {"taskId": 9}, status("completed")], "nextCursor": "p2"}))
    });
    let page = rig.upstream.list(None).await.expect("a page");
    assert_eq!((page.tasks.len(), page.next.as_deref()), (2, Some("p2")), "what can be read");
    assert_eq!(page.tasks[1].1.status, TaskStatus::Completed(Outcome::NotFetched), "a list has no payloads");
    rig.upstream.list(Some("p2".into())).await.expect("a page");
    assert_eq!(rig.link.nth("tasks/list", 2).await.params, json!({"cursor": "p2"}), "the cursor as given");

    let hello = json!({"protocolVersion": LEGACY, "capabilities": {"tasks": {"cancel": {}}}});
    let undeclared = Rig::new(Era::Legacy, LEGACY, &hello, true, |_| panic!("statement 33: not asked"));
    assert_eq!(undeclared.upstream.list(None).await, Err(UpstreamError::Unsupported("list its tasks")), "undeclared");
    let unsaid = json!({"protocolVersion": LEGACY, "capabilities": {"tasks": {}}});
    let unsaid = Rig::new(Era::Legacy, LEGACY, &unsaid, true, |_| error(-32601, "no"));
    assert!(unsaid.negotiated.can_list && unsaid.negotiated.can_cancel, "worth a try");
    assert_eq!(unsaid.upstream.list(None).await, Err(UpstreamError::Unsupported("list its tasks")), "tried in vain");
}
