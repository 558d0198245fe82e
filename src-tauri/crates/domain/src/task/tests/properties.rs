//! Properties over any sequence of what servers say, people want and connections do.

use proptest::prelude::*;

use super::random_histories::{Happening, any_happening, any_history, any_observation, perform, placed};
use super::*;
use crate::task::figures::CountedState;
use crate::task::input_request::{AskDoor, RecordedAnswer};
use crate::task::status::{Contact, Delivery, GoneWhy, Phase, TaskView};

/// How the server's account ended, in a form that may not change any more.
fn end_of(handle: &TaskHandle) -> Option<&'static str> {
    match &handle.view {
        ServerView::Task(TaskView { status, .. }) => match status {
            TaskStatus::Completed(Outcome::Ok(_)) => Some("ok"),
            TaskStatus::Completed(Outcome::ToolError(_) | Outcome::FailedWithResult(_)) => Some("tool error"),
            TaskStatus::Completed(Outcome::Error(_)) => Some("completed with an error"),
            TaskStatus::Completed(Outcome::NotFetched | Outcome::Unavailable) => Some("completed"),
            TaskStatus::Failed(Some(_)) => Some("error"),
            TaskStatus::Failed(None) => Some("failed"),
            TaskStatus::Cancelled => Some("cancelled"),
            TaskStatus::Working | TaskStatus::InputRequired | TaskStatus::Other(_) => None,
        },
        ServerView::Direct(_) => Some("direct"),
        ServerView::Refused(_) => Some("refused"),
        ServerView::NotSent { .. } => Some("not sent"),
        ServerView::Awaiting { .. }
        | ServerView::OwnCall { .. }
        | ServerView::Asking { .. }
        | ServerView::Gated { .. }
        | ServerView::Unanswered { .. } => None,
    }
}

/// Ends may only gain the payload that they lacked.
fn is_same_end(before: &str, after: Option<&str>) -> bool {
    match (before, after) {
        (_, None) => false,
        ("completed", Some("ok" | "tool error" | "completed with an error"))
        | ("failed", Some("error" | "tool error")) => true,
        (before, Some(after)) => before == after,
    }
}

fn recorded(handle: &TaskHandle, key: &RequestKey) -> Option<RecordedAnswer> {
    match &handle.requests.get(key)?.state {
        RequestState::Answered(answer) | RequestState::Confirmed(answer) => Some(answer.clone()),
        RequestState::Open | RequestState::Withdrawn { .. } => None,
    }
}

/// What must hold of every step, whatever happened.
fn check_step(
    before: &TaskHandle,
    happening: &Happening,
    step: &Transition,
    now: Timestamp,
) -> Result<(), TestCaseError> {
    let after = &step.next;
    if let Some(end) = end_of(before) {
        prop_assert!(is_same_end(end, end_of(after)), "rule 1: {end} became {:?}", after.view);
    }
    let by_server = matches!(
        happening,
        Happening::Seen { .. }
            | Happening::Missed { .. }
            | Happening::Blocked
            | Happening::Gone { .. }
            | Happening::Asked { .. }
            | Happening::Progressed { .. }
            | Happening::Ticked
    );
    if by_server {
        prop_assert_eq!(&before.intent, &after.intent, "nothing that is seen changes what people want");
    }
    if matches!(happening, Happening::Missed { .. } | Happening::Blocked | Happening::Gone { .. }) {
        prop_assert_eq!(&before.view, &after.view, "rule 8: what we fail to see is not the server's word");
    }
    if let (Happening::Missed { miss: 1, .. }, false) = (happening, before.view.is_terminal()) {
        prop_assert_ne!(after.phase(now), Phase::Failed, "rule 9: unknown is never failed");
    }
    for (key, request) in before.requests.iter() {
        let Some(answer) = recorded(before, key) else { continue };
        let kept = recorded(after, key).map(|later| (later.by, later.at, later.action, later.not_before));
        let same = kept == Some((answer.by, answer.at, answer.action, answer.not_before));
        let unsent = answer.delivery == Delivery::Recorded;
        prop_assert!(
            same || unsent,
            "rule 14: an answer that left was changed: {:?} to {:?}",
            request,
            after.requests.get(key)
        );
    }
    prop_assert!(before.requests.keys().all(|key| after.requests.contains_key(key)), "no question is ever forgotten");
    if let (Some(old), Some(new)) = (before.due, after.due) {
        prop_assert!(new.at >= old.at, "waiting never makes a task due earlier");
    }
    let open = after.requests.values().any(|request| request.state.is_open());
    let is_asked = after.has_request_for_people(now);
    prop_assert_eq!(is_asked, after.paused_since.is_some(), "A5: the clock stands while a person is asked");
    if after.is_settled_loss(after.phase(now)) {
        let by_person = matches!(&after.contact, Contact::Gone { why: GoneWhy::EndedByPerson { .. }, .. });
        prop_assert!(by_person, "it is settled, and nobody ended its server");
        let state = CountedState::of(after, after.phase(now), now);
        prop_assert!(!state.needs_you() && !open, "and then nobody is needed");
    }
    if after.view.is_terminal() {
        prop_assert!(!open, "an ended task asks nothing");
    }
    if !step.changed {
        prop_assert!(step.audit.is_empty() && step.log.is_empty() && step.payloads.is_empty(), "facts are committed");
        prop_assert_eq!(before.phase(now), after.phase(now), "a phase never moves without a commit");
        prop_assert_eq!(before.deliver_at(), after.deliver_at(), "nor does what is to deliver");
    }
    Ok(())
}

/// What the index columns promise the sweeper and the deliverer.
fn check_unit(step: &Transition, now: Timestamp) -> Result<(), TestCaseError> {
    let unit = step.unit(now, &policy());
    prop_assert_eq!(unit.phase, step.next.phase(now));
    prop_assert!(Phase::ALL.contains(&unit.phase));
    let handle = &unit.handle;
    let something = handle.is_cancel_due()
        || !handle.answers_due(now).is_empty()
        || handle.round_ready_at().is_some_and(|ready| ready <= now);
    prop_assert_eq!(
        unit.deliver_at.is_some_and(|due| due <= now),
        something,
        "deliver_at says what is due: {:?}",
        handle
    );
    let mut current = handle.clone();
    for _ in 0..4 {
        let tick = current.ticked(now, &policy());
        let due = current.next_tick(&policy()).is_some_and(|due| due <= now);
        prop_assert_eq!(due, tick.changed, "a tick that is due is worth a commit, and no other is");
        current = tick.next;
    }
    prop_assert!(current.next_tick(&policy()).is_none_or(|due| due > now), "ticking comes to an end: {:?}", current);
    Ok(())
}

proptest! {
    #[test]
    fn every_history_keeps_the_rules(task in any::<bool>(), limit in prop::option::of(0_u64..60_000), history in any_history()) {
        let call = NewCall { limit: limit.map(Duration::from_millis), ..new_call() };
        let mut handle = TaskHandle::admit(call, at(0)).next;
        if task {
            handle = with_task(&handle);
        }
        let mut now = at(100);
        let mut opened: BTreeMap<RequestKey, u32> = BTreeMap::new();
        for (pause, happening) in &history {
            now = at(now.as_millis() + pause);
            let step = perform(&handle, happening, now);
            check_step(&handle, happening, &step, now)?;
            check_unit(&step, now)?;
            for event in &step.audit {
                if let (Verb::Asked, crate::audit::Subject::Request(_, key)) = (event.verb, &event.subject) {
                    *opened.entry(key.clone()).or_default() += 1;
                }
            }
            handle = step.next;
        }
        prop_assert!(opened.values().all(|times| *times == 1), "rule 5: {opened:?}");
    }

    #[test]
    fn the_same_sighting_twice_is_one_change(history in any_history(), seen in any_observation()) {
        let mut handle = working();
        let mut now = at(100);
        for (pause, happening) in &history {
            now = at(now.as_millis() + pause);
            handle = perform(&handle, happening, now).next;
        }
        let seen = placed(&seen, now);
        let once = handle.observe(&seen, &policy());
        let twice = once.next.observe(&seen, &policy());
        prop_assert!(!twice.changed, "rule 2: {:?}", twice);
        prop_assert_eq!(&once.next, &twice.next);
    }

    #[test]
    fn a_look_begun_after_the_newest_word_always_counts(first in any_observation(), second in any_observation()) {
        let handle = working().observe(&placed(&first, at(10_000)), &policy()).next;
        let second = Observation { created: None, begun: at(10_001), seen: at(12_000), ..second };
        let after = handle.observe(&second, &policy()).next;
        if !handle.view.is_terminal() && !matches!(handle.contact, Contact::Gone { .. }) {
            prop_assert_eq!(status(&after), &second.status, "rule 3");
        }
    }

    #[test]
    fn an_overlapping_look_and_push_agree(look in any_observation(), push in any_observation(), took in 1_i64..100, gap in 0_i64..100) {
        let look = Observation { door: ObservationDoor::Poll, created: None, begun: at(1_000), seen: at(1_000 + took), ..look };
        let pushed = at(1_000 + gap.min(took));
        let push = Observation { door: ObservationDoor::Push, created: None, begun: pushed, seen: pushed, ..push };
        // One key names one question, so both list the same one under it.
        let one_ask = |seen: Observation| Observation {
            outstanding: seen.outstanding.map(|keys| keys.into_keys().map(|key| (key, form())).collect()),
            ..seen
        };
        let (look, push) = (one_ask(look), one_ask(push));
        // Two different ends contradict each other: whichever came first stays (rule 1).
        prop_assume!(!(look.status.is_terminal() && push.status.is_terminal() && look.status != push.status));
        // Only the server's clock can say which of two lists of questions is the later one.
        let ordered = matches!((look.updated, push.updated), (Some(a), Some(b)) if a != b)
            && look.outstanding.is_some()
            && push.outstanding.is_some();
        let one = working().observe(&look, &policy()).next.observe(&push, &policy()).next;
        let other = working().observe(&push, &policy()).next.observe(&look, &policy()).next;
        prop_assert_eq!(status(&one), status(&other), "rule 4");
        let open = |handle: &TaskHandle| -> Vec<RequestKey> {
            handle.requests.values().filter(|r| r.state.is_open()).map(|r| r.key.clone()).collect()
        };
        if ordered {
            // A push closes no question (ruling 1); it asks for a look, which finds what the later of the two said.
            let later = if look.updated > push.updated { &look } else { &push };
            let found = Observation { door: ObservationDoor::Poll, begun: at(2_000), seen: at(2_000), ..later.clone() };
            let settled = |handle: &TaskHandle| handle.observe(&found, &policy()).next;
            prop_assert_eq!(open(&settled(&one)), open(&settled(&other)), "rule 4, for questions");
        }
    }

    #[test]
    fn no_moment_makes_a_transition_panic(
        millis in prop::collection::vec(any::<i64>(), 1..12),
        happenings in prop::collection::vec(any_happening(), 1..12),
    ) {
        let mut handle = working();
        for (moment, happening) in millis.iter().zip(&happenings) {
            // Offsets are added to the moment, so that it keeps away from the very last ones.
            let now = at(moment / 2);
            handle = perform(&handle, happening, now).next;
            prop_assert!(Phase::ALL.contains(&handle.phase(at(*moment))));
            let _ = Transition::none(&handle).unit(now, &policy());
        }
    }
}

#[test]
fn the_generator_reaches_what_it_should() {
    // The properties mean something only when histories get somewhere: count where a few hundred of them end.
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut phases: BTreeMap<Phase, u32> = BTreeMap::new();
    let (mut confirmed, mut live_doors) = (0, 0);
    for _ in 0..600 {
        let history = any_history().new_tree(&mut runner).expect("a history").current();
        let (mut handle, mut now) = (with_task(&limited(Duration::from_secs(30))), at(100));
        for (pause, happening) in &history {
            now = at(now.as_millis() + pause);
            handle = perform(&handle, happening, now).next;
            *phases.entry(handle.phase(now)).or_default() += 1;
        }
        confirmed += handle.requests.values().filter(|r| matches!(r.state, RequestState::Confirmed(_))).count();
        live_doors += handle.requests.values().filter(|r| matches!(r.door, AskDoor::Live { .. })).count();
    }
    let unseen: Vec<Phase> =
        Phase::ALL.into_iter().filter(|phase| *phase != Phase::Unconfirmed && !phases.contains_key(phase)).collect();
    assert!(unseen.is_empty(), "phases that no history of a task reached: {unseen:?}");
    assert!(confirmed > 10 && live_doors > 100, "{confirmed} confirmed, {live_doors} live");
}
