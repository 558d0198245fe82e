//! A server that is a child process and speaks over its standard input and output.
//!
//! Four tasks live for each child: a reader of lines, a writer, a reader of standard error, and the keeper, who ends
//! the child with everything it started. They hold no link, so that dropping the link ends them. The era probe with
//! its one respawn (protocol.md §3.2) is in `handshake.rs`. It does not restart a child that ended. Where a keeper holds
//! the child (ruling 16), `kept.rs` does all of this over the keeper's socket; `keep.rs` is the keeper.

mod ending;
mod group;
mod handshake;
mod keep;
mod keeper;
mod kept;
mod leftover;
mod lines;
mod spawn;
mod stderr;

#[cfg(test)]
mod tests;

use std::sync::{Arc, Weak};

use futures::StreamExt;
use futures::stream::BoxStream;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::duplex::{Duplex, OUTBOX_CAPACITY, Parcel, Wire};
use super::inbound::Over;
use super::{OpenContext, OpenError, inbound};
use crate::link::{Inbound, LinkError};
use group::Group;
use keeper::{Complaint, Keeper, Latches};
use kept::{Belongs, NotKept};
use leftover::Record;
use lines::{Line, Lines};
use stderr::StderrTail;

pub(crate) use handshake::open;
pub use keep::{KeepError, keep};
pub use kept::place::{end_unkept, keepers};
pub use kept::{KeeperKey, KeeperProgram};
pub use leftover::{Ended, end_leftovers};
pub(crate) use spawn::Launch;

/// A child that runs, before the handshake.
struct Started {
    link: Arc<Duplex>,
    inbound: BoxStream<'static, Inbound>,
    heard: CancellationToken,
    pid: u32,
    /// Where word can be left for the next core, when a keeper holds the child.
    kept: Option<Arc<kept::Kept>>,
}

struct Pipes {
    ending: CancellationToken,
    stderr: StderrTail,
}

impl Wire for Pipes {
    fn stderr_tail(&self) -> String {
        self.stderr.text()
    }

    fn begin_end(&self) {
        self.ending.cancel();
    }

    fn name(&self) -> &'static str {
        "stdio"
    }
}

/// Starts the child behind a keeper where there is one, else here.
async fn start(launch: &Launch, belongs: Option<&Belongs<'_>>, ctx: &OpenContext) -> Result<Started, OpenError> {
    if let Some(belongs) = belongs {
        match kept::start(launch, belongs, ctx).await {
            Ok(started) => return Ok(started),
            Err(NotKept::Child(error)) => return Err(error),
            Err(NotKept::Keeper(why)) => {
                tracing::warn!(child.name = %launch.command, why, "no keeper can hold this child: it ends with the core");
            }
        }
    }
    start_here(launch, ctx)
}

/// Starts the child and everything around it in this process.
fn start_here(launch: &Launch, ctx: &OpenContext) -> Result<Started, OpenError> {
    let mut child = launch.spawn()?;
    let pid = child.id();
    let (stdin, stdout, errors) = (child.stdin().take(), child.stdout().take(), child.stderr().take());
    let (Some(pid), Some(stdin), Some(stdout), Some(errors)) = (pid, stdin, stdout, errors) else {
        return Err(without_pipes(launch));
    };
    let Some(group) = Group::of(pid) else { return Err(without_pipes(launch)) };
    let policy = &ctx.policy;
    tracing::debug!(child.name = %launch.command, child.pid = pid, "started a child process");

    let (latches, complaint, over) = (Latches::default(), Complaint::default(), Arc::new(Over::default()));
    let stderr = StderrTail::new(policy.stderr_kept_bytes, launch.secret_env.values().cloned().collect());
    let (sink, inbound) = inbound::channel(policy, &over);
    let (out, parcels) = mpsc::channel(OUTBOX_CAPACITY);
    let wire = Box::new(Pipes { ending: latches.ending.clone(), stderr: stderr.clone() });
    let link = Arc::new(Duplex::new(wire, out, (sink, over.clone()), policy.clone()));

    let lines = Lines::new(stdout, policy.message_cap_bytes, policy.rpc_id_cap_bytes);
    let scope = &ctx.supervisor;
    scope.spawn_draining("stdio reader", read_in(lines, Arc::downgrade(&link), latches.clone(), complaint.clone()));
    scope.spawn_draining("stdio writer", write_out(stdin, parcels, latches.ending.clone()));
    scope.spawn_draining("stdio stderr", drain(stderr.clone(), errors, latches.clone(), over.clone()));
    let heard = latches.heard.clone();
    let keeper = Keeper {
        child,
        group,
        record: Record::write(&ctx.children_dir, pid, &launch.command),
        name: launch.command.clone(),
        latches,
        complaint,
        stderr,
        over,
        board: link.board.clone(),
        policy: policy.clone(),
        stopping: scope.stopping(),
    };
    scope.spawn_draining("stdio keeper", keeper.keep());
    Ok(Started { link, inbound: inbound.boxed(), heard, pid, kept: None })
}

fn without_pipes(launch: &Launch) -> OpenError {
    OpenError::Unreachable {
        why: format!("`{}` was started without pipes", launch.command),
        hint: "Taskwarden tries again; if it stays so, the system is out of file handles.".into(),
    }
}

async fn read_in(mut lines: Lines<impl AsyncRead + Unpin>, link: Weak<Duplex>, latches: Latches, complaint: Complaint) {
    let reading = async {
        if lines.first().await {
            latches.heard.cancel();
        }
        while let Some(line) = lines.next().await {
            let Some(link) = link.upgrade() else { return };
            match line {
                Line::Whole(line) => {
                    if link.accept(line).await.is_err() {
                        *complaint.lock() = Some("it sends more than is taken from it".into());
                        return;
                    }
                }
                Line::TooLong(skim) => link.accept_oversized(&skim),
            }
        }
    };
    tokio::select! {
        () = reading => {}
        () = latches.read_out.cancelled() => {}
    }
    latches.read_out.cancel();
}

async fn write_out(mut stdin: impl AsyncWrite + Unpin, mut parcels: mpsc::Receiver<Parcel>, ending: CancellationToken) {
    loop {
        // What is queued goes out before the end is looked at, unless the child does not read it.
        let parcel = tokio::select! {
            biased;
            parcel = parcels.recv() => parcel,
            () = ending.cancelled() => None,
        };
        let Some(Parcel { mut bytes, written }) = parcel else { return };
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
                hint: "Taskwarden starts it again; look at its standard error for the cause.".into(),
                sent: true,
            }));
        }
        if failed {
            return;
        }
    }
}

/// Reads standard error until it ends, or the link is over (a process that left the group may hold it open).
async fn drain(stderr: StderrTail, from: impl AsyncRead + Unpin, latches: Latches, over: Arc<Over>) {
    tokio::select! {
        () = stderr.fill(from) => {}
        () = over.wait() => {}
    }
    latches.complained.cancel();
}
