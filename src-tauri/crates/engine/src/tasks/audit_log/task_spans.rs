//! Tasks that ended as OpenTelemetry spans, in the JSON encoding of OTLP.
//!
//! A span is made from what the registry holds when the row that ended the task is passed: names, ids, times, the outcome,
//! and each earlier row of the task as an event. It has no arguments, answers or results and no words of servers. Ids of
//! traces and spans follow from the task, so that what is sent twice has the same ones. What a collector gets is described
//! in `docs/audit.md`; when it gets it is `sinks.rs`.

mod history;
mod outcome;

use std::collections::BTreeMap;

use domain::audit::Verb;
use domain::digest::sha256_hex;
use domain::ids::{AgentId, HandleId, ServerId};
use domain::ports::{AuditRow, LogEpoch, RegistryError};
use domain::task::status::Phase;
use domain::task::{Origin, ParentWhy, TaskHandle};
use serde_json::{Map, Value, json};

use self::history::{EndRow, TaskHistory, is_end};
use self::outcome::{SpanOutcome, awaits_result};
use super::otlp_json::{id_of, nanos, resource, scope, text, whole};
use crate::core::EngineCore;

/// Who makes the spans.
const SCOPE: &str = "taskwarden.tasks";
/// A call of a tool, in the words of MCP.
const CALL: &str = "tools/call";
/// Hexadecimal digits of the id of a trace. OTLP: 16 bytes.
const TRACE_DIGITS: usize = 32;
/// Hexadecimal digits of the id of a span. OTLP: 8 bytes.
const SPAN_DIGITS: usize = 16;
/// `SpanKind` of work inside a program.
const INTERNAL: u8 = 1;
/// `SpanKind` of a request to somebody else.
const CLIENT: u8 = 3;

/// What a row of the audit log is for spans.
pub(super) enum RowSpan {
    /// It ends no task, or the span comes with a later row.
    None,
    /// It ended a task, whose span this is.
    Ended(String),
    /// It ended a task whose result is still being fetched, and with it the outcome.
    NotYet,
}

/// Makes spans of one request, and remembers names meanwhile.
pub(super) struct SpanReader<'a> {
    core: &'a EngineCore,
    /// The name of the log.
    origin: &'a str,
    servers: BTreeMap<ServerId, Option<String>>,
    agents: Option<BTreeMap<AgentId, String>>,
}

/// How a span hangs together with others.
#[derive(Debug, Default, PartialEq)]
struct SpanLineage {
    /// The id of the span above it, in the same trace.
    parent: Option<String>,
    links: Vec<Value>,
}

/// What a span is made of.
struct SpanFacts<'a> {
    origin: &'a str,
    id: HandleId,
    end: EndRow,
    history: TaskHistory,
    /// `None` when retention removed its record.
    task: Option<(TaskHandle, Phase)>,
    server: Option<String>,
    agent: Option<String>,
    lineage: SpanLineage,
    tool_bytes: usize,
}

impl<'a> SpanReader<'a> {
    pub(super) const fn new(core: &'a EngineCore, origin: &'a str) -> Self {
        Self { core, origin, servers: BTreeMap::new(), agents: None }
    }

    /// The span of the task that this row ended.
    pub(super) async fn span_ended_by(&mut self, row: &AuditRow) -> Result<RowSpan, RegistryError> {
        let core = self.core;
        let id = id_of(&row.subject, "handle").and_then(|id| id.parse::<HandleId>().ok());
        let Some(id) = id.filter(|_| is_end(Verb::from_word(&row.verb))) else { return Ok(RowSpan::None) };
        let policy = &core.policy.audit;
        let history = TaskHistory::read(core.registry.as_ref(), id, row.number, policy.span_events).await?;
        // The task went on, or another row ended it: then the span comes with that one.
        let Some(end) = history.ended.filter(|end| end.number == row.number) else { return Ok(RowSpan::None) };
        let task = core.registry.handle(id).await?;
        let now = core.time.now();
        if let Some(task) = &task {
            if !task.phase(now).is_over() {
                return Ok(RowSpan::None);
            }
            if awaits_result(task) {
                return Ok(RowSpan::NotYet);
            }
        }
        let (mut lineage, mut server, mut agent) = (SpanLineage::default(), None, None);
        if let Some(task) = &task {
            lineage = self.lineage(task).await?;
            server = self.server(task.server).await?;
            agent = self.agent(task.agent).await?;
        }
        let task = task.map(|task| {
            let phase = task.phase(now);
            (task, phase)
        });
        let tool_bytes = policy.receipt_tool_bytes;
        let facts = SpanFacts { origin: self.origin, id, end, history, task, server, agent, lineage, tool_bytes };
        Ok(RowSpan::Ended(span(facts).to_string()))
    }

    async fn server(&mut self, id: ServerId) -> Result<Option<String>, RegistryError> {
        if let Some(name) = self.servers.get(&id) {
            return Ok(name.clone());
        }
        let name = self.core.registry.server(id).await?.map(|server| server.name);
        self.servers.insert(id, name.clone());
        Ok(name)
    }

    async fn agent(&mut self, id: Option<AgentId>) -> Result<Option<String>, RegistryError> {
        let Some(id) = id else { return Ok(None) };
        let names = match self.agents.take() {
            Some(names) => names,
            None => {
                let agents = self.core.registry.agents().await?;
                agents.into_iter().map(|agent| (agent.id, agent.name)).collect()
            }
        };
        Ok(self.agents.insert(names).get(&id).cloned())
    }

    /// A task is the child of the one whose trace its call carried. What is only guessed, and attempts in other traces, are
    /// links: a job can come again for months, and is no trace then.
    async fn lineage(&self, task: &TaskHandle) -> Result<SpanLineage, RegistryError> {
        let mut lineage = SpanLineage::default();
        if let Some(parent) = task.parent {
            match parent.why {
                ParentWhy::Trace => lineage.parent = Some(span_id(self.origin, parent.id)),
                ParentWhy::OpenTask => self.link(&mut lineage, parent.id, "open_task").await?,
            }
        }
        if let Some(before) = self.attempt_before(task).await? {
            let is_in_trace = task.trace.is_some() && before.trace == task.trace;
            if is_in_trace && lineage.parent.is_none() {
                lineage.parent = Some(span_id(self.origin, before.id));
            } else if lineage.parent.as_deref() != Some(&span_id(self.origin, before.id)) {
                lineage.links.push(link(self.origin, &before, "attempt_before"));
            }
        }
        Ok(lineage)
    }

    async fn link(&self, lineage: &mut SpanLineage, to: HandleId, why: &str) -> Result<(), RegistryError> {
        let found = self.core.registry.handle(to).await?;
        lineage.links.extend(found.map(|task| link(self.origin, &task, why)));
        Ok(())
    }

    async fn attempt_before(&self, task: &TaskHandle) -> Result<Option<TaskHandle>, RegistryError> {
        let Some(job) = task.job.clone().filter(|_| task.attempt > 1) else { return Ok(None) };
        let attempts = self.core.registry.attempts(job, self.core.policy.audit.span_attempts).await?;
        let before = attempts.iter().skip_while(|id| **id != task.id).nth(1);
        match before {
            Some(before) => self.core.registry.handle(*before).await,
            None => Ok(None),
        }
    }
}

fn digits(of: &str, origin: &str, id: HandleId, most: usize) -> String {
    // A task is the same one in every epoch of the log.
    let mut digits = sha256_hex(format!("taskwarden {of} 1\n{}\n{id}", LogEpoch::of(origin).log));
    digits.truncate(most);
    digits
}

/// The id of the span of a task: the same whenever it is sent.
fn span_id(origin: &str, id: HandleId) -> String {
    digits("span", origin, id, SPAN_DIGITS)
}

/// The trace that the call of the task carried, so that it stands beside what its agent sends; or one of its own.
fn trace_id(origin: &str, id: HandleId, task: Option<&TaskHandle>) -> String {
    let carried = task.and_then(|task| task.trace.as_deref()).filter(|trace| trace.len() == TRACE_DIGITS);
    carried.map_or_else(|| digits("trace", origin, id, TRACE_DIGITS), str::to_owned)
}

fn link(origin: &str, to: &TaskHandle, why: &str) -> Value {
    json!({
        "traceId": trace_id(origin, to.id, Some(to)),
        "spanId": span_id(origin, to.id),
        "attributes": [text("taskwarden.link.reason", why), text("taskwarden.task.id", &to.id.to_string())],
    })
}

fn span(facts: SpanFacts<'_>) -> Value {
    let SpanFacts { origin, id, end, history, task, server, agent, lineage, tool_bytes } = facts;
    let outcome = task.as_ref().map_or(SpanOutcome::UNKNOWN, |(task, phase)| SpanOutcome::of(task, *phase));
    let mut attributes =
        vec![text("taskwarden.task.id", &id.to_string()), whole("taskwarden.audit.number", end.number)];
    let (mut name, mut kind, mut begun) = ("task".to_owned(), INTERNAL, history.begun.unwrap_or(end.at));
    if let Some((task, phase)) = &task {
        // By the clock of its end.
        begun = task.created.shifted(task.stepped_ms);
        if let Some(tool) = task.tool.as_deref().filter(|_| began_here(task)) {
            let tool = tool.get(..tool.floor_char_boundary(tool_bytes)).unwrap_or(tool);
            (name, kind) = (format!("{CALL} {tool}"), CLIENT);
            attributes.push(text("mcp.method.name", CALL));
            attributes.push(text("gen_ai.operation.name", "execute_tool"));
            attributes.push(text("gen_ai.tool.name", tool));
        }
        attributes.extend(of_task(task, *phase));
    }
    attributes.extend(server.map(|name| text("taskwarden.server.name", &name)));
    attributes.extend(agent.map(|name| text("gen_ai.agent.name", &name)));
    attributes.extend(outcome.error.as_ref().map(|error| text("error.type", error)));

    let mut span = Map::new();
    span.insert("traceId".into(), trace_id(origin, id, task.as_ref().map(|(task, _)| task)).into());
    span.insert("spanId".into(), span_id(origin, id).into());
    if let Some(parent) = lineage.parent {
        span.insert("parentSpanId".into(), parent.into());
    }
    span.insert("name".into(), name.into());
    span.insert("kind".into(), kind.into());
    span.insert("startTimeUnixNano".into(), nanos(begun).into());
    // A clock that was set back makes no span that ends before it begins.
    span.insert("endTimeUnixNano".into(), nanos(end.at.max(begun)).into());
    span.insert("attributes".into(), attributes.into());
    span.insert("events".into(), history.events.into());
    if history.dropped > 0 {
        span.insert("droppedEventsCount".into(), history.dropped.into());
    }
    span.insert("links".into(), lineage.links.into());
    let mut status = json!({"code": outcome.status.code()});
    if let (Some(members), false) = (status.as_object_mut(), outcome.message.is_empty()) {
        members.insert("message".into(), outcome.message.into());
    }
    span.insert("status".into(), status);
    Value::Object(span)
}

/// Whether the task is a call that was made here.
const fn began_here(task: &TaskHandle) -> bool {
    match task.origin {
        Origin::Started | Origin::Agent => true,
        Origin::Discovered | Origin::Adopted => false,
    }
}

fn of_task(task: &TaskHandle, phase: Phase) -> Vec<Value> {
    let mut attributes = vec![
        text("taskwarden.task.phase", phase.word()),
        text("taskwarden.task.origin", task.origin.word()),
        text("taskwarden.server.id", &task.server.to_string()),
    ];
    if began_here(task) {
        attributes.push(whole("taskwarden.task.attempt", u64::from(task.attempt)));
    }
    // Time that it waited for people, in milliseconds.
    attributes.push(whole("taskwarden.task.waited_ms", task.paused_ms));
    attributes.extend(task.agent.map(|agent| text("gen_ai.agent.id", &agent.to_string())));
    attributes
}

/// Puts spans of the log with this name into a request.
pub(super) fn request(origin: &str, spans: &[String]) -> String {
    let (resource, scope) = (resource(origin), scope(SCOPE));
    let spans = spans.join(",");
    format!(r#"{{"resourceSpans":[{{"resource":{resource},"scopeSpans":[{{"scope":{scope},"spans":[{spans}]}}]}}]}}"#)
}

#[cfg(test)]
mod tests;
