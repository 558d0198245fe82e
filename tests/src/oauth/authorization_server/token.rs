//! The token endpoint: codes and refresh tokens become access tokens.
//!
//! A code and a refresh token are good once. A second use ends the whole family, because somebody else may have been
//! the first (OAuth 2.1 §4.1.2 and §4.3.1).

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use serde_json::{Map, Value, json};

use super::Issuer;
use super::client_auth::{Refused, authenticate};
use super::ledger::{IssuedTokens, Ledger};
use crate::oauth::fault::Fault;
use crate::oauth::wire::{Fields, html_reply, json_reply, redirect_to, s256, scopes_of};

/// Characters of the token of [`Fault::TokenLong`].
const LONG: usize = 64 << 10;
/// Lengths of a PKCE verifier (RFC 7636 §4.1).
const VERIFIER: std::ops::RangeInclusive<usize> = 43..=128;

/// What is granted: the family, and the scopes of the new access token.
struct Granted {
    family: usize,
    scopes: Vec<String>,
    /// The refresh token stays the one that the client has.
    keeps_refresh: bool,
}

/// Answers `POST /token`.
pub(super) async fn token(
    State(issuer): State<Arc<Issuer>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let fields = Fields::read(&String::from_utf8_lossy(&body));
    let is_refresh = fields.get("grant_type") == Some("refresh_token");
    count(&issuer, &fields, &headers, query.is_some());
    issuer.hang(Fault::TokenHangs).await;
    if let Some(broken) = broken_answer(&issuer, is_refresh) {
        return broken;
    }
    let answer = {
        let mut ledger = issuer.ledger.lock();
        match grant(&issuer, &mut ledger, &headers, &fields) {
            Ok(granted) => granted_answer(&issuer, &mut ledger, &granted, is_refresh),
            Err(refused) => {
                if let Some(words) = refused.fault {
                    ledger.note(format!("token: {words}"));
                }
                refusal(refused.code, &headers)
            }
        }
    };
    if issuer.is_broken(Fault::TokenAnswerLost) {
        std::future::pending::<()>().await;
    }
    answer
}

/// Counts the request, and notes what is wrong with its form.
fn count(issuer: &Issuer, fields: &Fields, headers: &HeaderMap, has_query: bool) {
    let mut ledger = issuer.ledger.lock();
    ledger.token_requests.push(fields.to_map());
    match fields.get("grant_type") {
        Some("authorization_code") => ledger.counts.code_requests += 1,
        Some("refresh_token") => ledger.counts.refresh_requests += 1,
        Some(_) | None => ledger.counts.other_requests += 1,
    }
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if !kind.starts_with("application/x-www-form-urlencoded") {
        ledger.note(format!("token: Content-Type is `{kind}`"));
    }
    if has_query {
        ledger.note("token: the address has a query".into());
    }
}

fn broken_answer(issuer: &Issuer, is_refresh: bool) -> Option<Response> {
    if issuer.is_broken(Fault::TokenHtml) {
        return Some(html_reply(StatusCode::OK, "<h1>Please sign in</h1>"));
    }
    if issuer.is_broken(Fault::TokenBreaks) {
        return Some(html_reply(StatusCode::INTERNAL_SERVER_ERROR, "<h1>Something broke</h1>"));
    }
    if issuer.is_broken(Fault::TokenRedirects) {
        return Some(redirect_to(StatusCode::TEMPORARY_REDIRECT, &format!("{}/token", issuer.elsewhere)));
    }
    if is_refresh && issuer.is_broken(Fault::RefreshUnavailable) {
        return Some(html_reply(StatusCode::SERVICE_UNAVAILABLE, "<h1>Back soon</h1>"));
    }
    None
}

fn refusal(code: &str, headers: &HeaderMap) -> Response {
    if code != "invalid_client" {
        return json_reply(StatusCode::BAD_REQUEST, &json!({"error": code}));
    }
    let mut answer = json_reply(StatusCode::UNAUTHORIZED, &json!({"error": code}));
    if headers.contains_key(header::AUTHORIZATION) {
        let challenge = header::HeaderValue::from_static("Basic realm=\"token\"");
        answer.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
    }
    answer
}

fn grant(issuer: &Issuer, ledger: &mut Ledger, headers: &HeaderMap, fields: &Fields) -> Result<Granted, Refused> {
    if let Some(name) = fields.repeated() {
        return Err(Refused::new("invalid_request", format!("{name} came twice")));
    }
    let client = authenticate(ledger, headers, fields)?;
    match fields.get("grant_type") {
        Some("authorization_code") => redeem(ledger, &client, fields),
        Some("refresh_token") => refresh(issuer, ledger, &client, fields),
        Some(other) => Err(Refused::new("unsupported_grant_type", format!("grant_type is `{other}`"))),
        None => Err(Refused::new("invalid_request", "grant_type is missing")),
    }
}

fn demand<'a>(fields: &'a Fields, name: &str) -> Result<&'a str, Refused> {
    fields.get(name).ok_or_else(|| Refused::new("invalid_request", format!("{name} is missing")))
}

fn redeem(ledger: &mut Ledger, client: &str, fields: &Fields) -> Result<Granted, Refused> {
    let name = demand(fields, "code")?;
    let bad = |words: &str| Refused::new("invalid_grant", words);
    let Some(code) = ledger.codes.get(name) else { return Err(bad("the code is unknown")) };
    let (ticket, family, is_spoiled) = (code.ticket.clone(), code.family, code.is_spoiled);
    if let Some(family) = family {
        ledger.revoke_family(family);
        return Err(bad("the code was used before"));
    }
    if is_spoiled {
        ledger.note("token: the code is from a callback that had to be refused".into());
    }
    if ticket.client != client {
        return Err(bad("the code is for another client"));
    }
    if demand(fields, "redirect_uri")? != ticket.redirect {
        return Err(bad("redirect_uri is not the one of the authorization request"));
    }
    let verifier = demand(fields, "code_verifier")?;
    let is_unreserved = |c: char| c.is_ascii_alphanumeric() || "-._~".contains(c);
    if !VERIFIER.contains(&verifier.len()) || !verifier.chars().all(is_unreserved) {
        return Err(Refused::new("invalid_request", "code_verifier is not one of RFC 7636"));
    }
    if s256(verifier) != ticket.challenge {
        return Err(bad("code_verifier does not fit the challenge"));
    }
    check_resource(fields, &ticket.resource)?;
    let family = ledger.new_family(client, &ticket.resource, &ticket.scopes);
    if let Some(code) = ledger.codes.get_mut(name) {
        code.family = Some(family);
    }
    ledger.counts.exchanges += 1;
    Ok(Granted { family, scopes: ticket.scopes, keeps_refresh: false })
}

fn check_resource(fields: &Fields, granted: &str) -> Result<(), Refused> {
    match fields.get("resource") {
        Some(resource) if resource == granted => Ok(()),
        Some(_) => Err(Refused::new("invalid_target", "resource is not the one of the authorization request")),
        None => Err(Refused::new("invalid_target", "resource is missing")),
    }
}

fn refresh(issuer: &Issuer, ledger: &mut Ledger, client: &str, fields: &Fields) -> Result<Granted, Refused> {
    let name = demand(fields, "refresh_token")?;
    if issuer.is_broken(Fault::RefreshInvalidClient) {
        ledger.forget_client(client);
        return Err(Refused::blameless("invalid_client"));
    }
    if issuer.is_broken(Fault::RefreshInvalidGrant) || ledger.forgotten.contains(name) {
        return Err(Refused::blameless("invalid_grant"));
    }
    let bad = |words: &str| Refused::new("invalid_grant", words);
    let Some(known) = ledger.refreshes.get(name) else { return Err(bad("the refresh token is unknown")) };
    let (index, is_used) = (known.family, known.is_used);
    let Some(family) = ledger.families.get(index) else { return Err(bad("the refresh token is unknown")) };
    if family.client != client {
        return Err(bad("the refresh token is for another client"));
    }
    if is_used {
        ledger.revoke_family(index);
        return Err(bad("the refresh token was used before"));
    }
    if family.is_revoked {
        return Err(Refused::blameless("invalid_grant"));
    }
    check_resource(fields, &family.resource)?;
    let scopes = match fields.get("scope").map(scopes_of) {
        Some(asked) if !asked.iter().all(|scope| family.scopes.contains(scope)) => {
            return Err(Refused::new("invalid_scope", "a refresh asks for more than was granted"));
        }
        Some(asked) => asked,
        None => family.scopes.clone(),
    };
    let keeps_refresh = issuer.is_broken(Fault::RefreshKeeps) || issuer.is_broken(Fault::NoRefreshToken);
    if let Some(known) = ledger.refreshes.get_mut(name).filter(|_| !keeps_refresh) {
        known.is_used = true;
    }
    ledger.counts.refreshes += 1;
    Ok(Granted { family: index, scopes, keeps_refresh })
}

fn granted_answer(issuer: &Issuer, ledger: &mut Ledger, granted: &Granted, is_refresh: bool) -> Response {
    let broken = |fault| issuer.is_broken(fault);
    let lifetime = issuer.options.lifetime;
    let mut scopes = granted.scopes.clone();
    if broken(Fault::ScopeReduced) {
        scopes.truncate(1);
    }
    let IssuedTokens { access: plain, refresh } = ledger.issue(granted.family, &scopes, lifetime);
    let access = if broken(Fault::TokenLong) {
        format!("{plain}{}", "x".repeat(LONG))
    } else if broken(Fault::TokenControl) {
        format!("{plain}\u{1}\r\nX-Injected: yes\u{0}")
    } else {
        plain.clone()
    };
    ledger.rename_access(&plain, &access);
    if granted.keeps_refresh || broken(Fault::NoRefreshToken) || (is_refresh && broken(Fault::RefreshForgets)) {
        ledger.refreshes.remove(&refresh);
        ledger.forgotten.insert(refresh.clone());
    }
    let mut answer = Map::new();
    let mut add = |key: &str, value: Value, is_left_out: bool| {
        if !is_left_out {
            answer.insert(key.to_owned(), value);
        }
    };
    add("access_token", json!(access), broken(Fault::TokenMissing));
    let kind = if broken(Fault::TokenTypeWrong) { "mac" } else { "Bearer" };
    add("token_type", json!(kind), broken(Fault::TokenTypeMissing));
    add("expires_in", expires_in(issuer), broken(Fault::ExpiresMissing));
    add("refresh_token", json!(refresh), granted.keeps_refresh || broken(Fault::NoRefreshToken));
    add("scope", json!(scopes.join(" ")), scopes.is_empty());
    json_reply(StatusCode::OK, &Value::Object(answer))
}

fn expires_in(issuer: &Issuer) -> Value {
    let seconds = issuer.options.lifetime.as_secs();
    let odd = [
        (Fault::ExpiresZero, json!(0)),
        (Fault::ExpiresNegative, json!(-1)),
        (Fault::ExpiresText, json!(seconds.to_string())),
        (Fault::ExpiresFraction, json!(format!("{seconds}.5").parse::<f64>().unwrap_or(0.5))),
        (Fault::ExpiresAbsurd, json!(u64::MAX)),
    ];
    odd.into_iter().find(|(fault, _)| issuer.is_broken(*fault)).map_or_else(|| json!(seconds), |(_, value)| value)
}
