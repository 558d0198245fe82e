//! One URL that requests are sent to, with its headers and redirects.
//!
//! Redirects are followed within the origin only and keep method and body: a call must not become a GET, and secrets
//! must not leave their origin. Messages name origins, never paths, which may hold keys. Statuses are read in
//! `response.rs`.

use std::error::Error;
use std::sync::Arc;

use bytes::Bytes;
use domain::policy::{Policy, plain_text};
use domain::ports::Secret;
use http::header::{HeaderMap, HeaderName, HeaderValue, LOCATION};
use http::{Method, StatusCode};
use parking_lot::Mutex;
use reqwest::Response;
use url::Url;

use crate::upstream::transport::OpenError;
use crate::upstream::transport::http::client_pool::Clients;
use crate::upstream::transport::link::LinkError;

/// The current URL, after redirects.
pub(crate) struct Endpoint {
    client: reqwest::Client,
    url: Mutex<Url>,
    headers: HeaderMap,
    policy: Arc<Policy>,
}

/// Why there is no response.
#[derive(Debug)]
pub(crate) enum NoResponse {
    /// The network, or what speaks no HTTP there.
    Network { why: String, sent: bool },
    /// Sent on to another origin, or in circles.
    Redirected { why: String, hint: String },
}

impl Endpoint {
    /// Reads the address and headers.
    pub(crate) fn new(
        url: &str,
        headers: &[(String, Secret)],
        clients: &Clients,
        policy: &Arc<Policy>,
    ) -> Result<Self, OpenError> {
        let url = Url::parse(url).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
        let url = url.ok_or_else(|| OpenError::NotMcp {
            why: "the address is not an absolute http or https URL".into(),
            hint: "Remove the server and add it with an address such as `https://example.com/mcp`.".into(),
        })?;
        let mut map = HeaderMap::new();
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
        Ok(Self { client, url: Mutex::new(url), headers: map, policy: policy.clone() })
    }

    /// The same server, another path of the same origin; `None` when it is of another origin or no URL.
    pub(crate) fn sibling(&self, reference: &str) -> Option<Self> {
        let base = self.url.lock().clone();
        let url = base.join(reference).ok().filter(|url| url.origin() == base.origin())?;
        let (client, headers, policy) = (self.client.clone(), self.headers.clone(), self.policy.clone());
        Some(Self { client, url: Mutex::new(url), headers, policy })
    }

    /// Scheme, host and port, for messages.
    pub(crate) fn origin(&self) -> String {
        self.url.lock().origin().ascii_serialization()
    }

    /// Sends and waits for status and headers. Our own headers win over configured ones of the same name.
    pub(crate) async fn send(
        &self,
        method: Method,
        headers: HeaderMap,
        body: Option<Bytes>,
    ) -> Result<Response, NoResponse> {
        let mut url = self.url.lock().clone();
        let mut all = self.headers.clone();
        all.extend(headers);
        for _ in 0..=self.policy.redirects_max {
            let mut request = self.client.request(method.clone(), url.clone()).headers(all.clone());
            if let Some(body) = &body {
                request = request.body(body.clone());
            }
            let response = request.send().await.map_err(|error| self.no_response(error))?;
            let status = response.status();
            let moved = matches!(status.as_u16(), 301 | 302 | 307 | 308);
            let Some(location) = response.headers().get(LOCATION).filter(|_| moved) else { return Ok(response) };
            let target = location.to_str().ok().and_then(|to| url.join(to).ok());
            let Some(target) = target else { return Ok(response) };
            if target.origin() != url.origin() {
                return Err(self.elsewhere(&target));
            }
            url = target;
            if matches!(status, StatusCode::MOVED_PERMANENTLY | StatusCode::PERMANENT_REDIRECT) {
                *self.url.lock() = url.clone();
            }
        }
        Err(NoResponse::Redirected {
            why: format!("`{}` redirects more than {} times", self.origin(), self.policy.redirects_max),
            hint: "Check the address; a slash at its end can make the difference.".into(),
        })
    }

    fn elsewhere(&self, target: &Url) -> NoResponse {
        let (from, to) = (self.origin(), target.origin().ascii_serialization());
        NoResponse::Redirected {
            why: format!("`{from}` redirects to another origin, `{to}`"),
            hint: format!("Secrets for one are not sent to the other; if you trust `{to}`, add the server there."),
        }
    }

    fn no_response(&self, error: reqwest::Error) -> NoResponse {
        let sent = !(error.is_connect() || error.is_builder());
        let origin = self.origin();
        let error = error.without_url();
        let mut root: &dyn Error = &error;
        let mut refused = false;
        while let Some(source) = root.source() {
            root = source;
            let io = root.downcast_ref::<std::io::Error>();
            refused |= io.is_some_and(|io| io.kind() == std::io::ErrorKind::ConnectionRefused);
        }
        let why = if refused {
            format!("nothing listens at `{origin}`")
        } else if error.is_connect() && error.is_timeout() {
            format!("`{origin}` does not answer within {} s", self.policy.connect_limit.as_secs())
        } else if sent {
            format!("`{origin}` broke off: {}", plain_text(&root.to_string(), SHOWN_CHARS))
        } else {
            format!("`{origin}` cannot be reached: {}", plain_text(&root.to_string(), SHOWN_CHARS))
        };
        NoResponse::Network { why, sent }
    }
}

/// A cause fits on one line.
const SHOWN_CHARS: usize = 200;

const CHECK: &str = "Check that the server runs and that its address is right; Taskwarden tries again by itself.";

impl From<NoResponse> for LinkError {
    fn from(no: NoResponse) -> Self {
        match no {
            NoResponse::Network { why, sent } => Self::Broken { why, hint: CHECK.into(), sent },
            NoResponse::Redirected { why, hint } => Self::Broken { why, hint, sent: false },
        }
    }
}

impl From<NoResponse> for OpenError {
    fn from(no: NoResponse) -> Self {
        match no {
            NoResponse::Network { why, .. } => Self::Unreachable { why, hint: CHECK.into() },
            NoResponse::Redirected { why, hint } => Self::NotMcp { why, hint },
        }
    }
}
