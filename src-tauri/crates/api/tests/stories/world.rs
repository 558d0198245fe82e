//! An api over an engine with the memory registry, and a connector that serves whatever is added.

use std::sync::Arc;
use std::time::Duration;

use api::calls::clients::files::{
    BridgeEdit, ClientFile, ClientFiles, EditToWrite, PlannedEdit, ReplaceError, UndoEdit, WrittenEdit,
};
use api::calls::core::doctor::CoreFacts;
use api::calls::core::findings::{DoctorReport, Examiner, Finding, KeptProcess};
use api::dto::{AgentsAt, NoticesGo};
use api::{
    AgentDoors, Api, ApiError, BrowserSession, BrowserSessions, Caller, Code, CoreSurroundings, LiveCore, TriedDoor,
};
use domain::ids::HostId;
use domain::policy::Policy;
use domain::ports::{
    Clock, Connected, ConnectionSpec, Connector, PortFuture, Registry, Secret, ServerUnit, UpstreamError,
};
use domain::server::Server;
use engine::runtime::supervisor::Supervisor;
use engine::{Engine, EngineParts};
use futures::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::{Value, json};
use testkit::build::{http_server, person, sequential_bits};
use testkit::call_intents::MemoryCallIntents;
use testkit::clock::TestClock;
use testkit::kill::{KillPointRegistry, KillPoints};
use testkit::memory_registry::MemoryRegistry;
use testkit::notifier::RecordingNotifier;
use testkit::scripted::{ScriptedConnector, ScriptedServer};
use testkit::secrets::MemorySecrets;
use testkit::token_counter::ByteTokenCounter;

/// Every server that is added turns out to be the scripted one.
struct AnyServer {
    inner: ScriptedConnector,
    scripted: ScriptedServer,
}

impl Connector for AnyServer {
    fn connect<'a>(
        &'a self,
        server: &'a Server,
        line: &'a ConnectionSpec,
    ) -> PortFuture<'a, Result<Connected, UpstreamError>> {
        self.inner.serve(server.id, &self.scripted);
        self.inner.connect(server, line)
    }
}

/// The doors of agents: HTTP answers at once, the socket does what it was told, and one agent has a saved token.
#[derive(Default)]
pub(crate) struct TriedDoors {
    /// Why the socket does not answer.
    pub(crate) socket_fails: Mutex<Option<String>>,
    /// The saved token of the agent `saved`.
    pub(crate) saved: Mutex<Option<String>>,
}

impl AgentDoors for TriedDoors {
    fn try_http(&self) -> PortFuture<'_, Option<TriedDoor>> {
        Box::pin(async { Some(TriedDoor { took: Duration::from_millis(3), why: None }) })
    }

    fn try_socket(&self) -> PortFuture<'_, TriedDoor> {
        let why = self.socket_fails.lock().clone();
        Box::pin(async { TriedDoor { took: Duration::from_millis(2), why } })
    }

    fn save_again(&self, agent: &str, token: &str) -> Option<String> {
        (agent == "saved").then(|| {
            *self.saved.lock() = Some(token.to_owned());
            "/home/ada/tasks/agents/saved".to_owned()
        })
    }
}

/// The door of browsers, with the ids of those that are signed in.
#[derive(Default)]
pub(crate) struct SignedIn(pub(crate) Mutex<Vec<String>>);

impl BrowserSessions for SignedIn {
    fn list(&self) -> Vec<BrowserSession> {
        let one = |id: &String| BrowserSession {
            id: id.clone(),
            browser: "Firefox".into(),
            age: Duration::from_secs(60),
            idle: Duration::from_secs(5),
        };
        self.0.lock().iter().map(one).collect()
    }

    fn revoke(&self, id: &str) -> bool {
        let mut ids = self.0.lock();
        let before = ids.len();
        ids.retain(|known| known != id);
        ids.len() < before
    }
}

/// A machine without agent programs.
struct NoClients;

impl ClientFiles for NoClients {
    fn read(&self, _project: Option<std::path::PathBuf>) -> PortFuture<'_, Vec<ClientFile>> {
        Box::pin(async { Vec::new() })
    }

    fn known_file(&self, _client: &str, _path: &std::path::Path) -> Option<ClientFile> {
        None
    }

    fn plan_route(&self, _edit: BridgeEdit) -> PortFuture<'_, Result<PlannedEdit, String>> {
        Box::pin(async { Err("there is no file".into()) })
    }

    fn plan_undo(&self, _edit: UndoEdit) -> PortFuture<'_, Result<PlannedEdit, String>> {
        Box::pin(async { Err("there is no file".into()) })
    }

    fn write_edit(
        &self,
        _edit: EditToWrite,
        _agreed: PlannedEdit,
    ) -> PortFuture<'_, Result<WrittenEdit, ReplaceError>> {
        Box::pin(async { Err(ReplaceError::Changed) })
    }

    fn settled_digest(&self, _path: std::path::PathBuf) -> PortFuture<'_, Option<String>> {
        Box::pin(async { None })
    }

    fn drift(
        &self,
        _client: String,
        _path: std::path::PathBuf,
        _changes: Secret,
    ) -> PortFuture<'_, Result<Vec<String>, String>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn backup_path(&self, client: &str, _at_millis: i64) -> std::path::PathBuf {
        client.into()
    }

    fn remove_old_backups(&self) -> PortFuture<'_, ()> {
        Box::pin(async {})
    }

    fn has_token(&self, _agent: &str) -> bool {
        false
    }
}

/// Finds a trouble of its own, and says what it was told of the core.
pub(crate) struct OneTrouble;

impl Examiner for OneTrouble {
    fn examine(&self, facts: CoreFacts) -> BoxFuture<'_, DoctorReport> {
        let found = vec![
            Finding::fine("core", format!("version {}", facts.version)),
            Finding::broken("disk", "the disk is full", "Free some space."),
        ];
        let kept = vec![KeptProcess { process: 12, keeper: 11, command: "npx".into() }];
        Box::pin(async move { DoctorReport::of(found, kept, Duration::from_secs(600)) })
    }
}

pub(crate) struct World {
    pub(crate) api: Api,
    pub(crate) engine: Engine,
    pub(crate) server: ScriptedServer,
    pub(crate) registry: Arc<dyn Registry>,
    /// The same registry, whose disk can be full.
    pub(crate) disk: Arc<KillPointRegistry>,
    pub(crate) secrets: Arc<MemorySecrets>,
    /// Browsers that are signed in.
    pub(crate) doors: Arc<TriedDoors>,
    pub(crate) sessions: Arc<SignedIn>,
    pub(crate) clock: Arc<TestClock>,
    pub(crate) policy: Policy,
    pub(crate) caller: Caller,
}

impl World {
    /// One server by the name `ci`, that is up.
    pub(crate) async fn new() -> Self {
        let policy = Policy::default();
        let clock = Arc::new(TestClock::new());
        let server = ScriptedServer::new(clock.clone());
        let memory = Arc::new(MemoryRegistry::new(policy.clone()));
        let disk = Arc::new(KillPointRegistry::new(memory, KillPoints::listing().0));
        let registry: Arc<dyn Registry> = disk.clone();
        let known = http_server(1, "ci");
        registry.put_server(ServerUnit { server: known, audit: Vec::new() }).await.expect("a server is kept");
        let secrets = Arc::new(MemorySecrets::default());
        let draw = sequential_bits();
        let engine = Engine::start(EngineParts {
            registry: registry.clone(),
            intents: Arc::new(MemoryCallIntents::default()),
            connector: Arc::new(AnyServer { inner: ScriptedConnector::default(), scripted: server.clone() }),
            clock: clock.clone(),
            notifier: Arc::new(RecordingNotifier::default()),
            draw: draw.clone(),
            policy: policy.clone(),
            host: HostId::from_random(9),
            supervisor: Supervisor::new(),
            scale: Arc::new(ByteTokenCounter),
        })
        .await
        .expect("the engine starts");
        let sessions = Arc::new(SignedIn::default());
        let doors = Arc::new(TriedDoors::default());
        let live = LiveCore {
            engine: engine.clone(),
            secrets: secrets.clone(),
            draw,
            demo: vec!["taskwarden".into(), "demo-server".into()],
            connect: vec!["taskwarden".into(), "connect".into()],
            connect_home: None,
            save_token: Arc::new(|name, _| Some(format!("/home/ada/tasks/agents/{name}.token"))),
            locate: Arc::new(|command, _| (command == "npx").then(|| "/usr/bin/npx".into())),
            process_group: Arc::new(|_| Vec::new()),
            agents_at: Arc::new(AgentsAt::default),
            notices: Arc::new(|| NoticesGo::Desktop),
            doors: doors.clone(),
            sessions: sessions.clone(),
            examiner: Arc::new(OneTrouble),
            client_files: Arc::new(NoClients),
            place: CoreSurroundings { home: "/home/ada/tasks".into(), ..CoreSurroundings::default() },
        };
        let api = Api::running(registry.clone(), clock.clone() as Arc<dyn Clock>, policy.clone(), live);
        Self {
            api,
            engine,
            server,
            registry,
            disk,
            secrets,
            doors,
            sessions,
            clock,
            policy,
            caller: Caller::here(person("ada")),
        }
    }

    /// Ends the core.
    pub(crate) async fn stop(&self) {
        self.engine.shutdown().await;
    }

    /// Makes a call that may be refused.
    pub(crate) async fn try_call(&self, name: &str, input: Value) -> Result<Value, ApiError> {
        let text = self.api.dispatch(&self.caller, name, &input.to_string()).await?;
        Ok(serde_json::from_str(&text).expect("the api answers with JSON"))
    }

    /// Makes a call that must work.
    pub(crate) async fn call(&self, name: &str, input: Value) -> Value {
        self.try_call(name, input).await.unwrap_or_else(|error| panic!("`{name}` works, not {error:?}"))
    }

    /// Starts a tool without arguments and gives its handle.
    pub(crate) async fn start(&self, tool: &str) -> String {
        let task = self.call("tasks.start", json!({"server": "ci", "tool": tool, "arguments": {}})).await;
        task["id"].as_str().expect("a handle").to_owned()
    }

    /// Waits until a task is in a phase.
    pub(crate) async fn until(&self, id: &str, phase: &str) -> Value {
        self.until_field(id, "phase", phase).await
    }

    /// Waits until a field of a task has this word.
    pub(crate) async fn until_field(&self, id: &str, field: &str, word: &str) -> Value {
        let mut task = Value::Null;
        // Three hours by the paused clock.
        for _ in 0..100_000 {
            task = self.call("tasks.show", json!({"id": id})).await;
            if task[field] == word {
                return task;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("`{field}` is never `{word}`; the last state is {task:#}")
    }
}

/// What a door makes of a process that a server started.
pub(crate) fn descendant() -> Caller {
    Caller::restricted(person("ada"), Some(4_711), ApiError::new(Code::Refused, "not a person", "Ask one."))
}
