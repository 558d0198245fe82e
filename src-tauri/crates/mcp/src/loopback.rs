//! Whether a URL means this machine: then nothing needs a proxy or TLS.

use domain::server::is_loopback_host;
use url::Url;

/// Whether the URL can only mean this machine.
pub(crate) fn is_loopback(url: &Url) -> bool {
    url.host_str().is_some_and(is_loopback_host)
}
