//! The agents' door over HTTP: `/mcp` for all servers, `/mcp/NAME` for one (ruling 27).
//!
//! The layer here stands before the gateway's face: first who may send this at all (Host, Origin), then the token,
//! then the server, then the pace; the body is read only after all four, except for the id of a request that a revoked
//! agent sends. An agent's token opens nothing else of this
//! listener, and a browser's cookie does not open this.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use domain::policy;

use super::guard;
use crate::agents::{AgentDoor, NotLetIn};
use crate::reply::refused;
use crate::request_budget::{ConnectionOwner, Holder, too_many_connections};

/// Where all servers are.
pub(super) const ALL: &str = "/mcp";
/// The code of answers of ours: the range that JSON-RPC leaves to servers.
const REVOKED: i32 = -32_000;
/// Where one is.
const ONE: &str = "/mcp/{server}";

struct Behind {
    door: AgentDoor,
    port: u16,
}

/// The door as a router.
pub(super) fn router(door: AgentDoor, bound: std::net::SocketAddr) -> Router {
    let face = mcp::server::router(Arc::clone(&door.service), door.parts.clone(), bound, &[ALL, ONE]);
    let behind = Arc::new(Behind { door, port: bound.port() });
    face.layer(middleware::from_fn_with_state(behind, only_agents))
}

async fn only_agents(State(behind): State<Arc<Behind>>, mut request: Request, next: Next) -> Response {
    let headers = request.headers();
    if let Err(why) = guard::check(headers, behind.port).and_then(|()| guard::may_call(headers)) {
        tracing::info!(?why, "a request at the agents' door that comes from elsewhere was refused");
        return refused(&api::ApiError::new(
            api::Code::Refused,
            "this request was sent to another name, or by a page of another place",
            "Use the address that `taskwarden agents add` prints; pages in a browser are not agents.",
        ));
    }
    let mut shown = headers.get_all(header::AUTHORIZATION).iter();
    let authorization = shown.next().filter(|_| shown.next().is_none()).and_then(|header| header.to_str().ok());
    let principal = behind.door.agent(authorization).and_then(|agent| {
        let name = request.uri().path().strip_prefix(ALL).and_then(|rest| rest.strip_prefix('/')).map(decoded);
        let principal = behind.door.visit(agent, name.as_deref())?;
        behind.door.pass(agent)?;
        Ok(principal)
    });
    match principal {
        Ok(principal) => {
            // Nothing behind this door needs the token, and what is forwarded can never carry it.
            request.headers_mut().remove(header::AUTHORIZATION);
            request.extensions_mut().insert(principal);
            let owner = request.extensions().get::<Arc<ConnectionOwner>>();
            if owner.is_some_and(|owner| !owner.claim(&behind.door.requests, principal.agent)) {
                return too_many_connections();
            }
            behind.door.requests.run(Holder::Agent(principal.agent), request, next).await
        }
        Err(NotLetIn::Revoked(words)) => revoked(&words, request, &behind.door.parts.policy.gateway).await,
        Err(why) => not_let_in(&why),
    }
}

fn not_let_in(why: &NotLetIn) -> Response {
    let mut response = refused(&why.error());
    let (status, told) = match why {
        NotLetIn::Revoked(_) => (StatusCode::FORBIDDEN, None),
        NotLetIn::NoToken => {
            (StatusCode::UNAUTHORIZED, Some((header::WWW_AUTHENTICATE, "Bearer realm=\"taskwarden\"")))
        }
        NotLetIn::WrongToken => (
            StatusCode::UNAUTHORIZED,
            Some((header::WWW_AUTHENTICATE, "Bearer realm=\"taskwarden\", error=\"invalid_token\"")),
        ),
        NotLetIn::NoServer(_) => (StatusCode::NOT_FOUND, None),
        NotLetIn::TooFast => (StatusCode::TOO_MANY_REQUESTS, Some((header::RETRY_AFTER, "1"))),
    };
    *response.status_mut() = status;
    if let Some((name, value)) = told {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

/// The answer to an agent that a person took out: 403 without a challenge, because signing in again cannot help, and a
/// JSON-RPC error, because clients put the body before their model (decision 0021). It carries the id of the request:
/// rmcp, and Codex with it, waits for ever for an error with its own id when another one comes. Without an id the words
/// come as text.
async fn revoked(words: &str, request: Request, policy: &policy::GatewayPolicy) -> Response {
    let body = axum::body::to_bytes(request.into_body(), policy.refused_body_bytes);
    let body = tokio::time::timeout(policy.header_limit, body).await;
    let id = body.ok().and_then(Result::ok).and_then(|body| serde_json::from_slice::<Asked>(&body).ok()?.id);
    let (kind, told) = match id.filter(|id| id.is_string() || id.is_number()) {
        Some(id) => {
            let error = serde_json::json!({"jsonrpc": "2.0", "id": id, "error": {"code": REVOKED, "message": words}});
            ("application/json", error.to_string())
        }
        None => ("text/plain; charset=utf-8", words.to_owned()),
    };
    (StatusCode::FORBIDDEN, [(header::CONTENT_TYPE, kind)], told).into_response()
}

/// What is read of a request that nobody answers.
#[derive(serde::Deserialize)]
struct Asked {
    id: Option<serde_json::Value>,
}

/// A name in an address, with `%41` for `A`. What is no UTF-8 names nothing.
fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let pair =
            bytes.get(at.saturating_add(1)..at.saturating_add(3)).and_then(|pair| std::str::from_utf8(pair).ok());
        match (byte, pair.and_then(|pair| u8::from_str_radix(pair, 16).ok())) {
            (b'%', Some(value)) => {
                out.push(value);
                at = at.saturating_add(3);
            }
            _ => {
                out.push(*byte);
                at = at.saturating_add(1);
            }
        }
    }
    String::from_utf8(out).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_servers_name_may_be_written_with_escapes() {
        for (written, name) in
            [("ci-2", "ci-2"), ("ci%2D2", "ci-2"), ("a%2Fb", "a/b"), ("%zz", "%zz"), ("x%2", "x%2"), ("%ff", "")]
        {
            assert_eq!(decoded(written), name, "{written}");
        }
    }
}
