//! What people decide about agents and what they get: holding results, revoking, and agents that go away.

use std::time::Duration;

use domain::agent::TokenDigest;
use domain::audit::Verb;
use domain::ports::AuditPage;
use domain::rule::RuleScope;
use domain::task::status::{CancelState, GoneWhy, Phase};
use domain::task::{AgentView, ResultForm, agent_view};
use engine::{EngineError, HangUp};
use testkit::build::person;
use testkit::scripted::{EngineAction, OnCancel, PollReply};

use crate::agent_world::{call, plain, rule};
use crate::world::World;

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn a_held_result_reaches_its_agent_only_after_a_person_lets_it() {
    let (world, server, id) = World::new().await;
    let agent = world.agent(1).await;
    let mut held = rule(RuleScope::Agent(agent));
    held.hold_results = Some(true);
    world.rule(held).await;
    for (deliver, sight) in [(true, AgentView::Completed), (false, AgentView::Failed)] {
        server.reply("read", Duration::ZERO, Ok(plain("secret")));
        let task = world.handle_of(call(agent, id, "read")).await;
        let mut watch = world.engine.watch(task).await.expect("readable").expect("there is such a task");
        assert!(matches!(agent_view(&watch.now(), world.now()), AgentView::Working { .. }), "a person checks it");
        world
            .engine
            .release(task, person("ada"), deliver.then_some(ResultForm::Whole), Some("seen".into()))
            .await
            .expect("it can be decided");
        let decided = watch.changed().await;
        assert_eq!(agent_view(&decided, world.now()), sight, "the watch shows the verdict, though the task is over");
        let again = world.engine.release(task, person("bob"), Some(ResultForm::Whole), None).await;
        assert!(matches!(again, Err(EngineError::Refused(_))), "a verdict is final: {again:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_person_holds_the_result_of_a_running_task() {
    let (world, server, id) = World::new().await;
    let agent = world.agent(1).await;
    server.reply_task("work", "t1", vec![PollReply::working(), PollReply::working(), PollReply::done()]);
    let task = world.handle_of(call(agent, id, "work")).await;
    world.engine.hold(task, person("ada")).await.expect("it can be held");
    world.until_phase(task, Phase::Done).await;
    let handle = world.handle(task).await;
    assert!(handle.is_held() && matches!(agent_view(&handle, world.now()), AgentView::Working { .. }), "it waits");
}

#[tokio::test(start_paused = true)]
async fn a_revoked_agent_is_out_at_once_and_everything_it_started_is_asked_to_stop() {
    let (world, server, id) = World::new().await;
    let (agent, other) = (world.agent(1).await, world.agent(2).await);
    let token = TokenDigest::of("agent-1");
    assert_eq!(world.engine.agents().by_token(&token).map(|agent| agent.id), Some(agent), "its token lets it in");
    server.on_cancel(OnCancel::Obey);
    let mut tasks = Vec::new();
    for number in 0..3 {
        let name = format!("t{number}");
        server.reply_task("work", &name, vec![PollReply::working()]);
        tasks.push(world.handle_of(call(agent, id, "work")).await);
    }
    server.reply_task("work", "bystander", vec![PollReply::working()]);
    let bystander = world.handle_of(call(other, id, "work")).await;
    server.reply("slow", 600 * SECOND, Ok(plain("1")));
    let quick = world.begin(call(agent, id, "slow"));
    world.pass(Duration::from_millis(10)).await;
    let asked = world.engine.revoke_agent(agent, person("ada"), Some("it went astray".into())).await;
    assert_eq!(asked, Ok(4), "three tasks and a call in the air");
    assert!(world.engine.agents().by_token(&token).is_none(), "its token opens nothing any more");
    assert_eq!(world.engine.agent_call(call(agent, id, "work")).await, Err(EngineError::UnknownAgent), "nor a call");
    let row = world.registry.agents().await.expect("readable").into_iter().find(|row| row.id == agent);
    assert!(row.expect("it stays for the record").revoked.is_some(), "the row says so");
    for task in tasks {
        let handle = world.handle(task).await;
        assert_eq!(agent_view(&handle, world.now()), AgentView::Gone, "the agent knows it no longer");
        world.until(task, "stopped", |handle| handle.stop_state() == Some(CancelState::Stopped)).await;
    }
    world.until_true("stopped", || !server.times(|act| matches!(act, EngineAction::CancelCall(_))).is_empty()).await;
    assert_eq!(world.phase(bystander).await, Phase::Running, "another agent's task is left alone");
    let again = world.engine.revoke_agent(agent, person("ada"), None).await;
    assert_eq!(again, Ok(0), "there is nothing left to stop");
    let _ = quick.await;
}

#[tokio::test(start_paused = true)]
async fn a_task_of_a_revoked_agent_that_cannot_be_stopped_says_why() {
    let (world, server, id) = World::new().await;
    let agent = world.agent(1).await;
    let no = domain::task::status::RpcError { code: -32_601, message: "no".into() };
    server.on_cancel(OnCancel::Fail(domain::ports::UpstreamError::Refused(no)));
    server.reply_task("work", "t1", vec![PollReply::working()]);
    let task = world.handle_of(call(agent, id, "work")).await;
    world.engine.revoke_agent(agent, person("ada"), None).await.expect("it is revoked");
    let handle = world.until(task, "refused", |handle| handle.stop_state() == Some(CancelState::Refused)).await;
    let domain::task::status::Intent::Revoked(cancel_request) = handle.intent else { panic!("it is revoked") };
    let domain::task::status::Delivery::Refused { why, .. } = cancel_request.delivery else { panic!("it was refused") };
    assert!(why.contains("no"), "the person reads the server's word: {why}");
}

#[tokio::test(start_paused = true)]
async fn tasks_of_an_agent_that_went_away_are_orphaned_until_it_returns() {
    let (world, server, id) = World::new().await;
    let (agent, other) = (world.agent(1).await, world.agent(2).await);
    server.reply_task("work", "t1", vec![PollReply::working()]);
    server.reply_task("work", "t2", vec![PollReply::working()]);
    let task = world.handle_of(call(agent, id, "work")).await;
    let others = world.handle_of(call(other, id, "work")).await;
    world.engine.agent_gone(agent);
    world.pass(world.policy.gateway.orphan_after / 2).await;
    assert!(world.handle(task).await.orphaned.is_none(), "it may just be restarting");
    world.pass(world.policy.gateway.orphan_after).await;
    world.until(task, "orphaned", |handle| handle.is_orphaned()).await;
    assert!(world.handle(others).await.orphaned.is_none(), "the other agent is here");
    world.engine.agent_seen(agent, None);
    world.until(task, "back", |handle| !handle.is_orphaned()).await;
    let AuditPage { rows, .. } = world.registry.audit_page(Some(task), 0, 100).await.expect("readable");
    assert_eq!(rows.iter().filter(|row| row.event.verb == Verb::Orphaned).count(), 1, "it is on record once");
}

#[tokio::test(start_paused = true)]
async fn an_agent_is_connected_while_a_stream_of_it_is_open_or_it_was_heard_within_a_minute() {
    let (world, _server, _id) = World::new().await;
    let (agent, other) = (world.agent(1).await, world.agent(2).await);
    let is_connected = |agent| world.engine.presence(agent).expect("it was heard of").connected;
    let has_stream = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let asked = std::sync::Arc::clone(&has_stream);
    world.engine.set_agent_streams(move |of| of == agent && asked.load(std::sync::atomic::Ordering::Relaxed));
    for agent in [agent, other] {
        world.engine.agent_seen(agent, None);
        // Its request is over; a session of it may still be open.
        world.engine.agent_gone(agent);
        assert!(is_connected(agent), "it was heard just now");
    }
    has_stream.store(true, std::sync::atomic::Ordering::Relaxed);
    world.pass(world.policy.gateway.connected_for).await;
    assert!(is_connected(agent), "its stream is open");
    assert!(!is_connected(other), "nothing of this one is open, and it said nothing for a minute");
    has_stream.store(false, std::sync::atomic::Ordering::Relaxed);
    assert!(!is_connected(agent), "its stream has ended");
    let bridges = [world.engine.agent_bridge(other), world.engine.agent_bridge(other)];
    world.engine.agent_seen(other, None);
    let [first, second] = bridges;
    drop(first);
    assert!(is_connected(other), "one bridge is left");
    drop(second);
    assert!(!is_connected(other), "a bridge that ends says so, and nobody waits for a minute");
}

#[tokio::test(start_paused = true)]
async fn an_agent_is_gone_exactly_when_nothing_of_it_is_connected() {
    let (world, server, id) = World::new().await;
    world.engine.set_agent_streams(|_| false);
    let (bridged, idle) = (world.agent(1).await, world.agent(2).await);
    server.reply_task("work", "t1", vec![PollReply::working()]);
    server.reply_task("work", "t2", vec![PollReply::working()]);
    let kept = world.handle_of(call(bridged, id, "work")).await;
    let left = world.handle_of(call(idle, id, "work")).await;
    let bridge = world.engine.agent_bridge(bridged);
    // Its last request is over; the other one has a session that nothing comes through.
    world.engine.agent_gone(bridged);
    world.pass(world.policy.gateway.orphan_after * 3).await;
    world.until(left, "orphaned", |handle| handle.is_orphaned()).await;
    assert!(world.handle(kept).await.orphaned.is_none(), "its bridge is open, however long it says nothing");
    let sessions = |agent| world.engine.agent_sessions(agent).len();
    let is_connected = |agent| world.engine.presence(agent).expect("it was heard of").connected;
    assert_eq!((is_connected(bridged), sessions(bridged)), (true, 1));
    assert_eq!((is_connected(idle), sessions(idle)), (false, 0));
    drop(bridge);
    assert_eq!((is_connected(bridged), sessions(bridged)), (false, 0), "and both end together");
    world.pass(world.policy.gateway.orphan_after * 2).await;
    world.until(kept, "orphaned", |handle| handle.is_orphaned()).await;
    let again = world.engine.agent_bridge(bridged);
    world.until(kept, "back", |handle| !handle.is_orphaned()).await;
    drop(again);
}

#[tokio::test(start_paused = true)]
async fn after_a_restart_an_agent_that_does_not_return_leaves_orphans() {
    let (mut world, server, id) = World::new().await;
    let agent = world.agent(1).await;
    server.reply_task("work", "t1", vec![PollReply::working()]);
    let task = world.handle_of(call(agent, id, "work")).await;
    world.restart().await;
    world.pass(world.policy.gateway.orphan_after / 2).await;
    assert!(world.handle(task).await.orphaned.is_none(), "it has time to return");
    world.until(task, "orphaned", |handle| handle.is_orphaned()).await;
    world.restart().await;
    world.engine.agent_seen(agent, None);
    world.until(task, "back", |handle| !handle.is_orphaned()).await;
}

#[tokio::test(start_paused = true)]
async fn what_is_heard_of_agents_is_flushed_in_batches() {
    let (world, server, id) = World::new().await;
    let agent = world.agent(1).await;
    world.until_up(id).await;
    for _ in 0..3 {
        server.reply("add", Duration::ZERO, Ok(plain("1")));
        world.engine.agent_call(call(agent, id, "add")).await.expect("the call is made");
    }
    world.pass(world.policy.gateway.notes_flush * 2).await;
    let row = world.registry.agents().await.expect("readable").into_iter().find(|row| row.id == agent);
    let row = row.expect("there is such an agent");
    assert_eq!((row.calls, row.client.as_deref()), (3, Some("testbed 1")), "calls and client are stored");
    assert!(row.seen.is_some(), "and when it was seen");
}

#[tokio::test(start_paused = true)]
async fn a_task_told_cancelled_is_cancelled_for_its_agent_whatever_its_server_does() {
    let (world, server, id) = World::new().await;
    let agent = world.agent(1).await;
    server.on_cancel(OnCancel::Ignore);
    server.reply_task("work", "t1", vec![PollReply::working()]);
    let task = world.handle_of(call(agent, id, "work")).await;
    world.engine.agent_told_cancelled(task, agent).await.expect("it can be told");
    assert_eq!(agent_view(&world.handle(task).await, world.now()), AgentView::Cancelled, "at once");
    world.until_true("asked", || !server.times(|act| matches!(act, EngineAction::Cancel(_))).is_empty()).await;
    server.becomes("t1", PollReply::done());
    world.until_phase(task, Phase::Done).await;
    assert_eq!(agent_view(&world.handle(task).await, world.now()), AgentView::Cancelled, "an end that was told stays");
}

#[tokio::test(start_paused = true)]
async fn removing_a_server_ends_the_agents_tasks_there_and_a_push_out_of_order_changes_nothing() {
    let (world, server, id) = World::new().await;
    let agent = world.agent(1).await;
    server.reply_task("work", "t1", vec![PollReply::done()]);
    let done = world.handle_of(call(agent, id, "work")).await;
    world.until_phase(done, Phase::Done).await;
    assert!(server.push("t1", &PollReply::working()), "it is up");
    world.pass(SECOND).await;
    assert_eq!(agent_view(&world.handle(done).await, world.now()), AgentView::Completed, "an end stays an end");
    server.reply_task("work", "t2", vec![PollReply::working()]);
    let open = world.handle_of(call(agent, id, "work")).await;
    world.engine.hung_up(open, HangUp::Keep).await;
    world.registry.remove_server(id, Vec::new()).await.expect("it can be removed");
    world.engine.server_removed(id).await.expect("it is removed");
    let handle = world.until_phase(open, Phase::Lost).await;
    let domain::task::status::Contact::Gone { why, .. } = &handle.contact else { panic!("it is gone") };
    assert_eq!(*why, GoneWhy::ServerRemoved, "with that reason");
    assert_eq!(agent_view(&handle, world.now()), AgentView::Gone, "the agent gets the one answer for that");
}
