//! Calls: sent once, awaited however late the reply comes, cancelled by their handle.
//!
//! A call is one future, polled by whoever holds it: who lets a call go on without its caller moves the future into a
//! task. Dropping it gives the call up, which cancels it on modern HTTP. The tag is the progress token too. Nothing is
//! sent twice, except when the server refused mirrored headers before anything ran.

use std::sync::Arc;

use bytestring::ByteString;
use domain::ids::HandleId;
use domain::ports::{AnswerToSend, CallError, CallReply, CallRequest, UpstreamError};
use domain::task::input_request::AskDoor;
use domain::task::observation::ObservationDoor;
use domain::task::payload::Payload;
use domain::task::status::RpcError;
use domain::time::Timestamp;
use serde_json::Value;

use super::connection::Connection;
use crate::upstream::negotiation::Generation;
use crate::upstream::notifications::request_listeners::RequestListener;
use crate::upstream::port_errors::{call_error, not_json, upstream_error};
use crate::upstream::tool_cache::param_headers::header_values;
use crate::upstream::transport::link::{ForwardedParams, OutgoingRequest, RequestTag, SharedAnswer};
use crate::upstream::transport::request_params::declared;
use crate::wire::dialect::{
    self, CallMembers, NotJson, as_raw, call_members, experimental2025, extension2026, input_responses, object_text,
};
use crate::wire::raw_json::member;
use crate::wire::view::{Misread, ServerError, TaskSupport};

impl Connection {
    /// Sends a call and waits for its reply.
    pub(crate) async fn call(self: &Arc<Self>, request: CallRequest) -> Result<CallReply, CallError> {
        let mut open = OpenCall::begin(self, request.ticket);
        let mut brought = self.one_try(open.tag, &request).await;
        if let Ok(Tried::HeadersRefused(_)) = &brought {
            // The server checks headers before it runs anything, so a second try with fresh annotations is safe.
            tracing::info!(tool = %request.tool, "the server refused mirrored headers; its tools are listed anew");
            self.drop_tools();
            drop(open);
            open = OpenCall::begin(self, request.ticket);
            brought = self.one_try(open.tag, &request).await;
        }
        let reply = brought.map(Tried::reply);
        open.replied(&reply);
        reply
    }

    /// Asks the server to cancel a call that has no reply yet.
    pub(crate) async fn cancel_call(&self, ticket: HandleId, reason: Option<String>) -> Result<(), UpstreamError> {
        let tag = {
            let mut calls = self.calls.lock();
            let tag = calls.pending_tag(ticket).ok_or(UpstreamError::ChannelGone)?;
            if calls.cancel_unsent(tag) {
                return Ok(());
            }
            tag
        };
        self.link.cancel(tag, reason).await.map_err(|failed| upstream_error(failed, &self.policy))
    }

    /// Waits for the reply of a call that an earlier core sent to this child.
    pub(crate) async fn rejoin(self: &Arc<Self>, ticket: HandleId) -> Result<CallReply, CallError> {
        let Some(call) = self.regained.lock().remove(&ticket) else {
            return Err(CallError::ReplyLost(UpstreamError::ChannelGone));
        };
        let begun = self.clock.now();
        let answer = call.answer.await.map_err(|failed| call_error(failed, &self.policy));
        let reply = answer.and_then(|answer| self.read_reply(answer.into(), begun, call.augment)).map(Tried::reply);
        self.ended_with(call.tag, &reply);
        reply
    }

    /// What became of a call is on record: nothing of it is kept any more. A call of an earlier core for which nobody
    /// waits ends here, so that no question of another call is taken for its own.
    pub(crate) fn taken(&self, ticket: HandleId) {
        let unclaimed = self.regained.lock().remove(&ticket);
        if let Some(call) = unclaimed {
            self.calls.lock().end(call.tag, None, 0);
        }
        self.link.settle(ticket);
    }

    /// Records what a call became.
    fn ended_with(&self, tag: RequestTag, reply: &Result<CallReply, CallError>) {
        let lives_on_as = match reply {
            Ok(CallReply::Task { id, .. }) if self.generation_of(id) == Generation::Experimental2025 => {
                Some(id.clone())
            }
            Ok(_) | Err(_) => None,
        };
        let over = self.calls.lock().end(tag, lives_on_as.as_ref(), self.policy.discovered_max);
        if let Some(over) = over {
            self.listeners.remove(over);
        }
        if let Ok(CallReply::Task { id, seen }) = reply
            && !seen.status.is_terminal()
        {
            self.created.lock().insert(id.clone());
        }
    }

    async fn one_try(self: &Arc<Self>, tag: RequestTag, request: &CallRequest) -> Result<Tried, CallError> {
        let unsent = |failed| CallError::NotSent(not_json(failed));
        let arguments = arguments(request).map_err(unsent)?;
        let manner = self.manner(request).await?;
        let mut verbatim = call_members(&request.tool, tag.0);
        let opts_in = match self.generation {
            Generation::Experimental2025 => manner.augment && !brings_ttl(request),
            Generation::Extension2026 => false,
        };
        verbatim.extend(opts_in.then_some(experimental2025::OPT_IN));
        verbatim.push(("arguments", arguments));
        add_round(request, &mut verbatim).map_err(CallError::NotSent)?;
        if let Some(listener) = &request.listener {
            self.listeners.put(tag, RequestListener::Call(listener.clone()));
        }
        if !self.calls.lock().leave(tag) {
            return Err(CallError::NotSent(UpstreamError::Unreachable {
                why: "the call was stopped before it was sent".into(),
                hint: "Nothing ran.".into(),
            }));
        }
        let begun = self.clock.now();
        self.link.note_call(tag, request.ticket, manner.augment);
        let outgoing = OutgoingRequest {
            method: dialect::CALL.into(),
            params: Value::Null,
            verbatim,
            tag,
            limit: None,
            param_headers: manner.param_headers,
            agent_params: agent_params(request, manner.augment),
            permit: request.permit.clone(),
        };
        let answer = self.link.call(outgoing).await.map_err(|failed| call_error(failed, &self.policy))?;
        self.read_reply(answer, begun, manner.augment)
    }

    /// Interprets the answer to a call.
    fn read_reply(&self, answer: SharedAnswer, begun: Timestamp, augment: bool) -> Result<Tried, CallError> {
        let glimpse = self.glimpse(ObservationDoor::Create, begun);
        match answer {
            SharedAnswer::Error(text) => {
                let raw = as_raw(&text).map_err(|misread| self.unreadable(misread, &text))?;
                let fault = ServerError::read(raw, &self.policy);
                let refused = fault.is_header_mismatch() && self.mirrors_params;
                if fault.may_want_a_task() && self.augments {
                    // Reported as it is; the next call lists the tools again to see which of them want to be tasks.
                    self.drop_tools();
                }
                let reply = CallReply::Error { error: told(&fault), payload: fault.payload };
                Ok(if refused { Tried::HeadersRefused(reply) } else { Tried::Replied(reply) })
            }
            SharedAnswer::Result(text) => {
                let read = match self.generation {
                    Generation::Extension2026 => extension2026::read_call(&text, glimpse, &self.policy),
                    Generation::Experimental2025 if extension2026::is_handle(&text) => {
                        extension2026::read_call(&text, glimpse, &self.policy).inspect(|reply| self.note_modern(reply))
                    }
                    Generation::Experimental2025 => experimental2025::read_call(&text, augment, glimpse, &self.policy),
                };
                read.map(Tried::Replied).map_err(|misread| self.unreadable(misread, &text))
            }
        }
    }

    /// A reply that came and cannot be read is lost; its beginning is kept for `doctor`.
    fn unreadable(&self, misread: Misread, text: &str) -> CallError {
        let kept = text.get(..text.floor_char_boundary(self.policy.unreadable_kept_bytes)).map(Payload::new);
        CallError::ReplyLost(UpstreamError::Unreadable { path: misread.path, why: misread.why, raw: kept })
    }

    /// How to call the tool, from its entry in the list. A list that cannot be read says nothing, unless the
    /// connection is the reason.
    async fn manner(&self, request: &CallRequest) -> Result<Manner, CallError> {
        if !self.augments && !self.mirrors_params {
            return Ok(Manner::default());
        }
        let list = match self.tool_list().await {
            Ok(list) => list,
            Err(gone @ (UpstreamError::Unreachable { .. } | UpstreamError::RateLimited { .. })) => {
                return Err(CallError::NotSent(gone));
            }
            Err(blocked @ UpstreamError::Unauthorized { .. }) => return Err(CallError::NotSent(blocked)),
            Err(_) => return Ok(Manner::default()),
        };
        let Some(listed) = list.find(&request.tool) else { return Ok(Manner::default()) };
        let augment = match listed.tool.support {
            TaskSupport::Forbidden => false,
            TaskSupport::Optional | TaskSupport::Required => self.augments,
        };
        let param_headers = if listed.headers.is_empty() {
            Vec::new()
        } else {
            let arguments: Value = serde_json::from_str(request.arguments.as_str()).unwrap_or_default();
            header_values(&listed.headers, &arguments)
        };
        Ok(Manner { augment, param_headers })
    }
}

/// A call in the table of its connection, until it is over or its future is dropped.
struct OpenCall<'a> {
    connection: &'a Connection,
    tag: RequestTag,
    is_over: bool,
}

impl<'a> OpenCall<'a> {
    fn begin(connection: &'a Connection, ticket: HandleId) -> Self {
        let tag = connection.next_tag();
        connection.calls.lock().begin(tag, ticket);
        Self { connection, tag, is_over: false }
    }

    fn replied(mut self, reply: &Result<CallReply, CallError>) {
        self.is_over = true;
        self.connection.ended_with(self.tag, reply);
    }
}

impl Drop for OpenCall<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.connection.calls.lock().end(self.tag, None, 0);
            self.connection.listeners.remove(self.tag);
        }
    }
}

/// How one try ended.
enum Tried {
    Replied(CallReply),
    /// `-32020`, before anything ran.
    HeadersRefused(CallReply),
}

impl Tried {
    fn reply(self) -> CallReply {
        match self {
            Self::Replied(reply) | Self::HeadersRefused(reply) => reply,
        }
    }
}

/// Members of an agent's params that are not forwarded: the engine sets the answers of a round.
const STAYS_BEHIND: &[&str] = &["task", "inputResponses", "requestState"];
/// The same where the server is asked for a task: the agent decides how long it is kept.
const STAYS_BEHIND_AUGMENTED: &[&str] = &["inputResponses", "requestState"];

/// Whether the agent's own params ask for a task.
fn brings_ttl(request: &CallRequest) -> bool {
    let params = request.agent_params.as_ref().map(Payload::as_str);
    params.and_then(|params| member(params, "task")).is_some_and(|task| task.starts_with('{'))
}

fn agent_params(request: &CallRequest, augment: bool) -> Option<ForwardedParams> {
    let declares = declared(request.abilities);
    let params = match (&request.agent_params, &declares) {
        (None, None) => return None,
        (Some(params), _) => params.clone(),
        (None, Some(_)) => Payload::new("{}"),
    };
    let without = if augment && brings_ttl(request) { STAYS_BEHIND_AUGMENTED } else { STAYS_BEHIND };
    Some(ForwardedParams { params, without, declares, cancel_on_drop: false })
}

#[derive(Default)]
struct Manner {
    augment: bool,
    param_headers: Vec<(String, String)>,
}

/// Adds answers and state of an earlier round: the state if and only if it was given, byte for byte.
fn add_round(request: &CallRequest, verbatim: &mut CallMembers) -> Result<(), UpstreamError> {
    let Some(round) = &request.continuation else { return Ok(()) };
    let answers = round.answers.iter().map(|answer| round_key(answer).map(|key| (key, answer)));
    let answers = answers.collect::<Result<Vec<_>, _>>()?;
    if !answers.is_empty() {
        verbatim.push(("inputResponses", input_responses(answers.into_iter()).map_err(not_json)?));
    }
    if let Some(state) = &round.state {
        as_raw(state.as_str()).map_err(|_| not_json(NotJson))?;
        verbatim.push(("requestState", state.shared().clone()));
    }
    Ok(())
}

/// The arguments as they go out. Those of an agent were read with its message; a person's may be anything.
fn arguments(request: &CallRequest) -> Result<ByteString, NotJson> {
    match &request.agent_params {
        Some(_) if request.arguments.as_str().starts_with('{') => Ok(request.arguments.shared().clone()),
        Some(_) | None => object_text(&request.arguments).map(|_| request.arguments.shared().clone()),
    }
}

fn round_key(answer: &AnswerToSend) -> Result<&str, UpstreamError> {
    match &answer.door {
        AskDoor::Round { key, .. } => Ok(key),
        AskDoor::Listed { .. } | AskDoor::Live { .. } => {
            Err(UpstreamError::Unsupported("take this answer with a call"))
        }
    }
}

/// The error as people see it; a missing capability is named (statement 27).
fn told(fault: &ServerError) -> RpcError {
    match fault.missing() {
        Some(name) => RpcError {
            code: fault.error.code,
            message: format!("{} (it needs what Taskwarden does not have: {name})", fault.error.message),
        },
        None => fault.error.clone(),
    }
}
