//! Requests on the task of their connection, and how they leave it.

use std::future::pending;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use domain::policy::Policy;
use domain::ports::PortFuture;
use engine::runtime::supervisor::Supervisor;
use futures::FutureExt;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::*;
use crate::server::{CancelReason, RawResult, ResponseStream};

type Answering = PortFuture<'static, Result<RawResult, RequestError>>;

/// A service that does what the test says, and counts what the transport refused.
struct Scripted<F>(F, Arc<AtomicUsize>);

impl<F: Fn(ResponseStream) -> Answering + Send + Sync + 'static> Service for Scripted<F> {
    fn request(
        &self,
        _client: Client,
        request: Request,
        seat: ResponseStream,
    ) -> PortFuture<'_, Result<RawResult, RequestError>> {
        if request.method == "initialize" {
            return Box::pin(async { done() });
        }
        (self.0)(seat)
    }

    fn refused(&self, _client: Client, _request: Request, _fault: &RequestError) {
        self.1.fetch_add(1, Ordering::AcqRel);
    }

    fn is_busy(&self, _session: &Session) -> bool {
        false
    }

    fn session_over(&self, _session: &Session) {}
}

fn done() -> Result<RawResult, RequestError> {
    Ok(RawValue::from_string(r#"{"ok":true}"#.to_owned()).expect("JSON").into())
}

/// An endpoint before this service, and its scope.
fn endpoint<F: Fn(ResponseStream) -> Answering + Send + Sync + 'static>(answer: F) -> (HttpEndpoint, Supervisor) {
    endpoint_counting(answer, Arc::default())
}

fn endpoint_counting<F: Fn(ResponseStream) -> Answering + Send + Sync + 'static>(
    answer: F,
    refused: Arc<AtomicUsize>,
) -> (HttpEndpoint, Supervisor) {
    let supervisor = Supervisor::new();
    let scope = supervisor.clone();
    let parts = ServerParts { policy: Policy::default(), draw: Arc::new(|| 7), supervisor, key: None };
    (HttpEndpoint::new(Arc::new(Scripted(answer, refused)), parts, ([127, 0, 0, 1], 7).into()), scope)
}

fn head(headers: &[(&str, &str)]) -> Head {
    let mut request = HttpRequest::post("/mcp");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(()).expect("a request").into_parts().0
}

async fn post(endpoint: &HttpEndpoint, head: &Head, message: &Value) -> Response<ReplyBody> {
    let body = Body::from(message.to_string());
    endpoint.post(head, body, RequestSender::default()).await
}

/// A modern request.
async fn ask(endpoint: &HttpEndpoint) -> Response<ReplyBody> {
    let head = head(&[("mcp-protocol-version", version::MODERN[0]), ("mcp-method", "any")]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": version::MODERN[0],
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    post(endpoint, &head, &json!({"jsonrpc": "2.0", "id": 1, "method": "any", "params": {"_meta": meta}})).await
}

/// The head of requests of a new session.
async fn session(endpoint: &HttpEndpoint) -> Head {
    session_of(endpoint, "2025-11-25").await
}

async fn session_of(endpoint: &HttpEndpoint, version: &str) -> Head {
    let hello = json!({"protocolVersion": version, "capabilities": {}});
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello});
    let opened = post(endpoint, &head(&[]), &hello).await;
    let name = opened.headers().get(SESSION_HEADER).expect("a session").to_str().expect("a name");
    head(&[(SESSION_HEADER.as_str(), name)])
}

fn request() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "any"})
}

async fn text(response: Response<ReplyBody>) -> String {
    let body = axum::body::to_bytes(Body::new(response.into_body()), usize::MAX).await.expect("a body");
    String::from_utf8(body.to_vec()).expect("a text")
}

fn kind(response: &Response<ReplyBody>) -> &str {
    response.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default()
}

#[tokio::test(start_paused = true)]
async fn a_quick_request_is_answered_as_json_without_a_task_of_its_own() {
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let most = Arc::new(Mutex::new(0));
    let seen = Arc::clone(&most);
    let (endpoint, _scope) = endpoint(move |_seat| {
        let seen = Arc::clone(&seen);
        Box::pin(async move {
            // Not at the first turn: the work waits for its server.
            tokio::task::yield_now().await;
            *seen.lock() = tasks();
            done()
        })
    });
    let before = tasks();
    let response = ask(&endpoint).await;
    assert_eq!((response.status(), kind(&response)), (StatusCode::OK, "application/json"));
    assert_eq!(text(response).await, r#"{"jsonrpc":"2.0","id":1,"result":{"ok":true}}"#);
    assert_eq!(*most.lock(), before, "nothing was spawned for it");
}

#[tokio::test(start_paused = true)]
async fn what_is_said_before_the_answer_comes_before_it_on_an_event_stream() {
    for waits in [false, true] {
        let (endpoint, _scope) = endpoint(move |seat| {
            Box::pin(async move {
                seat.notify("notifications/one", &json!({})).await.expect("the client is there");
                if waits {
                    tokio::time::sleep(Duration::from_secs(3)).await;
                    seat.notify("notifications/two", &json!({})).await.expect("the client is there");
                }
                done()
            })
        });
        let response = ask(&endpoint).await;
        assert_eq!(kind(&response), "text/event-stream");
        let said = text(response).await;
        let at = |part: &str| said.find(part).unwrap_or_else(|| panic!("`{part}` is in {said}"));
        assert!(at("notifications/one") < at("\"result\""), "in order: {said}");
        if waits {
            assert!(at("notifications/two") < at("\"result\""), "in order: {said}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_lasts_becomes_an_event_stream_and_is_answered_there() {
    let keep_alive = Policy::default().serving.keep_alive;
    let (endpoint, _scope) = endpoint(move |_seat| {
        Box::pin(async move {
            tokio::time::sleep(keep_alive * 3).await;
            done()
        })
    });
    let begun = tokio::time::Instant::now();
    let response = ask(&endpoint).await;
    assert_eq!((kind(&response), begun.elapsed().as_secs()), ("text/event-stream", keep_alive.as_secs()));
    let said = text(response).await;
    assert!(said.starts_with(":\n\n") && said.contains(r#""result":{"ok":true}"#), "alive, then answered: {said}");
}

#[tokio::test(start_paused = true)]
async fn the_bytes_of_a_body_count_until_the_work_on_it_ends() {
    let (release, released) = oneshot::channel::<()>();
    let script = Mutex::new(Some(released));
    let (endpoint, _scope) = endpoint(move |seat| {
        let released = script.lock().take().expect("one request");
        Box::pin(async move {
            // The response begins as an event stream.
            seat.notify("notifications/one", &json!({})).await.expect("the client is there");
            drop(released.await);
            done()
        })
    });
    let head = session(&endpoint).await;
    let counted = Arc::new(());
    let sender = RequestSender { body: Some(BodyHold::new(counted.clone())), ..RequestSender::default() };
    let response = endpoint.post(&head, Body::from(request().to_string()), sender).await;
    assert_eq!(kind(&response), "text/event-stream");
    assert_eq!(Arc::strong_count(&counted), 2, "the body is still in work");
    drop(response);
    tokio::task::yield_now().await;
    assert_eq!(Arc::strong_count(&counted), 2, "also when its client is gone");
    release.send(()).expect("the work goes on");
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(Arc::strong_count(&counted), 1, "and given back with its end");
}

/// Tells how its request was given up when it is dropped.
struct TellsEnd(ResponseStream, Option<oneshot::Sender<Option<CancelReason>>>);

impl Drop for TellsEnd {
    fn drop(&mut self) {
        assert!(self.0.is_gone(), "the client is gone when the work ends for it");
        if let Some(tell) = self.1.take() {
            let _ = tell.send(self.0.given_up());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_work_of_a_modern_request_ends_as_cancelled_with_its_connection() {
    for lasts in [false, true] {
        let (tell, told) = oneshot::channel();
        let tell = Mutex::new(Some(tell));
        let (endpoint, _scope) = endpoint(move |seat| {
            let tells = TellsEnd(seat, tell.lock().take());
            Box::pin(async move {
                let _tells = tells;
                pending().await
            })
        });
        if lasts {
            // The response is a stream by now, and its client closes it.
            drop(ask(&endpoint).await);
        } else {
            let asking = tokio::time::timeout(Duration::from_millis(1), ask(&endpoint)).await;
            assert!(asking.is_err(), "there is no answer yet");
        }
        assert_eq!(told.await, Ok(Some(CancelReason::Cancelled)), "after it became a stream: {lasts}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_work_of_a_session_goes_on_without_its_connection_and_keeps_its_id() {
    let (release, released) = oneshot::channel::<()>();
    let (tell, told) = oneshot::channel();
    let script = Mutex::new(Some((released, tell)));
    let refused = Arc::new(AtomicUsize::new(0));
    let answer = move |seat: ResponseStream| -> Answering {
        let (released, tell) = script.lock().take().expect("one request");
        Box::pin(async move {
            drop(released.await);
            let _ = tell.send((seat.is_gone(), seat.given_up()));
            done()
        })
    };
    let (endpoint, _scope) = endpoint_counting(answer, Arc::clone(&refused));
    let head = session(&endpoint).await;
    let asking = tokio::time::timeout(Duration::from_millis(1), post(&endpoint, &head, &request())).await;
    assert!(asking.is_err(), "there is no answer yet");
    let again = text(post(&endpoint, &head, &request()).await).await;
    assert!(again.contains("a request with this id is still in work"), "{again}");
    assert_eq!(refused.load(Ordering::Acquire), 1, "its service learns of it");
    release.send(()).expect("the work goes on");
    assert_eq!(told.await, Ok((true, None)), "to its end, and nobody cancelled it");
}

#[tokio::test(start_paused = true)]
async fn a_client_of_a_session_that_waits_is_told_when_it_cancels_or_its_session_ends() {
    for ends in [false, true] {
        let (endpoint, _scope) = endpoint(|_seat| Box::pin(pending()));
        let head = session(&endpoint).await;
        let message = request();
        let mut asking = Box::pin(post(&endpoint, &head, &message));
        assert!(asking.as_mut().now_or_never().is_none(), "there is no answer yet");
        if ends {
            let name = head.headers.get(SESSION_HEADER).expect("a session").to_str().expect("a name");
            assert!(endpoint.0.sessions.end(name, None, &*endpoint.0.service), "the session was there");
        } else {
            let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
            assert_eq!(post(&endpoint, &head, &cancel).await.status(), StatusCode::ACCEPTED);
        }
        let response = asking.await;
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE, "session ends: {ends}");
        assert_eq!(text(response).await, "the request was given up");
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_the_work_gives_up_its_request_alone() {
    let panics = AtomicBool::new(true);
    let (endpoint, _scope) = endpoint(move |_seat| {
        let panics = panics.swap(false, Ordering::Relaxed);
        Box::pin(async move {
            tokio::task::yield_now().await;
            assert!(!panics, "as the test says");
            done()
        })
    });
    assert_eq!(ask(&endpoint).await.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(ask(&endpoint).await.status(), StatusCode::OK, "the next is served");
}

#[tokio::test(start_paused = true)]
async fn a_request_in_work_is_given_up_when_the_core_ends() {
    let (endpoint, scope) = endpoint(|_seat| Box::pin(pending()));
    let mut asking = Box::pin(ask(&endpoint));
    assert!(asking.as_mut().now_or_never().is_none(), "there is no answer yet");
    scope.cancel();
    assert_eq!(asking.await.status(), StatusCode::SERVICE_UNAVAILABLE);
}

#[tokio::test(start_paused = true)]
async fn a_large_result_is_written_as_the_slice_that_it_is() {
    let large = format!("{{\"text\":\"{}\"}}", "x".repeat(100_000));
    for (text_of, is_shared) in [(large.clone(), true), (large.replace(":", ":\n"), false)] {
        let payload = domain::task::payload::Payload::new(text_of.clone());
        let from = payload.shared().as_bytes().as_ptr();
        let mut body = ReplyBody::pieces(RawResult::Text(payload).pieces(&message::Id::from(7)));
        let mut pieces = Vec::new();
        while let Some(Some(piece)) = http_frame(&mut body).now_or_never() {
            pieces.push(piece);
        }
        assert_eq!(pieces.iter().any(|piece| piece.as_ptr() == from), is_shared, "copied only to mend line breaks");
        let whole = String::from_utf8(pieces.concat()).expect("a text");
        let expected = format!("{{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}}", text_of.replace('\n', " "));
        assert!(whole == expected, "byte for byte, on one line");
    }
}

async fn http_frame(body: &mut ReplyBody) -> Option<Bytes> {
    let frame = std::future::poll_fn(|cx| std::pin::Pin::new(&mut *body).poll_frame(cx)).await?;
    frame.ok()?.into_data().ok()
}

/// The messages of an event stream, by id; those without one under `null`.
fn answers(stream: &str) -> Vec<Value> {
    let messages = stream.lines().filter_map(|line| line.strip_prefix("data: "));
    let mut all: Vec<Value> = messages.map(|text| serde_json::from_str(text).expect("a message")).collect();
    all.sort_by_key(|message| message["id"].to_string());
    all
}

fn at_once(_: ResponseStream) -> Answering {
    Box::pin(async { done() })
}

#[tokio::test(start_paused = true)]
async fn every_member_of_a_batch_has_an_answer_of_its_own_whatever_the_others_are() {
    let (endpoint, _scope) = endpoint(at_once);
    let head = session_of(&endpoint, "2025-03-26").await;
    let batch = json!([
        {"jsonrpc": "2.0", "id": 1, "method": "any"},
        {"jsonrpc": "2.0", "id": 2, "method": 7},
        {"jsonrpc": "2.0", "id": 3, "method": "any", "params": ["a list"]},
        {"jsonrpc": "2.0", "id": 4, "method": "initialize"},
        {"jsonrpc": "2.0", "method": "notifications/one"},
        17,
        {"jsonrpc": "2.0", "id": 5, "method": "any"},
    ]);
    let response = post(&endpoint, &head, &batch).await;
    assert_eq!((response.status(), kind(&response)), (StatusCode::OK, "text/event-stream"));
    let said = answers(&text(response).await);
    let codes: Vec<(Value, Value)> =
        said.iter().map(|answer| (answer["id"].clone(), answer["error"]["code"].clone())).collect();
    let expected = json!([[1, null], [2, -32600], [3, -32602], [4, -32600], [5, null], [null, -32600]]);
    assert_eq!(json!(codes), expected, "{said:?}");
}

#[tokio::test(start_paused = true)]
async fn a_batch_with_more_bad_members_than_a_stream_holds_is_answered() {
    let (endpoint, _scope) = endpoint(at_once);
    let head = session_of(&endpoint, "2025-03-26").await;
    let bad = (2..=91).map(|id| json!({"jsonrpc": "2.0", "id": id, "method": 7}));
    let batch: Vec<Value> = std::iter::once(request()).chain(bad).collect();
    let response = post(&endpoint, &head, &json!(batch)).await;
    assert_eq!(answers(&text(response).await).len(), 91);
}

#[tokio::test(start_paused = true)]
async fn a_batch_in_which_nothing_is_a_request_is_answered_with_one_list_of_its_faults() {
    let (endpoint, _scope) = endpoint(at_once);
    let head = session_of(&endpoint, "2025-03-26").await;
    let response = post(&endpoint, &head, &json!([1, {"jsonrpc": "2.0", "id": 2, "method": 7}])).await;
    assert_eq!((response.status(), kind(&response)), (StatusCode::BAD_REQUEST, "application/json"));
    let said: Value = serde_json::from_str(&text(response).await).expect("a list");
    assert_eq!((&said[0]["id"], &said[1]["id"]), (&Value::Null, &json!(2)), "{said}");
    let response = post(&endpoint, &head, &json!([{"jsonrpc": "2.0", "method": "notifications/one"}])).await;
    assert_eq!(response.status(), StatusCode::ACCEPTED, "notifications have no answer");
    let (endpoint, _scope) = self::endpoint(at_once);
    let later = session_of(&endpoint, "2025-06-18").await;
    let response = post(&endpoint, &later, &json!([request()])).await;
    assert_eq!(response.status(), StatusCode::BAD_REQUEST, "later versions have no batches");
}
