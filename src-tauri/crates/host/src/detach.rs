//! Starts a core that belongs to nobody: no child of the bridge, in a session of its own, at no terminal (decision 0024).
//!
//! Some clients end every descendant of their MCP servers when they exit, and a core with the tasks of all agents must
//! not be one. The bridge starts a starter, the starter starts the core, and ends as soon as the core has read which
//! processes started it: `socket/ancestry.rs` needs them to know persons. How a start failed goes to standard error,
//! which the bridge reads until the core runs.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::process::{Command, Stdio};

use crate::socket::Starters;

/// The starter: returns when the core stands on its own.
///
/// # Errors
/// When it cannot be started, or ends at once; what it says about that is on standard error already.
pub(crate) fn start_core() -> io::Result<()> {
    let mut command = Command::new(std::env::current_exe()?);
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

/// The core: leaves the session, and lets the starter go once it has read what started it.
pub(crate) fn leave() -> Starters {
    #[cfg(unix)]
    let _ = rustix::process::setsid();
    let starters = Starters::read();
    // A starter that was ended meanwhile needs no word.
    let mut out = io::stdout();
    let _ = out.write_all(b"\n").and_then(|()| out.flush());
    to_nowhere(Stream::Out);
    starters
}

/// The core runs: whoever started it hears nothing more. What happens from now on is in the log.
pub(crate) fn is_started() {
    to_nowhere(Stream::Error);
}

#[derive(Clone, Copy)]
enum Stream {
    Out,
    Error,
}

#[cfg(unix)]
fn to_nowhere(stream: Stream) {
    let replaced = File::options().read(true).write(true).open("/dev/null").and_then(|nowhere| {
        match stream {
            Stream::Out => rustix::stdio::dup2_stdout(nowhere)?,
            Stream::Error => rustix::stdio::dup2_stderr(nowhere)?,
        }
        Ok(())
    });
    if let Err(error) = replaced {
        tracing::warn!(%error, "a standard stream of the core could not be closed to the bridge that started it");
    }
}

// Not run here: the streams stay with whoever started the core.
#[cfg(not(unix))]
fn to_nowhere(_stream: Stream) {}
