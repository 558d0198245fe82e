//! Bringing a registry's schema up to date: append-only, forward only, checksummed, backed up before.
//!
//! The schema's version is `PRAGMA user_version`; the table `migrations` says which text made each step, and a step
//! whose text has changed since is refused. A newer schema is refused before anything is written. Nothing here goes
//! back: the backup does.

use std::fs;
use std::path::{Path, PathBuf};

use domain::digest::hex;
use domain::ports::RegistryError;
use domain::time::Timestamp;
use sha2::{Digest, Sha256};
use sqlx::sqlite::SqliteConnection;
use sqlx::{Connection, Row};

use super::errors;
use super::write::reserve;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Migration {
    /// The schema's version after it.
    pub(crate) version: i64,
    pub(crate) sql: &'static str,
}

/// The first schema that keeps a mark of what was signed last.
pub(crate) const SIGNED_MARK: i64 = 33;

/// All steps of this version, oldest first.
pub(crate) const KNOWN: &[Migration] = &[
    Migration { version: 1, sql: include_str!("../../migrations/sqlite/0001_registry.sql") },
    Migration { version: 2, sql: include_str!("../../migrations/sqlite/0002_screens.sql") },
    Migration { version: 3, sql: include_str!("../../migrations/sqlite/0003_gateway.sql") },
    Migration { version: 4, sql: include_str!("../../migrations/sqlite/0004_budget.sql") },
    Migration { version: 6, sql: include_str!("../../migrations/sqlite/0006_storage.sql") },
    Migration { version: 7, sql: include_str!("../../migrations/sqlite/0007_decisions.sql") },
    Migration { version: 8, sql: include_str!("../../migrations/sqlite/0008_learned_timeouts.sql") },
    Migration { version: 9, sql: include_str!("../../migrations/sqlite/0009_two_figures.sql") },
    Migration { version: 10, sql: include_str!("../../migrations/sqlite/0010_one_count.sql") },
    Migration { version: 11, sql: include_str!("../../migrations/sqlite/0011_prices.sql") },
    Migration { version: 12, sql: include_str!("../../migrations/sqlite/0012_answered.sql") },
    Migration { version: 13, sql: include_str!("../../migrations/sqlite/0013_agent_tokens.sql") },
    Migration { version: 14, sql: include_str!("../../migrations/sqlite/0014_tools.sql") },
    Migration { version: 15, sql: include_str!("../../migrations/sqlite/0015_hidden.sql") },
    Migration { version: 16, sql: include_str!("../../migrations/sqlite/0016_halts.sql") },
    Migration { version: 18, sql: include_str!("../../migrations/sqlite/0018_plans.sql") },
    Migration { version: 19, sql: include_str!("../../migrations/sqlite/0019_audit.sql") },
    Migration { version: 20, sql: include_str!("../../migrations/sqlite/0020_control_tokens.sql") },
    Migration { version: 21, sql: include_str!("../../migrations/sqlite/0021_audit_filters.sql") },
    Migration { version: 22, sql: include_str!("../../migrations/sqlite/0022_routes.sql") },
    Migration { version: 23, sql: include_str!("../../migrations/sqlite/0023_checkpoints.sql") },
    Migration { version: 24, sql: include_str!("../../migrations/sqlite/0024_stored_bytes.sql") },
    Migration { version: 25, sql: include_str!("../../migrations/sqlite/0025_alarms.sql") },
    Migration { version: 26, sql: include_str!("../../migrations/sqlite/0026_receipts.sql") },
    Migration { version: 27, sql: include_str!("../../migrations/sqlite/0027_pauses.sql") },
    Migration { version: 28, sql: include_str!("../../migrations/sqlite/0028_otlp_sinks.sql") },
    Migration { version: 29, sql: include_str!("../../migrations/sqlite/0029_sink_replies.sql") },
    Migration { version: 30, sql: include_str!("../../migrations/sqlite/0030_sink_signals.sql") },
    Migration { version: 31, sql: include_str!("../../migrations/sqlite/0031_removed_tasks.sql") },
    Migration { version: 32, sql: include_str!("../../migrations/sqlite/0032_learned_durations.sql") },
    Migration { version: SIGNED_MARK, sql: include_str!("../../migrations/sqlite/0033_signed_mark.sql") },
    Migration { version: 34, sql: include_str!("../../migrations/sqlite/0034_reverified.sql") },
    Migration { version: 35, sql: include_str!("../../migrations/sqlite/0035_told_tools.sql") },
    Migration { version: 36, sql: include_str!("../../migrations/sqlite/0036_shown_end.sql") },
];

/// Marks the file as ours (`PRAGMA application_id`): the letters T, s, k, W.
const APPLICATION: i64 = 0x5473_6b57;
/// Made before the first step.
const MIGRATIONS: &str =
    "CREATE TABLE IF NOT EXISTS migrations (version INTEGER PRIMARY KEY, checksum TEXT NOT NULL, at INTEGER NOT NULL)";

fn checksum(sql: &str) -> String {
    hex(&Sha256::digest(sql.as_bytes()))
}

async fn number(connection: &mut SqliteConnection, sql: &'static str) -> Result<i64, sqlx::Error> {
    sqlx::query(sql).fetch_one(connection).await?.try_get(0)
}

/// The schema's version, 0 for a new file.
///
/// # Errors
/// When it is newer than the newest known, not a Taskwarden registry, or damaged.
pub(crate) async fn schema(
    connection: &mut SqliteConnection,
    path: &Path,
    known: &[Migration],
) -> Result<i64, RegistryError> {
    let failed = |error| errors::of(path, "read the schema", error);
    let found = number(connection, "PRAGMA user_version").await.map_err(failed)?;
    let application = number(connection, "PRAGMA application_id").await.map_err(failed)?;
    let tables = number(connection, "SELECT count(*) FROM sqlite_schema").await.map_err(failed)?;
    let newest = known.last().map_or(0, |last| last.version);
    if tables == 0 && found == 0 {
        return Ok(0);
    }
    if application != APPLICATION {
        return Err(RegistryError::Damaged {
            path: path.into(),
            finding: "it is a database of another program".into(),
        });
    }
    if found > newest {
        return Err(RegistryError::Newer { path: path.into(), found, known: newest });
    }
    for step in known.iter().filter(|step| step.version <= found) {
        let made: Option<String> = sqlx::query_scalar("SELECT checksum FROM migrations WHERE version = ?")
            .bind(step.version)
            .fetch_optional(&mut *connection)
            .await
            .map_err(failed)?;
        if made.as_deref() != Some(checksum(step.sql).as_str()) {
            let finding = format!("its schema {} was not made by this program", step.version);
            return Err(RegistryError::Damaged { path: path.into(), finding });
        }
    }
    Ok(found)
}

/// From which schema to which steps, and what becomes of backups.
#[derive(Clone, Copy)]
pub(crate) struct Upgrade<'a> {
    pub(crate) found: i64,
    pub(crate) known: &'a [Migration],
    pub(crate) now: Timestamp,
    pub(crate) backups_kept: usize,
}

/// Checks, backs up, and takes the missing steps, each in a transaction of its own.
pub(crate) async fn migrate(
    connection: &mut SqliteConnection,
    path: &Path,
    upgrade: Upgrade<'_>,
) -> Result<(), RegistryError> {
    let Upgrade { found, known, now, .. } = upgrade;
    let failed = |error| errors::of(path, "bring the schema up to date", error);
    if found > 0 {
        let row = sqlx::query("PRAGMA integrity_check(1)").fetch_one(&mut *connection).await.map_err(failed)?;
        let finding: String = row.try_get(0).map_err(failed)?;
        if finding != "ok" {
            return Err(RegistryError::Damaged { path: path.into(), finding });
        }
        back_up(connection, path, upgrade).await?;
    }
    for step in known.iter().filter(|step| step.version > found) {
        let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await.map_err(failed)?;
        if number(&mut transaction, "PRAGMA user_version").await.map_err(failed)? >= step.version {
            // Another process was faster; dropping the transaction gives it back.
            continue;
        }
        if step.version == 1 {
            // 0x54736b57; pragmas take no placeholders.
            sqlx::query("PRAGMA application_id = 1416850263").execute(&mut *transaction).await.map_err(failed)?;
        }
        sqlx::query(MIGRATIONS).execute(&mut *transaction).await.map_err(failed)?;
        sqlx::raw_sql(step.sql).execute(&mut *transaction).await.map_err(failed)?;
        sqlx::query("INSERT INTO migrations (version, checksum, at) VALUES (?, ?, ?)")
            .bind(step.version)
            .bind(checksum(step.sql))
            .bind(now.as_millis())
            .execute(&mut *transaction)
            .await
            .map_err(failed)?;
        let version = sqlx::AssertSqlSafe(format!("PRAGMA user_version = {}", step.version));
        sqlx::query(version).execute(&mut *transaction).await.map_err(failed)?;
        transaction.commit().await.map_err(failed)?;
    }
    Ok(())
}

/// Writes a whole copy to `backups/registry-SCHEMA-TIME.sqlite` and removes the oldest beyond those kept.
async fn back_up(
    connection: &mut SqliteConnection,
    path: &Path,
    Upgrade { found, now, backups_kept, .. }: Upgrade<'_>,
) -> Result<(), RegistryError> {
    let operation = "back up the registry";
    let folder = path.with_file_name("backups");
    fs::create_dir_all(&folder).map_err(|error| errors::of_file(&folder, operation, &error))?;
    let moment: String = now.to_string().chars().filter(char::is_ascii_alphanumeric).collect();
    let target = folder.join(format!("registry-{found}-{moment}.sqlite"));
    // SQLite fills an empty file that is there, and keeps its rights.
    reserve::private_file()
        .write(true)
        .create(true)
        .truncate(true)
        .open(&target)
        .map_err(|error| errors::of_file(&target, operation, &error))?;
    let Some(text) = target.to_str() else {
        return Err(RegistryError::Other { operation, why: "its path is not UTF-8".into() });
    };
    sqlx::query("VACUUM INTO ?")
        .bind(text.to_owned())
        .execute(connection)
        .await
        .map_err(|error| errors::of(&target, operation, error))?;
    forget_old(&folder, backups_kept).map_err(|error| errors::of_file(&folder, operation, &error))
}

fn forget_old(folder: &Path, kept: usize) -> std::io::Result<()> {
    let ours = |name: &str| name.starts_with("registry-") && name.ends_with(".sqlite");
    let mut backups: Vec<(std::time::SystemTime, PathBuf)> = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name().to_str().is_some_and(ours) {
            backups.push((entry.metadata()?.modified()?, entry.path()));
        }
    }
    backups.sort();
    let beyond = backups.len().saturating_sub(kept.max(1));
    backups.iter().take(beyond).try_for_each(|(_, path)| fs::remove_file(path))
}
