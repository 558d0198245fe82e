//! The door of a keeper: who may come in, and the core that did.
//!
//! Only a program of ours that runs as the same user may take a child over, one at a time: a server or an agent that
//! can open the socket still does not become somebody's core. The frames themselves are `keep.rs`'s.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::path::Path;

use engine::supervisor::Supervisor;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::sync::mpsc;

use super::frame::{Frame, Frames, Kind};
use super::order::Numbers;

/// Frames between the loop and the socket, each way: enough to write several at once.
const FRAMES_CAPACITY: usize = 16;

/// Names of our programs: any of them may take over what another one left.
const PROGRAMS: [&str; 2] = ["taskwarden", "taskwarden-desktop"];

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

/// Whether whoever is at the door may be this child's core; `ordered_by` is the program of its first one.
pub(super) fn may_enter(stream: &UnixStream, ordered_by: Option<&Path>) -> bool {
    let Ok(peer) = stream.peer_cred() else { return false };
    if peer.uid() != rustix::process::geteuid().as_raw() {
        return false;
    }
    let Some(pid) = peer.pid() else { return false };
    is_ours(pid, ordered_by)
}

#[cfg(target_os = "linux")]
fn is_ours(pid: i32, ordered_by: Option<&Path>) -> bool {
    let program = |process: &str| std::fs::read_link(format!("/proc/{process}/exe")).ok();
    match (program("self"), program(&pid.to_string())) {
        (Some(own), Some(other)) => same_family(&own, &other, ordered_by),
        _ => false,
    }
}

// Not run here: elsewhere the user is all that is known.
#[cfg(not(target_os = "linux"))]
fn is_ours(_pid: i32, _ordered_by: Option<&Path>) -> bool {
    true
}

/// A program of ours is the one that ordered this keeper, or lies beside the keeper and has one of our names.
fn same_family(own: &Path, other: &Path, ordered_by: Option<&Path>) -> bool {
    let (own, other) = (replaced(own), replaced(other));
    let named = |name: &OsStr| PROGRAMS.iter().any(|ours| name == *ours);
    own == other
        || ordered_by.map(replaced) == Some(other)
        || (own.parent() == other.parent() && other.file_name().is_some_and(named))
}

/// The path of a program whose file was replaced while it runs, as an update does.
fn replaced(program: &Path) -> &Path {
    program.to_str().and_then(|text| text.strip_suffix(" (deleted)")).map_or(program, Path::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_programs_of_ours_may_take_a_child_over() {
        let own = Path::new("/usr/bin/taskwarden");
        let family = |other: &str| same_family(own, Path::new(other), Some(Path::new("/opt/core (deleted)")));
        assert!(family("/usr/bin/taskwarden"), "the same program");
        assert!(family("/usr/bin/taskwarden (deleted)"), "the same program, before an update");
        assert!(family("/usr/bin/taskwarden-desktop"), "the window beside it");
        assert!(family("/opt/core"), "the program that ordered it");
        assert!(!family("/usr/bin/python3"), "another program beside it");
        assert!(!family("/tmp/taskwarden"), "our name somewhere else");
    }
}
