//! What one agent may use up, and the end of everything of an agent whose access is gone.
//!
//! A bucket for the rate of requests, a number of requests in work, and a token that ends what is open. The door in
//! front has its own limits; these hold behind every door, also on pipes. They count and do not know what is asked.

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

use super::model_text::refused;
use crate::server::Session;
use crate::server::rpc_error::{RequestError, RequestErrorKind};

/// The agents that asked something in this run.
pub(crate) struct Limits {
    meters: Mutex<HashMap<AgentId, Arc<Meter>>>,
    per_second: f64,
    burst: f64,
    in_flight: usize,
    listens: usize,
}

/// One agent's.
struct Meter {
    bucket: Mutex<Bucket>,
    work: Arc<Semaphore>,
    /// Room for open subscriptions.
    listens: Arc<Semaphore>,
    out: CancellationToken,
    /// Requests in work and open sessions: while there is one, the agent is here.
    here: AtomicUsize,
    /// The open sessions, by id.
    sessions: Mutex<HashMap<String, Weak<Session>>>,
}

struct Bucket {
    left: f64,
    at: Instant,
}

/// A request that was let in. Ends with its drop.
pub(crate) struct Pass {
    /// Cancelled when the agent's access is gone.
    pub(crate) out: CancellationToken,
    _work: OwnedSemaphorePermit,
    engine: Engine,
    agent: AgentId,
    meter: Arc<Meter>,
}

impl Drop for Pass {
    fn drop(&mut self) {
        self.meter.left(&self.engine, self.agent);
    }
}

impl Meter {
    /// One thing less of the agent is open; with the last one it is away.
    fn left(&self, engine: &Engine, agent: AgentId) {
        if self.here.fetch_sub(1, Ordering::AcqRel) == 1 {
            engine.agent_gone(agent);
        }
    }
}

impl Limits {
    pub(crate) fn new(policy: &Policy) -> Self {
        let gateway = &policy.gateway;
        Self {
            meters: Mutex::default(),
            per_second: f64::from(gateway.requests_per_second),
            burst: f64::from(gateway.requests_burst),
            in_flight: gateway.requests_per_agent_max,
            listens: listens_of_one_agent(policy),
        }
    }

    /// Lets one request of a known agent in.
    ///
    /// # Errors
    /// When it comes too often, or too many are in work.
    pub(crate) fn enter(&self, engine: &Engine, agent: AgentId) -> Result<Pass, RequestError> {
        let meter = self.meter(agent);
        meter.bucket.lock().take(self.per_second, self.burst)?;
        let work = Arc::clone(&meter.work)
            .try_acquire_owned()
            .map_err(|_| RequestError::new(RequestErrorKind::TooOften, refused::too_many_requests(self.in_flight)))?;
        meter.here.fetch_add(1, Ordering::AcqRel);
        Ok(Pass { out: meter.out.clone(), _work: work, engine: engine.clone(), agent, meter })
    }

    /// A place for one more subscription of the agent; `None` when it has its share.
    pub(crate) fn subscribe(&self, agent: AgentId) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.meter(agent).listens).try_acquire_owned().ok()
    }

    /// What is in use: of everybody, and of each agent that uses something.
    pub(crate) fn gauge(&self, engine: &Engine, policy: &Policy, rows: &mut Vec<Gauge>) {
        let (mut sessions, in_work_most) = (0, super::wide(self.in_flight));
        let roster = engine.agents();
        for (agent, meter) in &*self.meters.lock() {
            sessions += meter.sessions.lock().len();
            let in_flight = self.in_flight.saturating_sub(meter.work.available_permits());
            if let Some(known) = roster.get(*agent).filter(|_| in_flight > 0) {
                let scope = format!("agent {}", known.name);
                rows.push(Gauge::count("requests in work", scope, super::wide(in_flight), in_work_most));
            }
        }
        let most = policy.gateway.sessions_max;
        rows.push(Gauge::count("sessions", "agents", super::wide(sessions), super::wide(most)));
    }

    /// A session of the agent began: it is here until [`Limits::session_over`].
    pub(crate) fn session_began(&self, agent: AgentId, session: &Arc<Session>) {
        let meter = self.meter(agent);
        if meter.sessions.lock().insert(session.id().to_owned(), Arc::downgrade(session)).is_none() {
            meter.here.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// A session of the agent is over.
    pub(crate) fn session_over(&self, engine: &Engine, agent: AgentId, session: &str) {
        let meter = self.meters.lock().get(&agent).cloned();
        if let Some(meter) = meter
            && meter.sessions.lock().remove(session).is_some()
        {
            meter.left(engine, agent);
            if meter.here.load(Ordering::Acquire) == 0 {
                engine.agent_left(agent);
            }
        }
    }

    /// Whether a stream of the agent is open: a request in work, a bridge, or the standing stream of a session.
    pub(crate) fn has_stream(&self, agent: AgentId) -> bool {
        let Some(meter) = self.meters.lock().get(&agent).cloned() else { return false };
        let is_at_work = meter.work.available_permits() < self.in_flight;
        is_at_work || meter.sessions.lock().values().filter_map(Weak::upgrade).any(|session| session.is_reachable())
    }

    /// Ends what is open of agents whose access is gone. Their sessions are returned, to be left when their calls have
    /// been told.
    pub(crate) fn expel(&self, engine: &Engine) -> Vec<Arc<Session>> {
        let roster = engine.agents();
        let mut left = Vec::new();
        self.meters.lock().retain(|agent, meter| {
            let stays = roster.has_access(*agent);
            if !stays {
                meter.out.cancel();
                // Standing streams are no requests: they end with their session.
                left.extend(meter.sessions.lock().values().filter_map(Weak::upgrade));
            }
            stays
        });
        left
    }

    /// Only agents with access come here, so there are never more than the policy's agents.
    fn meter(&self, agent: AgentId) -> Arc<Meter> {
        let mut meters = self.meters.lock();
        let fresh = || {
            Arc::new(Meter {
                bucket: Mutex::new(Bucket { left: self.burst, at: Instant::now() }),
                work: Arc::new(Semaphore::new(self.in_flight)),
                listens: Arc::new(Semaphore::new(self.listens)),
                out: CancellationToken::new(),
                here: AtomicUsize::new(0),
                sessions: Mutex::default(),
            })
        };
        Arc::clone(meters.entry(agent).or_insert_with(fresh))
    }
}

fn listens_of_one_agent(policy: &Policy) -> usize {
    let most = super::wide(policy.serving.subscriptions_max);
    usize::try_from(policy.shares.of_one_agent(most)).unwrap_or(usize::MAX)
}

impl Bucket {
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
