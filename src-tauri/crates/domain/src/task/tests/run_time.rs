//! Limits of time: what counts, what happens at one, and what people decide about it.

use super::*;
use crate::rule::{LimitKind, RuleLevel, RuleSource, RunAction, RunLimit, SetRunLimit};
use crate::task::decider::Decider;
use crate::task::observation::Progress;
use crate::task::status::{Intent, Phase};
use crate::task::{Attention, Effect, MoreTime, QuestionRef, Refusal, TaskRunLimit};

const SECOND: Duration = Duration::from_secs(1);

fn one_second(action: RunAction) -> TaskRunLimit {
    let rule = RuleSource { level: RuleLevel::Tool, version: 3 };
    TaskRunLimit::new(SetRunLimit { limit: RunLimit { allowed: SECOND, action }, rule }, at(0))
}

/// A task that may run for a second, from 0 ms.
fn timed(action: RunAction) -> TaskHandle {
    let run_limits = TaskRunLimits { time: Some(one_second(action)), progress: None };
    with_task(&TaskHandle::admit(NewCall { run_limits, ..new_call() }, at(0)).next)
}

/// A task that may run for a second without progress.
fn stalling(action: RunAction) -> TaskHandle {
    let run_limits = TaskRunLimits { time: None, progress: Some(one_second(action)) };
    with_task(&TaskHandle::admit(NewCall { run_limits, ..new_call() }, at(0)).next)
}

fn tick(handle: &TaskHandle, millis: i64) -> Transition {
    handle.ticked(at(millis), &policy())
}

#[test]
fn what_happens_at_a_time_limit_is_what_the_rule_says() {
    for (action, attention, phase, asks) in [
        (RunAction::Warn, Attention::Problem, Phase::Running, false),
        (RunAction::Ask, Attention::Waiting, Phase::Running, true),
        (RunAction::Cancel, Attention::Problem, Phase::Cancelling, false),
    ] {
        let before = timed(action);
        assert_eq!(before.next_tick(&policy()), Some(at(1_000)), "the index says when, so that no task is scanned");
        assert!(!tick(&before, 999).changed, "{action:?}: not a moment early");
        let step = tick(&before, 1_000);
        assert!(step.effects.contains(&Effect::Tell(attention)), "{action:?}: {:?}", step.effects);
        assert_eq!(step.next.phase(at(1_000)), phase, "{action:?}: only a cancel ends it");
        assert_eq!(step.next.asks_at_limit(), asks, "{action:?}");
        assert_eq!(step.log.len(), 1, "{action:?}: the task has a note");
        let fact = step.audit.last().expect("it is audited");
        assert!(fact.note.ends_with("by the rule for this tool, version 3"), "the rule is named: {}", fact.note);
        assert!(!tick(&step.next, 2_000).changed, "{action:?}: it is said once");
    }
}

#[test]
fn a_limit_that_cancels_decides_like_anybody_else_and_says_which_it_was() {
    let step = tick(&timed(RunAction::Cancel), 1_500);
    assert_eq!(verbs(&step), [Verb::CancelBegun, Verb::OverLimit]);
    let Intent::Cancel(wish) = &step.next.intent else { panic!("it is cancelled: {:?}", step.next.intent) };
    assert_eq!(wish.by, Decider::Limit(LimitKind::Time));
    assert_eq!(wish.by.limit().map(LimitKind::reason_code), Some("timeLimit"), "for programs");
    assert!(step.effects.contains(&Effect::Deliver), "and the server is asked");
    let person = timed(RunAction::Cancel).cancel(ann(), None, at(500)).expect("it runs").next;
    let later = tick(&person, 1_500).next;
    assert_eq!(later.cancel_request().map(|wish| &wish.by), Some(&Decider::Person(ann())), "a person was faster");
}

#[test]
fn time_that_a_task_waits_for_a_person_does_not_count() {
    let asking = timed(RunAction::Cancel).observe(&listing(&["k"], 400), &policy()).next;
    assert!(asking.paused_since.is_some(), "it waits");
    assert!(tick(&asking, 60_000).next.cancel_request().is_none(), "nothing is cancelled while a person is asked");
    let going = asking.observe(&listing(&[], 60_000), &policy()).next;
    let spent = |handle: &TaskHandle, millis| {
        handle.run_limits.time.as_ref().map(|limit| limit.spent(handle.paused_since, at(millis)))
    };
    assert_eq!(spent(&asking, 60_000), Some(Duration::from_millis(400)), "the time stands still");
    assert_eq!(spent(&going, 60_000), Some(Duration::from_millis(400)), "and goes on from there");
    assert!(tick(&going, 60_599).next.cancel_request().is_none());
    assert!(tick(&going, 60_600).next.cancel_request().is_some(), "600 ms were left");
}

/// An agent's task that may run for a second, with a question of its server that is open since 400 ms.
fn asking(audience: Audience, limits: TaskRunLimits) -> TaskHandle {
    let call = NewCall { agent: Some(AGENT), by: Actor::Agent(AGENT), audience, run_limits: limits, ..new_call() };
    with_task(&TaskHandle::admit(call, at(0)).next).observe(&listing(&["k"], 400), &policy()).next
}

fn time_limit() -> TaskRunLimits {
    TaskRunLimits { time: Some(one_second(RunAction::Cancel)), progress: None }
}

#[test]
fn time_that_only_the_agent_is_asked_counts() {
    let agents = asking(Audience::Agent, time_limit());
    assert_eq!(agents.paused_since, None, "no person is waited for");
    assert_eq!(agents.worked(at(900)), Duration::from_millis(900));
    assert_eq!(agents.next_tick(&policy()), Some(at(1_000)));
    assert!(tick(&agents, 1_000).next.cancel_request().is_some(), "the limit is reached while the agent is asked");
    let progress = TaskRunLimits { time: None, progress: Some(one_second(RunAction::Cancel)) };
    let stalled = asking(Audience::Agent, progress);
    assert!(tick(&stalled, 1_399).next.cancel_request().is_none(), "the question was progress");
    assert!(tick(&stalled, 1_400).next.cancel_request().is_some(), "and nothing came after it");
    for audience in [Audience::People, Audience::Both] {
        let peoples = asking(audience, time_limit());
        assert!(tick(&peoples, 60_000).next.cancel_request().is_none(), "{audience:?}: a person is asked");
    }
}

#[test]
fn time_counts_until_people_are_asked_instead_of_the_agent() {
    let later = |people_at| asking(Audience::AgentThenPeople { people_at: at(people_at) }, time_limit());
    assert!(tick(&later(1_001), 1_000).next.cancel_request().is_some(), "the limit comes first");
    let asked = tick(&later(900), 5_000).next;
    assert_eq!(asked.cancel_request(), None, "people were asked first, however late that is looked at");
    assert_eq!(asked.worked(at(60_000)), Duration::from_millis(900));
    let going = asked.observe(&listing(&[], 60_000), &policy()).next;
    assert!(tick(&going, 60_099).next.cancel_request().is_none());
    assert!(tick(&going, 60_100).next.cancel_request().is_some(), "100 ms were left");
    let gone = asking(Audience::Agent, time_limit()).give(at(410)).next.agent_gone(at(600)).next;
    assert_eq!(gone.paused_since, Some(at(600)), "its agent is gone, so people are asked");
    let back = gone.agent_back(at(800)).next;
    assert_eq!((back.paused_since, back.paused_ms), (None, 200), "and it is asked again");
}

#[test]
fn a_question_that_may_be_of_several_tasks_stops_the_clock_of_those_whose_questions_people_are_asked() {
    let question = QuestionRef { task: HandleId::from_random(3), key: key("k") };
    let paused = |audience| given(audience).asked_elsewhere(&question, true, at(400)).next.paused_since;
    assert_eq!(paused(Audience::Agent), None, "only the agent is asked");
    assert_eq!((paused(Audience::People), paused(Audience::Both)), (Some(at(400)), Some(at(400))));
}

#[test]
fn time_for_which_a_halt_froze_the_questions_of_the_agent_does_not_count() {
    let agents = asking(Audience::Agent, time_limit());
    let thawed = agents.thawed(Duration::from_millis(5_000), at(5_500)).next;
    assert!(tick(&thawed, 5_999).next.cancel_request().is_none(), "it had 500 ms left when it was frozen");
    assert!(tick(&thawed, 6_000).next.cancel_request().is_some());
}

#[test]
fn a_clock_that_is_set_uses_up_no_time() {
    const HOUR_MS: i64 = 3_600_000;
    let moved = timed(RunAction::Cancel).clock_stepped(HOUR_MS).next;
    assert!(tick(&moved, HOUR_MS + 999).next.cancel_request().is_none());
    assert!(tick(&moved, HOUR_MS + 1_000).next.cancel_request().is_some());
}

#[test]
fn progress_starts_the_progress_limit_again() {
    let progress = Progress { done: Some(1.0), total: None, message: None };
    let moved = stalling(RunAction::Ask).progressed(&progress, at(900), &policy()).next;
    assert!(!tick(&moved, 1_899).changed);
    let stalled = tick(&moved, 1_900).next;
    assert_eq!(stalled.asks_for_time().map(|(kind, _)| kind), Some(LimitKind::Progress));
    let more = Progress { done: Some(2.0), ..progress.clone() };
    let again = stalled.progressed(&more, at(5_000), &policy()).next;
    assert!(!again.asks_at_limit(), "it moves again, and nobody has to decide");
    let same = again.progressed(&more, at(5_900), &policy()).next;
    assert!(tick(&same, 6_000).next.asks_at_limit(), "the same progress is none");
}

#[test]
fn what_a_person_allows_a_stalled_task_is_over_with_its_next_progress() {
    let stalled = tick(&stalling(RunAction::Ask), 1_100).next;
    let more = MoreTime::Allow(5 * SECOND);
    let allowed = stalled.allow_time(LimitKind::Progress, more, &ann(), at(1_100)).expect("it asks").next;
    assert!(!tick(&allowed, 6_099).next.asks_at_limit() && tick(&allowed, 6_100).next.asks_at_limit());
    let progress = Progress { done: Some(1.0), total: None, message: None };
    let moved = allowed.progressed(&progress, at(2_000), &policy()).next;
    assert!(tick(&moved, 3_000).next.asks_at_limit(), "the rule's second counts again");
}

#[test]
fn a_person_allows_more_time_or_removes_the_limit() {
    let asking = tick(&timed(RunAction::Ask), 1_000).next;
    let more = MoreTime::Allow(2 * SECOND);
    let step = asking.allow_time(LimitKind::Time, more, &ann(), at(1_500)).expect("it asks");
    assert_eq!(verbs(&step), [Verb::LimitLifted]);
    assert!(!step.next.asks_at_limit() && !tick(&step.next, 3_499).changed, "2 s from the decision");
    let limit = step.next.run_limits.time.clone().expect("it has one");
    assert_eq!(limit.allowed, Duration::from_millis(3_500), "the agreed time is what it ran, and that");
    assert!(tick(&step.next, 3_500).next.asks_at_limit(), "then it asks again");
    let free = asking.allow_time(LimitKind::Time, MoreTime::Unlimited, &ann(), at(1_500)).expect("it asks").next;
    assert!(!free.asks_at_limit() && !tick(&free, 900_000).changed, "for good");
    let again = free.allow_time(LimitKind::Time, more, &ben(), at(1_600)).map(|_| ());
    assert_eq!(again, Err(Refusal::AlreadyDecided { by: ann(), at: at(1_500) }));
    let none = asking.allow_time(LimitKind::Progress, more, &ann(), at(1_500)).map(|_| ());
    assert_eq!(none, Err(Refusal::NoSuchLimit("progress")), "no rule set that one");
    let over = asking.observe(&completed(1_500), &policy()).next;
    assert!(!over.asks_at_limit(), "it ended, and nobody has to decide");
    assert!(matches!(over.allow_time(LimitKind::Time, more, &ann(), at(1_600)), Err(Refusal::AlreadyOver(_))));
}

#[test]
fn time_allowed_while_it_waits_for_a_person_begins_with_the_end_of_the_wait() {
    let waiting = timed(RunAction::Ask).observe(&listing(&["k"], 400), &policy()).next;
    let more = MoreTime::Allow(SECOND);
    let allowed = waiting.allow_time(LimitKind::Time, more, &ann(), at(5_000)).expect("it has a limit").next;
    let going = allowed.observe(&listing(&[], 9_000), &policy()).next;
    assert!(!going.ticked(at(9_999), &policy()).next.asks_at_limit());
    assert!(going.ticked(at(10_000), &policy()).next.asks_at_limit());
}
