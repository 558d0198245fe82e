//! The core's door: a unix socket that only its user can open, with the api behind it.
//!
//! `POST /call/NAME` takes and gives JSON; `POST /feed` streams news and `POST /frames` what a window shows, one JSON
//! document a line; `POST /code` gives a one-time code for the browser's door. The kernel says who the peer is
//! (`peer.rs`); other users are refused even if they reach the socket. There is no network here.

mod peer;

use std::convert::Infallible;
use std::fs;
use std::io;
use std::sync::Arc;

use api::{Api, ApiError, CALLS, Code};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{ConnectInfo, DefaultBodyLimit, Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use domain::policy::Hosting;
use engine::supervisor::Supervisor;
use futures::StreamExt as _;
use tokio::net::UnixListener;
use tokio_util::sync::CancellationToken;

use crate::frames;
use crate::paths::Paths;
use crate::reply::{json, refused};
use crate::sign_in::SignIn;
use peer::Peer;

/// What every request needs.
#[derive(Clone)]
struct Behind {
    api: Api,
    sign_in: Arc<SignIn>,
    stop: CancellationToken,
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
    hosting: &Hosting,
    supervisor: &Supervisor,
) {
    let stop = supervisor.stopping();
    let router = Router::new()
        .route("/call/{name}", post(call))
        .route("/feed", post(feed))
        .route("/frames", post(frames))
        .route("/code", post(code))
        .layer(DefaultBodyLimit::max(hosting.call_body_bytes))
        .with_state(Behind { api, sign_in, stop: stop.clone() })
        .into_make_service_with_connect_info::<Peer>();
    supervisor.spawn_draining("socket", async move {
        let served = axum::serve(listener, router).with_graceful_shutdown(stop.cancelled_owned()).await;
        if let Err(error) = served {
            tracing::error!(%error, "the socket of the core ended");
        }
    });
}

async fn call(
    State(behind): State<Behind>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    Path(name): Path<String>,
    body: Bytes,
) -> Response {
    let outcome = async {
        let caller = peer.caller()?;
        let input = std::str::from_utf8(&body).map_err(|_| {
            ApiError::new(Code::Usage, "the input of the call is not UTF-8", "Use the `taskwarden` command line.")
        })?;
        // Who decided through which process; what was decided is in the audit log (ruling 26).
        if CALLS.iter().any(|(known, reads)| *known == name && !reads) {
            tracing::info!(call.name = %name, person = %caller.person, peer.pid = caller.process, "asked at the socket");
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
        let caller = peer.caller()?;
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
        frames::open(&behind.api, &peer.caller()?, input).await
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
    match peer.caller().and_then(|caller| behind.sign_in.invite(&caller)) {
        Ok(invitation) => json(serde_json::to_string(&invitation).unwrap_or_default()),
        Err(error) => refused(&error),
    }
}
