//! The first messages: a core's order to a new keeper, the keeper's report, and its greeting to each core.
//!
//! The order goes through a pipe and never over a command line, because it holds secrets.

use std::collections::BTreeMap;
use std::time::Duration;

use domain::policy::Policy;
use domain::ports::{FreezeReading, Secret};
use serde::{Deserialize, Serialize};

use crate::process::launch::Launch;
use crate::process::shutdown::ShutdownTimes;
use crate::protocol::authentication::KeeperSecret;

/// What to start, with which limits. It holds secrets: no `Debug`.
#[derive(Serialize, Deserialize)]
pub(crate) struct StartOrder {
    command: String,
    args: Vec<String>,
    env: BTreeMap<String, String>,
    secret_env: BTreeMap<String, String>,
    cwd: Option<String>,
    pub(crate) numbers: KeeperLimits,
    /// The keeper's secret, in hexadecimal.
    pub(crate) secret: String,
    /// The input from which a later core derives the secret; not secret itself.
    pub(crate) nonce: String,
}

/// Limits and waiting times of one keeper.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct KeeperLimits {
    pub(crate) line_bytes: usize,
    pub(crate) id_bytes: usize,
    pub(crate) kept_bytes: usize,
    pub(crate) input_messages: usize,
    pub(crate) notes: usize,
    pub(crate) stderr_bytes: usize,
    alone_ms: u64,
    close_wait_ms: u64,
    term_wait_ms: u64,
    look_ms: u64,
    proof_ms: u64,
    /// Absent in the order of an older core, which expects each line to be confirmed by itself.
    #[serde(default)]
    confirm_ms: u64,
}

/// The version of the frames that this program speaks. A keeper may be older than the core that connects to it: it
/// lives through an upgrade. 2 added [`FrameKind::Request`](super::frame::FrameKind::Request), 3
/// [`FrameKind::Freeze`](super::frame::FrameKind::Freeze).
pub(crate) const FRAMES_VERSION: u32 = 3;

/// Longest note: an id, a ticket and a tag.
pub(crate) const NOTE_BYTES: usize = 256;

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

impl KeeperLimits {
    fn of(policy: &Policy) -> Self {
        Self {
            line_bytes: policy.message_cap_bytes,
            id_bytes: policy.rpc_id_cap_bytes,
            kept_bytes: policy.keeping.kept_bytes,
            input_messages: policy.keeping.input_messages,
            notes: policy.discovered_max,
            stderr_bytes: policy.stderr_kept_bytes,
            alone_ms: millis(policy.keeping.alone_limit),
            close_wait_ms: millis(policy.child_close_wait),
            term_wait_ms: millis(policy.child_term_wait),
            look_ms: millis(policy.child_group_look),
            proof_ms: millis(policy.keeping.proof_limit),
            confirm_ms: millis(policy.keeping.confirm_wait),
        }
    }

    /// How long the child may run without a core.
    pub(crate) const fn alone_limit(&self) -> Duration {
        Duration::from_millis(self.alone_ms)
    }

    /// How long authentication may take.
    pub(crate) const fn proof_limit(&self) -> Duration {
        Duration::from_millis(self.proof_ms)
    }

    /// How long the confirmation of a request's line waits for company.
    pub(crate) const fn confirm_wait(&self) -> Duration {
        Duration::from_millis(self.confirm_ms)
    }

    /// How long each step of the child's shutdown may take.
    pub(crate) const fn pace(&self) -> ShutdownTimes {
        ShutdownTimes {
            close_wait: Duration::from_millis(self.close_wait_ms),
            term_wait: Duration::from_millis(self.term_wait_ms),
            look: Duration::from_millis(self.look_ms),
        }
    }

    /// The longest body of a frame: a line, or a greeting that holds all notes, the state and standard error.
    pub(crate) const fn frame_bytes(&self) -> usize {
        4 * self.line_bytes + self.notes * 2 * NOTE_BYTES + 8 * self.stderr_bytes
    }
}

impl StartOrder {
    /// The order to start `launch`, for a keeper with this secret.
    pub(crate) fn of(launch: &Launch, policy: &Policy, secret: &KeeperSecret, nonce: &str) -> Self {
        let secrets = launch.secret_env.iter().map(|(name, secret)| (name.clone(), secret.reveal().to_owned()));
        Self {
            command: launch.command.clone(),
            args: launch.args.clone(),
            env: launch.env.clone(),
            secret_env: secrets.collect(),
            cwd: launch.cwd.clone(),
            numbers: KeeperLimits::of(policy),
            secret: secret.text(),
            nonce: nonce.to_owned(),
        }
    }

    /// The longest body of a frame under this policy.
    pub(crate) fn frame_bytes(policy: &Policy) -> usize {
        KeeperLimits::of(policy).frame_bytes()
    }

    /// The command to start.
    pub(crate) fn launch(self) -> Launch {
        let secrets = self.secret_env.into_iter().map(|(name, value)| (name, Secret::new(value)));
        Launch { command: self.command, args: self.args, env: self.env, secret_env: secrets.collect(), cwd: self.cwd }
    }
}

/// The one line that a keeper writes to its standard output.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum StartReport {
    /// The child runs and the socket is open.
    Running,
    /// The child cannot be started; a reason and a hint for people.
    NotStarted { why: String, hint: String },
    /// The keeper itself cannot run; a reason for the log.
    Unable { why: String },
}

/// What a keeper found of the processes of its child when it stopped them, or let them continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FreezeReport {
    stopped: u32,
    moving: u32,
    foreign: u32,
    /// Keepers of earlier versions do not say it.
    #[serde(default)]
    ran: u32,
}

impl From<FreezeReading> for FreezeReport {
    fn from(reading: FreezeReading) -> Self {
        let FreezeReading { stopped, moving, foreign, ran } = reading;
        Self { stopped, moving, foreign, ran }
    }
}

impl From<FreezeReport> for FreezeReading {
    fn from(report: FreezeReport) -> Self {
        let FreezeReport { stopped, moving, foreign, ran } = report;
        Self { stopped, moving, foreign, ran }
    }
}

/// The greeting to an authenticated core.
#[derive(Serialize, Deserialize)]
pub struct KeeperHello {
    /// Which frames the keeper knows; absent in the greeting of the first version.
    #[serde(default = "first_version")]
    pub frames_version: u32,
    /// How many cores have connected, this one included.
    pub visit: u64,
    /// The keeper's proof that it knows the secret, in hexadecimal.
    pub proof: String,
    /// The child's pid, which is its process group too.
    pub pid: u32,
    /// Whether the child has written any output.
    pub heard: bool,
    /// State that an earlier core left for this one.
    pub state: Option<String>,
    /// Notes by the id of their request.
    pub notes: Vec<(u64, String)>,
    /// The end of standard error.
    pub stderr: String,
}

const fn first_version() -> u32 {
    1
}

impl KeeperHello {
    /// Whether the keeper knows [`FrameKind::Request`](super::frame::FrameKind::Request). One that does not leaves a core
    /// that sends it, and the child with its core.
    #[must_use]
    pub const fn takes_requests(&self) -> bool {
        self.frames_version >= 2
    }

    /// Whether the keeper can stop the processes of its child.
    #[must_use]
    pub const fn freezes(&self) -> bool {
        self.frames_version >= 3
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_keeper_of_the_first_version_gets_no_frames_it_does_not_know() {
        let first = r#"{"visit":1,"proof":"","pid":1,"heard":false,"state":null,"notes":[],"stderr":""}"#;
        let mut hello: KeeperHello = serde_json::from_str(first).expect("readable");
        assert!(!hello.takes_requests() && !hello.freezes(), "it says no version");
        hello.frames_version = FRAMES_VERSION;
        let again: KeeperHello = serde_json::from_slice(&serde_json::to_vec(&hello).expect("text")).expect("readable");
        assert!(again.takes_requests() && again.freezes(), "this one does");
    }
}
