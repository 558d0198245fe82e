//! A gateway over a whole engine on a paused clock, and agents with their clients.
//!
//! Requests arrive as a listener would hand them over; no socket is opened.

use std::sync::Arc;
use std::time::Duration;

use domain::agent::{Agent, TokenDigest};
use domain::ids::{AgentId, HandleId, HostId, ServerId};
use domain::policy::Policy;
use domain::ports::{AgentUnit, CallReply, Clock, Connector, Registry, RuleUnit, ServerUnit};
use domain::rule::{Rule, RuleScope};
use domain::server::ServerHealth;
use domain::task::payload::Payload;
use domain::time::Timestamp;
use engine::runtime::supervisor::Supervisor;
use engine::{Draw, Engine, EngineParts};
use parking_lot::Mutex;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use testkit::build::{http_server, sequential_bits};
use testkit::clock::TestClock;
use testkit::memory_registry::MemoryRegistry;
use testkit::notifier::RecordingNotifier;
use testkit::scripted::{ScriptedConnector, ScriptedServer};
use testkit::token_counter::ByteTokenCounter;

use crate::gateway::request_context::RequestContext;
use crate::gateway::{Gateway, GatewayParts};
use crate::server::request_params::RequestParams;
use crate::server::response_stream::{CancelReason, CancelReasonCell, ResponseStream, StreamMessage, StreamWriter};
use crate::server::rpc_error::RequestError;
use crate::server::session::{Session, SessionStart, SessionTransport};
use crate::server::{AgentPrincipal, Client, ClientProgram, ModernClient, Principal, RawResult, Request, Service};
use crate::wire::message::Id;

/// The longest wait for a condition, by the paused clock.
pub(crate) const LIMIT: Duration = Duration::from_secs(600);

/// A gateway with everything around it.
pub(crate) struct GatewaySetup {
    pub(crate) clock: Arc<TestClock>,
    pub(crate) registry: Arc<dyn Registry>,
    pub(crate) engine: Engine,
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) policy: Policy,
    pub(crate) supervisor: Supervisor,
    pub(crate) server: ServerId,
    pub(crate) scripted: ScriptedServer,
}

/// One agent with one client.
#[derive(Clone)]
pub(crate) struct AgentClient {
    gateway: Arc<Gateway>,
    pub(crate) agent: AgentId,
    door: Option<ServerId>,
    client: Client,
    supervisor: Supervisor,
}

/// The answer to a request, and the notifications before it.
pub(crate) struct RequestOutcome {
    pub(crate) answer: Result<RawResult, RequestError>,
    pub(crate) said: Vec<Value>,
}

impl RequestOutcome {
    pub(crate) fn result(&self) -> Value {
        let raw = self.answer.as_ref().unwrap_or_else(|fault| panic!("an error came: {:?}", fault.json()));
        serde_json::from_str(raw.text()).expect("a result is JSON")
    }

    /// The result, byte for byte.
    pub(crate) fn raw(&self) -> &str {
        self.answer.as_ref().unwrap_or_else(|fault| panic!("an error came: {:?}", fault.json())).text()
    }

    pub(crate) fn error(&self) -> Value {
        match &self.answer {
            Ok(raw) => panic!("a result came: {}", raw.text()),
            Err(fault) => fault.json(),
        }
    }
}

impl GatewaySetup {
    /// One server named `one`, shared by all agents, and the agents 1 and 2.
    pub(crate) async fn new() -> Self {
        Self::with(Policy::default(), |_| {}).await
    }

    pub(crate) async fn with(policy: Policy, script: impl FnOnce(&ScriptedServer)) -> Self {
        let clock = Arc::new(TestClock::new());
        let scripted = ScriptedServer::new(clock.clone());
        script(&scripted);
        let connector = Arc::new(ScriptedConnector::default());
        connector.serve(http_server(1, "one").id, &scripted);
        Box::pin(Self::over(policy, clock, scripted, connector)).await
    }

    /// `scripted` behind this connector.
    pub(crate) async fn over(
        policy: Policy,
        clock: Arc<TestClock>,
        scripted: ScriptedServer,
        connector: Arc<dyn Connector>,
    ) -> Self {
        let server = http_server(1, "one");
        let id = server.id;
        let registry: Arc<dyn Registry> = Arc::new(MemoryRegistry::new(policy.clone()));
        registry.put_server(ServerUnit { server, audit: Vec::new() }).await.expect("the server is taken");
        for n in [1, 2] {
            let unit = AgentUnit { agent: agent(n), audit: Vec::new(), ended_pause: None };
            registry.put_agent(unit).await.expect("the agent is taken");
        }
        let supervisor = Supervisor::new();
        let counted = sequential_bits();
        let draw: Draw = Arc::new(move || counted() ^ (0x5eed << 96));
        let parts = EngineParts {
            registry: registry.clone(),
            connector,
            clock: clock.clone(),
            notifier: Arc::new(RecordingNotifier::default()),
            scale: Arc::new(ByteTokenCounter),
            draw: draw.clone(),
            policy: policy.clone(),
            host: HostId::from_random(1),
            supervisor: supervisor.clone(),
            intents: Arc::new(testkit::call_intents::MemoryCallIntents::default()),
        };
        let engine = Box::pin(Engine::start(parts)).await.expect("the engine starts");
        let gateway = Gateway::new(GatewayParts {
            engine: engine.clone(),
            forwarder: crate::upstream::Forwarder::default(),
            registry: registry.clone(),
            policy: policy.clone(),
            clock: clock.clone(),
            draw,
            supervisor: supervisor.clone(),
        });
        let setup = Self { clock, registry, engine, gateway, policy, supervisor, server: id, scripted };
        setup.until("the server is up", |setup| matches!(setup.engine.health(id), ServerHealth::Up { .. })).await;
        setup
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Agent `n` with a client of 2026-07-28 that declares tasks and forms, at the endpoint of the one server.
    pub(crate) fn modern(&self, n: u128) -> AgentClient {
        self.client(n, json!({"extensions": {"io.modelcontextprotocol/tasks": {}}, "elicitation": {}}))
    }

    /// Agent `n` with a client of 2026-07-28 that knows no tasks.
    pub(crate) fn plain(&self, n: u128) -> AgentClient {
        self.client(n, json!({}))
    }

    /// Agent `n` with a client of 2026-07-28 that declares this.
    pub(crate) fn client(&self, n: u128, capabilities: Value) -> AgentClient {
        let program = ClientProgram { name: "tester".to_owned(), version: "1".to_owned() };
        let client = ModernClient { version: "2026-07-28".to_owned(), capabilities, program: Some(program) };
        self.caller(n, Client::Modern(Arc::new(client)))
    }

    /// Agent `n` with a session of 2025-06-18 of this program over this transport.
    pub(crate) fn program(&self, n: u128, name: &str, door: SessionTransport) -> AgentClient {
        self.session(format!("session-of-{name}-{n}"), door, n, "2025-06-18", &json!({}), name)
    }

    /// Agent `n` with a session of `version`.
    pub(crate) fn legacy(&self, n: u128, version: &str, capabilities: &Value) -> AgentClient {
        self.legacy_through(SessionTransport::Http, n, version, capabilities)
    }

    /// Agent `n` with another session of `version`.
    pub(crate) fn legacy_named(&self, name: &str, n: u128, version: &str) -> AgentClient {
        self.session(name.to_owned(), SessionTransport::Http, n, version, &json!({}), "tester")
    }

    /// Agent `n` with a session of this program.
    pub(crate) fn program_of(&self, program: &str, n: u128, version: &str) -> AgentClient {
        self.session(format!("session-{n}"), SessionTransport::Http, n, version, &json!({}), program)
    }

    /// Agent `n` with a session of `version` over this transport.
    pub(crate) fn legacy_through(
        &self,
        door: SessionTransport,
        n: u128,
        version: &str,
        capabilities: &Value,
    ) -> AgentClient {
        self.session(format!("session-{n}"), door, n, version, capabilities, "tester")
    }

    fn session(
        &self,
        name: String,
        door: SessionTransport,
        n: u128,
        version: &str,
        capabilities: &Value,
        program: &str,
    ) -> AgentClient {
        let hello = json!({
            "protocolVersion": version, "capabilities": capabilities, "clientInfo": {"name": program, "version": "1"},
        });
        let hello = RequestParams::open(Some(raw(&hello))).expect("an object");
        let principal = Principal::Agent(AgentPrincipal { agent: AgentId::from_random(n), server: Some(self.server) });
        let scope = self.supervisor.scope();
        let serving = &self.policy.serving;
        let opening = SessionStart::read(name, &hello, Some(principal));
        let session = opening.map(|opening| Session::open(opening, door, scope, serving));
        self.caller(n, Client::Legacy(session.expect("a session")))
    }

    fn caller(&self, n: u128, client: Client) -> AgentClient {
        AgentClient {
            gateway: Arc::clone(&self.gateway),
            agent: AgentId::from_random(n),
            door: Some(self.server),
            client,
            supervisor: self.supervisor.clone(),
        }
    }

    /// A plain result after a while.
    pub(crate) fn replies(&self, tool: &str, after: Duration, payload: &str) {
        let reply = CallReply::Result { payload: Payload::new(payload), is_error: false };
        self.scripted.reply(tool, after, Ok(reply));
    }

    /// Puts a rule for this tool.
    pub(crate) async fn rule(&self, tool: &str, change: impl FnOnce(&mut Rule)) {
        self.rule_of(RuleScope::Tool(self.server, Arc::from(tool)), change).await;
    }

    /// Puts a rule with this scope.
    pub(crate) async fn rule_of(&self, scope: RuleScope, change: impl FnOnce(&mut Rule)) {
        let mut rule = Rule::new(scope);
        change(&mut rule);
        self.registry.put_rule(RuleUnit { rule, remove: false, audit: Vec::new() }).await.expect("the rule is taken");
        self.engine.agents_changed().await.expect("the rules are read");
    }

    /// Waits until something holds.
    pub(crate) async fn until(&self, what: &str, holds: impl Fn(&Self) -> bool) {
        let begun = tokio::time::Instant::now();
        while !holds(self) {
            assert!(begun.elapsed() < LIMIT, "never: {what}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Waits until the learned timeout of an agent is stored.
    pub(crate) async fn until_flushed(&self, agent: AgentId) {
        let begun = tokio::time::Instant::now();
        loop {
            let stored = self.registry.agents().await.expect("agents are read");
            if stored.iter().any(|stored| stored.id == agent && stored.learned_timeout.is_some()) {
                return;
            }
            assert!(begun.elapsed() < LIMIT, "what is learned is never stored");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// The tasks of agent `n` that are recorded, newest first.
    pub(crate) async fn rows(&self, n: u128) -> Vec<domain::task::TaskHandle> {
        let agent = Some(AgentId::from_random(n));
        let query = domain::ports::TaskQuery { agent, limit: 100, ..Default::default() };
        let page = self.registry.list(query).await.expect("the registry can be listed");
        page.rows.into_iter().map(|(handle, _)| handle).collect()
    }
}

impl AgentClient {
    pub(crate) fn session(&self) -> &Arc<Session> {
        match &self.client {
            Client::Legacy(session) => session,
            Client::Modern(_) => panic!("a modern client has no session"),
        }
    }

    /// Whether it is at the endpoint of all servers.
    pub(crate) fn is_at_all(&self) -> bool {
        self.door.is_none()
    }

    /// The same at the endpoint of all servers.
    pub(crate) fn at_all(mut self) -> Self {
        self.door = None;
        self
    }

    /// Sends a request and waits for its answer.
    pub(crate) async fn ask(&self, method: &str, params: Value) -> RequestOutcome {
        self.ask_raw(method, &params.to_string()).await
    }

    /// Sends a request whose params are this text.
    pub(crate) async fn ask_raw(&self, method: &str, params: &str) -> RequestOutcome {
        let (outlet, mut frames) = StreamWriter::open();
        let said = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&said);
        self.supervisor.spawn("test frames", async move {
            while let Some(StreamMessage { bytes, .. }) = frames.recv().await {
                kept.lock().push(serde_json::from_slice(&bytes).expect("a frame is JSON"));
            }
        });
        let answer = self.send(method, params, outlet, CancelReasonCell::default()).await;
        // Frames were sent before the answer; they are taken before this task runs again.
        tokio::time::sleep(Duration::from_millis(1)).await;
        let said = said.lock().clone();
        RequestOutcome { answer, said }
    }

    /// Sends a request and gives it up after `until`, in this way.
    pub(crate) async fn give_up(&self, method: &str, params: Value, until: Duration, how: Option<CancelReason>) {
        let (outlet, frames) = StreamWriter::open();
        let given_up = CancelReasonCell::default();
        let params = params.to_string();
        let asking = self.send(method, &params, outlet, given_up.clone());
        tokio::pin!(asking);
        let answered = tokio::time::timeout(until, &mut asking).await;
        assert!(answered.is_err(), "it was to be given up before its answer");
        if let Some(how) = how {
            given_up.set(how);
        }
        drop(frames);
    }

    /// Sends a request and closes its stream after `until`, as older clients over HTTP do: the work goes on.
    pub(crate) async fn hang_up(&self, method: &'static str, params: Value, until: Duration) {
        let (outlet, frames) = StreamWriter::open();
        let caller = self.clone();
        self.supervisor.spawn("test request", async move {
            drop(caller.send(method, &params.to_string(), outlet, CancelReasonCell::default()).await);
        });
        tokio::time::sleep(until).await;
        drop(frames);
    }

    /// Sends a request whose stream stays open.
    pub(crate) fn listen(&self, method: &'static str, params: Value) -> Stream {
        let (outlet, frames) = StreamWriter::open();
        let (caller, ended) = (self.clone(), Arc::new(Mutex::new(None)));
        let told = Arc::clone(&ended);
        self.supervisor.spawn("test stream", async move {
            let answer = caller.send(method, &params.to_string(), outlet, CancelReasonCell::default()).await;
            *told.lock() = Some(answer.map_err(|fault| fault.json()));
        });
        Stream { frames, ended }
    }

    async fn send(
        &self,
        method: &str,
        params: &str,
        outlet: StreamWriter,
        given_up: CancelReasonCell,
    ) -> Result<RawResult, RequestError> {
        let (session, closing_cancels) = match &self.client {
            Client::Modern(_) => (None, true),
            Client::Legacy(session) => (Some(Arc::clone(session)), false),
        };
        let request = self.request(method, params)?;
        let seat = ResponseStream::new(outlet, session, given_up, closing_cancels);
        self.gateway.request(self.client.clone(), request, seat).await
    }

    fn request(&self, method: &str, params: &str) -> Result<Request, RequestError> {
        let params = RawValue::from_string(params.to_owned()).expect("params are JSON");
        Ok(Request {
            id: Id::from(1),
            method: method.to_owned(),
            params: RequestParams::open(Some(params))?,
            principal: Some(Principal::Agent(AgentPrincipal { agent: self.agent, server: self.door })),
            mirrored: None,
        })
    }

    /// What the parts of the gateway get of a call with these params.
    pub(crate) fn context_of_call(&self, params: &Value) -> (RequestContext, RequestParams) {
        let request = self.request("tools/call", &params.to_string()).expect("an object");
        let context = self.gateway.state.context(self.client.clone(), &request);
        (context.expect("the agent has access"), request.params)
    }

    /// Bytes that a request of the gateway takes while it is answered, without what it boxes on slow ways.
    pub(crate) fn bytes_of_request(&self) -> usize {
        let (outlet, _frames) = StreamWriter::open();
        let request = self.request("tools/call", "{}").expect("an object");
        let stream = ResponseStream::new(outlet, None, CancelReasonCell::default(), true);
        size_of_val(&self.gateway.answer(self.client.clone(), request, None, stream))
    }

    /// Calls a tool.
    pub(crate) async fn call(&self, tool: &str) -> RequestOutcome {
        self.ask("tools/call", json!({"name": tool, "arguments": {}})).await
    }

    /// Reads a task.
    pub(crate) async fn get(&self, id: &str) -> RequestOutcome {
        self.ask("tasks/get", json!({"taskId": id})).await
    }

    /// Reads a task until its status is this.
    pub(crate) async fn until_status(&self, id: &str, status: &str) -> Value {
        let begun = tokio::time::Instant::now();
        loop {
            let task = self.get(id).await.result();
            if task["status"] == status {
                return task;
            }
            assert!(begun.elapsed() < LIMIT, "never `{status}`; the last is {task}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

/// An open stream.
pub(crate) struct Stream {
    frames: tokio::sync::mpsc::Receiver<StreamMessage>,
    pub(crate) ended: Arc<Mutex<Option<Result<RawResult, Value>>>>,
}

impl Stream {
    /// The next message on it.
    pub(crate) async fn next(&mut self) -> Value {
        let frame = tokio::time::timeout(LIMIT, self.frames.recv()).await.expect("something is said in time");
        serde_json::from_slice(&frame.expect("the stream is open").bytes).expect("a frame is JSON")
    }

    /// The next message on it; `None` at its end.
    pub(crate) async fn read(&mut self) -> Option<Value> {
        let frame = self.frames.recv().await?;
        Some(serde_json::from_slice(&frame.bytes).expect("a frame is JSON"))
    }

    /// Whether it has ended, after all messages on it.
    pub(crate) async fn is_over(&mut self) -> bool {
        tokio::time::timeout(LIMIT, self.frames.recv()).await.is_ok_and(|frame| frame.is_none())
    }
}

pub(crate) fn agent(n: u128) -> Agent {
    Agent {
        id: AgentId::from_random(n),
        name: format!("agent-{n}"),
        created: Timestamp::EPOCH,
        revoked: None,
        token: TokenDigest::of(&format!("twa_{n}")),
        token_made: Timestamp::EPOCH,
        seen: None,
        client: None,
        learned_timeout: None,
        task_tools: true,
        calls: 0,
        meter: domain::budget::window::CountingSettings::default(),
    }
}

/// A value as raw JSON.
pub(crate) fn raw(value: &Value) -> Box<RawValue> {
    RawValue::from_string(value.to_string()).expect("JSON")
}

/// The id of a new task.
pub(crate) fn task_id(created: &Value) -> String {
    assert_eq!(created["resultType"], "task", "a task was to be created: {created}");
    let id = created["taskId"].as_str().expect("a task has an id").to_owned();
    assert!(id.parse::<HandleId>().is_ok(), "the id is ours: 128 random bits in visible ASCII (56)");
    id
}
