//! The control API: `POST /api/v1/CALL` and `GET /api/v1/openapi.json` for supervisor programs with a control token.
//!
//! What is checked before the body is read: Host, no `Origin`, no query (a token never stands in an address), then the
//! token. A call goes on when its caller hangs up, so that its answer is there for a repeat with the same idempotency key.
//! Which calls there are and what they may do is `api::control`. An agent's token, a cookie and the socket open nothing
//! here, and a control token opens nothing else.

use std::sync::Arc;
use std::time::Duration;

use api::control::{ControlCaller, ControlReply, ControlRequest, openapi};
use api::{Api, ApiError, Code};
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use domain::policy::ControlTokenPolicy;
use engine::runtime::supervisor::Supervisor;
use mcp::server::{check_fetch_site, check_host_and_origin};
use tokio::sync::{Semaphore, oneshot};

use crate::agent_access::entry::bearer;
use crate::agent_access::json_reply::{refused, say_body_limit};
use crate::agent_access::request_budget::{Holder, RequestBudget};

/// The header with the caller's idempotency key.
const KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// Says that an answer was given before, for the same key.
const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// Shared state of the routes.
pub(super) struct ControlState {
    pub(super) api: Api,
    pub(super) requests: RequestBudget,
    pub(super) supervisor: Supervisor,
    pub(super) port: u16,
    in_work: Arc<Semaphore>,
    busy_retry: Duration,
}

impl ControlState {
    pub(super) fn new(
        api: Api,
        requests: RequestBudget,
        supervisor: &Supervisor,
        port: u16,
        policy: &ControlTokenPolicy,
    ) -> Self {
        let in_work = Arc::new(Semaphore::new(policy.calls_max));
        Self { api, requests, supervisor: supervisor.clone(), port, in_work, busy_retry: policy.busy_retry }
    }
}

/// The routes of the control API.
pub(super) fn router(state: ControlState, policy: &ControlTokenPolicy) -> Router {
    let (state, body_bytes) = (Arc::new(state), policy.body_bytes);
    Router::new()
        .route("/api/v1/{call}", post(call))
        .route("/api/v1/openapi.json", get(document))
        .layer(DefaultBodyLimit::max(body_bytes))
        .layer(middleware::from_fn(move |request, next| say_body_limit(body_bytes, request, next)))
        .layer(middleware::from_fn_with_state(Arc::clone(&state), only_supervisors))
        .with_state(state)
}

async fn only_supervisors(State(state): State<Arc<ControlState>>, mut request: Request, next: Next) -> Response {
    let headers = request.headers();
    let is_foreign = headers.contains_key(header::ORIGIN)
        || check_host_and_origin(headers, state.port).and_then(|()| check_fetch_site(headers)).is_err();
    let mut response = if is_foreign {
        tracing::info!("refused a request to the control API that comes from a page or names another host");
        refused(&ApiError::new(
            Code::Refused,
            "pages in a browser, and requests to another host name, are not served here",
            "Call from a program, without an `Origin`, at the address that `taskwarden control add` prints.",
        ))
    } else if request.uri().query().is_some() {
        refused(&ApiError::new(
            Code::Usage,
            "the control API takes nothing in the address",
            "Send the token as `Authorization: Bearer twc_…` and everything else in the body. A token that stood in an \
             address is known to others: revoke it.",
        ))
    } else if state.supervisor.stopping().is_cancelled() {
        refused(&stopping())
    } else if let Some(caller) = caller(&state.api, headers) {
        request.headers_mut().remove(header::AUTHORIZATION);
        request.extensions_mut().insert(caller);
        let requests = state.requests.clone();
        requests.run(Holder::Programs, request, next).await
    } else {
        no_token()
    };
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Whose control token a request carries.
fn caller(api: &Api, headers: &HeaderMap) -> Option<ControlCaller> {
    let mut shown = headers.get_all(header::AUTHORIZATION).iter();
    let only = shown.next().filter(|_| shown.next().is_none())?;
    api.control_caller(bearer(only.to_str().ok()?)?)
}

fn no_token() -> Response {
    let mut response = refused(&ApiError::new(
        Code::Refused,
        "a control token that is in force is required",
        "A person makes one with `taskwarden control add`; `taskwarden control list` shows which are in force.",
    ));
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
    let Ok(turn) = Arc::clone(&state.in_work).try_acquire_owned() else {
        let error = ApiError::new(Code::OverLimit, "too many control calls are in progress", "Try again in a second.");
        return written(ControlReply { retry_after: Some(state.busy_retry), ..ControlReply::refusal(429, &error) });
    };
    tracing::info!(call.name = %domain::policy::plain_text(&name, 80), control = %caller.id(), "asked with a control token");
    let (answer, answered) = oneshot::channel();
    let api = state.api.clone();
    state.supervisor.spawn_draining("control call", async move {
        let request = ControlRequest { name: &name, body: &body, key: key.as_deref() };
        let reply = api.control_call(&caller, request).await;
        drop(turn);
        // Nobody waits for it when the caller hung up.
        let _ = answer.send(reply);
    });
    match answered.await {
        Ok(reply) => written(reply),
        Err(_) => refused(&stopping()),
    }
}

fn usage(message: &str) -> ApiError {
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
