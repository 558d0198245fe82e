//! Lets agents in: checks their token, resolves the server they ask for, and limits how often they ask.
//!
//! An agent proves itself with its token alone (ruling 25); the digest of what it shows is compared in constant time
//! before anything else of a request is looked at. What it may ask for then is the gateway's decision.
//! `http/agent_routes.rs` and `socket.rs` turn a refusal into their own reply.

use std::collections::HashMap;
use std::sync::Arc;

use api::{ApiError, Code};
use domain::agent::TokenDigest;
use domain::ids::AgentId;
use domain::policy::GatewayPolicy;
use engine::Engine;
use mcp::gateway::model_text::access;
use mcp::server::{AgentPrincipal, ServerParts, Service};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::agent_access::request_budget::RequestBudget;

/// The gateway, and what decides who may use it.
#[derive(Clone)]
pub(crate) struct AgentEntry {
    /// Knows the agents and servers.
    pub(crate) engine: Engine,
    /// The gateway behind this entry.
    pub(crate) service: Arc<dyn Service>,
    /// What serving the gateway needs.
    pub(crate) parts: ServerParts,
    /// Bytes and connections that requests may use.
    pub(crate) requests: RequestBudget,
    rate: Arc<RequestRate>,
}

/// Why a request is refused before the gateway sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EntryRefusal {
    /// It carries no token.
    NoToken,
    /// No agent has this token.
    WrongToken,
    /// A person revoked the agent that had this token; the text is for a model.
    Revoked(String),
    /// There is no server of this name.
    NoServer(String),
    /// The agent asks more often than its rate allows.
    TooFast,
}

impl AgentEntry {
    /// An entry to this gateway.
    pub(crate) fn new(engine: Engine, service: Arc<dyn Service>, parts: ServerParts) -> Self {
        let rate = Arc::new(RequestRate::new(&parts.policy.gateway));
        let requests = RequestBudget::new(&parts.policy);
        requests.register(&engine);
        Self { engine, service, parts, requests, rate }
    }

    /// The agent that has the token in this `Authorization` header.
    pub(crate) fn agent(&self, authorization: Option<&str>) -> Result<AgentId, EntryRefusal> {
        let token = authorization.and_then(bearer).ok_or(EntryRefusal::NoToken)?;
        let (agents, token) = (self.engine.agents(), TokenDigest::of(token));
        if let Some(agent) = agents.by_token(&token) {
            return Ok(agent.id);
        }
        Err(match agents.revoked_by_token(&token) {
            Some(agent) => EntryRefusal::Revoked(access::of_revoked(&self.engine, agent.id)),
            None => EntryRefusal::WrongToken,
        })
    }

    /// The server that an agent asks for by name, or all of them.
    pub(crate) fn visit(&self, agent: AgentId, server: Option<&str>) -> Result<AgentPrincipal, EntryRefusal> {
        let Some(name) = server else { return Ok(AgentPrincipal { agent, server: None }) };
        let server = self.engine.server_by_name(name);
        let server = server.ok_or_else(|| EntryRefusal::NoServer(domain::policy::plain_text(name, 80)))?;
        Ok(AgentPrincipal { agent, server: Some(server) })
    }

    /// Counts a request against the rate of its agent.
    pub(crate) fn count_request(&self, agent: AgentId) -> Result<(), EntryRefusal> {
        if self.rate.try_take(agent) { Ok(()) } else { Err(EntryRefusal::TooFast) }
    }
}

impl EntryRefusal {
    /// The refusal as an error; it contains nothing of the token.
    pub(crate) fn error(&self) -> ApiError {
        match self {
            Self::NoToken => ApiError::new(
                Code::Refused,
                "an agent's token is required",
                "Add an agent with `taskwarden agents add NAME` and use the settings it prints.",
            ),
            Self::WrongToken => ApiError::new(
                Code::Refused,
                "no agent has this token",
                "`taskwarden agents list` shows the agents; `taskwarden agents add NAME` adds one with a new token.",
            ),
            Self::Revoked(words) => ApiError::new(
                Code::Refused,
                words.clone(),
                "`taskwarden agents list` shows who has access; `taskwarden agents add NAME` adds the agent again.",
            ),
            Self::NoServer(name) => ApiError::new(
                Code::NotFound,
                format!("there is no server `{name}`"),
                "`taskwarden servers list` lists them; without a name you reach all of them.",
            ),
            Self::TooFast => ApiError::new(Code::Refused, "this agent asks too often", "Wait a second and ask again."),
        }
    }
}

/// The token of an `Authorization: Bearer …` header.
pub(crate) fn bearer(header: &str) -> Option<&str> {
    let (scheme, token) = header.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

/// How often each agent may ask: one token bucket per agent.
struct RequestRate {
    per_second: f64,
    burst: f64,
    /// Bounded by the number of agents, because only they get one.
    buckets: Mutex<HashMap<AgentId, Bucket>>,
}

struct Bucket {
    left: f64,
    at: Instant,
}

impl RequestRate {
    fn new(limits: &GatewayPolicy) -> Self {
        let (per_second, burst) = (f64::from(limits.requests_per_second), f64::from(limits.requests_burst));
        Self { per_second, burst, buckets: Mutex::default() }
    }

    fn try_take(&self, agent: AgentId) -> bool {
        let now = Instant::now();
        let mut buckets = self.buckets.lock();
        let bucket = buckets.entry(agent).or_insert(Bucket { left: self.burst, at: now });
        let filled = now.duration_since(bucket.at).as_secs_f64() * self.per_second;
        bucket.left = (bucket.left + filled).min(self.burst);
        bucket.at = now;
        let may = bucket.left >= 1.0;
        if may {
            bucket.left -= 1.0;
        }
        may
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_token_follows_its_scheme() {
        assert_eq!(bearer("Bearer twa_x"), Some("twa_x"));
        assert_eq!(bearer("bearer  twa_x "), Some("twa_x"), "the scheme in any case");
        for other in ["twa_x", "Basic twa_x", "Bearer ", "Bearer", ""] {
            assert_eq!(bearer(other), None, "`{other}` is no token");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_agent_that_asks_too_often_waits_and_others_do_not() {
        let limits = GatewayPolicy { requests_per_second: 10, requests_burst: 3, ..GatewayPolicy::default() };
        let rate = RequestRate::new(&limits);
        let (hasty, other) = (AgentId::from_random(1), AgentId::from_random(2));
        assert!((0..3).all(|_| rate.try_take(hasty)), "a burst passes");
        assert!(!rate.try_take(hasty), "the next does not");
        assert!(rate.try_take(other), "another agent is not held up");
        tokio::time::advance(Duration::from_millis(100)).await;
        assert!(rate.try_take(hasty) && !rate.try_take(hasty), "one more after a tenth of a second");
    }
}
