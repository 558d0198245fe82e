//! The core's door: a unix socket that only its user can open, with the api behind it.
//!
//! `POST /call/NAME` takes and gives JSON; `GET /feed` streams news, one JSON document a line. The kernel says who the
//! peer is (`peer.rs`); other users are refused even if they reach the socket. There is no network here.

mod peer;

use std::convert::Infallible;
use std::fs;
use std::io;

use api::news::Subscribe;
use api::{Api, ApiError, Caller, Code};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{ConnectInfo, DefaultBodyLimit, Path, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use domain::policy::Hosting;
use engine::supervisor::Supervisor;
use futures::StreamExt as _;
use serde::Deserialize;
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
        .route("/feed", get(feed))
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
        behind.api.dispatch(&caller, &name, input).await
    };
    match outcome.await {
        Ok(text) => (StatusCode::OK, [(header::CONTENT_TYPE, "application/json")], text).into_response(),
        Err(error) => refused(&error),
    }
}

/// What `GET /feed` may ask for.
#[derive(Debug, Deserialize)]
struct FeedQuery {
    /// Handles, separated by commas.
    #[serde(default)]
    tasks: String,
    #[serde(default)]
    after: Option<u64>,
}

async fn feed(
    State(behind): State<Behind>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    Query(query): Query<FeedQuery>,
) -> Response {
    let wanted = Subscribe {
        tasks: query.tasks.split(',').filter(|id| !id.is_empty()).map(str::to_owned).collect(),
        after: query.after,
    };
    let news = match peer.caller() {
        Ok(caller) => subscribed(&behind.api, &caller, wanted).await,
        Err(error) => Err(error),
    };
    match news {
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

async fn subscribed(
    api: &Api,
    caller: &Caller,
    wanted: Subscribe,
) -> Result<futures::stream::BoxStream<'static, Result<api::news::News, ApiError>>, ApiError> {
    api.subscribe(caller, wanted).await
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
