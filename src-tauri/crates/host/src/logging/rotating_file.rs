//! A log file that is rotated when it is full, and a fixed number of earlier ones.
//!
//! `taskwarden.log`, `taskwarden.1.log`, … the oldest is overwritten. Writes are short and under a lock; a failed write
//! is dropped, because losing a log line is better than stopping the core.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use tracing_subscriber::fmt::MakeWriter;

struct Current {
    file: File,
    bytes: u64,
}

/// The writer; clones are the same file.
#[derive(Clone)]
pub(crate) struct RotatingFile {
    folder: Arc<Path>,
    full: u64,
    kept: u32,
    current: Arc<Mutex<Current>>,
}

impl RotatingFile {
    pub(crate) fn open(folder: PathBuf, full: u64, kept: u32) -> io::Result<Self> {
        crate::config::paths::private_dir(&folder)?;
        let current = Current::open(&name(&folder, 0))?;
        Ok(Self { folder: folder.into(), full, kept, current: Arc::new(Mutex::new(current)) })
    }

    fn rotate(&self, current: &mut Current) -> io::Result<()> {
        for number in (0..self.kept).rev() {
            let from = name(&self.folder, number);
            if from.exists() {
                fs::rename(&from, name(&self.folder, number.saturating_add(1)))?;
            }
        }
        if self.kept == 0 {
            fs::remove_file(name(&self.folder, 0))?;
        }
        *current = Current::open(&name(&self.folder, 0))?;
        Ok(())
    }
}

impl Current {
    fn open(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.create(true).append(true);
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt as _;
            options.mode(0o600);
        }
        let file = options.open(path)?;
        let bytes = file.metadata()?.len();
        Ok(Self { file, bytes })
    }
}

fn name(folder: &Path, number: u32) -> PathBuf {
    match number {
        0 => folder.join("taskwarden.log"),
        _ => folder.join(format!("taskwarden.{number}.log")),
    }
}

impl Write for RotatingFile {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut current = self.current.lock();
        let more = u64::try_from(line.len()).unwrap_or(u64::MAX);
        if current.bytes > 0 && current.bytes.saturating_add(more) > self.full {
            // Writing to a file over its size is better than losing the line.
            let _ = self.rotate(&mut current);
        }
        current.file.write_all(line)?;
        current.bytes = current.bytes.saturating_add(more);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.current.lock().file.flush()
    }
}

impl MakeWriter<'_> for RotatingFile {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_never_take_more_than_their_files() {
        let dir = tempfile::tempdir().expect("a folder");
        let folder = dir.path().join("logs");
        let mut log = RotatingFile::open(folder.clone(), 100, 2).expect("it can be made");
        for number in 0..100 {
            log.write_all(format!("line {number:03} of a log that goes on\n").as_bytes()).expect("it is written");
        }
        let mut names: Vec<_> = fs::read_dir(&folder)
            .expect("the folder")
            .map(|entry| entry.expect("an entry").file_name().into_string().expect("a name"))
            .collect();
        names.sort();
        assert_eq!(names, ["taskwarden.1.log", "taskwarden.2.log", "taskwarden.log"]);
        let newest = fs::read_to_string(folder.join("taskwarden.log")).expect("the log");
        assert!(newest.contains("line 099"), "the newest line is in the current file: {newest}");
        let total: u64 = names.iter().map(|n| fs::metadata(folder.join(n)).expect("a file").len()).sum();
        assert!(total <= 300, "three files of 100 bytes at most, not {total}");
    }
}
