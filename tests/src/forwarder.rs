//! The least that can stand between a client and a server over HTTP: bytes in, the same bytes out.
//!
//! The bench measures the gateway against it, and the conformance runner, which cannot send a token, reaches the gateway
//! through it. It changes nothing but the token it is told to add and its own port in `Host` and `Origin`, keeps one
//! connection to the server for each connection of a client, and streams both ways. No retries, no limits: only for tests.

use std::io::Error;
use std::net::SocketAddr;
use std::sync::Arc;

use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{AUTHORIZATION, HOST, HeaderValue, ORIGIN};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Mutex;

/// A running forwarder; stops accepting when dropped.
pub struct Forwarder {
    address: SocketAddr,
    stop: tokio::task::AbortHandle,
}

impl Forwarder {
    /// Starts on a free port in front of `server`; with a token, every request carries it to the server.
    #[expect(clippy::disallowed_methods, reason = "a test server has no supervisor")]
    pub async fn start(server: SocketAddr, token: Option<&str>) -> std::io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let token = token.map(|token| HeaderValue::from_str(&format!("Bearer {token}")).expect("a token is ASCII"));
        let accepting = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let _ = socket.set_nodelay(true);
                tokio::spawn(serve(socket, address, server, token.clone()));
            }
        });
        Ok(Self { address, stop: accepting.abort_handle() })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        self.stop.abort();
    }
}

async fn serve(socket: TcpStream, own: SocketAddr, server: SocketAddr, token: Option<HeaderValue>) {
    let upstream: Arc<Mutex<Option<SendRequest<Incoming>>>> = Arc::default();
    let service = service_fn(move |mut request: Request<Incoming>| {
        let (upstream, token) = (Arc::clone(&upstream), token.clone());
        async move {
            if let Some(token) = token {
                request.headers_mut().insert(AUTHORIZATION, token);
                aim(&mut request, own, server);
            }
            let mut kept = upstream.lock().await;
            let mut sender = match kept.take() {
                Some(mut sender) => match sender.ready().await {
                    Ok(()) => sender,
                    Err(_) => connect(server).await?,
                },
                None => connect(server).await?,
            };
            let response: Response<Incoming> = sender.send_request(request).await.map_err(Error::other)?;
            *kept = Some(sender);
            Ok::<_, Error>(response)
        }
    });
    // A client that hangs up ends its connection, and with it the one to the server.
    let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(socket), service).await;
}

/// A client that means the forwarder means the server; one that names another host goes on naming it.
fn aim(request: &mut Request<Incoming>, own: SocketAddr, server: SocketAddr) {
    let (own, server) = (format!(":{}", own.port()), format!(":{}", server.port()));
    for name in [HOST, ORIGIN] {
        let Some(text) = request.headers().get(&name).and_then(|value| value.to_str().ok()) else { continue };
        if let Ok(value) = HeaderValue::from_str(&text.replace(&own, &server)) {
            request.headers_mut().insert(name, value);
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a test server has no supervisor")]
async fn connect(server: SocketAddr) -> Result<SendRequest<Incoming>, Error> {
    let socket = TcpStream::connect(server).await?;
    socket.set_nodelay(true)?;
    let (sender, connection) = handshake(TokioIo::new(socket)).await.map_err(Error::other)?;
    tokio::spawn(connection);
    Ok(sender)
}
