//! Headers of the page: strict ones on every response, and the session's cookie in a request.
//!
//! Which requests may come in at all is decided by `mcp::server::check_host_and_origin`, who the person is by
//! `sign_in.rs`.

use axum::http::{HeaderMap, HeaderValue, header};

/// The page may run what came with it and call this core, nothing else.
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

/// Adds the strict headers to a response.
pub(crate) fn harden(headers: &mut HeaderMap) {
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

/// The value of a cookie.
pub(crate) fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
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
    fn a_cookie_is_found_by_its_whole_name() {
        let headers = with(&[("cookie", "a=1; taskwarden-77=no; taskwarden-7717=yes")]);
        assert_eq!(cookie(&headers, "taskwarden-7717"), Some("yes"));
        assert_eq!(cookie(&headers, "taskwarden"), None);
    }
}
