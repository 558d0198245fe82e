//! What the answer of a collector means: OTLP specification, section OTLP/HTTP Response.
//!
//! A collector can repeat what it was sent, secrets included, in parts and in any encoding. So no text of an answer gets out
//! of here: only its status, known kinds of content, lengths, and two numbers of known messages (`response_body.rs`).

use std::net::SocketAddr;
use std::time::Duration;

use domain::audit::log_sink::SinkSignal;
use domain::ports::CollectorReply;
use reqwest::header::{CONTENT_TYPE, DATE, HeaderMap, HeaderName, RETRY_AFTER};
use reqwest::{Response, StatusCode};

use super::response_body::{BodyKind, rejected_items, status_code};

/// The most of a body that was wanted, or its end.
enum BodyEnd {
    Whole,
    /// It is longer than is read.
    TooLong,
    /// The connection ended first.
    BrokenOff,
}

/// An answer, read as far as it is wanted.
pub(super) struct CollectorAnswer {
    status: StatusCode,
    wait: Option<Duration>,
    kind: BodyKind,
    body: Vec<u8>,
    end: BodyEnd,
    /// Who answered: the collector or a proxy.
    from: Option<SocketAddr>,
}

impl CollectorAnswer {
    pub(super) async fn read(mut response: Response, most: usize) -> Self {
        let (status, from) = (response.status(), response.remote_addr());
        let kind = BodyKind::of(text(response.headers(), &CONTENT_TYPE));
        let wait = retry_after(response.headers());
        let mut body = Vec::new();
        let end = loop {
            match response.chunk().await {
                Ok(Some(part)) if body.len() + part.len() > most => break BodyEnd::TooLong,
                Ok(Some(part)) => body.extend_from_slice(&part),
                Ok(None) => break BodyEnd::Whole,
                Err(_) => break BodyEnd::BrokenOff,
            }
        };
        Self { status, wait, kind, body, end, from }
    }

    /// What became of a request of this signal.
    pub(super) fn meaning(&self, signal: SinkSignal) -> CollectorReply {
        if self.status.is_success() {
            return self.success(signal);
        }
        let why = self.refusal();
        match self.status {
            StatusCode::TOO_MANY_REQUESTS
            | StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT => CollectorReply::Later { why, wait: self.wait },
            StatusCode::PAYLOAD_TOO_LARGE => CollectorReply::TooLarge { why },
            _ => CollectorReply::Refused { why },
        }
    }

    /// Only a collector answers with the response of its signal; the page of a proxy or of a wrong address takes nothing.
    fn success(&self, signal: SinkSignal) -> CollectorReply {
        let status = self.status.as_u16();
        let rejected = match self.end {
            // Nobody knows whether it took them.
            BodyEnd::BrokenOff => {
                return CollectorReply::Later {
                    why: format!("answered {status}, and its answer broke off"),
                    wait: None,
                };
            }
            BodyEnd::TooLong => None,
            BodyEnd::Whole => rejected_items(signal, self.kind, &self.body),
        };
        rejected.map_or_else(
            || CollectorReply::Refused {
                why: format!("answered {status}, but not as a collector does: it sent {}", self.content()),
            },
            |rejected| CollectorReply::Taken { rejected },
        )
    }

    fn refusal(&self) -> String {
        let code = status_code(self.kind, &self.body).map(|code| format!("{code}, ")).unwrap_or_default();
        format!("answered {}: {} ({code}{})", self.status.as_u16(), meaning_of(self.status), self.content())
    }

    /// The body as a person may see it, and who sent it.
    fn content(&self) -> String {
        let bytes = |many: usize| if many == 1 { "1 byte".to_owned() } else { format!("{many} bytes") };
        let content = match (&self.end, self.body.len()) {
            (BodyEnd::Whole, 0) => "no content".to_owned(),
            (BodyEnd::Whole, many) => format!("{} of {}", self.kind.name(), bytes(many)),
            (BodyEnd::TooLong, _) => format!("too much {}", self.kind.name()),
            (BodyEnd::BrokenOff, many) => format!("{} that broke off after {}", self.kind.name(), bytes(many)),
        };
        self.from.map_or_else(|| content.clone(), |from| format!("{content} from {from}"))
    }
}

/// What a status says about a request of a sink, in words that help to find the fault.
fn meaning_of(status: StatusCode) -> &'static str {
    match status.as_u16() {
        300..=399 => "it redirects to another address, which is not followed",
        400 => "it does not accept the request",
        401 => "credentials are missing or wrong",
        403 => "the credentials do not allow this",
        404 => "no collector is at this path",
        405 => "this path takes no POST requests",
        407 => "a proxy wants credentials",
        408 => "it waited too long for the request",
        413 => "the request is too large",
        415 => "it takes no JSON",
        429 => "it gets too many requests",
        500 => "it has an error of its own",
        501 => "it has no such function",
        502 | 504 => "the server before it does not reach it",
        503 => "it is not available now",
        _ if status.is_client_error() => "it refuses the request",
        _ if status.is_server_error() => "it failed",
        _ => "OTLP has no such answer",
    }
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

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;

    use super::*;

    fn answer(status: u16, kind: &str, body: &str) -> CollectorAnswer {
        let status = StatusCode::from_u16(status).expect("a status");
        let (kind, from) = (BodyKind::of(Some(kind)), Some(SocketAddr::from(([127, 0, 0, 1], 4318))));
        CollectorAnswer { status, wait: None, kind, body: body.into(), end: BodyEnd::Whole, from }
    }

    fn refused(status: u16, kind: &str, body: &str) -> String {
        match answer(status, kind, body).meaning(SinkSignal::Logs) {
            CollectorReply::Refused { why } => why,
            reply => format!("{reply:?}"),
        }
    }

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
    fn a_refusal_says_what_it_means_and_what_came_from_where_and_nothing_that_the_collector_said() {
        let said = r#"{"code": 16, "message": "hush is no token"}"#;
        let why = "answered 401: credentials are missing or wrong (gRPC code 16, unauthenticated, JSON of 43 bytes from \
                   127.0.0.1:4318)";
        assert_eq!(refused(401, "application/json; charset=hush", said), why);
        let why = "answered 404: no collector is at this path (content of another kind of 4 bytes from 127.0.0.1:4318)";
        assert_eq!(refused(404, "text/hush", "hush"), why);
        assert!(refused(418, "text/html", "").contains("it refuses the request (no content from"));
        for status in 100..=999 {
            let reply = format!("{:?}", answer(status, "text/plain", "hush").meaning(SinkSignal::Logs));
            assert!(!reply.contains("hush"), "{reply}");
        }
    }

    #[test]
    fn a_success_that_is_no_answer_of_a_collector_takes_nothing() {
        let why = "answered 200, but not as a collector does: it sent HTML of 13 bytes from 127.0.0.1:4318";
        assert_eq!(refused(200, "text/html", "<html></html>"), why);
        let cut_off = CollectorAnswer { end: BodyEnd::BrokenOff, ..answer(200, "application/json", "{") };
        assert!(matches!(cut_off.meaning(SinkSignal::Logs), CollectorReply::Later { .. }), "it is asked again");
        let long = CollectorAnswer { end: BodyEnd::TooLong, ..answer(200, "application/json", "{") };
        assert!(
            matches!(long.meaning(SinkSignal::Logs), CollectorReply::Refused { why } if why.contains("too much JSON"))
        );
        let taken = answer(202, "application/json", "{}").meaning(SinkSignal::Logs);
        assert_eq!(taken, CollectorReply::Taken { rejected: 0 });
    }
}
