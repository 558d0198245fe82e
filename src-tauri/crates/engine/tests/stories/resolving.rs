//! What people resolve, read of a task afterwards, and see of a server.

use std::time::Duration;

use domain::audit::Verb;
use domain::ids::ServerId;
use domain::ports::{CallError, UpstreamError};
use domain::raw_message::Direction;
use domain::task::status::{Phase, RpcError};
use testkit::build::person;
use testkit::scripted::{PollReply, ScriptedServer, unreachable};

use crate::world::World;

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn the_question_and_the_answer_can_be_read_as_they_went_over_the_wire() {
    let (world, server, id) = World::new().await;
    server.reply_task("work", "t1", vec![PollReply::asks(&["k"]), PollReply::done()]);
    let task = world.call(id, "work").await;
    world.until_phase(task, Phase::Waiting).await;
    world.pass(300 * SECOND).await;
    world.accept(task, "ada").await.expect("the answer is recorded");
    world.until_phase(task, Phase::Done).await;
    let kept = world.registry.raw_list(task).await.expect("messages can be listed");
    let told: Vec<_> = kept.iter().map(|note| (note.direction, note.about.as_str())).collect();
    let want = [(Direction::FromServer, "tasks/get"), (Direction::ToServer, "tasks/update")];
    assert_eq!(told, want, "one question, however often it was seen, and one answer");
    let answer = world.registry.raw(task, 2).await.expect("it can be read").expect("it is there");
    assert_eq!(answer.as_str(), r#"[{"name":"ada"}]"#, "the answer as it left");
}

#[tokio::test(start_paused = true)]
async fn an_error_on_an_answer_can_be_read_afterwards() {
    let (world, server, id) = World::new().await;
    server.reply_task("work", "t1", vec![PollReply::asks(&["k"]), PollReply::done()]);
    let task = world.call(id, "work").await;
    world.until_phase(task, Phase::Waiting).await;
    server.fail_answers([UpstreamError::Refused(RpcError { code: -32_000, message: "not like this".into() })]);
    world.accept(task, "ada").await.expect("the answer is recorded");
    world.until(task, "refused", |handle| handle.phase(world.now()) != Phase::Answering).await;
    world.pass(SECOND).await;
    let kept = world.registry.raw_list(task).await.expect("messages can be listed");
    let last = kept.last().expect("the error is there");
    assert_eq!((last.direction, last.about.as_str()), (Direction::FromServer, "tasks/update"));
    let error = world.registry.raw(task, last.n).await.expect("it can be read").expect("it is there");
    assert!(error.as_str().contains("not like this"), "with the server's words: {}", error.as_str());
}

#[tokio::test(start_paused = true)]
async fn an_unconfirmed_call_that_a_person_resolves_is_over_and_stays_so_after_a_restart() {
    let (mut world, server, id) = World::new().await;
    server.reply("work", SECOND, Err(CallError::ReplyLost(unreachable())));
    let task = world.call(id, "work").await;
    world.until_phase(task, Phase::Unconfirmed).await;
    let shown = |list: Vec<domain::task::TaskHandle>| list.iter().any(|handle| handle.id == task);
    assert!(shown(world.registry.attention(10).await.expect("readable")), "it needs attention");
    world.engine.unwatch(task, person("ada"), Some("it had run".into())).await.expect("a person may settle it");
    assert_eq!(world.phase(task).await, Phase::Unwatched);
    assert!(world.engine.task(task).is_none(), "it is not held any more");
    assert!(!shown(world.registry.attention(10).await.expect("readable")), "and needs no attention");
    world.restart().await;
    world.until_up(id).await;
    world.pass(300 * SECOND).await;
    assert_eq!(world.phase(task).await, Phase::Unwatched, "nothing brings it back");
}

#[tokio::test(start_paused = true)]
async fn an_open_task_is_shown_from_memory_and_a_finished_one_is_not_held() {
    let (world, server, id) = World::new().await;
    server.reply_task("work", "t1", vec![PollReply::working(), PollReply::asks(&["k"]), PollReply::done()]);
    let task = world.call(id, "work").await;
    world.until_phase(task, Phase::Waiting).await;
    let held = world.engine.task(task).expect("it is open");
    assert_eq!(held.version, world.handle(task).await.version, "as last committed");
    world.accept(task, "ada").await.expect("the answer is recorded");
    world.until_phase(task, Phase::Done).await;
    assert!(world.engine.task(task).is_none(), "the registry has what is over");
}

#[tokio::test(start_paused = true)]
async fn how_many_tools_a_server_has_is_known_once_they_were_listed() {
    let (world, _, id) = World::new().await;
    world.until_up(id).await;
    assert_eq!(world.engine.known_tools(id), None, "nobody asked yet");
    let tools = world.engine.tools(id).await.expect("they can be listed");
    assert_eq!(world.engine.known_tools(id), Some(tools.len()), "as listed last");
}

/// Notes of the rows of the audit log that say what changed of tools, oldest first.
async fn told_changes(world: &World) -> Vec<String> {
    let page = world.registry.audit_page(None, 0, 1_000).await.expect("the log is read");
    let events = page.rows.into_iter().map(|row| row.event);
    events.filter(|event| event.verb == Verb::ToolsChanged).map(|event| event.note).collect()
}

/// The server has these tools from now on, and is asked for them.
async fn list(world: &World, server: &ScriptedServer, id: ServerId, tools: &[(&str, &str)]) {
    server.list_tools(tools.iter().copied());
    world.engine.tools(id).await.expect("they can be listed");
}

#[tokio::test(start_paused = true)]
async fn a_change_of_tools_that_came_too_soon_for_a_row_of_the_audit_log_gets_it_after_a_restart() {
    let (mut world, server, id) = World::new().await;
    world.until_up(id).await;
    let (index, added) = (("index", "Index two folders"), ("drop", "Drop it"));
    list(&world, &server, id, &[("index", "Index one folder")]).await;
    list(&world, &server, id, &[index]).await;
    world.pass(SECOND).await;
    list(&world, &server, id, &[index, added]).await;
    assert_eq!(told_changes(&world).await, ["changed: index"], "the second change has no row yet");

    world.restart().await;
    world.until_up(id).await;
    list(&world, &server, id, &[index, added]).await;
    let told = ["changed: index", "changed: index; added: drop"];
    assert_eq!(told_changes(&world).await, told, "the first listing of the next run tells it");
    world.pass(120 * SECOND).await;
    list(&world, &server, id, &[index, added]).await;
    world.restart().await;
    world.until_up(id).await;
    list(&world, &server, id, &[index, added]).await;
    assert_eq!(told_changes(&world).await, told, "each change once");
}
