//! The fourteen rules of architecture.md §3.4, a test each, in their order.

use super::*;
use crate::ids::AgentId;
use crate::task::decider::Decider;
use crate::task::status::{CancelState, Contact, Delivery, GoneWhy, Intent, Miss, Phase};
use crate::task::{Attention, Effect, MissCount};

fn misses(failures: u32, unknown: u32) -> MissCount {
    MissCount { failures, unknown, interval: Duration::from_secs(5) }
}

#[test]
fn rule_01_an_end_never_changes_and_a_contradiction_is_told_once() {
    let ended = working().observe(&completed(20), &policy()).next;
    let first = ended.observe(&sight(TaskStatus::Working, 30), &policy());
    assert_eq!(status(&first.next), status(&ended), "the end stays");
    assert_eq!(verbs(&first), [Verb::Contradiction]);
    assert_eq!(first.audit[0].note, "completed, then working");
    let second = first.next.observe(&sight(TaskStatus::Cancelled, 40), &policy());
    assert!(!second.changed && second.audit.is_empty(), "a second contradiction is not news");
    assert_eq!(status(&second.next), status(&ended));
}

#[test]
fn rule_02_seeing_the_same_thing_twice_changes_nothing_but_contact() {
    let once = working().observe(&listing(&["a"], 20), &policy()).next;
    let twice = once.observe(&listing(&["a"], 30), &policy());
    assert!(!twice.changed, "there is nothing to commit");
    assert!(twice.audit.is_empty() && twice.log.is_empty() && twice.effects.is_empty());
    assert_eq!(twice.next, TaskHandle { contact: Contact::Fresh { seen: at(30) }, ..once });
}

#[test]
fn rule_03_a_server_whose_clock_steps_back_does_not_freeze_a_task() {
    let fast = Observation { updated: Some(at(9_000_000)), ..sight(TaskStatus::Working, 20) };
    let handle = working().observe(&fast, &policy()).next;
    let later = Observation { updated: Some(at(5)), ..sight(TaskStatus::InputRequired, 30) };
    let step = handle.observe(&later, &policy());
    assert_eq!(status(&step.next), &TaskStatus::InputRequired, "a look begun later always counts");
    let overlapping = Observation { begun: at(25), updated: Some(at(4)), ..sight(TaskStatus::Working, 35) };
    let step = step.next.observe(&overlapping, &policy());
    assert_eq!(status(&step.next), &TaskStatus::InputRequired, "an overlapping look with an older word does not");
}

#[test]
fn rule_04_an_overlapping_look_and_push_end_the_same_in_either_order() {
    let look = |updated, status| Observation { begun: at(15), updated, ..sight(status, 30) };
    let push = |updated, status| Observation { door: ObservationDoor::Push, updated, ..sight(status, 20) };
    let cases = [
        (Some(at(1)), TaskStatus::Working, Some(at(2)), TaskStatus::InputRequired),
        (Some(at(2)), TaskStatus::Working, Some(at(1)), TaskStatus::InputRequired),
        (Some(at(1)), TaskStatus::Working, Some(at(1)), TaskStatus::Cancelled),
        (Some(at(1)), TaskStatus::Cancelled, Some(at(1)), TaskStatus::Working),
        (None, TaskStatus::Working, None, TaskStatus::Cancelled),
        (None, TaskStatus::Working, None, TaskStatus::InputRequired),
    ];
    for (looked, word, pushed, told) in cases {
        let (look, push) = (look(looked, word), push(pushed, told));
        let one = working().observe(&look, &policy()).next.observe(&push, &policy()).next;
        let other = working().observe(&push, &policy()).next.observe(&look, &policy()).next;
        assert_eq!(status(&one), status(&other), "look {look:?}, push {push:?}");
    }
}

#[test]
fn rule_05_a_question_opens_once_whatever_the_order_of_looks() {
    let asked = working().observe(&listing(&["a"], 20), &policy());
    assert_eq!(verbs(&asked), [Verb::Asked]);
    assert!(asked.effects.contains(&Effect::Tell(Attention::Waiting)));
    let answered = asked.next.answer(accept(None), at(21)).expect("it is open").0.next;
    let still_listed = answered.observe(&listing(&["a"], 30), &policy());
    assert!(!still_listed.changed, "a server that is slow to settle does not ask a second time");
    let withdrawn = asked.next.observe(&listing(&[], 30), &policy()).next;
    let again = withdrawn.observe(&listing(&["a"], 40), &policy()).next;
    assert!(matches!(state(&again, "a"), RequestState::Withdrawn { .. }), "not even after it was withdrawn");
}

#[test]
fn rule_06_a_key_that_is_missing_later_is_confirmed_if_answered_here_and_else_withdrawn() {
    let asked = working().observe(&listing(&["a", "b", "c"], 20), &policy()).next;
    let answered = asked.answer(accept(Some("a")), at(21)).expect("open").0.next;
    let sent = answered.answer_step(&key("a"), &Delivery::Sent { at: at(22), attempts: 1 }, at(22)).next;
    let held = sent.answer(accept(Some("c")), at(23)).expect("open").0.next;
    let step = held.observe(&listing(&[], 30), &policy());
    assert!(matches!(state(&step.next, "a"), RequestState::Confirmed(answer) if answer.by == Decider::from(ann())));
    assert!(matches!(state(&step.next, "b"), RequestState::Withdrawn { .. }));
    let RequestState::Withdrawn { why, .. } = state(&step.next, "c") else { panic!("an unsent answer is no answer") };
    assert!(why.contains("the answer did not reach the server"), "it says what became of the answer: {why}");
    assert_eq!(verbs(&step), [Verb::AnswerEnded, Verb::Withdrawn, Verb::Withdrawn]);
}

#[test]
fn rule_07_asking_to_cancel_changes_intent_only_and_may_end_done() {
    let before = working();
    let step = before.cancel(ann(), Some("too long"), at(20)).expect("it runs");
    assert_eq!((&step.next.view, &step.next.contact), (&before.view, &before.contact));
    assert_eq!(step.next.phase(at(20)), Phase::Cancelling);
    let acknowledged = step.next.cancel_step(&Delivery::Acknowledged { at: at(21) }, at(21)).next;
    assert_eq!(acknowledged.phase(at(21)), Phase::Cancelling, "acknowledged is not obeyed");
    let done = acknowledged.observe(&completed(30), &policy()).next;
    assert_eq!(done.phase(at(30)), Phase::Done);
    assert_eq!(done.stop_state(), Some(CancelState::FinishedAnyway));
}

#[test]
fn rule_08_failing_to_reach_a_server_changes_contact_only() {
    let before = working();
    let miss = Miss::Unreachable("connection refused".into());
    let early = before.missed(&miss, &misses(99, 0), at(5_000), &policy());
    assert!(!early.changed, "three intervals have not passed");
    let few = before.missed(&miss, &misses(2, 0), at(500_000), &policy());
    assert!(!few.changed, "two misses are not three");
    let step = before.missed(&miss, &misses(3, 0), at(500_000), &policy());
    assert_eq!(step.next.contact, Contact::Silent { since: at(10), failures: 3, last: miss.clone() });
    assert_eq!((&step.next.view, &step.next.intent), (&before.view, &before.intent));
    assert_eq!(step.next.phase(at(500_000)), Phase::Silent, "silent, never failed");
    let more = step.next.missed(&miss, &misses(4, 0), at(600_000), &policy());
    assert!(!more.changed && more.effects.is_empty(), "one more miss of the same kind is not news");
    let back = more.next.observe(&sight(TaskStatus::Working, 700_000), &policy());
    assert!(back.changed, "being heard again is news");
    assert_eq!(back.next.phase(at(700_000)), Phase::Running);
}

#[test]
fn rule_09_unknown_task_is_retried_then_lost_and_after_its_time_expired_but_never_failed() {
    let kept = Observation { ttl: Ttl::For(Duration::from_secs(60)), ..sight(TaskStatus::Working, 20) };
    let handle = working().observe(&kept, &policy()).next;
    let once = handle.missed(&Miss::UnknownTask, &misses(1, 1), at(1_000), &policy());
    assert!(!once.changed, "a load-balanced server may know it elsewhere");
    let lost = handle.missed(&Miss::UnknownTask, &misses(3, 3), at(3_000), &policy());
    assert_eq!(lost.next.phase(at(3_000)), Phase::Lost);
    assert_eq!(verbs(&lost), [Verb::Lost]);
    let expired = handle.missed(&Miss::UnknownTask, &misses(1, 1), at(60_010), &policy());
    assert_eq!(expired.next.phase(at(60_010)), Phase::Expired, "its time was first sight and ttl");
    let revived = lost.next.observe(&sight(TaskStatus::Working, 4_000), &policy());
    assert_eq!(revived.next.phase(at(4_000)), Phase::Running, "what is seen again is not lost");
    assert_eq!(verbs(&revived), [Verb::Discovered]);
}

#[test]
fn rule_10_an_unknown_word_is_shown_verbatim_and_an_unreadable_answer_says_where() {
    let odd = working().observe(&sight(TaskStatus::Other("paused".into()), 20), &policy());
    assert_eq!(status(&odd.next).word(), "paused");
    assert_eq!(odd.next.phase(at(20)), Phase::Running, "it counts as not finished");
    assert_eq!(odd.log[0].status, "paused");
    let miss = Miss::Unreadable { path: "$.result.status".into(), why: "not a text".into() };
    let silent = odd.next.missed(&miss, &misses(3, 0), at(60_000), &policy()).next;
    assert!(
        matches!(silent.contact, Contact::Silent { last: Miss::Unreadable { ref path, .. }, .. } if path.contains("status"))
    );
}

#[test]
fn rule_11_a_call_whose_reply_cannot_arrive_is_unconfirmed_and_a_slow_one_is_running() {
    let slow = awaiting().promoted(at(2_000)).next;
    assert_eq!(slow.phase(at(86_400_000)), Phase::Running, "slow is not lost");
    let lost = slow.reply_lost("the core restarted", at(3_000));
    assert_eq!(lost.next.phase(at(3_000)), Phase::Unconfirmed);
    assert_eq!(verbs(&lost), [Verb::Unconfirmed]);
    assert_eq!(lost.next.deliver_at(), None, "nothing of it is sent again");
    let payload = Payload::new("{}");
    let late = lost.next.replied(&CallReply::Result { payload, is_error: false }, &home(), at(9_000), &policy());
    assert_eq!(late.next.phase(at(9_000)), Phase::Done, "better late than never");
}

#[test]
fn rule_12_revoking_takes_the_handle_at_once_and_then_asks_for_a_stop() {
    let call = NewCall { agent: Some(AgentId::from_random(5)), ..new_call() };
    let handle = with_task(&TaskHandle::admit(call, at(0)).next);
    let step = handle.revoke(ann(), Some("not his"), at(20)).expect("it was not revoked");
    assert_eq!(step.next.phase(at(20)), Phase::Revoked);
    assert_eq!(verbs(&step), [Verb::Revoked, Verb::CancelBegun]);
    assert!(step.next.is_cancel_due() && step.effects.contains(&Effect::Deliver));
    assert!(step.next.revoke(ben(), None, at(21)).is_err(), "once is enough");
    let stopped = step.next.observe(&sight(TaskStatus::Cancelled, 30), &policy()).next;
    assert_eq!(stopped.stop_state(), Some(CancelState::Stopped));
}

#[test]
fn rule_13_forms_and_visits_are_asked_of_people_and_other_questions_need_nobody() {
    let outstanding = asks(&[("form", form()), ("page", visit()), ("model", Ask::Sampling), ("roots", Ask::Roots)]);
    let seen = Observation { outstanding: Some(outstanding), ..sight(TaskStatus::InputRequired, 20) };
    let handle = working().observe(&seen, &policy()).next;
    assert_eq!(handle.audience, Audience::People);
    let open: Vec<&str> =
        handle.requests.values().filter(|r| r.state.is_open()).map(|request| request.key.as_str()).collect();
    assert_eq!(open, ["form", "page"]);
    let refused = handle.answer(decline("model", ann()), at(21)).map(|_| ());
    assert_eq!(refused, Err(crate::task::Refusal::NotForPeople("sampling/createMessage".into())));
}

#[test]
fn rule_14_an_answer_is_sent_again_until_acknowledged_and_never_changed() {
    let asked = working().observe(&listing(&["a"], 20), &policy()).next;
    let answered = asked.answer(accept(Some("a")), at(21)).expect("open").0.next;
    let faster = answered.answer(decline("a", ben()), at(22)).map(|_| ());
    let first = AnswerAction::Accept;
    assert_eq!(faster, Err(crate::task::Refusal::AlreadyAnswered { by: ann().into(), at: at(21), action: first }));
    let mut handle = answered;
    for attempt in 1..=3 {
        assert_eq!(handle.answers_due(at(30)).len(), 1, "due until acknowledged");
        handle = handle.answer_step(&key("a"), &Delivery::Sent { at: at(30), attempts: 0 }, at(30)).next;
        let RequestState::Answered(answer) = state(&handle, "a") else { panic!("it is on its way") };
        assert_eq!(answer.delivery, Delivery::Sent { at: at(30), attempts: attempt });
    }
    let done = handle.answer_step(&key("a"), &Delivery::Acknowledged { at: at(31) }, at(31)).next;
    assert!(done.answers_due(at(99)).is_empty() && done.deliver_at().is_none());
    let late = done.answer_step(&key("a"), &Delivery::Refused { at: at(32), why: "late".into() }, at(32));
    assert!(!late.changed, "an outcome is final");
}

#[test]
fn a_task_of_another_creation_time_is_another_task() {
    let born = |created, millis| Observation { created: Some(at(created)), ..sight(TaskStatus::Working, millis) };
    let handle = working().observe(&born(1_000_500, 20), &policy()).next;
    let rounded = handle.observe(&born(1_000_000, 30), &policy()).next;
    assert_eq!(rounded.phase(at(30)), Phase::Running, "whole seconds are the same time");
    let other = rounded.observe(&born(2_000_000, 40), &policy()).next;
    assert!(matches!(other.contact, Contact::Gone { why: GoneWhy::Replaced, .. }));
    let never_back = other.observe(&born(1_000_500, 50), &policy());
    assert!(!never_back.changed, "what was replaced does not come back");
}

#[test]
fn what_people_want_survives_every_word_of_the_server() {
    let wished = working().cancel(ann(), None, at(15)).expect("it runs").next;
    for seen in
        [sight(TaskStatus::Working, 20), listing(&["a"], 20), completed(20), sight(TaskStatus::Failed(None), 20)]
    {
        let next = wished.observe(&seen, &policy()).next;
        assert!(
            matches!(next.intent, Intent::Cancel(ref cancel_request) if cancel_request.by == Decider::from(ann())),
            "{seen:?}"
        );
    }
}
