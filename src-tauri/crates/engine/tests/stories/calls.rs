//! Calls: admitted, sent once, and whatever came of them.

use std::time::Duration;

use domain::ports::{CallError, CallReply, UpstreamError};
use domain::task::payload::Payload;
use domain::task::status::{Phase, RpcError, ServerView};
use testkit::scripted::{EngineAction, PollReply, payload, unreachable};

use crate::world::World;

fn plain(text: &str) -> CallReply {
    CallReply::Result { payload: payload(text), is_error: false }
}

#[tokio::test(start_paused = true)]
async fn a_called_task_is_followed_to_its_result() {
    let (world, server, id) = World::new().await;
    server.reply_task(
        "index",
        "t1",
        vec![PollReply::says("a third"), PollReply::says("two thirds"), PollReply::done()],
    );
    let task = world.call(id, "index").await;
    let done = world.until_phase(task, Phase::Done).await;
    assert_eq!(world.result(task).await.as_deref(), Some(r#"{"content":[]}"#), "the result is stored at once");
    assert!(done.view.task().is_some(), "it is a task of the server");
    let log = world.registry.status_log(task, 100).await.expect("the log can be read");
    let texts: Vec<_> = log.iter().map(|line| line.text.as_str()).collect();
    assert_eq!(texts, ["", "a third", "two thirds", ""], "every word of the server is a line");
}

#[tokio::test(start_paused = true)]
async fn a_plain_call_is_done_with_its_result() {
    let (world, server, id) = World::new().await;
    server.reply("add", Duration::ZERO, Ok(plain("3")));
    let task = world.call(id, "add").await;
    world.until_phase(task, Phase::Done).await;
    assert_eq!(world.result(task).await.as_deref(), Some("3"));
}

#[tokio::test(start_paused = true)]
async fn a_slow_plain_call_becomes_a_task_of_our_own_and_finishes() {
    let (world, server, id) = World::new().await;
    server.reply("slow", Duration::from_secs(90), Ok(plain("1")));
    let task = world.call(id, "slow").await;
    world.until(task, "a task of our own", |handle| matches!(handle.view, ServerView::OwnCall { .. })).await;
    assert_eq!(world.phase(task).await, Phase::Running, "a slow call is running");
    world.until_phase(task, Phase::Done).await;
}

#[tokio::test(start_paused = true)]
async fn a_lost_reply_is_unconfirmed_and_the_call_is_never_sent_again() {
    let (world, server, id) = World::new().await;
    server.reply("once", Duration::from_secs(1), Err(CallError::ReplyLost(unreachable())));
    let task = world.call(id, "once").await;
    world.until_phase(task, Phase::Unconfirmed).await;
    world.pass(Duration::from_secs(3_600)).await;
    let calls = server.times(|act| matches!(act, EngineAction::Call { .. }));
    assert_eq!(calls.len(), 1, "a call whose reply is lost may have run");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_never_left_says_so() {
    let (world, server, id) = World::new().await;
    server.reply("never", Duration::ZERO, Err(CallError::NotSent(unreachable())));
    let task = world.call(id, "never").await;
    let handle = world.until_phase(task, Phase::Failed).await;
    assert!(matches!(handle.view, ServerView::NotSent { .. }), "nothing ran: {:?}", handle.view);
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_server_asks_to_wait_says_so_and_is_not_sent_again() {
    let (world, server, id) = World::new().await;
    let busy = UpstreamError::RateLimited { after: Some(Duration::from_secs(7)) };
    server.reply("busy", Duration::ZERO, Err(CallError::NotSent(busy)));
    let task = world.call(id, "busy").await;
    let handle = world.until_phase(task, Phase::Failed).await;
    assert!(handle.view.is_asked_to_wait(), "the server answered: {:?}", handle.view);
    world.pass(Duration::from_secs(60)).await;
    let calls = server.times(|act| matches!(act, EngineAction::Call { .. }));
    assert_eq!(calls.len(), 1, "whether it is made again is the caller's to say");
}

#[tokio::test(start_paused = true)]
async fn an_error_of_the_server_is_the_calls_end() {
    let (world, server, id) = World::new().await;
    let error = RpcError { code: -32_602, message: "no such tool".into() };
    server.reply("bad", Duration::ZERO, Ok(CallReply::Error { error, payload: Payload::new("{}") }));
    let task = world.call(id, "bad").await;
    world.until_phase(task, Phase::Failed).await;
}

#[tokio::test(start_paused = true)]
async fn a_call_to_a_server_that_wants_a_sign_in_is_refused_and_says_that_a_person_has_to_act() {
    let (world, server, id) = World::new().await;
    world.until_up(id).await;
    server.refuse_connections(Some(UpstreamError::Unauthorized { why: "no token".into(), hint: "Sign in.".into() }));
    server.close_connection(testkit::scripted::hung_up());
    world.pass(Duration::from_millis(10)).await;
    for _ in 0..2 {
        let refused = world.try_call(id, "any").await;
        let waits = matches!(refused, Err(engine::EngineError::NotConnected { waits_for_person: true, .. }));
        assert!(waits, "each time: {refused:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_to_a_server_that_is_down_is_refused_and_leaves_nothing() {
    let (world, server, id) = World::new().await;
    world.until_up(id).await;
    server.refuse_connections(Some(unreachable()));
    server.close_connection(testkit::scripted::hung_up());
    world.pass(Duration::from_millis(10)).await;
    let refused = world.try_call(id, "any").await;
    assert!(
        matches!(refused, Err(engine::EngineError::NotConnected { waits_for_person: false, .. })),
        "it says that the server is not connected: {refused:?}"
    );
    assert!(world.all().await.is_empty(), "nothing was recorded");
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_for_a_server_that_is_just_connecting() {
    let (world, server, id) = World::new().await;
    server.reply("add", Duration::ZERO, Ok(plain("3")));
    let task = world.call(id, "add").await;
    world.until_phase(task, Phase::Done).await;
}
