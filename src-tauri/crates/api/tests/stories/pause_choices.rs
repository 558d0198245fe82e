//! A pause that lasted long is an item of the inbox while calls wait: a person chooses which of them are sent.

use std::time::Duration;

use api::feed::frame::SubscribeInput;
use serde_json::json;
use testkit::scripted::PollReply;

use crate::agents::{agent, handle};
use crate::reader::Reader;
use crate::world::World;

const MINUTE: Duration = Duration::from_secs(60);

#[tokio::test(start_paused = true)]
async fn a_pause_asks_after_a_quarter_of_an_hour_without_any_other_event_and_until_it_ends() {
    let world = World::new().await;
    let (id, _) = agent(&world, "claude").await;
    let mut reader = Reader::open(&world, SubscribeInput::default()).await;
    let pause = world.call("pauses.start", json!({"agent": "claude", "reason": "wrong month"})).await;
    let first = handle(&world, id, "build").await;
    tokio::time::sleep(14 * MINUTE).await;
    assert_eq!(world.call("inbox", json!({})).await["decisions"], json!([]), "it is young");
    reader.until("it asks", |now| !now.inbox.is_empty()).await;
    let name = format!("{}/pauseChoice", pause["id"].as_str().expect("an id"));
    let row = reader.inbox[&name].clone();
    assert_eq!((row.kind.as_str(), row.agent.as_deref(), row.server.as_str()), ("pauseChoice", Some("claude"), ""));
    let due = world.policy.control.pauses.choice_after;
    let begun: domain::time::Timestamp = pause["since"].as_str().expect("a time").parse().expect("ours");
    assert_eq!(row.opened_at, begun.plus(due).to_string(), "since it must be chosen, not since it is paused");
    let told = row.pause.as_deref().expect("the pause");
    let calls: Vec<&str> = told.calls.iter().map(|call| call.id.as_str()).collect();
    assert_eq!((told.waiting, told.must_choose, calls), (1, true, vec![first.as_str()]));
    assert_eq!(told.calls[0].tool.as_deref(), Some("build"));
    assert_eq!(reader.totals.inbox.items, 1, "it is counted");
    assert_eq!(reader.totals.figures.needs_you, 0, "as an item: none of its tasks asks anything");

    tokio::time::sleep(Duration::from_secs(1)).await;
    let second = handle(&world, id, "build").await;
    let waits = |now: &Reader, calls| {
        now.inbox.get(&name).and_then(|row| row.pause.as_ref()).is_some_and(|p| p.waiting == calls)
    };
    reader.until("a second call waits", |now| waits(now, 2)).await;
    assert!(reader.inbox[&name].changed_at > row.changed_at, "which wakes an item that sleeps until a change");
    world.call("tasks.cancel", json!({"ids": [first], "wait": false})).await;
    reader.until("one is cancelled by itself", |now| waits(now, 1)).await;
    let listed = world.call("inbox", json!({})).await;
    assert_eq!((&listed["decisions"][0]["id"], &listed["total"]), (&json!(name), &json!(0)), "{listed}");
    let fresh = Reader::open(&world, SubscribeInput::default()).await;
    assert!(fresh.inbox.contains_key(&name), "a window that opens now has it");

    world.server.reply_task("build", "t1", vec![PollReply::done()]);
    let ended = world.call("pauses.end", json!({"agent": "claude", "tasks": [second]})).await;
    assert_eq!(ended["sent"], 1, "{ended}");
    reader.until("it is decided", |now| now.inbox.is_empty()).await;
    assert_eq!(reader.totals.inbox.items, 0);
    world.until(&second, "done").await;
}

#[tokio::test(start_paused = true)]
async fn an_old_pause_asks_nothing_until_a_call_waits_and_then_from_that_call_on() {
    let world = World::new().await;
    let (id, _) = agent(&world, "claude").await;
    let mut reader = Reader::open(&world, SubscribeInput::default()).await;
    world.call("pauses.start", json!({"agent": "claude"})).await;
    tokio::time::sleep(30 * MINUTE).await;
    assert_eq!(world.call("inbox", json!({})).await["decisions"], json!([]), "nothing waits");
    let call = handle(&world, id, "build").await;
    reader.until("it asks", |now| !now.inbox.is_empty()).await;
    let row = reader.inbox.values().next().expect("the row").clone();
    let told = row.pause.expect("the pause");
    assert_eq!((row.opened_at.as_str(), told.calls[0].id.as_str()), (told.calls[0].since.as_str(), call.as_str()));
    world.call("tasks.cancel", json!({"ids": [call], "wait": false})).await;
    reader.until("nothing waits any more", |now| now.inbox.is_empty()).await;
}

#[tokio::test(start_paused = true)]
async fn an_item_names_the_first_of_many_waiting_calls_and_counts_all() {
    let world = World::new().await;
    let (id, _) = agent(&world, "claude").await;
    world.call("pauses.start", json!({"agent": "claude"})).await;
    let most = world.policy.control.pauses.waiting_per_agent;
    let mut calls = Vec::new();
    for _ in 0..most {
        calls.push(handle(&world, id, "build").await);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    tokio::time::sleep(15 * MINUTE).await;
    let row = world.call("inbox", json!({})).await["decisions"][0].clone();
    let shown = world.policy.control.pauses.calls_shown;
    let named: Vec<&str> =
        row["pause"]["calls"].as_array().expect("calls").iter().filter_map(|call| call["id"].as_str()).collect();
    assert_eq!((&row["pause"]["waiting"], named), (&json!(most), calls[..shown].iter().map(String::as_str).collect()));
}
