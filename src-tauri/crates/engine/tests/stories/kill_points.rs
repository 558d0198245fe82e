//! Calls of agents, with the core killed at every point: what an agent saw is known afterwards, and no tool runs twice.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use domain::ids::{AgentId, HandleId, ServerId};
use domain::policy::Policy;
use domain::ports::{Registry, ServerUnit};
use domain::task::{AgentView, agent_view};
use engine::runtime::supervisor::Supervisor;
use engine::{CallOutcome, EngineError};
use parking_lot::Mutex;
use testkit::build::http_server;
use testkit::clock::TestClock;
use testkit::kill::{Fate, KillPointConnector, KillPointRegistry, KillPoints};
use testkit::memory_registry::MemoryRegistry;
use testkit::scripted::{EngineAction, PollReply, ScriptedConnector, ScriptedServer};
use tokio::sync::Notify;

use crate::agent_world::{call, plain};
use crate::world::World;

const SECOND: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Story {
    /// Answered at once.
    Quick,
    /// A plain call that lasts.
    Lasting,
    /// A call that creates a task.
    Task,
}

/// What the agent knows, whatever becomes of the core.
#[derive(Clone, Copy, Default)]
struct Memory {
    handle: Option<HandleId>,
    replied: bool,
}

struct Stage {
    server: ScriptedServer,
    id: ServerId,
    registry: Arc<dyn Registry>,
    scripted: Arc<ScriptedConnector>,
    clock: Arc<TestClock>,
    memory: Mutex<Memory>,
}

impl Stage {
    async fn set(story: Story) -> Self {
        let clock = Arc::new(TestClock::new());
        let server = ScriptedServer::new(clock.clone());
        match story {
            Story::Quick => server.reply("work", SECOND / 100, Ok(plain("1"))),
            Story::Lasting => server.reply("work", 5 * SECOND, Ok(plain("1"))),
            Story::Task => server.reply_task("work", "t1", vec![PollReply::working(), PollReply::done()]),
        }
        let registry: Arc<dyn Registry> = Arc::new(MemoryRegistry::new(Policy::default()));
        let configured = http_server(1, "one");
        let id = configured.id;
        let scripted = Arc::new(ScriptedConnector::default());
        scripted.serve(id, &server);
        registry.put_server(ServerUnit { server: configured, audit: Vec::new() }).await.expect("a server is added");
        Self { server, id, registry, scripted, clock, memory: Mutex::default() }
    }

    async fn world(&self, points: KillPoints) -> World {
        let registry = Arc::new(KillPointRegistry::new(self.registry.clone(), points.clone()));
        let connector = Arc::new(KillPointConnector::new(self.scripted.clone(), points));
        let (scripted, clock) = (self.scripted.clone(), self.clock.clone());
        Box::pin(World::over(registry, connector, scripted, Policy::default(), clock, 1)).await
    }

    /// What an agent and the gateway do until the agent has its reply.
    async fn drive(&self, world: &World, agent: AgentId) -> Result<(), EngineError> {
        match world.engine.agent_call(call(agent, self.id, "work")).await? {
            CallOutcome::Result { .. } | CallOutcome::Error { .. } | CallOutcome::NeedsInput { .. } => {}
            CallOutcome::Handle(id) | CallOutcome::Joined(id) => {
                world.engine.give(id).await?;
                self.memory.lock().handle = Some(id);
                let mut watch = world.engine.watch(id).await?.ok_or(EngineError::UnknownHandle)?;
                while !agent_view(&watch.now(), world.now()).is_terminal() {
                    tokio::select! {
                        _ = watch.changed() => {}
                        // Some sights change by time alone.
                        () = tokio::time::sleep(SECOND) => {}
                    }
                }
                world.engine.delivered(id);
            }
        }
        self.memory.lock().replied = true;
        // Receipts and notes are stored in a while; a kill may come between.
        world.pass(10 * SECOND).await;
        Ok(())
    }

    fn sent(&self) -> usize {
        self.server.times(|act| matches!(act, EngineAction::Call { .. })).len()
    }

    /// What must hold at the end, killed or not.
    async fn check(&self, story: Story, point: &str) {
        let Memory { handle, replied } = *self.memory.lock();
        assert!(replied, "{story:?} killed at {point}: the agent has a reply in the end");
        assert!(self.sent() <= 1, "{story:?} killed at {point}: the tool ran {} times", self.sent());
        if let Some(id) = handle {
            let handle = self.registry.handle(id).await.expect("it can be read");
            let handle = handle.unwrap_or_else(|| panic!("{story:?} killed at {point}: {id} was seen and is unknown"));
            let sight = agent_view(&handle, domain::ports::Clock::now(&*self.clock));
            assert_ne!(sight, AgentView::Gone, "{story:?} killed at {point}: what was seen is there");
        }
    }
}

async fn every_kill_point(story: Story, least: usize) {
    let (points, names) = KillPoints::listing();
    let stage = Stage::set(story).await;
    let mut world = stage.world(points).await;
    let agent = world.agent(1).await;
    stage.drive(&world, agent).await.expect("nobody kills it");
    stage.check(story, "nowhere").await;
    world.kill().await;
    let names: BTreeSet<String> = names.lock().iter().cloned().collect();
    assert!(names.len() >= least, "the story passes enough points: {names:?}");
    for point in &names {
        let stage = Stage::set(story).await;
        let killed = Arc::new(Notify::new());
        let scope: Arc<Mutex<Option<Supervisor>>> = Arc::default();
        let (target, tell, cancel) = (point.clone(), killed.clone(), scope.clone());
        let once = AtomicBool::new(false);
        let points = KillPoints::new(move |name| {
            if name != target && !once.load(Ordering::Relaxed) {
                return Fate::Live;
            }
            // From the kill on, nobody of the old engine gets anywhere any more.
            once.store(true, Ordering::Relaxed);
            if let Some(scope) = cancel.lock().take() {
                scope.cancel();
            }
            tell.notify_one();
            Fate::Hang
        });
        // A core may be killed while it starts.
        let started = tokio::select! {
            world = stage.world(points) => Some(world),
            () = killed.notified() => None,
        };
        let mut world = match started {
            Some(mut world) => {
                *scope.lock() = Some(world.supervisor.clone());
                let whole = async {
                    let agent = world.agent(1).await;
                    stage.drive(&world, agent).await
                };
                tokio::select! {
                    _ = whole => {}
                    () = killed.notified() => {}
                }
                world.kill().await;
                world.registry = stage.registry.clone();
                world.connector = stage.scripted.clone();
                world.start().await;
                world
            }
            None => stage.world(KillPoints::new(|_| Fate::Live)).await,
        };
        if !stage.memory.lock().replied {
            let agent = world.agent(1).await;
            stage.drive(&world, agent).await.expect("nobody kills it again");
        }
        stage.check(story, point).await;
        world.kill().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_quick_call_of_an_agent_runs_once_whenever_the_core_is_killed() {
    every_kill_point(Story::Quick, 8).await;
}

#[tokio::test(start_paused = true)]
async fn a_call_that_lasts_runs_once_whenever_the_core_is_killed() {
    every_kill_point(Story::Lasting, 15).await;
}

#[tokio::test(start_paused = true)]
async fn a_task_of_an_agent_is_known_to_it_whenever_the_core_is_killed() {
    every_kill_point(Story::Task, 15).await;
}
