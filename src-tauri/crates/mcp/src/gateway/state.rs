//! What the parts of the gateway share: the engine, the connections, and small stores of its own.
//!
//! Parts take this, never the service. Each store is defined beside the code that fills it, and none outlives the
//! process.

use std::collections::HashMap;
use std::sync::Arc;

use domain::ids::{AgentId, HandleId, ServerId};
use domain::policy::Policy;
use domain::ports::{Clock, Registry};
use domain::task::payload::{Payload, PayloadKind};
use domain::time::Timestamp;
use engine::runtime::supervisor::Supervisor;
use engine::{AgentDoor, Draw, Engine, Gauge, HandleWatch};
use tokio::sync::Semaphore;

use crate::gateway::clients::polls::PollHistory;
use crate::gateway::clients::rate_limit::{RequestLimits, wide};
use crate::gateway::clients::reminders::Reminders;
use crate::gateway::engine_errors;
use crate::gateway::listings::offered_pages::OfferedPages;
use crate::gateway::model_text::access;
use crate::gateway::request_context::RequestContext;
use crate::gateway::servers::listing_cache::ListingCache;
use crate::gateway::servers::names::{NamedServer, ServerNames};
use crate::gateway::subscriptions::session_state::SessionStates;
use crate::gateway::tasks::elicitation_claims::ElicitationClaims;
use crate::gateway::tasks::notified_tasks::NotifiedTasks;
use crate::server::rpc_error::RequestError;
use crate::server::{Client, Principal, Request};
use crate::upstream::Forwarder;

/// Shared by all requests.
pub(crate) struct GatewayState {
    pub(crate) engine: Engine,
    pub(crate) forwarder: Forwarder,
    pub(crate) registry: Arc<dyn Registry>,
    pub(crate) policy: Arc<Policy>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) draw: Draw,
    pub(crate) scope: Supervisor,
    pub(crate) limits: RequestLimits,
    pub(crate) reminders: Reminders,
    pub(crate) listings: ListingCache,
    pub(crate) offered_pages: OfferedPages,
    pub(crate) server_names: ServerNames,
    pub(crate) sessions: SessionStates,
    /// Room for open subscriptions of all agents.
    pub(crate) subscriptions: Arc<Semaphore>,
    pub(crate) elicitations: ElicitationClaims,
    pub(crate) notified_tasks: NotifiedTasks,
    pub(crate) polls: PollHistory,
    /// Room for cutting results.
    pub(crate) cutting_slots: Arc<Semaphore>,
}

impl GatewayState {
    /// Looks the agent of a request up.
    ///
    /// # Errors
    /// When the request carries no agent, or there is no such agent.
    pub(crate) fn context(self: &Arc<Self>, client: Client, request: &Request) -> Result<RequestContext, RequestError> {
        let unknown = || RequestError::revoked(access::revoked(None, None));
        let principal = request.principal.and_then(Principal::agent).ok_or_else(unknown)?;
        // The meter comes before the look at the agent: a revocation that the look misses finds this meter and ends what
        // was admitted with it.
        let known = self.limits.known_meter(principal.agent);
        let agent = self.engine.agents().get(principal.agent).ok_or_else(unknown)?;
        let mut has_access = agent.revoked.is_none();
        let meter = match known {
            Some(meter) => meter,
            None => {
                let meter = self.limits.meter(principal.agent);
                has_access = has_access && self.engine.agents().has_access(principal.agent);
                meter
            }
        };
        if agent.revoked.is_none() {
            let program = client.program().filter(|program| meter.has_new_program(program));
            let program = program.map(|program| format!("{} {}", program.name, program.version));
            let door = match &client {
                Client::Legacy(session) => session.agent_door(),
                // Only HTTP has headers to mirror into.
                Client::Modern(_) if request.mirrored.is_some() => AgentDoor::Http,
                Client::Modern(_) => AgentDoor::Command,
            };
            self.engine.agent_asked(agent.id, program.as_deref().map(str::trim), door);
        }
        Ok(RequestContext {
            state: Arc::clone(self),
            agent: agent.id,
            server: principal.server,
            has_access,
            task_tools: agent.revoked.is_none() && agent.task_tools,
            session_name: RequestContext::name_of_session(&client),
            meter,
            client,
        })
    }

    /// Watches a task from its newest state; `None` when there is none.
    ///
    /// # Errors
    /// When the registry cannot be read.
    pub(crate) async fn watch(&self, id: HandleId) -> Result<Option<HandleWatch>, RequestError> {
        self.engine.watch(id).await.map_err(|error| engine_errors::fault(&error))
    }

    /// A stored payload of a task.
    ///
    /// # Errors
    /// When the registry cannot be read.
    pub(crate) async fn payload(&self, id: HandleId, kind: PayloadKind) -> Result<Option<Payload>, RequestError> {
        self.registry.payload(id, kind).await.map_err(|error| engine_errors::unreadable(&error))
    }

    pub(crate) fn server_ids(&self) -> Vec<ServerId> {
        self.engine.servers().into_iter().map(|(server, _)| server).collect()
    }

    /// The servers of the endpoint of all servers, with their parts of names.
    pub(crate) fn named_servers(&self) -> Arc<Vec<NamedServer>> {
        self.server_names.of(self.engine.servers())
    }

    /// The person's name for a server.
    pub(crate) fn server_name(&self, id: ServerId) -> Arc<str> {
        self.engine.server_name(id).unwrap_or_else(|| Arc::from("?"))
    }

    /// Ends everything that is open of agents as soon as their access is gone, or their token is another one. Runs until
    /// the engine ends.
    pub(crate) async fn end_revoked_agents(&self) {
        let mut changes = self.engine.agents_watch();
        let mut tokens = self.tokens_made();
        while changes.changed().await.is_ok() {
            let known = std::mem::replace(&mut tokens, self.tokens_made());
            let is_replaced = |agent: &AgentId, made| known.get(agent).is_some_and(|before| before < made);
            let replaced = tokens.iter().filter(|(agent, made)| is_replaced(agent, made)).map(|(agent, _)| *agent);
            for session in self.limits.remove_ended(&self.engine, &replaced.collect()) {
                let grace = self.policy.serving.end_grace;
                self.scope.spawn("session of an agent without access", async move {
                    // Held calls are answered first: a session that has ended answers nothing.
                    drop(tokio::time::timeout(grace, session.in_flight().emptied()).await);
                    session.leave();
                });
            }
        }
    }

    /// When the token of each agent was made.
    fn tokens_made(&self) -> HashMap<AgentId, Timestamp> {
        self.engine.agents().all().iter().map(|agent| (agent.id, agent.token_made)).collect()
    }

    /// What is in use of all agents, for the gauges.
    pub(crate) fn gauges(&self, rows: &mut Vec<Gauge>) {
        self.limits.gauges(&self.engine, &self.policy, rows);
        let most = self.policy.serving.subscriptions_max;
        let used = most.saturating_sub(self.subscriptions.available_permits());
        rows.push(Gauge::count("open subscriptions", "agents", wide(used), wide(most)));
    }
}
