//! Shared state of one server connection: health, calls in flight, the delivery lane, and requests to its actor.
//!
//! Only the actor (`servers/actor.rs`) changes connection and health; others read, and leave requests
//! (`connection/actor_requests.rs`).

mod actor_requests;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use domain::ids::{AgentId, ConnectionId, HandleId, ServerId};
use domain::policy::Policy;
use domain::ports::ToolFacts;
use domain::server::tool_names::NotOfferedCounts;
use domain::server::{Era, Server, ServerAddress, ServerHealth};
use domain::task::observation::Progress;
use domain::time::Timestamp;
use parking_lot::{Mutex, RwLock};
use tokio::sync::{Notify, Semaphore, watch};
use tokio_util::sync::CancellationToken;

use crate::connections::connection::actor_requests::ActorRequests;
use crate::connections::connection_key::ConnectionKey;
use crate::connections::in_flight_call::InFlightCall;
use crate::connections::lease::LeaseCount;
use crate::connections::live_connection::LiveConnection;
use crate::connections::observed::ObservedServer;
use crate::runtime::commit_signal::CommitSignal;

/// What the actor is asked to do about one task.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PollRequest {
    /// Poll it as soon as its hint allows.
    pub(crate) soon: bool,
    /// Poll it no earlier than then, if no poll is planned.
    pub(crate) poll_at: Option<Timestamp>,
    /// A person acted on it: it is polled soon after, regardless of the server's hint (ruling 46).
    pub(crate) person_acted: bool,
}

/// Calls over a connection.
#[derive(Default)]
struct CallTable {
    in_flight: HashMap<HandleId, Arc<InFlightCall>>,
    /// The latest progress that was not committed yet, by task.
    progress: HashMap<HandleId, Progress>,
}

/// What was seen of the server, shown to people; nothing is decided by it.
#[derive(Default)]
struct ServerFacts {
    /// It pushes changes on this connection, or agreed to.
    pushes: bool,
    /// Its tools, as listed last.
    tools: Option<ListedToolFacts>,
    /// When that listing was asked for.
    tools_asked: Option<Timestamp>,
}

/// What is known of a server's tools between two listings.
#[derive(Debug, PartialEq, Eq)]
struct ListedToolFacts {
    count: usize,
    /// Those that the server says destroy something.
    destructive: HashSet<String>,
    /// Those that agents are not offered.
    not_offered: NotOfferedCounts,
}

/// Questions of a server that were refused, because too many of its questions are open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RefusedQuestions {
    /// How many in this run of the core.
    pub count: u64,
    /// When the first of them came.
    pub since: Timestamp,
}

/// One connection to a server, open or not.
pub(crate) struct ServerConnection {
    pub(crate) server: ServerId,
    /// Which connection to it this is.
    pub(crate) key: ConnectionKey,
    name: RwLock<Arc<str>>,
    configured: RwLock<Server>,
    requests: Mutex<ActorRequests>,
    /// Wakes the actor.
    pub(crate) wake: Notify,
    live: watch::Sender<Option<Arc<LiveConnection>>>,
    health: watch::Sender<ServerHealth>,
    commits: Arc<CommitSignal>,
    /// At most this many deliveries at a time; reads have slots of their own (ruling 12).
    pub(crate) delivery_slots: Arc<Semaphore>,
    /// Cancels that are recorded as leaving and have not left, so that many share a commit and none says so long before.
    pub(crate) leaving_cancels: Semaphore,
    calls: Mutex<CallTable>,
    facts: RwLock<ServerFacts>,
    /// Questions without room in this run, over all connections to the server; kept on the shared one.
    refused_questions: Mutex<Option<RefusedQuestions>>,
    /// Which wire it spoke when it was last connected in this run.
    era: RwLock<Option<Era>>,
    pub(crate) leases: LeaseCount,
    /// Seen of the server, over all connections to it.
    pub(crate) observed: Arc<ObservedServer>,
    /// It was opened for a process that an earlier run left: until that is there or gone, none is started.
    pub(crate) is_taking_over: AtomicBool,
    /// Ends the actor.
    pub(crate) leave: CancellationToken,
}

impl ServerConnection {
    pub(crate) fn new(
        server: &Server,
        seat: Option<AgentId>,
        policy: &Policy,
        commits: Arc<CommitSignal>,
        observed: Arc<ObservedServer>,
        leave: CancellationToken,
    ) -> Self {
        Self {
            server: server.id,
            key: ConnectionKey { server: server.id, seat },
            name: RwLock::new(Arc::from(server.name.as_str())),
            configured: RwLock::new(server.clone()),
            requests: Mutex::new(ActorRequests::default()),
            wake: Notify::new(),
            live: watch::Sender::new(None),
            health: watch::Sender::new(ServerHealth::Unknown),
            commits,
            delivery_slots: Arc::new(Semaphore::new(policy.deliveries_per_server)),
            leaving_cancels: Semaphore::new(policy.control.tasks_per_commit),
            calls: Mutex::default(),
            facts: RwLock::new(ServerFacts::default()),
            refused_questions: Mutex::new(None),
            era: RwLock::new(None),
            leases: LeaseCount::default(),
            observed,
            is_taking_over: AtomicBool::new(false),
            leave,
        }
    }

    /// Whether no process is started for it: its agent lost its access. One that runs is connected to.
    pub(crate) fn starts_nothing(&self) -> bool {
        let is_local = match self.configured().address {
            ServerAddress::Stdio { .. } => true,
            ServerAddress::Http { .. } => false,
        };
        is_local && self.leases.is_unwanted()
    }

    /// Whether it is still to be seen if the process that it was opened for is there.
    pub(crate) fn is_taking_over(&self) -> bool {
        self.is_taking_over.load(Ordering::Acquire)
    }

    /// For the actor only: the process that it was opened for is there, or gone. Returns whether that was open.
    pub(crate) fn end_taking_over(&self) -> bool {
        self.is_taking_over.swap(false, Ordering::AcqRel)
    }

    /// For the actor only: whether the process is there could not be seen, and is looked at again.
    pub(crate) fn take_over_later(&self) {
        self.is_taking_over.store(true, Ordering::Release);
    }

    /// The person's name for the server.
    pub(crate) fn name(&self) -> Arc<str> {
        self.name.read().clone()
    }

    /// The server as last configured.
    pub(crate) fn configured(&self) -> Server {
        self.configured.read().clone()
    }

    /// Which wire the server spoke when it was last connected, in any run.
    pub(crate) fn known_era(&self) -> Option<Era> {
        let era = *self.era.read();
        era.or_else(|| self.configured.read().negotiated.as_ref().map(|negotiated| negotiated.era))
    }

    /// The connection of the moment.
    pub(crate) fn live(&self) -> Option<Arc<LiveConnection>> {
        self.live.borrow().clone()
    }

    /// The connection of the moment, unless it is closed: the actor may not have seen its end yet.
    pub(crate) fn open_connection(&self) -> Option<Arc<LiveConnection>> {
        self.live().filter(|live| !live.upstream.is_closed())
    }

    /// Waits until a connection that is over is taken away or replaced; at once when there is none such.
    pub(crate) async fn closed_connection_removed(&self) {
        let mut connections = self.live.subscribe();
        let is_usable =
            |live: &Option<Arc<LiveConnection>>| live.as_ref().is_none_or(|live| !live.upstream.is_closed());
        // The sender lives as long as `self`, so this cannot fail.
        drop(connections.wait_for(is_usable).await);
    }

    /// Waits until this connection is taken away or replaced.
    pub(crate) async fn replaced(&self, id: ConnectionId) {
        let mut connections = self.live.subscribe();
        // The sender lives as long as `self`, so this cannot fail.
        drop(connections.wait_for(|live| live.as_ref().is_none_or(|live| live.id != id)).await);
    }

    /// For the actor only.
    pub(crate) fn set_live(&self, live: Option<Arc<LiveConnection>>) {
        match &live {
            Some(live) => *self.era.write() = Some(live.negotiated.era),
            None => self.facts.write().pushes = false,
        }
        self.live.send_replace(live);
    }

    /// Whether the server tells us of changes by itself.
    pub(crate) fn pushes(&self) -> bool {
        self.facts.read().pushes
    }

    /// Questions that were refused in this run of the core.
    pub(crate) fn refused_questions(&self) -> Option<RefusedQuestions> {
        *self.refused_questions.lock()
    }

    /// For actors only: the server asked more than can be open.
    pub(crate) fn questions_refused(&self, count: u64, now: Timestamp) {
        let mut refused = self.refused_questions.lock();
        let before = refused.unwrap_or(RefusedQuestions { count: 0, since: now });
        *refused = Some(RefusedQuestions { count: before.count.saturating_add(count), ..before });
        drop(refused);
        self.show_change();
    }

    /// For the actor only: the server pushes changes, or no longer does.
    pub(crate) fn set_pushes(&self, pushes: bool) {
        let before = std::mem::replace(&mut self.facts.write().pushes, pushes);
        if before != pushes {
            self.show_change();
        }
    }

    /// How many tools it had when they were listed last.
    pub(crate) fn known_tools(&self) -> Option<usize> {
        self.facts.read().tools.as_ref().map(|tools| tools.count)
    }

    /// How many of its tools agents are not offered, as listed last.
    pub(crate) fn tools_not_offered(&self) -> NotOfferedCounts {
        self.facts.read().tools.as_ref().map(|tools| tools.not_offered).unwrap_or_default()
    }

    /// Whether it says that this tool destroys something, as listed last.
    pub(crate) fn says_destructive(&self, tool: &str) -> bool {
        self.facts.read().tools.as_ref().is_some_and(|tools| tools.destructive.contains(tool))
    }

    /// When its tools were asked for, of the listing that is known.
    pub(crate) fn tools_asked(&self) -> Option<Timestamp> {
        self.facts.read().tools_asked
    }

    /// Its tools were listed; `asked` is when they were asked for.
    pub(crate) fn tools_listed(&self, tools: &[ToolFacts], asked: Timestamp) {
        let destructive = tools.iter().filter(|tool| tool.destructive_hint == Some(true));
        let listed = ListedToolFacts {
            count: tools.len(),
            destructive: destructive.map(|tool| tool.name.clone()).collect(),
            not_offered: NotOfferedCounts::of(tools.iter().map(|tool| tool.name.as_str())),
        };
        let mut facts = self.facts.write();
        facts.tools_asked = Some(asked);
        let is_news = facts.tools.as_ref() != Some(&listed);
        if is_news {
            facts.tools = Some(listed);
        }
        drop(facts);
        if is_news {
            self.show_change();
        }
    }

    pub(crate) fn health(&self) -> ServerHealth {
        self.health.borrow().clone()
    }

    /// For the actor only.
    pub(crate) fn set_health(&self, health: ServerHealth) {
        let changed = self.health.send_if_modified(|now| {
            let changed = *now != health;
            if changed {
                *now = health;
            }
            changed
        });
        if changed {
            self.show_change();
        }
    }

    /// Only the shared connection shows the server's health; an agent's own does not.
    fn show_change(&self) {
        if self.key.seat.is_none() {
            self.commits.health_changed(self.server);
        }
    }

    /// Wakes at every change of health.
    pub(crate) fn healths(&self) -> watch::Receiver<ServerHealth> {
        self.health.subscribe()
    }

    /// Hands the actor a new configuration.
    pub(crate) fn reconfigure(&self, server: Server) {
        *self.name.write() = Arc::from(server.name.as_str());
        let before = std::mem::replace(&mut *self.configured.write(), server.clone());
        if before.address != server.address || before.consent != server.consent || self.live().is_none() {
            // Whoever waits for the server must not see how the old configuration failed.
            self.set_health(ServerHealth::Connecting);
        }
        self.requests.lock().server = Some(server);
        self.wake.notify_one();
    }

    /// Asks to connect now, when it is not open.
    pub(crate) fn connect_unless_open(&self) {
        if self.live().is_none() {
            self.connect_now();
        }
    }

    /// Asks to connect now. Health changes at once, so that waiters do not see the old failure.
    pub(crate) fn connect_now(&self) {
        match self.health() {
            ServerHealth::Down { retry_at: Some(_), .. }
            | ServerHealth::Ended { .. }
            | ServerHealth::Blocked { .. } => self.set_health(ServerHealth::Connecting),
            ServerHealth::Down { retry_at: None, .. }
            | ServerHealth::Unknown
            | ServerHealth::Connecting
            | ServerHealth::Up { .. } => {}
        }
        self.requests.lock().connect_now = true;
        self.wake.notify_one();
    }

    pub(crate) fn register_call(&self, id: HandleId, in_flight: InFlightCall) -> Arc<InFlightCall> {
        let in_flight = Arc::new(in_flight);
        self.calls.lock().in_flight.insert(id, Arc::clone(&in_flight));
        in_flight
    }

    /// A call has its reply, or cannot get one any more.
    pub(crate) fn remove_call(&self, id: HandleId) {
        self.calls.lock().in_flight.remove(&id);
    }

    /// As [`ServerConnection::remove_call`], unless a further round of the call is in flight by now; false then.
    pub(crate) fn remove_round(&self, id: HandleId, round: &InFlightCall) -> bool {
        let mut calls = self.calls.lock();
        let is_newest = calls.in_flight.get(&id).is_none_or(|newest| std::ptr::eq(Arc::as_ptr(newest), round));
        if is_newest {
            calls.in_flight.remove(&id);
        }
        is_newest
    }

    /// As [`ServerConnection::remove_call`], for a call of which nothing is recorded: its progress goes with it.
    pub(crate) fn forget_call(&self, id: HandleId) {
        let mut calls = self.calls.lock();
        calls.in_flight.remove(&id);
        if !calls.progress.is_empty() {
            calls.progress.remove(&id);
        }
    }

    pub(crate) fn in_flight_call(&self, id: HandleId) -> Option<Arc<InFlightCall>> {
        self.calls.lock().in_flight.get(&id).cloned()
    }

    pub(crate) fn in_flight_count(&self) -> usize {
        self.calls.lock().in_flight.len()
    }

    /// Calls in flight that have no row.
    pub(crate) fn calls_without_row(&self) -> Vec<Arc<InFlightCall>> {
        let calls = self.calls.lock();
        calls.in_flight.values().filter(|in_flight| !in_flight.has_row()).cloned().collect()
    }

    /// The agents of calls in flight without a row; a person's call has one.
    pub(crate) fn agents_without_row(&self) -> Vec<Option<AgentId>> {
        self.calls
            .lock()
            .in_flight
            .values()
            .filter(|in_flight| !in_flight.has_row())
            .map(|in_flight| in_flight.agent)
            .collect()
    }

    pub(crate) fn in_flight_calls(&self) -> Vec<(HandleId, Arc<InFlightCall>)> {
        self.calls.lock().in_flight.iter().map(|(id, in_flight)| (*id, Arc::clone(in_flight))).collect()
    }

    pub(crate) fn in_flight_of(&self, agent: AgentId) -> Vec<(HandleId, Arc<InFlightCall>)> {
        let calls = self.calls.lock();
        let mine = calls.in_flight.iter().filter(|(_, in_flight)| in_flight.agent == Some(agent));
        mine.map(|(id, in_flight)| (*id, Arc::clone(in_flight))).collect()
    }

    pub(crate) fn calls_with_row(&self) -> Vec<HandleId> {
        self.calls.lock().in_flight.iter().filter(|(_, in_flight)| in_flight.has_row()).map(|(id, _)| *id).collect()
    }

    pub(crate) fn in_flight(&self) -> Vec<HandleId> {
        self.calls.lock().in_flight.keys().copied().collect()
    }

    /// The calls in flight over this connection or its session; those of a process that ended are not among them.
    pub(crate) fn in_flight_on(&self, live: &LiveConnection) -> Vec<HandleId> {
        let calls = self.calls.lock();
        let here = calls.in_flight.iter().filter(|(_, in_flight)| in_flight.live.is_same_session(live));
        here.map(|(id, _)| *id).collect()
    }

    /// Keeps the latest progress of a task until it may be committed.
    pub(crate) fn keep_progress(&self, id: HandleId, progress: Progress) {
        self.calls.lock().progress.insert(id, progress);
    }

    /// Takes the progress that is still to be committed.
    pub(crate) fn take_progress(&self, id: HandleId) -> Option<Progress> {
        self.calls.lock().progress.remove(&id)
    }
}
