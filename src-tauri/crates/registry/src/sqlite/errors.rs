//! What SQLite's errors mean to a person: locked, read-only, full, damaged, or something else.
//!
//! Decided by result code, never by text. Where a code has many causes (a write or an open that failed), a trial file beside
//! the registry tells them apart. The database's words name tables and columns, never values.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use domain::policy::ROOM_TRIAL_BYTES;
use domain::ports::{RecordingFault, RegistryError};

// Primary result codes, https://www.sqlite.org/rescode.html
const BUSY: i32 = 5;
const LOCKED: i32 = 6;
const READONLY: i32 = 8;
const IOERR: i32 = 10;
const CORRUPT: i32 = 11;
const FULL: i32 = 13;
const CANTOPEN: i32 = 14;
const PROTOCOL: i32 = 15;
const NOTADB: i32 = 26;
// Extended: the file system refuses locks.
const IOERR_LOCK: i32 = 3_850;
// Extended: the shared memory beside the file could not be given its size, which only a full disk does.
const IOERR_SHMSIZE: i32 = 4_874;

/// Written to learn whether the disk has room.
static TRIAL: [u8; ROOM_TRIAL_BYTES] = [0; ROOM_TRIAL_BYTES];

/// The extended result code, if the error is SQLite's.
fn code(error: &sqlx::Error) -> Option<i32> {
    error.as_database_error()?.code()?.parse().ok()
}

/// Whether the disk is full.
pub(crate) fn is_full(error: &sqlx::Error) -> bool {
    code(error).is_some_and(|code| code & 0xff == FULL || code == IOERR_SHMSIZE)
}

/// Whether the file itself is damaged.
pub(crate) fn is_damage(error: &sqlx::Error) -> bool {
    code(error).is_some_and(|code| matches!(code & 0xff, CORRUPT | NOTADB))
}

/// What an error of a transaction says about recording; `None` when only its unit was refused.
pub(crate) fn recording(path: &Path, error: &sqlx::Error) -> Option<RecordingFault> {
    if is_full(error) {
        return Some(RecordingFault::DiskFull);
    }
    let code = code(error)?;
    match code & 0xff {
        BUSY | LOCKED | PROTOCOL => Some(RecordingFault::Locked),
        _ if code == IOERR_LOCK => Some(RecordingFault::Locked),
        READONLY => Some(RecordingFault::ReadOnly),
        CORRUPT | NOTADB => Some(RecordingFault::Damaged),
        IOERR | CANTOPEN => match write_beside(path).map_err(|trial| of_file(path, "commit", &trial)) {
            Err(RegistryError::Full { .. }) => Some(RecordingFault::DiskFull),
            Err(RegistryError::ReadOnly { .. }) => Some(RecordingFault::ReadOnly),
            Ok(()) | Err(_) => Some(RecordingFault::Failing),
        },
        _ => None,
    }
}

/// Translates an error of the database.
pub(crate) fn of(path: &Path, operation: &'static str, error: sqlx::Error) -> RegistryError {
    let path = path.to_path_buf();
    if matches!(error, sqlx::Error::PoolClosed | sqlx::Error::WorkerCrashed) {
        return RegistryError::Closed;
    }
    // Only our own reads wait for a connection of the pool; a lock of another program is an error of the database.
    if matches!(error, sqlx::Error::PoolTimedOut) {
        return RegistryError::Busy { path };
    }
    let words = error.as_database_error().map_or_else(|| error.to_string(), |known| known.message().to_owned());
    match code(&error) {
        Some(IOERR_LOCK) => RegistryError::Locked { path },
        Some(IOERR_SHMSIZE) => RegistryError::Full { path },
        Some(extended) => match extended & 0xff {
            BUSY | LOCKED | PROTOCOL => RegistryError::Locked { path },
            READONLY => RegistryError::ReadOnly { path },
            FULL => RegistryError::Full { path },
            CORRUPT | NOTADB => RegistryError::Damaged { path, finding: words },
            IOERR | CANTOPEN => {
                let other = RegistryError::Other { operation, why: format!("{words} (code {extended})") };
                of_trial(&path, operation, other, || write_beside(&path))
            }
            _ => RegistryError::Other { operation, why: words },
        },
        None => RegistryError::Other { operation, why: words },
    }
}

/// What a failed trial says; `other` when it succeeds or has no clear meaning.
fn of_trial(
    path: &Path,
    operation: &'static str,
    other: RegistryError,
    trial: impl FnOnce() -> io::Result<()>,
) -> RegistryError {
    match trial().map_err(|error| of_file(path, operation, &error)) {
        Err(meaning @ (RegistryError::Full { .. } | RegistryError::ReadOnly { .. })) => meaning,
        Ok(()) | Err(_) => other,
    }
}

/// Writes a file in the folder of the registry and removes it.
fn write_beside(path: &Path) -> io::Result<()> {
    let trial = path.with_file_name(format!("trial-{}", std::process::id()));
    let mut file = crate::sqlite::write::reserve::private_file().write(true).create_new(true).open(&trial)?;
    let written = file.write_all(&TRIAL).and_then(|()| file.sync_all());
    drop(file);
    fs::remove_file(&trial)?;
    written
}

/// Translates an error of the file system.
pub(crate) fn of_file(path: &Path, operation: &'static str, error: &io::Error) -> RegistryError {
    use io::ErrorKind;
    let path = path.to_path_buf();
    match error.kind() {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => RegistryError::ReadOnly { path },
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => RegistryError::Full { path },
        ErrorKind::NotFound => RegistryError::Missing { path },
        _ => RegistryError::Other { operation, why: error.to_string() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn other() -> RegistryError {
        RegistryError::Other { operation: "open the registry", why: "disk I/O error (code 778)".into() }
    }

    #[test]
    fn a_read_that_waited_for_others_of_ours_blames_no_other_program() {
        let busy = of(Path::new("/data/registry.db"), "read tasks", sqlx::Error::PoolTimedOut);
        assert_eq!(busy, RegistryError::Busy { path: "/data/registry.db".into() });
        assert!(!busy.hint().contains("program"), "nothing holds it: {}", busy.hint());
    }

    #[test]
    fn a_write_that_failed_on_a_full_disk_says_that_the_disk_is_full() {
        let path = Path::new("/data/registry.db");
        let full = || RegistryError::Full { path: path.into() };
        let tried = |kind: io::ErrorKind| of_trial(path, "open the registry", other(), || Err(kind.into()));
        assert_eq!(tried(io::ErrorKind::StorageFull), full(), "no room");
        assert_eq!(tried(io::ErrorKind::QuotaExceeded), full(), "no room for this user");
        let read_only = RegistryError::ReadOnly { path: path.into() };
        assert_eq!(tried(io::ErrorKind::PermissionDenied), read_only, "not their folder");
        assert_eq!(tried(io::ErrorKind::ReadOnlyFilesystem), read_only, "a disk that is read-only");
        assert_eq!(tried(io::ErrorKind::NotFound), other(), "a missing folder keeps the database's words");
    }

    #[test]
    fn where_writing_works_the_words_of_the_database_stay_and_nothing_is_left_behind() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("registry.db");
        let said = of_trial(&path, "open the registry", other(), || write_beside(&path));
        assert_eq!(said, other(), "neither full nor read-only");
        assert_eq!(fs::read_dir(folder.path()).expect("lists").count(), 0, "the trial file is gone");
    }
}
