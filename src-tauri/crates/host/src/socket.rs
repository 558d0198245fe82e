//! The core's door: a unix socket that only its user can open, with the api and the gateway behind it.
//!
//! `POST /call/NAME` takes and gives JSON; `POST /feed` streams news and `POST /frames` what a window shows, one JSON
//! document a line; `POST /code` gives a one-time code for the browser's door; `POST /agent` becomes a stream of lines
//! for a bridge whose agent has shown its token. The kernel says who the peer is
//! (`peer.rs`); other users are refused even if they reach the socket. There is no network here.

mod ancestry;
mod peer;
pub(crate) mod process_table;

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
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::agents::{AgentDoor, NotLetIn};
use crate::files;
use crate::frames;
use crate::http::line::Limits;
use crate::http::listen::{self, Accept};
use crate::paths::Paths;
use crate::reply::{json, refused};
use crate::request_budget::{ConnectionOwner, CountedPipe, Holder, RequestBudget, too_many_connections};
use crate::sign_in::SignIn;
use ancestry::Ancestry;
pub(crate) use ancestry::Starters;
use peer::Peer;
use process_table::ProcessTable;

/// What a stream of a bridge is upgraded to.
pub(crate) const PROTOCOL: &str = "taskwarden-agent";
/// Names the agent, so that a token of another one is noticed.
pub(crate) const AGENT_HEADER: &str = "x-taskwarden-agent";
/// Names the one server that is wanted; without it all are.
pub(crate) const SERVER_HEADER: &str = "x-taskwarden-server";

/// What every request needs.
#[derive(Clone)]
struct Behind {
    api: Api,
    sign_in: Arc<SignIn>,
    agents: AgentDoor,
    streams: Arc<Semaphore>,
    ancestry: Arc<Ancestry>,
    supervisor: Supervisor,
    stop: CancellationToken,
}

/// What a core's proof of persons begins with.
pub(crate) struct Starting {
    /// Whether what started a bridge is an agent's as well.
    pub(crate) is_strict: bool,
    /// What started the core, when it is no child of that any more.
    pub(crate) starters: Option<Starters>,
}

/// Opens the door. A socket left by a core that was killed is replaced: the lock says that nobody else serves it.
///
/// # Errors
/// When the socket cannot be made.
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

/// Serves the api until the scope ends; calls in work are finished, feeds are ended.
pub(crate) fn serve(
    listener: UnixListener,
    api: Api,
    sign_in: Arc<SignIn>,
    agents: AgentDoor,
    starting: Starting,
    supervisor: &Supervisor,
) {
    let stop = supervisor.stopping();
    let policy = &agents.parts.policy;
    let (hosting, mut limits) = (policy.hosting.clone(), Limits::of(policy, files::raise_limit()));
    let (requests, gauges) = (agents.requests.clone(), agents.engine.gauges().clone());
    let processes_max = hosting.doorway.agent_processes_max;
    let Starting { is_strict, starters } = starting;
    let mut ancestry = Ancestry::new(ProcessTable::of_system(), std::process::id(), processes_max, is_strict);
    if let Some(starters) = starters {
        ancestry.set_detached(starters);
    }
    let behind = Behind {
        api,
        sign_in,
        agents,
        streams: Arc::new(Semaphore::new(hosting.doorway.streams_max)),
        ancestry: Arc::new(ancestry),
        supervisor: supervisor.clone(),
        stop: stop.clone(),
    };
    let router = Router::new()
        .route("/call/{name}", post(call))
        .route("/feed", post(feed))
        .route("/frames", post(frames))
        .route("/code", post(code))
        .layer(DefaultBodyLimit::max(hosting.call_body_bytes))
        .route("/agent", post(agent))
        .layer(middleware::from_fn_with_state(requests, of_a_person))
        .with_state(behind);
    limits.connections_max = limits.connections_max.min(hosting.doorway.streams_max);
    let open = listen::serve(listener, router, limits, supervisor);
    listen::register(&open, "connections at the core's socket", &gauges);
}

/// Counts the body of a request at the socket. What an agent says on its stream is no body.
async fn of_a_person(State(requests): State<RequestBudget>, request: Request, next: Next) -> Response {
    requests.run(Holder::Person, request, next).await
}

impl Accept for UnixListener {
    type Stream = UnixStream;
    type Peer = Peer;

    async fn next(&self) -> io::Result<(UnixStream, Option<Peer>)> {
        let (stream, _) = self.accept().await?;
        let peer = Peer::of(&stream);
        // Nothing is read from another user, and nothing is answered.
        let peer = Some(peer).filter(|peer| peer.is_of_our_user());
        Ok((stream, peer))
    }

    async fn heard(stream: &UnixStream) -> io::Result<()> {
        stream.readable().await
    }
}

async fn call(
    State(behind): State<Behind>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    Path(name): Path<String>,
    body: Bytes,
) -> Response {
    let outcome = async {
        let caller = peer.caller(&behind.ancestry)?;
        let input = std::str::from_utf8(&body).map_err(|_| {
            ApiError::new(Code::Usage, "the input of the call is not UTF-8", "Use the `taskwarden` command line.")
        })?;
        // Who decided through which process; what was decided is in the audit log (ruling 26).
        if CALLS.iter().any(|(known, ability)| *known == name && ability.changes()) {
            tracing::info!(call.name = %name, person = %caller.person, origin = %peer.origin(), "asked at the socket");
        }
        behind.api.dispatch(&caller, &name, input).await
    };
    match outcome.await {
        Ok(text) => json(text),
        Err(error) => refused(&error),
    }
}

async fn feed(State(behind): State<Behind>, ConnectInfo(peer): ConnectInfo<Peer>, body: Bytes) -> Response {
    let news = async {
        let caller = peer.caller(&behind.ancestry)?;
        let wanted = serde_json::from_slice(&body).map_err(|error| ApiError::bad_input(&error))?;
        behind.api.subscribe(&caller, wanted).await
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
                .take_until(behind.stop.clone().cancelled_owned());
            let head = [(header::CONTENT_TYPE, "application/x-ndjson")];
            (StatusCode::OK, head, Body::from_stream(lines)).into_response()
        }
        Err(error) => refused(&error),
    }
}

async fn frames(State(behind): State<Behind>, ConnectInfo(peer): ConnectInfo<Peer>, body: Bytes) -> Response {
    let opened = async {
        let input = std::str::from_utf8(&body)
            .map_err(|_| ApiError::new(Code::Usage, "the input of the feed is not UTF-8", "Restart the window."))?;
        frames::open(&behind.api, &peer.caller(&behind.ancestry)?, input).await
    };
    match opened.await {
        Ok(lines) => {
            let lines = frames::as_bytes(lines).take_until(behind.stop.clone().cancelled_owned());
            let head = [(header::CONTENT_TYPE, "application/x-ndjson")];
            (StatusCode::OK, head, Body::from_stream(lines.map(Ok::<_, Infallible>))).into_response()
        }
        Err(error) => refused(&error),
    }
}

/// A code makes its bearer the person: only a person gets one, never what a server started.
async fn code(State(behind): State<Behind>, ConnectInfo(peer): ConnectInfo<Peer>) -> Response {
    match peer.caller(&behind.ancestry).and_then(|caller| behind.sign_in.invite(&caller)) {
        Ok(invitation) => json(serde_json::to_string(&invitation).unwrap_or_default()),
        Err(error) => refused(&error),
    }
}

/// A bridge: its stream is the agent's from now on, and what it descends from is known as an agent's.
async fn agent(State(behind): State<Behind>, ConnectInfo(peer): ConnectInfo<Peer>, mut request: Request) -> Response {
    let headers = request.headers();
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let wanted = (header("authorization"), header(AGENT_HEADER), header(SERVER_HEADER));
    let visit = peer.caller(&behind.ancestry).and_then(|_| {
        if let Some(process) = peer.process() {
            // Also one that is refused below: it came as a bridge.
            behind.ancestry.remember(process);
        }
        let (authorization, named, server) = wanted;
        let let_in = behind.agents.agent(authorization).and_then(|agent| {
            let is_named =
                behind.agents.engine.agents().get(agent).is_some_and(|known| named.is_none_or(|n| n == known.name));
            if !is_named {
                return Err(NotLetIn::WrongToken);
            }
            behind.agents.visit(agent, server)
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
    let Ok(place) = Arc::clone(&behind.streams).try_acquire_owned() else {
        return StatusCode::TOO_MANY_REQUESTS.into_response();
    };
    let agents = behind.agents.clone();
    let owner = ConnectionOwner::default();
    if !owner.claim(&agents.requests, principal.agent) {
        return too_many_connections();
    }
    behind.supervisor.spawn_draining("agent stream", async move {
        let (_place, _owner) = (place, owner);
        let Ok(stream) = upgrade.await else { return };
        let (input, output) = tokio::io::split(TokioIo::new(stream));
        let _bridge = agents.engine.agent_bridge(principal.agent);
        let input = CountedPipe::new(input, &agents.requests, principal.agent);
        let served = mcp::server::serve_pipes(agents.service, agents.parts, Some(principal), input, output).await;
        if let Err(error) = served {
            tracing::info!(%error, "the stream of an agent broke off");
        }
    });
    let head = [(header::CONNECTION, "upgrade"), (header::UPGRADE, PROTOCOL)];
    (StatusCode::SWITCHING_PROTOCOLS, head).into_response()
}

fn is_upgrade(headers: &HeaderMap) -> bool {
    headers.get(header::UPGRADE).is_some_and(|protocol| protocol.as_bytes().eq_ignore_ascii_case(PROTOCOL.as_bytes()))
}
