//! How much one agent may ask for, and the end of everything that is open of an agent without access.
//!
//! A token bucket for the rate of requests, a number of requests in work, and one of subscriptions. The listener in front
//! has limits of its own; these hold for every connection, pipes too. They count without knowing what is asked.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use domain::ids::AgentId;
use domain::policy::Policy;
use domain::time::Timestamp;
use engine::{AgentSession, Engine, Gauge};
use parking_lot::Mutex;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use crate::gateway::clients::agent_meter::{AgentMeter, RequestPermit};
use crate::gateway::model_text::refused;
use crate::server::rpc_error::{RequestError, RequestErrorKind};
use crate::server::{Session, SessionTransport};

/// Every agent that sent a request in this run.
pub(crate) struct RequestLimits {
    meters: Mutex<HashMap<AgentId, Arc<AgentMeter>>>,
    per_second: f64,
    burst: f64,
    in_flight: usize,
    subscriptions: usize,
}

pub(super) struct TokenBucket {
    left: f64,
    at: Instant,
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
    pub(crate) fn admit<'a>(
        &self,
        engine: &'a Engine,
        agent: AgentId,
        meter: &Arc<AgentMeter>,
    ) -> Result<RequestPermit<'a>, RequestError> {
        meter.bucket.lock().take(self.per_second, self.burst)?;
        let permit = meter.take_place(engine, agent, self.in_flight);
        let too_many = || RequestError::new(RequestErrorKind::TooOften, refused::too_many_requests(self.in_flight));
        permit.ok_or_else(too_many)
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
            let in_flight = meter.in_flight();
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
        meter.in_flight() > 0
            || meter.sessions.lock().values().filter_map(Weak::upgrade).any(|session| session.is_reachable())
    }

    /// The open sessions of an agent, as people see them.
    pub(crate) fn sessions(&self, agent: AgentId, now: Timestamp) -> Vec<AgentSession> {
        let Some(meter) = self.meters.lock().get(&agent).cloned() else { return Vec::new() };
        let open: Vec<Arc<Session>> = meter.sessions.lock().values().filter_map(Weak::upgrade).collect();
        let row = |session: Arc<Session>| AgentSession {
            door: session.agent_door(),
            program: session.program().map(|program| format!("{} {}", program.name, program.version).trim().to_owned()),
            opened: before(now, session.age()),
            // Pipes do not note their requests.
            last_request: (session.door() == SessionTransport::Http).then(|| before(now, session.idle())),
        };
        open.into_iter().map(row).collect()
    }

    /// Ends the requests of agents without access, and of those with a new token, and returns their sessions, to be ended
    /// when their calls are answered.
    pub(crate) fn remove_ended(&self, engine: &Engine, replaced: &HashSet<AgentId>) -> Vec<Arc<Session>> {
        let roster = engine.agents();
        let mut left = Vec::new();
        self.meters.lock().retain(|agent, meter| {
            let stays = roster.has_access(*agent) && !replaced.contains(agent);
            if !stays {
                meter.revoke();
                // Standing streams are no requests; they end with their session.
                left.extend(meter.sessions.lock().values().filter_map(Weak::upgrade));
            }
            stays
        });
        left
    }

    /// Wakes the calls that wait for a first reply; false when there are none.
    pub(super) fn remind(&self) -> bool {
        self.meters.lock().values().filter(|meter| meter.remind()).count() > 0
    }

    pub(super) fn has_waiting_calls(&self) -> bool {
        self.meters.lock().values().any(|meter| meter.has_waiting_call())
    }

    /// The meter of an agent that has used one in this run and did not lose its access.
    pub(crate) fn known_meter(&self, agent: AgentId) -> Option<Arc<AgentMeter>> {
        self.meters.lock().get(&agent).cloned()
    }

    /// Only agents with access come here, so there are never more than the policy's agents.
    pub(crate) fn meter(&self, agent: AgentId) -> Arc<AgentMeter> {
        let fresh = || Arc::new(AgentMeter::new(TokenBucket::full(self.burst), self.subscriptions));
        Arc::clone(self.meters.lock().entry(agent).or_insert_with(fresh))
    }
}

fn subscriptions_of_one_agent(policy: &Policy) -> usize {
    let most = wide(policy.serving.subscriptions_max);
    usize::try_from(policy.shares.of_one_agent(most)).unwrap_or(usize::MAX)
}

/// The time that was so long ago.
fn before(now: Timestamp, span: Duration) -> Timestamp {
    now.shifted(i64::try_from(span.as_millis()).unwrap_or(i64::MAX).saturating_neg())
}

/// A count as the gauges have it.
pub(crate) fn wide(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

impl TokenBucket {
    pub(super) fn full(burst: f64) -> Self {
        Self { left: burst, at: Instant::now() }
    }

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
