//! The gateway: agents reach their servers through this [`Service`](crate::server::Service), in both eras.
//!
//! It turns every long call into a task that survives its client. It stores nothing and decides nothing about tasks: rows
//! belong to the engine, `domain::task::agent_view` says what an agent sees of one, and no method of an agent reaches
//! the configuration. Start with `service.rs`, which receives requests, and `route.rs`, which says who answers.

mod calls;
mod clients;
mod conversion;
mod engine_errors;
mod listings;
pub mod model_text;
mod off_worker;
mod request_context;
mod results;
mod route;
mod servers;
mod service;
mod state;
mod subscriptions;
mod tasks;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use domain::policy::Policy;
use domain::ports::{Clock, Registry};
use engine::runtime::supervisor::Supervisor;
use engine::{Draw, Engine};
use tokio::sync::Semaphore;

use crate::gateway::clients::polls::PollHistory;
use crate::gateway::clients::rate_limit::RequestLimits;
use crate::gateway::clients::reminders::{self, Reminders};
use crate::gateway::listings::offered_pages::OfferedPages;
use crate::gateway::results::cutting;
use crate::gateway::servers::listing_cache::ListingCache;
use crate::gateway::servers::names::ServerNames;
use crate::gateway::state::GatewayState;
use crate::gateway::subscriptions::session_state::SessionStates;
use crate::gateway::tasks::elicitation_claims::ElicitationClaims;
use crate::gateway::tasks::notified_tasks::NotifiedTasks;
use crate::upstream::Forwarder;

/// What the gateway is built from.
pub struct GatewayParts {
    /// Calls, tasks and decisions.
    pub engine: Engine,
    /// Finds the engine's connections, for everything that is forwarded.
    pub forwarder: Forwarder,
    /// Tasks and payloads are only read here.
    pub registry: Arc<dyn Registry>,
    /// Limits and intervals of everything here.
    pub policy: Policy,
    /// The wall clock.
    pub clock: Arc<dyn Clock>,
    /// Where random bits come from.
    pub draw: Draw,
    /// Everything that the gateway spawns ends with this.
    pub supervisor: Supervisor,
}

/// A [`Service`](crate::server::Service) for the listeners that agents connect to.
pub struct Gateway {
    state: Arc<GatewayState>,
}

impl Gateway {
    /// The policy for the listeners in front of the gateway: many agents share one.
    #[must_use]
    pub fn faces(policy: &Policy) -> Policy {
        let mut policy = policy.clone();
        policy.serving.sessions_max = policy.gateway.sessions_max;
        policy.serving.requests_in_work_max = policy.gateway.requests_in_work_max;
        policy
    }

    /// A gateway over a running engine.
    #[must_use]
    pub fn new(parts: GatewayParts) -> Arc<Self> {
        let GatewayParts { engine, forwarder, registry, policy, clock, draw, supervisor } = parts;
        let state = Arc::new(GatewayState {
            engine,
            forwarder,
            registry,
            limits: RequestLimits::new(&policy),
            reminders: Reminders::default(),
            subscriptions: Arc::new(Semaphore::new(policy.serving.subscriptions_max)),
            policy: Arc::new(policy),
            clock,
            draw,
            scope: supervisor.scope(),
            listings: ListingCache::default(),
            offered_pages: OfferedPages::default(),
            server_names: ServerNames::default(),
            sessions: SessionStates::default(),
            elicitations: ElicitationClaims::default(),
            notified_tasks: NotifiedTasks::default(),
            polls: PollHistory::default(),
            cutting_slots: Arc::new(Semaphore::new(cutting::AT_ONCE)),
        });
        // The engine outlives the gateway: what it asks of it must not keep it alive.
        let gauged = Arc::downgrade(&state);
        state.engine.gauges().add(move |rows| {
            if let Some(state) = gauged.upgrade() {
                state.gauges(rows);
            }
        });
        let streams = Arc::downgrade(&state);
        let has_stream = move |agent| streams.upgrade().is_some_and(|state| state.limits.has_stream(agent));
        state.engine.set_agent_streams(has_stream);
        let listed = Arc::downgrade(&state);
        let sessions = move |agent| {
            listed.upgrade().map(|state| state.limits.sessions(agent, state.clock.now())).unwrap_or_default()
        };
        state.engine.set_agent_sessions(sessions);
        let watched = Arc::clone(&state);
        state.scope.spawn("agents without access", async move { watched.end_revoked_agents().await });
        state.scope.spawn("reminders of waiting calls", reminders::run(Arc::clone(&state)));
        Arc::new(Self { state })
    }
}
