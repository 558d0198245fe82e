//! Authenticates cores that connect. The connection to the current one is `core_session.rs`.
//!
//! Only a process of the same user that knows the keeper's secret may use the child, and only one at a time. The name
//! or executable of a process proves nothing: anybody can start ours with a library of their own.

use std::time::Duration;

use engine::runtime::supervisor::Supervisor;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::time::timeout;

use crate::protocol::authentication::{self as proof, Challenges, KeeperSecret, PeerRole};
use crate::protocol::frame::{FrameKind, FrameReader, HEAD_BYTES, KeeperFrame};

/// Connections that may authenticate at the same time. A core that finds no slot tries again.
pub(crate) const HANDSHAKES_MAX: usize = 8;

/// Rejects a core because another one is connected.
pub(crate) fn turn_away(stream: UnixStream, scope: &Supervisor) {
    scope.spawn("turn away", async move {
        let mut bytes = Vec::new();
        KeeperFrame::bare(FrameKind::Busy, 0).put(&mut bytes);
        let mut stream = stream;
        // It does not matter whether the core reads the reason.
        let _ = stream.write_all(&bytes).await;
    });
}

/// An authenticated core, and the proof of the keeper for it.
pub(crate) struct AdmittedCore {
    pub(crate) stream: UnixStream,
    pub(crate) proof: [u8; proof::BYTES],
}

/// Authenticates a new connection. `None` for a process of another user, one that does not know the
/// secret, and one that takes longer than `limit`.
pub(crate) async fn admit(mut stream: UnixStream, secret: KeeperSecret, limit: Duration) -> Option<AdmittedCore> {
    let peer = stream.peer_cred().ok()?;
    if peer.uid() != rustix::process::geteuid().as_raw() {
        return None;
    }
    let process = u32::try_from(peer.pid()?).ok()?;
    let own = proof::challenge()?;
    let asking = async {
        let mut bytes = Vec::new();
        KeeperFrame::new(FrameKind::Challenge, 0, own.to_vec()).put(&mut bytes);
        stream.write_all(&bytes).await.ok()?;
        let mut answer = [0_u8; HEAD_BYTES + 2 * proof::BYTES];
        stream.read_exact(&mut answer).await.ok()?;
        let answer = FrameReader::new(&answer[..], 2 * proof::BYTES).next().await.ok()??;
        let (core, proof) = answer.body.split_first_chunk::<{ proof::BYTES }>()?;
        let challenges = Challenges { keeper: own, core: *core };
        let is_proven = answer.kind == FrameKind::Proof && secret.accepts(proof, PeerRole::Core, process, &challenges);
        is_proven.then(|| secret.prove(PeerRole::Keeper, std::process::id(), &challenges))
    };
    let proof = timeout(limit, asking).await.ok()??;
    Some(AdmittedCore { stream, proof })
}
