//! Questions of a kept child after kill -9 of the core: each stays with the call that was asked before.

use std::sync::Arc;
use std::time::Duration;

use domain::ids::{HandleId, ServerId, UpstreamTaskId};
use domain::policy::Policy;
use domain::ports::{CallReply, UpstreamEvent, UpstreamSubject};
use domain::task::input_request::{AnswerAction, AskDoor, LiveQuestion};
use domain::task::status::Phase;
use testkit::build::{person, stdio_server};
use testkit::clock::TestClock;
use testkit::scripted::{PollReply, ScriptedServer, form, payload};

use crate::world::{World, acceptance};

const SECOND: Duration = Duration::from_secs(1);

async fn kept_child() -> (World, ScriptedServer, ServerId) {
    let clock = Arc::new(TestClock::new());
    let server = ScriptedServer::new(clock.clone());
    server.legacy();
    server.outlive_core();
    let (world, id) = World::prepared(stdio_server(1, "one"), Policy::default(), clock, &server).await;
    world.until_up(id).await;
    (world, server, id)
}

fn done() -> CallReply {
    CallReply::Result { payload: payload("{}"), is_error: false }
}

/// A call that lasts, with its reply in the next run of the core.
async fn lasting_call(world: &World, server: &ScriptedServer, id: ServerId, tool: &str) -> HandleId {
    server.reply(tool, 600 * SECOND, Ok(done()));
    let task = world.call(id, tool).await;
    world.pass(3 * SECOND).await;
    server.works_on(task, 600 * SECOND, Ok(done()));
    task
}

fn question(server: &ScriptedServer, token: &str, digest: char) -> LiveQuestion {
    LiveQuestion {
        connection: server.connection().expect("it is up"),
        token: token.into(),
        digest: digest.to_string().repeat(32),
        ask: form(),
        raw: None,
        whole: None,
    }
}

/// The questions that were answered with `cancel`, by their tokens.
fn dismissed(server: &ScriptedServer) -> Vec<String> {
    let answers = server.answers().into_iter();
    answers.filter(|(_, action, _)| *action == AnswerAction::Dismiss).map(|(token, ..)| token).collect()
}

async fn inbox(world: &World) -> u64 {
    world.registry.inbox(0, 10).await.expect("the inbox reads").total
}

#[tokio::test(start_paused = true)]
async fn a_question_that_comes_again_after_a_kill_stays_with_its_call_beside_an_older_one() {
    let (mut world, server, id) = kept_child().await;
    let older = lasting_call(&world, &server, id, "older").await;
    let asking = lasting_call(&world, &server, id, "asking").await;
    server.say(UpstreamEvent::Question(UpstreamSubject::Call(asking), question(&server, "7", 'a')));
    world.until_phase(asking, Phase::Waiting).await;
    world.restart().await;
    world.until_up(id).await;
    server.say(UpstreamEvent::Question(UpstreamSubject::Unsaid, question(&server, "7", 'a')));
    world.pass(SECOND).await;
    assert_eq!((inbox(&world).await, world.phase(older).await), (1, Phase::Running), "it is one question, of one call");
    world.engine.answer(asking, acceptance(None, "ada")).await.expect("it is open");
    world.pass(5 * SECOND).await;
    assert_eq!(server.answers().len(), 1, "the answer leaves on the new connection");
    assert!(world.handle(older).await.requests.is_empty(), "nothing was recorded with the other call");
}

#[tokio::test(start_paused = true)]
async fn a_question_that_comes_again_stays_with_its_task_although_a_call_is_in_flight() {
    let (mut world, server, id) = kept_child().await;
    server.reply_task("work", "t1", vec![PollReply::working()]);
    let task = world.call(id, "work").await;
    world.pass(SECOND).await;
    server.say(UpstreamEvent::Question(UpstreamSubject::Task(UpstreamTaskId::new("t1")), question(&server, "7", 'a')));
    world.until_phase(task, Phase::Waiting).await;
    let call = lasting_call(&world, &server, id, "slow").await;
    world.restart().await;
    world.until_up(id).await;
    server.say(UpstreamEvent::Question(UpstreamSubject::Unsaid, question(&server, "7", 'a')));
    world.pass(SECOND).await;
    assert_eq!(inbox(&world).await, 1, "there is no second question");
    assert!(world.handle(call).await.requests.is_empty(), "and none with the call");
}

#[tokio::test(start_paused = true)]
async fn a_new_question_after_a_kill_is_asked_for_all_calls_that_go_on_and_for_none_that_is_lost() {
    let (mut world, server, id) = kept_child().await;
    server.reply("lost", 600 * SECOND, Ok(done()));
    let lost = world.call(id, "lost").await;
    let first = lasting_call(&world, &server, id, "first").await;
    let second = lasting_call(&world, &server, id, "second").await;
    world.restart().await;
    world.until_phase(lost, Phase::Unconfirmed).await;
    server.say(UpstreamEvent::Question(UpstreamSubject::Unsaid, question(&server, "8", 'b')));
    let stored = world.until_phase(first, Phase::Waiting).await;
    world.until_phase(second, Phase::Waiting).await;
    let key = stored.requests.keys().next().expect("it stores the question").clone();
    assert_eq!(stored.possible_askers(&key), [first, second].into(), "it says that it may be either");
    assert_eq!((inbox(&world).await, world.phase(lost).await), (1, Phase::Unconfirmed), "and never the lost one");
}

#[tokio::test(start_paused = true)]
async fn a_question_of_a_call_that_was_cancelled_is_dismissed() {
    let (world, server, id) = kept_child().await;
    let asking = lasting_call(&world, &server, id, "asking").await;
    server.say(UpstreamEvent::Question(UpstreamSubject::Call(asking), question(&server, "7", 'a')));
    world.until_phase(asking, Phase::Waiting).await;
    world.engine.cancel(asking, person("ada"), None).await.expect("the cancel is recorded");
    world.until_phase(asking, Phase::Unconfirmed).await;
    world.pass(SECOND).await;
    assert_eq!(dismissed(&server), ["7"], "its server need not wait for an answer");
}

#[tokio::test(start_paused = true)]
async fn a_question_of_a_call_that_was_cancelled_is_not_asked_of_another_call_after_a_kill() {
    let (mut world, server, id) = kept_child().await;
    let cancelled = lasting_call(&world, &server, id, "cancelled").await;
    server.say(UpstreamEvent::Question(UpstreamSubject::Call(cancelled), question(&server, "7", 'a')));
    world.until_phase(cancelled, Phase::Waiting).await;
    world.engine.cancel(cancelled, person("ada"), None).await.expect("the cancel is recorded");
    world.until_phase(cancelled, Phase::Unconfirmed).await;
    let asking = lasting_call(&world, &server, id, "asking").await;
    server.say(UpstreamEvent::Question(UpstreamSubject::Call(asking), question(&server, "8", 'a')));
    world.until_phase(asking, Phase::Waiting).await;
    world.restart().await;
    world.until_up(id).await;
    for token in ["7", "8"] {
        server.say(UpstreamEvent::Question(UpstreamSubject::Unsaid, question(&server, token, 'a')));
    }
    world.pass(5 * SECOND).await;
    assert_eq!(inbox(&world).await, 1, "the same words were asked twice, and one of them is not asked any more");
    let asked: Vec<_> = world.handle(asking).await.requests.values().map(|request| request.door.clone()).collect();
    assert!(
        matches!(&asked[..], [AskDoor::Live { token, .. }] if token == "8"),
        "it is the open call's own: {asked:?}"
    );
    assert_eq!(dismissed(&server), ["7", "7"], "the other is dismissed again");
}

#[tokio::test(start_paused = true)]
async fn a_question_of_a_task_that_ended_is_not_asked_of_another_call_after_a_kill() {
    let (mut world, server, id) = kept_child().await;
    server.reply_task("work", "t1", vec![PollReply::working(), PollReply::done()]);
    let ended = world.call(id, "work").await;
    world.pass(SECOND).await;
    server.say(UpstreamEvent::Question(UpstreamSubject::Task(UpstreamTaskId::new("t1")), question(&server, "7", 'a')));
    world.until_phase(ended, Phase::Done).await;
    let other = lasting_call(&world, &server, id, "other").await;
    world.restart().await;
    world.until_up(id).await;
    server.say(UpstreamEvent::Question(UpstreamSubject::Unsaid, question(&server, "7", 'a')));
    world.pass(5 * SECOND).await;
    assert_eq!((inbox(&world).await, world.phase(other).await), (0, Phase::Running), "nobody is asked");
    assert_eq!(dismissed(&server), ["7", "7"], "it is dismissed again");
    server.say(UpstreamEvent::Question(UpstreamSubject::Unsaid, question(&server, "7", 'a')));
    world.until_phase(other, Phase::Waiting).await;
}
