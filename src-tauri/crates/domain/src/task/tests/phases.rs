//! The phase, the pause clock, and what time alone changes.

use super::*;
use crate::server::ServerAct;
use crate::task::figures::CountedState;
use crate::task::status::{Delivery, GoneWhy, Miss, Needs, Phase, PhaseGroup};
use crate::task::{Attention, Effect, MissCount, WorkTime};

fn silent(handle: &TaskHandle, millis: i64) -> TaskHandle {
    let count = MissCount { failures: 3, unknown: 0, interval: Duration::from_millis(1) };
    handle.missed(&Miss::Unreachable("refused".into()), &count, at(millis), &policy()).next
}

#[test]
fn the_phase_is_the_first_that_holds() {
    let late = with_task(&limited(Duration::from_millis(15)));
    let waiting = late.observe(&listing(&["a", "b"], 12), &policy()).next;
    let answering =
        late.observe(&listing(&["a"], 12), &policy()).next.answer(accept(None), at(13)).expect("open").0.next;
    let blocked = waiting.blocked(&Needs::Upgrade("roots".into()), at(20)).next;
    let cancelling = blocked.cancel(ann(), None, at(21)).expect("it runs").next;
    let refused = cancelling.cancel_step(&Delivery::Refused { at: at(22), why: "no".into() }, at(22)).next;
    let revoked = cancelling.revoke(ann(), None, at(22)).expect("it runs").next;
    let lost = revoked.gone(&GoneWhy::Unknown, at(23)).next;
    let expired = revoked.gone(&GoneWhy::Expired, at(23)).next;
    let ended_by = |act| GoneWhy::EndedByPerson { by: ann(), act };
    let crashed = GoneWhy::ProcessEnded("signal 9".into());
    let cases = [
        (late.clone(), 14, Phase::Running),
        (late.clone(), 15, Phase::Overdue),
        (answering, 50, Phase::Answering),
        (waiting.clone(), 50, Phase::Waiting),
        (silent(&waiting, 50), 50, Phase::Silent),
        (blocked, 50, Phase::Blocked),
        (cancelling.clone(), 50, Phase::Cancelling),
        (refused, 50, Phase::Blocked),
        (revoked.clone(), 50, Phase::Revoked),
        (late.unwatch(&ann(), None, at(20)).expect("it runs").next, 50, Phase::Unwatched),
        (lost.clone(), 50, Phase::Lost),
        (waiting.gone(&ended_by(ServerAct::End), at(23)).next, 50, Phase::Lost),
        (waiting.gone(&ended_by(ServerAct::Restart), at(23)).next, 50, Phase::Lost),
        (awaiting().gone(&ended_by(ServerAct::End), at(23)).next, 50, Phase::Lost),
        (waiting.gone(&crashed, at(23)).next, 50, Phase::Lost),
        (cancelling.gone(&crashed, at(23)).next, 50, Phase::Lost),
        (revoked.gone(&crashed, at(23)).next, 50, Phase::Lost),
        (expired, 50, Phase::Expired),
        (lost.observe(&sight(TaskStatus::Failed(None), 60), &policy()).next, 60, Phase::Failed),
    ];
    for (handle, millis, expected) in cases {
        assert_eq!(handle.phase(at(millis)), expected, "{:?} {:?}", handle.contact, handle.intent);
    }
}

#[test]
fn a_task_that_is_lost_because_a_person_ended_its_server_needs_nobody_and_says_who_did() {
    let asked = working().observe(&listing(&["a"], 20), &policy()).next;
    let step = asked.gone(&GoneWhy::EndedByPerson { by: ann(), act: ServerAct::End }, at(30));
    let phase = step.next.phase(at(30));
    assert_eq!(phase, Phase::Lost);
    assert!(step.next.is_settled_loss(phase));
    let crashed = asked.gone(&GoneWhy::ProcessEnded("signal 9".into()), at(30)).next;
    let needs_you = |task: &TaskHandle| CountedState::of(task, task.phase(at(30)), at(30)).needs_you();
    assert!(needs_you(&crashed) && !needs_you(&step.next), "what nobody ended is for people to look at");
    assert_eq!(CountedState::of(&step.next, phase, at(30)).group(), PhaseGroup::Finished, "nobody is needed");
    assert!(matches!(state(&step.next, "a"), RequestState::Withdrawn { .. }), "it asks nothing any more");
    let ended = step.audit.iter().find(|event| event.verb == Verb::Lost).expect("it is on record");
    assert_eq!((&ended.actor, ended.note.as_str()), (&Actor::Person(ann()), "its server was ended"));
    assert!(step.effects.contains(&Effect::Tell(Attention::Finished)), "an end, and no problem");
    assert_eq!(step.next.view, asked.view, "the server's word stays what it was");
    let late = step.next.observe(&sight(TaskStatus::Working, 40), &policy());
    assert!(!late.changed, "and it does not come back");
}

#[test]
fn waiting_for_a_person_never_uses_up_the_time_of_a_task() {
    let handle = with_task(&limited(Duration::from_secs(60)));
    let asked = handle.observe(&listing(&["a"], 30_000), &policy()).next;
    assert_eq!(asked.phase(at(9_000_000)), Phase::Waiting, "not overdue, however long it takes");
    assert_eq!(asked.next_tick(&policy()), None);
    let answered = asked.answer(accept(None), at(9_000_000)).expect("open").0.next;
    assert_eq!(answered.due.map(|due| due.at), Some(at(9_030_000)), "thirty seconds are left");
    assert_eq!(answered.paused_ms, 8_970_000);
    let held = AnswerInput { not_before: Some(at(9_005_000)), ..accept(None) };
    let (step, key) = asked.answer(held, at(9_000_000)).expect("open");
    let undone = step.next.undo_answer(&key, &ann(), at(9_001_000)).expect("held back").next;
    assert_eq!(undone.paused_since, Some(at(9_001_000)), "taken back, it waits again");
}

#[test]
fn the_time_that_a_task_worked_leaves_out_a_pause_and_ends_with_contact() {
    let begun = with_task(&limited(Duration::from_secs(60)));
    let since_begin = |end: i64| at(end).since(begun.created);
    assert_eq!(begun.worked(at(30_000)), since_begin(30_000));
    assert_eq!(begun.work_time().works_since, Some(begun.changed), "it goes on");
    let frozen = begun.processes_frozen(true, at(30_000)).next;
    assert_eq!(frozen.work_time(), WorkTime { so_far: since_begin(30_000), works_since: None });
    assert_eq!(frozen.worked(at(50_000)), since_begin(30_000), "it stands still");
    let goes_on = frozen.processes_frozen(false, at(50_000)).next;
    assert_eq!(goes_on.worked(at(55_000)), since_begin(35_000));
    let call = awaiting();
    let unconfirmed = call.reply_lost("gone", at(40_000)).next;
    let until_then = WorkTime { so_far: at(40_000).since(call.created), works_since: None };
    assert_eq!(unconfirmed.work_time(), until_then, "nobody knows what it did since");
}

#[test]
fn being_late_is_told_once_and_again_only_for_a_new_time() {
    let handle = with_task(&limited(Duration::from_secs(60)));
    assert_eq!(handle.next_tick(&policy()), Some(at(60_000)));
    assert!(!handle.ticked(at(59_999), &policy()).changed);
    let step = handle.ticked(at(60_000), &policy());
    assert!(step.changed && step.effects == [Effect::Tell(Attention::Problem)]);
    let unit = step.unit(at(60_000), &policy());
    assert_eq!((unit.phase, unit.tick_at), (Phase::Overdue, None));
    assert!(!step.next.ticked(at(70_000), &policy()).changed, "once");
    let asked = step.next.observe(&listing(&["a"], 80_000), &policy()).next;
    let answered = asked.answer(accept(None), at(200_000)).expect("open").0.next;
    assert_eq!(answered.next_tick(&policy()), None, "it was late before it asked");
}

#[test]
fn a_late_task_that_was_silent_is_told_as_late_when_it_is_heard_again() {
    let handle = silent(&with_task(&limited(Duration::from_secs(60))), 50_000);
    assert_eq!(handle.next_tick(&policy()), None, "silent hides late");
    let step = handle.observe(&sight(TaskStatus::Working, 70_000), &policy());
    assert_eq!(step.next.phase(at(70_000)), Phase::Overdue);
    assert!(step.effects.contains(&Effect::Tell(Attention::Problem)));
    assert_eq!(step.next.next_tick(&policy()), None);
}

#[test]
fn a_silent_task_whose_time_ran_out_is_expired_and_a_fresh_one_is_looked_at() {
    let kept = Observation { ttl: Ttl::For(Duration::from_secs(60)), ..sight(TaskStatus::Working, 20) };
    let fresh = working().observe(&kept, &policy()).next;
    assert_eq!(fresh.next_tick(&policy()), Some(at(60_010)));
    let step = fresh.ticked(at(60_010), &policy());
    assert_eq!(step.effects, [Effect::PollAt(at(60_010))]);
    assert_eq!((step.next.phase(at(60_010)), step.next.next_tick(&policy())), (Phase::Running, None));
    let quiet = silent(&step.next, 70_000);
    assert_eq!(quiet.next_tick(&policy()), Some(at(60_010)), "now it matters");
    let expired = quiet.ticked(at(70_001), &policy()).next;
    assert_eq!(expired.phase(at(70_001)), Phase::Expired);
    assert_eq!(expired.next_tick(&policy()), None);
}

#[test]
fn a_stop_that_is_not_obeyed_is_told_once_as_a_problem() {
    let wished = working().cancel(ann(), None, at(20)).expect("it runs").next;
    let heard = wished.cancel_step(&Delivery::Acknowledged { at: at(21) }, at(21)).next;
    let tick = at(20).plus(policy().cancel_grace);
    assert_eq!(heard.next_tick(&policy()), Some(tick));
    let step = heard.ticked(tick, &policy());
    assert_eq!(step.effects, [Effect::Tell(Attention::Problem)]);
    assert_eq!((step.next.phase(tick), step.next.next_tick(&policy())), (Phase::Cancelling, None));
}
