//! Agents among one another, and agents that are out.

use std::time::Duration;

use domain::agent::TokenDigest;
use domain::ports::CallReply;
use domain::task::payload::Payload;
use serde_json::json;
use testkit::build::person;
use testkit::scripted::{EngineAction, PollReply};

use super::setup::{GatewaySetup, task_id};
use crate::server::response_stream::StreamWriter;

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn unknown_foreign_and_malformed_ids_are_one_answer() {
    let setup = GatewaySetup::new().await;
    setup.scripted.reply_task("long", "upstream-1", vec![PollReply::working()]);
    let id = task_id(&setup.modern(1).call("long").await.result());
    let stranger = setup.modern(2);
    let mut answers = Vec::new();
    for guess in [id.as_str(), "hdl_00000000000000000000000007", "upstream-1", "", "hdl_"] {
        for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
            let asked = stranger.ask(method, json!({"taskId": guess, "inputResponses": {}})).await;
            answers.push(asked.error().to_string());
        }
    }
    answers.dedup();
    assert_eq!(answers.len(), 1, "nothing tells them apart (58): {answers:?}");
    assert!(answers[0].contains("-32602"), "{answers:?}");
    let stops = setup.scripted.times(|act| matches!(act, EngineAction::Cancel(_)));
    assert!(stops.is_empty(), "and nothing was done");
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_is_out_is_refused_and_everything_of_it_ends() {
    let setup = GatewaySetup::new().await;
    setup.scripted.reply_task("long", "upstream-1", vec![PollReply::working()]);
    let agent = setup.modern(1);
    let id = task_id(&agent.call("long").await.result());
    let mut stream = agent.listen("subscriptions/listen", json!({"notifications": {"taskIds": [id]}}));
    stream.next().await;
    let reply = CallReply::Result { payload: Payload::new("{}"), is_error: false };
    setup.scripted.reply("slow", 60 * SECOND, Ok(reply));
    let held = setup.plain(1).listen("tools/call", json!({"name": "slow", "arguments": {}}));
    tokio::time::sleep(SECOND).await;

    setup.engine.revoke_agent(agent.agent, person("ada"), None).await.expect("the agent is out");
    assert!(stream.is_over().await, "its stream is closed");
    setup.until("its held call ended", |_| held.ended.lock().is_some()).await;
    let refused = agent.get(&id).await.answer.expect_err("it has no access");
    assert_eq!(refused.status(), 403, "as the door answers");
    setup
        .until("its task was asked to stop", |setup| {
            !setup.scripted.times(|act| matches!(act, EngineAction::Cancel(_))).is_empty()
        })
        .await;
    setup.scripted.reply(
        "quick",
        Duration::ZERO,
        Ok(CallReply::Result { payload: Payload::new("{}"), is_error: false }),
    );
    assert!(setup.modern(2).call("quick").await.answer.is_ok(), "others go on");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_for_its_first_reply_ends_with_its_agents_access() {
    let setup = GatewaySetup::new().await;
    let reply = CallReply::Result { payload: Payload::new(r#"{"content":[]}"#), is_error: false };
    setup.scripted.reply("quick", SECOND / 25, Ok(reply));
    let agent = setup.plain(1);
    let called = agent.listen("tools/call", json!({"name": "quick", "arguments": {}}));
    tokio::time::sleep(SECOND / 200).await;
    let begun = tokio::time::Instant::now();
    // The revocation itself waits for the server, which is asked to cancel.
    let revoking = setup.engine.revoke_agent(agent.agent, person("ada"), Some("out".to_owned()));
    let answered = async {
        setup.until("its call ended", |_| called.ended.lock().is_some()).await;
        begun.elapsed()
    };
    let (revoked, after) = tokio::join!(revoking, answered);
    revoked.expect("the agent is out");
    assert!(after < SECOND / 40, "before the reply of its server: {after:?}");
    let ended = called.ended.lock().take().expect("it ended").expect("a model reads results");
    assert!(ended.text().contains("out"), "in the words of the person: {}", ended.text());
}

#[tokio::test(start_paused = true)]
async fn a_new_token_ends_what_was_opened_with_the_old_one_and_no_task() {
    let setup = GatewaySetup::new().await;
    let reply = CallReply::Result { payload: Payload::new(r#"{"content":[]}"#), is_error: false };
    setup.scripted.reply("quick", SECOND, Ok(reply));
    let (agent, session) = (setup.plain(1), setup.legacy(1, "2025-11-25", &json!({})));
    drop(session.ask("initialize", json!({"protocolVersion": "2025-11-25", "capabilities": {}})).await);
    let (outlet, mut standing) = StreamWriter::open();
    session.session().stand(outlet);
    let called = agent.listen("tools/call", json!({"name": "quick", "arguments": {}}));
    tokio::time::sleep(SECOND / 200).await;
    let token = TokenDigest::of("twa_new");
    setup.engine.replace_agent_token(agent.agent, token, person("ada")).await.expect("it has a new token");
    setup.until("its call ended", |_| called.ended.lock().is_some()).await;
    let ended = called.ended.lock().take().expect("it ended").expect("a model reads results");
    assert!(ended.text().contains("new token"), "in words for its model: {}", ended.text());
    let closed = tokio::time::timeout(60 * SECOND, async { while standing.recv().await.is_some() {} }).await;
    assert!(closed.is_ok(), "its session is over");
    assert!(
        setup.scripted.times(|act| matches!(act, EngineAction::Cancel(_))).is_empty(),
        "nothing at the server was cancelled"
    );
    let reply = CallReply::Result { payload: Payload::new(r#"{"content":[]}"#), is_error: false };
    setup.scripted.reply("again", SECOND, Ok(reply));
    let again = setup.modern(1).ask("tools/call", json!({"name": "again", "arguments": {}})).await;
    assert!(again.answer.is_ok(), "with the new token it goes on");
}

#[tokio::test(start_paused = true)]
async fn the_standing_stream_of_an_agent_that_is_out_is_closed() {
    let setup = GatewaySetup::new().await;
    let agent = setup.legacy(1, "2025-11-25", &json!({}));
    // The scripted server has no greeting to pass on; the session is known all the same.
    drop(agent.ask("initialize", json!({"protocolVersion": "2025-11-25", "capabilities": {}})).await);
    let (outlet, mut standing) = StreamWriter::open();
    agent.session().stand(outlet);
    setup.engine.revoke_agent(agent.agent, person("ada"), None).await.expect("the agent is out");
    let ended = tokio::time::timeout(60 * SECOND, async { while standing.recv().await.is_some() {} }).await;
    assert!(ended.is_ok(), "nothing more is said to it");
}

#[tokio::test(start_paused = true)]
async fn nobody_comes_in_without_a_door() {
    let setup = GatewaySetup::new().await;
    let stranger = setup.modern(77);
    let refused = stranger.call("quick").await.answer.expect_err("no such agent");
    assert_eq!(refused.status(), 403, "unknown agents are out");
    assert!(
        setup.scripted.times(|act| matches!(act, EngineAction::Call { .. })).is_empty(),
        "nothing reached the server"
    );
}

#[tokio::test(start_paused = true)]
async fn no_method_reaches_the_configuration() {
    let setup = GatewaySetup::new().await;
    let before = setup.registry.servers().await.expect("readable");
    let agent = setup.modern(1);
    for method in ["servers.add", "servers.remove", "agents.add", "rules.put", "tasks.answer", "tasks.release"] {
        let at_all = agent.clone().at_all().ask(method, json!({"name": "x", "command": "/bin/sh"})).await;
        assert!(at_all.answer.is_err(), "`{method}` is nothing here (75)");
    }
    let after = setup.registry.servers().await.expect("readable");
    assert_eq!(before.len(), after.len(), "nothing was added");
}
