//! What the engine adds to a quick tool call of an agent, and what a call that creates a task commits.
//!
//! The server answers at once and costs nothing, so everything above the bare call to it is the engine's: access and
//! rules, the digest of the arguments, the intent, and the bookkeeping of the call in flight. Registry and intents are those of
//! the tests, in memory; what the real ones cost is in the examples of `registry`. The same calls are made with counting
//! on and off, with what the gateway tells of each; the scale is that of the tests. Prints one JSON object a line.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a measurement that cannot go on has nothing to say"
)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use domain::agent::{Agent, TokenDigest};
use domain::budget::window::CountingSettings;
use domain::ids::{AgentId, ConnectionId, HandleId, HostId, ServerId, UpstreamTaskId};
use domain::policy::{CountingPolicy, Policy};
use domain::ports::{
    Abilities, AgentUnit, AnswerToSend, ArgumentError, ArgumentsDigest, CallError, CallReply, CallRequest, Clock,
    Connected, ConnectionSpec, Connector, ListedTasks, PortFuture, Registry, SendPermit, ServerUnit, ToolFacts,
    Upstream, UpstreamError,
};
use domain::raw_message::RawText;
use domain::server::{Dialect, Era, Negotiated, Server};
use domain::task::observation::{Observation, ObservationDoor};
use domain::task::payload::Payload;
use domain::task::status::{TaskStatus, Ttl};
use engine::runtime::supervisor::Supervisor;
use engine::{AgentCall, AgentTraffic, CallOutcome, Engine, EngineParts, HangUp, Passed, SystemClock};
use futures::future::join_all;
use testkit::build::{http_server, sequential_bits};
use testkit::call_intents::MemoryCallIntents;
use testkit::memory_registry::MemoryRegistry;
use testkit::notifier::RecordingNotifier;
use testkit::token_counter::ByteTokenCounter;

/// Calls in one round.
const CALLS: u64 = 40_000;
/// Rounds with counting on and off, of which the median is taken.
const ROUNDS: usize = 5;
/// Calls of a round that create tasks.
const TASKS: u64 = 500;
const ARGUMENTS: &str = r#"{"path": "/srv/projects/one", "depth": 3, "filter": ["a", "b"], "note": "as before"}"#;
const RESULT: &str = r#"{"content":[{"type":"text","text":"done"}]}"#;

/// A server that answers at once.
struct Instantly;

impl Connector for Instantly {
    fn connect<'a>(
        &'a self,
        _server: &'a Server,
        _line: &'a ConnectionSpec,
    ) -> PortFuture<'a, Result<Connected, UpstreamError>> {
        let negotiated = Negotiated {
            era: Era::Modern,
            dialect: Dialect::Extension2026,
            protocol_version: "2026-07-28".into(),
            server_name: "instantly".into(),
            server_version: "1".into(),
            can_list: false,
            can_cancel: true,
            session: None,
        };
        let events = Box::pin(futures::stream::pending());
        let id = ConnectionId::from_random(1);
        Box::pin(async move {
            Ok(Connected { id, upstream: Arc::new(Self), negotiated, child: None, is_resumed: false, events })
        })
    }
}

fn seen(door: ObservationDoor) -> Observation {
    let now = SystemClock.now();
    Observation {
        door,
        begun: now,
        seen: now,
        status: TaskStatus::Working,
        message: None,
        created: None,
        updated: None,
        ttl: Ttl::Unsaid,
        hint: Some(Duration::from_secs(3_600)),
        outstanding: None,
        asks_raw: std::collections::BTreeMap::new(),
        task_raw: None,
        payload: None,
        raw: None,
    }
}

impl Upstream for Instantly {
    fn call(&self, request: CallRequest) -> PortFuture<'_, Result<CallReply, CallError>> {
        Box::pin(async move {
            Ok(if &*request.tool == "task" {
                CallReply::Task {
                    id: UpstreamTaskId::new(request.ticket.to_string()),
                    seen: seen(ObservationDoor::Create),
                }
            } else {
                CallReply::Result { payload: Payload::new(RESULT), is_error: false }
            })
        })
    }

    fn cancel_call(&self, _ticket: HandleId, _reason: Option<String>) -> PortFuture<'_, Result<(), UpstreamError>> {
        Box::pin(async { Ok(()) })
    }

    fn read(&self, _task: UpstreamTaskId) -> PortFuture<'_, Result<Observation, UpstreamError>> {
        Box::pin(async { Ok(seen(ObservationDoor::Poll)) })
    }

    fn answer(
        &self,
        _task: Option<UpstreamTaskId>,
        _answers: Vec<AnswerToSend>,
    ) -> PortFuture<'_, Result<(), UpstreamError>> {
        Box::pin(async { Ok(()) })
    }

    fn refuse_question(&self, _token: String) -> PortFuture<'_, Result<(), UpstreamError>> {
        Box::pin(async { Ok(()) })
    }

    fn answer_text(&self, _task: Option<&UpstreamTaskId>, _answers: &[AnswerToSend]) -> Option<RawText> {
        None
    }

    fn cancel(&self, _task: UpstreamTaskId) -> PortFuture<'_, Result<Option<Observation>, UpstreamError>> {
        Box::pin(async { Ok(None) })
    }

    fn ping(&self) -> PortFuture<'_, Result<(), UpstreamError>> {
        Box::pin(async { Ok(()) })
    }

    fn list(&self, _cursor: Option<String>) -> PortFuture<'_, Result<ListedTasks, UpstreamError>> {
        Box::pin(async { Err(UpstreamError::Unsupported("list tasks")) })
    }

    fn tools(&self) -> PortFuture<'_, Result<Vec<ToolFacts>, UpstreamError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn check_arguments(&self, _tool: Arc<str>, _arguments: Payload) -> PortFuture<'_, Result<(), ArgumentError>> {
        Box::pin(async { Ok(()) })
    }

    fn watch(&self, _tasks: Vec<UpstreamTaskId>) {}

    fn stderr_tail(&self) -> String {
        String::new()
    }

    fn close(&self, _tasks_live: bool) -> PortFuture<'_, ()> {
        Box::pin(async {})
    }
}

struct Bench {
    engine: Engine,
    registry: Arc<dyn Registry>,
    server: ServerId,
    agent: AgentId,
}

async fn bench(on: bool) -> Bench {
    let counting = CountingPolicy { on, ..CountingPolicy::default() };
    let policy = Policy { open_calls_per_server: 1_000_000, counting, ..Policy::default() };
    let registry: Arc<dyn Registry> = Arc::new(MemoryRegistry::new(policy.clone()));
    let server = http_server(1, "instantly");
    let id = server.id;
    registry.put_server(ServerUnit { server, audit: Vec::new() }).await.expect("a server can be added");
    let agent = Agent {
        id: AgentId::from_random(1),
        name: "bench".into(),
        created: SystemClock.now(),
        revoked: None,
        token: TokenDigest::of("bench"),
        token_made: SystemClock.now(),
        seen: None,
        client: None,
        learned_timeout: None,
        task_tools: true,
        calls: 0,
        meter: CountingSettings::default(),
    };
    let agent_id = agent.id;
    registry.put_agent(AgentUnit { agent, audit: Vec::new(), ended_pause: None }).await.expect("an agent can be added");
    let parts = EngineParts {
        registry: Arc::clone(&registry),
        intents: Arc::new(MemoryCallIntents::default()),
        connector: Arc::new(Instantly),
        clock: Arc::new(SystemClock),
        notifier: Arc::new(RecordingNotifier::default()),
        scale: Arc::new(ByteTokenCounter),
        draw: sequential_bits(),
        policy,
        host: HostId::from_random(1),
        supervisor: Supervisor::new(),
    };
    let engine = Box::pin(Engine::start(parts)).await.expect("the engine starts");
    engine.settled(id, Duration::from_secs(5)).await;
    Bench { engine, registry, server: id, agent: agent_id }
}

fn call(bench: &Bench, tool: &Arc<str>, arguments: &Payload) -> AgentCall {
    AgentCall {
        agent: bench.agent,
        place: None,
        server: bench.server,
        tool: Arc::clone(tool),
        arguments: arguments.clone(),
        digest: ArgumentsDigest::of(arguments.clone()),
        agent_params: None,
        continuation: None,
        trace: None,
        abilities: Abilities::default(),
        listener: None,
        relay_rounds: true,
        limit: None,
        agent_ttl: None,
        own_task: false,
        hang_up: HangUp::Cancel,
    }
}

/// What the gateway tells of something that passed.
fn passed(bench: &Bench, what: Passed) -> AgentTraffic {
    let server = Some(bench.server);
    AgentTraffic { agent: bench.agent, door: server, session: None, server, handle: None, what }
}

/// Nanoseconds for each of so many quick calls, this many at a time.
async fn quick(bench: &Bench, at_once: u64) -> u128 {
    let (tool, arguments): (Arc<str>, _) = ("add".into(), Payload::new(ARGUMENTS));
    let params = Payload::new(format!(r#"{{"name":"add","arguments":{ARGUMENTS}}}"#));
    let began = Instant::now();
    let lane = |_| async {
        for _ in 0..CALLS / at_once {
            let landed = bench.engine.agent_call(call(bench, &tool, &arguments)).await.expect("the call is made");
            let CallOutcome::Result { payload, .. } = landed else { panic!("it came back at once: {landed:?}") };
            bench.engine.saw(passed(bench, Passed::Call(params.clone())));
            bench.engine.saw(passed(bench, Passed::Result(payload)));
        }
    };
    join_all((0..at_once).map(lane)).await;
    began.elapsed().as_nanos() / u128::from(CALLS)
}

/// Nanoseconds for each of so many bare calls to the server.
async fn bare() -> u128 {
    let (tool, arguments): (Arc<str>, _) = ("add".into(), Payload::new(ARGUMENTS));
    let began = Instant::now();
    for number in 0..CALLS {
        let request = CallRequest {
            ticket: HandleId::from_random(u128::from(number)),
            tool: Arc::clone(&tool),
            arguments: arguments.clone(),
            continuation: None,
            agent_params: None,
            abilities: Abilities::default(),
            listener: None,
            permit: SendPermit::default(),
        };
        Instantly.call(request).await.expect("it answers");
    }
    began.elapsed().as_nanos() / u128::from(CALLS)
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let (silent, bench) = (bench(false).await, bench(true).await);
    quick(&silent, 1).await;
    quick(&bench, 1).await;
    let bare = bare().await;
    for at_once in [1, 16, 256] {
        // Alternating, so that what else the machine does meets both.
        let mut rounds = Vec::new();
        for _ in 0..ROUNDS {
            rounds.push((quick(&silent, at_once).await, quick(&bench, at_once).await));
        }
        let median = |of: fn(&(u128, u128)) -> u128| {
            let mut all: Vec<u128> = rounds.iter().map(of).collect();
            all.sort_unstable();
            all.get(all.len() / 2).copied().unwrap_or_default()
        };
        let (off, ours) = (median(|round| round.0), median(|round| round.1));
        println!(
            "{{\"metric\": \"quick call with counting on, {at_once} at once\", \"reference\": {off}, \"ours\": {ours}, \
             \"unit\": \"ns\", \"aim\": \"as without\"}}"
        );
        println!(
            "{{\"metric\": \"quick call of an agent, {at_once} at once\", \"reference\": {bare}, \"ours\": {ours}, \
             \"unit\": \"ns\", \"aim\": \"below 20000\"}}"
        );
    }
    let (tool, arguments): (Arc<str>, _) = ("task".into(), Payload::new(ARGUMENTS));
    let before = bench.registry.newest_seq().await.expect("readable").0;
    let began = Instant::now();
    for _ in 0..TASKS {
        let landed = bench.engine.agent_call(call(&bench, &tool, &arguments)).await.expect("the call is made");
        assert!(matches!(landed, CallOutcome::Handle(_)), "it is a task");
    }
    let each = began.elapsed().as_nanos() / u128::from(TASKS);
    let commits = bench.registry.newest_seq().await.expect("readable").0 - before;
    println!(
        "{{\"metric\": \"commits of {TASKS} calls that create a task\", \"reference\": {TASKS}, \"ours\": {commits}, \
         \"unit\": \"commits\", \"aim\": \"one each\", \"note\": \"{each} ns each with a registry in memory\"}}"
    );
}
