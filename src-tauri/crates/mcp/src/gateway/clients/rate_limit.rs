//! How much one agent may ask for, and the end of everything that is open of an agent without access.
//!
//! A token bucket for the rate of requests, a number of requests in work, and one of subscriptions. The listener in front
//! has limits of its own; these hold for every connection, pipes too. They count without knowing what is asked.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use domain::ids::AgentId;
use domain::policy::Policy;
use engine::{Engine, Gauge};
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::gateway::model_text::refused;
use crate::server::Session;
use crate::server::rpc_error::{RequestError, RequestErrorKind};

/// Every agent that sent a request in this run.
pub(crate) struct RequestLimits {
    meters: Mutex<HashMap<AgentId, Arc<AgentMeter>>>,
    per_second: f64,
    burst: f64,
    in_flight: usize,
    subscriptions: usize,
}

struct AgentMeter {
    bucket: Mutex<TokenBucket>,
    work: Arc<Semaphore>,
    /// Room for open subscriptions.
    subscriptions: Arc<Semaphore>,
    revoked: CancellationToken,
    /// Requests in work and open sessions: the agent is present while there is one.
    open: AtomicUsize,
    /// The open sessions, by id.
    sessions: Mutex<HashMap<String, Weak<Session>>>,
}

struct TokenBucket {
    left: f64,
    at: Instant,
}

/// A request that was admitted, until it is dropped.
pub(crate) struct RequestPermit {
    /// Cancelled when the agent loses its access.
    pub(crate) revoked: CancellationToken,
    _work: OwnedSemaphorePermit,
    engine: Engine,
    agent: AgentId,
    meter: Arc<AgentMeter>,
}

impl Drop for RequestPermit {
    fn drop(&mut self) {
        self.meter.close_one(&self.engine, self.agent);
    }
}

impl AgentMeter {
    /// One request or session less is open; with the last one the agent is away.
    fn close_one(&self, engine: &Engine, agent: AgentId) {
        if self.open.fetch_sub(1, Ordering::AcqRel) == 1 {
            engine.agent_gone(agent);
        }
    }
}

impl RequestLimits {
    pub(crate) fn new(policy: &Policy) -> Self {
        let gateway = &policy.gateway;
        Self {
            meters: Mutex::default(),
            per_second: f64::from(gateway.requests_per_second),
            burst: f64::from(gateway.requests_burst),
            in_flight: gateway.requests_per_agent_max,
            subscriptions: subscriptions_of_one_agent(policy),
        }
    }

    /// Admits one request of a known agent.
    ///
    /// # Errors
    /// When it comes too often, or too many are in work.
    pub(crate) fn admit(&self, engine: &Engine, agent: AgentId) -> Result<RequestPermit, RequestError> {
        let meter = self.meter(agent);
        meter.bucket.lock().take(self.per_second, self.burst)?;
        let work = Arc::clone(&meter.work)
            .try_acquire_owned()
            .map_err(|_| RequestError::new(RequestErrorKind::TooOften, refused::too_many_requests(self.in_flight)))?;
        meter.open.fetch_add(1, Ordering::AcqRel);
        Ok(RequestPermit { revoked: meter.revoked.clone(), _work: work, engine: engine.clone(), agent, meter })
    }

    /// Room for one more subscription of the agent; `None` when it has its share.
    pub(crate) fn admit_subscription(&self, agent: AgentId) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.meter(agent).subscriptions).try_acquire_owned().ok()
    }

    /// What is in use, in all and by each agent.
    pub(crate) fn gauges(&self, engine: &Engine, policy: &Policy, rows: &mut Vec<Gauge>) {
        let (mut sessions, in_work_most) = (0, wide(self.in_flight));
        let roster = engine.agents();
        for (agent, meter) in &*self.meters.lock() {
            sessions += meter.sessions.lock().len();
            let in_flight = self.in_flight.saturating_sub(meter.work.available_permits());
            if let Some(known) = roster.get(*agent).filter(|_| in_flight > 0) {
                let scope = format!("agent {}", known.name);
                rows.push(Gauge::count("requests in work", scope, wide(in_flight), in_work_most));
            }
        }
        let most = policy.gateway.sessions_max;
        rows.push(Gauge::count("sessions", "agents", wide(sessions), wide(most)));
    }

    /// Counts a session of the agent until [`Self::remove_session`].
    pub(crate) fn add_session(&self, agent: AgentId, session: &Arc<Session>) {
        let meter = self.meter(agent);
        if meter.sessions.lock().insert(session.id().to_owned(), Arc::downgrade(session)).is_none() {
            meter.open.fetch_add(1, Ordering::AcqRel);
        }
    }

    pub(crate) fn remove_session(&self, engine: &Engine, agent: AgentId, session: &str) {
        let meter = self.meters.lock().get(&agent).cloned();
        if let Some(meter) = meter
            && meter.sessions.lock().remove(session).is_some()
        {
            meter.close_one(engine, agent);
            if meter.open.load(Ordering::Acquire) == 0 {
                engine.agent_left(agent);
            }
        }
    }

    /// Whether a stream of the agent is open: a request in work, a bridge, or the standing stream of a session.
    pub(crate) fn has_stream(&self, agent: AgentId) -> bool {
        let Some(meter) = self.meters.lock().get(&agent).cloned() else { return false };
        let has_request = meter.work.available_permits() < self.in_flight;
        has_request || meter.sessions.lock().values().filter_map(Weak::upgrade).any(|session| session.is_reachable())
    }

    /// Ends the requests of agents without access and returns their sessions, to be ended when their calls are answered.
    pub(crate) fn remove_revoked(&self, engine: &Engine) -> Vec<Arc<Session>> {
        let roster = engine.agents();
        let mut left = Vec::new();
        self.meters.lock().retain(|agent, meter| {
            let stays = roster.has_access(*agent);
            if !stays {
                meter.revoked.cancel();
                // Standing streams are no requests; they end with their session.
                left.extend(meter.sessions.lock().values().filter_map(Weak::upgrade));
            }
            stays
        });
        left
    }

    /// Only agents with access come here, so there are never more than the policy's agents.
    fn meter(&self, agent: AgentId) -> Arc<AgentMeter> {
        let mut meters = self.meters.lock();
        let fresh = || {
            Arc::new(AgentMeter {
                bucket: Mutex::new(TokenBucket { left: self.burst, at: Instant::now() }),
                work: Arc::new(Semaphore::new(self.in_flight)),
                subscriptions: Arc::new(Semaphore::new(self.subscriptions)),
                revoked: CancellationToken::new(),
                open: AtomicUsize::new(0),
                sessions: Mutex::default(),
            })
        };
        Arc::clone(meters.entry(agent).or_insert_with(fresh))
    }
}

fn subscriptions_of_one_agent(policy: &Policy) -> usize {
    let most = wide(policy.serving.subscriptions_max);
    usize::try_from(policy.shares.of_one_agent(most)).unwrap_or(usize::MAX)
}

/// A count as the gauges have it.
pub(crate) fn wide(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

impl TokenBucket {
    fn take(&mut self, per_second: f64, burst: f64) -> Result<(), RequestError> {
        let now = Instant::now();
        self.left = (self.left + now.duration_since(self.at).as_secs_f64() * per_second).min(burst);
        self.at = now;
        if self.left < 1.0 {
            return Err(RequestError::new(RequestErrorKind::TooOften, refused::too_often()));
        }
        self.left -= 1.0;
        Ok(())
    }
}
