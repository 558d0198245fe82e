//! The one place that wires ports to adapters.
//!
//! [`Adapters::production`] makes the real ones, [`start`] runs a core on the adapters it is given: command line,
//! window and tests all come through here. It decides nothing about tasks. Read `running_core.rs` for what a core does
//! then.

use std::sync::Arc;

use api::dto::{AgentsAt, NoticesGo};
use api::{Api, BrowserSessions, CoreSurroundings, LiveCore, SaveToken};
use domain::ids::HostId;
use domain::policy::Policy;
use domain::ports::{
    CallIntents, Clock, Connector, LogCollectors, LogSigner, Notifier, Registry, RegistryError, Secrets, ServerSignIns,
    TokenCounter,
};
use engine::runtime::supervisor::Supervisor;
use engine::{Draw, Engine, EngineParts, SystemClock};
use keeper::{KeeperKey, KeeperProgram};
use mcp::gateway::{Gateway, GatewayParts};
use mcp::server::{ServerParts, SigningKey};
use mcp::upstream::{ConnectorParts, Forwarder, McpConnector};
use parking_lot::Mutex;
use registry::{CallIntentsOptions, RegistryOptions, SealKey, SqliteCallIntents, SqliteRegistry};
use tokens::FamilyCounter;

use crate::agent_access::entry::AgentEntry;
use crate::agent_access::token_file;
use crate::app::agent_doors::OwnDoors;
use crate::app::halt_file::HaltFile;
use crate::app::leftover_children;
use crate::app::locked_data_dir::LockedDataDir;
use crate::app::running_core::RunningCore;
use crate::app::start_error::StartError;
use crate::app::watchdog::{self, OnHang, Watchdog};
use crate::clients::{self, HomeClientFiles};
use crate::config::Config;
use crate::doctor::HostExaminer;
use crate::http::control::ControlCalls;
use crate::http::door_threads::DoorThreads;
use crate::http::log_collectors::HttpCollectors;
use crate::http::session_records::SessionRecords;
use crate::http::sign_in::SignIn;
use crate::notifications::{self, DesktopNotifications, DesktopReach, NotificationSources};
use crate::os::anchors::LocalAnchors;
use crate::os::observed_clock::{ObservedClock, since_boot};
use crate::os::own_program::own_program_text;
use crate::os::process_table::ProcessTable;
use crate::os::{disk_room, folder_origin, orphans, program_lookup, random};
use crate::secrets::{CollectorHeaders, Vault, VaultError, VaultSigner};
use crate::socket::{self, AncestryOptions, SocketServices};
use crate::window::routes::Opener;

/// What a core is made of. Fields are public so that a window or a test can put its own in place.
pub struct Adapters {
    /// The durable registry.
    pub registry: Arc<dyn Registry>,
    /// Calls that were sent and not settled, for recovery at the next start.
    pub intents: Arc<dyn CallIntents>,
    /// Opens connections to servers.
    pub connector: Arc<dyn Connector>,
    /// Signs in to servers over HTTP.
    pub sign_ins: Arc<dyn ServerSignIns>,
    /// Forwards requests of agents over those connections.
    pub forwarder: Forwarder,
    /// Wall time that does not step.
    pub clock: Arc<dyn Clock>,
    /// Notifies people of what needs them.
    pub notifier: Arc<dyn Notifier>,
    /// The desktop's end of that notifier; a notifier of a test has none.
    pub desktop: Option<DesktopNotifications>,
    /// Opens the window at what a notification is about; only a window can.
    pub opener: Option<Opener>,
    /// Stores secrets of servers.
    pub secrets: Arc<dyn Secrets>,
    /// Signs checkpoints of the audit log.
    pub log_signer: Arc<dyn LogSigner>,
    /// Sends rows of the audit log to collectors that people named.
    pub log_collectors: Arc<dyn LogCollectors>,
    /// Sends checkpoints of the audit log to collectors that people named as anchors.
    pub anchor_collectors: Arc<dyn LogCollectors>,
    /// Whether secrets are in a file that only the user can read, not in the keychain.
    pub secrets_in_file: bool,
    /// Signs session names that agents over HTTP present after a restart.
    pub face_key: SigningKey,
    /// Source of random ids.
    pub draw: Draw,
    /// Limits, intervals and sizes.
    pub policy: Policy,
    /// The scope in which every task of the core runs.
    pub supervisor: Supervisor,
    /// What to do when the runtime hangs.
    pub on_hang: OnHang,
}

impl Adapters {
    /// The production adapters for a data directory that this process holds.
    ///
    /// # Errors
    /// When the registry cannot be opened or secrets cannot be kept.
    pub async fn production(held: &LockedDataDir) -> Result<Self, StartError> {
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
        let log_signer = Arc::new(VaultSigner::new(Arc::clone(&vault)));
        let headers = CollectorHeaders::of_sinks(Arc::clone(&vault));
        let log_collectors = Arc::new(HttpCollectors::new(headers, &policy));
        let headers = CollectorHeaders::of_anchors(Arc::clone(&vault));
        let anchor_collectors = Arc::new(HttpCollectors::new(headers, &policy));
        let secrets: Arc<dyn Secrets> = vault;
        let (notifier, desktop) = notifications::notifier(&policy.hosting, config.notifications);
        let copied = folder_origin::find(&config.paths, clock.now());
        let connector = McpConnector::new(ConnectorParts {
            policy: policy.clone(),
            supervisor: supervisor.clone(),
            secrets: Arc::clone(&secrets),
            clock: Arc::clone(&clock),
            draw: Arc::clone(&draw),
            children_dir: config.paths.children(),
            keeper: keeper_program(config, KeeperKey::derive(&key)),
            client_document: config.client_document.clone(),
        })
        .in_folder(copied);
        let (forwarder, sign_ins) = (connector.forwarder(), connector.sign_ins());
        Ok(Self {
            registry,
            intents,
            connector: Arc::new(connector),
            sign_ins,
            forwarder,
            clock,
            notifier,
            desktop: Some(desktop),
            opener: None,
            secrets,
            log_signer,
            log_collectors,
            anchor_collectors,
            secrets_in_file,
            face_key: SigningKey::from_bytes(&SealKey::from_bytes(key).derive("session and event names 1")),
            draw,
            policy,
            supervisor,
            on_hang: Arc::new(watchdog::end_hung),
        })
    }
}

/// Starts a core on these adapters and opens its socket.
///
/// # Errors
/// When the registry cannot be read or the socket cannot be opened.
pub async fn start(held: LockedDataDir, adapters: Adapters) -> Result<RunningCore, StartError> {
    let Adapters { registry, intents, connector, sign_ins, forwarder, clock, notifier, desktop, opener, .. } = adapters;
    let Adapters { secrets, log_signer, log_collectors, anchor_collectors, secrets_in_file, face_key, .. } = adapters;
    let Adapters { draw, policy, supervisor, on_hang, .. } = adapters;
    let doors = Arc::new(DoorThreads::start().map_err(StartError::Thread)?);
    let watchdog = Watchdog::start(&policy.hosting, on_hang, doors.runtimes()).map_err(StartError::Thread)?;
    // Before anything is started, so that processes which servers leave behind become children of this one.
    orphans::adopt();
    supervisor.spawn("orphans", orphans::reap(policy.hosting.clone()));
    leftover_children::end_all(&held.config, &registry, &clock, &supervisor).await?;
    program_lookup::complete(registry.as_ref(), clock.as_ref()).await?;
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
    engine.sign_log(log_signer);
    let home = held.config.paths.home().to_owned();
    engine.keep_anchors(Arc::new(LocalAnchors::new(home, &policy.audit, anchor_collectors))).await?;
    engine.send_log(log_collectors).await?;
    engine.keep_sign_ins(sign_ins).await?;
    // Before anybody can ask for a call.
    let mut halt_file = HaltFile::new(held.config.paths.halt_file());
    halt_file.look(&engine).await;
    supervisor.spawn("halt file", halt_file.watch(engine.clone(), policy.halt.clone()));
    let (home, limits) = (held.config.paths.home().to_owned(), policy.retention.clone());
    supervisor.spawn("disk room", disk_room::watch(engine.clone(), home, policy.reserve_file_bytes, limits));
    let seen = (Arc::clone(&registry), Arc::clone(&clock));
    let place = CoreSurroundings {
        started: Some(clock.now()),
        home: held.config.paths.home().display().to_string(),
        secrets_in_file,
        registry_findings: Vec::new(),
    };
    let reach = desktop.as_ref().map(DesktopNotifications::reach);
    let notices = Arc::new(move || reach.as_ref().map_or(NoticesGo::None, DesktopReach::get));
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
    let (ledger, time, hosting) = (Arc::clone(&registry), Arc::clone(&clock), policy.hosting.clone());
    let records = Arc::new(SessionRecords::open(Arc::clone(&sign_in), ledger, time, hosting).await);
    let agents_url = Arc::clone(&agents_at);
    let own_doors = OwnDoors::new(held.config.paths.clone(), policy.clone(), move || agents_url.lock().url.clone());
    let live = LiveCore {
        engine: engine.clone(),
        secrets,
        draw,
        demo: own_command("demo-server"),
        connect: own_command("connect"),
        connect_home: held.config.paths.named_home(),
        save_token: saves_tokens(&held.config),
        locate: Arc::new(|command, cwd| program_lookup::locate(command, program_lookup::folder_of(cwd).as_deref())),
        process_group: Arc::new(|leader| ProcessTable::of_system().group(leader)),
        doors: Arc::new(own_doors),
        sessions,
        examiner: Arc::new(HostExaminer::new(held.config.clone())),
        notices,
        client_files: Arc::new(HomeClientFiles::new(policy.client_files.clone(), held.config.paths.clone())),
        agents_at: Arc::new(move || told.lock().clone()),
        place,
    };
    let api = Api::running(registry, clock, policy.clone(), live);
    supervisor.spawn("routed files", clients::check_routes(api.clone(), policy.client_files.drift_check));
    let paths = &held.config.paths;
    let listener = socket::open(paths)
        .map_err(|source| StartError::Socket { path: paths.socket().display().to_string(), source })?;
    if let Some(desktop) = desktop {
        let (registry, clock) = seen;
        let (api, engine, policy, supervisor) = (api.clone(), engine.clone(), policy.clone(), supervisor.clone());
        desktop.start(NotificationSources { api, engine, registry, clock, policy, supervisor, opener });
    }
    let starting = AncestryOptions { is_strict: held.config.strict_agents, starters: held.starters.clone() };
    let control = ControlCalls::new(api.clone(), &supervisor, &policy);
    let services = SocketServices {
        api: api.clone(),
        sign_in: Arc::clone(&sign_in),
        agents: agents.clone(),
        control: control.clone(),
    };
    socket::serve(listener, services, starting, &supervisor);
    tracing::info!(process = std::process::id(), "the core runs");
    Ok(RunningCore {
        api,
        engine,
        supervisor,
        policy,
        sign_in,
        records,
        agents,
        control,
        doors,
        agents_at,
        _watchdog: watchdog,
        held,
    })
}

/// The token counter. Cheap to create: it builds its tables at the first count.
pub(crate) fn scale() -> Arc<dyn TokenCounter> {
    Arc::new(FamilyCounter::new())
}

/// How to start the keeper of a server's process: it is a command of this program.
fn keeper_program(config: &Config, key: KeeperKey) -> Option<KeeperProgram> {
    Some(KeeperProgram { command: vec![own_program_text()?, "keep".into()], dir: config.paths.keepers(), key })
}

/// How to start a command of this program, such as the built-in demo server.
fn own_command(name: &str) -> Vec<String> {
    own_program_text().map_or_else(Vec::new, |program| vec![program, name.into()])
}

/// Puts tokens of agents where `taskwarden connect` finds them.
fn saves_tokens(config: &Config) -> SaveToken {
    let paths = config.paths.clone();
    Arc::new(move |agent, token| match token_file::save(&paths, agent, token) {
        Ok(path) => path.to_str().map(str::to_owned),
        Err(error) => {
            tracing::warn!(%error, "the token of a new agent could not be saved in a file");
            None
        }
    })
}

/// The gateway, and what HTTP and socket need to let agents in to it.
fn agent_door(
    engine: &Engine,
    registry: &Arc<dyn Registry>,
    forwarder: Forwarder,
    clock: &Arc<dyn Clock>,
    policy: &Policy,
    parts: ServerParts,
) -> AgentEntry {
    let gateway = Gateway::new(GatewayParts {
        engine: engine.clone(),
        forwarder,
        registry: Arc::clone(registry),
        policy: policy.clone(),
        clock: Arc::clone(clock),
        draw: Arc::clone(&parts.draw),
        supervisor: parts.supervisor.clone(),
    });
    AgentEntry::new(engine.clone(), gateway, parts)
}

/// Opens the registry of a data directory for the one core that may write it.
async fn open_registry(config: &Config, key: [u8; 32]) -> Result<Arc<dyn Registry>, RegistryError> {
    let key = SealKey::from_bytes(key);
    let now = SystemClock.now();
    let path = config.paths.registry();
    check_not_gone(config)?;
    let opening = RegistryOptions { path: &path, key, policy: &config.policy, now };
    // A scope of its own: the writer ends when the engine closes the registry, after everything that writes.
    let spawn = |work| Supervisor::new().spawn_draining("registry writer", work);
    Ok(Arc::new(SqliteRegistry::open(opening, spawn).await?))
}

/// A folder that has the file of unsettled calls had a registry before. A new one would hide that it is gone, with every
/// halt and every row.
fn check_not_gone(config: &Config) -> Result<(), RegistryError> {
    let path = config.paths.registry();
    if path.exists() || !config.paths.intents().exists() { Ok(()) } else { Err(RegistryError::Gone { path }) }
}

/// Opens the file of unsettled calls, beside the registry.
async fn open_intents(config: &Config, key: [u8; 32]) -> Result<Arc<dyn CallIntents>, RegistryError> {
    let path = config.paths.intents();
    let opening = CallIntentsOptions { path: &path, key: SealKey::from_bytes(key), policy: &config.policy };
    // As with the registry: it ends after everything that writes.
    let spawn = |work| Supervisor::new().spawn_draining("intents writer", work);
    Ok(Arc::new(SqliteCallIntents::open(opening, spawn).await?))
}

/// Opens the registry of a data directory for a command that only reads, beside a core or without one.
///
/// # Errors
/// When there is none yet, it cannot be read, or its key is not at hand.
pub async fn open_to_read(config: &Config) -> Result<Arc<dyn Registry>, StartError> {
    let path = config.paths.registry();
    // First, because without a registry there is no reason to unlock the keychain.
    check_not_gone(config)?;
    if !path.exists() {
        return Err(RegistryError::Missing { path }.into());
    }
    let key = match Vault::find(config)? {
        Some(vault) => vault.seal_key(&config.paths)?,
        None => return Err(VaultError::KeyGone("data folder").into()),
    };
    let registry = SqliteRegistry::open_read_only(&path, SealKey::from_bytes(key), &config.policy).await?;
    Ok(Arc::new(registry))
}
