//! Replies that did not arrive, and calls that are made again (ruling 24).

use std::time::Duration;

use domain::rule::{RepeatRule, RuleScope};
use domain::task::status::{Phase, ServerView};
use domain::task::{AgentView, agent_view};
use engine::{CallOutcome, HangUp};
use testkit::scripted::{EngineAction, PollReply, ScriptedServer};

use crate::agent_world::{call, plain, rule, set_arguments};
use crate::world::World;

const SECOND: Duration = Duration::from_secs(1);

fn sent(server: &ScriptedServer) -> usize {
    server.times(|act| matches!(act, EngineAction::Call { .. })).len()
}

#[tokio::test(start_paused = true)]
async fn the_same_call_again_joins_what_its_agent_hung_up_on() {
    let (world, server, id) = World::new().await;
    let agent = world.agent(1).await;
    world.until_up(id).await;
    server.reply("slow", 5 * SECOND, Ok(plain("1")));
    world.hang_up_on(call(agent, id, "slow")).await;
    let task = world.only("recorded", |handle| handle.is_undelivered()).await.id;
    let joined = world.engine.agent_call(call(agent, id, "slow")).await.expect("the call is made");
    assert_eq!(joined, CallOutcome::Joined(task), "it joins the one in flight");
    world.until_phase(task, Phase::Done).await;
    world.engine.delivered(task);
    assert_eq!(sent(&server), 1, "the tool ran once");
    server.reply("slow", 5 * SECOND, Ok(plain("2")));
    assert_ne!(
        world.handle_of(call(agent, id, "slow")).await,
        task,
        "once it is delivered, the same call is a new one"
    );
    assert_eq!(sent(&server), 2, "and runs");
    world.pass(10 * SECOND).await;
    assert!(world.handle(task).await.undelivered.is_none(), "the receipt is stored");
}

#[tokio::test(start_paused = true)]
async fn two_equal_calls_at_once_are_two_calls() {
    let (world, server, id) = World::new().await;
    let agent = world.agent(1).await;
    world.until_up(id).await;
    for number in ["1", "2"] {
        server.reply("slow", 5 * SECOND, Ok(plain(number)));
    }
    let first = world.handle_of(call(agent, id, "slow")).await;
    let second = world.handle_of(call(agent, id, "slow")).await;
    assert_ne!(first, second, "nobody hung up: each is wanted");
    assert_eq!(sent(&server), 2, "both ran");
}

#[tokio::test(start_paused = true)]
async fn only_the_same_agent_with_the_same_arguments_joins_and_only_once() {
    let (world, server, id) = World::new().await;
    let (agent, stranger) = (world.agent(1).await, world.agent(2).await);
    world.until_up(id).await;
    for _ in 0..5 {
        server.reply("slow", 60 * SECOND, Ok(plain("1")));
    }
    let task = world.handle_of(call(agent, id, "slow")).await;
    world.engine.hung_up(task, HangUp::Keep).await;
    world.handle_of(call(stranger, id, "slow")).await;
    let mut other = call(agent, id, "slow");
    set_arguments(&mut other, "{\"a\":1}");
    world.handle_of(other).await;
    let mut spelled = call(agent, id, "slow");
    set_arguments(&mut spelled, " { } ");
    let joined = world.engine.agent_call(spelled).await.expect("the call is made");
    assert_eq!(joined, CallOutcome::Joined(task), "spelling does not matter");
    world.handle_of(call(agent, id, "slow")).await;
    world.engine.hung_up(task, HangUp::Keep).await;
    let joined = world.engine.agent_call(call(agent, id, "slow")).await.expect("the call is made");
    assert_eq!(joined, CallOutcome::Joined(task), "hung up on again, it is joined again");
}

#[tokio::test(start_paused = true)]
async fn by_rule_the_same_call_is_always_a_new_one() {
    let (world, server, id) = World::new().await;
    let agent = world.agent(1).await;
    let mut new = rule(RuleScope::Server(id));
    new.repeat = Some(RepeatRule::New);
    world.rule(new).await;
    world.until_up(id).await;
    for _ in 0..2 {
        server.reply("slow", 60 * SECOND, Ok(plain("1")));
    }
    let task = world.handle_of(call(agent, id, "slow")).await;
    world.engine.hung_up(task, HangUp::Keep).await;
    assert_ne!(world.handle_of(call(agent, id, "slow")).await, task, "the rule says so");
}

#[tokio::test(start_paused = true)]
async fn a_result_that_nobody_fetched_is_joined_for_a_while_and_then_forgotten() {
    let (world, server, id) = World::new().await;
    let agent = world.agent(1).await;
    world.until_up(id).await;
    for _ in 0..2 {
        server.reply("slow", SECOND / 100, Ok(plain("1")));
    }
    world.hang_up_on(call(agent, id, "slow")).await;
    let task = world.only("done", |handle| handle.phase(world.now()) == Phase::Done).await.id;
    world.pass(world.policy.gateway.repeat_within / 2).await;
    let joined = world.engine.agent_call(call(agent, id, "slow")).await.expect("the call is made");
    assert_eq!(joined, CallOutcome::Joined(task), "the result waits for its agent");
    world.engine.hung_up(task, HangUp::Keep).await;
    world.pass(world.policy.gateway.repeat_within).await;
    let late = world.engine.agent_call(call(agent, id, "slow")).await.expect("the call is made");
    assert!(matches!(late, CallOutcome::Result { .. }), "who asks again later means it: {late:?}");
}

#[tokio::test(start_paused = true)]
async fn a_call_in_the_air_at_a_kill_is_unconfirmed_and_joined_and_never_sent_again() {
    let (mut world, server, id) = World::new().await;
    let agent = world.agent(1).await;
    world.until_up(id).await;
    server.reply("pay", 60 * SECOND, Ok(plain("1")));
    let begun = world.begin(call(agent, id, "pay"));
    world.until_true("sent", || sent(&server) == 1).await;
    assert_eq!(world.intents.open().len(), 1, "the intent stands");
    world.kill().await;
    begun.abort();
    world.start().await;
    let task = world.only("recorded", |_| true).await;
    assert!(matches!(task.view, ServerView::Unanswered { .. }), "its reply cannot come: {:?}", task.view);
    assert_eq!((task.agent, task.tool.as_deref()), (Some(agent), Some("pay")), "it says whose it was, and what");
    assert_eq!(
        world.registry.payload(task.id, domain::task::payload::PayloadKind::Arguments).await,
        Ok(None),
        "and no more"
    );
    let joined = world.engine.agent_call(call(agent, id, "pay")).await.expect("the call is made");
    assert_eq!(joined, CallOutcome::Joined(task.id), "the agent is told of that one");
    assert_eq!(sent(&server), 1, "the tool did not run twice");
    world.restart().await;
    assert_eq!(world.all().await.len(), 1, "an intent is recorded once");
}

#[tokio::test(start_paused = true)]
async fn a_task_that_was_given_just_before_a_kill_is_known_and_joined_after_it() {
    let (mut world, server, id) = World::new().await;
    let agent = world.agent(1).await;
    server.reply_task("index", "t1", vec![PollReply::working()]);
    let task = world.handle_of(call(agent, id, "index")).await;
    world.restart().await;
    let handle = world.handle(task).await;
    assert!(
        handle.given.is_some() && matches!(agent_view(&handle, world.now()), AgentView::Working { .. }),
        "it goes on"
    );
    let joined = world.engine.agent_call(call(agent, id, "index")).await.expect("the call is made");
    assert_eq!(joined, CallOutcome::Joined(task), "whether its agent got it is not known, so the same call joins it");
    world.engine.delivered(task);
    world.pass(10 * SECOND).await;
    world.restart().await;
    server.reply_task("index", "t2", vec![PollReply::working()]);
    assert_ne!(world.handle_of(call(agent, id, "index")).await, task, "what was delivered is not joined after a kill");
}
