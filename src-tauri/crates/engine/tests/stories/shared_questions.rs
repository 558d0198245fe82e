//! A server of the 2025 dialect that asks during one of several calls and does not say which.

use std::collections::BTreeSet;
use std::time::Duration;

use domain::ids::{HandleId, RequestKey};
use domain::ports::{CallReply, UpstreamEvent, UpstreamSubject};
use domain::task::TaskHandle;
use domain::task::input_request::LiveQuestion;
use domain::task::status::Phase;
use testkit::build::person;
use testkit::scripted::{ScriptedServer, form, hung_up, payload};

use crate::world::{World, acceptance};

const SECOND: Duration = Duration::from_secs(1);

/// Five calls in flight, and a question that says nothing of its call.
async fn five_calls() -> (World, ScriptedServer, Vec<HandleId>) {
    let (world, server, id) = World::new().await;
    server.legacy();
    server.close_connection(hung_up());
    world.pass(3 * SECOND).await;
    let done = || Ok(CallReply::Result { payload: payload("{}"), is_error: false });
    let mut calls = Vec::new();
    for number in 0..5 {
        let tool = format!("work{number}");
        server.reply(&tool, (600 + 600 * number) * SECOND, done());
        calls.push(world.call(id, &tool).await);
        world.pass(SECOND).await;
    }
    let question = LiveQuestion {
        connection: server.connection().expect("there is a connection"),
        token: "r1".into(),
        digest: "00112233445566778899aabbccddeeff".into(),
        ask: form(),
        raw: None,
        whole: None,
    };
    server.say(UpstreamEvent::Question(UpstreamSubject::Unsaid, question));
    (world, server, calls)
}

fn open_key(handle: &TaskHandle) -> Option<RequestKey> {
    handle.requests.values().find(|request| request.state.is_open()).map(|request| request.key.clone())
}

#[tokio::test(start_paused = true)]
async fn all_calls_that_may_be_asking_wait_and_one_answer_ends_it_for_all() {
    let (world, server, calls) = five_calls().await;
    for call in &calls {
        world.until_phase(*call, Phase::Waiting).await;
    }
    let stored = world.handle(calls[0]).await;
    let key = open_key(&stored).expect("the oldest call stores it");
    assert_eq!(stored.possible_askers(&key), calls.iter().copied().collect::<BTreeSet<_>>(), "all five are named");
    assert_eq!(world.registry.inbox(0, 10).await.expect("the inbox reads").total, 1, "there is one question");
    world.engine.answer(calls[0], acceptance(None, "ada")).await.expect("it is open");
    for call in &calls {
        world.until_phase(*call, Phase::Running).await;
    }
    assert_eq!(server.answers().len(), 1, "one response left");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_cancelled_takes_no_question_of_another_with_it() {
    let (world, server, calls) = five_calls().await;
    world.until_phase(calls[4], Phase::Waiting).await;
    world.engine.cancel(calls[0], person("ada"), None).await.expect("the stop is recorded");
    let next = world.until(calls[1], "asked instead", |handle| open_key(handle).is_some()).await;
    let key = open_key(&next).expect("it is open");
    let left: BTreeSet<HandleId> = calls[1..].iter().copied().collect();
    assert_eq!(next.possible_askers(&key), left, "the others may still be asking");
    assert!(server.answers().is_empty(), "nothing was said in anybody's name: {:?}", server.answers());
    world.engine.cancel(calls[4], person("ada"), None).await.expect("the stop is recorded");
    let left: BTreeSet<HandleId> = calls[1..4].iter().copied().collect();
    let is_ruled_out = |handle: &TaskHandle| handle.possible_askers(&key) == left;
    world.until(calls[1], "without the call that was cancelled", is_ruled_out).await;
    world.engine.answer(calls[1], acceptance(None, "ada")).await.expect("it can be answered there");
    world.pass(5 * SECOND).await;
    assert_eq!(server.answers().len(), 1);
    assert_eq!(world.phase(calls[3]).await, Phase::Running);
}

#[tokio::test(start_paused = true)]
async fn a_question_outlives_the_call_that_stores_it() {
    let (world, server, calls) = five_calls().await;
    world.until_phase(calls[4], Phase::Waiting).await;
    world.until_phase(calls[0], Phase::Done).await;
    world.until(calls[1], "asked instead", |handle| open_key(handle).is_some()).await;
    server.say(UpstreamEvent::QuestionWithdrawn { token: "r1".into() });
    for call in &calls[1..] {
        world.until_phase(*call, Phase::Running).await;
    }
    world.pass(60 * SECOND).await;
    assert!(server.answers().is_empty(), "what the server took back goes on nowhere: {:?}", server.answers());
}
