//! The listener and its doors: the window in the browser, and the gateway for agents (`agents.rs`) (ruling 27).
//!
//! `listen.rs` takes connections and bounds them. The page and its files are for everyone who can reach the port; calls
//! and the feed need a session (`sign_in.rs`) and a request from the page itself (`guard.rs`). There is no other address than a loopback one, because nothing here is
//! encrypted. A TCP peer has no process that the kernel names, so what a server started cannot be told from a person by
//! its descent as at the socket (ruling 26): the code, which only the socket gives out, stands in for it.

mod agents;
mod guard;
pub(crate) mod line;
pub(crate) mod listen;
mod page;

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use api::{Api, ApiError, CALLS, Caller, Code};
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, Path, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use domain::policy::{HostPolicy, Policy};
use engine::runtime::supervisor::Supervisor;
use futures::StreamExt as _;
use serde::Deserialize;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::agents::AgentDoor;
use crate::files;
use crate::frames;
use crate::person;
use crate::reply::{json, refused};
use crate::request_budget::{Holder, RequestBudget};
use crate::sign_in::{SignIn, SignedIn};

/// The header that only our page can send, with its word of the session.
const WORD: &str = "x-taskwarden";

/// Why the listener is not open.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HttpError {
    /// The address can be reached from other machines.
    #[error("`{0}` is not a loopback address")]
    NotLoopback(SocketAddr),
    /// The port is taken, or may not be used.
    #[error("`{address}` cannot be listened on: {source}")]
    Bind {
        /// Where.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
}

impl HttpError {
    /// What a person can do next.
    #[must_use]
    pub(crate) fn hint(&self) -> String {
        match self {
            Self::NotLoopback(address) => format!(
                "Use `--listen 127.0.0.1:{}`; from another machine, bring that port here with `ssh -L`.",
                address.port()
            ),
            Self::Bind { .. } => {
                "Choose another port, such as `--listen 127.0.0.1:7718`; port 0 takes a free one.".into()
            }
        }
    }
}

/// What every request needs.
struct Behind {
    api: Api,
    sign_in: Arc<SignIn>,
    hosting: HostPolicy,
    stop: CancellationToken,
    /// The name of the cookie: cookies know no ports, so the port is in it.
    cookie: String,
    in_work: Semaphore,
    port: u16,
}

/// What a browser must show to call.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TypedCode {
    code: String,
}

/// Where agents reach all servers of the listener at this address.
pub(crate) fn agents_url(bound: SocketAddr) -> String {
    format!("http://{bound}{}", agents::ALL)
}

/// What stands behind the doors.
pub(crate) struct Doors {
    /// Behind the page.
    pub(crate) api: Api,
    /// Who may use it.
    pub(crate) sign_in: Arc<SignIn>,
    /// Behind `/mcp`.
    pub(crate) agents: AgentDoor,
}

/// Opens the listener and serves until the scope ends. Returns where it is.
///
/// # Errors
/// When the address is not a loopback one or cannot be had.
pub(crate) async fn open(
    address: SocketAddr,
    doors: Doors,
    policy: &Policy,
    supervisor: &Supervisor,
) -> Result<SocketAddr, HttpError> {
    let Doors { api, sign_in, agents } = doors;
    let hosting = &policy.hosting;
    if !address.ip().is_loopback() {
        return Err(HttpError::NotLoopback(address));
    }
    let bind = |source| HttpError::Bind { address, source };
    let listener = TcpListener::bind(address).await.map_err(bind)?;
    let bound = listener.local_addr().map_err(bind)?;
    sign_in.opened_at(bound);
    let stop = supervisor.stopping();
    let behind = Arc::new(Behind {
        api,
        sign_in,
        hosting: hosting.clone(),
        stop,
        cookie: format!("taskwarden-{}", bound.port()),
        in_work: Semaphore::new(hosting.browser_calls_max),
        port: bound.port(),
    });
    let (requests, gauges) = (agents.requests.clone(), agents.engine.gauges().clone());
    let router = router(behind, requests.clone()).merge(agents::router(agents, bound));
    let limits = line::Limits::of(policy, files::raise_limit());
    let connections = u64::try_from(limits.connections_max).unwrap_or(u64::MAX);
    requests.set_connections_of_one_agent(policy.shares.of_one_agent(connections));
    let open = listen::serve(listener, router, limits, supervisor);
    listen::register(&open, "connections at the listener", &gauges);
    Ok(bound)
}

fn router(behind: Arc<Behind>, requests: RequestBudget) -> Router {
    let signed_in = Router::new()
        .route("/ui/session", get(|| async { StatusCode::NO_CONTENT }))
        .route("/ui/call/{name}", post(call))
        .route("/ui/feed", post(feed))
        .route_layer(middleware::from_fn_with_state(behind.clone(), only_signed_in));
    Router::new()
        .merge(signed_in)
        .route("/ui/sign-in", post(sign_in))
        .fallback(get(page::file))
        .layer(DefaultBodyLimit::max(behind.hosting.call_body_bytes))
        .layer(middleware::from_fn_with_state(requests, of_a_person))
        .layer(middleware::from_fn_with_state(behind.clone(), only_our_page))
        .with_state(behind)
}

/// Counts the body of a request for people.
async fn of_a_person(State(requests): State<RequestBudget>, request: Request, next: Next) -> Response {
    requests.run(Holder::Person, request, next).await
}

/// Refuses strangers, and puts the strict headers on everything.
async fn only_our_page(State(behind): State<Arc<Behind>>, request: Request, next: Next) -> Response {
    let is_call = request.uri().path().starts_with("/ui/");
    let checked = guard::check(request.headers(), behind.port)
        .and_then(|()| if is_call { guard::may_call(request.headers()) } else { Ok(()) });
    let mut response = match checked {
        Ok(()) => next.run(request).await,
        Err(why) => {
            tracing::info!(?why, "a request that is not from a page of this core was refused");
            let error = ApiError::new(
                Code::Refused,
                "this request does not come from the window of this core",
                format!("Open http://127.0.0.1:{}/ in the browser.", behind.port),
            );
            refused(&error)
        }
    };
    guard::harden(response.headers_mut());
    if is_call {
        response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    response
}

async fn only_signed_in(State(behind): State<Arc<Behind>>, mut request: Request, next: Next) -> Response {
    let headers = request.headers();
    let cookie = guard::cookie(headers, &behind.cookie).unwrap_or_default();
    let word = headers.get(WORD).and_then(|word| word.to_str().ok()).unwrap_or_default();
    match behind.sign_in.session(cookie, word) {
        Some(session) => {
            request.extensions_mut().insert(session);
            next.run(request).await
        }
        None => unsigned(&ApiError::new(
            Code::Refused,
            "this browser is not signed in",
            "Run `taskwarden ui` and enter the code it prints.",
        )),
    }
}

async fn sign_in(State(behind): State<Arc<Behind>>, headers: HeaderMap, body: Bytes) -> Response {
    let typed: TypedCode = match serde_json::from_slice(&body) {
        Ok(typed) => typed,
        Err(error) => return refused(&ApiError::bad_input(&error)),
    };
    let browser =
        headers.get(header::USER_AGENT).map_or("unnamed".into(), |name| String::from_utf8_lossy(name.as_bytes()));
    let Some(proof) = behind.sign_in.redeem(&typed.code, &browser) else {
        tracing::info!("a code of the browser's door was refused");
        return unsigned(&ApiError::new(
            Code::Refused,
            "this code does not count, or no longer",
            "Run `taskwarden ui` and enter the code it prints.",
        ));
    };
    tracing::info!("a browser signed in");
    let age = behind.sign_in.session_span().as_secs();
    let cookie = format!("{}={}; HttpOnly; SameSite=Strict; Path=/ui; Max-Age={age}", behind.cookie, proof.cookie);
    let mut response = StatusCode::NO_CONTENT.into_response();
    for (name, value) in [(header::SET_COOKIE.as_str(), cookie), (WORD, proof.word)] {
        if let Ok(mut value) = HeaderValue::from_str(&value) {
            value.set_sensitive(true);
            response.headers_mut().insert(header::HeaderName::from_static(name), value);
        }
    }
    response
}

async fn call(
    State(behind): State<Arc<Behind>>,
    Extension(session): Extension<SignedIn>,
    Path(name): Path<String>,
    body: Bytes,
) -> Response {
    let outcome = async {
        let _turn = behind.in_work.try_acquire().map_err(|_| {
            ApiError::new(Code::Refused, "too many calls are in work", "Wait until some of them are done.")
        })?;
        let input = text(&body)?;
        let caller = Caller::here(person::in_browser()).in_session(session.id);
        if CALLS.iter().any(|(known, ability)| *known == name && ability.changes()) {
            tracing::info!(call.name = %name, person = %caller.person, "asked in the browser");
        }
        behind.api.dispatch(&caller, &name, input).await
    };
    match outcome.await {
        Ok(text) => json(text),
        Err(error) => refused(&error),
    }
}

async fn feed(State(behind): State<Arc<Behind>>, Extension(session): Extension<SignedIn>, body: Bytes) -> Response {
    let opened = async {
        let caller = Caller::here(person::in_browser()).in_session(session.id.clone());
        frames::open(&behind.api, &caller, text(&body)?).await
    };
    let lines = match opened.await {
        Ok(lines) => frames::with_heartbeat(frames::as_bytes(lines), behind.hosting.feed_heartbeat),
        Err(error) => return refused(&error),
    };
    let stop = behind.stop.clone();
    let over = Box::pin(async move {
        tokio::select! {
            () = behind.sign_in.ended(session) => {}
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

fn unsigned(error: &ApiError) -> Response {
    let mut response = refused(error);
    *response.status_mut() = StatusCode::UNAUTHORIZED;
    response
}
