//! Sends log records and spans of the audit log to collectors over OTLP/HTTP with JSON.
//!
//! One request at a time, sink and signal, without redirects, compression and retries of its own: when something is sent again is
//! the engine's (`audit_log/sinks.rs`). What an answer means is in `answer.rs`; no text of it gets further than there.

mod answer;
mod response_body;

use std::error::Error;
use std::io;
use std::sync::OnceLock;
use std::time::Duration;

use domain::audit::log_sink::{CollectorHeaderError, LogSink, SinkSignal};
use domain::policy::Policy;
use domain::ports::{CollectorReply, LogCollectors, PortFuture, Secret, SecretError};
use domain::server::is_loopback_host;
use reqwest::Client;
use reqwest::header::CONTENT_TYPE;
use url::Url;

use self::answer::CollectorAnswer;
use crate::secrets::CollectorHeaders;

/// How we name ourselves.
const USER_AGENT: &str = concat!("taskwarden/", env!("CARGO_PKG_VERSION"));

/// The way to collectors on this machine and elsewhere.
pub(crate) struct HttpCollectors {
    headers: CollectorHeaders,
    limit: Duration,
    reply_bytes: usize,
    /// For this machine, where no proxy is asked.
    loopback: OnceLock<Client>,
    outside: OnceLock<Client>,
}

impl HttpCollectors {
    pub(crate) fn new(headers: CollectorHeaders, policy: &Policy) -> Self {
        let audit = &policy.audit;
        Self {
            headers,
            limit: audit.sink_limit,
            reply_bytes: audit.sink_reply_bytes,
            loopback: OnceLock::new(),
            outside: OnceLock::new(),
        }
    }

    fn client(&self, url: &Url) -> Result<Client, String> {
        let is_here = url.host_str().is_some_and(is_loopback_host);
        let kept = if is_here { &self.loopback } else { &self.outside };
        if let Some(client) = kept.get() {
            return Ok(client.clone());
        }
        let mut builder = Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .user_agent(USER_AGENT)
            .timeout(self.limit);
        builder = if is_here { builder.no_proxy() } else { builder.https_only(true) };
        let client = builder.build().map_err(|error| error.without_url().to_string())?;
        Ok(kept.get_or_init(|| client).clone())
    }

    async fn exchange(&self, sink: LogSink, signal: SinkSignal, request: String) -> CollectorReply {
        let later = |why: String| CollectorReply::Later { why, wait: None };
        let headers = match self.headers.of(&sink) {
            Ok(headers) => headers,
            Err(SecretError(why)) => return later(format!("gets nothing: {why}")),
        };
        let address = sink.address(signal);
        let client = Url::parse(&address).map_err(|error| error.to_string()).and_then(|url| self.client(&url));
        let client = match client {
            Ok(client) => client,
            Err(why) => return later(format!("cannot be reached: {why}")),
        };
        let sent = client.post(&address).headers(headers).header(CONTENT_TYPE, "application/json");
        match sent.body(request).send().await {
            Ok(response) => CollectorAnswer::read(response, self.reply_bytes).await.meaning(signal),
            Err(error) if error.is_timeout() => later(format!("did not answer in {} s", self.limit.as_secs())),
            Err(error) => later(format!("cannot be reached: {}", fault_of(&error))),
        }
    }
}

/// Why no answer came, without the address, whose path may hold a key, and without any text of who was asked: a certificate
/// names whatever its owner likes.
fn fault_of(error: &reqwest::Error) -> &'static str {
    let mut root: &dyn Error = error;
    while let Some(source) = root.source() {
        root = source;
    }
    let text = root.to_string();
    let says = |words: &str| text.contains(words);
    let kind = root.downcast_ref::<io::Error>().map(io::Error::kind);
    match kind {
        Some(io::ErrorKind::ConnectionRefused) => "the connection was refused",
        Some(io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable) => "there is no way to its network",
        Some(io::ErrorKind::TimedOut) => "no connection came about in time",
        _ if says("failed to lookup address information") => "no address is known for its name",
        _ if says("invalid peer certificate") && says("xpired") => "its certificate has expired",
        _ if says("invalid peer certificate") && says("not valid for name") => "its certificate is for another name",
        _ if says("invalid peer certificate") && says("UnknownIssuer") => {
            "its certificate is from an issuer that this machine does not trust"
        }
        _ if says("invalid peer certificate") => "its certificate is not accepted",
        _ if error.is_connect() => "no connection with it came about",
        _ => "the connection ended before an answer",
    }
}

impl LogCollectors for HttpCollectors {
    fn send(&self, sink: &LogSink, signal: SinkSignal, request: String) -> PortFuture<'_, CollectorReply> {
        Box::pin(self.exchange(sink.clone(), signal, request))
    }

    fn keep_headers(&self, sink: u32, headers: &[(String, Secret)]) -> Result<(), CollectorHeaderError> {
        self.headers.keep(sink, headers)
    }

    fn forget_headers(&self, sink: u32, names: &[String]) {
        self.headers.forget(sink, names);
    }
}
