//! The engine's face: what hosts and the api may ask of it, and how its parts are put together.
//!
//! Nothing is decided here: each question goes to the part that owns it, and everything the parts share is in
//! `core.rs`. It opens no window, speaks no protocol and knows no file. What the gateway asks for agents is in
//! `gateway.rs`. Read `stop.rs` for the orderly end.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use domain::task::decider::Decider;
use domain::task::{AnswerInput, Refusal, TaskHandle};
use domain::ids::{HandleId, HostId, PersonId, RequestKey, Seq, ServerId, UpstreamTaskId};
use domain::task::payload::Payload;
use domain::policy::Policy;
use domain::ports::{ArgumentError, CallIntents, Clock, Connector, Notifier, RecordingFault, Registry, RegistryError, TokenCounter, ToolFacts, UpstreamError};
use domain::server::ServerHealth;
use domain::task::status::GoneWhy;
use domain::time::Timestamp;
use futures::stream::{self, StreamExt};
use parking_lot::RwLock;
use tokio::sync::Semaphore;

use crate::attend::{self, Board};
use crate::budget::{self, Budget};
use crate::clock_watch::{self, ClockSteps};
use crate::company::Companies;
use crate::core::Core;
use crate::deliver::Deliverer;
use crate::dice::Dice;
use crate::gauge::Gauges;
use crate::ledger::Ledger;
use crate::outbox::Outbox;
use crate::parcels::Parcels;
use crate::post::{Posts, Touch};
use crate::presence::Presences;
use crate::pulse::Pulse;
use crate::recording::RecordingMonitor;
use crate::repeats::Repeats;
use crate::retention::{Quota, Storage};
use crate::roster::Roster;
use crate::shared_questions::{self, SharedBoard};
use crate::supervisor::Supervisor;
use crate::unrecorded::Unrecorded;
use crate::{
    admission, decide, discover, feed, leftover, lines, open_calls, presence, recording, recover, repeats, retention,
    stop, sweep,
};

/// Draws 128 random bits; given from outside so that tests repeat.
pub type Draw = Arc<dyn Fn() -> u128 + Send + Sync>;

/// What the engine is made of.
pub struct Parts {
    /// The durable registry.
    pub registry: Arc<dyn Registry>,
    /// Calls of agents, written ahead.
    pub intents: Arc<dyn CallIntents>,
    /// Opens connections.
    pub connector: Arc<dyn Connector>,
    /// Wall time.
    pub clock: Arc<dyn Clock>,
    /// Tells people.
    pub notifier: Arc<dyn Notifier>,
    /// Weighs what stands in messages.
    pub scale: Arc<dyn TokenCounter>,
    /// Random bits.
    pub draw: Draw,
    /// Numbers.
    pub policy: Policy,
    /// This run of the core.
    pub host: HostId,
    /// The scope everything runs in.
    pub supervisor: Supervisor,
}

/// A call a person starts.
#[derive(Debug, Clone)]
pub struct StartCall {
    /// Where.
    pub server: ServerId,
    /// Which tool.
    pub tool: String,
    /// A JSON object.
    pub arguments: Payload,
    /// Who.
    pub by: PersonId,
    /// Time agreed for it.
    pub limit: Option<Duration>,
}

/// Why the engine did not do what was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EngineError {
    /// No such server.
    #[error("there is no such server")]
    UnknownServer,
    /// No such agent, or it lost its access.
    #[error("this agent has no access")]
    UnknownAgent,
    /// Agents' own connections are too many.
    #[error("too many agents have connections of their own to servers ({most})")]
    TooManyLines {
        /// The limit.
        most: usize,
    },
    /// No such task.
    #[error("there is no such task")]
    UnknownHandle,
    /// The server cannot be reached now.
    #[error("the server is not connected: {why}")]
    NotConnected {
        /// One line.
        why: String,
        /// What a person can do.
        hint: String,
    },
    /// The arguments do not fit the tool.
    #[error(transparent)]
    Arguments(#[from] ArgumentError),
    /// It makes no sense in the task's state.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The agent uses its share of a server.
    #[error("this agent has as many calls open on this server as one agent may ({most})")]
    OverShare {
        /// The limit.
        most: u64,
    },
    /// A budget says no.
    #[error("too many calls are open on this server ({most})")]
    OverBudget {
        /// The limit.
        most: u64,
    },
    /// The registry cannot record it, so it was not sent.
    #[error("the call was not sent, because {}", .0.reason())]
    CannotRecord(RecordingFault),
    /// A share of what is stored is used up, so it was not sent.
    #[error("the call was not sent: {}", .0.words())]
    OverQuota(Quota),
    /// A person cancelled the call before it had a row.
    #[error("a person cancelled the call")]
    Cancelled,
    /// The call was sent, and its reply can no longer arrive.
    #[error("the reply was lost: {0}")]
    ReplyLost(UpstreamError),
    /// The server said no, or something unreadable.
    #[error(transparent)]
    Upstream(#[from] UpstreamError),
    /// The registry.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// The engine is stopping.
    #[error("the core is stopping")]
    Stopping,
}

/// What the engine knows of a task beyond the registry, from memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LiveFacts {
    /// Last heard.
    pub seen: Timestamp,
    /// Looked at next; `None` when it is not looked at.
    pub next_poll: Option<Timestamp>,
}

/// A stretch of news: what changed, in absolute terms. Read the current rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// Everything up to here is covered.
    pub upto: Seq,
    /// The reader fell behind: read everything anew.
    pub resync: bool,
    /// Tasks that changed.
    pub handles: Vec<HandleId>,
    /// Servers that changed (also their health, which is not in the change log).
    pub servers: Vec<ServerId>,
    /// Agents that changed, or whose rules did.
    pub agents: Vec<domain::ids::AgentId>,
}

/// Handles of a removed server that are closed at a time, so that their commits share fsyncs.
const CLOSED_AT_ONCE: usize = 64;

/// The running engine. Clones are the same engine.
#[derive(Clone)]
pub struct Engine {
    pub(crate) core: Arc<Core>,
}

impl Engine {
    /// Takes up all work found in the registry and starts following the configured servers that have consent.
    ///
    /// # Errors
    /// When the registry cannot be read.
    pub async fn start(parts: Parts) -> Result<Self, RegistryError> {
        let Parts { registry, intents, connector, clock, notifier, scale, draw, policy, host, supervisor } = parts;
        let policy = Arc::new(policy);
        let pulse = Arc::new(Pulse::new(registry.newest_seq().await?));
        let (posts, parcels, board) = (Arc::<Posts>::default(), Arc::<Parcels>::default(), Arc::<Board>::default());
        let shared = Arc::<SharedBoard>::default();
        let outbox = Outbox {
            posts: Arc::clone(&posts),
            parcels: Arc::clone(&parcels),
            board: Arc::clone(&board),
            pulse: Arc::clone(&pulse),
            shared: Arc::clone(&shared),
        };
        let roster = Arc::new(RwLock::new(Arc::new(Roster::read(registry.as_ref()).await?)));
        let presences = Arc::<Presences>::default();
        let budget = Arc::new(Budget::new(
            (scale, Arc::clone(&clock), Arc::clone(&policy)),
            (Arc::clone(&roster), Arc::clone(&presences)),
            Arc::clone(&draw),
        ));
        let parts = (Arc::clone(&clock), Arc::clone(&policy));
        let ledger = Ledger::new(Arc::clone(&registry), parts, outbox, Arc::clone(&budget));
        let reads = Arc::new(Semaphore::new(policy.reads_total));
        let (started, retention) = (clock.now(), policy.retention.clone());
        let core = Arc::new(Core {
            registry,
            intents,
            connector,
            clock,
            notifier,
            policy,
            host,
            dice: Dice::new(draw),
            ledger,
            budget,
            posts,
            parcels,
            board,
            pulse,
            scope: supervisor.scope(),
            reads,
            roster,
            roster_read: tokio::sync::watch::Sender::new(()),
            revocations: parking_lot::Mutex::default(),
            presences,
            repeats: Repeats::default(),
            companies: Companies::default(),
            clock_steps: ClockSteps::default(),
            recording: RecordingMonitor::new(started),
            unrecorded: Unrecorded::default(),
            storage: Storage::new(retention),
            shared,
            stopping: AtomicBool::new(false),
            gauges: Gauges::default(),
        });
        let counted = Arc::downgrade(&core);
        core.gauges.add(move |rows| open_calls::gauge(&counted, rows));
        let servers = core.registry.servers().await?;
        // Boxed: what they hold while they wait is large, and every start would carry it.
        Box::pin(recover::recover(&core, &servers)).await?;
        Box::pin(leftover::record(&core, &servers)).await?;
        Box::pin(leftover::find_undelivered(&core)).await?;
        Box::pin(budget::come_back(&core)).await?;
        for server in servers {
            lines::follow(&core, server);
        }
        lines::resume(&core);
        let steady = |name, make: fn(Arc<Core>) -> futures::future::BoxFuture<'static, ()>| {
            let held = Arc::clone(&core);
            core.scope.spawn_steady(name, &core.policy, move || make(Arc::clone(&held)));
        };
        steady("deliver", |core| Box::pin(Deliverer::new(core).run()));
        steady("recording", |core| Box::pin(recording::run(core)));
        steady("retention", |core| Box::pin(retention::run(core)));
        steady("sweep", |core| Box::pin(sweep::run(core)));
        steady("clock", |core| Box::pin(clock_watch::run(core)));
        steady("shared questions", |core| Box::pin(shared_questions::run(core)));
        steady("contacts", |core| Box::pin(sweep::flush_contacts(core)));
        steady("attend", |core| Box::pin(attend::run(core)));
        steady("presences", |core| Box::pin(presence::run(core)));
        steady("receipts", |core| Box::pin(repeats::run(core)));
        steady("counting", |core| Box::pin(budget::flush::count(core)));
        steady("budget", |core| Box::pin(budget::flush::keep(core)));
        Ok(Self { core })
    }

    /// What is in use of the limits of this core; others add what they count.
    #[must_use]
    pub fn gauges(&self) -> &Gauges {
        &self.core.gauges
    }

    /// Admits a call (durable when this returns) and sends it. Waits for the server's connection for a short while.
    ///
    /// # Errors
    /// When the server is unknown or unreachable, or the arguments do not fit: then nothing was recorded or sent.
    pub async fn call(&self, call: StartCall) -> Result<HandleId, EngineError> {
        admission::call(&self.core, call).await
    }

    /// Takes up a task by the server's id of it. Returns the existing handle when it is here already.
    ///
    /// # Errors
    /// When the server does not know it, or cannot be reached.
    pub async fn adopt(&self, server: ServerId, task: UpstreamTaskId, by: PersonId) -> Result<HandleId, EngineError> {
        discover::adopt(&self.core, server, task, by).await
    }

    /// Records an answer; its delivery follows by itself.
    ///
    /// # Errors
    /// A refusal when there is nothing to answer or somebody was faster.
    pub async fn answer(&self, id: HandleId, input: AnswerInput) -> Result<RequestKey, EngineError> {
        decide::answer(&self.core, id, input).await
    }

    /// Takes back an answer that is still held back.
    ///
    /// # Errors
    /// A refusal when it already left.
    pub async fn undo_answer(&self, id: HandleId, key: RequestKey, by: PersonId) -> Result<(), EngineError> {
        decide::undo_answer(&self.core, id, &key, &by).await
    }

    /// Records a cancel request; its delivery follows by itself.
    ///
    /// # Errors
    /// A refusal when the task is over or a stop was asked before.
    pub async fn cancel(
        &self,
        id: HandleId,
        by: impl Into<Decider>,
        reason: Option<String>,
    ) -> Result<(), EngineError> {
        let by = by.into();
        match (decide::cancel(&self.core, id, &by, reason.as_deref()).await, &by) {
            // It has no row because it cannot be recorded: it is cancelled from memory.
            (Err(EngineError::UnknownHandle), Decider::Person(person)) if self.core.unrecorded.cancel(id, person) => {
                Ok(())
            }
            (outcome, _) => outcome,
        }
    }

    /// Takes the handle from its agent and asks for a stop.
    ///
    /// # Errors
    /// A refusal when it was revoked before.
    pub async fn revoke(&self, id: HandleId, by: PersonId, reason: Option<String>) -> Result<(), EngineError> {
        decide::revoke(&self.core, id, &by, reason.as_deref()).await
    }

    /// Stops looking at a task; nothing is asked of its server. One that is lost, expired or unconfirmed is marked as
    /// resolved by it.
    ///
    /// # Errors
    /// A refusal when the server said how it ended, or while a stop is on its way to the server.
    pub async fn unwatch(&self, id: HandleId, by: PersonId, note: Option<String>) -> Result<(), EngineError> {
        decide::unwatch(&self.core, id, &by, note.as_deref()).await
    }

    /// The task as last committed, with the newest contact, from memory; `None` when it is over and so not held, or when
    /// the registry may know a newer one.
    #[must_use]
    pub fn task(&self, id: HandleId) -> Option<Arc<TaskHandle>> {
        self.core.ledger.held_newest(id)
    }

    /// Whether the server tells us of changes by itself at this moment.
    #[must_use]
    pub fn pushes(&self, id: ServerId) -> bool {
        self.core.posts.shared(id).is_some_and(|post| post.pushes())
    }

    /// How many tools the server had when they were listed last in this run of the core; `None` when never.
    #[must_use]
    pub fn known_tools(&self, id: ServerId) -> Option<usize> {
        self.core.posts.shared(id).and_then(|post| post.known_tools())
    }

    /// Whether the server said that this tool destroys something, when its tools were listed last in this run.
    #[must_use]
    pub fn says_destructive(&self, id: ServerId, tool: &str) -> bool {
        self.core.posts.shared(id).is_some_and(|post| post.says_destructive(tool))
    }

    /// A person wants to know how a task is: polls it soon, whatever the server's hint (ruling 46).
    pub fn look_soon(&self, id: HandleId) {
        let post = self.core.ledger.held(id).and_then(|handle| self.core.posts.of(&handle));
        if let Some(post) = post {
            post.touch(id, Touch { soon: true, person_acted: true, look_at: None });
        }
    }

    /// The configuration of a server changed, or it is new: (re)connect when it has consent.
    ///
    /// # Errors
    /// When the registry cannot be read.
    pub async fn server_changed(&self, id: ServerId) -> Result<(), EngineError> {
        let configured = self.core.registry.servers().await?;
        let server = configured.into_iter().find(|server| server.id == id).ok_or(EngineError::UnknownServer)?;
        let posts = self.core.posts.of_server(id);
        if posts.is_empty() {
            lines::follow(&self.core, server.clone());
        }
        for post in posts {
            post.reconfigure(server.clone());
        }
        self.core.pulse.committed(self.core.registry.newest_seq().await?);
        Ok(())
    }

    /// A server was removed: disconnect; its open tasks are gone with that reason.
    ///
    /// # Errors
    /// When the registry cannot be written.
    pub async fn server_removed(&self, id: ServerId) -> Result<(), EngineError> {
        for post in self.core.posts.remove_server(id) {
            post.leave.cancel();
            if let Some(live) = post.live() {
                post.set_live(None);
                live.upstream.close(false).await;
            }
        }
        let core = &self.core;
        let closed: Vec<_> = stream::iter(core.ledger.of_server(id))
            .map(|handle| async move {
                core.ledger.apply(handle.id, |handle, now| handle.gone(&GoneWhy::ServerRemoved, now)).await
            })
            .buffer_unordered(CLOSED_AT_ONCE)
            .collect()
            .await;
        for outcome in closed {
            if let Err(crate::ledger::LedgerError::Registry(error)) = outcome {
                return Err(error.into());
            }
        }
        self.core.pulse.committed(self.core.registry.newest_seq().await?);
        self.core.pulse.health_changed(id);
        Ok(())
    }

    /// Health of the moment.
    #[must_use]
    pub fn health(&self, id: ServerId) -> ServerHealth {
        self.core.posts.shared(id).map_or(ServerHealth::Unknown, |post| post.health())
    }

    /// Waits until the server is up, down or blocked, at most `limit`, and says which.
    pub async fn settled(&self, id: ServerId, limit: Duration) -> ServerHealth {
        match self.core.posts.shared(id) {
            Some(post) => admission::settled(&post, limit).await,
            None => ServerHealth::Unknown,
        }
    }

    /// The server's tools.
    ///
    /// # Errors
    /// When it cannot be reached.
    pub async fn tools(&self, id: ServerId) -> Result<Vec<ToolFacts>, EngineError> {
        let (post, live) = admission::connected(&self.core, id).await?;
        let tools = live.upstream.tools().await;
        match &tools {
            Ok(tools) => post.tools_listed(tools),
            Err(error) => post.ended(error),
        }
        Ok(tools?)
    }

    /// The end of a child's stderr.
    #[must_use]
    pub fn stderr_tail(&self, id: ServerId) -> String {
        let live = self.core.posts.shared(id).and_then(|post| post.live());
        live.map(|live| live.upstream.stderr_tail()).unwrap_or_default()
    }

    /// Contact of the moment, newer than the registry's.
    #[must_use]
    pub fn live(&self, id: HandleId) -> Option<LiveFacts> {
        let handle = self.core.ledger.held(id)?;
        Some(LiveFacts { seen: handle.contact.seen(), next_poll: self.core.ledger.next_poll(id) })
    }

    /// News after a place (from now on when `None`): a bounded stream that never loses, because each frame is
    /// read from the change log. The first change is sent at once, later ones at most every `feed_frame`.
    #[must_use]
    pub fn feed(&self, after: Option<Seq>) -> stream::BoxStream<'static, Frame> {
        feed::feed(&self.core, after)
    }

    /// Refuses new calls, lets deliveries finish within the drain limit, flushes, closes connections and registry.
    pub async fn stop(&self) {
        stop::stop(&self.core).await;
    }
}
