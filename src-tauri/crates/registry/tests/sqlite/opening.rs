//! Opening: what is refused, and that nothing is lost by not closing.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use domain::ids::HaltId;
use domain::ports::{Commit, HaltUnit, Registry, RegistryError};
use domain::server::halt::{Halt, HaltEffect, HaltOrder, HaltSubject};
use domain::task::status::Phase;
use domain::time::Timestamp;
use registry::{SealKey, SqliteRegistry};
use testkit::contract::{ContractFixtures, commit_of};

use super::{Home, key, meddle, open, policy, read_only};

const FIXTURES: ContractFixtures = ContractFixtures::of(1);

#[tokio::test]
async fn what_was_committed_is_there_after_a_start_without_an_orderly_end() {
    let home = Home::new();
    let registry = home.open().await;
    let mut handle = FIXTURES.task(1, 100, "upstream");
    handle.version = registry.admit(commit_of(&handle, Phase::Running)).await.expect("admitted").version;
    // A copy of the files at this moment is what a killed process leaves: a log that was not folded in.
    let copy = Home::new();
    for name in ["registry.sqlite", "registry.sqlite-wal"] {
        fs::copy(home.folder.path().join(name), copy.folder.path().join(name)).expect("copies");
    }
    let reader = copy.try_read().await.expect("a reader needs no core");
    assert_eq!(reader.handle(handle.id).await, Ok(Some(handle.clone())), "a reading command sees the commit");
    drop(reader);
    let next = copy.open().await;
    assert_eq!(next.handle(handle.id).await, Ok(Some(handle.clone())), "so does the next core");
    assert!(next.commit(commit_of(&handle, Phase::Done)).await.is_ok(), "which goes on from there");
    drop(registry);
    let again = home.open().await;
    assert_eq!(again.handle(handle.id).await, Ok(Some(handle)), "dropping without closing loses nothing");
}

#[tokio::test]
async fn a_newer_registry_is_refused_and_left_as_it_is() {
    let home = Home::new();
    home.open().await.close().await;
    meddle(&home.path(), "PRAGMA user_version = 99").await;
    let before = fs::read(home.path()).expect("reads");
    let newer = RegistryError::Newer { path: home.path(), found: 99, known: 36 };
    let backups = home.path().with_file_name("backups").display().to_string();
    assert!(newer.hint().contains(&backups), "the way back is named: {}", newer.hint());
    assert_eq!(home.try_open().await.err(), Some(newer.clone()), "a newer schema is not understood");
    assert_eq!(home.try_read().await.err(), Some(newer), "not even for reading");
    assert_eq!(fs::read(home.path()).expect("reads"), before, "and nothing is written");
}

#[tokio::test]
async fn a_halt_that_cannot_be_read_is_an_error_until_another_one_takes_its_place() {
    let home = Home::new();
    let registry = home.open().await;
    registry.put_halt(HaltUnit { halt: halt(1), targets: Vec::new(), audit: Vec::new() }).await.expect("stored");
    registry.close().await;
    meddle(&home.path(), "UPDATE halts SET body = '{\"v\":1}'").await;
    let registry = home.open().await;
    let unread = registry.halts(1).await;
    assert!(unread.is_err(), "what is halted is not known: {unread:?}");
    registry.put_halt(HaltUnit { halt: halt(2), targets: Vec::new(), audit: Vec::new() }).await.expect("stored");
    assert_eq!(registry.halts(10).await, Ok(vec![halt(2)]), "the other counts as over");
}

fn halt(number: u128) -> Halt {
    let order = HaltOrder {
        subject: HaltSubject::Everything,
        effects: BTreeSet::from([HaltEffect::Calls]),
        at: Timestamp::from_millis(i64::try_from(number).unwrap_or_default()),
        by: None,
        reason: String::new(),
        lifted: BTreeMap::new(),
    };
    Halt::begun(HaltId::from_random(number), vec![order])
}

#[tokio::test]
async fn a_schema_that_another_program_made_is_refused() {
    let home = Home::new();
    home.open().await.close().await;
    meddle(&home.path(), "UPDATE migrations SET checksum = 'other'").await;
    let refused = home.try_open().await.err();
    assert!(matches!(refused, Some(RegistryError::Damaged { .. })), "its steps are not ours: {refused:?}");

    let foreign = Home::new();
    meddle(&foreign.path(), "CREATE TABLE songs (name TEXT)").await;
    let refused = foreign.try_open().await.err();
    assert!(matches!(refused, Some(RegistryError::Damaged { .. })), "nor is a music library ours: {refused:?}");
}

#[tokio::test]
async fn a_damaged_registry_is_named_and_not_written_to() {
    let text = Home::new();
    fs::write(text.path(), "this is no database, but it is long enough to be taken for one at first").expect("writes");
    let refused = text.try_open().await.err();
    assert!(matches!(refused, Some(RegistryError::Damaged { .. })), "not a database: {refused:?}");

    let bent = Home::new();
    let registry = bent.open().await;
    for number in 0..200 {
        registry.admit(commit_of(&FIXTURES.call(number, 100), Phase::Running)).await.expect("admitted");
    }
    registry.close().await;
    let mut bytes = fs::read(bent.path()).expect("reads");
    let middle = bytes.len() / 2;
    bytes[middle..middle + 8_192].fill(0xaa);
    fs::write(bent.path(), &bytes).expect("writes");
    let refused = bent.try_open().await.err();
    assert!(matches!(refused, Some(RegistryError::Damaged { .. })), "pages were overwritten: {refused:?}");
    assert_eq!(fs::read(bent.path()).expect("reads"), bytes, "the file is left for whoever repairs it");
}

#[tokio::test]
async fn another_key_is_refused_at_once() {
    let home = Home::new();
    home.open().await.close().await;
    let other = || SealKey::from_bytes([8; 32]);
    let opened = open(&home.path(), other(), &policy()).await;
    assert_eq!(opened.err(), Some(RegistryError::WrongKey), "no core starts with another key");
    let opened = SqliteRegistry::open_read_only(&home.path(), other(), &policy()).await;
    assert_eq!(opened.err(), Some(RegistryError::WrongKey), "nor does a reading command");
}

#[tokio::test]
async fn a_reader_without_a_registry_says_that_there_is_none() {
    let home = Home::new();
    let missing = Some(RegistryError::Missing { path: home.path() });
    assert_eq!(home.try_read().await.err(), missing, "nothing was ever started here");
    assert!(!home.path().exists(), "asking makes no file");
    let deep = home.folder.path().join("no").join("folder").join("registry.sqlite");
    assert_eq!(read_only(&deep).await.err(), Some(RegistryError::Missing { path: deep }), "nor any folder");
    fs::write(home.path(), "").expect("writes");
    assert_eq!(home.try_read().await.err(), missing, "an empty file is no registry yet");
}

#[tokio::test]
async fn a_reader_beside_the_core_sees_commits_and_cannot_write() {
    let home = Home::new();
    let core = home.open().await;
    let reader = home.try_read().await.expect("opens beside the core");
    let handle = FIXTURES.call(1, 100);
    core.admit(commit_of(&handle, Phase::Running)).await.expect("admitted");
    let seen = reader.handle(handle.id).await.expect("reads").expect("is there");
    assert_eq!(seen.version, 1, "a reader sees what was committed after it opened");
    let refused = reader.admit(Commit { ..commit_of(&FIXTURES.call(2, 100), Phase::Running) }).await;
    let why = RegistryError::ReadOnly { path: home.path() };
    assert_eq!(refused, Err(why.clone().into()), "but it changes nothing");
    assert_eq!(reader.prune(handle.created).await, Err(why), "and removes nothing");
}

#[tokio::test]
async fn a_registry_under_a_file_or_a_folder_in_its_place_is_an_error_of_one_line() {
    let home = Home::new();
    fs::create_dir(home.path()).expect("makes a folder in its place");
    let refused = home.try_open().await.expect_err("a folder is no registry");
    assert!(!refused.to_string().contains('\n'), "one line: {refused}");
    let file = home.folder.path().join("file");
    fs::write(&file, "x").expect("writes");
    let below = open(&file.join("registry.sqlite"), key(), &policy()).await;
    assert!(below.is_err(), "a file holds no registry");
}

#[cfg(unix)]
#[tokio::test]
async fn the_registry_is_readable_by_its_user_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = Home::new();
    let registry = home.open().await;
    registry.record(Vec::new()).await.expect("records");
    for entry in fs::read_dir(home.folder.path()).expect("lists") {
        let entry = entry.expect("an entry");
        let mode = entry.metadata().expect("facts").permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{:?} is private", entry.file_name());
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_registry_that_may_not_be_written_is_named_so() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = Home::new();
    home.open().await.close().await;
    let lock = |mode| fs::set_permissions(home.path(), fs::Permissions::from_mode(mode)).expect("sets rights");
    lock(0o400);
    // The superuser may write whatever the rights say; then opening must simply work.
    let may_write = fs::OpenOptions::new().write(true).open(home.path()).is_ok();
    let opened = home.try_open().await;
    lock(0o600);
    if may_write {
        assert!(opened.is_ok(), "rights do not bind this user: {:?}", opened.err());
    } else {
        assert_eq!(opened.err(), Some(RegistryError::ReadOnly { path: home.path() }), "and the path is named");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_registry_in_a_folder_that_may_not_be_written_is_read_and_a_core_is_refused() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = Home::new();
    let core = home.open().await;
    let handle = FIXTURES.call(1, 100);
    core.admit(commit_of(&handle, Phase::Running)).await.expect("admitted");
    core.close().await;
    drop(core);
    let lock = |mode| fs::set_permissions(home.folder.path(), fs::Permissions::from_mode(mode)).expect("sets rights");
    lock(0o500);
    // The superuser may write whatever the rights say; then opening must simply work.
    let may_write = fs::write(home.folder.path().join("probe"), "x").is_ok();
    let reader = home.try_read().await;
    let opened = home.try_open().await;
    lock(0o700);
    let seen = reader.expect("reading needs no rights to write").handle(handle.id).await;
    assert!(seen.is_ok_and(|seen| seen.is_some()), "everything that was recorded is shown");
    if may_write {
        assert!(opened.is_ok(), "rights do not bind this user: {:?}", opened.err());
    } else {
        assert_eq!(opened.err(), Some(RegistryError::ReadOnly { path: home.path() }), "and the path is named");
    }
}

#[tokio::test]
async fn a_first_start_that_was_killed_before_its_first_write_is_begun_anew() {
    let home = Home::new();
    fs::write(home.path(), "").expect("what such a start leaves");
    assert!(home.try_open().await.is_ok(), "nothing was recorded yet, so nothing is lost");
}
