//! Everything stored counts, has a limit of bytes and of number, and goes in the order in which it ended.

use domain::policy::RetentionPolicy;
use domain::ports::{Commit, Registry, Removal, StorageFacts};
use domain::raw_message::{Direction, RawMessage};
use domain::task::input_request::RequestState;
use domain::task::observation::LogLine;
use domain::task::payload::{Payload, PayloadKind, PayloadWrite};
use domain::task::status::Phase;
use domain::task::{HoldReason, ResultHold, TaskHandle};
use domain::time::Timestamp;

use super::super::fixtures::{ContractFixtures, commit_of, question};
use super::clean_all;

const FIXTURES: ContractFixtures = ContractFixtures::of(12);
/// Long after everything that other parts of the contract left.
const START: i64 = 500 * 86_400_000;
const NOW: Timestamp = Timestamp::from_millis(START + 10_000);

fn limits() -> RetentionPolicy {
    let small = RetentionPolicy { removed_at_once: 2, ..RetentionPolicy::default() };
    // Only size can be exceeded.
    RetentionPolicy { payload_age: small.task_age * 10, task_age: small.task_age * 10, ..small }
}

async fn facts(registry: &dyn Registry, limits: &RetentionPolicy) -> StorageFacts {
    registry.storage(limits.clone(), NOW).await.expect("figures can be read")
}

/// What was foretold goes, and nothing is left to go.
async fn clean_as_foretold(registry: &dyn Registry, limits: &RetentionPolicy) -> Removal {
    let due = facts(registry, limits).await.due;
    let gone = clean_all(registry, limits, NOW).await;
    assert_eq!((due.payload_tasks, due.payload_bytes, due.tasks), (gone.payload_tasks, gone.payload_bytes, gone.tasks));
    assert!(facts(registry, limits).await.due.is_nothing(), "then there is nothing left to remove");
    gone
}

/// Sums by owner, by kind and by task are one.
async fn check_sums(registry: &dyn Registry) {
    let used = registry.stored_use().await.expect("use can be read");
    let facts = facts(registry, &limits()).await;
    assert_eq!(used.iter().map(|used| used.bytes).sum::<u64>(), facts.content_bytes(), "every byte has an owner");
    assert_eq!(used.iter().map(|used| used.tasks).sum::<u64>(), facts.tasks.rows, "so has every task");
    let findings = registry.facts().await.expect("facts can be read").findings;
    assert_eq!(findings, Vec::<String>::new(), "and a recount of the rows finds the same");
}

/// A task with everything that is stored of one.
fn talkative(handle: &mut TaskHandle, phase: Phase, bytes: usize) -> Commit {
    let at = handle.created;
    let mut asked = question("asked", at.as_millis());
    asked.state = RequestState::Withdrawn { at, why: "x".repeat(bytes) };
    handle.requests.insert(asked.key.clone(), asked);
    let line = LogLine { at, status: "working".into(), text: "x".repeat(bytes) };
    let raw = RawMessage {
        at,
        direction: Direction::FromServer,
        about: "tasks/get".into(),
        body: Payload::new("x".repeat(bytes)),
        bytes: bytes as u64,
        cut: false,
    };
    let result = PayloadWrite { kind: PayloadKind::Result, payload: Some(Payload::new("x".repeat(bytes))) };
    Commit { payloads: vec![result], log: vec![line.clone(), line], raw: vec![raw], ..commit_of(handle, phase) }
}

pub(crate) async fn check(registry: &dyn Registry) {
    check_bytes(registry).await;
    check_numbers(registry).await;
    check_order_of_equals(registry).await;
    check_history(registry).await;
}

async fn check_bytes(registry: &dyn Registry) {
    let before = facts(registry, &limits()).await;
    for number in 1..=4 {
        let mut handle = FIXTURES.call(number, START + i64::try_from(number).expect("small"));
        handle.agent = Some(FIXTURES.agent(1));
        let phase = if number == 4 { Phase::Running } else { Phase::Done };
        registry.admit(talkative(&mut handle, phase, 1_000)).await.expect("admitted");
    }
    check_sums(registry).await;
    let stored = facts(registry, &limits()).await;
    for (now, before, kind) in [
        (stored.raw_messages, before.raw_messages, "raw messages"),
        (stored.questions, before.questions, "questions"),
        (stored.status_lines, before.status_lines, "status lines"),
        (stored.payloads, before.payloads, "payloads"),
    ] {
        assert!(now.bytes > before.bytes && now.rows >= before.rows + 4, "{kind} count: {now:?} after {before:?}");
    }
    let used = registry.stored_use().await.expect("use can be read");
    let its = used.iter().find(|used| used.agent == Some(FIXTURES.agent(1))).expect("the agent has an entry");
    assert_eq!(its.tasks, 4);

    let tight = RetentionPolicy { agent_payload_bytes: its.bytes - 1, ..limits() };
    let gone = clean_as_foretold(registry, &tight).await;
    assert_eq!((gone.payload_tasks, gone.tasks), (1, 0), "the oldest loses its contents, and stays");
    check_sums(registry).await;
    let oldest = registry.handle(FIXTURES.id(1)).await.expect("reads").expect("it stays");
    assert_eq!(oldest.requests.len(), 0, "its questions are gone");
    assert_eq!(registry.status_log(FIXTURES.id(1), 10).await, Ok(Vec::new()), "so is what its server said");
    assert_eq!(registry.raw_list(FIXTURES.id(1)).await.map(|list| list.len()), Ok(0), "and its messages");
    assert_eq!(registry.status_log(FIXTURES.id(2), 10).await.map(|lines| lines.len()), Ok(2), "the next has all");
    assert!(registry.commit(commit_of(&oldest, Phase::Done)).await.is_ok(), "it can be changed as any other");

    let tight = RetentionPolicy { server_payload_bytes: 1, ..limits() };
    clean_as_foretold(registry, &tight).await;
    let left = registry.status_log(FIXTURES.id(4), 10).await.map(|lines| lines.len());
    assert_eq!(left, Ok(2), "what is open keeps everything");
    check_sums(registry).await;
}

async fn check_numbers(registry: &dyn Registry) {
    // Tasks 11 to 16 of one agent, each created after and ended before the one before it; two of them must stay.
    for number in 11..=16 {
        let mut handle = FIXTURES.call(number, START + i64::try_from(number).expect("small"));
        handle.agent = Some(FIXTURES.agent(2));
        handle.changed = Timestamp::from_millis(START + 100 - i64::try_from(number).expect("small"));
        if number == 15 {
            handle.hold = Some(ResultHold { by: None, at: handle.created, why: HoldReason::Review, verdict: None });
        }
        let phase = if number == 16 { Phase::Running } else { Phase::Done };
        registry.admit(commit_of(&handle, phase)).await.expect("admitted");
    }
    let is_here = async |number| registry.handle(FIXTURES.id(number)).await.expect("reads").is_some();
    let left = async || {
        let mut left = Vec::new();
        for number in 11..=16 {
            if is_here(number).await {
                left.push(number);
            }
        }
        left
    };
    let tight = RetentionPolicy { agent_tasks: 4, ..limits() };
    assert_eq!(clean_as_foretold(registry, &tight).await.tasks, 2, "no more than has to");
    assert_eq!(left().await, [11, 12, 15, 16], "those that ended first went, whenever they were made");
    let tight = RetentionPolicy { server_tasks: 1, ..limits() };
    clean_as_foretold(registry, &tight).await;
    assert_eq!(left().await, [15, 16], "what is held or open stays whatever the limit");
    let tight = RetentionPolicy { tasks: 1, ..limits() };
    clean_as_foretold(registry, &tight).await;
    assert_eq!(left().await, [15, 16]);
    check_sums(registry).await;
}

/// Of tasks that ended in the same millisecond, the first admitted goes first: ids are random and order nothing.
async fn check_order_of_equals(registry: &dyn Registry) {
    for number in [23, 21, 22] {
        let mut handle = FIXTURES.call(number, START + 200);
        handle.agent = Some(FIXTURES.agent(3));
        registry.admit(commit_of(&handle, Phase::Done)).await.expect("admitted");
    }
    let tight = RetentionPolicy { agent_tasks: 2, ..limits() };
    clean_as_foretold(registry, &tight).await;
    assert_eq!(registry.handle(FIXTURES.id(23)).await, Ok(None), "the first admitted went");
    for number in [21, 22] {
        assert!(registry.handle(FIXTURES.id(number)).await.expect("reads").is_some(), "task {number} stays");
    }
    let tight = RetentionPolicy { server_tasks: 1, ..limits() };
    clean_as_foretold(registry, &tight).await;
}

/// Whatever happens to tasks, in whatever order, the sums are those of the rows.
async fn check_history(registry: &dyn Registry) {
    const TASKS: u64 = 12;
    // A history that is the same in every run: the step of a well-known generator (Knuth, MMIX).
    let mut state: u64 = 1;
    let mut draw = |most: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % most
    };
    for step in 0..150_u64 {
        let number = 100 + draw(TASKS);
        let known = registry.handle(FIXTURES.id(number)).await.expect("reads");
        let is_new = known.is_none();
        let mut handle = known.unwrap_or_else(|| {
            let created = START + 1_000 + i64::try_from(step).expect("small");
            let call = FIXTURES.call(number, created);
            let agent = draw(3);
            TaskHandle {
                agent: (agent > 0).then(|| FIXTURES.agent(agent)),
                server: FIXTURES.server(1 + number % 2),
                ..call
            }
        });
        let phase = if draw(2) == 0 { Phase::Running } else { Phase::Done };
        let mut unit = match draw(3) {
            0 => commit_of(&handle, phase),
            _ => talkative(&mut handle, phase, usize::try_from(draw(3_000)).expect("small")),
        };
        if draw(4) == 0 {
            unit.payloads = vec![PayloadWrite { kind: PayloadKind::Result, payload: None }];
        }
        if draw(4) == 0 {
            unit.handle.requests = domain::task::InputRequests::default();
        }
        let written = if is_new { registry.admit(unit).await } else { registry.commit(unit).await };
        written.expect("it is written");
        if draw(10) == 0 {
            let bytes = 1 + draw(40_000);
            let tight = RetentionPolicy { payload_bytes: bytes, agent_payload_bytes: bytes, ..limits() };
            clean_all(registry, &tight, NOW).await;
        }
        if draw(20) == 0 {
            clean_all(registry, &RetentionPolicy { agent_tasks: 1 + draw(4), ..limits() }, NOW).await;
        }
        if step % 20 == 0 {
            check_sums(registry).await;
        }
    }
    check_sums(registry).await;
}
