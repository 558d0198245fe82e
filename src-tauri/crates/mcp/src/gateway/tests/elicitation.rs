//! Who is asked what: people, the agent, one after the other, both; on which stream, and in which dialect
//! (statements 62, 63, 66-68; protocol.md §7.5, §9.15).

mod unfit_answers;

use std::collections::BTreeMap;
use std::time::Duration;

use domain::ids::{AgentId, HandleId, RequestKey};
use domain::ports::{CallReply, UpstreamEvent, UpstreamSubject};
use domain::rule::AudienceRule;
use domain::task::decider::Decider;
use domain::task::input_request::{AnswerAction, Ask, RequestState};
use domain::task::observation::Progress;
use domain::task::payload::Payload;
use domain::task::{AnswerInput, TaskHandle};
use futures::future::join_all;
use serde_json::{Value, json};
use testkit::build::person;
use testkit::scripted::{EngineAction, PollReply, form};

use crate::gateway::tests::legacy_setup::{
    SessionClient, WITH_TASKS, asks_live, asks_this, ended, its_task, legacy_gateway, shows_all, until_task,
};
use crate::gateway::tests::setup::{AgentClient, GatewaySetup, task_id};
use crate::server::session::SessionTransport;

const SECOND: Duration = Duration::from_secs(1);
const DONE: &str = r#"{"content":[{"type":"text","text":"done"}]}"#;

async fn asked_by_rule(setup: &GatewaySetup, tool: &str, asked: AudienceRule) {
    setup.rule(tool, |rule| rule.asked = Some(asked)).await;
}

fn works_waits_ends() -> Vec<PollReply> {
    vec![PollReply::working(), PollReply::Waits, PollReply::Completed(DONE.into())]
}

fn asks_then_ends() -> Vec<PollReply> {
    vec![PollReply::asks(&["name"]), PollReply::Completed(DONE.into())]
}

/// A person answers the only question.
async fn person_answers(setup: &GatewaySetup, id: &str) {
    let answer = AnswerInput {
        key: None,
        action: AnswerAction::Accept,
        content: Some(Payload::new(r#"{"name":"ada"}"#)),
        by: person("ada").into(),
        not_before: None,
    };
    setup.engine.answer(id.parse().expect("ours"), answer).await.expect("the person is asked");
}

/// Who answered the only question.
fn answered_by(handle: &TaskHandle) -> Decider {
    let request = handle.requests.values().next().expect("it was asked");
    match &request.state {
        RequestState::Answered(answered) | RequestState::Confirmed(answered) => answered.by.clone(),
        RequestState::Open | RequestState::Withdrawn { .. } => panic!("it is answered: {:?}", request.state),
    }
}

fn is_open(handle: &TaskHandle) -> bool {
    handle.requests.values().any(|request| request.state.is_open())
}

fn accepted(name: &str) -> Value {
    json!({"action": "accept", "content": {"name": name}})
}

#[tokio::test(start_paused = true)]
async fn a_2025_agent_is_asked_on_its_result_stream_and_its_answer_reaches_the_modern_server() {
    let setup = GatewaySetup::new().await;
    asked_by_rule(&setup, "long", AudienceRule::Agent).await;
    let session_client = SessionClient::new(&setup);
    setup.scripted.reply_task("long", "upstream-1", asks_then_ends());
    let id = session_client.task("long").await;
    let mut waiting = session_client.awaits(&id);
    let question = waiting.next().await;
    assert_eq!(question["method"], "elicitation/create", "a request of ours: {question}");
    assert_eq!(question["params"]["message"], "Go on?", "{question}");
    let related = &question["params"]["_meta"]["io.modelcontextprotocol/related-task"];
    assert_eq!(related["taskId"], id.as_str(), "tied to its task by our id (§1.5)");
    let reads = session_client.caller.get(&id).await.result();
    assert_eq!(reads["status"], "input_required", "and it reads so: {reads}");
    let tied = json!({"io.modelcontextprotocol/related-task": {"taskId": id}});
    session_client.replies(&question, &json!({"action": "accept", "content": {"name": "me"}, "_meta": tied}));
    let result = ended(&waiting).await.expect("the result");
    assert_eq!(result["content"][0]["text"], "done", "after the answer the task ended: {result}");
    let answers = setup.scripted.answers();
    let expected = ("name".to_owned(), AnswerAction::Accept, Some(r#"{"name":"me"}"#.to_owned()));
    assert_eq!(answers, [expected], "once, under the server's key (72)");
    let handle = until_task(&setup, &id, "answered", |handle| !is_open(handle)).await;
    assert_eq!(answered_by(&handle), Decider::Agent(AgentId::from_random(1)), "the record says who answered");
}

#[tokio::test(start_paused = true)]
async fn a_2025_question_reaches_a_2025_agent_raw_and_only_its_identities_change() {
    let setup = legacy_gateway().await;
    asked_by_rule(&setup, "long", AudienceRule::Agent).await;
    let session_client = SessionClient::new(&setup);
    setup.scripted.reply_task("long", "upstream-1", works_waits_ends());
    let id = session_client.task("long").await;
    let mut waiting = session_client.awaits(&id);
    until_task(&setup, &id, "recorded", |handle| handle.view.task().is_some()).await;
    asks_live(&setup, "7", its_task());
    let question = waiting.next().await;
    let params = &question["params"];
    assert_eq!(params["x-vendor"], 1, "unknown members stay (60): {params}");
    assert_eq!(params["_meta"]["kept"], true, "in `_meta`, too: {params}");
    assert!(params["_meta"].get("progressToken").is_none(), "the server's token means nothing here (62): {params}");
    assert_eq!(params["_meta"]["io.modelcontextprotocol/related-task"]["taskId"], id.as_str(), "our id: {params}");
    session_client.replies(&question, &accepted("me"));
    ended(&waiting).await.expect("the result");
    assert_eq!(setup.scripted.answers().len(), 1, "the server got one response");
}

#[tokio::test(start_paused = true)]
async fn without_a_result_stream_the_question_comes_on_the_standing_stream_after_a_while() {
    let setup = GatewaySetup::new().await;
    asked_by_rule(&setup, "long", AudienceRule::Agent).await;
    let mut session_client = SessionClient::new(&setup);
    setup.scripted.reply_task("long", "upstream-1", asks_then_ends());
    let id = session_client.task("long").await;
    until_task(&setup, &id, "asked", is_open).await;
    let begun = tokio::time::Instant::now();
    let question = session_client.hears("elicitation/create").await;
    assert!(begun.elapsed() >= SECOND, "a result stream has its time to come (§9.15): {:?}", begun.elapsed());
    session_client.replies(&question, &accepted("me"));
    until_task(&setup, &id, "answered", |handle| !is_open(handle)).await;
    session_client.hears("notifications/tasks/status").await;
}

#[tokio::test(start_paused = true)]
async fn one_question_is_never_on_two_streams() {
    let setup = GatewaySetup::new().await;
    asked_by_rule(&setup, "long", AudienceRule::Agent).await;
    let mut session_client = SessionClient::new(&setup);
    setup.scripted.reply_task("long", "upstream-1", asks_then_ends());
    let id = session_client.task("long").await;
    let mut first = session_client.awaits(&id);
    let mut second = session_client.awaits(&id);
    let question = first.next().await;
    tokio::time::sleep(60 * SECOND).await;
    let methods: Vec<Value> = session_client.outcome().iter().map(|said| said["method"].clone()).collect();
    assert!(!methods.contains(&json!("elicitation/create")), "not on the standing stream: {methods:?}");
    session_client.replies(&question, &accepted("me"));
    for waiting in [&first, &second] {
        ended(waiting).await.expect("both hear the end");
    }
    assert!(second.is_over().await, "the second stream was never asked");
}

#[tokio::test(start_paused = true)]
async fn people_are_asked_by_default_and_no_stream_of_the_agent_is() {
    let setup = GatewaySetup::new().await;
    let mut session_client = SessionClient::new(&setup);
    setup.scripted.reply_task("long", "upstream-1", asks_then_ends());
    let id = session_client.task("long").await;
    let waiting = session_client.awaits(&id);
    until_task(&setup, &id, "asked", is_open).await;
    tokio::time::sleep(30 * SECOND).await;
    let reads = session_client.caller.get(&id).await.result();
    assert_eq!(reads["status"], "working", "the agent is not asked, so it need not know (68): {reads}");
    assert_eq!(reads["statusMessage"], "Waiting for a person to answer.", "an honest word: {reads}");
    person_answers(&setup, &id).await;
    ended(&waiting).await.expect("the task ends after the person's answer");
    let said = session_client.outcome();
    let shown = |message: &Value| {
        message.to_string().contains("elicitation") || message["params"]["status"] == "input_required"
    };
    assert!(!said.iter().any(shown), "nothing was shown of it: {said:?}");
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_shows_no_questions_is_not_asked_even_where_a_rule_says_so() {
    let setup = GatewaySetup::new().await;
    asked_by_rule(&setup, "long", AudienceRule::Agent).await;
    let session_client = SessionClient::with(&setup, SessionTransport::Http, WITH_TASKS, &json!({}));
    setup.scripted.reply_task("long", "upstream-1", asks_then_ends());
    let id = session_client.task("long").await;
    until_task(&setup, &id, "asked", is_open).await;
    assert_eq!(session_client.caller.get(&id).await.result()["status"], "working", "people are asked instead");
    person_answers(&setup, &id).await;
    ended(&session_client.awaits(&id)).await.expect("and the task ends");
}

#[tokio::test(start_paused = true)]
async fn a_person_who_was_faster_takes_the_question_from_the_agents_screen() {
    let setup = GatewaySetup::new().await;
    asked_by_rule(&setup, "long", AudienceRule::Both).await;
    let session_client = SessionClient::new(&setup);
    setup.scripted.reply_task("long", "upstream-1", asks_then_ends());
    let id = session_client.task("long").await;
    let mut waiting = session_client.awaits(&id);
    let question = waiting.next().await;
    person_answers(&setup, &id).await;
    let withdrawn = waiting.next().await;
    assert_eq!(withdrawn["method"], "notifications/cancelled", "it is taken back: {withdrawn}");
    assert_eq!(withdrawn["params"]["requestId"], question["id"], "that very request (62)");
    session_client.replies(&question, &accepted("late"));
    ended(&waiting).await.expect("the result");
    let handle = until_task(&setup, &id, "answered", |handle| !is_open(handle)).await;
    assert_eq!(answered_by(&handle), Decider::Person(person("ada")), "the first recorded answer won");
    assert_eq!(setup.scripted.answers().len(), 1, "one answer went out (67)");
}

#[tokio::test(start_paused = true)]
async fn of_two_modern_answers_the_second_is_acked_and_told_in_the_log() {
    let setup = GatewaySetup::new().await;
    asked_by_rule(&setup, "long", AudienceRule::Both).await;
    let agent = setup.modern(1);
    setup.scripted.reply_task("long", "upstream-1", asks_then_ends());
    let id = task_id(&agent.call("long").await.result());
    agent.until_status(&id, "input_required").await;
    person_answers(&setup, &id).await;
    let update = json!({"taskId": id, "inputResponses": {"name": accepted("late")}});
    let acked = agent.ask("tasks/update", update).await.result();
    assert_eq!(acked["resultType"], "complete", "the loser gets the empty ack (§7.5): {acked}");
    let handle: HandleId = id.parse().expect("ours");
    let log = setup.registry.status_log(handle, 100).await.expect("readable");
    let told = log.iter().any(|line| line.text.contains("too late") || line.text.contains("was first"));
    assert!(told, "who was second is in the log: {log:?}");
}

#[tokio::test(start_paused = true)]
async fn a_hundred_answers_at_once_are_one_update_and_a_hundred_acks() {
    let setup = GatewaySetup::new().await;
    asked_by_rule(&setup, "long", AudienceRule::Agent).await;
    let agent = setup.modern(1);
    setup.scripted.reply_task("long", "upstream-1", asks_then_ends());
    let id = task_id(&agent.call("long").await.result());
    let read = agent.until_status(&id, "input_required").await;
    let keys: Vec<&String> = read["inputRequests"].as_object().expect("questions").keys().collect();
    assert_eq!(keys, ["name"], "under the server's own key: {read}");
    let update = |n: usize| json!({"taskId": id, "inputResponses": {"name": accepted(&format!("number {n}"))}});
    let acks = join_all((0..100).map(|n| agent.ask("tasks/update", update(n)))).await;
    assert!(acks.iter().all(|ack| ack.result()["resultType"] == "complete"), "all are acked (67)");
    agent.until_status(&id, "completed").await;
    assert_eq!(setup.scripted.answers().len(), 1, "exactly one went upstream (67)");
}

#[tokio::test(start_paused = true)]
async fn all_outstanding_questions_are_shown_and_unknown_keys_pass_by() {
    let setup = GatewaySetup::new().await;
    asked_by_rule(&setup, "long", AudienceRule::Agent).await;
    let agent = setup.modern(1);
    let asks: BTreeMap<RequestKey, Ask> = ["a", "b", "c"].map(|key| (RequestKey::new(key), form())).into();
    setup.scripted.reply_task("long", "upstream-1", vec![PollReply::Asks(asks), PollReply::Completed(DONE.into())]);
    let id = task_id(&agent.call("long").await.result());
    let read = agent.until_status(&id, "input_required").await;
    let keys: Vec<&String> = read["inputRequests"].as_object().expect("questions").keys().collect();
    assert_eq!(keys, ["a", "b", "c"], "all of them (66): {read}");
    let some = json!({"taskId": id, "inputResponses": {"a": accepted("1"), "z": accepted("2")}});
    agent.ask("tasks/update", some).await.result();
    let read = agent.get(&id).await.result();
    let keys: Vec<&String> = read["inputRequests"].as_object().expect("questions").keys().collect();
    assert_eq!(keys, ["b", "c"], "what is answered is not asked again: {read}");
    let bad = json!({"taskId": id, "inputResponses": {"b": {"action": "perhaps"}, "c": accepted("3")}});
    assert_eq!(agent.ask("tasks/update", bad).await.error()["code"], -32602, "what cannot be read is refused");
    let read = agent.get(&id).await.result();
    assert!(read["inputRequests"].get("c").is_some(), "and nothing of it was recorded: {read}");
}

#[tokio::test(start_paused = true)]
async fn a_modern_agent_answers_a_live_question_of_a_2025_server() {
    let setup = legacy_gateway().await;
    asked_by_rule(&setup, "long", AudienceRule::Agent).await;
    let agent = setup.modern(1);
    setup.scripted.reply_task("long", "upstream-1", works_waits_ends());
    let id = task_id(&agent.call("long").await.result());
    asks_live(&setup, "7", its_task());
    let read = agent.until_status(&id, "input_required").await;
    let asked = read["inputRequests"].as_object().expect("questions");
    let (key, question) = asked.iter().next().expect("one question");
    assert_eq!(question["method"], "elicitation/create", "{question}");
    assert_eq!(question["params"]["x-vendor"], 1, "raw: {question}");
    assert!(!question.to_string().contains("related-task"), "ties are of the other dialect: {question}");
    let update = json!({"taskId": id, "inputResponses": {key: accepted("me")}});
    agent.ask("tasks/update", update).await.result();
    agent.until_status(&id, "completed").await;
    let answers = setup.scripted.answers();
    assert_eq!(answers.len(), 1, "one response on the legacy stream: {answers:?}");
    assert_eq!(answers[0].0, "7", "to that request");
}

/// A modern agent without tasks whose held call asks.
async fn held_question(setup: &GatewaySetup, agent: &AgentClient) -> Value {
    let asking = agent.listen("tools/call", json!({"name": "plain", "arguments": {"n": 1}}));
    let is_call = |act: &EngineAction| matches!(act, EngineAction::Call { .. });
    setup.until("the call left", |setup| !setup.scripted.times(is_call).is_empty()).await;
    tokio::time::sleep(SECOND).await;
    let ticket = setup.rows(1).await.first().expect("it lasts, so it has a row").id;
    asks_live(setup, "7", UpstreamSubject::Call(ticket));
    let asked = ended(&asking).await.expect("it asks");
    assert_eq!(asked["resultType"], "input_required", "before a task, in reply to the call: {asked}");
    asked
}

#[tokio::test(start_paused = true)]
async fn a_plain_calls_question_is_asked_by_its_reply_and_the_tool_runs_once() {
    let setup = legacy_gateway().await;
    asked_by_rule(&setup, "plain", AudienceRule::Agent).await;
    let agent = setup.client(1, json!({"elicitation": {}}));
    setup.replies("plain", 20 * SECOND, DONE);
    let asked = held_question(&setup, &agent).await;
    let key = asked["inputRequests"].as_object().and_then(|asked| asked.keys().next()).expect("one question").clone();
    let retry = json!({
        "name": "plain", "arguments": {"n": 1}, "requestState": asked["requestState"],
        "inputResponses": {key: accepted("me")},
    });
    let other = json!({"name": "plain", "arguments": {"n": 2}, "requestState": asked["requestState"]});
    assert_eq!(agent.ask("tools/call", other).await.error()["code"], -32602, "a state is of one call alone");
    let stranger = setup.client(2, json!({"elicitation": {}}));
    assert_eq!(stranger.ask("tools/call", retry.clone()).await.error()["code"], -32602, "and of one agent");
    let result = agent.ask("tools/call", retry).await.result();
    assert_eq!(result["content"][0]["text"], "done", "the call's own result: {result}");
    assert_eq!(setup.scripted.times(|act| matches!(act, EngineAction::Call { .. })).len(), 1, "the tool ran once");
    assert_eq!(setup.scripted.answers().len(), 1, "its question was answered once");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_never_comes_leaves_the_call_to_people_after_the_agents_time() {
    let setup = legacy_gateway().await;
    asked_by_rule(&setup, "plain", AudienceRule::AgentThenPeople { after: 60 * SECOND }).await;
    let agent = setup.client(1, json!({"elicitation": {}}));
    setup.replies("plain", 300 * SECOND, DONE);
    held_question(&setup, &agent).await;
    let id = setup.rows(1).await.remove(0).id.to_string();
    until_task(&setup, &id, "people are asked", |handle| handle.has_request_for_people(setup.now())).await;
    person_answers(&setup, &id).await;
    until_task(&setup, &id, "answered", |handle| !is_open(handle)).await;
}

#[tokio::test(start_paused = true)]
async fn when_the_agents_time_is_over_its_request_is_withdrawn_and_people_are_asked() {
    let setup = GatewaySetup::new().await;
    asked_by_rule(&setup, "long", AudienceRule::AgentThenPeople { after: 60 * SECOND }).await;
    let session_client = SessionClient::new(&setup);
    setup.scripted.reply_task("long", "upstream-1", asks_then_ends());
    let id = session_client.task("long").await;
    let mut waiting = session_client.awaits(&id);
    let question = waiting.next().await;
    let before = until_task(&setup, &id, "asked", is_open).await;
    assert!(!before.has_request_for_people(setup.now()), "people are not asked yet");
    let withdrawn = waiting.next().await;
    assert_eq!(withdrawn["params"]["requestId"], question["id"], "the agent's time is over: {withdrawn}");
    assert_eq!(session_client.caller.get(&id).await.result()["status"], "working", "from now on people are asked");
    person_answers(&setup, &id).await;
    ended(&waiting).await.expect("the result");
}

#[tokio::test(start_paused = true)]
async fn what_a_modern_server_asks_first_is_relayed_with_its_state_byte_for_byte() {
    let setup = GatewaySetup::new().await;
    asked_by_rule(&setup, "asks", AudienceRule::Agent).await;
    let agent = setup.client(1, json!({"elicitation": {}}));
    let state = "\"\\u0041 \\/ opaque\"";
    let question = r#"{"method":"elicitation/create","params":{"message":"Go?","requestedSchema":{"type":"object","properties":{}},"z":1.50}}"#;
    let whole =
        format!(r#"{{"resultType":"input_required","inputRequests":{{"go":{question}}},"requestState":{state}}}"#);
    let first = CallReply::NeedsInput {
        questions: [(RequestKey::new("go"), form())].into(),
        asks_raw: [(RequestKey::new("go"), Payload::new(question))].into(),
        state: Some(Payload::new(state)),
        raw: None,
        whole: Payload::new(whole.as_str()),
    };
    setup.scripted.reply("asks", Duration::ZERO, Ok(first));
    let asked = agent.call("asks").await;
    assert_eq!(asked.raw(), whole, "the server's own words, byte for byte (63)");
    assert!(setup.rows(1).await.is_empty(), "nothing is kept of it: the agent's retry goes to the server");
    setup.replies("asks", Duration::ZERO, DONE);
    let retry = format!(
        r#"{{"name":"asks","arguments":{{}},"inputResponses":{{"go":{{"action":"accept"}}}},"requestState":{state}}}"#
    );
    let done = agent.ask_raw("tools/call", &retry).await.result();
    assert_eq!(done["content"][0]["text"], "done", "{done}");
    let rounds = setup.scripted.times(|act| matches!(act, EngineAction::Call { answers: Some(1), .. })).len();
    assert_eq!(rounds, 1, "one retry, with its answer");
}

#[tokio::test(start_paused = true)]
async fn a_modern_servers_first_question_is_a_request_to_a_2025_agent_and_the_tool_runs_once() {
    let setup = GatewaySetup::new().await;
    asked_by_rule(&setup, "asks", AudienceRule::Agent).await;
    let session_client = SessionClient::new(&setup);
    let question = r#"{"method":"elicitation/create","params":{"message":"Go?","requestedSchema":{"type":"object","properties":{}}}}"#;
    let first = CallReply::NeedsInput {
        questions: [(RequestKey::new("go"), form())].into(),
        asks_raw: [(RequestKey::new("go"), Payload::new(question))].into(),
        state: Some(Payload::new("\"opaque\"")),
        raw: None,
        whole: Payload::new(r#"{"resultType":"input_required"}"#),
    };
    setup.scripted.reply("asks", Duration::ZERO, Ok(first));
    setup.replies("asks", Duration::ZERO, DONE);
    let mut calling = session_client.caller.listen("tools/call", json!({"name": "asks", "arguments": {}}));
    let question = calling.next().await;
    assert_eq!(question["params"]["message"], "Go?", "on the stream of its call: {question}");
    assert!(question["params"].get("_meta").is_none(), "it knows no task: {question}");
    session_client.replies(&question, &json!({"action": "accept", "content": {}}));
    let result = ended(&calling).await.expect("the call's result");
    assert_eq!(result["content"][0]["text"], "done", "{result}");
    let rounds = setup.scripted.times(|act| matches!(act, EngineAction::Call { answers: Some(1), .. })).len();
    assert_eq!(rounds, 1, "the second round carried the answer");
}

#[tokio::test(start_paused = true)]
async fn sampling_is_passed_to_the_agent_that_declared_it_and_never_shown_to_people() {
    let setup = legacy_gateway().await;
    let session_client = SessionClient::new(&setup);
    setup.scripted.reply_task("long", "upstream-1", works_waits_ends());
    let id = session_client.task("long").await;
    let mut waiting = session_client.awaits(&id);
    until_task(&setup, &id, "recorded", |handle| handle.view.task().is_some()).await;
    let whole = json!({"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 10, "x": 1}});
    asks_this(&setup, "9", its_task(), Ask::Sampling, &whole);
    let question = waiting.next().await;
    assert_eq!(question["method"], "sampling/createMessage", "{question}");
    assert_eq!((&question["params"]["maxTokens"], &question["params"]["x"]), (&json!(10), &json!(1)), "raw");
    let handle = until_task(&setup, &id, "asked", is_open).await;
    assert!(!handle.has_request_for_people(setup.now()), "people do not answer for models");
    let message = json!({"role": "assistant", "content": {"type": "text", "text": "hm"}, "model": "m", "vendor": 1});
    session_client.replies(&question, &message);
    ended(&waiting).await.expect("the result");
    let answers = setup.scripted.answers();
    let (_, action, content) = answers.first().expect("an answer went out");
    assert_eq!(*action, AnswerAction::Forwarded, "as it is");
    let content: Value = serde_json::from_str(content.as_deref().expect("content")).expect("JSON");
    assert_eq!(content, message, "the whole response");
}

#[tokio::test(start_paused = true)]
async fn links_are_named_for_2025_and_older_versions_are_not_asked_by_link() {
    let setup = GatewaySetup::new().await;
    asked_by_rule(&setup, "long", AudienceRule::Agent).await;
    let session_client = SessionClient::new(&setup);
    let visit = || {
        let ask = Ask::Visit { message: "Sign in".into(), url: "https://example.org/x".into(), elicitation: None };
        vec![PollReply::Asks([(RequestKey::new("sign"), ask)].into()), PollReply::Completed(DONE.into())]
    };
    setup.scripted.reply_task("long", "upstream-1", visit());
    let id = session_client.task("long").await;
    let mut waiting = session_client.awaits(&id);
    let question = waiting.next().await;
    assert_eq!(question["params"]["url"], "https://example.org/x", "{question}");
    assert!(question["params"]["elicitationId"].is_string(), "that version needs a name (§1.11): {question}");
    session_client.replies(&question, &json!({"action": "accept"}));
    ended(&waiting).await.expect("the result");
    let old = SessionClient::with(&setup, SessionTransport::Http, "2025-06-18", &shows_all());
    setup.scripted.reply_task("long", "upstream-2", visit());
    let mut held = old.caller.listen("tools/call", json!({"name": "long", "arguments": {"n": 2}}));
    let asked = tokio::time::timeout(20 * SECOND, held.next()).await;
    let methods = asked.map(|said| said["method"].clone()).unwrap_or_default();
    assert_ne!(methods, "elicitation/create", "it has no word for links");
}

#[tokio::test(start_paused = true)]
async fn progress_does_not_take_a_question_from_the_screen() {
    let setup = legacy_gateway().await;
    asked_by_rule(&setup, "plain", AudienceRule::Agent).await;
    let session_client = SessionClient::new(&setup);
    setup.replies("plain", 20 * SECOND, DONE);
    let params = json!({"name": "plain", "arguments": {}, "_meta": {"progressToken": 5}});
    let mut calling = session_client.caller.listen("tools/call", params);
    tokio::time::sleep(SECOND).await;
    let ticket = setup.rows(1).await.first().expect("it lasts, so it has a row").id;
    asks_live(&setup, "7", UpstreamSubject::Call(ticket));
    let question = calling.next().await;
    assert_eq!(question["method"], "elicitation/create", "on the stream of its call: {question}");
    for done in 1..4 {
        let progress = Progress { done: Some(f64::from(done)), total: None, message: None };
        setup.scripted.say(UpstreamEvent::Progress(UpstreamSubject::Call(ticket), progress));
        tokio::time::sleep(SECOND).await;
    }
    session_client.replies(&question, &accepted("me"));
    let mut said = Vec::new();
    while let Ok(message) = tokio::time::timeout(60 * SECOND, calling.read()).await {
        let Some(message) = message else { break };
        said.push(message["method"].clone());
    }
    let taken = said.iter().filter(|method| **method != json!("notifications/progress")).count();
    assert_eq!(taken, 0, "neither withdrawn nor asked again: {said:?}");
    assert_eq!(setup.scripted.answers().len(), 1, "one answer");
}
