//! Plans: which tasks are asked, and who they name in the audit log.

use std::time::Duration;

use domain::audit::{Actor, Verb};
use domain::ids::HandleId;
use domain::policy::Policy;
use domain::task::TaskHandle;
use domain::task::cancel::plan::{BulkAct, BulkPlan, BulkResult, PlanRefused};
use domain::task::status::Intent;
use engine::{EngineError, NewPlan, RunPlan};
use testkit::build::{http_server, person};
use testkit::scripted::{EngineAction, OnCancel, PollReply};

use crate::world::World;

async fn plan(world: &World, act: BulkAct, tasks: Vec<HandleId>) -> BulkPlan {
    let new = NewPlan { act, by: person("ada").into(), filter: "by handle".into(), tasks };
    (*world.engine.make_plan(new).await.expect("it is stored")).clone()
}

fn run(plan: &BulkPlan) -> RunPlan {
    RunPlan { plan: plan.id, by: person("bob").into(), reason: Some("wrong month".into()) }
}

#[tokio::test(start_paused = true)]
async fn a_plan_asks_its_open_tasks_once_and_names_those_that_ended() {
    let (world, server, id) = World::new().await;
    world.until_up(id).await;
    let mut tasks = Vec::new();
    for (n, last) in [PollReply::working(), PollReply::done(), PollReply::working()].into_iter().enumerate() {
        server.reply_task("build", &format!("t{n}"), vec![last]);
        tasks.push(world.try_call(id, "build").await.expect("it is taken"));
    }
    let made = plan(&world, BulkAct::Revoke, tasks.clone()).await;
    world.until(tasks[1], "the second ends", |task| task.view.is_terminal()).await;
    let mut watched = world.engine.run_plan(run(&made)).await.expect("it begins");
    watched.wait_for(|plan| !plan.is_running()).await.expect("it ends");
    let ended = world.engine.plan(made.id).await.expect("it reads").expect("it is kept");
    let operation = ended.operation.as_ref().expect("it was run");
    assert_eq!((operation.asked(), operation.next_index), (2, 3), "{operation:?}");
    assert_eq!(operation.left_out.iter().map(|one| one.task).collect::<Vec<_>>(), [tasks[1]], "the one that ended");
    for task in [tasks[0], tasks[2]] {
        let task = world.registry.handle(task).await.expect("it reads").expect("a task");
        let Intent::Revoked(request) = &task.intent else { panic!("it is revoked: {:?}", task.intent) };
        assert_eq!((request.by.person(), request.reason.as_deref()), (Some(&person("bob")), Some("wrong month")));
        let result = task.bulk_result(world.now(), world.policy.halt.confirm_within);
        assert_ne!(result, BulkResult::NotAsked, "it was asked");
    }
    let again = world.engine.run_plan(run(&made)).await;
    let Err(EngineError::PlanRefused(PlanRefused::Run(first))) = again else { panic!("once: {:?}", again.err()) };
    assert_eq!(first, operation.id);
    let facts = world.registry.audit_page(None, 0, 1_000).await.expect("it reads").rows;
    let of = |verb: Verb| facts.iter().filter(|row| row.event.verb == verb).map(|row| &row.event).collect::<Vec<_>>();
    let (begun, end) = (of(Verb::BulkBegun), of(Verb::BulkEnded));
    let ([begun], [end]) = (begun.as_slice(), end.as_slice()) else { panic!("one of each: {facts:?}") };
    assert_eq!(begun.actor, Actor::Person(person("bob")), "who ran it");
    assert!(begun.note.contains("revoke of 3 tasks: wrong month"), "{}", begun.note);
    assert!(end.note.contains("2 of 3 tasks asked to end, 1 was over before its turn: wrong month"), "{}", end.note);
}

#[tokio::test(start_paused = true)]
async fn a_plan_that_has_expired_or_has_nothing_open_asks_nothing() {
    let (world, server, id) = World::new().await;
    world.until_up(id).await;
    server.reply_task("build", "t1", vec![PollReply::done()]);
    server.reply_task("build", "t2", vec![PollReply::working()]);
    let over = world.try_call(id, "build").await.expect("it is taken");
    let open = world.try_call(id, "build").await.expect("it is taken");
    world.until(over, "it ends", |task| task.view.is_terminal()).await;
    let (empty, late) =
        (plan(&world, BulkAct::Cancel, vec![over]).await, plan(&world, BulkAct::Cancel, vec![open]).await);
    let refused = world.engine.run_plan(run(&empty)).await.map(drop);
    assert_eq!(refused, Err(EngineError::PlanRefused(PlanRefused::NothingLeft)));
    tokio::time::sleep(world.policy.control.plan_valid).await;
    let refused = world.engine.run_plan(run(&late)).await.map(drop);
    assert_eq!(refused, Err(EngineError::PlanRefused(PlanRefused::Expired)));
    let task = world.registry.handle(open).await.expect("it reads").expect("a task");
    assert_eq!(task.intent, Intent::None, "nothing was asked");
}

#[tokio::test(start_paused = true)]
async fn cancels_that_wait_for_the_lane_of_their_server_are_recorded_together() {
    let policy = Policy { deliveries_per_server: 1, ..Policy::default() };
    let (world, server, id) = World::with(http_server(1, "one"), policy).await;
    world.until_up(id).await;
    let mut tasks = Vec::new();
    for number in 0..5 {
        server.reply_task("build", &format!("t{number}"), vec![PollReply::working()]);
        tasks.push(world.try_call(id, "build").await.expect("it is taken"));
    }
    for task in &tasks {
        world.until(*task, "it is a task", |task| task.view.task().is_some()).await;
    }
    server.on_cancel(OnCancel::Ignore);
    server.takes(Duration::from_secs(10));
    let made = plan(&world, BulkAct::Cancel, tasks.clone()).await;
    world.engine.run_plan(run(&made)).await.expect("it begins");
    for task in &tasks {
        let is_leaving = |task: &TaskHandle| task.cancel_request().is_some_and(|request| request.sent.is_some());
        world.until(*task, "its cancel is recorded as leaving", is_leaving).await;
    }
    let sent = || server.times(|act| matches!(act, EngineAction::Cancel(_))).len();
    assert_eq!(sent(), 1, "one at a time is in the lane");
    world.pass(Duration::from_secs(60)).await;
    assert_eq!(sent(), 5, "and each is sent once");
}

#[tokio::test(start_paused = true)]
async fn after_a_kill_only_cancels_whose_acknowledgement_was_cut_off_are_sent_again() {
    let policy = Policy { deliveries_per_server: 2, ..Policy::default() };
    let (mut world, server, id) = World::with(http_server(1, "one"), policy).await;
    world.until_up(id).await;
    let names = ["t0", "t1", "t2", "t3", "t4"];
    let mut tasks = Vec::new();
    for name in names {
        server.reply_task("build", name, vec![PollReply::working()]);
        tasks.push(world.try_call(id, "build").await.expect("it is taken"));
    }
    for task in &tasks {
        world.until(*task, "it is a task", |task| task.view.task().is_some()).await;
    }
    server.on_cancel(OnCancel::Ignore);
    server.takes(Duration::from_secs(10));
    let made = plan(&world, BulkAct::Cancel, tasks).await;
    world.engine.run_plan(run(&made)).await.expect("it begins");
    let sent = || server.times(|act| matches!(act, EngineAction::Cancel(_))).len();
    world.until_true("the first two are answered, and the next two have left", || sent() == 4).await;
    // Their acknowledgements are stored by then.
    world.pass(Duration::from_secs(1)).await;
    world.kill().await;
    world.start().await;
    world.pass(Duration::from_secs(120)).await;
    let of = |name: &str| server.times(|act| matches!(act, EngineAction::Cancel(task) if task.as_str() == name)).len();
    let mut sent: Vec<usize> = names.into_iter().map(of).collect();
    sent.sort_unstable();
    assert_eq!(sent, [1, 1, 1, 2, 2], "none is lost, and only what was on its way is sent twice");
}
