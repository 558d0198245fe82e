//! One core per data directory: an operating-system lock on `core.lock`, which also holds the core's process id.
//!
//! The lock ends with its process, however that ends, so it is never stale; the file stays. Holding the lock says
//! nothing about whether the core answers: ask the socket for that.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use domain::policy::HostPolicy;
use rustix::fs::{FlockOperation, flock};

/// Held while a core runs.
#[derive(Debug)]
pub(crate) struct CoreLock {
    _file: File,
}

/// Why the data directory cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another core has it.
    #[error("a core is already running for this data folder (process {})", pid.map_or("unknown".into(), |pid| pid.to_string()))]
    Held {
        /// Its process, when it is written there.
        pid: Option<u32>,
    },
    /// The file cannot be opened, written or locked.
    #[error("the lock file `{path}` cannot be used: {source}")]
    Unusable { path: PathBuf, source: io::Error },
}

impl CoreLock {
    /// Takes the lock, or says who has it. Commands that only check the lock hold it for a moment, so this retries
    /// for as long.
    ///
    /// # Errors
    /// When another core has it, or the file cannot be used.
    pub(crate) fn take(path: &Path, hosting: &HostPolicy) -> Result<Self, LockError> {
        let begun = Instant::now();
        loop {
            match Self::try_take(path) {
                Err(LockError::Held { .. }) if begun.elapsed() < hosting.lock_glance => pause(hosting.attach_step),
                taken => return taken,
            }
        }
    }

    fn try_take(path: &Path) -> Result<Self, LockError> {
        let unusable = |source| LockError::Unusable { path: path.to_owned(), source };
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt as _;
            options.mode(0o600);
        }
        let mut file = options.open(path).map_err(unusable)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => return Err(LockError::Held { pid: written_pid(&mut file) }),
            Err(error) => return Err(unusable(error.into())),
        }
        file.set_len(0).and_then(|()| file.rewind()).map_err(unusable)?;
        writeln!(file, "{}", std::process::id()).map_err(unusable)?;
        Ok(Self { _file: file })
    }

    /// The process that holds the lock; `None` when nobody does, `Some(None)` when it wrote no number.
    #[must_use]
    pub(crate) fn holder(path: &Path) -> Option<Option<u32>> {
        let mut file = File::open(path).ok()?;
        match flock(&file, FlockOperation::NonBlockingLockShared) {
            Err(rustix::io::Errno::WOULDBLOCK) => Some(written_pid(&mut file)),
            Ok(()) | Err(_) => None,
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "nothing else runs yet when a core takes its lock")]
fn pause(span: Duration) {
    std::thread::sleep(span);
}

fn written_pid(file: &mut File) -> Option<u32> {
    /// A process id has at most ten digits.
    const LONGEST: u64 = 16;
    let mut text = String::new();
    file.rewind().ok()?;
    file.take(LONGEST).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_core_is_told_which_process_has_the_directory() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("core.lock");
        assert_eq!(CoreLock::holder(&path), None, "nobody has it yet");
        let first = CoreLock::take(&path, &HostPolicy::default()).expect("the first one gets it");
        assert_eq!(CoreLock::holder(&path), Some(Some(std::process::id())));
        assert!(
            matches!(CoreLock::take(&path, &HostPolicy::default()), Err(LockError::Held { pid }) if pid == Some(std::process::id())),
            "the second one is told"
        );
        drop(first);
        assert!(CoreLock::take(&path, &HostPolicy::default()).is_ok(), "the lock ends with its holder");
    }
}
