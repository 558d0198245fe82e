//! What everybody may know of one followed line to a server: its connection, health, calls in flight and the lane of deliveries.
//!
//! The follower (`follow.rs`) is the only one that changes connection and health; others look, and leave a word of
//! what to look at. Words are levels in a set, not messages in a channel: leaving the same word twice is one word,
//! and none can be lost or block the one who leaves it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use domain::task::{Home, TaskHandle};
use domain::ids::{AgentId, ConnectionId, HandleId, ServerId, SessionKey};
use domain::task::observation::Progress;
use domain::policy::Policy;
use domain::ports::{ToolFacts, Upstream, UpstreamError};
use domain::server::{Era, Negotiated, Server, ServerAddress, ServerHealth};
use domain::time::Timestamp;
use parking_lot::{Mutex, RwLock};
use tokio::sync::{Notify, Semaphore, watch};
use tokio_util::sync::CancellationToken;

use crate::engine::Engine;
use crate::flight::Flight;
use crate::line::Line;
use crate::pulse::Pulse;
use crate::usage::Usage;

/// One live connection.
pub(crate) struct Live {
    /// Names it.
    pub(crate) id: ConnectionId,
    /// What to talk to.
    pub(crate) upstream: Arc<dyn Upstream>,
    /// What was agreed.
    pub(crate) negotiated: Negotiated,
    /// Where tasks of this connection live.
    pub(crate) home: Home,
    /// Tasks of another home that were seen, by their creation time, to be the same task here.
    proven: Mutex<HashSet<HandleId>>,
}

impl Live {
    /// A connection to this server, as configured.
    pub(crate) fn new(id: ConnectionId, upstream: Arc<dyn Upstream>, negotiated: Negotiated, server: &Server) -> Self {
        let session = match (&negotiated.session, &server.address) {
            (Some(session), _) => Some(session.clone()),
            // A modern child needs no session on the wire, but its tasks live and die with it all the same.
            (None, ServerAddress::Stdio { .. }) => Some(SessionKey::new(id.to_string())),
            (None, ServerAddress::Http { .. }) => None,
        };
        let home = Home { generation: server.generation, session };
        Self { id, upstream, negotiated, home, proven: Mutex::new(HashSet::new()) }
    }

    /// The same connection, whose new tasks live in a new generation.
    pub(crate) fn in_generation(&self, generation: u32) -> Self {
        Self {
            id: self.id,
            upstream: Arc::clone(&self.upstream),
            negotiated: self.negotiated.clone(),
            home: Home { generation, session: self.home.session.clone() },
            proven: Mutex::new(self.proven.lock().clone()),
        }
    }

    /// Whether a task id of this handle means the same task on this connection. Two children of one server may give
    /// equal ids to different tasks (protocol.md §7.2), so a foreign home must be proven first.
    pub(crate) fn holds(&self, handle: &TaskHandle) -> bool {
        handle.home.session.is_none()
            || handle.home.session == self.home.session
            || self.proven.lock().contains(&handle.id)
    }

    /// The task behind this handle was seen here.
    pub(crate) fn prove(&self, id: HandleId) {
        self.proven.lock().insert(id);
    }
}

/// What is asked of the follower about one task.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Touch {
    /// Look at it as soon as its hint allows.
    pub(crate) soon: bool,
    /// Look at it no earlier than then, if no look is planned.
    pub(crate) look_at: Option<Timestamp>,
    /// A person did something for it: it is polled soon after, whatever the server's hint (ruling 46).
    pub(crate) person_acted: bool,
}

/// Words left for the follower.
#[derive(Default)]
pub(crate) struct Words {
    /// Tasks to reconsider.
    pub(crate) touched: HashMap<HandleId, Touch>,
    /// A new configuration.
    pub(crate) server: Option<Server>,
    /// Try to connect now instead of at the planned time.
    pub(crate) connect_now: bool,
    /// A request that was no look did not reach the server: why, and what a person can do.
    pub(crate) unreached: Option<(String, String)>,
}

/// What the server was heard to do, shown to people and decided on by nobody.
#[derive(Default)]
struct Told {
    /// It told of a change by itself, or agreed to, on this connection.
    pushes: bool,
    /// Tools, as listed last: how many, and those it says destroy something.
    tools: Option<(usize, HashSet<String>)>,
}

/// Questions of a server that were refused, because too many of its questions are open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RefusedQuestions {
    /// How many in this run of the core.
    pub count: u64,
    /// When the first of them came.
    pub since: Timestamp,
}

/// The shared face of one follower.
pub(crate) struct Post {
    pub(crate) server: ServerId,
    /// Which connection to it this is.
    pub(crate) line: Line,
    name: RwLock<Arc<str>>,
    configured: RwLock<Server>,
    words: Mutex<Words>,
    /// Wakes the follower.
    pub(crate) wake: Notify,
    live: watch::Sender<Option<Arc<Live>>>,
    health: watch::Sender<ServerHealth>,
    pulse: Arc<Pulse>,
    /// At most this many deliveries at a time; reads have slots of their own (ruling 12).
    pub(crate) lane: Arc<Semaphore>,
    flights: Mutex<HashMap<HandleId, Arc<Flight>>>,
    /// The latest progress that was not committed yet, by task.
    progress: Mutex<HashMap<HandleId, Progress>>,
    told: RwLock<Told>,
    /// Questions that found no room in this run, on all lines to the server; kept on the shared line.
    refused_questions: Mutex<Option<RefusedQuestions>>,
    /// Which wire it spoke when it was last connected in this run.
    era: RwLock<Option<Era>>,
    /// Who uses it, for an agent's own line.
    pub(crate) usage: Usage,
    /// Ends the follower.
    pub(crate) leave: CancellationToken,
}

impl Post {
    pub(crate) fn new(
        server: &Server,
        seat: Option<AgentId>,
        policy: &Policy,
        pulse: Arc<Pulse>,
        leave: CancellationToken,
    ) -> Self {
        Self {
            server: server.id,
            line: Line { server: server.id, seat },
            name: RwLock::new(Arc::from(server.name.as_str())),
            configured: RwLock::new(server.clone()),
            words: Mutex::new(Words::default()),
            wake: Notify::new(),
            live: watch::Sender::new(None),
            health: watch::Sender::new(ServerHealth::Unknown),
            pulse,
            lane: Arc::new(Semaphore::new(policy.deliveries_per_server)),
            flights: Mutex::new(HashMap::new()),
            progress: Mutex::new(HashMap::new()),
            told: RwLock::new(Told::default()),
            refused_questions: Mutex::new(None),
            era: RwLock::new(None),
            usage: Usage::default(),
            leave,
        }
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
    pub(crate) fn live(&self) -> Option<Arc<Live>> {
        self.live.borrow().clone()
    }

    /// The connection of the moment, unless it is over: the follower may not have seen its end yet.
    pub(crate) fn open_connection(&self) -> Option<Arc<Live>> {
        self.live().filter(|live| !live.upstream.is_closed())
    }

    /// Waits until a connection that is over is taken away or replaced; at once when there is none such.
    pub(crate) async fn closed_connection_removed(&self) {
        let mut connections = self.live.subscribe();
        let is_usable = |live: &Option<Arc<Live>>| live.as_ref().is_none_or(|live| !live.upstream.is_closed());
        // The sender lives as long as `self`, so this cannot fail.
        drop(connections.wait_for(is_usable).await);
    }

    /// For the follower only.
    pub(crate) fn set_live(&self, live: Option<Arc<Live>>) {
        match &live {
            Some(live) => *self.era.write() = Some(live.negotiated.era),
            None => self.told.write().pushes = false,
        }
        self.live.send_replace(live);
    }

    /// Whether the server tells us of changes by itself.
    pub(crate) fn pushes(&self) -> bool {
        self.told.read().pushes
    }

    /// Questions that were refused in this run of the core.
    pub(crate) fn refused_questions(&self) -> Option<RefusedQuestions> {
        *self.refused_questions.lock()
    }

    /// For followers only: the server asked more than can be open.
    pub(crate) fn questions_refused(&self, count: u64, now: Timestamp) {
        let mut refused = self.refused_questions.lock();
        let before = refused.unwrap_or(RefusedQuestions { count: 0, since: now });
        *refused = Some(RefusedQuestions { count: before.count.saturating_add(count), ..before });
        drop(refused);
        self.shown();
    }

    /// For the follower only: the server told of a change by itself, agreed to, or agreed to no more.
    pub(crate) fn set_pushes(&self, pushes: bool) {
        let before = std::mem::replace(&mut self.told.write().pushes, pushes);
        if before != pushes {
            self.shown();
        }
    }

    /// How many tools it had when they were listed last.
    pub(crate) fn known_tools(&self) -> Option<usize> {
        self.told.read().tools.as_ref().map(|(count, _)| *count)
    }

    /// Whether it says that this tool destroys something, as listed last.
    pub(crate) fn says_destructive(&self, tool: &str) -> bool {
        self.told.read().tools.as_ref().is_some_and(|(_, destructive)| destructive.contains(tool))
    }

    /// Its tools were listed.
    pub(crate) fn tools_listed(&self, tools: &[ToolFacts]) {
        let destructive = tools.iter().filter(|tool| tool.destructive_hint == Some(true));
        let listed = (tools.len(), destructive.map(|tool| tool.name.clone()).collect());
        let is_news = self.told.read().tools.as_ref() != Some(&listed);
        if is_news {
            self.told.write().tools = Some(listed);
            self.shown();
        }
    }

    /// Health of the moment.
    pub(crate) fn health(&self) -> ServerHealth {
        self.health.borrow().clone()
    }

    /// For the follower only: tells when health is another than before.
    pub(crate) fn set_health(&self, health: ServerHealth) {
        let changed = self.health.send_if_modified(|now| {
            let changed = *now != health;
            if changed {
                *now = health;
            }
            changed
        });
        if changed {
            self.shown();
        }
    }

    /// People see the health of the line they share; how an agent's own line fares is not the server's health.
    fn shown(&self) {
        if self.line.seat.is_none() {
            self.pulse.health_changed(self.server);
        }
    }

    /// Wakes at every change of health.
    pub(crate) fn healths(&self) -> watch::Receiver<ServerHealth> {
        self.health.subscribe()
    }

    /// Leaves a word about one task.
    pub(crate) fn touch(&self, id: HandleId, touch: Touch) {
        {
            let mut words = self.words.lock();
            let word = words.touched.entry(id).or_default();
            word.soon |= touch.soon;
            word.person_acted |= touch.person_acted;
            word.look_at = match (word.look_at, touch.look_at) {
                (Some(one), Some(other)) => Some(one.min(other)),
                (one, other) => one.or(other),
            };
        }
        self.wake.notify_one();
    }

    /// Leaves a new configuration.
    pub(crate) fn reconfigure(&self, server: Server) {
        *self.name.write() = Arc::from(server.name.as_str());
        let before = std::mem::replace(&mut *self.configured.write(), server.clone());
        if before.address != server.address || before.consent != server.consent || self.live().is_none() {
            // Whoever waits for the server must not see how the old configuration failed.
            self.set_health(ServerHealth::Connecting);
        }
        self.words.lock().server = Some(server);
        self.wake.notify_one();
    }

    /// Asks to connect now. Health says so at once, so that whoever waits does not see the old failure.
    pub(crate) fn connect_now(&self) {
        match self.health() {
            ServerHealth::Down { retry_at: Some(_), .. } | ServerHealth::Blocked { .. } => {
                self.set_health(ServerHealth::Connecting);
            }
            ServerHealth::Down { retry_at: None, .. }
            | ServerHealth::Unknown
            | ServerHealth::Connecting
            | ServerHealth::Up { .. } => {}
        }
        self.words.lock().connect_now = true;
        self.wake.notify_one();
    }

    /// Tells how a request ended that the follower did not make: a server that calls, answers or stops do not reach is
    /// not up, whatever its connection says.
    pub(crate) fn ended(&self, error: &UpstreamError) {
        if let UpstreamError::Unreachable { why, hint } = error {
            self.words.lock().unreached = Some((why.clone(), hint.clone()));
            self.wake.notify_one();
        }
    }

    /// Takes all words.
    pub(crate) fn words(&self) -> Words {
        std::mem::take(&mut *self.words.lock())
    }

    /// A call is leaving.
    pub(crate) fn takes_off(&self, id: HandleId, flight: Flight) -> Arc<Flight> {
        let flight = Arc::new(flight);
        self.flights.lock().insert(id, Arc::clone(&flight));
        flight
    }

    /// A call came back, or cannot any more.
    pub(crate) fn landed(&self, id: HandleId) {
        self.flights.lock().remove(&id);
    }

    /// The call in flight behind this handle.
    pub(crate) fn flight(&self, id: HandleId) -> Option<Arc<Flight>> {
        self.flights.lock().get(&id).cloned()
    }

    /// How many calls are in flight.
    pub(crate) fn flying(&self) -> usize {
        self.flights.lock().len()
    }

    /// How many of them have no row.
    pub(crate) fn unrecorded(&self) -> usize {
        self.flights.lock().values().filter(|flight| !flight.has_row()).count()
    }

    /// Whose the calls in flight are that have no row; a person's have one.
    pub(crate) fn agents_without_row(&self) -> Vec<Option<AgentId>> {
        self.flights.lock().values().filter(|flight| !flight.has_row()).map(|flight| flight.agent).collect()
    }

    /// Calls in flight of an agent.
    pub(crate) fn in_flight_of(&self, agent: AgentId) -> Vec<(HandleId, Arc<Flight>)> {
        let flights = self.flights.lock();
        let mine = flights.iter().filter(|(_, flight)| flight.agent == Some(agent));
        mine.map(|(id, flight)| (*id, Arc::clone(flight))).collect()
    }

    /// All calls in flight that have a row.
    pub(crate) fn recorded(&self) -> Vec<HandleId> {
        self.flights.lock().iter().filter(|(_, flight)| flight.has_row()).map(|(id, _)| *id).collect()
    }

    /// All calls in flight.
    pub(crate) fn in_flight(&self) -> Vec<HandleId> {
        self.flights.lock().keys().copied().collect()
    }

    /// Keeps the latest progress of a task until it may be committed.
    pub(crate) fn keep_progress(&self, id: HandleId, progress: Progress) {
        self.progress.lock().insert(id, progress);
    }

    /// Takes the progress that is still to be committed.
    pub(crate) fn take_progress(&self, id: HandleId) -> Option<Progress> {
        self.progress.lock().remove(&id)
    }
}

/// Every followed line.
#[derive(Default)]
pub(crate) struct Posts(RwLock<HashMap<Line, Arc<Post>>>);

impl Posts {
    pub(crate) fn get(&self, line: Line) -> Option<Arc<Post>> {
        self.0.read().get(&line).cloned()
    }

    /// The line to a server that people and modern agents share; there is one for every followed server.
    pub(crate) fn shared(&self, server: ServerId) -> Option<Arc<Post>> {
        self.get(Line::shared(server))
    }

    /// The line on which a task lives.
    pub(crate) fn of(&self, handle: &TaskHandle) -> Option<Arc<Post>> {
        self.get(Line::of(handle))
    }

    /// All lines to a server.
    pub(crate) fn of_server(&self, server: ServerId) -> Vec<Arc<Post>> {
        self.0.read().values().filter(|post| post.server == server).cloned().collect()
    }

    /// Takes in a line, unless there is one already; returns the one that counts, and whether it is the new one.
    pub(crate) fn insert_if_new(&self, post: Arc<Post>) -> (Arc<Post>, bool) {
        let mut posts = self.0.write();
        match posts.get(&post.line) {
            Some(known) => (Arc::clone(known), false),
            None => {
                posts.insert(post.line, Arc::clone(&post));
                (post, true)
            }
        }
    }

    /// Forgets this very line.
    pub(crate) fn forget(&self, post: &Arc<Post>) {
        let mut posts = self.0.write();
        if posts.get(&post.line).is_some_and(|known| Arc::ptr_eq(known, post)) {
            posts.remove(&post.line);
        }
    }

    /// How many agents' own lines there are.
    pub(crate) fn seats(&self) -> usize {
        self.0.read().keys().filter(|line| line.seat.is_some()).count()
    }

    /// How many of them are this agent's.
    pub(crate) fn of_seat(&self, agent: AgentId) -> usize {
        self.0.read().keys().filter(|line| line.seat == Some(agent)).count()
    }

    /// Takes away all lines to a server.
    pub(crate) fn remove_server(&self, server: ServerId) -> Vec<Arc<Post>> {
        self.0.write().extract_if(|line, _| line.server == server).map(|(_, post)| post).collect()
    }

    pub(crate) fn all(&self) -> Vec<Arc<Post>> {
        self.0.read().values().cloned().collect()
    }
}

impl Engine {
    /// Questions of the server that were refused in this run of the core, because too many are open.
    #[must_use]
    pub fn refused_questions(&self, id: ServerId) -> Option<RefusedQuestions> {
        self.core.posts.shared(id).and_then(|post| post.refused_questions())
    }
}
