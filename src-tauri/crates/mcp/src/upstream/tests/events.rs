//! Unasked news: progress, pushes, streams that come back, and the end.

use domain::ports::{CallError, UpstreamError, UpstreamSubject};
use domain::task::status::{Outcome, TaskStatus};

use super::*;

#[tokio::test(start_paused = true)]
async fn progress_with_the_old_token_still_reaches_the_call_after_it_became_a_task() {
    let mut rig = Rig::legacy(|sent| match &*sent.method {
        "tools/list" => Reply::Result(json!({"tools": [{"name": "dig", "execution": {"taskSupport": "required"}}]})),
        "tools/call" => Reply::Result(json!({"task": {"taskId": "3", "status": "working"}})),
        _ => Reply::Result(json!({"taskId": "3", "status": "cancelled"})),
    });
    rig.upstream.call(call(7, "dig", "{}")).await.expect("a task");
    let token = rig.link.nth("tools/call", 1).await.params["_meta"]["progressToken"].clone();
    rig.notifies(
        "notifications/progress",
        json!({"progressToken": token, "progress": 1, "total": 4.0, "message": "a\u{7}b"}),
    )
    .await;
    let UpstreamEvent::Progress(subject, progress) = rig.heard().await else { panic!("progress") };
    assert_eq!(subject, UpstreamSubject::Call(ticket(7)), "statement 35");
    assert_eq!((progress.done, progress.total), (Some(1.0), Some(4.0)), "numbers");
    assert_eq!(progress.message.as_deref(), Some("ab"), "plain text");

    rig.upstream.read(task("3")).await.expect("it is over");
    rig.notifies("notifications/progress", json!({"progressToken": token, "progress": 2})).await;
    rig.closes().await;
    assert!(matches!(rig.heard().await, UpstreamEvent::Closed(_)), "a token means nothing after the end");
}

#[tokio::test(start_paused = true)]
async fn pushed_statuses_are_told_and_ended_ones_are_looked_at() {
    let mut legacy = Rig::legacy(|_| Reply::Hold);
    legacy
        .notifies("notifications/tasks/status", json!({"taskId": "3", "status": "working", "statusMessage": "on it"}))
        .await;
    let UpstreamEvent::Seen(id, seen) = legacy.heard().await else { panic!("seen") };
    assert_eq!((id, seen.status), (task("3"), TaskStatus::Working), "as pushed");
    assert_eq!((seen.message.as_deref(), seen.outstanding), (Some("on it"), None), "2025 says nothing of questions");
    legacy.notifies("notifications/tasks/status", json!({"taskId": "3", "status": "completed"})).await;
    let UpstreamEvent::Seen(_, seen) = legacy.heard().await else { panic!("seen") };
    assert_eq!(seen.status, TaskStatus::Completed(Outcome::NotFetched), "the payload is fetched by a look");
    assert_eq!(legacy.heard().await, UpstreamEvent::PollSoon(task("3")), "soon");
    legacy.notifies("notifications/tasks/status", json!({"taskId": "3", "status": 7})).await;
    legacy.notifies("notifications/tasks", json!({"taskId": "3", "status": "working"})).await;
    legacy.closes().await;
    assert!(matches!(legacy.heard().await, UpstreamEvent::Closed(_)), "nonsense and the other dialect are passed over");

    let mut modern = Rig::modern(|_| Reply::Hold);
    modern
        .notifies("notifications/tasks", json!({"taskId": "t", "status": "completed", "result": {"content": []}}))
        .await;
    let UpstreamEvent::Seen(_, seen) = modern.heard().await else { panic!("seen") };
    assert!(seen.payload.is_some(), "2026 pushes the result itself");
    modern.notifies("notifications/tasks/status", json!({"taskId": "t", "status": "working"})).await;
    modern.closes().await;
    assert!(matches!(modern.heard().await, UpstreamEvent::Closed(_)), "the other dialect means nothing here");
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_came_back_makes_every_watched_task_looked_at() {
    let mut rig = Rig::legacy(|_| Reply::Hold);
    rig.upstream.watch(vec![task("b"), task("a"), task("b")]);
    rig.says(InboundMessage::StreamBack).await;
    let looks = [rig.heard().await, rig.heard().await];
    assert_eq!(looks, [UpstreamEvent::PollSoon(task("a")), UpstreamEvent::PollSoon(task("b"))], "each once");
}

#[tokio::test(start_paused = true)]
async fn the_end_is_the_last_event_and_ends_every_waiting_call() {
    let mut rig = Rig::modern(|sent| match &*sent.method {
        "tools/list" => Reply::Result(json!({"tools": []})),
        _ => Reply::Hold,
    });
    let upstream = Arc::clone(&rig.upstream);
    let calling = aside(async move { upstream.call(call(1, "dig", "{}")).await });
    let sent = rig.link.nth("tools/call", 1).await;
    rig.closes().await;
    let UpstreamEvent::Closed(closure) = rig.heard().await else { panic!("closed") };
    assert!(closure.process_ended, "as the link said");
    assert!(rig.hears_end().await, "nothing follows");
    rig.link.release(sent.tag, Err(broken(true))).await;
    let lost = calling.await.expect("it ends");
    assert!(
        matches!(&lost, Err(CallError::ReplyLost(UpstreamError::Unreachable { why, .. })) if why == "the child ended"),
        "with the link's own reason, also after the end: {lost:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_flood_is_bounded_and_made_up_for_by_one_look_at_each_task() {
    let mut rig = Rig::legacy(|_| Reply::Hold);
    rig.upstream.watch(vec![task("a")]);
    for n in 0..3_000 {
        rig.notifies("notifications/tasks/status", json!({"taskId": format!("flood-{n}"), "status": "working"})).await;
    }
    rig.asks("q", "elicitation/create", json!({"message": "Go?"}), None).await;
    rig.notifies("notifications/tools/list_changed", json!({})).await;
    // The last thing said has been heard when a further question was refused for want of a schema.
    rig.asks("end", "elicitation/create", json!({"mode": "odd"}), None).await;
    rig.link.until("the flood is heard", |wire| wire.responded.first().cloned()).await;
    let (mut seen, mut questions, mut looks, mut tools) = (0, 0, 0, 0);
    while looks == 0 {
        match rig.heard().await {
            UpstreamEvent::Seen(..) => seen += 1,
            UpstreamEvent::Question(..) => questions += 1,
            UpstreamEvent::PollSoon(id) => {
                assert_eq!(id, task("a"), "only what is watched");
                looks += 1;
            }
            UpstreamEvent::ToolsChanged => tools += 1,
            other => panic!("unexpected {other:?}"),
        }
    }
    assert!(seen < 3_000, "the queue is bounded");
    assert_eq!((questions, tools), (1, 1), "a question is never dropped, and the tools are told once");
}
