//! Refuses requests of foreign web pages and rebound names before a body is read, and checks media types.
//!
//! A page of another origin carries its own `Origin`, a rebound name shows in `Host` (protocol.md §2.3, §6.3); programs
//! send no `Origin`. The listener of `host` uses the same two checks for its page. Tokens are not checked here.

use axum::http::{HeaderMap, HeaderName, Method, StatusCode, header};

use super::Head;

/// Names of this machine that a request may be sent to. Anything else may be a name that was rebound to it.
const OWN_NAMES: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];

/// Where a browser says that a request comes from. Names that are made once are found without being read each time.
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Why a request may not come in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForeignRequest {
    /// Its `Host` is not a name of this machine with our port.
    Host,
    /// A page of another origin sent it.
    Origin,
}

/// Checks that a request was sent to this port of this machine, and by no page but one of this very address.
///
/// # Errors
/// Names the header that says otherwise.
pub fn check_host_and_origin(headers: &HeaderMap, port: u16) -> Result<(), ForeignRequest> {
    let host = single(headers, header::HOST).ok_or(ForeignRequest::Host)?;
    let is_port = |rest: &str| rest.strip_prefix(':').is_some_and(|written| is_number(written, port));
    if !OWN_NAMES.iter().any(|name| host.strip_prefix(name).is_some_and(is_port)) {
        return Err(ForeignRequest::Host);
    }
    let is_own = |origin: &str| origin.strip_prefix("http://") == Some(host);
    if headers.contains_key(header::ORIGIN) && !single(headers, header::ORIGIN).is_some_and(is_own) {
        return Err(ForeignRequest::Origin);
    }
    Ok(())
}

/// Whether a text is this number, written as `to_string` would.
fn is_number(written: &str, number: u16) -> bool {
    let is_plain = written.bytes().all(|byte| byte.is_ascii_digit()) && !written.starts_with('0');
    is_plain && written.parse() == Ok(number)
}

/// Refuses a call that a browser says comes from another site. Programs that are no browser say nothing.
///
/// # Errors
/// When `Sec-Fetch-Site` names anything but the same origin.
pub fn check_fetch_site(headers: &HeaderMap) -> Result<(), ForeignRequest> {
    match headers.get(FETCH_SITE) {
        Some(site) if site != "same-origin" => Err(ForeignRequest::Origin),
        Some(_) | None => Ok(()),
    }
}

/// The value of a header that occurs exactly once: two readers may pick different ones of several.
fn single(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    let first = values.next()?;
    if values.next().is_some() {
        return None;
    }
    first.to_str().ok()
}

/// Checks the head of a request to the endpoint on this port.
pub(crate) fn check(head: &Head, port: u16) -> Result<(), (StatusCode, &'static str)> {
    check_host_and_origin(&head.headers, port).and_then(|()| check_fetch_site(&head.headers)).map_err(|foreign| {
        let why = match foreign {
            ForeignRequest::Host => "the `Host` header does not name this machine",
            ForeignRequest::Origin => "the `Origin` header names another place",
        };
        (StatusCode::FORBIDDEN, why)
    })?;
    check_media(head)
}

/// Checks the media types that a request to the endpoint has and takes.
fn check_media(head: &Head) -> Result<(), (StatusCode, &'static str)> {
    match head.method {
        Method::POST => check_post(&head.headers),
        Method::GET if !accepts(&head.headers, "text/event-stream") => {
            Err((StatusCode::NOT_ACCEPTABLE, "`Accept` must hold `text/event-stream`"))
        }
        _ => Ok(()),
    }
}

fn check_post(headers: &HeaderMap) -> Result<(), (StatusCode, &'static str)> {
    if !says_json(headers) {
        return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, "the body must be `application/json`"));
    }
    if headers.get(header::ACCEPT).is_some_and(|list| list == BOTH_KINDS) {
        return Ok(());
    }
    if !accepts(headers, "application/json") {
        return Err((StatusCode::NOT_ACCEPTABLE, "`Accept` must hold `application/json` and `text/event-stream`"));
    }
    if !accepts(headers, "text/event-stream") {
        return Err((StatusCode::NOT_ACCEPTABLE, "`Accept` must hold `text/event-stream`"));
    }
    Ok(())
}

/// Whether a POST has and takes the media types of the endpoint.
#[must_use]
pub fn takes_post(headers: &HeaderMap) -> bool {
    check_post(headers).is_ok()
}

/// What nearly every client accepts, as nearly every client writes it: compared as a whole, because taking the list apart
/// costs as much as all other checks of a request.
const BOTH_KINDS: &str = "application/json, text/event-stream";

fn says_json(headers: &HeaderMap) -> bool {
    if headers.get(header::CONTENT_TYPE).is_some_and(|kind| kind == "application/json") {
        return true;
    }
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json")
}

/// Whether the client takes this kind; without the header it takes everything.
fn accepts(headers: &HeaderMap, kind: &str) -> bool {
    let mut lists = headers.get_all(header::ACCEPT).iter().filter_map(|list| list.to_str().ok()).peekable();
    if lists.peek().is_none() {
        return true;
    }
    let family = kind.split('/').next().unwrap_or_default();
    lists.flat_map(|list| list.split(',')).any(|one| {
        let one = one.split(';').next().unwrap_or_default().trim();
        one.eq_ignore_ascii_case(kind) || one == "*/*" || one.strip_suffix("/*").is_some_and(|of| of == family)
    })
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn with(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, HeaderValue::from_static(value));
        }
        headers
    }

    #[test]
    fn only_names_of_this_machine_with_our_port_are_served() {
        for host in ["127.0.0.1:7717", "localhost:7717", "[::1]:7717"] {
            assert_eq!(check_host_and_origin(&with(&[("host", host)]), 7717), Ok(()), "{host}");
        }
        for host in [
            "127.0.0.1",
            "[::1]",
            "LOCALHOST:7717",
            "evil.example@127.0.0.1:7717",
            "127.0.0.1:7718",
            "127.0.0.1:07717",
            "127.0.0.1:+7717",
            "127.0.0.1:",
            "127.0.0.1:73253",
            "evil.example:7717",
            "127.0.0.1.evil.example:7717",
            "",
        ] {
            assert_eq!(check_host_and_origin(&with(&[("host", host)]), 7717), Err(ForeignRequest::Host), "{host}");
        }
        assert_eq!(check_host_and_origin(&with(&[]), 7717), Err(ForeignRequest::Host), "no name at all");
        let twice = with(&[("host", "localhost:7717"), ("host", "evil.example")]);
        assert_eq!(check_host_and_origin(&twice, 7717), Err(ForeignRequest::Host), "two names");
    }

    #[test]
    fn media_types_are_read_however_they_are_written() {
        let takes = |kind, accepts| takes_post(&with(&[("content-type", kind), ("accept", accepts)]));
        for accepts in [
            BOTH_KINDS,
            "text/event-stream,application/json",
            "Application/JSON;q=1, */*",
            "application/*, text/event-stream",
        ] {
            assert!(takes("application/json", accepts), "`{accepts}`");
        }
        for accepts in ["application/json", "text/event-stream", "application/json, text/event-streams", ""] {
            assert!(!takes("application/json", accepts), "`{accepts}`");
        }
        assert!(takes("Application/Json; charset=utf-8", BOTH_KINDS), "with parameters");
        assert!(!takes("application/json5", BOTH_KINDS) && !takes("", BOTH_KINDS), "another type");
    }

    #[test]
    fn a_page_of_another_place_is_a_stranger() {
        let from = |origin| check_host_and_origin(&with(&[("host", "localhost:7717"), ("origin", origin)]), 7717);
        assert_eq!(from("http://localhost:7717"), Ok(()));
        for origin in ["http://localhost:9999", "http://127.0.0.1:7717", "https://localhost:7717", "null"] {
            assert_eq!(from(origin), Err(ForeignRequest::Origin), "{origin}");
        }
        assert_eq!(
            check_fetch_site(&with(&[("sec-fetch-site", "same-site")])),
            Err(ForeignRequest::Origin),
            "another port"
        );
        assert_eq!(check_fetch_site(&with(&[("sec-fetch-site", "same-origin")])), Ok(()));
        assert_eq!(check_fetch_site(&with(&[])), Ok(()), "a program that is no browser says nothing");
    }
}
