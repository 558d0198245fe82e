//! Progress of one call towards its agent: the server's notifications, and a heartbeat between them.
//!
//! The server's notifications go out with the agent's own progress token; unknown members stay. When the server is
//! silent, a held call sends a heartbeat every while, because many clients reset their timeout on progress. A client
//! without a token gets none, and the server never waits for one that does not read: what does not fit the small buffer
//! is left out.

use std::sync::Arc;

use domain::ids::ServerId;
use domain::policy::plain_text;
use domain::ports::{CallListener, CallObserver};
use domain::task::TaskHandle;
use domain::task::observation::Progress;
use domain::task::payload::Payload;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::gateway::conversion::raw_json::ObjectWriter;
use crate::gateway::model_text::waiting;
use crate::gateway::request_context::RequestContext;
use crate::gateway::servers::identities;
use crate::server::ResponseStream;
use crate::server::request_params::members;
use crate::wire::raw_json::{member, text_member};

/// Notifications of one call that wait for its client. Judgement: progress replaces itself, so a few are enough.
const QUEUE_MAX: usize = 32;

/// Characters of a server's message that a heartbeat repeats. Claude Code shows 200.
const MESSAGE_CHARS: usize = 200;

/// One notification of the server about this call.
struct CallNotification {
    is_progress: bool,
    params: Payload,
}

/// The end of the queue that the engine writes to.
struct CallNotificationQueue(mpsc::Sender<CallNotification>);

impl CallObserver for CallNotificationQueue {
    fn heard(&self, method: &str, params: Payload) {
        let is_progress = method == "notifications/progress";
        if is_progress || method == "notifications/message" {
            // A client that does not read misses a courtesy, nothing that it waits for.
            drop(self.0.try_send(CallNotification { is_progress, params }));
        }
    }
}

/// Sends notifications of one call to its client.
pub(crate) struct ProgressSender {
    context: RequestContext,
    server: ServerId,
    token: Option<Value>,
    queue: mpsc::Receiver<CallNotification>,
    begun: Instant,
    heartbeat_at: Instant,
    /// The last value sent as progress: it may only grow.
    sent: f64,
    /// Whether the server sent progress itself.
    has_forwarded: bool,
    /// The server's last progress, as it was forwarded.
    forwarded: Option<Progress>,
    /// Taken from the queue and not sent yet: kept when sending is interrupted.
    pending: Option<CallNotification>,
}

impl ProgressSender {
    /// A sender, and the listener that the engine tells.
    pub(crate) fn new(context: &RequestContext, server: ServerId, token: Option<Value>) -> (Self, CallListener) {
        let (to, queue) = mpsc::channel(QUEUE_MAX);
        let begun = Instant::now();
        let sender = Self {
            context: context.clone(),
            server,
            token,
            queue,
            begun,
            heartbeat_at: begun + context.state.policy.gateway.progress_every,
            sent: 0.0,
            has_forwarded: false,
            forwarded: None,
            pending: None,
        };
        (sender, CallListener(Arc::new(CallNotificationQueue(to))))
    }

    /// The client has been waiting for longer than this sender knows: the next heartbeat is due now.
    pub(crate) const fn make_due(&mut self) {
        self.heartbeat_at = self.begun;
    }

    /// Sends the next notification, or the heartbeat when it is due, and returns. Cancel-safe: what was taken from the
    /// queue and not sent is sent by the next call.
    pub(crate) async fn send_next(&mut self, handle: Option<&TaskHandle>, stream: &ResponseStream) {
        let due = self.heartbeat_at;
        if self.pending.is_none() {
            let next = async {
                match self.queue.recv().await {
                    Some(notification) => notification,
                    // The server has no way to say anything about the call any more.
                    None => std::future::pending().await,
                }
            };
            self.pending = tokio::time::timeout_at(due, next).await.ok();
        }
        match &self.pending {
            Some(_) => self.send_pending(handle, stream).await,
            None => self.send_heartbeat(handle, stream).await,
        }
    }

    /// Sends everything in the queue: before an answer, which ends it.
    pub(crate) async fn flush(&mut self, handle: Option<&TaskHandle>, stream: &ResponseStream) {
        loop {
            if self.pending.is_none() {
                self.pending = self.queue.try_recv().ok();
            }
            if self.pending.is_none() {
                return;
            }
            self.send_pending(handle, stream).await;
        }
    }

    /// Sends the progress that the engine knows, where the server sent none to the call itself.
    pub(crate) async fn send_progress_of(
        &mut self,
        handle: &TaskHandle,
        message: Option<&str>,
        stream: &ResponseStream,
    ) {
        let progress = handle.progress.as_ref();
        let done = progress.and_then(|progress| progress.done);
        let (false, Some(token), Some(done)) = (self.has_forwarded, &self.token, done) else { return };
        if done <= self.sent {
            return;
        }
        let params = progress_params(token, done, progress.and_then(|progress| progress.total), message);
        self.sent = done;
        self.send("notifications/progress", &params, stream).await;
    }

    async fn send_pending(&mut self, handle: Option<&TaskHandle>, stream: &ResponseStream) {
        if let Some((method, params)) = self.rewrite_pending(handle) {
            self.send(method, &params, stream).await;
        }
        let Some(notification) = self.pending.take() else { return };
        // Programs show their models no log messages; progress is known to the engine already.
        if let (Some(handle), false) = (handle, notification.is_progress) {
            self.context.state.engine.kept_out(handle.id, notification.params);
        }
    }

    /// The pending notification for the agent: with its own token, and without identities of the server.
    fn rewrite_pending(&mut self, handle: Option<&TaskHandle>) -> Option<(&'static str, Box<RawValue>)> {
        let pending = self.pending.as_ref()?;
        let rewritten = identities::to_agent(&self.context, self.server, handle, &pending.params).ok()?;
        if !pending.is_progress {
            return Some(("notifications/message", rewritten));
        }
        let token = self.token.as_ref()?;
        self.has_forwarded = true;
        self.forwarded = Some(Progress {
            done: None,
            total: member(rewritten.get(), "total").and_then(|total| total.parse().ok()),
            message: text_member(rewritten.get(), "message").map(|said| plain_text(&said, MESSAGE_CHARS)),
        });
        let mut written = ObjectWriter::new();
        for (name, value) in members(rewritten.get())? {
            match &*name {
                "progressToken" => written.set("progressToken", token),
                "progress" => {
                    self.sent = value.get().parse().unwrap_or(self.sent);
                    written.raw("progress", value.get());
                }
                other => written.raw(other, value.get()),
            }
        }
        Some(("notifications/progress", written.finish().ok()?))
    }

    /// A heartbeat: a little more than the last value, because progress may only grow.
    async fn send_heartbeat(&mut self, handle: Option<&TaskHandle>, stream: &ResponseStream) {
        /// Below any step that a server counts by.
        const STEP: f64 = 0.001;
        self.heartbeat_at = Instant::now() + self.context.state.policy.gateway.progress_every;
        let Some(token) = &self.token else { return };
        // A call that was joined has run for longer than this sender; an earlier one may have told its client so.
        let ran = handle.map_or(self.begun.elapsed(), |handle| self.context.state.clock.now().since(handle.created));
        self.sent = if self.has_forwarded || handle.is_some_and(|handle| handle.progress.is_some()) {
            self.sent + STEP
        } else {
            ran.as_secs_f64().round().max(self.sent + STEP)
        };
        let progress = self.forwarded.as_ref().or_else(|| handle.and_then(|handle| handle.progress.as_ref()));
        // Programs show the newest notification alone: the server's last message stays in it.
        let is_asked = handle.is_some_and(|handle| handle.requests.values().any(|request| request.state.is_open()));
        let message = match (is_asked, progress) {
            (true, _) => waiting::FOR_A_PERSON.to_owned(),
            (false, Some(Progress { message: Some(said), .. })) => said.clone(),
            (false, _) => waiting::alive(ran),
        };
        let total = progress.and_then(|progress| progress.total).filter(|total| *total >= self.sent);
        let mut params = progress_params(token, self.sent, None, Some(&message));
        if let (Some(params), Some(total)) = (params.as_object_mut(), total) {
            params.insert("total".to_owned(), total.into());
        }
        self.send("notifications/progress", &params, stream).await;
    }

    async fn send<P: serde::Serialize + Sync + ?Sized>(&mut self, method: &str, params: &P, stream: &ResponseStream) {
        if method == "notifications/progress" {
            self.heartbeat_at = Instant::now() + self.context.state.policy.gateway.progress_every;
        }
        // A client that is gone has dropped this future, or will.
        drop(stream.notify(method, params).await);
    }
}

fn progress_params(token: &Value, progress: f64, total: Option<f64>, message: Option<&str>) -> Value {
    let mut params = json!({"progressToken": token, "progress": progress});
    if let Some(params) = params.as_object_mut() {
        params.extend(total.map(|total| ("total".to_owned(), total.into())));
        params.extend(message.map(|message| ("message".to_owned(), message.into())));
    }
    params
}
