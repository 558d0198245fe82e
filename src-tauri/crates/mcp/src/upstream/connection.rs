//! The state of one connection, from open to close.
//!
//! It holds what the wire needs (tags, open calls and questions, the tool list); tasks and their state are the
//! engine's. `port.rs` starts what runs on it; read `calls.rs`, `tasks.rs` and `inbound.rs` next.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use domain::ids::{ConnectionId, HandleId, UpstreamTaskId};
use domain::policy::Policy;
use domain::ports::{Abilities, CallReply, Clock, Closure};
use domain::server::{Era, Negotiated};
use domain::task::observation::ObservationDoor;
use domain::task::status::{Outcome, TaskStatus};
use domain::time::Timestamp;
use engine::runtime::supervisor::Supervisor;
use futures_core::Stream;
use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, watch};

use crate::upstream::state::call_table::CallTable;
use crate::upstream::state::open_questions::OpenQuestions;
use crate::upstream::state::result_table::ResultTable;

use crate::upstream::negotiation::{Agreement, Generation, agree};
use crate::upstream::notifications::broadcast::BroadcastSender;
use crate::upstream::notifications::event_queue::EventQueue;
use crate::upstream::notifications::log_messages::LogMessages;
use crate::upstream::notifications::request_listeners::RequestListeners;
use crate::upstream::state::subscription_leases::SubscriptionLeases;
use crate::upstream::state::task_subscription::{TaskSubscriptionState, WatchedTasks};
use crate::upstream::tool_cache::ToolCache;
use crate::upstream::transport::link::{InboundMessage, McpLink, OpenedLink, RequestTag, Response, ResumedCall};
use crate::wire::view::SightingTimes;

/// The first tag; zero could be taken for none.
const FIRST_TAG: u64 = 1;

/// What a connection is built from, besides its link.
pub(crate) struct ConnectionParts {
    pub(crate) policy: Arc<Policy>,
    pub(crate) supervisor: Supervisor,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) abilities: Abilities,
    /// Takes what the server logs; `None` when nobody does.
    pub(crate) log: Option<LogMessages>,
}

/// A connection on which nothing runs yet, with what its background tasks need.
pub(crate) struct NewConnection {
    pub(crate) connection: Arc<Connection>,
    pub(crate) negotiated: Negotiated,
    pub(crate) inbound: Pin<Box<dyn Stream<Item = InboundMessage> + Send>>,
    pub(crate) refused: mpsc::Receiver<(String, Response)>,
}

/// Refusals that wait to be sent. A well-behaved server asks nothing that is refused; 64 is a burst of one that probes
/// everything.
const REFUSALS: usize = 64;

/// The state of one connection. Behaviour is in the files beside this one.
pub(crate) struct Connection {
    pub(crate) id: ConnectionId,
    pub(crate) link: Arc<dyn McpLink>,
    pub(crate) policy: Arc<Policy>,
    pub(crate) clock: Arc<dyn Clock>,
    /// Ends with the connection.
    pub(crate) scope: Supervisor,
    pub(crate) generation: Generation,
    pub(crate) era: Era,
    /// What the agent behind this connection can be asked.
    pub(crate) abilities: Abilities,
    pub(crate) version: String,
    /// The handshake result, raw.
    pub(crate) hello: Box<RawValue>,
    /// 2025: tools that support tasks are called as tasks.
    pub(crate) augments: bool,
    /// 2025: `tasks/list` may be called.
    pub(crate) lists: bool,
    /// Modern HTTP: annotated parameters are mirrored into headers.
    pub(crate) mirrors_params: bool,
    pub(crate) tells_tool_changes: bool,
    pub(crate) events: Arc<EventQueue>,
    /// Listeners of single requests.
    pub(crate) listeners: Arc<RequestListeners>,
    /// The link calls `listeners` itself, in order with its answers.
    pub(crate) link_notifies_listeners: bool,
    /// Notifications for everybody who reads them.
    pub(crate) broadcast: BroadcastSender,
    /// What agents are subscribed to.
    pub(crate) leases: SubscriptionLeases,
    pub(crate) calls: Mutex<CallTable>,
    /// Calls that an earlier core sent to this child, until the engine waits for their replies.
    pub(crate) regained: Mutex<HashMap<HandleId, ResumedCall>>,
    pub(crate) questions: Mutex<OpenQuestions>,
    pub(crate) results: Mutex<ResultTable>,
    pub(crate) tools: ToolCache,
    pub(crate) task_subscription: TaskSubscriptionState,
    pub(crate) refusals: mpsc::Sender<(String, Response)>,
    /// Live tasks that calls of this connection created and that are not watched yet.
    pub(crate) created: Mutex<BTreeSet<UpstreamTaskId>>,
    /// Tasks of the 2026 dialect from a 2025 server (protocol.md §9.12).
    modern: Mutex<HashSet<UpstreamTaskId>>,
    /// The tasks that the engine watches.
    pub(crate) watched: watch::Sender<WatchedTasks>,
    /// Whether it is known which tasks live here: on a session that an earlier connection began, only once the engine
    /// has said so.
    pub(crate) knows_tasks: AtomicBool,
    tags: AtomicU64,
}

impl Connection {
    /// The state of a connection over an open link. Nothing runs yet.
    pub(crate) fn prepare(
        id: ConnectionId,
        opened: OpenedLink,
        over_http: bool,
        parts: ConnectionParts,
    ) -> NewConnection {
        let Agreement { negotiated, generation, augments, tells_tool_changes } = agree(&opened, &parts.policy);
        let (refusals, refused) = mpsc::channel(REFUSALS);
        let mut calls = CallTable::default();
        let (first_tag, regained) = match opened.regained {
            Some(regained) => (regained.first_tag, regained.calls),
            None => (FIRST_TAG, Vec::new()),
        };
        for call in &regained {
            calls.regain(call.tag, call.ticket);
        }
        let listeners = Arc::new(RequestListeners::new(generation == Generation::Extension2026, parts.log));
        let link_notifies_listeners = opened.link.set_notification_listener(Arc::clone(&listeners) as _);
        let connection = Arc::new(Self {
            id,
            link: opened.link,
            era: opened.era,
            abilities: parts.abilities,
            version: opened.version,
            hello: opened.hello,
            policy: parts.policy,
            clock: parts.clock,
            scope: parts.supervisor.scope(),
            generation,
            augments,
            lists: negotiated.can_list,
            mirrors_params: over_http && generation == Generation::Extension2026,
            tells_tool_changes,
            events: Arc::new(EventQueue::default()),
            listeners,
            link_notifies_listeners,
            broadcast: BroadcastSender::default(),
            leases: SubscriptionLeases::default(),
            calls: Mutex::new(calls),
            regained: Mutex::new(regained.into_iter().map(|call| (call.ticket, call)).collect()),
            questions: Mutex::default(),
            results: Mutex::default(),
            tools: ToolCache::default(),
            task_subscription: TaskSubscriptionState::default(),
            refusals,
            created: Mutex::default(),
            modern: Mutex::default(),
            watched: watch::Sender::new(WatchedTasks::from([])),
            knows_tasks: AtomicBool::new(!opened.resumed),
            tags: AtomicU64::new(first_tag),
        });
        NewConnection { connection, negotiated, inbound: opened.inbound, refused }
    }

    /// The link has ended. Events are closed before anybody is woken, so that nobody who then looks for a connection finds
    /// this one.
    pub(crate) fn end(&self, closure: Closure) {
        self.events.close(closure);
        self.close_down();
    }

    /// Ends the background tasks and the broadcast.
    pub(crate) fn close_down(&self) {
        self.scope.cancel();
        self.broadcast.end();
    }

    /// Whether the link has ended, or the engine has dropped the connection.
    pub(crate) fn is_closed(&self) -> bool {
        self.scope.stopping().is_cancelled()
    }

    /// A fresh tag, unique on this link.
    pub(crate) fn next_tag(&self) -> RequestTag {
        RequestTag(self.tags.fetch_add(1, Ordering::Relaxed))
    }

    /// Times of something observed now.
    pub(crate) fn glimpse(&self, door: ObservationDoor, begun: Timestamp) -> SightingTimes {
        SightingTimes { door, begun, seen: self.clock.now() }
    }

    /// The dialect of this task.
    pub(crate) fn generation_of(&self, task: &UpstreamTaskId) -> Generation {
        match self.generation {
            Generation::Experimental2025 if self.modern.lock().contains(task) => Generation::Extension2026,
            own => own,
        }
    }

    /// Remembers a task of the 2026 dialect from a 2025 server.
    pub(crate) fn note_modern(&self, reply: &CallReply) {
        if let CallReply::Task { id, .. } = reply {
            let mut modern = self.modern.lock();
            if modern.len() < self.policy.discovered_max {
                modern.insert(id.clone());
            }
        }
    }

    /// Whether the task was created or is watched on this connection.
    pub(crate) fn lives_here(&self, task: &UpstreamTaskId) -> bool {
        self.created.lock().contains(task) || self.events.watched().binary_search(task).is_ok()
    }

    /// The task has ended, or is unknown to the server: drops everything kept for it.
    pub(crate) fn forget(self: &Arc<Self>, task: &UpstreamTaskId) {
        if let Some(tag) = self.calls.lock().forget(task) {
            self.listeners.remove(tag);
        }
        self.created.lock().remove(task);
        self.modern.lock().remove(task);
        self.forget_asking(task);
        self.forget_result(task);
    }

    pub(crate) fn watch(&self, mut tasks: Vec<UpstreamTaskId>) {
        tasks.sort_unstable();
        tasks.dedup();
        let tasks: WatchedTasks = tasks.into();
        self.created.lock().retain(|task| tasks.binary_search(task).is_err());
        self.events.set_watched(Arc::clone(&tasks));
        self.watched.send_replace(tasks);
        self.knows_tasks.store(true, Ordering::Release);
    }
}

/// Whether the task has ended and nothing of it is left to fetch.
pub(crate) fn is_settled(status: &TaskStatus) -> bool {
    match status {
        TaskStatus::Completed(Outcome::NotFetched) | TaskStatus::Failed(None) => false,
        TaskStatus::Completed(_) | TaskStatus::Failed(Some(_)) | TaskStatus::Cancelled => true,
        TaskStatus::Working | TaskStatus::InputRequired | TaskStatus::Other(_) => false,
    }
}
