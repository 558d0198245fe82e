//! What a pool of plain connections makes of servers that write whatever bytes a test gives them.

use std::sync::Arc;
use std::time::Duration;

use domain::policy::Policy;
use domain::ports::SendPermit;
use engine::runtime::supervisor::Supervisor;
use http::header::HOST;
use http::{HeaderValue, Method, Request, StatusCode};
use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::timeout;

use super::peer::LIMIT;
use crate::upstream::transport::http::plain_connection::{RequestBody, WholeBody};
use crate::upstream::transport::http::plain_pool::{ExchangeError, PlainPool};
use crate::upstream::transport::http::server_response::{PlainResponse, ServerResponse};

/// What the server does with one request.
#[derive(Clone)]
enum Turn {
    /// Reads it, replies and waits for the next.
    Keep(Vec<u8>),
    /// Reads it, replies and closes.
    Close(Vec<u8>),
    /// Replies when the head is there; the body stays unread until the other side closes.
    Early(Vec<u8>),
}

const FINE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine";

fn keep(bytes: &[u8]) -> Turn {
    Turn::Keep(bytes.to_vec())
}

#[derive(Default, Clone, Copy, PartialEq, Eq, Debug)]
struct Counts {
    opened: usize,
    requests: usize,
    closed: usize,
}

struct Server {
    pool: Arc<PlainPool>,
    counts: watch::Receiver<Counts>,
    _supervisor: Supervisor,
}

impl Server {
    /// The turns are taken in order, over all connections.
    async fn new(turns: Vec<Turn>) -> Self {
        Self::with(turns, &Policy::default()).await
    }

    async fn with(turns: Vec<Turn>, policy: &Policy) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let origin = format!("http://{}", listener.local_addr().expect("an address")).parse().expect("an origin");
        let (told, counts) = watch::channel(Counts::default());
        let supervisor = Supervisor::new();
        let turns = Arc::new(Mutex::new(turns.into_iter()));
        let inner = supervisor.scope();
        supervisor.spawn("server", async move {
            while let Ok((socket, _)) = listener.accept().await {
                told.send_modify(|counts| counts.opened += 1);
                let (turns, told) = (Arc::clone(&turns), told.clone());
                inner.spawn("server connection", async move {
                    serve(socket, &turns, &told).await;
                    told.send_modify(|counts| counts.closed += 1);
                });
            }
        });
        let pool = Arc::new(PlainPool::new(origin, policy, &supervisor));
        Self { pool, counts, _supervisor: supervisor }
    }

    async fn until(&self, level: impl Fn(&Counts) -> bool) -> Counts {
        let mut counts = self.counts.clone();
        let reached = timeout(LIMIT, counts.wait_for(|counts| level(counts))).await;
        *reached.expect("it happens in time").expect("the server runs")
    }

    async fn begin(&self, body: &'static [u8]) -> Result<PlainResponse, ExchangeError> {
        let mut request = Request::new(WholeBody::new(Some(RequestBody::new(body.to_vec(), SendPermit::default()))));
        *request.method_mut() = Method::POST;
        request.headers_mut().insert(HOST, HeaderValue::from_static("localhost"));
        timeout(LIMIT, self.pool.send(request)).await.expect("it ends in time")
    }

    /// A request to the end of its response: the status and the body, or what went wrong.
    async fn ask(&self) -> Result<(StatusCode, String), String> {
        let response = self.begin(b"{}").await.map_err(|error| match error {
            ExchangeError::Broken { error, sent } => format!("broken sent={sent} {error}"),
            ExchangeError::Connect(error) => format!("connect {error}"),
            ExchangeError::ConnectTimeout => "timeout".to_owned(),
            ExchangeError::NotPermitted => "not permitted".to_owned(),
        })?;
        let mut response = ServerResponse::Plain(response);
        let mut body = Vec::new();
        let status = response.status();
        let reading = async {
            while let Some(piece) = response.chunk().await.map_err(|error| format!("body {error}"))? {
                body.extend_from_slice(&piece);
            }
            Ok::<_, String>(())
        };
        timeout(LIMIT, reading).await.expect("it ends in time")?;
        Ok((status, String::from_utf8(body).expect("text")))
    }
}

async fn serve(mut socket: TcpStream, turns: &Mutex<std::vec::IntoIter<Turn>>, told: &watch::Sender<Counts>) {
    let mut read = Vec::new();
    loop {
        let Some(end) = until(&mut socket, &mut read, |read| read.windows(4).position(|at| at == b"\r\n\r\n")).await
        else {
            return;
        };
        told.send_modify(|counts| counts.requests += 1);
        let turn = turns.lock().next();
        if let Some(Turn::Early(bytes)) = turn {
            let _ = socket.write_all(&bytes).await;
            let mut rest = vec![0; 1_024];
            told.send_modify(|counts| counts.requests += 1);
            while socket.read(&mut rest).await.is_ok_and(|count| count > 0) {}
            return;
        }
        let head = String::from_utf8_lossy(&read[..end]).to_ascii_lowercase();
        let length = head.split("content-length: ").nth(1).and_then(|rest| rest.split("\r\n").next());
        let length: usize = length.and_then(|length| length.parse().ok()).unwrap_or(0);
        if until(&mut socket, &mut read, |read| (read.len() >= end + 4 + length).then_some(0)).await.is_none() {
            return;
        }
        read.drain(..end + 4 + length);
        let (bytes, goes_on) = match turn {
            Some(Turn::Keep(bytes)) => (bytes, true),
            Some(Turn::Close(bytes)) => (bytes, false),
            Some(Turn::Early(_)) | None => return,
        };
        if socket.write_all(&bytes).await.is_err() || !goes_on {
            return;
        }
    }
}

async fn until(socket: &mut TcpStream, read: &mut Vec<u8>, found: impl Fn(&[u8]) -> Option<usize>) -> Option<usize> {
    loop {
        if let Some(found) = found(read) {
            return Some(found);
        }
        if socket.read_buf(read).await.ok()? == 0 {
            return None;
        }
    }
}

fn fine() -> Result<(StatusCode, String), String> {
    Ok((StatusCode::OK, "fine".into()))
}

#[tokio::test]
async fn one_connection_carries_requests_that_follow_each_other() {
    let server = Server::new(vec![keep(FINE), keep(FINE), keep(FINE)]).await;
    for _ in 0..3 {
        assert_eq!(server.ask().await, fine());
    }
    let counts = server.until(|counts| counts.requests == 3).await;
    assert_eq!(counts.opened, 1, "it was used again");
}

#[tokio::test]
async fn a_connection_that_was_closed_while_idle_is_replaced_and_nothing_is_sent_twice() {
    let server = Server::new(vec![Turn::Close(FINE.to_vec()), keep(FINE)]).await;
    assert_eq!(server.ask().await, fine());
    server.until(|counts| counts.closed == 1).await;
    assert_eq!(server.ask().await, fine(), "over another one");
    assert_eq!(server.until(|counts| counts.opened == 2).await.requests, 2, "each once");
}

#[tokio::test]
async fn what_nobody_asked_for_is_not_taken_for_the_next_answer() {
    let smuggled = [FINE, b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"].concat();
    let server = Server::new(vec![keep(&smuggled), keep(FINE)]).await;
    assert_eq!(server.ask().await, fine());
    assert_eq!(server.ask().await, fine(), "over another connection");
    assert_eq!(server.until(|counts| counts.requests == 2).await.opened, 2, "the first cannot be trusted");
}

#[tokio::test]
async fn a_request_that_was_written_is_never_sent_again() {
    for before in [Vec::new(), vec![keep(FINE)]] {
        let reused = before.len();
        let server = Server::new([before, vec![Turn::Close(Vec::new()), keep(FINE)]].concat()).await;
        for _ in 0..reused {
            assert_eq!(server.ask().await, fine());
        }
        let lost = server.ask().await.expect_err("there is no reply");
        assert!(lost.starts_with("broken sent=true"), "{lost}");
        let counts = server.until(|counts| counts.closed == 1).await;
        assert_eq!((counts.requests, counts.opened), (reused + 1, 1), "once, on the one connection");
    }
}

#[tokio::test]
async fn a_reply_is_read_whatever_frames_it() {
    let cases: [(&str, bool, Result<&str, &str>); 10] = [
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nfi\r\n2;x=y\r\nne\r\n0\r\nX: t\r\n\r\n",
            true,
            Ok("fine"),
        ),
        ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine", true, Ok("fine")),
        (
            "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine",
            true,
            Ok("fine"),
        ),
        ("HTTP/1.0 200 OK\r\nContent-Length: 4\r\n\r\nfine", false, Ok("fine")),
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", true, Ok("")),
        ("HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\nfine", false, Ok("fine")),
        ("HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nfine", false, Err("broken sent=true")),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", false, Err("body ")),
        ("SSH-2.0-OpenSSH_9.2\r\n", false, Err("broken sent=true")),
        ("HTTP/1.1 200 OK\r\nBad Header: x\r\n\r\n", false, Err("broken sent=true")),
    ];
    for (reply, is_reused, wanted) in cases {
        let server = Server::new(vec![keep(reply.as_bytes()), keep(FINE)]).await;
        match (server.ask().await, wanted) {
            (Ok((_, body)), Ok(wanted)) => assert_eq!(body, wanted, "of {reply:?}"),
            (Err(error), Err(wanted)) => assert!(error.starts_with(wanted), "{error} of {reply:?}"),
            (got, wanted) => panic!("{got:?} and not {wanted:?} of {reply:?}"),
        }
        assert_eq!(server.ask().await, fine(), "after {reply:?}");
        let opened = server.until(|counts| counts.requests == 2).await.opened;
        assert_eq!(opened, if is_reused { 1 } else { 2 }, "connections after {reply:?}");
    }
}

#[tokio::test]
async fn a_body_that_ends_early_or_with_its_connection_is_told_apart() {
    let head = "HTTP/1.1 200 OK\r\n";
    let short = format!("{head}Content-Length: 9\r\n\r\nfine");
    let unframed = format!("{head}\r\nfine");
    let cut = format!("{head}Transfer-Encoding: chunked\r\n\r\n9\r\nfine");
    let server = Server::new([short, cut, unframed].map(|reply| Turn::Close(reply.into_bytes())).to_vec()).await;
    for _ in 0..2 {
        let error = server.ask().await.expect_err("it is cut");
        assert!(error.starts_with("body "), "{error}");
    }
    assert_eq!(server.ask().await, fine(), "without a length the end of the connection is the end of the body");
}

#[tokio::test]
async fn heads_are_bounded() {
    let many: String = (0..200).map(|number| format!("X-{number}: y\r\n")).collect();
    let long = format!("X: {}\r\n", "y".repeat(1_000_000));
    for headers in [many, long] {
        let reply = format!("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n{headers}\r\nfine");
        let server = Server::new(vec![Turn::Close(reply.into_bytes())]).await;
        let error = server.ask().await.expect_err("too much");
        assert!(error.starts_with("broken sent=true"), "{error}");
    }
}

#[tokio::test]
async fn a_reply_that_comes_while_the_body_is_written_is_heard() {
    static LARGE: [u8; 8_000_000] = [b' '; 8_000_000];
    let refusal = b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n";
    let server = Server::new(vec![Turn::Early(refusal.to_vec()), keep(FINE)]).await;
    let response = server.begin(&LARGE).await.map(ServerResponse::Plain);
    let response = response.unwrap_or_else(|_| panic!("it was refused in time"));
    assert_eq!(response.status(), StatusCode::PAYLOAD_TOO_LARGE);
    drop(response);
    server.until(|counts| counts.closed == 1).await;
    assert_eq!(server.ask().await, fine(), "the half-written request does not meet the next one");
}

#[tokio::test]
async fn a_response_that_is_dropped_hangs_up() {
    let endless = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n: hello\n\n";
    let server = Server::new(vec![keep(endless)]).await;
    let response = server.begin(b"{}").await.map(ServerResponse::Plain);
    let mut response = response.unwrap_or_else(|_| panic!("a stream begins"));
    assert!(response.chunk().await.is_ok_and(|piece| piece.is_some()), "it says something");
    drop(response);
    server.until(|counts| counts.closed == 1).await;
}

#[tokio::test]
async fn a_request_that_is_dropped_hangs_up() {
    let server = Server::new(vec![keep(b"")]).await;
    tokio::select! {
        _ = server.ask() => panic!("there is no reply"),
        _ = server.until(|counts| counts.requests == 1) => {}
    }
    server.until(|counts| counts.closed == 1).await;
}

#[tokio::test]
async fn each_runtime_has_connections_of_its_own() {
    let server = Arc::new(Server::new(vec![keep(FINE), keep(FINE), keep(FINE)]).await);
    assert_eq!(server.ask().await, fine());
    let other = Arc::clone(&server);
    let elsewhere = tokio::task::spawn_blocking(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(other.ask())
    });
    assert_eq!(elsewhere.await.expect("it ends"), fine());
    assert_eq!(server.ask().await, fine());
    assert_eq!(server.until(|counts| counts.requests == 3).await.opened, 2, "one for each runtime");
}

#[tokio::test]
async fn idle_connections_are_closed_when_nobody_uses_them() {
    let policy = Policy { pool_idle_limit: Duration::from_millis(20), ..Policy::default() };
    let server = Server::with(vec![keep(FINE), keep(FINE)], &policy).await;
    for asked in 1..=2 {
        assert_eq!(server.ask().await, fine());
        server.until(|counts| counts.closed == asked).await;
    }
}

/// Reads one request and replies.
fn answer_one(socket: &mut std::net::TcpStream) {
    use std::io::{Read as _, Write as _};
    let (mut read, mut piece) = (Vec::new(), [0; 1_024]);
    while !read.ends_with(b"\r\n\r\n{}") {
        let bytes = socket.read(&mut piece).expect("readable");
        read.extend_from_slice(piece.get(..bytes).expect("what was read"));
    }
    socket.write_all(FINE).expect("writable");
}

#[tokio::test]
async fn a_connection_that_was_closed_while_this_thread_was_busy_carries_no_request() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let origin = format!("http://{}", listener.local_addr().expect("an address")).parse().expect("an origin");
    let (close, closes) = std::sync::mpsc::channel::<()>();
    let (tell, closed) = std::sync::mpsc::channel();
    let answering = std::thread::spawn(move || {
        let (mut first, _) = listener.accept().expect("a connection");
        answer_one(&mut first);
        closes.recv().expect("the test says when");
        drop(first);
        tell.send(()).expect("the test waits");
        let (mut second, _) = listener.accept().expect("another connection");
        answer_one(&mut second);
    });
    let supervisor = Supervisor::new();
    let pool = Arc::new(PlainPool::new(origin, &Policy::default(), &supervisor));
    let server = Server { pool, counts: watch::channel(Counts::default()).1, _supervisor: supervisor };
    assert_eq!(server.ask().await, Ok((StatusCode::OK, "fine".to_owned())));
    // Nothing here lets the runtime look at its sockets.
    close.send(()).expect("the server waits");
    closed.recv().expect("it is closed");
    let begun = std::time::Instant::now();
    while begun.elapsed() < Duration::from_millis(5) {
        std::hint::spin_loop();
    }
    assert_eq!(server.ask().await, Ok((StatusCode::OK, "fine".to_owned())), "over another connection");
    answering.join().expect("it ran");
}
