//! The reserve file: disk space kept so that cancels, answers and revocations can still be recorded (ruling 28).
//!
//! On a full disk it is given back in pieces, each for one change that may use it and does not fit otherwise: another
//! program would take the whole at once. Until it is whole again the writer refuses everything that is not a person's
//! decision. It is never read, and holds random bytes because a file system that compresses keeps no space for zeros.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Written at a time.
const PIECE: usize = 65_536;
/// Pieces of the whole that are given back one after the other. Judgement: a piece of the 4 MiB holds several decisions,
/// and there are enough for a day until somebody makes room.
const PIECES: u64 = 16;

/// Options for a file that only its user can read.
pub(crate) fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    options
}

/// The reserve of one registry.
#[derive(Debug)]
pub(crate) struct DiskReserve {
    path: PathBuf,
    bytes: u64,
    is_whole: bool,
}

impl DiskReserve {
    /// The reserve beside a registry; made now if there is room.
    pub(crate) fn beside(registry: &Path, bytes: u64) -> Self {
        let mut reserve = Self { path: registry.with_file_name("reserve"), bytes, is_whole: false };
        reserve.is_whole = fs::metadata(&reserve.path).is_ok_and(|facts| facts.len() == bytes);
        reserve.restore();
        reserve
    }

    /// Whether a registry that was open here has left its reserve.
    pub(crate) fn is_beside(registry: &Path) -> bool {
        registry.with_file_name("reserve").exists()
    }

    /// Frees the reserve of a registry that could not be opened for want of room; returns whether there was one.
    pub(crate) fn free_beside(registry: &Path) -> bool {
        let freed = fs::remove_file(registry.with_file_name("reserve")).is_ok();
        if freed {
            tracing::warn!("the disk is full; the reserve file is freed to open the registry");
        }
        freed
    }

    /// Whether it is all there (or none was wanted).
    pub(crate) fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Makes it if there is room; returns whether it is whole. What is left of it stays until the new one is whole. One that
    /// was not touched is made anew as well: room for it shows that the disk is no longer full.
    pub(crate) fn restore(&mut self) -> bool {
        if !self.is_whole {
            let made = self.fill();
            if let Err(error) = &made {
                tracing::warn!(%error, "no room for the reserve file");
                let _ = fs::remove_file(self.new_path());
            }
            self.is_whole = made.is_ok();
        }
        self.is_whole
    }

    /// Where the next reserve is written.
    fn new_path(&self) -> PathBuf {
        self.path.with_extension("new")
    }

    /// The disk is full: from now on what is left of it is for decisions.
    pub(crate) fn begin_use(&mut self) {
        if std::mem::take(&mut self.is_whole) {
            tracing::warn!(
                "the disk is full; only decisions of people are recorded, with the space of the reserve file"
            );
        }
    }

    /// Gives one piece back to the disk; false when nothing is left.
    pub(crate) fn give_piece(&mut self) -> bool {
        self.begin_use();
        let left = fs::metadata(&self.path).map_or(0, |facts| facts.len());
        if self.bytes == 0 || left == 0 {
            return false;
        }
        let rest = left.saturating_sub(self.bytes.div_ceil(PIECES));
        let cut = OpenOptions::new().write(true).open(&self.path).and_then(|file| file.set_len(rest));
        if let Err(error) = &cut {
            tracing::warn!(%error, "the reserve file could not be given back");
        }
        cut.is_ok()
    }

    fn fill(&self) -> io::Result<()> {
        if self.bytes == 0 {
            return Ok(());
        }
        let mut file = private_file().write(true).create(true).truncate(true).open(self.new_path())?;
        let mut piece = vec![0_u8; PIECE];
        getrandom::fill(&mut piece).map_err(io::Error::other)?;
        // Twice its size, and cut afterwards: a reserve that takes the last free bytes would have to be freed at once.
        let mut left = self.bytes.saturating_mul(2);
        while left > 0 {
            let now = usize::try_from(left).unwrap_or(PIECE).min(PIECE);
            file.write_all(piece.get(..now).unwrap_or_default())?;
            left = left.saturating_sub(u64::try_from(now).unwrap_or(left));
        }
        file.set_len(self.bytes)?;
        file.sync_all()?;
        fs::rename(self.new_path(), &self.path)
    }

    /// Bytes of the reserve beside a registry that are there now.
    pub(crate) fn size_beside(registry: &Path) -> u64 {
        fs::metadata(registry.with_file_name("reserve")).map_or(0, |facts| facts.len())
    }
}
