//! What a link runs over, and how one is opened.
//!
//! [`open`] starts a child or contacts a URL, finds out which era the server speaks (`probe.rs`), and does the
//! handshake. It reads nothing else: tools, tasks and questions are for the files above. It never reconnects.

mod http;
mod inbound_queue;
mod line_connection;
mod line_transport;
pub mod link;
mod pending_requests;
pub(crate) mod request_params;
mod secret_values;
mod stdio;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use domain::policy::Policy;
use domain::ports::{Abilities, ConnectionSpec, ProcessListener, Secret};
use domain::server::Era;
use engine::runtime::supervisor::Supervisor;
use keeper::{KeeperProgram, Launch, LaunchError};

use crate::oauth::ServerToken;
use crate::upstream::transport::link::{OpenedLink, RequestTag};

pub(crate) use secret_values::SecretValues;

/// The tag of handshake requests; other tags count up from one.
pub(crate) const HANDSHAKE_TAG: RequestTag = RequestTag(u64::MAX);

/// Where to connect to, with all secrets in place.
#[derive(Debug, Clone)]
pub enum OpenTarget {
    /// A child process that speaks over its standard input and output.
    Stdio {
        /// Program, found on PATH or an absolute path.
        command: String,
        /// Arguments of the program.
        args: Vec<String>,
        /// Its plain environment; the basics of ruling 15 are added to it.
        env: BTreeMap<String, String>,
        /// Environment variables that are secrets; their values are cut out of what we quote of its stderr.
        secret_env: BTreeMap<String, Secret>,
        /// Working directory; the user's home when absent.
        cwd: Option<String>,
        /// Under which name a keeper holds it for the next core: the server, and whose connection it is. Without it
        /// the child ends with this core.
        kept_as: Option<String>,
    },
    /// An HTTP endpoint.
    Http {
        /// The absolute URL of the endpoint.
        url: String,
        /// Headers for every request to this origin; all values are handled as secrets.
        headers: Vec<(String, Secret)>,
    },
}

impl OpenTarget {
    /// Every secret value that the server is given; of a header such as `Bearer …`, also what follows its first word.
    pub(crate) fn secrets(&self) -> Vec<Secret> {
        match self {
            Self::Stdio { secret_env, .. } => secret_env.values().cloned().collect(),
            Self::Http { headers, .. } => headers
                .iter()
                .flat_map(|(_, value)| {
                    let rest = value.reveal().split_once(' ').map(|(_, rest)| Secret::new(rest.trim().to_owned()));
                    std::iter::once(value.clone()).chain(rest)
                })
                .collect(),
        }
    }
}

/// What opening needs. Build it once and keep it: it pools HTTP connections.
#[derive(Clone)]
pub struct OpenContext {
    /// Limits and waiting times.
    pub policy: Arc<Policy>,
    /// The scope in which readers, writers and keepers of children run.
    pub supervisor: Supervisor,
    /// Draws 128 random bits.
    pub draw: Arc<dyn Fn() -> u128 + Send + Sync>,
    /// Where running children are recorded (ruling 15).
    pub children_dir: PathBuf,
    /// What the agent behind the connections that are opened can be asked; said in the handshake of the older eras.
    pub abilities: Abilities,
    /// Receives what the process behind the connections that are opened writes, and when it starts and ends.
    pub process: Option<ProcessListener>,
    /// How keepers are started; without it children end with this core.
    pub keeper: Option<KeeperProgram>,
    /// Only a process that an earlier core left is connected to; none is started.
    pub kept_only: bool,
    /// The token of the server behind the connections that are opened.
    pub(crate) token: Option<Arc<ServerToken>>,
    clients: Arc<http::Clients>,
}

impl OpenContext {
    /// A context without a keeper, for connections of no particular agent.
    #[must_use]
    pub fn new(
        policy: Arc<Policy>,
        supervisor: Supervisor,
        draw: Arc<dyn Fn() -> u128 + Send + Sync>,
        children_dir: PathBuf,
    ) -> Self {
        let abilities = Abilities::default();
        let (process, keeper, kept_only, token, clients) = (None, None, false, None, Arc::default());
        Self { policy, supervisor, draw, children_dir, abilities, process, keeper, kept_only, token, clients }
    }

    /// The same surroundings, for one connection.
    #[must_use]
    pub fn for_connection(&self, spec: &ConnectionSpec) -> Self {
        let process = spec.process.clone();
        Self { abilities: spec.abilities, process, kept_only: spec.kept_only, ..self.clone() }
    }
}

/// Why no link was opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// Nothing answers there, or it stopped answering.
    #[error("{why}")]
    Unreachable {
        /// The reason, on one line.
        why: String,
        /// What a person can do.
        hint: String,
    },
    /// Sign-in or another token is needed.
    #[error("{why}")]
    Unauthorized {
        /// The reason, on one line.
        why: String,
        /// What a person can do.
        hint: String,
    },
    /// Something answers, and it is not MCP, or not a version of it that we know.
    #[error("{why}")]
    NotMcp {
        /// The reason, on one line.
        why: String,
        /// What a person can do.
        hint: String,
    },
    /// The child ended before it spoke.
    #[error("{why}")]
    Exited {
        /// One line with exit code or signal and the last line of its stderr.
        why: String,
        /// What a person can do.
        hint: String,
        /// The end of its stderr.
        stderr: String,
    },
    /// There is no such command, or it cannot be run.
    #[error("{why}")]
    NotFound {
        /// The reason, on one line.
        why: String,
        /// What a person can do.
        hint: String,
    },
}

impl From<LaunchError> for OpenError {
    fn from(failed: LaunchError) -> Self {
        Self::NotFound { why: failed.why, hint: failed.hint }
    }
}

impl OpenError {
    /// What a person can do.
    #[must_use]
    pub fn hint(&self) -> &str {
        match self {
            Self::Unreachable { hint, .. }
            | Self::Unauthorized { hint, .. }
            | Self::NotMcp { hint, .. }
            | Self::Exited { hint, .. }
            | Self::NotFound { hint, .. } => hint,
        }
    }
}

/// Opens a link: `known_era` is an earlier verdict for the same configuration (it is probed anew when it does not
/// hold), `resume` an earlier `Mcp-Session-Id` that is taken up again when it is still alive.
///
/// # Errors
/// Says what is wrong and what a person can do. A child that was started has been ended with its group.
pub async fn open(
    target: OpenTarget,
    known_era: Option<Era>,
    resume: Option<String>,
    ctx: &OpenContext,
) -> Result<OpenedLink, OpenError> {
    match target {
        OpenTarget::Stdio { command, args, env, secret_env, cwd, kept_as } => {
            let launch = Launch { command, args, env, secret_env, cwd };
            stdio::open(launch, kept_as.as_deref(), known_era, ctx).await
        }
        OpenTarget::Http { url, headers } => http::open(http::Target { url, headers }, known_era, resume, ctx).await,
    }
}
