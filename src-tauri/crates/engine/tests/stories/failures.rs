//! Failures: full disks, panics, servers that flood, lie, flap or reuse their ids.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use domain::ids::UpstreamTaskId;
use domain::policy::Policy;
use domain::ports::{
    CallReply, Connected, ConnectionSpec, Connector, PortFuture, Registry, RegistryError, ServerUnit, UpstreamError,
    UpstreamEvent, UpstreamSubject,
};
use domain::server::{Server, ServerHealth};
use domain::task::input_request::RequestState;
use domain::task::payload::{Payload, PayloadKind};
use domain::task::status::{Contact, GoneWhy, Phase, ServerView};
use engine::{AgentTraffic, EngineError, Passed};
use testkit::build::{http_server, person};
use testkit::clock::TestClock;
use testkit::memory_registry::MemoryRegistry;
use testkit::scripted::{
    EngineAction, PollReply, ScriptedConnector, ScriptedServer, form, hung_up, payload, unreachable,
};

use crate::agent_world::call as agents_call;
use crate::budget::seen;
use crate::world::{World, question};

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn a_reply_that_comes_while_the_disk_is_full_is_stored_when_there_is_room() {
    let (world, server, id, disk) = World::on_a_small_disk(Policy::default()).await;
    server.reply("add", SECOND, Ok(CallReply::Result { payload: payload("3"), is_error: false }));
    let task = world.call(id, "add").await;
    disk.fill_disk(true);
    world.pass(600 * SECOND).await;
    assert_eq!(world.phase(task).await, Phase::Running, "the registry does not have it yet");
    disk.fill_disk(false);
    world.until_phase(task, Phase::Done).await;
    assert_eq!(world.result(task).await.as_deref(), Some("3"), "the reply was not lost");
}

#[tokio::test(start_paused = true)]
async fn what_tasks_cost_is_stored_when_there_is_room_and_not_tried_each_second() {
    let (world, server, id, disk) = World::on_a_small_disk(Policy::default()).await;
    world.until_up(id).await;
    let agent = world.agent(1).await;
    server.reply_task("index", "t1", vec![PollReply::working()]);
    let task = world.handle_of(agents_call(agent, id, "index")).await;
    world.until(task, "counted", |handle| handle.tokens.is_some()).await;
    disk.fill_disk(true);
    let handle = Passed::Handle(Payload::new(r#"{"taskId":"t1"}"#));
    world.engine.saw(AgentTraffic { handle: Some(task), ..seen(agent, (Some(id), Some("s1")), handle) });
    world.pass(600 * SECOND).await;
    let tries = disk.refused_commits();
    assert!((1..100).contains(&tries), "ten minutes without room are some tries: {tries}");
    disk.fill_disk(false);
    world.until(task, "stored", |handle| handle.tokens.is_some_and(|tokens| tokens.handle == 15)).await;
}

#[tokio::test(start_paused = true)]
async fn a_call_that_cannot_be_recorded_is_not_sent() {
    let (world, server, id, disk) = World::on_a_small_disk(Policy::default()).await;
    world.until_up(id).await;
    disk.fill_disk(true);
    let refused = world.try_call(id, "add").await;
    assert!(matches!(refused, Err(EngineError::Registry(RegistryError::Full { .. }))), "{refused:?}");
    world.pass(60 * SECOND).await;
    assert!(server.times(|act| matches!(act, EngineAction::Call { .. })).is_empty(), "nothing left the machine");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_cannot_be_recorded_is_refused_and_not_sent() {
    let (world, server, id, disk) = World::on_a_small_disk(Policy::default()).await;
    server.reply_task("work", "t1", vec![PollReply::asks(&["k"]), PollReply::done()]);
    let task = world.call(id, "work").await;
    world.until_phase(task, Phase::Waiting).await;
    disk.fill_disk(true);
    let refused = world.accept(task, "ada").await;
    assert!(matches!(refused, Err(EngineError::Registry(RegistryError::Full { .. }))), "{refused:?}");
    world.pass(60 * SECOND).await;
    assert!(server.answers().is_empty(), "what is not recorded does not happen");
    disk.fill_disk(false);
    world.accept(task, "ada").await.expect("now it is recorded");
    world.until_phase(task, Phase::Done).await;
}

/// A connector that panics the first few times.
struct Clumsy {
    inner: Arc<ScriptedConnector>,
    panics: AtomicU32,
}

impl Connector for Clumsy {
    fn connect<'a>(
        &'a self,
        server: &'a Server,
        line: &'a ConnectionSpec,
    ) -> PortFuture<'a, Result<Connected, UpstreamError>> {
        Box::pin(async move {
            assert!(self.panics.fetch_add(1, Ordering::Relaxed) >= 2, "this connector is clumsy");
            self.inner.connect(server, line).await
        })
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_while_following_a_server_is_not_the_end_of_following_it() {
    let clock = Arc::new(TestClock::new());
    let server = ScriptedServer::new(clock.clone());
    let registry: Arc<dyn Registry> = Arc::new(MemoryRegistry::new(Policy::default()));
    let scripted = Arc::new(ScriptedConnector::default());
    let configured = http_server(1, "one");
    let id = configured.id;
    scripted.serve(id, &server);
    registry.put_server(ServerUnit { server: configured, audit: Vec::new() }).await.expect("a server is added");
    let clumsy = Arc::new(Clumsy { inner: scripted.clone(), panics: AtomicU32::new(0) });
    let world = World::over(registry, clumsy, scripted, Policy::default(), clock, 1).await;
    world.until_true("down", || matches!(world.engine.health(id), ServerHealth::Down { .. })).await;
    world.until_up(id).await;
    server.reply_task("work", "t1", vec![PollReply::done()]);
    let task = world.call(id, "work").await;
    world.until_phase(task, Phase::Done).await;
}

#[tokio::test(start_paused = true)]
async fn a_call_in_flight_keeps_its_connection_while_reads_fail() {
    let (world, server, id) = World::new().await;
    server.reply_task("work", "t1", vec![PollReply::working()]);
    server.hint("t1", SECOND);
    server.reply("slow", 900 * SECOND, Ok(CallReply::Result { payload: payload("1"), is_error: false }));
    let task = world.call(id, "work").await;
    let slow = world.call(id, "slow").await;
    world.pass(5 * SECOND).await;
    server.fail_reads(std::iter::repeat_n(unreachable(), 6));
    world.until_phase(task, Phase::Silent).await;
    assert!(matches!(world.engine.health(id), ServerHealth::Down { .. }), "the server is down");
    world.until_phase(task, Phase::Running).await;
    world.until_up(id).await;
    world.until_phase(slow, Phase::Done).await;
    assert_eq!(
        server.times(|act| matches!(act, EngineAction::Connect)).len(),
        1,
        "the connection was kept for the call"
    );
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_answers_holds_no_slot_for_ever() {
    let policy = Policy { reads_total: 2, ..Policy::default() };
    let (world, server, id) = World::with(http_server(1, "one"), policy).await;
    let fine = ScriptedServer::new(world.clock.clone());
    let other = http_server(2, "fine");
    world.scripted.serve(other.id, &fine);
    let unit = ServerUnit { server: other.clone(), audit: Vec::new() };
    world.registry.put_server(unit).await.expect("a server is added");
    world.engine.server_changed(other.id).await.expect("it is followed");
    for number in 0..4 {
        server.reply_task("work", &format!("t{number}"), vec![PollReply::working()]);
        world.call(id, "work").await;
    }
    server.takes(Duration::from_secs(1_000_000));
    world.pass(30 * SECOND).await;
    fine.reply_task("work", "f", vec![PollReply::done()]);
    let task = world.call(other.id, "work").await;
    let begun = world.now();
    world.until_phase(task, Phase::Done).await;
    let took = world.now().since(begun);
    assert!(took < 200 * SECOND, "the other server gets its turn: {took:?}");
    world.pass(1_800 * SECOND).await;
    let all = world.all().await;
    let silent = all.iter().filter(|handle| handle.phase(world.now()) == Phase::Silent).count();
    assert_eq!(silent, 4, "the tasks of the one that hangs go silent: {all:?}");
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_read_is_kept_for_the_doctor_and_the_task_goes_silent() {
    let (world, server, id) = World::new().await;
    server.reply_task("work", "t1", vec![PollReply::working()]);
    server.hint("t1", SECOND);
    let task = world.call(id, "work").await;
    world.pass(5 * SECOND).await;
    let raw = Some(Payload::new(r#"{"result":{"status":7}}"#));
    let error = UpstreamError::Unreadable { path: "$.result.status".into(), why: "not text".into(), raw };
    server.becomes("t1", PollReply::Error(error));
    world.until_phase(task, Phase::Silent).await;
    let kept = world.registry.payload(task, PayloadKind::Unreadable).await.expect("it can be read");
    assert!(kept.is_some(), "the message is kept");
    assert_eq!(world.engine.health(id).word(), "up", "a server that answers is up, whatever it says");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_asks_for_looks_without_end_gets_ten_a_second() {
    let (world, server, id) = World::new().await;
    server.reply_task("work", "t1", vec![PollReply::working()]);
    world.call(id, "work").await;
    world.pass(SECOND).await;
    server.clear_acts();
    for _ in 0..5_000 {
        server.say(UpstreamEvent::PollSoon(UpstreamTaskId::new("t1")));
        world.pass(Duration::from_millis(2)).await;
    }
    let reads = server.reads("t1").len();
    assert!(reads <= 105, "ten seconds are a hundred looks at most: {reads}");
}

#[tokio::test(start_paused = true)]
async fn words_about_tasks_that_nobody_knows_are_not_kept_for_ever() {
    let (world, server, id) = World::new().await;
    world.until_up(id).await;
    for number in 0..5_000 {
        server.say(UpstreamEvent::PollSoon(UpstreamTaskId::new(format!("ghost{number}"))));
    }
    server.reply_task("work", "t1", vec![PollReply::done()]);
    let task = world.call(id, "work").await;
    world.until_phase(task, Phase::Done).await;
    assert_eq!(world.all().await.len(), 1, "ghosts are not tasks");
}

#[tokio::test(start_paused = true)]
async fn a_push_that_is_faster_than_the_reply_is_not_lost() {
    let (world, server, id) = World::new().await;
    world.until_up(id).await;
    server.legacy();
    server.reply_task("work", "t1", vec![PollReply::Waits]);
    let live = domain::task::input_request::LiveQuestion {
        connection: server.connection().expect("it is up"),
        token: "r1".into(),
        digest: "00112233445566778899aabbccddeeff".into(),
        ask: form(),
        raw: None,
        whole: None,
    };
    server.say(UpstreamEvent::Question(UpstreamSubject::Task(UpstreamTaskId::new("t1")), live));
    world.pass(SECOND).await;
    let task = world.call(id, "work").await;
    world.until_phase(task, Phase::Waiting).await;
}

#[tokio::test(start_paused = true)]
async fn a_question_and_its_withdrawal_do_not_overtake_each_other() {
    let (world, server, id) = World::new().await;
    server.legacy();
    world.until_up(id).await;
    server.reply_task("work", "t1", vec![PollReply::Waits]);
    let task = world.call(id, "work").await;
    world.pass(SECOND).await;
    let connection = server.connection().expect("it is up");
    for number in 0..20 {
        let (token, digest) = (format!("r{number}"), format!("{number:032}"));
        let live = domain::task::input_request::LiveQuestion {
            connection,
            token: token.clone(),
            digest,
            ask: form(),
            raw: None,
            whole: None,
        };
        server.say(UpstreamEvent::Question(UpstreamSubject::Call(task), live));
        server.say(UpstreamEvent::QuestionWithdrawn { token });
    }
    world.pass(SECOND).await;
    let handle = world.handle(task).await;
    assert_eq!(handle.requests.len(), 20, "every question was seen");
    let open: Vec<_> = handle.requests.values().filter(|request| request.state.is_open()).collect();
    assert!(open.is_empty(), "and every withdrawal came after its question: {open:?}");
}

#[tokio::test(start_paused = true)]
async fn a_listed_task_whose_reply_is_on_its_way_is_one_task() {
    let clock = Arc::new(TestClock::new());
    let server = ScriptedServer::new(clock.clone());
    server.list(&[]);
    let (world, id) = World::prepared(http_server(1, "one"), Policy::default(), clock, &server).await;
    world.until_up(id).await;
    server.plan("t1", vec![PollReply::working()]);
    server.list(&["t1"]);
    // The list is read again every two minutes; the call leaves just before, and its reply comes just after.
    world.pass(119 * SECOND + SECOND / 2).await;
    let seen = server.created("t1");
    server.reply("work", SECOND, Ok(seen));
    let task = world.call(id, "work").await;
    world.pass(300 * SECOND).await;
    assert!(server.times(|act| *act == EngineAction::List).len() >= 3, "the list was read meanwhile");
    let all = world.all().await;
    assert_eq!(all.len(), 1, "one task, one handle: {all:?}");
    assert_eq!(all[0].id, task);
}

#[tokio::test(start_paused = true)]
async fn an_id_that_is_used_again_is_another_task_and_the_first_one_keeps_its_record() {
    let (world, server, id) = World::new().await;
    server.reply_task("work", "t1", vec![PollReply::done()]);
    let first = world.call(id, "work").await;
    world.until_phase(first, Phase::Done).await;
    world.pass(60 * SECOND).await;
    server.reply_task("work", "t1", vec![PollReply::says("again"), PollReply::done()]);
    let second = world.call(id, "work").await;
    world.until_phase(second, Phase::Done).await;
    assert_ne!(first, second);
    assert_eq!(world.phase(first).await, Phase::Done, "the first one stays what it was");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_shows_another_task_under_an_open_id_begins_a_new_generation() {
    let (world, server, id) = World::new().await;
    server.reply_task("work", "t1", vec![PollReply::working()]);
    let task = world.call(id, "work").await;
    world.pass(60 * SECOND).await;
    server.plan("t1", vec![PollReply::working()]);
    let lost = world.until_phase(task, Phase::Lost).await;
    assert!(matches!(lost.contact, Contact::Gone { why: GoneWhy::Replaced, .. }), "{:?}", lost.contact);
    world.pass(SECOND).await;
    let stored = world.registry.server(id).await.expect("it can be read").expect("it is there");
    assert_eq!(stored.generation, 1, "its ids began anew");
    server.reply_task("work", "t1", vec![PollReply::done()]);
    let next = world.call(id, "work").await;
    let next = world.until_phase(next, Phase::Done).await;
    assert_eq!(next.home.generation, 1);
}

#[tokio::test(start_paused = true)]
async fn a_question_of_a_session_that_is_not_taken_up_again_is_withdrawn() {
    let (world, server, id) = World::new().await;
    server.legacy();
    world.until_up(id).await;
    server.close_connection(hung_up());
    world.pass(3 * SECOND).await;
    server.reply_task("work", "t1", vec![PollReply::Waits]);
    let task = world.call(id, "work").await;
    world.pass(SECOND).await;
    let live = domain::task::input_request::LiveQuestion {
        connection: server.connection().expect("it is up"),
        token: "r1".into(),
        digest: "00112233445566778899aabbccddeeff".into(),
        ask: form(),
        raw: None,
        whole: None,
    };
    server.say(UpstreamEvent::Question(UpstreamSubject::Call(task), live));
    world.until_phase(task, Phase::Waiting).await;
    server.new_session("session-2");
    server.close_connection(hung_up());
    let withdrawn = |handle: &domain::task::TaskHandle| matches!(question(handle), RequestState::Withdrawn { .. });
    world.until(task, "withdrawn", withdrawn).await;
}

#[tokio::test(start_paused = true)]
async fn a_server_nobody_agreed_to_is_never_contacted() {
    let configured = Server { consent: None, ..http_server(1, "one") };
    let (world, server, id) = World::with(configured, Policy::default()).await;
    world.pass(600 * SECOND).await;
    let refused = world.try_call(id, "work").await;
    assert!(matches!(refused, Err(EngineError::NotConnected { waits_for_person: true, .. })), "{refused:?}");
    assert!(server.acts().is_empty(), "nothing was tried: {:?}", server.acts());
    let agreed = http_server(1, "one");
    world.registry.put_server(ServerUnit { server: agreed, audit: Vec::new() }).await.expect("somebody agrees");
    world.engine.server_changed(id).await.expect("the engine hears of it");
    world.until_up(id).await;
}

#[tokio::test(start_paused = true)]
async fn calls_beyond_the_budget_are_refused_and_lost_replies_do_not_count() {
    let policy = Policy { open_calls_per_server: 3, ..Policy::default() };
    let (world, server, id) = World::with(http_server(1, "one"), policy).await;
    for number in 0..3 {
        server.reply_task("work", &format!("t{number}"), vec![PollReply::working()]);
        world.call(id, "work").await;
    }
    let refused = world.try_call(id, "work").await;
    assert!(matches!(refused, Err(EngineError::TooManyOpenCalls { most: 3 })), "{refused:?}");
    server.becomes("t0", PollReply::done());
    world.pass(120 * SECOND).await;
    server.reply("lose", Duration::ZERO, Err(domain::ports::CallError::ReplyLost(unreachable())));
    let lost = world.call(id, "lose").await;
    let lost = world.until_phase(lost, Phase::Unconfirmed).await;
    assert!(matches!(lost.view, ServerView::Unanswered { .. }));
    server.reply_task("work", "t9", vec![PollReply::working()]);
    world.call(id, "work").await;
}

#[tokio::test(start_paused = true)]
async fn a_task_later_than_agreed_is_overdue_and_waiting_for_people_does_not_count() {
    let (world, server, id) = World::new().await;
    server.reply_task("work", "t1", vec![PollReply::asks(&["k"]), PollReply::working()]);
    let call = engine::StartCall {
        server: id,
        tool: "work".into(),
        arguments: Payload::new("{}"),
        by: person("ada"),
        limit: Some(100 * SECOND),
    };
    let task = world.engine.call(call).await.expect("the call is admitted");
    world.until_phase(task, Phase::Waiting).await;
    world.pass(3_600 * SECOND).await;
    assert_eq!(world.phase(task).await, Phase::Waiting, "an hour of a person's time is not the task's");
    world.accept(task, "ada").await.expect("it is answered");
    world.until_phase(task, Phase::Running).await;
    let running = world.now();
    world.until_phase(task, Phase::Overdue).await;
    let took = world.now().since(running);
    assert!((60 * SECOND..=105 * SECOND).contains(&took), "the hundred seconds went on from there: {took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_fell_behind_what_is_kept_is_told_to_read_anew() {
    use futures::StreamExt;
    let policy = Policy { change_log_kept: 600 * SECOND, ..Policy::default() };
    let (world, server, id) = World::with(http_server(1, "one"), policy).await;
    server.reply_task("work", "t1", vec![PollReply::done()]);
    let task = world.call(id, "work").await;
    world.until_phase(task, Phase::Done).await;
    let kept = world.policy.change_log_kept;
    world.pass(kept + Duration::from_secs(2 * 3_600)).await;
    server.reply_task("work", "t2", vec![PollReply::done()]);
    world.call(id, "work").await;
    let mut feed = world.engine.feed(Some(domain::ids::Seq(1)));
    let frame = feed.next().await.expect("a frame");
    assert!(frame.resync, "what it missed is no longer there: {frame:?}");
}
