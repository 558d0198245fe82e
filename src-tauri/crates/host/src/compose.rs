//! The one place that wires ports to adapters.
//!
//! [`Adapters::production`] makes the real ones, [`start`] runs a core on whatever adapters it is given: the command
//! line, the window and the tests all come through here. It decides nothing about tasks.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use api::dto::{AgentsAt, NoticesGo};
use api::{Api, BrowserSessions, CoreSurroundings, LiveCore};
use domain::audit::{Actor, AuditEvent, Subject, Verb};
use domain::ids::HostId;
use domain::policy::Policy;
use domain::ports::{CallIntents, Clock, Connector, Notifier, Registry, RegistryError, Secrets, TokenCounter};
use domain::server::ServerAddress;
use engine::runtime::supervisor::Supervisor;
use engine::{Draw, Engine, EngineParts, SystemClock};
use mcp::upstream::{ConnectorParts, Forwarder, McpConnector};
use mcp::gateway::{Gateway, GatewayParts};
use mcp::server::{ServerParts, SigningKey};
use mcp::upstream::transport::{KeeperKey, KeeperProgram};
use parking_lot::Mutex;
use registry::{CallIntentsOptions, RegistryOptions, SealKey, SqliteCallIntents, SqliteRegistry};
use tokens::FamilyCounter;
use tokio_util::sync::CancellationToken;

use crate::agents::AgentDoor;
use crate::config::{Config, Listen};
use crate::door::Opener;
use crate::http::{self, Doors, HttpError};
use crate::lock::{CoreLock, LockError};
use crate::notices::{self, DesktopNotices, Reach, Sources};
use crate::observed_clock::{ObservedClock, since_boot};
use crate::paths::HomeError;
use crate::secrets::{Vault, VaultError};
use crate::sign_in::{Invitation, SignIn};
use crate::socket::{Starters, Starting};
use crate::watchdog::{self, OnHang, Watchdog};
use crate::{logging, orphans, programs, random, socket};

/// What a core is made of. Fields are public so that a window or a test can put its own in place.
pub struct Adapters {
    /// The durable registry.
    pub registry: Arc<dyn Registry>,
    /// What was begun and is not settled, for the next start.
    pub intents: Arc<dyn CallIntents>,
    /// Opens connections to servers.
    pub connector: Arc<dyn Connector>,
    /// Passes on what agents ask over those connections.
    pub forwarder: Forwarder,
    /// Wall time.
    pub clock: Arc<dyn Clock>,
    /// Tells people.
    pub notifier: Arc<dyn Notifier>,
    /// Where the notices of the notifier above come out, when the desktop is told; a notifier of a test has none.
    pub desktop: Option<DesktopNotices>,
    /// Shows what a notice is about; only a window can.
    pub opener: Option<Opener>,
    /// Keeps secrets.
    pub secrets: Arc<dyn Secrets>,
    /// Whether that is a file that only the user can read.
    pub secrets_in_file: bool,
    /// Signs what agents over HTTP bring back after a restart.
    pub face_key: SigningKey,
    /// Random bits.
    pub draw: Draw,
    /// Numbers.
    pub policy: Policy,
    /// The scope everything runs in.
    pub supervisor: Supervisor,
    /// What is done about a runtime that does not turn any more.
    pub on_hang: OnHang,
}

/// Why a core could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The data directory.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// Another core has it.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// Logs cannot be written.
    #[error("the logs in `{folder}` cannot be written: {source}")]
    Logs {
        /// Where.
        folder: String,
        /// Why.
        source: io::Error,
    },
    /// Secrets cannot be kept.
    #[error(transparent)]
    Vault(#[from] VaultError),
    /// The registry.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// The door.
    #[error("the socket `{path}` cannot be opened: {source}")]
    Socket {
        /// Where.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// A thread beside the runtime.
    #[error("the system gave no thread: {0}")]
    Thread(#[source] io::Error),
    /// The way to the core that has the directory.
    #[error("{0}")]
    Attach(String),
}

impl StartError {
    /// What a person can do next.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Home(inner) => inner.hint(),
            Self::Lock(LockError::Held { .. }) => {
                "Use it: every `taskwarden` command reaches it. Or stop it first with Ctrl-C in its terminal.".into()
            }
            Self::Lock(LockError::Unusable { .. }) | Self::Logs { .. } | Self::Socket { .. } => {
                "Check the owner and permissions of the data directory, and that its disk is local and not full.".into()
            }
            Self::Thread(_) => "Close programs or raise the limits of your user, then try again.".into(),
            Self::Attach(_) => "Run `taskwarden doctor`.".into(),
            Self::Vault(inner) => inner.hint(),
            Self::Registry(inner) => inner.hint(),
        }
    }
}

/// The data directory, held by this process: the lock is taken and logging has begun.
pub struct Held {
    config: Config,
    /// What started this core, when that was read before it became nobody's child.
    starters: Option<Starters>,
    _lock: CoreLock,
}

impl Held {
    /// Takes the data directory for a core.
    ///
    /// # Errors
    /// When it cannot be used, or another core has it.
    pub fn take(config: Config) -> Result<Self, StartError> {
        conceal();
        config.paths.prepare()?;
        let lock = CoreLock::take(&config.paths.lock(), &config.policy.hosting)?;
        config.paths.close_files()?;
        logging::start(&config)
            .map_err(|source| StartError::Logs { folder: config.paths.logs().display().to_string(), source })?;
        Ok(Self { config, starters: None, _lock: lock })
    }

    /// Says what started this core, where it is no child of that any more.
    pub(crate) fn set_starters(&mut self, starters: Option<Starters>) {
        self.starters = starters;
    }
}

/// No other process of this user may read the memory of the core, which holds the keys, or trace it. Its crashes leave
/// no core dump for the same reason.
#[cfg(target_os = "linux")]
fn conceal() {
    if let Err(error) = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable) {
        tracing::warn!(%error, "the memory of the core can be read by programs of this user");
    }
}

// Not run here.
#[cfg(not(target_os = "linux"))]
fn conceal() {}

impl Adapters {
    /// The real ones, for a data directory that this process holds.
    ///
    /// # Errors
    /// When the registry cannot be opened or secrets cannot be kept.
    pub async fn production(held: &Held) -> Result<Self, StartError> {
        let config = &held.config;
        let policy = config.policy.clone();
        let clock: Arc<dyn Clock> = Arc::new(ObservedClock::new());
        let draw = random::draw();
        let supervisor = Supervisor::new();
        let vault = Arc::new(Vault::open(config)?);
        let key = vault.seal_key(&config.paths)?;
        let registry = open_registry(config, key).await?;
        let intents = open_intents(config, key).await?;
        let secrets_in_file = vault.is_in_file();
        let secrets: Arc<dyn Secrets> = vault;
        let (notifier, desktop) = notices::notifier(&policy.hosting, config.notifications);
        let connector = McpConnector::new(ConnectorParts {
            policy: policy.clone(),
            supervisor: supervisor.clone(),
            secrets: Arc::clone(&secrets),
            clock: Arc::clone(&clock),
            draw: Arc::clone(&draw),
            children_dir: config.paths.children(),
            keeper: keeper_program(config, KeeperKey::derive(&key)),
        });
        let forwarder = connector.forwarder();
        Ok(Self {
            registry,
            intents,
            connector: Arc::new(connector),
            forwarder,
            clock,
            notifier,
            desktop: Some(desktop),
            opener: None,
            secrets,
            secrets_in_file,
            face_key: SigningKey::from_bytes(&SealKey::from_bytes(key).derive("session and event names 1")),
            draw,
            policy,
            supervisor,
            on_hang: Arc::new(watchdog::end_hung),
        })
    }
}

/// A running core.
pub struct Running {
    api: Api,
    engine: Engine,
    supervisor: Supervisor,
    policy: Policy,
    sign_in: Arc<SignIn>,
    agents: AgentDoor,
    agents_at: Arc<Mutex<AgentsAt>>,
    /// Watches until everything has ended.
    _watchdog: Watchdog,
    held: Held,
}

/// Starts a core on these adapters and opens its door.
///
/// # Errors
/// When the registry cannot be read or the socket cannot be opened.
pub async fn start(held: Held, adapters: Adapters) -> Result<Running, StartError> {
    let Adapters { registry, intents, connector, forwarder, clock, notifier, desktop, opener, .. } = adapters;
    let Adapters { secrets, secrets_in_file, face_key, draw, policy, supervisor, on_hang, .. } = adapters;
    let watchdog = Watchdog::start(&policy.hosting, on_hang).map_err(StartError::Thread)?;
    // Before anything is started: what servers leave behind stays below this process.
    orphans::adopt();
    supervisor.spawn("orphans", orphans::reap(policy.hosting.clone()));
    end_leftovers(&held.config, &registry, clock.as_ref()).await?;
    programs::complete(registry.as_ref(), clock.as_ref()).await?;
    let engine = Engine::start(EngineParts {
        registry: Arc::clone(&registry),
        intents,
        connector,
        clock: Arc::clone(&clock),
        notifier,
        draw: Arc::clone(&draw),
        policy: policy.clone(),
        host: HostId::from_random(draw()),
        supervisor: supervisor.clone(),
        scale: scale(),
    })
    .await?;
    let seen = (Arc::clone(&registry), Arc::clone(&clock));
    let place = CoreSurroundings {
        started: Some(clock.now()),
        home: held.config.paths.home().display().to_string(),
        secrets_in_file,
        registry_findings: Vec::new(),
    };
    let reach = desktop.as_ref().map(DesktopNotices::reach);
    let notices = Arc::new(move || reach.as_ref().map_or(NoticesGo::None, Reach::get));
    let agents_at = Arc::new(Mutex::new(AgentsAt::default()));
    let told = Arc::clone(&agents_at);
    let parts = ServerParts {
        policy: Gateway::faces(&policy),
        draw: Arc::clone(&draw),
        supervisor: supervisor.clone(),
        key: Some(face_key),
    };
    let agents = agent_door(&engine, &registry, forwarder, &clock, &policy, parts);
    let sign_in = Arc::new(SignIn::new(&policy.hosting, Arc::new(since_boot)));
    let sessions: Arc<dyn BrowserSessions> = sign_in.clone();
    let live = LiveCore {
        engine: engine.clone(),
        secrets,
        draw,
        demo: own_command("demo-server"),
        connect: own_command("connect"),
        connect_home: held.config.paths.named_home(),
        locate: Arc::new(|command, cwd| programs::locate(command, programs::folder_of(cwd).as_deref())),
        sessions,
        notices,
        agents_at: Arc::new(move || told.lock().clone()),
        place,
    };
    let api = Api::running(registry, clock, policy.clone(), live);
    let paths = &held.config.paths;
    let listener = socket::open(paths)
        .map_err(|source| StartError::Socket { path: paths.socket().display().to_string(), source })?;
    if let Some(desktop) = desktop {
        let (registry, clock) = seen;
        let (api, engine, policy, supervisor) = (api.clone(), engine.clone(), policy.clone(), supervisor.clone());
        desktop.start(Sources { api, engine, registry, clock, policy, supervisor, opener });
    }
    let starting = Starting { is_strict: held.config.strict_agents, starters: held.starters.clone() };
    socket::serve(listener, api.clone(), Arc::clone(&sign_in), agents.clone(), starting, &supervisor);
    tracing::info!(process = std::process::id(), "the core runs");
    Ok(Running { api, engine, supervisor, policy, sign_in, agents, agents_at, _watchdog: watchdog, held })
}

impl Running {
    /// The api of this core.
    #[must_use]
    pub fn api(&self) -> &Api {
        &self.api
    }

    /// Opens the listener for agents and the browser's window, and gives the first code for the window. An address that
    /// cannot be had is told to people too.
    ///
    /// # Errors
    /// When the address is not a loopback one or cannot be had.
    pub(crate) async fn listen(&self, address: SocketAddr) -> Result<Invitation, HttpError> {
        let (api, sign_in) = (self.api.clone(), Arc::clone(&self.sign_in));
        let doors = Doors { api, sign_in, agents: self.agents.clone() };
        match http::open(address, doors, &self.policy, &self.supervisor).await {
            Ok(bound) => {
                tracing::info!(address = %bound, "agents and the browser's window are served");
                *self.agents_at.lock() = AgentsAt { url: Some(http::agents_url(bound)), why: None };
                Ok(self.sign_in.invitation(bound))
            }
            Err(error) => {
                let why = format!("{error}. {}", error.hint());
                *self.agents_at.lock() = AgentsAt { url: None, why: Some(why) };
                Err(error)
            }
        }
    }

    /// The same at the configured address, for a core with a window of its own: what goes wrong is told there
    /// (ruling 18).
    pub(crate) async fn listen_as_configured(&self) {
        if let Listen::At(address) = self.held.config.listen
            && let Err(error) = self.listen(address).await
        {
            tracing::warn!(%error, "agents are served at the socket only");
        }
    }

    /// Cancelled when this core ends.
    pub(crate) fn stopping(&self) -> CancellationToken {
        self.supervisor.stopping()
    }

    /// Drains: new calls are refused, deliveries get their time, everything is flushed and closed.
    pub async fn stop(self) {
        // The door goes first, so that a new core can be started as soon as the lock is free.
        let _ = std::fs::remove_file(self.held.config.paths.socket());
        self.engine.stop().await;
        if !self.supervisor.stop(self.policy.drain_limit).await {
            tracing::warn!("some work did not end in time and was cut off");
        }
        tracing::info!("the core stopped");
    }
}

/// What weighs messages. Cheap to make: its tables are made when something is first weighed.
pub(crate) fn scale() -> Arc<dyn TokenCounter> {
    Arc::new(FamilyCounter::new())
}

/// How keepers of children are started: they are in this program too.
fn keeper_program(config: &Config, key: KeeperKey) -> Option<KeeperProgram> {
    let program = std::env::current_exe().ok()?.into_os_string().into_string().ok()?;
    // After an update of a running core, the file of that name is the newer program.
    let program = program.strip_suffix(" (deleted)").unwrap_or(&program).to_owned();
    Some(KeeperProgram { command: vec![program, "keep".into()], dir: config.paths.keepers(), key })
}

/// How a command of this program is started, such as the built-in demo server.
fn own_command(name: &str) -> Vec<String> {
    let program = std::env::current_exe().ok().and_then(|path| path.into_os_string().into_string().ok());
    program.map_or_else(Vec::new, |program| vec![program, name.into()])
}

/// The gateway with what its doors need.
fn agent_door(
    engine: &Engine,
    registry: &Arc<dyn Registry>,
    forwarder: Forwarder,
    clock: &Arc<dyn Clock>,
    policy: &Policy,
    parts: ServerParts,
) -> AgentDoor {
    let gateway = Gateway::new(GatewayParts {
        engine: engine.clone(),
        forwarder,
        registry: Arc::clone(registry),
        policy: policy.clone(),
        clock: Arc::clone(clock),
        draw: Arc::clone(&parts.draw),
        supervisor: parts.supervisor.clone(),
    });
    AgentDoor::new(engine.clone(), gateway, parts)
}

/// Opens the registry of a data directory for the one core that may write it.
async fn open_registry(config: &Config, key: [u8; 32]) -> Result<Arc<dyn Registry>, RegistryError> {
    let key = SealKey::from_bytes(key);
    let now = SystemClock.now();
    let path = config.paths.registry();
    let opening = RegistryOptions { path: &path, key, policy: &config.policy, now };
    // In a scope of its own: it ends when the engine closes the registry, after everything that writes has ended.
    let spawn = |work| Supervisor::new().spawn_draining("registry writer", work);
    Ok(Arc::new(SqliteRegistry::open(opening, spawn).await?))
}

/// Opens the file of what was begun, beside the registry.
async fn open_intents(config: &Config, key: [u8; 32]) -> Result<Arc<dyn CallIntents>, RegistryError> {
    let path = config.paths.intents();
    let opening = CallIntentsOptions { path: &path, key: SealKey::from_bytes(key), policy: &config.policy };
    // As the registry's: it ends after everything that writes.
    let spawn = |work| Supervisor::new().spawn_draining("intents writer", work);
    Ok(Arc::new(SqliteCallIntents::open(opening, spawn).await?))
}

/// Opens the registry of a data directory for a command that only reads, beside a core or without one.
///
/// # Errors
/// When there is none yet, it cannot be read, or its key is not at hand.
pub async fn open_to_read(config: &Config) -> Result<Arc<dyn Registry>, StartError> {
    let path = config.paths.registry();
    // Asked first: without a registry there is no reason to wake the keychain.
    if !path.exists() {
        return Err(RegistryError::Missing { path }.into());
    }
    let key = match Vault::find(config)? {
        Some(vault) => vault.seal_key(&config.paths)?,
        None => return Err(VaultError::KeyGone("data directory").into()),
    };
    let registry = SqliteRegistry::open_read_only(&path, SealKey::from_bytes(key), &config.policy).await?;
    Ok(Arc::new(registry))
}

/// Ends what servers of an earlier, killed core left running, and records it (ruling 15).
async fn end_leftovers(config: &Config, registry: &Arc<dyn Registry>, clock: &dyn Clock) -> Result<(), RegistryError> {
    let mut ended = mcp::upstream::transport::end_leftovers(&config.paths.children(), &config.policy).await;
    ended.extend(mcp::upstream::transport::end_unkept(&config.paths.keepers(), &config.policy).await);
    if ended.is_empty() {
        return Ok(());
    }
    let servers = registry.servers().await?;
    let mut facts = Vec::new();
    for process in ended {
        tracing::info!(process = process.pid, "a leftover server process of an earlier run was ended");
        let started_by = servers.iter().find(|server| match &server.address {
            ServerAddress::Stdio { command, .. } => *command == process.command,
            ServerAddress::Http { .. } => false,
        });
        if let Some(server) = started_by {
            facts.push(AuditEvent {
                at: clock.now(),
                actor: Actor::System("compose"),
                verb: Verb::ProcessEnded,
                subject: Subject::Server(server.id),
                note: format!("process {} of an earlier run", process.pid),
            });
        }
    }
    registry.record(facts).await
}
