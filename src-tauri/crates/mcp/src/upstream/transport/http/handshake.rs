//! The era probe and the handshake over HTTP (protocol.md §3.3).
//!
//! `server/discover` first, because it has no side effects; a modern answer or error settles it, another refusal leads
//! to `initialize`, and 400, 404 or 405 to that leads to the old HTTP+SSE. An earlier session is resumed only after a
//! new handshake, and only if the server still answers in it.

use std::sync::Arc;
use std::time::Duration;

use domain::ports::{Secret, SendPermit};
use domain::server::Era;
use futures::StreamExt;
use http::header::{HeaderMap, HeaderValue};
use http::{Method, StatusCode};
use serde_json::json;
use serde_json::value::RawValue;
use tokio::time::timeout;

use super::endpoint::Endpoint;
use super::headers;
use super::sse2024::{self, NotOpened};
use crate::probe::{Discovered, Initialized, discovered, initialized};
use crate::upstream::transport::http::connection::{
    AnswerForm, HttpConnection, HttpEra, OnStream, ResponseHead, fill_legacy,
};
use crate::upstream::transport::http::http_link::HttpLink;
use crate::upstream::transport::http::response::ReplyFailure;
use crate::upstream::transport::inbound_queue::{self, LinkEnd};
use crate::upstream::transport::link::{Answer, LinkError, McpLink, OpenedLink};
use crate::upstream::transport::request_params::{MODERN_VERSION, OutgoingParams, initialize};
use crate::upstream::transport::{HANDSHAKE_TAG, OpenContext, OpenError};

/// What to contact.
pub(crate) struct Target {
    pub(crate) url: String,
    pub(crate) headers: Vec<(String, Secret)>,
}

struct Greeting {
    version: &'static str,
    hello: Box<RawValue>,
    session: Option<HeaderValue>,
}

/// What `initialize` led to.
enum Init {
    Agreed(Greeting),
    /// It is a modern server after all.
    Modern,
    /// It may speak the old HTTP+SSE; the error to tell when it does not.
    PerhapsSse(OpenError),
}

/// Probes the address and shakes hands.
pub(crate) async fn open(
    target: Target,
    known: Option<Era>,
    resume: Option<String>,
    ctx: &OpenContext,
) -> Result<OpenedLink, OpenError> {
    let make = || Endpoint::new(&target.url, &target.headers, ctx);
    if known == Some(Era::LegacySse) {
        match sse2024::open(make()?, ctx).await {
            Ok(opened) => return Ok(opened),
            // The verdict may not hold any more; but who cannot be reached or wants a sign-in is not asked again.
            Err(NotOpened {
                error: error @ (OpenError::Unreachable { .. } | OpenError::Unauthorized { .. }), ..
            }) => {
                return Err(error);
            }
            Err(_) => {}
        }
    }
    let over = Arc::new(LinkEnd::default());
    let (sink, inbound) = inbound_queue::channel(&ctx.policy, &over);
    let wire = Arc::new(HttpConnection::new(make()?, sink, ctx.policy.clone(), ctx.supervisor.clone()));
    let shake = Shake { link: HttpLink(wire.clone()), wire, ctx };
    let (era, greeting) = match shake.greet(known == Some(Era::Legacy)).await? {
        Settled::As(era, greeting) => (era, greeting),
        Settled::PerhapsSse(instead) => {
            return sse2024::open(make()?, ctx).await.map_err(|other| if other.found { other.error } else { instead });
        }
    };
    shake.opened(era, greeting, resume, inbound.boxed()).await
}

enum Settled {
    As(Era, Greeting),
    PerhapsSse(OpenError),
}

struct Shake<'a> {
    link: HttpLink,
    wire: Arc<HttpConnection>,
    ctx: &'a OpenContext,
}

impl Shake<'_> {
    async fn greet(&self, legacy_known: bool) -> Result<Settled, OpenError> {
        if !legacy_known && let Some(greeting) = self.discover().await? {
            return Ok(Settled::As(Era::Modern, greeting));
        }
        match self.initialize().await {
            Ok(Init::Agreed(greeting)) => Ok(Settled::As(Era::Legacy, greeting)),
            // The verdict does not hold any more, or the server was only slow: find out anew.
            Ok(Init::Modern) => self.modern_or(self.not_mcp("it refuses both ways of beginning")).await,
            Ok(Init::PerhapsSse(error)) if legacy_known => match self.discover().await? {
                Some(greeting) => Ok(Settled::As(Era::Modern, greeting)),
                None => Ok(Settled::PerhapsSse(error)),
            },
            Ok(Init::PerhapsSse(error)) => Ok(Settled::PerhapsSse(error)),
            Err(error @ OpenError::NotMcp { .. }) if legacy_known => self.modern_or(error).await,
            Err(error) => Err(error),
        }
    }

    async fn modern_or(&self, error: OpenError) -> Result<Settled, OpenError> {
        self.discover().await?.map(|greeting| Settled::As(Era::Modern, greeting)).ok_or(error)
    }

    fn not_mcp(&self, what: &str) -> OpenError {
        OpenError::NotMcp {
            why: format!("`{}` cannot be used: {what}", self.wire.endpoint.origin()),
            hint: "Check that the address is that of an MCP server, and look at its documentation.".into(),
        }
    }

    /// A request of the handshake. `Ok(None)`: silence.
    async fn ask(
        &self,
        method: &str,
        params: &OutgoingParams,
        headers: HeaderMap,
        limit: Duration,
    ) -> Result<Option<(Option<ResponseHead>, Answer)>, ReplyFailure> {
        let on = OnStream { tag: HANDSHAKE_TAG, form: AnswerForm::Owned };
        match timeout(limit, self.wire.call(method, params, headers, on, SendPermit::default())).await {
            Ok(answered) => {
                let (head, answer) = answered?;
                Ok(Some((head, answer.owned()?)))
            }
            Err(_) => Ok(None),
        }
    }

    /// `None`: it speaks the old way.
    async fn discover(&self) -> Result<Option<Greeting>, OpenError> {
        let mut again = true;
        loop {
            let params = OutgoingParams::stamped(json!({}), Vec::new(), MODERN_VERSION);
            let headers = headers::modern("server/discover", &params, MODERN_VERSION, &[]);
            let asked = self.ask("server/discover", &params, headers, self.ctx.policy.probe_first_output).await;
            let answer = match asked {
                Ok(Some((head, answer))) => {
                    self.healthy(head.as_ref())?;
                    answer
                }
                Ok(None) | Err(ReplyFailure::Link(LinkError::Unreadable { .. } | LinkError::NoAnswer(_))) => {
                    return Ok(None);
                }
                Err(miss) => match miss.odd_status() {
                    Some(status) if !status.is_server_error() => return Ok(None),
                    Some(_) | None => return Err(miss.into()),
                },
            };
            match discovered(&answer, &self.ctx.policy) {
                Discovered::Modern(version, hello) => return Ok(Some(Greeting { version, hello, session: None })),
                Discovered::TryVersion(_) if again => again = false,
                Discovered::TryVersion(versions) => return Err(self.foreign(versions)),
                Discovered::NoCommon(versions) => return Err(self.foreign(&versions)),
                Discovered::Refused(text) => return Err(self.not_mcp(&text)),
                Discovered::Legacy => return Ok(None),
            }
        }
    }

    fn foreign(&self, versions: &str) -> OpenError {
        self.not_mcp(&format!("it speaks only protocol versions that Taskwarden does not know: `{versions}`"))
    }

    /// A server fault says nothing about the era, whatever its body is.
    fn healthy(&self, head: Option<&ResponseHead>) -> Result<(), OpenError> {
        match head.filter(|head| head.status.is_server_error()) {
            Some(head) => Err(OpenError::Unreachable {
                why: format!("`{}` answers with HTTP {}", self.wire.endpoint.origin(), head.status.as_u16()),
                hint: "The server has a problem of its own; Taskwarden tries again automatically.".into(),
            }),
            None => Ok(()),
        }
    }

    async fn initialize(&self) -> Result<Init, OpenError> {
        let perhaps_sse = |status: StatusCode| matches!(status.as_u16(), 400 | 404 | 405);
        let limit = self.ctx.policy.initialize_limit;
        let params = OutgoingParams::plain(initialize(self.ctx.abilities), Vec::new());
        let (head, answer) = match self.ask("initialize", &params, HeaderMap::new(), limit).await {
            Ok(Some(got)) => got,
            Ok(None) => {
                return Err(self.not_mcp(&format!("it does not answer `initialize` within {} s", limit.as_secs())));
            }
            Err(miss) if miss.odd_status().is_some_and(perhaps_sse) => return Ok(Init::PerhapsSse(miss.into())),
            Err(miss) => return Err(miss.into()),
        };
        self.healthy(head.as_ref())?;
        match initialized(&answer, &self.ctx.policy) {
            Initialized::Agreed(version, hello) => {
                let session = head.and_then(|head| head.session).filter(|id| self.is_usable(id));
                Ok(Init::Agreed(Greeting { version, hello, session }))
            }
            Initialized::NoCommon(version) => Err(self.foreign(&version)),
            Initialized::Modern => Ok(Init::Modern),
            Initialized::Refused(text) => {
                let error = self.not_mcp(&text);
                if head.is_some_and(|head| perhaps_sse(head.status)) { Ok(Init::PerhapsSse(error)) } else { Err(error) }
            }
            Initialized::Odd => Err(self.not_mcp("its answer to `initialize` has no `protocolVersion`")),
        }
    }

    fn is_usable(&self, session: &HeaderValue) -> bool {
        !session.is_empty() && session.len() <= self.ctx.policy.task_id_cap_bytes && session.to_str().is_ok()
    }

    async fn opened(
        self,
        era: Era,
        greeting: Greeting,
        resume: Option<String>,
        inbound: futures::stream::BoxStream<'static, crate::upstream::transport::link::InboundMessage>,
    ) -> Result<OpenedLink, OpenError> {
        let Self { link, wire, .. } = self;
        let Greeting { version, hello, mut session } = greeting;
        let mut resumed = false;
        if era == Era::Modern {
            let _ = wire.speech.set(HttpEra::Modern(version));
        } else {
            if let Some(old) = resume
                && let Some(taken_up) = take_up(&wire, version, session.as_ref(), &old).await
            {
                (session, resumed) = (Some(taken_up), true);
            }
            if let Some(session) = &mut session {
                session.set_sensitive(true);
            }
            let _ = wire.speech.set(HttpEra::Legacy { version, session: session.clone() });
            if !resumed && let Err(error) = link.notify("notifications/initialized", None).await {
                // Servers exist that refuse it and work all the same; one that is gone says so at the next request.
                tracing::debug!(%error, "the server did not take `notifications/initialized`");
            }
            wire.supervisor.spawn("http standing stream", wire.clone().listen());
        }
        let session = session.and_then(|id| id.to_str().ok().map(ToOwned::to_owned));
        let version = version.to_owned();
        Ok(OpenedLink {
            link: Arc::new(link),
            inbound,
            era,
            version,
            hello,
            session,
            resumed,
            child: None,
            regained: None,
        })
    }
}

/// Takes up the session of before, when the server has sessions and still answers in it; the one that the handshake
/// just made is given back.
async fn take_up(
    wire: &HttpConnection,
    version: &'static str,
    fresh: Option<&HeaderValue>,
    old: &str,
) -> Option<HeaderValue> {
    let fresh = fresh?;
    let old = HeaderValue::from_str(old).ok()?;
    if old == fresh {
        return Some(old);
    }
    let mut headers = HeaderMap::new();
    fill_legacy(&mut headers, version, Some(old.clone()));
    if !wire.ping(headers).await?.is_success() {
        return None;
    }
    let mut headers = HeaderMap::new();
    fill_legacy(&mut headers, version, Some(fresh.clone()));
    let giving_back = wire.endpoint.send(Method::DELETE, headers, None);
    let _ = timeout(wire.policy.child_close_wait, giving_back).await;
    Some(old)
}
