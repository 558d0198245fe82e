//! How an agent gets in, as people see it: its sessions, a new token, and the check of its connection.

use std::time::Duration;

use api::Code;
use domain::agent::TokenDigest;
use domain::ids::AgentId;
use domain::time::Timestamp;
use engine::{AgentDoor, AgentSession};
use serde_json::json;

use crate::agents::{agent, handle};
use crate::world::World;

#[tokio::test(start_paused = true)]
async fn a_new_token_replaces_the_old_one_and_leaves_the_tasks_alone() {
    let world = World::new().await;
    let (id, old) = agent(&world, "saved").await;
    world.server.reply_task("build", "t1", vec![testkit::scripted::PollReply::working()]);
    let task = handle(&world, id, "build").await;
    world.engine.agent_asked(id, Some("codex 1.0"), AgentDoor::Http);
    let made = world.call("agents.newToken", json!({"agent": "saved"})).await;
    let token = made["token"].as_str().expect("a token");
    assert_ne!(token, old, "it is another one");
    assert_eq!(made["endedSessions"], 1, "{made}");
    assert_eq!(world.doors.saved.lock().as_deref(), Some(token), "the file for the bridge has it");
    assert_eq!(made["savedIn"], "/home/ada/tasks/agents/saved");
    let stdio = made["settings"]["stdio"].as_str().expect("text");
    assert!(!stdio.contains(token), "settings do not repeat what the file has: {stdio}");
    let agents = world.engine.agents();
    assert!(agents.by_token(&TokenDigest::of(&old)).is_none(), "the old token opens nothing");
    assert_eq!(agents.by_token(&TokenDigest::of(token)).map(|agent| agent.id), Some(id));
    let shown = world.call("tasks.show", json!({"id": task})).await;
    assert_eq!((&shown["agent"], &shown["intent"]), (&json!("saved"), &json!(null)), "its task goes on");
    let listed = world.call("agents.list", json!({})).await;
    assert!(!listed.to_string().contains("twa_"), "nobody shows it again");

    world.call("agents.revoke", json!({"agent": "saved"})).await;
    let refused = world.try_call("agents.newToken", json!({"agent": "saved"})).await.expect_err("it is out");
    assert_eq!(refused.code, Code::Refused, "{refused:?}");
}

#[tokio::test(start_paused = true)]
async fn a_change_that_was_read_before_a_new_token_does_not_bring_the_old_one_back() {
    let world = World::new().await;
    let (id, _) = agent(&world, "claude").await;
    let read_before = world.registry.agents().await.expect("agents").remove(0);
    let made = world.call("agents.newToken", json!({"agent": "claude"})).await;
    let token = made["token"].as_str().expect("a token");
    let unit = domain::ports::AgentUnit { agent: read_before, audit: Vec::new(), ended_pause: None };
    world.registry.put_agent(unit).await.expect("it is written back");
    world.engine.agents_changed().await.expect("agents are read");
    let holder = world.engine.agents().by_token(&TokenDigest::of(token)).map(|agent| agent.id);
    assert_eq!(holder, Some(id), "the token that was made last counts");
}

#[tokio::test(start_paused = true)]
async fn an_agent_is_shown_with_its_sessions_and_since_when_it_is_connected() {
    let world = World::new().await;
    let (id, _) = agent(&world, "claude").await;
    let shown = async || world.call("agents.list", json!({})).await["agents"][0].clone();
    assert_eq!(shown().await["connectedSince"], json!(null));
    world.engine.agent_asked(id, Some("codex 1.0"), AgentDoor::Http);
    let first = shown().await;
    assert!(first["connectedSince"].is_string(), "{first}");
    assert_eq!(first["sessions"][0]["door"], "http", "without a session it is one row: {first}");
    assert_eq!(first["sessions"][0]["program"], "codex 1.0");
    tokio::time::sleep(Duration::from_secs(30)).await;
    world.engine.agent_asked(id, None, AgentDoor::Http);
    assert_eq!(shown().await["connectedSince"], first["connectedSince"], "it was here all the time");

    let opened = Timestamp::from_millis(5_000);
    world.engine.set_agent_sessions(move |_: AgentId| {
        vec![AgentSession { door: AgentDoor::Command, program: Some("inspector 2".into()), opened, last_request: None }]
    });
    let bridge = world.engine.agent_bridge(id);
    let both = shown().await;
    let doors: Vec<_> = both["sessions"].as_array().expect("rows").iter().map(|row| row["door"].clone()).collect();
    assert_eq!(doors, [json!("command"), json!("command")], "a bridge without a session is a row of its own: {both}");
    drop(bridge);
    tokio::time::sleep(world.policy.gateway.connected_for).await;
    let gone = shown().await;
    assert_eq!((&gone["connected"], &gone["sessions"]), (&json!(false), &json!([])), "{gone}");
}

#[tokio::test(start_paused = true)]
async fn a_check_says_what_works_and_what_does_not() {
    let world = World::new().await;
    let (id, _) = agent(&world, "claude").await;
    let check = async || world.call("agents.check", json!({"agent": "claude"})).await;
    let fresh = check().await;
    assert_eq!((&fresh["seenAt"], &fresh["tokenUsed"]), (&json!(null), &json!(false)), "{fresh}");
    assert_eq!(fresh["http"], json!({"tookMs": 3, "why": null}));
    assert_eq!(fresh["waitsMs"], json!(null), "nothing is known of its program: {fresh}");

    tokio::time::sleep(Duration::from_secs(1)).await;
    world.engine.agent_asked(id, Some("claude-code 2.1.0"), AgentDoor::Command);
    *world.doors.socket_fails.lock() = Some("It did not answer within 3 s.".into());
    let later = check().await;
    assert_eq!((&later["seenThrough"], &later["tokenUsed"]), (&json!("command"), &json!(true)), "{later}");
    assert_eq!(later["command"]["why"], "It did not answer within 3 s.");
    assert!(later["waitsMs"].is_u64() && later["waitsLearned"] == false, "its program is known: {later}");

    tokio::time::sleep(Duration::from_secs(1)).await;
    world.call("agents.newToken", json!({"agent": "claude"})).await;
    assert_eq!(check().await["tokenUsed"], false, "nobody has come with the new one");
}

#[tokio::test(start_paused = true)]
async fn arguments_of_earlier_calls_are_offered_without_secrets() {
    let world = World::new().await;
    world.server.reply_task("build", "t", vec![testkit::scripted::PollReply::done()]);
    for arguments in [
        json!({"path": "/a"}),
        json!({"path": "/b", "apiKey": "k-1"}),
        json!({"path": "/b", "apiKey": "k-2"}),
        json!({"n": 9_007_199_254_740_993_u64}),
        json!({}),
    ] {
        world.call("tasks.start", json!({"server": "ci", "tool": "build", "arguments": arguments})).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let offered = world.call("tasks.recentArguments", json!({"server": "ci", "tool": "build"})).await;
    assert!(!offered.to_string().contains("k-"), "no secret is offered: {offered}");
    let rows: Vec<_> = offered["recent"].as_array().expect("rows").iter().map(|row| &row["arguments"]).collect();
    assert_eq!(rows, [&json!({"path": "/b"}), &json!({"path": "/a"})], "the newest first, none twice: {offered}");
    assert_eq!((&offered["recent"][0]["leftOut"], &offered["recent"][1]["leftOut"]), (&json!(true), &json!(false)));
    let other = world.call("tasks.recentArguments", json!({"server": "ci", "tool": "other"})).await;
    assert_eq!(other["recent"], json!([]), "of this tool alone");
}
