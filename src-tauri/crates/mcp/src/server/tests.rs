//! The faces alone, with a service that knows nothing of tools: what they promise whoever stands behind them.
//!
//! The front over a real desk is tested in the demo crate, where there is one.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use domain::policy::Policy;
use domain::ports::PortFuture;
use engine::runtime::supervisor::Supervisor;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, ReadBuf};

use super::session::{Session, SessionStart, SessionTransport};
use super::stdio::line_reader::{self, ClientLine};
use super::stream_writer::StreamWriter;
use super::{
    Client, ClientRequestError, LineBudget, LineBytes, RawResult, Request, ResponseStream, ServerParts, Service,
    serve_counted_pipes, serve_pipes,
};
use crate::server::request_params::RequestParams;
use crate::server::rpc_error::RequestError;
use crate::wire::message::Id;

/// Gives params back as they came.
struct Echo;

impl Service for Echo {
    fn request(
        &self,
        _client: Client,
        request: Request,
        _seat: ResponseStream,
    ) -> PortFuture<'_, Result<RawResult, RequestError>> {
        Box::pin(async move { request.params.into_raw().map(RawResult::Raw).ok_or_else(RequestError::no_method) })
    }

    fn is_busy(&self, _session: &Session) -> bool {
        false
    }

    fn session_over(&self, _session: &Session) {}
}

fn parts() -> ServerParts {
    ServerParts { policy: Policy::default(), draw: Arc::new(|| 7), supervisor: Supervisor::new(), key: None }
}

fn session(door: SessionTransport) -> Arc<Session> {
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}}).to_string();
    let hello = RequestParams::open(Some(RawValue::from_string(hello).expect("JSON"))).expect("an object");
    let serving = &Policy::default().serving;
    let opening = SessionStart::read("s".to_owned(), &hello, None).expect("a greeting");
    Session::open(opening, door, Supervisor::new(), serving)
}

#[tokio::test]
async fn what_is_forwarded_keeps_its_order_and_the_spelling_of_its_numbers() {
    let meta = "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\
                \"io.modelcontextprotocol/clientCapabilities\":{}}";
    let params = format!("{{\"z\":1.50,\"a\":123456789012345678901234567890,\"b\":1e2,\"z2\":\"\\u00e4\",{meta}}}");
    let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"any\",\"params\":{params}}}\n");
    let (ours, theirs) = tokio::io::duplex(64 * 1_024);
    let (input, output) = tokio::io::split(theirs);
    let (answers, mut requests) = tokio::io::split(ours);
    let client = async {
        requests.write_all(line.as_bytes()).await.expect("the server reads");
        let answer = BufReader::new(answers).lines().next_line().await.expect("a pipe").expect("an answer");
        requests.shutdown().await.expect("the end");
        answer
    };
    let (served, answer) = tokio::join!(serve_pipes(Arc::new(Echo), parts(), None, input, output), client);
    served.expect("the pipe was whole");
    assert_eq!(answer, format!("{{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":{params}}}"), "byte for byte");
}

/// One request and many notifications, all of them there at once.
struct Flood {
    lines: Vec<u8>,
    at: Arc<AtomicUsize>,
}

/// Notes how much of the flood was read before the first answer.
struct FirstAnswer {
    at: Arc<AtomicUsize>,
    seen: Option<usize>,
}

impl AsyncRead for Flood {
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<std::io::Result<()>> {
        let at = self.at.load(Ordering::Relaxed);
        let end = (at + 4_096.min(buf.remaining())).min(self.lines.len());
        buf.put_slice(&self.lines[at..end]);
        self.at.store(end, Ordering::Relaxed);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for FirstAnswer {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<std::io::Result<usize>> {
        let at = self.at.load(Ordering::Relaxed);
        self.seen.get_or_insert(at);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[tokio::test]
async fn a_client_that_never_stops_sending_is_answered_meanwhile() {
    let request = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#;
    let notification = "\n{\"jsonrpc\":\"2.0\",\"method\":\"notifications/any\"}".repeat(20_000);
    let lines = format!("{request}{notification}").into_bytes();
    let (all, at) = (lines.len(), Arc::<AtomicUsize>::default());
    let mut output = FirstAnswer { at: Arc::clone(&at), seen: None };
    let serving = Box::pin(serve_pipes(Arc::new(Echo), parts(), None, Flood { lines, at }, &mut output));
    serving.await.expect("the pipe was whole");
    let seen = output.seen.expect("an answer");
    assert!(seen < all / 2, "after {seen} of {all} bytes");
}

#[tokio::test]
async fn what_is_in_work_at_the_end_of_input_is_still_answered() {
    let line =
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\"}}";
    let mut said = Vec::new();
    let serving = Box::pin(serve_pipes(Arc::new(Echo), parts(), None, &line[..], &mut said));
    serving.await.expect("the pipe was whole");
    let answer: Value = serde_json::from_slice(&said).expect("one answer, though no line break ended the request");
    assert_eq!(answer["result"]["protocolVersion"], "2025-11-25");
}

#[tokio::test]
async fn long_lines_are_skipped_and_their_ids_kept_however_they_are_cut() {
    let mut policy = Policy::default();
    policy.serving.body_cap_bytes = 100;
    let long = format!("{{\"method\":\"m\",\"params\":{{\"id\":1,\"x\":\"{}\"}},\"id\":\"me\"}}", "y".repeat(500));
    let reply = format!("{{\"result\":\"{}\",\"id\":5}}", "y".repeat(500));
    let text = format!("short\n{long}\n{reply}\n\nlast");
    for piece in [1, 7, 64, 4_096] {
        let mut input = BufReader::with_capacity(piece, text.as_bytes());
        let mut seen = Vec::new();
        while let Some((line, _)) = line_reader::next(&mut input, &policy, None).await.expect("bytes do not break") {
            let of = |id: Option<Id>| id.map_or("nobody's".to_owned(), |id| id.json());
            seen.push(match line {
                ClientLine::Text(text) => String::from_utf8(text).expect("text"),
                ClientLine::TooLong(id) => format!("too long: {}", of(id)),
                ClientLine::NoRoom(id) => format!("no room: {}", of(id)),
            });
        }
        let expected = ["short", "too long: \"me\"", "too long: nobody's", "", "last"];
        assert_eq!(seen, expected, "in pieces of {piece} bytes");
    }
}

#[tokio::test]
async fn a_question_is_withdrawn_when_nobody_waits_and_a_late_reply_is_dropped() {
    let session = session(SessionTransport::Stdio);
    let (writer, mut frames) = StreamWriter::open();
    session.stand(writer);
    let params = json!({"message": "?"});
    let asking = session.ask("elicitation/create", &params);
    assert!(tokio::time::timeout(std::time::Duration::ZERO, asking).await.is_err(), "nobody replied");
    let asked: Value = serde_json::from_slice(&frames.recv().await.expect("the question").bytes).expect("JSON");
    let withdrawn: Value = serde_json::from_slice(&frames.recv().await.expect("and back").bytes).expect("JSON");
    assert_eq!(withdrawn["method"], "notifications/cancelled");
    assert_eq!(withdrawn["params"]["requestId"], asked["id"], "the same one");
    let late = crate::wire::message::Answer::Result(RawValue::from_string("{}".to_owned()).expect("JSON"));
    session.asks().deliver(&Id::from(1), late);
    assert!(session.asks().is_empty(), "nothing is kept of it");
}

#[tokio::test]
async fn a_question_without_a_stream_is_not_lost_silently() {
    let session = session(SessionTransport::Http);
    assert_eq!(session.ask("elicitation/create", &json!({})).await, Err(ClientRequestError::Gone), "there is none");
    let (writer, frames) = StreamWriter::open();
    session.stand(writer);
    let params = json!({});
    let asking = session.ask("elicitation/create", &params);
    let closing = async { drop(frames) };
    let (asked, ()) = tokio::join!(asking, closing);
    assert_eq!(asked, Err(ClientRequestError::Gone), "its stream went away");
}

#[tokio::test]
async fn a_newer_standing_stream_ends_the_older_one() {
    let session = session(SessionTransport::Http);
    let (first, mut first_frames) = StreamWriter::open();
    session.stand(first);
    let (second, mut second_frames) = StreamWriter::open();
    session.stand(second);
    assert!(first_frames.recv().await.is_none(), "the older one ended");
    session.notify("notifications/x", &json!({})).await.expect("somebody listens");
    assert!(second_frames.recv().await.is_some(), "on the newer one");
    session.leave();
    assert!(second_frames.recv().await.is_none(), "a session that is over says nothing more");
}

/// Room for so many bytes of lines.
struct Room(Arc<AtomicUsize>);

/// What one line took of it.
struct Taken {
    room: Arc<AtomicUsize>,
    bytes: AtomicUsize,
}

impl LineBudget for Room {
    fn begin_line(&self) -> Arc<dyn LineBytes> {
        Arc::new(Taken { room: Arc::clone(&self.0), bytes: AtomicUsize::new(0) })
    }
}

impl LineBytes for Taken {
    fn grow(&self, bytes: usize) -> bool {
        let taken = self.room.fetch_update(Ordering::AcqRel, Ordering::Acquire, |room| room.checked_sub(bytes));
        if taken.is_ok() {
            self.bytes.fetch_add(bytes, Ordering::AcqRel);
        }
        taken.is_ok()
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.room.fetch_add(*self.bytes.get_mut(), Ordering::AcqRel);
    }
}

/// Answers each request once it is released.
struct Waits(Arc<tokio::sync::Semaphore>);

impl Service for Waits {
    fn request(
        &self,
        _client: Client,
        _request: Request,
        _seat: ResponseStream,
    ) -> PortFuture<'_, Result<RawResult, RequestError>> {
        Box::pin(async move {
            self.0.acquire().await.expect("it is open").forget();
            Ok(RawValue::from_string("{}".to_owned()).expect("JSON").into())
        })
    }

    fn is_busy(&self, _session: &Session) -> bool {
        false
    }

    fn session_over(&self, _session: &Session) {}
}

/// A modern request whose line has at least so many bytes.
fn request_line(id: u32, bytes: usize) -> String {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({"_meta": meta, "x": "y".repeat(bytes)});
    format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "method": "any", "params": params}))
}

#[tokio::test]
async fn the_bytes_of_a_line_count_until_the_work_on_it_ends_and_a_request_without_room_is_refused() {
    const ROOM: usize = 300_000;
    let (room, released) = (Arc::new(AtomicUsize::new(ROOM)), Arc::new(tokio::sync::Semaphore::new(0)));
    let (theirs, ours) = tokio::io::duplex(1 << 20);
    let (input, output) = tokio::io::split(ours);
    let (service, budget) = (Arc::new(Waits(Arc::clone(&released))), Arc::new(Room(Arc::clone(&room))));
    let client = async {
        let (reads, mut writes) = tokio::io::split(theirs);
        let mut answers = BufReader::new(reads).lines();
        let mut next = async || {
            let line = answers.next_line().await.expect("readable").expect("an answer");
            serde_json::from_str::<Value>(&line).expect("JSON")
        };
        // Two fit. The third is too much, whether it is long or short.
        for (id, bytes) in [(1, 100_000), (2, 150_000), (3, 100_000), (4, 60_000)] {
            writes.write_all(request_line(id, bytes).as_bytes()).await.expect("written");
        }
        for id in [3, 4] {
            let refused = next().await;
            let why = refused["error"]["message"].as_str().unwrap_or_default();
            assert!(refused["id"] == id && why.contains("all the memory they may use"), "{refused}");
        }
        assert!(room.load(Ordering::Acquire) < 50_000, "the work on two lines goes on");
        // What begins no work is taken all the same: nothing is said of it.
        let answer = format!("{}\n", json!({"jsonrpc": "2.0", "id": 9, "result": {"x": "y".repeat(60_000)}}));
        writes.write_all(answer.as_bytes()).await.expect("written");
        released.add_permits(1);
        assert!(next().await["result"].is_object(), "the first is answered");
        writes.write_all(request_line(5, 60_000).as_bytes()).await.expect("written");
        released.add_permits(2);
        let both = [next().await["id"].clone(), next().await["id"].clone()];
        assert!(both.contains(&json!(2)) && both.contains(&json!(5)), "there was room for another one: {both:?}");
    };
    let served = serve_counted_pipes(service, parts(), None, Some(budget), input, output);
    let (served, ()) = tokio::join!(served, client);
    served.expect("the pipe was whole");
    assert_eq!(room.load(Ordering::Acquire), ROOM, "all of it is given back");
}
