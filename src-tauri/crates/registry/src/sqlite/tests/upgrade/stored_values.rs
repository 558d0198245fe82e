//! What earlier schemas stored is counted for its owner and sealed anew for its version (decision 0096).

use std::path::Path;

use domain::ports::{Registry, RegistryError};
use domain::task::payload::{Payload, PayloadKind};
use sqlx::{Connection, Row};

use super::{FIXTURES, OLD_BODY, open, open_with};
use crate::seal::{FieldLocation, SealKey, Sealer};
use crate::sqlite::migrate::{KNOWN, Migration};
use crate::sqlite::tables::row_name;
use crate::sqlite::tables::task_row::handle_place;

#[tokio::test]
async fn what_earlier_schemas_stored_counts_after_the_upgrade() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("registry.sqlite");
    let before: Vec<Migration> = KNOWN.iter().copied().filter(|step| step.version < 24).collect();
    open_with(&path, &before, &[], 1_000).await.expect("the schema before opens").close().await;
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(&path);
    let mut old = sqlx::SqliteConnection::connect_with(&options).await.expect("connects");
    let (server, agent) = (FIXTURES.server(1), FIXTURES.agent(1));
    // One task of an agent with everything, one of a person with a line, one with nothing.
    let rows = format!(
        "INSERT INTO handles (number, id, server, agent, phase, is_open, version, created, changed, log_number, \
          body_sealed) VALUES (1, '{}', '{server}', '{agent}', 'done', 0, 1, 1, 1, 2, x'02'), \
          (2, '{}', '{server}', NULL, 'done', 0, 1, 1, 1, 1, x'02'), (3, '{}', '{server}', NULL, 'done', 0, 1, 1, 1, 0, x'02'); \
         INSERT INTO payloads (handle, kind, sealed, version) VALUES (1, 'result', zeroblob(1000), 1), (1, 'arguments', zeroblob(100), 1); \
         INSERT INTO raw_messages (handle, number, at, direction, about, bytes, cut, body_sealed) \
          VALUES (1, 1, 1, 'in', 'x', 1, 0, zeroblob(200)); \
         INSERT INTO requests (handle, key, opened, state, mark, body_sealed, version) \
          VALUES (1, 'k', 1, 'withdrawn', zeroblob(32), zeroblob(300), 1); \
         INSERT INTO status_log VALUES (1, 1, 1, zeroblob(40)), (1, 2, 1, zeroblob(50)), (2, 1, 1, zeroblob(7)); \
         UPDATE store SET handle_number = 3",
        FIXTURES.id(1),
        FIXTURES.id(2),
        FIXTURES.id(3),
    );
    sqlx::raw_sql(sqlx::AssertSqlSafe(rows)).execute(&mut old).await.expect("old rows");
    old.close().await.expect("closes");

    let new = open(&path, &[], 2_000).await.expect("it is brought up to date");
    let mut used = new.stored_use().await.expect("reads");
    used.sort_by_key(|used| used.bytes);
    let figures: Vec<_> = used.iter().map(|used| (used.agent, used.bytes, used.tasks)).collect();
    assert_eq!(figures, [(None, 7, 2), (Some(agent), 1_690, 1)], "every row counts for its owner");
    assert_eq!(new.facts().await.map(|facts| facts.findings), Ok(Vec::new()), "as a recount finds");
    new.close().await;
}

/// A registry as the fifth schema left it: a task, its answered question and its result, sealed without a version.
async fn sealed_without_versions(path: &Path, steps: &[Migration]) {
    open_with(path, steps, &[], 1_000).await.expect("the old schema opens").close().await;
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(path);
    let mut old = sqlx::SqliteConnection::connect_with(&options).await.expect("connects");
    let key = FIXTURES.id(1).to_string();
    let sealer = Sealer::new(&SealKey::from_bytes([7; 32]));
    let sealed = sealer.seal(handle_place(&key), OLD_BODY.as_bytes()).expect("seals");
    sqlx::query(
        "INSERT INTO handles (number, id, server, tool, phase, is_open, version, created, changed, log_number, \
         body_sealed) VALUES (1, ?, ?, 'index_folder', 'cancelled', 0, 5, 100, 100, 0, ?)",
    )
    .bind(key.clone())
    .bind(FIXTURES.server(1).to_string())
    .bind(sealed)
    .execute(&mut old)
    .await
    .expect("an old task");
    let row = row_name(&key, "result");
    let place = FieldLocation { table: "payloads", column: "sealed", row: &row };
    sqlx::query("INSERT INTO payloads (handle, kind, sealed) VALUES (1, 'result', ?)")
        .bind(sealer.seal(place, b"{\"n\":1}").expect("seals"))
        .execute(&mut old)
        .await
        .expect("an old payload");
    sqlx::query("UPDATE store SET handle_number = 1").execute(&mut old).await.expect("counted");
    old.close().await.expect("closes");
}

/// The sealed values of the only task, and whether all are bound to versions.
async fn sealed_values(path: &Path) -> (Vec<u8>, Vec<u8>, i64) {
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(path);
    let mut reader = sqlx::SqliteConnection::connect_with(&options).await.expect("connects");
    let row = sqlx::query("SELECT h.body_sealed, p.sealed, s.resealed FROM handles h, payloads p, store s")
        .fetch_one(&mut reader)
        .await
        .expect("one row");
    reader.close().await.expect("closes");
    (row.get(0), row.get(1), row.get(2))
}

#[tokio::test]
async fn values_from_before_versions_were_bound_are_sealed_anew_and_cannot_be_put_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("registry.sqlite");
    let steps: Vec<Migration> = KNOWN.iter().copied().filter(|step| step.version < 6).collect();
    sealed_without_versions(&path, &steps).await;
    let first = open(&path, &[], 2_000).await.expect("it is brought up to date");
    let (id, result) = (FIXTURES.id(1), Ok(Some(Payload::new("{\"n\":1}"))));
    assert!(first.handle(id).await.expect("reads").is_some(), "it reads while it is being sealed anew");
    let (old_task, old_payload, _) = {
        let untouched = folder.path().join("untouched.sqlite");
        sealed_without_versions(&untouched, KNOWN).await;
        sealed_values(&untouched).await
    };
    // The writer does this while nothing else is to do: closing waits for the step that runs.
    let mut rounds = 0;
    while sealed_values(&path).await.2 == 0 {
        tokio::task::yield_now().await;
        rounds += 1;
        assert!(rounds < 100_000, "the writer seals them anew");
    }
    first.close().await;
    let (task, payload, _) = sealed_values(&path).await;
    assert_eq!((task.first(), payload.first()), (Some(&2), Some(&2)), "in the layout with versions");

    let second = open(&path, &[], 3_000).await.expect("opens");
    assert_eq!(second.payload(id, PayloadKind::Result).await, result, "what they say is the same");
    assert!(second.handle(id).await.expect("reads").is_some());
    second.close().await;
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(&path);
    let mut attacker = sqlx::SqliteConnection::connect_with(&options).await.expect("connects");
    sqlx::query("UPDATE payloads SET sealed = ?, version = 0")
        .bind(old_payload)
        .execute(&mut attacker)
        .await
        .expect("puts");
    sqlx::query("UPDATE handles SET body_sealed = ?").bind(old_task).execute(&mut attacker).await.expect("puts");
    attacker.close().await.expect("closes");
    let third = open(&path, &[], 4_000).await.expect("opens");
    for refused in [third.payload(id, PayloadKind::Result).await.err(), third.handle(id).await.err()] {
        let Some(RegistryError::Damaged { finding, .. }) = refused else { panic!("it was taken: {refused:?}") };
        assert!(finding.contains("put back"), "{finding}");
    }
    third.close().await;
}
