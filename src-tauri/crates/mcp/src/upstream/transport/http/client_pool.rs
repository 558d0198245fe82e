//! The HTTP clients of a core, with the connections they pool, shared by all links.
//!
//! Plain HTTP without a proxy goes over connections of our own (`plain_pool.rs`). Loopback never uses a proxy. Redirects
//! are followed in `endpoint.rs`, which knows which are allowed. Bodies are never decompressed, so that a small body
//! stays small.

use std::collections::HashMap;
use std::error::Error;
use std::path::Path;
use std::sync::{Arc, OnceLock, Weak};

use domain::policy::Policy;
use engine::runtime::supervisor::Supervisor;
use http::Uri;
use parking_lot::Mutex;
use url::{Position, Url};

use super::plain_pool::PlainPool;
use crate::loopback::is_loopback;

/// Clients, made when first used.
#[derive(Default)]
pub(crate) struct Clients {
    loopback: OnceLock<reqwest::Client>,
    outside: OnceLock<reqwest::Client>,
    plain: Mutex<HashMap<Uri, Weak<PlainPool>>>,
}

/// Variables that name a proxy for plain HTTP.
const PROXY_VARIABLES: [&str; 4] = ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"];

impl Clients {
    /// The plain connections to the origin of this URL; `None` where TLS, a proxy or a password in the URL is for the
    /// other client.
    pub(crate) fn plain(&self, url: &Url, policy: &Policy, supervisor: &Supervisor) -> Option<Arc<PlainPool>> {
        let named = |name: &&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let has_proxy = !is_loopback(url) && PROXY_VARIABLES.iter().any(named);
        let has_password = !url.username().is_empty() || url.password().is_some();
        if url.scheme() != "http" || has_proxy || has_password {
            return None;
        }
        let origin: Uri = url[..Position::BeforePath].parse().ok()?;
        let mut plain = self.plain.lock();
        if let Some(pool) = plain.get(&origin).and_then(Weak::upgrade) {
            return Some(pool);
        }
        plain.retain(|_, pool| pool.strong_count() > 0);
        let pool = Arc::new(PlainPool::new(origin.clone(), policy, supervisor));
        plain.insert(origin, Arc::downgrade(&pool));
        Some(pool)
    }

    /// The client for this URL; the error is one line.
    pub(crate) fn get(&self, url: &Url, policy: &Policy) -> Result<reqwest::Client, String> {
        let local = is_loopback(url);
        let kept = if local { &self.loopback } else { &self.outside };
        if let Some(client) = kept.get() {
            return Ok(client.clone());
        }
        let mut builder = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .user_agent(USER_AGENT)
            .connect_timeout(policy.connect_limit)
            .pool_idle_timeout(policy.pool_idle_limit)
            .tcp_keepalive(policy.body_idle_limit)
            .tcp_nodelay(true);
        if local {
            builder = builder.no_proxy();
        }
        let client = builder.build().map_err(|error| why_not(&error.without_url()))?;
        Ok(kept.get_or_init(|| client).clone())
    }
}

/// How we name ourselves to servers.
pub(crate) const USER_AGENT: &str = concat!("taskwarden/", env!("CARGO_PKG_VERSION"));

/// Why there is no client: nearly always certificates that cannot be read, so the place that a variable names for them
/// is looked at.
fn why_not(error: &dyn Error) -> String {
    let mut root = error;
    while let Some(source) = root.source() {
        root = source;
    }
    let set = |name| std::env::var_os(name).filter(|path| !path.is_empty()).map(|path| (name, path));
    let named = [set("SSL_CERT_FILE"), set("SSL_CERT_DIR")];
    let places: Vec<String> = named.into_iter().flatten().map(|(name, path)| place(name, Path::new(&path))).collect();
    if places.is_empty() { root.to_string() } else { format!("{} ({root})", places.join(" and ")) }
}

/// What is wrong with the place of certificates that a variable names.
fn place(variable: &str, path: &Path) -> String {
    let shown = domain::policy::plain_text(&path.to_string_lossy(), SHOWN_CHARS);
    let read = if path.is_dir() { std::fs::read_dir(path).map(drop) } else { std::fs::File::open(path).map(drop) };
    match read {
        Ok(()) => format!("`{variable}` names `{shown}`, where no certificate can be used"),
        Err(why) => format!("`{variable}` names `{shown}`, which cannot be read: {why}"),
    }
}

/// A path fits on one line.
const SHOWN_CHARS: usize = 200;

#[cfg(test)]
mod tests {
    use super::place;

    #[test]
    fn a_bad_place_of_certificates_is_named_with_its_cause() {
        let folder = tempfile::tempdir().expect("a folder");
        let missing = place("SSL_CERT_FILE", &folder.path().join("none.pem"));
        assert!(missing.contains("`SSL_CERT_FILE` names `") && missing.contains("none.pem`"), "{missing}");
        assert!(missing.contains("No such file"), "the cause is told: {missing}");
        let empty = folder.path().join("empty.pem");
        std::fs::write(&empty, "no certificate").expect("a file");
        assert!(place("SSL_CERT_FILE", &empty).ends_with("where no certificate can be used"));
    }
}
