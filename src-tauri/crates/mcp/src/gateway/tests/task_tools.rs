//! The four tools of clients that know no tasks: past a client's patience, and after.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::scripted::{EngineAction, PollReply};

use super::setup::{AgentClient, GatewaySetup};

const SECOND: Duration = Duration::from_secs(1);

fn text(result: &Value) -> String {
    result["content"][0]["text"].as_str().unwrap_or_default().to_owned()
}

async fn tool(agent: &AgentClient, name: &str, arguments: Value) -> Value {
    agent.ask("tools/call", json!({"name": name, "arguments": arguments})).await.result()
}

/// A call that outlasts its client, and the short handle that its result names.
async fn outlasts(setup: &GatewaySetup, agent: &AgentClient, after: Duration, result: &str) -> String {
    setup.replies("slow", after, result);
    let result = agent.call("slow").await.result();
    let text = text(&result);
    let at = text.find("hdl_").unwrap_or_else(|| panic!("a handle is named: {text}"));
    let short: String = text[at..].chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
    assert!(short.len() < 20, "a short one, for models: {short}");
    assert_ne!(result["isError"], true, "an ordinary result: {result}");
    short
}

#[tokio::test(start_paused = true)]
async fn past_its_clients_patience_a_call_goes_on_under_a_short_handle() {
    let setup = GatewaySetup::new().await;
    let agent = setup.plain(1);
    let begun = tokio::time::Instant::now();
    let short = outlasts(&setup, &agent, 60 * SECOND, r#"{"content":[{"type":"text","text":"late"}]}"#).await;
    assert!(begun.elapsed() <= 26 * SECOND, "25 s for a client that nobody knows (ruling 22): {:?}", begun.elapsed());
    let waited = tool(&agent, "tasks_wait", json!({"task": short, "seconds": 5})).await;
    assert!(text(&waited).contains("goes on"), "it still runs: {waited}");
    let early = tool(&agent, "tasks_result", json!({"task": short})).await;
    assert!(text(&early).contains("still runs"), "{early}");
    tokio::time::sleep(10 * SECOND).await;
    let listed = tool(&agent, "tasks_list", json!({})).await;
    assert!(text(&listed).contains(&short), "it is listed: {listed}");
    let done = tool(&agent, "tasks_wait", json!({"task": short})).await;
    assert_eq!(text(&done), "late", "the call's own result: {done}");
    for _ in 0..2 {
        let again = tool(&agent, "tasks_result", json!({"task": short})).await;
        assert_eq!(text(&again), "late", "as often as needed: {again}");
    }
    assert_eq!(setup.scripted.times(|act| matches!(act, EngineAction::Call { .. })).len(), 1, "the tool ran once");
}

#[tokio::test(start_paused = true)]
async fn giving_up_the_waiting_does_not_stop_the_work() {
    let setup = GatewaySetup::new().await;
    let agent = setup.plain(1);
    let short = outlasts(&setup, &agent, 120 * SECOND, r#"{"content":[]}"#).await;
    let wait = json!({"name": "tasks_wait", "arguments": {"task": short}});
    agent.give_up("tools/call", wait, SECOND, Some(crate::server::CancelReason::Cancelled)).await;
    tokio::time::sleep(5 * SECOND).await;
    assert!(
        setup.scripted.times(|act| matches!(act, EngineAction::CancelCall(_))).is_empty(),
        "only the waiting ended"
    );
    tool(&agent, "tasks_cancel", json!({"task": short})).await;
    setup
        .until("the call was asked to stop", |setup| {
            !setup.scripted.times(|act| matches!(act, EngineAction::CancelCall(_))).is_empty()
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_handle_of_another_agent_is_none() {
    let setup = GatewaySetup::new().await;
    let short = outlasts(&setup, &setup.plain(1), 60 * SECOND, r#"{"content":[]}"#).await;
    let stranger = setup.plain(2);
    for name in ["tasks_wait", "tasks_result", "tasks_cancel"] {
        let answer = tool(&stranger, name, json!({"task": short})).await;
        assert!(text(&answer).contains("no such task"), "`{name}`: {answer}");
    }
    let listed = tool(&stranger, "tasks_list", json!({})).await;
    assert!(!text(&listed).contains(&short), "nor is it listed: {listed}");
}

#[tokio::test(start_paused = true)]
async fn a_long_result_is_read_in_parts() {
    let setup = GatewaySetup::new().await;
    let agent = setup.plain(1);
    let long = "x".repeat(100_000);
    let short =
        outlasts(&setup, &agent, 30 * SECOND, &json!({"content": [{"type": "text", "text": long}]}).to_string()).await;
    tokio::time::sleep(10 * SECOND).await;
    let first = text(&tool(&agent, "tasks_result", json!({"task": short})).await);
    assert!(first.len() < 40_000, "what fits a model's turn: {} bytes", first.len());
    assert!(first.contains("continue with offset"), "and where to go on");
    let end = text(&tool(&agent, "tasks_result", json!({"task": short, "offset": 99_990})).await);
    assert_eq!(end, "x".repeat(10), "the rest");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_knows_tasks_has_no_use_for_the_tools() {
    let setup = GatewaySetup::new().await;
    setup.scripted.reply_task("tasks_list", "upstream-1", vec![PollReply::working()]);
    let created = setup.modern(1).call("tasks_list").await.result();
    assert_eq!(created["resultType"], "task", "the name means the server's own tool: {created}");
}
