//! Writing under trouble: failures in a group, other processes, callers that go away.

use domain::ids::Seq;
use domain::ports::{Commit, CommitError, Registry, RegistryError, ServerUnit};
use domain::task::status::Phase;
use domain::time::Timestamp;
use futures::future::{FutureExt as _, join_all};
use testkit::build::http_server;
use testkit::contract::{ContractFixtures, commit_of};

use super::Home;

const FIXTURES: ContractFixtures = ContractFixtures::of(1);

#[tokio::test]
async fn a_unit_that_fails_does_not_take_others_of_its_group_with_it() {
    let home = Home::new();
    let registry = home.open().await;
    let put = |number: u128| registry.put_server(ServerUnit { server: http_server(number, "zoo"), audit: Vec::new() });
    let admissions =
        join_all((0..100).map(|number| registry.admit(commit_of(&FIXTURES.call(number, 100), Phase::Running))));
    let (one, admitted, two, three) = futures::join!(put(1), admissions, put(2), put(3));
    let good = [&one, &two, &three].iter().filter(|outcome| outcome.is_ok()).count();
    assert_eq!(good, 1, "one of three servers gets the name: {one:?} {two:?} {three:?}");
    let places: std::collections::BTreeSet<Seq> =
        admitted.iter().map(|outcome| outcome.as_ref().expect("no admission fails").seq).collect();
    assert_eq!(places.len(), 100, "each admission has a place of its own");
    assert_eq!(registry.newest_seq().await, Ok(Seq(101)), "a failed unit uses up no place");
    assert_eq!(registry.open_count(None).await, Ok(100), "and all tasks are counted once");
}

#[tokio::test]
async fn a_commit_of_another_process_is_noticed() {
    let home = Home::new();
    let (one, two) = (home.open().await, home.open().await);
    let mut handle = FIXTURES.call(1, 100);
    handle.version = one.admit(commit_of(&handle, Phase::Running)).await.expect("admitted").version;
    for round in 0..5 {
        let stale = handle.clone();
        let (first, second) = if round % 2 == 0 { (&two, &one) } else { (&one, &two) };
        let recorded = first.commit(commit_of(&handle, Phase::Running)).await.expect("the newest version is committed");
        handle.version = recorded.version;
        let late = second.commit(commit_of(&stale, Phase::Done)).await;
        assert_eq!(late, Err(CommitError::Conflict), "round {round}: the other one's knowledge is not trusted");
        let next = second.commit(commit_of(&handle, Phase::Running)).await.expect("with the newest version it commits");
        assert_eq!(next.seq, Seq(recorded.seq.0 + 1), "round {round}: places go on without gaps");
        handle.version = next.version;
    }
    let upstream = FIXTURES.task(2, 100, "shared");
    one.admit(commit_of(&upstream, Phase::Running)).await.expect("admitted");
    let double = two.admit(commit_of(&FIXTURES.task(3, 100, "shared"), Phase::Running)).await;
    assert_eq!(double, Err(CommitError::Exists(upstream.id)), "a task found by both is admitted once");
}

#[tokio::test]
async fn a_caller_that_goes_away_leaves_the_registry_whole() {
    let home = Home::new();
    let registry = home.open().await;
    for number in 0..50 {
        // Polled once, so that the unit is on its way, and dropped.
        let sent = registry.admit(commit_of(&FIXTURES.call(number, 100), Phase::Running)).now_or_never();
        assert_eq!(sent, None, "it is not durable yet");
    }
    registry.record(Vec::new()).await.expect("the writer goes on");
    assert_eq!(registry.open_count(None).await, Ok(50), "what was accepted was done");
}

#[tokio::test]
async fn closing_finishes_what_was_accepted() {
    let home = Home::new();
    let registry = home.open().await;
    let admissions =
        join_all((0..200).map(|number| registry.admit(commit_of(&FIXTURES.call(number, 100), Phase::Running))));
    let (admitted, ()) = futures::join!(admissions, registry.close());
    let done = admitted.iter().filter(|outcome| outcome.is_ok()).count();
    let closed = Err(CommitError::Registry(RegistryError::Closed));
    assert!(admitted.iter().all(|outcome| outcome.is_ok() || *outcome == closed), "done or told so: {admitted:?}");
    let again = home.open().await;
    assert_eq!(again.open_count(None).await, Ok(done as u64), "what was told as done is there, and nothing else");
}

#[tokio::test]
async fn a_locked_registry_is_named_after_a_while() {
    use sqlx::Connection as _;
    let home = Home::new();
    home.open().await.close().await;
    let policy =
        domain::policy::Policy { registry_busy_wait: std::time::Duration::from_millis(500), ..super::policy() };
    let registry = super::open(&home.path(), super::key(), &policy).await.expect("opens");
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(home.path());
    let mut other = sqlx::SqliteConnection::connect_with(&options).await.expect("connects");
    sqlx::raw_sql("BEGIN IMMEDIATE").execute(&mut other).await.expect("locks");
    let refused = registry.record(Vec::new()).await;
    assert_eq!(refused, Err(RegistryError::Locked { path: home.path() }), "somebody else is writing");
    assert_eq!(registry.newest_seq().await, Ok(Seq(0)), "reading goes on");
    sqlx::raw_sql("ROLLBACK").execute(&mut other).await.expect("unlocks");
    registry.record(Vec::new()).await.expect("and so does writing when the lock is gone");
}

#[tokio::test]
async fn hundreds_of_questions_and_lines_in_one_commit_are_kept() {
    let home = Home::new();
    let registry = home.open().await;
    let mut handle = FIXTURES.call(1, 100);
    for number in 0..700 {
        let key = domain::ids::RequestKey::new(format!("key {number}"));
        let request = domain::task::input_request::InputRequest {
            key: key.clone(),
            ask: domain::task::input_request::Ask::Roots,
            door: domain::task::input_request::AskDoor::Listed { key: "k".into() },
            opened: Timestamp::from_millis(number),
            state: domain::task::input_request::RequestState::Open,
        };
        handle.requests.insert(key, request);
    }
    let line = |number| domain::task::observation::LogLine {
        at: Timestamp::from_millis(number),
        status: "working".into(),
        text: format!("line {number}"),
    };
    let log: Vec<_> = (0..300).map(line).collect();
    let admitted = registry.admit(Commit { log: log.clone(), ..commit_of(&handle, Phase::Waiting) }).await;
    handle.version = admitted.expect("admitted").version;
    assert_eq!(registry.handle(handle.id).await, Ok(Some(handle.clone())), "all questions are there");
    assert_eq!(registry.status_log(handle.id, 1_000).await, Ok(log), "and all lines");
    let first = domain::ids::RequestKey::new("key 0");
    handle.requests.remove(&first);
    handle.version = registry.commit(commit_of(&handle, Phase::Waiting)).await.expect("committed").version;
    assert_eq!(registry.handle(handle.id).await, Ok(Some(handle)), "a question that is no longer there is gone");
}
