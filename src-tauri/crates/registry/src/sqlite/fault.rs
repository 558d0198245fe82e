//! What SQLite's refusals mean to a person: locked, read-only, full, damaged, or something else.
//!
//! Decided by result code only, never by text. The database's words name tables and columns, never values.

use std::path::Path;

use domain::ports::RegistryError;

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

/// The extended result code, if the error is SQLite's.
fn code(error: &sqlx::Error) -> Option<i32> {
    error.as_database_error()?.code()?.parse().ok()
}

/// Whether the disk is full.
pub(crate) fn is_full(error: &sqlx::Error) -> bool {
    code(error).is_some_and(|code| code & 0xff == FULL)
}

/// Translates an error of the database.
pub(crate) fn of(path: &Path, operation: &'static str, error: sqlx::Error) -> RegistryError {
    let path = path.to_path_buf();
    if matches!(error, sqlx::Error::PoolClosed | sqlx::Error::WorkerCrashed) {
        return RegistryError::Closed;
    }
    if matches!(error, sqlx::Error::PoolTimedOut) {
        return RegistryError::Locked { path };
    }
    let words = error.as_database_error().map_or_else(|| error.to_string(), |known| known.message().to_owned());
    match code(&error) {
        Some(IOERR_LOCK) => RegistryError::Locked { path },
        Some(extended) => match extended & 0xff {
            BUSY | LOCKED | PROTOCOL => RegistryError::Locked { path },
            READONLY => RegistryError::ReadOnly { path },
            FULL => RegistryError::Full { path },
            CORRUPT | NOTADB => RegistryError::Damaged { path, finding: words },
            IOERR | CANTOPEN => RegistryError::Other { operation, why: format!("{words} (code {extended})") },
            _ => RegistryError::Other { operation, why: words },
        },
        None => RegistryError::Other { operation, why: words },
    }
}

/// Translates an error of the file system.
pub(crate) fn of_file(path: &Path, operation: &'static str, error: &std::io::Error) -> RegistryError {
    use std::io::ErrorKind;
    let path = path.to_path_buf();
    match error.kind() {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => RegistryError::ReadOnly { path },
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => RegistryError::Full { path },
        ErrorKind::NotFound => RegistryError::Missing { path },
        _ => RegistryError::Other { operation, why: error.to_string() },
    }
}
