//! Why a sign-in failed, in words for people.
//!
//! Texts of servers and issuers are capped, attributed and never quoted whole; codes, tokens and addresses with
//! parameters are in no message.

use std::time::Duration;

use domain::policy::plain_text;
use domain::ports::{SecretError, SignInFault};
use rmcp::transport::auth::AuthError;
use url::Url;

/// A quoted text fits on one line.
const QUOTED_CHARS: usize = 160;

/// What a person does when the issuer or the server does not keep to the protocol.
const ASK_OPERATOR: &str = "Only who runs it can mend that. A token that you got there by other means works as well: change the server and give it \
     as the header `Authorization`.";

/// A fault with these two sentences.
pub(crate) fn fault(why: impl Into<String>, hint: impl Into<String>) -> SignInFault {
    SignInFault { why: why.into(), hint: hint.into() }
}

/// The server or the issuer does not do what the protocol says.
pub(crate) fn broken(why: impl Into<String>) -> SignInFault {
    fault(why, ASK_OPERATOR)
}

/// A text of somebody else, for a message.
pub(crate) fn quoted(text: &str) -> String {
    plain_text(text, QUOTED_CHARS)
}

/// Secrets cannot be kept.
pub(crate) fn not_kept(error: &SecretError) -> SignInFault {
    fault(
        format!("the sign-in cannot be kept: {error}"),
        "`taskwarden doctor` shows where secrets are stored and how to repair it; then sign in again.",
    )
}

/// What kept the library from finding the issuer, or the issuer from giving a token. `at` is whom it talked to.
pub(crate) fn of_library(error: &AuthError, at: &str) -> SignInFault {
    match error {
        AuthError::PkceUnsupported => broken(format!("`{at}` does not offer the proof (PKCE S256) that MCP demands")),
        AuthError::AuthorizationServerMismatch { expected_issuer, .. } => {
            let issuer = host_of(expected_issuer);
            broken(format!("`{issuer}` calls itself by another name than the one under which it was found"))
        }
        AuthError::AuthorizationServerMissingIssuer { expected_issuer } => {
            broken(format!("`{}` does not say who it is, although it has to", host_of(expected_issuer)))
        }
        AuthError::ProtectedResourceMetadataInvalid { .. } => {
            broken(format!("what `{at}` publishes about signing in is not about this server"))
        }
        AuthError::AuthorizationServersUnavailable { authorization_servers, .. } => {
            let named = quoted(&authorization_servers.join(", "));
            fault(
                format!("`{at}` names `{named}` as the place to sign in, which publishes nothing that can be used"),
                "Try again later; if it stays so, only who runs it can mend that. Is the place in a private network, say \
                 so: `--private-network`.",
            )
        }
        AuthError::NoAuthorizationSupport => nothing_published(at),
        AuthError::DiscoveryRequestFailed { url, .. } => not_read(&host(url)),
        AuthError::HttpError(_) => not_read(at),
        AuthError::TokenRefreshFailed(text) if is_temporary(text) => fault(
            format!("`{at}` did not renew it: it cannot be reached, or has a problem of its own"),
            "Taskwarden tries again automatically; check that it can be reached.",
        ),
        AuthError::TokenRefreshFailed(_) => fault(
            format!("`{at}` did not renew it: it does not answer as the protocol says"),
            "Taskwarden tries again automatically. If it stays so, only who runs it can mend that.",
        ),
        AuthError::TokenRefreshRejected(_) | AuthError::AuthorizationRequired | AuthError::TokenExpired => expired(at),
        AuthError::TokenExchangeFailed(text) if is_odd_lifetime(text) => broken(format!(
            "`{at}` gives the lifetime of its token in another form than OAuth demands (whole seconds, as a number)"
        )),
        AuthError::TokenExchangeFailed(text) if is_temporary(text) => fault(
            format!("`{at}` gave no token: it cannot be reached, or has a problem of its own"),
            "Sign in again, now or later. Taskwarden cannot repeat it: the code from the browser works only once.",
        ),
        AuthError::TokenExchangeFailed(_) => fault(
            format!("`{at}` gave no token that can be used"),
            "Sign in again; if it stays so, only who runs it can mend that.",
        ),
        // Their texts hold what somebody else wrote.
        _ => broken(format!("signing in at `{at}` failed: it does not answer as the protocol says")),
    }
}

fn not_read(at: &str) -> SignInFault {
    fault(
        format!("what `{at}` publishes about signing in cannot be read"),
        "Try again later. Is the place to sign in in a private network, say so: `--private-network`.",
    )
}

/// Host and port, for people.
pub(super) fn host(url: &Url) -> String {
    match (url.host_str(), url.port()) {
        (Some(host), Some(port)) => format!("{host}:{port}"),
        (Some(host), None) => host.to_owned(),
        (None, _) => url.scheme().to_owned(),
    }
}

/// Host and port of an issuer, whose name is a URL.
pub(super) fn host_of(issuer: &str) -> String {
    Url::parse(issuer).map_or_else(|_| quoted(issuer), |url| host(&url))
}

/// Whether an answer with a token cannot be read for its `expires_in`, which is the only number in it. The library says so
/// only in the text of the error, in the words of its parser.
fn is_odd_lifetime(text: &str) -> bool {
    text.starts_with("invalid ") && text.contains("expected u64")
}

/// Whether a failed request for a token may succeed later: no answer came, the client took it for none
/// (`issuer_client.rs`), or the issuer says so. The library says it only in the text of the error.
fn is_temporary(text: &str) -> bool {
    text == "Request failed" || names_code(text, &["temporarily_unavailable", "server_error", "slow_down"])
}

/// The renewal of a token did not end, or not yet. The host is known once the issuer was found.
pub(crate) fn renewal_unended(host: Option<&str>, limit: Duration) -> SignInFault {
    let within = limit.as_secs();
    fault(
        match host {
            Some(host) => format!("`{host}` did not renew it within {within} s"),
            None => format!("its renewal did not end within {within} s"),
        },
        "Taskwarden tries again automatically; check that the place to sign in can be reached.",
    )
}

/// Somebody else answered than was asked. Nothing of the answer is shown.
pub(crate) fn another_issuer(at: &str) -> SignInFault {
    fault(
        format!("the answer is not from `{at}`, where the sign-in began"),
        "Do not enter a password at the page that is open. Sign in again; if it happens again, somebody may be trying to \
         get at your sign-in.",
    )
}

/// No request can be made at all.
pub(crate) fn no_client() -> SignInFault {
    fault("no request can be made about signing in", "Check the certificates of this system.")
}

/// There is nothing to find.
pub(crate) fn nothing_published(at: &str) -> SignInFault {
    fault(
        format!("`{at}` does not say where to sign in"),
        "It may want a token that you get from who runs it: change the server and give it as the header \
         `Authorization`.",
    )
}

/// The token is over, and cannot be renewed without a person.
pub(crate) fn expired(at: &str) -> SignInFault {
    fault(format!("`{at}` does not renew the sign-in any more"), "Sign in again.")
}

/// The issuer does not know the client any more.
pub(crate) fn client_forgotten(at: &str) -> SignInFault {
    fault(format!("`{at}` does not know Taskwarden any more"), "Sign in again; it is registered there anew.")
}

/// A client that a person registered by hand is not accepted.
pub(crate) fn own_client_refused(at: &str) -> SignInFault {
    fault(
        format!("`{at}` does not accept the client, or not its secret"),
        "Check both there, and sign in with the right `--client-id` and `--client-secret`.",
    )
}

/// Whether a failed request for a token says that the issuer does not know the client. The library gives its code only in
/// the text of the error.
pub(crate) fn is_unknown_client(error: &AuthError) -> bool {
    let (AuthError::TokenRefreshFailed(text) | AuthError::TokenExchangeFailed(text)) = error else { return false };
    names_code(text, &["invalid_client", "unauthorized_client"])
}

/// Whether the text of an error of the library gives one of these codes of the issuer.
fn names_code(text: &str, codes: &[&str]) -> bool {
    let said = text.strip_prefix("Server returned error response: ").unwrap_or_default();
    codes.iter().any(|code| {
        said.strip_prefix(code).is_some_and(|rest| rest.chars().next().is_none_or(|next| !next.is_alphanumeric()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_is_unknown_is_told_from_texts_that_only_say_so() {
        let failed = |text: &str| AuthError::TokenRefreshFailed(text.into());
        for text in ["invalid_client", "invalid_client: no such client", "unauthorized_client"] {
            assert!(is_unknown_client(&failed(&format!("Server returned error response: {text}"))), "{text}");
        }
        for text in ["Server returned error response: invalid_request: invalid_client", "invalid_client", ""] {
            assert!(!is_unknown_client(&failed(text)), "{text}");
        }
    }

    #[test]
    fn a_failure_that_may_pass_is_not_left_to_who_runs_the_issuer() {
        for text in ["Request failed", "Server returned error response: temporarily_unavailable: back soon"] {
            let fault = of_library(&AuthError::TokenExchangeFailed(text.into()), "auth.example");
            assert!(fault.hint.contains("Sign in again") && !fault.hint.contains("runs it"), "{text}: {fault:?}");
            let fault = of_library(&AuthError::TokenRefreshFailed(text.into()), "auth.example");
            assert!(fault.hint.contains("tries again") && !fault.hint.contains("runs it"), "{text}: {fault:?}");
        }
        let lasting = of_library(&AuthError::TokenExchangeFailed("expected value".into()), "auth.example");
        assert!(lasting.hint.contains("Sign in again") && lasting.hint.contains("who runs it"), "{lasting:?}");
    }

    #[test]
    fn a_lifetime_that_is_no_number_of_seconds_is_named() {
        for lifetime in ["\"s3cret\"", "-1", "1.5"] {
            let answer = format!(r#"{{"access_token": "t", "token_type": "bearer", "expires_in": {lifetime}}}"#);
            let read = serde_json::from_str::<rmcp::transport::auth::OAuthTokenResponse>(&answer);
            let text = read.expect_err("no whole number").to_string();
            let fault = of_library(&AuthError::TokenExchangeFailed(text), "auth.example");
            assert!(fault.why.contains("lifetime") && !fault.why.contains("s3cret"), "{lifetime}: {fault:?}");
        }
        let other = of_library(&AuthError::TokenExchangeFailed("missing field `access_token`".into()), "auth.example");
        assert!(!other.why.contains("lifetime"), "{other:?}");
    }

    #[test]
    fn faults_of_what_an_issuer_publishes_name_the_issuer() {
        let expected_issuer = "https://auth.example/tenant".to_owned();
        let received_issuer = "https://other.example".to_owned();
        let url = Url::parse("https://auth.example/.well-known/oauth-authorization-server").expect("a URL");
        for error in [
            AuthError::AuthorizationServerMismatch { expected_issuer: expected_issuer.clone(), received_issuer },
            AuthError::AuthorizationServerMissingIssuer { expected_issuer },
            AuthError::DiscoveryRequestFailed { url, source: "broken".into() },
        ] {
            let fault = of_library(&error, "mcp.example");
            assert!(fault.why.contains("`auth.example`") && !fault.why.contains("mcp.example"), "{fault:?}");
        }
    }

    #[test]
    fn no_text_of_the_issuer_is_in_a_message() {
        let secret = "code=s3cret";
        for error in [
            AuthError::TokenExchangeFailed(secret.into()),
            AuthError::TokenRefreshFailed(secret.into()),
            AuthError::TokenRefreshRejected(secret.into()),
            AuthError::RegistrationFailed(secret.into()),
            AuthError::OAuthError(secret.into()),
            AuthError::MetadataError(secret.into()),
        ] {
            let fault = of_library(&error, "auth.example");
            assert!(!format!("{fault:?}").contains(secret), "{fault:?}");
            assert!(fault.why.contains("auth.example") && !fault.hint.is_empty(), "{fault:?}");
        }
    }
}
