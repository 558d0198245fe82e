//! Steps to end a task: they only go up, each is one commit with one audit row, and only what was observed says stopped.

use super::*;
use crate::server::ServerAct;
use crate::task::status::halted::HaltedTaskState;
use crate::task::status::{Contact, GoneWhy, Phase};
use crate::task::{EscalationStep, ProcessEnd, Refusal, StoppedBy};

fn of_agent() -> TaskHandle {
    TaskHandle { agent: Some(AgentId::from_random(7)), ..working() }
}

fn take(handle: &TaskHandle, step: EscalationStep, millis: i64) -> Result<Transition, Refusal> {
    handle.escalate(step, &ann().into(), Some("enough"), at(millis))
}

#[test]
fn every_step_is_one_commit_with_one_audit_row_and_is_taken_once() {
    let mut handle = of_agent();
    for (millis, step) in (20_i64..).zip(EscalationStep::ALL) {
        let taken = take(&handle, step, millis).expect("it goes up");
        assert!(taken.changed, "{step:?} is a change");
        assert_eq!(taken.audit.len(), 1, "{step:?}: {:?}", verbs(&taken));
        handle = taken.next;
        assert_eq!(handle.highest_step(), Some(step));
        let again = take(&handle, step, millis).expect("it was taken");
        assert!(!again.changed && again.audit.is_empty(), "{step:?} is taken once");
    }
    let steps: Vec<_> = handle.steps_taken().iter().map(|taken| (taken.step.number(), taken.at)).collect();
    assert_eq!(steps, [(1, at(20)), (2, at(21)), (3, at(22)), (4, at(23)), (5, at(24))]);
}

#[test]
fn steps_only_go_up_and_may_be_skipped() {
    let revoked = take(&of_agent(), EscalationStep::Revoke, 20).expect("the first may be the third").next;
    for lower in [EscalationStep::Cancel, EscalationStep::HoldResult] {
        let refused = take(&revoked, lower, 21).expect_err("it comes before");
        assert_eq!(refused, Refusal::HigherStepTaken { asked: lower.number(), taken: 3 });
    }
    let last = take(&revoked, EscalationStep::ShutDown, 22).expect("the fourth may be left out").next;
    assert_eq!(last.escalation.unfinished().map(|taken| taken.step), Some(EscalationStep::ShutDown));
    let done = last.step_done(EscalationStep::ShutDown, 2, at(30));
    assert!(done.changed && done.next.escalation.unfinished().is_none(), "it is carried out once");
    assert!(!done.next.step_done(EscalationStep::ShutDown, 9, at(31)).changed, "and stays as it was");
}

#[test]
fn a_step_counts_whichever_way_it_was_taken() {
    let asked = of_agent().cancel(ann(), None, at(20)).expect("it runs").next;
    assert_eq!(asked.highest_step(), Some(EscalationStep::Cancel));
    let held = asked.hold(ann(), at(21)).expect("its agent waits").next;
    assert_eq!(held.highest_step(), Some(EscalationStep::HoldResult));
    let only_held = of_agent().hold(ann(), at(21)).expect("its agent waits").next;
    assert_eq!(only_held.highest_step(), None, "to see a result first is no step to end the task");
    let old = TaskHandle { escalation: Default::default(), ..asked };
    assert_eq!(old.highest_step(), Some(EscalationStep::Cancel), "a row from before has its request");
}

#[test]
fn a_task_of_nobody_has_no_steps_against_an_agent_and_an_ended_one_has_none() {
    let of_person = TaskHandle { agent: None, ..working() };
    for step in [EscalationStep::HoldResult, EscalationStep::Revoke, EscalationStep::RevokeAgent] {
        assert_eq!(take(&of_person, step, 20), Err(Refusal::NoAgent), "{step:?}");
    }
    assert!(take(&of_person, EscalationStep::ShutDown, 20).is_ok(), "its server can be shut down");
    let done = of_agent().observe(&completed(20), &policy()).next;
    for step in EscalationStep::ALL {
        assert_eq!(take(&done, step, 30), Err(Refusal::AlreadyOver("done")), "{step:?}");
    }
}

#[test]
fn only_an_ended_task_or_processes_that_were_seen_to_be_gone_count_as_stopped() {
    let wait = Duration::from_secs(30);
    let asked = take(&of_agent(), EscalationStep::ShutDown, 20).expect("it runs").next;
    assert_eq!(asked.stopped(), None, "a step is no evidence");
    let by_person = GoneWhy::EndedByPerson { by: ann(), act: ServerAct::End };
    let lost = asked.gone(&by_person, at(21)).next;
    assert_eq!((lost.phase(at(21)), lost.stopped()), (Phase::Lost, None), "that it was ended is not that it is gone");
    assert_eq!(lost.halted_state(at(21), wait), HaltedTaskState::NotConfirmed);

    let left = ProcessEnd::Left { at: at(22), ended: 3, left: 1, named: Vec::new() };
    let partly = lost.processes_observed(&left, at(22)).next;
    assert_eq!((partly.stopped(), partly.halted_state(at(22), wait)), (None, HaltedTaskState::NotConfirmed));
    let gone = ProcessEnd::Gone { at: at(23), ended: 4 };
    let all = partly.processes_observed(&gone, at(23));
    assert_eq!(all.next.stopped(), Some(StoppedBy::ProcessesGone(at(23))));
    assert_eq!(all.next.halted_state(at(23), wait), HaltedTaskState::Confirmed);
    assert!(!all.next.processes_observed(&left, at(24)).changed, "what was seen to be gone does not come back");

    let crashed = asked.gone(&GoneWhy::ProcessEnded("signal 9".into()), at(21)).next;
    assert!(matches!(crashed.contact, Contact::Gone { .. }));
    assert_eq!(crashed.processes_observed(&gone, at(23)).next.stopped(), None, "nobody ended that process");
    let cancelled = asked.observe(&sight(TaskStatus::Cancelled, 30), &policy()).next;
    assert_eq!(cancelled.stopped(), Some(StoppedBy::ServerSaidSo));
}
