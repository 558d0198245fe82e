//! Random histories: what servers say, people want and connections do, and how a handle takes it.

use proptest::prelude::*;

use super::*;
use crate::server::ServerAct;
use crate::task::MissCount;
use crate::task::observation::Progress;
use crate::task::status::{Delivery, GoneWhy, Miss, Needs};

/// Something that happens to a handle.
#[derive(Debug, Clone)]
pub(crate) enum Happening {
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
        1 => Just(TaskStatus::Completed(Outcome::FailedWithResult(stored))),
        1 => Just(TaskStatus::Completed(Outcome::NotFetched)),
        1 => Just(TaskStatus::Completed(Outcome::Error(rpc_error()))),
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
pub(crate) fn any_observation() -> impl Strategy<Value = Observation> {
    let door = prop_oneof![4 => Just(ObservationDoor::Poll), 2 => Just(ObservationDoor::Push), 1 => Just(ObservationDoor::List)];
    let keys = prop::option::weighted(0.6, prop::collection::btree_set("[a-c]", 0..3));
    let words = prop::option::of("[xy]");
    let clocks = (prop::option::weighted(0.1, 0_i64..5_000), prop::option::of(0_i64..50));
    (door, any_status(), words, clocks, any_ttl(), keys, 0_i64..3_000, any::<bool>()).prop_map(
        |(door, status, message, (created, updated), ttl, keys, took, odd)| Observation {
            door,
            begun: at(if door == ObservationDoor::Push { 0 } else { -took }),
            seen: at(0),
            asks_raw: BTreeMap::new(),
            task_raw: None,
            payload: status.is_terminal().then(|| Payload::new("{}")),
            raw: None,
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

pub(crate) fn any_happening() -> impl Strategy<Value = Happening> {
    let small = 0_u8..3;
    prop_oneof![
        12 => any_observation().prop_map(|observation| Happening::Seen { observation: Box::new(observation) }),
        4 => (0_u8..4, 0_u32..6, 0_u32..5)
            .prop_map(|(miss, failures, unknown)| Happening::Missed { miss, failures, unknown }),
        1 => Just(Happening::Blocked),
        1 => (0_u8..7).prop_map(|why| Happening::Gone { why }),
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
pub(crate) fn any_history() -> impl Strategy<Value = Vec<(i64, Happening)>> {
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
pub(crate) fn perform(handle: &TaskHandle, happening: &Happening, now: Timestamp) -> Transition {
    let policy = policy();
    let nothing = || Transition::none(handle);
    match happening {
        Happening::Seen { observation } => handle.observe(&placed(observation, now), &policy),
        Happening::Missed { miss, failures, unknown } => {
            let miss = match miss {
                0 => Miss::Unreachable("refused".into()),
                1 => Miss::UnknownTask,
                2 => Miss::Unreadable { path: "$".into(), why: "not JSON".into() },
                _ => Miss::Refused(rpc_error()),
            };
            let count = MissCount { failures: *failures, unknown: *unknown, interval: Duration::from_millis(100) };
            handle.missed(&miss, &count, now, &policy)
        }
        Happening::Blocked => handle.blocked(&Needs::SignIn("token".into()), now),
        Happening::Gone { why } => handle.gone(&gone_why(*why), now),
        Happening::Replied { reply, updated, status } => {
            let seen = Observation {
                door: ObservationDoor::Create,
                updated: updated.map(at),
                ..sight(status.clone(), now.as_millis())
            };
            handle.replied(&any_reply(*reply, seen), &home(), now, &policy)
        }
        Happening::Resumed => handle.resumed(HOST, now),
        Happening::Promoted => handle.promoted(now),
        Happening::NotSent => handle.not_sent("no connection", now),
        Happening::ReplyLost => handle.reply_lost("gone", now),
        Happening::CallStopped => handle.call_cancelled(now),
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
        Happening::Cancel => handle.cancel(ann(), None, now).unwrap_or_else(|_| nothing()),
        Happening::Revoke => handle.revoke(ben(), Some("out"), now).unwrap_or_else(|_| nothing()),
        Happening::Unwatch => handle.unwatch(&ann(), None, now).unwrap_or_else(|_| nothing()),
        Happening::StopStep { step } => handle.cancel_step(&delivery(*step, now), now),
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
        4 => GoneWhy::EndedByPerson { by: ann(), act: ServerAct::Restart },
        5 => GoneWhy::OutOfReach("a copy".into()),
        _ => GoneWhy::ServerRemoved,
    }
}

fn any_reply(which: u8, seen: Observation) -> CallReply {
    let questions = |pairs: &[(&str, Ask)]| asks(pairs);
    match which {
        0 => CallReply::Result { payload: Payload::new("{}"), is_error: false },
        1 => CallReply::Error { error: rpc_error(), payload: Payload::new("{}") },
        2 => needs_input(questions(&[("a", form())]), Some(Payload::new("1"))),
        3 => needs_input(questions(&[]), None),
        _ => task_reply(seen),
    }
}

/// The observation at its moment.
pub(crate) fn placed(observation: &Observation, now: Timestamp) -> Observation {
    let begun = at(now.as_millis() + observation.begun.as_millis());
    Observation { begun, seen: now, ..observation.clone() }
}
