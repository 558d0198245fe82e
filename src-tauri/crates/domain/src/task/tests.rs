//! The transition rules, one test a rule, and their properties.
//!
//! Here are the people, servers and sightings that the tests in the files beside share. Nothing here reads a clock:
//! moments are milliseconds of the tests' own.

mod agent_delivery;
mod agent_view;
mod audience;
mod call_rounds;
mod cancel;
mod clock_steps;
mod ends;
mod escalation;
mod open_limit;
mod phases;
mod properties;
mod questions;
mod random_histories;
mod rules;
mod run_time;
mod token_limits;
mod unwatch;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::{
    AnswerInput, Audience, FoundTask, Home, LiveOutcome, NewCall, Origin, TaskHandle, TaskRunLimits, Transition,
    UsualDuration,
};
use crate::audit::{Actor, Verb};
use crate::ids::{AgentId, ConnectionId, HandleId, HostId, PersonId, RequestKey, ServerId, UpstreamTaskId};
use crate::policy::Policy;
use crate::ports::CallReply;
use crate::task::input_request::{AnswerAction, Ask, LiveQuestion, RequestState};
use crate::task::observation::{Observation, ObservationDoor};
use crate::task::payload::{Payload, PayloadKind, ResultRef};
use crate::task::status::{Outcome, RpcError, ServerView, TaskStatus, Ttl};
use crate::time::Timestamp;

const HOST: HostId = HostId::from_random(1);

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn policy() -> Policy {
    Policy::default()
}

fn ann() -> PersonId {
    PersonId::new("ann")
}

fn ben() -> PersonId {
    PersonId::new("ben")
}

fn key(text: &str) -> RequestKey {
    RequestKey::new(text)
}

fn home() -> Home {
    Home { generation: 0, session: None }
}

fn new_call() -> NewCall {
    NewCall {
        id: HandleId::from_random(7),
        server: ServerId::from_random(8),
        agent: None,
        by: Actor::Person(ann()),
        tool: Arc::from("index_folder"),
        arguments: Payload::new("{}"),
        arguments_digest: Arc::from("00"),
        usual: None,
        usual_late_min: Duration::from_millis(500),
        limit: None,
        host: HOST,
        home: home(),
        seat: None,
        audience: Audience::People,
        parent: None,
        trace: None,
        job: None,
        attempt: 1,
        hold: false,
        run_limits: TaskRunLimits::default(),
        agent_ttl: None,
    }
}

/// A call that left at 0 ms.
fn awaiting() -> TaskHandle {
    TaskHandle::admit(new_call(), at(0)).next
}

/// A call that left at 0 ms, with a limit.
fn limited(limit: Duration) -> TaskHandle {
    TaskHandle::admit(NewCall { limit: Some(limit), ..new_call() }, at(0)).next
}

fn task_reply(seen: Observation) -> CallReply {
    CallReply::Task { id: UpstreamTaskId::new("t-1"), seen }
}

/// The task of a call, created at 10 ms and working.
fn with_task(handle: &TaskHandle) -> TaskHandle {
    let seen = Observation { door: ObservationDoor::Create, ..sight(TaskStatus::Working, 10) };
    handle.replied(&task_reply(seen), &home(), at(10), &policy()).next
}

/// A task created at 10 ms and working.
fn working() -> TaskHandle {
    with_task(&awaiting())
}

/// A task that was found in a list at 10 ms.
fn found(status: TaskStatus) -> Transition {
    let task = FoundTask {
        id: HandleId::from_random(9),
        server: ServerId::from_random(8),
        origin: Origin::Discovered,
        by: Actor::System("discover"),
        home: home(),
        seat: None,
        task: UpstreamTaskId::new("t-9"),
    };
    TaskHandle::found(task, &Observation { door: ObservationDoor::List, ..sight(status, 10) }, &policy())
}

/// A look that began and ended at this moment, with nothing known of the server's clock.
fn sight(status: TaskStatus, millis: i64) -> Observation {
    Observation {
        door: ObservationDoor::Poll,
        begun: at(millis),
        seen: at(millis),
        status,
        message: None,
        created: None,
        updated: None,
        ttl: Ttl::Unsaid,
        hint: None,
        outstanding: None,
        asks_raw: BTreeMap::new(),
        task_raw: None,
        payload: None,
        raw: None,
    }
}

/// A look of the 2026 dialect that lists these questions.
fn listing(keys: &[&str], millis: i64) -> Observation {
    let outstanding = keys.iter().map(|text| (key(text), form())).collect();
    let status = if keys.is_empty() { TaskStatus::Working } else { TaskStatus::InputRequired };
    Observation { outstanding: Some(outstanding), ..sight(status, millis) }
}

fn completed(millis: i64) -> Observation {
    let payload = Payload::new("{\"content\":[]}");
    let outcome = Outcome::Ok(ResultRef { bytes: payload.bytes() });
    Observation { payload: Some(payload), ..sight(TaskStatus::Completed(outcome), millis) }
}

fn tool_error(millis: i64) -> Observation {
    let payload = Payload::new("{\"isError\":true}");
    let outcome = Outcome::ToolError(ResultRef { bytes: payload.bytes() });
    Observation { payload: Some(payload), ..sight(TaskStatus::Completed(outcome), millis) }
}

fn rpc_error() -> RpcError {
    RpcError { code: -32_603, message: "broken".into() }
}

fn form() -> Ask {
    let schema = json!({"type": "object", "properties": {"folder": {"type": "string"}}});
    Ask::Form { message: "Which folder?".into(), schema }
}

fn secret_form() -> Ask {
    let schema = json!({"type": "object", "properties": {"password": {"type": "string"}}});
    Ask::Form { message: "Your password?".into(), schema }
}

fn visit() -> Ask {
    Ask::Visit { message: "Sign in".into(), url: "https://example.org/".into(), elicitation: None }
}

fn accept(text: Option<&str>) -> AnswerInput {
    AnswerInput {
        key: text.map(key),
        action: AnswerAction::Accept,
        content: Some(Payload::new("{\"folder\":\"/tmp\"}")),
        by: ann().into(),
        not_before: None,
    }
}

fn decline(text: &str, by: PersonId) -> AnswerInput {
    AnswerInput { key: Some(key(text)), action: AnswerAction::Decline, content: None, by: by.into(), not_before: None }
}

fn live(connection: u128, token: &str, digest: &str) -> LiveQuestion {
    LiveQuestion {
        connection: ConnectionId::from_random(connection),
        token: token.into(),
        digest: digest.into(),
        ask: form(),
        raw: None,
        whole: None,
    }
}

fn needs_input(questions: BTreeMap<RequestKey, Ask>, state: Option<Payload>) -> CallReply {
    CallReply::NeedsInput { questions, state, raw: None, asks_raw: BTreeMap::new(), whole: Payload::new("{}") }
}

fn state<'a>(handle: &'a TaskHandle, text: &str) -> &'a RequestState {
    &handle.requests[&key(text)].state
}

fn verbs(step: &Transition) -> Vec<Verb> {
    step.audit.iter().map(|event| event.verb).collect()
}

fn asks(pairs: &[(&str, Ask)]) -> BTreeMap<RequestKey, Ask> {
    pairs.iter().map(|(text, ask)| (key(text), ask.clone())).collect()
}

fn status(handle: &TaskHandle) -> &TaskStatus {
    match &handle.view {
        ServerView::Task(task) => &task.status,
        other => panic!("there is no task: {other:?}"),
    }
}

/// The agent of the tests.
const AGENT: AgentId = AgentId::from_random(5);

/// A call of the agent that left at 0 ms.
fn agents_call(audience: Audience) -> TaskHandle {
    let by = Actor::Agent(AGENT);
    TaskHandle::admit(NewCall { agent: Some(AGENT), by, audience, ..new_call() }, at(0)).next
}

/// A working task whose handle the agent was given at 11 ms.
fn given(audience: Audience) -> TaskHandle {
    with_task(&agents_call(audience)).give(at(11)).next
}

/// An answer of the agent's own.
fn forwarded(text: &str) -> AnswerInput {
    AnswerInput {
        key: Some(key(text)),
        action: AnswerAction::Forwarded,
        content: Some(Payload::new("{\"action\":\"accept\"}")),
        by: AGENT.into(),
        not_before: None,
    }
}
