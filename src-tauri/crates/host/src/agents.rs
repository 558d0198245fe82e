//! What both doors for agents share: who is let in, where to, and the gateway behind them.
//!
//! An agent proves itself with its token alone (ruling 25); the digest of what it shows is compared in constant time
//! before anything else of a request is looked at. What it may ask for then is the gateway's. `http/agents.rs` and
//! `socket.rs` put this into their own words.

use std::collections::HashMap;
use std::sync::Arc;

use api::{ApiError, Code};
use domain::agent::TokenDigest;
use domain::ids::AgentId;
use domain::policy::GatewayPolicy;
use engine::Engine;
use mcp::gateway::model_text::access;
use mcp::server::{Principal, ServerParts, Service};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::request_budget::RequestBudget;

/// The gateway and who may come to it.
#[derive(Clone)]
pub(crate) struct AgentDoor {
    /// Knows agents and servers.
    pub(crate) engine: Engine,
    /// The gateway.
    pub(crate) service: Arc<dyn Service>,
    /// What its faces need.
    pub(crate) parts: ServerParts,
    /// What its requests may use.
    pub(crate) requests: RequestBudget,
    pace: Arc<Pace>,
}

/// Why somebody is not let in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NotLetIn {
    /// It shows no token.
    NoToken,
    /// Nobody has this token.
    WrongToken,
    /// A person took away the access of the agent that had this token. In words for a model.
    Revoked(String),
    /// There is no server of this name.
    NoServer(String),
    /// It asks more often than an agent may.
    TooFast,
}

impl AgentDoor {
    /// A door to this gateway.
    pub(crate) fn new(engine: Engine, service: Arc<dyn Service>, parts: ServerParts) -> Self {
        let pace = Arc::new(Pace::new(&parts.policy.gateway));
        let requests = RequestBudget::new(&parts.policy);
        requests.register(&engine);
        Self { engine, service, parts, requests, pace }
    }

    /// Whose token this is. `authorization` is the header as it came.
    pub(crate) fn agent(&self, authorization: Option<&str>) -> Result<AgentId, NotLetIn> {
        let token = authorization.and_then(bearer).ok_or(NotLetIn::NoToken)?;
        let (agents, token) = (self.engine.agents(), TokenDigest::of(token));
        if let Some(agent) = agents.by_token(&token) {
            return Ok(agent.id);
        }
        Err(match agents.revoked_by_token(&token) {
            Some(agent) => NotLetIn::Revoked(access::of_revoked(&self.engine, agent.id)),
            None => NotLetIn::WrongToken,
        })
    }

    /// Where an agent wants to go: one server by name, or all.
    pub(crate) fn visit(&self, agent: AgentId, server: Option<&str>) -> Result<Principal, NotLetIn> {
        let Some(name) = server else { return Ok(Principal { agent, server: None }) };
        let known = self.engine.servers().into_iter().find(|(_, known)| **known == *name);
        let (server, _) = known.ok_or_else(|| NotLetIn::NoServer(domain::policy::plain_text(name, 80)))?;
        Ok(Principal { agent, server: Some(server) })
    }

    /// Counts a request of an agent.
    pub(crate) fn pass(&self, agent: AgentId) -> Result<(), NotLetIn> {
        if self.pace.may_ask(agent) { Ok(()) } else { Err(NotLetIn::TooFast) }
    }
}

impl NotLetIn {
    /// In words. Nothing of the token is in them.
    pub(crate) fn error(&self) -> ApiError {
        match self {
            Self::NoToken => ApiError::new(
                Code::Refused,
                "this needs the token of an agent",
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
                "`taskwarden agents list` shows who has access; `taskwarden agents add NAME` adds an agent anew.",
            ),
            Self::NoServer(name) => ApiError::new(
                Code::NotFound,
                format!("there is no server `{name}`"),
                "`taskwarden servers list` names them; without a name all of them are reached together.",
            ),
            Self::TooFast => ApiError::new(Code::Refused, "this agent asks too often", "Wait a second and ask again."),
        }
    }
}

/// The token of an `Authorization: Bearer …` header.
fn bearer(header: &str) -> Option<&str> {
    let (scheme, token) = header.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

/// How often each agent may ask: a bucket that fills steadily and holds a burst.
struct Pace {
    per_second: f64,
    burst: f64,
    /// Bounded by the number of agents: only they get one.
    buckets: Mutex<HashMap<AgentId, Bucket>>,
}

struct Bucket {
    left: f64,
    at: Instant,
}

impl Pace {
    fn new(limits: &GatewayPolicy) -> Self {
        let (per_second, burst) = (f64::from(limits.requests_per_second), f64::from(limits.requests_burst));
        Self { per_second, burst, buckets: Mutex::default() }
    }

    fn may_ask(&self, agent: AgentId) -> bool {
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
    fn a_token_stands_behind_its_scheme() {
        assert_eq!(bearer("Bearer twa_x"), Some("twa_x"));
        assert_eq!(bearer("bearer  twa_x "), Some("twa_x"), "the scheme in any case");
        for other in ["twa_x", "Basic twa_x", "Bearer ", "Bearer", ""] {
            assert_eq!(bearer(other), None, "`{other}` is no token");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_agent_that_asks_too_often_waits_and_others_do_not() {
        let limits = GatewayPolicy { requests_per_second: 10, requests_burst: 3, ..GatewayPolicy::default() };
        let pace = Pace::new(&limits);
        let (hasty, other) = (AgentId::from_random(1), AgentId::from_random(2));
        assert!((0..3).all(|_| pace.may_ask(hasty)), "a burst passes");
        assert!(!pace.may_ask(hasty), "the next does not");
        assert!(pace.may_ask(other), "another agent is not held up");
        tokio::time::advance(Duration::from_millis(100)).await;
        assert!(pace.may_ask(hasty) && !pace.may_ask(hasty), "one more after a tenth of a second");
    }
}
