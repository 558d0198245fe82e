//! A full disk, made by a page limit on the writer's connection.

use std::path::Path;
use std::sync::Arc;

use domain::audit::Verb;
use domain::policy::Policy;
use domain::ports::{Commit, CommitError, Recording, RecordingFault, Registry, RegistryError};
use domain::task::TaskHandle;
use domain::task::payload::{Payload, PayloadKind, PayloadWrite};
use domain::task::status::Phase;
use domain::time::Timestamp;
use sqlx::Connection;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteSynchronous};
use testkit::contract::{ContractFixtures, commit_of};

use crate::seal::SealKey;
use crate::sqlite::migrate::KNOWN;
use crate::sqlite::write::reserve::DiskReserve;
use crate::sqlite::write::writer::Writer;
use crate::sqlite::{RegistryOptions, SqliteRegistry};

const FIXTURES: ContractFixtures = ContractFixtures::of(1);
const RESERVE: u64 = 50_000;

/// A person's wish to stop.
fn stop(handle: &TaskHandle) -> Commit {
    Commit { audit: vec![FIXTURES.fact(1, Verb::CancelBegun, "asked")], ..commit_of(handle, Phase::Cancelling) }
}

/// A registry whose file may grow by this many pages only.
async fn cramped(path: &Path, pages: i64) -> SqliteRegistry {
    let policy = Policy { reserve_file_bytes: RESERVE, ..Policy::default() };
    let opening = RegistryOptions { path, key: SealKey::from_bytes([7; 32]), policy: &policy, now: Timestamp::EPOCH };
    let (registry, _) = SqliteRegistry::opened(opening, KNOWN).await.expect("a new one opens");
    let options = SqliteConnectOptions::new().filename(path).synchronous(SqliteSynchronous::Full).foreign_keys(true);
    let mut connection = SqliteConnection::connect_with(&options).await.expect("connects");
    let now: i64 = sqlx::query_scalar("PRAGMA page_count").fetch_one(&mut connection).await.expect("counts");
    let limit = sqlx::AssertSqlSafe(format!("PRAGMA max_page_count = {}", now + pages));
    sqlx::query(limit).execute(&mut connection).await.expect("limits");
    let (writer, work) = Writer::new(
        Arc::clone(&registry.base),
        connection,
        registry.readers.clone(),
        DiskReserve::beside(path, RESERVE),
    );
    tokio::runtime::Handle::current().spawn(work);
    SqliteRegistry { writer: Some(writer), ..registry }
}

#[tokio::test]
async fn on_a_full_disk_the_reserve_is_freed_and_what_is_small_still_goes_through() {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, reserve) = (folder.path().join("registry.sqlite"), folder.path().join("reserve"));
    let registry = cramped(&path, 20).await;
    assert_eq!(std::fs::metadata(&reserve).map(|facts| facts.len()).ok(), Some(RESERVE), "the reserve is whole");
    let mut handle = FIXTURES.call(1, 100);
    handle.version = registry.admit(commit_of(&handle, Phase::Running)).await.expect("admitted").version;

    let large = PayloadWrite { kind: PayloadKind::Result, payload: Some(Payload::new("x".repeat(500_000))) };
    let refused = registry.commit(Commit { payloads: vec![large], ..commit_of(&handle, Phase::Done) }).await;
    assert_eq!(refused, Err(CommitError::Registry(RegistryError::Full { path: path.clone() })), "it has no room");
    let left = || std::fs::metadata(&reserve).map(|facts| facts.len()).ok();
    assert_eq!(left(), Some(RESERVE), "a result does not get the space of the reserve");
    assert_eq!(registry.handle(handle.id).await, Ok(Some(handle.clone())), "nothing of it was written");

    assert_eq!(registry.recording(), Recording::Impossible(RecordingFault::DiskFull), "and everybody may know why");
    handle.version = registry.commit(stop(&handle)).await.expect("a stop is recorded").version;
    assert!(left() <= Some(RESERVE), "a stop takes of it what it needs");
    assert_eq!(registry.try_recording().await, Recording::Possible, "there is room again");
    let admitted = registry.admit(commit_of(&FIXTURES.call(2, 100), Phase::Running)).await;
    assert!(admitted.is_ok(), "there is room on the disk again, so new work is taken: {admitted:?}");
    assert_eq!(left(), Some(RESERVE), "and the reserve is whole again first");
    assert_eq!(registry.facts().await.map(|facts| facts.findings), Ok(Vec::new()), "the store is sound");
}

#[tokio::test]
async fn without_room_for_the_reserve_new_work_is_refused_and_stops_are_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("registry.sqlite");
    let registry = cramped(&path, 20).await;
    let mut handle = FIXTURES.call(1, 100);
    handle.version = registry.admit(commit_of(&handle, Phase::Running)).await.expect("admitted").version;
    let large = PayloadWrite { kind: PayloadKind::Result, payload: Some(Payload::new("x".repeat(500_000))) };
    registry.commit(Commit { payloads: vec![large], ..commit_of(&handle, Phase::Done) }).await.expect_err("no room");
    // A folder in the place of the next reserve: it cannot be made.
    std::fs::create_dir(folder.path().join("reserve.new")).expect("blocks the reserve");
    let full = || RegistryError::Full { path: path.clone() };
    let admitted = registry.admit(commit_of(&FIXTURES.call(2, 100), Phase::Running)).await;
    assert_eq!(admitted, Err(full().into()), "new work waits until there is room");
    assert_eq!(registry.note_contacts(Vec::new()).await, Ok(()), "nothing to note needs no room");
    let recorded = registry.commit(stop(&handle)).await;
    assert!(recorded.is_ok(), "a stop is recorded: {recorded:?}");
}

#[test]
fn a_registry_that_cannot_be_opened_for_want_of_room_gets_the_space_of_the_reserve_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("registry.sqlite");
    assert!(DiskReserve::beside(&path, RESERVE).is_whole(), "the reserve is whole");
    assert!(DiskReserve::free_beside(&path), "its space is given back, so opening is tried again");
    assert!(!folder.path().join("reserve").exists(), "it is gone");
    assert!(!DiskReserve::free_beside(&path), "without a reserve there is nothing to try again with");
}

#[tokio::test]
async fn a_commit_that_is_reported_as_failed_and_is_durable_is_told_as_done() {
    let folder = tempfile::tempdir().expect("a folder");
    let registry = cramped(&folder.path().join("registry.sqlite"), 1_000).await;
    let mut handle = FIXTURES.call(1, 100);
    handle.version = registry.admit(commit_of(&handle, Phase::Running)).await.expect("admitted").version;
    registry.writer().expect("it writes").fail_after_commit().await.expect("heard");
    let recorded = registry.commit(stop(&handle)).await.expect("it is on disk, so it is not told as refused");
    assert_eq!(recorded.version, handle.version + 1, "and it was made once");
    handle.version = recorded.version;
    assert_eq!(registry.handle(handle.id).await, Ok(Some(handle.clone())));
    registry.commit(commit_of(&handle, Phase::Cancelling)).await.expect("and the writer goes on");
}
