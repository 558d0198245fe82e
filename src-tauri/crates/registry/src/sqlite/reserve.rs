//! The reserve file: disk space kept so that stops, answers and revocations can still be recorded (ruling 28).
//!
//! It lies beside the database and is freed when the disk is full. Until it stands again, the writer refuses everything
//! that is no decision of a person. It is never read, and holds random bytes, because a file system that compresses
//! keeps no space for zeros.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Written at a time.
const PIECE: usize = 65_536;

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
pub(crate) struct Reserve {
    path: PathBuf,
    bytes: u64,
    stands: bool,
}

impl Reserve {
    /// The reserve beside a registry; made now if there is room.
    pub(crate) fn beside(registry: &Path, bytes: u64) -> Self {
        let mut reserve = Self { path: registry.with_file_name("reserve"), bytes, stands: false };
        reserve.restore();
        reserve
    }

    /// Frees the reserve of a registry that could not be opened for want of room; returns whether there was one.
    pub(crate) fn free_beside(registry: &Path) -> bool {
        let freed = fs::remove_file(registry.with_file_name("reserve")).is_ok();
        if freed {
            tracing::warn!("the disk is full; the reserve file is freed to open the registry");
        }
        freed
    }

    /// Whether it stands (or none was wanted).
    pub(crate) fn stands(&self) -> bool {
        self.stands
    }

    /// Makes it if there is room; returns whether it stands.
    pub(crate) fn restore(&mut self) -> bool {
        if !self.stands {
            let made = self.fill();
            if let Err(error) = &made {
                tracing::warn!(%error, "no room for the reserve file");
                let _ = fs::remove_file(&self.path);
            }
            self.stands = made.is_ok();
        }
        self.stands
    }

    /// Gives the space back.
    pub(crate) fn free(&mut self) {
        if std::mem::take(&mut self.stands) && self.bytes > 0 {
            tracing::warn!("the disk is full; the reserve file is freed");
            if let Err(error) = fs::remove_file(&self.path) {
                tracing::warn!(%error, "the reserve file could not be freed");
            }
        }
    }

    fn fill(&self) -> io::Result<()> {
        if self.bytes == 0 || fs::metadata(&self.path).is_ok_and(|facts| facts.len() == self.bytes) {
            return Ok(());
        }
        let mut file = private_file().write(true).create(true).truncate(true).open(&self.path)?;
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
        file.sync_all()
    }

    /// Bytes of the reserve beside a registry that are there now.
    pub(crate) fn size_beside(registry: &Path) -> u64 {
        fs::metadata(registry.with_file_name("reserve")).map_or(0, |facts| facts.len())
    }
}
