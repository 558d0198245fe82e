//! `ServerView` as JSON: what the server says.
//!
//! The upstream task id is in here, which is why the body of a handle is sealed. Beside it see `contact.rs`.

use domain::ids::UpstreamTaskId;
use domain::task::payload::ResultRef;
use domain::task::status::{Outcome, RpcError, ServerView, TaskStatus, TaskView, Ttl};
use serde_json::{Value, json};

use super::{Fields, Flaw, Read, maybe_time, span, time};

/// Writes an error of a server.
pub(crate) fn rpc_error(error: &RpcError) -> Value {
    json!({ "code": error.code, "message": error.message })
}

/// Reads an error of a server.
pub(crate) fn read_rpc_error(fields: Fields<'_>) -> Read<RpcError> {
    Ok(RpcError { code: fields.i64("code")?, message: fields.text("message")?.into() })
}

fn outcome(outcome: &Outcome) -> Value {
    match outcome {
        Outcome::Ok(stored) => json!({ "is": "ok", "bytes": stored.bytes }),
        Outcome::ToolError(stored) => json!({ "is": "toolError", "bytes": stored.bytes }),
        Outcome::FailedWithResult(stored) => json!({ "is": "failedWithResult", "bytes": stored.bytes }),
        Outcome::Error(error) => json!({ "is": "error", "error": rpc_error(error) }),
        Outcome::NotFetched => json!({ "is": "notFetched" }),
        Outcome::Unavailable => json!({ "is": "unavailable" }),
    }
}

fn read_outcome(fields: Fields<'_>) -> Read<Outcome> {
    let stored = || Ok(ResultRef { bytes: fields.u64("bytes")? });
    match fields.text("is")? {
        "ok" => stored().map(Outcome::Ok),
        "toolError" => stored().map(Outcome::ToolError),
        "failedWithResult" => stored().map(Outcome::FailedWithResult),
        "error" => fields.inner("error", read_rpc_error).map(Outcome::Error),
        "notFetched" => Ok(Outcome::NotFetched),
        "unavailable" => Ok(Outcome::Unavailable),
        other => Err(Flaw::word("is", other)),
    }
}

fn status(status: &TaskStatus) -> Value {
    match status {
        TaskStatus::Working => json!({ "is": "working" }),
        TaskStatus::InputRequired => json!({ "is": "inputRequired" }),
        TaskStatus::Completed(how) => json!({ "is": "completed", "outcome": outcome(how) }),
        TaskStatus::Failed(error) => json!({ "is": "failed", "error": error.as_ref().map(rpc_error) }),
        TaskStatus::Cancelled => json!({ "is": "cancelled" }),
        TaskStatus::Other(word) => json!({ "is": "other", "word": word }),
    }
}

fn read_status(fields: Fields<'_>) -> Read<TaskStatus> {
    match fields.text("is")? {
        "working" => Ok(TaskStatus::Working),
        "inputRequired" => Ok(TaskStatus::InputRequired),
        "completed" => fields.inner("outcome", read_outcome).map(TaskStatus::Completed),
        "failed" => fields.maybe_inner("error", read_rpc_error).map(TaskStatus::Failed),
        "cancelled" => Ok(TaskStatus::Cancelled),
        "other" => Ok(TaskStatus::Other(fields.text("word")?.into())),
        other => Err(Flaw::word("is", other)),
    }
}

fn ttl(ttl: Ttl) -> Value {
    match ttl {
        Ttl::Unsaid => json!({ "is": "unsaid" }),
        Ttl::Unlimited => json!({ "is": "unlimited" }),
        Ttl::For(length) => json!({ "is": "for", "span": span(length) }),
    }
}

fn read_ttl(fields: Fields<'_>) -> Read<Ttl> {
    match fields.text("is")? {
        "unsaid" => Ok(Ttl::Unsaid),
        "unlimited" => Ok(Ttl::Unlimited),
        "for" => fields.span("span").map(Ttl::For),
        other => Err(Flaw::word("is", other)),
    }
}

fn task(task: &TaskView) -> Value {
    let TaskView { id, status: said, message, created, updated, first_seen, ttl: kept, expires, hint } = task;
    json!({
        "is": "task",
        "id": id.as_str(),
        "status": status(said),
        "message": message,
        "created": maybe_time(*created),
        "updated": maybe_time(*updated),
        "firstSeen": time(*first_seen),
        "ttl": ttl(*kept),
        "expires": maybe_time(*expires),
        "hint": hint.map(span),
    })
}

fn read_task(fields: Fields<'_>) -> Read<TaskView> {
    Ok(TaskView {
        id: UpstreamTaskId::new(fields.text("id")?),
        status: fields.inner("status", read_status)?,
        message: fields.maybe_text("message")?.map(Into::into),
        created: fields.maybe_time("created")?,
        updated: fields.maybe_time("updated")?,
        first_seen: fields.time("firstSeen")?,
        ttl: fields.inner("ttl", read_ttl)?,
        expires: fields.maybe_time("expires")?,
        hint: fields.get("hint").map(|_| fields.span("hint")).transpose()?,
    })
}

/// Writes what the server says.
pub(crate) fn view(view: &ServerView) -> Value {
    match view {
        ServerView::Awaiting { since, host, round } => {
            json!({ "is": "awaiting", "since": time(*since), "host": host.to_string(), "round": round })
        }
        ServerView::OwnCall { since, host, round } => {
            json!({ "is": "ownCall", "since": time(*since), "host": host.to_string(), "round": round })
        }
        ServerView::Asking { since, round, has_state } => {
            json!({ "is": "asking", "since": time(*since), "round": round, "hasState": has_state })
        }
        ServerView::NotSent { why } => json!({ "is": "notSent", "why": why }),
        ServerView::Unanswered { since, why } => json!({ "is": "unanswered", "since": time(*since), "why": why }),
        ServerView::Direct(how) => json!({ "is": "direct", "outcome": outcome(how) }),
        ServerView::Refused(error) => json!({ "is": "refused", "error": rpc_error(error) }),
        ServerView::Task(seen) => task(seen),
    }
}

/// Reads what the server says.
pub(crate) fn read_view(fields: Fields<'_>) -> Read<ServerView> {
    let why = || fields.text("why").map(str::to_owned);
    match fields.text("is")? {
        "awaiting" => Ok(ServerView::Awaiting {
            since: fields.time("since")?,
            host: fields.parsed("host")?,
            round: fields.u32("round")?,
        }),
        "ownCall" => Ok(ServerView::OwnCall {
            since: fields.time("since")?,
            host: fields.parsed("host")?,
            round: fields.u32("round")?,
        }),
        "asking" => Ok(ServerView::Asking {
            since: fields.time("since")?,
            round: fields.u32("round")?,
            has_state: fields.flag("hasState")?,
        }),
        "notSent" => Ok(ServerView::NotSent { why: why()? }),
        "unanswered" => Ok(ServerView::Unanswered { since: fields.time("since")?, why: why()? }),
        "direct" => fields.inner("outcome", read_outcome).map(ServerView::Direct),
        "refused" => fields.inner("error", read_rpc_error).map(ServerView::Refused),
        "task" => read_task(fields).map(ServerView::Task),
        other => Err(Flaw::word("is", other)),
    }
}
