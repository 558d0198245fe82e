//! A connection over a link that follows a script: what goes out, what comes back, what the engine hears.
//!
//! The script answers by method; `Hold` leaves a request open until the test releases it. Stories are in the files
//! below, one a subject.

mod calls;
mod connector;
mod events;
mod forward;
mod questions;
mod subscription;
mod tasks2025;
mod tasks2026;
mod tools;

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use domain::ids::{ConnectionId, HandleId, UpstreamTaskId};
use domain::policy::Policy;
use domain::ports::{Abilities, CallRequest, Clock, Closure, PortFuture, SendPermit, Upstream, UpstreamEvent};
use domain::server::{Era, Negotiated};
use domain::task::payload::Payload;
use domain::time::Timestamp;
use engine::runtime::supervisor::Supervisor;
use futures::StreamExt;
use futures_core::Stream;
use parking_lot::Mutex;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc, oneshot};

use super::connection::{Connection, ConnectionParts};
use super::port::McpUpstream;
use crate::upstream::transport::link::{
    Answer, InboundMessage, LinkError, McpLink, OpenedLink, OutgoingRequest, RequestTag, Response, ResumedCall,
    ResumedChild,
};

/// Longest any level is waited for.
const LIMIT: Duration = Duration::from_secs(3_600);

pub(crate) enum Reply {
    Result(Value),
    /// A result as this text.
    Raw(String),
    Error(Value),
    Fail(LinkError),
    Hold,
}

type Script = Box<dyn FnMut(&OutgoingRequest) -> Reply + Send>;

/// What a request looked like on the wire, but for what the link adds.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sent {
    pub(crate) method: std::borrow::Cow<'static, str>,
    pub(crate) params: Value,
    pub(crate) tag: RequestTag,
    pub(crate) limited: bool,
    pub(crate) param_headers: Vec<(String, String)>,
}

#[derive(Default)]
pub(crate) struct Wire {
    pub(crate) sent: Vec<Sent>,
    pub(crate) responded: Vec<(String, Value)>,
    pub(crate) cancelled: Vec<RequestTag>,
    open: HashMap<RequestTag, oneshot::Sender<Result<Answer, LinkError>>>,
    pub(crate) respond_fails: Option<LinkError>,
}

pub(crate) struct ScriptedLink {
    script: Mutex<Script>,
    pub(crate) wire: Mutex<Wire>,
    moved: Notify,
}

fn raw(value: &Value) -> Box<RawValue> {
    RawValue::from_string(value.to_string()).expect("a value is JSON")
}

impl ScriptedLink {
    /// Waits until the wire looks like this, and says what it found.
    pub(crate) async fn until<T>(&self, what: &str, found: impl Fn(&Wire) -> Option<T>) -> T {
        let wait = async {
            loop {
                let moved = self.moved.notified();
                if let Some(found) = found(&self.wire.lock()) {
                    return found;
                }
                moved.await;
            }
        };
        match tokio::time::timeout(LIMIT, wait).await {
            Ok(found) => found,
            Err(_) => panic!("never happened: {what}; sent {:?}", self.wire.lock().sent),
        }
    }

    /// The n-th request of a method, counted from 1.
    pub(crate) async fn nth(&self, method: &str, n: usize) -> Sent {
        let what = format!("{method} number {n}");
        self.until(&what, |wire| wire.sent.iter().filter(|sent| sent.method == method).nth(n - 1).cloned()).await
    }

    pub(crate) fn count(&self, method: &str) -> usize {
        self.wire.lock().sent.iter().filter(|sent| sent.method == method).count()
    }

    /// Ends an open request.
    pub(crate) async fn release(&self, tag: RequestTag, answer: Result<Answer, LinkError>) {
        self.until("the request is open", |wire| wire.open.contains_key(&tag).then_some(())).await;
        let open = self.wire.lock().open.remove(&tag).expect("it is open");
        assert!(open.send(answer).is_ok(), "somebody waits for {tag:?}");
    }
}

pub(crate) fn result(value: Value) -> Result<Answer, LinkError> {
    Ok(Answer::Result(raw(&value)))
}

pub(crate) fn error(code: i64, message: &str) -> Reply {
    Reply::Error(json!({"code": code, "message": message}))
}

pub(crate) fn broken(sent: bool) -> LinkError {
    LinkError::Broken { why: "the child ended".into(), hint: "Start it again.".into(), sent }
}

impl McpLink for ScriptedLink {
    fn request(&self, request: OutgoingRequest) -> PortFuture<'_, Result<Answer, LinkError>> {
        let mut request = request;
        for (name, value) in &request.verbatim {
            request.params[*name] = serde_json::from_str(value).expect("verbatim members are JSON");
        }
        let reply = (self.script.lock())(&request);
        let held = {
            let mut wire = self.wire.lock();
            wire.sent.push(Sent {
                method: request.method,
                params: request.params,
                tag: request.tag,
                limited: request.limit.is_some(),
                param_headers: request.param_headers,
            });
            let (end, ended) = oneshot::channel();
            if matches!(reply, Reply::Hold) {
                wire.open.insert(request.tag, end);
            }
            ended
        };
        self.moved.notify_waiters();
        Box::pin(async move {
            match reply {
                Reply::Result(value) => Ok(Answer::Result(raw(&value))),
                Reply::Raw(text) => Ok(Answer::Result(RawValue::from_string(text).expect("JSON"))),
                Reply::Error(value) => Ok(Answer::Error(raw(&value))),
                Reply::Fail(failed) => Err(failed),
                Reply::Hold => held.await.unwrap_or_else(|_| Err(broken(true))),
            }
        })
    }

    fn notify<'a>(&'a self, _: &'a str, _: Option<&'a RawValue>) -> PortFuture<'a, Result<(), LinkError>> {
        Box::pin(async { Ok(()) })
    }

    fn respond<'a>(&'a self, token: &'a str, response: Response) -> PortFuture<'a, Result<(), LinkError>> {
        let outcome = {
            let mut wire = self.wire.lock();
            let value = match response {
                Response::Result(raw) => {
                    json!({"result": serde_json::from_str::<Value>(raw.get()).expect("a response is JSON")})
                }
                Response::Error(code, message) => json!({"error": {"code": code, "message": message}}),
            };
            wire.responded.push((token.to_owned(), value));
            wire.respond_fails.take().map_or(Ok(()), Err)
        };
        self.moved.notify_waiters();
        Box::pin(async move { outcome })
    }

    fn cancel(&self, tag: RequestTag, _: Option<String>) -> PortFuture<'_, Result<(), LinkError>> {
        let open = {
            let mut wire = self.wire.lock();
            wire.cancelled.push(tag);
            wire.open.remove(&tag)
        };
        if let Some(open) = open {
            drop(open.send(Err(broken(true))));
        }
        self.moved.notify_waiters();
        Box::pin(async { Ok(()) })
    }

    fn stderr_tail(&self) -> String {
        "last words".into()
    }

    fn close(&self, _: bool) -> PortFuture<'_, ()> {
        self.wire.lock().open.clear();
        Box::pin(async {})
    }
}

/// Each reading is a millisecond later.
struct TickingClock(AtomicI64);

impl Clock for TickingClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.fetch_add(1, Ordering::Relaxed))
    }
}

pub(crate) struct Rig {
    pub(crate) link: Arc<ScriptedLink>,
    pub(crate) upstream: Arc<dyn Upstream>,
    pub(crate) forward: Arc<dyn crate::upstream::Forward>,
    pub(crate) negotiated: Negotiated,
    pub(crate) id: ConnectionId,
    inbound: mpsc::Sender<InboundMessage>,
    events: Pin<Box<dyn Stream<Item = UpstreamEvent> + Send>>,
}

pub(crate) const MODERN: &str = "2026-07-28";
pub(crate) const LEGACY: &str = "2025-11-25";

/// A greeting with the extension.
pub(crate) fn modern_hello() -> Value {
    json!({"resultType": "complete", "supportedVersions": [MODERN],
           "capabilities": {"tools": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}},
           "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "peer", "version": "1"}}})
}

/// A greeting with all of 2025's tasks.
pub(crate) fn legacy_hello() -> Value {
    json!({"protocolVersion": LEGACY, "serverInfo": {"name": "peer", "version": "1"},
           "capabilities": {"tools": {}, "tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}}})
}

impl Rig {
    pub(crate) fn modern(script: impl FnMut(&OutgoingRequest) -> Reply + Send + 'static) -> Self {
        Self::new(Era::Modern, MODERN, &modern_hello(), true, script)
    }

    pub(crate) fn legacy(script: impl FnMut(&OutgoingRequest) -> Reply + Send + 'static) -> Self {
        Self::new(Era::Legacy, LEGACY, &legacy_hello(), true, script)
    }

    /// A legacy connection of an agent that can be asked these things.
    pub(crate) fn legacy_of(
        abilities: Abilities,
        script: impl FnMut(&OutgoingRequest) -> Reply + Send + 'static,
    ) -> Self {
        Self::with(Era::Legacy, LEGACY, &legacy_hello(), true, abilities, None, script)
    }

    /// A legacy child of an earlier core, which still works on these calls.
    pub(crate) fn resumed(
        calls: impl IntoIterator<Item = HandleId>,
        script: impl FnMut(&OutgoingRequest) -> Reply + Send + 'static,
    ) -> Self {
        let resumed = |(ticket, tag)| ResumedCall {
            ticket,
            tag: RequestTag(tag),
            augment: false,
            answer: Box::pin(std::future::pending()),
        };
        let calls = calls.into_iter().zip(1..).map(resumed).collect();
        let calls = ResumedChild { abilities: Abilities::default(), first_tag: 1_000, calls };
        Self::with(Era::Legacy, LEGACY, &legacy_hello(), false, Abilities::default(), Some(calls), script)
    }

    pub(crate) fn new(
        era: Era,
        version: &str,
        hello: &Value,
        over_http: bool,
        script: impl FnMut(&OutgoingRequest) -> Reply + Send + 'static,
    ) -> Self {
        Self::with(era, version, hello, over_http, Abilities::default(), None, script)
    }

    fn with(
        era: Era,
        version: &str,
        hello: &Value,
        over_http: bool,
        abilities: Abilities,
        regained: Option<ResumedChild>,
        script: impl FnMut(&OutgoingRequest) -> Reply + Send + 'static,
    ) -> Self {
        let link = Arc::new(ScriptedLink {
            script: Mutex::new(Box::new(script)),
            wire: Mutex::default(),
            moved: Notify::new(),
        });
        let (inbound, said) = mpsc::channel(4_096);
        let opened = OpenedLink {
            link: Arc::clone(&link) as Arc<dyn McpLink>,
            inbound: Box::pin(tokio_stream::wrappers::ReceiverStream::new(said)),
            era,
            version: version.into(),
            hello: raw(hello),
            session: None,
            resumed: regained.is_some(),
            child: None,
            regained,
        };
        let around = ConnectionParts {
            policy: Arc::new(Policy::default()),
            supervisor: Supervisor::new(),
            clock: Arc::new(TickingClock(AtomicI64::new(1_000))),
            abilities,
            log: None,
        };
        let id = ConnectionId::from_random(1);
        let (connection, negotiated, events) = Connection::begin(id, opened, over_http, around);
        let forward = Arc::clone(&connection) as Arc<dyn crate::upstream::Forward>;
        Self { link, upstream: Arc::new(McpUpstream::new(connection)), forward, negotiated, id, inbound, events }
    }

    pub(crate) async fn says(&self, said: InboundMessage) {
        self.inbound.send(said).await.expect("the connection listens");
    }

    pub(crate) async fn notifies(&self, method: &str, params: Value) {
        self.says(InboundMessage::Notification { method: method.into(), params: raw(&params), on: None }).await;
    }

    pub(crate) async fn asks(&self, token: &str, method: &str, params: Value, on: Option<RequestTag>) {
        let (token, method) = (token.to_owned(), method.to_owned());
        self.says(InboundMessage::Request { token, method, params: raw(&params), on }).await;
    }

    pub(crate) async fn closes(&self) {
        let closure = Closure { why: "the child ended".into(), hint: "Start it.".into(), process_ended: true };
        self.says(InboundMessage::Closed(closure)).await;
    }

    pub(crate) async fn heard(&mut self) -> UpstreamEvent {
        match tokio::time::timeout(LIMIT, self.events.next()).await {
            Ok(Some(event)) => event,
            other => panic!("no event came: {other:?}"),
        }
    }

    pub(crate) async fn hears_end(&mut self) -> bool {
        tokio::time::timeout(LIMIT, self.events.next()).await.expect("the stream ends").is_none()
    }
}

pub(crate) fn ticket(n: u128) -> HandleId {
    HandleId::from_random(n)
}

pub(crate) fn task(id: &str) -> UpstreamTaskId {
    UpstreamTaskId::new(id)
}

pub(crate) fn call(n: u128, tool: &str, arguments: &str) -> CallRequest {
    CallRequest {
        ticket: ticket(n),
        tool: tool.into(),
        arguments: Payload::new(arguments),
        continuation: None,
        agent_params: None,
        abilities: Abilities::default(),
        listener: None,
        permit: SendPermit::default(),
    }
}

/// Starts something on the side.
pub(crate) fn aside<F>(work: F) -> tokio::task::JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    #[expect(clippy::disallowed_methods, reason = "a test waits for it")]
    tokio::spawn(work)
}
