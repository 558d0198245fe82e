//! Wishes: to stop, to revoke, to look away.

use super::*;
use crate::task::cancel::plan::BulkResult;
use crate::task::status::halted::HaltedTaskState;
use crate::task::status::{CancelState, Delivery, GateReason, Phase, SentCancel};
use crate::task::{Effect, Refusal};

#[test]
fn a_stop_is_asked_acknowledged_and_stopped_or_refused_and_never_guessed() {
    let asked = working().cancel(ann(), None, at(20)).expect("it runs").next;
    assert_eq!(asked.stop_state(), Some(CancelState::Asked));
    assert_eq!(asked.deliver_at(), Some(at(20)));
    let sent = asked.cancel_step(&Delivery::Sent { at: at(21), attempts: 1 }, at(21)).next;
    assert_eq!(sent.stop_state(), Some(CancelState::Asked), "sent is not heard");
    let heard = sent.cancel_step(&Delivery::Acknowledged { at: at(22) }, at(22)).next;
    assert_eq!((heard.stop_state(), heard.deliver_at()), (Some(CancelState::Acknowledged), None));
    let stopped = heard.observe(&sight(TaskStatus::Cancelled, 30), &policy()).next;
    assert_eq!((stopped.stop_state(), stopped.phase(at(30))), (Some(CancelState::Stopped), Phase::Cancelled));
    let refused = sent.cancel_step(&Delivery::Refused { at: at(22), why: "no such method".into() }, at(22)).next;
    assert_eq!((refused.stop_state(), refused.phase(at(22))), (Some(CancelState::Refused), Phase::Running));
}

#[test]
fn a_waiting_call_that_is_left_out_says_why_on_record_and_quotes_nobody() {
    for gate in [GateReason::Paused, GateReason::Frozen, GateReason::Alarm] {
        let waits = TaskHandle::admit_gated(new_call(), gate, at(10)).next;
        let step = waits.left_out(&ann().into(), gate, at(20));
        assert!(step.next.is_over(), "{gate:?}");
        let request = step.next.cancel_request().expect("it is cancelled");
        assert_eq!((&request.by, request.reason.as_deref()), (&ann().into(), None), "no words of hers: {gate:?}");
        let begun = step.audit.iter().find(|fact| fact.verb == Verb::CancelBegun).expect("it is on record");
        assert!(!begun.note.is_empty(), "with why: {gate:?}");
        let taken = step.next.steps_taken();
        assert_eq!(taken[0].reason.as_deref(), Some(&*begun.note), "people read it with the step: {gate:?}");
    }
}

#[test]
fn a_stop_is_asked_once_unless_it_was_refused() {
    let asked = working().cancel(ann(), None, at(20)).expect("it runs").next;
    assert_eq!(asked.cancel(ben(), None, at(21)), Err(Refusal::AlreadyAsked { by: ann().into(), at: at(20) }));
    let refused = asked.cancel_step(&Delivery::Refused { at: at(22), why: "busy".into() }, at(22));
    let note = |step: &Transition| step.audit.iter().map(|fact| fact.note.clone()).collect::<Vec<_>>();
    assert_eq!(note(&refused), ["notSent"], "a server that was never asked has refused nothing");
    let sent = asked.cancel_step(&Delivery::Sent { at: at(21), attempts: 1 }, at(21)).next;
    let no = Delivery::Refused { at: at(22), why: "busy".into() };
    assert_eq!(note(&sent.cancel_step(&no, at(22))), ["refused"]);
    let refused = refused.next;
    assert!(refused.cancel(ben(), None, at(23)).is_ok(), "a person may try again");
    let done = working().observe(&completed(20), &policy()).next;
    assert_eq!(done.cancel(ann(), None, at(30)), Err(Refusal::AlreadyOver("done")));
}

#[test]
fn a_wish_to_cancel_becomes_a_revocation_without_a_second_request() {
    let asked = working().cancel(ann(), None, at(20)).expect("it runs").next;
    let heard = asked.cancel_step(&Delivery::Acknowledged { at: at(21) }, at(21)).next;
    let revoked = heard.revoke(ben(), None, at(22)).expect("not revoked yet");
    assert_eq!(revoked.next.phase(at(22)), Phase::Revoked);
    assert!(!revoked.next.is_cancel_due(), "the server was asked already");
    assert!(revoked.next.unwatch(&ann(), None, at(23)).is_err(), "access stays taken");
}

#[test]
fn revoking_a_finished_task_takes_it_from_its_agent_and_asks_nothing() {
    let done = working().observe(&completed(20), &policy()).next;
    let step = done.revoke(ann(), None, at(30)).expect("not revoked yet");
    assert_eq!((step.next.phase(at(30)), step.next.is_cancel_due()), (Phase::Done, false));
    assert_eq!(verbs(&step), [Verb::Revoked]);
    let failed = awaiting().not_sent("no connection", at(5)).next;
    let step = failed.revoke(ann(), None, at(30)).expect("not revoked yet");
    assert_eq!(step.next.phase(at(30)), Phase::Failed, "a later wish does not rewrite how it ended");
}

#[test]
fn looking_away_asks_nothing_of_the_server_and_empties_the_inbox() {
    let asked = working().observe(&listing(&["a"], 20), &policy()).next;
    let step = asked.unwatch(&ann(), None, at(30)).expect("it runs");
    assert_eq!(step.next.phase(at(30)), Phase::Unwatched);
    assert!(step.effects.contains(&Effect::StopPolling) && step.next.deliver_at().is_none());
    assert!(matches!(state(&step.next, "a"), RequestState::Withdrawn { .. }));
    let heard = step.next.observe(&listing(&["b"], 40), &policy());
    assert!(!heard.changed, "nobody watches");
    let done = step.next.observe(&completed(50), &policy()).next;
    assert_eq!(done.phase(at(50)), Phase::Done, "its end is worth knowing all the same");
    let pending = working().cancel(ann(), None, at(20)).expect("it runs").next;
    assert!(pending.unwatch(&ben(), None, at(21)).is_err(), "a stop on its way is not forgotten");
}

#[test]
fn the_stop_of_a_plain_call_is_only_asked_because_nobody_acknowledges_a_notice() {
    let asked = awaiting().cancel(ann(), None, at(20)).expect("it runs").next;
    let left = asked.cancel_step(&Delivery::Acknowledged { at: at(21) }, at(21)).next;
    assert_eq!(left.stop_state(), Some(CancelState::Asked), "the notice left; the server said nothing");
    assert_eq!(left.deliver_at(), None, "and it is not sent again");
}

#[test]
fn only_a_cancel_that_was_sent_of_a_task_counts_as_one_that_its_server_can_obey() {
    let asked = working().cancel(ann(), None, at(20)).expect("it runs").next;
    assert_eq!(asked.sent_cancel(), None, "its server has not heard of it");
    let ended = asked.observe(&completed(30), &policy()).next;
    assert_eq!(ended.sent_cancel(), None, "and never will");
    let sent = asked.cancel_step(&Delivery::Sent { at: at(21), attempts: 1 }, at(21)).next;
    assert_eq!(sent.sent_cancel(), Some(SentCancel::OfTask(CancelState::Asked)));
    let finished = sent.observe(&completed(30), &policy()).next;
    assert_eq!(finished.sent_cancel(), Some(SentCancel::OfTask(CancelState::FinishedAnyway)));
    let call = awaiting().cancel(ann(), None, at(20)).expect("it runs").next;
    let told = call.cancel_step(&Delivery::Acknowledged { at: at(21) }, at(21)).next;
    assert_eq!((call.sent_cancel(), told.sent_cancel()), (None, Some(SentCancel::OfCall)), "MCP has no reply to it");
}

#[test]
fn a_server_finished_in_spite_of_a_cancel_only_if_it_is_known_to() {
    let sent = |handle: &TaskHandle, delivered: Delivery| {
        handle.cancel(ann(), None, at(20)).expect("it runs").next.cancel_step(&delivered, at(21)).next
    };
    let task = sent(&working(), Delivery::Sent { at: at(21), attempts: 1 });
    assert!(!task.finished_in_spite_of_cancel(), "it is open");
    assert!(task.observe(&completed(30), &policy()).next.finished_in_spite_of_cancel());
    let obeyed = task.observe(&sight(TaskStatus::Cancelled, 30), &policy()).next;
    assert!(!obeyed.finished_in_spite_of_cancel());
    let unheard = working().cancel(ann(), None, at(20)).expect("it runs").next.observe(&completed(30), &policy()).next;
    assert!(!unheard.finished_in_spite_of_cancel(), "its server was never asked");

    let call = sent(&awaiting(), Delivery::Acknowledged { at: at(21) });
    let late = call.ticked(at(20).plus(policy().cancel_grace), &policy()).next;
    assert!(!late.finished_in_spite_of_cancel(), "a server that obeys sends no reply");
    assert!(!call.call_cancelled(at(60_000)).next.finished_in_spite_of_cancel(), "nor does one that is given up");
    let replied = |reply: CallReply| call.replied(&reply, &home(), at(30), &policy()).next;
    let result = |is_error| CallReply::Result { payload: Payload::new("{}"), is_error };
    assert!(replied(result(false)).finished_in_spite_of_cancel(), "its result came all the same");
    assert!(!replied(result(true)).finished_in_spite_of_cancel(), "an error may be how it stopped");
}

#[test]
fn a_cancel_that_is_not_confirmed_is_asked_again_and_counts_from_then() {
    let asked = working().cancel(ann(), Some("wrong month"), at(20)).expect("it runs").next;
    let sent = asked.cancel_step(&Delivery::Sent { at: at(21), attempts: 1 }, at(21)).next;
    for unconfirmed in [
        sent.clone(),
        sent.cancel_step(&Delivery::Acknowledged { at: at(22) }, at(22)).next,
        sent.cancel_step(&Delivery::Refused { at: at(22), why: "busy".into() }, at(22)).next,
    ] {
        let again = unconfirmed.cancel_again(ben(), at(60)).expect("it is not over");
        assert!(again.effects.contains(&Effect::Deliver) && again.next.is_cancel_due(), "it leaves at once");
        let request = again.next.cancel_request().expect("a request");
        assert_eq!((request.at, &request.by, request.sent), (at(60), &ben().into(), None));
        assert_eq!(request.reason.as_deref(), Some("wrong month"), "the reason is that of the first");
        let notes: Vec<&str> = again.audit.iter().map(|fact| fact.note.as_str()).collect();
        assert_eq!(notes, ["asked again"]);
    }
    let call = awaiting().cancel(ann(), None, at(20)).expect("it runs").next;
    let told = call.cancel_step(&Delivery::Acknowledged { at: at(21) }, at(21)).next;
    let refused = Refusal::AlreadyAsked { by: ann().into(), at: at(20) };
    assert_eq!(told.cancel_again(ben(), at(60)), Err(refused), "a call is told once: its request was given up");
    let over = sent.observe(&sight(TaskStatus::Cancelled, 30), &policy()).next;
    assert_eq!(over.cancel_again(ben(), at(60)), Err(Refusal::AlreadyOver("cancelled")), "it ended");
}

#[test]
fn a_cancel_is_not_confirmed_only_when_nothing_was_heard_of_it_for_the_time() {
    let within = Duration::from_secs(30);
    let states = |task: &TaskHandle, now| (task.halted_state(now, within), task.bulk_result(now, within));
    let unconfirmed = (HaltedTaskState::NotConfirmed, BulkResult::NotConfirmed);
    let asked = working().cancel(ann(), None, at(20)).expect("it runs").next;
    let over = at(20).plus(within);
    assert_eq!(states(&asked, over), unconfirmed, "it never left");
    let left = at(20).plus(within / 2);
    let sent = asked.cancel_step(&Delivery::Sent { at: left, attempts: 1 }, left).next;
    let waits = (HaltedTaskState::Requested, BulkResult::Asked);
    assert_eq!(states(&sent, over), waits, "the queue was long, and the server has its time");
    assert_eq!(states(&sent, left.plus(within)), unconfirmed, "the server says nothing");
    let acknowledged = sent.cancel_step(&Delivery::Acknowledged { at: over }, over).next;
    let heard = (HaltedTaskState::Acknowledged, BulkResult::Acknowledged);
    assert_eq!(states(&acknowledged, left.plus(within)), heard, "it said something");
    assert_eq!(states(&acknowledged, over.plus(within)), unconfirmed, "it only acknowledged");
}
