//! Kills and restarts: whatever the moment, the registry alone leads on.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;

use domain::audit::Verb;
use domain::ids::{HandleId, RequestKey, ServerId};
use domain::policy::Policy;
use domain::ports::{CallReply, Registry, ServerUnit, TaskQuery, UpstreamEvent, UpstreamSubject};
use domain::task::TaskHandle;
use domain::task::input_request::{LiveQuestion, RequestState};
use domain::task::payload::Payload;
use domain::task::status::{CancelState, Phase, ServerView};
use engine::runtime::supervisor::Supervisor;
use parking_lot::Mutex;
use testkit::build::{http_server, person, stdio_server};
use testkit::clock::TestClock;
use testkit::kill::{Fate, KillPointConnector, KillPointRegistry, KillPoints};
use testkit::memory_registry::MemoryRegistry;
use testkit::scripted::{EngineAction, OnCancel, PollReply, ScriptedConnector, ScriptedServer, form, payload};
use tokio::sync::Notify;

use crate::world::{World, asks, question};

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn open_tasks_are_followed_on_after_a_kill() {
    let (mut world, server, id) = World::new().await;
    server.reply_task("work", "t1", vec![PollReply::working()]);
    let task = world.call(id, "work").await;
    world.pass(10 * SECOND).await;
    world.kill().await;
    server.becomes("t1", PollReply::done());
    world.start().await;
    world.until_phase(task, Phase::Done).await;
    assert!(world.result(task).await.is_some(), "with its result");
}

#[tokio::test(start_paused = true)]
async fn a_call_in_flight_is_unconfirmed_after_a_kill_and_not_sent_again() {
    let (mut world, server, id) = World::new().await;
    let reply = CallReply::Result { payload: Payload::new("1"), is_error: false };
    server.reply("slow", 600 * SECOND, Ok(reply));
    let task = world.call(id, "slow").await;
    world.pass(10 * SECOND).await;
    world.restart().await;
    assert_eq!(world.phase(task).await, Phase::Unconfirmed, "its reply can no longer arrive");
    world.pass(3_600 * SECOND).await;
    assert_eq!(server.times(|act| matches!(act, EngineAction::Call { .. })).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_was_recorded_before_a_kill_is_delivered_after_it() {
    let (mut world, server, id) = World::new().await;
    server.reply_task("work", "t1", vec![PollReply::asks(&["k"]), PollReply::done()]);
    let task = world.call(id, "work").await;
    world.until_phase(task, Phase::Waiting).await;
    server.refuse_connections(Some(testkit::scripted::unreachable()));
    server.close_connection(testkit::scripted::hung_up());
    world.pass(SECOND).await;
    world.accept(task, "ada").await.expect("it is recorded");
    world.kill().await;
    server.refuse_connections(None);
    world.start().await;
    world.until_phase(task, Phase::Done).await;
    assert_eq!(server.answers().len(), 1, "{:?}", server.answers());
}

#[tokio::test(start_paused = true)]
async fn after_a_restart_what_cannot_be_delivered_does_not_hide_what_can() {
    let policy = Policy { batch_rows: 10, ..Policy::default() };
    let (mut world, down, id) = World::with(http_server(1, "down"), policy).await;
    let fine = ScriptedServer::new(world.clock.clone());
    let other = http_server(2, "fine");
    world.scripted.serve(other.id, &fine);
    let unit = ServerUnit { server: other.clone(), audit: Vec::new() };
    world.registry.put_server(unit).await.expect("a server is added");
    world.engine.server_changed(other.id).await.expect("it is followed");
    let mut tasks = Vec::new();
    for number in 0..50 {
        down.reply_task("work", &format!("t{number}"), vec![PollReply::working()]);
        tasks.push(world.call(id, "work").await);
    }
    fine.reply_task("work", "f", vec![PollReply::working()]);
    tasks.push(world.call(other.id, "work").await);
    world.pass(10 * SECOND).await;
    down.refuse_connections(Some(testkit::scripted::unreachable()));
    down.close_connection(testkit::scripted::hung_up());
    fine.refuse_connections(Some(testkit::scripted::unreachable()));
    fine.close_connection(testkit::scripted::hung_up());
    world.pass(SECOND).await;
    for task in &tasks {
        world.engine.cancel(*task, person("ada"), None).await.expect("the stop is recorded");
    }
    world.kill().await;
    fine.refuse_connections(None);
    world.start().await;
    let begun = world.now();
    world.until_phase(tasks[50], Phase::Cancelled).await;
    assert!(world.now().since(begun) < 10 * SECOND, "fifty stops that cannot go are not in its way");
}

#[tokio::test(start_paused = true)]
async fn answered_request_is_not_shown_again_after_restart() {
    let (mut world, server, id) = World::new().await;
    server.reply_task("work", "t1", vec![PollReply::asks(&["k"])]);
    let task = world.call(id, "work").await;
    world.until_phase(task, Phase::Waiting).await;
    world.accept(task, "ada").await.expect("it is recorded");
    world.until(task, "acknowledged", |handle| !world_is_open(handle)).await;
    // The server lists the same key again and again: eventual consistency, or a slow one.
    server.becomes("t1", PollReply::asks(&["k"]));
    world.restart().await;
    world.pass(600 * SECOND).await;
    let inbox = world.registry.inbox(0, 10).await.expect("the inbox can be read");
    assert_eq!(inbox.total, 0, "nobody is asked again: {inbox:?}");
}

fn world_is_open(handle: &TaskHandle) -> bool {
    question(handle).is_open()
}

#[tokio::test(start_paused = true)]
async fn a_live_question_of_a_child_that_ended_with_the_core_is_withdrawn() {
    let clock = Arc::new(TestClock::new());
    let server = ScriptedServer::new(clock.clone());
    server.child_per_connection();
    let (mut world, id) = World::prepared(stdio_server(1, "one"), Policy::default(), clock, &server).await;
    server.reply_task("work", "t1", vec![PollReply::Waits]);
    let task = world.call(id, "work").await;
    world.pass(SECOND).await;
    let live = LiveQuestion {
        connection: server.connection().expect("it is up"),
        token: "r1".into(),
        digest: "00112233445566778899aabbccddeeff".into(),
        ask: form(),
        raw: None,
        whole: None,
    };
    server.say(UpstreamEvent::Question(UpstreamSubject::Call(task), live));
    world.until_phase(task, Phase::Waiting).await;
    world.restart().await;
    let handle = world.handle(task).await;
    assert!(matches!(question(&handle), RequestState::Withdrawn { .. }), "{:?}", question(&handle));
}

#[tokio::test(start_paused = true)]
async fn an_orderly_stop_finishes_what_can_be_delivered_and_closes_the_registry() {
    let (world, server, id) = World::new().await;
    server.takes(SECOND);
    server.reply_task("work", "t1", vec![PollReply::working()]);
    let task = world.call(id, "work").await;
    world.pass(10 * SECOND).await;
    world.engine.cancel(task, person("ada"), None).await.expect("a stop is recorded");
    world.engine.shutdown().await;
    assert_eq!(server.times(|act| matches!(act, EngineAction::Cancel(_))).len(), 1, "the stop left before the end");
    assert_eq!(server.times(|act| matches!(act, EngineAction::Close)).len(), 1, "the connection was closed");
    let refused = world.try_call(id, "work").await;
    assert!(matches!(refused, Err(engine::EngineError::Stopping)), "{refused:?}");
}

/// A story that a person drives to its end by looking only at the registry, so that it can be taken up after a kill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Story {
    /// A task asks twice under keys and finishes.
    Listed,
    /// A call asks before it starts, and its task finishes.
    Round,
    /// A task is stopped.
    Stop,
}

struct Stage {
    server: ScriptedServer,
    id: ServerId,
    registry: Arc<dyn Registry>,
    scripted: Arc<ScriptedConnector>,
    clock: Arc<TestClock>,
}

impl Stage {
    async fn set(story: Story) -> Self {
        let clock = Arc::new(TestClock::new());
        let server = ScriptedServer::new(clock.clone());
        match story {
            Story::Listed => {
                server.reply_task(
                    "work",
                    "t1",
                    vec![PollReply::asks(&["a"]), PollReply::asks(&["b"]), PollReply::done()],
                );
            }
            Story::Round => {
                let one = [(RequestKey::new("a"), form())];
                let state = Some(Payload::new("s"));
                server.reply("work", SECOND / 10, Ok(asks(one.into(), state)));
                server.reply_task("work", "t1", vec![PollReply::working(), PollReply::done()]);
            }
            Story::Stop => {
                server.on_cancel(OnCancel::Obey);
                server.reply_task("work", "t1", vec![PollReply::working()]);
            }
        }
        let policy = Policy::default();
        let registry: Arc<dyn Registry> = Arc::new(MemoryRegistry::new(policy));
        let configured = http_server(1, "one");
        let id = configured.id;
        let scripted = Arc::new(ScriptedConnector::default());
        scripted.serve(id, &server);
        registry.put_server(ServerUnit { server: configured, audit: Vec::new() }).await.expect("a server is added");
        Self { server, id, registry, scripted, clock }
    }

    async fn world(&self, points: KillPoints) -> World {
        let registry = Arc::new(KillPointRegistry::new(self.registry.clone(), points.clone()));
        let connector = Arc::new(KillPointConnector::new(self.scripted.clone(), points));
        World::over(registry, connector, self.scripted.clone(), Policy::default(), self.clock.clone(), 1).await
    }

    /// Drives the story until it is over for people: done, cancelled, or unconfirmed.
    async fn drive(&self, story: Story, world: &World) -> HandleId {
        let deadline = tokio::time::Instant::now() + 3_600 * SECOND;
        loop {
            assert!(tokio::time::Instant::now() < deadline, "{story:?} never ends: {:#?}", self.task().await);
            match self.task().await {
                None => {
                    let _ = world.try_call(self.id, "work").await;
                }
                Some(handle) => match handle.phase(world.now()) {
                    Phase::Done | Phase::Cancelled | Phase::Unconfirmed => return handle.id,
                    Phase::Waiting => {
                        let _ = world.accept(handle.id, "ada").await;
                    }
                    Phase::Running if story == Story::Stop && matches!(handle.view, ServerView::Task(_)) => {
                        let _ = world.engine.cancel(handle.id, person("ada"), None).await;
                    }
                    _ => {}
                },
            }
            world.pass(SECOND / 20).await;
        }
    }

    async fn task(&self) -> Option<TaskHandle> {
        let query = TaskQuery { limit: 10, ..TaskQuery::default() };
        let page = self.registry.list(query).await.expect("the registry can be listed");
        assert!(page.rows.len() <= 1, "one call is one task: {:?}", page.rows);
        page.rows.into_iter().next().map(|(handle, _)| handle)
    }

    /// What must hold after every story, killed or not.
    async fn check(&self, story: Story, task: HandleId, point: &str) {
        let handle = self.registry.handle(task).await.expect("it can be read").expect("it is there");
        let first = self.server.times(|act| matches!(act, EngineAction::Call { answers: None, .. }));
        assert!(first.len() <= 1, "{story:?} killed at {point}: the call was sent {} times", first.len());
        let again = self.server.times(|act| matches!(act, EngineAction::Call { answers: Some(_), .. }));
        assert!(again.len() <= 1, "{story:?} killed at {point}: the round was sent {} times", again.len());
        let answers: HashSet<_> = self
            .server
            .answers()
            .into_iter()
            .map(|(key, action, content)| (key, action.wire_word(), content))
            .collect();
        let keys: BTreeSet<_> = answers.iter().map(|(key, _, _)| key.clone()).collect();
        assert_eq!(answers.len(), keys.len(), "{story:?} killed at {point}: one value for each key: {answers:?}");
        let page = self.registry.audit_page(Some(task), 0, 1_000).await.expect("the audit can be read");
        let count = |verb: Verb| page.rows.iter().filter(|row| row.event.verb == verb).count();
        assert!(
            count(Verb::Asked) == handle.requests.len() && count(Verb::AnswerBegun) <= handle.requests.len(),
            "{story:?} killed at {point}: nothing is asked or answered twice: {:?}",
            page.rows.iter().map(|row| row.event.verb).collect::<Vec<_>>()
        );
        assert!(count(Verb::CancelBegun) <= 1, "{story:?} killed at {point}: one stop");
        match handle.phase(domain::ports::Clock::now(&*self.clock)) {
            Phase::Done | Phase::Cancelled => {
                let open = handle.requests.values().any(|request| request.state.is_open());
                assert!(!open, "{story:?} killed at {point}: nothing is left open");
            }
            // Only around the call itself may a kill cost the reply.
            Phase::Unconfirmed => assert!(
                point.starts_with("registry.admit")
                    || point.starts_with("upstream.call")
                    || point.starts_with("registry.commit")
                    || point.starts_with("registry.put_server")
                    || point.starts_with("registry.record"),
                "{story:?} killed at {point} lost the reply"
            ),
            other => panic!("{story:?} killed at {point} ended as {other:?}"),
        }
        if story == Story::Stop && matches!(handle.view, ServerView::Task(_)) {
            assert_eq!(handle.stop_state(), Some(CancelState::Stopped), "{story:?} killed at {point}");
        }
    }
}

async fn every_kill_point(story: Story) {
    let (points, names) = KillPoints::listing();
    let stage = Stage::set(story).await;
    let mut world = stage.world(points).await;
    let task = stage.drive(story, &world).await;
    stage.check(story, task, "nowhere").await;
    world.kill().await;
    let names: BTreeSet<String> = names.lock().iter().cloned().collect();
    assert!(names.len() > 20, "the story passes enough points: {names:?}");
    let mut unconfirmed = 0;
    for point in &names {
        let stage = Stage::set(story).await;
        let killed = Arc::new(Notify::new());
        let scope: Arc<Mutex<Option<Supervisor>>> = Arc::default();
        let (target, tell, cancel) = (point.clone(), killed.clone(), scope.clone());
        let once = std::sync::atomic::AtomicBool::new(false);
        let points = KillPoints::new(move |name| {
            if name != target && !once.load(std::sync::atomic::Ordering::Relaxed) {
                return Fate::Live;
            }
            // From the kill on, nobody of the old engine gets anywhere any more.
            once.store(true, std::sync::atomic::Ordering::Relaxed);
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
        if let Some(mut world) = started {
            *scope.lock() = Some(world.supervisor.clone());
            tokio::select! {
                _ = stage.drive(story, &world) => {}
                () = killed.notified() => {}
            }
            world.kill().await;
        }
        let world = World::over(
            stage.registry.clone(),
            stage.scripted.clone(),
            stage.scripted.clone(),
            Policy::default(),
            stage.clock.clone(),
            2,
        );
        let mut world = world.await;
        let task = stage.drive(story, &world).await;
        if world.phase(task).await == Phase::Unconfirmed {
            unconfirmed += 1;
        }
        stage.check(story, task, point).await;
        world.kill().await;
    }
    assert!(unconfirmed * 2 < names.len(), "most kills cost nothing: {unconfirmed} of {} cost the reply", names.len());
}

#[tokio::test(start_paused = true)]
async fn a_task_with_questions_survives_a_kill_at_every_point() {
    Box::pin(every_kill_point(Story::Listed)).await;
}

#[tokio::test(start_paused = true)]
async fn a_call_with_a_round_survives_a_kill_at_every_point() {
    Box::pin(every_kill_point(Story::Round)).await;
}

#[tokio::test(start_paused = true)]
async fn a_stop_survives_a_kill_at_every_point() {
    Box::pin(every_kill_point(Story::Stop)).await;
}

#[tokio::test(start_paused = true)]
async fn a_call_that_a_kept_child_works_on_goes_on_after_a_kill_and_one_it_dropped_is_unconfirmed() {
    let clock = Arc::new(TestClock::new());
    let server = ScriptedServer::new(clock.clone());
    server.legacy();
    server.outlive_core();
    let (mut world, id) = World::prepared(stdio_server(1, "one"), Policy::default(), clock, &server).await;
    let plain = CallReply::Result { payload: payload("1"), is_error: false };
    for _ in 0..2 {
        server.reply("slow", 600 * SECOND, Ok(plain.clone()));
    }
    let kept = world.call(id, "slow").await;
    let dropped = world.call(id, "slow").await;
    world.pass(5 * SECOND).await;
    server.works_on(kept, 60 * SECOND, Ok(plain));
    world.restart().await;
    world.until_phase(dropped, Phase::Unconfirmed).await;
    let handle = world.handle(kept).await;
    assert!(matches!(handle.view, ServerView::OwnCall { .. }), "its reply is waited for: {:?}", handle.view);
    world.until_phase(kept, Phase::Done).await;
    let log = world.registry.audit_page(Some(kept), 0, 100).await.expect("the log can be read").rows;
    let lost = log.iter().filter(|row| row.event.verb == Verb::Unconfirmed).count();
    assert_eq!(lost, 0, "nobody was told that it is unconfirmed");
    assert_eq!(server.times(|act| matches!(act, EngineAction::Call { .. })).len(), 2, "nothing was sent again");
}

#[tokio::test(start_paused = true)]
async fn a_call_of_a_child_that_does_not_come_back_is_unconfirmed() {
    let clock = Arc::new(TestClock::new());
    let server = ScriptedServer::new(clock.clone());
    server.legacy();
    server.outlive_core();
    let (mut world, id) = World::prepared(stdio_server(1, "one"), Policy::default(), clock, &server).await;
    server.reply("slow", 600 * SECOND, Ok(CallReply::Result { payload: payload("1"), is_error: false }));
    let task = world.call(id, "slow").await;
    world.pass(5 * SECOND).await;
    server.refuse_connections(Some(testkit::scripted::unreachable()));
    world.restart().await;
    world.until_phase(task, Phase::Unconfirmed).await;
}
