//! The core's unix socket, which only its user can open, with the api and the gateway state it.
//!
//! `POST /call/NAME` takes and returns JSON; `POST /feed` streams changes and `POST /frames` what a window shows, one
//! JSON document per line; `POST /code` returns a sign-in code; `POST /agent` becomes a stream of lines for a bridge
//! whose agent has shown its token; `/api/v1/` is the control API (`http/control.rs`). The kernel says who the peer is (`peer.rs`); other users are refused even if they
//! reach the socket. There is no network here.

mod peer;
mod process_ancestry;

use std::convert::Infallible;
use std::fs;
use std::io;
use std::sync::Arc;

use api::{Api, ApiError, CALLS, Code};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{ConnectInfo, DefaultBodyLimit, Path, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use engine::runtime::supervisor::Supervisor;
use futures::StreamExt as _;
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use mcp::server::AgentPrincipal;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::agent_access::entry::{AgentEntry, EntryRefusal};
use crate::agent_access::json_reply::{json, refused, say_body_limit};
use crate::agent_access::request_budget::{ConnectionOwner, Holder, PipeBudget, RequestBudget, too_many_connections};
use crate::config::paths::Paths;
use crate::http::connection::ConnectionLimits;
use crate::http::control::{self, BelowAgent, ControlCalls};
use crate::http::feed_lines;
use crate::http::listener::{self, ConnectionSource};
use crate::http::sign_in::SignIn;
use crate::os::open_files;
use crate::os::process_table::ProcessTable;
use peer::Peer;
use process_ancestry::Ancestry;
pub(crate) use process_ancestry::{Starters, is_below_agent};

/// The protocol that a bridge upgrades its connection to.
pub(crate) const PROTOCOL: &str = "taskwarden-agent";
/// Names the agent, so that the token of another agent is noticed.
pub(crate) const AGENT_HEADER: &str = "x-taskwarden-agent";
/// Names the only server that is wanted; without it, all servers.
pub(crate) const SERVER_HEADER: &str = "x-taskwarden-server";

/// Shared state of the routes.
#[derive(Clone)]
struct SocketState {
    api: Api,
    sign_in: Arc<SignIn>,
    agents: AgentEntry,
    streams: Arc<Semaphore>,
    ancestry: Arc<Ancestry>,
    supervisor: Supervisor,
    stop: CancellationToken,
}

/// What the socket serves.
pub(crate) struct SocketServices {
    /// Answers what people ask.
    pub(crate) api: Api,
    /// Makes sign-in codes.
    pub(crate) sign_in: Arc<SignIn>,
    /// Serves bridges of agents.
    pub(crate) agents: AgentEntry,
    /// Makes the calls of supervisor programs.
    pub(crate) control: ControlCalls,
}

/// What recognising persons by their process starts from.
pub(crate) struct AncestryOptions {
    /// Whether processes that started a bridge count as an agent's as well.
    pub(crate) is_strict: bool,
    /// What started the core, if the core is no longer a child of it.
    pub(crate) starters: Option<Starters>,
}

/// Opens the socket. One that a killed core left is replaced: the lock proves that nobody serves it.
///
/// # Errors
/// When the socket cannot be created.
pub(crate) fn open(paths: &Paths) -> io::Result<UnixListener> {
    let path = paths.socket();
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let listener = UnixListener::bind(&path)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
    }
    Ok(listener)
}

/// Serves until the scope ends; active calls are finished, feeds are ended.
pub(crate) fn serve(
    listener: UnixListener,
    services: SocketServices,
    starting: AncestryOptions,
    supervisor: &Supervisor,
) {
    let stop = supervisor.stopping();
    let SocketServices { api, sign_in, agents, control } = services;
    let policy = &agents.parts.policy;
    let (hosting, mut limits) = (policy.hosting.clone(), ConnectionLimits::of(policy, open_files::raise_limit()));
    let (requests, gauges) = (agents.requests.clone(), agents.engine.gauges().clone());
    let processes_max = hosting.doorway.agent_processes_max;
    let AncestryOptions { is_strict, starters } = starting;
    let mut ancestry = Ancestry::new(ProcessTable::of_system(), std::process::id(), processes_max, is_strict);
    if let Some(starters) = starters {
        ancestry.set_detached(starters);
    }
    let control = control::at_socket(control, requests.clone(), &policy.control.tokens);
    let state = SocketState {
        api,
        sign_in,
        agents,
        streams: Arc::new(Semaphore::new(hosting.doorway.streams_max)),
        ancestry: Arc::new(ancestry),
        supervisor: supervisor.clone(),
        stop: stop.clone(),
    };
    let body_bytes = hosting.call_body_bytes;
    let control = control.layer(middleware::from_fn_with_state(state.clone(), tell_descent));
    let router = Router::new()
        .route("/call/{name}", post(call))
        .route("/feed", post(feed))
        .route("/frames", post(frames_for_window))
        .route("/code", post(code))
        .layer(DefaultBodyLimit::max(body_bytes))
        .layer(middleware::from_fn(move |request, next| say_body_limit(body_bytes, request, next)))
        .route("/agent", post(agent))
        .layer(middleware::from_fn_with_state(requests, count_for_person))
        .with_state(state)
        .merge(control);
    limits.connections_max = limits.connections_max.min(hosting.doorway.streams_max);
    let open = listener::serve(listener, router, limits, supervisor);
    listener::register(&open, "connections at the core's socket", &gauges);
}

/// Counts the body of a request against the budget of people. Lines of an agent's stream are no body.
async fn count_for_person(State(requests): State<RequestBudget>, request: Request, next: Next) -> Response {
    requests.run(Holder::Person, request, next).await
}

/// Tells the control API whether a server or an agent started the program that asks.
async fn tell_descent(
    State(state): State<SocketState>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    mut request: Request,
    next: Next,
) -> Response {
    request.extensions_mut().insert(BelowAgent(peer.is_below_agent(&state.ancestry)));
    next.run(request).await
}

impl ConnectionSource for UnixListener {
    type Stream = UnixStream;
    type Peer = Peer;

    async fn next(&self) -> io::Result<(UnixStream, Option<Peer>)> {
        let (stream, _) = self.accept().await?;
        let peer = Peer::of(&stream);
        // Another user gets no reply, and nothing is read from them.
        let peer = Some(peer).filter(|peer| peer.is_of_our_user());
        Ok((stream, peer))
    }

    async fn wait_for_data(stream: &UnixStream) -> io::Result<()> {
        stream.readable().await
    }
}

async fn call(
    State(state): State<SocketState>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    Path(name): Path<String>,
    body: Bytes,
) -> Response {
    let outcome = async {
        let caller = peer.caller(&state.ancestry)?;
        let input = std::str::from_utf8(&body).map_err(|_| {
            ApiError::new(Code::Usage, "the input of the call is not UTF-8", "Use the `taskwarden` command line.")
        })?;
        // Logs who decided through which process; what was decided is in the audit log (ruling 26).
        if CALLS.iter().any(|known| known.name == name && known.acts) {
            tracing::info!(call.name = %name, person = %caller.person, origin = %peer.origin(), "asked at the socket");
        }
        state.api.dispatch(&caller, &name, input).await
    };
    match outcome.await {
        Ok(text) => json(text),
        Err(error) => refused(&error),
    }
}

async fn feed(State(state): State<SocketState>, ConnectInfo(peer): ConnectInfo<Peer>, body: Bytes) -> Response {
    let news = async {
        let caller = peer.caller(&state.ancestry)?;
        let wanted = serde_json::from_slice(&body).map_err(|error| ApiError::bad_input(&error))?;
        state.api.subscribe(&caller, wanted).await
    };
    match news.await {
        Ok(news) => {
            let lines = news
                .map(|piece| {
                    let text = match piece {
                        Ok(piece) => serde_json::to_string(&piece),
                        Err(error) => serde_json::to_string(&error),
                    };
                    Ok::<_, Infallible>(Bytes::from(text.unwrap_or_default() + "\n"))
                })
                .take_until(state.stop.clone().cancelled_owned());
            let head = [(header::CONTENT_TYPE, "application/x-ndjson")];
            (StatusCode::OK, head, Body::from_stream(lines)).into_response()
        }
        Err(error) => refused(&error),
    }
}

async fn frames_for_window(
    State(state): State<SocketState>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    body: Bytes,
) -> Response {
    let opened = async {
        let input = std::str::from_utf8(&body)
            .map_err(|_| ApiError::new(Code::Usage, "the input of the feed is not UTF-8", "Restart the window."))?;
        feed_lines::open(&state.api, &peer.caller(&state.ancestry)?, input).await
    };
    match opened.await {
        Ok(lines) => {
            let lines = feed_lines::as_bytes(lines).take_until(state.stop.clone().cancelled_owned());
            let head = [(header::CONTENT_TYPE, "application/x-ndjson")];
            (StatusCode::OK, head, Body::from_stream(lines.map(Ok::<_, Infallible>))).into_response()
        }
        Err(error) => refused(&error),
    }
}

/// Whoever enters a code is treated as the person, so only a person gets one, never what a server started.
async fn code(State(state): State<SocketState>, ConnectInfo(peer): ConnectInfo<Peer>) -> Response {
    match peer.caller(&state.ancestry).and_then(|caller| state.sign_in.invite(&caller)) {
        Ok(invitation) => json(serde_json::to_string(&invitation).unwrap_or_default()),
        Err(error) => refused(&error),
    }
}

/// Turns the connection of a bridge into its agent's stream, and remembers its process as an agent's.
async fn agent(
    State(state): State<SocketState>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    mut request: Request,
) -> Response {
    let headers = request.headers();
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let wanted = (header("authorization"), header(AGENT_HEADER), header(SERVER_HEADER));
    let visit = peer.caller(&state.ancestry).and_then(|_| {
        if let Some(process) = peer.process() {
            // Even if it is refused below: it came as a bridge.
            state.ancestry.remember(process);
        }
        let (authorization, named, server) = wanted;
        let let_in = state.agents.agent(authorization).and_then(|agent| {
            let is_named =
                state.agents.engine.agents().get(agent).is_some_and(|known| named.is_none_or(|n| n == known.name));
            if !is_named {
                return Err(EntryRefusal::WrongToken);
            }
            state.agents.visit(agent, server)
        });
        let_in.map_err(|why| why.error())
    });
    let principal = match visit {
        Ok(principal) => principal,
        Err(error) => return refused(&error),
    };
    let (true, Some(upgrade)) = (is_upgrade(request.headers()), request.extensions_mut().remove::<OnUpgrade>()) else {
        return (StatusCode::UPGRADE_REQUIRED, [(header::UPGRADE, PROTOCOL)]).into_response();
    };
    let Ok(place) = Arc::clone(&state.streams).try_acquire_owned() else {
        return StatusCode::TOO_MANY_REQUESTS.into_response();
    };
    let agents = state.agents.clone();
    let owner = ConnectionOwner::default();
    if !owner.claim(&agents.requests, principal.agent) {
        return too_many_connections();
    }
    // The one place that decides where a bridge is served: everything of it happens in this task.
    state.supervisor.spawn_draining("agent stream", async move {
        let _place = place;
        if let Ok(stream) = upgrade.await {
            Box::pin(serve_bridge(stream, agents, principal, owner)).await;
        }
    });
    let head = [(header::CONNECTION, "upgrade"), (header::UPGRADE, PROTOCOL)];
    (StatusCode::SWITCHING_PROTOCOLS, head).into_response()
}

/// Serves the lines of one bridge until it or the core ends.
async fn serve_bridge(stream: Upgraded, agents: AgentEntry, agent: AgentPrincipal, _owner: ConnectionOwner) {
    let (input, output) = tokio::io::split(TokioIo::new(stream));
    let _bridge = agents.engine.agent_bridge(agent.agent);
    let budget = PipeBudget::new(&agents.requests, agent.agent);
    let AgentEntry { service, parts, .. } = agents;
    let served =
        Box::pin(mcp::server::serve_counted_pipes(service, parts, Some(agent.into()), Some(budget), input, output))
            .await;
    if let Err(error) = served {
        tracing::info!(%error, "the stream of an agent broke off");
    }
}

fn is_upgrade(headers: &HeaderMap) -> bool {
    headers.get(header::UPGRADE).is_some_and(|protocol| protocol.as_bytes().eq_ignore_ascii_case(PROTOCOL.as_bytes()))
}
