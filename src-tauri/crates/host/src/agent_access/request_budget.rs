//! How many bytes of request bodies, and how many connections, each agent may have at the listener and the socket.
//!
//! Bytes are counted as they arrive, never by what a request announces, and returned when the work on the request ends,
//! which may be long after its response began. One agent has a share, all programs
//! with control tokens together have one as large, and a part is reserved for people. How long a body may take is in
//! `http/connection.rs`.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};

use api::{ApiError, Code};
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use domain::ids::AgentId;
use domain::policy::Policy;
use engine::{Engine, Gauge};
use hyper::body::{Frame, SizeHint};
use mcp::server::BodyHold;
use parking_lot::Mutex;

pub(crate) use crate::agent_access::counted_pipe::PipeBudget;
use crate::agent_access::json_reply::refused;

/// Whose budget a request uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holder {
    /// An agent's, by its token.
    Agent(AgentId),
    /// That of all programs with control tokens together.
    Programs,
    /// A person, at the core's socket or in the browser's window.
    Person,
}

/// What is in use. Clones are the same budget.
#[derive(Clone)]
pub(crate) struct RequestBudget(Arc<Inner>);

struct Inner {
    bytes_max: u64,
    bytes_of_agents: u64,
    bytes_of_one_agent: u64,
    /// Known when the listener is open: it depends on the files that the process may open.
    connections_of_one_agent: AtomicU64,
    used: Mutex<Used>,
}

#[derive(Default)]
struct Used {
    bytes: u64,
    /// With those of programs that have a control token.
    bytes_of_agents: u64,
    bytes_of_programs: u64,
    by_agent: HashMap<AgentId, OfAgent>,
}

#[derive(Default)]
struct OfAgent {
    bytes: u64,
    connections: u64,
}

impl RequestBudget {
    /// A budget with nothing in use.
    pub(crate) fn new(policy: &Policy) -> Self {
        let bytes_max = u64::try_from(policy.shares.body_bytes_max).unwrap_or(u64::MAX);
        let connections = u64::try_from(policy.gateway.connections_max).unwrap_or(u64::MAX);
        Self(Arc::new(Inner {
            bytes_max,
            bytes_of_agents: policy.shares.of_all_agents(bytes_max),
            bytes_of_one_agent: policy.shares.of_one_agent(bytes_max),
            connections_of_one_agent: AtomicU64::new(policy.shares.of_one_agent(connections)),
            used: Mutex::default(),
        }))
    }

    /// Sets how many connections of one agent the listener accepts.
    pub(crate) fn set_connections_of_one_agent(&self, most: u64) {
        self.0.connections_of_one_agent.store(most, Ordering::Relaxed);
    }

    /// Registers what is in use with the engine.
    pub(crate) fn register(&self, engine: &Engine) {
        let (inner, agents) = (Arc::downgrade(&self.0), engine.clone());
        let agents = move |agent| agents.agents().get(agent).map(|known| known.name.clone());
        engine.gauges().add(move |rows| {
            let Some(inner) = inner.upgrade() else { return };
            let used = inner.used.lock();
            rows.push(Gauge::bytes("bodies of requests", "everyone", used.bytes, inner.bytes_max));
            let most = inner.bytes_of_one_agent;
            rows.push(Gauge::bytes("bodies of requests", "control tokens", used.bytes_of_programs, most));
            for (agent, of_agent) in &used.by_agent {
                let Some(name) = agents(*agent) else { continue };
                let scope = format!("agent {name}");
                let most = inner.connections_of_one_agent.load(Ordering::Relaxed);
                rows.push(Gauge::count("connections", scope.clone(), of_agent.connections, most));
                rows.push(Gauge::bytes("bodies of requests", scope, of_agent.bytes, inner.bytes_of_one_agent));
            }
        });
    }

    /// Runs a request and counts its body for its holder.
    pub(crate) async fn run(&self, holder: Holder, request: Request, next: Next) -> Response {
        let held = self.hold(holder);
        let counted = Arc::clone(&held);
        let mut request = request.map(|body| Body::new(CountedBody { body, held: counted }));
        request.extensions_mut().insert(BodyHold::new(Arc::clone(&held) as _));
        let response = next.run(request).await;
        if held.is_refused() { full() } else { response }
    }

    /// Holds nothing yet for a request of this holder.
    pub(crate) fn hold(&self, holder: Holder) -> Arc<HeldBytes> {
        let (bytes, is_refused) = (AtomicU64::new(0), AtomicBool::new(false));
        Arc::new(HeldBytes { budget: self.clone(), holder, bytes, is_refused })
    }

    fn take(&self, holder: Holder, bytes: u64) -> bool {
        let mut used = self.0.used.lock();
        let all = used.bytes.saturating_add(bytes);
        if all > self.0.bytes_max {
            return false;
        }
        if holder != Holder::Person {
            let of_agents = used.bytes_of_agents.saturating_add(bytes);
            let of_one = used.of(holder).saturating_add(bytes);
            if of_one > self.0.bytes_of_one_agent || of_agents > self.0.bytes_of_agents {
                return false;
            }
            used.bytes_of_agents = of_agents;
            match holder {
                Holder::Agent(agent) => used.by_agent.entry(agent).or_default().bytes = of_one,
                Holder::Programs => used.bytes_of_programs = of_one,
                Holder::Person => {}
            }
        }
        used.bytes = all;
        true
    }

    fn give_back(&self, holder: Holder, bytes: u64) {
        let mut used = self.0.used.lock();
        used.bytes = used.bytes.saturating_sub(bytes);
        match holder {
            Holder::Agent(agent) => {
                used.bytes_of_agents = used.bytes_of_agents.saturating_sub(bytes);
                if let Some(own) = used.by_agent.get_mut(&agent) {
                    own.bytes = own.bytes.saturating_sub(bytes);
                }
                used.forget_if_unused(agent);
            }
            Holder::Programs => {
                used.bytes_of_agents = used.bytes_of_agents.saturating_sub(bytes);
                used.bytes_of_programs = used.bytes_of_programs.saturating_sub(bytes);
            }
            Holder::Person => {}
        }
    }

    fn connect(&self, agent: AgentId) -> bool {
        let mut used = self.0.used.lock();
        let own = used.by_agent.entry(agent).or_default();
        let has_room = own.connections < self.0.connections_of_one_agent.load(Ordering::Relaxed);
        own.connections += u64::from(has_room);
        used.forget_if_unused(agent);
        has_room
    }

    fn disconnect(&self, agent: AgentId) {
        let mut used = self.0.used.lock();
        if let Some(own) = used.by_agent.get_mut(&agent) {
            own.connections = own.connections.saturating_sub(1);
        }
        used.forget_if_unused(agent);
    }
}

impl Used {
    /// Bytes of bodies that this holder has now; people have no share of their own.
    fn of(&self, holder: Holder) -> u64 {
        match holder {
            Holder::Agent(agent) => self.by_agent.get(&agent).map_or(0, |own| own.bytes),
            Holder::Programs => self.bytes_of_programs,
            Holder::Person => 0,
        }
    }

    fn forget_if_unused(&mut self, agent: AgentId) {
        if self.by_agent.get(&agent).is_some_and(|own| own.bytes == 0 && own.connections == 0) {
            self.by_agent.remove(&agent);
        }
    }
}

/// What one request holds until it is answered.
pub(crate) struct HeldBytes {
    budget: RequestBudget,
    holder: Holder,
    bytes: AtomicU64,
    is_refused: AtomicBool,
}

impl HeldBytes {
    /// Whether there was no room for some of the bytes.
    pub(crate) fn is_refused(&self) -> bool {
        self.is_refused.load(Ordering::Acquire)
    }

    pub(super) fn grow(&self, bytes: usize) -> bool {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        let has_room = self.budget.take(self.holder, bytes);
        if has_room {
            self.bytes.fetch_add(bytes, Ordering::AcqRel);
        } else {
            self.is_refused.store(true, Ordering::Release);
        }
        has_room
    }
}

impl Drop for HeldBytes {
    fn drop(&mut self) {
        let bytes = *self.bytes.get_mut();
        if bytes > 0 {
            self.budget.give_back(self.holder, bytes);
        }
    }
}

/// A body whose bytes are counted.
pub(crate) struct CountedBody<B> {
    body: B,
    held: Arc<HeldBytes>,
}

impl<B> CountedBody<B> {
    pub(crate) const fn new(body: B, held: Arc<HeldBytes>) -> Self {
        Self { body, held }
    }
}

impl<B: HttpBody<Data = Bytes> + Unpin> HttpBody for CountedBody<B>
where
    B::Error: Into<axum::BoxError>,
{
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx).map_err(axum::Error::new);
        if let Poll::Ready(Some(Ok(frame))) = &polled
            && let Some(data) = frame.data_ref()
            && !self.held.grow(data.len())
        {
            return Poll::Ready(Some(Err(axum::Error::new(std::io::Error::from(std::io::ErrorKind::QuotaExceeded)))));
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The reply when there is no room for a body.
pub(crate) fn full() -> Response {
    too_many("open requests use all the memory they may use")
}

/// The reply when an agent has all the connections it may have.
pub(crate) fn too_many_connections() -> Response {
    too_many("this agent has the most connections that one agent may have")
}

fn too_many(why: &str) -> Response {
    let mut response =
        refused(&ApiError::new(Code::Refused, why, "Wait until some of your requests are answered, then try again."));
    *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
    let headers = response.headers_mut();
    headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    // The rest of the body is not read.
    headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

/// The owner of a connection: the first agent that proves itself on it.
#[derive(Default)]
pub(crate) struct ConnectionOwner(Mutex<Option<(RequestBudget, AgentId)>>);

impl ConnectionOwner {
    /// Counts the connection for this agent, once; false if the agent has used up its share.
    pub(crate) fn claim(&self, budget: &RequestBudget, agent: AgentId) -> bool {
        let mut owner = self.0.lock();
        if owner.is_some() {
            return true;
        }
        let has_room = budget.connect(agent);
        if has_room {
            *owner = Some((budget.clone(), agent));
        }
        has_room
    }
}

impl Drop for ConnectionOwner {
    fn drop(&mut self) {
        if let Some((budget, agent)) = self.0.lock().take() {
            budget.disconnect(agent);
        }
    }
}

#[cfg(test)]
mod tests {
    use domain::policy::SharePolicy;

    use super::*;

    fn budget() -> RequestBudget {
        let shares = SharePolicy { body_bytes_max: 100, ..SharePolicy::default() };
        RequestBudget::new(&Policy { shares, ..Policy::default() })
    }

    #[test]
    fn one_agent_has_its_share_all_of_them_leave_some_to_people_and_all_comes_back() {
        let budget = budget();
        let agents: Vec<_> = (1..=4).map(AgentId::from_random).map(Holder::Agent).collect();
        let [first, second, third, fourth] = agents.as_slice() else { panic!("four agents") };
        assert!(budget.take(*first, 25), "a quarter is its share");
        assert!(!budget.take(*first, 1), "and no byte more");
        assert!(budget.take(*second, 25) && budget.take(*third, 25), "others have theirs");
        assert!(budget.take(*fourth, 15) && !budget.take(*fourth, 1), "until only what is kept for people is left");
        assert!(budget.take(Holder::Person, 10) && !budget.take(Holder::Person, 1), "which people can use");
        for (holder, bytes) in [(first, 25), (second, 25), (third, 25), (fourth, 15), (&Holder::Person, 10)] {
            budget.give_back(*holder, bytes);
        }
        let used = budget.0.used.lock();
        assert!(used.bytes == 0 && used.bytes_of_agents == 0 && used.by_agent.is_empty(), "nothing is left behind");
    }

    #[test]
    fn programs_with_control_tokens_have_the_share_of_one_agent_and_leave_some_to_people() {
        let budget = budget();
        assert!(budget.take(Holder::Programs, 25) && !budget.take(Holder::Programs, 1), "a quarter is their share");
        for (agent, bytes) in (1..=3).map(AgentId::from_random).map(Holder::Agent).zip([25, 25, 15]) {
            assert!(budget.take(agent, bytes), "agents have the rest of what is not for people");
        }
        assert!(!budget.take(Holder::Agent(AgentId::from_random(3)), 1), "and no byte of that");
        assert!(budget.take(Holder::Person, 10), "which people can use");
        budget.give_back(Holder::Programs, 25);
        assert!(budget.take(Holder::Programs, 25), "what was given back can be used again");
    }

    #[test]
    fn a_connection_counts_for_the_agent_that_proved_itself_on_it_until_it_ends() {
        let budget = budget();
        budget.set_connections_of_one_agent(1);
        let (one, other) = (AgentId::from_random(1), AgentId::from_random(2));
        let (first, second) = (ConnectionOwner::default(), ConnectionOwner::default());
        assert!(first.claim(&budget, one) && first.claim(&budget, one), "the same connection counts once");
        assert!(!second.claim(&budget, one), "a second one is over its share");
        assert!(second.claim(&budget, other), "of another agent it is not");
        drop(first);
        assert!(ConnectionOwner::default().claim(&budget, one), "an ended one is given back");
    }
}
