//! Found tasks, and tasks that end: listed, adopted, expired, throttled progress, removed servers.

use std::time::Duration;

use domain::ids::UpstreamTaskId;
use domain::policy::Policy;
use domain::ports::{Clock, UpstreamError, UpstreamEvent};
use domain::task::status::{Contact, GoneWhy, Phase};
use testkit::build::{http_server, person};
use testkit::scripted::{PollReply, ScriptedServer, unreachable};

use crate::world::World;

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn listed_tasks_get_a_handle_once_and_stay_when_they_are_no_longer_listed() {
    let clock = std::sync::Arc::new(testkit::clock::TestClock::new());
    let server = ScriptedServer::new(clock.clone());
    server.list(&["a", "b"]);
    server.plan("a", vec![PollReply::working()]);
    server.plan("b", vec![PollReply::working()]);
    let (world, _) = World::prepared(http_server(1, "one"), Policy::default(), clock, &server).await;
    world.pass(10 * SECOND).await;
    let mut found = world.all().await;
    assert_eq!(found.len(), 2, "both are taken up");
    server.list(&[]);
    world.pass(600 * SECOND).await;
    assert_eq!(world.all().await.len(), 2, "and none twice");
    let first = found.remove(0);
    assert_eq!(world.phase(first.id).await, Phase::Running, "not being listed is not being gone");
}

#[tokio::test(start_paused = true)]
async fn an_adopted_task_is_followed_and_adopted_once() {
    let (world, server, id) = World::new().await;
    server.plan("theirs", vec![PollReply::working()]);
    let by = person("ada");
    let one = world.engine.adopt(id, UpstreamTaskId::new("theirs"), by.clone()).await.expect("it is there");
    let two = world.engine.adopt(id, UpstreamTaskId::new("theirs"), by.clone()).await.expect("it is there still");
    assert_eq!(one, two, "the same task is the same handle");
    let unknown = world.engine.adopt(id, UpstreamTaskId::new("nobody's"), by).await;
    assert!(matches!(unknown, Err(engine::EngineError::Upstream(UpstreamError::UnknownTask))), "{unknown:?}");
    server.becomes("theirs", PollReply::done());
    world.until_phase(one, Phase::Done).await;
}

#[tokio::test(start_paused = true)]
async fn an_expired_task_is_looked_at_once_more_before_it_is_given_up() {
    let (world, server, id) = World::new().await;
    server.reply_task("work", "t1", vec![PollReply::working()]);
    server.ttl("t1", 100 * SECOND);
    server.hint("t1", 60 * SECOND);
    let task = world.call(id, "work").await;
    world.pass(90 * SECOND).await;
    server.forget("t1");
    let before = server.reads("t1").len();
    world.until_phase(task, Phase::Expired).await;
    assert!(server.reads("t1").len() > before, "one more look decided it");
}

#[tokio::test(start_paused = true)]
async fn progress_is_thinned_and_the_last_one_lands() {
    let (world, server, id) = World::new().await;
    server.reply_task("work", "t1", vec![PollReply::working()]);
    server.hint("t1", 600 * SECOND);
    let task = world.call(id, "work").await;
    world.pass(3 * SECOND).await;
    let before = world.handle(task).await.version;
    for step in 0..=1_000 {
        let progress =
            domain::task::observation::Progress { done: Some(f64::from(step)), total: Some(1_000.0), message: None };
        server.say(UpstreamEvent::Progress(domain::ports::UpstreamSubject::Call(task), progress));
        world.pass(SECOND / 500).await;
    }
    world.pass(SECOND).await;
    let handle = world.handle(task).await;
    let done = handle.progress.as_ref().and_then(|progress| progress.done);
    assert_eq!(done, Some(1_000.0), "the last word counts");
    let commits = handle.version - before;
    assert!(commits <= 15, "two seconds of progress are a dozen commits, not a thousand: {commits}");
}

#[tokio::test(start_paused = true)]
async fn a_removed_server_leaves_its_tasks_lost_with_that_reason() {
    let (world, server, id) = World::new().await;
    server.reply_task("work", "t1", vec![PollReply::working()]);
    let task = world.call(id, "work").await;
    world.pass(5 * SECOND).await;
    world.registry.remove_server(id, Vec::new()).await.expect("it is removed");
    world.engine.server_removed(id).await.expect("its tasks are closed");
    let lost = world.handle(task).await;
    assert!(matches!(lost.contact, Contact::Gone { why: GoneWhy::ServerRemoved, .. }), "{:?}", lost.contact);
    let refused = world.try_call(id, "work").await;
    assert!(matches!(refused, Err(engine::EngineError::UnknownServer)), "{refused:?}");
    let now = world.clock.now();
    world.pass(600 * SECOND).await;
    assert!(server.reads("t1").iter().all(|at| *at <= now), "nothing is looked at any more");
}

#[tokio::test(start_paused = true)]
async fn a_question_that_a_push_leaves_out_is_closed_by_a_look_soon_after() {
    let (world, server, id) = World::new().await;
    server.accepts_subscriptions();
    server.reply_task("work", "t1", vec![PollReply::asks(&["k"])]);
    server.hint("t1", 2 * SECOND);
    let task = world.call(id, "work").await;
    world.until_phase(task, Phase::Waiting).await;
    // Long enough that the subscription covers it: from now on it is looked at once a minute.
    world.pass(30 * SECOND).await;
    server.becomes("t1", PollReply::working());
    let pushed = world.now();
    assert!(server.push("t1", &PollReply::working()), "somebody listens");
    world.until_phase(task, Phase::Running).await;
    let took = world.now().since(pushed);
    assert!(took <= 3 * SECOND, "the look comes as soon as the hint allows, not with the next minute: {took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_server_without_tasks_that_a_call_does_not_reach_is_not_shown_as_up() {
    let (world, server, id) = World::new().await;
    world.until_up(id).await;
    server.refuse_connections(Some(unreachable()));
    server.reply("work", Duration::ZERO, Err(domain::ports::CallError::NotSent(unreachable())));
    let task = world.call(id, "work").await;
    world.until_phase(task, Phase::Failed).await;
    world.pass(2 * SECOND).await;
    assert_eq!(world.engine.health(id).word(), "down", "what a person just saw fail is known");
    server.refuse_connections(None);
    world.until_up(id).await;
}
