//! A client is back for an answer whose stream broke: of this core, or of one that was killed (decision 0024).
//!
//! A call of a tool goes on at its row, which is there before the client can know of it. Any other request only reads or
//! waits, so that it is answered again from its params. Nothing is stored: the point is what the client brings back.
//! What is said of a task is `hold.rs`.

use std::sync::Arc;

use domain::ids::HandleId;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::budget::Tap;
use super::clients::WaitingProgram;
use super::guest::Guest;
use super::hold::{Held, Patience, hold};
use super::names::ToolPlace;
use super::tell::Teller;
use super::{Gate, service};
use crate::server::rpc_error::{RequestError, RequestErrorKind};
use crate::server::{RawResult, Request, RequestParams, ResponseStream, ResumeRequest};

/// Where an answer can be had again.
#[derive(Serialize, Deserialize)]
enum Point {
    /// A call with this row.
    #[serde(rename = "call")]
    Call(String),
    /// The request itself.
    #[serde(rename = "again")]
    Again(String, Option<Box<RawValue>>),
}

/// The call with this row can be asked for again.
pub(super) fn at_call(seat: &ResponseStream, id: HandleId) {
    say(seat, || Point::Call(id.to_string()));
}

/// This request can be answered again; long ones cannot.
pub(super) fn at_request(gate: &Gate, seat: &ResponseStream, request: &Request) {
    let raw = request.params.raw();
    if raw.is_none_or(|raw| raw.get().len() <= gate.policy.serving.carried_bytes) {
        say(seat, || Point::Again(request.method.clone(), raw.map(ToOwned::to_owned)));
    }
}

fn say(seat: &ResponseStream, point: impl FnOnce() -> Point) {
    if seat.may_resume()
        && let Ok(text) = serde_json::to_string(&point())
    {
        seat.resume_at(&text);
    }
}

/// What a point stands for: a request to answer, and the row of its call when it is one.
///
/// # Errors
/// When a later version wrote it.
pub(super) fn read(resumed: ResumeRequest) -> Result<(Request, Option<HandleId>), RequestError> {
    let unreadable = || RequestError::new(RequestErrorKind::InvalidRequest, "this answer cannot be asked for again");
    let ResumeRequest { id, point, principal } = resumed;
    let (method, params, row) = match serde_json::from_str(&point).map_err(|_| unreadable())? {
        Point::Call(row) => ("tools/call".to_owned(), None, Some(row.parse().map_err(|_| unreadable())?)),
        Point::Again(method, params) => (method, params, None),
    };
    Ok((Request { id, method, params: RequestParams::open(params)?, principal, mirrored: None }, row))
}

/// Holds a call again.
///
/// # Errors
/// When there is no such call of this agent, and what [`hold`] says.
pub(super) async fn call(
    gate: &Arc<Gate>,
    guest: &Guest,
    id: HandleId,
    seat: &ResponseStream,
    tap: &mut Tap<'_>,
) -> Result<RawResult, RequestError> {
    let found = gate.engine.rejoin(guest.agent, id).await.map_err(|error| service::fault(&error))?;
    let handle = found.ok_or_else(RequestError::unknown_task)?;
    at_call(seat, id);
    let tool = handle.tool.clone().unwrap_or_else(|| Arc::from(""));
    let place = ToolPlace { server: handle.server, tool };
    let (mut teller, _listener) = Teller::new(gate, guest, place.server, None);
    // Whether the client asked for progress is not known any more: its fixed timeout counts, from the call's beginning.
    let (program, now) = (WaitingProgram::of(gate, guest, &RequestParams::open(None)?, seat), Instant::now());
    let age = gate.clock.now().since(handle.created);
    let patience = Patience::of(gate, guest, &place, (&program, now)).joined(now, age);
    hold(gate, guest, Held { id, patience, waits: false, since: None }, &mut teller, seat, tap).await
}
