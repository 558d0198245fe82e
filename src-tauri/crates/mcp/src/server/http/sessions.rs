//! The table of 2025 HTTP sessions, by `Mcp-Session-Id`.
//!
//! It is bounded: a new session may replace an idle one, never one with live tasks, streams or requests
//! ([`Service::is_busy`]). A session that was ended for idleness, or by a restart, is restored by its name
//! (`session_name.rs`).

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use axum::http::HeaderName;
use domain::policy::Policy;
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::super::principal::Principal;
use super::super::service::Service;
use super::super::session::Session;
use crate::server::rpc_error::{RequestError, RequestErrorKind};

/// Names the session, in requests and in the answer to `initialize`.
pub(crate) const SESSION_HEADER: HeaderName = HeaderName::from_static("mcp-session-id");

/// Ended names that are remembered. Judgement: a client does not use a name again that it ended; this is for one that
/// still has a request on the way.
const ENDED_MAX: usize = 256;

/// All sessions of one endpoint.
pub(crate) struct SessionTable {
    /// By the name that the client knows.
    open: Mutex<HashMap<String, Arc<Session>>>,
    /// Names that their clients ended, the oldest first: these are not taken up again.
    ended: Mutex<VecDeque<String>>,
    most: usize,
    /// Of one agent.
    share: usize,
    idle: Duration,
    sweep_every: Duration,
    /// Wakes the sweep, which sleeps while there are no sessions.
    added: Notify,
}

/// How often, in its idle time, a session is looked at that was not used for longer but is held open. Judgement: a stream
/// lasts for hours, and its session may stay for a minute after it.
const LOOKS_AT_HELD: u32 = 60;

impl SessionTable {
    pub(crate) fn new(policy: &Policy) -> Self {
        let most = policy.serving.sessions_max;
        let share = policy.shares.of_one_agent(u64::try_from(most).unwrap_or(u64::MAX));
        let share = usize::try_from(share).unwrap_or(usize::MAX);
        let (idle, sweep_every) = (policy.serving.session_idle, policy.serving.sweep_every);
        let (open, ended, added) = (Mutex::default(), Mutex::default(), Notify::new());
        Self { open, ended, most, share, idle, sweep_every, added }
    }

    /// The session, for whom it was opened; anybody else finds none.
    pub(crate) fn get(&self, id: &str, principal: Option<Principal>) -> Option<Arc<Session>> {
        self.open.lock().get(id).filter(|session| session.principal() == principal).cloned()
    }

    /// Whether its client ended the session of this name a while ago.
    pub(crate) fn is_ended(&self, name: &str) -> bool {
        self.ended.lock().iter().any(|ended| ended == name)
    }

    /// Adds a session and returns it, or the one that has the name already.
    pub(crate) fn add(
        &self,
        name: &str,
        session: Arc<Session>,
        service: &dyn Service,
    ) -> Result<Arc<Session>, RequestError> {
        let holder = session.principal();
        let is_of_holder = |other: &Session| match (holder, other.principal()) {
            (Some(holder), Some(other)) => holder.has_token_of(other),
            _ => false,
        };
        // Clients without a token (the demo server's) share nothing with others.
        let is_over_share = |open: &HashMap<String, Arc<Session>>| {
            holder.is_some()
                && open.len() >= self.share
                && open.values().filter(|one| is_of_holder(one)).count() >= self.share
        };
        let is_idle = |session: &Session| session.is_idle_for(Duration::ZERO) && !service.is_busy(session);
        if is_over_share(&self.open.lock()) {
            self.end_where(service, |session| is_of_holder(session) && is_idle(session));
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
            return Err(RequestError::new(
                RequestErrorKind::Internal,
                format!("more than {most} sessions with this token are open"),
            ));
        }
        if open.len() >= self.most {
            return Err(RequestError::new(
                RequestErrorKind::Internal,
                format!("more than {} sessions are open here", self.most),
            ));
        }
        open.insert(name.to_owned(), session.clone());
        drop(open);
        self.added.notify_one();
        Ok(session)
    }

    /// Ends a session. `false` when there is none.
    pub(crate) fn end(&self, id: &str, principal: Option<Principal>, service: &dyn Service) -> bool {
        let mut open = self.open.lock();
        let ended =
            if open.get(id).is_some_and(|session| session.principal() == principal) { open.remove(id) } else { None };
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

    /// Ends sessions that were not used for long, for ever. Wakes when the first of them can be due.
    pub(crate) async fn sweep(&self, service: &dyn Service) {
        loop {
            self.end_where(service, |session| session.is_idle_for(self.idle) && !service.is_busy(session));
            match self.next_look() {
                Some(wait) => tokio::time::sleep(wait).await,
                None => self.added.notified().await,
            }
        }
    }

    /// When a session can be due at the earliest; `None` while there is none.
    fn next_look(&self) -> Option<Duration> {
        let open = self.open.lock();
        let longest = open.values().map(|session| session.idle()).max()?;
        let left = self.idle.saturating_sub(longest);
        let held = if left.is_zero() { self.idle / LOOKS_AT_HELD } else { left };
        Some(held.max(self.sweep_every))
    }

    fn end_where(&self, service: &dyn Service, over: impl Fn(&Session) -> bool) {
        let ended: Vec<_> = self.open.lock().extract_if(|_, session| over(session)).map(|(_, ended)| ended).collect();
        for session in ended {
            service.session_over(&session);
            session.leave();
        }
    }
}
