//! What a core tells a keeper at its start, and what the keeper says about itself.
//!
//! The order goes through a pipe and never over a command line, because it holds secrets. What the keeper leaves on
//! disk names processes and the program, no arguments and no values.

use std::collections::BTreeMap;
use std::time::Duration;

use domain::policy::Policy;
use domain::ports::Secret;
use serde::{Deserialize, Serialize};

use super::proof::DoorSecret;
use crate::transport::stdio::ending::Pace;
use crate::transport::stdio::spawn::Launch;

/// What to start, and the numbers to go by. It holds secrets: no `Debug`.
#[derive(Serialize, Deserialize)]
pub(in crate::transport::stdio) struct Order {
    command: String,
    args: Vec<String>,
    env: BTreeMap<String, String>,
    secret_env: BTreeMap<String, String>,
    cwd: Option<String>,
    pub(in crate::transport::stdio) numbers: Numbers,
    /// What a core must know to be let in; hexadecimal.
    pub(in crate::transport::stdio) secret: String,
    /// From which a later core makes the secret again; it is no secret itself.
    pub(in crate::transport::stdio) nonce: String,
}

/// The numbers of one keeper.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(in crate::transport::stdio) struct Numbers {
    pub(in crate::transport::stdio) line_bytes: usize,
    pub(in crate::transport::stdio) id_bytes: usize,
    pub(in crate::transport::stdio) kept_bytes: usize,
    pub(in crate::transport::stdio) input_messages: usize,
    pub(in crate::transport::stdio) notes: usize,
    pub(in crate::transport::stdio) stderr_bytes: usize,
    alone_ms: u64,
    close_wait_ms: u64,
    term_wait_ms: u64,
    look_ms: u64,
    proof_ms: u64,
}

/// A note is an id, a ticket and a tag.
pub(in crate::transport::stdio) const NOTE_BYTES: usize = 256;

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

impl Numbers {
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
        }
    }

    /// How long the child may be without a core.
    pub(in crate::transport::stdio) const fn alone_limit(&self) -> Duration {
        Duration::from_millis(self.alone_ms)
    }

    /// How long a core may take to prove itself.
    pub(in crate::transport::stdio) const fn proof_limit(&self) -> Duration {
        Duration::from_millis(self.proof_ms)
    }

    /// The pace of its end.
    pub(in crate::transport::stdio) const fn pace(&self) -> Pace {
        Pace {
            close_wait: Duration::from_millis(self.close_wait_ms),
            term_wait: Duration::from_millis(self.term_wait_ms),
            look: Duration::from_millis(self.look_ms),
        }
    }

    /// The longest body of a frame: a line, or a greeting that holds all notes, the state and standard error.
    pub(in crate::transport::stdio) const fn frame_bytes(&self) -> usize {
        4 * self.line_bytes + self.notes * 2 * NOTE_BYTES + 8 * self.stderr_bytes
    }
}

impl Order {
    /// The order to start this, for a keeper with this secret.
    pub(in crate::transport::stdio) fn of(launch: &Launch, policy: &Policy, secret: &DoorSecret, nonce: &str) -> Self {
        let secrets = launch.secret_env.iter().map(|(name, secret)| (name.clone(), secret.reveal().to_owned()));
        Self {
            command: launch.command.clone(),
            args: launch.args.clone(),
            env: launch.env.clone(),
            secret_env: secrets.collect(),
            cwd: launch.cwd.clone(),
            numbers: Numbers::of(policy),
            secret: secret.text(),
            nonce: nonce.to_owned(),
        }
    }

    /// The longest body of a frame under this policy.
    pub(in crate::transport::stdio) fn frame_bytes(policy: &Policy) -> usize {
        Numbers::of(policy).frame_bytes()
    }

    /// What it orders to start.
    pub(in crate::transport::stdio) fn launch(self) -> Launch {
        let secrets = self.secret_env.into_iter().map(|(name, value)| (name, Secret::new(value)));
        Launch { command: self.command, args: self.args, env: self.env, secret_env: secrets.collect(), cwd: self.cwd }
    }
}

/// The one line that a keeper prints.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::transport::stdio) enum Report {
    /// The child runs and the socket is open.
    Running,
    /// The child cannot be started; a reason and a hint for people.
    NotStarted { why: String, hint: String },
    /// The keeper itself cannot work here; a reason for the log.
    Unable { why: String },
}

/// How things stand when a core comes.
#[derive(Serialize, Deserialize)]
pub(in crate::transport::stdio) struct Hello {
    /// Which core of this child it is, from 1.
    pub(in crate::transport::stdio) visit: u64,
    /// That the keeper knows the secret, too; hexadecimal.
    pub(in crate::transport::stdio) proof: String,
    /// The child's process, which leads its group.
    pub(in crate::transport::stdio) pid: u32,
    /// Whether the child has said anything.
    pub(in crate::transport::stdio) heard: bool,
    /// What an earlier core left for this one.
    pub(in crate::transport::stdio) state: Option<String>,
    /// Notes by the id of their request.
    pub(in crate::transport::stdio) notes: Vec<(u64, String)>,
    /// The end of standard error.
    pub(in crate::transport::stdio) stderr: String,
}
