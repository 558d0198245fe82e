//! Files of a package before it is packed: what they hold, and a folder with them as a packer expects it.
//!
//! Modes and times are set here, for all kinds of packages; owners are fixed by the packers.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::failure::Failure;

const PROGRAM: u32 = 0o755;
const DATA: u32 = 0o644;

/// One file and where it is installed.
#[derive(Debug)]
pub(crate) struct PackageFile {
    /// Where it is installed on Debian, without the first slash.
    pub(super) path: String,
    mode: u32,
    content: Content,
}

#[derive(Debug)]
enum Content {
    Bytes(Vec<u8>),
    CopyOf(PathBuf),
}

impl PackageFile {
    /// A program, copied from here.
    pub(super) fn program(path: impl Into<String>, from: &Path) -> Self {
        Self { path: path.into(), mode: PROGRAM, content: Content::CopyOf(from.to_path_buf()) }
    }

    /// A script that the package manager or a person runs.
    pub(super) fn script(path: impl Into<String>, text: String) -> Self {
        Self { path: path.into(), mode: PROGRAM, content: Content::Bytes(text.into_bytes()) }
    }

    /// A file that is copied from here.
    pub(super) fn copy(path: impl Into<String>, from: &Path) -> Self {
        Self { path: path.into(), mode: DATA, content: Content::CopyOf(from.to_path_buf()) }
    }

    /// A file with this content.
    pub(super) fn data(path: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self { path: path.into(), mode: DATA, content: Content::Bytes(bytes.into()) }
    }

    /// How many bytes it has.
    pub(super) fn bytes(&self) -> Result<u64, Failure> {
        match &self.content {
            Content::Bytes(bytes) => Ok(u64::try_from(bytes.len()).unwrap_or(u64::MAX)),
            Content::CopyOf(from) => fs::metadata(from).map(|known| known.len()).map_err(|why| unreadable(from, &why)),
        }
    }
}

/// Where a kind of package puts what systems put at different places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    Debian,
    /// Fedora and openSUSE.
    Rpm,
    /// Below any prefix: `/usr/local`, or a folder of one person.
    Prefix,
}

impl Layout {
    /// Where a file of a package lies in this layout.
    pub(super) fn place(self, path: &str) -> String {
        let path = match self {
            Self::Debian => path.to_owned(),
            Self::Rpm | Self::Prefix => path.replace("share/zsh/vendor-completions/", "share/zsh/site-functions/"),
        };
        match self {
            Self::Debian | Self::Rpm => path,
            Self::Prefix => path.strip_prefix("usr/").unwrap_or(&path).to_owned(),
        }
    }
}

/// Writes files below a folder, and gives everything in it this time.
pub(super) fn lay_out(files: &[PackageFile], folder: &Path, layout: Layout, epoch: u64) -> Result<(), Failure> {
    for file in files {
        let path = folder.join(layout.place(&file.path));
        let parent = path.parent().unwrap_or(folder);
        fs::create_dir_all(parent).map_err(|why| unwritable(parent, &why))?;
        let written = match &file.content {
            Content::Bytes(bytes) => fs::write(&path, bytes),
            Content::CopyOf(from) => fs::copy(from, &path).map(|_| ()),
        };
        written.map_err(|why| unwritable(&path, &why))?;
        set_mode(&path, file.mode)?;
    }
    settle(folder, SystemTime::UNIX_EPOCH + Duration::from_secs(epoch))
}

/// Fixes modes of folders and times of everything.
fn settle(folder: &Path, time: SystemTime) -> Result<(), Failure> {
    for path in entries(folder)? {
        if path.is_dir() {
            settle(&path, time)?;
        } else {
            set_time(&path, time)?;
        }
    }
    set_mode(folder, PROGRAM)?;
    set_time(folder, time)
}

/// What lies in a folder, sorted.
pub(super) fn entries(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let read = fs::read_dir(folder).and_then(|all| all.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, _>>());
    let mut paths = read.map_err(|why| unreadable(folder, &why))?;
    paths.sort();
    Ok(paths)
}

/// An empty folder at this place, whatever was there.
pub(crate) fn make_empty(folder: &Path) -> Result<(), Failure> {
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(|why| unwritable(folder, &why))?;
    }
    fs::create_dir_all(folder).map_err(|why| unwritable(folder, &why))
}

fn set_time(path: &Path, time: SystemTime) -> Result<(), Failure> {
    File::open(path).and_then(|file| file.set_modified(time)).map_err(|why| unwritable(path, &why))
}

#[cfg(unix)]
fn set_mode(path: &Path, mode: u32) -> Result<(), Failure> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(|why| unwritable(path, &why))
}

#[cfg(not(unix))]
fn set_mode(_path: &Path, _mode: u32) -> Result<(), Failure> {
    // Not run here: these packages are made on Linux.
    Ok(())
}

/// A file that cannot be read, as a failure.
pub(crate) fn unreadable(path: &Path, why: &std::io::Error) -> Failure {
    Failure::new(format!("`{}` cannot be read: {why}", path.display()), "Check that it is there and who owns it.")
}

/// A file that cannot be written, as a failure.
pub(crate) fn unwritable(path: &Path, why: &std::io::Error) -> Failure {
    Failure::new(format!("`{}` cannot be written: {why}", path.display()), "Check the disk and who owns the folder.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn completions_of_zsh_lie_where_each_system_looks() {
        let zsh = "usr/share/zsh/vendor-completions/_taskwarden";
        assert_eq!(Layout::Debian.place(zsh), zsh);
        assert_eq!(Layout::Rpm.place(zsh), "usr/share/zsh/site-functions/_taskwarden");
        assert_eq!(Layout::Prefix.place(zsh), "share/zsh/site-functions/_taskwarden");
        assert_eq!(Layout::Prefix.place("usr/bin/taskwarden"), "bin/taskwarden");
    }

    #[test]
    fn everything_in_a_folder_has_the_same_time_and_only_programs_can_be_run() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = std::env::temp_dir().join(format!("taskwarden-files-{}", std::process::id()));
        make_empty(&folder).unwrap();
        let files = [PackageFile::script("usr/bin/a", "x".into()), PackageFile::data("usr/share/b", "y")];
        lay_out(&files, &folder, Layout::Debian, 86_400).unwrap();
        let found: Vec<(u32, u64)> = ["usr/bin/a", "usr/share/b", "usr/bin"]
            .iter()
            .map(|path| {
                let known = fs::metadata(folder.join(path)).unwrap();
                let time = known.modified().unwrap().duration_since(SystemTime::UNIX_EPOCH).unwrap();
                (known.permissions().mode() & 0o777, time.as_secs())
            })
            .collect();
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(found, [(0o755, 86_400), (0o644, 86_400), (0o755, 86_400)]);
    }
}
