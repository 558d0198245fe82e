//! Who is asked what, and who may answer (statements 66 to 68).

use super::*;
use crate::task::decider::Decider;
use crate::task::status::Phase;
use crate::task::{AgentView, Attention, Effect, Refusal, agent_view};

/// People are asked at 100 ms.
const LATER: Audience = Audience::AgentThenPeople { people_at: Timestamp::from_millis(100) };

fn asked(audience: Audience, ask: Ask) -> TaskHandle {
    let seen = Observation { outstanding: Some(asks(&[("a", ask)])), ..sight(TaskStatus::InputRequired, 20) };
    given(audience).observe(&seen, &policy()).next
}

/// Whether the agent is shown the key, whether people have it before them, and whether the task waits for them.
fn check(audience: Audience, ask: Ask, millis: i64, expected: (bool, bool)) {
    let task = asked(audience, ask.clone());
    let shown = AgentView::InputRequired { keys: vec![key("a")] };
    let seen = (agent_view(&task, at(millis)) == shown, task.has_request_for_people(at(millis)));
    assert_eq!(seen, expected, "{audience:?}, {} at {millis} ms", ask.kind());
    assert_eq!(task.phase(at(millis)) == Phase::Waiting, expected.1, "the phase says whether people are waited for");
}

#[test]
fn each_audience_is_asked_what_it_can_answer() {
    for ask in [form(), visit()] {
        check(Audience::People, ask.clone(), 50, (false, true));
        check(Audience::Agent, ask.clone(), 50, (true, false));
        check(Audience::Both, ask.clone(), 50, (true, true));
        check(LATER, ask.clone(), 99, (true, false));
        check(LATER, ask, 100, (false, true));
    }
    check(Audience::People, Ask::Unsupported("odd/ask".into()), 50, (false, false));
    for ask in [Ask::Sampling, Ask::Roots] {
        check(Audience::People, ask, 50, (true, false));
    }
    for ask in [Ask::Sampling, Ask::Roots, Ask::Unsupported("odd/ask".into())] {
        check(Audience::Agent, ask.clone(), 50, (true, false));
        check(Audience::Both, ask.clone(), 50, (true, false));
        check(LATER, ask.clone(), 99, (true, false));
        check(LATER, ask, 100, (true, false));
    }
}

#[test]
fn an_agent_that_is_not_asked_sees_honest_work() {
    let waiting = AgentView::Working { message: Some("Waiting for a person to answer.".into()) };
    assert_eq!(agent_view(&asked(Audience::People, form()), at(30)), waiting, "statement 68");
    let answered = asked(Audience::People, form()).answer(accept(Some("a")), at(30)).expect("open").0.next;
    assert_eq!(agent_view(&answered, at(30)), AgentView::Working { message: None }, "nobody is waited for any more");
}

#[test]
fn all_that_is_outstanding_is_shown_together() {
    let both = asks(&[("a", form()), ("b", Ask::Sampling)]);
    let seen = Observation { outstanding: Some(both), ..sight(TaskStatus::InputRequired, 20) };
    for (millis, audience) in [(30, Audience::Agent), (30, LATER), (200, LATER), (30, Audience::Both)] {
        let task = given(audience).observe(&seen, &policy()).next;
        let keys = vec![key("a"), key("b")];
        assert_eq!(agent_view(&task, at(millis)), AgentView::InputRequired { keys }, "statement 66: {audience:?}");
    }
}

#[test]
fn the_first_recorded_answer_wins_and_the_other_learns_whose_it_was() {
    let task = asked(Audience::Both, form());
    let agents = task.answer(forwarded("a"), at(30)).expect("it is asked");
    assert_eq!(agents.0.audit.first().map(|event| event.actor.clone()), Some(Actor::Agent(AGENT)));
    let late = agents.0.next.answer(accept(Some("a")), at(31)).map(|_| ());
    let agent_was = Refusal::AlreadyAnswered { by: Decider::Agent(AGENT), at: at(30), action: AnswerAction::Forwarded };
    assert_eq!(late, Err(agent_was), "the agent was faster");
    let persons = task.answer(accept(Some("a")), at(30)).expect("it is asked").0.next;
    let late = persons.answer(forwarded("a"), at(31)).map(|_| ());
    let person_was = Refusal::AlreadyAnswered { by: ann().into(), at: at(30), action: AnswerAction::Accept };
    assert_eq!(late, Err(person_was), "the person was faster");
}

#[test]
fn only_those_who_are_asked_may_answer() {
    let refuses = |task: &TaskHandle, input: AnswerInput| task.answer(input, at(30)).map(|_| ()).err();
    let agents = Some(Refusal::NotForAgent(key("a")));
    assert_eq!(refuses(&asked(Audience::People, form()), forwarded("a")), agents, "people are asked");
    let stranger = AnswerInput { by: AgentId::from_random(6).into(), ..forwarded("a") };
    assert_eq!(refuses(&asked(Audience::Both, form()), stranger), agents, "another agent's task");
    let people = |kind: &str| Some(Refusal::NotForPeople(kind.to_owned()));
    assert_eq!(refuses(&asked(Audience::Agent, form()), accept(Some("a"))), people("form"), "the agent is asked");
    let sampling = AnswerInput { action: AnswerAction::Decline, content: None, ..accept(Some("a")) };
    assert_eq!(refuses(&asked(Audience::Both, Ask::Sampling), sampling), people("sampling/createMessage"));
    assert_eq!(refuses(&asked(LATER, form()), accept(Some("a"))), None, "a person may be early");
    let late = asked(LATER, form()).answer(forwarded("a"), at(150)).map(|_| ()).err();
    assert_eq!(late, None, "and an agent that began in time may be late");
    let empty = AnswerInput { content: None, ..forwarded("a") };
    assert_eq!(refuses(&asked(Audience::Agent, form()), empty), Some(Refusal::NeedsContent(key("a"))));
}

#[test]
fn without_a_key_the_only_question_that_one_may_answer_is_meant() {
    let both = asks(&[("a", form()), ("b", Ask::Sampling)]);
    let seen = Observation { outstanding: Some(both), ..sight(TaskStatus::InputRequired, 20) };
    let task = given(Audience::Both).observe(&seen, &policy()).next;
    let meant = task.answer(accept(None), at(30)).map(|(_, key)| key);
    assert_eq!(meant, Ok(key("a")), "a person can answer only the form");
    let agent = AnswerInput { key: None, ..forwarded("") };
    assert_eq!(task.answer(agent, at(30)).map(|_| ()), Err(Refusal::AmbiguousKey(2)), "the agent can answer both");
    let nobodys = asked(Audience::Agent, form()).answer(accept(None), at(30)).map(|_| ());
    assert_eq!(nobodys, Err(Refusal::NotForPeople("form".into())), "and what is not theirs says so");
}

#[test]
fn people_are_told_when_their_time_has_come() {
    let task = asked(LATER, form());
    assert_eq!(task.phase(at(99)), Phase::Running, "the agent is asked, the task is not theirs yet");
    assert_eq!(task.next_tick(&policy()), Some(at(100)), "then it is");
    let step = task.ticked(at(100), &policy());
    assert!(step.changed, "lists and the inbox learn it by a commit");
    assert!(step.effects.contains(&Effect::Tell(Attention::Waiting)));
    assert_eq!(step.next.changed, at(100), "the moment that says that people are asked");
    assert_eq!(step.next.phase(at(100)), Phase::Waiting);
    assert_eq!(step.next.next_tick(&policy()), None, "once");
    let opened = given(LATER).observe(&listing(&["a"], 20), &policy());
    assert!(!opened.effects.contains(&Effect::Tell(Attention::Waiting)), "before, nobody is called for an agent's");
    assert_eq!(opened.next.paused_since, None, "and its time goes on: no person is waited for");
    assert_eq!(step.next.paused_since, Some(at(100)), "then one is");
    let late = task.ticked(at(150), &policy()).next;
    assert_eq!(late.paused_since, Some(at(100)), "since then, however late that is looked at");
    assert!(
        !task.observe(&listing(&["a"], 120), &policy()).changed,
        "a look that brings nothing new leaves it to the clock"
    );
    let news = Observation { message: Some("half way".into()), ..listing(&["a"], 120) };
    let seen = task.observe(&news, &policy());
    assert!(seen.effects.contains(&Effect::Tell(Attention::Waiting)), "one that brings something says it as well");
    assert_eq!(seen.next.paused_since, Some(at(100)));
}

#[test]
fn what_only_an_agent_answers_is_asked_of_it_whatever_people_are_asked_and_turned_down_without_one() {
    let seen = Observation { outstanding: Some(asks(&[("a", Ask::Roots)])), ..sight(TaskStatus::InputRequired, 20) };
    let people = working().observe(&seen, &policy()).next;
    assert!(matches!(state(&people, "a"), RequestState::Withdrawn { .. }), "nobody is left to ask");
    let both = Observation { outstanding: Some(asks(&[("a", Ask::Roots), ("b", form())])), ..seen.clone() };
    let mixed = given(Audience::People).observe(&both, &policy()).next;
    assert_eq!(
        agent_view(&mixed, at(30)),
        AgentView::InputRequired { keys: vec![key("a")] },
        "the form is of people (68)"
    );
    let agents = given(Audience::Agent).observe(&seen, &policy()).next;
    assert!(state(&agents, "a").is_open(), "the agent knows its roots");

    let question = LiveQuestion { ask: Ask::Sampling, ..live(1, "t", "d") };
    let (_, outcome) = working().asked(&question, at(20), &policy());
    assert!(matches!(outcome, LiveOutcome::Rejected(_)), "{outcome:?}");
    let (step, outcome) = given(Audience::People).asked(&question, at(20), &policy());
    assert!(matches!(outcome, LiveOutcome::Opened(_)), "{outcome:?}");
    assert!(!step.effects.contains(&Effect::Tell(Attention::Waiting)), "and people are not called");

    let round = needs_input(asks(&[("a", Ask::Sampling)]), None);
    let reply = |audience| agents_call(audience).replied(&round, &home(), at(20), &policy()).next;
    let persons = awaiting().replied(&round, &home(), at(20), &policy()).next;
    assert!(matches!(persons.view, ServerView::NotSent { .. }), "the call cannot go on");
    assert!(matches!(reply(Audience::People).view, ServerView::Asking { .. }), "with its agent it can");
}

#[test]
fn a_question_is_kept_as_it_came_only_where_an_agent_may_be_asked() {
    let whole = Payload::new("{\"method\":\"elicitation/create\",\"params\":{}}");
    let kept = |step: &Transition, ours: &str| {
        step.payloads.iter().any(|write| write.kind == PayloadKind::Question(key(ours)))
    };
    let asks_raw: BTreeMap<_, _> = [(key("a"), whole.clone())].into();
    let listed = Observation { asks_raw: asks_raw.clone(), ..listing(&["a"], 20) };
    assert!(kept(&given(Audience::Both).observe(&listed, &policy()), "a"));
    assert!(!kept(&given(Audience::People).observe(&listed, &policy()), "a"), "people see what was read of it");
    let round = CallReply::NeedsInput {
        questions: asks(&[("a", form())]),
        state: None,
        raw: None,
        asks_raw,
        whole: Payload::new("{}"),
    };
    assert!(kept(&agents_call(Audience::Agent).replied(&round, &home(), at(20), &policy()), "call.1:a"));
    let question = LiveQuestion { whole: Some(whole), ..live(1, "t", "d") };
    let (step, outcome) = given(Audience::Agent).asked(&question, at(20), &policy());
    let LiveOutcome::Opened(ours) = outcome else { panic!("it opens") };
    assert!(kept(&step, ours.as_str()));
}

#[test]
fn an_agents_answer_to_a_secret_is_erased_like_a_persons() {
    let task = asked(Audience::Agent, secret_form());
    let (step, ours) = task.answer(forwarded("a"), at(30)).expect("it is asked");
    let sent = step.next.answer_step(&ours, &crate::task::status::Delivery::Acknowledged { at: at(31) }, at(31));
    let erased =
        sent.payloads.iter().any(|write| write.kind == PayloadKind::Answer(key("a")) && write.payload.is_none());
    assert!(erased, "ruling 9 knows no difference");
}

fn yes_no() -> Ask {
    let schema = json!({"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]});
    Ask::Form { message: "Go on?".into(), schema }
}

/// What an agent answers, as a whole.
fn said(content: &str) -> AnswerInput {
    AnswerInput { content: Some(Payload::new(content)), ..forwarded("a") }
}

#[test]
fn an_agents_answer_is_checked_against_the_form_as_a_persons_is() {
    let task = asked(Audience::Agent, yes_no());
    let accepted = |content: &str| AnswerInput { action: AnswerAction::Accept, ..said(content) };
    for (input, field) in [
        (accepted(r#"{"ok":"notbool"}"#), "field `ok` must be `true` or `false`"),
        (said(r#"{"action":"accept","content":{"ok":"notbool"},"vendor":1}"#), "field `ok` must be `true` or `false`"),
    ] {
        let refusal = task.answer(input, at(30)).map(|_| ()).expect_err(field);
        assert!(matches!(refusal, Refusal::DoesNotFit { .. }) && refusal.to_string().contains(field), "{refusal}");
        assert!(!refusal.to_string().contains("notbool"), "the value is not repeated: {refusal}");
    }
    for fits in [accepted(r#"{"ok":true}"#), said(r#"{"action":"accept","content":{"ok":false}}"#)] {
        let content = fits.content.clone();
        let step = task.answer(fits, at(30)).expect("it fits").0;
        let kept = step.payloads.iter().find(|write| write.kind == PayloadKind::Answer(key("a")));
        assert_eq!(kept.and_then(|write| write.payload.clone()), content, "and goes out as it came");
    }
    assert!(task.answer(said(r#"{"action":"decline"}"#), at(30)).is_ok(), "a no has no fields");
    for server_judges in ["{}", r#"{"ok":true,"x":1}"#] {
        assert!(task.answer(accepted(server_judges), at(30)).is_ok(), "what is left out or added goes to the server");
    }
}

#[test]
fn an_answer_that_does_not_fit_is_noted_once_without_its_values_and_leaves_the_question_open() {
    let task = asked(Audience::Both, yes_no());
    let Err(Refusal::DoesNotFit { key: of, broken }) =
        task.answer(said(r#"{"action":"accept","content":{"ok":1}}"#), at(30))
    else {
        panic!("it does not fit");
    };
    let noted = task.answer_unfit(&of, &Decider::Agent(AGENT), &broken, at(30));
    let lines: Vec<&str> = noted.log.iter().map(|line| line.text.as_str()).collect();
    assert_eq!(lines, ["An answer of the agent was not sent: field `ok` does not fit."]);
    let facts: Vec<_> = noted.audit.iter().map(|event| (event.verb, event.note.as_str())).collect();
    assert_eq!(facts, [(Verb::AnswerEnded, "does not fit")]);
    assert!(state(&noted.next, "a").is_open(), "nothing is lost");
    let again = noted.next.answer_unfit(&of, &Decider::Agent(AGENT), &broken, at(31));
    assert!(!again.changed, "an agent that repeats itself fills no log");
    let stranger = Decider::Agent(AgentId::from_random(6));
    assert!(!task.answer_unfit(&of, &stranger, &broken, at(30)).changed, "it is not its question");
    assert!(task.answer(accept(Some("a")), at(40)).is_ok(), "and a person can answer");
}

#[test]
fn people_are_asked_instead_of_an_agent_without_an_answer() {
    let later = asked(LATER, form()).ask_people_now(&key("a"), at(30));
    assert!(later.effects.contains(&Effect::Tell(Attention::Waiting)), "they are told at once");
    assert_eq!(later.next.phase(at(30)), Phase::Waiting);
    assert_eq!(later.next.paused_since, Some(at(30)), "and from now on a person is waited for");
    let both = asked(Audience::Both, form()).ask_people_now(&key("a"), at(30)).next;
    assert!(!both.asks_agent(at(30)) && both.has_request_for_people(at(30)), "the agent is not asked again");
    for audience in [Audience::Agent, Audience::People] {
        let step = asked(audience, form()).ask_people_now(&key("a"), at(30));
        assert_eq!((step.changed, step.next.audience), (false, audience), "a rule says whether people are ever asked");
    }
}
