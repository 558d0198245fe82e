//! Pauses: which calls wait, how they leave, and what else a pause leaves alone.

use std::collections::BTreeSet;
use std::time::Duration;

use domain::ids::{AgentId, HandleId, ServerId};
use domain::server::halt::{HaltEffect, HaltSubject};
use domain::server::pause::{PauseRefused, PauseSubject, SendWaiting};
use domain::task::status::{Phase, ServerView};
use engine::{AgentCall, CallOutcome, EngineError, HangUp, StartHalt, StartPause};
use testkit::build::person;
use testkit::scripted::{EngineAction, PollReply, ScriptedServer};

use crate::agent_world::{call, plain};
use crate::world::World;

const MINUTE: Duration = Duration::from_secs(60);

fn of_agent(agent: AgentId) -> StartPause {
    StartPause {
        subject: PauseSubject::Agent(agent),
        by: person("ada").into(),
        reason: "wrong month".into(),
        holds_results: false,
    }
}

fn sent(server: &ScriptedServer) -> usize {
    server.times(|act| matches!(act, EngineAction::Call { .. })).len()
}

/// A world with a paused agent, whose tool `add` would reply at once.
async fn paused() -> (World, ScriptedServer, ServerId, AgentId) {
    let (world, server, id) = World::new().await;
    world.until_up(id).await;
    let agent = world.agent(1).await;
    for _ in 0..6 {
        server.reply("add", Duration::ZERO, Ok(plain("3")));
    }
    world.engine.pause(of_agent(agent)).await.expect("it is recorded");
    (world, server, id, agent)
}

async fn end(world: &World, agent: AgentId, send: Option<SendWaiting>) -> Result<[usize; 2], EngineError> {
    let ended = world.engine.end_pause(PauseSubject::Agent(agent), person("bob"), send).await?;
    Ok([ended.sent, ended.left_out])
}

#[tokio::test(start_paused = true)]
async fn calls_of_a_paused_agent_are_tasks_that_wait_and_their_time_begins_when_they_leave() {
    let (world, server, id, agent) = paused().await;
    let limited = AgentCall { limit: Some(5 * MINUTE), ..call(agent, id, "add") };
    let task = world.handle_of(limited).await;
    let waits = world.handle(task).await;
    assert!(matches!(waits.view, ServerView::Gated { .. }), "{waits:?}");
    world.pass(10 * MINUTE).await;
    assert_eq!(world.phase(task).await, Phase::Waiting, "it is not overdue");
    let other = world.agent(2).await;
    assert!(matches!(world.engine.agent_call(call(other, id, "add")).await, Ok(CallOutcome::Result { .. })));
    assert_eq!(sent(&server), 1, "only the other agent's call left");
    assert_eq!(end(&world, agent, None).await, Ok([1, 0]));
    let done = world.until_phase(task, Phase::Done).await;
    let due = done.due.expect("its limit").at;
    assert!(due.since(done.created) >= 15 * MINUTE, "the wait does not count: {due}");
    assert_eq!(sent(&server), 2, "it was sent once");
    world.pass(MINUTE).await;
    assert!(matches!(world.engine.agent_call(call(agent, id, "add")).await, Ok(CallOutcome::Result { .. })));
}

#[tokio::test(start_paused = true)]
async fn a_waiting_call_outlives_its_core_and_can_be_cancelled_without_its_server() {
    let (mut world, server, id, agent) = paused().await;
    let (first, second) =
        (world.handle_of(call(agent, id, "add")).await, world.handle_of(call(agent, id, "add")).await);
    world.kill().await;
    world.start().await;
    assert_eq!(world.phase(first).await, Phase::Waiting, "it waits still");
    world.engine.cancel(first, person("ada"), None).await.expect("it is recorded");
    world.until_phase(first, Phase::Cancelled).await;
    assert_eq!(end(&world, agent, None).await, Ok([1, 0]));
    world.until_phase(second, Phase::Done).await;
    assert_eq!(sent(&server), 1, "the cancelled one was never sent");
}

#[tokio::test(start_paused = true)]
async fn after_a_quarter_of_an_hour_what_is_sent_must_be_chosen_and_the_rest_is_cancelled() {
    let (world, server, id, agent) = paused().await;
    let mut tasks: Vec<HandleId> = Vec::new();
    for _ in 0..3 {
        tasks.push(world.handle_of(call(agent, id, "add")).await);
    }
    world.pass(16 * MINUTE).await;
    let refused = end(&world, agent, None).await;
    assert!(matches!(refused, Err(EngineError::Pause(PauseRefused::MustChoose { waiting: 3, .. }))), "{refused:?}");
    let stranger = SendWaiting::Only(BTreeSet::from([HandleId::from_random(99)]));
    let refused = end(&world, agent, Some(stranger)).await;
    assert!(matches!(refused, Err(EngineError::Pause(PauseRefused::NotWaiting(_)))), "{refused:?}");
    let chosen = SendWaiting::Only(BTreeSet::from([tasks[1]]));
    assert_eq!(end(&world, agent, Some(chosen)).await, Ok([1, 2]));
    world.until_phase(tasks[1], Phase::Done).await;
    for left_out in [tasks[0], tasks[2]] {
        world.until_phase(left_out, Phase::Cancelled).await;
    }
    assert_eq!(sent(&server), 1);
}

#[tokio::test(start_paused = true)]
async fn a_halt_refuses_what_a_pause_lets_go_and_a_paused_agent_cannot_fill_the_registry() {
    let (world, server, id, agent) = paused().await;
    let task = world.handle_of(call(agent, id, "add")).await;
    let most = world.policy.control.pauses.waiting_per_agent;
    for _ in 1..most {
        world.handle_of(call(agent, id, "add")).await;
    }
    let refused = world.engine.agent_call(call(agent, id, "add")).await;
    assert_eq!(refused, Err(EngineError::TooManyWaiting { most }));
    let twice = world.engine.pause(of_agent(agent)).await;
    assert!(matches!(twice, Err(EngineError::Pause(PauseRefused::AlreadyPaused(_)))), "{twice:?}");
    let effects = BTreeSet::from([HaltEffect::Calls]);
    let halt = StartHalt {
        subjects: vec![HaltSubject::Everything],
        effects,
        reason: "stop".into(),
        by: Some(person("ada").into()),
    };
    world.engine.halt(halt).await.expect("it is recorded");
    assert_eq!(end(&world, agent, Some(SendWaiting::All)).await, Ok([most, 0]));
    let failed = world.until_phase(task, Phase::Failed).await;
    assert!(matches!(&failed.view, ServerView::NotSent { why } if why.contains("halted")), "{:?}", failed.view);
    assert_eq!(sent(&server), 0);
}

#[tokio::test(start_paused = true)]
async fn a_repeated_call_joins_the_one_that_waits_and_an_agent_that_hangs_up_ends_it() {
    let (world, server, id, agent) = paused().await;
    let task = world.handle_of(call(agent, id, "add")).await;
    world.engine.hung_up(task, HangUp::Keep).await;
    let again = world.engine.agent_call(call(agent, id, "add")).await;
    assert_eq!(again, Ok(CallOutcome::Joined(task)), "the agent never had its reply");
    world.engine.hung_up(task, HangUp::Cancel).await;
    world.until_phase(task, Phase::Cancelled).await;
    assert_eq!(end(&world, agent, None).await, Ok([0, 0]));
    assert_eq!(sent(&server), 0);
}

#[tokio::test(start_paused = true)]
async fn results_that_arrive_for_a_paused_agent_are_held_where_a_person_wants_that() {
    let (world, server, id) = World::new().await;
    world.until_up(id).await;
    let agent = world.agent(1).await;
    server.reply_task("build", "t1", vec![PollReply::working(); 50]);
    let task = world.handle_of(call(agent, id, "build")).await;
    let start = StartPause { holds_results: true, ..of_agent(agent) };
    world.engine.pause(start).await.expect("it is recorded");
    let held = world.until(task, "is held", |handle| handle.hold.is_some()).await;
    assert_eq!(held.hold.and_then(|hold| hold.by), Some(person("ada")), "by whoever paused");
}
