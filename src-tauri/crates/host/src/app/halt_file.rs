//! The file `HALT` in the data directory: whoever creates it halts all calls, even when the socket does not answer.
//!
//! Any program of the user can create it, agents too: that only makes things safer. It is put aside once the halt is
//! recorded, so that it halts once. Its content is not read, and a folder of that name does the same.

use std::collections::BTreeSet;
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use domain::server::halt::{HaltEffect, HaltSubject};
use domain::time::Timestamp;
use engine::{Engine, StartHalt};

/// What tells one file from another of the same name.
type FileStamp = (Option<SystemTime>, u64, bool);

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

    /// Looks for it at intervals, for as long as the core runs.
    pub(crate) async fn watch(mut self, engine: Engine, every: Duration) {
        loop {
            tokio::time::sleep(every).await;
            self.look(&engine).await;
        }
    }

    /// Looks for it once, and halts when it is there.
    pub(crate) async fn look(&mut self, engine: &Engine) {
        // Not followed: a link halts wherever it leads.
        let found = match fs::symlink_metadata(&self.path) {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                (self.done, self.is_unreadable) = (None, false);
                return;
            }
            Err(error) => {
                if !std::mem::replace(&mut self.is_unreadable, true) {
                    tracing::error!(%error, "the file HALT cannot be looked for in the data directory");
                }
                return;
            }
        };
        let stamp = stamp(&found);
        if self.done == Some(stamp) {
            return;
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
            return;
        }
        tracing::warn!("the file HALT halted all calls");
        if let Err(error) = put_aside(&self.path, &found) {
            tracing::error!(%error, "the file HALT could not be renamed; remove it, or the next start halts again");
            self.done = Some(stamp);
        }
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
