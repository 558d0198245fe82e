//! The core's door: a unix socket that only its user can open, with the api behind it.
//!
//! `POST /call/NAME` takes and gives JSON; `POST /feed` streams news, one JSON document a line. The kernel says who the
//! peer is (`peer.rs`); other users are refused even if they reach the socket. There is no network here.

mod peer;

use std::convert::Infallible;
use std::fs;
use std::io;

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

use crate::paths::Paths;
use peer::Peer;

/// What every request needs.
#[derive(Clone)]
struct Behind {
    api: Api,
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
pub(crate) fn serve(listener: UnixListener, api: Api, hosting: &Hosting, supervisor: &Supervisor) {
    let stop = supervisor.stopping();
    let router = Router::new()
        .route("/call/{name}", post(call))
        .route("/feed", post(feed))
        .layer(DefaultBodyLimit::max(hosting.call_body_bytes))
        .with_state(Behind { api, stop: stop.clone() })
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
        Ok(text) => (StatusCode::OK, [(header::CONTENT_TYPE, "application/json")], text).into_response(),
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

fn refused(error: &ApiError) -> Response {
    let status = match error.code {
        Code::Usage => StatusCode::BAD_REQUEST,
        Code::NotFound => StatusCode::NOT_FOUND,
        Code::Refused => StatusCode::FORBIDDEN,
        Code::NeedsInput => StatusCode::CONFLICT,
        Code::TimedOut => StatusCode::GATEWAY_TIMEOUT,
        Code::NoCore => StatusCode::SERVICE_UNAVAILABLE,
        Code::Failed => StatusCode::INTERNAL_SERVER_ERROR,
    };
    let text = serde_json::to_string(error).unwrap_or_default();
    (status, [(header::CONTENT_TYPE, "application/json")], text).into_response()
}
