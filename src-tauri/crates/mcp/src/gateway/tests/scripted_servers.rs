//! A gateway with real connections over scripted links: what is sent to each server, byte for byte, and what each answers.
//!
//! For what passes through; a server behind the engine's own port is `setup.rs`.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use domain::ids::{AgentId, ServerId};
use domain::policy::Policy;
use domain::ports::{
    AgentUnit, Connected, ConnectionSpec, Connector, PortFuture, Registry, Secret, SecretError, Secrets, ServerUnit,
    UpstreamError,
};
use domain::server::{Era, Server, ServerHealth};
use engine::runtime::supervisor::Supervisor;
use engine::{Draw, Engine, EngineParts};
use parking_lot::Mutex;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use testkit::build::{http_server, sequential_bits};
use testkit::clock::TestClock;
use testkit::memory_registry::MemoryRegistry;
use testkit::notifier::RecordingNotifier;
use testkit::scripted::ScriptedServer;
use tokio::sync::{mpsc, oneshot};

use crate::gateway::tests::setup::{GatewaySetup, agent};
use crate::gateway::{Gateway, GatewayParts};
use crate::upstream::transport::link::{
    Answer, InboundMessage, LinkError, McpLink, NotificationListener, OpenedLink, OutgoingRequest, RequestTag, Response,
};
use crate::upstream::transport::request_params::OutgoingParams;
use crate::upstream::{ConnectorParts, McpConnector};

/// What a server does with a request.
pub(crate) enum LinkAnswer {
    /// Answers with this result.
    Result(String),
    /// Answers with this error.
    Error(String),
    /// Leaves it open.
    Hold,
    /// Says these first, on the request's stream; `TOKEN` becomes the token that was sent.
    Saying(Vec<(&'static str, String)>, Box<LinkAnswer>),
    /// Waits so long first.
    After(Duration, Box<LinkAnswer>),
    /// Asks this first, and answers with the reply.
    Asking(&'static str, &'static str),
}

type Script = Box<dyn Fn(&str, &str) -> LinkAnswer + Send + Sync>;

pub(crate) struct LinkServer {
    pub(crate) id: ServerId,
    modern: bool,
    hello: Value,
    script: Script,
    /// Method, params and the agent whose connection it was.
    pub(crate) sent: Mutex<Vec<(String, String, Option<AgentId>)>>,
    lines: Mutex<Vec<(Option<AgentId>, mpsc::Sender<InboundMessage>)>>,
    pub(crate) cancelled: Mutex<Vec<String>>,
    down: Mutex<bool>,
}

impl LinkServer {
    /// A server of 2026-07-28.
    pub(crate) fn modern(
        n: u128,
        caps: Value,
        script: impl Fn(&str, &str) -> LinkAnswer + Send + Sync + 'static,
    ) -> Arc<Self> {
        let hello = json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": caps});
        Self::new(n, true, hello, Box::new(script))
    }

    /// A server of 2025-11-25.
    pub(crate) fn legacy(
        n: u128,
        caps: Value,
        script: impl Fn(&str, &str) -> LinkAnswer + Send + Sync + 'static,
    ) -> Arc<Self> {
        let info = json!({"name": "peer", "version": "1"});
        Self::new(
            n,
            false,
            json!({"protocolVersion": "2025-11-25", "serverInfo": info, "capabilities": caps}),
            Box::new(script),
        )
    }

    fn new(n: u128, modern: bool, hello: Value, script: Script) -> Arc<Self> {
        let (sent, lines) = (Mutex::default(), Mutex::default());
        let id = ServerId::from_random(n);
        Arc::new(Self { id, modern, hello, script, sent, lines, cancelled: Mutex::default(), down: Mutex::new(false) })
    }

    /// Requests of a method, their params.
    pub(crate) fn times(&self, method: &str) -> Vec<String> {
        let sent = self.sent.lock();
        sent.iter().filter(|(asked, ..)| asked == method).map(|(_, params, _)| params.clone()).collect()
    }

    /// Says something on all its connections.
    pub(crate) async fn says(&self, method: &str, params: &str) {
        let lines: Vec<_> = self.lines.lock().iter().map(|(_, to)| to.clone()).collect();
        for to in lines {
            let params = RawValue::from_string(params.to_owned()).expect("JSON");
            // A connection that is over hears nothing.
            drop(to.send(InboundMessage::Notification { method: method.into(), params, on: None }).await);
        }
    }

    /// Says something on the connection of this agent.
    pub(crate) async fn says_to(&self, seat: Option<AgentId>, method: &str, params: &str) {
        let lines: Vec<_> = self.lines.lock().iter().filter(|(of, _)| *of == seat).map(|(_, to)| to.clone()).collect();
        assert!(!lines.is_empty(), "the agent has a connection of its own");
        for to in lines {
            let params = RawValue::from_string(params.to_owned()).expect("JSON");
            // A connection that is over hears nothing.
            drop(to.send(InboundMessage::Notification { method: method.into(), params, on: None }).await);
        }
    }

    /// Cannot be reached from now on.
    pub(crate) fn goes(&self) {
        *self.down.lock() = true;
        self.lines.lock().clear();
    }
}

struct ScriptedLink {
    server: Arc<LinkServer>,
    seat: Option<AgentId>,
    ear: Mutex<Option<Arc<dyn NotificationListener>>>,
    asked: Mutex<HashMap<String, oneshot::Sender<String>>>,
    inbound: mpsc::Sender<InboundMessage>,
}

impl ScriptedLink {
    async fn does(&self, does: LinkAnswer, tag: RequestTag) -> Result<Answer, LinkError> {
        let raw = |text: String| RawValue::from_string(text).expect("scripts are JSON");
        match does {
            LinkAnswer::Result(text) => Ok(Answer::Result(raw(text))),
            LinkAnswer::Error(text) => Ok(Answer::Error(raw(text))),
            LinkAnswer::Hold => std::future::pending().await,
            LinkAnswer::Saying(said, then) => {
                for (method, params) in said {
                    let params = raw(params.replace("TOKEN", &tag.0.to_string()));
                    let ear = self.ear.lock().clone();
                    if !ear.is_some_and(|ear| ear.told(method, &params, Some(tag))) {
                        let said = InboundMessage::Notification { method: method.into(), params, on: Some(tag) };
                        self.inbound.send(said).await.expect("somebody listens");
                    }
                }
                Box::pin(self.does(*then, tag)).await
            }
            LinkAnswer::After(wait, then) => {
                tokio::time::sleep(wait).await;
                Box::pin(self.does(*then, tag)).await
            }
            LinkAnswer::Asking(method, params) => {
                let token = format!("\"q-{}\"", tag.0);
                let (to, answer) = oneshot::channel();
                self.asked.lock().insert(token.clone(), to);
                let params = raw(params.to_owned());
                let asked = InboundMessage::Request { token, method: method.into(), params, on: Some(tag) };
                self.inbound.send(asked).await.expect("somebody listens");
                Ok(Answer::Result(raw(answer.await.expect("an answer"))))
            }
        }
    }
}

/// Tells the server when a request is given up.
struct Gone<'a>(&'a LinkServer, String, bool);

impl Drop for Gone<'_> {
    fn drop(&mut self) {
        if self.2 {
            self.0.cancelled.lock().push(std::mem::take(&mut self.1));
        }
    }
}

impl McpLink for ScriptedLink {
    fn request(&self, request: OutgoingRequest) -> PortFuture<'_, Result<Answer, LinkError>> {
        Box::pin(async move {
            let params = OutgoingParams::of(&request, self.server.modern.then_some("2026-07-28")).as_str().to_owned();
            let method = request.method.to_string();
            let does = (self.server.script)(&method, &params);
            self.server.sent.lock().push((method.clone(), params, self.seat));
            let mut gone = Gone(&self.server, method, true);
            let answer = self.does(does, request.tag).await;
            gone.2 = false;
            answer
        })
    }

    fn notify<'a>(&'a self, method: &'a str, params: Option<&'a RawValue>) -> PortFuture<'a, Result<(), LinkError>> {
        let params = params.map_or_else(String::new, |params| params.get().to_owned());
        self.server.sent.lock().push((method.to_owned(), params, self.seat));
        Box::pin(async { Ok(()) })
    }

    fn respond<'a>(&'a self, token: &'a str, response: Response) -> PortFuture<'a, Result<(), LinkError>> {
        if let Some(to) = self.asked.lock().remove(token) {
            let text = match response {
                Response::Result(raw) => raw.get().to_owned(),
                Response::Error(code, message) => json!({"error": code, "message": message}).to_string(),
            };
            to.send(text).expect("the server waits");
        }
        Box::pin(async { Ok(()) })
    }

    fn cancel(&self, _: RequestTag, _: Option<String>) -> PortFuture<'_, Result<(), LinkError>> {
        Box::pin(async { Ok(()) })
    }

    fn set_notification_listener(&self, ear: Arc<dyn NotificationListener>) -> bool {
        *self.ear.lock() = Some(ear);
        true
    }

    fn stderr_tail(&self) -> String {
        String::new()
    }

    fn close(&self, _: bool) -> PortFuture<'_, ()> {
        Box::pin(async {})
    }
}

struct Nothing;

impl Secrets for Nothing {
    fn get(&self, _: ServerId, _: &str) -> Result<Option<Secret>, SecretError> {
        Ok(None)
    }
    fn put(&self, _: ServerId, _: &str, _: &Secret) -> Result<(), SecretError> {
        Ok(())
    }
    fn forget(&self, _: ServerId, _: &str) -> Result<(), SecretError> {
        Ok(())
    }
    fn describe(&self) -> String {
        "nowhere".into()
    }
}

/// Opens connections to these servers.
struct Wires {
    servers: Vec<Arc<LinkServer>>,
    connector: McpConnector,
}

impl Connector for Wires {
    fn connect<'a>(
        &'a self,
        server: &'a Server,
        line: &'a ConnectionSpec,
    ) -> PortFuture<'a, Result<Connected, UpstreamError>> {
        Box::pin(async move {
            let link_server =
                self.servers.iter().find(|link_server| link_server.id == server.id).expect("a scripted server");
            if *link_server.down.lock() {
                return Err(UpstreamError::Unreachable { why: "nothing listens".into(), hint: String::new() });
            }
            let (inbound, said) = mpsc::channel(4_096);
            link_server.lines.lock().push((line.seat, inbound.clone()));
            let (ear, asked) = (Mutex::default(), Mutex::default());
            let weak = inbound.downgrade();
            drop(inbound);
            let inbound = weak.upgrade().expect("the line is kept");
            let link = Arc::new(ScriptedLink { server: Arc::clone(link_server), seat: line.seat, ear, asked, inbound });
            let closure = domain::ports::Closure { why: "gone".into(), hint: String::new(), process_ended: false };
            let said = tokio_stream::wrappers::ReceiverStream::new(said);
            let opened = OpenedLink {
                link,
                inbound: Box::pin(futures::StreamExt::chain(
                    said,
                    futures::stream::iter([InboundMessage::Closed(closure)]),
                )),
                era: if link_server.modern { Era::Modern } else { Era::Legacy },
                version: if link_server.modern { "2026-07-28" } else { "2025-11-25" }.into(),
                hello: RawValue::from_string(link_server.hello.to_string()).expect("JSON"),
                session: None,
                resumed: false,
                child: None,
                regained: None,
            };
            Ok(self.connector.take_up(opened, true, line.abilities, None))
        })
    }
}

/// A gateway over these servers, named `one`, `two`, `three` in their order. Agents are at the endpoint of the first.
pub(crate) async fn setup_over(servers: &[Arc<LinkServer>]) -> GatewaySetup {
    setup_with_policy(Policy::default(), servers).await
}

/// The same with another policy.
pub(crate) async fn setup_with_policy(policy: Policy, servers: &[Arc<LinkServer>]) -> GatewaySetup {
    let clock = Arc::new(TestClock::new());
    let registry: Arc<dyn Registry> = Arc::new(MemoryRegistry::new(policy.clone()));
    for (link_server, name) in servers.iter().zip(["one", "two", "three"]) {
        let mut server = http_server(1, name);
        server.id = link_server.id;
        registry.put_server(ServerUnit { server, audit: Vec::new() }).await.expect("the server is taken");
    }
    for n in [1, 2] {
        registry
            .put_agent(AgentUnit { agent: agent(n), audit: Vec::new(), ended_pause: None })
            .await
            .expect("the agent is taken");
    }
    let supervisor = Supervisor::new();
    let counted = sequential_bits();
    let draw: Draw = Arc::new(move || counted() ^ (0x5eed << 96));
    let connector = McpConnector::new(ConnectorParts {
        policy: policy.clone(),
        supervisor: supervisor.clone(),
        secrets: Arc::new(Nothing),
        clock: clock.clone(),
        draw: draw.clone(),
        children_dir: std::path::PathBuf::new(),
        keeper: None,
        client_document: None,
    });
    let forwarder = connector.forwarder();
    let parts = EngineParts {
        registry: registry.clone(),
        connector: Arc::new(Wires { servers: servers.to_vec(), connector }),
        clock: clock.clone(),
        notifier: Arc::new(RecordingNotifier::default()),
        draw: draw.clone(),
        policy: policy.clone(),
        host: domain::ids::HostId::from_random(1),
        supervisor: supervisor.clone(),
        intents: Arc::new(testkit::call_intents::MemoryCallIntents::default()),
        scale: Arc::new(testkit::token_counter::ByteTokenCounter),
    };
    let engine = Box::pin(Engine::start(parts)).await.expect("the engine starts");
    let gateway = Gateway::new(GatewayParts {
        engine: engine.clone(),
        forwarder,
        registry: registry.clone(),
        policy: policy.clone(),
        clock: clock.clone(),
        draw,
        supervisor: supervisor.clone(),
    });
    let scripted = ScriptedServer::new(clock.clone());
    let server = servers.first().expect("a server").id;
    let setup = GatewaySetup { clock, registry, engine, gateway, policy, supervisor, server, scripted };
    for link_server in servers {
        let up = |setup: &GatewaySetup| matches!(setup.engine.health(link_server.id), ServerHealth::Up { .. });
        setup.until("the server is up", up).await;
    }
    setup
}
