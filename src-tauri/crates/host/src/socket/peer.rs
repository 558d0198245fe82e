//! Who is at the other end of the socket, as the kernel reports it (ruling 26, decision 0016).
//!
//! The process is pinned when its connection is accepted, and checked again with every call. Another user is refused
//! everything; a process that is not proven to be a person's gets the facts of `doctor` and nothing else.

use std::path::{Path, PathBuf};

use api::{ApiError, Caller, Code};
use domain::audit::decision_origin::{DecisionDoor, DecisionOrigin, ProcessStamp};
use domain::policy::plain_text;
use tokio::net::UnixStream;

use super::process_ancestry::{Ancestry, AncestryGap, PeerStanding};
use crate::os::process_table::{ProcessId, ProcessTable};
use crate::os::user;

/// The file name of the window's program.
const WINDOW_PROGRAM: &str = "taskwarden-desktop";

/// Longest name by which a process was called, in characters. Judgement: a path on one line.
const CALLED_CHARS: usize = 200;

/// The peer of one connection.
#[derive(Debug, Clone)]
pub(crate) struct Peer {
    /// Its user; `None` when the kernel did not say.
    uid: Option<u32>,
    process: Pinned,
    /// The file that the process ran when it came, or the name by which it was called.
    executable: Option<PathBuf>,
}

/// Which process opened the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pinned {
    Process(ProcessId),
    /// It had ended before the connection was accepted.
    Gone,
    /// The kernel does not say.
    Unseen,
}

impl Peer {
    /// Pins the process at the other end of a connection.
    pub(super) fn of(stream: &UnixStream) -> Self {
        let credentials = match stream.peer_cred() {
            Ok(credentials) => credentials,
            Err(error) => {
                tracing::warn!(%error, "the kernel does not say who is at the socket; the connection is refused");
                return Self { uid: None, process: Pinned::Unseen, executable: None };
            }
        };
        // Zero is a process of another pid namespace.
        let pid = credentials.pid().and_then(|pid| u32::try_from(pid).ok()).filter(|pid| *pid > 0);
        let table = ProcessTable::of_system();
        let process = pid.map_or(Pinned::Unseen, |pid| pin(stream, pid, &table));
        let executable = pid.and_then(|pid| table.executable(pid).or_else(|| called_by(&table, pid)));
        Self { uid: Some(credentials.uid()), process, executable }
    }

    /// Whether it is a process of the user of this core.
    pub(super) fn is_of_our_user(&self) -> bool {
        self.uid == Some(user::own_uid())
    }

    /// The process, as far as the kernel tells it.
    pub(super) fn process(&self) -> Option<ProcessId> {
        match self.process {
            Pinned::Process(id) => Some(id),
            Pinned::Gone | Pinned::Unseen => None,
        }
    }

    /// The origin of its decisions. A window attached to a running core is recognised by its program.
    pub(super) fn origin(&self) -> DecisionOrigin {
        let executable = self.executable.as_deref();
        let is_window = executable.and_then(Path::file_name).is_some_and(|name| name == WINDOW_PROGRAM);
        DecisionOrigin {
            door: if is_window { DecisionDoor::Window } else { DecisionDoor::Terminal },
            process: self.process().map(|ProcessId { pid, started }| ProcessStamp { pid, started }),
            executable: executable.map(|path| path.display().to_string()),
        }
    }

    /// Whether a server or an agent is known to have started it, or it cannot be excluded that a server did: its limit of
    /// message queues is the one of servers.
    pub(super) fn is_below_agent(&self, ancestry: &Ancestry) -> bool {
        matches!(self.standing(ancestry), PeerStanding::Descendant | PeerStanding::Unproven(AncestryGap::ServerMark))
    }

    fn standing(&self, ancestry: &Ancestry) -> PeerStanding {
        match self.process {
            Pinned::Process(process) => ancestry.standing(process),
            Pinned::Gone => PeerStanding::Unproven(AncestryGap::Gone),
            Pinned::Unseen => PeerStanding::Unproven(AncestryGap::Unseen),
        }
    }

    /// The caller with its abilities; other users have none.
    pub(super) fn caller(&self, ancestry: &Ancestry) -> Result<Caller, ApiError> {
        let own = user::own_uid();
        if self.uid != Some(own) {
            tracing::warn!(peer.uid = self.uid, peer.process = ?self.process(), "another user was refused at the socket");
            return Err(ApiError::new(
                Code::Refused,
                "this core belongs to another user",
                "Start a core of your own with `taskwarden serve`.",
            ));
        }
        let standing = self.standing(ancestry);
        let (person, process) = (user::of(own).through(self.origin()), self.process().map(|id| id.pid));
        let refusal = match standing {
            PeerStanding::Person => return Ok(Caller::person(person, process)),
            PeerStanding::Descendant => descendant(),
            PeerStanding::Unproven(gap) => unproven(gap),
        };
        Ok(Caller::restricted(person, process, refusal))
    }
}

/// The name by which a process was called, where the kernel does not show the file that it runs: our own commands show it
/// to nobody, so that no server can take their connections.
fn called_by(table: &ProcessTable, pid: u32) -> Option<PathBuf> {
    let name = table.arguments(pid).into_iter().next().filter(|name| !name.is_empty())?;
    Some(PathBuf::from(plain_text(&String::from_utf8_lossy(&name), CALLED_CHARS)))
}

/// The process with its start time, if it is certain that this process opened the connection.
fn pin(stream: &UnixStream, pid: u32, table: &ProcessTable) -> Pinned {
    let Some(process) = table.process(pid) else { return Pinned::Gone };
    // Asked after the start time was read, which proves that the number was the peer's all the time.
    match pidfd_pid(stream) {
        Pidfd::Of(same) if same == pid => Pinned::Process(process.identity()),
        Pidfd::Of(_) | Pidfd::Ended => Pinned::Gone,
        Pidfd::Unsupported => Pinned::Process(process.identity()),
    }
}

/// What a descriptor of the peer's process says.
enum Pidfd {
    Of(u32),
    Ended,
    /// Not told, as before Linux 6.5: then the number and the start time at the accept must do.
    Unsupported,
}

#[cfg(target_os = "linux")]
fn pidfd_pid(stream: &UnixStream) -> Pidfd {
    use std::os::fd::AsRawFd as _;

    use nix::errno::Errno;
    use nix::sys::socket::{getsockopt, sockopt};

    let pidfd = match getsockopt(stream, sockopt::PeerPidfd) {
        Ok(pidfd) => pidfd,
        Err(Errno::ENOPROTOOPT | Errno::EOPNOTSUPP) => return Pidfd::Unsupported,
        Err(_) => return Pidfd::Ended,
    };
    let facts = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", pidfd.as_raw_fd())).unwrap_or_default();
    // Not there at all where `/proc` is not; negative when the process has ended.
    let Some(pid) = facts.lines().find_map(|line| line.strip_prefix("Pid:")) else { return Pidfd::Unsupported };
    pid.trim().parse().map_or(Pidfd::Ended, Pidfd::Of)
}

// Not run here.
#[cfg(not(target_os = "linux"))]
fn pidfd_pid(_stream: &UnixStream) -> Pidfd {
    Pidfd::Unsupported
}

fn descendant() -> ApiError {
    ApiError::new(
        Code::Refused,
        "processes started by a server or an agent may not do this",
        "Run the command in a terminal of your own, or use the window. Servers, agents and what they start may only run \
         `taskwarden doctor`; agents use their token for everything else.",
    )
}

fn unproven(gap: AncestryGap) -> ApiError {
    let (missing, hint) = match gap {
        AncestryGap::Gone => (
            "the process that opened this connection has ended".into(),
            "Run the command again, directly in the shell of a terminal.",
        ),
        AncestryGap::Unseen => (
            "the system does not say which process runs it: it is in another pid namespace, or there is no /proc"
                .into(),
            "Run the command outside of the container, or use the window or a browser that is signed in.",
        ),
        AncestryGap::Container => (
            "the process runs in a container".into(),
            "Run the command outside of the container, or use the window or a browser that is signed in.",
        ),
        AncestryGap::Unreadable(pid) => (
            format!("process {pid}, from which the command descends, cannot be read"),
            "Run the command in a terminal of your own, or use the window or a browser that is signed in.",
        ),
        AncestryGap::Orphan(pid) => (
            format!("what started process {pid}, from which the command descends, is gone"),
            "Run the command in a shell that a terminal or a login started, not in the background, under `nohup` or in a \
             terminal multiplexer; or use the window or a browser that is signed in. Commands of a multiplexer are \
             trusted where `taskwarden serve` was started in it.",
        ),
        AncestryGap::ServerMark => (
            "its limit of message queues (`ulimit -Hq`) is the one that Taskwarden gives to what servers start".into(),
            "Run the command in a terminal that no server started. If you lowered this limit yourself, raise it to the \
             system's 819200 bytes; or use the window or a browser that is signed in.",
        ),
    };
    ApiError::new(Code::Refused, format!("it is not certain that a person runs this command: {missing}"), hint)
}
