//! The sessions of older HTTP clients, by `Mcp-Session-Id`.
//!
//! Bounded: a new session may take the place of an idle one, never of one with live tasks, streams or requests.
//! What a session is worth to its service is the service's word ([`Service::is_busy`]).

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use domain::policy::Serving;
use parking_lot::Mutex;

use super::super::fault::{Fault, FaultKind};
use super::super::service::{Service, Visitor};
use super::super::session::Session;

/// Names the session, in requests and in the answer to `initialize`.
pub(super) const SESSION_HEADER: &str = "mcp-session-id";

/// The table.
pub(super) struct Sessions {
    open: Mutex<HashMap<String, Arc<Session>>>,
    most: usize,
    idle: Duration,
}

impl Sessions {
    pub(super) fn new(limits: &Serving) -> Self {
        Self { open: Mutex::default(), most: limits.sessions_max, idle: limits.session_idle }
    }

    /// The session, for whom it was opened; anybody else finds none.
    pub(super) fn get(&self, id: &str, visitor: Option<Visitor>) -> Option<Arc<Session>> {
        self.open.lock().get(id).filter(|session| session.visitor() == visitor).cloned()
    }

    pub(super) fn add(&self, session: Arc<Session>, service: &dyn Service) -> Result<(), Fault> {
        if self.open.lock().len() >= self.most {
            self.end_where(service, |session| session.is_idle_for(Duration::ZERO) && !service.is_busy(session));
        }
        let mut open = self.open.lock();
        if open.len() >= self.most {
            return Err(Fault::new(FaultKind::Internal, format!("more than {} sessions are open here", self.most)));
        }
        open.insert(session.id().to_owned(), session);
        Ok(())
    }

    /// Ends a session. `false` when there is none.
    pub(super) fn end(&self, id: &str, visitor: Option<Visitor>, service: &dyn Service) -> bool {
        let mut open = self.open.lock();
        let ended =
            if open.get(id).is_some_and(|session| session.visitor() == visitor) { open.remove(id) } else { None };
        drop(open);
        if let Some(session) = &ended {
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
