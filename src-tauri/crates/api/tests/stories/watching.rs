//! One task under a person's eyes: history, a look now, looking away; and agreeing to a server.

use api::Code;
use domain::ports::ServerUnit;
use serde_json::json;
use testkit::build::http_server;
use testkit::scripted::PollReply;

use crate::world::{World, descendant};

#[tokio::test(start_paused = true)]
async fn the_history_of_a_task_says_who_did_what_and_when() {
    let world = World::new().await;
    world.server.reply_task(
        "tidy",
        "t1",
        vec![PollReply::says("reading"), PollReply::asks(&["go"]), PollReply::done()],
    );
    let id = world.start("tidy").await;
    world.until(&id, "waiting").await;
    world.call("tasks.answer", json!({"id": id, "action": "accept", "content": {"name": "Dana"}})).await;
    world.until(&id, "done").await;
    let history = world.call("tasks.history", json!({"id": id})).await;
    let events = history["events"].as_array().expect("events");
    let of =
        |verb: &str| events.iter().find(|event| event["verb"] == verb).unwrap_or_else(|| panic!("{verb}: {history:#}"));
    assert_eq!((&of("admitted")["lane"], &of("admitted")["who"]), (&json!("person"), &json!("ada")));
    assert_eq!((&of("accepted")["lane"], &of("accepted")["who"]), (&json!("server"), &json!("ci")));
    assert_eq!((&of("answerBegun")["lane"], &of("answerBegun")["key"]), (&json!("person"), &json!("go")));
    assert!(!history.to_string().contains("Dana"), "no content: {history:#}");
    let looks = history["looks"].as_array().expect("looks");
    assert!(looks.len() > 1 && looks.windows(2).all(|pair| pair[0].as_str() < pair[1].as_str()), "in order: {looks:?}");
    let shown = world.call("tasks.show", json!({"id": id})).await;
    assert_eq!((&shown["startedBy"], &shown["group"]), (&json!("ada"), &json!("finished")));
    assert!(shown["endedAt"].is_string() && shown["pausedMs"].is_u64(), "{shown:#}");
}

#[tokio::test(start_paused = true)]
async fn a_person_looks_away_and_what_a_server_starts_may_not() {
    let world = World::new().await;
    world.server.reply_task("build", "t1", vec![PollReply::working()]);
    let id = world.start("build").await;
    world.until(&id, "running").await;
    let looked = world.call("tasks.lookNow", json!({"id": id})).await;
    assert_eq!(looked["id"], json!(id));
    let child = descendant();
    for (name, input) in [
        ("tasks.unwatch", json!({"id": id})),
        ("tasks.lookNow", json!({"id": id})),
        ("tasks.undoAnswer", json!({"id": id, "key": "go"})),
        ("tasks.cancel", json!({"ids": [id]})),
        ("servers.agree", json!({"name": "ci"})),
        ("settings.change", json!({})),
    ] {
        let refused = world.api.dispatch(&child, name, &input.to_string()).await.expect_err("it may only read");
        assert_eq!(refused.code, Code::Refused, "{name}");
    }
    let away = world.call("tasks.unwatch", json!({"id": id, "note": "not mine"})).await;
    assert_eq!((&away["phase"], &away["intent"]["by"]), (&json!("unwatched"), &json!("ada")));
    let again = world.try_call("tasks.unwatch", json!({"id": id})).await.expect_err("once is enough");
    assert_eq!(again.code, Code::Refused);
}

#[tokio::test(start_paused = true)]
async fn a_server_without_consent_is_contacted_after_a_person_agreed() {
    let world = World::new().await;
    let mut imported = http_server(2, "later");
    imported.consent = None;
    world.registry.put_server(ServerUnit { server: imported, audit: Vec::new() }).await.expect("it is kept");
    assert_eq!(world.call("servers.show", json!({"name": "later"})).await["agreed"], json!(false));
    let agreed = world.call("servers.agree", json!({"name": "later"})).await;
    assert_eq!((&agreed["agreed"], &agreed["agreedBy"]), (&json!(true), &json!("ada")));
    let demo = world.call("demo.address", json!({})).await;
    assert_eq!((&demo["kind"], &demo["args"]), (&json!("stdio"), &json!(["demo-server"])));
}
