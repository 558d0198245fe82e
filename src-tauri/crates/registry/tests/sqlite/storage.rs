//! Storage from outside: a file system without room, an audit log that somebody changed, space that comes back.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use domain::audit::Verb;
use domain::ids::HaltId;
use domain::policy::{Policy, RetentionPolicy};
use domain::ports::{
    AuditRecheck, CheckpointStore, Commit, HaltUnit, Recording, RecordingFault, Registry, RegistryError,
};
use domain::server::halt::{Halt, HaltEffect, HaltOrder, HaltSubject};
use domain::task::payload::{Payload, PayloadKind, PayloadWrite};
use domain::task::status::Phase;
use domain::time::Timestamp;
use registry::SqliteRegistry;
use testkit::contract::{ContractFixtures, commit_of};
use testkit::not_run::not_run;

use super::{Home, key, meddle, open};

const FIXTURES: ContractFixtures = ContractFixtures::of(1);

/// Room for what people decide while the disk is full.
const RESERVE: u64 = 1_000_000;

/// A small file system in memory, for as long as it lives; `None` where this user may not mount one.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(at: &Path) -> Option<Self> {
        fs::create_dir_all(at).expect("a folder");
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", "size=12m,mode=700", "tmpfs"]).arg(at).output();
        mount.is_ok_and(|done| done.status.success()).then(|| Self(at.into()))
    }

    /// Fills it to the last byte.
    fn fill(&self) {
        use std::io::Write as _;
        let mut file = fs::File::create(self.0.join("filler")).expect("a file");
        let piece = [7_u8; 4_096];
        while file.write_all(&piece).is_ok() {}
    }

    fn make_room(&self) {
        fs::remove_file(self.0.join("filler")).expect("room");
    }

    fn read_only(&self, is_read_only: bool) {
        let how = if is_read_only { "remount,ro" } else { "remount,rw" };
        // Files that are open for writing keep a mount busy: the file system itself is made read-only where it may be.
        let _ = Command::new("mount").args(["-o", how]).arg(&self.0).output();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).output();
    }
}

fn policy() -> Policy {
    Policy {
        // An empty registry has half a megabyte, which is in its log until that is written back.
        reserve_file_bytes: RESERVE,
        retention: RetentionPolicy { record_again: Duration::ZERO, ..RetentionPolicy::default() },
        ..Policy::default()
    }
}

fn stop(handle: &domain::task::TaskHandle) -> Commit {
    Commit { audit: vec![FIXTURES.fact(1, Verb::CancelBegun, "asked")], ..commit_of(handle, Phase::Cancelling) }
}

#[tokio::test]
async fn on_a_file_system_without_room_people_are_recorded_and_new_work_is_refused() {
    let home = Home::new();
    let Some(disk) = SmallDisk::mount(&home.folder.path().join("disk")) else {
        not_run("this user may not mount a file system");
        return;
    };
    let path = disk.0.join("registry.sqlite");
    let registry = open(&path, key(), &policy()).await.expect("opens");
    let mut handles = Vec::new();
    for number in 0..50 {
        let mut handle = FIXTURES.call(number, 100);
        handle.version = registry.admit(commit_of(&handle, Phase::Running)).await.expect("admitted").version;
        handles.push(handle);
    }
    assert_eq!(registry.recording(), Recording::Possible);
    disk.fill();
    let mut refused = None;
    for number in 100..1_000 {
        if let Err(error) = registry.admit(commit_of(&FIXTURES.call(number, 100), Phase::Running)).await {
            refused = Some(error);
            break;
        }
    }
    let full = RegistryError::Full { path: path.clone() };
    assert_eq!(refused, Some(full.clone().into()), "new work finds no room");
    assert_eq!(registry.recording(), Recording::Impossible(RecordingFault::DiskFull), "which is known");
    for handle in &mut handles {
        handle.version = registry.commit(stop(handle)).await.expect("each stop is recorded").version;
    }
    let order = HaltOrder {
        subject: HaltSubject::Everything,
        effects: HaltEffect::ALL.into_iter().collect(),
        at: Timestamp::from_millis(1),
        by: None,
        reason: String::new(),
        lifted: BTreeMap::new(),
    };
    let halt = Halt::begun(HaltId::from_random(1), vec![order]);
    let fact = FIXTURES.fact(1, Verb::Halted, "everything");
    let unit =
        HaltUnit { halt: halt.clone(), targets: handles.iter().map(|handle| handle.id).collect(), audit: vec![fact] };
    registry.put_halt(unit).await.expect("a halt of all of them is recorded");
    assert_eq!(registry.halts(1).await, Ok(vec![halt]));
    let late = registry.admit(commit_of(&FIXTURES.call(2_000, 100), Phase::Running)).await;
    assert_eq!(late, Err(full.into()), "the space of the reserve is not for new work");
    assert_eq!(registry.try_recording().await, Recording::Impossible(RecordingFault::DiskFull), "nor is it possible");
    disk.make_room();
    assert_eq!(registry.try_recording().await, Recording::Possible, "with room everything goes on");
    registry.admit(commit_of(&FIXTURES.call(2_001, 100), Phase::Running)).await.expect("new work too");
    assert_eq!(fs::metadata(disk.0.join("reserve")).map(|facts| facts.len()).ok(), Some(RESERVE), "with a new reserve");
    assert_eq!(registry.facts().await.map(|facts| facts.findings), Ok(Vec::new()), "the store is sound");
    registry.close().await;
    disk.read_only(true);
    drop(disk);
}

async fn with_audit(home: &Home, rows: usize) -> SqliteRegistry {
    let registry = home.open().await;
    for number in 0..rows {
        let fact = FIXTURES.fact(1, Verb::Admitted, &format!("fact {number}"));
        registry.record(vec![fact]).await.expect("recorded");
    }
    registry
}

/// The first row that does not fit, after somebody changed the file.
async fn broken_after(sql: &str) -> Option<u64> {
    let home = Home::new();
    with_audit(&home, 40).await.close().await;
    meddle(&home.path(), sql).await;
    let registry = home.open().await;
    let mut after = None;
    loop {
        let check = registry.verify_audit(after, 7).await.expect("it can be read");
        if let Some(broken) = check.broken {
            return Some(broken.number);
        }
        if check.is_complete() {
            return None;
        }
        after = Some(check.upto);
    }
}

#[tokio::test]
async fn whoever_changes_the_audit_log_is_found_at_the_row() {
    assert_eq!(broken_after("SELECT 1").await, None, "untouched it is whole");
    for (change, row) in [
        ("UPDATE audit SET note = 'another' WHERE number = 20", 20),
        ("UPDATE audit SET at = at + 1 WHERE number = 20", 20),
        ("UPDATE audit SET actor = 'person:bob' WHERE number = 20", 20),
        ("UPDATE audit SET verb = 'unheardOf' WHERE number = 20", 20),
        ("UPDATE audit SET subject = 'store' WHERE number = 20", 20),
        ("UPDATE audit SET origin = 'window unknown unknown' WHERE number = 20", 20),
        ("UPDATE audit SET hash = zeroblob(32) WHERE number = 20", 20),
        ("UPDATE audit SET handle = NULL WHERE number = 20", 20),
        ("UPDATE audit SET server = 'srv_other' WHERE number = 20", 20),
        ("UPDATE audit SET agent = 'agt_other' WHERE number = 20", 20),
        ("UPDATE audit SET detail = '{\"door\":\"window\"}' WHERE number = 20", 20),
        ("UPDATE audit SET detail = NULL WHERE number = 20", 20),
        ("UPDATE audit SET salt = zeroblob(16) WHERE number = 20", 20),
        ("UPDATE audit SET salt = NULL WHERE number = 20", 20),
        ("UPDATE audit SET commitment = zeroblob(32) WHERE number = 20", 20),
        ("UPDATE audit SET layout = 1 WHERE number = 20", 20),
        ("UPDATE audit SET layout = 3 WHERE number = 20", 20),
        ("UPDATE audit SET at = 'soon' WHERE number = 20", 20),
        ("UPDATE audit SET previous = zeroblob(32) WHERE number = 20", 20),
        ("DELETE FROM audit WHERE number = 20", 20),
        ("DELETE FROM audit WHERE number > 30", 31),
        ("UPDATE store SET audit_number = 39", 40),
        ("DELETE FROM audit WHERE number <= 10", 1),
        (
            "INSERT INTO audit_segments SELECT 1, 10, zeroblob(32), hash, 0, zeroblob(32) FROM audit WHERE number = 10; \
             DELETE FROM audit WHERE number <= 10",
            1,
        ),
        (
            "UPDATE audit SET number = -1 WHERE number = 20; UPDATE audit SET number = 20 WHERE number = 21; \
             UPDATE audit SET number = 21 WHERE number = -1",
            20,
        ),
    ] {
        assert_eq!(broken_after(change).await, Some(row), "{change}");
    }
}

#[tokio::test]
async fn the_text_of_a_row_can_be_erased_and_the_chain_still_holds() {
    let erase = "UPDATE audit SET note = '', detail = NULL, salt = NULL WHERE number = 20";
    assert_eq!(broken_after(erase).await, None, "the commitment stands for the text");
}

#[tokio::test]
async fn rows_without_their_text_are_counted_and_the_first_is_named() {
    let home = Home::new();
    with_audit(&home, 40).await.close().await;
    meddle(&home.path(), "UPDATE audit SET note = '', detail = NULL, salt = NULL WHERE number IN (20, 25)").await;
    let registry = home.open().await;
    let check = registry.verify_audit(None, 1_000).await.expect("it can be read");
    assert_eq!((check.erased, check.first_erased, check.broken), (2, Some(20), None), "no row explains them");
    let check = registry.verify_audit(Some(22), 1_000).await.expect("it can be read");
    assert_eq!((check.erased, check.first_erased), (1, Some(25)), "those of the rows that were read");
    registry.close().await;
}

/// Verifies 15 rows again, from where the place before was.
async fn again(registry: &SqliteRegistry) -> AuditRecheck {
    registry.reverify_audit(None, 15).await.expect("it can be read")
}

#[tokio::test]
async fn rows_that_were_verified_before_are_verified_again_in_rounds() {
    let home = Home::new();
    let registry = with_audit(&home, 40).await;
    assert_eq!(again(&registry).await, AuditRecheck::default(), "nothing was verified yet");
    registry.verify_audit(None, 1_000).await.expect("verified");
    for (rows, upto) in [(15, 15), (15, 30), (10, 40), (15, 15)] {
        let found = again(&registry).await;
        assert_eq!(found, AuditRecheck { rows, upto, end: 40, of: 40, broken: None }, "up to {upto}");
    }
    registry.close().await;
    let elsewhere = "UPDATE audit SET note = 'another' WHERE number = 20";
    meddle(&home.path(), elsewhere).await;
    let registry = home.open().await;
    let check = registry.verify_audit(Some(40), 1_000).await.expect("it can be read");
    assert_eq!(check.broken, None, "behind the last verified row nothing is wrong");
    let broken = again(&registry).await.broken.expect("the round goes on with row 16");
    assert_eq!(broken.number, 20);
    registry.close().await;
    meddle(&home.path(), "UPDATE store SET reverified_number = 30").await;
    let registry = home.open().await;
    assert_eq!(again(&registry).await.upto, 15, "a place that nobody with the key wrote begins the round anew");
    assert_eq!(again(&registry).await.broken.map(|broken| broken.number), Some(20), "so that the row is not passed");
    let behind = registry.reverify_audit(Some(25), 1_000).await.expect("it can be read");
    assert_eq!((behind.upto, behind.broken), (40, None), "behind a given row");
    registry.close().await;
}

#[tokio::test]
async fn what_was_verified_once_is_not_read_again_and_a_forged_mark_does_not_count() {
    let home = Home::new();
    let registry = with_audit(&home, 40).await;
    assert_eq!(registry.audit_verified().await, Ok(None), "nothing was verified yet");
    registry.verify_audit(None, 1_000).await.expect("verified");
    assert_eq!(registry.audit_verified().await, Ok(Some(40)));
    registry.close().await;
    meddle(&home.path(), "UPDATE store SET verified_number = 30").await;
    let registry = home.open().await;
    assert_eq!(registry.audit_verified().await, Ok(None), "a mark of another row is none");
    let found = registry.verify_audit(None, 1_000).await.expect("verified");
    let broken = found.broken.expect("and is told");
    assert!(broken.number == 30 && broken.why.contains("verified before"), "{broken:?}");
    assert_eq!(registry.audit_verified().await, Ok(None), "nothing takes its place");
}

#[tokio::test]
async fn space_of_removed_payloads_goes_back_to_the_disk_and_removed_audit_rows_leave_a_tombstone() {
    let home = Home::new();
    let registry = home.open().await;
    let result = |bytes: usize| {
        let payload = Some(Payload::new("x".repeat(bytes)));
        vec![PayloadWrite { kind: PayloadKind::Result, payload }]
    };
    for number in 0..30 {
        let done = Commit {
            payloads: result(1_000_000),
            audit: vec![FIXTURES.fact(number, Verb::Ended, "done")],
            ..commit_of(&FIXTURES.call(number, 100), Phase::Done)
        };
        registry.admit(done).await.expect("admitted");
    }
    let large = registry.facts().await.expect("facts").bytes;
    assert!(large > 30_000_000, "thirty results are stored: {large}");
    let limits = RetentionPolicy { segment_rows: 8, ..RetentionPolicy::default() };
    let now = Timestamp::from_millis(500 * 86_400_000);
    while !registry.clean(limits.clone(), now).await.expect("cleans").is_nothing() {}
    while registry.shrink(false).await.expect("gives space back") {}
    let small = registry.facts().await.expect("facts").bytes;
    assert!(small < 1_000_000, "the file is small again: {small}");
    let facts = registry.storage(limits, now).await.expect("figures");
    assert_eq!(facts.removed_segments, 3, "24 of 30 rows are gone; the newest segment always stays");
    registry.close().await;

    let registry = home.open().await;
    let check = registry.verify_audit(None, 1_000).await.expect("it can be read");
    assert_eq!((check.broken, check.first), (None, 25), "behind the tombstones the chain goes on");
    registry.close().await;
    meddle(&home.path(), "UPDATE audit_segments SET removed = removed + 1 WHERE first = 9").await;
    let registry = home.open().await;
    let check = registry.verify_audit(None, 1_000).await.expect("it can be read");
    assert_eq!(check.broken.map(|broken| broken.number), Some(9), "a tombstone that was changed is found");
}

#[tokio::test]
async fn a_registry_of_an_earlier_version_gives_space_back_after_its_next_start() {
    let home = Home::new();
    home.open().await.close().await;
    meddle(&home.path(), "PRAGMA journal_mode = DELETE; PRAGMA auto_vacuum = NONE; VACUUM").await;
    let registry = home.open().await;
    let facts = registry.storage(RetentionPolicy::default(), Timestamp::EPOCH).await.expect("figures");
    assert!(facts.shrinks, "a small file is written anew once");
}

#[tokio::test]
async fn pruning_lets_commits_pass_between_its_stretches() {
    let home = Home::new();
    let registry = home.open().await;
    let mut handle = FIXTURES.call(1, 100);
    handle.version = registry.admit(commit_of(&handle, Phase::Running)).await.expect("admitted").version;
    let many = "INSERT INTO changes (seq, at, kind, entity, removed) SELECT value + 10, 1, 'server', 'x', 0 \
                FROM generate_series(1, 200000)";
    let many = many.replace(
        "generate_series(1, 200000)",
        "(WITH RECURSIVE n(value) AS (SELECT 1 UNION ALL SELECT value + 1 \
                FROM n WHERE value < 200000) SELECT value FROM n)",
    );
    registry.close().await;
    meddle(&home.path(), &format!("{many}; UPDATE store SET seq = 200010")).await;
    let registry = home.open().await;
    let pruning = registry.prune(Timestamp::from_millis(50));
    let mut pruning = std::pin::pin!(pruning);
    // The first stretch is on its way; a commit that comes now is done long before the last one.
    assert!(futures::poll!(pruning.as_mut()).is_pending());
    let committed = async {
        handle.version = registry.commit(commit_of(&handle, Phase::Running)).await.expect("committed").version;
    };
    let committed = std::pin::pin!(committed);
    let first = futures::future::select(pruning, committed).await;
    assert!(matches!(first, futures::future::Either::Right(_)), "a commit does not wait for all of it");
}
