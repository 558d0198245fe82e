//! Opening a registry: what is made, checked and refused before the first read or write.
//!
//! Order: folder and file (readable by their user only), schema (a newer one is refused before anything is written),
//! quick check, backup and migrations, key, the mark of what was signed last, writer, readers. A registry larger than
//! `registry_check_bytes` is checked by `doctor` instead, so that starting does not take as long as reading all of it. On a
//! full disk the reserve is freed and opening is tried once more (ruling 28).

use std::fs;
use std::path::Path;
use std::sync::Arc;

use domain::policy::Policy;
use domain::ports::{RegistryError, TreeStart};
use domain::time::Timestamp;
use futures_core::future::BoxFuture;
use sqlx::sqlite::{
    SqliteAutoVacuum, SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous,
};
use sqlx::{ConnectOptions, Connection, Row, SqlitePool};
use verify::tree::empty_root;

use super::maintenance::enable_incremental_vacuum;
use super::migrate::{KNOWN, Migration, SIGNED_MARK, Upgrade, migrate, schema};
use super::read::kept_answers::KeptAnswers;
use super::tables::audit::checkpoints::{SignedMark, SignedPlace};
use super::write::health::WriterHealth;
use super::write::reseal;
use super::write::reserve::DiskReserve;
use super::write::writer::Writer;
use super::{SqliteRegistry, StoreContext, StoreLimits, errors, whole};
use crate::seal::{FieldLocation, SealKey, Sealer};

/// Readers at a time. A list, the inbox, the feed and a command beside each other; SQLite reads from memory. Judgement.
const READERS: u32 = 4;
/// Prepared batches kept per connection: one for each shape of unit and list in use. Judgement.
const SCRIPTS_KEPT: usize = 100;
/// Bytes of the write-ahead log that stay after it was folded in: a large clean-up must not leave a large log. Judgement.
const LOG_KEPT_BYTES: &str = "16777216";
/// What the key check holds in a registry from before the mark of what was signed last.
const KEY_CHECK: &[u8] = b"taskwarden";
/// What it holds since that mark was made: whoever removes the mark cannot make a registry from before of it.
const KEY_CHECK_MARKED: &[u8] = b"taskwarden, marked";
/// Rows that are compared at once before the first mark. Judgement.
const COMPARED_ROWS: u32 = 20_000;
/// Where the key check is stored.
const KEY_PLACE: FieldLocation<'static> = FieldLocation { table: "store", column: "key_check_sealed", row: "1" };

/// What opening a registry needs.
#[derive(Debug)]
pub struct RegistryOptions<'a> {
    /// The file; its folder is made when it is missing.
    pub path: &'a Path,
    /// The key of its sealed fields.
    pub key: SealKey,
    /// The numbers that bind.
    pub policy: &'a Policy,
    /// Names a backup, if one is made before a migration.
    pub now: Timestamp,
}

fn options(path: &Path, policy: &Policy) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        .busy_timeout(policy.registry_busy_wait)
        .statement_cache_capacity(SCRIPTS_KEPT)
        .pragma("temp_store", "MEMORY")
        .pragma("journal_size_limit", LOG_KEPT_BYTES)
        .disable_statement_logging()
}

fn base_of(path: &Path, key: &SealKey, policy: &Policy) -> StoreContext {
    let health = WriterHealth::new(policy.retention.slow_commit);
    StoreContext {
        path: path.into(),
        sealer: Sealer::new(key),
        limits: StoreLimits::of(policy),
        health,
        kept: KeptAnswers::default(),
        is_resealed: false,
    }
}

impl StoreLimits {
    fn of(policy: &Policy) -> Self {
        Self {
            group_commit_max: policy.group_commit_max.max(1),
            page_rows_max: policy.page_rows_max,
            log_lines_per_task: policy.log_lines_per_task,
            usual_samples_kept: policy.usual_samples_kept,
            learned_tools: policy.retention.learned_tools,
            inbox_rows_max: policy.inbox_rows_max,
            desk_value_bytes: policy.desk_value_bytes,
            desk_key_bytes: policy.desk_key_bytes,
            desk_items_max: policy.desk_items_max,
            desk_kind_bytes: policy.desk_kind_bytes,
            raw_messages_per_task: policy.raw_messages_per_task,
            reserve_file_bytes: policy.reserve_file_bytes,
            repeats_max: policy.gateway.repeats_max,
            windows_shown: policy.counting.windows_shown,
            series_kept: policy.counting.series_kept,
            record_again: policy.retention.record_again,
            pages_at_once: policy.retention.pages_at_once,
            reserve_change_bytes: policy.retention.reserve_change_bytes,
        }
    }
}

impl SqliteRegistry {
    /// Opens or makes a registry, for the one core that may write to it. `spawn` gets the writer's work; it ends when
    /// the registry is closed or dropped, so whoever runs it must not cut it off before.
    ///
    /// # Errors
    /// Locked, read-only, full, damaged or newer, each with the path; [`RegistryError::WrongKey`] when it was made
    /// with another key.
    pub async fn open(
        opening: RegistryOptions<'_>,
        spawn: impl FnOnce(BoxFuture<'static, ()>),
    ) -> Result<Self, RegistryError> {
        let (registry, work) = Self::opened(opening, KNOWN).await?;
        spawn(work);
        Ok(registry)
    }

    /// Opens the registry at `path` for reading, with or without a core that writes to it.
    ///
    /// # Errors
    /// [`RegistryError::Missing`] when there is none; otherwise as [`SqliteRegistry::open`].
    pub async fn open_read_only(path: &Path, key: SealKey, policy: &Policy) -> Result<Self, RegistryError> {
        if !path.try_exists().map_err(|error| errors::of_file(path, "look for the registry", &error))? {
            return Err(RegistryError::Missing { path: path.into() });
        }
        check_not_emptied(path)?;
        let plain = options(path, policy).read_only(true);
        match Self::reading(path, &key, policy, plain.clone()).await {
            // Shared memory cannot be made beside the file. Without a log the file alone is the whole registry.
            Err(RegistryError::ReadOnly { .. } | RegistryError::Full { .. }) if !has_log(path) => {
                Self::reading(path, &key, policy, plain.immutable(true)).await
            }
            Err(RegistryError::Full { .. }) if DiskReserve::free_beside(path) => {
                Self::reading(path, &key, policy, plain).await
            }
            done => done,
        }
    }

    async fn reading(
        path: &Path,
        key: &SealKey,
        policy: &Policy,
        options: SqliteConnectOptions,
    ) -> Result<Self, RegistryError> {
        let mut base = base_of(path, key, policy);
        let readers = readers(options, policy);
        let mut reader = readers.acquire().await.map_err(|error| match error {
            // Nobody reads yet: the connection itself waits, for a lock of another program.
            sqlx::Error::PoolTimedOut => RegistryError::Locked { path: path.into() },
            other => base.failed("open the registry")(other),
        })?;
        match schema(&mut reader, path, KNOWN).await? {
            0 => return Err(RegistryError::Missing { path: path.into() }),
            found if found < newest(KNOWN) => {
                return Err(RegistryError::Other {
                    operation: "read an older registry",
                    why: "its schema is brought up to date by the next `taskwarden serve`".into(),
                });
            }
            _ => {
                check_key(&base, &mut reader).await?;
            }
        }
        base.is_resealed = reseal::is_done(&base, &mut reader).await?;
        drop(reader);
        Ok(Self { base: Arc::new(base), readers, writer: None })
    }

    /// As [`SqliteRegistry::open`], with a list of migrations (tests have others) and the writer's work not running yet.
    pub(crate) async fn opened(
        opening: RegistryOptions<'_>,
        known: &[Migration],
    ) -> Result<(Self, BoxFuture<'static, ()>), RegistryError> {
        match Self::opened_once(&opening, known).await {
            Err(RegistryError::Full { .. }) if DiskReserve::free_beside(opening.path) => {
                Self::opened_once(&opening, known).await
            }
            done => done,
        }
    }

    async fn opened_once(
        RegistryOptions { path, key, policy, now }: &RegistryOptions<'_>,
        known: &[Migration],
    ) -> Result<(Self, BoxFuture<'static, ()>), RegistryError> {
        let (path, policy, now) = (*path, *policy, *now);
        let mut base = base_of(path, key, policy);
        check_not_emptied(path)?;
        let there = make_file(path)?;
        let options = options(path, policy);
        let mut connection = options.connect().await.map_err(base.failed("open the registry"))?;
        let found = schema(&mut connection, path, known).await?;
        connection.close().await.map_err(base.failed("open the registry"))?;

        let mut options = options.journal_mode(SqliteJournalMode::Wal);
        if found == 0 {
            // Only a new file takes it; one from before is written anew once (`enable_incremental_vacuum`), which gives it the same.
            options = options.auto_vacuum(SqliteAutoVacuum::Incremental);
        }
        let mut connection = options.connect().await.map_err(base.failed("open the registry"))?;
        let mode: String = sqlx::query_scalar("PRAGMA journal_mode")
            .fetch_one(&mut connection)
            .await
            .map_err(base.failed("open the registry"))?;
        if mode != "wal" {
            // The file system has no shared memory or no locks, as on some network disks.
            return Err(RegistryError::Locked { path: path.into() });
        }
        if found > 0 && there <= policy.registry_check_bytes {
            quick_check(&base, &mut connection).await?;
        }
        if found < newest(known) {
            let upgrade = Upgrade { found, known, now, backups_kept: policy.backups_kept };
            migrate(&mut connection, path, upgrade).await?;
        }
        let may_have_mark = newest(known) >= SIGNED_MARK;
        let mut key = check_key(&base, &mut connection).await?;
        if key == KeyCheck::Missing {
            write_key_check(&base, &mut connection, may_have_mark).await?;
            key = KeyCheck::Marked;
        }
        base.is_resealed = reseal::is_done(&base, &mut connection).await?;
        if there <= policy.registry_check_bytes {
            enable_incremental_vacuum(&base, &mut connection).await;
        }
        let base = Arc::new(base);
        let reserve = DiskReserve::beside(path, base.limits.reserve_file_bytes);
        let readers = readers(self::options(path, policy).pragma("query_only", "ON"), policy);
        if may_have_mark && key == KeyCheck::Before {
            let registry = Self { base: Arc::clone(&base), readers: readers.clone(), writer: None };
            registry.make_first_mark(&mut connection).await?;
        }
        let (writer, work) = Writer::new(Arc::clone(&base), connection, readers.clone(), reserve);
        Ok((Self { base, readers, writer: Some(writer) }, work))
    }
}

/// Refuses a file that lost all its bytes: SQLite would take it for a new one and remove its write-ahead log. One that a
/// killed first start left empty has no reserve yet, which is made last.
fn check_not_emptied(path: &Path) -> Result<(), RegistryError> {
    let is_empty = fs::metadata(path).is_ok_and(|facts| facts.len() == 0);
    if is_empty && (DiskReserve::is_beside(path) || has_log(path)) {
        let finding = "the file is empty, and it was not before".into();
        return Err(RegistryError::Damaged { path: path.into(), finding });
    }
    Ok(())
}

/// Whether commits may lie in the write-ahead log.
fn has_log(path: &Path) -> bool {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    match fs::metadata(log) {
        Ok(facts) => facts.len() > 0,
        Err(error) => error.kind() != std::io::ErrorKind::NotFound,
    }
}

fn newest(known: &[Migration]) -> i64 {
    known.last().map_or(0, |last| last.version)
}

fn readers(options: SqliteConnectOptions, policy: &Policy) -> SqlitePool {
    SqlitePoolOptions::new()
        .max_connections(READERS)
        .acquire_timeout(policy.registry_busy_wait)
        .test_before_acquire(false)
        .connect_lazy_with(options)
}

/// Makes the folder and an empty file that only its user can read; SQLite gives its other files the same rights.
/// Returns the size that was there.
fn make_file(path: &Path) -> Result<u64, RegistryError> {
    let failed = |error: std::io::Error| errors::of_file(path, "make the registry", &error);
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    let file =
        super::write::reserve::private_file().write(true).create(true).truncate(false).open(path).map_err(failed)?;
    file.metadata().map(|facts| facts.len()).map_err(failed)
}

async fn quick_check(base: &StoreContext, connection: &mut SqliteConnection) -> Result<(), RegistryError> {
    let row =
        sqlx::query("PRAGMA quick_check(1)").fetch_one(connection).await.map_err(base.failed("check the registry"))?;
    let finding: String = row.try_get(0).map_err(base.failed("check the registry"))?;
    if finding == "ok" { Ok(()) } else { Err(RegistryError::Damaged { path: base.path.clone(), finding }) }
}

/// What the key check says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeyCheck {
    /// There is none: the registry is new.
    Missing,
    /// The registry has no mark of what was signed last yet.
    Before,
    /// The registry was given that mark.
    Marked,
}

/// Opens the key check.
async fn check_key(base: &StoreContext, connection: &mut SqliteConnection) -> Result<KeyCheck, RegistryError> {
    let row = sqlx::query("SELECT key_check_sealed FROM store WHERE one = 1")
        .fetch_one(&mut *connection)
        .await
        .map_err(base.failed("read the key check"))?;
    let sealed: Option<Vec<u8>> = row.try_get(0).map_err(base.failed("read the key check"))?;
    let Some(sealed) = sealed else { return Ok(KeyCheck::Missing) };
    match base.sealer.open(KEY_PLACE, &sealed) {
        Ok(plain) if plain == KEY_CHECK => Ok(KeyCheck::Before),
        Ok(plain) if plain == KEY_CHECK_MARKED => Ok(KeyCheck::Marked),
        Ok(_) | Err(_) => Err(RegistryError::WrongKey),
    }
}

/// Leaves the key check in a new registry, and that nothing of its log was signed. A log with rows gets no mark: whoever
/// removed the key check of it does not have the key.
async fn write_key_check(
    base: &StoreContext,
    connection: &mut SqliteConnection,
    may_have_mark: bool,
) -> Result<(), RegistryError> {
    let failed = || base.failed("write the key check");
    let plain = if may_have_mark { KEY_CHECK_MARKED } else { KEY_CHECK };
    let sealed = base.sealer.seal(KEY_PLACE, plain).map_err(StoreContext::sealing("seal the key check"))?;
    if may_have_mark {
        let row = sqlx::query("SELECT log_id, audit_number FROM store WHERE one = 1")
            .fetch_one(&mut *connection)
            .await
            .map_err(failed())?;
        let log_id: String = row.try_get(0).map_err(failed())?;
        let rows: i64 = row.try_get(1).map_err(failed())?;
        if rows == 0 {
            let place = SignedPlace { size: 0, root: empty_root(), begins_epoch: false };
            return write_mark(base, connection, place.marked(&base.sealer, &log_id), sealed).await;
        }
    }
    sqlx::query("UPDATE store SET key_check_sealed = ? WHERE one = 1")
        .bind(sealed)
        .execute(connection)
        .await
        .map(|_| ())
        .map_err(failed())
}

/// Writes a first mark and the key check that says that there is one, in one statement.
async fn write_mark(
    base: &StoreContext,
    connection: &mut SqliteConnection,
    SignedMark { place, mark }: SignedMark,
    key_check: Vec<u8>,
) -> Result<(), RegistryError> {
    sqlx::query(
        "UPDATE store SET signed_size = ?, signed_root = ?, signed_begins = 0, signed_mark = ?, key_check_sealed = ? \
         WHERE one = 1",
    )
    .bind(whole(place.size))
    .bind(place.root.to_vec())
    .bind(mark.to_vec())
    .bind(key_check)
    .execute(connection)
    .await
    .map(|_| ())
    .map_err(base.failed("write what was signed last"))
}

impl SqliteRegistry {
    /// Gives a registry from before its first mark of what was signed last, when its chain is whole and the rows agree with
    /// its newest checkpoint. Otherwise it stays without one, which `audit verify` tells and which keeps it from being signed.
    async fn make_first_mark(&self, connection: &mut SqliteConnection) -> Result<(), RegistryError> {
        if !self.is_whole().await? {
            tracing::error!(
                "the audit log does not hold, so that it is not signed; `taskwarden audit verify` says where"
            );
            return Ok(());
        }
        let failed = || self.base.failed("read what was signed last");
        let log_id: String = sqlx::query_scalar("SELECT log_id FROM store WHERE one = 1")
            .fetch_one(&mut *connection)
            .await
            .map_err(failed())?;
        let newest = self.newest_checkpoint(connection).await?;
        let (size, root) = newest.map_or((0, empty_root()), |newest| (newest.size, newest.root));
        let mark = SignedPlace { size, root, begins_epoch: false }.marked(&self.base.sealer, &log_id);
        let sealing = StoreContext::sealing("seal the key check");
        let key_check = self.base.sealer.seal(KEY_PLACE, KEY_CHECK_MARKED).map_err(sealing)?;
        write_mark(&self.base, connection, mark, key_check).await
    }

    /// Whether the chain is whole and the rows agree with the newest checkpoints.
    async fn is_whole(&self) -> Result<bool, RegistryError> {
        let mut after = None;
        loop {
            let (check, _) = self.verify_stretch(after, COMPARED_ROWS).await?;
            if check.broken.is_some() {
                return Ok(false);
            }
            if check.is_complete() || check.rows == 0 {
                break;
            }
            after = Some(check.upto);
        }
        let mut start = TreeStart::Recent;
        loop {
            let check = self.compare_stretch(start, COMPARED_ROWS).await?;
            match check.next {
                _ if check.broken.is_some() => return Ok(false),
                Some(next) => start = TreeStart::After(next),
                None => return Ok(true),
            }
        }
    }
}
