//! SQLite alone: what files, disks, keys and other processes can do to the registry.

#![expect(clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test that cannot go on fails")]

mod arbitrary;
mod arbitrary_settings;
mod audit_parts;
mod checkpoints;
mod intents;
mod opening;
mod receipts;
mod roundtrip;
mod sealing;
mod storage;
mod writing;

use std::path::{Path, PathBuf};

use domain::policy::Policy;
use domain::ports::RegistryError;
use domain::time::Timestamp;
use registry::{RegistryOptions, SealKey, SqliteRegistry};
use tempfile::TempDir;

/// A folder for one registry.
struct Home {
    folder: TempDir,
}

impl Home {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder can be made") }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("registry.sqlite")
    }

    async fn try_open(&self) -> Result<SqliteRegistry, RegistryError> {
        open(&self.path(), key(), &policy()).await
    }

    async fn open(&self) -> SqliteRegistry {
        self.try_open().await.expect("the registry opens")
    }

    async fn try_read(&self) -> Result<SqliteRegistry, RegistryError> {
        read_only(&self.path()).await
    }
}

/// Opens with the writer on the test's own runtime.
async fn open(path: &Path, key: SealKey, policy: &Policy) -> Result<SqliteRegistry, RegistryError> {
    let opening = RegistryOptions { path, key, policy, now: Timestamp::from_millis(1_000) };
    SqliteRegistry::open(opening, |work| drop(tokio::runtime::Handle::current().spawn(work))).await
}

async fn read_only(path: &Path) -> Result<SqliteRegistry, RegistryError> {
    SqliteRegistry::open_read_only(path, key(), &policy()).await
}

fn key() -> SealKey {
    SealKey::from_bytes([7; 32])
}

/// A small reserve, so that tests do not write megabytes.
fn policy() -> Policy {
    Policy { reserve_file_bytes: 100_000, ..Policy::default() }
}

/// Runs SQL on the file, as another program could.
async fn meddle(path: &Path, sql: &str) {
    use sqlx::Connection as _;
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(path).create_if_missing(true);
    let mut connection = sqlx::SqliteConnection::connect_with(&options).await.expect("connects");
    sqlx::raw_sql(sqlx::AssertSqlSafe(sql.to_owned())).execute(&mut connection).await.expect("runs");
    connection.close().await.expect("closes");
}
