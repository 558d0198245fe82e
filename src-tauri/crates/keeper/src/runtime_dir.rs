//! A keeper's folder, with its socket and a record of its processes.
//!
//! The name starts with a digest of the child's name, by which a core finds it, and ends with random digits, so that an
//! ending and a starting keeper never share a folder. The record holds pids with start time and boot id, and the
//! command; never arguments or values.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use domain::policy::{Policy, plain_text};
use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tokio::time::{Instant, sleep};

use crate::process::child_records::{COMMAND_CHARS, EndedChild, boot, start_time};
use crate::process::group::ProcessGroup;

/// Bytes of the digest in a folder's name. Judgement: socket paths are short, and the fingerprint is compared as well.
const NAME_BYTES: usize = 5;
/// `sun_path` has 108 bytes on Linux and 104 on macOS, one of them the terminator.
const SOCKET_PATH_MOST: usize = 103;

/// One keeper's folder.
#[derive(Debug, Clone)]
pub struct RuntimeDir(PathBuf);

#[derive(Debug, Clone, Serialize, Deserialize)]
struct ProcessIdentity {
    pid: u32,
    start: u64,
}

impl ProcessIdentity {
    fn of(pid: u32) -> Self {
        Self { pid, start: start_time(pid).unwrap_or_default() }
    }

    fn lives(&self) -> bool {
        start_time(self.pid).is_some_and(|start| start == self.start)
    }

    /// Sends SIGTERM and waits as long as a keeper may need for its child. Returns whether it ended.
    async fn ended(&self, policy: &Policy) -> bool {
        let Some(pid) = i32::try_from(self.pid).ok().and_then(Pid::from_raw) else { return false };
        let _ = kill_process(pid, Signal::TERM);
        let until = Instant::now() + policy.child_close_wait + policy.child_term_wait * 4;
        while self.lives() {
            if Instant::now() >= until {
                return false;
            }
            sleep(policy.child_group_look).await;
        }
        true
    }
}

/// The keeper's process and its child.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RuntimeRecord {
    keeper: ProcessIdentity,
    child: ProcessIdentity,
    boot: String,
    command: String,
    /// The input from which cores derive the keeper's secret. Empty for a keeper of an earlier version, which has none.
    #[serde(default)]
    nonce: String,
}

impl RuntimeRecord {
    /// A record of this process as the keeper of `child`.
    pub(crate) fn of(child: u32, command: &str, nonce: String) -> Self {
        Self {
            keeper: ProcessIdentity::of(std::process::id()),
            child: ProcessIdentity::of(child),
            boot: boot(),
            command: plain_text(command, COMMAND_CHARS),
            nonce,
        }
    }

    fn keeper_lives(&self) -> bool {
        self.boot == boot() && self.keeper.lives()
    }

    /// The group of a running child whose keeper is gone.
    fn left_behind(&self) -> Option<ProcessGroup> {
        if self.boot == boot() && self.child.lives() { ProcessGroup::of(self.child.pid) } else { None }
    }
}

impl RuntimeDir {
    /// The folder at this path.
    pub(crate) fn at(folder: &Path) -> Self {
        Self(folder.to_owned())
    }

    /// A new folder for the child with this name; `None` where the path is too long for a socket.
    pub(crate) fn new(dir: &Path, name: &str, random: u128) -> Option<Self> {
        let place = Self(dir.join(format!("{}{:04x}", prefix(name), random & 0xffff)));
        (place.socket().as_os_str().len() <= SOCKET_PATH_MOST).then_some(place)
    }

    /// All folders for the child with this name.
    pub fn all_of(dir: &Path, name: &str) -> Vec<Self> {
        let prefix = prefix(name);
        all(dir)
            .filter(|place| place.0.file_name().is_some_and(|own| own.to_string_lossy().starts_with(&prefix)))
            .collect()
    }

    /// The digest of its child's name.
    fn prefix(&self) -> Option<String> {
        self.0.file_name()?.to_str()?.get(..NAME_BYTES * 2).map(str::to_owned)
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.0
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.0.join("s")
    }

    /// Whether a core could still connect.
    pub(crate) fn is_there(&self) -> bool {
        self.socket().exists()
    }

    /// Whether somebody listens, with or without a record: on a full disk a keeper has none.
    fn listens(&self) -> bool {
        std::os::unix::net::UnixStream::connect(self.socket()).is_ok()
    }

    fn record(&self) -> PathBuf {
        self.0.join("who")
    }

    /// Creates the folder with access for the user alone. It must not exist.
    pub(crate) fn make(&self) -> io::Result<()> {
        use std::os::unix::fs::DirBuilderExt as _;
        if let Some(dir) = self.0.parent() {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        }
        fs::DirBuilder::new().mode(0o700).create(&self.0)
    }

    /// Writes the record of keeper and child.
    pub(crate) fn write(&self, record: &RuntimeRecord) -> io::Result<()> {
        fs::write(self.record(), serde_json::to_vec(record).map_err(io::Error::other)?)
    }

    /// The input from which the keeper's secret is derived.
    pub(crate) fn nonce(&self) -> Option<String> {
        self.read().map(|record| record.nonce).filter(|nonce| !nonce.is_empty())
    }

    fn read(&self) -> Option<RuntimeRecord> {
        serde_json::from_slice(&fs::read(self.record()).ok()?).ok()
    }

    /// Removes the folder and its content.
    pub(crate) fn clear(&self) {
        // The next core removes what is left of it.
        let _ = fs::remove_dir_all(&self.0);
    }

    /// Ends what a dead keeper left behind, and removes its folder. `None` while the keeper runs; one of an
    /// earlier version, which does not authenticate cores, is ended first.
    pub async fn clear_after(&self, policy: &Policy) -> Option<Option<EndedChild>> {
        let Some(record) = self.read() else {
            if self.listens() {
                return None;
            }
            self.clear();
            return Some(None);
        };
        if record.keeper_lives() {
            if !record.nonce.is_empty() || !record.keeper.ended(policy).await {
                return None;
            }
            tracing::info!(child.name = %record.command, "a keeper of an earlier version was ended with its child");
            self.clear();
            return Some(Some(EndedChild { pid: record.child.pid, command: record.command }));
        }
        // One of another process namespace is not found by its pid, and listens all the same.
        if self.listens() {
            return None;
        }
        let mut ended = None;
        if let Some(group) = record.left_behind() {
            group.end(policy.child_term_wait, policy.child_group_look).await;
            ended = Some(EndedChild { pid: record.child.pid, command: record.command });
        }
        self.clear();
        Some(ended)
    }

    /// Ends a child that nobody wants any more, by its keeper where one runs, and removes the folder. `None` where nothing
    /// ran, or the keeper did not end in time; it ends the child all the same when no core comes.
    pub async fn end_unclaimed(&self, policy: &Policy) -> Option<EndedChild> {
        let running = self.read().filter(RuntimeRecord::keeper_lives);
        let Some(RuntimeRecord { keeper, child, command, .. }) = running else {
            return self.clear_after(policy).await.flatten();
        };
        if !keeper.ended(policy).await {
            tracing::warn!(process = keeper.pid, "the keeper of a server that was removed does not end");
            return None;
        }
        self.clear();
        Some(EndedChild { pid: child.pid, command })
    }
}

/// The folders of children that belong to none of these names: no core asks for such a child again.
#[must_use]
pub fn unclaimed_children<'n>(dir: &Path, names: impl IntoIterator<Item = &'n str>) -> Vec<RuntimeDir> {
    let claimed: BTreeSet<String> = names.into_iter().map(prefix).collect();
    all(dir).filter(|place| place.prefix().is_none_or(|prefix| !claimed.contains(&prefix))).collect()
}

/// Whether a keeper listens in one of these folders. In a copy of them none does: sockets are not copied.
#[must_use]
pub fn has_listening_keeper(dir: &Path) -> bool {
    all(dir).any(|place| place.listens())
}

/// Whether a child of this name, other than the one with this pid, runs under a keeper that runs, or may: a keeper without
/// a record listens. That of `own` is not told from others without its record.
#[must_use]
pub fn has_other_child(dir: &Path, name: &str, own: Option<u32>) -> bool {
    RuntimeDir::all_of(dir, name).into_iter().any(|place| match place.read() {
        Some(record) => record.keeper_lives() && record.child.lives() && Some(record.child.pid) != own,
        // What is not read is no evidence that nobody is there.
        None => place.listens(),
    })
}

/// Those of these names for whose child there is a folder.
#[must_use]
pub fn names_with_children(dir: &Path, names: Vec<String>) -> Vec<String> {
    let there: BTreeSet<String> = all(dir).filter_map(|place| place.prefix()).collect();
    if there.is_empty() {
        return Vec::new();
    }
    names.into_iter().filter(|name| there.contains(&prefix(name))).collect()
}

fn prefix(name: &str) -> String {
    Sha256::digest(name.as_bytes()).iter().take(NAME_BYTES).map(|byte| format!("{byte:02x}")).collect()
}

fn all(dir: &Path) -> impl Iterator<Item = RuntimeDir> {
    fs::read_dir(dir).into_iter().flatten().filter_map(Result::ok).map(|entry| RuntimeDir(entry.path()))
}

/// Ends children whose keepers are gone, and removes their folders. Children with a keeper keep running. Only one core may
/// use the directory.
pub async fn end_abandoned_children(dir: &Path, policy: &Policy) -> Vec<EndedChild> {
    let mut ended = Vec::new();
    for place in all(dir) {
        ended.extend(place.clear_after(policy).await.flatten());
    }
    ended
}

/// A running child and the keeper that holds it when its core ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldChild {
    /// The keeper's process.
    pub keeper: u32,
    /// The child's process.
    pub child: u32,
    /// The child's command, without its arguments.
    pub command: String,
}

/// Children that go on when their core ends, because a keeper holds them.
#[must_use]
pub fn kept_children(dir: &Path) -> Vec<HeldChild> {
    let mut kept: Vec<HeldChild> = all(dir)
        .filter_map(|place| place.read())
        .filter(RuntimeRecord::keeper_lives)
        .map(|record| HeldChild { keeper: record.keeper.pid, child: record.child.pid, command: record.command })
        .collect();
    kept.sort_by_key(|one| one.child);
    kept
}

/// The pids of running keepers: every descendant of one was started by a server.
#[must_use]
pub fn running_keepers(dir: &Path) -> Vec<u32> {
    all(dir)
        .filter_map(|place| place.read())
        .filter(RuntimeRecord::keeper_lives)
        .map(|record| record.keeper.pid)
        .collect()
}
