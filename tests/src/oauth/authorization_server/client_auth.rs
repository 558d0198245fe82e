//! Clients, and how they show at the token endpoint who they are.
//!
//! A public client names itself in the body; a confidential one adds its secret in the body or in a Basic header, and
//! never in both.

use axum::http::{HeaderMap, header};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use reqwest::Url;

use super::ledger::Ledger;
use crate::oauth::wire::Fields;

/// How a client authenticates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientAuthentication {
    /// Public: `client_id` alone.
    None,
    /// `client_secret_basic` with this secret.
    Basic(String),
    /// `client_secret_post` with this secret.
    Post(String),
}

/// A client that was registered before, by hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownClient {
    /// The client id.
    pub id: String,
    /// How it authenticates.
    pub authentication: ClientAuthentication,
}

/// Where a client may have a code sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Redirects {
    /// Any address on loopback: what was registered by hand.
    AnyLoopback,
    /// What the client registered itself; the port of a loopback address is free (RFC 8252 §7.3).
    Registered(Vec<String>),
}

#[derive(Debug, Clone)]
pub(super) struct Client {
    pub(super) name: String,
    pub(super) redirects: Redirects,
    pub(super) authentication: ClientAuthentication,
    pub(super) is_expired: bool,
}

impl Client {
    pub(super) fn known(known: &KnownClient) -> Self {
        Self {
            name: known.id.clone(),
            redirects: Redirects::AnyLoopback,
            authentication: known.authentication.clone(),
            is_expired: false,
        }
    }

    pub(super) fn of_document(address: &str) -> Self {
        Self {
            name: address.to_owned(),
            redirects: Redirects::AnyLoopback,
            authentication: ClientAuthentication::None,
            is_expired: false,
        }
    }

    pub(super) fn may_redirect(&self, redirect: &str) -> bool {
        match &self.redirects {
            Redirects::AnyLoopback => is_loopback(redirect),
            Redirects::Registered(known) => known.iter().any(|known| is_same_redirect(known, redirect)),
        }
    }
}

/// Whether an address is a redirect of a native program: plain HTTP on loopback, without a fragment.
pub(super) fn is_loopback(redirect: &str) -> bool {
    let Ok(url) = Url::parse(redirect) else { return false };
    let is_local = matches!(url.host_str(), Some("127.0.0.1" | "[::1]" | "localhost"));
    url.scheme() == "http" && is_local && url.fragment().is_none() && url.username().is_empty()
}

fn is_same_redirect(registered: &str, redirect: &str) -> bool {
    let (Ok(mut one), Ok(mut other)) = (Url::parse(registered), Url::parse(redirect)) else { return false };
    if registered == redirect {
        return true;
    }
    let is_ip = matches!(one.host_str(), Some("127.0.0.1" | "[::1]"));
    is_ip && is_loopback(redirect) && one.set_port(None).is_ok() && other.set_port(None).is_ok() && one == other
}

/// Why a client is not let in: the error code, and what a strict server notes, unless the client could not know.
pub(super) struct Refused {
    pub(super) code: &'static str,
    pub(super) fault: Option<String>,
}

impl Refused {
    pub(super) fn new(code: &'static str, fault: impl Into<String>) -> Self {
        Self { code, fault: Some(fault.into()) }
    }

    /// The client did nothing wrong.
    pub(super) fn blameless(code: &'static str) -> Self {
        Self { code, fault: None }
    }
}

/// Finds out which client asks.
pub(super) fn authenticate(ledger: &Ledger, headers: &HeaderMap, fields: &Fields) -> Result<String, Refused> {
    let shown = shown_credentials(headers, fields)?;
    // A client that the server forgot cannot know it.
    let Some(client) = ledger.clients.get(&shown.id) else { return Err(Refused::blameless("invalid_client")) };
    if client.is_expired {
        return Err(Refused::blameless("invalid_client"));
    }
    let is_right = match &client.authentication {
        ClientAuthentication::None => !shown.is_basic && shown.secret.is_none(),
        ClientAuthentication::Basic(secret) => shown.is_basic && shown.secret.as_ref() == Some(secret),
        ClientAuthentication::Post(secret) => !shown.is_basic && shown.secret.as_ref() == Some(secret),
    };
    if is_right {
        Ok(shown.id)
    } else {
        Err(Refused::new("invalid_client", "the client did not authenticate as it is registered"))
    }
}

struct Shown {
    id: String,
    secret: Option<String>,
    is_basic: bool,
}

fn shown_credentials(headers: &HeaderMap, fields: &Fields) -> Result<Shown, Refused> {
    let (id, secret) = (fields.get("client_id"), fields.get("client_secret"));
    let Some(value) = headers.get(header::AUTHORIZATION) else {
        let id = id.ok_or_else(|| Refused::new("invalid_client", "client_id is missing"))?;
        return Ok(Shown { id: id.to_owned(), secret: secret.map(str::to_owned), is_basic: false });
    };
    let (basic_id, basic_secret) = value
        .to_str()
        .ok()
        .and_then(read_basic)
        .ok_or_else(|| Refused::new("invalid_client", "Authorization at the token endpoint is not Basic"))?;
    if secret.is_some() {
        return Err(Refused::new("invalid_request", "the client authenticated in two ways at once"));
    }
    if id.is_some_and(|id| id != basic_id) {
        return Err(Refused::new("invalid_request", "client_id is another one in the body and in the header"));
    }
    Ok(Shown { id: basic_id, secret: Some(basic_secret), is_basic: true })
}

/// Id and secret of a Basic header; both are form-encoded (RFC 6749 §2.3.1).
fn read_basic(value: &str) -> Option<(String, String)> {
    let (scheme, encoded) = value.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let text = String::from_utf8(BASE64_STANDARD.decode(encoded.trim()).ok()?).ok()?;
    let (id, secret) = text.split_once(':')?;
    Some((form_decoded(id)?, form_decoded(secret)?))
}

fn form_decoded(text: &str) -> Option<String> {
    Fields::read(&format!("x={text}")).get("x").map(str::to_owned)
}
