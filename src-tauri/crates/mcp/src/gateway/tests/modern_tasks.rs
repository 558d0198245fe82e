//! Tasks of 2026-07-28 as their agent sees them: readings, answers, stops and pushes.

use std::time::Duration;

use domain::rule::AudienceRule;
use domain::task::payload::Payload;
use domain::task::status::RpcError;
use serde_json::{Value, json};
use testkit::scripted::{EngineAction, PollReply};

use super::setup::{AgentClient, GatewaySetup, task_id};

const SECOND: Duration = Duration::from_secs(1);

async fn task(setup: &GatewaySetup, agent: &AgentClient, looks: Vec<PollReply>) -> String {
    setup.scripted.reply_task("long", "upstream-1", looks);
    task_id(&agent.call("long").await.result())
}

#[tokio::test(start_paused = true)]
async fn readings_cost_the_server_nothing() {
    let setup = GatewaySetup::new().await;
    let agent = setup.modern(1);
    let id = task(&setup, &agent, vec![PollReply::working()]).await;
    tokio::time::sleep(SECOND).await;
    let before = setup.scripted.reads("upstream-1").len();
    for _ in 0..1_000 {
        assert_eq!(agent.get(&id).await.result()["status"], "working", "it works");
    }
    // A reading takes a millisecond of the stage's clock, so the engine's own look may fall into it.
    let after = setup.scripted.reads("upstream-1").len();
    assert!(after - before <= 2, "{} looks for a thousand readings", after - before);
}

#[tokio::test(start_paused = true)]
async fn a_task_says_the_facts_of_this_era() {
    let setup = GatewaySetup::new().await;
    let agent = setup.modern(1);
    let id = task(&setup, &agent, vec![PollReply::working()]).await;
    let read = agent.get(&id).await.result();
    assert_eq!(read["taskId"], id.as_str(), "under our id");
    for fact in ["createdAt", "lastUpdatedAt"] {
        assert!(read[fact].as_str().is_some_and(|at| at.ends_with('Z')), "`{fact}` is a time: {read}");
    }
    assert!(read["ttlMs"].is_null() || read["ttlMs"].is_u64(), "`ttlMs` is there: {read}");
    assert!(read["pollIntervalMs"].as_u64().is_some_and(|every| every >= 500), "a fair interval: {read}");
    assert_eq!(read["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "taskwarden", "who answers");
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_polls_in_a_loop_is_answered_and_told_to_wait_longer() {
    let setup = GatewaySetup::new().await;
    let agent = setup.modern(1);
    let id = task(&setup, &agent, vec![PollReply::working()]).await;
    let told = async || agent.get(&id).await.result()["pollIntervalMs"].as_u64().expect("an interval");
    let first = told().await;
    for _ in 0..20 {
        assert!(told().await >= first, "every poll is answered");
    }
    assert!(told().await > first, "and the interval grows");
    for _ in 0..3 {
        tokio::time::advance(Duration::from_millis(2 * first)).await;
        told().await;
    }
    assert_eq!(told().await, first, "until the agent waits");
}

#[tokio::test(start_paused = true)]
async fn an_ended_task_reads_the_same_however_often_the_agent_polls() {
    let setup = GatewaySetup::new().await;
    let agent = setup.modern(1);
    let end = PollReply::ToolError(r#"{"content":[],"isError":true}"#.into());
    let id = task(&setup, &agent, vec![PollReply::working(), end]).await;
    let ended = agent.until_status(&id, "completed").await;
    for _ in 0..20 {
        assert_eq!(agent.get(&id).await.result(), ended, "nothing of it changes any more");
    }
}

#[tokio::test(start_paused = true)]
async fn a_failed_task_shows_the_servers_error_and_an_is_error_result_is_completed() {
    let setup = GatewaySetup::new().await;
    let agent = setup.modern(1);
    let error = RpcError { code: -7, message: "broken".into() };
    let id = task(&setup, &agent, vec![PollReply::working(), PollReply::Failed(error)]).await;
    let failed = agent.until_status(&id, "failed").await;
    assert_eq!(failed["error"]["code"], -7, "its own code: {failed}");
    setup.scripted.reply_task(
        "odd",
        "upstream-2",
        vec![PollReply::working(), PollReply::ToolError(r#"{"content":[],"isError":true}"#.into())],
    );
    let odd = task_id(&agent.call("odd").await.result());
    let done = agent.until_status(&odd, "completed").await;
    assert_eq!(done["result"]["isError"], true, "a tool error is a result in this era: {done}");
}

#[tokio::test(start_paused = true)]
async fn people_are_asked_and_the_agent_sees_honest_work() {
    let setup = GatewaySetup::new().await;
    let agent = setup.modern(1);
    let id =
        task(&setup, &agent, vec![PollReply::asks(&["name"]), PollReply::Completed(r#"{"content":[]}"#.into())]).await;
    let waiting = loop {
        let read = agent.get(&id).await.result();
        assert_ne!(read["status"], "input_required", "people are asked, not the agent (68)");
        if read["statusMessage"].is_string() {
            break read;
        }
        tokio::time::sleep(SECOND / 10).await;
    };
    assert_eq!(waiting["statusMessage"], "Waiting for a person to answer.", "{waiting}");
    assert!(!waiting.to_string().contains("inputRequests"), "it does not see the question: {waiting}");
    let update = json!({"taskId": id, "inputResponses": {"name": {"action": "accept", "content": {"name": "x"}}}});
    agent.ask("tasks/update", update).await.result();
    tokio::time::sleep(5 * SECOND).await;
    assert!(setup.scripted.answers().is_empty(), "what it answers all the same goes nowhere");
    let input = domain::task::AnswerInput {
        key: None,
        action: domain::task::input_request::AnswerAction::Accept,
        content: Some(Payload::new(r#"{"name":"ada"}"#)),
        by: testkit::build::person("ada").into(),
        not_before: None,
    };
    setup.engine.answer(id.parse().expect("an id"), input).await.expect("the person answers");
    agent.until_status(&id, "completed").await;
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_is_asked_answers_and_later_answers_are_acknowledged_and_ignored() {
    let setup = GatewaySetup::new().await;
    setup.rule("long", |rule| rule.asked = Some(AudienceRule::Agent)).await;
    let agent = setup.modern(1);
    let id =
        task(&setup, &agent, vec![PollReply::asks(&["name"]), PollReply::Completed(r#"{"content":[]}"#.into())]).await;
    let asked = agent.until_status(&id, "input_required").await;
    assert!(asked["inputRequests"].as_object().is_some_and(|asks| asks.len() == 1), "all that is open: {asked}");
    let answer = |name: &str| {
        json!({"taskId": id, "inputResponses": {
            "name": {"action": "accept", "content": {"name": name}},
            "unknown": {"action": "decline"},
        }})
    };
    let acked = agent.ask("tasks/update", answer("first")).await.result();
    assert_eq!(acked["resultType"], "complete", "an acknowledgement (52)");
    assert!(agent.ask("tasks/update", answer("second")).await.answer.is_ok(), "a late answer is acknowledged too (67)");
    agent.until_status(&id, "completed").await;
    let sent = setup.scripted.answers();
    assert_eq!(sent.len(), 1, "one answer reached the server: {sent:?}");
    assert!(sent[0].2.as_deref().is_some_and(|content| content.contains("first")), "the first one: {sent:?}");
}

#[tokio::test(start_paused = true)]
async fn a_stop_is_acknowledged_at_once_and_obeyed_later() {
    let setup = GatewaySetup::new().await;
    let agent = setup.modern(1);
    let id = task(&setup, &agent, vec![PollReply::working()]).await;
    let acked = agent.ask("tasks/cancel", json!({"taskId": id})).await.result();
    assert_eq!(acked["resultType"], "complete", "an acknowledgement only: {acked}");
    assert!(acked.get("status").is_none(), "nothing more is said: {acked}");
    setup
        .until("the stop left", |setup| !setup.scripted.times(|act| matches!(act, EngineAction::Cancel(_))).is_empty())
        .await;
    setup.scripted.becomes("upstream-1", PollReply::Cancelled);
    agent.until_status(&id, "cancelled").await;
    assert!(agent.ask("tasks/cancel", json!({"taskId": id})).await.answer.is_ok(), "a second one too");
}

#[tokio::test(start_paused = true)]
async fn without_the_extension_there_are_no_tasks() {
    let setup = GatewaySetup::new().await;
    let id = task(&setup, &setup.modern(1), vec![PollReply::working()]).await;
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let error = setup.plain(1).ask(method, json!({"taskId": id, "inputResponses": {}})).await.error();
        assert_eq!(error["code"], -32_021, "`{method}` needs it declared (50)");
        let needed = &error["data"]["requiredCapabilities"]["extensions"]["io.modelcontextprotocol/tasks"];
        assert!(needed.is_object(), "and says what: {error}");
    }
    let listen = json!({"notifications": {"taskIds": [id]}});
    let error = setup.plain(1).ask("subscriptions/listen", listen).await.error();
    assert_eq!(error["code"], -32_021, "listening to tasks too (50)");
    for method in ["tasks/result", "tasks/list", "initialize", "ping"] {
        let error = setup.modern(1).ask(method, json!({"taskId": id})).await.error();
        assert_eq!(error["code"], -32_601, "`{method}` is not of this era (53)");
    }
}

#[tokio::test(start_paused = true)]
async fn a_listener_hears_every_change_of_its_tasks_and_of_no_others() {
    let setup = GatewaySetup::new().await;
    let agent = setup.modern(1);
    let id =
        task(&setup, &agent, vec![PollReply::working(), PollReply::Completed(r#"{"content":[],"n":1.50}"#.into())])
            .await;
    let stranger = setup.modern(2);
    let wanted = json!({"notifications": {"taskIds": [id, "hdl_00000000000000000000000000"]}});
    let mut theirs = stranger.listen("subscriptions/listen", wanted.clone());
    let ack = theirs.next().await;
    assert_eq!(ack["params"]["notifications"]["taskIds"], json!([]), "nothing of others is accepted: {ack}");
    let mut stream = agent.listen("subscriptions/listen", wanted);
    let ack = stream.next().await;
    assert_eq!(ack["method"], "notifications/subscriptions/acknowledged", "the acknowledgement comes first");
    assert_eq!(ack["params"]["notifications"]["taskIds"], json!([id]), "what was accepted: {ack}");
    let pushed = loop {
        let pushed = stream.next().await;
        if pushed["params"]["status"] == "completed" {
            break pushed;
        }
    };
    assert_eq!(pushed["method"], "notifications/tasks");
    assert_eq!(pushed["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], Value::from(1), "{pushed}");
    let read = agent.get(&id).await.result();
    for member in ["taskId", "status", "result", "createdAt", "lastUpdatedAt", "ttlMs"] {
        assert_eq!(pushed["params"][member], read[member], "`{member}` is what a reading says");
    }
}
