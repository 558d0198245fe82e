//! Secrets in a JSON file that only the user can read, for systems without a keychain.
//!
//! Protected by permissions (0600 in a 0700 directory), not by encryption: the key would have to be beside it. Each
//! change writes a new file and renames it over the old one, so that a kill or a power cut leaves the old or the new
//! one whole.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use domain::ports::{Secret, SecretError};
use parking_lot::Mutex;

pub(super) struct SecretFile {
    path: PathBuf,
    most_bytes: u64,
    /// One change at a time: reading, changing and writing belong together.
    changing: Mutex<()>,
}

impl SecretFile {
    pub(super) fn new(path: PathBuf, most_bytes: u64) -> Self {
        Self { path, most_bytes, changing: Mutex::new(()) }
    }

    pub(super) fn get(&self, name: &str) -> Result<Option<Secret>, SecretError> {
        Ok(self.read()?.remove(name).map(Secret::new))
    }

    pub(super) fn set(&self, name: &str, secret: Option<&Secret>) -> Result<(), SecretError> {
        let _one = self.changing.lock();
        let mut all = self.read()?;
        let before = match secret {
            Some(secret) => all.insert(name.to_owned(), secret.reveal().to_owned()),
            None => all.remove(name),
        };
        if secret.is_none() && before.is_none() {
            return Ok(());
        }
        let text = serde_json::to_vec_pretty(&all).map_err(|_| self.failed("cannot be written as JSON"))?;
        write_private(&self.path, &text).map_err(|error| self.failed(&format!("cannot be written: {error}")))
    }

    /// Whether it can be read, and is closed to others.
    pub(super) fn check(&self) -> Result<(), String> {
        self.read().map_err(|error| error.to_string())?;
        match crate::config::paths::is_private(&self.path) {
            Ok(false) => Err(format!("`{}` can be read by other users", self.path.display())),
            Ok(true) | Err(_) => Ok(()),
        }
    }

    fn read(&self) -> Result<BTreeMap<String, String>, SecretError> {
        let file = match fs::File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
            Err(error) => return Err(self.failed(&format!("cannot be read: {error}"))),
        };
        let mut text = String::new();
        let read = file.take(self.most_bytes).read_to_string(&mut text);
        read.map_err(|error| self.failed(&format!("cannot be read: {error}")))?;
        // The parser's message may quote what it met; only the place of the fault is told.
        serde_json::from_str(&text)
            .map_err(|error| self.failed(&format!("is not readable as JSON in line {}", error.line())))
    }

    fn failed(&self, why: &str) -> SecretError {
        SecretError(format!("the secrets file `{}` {why}", self.path.display()))
    }
}

/// Writes a file for the user alone, whole or not at all; on disk when it returns, also after a power cut.
pub(crate) fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let beside = path.with_extension("new");
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    let mut file = options.open(&beside)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&beside, path)?;
    match path.parent() {
        Some(folder) => sync_folder(folder),
        None => Ok(()),
    }
}

/// A rename is only in memory until its folder is written.
#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    fs::File::open(folder)?.sync_all()
}

// Not run here: Windows has no handle of a folder to flush; its journal orders renames.
#[cfg(not(unix))]
fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}
