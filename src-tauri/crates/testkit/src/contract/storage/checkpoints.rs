//! The tree grows with the rows, checkpoints read back and hold against them, and a key is retired by the next one.

use domain::audit::{Actor, AuditEvent, Subject, Verb};
use domain::ids::PersonId;
use domain::ports::{
    AuditFilter, Checkpoint, CheckpointUnit, EpochUnit, LeafSpan, LogEpoch, LogHead, Registry, TreeStart, UnsignedRows,
};
use domain::time::Timestamp;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millis(9_900_000 + seconds * 1_000)
}

fn fact(actor: Actor, note: &str) -> AuditEvent {
    AuditEvent { at: at(0), actor, verb: Verb::StorageChanged, subject: Subject::Store, note: note.into() }
}

fn unit(head: &LogHead, key: &str, seconds: i64) -> CheckpointUnit {
    let (size, root) = (head.size, head.root);
    let checkpoint = Checkpoint { size, root, note: format!("note of {size}"), at: at(seconds), key: key.into() };
    CheckpointUnit { checkpoint, public: format!("log+{key}+base64"), audit: Vec::new() }
}

async fn grown(registry: &dyn Registry) -> LogHead {
    loop {
        let grown = registry.grow_tree(700).await.expect("the tree grows");
        if grown.head.size == grown.last {
            return grown.head;
        }
    }
}

pub(crate) async fn check(registry: &dyn Registry) {
    let before = grown(registry).await;
    assert_eq!(grown(registry).await, before, "without a new row the tree stays as it is");
    registry.put_checkpoint(unit(&before, "one", 1)).await.expect("it is stored");
    assert_eq!(registry.unsigned_rows(10).await, Ok(UnsignedRows::default()), "every row is covered");

    let steps: Vec<AuditEvent> = (0..600).map(|step| fact(Actor::System("test"), &step.to_string())).collect();
    registry.record(steps).await.expect("rows");
    let unsigned = registry.unsigned_rows(10).await.expect("reads");
    assert_eq!((unsigned.rows, unsigned.has_decision, unsigned.since), (600, false, Some(at(0))));
    registry.record(vec![fact(Actor::Person(PersonId::new("ada")), "decided")]).await.expect("a row");
    assert!(registry.unsigned_rows(10).await.expect("reads").has_decision, "a decision wants a checkpoint");

    let head = grown(registry).await;
    assert_eq!((head.size, &head.origin), (before.size + 601, &before.origin));
    let whole = LeafSpan { begin: 0, end: head.size };
    let (split, half) = (head.size.next_power_of_two() / 2, before.size);
    let spans = vec![whole, LeafSpan { begin: 0, end: half }, LeafSpan { begin: 0, end: split }];
    let roots = registry.tree_roots(spans).await.expect("roots");
    assert_eq!(roots.first(), Some(&Some(head.root)), "the root over all rows is that of the head");
    assert_eq!(roots.get(1), Some(&Some(before.root)), "and that over the first rows is the earlier one");
    let beyond = registry.tree_roots(vec![LeafSpan { begin: 0, end: head.size + 1 }]).await;
    assert_eq!(beyond, Ok(vec![None]), "there is no root over rows that are not there");

    registry.put_checkpoint(unit(&head, "two", 2)).await.expect("it is stored");
    let newest = registry.checkpoints(5).await.expect("checkpoints");
    assert_eq!(newest.iter().map(|one| one.size).collect::<Vec<_>>(), [head.size, before.size], "the newest is first");
    assert_eq!(newest.first(), Some(&unit(&head, "two", 2).checkpoint), "and reads back as it was stored");
    let keys = registry.log_keys().await.expect("keys");
    let told: Vec<_> = keys.iter().map(|key| (key.id.as_str(), key.created, key.retired)).collect();
    assert_eq!(told, [("two", at(2), None), ("one", at(1), Some(at(2)))], "a new key retires the one before");

    let all = AuditFilter { first: Some(before.size + 1), ..AuditFilter::default() };
    assert_eq!(registry.audit_count(all.clone(), head.size).await, Ok(601));
    let of_person = AuditFilter { actor: Some("person".into()), ..all };
    assert_eq!(registry.audit_count(of_person.clone(), head.size).await, Ok(1));
    assert_eq!(registry.audit_count(of_person, head.size - 1).await, Ok(0), "rows behind the last are not counted");

    let epoch = LogEpoch::of(&head.origin);
    let origin = epoch.next_origin(0);
    let said = AuditEvent { verb: Verb::EpochBegun, ..fact(Actor::Person(PersonId::new("ada")), "an older copy") };
    assert_eq!(registry.signing_fault(head.clone()).await, Ok(None), "the rows lead to the head");
    registry.rebuild_tree().await.expect("it is built");
    assert_eq!(grown(registry).await, head, "the tree of the rows is the one that grew");
    let unit = EpochUnit { origin: origin.clone(), size: head.size, root: head.root, audit: vec![said] };
    registry.begin_epoch(unit).await.expect("it begins");
    let later = grown(registry).await;
    assert_eq!((&later.origin, later.size), (&origin, head.size + 1), "the name is new, and one row says so");
    assert_eq!(registry.signing_fault(later).await, Ok(None), "and the epoch can be signed");
    let found = registry.check_tree(TreeStart::Recent, 10).await.expect("reads");
    assert_eq!(found.epoch, epoch.number + 1);
}
