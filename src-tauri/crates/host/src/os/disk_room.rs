//! How much of a disk is free, and how much the registry needs to record new work.
//!
//! What the registry needs is room to make its reserve file again (`registry/sqlite/write/reserve.rs`), which takes twice
//! its size. It looks, and changes nothing.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use domain::policy::Policy;

/// The room on the disk of a data directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DiskRoom {
    folder: PathBuf,
    /// Bytes that this user may still write.
    pub(crate) free: u64,
    /// Bytes that must be free before new work is recorded; none while the reserve is whole.
    needed: u64,
}

impl DiskRoom {
    /// The room where the registry in this folder is.
    ///
    /// # Errors
    /// When the system does not say.
    pub(crate) fn of(folder: &Path, policy: &Policy) -> io::Result<Self> {
        let reserve = std::fs::metadata(folder.join("reserve")).map_or(0, |facts| facts.len());
        let is_whole = reserve == policy.reserve_file_bytes;
        let needed = if is_whole { 0 } else { policy.reserve_file_bytes.saturating_mul(2) };
        Ok(Self { folder: folder.to_owned(), free: free_bytes(folder)?, needed })
    }

    /// Whether new work is refused for want of room.
    pub(crate) const fn is_too_little(&self) -> bool {
        self.free == 0 || self.free < self.needed
    }
}

impl fmt::Display for DiskRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} free on the disk of `{}`", megabytes(self.free), self.folder.display())?;
        if self.is_too_little() && self.needed > 0 {
            write!(f, "; new work needs {}", megabytes(self.needed))?;
        }
        Ok(())
    }
}

/// `7.5 MB`; everything in one unit, so that two figures compare at a glance.
fn megabytes(bytes: u64) -> String {
    const TENTH: u64 = 100_000;
    let tenths = bytes / TENTH;
    if tenths == 0 && bytes > 0 { "less than 0.1 MB".into() } else { format!("{}.{} MB", tenths / 10, tenths % 10) }
}

#[cfg(unix)]
fn free_bytes(folder: &Path) -> io::Result<u64> {
    let disk = rustix::fs::statvfs(folder)?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}

// Not run here.
#[cfg(not(unix))]
fn free_bytes(_folder: &Path) -> io::Result<u64> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "it is not looked at on this system"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_little_room_names_both_figures_and_the_folder() {
        let room = |free, needed| DiskRoom { folder: "/data".into(), free, needed };
        let little = room(7_500_000, 8_388_608);
        assert!(little.is_too_little());
        assert_eq!(little.to_string(), "7.5 MB free on the disk of `/data`; new work needs 8.3 MB");
        assert_eq!(room(9_000_000, 8_388_608).to_string(), "9.0 MB free on the disk of `/data`");
        assert_eq!(room(50_000, 0).to_string(), "less than 0.1 MB free on the disk of `/data`");
        assert!(!room(50_000, 0).is_too_little(), "while the reserve is whole, new work is recorded");
        assert!(room(0, 0).is_too_little());
    }

    #[test]
    fn a_whole_reserve_needs_no_more_room() {
        let folder = tempfile::tempdir().expect("a folder");
        let policy = Policy { reserve_file_bytes: 10, ..Policy::default() };
        assert_eq!(DiskRoom::of(folder.path(), &policy).expect("it is known").needed, 20, "the reserve is not there");
        std::fs::write(folder.path().join("reserve"), [0; 10]).expect("a reserve");
        assert_eq!(DiskRoom::of(folder.path(), &policy).expect("it is known").needed, 0);
    }
}
