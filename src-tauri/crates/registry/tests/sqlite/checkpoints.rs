//! Checkpoints against a registry that somebody changed, and the tree over rows that retention removed.

use domain::audit::{Actor, AuditEvent, Subject, Verb};
use domain::policy::RetentionPolicy;
use domain::ports::{
    Checkpoint, CheckpointStore as _, CheckpointUnit, EpochUnit, LeafSpan, LogEpoch, LogHead, Registry as _, TreeCheck,
    TreeStart,
};
use domain::time::Timestamp;
use registry::SqliteRegistry;
use verify::note::{NoteKey, SignedNote, SigningKey, TreeHead, epoch_of};

use super::{Home, meddle};

async fn record(registry: &SqliteRegistry, rows: u64) {
    let fact = |step: u64| AuditEvent {
        at: Timestamp::from_millis(1_000),
        actor: Actor::System("test"),
        verb: Verb::StorageChanged,
        subject: Subject::Store,
        note: step.to_string(),
    };
    registry.record((0..rows).map(fact).collect()).await.expect("rows");
}

async fn grown(registry: &SqliteRegistry) -> LogHead {
    loop {
        let grown = registry.grow_tree(70).await.expect("the tree grows");
        if grown.head.size == grown.last {
            return grown.head;
        }
    }
}

/// Signs what is there with the key of this number.
async fn sign(registry: &SqliteRegistry, key: u8) -> u64 {
    let LogHead { origin, size, root } = grown(registry).await;
    let key = SigningKey::from_bytes(&[key; 32]);
    let public = NoteKey::of(&origin, &key);
    let text = TreeHead { origin, size, root }.to_string();
    let note = SignedNote::sign(&text, public.name(), &key).to_string();
    let checkpoint = Checkpoint { size, root, note, at: Timestamp::from_millis(2_000), key: public.id() };
    let unit = CheckpointUnit { checkpoint, public: public.to_string(), audit: Vec::new() };
    registry.put_checkpoint(unit).await.expect("it is stored");
    size
}

/// Compares all checkpoints, with so many rows in each stretch.
async fn compared(registry: &SqliteRegistry, rows: u32) -> TreeCheck {
    let (mut start, mut compared) = (TreeStart::First, 0);
    loop {
        let found = registry.check_tree(start, rows).await.expect("it can be read");
        compared += found.compared;
        match found.next.clone() {
            Some(next) => start = TreeStart::After(next),
            None => return TreeCheck { compared, ..found },
        }
    }
}

async fn signed_log(home: &Home) -> SqliteRegistry {
    let registry = home.open().await;
    record(&registry, 300).await;
    assert_eq!(sign(&registry, 1).await, 300);
    record(&registry, 300).await;
    assert_eq!(sign(&registry, 2).await, 600, "a second key signs, too");
    registry
}

#[tokio::test]
async fn checkpoints_hold_against_the_rows_whatever_the_stretches() {
    let home = Home::new();
    let registry = signed_log(&home).await;
    for rows in [1_000, 300, 100, 7] {
        let found = compared(&registry, rows).await;
        assert_eq!((found.compared, found.newest, found.broken), (2, 600, None), "in stretches of {rows}");
    }
    record(&registry, 5).await;
    let recent = registry.check_tree(TreeStart::Recent, 200).await.expect("it can be read");
    assert_eq!((recent.compared, recent.broken), (1, None), "the recent ones begin at the checkpoint of row 300");
}

/// Compares the rows of a range, with 200 rows in each stretch.
async fn compared_range(registry: &SqliteRegistry, first: u64, last: u64) -> TreeCheck {
    let mut start = TreeStart::Before(first);
    loop {
        let found = registry.check_tree(start, 200).await.expect("it can be read");
        let is_proven = found.proven.is_some_and(|(size, _)| size >= last);
        match found.next.clone() {
            Some(next) if found.broken.is_none() && !is_proven => start = TreeStart::After(next),
            _ => return found,
        }
    }
}

#[tokio::test]
async fn rows_of_a_range_are_compared_without_those_before_and_behind_it() {
    for (changed, broken) in [(100, None), (700, Some(1_200)), (1_700, None)] {
        let home = Home::new();
        let registry = home.open().await;
        for size in [600, 1_200, 1_800] {
            record(&registry, 600).await;
            assert_eq!(sign(&registry, 1).await, size);
        }
        registry.close().await;
        meddle(&home.path(), &format!("UPDATE audit SET hash = zeroblob(32) WHERE number = {changed}")).await;
        let registry = home.open().await;
        let found = compared_range(&registry, 601, 1_200).await;
        assert_eq!(found.broken.map(|broken| broken.size), broken, "row {changed} is another one");
        if broken.is_none() {
            assert_eq!(found.proven.map(|(size, _)| size), Some(1_200), "the range holds");
        }
        assert!(compared(&registry, 1_000).await.broken.is_some(), "all rows do not");
        registry.close().await;
    }
}

#[tokio::test]
async fn what_was_signed_in_an_earlier_epoch_holds_in_the_next_one() {
    let home = Home::new();
    let registry = signed_log(&home).await;
    let LogHead { origin: before, size, root } = grown(&registry).await;
    let origin = LogEpoch::of(&before).next_origin(0);
    let unit = EpochUnit { origin: origin.clone(), size, root, audit: Vec::new() };
    registry.begin_epoch(unit).await.expect("it begins");
    assert_eq!(compared(&registry, 1_000).await.broken, None, "also before the epoch has a checkpoint");
    registry.close().await;
    let registry = home.open().await;
    record(&registry, 50).await;
    assert_eq!((sign(&registry, 2).await, grown(&registry).await.origin), (650, origin.clone()), "the name is kept");
    let found = compared(&registry, 1_000).await;
    assert_eq!((found.compared, found.newest, found.epoch, found.broken), (3, 650, 2, None));
    for name in [before.as_str(), &origin] {
        let LogEpoch { log, number } = LogEpoch::of(name);
        assert_eq!((log, number), epoch_of(name), "core and verifier read the name alike");
    }
    let public: Vec<String> = registry.log_keys().await.expect("keys").into_iter().map(|key| key.public).collect();
    assert!(public[0].starts_with(&format!("{origin}+")), "the key has the name of the log: {public:?}");
    registry.close().await;

    // A note of an epoch that has not begun is about another log.
    meddle(&home.path(), "UPDATE store SET log_id = replace(log_id, '/2', '')").await;
    let registry = home.open().await;
    let broken = compared(&registry, 1_000).await.broken.expect("it is found");
    assert!(broken.size == 650 && broken.why.contains("another log"), "{broken:?}");
}

#[tokio::test]
async fn a_log_that_was_changed_or_cut_contradicts_its_checkpoints() {
    let changes = [
        ("UPDATE audit SET hash = zeroblob(32) WHERE number = 100", 300, "not those that were signed"),
        ("UPDATE audit SET hash = zeroblob(32) WHERE number = 301", 600, "not those that were signed"),
        ("DELETE FROM audit WHERE number > 500", 600, "row 501"),
        ("UPDATE checkpoints SET root = zeroblob(32) WHERE size = 300", 300, "another log, size or root"),
        (
            // The whole line: the name of the log and the key may hold the same digits.
            "UPDATE checkpoints SET note = replace(note, char(10)||'300'||char(10), char(10)||'301'||char(10)) \
             WHERE size = 300",
            300,
            "signature is invalid",
        ),
        ("DELETE FROM signing_keys WHERE retired IS NULL", 600, "no known key"),
        ("UPDATE checkpoints SET note = 'gone' WHERE size = 600", 600, "no signed note"),
    ];
    for (sql, size, why) in changes {
        let home = Home::new();
        signed_log(&home).await.close().await;
        meddle(&home.path(), sql).await;
        let registry = home.open().await;
        let broken = compared(&registry, 128).await.broken.expect("it is found");
        assert_eq!(broken.size, size, "{sql}: {broken:?}");
        assert!(broken.why.contains(why), "{sql}: {broken:?}");
    }
}

#[tokio::test]
async fn rows_that_retention_removed_stay_in_the_tree() {
    let home = Home::new();
    let registry = home.open().await;
    record(&registry, 900).await;
    let limits = RetentionPolicy { segment_rows: 256, ..RetentionPolicy::default() };
    let now = Timestamp::from_millis(500 * 86_400_000);
    while !registry.clean(limits.clone(), now).await.expect("cleans").is_nothing() {}
    let size = sign(&registry, 1).await;
    assert!(size > 900, "the tombstones are rows: {size}");
    let found = compared(&registry, 1_000).await;
    assert_eq!((found.compared, found.broken), (1, None), "the whole tree is known without the rows");
    let removed = LeafSpan { begin: 0, end: 512 };
    let roots = registry.tree_roots(vec![removed, LeafSpan { begin: 0, end: 1 }]).await.expect("roots");
    assert!(roots[0].is_some(), "the root over removed rows is kept: proofs need it");
    assert_eq!(roots[1], None, "that of a single removed row is not");
    registry.close().await;

    // As a registry from before the tree: its first rows went when nobody kept their hashes.
    meddle(&home.path(), "UPDATE store SET audit_frontier = NULL; DELETE FROM audit_nodes; DELETE FROM checkpoints")
        .await;
    let registry = home.open().await;
    assert_eq!(sign(&registry, 1).await, size, "the tree is built with leaves in the place of lost rows");
    assert_eq!(compared(&registry, 1_000).await.broken, None);
}

/// As whoever has the file, and no key: rows and hashes that fit each other, and no checkpoint of others.
const REWRITTEN: &str = "DELETE FROM checkpoints; UPDATE store SET audit_frontier = NULL; DELETE FROM audit_nodes";

#[tokio::test]
async fn checkpoints_that_were_removed_are_missed_and_nothing_is_signed_after_that() {
    let changes = [
        ("DELETE FROM checkpoints WHERE size > 300", 600, "checkpoints after row 300 were removed"),
        (REWRITTEN, 600, "all checkpoints were removed"),
        (
            "DELETE FROM audit WHERE number > 300; DELETE FROM checkpoints WHERE size > 300; \
             UPDATE store SET audit_frontier = NULL, audit_number = 300, \
             audit_hash = (SELECT hash FROM audit WHERE number = 300)",
            600,
            "checkpoints after row 300 were removed",
        ),
        ("DELETE FROM checkpoints WHERE size > 300; UPDATE store SET signed_size = 300", 300, "its own mark"),
        ("UPDATE store SET signed_mark = NULL", 600, "its own mark"),
        ("UPDATE store SET signed_mark = NULL, key_check_sealed = NULL", 600, "its own mark"),
        (
            "DELETE FROM checkpoints WHERE size > 300; UPDATE store SET signed_size = 300, \
             signed_root = (SELECT root FROM checkpoints WHERE size = 300)",
            300,
            "its own mark",
        ),
    ];
    for (sql, size, why) in changes {
        let home = Home::new();
        signed_log(&home).await.close().await;
        meddle(&home.path(), sql).await;
        let registry = home.open().await;
        let broken = compared(&registry, 128).await.broken.expect("it is found");
        assert!(broken.size == size && broken.why.contains(why), "{sql}: {broken:?}");
        let recent = registry.check_tree(TreeStart::Recent, 1_000).await.expect("it can be read");
        assert_eq!(recent.broken, Some(broken), "{sql}: the newest ones show it, too");
        let head = grown(&registry).await;
        assert!(registry.signing_fault(head).await.expect("it can be read").is_some(), "{sql}: it is not signed");
    }
}

#[tokio::test]
async fn rows_below_what_was_signed_cannot_be_changed_together_with_the_tree() {
    for sql in [
        "UPDATE audit SET hash = zeroblob(32) WHERE number = 100; UPDATE store SET audit_frontier = NULL; \
         DELETE FROM audit_nodes",
        "UPDATE audit SET hash = zeroblob(32) WHERE number = 590; UPDATE store SET audit_frontier = NULL",
    ] {
        let home = Home::new();
        signed_log(&home).await.close().await;
        meddle(&home.path(), sql).await;
        let registry = home.open().await;
        let head = grown(&registry).await;
        let broken = registry.signing_fault(head).await.expect("it can be read").expect("it is found");
        assert!(broken.size == 600 && broken.why.contains("not those that were signed"), "{sql}: {broken:?}");
    }
}

#[tokio::test]
async fn an_epoch_goes_on_from_the_rows_that_are_there() {
    for sql in [REWRITTEN, "UPDATE audit SET hash = zeroblob(32) WHERE number = 100"] {
        let home = Home::new();
        signed_log(&home).await.close().await;
        meddle(&home.path(), sql).await;
        let registry = home.open().await;
        registry.rebuild_tree().await.expect("it is built");
        let LogHead { origin, size, root } = grown(&registry).await;
        let origin = LogEpoch::of(&origin).next_origin(0);
        registry.begin_epoch(EpochUnit { origin, size, root, audit: Vec::new() }).await.expect("it begins");
        let head = grown(&registry).await;
        assert_eq!(registry.signing_fault(head).await, Ok(None), "{sql}: it may be signed");
        record(&registry, 5).await;
        sign(&registry, 2).await;
        let found = compared(&registry, 128).await;
        assert_eq!((found.newest, found.epoch, found.broken), (605, 2, None), "{sql}");
    }
}

#[tokio::test]
async fn rows_are_compared_with_a_kept_root_when_somebody_removed_the_tree() {
    let home = Home::new();
    let registry = signed_log(&home).await;
    let kept = grown(&registry).await.root;
    registry.close().await;
    meddle(&home.path(), REWRITTEN).await;
    let registry = home.open().await;
    assert_eq!(registry.tree_roots(vec![LeafSpan { begin: 0, end: 600 }]).await, Ok(vec![Some(kept)]));
}
