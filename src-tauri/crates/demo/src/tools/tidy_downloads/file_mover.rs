//! Moves one file into a sub-folder of its own folder; it can do nothing else.
//!
//! On Unix all paths are relative to the opened folder: names without separators, links never followed, and a rename
//! that fails when the name is taken. Nothing is overwritten or leaves the folder, even if a sub-folder is swapped for
//! a link.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use super::form::Clash;
use crate::tools::known_files::FileKind;

/// Numbers tried for a name that is taken. Judgement.
const NUMBERS_TRIED: u32 = 99;

/// What became of a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Moved {
    /// It is there now, relative to the folder.
    To(String),
    /// It is where it was, and why.
    Left(String),
}

/// The folder being tidied.
pub(crate) struct FileMover {
    folder: platform::FolderHandle,
}

impl FileMover {
    pub(crate) fn open(folder: &Path) -> std::io::Result<Self> {
        Ok(Self { folder: platform::FolderHandle::open(folder)? })
    }

    /// Moves `name` into the sub-folder of `kind`.
    pub(crate) fn move_one(&self, name: &OsStr, kind: FileKind, clash: Clash) -> Moved {
        let into = match self.folder.below(kind.folder()) {
            Ok(into) => into,
            Err(why) => return Moved::Left(format!("`{}` is not a plain folder here: {why}", kind.folder())),
        };
        let tries = match clash {
            Clash::Skip => 0,
            Clash::Number => NUMBERS_TRIED,
        };
        for number in 0..=tries {
            let as_name = numbered(name, number);
            match self.folder.move_file(name, &into, &as_name) {
                Ok(()) => return Moved::To(format!("{}/{}", kind.folder(), as_name.display())),
                Err(why) if why.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(why) => return Moved::Left(why.to_string()),
            }
        }
        Moved::Left("its name is taken".to_owned())
    }
}

/// `a.txt` as `a (2).txt`.
fn numbered(name: &OsStr, number: u32) -> OsString {
    if number == 0 {
        return name.to_owned();
    }
    let path = Path::new(name);
    let mut numbered = path.file_stem().unwrap_or(name).to_owned();
    numbered.push(format!(" ({number})"));
    if let Some(extension) = path.extension() {
        numbered.push(".");
        numbered.push(extension);
    }
    numbered
}

#[cfg(unix)]
mod platform {
    use std::ffi::OsStr;
    use std::io::{Error, ErrorKind, Result};
    use std::os::fd::OwnedFd;
    use std::path::Path;

    use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RenameFlags, mkdirat, openat, renameat_with, statat};

    /// An opened folder.
    pub(crate) struct FolderHandle(OwnedFd);

    const AS_FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC).union(OFlags::RDONLY);

    impl FolderHandle {
        pub(crate) fn open(path: &Path) -> Result<Self> {
            Ok(Self(openat(CWD, path, AS_FOLDER, Mode::empty())?))
        }

        /// A sub-folder, made if it is not there; never through a link.
        pub(crate) fn below(&self, name: &str) -> Result<Self> {
            match mkdirat(&self.0, name, Mode::from_raw_mode(0o755)) {
                Ok(()) | Err(rustix::io::Errno::EXIST) => {}
                Err(why) => return Err(why.into()),
            }
            Ok(Self(openat(&self.0, name, AS_FOLDER | OFlags::NOFOLLOW, Mode::empty())?))
        }

        /// Moves a regular file of this folder; fails with `AlreadyExists` when the name is taken.
        pub(crate) fn move_file(&self, name: &OsStr, into: &Self, as_name: &OsStr) -> Result<()> {
            let facts = statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)?;
            if FileType::from_raw_mode(facts.st_mode) != FileType::RegularFile {
                return Err(Error::new(ErrorKind::InvalidInput, "it is not a regular file any more"));
            }
            Ok(renameat_with(&self.0, name, &into.0, as_name, RenameFlags::NOREPLACE)?)
        }
    }
}

/// Not run here. A new hard link fails when the name is taken; only then the old name goes.
#[cfg(not(unix))]
mod platform {
    use std::ffi::OsStr;
    use std::io::{Error, ErrorKind, Result};
    use std::path::{Path, PathBuf};

    /// A folder by its path.
    pub(crate) struct FolderPath(PathBuf);
    pub(crate) use FolderPath as FolderHandle;

    impl FolderPath {
        pub(crate) fn open(path: &Path) -> Result<Self> {
            Ok(Self(path.canonicalize()?))
        }

        pub(crate) fn below(&self, name: &str) -> Result<Self> {
            let path = self.0.join(name);
            match std::fs::create_dir(&path) {
                Err(why) if why.kind() != ErrorKind::AlreadyExists => return Err(why),
                _ => {}
            }
            if !path.symlink_metadata()?.is_dir() {
                return Err(Error::new(ErrorKind::InvalidInput, "something else has this name"));
            }
            Ok(Self(path))
        }

        pub(crate) fn move_file(&self, name: &OsStr, into: &Self, as_name: &OsStr) -> Result<()> {
            let from = self.0.join(name);
            if !from.symlink_metadata()?.is_file() {
                return Err(Error::new(ErrorKind::InvalidInput, "it is not a regular file any more"));
            }
            std::fs::hard_link(&from, into.0.join(as_name))?;
            std::fs::remove_file(&from)
        }
    }
}
