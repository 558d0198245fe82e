//! The next version's migration, made up here.

mod stored_values;

use std::fs;
use std::path::Path;

use domain::audit::Verb;
use domain::budget::window::CountingSettings;
use domain::ids::PersonId;
use domain::policy::Policy;
use domain::ports::{Registry, RegistryError, SeriesQuery, TaskFlag, TaskListQuery};
use domain::rule::{Rule, RuleScope};
use domain::task::status::{Intent, Phase};
use domain::task::{HoldReason, HoldVerdict, ResultForm, ResultHold};
use domain::time::Timestamp;
use domain::tokens::Exactness;
use testkit::contract::{ContractFixtures, commit_of};

use crate::seal::SealKey;
use crate::sqlite::migrate::{KNOWN, Migration, SIGNED_MARK};
use crate::sqlite::{RegistryOptions, SqliteRegistry};

const FIXTURES: ContractFixtures = ContractFixtures::of(1);
const NEXT: &str = "CREATE TABLE next (id TEXT PRIMARY KEY)";
/// A task as version 2 wrote it: nothing in it about agents.
const OLD_BODY: &str = r#"{"v":1,"origin":"started","argumentsDigest":"00ff","generation":0,"session":null,"view":{"is":"notSent","why":"gone"},"contact":{"is":"fresh","seen":100},"intent":{"is":"cancel","by":"ada","at":120,"reason":null,"delivery":{"is":"recorded"},"sent":null},"audience":{"is":"people"},"progress":null,"usual":null,"due":null,"pausedSince":null,"pausedMs":0,"contradicted":false,"ended":null,"told":[]}"#;
/// A held task of an agent as version 3 wrote it: its hold has no reason and its delivery no form.
const HELD_BODY: &str = r#"{"v":1,"origin":"agent","argumentsDigest":"00ff","generation":0,"session":null,"view":{"is":"notSent","why":"gone"},"contact":{"is":"fresh","seen":100},"intent":{"is":"none"},"audience":{"is":"people"},"progress":null,"usual":null,"due":null,"pausedSince":null,"pausedMs":0,"contradicted":false,"ended":null,"told":[],"hold":{"by":null,"at":100,"verdict":{"is":"deliver","by":"ada","at":150}}}"#;
const BROKEN: &str = "CREATE TABLE more (id TEXT); CREATE TABLE more (id TEXT)";

async fn open(path: &Path, extra: &[&'static str], now: i64) -> Result<SqliteRegistry, RegistryError> {
    open_with(path, KNOWN, extra, now).await
}

async fn open_with(
    path: &Path,
    known: &[Migration],
    extra: &[&'static str],
    now: i64,
) -> Result<SqliteRegistry, RegistryError> {
    let mut known = known.to_vec();
    for sql in extra {
        known.push(Migration { version: known.last().map_or(1, |last| last.version + 1), sql });
    }
    let policy = Policy { backups_kept: 2, ..Policy::default() };
    let now = Timestamp::from_millis(now);
    let opening = RegistryOptions { path, key: SealKey::from_bytes([7; 32]), policy: &policy, now };
    let (registry, work) = SqliteRegistry::opened(opening, &known).await?;
    tokio::runtime::Handle::current().spawn(work);
    Ok(registry)
}

fn backups(path: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(path.with_file_name("backups")) else { return Vec::new() };
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("text")).collect();
    names.sort();
    names
}

/// The schema of this version.
fn newest() -> i64 {
    KNOWN.last().map_or(0, |last| last.version)
}

/// The file name of a backup that was made of a schema at 1,700,000,000,000 ms.
fn backup_of(schema: i64) -> String {
    format!("registry-{schema}-20231114T221320000Z.sqlite")
}

#[tokio::test]
async fn an_upgrade_keeps_everything_and_leaves_a_backup_that_opens() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("registry.sqlite");
    let old = open(&path, &[], 1_000).await.expect("a new one opens");
    assert_eq!(backups(&path), Vec::<String>::new(), "a new registry needs no backup");
    let mut handle = FIXTURES.call(1, 100);
    handle.version = old.admit(commit_of(&handle, Phase::Running)).await.expect("admitted").version;
    old.close().await;

    let new = open(&path, &[NEXT], 1_700_000_000_000).await.expect("it is brought up to date");
    assert_eq!(new.handle(handle.id).await, Ok(Some(handle.clone())), "tasks survive the upgrade");
    new.close().await;
    assert_eq!(backups(&path), [backup_of(newest())], "a backup names its schema and time");
    let newer = open(&path, &[], 3_000).await.err();
    let (found, known) = (newest() + 1, newest());
    assert_eq!(newer, Some(RegistryError::Newer { path: path.clone(), found, known }), "there is no way back");

    let backup = path.with_file_name("backups").join(backup_of(newest()));
    let restored = folder.path().join("restored").join("registry.sqlite");
    fs::create_dir(folder.path().join("restored")).expect("makes");
    fs::copy(backup, &restored).expect("copies");
    let restored = open(&restored, &[], 4_000).await.expect("but the backup opens with the old version");
    assert_eq!(restored.handle(handle.id).await, Ok(Some(handle)), "and holds everything");
}

#[tokio::test]
async fn rows_of_the_first_layout_stay_valid_and_new_rows_follow_them_in_the_second() {
    use sqlx::Connection as _;
    use verify::chain::{ChainRow, RowText, START};
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("registry.sqlite");
    let before: Vec<Migration> = KNOWN.iter().copied().filter(|step| step.version < 19).collect();
    open_with(&path, &before, &[], 1_000).await.expect("the schema before opens").close().await;
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(&path);
    let mut old = sqlx::SqliteConnection::connect_with(&options).await.expect("connects");
    let task = FIXTURES.id(1).to_string();
    let mut previous = START;
    for (number, verb, origin) in
        [(1_u64, "stopBegun", Some("terminal 7@99 /opt/x")), (2, "stopEnded", None), (3, "teleported", None)]
    {
        let subject = format!("handle:{task}");
        let fields = ChainRow {
            number,
            layout: 1,
            at: 100,
            actor: "person:ada",
            verb,
            subject: &subject,
            server: "",
            agent: "",
            text: Some(RowText::Plain { note: "as asked", origin }),
            commitment: None,
        };
        let hash = fields.hash(&previous).expect("a row");
        sqlx::query(
            "INSERT INTO audit (number, at, actor, verb, subject, handle, note, previous, hash, origin) \
             VALUES (?, 100, 'person:ada', ?, ?, ?, 'as asked', ?, ?, ?)",
        )
        .bind(i64::try_from(number).expect("small"))
        .bind(verb)
        .bind(&subject)
        .bind(&task)
        .bind(previous.to_vec())
        .bind(hash.to_vec())
        .bind(origin)
        .execute(&mut old)
        .await
        .expect("an old row");
        previous = hash;
    }
    sqlx::query("UPDATE store SET audit_number = 3, audit_hash = ?")
        .bind(previous.to_vec())
        .execute(&mut old)
        .await
        .expect("counted");
    old.close().await.expect("closes");

    let new = open(&path, &[], 2_000).await.expect("it is brought up to date");
    new.record(vec![FIXTURES.fact(1, Verb::Ended, "done")]).await.expect("new rows follow");
    let check = new.verify_audit(None, 100).await.expect("it can be read");
    assert_eq!((check.broken, check.upto), (None, 4), "old and new rows are one chain");
    let rows = new.audit_page(Some(FIXTURES.id(1)), 0, 100).await.expect("the rows of the task").rows;
    let words: Vec<&str> = rows.iter().map(|row| row.event.verb.word()).collect();
    assert_eq!(words, ["stopBegun", "stopEnded", "teleported", "ended"], "an unknown verb is shown as it stands");
    let layouts: Vec<bool> = rows.iter().map(|row| row.salted.is_some()).collect();
    assert_eq!(layouts, [false, false, false, true], "old rows keep their layout");
    let origin = rows.first().and_then(|row| row.event.origin()).map(ToString::to_string);
    assert_eq!(origin.as_deref(), Some("terminal 7@99 /opt/x"), "and how their decisions came in");
    assert_eq!(testkit::memory_registry::audit_finding(&rows), None, "they verify from the documentation alone");
    new.close().await;
}

#[tokio::test]
async fn a_step_that_fails_changes_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("registry.sqlite");
    open(&path, &[], 1_000).await.expect("a new one opens").close().await;
    let failed = open(&path, &[NEXT, BROKEN], 2_000).await.err();
    assert!(matches!(failed, Some(RegistryError::Other { .. })), "the second step fails: {failed:?}");
    let kept = open(&path, &[NEXT], 3_000).await;
    assert!(kept.is_ok(), "the first step is kept, nothing of the second: {:?}", kept.err());
    let other = open(&path, &["CREATE TABLE other (id TEXT)"], 4_000).await.err();
    assert!(matches!(other, Some(RegistryError::Damaged { .. })), "a step with another text is refused: {other:?}");
}

#[tokio::test]
async fn only_the_latest_backups_are_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("registry.sqlite");
    let steps = ["CREATE TABLE a (x TEXT)", "CREATE TABLE b (x TEXT)", "CREATE TABLE c (x TEXT)"];
    for count in 0..=steps.len() {
        open(&path, &steps[..count], 1_700_000_000_000).await.expect("opens").close().await;
    }
    let names = backups(&path);
    assert_eq!(names, [backup_of(newest() + 1), backup_of(newest() + 2)], "two of three");
}

#[tokio::test]
async fn tasks_of_the_first_schema_are_counted_by_screens_after_the_upgrade() {
    use sqlx::Connection as _;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("registry.sqlite");
    open_with(&path, &KNOWN[..1], &[], 1_000).await.expect("the first schema opens").close().await;
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(&path);
    let mut old = sqlx::SqliteConnection::connect_with(&options).await.expect("connects");
    let server = FIXTURES.server(1);
    for (number, phase) in [(1, "running"), (2, "done"), (3, "done")] {
        sqlx::query(
            "INSERT INTO handles (number, id, server, phase, is_open, version, created, changed, log_number, body_sealed) \
             VALUES (?, ?, ?, ?, 1, 1, ?, ?, 0, x'00')",
        )
        .bind(number)
        .bind(FIXTURES.id(u64::try_from(number).expect("small")).to_string())
        .bind(server.to_string())
        .bind(phase)
        .bind(number)
        .bind(number)
        .execute(&mut old)
        .await
        .expect("an old task");
    }
    old.close().await.expect("closes");
    let new = open(&path, &[], 2_000).await.expect("it is brought up to date");
    let view = new.view(TaskListQuery::default()).await.expect("counts");
    let groups = vec![("moving".to_owned(), 1), ("finished".to_owned(), 2)];
    assert_eq!(view, domain::ports::TaskGroups { total: 3, all: 3, hidden: 0, groups }, "old tasks are in the groups");
    let ids = new.matching_ids(TaskListQuery::default(), 10).await;
    assert_eq!(ids, Ok(vec![FIXTURES.id(3), FIXTURES.id(2), FIXTURES.id(1)]), "and in the list");
    new.close().await;
}

#[tokio::test]
async fn a_task_of_the_second_schema_reads_as_one_that_no_agent_has() {
    use sqlx::Connection as _;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("registry.sqlite");
    open_with(&path, &KNOWN[..2], &[], 1_000).await.expect("the second schema opens").close().await;
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(&path);
    let mut old = sqlx::SqliteConnection::connect_with(&options).await.expect("connects");
    let id = FIXTURES.id(1);
    let key = id.to_string();
    let sealer = crate::seal::Sealer::new(&SealKey::from_bytes([7; 32]));
    let sealed = sealer.seal(crate::sqlite::tables::task_row::handle_place(&key), OLD_BODY.as_bytes()).expect("seals");
    sqlx::query(
        "INSERT INTO handles (number, id, server, tool, phase, is_open, version, created, changed, log_number, \
         body_sealed) VALUES (1, ?, ?, 'index_folder', 'cancelled', 0, 1, 100, 100, 0, ?)",
    )
    .bind(key)
    .bind(FIXTURES.server(1).to_string())
    .bind(sealed)
    .execute(&mut old)
    .await
    .expect("an old task");
    sqlx::query("UPDATE store SET handle_number = 1").execute(&mut old).await.expect("counted");
    old.close().await.expect("closes");

    let new = open(&path, &[], 2_000).await.expect("it is brought up to date");
    let handle = new.handle(id).await.expect("reads").expect("is here");
    let Intent::Cancel(wish) = &handle.intent else { panic!("the wish is kept: {:?}", handle.intent) };
    assert_eq!(wish.by, PersonId::new("ada").into(), "whoever decided then was a person");
    assert_eq!((handle.agent, handle.seat, handle.given, handle.orphaned), (None, None, None, None), "nobody's");
    assert_eq!((handle.job.clone(), handle.attempt, handle.hold.clone()), (None, 1, None), "of no job, not held");
    let orphaned = TaskListQuery { flags: vec![TaskFlag::Orphaned], ..TaskListQuery::default() };
    assert_eq!(new.matching_ids(orphaned, 9).await, Ok(Vec::new()), "no flag is on");
    assert_eq!(new.agents().await, Ok(Vec::new()), "there are no agents yet");
    let seq = new.commit(commit_of(&handle, Phase::Cancelled)).await.expect("and it can be changed").seq;
    assert!(seq.0 > 0, "as any other");
    new.close().await;
}

#[tokio::test]
async fn what_the_third_schema_kept_reads_as_held_for_review_and_without_limits() {
    use sqlx::Connection as _;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("registry.sqlite");
    open_with(&path, &KNOWN[..3], &[], 1_000).await.expect("the third schema opens").close().await;
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(&path);
    let mut old = sqlx::SqliteConnection::connect_with(&options).await.expect("connects");
    let (id, agent, server) = (FIXTURES.id(1), FIXTURES.agent(1), FIXTURES.server(1));
    let key = id.to_string();
    let sealer = crate::seal::Sealer::new(&SealKey::from_bytes([7; 32]));
    let sealed = sealer.seal(crate::sqlite::tables::task_row::handle_place(&key), HELD_BODY.as_bytes()).expect("seals");
    sqlx::query(
        "INSERT INTO handles (number, id, server, agent, tool, phase, is_open, version, created, changed, log_number, \
         body_sealed) VALUES (1, ?, ?, ?, 'index_folder', 'failed', 0, 1, 100, 100, 0, ?)",
    )
    .bind(key)
    .bind(server.to_string())
    .bind(agent.to_string())
    .bind(sealed)
    .execute(&mut old)
    .await
    .expect("an old task");
    sqlx::query(
        "INSERT INTO agents (id, name, created, token, task_tools, calls) VALUES (?, 'zed', 100, zeroblob(32), 1, 7)",
    )
    .bind(agent.to_string())
    .execute(&mut old)
    .await
    .expect("an old agent");
    sqlx::query("INSERT INTO rules (scope, body) VALUES (?, ?)")
        .bind(format!("server:{server}"))
        .bind(r#"{"v":1,"asked":null,"repeat":null,"holdResults":true,"promoteAfter":null}"#)
        .execute(&mut old)
        .await
        .expect("an old rule");
    sqlx::query("UPDATE store SET handle_number = 1").execute(&mut old).await.expect("counted");
    old.close().await.expect("closes");

    let new = open(&path, &[], 2_000).await.expect("it is brought up to date");
    let handle = new.handle(id).await.expect("reads").expect("is here");
    let by = PersonId::new("ada");
    let verdict = Some(HoldVerdict::Deliver { by, at: Timestamp::from_millis(150), form: ResultForm::Whole });
    let hold = ResultHold { by: None, at: Timestamp::from_millis(100), why: HoldReason::Review, verdict };
    assert_eq!(handle.hold, Some(hold), "it was held for review and delivered whole");
    assert_eq!((handle.tokens, handle.over_limit.clone()), (None, None), "nothing was counted");
    let agents = new.agents().await.expect("reads");
    assert_eq!(agents.first().map(|agent| agent.meter.clone()), Some(CountingSettings::default()), "nothing was set");
    let rule = Rule { hold_results: Some(true), ..Rule::new(RuleScope::Server(server)) };
    assert_eq!(new.rules().await, Ok(vec![rule]), "no limit was set");
    assert_eq!(new.windows(9).await, Ok(Vec::new()), "no window is known");
    assert_eq!(new.attention(9).await, Ok(Vec::new()), "nobody is asked anything");
    assert!(new.commit(commit_of(&handle, Phase::Failed)).await.is_ok(), "it can be changed as any other");
    new.close().await;
}

/// A window as version 7 wrote it: one figure for each source.
const OLD_WINDOW: &str = r#"{"v":1,"family":"o200k","shelves":[{"door":null,"session":null,"tools":{"a":[120,"about"]},"own":[9,"exact"]}],"sums":{"results":[61402,"about"]},"keptOut":[7,"exact"],"unsaid":3}"#;

#[tokio::test]
async fn figures_of_the_seventh_schema_read_as_passed_and_in_the_window_alike() {
    use sqlx::Connection as _;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("registry.sqlite");
    let old_steps = KNOWN.iter().take_while(|step| step.version <= 7).count();
    open_with(&path, &KNOWN[..old_steps], &[], 1_000).await.expect("the seventh schema opens").close().await;
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(&path);
    let mut old = sqlx::SqliteConnection::connect_with(&options).await.expect("connects");
    let (agent, id) = (FIXTURES.agent(1), domain::ids::WindowId::from_random(1).to_string());
    let sealer = crate::seal::Sealer::new(&SealKey::from_bytes([7; 32]));
    let place = crate::seal::FieldLocation { table: "windows", column: "body_sealed", row: &id };
    let sealed = sealer.seal(place, OLD_WINDOW.as_bytes()).expect("seals");
    sqlx::query("INSERT INTO windows (id, agent, began, last, body_sealed) VALUES (?, ?, 100, 200, ?)")
        .bind(id)
        .bind(agent.to_string())
        .bind(sealed)
        .execute(&mut old)
        .await
        .expect("an old window");
    sqlx::query("INSERT INTO spend VALUES (0, ?, '', 'results', 'o200k', 1, 61402, 4)")
        .bind(agent.to_string())
        .execute(&mut old)
        .await
        .expect("an old hour");
    old.close().await.expect("closes");

    let new = open(&path, &[], 2_000).await.expect("it is brought up to date");
    let windows = new.windows(9).await.expect("reads");
    let window = windows.first().expect("it is there");
    for source in domain::budget::window::TokenSource::ALL {
        assert_eq!(window.of(source), window.passed_of(source), "{source:?}: there was one figure");
    }
    assert_eq!((window.occupancy().tokens, window.limited(false)), (61_402 + 120 + 9, 61_402 + 120 + 9 + 3));
    let all = SeriesQuery { agent: None, from: Timestamp::EPOCH, to: Timestamp::from_millis(i64::MAX) };
    let spend = new.spend(all).await.expect("reads");
    let figures: Vec<_> =
        spend.iter().map(|row| (row.tokens, row.exactness, row.passed, row.passed_exactness)).collect();
    assert_eq!(figures, [(61_402, Exactness::About, 61_402, Exactness::About)]);
    new.close().await;
}

#[tokio::test]
async fn a_sink_of_an_earlier_schema_sends_log_records_alone_and_goes_on_where_it_was() {
    use domain::audit::log_sink::{LogSink, SinkFailure, SinkProgress, SinkSignal};
    use domain::ports::SinkStore as _;
    use sqlx::Connection as _;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("registry.sqlite");
    let before: Vec<Migration> = KNOWN.iter().copied().filter(|step| step.version < 30).collect();
    open_with(&path, &before, &[], 1_000).await.expect("the schema before opens").close().await;
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(&path);
    let mut old = sqlx::SqliteConnection::connect_with(&options).await.expect("connects");
    let sinks = "INSERT INTO otlp_sinks (id, url, headers, next_number, taken, failure, failing_since, paused, skipped, \
                 rejected, rejected_since) VALUES \
                 (1, 'https://collector.example/otlp/v1/logs', '[\"X-Key\"]', 7, 90, 'answered 401', 80, 1, 3, 2, 70), \
                 (2, 'http://127.0.0.1:4318/v1/logs', '[]', 1, NULL, NULL, NULL, 0, 0, 0, NULL)";
    sqlx::query(sinks).execute(&mut old).await.expect("sinks as they were");
    old.close().await.expect("closes");

    let new = open(&path, &[], 2_000).await.expect("it is brought up to date");
    let stored = new.sinks().await.expect("they read").sinks;
    let at = Timestamp::from_millis;
    let paused = SinkProgress {
        taken: Some(at(90)),
        failure: Some(SinkFailure { why: "answered 401".into(), since: at(80), is_paused: true }),
        skipped: 3,
        rejected: 2,
        rejected_since: Some(at(70)),
        ..SinkProgress::new(7)
    };
    let (logs, key) = (&[SinkSignal::Logs], vec!["X-Key".to_owned()]);
    let mut first = LogSink::new(1, "https://collector.example/otlp".into(), key, logs, 7);
    first.signals.insert(SinkSignal::Logs, paused);
    assert_eq!(stored, [first, LogSink::new(2, "http://127.0.0.1:4318".into(), Vec::new(), logs, 1)]);
}

#[tokio::test]
async fn a_registry_from_before_gets_its_mark_of_what_was_signed_once_and_when_its_log_is_whole() {
    use domain::audit::{Actor, AuditEvent, Subject};
    use domain::ports::{CheckpointStore as _, TreeStart};
    use sqlx::Connection as _;
    let rewritten = "UPDATE audit SET actor = 'person:mallory' WHERE number = 2";
    for (change, is_whole) in [("SELECT 1", true), (rewritten, false)] {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("registry.sqlite");
        let before: Vec<Migration> = KNOWN.iter().copied().filter(|step| step.version < SIGNED_MARK).collect();
        let old = open_with(&path, &before, &[], 1_000).await.expect("the schema before opens");
        let fact = |step: u8| AuditEvent {
            at: Timestamp::from_millis(1_000),
            actor: Actor::System("test"),
            verb: Verb::StorageChanged,
            subject: Subject::Store,
            note: step.to_string(),
        };
        old.record((0..5).map(fact).collect()).await.expect("rows");
        old.close().await;
        for (change, is_marked) in [(change, is_whole), ("UPDATE store SET signed_mark = NULL", false)] {
            let options = sqlx::sqlite::SqliteConnectOptions::new().filename(&path);
            let mut connection = sqlx::SqliteConnection::connect_with(&options).await.expect("connects");
            sqlx::raw_sql(change).execute(&mut connection).await.expect("runs");
            connection.close().await.expect("closes");
            let new = open(&path, &[], 2_000).await.expect("it is brought up to date");
            let found = new.check_tree(TreeStart::First, 100).await.expect("reads");
            assert_eq!(found.broken.is_none(), is_marked, "{change}: {:?}", found.broken);
            new.close().await;
        }
    }
}
