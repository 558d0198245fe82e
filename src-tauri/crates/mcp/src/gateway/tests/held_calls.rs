//! How long calls are held for each program, what a model reads when one goes on, and what is learned from programs that
//! give up (decision 0020).

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::gateway::tests::scripted_servers::{LinkAnswer, LinkServer, setup_over};
use crate::gateway::tests::setup::{AgentClient, GatewaySetup};
use crate::server::{CancelReason, SessionTransport};

const SECOND: Duration = Duration::from_secs(1);
const DONE: &str = r#"{"content":[{"type":"text","text":"done"}]}"#;

fn text(result: &Value) -> String {
    result["content"][0]["text"].as_str().unwrap_or_default().to_owned()
}

/// A call that lasts an hour: after how long it is answered, and with what.
async fn called(setup: &GatewaySetup, agent: &AgentClient) -> (u64, Value) {
    setup.replies("slow", 3_600 * SECOND, DONE);
    let begun = Instant::now();
    let result = agent.call("slow").await.result();
    (begun.elapsed().as_secs(), result)
}

/// The arguments of the call of `tasks_wait` that a text names.
fn suggested(text: &str) -> Value {
    let (_, arguments) = text.split_once("`tasks_wait` with ").unwrap_or_else(|| panic!("a call is named: {text}"));
    let end = arguments.find('}').expect("an object");
    serde_json::from_str(&arguments[..=end]).expect("arguments are JSON")
}

#[tokio::test(start_paused = true)]
async fn a_call_is_answered_shortly_before_its_program_gives_up() {
    let setup = GatewaySetup::new().await;
    for (program, door, seconds) in [
        ("gemini-cli-mcp-client-taskwarden", SessionTransport::Http, 595),
        ("gemini-cli-mcp-client-taskwarden", SessionTransport::Stdio, 595),
        ("codex-mcp-client", SessionTransport::Stdio, 295),
        ("claude-code", SessionTransport::Http, 295),
        ("opencode", SessionTransport::Http, 55),
        ("somebody", SessionTransport::Http, 25),
    ] {
        let (after, result) = called(&setup, &setup.program(1, program, door)).await;
        assert_eq!(after, seconds, "{program} over {door:?}");
        assert_ne!(result["isError"], true, "a call that goes on has not failed: {result}");
        assert!(text(&result).contains("goes on in the background as task hdl_"), "{result}");
    }
}

#[tokio::test(start_paused = true)]
async fn waiting_for_a_task_ends_with_the_program_and_not_after_twenty_seconds() {
    let setup = GatewaySetup::new().await;
    let agent = setup.program(1, "gemini-cli", SessionTransport::Http);
    let (_, result) = called(&setup, &agent).await;
    let begun = Instant::now();
    let wait = json!({"name": "tasks_wait", "arguments": suggested(&text(&result))});
    agent.ask("tools/call", wait).await.result();
    assert_eq!(begun.elapsed().as_secs(), 595);
}

/// Does what the words say for so long; the arguments of each call, as text.
async fn follow_the_words(agent: &AgentClient, first: &Value, until: Duration) -> Vec<String> {
    let (begun, mut next, mut calls) = (Instant::now(), suggested(&text(first)), Vec::new());
    while begun.elapsed() < until {
        calls.push(next.to_string());
        let answer = agent.ask("tools/call", json!({"name": "tasks_wait", "arguments": next})).await.result();
        assert_ne!(answer["isError"], true, "{answer}");
        next = suggested(&text(&answer));
    }
    calls
}

#[tokio::test(start_paused = true)]
async fn a_model_that_follows_the_words_for_half_an_hour_makes_no_call_twice() {
    for program in ["gemini-cli", "codex-mcp-client", "opencode", "somebody"] {
        let setup = GatewaySetup::new().await;
        let agent = setup.program(1, program, SessionTransport::Http);
        let (_, first) = called(&setup, &agent).await;
        let calls = follow_the_words(&agent, &first, 1_800 * SECOND).await;
        let different: BTreeSet<&String> = calls.iter().collect();
        assert_eq!(different.len(), calls.len(), "{program}: {calls:?}");
        assert!(calls.len() >= 3 && calls.iter().all(|call| call.contains("\"since\"")), "{program}: {calls:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn waits_that_follow_each_other_within_a_second_differ_too() {
    let setup = GatewaySetup::new().await;
    let agent = setup.program(1, "gemini-cli", SessionTransport::Http);
    let (_, first) = called(&setup, &agent).await;
    let mut named = vec![suggested(&text(&first))];
    for _ in 0..5 {
        let mut wait = named.last().expect("one").clone();
        wait["seconds"] = json!("1");
        let answer = agent.ask("tools/call", json!({"name": "tasks_wait", "arguments": wait})).await.result();
        named.push(suggested(&text(&answer)));
    }
    let different: BTreeSet<String> = named.iter().map(ToString::to_string).collect();
    assert_eq!(different.len(), 6, "{named:?}");
}

/// Calls `slow` with a progress token; the seconds at which progress came, and those after which the answer did.
async fn with_progress(agent: &AgentClient) -> (Vec<Value>, Vec<u64>, u64) {
    let call = json!({"name": "slow", "arguments": {}, "_meta": {"progressToken": "p"}});
    let (begun, mut stream) = (Instant::now(), agent.listen("tools/call", call));
    let (mut said, mut at) = (Vec::new(), Vec::new());
    while let Some(frame) = stream.read().await {
        if frame["method"] == "notifications/progress" {
            at.push(begun.elapsed().as_secs());
            said.push(frame["params"].clone());
        }
    }
    let ended = stream.ended.lock().take().expect("it is answered");
    assert!(ended.expect("a result").text().contains("done"), "with its result, and no handle");
    (said, at, begun.elapsed().as_secs())
}

#[tokio::test(start_paused = true)]
async fn a_program_that_waits_while_there_is_progress_hears_some_every_ten_seconds_and_gets_the_result() {
    let setup = GatewaySetup::new().await;
    setup.replies("slow", 200 * SECOND, DONE);
    let (said, at, after) = with_progress(&setup.program(1, "opencode", SessionTransport::Stdio)).await;
    assert_eq!(after, 200, "held past its 60 s");
    let mut times = vec![0];
    times.extend(at);
    times.push(after);
    assert!(times.windows(2).all(|pair| pair[1] - pair[0] <= 10), "never silent for more than 10 s: {times:?}");
    let figures: Vec<f64> = said.iter().filter_map(|params| params["progress"].as_f64()).collect();
    assert!(figures.windows(2).all(|pair| pair[0] < pair[1]), "and it only grows: {figures:?}");
    assert!(said.iter().all(|params| params["message"].is_string()), "what people see says something: {said:?}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_only_logs_does_not_keep_progress_from_its_program() {
    let log = || vec![("notifications/message", r#"{"level":"info","data":"still here"}"#.to_owned())];
    let mut does = LinkAnswer::Result(DONE.into());
    for _ in 0..20 {
        does = LinkAnswer::Saying(log(), Box::new(LinkAnswer::After(4 * SECOND, Box::new(does))));
    }
    let does = parking_lot::Mutex::new(Some(does));
    let server = LinkServer::legacy(11, json!({"tools": {}, "logging": {}}), move |method, _| match method {
        "tools/call" => does.lock().take().expect("one call"),
        "tools/list" => LinkAnswer::Result(r#"{"tools":[{"name":"slow","inputSchema":{"type":"object"}}]}"#.into()),
        _ => LinkAnswer::Result("{}".into()),
    });
    let setup = setup_over(&[server]).await;
    let (_, at, after) = with_progress(&setup.program(1, "opencode", SessionTransport::Http)).await;
    assert_eq!(after, 80);
    assert!(at.len() >= 7, "a log message starts no timeout anew: {at:?}");
}

#[tokio::test(start_paused = true)]
async fn a_sign_of_life_keeps_what_the_server_said_last() {
    let progress = r#"{"progressToken":TOKEN,"progress":3,"total":10,"message":"copying"}"#.to_owned();
    let said = vec![("notifications/progress", progress)];
    let does =
        LinkAnswer::Saying(said, Box::new(LinkAnswer::After(35 * SECOND, Box::new(LinkAnswer::Result(DONE.into())))));
    let does = parking_lot::Mutex::new(Some(does));
    let server = LinkServer::legacy(11, json!({"tools": {}}), move |method, _| match method {
        "tools/call" => does.lock().take().expect("one call"),
        "tools/list" => LinkAnswer::Result(r#"{"tools":[{"name":"slow","inputSchema":{"type":"object"}}]}"#.into()),
        _ => LinkAnswer::Result("{}".into()),
    });
    let setup = setup_over(&[server]).await;
    let (said, ..) = with_progress(&setup.program(1, "claude-code", SessionTransport::Http)).await;
    let last = said.last().expect("progress");
    assert!(said.len() >= 3, "{said:?}");
    assert_eq!((&last["message"], &last["total"]), (&json!("copying"), &json!(10.0)), "programs show the newest alone");
}

/// The agent's program gives `slow` up after so long, in this way; then the clock goes on a little.
async fn gives_up(setup: &GatewaySetup, agent: &AgentClient, after: u64, how: CancelReason) {
    setup.replies("slow", 3_600 * SECOND, DONE);
    // Each call is another one: a repeated call would join.
    let call = json!({"name": "slow", "arguments": {"at": setup.now().as_millis()}});
    agent.give_up("tools/call", call, Duration::from_secs(after), Some(how)).await;
    tokio::time::sleep(SECOND).await;
}

#[tokio::test(start_paused = true)]
async fn a_program_that_gives_up_after_the_same_time_twice_is_answered_before_that_from_then_on() {
    let setup = GatewaySetup::new().await;
    let agent = setup.program(1, "gemini-cli", SessionTransport::Http);
    gives_up(&setup, &agent, 40, CancelReason::Cancelled).await;
    assert_eq!(setup.engine.learned_timeout(agent.agent), None, "once may be a person");
    gives_up(&setup, &agent, 41, CancelReason::Cancelled).await;
    assert_eq!(setup.engine.learned_timeout(agent.agent), Some(40 * SECOND));
    assert_eq!(called(&setup, &agent).await.0, 35, "less the margin");
    let other = setup.program(2, "gemini-cli", SessionTransport::Http);
    assert_eq!(called(&setup, &other).await.0, 595, "it is the setting of one agent's program");
    setup.until_flushed(agent.agent).await;
}

#[tokio::test(start_paused = true)]
async fn a_person_who_interrupts_a_program_teaches_nothing() {
    let setup = GatewaySetup::new().await;
    let agent = setup.program(1, "codex-mcp-client", SessionTransport::Stdio);
    for after in [12, 70, 31, 200, 18] {
        gives_up(&setup, &agent, after, CancelReason::Cancelled).await;
    }
    let (one, two) = (setup.program(1, "codex-mcp-client", SessionTransport::Stdio), agent.clone());
    tokio::join!(
        gives_up(&setup, &one, 90, CancelReason::Cancelled),
        gives_up(&setup, &two, 90, CancelReason::Cancelled),
    );
    assert_eq!(setup.engine.learned_timeout(agent.agent), None);
    assert_eq!(called(&setup, &agent).await.0, 295);
}

#[tokio::test(start_paused = true)]
async fn a_program_that_says_that_it_ran_out_of_time_is_believed_at_once() {
    let setup = GatewaySetup::new().await;
    let agent = setup.program(1, "codex-mcp-client", SessionTransport::Stdio);
    gives_up(&setup, &agent, 120, CancelReason::TimedOut).await;
    assert_eq!(setup.engine.learned_timeout(agent.agent), Some(120 * SECOND));
}

#[tokio::test(start_paused = true)]
async fn an_agent_whose_access_is_taken_away_teaches_nothing() {
    let setup = GatewaySetup::new().await;
    let agent = setup.program(1, "gemini-cli", SessionTransport::Http);
    setup.replies("slow", 300 * SECOND, DONE);
    let stream = agent.listen("tools/call", json!({"name": "slow", "arguments": {}}));
    tokio::time::sleep(100 * SECOND).await;
    setup.engine.revoke_agent(agent.agent, testkit::build::person("ada"), None).await.expect("it is revoked");
    setup.until("the call is over", |_| stream.ended.lock().is_some()).await;
    assert_eq!(setup.engine.learned_timeout(agent.agent), None);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_the_bridge_makes_again_is_answered_before_its_program_gives_up_the_first() {
    let setup = GatewaySetup::new().await;
    setup.replies("slow", 3_600 * SECOND, DONE);
    let call = || json!({"name": "slow", "arguments": {}});
    let first = setup.program(1, "codex-mcp-client", SessionTransport::Stdio);
    first.give_up("tools/call", call(), 100 * SECOND, None).await;
    tokio::time::sleep(10 * SECOND).await;
    let begun = Instant::now();
    let mut again = call();
    again["_meta"] = json!({"progressToken": "p"});
    let outcome = setup.program(1, "codex-mcp-client", SessionTransport::Stdio).ask("tools/call", again).await;
    assert!(text(&outcome.result()).contains("goes on"), "{}", outcome.raw());
    assert_eq!(begun.elapsed().as_secs(), 185, "its program has waited since the first call");
    assert_eq!(
        outcome.said[0]["params"]["progress"], 110.0,
        "it hears at once that the call goes on: {:?}",
        outcome.said
    );
    assert_eq!(setup.rows(1).await.len(), 1, "one task");
}
