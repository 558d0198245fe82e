//! A client of the core's socket, for commands of the same user.
//!
//! One call and one reply, or a feed line by line. No core behind the socket is an outcome of its own (exit code 3),
//! and so is a core that stops answering while a call waits. It stores nothing and never starts a core.

use api::feed::task_feed::{TaskUpdate, WatchTasks};
use api::{ApiError, Code};
use domain::policy::{HostPolicy, Policy};
use futures::stream::{self, BoxStream};
use futures::{Stream, StreamExt as _, TryStreamExt as _};
use reqwest::RequestBuilder;
use reqwest::header::{AUTHORIZATION, HeaderValue};
use tokio::net::UnixStream;
use tokio::time::Instant;
use tokio_util::codec::{FramedRead, LinesCodec};
use tokio_util::io::StreamReader;

use crate::config::paths::Paths;
use crate::http::feed_lines::FeedLines;
use crate::http::sign_in::Invitation;
use crate::os::core_lock::CoreLock;

/// A client of a running core.
#[derive(Clone)]
pub struct SocketClient {
    client: reqwest::Client,
    line_cap: usize,
    paths: Paths,
    hosting: HostPolicy,
}

/// A unix socket needs no host, but a URL does.
const BASE: &str = "http://core";
/// After which event a feed goes on.
const LAST_EVENT_ID: &str = "last-event-id";

impl SocketClient {
    /// Prepares the client. Whether there is a core shows at the first call.
    ///
    /// # Errors
    /// When the client cannot be made.
    pub fn new(paths: &Paths, policy: &Policy) -> Result<Self, ApiError> {
        let client = connect_options(paths, policy).build().map_err(|error| unprepared(&error))?;
        // A line holds many tasks, each with texts of a server.
        let line_cap = policy.message_cap_bytes.saturating_mul(4);
        Ok(Self { client, line_cap, paths: paths.clone(), hosting: policy.hosting.clone() })
    }

    /// Returns whether the socket accepts connections. While a core holds the lock and has not opened its socket yet,
    /// waits for it; without a core, returns at once.
    pub async fn wait_until_open(&self) -> bool {
        let waited = Instant::now();
        while UnixStream::connect(self.paths.socket()).await.is_err() {
            if CoreLock::holder(&self.paths.lock()).is_none() || waited.elapsed() >= self.hosting.attach_limit {
                return false;
            }
            tokio::time::sleep(self.hosting.attach_step).await;
        }
        true
    }

    /// Makes a call: JSON text in, JSON text out.
    ///
    /// # Errors
    /// The error of the call; no core is running; or the core ended before it answered.
    pub async fn call(&self, name: &str, input: String) -> Result<String, ApiError> {
        self.request(self.post(&format!("call/{name}"), input)).await
    }

    /// Makes a call of the control API with the token in this header: JSON text in, JSON text out.
    ///
    /// # Errors
    /// As [`SocketClient::call`]; that the token is not in force is an error of the call.
    pub(crate) async fn control_call(
        &self,
        name: &str,
        input: String,
        authorization: HeaderValue,
    ) -> Result<String, ApiError> {
        let call = self.post(&format!("api/v1/{name}"), input).header(AUTHORIZATION, authorization);
        self.request(call).await
    }

    /// Opens the feed of the control API with the token in this header, after the event with this id or from now on:
    /// server-sent events, line by line.
    ///
    /// # Errors
    /// As [`SocketClient::control_call`].
    pub(crate) async fn control_feed(
        &self,
        authorization: HeaderValue,
        after: Option<&str>,
    ) -> Result<FeedLines, ApiError> {
        let request = self.client.get(format!("{BASE}/api/v1/feed")).header(AUTHORIZATION, authorization);
        let request = match after {
            Some(after) => request.header(LAST_EVENT_ID, after),
            None => request,
        };
        self.lines(request).await
    }

    /// A new sign-in link for the window in the browser, with its code.
    pub(crate) async fn invitation(&self) -> Result<Invitation, ApiError> {
        let text = self.request(self.post("code", String::new())).await?;
        serde_json::from_str(&text).map_err(|_| different_version("the core's answer cannot be read"))
    }

    fn post(&self, route: &str, input: String) -> RequestBuilder {
        self.client.post(format!("{BASE}/{route}")).body(input)
    }

    async fn request(&self, request: RequestBuilder) -> Result<String, ApiError> {
        if !self.wait_until_open().await {
            return Err(ApiError::no_core());
        }
        tokio::select! {
            biased;
            answer = answer(request) => answer,
            silent = self.watch_for_silence() => Err(silent),
        }
    }

    /// Returns an error once the core stops answering pings; runs beside a call that takes long. Cancel-safe.
    async fn watch_for_silence(&self) -> ApiError {
        loop {
            tokio::time::sleep(self.hosting.ping_every).await;
            let ping = self.post("call/core.ping", "{}".to_owned()).send();
            // An error is an answer here: a connection that breaks ends the call itself.
            if tokio::time::timeout(self.hosting.ping_limit, ping).await.is_err() {
                return silent();
            }
        }
    }

    /// Subscribes to changes of tasks. The stream ends with the core.
    ///
    /// # Errors
    /// As [`SocketClient::call`].
    pub async fn feed(
        &self,
        tasks: &[String],
        after: Option<u64>,
    ) -> Result<BoxStream<'static, Result<TaskUpdate, ApiError>>, ApiError> {
        let wanted = WatchTasks { tasks: tasks.to_vec(), after };
        let input = serde_json::to_string(&wanted).map_err(|error| ApiError::unwritable(&error))?;
        let lines = self.lines(self.post("feed", input)).await?;
        Ok(lines
            .map(|line| {
                let line = line?;
                serde_json::from_str::<TaskUpdate>(&line).map_err(|_| {
                    serde_json::from_str::<ApiError>(&line)
                        .unwrap_or_else(|_| different_version("the changes that the core sent cannot be read"))
                })
            })
            .boxed())
    }

    /// Subscribes to what a window shows: a `SubscribeInput` in, frames out, both JSON text.
    ///
    /// # Errors
    /// As [`SocketClient::call`].
    pub async fn frames(&self, input: String) -> Result<FeedLines, ApiError> {
        let lines = self.lines(self.post("frames", input)).await?;
        // Every frame has a `type`, and no error has.
        let read = |line: String| match serde_json::from_str::<ApiError>(&line) {
            Ok(error) => Err(error),
            Err(_) => Ok(line),
        };
        Ok(lines.map(move |line| line.and_then(read)).boxed())
    }

    /// Opens a stream and reads it line by line.
    async fn lines(&self, request: RequestBuilder) -> Result<FeedLines, ApiError> {
        if !self.wait_until_open().await {
            return Err(ApiError::no_core());
        }
        let sent = tokio::select! {
            biased;
            sent = request.send() => sent,
            silent = self.watch_for_silence() => return Err(silent),
        };
        let reply = sent.map_err(|error| lost(&error))?;
        if !reply.status().is_success() {
            let text = reply.text().await.map_err(|error| lost(&error))?;
            return Err(serde_json::from_str(&text).unwrap_or_else(|_| ApiError::no_core()));
        }
        let bytes = StreamReader::new(reply.bytes_stream().map_err(std::io::Error::other));
        let lines = FramedRead::new(bytes, LinesCodec::new_with_max_length(self.line_cap));
        let lines = lines.map(|line| line.map_err(|_| ApiError::no_core()));
        Ok(self.clone().while_answering(lines))
    }

    /// The same lines; when the core stops answering pings between two of them, an error is the last one.
    fn while_answering(
        self,
        lines: impl Stream<Item = Result<String, ApiError>> + Send + Unpin + 'static,
    ) -> FeedLines {
        stream::unfold(Some((self, lines)), |open| async {
            let (attached, mut lines) = open?;
            tokio::select! {
                biased;
                line = lines.next() => line.map(|line| (line, Some((attached, lines)))),
                silent = attached.watch_for_silence() => Some((Err(silent), None)),
            }
        })
        .boxed()
    }
}

async fn answer(request: RequestBuilder) -> Result<String, ApiError> {
    let reply = request.send().await.map_err(|error| lost(&error))?;
    let status = reply.status();
    let text = reply.text().await.map_err(|error| lost(&error))?;
    if status.is_success() {
        return Ok(text);
    }
    Err(serde_json::from_str(&text)
        .unwrap_or_else(|_| different_version(format!("the core answered with status {}", status.as_u16()))))
}

/// How to connect to the socket of a data directory.
pub(crate) fn connect_options(paths: &Paths, policy: &Policy) -> reqwest::ClientBuilder {
    reqwest::Client::builder()
        .unix_socket(paths.socket())
        .no_proxy()
        // A socket needs no certificates, so broken ones on this machine must not lock anybody out of the core.
        .tls_certs_only([])
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(policy.hosting.attach_limit)
}

pub(crate) fn unprepared(error: &reqwest::Error) -> ApiError {
    let message = format!("the connection to the core could not be prepared: {error}");
    ApiError::new(Code::Failed, message, "Run `taskwarden doctor`.")
}

/// A reply that cannot be read comes from a core of another version.
pub(crate) fn different_version(message: impl Into<String>) -> ApiError {
    let hint = "The command line and the core may have different versions: restart the core.";
    ApiError::new(Code::Failed, message.into(), hint)
}

/// For a core that keeps its connections open and does not answer, such as one suspended by a signal.
fn silent() -> ApiError {
    ApiError::new(
        Code::NoCore,
        SILENT,
        format!("The call may still be carried out when it answers again. {SILENT_HINT}"),
    )
}

const SILENT: &str = "the core does not answer";

/// What to do about a core that does not answer.
pub(crate) const SILENT_HINT: &str = "`taskwarden doctor` names its process. If it stays silent, end it and start a new \
                                      one with `taskwarden serve`; nothing that was recorded is lost.";

/// Whether this error says that a core is there and does not answer.
pub(crate) fn is_silent(error: &ApiError) -> bool {
    error.code == Code::NoCore && error.message == SILENT
}

fn lost(error: &reqwest::Error) -> ApiError {
    if error.is_connect() {
        return ApiError::no_core();
    }
    ApiError::new(
        Code::NoCore,
        "the core ended before it answered",
        "It may have been carried out. Start the core with `taskwarden serve` and look whether it was before you try again.",
    )
}
