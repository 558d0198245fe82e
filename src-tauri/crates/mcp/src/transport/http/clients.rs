//! The HTTP clients of a core: connections are pooled here and shared by all links.
//!
//! Loopback has a client of its own that never uses a proxy. Redirects are not followed here but in `endpoint.rs`,
//! which knows what may be followed; bodies are never decompressed, so that a small body stays small.

use std::sync::OnceLock;

use domain::policy::Policy;
use url::{Host, Url};

/// Clients, made when first used.
#[derive(Default)]
pub(crate) struct Clients {
    loopback: OnceLock<reqwest::Client>,
    outside: OnceLock<reqwest::Client>,
}

impl Clients {
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
            .user_agent(concat!("taskwarden/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(policy.connect_limit)
            .pool_idle_timeout(policy.pool_idle_limit)
            .tcp_keepalive(policy.body_idle_limit)
            .tcp_nodelay(true);
        if local {
            builder = builder.no_proxy();
        }
        let client = builder.build().map_err(|error| error.without_url().to_string())?;
        Ok(kept.get_or_init(|| client).clone())
    }
}

/// Whether the URL can only mean this machine.
pub(crate) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}
