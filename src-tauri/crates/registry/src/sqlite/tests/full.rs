//! A full disk, made by a page limit on the writer's connection.

use std::path::Path;
use std::sync::Arc;

use domain::agent::{Agent, TokenDigest};
use domain::audit::{Actor, AuditEvent, Verb};
use domain::budget::window::CountingSettings;
use domain::policy::Policy;
use domain::ports::{
    AgentUnit, Commit, CommitError, Recording, RecordingFault, Registry, RegistryError, RuleUnit, ServerUnit,
};
use domain::rule::{Rule, RuleScope};
use domain::task::TaskHandle;
use domain::task::payload::{Payload, PayloadKind, PayloadWrite};
use domain::task::status::Phase;
use domain::time::Timestamp;
use sqlx::Connection;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteSynchronous};
use testkit::build::http_server;
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

/// An agent with access.
fn agent() -> Agent {
    Agent {
        id: FIXTURES.agent(1),
        name: "claude".into(),
        created: Timestamp::EPOCH,
        revoked: None,
        token: TokenDigest::of("twa_1"),
        token_made: Timestamp::EPOCH,
        seen: None,
        client: None,
        learned_timeout: None,
        task_tools: true,
        calls: 0,
        meter: CountingSettings::default(),
    }
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

#[tokio::test]
async fn while_new_work_is_refused_people_still_take_away_and_record() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("registry.sqlite");
    let registry = cramped(&path, 40).await;
    let (agent, server) = (agent(), http_server(7_001, "ci"));
    let rule = Rule { hold_results: Some(true), ..Rule::new(RuleScope::Agent(agent.id)) };
    registry
        .put_agent(AgentUnit { agent: agent.clone(), audit: Vec::new(), ended_pause: None })
        .await
        .expect("an agent is added");
    registry.put_server(ServerUnit { server: server.clone(), audit: Vec::new() }).await.expect("a server is added");
    let with_rule = RuleUnit { rule: rule.clone(), remove: false, audit: Vec::new() };
    registry.put_rule(with_rule.clone()).await.expect("a rule is set");
    registry.desk_put("draft", "old", Some("x".into()), Timestamp::EPOCH).await.expect("a draft is stored");
    let mut handle = FIXTURES.call(1, 100);
    handle.version = registry.admit(commit_of(&handle, Phase::Running)).await.expect("admitted").version;
    let large = PayloadWrite { kind: PayloadKind::Result, payload: Some(Payload::new("x".repeat(500_000))) };
    registry.commit(Commit { payloads: vec![large], ..commit_of(&handle, Phase::Done) }).await.expect_err("no room");
    // A folder in the place of the next reserve: it cannot be made.
    std::fs::create_dir(folder.path().join("reserve.new")).expect("blocks the reserve");

    let full = || RegistryError::Full { path: path.clone() };
    let is_refused = |what: &str| {
        assert_eq!(registry.recording(), Recording::Impossible(RecordingFault::DiskFull), "{what}");
    };
    let admitted = registry.admit(commit_of(&FIXTURES.call(2, 100), Phase::Running)).await;
    assert_eq!(admitted, Err(full().into()), "new work is refused");
    assert_eq!(registry.put_rule(with_rule).await, Err(full()), "and so is a new rule");
    let fact = |verb| FIXTURES.fact(1, verb, "by a person");
    let revoked = Agent { revoked: Some(Timestamp::from_millis(5)), ..agent.clone() };
    let unit = AgentUnit { agent: revoked, audit: vec![fact(Verb::AgentRevoked)], ended_pause: None };
    registry.put_agent(unit).await.expect("an agent is revoked");
    is_refused("still no new work");
    let nothing = Rule { version: 2, ..Rule::new(rule.scope) };
    let unit = RuleUnit { rule: nothing.clone(), remove: false, audit: vec![fact(Verb::RuleChanged)] };
    registry.put_rule(unit).await.expect("a rule is removed: it says nothing any more");
    registry.remove_server(server.id, vec![fact(Verb::ServerRemoved)]).await.expect("a server is removed");
    registry.record(vec![fact(Verb::BudgetChanged)]).await.expect("what a person did is recorded");
    let at = Timestamp::from_millis(6);
    registry.desk_put("draft", "new", Some("an answer".into()), at).await.expect("a draft is stored");
    registry.desk_put("draft", "old", None, at).await.expect("and one is taken away");
    let decided = vec![fact(Verb::AnswerBegun)];
    registry.desk_decide("rule", "a", Some("yes".into()), decided).await.expect("what a person decided is stored");
    registry.commit(stop(&handle)).await.expect("a task is cancelled");
    is_refused("new work is still refused after all of them");

    let known = registry.agents().await.expect("agents read");
    assert!(known.iter().all(|agent| agent.revoked.is_some()), "access is gone: {known:?}");
    assert_eq!(registry.servers().await, Ok(Vec::new()), "the server is gone");
    assert_eq!(registry.rules().await, Ok(vec![nothing]), "of the rule its version is left");
    let drafts = registry.desk_list("draft").await.expect("drafts read");
    assert_eq!(drafts.iter().map(|item| &*item.key).collect::<Vec<_>>(), ["new"]);
    assert_eq!(registry.facts().await.map(|facts| facts.findings), Ok(Vec::new()), "the store is sound");
}

#[tokio::test]
async fn without_room_what_the_system_records_and_large_user_data_waits() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("registry.sqlite");
    let registry = cramped(&path, 20).await;
    let mut handle = FIXTURES.call(1, 100);
    handle.version = registry.admit(commit_of(&handle, Phase::Running)).await.expect("admitted").version;
    let large = PayloadWrite { kind: PayloadKind::Result, payload: Some(Payload::new("x".repeat(500_000))) };
    registry.commit(Commit { payloads: vec![large], ..commit_of(&handle, Phase::Done) }).await.expect_err("no room");
    std::fs::create_dir(folder.path().join("reserve.new")).expect("blocks the reserve");
    let full = || RegistryError::Full { path: path.clone() };
    let own = AuditEvent { actor: Actor::System("retention"), ..FIXTURES.fact(1, Verb::BudgetChanged, "by itself") };
    assert_eq!(registry.record(vec![own]).await, Err(full()), "nobody decided it");
    let large = "x".repeat(Policy::default().retention.reserve_change_bytes);
    let stored = registry.desk_put("draft", "large", Some(large), Timestamp::EPOCH).await;
    assert_eq!(stored, Err(full()), "a few of these would use up what decisions need");
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
