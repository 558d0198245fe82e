//! An open connection: what was negotiated, and which tasks are known to live on it.
//!
//! It is never changed; the server actor replaces it as a whole (`servers/connect.rs`).

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use domain::ids::{ConnectionId, HandleId, SessionKey};
use domain::ports::Upstream;
use domain::server::{Negotiated, Server, ServerAddress};
use domain::task::status::GoneWhy;
use domain::task::{Home, TaskHandle};
use domain::time::Timestamp;
use parking_lot::Mutex;

/// One live connection.
pub(crate) struct LiveConnection {
    pub(crate) id: ConnectionId,
    /// What to talk to.
    pub(crate) upstream: Arc<dyn Upstream>,
    /// What was agreed.
    pub(crate) negotiated: Negotiated,
    /// Where tasks of this connection live.
    pub(crate) home: Home,
    /// The process behind it, with its group, and since when this core has it.
    pub(crate) process: Option<(u32, Timestamp)>,
    /// An earlier core started that process.
    pub(crate) is_taken_over: bool,
    /// How a person ended the process behind it, from the moment in which it is being ended.
    ended_by: OnceLock<GoneWhy>,
    /// Tasks of another home that were seen, by their creation time, to be the same task here.
    proven: Mutex<HashSet<HandleId>>,
}

impl LiveConnection {
    /// A connection to this server, as configured.
    pub(crate) fn new(id: ConnectionId, upstream: Arc<dyn Upstream>, negotiated: Negotiated, server: &Server) -> Self {
        let session = match (&negotiated.session, &server.address) {
            (Some(session), _) => Some(session.clone()),
            // A modern child needs no session on the wire, but its tasks live and die with it all the same.
            (None, ServerAddress::Stdio { .. }) => Some(SessionKey::new(id.to_string())),
            (None, ServerAddress::Http { .. }) => None,
        };
        let home = Home { generation: server.generation, session };
        Self {
            id,
            upstream,
            negotiated,
            home,
            process: None,
            is_taken_over: false,
            ended_by: OnceLock::new(),
            proven: Mutex::new(HashSet::new()),
        }
    }

    /// The same connection, behind which this process runs.
    pub(crate) fn of_process(self, child: Option<u32>, is_taken_over: bool, since: Timestamp) -> Self {
        Self { process: child.map(|pid| (pid, since)), is_taken_over, ..self }
    }

    /// The same connection, whose new tasks live in a new generation.
    pub(crate) fn in_generation(&self, generation: u32) -> Self {
        Self {
            id: self.id,
            upstream: Arc::clone(&self.upstream),
            negotiated: self.negotiated.clone(),
            home: Home { generation, session: self.home.session.clone() },
            process: self.process,
            is_taken_over: self.is_taken_over,
            ended_by: self.ended_by.clone(),
            proven: Mutex::new(self.proven.lock().clone()),
        }
    }

    /// Whether a task id of this handle means the same task on this connection. Two children of one server may give
    /// equal ids to different tasks (protocol.md §7.2), so a foreign home must be proven first.
    pub(crate) fn holds(&self, handle: &TaskHandle) -> bool {
        // Without a session a task belongs to the address; a changed address begins a new generation.
        let is_here = match &handle.home.session {
            None => handle.home.generation >= self.home.generation,
            Some(_) => handle.home.session == self.home.session,
        };
        is_here || self.proven.lock().contains(&handle.id)
    }

    /// Whether this is the same connection, or another one of the same session.
    pub(crate) fn is_same_session(&self, other: &Self) -> bool {
        self.id == other.id || self.home.session.is_some() && self.home.session == other.home.session
    }

    /// A person ends the process behind it; what is lost of its calls from now on was ended by that.
    pub(crate) fn set_ended_by(&self, end: GoneWhy) {
        // The first of two acts is the one that ended it.
        let _ = self.ended_by.set(end);
    }

    /// How a person ended the process behind it, if one did.
    pub(crate) fn ended_by(&self) -> Option<&GoneWhy> {
        self.ended_by.get()
    }

    /// The task behind this handle was seen here.
    pub(crate) fn prove(&self, id: HandleId) {
        self.proven.lock().insert(id);
    }
}
