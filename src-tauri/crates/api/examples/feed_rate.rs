//! 5,000 changes a second of 1,000 open tasks under one window: what does its feed cost?
//!
//! Time is counted only while the feed's stream is polled, so that the engine's own work does not stand in the figure.
//! Everything is in memory; `TASKWARDEN_BENCH_SECONDS` (5) changes the length.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a measurement that cannot be made should fail loudly"
)]

use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use api::calls::clients::files::{
    BridgeEdit, ClientFile, ClientFiles, EditToWrite, PlannedEdit, ReplaceError, UndoEdit, WrittenEdit,
};
use api::calls::core::doctor::CoreFacts;
use api::calls::core::findings::{DoctorReport, Examiner};
use api::dto::{AgentsAt, ListQuery, NoticesGo};
use api::feed::frame::{FeedFrame, SubscribeInput};
use api::{AgentDoors, Api, BrowserSession, BrowserSessions, Caller, CoreSurroundings, LiveCore, TriedDoor};
use domain::ids::HostId;
use domain::policy::Policy;
use domain::ports::{Clock, PortFuture, Registry, Secret, ServerUnit};
use engine::runtime::supervisor::Supervisor;
use engine::{Engine, EngineParts, SystemClock};
use futures::StreamExt;
use futures::future::{BoxFuture, poll_fn};
use testkit::build::{http_server, person, sequential_bits};
use testkit::call_intents::MemoryCallIntents;
use testkit::memory_registry::MemoryRegistry;
use testkit::notifier::RecordingNotifier;
use testkit::scripted::{PollReply, ScriptedConnector, ScriptedServer};
use testkit::secrets::MemorySecrets;
use testkit::token_counter::ByteTokenCounter;

const TASKS: usize = 1_000;
const ON_SCREEN: usize = 40;
/// Of the tasks, those that wait for a person.
const WAITING: usize = 100;
const CHANGES_PER_SECOND: u32 = 5_000;

#[derive(Default)]
struct Cost {
    busy: Duration,
    frames: u64,
    changes: u64,
    rows: u64,
    bytes: usize,
    longest: Duration,
}

async fn open_tasks(api: &Api, caller: &Caller, server: &ScriptedServer) -> Vec<String> {
    let mut ids = Vec::with_capacity(TASKS);
    for number in 0..TASKS {
        let look = if number < WAITING { PollReply::asks(&["go"]) } else { PollReply::working() };
        server.reply_task("build", &format!("t{number}"), vec![look]);
        let input = r#"{"server": "ci", "tool": "build", "arguments": {}}"#;
        let task = api.dispatch(caller, "tasks.start", input).await.expect("it starts");
        let task: serde_json::Value = serde_json::from_str(&task).expect("JSON");
        ids.push(task["id"].as_str().expect("a handle").to_owned());
    }
    ids
}

/// No agent comes.
struct NoDoors;

impl AgentDoors for NoDoors {
    fn try_http(&self) -> PortFuture<'_, Option<TriedDoor>> {
        Box::pin(async { None })
    }

    fn try_socket(&self) -> PortFuture<'_, TriedDoor> {
        Box::pin(async { TriedDoor { took: Duration::ZERO, why: None } })
    }

    fn save_again(&self, _agent: &str, _token: &str) -> Option<String> {
        None
    }
}

/// No browser is signed in.
struct NoBrowser;

impl BrowserSessions for NoBrowser {
    fn list(&self) -> Vec<BrowserSession> {
        Vec::new()
    }

    fn revoke(&self, _id: &str) -> bool {
        false
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

struct NoExaminer;

impl Examiner for NoExaminer {
    fn examine(&self, _facts: CoreFacts) -> BoxFuture<'_, DoctorReport> {
        Box::pin(async { DoctorReport::of(Vec::new(), Vec::new(), Duration::ZERO) })
    }
}

#[tokio::main]
async fn main() {
    let seconds = std::env::var("TASKWARDEN_BENCH_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(5);
    let policy = Policy { open_calls_per_server: 2_000, ..Policy::default() };
    let clock = Arc::new(SystemClock);
    let server = ScriptedServer::new(clock.clone());
    server.accepts_subscriptions();
    let registry: Arc<dyn Registry> = Arc::new(MemoryRegistry::new(policy.clone()));
    let known = http_server(1, "ci");
    let connector = ScriptedConnector::default();
    connector.serve(known.id, &server);
    registry.put_server(ServerUnit { server: known, audit: Vec::new() }).await.expect("a server is kept");
    let draw = sequential_bits();
    let engine = Engine::start(EngineParts {
        registry: registry.clone(),
        intents: Arc::new(MemoryCallIntents::default()),
        connector: Arc::new(connector),
        clock: clock.clone(),
        notifier: Arc::new(RecordingNotifier::default()),
        scale: Arc::new(ByteTokenCounter),
        draw: draw.clone(),
        policy: policy.clone(),
        host: HostId::from_random(9),
        supervisor: Supervisor::new(),
    })
    .await
    .expect("the engine starts");
    let live = LiveCore {
        engine,
        secrets: Arc::new(MemorySecrets::default()),
        draw,
        demo: Vec::new(),
        connect: Vec::new(),
        connect_home: None,
        save_token: Arc::new(|name, _| Some(format!("/home/ada/tasks/agents/{name}.token"))),
        locate: Arc::new(|command, _| (command == "npx").then(|| "/usr/bin/npx".into())),
        process_group: Arc::new(|_| Vec::new()),
        agents_at: Arc::new(AgentsAt::default),
        notices: Arc::new(|| NoticesGo::None),
        doors: Arc::new(NoDoors),
        sessions: Arc::new(NoBrowser),
        examiner: Arc::new(NoExaminer),
        client_files: Arc::new(NoClients),
        place: CoreSurroundings::default(),
    };
    let api = Api::running(registry, clock.clone() as Arc<dyn Clock>, policy, live);
    let caller = Caller::here(person("ada"));
    let ids = open_tasks(&api, &caller, &server).await;
    let input = SubscribeInput {
        query: Some(ListQuery::default()),
        ids: ids.iter().take(ON_SCREEN).cloned().collect(),
        task: ids.first().cloned(),
        visible: true,
    };
    let mut feed = api.open_feed(&caller, input).await.expect("the feed opens");
    let mut cost = Cost::default();
    let begun = Instant::now();
    let length = Duration::from_secs(seconds);
    let changing = async {
        let mut beat = tokio::time::interval(Duration::from_millis(10));
        let mut number = 0_usize;
        while begun.elapsed() < length {
            beat.tick().await;
            for _ in 0..CHANGES_PER_SECOND / 100 {
                number += 1;
                let task = WAITING + number % (TASKS - WAITING);
                server.push(&format!("t{task}"), &PollReply::says(&number.to_string()));
            }
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    };
    let reading = async {
        loop {
            let mut spent = Duration::ZERO;
            let frame = poll_fn(|context| {
                let poll_begun = Instant::now();
                let polled = Pin::new(&mut feed).poll_next_unpin(context);
                spent += poll_begun.elapsed();
                polled
            })
            .await;
            cost.busy += spent;
            match frame {
                Some(Ok(FeedFrame::Delta(delta))) => {
                    cost.frames += 1;
                    cost.longest = cost.longest.max(spent);
                    cost.changes += delta.changes;
                    cost.rows += u64::try_from(delta.rows.len()).unwrap_or(0);
                    let wire_begun = Instant::now();
                    cost.bytes += serde_json::to_string(&delta).map_or(0, |text| text.len());
                    cost.busy += wire_begun.elapsed();
                }
                Some(Ok(FeedFrame::Snapshot(_))) => {}
                Some(Ok(FeedFrame::Resync { why })) => panic!("the reader fell behind: {why}"),
                Some(Err(error)) => panic!("the rows cannot be read: {error}"),
                None => break,
            }
        }
    };
    tokio::select! {
        () = changing => {}
        () = reading => panic!("the feed ended"),
    }
    let took = begun.elapsed().as_secs_f64();
    println!(
        "{:.0} changes/s in {:.1} frames/s: {:.1} % of a core, longest frame {:.1} ms, {:.1} rows and {} bytes a frame",
        cost.changes as f64 / took,
        cost.frames as f64 / took,
        cost.busy.as_secs_f64() / took * 100.0,
        cost.longest.as_secs_f64() * 1_000.0,
        cost.rows as f64 / cost.frames.max(1) as f64,
        cost.bytes / usize::try_from(cost.frames.max(1)).unwrap_or(1),
    );
    let rate = cost.changes as f64 / took;
    let line = serde_json::json!({
        "metric": format!("feed of a window at {rate:.0} changes/s, of a core"), "reference": null,
        "ours": cost.busy.as_secs_f64() / took * 100.0, "ratio": null, "aim": "< 100", "unit": "%",
    });
    println!("{line}");
}
