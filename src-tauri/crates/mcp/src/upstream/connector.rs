//! Opens connections: reads secrets, opens the transport, starts the connection.
//!
//! The caller has checked consent. A missing secret ends the attempt before anything is contacted; its value goes to
//! the transport and nowhere else. Read `connection.rs` next.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use domain::ids::{AgentId, ConnectionId, ServerId};
use domain::policy::Policy;
use domain::ports::{
    Abilities, Clock, Connected, ConnectionSpec, Connector, PortFuture, ProcessWatch, Secret, Secrets, UpstreamError,
};
use domain::server::{Era, Server, ServerAddress};
use domain::time::Timestamp;
use engine::runtime::supervisor::Supervisor;
use keeper::{KeeperProgram, RuntimeDir, ServerWatch};

use super::connection::{Connection, ConnectionParts};
use super::forwarder::Forwarder;
use super::port::McpUpstream;
use crate::oauth::{OAuth, OAuthShared};
use crate::upstream::notifications::log_messages::LogMessages;
use crate::upstream::port_errors::open_error;
use crate::upstream::transport::link::OpenedLink;
use crate::upstream::transport::{OpenContext, OpenTarget, SecretValues, open};

/// What the connector is built from.
pub struct ConnectorParts {
    /// Limits and waiting times.
    pub policy: Policy,
    /// The scope in which the tasks of connections run.
    pub supervisor: Supervisor,
    /// Where values of headers and environment variables come from.
    pub secrets: Arc<dyn Secrets>,
    /// The clock for observations.
    pub clock: Arc<dyn Clock>,
    /// Draws 128 random bits.
    pub draw: Arc<dyn Fn() -> u128 + Send + Sync>,
    /// Where running children are recorded (ruling 15).
    pub children_dir: PathBuf,
    /// How keepers of children are started (ruling 16); without it children end with the core.
    pub keeper: Option<KeeperProgram>,
    /// The URL of the document that describes Taskwarden as an OAuth client, where somebody publishes one.
    pub client_document: Option<String>,
}

/// That the data folder was copied, with the records of processes that it does not own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopiedFolder {
    /// Why processes of before may go on, for people: whose copy it is.
    pub why: String,
    /// When the copy was first used. Work from before lived in processes of the earlier folder.
    pub first_used: Timestamp,
}

/// Opens connections to MCP servers.
pub struct McpConnector {
    policy: Arc<Policy>,
    supervisor: Supervisor,
    secrets: Arc<dyn Secrets>,
    clock: Arc<dyn Clock>,
    draw: Arc<dyn Fn() -> u128 + Send + Sync>,
    opening: OpenContext,
    forwarder: Forwarder,
    oauth: Arc<OAuth>,
    copied: Option<CopiedFolder>,
}

/// The name by which the child of a server is kept: each agent with a connection of its own has another.
#[must_use]
pub fn kept_child_name(server: ServerId, seat: Option<AgentId>) -> String {
    match seat {
        Some(agent) => format!("{server} {agent}"),
        None => server.to_string(),
    }
}

impl McpConnector {
    /// Builds the connector; keep it for the life of the core.
    #[must_use]
    pub fn new(parts: ConnectorParts) -> Self {
        let ConnectorParts { policy, supervisor, secrets, clock, draw, children_dir, keeper, client_document } = parts;
        let policy = Arc::new(policy);
        let mut opening = OpenContext::new(Arc::clone(&policy), supervisor.clone(), Arc::clone(&draw), children_dir);
        opening.keeper = keeper;
        let oauth = OAuth::new(OAuthShared {
            policy: Arc::clone(&policy),
            supervisor: supervisor.clone(),
            secrets: Arc::clone(&secrets),
            clock: Arc::clone(&clock),
            draw: Arc::clone(&draw),
            client_document,
        });
        let (forwarder, oauth) = (Forwarder::default(), Arc::new(oauth));
        Self { policy, supervisor, secrets, clock, draw, opening, forwarder, oauth, copied: None }
    }

    /// The same connector for a data folder that is a copy.
    #[must_use]
    pub fn in_folder(mut self, copied: Option<CopiedFolder>) -> Self {
        self.copied = copied;
        self
    }

    /// Finds connections of this connector, for forwarding.
    #[must_use]
    pub fn forwarder(&self) -> Forwarder {
        self.forwarder.clone()
    }

    /// Signs in to the servers that this connector opens connections to.
    #[must_use]
    pub fn sign_ins(&self) -> Arc<OAuth> {
        Arc::clone(&self.oauth)
    }

    fn target(&self, server: &Server, line: &ConnectionSpec) -> Result<OpenTarget, UpstreamError> {
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
                    kept_as: Some(kept_child_name(server.id, line.seat)),
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

    async fn connect(&self, server: &Server, line: &ConnectionSpec) -> Result<Connected, UpstreamError> {
        let target = self.target(server, line)?;
        let fits = server.verdict.as_ref().filter(|verdict| verdict.fingerprint == server.address.fingerprint());
        let resume = match &server.address {
            ServerAddress::Http { .. } => earlier_session(server, line),
            ServerAddress::Stdio { .. } => None,
        };
        let mut opening = self.opening.for_connection(line);
        opening.token = self.oauth.token(server);
        let log = line
            .process
            .clone()
            .map(|to| LogMessages::new(to, SecretValues::new(target.secrets()), &self.policy.observed));
        let opened = open(target, fits.map(|verdict| verdict.era), resume, &opening).await.map_err(open_error)?;
        let over_http = matches!(server.address, ServerAddress::Http { .. });
        Ok(self.take_up(opened, over_http, line.abilities, log))
    }

    /// Starts a connection on an open link.
    pub(crate) fn take_up(
        &self,
        opened: OpenedLink,
        over_http: bool,
        abilities: Abilities,
        log: Option<LogMessages>,
    ) -> Connected {
        let id = ConnectionId::from_random((self.draw)());
        let (child, is_resumed) = (opened.child, opened.regained.is_some());
        // A child that is resumed goes on asking what it was told in its handshake.
        let abilities = opened.regained.as_ref().map_or(abilities, |resumed| resumed.abilities);
        let surroundings = ConnectionParts {
            policy: Arc::clone(&self.policy),
            supervisor: self.supervisor.clone(),
            clock: Arc::clone(&self.clock),
            abilities,
            log,
        };
        let (connection, negotiated, events) = Connection::begin(id, opened, over_http, surroundings);
        self.forwarder.add(&connection);
        Connected { id, upstream: Arc::new(McpUpstream::new(connection)), negotiated, child, is_resumed, events }
    }
}

/// The session to resume: the tasks of a 2025 server may belong to it (protocol.md §9.2).
fn earlier_session(server: &Server, line: &ConnectionSpec) -> Option<String> {
    if line.seat.is_some() || line.session.is_some() {
        return line.session.as_ref().map(|session| session.as_str().to_owned());
    }
    let negotiated = server.negotiated.as_ref()?;
    match negotiated.era {
        Era::Legacy => negotiated.session.as_ref().map(|session| session.as_str().to_owned()),
        Era::Modern | Era::LegacySse => None,
    }
}

impl Connector for McpConnector {
    fn connect<'a>(
        &'a self,
        server: &'a Server,
        line: &'a ConnectionSpec,
    ) -> PortFuture<'a, Result<Connected, UpstreamError>> {
        Box::pin(self.connect(server, line))
    }

    fn may_keep(&self) -> bool {
        self.opening.keeper.is_some()
    }

    fn out_of_reach(
        &self,
        server: ServerId,
        seat: Option<AgentId>,
        since: Timestamp,
        own: Option<u32>,
    ) -> Option<String> {
        if let Some(copied) = self.copied.as_ref().filter(|copied| since < copied.first_used) {
            return Some(copied.why.clone());
        }
        let keeper = self.opening.keeper.as_ref()?;
        let has_other = keeper::has_other_child(&keeper.dir, &kept_child_name(server, seat), own);
        has_other.then(|| "it runs under a keeper that does not answer".to_owned())
    }

    fn kept_seats(&self, server: ServerId, agents: &[AgentId]) -> Vec<AgentId> {
        let Some(keeper) = &self.opening.keeper else { return Vec::new() };
        let names = agents.iter().map(|agent| kept_child_name(server, Some(*agent))).collect();
        let there: BTreeSet<String> = keeper::names_with_children(&keeper.dir, names).into_iter().collect();
        agents.iter().copied().filter(|agent| there.contains(&kept_child_name(server, Some(*agent)))).collect()
    }

    fn end_kept(&self, server: ServerId, seat: Option<AgentId>) -> PortFuture<'_, Vec<u32>> {
        Box::pin(async move {
            let Some(keeper) = &self.opening.keeper else { return Vec::new() };
            let left = RuntimeDir::all_of(&keeper.dir, &kept_child_name(server, seat));
            let ending = left.iter().map(|place| place.end_unclaimed(&self.policy));
            futures::future::join_all(ending).await.into_iter().flatten().map(|child| child.pid).collect()
        })
    }

    fn watch_processes(&self, leader: u32) -> Option<Box<dyn ProcessWatch>> {
        Some(Box::new(ServerWatch::begin(leader)))
    }
}
