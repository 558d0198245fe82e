//! What the parts of the gateway share: the engine, the connections, and small stores of its own.
//!
//! Parts take this, never the service. Each store is defined beside the code that fills it, and none outlives the
//! process.

use std::sync::Arc;

use domain::ids::{HandleId, ServerId};
use domain::policy::Policy;
use domain::ports::{Clock, Registry};
use domain::task::payload::{Payload, PayloadKind};
use engine::runtime::supervisor::Supervisor;
use engine::{Draw, Engine, Gauge, HandleWatch};
use tokio::sync::Semaphore;

use crate::gateway::clients::polls::PollHistory;
use crate::gateway::clients::rate_limit::{RequestLimits, wide};
use crate::gateway::engine_errors;
use crate::gateway::model_text::access;
use crate::gateway::request_context::RequestContext;
use crate::gateway::servers::listing_cache::ListingCache;
use crate::gateway::subscriptions::session_state::SessionStates;
use crate::gateway::tasks::elicitation_claims::ElicitationClaims;
use crate::gateway::tasks::notified_tasks::NotifiedTasks;
use crate::server::rpc_error::RequestError;
use crate::server::{Client, Request};
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
    pub(crate) listings: ListingCache,
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
        let agent =
            request.principal.and_then(|principal| Some((principal, self.engine.agents().get(principal.agent)?)));
        let (principal, agent) = agent.ok_or_else(|| RequestError::revoked(access::revoked(None, None)))?;
        let mut task_tools = false;
        if agent.revoked.is_none() {
            let program = client.program().map(|program| format!("{} {}", program.name, program.version));
            self.engine.agent_seen(agent.id, program.as_deref().map(str::trim));
            task_tools = agent.task_tools;
        }
        Ok(RequestContext { state: Arc::clone(self), agent: agent.id, server: principal.server, task_tools, client })
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

    /// The person's name for a server.
    pub(crate) fn server_name(&self, id: ServerId) -> Arc<str> {
        let known = self.engine.servers().into_iter().find(|(server, _)| *server == id);
        known.map_or_else(|| Arc::from("?"), |(_, name)| name)
    }

    /// Ends everything that is open of agents as soon as their access is gone. Runs until the engine ends.
    pub(crate) async fn end_revoked_agents(&self) {
        let mut changes = self.engine.agents_watch();
        while changes.changed().await.is_ok() {
            for session in self.limits.remove_revoked(&self.engine) {
                let grace = self.policy.serving.end_grace;
                self.scope.spawn("session of an agent without access", async move {
                    // Held calls are answered first: a session that has ended answers nothing.
                    drop(tokio::time::timeout(grace, session.in_flight().emptied()).await);
                    session.leave();
                });
            }
        }
    }

    /// What is in use of all agents, for the gauges.
    pub(crate) fn gauges(&self, rows: &mut Vec<Gauge>) {
        self.limits.gauges(&self.engine, &self.policy, rows);
        let most = self.policy.serving.subscriptions_max;
        let used = most.saturating_sub(self.subscriptions.available_permits());
        rows.push(Gauge::count("open subscriptions", "agents", wide(used), wide(most)));
    }
}
