//! Limits of time: the sweep applies what a rule sets, and a person decides where it asks.

use std::time::Duration;

use domain::ids::{AgentId, HandleId, ServerId};
use domain::policy::Policy;
use domain::rule::{AudienceRule, LimitKind, RuleScope, RunAction, RunLimit};
use domain::task::decider::Decider;
use domain::task::{MoreTime, TaskHandle};
use testkit::build::{http_server, person};
use testkit::scripted::{PollReply, ScriptedServer};

use crate::agent_world::{call, rule};
use crate::world::World;

const ALLOWED: Duration = Duration::from_secs(5);

/// What a limit that acts at its moment may be late by: timers count whole milliseconds.
const AT_ONCE: Duration = Duration::from_millis(5);

/// A world with a tool that runs for ever and may run for five seconds.
async fn runaway(action: RunAction) -> (World, ScriptedServer, ServerId, AgentId) {
    let (world, server, id) = World::with(http_server(1, "one"), Policy::default()).await;
    let agent = world.agent(1).await;
    let mut limits = rule(RuleScope::Tool(id, "spin".into()));
    limits.time_limit = Some(RunLimit { allowed: ALLOWED, action });
    world.rule(limits).await;
    world.until_up(id).await;
    server.reply_task("spin", "t1", vec![PollReply::working()]);
    (world, server, id, agent)
}

async fn begun(world: &World, agent: AgentId, server: ServerId) -> HandleId {
    world.handle_of(call(agent, server, "spin")).await
}

fn is_reached(handle: &TaskHandle) -> bool {
    handle.run_limits.is_reached()
}

#[tokio::test(start_paused = true)]
async fn a_runaway_task_is_noted_where_its_limit_warns() {
    let (world, _server, id, agent) = runaway(RunAction::Warn).await;
    let task = begun(&world, agent, id).await;
    let handle = world.until(task, "at its limit", is_reached).await;
    assert!(handle.cancel_request().is_none() && !handle.asks_at_limit(), "it goes on");
}

#[tokio::test(start_paused = true)]
async fn a_runaway_task_is_cancelled_where_its_limit_cancels() {
    let (world, _server, id, agent) = runaway(RunAction::Cancel).await;
    let task = begun(&world, agent, id).await;
    let handle = world.until(task, "cancelled", |handle| handle.cancel_request().is_some()).await;
    assert_eq!(handle.cancel_request().map(|wish| wish.by.clone()), Some(Decider::Limit(LimitKind::Time)));
    assert!(world.now().since(handle.created) >= ALLOWED, "not before its time");
    let late = handle.cancel_request().map(|wish| wish.at.since(handle.created).saturating_sub(ALLOWED));
    assert!(late.is_some_and(|late| late <= AT_ONCE), "its moment is waited for: {late:?}");
}

#[tokio::test(start_paused = true)]
async fn a_limit_that_is_due_between_two_looks_at_the_registry_is_applied_at_its_moment() {
    let (world, server, id, agent) = runaway(RunAction::Cancel).await;
    let mut limits = rule(RuleScope::Tool(id, "stall".into()));
    limits.time_limit = Some(RunLimit { allowed: Policy::default().run_limit_min, action: RunAction::Cancel });
    world.rule(limits).await;
    server.reply_task("stall", "t3", vec![PollReply::working()]);
    // Not at a whole second of the core, when the sweeper looks anyway.
    world.pass(Duration::from_millis(370)).await;
    let task = world.handle_of(call(agent, id, "stall")).await;
    let due = world.handle(task).await.run_limits.get(LimitKind::Time).map(|limit| limit.due).expect("it has a limit");
    let handle = world.until(task, "cancelled", |handle| handle.cancel_request().is_some()).await;
    let wish = handle.cancel_request().expect("it is cancelled");
    assert!(wish.at >= due && wish.at.since(due) <= AT_ONCE, "due {due}, cancelled {}", wish.at);
}

/// So long a task with a question may run: long enough to ask it.
const ALLOWED_TO_ASK: Duration = Duration::from_secs(60);

/// A task with a question that stays open, which is cancelled at its limit.
async fn with_a_question(asked: AudienceRule) -> (World, HandleId) {
    let (world, server, id, agent) = runaway(RunAction::Cancel).await;
    let mut limits = rule(RuleScope::Tool(id, "ask".into()));
    limits.time_limit = Some(RunLimit { allowed: ALLOWED_TO_ASK, action: RunAction::Cancel });
    limits.asked = Some(asked);
    world.rule(limits).await;
    server.reply_task("ask", "t2", vec![PollReply::asks(&["k"])]);
    let task = world.handle_of(call(agent, id, "ask")).await;
    world.until(task, "asked", |handle| handle.asked_since().is_some()).await;
    (world, task)
}

#[tokio::test(start_paused = true)]
async fn a_task_that_asks_its_agent_reaches_its_limit_and_one_that_waits_for_a_person_does_not() {
    let (world, task) = with_a_question(AudienceRule::Agent).await;
    let handle = world.until(task, "cancelled", |handle| handle.cancel_request().is_some()).await;
    assert_eq!(handle.cancel_request().map(|wish| wish.by.clone()), Some(Decider::Limit(LimitKind::Time)));
    let (world, task) = with_a_question(AudienceRule::People).await;
    world.pass(ALLOWED_TO_ASK * 5).await;
    let waits = world.handle(task).await;
    assert!(waits.cancel_request().is_none() && waits.worked(world.now()) < ALLOWED_TO_ASK, "its time stands still");
}

#[tokio::test(start_paused = true)]
async fn a_limit_still_asks_after_a_restart_and_a_person_allows_more() {
    let (mut world, _server, id, agent) = runaway(RunAction::Ask).await;
    let task = begun(&world, agent, id).await;
    world.until(task, "asking", TaskHandle::asks_at_limit).await;
    world.restart().await;
    assert!(world.handle(task).await.asks_at_limit(), "what is asked is a row");
    let more = MoreTime::Allow(ALLOWED);
    world.engine.allow_time(task, LimitKind::Time, more, person("ada")).await.expect("it asks");
    assert!(!world.handle(task).await.asks_at_limit(), "it may go on");
    world.until(task, "asking again", TaskHandle::asks_at_limit).await;
}

#[tokio::test(start_paused = true)]
async fn a_limit_of_another_tool_does_not_concern_a_task() {
    let (world, server, id, agent) = runaway(RunAction::Cancel).await;
    server.reply_task("walk", "t2", vec![PollReply::working()]);
    let task = world.handle_of(call(agent, id, "walk")).await;
    assert!(world.handle(task).await.run_limits.is_empty());
}
