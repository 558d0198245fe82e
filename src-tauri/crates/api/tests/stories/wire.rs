//! The JSON of calls and frames, as doors and `--json` print it: names, shapes and words stay what they are.
//!
//! Run with `BLESS=1`, this test writes the file anew. A difference is a change of the wire.

use std::path::Path;

use api::feed::frame::SubscribeInput;
use futures::StreamExt as _;
use serde_json::{Map, Value, json};
use testkit::scripted::{OnCancel, PollReply};

use crate::world::World;

#[tokio::test(start_paused = true)]
async fn calls_and_frames_print_the_json_they_always_printed() {
    let world = World::new().await;
    let mut said = Map::new();
    let added = world.call("agents.add", json!({"name": "claude", "program": "codex"})).await;
    said.insert("agents.add".into(), added);
    let rule = json!({
        "scope": {"kind": "server", "server": "ci"}, "asked": "agentThenPeople", "peopleAfterMs": 60_000,
        "repeat": "join", "holdResults": true, "resultLimit": {"tokens": 9_000, "at": "hold"},
    });
    said.insert("rules.put".into(), world.call("rules.put", rule).await);
    let parts = r#"{"content":[{"type":"text","text":"built"},{"type":"image","data":"AAAA","mimeType":"image/png"},
        {"type":"audio","data":"AAAA"},{"type":"resource_link","uri":"file:///a"},
        {"type":"resource","resource":{"uri":"file:///b","text":"b"}},{"type":"new"}],
        "structuredContent":{"a":1},"more":2}"#;
    world.server.reply_task("build", "t1", vec![PollReply::says("compiling"), PollReply::Completed(parts.into())]);
    let done = world.start("build").await;
    world.until(&done, "done").await;
    world.server.reply_task("broken", "t2", vec![PollReply::Completed(r#"{"content":[],"isError":true}"#.into())]);
    let failed = world.start("broken").await;
    world.until(&failed, "done").await;
    world.server.reply_task("tidy", "t3", vec![PollReply::asks(&["go", "why"]), PollReply::done()]);
    let asks = world.start("tidy").await;
    world.until(&asks, "waiting").await;
    world.server.on_cancel(OnCancel::Obey);
    world.server.reply_task("runaway", "t4", vec![PollReply::working()]);
    let cancelled = world.start("runaway").await;
    said.insert(
        "tasks.cancel".into(),
        world.call("tasks.cancel", json!({"ids": [cancelled], "reason": "too long"})).await,
    );
    said.insert("tasks.cancel again".into(), world.call("tasks.cancel", json!({"ids": [cancelled, done]})).await);
    world.server.reply_task("gone", "t5", vec![PollReply::working()]);
    let lost = world.start("gone").await;
    world.until_field(&lost, "status", "working").await;
    world.server.forget("t5");
    world.until(&lost, "lost").await;
    world.server.reply_task("later", "t6", vec![PollReply::working()]);
    let running = world.start("later").await;
    world.until_field(&running, "status", "working").await;
    for (name, task) in
        [("done", &done), ("failed", &failed), ("asks", &asks), ("cancelled", &cancelled), ("lost", &lost)]
    {
        said.insert(format!("tasks.show {name}"), world.call("tasks.show", json!({"id": task})).await);
        said.insert(format!("tasks.history {name}"), world.call("tasks.history", json!({"id": task})).await);
        said.insert(format!("tasks.raw {name}"), world.call("tasks.raw", json!({"id": task})).await);
    }
    for (name, input) in [
        ("tasks.list", json!({})),
        ("tasks.page", json!({"query": {}, "group": null, "offset": 0, "limit": 10})),
        ("tasks.result", json!({"id": done})),
        ("tasks.content", json!({"id": done, "of": "result"})),
        ("inbox", json!({})),
        ("servers.list", json!({})),
        ("servers.tools", json!({"name": "ci"})),
        ("agents.list", json!({})),
        ("rules.list", json!({})),
        ("budgets.list", json!({})),
        ("budgets.choices", json!({})),
        ("budgets.show", json!({"agent": "claude"})),
        ("desk.put", json!({"kind": "view", "key": "mine", "value": {"a": 1}})),
        ("desk.list", json!({"kind": "view"})),
        ("settings.change", json!({"theme": "dark"})),
        ("storage.show", json!({})),
        ("recording", json!({})),
        ("limits.show", json!({})),
        ("sessions.list", json!({})),
        ("audit.list", json!({"limit": 2})),
        ("audit.show", json!({"number": 2})),
        ("audit.report", json!({"month": "1970-01"})),
        ("audit.verify", json!({})),
    ] {
        said.insert(name.into(), world.call(name, input).await);
    }
    let mut feed = world.api.open_feed(&world.caller, SubscribeInput::default()).await.expect("a feed opens");
    let mut first = serde_json::to_value(feed.next().await.expect("a frame").expect("a snapshot")).expect("it is JSON");
    first["core"]["process"] = Value::Null;
    first["core"]["version"] = Value::Null;
    said.insert("snapshot".into(), first);
    said.insert(
        "tasks.answer".into(),
        world.call("tasks.answer", json!({"id": asks, "key": "go", "action": "decline"})).await,
    );
    said.insert("tasks.unwatch".into(), world.call("tasks.unwatch", json!({"id": lost})).await);

    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stories/wire.json");
    let now = format!("{}\n", serde_json::to_string_pretty(&said).expect("it is JSON"));
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, now).expect("the file is written");
        return;
    }
    let kept = std::fs::read_to_string(&path).expect("the file is there");
    let other = now.lines().zip(kept.lines()).position(|(now, kept)| now != kept);
    assert_eq!(other.map(|n| (n + 1, now.lines().nth(n), kept.lines().nth(n))), None, "the first line that differs");
    assert_eq!(now.len(), kept.len());
}
