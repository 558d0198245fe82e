//! Tasks from their start to their result, their questions, and their stops.

use std::time::Duration;

use api::Code;
use api::feed::task_feed::WatchTasks;
use domain::ports::UpstreamError;
use domain::task::status::RpcError;
use futures::StreamExt as _;
use serde_json::json;
use testkit::scripted::{OnCancel, PollReply, killed, unreachable};

use crate::world::World;

#[tokio::test(start_paused = true)]
async fn a_task_in_json_has_every_field_of_the_contract() {
    let world = World::new().await;
    world.server.reply_task("build", "t1", vec![PollReply::says("compiling"), PollReply::done()]);
    let id = world.start("build").await;
    let task = world.until_field(&id, "status", "working").await;
    for field in [
        "id",
        "server",
        "agent",
        "tool",
        "phase",
        "status",
        "statusMessage",
        "progress",
        "createdAt",
        "changedAt",
        "lastSeenAt",
        "nextLookAt",
        "expiresAt",
        "requests",
        "intent",
        "tokens",
        "group",
        "endedAt",
        "pausedMs",
        "pausedSince",
        "workedMs",
        "worksSince",
        "startedBy",
        "says",
        "log",
    ] {
        assert!(task.get(field).is_some(), "`{field}` is always there: {task:#}");
    }
    assert_eq!((&task["server"], &task["tool"]), (&json!("ci"), &json!("build")));
    assert_eq!((&task["status"], &task["intent"], &task["tokens"]), (&json!("working"), &json!(null), &json!(null)));
    let created = task["createdAt"].as_str().expect("a time");
    assert!(created.ends_with('Z') && created.len() == 24, "ISO 8601 in UTC with milliseconds: {created}");
    let done = world.until(&id, "done").await;
    assert_eq!((&done["over"], &done["nextLookAt"]), (&json!(true), &json!(null)), "it is not looked at any more");
    let result = world.call("tasks.result", json!({"id": id})).await;
    assert_eq!(result["payload"], json!({"content": []}));
}

#[tokio::test(start_paused = true)]
async fn a_result_is_given_byte_for_byte() {
    let world = World::new().await;
    let odd = r#"{"content":[],"n":1.0000000000000000001,  "b":12345678901234567890123}"#;
    world.server.reply_task("build", "t1", vec![PollReply::Completed(odd.into())]);
    let id = world.start("build").await;
    world.until(&id, "done").await;
    let input = json!({"id": id}).to_string();
    let text = world.api.dispatch(&world.caller, "tasks.result", &input).await.expect("there is a result");
    assert!(text.contains(odd), "numbers and spaces are as the server wrote them: {text}");
}

#[tokio::test(start_paused = true)]
async fn a_result_that_is_still_being_fetched_is_waited_for_and_then_said_to_be_on_its_way() {
    let world = World::new().await;
    let done = PollReply::Completed(r#"{"content":[]}"#.into());
    world.server.reply_task("build", "t1", vec![PollReply::NotFetched, done]);
    let id = world.start("build").await;
    let done = world.until(&id, "done").await;
    assert_eq!(done["result"]["state"], "notFetched");
    let begun = tokio::time::Instant::now();
    let result = world.call("tasks.result", json!({"id": id})).await;
    assert_eq!(result["payload"], json!({"content": []}), "a few seconds later it is here");
    assert!(begun.elapsed() <= world.policy.asking.result_wait, "after {:?}", begun.elapsed());

    world.server.reply_task("build", "t2", vec![PollReply::NotFetched]);
    let id = world.start("build").await;
    world.until(&id, "done").await;
    let begun = tokio::time::Instant::now();
    let refused = world.try_call("tasks.result", json!({"id": id})).await.expect_err("nothing is here");
    assert_eq!(refused.code, Code::Refused, "it did not fail: {refused:?}");
    assert!(refused.message.contains("still being fetched"), "{refused:?}");
    assert!(begun.elapsed() < 2 * world.policy.asking.result_wait, "after {:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_task_may_be_named_by_any_unique_beginning_of_its_handle() {
    let world = World::new().await;
    for number in 0..3 {
        world.server.reply_task("build", &format!("t{number}"), vec![PollReply::working()]);
    }
    let id = world.start("build").await;
    let beginning: String = id.chars().take(26).collect();
    assert_eq!(world.call("tasks.show", json!({"id": beginning})).await["id"], json!(id));
    let without = beginning.trim_start_matches("hdl_").to_uppercase();
    assert_eq!(world.call("tasks.show", json!({"id": without})).await["id"], json!(id), "the prefix may be left out");
    world.start("build").await;
    // The counting draw gives ids that begin alike.
    let several = world.try_call("tasks.show", json!({"id": "hdl_0000"})).await.expect_err("not unique");
    assert_eq!(several.code, Code::Usage);
    assert!(several.hint.contains(&id), "the candidates are listed: {}", several.hint);
    let short = world.try_call("tasks.show", json!({"id": "hdl_0"})).await.expect_err("too short");
    assert_eq!(short.code, Code::Usage);
    let unknown = world.try_call("tasks.show", json!({"id": "hdl_zzzz"})).await.expect_err("unknown");
    assert_eq!(unknown.code, Code::NotFound);
    let strange = world.try_call("tasks.show", json!({"id": "../../etc"})).await.expect_err("no handle");
    assert_eq!(strange.code, Code::NotFound);
}

#[tokio::test(start_paused = true)]
async fn a_question_is_in_the_inbox_until_it_is_answered_and_told_to_be_taken() {
    let world = World::new().await;
    world.server.reply_task("tidy", "t1", vec![PollReply::asks(&["go"]), PollReply::done()]);
    let id = world.start("tidy").await;
    world.until(&id, "waiting").await;
    let inbox = world.call("inbox", json!({})).await;
    let item = &inbox["items"][0];
    assert_eq!((&item["task"], &item["key"], &item["kind"]), (&json!(id), &json!("go"), &json!("form")), "{inbox:#}");
    assert!(item["schema"]["properties"]["name"].is_object() && item["waitingMs"].is_u64(), "{inbox:#}");

    let wrong = json!({"id": id, "action": "accept", "content": {"name": 7}});
    let refused = world.try_call("tasks.answer", wrong).await.expect_err("the form says text");
    assert_eq!((refused.code, refused.message.as_str()), (Code::Refused, "field `name` must be text"));
    assert_eq!(world.server.answers().len(), 0, "nothing left the machine");

    let given = world.call("tasks.answer", json!({"id": id, "action": "accept", "content": {"name": "Dana"}})).await;
    assert_eq!(given["request"]["answer"]["delivery"], "acknowledged", "the call waited for the server: {given:#}");
    assert_eq!(given["request"]["answer"]["by"], "ada");
    assert_eq!(world.call("inbox", json!({})).await["items"], json!([]), "it is not asked again");
    let answered = world.call("tasks.answers", json!({"id": id})).await;
    assert_eq!(answered["answers"][0]["fields"][0]["value"], "Dana", "people can look back: {answered:#}");
    let again = json!({"id": id, "key": "go", "action": "decline"});
    let late = world.try_call("tasks.answer", again).await.expect_err("the first answer counts");
    assert_eq!(late.code, Code::Refused);
    assert!(late.message.starts_with("already accepted by ada at "), "{}", late.message);
    assert!(late.message.ends_with("; your answer was not recorded"), "{}", late.message);
    world.until(&id, "done").await;
}

#[tokio::test(start_paused = true)]
async fn an_answer_to_an_unknown_key_or_a_quiet_task_says_so() {
    let world = World::new().await;
    world.server.reply_task("build", "t1", vec![PollReply::working()]);
    let id = world.start("build").await;
    world.until(&id, "running").await;
    let quiet =
        world.try_call("tasks.answer", json!({"id": id, "action": "decline"})).await.expect_err("nothing asked");
    assert_eq!(quiet.code, Code::Refused);
    let unknown = json!({"id": id, "key": "nokey", "action": "decline"});
    let unknown = world.try_call("tasks.answer", unknown).await.expect_err("no such key");
    assert_eq!(unknown.code, Code::NotFound);
}

#[tokio::test(start_paused = true)]
async fn cancelling_tells_what_each_server_said_and_no_more() {
    let world = World::new().await;
    for task in ["t1", "t2"] {
        world.server.reply_task("build", task, vec![PollReply::working()]);
    }
    let obedient = world.start("build").await;
    let late = world.start("build").await;
    world.until(&obedient, "running").await;
    let list = world.call("tasks.cancel", json!({"ids": [obedient, late], "reason": "not needed"})).await;
    for stop in list["stops"].as_array().expect("a list") {
        let state = stop["state"].as_str().expect("a state");
        assert!(["acknowledged", "stopped"].contains(&state), "the server took it: {stop:#}");
        assert_eq!(stop["task"]["intent"]["reason"], "not needed");
    }
    world.until(&obedient, "cancelled").await;
    let over = world.call("tasks.cancel", json!({"ids": [obedient]})).await;
    assert_eq!(over["stops"][0]["state"], "notAsked", "a task that is over is not asked again: {over:#}");
    let unknown = world.try_call("tasks.cancel", json!({"ids": ["hdl_zzzz"]})).await.expect_err("no such task");
    assert_eq!(unknown.code, Code::NotFound);
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_the_word_of_a_server_that_is_known_to_be_down() {
    let world = World::new().await;
    world.server.reply_task("tidy", "t1", vec![PollReply::asks(&["go"])]);
    let id = world.start("tidy").await;
    world.until(&id, "waiting").await;
    world.server.refuse_connections(Some(unreachable()));
    world.server.close_connection(killed());
    let mut health = json!(null);
    for _ in 0..10_000 {
        health = world.call("servers.show", json!({"name": "ci"})).await["health"]["kind"].clone();
        if health == "down" {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(health, "down", "the server went away");
    let begun = tokio::time::Instant::now();
    let given = world.call("tasks.answer", json!({"id": id, "action": "accept", "content": {"name": "Dana"}})).await;
    assert_eq!(given["request"]["state"], "answered", "it is recorded, not more: {given:#}");
    let list = world.call("tasks.cancel", json!({"ids": [id]})).await;
    assert_eq!(list["stops"][0]["state"], "asked", "it is a wish, not more: {list:#}");
    assert!(begun.elapsed() < Duration::from_secs(1), "nobody waited in vain: {:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_server_that_refuses_to_stop_is_shown_as_refusing() {
    let world = World::new().await;
    let never = UpstreamError::Refused(RpcError { code: -32_601, message: "no such method".into() });
    world.server.on_cancel(OnCancel::Fail(never));
    world.server.reply_task("build", "t1", vec![PollReply::working()]);
    let id = world.start("build").await;
    world.until(&id, "running").await;
    let list = world.call("tasks.cancel", json!({"ids": [id]})).await;
    assert_eq!(list["stops"][0]["state"], "refused", "{list:#}");
}

#[tokio::test(start_paused = true)]
async fn the_list_is_filtered_and_paged_without_gaps() {
    let world = World::new().await;
    let mut all = Vec::new();
    for number in 0..7 {
        world.server.reply_task("build", &format!("t{number}"), vec![PollReply::working()]);
        all.insert(0, world.start("build").await);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let mut seen = Vec::new();
    let mut before = json!(null);
    loop {
        let page = world.call("tasks.list", json!({"limit": 3, "before": before, "open": true})).await;
        for task in page["tasks"].as_array().expect("a page") {
            seen.push(task["id"].as_str().expect("a handle").to_owned());
        }
        before = page["next"].clone();
        if before.is_null() {
            break;
        }
    }
    assert_eq!(seen, all, "newest first, each once");
    let none = world.call("tasks.list", json!({"phases": ["failed"]})).await;
    assert_eq!(none["tasks"], json!([]));
    let wrong = world.try_call("tasks.list", json!({"phases": ["sleeping"]})).await.expect_err("no such phase");
    assert!(wrong.code == Code::Usage && wrong.hint.contains("waiting"), "the phases are named: {}", wrong.hint);
    assert!(wrong.hint.contains("`Waiting for you`"), "also as they are shown: {}", wrong.hint);
    for shown in ["No news", "no-news", "silent"] {
        let none = world.try_call("tasks.list", json!({"phases": [shown]})).await;
        assert!(none.is_ok(), "`{shown}` is a phase: {none:?}");
    }
    let place = world.try_call("tasks.list", json!({"before": "nonsense"})).await.expect_err("no such place");
    assert_eq!(place.code, Code::Usage);
}

#[tokio::test(start_paused = true)]
async fn news_of_a_task_begin_with_what_it_is_and_lead_to_its_end() {
    let world = World::new().await;
    world.server.reply_task("build", "t1", vec![PollReply::says("one"), PollReply::says("two"), PollReply::done()]);
    world.server.reply_task("other", "t2", vec![PollReply::says("x"), PollReply::says("y"), PollReply::says("z")]);
    let id = world.start("build").await;
    let other = world.start("other").await;
    let wanted = WatchTasks { tasks: vec![id.clone()], after: None };
    let mut news = world.api.subscribe(&world.caller, wanted).await.expect("the feed opens");
    let mut phases = Vec::new();
    while let Some(piece) = news.next().await {
        for task in piece.expect("the rows can be read").tasks {
            assert_ne!(task.id, other, "only the task asked for");
            phases.push(task.phase);
        }
        if phases.last().is_some_and(|phase| phase == "done") {
            break;
        }
    }
    assert_eq!(phases.last().map(|phase| phase.as_str()), Some("done"), "the end is among the news: {phases:?}");
}
