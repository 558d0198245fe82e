//! Properties over any sequence of what servers say, people want and connections do.

use proptest::prelude::*;

use super::*;
use crate::handle::MissCount;
use crate::observation::Progress;
use crate::request::{Answered, AskDoor};
use crate::status::{Contact, Delivery, GoneWhy, Intent, Miss, Needs, Phase, TaskView};

/// Something that happens to a handle.
#[derive(Debug, Clone)]
enum Happening {
    Seen { observation: Box<Observation> },
    Missed { miss: u8, failures: u32, unknown: u32 },
    Blocked,
    Gone { why: u8 },
    Replied { reply: u8, updated: Option<i64>, status: TaskStatus },
    Resumed,
    Promoted,
    NotSent,
    ReplyLost,
    CallStopped,
    Asked { connection: u8, token: u8, digest: u8 },
    TakenBack { connection: u8, token: u8 },
    ChannelLost { connection: u8, survives: bool },
    Answered { which: usize, action: u8, hold: i64 },
    Undone { which: usize },
    AnswerStep { which: usize, step: u8 },
    Cancel,
    Revoke,
    Unwatch,
    StopStep { step: u8 },
    Progressed { done: f64 },
    Ticked,
}

fn any_status() -> impl Strategy<Value = TaskStatus> {
    let stored = ResultRef { bytes: 2 };
    prop_oneof![
        20 => Just(TaskStatus::Working),
        20 => Just(TaskStatus::InputRequired),
        1 => Just(TaskStatus::Other("odd".into())),
        1 => Just(TaskStatus::Completed(Outcome::Ok(stored))),
        1 => Just(TaskStatus::Completed(Outcome::ToolError(stored))),
        1 => Just(TaskStatus::Completed(Outcome::NotFetched)),
        1 => Just(TaskStatus::Completed(Outcome::Unavailable)),
        1 => Just(TaskStatus::Failed(None)),
        1 => Just(TaskStatus::Failed(Some(rpc_error()))),
        1 => Just(TaskStatus::Cancelled),
    ]
}

fn any_ttl() -> impl Strategy<Value = Ttl> {
    prop_oneof![
        3 => Just(Ttl::Unsaid),
        1 => Just(Ttl::Unlimited),
        2 => (0_u64..200_000).prop_map(|millis| Ttl::For(Duration::from_millis(millis))),
        1 => Just(Ttl::For(Duration::MAX)),
    ]
}

/// `begun` and `seen` are offsets before the moment of the happening; the test sets them.
fn any_observation() -> impl Strategy<Value = Observation> {
    let door = prop_oneof![4 => Just(Door::Poll), 2 => Just(Door::Push), 1 => Just(Door::List)];
    let keys = prop::option::weighted(0.6, prop::collection::btree_set("[a-c]", 0..3));
    let words = prop::option::of("[xy]");
    let clocks = (prop::option::weighted(0.1, 0_i64..5_000), prop::option::of(0_i64..50));
    (door, any_status(), words, clocks, any_ttl(), keys, 0_i64..3_000, any::<bool>()).prop_map(
        |(door, status, message, (created, updated), ttl, keys, took, odd)| Observation {
            door,
            begun: at(if door == Door::Push { 0 } else { -took }),
            seen: at(0),
            payload: status.is_terminal().then(|| Payload::new("{}")),
            status,
            message,
            created: created.map(at),
            updated: updated.map(at),
            ttl,
            hint: None,
            outstanding: keys.map(|keys| {
                let ask = |text: &str| if odd && text == "c" { Ask::Sampling } else { secret_form() };
                keys.iter().map(|text| (key(text), ask(text))).collect()
            }),
        },
    )
}

fn any_happening() -> impl Strategy<Value = Happening> {
    let small = 0_u8..3;
    prop_oneof![
        12 => any_observation().prop_map(|observation| Happening::Seen { observation: Box::new(observation) }),
        4 => (0_u8..4, 0_u32..6, 0_u32..5)
            .prop_map(|(miss, failures, unknown)| Happening::Missed { miss, failures, unknown }),
        1 => Just(Happening::Blocked),
        1 => (0_u8..5).prop_map(|why| Happening::Gone { why }),
        4 => (0_u8..6, prop::option::of(0_i64..50), any_status())
            .prop_map(|(reply, updated, status)| Happening::Replied { reply, updated, status }),
        3 => Just(Happening::Resumed),
        2 => Just(Happening::Promoted),
        1 => Just(Happening::NotSent),
        1 => Just(Happening::ReplyLost),
        1 => Just(Happening::CallStopped),
        4 => (small.clone(), small.clone(), 0_u8..2)
            .prop_map(|(connection, token, digest)| Happening::Asked { connection, token, digest }),
        1 => (small.clone(), small.clone())
            .prop_map(|(connection, token)| Happening::TakenBack { connection, token }),
        1 => (small.clone(), any::<bool>())
            .prop_map(|(connection, survives)| Happening::ChannelLost { connection, survives }),
        10 => (0_usize..3, small.clone(), 0_i64..8_000)
            .prop_map(|(which, action, hold)| Happening::Answered { which, action, hold }),
        1 => (0_usize..4).prop_map(|which| Happening::Undone { which }),
        10 => (0_usize..3, 0_u8..4).prop_map(|(which, step)| Happening::AnswerStep { which, step }),
        1 => Just(Happening::Cancel),
        1 => Just(Happening::Revoke),
        1 => Just(Happening::Unwatch),
        2 => (0_u8..4).prop_map(|step| Happening::StopStep { step }),
        1 => any::<f64>().prop_map(|done| Happening::Progressed { done }),
        4 => Just(Happening::Ticked),
    ]
}

/// A history: how long after the one before, and what.
fn any_history() -> impl Strategy<Value = Vec<(i64, Happening)>> {
    let pause = prop_oneof![3 => 0_i64..50, 3 => 0_i64..10_000, 1 => 0_i64..4_000_000];
    prop::collection::vec((pause, any_happening()), 0..50)
}

fn delivery(step: u8, now: Timestamp) -> Delivery {
    match step {
        0 => Delivery::Recorded,
        1 => Delivery::Sent { at: now, attempts: 1 },
        2 => Delivery::Acknowledged { at: now },
        _ => Delivery::Refused { at: now, why: "no".into() },
    }
}

fn nth_key(handle: &TaskHandle, which: usize) -> RequestKey {
    handle.requests.keys().nth(which).cloned().unwrap_or_else(|| key("none"))
}

/// Performs one happening; what is refused changes nothing.
fn perform(handle: &TaskHandle, happening: &Happening, now: Timestamp) -> Transition {
    let policy = policy();
    let nothing = || Transition::none(handle);
    match happening {
        Happening::Seen { observation } => handle.observe(&placed(observation, now), &policy),
        Happening::Missed { miss, failures, unknown } => {
            let miss = match miss {
                0 => Miss::Unreachable("refused".into()),
                1 => Miss::UnknownTask,
                2 => Miss::Unreadable("$".into()),
                _ => Miss::Refused(rpc_error()),
            };
            let count = MissCount { failures: *failures, unknown: *unknown, interval: Duration::from_millis(100) };
            handle.missed(&miss, &count, now, &policy)
        }
        Happening::Blocked => handle.blocked(&Needs::SignIn("token".into()), now),
        Happening::Gone { why } => handle.gone(&gone_why(*why), now),
        Happening::Replied { reply, updated, status } => {
            let seen =
                Observation { door: Door::Create, updated: updated.map(at), ..sight(status.clone(), now.as_millis()) };
            handle.replied(&any_reply(*reply, seen), &home(), now, &policy)
        }
        Happening::Resumed => handle.resumed(HOST, now),
        Happening::Promoted => handle.promoted(now),
        Happening::NotSent => handle.not_sent("no connection", now),
        Happening::ReplyLost => handle.reply_lost("gone", now),
        Happening::CallStopped => handle.call_stopped(now),
        Happening::Asked { connection, token, digest } => {
            let question = live(u128::from(*connection), &token.to_string(), &digest.to_string());
            handle.asked(&question, now, &policy).0
        }
        Happening::TakenBack { connection, token } => {
            handle.taken_back(ConnectionId::from_random(u128::from(*connection)), &token.to_string(), now)
        }
        Happening::ChannelLost { connection, survives } => {
            handle.channel_lost(ConnectionId::from_random(u128::from(*connection)), *survives, now)
        }
        Happening::Answered { which, action, hold } => {
            let input = match action {
                0 => accept(None),
                1 => decline("", ann()),
                _ => AnswerInput { action: AnswerAction::Dismiss, ..decline("", ben()) },
            };
            let not_before = (*hold > 4_000).then(|| at(now.as_millis() + hold));
            let input = AnswerInput { key: Some(nth_key(handle, *which)), not_before, ..input };
            handle.answer(input, now).map_or_else(|_| nothing(), |(step, _)| step)
        }
        Happening::Undone { which } => {
            handle.undo_answer(&nth_key(handle, *which), &ben(), now).unwrap_or_else(|_| nothing())
        }
        Happening::AnswerStep { which, step } => {
            handle.answer_step(&nth_key(handle, *which), &delivery(*step, now), now)
        }
        Happening::Cancel => handle.cancel(&ann(), None, now).unwrap_or_else(|_| nothing()),
        Happening::Revoke => handle.revoke(&ben(), Some("out"), now).unwrap_or_else(|_| nothing()),
        Happening::Unwatch => handle.unwatch(&ann(), now).unwrap_or_else(|_| nothing()),
        Happening::StopStep { step } => handle.stop_step(&delivery(*step, now), now),
        Happening::Progressed { done } => {
            handle.progressed(&Progress { done: Some(*done), total: None, message: None }, now, &policy)
        }
        Happening::Ticked => handle.ticked(now, &policy),
    }
}

fn gone_why(which: u8) -> GoneWhy {
    match which {
        0 => GoneWhy::Unknown,
        1 => GoneWhy::Expired,
        2 => GoneWhy::ProcessEnded("signal 9".into()),
        3 => GoneWhy::Replaced,
        _ => GoneWhy::ServerRemoved,
    }
}

fn any_reply(which: u8, seen: Observation) -> CallReply {
    let questions = |pairs: &[(&str, Ask)]| asks(pairs);
    match which {
        0 => CallReply::Result { payload: Payload::new("{}"), is_error: false },
        1 => CallReply::Error { error: rpc_error(), payload: Payload::new("{}") },
        2 => CallReply::NeedsInput { questions: questions(&[("a", form())]), state: Some(Payload::new("1")) },
        3 => CallReply::NeedsInput { questions: questions(&[]), state: None },
        _ => task_reply(seen),
    }
}

/// The observation at its moment.
fn placed(observation: &Observation, now: Timestamp) -> Observation {
    let begun = at(now.as_millis() + observation.begun.as_millis());
    Observation { begun, seen: now, ..observation.clone() }
}

/// How the server's account ended, in a form that may not change any more.
fn end_of(handle: &TaskHandle) -> Option<&'static str> {
    match &handle.view {
        ServerView::Task(TaskView { status, .. }) => match status {
            TaskStatus::Completed(Outcome::Ok(_)) => Some("ok"),
            TaskStatus::Completed(Outcome::ToolError(_)) => Some("tool error"),
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
        | ServerView::Unanswered { .. } => None,
    }
}

/// Ends may only gain the payload that they lacked.
fn is_same_end(before: &str, after: Option<&str>) -> bool {
    match (before, after) {
        (_, None) => false,
        ("completed", Some("ok" | "tool error")) | ("failed", Some("error" | "tool error")) => true,
        (before, Some(after)) => before == after,
    }
}

fn recorded(handle: &TaskHandle, key: &RequestKey) -> Option<Answered> {
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
    for (key, request) in &before.requests {
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
    prop_assert_eq!(open, after.paused_since.is_some(), "A5: the clock stands while a person is asked");
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
    let something = handle.stop_due()
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
        let look = Observation { door: Door::Poll, created: None, begun: at(1_000), seen: at(1_000 + took), ..look };
        let pushed = at(1_000 + gap.min(took));
        let push = Observation { door: Door::Push, created: None, begun: pushed, seen: pushed, ..push };
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
            prop_assert_eq!(open(&one), open(&other), "rule 4, for questions");
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
    assert!(matches!(working().intent, Intent::None));
}
