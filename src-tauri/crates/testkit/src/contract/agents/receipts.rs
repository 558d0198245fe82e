//! Receipts are stored once, in batches that the audit log vouches for, and a run that did not end is told by the next.

use std::time::Duration;

use domain::audit::receipt::{MissedReceipts, ReceiptOutcome, ReceiptVerdict};
use domain::ids::{AgentId, HandleId, ServerId};
use domain::ports::{
    ArgumentsDigest, AuditFilter, AuditOrder, AuditQuery, Receipt, ReceiptBatch, ReceiptFilter, ReceiptQuery, Registry,
};
use domain::task::payload::Payload;
use domain::time::Timestamp;

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(9_800_000 + millis)
}

fn receipt(millis: i64, agent: u128, tool: &str) -> Receipt {
    Receipt {
        at: at(millis),
        agent: AgentId::from_random(agent),
        server: Some(ServerId::from_random(88)),
        tool: tool.into(),
        arguments: Some(ArgumentsDigest::of(Payload::new("{\"a\":1,\"b\":2}"))),
        verdict: ReceiptVerdict::Allowed,
        outcome: ReceiptOutcome::Result,
        took: Duration::from_millis(7),
        bytes_in: 13,
        bytes_out: 300,
        handle: None,
    }
}

fn batch(after: u64, receipts: Vec<Receipt>) -> ReceiptBatch {
    ReceiptBatch { after, receipts: receipts.into(), at: at(100), complete_to: at(90), missed: None }
}

async fn notes(registry: &dyn Registry, verb: &str) -> Vec<String> {
    let filter = AuditFilter { verbs: vec![verb.into()], ..AuditFilter::default() };
    let query = AuditQuery { filter, order: AuditOrder::OldestFirst, behind: None, limit: 100 };
    let rows = registry.audit_rows(query).await.expect("rows").rows;
    rows.into_iter().filter_map(|row| row.note).collect()
}

async fn numbers(registry: &dyn Registry, filter: ReceiptFilter, before: Option<u64>, limit: u32) -> Vec<u64> {
    let page = registry.receipts(ReceiptQuery { filter, before, limit }).await.expect("a page");
    page.rows.iter().map(|row| row.number).collect()
}

pub(crate) async fn check(registry: &dyn Registry) {
    assert_eq!(registry.begin_receipts(at(0)).await, Ok(0), "there is no receipt");
    assert!(notes(registry, "receiptsMissing").await.is_empty(), "and nothing can be missing");
    let arguments = Some(ArgumentsDigest::of(Payload::new("{\"b\":2, \"a\":1}")));
    let other_order = Receipt { arguments, ..receipt(2, 91, "search") };
    let refused = Receipt {
        server: None,
        arguments: None,
        verdict: ReceiptVerdict::UnknownTool,
        outcome: ReceiptOutcome::Refused,
        ..receipt(3, 92, "no such \"tool\"")
    };
    let first = batch(0, vec![receipt(1, 91, "search"), other_order, refused]);
    assert_eq!(registry.put_receipts(first.clone()).await, Ok(3), "they are numbered from 1");
    assert_eq!(registry.put_receipts(first).await, Ok(3), "and are not stored a second time");
    let task = HandleId::from_random(77);
    let became_task = Receipt { outcome: ReceiptOutcome::Task, handle: Some(task), ..receipt(4, 91, "build") };
    let missed = Some(MissedReceipts { count: 5, first: at(3), last: at(4) });
    let second = ReceiptBatch { missed, ..batch(3, vec![became_task]) };
    assert_eq!(registry.put_receipts(second).await, Ok(4));

    let page = registry.receipts(ReceiptQuery { filter: ReceiptFilter::default(), before: None, limit: 10 }).await;
    let page = page.expect("a page");
    assert_eq!((page.first, page.last, page.next), (1, 4, None));
    assert!(page.rows.iter().all(|row| row.fits), "each is what was hashed");
    let [task_row, refused_row, second_row, first_row] = &page.rows[..] else { panic!("four receipts: {page:#?}") };
    assert_eq!((first_row.at, first_row.took_ms, first_row.bytes_in, first_row.bytes_out), (at(1), 7, 13, 300));
    assert_eq!(first_row.args_mark, second_row.args_mark, "equal arguments have equal marks, whatever their order");
    assert_eq!(first_row.args_mark.as_ref().map(Vec::len), Some(16));
    assert_eq!((refused_row.server.as_str(), refused_row.args_mark.as_ref()), ("", None));
    assert_eq!((refused_row.verdict.as_str(), refused_row.outcome.as_str()), ("unknownTool", "refused"));
    assert_eq!(task_row.handle, task.to_string());

    let by = ReceiptFilter::default;
    let of_agent = ReceiptFilter { agent: Some(AgentId::from_random(91)), ..by() };
    assert_eq!(numbers(registry, of_agent.clone(), None, 10).await, [4, 2, 1]);
    assert_eq!(numbers(registry, of_agent.clone(), None, 2).await, [4, 2]);
    assert_eq!(numbers(registry, of_agent, Some(2), 2).await, [1], "a page goes on where the one before ended");
    assert_eq!(numbers(registry, ReceiptFilter { tool: Some("build".into()), ..by() }, None, 10).await, [4]);
    assert_eq!(numbers(registry, ReceiptFilter { task: Some(task), ..by() }, None, 10).await, [4]);
    assert_eq!(numbers(registry, ReceiptFilter { outcomes: vec!["refused".into()], ..by() }, None, 10).await, [3]);
    assert_eq!(
        numbers(registry, ReceiptFilter { verdicts: vec!["allowed".into()], ..by() }, None, 10).await,
        [4, 2, 1]
    );
    let within = ReceiptFilter { since: Some(at(2)), until: Some(at(4)), ..by() };
    assert_eq!(numbers(registry, within, None, 10).await, [3, 2]);
    let on_server = ReceiptFilter { server: Some(ServerId::from_random(88)), first: Some(2), last: Some(3), ..by() };
    assert_eq!(numbers(registry, on_server, None, 10).await, [2]);

    let called = notes(registry, "called").await;
    let [first_batch, second_batch] = &called[..] else { panic!("each batch has one row: {called:?}") };
    assert!(first_batch.starts_with("receipts 1 to 3, 3 in all, root "), "{called:?}");
    assert!(second_batch.starts_with("receipts 4 to 4, 1 in all, root "), "{called:?}");
    let missing = notes(registry, "receiptsMissing").await;
    assert_eq!(
        missing,
        [format!("5 calls answered from {} to {}: too many receipts waited to be stored", at(3), at(4))]
    );
    let check = registry.check_receipts(0, 100).await.expect("it is checked");
    assert_eq!((check.batches, check.receipts, check.broken, check.next), (2, 4, None, None), "both hold");

    assert_eq!(registry.begin_receipts(at(500)).await, Ok(4), "a run begins that was not ended");
    let missing = notes(registry, "receiptsMissing").await;
    let told =
        format!("calls answered from {} to {} may have no receipt: the core ended without a shutdown", at(90), at(500));
    assert_eq!(missing.last(), Some(&told), "and its first row names the time");
    assert_eq!(registry.end_receipts().await, Ok(()));
    assert_eq!(registry.begin_receipts(at(600)).await, Ok(4));
    assert_eq!(notes(registry, "receiptsMissing").await.len(), 2, "one that ended lost nothing");
    assert_eq!(registry.end_receipts().await, Ok(()));
}
