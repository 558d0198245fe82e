//! What passes between a task and its agent: the handle, the reply, the hold, and whether the agent is there.

use super::*;
use crate::task::status::{Intent, Phase};
use crate::task::{
    AgentView, Attention, Effect, HoldReason, HoldVerdict, OwnFailure, Refusal, ResultForm, ResultHold, agent_view,
};

fn wait_for_reply() -> TaskHandle {
    agents_call(Audience::People)
}

#[test]
fn a_given_handle_is_on_record_once_and_makes_a_call_in_flight_a_task_of_our_own() {
    let step = wait_for_reply().give(at(20));
    assert_eq!(step.next.given, Some(at(20)), "when the agent got it");
    assert!(matches!(step.next.view, ServerView::OwnCall { .. }), "the agent has a task: {:?}", step.next.view);
    assert_eq!(verbs(&step), [Verb::Given]);
    let again = step.next.give(at(30));
    assert!(!again.changed, "it is given once");
    let persons = awaiting().give(at(20));
    assert!(!persons.changed && persons.next.given.is_none(), "a person's call is given to nobody");
}

#[test]
fn a_reply_that_was_not_delivered_may_be_joined_until_it_is() {
    let lost = wait_for_reply().undeliver(at(20));
    assert!(lost.changed && lost.next.is_undelivered(), "the agent hung up");
    assert!(!lost.next.undeliver(at(25)).changed, "once is enough");
    assert!(!lost.next.delivered(at(30)).next.is_undelivered(), "it joined and got its reply");
    assert!(!lost.next.give(at(30)).next.is_undelivered(), "it joined and got the handle");
    let revoked = lost.next.revoke(ann(), None, at(30)).expect("it goes on").next;
    assert!(!revoked.is_undelivered(), "what was taken away is not joined");
    assert!(!awaiting().undeliver(at(20)).changed, "a person's call has no agent to miss");
}

#[test]
fn a_gone_agent_orphans_what_it_waits_for_until_it_is_back() {
    assert!(!wait_for_reply().agent_gone(at(20)).changed, "a call in work ends with its connection");
    let gone = given(Audience::People).agent_gone(at(20));
    assert!(gone.next.is_orphaned(), "its task goes on alone");
    assert_eq!(verbs(&gone), [Verb::Orphaned]);
    assert!(!gone.next.agent_gone(at(30)).changed, "told once");
    let back = gone.next.agent_back(at(30));
    assert!(back.changed && !back.next.is_orphaned(), "it is seen again");
    assert!(!back.next.agent_back(at(40)).changed);
    let ended = gone.next.observe(&completed(40), &policy()).next;
    assert!(!ended.is_orphaned(), "what is over needs no agent");
    assert!(!ended.agent_gone(at(50)).changed);
}

#[test]
fn people_are_asked_what_a_gone_agent_was_asked() {
    let asked = given(Audience::Agent).observe(&listing(&["a"], 20), &policy()).next;
    assert!(!asked.has_request_for_people(at(21)), "the agent is there");
    let gone = asked.agent_gone(at(30));
    assert!(gone.next.has_request_for_people(at(30)), "nobody else is left to ask");
    assert!(gone.effects.contains(&Effect::Tell(Attention::Waiting)), "and they are told");
    assert_eq!(gone.next.phase(at(30)), Phase::Waiting);
    let answer = gone.next.answer(accept(Some("a")), at(31));
    assert!(answer.is_ok(), "a person may answer: {:?}", answer.err());
}

#[test]
fn what_an_agent_was_told_is_cancelled_stays_so_though_the_server_goes_on() {
    let told = given(Audience::People).agent_told_cancelled(at(20)).next;
    assert_eq!(agent_view(&told, at(20)), AgentView::Cancelled, "the 2025 dialect says so at once");
    let done = told.observe(&completed(40), &policy()).next;
    assert_eq!(agent_view(&done, at(40)), AgentView::Cancelled, "whatever the server did");
    assert_eq!(done.phase(at(40)), Phase::Done, "people see what became of it");
    let late = given(Audience::People).observe(&completed(15), &policy()).next.agent_told_cancelled(at(20));
    assert!(!late.changed, "an end that was shown is not declared cancelled");
}

#[test]
fn a_held_result_waits_for_a_person_who_decides_once() {
    let call = NewCall { agent: Some(AGENT), hold: true, ..new_call() };
    let done =
        with_task(&TaskHandle::admit(call, at(0)).next).give(at(11)).next.observe(&completed(20), &policy()).next;
    assert!(done.is_held(), "a rule holds it back");
    let checking = AgentView::Working { message: Some("A person is checking the result.".into()) };
    assert_eq!(agent_view(&done, at(20)), checking, "the agent is told why");
    let delivered = done.release(&ann(), Some(ResultForm::Whole), None, at(30)).expect("it is held");
    assert_eq!(verbs(&delivered), [Verb::ResultReleased]);
    assert_eq!(agent_view(&delivered.next, at(30)), AgentView::Completed, "now it has it");
    assert!(!delivered.next.is_held());
    let again = delivered.next.release(&ben(), None, None, at(40)).map(|_| ());
    assert_eq!(again, Err(Refusal::AlreadyDecided { by: ann(), at: at(30) }), "it cannot be taken back");
}

#[test]
fn a_withheld_result_fails_for_its_agent_with_the_persons_words() {
    let held = given(Audience::People).hold(ann(), at(15)).expect("it goes on");
    assert_eq!(verbs(&held), [Verb::ResultHeld]);
    assert_eq!(
        held.next.hold,
        Some(ResultHold { by: Some(ann()), at: at(15), why: HoldReason::Review, verdict: None })
    );
    let early = held.next.release(&ann(), None, Some("wrong folder"), at(18)).expect("before the end, too").next;
    assert!(!agent_view(&early, at(18)).is_terminal(), "the task goes on until it ends");
    let done = early.observe(&completed(20), &policy()).next;
    assert_eq!(agent_view(&done, at(20)), AgentView::Failed);
    let failure = crate::task::agent_failure(&done, at(20)).expect("it failed for its agent");
    let withheld = OwnFailure::Withheld { reason: Some("wrong folder".to_owned()) };
    assert_eq!(failure, crate::task::AgentFailure::Ours(withheld));
    assert!(
        matches!(done.hold, Some(ResultHold { verdict: Some(HoldVerdict::Withhold { .. }), .. })),
        "the record says who"
    );
    assert_eq!(done.phase(at(20)), Phase::Done, "the result itself is whole");
}

#[test]
fn a_hold_comes_before_the_end_and_only_where_an_agent_waits() {
    assert_eq!(working().hold(ann(), at(20)).map(|_| ()), Err(Refusal::NotHeld), "nobody waits for it");
    let done = given(Audience::People).observe(&completed(20), &policy()).next;
    assert!(matches!(done.hold(ann(), at(21)), Err(Refusal::AlreadyOver(_))), "the agent may have it by now");
    let held = given(Audience::People).hold(ann(), at(15)).expect("open").next;
    assert_eq!(held.hold(ben(), at(16)).map(|_| ()), Err(Refusal::AlreadyHeld));
    let gone = held.revoke(ann(), None, at(17)).expect("open").next;
    assert!(!gone.is_held(), "a handle that was taken away holds nothing");
    assert_eq!(gone.release(&ann(), Some(ResultForm::Whole), None, at(18)).map(|_| ()), Err(Refusal::NotHeld));
    let cancelled = Observation { payload: None, ..sight(TaskStatus::Cancelled, 20) };
    let stopped = held.observe(&cancelled, &policy()).next;
    assert!(!stopped.is_held(), "there is no result to check");
    assert_eq!(agent_view(&stopped, at(20)), AgentView::Cancelled);
}

#[test]
fn an_agent_asks_for_a_stop_in_its_own_name() {
    let step = given(Audience::People).cancel(AGENT, Some("not needed"), at(20)).expect("open");
    assert_eq!(step.audit.first().map(|event| event.actor.clone()), Some(Actor::Agent(AGENT)));
    assert!(matches!(&step.next.intent, Intent::Cancel(cancel_request) if cancel_request.by == AGENT.into()));
    let second = step.next.cancel(ann(), None, at(21)).map(|_| ());
    assert_eq!(second, Err(Refusal::AlreadyAsked { by: AGENT.into(), at: at(20) }), "a person learns who was first");
}

#[test]
fn the_task_object_is_kept_for_an_agent_with_what_changed_and_never_alone() {
    let raw = |seen: Observation| Observation { task_raw: Some(Payload::new("{\"taskId\":\"t\"}")), ..seen };
    let kept = |step: &Transition| step.payloads.iter().any(|write| write.kind == PayloadKind::Task);
    let said = |millis| raw(Observation { message: Some("half".into()), ..sight(TaskStatus::Working, millis) });
    let first = given(Audience::People).observe(&said(20), &policy());
    assert!(kept(&first), "what the agent sees of it changed");
    let later = Observation { updated: Some(at(30)), ..said(30) };
    assert!(!first.next.observe(&later, &policy()).changed, "a newer stamp alone is not worth a commit");
    assert!(!kept(&working().observe(&said(20), &policy())), "people do not need it");
    let mut small = policy();
    small.gateway.task_raw_cap_bytes = 3;
    assert!(!kept(&given(Audience::People).observe(&said(20), &small)), "beyond its cap it is left out");
}

#[test]
fn who_answered_second_is_told_once_in_the_log_and_the_first_answer_stays() {
    let asked = given(Audience::Both).observe(&listing(&["a"], 20), &policy()).next;
    let key = RequestKey::new("a");
    let answer = |by: crate::task::decider::Decider| AnswerInput {
        key: Some(key.clone()),
        action: AnswerAction::Dismiss,
        content: None,
        by,
        not_before: None,
    };
    let (first, _) = asked.answer(answer(ann().into()), at(21)).expect("open");
    assert!(!asked.answered_late(&key, &AGENT.into(), at(22)).changed, "nobody is late for an open question");
    let late = first.next.answered_late(&key, &AGENT.into(), at(22));
    assert_eq!(late.next.requests, first.next.requests, "the first answer stays");
    let told: Vec<&str> = late.log.iter().map(|line| line.text.as_str()).collect();
    assert_eq!(told, ["An answer of the agent came too late: ann was first."]);
    assert!(!late.next.answered_late(&key, &AGENT.into(), at(23)).changed, "once, or an agent could fill the log");
    assert!(!first.next.answered_late(&key, &ann().into(), at(22)).changed, "who was first is not second");
    let only_people = given(Audience::People).observe(&listing(&["a"], 20), &policy()).next;
    let (first, _) = only_people.answer(answer(ann().into()), at(21)).expect("open");
    assert!(!first.next.answered_late(&key, &AGENT.into(), at(22)).changed, "who is not asked writes nothing");
}
