//! Calls: what goes back as it came, what becomes a task, and what a client's leaving means.

use std::pin::pin;
use std::time::Duration;

use domain::ports::CallReply;
use domain::task::TaskHandle;
use domain::task::payload::Payload;
use domain::task::status::{RpcError, ServerView};
use serde_json::{Value, json};
use testkit::scripted::{EngineAction, PollReply};
use tokio::time::Instant;

use super::setup::{AgentClient, GatewaySetup, task_id};
use crate::gateway::calls::progress::ProgressSender;
use crate::server::CancelReason;
use crate::server::response_stream::{CancelReasonCell, ResponseStream, StreamWriter};

const SECOND: Duration = Duration::from_secs(1);

fn is_stopped(act: &EngineAction) -> bool {
    matches!(act, EngineAction::CancelCall(_))
}

#[tokio::test(start_paused = true)]
async fn a_quick_result_goes_back_byte_for_byte_and_leaves_no_row() {
    let setup = GatewaySetup::new().await;
    let result =
        r#"{"resultType":"complete","z":1.50,"content":[],"a":123456789012345678901234567890,"_meta":{"v/x":[1e2]}}"#;
    setup.replies("quick", Duration::ZERO, result);
    let outcome = setup.modern(1).call("quick").await;
    assert_eq!(outcome.raw(), result, "order of members and spelling of numbers survive (60, 61)");
    assert!(setup.rows(1).await.is_empty(), "a quick call is in no list");
}

#[tokio::test(start_paused = true)]
async fn arguments_that_readers_take_differently_are_refused_and_reach_no_server() {
    let setup = GatewaySetup::new().await;
    setup.replies("quick", Duration::ZERO, r#"{"content":[]}"#);
    let agent = setup.modern(1);
    for (method, params) in [
        ("tools/call", r#"{"name":"quick","arguments":{"path":"/tmp/a","path":"/"}}"#),
        ("tools/call", r#"{"name":"quick","arguments":{"all":[{"x":1,"\u0078":2}]}}"#),
        ("prompts/get", r#"{"name":"quick","arguments":{"path":"a","path":"b"}}"#),
    ] {
        let refused = agent.ask_raw(method, params).await.error();
        assert_eq!(refused["code"], -32602, "{params}: {refused}");
        assert!(refused["message"].as_str().is_some_and(|words| words.contains("`arguments`")), "{refused}");
    }
    let calls = || setup.scripted.times(|act| matches!(act, EngineAction::Call { .. })).len();
    assert_eq!(calls(), 0, "nothing was sent");
    agent.ask_raw("tools/call", r#"{"name":"quick","arguments":{"path":{"path":1}}}"#).await.result();
    assert_eq!(calls(), 1, "a name may be there again elsewhere");
}

#[tokio::test(start_paused = true)]
async fn a_quick_call_carries_nothing_of_what_slow_ones_need() {
    /// What the future of one call may take. It is allocated for each of them.
    const BYTES_MAX: usize = 5_120;
    let setup = GatewaySetup::new().await;
    let bytes = setup.modern(1).bytes_of_request();
    assert!(bytes <= BYTES_MAX, "{bytes} bytes for each call");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_without_a_task_gets_its_heartbeat_in_time() {
    let setup = GatewaySetup::new().await;
    let agent = setup.modern(1);
    // As the engine leaves a call while the connection to its server opens: nothing wakes it.
    let (context, params) = agent.context_of_call(&json!({"name": "any", "_meta": {"progressToken": "p"}}));
    let (outlet, mut frames) = StreamWriter::open();
    let stream = ResponseStream::new(outlet, None, CancelReasonCell::default(), true);
    for _ in 0..2 {
        let begun = Instant::now();
        let waiting = context.state.reminders.begin(&context.meter);
        let mut progress = ProgressSender::new(&context, setup.server, Some(&params), begun);
        let sending = pin!(progress.send_next(None, &stream));
        let sent = tokio::time::timeout(60 * SECOND, context.meter.while_it_has_access(sending)).await;
        assert_eq!(sent.expect("it is sent"), Some(()), "the agent has access");
        assert_eq!(begun.elapsed().as_secs(), 10, "when the program expects it");
        let said = frames.recv().await.expect("something was said").bytes;
        assert!(String::from_utf8_lossy(&said).contains("\"progressToken\":\"p\""), "under its own token");
        // No call waits for a while: the next one is reminded all the same.
        drop(waiting);
        tokio::time::sleep(60 * SECOND).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_servers_error_goes_back_as_it_came() {
    let setup = GatewaySetup::new().await;
    let error = r#"{"code":-32021,"message":"no","data":{"requiredCapabilities":{"sampling":{}}},"vendor":1.0}"#;
    let reply =
        CallReply::Error { error: RpcError { code: -32_021, message: "no".into() }, payload: Payload::new(error) };
    setup.scripted.reply("needy", Duration::ZERO, Ok(reply));
    let outcome = setup.modern(1).call("needy").await;
    let fault = outcome.answer.expect_err("an error came");
    assert_eq!(fault.raw.as_deref(), Some(error), "with members that nobody here knows");
    assert_eq!(fault.status(), 400, "and the status of its code (50)");
}

#[tokio::test(start_paused = true)]
async fn a_plain_call_that_lasts_becomes_a_task_of_the_gateway() {
    let setup = GatewaySetup::new().await;
    let result = r#"{"content":[{"type":"text","text":"late"}],"n":1.50}"#;
    setup.replies("slow", 30 * SECOND, result);
    let agent = setup.modern(1);
    let created = agent.call("slow").await.result();
    let id = task_id(&created);
    assert_eq!(created["status"], "working", "it goes on: {created}");
    assert!(created.get("result").is_none(), "a new task carries no payload: {created}");
    let done = agent.until_status(&id, "completed").await;
    assert_eq!(done["resultType"], "complete", "a reading is complete (52)");
    let read = agent.get(&id).await;
    let whole = r#""result":{"resultType":"complete","content":[{"type":"text","text":"late"}],"n":1.50}"#;
    assert!(read.raw().contains(whole), "the result is as it came, with its kind: {}", read.raw());
    assert!(setup.scripted.times(is_stopped).is_empty(), "nothing was stopped on the way");
}

#[tokio::test(start_paused = true)]
async fn a_handle_is_recorded_as_given_before_it_leaves() {
    let setup = GatewaySetup::new().await;
    setup.scripted.reply_task("long", "upstream-1", vec![PollReply::working()]);
    let created = setup.modern(1).call("long").await.result();
    let id = task_id(&created).parse().expect("an id");
    let row = setup.registry.handle(id).await.expect("readable").expect("recorded");
    assert!(row.given.is_some(), "the registry knows that the agent has it (57)");
    assert!(!created.to_string().contains("upstream-1"), "the server's id does not show (59): {created}");
}

#[tokio::test(start_paused = true)]
async fn a_client_without_tasks_waits_for_a_task_and_gets_its_result() {
    let setup = GatewaySetup::new().await;
    let done = r#"{"content":[{"type":"text","text":"done"}]}"#;
    setup.scripted.reply_task("long", "upstream-1", vec![PollReply::working(), PollReply::Completed(done.into())]);
    let outcome = setup.plain(1).call("long").await;
    assert_eq!(outcome.result()["resultType"], "complete", "never a task for this client (51)");
    assert_eq!(outcome.result()["content"][0]["text"], "done", "the task's result");
}

#[tokio::test(start_paused = true)]
async fn a_held_call_shows_signs_of_life_that_only_grow() {
    let setup = GatewaySetup::new().await;
    setup.replies("slow", 24 * SECOND, r#"{"content":[]}"#);
    let params = json!({"name": "slow", "arguments": {}, "_meta": {"progressToken": "mine"}});
    let outcome = setup.plain(1).ask("tools/call", params).await;
    assert!(outcome.answer.is_ok(), "the result came within the client's patience");
    let progress: Vec<f64> = outcome.said.iter().filter_map(|said| said["params"]["progress"].as_f64()).collect();
    assert!(progress.len() >= 2, "about every ten seconds: {:?}", outcome.said);
    assert!(progress.windows(2).all(|pair| pair[0] < pair[1]), "progress only grows: {progress:?}");
    assert!(
        outcome.said.iter().all(|said| said["params"]["progressToken"] == "mine"),
        "with the agent's own token (62)"
    );
}

#[tokio::test(start_paused = true)]
async fn closing_a_modern_stream_cancels_the_call_and_leaves_created_tasks_alone() {
    let setup = GatewaySetup::new().await;
    setup.replies("slow", 60 * SECOND, r#"{"content":[]}"#);
    let call = json!({"name": "slow", "arguments": {}});
    setup.plain(1).give_up("tools/call", call, SECOND, Some(CancelReason::Cancelled)).await;
    setup.until("the server was asked to stop", |setup| !setup.scripted.times(is_stopped).is_empty()).await;

    setup.scripted.reply_task("long", "upstream-1", vec![PollReply::working()]);
    let call = json!({"name": "long", "arguments": {}});
    setup.plain(2).give_up("tools/call", call, SECOND, Some(CancelReason::Cancelled)).await;
    tokio::time::sleep(10 * SECOND).await;
    let stops = setup.scripted.times(|act| matches!(act, EngineAction::Cancel(_)));
    assert!(stops.is_empty(), "a created task lives on (65)");
}

#[tokio::test(start_paused = true)]
async fn a_repeated_call_joins_the_one_whose_answer_was_lost() {
    let setup = GatewaySetup::new().await;
    setup.replies("slow", 20 * SECOND, r#"{"content":[{"type":"text","text":"once"}]}"#);
    let agent = setup.legacy(1, "2025-06-18", &json!({}));
    agent.give_up("tools/call", json!({"name": "slow", "arguments": {"a": 1}}), 5 * SECOND, None).await;
    tokio::time::sleep(SECOND).await;
    let again = agent.ask("tools/call", json!({"name": "slow", "arguments": {"a": 1}})).await;
    assert_eq!(again.result()["content"][0]["text"], "once", "the first call's result");
    let calls = setup.scripted.times(|act| matches!(act, EngineAction::Call { .. }));
    assert_eq!(calls.len(), 1, "the tool ran once (ruling 24)");
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_stream_was_closed_is_joined_while_it_goes_on() {
    let setup = GatewaySetup::new().await;
    setup.replies("slow", 20 * SECOND, r#"{"content":[{"type":"text","text":"once"}]}"#);
    let agent = setup.legacy(1, "2025-06-18", &json!({}));
    agent.hang_up("tools/call", json!({"name": "slow", "arguments": {"a": 1}}), 5 * SECOND).await;
    tokio::time::sleep(SECOND).await;
    let again = agent.ask("tools/call", json!({"name": "slow", "arguments": {"a": 1}})).await;
    assert_eq!(again.result()["content"][0]["text"], "once", "the first call's result");
    assert_eq!(
        setup.scripted.times(|act| matches!(act, EngineAction::Call { .. })).len(),
        1,
        "the tool ran once (ruling 24)"
    );
    setup.replies("slow", SECOND, r#"{"content":[{"type":"text","text":"twice"}]}"#);
    let third = agent.ask("tools/call", json!({"name": "slow", "arguments": {"a": 1}})).await;
    assert_eq!(third.result()["content"][0]["text"], "twice", "what was delivered is called anew");
}

/// A call that the agent hung up on, and that ended since.
async fn missed_call(setup: &GatewaySetup, agent: &AgentClient) -> Value {
    setup.replies("slow", 10 * SECOND, r#"{"content":[{"type":"text","text":"once"}]}"#);
    setup.replies("slow", 10 * SECOND, r#"{"content":[{"type":"text","text":"twice"}]}"#);
    let call = json!({"name": "slow", "arguments": {"a": 1}});
    agent.hang_up("tools/call", call.clone(), 5 * SECOND).await;
    tokio::time::sleep(60 * SECOND).await;
    call
}

#[tokio::test(start_paused = true)]
async fn a_repeated_call_that_gets_the_reply_of_an_earlier_one_is_told_so() {
    let setup = GatewaySetup::new().await;
    let agent = setup.legacy(1, "2025-06-18", &json!({}));
    let call = missed_call(&setup, &agent).await;
    let again = agent.ask("tools/call", call.clone()).await.result();
    assert_eq!(again["content"][0]["text"], "once", "the reply that it missed: {again}");
    let told = again["content"][1]["text"].as_str().unwrap_or_default();
    assert!(told.contains("the same call that was made at ") && told.contains(" UTC on "), "{again}");
    let third = agent.ask("tools/call", call).await.result();
    let only_its_own = json!([{"type": "text", "text": "twice"}]);
    assert_eq!(third["content"], only_its_own, "what was delivered is called anew, and nothing is said");
}

#[tokio::test(start_paused = true)]
async fn a_repeated_call_is_a_new_one_when_the_earlier_reply_is_no_longer_young() {
    let setup = GatewaySetup::new().await;
    let agent = setup.legacy(1, "2025-06-18", &json!({}));
    let call = missed_call(&setup, &agent).await;
    tokio::time::sleep(setup.policy.gateway.repeat_within).await;
    let late = agent.ask("tools/call", call).await.result();
    assert_eq!(late["content"], json!([{"type": "text", "text": "twice"}]), "the tool ran again");
}

#[tokio::test(start_paused = true)]
async fn a_repeated_call_is_a_new_one_when_its_agent_has_fetched_the_earlier_result() {
    let setup = GatewaySetup::new().await;
    let agent = setup.legacy(1, "2025-06-18", &json!({}));
    let call = missed_call(&setup, &agent).await;
    let task = setup.rows(1).await[0].id.to_string();
    let fetch = json!({"name": "tasks_result", "arguments": {"task": task}});
    let fetched = agent.ask("tools/call", fetch).await.result();
    assert_eq!(fetched["content"][0]["text"], "once", "by its handle: {fetched}");
    let again = agent.ask("tools/call", call).await.result();
    assert_eq!(again["content"], json!([{"type": "text", "text": "twice"}]), "it has that reply");
}

#[tokio::test(start_paused = true)]
async fn a_call_is_recorded_within_a_tenth_of_a_second_when_it_lasts() {
    let setup = GatewaySetup::new().await;
    setup.replies("slow", 60 * SECOND, r#"{"content":[]}"#);
    let agent = setup.plain(1);
    let calling = agent.call("slow");
    tokio::pin!(calling);
    let answered = tokio::time::timeout(Duration::from_millis(100), &mut calling).await;
    assert!(answered.is_err(), "the call lasts");
    let rows: Vec<TaskHandle> = setup.rows(1).await;
    assert_eq!(rows.len(), 1, "it is in the window");
    assert!(matches!(rows[0].view, ServerView::Awaiting { .. } | ServerView::OwnCall { .. }), "{:?}", rows[0].view);
}
