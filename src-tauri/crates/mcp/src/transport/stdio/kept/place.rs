//! Where a keeper lives: a folder of its own with its socket and a record of its processes.
//!
//! The name begins with a digest of what is kept, so that a core finds it again, and ends with random letters, so
//! that a keeper that ends and one that begins never share a folder. A record names processes with the time they
//! started and the boot they started in; only those are ever ended. No arguments, no values.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use domain::policy::{Policy, plain_text};
use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tokio::time::{Instant, sleep};

use crate::transport::stdio::group::Group;
use crate::transport::stdio::leftover::{COMMAND_CHARS, Ended, boot, start_time};

/// Bytes of the digest in a folder's name. Judgement: paths of sockets are short, and what is kept is compared too.
const NAME_BYTES: usize = 5;
/// `sun_path` holds 108 bytes on Linux and 104 on macOS, one of them the end mark.
const SOCKET_PATH_MOST: usize = 103;

/// One keeper's folder.
#[derive(Debug, Clone)]
pub(in crate::transport::stdio) struct Place(PathBuf);

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Process {
    pid: u32,
    start: u64,
}

impl Process {
    fn of(pid: u32) -> Self {
        Self { pid, start: start_time(pid).unwrap_or_default() }
    }

    fn lives(&self) -> bool {
        start_time(self.pid).is_some_and(|start| start == self.start)
    }

    /// Asks it to end, which takes a keeper as long as its child needs. Whether it did.
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

/// Which processes a keeper is about.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::transport::stdio) struct Record {
    keeper: Process,
    child: Process,
    boot: String,
    command: String,
    /// From which cores make the keeper's secret. Empty for a keeper of an earlier version, which has none.
    #[serde(default)]
    nonce: String,
}

impl Record {
    /// The record of this process as the keeper of that child.
    pub(in crate::transport::stdio) fn of(child: u32, command: &str, nonce: String) -> Self {
        Self {
            keeper: Process::of(std::process::id()),
            child: Process::of(child),
            boot: boot(),
            command: plain_text(command, COMMAND_CHARS),
            nonce,
        }
    }

    fn keeper_lives(&self) -> bool {
        self.boot == boot() && self.keeper.lives()
    }

    /// The group of a child whose keeper is gone.
    fn left_behind(&self) -> Option<Group> {
        if self.boot == boot() && self.child.lives() { Group::of(self.child.pid) } else { None }
    }
}

impl Place {
    /// The place in this folder.
    pub(in crate::transport::stdio) fn at(folder: &Path) -> Self {
        Self(folder.to_owned())
    }

    /// A new place for what goes by this name; `None` where paths are too long for a socket.
    pub(in crate::transport::stdio) fn new(dir: &Path, name: &str, random: u128) -> Option<Self> {
        let place = Self(dir.join(format!("{}{:04x}", prefix(name), random & 0xffff)));
        (place.socket().as_os_str().len() <= SOCKET_PATH_MOST).then_some(place)
    }

    /// All places of what goes by this name.
    pub(in crate::transport::stdio) fn all_of(dir: &Path, name: &str) -> Vec<Self> {
        let prefix = prefix(name);
        all(dir)
            .filter(|place| place.0.file_name().is_some_and(|own| own.to_string_lossy().starts_with(&prefix)))
            .collect()
    }

    pub(in crate::transport::stdio) fn folder(&self) -> &Path {
        &self.0
    }

    pub(in crate::transport::stdio) fn socket(&self) -> PathBuf {
        self.0.join("s")
    }

    /// Whether a core could still come.
    pub(in crate::transport::stdio) fn is_there(&self) -> bool {
        self.socket().exists()
    }

    fn record(&self) -> PathBuf {
        self.0.join("who")
    }

    /// Makes the folder, for the user alone. It must not be there yet.
    pub(in crate::transport::stdio) fn make(&self) -> io::Result<()> {
        use std::os::unix::fs::DirBuilderExt as _;
        if let Some(dir) = self.0.parent() {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        }
        fs::DirBuilder::new().mode(0o700).create(&self.0)
    }

    /// Writes the record.
    pub(in crate::transport::stdio) fn write(&self, record: &Record) -> io::Result<()> {
        fs::write(self.record(), serde_json::to_vec(record).map_err(io::Error::other)?)
    }

    /// From which the keeper's secret is made.
    pub(in crate::transport::stdio) fn nonce(&self) -> Option<String> {
        self.read().map(|record| record.nonce).filter(|nonce| !nonce.is_empty())
    }

    fn read(&self) -> Option<Record> {
        serde_json::from_slice(&fs::read(self.record()).ok()?).ok()
    }

    /// Removes the folder.
    pub(in crate::transport::stdio) fn clear(&self) {
        // What is left of it is cleared by the next core.
        let _ = fs::remove_dir_all(&self.0);
    }

    /// Ends what a keeper that is gone left behind, and clears its place. `None` while the keeper lives; one of an
    /// earlier version, which asks nobody for a secret, is ended first.
    pub(in crate::transport::stdio) async fn clear_after(&self, policy: &Policy) -> Option<Option<Ended>> {
        let Some(record) = self.read() else {
            self.clear();
            return Some(None);
        };
        if record.keeper_lives() {
            if !record.nonce.is_empty() || !record.keeper.ended(policy).await {
                return None;
            }
            tracing::info!(child.name = %record.command, "a keeper of an earlier version was ended with its child");
            self.clear();
            return Some(Some(Ended { pid: record.child.pid, command: record.command }));
        }
        let mut ended = None;
        if let Some(group) = record.left_behind() {
            group.end(policy.child_term_wait, policy.child_group_look).await;
            ended = Some(Ended { pid: record.child.pid, command: record.command });
        }
        self.clear();
        Some(ended)
    }
}

fn prefix(name: &str) -> String {
    Sha256::digest(name.as_bytes()).iter().take(NAME_BYTES).map(|byte| format!("{byte:02x}")).collect()
}

fn all(dir: &Path) -> impl Iterator<Item = Place> {
    fs::read_dir(dir).into_iter().flatten().filter_map(Result::ok).map(|entry| Place(entry.path()))
}

/// Ends children whose keepers are gone, and clears their places. Children that are kept live on. Only one core may
/// use the directory.
pub async fn end_unkept(dir: &Path, policy: &Policy) -> Vec<Ended> {
    let mut ended = Vec::new();
    for place in all(dir) {
        ended.extend(place.clear_after(policy).await.flatten());
    }
    ended
}

/// The processes that keep children now: whatever descends from one of them was started by a server.
#[must_use]
pub fn keepers(dir: &Path) -> Vec<u32> {
    all(dir).filter_map(|place| place.read()).filter(Record::keeper_lives).map(|record| record.keeper.pid).collect()
}
