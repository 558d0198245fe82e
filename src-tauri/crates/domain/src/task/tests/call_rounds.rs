//! Calls that ask before they start, and calls that bring no task.

use super::*;
use crate::task::status::{CancelState, Delivery, Phase};
use crate::task::{AgentFailure, Effect, OwnFailure, agent_failure};

fn needs(pairs: &[(&str, Ask)], state: Option<&str>) -> CallReply {
    needs_input(asks(pairs), state.map(Payload::new))
}

fn replied(handle: &TaskHandle, reply: &CallReply, millis: i64) -> Transition {
    handle.replied(reply, &home(), at(millis), &policy())
}

/// Answers the only open question and sends the call again, as the deliverer does.
fn next_round(handle: &TaskHandle, millis: i64) -> TaskHandle {
    let (step, key) = handle.answer(accept(None), at(millis)).expect("one question is open");
    let due: Vec<RequestKey> = step.next.answers_due(at(millis)).iter().map(|request| request.key.clone()).collect();
    assert_eq!(due, std::slice::from_ref(&key), "the only answer of the round");
    let sent = step.next.answer_step(&key, &Delivery::Sent { at: at(millis), attempts: 1 }, at(millis)).next;
    sent.resumed(HOST, at(millis)).next
}

#[test]
fn a_call_that_asks_first_waits_is_answered_and_becomes_a_task() {
    let asking = replied(&awaiting(), &needs(&[("q", form())], Some("\"s1\"")), 10);
    assert_eq!(asking.next.phase(at(10)), Phase::Waiting);
    let stored = asking.payloads.iter().find(|write| write.kind == PayloadKind::RequestState).expect("its state");
    assert_eq!(stored.payload, Some(Payload::new("\"s1\"")), "byte for byte");
    let again = replied(&next_round(&asking.next, 20), &needs(&[("q", form())], None), 30);
    assert!(state(&again.next, "call.2:q").is_open(), "the same key in another round is another question");
    assert!(matches!(state(&again.next, "call.1:q"), RequestState::Confirmed(_)));
    let erased = again.payloads.iter().find(|write| write.kind == PayloadKind::RequestState).expect("no state now");
    assert_eq!(erased.payload, None, "a state that was not given is not echoed");
    let task = replied(&next_round(&again.next, 40), &task_reply(sight(TaskStatus::Working, 50)), 50);
    assert_eq!(task.next.phase(at(50)), Phase::Running);
    assert!(verbs(&task).contains(&Verb::Accepted));
    assert!(task.effects.contains(&Effect::PollAt(at(50))));
}

#[test]
fn a_round_is_sent_only_when_all_of_it_is_answered() {
    let asking = replied(&awaiting(), &needs(&[("a", form()), ("b", form())], None), 10).next;
    let one = asking.answer(accept(Some("call.1:a")), at(20)).expect("open").0.next;
    assert!(one.answers_due(at(99)).is_empty() && one.deliver_at().is_none());
    let held = AnswerInput { not_before: Some(at(5_000)), ..accept(Some("call.1:b")) };
    let both = one.answer(held, at(30)).expect("open").0.next;
    assert_eq!(both.deliver_at(), Some(at(5_000)), "the one that is held back holds the round");
    assert!(both.answers_due(at(4_999)).is_empty());
    assert_eq!(both.answers_due(at(5_000)).len(), 2);
}

#[test]
fn a_server_that_only_wants_its_state_back_needs_nobody() {
    let step = replied(&awaiting(), &needs(&[], Some("1")), 10);
    assert_eq!(step.next.phase(at(10)), Phase::Running);
    assert_eq!(step.next.deliver_at(), Some(at(10)));
    assert_eq!(step.next.round_ready_at(), Some(at(10)));
    assert!(step.effects.contains(&Effect::Deliver));
}

#[test]
fn a_server_that_asks_in_rounds_without_end_is_given_up() {
    let mut handle = awaiting();
    for round in 1..=policy().rounds_max {
        handle = replied(&handle, &needs(&[], Some("1")), i64::from(round)).next;
        assert_eq!(handle.phase(at(100)), Phase::Running, "round {round}");
        handle = handle.resumed(HOST, at(i64::from(round))).next;
    }
    let over = replied(&handle, &needs(&[], Some("1")), 100).next;
    assert_eq!(over.phase(at(100)), Phase::Failed, "nothing runs there and nothing will");
}

#[test]
fn a_call_that_needs_a_model_first_says_so_instead_of_waiting_for_ever() {
    let step = replied(&awaiting(), &needs(&[("q", form()), ("m", Ask::Sampling)], None), 10);
    assert_eq!(step.next.phase(at(10)), Phase::Failed);
    assert!(step.next.requests.is_empty(), "nobody is asked for an answer that cannot be used");
}

#[test]
fn a_call_stopped_between_rounds_is_cancelled_and_one_in_flight_is_unconfirmed() {
    let asking = replied(&awaiting(), &needs(&[("q", form())], None), 10).next;
    let wished = asking.cancel(ann(), None, at(20)).expect("it waits").next;
    let answered = wished.answer(accept(None), at(21)).expect("open").0.next;
    assert!(answered.answers_due(at(99)).is_empty(), "a call whose stop was asked is not sent again");
    let stopped = wished.call_cancelled(at(22)).next;
    assert_eq!(stopped.phase(at(22)), Phase::Cancelled);
    assert_eq!(stopped.stop_state(), Some(CancelState::EndedHere), "the server was not asked and confirmed nothing");
    assert_eq!(stopped.stopped(), Some(crate::task::StoppedBy::NothingRan), "nor did it say how it ended");
    let own = awaiting().promoted(at(2_000)).next.cancel(ann(), None, at(3_000)).expect("it runs").next;
    let own = own.call_cancelled(at(3_001)).next;
    assert_eq!(own.phase(at(3_001)), Phase::Unconfirmed, "the server said nothing, so neither do we");
}

#[test]
fn a_wish_to_stop_a_call_is_carried_to_its_task() {
    let wished = awaiting().cancel(ann(), None, at(5)).expect("it runs").next;
    let told = wished.cancel_step(&Delivery::Acknowledged { at: at(6) }, at(6)).next;
    let step = replied(&told, &task_reply(sight(TaskStatus::Working, 10)), 10);
    assert!(step.next.is_cancel_due(), "the task itself was not asked yet");
    assert!(step.effects.contains(&Effect::Deliver));
}

#[test]
fn plain_replies_end_the_call_and_teach_how_long_it_took() {
    let result = |is_error| CallReply::Result { payload: Payload::new("{}"), is_error };
    let fine = replied(&awaiting(), &result(false), 1_500);
    assert_eq!((fine.next.phase(at(1_500)), fine.learned_ms), (Phase::Done, Some(1_500)));
    let wrong = replied(&awaiting(), &result(true), 1_500);
    assert_eq!((wrong.next.phase(at(1_500)), wrong.learned_ms), (Phase::DoneWithError, Some(1_500)));
    let error = CallReply::Error { error: rpc_error(), payload: Payload::new("{}") };
    let refused = replied(&awaiting(), &error, 1_500);
    assert_eq!((refused.next.phase(at(1_500)), refused.learned_ms), (Phase::Failed, None));
    for step in [fine, wrong, refused] {
        assert!(step.effects.contains(&Effect::Release), "what was reserved is given back");
        assert_eq!(step.payloads.len(), 1, "as received");
        assert!(!replied(&step.next, &result(false), 2_000).changed, "one reply is all there is");
    }
}

#[test]
fn a_call_that_never_left_is_failed_and_says_why() {
    let step = awaiting().not_sent("the server is not connected", at(5));
    assert_eq!(step.next.phase(at(5)), Phase::Failed);
    assert!(matches!(step.next.view, ServerView::NotSent { ref why } if why.contains("not connected")));
    assert!(!step.next.reply_lost("gone", at(6)).changed);
}

#[test]
fn a_call_whose_sign_in_was_refused_says_so_and_what_to_do_and_not_that_it_was_not_sent() {
    let step = awaiting().sign_in_refused("`ci` refuses the token (HTTP 401)", "Sign in.", at(5));
    assert_eq!(step.next.phase(at(5)), Phase::Failed);
    let told = "the server refused the sign-in for this call: `ci` refuses the token (HTTP 401). Sign in";
    assert_eq!(step.next.view, ServerView::NotSent { why: told.into() });
    let ended = step.audit.iter().find(|fact| fact.verb == Verb::Ended);
    assert_eq!(ended.map(|fact| fact.note.as_str()), Some("call -> sign-in refused"));
    let failure = agent_failure(&step.next, at(6));
    assert_eq!(failure, Some(AgentFailure::Ours(OwnFailure::SignInRefused)), "its agent hears the same");
}

#[test]
fn a_call_whose_server_asks_to_wait_says_so_and_not_that_it_was_not_sent() {
    let step = awaiting().asked_to_wait(Some(Duration::from_secs(7)), at(5));
    assert_eq!(step.next.phase(at(5)), Phase::Failed);
    let told = "the server did not take this call and asked to wait 7 s";
    assert_eq!(step.next.view, ServerView::NotSent { why: told.into() });
    let ended = step.audit.iter().find(|fact| fact.verb == Verb::Ended);
    assert_eq!(ended.map(|fact| fact.note.as_str()), Some("call -> asked to wait"));
    let failure = agent_failure(&step.next, at(6));
    assert_eq!(failure, Some(AgentFailure::Ours(OwnFailure::AskedToWait)), "its agent hears the same");
}

#[test]
fn a_new_call_is_recorded_with_its_arguments_and_its_time() {
    let usual = UsualDuration { samples: 9, median_ms: 100, p90_ms: 900, p95_ms: 950 };
    let learned = TaskHandle::admit(NewCall { usual: Some(usual), ..new_call() }, at(50));
    assert_eq!(learned.next.due.map(|due| (due.at, due.why)), Some((at(1_000), crate::task::status::DueWhy::Usual)));
    let fast = UsualDuration { samples: 9, median_ms: 0, p90_ms: 1, p95_ms: 2 };
    let quick = TaskHandle::admit(NewCall { usual: Some(fast), ..new_call() }, at(50)).next;
    assert_eq!(quick.due.map(|due| due.at), Some(at(550)), "nothing is late at once because its tool is usually fast");
    assert_eq!(quick.phase(at(60)), Phase::Running);
    assert_eq!(verbs(&learned), [Verb::Admitted]);
    assert!(learned.changed && learned.payloads[0].kind == PayloadKind::Arguments);
    let agreed = limited(Duration::from_secs(1));
    assert_eq!(agreed.due.map(|due| (due.at, due.why)), Some((at(1_000), crate::task::status::DueWhy::Agreed)));
}
