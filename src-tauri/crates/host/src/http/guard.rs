//! Which requests come from a page of ours: by Host, Origin and what browsers say of the sender.
//!
//! Another site whose name was pointed at 127.0.0.1 has its own name in Host; a page of another site has its own in
//! Origin. Both are refused before anything is read. Who the person is, is `sign_in.rs`'s.

use axum::http::{HeaderMap, HeaderValue, header};

/// What a page may do: run what came with it and speak to this core, nothing else.
const CONTENT_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
     media-src data:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const HEADERS: [(&str, &str); 8] = [
    ("content-security-policy", CONTENT_POLICY),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cross-origin-embedder-policy", "require-corp"),
    ("x-frame-options", "DENY"),
    ("permissions-policy", "camera=(), microphone=(), geolocation=()"),
];

/// Puts the strict headers on a response.
pub(super) fn harden(headers: &mut HeaderMap) {
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

/// Why a request is not from a page of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stranger {
    /// It was sent to another name.
    Host,
    /// A page of another place sent it.
    Origin,
}

/// Whether this port's page, or a person who types its address, may have sent this.
pub(super) fn check(headers: &HeaderMap, port: u16) -> Result<(), Stranger> {
    let host = single(headers, header::HOST).ok_or(Stranger::Host)?;
    let is_ours = ["127.0.0.1", "localhost", "[::1]"].iter().any(|name| host == format!("{name}:{port}"));
    if !is_ours {
        return Err(Stranger::Host);
    }
    if headers.contains_key(header::ORIGIN)
        && single(headers, header::ORIGIN) != Some(format!("http://{host}").as_str())
    {
        return Err(Stranger::Origin);
    }
    Ok(())
}

/// Whether a call may come from this sender: browsers say when another site's page makes one.
pub(super) fn may_call(headers: &HeaderMap) -> Result<(), Stranger> {
    match headers.get("sec-fetch-site") {
        Some(site) if site != "same-origin" => Err(Stranger::Origin),
        Some(_) | None => Ok(()),
    }
}

/// A header that stands there exactly once.
fn single(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    let mut all = headers.get_all(name).iter();
    let first = all.next()?;
    if all.next().is_some() {
        return None;
    }
    first.to_str().ok()
}

/// The value of a cookie.
pub(super) fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(';')).find_map(|pair| {
        let (key, value) = pair.trim().split_once('=')?;
        (key == name).then_some(value)
    })
}

#[cfg(test)]
mod tests {
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
            assert_eq!(check(&with(&[("host", host)]), 7717), Ok(()), "{host}");
        }
        for host in ["127.0.0.1", "127.0.0.1:7718", "evil.example:7717", "127.0.0.1.evil.example:7717", ""] {
            assert_eq!(check(&with(&[("host", host)]), 7717), Err(Stranger::Host), "{host}");
        }
        assert_eq!(check(&with(&[]), 7717), Err(Stranger::Host), "no name at all");
        let twice = with(&[("host", "localhost:7717"), ("host", "evil.example")]);
        assert_eq!(check(&twice, 7717), Err(Stranger::Host), "two names");
    }

    #[test]
    fn a_page_of_another_place_is_a_stranger() {
        let from = |origin| check(&with(&[("host", "localhost:7717"), ("origin", origin)]), 7717);
        assert_eq!(from("http://localhost:7717"), Ok(()));
        for origin in ["http://localhost:9999", "http://127.0.0.1:7717", "https://localhost:7717", "null"] {
            assert_eq!(from(origin), Err(Stranger::Origin), "{origin}");
        }
        assert_eq!(may_call(&with(&[("sec-fetch-site", "same-site")])), Err(Stranger::Origin), "another port");
        assert_eq!(may_call(&with(&[("sec-fetch-site", "same-origin")])), Ok(()));
        assert_eq!(may_call(&with(&[])), Ok(()), "a program that is no browser says nothing");
    }

    #[test]
    fn a_cookie_is_found_by_its_whole_name() {
        let headers = with(&[("cookie", "a=1; taskwarden-77=no; taskwarden-7717=yes")]);
        assert_eq!(cookie(&headers, "taskwarden-7717"), Some("yes"));
        assert_eq!(cookie(&headers, "taskwarden"), None);
    }
}
