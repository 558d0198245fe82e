//! Setup for the older eras: sessions with their streams, and servers with a connection for each agent.
//!
//! The gateway itself is `setup.rs`.

use std::sync::Arc;
use std::time::Duration;

use domain::ids::{ConnectionId, HandleId, UpstreamTaskId};
use domain::policy::Policy;
use domain::ports::{Connected, ConnectionSpec, Connector, PortFuture, UpstreamError, UpstreamEvent, UpstreamSubject};
use domain::server::Server;
use domain::task::TaskHandle;
use domain::task::input_request::{Ask, LiveQuestion};
use domain::task::payload::Payload;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use testkit::clock::TestClock;
use testkit::scripted::{ScriptedConnector, ScriptedServer, form};
use tokio::sync::mpsc;

use crate::gateway::tests::setup::{AgentClient, GatewaySetup, Stream};
use crate::server::response_stream::{StreamMessage, StreamWriter};
use crate::server::session::SessionTransport;
use crate::wire::message::{Answer, Id};

/// The newest version that begins with `initialize`.
pub(crate) const WITH_TASKS: &str = "2025-11-25";

/// The longest wait for a condition, by the paused clock.
const LIMIT: Duration = Duration::from_secs(600);

/// A legacy server: people's connection and that of agents are different ones (ruling 14).
struct Seated {
    people: ScriptedConnector,
    agents: ScriptedConnector,
}

impl Connector for Seated {
    fn connect<'a>(
        &'a self,
        server: &'a Server,
        line: &'a ConnectionSpec,
    ) -> PortFuture<'a, Result<Connected, UpstreamError>> {
        match line.seat {
            None => self.people.connect(server, line),
            Some(_) => self.agents.connect(server, line),
        }
    }
}

/// A gateway whose server speaks 2025-11-25; the script is of the agent's own connection.
pub(crate) async fn legacy_gateway() -> GatewaySetup {
    let clock = Arc::new(TestClock::new());
    let (people, agents) = (ScriptedServer::new(clock.clone()), ScriptedServer::new(clock.clone()));
    let connector = Seated { people: ScriptedConnector::default(), agents: ScriptedConnector::default() };
    let id = testkit::build::http_server(1, "one").id;
    for (server, of) in [(&people, &connector.people), (&agents, &connector.agents)] {
        server.legacy();
        of.serve(id, server);
    }
    GatewaySetup::over(Policy::default(), clock, agents, Arc::new(connector)).await
}

/// A session with its standing stream.
pub(crate) struct SessionClient {
    pub(crate) caller: AgentClient,
    pub(crate) standing: mpsc::Receiver<StreamMessage>,
}

impl SessionClient {
    /// Agent 1 over HTTP, with a client that shows everything.
    pub(crate) fn new(setup: &GatewaySetup) -> Self {
        Self::with(setup, SessionTransport::Http, WITH_TASKS, &shows_all())
    }

    pub(crate) fn with(setup: &GatewaySetup, door: SessionTransport, version: &str, capabilities: &Value) -> Self {
        let caller = setup.legacy_through(door, 1, version, capabilities);
        let (outlet, standing) = StreamWriter::open();
        caller.session().stand(outlet);
        Self { caller, standing }
    }

    /// Calls a tool as a task.
    pub(crate) async fn task(&self, tool: &str) -> String {
        let created = self.caller.ask("tools/call", json!({"name": tool, "arguments": {}, "task": {}})).await.result();
        let id = created["task"]["taskId"].as_str().expect("a nested task with an id").to_owned();
        assert!(id.parse::<HandleId>().is_ok(), "the id is ours");
        id
    }

    /// Waits for the result of a task.
    pub(crate) fn awaits(&self, id: &str) -> Stream {
        self.caller.listen("tasks/result", json!({"taskId": id}))
    }

    /// Answers a question that was asked on any stream.
    pub(crate) fn replies(&self, question: &Value, result: &Value) {
        let raw = RawValue::from_string(result.to_string()).expect("JSON");
        let id = Id::from(question["id"].as_u64().expect("a question has an id"));
        self.caller.session().asks().deliver(&id, Answer::Result(raw));
    }

    /// Refuses a question with an error.
    pub(crate) fn refuses(&self, question: &Value) {
        let raw = RawValue::from_string(r#"{"code":-1,"message":"no"}"#.to_owned()).expect("JSON");
        let id = Id::from(question["id"].as_u64().expect("a question has an id"));
        self.caller.session().asks().deliver(&id, Answer::Error(raw));
    }

    /// The next message of this method on the standing stream.
    pub(crate) async fn hears(&mut self, method: &str) -> Value {
        loop {
            let frame = tokio::time::timeout(LIMIT, self.standing.recv()).await;
            let frame = frame.unwrap_or_else(|_| panic!("`{method}` never came")).expect("the stream is open");
            let message: Value = serde_json::from_slice(&frame.bytes).expect("JSON");
            if message["method"] == method {
                return message;
            }
        }
    }

    /// What stands on the standing stream by now.
    pub(crate) fn outcome(&mut self) -> Vec<Value> {
        let mut outcome = Vec::new();
        while let Ok(frame) = self.standing.try_recv() {
            outcome.push(serde_json::from_slice(&frame.bytes).expect("JSON"));
        }
        outcome
    }
}

/// What a client declares that shows everything.
pub(crate) fn shows_all() -> Value {
    json!({"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}})
}

/// The answer of a stream that ended.
pub(crate) async fn ended(stream: &Stream) -> Result<Value, Value> {
    let begun = tokio::time::Instant::now();
    loop {
        if let Some(ended) = &*stream.ended.lock() {
            return match ended {
                Ok(raw) => Ok(serde_json::from_str(raw.text()).expect("JSON")),
                Err(error) => Err(error.clone()),
            };
        }
        assert!(begun.elapsed() < LIMIT, "the request is answered");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Waits until the registry shows this of a task.
pub(crate) async fn until_task(
    setup: &GatewaySetup,
    id: &str,
    what: &str,
    holds: impl Fn(&TaskHandle) -> bool,
) -> TaskHandle {
    let id: HandleId = id.parse().expect("an id of ours");
    let begun = tokio::time::Instant::now();
    loop {
        let handle = setup.registry.handle(id).await.expect("readable").expect("the task is there");
        if holds(&handle) {
            return handle;
        }
        assert!(begun.elapsed() < LIMIT, "never {what}: {handle:#?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// The legacy server asks a form about its task, on the agent's connection.
pub(crate) fn asks_live(setup: &GatewaySetup, token: &str, subject: UpstreamSubject) {
    let whole = json!({"method": "elicitation/create", "params": {
        "message": "Go on?", "x-vendor": 1, "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}},
        "_meta": {"io.modelcontextprotocol/related-task": {"taskId": "upstream-1"}, "progressToken": 9, "kept": true},
    }});
    asks_this(setup, token, subject, form(), &whole);
}

/// The legacy server asks this, on the agent's connection.
pub(crate) fn asks_this(setup: &GatewaySetup, token: &str, subject: UpstreamSubject, ask: Ask, whole: &Value) {
    let connection: ConnectionId = setup.scripted.connection().expect("the agent's line is up");
    let question = LiveQuestion {
        connection,
        token: token.to_owned(),
        digest: format!("digest of {whole}"),
        ask,
        raw: None,
        whole: Some(Payload::new(whole.to_string())),
    };
    assert!(setup.scripted.say(UpstreamEvent::Question(subject, question)), "the line is up");
}

/// The task that scripts call `upstream-1`.
pub(crate) fn its_task() -> UpstreamSubject {
    UpstreamSubject::Task(UpstreamTaskId::new("upstream-1"))
}
