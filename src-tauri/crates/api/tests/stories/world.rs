//! An api over an engine with the memory registry, and a connector that serves whatever is added.

use std::sync::Arc;
use std::time::Duration;

use api::dto::{AgentsAt, NoticesGo};
use api::{Api, ApiError, BrowserSession, BrowserSessions, Caller, Code, CoreSurroundings, LiveCore};
use domain::ids::HostId;
use domain::policy::Policy;
use domain::ports::{Clock, Connected, ConnectionSpec, Connector, PortFuture, Registry, ServerUnit, UpstreamError};
use domain::server::Server;
use engine::runtime::supervisor::Supervisor;
use engine::{Engine, EngineParts};
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

pub(crate) struct World {
    pub(crate) api: Api,
    pub(crate) engine: Engine,
    pub(crate) server: ScriptedServer,
    pub(crate) registry: Arc<dyn Registry>,
    /// The same registry, whose disk can be full.
    pub(crate) disk: Arc<KillPointRegistry>,
    pub(crate) secrets: Arc<MemorySecrets>,
    /// Browsers that are signed in.
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
        let live = LiveCore {
            engine: engine.clone(),
            secrets: secrets.clone(),
            draw,
            demo: vec!["taskwarden".into(), "demo-server".into()],
            connect: vec!["taskwarden".into(), "connect".into()],
            connect_home: None,
            locate: Arc::new(|command, _| (command == "npx").then(|| "/usr/bin/npx".into())),
            agents_at: Arc::new(AgentsAt::default),
            notices: Arc::new(|| NoticesGo::Desktop),
            sessions: sessions.clone(),
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
