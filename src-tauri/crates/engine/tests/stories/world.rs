//! A whole engine on a paused clock: memory registry, scripted servers, recording notifier; and ways to wait.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use domain::audit::{Actor, AuditEvent, Subject, Verb};
use domain::ids::{HandleId, HostId, RequestKey, ServerId};
use domain::policy::Policy;
use domain::ports::{CallReply, Clock, Connector, Registry, ServerUnit, TokenCounter};
use domain::server::{Server, ServerAct, ServerHealth};
use domain::task::input_request::{AnswerAction, Ask, RequestState};
use domain::task::payload::{Payload, PayloadKind};
use domain::task::status::Phase;
use domain::task::{AnswerInput, TaskHandle};
use domain::time::Timestamp;
use engine::runtime::supervisor::Supervisor;
use engine::{Draw, Engine, EngineError, EngineParts, StartCall};
use testkit::build::{http_server, person, sequential_bits};
use testkit::call_intents::MemoryCallIntents;
use testkit::clock::TestClock;
use testkit::kill::{KillPointRegistry, KillPoints};
use testkit::memory_registry::MemoryRegistry;
use testkit::notifier::RecordingNotifier;
use testkit::scripted::{ScriptedConnector, ScriptedServer};
use testkit::token_counter::ByteTokenCounter;

/// Longest wait on a level, by the paused clock.
const LIMIT: Duration = Duration::from_secs(4 * 3_600);
/// How often a level is looked at, by the paused clock: often at first, and then no more than needed.
fn step(waited: Duration) -> Duration {
    if waited < Duration::from_secs(2) { Duration::from_millis(5) } else { Duration::from_millis(100) }
}

/// An engine with everything around it.
pub(crate) struct World {
    pub(crate) clock: Arc<TestClock>,
    pub(crate) registry: Arc<dyn Registry>,
    pub(crate) intents: MemoryCallIntents,
    pub(crate) connector: Arc<dyn Connector>,
    pub(crate) scripted: Arc<ScriptedConnector>,
    pub(crate) notifier: Arc<RecordingNotifier>,
    pub(crate) scale: Arc<dyn TokenCounter>,
    pub(crate) policy: Box<Policy>,
    pub(crate) engine: Engine,
    pub(crate) supervisor: Supervisor,
    draw: Draw,
    runs: u128,
}

impl World {
    /// One server by the name `one`, that is up.
    pub(crate) async fn new() -> (Self, ScriptedServer, ServerId) {
        Self::with(http_server(1, "one"), Policy::default()).await
    }

    /// One server, as configured.
    pub(crate) async fn with(server: Server, policy: Policy) -> (Self, ScriptedServer, ServerId) {
        let clock = Arc::new(TestClock::new());
        let scripted = ScriptedServer::new(clock.clone());
        let (world, id) = Self::prepared(server, policy, clock, &scripted).await;
        (world, scripted, id)
    }

    /// One server whose script was begun before.
    pub(crate) async fn prepared(
        server: Server,
        policy: Policy,
        clock: Arc<TestClock>,
        scripted: &ScriptedServer,
    ) -> (Self, ServerId) {
        let registry: Arc<dyn Registry> = Arc::new(MemoryRegistry::new(policy.clone()));
        let connector = Arc::new(ScriptedConnector::default());
        let id = server.id;
        connector.serve(id, scripted);
        registry
            .put_server(ServerUnit { server, audit: Vec::new() })
            .await
            .expect("the memory registry takes a server");
        let world = Box::pin(Self::over(registry, connector.clone(), connector, policy, clock, 1)).await;
        (world, id)
    }

    /// One server that is up, and a registry on a disk that can be full.
    pub(crate) async fn on_a_small_disk(policy: Policy) -> (Self, ScriptedServer, ServerId, Arc<KillPointRegistry>) {
        let clock = Arc::new(TestClock::new());
        let scripted = ScriptedServer::new(clock.clone());
        let memory = Arc::new(MemoryRegistry::new(policy.clone()));
        let disk = Arc::new(KillPointRegistry::new(memory, KillPoints::listing().0));
        let connector = Arc::new(ScriptedConnector::default());
        let server = http_server(1, "one");
        let id = server.id;
        connector.serve(id, &scripted);
        disk.put_server(ServerUnit { server, audit: Vec::new() }).await.expect("a server is added");
        let world = Box::pin(Self::over(disk.clone(), connector.clone(), connector, policy, clock, 1)).await;
        world.until_up(id).await;
        (world, scripted, id, disk)
    }

    /// An engine over given ports.
    pub(crate) async fn over(
        registry: Arc<dyn Registry>,
        connector: Arc<dyn Connector>,
        scripted: Arc<ScriptedConnector>,
        policy: Policy,
        clock: Arc<TestClock>,
        run: u128,
    ) -> Self {
        let notifier = Arc::new(RecordingNotifier::default());
        let intents = MemoryCallIntents::default();
        let scale: Arc<dyn TokenCounter> = Arc::new(ByteTokenCounter);
        let supervisor = Supervisor::new();
        let counted = sequential_bits();
        let draw: Draw = Arc::new(move || counted() ^ (run << 96));
        let parts = EngineParts {
            registry: registry.clone(),
            intents: Arc::new(intents.clone()),
            connector: connector.clone(),
            clock: clock.clone(),
            notifier: notifier.clone(),
            scale: scale.clone(),
            draw: draw.clone(),
            policy: policy.clone(),
            host: HostId::from_random(run),
            supervisor: supervisor.clone(),
        };
        let engine = Box::pin(Engine::start(parts)).await.expect("the engine starts");
        Self {
            clock,
            registry,
            intents,
            connector,
            scripted,
            notifier,
            scale,
            policy: Box::new(policy),
            engine,
            supervisor,
            draw,
            runs: run,
        }
    }

    /// Ends the engine as a kill would, and starts a new one on the same registry.
    pub(crate) async fn restart(&mut self) {
        self.kill().await;
        self.start().await;
    }

    /// Ends the engine as a kill would: nothing is finished, flushed or closed.
    pub(crate) async fn kill(&mut self) {
        assert!(self.supervisor.stop(Duration::from_secs(5)).await, "all tasks of the engine end when it is cancelled");
    }

    /// Starts a new engine on the same registry.
    pub(crate) async fn start(&mut self) {
        self.runs += 1;
        self.supervisor = Supervisor::new();
        self.notifier = Arc::new(RecordingNotifier::default());
        self.intents = self.intents.reopened();
        let parts = EngineParts {
            registry: self.registry.clone(),
            intents: Arc::new(self.intents.clone()),
            connector: self.connector.clone(),
            clock: self.clock.clone(),
            notifier: self.notifier.clone(),
            scale: self.scale.clone(),
            draw: self.draw.clone(),
            policy: (*self.policy).clone(),
            host: HostId::from_random(self.runs),
            supervisor: self.supervisor.clone(),
        };
        self.engine = Box::pin(Engine::start(parts)).await.expect("the engine starts again");
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Calls a tool without arguments.
    pub(crate) async fn call(&self, server: ServerId, tool: &str) -> HandleId {
        self.try_call(server, tool).await.expect("the call is admitted")
    }

    pub(crate) async fn try_call(&self, server: ServerId, tool: &str) -> Result<HandleId, EngineError> {
        let call =
            StartCall { server, tool: tool.to_owned(), arguments: Payload::new("{}"), by: person("ada"), limit: None };
        self.engine.call(call).await
    }

    /// The handle as the registry has it.
    pub(crate) async fn handle(&self, id: HandleId) -> TaskHandle {
        self.registry.handle(id).await.expect("the registry can be read").expect("the handle is there")
    }

    pub(crate) async fn phase(&self, id: HandleId) -> Phase {
        self.handle(id).await.phase(self.now())
    }

    /// Waits until the registry shows this.
    pub(crate) async fn until(&self, id: HandleId, what: &str, holds: impl Fn(&TaskHandle) -> bool) -> TaskHandle {
        let begun = tokio::time::Instant::now();
        loop {
            let handle = self.handle(id).await;
            if holds(&handle) {
                return handle;
            }
            assert!(begun.elapsed() < LIMIT, "never {what}; the last state is {handle:#?}");
            tokio::time::sleep(step(begun.elapsed())).await;
        }
    }

    /// Waits for a phase.
    pub(crate) async fn until_phase(&self, id: HandleId, phase: Phase) -> TaskHandle {
        self.until(id, phase.word(), |handle| handle.phase(self.now()) == phase).await
    }

    /// Waits until anything holds.
    pub(crate) async fn until_true(&self, what: &str, holds: impl Fn() -> bool) {
        let begun = tokio::time::Instant::now();
        while !holds() {
            assert!(begun.elapsed() < LIMIT, "never {what}");
            tokio::time::sleep(step(begun.elapsed())).await;
        }
    }

    /// Waits until a server is up.
    pub(crate) async fn until_up(&self, server: ServerId) {
        self.until_true("up", || matches!(self.engine.health(server), ServerHealth::Up { .. })).await;
    }

    /// Ends or restarts a server for a person; returns which processes still run.
    pub(crate) async fn act_on(&self, server: ServerId, act: ServerAct) -> Vec<u32> {
        let (actor, subject) = (Actor::Person(person("ada")), Subject::Server(server));
        let verb = match act {
            ServerAct::End => Verb::ProcessEnded,
            ServerAct::Restart => Verb::ServerRestarted,
            ServerAct::Change => Verb::ServerChanged,
        };
        let asked = AuditEvent { at: self.now(), actor, verb, subject, note: "asked".into() };
        self.engine.act_on_server(server, act, &person("ada"), asked).await.expect("it is recorded")
    }

    /// Lets time pass.
    pub(crate) async fn pass(&self, span: Duration) {
        tokio::time::sleep(span).await;
    }

    /// Accepts the only open question, with a name.
    pub(crate) async fn accept(&self, id: HandleId, name: &str) -> Result<RequestKey, EngineError> {
        self.engine.answer(id, acceptance(None, name)).await
    }

    /// Handles of all tasks, newest first.
    pub(crate) async fn all(&self) -> Vec<TaskHandle> {
        let query = domain::ports::TaskQuery { limit: 1_000, ..Default::default() };
        let page = self.registry.list(query).await.expect("the registry can be listed");
        page.rows.into_iter().map(|(handle, _)| handle).collect()
    }

    /// The stored result.
    pub(crate) async fn result(&self, id: HandleId) -> Option<String> {
        let payload = self.registry.payload(id, PayloadKind::Result).await.expect("the payload can be read");
        payload.map(|payload| payload.as_str().to_owned())
    }
}

/// An accepted form.
pub(crate) fn acceptance(key: Option<&str>, name: &str) -> AnswerInput {
    AnswerInput {
        key: key.map(RequestKey::new),
        action: AnswerAction::Accept,
        content: Some(Payload::new(format!(r#"{{"name":"{name}"}}"#))),
        by: person(name).into(),
        not_before: None,
    }
}

/// A reply that asks before there is a task.
pub(crate) fn asks(questions: BTreeMap<RequestKey, Ask>, state: Option<Payload>) -> CallReply {
    let whole = Payload::new(r#"{"resultType":"input_required"}"#);
    CallReply::NeedsInput { questions, state, raw: None, asks_raw: BTreeMap::new(), whole }
}

/// The state of the only question.
pub(crate) fn question(handle: &TaskHandle) -> &RequestState {
    let mut requests = handle.requests.values();
    let only = requests.next().expect("there is a question");
    assert!(requests.next().is_none(), "there is only one question: {:?}", handle.requests);
    &only.state
}
