//! What a person keeps: views, snoozes, drafts and settings, checked before they are kept.

use api::Code;
use domain::ids::RequestKey;
use domain::task::input_request::Ask;
use serde_json::json;
use testkit::scripted::PollReply;

use crate::world::{World, descendant};

#[tokio::test(start_paused = true)]
async fn a_draft_survives_but_never_its_secrets() {
    let world = World::new().await;
    let schema = json!({"type": "object", "properties": {"name": {"type": "string"}, "password": {"type": "string"}}});
    let ask = Ask::Form { message: "Who?".into(), schema };
    world.server.reply_task("tidy", "t1", vec![PollReply::Asks([(RequestKey::new("who/1"), ask)].into())]);
    let id = world.start("tidy").await;
    world.until(&id, "waiting").await;
    let key = format!("{id}/who/1");
    let value = json!({"values": {"name": "Dana", "password": "hush"}, "json": "{\"password\": \"hush\""});
    world.call("desk.put", json!({"kind": "draft", "key": key, "value": value})).await;
    let kept = world.call("desk.list", json!({"kind": "draft"})).await;
    assert_eq!(kept["items"][0]["key"], json!(key));
    assert_eq!(kept["items"][0]["value"]["values"], json!({"name": "Dana"}), "{kept:#}");
    assert!(!kept.to_string().contains("hush"), "nowhere: {kept:#}");
    let raw = world.registry.desk_list("draft").await.expect("it can be read");
    assert!(raw.iter().all(|item| !item.value.contains("hush")), "nor where it is kept");

    let unknown = json!({"kind": "draft", "key": format!("{id}/other"), "value": {"x": 1}});
    assert_eq!(world.try_call("desk.put", unknown).await.expect_err("no such question").code, Code::NotFound);
    world.call("desk.put", json!({"kind": "draft", "key": key, "value": null})).await;
    assert_eq!(world.call("desk.list", json!({"kind": "draft"})).await["items"], json!([]), "null forgets it");
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_kept_is_refused_with_the_reason() {
    let world = World::new().await;
    let large = "x".repeat(world.policy.desk_value_bytes);
    for (input, code) in [
        (json!({"kind": "vew", "key": "a", "value": 1}), Code::Usage),
        (json!({"kind": "setting", "key": "settings", "value": {}}), Code::Usage),
        (json!({"kind": "view", "key": "", "value": 1}), Code::Usage),
        (json!({"kind": "snooze", "key": "a", "value": {"until": "tomorrow"}}), Code::Usage),
        (json!({"kind": "snooze", "key": "a", "value": 7}), Code::Usage),
        (json!({"kind": "view", "key": "a", "value": large}), Code::Refused),
    ] {
        let refused = world.try_call("desk.put", input.clone()).await.expect_err("it is refused");
        assert_eq!(refused.code, code, "{}: {refused:?}", input["kind"]);
    }
    let child = descendant();
    let put = json!({"kind": "snooze", "key": "a", "value": null}).to_string();
    let refused = world.api.dispatch(&child, "desk.put", &put).await.expect_err("a server's child hides nothing");
    assert_eq!(refused.code, Code::Refused);
}

#[tokio::test(start_paused = true)]
async fn settings_change_one_by_one_and_only_to_what_they_can_be() {
    let world = World::new().await;
    let mut moves = world.api.user_data_changes();
    let first = world.call("settings.change", json!({})).await;
    assert!(!moves.has_changed().expect("it is open"), "who only reads writes nothing back");
    assert_eq!((&first["theme"], &first["notifyWaiting"]), (&json!("system"), &json!(true)), "defaults: {first:#}");
    world.call("settings.change", json!({"theme": "dark", "quietFrom": "22:00"})).await;
    assert!(moves.has_changed().expect("it is open"), "and a change is told");
    moves.mark_unchanged();
    let now = world.call("settings.change", json!({"quietFrom": null, "autostart": true})).await;
    assert_eq!((&now["theme"], &now["quietFrom"], &now["autostart"]), (&json!("dark"), &json!(null), &json!(true)));
    for wrong in [
        json!({"theme": "pink"}),
        json!({"quietFrom": "25:00"}),
        json!({"pausedUntil": "later"}),
        json!({"volume": 11}),
        json!({"autostart": "yes"}),
    ] {
        let refused = world.try_call("settings.change", wrong.clone()).await.expect_err("it cannot be");
        assert_eq!(refused.code, Code::Usage, "{wrong}");
    }
    assert_eq!(world.call("settings.change", json!({})).await, now, "nothing of it was kept");
}
