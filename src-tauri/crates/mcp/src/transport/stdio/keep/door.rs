//! The door of a keeper: who may come in, and the core that did.
//!
//! Only a program of the same user that knows the keeper's secret may take a child over, one at a time: a server or an
//! agent that can open the socket still does not become somebody's core. What a program is called, or which file it
//! was started from, proves nothing: anybody can start ours with a library of their own. The frames themselves are
//! `keep.rs`'s.

use std::collections::VecDeque;
use std::time::Duration;

use engine::runtime::supervisor::Supervisor;
use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::frame::{Frame, Frames, HEAD_BYTES, Kind};
use super::order::Numbers;
use super::proof::{self, Challenges, DoorSecret, Role};

/// Frames between the loop and the socket, each way: enough to write several at once.
const FRAMES_CAPACITY: usize = 16;

/// Processes that may be at the door at once without having proved anything: a core tries again.
pub(super) const KNOCKS_MAX: usize = 8;

/// The core that is here.
pub(super) struct Visit {
    pub(super) out: mpsc::Sender<Frame>,
    /// What goes out before the child's next line.
    pub(super) first: VecDeque<Frame>,
    scope: Supervisor,
}

impl Drop for Visit {
    fn drop(&mut self) {
        self.scope.cancel();
    }
}

impl Visit {
    /// Begins with a greeting; what the core says comes beside.
    pub(super) fn begin(
        stream: UnixStream,
        hello: Frame,
        numbers: &Numbers,
        scope: &Supervisor,
    ) -> (Self, mpsc::Receiver<Frame>) {
        let scope = scope.scope();
        let (from, to) = stream.into_split();
        let (heard, frames) = mpsc::channel(FRAMES_CAPACITY);
        let (out, outgoing) = mpsc::channel(FRAMES_CAPACITY);
        let mut reader = Frames::new(from, numbers.frame_bytes());
        scope.spawn("core reader", async move {
            // The end of the channel says that the core is gone, whatever the reason.
            while let Ok(Some(frame)) = reader.next().await {
                if heard.send(frame).await.is_err() {
                    return;
                }
            }
        });
        scope.spawn("core writer", write(to, outgoing));
        (Self { out, first: VecDeque::from([hello]), scope }, frames)
    }
}

async fn write(mut to: impl AsyncWrite + Unpin, mut frames: mpsc::Receiver<Frame>) {
    let mut bytes = Vec::new();
    while let Some(frame) = frames.recv().await {
        frame.put(&mut bytes);
        while bytes.len() < WRITE_BYTES
            && let Ok(frame) = frames.try_recv()
        {
            frame.put(&mut bytes);
        }
        if to.write_all(&bytes).await.is_err() {
            return;
        }
        bytes.clear();
        bytes.shrink_to(WRITE_BYTES);
    }
}

/// Frames that wait are written together up to about this size.
const WRITE_BYTES: usize = 64 * 1_024;

/// Turns a core away, because another one is here.
pub(super) fn turn_away(stream: UnixStream, scope: &Supervisor) {
    scope.spawn("turn away", async move {
        let mut bytes = Vec::new();
        Frame::bare(Kind::Busy, 0).put(&mut bytes);
        let mut stream = stream;
        // Whoever does not wait for the reason is gone all the same.
        let _ = stream.write_all(&bytes).await;
    });
}

/// A core that proved itself, and what proves the keeper to it.
pub(super) struct Admitted {
    pub(super) stream: UnixStream,
    pub(super) proof: [u8; proof::BYTES],
}

/// Asks whoever is at the door for the secret. `None` for a process of another user, one that does not know the
/// secret, and one that takes longer than `limit`.
pub(super) async fn admit(mut stream: UnixStream, secret: DoorSecret, limit: Duration) -> Option<Admitted> {
    let peer = stream.peer_cred().ok()?;
    if peer.uid() != rustix::process::geteuid().as_raw() {
        return None;
    }
    let process = u32::try_from(peer.pid()?).ok()?;
    let own = proof::challenge()?;
    let asking = async {
        let mut bytes = Vec::new();
        Frame::new(Kind::Challenge, 0, own.to_vec()).put(&mut bytes);
        stream.write_all(&bytes).await.ok()?;
        let mut answer = [0_u8; HEAD_BYTES + 2 * proof::BYTES];
        stream.read_exact(&mut answer).await.ok()?;
        let answer = Frames::new(&answer[..], 2 * proof::BYTES).next().await.ok()??;
        let (core, proof) = answer.body.split_first_chunk::<{ proof::BYTES }>()?;
        let challenges = Challenges { keeper: own, core: *core };
        let is_proven = answer.kind == Kind::Proof && secret.accepts(proof, Role::Core, process, &challenges);
        is_proven.then(|| secret.prove(Role::Keeper, std::process::id(), &challenges))
    };
    let proof = timeout(limit, asking).await.ok()??;
    Some(Admitted { stream, proof })
}
