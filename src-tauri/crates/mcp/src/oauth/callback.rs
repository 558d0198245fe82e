//! The address on this machine that the browser comes back to, while a sign-in waits.
//!
//! It listens on loopback alone and answers with pages that are always the same, whatever was asked. Whether an address
//! belongs to the sign-in is judged where it waits (`browser.rs`); others, such as those of a page that guesses the port,
//! change nothing.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::body::Body;
use domain::policy::SignInPolicy;
use domain::ports::SignInFault;
use engine::runtime::supervisor::Supervisor;
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, REFERRER_POLICY};
use http::{Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::faults::fault;

/// The path of the address.
const PATH: &str = "/callback";

/// A browser ended here.
pub(crate) struct Callback {
    /// The whole address, with its parameters: secret.
    pub(crate) address: String,
    /// Told to whoever brought it.
    pub(crate) end: oneshot::Sender<CallbackEnd>,
}

/// What became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallbackEnd {
    SignedIn,
    Failed,
    /// It does not belong to the sign-in that waits.
    NotOurs,
}

/// A socket that listens, before anybody knows of it.
pub(crate) struct CallbackAddress {
    listener: TcpListener,
    pub(crate) port: u16,
}

impl CallbackAddress {
    /// Takes this port; zero is any.
    pub(crate) async fn bind(port: u16) -> Result<Self, SignInFault> {
        let taken = |error: std::io::Error| {
            fault(
                format!("port {port} of this machine cannot be used for the browser to come back to: {error}"),
                "Choose another port with `--port`, one that the place to sign in knows for Taskwarden.",
            )
        };
        let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await.map_err(taken)?;
        let port = listener.local_addr().map_err(taken)?.port();
        Ok(Self { listener, port })
    }

    /// What the browser is sent back to.
    pub(crate) fn redirect(&self) -> String {
        format!("http://127.0.0.1:{}{PATH}", self.port)
    }

    /// Listens until the token is cancelled; hands over each address that a browser brings.
    pub(crate) fn listen(
        self,
        to: mpsc::Sender<Callback>,
        over: CancellationToken,
        policy: &SignInPolicy,
        supervisor: &Supervisor,
    ) {
        let (redirect, limit, bytes) = (self.redirect(), policy.callback_limit, policy.callback_bytes);
        let room = Arc::new(Semaphore::new(policy.callback_connections));
        let inner = supervisor.clone();
        supervisor.spawn("sign-in callback", async move {
            loop {
                // Programs that only hold connections wait for each other, and are closed by the limit.
                let Ok(place) = Arc::clone(&room).acquire_owned().await else { return };
                let accepted = tokio::select! {
                    () = over.cancelled() => return,
                    accepted = self.listener.accept() => accepted,
                };
                let Ok((socket, _)) = accepted else {
                    // Such as no more open files: it is no reason to give up, and none to ask again at once.
                    tokio::select! {
                        () = over.cancelled() => return,
                        () = sleep(limit) => continue,
                    }
                };
                let (to, over, redirect) = (to.clone(), over.clone(), redirect.clone());
                inner.spawn("sign-in callback connection", async move {
                    let _place = place;
                    let serving = serve(socket, to, &redirect, bytes, limit);
                    tokio::select! {
                        () = serving => {}
                        // What is being answered is answered.
                        () = async { over.cancelled().await; sleep(limit).await } => {}
                    }
                });
            }
        });
    }
}

async fn serve(
    socket: TcpStream,
    to: mpsc::Sender<Callback>,
    redirect: &str,
    bytes: usize,
    limit: std::time::Duration,
) {
    let service = service_fn(|request: Request<Incoming>| {
        let to = to.clone();
        async move { Ok::<_, Infallible>(answer(&request, redirect, bytes, &to).await) }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(limit).max_buf_size(bytes.max(MIN_BUFFER)).keep_alive(false);
    // A browser that goes away, or what is no browser, is nobody's fault.
    let _ = builder.serve_connection(TokioIo::new(socket), service).await;
}

/// The least that the library takes.
const MIN_BUFFER: usize = 8_192;

async fn answer(
    request: &Request<Incoming>,
    redirect: &str,
    bytes: usize,
    to: &mpsc::Sender<Callback>,
) -> Response<Body> {
    let Some(query) = request.uri().query().filter(|_| request.uri().path() == PATH) else {
        return page(StatusCode::NOT_FOUND, NOTHING);
    };
    if request.method() != Method::GET {
        return page(StatusCode::METHOD_NOT_ALLOWED, NOTHING);
    }
    if query.len() > bytes {
        return page(StatusCode::URI_TOO_LONG, NOTHING);
    }
    let (end, ended) = oneshot::channel();
    let callback = Callback { address: format!("{redirect}?{query}"), end };
    if to.send(callback).await.is_err() {
        return page(StatusCode::GONE, OVER);
    }
    match ended.await {
        Ok(CallbackEnd::SignedIn) => page(StatusCode::OK, DONE),
        Ok(CallbackEnd::Failed) => page(StatusCode::BAD_REQUEST, FAILED),
        Ok(CallbackEnd::NotOurs) => page(StatusCode::BAD_REQUEST, NOT_OURS),
        Err(_) => page(StatusCode::GONE, OVER),
    }
}

const DONE: &str = "You are signed in. You can close this page.";
const FAILED: &str = "The sign-in did not work. Taskwarden says why. You can close this page.";
const NOTHING: &str = "There is nothing here.";
const NOT_OURS: &str = "This link does not belong to the sign-in that is waiting, which goes on waiting. Open the whole \
                        address that Taskwarden shows for it, in this browser. You can close this page.";
const OVER: &str = "This sign-in is over. Begin it again in Taskwarden.";

/// A page with one sentence. Nothing of a request is in it.
fn page(status: StatusCode, sentence: &'static str) -> Response<Body> {
    let html = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"color-scheme\" content=\"light dark\">\
         <title>Taskwarden</title><body style=\"font:1.1rem system-ui;margin:20vh auto;max-width:32rem;padding:0 1rem\">\
         <h1 style=\"font-size:1.3rem\">Taskwarden</h1><p>{sentence}</p></body></html>"
    );
    let mut response = Response::new(Body::from(html));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// The address of the page holds a code: it goes nowhere, and nothing else is loaded.
const HEADERS: [(HeaderName, &str); 4] = [
    (CONTENT_TYPE, "text/html; charset=utf-8"),
    (CACHE_CONTROL, "no-store"),
    (REFERRER_POLICY, "no-referrer"),
    (CONTENT_SECURITY_POLICY, "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"),
];
