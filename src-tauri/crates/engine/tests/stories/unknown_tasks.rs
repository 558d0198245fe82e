//! Questions of a server of the 2025 dialect that name a task which nobody here knows.

use std::time::Duration;

use domain::ids::{ServerId, UpstreamTaskId};
use domain::ports::{CallReply, UpstreamEvent, UpstreamSubject};
use domain::task::input_request::LiveQuestion;
use domain::task::status::Phase;
use engine::LogEvent;
use testkit::scripted::{EngineAction, PollReply, ScriptedServer, form, hung_up, payload};

use crate::world::World;

const SECOND: Duration = Duration::from_secs(1);

async fn legacy_world() -> (World, ScriptedServer, ServerId) {
    let (world, server, id) = World::new().await;
    server.legacy();
    server.close_connection(hung_up());
    world.pass(3 * SECOND).await;
    world.until_up(id).await;
    (world, server, id)
}

/// The server asks, and says that it is for this task.
fn ask(server: &ScriptedServer, token: &str, task: &str) {
    let question = LiveQuestion {
        connection: server.connection().expect("there is a connection"),
        token: token.into(),
        digest: "00112233445566778899aabbccddeeff".into(),
        ask: form(),
        raw: None,
        whole: None,
    };
    let subject = UpstreamSubject::Task(UpstreamTaskId::new(task));
    assert!(server.say(UpstreamEvent::Question(subject, question)), "there is a connection");
}

fn refused(server: &ScriptedServer) -> Vec<String> {
    let acts = server.acts().into_iter();
    acts.filter_map(|(_, act)| if let EngineAction::RefuseQuestion(token) = act { Some(token) } else { None }).collect()
}

#[tokio::test(start_paused = true)]
async fn a_question_about_a_task_that_is_not_open_is_refused_and_the_log_of_its_server_says_so() {
    let (world, server, id) = legacy_world().await;
    ask(&server, "r1", "nobody");
    world.until_true("it is refused", || refused(&server) == ["r1"]).await;
    let log = world.engine.server_log(id, None, 100).entries;
    let said = log.iter().filter(|line| line.what == LogEvent::QuestionRefused).count();
    assert_eq!(said, 1, "{log:?}");
    assert!(server.answers().is_empty(), "nothing was said in anybody's name");
}

#[tokio::test(start_paused = true)]
async fn a_question_that_names_an_unknown_task_during_a_call_is_the_calls_question() {
    let (world, server, id) = legacy_world().await;
    server.reply("work", 600 * SECOND, Ok(CallReply::Result { payload: payload("{}"), is_error: false }));
    let call = world.call(id, "work").await;
    ask(&server, "r1", "nobody");
    world.until_phase(call, Phase::Waiting).await;
    world.accept(call, "ada").await.expect("it can be answered there");
    world.until_phase(call, Phase::Running).await;
    assert_eq!((server.answers().len(), refused(&server).len()), (1, 0));
    world.until_phase(call, Phase::Done).await;
}

#[tokio::test(start_paused = true)]
async fn a_question_that_is_faster_than_the_reply_that_creates_its_task_waits_for_that() {
    let (world, server, id) = legacy_world().await;
    let other = Ok(CallReply::Result { payload: payload("{}"), is_error: false });
    server.reply("older", 600 * SECOND, other);
    let older = world.call(id, "older").await;
    server.plan("t1", vec![PollReply::working()]);
    server.reply("work", SECOND, Ok(server.created("t1")));
    let task = world.call(id, "work").await;
    world.pass(SECOND / 2).await;
    ask(&server, "r1", "t1");
    world.until_phase(task, Phase::Waiting).await;
    world.pass(60 * SECOND).await;
    assert_eq!(world.phase(older).await, Phase::Running, "it is no question of the other call");
}

#[tokio::test(start_paused = true)]
async fn a_question_that_is_withdrawn_before_its_task_is_known_is_nobodys() {
    let (world, server, id) = legacy_world().await;
    server.reply("work", 600 * SECOND, Ok(CallReply::Result { payload: payload("{}"), is_error: false }));
    let call = world.call(id, "work").await;
    world.until_phase(call, Phase::Running).await;
    ask(&server, "r1", "nobody");
    server.say(UpstreamEvent::QuestionWithdrawn { token: "r1".into() });
    world.pass(60 * SECOND).await;
    assert_eq!(world.phase(call).await, Phase::Running);
    assert_eq!(refused(&server), [] as [String; 0]);
}
