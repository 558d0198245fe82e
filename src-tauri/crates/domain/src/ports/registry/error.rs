//! Why the registry could not do its work, and what a person can do about it.
//!
//! How an error of the database becomes one of these is decided by the registry crate.

use std::path::PathBuf;

/// Why the registry could not do its work. The text is one line; the hint says the way out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegistryError {
    /// Another process holds it, or the file system refuses locks.
    #[error("the registry `{path}` is locked")]
    Locked { path: PathBuf },
    /// Reading waited too long for others that read: the machine, or the registry, has too much to do.
    #[error("the registry `{path}` is busy: a read waited too long for its turn")]
    Busy { path: PathBuf },
    /// It, or its folder, may not be written.
    #[error("the registry `{path}` cannot be written")]
    ReadOnly { path: PathBuf },
    /// The disk has no room, or not enough for the reserve.
    #[error("the disk of the registry `{path}` has too little free space")]
    Full { path: PathBuf },
    /// It is damaged, with the first finding of the check.
    #[error("the registry `{path}` is damaged: {finding}")]
    Damaged { path: PathBuf, finding: String },
    /// A newer Taskwarden made it.
    #[error("the registry `{path}` has schema {found}, newer than {known} of this version")]
    Newer {
        path: PathBuf,
        found: i64,
        /// The newest this version knows.
        known: i64,
    },
    /// It is not there (read-only opening).
    #[error("there is no registry at `{path}` yet")]
    Missing { path: PathBuf },
    /// It is not there, and other files show that there was one.
    #[error("the registry `{path}` is gone: other files of this folder show that there was one")]
    Gone { path: PathBuf },
    /// Sealed fields cannot be opened with the key at hand.
    #[error("the encrypted contents of the registry cannot be read with the key that was found")]
    WrongKey,
    /// It was closed, or its writer ended.
    #[error("the registry is closed")]
    Closed,
    /// A commit failed in a way that leaves open whether it was recorded.
    #[error("it is not known whether the change was recorded in `{path}`")]
    Uncertain { path: PathBuf },
    /// Anything else, with the operation and the database's words.
    #[error("the registry could not {operation}: {why}")]
    Other {
        /// What was being done.
        operation: &'static str,
        /// The database's words.
        why: String,
    },
}

impl RegistryError {
    /// What a person can do next, as a sentence.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Locked { .. } => "Another program holds it. If `taskwarden doctor` names no running core, close \
                 programs that have the file open, or move TASKWARDEN_HOME to a local disk."
                .into(),
            Self::Busy { .. } => "Nothing is lost. Try again; if it stays so, look at what else runs on this machine.".into(),
            Self::ReadOnly { path } => format!("Give your user write access to `{}` and its folder.", path.display()),
            Self::Full { .. } => "Free some space; `taskwarden doctor` says how much is free and how much is needed. \
                 Nothing recorded so far is lost. Until then, cancels and answers are recorded from the reserve file."
                .into(),
            Self::Damaged { path, .. } => format!(
                "Stop Taskwarden and move `{}` aside. If there is a `backups` folder beside it, put its newest file in \
                 its place. Otherwise move `intents.sqlite` aside too; then the next start begins anew.",
                path.display()
            ),
            Self::Newer { path, known, .. } => format!(
                "Use the newer version of Taskwarden. To go back to this one, and to what was recorded before the upgrade, \
                 put a backup in the place of the registry: the newest in `{}` whose name begins with `registry-` and a \
                 number of at most {known}.",
                path.with_file_name("backups").display()
            ),
            Self::Gone { .. } => {
                "Put back a copy of it, with its `-wal` file if there is one; `backups` may have one. To begin anew without \
                 the servers, agents, tasks, halts and audit rows that were in it, move `intents.sqlite` aside."
                    .into()
            }
            Self::Missing { .. } => "Start the core once with `taskwarden serve`.".into(),
            Self::WrongKey => {
                "Restore the key that belongs to this registry (`taskwarden doctor` says where it lies).".into()
            }
            Self::Uncertain { .. } => {
                "Look at the task before you try again: the change may have been made. `taskwarden doctor` checks the disk."
                    .into()
            }
            Self::Closed => "Start the core again with `taskwarden serve`.".into(),
            Self::Other { .. } => "Run `taskwarden doctor`; if it finds nothing, report this line.".into(),
        }
    }
}
