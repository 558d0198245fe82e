//! Jobs and tools as JSON of either dialect.
//!
//! Pure functions; the caller's era picks the dialect. Read protocol.md §1.2 and §2.6 beside this.

use serde_json::{Map, Value, json};

use crate::script_server::script::{
    Elicitation, ElicitationReply, JobProgress, JobSnapshot, JobStage, Question, ServerCard, ToolCard, ToolLength,
};
use mcp::server::rpc_error::RequestError;

/// Ties a message to a task (2025-11-25).
pub(super) const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";
/// The key of the server's name in `_meta` of modern results.
const META_SERVER: &str = "io.modelcontextprotocol/serverInfo";

pub(super) fn server_info(card: &ServerCard) -> Value {
    json!({"name": card.name, "title": card.title, "version": card.version})
}

/// Completes a modern result: its kind first, who answered in `_meta`.
pub(super) fn modern_result(kind: &str, members: Map<String, Value>, card: &ServerCard) -> Value {
    let mut result = Map::new();
    result.insert("resultType".to_owned(), kind.into());
    result.extend(members);
    let meta = result.entry("_meta").or_insert_with(|| json!({}));
    if let Some(meta) = meta.as_object_mut() {
        meta.insert(META_SERVER.to_owned(), server_info(card));
    }
    Value::Object(result)
}

/// A tool result as a modern one.
pub(super) fn modern_tool_result(result: &Value, card: &ServerCard) -> Value {
    modern_result("complete", result.as_object().cloned().unwrap_or_default(), card)
}

fn modern_status(stage: &JobStage) -> &'static str {
    match stage {
        JobStage::Working => "working",
        JobStage::Asking => "input_required",
        JobStage::Done(_) => "completed",
        JobStage::Failed(_) => "failed",
        JobStage::Cancelled => "cancelled",
    }
}

fn legacy_status(stage: &JobStage) -> &'static str {
    match stage {
        JobStage::Done(result) if result.get("isError") == Some(&Value::Bool(true)) => "failed",
        JobStage::Working | JobStage::Asking | JobStage::Done(_) | JobStage::Failed(_) | JobStage::Cancelled => {
            modern_status(stage)
        }
    }
}

pub(super) fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

/// The flat task of 2026-07-28 without payload: what `tools/call` returns.
pub(super) fn modern_seed(id: &str, snapshot: &JobSnapshot) -> Map<String, Value> {
    let mut task = object(json!({"taskId": id, "status": modern_status(&snapshot.stage)}));
    if let Some(message) = &snapshot.message {
        task.insert("statusMessage".to_owned(), message.as_str().into());
    }
    task.extend(object(json!({
        "createdAt": snapshot.created.to_string(),
        "lastUpdatedAt": snapshot.updated.to_string(),
        "ttlMs": snapshot.ttl_ms,
        "pollIntervalMs": snapshot.poll_ms,
    })));
    task
}

/// The whole task of 2026-07-28, with what its status carries.
pub(super) fn modern_task(id: &str, snapshot: &JobSnapshot, card: &ServerCard) -> Map<String, Value> {
    let mut task = modern_seed(id, snapshot);
    match &snapshot.stage {
        JobStage::Working | JobStage::Cancelled => {}
        JobStage::Asking => {
            task.insert("inputRequests".to_owned(), input_requests(&snapshot.questions));
        }
        JobStage::Done(result) => {
            task.insert("result".to_owned(), modern_tool_result(result, card));
        }
        JobStage::Failed(fault) => {
            task.insert("error".to_owned(), fault.json());
        }
    }
    task
}

/// `inputRequests`: everything that is open now.
pub(super) fn input_requests(questions: &[Question]) -> Value {
    let request = |question: &Question| {
        let params = match &question.ask {
            Elicitation::Form { message, schema } => {
                json!({"mode": "form", "message": message, "requestedSchema": schema})
            }
            Elicitation::Visit { message, url } => json!({"mode": "url", "message": message, "url": url}),
        };
        (question.key.clone(), json!({"method": "elicitation/create", "params": params}))
    };
    Value::Object(questions.iter().map(request).collect())
}

/// The task of 2025-11-25.
pub(super) fn legacy_task(id: &str, snapshot: &JobSnapshot) -> Map<String, Value> {
    let mut task = object(json!({"taskId": id, "status": legacy_status(&snapshot.stage)}));
    let message = match &snapshot.stage {
        JobStage::Failed(fault) => Some(fault.message.as_str()),
        JobStage::Working | JobStage::Asking | JobStage::Done(_) | JobStage::Cancelled => snapshot.message.as_deref(),
    };
    if let Some(message) = message {
        task.insert("statusMessage".to_owned(), message.into());
    }
    task.extend(object(json!({
        "createdAt": snapshot.created.to_string(),
        "lastUpdatedAt": snapshot.updated.to_string(),
        "ttl": snapshot.ttl_ms,
        "pollInterval": snapshot.poll_ms,
    })));
    task
}

/// `_meta` that ties a message to a task.
pub(super) fn related(id: &str) -> Value {
    json!({RELATED_TASK: {"taskId": id}})
}

/// The params of an elicitation of the older eras; `task` when it belongs to one.
pub(super) fn legacy_elicitation(job: &str, question: &Question, version: &str, task: Option<&str>) -> Value {
    let with_mode = version == mcp::server::version::LEGACY_WITH_TASKS;
    let mut params = match &question.ask {
        Elicitation::Form { message, schema } if with_mode => {
            json!({"mode": "form", "message": message, "requestedSchema": schema})
        }
        Elicitation::Form { message, schema } => json!({"message": message, "requestedSchema": older_schema(schema)}),
        Elicitation::Visit { message, url } => {
            json!({"mode": "url", "message": message, "url": url, "elicitationId": elicitation_id(job, question)})
        }
    };
    if let (Some(task), Some(members)) = (task, params.as_object_mut()) {
        members.insert("_meta".to_owned(), related(task));
    }
    params
}

/// A form for versions before 2025-11-25: no lists, and choices as `enum` with `enumNames`.
fn older_schema(schema: &Value) -> Value {
    let mut schema = schema.clone();
    let Some(fields) = schema.get_mut("properties").and_then(Value::as_object_mut) else { return schema };
    fields.retain(|_, field| field.get("type") != Some(&Value::from("array")));
    for field in fields.values_mut().filter_map(Value::as_object_mut) {
        if let Some(Value::Array(choices)) = field.remove("oneOf") {
            let part = |name: &str| choices.iter().filter_map(|choice| choice.get(name)).cloned().collect::<Vec<_>>();
            field.insert("enum".to_owned(), part("const").into());
            field.insert("enumNames".to_owned(), part("title").into());
        }
    }
    schema
}

/// The elicitation id by which a 2025 client is notified that a page was completed.
pub(super) fn elicitation_id(job: &str, question: &Question) -> String {
    format!("{job}.{}", question.key)
}

/// Reads the result of an elicitation, in either dialect.
pub(super) fn reply(answer: &Value) -> Result<ElicitationReply, RequestError> {
    match answer.get("action").and_then(Value::as_str) {
        Some("accept") => Ok(ElicitationReply::Accept(answer.get("content").cloned().map(object).unwrap_or_default())),
        Some("decline") => Ok(ElicitationReply::Decline),
        Some("cancel") => Ok(ElicitationReply::Dismiss),
        _ => Err(RequestError::params("an answer's `action` must be `accept`, `decline` or `cancel`")),
    }
}

/// The params of a progress notification.
pub(super) fn progress(token: &Value, progress: JobProgress, message: Option<&str>) -> Value {
    let mut params = object(json!({"progressToken": token, "progress": number(progress.done)}));
    if let Some(total) = progress.total {
        params.insert("total".to_owned(), number(total));
    }
    if let Some(message) = message {
        params.insert("message".to_owned(), message.into());
    }
    Value::Object(params)
}

/// A whole number without a fraction: `3`, not `3.0`.
fn number(value: f64) -> Value {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() < EXACT {
        return Value::from(value as i64);
    }
    Value::from(value)
}

/// A tool in `tools/list`.
pub(super) fn tool(card: &ToolCard, with_tasks: bool) -> Value {
    let mut tool = object(json!({
        "name": card.name,
        "title": card.title,
        "description": card.description,
        "inputSchema": card.input_schema,
    }));
    if let Some(schema) = &card.output_schema {
        tool.insert("outputSchema".to_owned(), schema.clone());
    }
    tool.insert("annotations".to_owned(), card.annotations.clone());
    if with_tasks {
        let support = match card.length {
            ToolLength::Short => "forbidden",
            ToolLength::Long => "optional",
            ToolLength::Endless => "required",
        };
        tool.insert("execution".to_owned(), json!({"taskSupport": support}));
    }
    Value::Object(tool)
}
