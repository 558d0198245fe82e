//! A server that is a child process and speaks over its standard input and output.
//!
//! A child of this process has four tasks: a reader of lines, a writer, a reader of standard error, and
//! `child_supervisor.rs`, which ends it. None of them holds the link, so dropping the link ends the child. A child with
//! a keeper is `kept_child.rs`; the handshake, with its one respawn (protocol.md §3.2), is `handshake.rs`.

mod child_supervisor;
mod handshake;
mod kept_child;
mod log_lines;
mod stderr;

#[cfg(test)]
mod tests;

use std::sync::{Arc, Weak};

use domain::ports::{FreezeReading, PortFuture};
use futures::StreamExt;
use futures::stream::BoxStream;
use keeper::{ChildRecord, KeeperStartError, Launch, LineReader, OutputLine, ProcessGroup};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{OpenContext, OpenError};
use crate::upstream::transport::inbound_queue;
use crate::upstream::transport::inbound_queue::LinkEnd;
use crate::upstream::transport::line_connection::{LineConnection, LineTransport, OUTBOX_CAPACITY, OutgoingLine};
use crate::upstream::transport::link::{InboundMessage, LinkError, SEE_SERVER_LOG};
use child_supervisor::{ChildSupervisor, Complaint, Latches};
use kept_child::{Belongs, Kept};
use stderr::StderrTail;

pub(crate) use handshake::open;

/// A child that runs, before the handshake.
struct StartedChild {
    link: Arc<LineConnection>,
    inbound: BoxStream<'static, InboundMessage>,
    heard: CancellationToken,
    pid: u32,
    /// Where word can be left for the next core, when a keeper holds the child.
    kept: Option<Arc<Kept>>,
}

struct Pipes {
    group: ProcessGroup,
    ending: CancellationToken,
    stderr: StderrTail,
}

impl LineTransport for Pipes {
    fn stderr_tail(&self) -> String {
        self.stderr.text()
    }

    fn begin_end(&self) {
        self.ending.cancel();
    }

    fn can_freeze(&self) -> bool {
        true
    }

    fn freeze(&self, is_frozen: bool) -> PortFuture<'_, Option<FreezeReading>> {
        // Once the child has ended, its number may be another's; while it is being ended, what is stopped is continued.
        let reading = (!self.ending.is_cancelled()).then(|| self.group.freeze(is_frozen));
        Box::pin(std::future::ready(reading))
    }

    fn name(&self) -> &'static str {
        "stdio"
    }
}

/// Starts the child behind a keeper where there is one, else here.
async fn start(launch: &Launch, belongs: Option<&Belongs<'_>>, ctx: &OpenContext) -> Result<StartedChild, OpenError> {
    if let Some(belongs) = belongs {
        match kept_child::start(launch, belongs, ctx).await {
            Ok(started) => return Ok(started),
            Err(KeeperStartError::Child(error)) => return Err(error.into()),
            Err(KeeperStartError::Keeper(why)) => {
                tracing::warn!(child.name = %launch.command, why, "no keeper can hold this child: it ends with the core");
            }
        }
    }
    start_here(launch, ctx)
}

/// Starts the child and everything around it in this process.
fn start_here(launch: &Launch, ctx: &OpenContext) -> Result<StartedChild, OpenError> {
    let mut child = launch.spawn()?;
    let pid = child.id();
    let (stdin, stdout, errors) = (child.stdin().take(), child.stdout().take(), child.stderr().take());
    let (Some(pid), Some(stdin), Some(stdout), Some(errors)) = (pid, stdin, stdout, errors) else {
        return Err(without_pipes(launch));
    };
    let Some(group) = ProcessGroup::of(pid) else { return Err(without_pipes(launch)) };
    let policy = &ctx.policy;
    tracing::debug!(child.name = %launch.command, child.pid = pid, "started a child process");

    let (latches, complaint, over) = (Latches::default(), Complaint::default(), Arc::new(LinkEnd::default()));
    let stderr = StderrTail::new(policy, launch.secret_env.values().cloned().collect(), ctx.process.clone());
    stderr.started(pid);
    let (sink, inbound) = inbound_queue::channel(policy, &over);
    let (out, outgoing) = mpsc::channel(OUTBOX_CAPACITY);
    let wire = Box::new(Pipes { group, ending: latches.ending.clone(), stderr: stderr.clone() });
    let link = Arc::new(LineConnection::new(wire, out, sink, policy.clone()));

    let lines = LineReader::new(stdout, policy.message_cap_bytes, policy.rpc_id_cap_bytes);
    let scope = &ctx.supervisor;
    scope.spawn_draining("stdio reader", read_in(lines, Arc::downgrade(&link), latches.clone(), complaint.clone()));
    scope.spawn_draining("stdio writer", write_out(stdin, outgoing, latches.ending.clone()));
    scope.spawn_draining("stdio stderr", drain(stderr.clone(), errors, latches.clone(), over.clone()));
    let heard = latches.heard.clone();
    let supervised = ChildSupervisor {
        child,
        group,
        record: ChildRecord::write(&ctx.children_dir, pid, &launch.command),
        name: launch.command.clone(),
        latches,
        complaint,
        stderr,
        over,
        pending: link.pending.clone(),
        policy: policy.clone(),
        stopping: scope.stopping(),
    };
    scope.spawn_draining("stdio keeper", supervised.run());
    Ok(StartedChild { link, inbound: inbound.boxed(), heard, pid, kept: None })
}

fn without_pipes(launch: &Launch) -> OpenError {
    OpenError::Unreachable {
        why: format!("`{}` was started without pipes", launch.command),
        hint: "Taskwarden tries again. If this continues, the system has no file descriptors left.".into(),
    }
}

async fn read_in(
    mut lines: LineReader<impl AsyncRead + Unpin>,
    link: Weak<LineConnection>,
    latches: Latches,
    complaint: Complaint,
) {
    let reading = async {
        if lines.first().await {
            latches.heard.cancel();
        }
        while let Some(line) = lines.next().await {
            let Some(link) = link.upgrade() else { return };
            match line {
                OutputLine::Whole(line) => {
                    if link.accept(&line).await.is_err() {
                        *complaint.lock() = Some("it sends more than is taken from it".into());
                        return;
                    }
                }
                OutputLine::TooLong(skim) => {
                    link.accept_oversized(&skim);
                }
            }
        }
    };
    tokio::select! {
        () = reading => {}
        () = latches.read_out.cancelled() => {}
    }
    latches.read_out.cancel();
}

async fn write_out(
    mut stdin: impl AsyncWrite + Unpin,
    mut outgoing: mpsc::Receiver<OutgoingLine>,
    ending: CancellationToken,
) {
    loop {
        // What is queued goes out before the end is looked at, unless the child does not read it.
        let line = tokio::select! {
            biased;
            line = outgoing.recv() => line,
            () = ending.cancelled() => None,
        };
        let Some(line) = line else { return };
        let Some(OutgoingLine { mut bytes, written, .. }) = line.permitted() else { continue };
        bytes.push(b'\n');
        let writing = async {
            stdin.write_all(&bytes).await?;
            stdin.flush().await
        };
        let done = tokio::select! {
            biased;
            done = writing => done.map_err(|error| error.to_string()),
            () = ending.cancelled() => Err("it is being ended".into()),
        };
        let failed = done.is_err();
        if let Some(written) = written {
            let _ = written.send(done.map_err(|why| LinkError::Broken {
                why: format!("the server does not take messages: {why}"),
                hint: SEE_SERVER_LOG.into(),
                sent: true,
            }));
        }
        if failed {
            return;
        }
    }
}

/// Reads standard error until it or the link ends (a process that left the group may hold it open).
async fn drain(stderr: StderrTail, from: impl AsyncRead + Unpin, latches: Latches, over: Arc<LinkEnd>) {
    tokio::select! {
        () = stderr.fill(from) => {}
        () = over.wait() => {}
    }
    latches.complained.cancel();
}
