//! Makes the library's requests about signing in to one server (decision 0120).
//!
//! A lifetime of a token that an issuer sends as text becomes the number that the library reads. A failure that may pass
//! (5xx, 429) counts as no answer, because the library shows no status. Nothing else of an answer is touched. Redirects are
//! not followed: the library follows those of documents itself, and there are no others that should be. Which addresses are
//! asked is `allowed_addresses.rs`.

use std::sync::Arc;

use domain::policy::SignInPolicy;
use http::{Method, StatusCode};
use rmcp::transport::auth::{OAuthHttpClient, OAuthHttpClientError, OAuthHttpClientFuture, OAuthHttpRequest};
use serde_json::Value;
use url::Url;

use super::allowed_addresses::AllowedAddresses;

/// The client for one server and its issuer.
pub(super) struct IssuerClient {
    http: reqwest::Client,
    allowed: Arc<AllowedAddresses>,
    answer_bytes: usize,
}

impl IssuerClient {
    /// A client for the server at this URL.
    ///
    /// # Errors
    /// When there can be none, for example because certificates cannot be read.
    pub(super) fn new(server: &Url, policy: &SignInPolicy) -> Result<Self, reqwest::Error> {
        let allowed = Arc::new(AllowedAddresses::of(server));
        let http = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .timeout(policy.exchange_limit)
            .dns_resolver(Arc::clone(&allowed))
            .build()?;
        Ok(Self { http, allowed, answer_bytes: policy.document_bytes })
    }

    async fn ask(&self, asked: OAuthHttpRequest) -> Result<http::Response<Vec<u8>>, OAuthHttpClientError> {
        let request = reqwest::Request::try_from(asked.request)?;
        if !self.allowed.allows(request.url()) {
            return Err("the address may not be asked for this server".into());
        }
        let may_bring_token = request.method() == Method::POST;
        let mut answer = self.http.execute(request).await.map_err(reqwest::Error::without_url)?;
        let mut made = http::Response::builder().status(answer.status()).version(answer.version());
        for (name, value) in answer.headers() {
            made = made.header(name, value);
        }
        let mut body = Vec::new();
        while let Some(piece) = answer.chunk().await.map_err(reqwest::Error::without_url)? {
            if body.len().saturating_add(piece.len()) > self.answer_bytes {
                return Err("the answer is too long".into());
            }
            body.extend_from_slice(&piece);
        }
        let status = answer.status();
        if may_bring_token && may_pass(status) && !is_refusal(&body) {
            return Err(format!("the answer has the status {}", status.as_u16()).into());
        }
        Ok(made.body(if may_bring_token { with_number(body) } else { body })?)
    }
}

impl OAuthHttpClient for IssuerClient {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(self.ask(request))
    }
}

/// Whether the same request may succeed later.
fn may_pass(status: StatusCode) -> bool {
    status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS
}

/// Errors of a token endpoint that mean the same with any status (RFC 6749, §5.2).
const REFUSALS: [&str; 6] = [
    "invalid_request",
    "invalid_client",
    "invalid_grant",
    "unauthorized_client",
    "unsupported_grant_type",
    "invalid_scope",
];

/// Whether an answer refuses the request for a reason that does not pass.
fn is_refusal(body: &[u8]) -> bool {
    let answer = serde_json::from_slice::<Value>(body).unwrap_or_default();
    answer.get("error").and_then(Value::as_str).is_some_and(|error| REFUSALS.contains(&error))
}

/// An answer with a token whose lifetime is a whole number as text, with that number; any other answer as it is.
fn with_number(body: Vec<u8>) -> Vec<u8> {
    let Ok(Value::Object(mut answer)) = serde_json::from_slice::<Value>(&body) else { return body };
    let lifetime = answer.get("expires_in").and_then(Value::as_str);
    let digits = lifetime.filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    let Some(seconds) = digits.and_then(|text| text.parse::<u64>().ok()) else { return body };
    if !answer.contains_key("access_token") {
        return body;
    }
    answer.insert("expires_in".to_owned(), seconds.into());
    serde_json::to_vec(&answer).unwrap_or(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(answer: &str) -> Value {
        serde_json::from_slice(&with_number(answer.into())).expect("JSON")
    }

    #[test]
    fn a_lifetime_as_text_becomes_a_number_and_the_rest_of_the_answer_stays() {
        let answer = read(r#"{"access_token": "t", "expires_in": "3600", "not_before": "17", "scope": "a b"}"#);
        let expected = serde_json::json!({"access_token": "t", "expires_in": 3600, "not_before": "17", "scope": "a b"});
        assert_eq!(answer, expected);
    }

    #[test]
    fn a_failure_of_the_issuer_itself_is_told_from_a_refusal() {
        for status in [StatusCode::INTERNAL_SERVER_ERROR, StatusCode::BAD_GATEWAY, StatusCode::TOO_MANY_REQUESTS] {
            assert!(may_pass(status), "{status}");
        }
        for status in [StatusCode::OK, StatusCode::BAD_REQUEST, StatusCode::UNAUTHORIZED, StatusCode::FOUND] {
            assert!(!may_pass(status), "{status}");
        }
        assert!(is_refusal(br#"{"error": "invalid_grant"}"#), "a token that is over stays over, whatever the status");
        for body in ["", "<h1>Oops</h1>", "[]", r#"{"error": "Internal Server Error"}"#, r#"{"error": "server_error"}"#]
        {
            assert!(!is_refusal(body.as_bytes()), "{body}");
        }
    }

    #[test]
    fn what_is_no_lifetime_of_a_token_as_text_keeps_every_byte() {
        for answer in [
            r#"{"access_token": "t",  "expires_in": 3600}"#,
            r#"{"access_token": "t",  "expires_in": "-1"}"#,
            r#"{"access_token": "t",  "expires_in": "+1"}"#,
            r#"{"access_token": "t",  "expires_in": "1.5"}"#,
            r#"{"access_token": "t",  "expires_in": ""}"#,
            r#"{"access_token": "t",  "expires_in": "99999999999999999999"}"#,
            r#"{"client_id": "c",  "expires_in": "3600"}"#,
            r#"[{"access_token": "t",  "expires_in": "3600"}]"#,
            "<h1>Welcome</h1>",
            "",
        ] {
            assert_eq!(with_number(answer.into()), answer.as_bytes(), "{answer}");
        }
    }
}
