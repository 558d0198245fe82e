//! What people settle by themselves, when things ended, and what is kept for them to read.

use super::*;
use crate::raw_message::{Direction, RawText};
use crate::task::Refusal;
use crate::task::status::{CancelRequest, Delivery, GoneWhy, Intent, Phase};

fn said(step: &Transition) -> Vec<(Direction, &str, &str)> {
    step.raw.iter().map(|raw| (raw.direction, raw.about.as_str(), raw.body.as_str())).collect()
}

#[test]
fn what_is_lost_or_unconfirmed_can_be_marked_as_resolved_and_old_news_does_not_bring_it_back() {
    let lost = working().gone(&GoneWhy::Unknown, at(20)).next;
    let unconfirmed = awaiting().reply_lost("it hung up", at(20)).next;
    for (before, was) in [(lost, Phase::Lost), (unconfirmed, Phase::Unconfirmed)] {
        assert_eq!(before.phase(at(20)), was);
        let step = before.unwatch(&ann(), Some("seen in its log"), at(30)).expect("a person may settle it");
        assert_eq!(step.next.phase(at(30)), Phase::Unwatched, "{was:?} is settled");
        assert_eq!(verbs(&step), [Verb::Unwatched], "and who settled it is on record");
        assert_eq!(step.audit[0].note, "seen in its log", "with the reason");
        let again = step.next.observe(&listing(&["a"], 40), &policy()).next;
        assert_eq!(again.phase(at(40)), Phase::Unwatched, "news that is no end changes nothing");
        assert!(step.next.unwatch(&ann(), None, at(41)).is_err(), "it is settled once");
    }
}

#[test]
fn a_lost_task_that_was_taken_from_its_agent_is_resolved_and_stays_taken() {
    let revoked = working().revoke(ben(), None, at(15)).expect("it runs").next;
    let lost = revoked.gone(&GoneWhy::Unknown, at(20)).next;
    let settled = lost.unwatch(&ann(), None, at(30)).expect("it is lost").next;
    assert_eq!(settled.phase(at(30)), Phase::Unwatched, "a person has settled it");
    assert!(matches!(settled.intent, Intent::Revoked(_)), "its agent gets it back by no means");
    let lost = working().gone(&GoneWhy::Unknown, at(20)).next;
    let resolved = lost.unwatch(&ann(), None, at(30)).expect("it is lost").next;
    let revoked = resolved.revoke(ben(), None, at(40)).expect("not revoked yet").next;
    assert_eq!(revoked.phase(at(40)), Phase::Unwatched, "in the other order, too");
    assert!(!revoked.is_cancel_due(), "nothing is asked of a server that does not know it");
}

#[test]
fn how_a_server_said_that_a_task_ended_is_not_settled_otherwise() {
    let done = working().observe(&completed(20), &policy()).next;
    assert_eq!(done.unwatch(&ann(), None, at(30)), Err(Refusal::AlreadyOver("done")));
}

#[test]
fn the_end_of_a_task_is_known_whatever_changes_later() {
    let running = working();
    assert_eq!(running.ended_at(), None, "it goes on");
    let done = running.observe(&completed(20), &policy()).next;
    assert_eq!(done.ended_at(), Some(at(20)));
    let revoked = done.revoke(ann(), None, at(50)).expect("not revoked yet").next;
    assert_eq!((revoked.changed, revoked.ended_at()), (at(50), Some(at(20))), "a later wish moves no end");
    let lost = running.gone(&GoneWhy::Unknown, at(20)).next;
    let back = lost.observe(&sight(TaskStatus::Working, 60), &policy()).next;
    assert_eq!((lost.ended_at(), back.ended_at()), (Some(at(20)), None), "one that is heard of again goes on");
}

#[test]
fn when_a_stop_was_sent_is_known_after_it_was_acknowledged() {
    let asked = working().cancel(ann(), None, at(20)).expect("it runs").next;
    let once = asked.cancel_step(&Delivery::Sent { at: at(21), attempts: 1 }, at(21)).next;
    let twice = once.cancel_step(&Delivery::Sent { at: at(25), attempts: 1 }, at(25)).next;
    let heard = twice.cancel_step(&Delivery::Acknowledged { at: at(26) }, at(26)).next;
    let Intent::Cancel(cancel_request) = &heard.intent else { panic!("a cancel stays one: {:?}", heard.intent) };
    let cancel_request: &CancelRequest = cancel_request;
    assert_eq!(
        (cancel_request.sent, cancel_request.acknowledged_at()),
        (Some(at(21)), Some(at(26))),
        "the first sending counts"
    );
}

#[test]
fn the_message_that_opens_or_closes_a_question_is_kept_and_one_that_repeats_it_is_not() {
    let raw = |text: &str| Some(RawText::of(text, &policy()));
    let asked = working().observe(&Observation { raw: raw("[a]"), ..listing(&["a"], 20) }, &policy());
    assert_eq!(said(&asked), [(Direction::FromServer, "tasks/get", "[a]")], "a new question");
    let same = asked.next.observe(&Observation { raw: raw("[a]"), ..listing(&["a"], 30) }, &policy());
    assert_eq!((said(&same), same.changed), (vec![], false), "the same question again");
    let other = asked.next.observe(&Observation { raw: raw("[b]"), ..listing(&["b"], 40) }, &policy());
    assert_eq!(said(&other), [(Direction::FromServer, "tasks/get", "[b]")], "another in its place");
    let live = LiveQuestion { raw: raw("{live}"), ..live(1, "7", "d") };
    let (step, _) = working().asked(&live, at(20), &policy());
    assert_eq!(said(&step), [(Direction::FromServer, "elicitation/create", "{live}")], "a live question");
}

#[test]
fn an_answer_is_kept_as_it_leaves_once_and_never_the_body_of_a_secret() {
    let text = RawText::of("{\"folder\":\"/tmp\"}", &policy());
    for (ask, body, cut) in [(form(), "{\"folder\":\"/tmp\"}", false), (secret_form(), "", true)] {
        let outstanding = Some([(key("a"), ask)].into());
        let seen = Observation { outstanding, ..sight(TaskStatus::InputRequired, 20) };
        let asked = working().observe(&seen, &policy()).next;
        let (answered, _) = asked.answer(accept(Some("a")), at(30)).expect("it is asked");
        let left = answered.next.answers_left(&[key("a")], &text, at(31));
        assert_eq!(said(&left), [(Direction::ToServer, "tasks/update", body)]);
        assert_eq!((left.raw[0].cut, left.raw[0].bytes), (cut, 17), "its size is told");
        let sent = left.next.answer_step(&key("a"), &Delivery::Sent { at: at(31), attempts: 1 }, at(31)).next;
        let again = sent.answers_left(&[key("a")], &text, at(40));
        assert_eq!(said(&again), vec![], "sending again is not another message to read");
    }
    let unknown = working().answers_left(&[key("x")], &text, at(31));
    assert_eq!(said(&unknown), vec![], "an answer to nothing is not kept");
}

#[test]
fn errors_about_a_task_are_kept_as_they_came() {
    let payload = Payload::new("{\"code\":-32603,\"message\":\"broken\",\"data\":1}");
    let failed = Observation { payload: Some(payload.clone()), ..sight(TaskStatus::Failed(Some(rpc_error())), 20) };
    let step = working().observe(&failed, &policy());
    assert_eq!(said(&step), [(Direction::FromServer, "tasks/get", payload.as_str())], "the end of a task");
    let reply = CallReply::Error { error: rpc_error(), payload: payload.clone() };
    let step = awaiting().replied(&reply, &home(), at(20), &policy());
    assert_eq!(said(&step), [(Direction::FromServer, "tools/call", payload.as_str())], "the reply to a call");
    let step = working().error_heard("tasks/update", &rpc_error(), at(20), &policy());
    assert_eq!(said(&step), [(Direction::FromServer, "tasks/update", "{\"code\":-32603,\"message\":\"broken\"}")]);
    assert!(step.raw[0].cut && step.changed, "what was not kept of it is told");
}
