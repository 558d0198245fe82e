//! A wall clock that is set while a task is open.

use super::*;
use crate::task::status::{Contact, GoneWhy, Miss, Phase};

const HOUR_MS: i64 = 3_600_000;

fn with_ttl() -> TaskHandle {
    let seen = Observation { ttl: Ttl::For(Duration::from_secs(600)), ..listing(&["k"], 20) };
    working().observe(&seen, &policy()).next
}

#[test]
fn deadlines_move_with_the_clock_and_nothing_is_told_again() {
    let before = with_ttl();
    let step = before.clock_stepped(HOUR_MS);
    assert!(step.changed && step.audit.is_empty() && step.log.is_empty(), "{:?}", step.effects);
    let expires = |handle: &TaskHandle| handle.view.task().and_then(|task| task.expires).expect("it has a ttl");
    assert_eq!(expires(&step.next).as_millis() - expires(&before).as_millis(), HOUR_MS);
    let later = step
        .next
        .observe(&Observation { ttl: Ttl::For(Duration::from_secs(600)), ..listing(&["k"], 30 + HOUR_MS) }, &policy());
    assert_eq!(expires(&later.next), expires(&step.next), "a later look counts from the same first sight");
    assert_eq!(step.next.created, before.created, "what is history stays");
}

#[test]
fn a_silent_task_does_not_expire_by_a_clock_that_was_set_forward() {
    let silent = Contact::Silent { since: at(20), failures: 9, last: Miss::Unreachable("gone".into()) };
    let silent = TaskHandle { contact: silent, ..with_ttl() };
    assert_eq!(silent.ticked(at(30 + HOUR_MS), &policy()).next.phase(at(30 + HOUR_MS)), Phase::Expired, "time did it");
    let moved = silent.clock_stepped(HOUR_MS).next;
    assert_eq!(
        moved.ticked(at(30 + HOUR_MS), &policy()).next.phase(at(30 + HOUR_MS)),
        Phase::Silent,
        "a clock did not"
    );
}

#[test]
fn an_answer_is_held_back_no_longer_when_the_clock_goes_back() {
    let input = AnswerInput { not_before: Some(at(5_000 + HOUR_MS)), ..accept(Some("k")) };
    let held = with_ttl().clock_stepped(HOUR_MS).next.answer(input, at(HOUR_MS)).expect("it is open").0.next;
    let moved = held.clock_stepped(-HOUR_MS).next;
    assert_eq!(moved.deliver_at(), Some(at(5_000)));
    let seen = moved.observe(&listing(&["k", "l"], 40), &policy()).next;
    assert!(seen.requests.contains_key(&key("l")), "a look after the step is newer than one before it");
}

#[test]
fn how_long_a_task_worked_is_the_time_that_passed_however_the_clock_was_set() {
    let working = working();
    let passed = |end: i64| at(end).since(working.created);
    let ahead = working.clock_stepped(HOUR_MS).next;
    assert_eq!(ahead.worked(at(40 + HOUR_MS)), passed(40), "the hour is not counted");
    assert_eq!(ahead.age(at(40 + HOUR_MS)), passed(40));
    let back = ahead.clock_stepped(-HOUR_MS).next;
    assert_eq!(back.worked(at(60)), passed(60), "nor is it when the clock is set right again");
    let behind = working.clock_stepped(-HOUR_MS).next;
    assert_eq!(behind.worked(at(50 - HOUR_MS)), passed(50), "it goes on while the clock is behind its beginning");

    let paused = working.processes_frozen(true, at(30)).next.clock_stepped(HOUR_MS).next;
    assert_eq!(paused.worked(at(90 + HOUR_MS)), passed(30), "it stands still");
    let goes_on = paused.processes_frozen(false, at(90 + HOUR_MS)).next;
    assert_eq!(goes_on.worked(at(100 + HOUR_MS)), passed(40));
    let over = ahead.gone(&GoneWhy::Unknown, at(70 + HOUR_MS)).next;
    assert_eq!(over.worked(at(80 + HOUR_MS)), passed(70));
    assert_eq!(over.clock_stepped(-HOUR_MS).next.worked(at(90)), passed(70), "what is over does not change any more");
}
