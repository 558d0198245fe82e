//! The way through the core's door, for commands of the same user.
//!
//! One call, one reply; or a feed, line by line. No core behind the socket is an outcome of its own (exit code 3), and so
//! is one that stops answering while a call waits.
//! It keeps nothing and never starts a core.

use api::feed::task_feed::{TaskUpdate, WatchTasks};
use api::{ApiError, Code};
use domain::policy::{HostPolicy, Policy};
use futures::stream::{self, BoxStream};
use futures::{Stream, StreamExt as _, TryStreamExt as _};
use tokio::net::UnixStream;
use tokio::time::Instant;
use tokio_util::codec::{FramedRead, LinesCodec};
use tokio_util::io::StreamReader;

use crate::frames::Lines;
use crate::lock::CoreLock;
use crate::paths::Paths;
use crate::sign_in::Invitation;

/// A way to a running core.
#[derive(Clone)]
pub struct Attached {
    client: reqwest::Client,
    line_cap: usize,
    paths: Paths,
    hosting: HostPolicy,
}

/// The host part means nothing on a unix socket; it only has to be there.
const BASE: &str = "http://core";

impl Attached {
    /// Prepares the way. Whether a core is there shows at the first call.
    ///
    /// # Errors
    /// When the client cannot be made.
    pub fn new(paths: &Paths, policy: &Policy) -> Result<Self, ApiError> {
        let client = reqwest::Client::builder()
            .unix_socket(paths.socket())
            .no_proxy()
            // No certificate is needed at a socket: bad ones of this machine are no reason to have no way to the core.
            .tls_certs_only([])
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(policy.hosting.attach_limit)
            .build()
            .map_err(|error| {
                ApiError::new(
                    Code::Failed,
                    format!("the way to the core could not be prepared: {error}"),
                    "Run `taskwarden doctor`.",
                )
            })?;
        // A line holds many tasks, each with texts of a server.
        let line_cap = policy.message_cap_bytes.saturating_mul(4);
        Ok(Self { client, line_cap, paths: paths.clone(), hosting: policy.hosting.clone() })
    }

    /// Waits for a core that is about to open its door: its lock is held, its socket not there yet. Returns whether
    /// the door is open; without a core, at once.
    pub async fn is_open(&self) -> bool {
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
    /// The call's own; that no core is there; or that it went away before it answered.
    pub async fn call(&self, name: &str, input: String) -> Result<String, ApiError> {
        self.ask(&format!("call/{name}"), input).await
    }

    /// A fresh code for the window in the browser, and where that is.
    pub(crate) async fn invitation(&self) -> Result<Invitation, ApiError> {
        let text = self.ask("code", String::new()).await?;
        serde_json::from_str(&text).map_err(|_| {
            ApiError::new(
                Code::Failed,
                "the core's answer cannot be read",
                "The command line and the core may be of different versions; restart the core.",
            )
        })
    }

    async fn ask(&self, route: &str, input: String) -> Result<String, ApiError> {
        if !self.is_open().await {
            return Err(ApiError::no_core());
        }
        tokio::select! {
            biased;
            answer = self.answer(route, input) => answer,
            silent = self.silence() => Err(silent),
        }
    }

    /// Returns when the core does not answer a ping any more, beside a call that takes long. Cancel-safe.
    async fn silence(&self) -> ApiError {
        loop {
            tokio::time::sleep(self.hosting.ping_every).await;
            let ping = self.client.post(format!("{BASE}/call/core.ping")).body("{}").send();
            // An error is an answer here: a connection that breaks ends the call itself.
            if tokio::time::timeout(self.hosting.ping_limit, ping).await.is_err() {
                return silent();
            }
        }
    }

    async fn answer(&self, route: &str, input: String) -> Result<String, ApiError> {
        let sent = self.client.post(format!("{BASE}/{route}")).body(input).send().await;
        let reply = sent.map_err(|error| lost(&error))?;
        let is_ok = reply.status().is_success();
        let status = reply.status();
        let text = reply.text().await.map_err(|error| lost(&error))?;
        if is_ok {
            return Ok(text);
        }
        Err(serde_json::from_str(&text).unwrap_or_else(|_| {
            ApiError::new(
                Code::Failed,
                format!("the core answered with status {}", status.as_u16()),
                "The command line and the core may be of different versions; restart the core.",
            )
        }))
    }

    /// Follows what changes. The stream ends when the core does.
    ///
    /// # Errors
    /// As [`Attached::call`].
    pub async fn feed(
        &self,
        tasks: &[String],
        after: Option<u64>,
    ) -> Result<BoxStream<'static, Result<TaskUpdate, ApiError>>, ApiError> {
        let wanted = WatchTasks { tasks: tasks.to_vec(), after };
        let input = serde_json::to_string(&wanted).map_err(|error| ApiError::unwritable(&error))?;
        let lines = self.lines("feed", input).await?;
        Ok(lines
            .map(|line| {
                let line = line?;
                serde_json::from_str::<TaskUpdate>(&line).map_err(|_| {
                    serde_json::from_str::<ApiError>(&line).unwrap_or_else(|_| {
                        ApiError::new(
                            Code::Failed,
                            "the news of the core cannot be read",
                            "The command line and the core may be of different versions; restart the core.",
                        )
                    })
                })
            })
            .boxed())
    }

    /// Follows what changes as a window does: a `SubscribeInput` in, frames out, both JSON text.
    ///
    /// # Errors
    /// As [`Attached::call`].
    pub async fn frames(&self, input: String) -> Result<Lines, ApiError> {
        let lines = self.lines("frames", input).await?;
        // Every frame has a `type`, and no error has.
        let read = |line: String| match serde_json::from_str::<ApiError>(&line) {
            Ok(error) => Err(error),
            Err(_) => Ok(line),
        };
        Ok(lines.map(move |line| line.and_then(read)).boxed())
    }

    /// Asks for a stream and gives it line by line.
    async fn lines(&self, route: &str, input: String) -> Result<Lines, ApiError> {
        if !self.is_open().await {
            return Err(ApiError::no_core());
        }
        let sent = tokio::select! {
            biased;
            sent = self.client.post(format!("{BASE}/{route}")).body(input).send() => sent,
            silent = self.silence() => return Err(silent),
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

    /// The same lines, and an error as the last one when the core stops answering pings while none comes.
    fn while_answering(self, lines: impl Stream<Item = Result<String, ApiError>> + Send + Unpin + 'static) -> Lines {
        stream::unfold(Some((self, lines)), |open| async {
            let (attached, mut lines) = open?;
            tokio::select! {
                biased;
                line = lines.next() => line.map(|line| (line, Some((attached, lines)))),
                silent = attached.silence() => Some((Err(silent), None)),
            }
        })
        .boxed()
    }
}

/// A core that holds its connections open and says nothing, such as one that was stopped by a signal.
fn silent() -> ApiError {
    ApiError::new(
        Code::NoCore,
        SILENT,
        format!("What was asked may still be done when it answers again. {SILENT_HINT}"),
    )
}

const SILENT: &str = "the core does not answer";

/// What to do about a core that does not answer.
pub(crate) const SILENT_HINT: &str = "`taskwarden doctor` names its process: end it if it stays silent, and start it \
                                      with `taskwarden serve`; nothing that was recorded is lost.";

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
        "the core went away before it answered",
        "It may have done what was asked: start it with `taskwarden serve` and look with `taskwarden tasks list`.",
    )
}
