//! The authorization endpoint: checks the request, asks a person or not, and sends the browser back to the client.
//!
//! As long as client and redirect are in doubt, the answer is a page; after that, every error goes to the callback with
//! `state` and `iss` (RFC 6749 §4.1.2.1, RFC 9207). The page has two buttons and no script.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use reqwest::Url;

use super::Issuer;
use super::ledger::{AuthorizationTicket, Code, Ledger};
use crate::oauth::fault::Fault;
use crate::oauth::wire::{Fields, bearer, escaped, html_reply, random, redirect_to, scopes_of};

/// Fewer characters of `state` or `code_challenge` can be guessed.
const LEAST_STATE: usize = 16;
/// Length of SHA-256 in base64url.
const CHALLENGE: usize = 43;

/// Words of [`Fault::CallbackDenied`]: a client must not show them as markup.
const DENIED: &str = "<script>alert(1)</script><h1>Your account is locked. Call +1 555 0100</h1>";

/// An error of the request, told to the callback, and what a strict server notes.
struct Wrong {
    code: &'static str,
    words: String,
}

/// Answers `GET /authorize`.
pub(super) async fn authorize(
    State(issuer): State<Arc<Issuer>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let fields = Fields::read(&query.unwrap_or_default());
    let mut ledger = issuer.ledger.lock();
    ledger.authorization_requests.push(fields.to_map());
    if bearer(&headers).is_some() {
        ledger.note("authorization: a token was sent to the authorization endpoint".into());
    }
    let broken: Vec<Fault> = issuer.broken.borrow().iter().copied().collect();
    for fault in broken.iter().filter(|fault| fault.forbids_sign_in()) {
        ledger.note(format!("authorization: the client went on in spite of `{fault}`"));
    }
    let (client, redirect) = match check_client(&ledger, &fields) {
        Ok(found) => found,
        Err(words) => {
            if fields.get("client_id").is_some_and(|id| ledger.forgotten_clients.contains(id)) {
                return html_reply(StatusCode::BAD_REQUEST, "<h1>This program is not registered any more</h1>");
            }
            let page = format!("<h1>This request cannot be answered</h1><p>{}</p>", escaped(&words));
            ledger.note(format!("authorization: {words}"));
            return html_reply(StatusCode::BAD_REQUEST, &page);
        }
    };
    let ticket = read_ticket(client, redirect, &fields);
    let wrong = check(&issuer, &mut ledger, &fields, &ticket);
    let first = wrong.first().map(|wrong| (wrong.code, wrong.words.clone()));
    for wrong in wrong {
        ledger.note(format!("authorization: {}", wrong.words));
    }
    if let Some((code, words)) = first {
        return callback(&issuer, &ticket, &[("error", code), ("error_description", &words)]);
    }
    ledger.counts.authorizations += 1;
    if issuer.options.auto_approve || issuer.is_broken(Fault::CallbackDenied) {
        return decided(&issuer, &mut ledger, ticket, true);
    }
    let name = random("request");
    let client = ledger.clients.get(&ticket.client).map_or("", |client| client.name.as_str());
    let page = page(client, &ticket, &name);
    ledger.waiting.insert(name, ticket);
    html_reply(StatusCode::OK, &page)
}

/// Answers `POST /decide`, the buttons of the page.
pub(super) async fn decide(State(issuer): State<Arc<Issuer>>, body: Bytes) -> Response {
    let fields = Fields::read(&String::from_utf8_lossy(&body));
    let mut ledger = issuer.ledger.lock();
    let ticket = fields.get("request").and_then(|name| ledger.waiting.remove(name));
    match ticket {
        Some(ticket) => decided(&issuer, &mut ledger, ticket, fields.get("answer") == Some("allow")),
        None => html_reply(StatusCode::BAD_REQUEST, "<h1>This page was answered already</h1>"),
    }
}

fn decided(issuer: &Issuer, ledger: &mut Ledger, ticket: AuthorizationTicket, is_allowed: bool) -> Response {
    if issuer.is_broken(Fault::CallbackDenied) {
        return callback(issuer, &ticket, &[("error", "access_denied"), ("error_description", DENIED)]);
    }
    if !is_allowed {
        return callback(issuer, &ticket, &[("error", "access_denied")]);
    }
    let code = random("code");
    let is_spoiled = issuer.broken.borrow().iter().any(|fault| fault.spoils_callback());
    let answer = callback(issuer, &ticket, &[("code", &code)]);
    ledger.codes.insert(code, Code { ticket, family: None, is_spoiled });
    answer
}

/// Client and redirect: without them there is nowhere to send an error.
fn check_client(ledger: &Ledger, fields: &Fields) -> Result<(String, String), String> {
    if let Some(name) = fields.repeated() {
        return Err(format!("{name} came twice"));
    }
    let id = fields.get("client_id").ok_or("client_id is missing")?;
    let client = ledger.clients.get(id).ok_or("client_id is unknown")?;
    let redirect = fields.get("redirect_uri").ok_or("redirect_uri is missing")?;
    if !client.may_redirect(redirect) {
        return Err(format!("redirect_uri `{redirect}` is not registered"));
    }
    Ok((id.to_owned(), redirect.to_owned()))
}

fn read_ticket(client: String, redirect: String, fields: &Fields) -> AuthorizationTicket {
    let text = |name| fields.get(name).unwrap_or_default().to_owned();
    AuthorizationTicket {
        client,
        redirect,
        state: text("state"),
        challenge: text("code_challenge"),
        resource: text("resource"),
        scopes: scopes_of(fields.get("scope").unwrap_or_default()),
    }
}

fn check(issuer: &Issuer, ledger: &mut Ledger, fields: &Fields, ticket: &AuthorizationTicket) -> Vec<Wrong> {
    let mut wrong = Vec::new();
    let mut add = |code, words: String| wrong.push(Wrong { code, words });
    match fields.get("response_type") {
        Some("code") => {}
        Some(other) => add("unsupported_response_type", format!("response_type is `{other}`")),
        None => add("invalid_request", "response_type is missing".into()),
    }
    if ticket.state.len() < LEAST_STATE {
        add("invalid_request", "state is missing or can be guessed".into());
    } else if !ledger.once.insert(("state", ticket.state.clone())) {
        add("invalid_request", "state was used before".into());
    }
    match fields.get("code_challenge_method") {
        Some("S256") => {}
        other => add("invalid_request", format!("code_challenge_method is `{}`", other.unwrap_or_default())),
    }
    let is_base64url = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if ticket.challenge.len() != CHALLENGE || !ticket.challenge.chars().all(is_base64url) {
        add("invalid_request", "code_challenge is missing or not S256".into());
    } else if !ledger.once.insert(("challenge", ticket.challenge.clone())) {
        add("invalid_request", "code_challenge was used before".into());
    }
    match fields.get("resource") {
        None => add("invalid_target", "resource is missing".into()),
        Some(resource) if !ledger.resources.contains_key(resource) => {
            add("invalid_target", format!("resource `{resource}` is not the one of a protected server"));
        }
        Some(_) => {}
    }
    if ticket.scopes.is_empty() && !issuer.options.scopes.is_empty() {
        add("invalid_scope", "scope is missing".into());
    }
    for scope in ticket.scopes.iter().filter(|scope| !issuer.options.scopes.contains(scope)) {
        add("invalid_scope", format!("scope `{scope}` is not offered"));
    }
    if fields.get("client_secret").is_some() {
        add("invalid_request", "client_secret is in an address".into());
    }
    wrong
}

/// The way back to the client, with `state` and `iss`.
fn callback(issuer: &Issuer, ticket: &AuthorizationTicket, fields: &[(&str, &str)]) -> Response {
    let Ok(mut url) = Url::parse(&ticket.redirect) else {
        return html_reply(StatusCode::BAD_REQUEST, "<h1>redirect_uri is no address</h1>");
    };
    {
        let mut pairs = url.query_pairs_mut();
        pairs.extend_pairs(fields);
        if issuer.is_broken(Fault::StateAltered) {
            pairs.append_pair("state", &format!("{}x", ticket.state));
        } else if !issuer.is_broken(Fault::StateMissing) && !ticket.state.is_empty() {
            pairs.append_pair("state", &ticket.state);
        }
        if issuer.is_broken(Fault::CallbackIssuerWrong) {
            pairs.append_pair("iss", "https://attacker.example");
        } else if !issuer.is_broken(Fault::CallbackIssuerMissing) {
            pairs.append_pair("iss", &issuer.name());
        }
    }
    redirect_to(StatusCode::FOUND, url.as_str())
}

fn page(client: &str, ticket: &AuthorizationTicket, name: &str) -> String {
    let [client, redirect, resource, scopes, name] =
        [client, &ticket.redirect, &ticket.resource, &ticket.scopes.join(" "), name].map(escaped);
    format!(
        "<h1>Sign in</h1>\n<p><b>{client}</b> asks for access to <code>{resource}</code>.</p>\n\
         <p>Scopes: <code>{scopes}</code><br>You return to <code>{redirect}</code>.</p>\n\
         <form method=post action=/decide><input type=hidden name=request value=\"{name}\">\n\
         <button name=answer value=allow>Allow</button> <button name=answer value=deny>Deny</button></form>"
    )
}
