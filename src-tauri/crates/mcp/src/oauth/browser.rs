//! Judges the address at which a browser ended: whether it belongs to the sign-in that waits, and what it says.
//!
//! Who answers is compared before anything else is read (protocol.md §5.1, step 6), so that nothing of a foreign answer is
//! shown.

use domain::ports::SignInFault;
use url::Url;

use super::discovery::Issuer;
use super::faults::{another_issuer, broken, fault, quoted};

/// What the sign-in that waits expects.
pub(crate) struct Expected {
    /// The `state` of the address that the browser opened.
    state: String,
    issuer: String,
    /// Whom messages name.
    host: String,
    promises_name: bool,
}

/// What an address says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum BrowserAnswer {
    /// It is of another sign-in, or of nobody.
    NotOurs,
    Refused(SignInFault),
    /// It brings a code, which only the issuer can read.
    Code,
}

impl Expected {
    /// `None` when the address that the browser opens has no `state`.
    pub(crate) fn of(opened: &str, issuer: &Issuer) -> Option<Self> {
        let opened = Url::parse(opened).ok()?;
        let state = parameter(&opened, "state").filter(|state| !state.is_empty())?;
        let Issuer { name, host, promises_name, .. } = issuer;
        Some(Self { state, issuer: name.clone(), host: host.clone(), promises_name: *promises_name })
    }

    /// Reads an address.
    pub(crate) fn judge(&self, address: &str) -> BrowserAnswer {
        let Ok(address) = Url::parse(address) else { return BrowserAnswer::NotOurs };
        if parameter(&address, "state").as_deref() != Some(self.state.as_str()) {
            return BrowserAnswer::NotOurs;
        }
        let (code, error) = (parameter(&address, "code").filter(|code| !code.is_empty()), parameter(&address, "error"));
        if code.is_none() && error.is_none() {
            // Such as the address that the browser opened: it has the same `state`.
            return BrowserAnswer::NotOurs;
        }
        match parameter(&address, "iss") {
            Some(issuer) if issuer != self.issuer => return BrowserAnswer::Refused(another_issuer(&self.host)),
            None if self.promises_name => {
                return BrowserAnswer::Refused(broken(format!(
                    "`{}` does not say who it is in its answer, although it promised to",
                    self.host
                )));
            }
            Some(_) | None => {}
        }
        match error {
            Some(error) => BrowserAnswer::Refused(self.refused(&error)),
            None => BrowserAnswer::Code,
        }
    }

    fn refused(&self, error: &str) -> SignInFault {
        let host = &self.host;
        match error {
            "access_denied" => {
                fault(format!("access was denied at `{host}`"), "Sign in again, and allow it there, if you want to.")
            }
            "invalid_scope" => fault(
                format!("`{host}` does not give the permissions that were asked for"),
                "Sign in again without permissions of your own; else only who runs the server can mend that.",
            ),
            "temporarily_unavailable" | "server_error" => {
                fault(format!("`{host}` has a problem of its own"), "Try again later.")
            }
            other => broken(format!("`{host}` refused the sign-in with the error `{}`", quoted(other))),
        }
    }
}

/// A parameter that stands there once: of two, nobody knows which one counts.
fn parameter(url: &Url, name: &str) -> Option<String> {
    let mut found = url.query_pairs().filter(|(key, _)| key == name).map(|(_, value)| value.into_owned());
    let first = found.next();
    if found.next().is_some() { None } else { first }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected(promises_name: bool) -> Expected {
        Expected {
            state: "s1".into(),
            issuer: "https://auth.example".into(),
            host: "auth.example".into(),
            promises_name,
        }
    }

    fn judged(query: &str, promises_name: bool) -> BrowserAnswer {
        expected(promises_name).judge(&format!("http://127.0.0.1:1/callback?{query}"))
    }

    #[test]
    fn only_the_address_of_this_sign_in_ends_it() {
        assert_eq!(judged("code=c&state=s1", false), BrowserAnswer::Code);
        for foreign in
            ["code=c", "code=c&state=", "code=c&state=s2", "code=c&state=s1&state=s1", "error=access_denied", ""]
        {
            assert_eq!(judged(foreign, false), BrowserAnswer::NotOurs, "`{foreign}`");
        }
        assert_eq!(expected(false).judge("no address"), BrowserAnswer::NotOurs);
    }

    #[test]
    fn who_answers_is_compared_before_anything_else_is_read() {
        let wrong = judged("error=%3Cb%3Ehello&state=s1&iss=https%3A%2F%2Fauth.example%2F", false);
        assert!(
            matches!(&wrong, BrowserAnswer::Refused(fault) if !format!("{fault:?}").contains("hello")),
            "{wrong:?}"
        );
        assert!(matches!(judged("code=c&state=s1", true), BrowserAnswer::Refused(_)), "it promised to say who it is");
        assert_eq!(judged("code=c&state=s1&iss=https%3A%2F%2Fauth.example", true), BrowserAnswer::Code);
    }

    #[test]
    fn a_refusal_is_told_and_quoted_shortly() {
        let denied = judged("error=access_denied&state=s1&error_description=%3Cscript%3E", false);
        assert!(matches!(&denied, BrowserAnswer::Refused(fault) if fault.why.contains("denied")), "{denied:?}");
        let long = judged(&format!("error={}&state=s1", "x".repeat(5_000)), false);
        assert!(matches!(&long, BrowserAnswer::Refused(fault) if fault.why.len() < 400), "{long:?}");
        assert_eq!(judged("state=s1", false), BrowserAnswer::NotOurs, "the address that was opened brings nothing");
    }
}
