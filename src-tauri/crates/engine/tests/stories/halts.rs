//! Halts: what is refused, what is cancelled, what stands still, and the way back.

use std::time::Duration;

use domain::ids::{AgentId, ServerId};
use domain::rule::{AudienceRule, Rule, RuleScope};
use domain::server::ServerHealth;
use domain::server::halt::{HaltEffect, HaltSubject, RecoveryStage, StageRefused};
use domain::task::Audience;
use domain::task::status::Phase;
use domain::task::status::halted::HaltedTaskState;
use engine::{CallOutcome, EngineError, HaltReason, StartHalt};
use testkit::build::person;
use testkit::scripted::{EngineAction, OnCancel, PollReply, ScriptedServer, payload};

use crate::agent_world::{call, plain, rule};
use crate::world::{World, acceptance};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

fn order(subject: HaltSubject, effects: &[HaltEffect]) -> StartHalt {
    let effects = effects.iter().copied().collect();
    StartHalt { subjects: vec![subject], effects, reason: "wrong month".into(), by: Some(person("ada").into()) }
}

fn everything(effects: &[HaltEffect]) -> StartHalt {
    order(HaltSubject::Everything, effects)
}

fn sent(server: &ScriptedServer) -> usize {
    server.times(|act| matches!(act, EngineAction::Call { .. })).len()
}

/// A world with one agent, whose tool `add` replies at once.
async fn with_agent() -> (World, ScriptedServer, ServerId, AgentId) {
    let (world, server, id) = World::new().await;
    world.until_up(id).await;
    let agent = world.agent(1).await;
    for _ in 0..4 {
        server.reply("add", Duration::ZERO, Ok(plain("3")));
    }
    (world, server, id, agent)
}

async fn resume(world: &World, stages: &[RecoveryStage]) {
    for stage in stages {
        world.engine.resume(*stage, person("bob")).await.expect("it is the next stage");
    }
}

#[tokio::test(start_paused = true)]
async fn halted_calls_of_agents_and_people_are_refused_and_pass_again_at_the_end() {
    let (world, server, id, agent) = with_agent().await;
    world.engine.halt(everything(&[HaltEffect::Calls])).await.expect("it is recorded");
    let refused = world.engine.agent_call(call(agent, id, "add")).await;
    let Err(EngineError::Halted(HaltReason::Ordered { by, reason, .. })) = refused else {
        panic!("its agent is told: {refused:?}")
    };
    assert_eq!((by, reason.as_str()), (Some(person("ada").into()), "wrong month"), "who halted it, and why");
    let refused = world.try_call(id, "add").await;
    assert!(matches!(refused, Err(EngineError::Halted(_))), "people are refused as well: {refused:?}");
    assert_eq!((sent(&server), world.all().await.len()), (0, 0), "nothing left, and nothing was recorded");
    resume(&world, &RecoveryStage::ALL).await;
    let done = world.engine.agent_call(call(agent, id, "add")).await;
    assert_eq!(done, Ok(CallOutcome::Result { payload: payload("3"), is_error: false }), "all calls pass again");
}

#[tokio::test(start_paused = true)]
async fn a_halt_of_a_server_an_agent_or_a_tool_leaves_everything_else_alone() {
    for (subject, refused) in [
        (HaltSubject::Server(ServerId::from_random(1)), [true, true]),
        (HaltSubject::Server(ServerId::from_random(99)), [false, false]),
        (HaltSubject::Agent(AgentId::from_random(1)), [true, false]),
        (HaltSubject::Tool(ServerId::from_random(1), "add".into()), [true, true]),
        (HaltSubject::Tool(ServerId::from_random(1), "other".into()), [false, false]),
    ] {
        let (world, _, id, agent) = with_agent().await;
        let other = world.agent(2).await;
        world.engine.halt(order(subject.clone(), &[HaltEffect::Calls])).await.expect("it is recorded");
        let mut found = [false, false];
        for (place, agent) in found.iter_mut().zip([agent, other]) {
            *place = matches!(world.engine.agent_call(call(agent, id, "add")).await, Err(EngineError::Halted(_)));
        }
        assert_eq!(found, refused, "{subject:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_before_the_wire_is_refused_and_never_sent() {
    let (world, server, id, agent) = with_agent().await;
    server.queue_calls(true);
    let asked = world.begin(call(agent, id, "add"));
    world.pass(Duration::from_millis(10)).await;
    let by_person = world.try_call(id, "add").await.expect("it has a row and waits");
    world.engine.halt(everything(&[HaltEffect::Calls])).await.expect("it is recorded");
    server.queue_calls(false);
    let refused = asked.await.expect("it was not cut off");
    assert!(matches!(refused, Err(EngineError::Halted(_))), "its agent is told why: {refused:?}");
    world.until_phase(by_person, Phase::Failed).await;
    world.pass(MINUTE).await;
    assert_eq!(sent(&server), 0, "neither was sent");
    let health = world.engine.health(id);
    assert!(matches!(health, ServerHealth::Up { .. }), "a refused call says nothing about its server: {health:?}");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_began_to_leave_is_listed_and_cancelled_and_its_end_is_what_the_server_said() {
    let (world, server, id, agent) = with_agent().await;
    server.reply_task("build", "t1", vec![PollReply::working(); 50]);
    let task = world.call(id, "build").await;
    world.until_phase(task, Phase::Running).await;
    server.reply("slow", 60 * SECOND, Ok(plain("42")));
    let asked = world.begin(call(agent, id, "slow"));
    world.pass(Duration::from_millis(10)).await;
    server.on_cancel(OnCancel::Ignore);
    let halt = world.engine.halt(everything(&HaltEffect::ALL)).await.expect("it is recorded");
    world.pass(5 * SECOND).await;
    let listed = world.registry.halted_tasks(halt.id, None, 10).await.expect("the list can be read");
    assert_eq!(listed.len(), 2, "the open task and the call on its way");
    assert!(listed.contains(&task), "the task is one of them");
    let state = |handle: &domain::task::TaskHandle| handle.halted_state(world.now(), world.policy.halt.confirm_within);
    assert_eq!(state(&world.handle(task).await), HaltedTaskState::Acknowledged, "the server only acknowledged");
    world.pass(MINUTE).await;
    assert_eq!(state(&world.handle(task).await), HaltedTaskState::NotConfirmed, "it keeps working, and nobody guesses");
    let cancelled = server.times(|act| matches!(act, EngineAction::CancelCall(_))).len();
    assert_eq!(cancelled, 1, "the call on its way was asked to cancel once");
    drop(asked);
}

#[tokio::test(start_paused = true)]
async fn a_task_that_was_lost_before_the_halt_is_none_of_its_tasks() {
    let (world, server, id, _) = with_agent().await;
    server.reply_task("build", "t1", vec![PollReply::working(); 500]);
    let lost = world.call(id, "build").await;
    world.until(lost, "a task of its server", |handle| handle.view.task().is_some()).await;
    server.forget("t1");
    world.until_phase(lost, Phase::Lost).await;
    server.reply_task("build", "t2", vec![PollReply::working(); 500]);
    let open = world.call(id, "build").await;
    world.until(open, "a task of its server", |handle| handle.view.task().is_some()).await;
    let halt = world.engine.halt(everything(&HaltEffect::ALL)).await.expect("it is recorded");
    let listed = world.registry.halted_tasks(halt.id, None, 10).await.expect("the list can be read");
    assert_eq!(listed, [open], "nobody can ask the other one to cancel");
    world.until_phase(open, Phase::Cancelled).await;
}

#[tokio::test(start_paused = true)]
async fn what_a_halt_could_not_confirm_is_asked_again_and_what_ended_is_not() {
    let (world, server, id, _) = with_agent().await;
    server.reply_task("build", "t1", vec![PollReply::working(); 500]);
    let task = world.call(id, "build").await;
    world.until(task, "a task of its server", |handle| handle.view.task().is_some()).await;
    let retry = || world.engine.retry_halt(person("bob"));
    assert_eq!(retry().await, Err(EngineError::NotHalted));
    server.on_cancel(OnCancel::Ignore);
    world.engine.halt(everything(&HaltEffect::ALL)).await.expect("it is recorded");
    world.pass(5 * SECOND).await;
    assert_eq!(retry().await, Ok(0), "its server may still confirm it");
    world.pass(MINUTE).await;
    server.on_cancel(OnCancel::Obey);
    assert_eq!(retry().await, Ok(1));
    let ended = world.until_phase(task, Phase::Cancelled).await;
    let request = ended.cancel_request().expect("a cancel");
    assert_eq!((&request.by, request.reason.as_deref()), (&person("bob").into(), Some("wrong month")));
    let asked = server.times(|act| matches!(act, EngineAction::Cancel(_))).len();
    assert_eq!(asked, 2, "once by the halt, once again");
    assert_eq!(retry().await, Ok(0), "it ended");
}

#[tokio::test(start_paused = true)]
async fn a_core_that_was_killed_comes_back_halted_and_goes_on_cancelling() {
    let (mut world, server, id, agent) = with_agent().await;
    server.reply_task("build", "t1", vec![PollReply::working(); 50]);
    let task = world.call(id, "build").await;
    world.until(task, "a task of its server", |handle| handle.view.task().is_some()).await;
    world.engine.halt(everything(&HaltEffect::ALL)).await.expect("it is recorded");
    // Nothing was delivered yet: the engine ends before its next turn.
    world.restart().await;
    let refused = world.engine.agent_call(call(agent, id, "add")).await;
    assert!(matches!(refused, Err(EngineError::Halted(_))), "halted after the restart: {refused:?}");
    world.until_phase(task, Phase::Cancelled).await;
    assert_eq!(server.times(|act| matches!(act, EngineAction::Cancel(_))).len(), 1, "asked once, over both runs");
    resume(&world, &RecoveryStage::ALL).await;
    world.restart().await;
    world.until_up(id).await;
    let done = world.engine.agent_call(call(agent, id, "add")).await;
    assert!(done.is_ok(), "a halt that is over stays over: {done:?}");
}

#[tokio::test(start_paused = true)]
async fn frozen_questions_take_no_answer_send_none_and_keep_the_time_they_had() {
    let (world, server, id, agent) = with_agent().await;
    let after = MINUTE * 10;
    let asked = Some(AudienceRule::AgentThenPeople { after });
    world.rule(Rule { asked, ..rule(RuleScope::Agent(agent)) }).await;
    server.reply_task("work", "t1", vec![PollReply::asks(&["k"]); 400]);
    let task = world.handle_of(call(agent, id, "work")).await;
    world.until(task, "asked", |handle| handle.asked_since().is_some()).await;
    world.pass(MINUTE * 5).await;
    let people_at = |audience: Audience| match audience {
        Audience::AgentThenPeople { people_at } => people_at,
        other => panic!("people are asked later: {other:?}"),
    };
    let left = people_at(world.handle(task).await.audience).since(world.now());
    assert!(left > MINUTE && left < after, "some time is left: {left:?}");
    world.engine.halt(everything(&[HaltEffect::Requests])).await.expect("it is recorded");
    let frozen = world.engine.answer(task, acceptance(Some("k"), "ada")).await;
    assert!(matches!(frozen, Err(EngineError::Frozen(_))), "no answer is taken: {frozen:?}");
    world.pass(MINUTE * 20).await;
    resume(&world, &[RecoveryStage::Acknowledged, RecoveryStage::Requests]).await;
    let now_left = people_at(world.handle(task).await.audience).since(world.now());
    assert_eq!(now_left, left, "what was left is left again");
    world.pass(left - SECOND).await;
    assert_ne!(world.phase(task).await, Phase::Waiting, "it is still the agent who is asked");
    world.until_phase(task, Phase::Waiting).await;
    world.engine.answer(task, acceptance(Some("k"), "ada")).await.expect("people are asked, and answer");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_was_recorded_before_waits_until_questions_go_on() {
    let (world, server, id, _) = with_agent().await;
    server.reply_task("work", "t1", vec![PollReply::asks(&["k"]), PollReply::done()]);
    let task = world.call(id, "work").await;
    world.until_phase(task, Phase::Waiting).await;
    let mut held = acceptance(Some("k"), "ada");
    held.not_before = Some(world.now().plus(5 * SECOND));
    world.engine.answer(task, held).await.expect("it is recorded");
    world.engine.halt(everything(&[HaltEffect::Requests])).await.expect("it is recorded");
    world.pass(MINUTE * 5).await;
    assert!(server.answers().is_empty(), "it was not sent");
    resume(&world, &[RecoveryStage::Acknowledged, RecoveryStage::Requests]).await;
    world.until_phase(task, Phase::Done).await;
    assert_eq!(server.answers().len(), 1, "now it was");
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_only_reads_passes_when_a_person_saw_its_definition_and_only_as_long_as_it_is_that() {
    let (world, server, id, agent) = with_agent().await;
    server.list_reading("add", "Adds");
    world.engine.tools(id).await.expect("they are listed");
    world.engine.halt(everything(&[HaltEffect::Calls])).await.expect("it is recorded");
    let early = world.engine.resume(RecoveryStage::ReadOnly, person("bob")).await.map(|halt| halt.id);
    let first = EngineError::StageRefused(StageRefused::TooEarly(RecoveryStage::Acknowledged));
    assert_eq!(early, Err(first), "the way back goes stage by stage");
    resume(&world, &RecoveryStage::ALL[..3]).await;
    let refused = world.engine.agent_call(call(agent, id, "add")).await;
    assert!(matches!(refused, Err(EngineError::Halted(_))), "the server's own mark is not enough: {refused:?}");
    resume(&world, &RecoveryStage::ALL[3..]).await;

    let memory = world.registry.tool_memory(id).await.expect("it can be read").expect("they were listed");
    let seen = world.engine.see_tools(id, &memory.digest(), person("ada")).await;
    assert_eq!(seen, Ok(true), "a person marks them as seen");
    world.engine.halt(everything(&[HaltEffect::Calls])).await.expect("it is recorded");
    resume(&world, &RecoveryStage::ALL[..3]).await;
    let passed = world.engine.agent_call(call(agent, id, "add")).await;
    assert!(passed.is_ok(), "now it passes: {passed:?}");
    server.list_reading("add", "Adds, and deletes what it added");
    world.engine.tools(id).await.expect("they are listed");
    let refused = world.engine.agent_call(call(agent, id, "add")).await;
    assert!(matches!(refused, Err(EngineError::Halted(_))), "a definition that changed is not the confirmed one");
}

#[tokio::test(start_paused = true)]
async fn a_second_halt_widens_the_first_and_both_reasons_are_kept() {
    let (world, _, id, agent) = with_agent().await;
    let first = world.engine.halt(order(HaltSubject::Agent(agent), &[HaltEffect::Calls])).await.expect("the first");
    resume(&world, &[RecoveryStage::Acknowledged]).await;
    let second = StartHalt { reason: "and this one".into(), ..order(HaltSubject::Server(id), &[HaltEffect::Calls]) };
    let wider = world.engine.halt(second).await.expect("the second");
    assert_eq!((wider.id, wider.stage()), (first.id, None), "one halt, and its way back begins again");
    let reasons: Vec<&str> = wider.orders.iter().map(|order| order.reason.as_str()).collect();
    assert_eq!(reasons, ["wrong month", "and this one"]);
    assert!(matches!(world.try_call(id, "add").await, Err(EngineError::Halted(_))), "people's calls are covered now");
}
