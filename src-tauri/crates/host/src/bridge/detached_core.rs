//! Starts a detached core: not a child of the bridge, in a session of its own, without a terminal (decision 0024).
//!
//! Some clients end every descendant of their MCP servers when they exit, and a core with the tasks of all agents must
//! not be one. The bridge starts a starter, the starter starts the core, and ends as soon as the core has read which
//! processes started it: `socket/process_ancestry.rs` needs them to recognise persons. A failed start prints its reason
//! to standard error, which the bridge reads until the core runs.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::process::{Command, Stdio};

use crate::os::own_program::own_program;
use crate::socket::Starters;

/// Runs in the starter: returns when the core has detached.
///
/// # Errors
/// When it cannot be started, or ends at once; its reason is on standard error already.
pub(crate) fn start_core() -> io::Result<()> {
    let mut command = Command::new(own_program()?);
    command.args(["serve", "--background", "--detached"]).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut core = command.spawn()?;
    let mut read = [0; 1];
    let has_read = core.stdout.take().is_some_and(|mut word| word.read_exact(&mut read).is_ok());
    if has_read {
        return Ok(());
    }
    let status = core.wait()?;
    Err(io::Error::other(format!("the core ended at once ({status})")))
}

/// Runs in the core: leaves the session, reads what started it, and then lets the starter end.
pub(crate) fn detach() -> Starters {
    #[cfg(unix)]
    let _ = rustix::process::setsid();
    let starters = Starters::read();
    // The starter may have ended already.
    let mut out = io::stdout();
    let _ = out.write_all(b"\n").and_then(|()| out.flush());
    redirect_to_null(StandardStream::Out);
    starters
}

/// Runs in the core once it has started: closes standard error to the bridge. From now on there is the log.
pub(crate) fn close_stderr() {
    redirect_to_null(StandardStream::Error);
}

#[derive(Clone, Copy)]
enum StandardStream {
    Out,
    Error,
}

#[cfg(unix)]
fn redirect_to_null(stream: StandardStream) {
    let replaced = File::options().read(true).write(true).open("/dev/null").and_then(|nowhere| {
        match stream {
            StandardStream::Out => rustix::stdio::dup2_stdout(nowhere)?,
            StandardStream::Error => rustix::stdio::dup2_stderr(nowhere)?,
        }
        Ok(())
    });
    if let Err(error) = replaced {
        tracing::warn!(%error, "a standard stream of the core could not be closed to the bridge that started it");
    }
}

// Not run here: the streams stay with whoever started the core.
#[cfg(not(unix))]
fn redirect_to_null(_stream: StandardStream) {}
