//! One task as columns and a JSON body.
//!
//! Columns hold what lists, sweeps and the unique index ask for; the body holds the rest and is sealed, because the
//! server's task id and session may act as bearer tokens (protocol.md §6.1). Questions have rows of their own.

pub(crate) mod control_token;
mod escalation;
pub(crate) mod plan;
pub(crate) mod run_limit;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use domain::ids::{AgentId, HandleId, JobKey, RequestKey, ServerId, SessionKey};
use domain::task::input_request::InputRequest;
use domain::task::observation::Progress;
use domain::task::status::{Contact, Due, DueWhy, Intent, ServerView};
use domain::task::{
    Audience, Escalation, Home, InputRequests, Origin, OverLimit, Parent, ResultHold, SharedQuestions, TaskHandle,
    TaskRunLimits, Told, UsualDuration,
};
use domain::time::Timestamp;
use domain::tokens::TaskTokens;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};

use super::contact::{ContactDef, IntentDef};
use super::form::{As, Maybe, Mirror as _, Newer, SetOf, column, mirrors, zero_if_null};
use super::primitive::{EncodedWord, IdText, Millis, Real, Span, Text};
use super::server_view::ServerViewDef;
use super::task_agent::{HoldDef, ParentDef, SharedQuestionsDef};
use super::tokens::{OverLimitDef, TaskTokensDef};
use super::{DecodeError, decode};
use escalation::EscalationDef;
use run_limit::TaskRunLimitsDef;

#[derive(Serialize, Deserialize)]
#[serde(remote = "Audience", tag = "is", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum AudienceDef {
    People,
    Agent,
    AgentThenPeople {
        #[serde(with = "As::<Millis>")]
        people_at: Timestamp,
    },
    Both,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Progress")]
struct ProgressDef {
    #[serde(default, with = "As::<Maybe<Real>>")]
    done: Option<f64>,
    #[serde(default, with = "As::<Maybe<Real>>")]
    total: Option<f64>,
    message: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "UsualDuration", rename_all = "camelCase")]
struct UsualDef {
    samples: u32,
    median_ms: u64,
    p90_ms: u64,
    p95_ms: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "DueWhy", rename_all = "camelCase")]
enum DueWhyDef {
    Agreed,
    Usual,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Due")]
struct DueDef {
    #[serde(with = "As::<Millis>")]
    at: Timestamp,
    #[serde(with = "DueWhyDef")]
    why: DueWhy,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Home")]
struct HomeDef {
    #[serde(deserialize_with = "read_generation")]
    generation: u32,
    #[serde(default, serialize_with = "As::<Maybe<Text<SessionKey>>>::serialize", deserialize_with = "read_session")]
    session: Option<SessionKey>,
}

/// The body of a task. Skipped fields are columns or rows of their own; what passes between a task and its agent is left
/// out where there is none, so that the row of a person's task is no longer for it.
#[derive(Serialize, Deserialize)]
#[serde(remote = "TaskHandle", rename_all = "camelCase")]
pub(crate) struct TaskDef {
    #[serde(skip, default = "column")]
    id: HandleId,
    #[serde(skip, default = "column")]
    server: ServerId,
    #[serde(skip)]
    agent: Option<AgentId>,
    #[serde(with = "As::<EncodedWord<Origin>>")]
    origin: Origin,
    #[serde(skip)]
    tool: Option<Arc<str>>,
    arguments_digest: Option<Arc<str>>,
    #[serde(flatten, with = "HomeDef")]
    home: Home,
    #[serde(with = "ServerViewDef")]
    view: ServerView,
    #[serde(with = "ContactDef")]
    contact: Contact,
    #[serde(with = "IntentDef")]
    intent: Intent,
    #[serde(with = "AudienceDef")]
    audience: Audience,
    #[serde(skip)]
    requests: InputRequests,
    #[serde(default, with = "As::<Maybe<ProgressDef>>")]
    progress: Option<Progress>,
    #[serde(default, with = "As::<Maybe<UsualDef>>")]
    usual: Option<UsualDuration>,
    #[serde(default, with = "As::<Maybe<DueDef>>")]
    due: Option<Due>,
    #[serde(default, with = "As::<Maybe<Millis>>")]
    paused_since: Option<Timestamp>,
    paused_ms: u64,
    #[serde(default, deserialize_with = "zero_if_null", skip_serializing_if = "is_unmoved")]
    stepped_ms: i64,
    #[serde(default, with = "As::<Maybe<Millis>>", skip_serializing_if = "Option::is_none")]
    frozen_since: Option<Timestamp>,
    contradicted: bool,
    #[serde(default, with = "As::<Maybe<Millis>>")]
    ended: Option<Timestamp>,
    #[serde(with = "As::<SetOf<EncodedWord<Told>>>")]
    told: BTreeSet<Told>,
    #[serde(default, with = "As::<Maybe<IdText<AgentId>>>", skip_serializing_if = "Option::is_none")]
    seat: Option<AgentId>,
    #[serde(default, with = "As::<Maybe<Millis>>", skip_serializing_if = "Option::is_none")]
    given: Option<Timestamp>,
    #[serde(default, with = "As::<Maybe<Millis>>", skip_serializing_if = "Option::is_none")]
    undelivered: Option<Timestamp>,
    #[serde(default, with = "As::<Maybe<Millis>>", skip_serializing_if = "Option::is_none")]
    orphaned: Option<Timestamp>,
    #[serde(default, with = "As::<Maybe<HoldDef>>", skip_serializing_if = "Option::is_none")]
    hold: Option<ResultHold>,
    #[serde(default, with = "As::<Maybe<TaskTokensDef>>", skip_serializing_if = "Option::is_none")]
    tokens: Option<TaskTokens>,
    #[serde(default, with = "As::<Maybe<OverLimitDef>>", skip_serializing_if = "Option::is_none")]
    over_limit: Option<OverLimit>,
    #[serde(
        default = "Newer::<TaskRunLimitsDef>::without",
        with = "Newer::<TaskRunLimitsDef>",
        skip_serializing_if = "TaskRunLimits::is_empty"
    )]
    run_limits: TaskRunLimits,
    #[serde(default, with = "As::<Maybe<Millis>>", skip_serializing_if = "Option::is_none")]
    cancelled_for_agent: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failed_for_agent: Option<Arc<str>>,
    #[serde(default, with = "As::<Maybe<Millis>>", skip_serializing_if = "Option::is_none")]
    end_shown: Option<Timestamp>,
    #[serde(default, with = "As::<Maybe<Millis>>", skip_serializing_if = "Option::is_none")]
    loss_cause: Option<Timestamp>,
    #[serde(default, with = "As::<Maybe<ParentDef>>", skip_serializing_if = "Option::is_none")]
    parent: Option<Parent>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace: Option<Arc<str>>,
    #[serde(default, with = "As::<Maybe<Text<JobKey>>>", skip_serializing_if = "Option::is_none")]
    job: Option<JobKey>,
    #[serde(default = "first", deserialize_with = "first_if_null", skip_serializing_if = "is_first")]
    attempt: u32,
    #[serde(
        default = "Newer::<SharedQuestionsDef>::without",
        with = "Newer::<SharedQuestionsDef>",
        skip_serializing_if = "is_unshared"
    )]
    shared: SharedQuestions,
    #[serde(default, deserialize_with = "zero_if_null", skip_serializing_if = "is_zero")]
    more_questions: u32,
    #[serde(default, with = "As::<Maybe<Span>>", skip_serializing_if = "Option::is_none")]
    agent_ttl: Option<Duration>,
    #[serde(
        default = "Newer::<EscalationDef>::without",
        with = "Newer::<EscalationDef>",
        skip_serializing_if = "Escalation::is_empty"
    )]
    escalation: Escalation,
    #[serde(skip)]
    version: u64,
    #[serde(skip, default = "column")]
    created: Timestamp,
    #[serde(skip, default = "column")]
    changed: Timestamp,
}

mirrors! {
    ProgressDef => Progress;
    UsualDef => UsualDuration;
    DueDef => Due;
    TaskDef => TaskHandle, upgrade upgrade;
}

/// Rows from before there were two figures: all that was passed is taken to be in the window.
fn upgrade(body: &mut Value) {
    let Some(Value::Object(tokens)) = body.get_mut("tokens") else { return };
    if tokens.get("deliveredInWindow").is_some_and(|figure| !figure.is_null()) {
        return;
    }
    let part = |name: &str| tokens.get(name).cloned().unwrap_or_default();
    let (result, delivered) = (part("result"), part("delivered"));
    let in_window = if result.is_null() { Value::Null } else { json!([result, part("exactness")]) };
    tokens.insert("inWindow".into(), in_window);
    tokens.insert("deliveredInWindow".into(), delivered);
}

// What is flattened into the body is read without its path, so that these name their field themselves.

fn read_generation<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    u32::deserialize(deserializer).map_err(|_| D::Error::custom("`generation` is not u32"))
}

fn read_session<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<SessionKey>, D::Error> {
    Maybe::<Text<SessionKey>>::read(deserializer).map_err(|_| D::Error::custom("`session` is not a string"))
}

fn first() -> u32 {
    1
}

fn first_if_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_else(first))
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_first(attempt: &u32) -> bool {
    *attempt <= 1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_unmoved(millis: &i64) -> bool {
    *millis == 0
}

fn is_unshared(shared: &SharedQuestions) -> bool {
    shared.stored.is_empty() && shared.elsewhere.is_empty()
}

/// The columns of a task that are not in its body, as read.
#[derive(Debug)]
pub(crate) struct TaskColumns<'a> {
    pub(crate) id: &'a str,
    pub(crate) server: &'a str,
    pub(crate) agent: Option<&'a str>,
    pub(crate) tool: Option<&'a str>,
    pub(crate) version: u64,
    pub(crate) created: Timestamp,
    pub(crate) changed: Timestamp,
    /// `seen` of its contact row: flushed apart from commits (ruling 6).
    pub(crate) seen: Option<Timestamp>,
}

/// Reads a task from its columns, its body and its questions.
pub(crate) fn read(
    columns: &TaskColumns<'_>,
    body: Value,
    requests: BTreeMap<RequestKey, InputRequest>,
) -> Result<TaskHandle, DecodeError> {
    let id = |name: &str| DecodeError::new(name, "does not read as an id");
    let mut task = decode::<TaskDef>(body)?;
    task.id = columns.id.parse().map_err(|_| id("id"))?;
    task.server = columns.server.parse().map_err(|_| id("server"))?;
    task.agent = columns.agent.map(str::parse).transpose().map_err(|_| id("agent"))?;
    task.tool = columns.tool.map(Into::into);
    task.requests = requests.into();
    (task.version, task.created, task.changed) = (columns.version, columns.created, columns.changed);
    if let (Contact::Fresh { seen }, Some(noted)) = (&mut task.contact, columns.seen) {
        *seen = (*seen).max(noted);
    }
    Ok(task)
}
