//! Whether a data folder is the one that its records were written in, or a copy of it (decision 0107).
//!
//! A file in the folder names itself, by inode and time of birth: a file that was copied is another one, and one that was
//! moved with its folder is the same. The records of processes in a copy are of processes that another core may own, so
//! they are removed from the copy and no process is ended. What follows for tasks is decided in the engine.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::time::UNIX_EPOCH;

use domain::policy::plain_text;
use domain::time::Timestamp;
use mcp::upstream::CopiedFolder;
use serde::{Deserialize, Serialize};

use crate::config::paths::Paths;

/// The longest path that is named in a reason.
const PATH_CHARS: usize = 200;

/// What the file says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Origin {
    /// The path of the folder, for people.
    path: String,
    /// What identifies the file itself.
    file: FileIdentity,
    /// The folder that this one is a copy of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    copied: Option<Copied>,
}

/// That the folder was found to be a copy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Copied {
    from: String,
    /// When the copy was first used, in milliseconds since 1970.
    at: i64,
}

/// What tells a file from its copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct FileIdentity {
    inode: u64,
    /// When it was made, in nanoseconds since 1970, where the file system knows that.
    born: Option<u64>,
}

impl FileIdentity {
    fn of(file: &fs::Metadata) -> Self {
        let born = file.created().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        Self { inode: inode(file), born: born.and_then(|age| u64::try_from(age.as_nanos()).ok()) }
    }

    /// A time that one of both does not know says nothing.
    fn is_other(self, known: Self) -> bool {
        let is_born_apart = self.born.zip(known.born).is_some_and(|(one, other)| one != other);
        self.inode != known.inode || is_born_apart
    }
}

#[cfg(unix)]
fn inode(file: &fs::Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    file.ino()
}

// Not run here: without an inode the time of birth decides alone.
#[cfg(not(unix))]
fn inode(_file: &fs::Metadata) -> u64 {
    0
}

/// Finds out whether this folder is a copy, which is remembered. Before anything of it is used: the records of processes
/// in a copy are removed.
pub(crate) fn find(paths: &Paths, now: Timestamp) -> Option<CopiedFolder> {
    let known = read(&paths.origin());
    let mut copied = known.as_ref().and_then(|(origin, _)| origin.copied.clone());
    let path = plain_text(&paths.home().display().to_string(), PATH_CHARS);
    let is_known = known.is_some_and(|(origin, is_another)| {
        // A keeper that listens here proves that the sockets are the ones of this folder.
        if is_another && !keeper::has_listening_keeper(&paths.keepers()) {
            copied = Some(Copied { from: plain_text(&origin.path, PATH_CHARS), at: now.as_millis() });
            forget_processes(paths);
        }
        !is_another && origin.path == path
    });
    if !is_known && let Err(error) = write(&paths.origin(), &path, copied.clone()) {
        tracing::warn!(%error, "where the data folder is could not be noted: a copy of it is not recognised");
    }
    copied.map(|copied| copied.into_words(&path))
}

/// What is known of this folder as a copy; nothing is changed.
pub(crate) fn known_copy(paths: &Paths) -> Option<CopiedFolder> {
    let (origin, _) = read(&paths.origin())?;
    Some(origin.copied?.into_words(&origin.path))
}

impl Copied {
    fn into_words(self, path: &str) -> CopiedFolder {
        let Self { from, at } = self;
        let why = if from == path {
            "the data folder was put back from a copy".to_owned()
        } else {
            format!("the data folder is a copy of `{from}`")
        };
        CopiedFolder { why, first_used: Timestamp::from_millis(at) }
    }
}

/// Removes what a copy holds of processes that it does not own.
fn forget_processes(paths: &Paths) {
    let running = keeper::kept_children(&paths.keepers()).len();
    tracing::warn!(running, "the data folder is a copy: processes of the earlier folder are left alone");
    for folder in [paths.keepers(), paths.children()] {
        match fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!(%error, "records of processes of the earlier folder could not be removed");
            }
            Ok(()) | Err(_) => {}
        }
    }
}

/// What the file says, and whether it is another file than the one that it names. A file that does not read says nothing.
fn read(path: &Path) -> Option<(Origin, bool)> {
    let origin: Origin = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
    let is_another = FileIdentity::of(&fs::metadata(path).ok()?).is_other(origin.file);
    Some((origin, is_another))
}

fn write(at: &Path, path: &str, copied: Option<Copied>) -> io::Result<()> {
    let new = at.with_extension("new");
    let mut options = fs::OpenOptions::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    let mut file = options.write(true).create(true).truncate(true).open(&new)?;
    let origin = Origin { path: path.to_owned(), file: FileIdentity::of(&file.metadata()?), copied };
    file.write_all(&serde_json::to_vec(&origin).map_err(io::Error::other)?)?;
    file.sync_all()?;
    fs::rename(&new, at)
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Timestamp = Timestamp::from_millis(1_000);
    const LATER: Timestamp = Timestamp::from_millis(2_000);

    /// A folder with a record of a process, used once.
    fn used(around: &Path) -> Paths {
        let paths = Paths::new(around.join("data"));
        fs::create_dir_all(paths.children()).expect("a folder");
        fs::write(paths.children().join("1"), "a record").expect("a record");
        assert_eq!(find(&paths, FIRST), None, "a folder that says nothing is no copy");
        paths
    }

    fn copy(from: &Paths, to: &Path) -> Paths {
        let to = Paths::new(to);
        fs::create_dir_all(to.children()).expect("a folder");
        fs::copy(from.origin(), to.origin()).expect("it is copied");
        fs::copy(from.children().join("1"), to.children().join("1")).expect("it is copied");
        to
    }

    #[test]
    fn a_copy_is_known_as_one_from_its_first_use_on_and_keeps_no_record_of_processes() {
        let around = tempfile::tempdir().expect("a folder");
        let paths = used(around.path());
        let copied = copy(&paths, &around.path().join("copy"));
        let found = find(&copied, LATER).expect("it is a copy");
        assert_eq!(found.first_used, LATER);
        assert!(found.why.contains("a copy of") && found.why.contains("data"), "it says of what: {}", found.why);
        assert!(!copied.children().exists(), "its records are of processes of another folder");
        assert_eq!(find(&copied, Timestamp::from_millis(3_000)), Some(found), "the next start knows it as well");
        assert_eq!(find(&paths, LATER), None, "the folder that was copied is as it was");
        assert!(paths.children().join("1").exists());
    }

    #[test]
    fn a_folder_that_was_moved_is_no_copy_and_keeps_its_records() {
        let around = tempfile::tempdir().expect("a folder");
        let paths = used(around.path());
        fs::rename(paths.home(), around.path().join("moved")).expect("it moves");
        let moved = Paths::new(around.path().join("moved"));
        assert_eq!(find(&moved, LATER), None);
        assert!(moved.children().join("1").exists());
        let copied = copy(&moved, &around.path().join("copy"));
        assert!(find(&copied, LATER).is_some_and(|found| found.why.contains("moved")), "it is named by its new path");
    }

    #[test]
    fn a_folder_that_was_put_back_at_its_place_is_a_copy_too() {
        let around = tempfile::tempdir().expect("a folder");
        let paths = used(around.path());
        let kept = copy(&paths, &around.path().join("kept"));
        fs::rename(paths.home(), around.path().join("aside")).expect("it is put aside");
        let back = copy(&kept, paths.home());
        assert!(find(&back, LATER).is_some_and(|found| found.why.contains("put back")));
    }
}
