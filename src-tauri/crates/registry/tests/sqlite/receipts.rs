//! Receipts in the file: whoever changes, removes or puts in one is found, and what retention removes is told apart.

use std::time::Duration;

use domain::audit::receipt::{ReceiptOutcome, ReceiptVerdict};
use domain::ids::{AgentId, HandleId, ServerId};
use domain::policy::RetentionPolicy;
use domain::ports::{ArgumentsDigest, BrokenReceipt, Receipt, ReceiptBatch, ReceiptCheck, ReceiptStore, Registry};
use domain::task::payload::Payload;
use domain::time::Timestamp;
use registry::SqliteRegistry;

use crate::{Home, meddle};

const DAY_MS: i64 = 86_400_000;

fn receipt(number: i64) -> Receipt {
    Receipt {
        at: Timestamp::from_millis(number * 1_000),
        agent: AgentId::from_random(u128::try_from(number % 3).expect("a number")),
        server: Some(ServerId::from_random(9)),
        tool: "search_the_documentation".into(),
        arguments: Some(ArgumentsDigest::of(Payload::new(format!("{{\"page\":{number}}}")))),
        verdict: ReceiptVerdict::Allowed,
        outcome: ReceiptOutcome::Result,
        took: Duration::from_millis(12),
        bytes_in: 120,
        bytes_out: 4_321,
        handle: (number % 10 == 0).then(|| HandleId::from_random(5)),
    }
}

/// Batches of four receipts, one on each day from the first day of 1970.
async fn with_batches(home: &Home, batches: i64) -> SqliteRegistry {
    let registry = home.open().await;
    registry.begin_receipts(Timestamp::EPOCH).await.expect("a run begins");
    for batch in 0..batches {
        let at = Timestamp::from_millis(batch * DAY_MS);
        let receipts = (1..=4).map(|number| receipt(batch * 4 + number)).collect();
        let after = u64::try_from(batch * 4).expect("a number");
        let batch = ReceiptBatch { after, receipts, at, complete_to: at, missed: None };
        registry.put_receipts(batch).await.expect("they are stored");
    }
    registry
}

async fn check(registry: &SqliteRegistry) -> ReceiptCheck {
    let (mut all, mut after) = (ReceiptCheck::default(), 0);
    loop {
        let found = registry.check_receipts(after, 2).await.expect("it can be read");
        all.receipts += found.receipts;
        all.removed += found.removed;
        all.broken = found.broken;
        match found.next {
            Some(next) if all.broken.is_none() => after = next,
            _ => return all,
        }
    }
}

async fn broken_after(change: &str) -> Option<BrokenReceipt> {
    let home = Home::new();
    with_batches(&home, 5).await.close().await;
    meddle(&home.path(), change).await;
    let registry = home.open().await;
    check(&registry).await.broken
}

#[tokio::test]
async fn a_change_of_any_column_of_a_receipt_names_it() {
    for set in [
        "at = at + 1",
        "agent = 'agt_00000000000000000000000007'",
        "server = NULL",
        "tool = 'other'",
        "args_mark = NULL",
        "args_mark = x'00'",
        "verdict = 'halted'",
        "outcome = 'error'",
        "took_ms = took_ms + 1",
        "bytes_in = bytes_in + 1",
        "bytes_out = 0",
        "handle = 'hdl_1'",
        "leaf = x'0000000000000000'",
        "tool = x'ff'",
    ] {
        let broken = broken_after(&format!("UPDATE receipts SET {set} WHERE number = 7")).await;
        assert_eq!(broken.map(|broken| broken.number), Some(7), "{set}");
    }
}

#[tokio::test]
async fn receipts_and_batches_that_are_removed_put_in_or_exchanged_are_found() {
    assert_eq!(broken_after("SELECT 1").await, None, "nothing is wrong without a change");
    for (change, number) in [
        ("DELETE FROM receipts WHERE number = 7", 7),
        ("DELETE FROM receipts WHERE number = 20", 20),
        ("DELETE FROM receipts WHERE number = 1", 1),
        (
            "INSERT INTO receipts SELECT 21, at, agent, server, tool, args_mark, verdict, outcome, took_ms, bytes_in, bytes_out, \
          handle, leaf FROM receipts WHERE number = 20",
            21,
        ),
        ("DELETE FROM receipts WHERE number > 16; DELETE FROM receipt_batches WHERE number = 5", 17),
        ("DELETE FROM receipts WHERE number BETWEEN 9 AND 12; DELETE FROM receipt_batches WHERE number = 3", 13),
        ("DELETE FROM receipts WHERE number < 5; DELETE FROM receipt_batches WHERE number = 1", 1),
        ("UPDATE receipt_batches SET root = zeroblob(32) WHERE number = 2", 5),
        ("UPDATE receipt_batches SET last = 7 WHERE number = 2", 5),
        ("UPDATE receipt_batches SET removed = 1, mark = zeroblob(32) WHERE number = 2", 5),
        ("UPDATE receipt_batches SET audit_number = audit_number + 1 WHERE number = 2", 5),
        (
            "UPDATE receipts SET number = -1 WHERE number = 5; UPDATE receipts SET number = 5 WHERE number = 6; \
          UPDATE receipts SET number = 6 WHERE number = -1",
            5,
        ),
    ] {
        let broken = broken_after(change).await;
        assert_eq!(broken.as_ref().map(|broken| broken.number), Some(number), "{change}: {broken:?}");
    }
    let batches =
        "UPDATE receipts SET tool = 'other' WHERE number = 7; UPDATE receipts SET leaf = x'00' WHERE number = 7";
    assert_eq!(
        broken_after(batches).await.map(|broken| broken.number),
        Some(7),
        "the stored beginning of a leaf helps"
    );
}

#[tokio::test]
async fn retention_removes_old_receipts_and_keeps_their_roots() {
    let home = Home::new();
    let registry = with_batches(&home, 10).await;
    let limits = RetentionPolicy { receipt_age: Duration::from_secs(5 * 86_400), ..RetentionPolicy::default() };
    let now = Timestamp::from_millis(10 * DAY_MS);
    let due = registry.storage(limits.clone(), now).await.expect("figures");
    assert_eq!((due.receipts.rows, due.due.receipts), (40, 20), "five batches of four are over their age");
    let mut removed = 0;
    loop {
        let step = registry.clean(limits.clone(), now).await.expect("it cleans");
        if step.is_nothing() {
            break;
        }
        removed += step.receipts;
    }
    assert_eq!(removed, 20);
    let found = check(&registry).await;
    assert_eq!((found.broken, found.receipts, found.removed), (None, 20, 20), "what is left holds");
    let few = RetentionPolicy { receipts: 6, ..RetentionPolicy::default() };
    while !registry.clean(few.clone(), now).await.expect("it cleans").is_nothing() {}
    let left = registry.storage(few, now).await.expect("figures").receipts.rows;
    assert_eq!(left, 8, "so many are kept, and whole batches");
    let next = ReceiptBatch { after: 40, receipts: [receipt(41)].into(), at: now, complete_to: now, missed: None };
    assert_eq!(registry.put_receipts(next).await, Ok(41), "numbers go on");
    registry.close().await;
    meddle(&home.path(), "UPDATE receipt_batches SET removed = removed + 1 WHERE number = 3").await;
    let registry = home.open().await;
    let broken = check(&registry).await.broken;
    assert_eq!(broken.map(|broken| broken.number), Some(9), "a removal that was not ours is found");
}

#[tokio::test]
async fn a_receipt_takes_less_than_300_bytes_of_the_file() {
    const BATCHES: u64 = 80;
    let home = Home::new();
    let registry = home.open().await;
    registry.begin_receipts(Timestamp::EPOCH).await.expect("a run begins");
    let before = registry.facts().await.expect("facts").bytes;
    for batch in 0..BATCHES {
        let receipts =
            (1..=256).map(|number| receipt(i64::try_from(batch).unwrap_or_default() * 256 + number)).collect();
        let (after, at) = (batch * 256, Timestamp::from_millis(1));
        let batch = ReceiptBatch { after, receipts, at, complete_to: at, missed: None };
        registry.put_receipts(batch).await.expect("they are stored");
    }
    let bytes = registry.facts().await.expect("facts").bytes - before;
    let each = bytes / (BATCHES * 256);
    println!("{each} bytes for each of {} receipts", BATCHES * 256);
    assert!(each < 300, "{each} bytes for each receipt, rows of the audit log and indexes included");
}

#[tokio::test]
async fn receipts_are_verified_again_in_rounds_and_a_forged_place_does_not_count() {
    let home = Home::new();
    let registry = with_batches(&home, 6).await;
    for next in [Some(2), Some(4), Some(6), None, Some(2), Some(4)] {
        let found = registry.recheck_receipts(None, 2).await.expect("it can be read");
        assert_eq!((found.next, found.broken), (next, None));
    }
    registry.close().await;
    meddle(&home.path(), "UPDATE receipts SET bytes_in = bytes_in + 1 WHERE number = 20").await;
    let registry = home.open().await;
    let found = registry.recheck_receipts(None, 2).await.expect("it can be read");
    assert_eq!(found.broken.map(|broken| broken.number), Some(20), "the round goes on with batch 5");
    registry.close().await;
    meddle(&home.path(), "UPDATE store SET reverified_batch = 5").await;
    let registry = home.open().await;
    let found = registry.recheck_receipts(None, 2).await.expect("it can be read");
    assert_eq!(
        (found.next, found.broken),
        (Some(2), None),
        "a place that nobody with the key wrote begins the round anew"
    );
    registry.close().await;
}

#[tokio::test]
async fn batches_are_read_by_ranges_and_each_has_its_own_receipts() {
    for change in ["SELECT 1", "UPDATE receipts SET tool = CAST(tool AS BLOB) WHERE number = 6"] {
        let home = Home::new();
        with_batches(&home, 6).await.close().await;
        meddle(&home.path(), change).await;
        let registry = home.open().await;
        let found = registry.receipt_batches(vec![1, 2, 4, 6, 99]).await.expect("they are read");
        let read: Vec<(u64, Vec<u64>)> = found
            .iter()
            .map(|batch| (batch.audit_number, batch.receipts.iter().map(|receipt| receipt.number).collect()))
            .collect();
        let expected = [1, 2, 4, 6].map(|row| (row, (row * 4 - 3..=row * 4).collect::<Vec<u64>>()));
        assert_eq!(read, expected, "{change}: row 3 was not asked for, and row 99 is not there");
        let misfits = found.iter().flat_map(|batch| &batch.receipts).filter(|receipt| !receipt.fits).count();
        assert_eq!(misfits, usize::from(change.starts_with("UPDATE")), "{change}");
        registry.close().await;
    }
}

#[tokio::test]
async fn batches_of_any_size_are_stored_whole_and_in_order() {
    let home = Home::new();
    let registry = home.open().await;
    registry.begin_receipts(Timestamp::EPOCH).await.expect("a run begins");
    let mut stored = 0;
    for size in [1, 7, 8, 9, 63, 64, 65, 137, 256] {
        let receipts = (1..=size).map(|number| receipt(stored + number)).collect();
        let (after, at) = (u64::try_from(stored).expect("a number"), Timestamp::from_millis(1));
        let batch = ReceiptBatch { after, receipts, at, complete_to: at, missed: None };
        registry.put_receipts(batch).await.expect("they are stored");
        stored += size;
        let found = check(&registry).await;
        assert_eq!((found.receipts, found.broken), (u64::try_from(stored).expect("a number"), None));
    }
}
