//! A collector of OpenTelemetry logs and traces over OTLP/HTTP, as far as a sender can tell.
//!
//! It answers what a test told it to, then takes everything, and remembers each request. It never forgets, so it is only
//! for tests.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

const LOGS: &str = "/v1/logs";
const TRACES: &str = "/v1/traces";

/// What it answers to one request.
#[derive(Debug, Clone)]
pub struct CollectorAnswer {
    status: u16,
    content_type: &'static str,
    /// Beside the type of its content.
    headers: Vec<(&'static str, &'static str)>,
    body: String,
}

impl CollectorAnswer {
    /// An answer without a body.
    #[must_use]
    pub fn status(status: u16) -> Self {
        Self::of(status, "application/json", String::new())
    }

    /// An answer with a body in JSON.
    #[must_use]
    pub fn with(status: u16, body: &Value) -> Self {
        Self::of(status, "application/json", body.to_string())
    }

    /// An answer with any body.
    #[must_use]
    pub fn of(status: u16, content_type: &'static str, body: impl Into<String>) -> Self {
        Self { status, content_type, headers: Vec::new(), body: body.into() }
    }

    /// The same with one more header.
    #[must_use]
    pub fn header(mut self, name: &'static str, value: &'static str) -> Self {
        self.headers.push((name, value));
        self
    }
}

/// A request that came.
#[derive(Debug, Clone)]
pub struct CollectorRequest {
    /// Where it was posted to.
    pub path: String,
    /// By their names in lower case.
    pub headers: BTreeMap<String, String>,
    /// As JSON; null where it is none.
    pub body: Value,
    /// What it was answered.
    pub status: u16,
}

impl CollectorRequest {
    /// Its log records.
    #[must_use]
    pub fn records(&self) -> Vec<Value> {
        records(&self.body)
    }

    /// The spans in its body, in their order.
    #[must_use]
    pub fn spans(&self) -> Vec<Value> {
        let spans = self.body.pointer("/resourceSpans/0/scopeSpans/0/spans").and_then(Value::as_array);
        spans.cloned().unwrap_or_default()
    }
}

#[derive(Default)]
struct Room {
    /// By the path that they are for.
    answers: Mutex<BTreeMap<&'static str, VecDeque<CollectorAnswer>>>,
    requests: Mutex<Vec<CollectorRequest>>,
}

/// A running collector; stops when dropped.
pub struct Collector {
    room: Arc<Room>,
    address: SocketAddr,
    runtime: Option<Runtime>,
}

impl Collector {
    /// Starts on a free port.
    #[must_use]
    pub fn start() -> Self {
        Self::at(SocketAddr::from(([127, 0, 0, 1], 0)))
    }

    /// Starts on this port.
    #[must_use]
    pub fn at(address: SocketAddr) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
        let room = Arc::new(Room::default());
        let listener = runtime.block_on(TcpListener::bind(address)).expect("a port");
        let address = listener.local_addr().expect("an address");
        let router = Router::new().route(LOGS, post(take)).route(TRACES, post(take)).with_state(Arc::clone(&room));
        let router = router.layer(DefaultBodyLimit::disable());
        runtime.spawn(async move { axum::serve(listener, router).await });
        Self { room, address, runtime: Some(runtime) }
    }

    /// Its address without a path.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Answers the next requests with log records so, one each.
    pub fn answer(&self, answers: impl IntoIterator<Item = CollectorAnswer>) {
        self.room.answers.lock().entry(LOGS).or_default().extend(answers);
    }

    /// Answers the next requests with spans so, one each.
    pub fn answer_spans(&self, answers: impl IntoIterator<Item = CollectorAnswer>) {
        self.room.answers.lock().entry(TRACES).or_default().extend(answers);
    }

    /// Forgets what was planned, and takes everything from here on.
    pub fn take_all(&self) {
        self.room.answers.lock().clear();
    }

    /// All requests that came, the oldest first.
    #[must_use]
    pub fn requests(&self) -> Vec<CollectorRequest> {
        self.room.requests.lock().clone()
    }

    /// Log records of requests that it took, in order of arrival.
    #[must_use]
    pub fn taken(&self) -> Vec<Value> {
        let requests = self.room.requests.lock();
        requests.iter().filter(|request| request.status == 200).flat_map(CollectorRequest::records).collect()
    }
}

impl Collector {
    /// Spans of requests that it took, in order of arrival.
    #[must_use]
    pub fn taken_spans(&self) -> Vec<Value> {
        let requests = self.room.requests.lock();
        requests.iter().filter(|request| request.status == 200).flat_map(CollectorRequest::spans).collect()
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// The log records of a request.
#[must_use]
pub fn records(request: &Value) -> Vec<Value> {
    let records = request.pointer("/resourceLogs/0/scopeLogs/0/logRecords").and_then(Value::as_array);
    records.cloned().unwrap_or_default()
}

/// An attribute of a record, whatever its kind, as a text.
#[must_use]
pub fn attribute(record: &Value, key: &str) -> Option<String> {
    let all = record.get("attributes")?.as_array()?;
    let value = all.iter().find(|one| one.get("key").is_some_and(|named| named == key))?.get("value")?;
    let value = value.as_object()?.values().next()?;
    Some(value.as_str().map_or_else(|| value.to_string(), str::to_owned))
}

async fn take(State(room): State<Arc<Room>>, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    let path = uri.path().to_owned();
    let planned = room.answers.lock().get_mut(path.as_str()).and_then(VecDeque::pop_front);
    let answer = planned.unwrap_or_else(|| CollectorAnswer::with(200, &json!({})));
    let headers = headers
        .iter()
        .map(|(name, value)| (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
        .collect();
    let body = serde_json::from_slice(&body).unwrap_or_default();
    room.requests.lock().push(CollectorRequest { path, headers, body, status: answer.status });
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = (status, [("content-type", answer.content_type)], answer.body).into_response();
    for (name, value) in answer.headers {
        response.headers_mut().insert(name, axum::http::HeaderValue::from_static(value));
    }
    response
}
