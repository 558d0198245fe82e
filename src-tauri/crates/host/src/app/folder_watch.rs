//! Waits until something in a folder appears, goes or is renamed, without looking at intervals.
//!
//! Only Linux reports this here. Elsewhere `start` fails, and the caller looks at intervals.

use std::io;
use std::path::Path;

/// Bytes of reports read at a time. More than one with the longest name (inotify(7): 16 + `NAME_MAX` + 1).
#[cfg(target_os = "linux")]
const REPORT_BYTES: usize = 1_024;

/// A folder whose changes the system reports.
pub(crate) struct FolderWatch {
    #[cfg(target_os = "linux")]
    reports: inotify::EventStream<[u8; REPORT_BYTES]>,
    /// There is none on other systems.
    #[cfg(not(target_os = "linux"))]
    none: std::convert::Infallible,
}

#[cfg(target_os = "linux")]
impl FolderWatch {
    /// Begins to watch this folder; it must be called in a runtime.
    ///
    /// # Errors
    /// When the system gives no watch: too many of this user, or a folder that is not there.
    pub(crate) fn start(folder: &Path) -> io::Result<Self> {
        use inotify::{Inotify, WatchMask};

        let source = Inotify::init()?;
        let changes = WatchMask::CREATE
            | WatchMask::DELETE
            | WatchMask::MOVE
            | WatchMask::DELETE_SELF
            | WatchMask::MOVE_SELF
            | WatchMask::ONLYDIR;
        source.watches().add(folder, changes)?;
        Ok(Self { reports: source.into_event_stream([0; REPORT_BYTES])? })
    }

    /// Returns after a change. Those between two calls are not missed.
    ///
    /// # Errors
    /// When the folder was moved or removed, or reports cannot be read: none comes any more.
    pub(crate) async fn changed(&mut self) -> io::Result<()> {
        use futures::StreamExt as _;
        use inotify::EventMask;

        let gone = || io::Error::new(io::ErrorKind::NotFound, "the folder was moved or removed");
        let report = self.reports.next().await.ok_or_else(gone)??;
        let is_gone = report.mask.intersects(EventMask::DELETE_SELF | EventMask::MOVE_SELF | EventMask::IGNORED);
        if is_gone { Err(gone()) } else { Ok(()) }
    }
}

#[cfg(not(target_os = "linux"))]
impl FolderWatch {
    /// Fails, because folders are not watched on this system.
    ///
    /// # Errors
    /// `Unsupported`, whatever the folder.
    pub(crate) fn start(_folder: &Path) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Never called, because none was started.
    ///
    /// # Errors
    /// No value exists that could fail.
    pub(crate) async fn changed(&mut self) -> io::Result<()> {
        match self.none {}
    }
}

#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::FolderWatch;

    /// Far above what a report takes.
    const LIMIT: Duration = Duration::from_secs(60);

    async fn change(watch: &mut FolderWatch) -> std::io::Result<()> {
        tokio::time::timeout(LIMIT, watch.changed()).await.expect("it is reported")
    }

    #[tokio::test]
    async fn files_folders_and_links_that_appear_are_reported_and_what_came_before_the_wait_as_well() {
        let home = tempfile::tempdir().expect("a folder");
        let mut watch = FolderWatch::start(home.path()).expect("a watch");
        std::fs::write(home.path().join("a"), "").expect("written");
        change(&mut watch).await.expect("a file");
        std::fs::create_dir(home.path().join("b")).expect("made");
        change(&mut watch).await.expect("a folder");
        std::os::unix::fs::symlink("nowhere", home.path().join("c")).expect("linked");
        change(&mut watch).await.expect("a link");
        std::fs::rename(home.path().join("c"), home.path().join("d")).expect("renamed");
        change(&mut watch).await.expect("the old name goes");
        change(&mut watch).await.expect("a new name");
        assert!(tokio::time::timeout(Duration::ZERO, watch.changed()).await.is_err(), "and nothing else");
    }

    #[tokio::test]
    async fn a_folder_that_goes_says_so() {
        let home = tempfile::tempdir().expect("a folder");
        let mut watch = FolderWatch::start(home.path()).expect("a watch");
        home.close().expect("removed");
        assert!(change(&mut watch).await.is_err(), "nothing is reported any more");
        assert!(FolderWatch::start(std::path::Path::new("/nowhere/at/all")).is_err(), "a folder must be there");
    }
}
