//! Makes a small sample folder when a call names none, so that a first run needs no files.
//!
//! It is created in the system's temporary folder, readable by its owner only. Its files are of several kinds and
//! months. Whoever has it made decides whether it stays.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Names tried before giving up. Judgement: leftovers of earlier runs of the same process number are few.
const NAMES_TRIED: u32 = 1_000;

/// What lies in it, with how many days ago it was changed: several kinds, and one file of no known kind.
const FILES: [(&str, u32); 9] = [
    ("holiday-01.jpg", 80),
    ("holiday-02.jpg", 80),
    ("screenshot.png", 1),
    ("invoice-2026-10.pdf", 40),
    ("notes.md", 1),
    ("numbers.csv", 40),
    ("backup.zip", 80),
    ("interview.mp3", 40),
    ("unknown.xyz", 1),
];

const DAY_SECONDS: u64 = 24 * 60 * 60;

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
                for (name, days) in FILES {
                    sample_file(&folder.join(name), name, days)?;
                }
                return Ok(folder);
            }
            Err(taken) if taken.kind() == io::ErrorKind::AlreadyExists => {}
            Err(why) => return Err(why),
        }
    }
    Err(io::Error::new(io::ErrorKind::AlreadyExists, "all names are taken"))
}

fn sample_file(path: &Path, name: &str, days: u32) -> io::Result<()> {
    let mut file = std::fs::File::create_new(path)?;
    file.write_all(format!("A sample file of the demo server: {name}\n").as_bytes())?;
    let written = file.metadata()?.modified()?;
    let changed = written.checked_sub(Duration::from_secs(u64::from(days) * DAY_SECONDS));
    changed.map_or(Ok(()), |changed| file.set_modified(changed))
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
