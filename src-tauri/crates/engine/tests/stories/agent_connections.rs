//! Agents' own connections to legacy servers (ruling 14).

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use domain::agent::Agent;
use domain::audit::{Actor, AuditEvent, Subject, Verb};
use domain::ids::{AgentId, HandleId, ServerId, SessionKey};
use domain::policy::Policy;
use domain::ports::{
    Abilities, AgentUnit, CallError, Connected, ConnectionSpec, Connector, PortFuture, Registry, ServerUnit,
    UpstreamError,
};
use domain::server::{Era, Server, ServerHealth};
use domain::task::status::Phase;
use engine::EngineError;
use parking_lot::Mutex;
use testkit::build::{http_server, person, stdio_server};
use testkit::clock::TestClock;
use testkit::memory_registry::MemoryRegistry;
use testkit::scripted::{EngineAction, PollReply, ScriptedConnector, ScriptedServer, hung_up, unreachable};

use crate::agent_world::call;
use crate::world::World;

const SECOND: Duration = Duration::from_secs(1);

type Seat = (ServerId, Option<AgentId>);

/// One scripted server for each seat.
#[derive(Default)]
struct Seats {
    seats: Mutex<HashMap<Seat, Arc<ScriptedConnector>>>,
    lines: Mutex<Vec<ConnectionSpec>>,
    /// Whose processes an earlier core left.
    kept: Mutex<Vec<AgentId>>,
    /// Whose of them were ended.
    ended: Mutex<Vec<Option<AgentId>>>,
}

impl Seats {
    fn serve(&self, server: ServerId, seat: Option<AgentId>, scripted: &ScriptedServer) {
        let connector = Arc::new(ScriptedConnector::default());
        connector.serve(server, scripted);
        self.seats.lock().insert((server, seat), connector);
    }

    fn lines(&self) -> Vec<ConnectionSpec> {
        self.lines.lock().clone()
    }
}

impl Connector for Seats {
    fn connect<'a>(
        &'a self,
        server: &'a Server,
        line: &'a ConnectionSpec,
    ) -> PortFuture<'a, Result<Connected, UpstreamError>> {
        self.lines.lock().push(line.clone());
        let connector = self.seats.lock().get(&(server.id, line.seat)).cloned();
        Box::pin(async move {
            let connector = connector.ok_or_else(unreachable)?;
            connector.connect(server, line).await
        })
    }

    fn kept_seats(&self, _server: ServerId, agents: &[AgentId]) -> Vec<AgentId> {
        self.kept.lock().iter().copied().filter(|agent| agents.contains(agent)).collect()
    }

    fn end_kept(&self, _server: ServerId, seat: Option<AgentId>) -> PortFuture<'_, Vec<u32>> {
        self.ended.lock().push(seat);
        let ended = if seat.is_some() { vec![77] } else { Vec::new() };
        Box::pin(async move {
            tokio::time::sleep(SECOND).await;
            ended
        })
    }
}

struct Bench {
    world: World,
    seats: Arc<Seats>,
    id: ServerId,
    people: ScriptedServer,
    own: ScriptedServer,
    agent: AgentId,
}

/// A legacy server with a seat for people and one for an agent.
async fn bench(policy: Policy) -> Bench {
    bench_of(http_server(1, "one"), policy).await
}

async fn bench_of(server: Server, policy: Policy) -> Bench {
    let clock = Arc::new(TestClock::new());
    let registry: Arc<dyn Registry> = Arc::new(MemoryRegistry::new(policy.clone()));
    let id = server.id;
    let agent = AgentId::from_random(1);
    let seats = Arc::new(Seats::default());
    let (people, own) = (ScriptedServer::new(clock.clone()), ScriptedServer::new(clock.clone()));
    for (scripted, session) in [(&people, "people"), (&own, "own")] {
        scripted.legacy();
        scripted.new_session(session);
    }
    seats.serve(id, None, &people);
    seats.serve(id, Some(agent), &own);
    registry.put_server(ServerUnit { server, audit: Vec::new() }).await.expect("a server can be added");
    let world =
        Box::pin(World::over(registry, seats.clone(), Arc::new(ScriptedConnector::default()), policy, clock, 1)).await;
    world.agent(1).await;
    Bench { world, seats, id, people, own, agent }
}

fn calls(server: &ScriptedServer) -> usize {
    server.times(|act| matches!(act, EngineAction::Call { .. })).len()
}

#[tokio::test(start_paused = true)]
async fn an_agent_has_a_line_of_its_own_to_a_legacy_server_and_people_keep_theirs() {
    let Bench { world, seats, id, people, own, agent } = bench(Policy::default()).await;
    world.until_up(id).await;
    assert_eq!(seats.lines().len(), 1, "nothing is opened before it is needed");
    own.reply_task("work", "t1", vec![PollReply::working(), PollReply::done()]);
    people.reply_task("work", "t1", vec![PollReply::working()]);
    let mut asks = call(agent, id, "work");
    asks.abilities = Abilities { sampling: true, elicitation: true, ..Abilities::default() };
    let mine = world.handle_of(asks).await;
    let theirs = world.call(id, "work").await;
    world.until_true("sent", || calls(&people) == 1).await;
    assert_eq!(calls(&own), 1, "each call went its own way");
    let lines = seats.lines();
    let line = lines.last().expect("there is a second line");
    assert_eq!((line.seat, line.abilities.sampling), (Some(agent), true), "opened for the agent, as it can be asked");
    let handle = world.until_phase(mine, Phase::Done).await;
    assert_eq!((handle.seat, handle.home.session), (Some(agent), Some(SessionKey::new("own"))), "it lives there");
    assert_eq!(world.phase(theirs).await, Phase::Running, "an equal id on another line is another task");
    assert_eq!(world.handle(theirs).await.seat, None, "a person's call is on the shared line");
}

#[tokio::test(start_paused = true)]
async fn how_an_agents_line_fares_is_not_the_servers_health() {
    let Bench { world, id, own, agent, .. } = bench(Policy::default()).await;
    world.until_up(id).await;
    own.refuse_connections(Some(unreachable()));
    let failed = world.engine.line(id, agent, Abilities::default()).await.map(|line| line.seat);
    assert!(matches!(failed, Err(EngineError::NotConnected { .. })), "the agent is told: {failed:?}");
    assert!(matches!(world.engine.health(id), ServerHealth::Up { .. }), "the server is up for people");
    own.refuse_connections(None);
    let line = world.engine.line(id, agent, Abilities::default()).await.expect("it is tried again at once");
    assert_eq!((line.seat, line.negotiated.era), (Some(agent), Era::Legacy), "it is the agent's own");
}

/// When the shared connection was checked.
fn checks(people: &ScriptedServer) -> Vec<domain::time::Timestamp> {
    people.times(|act| matches!(act, EngineAction::Ping))
}

#[tokio::test(start_paused = true)]
async fn a_server_that_only_an_agents_own_connection_uses_is_down_when_it_dies_and_up_when_it_is_back() {
    let Bench { world, id, people, own, agent, .. } = bench(Policy::default()).await;
    world.until_up(id).await;
    let _line = world.engine.line(id, agent, Abilities::default()).await.expect("it is opened");
    own.reply("work", Duration::ZERO, Err(CallError::NotSent(unreachable())));
    people.fail_ping(unreachable());
    for server in [&people, &own] {
        server.refuse_connections(Some(unreachable()));
    }
    let failed = world.engine.agent_call(call(agent, id, "work")).await;
    assert!(failed.is_err(), "the agent is told: {failed:?}");
    world.until_true("it is down for people", || matches!(world.engine.health(id), ServerHealth::Down { .. })).await;
    assert_eq!(checks(&people).len(), 1, "by a look of its own");
    // By now nobody would try again for minutes.
    world.pass(900 * SECOND).await;
    for server in [&people, &own] {
        server.refuse_connections(None);
    }
    let back = world.now();
    world.engine.line(id, agent, Abilities::default()).await.expect("it is back");
    world.until_up(id).await;
    assert!(world.now().since(back) < 5 * SECOND, "the agent's connection was a reason to try at once");
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_fails_again_and_again_causes_a_check_now_and_then() {
    let Bench { world, id, people, own, agent, .. } = bench(Policy::default()).await;
    world.until_up(id).await;
    own.refuse_connections(Some(unreachable()));
    for _ in 0..100 {
        let failed = world.engine.line(id, agent, Abilities::default()).await.map(|line| line.seat);
        assert!(failed.is_err(), "{failed:?}");
        world.pass(SECOND).await;
    }
    let times = checks(&people);
    assert!(times.len() > 1, "it is checked again: {times:?}");
    let pause = world.policy.reconnect_busy_last;
    assert!(times.windows(2).all(|two| two[1].since(two[0]) >= pause), "but not for each failure: {times:?}");
    assert!(matches!(world.engine.health(id), ServerHealth::Up { .. }), "and it is up all the time");
}

#[tokio::test(start_paused = true)]
async fn an_unused_line_is_ended_and_one_with_an_open_task_is_not() {
    let policy = Policy::default();
    let idle = policy.gateway.line_idle;
    let Bench { world, seats, id, own, agent, .. } = bench(policy).await;
    world.until_up(id).await;
    let line = world.engine.line(id, agent, Abilities::default()).await.expect("it is opened");
    world.pass(idle * 2).await;
    assert!(own.connection().is_some(), "somebody holds it");
    drop(line);
    world.pass(idle / 2).await;
    assert!(own.connection().is_some(), "not yet");
    world.pass(idle).await;
    assert!(own.connection().is_none(), "nobody used it");
    own.reply_task("work", "t1", vec![PollReply::working()]);
    let task = world.handle_of(call(agent, id, "work")).await;
    assert_eq!(seats.lines().len(), 3, "it is opened again when it is needed");
    world.pass(idle * 2).await;
    assert!(own.connection().is_some(), "its task goes on there");
    own.becomes("t1", PollReply::done());
    world.until_phase(task, Phase::Done).await;
    world.pass(idle * 2).await;
    assert!(own.connection().is_none(), "and then it is ended");
}

#[tokio::test(start_paused = true)]
async fn after_a_restart_a_line_with_an_open_task_is_taken_up_in_its_session() {
    let Bench { mut world, seats, id, own, agent, .. } = bench(Policy::default()).await;
    world.until_up(id).await;
    own.reply_task("work", "t1", vec![PollReply::working(), PollReply::working(), PollReply::done()]);
    let task = world.handle_of(call(agent, id, "work")).await;
    world.restart().await;
    world.until_phase(task, Phase::Done).await;
    let line = seats.lines().into_iter().rev().find(|line| line.seat.is_some()).expect("the line was opened");
    assert_eq!(line.session, Some(SessionKey::new("own")), "to be resumed where the task lives");
}

/// How the agent's own connection was asked for: whether only for a process that is there.
fn own_lines(seats: &Seats) -> Vec<bool> {
    seats.lines().iter().filter(|line| line.seat.is_some()).map(|line| line.kept_only).collect()
}

#[tokio::test(start_paused = true)]
async fn a_process_that_an_earlier_run_left_gets_its_connection_at_the_start_and_is_closed_when_it_is_idle() {
    let Bench { mut world, seats, id, own, agent, .. } = bench(Policy::default()).await;
    let other = world.agent(2).await;
    world.until_up(id).await;
    seats.kept.lock().push(agent);
    world.restart().await;
    world.until_true("it is taken over", || own.connection().is_some()).await;
    assert_eq!(own_lines(&seats), [true], "and nothing is started for {other}");
    world.pass(world.policy.gateway.line_idle * 2).await;
    assert!(own.connection().is_none(), "nobody used it");
    assert_eq!(seats.ended.lock().len(), 0, "it ended in the ordinary way");
}

#[tokio::test(start_paused = true)]
async fn a_process_that_cannot_be_taken_over_is_ended_on_record_and_the_next_request_starts_one() {
    let Bench { mut world, seats, id, own, agent, .. } = bench(Policy::default()).await;
    world.until_up(id).await;
    seats.kept.lock().push(agent);
    own.refuse_connections(Some(unreachable()));
    world.restart().await;
    world.until_true("it is ended", || !seats.ended.lock().is_empty()).await;
    world.pass(60 * SECOND).await;
    assert_eq!(own_lines(&seats), [true], "nothing is started while nobody needs it");
    assert_eq!(*seats.ended.lock(), [Some(agent)], "it, and no other");
    let page = world.registry.audit_page(None, 0, 1_000).await.expect("the log can be read");
    let notes: Vec<String> = page.rows.into_iter().map(|row| row.event.note).collect();
    let said = "process 77 of an earlier run could not be taken over";
    assert!(notes.iter().any(|note| note == said), "{notes:?}");
    own.refuse_connections(None);
    let line = world.engine.line(id, agent, Abilities::default()).await.expect("it is started");
    assert_eq!((line.seat, own_lines(&seats)), (Some(agent), vec![true, false]));
}

#[tokio::test(start_paused = true)]
async fn a_process_whose_secrets_cannot_be_read_yet_is_left_alone_and_taken_over_once_they_can() {
    let Bench { mut world, seats, id, own, agent, .. } = bench(Policy::default()).await;
    world.until_up(id).await;
    seats.kept.lock().push(agent);
    let locked = UpstreamError::Unauthorized { why: "the keychain is locked".into(), hint: "Unlock it.".into() };
    own.refuse_connections(Some(locked));
    world.restart().await;
    world.until_true("it was looked for", || !own_lines(&seats).is_empty()).await;
    world.pass(60 * SECOND).await;
    assert_eq!(*seats.ended.lock(), [] as [Option<AgentId>; 0], "nothing is known against it");
    own.refuse_connections(None);
    world.until_true("it is taken over", || own.connection().is_some()).await;
    assert_eq!(own_lines(&seats), [true, true], "and none was started");
    assert_eq!(*seats.ended.lock(), [] as [Option<AgentId>; 0]);
}

/// An agent with a task in a process of its own, and a core that was killed as soon as the agent was revoked.
async fn killed_while_revoking() -> (Bench, HandleId) {
    let mut bench = bench_of(stdio_server(1, "one"), Policy::default()).await;
    let Bench { world, id, own, agent, .. } = &mut bench;
    own.outlive_core();
    world.until_up(*id).await;
    own.reply_task("work", "t1", vec![PollReply::working()]);
    let task = world.handle_of(call(*agent, *id, "work")).await;
    world.until_phase(task, Phase::Running).await;
    world.kill().await;
    let known = world.registry.agents().await.expect("agents can be read").into_iter().find(|one| one.id == *agent);
    let now = world.now();
    let fact = AuditEvent {
        at: now,
        actor: Actor::Person(person("ada")),
        verb: Verb::AgentRevoked,
        subject: Subject::Agent(*agent),
        note: String::new(),
    };
    let revoked = Agent { revoked: Some(now), ..known.expect("it was added") };
    let unit = AgentUnit { agent: revoked, audit: vec![fact], ended_pause: None };
    world.registry.put_agent(unit).await.expect("it is revoked");
    (bench, task)
}

#[tokio::test(start_paused = true)]
async fn a_process_that_works_for_a_revoked_agent_is_told_to_cancel_after_a_kill_and_then_ended() {
    let (Bench { mut world, seats, own, agent, .. }, task) = killed_while_revoking().await;
    seats.kept.lock().push(agent);
    world.start().await;
    world.until(task, "cancelled", |handle| handle.view.is_terminal()).await;
    world.pass(10 * SECOND).await;
    assert!(own.connection().is_none(), "it is not kept any longer");
    assert_eq!(own_lines(&seats), [false, true], "no process was started for an agent without access");
}

#[tokio::test(start_paused = true)]
async fn no_process_is_started_for_the_tasks_of_a_revoked_agent_whose_process_is_gone() {
    let (Bench { mut world, seats, own, .. }, task) = killed_while_revoking().await;
    own.refuse_connections(Some(unreachable()));
    world.start().await;
    world.until(task, "lost", |handle| handle.contact.is_gone()).await;
    world.pass(600 * SECOND).await;
    assert_eq!(own_lines(&seats), [false, true], "it was looked for once, and none was started");
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_calls_while_its_process_is_looked_for_gets_one() {
    let Bench { mut world, seats, id, own, agent, .. } = bench(Policy::default()).await;
    world.until_up(id).await;
    seats.kept.lock().push(agent);
    own.refuse_connections(Some(unreachable()));
    world.restart().await;
    world.until_true("it is being ended", || !seats.ended.lock().is_empty()).await;
    own.refuse_connections(None);
    let line = world.engine.line(id, agent, Abilities::default()).await.expect("it has a connection");
    assert_eq!(line.seat, Some(agent));
    assert_eq!(own_lines(&seats), [true, false], "first the process that was there, then a new one");
}

#[tokio::test(start_paused = true)]
async fn a_stop_opens_the_line_of_its_task_again() {
    let Bench { world, id, own, agent, .. } = bench(Policy::default()).await;
    world.until_up(id).await;
    own.reply_task("work", "t1", vec![PollReply::working()]);
    let task = world.handle_of(call(agent, id, "work")).await;
    own.close_connection(hung_up());
    world.engine.revoke_agent(agent, person("ada"), None).await.expect("it is revoked");
    world.until(task, "stopped", |handle| handle.view.is_terminal()).await;
    world.pass(10 * SECOND).await;
    assert!(own.connection().is_none(), "an agent without access keeps no line");
}

#[tokio::test(start_paused = true)]
async fn lines_of_agents_are_limited() {
    let mut policy = Policy::default();
    policy.gateway.lines_max = 1;
    let Bench { world, seats, id, agent, people, .. } = bench(policy).await;
    let second = world.agent(2).await;
    seats.serve(id, Some(second), &people);
    world.until_up(id).await;
    let held = world.engine.line(id, agent, Abilities::default()).await.expect("there is room for one");
    let refused = world.engine.line(id, second, Abilities::default()).await.map(|line| line.seat);
    assert_eq!(refused, Err(EngineError::TooManyConnections { most: 1 }), "and no more");
    drop(held);
}

#[tokio::test(start_paused = true)]
async fn a_task_found_on_an_agents_line_is_that_agents_and_what_lives_elsewhere_is_not_found_twice() {
    let Bench { world, id, people, own, agent, .. } = bench(Policy::default()).await;
    own.list(&["t2"]);
    own.plan("t2", vec![PollReply::working()]);
    people.list(&[]);
    own.reply_task("work", "t1", vec![PollReply::working()]);
    let mine = world.handle_of(call(agent, id, "work")).await;
    world.until_true("found", || world.engine.open_tasks(agent).len() == 2).await;
    let found = world.all().await.into_iter().find(|handle| handle.id != mine).expect("there are two");
    assert_eq!((found.agent, found.seat, found.given), (Some(agent), Some(agent), None), "attributed, and not given");
    people.plan("t1", vec![PollReply::working()]);
    people.list(&["t1"]);
    own.list(&["t1", "t2"]);
    world.pass(world.policy.list_every * 2).await;
    let of_t1 = world
        .all()
        .await
        .into_iter()
        .filter(|handle| handle.view.task().is_some_and(|task| task.id == domain::ids::UpstreamTaskId::new("t1")));
    assert_eq!(of_t1.count(), 1, "what two lines list with one creation time is one task");
}

#[tokio::test(start_paused = true)]
async fn the_end_of_one_server_leaves_the_others_untouched() {
    let Bench { world, seats, id, agent, .. } = bench(Policy::default()).await;
    let other = http_server(2, "two");
    let other_id = other.id;
    let scripted = ScriptedServer::new(Arc::clone(&world.clock) as Arc<_>);
    seats.serve(other_id, None, &scripted);
    world.registry.put_server(ServerUnit { server: other, audit: Vec::new() }).await.expect("a server can be added");
    world.engine.server_changed(other_id).await.expect("it is followed");
    world.until_up(other_id).await;
    world.until_up(id).await;
    scripted.reply_task("work", "t1", vec![PollReply::working()]);
    let task = world.handle_of(call(agent, other_id, "work")).await;
    let before = world.handle(task).await;
    assert_eq!(before.seat, None, "a modern server is shared");
    world.registry.remove_server(id, Vec::new()).await.expect("it can be removed");
    world.engine.server_removed(id).await.expect("it is removed");
    world.pass(60 * SECOND).await;
    let after = world.handle(task).await;
    assert_eq!((after.view, after.changed), (before.view, before.changed), "nothing happened to it");
    let names: Vec<_> = world.engine.servers().into_iter().map(|(_, name)| name.to_string()).collect();
    assert_eq!(names, ["two"], "and only the other is left");
}

#[tokio::test(start_paused = true)]
async fn a_server_is_found_by_the_name_it_has_now() {
    let Bench { world, id, .. } = bench(Policy::default()).await;
    let before = world.engine.server_name(id).expect("it is followed");
    assert_eq!(world.engine.server_by_name(&before), Some(id));
    let mut renamed = world.registry.servers().await.expect("readable").into_iter().next().expect("it is stored");
    renamed.name = "renamed".into();
    world.registry.put_server(ServerUnit { server: renamed, audit: Vec::new() }).await.expect("it can be renamed");
    world.engine.server_changed(id).await.expect("it is followed on");
    assert_eq!(world.engine.server_name(id).as_deref(), Some("renamed"));
    assert_eq!(world.engine.server_by_name("renamed"), Some(id));
    assert_eq!(world.engine.server_by_name(&before), None, "the earlier name is free");
    world.registry.remove_server(id, Vec::new()).await.expect("it can be removed");
    world.engine.server_removed(id).await.expect("it is removed");
    assert_eq!((world.engine.server_by_name("renamed"), world.engine.server_name(id)), (None, None));
}
