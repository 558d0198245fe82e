//! MCP over a pair of pipes: one client, newline-delimited JSON, both eras.
//!
//! A request with a version in `_meta` is modern and self-contained; `initialize` opens the one session of the process.
//! Everything ends with the input. Nothing but protocol messages is written to the output.

pub(crate) mod line_budget;
pub(crate) mod line_reader;

use std::collections::VecDeque;
use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::Buf as _;

use domain::policy::Policy;
use engine::Draw;
use engine::runtime::supervisor::Supervisor;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use futures::{FutureExt as _, Stream as _};
use parking_lot::Mutex;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::mpsc;

use self::line_budget::{LineBudget, LineCount};
use self::line_reader::ClientLine;
use super::principal::Principal;
use super::service::{Client, Request, Service};
use super::session::{Session, SessionStart, SessionTransport};
use crate::server::in_flight::CancelReason;
use crate::server::in_flight::InFlightRequests;
use crate::server::request_meta;
use crate::server::request_params::RequestParams;
use crate::server::response_stream::ResponseStream;
use crate::server::rpc_error::{RequestError, RequestErrorKind};
use crate::server::signing::SigningKey;
use crate::server::stream_writer::{StreamMessage, StreamWriter};
use crate::wire::message::{self, Id, Incoming, Message, MessageLimits};

/// What a transport needs besides the service.
#[derive(Clone)]
pub struct ServerParts {
    /// Limits and durations.
    pub policy: Policy,
    /// Random bits, for session ids.
    pub draw: Draw,
    /// The scope everything of the face runs in.
    pub supervisor: Supervisor,
    /// Signs what clients over HTTP bring back after a restart; without it their sessions end with the face.
    pub key: Option<SigningKey>,
}

impl ServerParts {
    pub(crate) fn limits(&self) -> MessageLimits {
        MessageLimits { bytes: self.policy.serving.body_cap_bytes, ..MessageLimits::of(&self.policy) }
    }

    pub(crate) fn session_id(&self) -> String {
        format!("{:032x}", (self.draw)())
    }
}

/// Lines that are taken at most before the requests among them are worked on.
const LINES_IN_TURN: usize = 64;
/// Bytes of a client's input that are read at once.
const READ_BYTES: usize = 32 * 1_024;
/// Answers that wait are written together up to about this size; a larger one is written from where it is.
const WRITE_BYTES: usize = 64 * 1_024;

/// Serves one client until its input ends or the supervisor stops. `principal` is whom the door let in, where it asks.
///
/// All of it happens in the calling task: reading, every request, and writing. A quick answer wakes nobody else.
///
/// # Errors
/// When reading or writing fails other than by the end.
pub fn serve_pipes<R, W>(
    service: Arc<dyn Service>,
    parts: ServerParts,
    principal: Option<Principal>,
    input: R,
    output: W,
) -> impl Future<Output = Result<(), std::io::Error>>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    serve_counted_pipes(service, parts, principal, None, input, output)
}

/// As [`serve_pipes`], and `budget` counts what the client sends until the work on it ends.
///
/// # Errors
/// As [`serve_pipes`].
pub async fn serve_counted_pipes<R, W>(
    service: Arc<dyn Service>,
    parts: ServerParts,
    principal: Option<Principal>,
    budget: Option<Arc<dyn LineBudget>>,
    input: R,
    output: W,
) -> Result<(), std::io::Error>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let scope = parts.supervisor.scope();
    let grace = parts.policy.serving.end_grace;
    let (writer, frames) = StreamWriter::open();
    let in_flight = InFlightRequests::new(parts.policy.serving.requests_in_work_max);
    let parts = ServerParts { supervisor: scope.clone(), ..parts };
    let peer = Arc::new(Peer {
        service,
        limits: parts.limits(),
        parts,
        principal,
        writer,
        in_flight,
        session: Mutex::new(None),
        begun: Mutex::default(),
    });
    let mut writing = std::pin::pin!(write(frames, output));
    let mut has_written = false;
    // In this order, so that one turn of the task takes a line, works on it and writes what came of it. What ends it comes
    // first: a client that never stops sending could use up all that the runtime lets one turn do.
    let ended = tokio::select! {
        biased;
        () = scope.stopping().cancelled_owned() => Ok(()),
        () = expelled(&peer, principal, grace) => Ok(()),
        ended = read(&peer, budget.as_deref(), input, grace) => ended,
        () = work(&peer) => Ok(()),
        broken = &mut writing => {
            has_written = true;
            tracing::info!("the client does not read any more");
            broken
        }
    };
    let session = peer.session.lock().take();
    if let Some(session) = session {
        peer.service.session_over(&session);
        session.leave();
    }
    scope.cancel();
    // Requests hold it, too.
    peer.begun.lock().clear();
    drop(peer);
    // What was answered still goes out; the writer ends with the last writer.
    if !has_written {
        drop(tokio::time::timeout(grace, writing).await);
    }
    ended
}

/// Resolves when the client may not stay and what it had in work is answered.
async fn expelled(peer: &Peer, principal: Option<Principal>, grace: Duration) {
    let Some(principal) = principal else { return std::future::pending().await };
    drop(peer.service.expelled(principal).await);
    drop(tokio::time::timeout(grace, peer.in_flight.emptied()).await);
}

/// Takes lines until the input ends, then leaves quick requests a moment to be answered.
async fn read<R: AsyncRead + Unpin>(
    peer: &Arc<Peer>,
    budget: Option<&dyn LineBudget>,
    input: R,
    grace: Duration,
) -> Result<(), std::io::Error> {
    let mut input = BufReader::with_capacity(READ_BYTES, input);
    let mut lines = 0_usize;
    while let Some((line, count)) = line_reader::next(&mut input, &peer.parts.policy, budget).await? {
        peer.clone().line(line, count).await;
        lines = lines.wrapping_add(1);
        if lines.is_multiple_of(LINES_IN_TURN) {
            tokio::task::yield_now().await;
        }
    }
    drop(tokio::time::timeout(grace, peer.in_flight.emptied()).await);
    Ok(())
}

/// Works on the requests that were begun, for ever. Dropping it gives them up.
async fn work(peer: &Peer) {
    let mut requests = FuturesUnordered::new();
    poll_fn(|cx| {
        requests.extend(peer.begun.lock().drain(..));
        // Pending also when there are none: the next line wakes this task.
        while let Poll::Ready(Some(())) = Pin::new(&mut requests).poll_next(cx) {}
        Poll::<()>::Pending
    })
    .await;
}

/// Writes frames until the outlets are gone.
async fn write<W: AsyncWrite + Unpin>(
    mut frames: mpsc::Receiver<StreamMessage>,
    mut output: W,
) -> Result<(), std::io::Error> {
    let mut batch = Vec::new();
    while let Some(frame) = frames.recv().await {
        let mut large = put(&mut batch, frame);
        while large.is_none()
            && batch.len() < WRITE_BYTES
            && let Ok(frame) = frames.try_recv()
        {
            large = put(&mut batch, frame);
        }
        match large {
            Some(large) => {
                let mut all = batch.as_slice().chain(large.bytes.as_slice()).chain(&b"\n"[..]);
                output.write_all_buf(&mut all).await?;
            }
            None => output.write_all(&batch).await?,
        }
        output.flush().await?;
        batch.clear();
        batch.shrink_to(WRITE_BYTES);
    }
    Ok(())
}

/// Adds a frame to those that are written together, unless it is too large to be copied.
fn put(batch: &mut Vec<u8>, frame: StreamMessage) -> Option<StreamMessage> {
    if frame.bytes.len() > WRITE_BYTES {
        return Some(frame);
    }
    batch.extend_from_slice(&frame.bytes);
    batch.push(b'\n');
    None
}

struct Peer {
    service: Arc<dyn Service>,
    parts: ServerParts,
    limits: MessageLimits,
    principal: Option<Principal>,
    writer: StreamWriter,
    in_flight: InFlightRequests,
    session: Mutex<Option<Arc<Session>>>,
    /// Requests that nobody works on yet.
    begun: Mutex<VecDeque<BoxFuture<'static, ()>>>,
}

impl Peer {
    async fn line(self: Arc<Self>, line: ClientLine, count: LineCount) {
        let text = match line {
            ClientLine::Text(text) if text.iter().all(u8::is_ascii_whitespace) => return,
            ClientLine::Text(text) => text,
            ClientLine::TooLong(id) => {
                let cap = self.limits.bytes;
                let fault = RequestError::new(
                    RequestErrorKind::InvalidRequest,
                    format!("the message has more than {cap} bytes"),
                );
                return self.refuse(id.as_ref(), &fault).await;
            }
            ClientLine::NoRoom(id) => return self.refuse(id.as_ref(), &no_room()).await,
        };
        match message::parse_of_client(&text, &self.limits) {
            Ok(Incoming::One(message)) => self.message(message, count).await,
            Ok(Incoming::Batch(members)) => {
                for member in members {
                    match member {
                        Ok(message) => self.clone().message(message, count.clone()).await,
                        Err(bad) => self.bad(&bad).await,
                    }
                }
            }
            Err(bad) => self.bad(&bad).await,
        }
    }

    async fn bad(&self, bad: &message::BadMessage) {
        let fault = RequestError::new(RequestErrorKind::OfTool(bad.code()), bad.to_string());
        self.refuse(bad.id.as_ref(), &fault).await;
    }

    async fn message(self: Arc<Self>, message: Message, count: LineCount) {
        match message {
            Message::Request { id, .. } if count.is_over() => self.refuse(Some(&id), &no_room()).await,
            Message::Request { id, method, params } => self.request(id, method, params, count).await,
            Message::Notification { method, params } => self.notification(&method, params.as_deref()).await,
            Message::Response { id, answer } => {
                let session = self.session.lock().clone();
                if let (Some(session), Some(id)) = (session, id) {
                    session.asks().deliver(&id, answer);
                }
            }
        }
    }

    async fn notification(&self, method: &str, params: Option<&RawValue>) {
        if method == "notifications/cancelled" {
            if let Some((id, how)) = cancelled(params, self.parts.policy.rpc_id_cap_bytes) {
                self.in_flight.cancel(&id, how);
            }
            return;
        }
        let session = self.session.lock().clone();
        if let Some(session) = session {
            self.service.notification(&session, method, params).await;
        }
    }

    async fn request(self: Arc<Self>, id: Id, method: String, raw: Option<Box<RawValue>>, count: LineCount) {
        let read = RequestParams::open(raw).and_then(|params| Ok((self.client(&method, &params)?, params)));
        let (client, params) = match read {
            Ok(read) => read,
            Err(fault) => return self.refuse(Some(&id), &fault).await,
        };
        let is_initialize = method == "initialize";
        let request = Request { id: id.clone(), method, params, principal: self.principal, mirrored: None };
        let place = match self.in_flight.take(&id) {
            Ok(place) => place,
            Err(fault) => {
                self.service.refused(client, request, &fault);
                return self.refuse(Some(&id), &fault).await;
            }
        };
        let session = match &client {
            Client::Legacy(session) => Some(session.clone()),
            Client::Modern(_) => None,
        };
        let opens = is_initialize && session.is_some();
        let stream = ResponseStream::new(self.writer.clone(), session, place.given_up.clone(), false);
        let peer = self.clone();
        let work = async move {
            // The bytes of the line count until the work ends.
            let _count = count;
            let answer = tokio::select! {
                answer = peer.service.request(client.clone(), request, stream) => answer,
                () = place.cancelled.cancelled() => return,
            };
            if let (true, Ok(_), Client::Legacy(session)) = (opens, &answer, &client) {
                session.stand(peer.writer.clone());
            } else if let (true, Err(_), Client::Legacy(session)) = (opens, &answer, &client) {
                *peer.session.lock() = None;
                peer.service.session_over(session);
            }
            let bytes = match answer {
                Ok(result) => Ok(result.write(&id)),
                Err(fault) => fault.write(Some(&id)),
            };
            // A client that is gone needs no answer.
            let (Ok(bytes), Ok(room)) = (bytes, peer.writer.room().await) else { return };
            // The id is free before the client can see the answer, and whoever waits until nothing is in work finds the
            // answer on its way.
            drop(place);
            room.say(bytes);
        };
        let work = AssertUnwindSafe(work).catch_unwind().map(|ended| {
            if ended.is_err() {
                tracing::error!("a request over a pipe panicked");
            }
        });
        self.begun.lock().push_back(Box::pin(work));
    }

    /// Who sends this request.
    fn client(&self, method: &str, params: &RequestParams) -> Result<Client, RequestError> {
        if request_meta::opens_modern(params) {
            return request_meta::read(params).map(Client::Modern);
        }
        let mut session = self.session.lock();
        if method == "initialize" {
            if session.is_some() {
                return Err(RequestError::new(RequestErrorKind::InvalidRequest, "this session is initialized already"));
            }
            let scope = self.parts.supervisor.scope();
            let serving = &self.parts.policy.serving;
            let opening = SessionStart::read(self.parts.session_id(), params, self.principal)?;
            let opened = Session::open(opening, SessionTransport::Stdio, scope, serving);
            *session = Some(opened.clone());
            return Ok(Client::Legacy(opened));
        }
        match &*session {
            Some(session) => Ok(Client::Legacy(session.clone())),
            None => Err(RequestError::new(
                RequestErrorKind::BadMeta,
                format!("`params._meta` must hold `{}`, or `initialize` must come first", request_meta::META_VERSION),
            )),
        }
    }

    async fn refuse(&self, id: Option<&Id>, fault: &RequestError) {
        self.say(fault.write(id)).await;
    }

    async fn say(&self, bytes: serde_json::Result<Vec<u8>>) {
        if let Ok(bytes) = bytes {
            // A client that is gone needs no answer; the reader sees the end too.
            drop(self.writer.say(bytes).await);
        }
    }
}

/// The answer to a request for whose line there was no room.
fn no_room() -> RequestError {
    let words = "open requests use all the memory they may use; send this one again when some of them are answered";
    RequestError::new(RequestErrorKind::Internal, words)
}

/// The request that `notifications/cancelled` names, and how it is given up.
///
/// The common TypeScript client cancels what it has waited too long for, and says so in its reason; that is the client's
/// patience, not a wish to stop the work (ruling 24). Codex gives one reason for its own timeout and for a person's Esc:
/// the work continues then, because a person can still cancel it, and a call made twice cannot be undone.
pub(crate) fn cancelled(params: Option<&RawValue>, cap_bytes: usize) -> Option<(Id, CancelReason)> {
    let params: Map<String, Value> = serde_json::from_str(params?.get()).ok()?;
    let id = Id::read(&params.get("requestId")?.to_string(), cap_bytes)?;
    let reason = params.get("reason").and_then(Value::as_str).unwrap_or_default().to_ascii_lowercase();
    let ran_out =
        ["timed out", "timeout", "mcp request cancelled by caller"].iter().any(|words| reason.contains(words));
    Some((id, if ran_out { CancelReason::TimedOut } else { CancelReason::Cancelled }))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use serde_json::value::to_raw_value;

    use super::*;

    #[test]
    fn only_a_reason_that_can_mean_nothing_else_asks_for_the_work_to_stop() {
        for (reason, how) in [
            (json!("McpError: MCP error -32001: Request timed out"), CancelReason::TimedOut),
            (json!("request timeout"), CancelReason::TimedOut),
            (json!("MCP request cancelled by caller"), CancelReason::TimedOut),
            (json!("AbortError: The operation was aborted."), CancelReason::Cancelled),
            (json!("the user changed their mind"), CancelReason::Cancelled),
            (json!(null), CancelReason::Cancelled),
        ] {
            let params = to_raw_value(&json!({"requestId": 7, "reason": reason})).expect("JSON");
            let read = cancelled(Some(&params), 100).map(|(_, how)| how);
            assert_eq!(read, Some(how), "{reason}");
        }
    }

    #[test]
    fn how_a_request_was_given_up_is_what_its_client_said_first() {
        let open = InFlightRequests::new(1);
        let id = Id::read("7", 100).expect("an id");
        let place = open.take(&id).expect("room");
        let (writer, _frames) = StreamWriter::open();
        let stream = ResponseStream::new(writer, None, place.given_up.clone(), false);
        open.cancel(&id, CancelReason::TimedOut);
        open.cancel(&id, CancelReason::Cancelled);
        assert_eq!(stream.given_up(), Some(CancelReason::TimedOut), "an abort behind a timeout is no wish");
    }
}
