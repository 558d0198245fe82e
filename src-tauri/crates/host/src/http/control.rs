//! The control API for supervisor programs with a control token: `POST /api/v1/CALL`, `GET /api/v1/feed` and `GET
//! /api/v1/openapi.json` at the listener and at the core's socket, MCP at `/api/v1/mcp` at the listener alone.
//!
//! What is checked before the body is read: Host, no `Origin`, no query (a token never stands in an address), then the
//! token. A call goes on when its caller hangs up, so that its answer is there for a repeat with the same idempotency key.
//! Which calls there are and what they may do is `api::control`; the tools over MCP (`control_tools.rs`) are the same
//! calls, and `control_feed.rs` writes the feed. An agent's token and a cookie open nothing here, being a person at the socket opens nothing more than the token
//! does, and a control token opens nothing else.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use api::control::{ControlCaller, ControlReply, ControlRequest, openapi};
use api::{Api, ApiError, Code};
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use domain::policy::{ControlTokenPolicy, Policy};
use engine::runtime::supervisor::Supervisor;
use mcp::server::{Principal, ServerParts, check_fetch_site, check_host_and_origin};
use tokio::sync::{Semaphore, oneshot};

use super::{control_feed, control_tools};
use crate::agent_access::entry::bearer;
use crate::agent_access::json_reply::{refused, say_body_limit};
use crate::agent_access::request_budget::{Holder, RequestBudget};

/// The header with the caller's idempotency key.
const KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// Says that an answer was given before, for the same key.
const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// The path of the tools over MCP.
const TOOLS: &str = "/api/v1/mcp";

/// Shared state of the routes.
struct ControlState {
    calls: ControlCalls,
    requests: RequestBudget,
    entrance: ControlEntrance,
}

/// Where requests come in.
#[derive(Debug, Clone, Copy)]
enum ControlEntrance {
    /// At the listener on this port, from any process that reaches it.
    Listener { port: u16 },
    /// At the core's socket, from processes of its user.
    Socket,
}

/// Whether a server or an agent started the program that makes a request. The socket adds it to every request; over TCP
/// nobody knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BelowAgent(pub(crate) bool);

/// Makes control calls, for every way in. Clones share how many may be in progress.
#[derive(Clone)]
pub(crate) struct ControlCalls {
    pub(super) api: Api,
    pub(super) supervisor: Supervisor,
    in_work: Arc<Semaphore>,
    busy_retry: Duration,
    pub(super) feed_retry: Duration,
    pub(super) feed_heartbeat: Duration,
}

impl ControlCalls {
    pub(crate) fn new(api: Api, supervisor: &Supervisor, policy: &Policy) -> Self {
        let ControlTokenPolicy { calls_max, busy_retry, feed_retry, .. } = policy.control.tokens;
        Self {
            api,
            supervisor: supervisor.clone(),
            in_work: Arc::new(Semaphore::new(calls_max)),
            busy_retry,
            feed_retry,
            feed_heartbeat: policy.hosting.feed_heartbeat,
        }
    }

    /// Makes a call. It goes on when the returned future is dropped.
    pub(super) async fn make(
        &self,
        caller: ControlCaller,
        name: String,
        body: String,
        key: Option<String>,
    ) -> ControlReply {
        let Ok(turn) = Arc::clone(&self.in_work).try_acquire_owned() else {
            let error =
                ApiError::new(Code::OverLimit, "too many control calls are in progress", "Try again in a second.");
            return ControlReply { retry_after: Some(self.busy_retry), ..ControlReply::refusal(429, &error) };
        };
        let called = domain::policy::plain_text(&name, 80);
        tracing::info!(call.name = %called, control = %caller.id(), "asked with a control token");
        let (answer, answered) = oneshot::channel();
        let api = self.api.clone();
        self.supervisor.spawn_draining("control call", async move {
            let request = ControlRequest { name: &name, body: &body, key: key.as_deref() };
            let reply = api.control_call(&caller, request).await;
            drop(turn);
            // Nobody waits for it when the caller hung up.
            let _ = answer.send(reply);
        });
        answered.await.unwrap_or_else(|_| ControlReply::refusal(503, &stopping()))
    }
}

/// The routes of the control API at the listener's bound address. `parts` are those of an MCP endpoint.
pub(super) fn at_listener(
    calls: ControlCalls,
    requests: RequestBudget,
    parts: ServerParts,
    bound: SocketAddr,
    policy: &ControlTokenPolicy,
) -> Router {
    let tools = control_tools::endpoint(calls.clone(), parts, bound, policy);
    let tools = tools.router(&[TOOLS]).route_layer(middleware::from_fn(no_standing_stream));
    let state = Arc::new(ControlState { calls, requests, entrance: ControlEntrance::Listener { port: bound.port() } });
    guarded(routes(&state).merge(tools), state, policy)
}

/// The routes of the control API at the core's socket. Every request must have its [`BelowAgent`].
pub(crate) fn at_socket(calls: ControlCalls, requests: RequestBudget, policy: &ControlTokenPolicy) -> Router {
    let state = Arc::new(ControlState { calls, requests, entrance: ControlEntrance::Socket });
    guarded(routes(&state), state, policy)
}

fn routes(state: &Arc<ControlState>) -> Router {
    Router::new()
        .route("/api/v1/{call}", post(call))
        .route("/api/v1/feed", get(feed))
        .route("/api/v1/openapi.json", get(document))
        .with_state(Arc::clone(state))
}

fn guarded(routes: Router, state: Arc<ControlState>, policy: &ControlTokenPolicy) -> Router {
    let body_bytes = policy.body_bytes;
    routes
        .layer(DefaultBodyLimit::max(body_bytes))
        .layer(middleware::from_fn(move |request, next| say_body_limit(body_bytes, request, next)))
        .layer(middleware::from_fn_with_state(state, only_supervisors))
}

async fn only_supervisors(State(state): State<Arc<ControlState>>, mut request: Request, next: Next) -> Response {
    let mut response = match admitted(&state, &request) {
        Ok(caller) => {
            request.headers_mut().remove(header::AUTHORIZATION);
            request.extensions_mut().insert(Principal::Supervisor(caller.id()));
            request.extensions_mut().insert(caller);
            let requests = state.requests.clone();
            requests.run(Holder::Programs, request, next).await
        }
        Err(refusal) => *refusal,
    };
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Whose request it is, or the reply to a request that is not served.
fn admitted(state: &ControlState, request: &Request) -> Result<ControlCaller, Box<Response>> {
    let headers = request.headers();
    let is_elsewhere = match state.entrance {
        ControlEntrance::Listener { port } => {
            check_host_and_origin(headers, port).and_then(|()| check_fetch_site(headers)).is_err()
        }
        ControlEntrance::Socket => false,
    };
    if is_elsewhere || headers.contains_key(header::ORIGIN) {
        tracing::info!("refused a request to the control API that comes from a page or names another host");
        return Err(Box::new(refused(&ApiError::new(
            Code::Refused,
            "pages in a browser, and requests to another host name, are not served here",
            "Call from a program, without an `Origin`, at the address that `taskwarden control add` prints.",
        ))));
    }
    if request.uri().query().is_some() {
        return Err(Box::new(refused(&ApiError::new(
            Code::Usage,
            "the control API takes nothing in the address",
            "Send the token as `Authorization: Bearer twc_…` and everything else in the body. A token that stood in an \
             address is known to others: revoke it.",
        ))));
    }
    if state.calls.supervisor.stopping().is_cancelled() {
        return Err(Box::new(refused(&stopping())));
    }
    let caller = caller(&state.calls.api, headers).map_err(|error| Box::new(no_token(&error)))?;
    let is_below = request.extensions().get::<BelowAgent>().is_some_and(|BelowAgent(is_below)| *is_below);
    if is_below && !caller.is_of_agent() {
        tracing::info!(control = %caller.id(), "refused a control token that a process of an agent or a server shows");
        return Err(Box::new(refused(&ApiError::new(
            Code::Refused,
            "a process that a server or an agent started needs a control token that names the agent",
            "Nothing was asked. A person makes one with `taskwarden control add NAME --held-by AGENT`; it does not reach \
             the tasks of that agent.",
        ))));
    }
    Ok(caller)
}

/// Whose control token a request carries.
fn caller(api: &Api, headers: &HeaderMap) -> Result<ControlCaller, ApiError> {
    let mut shown = headers.get_all(header::AUTHORIZATION).iter();
    let only = shown.next().filter(|_| shown.next().is_none());
    let token = only.and_then(|only| bearer(only.to_str().ok()?)).ok_or_else(|| {
        ApiError::new(
            Code::Refused,
            "a control token is required",
            "Send one `Authorization: Bearer twc_…`. A person makes a token with `taskwarden control add`.",
        )
    })?;
    api.control_caller(token)
}

/// The reply to a request without a control token that is in force.
fn no_token(why: &ApiError) -> Response {
    let mut response = refused(why);
    if why.code == Code::NoCore {
        return response;
    }
    *response.status_mut() = StatusCode::UNAUTHORIZED;
    let challenge = HeaderValue::from_static("Bearer realm=\"taskwarden control\"");
    response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
    response
}

fn stopping() -> ApiError {
    ApiError::new(Code::NoCore, "the core shuts down", "Try again once it runs.")
}

async fn document() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], openapi::document()).into_response()
}

async fn call(
    State(state): State<Arc<ControlState>>,
    Extension(caller): Extension<ControlCaller>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let mut keys = headers.get_all(KEY).iter();
    let key = match (keys.next().map(HeaderValue::to_str), keys.next()) {
        (None, _) => None,
        (Some(Ok(key)), None) => Some(key.to_owned()),
        (Some(_), _) => {
            return written(ControlReply::refusal(400, &usage("`Idempotency-Key` is not one plain text")));
        }
    };
    let Ok(body) = String::from_utf8(body.to_vec()) else {
        return written(ControlReply::refusal(400, &usage("the body is not UTF-8")));
    };
    written(state.calls.make(caller, name, body, key).await)
}

async fn feed(
    State(state): State<Arc<ControlState>>,
    Extension(caller): Extension<ControlCaller>,
    headers: HeaderMap,
) -> Response {
    match control_feed::open(&state.calls, &caller, &headers).await {
        Ok(response) => response,
        Err(error) => written(ControlReply::refused(&error)),
    }
}

/// Tools send nothing by themselves, so that there is no stream to open.
async fn no_standing_stream(request: Request, next: Next) -> Response {
    if request.method() != Method::GET {
        return next.run(request).await;
    }
    (StatusCode::METHOD_NOT_ALLOWED, [(header::ALLOW, "POST, DELETE")]).into_response()
}

pub(super) fn usage(message: &str) -> ApiError {
    ApiError::new(Code::Usage, message, "GET /api/v1/openapi.json says how a call is made. Nothing was asked.")
}

fn written(reply: ControlReply) -> Response {
    let status = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = (status, [(header::CONTENT_TYPE, "application/json")], reply.body).into_response();
    if let Some(after) = reply.retry_after {
        let seconds = after.as_secs().saturating_add(u64::from(after.subsec_nanos() > 0)).max(1);
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    if reply.is_kept {
        response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    }
    response
}
