//! Somebody sets the wall clock of the computer: nothing is held back, expires or is deleted by it.

use std::time::Duration;

use domain::policy::Policy;
use domain::task::AnswerInput;
use domain::task::status::Phase;
use testkit::build::person;
use testkit::scripted::{EngineAction, PollReply, unreachable};

use crate::world::{World, acceptance};

const SECOND: Duration = Duration::from_secs(1);
const HOUR_MS: i64 = 3_600_000;

#[tokio::test(start_paused = true)]
async fn an_answer_leaves_in_its_time_though_the_clock_was_set_back_an_hour() {
    let (world, server, id) = World::new().await;
    server.reply_task("work", "t1", vec![PollReply::asks(&["k"]), PollReply::done()]);
    let task = world.call(id, "work").await;
    world.until_phase(task, Phase::Waiting).await;
    let begun = tokio::time::Instant::now();
    let input = AnswerInput { not_before: Some(world.now().plus(5 * SECOND)), ..acceptance(Some("k"), "ada") };
    world.engine.answer(task, input).await.expect("it is recorded");
    world.clock.set_wall(-HOUR_MS);
    world.until_phase(task, Phase::Done).await;
    assert!(begun.elapsed() < 60 * SECOND, "it took {:?}", begun.elapsed());
    assert_eq!(server.answers().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn looks_go_on_to_be_taken_in_after_the_clock_was_set_back() {
    let (world, server, id) = World::new().await;
    server.reply_task("work", "t1", vec![PollReply::working()]);
    let task = world.call(id, "work").await;
    world.pass(10 * SECOND).await;
    world.clock.set_wall(-HOUR_MS);
    world.pass(10 * SECOND).await;
    server.becomes("t1", PollReply::asks(&["k"]));
    let begun = tokio::time::Instant::now();
    world.until_phase(task, Phase::Waiting).await;
    assert!(begun.elapsed() < 120 * SECOND, "it took {:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_clock_set_forward_expires_no_task_and_deletes_no_history() {
    let (world, server, id) = World::new().await;
    server.reply_task("work", "t1", vec![PollReply::working()]);
    server.ttl("t1", 600 * SECOND);
    let task = world.call(id, "work").await;
    world.pass(10 * SECOND).await;
    server.fail_reads((0..60).map(|_| unreachable()));
    server.refuse_connections(Some(unreachable()));
    world.until_phase(task, Phase::Silent).await;
    let first = world.registry.changes_since(domain::ids::Seq(0), 1).await.expect("changes read").rows;
    world.clock.set_wall(30 * 24 * HOUR_MS);
    world.pass(20 * SECOND).await;
    assert_eq!(world.phase(task).await, Phase::Silent, "no time passed on the server");
    world.pass(world.policy.prune_every + SECOND).await;
    let kept = world.registry.changes_since(domain::ids::Seq(0), 1).await.expect("changes read").rows;
    assert_eq!(kept, first, "nothing is deleted for its age after a step");
    assert!(server.times(|act| matches!(act, EngineAction::Cancel { .. })).is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_was_held_back_before_a_restart_leaves_though_the_clock_was_set_back_meanwhile() {
    let (mut world, server, id) = World::new().await;
    server.reply_task("work", "t1", vec![PollReply::asks(&["k"]), PollReply::done()]);
    let task = world.call(id, "work").await;
    world.until_phase(task, Phase::Waiting).await;
    let input = AnswerInput { not_before: Some(world.now().plus(5 * SECOND)), ..acceptance(Some("k"), "ada") };
    world.engine.answer(task, input).await.expect("it is recorded");
    world.kill().await;
    domain::ports::Clock::step_by(&*world.clock, -HOUR_MS);
    world.start().await;
    let begun = tokio::time::Instant::now();
    world.until_phase(task, Phase::Done).await;
    assert!(begun.elapsed() < 120 * SECOND, "it took {:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn an_answer_leaves_in_its_time_though_the_clock_was_set_back_while_the_disk_was_full() {
    let (world, server, id, disk) = World::on_a_small_disk(Policy::default()).await;
    server.reply_task("work", "t1", vec![PollReply::asks(&["k"]), PollReply::done()]);
    let task = world.call(id, "work").await;
    world.until_phase(task, Phase::Waiting).await;
    let begun = tokio::time::Instant::now();
    let input = AnswerInput { not_before: Some(world.now().plus(30 * SECOND)), ..acceptance(Some("k"), "ada") };
    world.engine.answer(task, input).await.expect("it is recorded");
    disk.fill_disk(true);
    world.clock.set_wall(-HOUR_MS);
    world.pass(10 * SECOND).await;
    disk.fill_disk(false);
    world.until_phase(task, Phase::Done).await;
    let took = begun.elapsed();
    assert!(took > 29 * SECOND && took < 60 * SECOND, "it took {took:?}");
    assert_eq!(server.answers().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_cancel_that_is_being_recorded_on_a_full_disk_leaves_at_once_though_the_clock_is_set_back_meanwhile() {
    let (mut world, server, id, disk) = World::on_a_small_disk(Policy::default()).await;
    server.reply_task("work", "t1", vec![PollReply::working()]);
    let task = world.call(id, "work").await;
    world.pass(10 * SECOND).await;
    disk.fill_disk(true);
    disk.record_decisions_in(5 * SECOND);
    let cancel = world.engine.cancel(task, person("ada"), None);
    let set_back = async {
        world.pass(SECOND).await;
        world.clock.set_wall(-HOUR_MS);
    };
    let (asked, ()) = tokio::join!(cancel, set_back);
    asked.expect("it is recorded");
    world.pass(20 * SECOND).await;
    assert_eq!(server.times(|act| matches!(act, EngineAction::Cancel { .. })).len(), 1, "it left");
    world.kill().await;
}
