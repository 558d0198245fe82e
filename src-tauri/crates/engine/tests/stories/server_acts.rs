//! What a person does to a server is on record before it is done, and what came of it afterwards, if need be by the next
//! core.

use std::sync::Arc;
use std::time::Duration;

use domain::audit::Verb;
use domain::ids::{AgentId, ServerId};
use domain::policy::Policy;
use domain::ports::{
    Connected, ConnectionSpec, Connector, PortFuture, ProcessReading, ProcessWatch, Registry, ServerUnit, UpstreamError,
};
use domain::server::{Server, ServerAct, ServerHealth};
use domain::task::LeftProcess;
use domain::time::Timestamp;
use parking_lot::Mutex;
use testkit::build::{person, stdio_server};
use testkit::clock::TestClock;
use testkit::kill::{Fate, KillPointRegistry, KillPoints};
use testkit::memory_registry::MemoryRegistry;
use testkit::scripted::{EngineAction, ScriptedConnector, ScriptedServer, unreachable};
use tokio::sync::Notify;

use crate::world::World;

const SECOND: Duration = Duration::from_secs(1);
/// The number of the process that the scripted server has.
const PID: u32 = 4_711;
/// The wish is on record, and nothing is done yet.
const BEFORE_THE_ACT: &str = "registry.desk_decide:after:1";
/// All is done, and what came of it is not on record yet.
const AFTER_THE_ACT: &str = "registry.desk_decide:before:2";

/// A connector whose processes are seen, as a test says.
struct Watched {
    inner: Arc<ScriptedConnector>,
    /// What is seen of the processes once they were told to end.
    after: ProcessReading,
    /// The processes of this machine cannot be listed.
    is_blind: Mutex<bool>,
    /// Processes that an earlier core left with a keeper that this one cannot connect to.
    kept: Mutex<Vec<u32>>,
}

impl Connector for Watched {
    fn connect<'a>(
        &'a self,
        server: &'a Server,
        line: &'a ConnectionSpec,
    ) -> PortFuture<'a, Result<Connected, UpstreamError>> {
        self.inner.connect(server, line)
    }

    fn may_keep(&self) -> bool {
        self.inner.may_keep()
    }

    fn out_of_reach(&self, _: ServerId, _: Option<AgentId>, _: Timestamp, _: Option<u32>) -> Option<String> {
        (!self.kept.lock().is_empty()).then(|| "its keeper does not answer".to_owned())
    }

    fn end_kept(&self, _: ServerId, _: Option<AgentId>) -> PortFuture<'_, Vec<u32>> {
        let ended = std::mem::take(&mut *self.kept.lock());
        Box::pin(std::future::ready(ended))
    }

    fn watch_processes(&self, _: u32) -> Option<Box<dyn ProcessWatch>> {
        let after = (!*self.is_blind.lock()).then(|| self.after.clone());
        Some(Box::new(ScriptedWatch { after, has_read: false }))
    }
}

struct ScriptedWatch {
    /// `None` where nothing can be read.
    after: Option<ProcessReading>,
    has_read: bool,
}

impl ProcessWatch for ScriptedWatch {
    fn read(&mut self) -> Option<ProcessReading> {
        let after = self.after.clone()?;
        let is_first = !std::mem::replace(&mut self.has_read, true);
        Some(if is_first { ProcessReading { ended: 0, left: vec![process(PID)] } } else { after })
    }
}

fn process(pid: u32) -> LeftProcess {
    LeftProcess { pid, name: "files".into(), is_foreign: false }
}

/// None is left of so many.
fn gone(ended: u32) -> ProcessReading {
    ProcessReading { ended, left: Vec::new() }
}

struct Stage {
    world: World,
    server: ScriptedServer,
    connector: Arc<Watched>,
    id: ServerId,
    registry: Arc<dyn Registry>,
}

impl Stage {
    /// A local server whose process outlives the core.
    async fn set(after: ProcessReading, points: KillPoints) -> Self {
        let clock = Arc::new(TestClock::new());
        let server = ScriptedServer::new(clock.clone());
        server.child_per_connection();
        server.outlive_core();
        let scripted = Arc::new(ScriptedConnector::default());
        let configured = stdio_server(1, "files");
        let id = configured.id;
        scripted.serve(id, &server);
        let registry: Arc<dyn Registry> = Arc::new(MemoryRegistry::new(Policy::default()));
        registry.put_server(ServerUnit { server: configured, audit: Vec::new() }).await.expect("a server is added");
        let disk = Arc::new(KillPointRegistry::new(registry.clone(), points));
        let connector =
            Arc::new(Watched { inner: scripted.clone(), after, is_blind: Mutex::default(), kept: Mutex::default() });
        let world = Box::pin(World::over(disk, connector.clone(), scripted, Policy::default(), clock, 1)).await;
        world.until_up(id).await;
        Self { world, server, connector, id, registry }
    }

    /// A core that nobody kills.
    async fn living(after: ProcessReading) -> Self {
        Self::set(after, KillPoints::listing().0).await
    }

    /// A person acts, and the core is killed at this point; the next one has not started yet.
    async fn killed(act: ServerAct, point: &'static str) -> Self {
        let killed = Arc::new(Notify::new());
        let tell = killed.clone();
        let points = KillPoints::new(move |name| {
            if name != point {
                return Fate::Live;
            }
            tell.notify_one();
            Fate::Hang
        });
        let mut stage = Self::set(gone(1), points).await;
        tokio::select! {
            left = stage.world.act_on(stage.id, act) => panic!("the core goes on behind {point}: {left:?}"),
            () = killed.notified() => {}
        }
        stage.world.kill().await;
        stage.world.registry = stage.registry.clone();
        stage
    }

    /// What people did to the server and what came of it, in order.
    async fn rows(&self) -> Vec<(Verb, String)> {
        let page = self.registry.audit_page(None, 0, 1_000).await.expect("the log can be read");
        let events = page.rows.into_iter().map(|row| row.event);
        let acts = [Verb::ProcessEnded, Verb::ServerRestarted, Verb::ServerActEnded];
        events.filter(|event| acts.contains(&event.verb)).map(|event| (event.verb, event.note)).collect()
    }

    /// The rows, once there is one that says what came of it, and no wish any more.
    async fn settled(&self) -> Vec<(Verb, String)> {
        for _ in 0..1_000 {
            let rows = self.rows().await;
            if rows.iter().any(|(verb, _)| *verb == Verb::ServerActEnded) {
                let wishes = self.registry.desk_list("serverActs").await.expect("it can be read");
                assert!(wishes.is_empty(), "the wish goes with the row of its outcome: {wishes:?}");
                return rows;
            }
            self.world.pass(SECOND / 10).await;
        }
        panic!("nobody says what came of it: {:?}", self.rows().await)
    }

    fn closed(&self) -> usize {
        self.server.times(|act| *act == EngineAction::Close).len()
    }
}

fn asked(verb: Verb) -> (Verb, String) {
    (verb, "asked".to_owned())
}

fn told(words: &str) -> (Verb, String) {
    (Verb::ServerActEnded, format!("files: {words}"))
}

#[tokio::test(start_paused = true)]
async fn the_end_and_the_restart_of_a_server_have_a_row_before_and_one_that_says_what_came_of_it() {
    let stage = Stage::living(gone(2)).await;
    assert_eq!(stage.world.act_on(stage.id, ServerAct::Restart).await, [] as [u32; 0]);
    let seen = "process 4711 ended, and with it 1; none is left";
    let restarted = [asked(Verb::ServerRestarted), told(&format!("{seen}; it connects again"))];
    assert_eq!(stage.settled().await, restarted);
    stage.world.until_up(stage.id).await;
    assert_eq!(stage.world.act_on(stage.id, ServerAct::End).await, [] as [u32; 0]);
    let [first, second] = restarted;
    assert_eq!(stage.settled().await, [first, second, asked(Verb::ProcessEnded), told(seen)]);
    stage.world.act_on(stage.id, ServerAct::End).await;
    assert_eq!(stage.rows().await.last(), Some(&told("nothing of it ran")), "and what is not there is not ended");
}

#[tokio::test(start_paused = true)]
async fn a_process_that_does_not_end_is_named_in_the_outcome() {
    let stage = Stage::living(ProcessReading { ended: 1, left: vec![process(4_712)] }).await;
    assert_eq!(stage.world.act_on(stage.id, ServerAct::End).await, [4_712]);
    let words = "process 4711 was told to end, and 1 of its processes still runs: 4712";
    assert_eq!(stage.settled().await, [asked(Verb::ProcessEnded), told(words)]);
}

#[tokio::test(start_paused = true)]
async fn a_change_of_a_running_server_has_a_row_that_says_what_came_of_its_process() {
    let stage = Stage::living(gone(2)).await;
    let mut changed = stage.registry.server(stage.id).await.expect("servers read").expect("it was added");
    let consent = changed.consent.as_mut().expect("it may run");
    consent.at = consent.at.plus(SECOND);
    stage.registry.put_server(ServerUnit { server: changed, audit: Vec::new() }).await.expect("it is changed");
    stage.world.engine.server_changed_by(stage.id, &person("ada")).await.expect("it is read again");
    let words = "process 4711 ended, and with it 1; none is left; it connects again";
    assert_eq!(stage.settled().await, [told(words)]);
    assert!(stage.closed() > 0, "the process of the old configuration is ended");
    stage.world.until_up(stage.id).await;
}

#[tokio::test(start_paused = true)]
async fn where_processes_cannot_be_listed_the_outcome_says_that_nobody_saw_it() {
    let stage = Stage::living(gone(0)).await;
    *stage.connector.is_blind.lock() = true;
    assert_eq!(stage.world.act_on(stage.id, ServerAct::End).await, [] as [u32; 0]);
    let words = "process 4711 was told to end, and nobody saw what came of it";
    assert_eq!(stage.settled().await, [asked(Verb::ProcessEnded), told(words)]);
}

#[tokio::test(start_paused = true)]
async fn an_end_that_was_cut_off_before_it_began_is_carried_out_by_the_next_core() {
    for (act, verb) in [(ServerAct::End, Verb::ProcessEnded), (ServerAct::Restart, Verb::ServerRestarted)] {
        let mut stage = Stage::killed(act, BEFORE_THE_ACT).await;
        assert_eq!((stage.rows().await, stage.closed()), (vec![asked(verb)], 0), "it is on record and not done");
        stage.world.start().await;
        let again = if act == ServerAct::Restart { "; it connects again" } else { "" };
        let words = format!("cut off; at the next start of Taskwarden process 4711 ended; none is left{again}");
        assert_eq!(stage.settled().await, [asked(verb), told(&words)]);
        assert!(stage.closed() > 0, "the process that the person saw is ended");
        if act == ServerAct::Restart {
            stage.world.until_up(stage.id).await;
        } else {
            let health = stage.world.engine.health(stage.id);
            assert!(matches!(health, ServerHealth::Ended { .. }), "{health:?}");
        }
        stage.world.restart().await;
        stage.world.pass(60 * SECOND).await;
        assert_eq!(stage.rows().await.len(), 2, "what came of it is told once");
    }
}

#[tokio::test(start_paused = true)]
async fn an_end_that_was_done_and_not_recorded_is_recorded_by_the_next_core_which_ends_no_process_of_its_own() {
    let mut stage = Stage::killed(ServerAct::End, AFTER_THE_ACT).await;
    let closed = stage.closed();
    assert!(closed > 0, "it was done");
    stage.world.start().await;
    let words = "cut off; at the next start of Taskwarden process 4711 was gone";
    assert_eq!(stage.settled().await, [asked(Verb::ProcessEnded), told(words)]);
    stage.world.until_up(stage.id).await;
    stage.world.pass(60 * SECOND).await;
    assert_eq!(stage.closed(), closed, "a new process with the same number is another one");
}

#[tokio::test(start_paused = true)]
async fn what_the_next_core_cannot_connect_to_is_ended_by_its_keeper() {
    let mut stage = Stage::killed(ServerAct::End, BEFORE_THE_ACT).await;
    stage.server.refuse_connections(Some(unreachable()));
    *stage.connector.kept.lock() = vec![PID];
    stage.world.start().await;
    let words = "cut off; at the next start of Taskwarden process 4711 was ended";
    assert_eq!(stage.settled().await, [asked(Verb::ProcessEnded), told(words)]);
}
