//! The sessions of older HTTP clients, by `Mcp-Session-Id`.
//!
//! Bounded: a new session may take the place of an idle one, never of one with live tasks, streams or requests.
//! What a session is worth to its service is the service's word ([`Service::is_busy`]). One that was ended for idleness or
//! with an earlier core comes back by its name (`session_name.rs`).

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use domain::policy::Policy;
use parking_lot::Mutex;

use super::super::fault::{Fault, FaultKind};
use super::super::service::{Service, Visitor};
use super::super::session::Session;

/// Names the session, in requests and in the answer to `initialize`.
pub(super) const SESSION_HEADER: &str = "mcp-session-id";

/// Ended names that are remembered. Judgement: a client does not use a name again that it ended; this is for one that
/// still has a request on the way.
const ENDED_MAX: usize = 256;

/// The table.
pub(super) struct Sessions {
    /// By the name that the client knows.
    open: Mutex<HashMap<String, Arc<Session>>>,
    /// Names that their clients ended, the oldest first: these are not taken up again.
    ended: Mutex<VecDeque<String>>,
    most: usize,
    /// Of one agent.
    share: usize,
    idle: Duration,
}

impl Sessions {
    pub(super) fn new(policy: &Policy) -> Self {
        let most = policy.serving.sessions_max;
        let share = policy.shares.of_one_agent(u64::try_from(most).unwrap_or(u64::MAX));
        let share = usize::try_from(share).unwrap_or(usize::MAX);
        Self { open: Mutex::default(), ended: Mutex::default(), most, share, idle: policy.serving.session_idle }
    }

    /// The session, for whom it was opened; anybody else finds none.
    pub(super) fn get(&self, id: &str, visitor: Option<Visitor>) -> Option<Arc<Session>> {
        self.open.lock().get(id).filter(|session| session.visitor() == visitor).cloned()
    }

    /// Whether its client ended the session of this name a while ago.
    pub(super) fn is_ended(&self, name: &str) -> bool {
        self.ended.lock().iter().any(|ended| ended == name)
    }

    /// Adds a session and returns it, or the one that has the name already.
    pub(super) fn add(&self, name: &str, session: Arc<Session>, service: &dyn Service) -> Result<Arc<Session>, Fault> {
        let agent = session.visitor().map(|visitor| visitor.agent);
        let is_of_agent = |other: &Session| other.visitor().map(|visitor| visitor.agent) == agent;
        // Clients without an agent (the demo server's) share nothing with others.
        let is_over_share = |open: &HashMap<String, Arc<Session>>| {
            agent.is_some()
                && open.len() >= self.share
                && open.values().filter(|one| is_of_agent(one)).count() >= self.share
        };
        let is_idle = |session: &Session| session.is_idle_for(Duration::ZERO) && !service.is_busy(session);
        if is_over_share(&self.open.lock()) {
            self.end_where(service, |session| is_of_agent(session) && is_idle(session));
        }
        if self.open.lock().len() >= self.most {
            self.end_where(service, is_idle);
        }
        let mut open = self.open.lock();
        if let Some(known) = open.get(name) {
            return Ok(known.clone());
        }
        if is_over_share(&open) {
            let most = self.share;
            return Err(Fault::new(FaultKind::Internal, format!("more than {most} sessions of this agent are open")));
        }
        if open.len() >= self.most {
            return Err(Fault::new(FaultKind::Internal, format!("more than {} sessions are open here", self.most)));
        }
        open.insert(name.to_owned(), session.clone());
        Ok(session)
    }

    /// Ends a session. `false` when there is none.
    pub(super) fn end(&self, id: &str, visitor: Option<Visitor>, service: &dyn Service) -> bool {
        let mut open = self.open.lock();
        let ended =
            if open.get(id).is_some_and(|session| session.visitor() == visitor) { open.remove(id) } else { None };
        drop(open);
        if let Some(session) = &ended {
            let mut names = self.ended.lock();
            names.push_back(id.to_owned());
            if names.len() > ENDED_MAX {
                names.pop_front();
            }
            drop(names);
            service.session_over(session);
            session.leave();
        }
        ended.is_some()
    }

    /// Ends sessions that were not used for long.
    pub(super) fn sweep(&self, service: &dyn Service) {
        self.end_where(service, |session| session.is_idle_for(self.idle) && !service.is_busy(session));
    }

    fn end_where(&self, service: &dyn Service, over: impl Fn(&Session) -> bool) {
        let ended: Vec<_> = self.open.lock().extract_if(|_, session| over(session)).map(|(_, ended)| ended).collect();
        for session in ended {
            service.session_over(&session);
            session.leave();
        }
    }
}
