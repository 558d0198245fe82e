//! The HTTP+SSE transport of 2024-11-05: one stream down, POSTs up.
//!
//! The first event names where to POST; it must be of the same origin, because headers with secrets go there. The
//! stream is the session: when it ends the link ends. It is tried after Streamable HTTP was refused (statement 7), or
//! when an earlier verdict says so.

use std::sync::{Arc, Weak};

use domain::policy::{Policy, plain_text};
use domain::ports::Closure;
use domain::server::Era;
use futures::StreamExt;
use http::Method;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;

use super::endpoint::Endpoint;
use super::plain_connection::RequestBody;
use super::server_response::ServerResponse;
use crate::probe::{Initialized, initialized};
use crate::upstream::transport::http::response::{self, HttpReply, ReplyFailure};
use crate::upstream::transport::inbound_queue::{self, LinkEnd};
use crate::upstream::transport::line_connection::{
    LineConnection, LineEra, LineTransport, OUTBOX_CAPACITY, OutgoingLine,
};
use crate::upstream::transport::link::{LinkError, McpLink, OpenedLink};
use crate::upstream::transport::request_params::{OutgoingParams, initialize};
use crate::upstream::transport::{HANDSHAKE_TAG, OpenContext, OpenError};
use crate::wire::sse::{SseBody, SseReader};

/// POSTs on their way at once: one that the server holds open until its answer must not stop the next.
const POSTS_MAX: usize = 16;

/// The way of this transport, as a duplex link sees it.
struct Stream {
    ending: CancellationToken,
}

impl LineTransport for Stream {
    fn stderr_tail(&self) -> String {
        String::new()
    }

    fn begin_end(&self) {
        self.ending.cancel();
    }

    fn name(&self) -> &'static str {
        "http+sse"
    }
}

/// Why it could not be opened.
pub(crate) struct NotOpened {
    /// There is such a stream: what follows is the real trouble.
    pub(crate) found: bool,
    pub(crate) error: OpenError,
}

/// Opens the stream and shakes hands.
pub(crate) async fn open(endpoint: Endpoint, ctx: &OpenContext) -> Result<OpenedLink, NotOpened> {
    let policy = &ctx.policy;
    let mut down = Down { events: SseReader::new(policy), response: None };
    let opening = timeout(policy.initialize_limit, down.begin(&endpoint, policy)).await;
    let silent = || Err(nothing(&endpoint.origin(), "it names no address for messages"));
    let reference = match opening.unwrap_or_else(|_| silent()) {
        Ok(reference) => reference,
        Err(error) => return Err(NotOpened { found: down.response.is_some(), error }),
    };
    greet(endpoint, &reference, down, ctx).await.map_err(|error| NotOpened { found: true, error })
}

async fn greet(endpoint: Endpoint, reference: &str, down: Down, ctx: &OpenContext) -> Result<OpenedLink, OpenError> {
    let (policy, origin) = (&ctx.policy, endpoint.origin());
    let Some(up) = endpoint.sibling(reference) else {
        return Err(OpenError::NotMcp {
            why: format!("`{origin}` wants its messages sent to another origin"),
            hint: "Secrets for one origin are not sent to another; add the server with its real address.".into(),
        });
    };

    let (over, ending) = (Arc::new(LinkEnd::default()), CancellationToken::new());
    let (sink, inbound) = inbound_queue::channel(policy, &over);
    let (out, outgoing) = mpsc::channel(OUTBOX_CAPACITY);
    let wire = Box::new(Stream { ending: ending.clone() });
    let link = Arc::new(LineConnection::new(wire, out, sink, policy.clone()));
    let ends = ReaderEnds { over, ending, stop: ctx.supervisor.stopping() };
    ctx.supervisor.spawn_draining("http+sse reader", down.run(Arc::downgrade(&link), ends, origin.clone()));
    ctx.supervisor.spawn("http+sse writer", post_all(up, outgoing, policy.clone()));

    let params = OutgoingParams::plain(initialize(ctx.abilities), Vec::new());
    let answer = link.ask("initialize", &params, HANDSHAKE_TAG, Some(policy.initialize_limit)).await;
    let answer = answer.map_err(|error| match error {
        LinkError::NoAnswer(_) => nothing(&origin, "it does not answer `initialize`"),
        LinkError::Broken { .. }
        | LinkError::GivenUp
        | LinkError::RateLimited(_)
        | LinkError::Unauthorized { .. }
        | LinkError::Unreadable { .. } => ReplyFailure::Link(error).into(),
    })?;
    let (version, hello) = match initialized(&answer, policy) {
        Initialized::Agreed(version, hello) => (version.to_owned(), hello),
        Initialized::NoCommon(version) => {
            return Err(nothing(&origin, &format!("it speaks only protocol version `{version}`")));
        }
        Initialized::Modern => return Err(nothing(&origin, "it knows no handshake")),
        Initialized::Refused(text) => return Err(nothing(&origin, &text)),
        Initialized::Odd => return Err(nothing(&origin, "its answer to `initialize` has no `protocolVersion`")),
    };
    let _ = link.speech.set(LineEra::Legacy);
    let _ = link.notify("notifications/initialized", None).await;
    let session = Some(format!("{:032x}", (ctx.draw)()));
    let (inbound, era) = (inbound.boxed(), Era::LegacySse);
    Ok(OpenedLink { link, inbound, era, version, hello, session, resumed: false, child: None, regained: None })
}

fn nothing(origin: &str, what: &str) -> OpenError {
    OpenError::NotMcp {
        why: format!("`{origin}` cannot be used: {what}"),
        hint: "Check that the address is that of an MCP server, and look at its documentation.".into(),
    }
}

/// What ends the reader, and the end that it reports.
struct ReaderEnds {
    over: Arc<LinkEnd>,
    ending: CancellationToken,
    stop: CancellationToken,
}

/// The event stream from the server.
struct Down {
    events: SseReader,
    response: Option<ServerResponse>,
}

impl Down {
    /// Opens it and waits for the address of messages.
    async fn begin(&mut self, endpoint: &Endpoint, policy: &Policy) -> Result<String, OpenError> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        let origin = endpoint.origin();
        let response = endpoint.send(Method::GET, headers, None).await?;
        let reply = response::read(response, endpoint, policy).await?;
        let HttpReply::Stream(response) = reply else { return Err(nothing(&origin, "it opens no stream")) };
        self.response = Some(response);
        loop {
            for event in self.events.by_ref() {
                if let ("endpoint", SseBody::Data(data)) = (event.name.as_str(), event.body) {
                    let address = String::from_utf8(data).map_err(|_| nothing(&origin, "its address is not text"))?;
                    return Ok(address.trim().to_owned());
                }
            }
            if !self.read(policy).await? {
                return Err(nothing(&origin, "its stream ended before it began"));
            }
        }
    }

    /// Reads a piece; whether there was one.
    async fn read(&mut self, policy: &Policy) -> Result<bool, LinkErrorAsOpen> {
        let Some(response) = &mut self.response else { return Ok(false) };
        let idle = self.events.is_inside().then_some(policy.body_idle_limit);
        let piece = response::piece(response, idle).await.map_err(LinkErrorAsOpen)?;
        if let Some(piece) = &piece {
            self.events.feed(piece);
        }
        Ok(piece.is_some())
    }

    async fn run(mut self, link: Weak<LineConnection>, ends: ReaderEnds, origin: String) {
        let Some((policy, pending)) = link.upgrade().map(|link| (link.policy().clone(), link.pending.clone())) else {
            return;
        };
        let reading = async {
            loop {
                for event in self.events.by_ref() {
                    let Some(link) = link.upgrade() else { return "nobody needs it any more" };
                    match event.body {
                        SseBody::Data(data) if event.name == "message" => {
                            if link.accept(&data).await.is_err() {
                                return "it sends more than is taken from it";
                            }
                        }
                        SseBody::Data(_) => tracing::debug!("ignored an event of another kind"),
                        SseBody::TooLarge(skim) => {
                            link.accept_oversized(&skim);
                        }
                    }
                }
                if !matches!(self.read(&policy).await, Ok(true)) {
                    return "its stream ended";
                }
            }
        };
        let why = tokio::select! {
            why = reading => format!("the connection to `{origin}` is over: {}", plain_text(why, policy.server_text_cap_chars)),
            () = ends.ending.cancelled() => "the connection was closed by Taskwarden".into(),
            () = ends.stop.cancelled() => "the core is stopping".into(),
        };
        let hint = "Taskwarden reconnects automatically; what ran on this connection may be lost.".to_owned();
        let waiting = LinkError::Broken { why: why.clone(), hint: hint.clone(), sent: true };
        let later = LinkError::Broken { why: why.clone(), hint: hint.clone(), sent: false };
        ends.over.close(Closure { why, hint, process_ended: false });
        pending.end(&waiting, later);
    }
}

/// A failure while the stream is being opened.
struct LinkErrorAsOpen(LinkError);

impl From<LinkErrorAsOpen> for OpenError {
    fn from(error: LinkErrorAsOpen) -> Self {
        ReplyFailure::Link(error.0).into()
    }
}

impl From<super::endpoint::NoResponse> for LinkErrorAsOpen {
    fn from(no: super::endpoint::NoResponse) -> Self {
        Self(no.into())
    }
}

/// Sends what is to be sent, several at a time, begun in order.
async fn post_all(up: Endpoint, outgoing: mpsc::Receiver<OutgoingLine>, policy: Arc<Policy>) {
    let (up, policy) = (&up, &policy);
    ReceiverStream::new(outgoing)
        .for_each_concurrent(POSTS_MAX, |OutgoingLine { bytes, written, permit }| async move {
            let done = post(up, RequestBody::new(bytes, permit), policy).await;
            if let Some(written) = written {
                let _ = written.send(done);
            }
        })
        .await;
}

async fn post(up: &Endpoint, body: RequestBody, policy: &Policy) -> Result<(), LinkError> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let sending = async {
        let response = up.send(Method::POST, headers, Some(body)).await?;
        let status = response.status();
        if status.is_success() {
            return Ok(());
        }
        let (html, raw) = match response::read(response, up, policy).await? {
            HttpReply::Other { html, raw } => (html, raw),
            HttpReply::Json(_) | HttpReply::Stream(_) | HttpReply::Empty => {
                (false, domain::task::payload::Payload::new(""))
            }
        };
        Err(ReplyFailure::Odd { origin: up.origin(), status, html, why: None, raw })
    };
    let limit = policy.reply_limit;
    timeout(limit, sending).await.map_err(|_| LinkError::NoAnswer(limit))?.map_err(LinkError::from)
}
