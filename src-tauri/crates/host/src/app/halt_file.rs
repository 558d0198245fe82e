//! The file `HALT` in the data directory: whoever creates it halts all calls, even when the socket does not answer.
//!
//! Any program of the user can create it, agents too: that only makes things safer. It is put aside once the halt is
//! recorded, so that it halts once. Its content is not read, and a folder of that name does the same.

use std::collections::BTreeSet;
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use domain::policy::HaltPolicy;
use domain::server::halt::{HaltEffect, HaltSubject};
use domain::time::Timestamp;
use engine::{Engine, StartHalt};

use crate::app::folder_watch::FolderWatch;

/// What tells one file from another of the same name.
type FileStamp = (Option<SystemTime>, u64, bool);

/// How a look ended.
pub(crate) enum HaltLook {
    /// The file is not there, or was obeyed.
    Settled,
    /// It could not be looked for, or the halt could not be recorded.
    TryAgain,
}

/// The file, and what was made of it.
pub(crate) struct HaltFile {
    path: PathBuf,
    /// The file that was obeyed and could not be put aside.
    done: Option<FileStamp>,
    /// That it cannot be looked for was logged.
    is_unreadable: bool,
}

impl HaltFile {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path, done: None, is_unreadable: false }
    }

    /// Looks for it for as long as the core runs: when the system reports a change of its folder, and at intervals.
    pub(crate) async fn watch(mut self, engine: Engine, policy: HaltPolicy) {
        let mut folder = self.path.parent().and_then(|folder| FolderWatch::start(folder).ok());
        loop {
            // Right away as well: it may have appeared before its folder was watched.
            let every = match (self.look(&engine).await, &folder) {
                (HaltLook::Settled, Some(_)) => policy.file_check,
                (HaltLook::TryAgain, _) | (_, None) => policy.file_look,
            };
            let changed = async {
                match &mut folder {
                    Some(folder) => folder.changed().await,
                    None => std::future::pending().await,
                }
            };
            if let Ok(Err(error)) = tokio::time::timeout(every, changed).await {
                tracing::info!(%error, "the data folder is not watched any more; the file HALT is looked for at intervals");
                folder = None;
            }
        }
    }

    /// Looks for it once, and halts when it is there.
    pub(crate) async fn look(&mut self, engine: &Engine) -> HaltLook {
        // Not followed: a link halts wherever it leads.
        let found = match fs::symlink_metadata(&self.path) {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                (self.done, self.is_unreadable) = (None, false);
                return HaltLook::Settled;
            }
            Err(error) => {
                if !std::mem::replace(&mut self.is_unreadable, true) {
                    tracing::error!(%error, "the file HALT cannot be looked for in the data folder");
                }
                return HaltLook::TryAgain;
            }
        };
        let stamp = stamp(&found);
        if self.done == Some(stamp) {
            return HaltLook::Settled;
        }
        let start = StartHalt {
            subjects: vec![HaltSubject::Everything],
            effects: BTreeSet::from([HaltEffect::Calls]),
            reason: String::new(),
            by: None,
        };
        if let Err(error) = engine.halt(start).await {
            // The file stays, so that it is tried again.
            tracing::error!(%error, "the file HALT was found, and the halt could not be recorded");
            return HaltLook::TryAgain;
        }
        tracing::warn!("the file HALT halted all calls");
        if let Err(error) = put_aside(&self.path, &found) {
            tracing::error!(%error, "the file HALT could not be renamed; remove it, or the next start halts again");
            self.done = Some(stamp);
        }
        HaltLook::Settled
    }
}

fn stamp(found: &Metadata) -> FileStamp {
    (found.modified().ok(), found.len(), found.is_dir())
}

/// Renames it to `HALT.<time>`, by its own time, which is what a person looks for.
fn put_aside(path: &Path, found: &Metadata) -> io::Result<()> {
    let made = found.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
    let made = Timestamp::from_millis(i64::try_from(made.as_millis()).unwrap_or(i64::MAX)).to_string();
    let made: String = made.chars().filter(char::is_ascii_alphanumeric).collect();
    fs::rename(path, path.with_file_name(format!("HALT.{made}")))
}
