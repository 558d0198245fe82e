//! Many questions with one answer, losses settled together, and rules that answer: done, refused, too late, too many.

use api::Code;
use domain::audit::Verb;
use domain::ids::{PersonId, RequestKey, ServerId};
use domain::ports::Clock as _;
use domain::task::input_request::{AnswerAction, Ask, AskDoor, InputRequest, RecordedAnswer, RequestState};
use domain::task::status::{Delivery, GoneWhy, Phase};
use serde_json::{Value, json};
use testkit::contract::{ContractFixtures, commit_of};
use testkit::scripted::PollReply;

use crate::world::{World, descendant};

const FIXTURES: ContractFixtures = ContractFixtures::of(31);

/// A task of the tool `work` that asks one question, `k`.
async fn asking(world: &World, name: &str) -> String {
    world.server.reply_task("work", name, vec![PollReply::asks(&["k"])]);
    let id = world.start("work").await;
    world.until(&id, "waiting").await;
    id
}

/// A world whose server lists its tools: what destroys nothing may be answered together.
async fn with_tools() -> World {
    let world = Box::pin(World::new()).await;
    world.server.list_tools([("work", "Works")]);
    world.call("servers.tools", json!({"name": "ci"})).await;
    world
}

fn questions<'a>(ids: impl IntoIterator<Item = &'a String>) -> Value {
    ids.into_iter().map(|id| json!({"id": id, "key": "k"})).collect()
}

fn accept(questions: &Value) -> Value {
    json!({"questions": questions, "action": "accept", "content": {"name": "ada"}})
}

async fn is_waiting(world: &World, id: &str) -> bool {
    world.call("tasks.show", json!({"id": id})).await["phase"] == "waiting"
}

#[tokio::test(start_paused = true)]
async fn equal_questions_get_one_answer_that_can_be_taken_back_until_it_leaves() {
    let world = with_tools().await;
    let ids = [asking(&world, "t1").await, asking(&world, "t2").await];
    let told = world.call("inbox.answer", accept(&questions(&ids))).await;
    assert_eq!((told["done"].as_array().map(Vec::len), &told["left"]), (Some(2), &json!([])), "{told:#}");
    assert!(world.server.answers().is_empty(), "both are held back");
    let undone = world.call("inbox.undoAnswer", json!({"questions": questions(&ids)})).await;
    assert_eq!(undone["done"].as_array().map(Vec::len), Some(2), "{undone:#}");
    assert!(is_waiting(&world, &ids[0]).await && is_waiting(&world, &ids[1]).await, "they ask again");
    world.call("inbox.answer", accept(&questions(&ids))).await;
    tokio::time::sleep(world.policy.hold_back * 3).await;
    assert_eq!(world.server.answers().len(), 2, "each task got its own answer");
    let late = world.call("inbox.undoAnswer", json!({"questions": questions(&ids)})).await;
    assert_eq!((&late["done"], late["left"].as_array().map(Vec::len)), (&json!([]), Some(2)), "too late: {late:#}");
}

#[tokio::test(start_paused = true)]
async fn an_answer_to_questions_of_which_one_is_not_there_answers_none() {
    let world = with_tools().await;
    let id = asking(&world, "t1").await;
    let gone = json!([{"id": id, "key": "k"}, {"id": id, "key": "other"}]);
    let refused = world.try_call("inbox.answer", accept(&gone)).await.expect_err("there is no such question");
    assert_eq!(refused.code, Code::Refused, "{refused:?}");
    assert!(refused.message.contains("not there any more"), "{refused:?}");
    let unknown = json!([{"id": FIXTURES.id(1).to_string(), "key": "k"}]);
    let unknown = world.try_call("inbox.answer", accept(&unknown)).await.expect_err("there is no such task");
    assert_eq!(unknown.code, Code::NotFound);
    let none = world.try_call("inbox.answer", accept(&json!([]))).await.expect_err("nothing is answered");
    assert_eq!(none.code, Code::Usage);
    let unfit = json!({"questions": questions([&id]), "action": "accept", "content": {"name": 7}});
    world.try_call("inbox.answer", unfit).await.expect_err("the content does not fit the form");
    assert!(is_waiting(&world, &id).await, "nothing was recorded by any of these");
}

#[tokio::test(start_paused = true)]
async fn a_question_that_somebody_answered_meanwhile_is_left_and_the_others_are_answered() {
    let world = with_tools().await;
    let (first, second) = (asking(&world, "t1").await, asking(&world, "t2").await);
    world.call("tasks.answer", json!({"id": first, "action": "decline"})).await;
    let told = world.call("inbox.answer", accept(&questions([&first, &second]))).await;
    assert_eq!(told["done"], json!([{"id": second, "key": "k"}]), "{told:#}");
    assert_eq!(told["left"][0]["id"], json!(first), "{told:#}");
    assert!(told["left"][0]["why"].as_str().is_some_and(|why| why.contains("ada")), "by whom: {told:#}");
}

#[tokio::test(start_paused = true)]
async fn what_a_server_started_answers_settles_and_decides_nothing() {
    let world = with_tools().await;
    let id = asking(&world, "t1").await;
    for (name, input) in [
        ("inbox.answer", accept(&questions([&id]))),
        ("inbox.undoAnswer", json!({"questions": questions([&id])})),
        ("inbox.resolve", json!({"id": id})),
        ("answers.remember", json!({"id": id, "key": "k", "action": "decline"})),
        ("answers.end", json!({"rule": "ans_1"})),
    ] {
        let refused = world.api.dispatch(&descendant(), name, &input.to_string()).await.expect_err(name);
        assert_eq!(refused.code, Code::Refused, "{name}: {refused:?}");
    }
    assert!(is_waiting(&world, &id).await, "nothing was recorded");
    assert_eq!(world.call("answers.rules", json!({})).await["rules"], json!([]));
}

#[tokio::test(start_paused = true)]
async fn more_questions_than_may_be_answered_at_once_are_refused_before_any_is() {
    let world = with_tools().await;
    let id = asking(&world, "t1").await;
    let many: Value = (0..10_000).map(|_| json!({"id": id, "key": "k"})).collect();
    let refused = world.try_call("inbox.answer", accept(&many)).await.expect_err("ten thousand are too many");
    assert_eq!(refused.code, Code::Usage);
    assert!(refused.message.contains("10000") && refused.message.contains("1000 can"), "{}", refused.message);
    assert!(is_waiting(&world, &id).await, "nothing was recorded");
}

#[tokio::test(start_paused = true)]
async fn a_rule_answers_the_same_question_until_it_is_ended_and_a_rule_that_is_not_there_is_named() {
    let world = with_tools().await;
    let id = asking(&world, "t1").await;
    let remember = json!({"id": id, "key": "k", "action": "accept", "content": {"name": "ada"}});
    let made = world.call("answers.remember", remember).await;
    let rule = made["rules"][0]["id"].clone();
    assert_eq!((&made["rules"][0]["tool"], &made["rules"][0]["by"]), (&json!("work"), &json!("ada")), "{made:#}");
    let missing = world.try_call("answers.remember", json!({"id": id, "key": "other", "action": "decline"})).await;
    missing.expect_err("there is no such question");
    let ended = world.call("answers.end", json!({"rule": rule})).await;
    assert_eq!(ended["rules"][0]["endedBy"], "ada", "{ended:#}");
    let twice = world.try_call("answers.end", json!({"rule": rule})).await;
    twice.expect_err("it does not answer any more");
    let strange = world.try_call("answers.end", json!({"rule": "none"})).await.expect_err("there is no such rule");
    assert_eq!(strange.code, Code::NotFound);
    let next = asking(&world, "t2").await;
    assert!(is_waiting(&world, &next).await, "people are asked again");
}

async fn server_of(world: &World) -> ServerId {
    world.registry.servers().await.expect("servers are read").first().expect("there is one").id
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_was_sent_and_not_acknowledged_is_listed_with_the_end_of_its_call() {
    let world = World::new().await;
    let (server, now) = (server_of(&world).await, world.clock.now());
    let mut ids = Vec::new();
    for number in 0..2 {
        let mut task = FIXTURES.task(number, now.as_millis(), &format!("u{number}"));
        task.server = server;
        let answer = RecordedAnswer {
            by: PersonId::new("ada").into(),
            at: now,
            action: AnswerAction::Decline,
            not_before: None,
            delivery: Delivery::Sent { at: now, attempts: 1 },
        };
        let request = InputRequest {
            key: RequestKey::new("k"),
            ask: Ask::Form { message: "Go on?".into(), schema: json!({"type": "object"}) },
            door: AskDoor::Listed { key: "k".into() },
            opened: now,
            state: RequestState::Answered(answer),
        };
        task.requests.insert(request.key.clone(), request);
        ids.push(task.id.to_string());
        let (task, phase) =
            if number == 0 { (task, Phase::Running) } else { (task.gone(&GoneWhy::Unknown, now).next, Phase::Lost) };
        world.registry.admit(commit_of(&task, phase)).await.expect("it is stored");
    }
    let told = world.call("inbox.answered", json!({})).await;
    let listed = |id: &String| {
        let items = told["items"].as_array().expect("a list");
        let one = items.iter().find(|one| one["task"] == **id).unwrap_or_else(|| panic!("{id} in {told:#}"));
        (one["delivery"].clone(), one["isOver"].clone())
    };
    assert_eq!(listed(&ids[0]), (json!("sent"), json!(false)), "the server may still acknowledge it");
    assert_eq!(listed(&ids[1]), (json!("sent"), json!(true)), "the call ended before");
}

/// Tasks that were lost together, straight in the registry.
async fn lost(world: &World, count: u64) -> Vec<String> {
    let server = server_of(world).await;
    let now = world.clock.now();
    let mut ids = Vec::new();
    for number in 0..count {
        let mut task = FIXTURES.task(number, now.as_millis(), &format!("u{number}"));
        task.server = server;
        let step = task.gone(&GoneWhy::Unknown, now).with_loss_cause(now, |_| now);
        world.registry.admit(commit_of(&step.next, Phase::Lost)).await.expect("it is stored");
        ids.push(task.id.to_string());
    }
    ids
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_losses_are_one_item_that_keeps_its_name_and_is_settled_at_once() {
    let world = World::new().await;
    let ids = lost(&world, 10_000).await;
    let trouble = world.call("inbox", json!({})).await["trouble"].clone();
    assert_eq!((trouble.as_array().map(Vec::len), &trouble[0]["callCount"]), (Some(1), &json!(10_000)));
    world.call("tasks.unwatch", json!({"id": ids[0]})).await;
    let left = world.call("inbox", json!({})).await["trouble"].clone();
    assert_eq!((&left[0]["id"], &left[0]["callCount"]), (&trouble[0]["id"], &json!(9_999)), "the same item");
    let told = world.call("inbox.resolve", json!({"id": ids[5], "note": "the disk was lost"})).await;
    assert_eq!((&told["resolved"], &told["left"]), (&json!(9_999), &json!([])), "each task for itself");
    assert_eq!(world.call("inbox", json!({})).await["trouble"], json!([]), "and nothing is left");
    let again = world.call("inbox.resolve", json!({"id": ids[5]})).await;
    assert_eq!(again["resolved"], 0, "what is settled is settled");
    let unknown = world.try_call("inbox.resolve", json!({"id": FIXTURES.id(99_999).to_string()})).await;
    assert_eq!(unknown.expect_err("there is no such task").code, Code::NotFound);
    let page = world.registry.audit_page(None, 0, 100).await.expect("the audit log reads");
    assert!(page.rows.iter().any(|row| row.event.verb == Verb::Unwatched), "each is on record");
}
