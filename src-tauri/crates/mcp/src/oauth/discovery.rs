//! What a server and its issuer publish about signing in, and whether it may be used.
//!
//! The library reads the documents and compares issuers (protocol.md §5.1, steps 2 and 3); what it lets pass and the
//! protocol does not is refused here: endpoints without TLS, an issuer without a name, PKCE that is not promised.

use std::sync::Arc;

use domain::policy::SignInPolicy;
use domain::ports::SignInFault;
use rmcp::transport::auth::{AuthorizationManager, AuthorizationMetadata, AuthorizationMetadataSource};
use serde_json::Value;
use tokio::time::timeout;
use url::Url;

use super::faults::{broken, fault, host, host_of, no_client, nothing_published, of_library};
use super::issuer_client::IssuerClient;
use super::resource::check_documents;
use crate::loopback::is_loopback;

/// Where to sign in.
pub(crate) struct Issuer {
    /// Its name, which is a URL.
    pub(crate) name: String,
    /// Host and port of its page, for people.
    pub(crate) host: String,
    /// Whether it says who it is when the browser comes back.
    pub(crate) promises_name: bool,
    /// Whether programs can register themselves.
    pub(crate) registers: bool,
    /// Whether the URL of a document can stand for a client.
    pub(crate) takes_client_documents: bool,
    /// Whether secrets of clients go into the body of a request, because no header is taken.
    pub(crate) takes_secret_in_body: bool,
    /// Where tokens are given up; on the origin of the token endpoint.
    pub(crate) revocation: Option<Url>,
}

/// Finds the issuer of a server's tokens. `challenge` is how the server refuses a request without a token.
pub(crate) async fn discover(
    url: &str,
    challenge: Option<&str>,
    may_be_private: bool,
    policy: &SignInPolicy,
) -> Result<(AuthorizationManager, Issuer), SignInFault> {
    let server = Url::parse(url).map_err(|_| broken("the address of the server is no URL"))?;
    let (at, limit) = (host(&server), policy.exchange_limit);
    let finding = async {
        // Only the library's own client can be told that names may lead to private addresses.
        let manager = if may_be_private {
            AuthorizationManager::new_allowing_private_addresses(url).await
        } else {
            let client = IssuerClient::new(&server, policy).map_err(|_| no_client())?;
            AuthorizationManager::new_with_oauth_http_client(url, Arc::new(client)).await
        };
        let mut manager = manager.map_err(|error| of_library(&error, &at))?;
        let found = manager.resolve_metadata_from_challenge(challenge).await;
        let found = found.map_err(|error| of_library(&error, &at))?;
        if found.source == AuthorizationMetadataSource::LegacyEndpointFallback {
            return Err(nothing_published(&at));
        }
        // Without a document of its own a server is its own issuer, as older ones are.
        if found.source == AuthorizationMetadataSource::AuthorizationServerMetadata {
            check_documents(&server, policy.document_bytes, limit).await?;
        }
        let issuer = usable(&found.metadata, &server, &at)?;
        manager.set_metadata(found.metadata);
        Ok((manager, issuer))
    };
    match timeout(limit, finding).await {
        Ok(found) => found,
        Err(_) => Err(fault(
            format!("`{at}` does not say within {} s where to sign in", limit.as_secs()),
            "Try again later; if it stays so, only who runs it can mend that.",
        )),
    }
}

/// The issuer, if what it publishes is enough.
fn usable(metadata: &AuthorizationMetadata, server: &Url, at: &str) -> Result<Issuer, SignInFault> {
    let Some(name) = metadata.issuer.clone() else {
        return Err(broken(format!("the place to sign in that `{at}` names does not say who it is")));
    };
    let who = host_of(&name);
    let page = secure(&metadata.authorization_endpoint, server, "the page to sign in", &who)?;
    let token = secure(&metadata.token_endpoint, server, "the address that gives tokens", &who)?;
    if let Some(registration) = &metadata.registration_endpoint {
        secure(registration, server, "the address that registers programs", &who)?;
    }
    let offers_proof =
        metadata.code_challenge_methods_supported.as_ref().is_some_and(|all| all.iter().any(|method| method == "S256"));
    if !offers_proof {
        return Err(broken(format!("`{who}` does not offer the proof (PKCE S256) that MCP demands")));
    }
    let says = |name: &str| metadata.additional_fields.get(name).and_then(Value::as_bool).unwrap_or(false);
    let methods = metadata.additional_fields.get("token_endpoint_auth_methods_supported").and_then(Value::as_array);
    let takes = |name: &str| methods.is_some_and(|all| all.iter().any(|method| method.as_str() == Some(name)));
    let revocation = metadata.additional_fields.get("revocation_endpoint").and_then(Value::as_str);
    Ok(Issuer {
        name,
        host: host(&page),
        promises_name: says("authorization_response_iss_parameter_supported"),
        registers: metadata.registration_endpoint.is_some(),
        takes_client_documents: says("client_id_metadata_document_supported"),
        takes_secret_in_body: takes("client_secret_post") && !takes("client_secret_basic"),
        revocation: revocation
            .and_then(|address| Url::parse(address).ok())
            .filter(|address| address.origin() == token.origin()),
    })
}

/// An address over TLS, or on this machine where the server is on it, too.
fn secure(address: &str, server: &Url, what: &str, who: &str) -> Result<Url, SignInFault> {
    let url = Url::parse(address).ok().filter(Url::has_host);
    let is_secure =
        |url: &Url| url.scheme() == "https" || url.scheme() == "http" && is_loopback(url) && is_loopback(server);
    url.filter(is_secure)
        .ok_or_else(|| broken(format!("{what} of `{who}` is not protected (no https), so it is not used")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(change: impl FnOnce(&mut Value)) -> AuthorizationMetadata {
        let mut text = serde_json::json!({
            "issuer": "https://auth.example",
            "authorization_endpoint": "https://auth.example/authorize",
            "token_endpoint": "https://auth.example/token",
            "code_challenge_methods_supported": ["S256"],
        });
        change(&mut text);
        serde_json::from_value(text).expect("metadata")
    }

    fn judged(server: &str, change: impl FnOnce(&mut Value)) -> Result<Issuer, SignInFault> {
        usable(&metadata(change), &Url::parse(server).expect("a URL"), "mcp.example")
    }

    #[test]
    fn an_issuer_that_keeps_to_the_protocol_is_used() {
        let issuer = judged("https://mcp.example/mcp", |_| {}).expect("an issuer");
        assert_eq!((issuer.name.as_str(), issuer.host.as_str()), ("https://auth.example", "auth.example"));
        assert!(!issuer.registers && !issuer.promises_name);
    }

    #[test]
    fn what_the_protocol_demands_is_not_waived() {
        for (name, value) in [
            ("issuer", Value::Null),
            ("code_challenge_methods_supported", Value::Null),
            ("code_challenge_methods_supported", serde_json::json!(["plain"])),
            ("authorization_endpoint", "http://auth.example/authorize".into()),
            ("authorization_endpoint", "javascript:alert(1)".into()),
            ("token_endpoint", "http://127.0.0.1/token".into()),
            ("registration_endpoint", "ftp://auth.example/register".into()),
        ] {
            let judged = judged("https://mcp.example/mcp", |text| text[name] = value.clone());
            assert!(judged.is_err(), "`{name}`: {value}");
        }
    }

    #[test]
    fn on_this_machine_nothing_needs_tls() {
        let local = |text: &mut Value| text["token_endpoint"] = "http://localhost:1/token".into();
        assert!(judged("http://127.0.0.1:2/mcp", local).is_ok());
    }

    #[test]
    fn a_token_is_given_up_only_where_it_came_from() {
        let at = |address: &str| {
            let issuer = judged("https://mcp.example/mcp", |text| text["revocation_endpoint"] = address.into());
            issuer.expect("an issuer").revocation.is_some()
        };
        assert!(at("https://auth.example/revoke") && !at("https://10.0.0.1/revoke"));
    }
}
