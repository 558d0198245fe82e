//! The keeper's child: its pipes, a task that reads standard error, and one for its end.
//!
//! Output and input are read and written by the relay (`relay.rs`), without a task in between.

use engine::runtime::supervisor::Supervisor;
use process_wrap::tokio::ChildWrapper;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::ChildStdout;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::child_input::ChildInput;
use crate::process::group::ProcessGroup;
use crate::process::line_reader::LineReader;
use crate::process::shutdown::{ChildExit, end_child, exited};
use crate::protocol::start_order::KeeperLimits;

/// Pieces of standard error on their way; the child waits a moment when it writes faster than they are copied.
const STDERR_CAPACITY: usize = 4;
/// One read of standard error.
const STDERR_PIECE_BYTES: usize = 4_096;

/// A running child.
pub(crate) struct KeptChild {
    pub(crate) pid: u32,
    pub(crate) group: ProcessGroup,
    pub(crate) stderr: mpsc::Receiver<Vec<u8>>,
    pub(crate) exit: oneshot::Receiver<ChildExit>,
    /// Cancel it to end the child. Cancelled by itself when the child has ended.
    pub(crate) ending: CancellationToken,
}

/// Lines to and from a child.
pub(crate) struct ChildPipes {
    pub(crate) lines: LineReader<ChildStdout>,
    pub(crate) input: ChildInput,
}

impl KeptChild {
    /// Takes over a child that was just started; `None` when it has no pipes.
    pub(crate) fn take(
        mut child: Box<dyn ChildWrapper>,
        limits: &KeeperLimits,
        scope: &Supervisor,
    ) -> Option<(Self, ChildPipes)> {
        let pid = child.id()?;
        let group = ProcessGroup::of(pid)?.of_keeper();
        let (stdin, stdout, errors) = (child.stdin().take()?, child.stdout().take()?, child.stderr().take()?);
        let ending = CancellationToken::new();
        let (complain, stderr) = mpsc::channel(STDERR_CAPACITY);
        let (ended, exit) = oneshot::channel();
        scope.spawn("child stderr", read_errors(errors, complain));
        let (stop, pace) = (ending.clone(), limits.pace());
        scope.spawn("child", async move {
            tokio::select! {
                _ = exited(&mut *child) => {}
                () = stop.cancelled() => {}
            }
            // Its input is closed now: the event loop watches this latch.
            stop.cancel();
            let _ = ended.send(end_child(&mut *child, group, pace).await);
        });
        let lines = LineReader::new(stdout, limits.line_bytes, limits.id_bytes);
        let pipes = ChildPipes { lines, input: ChildInput::new(stdin, limits.input_messages) };
        Some((Self { pid, group, stderr, exit, ending }, pipes))
    }
}

async fn read_errors(mut from: impl AsyncRead + Unpin, complain: mpsc::Sender<Vec<u8>>) {
    let mut piece = vec![0_u8; STDERR_PIECE_BYTES];
    while let Ok(read) = from.read(&mut piece).await
        && read > 0
    {
        let read = piece.get(..read).unwrap_or_default().to_vec();
        if complain.send(read).await.is_err() {
            return;
        }
    }
}
