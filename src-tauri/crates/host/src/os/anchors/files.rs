//! Files of anchors on this system: read from their end, appended to, and on the disk before it is said.
//!
//! Their disks may be far away, so the work is done beside the runtime and given up after a while; an attempt that still
//! waits keeps the next ones from waiting, too.

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use domain::policy::AuditPolicy;
use domain::ports::{AnchorPlaceFault, LogHead, PortFuture};
use parking_lot::Mutex;

use super::head_of;

/// Files on the disks of this machine.
pub(super) struct AnchorFiles {
    /// How long a file may not answer.
    limit: Duration,
    /// How much of the end of a file is read.
    tail_bytes: u64,
    /// Files that an attempt is at work on.
    busy: Arc<Mutex<HashSet<PathBuf>>>,
}

impl AnchorFiles {
    pub(super) fn new(policy: &AuditPolicy) -> Self {
        Self { limit: policy.anchor_limit, tail_bytes: policy.anchor_tail_bytes, busy: Arc::default() }
    }

    /// The head of the last note of a file, checked with these keys.
    pub(super) fn newest(
        &self,
        path: &Path,
        keys: Vec<String>,
    ) -> PortFuture<'_, Result<Option<LogHead>, AnchorPlaceFault>> {
        let tail_bytes = self.tail_bytes;
        self.beside(path, move |path| newest(path, &keys, tail_bytes))
    }

    /// Makes a file where there is none.
    pub(super) fn prepare(&self, path: &Path) -> PortFuture<'_, Result<(), AnchorPlaceFault>> {
        self.beside(path, prepare)
    }

    /// Appends to a file that is there.
    pub(super) fn append(&self, path: &Path, note: String) -> PortFuture<'_, Result<(), AnchorPlaceFault>> {
        self.beside(path, move |path| append(path, &note))
    }

    /// Does something with a file or folder beside the runtime.
    pub(super) fn beside<T: Send + 'static>(
        &self,
        path: &Path,
        work: impl FnOnce(&Path) -> Result<T, AnchorPlaceFault> + Send + 'static,
    ) -> PortFuture<'_, Result<T, AnchorPlaceFault>> {
        let (path, busy, limit) = (path.to_owned(), Arc::clone(&self.busy), self.limit);
        Box::pin(async move {
            if !busy.lock().insert(path.clone()) {
                return Err(AnchorPlaceFault::Unreachable(
                    "does not answer; an earlier attempt still waits for it".into(),
                ));
            }
            let running = tokio::task::spawn_blocking(move || {
                let done = work(&path);
                busy.lock().remove(&path);
                done
            });
            match tokio::time::timeout(limit, running).await {
                Ok(Ok(done)) => done,
                Ok(Err(broken)) => Err(AnchorPlaceFault::Unreachable(format!("could not be looked at: {broken}"))),
                Err(_) => Err(AnchorPlaceFault::Unreachable(format!("did not answer in {} s", limit.as_secs()))),
            }
        })
    }
}

/// What an error of the system says about a place.
pub(super) fn unreachable(error: &io::Error) -> AnchorPlaceFault {
    AnchorPlaceFault::Unreachable(match error.kind() {
        ErrorKind::NotFound => "is not there".into(),
        _ => format!("cannot be used: {error}"),
    })
}

/// Opens without waiting for the other end of a pipe, and without following a link that somebody put there.
fn open(path: &Path, options: &mut OpenOptions) -> Result<File, AnchorPlaceFault> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        options.custom_flags(flags.bits().cast_signed()).mode(0o600);
    }
    if path.symlink_metadata().is_ok_and(|about| about.is_symlink()) {
        return Err(AnchorPlaceFault::NotOurs("is a link; name the file itself".into()));
    }
    let file = options.open(path).map_err(|error| match error.kind() {
        ErrorKind::IsADirectory => AnchorPlaceFault::NotOurs("is a folder; name a file in it".into()),
        _ => unreachable(&error),
    })?;
    match file.metadata().map_err(|error| unreachable(&error))?.file_type() {
        kind if kind.is_file() => Ok(file),
        kind if kind.is_dir() => Err(AnchorPlaceFault::NotOurs("is a folder; name a file in it".into())),
        _ => Err(AnchorPlaceFault::NotOurs("is not a file".into())),
    }
}

/// The head of the last note.
fn newest(path: &Path, keys: &[String], tail_bytes: u64) -> Result<Option<LogHead>, AnchorPlaceFault> {
    let mut file = open(path, OpenOptions::new().read(true))?;
    let length = file.metadata().map_err(|error| unreachable(&error))?.len();
    let mut end = Vec::new();
    file.seek(SeekFrom::Start(length.saturating_sub(tail_bytes)))
        .and_then(|_| file.take(tail_bytes).read_to_end(&mut end))
        .map_err(|error| unreachable(&error))?;
    head_of(&String::from_utf8_lossy(&end), keys)
}

fn append(path: &Path, note: &str) -> Result<(), AnchorPlaceFault> {
    let mut file = open(path, OpenOptions::new().append(true))?;
    file.write_all(note.as_bytes()).and_then(|()| file.sync_data()).map_err(|error| unreachable(&error))
}

fn prepare(path: &Path) -> Result<(), AnchorPlaceFault> {
    open(path, OpenOptions::new().append(true).create(true))?;
    let folder = path.parent().unwrap_or(Path::new("/"));
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(|error| unreachable(&error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use verify::note::{NoteKey, SignedNote, SigningKey, TreeHead};

    const TAIL: u64 = 4_096;

    struct Log {
        key: SigningKey,
        name: &'static str,
    }

    impl Log {
        fn new(seed: u8) -> Self {
            Self { key: SigningKey::from_bytes(&[seed; 32]), name: "taskwarden/test" }
        }

        fn note(&self, size: u64) -> String {
            let head = TreeHead { origin: self.name.into(), size, root: [7; 32] };
            format!("{}\n", SignedNote::sign(&head.to_string(), self.name, &self.key))
        }

        fn keys(&self) -> Vec<String> {
            vec![NoteKey::of(self.name, &self.key).to_string()]
        }
    }

    #[test]
    fn the_newest_of_many_notes_is_read_from_the_end_of_a_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("anchors.notes");
        let log = Log::new(1);
        let missing = Err(AnchorPlaceFault::Unreachable("is not there".into()));
        assert_eq!(newest(&path, &log.keys(), TAIL), missing, "a file that is gone is not an empty one");
        prepare(&path).expect("it is made");
        assert_eq!(newest(&path, &log.keys(), TAIL), Ok(None), "nothing is in it");
        for size in 1..=200 {
            append(&path, &log.note(size)).expect("it is written");
            let head = newest(&path, &log.keys(), TAIL).expect("it reads").expect("a note");
            assert_eq!(head.size, size);
        }
        let other = newest(&path, &Log::new(2).keys(), TAIL);
        assert!(matches!(&other, Err(AnchorPlaceFault::NotOurs(why)) if why.contains("no known key")), "{other:?}");
    }

    #[test]
    fn a_file_that_ends_in_the_middle_of_a_note_or_in_something_else_is_not_appended_to() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("anchors.notes");
        let log = Log::new(1);
        let whole = log.note(1) + &log.note(2);
        for end in ["a shopping list\n", &log.note(3)[..40], &log.note(3)[..120], "\u{2014} \n"] {
            std::fs::write(&path, format!("{whole}{end}")).expect("a file");
            let found = newest(&path, &log.keys(), TAIL);
            assert!(matches!(&found, Err(AnchorPlaceFault::NotOurs(_))), "{end:?}: {found:?}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn folders_links_and_pipes_are_no_places() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        std::os::unix::fs::symlink(at("elsewhere"), at("link")).expect("a link");
        std::os::unix::net::UnixListener::bind(at("socket")).expect("a socket");
        rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), rustix::fs::FileType::Fifo, 0o600.into(), 0).expect("a pipe");
        for name in ["", "link", "pipe", "socket"] {
            assert!(prepare(&at(name)).is_err(), "`{name}` is refused");
        }
        assert!(!at("elsewhere").exists(), "the link was not followed");
        let gone = append(&at("unmounted.notes"), "a note");
        assert_eq!(
            gone,
            Err(AnchorPlaceFault::Unreachable("is not there".into())),
            "a file that is gone is not made again"
        );
    }
}
