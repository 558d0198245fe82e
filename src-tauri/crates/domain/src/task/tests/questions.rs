//! Questions of both dialects and their answers.

use super::*;
use crate::audit::decision_origin::{DecisionDoor, DecisionOrigin};
use crate::task::status::{Contact, Delivery, Phase};
use crate::task::{Effect, Refusal, Told};

fn opened(handle: &TaskHandle, question: &LiveQuestion, millis: i64) -> (TaskHandle, RequestKey) {
    match handle.asked(question, at(millis), &policy()) {
        (step, LiveOutcome::Opened(key)) => (step.next, key),
        (_, other) => panic!("not opened: {other:?}"),
    }
}

#[test]
fn an_open_question_of_the_old_dialect_survives_a_later_working() {
    let (handle, key) = opened(&working(), &live(1, "7", "d"), 20);
    let handle = handle.observe(&sight(TaskStatus::InputRequired, 21), &policy()).next;
    let handle = handle.observe(&sight(TaskStatus::Working, 22), &policy()).next;
    assert!(handle.requests[&key].state.is_open(), "only its answer, its server or its end closes it");
    assert_eq!(handle.phase(at(23)), Phase::Waiting);
}

#[test]
fn a_question_asked_again_after_a_reconnect_is_the_same_question() {
    let (handle, key) = opened(&working(), &live(1, "7", "d"), 20);
    let kept = handle.channel_lost(ConnectionId::from_random(1), true, at(25)).next;
    let (step, outcome) = kept.asked(&live(2, "1", "d"), at(30), &policy());
    assert_eq!(outcome, LiveOutcome::Same(key.clone()));
    assert!(step.changed, "its new door must be stored");
    assert_eq!(step.next.requests.len(), 1);
    let (repeated, outcome) = step.next.asked(&live(2, "1", "d"), at(31), &policy());
    assert_eq!((repeated.changed, outcome), (false, LiveOutcome::Same(key)));
}

#[test]
fn two_equal_questions_at_once_are_two_questions_and_both_find_themselves_again() {
    let (handle, first) = opened(&working(), &live(1, "7", "d"), 20);
    let (handle, second) = opened(&handle, &live(1, "8", "d"), 21);
    assert_ne!(first, second);
    let (step, one) = handle.asked(&live(2, "1", "d"), at(30), &policy());
    let (_, two) = step.next.asked(&live(2, "2", "d"), at(31), &policy());
    assert_eq!((one, two), (LiveOutcome::Same(first), LiveOutcome::Same(second)));
}

#[test]
fn an_answer_that_did_not_arrive_goes_out_when_the_question_comes_again() {
    let (handle, key) = opened(&working(), &live(1, "7", "d"), 20);
    let handle = handle.answer(accept(None), at(21)).expect("open").0.next;
    let sent = handle.answer_step(&key, &Delivery::Sent { at: at(22), attempts: 1 }, at(22)).next;
    assert!(sent.answers_due(at(99)).is_empty(), "a second response to one request must never leave");
    let (step, outcome) = sent.asked(&live(2, "1", "d"), at(30), &policy());
    assert_eq!(outcome, LiveOutcome::AnsweredBefore(key.clone()));
    assert!(step.effects.contains(&Effect::Deliver));
    assert_eq!(step.next.answers_due(at(31)).len(), 1, "nobody is asked twice");
    let done = step.next.answer_step(&key, &Delivery::Acknowledged { at: at(32) }, at(32)).next;
    assert!(matches!(done.requests[&key].state, RequestState::Confirmed(_)), "a live answer is confirmed at once");
    let (_, third) = done.asked(&live(3, "1", "d"), at(40), &policy());
    assert!(matches!(third, LiveOutcome::Opened(new) if new != key), "what was acknowledged is asked anew");
}

#[test]
fn a_live_answer_whose_channel_was_gone_waits_for_the_question() {
    let (handle, key) = opened(&working(), &live(1, "7", "d"), 20);
    let handle = handle.answer(accept(None), at(21)).expect("open").0.next;
    let sent = handle.answer_step(&key, &Delivery::Sent { at: at(22), attempts: 1 }, at(22)).next;
    let back = sent.answer_step(&key, &Delivery::Recorded, at(23)).next;
    assert_eq!(back.phase(at(24)), Phase::Answering);
    let gone = back.channel_lost(ConnectionId::from_random(1), false, at(25)).next;
    assert!(matches!(gone.requests[&key].state, RequestState::Withdrawn { .. }), "nobody can ask it again");
}

#[test]
fn a_question_that_the_server_takes_back_is_withdrawn_and_no_other() {
    let (handle, first) = opened(&working(), &live(1, "7", "d"), 20);
    let (handle, other) = opened(&handle, &live(1, "8", "e"), 21);
    let step = handle.taken_back(ConnectionId::from_random(1), "7", at(30));
    assert!(matches!(step.next.requests[&first].state, RequestState::Withdrawn { .. }));
    assert!(step.next.requests[&other].state.is_open());
    let refused = step.next.answer(AnswerInput { key: Some(first), ..accept(None) }, at(31)).map(|_| ());
    assert_eq!(refused, Err(Refusal::Withdrawn));
}

#[test]
fn questions_for_models_and_of_ended_tasks_are_rejected() {
    let sampling = LiveQuestion { ask: Ask::Sampling, ..live(1, "7", "d") };
    let (step, outcome) = working().asked(&sampling, at(20), &policy());
    assert!(matches!(outcome, LiveOutcome::Rejected(_)) && !step.changed);
    let ended = working().observe(&completed(20), &policy()).next;
    let (_, outcome) = ended.asked(&live(1, "7", "d"), at(30), &policy());
    assert!(matches!(outcome, LiveOutcome::Rejected(_)), "nobody can use that answer");
}

#[test]
fn an_answer_that_comes_after_the_end_of_its_call_is_told_so() {
    let asked = working().observe(&listing(&["a"], 20), &policy()).next;
    let held = asked.answer(accept(Some("a")), at(21)).expect("it is open").0.next;
    let ended = held.observe(&completed(22), &policy()).next;
    let RequestState::Withdrawn { why, .. } = state(&ended, "a") else { panic!("it never left") };
    assert_eq!(why, "the task ended; the answer did not reach the server");
    for named in [Some("a"), None] {
        let refused = ended.answer(accept(named), at(23)).map(|_| ());
        assert_eq!(refused, Err(Refusal::EndedBeforeAnswer), "by its key: {}", named.is_some());
    }
}

#[test]
fn a_server_that_asks_without_end_is_cut_and_it_is_told_once() {
    let policy = Policy { requests_per_task_max: 2, ..policy() };
    let keys: Vec<String> = (0..50).map(|n| format!("k{n:02}")).collect();
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let step = working().observe(&listing(&keys, 20), &policy);
    assert_eq!(step.next.requests.len(), 2);
    let (_, outcome) = step.next.asked(&live(1, "7", "d"), at(21), &policy);
    assert!(matches!(outcome, LiveOutcome::Rejected(_)));
    let again = step.next.observe(&listing(&keys, 30), &policy);
    assert!(!again.changed, "said once");
    assert!(again.next.told.contains(&Told::TooMuchAsked));
    let long = "k".repeat(policy.task_id_cap_bytes + 1);
    let step = working().observe(&listing(&[&long], 20), &policy);
    assert!(step.next.requests.is_empty(), "a key has a length, too");
}

#[test]
fn an_answer_needs_exactly_what_its_question_wants() {
    let outstanding = asks(&[("form", form()), ("page", visit())]);
    let seen = Observation { outstanding: Some(outstanding), ..sight(TaskStatus::InputRequired, 20) };
    let handle = working().observe(&seen, &policy()).next;
    let refusal = |input| handle.answer(input, at(21)).map(|_| ()).expect_err("refused");
    let content = |text: &str| AnswerInput { content: Some(Payload::new(text)), ..accept(Some("form")) };
    assert_eq!(refusal(accept(None)), Refusal::AmbiguousKey(2));
    assert_eq!(refusal(accept(Some("nothing"))), Refusal::UnknownKey(key("nothing")));
    assert_eq!(refusal(content("[1]")), Refusal::NeedsContent(key("form")));
    assert_eq!(refusal(content("{\"a\":")), Refusal::NeedsContent(key("form")));
    assert_eq!(refusal(AnswerInput { content: None, ..accept(Some("form")) }), Refusal::NeedsContent(key("form")));
    assert_eq!(refusal(accept(Some("page"))), Refusal::NoContent(key("page")));
    let declined = AnswerInput { action: AnswerAction::Decline, ..accept(Some("form")) };
    assert_eq!(refusal(declined), Refusal::NoContent(key("form")));
    assert!(handle.answer(decline("form", ann()), at(21)).is_ok());
    assert_eq!(working().answer(accept(None), at(21)).map(|_| ()), Err(Refusal::NothingAsked));
}

#[test]
fn an_answer_in_its_hold_back_is_claimed_and_can_be_taken_back_until_then() {
    let handle = working().observe(&listing(&["a"], 20), &policy()).next;
    let held = AnswerInput { not_before: Some(at(5_020)), ..accept(None) };
    let (step, key) = handle.answer(held, at(20)).expect("open");
    assert!(step.next.answer(decline("a", ben()), at(21)).is_err(), "claimed meanwhile");
    assert_eq!(step.next.phase(at(21)), Phase::Answering);
    assert!(step.next.answers_due(at(5_019)).is_empty());
    assert_eq!(step.next.deliver_at(), Some(at(5_020)));
    assert_eq!(step.next.answers_due(at(5_020)).len(), 1, "delivered even if the window is gone");
    assert_eq!(step.next.undo_answer(&key, &ann(), at(5_020)).map(|_| ()), Err(Refusal::AlreadySent));
    let undone = step.next.undo_answer(&key, &ann(), at(5_000)).expect("still held");
    assert!(undone.next.requests[&key].state.is_open());
    assert!(undone.payloads.iter().any(|write| write.payload.is_none()), "what was written is gone");
    assert!(undone.next.answer(decline("a", ben()), at(5_001)).is_ok(), "and somebody else may answer");
}

#[test]
fn an_answer_to_a_field_that_looks_secret_is_erased_once_it_arrived() {
    let seen = Observation { outstanding: Some(asks(&[("a", secret_form())])), ..sight(TaskStatus::InputRequired, 20) };
    let handle = working().observe(&seen, &policy()).next;
    let answered = handle.answer(accept(None), at(21)).expect("open").0.next;
    let erased = |step: &Transition| {
        step.payloads.iter().any(|w| w.kind == PayloadKind::Answer(key("a")) && w.payload.is_none())
    };
    let step = answered.answer_step(&key("a"), &Delivery::Acknowledged { at: at(22) }, at(22));
    assert!(erased(&step), "acknowledged");
    let step = answered.observe(&completed(22), &policy());
    assert!(erased(&step), "the task ended before it was sent");
}

#[test]
fn a_look_that_began_before_a_question_opened_does_not_withdraw_it() {
    let pushed = Observation { door: ObservationDoor::Push, ..listing(&["a"], 25) };
    let handle = working().observe(&pushed, &policy()).next;
    let look = Observation { begun: at(20), ..listing(&[], 30) };
    let step = handle.observe(&look, &policy());
    assert!(state(&step.next, "a").is_open(), "that look could not know of it");
    let later = step.next.observe(&listing(&[], 40), &policy());
    assert!(matches!(state(&later.next, "a"), RequestState::Withdrawn { .. }), "the next one does");
}

#[test]
fn a_live_question_is_a_sign_of_life() {
    let miss = crate::task::status::Miss::Unreachable("gone".into());
    let count = crate::task::MissCount { failures: 9, unknown: 0, interval: Duration::from_secs(1) };
    let silent = working().missed(&miss, &count, at(60_000), &policy()).next;
    assert_eq!(silent.phase(at(60_000)), Phase::Silent);
    let (handle, _) = opened(&silent, &live(2, "1", "d"), 61_000);
    assert_eq!(handle.contact, Contact::Fresh { seen: at(61_000) });
    assert_eq!(handle.phase(at(61_000)), Phase::Waiting);
}

#[test]
fn a_push_that_leaves_a_question_out_closes_nothing_and_asks_for_a_look() {
    let asked = working().observe(&listing(&["a"], 20), &policy()).next;
    let push = Observation { door: ObservationDoor::Push, ..listing(&[], 30) };
    let told = asked.observe(&push, &policy());
    assert!(matches!(state(&told.next, "a"), RequestState::Open), "only a look may close a question (ruling 1)");
    assert!(told.effects.contains(&Effect::PollAt(at(30))), "so it is looked at now");
    let looked = told.next.observe(&listing(&[], 40), &policy()).next;
    assert!(matches!(state(&looked, "a"), RequestState::Withdrawn { .. }));
}

#[test]
fn an_acknowledgement_that_comes_after_a_look_confirmed_the_answer_is_kept_once() {
    let asked = working().observe(&listing(&["a"], 20), &policy()).next;
    let answered = asked.answer(accept(Some("a")), at(21)).expect("open").0.next;
    let sent = answered.answer_step(&key("a"), &Delivery::Sent { at: at(22), attempts: 1 }, at(22)).next;
    let looked = sent.observe(&listing(&[], 30), &policy()).next;
    let step = looked.answer_step(&key("a"), &Delivery::Acknowledged { at: at(31) }, at(31));
    let RequestState::Confirmed(answer) = state(&step.next, "a") else { panic!("it stays confirmed") };
    assert_eq!(answer.delivery, Delivery::Acknowledged { at: at(31) }, "the server took it");
    assert_eq!(verbs(&step), [Verb::AnswerEnded], "the audit says so");
    let again = step.next.answer_step(&key("a"), &Delivery::Acknowledged { at: at(32) }, at(32));
    assert!(!again.changed && verbs(&again).is_empty(), "once is enough");
}

#[test]
fn whoever_answers_second_learns_what_was_decided_and_that_nothing_of_theirs_was_recorded() {
    let asked = working().observe(&listing(&["a"], 20), &policy()).next;
    for (action, said) in [(AnswerAction::Decline, "declined"), (AnswerAction::Dismiss, "dismissed")] {
        let first = asked.answer(AnswerInput { action, ..decline("a", ann()) }, at(21)).expect("open").0.next;
        let second = first.answer(AnswerInput { by: ben().into(), ..accept(None) }, at(22)).map(|_| ());
        let told = second.expect_err("the first answer counts").to_string();
        assert!(told.starts_with(&format!("already {said} by ann at ")), "{told}");
        assert!(told.ends_with("; your answer was not recorded"), "{told}");
    }
    let origin = DecisionOrigin { door: DecisionDoor::Terminal, process: None, executable: None };
    let first = asked.answer(decline("a", ann().through(origin)), at(21)).expect("open").0.next;
    let told = first.answer(accept(None), at(22)).map(|_| ()).expect_err("the first answer counts").to_string();
    assert!(told.starts_with("already declined by ann in a terminal at "), "by which door, where it is known: {told}");
}

#[test]
fn whoever_answers_second_without_a_key_learns_who_was_first() {
    let asked = working().observe(&listing(&["a"], 20), &policy()).next;
    let answered = asked.answer(accept(None), at(21)).expect("open").0.next;
    let second = answered.answer(AnswerInput { by: ben().into(), ..accept(None) }, at(22)).map(|_| ());
    assert_eq!(
        second,
        Err(Refusal::AlreadyAnswered { by: ann().into(), at: at(21), action: AnswerAction::Accept }),
        "it was clear which one was meant"
    );
    let nothing = working().answer(accept(None), at(21)).map(|_| ());
    assert_eq!(nothing, Err(Refusal::NothingAsked), "nobody was asked anything");
}

#[test]
fn a_server_that_needs_input_and_asks_nothing_answerable_is_told_from_one_that_asks() {
    let needs = |pairs: &[(&str, Ask)]| {
        let seen = Observation { outstanding: Some(asks(pairs)), ..sight(TaskStatus::InputRequired, 20) };
        working().observe(&seen, &policy()).next
    };
    assert_eq!(working().unmet_input(), None, "it works");
    let nothing = working().observe(&sight(TaskStatus::InputRequired, 20), &policy()).next;
    assert_eq!(nothing.unmet_input(), Some(Vec::new()), "it sent no question");
    assert_eq!(nothing.phase(at(21)), Phase::Running, "nobody is asked");
    assert_eq!(needs(&[("s", Ask::Sampling)]).unmet_input(), Some(vec![&Ask::Sampling]));
    assert_eq!(needs(&[("a", form()), ("s", Ask::Sampling)]).unmet_input(), None, "a person can go on");
    let answered = needs(&[("a", form())]).answer(accept(None), at(21)).expect("open").0.next;
    assert_eq!(answered.unmet_input(), None, "an answer is on its way");
    let seen = Observation { outstanding: Some(asks(&[("s", Ask::Sampling)])), ..sight(TaskStatus::InputRequired, 20) };
    let agents = given(Audience::People).observe(&seen, &policy()).next;
    assert_eq!(agents.unmet_input(), None, "its agent is asked");
}
