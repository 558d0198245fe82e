//! Sends log records of the audit log to collectors over OTLP/HTTP with JSON.
//!
//! One request at a time and sink, without redirects, compression and retries of its own: when something is sent again is
//! the engine's (`audit_log/sinks.rs`). What a collector says is capped, and a header value in it is taken out.

use std::error::Error;
use std::sync::OnceLock;
use std::time::Duration;

use domain::audit::log_sink::LogSink;
use domain::policy::{Policy, plain_text};
use domain::ports::{CollectorReply, LogCollectors, PortFuture, Secret, SecretError};
use domain::server::is_loopback_host;
use reqwest::header::{CONTENT_TYPE, DATE, HeaderMap, HeaderName, RETRY_AFTER};
use reqwest::{Client, Response, StatusCode};
use serde_json::Value;
use url::Url;

use crate::secrets::CollectorHeaders;

/// How we name ourselves.
const USER_AGENT: &str = concat!("taskwarden/", env!("CARGO_PKG_VERSION"));
/// Shorter parts of a header value are no secret, and stand in many sentences by chance. Judgement.
const SECRET_CHARS_MIN: usize = 7;

/// The way to collectors on this machine and elsewhere.
pub(crate) struct HttpCollectors {
    headers: CollectorHeaders,
    limit: Duration,
    reply_bytes: usize,
    message_chars: usize,
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
            message_chars: audit.sink_message_chars,
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
        let client = builder.build().map_err(|error| root(&error.without_url()))?;
        Ok(kept.get_or_init(|| client).clone())
    }

    async fn exchange(&self, sink: LogSink, request: String) -> CollectorReply {
        let later = |why: String| CollectorReply::Later { why, wait: None };
        let headers = match self.headers.of(&sink) {
            Ok(headers) => headers,
            Err(SecretError(why)) => return later(format!("gets nothing: {why}")),
        };
        let client = Url::parse(&sink.url).map_err(|error| error.to_string()).and_then(|url| self.client(&url));
        let client = match client {
            Ok(client) => client,
            Err(why) => return later(format!("cannot be reached: {why}")),
        };
        let sent = client.post(&sink.url).headers(headers.clone()).header(CONTENT_TYPE, "application/json");
        match sent.body(request).send().await {
            Ok(response) => self.read(response, &headers).await,
            Err(error) if error.is_timeout() => later(format!("did not answer in {} s", self.limit.as_secs())),
            Err(error) => later(format!("cannot be reached: {}", root(&error.without_url()))),
        }
    }

    /// What a response means. OTLP specification, section OTLP/HTTP Response.
    async fn read(&self, mut response: Response, sent: &HeaderMap) -> CollectorReply {
        let (status, wait) = (response.status(), retry_after(response.headers()));
        let is_text = text(response.headers(), &CONTENT_TYPE).is_some_and(|kind| kind.starts_with("text/plain"));
        let mut body = Vec::new();
        // What is cut off or breaks off says nothing; the status stands.
        while let Ok(Some(part)) = response.chunk().await {
            body.extend_from_slice(&part);
            if body.len() >= self.reply_bytes {
                break;
            }
        }
        let json: Value = serde_json::from_slice(&body).unwrap_or_default();
        let partial = json.pointer("/partialSuccess");
        let rejected = partial.and_then(|partial| count(partial.get("rejectedLogRecords")?)).unwrap_or_default();
        let said = partial.and_then(|partial| partial.get("errorMessage")).or_else(|| json.get("message"));
        let plain = is_text.then(|| String::from_utf8_lossy(&body).into_owned());
        let message = said.and_then(Value::as_str).map(str::to_owned).or(plain);
        let message = message.map(|message| self.shown(&message, sent)).filter(|message| !message.is_empty());
        if status.is_success() {
            return CollectorReply::Taken { rejected, message };
        }
        let records = if rejected == 1 { "record" } else { "records" };
        let rejected = if rejected > 0 { format!(" and rejected {rejected} {records}") } else { String::new() };
        let message = message.map(|message| format!(": `{message}`")).unwrap_or_default();
        let why = format!("answered {}{rejected}{message}", status.as_u16());
        match status {
            StatusCode::TOO_MANY_REQUESTS
            | StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT => CollectorReply::Later { why, wait },
            StatusCode::PAYLOAD_TOO_LARGE => CollectorReply::TooLarge { why },
            _ => CollectorReply::Refused { why },
        }
    }

    /// A text of a collector on one line, without values of headers that were sent, and not longer than allowed.
    fn shown(&self, message: &str, sent: &HeaderMap) -> String {
        let mut message = message.to_owned();
        for value in sent.values().filter_map(|value| value.to_str().ok()) {
            for part in std::iter::once(value).chain(value.split_whitespace()) {
                if part.len() >= SECRET_CHARS_MIN {
                    message = message.replace(part, "…");
                }
            }
        }
        plain_text(message.trim(), self.message_chars).replace(['\n', '\t'], " ").replace('`', "'")
    }
}

/// A count as proto3 JSON writes 64 bits, as a text, or as a number.
fn count(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// `Retry-After` in seconds or as a date, which is read against the collector's own clock.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let value = text(headers, &RETRY_AFTER)?.trim();
    if let Ok(seconds) = value.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let then = jiff::fmt::rfc2822::parse(value).ok()?.timestamp();
    let now = jiff::fmt::rfc2822::parse(text(headers, &DATE)?).ok()?.timestamp();
    Some(Duration::try_from(then.duration_since(now)).unwrap_or_default())
}

/// The innermost cause, without the address, whose path may hold a key.
fn root(error: &dyn Error) -> String {
    let mut root = error;
    while let Some(source) = root.source() {
        root = source;
    }
    root.to_string()
}

impl LogCollectors for HttpCollectors {
    fn send(&self, sink: &LogSink, request: String) -> PortFuture<'_, CollectorReply> {
        Box::pin(self.exchange(sink.clone(), request))
    }

    fn keep_headers(&self, sink: u32, headers: &[(String, Secret)]) -> Result<(), SecretError> {
        self.headers.keep(sink, headers)
    }

    fn forget_headers(&self, sink: u32, names: &[String]) {
        self.headers.forget(sink, names);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use reqwest::header::HeaderValue;

    use super::*;
    use crate::config::paths::Paths;
    use crate::config::{Config, SecretsChoice};
    use crate::secrets::Vault;

    #[test]
    fn the_time_that_a_collector_asks_for_is_read_in_seconds_and_as_a_date_of_its_own_clock() {
        let asked = |wait: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(DATE, HeaderValue::from_static("Sat, 28 Nov 2026 02:00:00 GMT"));
            headers.insert(RETRY_AFTER, HeaderValue::from_static(wait));
            retry_after(&headers)
        };
        assert_eq!(asked("120"), Some(Duration::from_secs(120)));
        assert_eq!(asked("Sat, 28 Nov 2026 02:05:00 GMT"), Some(Duration::from_secs(300)));
        assert_eq!(asked("Sat, 28 Nov 2026 01:00:00 GMT"), Some(Duration::ZERO), "a moment that is over");
        assert_eq!((asked("soon"), asked("-1")), (None, None));
    }

    #[test]
    fn a_text_of_a_collector_is_one_short_line_without_what_it_was_sent() {
        let dir = tempfile::tempdir().expect("a folder");
        let config = Config { secrets: SecretsChoice::File, ..Config::built_in(Paths::new(dir.path())) };
        let vault = Arc::new(Vault::open(&config).expect("a vault"));
        let collectors = HttpCollectors::new(CollectorHeaders::new(vault), &config.policy);
        let mut sent = HeaderMap::new();
        sent.insert("authorization", HeaderValue::from_static("Bearer hush-hush"));
        let shown = |text: &str| collectors.shown(text, &sent);
        assert_eq!(shown("no token `hush-hush`\n\u{1b}[31mBearer hush-hush\n"), "no token '…' [31m…");
        let long = shown(&"x".repeat(10_000));
        assert_eq!(long.chars().count(), config.policy.audit.sink_message_chars + 1, "and its end says so");
    }
}
