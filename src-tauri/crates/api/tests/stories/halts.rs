//! What an open window is told of a halt: it makes no calls of its own for it.

use std::collections::BTreeSet;
use std::time::Duration;

use api::calls::halts::{ResumeHalt, StartHalts};
use api::dto::halt::{HaltEffectDto, HaltedTaskStateDto, RecoveryStageDto};
use api::feed::frame::SubscribeInput;
use domain::server::halt::{HaltEffect, HaltSubject};
use engine::StartHalt;
use testkit::scripted::{OnCancel, PollReply};

use crate::reader::Reader;
use crate::world::World;

fn everything(reason: &str) -> StartHalts {
    StartHalts { reason: reason.into(), ..StartHalts::default() }
}

fn states(reader: &Reader) -> Vec<HaltedTaskStateDto> {
    reader.halt.halt.iter().flat_map(|halt| halt.tasks.iter().map(|task| task.state)).collect()
}

#[tokio::test(start_paused = true)]
async fn every_window_is_told_of_a_halt_of_its_tasks_and_of_the_way_back() {
    let world = World::new().await;
    world.server.on_cancel(OnCancel::Ignore);
    world.server.reply_task("build", "t1", vec![PollReply::asks(&["go"])]);
    let id = world.start("build").await;
    // The server has it: a call that had not left would be refused.
    world.until(&id, "waiting").await;
    let mut here = Reader::open(&world, SubscribeInput::default()).await;
    let mut there = Reader::open(&world, SubscribeInput::default()).await;
    assert!(!here.halt.is_in_force(), "nothing is halted");

    let given = world.api.halt_start(&world.caller, everything("wrong month")).await.expect("it is halted");
    for reader in [&mut here, &mut there] {
        reader.until("the halt is told", |now| now.halt.is_in_force()).await;
        let halt = reader.halt.halt.as_ref().expect("a halt");
        assert_eq!(halt.orders, given.halt.as_ref().expect("a halt").orders, "who, when, why and what");
        assert_eq!(halt.orders[0].reason, "wrong month");
    }
    here.until("its task is listed", |now| now.halt.halt.as_ref().is_some_and(|halt| halt.tasks.len() == 1)).await;
    // The server works on: after the time for a cancel it is not confirmed, although no change was written.
    let overdue =
        here.until("the cancel is not confirmed in time", |now| states(now) == [HaltedTaskStateDto::NotConfirmed]);
    tokio::time::timeout(Duration::from_secs(600), overdue).await.expect("it is told within ten minutes");
    let task = &here.halt.halt.as_ref().expect("a halt").tasks[0];
    assert_eq!((task.id.as_str(), task.tool.as_deref()), (id.as_str(), Some("build")));
    assert!(task.asked_at.is_some(), "when it was asked: {task:?}");

    let late = Reader::open(&world, SubscribeInput::default()).await;
    assert_eq!(late.halt, here.halt, "a window that opens later is told the same");
    for stage in [
        RecoveryStageDto::Acknowledged,
        RecoveryStageDto::Requests,
        RecoveryStageDto::ReadOnly,
        RecoveryStageDto::Calls,
    ] {
        world.api.halt_resume(&world.caller, ResumeHalt { stage, with_open: true }).await.expect("the stage is next");
        if stage != RecoveryStageDto::Calls {
            here.until("the stage is told", |now| {
                now.halt.halt.as_ref().is_some_and(|halt| halt.steps.last().map(|step| step.stage) == Some(stage))
            })
            .await;
        }
    }
    here.until("it is over", |now| !now.halt.is_in_force()).await;
}

#[tokio::test(start_paused = true)]
async fn a_halt_by_the_file_has_no_person_and_a_wider_one_keeps_both_reasons() {
    let world = World::new().await;
    let mut reader = Reader::open(&world, SubscribeInput::default()).await;
    let file = StartHalt {
        subjects: vec![HaltSubject::Everything],
        effects: BTreeSet::from([HaltEffect::Calls]),
        reason: String::new(),
        by: None,
    };
    world.engine.halt(file).await.expect("it is halted");
    reader.until("the halt is told", |now| now.halt.is_in_force()).await;
    assert_eq!(reader.halt.halt.as_ref().expect("a halt").orders[0].by, None, "the file has no person");
    let wider = StartHalts { scope: vec![HaltEffectDto::Running], ..everything("and what runs") };
    world.api.halt_start(&world.caller, wider).await.expect("it is widened");
    reader.until("both orders are told", |now| now.halt.halt.as_ref().is_some_and(|halt| halt.orders.len() == 2)).await;
    let halt = reader.halt.halt.as_ref().expect("a halt");
    assert_eq!(halt.orders.iter().map(|order| order.reason.as_str()).collect::<Vec<_>>(), ["", "and what runs"]);
}
