//! What the model of an agent sees of a long result, by the name that its program gives itself.
//!
//! On a scale of one token a byte. Which part of a result counts is `engine::budget`'s, tested there.

use std::time::Duration;

use domain::budget::window::{TokenSource, Window};
use domain::client::profile;
use domain::ids::AgentId;
use domain::task::HoldReason;
use serde_json::{Value, json};

use crate::gateway::tests::setup::{AgentClient, GatewaySetup};

/// What a server brings here.
const LONG: usize = 60_000;
/// What Codex shows its model of a result at most, what it surely shows, and what a slice for it may have.
const SHOWN: u64 = 5_000;
const SURE: u64 = 2_500;
const SLICE: usize = 2_000;

fn codex(setup: &GatewaySetup) -> AgentClient {
    setup.program_of("codex-mcp-client", 1, "2025-06-18")
}

fn long() -> String {
    (0..LONG).map(|at| char::from(b'a' + (at % 26) as u8)).collect()
}

async fn window(setup: &GatewaySetup) -> Window {
    setup.engine.flush_budget().await;
    let budgets = setup.engine.budgets();
    let budget = budgets.iter().find(|budget| budget.agent == AgentId::from_random(1));
    let window = budget.and_then(|budget| budget.now.as_deref());
    window.expect("it has a window").clone()
}

fn replies(setup: &GatewaySetup) {
    let result = json!({"content": [{"type": "text", "text": long()}]}).to_string();
    setup.replies("huge", Duration::ZERO, &result);
}

/// What `tasks_result` gives from a character on, and where it goes on.
async fn slice(agent: &AgentClient, task: &str, offset: u64) -> (String, Option<u64>) {
    let call = json!({"name": "tasks_result", "arguments": {"task": task, "offset": offset}});
    let part = agent.ask("tools/call", call).await.result();
    let text = part["content"][0]["text"].as_str().expect("a text").to_owned();
    (text, part["_meta"]["io.taskwarden/slice"]["next"].as_u64())
}

#[tokio::test(start_paused = true)]
async fn a_result_that_codex_would_cut_is_held_and_read_in_slices_that_it_shows_whole() {
    let setup = GatewaySetup::new().await;
    replies(&setup);
    let agent = codex(&setup);
    let short: Value = agent.call("huge").await.result();
    let said = short["content"][0]["text"].as_str().expect("a text");
    assert!(said.contains("above the 2,500 that Codex surely shows its model"), "the model reads why: {said:.300}");
    let row = setup.rows(1).await.into_iter().next().expect("it is remembered");
    let program = profile::of_word("codex").expect("in the table");
    let why = HoldReason::WouldBeCut { tokens: LONG as u64, shown: SURE, program };
    assert_eq!(row.hold.map(|hold| hold.why), Some(why));
    let (mut read, mut offset) = (0, Some(0));
    while let Some(from) = offset {
        let (text, next) = slice(&agent, &row.id.to_string(), from).await;
        assert!(text.len() <= SLICE, "no slice is cut: {} bytes", text.len());
        read = next.unwrap_or(LONG as u64);
        offset = next;
    }
    assert_eq!(read, LONG as u64, "the slices are the whole");
    let window = window(&setup).await;
    assert!(window.of(TokenSource::Results).tokens >= LONG as u64, "all of it was read: {window:?}");
}

#[tokio::test(start_paused = true)]
async fn where_nobody_holds_it_people_see_what_codex_shows_and_limits_count_what_was_passed() {
    let setup = GatewaySetup::new().await;
    setup.rule("huge", |rule| rule.hold_cut = Some(false)).await;
    replies(&setup);
    let outcome = codex(&setup).call("huge").await.result();
    assert_eq!(outcome["content"][0]["text"].as_str().map(str::len), Some(LONG), "it is passed whole");
    let window = window(&setup).await;
    let (shown, passed) = (window.of(TokenSource::Results).tokens, window.passed_of(TokenSource::Results).tokens);
    assert_eq!((shown, passed), (SHOWN, LONG as u64));
    assert!(window.limited(false) >= LONG as u64, "nobody confirmed that it is Codex");
}

#[tokio::test(start_paused = true)]
async fn a_limit_that_a_person_set_counts_in_place_of_what_the_program_shows() {
    use domain::rule::{LimitAction, TokenLimit};
    let setup = GatewaySetup::new().await;
    let limit = TokenLimit { tokens: 100_000, at: LimitAction::Hold };
    setup.rule("huge", |rule| rule.result_limit = Some(limit)).await;
    replies(&setup);
    let outcome = codex(&setup).call("huge").await.result();
    assert_eq!(outcome["content"][0]["text"].as_str().map(str::len), Some(LONG), "so much is allowed");
}

#[tokio::test(start_paused = true)]
async fn a_short_text_in_a_long_reply_is_cut_by_nobody_and_gets_no_row() {
    let setup = GatewaySetup::new().await;
    let result = json!({"content": [{"type": "text", "text": "short"}], "_meta": {"not shown": long()[..9_000]}});
    setup.replies("noisy", Duration::ZERO, &result.to_string());
    let outcome = codex(&setup).call("noisy").await.result();
    assert_eq!(outcome["content"][0]["text"], "short");
    assert!(setup.rows(1).await.is_empty(), "there was nothing to hold");
}
