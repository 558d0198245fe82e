//! `ServerView`: what the server says of a task.
//!
//! The upstream task id is in here, which is why the body of a task is sealed. Beside it see `contact.rs`.

use std::time::Duration;

use domain::ids::{HostId, UpstreamTaskId};
use domain::task::payload::ResultRef;
use domain::task::status::{GateReason, Outcome, RpcError, ServerView, TaskStatus, TaskView, Ttl};
use domain::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::form::{As, ErrorField, In, Maybe, OutcomeField, SpanField, WordField, mirrors};
use super::primitive::{EncodedWord, IdText, Millis, Plain, Span, Text};

#[derive(Serialize, Deserialize)]
#[serde(remote = "RpcError")]
pub(crate) struct RpcErrorDef {
    code: i64,
    message: String,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "ResultRef")]
struct ResultRefDef {
    bytes: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Outcome", tag = "is", rename_all = "camelCase")]
enum OutcomeDef {
    Ok(#[serde(with = "ResultRefDef")] ResultRef),
    ToolError(#[serde(with = "ResultRefDef")] ResultRef),
    FailedWithResult(#[serde(with = "ResultRefDef")] ResultRef),
    Error(#[serde(with = "In::<ErrorField, RpcErrorDef>")] RpcError),
    NotFetched,
    Unavailable,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "TaskStatus", tag = "is", rename_all = "camelCase")]
enum TaskStatusDef {
    Working,
    InputRequired,
    Completed(#[serde(with = "In::<OutcomeField, OutcomeDef>")] Outcome),
    Failed(#[serde(with = "In::<ErrorField, Maybe<RpcErrorDef>>")] Option<RpcError>),
    Cancelled,
    Other(#[serde(with = "In::<WordField, Plain<String>>")] String),
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Ttl", tag = "is", rename_all = "camelCase")]
enum TtlDef {
    Unsaid,
    Unlimited,
    For(#[serde(with = "In::<SpanField, Span>")] Duration),
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "TaskView", rename_all = "camelCase")]
struct TaskViewDef {
    #[serde(with = "As::<Text<UpstreamTaskId>>")]
    id: UpstreamTaskId,
    #[serde(with = "TaskStatusDef")]
    status: TaskStatus,
    message: Option<String>,
    #[serde(default, with = "As::<Maybe<Millis>>")]
    created: Option<Timestamp>,
    #[serde(default, with = "As::<Maybe<Millis>>")]
    updated: Option<Timestamp>,
    #[serde(with = "As::<Millis>")]
    first_seen: Timestamp,
    #[serde(with = "TtlDef")]
    ttl: Ttl,
    #[serde(default, with = "As::<Maybe<Millis>>")]
    expires: Option<Timestamp>,
    #[serde(default, with = "As::<Maybe<Span>>")]
    hint: Option<Duration>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "ServerView", tag = "is", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(crate) enum ServerViewDef {
    Gated {
        #[serde(with = "As::<Millis>")]
        since: Timestamp,
        #[serde(with = "As::<EncodedWord<GateReason>>")]
        reason: GateReason,
    },
    Awaiting {
        #[serde(with = "As::<Millis>")]
        since: Timestamp,
        #[serde(with = "As::<IdText<HostId>>")]
        host: HostId,
        round: u32,
    },
    OwnCall {
        #[serde(with = "As::<Millis>")]
        since: Timestamp,
        #[serde(with = "As::<IdText<HostId>>")]
        host: HostId,
        round: u32,
    },
    Asking {
        #[serde(with = "As::<Millis>")]
        since: Timestamp,
        round: u32,
        has_state: bool,
    },
    NotSent {
        why: String,
    },
    Unanswered {
        #[serde(with = "As::<Millis>")]
        since: Timestamp,
        why: String,
    },
    Direct(#[serde(with = "In::<OutcomeField, OutcomeDef>")] Outcome),
    Refused(#[serde(with = "In::<ErrorField, RpcErrorDef>")] RpcError),
    Task(#[serde(with = "TaskViewDef")] TaskView),
}

mirrors! {
    RpcErrorDef => RpcError;
    OutcomeDef => Outcome;
}
