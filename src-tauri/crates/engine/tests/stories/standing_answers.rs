//! Rules that answer: the same question again, and nothing else; ended by a person, kept over a restart.

use std::time::Duration;

use domain::ids::{HandleId, RequestKey};
use domain::ports::TaskListQuery;
use domain::task::decider::Decider;
use domain::task::input_request::standing_answer::NoStandingAnswer;
use domain::task::input_request::{AnswerAction, Ask, RequestState};
use domain::task::payload::{Payload, PayloadKind};
use domain::task::status::Phase;
use engine::{EngineError, RememberAnswer};
use testkit::build::person;
use testkit::scripted::{PollReply, ScriptedServer, form};

use crate::world::World;

/// A task that asks the same as every other one of it.
async fn asking(world: &World, server: &ScriptedServer, id: domain::ids::ServerId, name: &str) -> HandleId {
    server.reply_task("work", name, vec![PollReply::asks(&["k"])]);
    world.call(id, "work").await
}

fn remember(task: HandleId, answer: Option<(AnswerAction, Option<Payload>)>) -> RememberAnswer {
    RememberAnswer { task, key: RequestKey::new("k"), answer, by: person("ada") }
}

async fn answered_by(world: &World, task: HandleId) -> Decider {
    let handle = world
        .until(task, "it is answered", |handle| {
            handle
                .requests
                .values()
                .any(|request| matches!(request.state, RequestState::Answered(_) | RequestState::Confirmed(_)))
        })
        .await;
    match handle.requests.values().next().map(|request| request.state.clone()) {
        Some(RequestState::Answered(answer) | RequestState::Confirmed(answer)) => answer.by,
        other => panic!("it was answered: {other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn the_same_question_is_answered_by_the_rule_until_a_person_ends_it() {
    let (mut world, server, id) = World::new().await;
    let first = asking(&world, &server, id, "t1").await;
    world.until_phase(first, Phase::Waiting).await;
    world.accept(first, "ada").await.expect("it is open");
    let rule = world.engine.remember_answer(remember(first, None)).await.expect("what a person answered is repeated");
    assert_eq!(rule.version, 1);
    world.pass(Duration::from_secs(1)).await;
    let told = world.notifier.told().len();

    let second = asking(&world, &server, id, "t2").await;
    assert_eq!(answered_by(&world, second).await, Decider::Rule(rule.reference()), "it names rule and version");
    assert_eq!(world.notifier.told().len(), told, "nobody is called for it");
    let content = world.registry.payload(second, PayloadKind::Answer(RequestKey::new("k"))).await.expect("it reads");
    assert_eq!(content, Some(Payload::new(r#"{"name":"ada"}"#)), "exactly the answer of the person");
    let page = world.registry.answered(Some(Decider::Rule(rule.reference())), 0, 10).await.expect("it reads");
    assert_eq!(page.total, 1, "and how often it answered is known");

    world.restart().await;
    world.until_up(id).await;
    let third = asking(&world, &server, id, "t3").await;
    assert_eq!(answered_by(&world, third).await, Decider::Rule(rule.reference()), "after a restart too");

    world.engine.end_standing_answer(rule.id, person("bob")).await.expect("it stands");
    let fourth = asking(&world, &server, id, "t4").await;
    world.until_phase(fourth, Phase::Waiting).await;
    world.pass(Duration::from_secs(30)).await;
    assert_eq!(world.phase(fourth).await, Phase::Waiting, "people are asked again");
    let again = world.engine.end_standing_answer(rule.id, person("bob")).await;
    assert_eq!(again, Err(EngineError::UnknownStandingAnswer), "it ends once");
    let page = world.registry.page(TaskListQuery::default(), 0, 10).await.expect("it reads");
    assert_eq!(page.rows.len(), 4);
}

#[tokio::test(start_paused = true)]
async fn another_answer_to_the_same_question_is_another_version_and_another_question_is_for_people() {
    let (world, server, id) = World::new().await;
    let first = asking(&world, &server, id, "t1").await;
    world.until_phase(first, Phase::Waiting).await;
    let accepts = Some((AnswerAction::Accept, Some(Payload::new(r#"{"name":"x"}"#))));
    let one = world.engine.remember_answer(remember(first, accepts)).await.expect("an open question will do");
    assert_eq!(world.phase(first).await, Phase::Waiting, "what is open already is for the person who looks at it");
    let two =
        world.engine.remember_answer(remember(first, Some((AnswerAction::Decline, None)))).await.expect("changed");
    assert_eq!((two.id, two.version), (one.id, 2));
    // It is about what opens after it was decided.
    world.pass(Duration::from_secs(1)).await;
    let second = asking(&world, &server, id, "t2").await;
    assert_eq!(answered_by(&world, second).await, Decider::Rule(two.reference()));

    let Ask::Form { schema, .. } = form() else { panic!("it is a form") };
    let other = Ask::Form { message: "Delete all?".into(), schema };
    server.reply_task("work", "t3", vec![PollReply::Asks([(RequestKey::new("k"), other)].into())]);
    let third = world.call(id, "work").await;
    world.until_phase(third, Phase::Waiting).await;
    world.pass(Duration::from_secs(30)).await;
    assert_eq!(world.phase(third).await, Phase::Waiting, "other words are another question");
}

#[tokio::test(start_paused = true)]
async fn what_destroys_or_asks_for_a_secret_never_has_a_rule() {
    let (world, server, id) = World::new().await;
    let schema = serde_json::json!({"type": "object", "properties": {"password": {"type": "string"}}});
    let secret = Ask::Form { message: "Sign in".into(), schema };
    server.reply_task("work", "t1", vec![PollReply::Asks([(RequestKey::new("k"), secret)].into())]);
    let task = world.call(id, "work").await;
    world.until_phase(task, Phase::Waiting).await;
    let declines = || Some((AnswerAction::Decline, None));
    let refused = world.engine.remember_answer(remember(task, declines())).await;
    assert_eq!(refused, Err(EngineError::NoStandingAnswer(NoStandingAnswer::Secret)));

    let harmless = asking(&world, &server, id, "t2").await;
    world.until_phase(harmless, Phase::Waiting).await;
    world.engine.remember_answer(remember(harmless, declines())).await.expect("the tool is harmless");
    // Nobody lists its tools meanwhile and the server does not say so: the rule has to find out by itself.
    server.list_destructive("work");
    world.pass(Duration::from_secs(1)).await;
    let destructive = asking(&world, &server, id, "t3").await;
    world.until_phase(destructive, Phase::Waiting).await;
    world.pass(Duration::from_secs(30)).await;
    assert_eq!(world.phase(destructive).await, Phase::Waiting, "a tool that became destructive is not answered for");
    let refused = world.engine.remember_answer(remember(destructive, declines())).await;
    assert_eq!(refused, Err(EngineError::NoStandingAnswer(NoStandingAnswer::Destructive)));
}
