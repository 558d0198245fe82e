//! Calls: sent once, kept until the reply however late, cancelled by their ticket.
//!
//! A call runs on a task of its own, because giving up a request cancels it on modern HTTP while dropping the port's
//! future must not. The tag of its request is its progress token too, and stays known while the call lives as a
//! 2025 task. Nothing is resent, except when the server refused mirrored headers before anything ran.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use domain::ids::{HandleId, UpstreamTaskId};
use domain::task::observation::ObservationDoor;
use domain::task::payload::Payload;
use domain::ports::{AnswerToSend, CallError, CallReply, CallRequest, UpstreamError};
use domain::task::input_request::AskDoor;
use domain::task::status::RpcError;
use domain::time::Timestamp;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::oneshot;

use super::aside::Ear;
use super::connection::Connection;
use super::failure::{call_error, not_json, stopping, upstream_error};
use super::greeting::Generation;
use super::param_headers::header_values;
use crate::dialect::{self, experimental2025, extension2026, input_responses, object_text};
use crate::link::{Answer, Outgoing, Passenger, Tag};
use crate::message::text::member;
use crate::transport::params::declared;
use crate::view::{Fault, TaskSupport};

/// The calls of one connection.
#[derive(Default)]
pub(crate) struct Calls {
    by_tag: BTreeMap<u64, Call>,
    in_flight: HashMap<HandleId, u64>,
    became: HashMap<UpstreamTaskId, u64>,
}

struct Call {
    ticket: HandleId,
    /// Whether its request left, or may be leaving.
    sent: bool,
    /// Cancelled before it left.
    stopped: bool,
}

impl Calls {
    fn begin(&mut self, tag: Tag, ticket: HandleId) {
        self.by_tag.insert(tag.0, Call { ticket, sent: false, stopped: false });
        self.in_flight.insert(ticket, tag.0);
    }

    /// A call that an earlier core sent.
    pub(crate) fn regain(&mut self, tag: Tag, ticket: HandleId) {
        self.by_tag.insert(tag.0, Call { ticket, sent: true, stopped: false });
        self.in_flight.insert(ticket, tag.0);
    }

    /// Marks it sent, unless it was stopped before.
    fn leave(&mut self, tag: Tag) -> bool {
        match self.by_tag.get_mut(&tag.0) {
            Some(call) if !call.stopped => {
                call.sent = true;
                true
            }
            Some(_) | None => false,
        }
    }

    /// The reply came, or cannot come. Where progress goes on under the old token, the tag stays known.
    /// Returns the tag that is not known any more.
    fn end(&mut self, tag: Tag, lives_on_as: Option<&UpstreamTaskId>, most: usize) -> Option<Tag> {
        let call = self.by_tag.get(&tag.0)?;
        if self.in_flight.get(&call.ticket) == Some(&tag.0) {
            self.in_flight.remove(&call.ticket);
        }
        match lives_on_as {
            None => {
                self.by_tag.remove(&tag.0);
                Some(tag)
            }
            Some(task) => {
                self.became.insert(task.clone(), tag.0);
                if self.became.len() > most
                    && let Some(oldest) = self.became.iter().min_by_key(|(_, tag)| **tag).map(|(task, _)| task.clone())
                {
                    return self.forget(&oldest);
                }
                None
            }
        }
    }

    /// The task is over: its token means nothing any more.
    pub(crate) fn forget(&mut self, task: &UpstreamTaskId) -> Option<Tag> {
        let tag = self.became.remove(task)?;
        self.by_tag.remove(&tag);
        Some(Tag(tag))
    }

    /// Whose stream or progress token this is.
    pub(crate) fn ticket_of(&self, tag: u64) -> Option<HandleId> {
        self.by_tag.get(&tag).map(|call| call.ticket)
    }

    /// All calls without a reply.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = HandleId> {
        self.in_flight.keys().copied()
    }
}

impl Connection {
    /// Sends a call and waits for its reply.
    pub(crate) async fn call(self: &Arc<Self>, request: CallRequest) -> Result<CallReply, CallError> {
        let tag = self.next_tag();
        self.calls.lock().begin(tag, request.ticket);
        let (done, reply) = oneshot::channel();
        let connection = Arc::clone(self);
        self.supervisor.spawn("mcp call", async move {
            let brought = connection.keep_call(tag, request).await;
            // The caller may have gone; the reply is then nobody's.
            drop(done.send(brought));
        });
        reply.await.unwrap_or_else(|_| Err(CallError::ReplyLost(stopping())))
    }

    /// Asks the server to stop a call that has no reply yet.
    pub(crate) async fn cancel_call(&self, ticket: HandleId, reason: Option<String>) -> Result<(), UpstreamError> {
        let tag = {
            let mut calls = self.calls.lock();
            let Some(tag) = calls.in_flight.get(&ticket).copied() else { return Err(UpstreamError::ChannelGone) };
            match calls.by_tag.get_mut(&tag) {
                Some(call) if !call.sent => {
                    call.stopped = true;
                    return Ok(());
                }
                Some(_) | None => Tag(tag),
            }
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
        let reply = answer.and_then(|answer| self.read_reply(answer, begun, call.augment)).map(Tried::reply);
        self.ended_with(call.tag, &reply);
        reply
    }

    async fn keep_call(self: &Arc<Self>, tag: Tag, request: CallRequest) -> Result<CallReply, CallError> {
        let mut tag = tag;
        let mut brought = self.one_try(tag, &request).await;
        if let Ok(Tried::HeadersRefused(_)) = &brought {
            // The server checks headers before it runs anything, so a second try with fresh annotations is safe.
            tracing::info!(tool = %request.tool, "the server refused mirrored headers; its tools are listed anew");
            self.drop_tools();
            self.calls.lock().end(tag, None, 0);
            self.ears.remove(tag);
            tag = self.next_tag();
            self.calls.lock().begin(tag, request.ticket);
            brought = self.one_try(tag, &request).await;
        }
        let reply = brought.map(Tried::reply);
        self.ended_with(tag, &reply);
        reply
    }

    /// Remembers what a call became.
    fn ended_with(&self, tag: Tag, reply: &Result<CallReply, CallError>) {
        let lives_on_as = match reply {
            Ok(CallReply::Task { id, .. }) if self.generation_of(id) == Generation::Experimental2025 => {
                Some(id.clone())
            }
            Ok(_) | Err(_) => None,
        };
        let over = self.calls.lock().end(tag, lives_on_as.as_ref(), self.policy.discovered_max);
        if let Some(over) = over {
            self.ears.remove(over);
        }
        if let Ok(CallReply::Task { id, seen }) = reply
            && !seen.status.is_terminal()
        {
            self.created.lock().insert(id.clone());
        }
    }

    async fn one_try(self: &Arc<Self>, tag: Tag, request: &CallRequest) -> Result<Tried, CallError> {
        let unsent = |failed| CallError::NotSent(not_json(failed));
        let arguments = object_text(&request.arguments).map_err(unsent)?;
        let mut verbatim = vec![("arguments", arguments)];
        add_round(request, &mut verbatim).map_err(CallError::NotSent)?;
        let manner = self.manner(request).await?;
        let params = match self.generation {
            Generation::Experimental2025 => {
                experimental2025::call_params(&request.tool, tag.0, manner.augment && !brings_ttl(request))
            }
            Generation::Extension2026 => extension2026::call_params(&request.tool, tag.0),
        };
        if let Some(listener) = &request.listener {
            self.ears.put(tag, Ear::Call(listener.clone()));
        }
        if !self.calls.lock().leave(tag) {
            return Err(CallError::NotSent(UpstreamError::Unreachable {
                why: "the call was stopped before it was sent".into(),
                hint: "Nothing ran.".into(),
            }));
        }
        let begun = self.clock.now();
        self.link.note_call(tag, request.ticket, manner.augment);
        let method = dialect::CALL;
        let agent_params = agent_params(request, manner.augment);
        let param_headers = manner.param_headers;
        let outgoing = Outgoing { method: method.into(), params, verbatim, tag, limit: None, param_headers, agent_params };
        let answer = self.link.request(outgoing).await.map_err(|failed| call_error(failed, &self.policy))?;
        self.read_reply(answer, begun, manner.augment)
    }

    /// What the answer to a call says.
    fn read_reply(&self, answer: Answer, begun: Timestamp, augment: bool) -> Result<Tried, CallError> {
        let glimpse = self.glimpse(ObservationDoor::Create, begun);
        match answer {
            Answer::Error(raw) => {
                let fault = Fault::read(&raw, &self.policy);
                let refused = fault.is_header_mismatch() && self.mirrors_params;
                if fault.may_want_a_task() && self.augments {
                    // Told as it is; the next call reads anew which tools want to be tasks.
                    self.drop_tools();
                }
                let reply = CallReply::Error { error: told(&fault), payload: fault.payload };
                Ok(if refused { Tried::HeadersRefused(reply) } else { Tried::Replied(reply) })
            }
            Answer::Result(raw) => {
                let read = match self.generation {
                    Generation::Extension2026 => extension2026::read_call(&raw, glimpse, &self.policy),
                    Generation::Experimental2025 if extension2026::is_handle(&raw) => {
                        extension2026::read_call(&raw, glimpse, &self.policy).inspect(|reply| self.note_modern(reply))
                    }
                    Generation::Experimental2025 => experimental2025::read_call(&raw, augment, glimpse, &self.policy),
                };
                let reply = read.map_err(|misread| CallError::ReplyLost(misread.of(&raw, &self.policy)))?;
                Ok(Tried::Replied(reply))
            }
        }
    }

    /// What the tool's entry in the list says about how to call it. A list that cannot be had says nothing, unless the
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

/// What of an agent's own params does not go on: answers of another round are the engine's to give.
const STAYS_BEHIND: &[&str] = &["task", "inputResponses", "requestState"];
/// The same where the server is asked for a task: how long it should be kept is the agent's to say.
const STAYS_BEHIND_AUGMENTED: &[&str] = &["inputResponses", "requestState"];

/// Whether the agent itself asks for a task, with whatever it says about it.
fn brings_ttl(request: &CallRequest) -> bool {
    let params = request.agent_params.as_ref().map(Payload::as_str);
    params.and_then(|params| member(params, "task")).is_some_and(|task| task.starts_with('{'))
}

fn agent_params(request: &CallRequest, augment: bool) -> Option<Passenger> {
    let declares = declared(request.abilities);
    let params = match (&request.agent_params, &declares) {
        (None, None) => return None,
        (Some(params), _) => params.clone(),
        (None, Some(_)) => Payload::new("{}"),
    };
    let without = if augment && brings_ttl(request) { STAYS_BEHIND_AUGMENTED } else { STAYS_BEHIND };
    Some(Passenger { params, without, declares, cancel_on_drop: false })
}

#[derive(Default)]
struct Manner {
    augment: bool,
    param_headers: Vec<(String, String)>,
}

/// Adds answers and state of an earlier round: the state if and only if it was given, byte for byte.
fn add_round(request: &CallRequest, verbatim: &mut Vec<(&'static str, Box<RawValue>)>) -> Result<(), UpstreamError> {
    let Some(round) = &request.continuation else { return Ok(()) };
    let answers = round.answers.iter().map(|answer| round_key(answer).map(|key| (key, answer)));
    let answers = answers.collect::<Result<Vec<_>, _>>()?;
    if !answers.is_empty() {
        verbatim.push(("inputResponses", input_responses(answers.into_iter()).map_err(not_json)?));
    }
    if let Some(state) = &round.state {
        let state = RawValue::from_string(state.as_str().to_owned());
        verbatim.push(("requestState", state.map_err(|_| not_json(dialect::NotJson))?));
    }
    Ok(())
}

fn round_key(answer: &AnswerToSend) -> Result<&str, UpstreamError> {
    match &answer.door {
        AskDoor::Round { key, .. } => Ok(key),
        AskDoor::Listed { .. } | AskDoor::Live { .. } => {
            Err(UpstreamError::Unsupported("take this answer with a call"))
        }
    }
}

/// The error for people; a missing capability is named (statement 27).
fn told(fault: &Fault) -> RpcError {
    match fault.missing() {
        Some(name) => RpcError {
            code: fault.error.code,
            message: format!("{} (it needs what Taskwarden does not have: {name})", fault.error.message),
        },
        None => fault.error.clone(),
    }
}
