//! The fields of one task in a reply or a push, in either dialect's spelling.
//!
//! Both spellings of a field are read (`ttl`, `ttlMs`), whichever dialect it is. What a status means for results and
//! questions is the dialects' matter.

use std::collections::BTreeMap;
use std::time::Duration;

use domain::ids::{RequestKey, UpstreamTaskId};
use domain::policy::{Policy, plain_text};
use domain::task::input_request::Ask;
use domain::task::observation::{Observation, ObservationDoor};
use domain::task::payload::{Payload, ResultRef};
use domain::task::status::{Outcome, TaskStatus, Ttl};
use domain::time::Timestamp;
use serde_json::value::RawValue;

use super::{JsonFields, Misread};
use crate::wire::raw_json::{member, with_members};

/// Longest status word shown of a server that invents its own. Judgement: the known ones have at most 14.
const WORD_CAP_CHARS: usize = 64;

/// How and when something was observed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SightingTimes {
    pub(crate) door: ObservationDoor,
    pub(crate) begun: Timestamp,
    pub(crate) seen: Timestamp,
}

/// The fields of a task that both generations have.
#[derive(Debug, Clone)]
pub(crate) struct TaskFields {
    pub(crate) id: UpstreamTaskId,
    /// Terminal words carry no payload yet.
    pub(crate) status: TaskStatus,
    message: Option<String>,
    created: Option<Timestamp>,
    updated: Option<Timestamp>,
    ttl: Ttl,
    hint: Option<Duration>,
    /// The object as it came, without what it carries.
    came: String,
}

/// Members that are stored separately, or that only say what kind of message it was.
const CARRIED: &[&str] = &["result", "error", "inputRequests", "resultType"];

/// Reads `taskId`, bounded.
pub(crate) fn task_id(fields: &JsonFields<'_>, policy: &Policy) -> Result<UpstreamTaskId, Misread> {
    let text = fields.required_text("taskId")?;
    if text.len() > policy.task_id_cap_bytes {
        return Err(Misread::new(fields.path("taskId"), format!("is longer than {} bytes", policy.task_id_cap_bytes)));
    }
    Ok(UpstreamTaskId::new(text))
}

impl TaskFields {
    /// Reads an object that is a task.
    pub(crate) fn read(fields: &JsonFields<'_>, policy: &Policy) -> Result<Self, Misread> {
        let id = task_id(fields, policy)?;
        let status = match fields.required_text("status")?.as_str() {
            "working" => TaskStatus::Working,
            "input_required" => TaskStatus::InputRequired,
            "completed" => TaskStatus::Completed(Outcome::NotFetched),
            "failed" => TaskStatus::Failed(None),
            "cancelled" => TaskStatus::Cancelled,
            other => TaskStatus::Other(plain_text(other, WORD_CAP_CHARS)),
        };
        Ok(Self {
            id,
            status,
            message: fields.words("statusMessage", policy),
            created: fields.moment("createdAt"),
            updated: fields.moment("lastUpdatedAt"),
            ttl: ttl(fields),
            hint: fields.millis("pollIntervalMs").or_else(|| fields.millis("pollInterval")),
            came: with_members(fields.as_it_came(), &[], CARRIED),
        })
    }

    /// As [`TaskFields::read`], of the task that was asked about and no other.
    pub(crate) fn read_asked(
        fields: &JsonFields<'_>,
        asked: &UpstreamTaskId,
        policy: &Policy,
    ) -> Result<Self, Misread> {
        let facts = Self::read(fields, policy)?;
        if facts.id == *asked {
            Ok(facts)
        } else {
            Err(Misread::new(fields.path("taskId"), "answers for another task"))
        }
    }

    /// The observation of a task whose word needs nothing more.
    pub(crate) fn seen(self, glimpse: SightingTimes, policy: &Policy) -> Observation {
        let status = self.status.clone();
        self.seen_as(glimpse, status, None, None, policy)
    }

    /// The observation with what the dialect found out besides.
    pub(crate) fn seen_as(
        self,
        glimpse: SightingTimes,
        status: TaskStatus,
        outstanding: Option<BTreeMap<RequestKey, Ask>>,
        payload: Option<Payload>,
        policy: &Policy,
    ) -> Observation {
        let came = match glimpse.door {
            // What a push says besides is about the subscription it came by.
            ObservationDoor::Push => with_members(&self.came, &[], &["_meta"]),
            ObservationDoor::Create | ObservationDoor::Poll | ObservationDoor::List => self.came,
        };
        Observation {
            door: glimpse.door,
            begun: glimpse.begun,
            seen: glimpse.seen,
            status,
            message: self.message,
            created: self.created,
            updated: self.updated,
            ttl: self.ttl,
            hint: self.hint,
            outstanding,
            payload,
            raw: None,
            asks_raw: BTreeMap::new(),
            task_raw: (came.len() <= policy.gateway.task_raw_cap_bytes).then(|| Payload::new(came)),
        }
    }
}

/// `ttl` of 2025, `ttlMs` of 2026; absent and absurd values say nothing, `null` says that there is no limit.
fn ttl(fields: &JsonFields<'_>) -> Ttl {
    match fields.millis("ttlMs").or_else(|| fields.millis("ttl")) {
        Some(span) => Ttl::For(span),
        None if fields.is_null("ttlMs") || fields.is_null("ttl") => Ttl::Unlimited,
        None => Ttl::Unsaid,
    }
}

/// What a tool's result means, with its text as received.
pub(crate) fn plain_outcome(result: &RawValue) -> (Outcome, Payload) {
    let payload = Payload::new(result.get());
    let bytes = ResultRef { bytes: payload.bytes() };
    let outcome = if is_error(result) { Outcome::ToolError(bytes) } else { Outcome::Ok(bytes) };
    (outcome, payload)
}

/// Whether a tool's result says `isError: true`.
pub(crate) fn is_error(result: &RawValue) -> bool {
    // Results may be large: they are stepped over, not read.
    member(result.get(), "isError") == Some("true")
}
