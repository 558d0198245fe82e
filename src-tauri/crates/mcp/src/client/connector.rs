//! Opens connections: secrets in, transport opened, greeting read.
//!
//! Consent was checked by the caller. A secret that is not there stops the attempt before anything is contacted; its
//! value goes to the transport and nowhere else. Next: `connection.rs`.

use std::path::PathBuf;
use std::sync::Arc;

use domain::ids::ConnectionId;
use domain::policy::Policy;
use domain::ports::{Clock, Connected, Connector, PortFuture, Secret, Secrets, UpstreamError};
use domain::server::{Era, Server, ServerAddress};
use engine::supervisor::Supervisor;

use super::connection::{Connection, McpUpstream, Surroundings};
use super::failure::open_error;
use crate::link::Opened;
use crate::transport::{OpenContext, OpenTarget, open};

/// What the connector is made of.
pub struct ConnectorParts {
    /// Numbers.
    pub policy: Policy,
    /// The scope in which readers, writers and keepers of connections run.
    pub supervisor: Supervisor,
    /// Where values of headers and environment variables come from.
    pub secrets: Arc<dyn Secrets>,
    /// Wall time.
    pub clock: Arc<dyn Clock>,
    /// Draws 128 random bits.
    pub draw: Arc<dyn Fn() -> u128 + Send + Sync>,
    /// Where running children are recorded (ruling 15).
    pub children_dir: PathBuf,
}

/// Opens connections to MCP servers.
pub struct McpConnector {
    policy: Arc<Policy>,
    supervisor: Supervisor,
    secrets: Arc<dyn Secrets>,
    clock: Arc<dyn Clock>,
    draw: Arc<dyn Fn() -> u128 + Send + Sync>,
    opening: OpenContext,
}

impl McpConnector {
    /// Makes one; it is kept for the life of the core.
    #[must_use]
    pub fn new(parts: ConnectorParts) -> Self {
        let ConnectorParts { policy, supervisor, secrets, clock, draw, children_dir } = parts;
        let policy = Arc::new(policy);
        let opening = OpenContext::new(Arc::clone(&policy), supervisor.clone(), Arc::clone(&draw), children_dir);
        Self { policy, supervisor, secrets, clock, draw, opening }
    }

    fn target(&self, server: &Server) -> Result<OpenTarget, UpstreamError> {
        match &server.address {
            ServerAddress::Stdio { command, args, env, secret_env, cwd } => {
                let secret_env = secret_env
                    .iter()
                    .map(|name| Ok((name.clone(), self.secret(server, name, "environment variable")?)))
                    .collect::<Result<_, UpstreamError>>()?;
                Ok(OpenTarget::Stdio {
                    command: command.clone(),
                    args: args.clone(),
                    env: env.clone(),
                    secret_env,
                    cwd: cwd.clone(),
                })
            }
            ServerAddress::Http { url, secret_headers } => {
                let headers = secret_headers
                    .iter()
                    .map(|name| Ok((name.clone(), self.secret(server, name, "header")?)))
                    .collect::<Result<Vec<_>, UpstreamError>>()?;
                Ok(OpenTarget::Http { url: url.clone(), headers })
            }
        }
    }

    fn secret(&self, server: &Server, name: &str, kind: &str) -> Result<Secret, UpstreamError> {
        let found = self.secrets.get(server.id, name).map_err(|failed| UpstreamError::Unauthorized {
            why: format!("the value of the {kind} `{name}` cannot be read: {failed}"),
            hint: format!("Secrets are kept in: {}. Unlock it and try again.", self.secrets.describe()),
        })?;
        found.ok_or_else(|| UpstreamError::Unauthorized {
            why: format!("the value of the {kind} `{name}` is not stored"),
            hint: format!("Remove the server `{}` and add it again with its secrets.", server.name),
        })
    }

    async fn connect(&self, server: &Server) -> Result<Connected, UpstreamError> {
        let target = self.target(server)?;
        let fits = server.verdict.as_ref().filter(|verdict| verdict.fingerprint == server.address.fingerprint());
        let resume = match &server.address {
            ServerAddress::Http { .. } => earlier_session(server),
            ServerAddress::Stdio { .. } => None,
        };
        let opened = open(target, fits.map(|verdict| verdict.era), resume, &self.opening).await.map_err(open_error)?;
        let over_http = matches!(server.address, ServerAddress::Http { .. });
        Ok(self.take_up(opened, over_http))
    }

    /// Begins to listen on an open link.
    pub(super) fn take_up(&self, opened: Opened, over_http: bool) -> Connected {
        let id = ConnectionId::from_random((self.draw)());
        let surroundings = Surroundings {
            policy: Arc::clone(&self.policy),
            supervisor: self.supervisor.clone(),
            clock: Arc::clone(&self.clock),
        };
        let child = opened.child;
        let (connection, negotiated, events) = Connection::begin(id, opened, over_http, surroundings);
        Connected { id, upstream: Arc::new(McpUpstream::new(connection)), negotiated, child, events }
    }
}

/// The session to take up again: the tasks of a legacy server may be tied to it (protocol.md §9.2).
fn earlier_session(server: &Server) -> Option<String> {
    let negotiated = server.negotiated.as_ref()?;
    match negotiated.era {
        Era::Legacy => negotiated.session.as_ref().map(|session| session.as_str().to_owned()),
        Era::Modern | Era::LegacySse => None,
    }
}

impl Connector for McpConnector {
    fn connect<'a>(&'a self, server: &'a Server) -> PortFuture<'a, Result<Connected, UpstreamError>> {
        Box::pin(self.connect(server))
    }
}
