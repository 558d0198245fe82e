//! A server behind the `Connector` and `Upstream` ports that does what a test says, without a wire.
//!
//! A [`ScriptedServer`] outlives its connections, as a real server does: its tasks, plans and record stay when a connection
//! closes or the engine starts anew. Every action of the engine is recorded with its time. `poll_reply.rs` is what a task can
//! be told to answer, `ports.rs` the ports.

mod poll_reply;
mod ports;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use domain::ids::{ConnectionId, HandleId, RequestKey, ServerId, SessionKey, UpstreamTaskId};
use domain::ports::{CallError, CallReply, Clock, Closure, ToolFacts, UpstreamError, UpstreamEvent};
use domain::server::{Dialect, Era, Negotiated};
use domain::task::input_request::AnswerAction;
use domain::task::observation::Observation;
use domain::task::payload::Payload;
use domain::time::Timestamp;
use futures::channel::mpsc;
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};

pub use poll_reply::{Outstanding, PollReply, form};
pub use ports::ScriptedConnector;

/// Events that wait for the engine at most; a test that sends more has forgotten to run the engine.
const EVENTS_MAX: usize = 100_000;

/// Something the engine did to the server, as the server saw it.
#[derive(Debug, Clone, PartialEq)]
pub enum EngineAction {
    /// Opened a connection.
    Connect,
    /// Called a tool; with the number of answers of a further round.
    Call {
        /// Under this ticket.
        ticket: HandleId,
        /// The name of the tool.
        tool: String,
        /// Answers of a further round.
        answers: Option<usize>,
    },
    /// Asked the server to cancel a call.
    CancelCall(HandleId),
    /// Polled a task.
    Read(UpstreamTaskId),
    /// Sent answers to questions.
    Answer {
        /// Of which task.
        task: Option<UpstreamTaskId>,
        /// Which key or token, the choice, and the content.
        answers: Vec<(String, AnswerAction, Option<String>)>,
    },
    /// Refused a question.
    RefuseQuestion(String),
    /// Asked the server to cancel a task.
    Cancel(UpstreamTaskId),
    /// Asked whether it is there.
    Ping,
    /// Read the list.
    List,
    /// Said which tasks are live.
    Watch(Vec<UpstreamTaskId>),
    /// Closed the connection.
    Close,
}

/// How the server takes the cancel of a task.
#[derive(Debug, Clone, PartialEq)]
pub enum OnCancel {
    /// Acknowledges and obeys.
    Obey,
    /// Acknowledges and keeps working.
    Ignore,
    /// Answers with this error, every time.
    Fail(UpstreamError),
}

/// What a call brings, and when.
#[derive(Debug, Clone)]
pub(crate) struct PlannedReply {
    after: Duration,
    outcome: Result<CallReply, CallError>,
}

#[derive(Debug)]
struct ScriptedTask {
    looks: VecDeque<PollReply>,
    created: Timestamp,
    hint: Option<Duration>,
    ttl: Option<Duration>,
    answered: BTreeMap<RequestKey, AnswerAction>,
}

pub(crate) struct ServerScript {
    negotiated: Negotiated,
    connect: Option<UpstreamError>,
    connect_takes: Duration,
    takes: Duration,
    connection: Option<(ConnectionId, mpsc::Sender<UpstreamEvent>)>,
    connections: u64,
    replies: HashMap<String, VecDeque<PlannedReply>>,
    tasks: HashMap<UpstreamTaskId, ScriptedTask>,
    listed: Vec<UpstreamTaskId>,
    read_failures: VecDeque<UpstreamError>,
    answer_failures: VecDeque<UpstreamError>,
    ping_failure: Option<UpstreamError>,
    on_cancel: OnCancel,
    on_cancel_call: Result<(), UpstreamError>,
    acts: Vec<(Timestamp, EngineAction)>,
    most_reads: usize,
    reading: usize,
    session_per_connection: bool,
    pushes: bool,
    keeps: bool,
    regained: HashMap<HandleId, PlannedReply>,
    tools: Vec<ToolFacts>,
    tool_listings: usize,
}

/// The server of a script. Clones are the same server.
#[derive(Clone)]
pub struct ScriptedServer {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) state: Arc<Mutex<ServerScript>>,
    /// Wakes calls in flight when the connection closes.
    pub(crate) cut: Arc<Notify>,
    /// Whether calls leave at once; otherwise they wait before the wire.
    sendable: Arc<watch::Sender<bool>>,
}

impl ScriptedServer {
    /// A modern server with tasks and without a list, that is up.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        let negotiated = Negotiated {
            era: Era::Modern,
            dialect: Dialect::Extension2026,
            protocol_version: "2026-07-28".into(),
            server_name: "scripted".into(),
            server_version: "1".into(),
            can_list: false,
            can_cancel: true,
            session: None,
        };
        let state = ServerScript {
            negotiated,
            connect: None,
            connect_takes: Duration::ZERO,
            takes: Duration::ZERO,
            connection: None,
            connections: 0,
            replies: HashMap::new(),
            tasks: HashMap::new(),
            listed: Vec::new(),
            read_failures: VecDeque::new(),
            answer_failures: VecDeque::new(),
            ping_failure: None,
            on_cancel: OnCancel::Obey,
            on_cancel_call: Ok(()),
            acts: Vec::new(),
            most_reads: 0,
            reading: 0,
            session_per_connection: false,
            pushes: false,
            keeps: false,
            regained: HashMap::new(),
            tools: Vec::new(),
            tool_listings: 0,
        };
        Self {
            clock,
            state: Arc::new(Mutex::new(state)),
            cut: Arc::new(Notify::new()),
            sendable: Arc::new(watch::Sender::new(true)),
        }
    }

    /// Calls wait before the wire from now on, or leave.
    pub fn queue_calls(&self, queue: bool) {
        self.sendable.send_replace(!queue);
    }

    /// Waits until calls leave.
    pub(crate) async fn until_sendable(&self) {
        // The sender lives as long as this.
        let _ = self.sendable.subscribe().wait_for(|sendable| *sendable).await;
    }

    /// Lists exactly this tool from now on, marked as one that only reads.
    pub fn list_reading(&self, tool: &str, description: &str) {
        let facts = tool_facts(tool, description);
        let text =
            format!(r#"{{"annotations":{{"readOnlyHint":true}},"description":"{description}","name":"{tool}"}}"#);
        self.state.lock().tools = vec![ToolFacts { read_only_hint: Some(true), definition: text.into(), ..facts }];
    }

    /// Speaks the 2025 dialect, in one session that is taken up again.
    pub fn legacy(&self) {
        let mut state = self.state.lock();
        state.negotiated.era = Era::Legacy;
        state.negotiated.dialect = Dialect::Experimental2025;
        state.negotiated.protocol_version = "2025-11-25".into();
        state.negotiated.session = Some(SessionKey::new("session-1"));
    }

    /// Lists this tool from now on, marked destructive.
    pub fn list_destructive(&self, tool: &str) {
        let listed = ToolFacts { destructive_hint: Some(true), ..tool_facts(tool, "") };
        self.state.lock().tools.push(listed);
    }

    /// How often its tools were listed.
    #[must_use]
    pub fn tool_listings(&self) -> usize {
        self.state.lock().tool_listings
    }

    /// Lists exactly these tools from now on, each with its description.
    pub fn list_tools<'a>(&self, tools: impl IntoIterator<Item = (&'a str, &'a str)>) {
        let listed = tools.into_iter().map(|(name, description)| tool_facts(name, description)).collect();
        self.state.lock().tools = listed;
    }

    /// The next connection is this session, and no other is taken up again.
    pub fn new_session(&self, session: &str) {
        self.state.lock().negotiated.session = Some(SessionKey::new(session));
    }

    /// Every connection is a new child process, as over stdio.
    pub fn child_per_connection(&self) {
        self.state.lock().session_per_connection = true;
    }

    /// From now on its child outlives the core.
    pub fn outlive_core(&self) {
        self.state.lock().keeps = true;
    }

    /// The kept child still works on this call, and the next connection hears what it brings, after a while.
    pub fn works_on(&self, ticket: HandleId, after: Duration, outcome: Result<CallReply, CallError>) {
        self.state.lock().regained.insert(ticket, PlannedReply { after, outcome });
    }

    /// Has a list, with these tasks.
    pub fn list(&self, tasks: &[&str]) {
        let mut state = self.state.lock();
        state.negotiated.can_list = true;
        state.listed = tasks.iter().copied().map(UpstreamTaskId::new).collect();
    }

    /// Accepts every subscription.
    pub fn accepts_subscriptions(&self) {
        self.state.lock().pushes = true;
    }

    /// Cannot be connected to, for this reason; `None` ends that.
    pub fn refuse_connections(&self, error: Option<UpstreamError>) {
        self.state.lock().connect = error;
    }

    /// Each request takes this long.
    pub fn takes(&self, span: Duration) {
        self.state.lock().takes = span;
    }

    /// The next call of this tool brings this, after a while. Calls without a plan get an error.
    pub fn reply(&self, tool: &str, after: Duration, outcome: Result<CallReply, CallError>) {
        self.state.lock().replies.entry(tool.to_owned()).or_default().push_back(PlannedReply { after, outcome });
    }

    /// The next call of this tool creates this task at once; it then goes through these looks, one at each read, and
    /// stays at the last. A look that asks stays until it is answered.
    pub fn reply_task(&self, tool: &str, task: &str, looks: Vec<PollReply>) {
        self.plan(task, looks);
        self.reply(tool, Duration::ZERO, Ok(self.created(task)));
    }

    /// The reply that creates a planned task.
    #[must_use]
    pub fn created(&self, task: &str) -> CallReply {
        let id = UpstreamTaskId::new(task);
        let seen = self.sighting(&id, &PollReply::working(), self.clock.now());
        CallReply::Task { id, seen }
    }

    /// There is this task.
    pub fn plan(&self, task: &str, looks: Vec<PollReply>) {
        let created = self.clock.now();
        let task_state =
            ScriptedTask { looks: looks.into(), created, hint: None, ttl: None, answered: BTreeMap::new() };
        self.state.lock().tasks.insert(UpstreamTaskId::new(task), task_state);
    }

    /// From now on the task is like this.
    pub fn becomes(&self, task: &str, look: PollReply) {
        if let Some(task) = self.state.lock().tasks.get_mut(&UpstreamTaskId::new(task)) {
            task.looks = VecDeque::from([look]);
        }
    }

    /// The task's poll interval from now on.
    pub fn hint(&self, task: &str, hint: Duration) {
        if let Some(task) = self.state.lock().tasks.get_mut(&UpstreamTaskId::new(task)) {
            task.hint = Some(hint);
        }
    }

    /// How long the server keeps the task, from its creation.
    pub fn ttl(&self, task: &str, ttl: Duration) {
        if let Some(task) = self.state.lock().tasks.get_mut(&UpstreamTaskId::new(task)) {
            task.ttl = Some(ttl);
        }
    }

    /// The server forgets the task.
    pub fn forget(&self, task: &str) {
        self.state.lock().tasks.remove(&UpstreamTaskId::new(task));
    }

    /// The server forgets everything, as after a restart without storage.
    pub fn forget_all(&self) {
        self.state.lock().tasks.clear();
    }

    /// The next reads, of whichever task, fail like this.
    pub fn fail_reads(&self, errors: impl IntoIterator<Item = UpstreamError>) {
        self.state.lock().read_failures.extend(errors);
    }

    /// The next answers fail like this.
    pub fn fail_answers(&self, errors: impl IntoIterator<Item = UpstreamError>) {
        self.state.lock().answer_failures.extend(errors);
    }

    /// The next ping fails like this.
    pub fn fail_ping(&self, error: UpstreamError) {
        self.state.lock().ping_failure = Some(error);
    }

    /// How stops of tasks are taken from now on.
    pub fn on_cancel(&self, what: OnCancel) {
        self.state.lock().on_cancel = what;
    }

    /// How stops of calls are taken from now on.
    pub fn on_cancel_call(&self, what: Result<(), UpstreamError>) {
        self.state.lock().on_cancel_call = what;
    }

    /// Says something unasked on the open connection; returns whether there is one.
    pub fn say(&self, event: UpstreamEvent) -> bool {
        match &mut self.state.lock().connection {
            Some((_, events)) => events.try_send(event).is_ok(),
            None => false,
        }
    }

    /// Pushes a state of a task; it is the task's state from now on.
    pub fn push(&self, task: &str, look: &PollReply) -> bool {
        self.becomes(task, look.clone());
        let id = UpstreamTaskId::new(task);
        let seen = Observation {
            door: domain::task::observation::ObservationDoor::Push,
            ..self.sighting(&id, look, self.clock.now())
        };
        self.say(UpstreamEvent::Seen(id, Box::new(seen)))
    }

    /// Ends the open connection.
    pub fn close_connection(&self, closure: Closure) {
        let open = self.state.lock().connection.take();
        if let Some((_, mut events)) = open {
            let _ = events.try_send(UpstreamEvent::Closed(closure));
        }
        self.cut.notify_waiters();
    }

    /// The id of the open connection.
    #[must_use]
    pub fn connection(&self) -> Option<ConnectionId> {
        self.state.lock().connection.as_ref().map(|(id, _)| *id)
    }

    /// Everything the engine did, with its time.
    #[must_use]
    pub fn acts(&self) -> Vec<(Timestamp, EngineAction)> {
        self.state.lock().acts.clone()
    }

    /// Forgets what was recorded so far.
    pub fn clear_acts(&self) {
        self.state.lock().acts.clear();
    }

    /// When the task was looked at.
    #[must_use]
    pub fn reads(&self, task: &str) -> Vec<Timestamp> {
        let id = UpstreamTaskId::new(task);
        self.times(|act| matches!(act, EngineAction::Read(read) if *read == id))
    }

    /// When acts of a kind happened.
    #[must_use]
    pub fn times(&self, kind: impl Fn(&EngineAction) -> bool) -> Vec<Timestamp> {
        self.state.lock().acts.iter().filter(|(_, act)| kind(act)).map(|(at, _)| *at).collect()
    }

    /// All answers that arrived, in order.
    #[must_use]
    pub fn answers(&self) -> Vec<(String, AnswerAction, Option<String>)> {
        let state = self.state.lock();
        let of = |act: &EngineAction| match act {
            EngineAction::Answer { answers, .. } => answers.clone(),
            _ => Vec::new(),
        };
        state.acts.iter().flat_map(|(_, act)| of(act)).collect()
    }

    /// The most reads that were under way at the same time.
    #[must_use]
    pub fn most_reads(&self) -> usize {
        self.state.lock().most_reads
    }

    pub(crate) fn record(&self, act: EngineAction) {
        let now = self.clock.now();
        self.state.lock().acts.push((now, act));
    }
}

/// A result payload.
#[must_use]
pub fn payload(text: &str) -> Payload {
    Payload::new(text)
}

/// An error of a server that cannot be reached.
#[must_use]
pub fn unreachable() -> UpstreamError {
    UpstreamError::Unreachable { why: "connection refused".into(), hint: "Start it.".into() }
}

/// A call that was refused right before it left.
pub(crate) fn refused_at_the_wire() -> UpstreamError {
    UpstreamError::Unreachable { why: "the call was refused before it was sent".into(), hint: "Nothing ran.".into() }
}

/// The end of a child process.
#[must_use]
pub fn killed() -> Closure {
    Closure { why: "the process was killed".into(), hint: "It is started anew.".into(), process_ended: true }
}

/// The end of an HTTP connection.
#[must_use]
pub fn hung_up() -> Closure {
    Closure { why: "the connection was closed".into(), hint: "It connects again.".into(), process_ended: false }
}

pub(crate) type ScriptedServers = Mutex<HashMap<ServerId, ScriptedServer>>;

/// A tool that takes anything, with this description.
fn tool_facts(name: &str, description: &str) -> ToolFacts {
    let input_schema = serde_json::json!({ "type": "object" });
    let entry = serde_json::json!({ "name": name, "description": description, "inputSchema": input_schema });
    ToolFacts {
        name: name.to_owned(),
        title: None,
        description: (!description.is_empty()).then(|| description.to_owned()),
        input_schema,
        definition: Arc::from(entry.to_string()),
        task_support: "optional",
        destructive_hint: None,
        read_only_hint: None,
    }
}
