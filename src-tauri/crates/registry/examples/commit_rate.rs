//! Durable commits per second, against bare SQLite transactions of the same size in the same run.
//!
//! A commit changes one task: its row, a change row, an audit row and the counters. The reference writes the same rows
//! with the same sizes into the same schema through a plain connection with the same settings and prepared statements.
//! Rounds are interleaved, so that a slow disk slows both. Prints one JSON object a line, as
//! `cargo xtask bench` reads it.

#![expect(clippy::expect_used, clippy::print_stdout, reason = "a measurement that cannot go on has nothing to say")]

use std::path::Path;
use std::time::{Duration, Instant};

use domain::audit::Verb;
use domain::policy::Policy;
use domain::ports::{Commit, Registry};
use domain::task::TaskHandle;
use domain::task::status::Phase;
use domain::time::Timestamp;
use futures::future::join_all;
use registry::{RegistryOptions, SealKey, SqliteRegistry};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteSynchronous};
use sqlx::{Connection, Row};
use testkit::contract::{ContractFixtures, commit_of};
use tokio::runtime::Handle;

const FIXTURES: ContractFixtures = ContractFixtures::of(9);
const SUBMITTERS: u64 = 64;
const ROUNDS: u32 = 8;
/// Commits of one submitter in one round.
const ALONE: u64 = 200;
/// Commits of each of the many in one round.
const EACH: u64 = 25;

async fn open(path: &Path) -> SqliteRegistry {
    let (key, policy) = (SealKey::from_bytes([7; 32]), Policy::default());
    let opening = RegistryOptions { path, key, policy: &policy, now: Timestamp::EPOCH };
    SqliteRegistry::open(opening, |work| drop(Handle::current().spawn(work))).await.expect("opens")
}

/// A registry with one working task for each submitter.
async fn prepared(path: &Path) -> (SqliteRegistry, Vec<TaskHandle>) {
    let registry = open(path).await;
    let mut handles = Vec::new();
    for number in 0..SUBMITTERS {
        let mut handle = FIXTURES.task(number, 100, &format!("upstream-task-{number}"));
        handle.version = registry.admit(change(&handle)).await.expect("admitted").version;
        handles.push(handle);
    }
    (registry, handles)
}

fn change(handle: &TaskHandle) -> Commit {
    Commit { audit: vec![FIXTURES.fact(1, Verb::Ended, "working -> completed")], ..commit_of(handle, Phase::Running) }
}

async fn commit(registry: &SqliteRegistry, handle: &mut TaskHandle) {
    handle.version = registry.commit(change(handle)).await.expect("nobody else changes it").version;
}

/// One submitter, one commit after the other.
async fn alone(registry: &SqliteRegistry, handles: &mut [TaskHandle]) -> Duration {
    let begun = Instant::now();
    let mut left = ALONE;
    while left > 0 {
        for handle in handles.iter_mut().take(usize::try_from(left).expect("fits")) {
            commit(registry, handle).await;
            left -= 1;
        }
    }
    begun.elapsed()
}

/// Many submitters at once, each with its own task.
async fn together(registry: &SqliteRegistry, handles: &mut [TaskHandle]) -> Duration {
    let begun = Instant::now();
    join_all(handles.iter_mut().map(|handle| async move {
        for _ in 0..EACH {
            commit(registry, handle).await;
        }
    }))
    .await;
    begun.elapsed()
}

/// The reference: a plain connection to a registry of the same schema, and what to write there.
struct Bare {
    connection: SqliteConnection,
    body: Vec<u8>,
    sequence: i64,
}

impl Bare {
    async fn prepared(path: &Path) -> Self {
        prepared(path).await.0.close().await;
        let options = SqliteConnectOptions::new()
            .filename(path)
            .synchronous(SqliteSynchronous::Full)
            .foreign_keys(true)
            .pragma("temp_store", "MEMORY");
        let mut connection = SqliteConnection::connect_with(&options).await.expect("connects");
        let row = sqlx::query("SELECT body_sealed, (SELECT seq FROM store) FROM handles LIMIT 1");
        let row = row.fetch_one(&mut connection).await.expect("a task is there");
        Self { body: row.get(0), sequence: row.get(1), connection }
    }

    async fn transact(&mut self) {
        self.sequence += 1;
        let (at, number) = (1_700_000_000_000_i64, self.sequence % i64::try_from(SUBMITTERS).expect("fits") + 1);
        let task = FIXTURES.id(1).to_string();
        let mut transaction = self.connection.begin_with("BEGIN IMMEDIATE").await.expect("begins");
        sqlx::query(
            "UPDATE handles SET tool = ?, phase = ?, is_open = ?, version = ?, changed = ?, tick_at = ?, \
             deliver_at = ?, task_mark = ?, body_sealed = ? WHERE number = ?",
        )
        .bind("index_folder")
        .bind("running")
        .bind(true)
        .bind(self.sequence)
        .bind(at)
        .bind(None::<i64>)
        .bind(None::<i64>)
        .bind(number.to_be_bytes().repeat(4))
        .bind(self.body.as_slice())
        .bind(number)
        .execute(&mut *transaction)
        .await
        .expect("updates");
        sqlx::query(
            "INSERT INTO audit (number, at, actor, verb, subject, handle, note, previous, hash) \
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )
        .bind(self.sequence)
        .bind(at)
        .bind("person:ada")
        .bind("ended")
        .bind(format!("handle:{task}"))
        .bind(task.as_str())
        .bind("working -> completed")
        .bind([1_u8; 32].as_slice())
        .bind([2_u8; 32].as_slice())
        .execute(&mut *transaction)
        .await
        .expect("inserts");
        sqlx::query("INSERT INTO changes (seq, at, kind, entity, removed) VALUES (?, ?, ?, ?, ?)")
            .bind(self.sequence)
            .bind(at)
            .bind("handle")
            .bind(task.as_str())
            .bind(false)
            .execute(&mut *transaction)
            .await
            .expect("inserts");
        sqlx::query("UPDATE store SET seq = ?, changed_at = ?, audit_number = ?, audit_hash = ? WHERE one = 1")
            .bind(self.sequence)
            .bind(at)
            .bind(self.sequence)
            .bind([2_u8; 32].as_slice())
            .execute(&mut *transaction)
            .await
            .expect("updates");
        transaction.commit().await.expect("commits");
    }

    async fn round(&mut self) -> Duration {
        let begun = Instant::now();
        for _ in 0..ALONE {
            self.transact().await;
        }
        begun.elapsed()
    }
}

fn rate(commits: u64, took: &[Duration]) -> f64 {
    let all = f64::from(ROUNDS) * f64::from(u32::try_from(commits).expect("fits"));
    all / took.iter().sum::<Duration>().as_secs_f64()
}

#[tokio::main]
async fn main() {
    // On a task of the runtime, as the engine commits.
    Handle::current().spawn(measure()).await.expect("measured");
}

async fn measure() {
    let folder = tempfile::tempdir().expect("a folder");
    let (registry, mut handles) = prepared(&folder.path().join("ours").join("registry.sqlite")).await;
    let mut bare = Bare::prepared(&folder.path().join("bare").join("registry.sqlite")).await;
    let [mut reference, mut one, mut many] = [const { Vec::new() }; 3];
    // One round of each to warm up.
    bare.round().await;
    alone(&registry, &mut handles).await;
    together(&registry, &mut handles).await;
    for _ in 0..ROUNDS {
        reference.push(bare.round().await);
        one.push(alone(&registry, &mut handles).await);
        many.push(together(&registry, &mut handles).await);
    }
    registry.close().await;
    let (reference, one, many) = (rate(ALONE, &reference), rate(ALONE, &one), rate(SUBMITTERS * EACH, &many));
    let line = |metric: &str, reference: f64, ours: f64, aim: &str| {
        let ratio = ours / reference;
        println!(
            "{{\"metric\": \"durable commits, {metric}\", \"reference\": {reference:.0}, \"ours\": {ours:.0}, \
             \"unit\": \"/s\", \"ratio\": {ratio:.2}, \"aim\": \"{aim}\"}}"
        );
    };
    line("one submitter, against bare SQLite", reference, one, ">= 0.8 ×");
    line("64 submitters, against one", one, many, ">= 5 ×");
}
