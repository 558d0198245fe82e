//! One URL that requests are sent to, with its headers and redirects.
//!
//! Redirects are followed within the origin only and keep method and body: a call must not become a GET, and secrets
//! must not leave their origin. Messages name origins, never paths, which may hold keys. Statuses are read in
//! `response.rs`.

use std::error::Error;
use std::sync::Arc;

use domain::policy::{Policy, plain_text};
use domain::ports::{Secret, SignInFault};
use http::header::{ACCEPT, AUTHORIZATION, HOST, HeaderMap, HeaderName, HeaderValue, LOCATION, USER_AGENT};
use http::{Method, Request, StatusCode, Uri};
use parking_lot::Mutex;
use url::{Position, Url};

use super::plain_connection::{RequestBody, WholeBody};
use super::plain_pool::{ExchangeError, PlainPool};
use super::server_response::ServerResponse;
use crate::oauth::{Bearer, RefusedRequest, ServerToken};
use crate::upstream::transport::http::client_pool;
use crate::upstream::transport::link::{LinkError, not_permitted};
use crate::upstream::transport::{OpenContext, OpenError};

/// Headers that there is room for: ours and some that a person configured.
const HEADERS_OF_A_REQUEST: usize = 12;

/// The current URL, after redirects.
pub(crate) struct Endpoint {
    /// The way for plain HTTP without a proxy.
    plain: Option<Arc<PlainPool>>,
    client: reqwest::Client,
    place: Mutex<Arc<Place>>,
    headers: HeaderMap,
    /// The token of a sign-in; `None` where the headers have one.
    token: Option<Arc<ServerToken>>,
    policy: Arc<Policy>,
}

/// A URL that requests are sent to.
struct Place {
    url: Url,
    /// Path and query, as they stand in a request; `None` when it needs the client for TLS and proxies.
    target: Option<Uri>,
}

impl Place {
    fn new(url: Url) -> Arc<Self> {
        let target = url[Position::BeforePath..Position::AfterQuery].parse().ok();
        Arc::new(Self { url, target })
    }
}

/// Why there is no response.
#[derive(Debug)]
pub(crate) enum NoResponse {
    /// The network, or what speaks no HTTP there.
    Network { why: String, sent: bool },
    /// It may not leave any more; nothing was sent.
    NotPermitted,
    /// There is no good token for it now. The server did nothing with it, or did not get it.
    NoToken { why: String, hint: String },
    /// Sent on to another origin, or in circles.
    Redirected { why: String, hint: String },
}

impl Endpoint {
    /// Reads the address and headers.
    pub(crate) fn new(url: &str, headers: &[(String, Secret)], ctx: &OpenContext) -> Result<Self, OpenError> {
        let OpenContext { clients, policy, supervisor, token, .. } = ctx;
        let url = Url::parse(url).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
        let url = url.ok_or_else(|| OpenError::NotMcp {
            why: "the address is not an absolute http or https URL".into(),
            hint: "Remove the server and add it with an address such as `https://example.com/mcp`.".into(),
        })?;
        // With room for our own: the map is cloned for each request, and would grow each time.
        let mut map = HeaderMap::with_capacity(HEADERS_OF_A_REQUEST);
        for (name, value) in headers {
            let (parsed, value) = (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(value.reveal()));
            let (Ok(parsed), Ok(mut value)) = (parsed, value) else {
                return Err(OpenError::Unauthorized {
                    why: format!("the header `{}` cannot be sent", plain_text(name, SHOWN_CHARS)),
                    hint: "Its name or value has characters that HTTP does not allow; store it again.".into(),
                });
            };
            value.set_sensitive(true);
            map.insert(parsed, value);
        }
        let client = clients.get(&url, policy).map_err(|why| OpenError::Unreachable {
            why: format!("no HTTP client can be made: {why}"),
            hint: "Look at the certificates and proxies of this machine, and restart the core when they are right."
                .into(),
        })?;
        let plain = clients.plain(&url, policy, supervisor);
        if plain.is_some() {
            add_defaults(&mut map, &url);
        }
        let (place, token) = (Mutex::new(Place::new(url)), token.clone());
        Ok(Self { plain, client, place, headers: map, token, policy: policy.clone() })
    }

    /// The same server, another path of the same origin; `None` when it is of another origin or no URL.
    pub(crate) fn sibling(&self, reference: &str) -> Option<Self> {
        let base = Arc::clone(&self.place.lock());
        let url = base.url.join(reference).ok().filter(|url| url.origin() == base.url.origin())?;
        let (client, headers, policy) = (self.client.clone(), self.headers.clone(), self.policy.clone());
        let (plain, token) = (self.plain.clone(), self.token.clone());
        Some(Self { plain, client, place: Mutex::new(Place::new(url)), headers, token, policy })
    }

    /// Scheme, host and port, for messages.
    pub(crate) fn origin(&self) -> String {
        self.place.lock().url.origin().ascii_serialization()
    }

    /// The token of a sign-in, if requests may carry one.
    pub(super) fn token(&self) -> Option<&ServerToken> {
        self.token.as_deref()
    }

    /// Sends and waits for status and headers. Our own headers, one value for each name, win over configured ones of the
    /// same name. A request that is refused because of its token is sent once more, if another token is there.
    pub(crate) async fn send(
        &self,
        method: Method,
        mut headers: HeaderMap,
        body: Option<RequestBody>,
    ) -> Result<ServerResponse, NoResponse> {
        let Some(token) = &self.token else { return self.follow(method, headers, body).await };
        let carried = token.bearer().await;
        if carried == Bearer::Nothing {
            let response = self.follow(method, headers, body).await?;
            if response.status() == StatusCode::UNAUTHORIZED {
                Box::pin(token.refused(&carried, response.headers())).await;
            } else {
                token.accepted();
            }
            return Ok(response);
        }
        carry(&mut headers, &carried)?;
        let response = self.follow(method.clone(), headers.clone(), body.clone()).await?;
        if response.status() != StatusCode::UNAUTHORIZED {
            token.accepted();
            return Ok(response);
        }
        // Boxed: few requests are refused.
        match Box::pin(token.refused(&carried, response.headers())).await {
            RefusedRequest::TryAgain => {}
            RefusedRequest::NeedsPerson => return Ok(response),
            RefusedRequest::Stuck(SignInFault { why, hint }) => return Err(NoResponse::NoToken { why, hint }),
        }
        let carried = token.bearer().await;
        carry(&mut headers, &carried)?;
        let response = Box::pin(self.follow(method, headers, body)).await?;
        if response.status() == StatusCode::UNAUTHORIZED {
            Box::pin(token.refused(&carried, response.headers())).await;
        } else {
            token.accepted();
        }
        Ok(response)
    }

    /// Sends to where the server redirects to.
    async fn follow(
        &self,
        method: Method,
        headers: HeaderMap,
        body: Option<RequestBody>,
    ) -> Result<ServerResponse, NoResponse> {
        let mut place = Arc::clone(&self.place.lock());
        // Put together anew after a redirect, which few requests meet.
        let all = || {
            let mut all = self.headers.clone();
            for (name, value) in &headers {
                all.insert(name, value.clone());
            }
            all
        };
        for _ in 0..self.policy.redirects_max {
            let response = self.send_once(&place, method.clone(), all(), body.clone()).await?;
            match self.redirected(&place, &response)? {
                Some(target) => place = target,
                None => return Ok(response),
            }
        }
        let response = self.send_once(&place, method, all(), body).await?;
        match self.redirected(&place, &response)? {
            Some(_) => Err(NoResponse::Redirected {
                why: format!("`{}` redirects more than {} times", self.origin(), self.policy.redirects_max),
                hint: "Check the address; a slash at its end can make the difference.".into(),
            }),
            None => Ok(response),
        }
    }

    async fn send_once(
        &self,
        place: &Place,
        method: Method,
        headers: HeaderMap,
        body: Option<RequestBody>,
    ) -> Result<ServerResponse, NoResponse> {
        if let (Some(plain), Some(target)) = (&self.plain, &place.target) {
            let mut request = Request::new(WholeBody::new(body));
            *request.method_mut() = method;
            *request.uri_mut() = target.clone();
            *request.headers_mut() = headers;
            let response = plain.send(request).await;
            return response.map(ServerResponse::Plain).map_err(|error| self.no_exchange(error));
        }
        let mut request = self.client.request(method, place.url.clone()).headers(headers);
        if let Some(RequestBody { bytes, permit }) = body {
            if !permit.begin_sending() {
                return Err(NoResponse::NotPermitted);
            }
            request = request.body(bytes);
        }
        // Its future is large, and most requests do without.
        let sending = Box::pin(request.send());
        sending.await.map(ServerResponse::Client).map_err(|error| self.no_response(error))
    }

    /// Where a response sends us on to, if it does.
    fn redirected(&self, from: &Place, response: &ServerResponse) -> Result<Option<Arc<Place>>, NoResponse> {
        let status = response.status();
        if !matches!(status.as_u16(), 301 | 302 | 307 | 308) {
            return Ok(None);
        }
        let location = response.headers().get(LOCATION).and_then(|to| to.to_str().ok());
        let Some(target) = location.and_then(|to| from.url.join(to).ok()) else { return Ok(None) };
        if target.origin() != from.url.origin() {
            return Err(self.elsewhere(&target));
        }
        let target = Place::new(target);
        if matches!(status, StatusCode::MOVED_PERMANENTLY | StatusCode::PERMANENT_REDIRECT) {
            *self.place.lock() = Arc::clone(&target);
        }
        Ok(Some(target))
    }

    fn elsewhere(&self, target: &Url) -> NoResponse {
        let (from, to) = (self.origin(), target.origin().ascii_serialization());
        NoResponse::Redirected {
            why: format!("`{from}` redirects to another origin, `{to}`"),
            hint: format!("Secrets for one are not sent to the other; if you trust `{to}`, add the server there."),
        }
    }

    fn no_exchange(&self, error: ExchangeError) -> NoResponse {
        match error {
            ExchangeError::ConnectTimeout => self.silent(),
            ExchangeError::NotPermitted => NoResponse::NotPermitted,
            ExchangeError::Connect(error) => self.failed(&*error, false),
            ExchangeError::Broken { error, sent } => self.failed(&error, sent),
        }
    }

    fn no_response(&self, error: reqwest::Error) -> NoResponse {
        if error.is_connect() && error.is_timeout() {
            return self.silent();
        }
        let sent = !(error.is_connect() || error.is_builder());
        self.failed(&error.without_url(), sent)
    }

    fn silent(&self) -> NoResponse {
        let (origin, limit) = (self.origin(), self.policy.connect_limit.as_secs());
        NoResponse::Network { why: format!("`{origin}` does not answer within {limit} s"), sent: false }
    }

    fn failed(&self, error: &(dyn Error + 'static), sent: bool) -> NoResponse {
        let origin = self.origin();
        let mut root = error;
        let mut refused = false;
        while let Some(source) = root.source() {
            root = source;
            let io = root.downcast_ref::<std::io::Error>();
            refused |= io.is_some_and(|io| io.kind() == std::io::ErrorKind::ConnectionRefused);
        }
        let why = if refused {
            format!("nothing listens at `{origin}`")
        } else if sent {
            format!("`{origin}` broke off: {}", plain_text(&root.to_string(), SHOWN_CHARS))
        } else {
            format!("`{origin}` cannot be reached: {}", plain_text(&root.to_string(), SHOWN_CHARS))
        };
        NoResponse::Network { why, sent }
    }
}

/// Puts the token into a request.
fn carry(headers: &mut HeaderMap, bearer: &Bearer) -> Result<(), NoResponse> {
    match bearer {
        Bearer::Nothing => {}
        Bearer::Token(value) => {
            headers.insert(AUTHORIZATION, value.clone());
        }
        Bearer::Stuck(SignInFault { why, hint }) => {
            return Err(NoResponse::NoToken { why: format!("its token is over, and {why}"), hint: hint.clone() });
        }
    }
    Ok(())
}

/// The headers that every request has, unless they are configured.
fn add_defaults(headers: &mut HeaderMap, url: &Url) {
    let host = HeaderValue::from_str(&url[Position::BeforeHost..Position::AfterPort]);
    let own = [
        (HOST, host.ok()),
        (USER_AGENT, Some(HeaderValue::from_static(client_pool::USER_AGENT))),
        (ACCEPT, Some(HeaderValue::from_static("*/*"))),
    ];
    for (name, value) in own {
        if let (false, Some(value)) = (headers.contains_key(&name), value) {
            headers.insert(name, value);
        }
    }
}

/// A cause fits on one line.
const SHOWN_CHARS: usize = 200;

const CHECK: &str = "Check that the server runs and that its address is right; Taskwarden tries again automatically.";

impl From<NoResponse> for LinkError {
    fn from(no: NoResponse) -> Self {
        match no {
            NoResponse::Network { why, sent } => Self::Broken { why, hint: CHECK.into(), sent },
            NoResponse::NotPermitted => not_permitted(),
            NoResponse::NoToken { why, hint } | NoResponse::Redirected { why, hint } => {
                Self::Broken { why, hint, sent: false }
            }
        }
    }
}

impl From<NoResponse> for OpenError {
    fn from(no: NoResponse) -> Self {
        match no {
            NoResponse::Network { why, .. } => Self::Unreachable { why, hint: CHECK.into() },
            NoResponse::NoToken { why, hint } => Self::Unreachable { why, hint },
            // Only calls ask for a permit, and none is made while a connection is opened.
            NoResponse::NotPermitted => Self::Unreachable { why: "the request was refused".into(), hint: CHECK.into() },
            NoResponse::Redirected { why, hint } => Self::NotMcp { why, hint },
        }
    }
}
