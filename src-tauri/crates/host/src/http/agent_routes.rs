//! Agents over HTTP: `/mcp` for all servers, `/mcp/NAME` for one (ruling 27).
//!
//! What is checked before the gateway's endpoint sees a request: first Host and Origin, then the token, the server, and the
//! rate; the body is read only after all four, except for the id of a request that a revoked agent sends. A POST that
//! passes goes straight to the endpoint; everything else goes through the router, whose layer refuses in the agents'
//! words. An agent's token opens nothing else of this listener, and a browser's cookie does not open this.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{
    HeaderMap, HeaderValue, Method, Request as HttpRequest, Response as HttpResponse, StatusCode, header,
};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use domain::policy;
use hyper::body::Incoming;
use mcp::server::{
    AgentPrincipal, BodyHold, ClientConnection, HttpEndpoint, Principal, ReplyBody, RequestSender, check_fetch_site,
    check_host_and_origin, takes_post,
};
use percent_encoding::percent_decode_str;

use crate::agent_access::entry::{AgentEntry, EntryRefusal};
use crate::agent_access::json_reply::refused;
use crate::agent_access::request_budget::{ConnectionOwner, CountedBody, Holder, full, too_many_connections};
use crate::http::connection::TimedBody;

/// The path for all servers.
pub(crate) const ALL: &str = "/mcp";
/// Our JSON-RPC error code for a revoked agent, from the range left to servers.
const REVOKED: i32 = -32_000;
/// The path for one server.
const ONE: &str = "/mcp/{server}";

/// The endpoint for agents at one listener.
#[derive(Clone)]
pub(crate) struct AgentRoutes(Arc<AgentState>);

struct AgentState {
    entry: AgentEntry,
    endpoint: HttpEndpoint,
    port: u16,
}

impl AgentRoutes {
    /// The endpoint behind this entry.
    pub(crate) fn new(entry: AgentEntry, bound: std::net::SocketAddr) -> Self {
        let endpoint = HttpEndpoint::new(Arc::clone(&entry.service), entry.parts.clone(), bound);
        Self(Arc::new(AgentState { entry, endpoint, port: bound.port() }))
    }

    /// The routes of agents.
    pub(crate) fn router(&self) -> Router {
        let routed = self.0.endpoint.router(&[ALL, ONE]);
        routed.layer(middleware::from_fn_with_state(Arc::clone(&self.0), only_agents))
    }

    /// The agent whose POST may go straight to the endpoint. What is refused here goes through the router, which says
    /// why.
    pub(crate) fn admit(&self, request: &HttpRequest<Incoming>, owner: &ConnectionOwner) -> Option<AgentPrincipal> {
        let rest = request.uri().path().strip_prefix(ALL)?;
        let server = if rest.is_empty() { None } else { Some(rest.strip_prefix('/')?) };
        let is_endpoint = server.is_none_or(|name| !name.is_empty() && !name.contains('/'));
        if !is_endpoint || request.method() != Method::POST {
            return None;
        }
        let (state, headers) = (&self.0, request.headers());
        check_host_and_origin(headers, state.port).and_then(|()| check_fetch_site(headers)).ok()?;
        let visitor = state.visitor(headers, server).ok()?;
        let may_come = takes_post(headers)
            && owner.claim(&state.entry.requests, visitor.agent)
            && state.entry.count_request(visitor.agent).is_ok();
        may_come.then_some(visitor)
    }

    /// Answers the POST of an admitted agent.
    pub(crate) async fn call(
        &self,
        agent: AgentPrincipal,
        request: HttpRequest<Incoming>,
        connection: &Arc<ClientConnection>,
        body_limit: Duration,
    ) -> HttpResponse<ReplyBody> {
        let (mut head, body) = request.into_parts();
        // The endpoint does not need the token, and a forwarded request must never carry it.
        head.headers.remove(header::AUTHORIZATION);
        let held = self.0.entry.requests.hold(Holder::Agent(agent.agent));
        let body = CountedBody::new(TimedBody::new(body, body_limit), Arc::clone(&held));
        let sender = RequestSender {
            principal: Some(agent.into()),
            connection: Arc::clone(connection),
            body: Some(BodyHold::new(Arc::clone(&held) as _)),
        };
        let response = self.0.endpoint.post(&head, body, sender).await;
        if held.is_refused() { full().map(ReplyBody::from) } else { response }
    }
}

impl AgentState {
    /// Whose token a request carries, and the server that it asks for.
    fn visitor(&self, headers: &HeaderMap, server: Option<&str>) -> Result<AgentPrincipal, EntryRefusal> {
        let mut shown = headers.get_all(header::AUTHORIZATION).iter();
        let authorization = shown.next().filter(|_| shown.next().is_none()).and_then(|header| header.to_str().ok());
        let agent = self.entry.agent(authorization)?;
        self.entry.visit(agent, server.map(decoded).as_deref())
    }
}

async fn only_agents(State(state): State<Arc<AgentState>>, mut request: Request, next: Next) -> Response {
    let headers = request.headers();
    if let Err(why) = check_host_and_origin(headers, state.port).and_then(|()| check_fetch_site(headers)) {
        tracing::info!(?why, "refused a request to `/mcp` that comes from a foreign page or name");
        return refused(&api::ApiError::new(
            api::Code::Refused,
            "this request was sent to another host name, or by a foreign web page",
            "Use the address that `taskwarden agents add` prints; pages in a browser are not agents.",
        ));
    }
    let server = request.uri().path().strip_prefix(ALL).and_then(|rest| rest.strip_prefix('/'));
    let visitor = state.visitor(headers, server).and_then(|visitor| {
        state.entry.count_request(visitor.agent)?;
        Ok(visitor)
    });
    match visitor {
        Ok(visitor) => {
            // The endpoint does not need the token, and a forwarded request must never carry it.
            request.headers_mut().remove(header::AUTHORIZATION);
            request.extensions_mut().insert(Principal::Agent(visitor));
            let owner = request.extensions().get::<Arc<ConnectionOwner>>();
            if owner.is_some_and(|owner| !owner.claim(&state.entry.requests, visitor.agent)) {
                return too_many_connections();
            }
            state.entry.requests.run(Holder::Agent(visitor.agent), request, next).await
        }
        Err(EntryRefusal::Revoked(words)) => revoked(&words, request, &state.entry.parts.policy.gateway).await,
        Err(why) => not_let_in(&why),
    }
}

fn not_let_in(why: &EntryRefusal) -> Response {
    let mut response = refused(&why.error());
    let (status, extra) = match why {
        EntryRefusal::Revoked(_) => (StatusCode::FORBIDDEN, None),
        EntryRefusal::NoToken => {
            (StatusCode::UNAUTHORIZED, Some((header::WWW_AUTHENTICATE, "Bearer realm=\"taskwarden\"")))
        }
        EntryRefusal::WrongToken => (
            StatusCode::UNAUTHORIZED,
            Some((header::WWW_AUTHENTICATE, "Bearer realm=\"taskwarden\", error=\"invalid_token\"")),
        ),
        EntryRefusal::NoServer(_) => (StatusCode::NOT_FOUND, None),
        EntryRefusal::TooFast => (StatusCode::TOO_MANY_REQUESTS, Some((header::RETRY_AFTER, "1"))),
    };
    *response.status_mut() = status;
    if let Some((name, value)) = extra {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

/// The reply to a revoked agent: 403 without a challenge, because signing in again cannot help, and a JSON-RPC error,
/// because clients show the body to their model (decision 0021). It carries the id of the request: rmcp, and with it
/// Codex, otherwise waits for ever for an error with its own id. Without an id the text comes as plain text.
async fn revoked(words: &str, request: Request, policy: &policy::GatewayPolicy) -> Response {
    let body = axum::body::to_bytes(request.into_body(), policy.refused_body_bytes);
    let body = tokio::time::timeout(policy.header_limit, body).await;
    let id = body.ok().and_then(Result::ok).and_then(|body| serde_json::from_slice::<RequestId>(&body).ok()?.id);
    let (kind, body) = match id.filter(|id| id.is_string() || id.is_number()) {
        Some(id) => {
            let error = serde_json::json!({"jsonrpc": "2.0", "id": id, "error": {"code": REVOKED, "message": words}});
            ("application/json", error.to_string())
        }
        None => ("text/plain; charset=utf-8", words.to_owned()),
    };
    (StatusCode::FORBIDDEN, [(header::CONTENT_TYPE, kind)], body).into_response()
}

/// What is read of a request that is refused.
#[derive(serde::Deserialize)]
struct RequestId {
    id: Option<serde_json::Value>,
}

/// A name in an address, with `%41` for `A`. What is not UTF-8 names nothing.
fn decoded(text: &str) -> Cow<'_, str> {
    percent_decode_str(text).decode_utf8().unwrap_or_default()
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
