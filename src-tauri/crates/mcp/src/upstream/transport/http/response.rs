//! What a status and its body mean, before the message is read.
//!
//! A body is read whatever the status is, because modern servers send a status and a JSON-RPC error together
//! (protocol.md §9.10). Bodies are bounded in size and in the time between two pieces. Sign-in and rate limits are read
//! from the status alone.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use domain::policy::Policy;
use domain::ports::SignInFault;
use domain::task::payload::Payload;
use http::header::{CONTENT_TYPE, DATE, HeaderMap, RETRY_AFTER};
use http::{HeaderName, StatusCode};
use tokio::time::timeout;

use crate::oauth::ServerToken;
use crate::upstream::transport::OpenError;
use crate::upstream::transport::line_connection::beginning;
use crate::upstream::transport::link::LinkError;

use super::endpoint::{Endpoint, NoResponse};
use super::server_response::ServerResponse;

/// A response, sorted.
pub(crate) enum HttpReply {
    /// A body that looks like JSON.
    Json(Bytes),
    /// A stream of events.
    Stream(ServerResponse),
    /// A response without a body.
    Empty,
    /// A body of another media type.
    Other {
        /// A web page.
        html: bool,
        /// The beginning of the body.
        raw: Payload,
    },
}

/// Why a request brought no JSON-RPC answer.
#[derive(Debug)]
pub(crate) enum ReplyFailure {
    /// As a link tells it.
    Link(LinkError),
    /// Nothing came back.
    NoResponse(NoResponse),
    /// Something came back that is not JSON-RPC.
    Odd { origin: String, status: StatusCode, html: bool, why: Option<String>, raw: Payload },
}

impl From<LinkError> for ReplyFailure {
    fn from(error: LinkError) -> Self {
        Self::Link(error)
    }
}

impl From<NoResponse> for ReplyFailure {
    fn from(no: NoResponse) -> Self {
        Self::NoResponse(no)
    }
}

impl ReplyFailure {
    /// The status of an answer that is not JSON-RPC.
    pub(crate) const fn odd_status(&self) -> Option<StatusCode> {
        match self {
            Self::Odd { status, .. } => Some(*status),
            Self::Link(_) | Self::NoResponse(_) => None,
        }
    }
}

const TRY_AGAIN: &str = "The server has a problem of its own; Taskwarden tries again automatically.";
const WRONG_ADDRESS: &str = "Check the address: the MCP endpoint often ends in `/mcp` or `/sse`.";

fn odd_line(origin: &str, status: StatusCode, html: bool, why: Option<String>) -> String {
    match why {
        Some(why) if status.is_success() => format!("`{origin}` answers with something else than MCP: {why}"),
        _ if html => format!("`{origin}` answers with a web page (HTTP {}), not with MCP", status.as_u16()),
        Some(why) => format!("`{origin}` answers with HTTP {}: {why}", status.as_u16()),
        None => format!("`{origin}` answers with HTTP {} and no MCP message", status.as_u16()),
    }
}

impl From<ReplyFailure> for LinkError {
    fn from(miss: ReplyFailure) -> Self {
        match miss {
            ReplyFailure::Link(error) => error,
            ReplyFailure::NoResponse(no) => no.into(),
            ReplyFailure::Odd { origin, status, html, why, raw } => {
                let why = odd_line(&origin, status, html, why);
                if status.is_server_error() {
                    Self::Broken { why, hint: TRY_AGAIN.into(), sent: true }
                } else {
                    Self::Unreadable { why, raw }
                }
            }
        }
    }
}

impl From<ReplyFailure> for OpenError {
    fn from(miss: ReplyFailure) -> Self {
        match miss {
            ReplyFailure::NoResponse(no) => no.into(),
            ReplyFailure::Odd { origin, status, html, why, .. } => {
                let why = odd_line(&origin, status, html, why);
                if status.is_server_error() {
                    Self::Unreachable { why, hint: TRY_AGAIN.into() }
                } else {
                    Self::NotMcp { why, hint: WRONG_ADDRESS.into() }
                }
            }
            ReplyFailure::Link(LinkError::Broken { why, hint, .. }) => Self::Unreachable { why, hint },
            ReplyFailure::Link(LinkError::Unauthorized { why, hint }) => Self::Unauthorized { why, hint },
            ReplyFailure::Link(error @ (LinkError::NoAnswer(_) | LinkError::GivenUp | LinkError::RateLimited(_))) => {
                Self::Unreachable { why: error.to_string(), hint: "Taskwarden tries again automatically.".into() }
            }
            ReplyFailure::Link(LinkError::Unreadable { why, .. }) => Self::NotMcp { why, hint: WRONG_ADDRESS.into() },
        }
    }
}

/// Sorts a response and reads its body, if it is not a stream.
pub(crate) async fn read(
    response: ServerResponse,
    from: &Endpoint,
    policy: &Policy,
) -> Result<HttpReply, ReplyFailure> {
    let status = response.status();
    let headers = response.headers();
    refused(status, headers, from, policy)?;
    let kind = text(headers, &CONTENT_TYPE).unwrap_or_default().as_bytes();
    let is_kind = |name: &str| kind.get(..name.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(name.as_bytes()));
    if status.is_success() && is_kind("text/event-stream") {
        return Ok(HttpReply::Stream(response));
    }
    let html = is_kind("text/html");
    let body = whole(response, policy).await?;
    let begin = body.trim_ascii_start();
    Ok(match begin.first() {
        None => HttpReply::Empty,
        Some(b'{' | b'[') => HttpReply::Json(body),
        // A byte order mark before JSON.
        Some(0xef) if begin.starts_with("\u{feff}{".as_bytes()) || begin.starts_with("\u{feff}[".as_bytes()) => {
            HttpReply::Json(body)
        }
        Some(_) => HttpReply::Other { html: html || begin.starts_with(b"<"), raw: beginning(&body, policy) },
    })
}

/// Sign-in and rate limits, from the status alone.
fn refused(status: StatusCode, headers: &HeaderMap, from: &Endpoint, policy: &Policy) -> Result<(), LinkError> {
    match status {
        StatusCode::UNAUTHORIZED => Err(match from.token().map(ServerToken::why_refused) {
            Some(SignInFault { why, hint }) => LinkError::Unauthorized { why, hint },
            None => LinkError::Unauthorized {
                why: format!("`{}` does not accept the token that is stored for it (HTTP 401)", from.origin()),
                hint: "Change the server: store another token, or remove its `Authorization` header and sign in."
                    .into(),
            },
        }),
        StatusCode::FORBIDDEN => Err(match from.token().and_then(|token| token.forbidden(headers)) {
            Some(SignInFault { why, hint }) => LinkError::Unauthorized { why, hint },
            None => LinkError::Unauthorized {
                why: format!("`{}` refuses access (HTTP 403)", from.origin()),
                hint: "The token may lack a permission, or the server refuses this machine; ask who runs it.".into(),
            },
        }),
        StatusCode::TOO_MANY_REQUESTS => Err(LinkError::RateLimited(retry_after(headers, policy))),
        StatusCode::SERVICE_UNAVAILABLE if headers.contains_key(RETRY_AFTER) => {
            Err(LinkError::RateLimited(retry_after(headers, policy)))
        }
        _ => Ok(()),
    }
}

/// `Retry-After` in seconds or as a date, which is read against the server's own clock.
fn retry_after(headers: &HeaderMap, policy: &Policy) -> Option<Duration> {
    let value = text(headers, &RETRY_AFTER)?.trim();
    let wait = match value.parse::<u64>() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => {
            let then = jiff::fmt::rfc2822::parse(value).ok()?.timestamp();
            let now = jiff::fmt::rfc2822::parse(text(headers, &DATE)?).ok()?.timestamp();
            Duration::try_from(then.duration_since(now)).unwrap_or_default()
        }
    };
    Some(wait.min(policy.retry_after_ceiling))
}

pub(crate) fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// Room that is made ahead for a declared length, as a multiple of what has come.
const AHEAD: usize = 3;

/// Reads a body to its end, bounded.
async fn whole(mut response: ServerResponse, policy: &Policy) -> Result<Bytes, LinkError> {
    let too_large = || LinkError::Unreadable {
        why: format!("the answer has more than {} bytes", policy.message_cap_bytes),
        raw: Payload::new(""),
    };
    let told = response.content_length().and_then(|bytes| usize::try_from(bytes).ok());
    if told.is_some_and(|bytes| bytes > policy.message_cap_bytes) {
        return Err(too_large());
    }
    // Copied once, out of the connection's buffer, which is larger and is used again.
    let mut body = Vec::new();
    while let Some(piece) = piece(&mut response, Some(policy.body_idle_limit)).await? {
        let came = body.len() + piece.len();
        if came > policy.message_cap_bytes {
            return Err(too_large());
        }
        // What a header promises is not reserved: only what comes costs memory.
        let missing = told.map_or(0, |told| told.saturating_sub(came));
        if body.capacity() < came {
            body.reserve(piece.len() + missing.min(came * AHEAD));
        }
        body.extend_from_slice(&piece);
    }
    Ok(Bytes::from(body))
}

/// The next piece of a body; `None` at its end.
pub(crate) async fn piece(response: &mut ServerResponse, idle: Option<Duration>) -> Result<Option<Bytes>, LinkError> {
    let broken = |why: String| LinkError::Broken { why, hint: TRY_AGAIN.into(), sent: true };
    let mut chunk = pin!(response.chunk());
    // Most bodies are there with their head: only one that is waited for needs a timer.
    let next = match (poll_fn(|cx| Poll::Ready(chunk.as_mut().poll(cx))).await, idle) {
        (Poll::Ready(next), _) => next,
        (Poll::Pending, Some(idle)) => match timeout(idle, chunk).await {
            Ok(next) => next,
            Err(_) => return Err(broken(format!("the answer stopped in the middle for {} s", idle.as_secs()))),
        },
        (Poll::Pending, None) => chunk.await,
    };
    next.map_err(|_| broken("the connection broke off in the middle of the answer".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wish_to_wait_is_read_in_both_forms_and_capped() {
        let policy = Policy::default();
        let wait = |after: &str, date: Option<&str>| {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, after.parse().expect("a header"));
            if let Some(date) = date {
                headers.insert(DATE, date.parse().expect("a header"));
            }
            retry_after(&headers, &policy)
        };
        let now = Some("Sat, 21 Nov 2026 03:25:00 GMT");
        assert_eq!(wait("7", None), Some(Duration::from_secs(7)));
        assert_eq!(wait("Sat, 21 Nov 2026 03:26:30 GMT", now), Some(Duration::from_secs(90)));
        assert_eq!(wait("Sat, 21 Nov 2026 03:20:00 GMT", now), Some(Duration::ZERO), "the past is now");
        assert_eq!(wait("99999999999", None), Some(policy.retry_after_ceiling), "never longer than obeyed");
        for nonsense in ["-1", "soon", "1e9"] {
            assert_eq!(wait(nonsense, now), None, "`{nonsense}` says nothing");
        }
    }
}
