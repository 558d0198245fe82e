//! The child of a keeper: its three pipes, each with a task of its own, and its end.
//!
//! Everything goes through bounded channels to the one loop of `keep.rs`, which decides. A child that reads nothing
//! never stops what it says from being heard.

use bytes::Bytes;
use engine::runtime::supervisor::Supervisor;
use process_wrap::tokio::ChildWrapper;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::order::Numbers;
use crate::transport::stdio::ending::{Exit, end_child};
use crate::transport::stdio::group::Group;
use crate::transport::stdio::lines::{Line, Lines};

/// Pieces of output between the pipe and the shelf: one is being read while one waits for room.
const OUTPUT_CAPACITY: usize = 1;
/// Pieces of standard error on their way; the child waits a moment when it writes faster than they are copied.
const STDERR_CAPACITY: usize = 4;
/// One read of standard error.
const STDERR_PIECE_BYTES: usize = 4_096;

/// Something the child said.
pub(super) enum Said {
    /// The first byte of all.
    First,
    /// A line.
    Line(Vec<u8>),
    /// What matters of a line that was too long: a small object with its id, and with `method` when it had one.
    TooLong(Vec<u8>),
}

/// A line for the child was written, or why not.
pub(super) type Wrote = (u64, Result<(), String>);

/// A running child.
pub(super) struct Child {
    pub(super) pid: u32,
    pub(super) said: mpsc::Receiver<Said>,
    pub(super) stderr: mpsc::Receiver<Vec<u8>>,
    pub(super) input: mpsc::Sender<(u64, Bytes)>,
    pub(super) wrote: mpsc::Receiver<Wrote>,
    pub(super) exit: oneshot::Receiver<Exit>,
    /// Ends it.
    pub(super) ending: CancellationToken,
}

impl Child {
    /// Takes over a child that was just started; `None` when it has no pipes.
    pub(super) fn take(mut child: Box<dyn ChildWrapper>, numbers: &Numbers, scope: &Supervisor) -> Option<Self> {
        let pid = child.id()?;
        let group = Group::of(pid)?;
        let (stdin, stdout, errors) = (child.stdin().take()?, child.stdout().take()?, child.stderr().take()?);
        let ending = CancellationToken::new();
        let (say, said) = mpsc::channel(OUTPUT_CAPACITY);
        let (complain, stderr) = mpsc::channel(STDERR_CAPACITY);
        let (input, lines) = mpsc::channel(numbers.input_messages);
        let (tell, wrote) = mpsc::channel(numbers.input_messages);
        let (ended, exit) = oneshot::channel();
        scope.spawn("child output", read_out(Lines::new(stdout, numbers.line_bytes, numbers.id_bytes), say));
        scope.spawn("child stderr", read_errors(errors, complain));
        scope.spawn("child input", write_in(stdin, lines, tell, ending.clone()));
        let (stop, pace) = (ending.clone(), numbers.pace());
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

async fn read_out(mut lines: Lines<impl AsyncRead + Unpin>, say: mpsc::Sender<Said>) {
    if lines.first().await && say.send(Said::First).await.is_err() {
        return;
    }
    while let Some(line) = lines.next().await {
        let said = match line {
            Line::Whole(line) => Said::Line(line.to_vec()),
            Line::TooLong(skim) => Said::TooLong(skim.stub()),
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
    tell: mpsc::Sender<Wrote>,
    ending: CancellationToken,
) {
    let mut stdin = Some(stdin);
    let mut broken = String::from("it is being ended");
    loop {
        let line = tokio::select! {
            biased;
            line = lines.recv() => line,
            () = ending.cancelled(), if stdin.is_some() => {
                // What it reads ends here; what it writes is still heard.
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
