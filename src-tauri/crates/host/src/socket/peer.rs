//! Who is at the other end of the socket, as the kernel says it (ruling 26).
//!
//! Another user is refused everything. A process that is a server's or an agent's (`kin.rs`) may read and never decide.
//! A process that cuts its descent by a double fork is not recognised here; the threat model in ARCHITECTURE.md says
//! what protects against that.

use api::{ApiError, Caller, Code};
use tokio::net::UnixStream;

use super::kin::{self, Kin};
use crate::person;

/// The peer of one connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer {
    /// Its user; `None` when the kernel did not say.
    uid: Option<u32>,
    /// Its process, where the kernel says it.
    pid: Option<u32>,
}

impl Peer {
    /// Whoever is at the other end of this stream.
    pub(super) fn of(stream: &UnixStream) -> Self {
        match stream.peer_cred() {
            Ok(credentials) => {
                Self { uid: Some(credentials.uid()), pid: credentials.pid().and_then(|pid| u32::try_from(pid).ok()) }
            }
            Err(error) => {
                tracing::warn!(%error, "the kernel does not say who is at the socket; refused");
                Self { uid: None, pid: None }
            }
        }
    }

    /// Whether it is a process of the user of this core.
    pub(super) fn is_of_our_user(self) -> bool {
        self.uid == Some(person::own_uid())
    }
}

impl Peer {
    /// The caller, if this peer may call at all.
    pub(super) fn caller(self, kin: &Kin) -> Result<Caller, ApiError> {
        let own = person::own_uid();
        match self.uid {
            Some(uid) if uid == own => Ok(Caller {
                person: person::of(uid),
                process: self.pid,
                is_descendant: self.pid.is_some_and(|pid| kin.includes(pid, kin::look, kin::is_bridge_or_keeper)),
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
