//! Servers that ask more than people are shown at once, in both dialects.

use std::time::Duration;

use domain::ids::RequestKey;
use domain::ports::{UpstreamEvent, UpstreamSubject};
use domain::task::AnswerInput;
use domain::task::input_request::LiveQuestion;
use domain::task::status::Phase;
use testkit::scripted::{PollReply, form, hung_up};

use crate::agent_world::call;
use crate::world::{World, acceptance};

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn what_waits_comes_up_as_questions_are_answered() {
    let (world, server, id) = World::new().await;
    let keys: Vec<String> = (0..1_000).map(|n| format!("k{n:04}")).collect();
    server.reply_task("work", "t1", vec![PollReply::asks(&keys.iter().map(String::as_str).collect::<Vec<_>>())]);
    let task = world.call(id, "work").await;
    let handle = world.until_phase(task, Phase::Waiting).await;
    assert_eq!((handle.open_questions(), handle.more_questions), (64, 936));
    let page = world.registry.inbox(0, 2_000).await.expect("the inbox reads");
    assert_eq!((page.items.len(), page.total), (64, 64));
    for key in keys.iter().take(10) {
        world.engine.answer(task, acceptance(Some(key), "ada")).await.expect("it is open");
    }
    world.until(task, "ten more", |handle| handle.more_questions == 926 && handle.open_questions() == 64).await;
}

#[tokio::test(start_paused = true)]
async fn a_server_has_room_for_so_many_questions_and_for_the_first_of_each_task() {
    let (world, server, id) = World::new().await;
    let keys: Vec<String> = (0..60).map(|n| format!("k{n:04}")).collect();
    let asks = || vec![PollReply::asks(&keys.iter().map(String::as_str).collect::<Vec<_>>())];
    let mut tasks = Vec::new();
    for number in 0..8 {
        server.reply_task("work", &format!("t{number}"), asks());
        tasks.push(world.call(id, "work").await);
    }
    for task in &tasks {
        world.until_phase(*task, Phase::Waiting).await;
    }
    let page = world.registry.inbox(0, 1).await.expect("the inbox reads");
    let most = u64::try_from(world.policy.open_questions_per_server).unwrap_or(u64::MAX) + 8 + 64;
    assert!(page.total <= most, "{} questions are open", page.total);
}

#[tokio::test(start_paused = true)]
async fn an_agent_whose_tasks_make_a_server_ask_leaves_room_for_the_questions_of_others() {
    let (world, server, id) = World::new().await;
    let (asking, other) = (world.agent(1).await, world.agent(2).await);
    world.until_up(id).await;
    let keys: Vec<String> = (0..60).map(|n| format!("k{n:04}")).collect();
    let asks = || vec![PollReply::asks(&keys.iter().map(String::as_str).collect::<Vec<_>>())];
    let mut open = 0;
    for number in 0..4 {
        server.reply_task("work", &format!("t{number}"), asks());
        let task = world.handle_of(call(asking, id, "work")).await;
        open += world.until_phase(task, Phase::Waiting).await.open_questions();
    }
    assert!(open <= 64 + 4, "a quarter of the server's 256, and the first one of each task: {open}");
    server.reply_task("work", "other", asks());
    let task = world.handle_of(call(other, id, "work")).await;
    let handle = world.until_phase(task, Phase::Waiting).await;
    assert_eq!((handle.open_questions(), handle.more_questions), (60, 0), "another agent's are all there");
    server.reply_task("work", "person", asks());
    let task = world.call(id, "work").await;
    let handle = world.until_phase(task, Phase::Waiting).await;
    assert_eq!((handle.open_questions(), handle.more_questions), (60, 0), "and a person's");
}

#[tokio::test(start_paused = true)]
async fn all_agents_together_leave_room_for_the_questions_of_people() {
    let (world, server, id) = World::new().await;
    world.until_up(id).await;
    let keys: Vec<String> = (0..64).map(|n| format!("k{n:04}")).collect();
    let asks = || vec![PollReply::asks(&keys.iter().map(String::as_str).collect::<Vec<_>>())];
    let mut beside_the_first = 0;
    for number in 1..=6 {
        let agent = world.agent(number).await;
        server.reply_task("work", &format!("t{number}"), asks());
        let task = world.handle_of(call(agent, id, "work")).await;
        beside_the_first += world.until_phase(task, Phase::Waiting).await.open_questions() - 1;
    }
    assert!(beside_the_first <= 230, "nine tenths of 256: {beside_the_first}");
    server.reply_task("work", "person", asks());
    let task = world.call(id, "work").await;
    let handle = world.until_phase(task, Phase::Waiting).await;
    assert!(handle.open_questions() >= 26, "a tenth is left: {}", handle.open_questions());
}

fn live(server: &testkit::scripted::ScriptedServer, number: usize) -> LiveQuestion {
    LiveQuestion {
        connection: server.connection().expect("there is a connection"),
        token: format!("r{number}"),
        digest: format!("{number:032x}"),
        ask: form(),
        raw: None,
        whole: None,
    }
}

#[tokio::test(start_paused = true)]
async fn live_questions_without_space_wait_with_their_connection() {
    let (world, server, id) = World::new().await;
    server.legacy();
    server.close_connection(hung_up());
    world.pass(3 * SECOND).await;
    server.reply_task("work", "t1", vec![PollReply::Waits]);
    let task = world.call(id, "work").await;
    world.pass(SECOND).await;
    for number in 0..500 {
        server.say(UpstreamEvent::Question(UpstreamSubject::Call(task), live(&server, number)));
    }
    let handle = world.until(task, "all counted", |handle| handle.more_questions == 436).await;
    assert_eq!(handle.open_questions(), 64);
    server.say(UpstreamEvent::QuestionWithdrawn { token: "r499".into() });
    world.until(task, "one taken back", |handle| handle.more_questions == 435).await;
    let open: Vec<RequestKey> = handle.requests.keys().cloned().collect();
    let input = AnswerInput { key: open.first().cloned(), ..acceptance(None, "ada") };
    world.engine.answer(task, input).await.expect("it is open");
    world.until(task, "the next came up", |handle| handle.more_questions == 434 && handle.requests.len() == 65).await;
    server.close_connection(hung_up());
    world.until(task, "gone with the connection", |handle| handle.more_questions == 0).await;
}
