//! Makes a small sample folder when a call names none, so that a first run needs no files.
//!
//! It is created in the system's temporary folder, readable by its owner only, and is not removed: the person may want
//! to see what was moved.

use std::io;
use std::path::{Path, PathBuf};

/// Names tried before giving up. Judgement: leftovers of earlier runs of the same process number are few.
const NAMES_TRIED: u32 = 1_000;

/// What lies in it: every kind that is moved, and one file that stays.
const FILES: [&str; 9] = [
    "holiday-01.jpg",
    "holiday-02.jpg",
    "screenshot.png",
    "invoice-2026-10.pdf",
    "notes.md",
    "numbers.csv",
    "backup.zip",
    "interview.mp3",
    "unknown.xyz",
];

/// Makes the folder and its files.
pub(super) async fn make() -> Result<PathBuf, String> {
    tokio::task::spawn_blocking(|| made(&std::env::temp_dir()))
        .await
        .map_err(|_| io::Error::other("making it broke off"))
        .and_then(|made| made)
        .map_err(|why| format!("A sample folder could not be made: {why}. Name a folder to tidy."))
}

fn made(below: &Path) -> io::Result<PathBuf> {
    let process = std::process::id();
    for at in 0..NAMES_TRIED {
        let folder = below.join(format!("taskwarden-sample-{process}-{at}"));
        match builder().create(&folder) {
            Ok(()) => {
                for name in FILES {
                    std::fs::write(folder.join(name), format!("A sample file of the demo server: {name}\n"))?;
                }
                return Ok(folder);
            }
            Err(taken) if taken.kind() == io::ErrorKind::AlreadyExists => {}
            Err(why) => return Err(why),
        }
    }
    Err(io::Error::new(io::ErrorKind::AlreadyExists, "all names are taken"))
}

#[cfg(unix)]
fn builder() -> std::fs::DirBuilder {
    use std::os::unix::fs::DirBuilderExt;
    let mut builder = std::fs::DirBuilder::new();
    builder.mode(0o700);
    builder
}

/// Not run here. The temporary folder of Windows is its user's own.
#[cfg(not(unix))]
fn builder() -> std::fs::DirBuilder {
    std::fs::DirBuilder::new()
}
