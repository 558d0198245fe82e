//! The trait of one connection that carries JSON-RPC both ways, whatever it runs over.
//!
//! A [`McpLink`] knows ids, streams, headers and time limits, but no tools, tasks or questions. Results and params stay
//! raw text, so that what is forwarded is never re-typed. `line_connection.rs` and `http/` implement it.

use std::borrow::Cow;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytestring::ByteString;
use domain::ids::HandleId;
use domain::ports::{Abilities, Closure, FreezeReading, PortFuture, SendPermit};
use domain::server::Era;
use domain::task::payload::Payload;
use futures_core::Stream;
use serde_json::Value;
use serde_json::value::RawValue;

/// Names one outgoing request on its link, to cancel it and to match what arrives on its stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RequestTag(pub u64);

/// A request to send. The link adds the id, and in the modern era the required `_meta` keys (keeping other keys of
/// `params._meta`) and the mirrored headers.
#[derive(Clone)]
pub struct OutgoingRequest {
    /// The JSON-RPC method.
    pub method: Cow<'static, str>,
    /// `params` as an object.
    pub params: Value,
    /// Further members of `params` that go out exactly as they are (`arguments`): number spelling and order of keys
    /// survive. A name that `params` has as well wins over it; members of a `_meta` are added to the one that goes out.
    pub verbatim: Vec<(&'static str, ByteString)>,
    /// Chosen by the caller, unique on this link.
    pub tag: RequestTag,
    /// Fails with [`LinkError::NoAnswer`] after this; `None` waits until the connection ends.
    pub limit: Option<Duration>,
    /// Modern HTTP: `Mcp-Param-*` headers, name without prefix and plain value; the link encodes them.
    pub param_headers: Vec<(String, String)>,
    /// An agent's own params, which are forwarded with this request.
    pub agent_params: Option<ForwardedParams>,
    /// Asked right before the first byte leaves, wherever the request waited.
    pub permit: SendPermit,
}

/// The params of an agent's request, as they are forwarded.
#[derive(Clone, PartialEq, Eq)]
pub struct ForwardedParams {
    /// Its `params`, an object as it came. All of its members go out as they are, in their order and spelling, but for
    /// those that [`OutgoingRequest::params`] and [`OutgoingRequest::verbatim`] set and for the `_meta` keys that are the link's.
    pub params: Payload,
    /// Members that stay behind, unless they are set.
    pub without: &'static [&'static str],
    /// The capabilities to declare in the modern era, a JSON object; the link's own when absent.
    pub declares: Option<Payload>,
    /// Whether dropping the request's future cancels it at the server in all eras.
    pub cancel_on_drop: bool,
}

/// Params hold arguments and task ids: only the method shows.
impl fmt::Debug for OutgoingRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Outgoing({} {:?})", self.method, self.tag)
    }
}

pub use crate::wire::message::{Answer, SharedAnswer};

/// Why a request brought no answer. `sent` tells whether anything may have left the machine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// The connection is gone, or could not be made.
    #[error("{why}")]
    Broken {
        /// The reason, on one line.
        why: String,
        /// What a person can do.
        hint: String,
        /// Whether the request may have reached the server.
        sent: bool,
    },
    /// No answer within the limit; the request is abandoned (and cancelled in the transport's way).
    #[error("no answer within {} s", .0.as_secs())]
    NoAnswer(Duration),
    /// The request was cancelled; nobody waits for its answer.
    #[error("the request was cancelled")]
    GivenUp,
    /// HTTP 429, or 503 with `Retry-After`.
    #[error("the server asks to wait")]
    RateLimited(Option<Duration>),
    /// HTTP 401 or 403.
    #[error("{why}")]
    Unauthorized {
        /// The reason, on one line.
        why: String,
        /// What a person can do.
        hint: String,
    },
    /// The answer is not JSON-RPC, too large or too deep.
    #[error("{why}")]
    Unreadable {
        /// One line, names the place.
        why: String,
        /// The beginning of it, capped, for `doctor`; redacted in `Debug`.
        raw: Payload,
    },
}

/// What a person can do about a process that ended or takes no messages: what it wrote is in its log.
pub(crate) const SEE_SERVER_LOG: &str =
    "Taskwarden starts it again; what it wrote last is in the server's log (`taskwarden servers log NAME`).";

/// The request may not leave any more, and nothing of it did.
pub(crate) fn not_permitted() -> LinkError {
    LinkError::Broken {
        why: "a halt refused the call before it was sent".into(),
        hint: "Nothing ran. `taskwarden halt` shows what is halted.".into(),
        sent: false,
    }
}

/// What answers a request of the server.
#[derive(Clone)]
pub enum Response {
    /// The `result` member, as it goes out.
    Result(Box<RawValue>),
    /// The `error` member: code and message.
    Error(i64, String),
}

/// A result may be a person's answer: only the kind shows.
impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Result(_) => f.write_str("Result(…)"),
            Self::Error(code, _) => write!(f, "Error({code})"),
        }
    }
}

/// A message of the server that is no answer, in order of arrival.
pub enum InboundMessage {
    /// A request (legacy eras only); answer it with [`McpLink::respond`]. `ping` never comes here: the link answers it.
    Request {
        /// Names it on this link: the JSON text of its id (`7`, `"q-1"`), so that the `requestId` of a
        /// `notifications/cancelled` names it too.
        token: String,
        /// The JSON-RPC method.
        method: String,
        /// Params, `null` when absent.
        params: Box<RawValue>,
        /// On the response stream of which of our requests it came; `None` on stdio, unless it names a subscription of
        /// ours, and on the GET stream.
        on: Option<RequestTag>,
    },
    /// A notification of the server.
    Notification {
        /// The JSON-RPC method.
        method: String,
        /// Params, `null` when absent.
        params: Box<RawValue>,
        /// The request on whose stream it came, as for requests.
        on: Option<RequestTag>,
    },
    /// The session's stream was reopened after a break; messages in between are lost.
    StreamBack,
    /// The session's stream broke, and this attempt to open it again failed.
    StreamLost,
    /// The link has ended; always last.
    Closed(Closure),
}

/// Params hold questions and task ids: only methods and streams show.
impl fmt::Debug for InboundMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request { method, on, .. } => write!(f, "Request({method} on {on:?})"),
            Self::Notification { method, on, .. } => write!(f, "Notification({method} on {on:?})"),
            Self::StreamBack => f.write_str("StreamBack"),
            Self::StreamLost => f.write_str("StreamLost"),
            Self::Closed(closure) => write!(f, "Closed({})", closure.why),
        }
    }
}

/// Gets notifications before the link delivers the answer they precede.
pub trait NotificationListener: Send + Sync + 'static {
    /// A notification came on the stream of the request `on`, or on no request's. Returns whether it was for one request
    /// alone and was delivered: then it does not come through [`OpenedLink::inbound`]. Never waits.
    fn told(&self, method: &str, params: &RawValue, on: Option<RequestTag>) -> bool;
}

/// One connection.
///
/// The stream of [`OpenedLink::inbound`] must be drained whatever else is awaited: it is bounded, and a link whose
/// stream stays full for `reply_limit` breaks. Dropping the future of a request gives the request up: on modern HTTP
/// that closes its stream, which the server takes as a cancel; elsewhere a late answer is dropped quietly.
pub trait McpLink: Send + Sync + 'static {
    /// Sends a request and waits for its answer.
    fn request(&self, request: OutgoingRequest) -> PortFuture<'_, Result<Answer, LinkError>>;
    /// The same, for an answer that is passed on: it may be a part of the message that it came in.
    fn call(&self, request: OutgoingRequest) -> PortFuture<'_, Result<SharedAnswer, LinkError>> {
        Box::pin(async move { self.request(request).await.map(SharedAnswer::from) })
    }
    /// Sends a notification.
    fn notify<'a>(&'a self, method: &'a str, params: Option<&'a RawValue>) -> PortFuture<'a, Result<(), LinkError>>;
    /// Answers a request of the server. `Ok` when it was written (stdio) or accepted (HTTP 2xx);
    /// `Broken` when the request is not pending on this link any more.
    fn respond<'a>(&'a self, token: &'a str, response: Response) -> PortFuture<'a, Result<(), LinkError>>;
    /// Gives up an outstanding request in the transport's way: closes its stream on modern HTTP, sends
    /// `notifications/cancelled` elsewhere. Its `request` future then fails with `Broken { sent: true }`.
    fn cancel(&self, tag: RequestTag, reason: Option<String>) -> PortFuture<'_, Result<(), LinkError>>;
    /// Calls `listener` first for every notification from now on, in order with the answers. Returns whether the link can.
    fn set_notification_listener(&self, _ear: Arc<dyn NotificationListener>) -> bool {
        false
    }
    /// Announces which call the request with this tag is, so that another core can match its reply to the handle.
    fn note_call(&self, _tag: RequestTag, _ticket: HandleId, _augment: bool) {}
    /// The reply to this call is recorded or not needed: it need not be kept for another core.
    fn settle(&self, _ticket: HandleId) {}
    /// Whether the server's processes can be stopped: they run here.
    fn can_freeze(&self) -> bool {
        false
    }
    /// Stops the server's processes, or lets them continue; see `Upstream::freeze`.
    fn freeze(&self, _is_frozen: bool) -> PortFuture<'_, Option<FreezeReading>> {
        Box::pin(std::future::ready(None))
    }
    /// The core shuts down: as `close` with live tasks, but a child with a keeper keeps running.
    fn leave(&self) -> PortFuture<'_, ()> {
        self.close(true)
    }
    /// The end of a child's standard error; empty for other links.
    fn stderr_tail(&self) -> String;
    /// Ends the connection; see `Upstream::close`.
    fn close(&self, tasks_live: bool) -> PortFuture<'_, ()>;
}

/// A link that has been through the era probe and the handshake.
pub struct OpenedLink {
    /// The link itself.
    pub link: Arc<dyn McpLink>,
    /// Messages of the server that are no answers.
    pub inbound: Pin<Box<dyn Stream<Item = InboundMessage> + Send>>,
    /// The era that was negotiated.
    pub era: Era,
    /// Protocol version agreed.
    pub version: String,
    /// The `server/discover` or `initialize` result, raw.
    pub hello: Box<RawValue>,
    /// `Mcp-Session-Id`, or a random name for this life of a child. `None` on modern HTTP.
    pub session: Option<String>,
    /// Whether `session` was resumed, so that earlier tasks still exist.
    pub resumed: bool,
    /// Process id (and group) of a child.
    pub child: Option<u32>,
    /// Calls of an earlier core, when its child was resumed.
    pub regained: Option<ResumedChild>,
}

/// What a kept child (ruling 16) has for the core that resumes it.
pub struct ResumedChild {
    /// What the child was told that its agent can be asked; it is not told again.
    pub abilities: Abilities,
    /// Tags below this may still be named by the child as progress tokens of an earlier core.
    pub first_tag: u64,
    /// Calls of an earlier core whose replies are still to come, or to be taken.
    pub calls: Vec<ResumedCall>,
}

/// A call that an earlier core sent.
pub struct ResumedCall {
    /// The handle it belongs to.
    pub ticket: HandleId,
    /// Its tag, which is its progress token.
    pub tag: RequestTag,
    /// Whether it asked for a task of 2025.
    pub augment: bool,
    /// Its reply, however late.
    pub answer: PortFuture<'static, Result<Answer, LinkError>>,
}
