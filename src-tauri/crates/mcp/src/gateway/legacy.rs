//! Sessions that begin with `initialize`, and their calls that ask for a task (protocol.md §1, §7.3).
//!
//! In these eras the client decides what becomes a task. A call with `params.task` has a row at once, whatever its
//! server can do, and its handle leaves after the row is durable. Versions before 2025-11-25 know no tasks; their calls
//! and those without `task` are `call.rs`. What a session is told unasked is `courier.rs` and `subscribe.rs`.

use std::sync::Arc;
use std::time::Duration;

use domain::policy::Policy;
use engine::{CallOutcome, HangUp, Passed};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::budget::{self, Tap};
use super::guest::Guest;
use super::tell::Teller;
use super::{Gate, asking, bridge, call, courier, era, forward, legacy_tasks, merge, names, service};
use crate::server::rpc_error::{RequestError, RequestErrorKind};
use crate::server::{RawResult, Request, RequestParams, ResponseStream, Session};

/// Answers `initialize`.
///
/// # Errors
/// When the server behind the door cannot be reached.
pub(super) async fn initialize(gate: &Arc<Gate>, guest: &Guest, request: &Request) -> Result<Box<RawValue>, RequestError> {
    let _ = request;
    let session = guest.session().ok_or_else(RequestError::no_method)?;
    let greeting = merge::greeting(gate, guest).await?;
    let mut capabilities = greeting.capabilities;
    if guest.wants_own_tools() {
        capabilities.entry("tools").or_insert_with(|| json!({}));
    }
    // Results are resources of ours, whatever stands behind.
    capabilities.entry("resources").or_insert_with(|| json!({}));
    if session.has_tasks() {
        let tasks = json!({"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}});
        capabilities.insert("tasks".to_owned(), tasks);
    }
    let mut hello = Map::new();
    hello.insert("protocolVersion".to_owned(), session.version().into());
    hello.insert("capabilities".to_owned(), Value::Object(capabilities));
    hello.insert("serverInfo".to_owned(), json!({"name": "taskwarden", "version": env!("CARGO_PKG_VERSION")}));
    if let Some(words) = greeting.instructions {
        hello.insert("instructions".to_owned(), words.into());
    }
    let hello = service::result(&hello)?;
    budget::begins(gate, guest);
    Ok(hello)
}

/// A `tools/call` with `params.task` in a session that has tasks. Calls without it are `call::call`.
///
/// # Errors
/// The server's own, raw, or why it cannot be reached.
pub(super) async fn call(
    gate: &Arc<Gate>,
    guest: &Guest,
    request: Request,
    seat: &ResponseStream,
    tap: &mut Tap<'_>,
) -> Result<RawResult, RequestError> {
    let name = request.params.text("name").ok_or_else(|| RequestError::params("`name` must be a text"))?;
    let params = &request.params;
    let place = names::tool(gate, guest, &name).await.inspect_err(|_| tap.called_here(params))?;
    let server = place.server;
    let token = request.params.progress_token();
    let (_, listener) = Teller::new(gate, guest, server, None);
    let order = call::agent_call(gate, guest, &place, params, seat, listener);
    let mut order = order.inspect_err(|_| tap.called_here(params))?;
    tap.calls(&order);
    // What is said on the way goes to the standing stream, from the row.
    order.listener = None;
    order.own_task = true;
    order.hang_up = HangUp::Keep;
    order.agent_ttl = asked_ttl(&request.params, &gate.policy)?;
    let id = match gate.engine.agent_call(order).await.map_err(|failed| service::fault(&failed))? {
        CallOutcome::Handle(id) | CallOutcome::Joined(id) => id,
        // Refused before anything was sent, or by a server that keeps no word: as it is.
        CallOutcome::Result { payload, .. } | CallOutcome::NeedsInput { whole: payload } => {
            let result = era::result(guest, forward::down_text(gate, guest, server, None, payload));
            tap.shows(Passed::Result(result.clone()));
            return Ok(RawResult::Text(result));
        }
        CallOutcome::Error { payload } => {
            return Err(RequestError::raw(&forward::down(gate, guest, server, None, &payload).await?));
        }
    };
    gate.engine.give(id).await.map_err(|failed| service::fault(&failed))?;
    let watch = asking::watch(gate, id).await?.ok_or_else(RequestError::unknown_task)?;
    let handle = watch.now();
    let task = legacy_tasks::task(gate, guest, &handle).await?;
    tap.becomes(&handle);
    tap.handle(&task.raw);
    gate.looks.told(gate, guest, &handle, false);
    courier::follow(gate, guest, watch, token);
    if seat.is_gone() {
        gate.engine.hung_up(id, HangUp::Keep).await;
    } else {
        gate.engine.delivered(id);
    }
    let reply = bridge::raw(format!("{{\"task\":{}}}", task.raw.get()));
    let unwritten = || RequestError::new(RequestErrorKind::Internal, "the task could not be written");
    reply.map(RawResult::Raw).ok_or_else(unwritten)
}

/// How long the agent wants the task kept (`params.task.ttl`); `None` when it does not say.
fn asked_ttl(params: &RequestParams, policy: &Policy) -> Result<Option<Duration>, RequestError> {
    let task =
        params.value("task").filter(Value::is_object).ok_or_else(|| RequestError::params("`task` must be an object"))?;
    let ttl = match task.get("ttl") {
        None | Some(Value::Null) => return Ok(None),
        Some(ttl) => ttl.as_f64().filter(|ttl| ttl.is_finite() && *ttl >= 0.0),
    };
    let ttl = ttl.ok_or_else(|| RequestError::params("`task.ttl` must be a number of milliseconds"))?;
    Ok(Some(Duration::from_millis(ttl as u64).max(policy.gateway.agent_ttl_min)))
}

/// Whether something still runs for this session.
pub(super) fn is_busy(gate: &Gate, session: &Session) -> bool {
    gate.couriers.is_busy(session)
}

/// The session is over. Its tasks are its agent's and go on.
pub(super) fn session_over(gate: &Arc<Gate>, session: &Session) {
    gate.couriers.forget(session);
}
