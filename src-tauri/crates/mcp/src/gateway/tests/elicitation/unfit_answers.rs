//! Answers of agents that do not fit the form they were asked with, or that refuse to show it.

use super::*;

/// An accepted form whose field is no text.
fn unfit() -> Value {
    json!({"action": "accept", "content": {"name": 7}})
}

/// How often the log of a task says that an answer did not fit, by the name of the field alone.
async fn times_unfit(setup: &GatewaySetup, id: &str) -> usize {
    let log = setup.registry.status_log(id.parse::<HandleId>().expect("ours"), 100).await.expect("readable");
    log.iter().filter(|line| line.text == "An answer of the agent was not sent: field `name` does not fit.").count()
}

#[tokio::test(start_paused = true)]
async fn an_answer_of_a_session_that_does_not_fit_is_not_sent_and_people_are_asked_instead() {
    let setup = GatewaySetup::new().await;
    asked_by_rule(&setup, "long", AudienceRule::AgentThenPeople { after: 3_600 * SECOND }).await;
    let session_client = SessionClient::new(&setup);
    setup.scripted.reply_task("long", "upstream-1", asks_then_ends());
    let id = session_client.task("long").await;
    let mut waiting = session_client.awaits(&id);
    let question = waiting.next().await;
    session_client.replies(&question, &unfit());
    let handle = until_task(&setup, &id, "people are asked", |handle| handle.has_request_for_people(setup.now())).await;
    assert!(is_open(&handle) && setup.scripted.answers().is_empty(), "nothing went out");
    assert_eq!(times_unfit(&setup, &id).await, 1);
    person_answers(&setup, &id).await;
    ended(&waiting).await.expect("the result");
    assert_eq!(setup.scripted.answers().len(), 1, "the person's answer");
}

#[tokio::test(start_paused = true)]
async fn an_answer_of_a_session_that_does_not_fit_is_a_dismissal_where_people_are_never_asked() {
    let setup = GatewaySetup::new().await;
    asked_by_rule(&setup, "long", AudienceRule::Agent).await;
    let session_client = SessionClient::new(&setup);
    setup.scripted.reply_task("long", "upstream-1", asks_then_ends());
    let id = session_client.task("long").await;
    let mut waiting = session_client.awaits(&id);
    let question = waiting.next().await;
    session_client.replies(&question, &unfit());
    ended(&waiting).await.expect("the result");
    let dismissed = ("name".to_owned(), AnswerAction::Dismiss, None);
    assert_eq!(setup.scripted.answers(), [dismissed], "the server goes on without an answer");
    assert_eq!(times_unfit(&setup, &id).await, 1);
}

#[tokio::test(start_paused = true)]
async fn a_modern_agent_learns_which_field_does_not_fit_and_answers_again() {
    let setup = GatewaySetup::new().await;
    asked_by_rule(&setup, "long", AudienceRule::Agent).await;
    let agent = setup.modern(1);
    setup.scripted.reply_task("long", "upstream-1", asks_then_ends());
    let id = task_id(&agent.call("long").await.result());
    agent.until_status(&id, "input_required").await;
    let update = |answer: Value| json!({"taskId": id, "inputResponses": {"name": answer}});
    for _ in 0..2 {
        let refused = agent.ask("tasks/update", update(unfit())).await.answer.expect_err("it does not fit");
        assert!(refused.message.contains("field `name` must be text"), "{}", refused.message);
    }
    assert!(setup.scripted.answers().is_empty(), "nothing went out");
    assert_eq!(times_unfit(&setup, &id).await, 1, "said once, however often the agent repeats it");
    agent.ask("tasks/update", update(accepted("Ada"))).await.result();
    agent.until_status(&id, "completed").await;
    let sent = ("name".to_owned(), AnswerAction::Accept, Some(r#"{"name":"Ada"}"#.to_owned()));
    assert_eq!(setup.scripted.answers(), [sent]);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_to_show_a_question_dismisses_it() {
    let setup = GatewaySetup::new().await;
    asked_by_rule(&setup, "long", AudienceRule::Agent).await;
    let session_client = SessionClient::new(&setup);
    setup.scripted.reply_task("long", "upstream-1", asks_then_ends());
    let id = session_client.task("long").await;
    let mut waiting = session_client.awaits(&id);
    let question = waiting.next().await;
    session_client.refuses(&question);
    ended(&waiting).await.expect("the task goes on");
    let answers = setup.scripted.answers();
    assert_eq!(answers.first().map(|(_, action, _)| *action), Some(AnswerAction::Dismiss), "{answers:?}");
}
