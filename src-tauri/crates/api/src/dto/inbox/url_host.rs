//! The host of an address that a server wants opened, as people read it.
//!
//! Punycode is decoded so that a person sees what a browser would show; the ASCII form is added when it differs. Nothing is
//! judged here; the window opens an address, and only on a click.

use url::Url;

/// A host as shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UrlHost {
    /// As people read it, with a port that is not the usual one.
    pub(crate) shown: String,
    /// In ASCII, when that reads differently.
    pub(crate) ascii: Option<String>,
}

impl UrlHost {
    /// The host of an address; `None` when it has none.
    pub(crate) fn of(address: &str) -> Option<Self> {
        let url = Url::parse(address).ok()?;
        let host = url.host_str().filter(|host| !host.is_empty())?;
        let (decoded, outcome) = idna::domain_to_unicode(host);
        // What is not well-formed is shown as it is written.
        let decoded = if outcome.is_ok() { decoded } else { host.to_owned() };
        let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
        let ascii = (decoded != host).then(|| format!("{host}{port}"));
        Some(Self { shown: format!("{decoded}{port}"), ascii })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_that_only_looks_like_another_shows_both_its_forms() {
        let of = |address: &str| UrlHost::of(address).map(|host| (host.shown, host.ascii));
        let fake = of("https://xn--pypal-4ve.com/sign-in").expect("it has a host");
        assert_eq!(fake, ("pаypal.com".into(), Some("xn--pypal-4ve.com".into())), "the letter is Cyrillic");
        assert_eq!(
            of("https://bücher.example:8443/x"),
            of("https://xn--bcher-kva.example:8443/"),
            "written either way"
        );
        let plain = of("https://user:secret@example.org/path?q").expect("it has a host");
        assert_eq!(plain, ("example.org".into(), None), "no name, no password, no path");
        assert_eq!(of("http://[::1]:80/"), Some(("[::1]".into(), None)), "the usual port is not shown");
        assert_eq!(of("mailto:a@example.org"), None, "no host");
        assert_eq!(of("not an address"), None, "no address");
    }
}
