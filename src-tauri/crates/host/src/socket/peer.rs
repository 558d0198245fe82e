//! Who is at the other end of the socket, as the kernel says it (ruling 26).
//!
//! Another user is refused everything. A process that descends from the core was started by one of its servers: it may
//! read and never decide. A process that cuts its descent by a double fork is not recognised here; the threat model in
//! ARCHITECTURE.md says what protects against that.

use api::{ApiError, Caller, Code};
use axum::extract::connect_info::Connected;
use axum::serve::IncomingStream;
use tokio::net::UnixListener;

use crate::person;

/// The peer of one connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Peer {
    /// Its user; `None` when the kernel did not say.
    uid: Option<u32>,
    /// Its process, where the kernel says it.
    pid: Option<u32>,
}

impl Connected<IncomingStream<'_, UnixListener>> for Peer {
    fn connect_info(stream: IncomingStream<'_, UnixListener>) -> Self {
        match stream.io().peer_cred() {
            Ok(credentials) => {
                Self { uid: Some(credentials.uid()), pid: credentials.pid().and_then(|pid| u32::try_from(pid).ok()) }
            }
            Err(error) => {
                tracing::warn!(%error, "the kernel does not say who is at the socket; refused");
                Self { uid: None, pid: None }
            }
        }
    }
}

impl Peer {
    /// The caller, if this peer may call at all.
    pub(super) fn caller(self) -> Result<Caller, ApiError> {
        let own = person::own_uid();
        match self.uid {
            Some(uid) if uid == own => Ok(Caller {
                person: person::of(uid),
                process: self.pid,
                is_descendant: self.pid.is_some_and(|pid| descends_from(pid, std::process::id(), parent)),
            }),
            Some(_) | None => {
                tracing::warn!(peer.uid = self.uid, peer.pid = self.pid, "another user was refused at the socket");
                Err(ApiError::new(
                    Code::Refused,
                    "this core belongs to another user",
                    "Start a core of your own with `taskwarden serve`.",
                ))
            }
        }
    }
}

/// Whether `process` has `ancestor` among its parents.
fn descends_from(process: u32, ancestor: u32, parent: impl Fn(u32) -> Option<u32>) -> bool {
    /// Longer chains of parents do not occur; a loop cannot either, but a limit costs nothing.
    const GENERATIONS: usize = 64;
    let mut at = process;
    for _ in 0..GENERATIONS {
        match parent(at) {
            Some(above) if above == ancestor => return true,
            Some(above) if above > 1 => at = above,
            Some(_) | None => return false,
        }
    }
    false
}

#[cfg(target_os = "linux")]
fn parent(process: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name in parentheses may hold anything; the parent is the second word after it.
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

// Not run here: without /proc the descent is not known.
#[cfg(not(target_os = "linux"))]
fn parent(_process: u32) -> Option<u32> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_below_a_server_is_recognised_and_a_shell_beside_it_is_not() {
        // 1 init, 10 shell, 20 core under the shell, 30 server under the core, 31 its child, 40 command in the shell.
        let family = |process| match process {
            31 => Some(30),
            30 => Some(20),
            20 | 40 => Some(10),
            10 => Some(1),
            _ => None,
        };
        assert!(descends_from(31, 20, family), "what a server starts descends from the core");
        assert!(!descends_from(40, 20, family), "a command in the same shell does not");
        assert!(!descends_from(20, 20, family), "the core is not below itself");
        assert!(!descends_from(5, 20, |_| Some(5)), "a loop ends");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_parent_of_this_test_is_found() {
        assert_eq!(parent(std::process::id()), rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get() as u32));
    }
}
