//! Puts a new text in the place of a file of another program, in one step, and only in the place of what was read.
//!
//! The new file is written whole beside the old one; then, if the old one is still what was read, both change places.
//! What came out is compared once more: when somebody wrote in that moment, both change back and nothing happened.
//! Symbolic links stay links.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use api::calls::clients::files::ReplaceError;
use domain::ports::Secret;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

use crate::config::paths::private_dir;

/// How the name of a new file ends until it is in its place.
const UNFINISHED: &str = ".taskwarden-new";

fn refused(what: &str) -> impl Fn(io::Error) -> ReplaceError {
    move |error| ReplaceError::Refused(format!("{what}: {error}"))
}

/// The file itself, behind symbolic links.
pub(super) fn target_of(path: &Path) -> io::Result<PathBuf> {
    match fs::canonicalize(path) {
        Ok(target) => Ok(target),
        // A link to nothing is kept, and what it names is written.
        Err(error) if error.kind() == io::ErrorKind::NotFound => match fs::read_link(path) {
            Ok(to) => Ok(path.parent().unwrap_or(Path::new("/")).join(to)),
            Err(_) => Ok(path.to_owned()),
        },
        Err(error) => Err(error),
    }
}

/// Where the new text stands until it is in its place.
fn unfinished(target: &Path) -> PathBuf {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    target.with_file_name(format!(".{name}{UNFINISHED}"))
}

/// Removes what a run that ended in the middle left beside a file.
pub(super) fn remove_unfinished(path: &Path) {
    if let Ok(target) = target_of(path) {
        let _ = fs::remove_file(unfinished(&target));
    }
}

/// Puts a text in the place of the one that was read, and says whether both changed places in one step. Otherwise the new
/// file was renamed over the old one, because the file system can do no more.
pub(super) fn replace(
    path: &Path,
    before: Option<&Secret>,
    after: &Secret,
    backup: Option<&Path>,
) -> Result<bool, ReplaceError> {
    let target = target_of(path).map_err(refused("it cannot be found"))?;
    let mode = check(&target)?;
    if let (Some(path), Some(text)) = (backup, before) {
        back_up(path, text).map_err(refused("no backup could be written"))?;
    }
    let new = unfinished(&target);
    let _ = fs::remove_file(&new);
    let written = write_new(&new, after.reveal(), mode).and_then(|file| file.sync_all());
    let written = written.map_err(refused("a new file could not be written beside it"));
    let done = written.and_then(|()| put_in_place(&new, &target, before, rename));
    let _ = fs::remove_file(&new);
    if let Some(folder) = target.parent().and_then(|folder| File::open(folder).ok()) {
        let _ = folder.sync_all();
    }
    done
}

/// Why a file cannot be replaced, as a sentence without a full stop, as far as that can be told before.
pub(super) fn refusal(path: &Path) -> Option<String> {
    let checked = target_of(path).map_err(refused("it cannot be found")).and_then(|target| check(&target));
    match checked {
        Err(ReplaceError::Refused(why)) => Some(why),
        Err(ReplaceError::Changed) | Ok(_) => None,
    }
}

/// Whether it may be replaced, and its permissions.
fn check(target: &Path) -> Result<u32, ReplaceError> {
    let folder = target.parent().unwrap_or(Path::new("/"));
    let no = |why: &str| Err(ReplaceError::Refused(why.to_owned()));
    if !folder.is_dir() {
        return no("its folder is missing");
    }
    let facts = match fs::metadata(target) {
        Ok(facts) => facts,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0o600),
        Err(error) => return Err(refused("it cannot be read")(error)),
    };
    let mode = facts.permissions().mode() & 0o7777;
    match () {
        () if !facts.is_file() => no("it is not a file"),
        () if facts.uid() != crate::os::user::own_uid() => no("it belongs to another user"),
        () if mode & 0o200 == 0 => no("it is read-only"),
        () if facts.nlink() > 1 => no("it has several names (hard links), of which only one would change"),
        () => Ok(mode),
    }
}

fn holds(path: &Path, text: Option<&Secret>) -> bool {
    match (fs::read(path), text) {
        (Ok(bytes), Some(text)) => bytes == text.reveal().as_bytes(),
        (Err(error), None) => error.kind() == io::ErrorKind::NotFound,
        (Ok(_), None) | (Err(_), Some(_)) => false,
    }
}

fn back_up(path: &Path, text: &Secret) -> io::Result<()> {
    let folder = path.parent().ok_or_else(|| io::Error::other("it has no folder"))?;
    if let Some(above) = folder.parent() {
        private_dir(above)?;
    }
    private_dir(folder)?;
    // A second try after somebody else wrote has a newer text.
    let _ = fs::remove_file(path);
    // Not waited for: after a power cut the registry has the text as well.
    write_new(path, text.reveal(), 0o600).map(|_| ())
}

fn write_new(path: &Path, text: &str, mode: u32) -> io::Result<File> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())?;
    file.set_permissions(fs::Permissions::from_mode(mode))?;
    Ok(file)
}

/// What a rename between two names of one folder says when the file system cannot do it.
fn cannot(error: Errno) -> bool {
    matches!(error, Errno::INVAL | Errno::NOSYS | Errno::NOTSUP)
}

/// Renames between two names of one folder.
fn rename(from: &Path, to: &Path, flags: RenameFlags) -> Result<(), Errno> {
    renameat_with(CWD, from, CWD, to, flags)
}

/// `rename` is what the file system can do.
fn put_in_place(
    new: &Path,
    target: &Path,
    before: Option<&Secret>,
    rename: impl Fn(&Path, &Path, RenameFlags) -> Result<(), Errno>,
) -> Result<bool, ReplaceError> {
    let failed = |error: Errno| ReplaceError::Refused(format!("it could not be replaced: {error}"));
    // Writing the new file took a while. What changed meanwhile is seen here, before the other program can read ours: only
    // what changes in the next microseconds has to be put back.
    if !holds(target, before) {
        return Err(ReplaceError::Changed);
    }
    let flags = if before.is_some() { RenameFlags::EXCHANGE } else { RenameFlags::NOREPLACE };
    match rename(new, target, flags) {
        Ok(()) => {}
        Err(error) if cannot(error) => {
            // Without an exchange, what is there is looked at as late as can be.
            if !holds(target, before) {
                return Err(ReplaceError::Changed);
            }
            fs::rename(new, target).map_err(refused("it could not be replaced"))?;
            return Ok(false);
        }
        Err(Errno::EXIST | Errno::NOENT) => return Err(ReplaceError::Changed),
        Err(error) => return Err(failed(error)),
    }
    if before.is_none() || holds(new, before) {
        return Ok(true);
    }
    put_back(new, target, rename).map_err(failed)?;
    Err(ReplaceError::Changed)
}

/// Both change back. When somebody replaced our file in between, theirs is the newest and stays.
fn put_back(
    new: &Path,
    target: &Path,
    rename: impl Fn(&Path, &Path, RenameFlags) -> Result<(), Errno>,
) -> Result<(), Errno> {
    let ours = fs::read(target).map_err(|_| Errno::IO)?;
    rename(new, target, RenameFlags::EXCHANGE)?;
    if fs::read(new).is_ok_and(|bytes| bytes != ours) {
        rename(new, target, RenameFlags::EXCHANGE)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with the file of a program and the new file beside it.
    struct ExchangeFolder {
        folder: tempfile::TempDir,
    }

    impl ExchangeFolder {
        fn new() -> Self {
            let beside = Self { folder: tempfile::tempdir().expect("a folder") };
            fs::write(beside.target(), "old").expect("it is written");
            fs::write(beside.new_file(), "new").expect("it is written");
            beside
        }

        fn target(&self) -> PathBuf {
            self.folder.path().join("settings.json")
        }

        fn new_file(&self) -> PathBuf {
            unfinished(&self.target())
        }

        fn text(&self) -> String {
            fs::read_to_string(self.target()).expect("the file is always there")
        }

        /// Puts the new file in place of the text `old`, over a file system that renames like this.
        fn put(
            &self,
            rename: impl Fn(&Path, &Path, RenameFlags) -> Result<(), Errno>,
        ) -> (Result<bool, ReplaceError>, String) {
            let done = put_in_place(&self.new_file(), &self.target(), Some(&Secret::new("old")), rename);
            (done, self.text())
        }
    }

    #[test]
    fn on_a_file_system_without_an_exchange_the_new_file_is_renamed_over_the_old_one_and_that_is_told() {
        for cannot in [Errno::INVAL, Errno::NOSYS, Errno::NOTSUP] {
            let beside = ExchangeFolder::new();
            assert_eq!(beside.put(|_, _, _| Err(cannot)), (Ok(false), "new".to_owned()), "{cannot}");
        }
    }

    #[test]
    fn without_an_exchange_a_file_that_was_saved_meanwhile_stays() {
        let beside = ExchangeFolder::new();
        let saves = |_: &Path, target: &Path, _: RenameFlags| {
            fs::write(target, "saved").expect("it is saved");
            Err(Errno::INVAL)
        };
        assert_eq!(beside.put(saves), (Err(ReplaceError::Changed), "saved".to_owned()));
    }

    #[test]
    fn what_a_program_saves_in_the_moment_of_the_exchange_is_put_back() {
        let beside = ExchangeFolder::new();
        let is_first = std::cell::Cell::new(true);
        let saves = |from: &Path, to: &Path, flags: RenameFlags| {
            if is_first.replace(false) {
                fs::write(to, "saved").expect("it is saved");
            }
            rename(from, to, flags)
        };
        assert_eq!(beside.put(saves), (Err(ReplaceError::Changed), "saved".to_owned()));
    }

    #[test]
    fn what_a_program_saves_over_the_new_file_is_the_newest_and_stays() {
        let beside = ExchangeFolder::new();
        let renames = std::cell::Cell::new(0);
        let saves = |from: &Path, to: &Path, flags: RenameFlags| {
            renames.set(renames.get() + 1);
            // Once before the exchange, and once more before it is taken back.
            if renames.get() <= 2 {
                fs::write(to, format!("saved {}", renames.get())).expect("it is saved");
            }
            rename(from, to, flags)
        };
        assert_eq!(beside.put(saves), (Err(ReplaceError::Changed), "saved 2".to_owned()));
    }

    #[test]
    fn a_file_whose_folder_is_missing_cannot_be_replaced() {
        let beside = ExchangeFolder::new();
        let nowhere = beside.folder.path().join("nowhere/settings.json");
        assert_eq!(refusal(&nowhere).as_deref(), Some("its folder is missing"));
        assert_eq!(refusal(&beside.folder.path().join("new.json")), None, "a file that is not there yet can be made");
        assert_eq!(refusal(beside.folder.path()).as_deref(), Some("it is not a file"));
    }
}
