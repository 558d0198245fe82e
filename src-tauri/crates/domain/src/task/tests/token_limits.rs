//! Limits of tokens: results that are held or go in slices, tasks that go past what they may, and what agents see of
//! it.

use super::*;
use crate::rule::{LimitAction, TokenLimit};
use crate::task::status::{Intent, Phase};
use crate::task::{
    AgentFailure, AgentView, Attention, Effect, HoldReason, HoldVerdict, OverLimit, OwnFailure, Refusal, ResultForm,
    ResultHold, agent_failure, agent_view,
};
use crate::tokens::{Exactness, Family, TaskTokens};

const LARGE: HoldReason = HoldReason::TooLarge { tokens: 61_402, limit: 20_000 };

fn done() -> TaskHandle {
    counted(&given(Audience::People), Family::O200k).observe(&completed(20), &policy()).next
}

fn counted(task: &TaskHandle, family: Family) -> TaskHandle {
    task.counted(TaskTokens { exactness: family.exactness(), ..TaskTokens::new(family) }).next
}

fn limit(at: LimitAction) -> TokenLimit {
    TokenLimit { tokens: 60_000, at }
}

#[test]
fn a_result_over_its_limit_waits_for_a_person_when_the_limit_asks() {
    let step = done().hold_at_limit(LARGE, false, at(20));
    assert_eq!(verbs(&step), [Verb::ResultHeld]);
    let notes: Vec<&str> = step.audit.iter().map(|event| event.note.as_str()).collect();
    assert_eq!(notes, ["61,402 tokens (GPT o200k, exact), the limit is 20,000"], "whose tokens, in the audit too");
    assert!(step.effects.contains(&Effect::Tell(Attention::Waiting)), "people are told");
    assert!(step.next.is_held() && step.next.form().is_none(), "nobody decided yet");
    let said =
        "The result has 61,402 tokens (GPT o200k, exact), more than the 20,000 that are allowed; a person decides.";
    assert_eq!(agent_view(&step.next, at(20)), AgentView::Working { message: Some(said.into()) }, "it is told why");
    let estimated = counted(&step.next, Family::Claude47);
    let AgentView::Working { message: Some(said) } = agent_view(&estimated, at(20)) else { panic!("it is held") };
    let size = "has about 61,402 tokens (Claude 4.7 and later, estimated), more";
    assert!(said.contains(size), "an estimate is told as one: {said}");
    let pictured = TaskTokens { exactness: Exactness::About, ..TaskTokens::new(Family::O200k) };
    let AgentView::Working { message: Some(said) } = agent_view(&step.next.counted(pictured).next, at(20)) else {
        panic!("it is held")
    };
    let size = "has about 61,402 tokens (GPT o200k, estimated), more";
    assert!(said.contains(size), "and so is one with pictures, whose text is counted exactly: {said}");
    let trimmed =
        step.next.release(&ann(), Some(ResultForm::Trimmed { tokens: 900 }), None, at(30)).expect("it is held").next;
    assert_eq!(trimmed.form(), Some(ResultForm::Trimmed { tokens: 900 }), "in the form that the person chose");
    assert_eq!(agent_view(&trimmed, at(30)), AgentView::Completed);
    let refused = step.next.release(&ann(), None, Some("too much"), at(30)).expect("it is held").next;
    assert_eq!((refused.form(), agent_view(&refused, at(30))), (None, AgentView::Failed), "or not at all");
    let failure = Some(AgentFailure::Ours(OwnFailure::Withheld { reason: Some("too much".to_owned()) }));
    assert_eq!(agent_failure(&refused, at(30)), failure, "in the person's words");
}

#[test]
fn a_result_that_goes_in_slices_is_complete_and_a_person_can_still_decide_otherwise() {
    let step = done().hold_at_limit(LARGE, true, at(20));
    assert!(!step.effects.contains(&Effect::Tell(Attention::Waiting)), "nobody is asked");
    let sliced = step.next;
    assert!(!sliced.is_held() && sliced.is_sliced_by_limit());
    assert_eq!((sliced.form(), agent_view(&sliced, at(20))), (Some(ResultForm::Slices), AgentView::Completed));
    assert_eq!(sliced.hold(ann(), at(25)).map(|_| ()), Err(Refusal::AlreadyHeld), "it cannot be held twice");
    let whole = sliced.release(&ann(), Some(ResultForm::Whole), None, at(30)).expect("a person overrides the limit");
    assert_eq!(verbs(&whole), [Verb::ResultReleased]);
    assert_eq!((whole.next.form(), agent_view(&whole.next, at(30))), (Some(ResultForm::Whole), AgentView::Completed));
    let again = whole.next.release(&ben(), None, None, at(40)).map(|_| ());
    assert_eq!(again, Err(Refusal::AlreadyDecided { by: ann(), at: at(30) }), "once");
}

#[test]
fn what_is_withheld_after_slices_stays_complete_for_its_agent_with_nothing_to_read() {
    let sliced = done().hold_at_limit(LARGE, true, at(20)).next;
    let withheld = sliced.release(&ann(), None, Some("names a customer"), at(30)).expect("after all").next;
    assert_eq!(
        agent_view(&withheld, at(30)),
        AgentView::Completed,
        "an end that was shown never changes (statement 69)"
    );
    assert_eq!(withheld.form(), None, "but it gets nothing more");
    assert!(matches!(withheld.hold, Some(ResultHold { verdict: Some(HoldVerdict::Withhold { shown: true, .. }), .. })));
}

#[test]
fn a_limit_holds_only_what_an_agent_waits_for_and_nobody_held_before() {
    let of_person = working().observe(&completed(20), &policy()).next;
    assert!(!of_person.hold_at_limit(LARGE, false, at(20)).changed, "people read results whole");
    let held = given(Audience::People).hold(ann(), at(15)).expect("open").next;
    let ended = held.observe(&completed(20), &policy()).next;
    let step = ended.hold_at_limit(LARGE, true, at(20));
    assert!(!step.changed && step.next.is_held(), "a person's hold stands");
    let twice = done().hold_at_limit(LARGE, true, at(20)).next.hold_at_limit(LARGE, false, at(21));
    assert!(!twice.changed, "what was decided stays");
    let full = HoldReason::DoesNotFit { tokens: 900, free: 100 };
    let said = "The result has 900 tokens (GPT o200k, exact), and 100 are free in the window; a person decides.";
    let message = AgentView::Working { message: Some(said.into()) };
    assert_eq!(agent_view(&done().hold_at_limit(full, false, at(20)).next, at(20)), message);
    assert_eq!((HoldReason::Review.tokens(), full.tokens()), (None, Some(900)));
}

#[test]
fn nobody_is_asked_about_a_result_that_no_agent_gets() {
    let given = given(Audience::People);
    let mut cancelled = given.clone();
    cancelled.cancelled_for_agent = Some(at(15));
    let mut failed = given.clone();
    failed.failed_for_agent = Some("the reply was lost".into());
    let revoked = given.revoke(ann(), None, at(15)).expect("open").next;
    for (task, what) in [(cancelled, "cancelled for it"), (failed, "failed for it"), (revoked, "taken from it")] {
        let ended = task.observe(&completed(20), &policy()).next;
        for in_slices in [false, true] {
            assert!(!ended.hold_at_limit(LARGE, in_slices, at(20)).changed, "{what}: its agent does not get it");
        }
    }
}

#[test]
fn what_was_delivered_before_there_was_a_result_still_meets_its_limit() {
    let early = |form| {
        let held = given(Audience::People).hold(ann(), at(12)).expect("open").next;
        held.release(&ann(), Some(form), None, at(15)).expect("it is held").next.observe(&completed(20), &policy()).next
    };
    let asked = early(ResultForm::Whole).hold_at_limit(LARGE, false, at(20));
    assert!(asked.next.is_held(), "nobody had seen its size");
    assert!(asked.effects.contains(&Effect::Tell(Attention::Waiting)), "a person decides again");
    assert_eq!(early(ResultForm::Whole).hold_at_limit(LARGE, true, at(20)).next.form(), Some(ResultForm::Slices));
    let whole = asked.next.release(&ben(), Some(ResultForm::Whole), None, at(30)).expect("it is held").next;
    assert_eq!(whole.form(), Some(ResultForm::Whole), "who saw its size decides");
    assert!(!whole.hold_at_limit(LARGE, false, at(40)).changed, "for good");
    for form in [ResultForm::Slices, ResultForm::Trimmed { tokens: 900 }] {
        assert!(!early(form).hold_at_limit(LARGE, false, at(20)).changed, "it does not come whole: {form:?}");
    }
}

#[test]
fn a_task_past_its_limit_is_told_of_once_and_goes_on() {
    let step = given(Audience::People).exceed_limit(60_001, limit(LimitAction::Warn), at(20));
    assert_eq!(verbs(&step), [Verb::OverLimit]);
    assert!(step.effects.contains(&Effect::Tell(Attention::Problem)));
    let over = OverLimit { tokens: 60_001, limit: limit(LimitAction::Warn), at: at(20), settled: None };
    assert_eq!(step.next.over_limit, Some(over));
    assert_eq!((step.next.intent.clone(), step.next.asks_to_go_on()), (Intent::None, false), "nothing is asked");
    assert!(!step.next.exceed_limit(70_000, limit(LimitAction::Stop), at(30)).changed, "it is noticed once");
    assert_eq!(step.next.let_go_on(&ann(), at(30)).map(|_| ()), Err(Refusal::NotAskedToGoOn));
    for at_limit in [LimitAction::Warn, LimitAction::Ask, LimitAction::Stop] {
        let late = done().exceed_limit(60_001, limit(at_limit), at(30));
        let told = [Effect::Tell(Attention::Problem)];
        assert_eq!(late.effects, told, "people learn of one that is over, too: {at_limit:?}");
        assert_eq!(
            (late.next.asks_to_go_on(), &late.next.intent),
            (false, &Intent::None),
            "there is nothing to decide"
        );
        assert_eq!(late.next.over_limit.map(|over| over.tokens), Some(60_001), "and it stays with the task");
    }
}

#[test]
fn a_person_lets_a_task_go_on_past_its_limit_or_stops_it() {
    let step = given(Audience::People).exceed_limit(60_001, limit(LimitAction::Ask), at(20));
    assert!(step.effects.contains(&Effect::Tell(Attention::Waiting)), "somebody is asked");
    assert!(step.next.asks_to_go_on());
    let on = step.next.let_go_on(&ann(), at(30)).expect("it asks");
    assert_eq!(verbs(&on), [Verb::LimitLifted]);
    assert!(!on.next.asks_to_go_on(), "it is settled");
    let again = on.next.let_go_on(&ben(), at(40)).map(|_| ());
    assert_eq!(again, Err(Refusal::AlreadyDecided { by: ann(), at: at(30) }), "a second person learns who was first");
    let stopped = step.next.cancel(ann(), None, at(30)).expect("open").next;
    assert!(!stopped.asks_to_go_on(), "a stop is an answer");
    let ended = step.next.observe(&completed(40), &policy()).next;
    assert!(!ended.asks_to_go_on(), "what is over asks nothing");
    assert_eq!(ended.let_go_on(&ann(), at(50)).map(|_| ()), Err(Refusal::NotAskedToGoOn));
}

#[test]
fn a_limit_that_stops_asks_like_anybody_and_says_why() {
    let step = given(Audience::People).exceed_limit(60_001, limit(LimitAction::Stop), at(20));
    assert_eq!(verbs(&step), [Verb::CancelBegun, Verb::OverLimit]);
    let Intent::Cancel(cancel_request) = &step.next.intent else {
        panic!("it is asked to stop: {:?}", step.next.intent)
    };
    assert_eq!(cancel_request.by, crate::task::decider::Decider::Limit(crate::rule::LimitKind::Tokens));
    assert_eq!(step.audit.first().map(|event| event.actor.clone()), Some(Actor::System("budget")));
    assert_eq!(step.next.cancelled_by_limit(), Some("60,001 tokens, the limit is 60,000"));
    let said = "A limit stops this task: 60,001 tokens, the limit is 60,000.";
    assert_eq!(agent_view(&step.next, at(20)), AgentView::Working { message: Some(said.into()) }, "the agent reads it");
    let estimated = counted(&given(Audience::People), Family::Claude47);
    let why =
        estimated.exceed_limit(60_001, limit(LimitAction::Stop), at(20)).next.cancelled_by_limit().map(str::to_owned);
    let said = "about 60,001 tokens (Claude 4.7 and later, estimated), the limit is 60,000";
    assert_eq!(why.as_deref(), Some(said), "an estimate is told as one");
    let cancelled = step.next.observe(&sight(TaskStatus::Cancelled, 30), &policy()).next;
    assert_eq!((cancelled.phase(at(30)), agent_view(&cancelled, at(30))), (Phase::Cancelled, AgentView::Cancelled));
    assert!(cancelled.cancelled_by_limit().is_some(), "and can still be told why");
    let by_person = given(Audience::People).cancel(ann(), Some("enough"), at(20)).expect("open").next;
    assert_eq!(by_person.cancelled_by_limit(), None, "a person's stop is no limit's");
    let both = by_person.exceed_limit(60_001, limit(LimitAction::Stop), at(25));
    assert!(both.changed && both.next.cancelled_by_limit().is_none(), "who asked first stays");
}

#[test]
fn counting_is_no_news_of_the_task() {
    let task = given(Audience::People);
    let tokens = TaskTokens { interim: 9, ..TaskTokens::new(Family::O200k) };
    let step = task.counted(tokens);
    assert!(step.changed && step.audit.is_empty() && step.effects.is_empty(), "committed, and told to nobody");
    assert_eq!((step.next.changed, step.next.ended), (task.changed, task.ended), "the agent's stamps stay");
    assert!(!step.next.counted(tokens).changed, "the same figures are not committed again");
}
