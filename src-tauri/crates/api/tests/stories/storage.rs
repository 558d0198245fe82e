//! What people are told of storage, of recording and of the audit log, and who may change it.

use std::time::Duration;

use api::Code;
use api::dto::RecordingDto;
use api::feed::frame::{FeedFrame, SubscribeInput};
use futures::StreamExt;
use serde_json::{Value, json};
use testkit::scripted::PollReply;

use crate::world::{World, descendant};

async fn recording(world: &World) -> Value {
    world.call("recording", json!({})).await
}

#[tokio::test(start_paused = true)]
async fn a_window_hears_that_nothing_is_recorded_and_that_it_is_again() {
    let world = World::new().await;
    let mut feed = world.api.open_feed(&world.caller, SubscribeInput::default()).await.expect("a feed opens");
    let Some(Ok(FeedFrame::Snapshot(first))) = feed.next().await else { panic!("a snapshot comes first") };
    assert_eq!(first.recording, RecordingDto::Ok, "at first everything is recorded");
    for (full, cannot) in [(true, true), (false, false)] {
        world.disk.fill_disk(full);
        let told = tokio::time::timeout(Duration::from_secs(60), async {
            loop {
                if let Some(Ok(FeedFrame::Delta(delta))) = feed.next().await
                    && let Some(recording) = delta.recording
                {
                    return recording;
                }
            }
        });
        let told = told.await.expect("it is told within a minute");
        assert_eq!(matches!(told, RecordingDto::Cannot { .. }), cannot, "{told:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_told_of_a_full_disk_says_why_since_when_and_what_to_do() {
    let world = World::new().await;
    world.disk.fill_disk(true);
    let told = recording(&world).await;
    assert_eq!((&told["state"], &told["reason"]), (&json!("cannot"), &json!("diskFull")), "{told}");
    assert!(told["cure"].as_str().is_some_and(|cure| cure.contains("Free some space")), "{told}");
    assert!(told["since"].as_str().is_some_and(|since| since.ends_with('Z')), "{told}");
}

#[tokio::test(start_paused = true)]
async fn limits_are_set_by_people_alone_and_have_to_fit_together() {
    let world = World::new().await;
    let shown = world.call("storage.show", json!({})).await;
    assert_eq!(shown["limits"]["payloadAgeMs"], 30_u64 * 86_400_000, "30 days are built in: {shown}");
    let set = world.call("storage.set", json!({"payloadAgeMs": 7_u64 * 86_400_000})).await;
    assert_eq!(set["limits"]["payloadAgeMs"], 7_u64 * 86_400_000);
    assert_eq!(set["limits"]["payloadBytes"], shown["limits"]["payloadBytes"], "the others stay");
    let wrong = world.api.dispatch(&world.caller, "storage.set", r#"{"taskAgeMs": 86400000}"#).await;
    assert_eq!(wrong.map_err(|error| error.code), Err(Code::Usage), "tasks are not kept shorter than payloads");
    for (wanted, names) in [
        (json!({"payloadBytes": 1 << 20}), ["1 MiB in total", "`--agent-size` and `--payload-size`"]),
        (json!({"tasks": 7}), ["7 tasks in total", "`--agent-tasks` and `--tasks`"]),
        (json!({"agentPayloadBytes": 0}), ["0 bytes", "above zero"]),
        (json!({"payloadAgeMs": 3_600_000}), ["a day or more, not for 1 h", "`--payload-age`"]),
        (json!({"payloadBytes": 0}), ["at least one byte", "`--payload-size`"]),
    ] {
        let wrong = world.try_call("storage.set", wanted).await.expect_err("it does not fit");
        let said = format!("{} {}", wrong.message, wrong.hint);
        assert!(names.iter().all(|name| said.contains(name)), "{names:?} are named: {said}");
    }
    let server = descendant();
    for call in ["storage.set", "storage.clean"] {
        let refused = world.api.dispatch(&server, call, "{}").await;
        assert_eq!(refused.map_err(|error| error.code), Err(Code::Refused), "{call} is for people");
    }
    let rows = world.registry.audit_page(None, 0, 1_000).await.expect("the audit log").rows;
    let changed: Vec<_> = rows.iter().filter(|row| row.event.verb.word() == "storageChanged").collect();
    assert_eq!(changed.len(), 1, "who changed it is on record");
}

#[tokio::test(start_paused = true)]
async fn a_lowered_limit_says_what_goes_and_when_and_can_be_undone_until_then() {
    let world = World::new().await;
    world.server.reply_task("build", "t1", vec![PollReply::done()]);
    let id = world.start("build").await;
    world.until(&id, "done").await;
    let before = world.call("storage.show", json!({})).await;
    let lower = json!({"payloadBytes": 1, "agentPayloadBytes": 1, "serverPayloadBytes": 1});
    let mut preview = lower.clone();
    preview["preview"] = json!(true);
    let told = world.call("storage.set", preview).await;
    assert_eq!((&told["due"]["payloadTasks"], &told["limits"]["payloadBytes"]), (&json!(1), &json!(1)), "{told}");
    assert!(told["waitsUntil"].is_string(), "it says when: {told}");
    let now = world.call("storage.show", json!({})).await;
    assert_eq!((&now["limits"], &now["waitsUntil"]), (&before["limits"], &Value::Null), "and sets nothing");

    let set = world.call("storage.set", lower).await;
    assert_eq!((&set["due"], &set["waitsUntil"]), (&told["due"], &told["waitsUntil"]), "what was said comes");
    tokio::time::sleep(Duration::from_secs(240)).await;
    let undo = before["limits"].clone();
    let undone = world.call("storage.set", undo).await;
    assert_eq!((&undone["limits"], &undone["waitsUntil"]), (&before["limits"], &Value::Null), "all is as before");
    assert_eq!(undone["due"], before["due"], "and nothing exceeds a limit");
    tokio::time::sleep(Duration::from_secs(7_200)).await;
    let left = world.api.dispatch(&world.caller, "tasks.result", &json!({"id": id}).to_string()).await;
    assert!(left.is_ok(), "its result is there: {left:?}");
}

#[tokio::test(start_paused = true)]
async fn clean_up_removes_what_it_said_it_would() {
    let world = World::new().await;
    world.server.reply_task("build", "t1", vec![PollReply::done()]);
    let id = world.start("build").await;
    world.until(&id, "done").await;
    let before = world.call("storage.show", json!({})).await;
    assert_eq!(before["due"]["payloadTasks"], 0, "nothing is old yet: {before}");
    let tight = json!({"payloadBytes": 1, "agentPayloadBytes": 1, "serverPayloadBytes": 1});
    let due = world.call("storage.set", tight).await["due"].clone();
    assert_eq!(due["payloadTasks"], 1, "with less room it is too much");
    let cleaned = world.call("storage.clean", json!({})).await;
    assert_eq!(cleaned["removed"], due, "what was said goes");
    let left = world.api.dispatch(&world.caller, "tasks.result", &json!({"id": id}).to_string()).await;
    let why = left.expect_err("its result is gone").message;
    assert!(why.contains("removed"), "and people are told why: {why}");
    let audit = world.call("audit.verify", json!({})).await;
    assert_eq!((&audit["complete"], &audit["broken"]), (&json!(true), &Value::Null), "the audit log is whole: {audit}");
    let again = world.call("doctor", json!({})).await["rechecked"].clone();
    assert_eq!((&again["rows"], &again["broken"]), (&again["of"], &Value::Null), "`doctor` verifies it again: {again}");
    assert!(again["rows"].as_u64() > Some(0), "there is something to verify: {again}");
}
