//! A server that asks more than people are shown at once.

use super::*;
use crate::task::Told;
use crate::task::status::Phase;

fn numbered(most: usize) -> Vec<String> {
    (0..most).map(|n| format!("k{n:04}")).collect()
}

fn list(keys: &[String], millis: i64) -> Observation {
    listing(&keys.iter().map(String::as_str).collect::<Vec<_>>(), millis)
}

#[test]
fn of_a_thousand_questions_a_few_are_open_and_the_rest_is_counted_and_comes_up() {
    let (policy, keys) = (policy(), numbered(1_000));
    let most = policy.open_questions_per_task;
    let step = working().observe(&list(&keys, 20), &policy);
    assert_eq!((step.next.open_questions(), step.next.more_questions), (most, 1_000 - 64));
    assert_eq!(step.audit.len(), most, "what is not open leaves nothing behind");
    let again = step.next.observe(&list(&keys, 30), &policy);
    assert!(!again.changed, "seen again, nothing changes");
    let later = again.next.observe(&list(&keys[10..], 40), &policy).next;
    assert_eq!((later.open_questions(), later.more_questions), (most, 1_000 - 64 - 10), "ten closed, ten came up");
    assert!(later.requests.contains_key(&key("k0073")) && !later.requests.contains_key(&key("k0074")));
    let ended = later.observe(&completed(50), &policy).next;
    assert_eq!((ended.open_questions(), ended.more_questions), (0, 0));
}

#[test]
fn a_server_without_room_still_gets_the_first_question_of_a_task_through() {
    let (policy, keys) = (policy(), numbered(5));
    let full = working().observe_within(&list(&keys, 20), 0, &policy).next;
    assert_eq!((full.open_questions(), full.more_questions), (1, 4));
    assert_eq!(full.phase(at(21)), Phase::Waiting, "a task that waits is never hidden");
    let room = full.observe_within(&list(&keys, 30), 2, &policy).next;
    assert_eq!((room.open_questions(), room.more_questions), (3, 2));
}

#[test]
fn questions_are_bounded_by_their_bytes_too() {
    let policy = Policy { open_question_bytes_per_task: 3_000, ..policy() };
    let large = || Ask::Form { message: "m".repeat(1_400), schema: serde_json::json!({}) };
    let outstanding = numbered(9).into_iter().map(|text| (key(&text), large())).collect();
    let seen = Observation { outstanding: Some(outstanding), ..sight(TaskStatus::InputRequired, 20) };
    let handle = working().observe(&seen, &policy).next;
    assert_eq!((handle.open_questions(), handle.more_questions), (2, 7));
}

#[test]
fn a_server_that_asks_another_large_form_at_each_look_is_cut_by_their_bytes_over_the_tasks_life() {
    let policy = Policy { question_bytes_per_task: 10_000, ..policy() };
    let large = || Ask::Form { message: "m".repeat(1_400), schema: serde_json::json!({}) };
    let mut handle = working();
    for number in 0..50 {
        let outstanding = [(key(&format!("k{number}")), large())].into();
        let seen = Observation { outstanding: Some(outstanding), ..sight(TaskStatus::InputRequired, 20 + number) };
        handle = handle.observe(&seen, &policy).next;
    }
    let kept: usize = handle.requests.values().map(|request| request.ask.bytes()).sum();
    assert!(kept <= 10_000, "closed questions count too: {kept}");
    assert_eq!(handle.requests.len(), 6, "those that fit are kept whole, for their answers");
    assert!(handle.told.contains(&Told::TooMuchAsked), "and it is said");
    let small = [(key("small"), form())].into();
    let seen = Observation { outstanding: Some(small), ..sight(TaskStatus::InputRequired, 90) };
    assert!(!handle.observe(&seen, &policy).next.requests.contains_key(&key("small")), "from there on none is taken");
}

#[test]
fn a_live_question_without_space_is_not_recorded_and_one_asked_again_needs_none() {
    let policy = Policy { open_questions_per_task: 1, ..policy() };
    let (first, LiveOutcome::Opened(opened)) = working().asked(&live(1, "7", "d"), at(20), &policy) else {
        panic!("the first one opens")
    };
    let (second, outcome) = first.next.asked(&live(1, "8", "e"), at(21), &policy);
    assert_eq!((outcome, second.changed), (LiveOutcome::NoSpace, false));
    let (_, outcome) = first.next.asked(&live(2, "1", "d"), at(22), &policy);
    assert_eq!(outcome, LiveOutcome::Same(opened), "the same question on a new connection is not a further one");
    let waits = first.next.questions_wait(3, at(23));
    assert_eq!((waits.changed, waits.next.more_questions), (true, 3));
}

#[test]
fn a_round_that_asks_more_than_is_shown_at_once_ends_the_call() {
    let questions = numbered(65).into_iter().map(|text| (key(&text), form())).collect();
    let step = awaiting().replied(&needs_input(questions, None), &home(), at(20), &policy());
    assert_eq!(step.next.requests.len(), 0);
    assert_eq!(step.next.phase(at(21)), Phase::Failed, "a round is answered as a whole");
}

#[test]
fn clones_of_a_task_share_its_questions_until_one_changes() {
    let handle = working().observe(&list(&numbered(3), 20), &policy()).next;
    let clone = handle.clone();
    assert!(std::ptr::eq(&*handle.requests, &*clone.requests), "a clone costs no copy of its questions");
    let answered = clone.answer(accept(Some("k0001")), at(21)).expect("it is open").0.next;
    assert!(handle.requests[&key("k0001")].state.is_open(), "a change of one is not a change of the other");
    assert!(!answered.requests[&key("k0001")].state.is_open());
}
