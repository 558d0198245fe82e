//! What is stored is counted, retention removes the right things, and the audit chain is verified.

pub(super) mod checkpoints;
pub(super) mod shares;
pub(super) mod sinks;

use domain::audit::Verb;
use domain::ids::UpstreamTaskId;
use domain::policy::RetentionPolicy;
use domain::ports::{Commit, KnownTask, Recording, Registry, Removal};
use domain::task::payload::{Payload, PayloadKind, PayloadWrite};
use domain::task::status::Phase;
use domain::task::{HoldReason, ResultHold, TaskHandle};
use domain::time::Timestamp;

use super::fixtures::{ContractFixtures, commit_of};

const FIXTURES: ContractFixtures = ContractFixtures::of(9);
const DAY: i64 = 86_400_000;

fn with_result(handle: &TaskHandle, phase: Phase) -> Commit {
    let result = PayloadWrite { kind: PayloadKind::Result, payload: Some(Payload::new("x".repeat(10_000))) };
    Commit { payloads: vec![result], audit: vec![FIXTURES.fact(1, Verb::Ended, "ended")], ..commit_of(handle, phase) }
}

/// Limits that only age can exceed.
fn limits() -> RetentionPolicy {
    RetentionPolicy { segment_rows: 16, removed_at_once: 2, ..RetentionPolicy::default() }
}

async fn clean_all(registry: &dyn Registry, limits: &RetentionPolicy, now: Timestamp) -> Removal {
    let mut all = Removal::default();
    loop {
        let removed = registry.clean(limits.clone(), now).await.expect("clean-up works");
        if removed.is_nothing() {
            return all;
        }
        all = all.and(removed);
    }
}

async fn is_stored(registry: &dyn Registry, number: u64) -> bool {
    registry.payload(FIXTURES.id(number), PayloadKind::Result).await.expect("payloads can be read").is_some()
}

pub(crate) async fn check(registry: &dyn Registry) {
    assert_eq!(registry.recording(), Recording::Possible, "a sound registry records");
    assert_eq!(registry.try_recording().await, Recording::Possible);
    check_audit_check(registry).await;
    check_retention(registry).await;
    check_audit_check(registry).await;
}

async fn check_audit_check(registry: &dyn Registry) {
    let mut after = None;
    let mut rows = 0;
    loop {
        let check = registry.verify_audit(after, 50).await.expect("the chain can be read");
        assert_eq!(check.broken, None, "the chain is whole");
        rows += check.rows;
        after = Some(check.upto);
        if check.is_complete() {
            break;
        }
    }
    assert!(rows > 50, "there was something to verify: {rows}");
    assert_eq!(registry.audit_verified().await, Ok(after), "how far it was verified is remembered");
    let again = registry.reverify_audit(None, u32::MAX).await.expect("the chain can be read again");
    assert_eq!((Some(again.upto), Some(again.end), again.broken), (after, after, None), "up to there it fits again");
}

async fn check_retention(registry: &dyn Registry) {
    let start = registry.storage(limits(), Timestamp::from_millis(0)).await.expect("figures can be read");
    assert!(start.due.is_nothing(), "nothing is old at the beginning of time: {:?}", start.due);
    // Six tasks ended long ago; one of them is held, one not delivered, and one is still open.
    for number in 1..=6 {
        let at = i64::try_from(number).expect("fits");
        let mut handle = if number == 5 { FIXTURES.task(5, at, "listed") } else { FIXTURES.call(number, at) };
        match number {
            2 => {
                handle.agent = Some(FIXTURES.agent(1));
                handle.hold = Some(ResultHold { by: None, at: handle.created, why: HoldReason::Review, verdict: None });
            }
            3 => {
                handle.agent = Some(FIXTURES.agent(1));
                handle.undelivered = Some(Timestamp::from_millis(3));
            }
            _ => {}
        }
        let phase = if number == 4 { Phase::Running } else { Phase::Done };
        registry.admit(with_result(&handle, phase)).await.expect("admitted");
    }
    let stored = registry.storage(limits(), Timestamp::from_millis(0)).await.expect("figures can be read");
    assert!(stored.payloads.bytes >= start.payloads.bytes + 60_000, "their payloads are counted: {stored:?}");
    assert_eq!(stored.kept_payloads.rows, start.kept_payloads.rows + 3, "three of them stay whatever the limit");
    let used: u64 = registry.stored_use().await.expect("use can be read").iter().map(|used| used.bytes).sum();
    assert_eq!(used, stored.content_bytes(), "what agents and servers use is all there is");

    // Over the size by a little: the oldest goes, and no more than has to.
    let tight = RetentionPolicy { payload_bytes: stored.content_bytes() - 1, ..limits() };
    let tight = RetentionPolicy { agent_payload_bytes: tight.payload_bytes, server_payload_bytes: u64::MAX, ..tight };
    let now = Timestamp::from_millis(10);
    let due = registry.storage(tight.clone(), now).await.expect("figures can be read").due;
    let gone = clean_all(registry, &tight, now).await;
    assert_eq!(gone.payload_tasks, 1, "one is enough: {gone:?}");
    assert_eq!(due, gone, "what was said to go went");

    // Far over the size, within the hour: a reply that may still be asked for stays, like what is held or open.
    let small = RetentionPolicy { payload_bytes: 1, agent_payload_bytes: 1, server_payload_bytes: 1, ..limits() };
    clean_all(registry, &small, Timestamp::from_millis(limits().undelivered_for.as_millis().try_into().expect("fits")))
        .await;
    assert!(is_stored(registry, 3).await, "a repeated call may still ask for it");

    // Older than 30 days: everything but what is held or open; nobody asks for the reply any more.
    let now = Timestamp::from_millis(31 * DAY);
    let due = registry.storage(limits(), now).await.expect("figures can be read").due;
    let gone = clean_all(registry, &limits(), now).await;
    assert_eq!((due.payload_tasks, due.payload_bytes), (gone.payload_tasks, gone.payload_bytes), "it is foretold");
    let mut left = Vec::new();
    for number in 1..=6 {
        if is_stored(registry, number).await {
            left.push(number);
        }
    }
    assert_eq!(left, [2, 4], "held and open ones keep theirs");
    assert!(registry.handle(FIXTURES.id(1)).await.expect("reads").is_some(), "the task itself is still there");

    // Older than 400 days: the tasks go, and audit rows in whole segments.
    let now = Timestamp::from_millis(401 * DAY);
    let due = registry.storage(limits(), now).await.expect("figures can be read").due;
    let gone = clean_all(registry, &limits(), now).await;
    assert_eq!(due.tasks, gone.tasks, "it is foretold");
    assert_eq!(registry.handle(FIXTURES.id(1)).await, Ok(None), "an old task is gone");
    let find = |task: &str| registry.find_task(FIXTURES.server(1), 0, None, UpstreamTaskId::new(task));
    assert_eq!(find("listed").await, Ok(Some(KnownTask::Removed)), "what was removed is no new task");
    assert_eq!(find("unheard of").await, Ok(None));
    for number in [2, 4] {
        assert!(registry.handle(FIXTURES.id(number)).await.expect("reads").is_some(), "task {number} stays");
    }
    assert_eq!(gone.audit_rows % 16, 0, "whole segments only: {gone:?}");
    let after = registry.storage(limits(), now).await.expect("figures can be read");
    assert_eq!(after.removed_segments, gone.audit_rows / 16, "each leaves a tombstone");
    assert!(after.due.is_nothing(), "then there is nothing left to remove: {:?}", after.due);
    while registry.shrink(false).await.expect("space is given back") {}
}
