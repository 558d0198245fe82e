//! How much of a disk is free, and how much must be for new work.
//!
//! New work needs room to make the registry's reserve file again (`registry/sqlite/write/reserve.rs`), which takes twice
//! its size: a call that leaves with that much room gets its row. It looks, and changes nothing.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use api::format::storage::bytes;
use domain::policy::RetentionPolicy;
use engine::Engine;

/// The room on the disk of a data directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DiskRoom {
    folder: PathBuf,
    /// Bytes that this user may still write.
    pub(crate) free: u64,
    /// Bytes that must be free before new work begins.
    needed: u64,
}

impl DiskRoom {
    /// The room where the registry in this folder is, whose reserve file has so many bytes when it is whole.
    ///
    /// # Errors
    /// When the system does not say.
    pub(crate) fn of(folder: &Path, reserve_file_bytes: u64) -> io::Result<Self> {
        let needed = reserve_file_bytes.saturating_mul(2);
        Ok(Self { folder: folder.to_owned(), free: free_bytes(folder)?, needed })
    }

    /// Whether new work is refused for want of room.
    pub(crate) const fn is_too_little(&self) -> bool {
        self.free == 0 || self.free < self.needed
    }

    /// When to look again, so that the room cannot be used up before.
    fn next_look(&self, policy: &RetentionPolicy) -> Duration {
        if self.is_too_little() {
            return policy.record_again;
        }
        let millis = self.free.saturating_sub(self.needed).saturating_mul(1_000) / policy.disk_fill_rate.max(1);
        Duration::from_millis(millis).min(policy.record_again).max(policy.disk_look_min)
    }
}

/// Tells the engine for as long as the core runs whether there is room for new work. What cannot be looked at changes
/// nothing: the registry finds out by itself what it cannot write.
pub(crate) async fn watch(engine: Engine, folder: PathBuf, reserve_file_bytes: u64, policy: RetentionPolicy) {
    let mut is_unknown = false;
    loop {
        let place = folder.clone();
        // A disk that hangs holds a thread of its own, and not the runtime.
        let room = tokio::task::spawn_blocking(move || DiskRoom::of(&place, reserve_file_bytes)).await;
        let again = match room {
            Ok(Ok(room)) => {
                is_unknown = false;
                engine.note_disk_room(room.is_too_little());
                room.next_look(&policy)
            }
            Ok(Err(error)) => {
                if !std::mem::replace(&mut is_unknown, true) {
                    tracing::warn!(%error, "how much of the disk is free is not known");
                }
                policy.record_again
            }
            Err(_) => policy.record_again,
        };
        engine.next_interval(again.max(policy.disk_look_min)).await;
    }
}

impl fmt::Display for DiskRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} free on the disk of `{}`", bytes(self.free), self.folder.display())?;
        if self.is_too_little() && self.needed > 0 {
            write!(f, "; new work needs {}", bytes(self.needed))?;
        }
        Ok(())
    }
}

#[cfg(unix)]
fn free_bytes(folder: &Path) -> io::Result<u64> {
    let disk = rustix::fs::statvfs(folder)?;
    if disk.f_blocks == 0 {
        return Err(io::Error::new(io::ErrorKind::Unsupported, "its file system does not say"));
    }
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

    fn room(free: u64, needed: u64) -> DiskRoom {
        DiskRoom { folder: "/data".into(), free, needed }
    }

    #[test]
    fn too_little_room_names_both_figures_and_the_folder() {
        let little = room(7_500_000, 8_388_608);
        assert!(little.is_too_little());
        assert_eq!(little.to_string(), "7 MiB free on the disk of `/data`; new work needs 8 MiB");
        assert_eq!(room(9_000_000, 8_388_608).to_string(), "8 MiB free on the disk of `/data`");
        assert_eq!(room(50_000, 0).to_string(), "48 KiB free on the disk of `/data`");
        assert!(!room(50_000, 0).is_too_little(), "without a reserve new work needs no room for it");
        assert!(room(0, 0).is_too_little());
    }

    #[test]
    fn new_work_needs_twice_the_reserve_whether_or_not_the_reserve_is_there() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("reserve"), [0; 10]).expect("a reserve");
        assert_eq!(DiskRoom::of(folder.path(), 10).expect("it is known").needed, 20);
    }

    #[test]
    fn the_less_room_there_is_the_sooner_it_is_looked_at_again() {
        let policy = RetentionPolicy { disk_fill_rate: 1_000, ..RetentionPolicy::default() };
        let look = |free| room(free, 100).next_look(&policy);
        assert_eq!(look(1_000_000), policy.record_again, "never longer than this");
        assert_eq!(look(400), Duration::from_millis(300), "the room above the limit, at the highest rate");
        assert_eq!(look(101), policy.disk_look_min);
        assert_eq!(look(99), policy.record_again, "new work is refused already");
        assert_eq!(room(u64::MAX, 0).next_look(&policy), policy.record_again);
    }
}
