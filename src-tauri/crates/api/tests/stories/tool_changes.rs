//! Tools that changed since a person last looked: told, shown line by line, marked as seen, and bounded.

use std::time::Duration;

use api::Code;
use domain::audit::Verb;
use domain::ports::UpstreamEvent;
use domain::server::tool_memory::ToolMemory;
use serde_json::{Value, json};
use testkit::scripted::PollReply;

use crate::world::{World, descendant};

async fn listed(world: &World) -> Value {
    world.call("servers.tools", json!({"name": "ci"})).await["changes"].clone()
}

fn named(changes: &Value) -> Vec<(String, String)> {
    let word = |tool: &Value, field: &str| tool[field].as_str().expect("a word").to_owned();
    let tools = changes["tools"].as_array().expect("a list");
    tools.iter().map(|tool| (word(tool, "name"), word(tool, "change"))).collect()
}

async fn remembered(world: &World) -> ToolMemory {
    let server = world.registry.servers().await.expect("servers are read")[0].id;
    world.registry.tool_memory(server).await.expect("it is read").expect("the tools were listed")
}

#[tokio::test(start_paused = true)]
async fn a_changed_tool_is_told_and_shown_until_a_person_marks_it_as_seen() {
    let world = World::new().await;
    world.server.list_tools([("index", "Index one folder"), ("drop", "Drop it"), ("same", "Stays")]);
    let first = listed(&world).await;
    assert_eq!((named(&first), &first["seenBy"]), (Vec::new(), &Value::Null), "what comes first is no change");
    world.server.list_tools([("index", "Index a folder and its links"), ("new", "Is new"), ("same", "Stays")]);
    let changes = listed(&world).await;
    let expected = [("drop", "removed"), ("index", "changed"), ("new", "added")];
    assert_eq!(named(&changes), expected.map(|(name, change)| (name.to_owned(), change.to_owned())));
    let server = world.call("servers.show", json!({"name": "ci"})).await;
    assert_eq!(server["changedTools"], 3, "the server's row says so: {server:#}");

    let diff = world.call("servers.toolDiff", json!({"name": "ci", "tool": "index"})).await;
    let lines = |kind: &str| {
        let all = diff["lines"].as_array().expect("lines").iter();
        all.filter(|line| line["kind"] == kind).map(|line| line["text"].to_string()).collect::<String>()
    };
    assert!(lines("removed").contains("one folder") && lines("added").contains("its links"), "{diff:#}");
    assert_eq!((&diff["added"], &diff["removed"]), (&json!(1), &json!(1)), "{diff:#}");

    let seen = json!({"name": "ci", "digest": changes["digest"]});
    let refused = world.api.dispatch(&descendant(), "servers.toolsSeen", &seen.to_string()).await;
    assert_eq!(refused.expect_err("not a person").code, Code::Refused);
    world.call("servers.toolsSeen", seen).await;
    let after = listed(&world).await;
    assert_eq!((named(&after), &after["seenBy"]), (Vec::new(), &json!("ada")), "{after:#}");
    let gone = world.try_call("servers.toolDiff", json!({"name": "ci", "tool": "drop"})).await;
    assert_eq!(gone.expect_err("it is forgotten").code, Code::NotFound);
}

#[tokio::test(start_paused = true)]
async fn what_changed_after_a_person_looked_is_not_marked_as_seen() {
    let world = World::new().await;
    world.server.list_tools([("index", "Index one folder")]);
    listed(&world).await;
    world.server.list_tools([("index", "Index two folders")]);
    let shown = listed(&world).await;
    world.server.list_tools([("index", "Index everything")]);
    listed(&world).await;
    let seen = world.try_call("servers.toolsSeen", json!({"name": "ci", "digest": shown["digest"]})).await;
    assert_eq!(seen.expect_err("it changed again").code, Code::Refused);
    assert_eq!(named(&listed(&world).await).len(), 1, "it stays marked as changed");
}

/// Rows of the audit log about tools: verb, actor and note, the oldest first.
async fn recorded(world: &World) -> Vec<(String, String, String)> {
    let page = world.registry.audit_page(None, 0, 1_000).await.expect("the log is read");
    let of_tools = page
        .rows
        .into_iter()
        .map(|row| row.event)
        .filter(|event| matches!(event.verb, Verb::ToolsChanged | Verb::ToolsSeen));
    of_tools.map(|event| (event.verb.word().to_owned(), event.actor.to_string(), event.note)).collect()
}

#[tokio::test(start_paused = true)]
async fn what_a_server_changes_and_a_person_marks_as_seen_is_in_the_audit_log() {
    let world = World::new().await;
    world.server.list_tools([("index", "Index one folder"), ("drop", "Drop it")]);
    listed(&world).await;
    assert_eq!(recorded(&world).await, [], "what comes first is no change");
    world.server.list_tools([("index", "Index everything"), ("new", "Is new")]);
    let shown = listed(&world).await;
    listed(&world).await;
    world.call("servers.toolsSeen", json!({"name": "ci", "digest": shown["digest"]})).await;
    world.server.list_tools([("index", "Index and send it away"), ("new", "Is new")]);
    listed(&world).await;
    let rows = recorded(&world).await;
    let told: Vec<(&str, &str)> = rows.iter().map(|(verb, _, note)| (verb.as_str(), note.as_str())).collect();
    let changes = "changed: index; added: new; removed: drop";
    let expected = [("toolsChanged", changes), ("toolsSeen", changes), ("toolsChanged", "changed: index")];
    assert_eq!(told, expected, "each once, and what comes after the look at once");
    assert!(rows[0].1.starts_with("server:") && rows[1].1 == "person:ada", "{rows:?}");
    let report = world.call("audit.report", json!({"month": null})).await;
    assert_eq!(report["tools"], json!([]), "the last month had none: {report:#}");
}

#[tokio::test(start_paused = true)]
async fn a_server_whose_tools_change_at_each_look_gets_a_row_a_minute_and_no_more() {
    let world = World::new().await;
    for round in 0..300 {
        world.server.list_tools([("index", format!("Version {round}").as_str())]);
        listed(&world).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let rows = recorded(&world).await.len();
    assert!((4..=6).contains(&rows), "five minutes have five rows: {rows}");
}

#[tokio::test(start_paused = true)]
async fn five_thousand_tools_that_all_change_each_second_cost_a_bounded_number_of_listings_and_rows() {
    let world = World::new().await;
    let limits = world.policy.tool_memory.clone();
    let list = |round: usize| {
        let names: Vec<String> = (0..5_000).map(|n| format!("tool-{round}-{n}")).collect();
        world.server.list_tools(names.iter().map(|name| (name.as_str(), "Changes each second")));
    };
    list(0);
    listed(&world).await;
    let before = remembered(&world).await;
    for round in 1..=180 {
        list(round);
        world.server.say(UpstreamEvent::ToolsChanged);
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let after = remembered(&world).await;
    assert_ne!(before, after, "it is looked at all the same");
    assert!(after.tools.len() <= 2 * limits.tools_per_server, "{} rows", after.tools.len());
    assert_eq!(after.left_out, 5_000 - u64::try_from(limits.tools_per_server).expect("a count"));
    let kept = after.tools.values().flat_map(|tool| [&tool.seen, &tool.listed]).flatten();
    let bytes: usize = kept.filter_map(|version| version.text.as_ref()).map(|text| text.len()).sum();
    assert!(bytes <= 2 * limits.bytes_per_server, "{bytes} bytes");
    let listings = world.server.tool_listings();
    assert!((2..=5).contains(&listings), "three minutes are three listings and the first: {listings}");
}

#[tokio::test(start_paused = true)]
async fn each_tool_says_how_often_it_was_called_and_what_it_usually_takes_and_the_calls_are_those_of_the_server() {
    let world = World::new().await;
    world.server.list_tools([("build", "Takes long"), ("other", "Is called once"), ("idle", "Is not called")]);
    let figures = async || {
        let list = world.call("servers.tools", json!({"name": "ci"})).await;
        let tools = list["tools"].as_array().expect("a list").clone();
        tools.into_iter().map(|tool| (tool["callsDay"].clone(), tool["usualTime"].clone())).collect::<Vec<_>>()
    };
    for round in 0..5 {
        let looks = vec![PollReply::working(), PollReply::done()];
        world.server.reply_task("build", &format!("t{round}"), looks);
        let id = world.start("build").await;
        world.until(&id, "done").await;
        let known = figures().await;
        assert_eq!(known[0].0, json!(round + 1), "each call counts once");
        assert_eq!(known[0].1.is_null(), round < 4, "a usual time needs five finished calls: {known:?}");
    }
    world.server.reply_task("other", "t9", vec![PollReply::working()]);
    let other = world.start("other").await;
    world.until_field(&other, "view", "task").await;
    let known = figures().await;
    assert_eq!((&known[1].0, &known[2].0), (&json!(1), &json!(0)), "{known:?}");
    assert_eq!((&known[1].1, &known[2].1), (&Value::Null, &Value::Null), "one call is too few");
    assert_eq!(known[0].1["samples"], 5, "{known:?}");
    let times = world.call("servers.times", json!({"name": "ci"})).await;
    assert_eq!(times["day"]["calls"]["count"], 6, "the tools together are the server: {times:#}");
    let list = world.call("servers.tools", json!({"name": "ci"})).await;
    assert_eq!(list["callsSince"], times["since"], "counting began with the core: {list:#}");
}
