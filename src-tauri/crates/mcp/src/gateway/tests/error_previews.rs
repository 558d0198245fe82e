//! Errors that are too large for their agent: what it gets of them.

use std::time::Duration;

use domain::ids::AgentId;
use domain::ports::CallReply;
use domain::rule::{LimitAction, RuleScope, TokenLimit};
use domain::task::ResultForm;
use domain::task::payload::Payload;
use domain::task::status::RpcError;
use testkit::build::person;

use crate::gateway::tests::setup::GatewaySetup;

/// A server that answers with an error of 6,000 bytes, and a limit for its results.
async fn failing(tokens: u64) -> GatewaySetup {
    let setup = Box::pin(GatewaySetup::new()).await;
    fails(&setup);
    setup.rule("lost", |rule| rule.result_limit = Some(TokenLimit { tokens, at: LimitAction::Hold })).await;
    setup
}

fn fails(setup: &GatewaySetup) {
    let message = "no such place. ".repeat(400);
    let payload = serde_json::json!({"code": -7, "message": message, "data": {"secret": "a long story"}}).to_string();
    let error = RpcError { code: -7, message: "no such place.".into() };
    let reply = CallReply::Error { error, payload: Payload::new(payload) };
    setup.scripted.reply("lost", Duration::ZERO, Ok(reply));
}

#[tokio::test(start_paused = true)]
async fn an_error_over_the_limit_comes_short_and_says_how_long_it_was() {
    let setup = Box::pin(failing(1_000)).await;
    let error = setup.plain(1).call("lost").await.error();
    assert_eq!(error["code"], -7, "its code stays: {error}");
    let said = error["message"].as_str().expect("a message");
    assert!(said.starts_with("no such place. no such place."), "it begins as the server said it: {said}");
    assert!(said.len() < 1_000, "all of it is within the limit: {} bytes", said.len());
    let row = setup.rows(1).await.into_iter().next().expect("it is kept");
    assert!(said.contains("more than the 1,000 that are allowed here") && said.contains(&row.id.to_string()), "{said}");
    assert!(error.get("data").is_none(), "its data would be over the limit: {error}");
    setup.engine.release(row.id, person("ada"), Some(ResultForm::Whole), None).await.expect("a person may let it come");
}

#[tokio::test(start_paused = true)]
async fn an_error_within_the_limit_comes_as_it_is() {
    let error = Box::pin(failing(10_000)).await.plain(1).call("lost").await.error();
    assert_eq!(error["data"]["secret"], "a long story", "{error}");
}

#[tokio::test(start_paused = true)]
async fn an_error_that_does_not_fit_into_the_window_comes_short_however_full_that_is() {
    let setup = GatewaySetup::new().await;
    fails(&setup);
    let full = Some(TokenLimit { tokens: 1, at: LimitAction::Hold });
    setup.rule_of(RuleScope::Agent(AgentId::from_random(1)), |rule| rule.window_limit = full).await;
    let error = setup.plain(1).call("lost").await.error();
    let said = error["message"].as_str().expect("a message");
    assert!(said.starts_with("no such place. no such place."), "it begins as the server said it: {said}");
    assert!(said.len() < 1_000, "what is as short comes into any window: {} bytes", said.len());
    assert!(said.contains(", and 1 is free for it. A person can read all of it"), "it says why: {said}");
}
