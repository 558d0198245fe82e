//! Keeps strangers out before a body is read: web pages of other origins, rebound names, wrong media types.
//!
//! A browser page of any other origin carries an `Origin`, and a rebound name shows in `Host`; both are refused
//! (protocol.md §2.3, §6.3). Programs send no `Origin`. Tokens are not checked here.

use std::net::SocketAddr;

use axum::http::{HeaderMap, Method, StatusCode, header};

use super::Head;

/// Knows where we listen.
pub(crate) struct Guard {
    port: u16,
}

impl Guard {
    pub(crate) fn of(bound: SocketAddr) -> Self {
        Self { port: bound.port() }
    }

    /// Whether a request may come in.
    pub(crate) fn check(&self, head: &Head) -> Result<(), (StatusCode, &'static str)> {
        let host = text(&head.headers, header::HOST).or_else(|| head.uri.authority().map(|named| named.as_str()));
        if !host.is_some_and(|host| self.is_ours(host)) {
            return Err((StatusCode::FORBIDDEN, "the `Host` header does not name this machine"));
        }
        if head.headers.contains_key(header::ORIGIN) {
            let origin = text(&head.headers, header::ORIGIN).and_then(|origin| origin.strip_prefix("http://"));
            if !origin.is_some_and(|origin| self.is_ours(origin)) {
                return Err((StatusCode::FORBIDDEN, "the `Origin` header names another place"));
            }
        }
        match head.method {
            Method::POST if !says_json(&head.headers) => {
                Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, "the body must be `application/json`"))
            }
            Method::POST if !accepts(&head.headers, "application/json") => {
                Err((StatusCode::NOT_ACCEPTABLE, "`Accept` must hold `application/json` and `text/event-stream`"))
            }
            Method::POST | Method::GET if !accepts(&head.headers, "text/event-stream") => {
                Err((StatusCode::NOT_ACCEPTABLE, "`Accept` must hold `text/event-stream`"))
            }
            _ => Ok(()),
        }
    }

    fn is_ours(&self, authority: &str) -> bool {
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok()),
            _ => (authority, Some(80)),
        };
        let names_loopback = host.eq_ignore_ascii_case("localhost") || host == "[::1]" || host == "127.0.0.1";
        names_loopback && port == Some(self.port)
    }
}

fn text(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}

fn says_json(headers: &HeaderMap) -> bool {
    let kind = text(headers, header::CONTENT_TYPE).unwrap_or_default();
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
    use super::*;

    #[test]
    fn only_names_of_this_machine_with_our_port_come_in() {
        let guard = Guard { port: 7717 };
        for (authority, ours) in [
            ("127.0.0.1:7717", true),
            ("localhost:7717", true),
            ("LOCALHOST:7717", true),
            ("[::1]:7717", true),
            ("127.0.0.1:80", false),
            ("127.0.0.1", false),
            ("evil.example:7717", false),
            ("localhost.evil.example:7717", false),
            ("127.0.0.1:7717.evil.example", false),
            ("evil.example@127.0.0.1:7717", false),
            ("", false),
            ("[::1]", false),
        ] {
            assert_eq!(guard.is_ours(authority), ours, "`{authority}`");
        }
    }
}
