//! The keeper's child: one task for each of its three pipes, and one for its end.
//!
//! Everything reaches the event loop of `server.rs` through bounded channels. Input and output are independent: a child
//! that does not read can still be read from.

use bytes::Bytes;
use engine::runtime::supervisor::Supervisor;
use process_wrap::tokio::ChildWrapper;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::process::group::ProcessGroup;
use crate::process::line_reader::{LineReader, OutputLine};
use crate::process::shutdown::{ChildExit, end_child};
use crate::protocol::start_order::KeeperLimits;

/// Pieces of output between the pipe and the buffer: one is being read while one waits for room.
const OUTPUT_CAPACITY: usize = 1;
/// Pieces of standard error on their way; the child waits a moment when it writes faster than they are copied.
const STDERR_CAPACITY: usize = 4;
/// One read of standard error.
const STDERR_PIECE_BYTES: usize = 4_096;

/// Output of the child.
pub(crate) enum ChildOutput {
    /// The very first byte arrived.
    First,
    /// One whole line.
    Line(Vec<u8>),
    /// A stand-in for a line that was too long: a small object with its id, and with `method` when it had one.
    TooLong(Vec<u8>),
}

/// The number of an input line, and why it was not written if it was not.
pub(crate) type WriteOutcome = (u64, Result<(), String>);

/// A running child and its channels.
pub(crate) struct KeptChild {
    pub(crate) pid: u32,
    pub(crate) said: mpsc::Receiver<ChildOutput>,
    pub(crate) stderr: mpsc::Receiver<Vec<u8>>,
    pub(crate) input: mpsc::Sender<(u64, Bytes)>,
    pub(crate) wrote: mpsc::Receiver<WriteOutcome>,
    pub(crate) exit: oneshot::Receiver<ChildExit>,
    /// Cancel it to end the child.
    pub(crate) ending: CancellationToken,
}

impl KeptChild {
    /// Takes over a child that was just started; `None` when it has no pipes.
    pub(crate) fn take(mut child: Box<dyn ChildWrapper>, limits: &KeeperLimits, scope: &Supervisor) -> Option<Self> {
        let pid = child.id()?;
        let group = ProcessGroup::of(pid)?;
        let (stdin, stdout, errors) = (child.stdin().take()?, child.stdout().take()?, child.stderr().take()?);
        let ending = CancellationToken::new();
        let (say, said) = mpsc::channel(OUTPUT_CAPACITY);
        let (complain, stderr) = mpsc::channel(STDERR_CAPACITY);
        let (input, lines) = mpsc::channel(limits.input_messages);
        let (tell, wrote) = mpsc::channel(limits.input_messages);
        let (ended, exit) = oneshot::channel();
        scope.spawn("child output", read_out(LineReader::new(stdout, limits.line_bytes, limits.id_bytes), say));
        scope.spawn("child stderr", read_errors(errors, complain));
        scope.spawn("child input", write_in(stdin, lines, tell, ending.clone()));
        let (stop, pace) = (ending.clone(), limits.pace());
        scope.spawn("child", async move {
            tokio::select! {
                _ = child.wait() => {}
                () = stop.cancelled() => {}
            }
            // Its input is closed now: the writer watches this latch.
            stop.cancel();
            let _ = ended.send(end_child(&mut *child, group, pace).await);
        });
        Some(Self { pid, said, stderr, input, wrote, exit, ending })
    }
}

async fn read_out(mut lines: LineReader<impl AsyncRead + Unpin>, say: mpsc::Sender<ChildOutput>) {
    if lines.first().await && say.send(ChildOutput::First).await.is_err() {
        return;
    }
    while let Some(line) = lines.next().await {
        let said = match line {
            OutputLine::Whole(line) => ChildOutput::Line(line.to_vec()),
            OutputLine::TooLong(skim) => ChildOutput::TooLong(skim.stub()),
        };
        if say.send(said).await.is_err() {
            return;
        }
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

async fn write_in(
    stdin: impl AsyncWrite + Unpin,
    mut lines: mpsc::Receiver<(u64, Bytes)>,
    tell: mpsc::Sender<WriteOutcome>,
    ending: CancellationToken,
) {
    let mut stdin = Some(stdin);
    let mut broken = String::from("it is being ended");
    loop {
        let line = tokio::select! {
            biased;
            line = lines.recv() => line,
            () = ending.cancelled(), if stdin.is_some() => {
                // Closes its input; its output is still read.
                stdin = None;
                continue;
            }
        };
        let Some((number, line)) = line else { return };
        let done = match &mut stdin {
            None => Err(broken.clone()),
            Some(open) => {
                let writing = async {
                    open.write_all(&line).await?;
                    open.write_all(b"\n").await?;
                    open.flush().await
                };
                tokio::select! {
                    biased;
                    done = writing => done.map_err(|error| error.to_string()),
                    () = ending.cancelled() => Err(broken.clone()),
                }
            }
        };
        if let Err(why) = &done {
            broken.clone_from(why);
            stdin = None;
        }
        if tell.send((number, done)).await.is_err() {
            return;
        }
    }
}
