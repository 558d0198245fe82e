//! The HTTP listener: the window in the browser, the gateway for agents, and the control API (ruling 27). The one client
//! beside it sends the audit log to collectors (`log_collectors.rs`).
//!
//! `listener.rs` accepts and bounds connections. The page and its files are for everyone who can reach the port; calls
//! and the feed need a session (`sign_in.rs`) and a request from our own page. Only loopback addresses are served,
//! because nothing here is encrypted. The kernel names no process for a TCP peer, so what a server started cannot be
//! told from a person by its descent as at the socket (ruling 26): the sign-in code, which only the socket gives out,
//! stands in for it.

mod agent_routes;
mod code_tries;
pub(crate) mod connection;
pub(crate) mod control;
mod control_feed;
mod control_tools;
pub(crate) mod door_threads;
pub(crate) mod feed_lines;
pub(crate) mod listener;
pub(crate) mod log_collectors;
mod page_files;
mod page_headers;
pub(crate) mod session_records;
pub(crate) mod sign_in;

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use api::format::time::count;
use api::{Api, ApiError, CALLS, Caller, Code};
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, Path, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use domain::policy::{HostPolicy, Policy};
use engine::Gauge;
use engine::runtime::supervisor::Supervisor;
use futures::StreamExt as _;
use mcp::server::{check_fetch_site, check_host_and_origin};
use serde::Deserialize;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use self::agent_routes::AgentRoutes;
use self::control::ControlCalls;
use self::listener::Routes;
use crate::agent_access::entry::AgentEntry;
use crate::agent_access::json_reply::{json, refused, say_body_limit};
use crate::agent_access::request_budget::{Holder, RequestBudget};
use crate::http::door_threads::DoorThreads;
use crate::http::session_records::SessionRecords;
use crate::http::sign_in::{CodeRefusal, SignIn, SignedIn};
use crate::os::open_files;
use crate::os::user;

/// The header with the page's secret of the session; only our page can send it.
const WORD: &str = "x-taskwarden";

/// Why the listener is not open.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ListenError {
    /// The address can be reached from other machines.
    #[error("`{0}` is not a loopback address")]
    NotLoopback(SocketAddr),
    /// The port is in use, or not permitted.
    #[error("cannot listen on `{address}`: {source}")]
    Bind { address: SocketAddr, source: io::Error },
}

impl ListenError {
    /// What a person can do next.
    #[must_use]
    pub(crate) fn hint(&self) -> String {
        match self {
            Self::NotLoopback(address) => format!(
                "Use `--listen 127.0.0.1:{}`; from another machine, forward that port with `ssh -L`.",
                address.port()
            ),
            Self::Bind { .. } => {
                "Choose another port, such as `--listen 127.0.0.1:7718`; port 0 takes a free one.".into()
            }
        }
    }
}

/// Shared state of the page's routes.
struct PageState {
    api: Api,
    sign_in: Arc<SignIn>,
    records: Arc<SessionRecords>,
    hosting: HostPolicy,
    stop: CancellationToken,
    /// The name of the cookie. It contains the port, because cookies apply to all ports of a host.
    cookie: String,
    in_work: Semaphore,
    port: u16,
}

/// The body of a sign-in request.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TypedCode {
    code: String,
}

/// The URL at which agents reach all servers through the listener at this address.
pub(crate) fn agents_url(bound: SocketAddr) -> String {
    format!("http://{bound}{}", agent_routes::ALL)
}

/// What the listener serves.
pub(crate) struct ListenerServices {
    /// Serves the page.
    pub(crate) api: Api,
    /// Decides which browsers may use it.
    pub(crate) sign_in: Arc<SignIn>,
    /// Keeps their sessions beyond this core.
    pub(crate) records: Arc<SessionRecords>,
    /// Serves `/mcp` for agents.
    pub(crate) agents: AgentEntry,
    /// The threads that connections are served on.
    pub(crate) doors: Arc<DoorThreads>,
    /// Makes the calls of supervisor programs.
    pub(crate) control: ControlCalls,
}

/// Opens the listener. Returns it with the bound address.
///
/// # Errors
/// When the address is not a loopback address or cannot be bound.
pub(crate) async fn bind(address: SocketAddr) -> Result<(TcpListener, SocketAddr), ListenError> {
    if !address.ip().is_loopback() {
        return Err(ListenError::NotLoopback(address));
    }
    let bind = |source| ListenError::Bind { address, source };
    let listener = TcpListener::bind(address).await.map_err(bind)?;
    let bound = listener.local_addr().map_err(bind)?;
    Ok((listener, bound))
}

/// Serves people and agents until the scope ends.
pub(crate) fn serve(
    listener: TcpListener,
    bound: SocketAddr,
    services: ListenerServices,
    policy: &Policy,
    supervisor: &Supervisor,
) {
    let ListenerServices { api, sign_in, records, agents, doors, control } = services;
    let hosting = &policy.hosting;
    sign_in.opened_at(bound);
    let signed_in = Arc::clone(&sign_in);
    let stop = supervisor.stopping();
    let state = Arc::new(PageState {
        api,
        sign_in,
        records,
        hosting: hosting.clone(),
        stop,
        cookie: format!("taskwarden-{}", bound.port()),
        in_work: Semaphore::new(hosting.browser_calls_max),
        port: bound.port(),
    });
    let (requests, gauges) = (agents.requests.clone(), agents.engine.gauges().clone());
    let (parts, tokens) = (agents.parts.clone(), &policy.control.tokens);
    let agents = AgentRoutes::new(agents, bound);
    let control = control::at_listener(control, requests.clone(), parts, bound, tokens);
    let router = router(state, requests.clone()).merge(agents.router()).merge(control);
    let routes = Routes { router, agents: Some(agents) };
    let limits = connection::ConnectionLimits::of(policy, open_files::raise_limit());
    let connections = u64::try_from(limits.connections_max).unwrap_or(u64::MAX);
    requests.set_connections_of_one_agent(policy.shares.of_one_agent(connections));
    let open = listener::serve_on(Some(doors), listener, routes, limits, supervisor);
    listener::register(&open, "connections at the listener", &gauges);
    let (signed_in, most) = (Arc::downgrade(&signed_in), policy.hosting.browser_sessions_max);
    gauges.add(move |rows| {
        let Some(signed_in) = signed_in.upgrade() else { return };
        let wide = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        rows.push(Gauge::count("signed-in browsers", "everyone", wide(signed_in.kept().len()), wide(most)));
    });
}

fn router(state: Arc<PageState>, requests: RequestBudget) -> Router {
    let signed_in = Router::new()
        .route("/ui/session", get(begin_page))
        .route("/ui/call/{name}", post(call))
        .route("/ui/feed", post(feed))
        .route_layer(middleware::from_fn_with_state(state.clone(), only_signed_in));
    let body_bytes = state.hosting.call_body_bytes;
    Router::new()
        .merge(signed_in)
        .route("/ui/sign-in", post(sign_in))
        .fallback(get(page_files::file))
        .layer(DefaultBodyLimit::max(body_bytes))
        .layer(middleware::from_fn(move |request, next| say_body_limit(body_bytes, request, next)))
        .layer(middleware::from_fn_with_state(requests, count_for_person))
        .layer(middleware::from_fn_with_state(state.clone(), only_own_page))
        .with_state(state)
}

/// Counts the body of a request against the budget of people.
async fn count_for_person(State(requests): State<RequestBudget>, request: Request, next: Next) -> Response {
    requests.run(Holder::Person, request, next).await
}

/// Refuses foreign requests, and adds the strict headers to every response.
async fn only_own_page(State(state): State<Arc<PageState>>, request: Request, next: Next) -> Response {
    let is_call = request.uri().path().starts_with("/ui/");
    let checked = check_host_and_origin(request.headers(), state.port)
        .and_then(|()| if is_call { check_fetch_site(request.headers()) } else { Ok(()) });
    let mut response = match checked {
        Ok(()) => next.run(request).await,
        Err(why) => {
            tracing::info!(?why, "refused a request that does not come from this core's page");
            let error = ApiError::new(
                Code::Refused,
                "this request does not come from the window of this core",
                format!("Open http://127.0.0.1:{}/ in the browser.", state.port),
            );
            refused(&error)
        }
    };
    page_headers::harden(response.headers_mut());
    if is_call {
        response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    response
}

async fn only_signed_in(State(state): State<Arc<PageState>>, mut request: Request, next: Next) -> Response {
    let headers = request.headers();
    let cookie = page_headers::cookie(headers, &state.cookie).unwrap_or_default();
    let word = headers.get(WORD).and_then(|word| word.to_str().ok()).unwrap_or_default();
    match state.sign_in.session(cookie, word) {
        Some(session) => {
            request.extensions_mut().insert(session);
            next.run(request).await
        }
        None => unauthorized(&ApiError::new(
            Code::Refused,
            "this browser is not signed in",
            "Run `taskwarden ui` and open the link it prints.",
        )),
    }
}

/// The page starts and asks whether it is signed in; it is here when this is reached.
async fn begin_page(State(state): State<Arc<PageState>>, Extension(session): Extension<SignedIn>) -> StatusCode {
    state.records.note(&session.id).await;
    StatusCode::NO_CONTENT
}

async fn sign_in(State(state): State<Arc<PageState>>, headers: HeaderMap, body: Bytes) -> Response {
    let typed: TypedCode = match serde_json::from_slice(&body) {
        Ok(typed) => typed,
        Err(error) => return refused(&ApiError::bad_input(&error)),
    };
    let browser =
        headers.get(header::USER_AGENT).map_or("unnamed".into(), |name| String::from_utf8_lossy(name.as_bytes()));
    let proof = match state.sign_in.redeem(&typed.code, &browser) {
        Ok(proof) => proof,
        Err(CodeRefusal::Invalid) => {
            tracing::info!("refused a sign-in code");
            return unauthorized(&ApiError::new(
                Code::Refused,
                "that code is wrong or has expired",
                "Run `taskwarden ui` for a new one.",
            ));
        }
        Err(CodeRefusal::TooManyTries { again_in }) => return too_many_codes(again_in),
    };
    state.records.note(&proof.id).await;
    tracing::info!("a browser signed in");
    let age = state.sign_in.session_span().as_secs();
    let cookie = format!("{}={}; HttpOnly; SameSite=Strict; Path=/ui; Max-Age={age}", state.cookie, proof.cookie);
    let mut response = StatusCode::NO_CONTENT.into_response();
    for (name, value) in [(header::SET_COOKIE.as_str(), cookie), (WORD, proof.word)] {
        if let Ok(mut value) = HeaderValue::from_str(&value) {
            value.set_sensitive(true);
            response.headers_mut().insert(header::HeaderName::from_static(name), value);
        }
    }
    response
}

/// 429 with the whole seconds after which a wrong code is answered as wrong again.
fn too_many_codes(again_in: Duration) -> Response {
    let seconds = again_in.as_secs().saturating_add(u64::from(again_in.subsec_nanos() > 0)).max(1);
    let mut response = refused(&ApiError::new(
        Code::Refused,
        format!(
            "that code is wrong, and too many wrong codes were tried in the last minute; wait {}",
            count(seconds, "second")
        ),
        "Type the code that `taskwarden ui` prints: a right one is accepted at once. Another program on this machine may \
         be guessing codes.",
    ));
    *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    response
}

async fn call(
    State(state): State<Arc<PageState>>,
    Extension(session): Extension<SignedIn>,
    Path(name): Path<String>,
    body: Bytes,
) -> Response {
    let outcome = async {
        let _turn = state.in_work.try_acquire().map_err(|_| {
            ApiError::new(Code::Refused, "too many calls are in progress", "Wait until some of them are done.")
        })?;
        let input = text(&body)?;
        let caller = Caller::here(user::in_browser()).in_session(session.id);
        if CALLS.iter().any(|known| known.name == name && known.acts) {
            tracing::info!(call.name = %name, person = %caller.person, "asked in the browser");
        }
        state.api.dispatch(&caller, &name, input).await
    };
    match outcome.await {
        Ok(text) => json(text),
        Err(error) => refused(&error),
    }
}

async fn feed(State(state): State<Arc<PageState>>, Extension(session): Extension<SignedIn>, body: Bytes) -> Response {
    let opened = async {
        let caller = Caller::here(user::in_browser()).in_session(session.id.clone());
        feed_lines::open(&state.api, &caller, text(&body)?).await
    };
    let lines = match opened.await {
        Ok(lines) => feed_lines::with_heartbeat(feed_lines::as_bytes(lines), state.hosting.feed_heartbeat),
        Err(error) => return refused(&error),
    };
    let stop = state.stop.clone();
    let over = Box::pin(async move {
        tokio::select! {
            () = state.sign_in.ended(session) => {}
            () = stop.cancelled() => {}
        }
    });
    let lines = lines.take_until(over).map(Ok::<_, Infallible>);
    let head = [(header::CONTENT_TYPE, "application/x-ndjson")];
    (StatusCode::OK, head, Body::from_stream(lines)).into_response()
}

fn text(body: &Bytes) -> Result<&str, ApiError> {
    std::str::from_utf8(body)
        .map_err(|_| ApiError::new(Code::Usage, "the input of the call is not UTF-8", "Reload the page."))
}

fn unauthorized(error: &ApiError) -> Response {
    let mut response = refused(error);
    *response.status_mut() = StatusCode::UNAUTHORIZED;
    response
}
