//! Which connection a request takes, and when agents' own connections are opened (ruling 14).
//!
//! Modern servers are shared. A legacy server has one connection for people and one for each agent, so that untagged
//! questions, logs and state cannot cross. An idle agent connection is closed by its actor (`servers/resume.rs`).

use std::sync::Arc;
use std::sync::atomic::Ordering;

use domain::ids::{AgentId, ConnectionId, ServerId};
use domain::ports::Abilities;
use domain::server::{Era, Negotiated, Server};
use domain::task::TaskHandle;

use crate::connections::connection::ServerConnection;
use crate::connections::connection_key::ConnectionKey;
use crate::connections::lease::ConnectionLease;
use crate::connections::live_connection::LiveConnection;
use crate::connections::task_needs::needs_connection;
use crate::connections::wait::await_open;
use crate::core::EngineCore;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::servers::actor::ServerActor;

/// An open connection, leased to an agent.
pub struct OpenConnection {
    /// Names the connection in this run.
    pub connection: ConnectionId,
    /// What both sides agreed on.
    pub negotiated: Negotiated,
    /// The agent whose own connection it is; `None` for the shared one.
    pub seat: Option<AgentId>,
    /// While this is held, an agent's own connection is not closed for idleness.
    pub lease: ConnectionLease,
}

/// A connection over which an agent's request may leave now.
pub(crate) struct LeasedConnection {
    pub(crate) connection: Arc<ServerConnection>,
    pub(crate) live: Arc<LiveConnection>,
    pub(crate) lease: ConnectionLease,
}

/// The connection that people share, waiting for it a short while.
pub(crate) async fn shared(
    core: &EngineCore,
    server: ServerId,
) -> Result<(Arc<ServerConnection>, Arc<LiveConnection>), EngineError> {
    if core.stopping.load(Ordering::Acquire) {
        return Err(EngineError::Stopping);
    }
    let connection = core.connections.shared(server).ok_or(EngineError::UnknownServer)?;
    let live = await_open(&connection, core.policy.initialize_limit + core.policy.probe_first_output).await?;
    Ok((connection, live))
}

/// The shared connection, when it is open and the server is modern: what [`for_agent`] gives to most requests, without
/// waiting.
pub(crate) fn shared_modern(core: &EngineCore, server: ServerId) -> Result<Option<LeasedConnection>, EngineError> {
    if core.stopping.load(Ordering::Acquire) {
        return Err(EngineError::Stopping);
    }
    let connection = core.connections.shared(server).ok_or(EngineError::UnknownServer)?;
    let live = connection.open_connection().filter(|live| live.negotiated.era == Era::Modern);
    Ok(live.map(|live| LeasedConnection { connection, live, lease: ConnectionLease::shared() }))
}

/// The connection for a request of this agent; waits for it a short while.
pub(crate) async fn for_agent(
    core: &Arc<EngineCore>,
    server: ServerId,
    agent: AgentId,
    abilities: Abilities,
) -> Result<LeasedConnection, EngineError> {
    if core.stopping.load(Ordering::Acquire) {
        return Err(EngineError::Stopping);
    }
    let shared = core.connections.shared(server).ok_or(EngineError::UnknownServer)?;
    let limit = core.policy.gateway.line_wait;
    let known = shared.live().map(|live| live.negotiated.era);
    let era = match known.or_else(|| shared.known_era()) {
        Some(era) => era,
        None => await_open(&shared, limit).await?.negotiated.era,
    };
    match era {
        Era::Modern => {
            let live = await_open(&shared, limit).await?;
            Ok(LeasedConnection { connection: shared, live, lease: ConnectionLease::shared() })
        }
        Era::Legacy | Era::LegacySse => {
            let (connection, lease) = own_connection(core, &shared, agent, abilities)?;
            let live = await_open(&connection, limit).await?;
            Ok(LeasedConnection { connection, live, lease })
        }
    }
}

/// The agent's own connection, opened when there is none.
fn own_connection(
    core: &Arc<EngineCore>,
    shared: &ServerConnection,
    agent: AgentId,
    abilities: Abilities,
) -> Result<(Arc<ServerConnection>, ConnectionLease), EngineError> {
    let key = ConnectionKey { server: shared.server, seat: Some(agent) };
    loop {
        let connection = match core.connections.get(key) {
            Some(connection) => connection,
            None => {
                check_connection_share(core, agent)?;
                open(core, shared.configured(), key, abilities)
            }
        };
        // One that is just being closed has left the pool already.
        if let Some(lease) = ConnectionLease::on(&connection) {
            return Ok((connection, lease));
        }
        core.connections.forget(&connection);
    }
}

/// Refuses a further connection of its own to an agent that has its share, and to everybody when there are too many.
fn check_connection_share(core: &EngineCore, agent: AgentId) -> Result<(), EngineError> {
    let most = core.policy.gateway.lines_max;
    if core.connections.agent_connections() >= most {
        return Err(EngineError::TooManyConnections { most });
    }
    let share = core.policy.shares.of_one_agent(u64::try_from(most).unwrap_or(u64::MAX));
    let share = usize::try_from(share).unwrap_or(usize::MAX);
    if core.connections.of_agent(agent) >= share {
        return Err(EngineError::TooManyConnections { most: share });
    }
    Ok(())
}

/// Opens a connection, unless somebody else just did.
fn open(core: &Arc<EngineCore>, server: Server, key: ConnectionKey, abilities: Abilities) -> Arc<ServerConnection> {
    let connection = closed(core, &server, key);
    connection.leases.set_abilities(abilities);
    begin(core, connection)
}

/// A connection that nobody knows of yet.
fn closed(core: &EngineCore, server: &Server, key: ConnectionKey) -> ServerConnection {
    let leave = core.supervisor.stopping().child_token();
    let observed = core.connections.observed(server.id, &core.policy);
    let commits = Arc::clone(&core.effects.commits);
    let connection = ServerConnection::new(server, key.seat, &core.policy, commits, observed, leave);
    if key.seat.is_some_and(|agent| !core.access.snapshot().has_access(agent)) {
        connection.leases.set_unwanted();
    }
    connection
}

fn begin(core: &Arc<EngineCore>, connection: ServerConnection) -> Arc<ServerConnection> {
    let (connection, is_new) = core.connections.insert_if_new(Arc::new(connection));
    if is_new {
        let (core, connection) = (Arc::clone(core), Arc::clone(&connection));
        let policy = Arc::clone(&core.policy);
        let scope = core.supervisor.clone();
        let make = move || ServerActor::new(Arc::clone(&core), Arc::clone(&connection)).run();
        scope.spawn_steady("follow", &policy, make);
    }
    connection
}

/// Opens the connection that people and modern agents share.
pub(crate) fn open_shared(core: &Arc<EngineCore>, server: Server) {
    let key = ConnectionKey::shared(server.id);
    open(core, server, key, Abilities::default());
}

/// The connection on which this task lives, opened again when it was closed.
pub(crate) fn reopen(core: &Arc<EngineCore>, handle: &TaskHandle) -> Option<Arc<ServerConnection>> {
    let key = ConnectionKey::of(handle);
    if let Some(connection) = core.connections.get(key) {
        return Some(connection);
    }
    key.seat?;
    let shared = core.connections.shared(key.server)?;
    Some(open(core, shared.configured(), key, Abilities::default()))
}

/// Opens the own connections of agents, to processes that an earlier run left for them, so that people can
/// freeze and end those. The shared process is taken over by its connection, which every start opens.
pub(crate) fn open_kept(core: &Arc<EngineCore>) {
    let snapshot = core.access.snapshot();
    // What of an agent without access still works on its tasks is told to cancel them; the rest is ended elsewhere.
    let has_work =
        |agent: AgentId| core.ledger.of_agent(agent).iter().any(|task| !task.phase(core.time.now()).is_over());
    let agents = snapshot.all().into_iter().filter(|agent| agent.revoked.is_none() || has_work(agent.id));
    let agents: Vec<AgentId> = agents.map(|agent| agent.id).collect();
    for shared in core.connections.all().into_iter().filter(|connection| connection.key.seat.is_none()) {
        for agent in core.connector.kept_seats(shared.server, &agents) {
            let key = ConnectionKey { server: shared.server, seat: Some(agent) };
            let mut connection = closed(core, &shared.configured(), key);
            *connection.is_taking_over.get_mut() = true;
            begin(core, connection);
        }
    }
}

/// Opens the agents' own connections that open tasks of an earlier run need.
pub(crate) fn reopen_needed(core: &Arc<EngineCore>) {
    for key in core.ledger.connection_keys() {
        if let Some(handle) = core.ledger.of_connection(key).iter().find(|handle| needs_connection(handle)) {
            let _ = reopen(core, handle);
        }
    }
}

/// Whether no call and no task needs this connection of an agent, so that it may be closed.
pub(crate) fn is_idle(core: &EngineCore, connection: &ServerConnection) -> bool {
    connection.in_flight().is_empty()
        && !core.ledger.of_connection(connection.key).iter().any(|handle| needs_connection(handle))
}

impl Engine {
    /// The connection for forwarding a request of this agent; waits for it a short while. A legacy server gets a
    /// connection for this agent alone, which stays open while [`OpenConnection::lease`] is held.
    ///
    /// # Errors
    /// When the server is unknown or cannot be reached in that time, or agents have too many connections.
    pub async fn line(
        &self,
        server: ServerId,
        agent: AgentId,
        abilities: Abilities,
    ) -> Result<OpenConnection, EngineError> {
        let LeasedConnection { live, connection, lease } = for_agent(&self.core, server, agent, abilities).await?;
        let (negotiated, seat) = (live.negotiated.clone(), connection.key.seat);
        Ok(OpenConnection { connection: live.id, negotiated, seat, lease })
    }
}
