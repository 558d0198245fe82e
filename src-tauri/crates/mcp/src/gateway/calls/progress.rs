//! Progress of one call towards its agent: the server's notifications, and a heartbeat between them.
//!
//! The server's notifications go out with the agent's own progress token; unknown members stay. When the server is
//! silent, a held call sends a heartbeat every while, because many clients reset their timeout on progress. A client
//! without a token gets none, and the server never waits for one that does not read: what does not fit the small buffer
//! is left out.
//!
//! A quick call pays for none of this: nothing is allocated before the first notification, and no timer is set before
//! the call was reminded that it has been waiting (`clients/reminders.rs`).

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Poll, Waker};

use domain::ids::ServerId;
use domain::policy::plain_text;
use domain::ports::{CallListener, CallObserver};
use domain::task::TaskHandle;
use domain::task::observation::Progress;
use domain::task::payload::Payload;
use parking_lot::Mutex;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::gateway::conversion::raw_json::ObjectWriter;
use crate::gateway::model_text::waiting;
use crate::gateway::request_context::RequestContext;
use crate::gateway::servers::identities;
use crate::server::request_params::members;
use crate::server::{RequestParams, ResponseStream};
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

/// Notifications of one call on their way from the engine to the client.
#[derive(Default)]
struct CallNotifications(Mutex<NotificationQueue>);

#[derive(Default)]
struct NotificationQueue {
    waiting: VecDeque<CallNotification>,
    /// Who waits for the next one.
    waker: Option<Waker>,
}

impl CallNotifications {
    fn take(&self) -> Option<CallNotification> {
        self.0.lock().waiting.pop_front()
    }

    fn poll_next(&self, waker: &Waker) -> Poll<CallNotification> {
        let mut queue = self.0.lock();
        if let Some(next) = queue.waiting.pop_front() {
            return Poll::Ready(next);
        }
        if !queue.waker.as_ref().is_some_and(|known| known.will_wake(waker)) {
            queue.waker = Some(waker.clone());
        }
        Poll::Pending
    }
}

impl CallObserver for CallNotifications {
    fn heard(&self, method: &str, params: Payload) {
        let is_progress = method == "notifications/progress";
        if !is_progress && method != "notifications/message" {
            return;
        }
        let mut queue = self.0.lock();
        // A client that does not read misses a courtesy, nothing that it waits for.
        if queue.waiting.len() < QUEUE_MAX {
            queue.waiting.push_back(CallNotification { is_progress, params });
        }
        let waker = queue.waker.take();
        drop(queue);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// Sends notifications of one call to its client.
pub(crate) struct ProgressSender<'a> {
    context: &'a RequestContext,
    server: ServerId,
    /// The params of the call, which may hold a token for progress; `None` where they are not known any more.
    params: Option<&'a RequestParams>,
    notifications: Arc<CallNotifications>,
    begun: Instant,
    heartbeat_at: Instant,
    /// How often the agent's calls had been reminded when the call began; `None` once it keeps a timer of its own.
    reminders: Option<u64>,
    /// The last value sent as progress: it may only grow.
    sent: f64,
    /// Whether the server sent progress itself.
    has_forwarded: bool,
    /// The server's last progress, as it was forwarded.
    forwarded: Option<Progress>,
    /// Taken from the queue and not sent yet: kept when sending is interrupted.
    pending: Option<CallNotification>,
}

impl<'a> ProgressSender<'a> {
    /// A sender for a call that began at `begun`, and the listener that the engine tells.
    pub(crate) fn new(
        context: &'a RequestContext,
        server: ServerId,
        params: Option<&'a RequestParams>,
        begun: Instant,
    ) -> Self {
        Self {
            context,
            server,
            params,
            notifications: Arc::default(),
            begun,
            heartbeat_at: begun + context.state.policy.gateway.progress_every,
            reminders: Some(context.meter.reminders()),
            sent: 0.0,
            has_forwarded: false,
            forwarded: None,
            pending: None,
        }
    }

    /// The listener that the engine tells.
    pub(crate) fn listener(&self) -> CallListener {
        CallListener(Arc::clone(&self.notifications) as Arc<dyn CallObserver>)
    }

    /// The call is held from now on: heartbeats keep their own time.
    pub(crate) const fn hold(&mut self) {
        self.reminders = None;
    }

    fn token(&self) -> Option<Value> {
        self.params.and_then(RequestParams::progress_token)
    }

    /// The client has been waiting for longer than this sender knows: the next heartbeat is due now.
    pub(crate) const fn make_due(&mut self) {
        self.heartbeat_at = self.begun;
    }

    /// Sends the next notification, or the heartbeat when it is due, and returns. Cancel-safe: what was taken from the
    /// queue and not sent is sent by the next call.
    pub(crate) async fn send_next(&mut self, handle: Option<&TaskHandle>, stream: &ResponseStream) {
        if self.pending.is_none() {
            self.pending = self.next_or_due().await;
        }
        // Boxed: most calls never come here, and every call would carry what it holds.
        match &self.pending {
            Some(_) => Box::pin(self.send_pending(handle, stream)).await,
            None => Box::pin(self.send_heartbeat(handle, stream)).await,
        }
    }

    /// The next notification; `None` when the heartbeat is due.
    async fn next_or_due(&mut self) -> Option<CallNotification> {
        if let Some(before) = self.reminders {
            let (notifications, meter) = (&self.notifications, &self.context.meter);
            let next = poll_fn(|context| match notifications.poll_next(context.waker()) {
                Poll::Ready(next) => Poll::Ready(Some(next)),
                Poll::Pending if meter.reminders() != before => Poll::Ready(None),
                Poll::Pending => Poll::Pending,
            });
            if let Some(next) = next.await {
                return Some(next);
            }
            self.reminders = None;
        }
        let next = poll_fn(|context| self.notifications.poll_next(context.waker()));
        tokio::time::timeout_at(self.heartbeat_at, next).await.ok()
    }

    /// Sends everything in the queue: before an answer, which ends it.
    pub(crate) async fn flush(&mut self, handle: Option<&TaskHandle>, stream: &ResponseStream) {
        loop {
            if self.pending.is_none() {
                self.pending = self.notifications.take();
            }
            if self.pending.is_none() {
                return;
            }
            Box::pin(self.send_pending(handle, stream)).await;
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
        let (false, Some(token), Some(done)) = (self.has_forwarded, self.token(), done) else { return };
        if done <= self.sent {
            return;
        }
        let params = progress_params(&token, done, progress.and_then(|progress| progress.total), message);
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
        let rewritten = identities::to_agent(self.context, self.server, handle, &pending.params).ok()?;
        if !pending.is_progress {
            return Some(("notifications/message", rewritten));
        }
        let token = self.token()?;
        self.has_forwarded = true;
        self.forwarded = Some(Progress {
            done: None,
            total: member(rewritten.get(), "total").and_then(finite),
            message: text_member(rewritten.get(), "message").map(|said| plain_text(&said, MESSAGE_CHARS)),
        });
        let mut written = ObjectWriter::new();
        for (name, value) in members(rewritten.get())? {
            match &*name {
                "progressToken" => written.set("progressToken", &token),
                "progress" => {
                    self.sent = finite(value.get()).unwrap_or(self.sent);
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
        let Some(token) = self.token() else { return };
        // A call that was joined has run for longer than this sender; an earlier one may have told its client so.
        let ran = handle.map_or(self.begun.elapsed(), |handle| handle.worked(self.context.state.clock.now()));
        self.sent = if self.has_forwarded || handle.is_some_and(|handle| handle.progress.is_some()) {
            self.sent + STEP
        } else {
            ran.as_secs_f64().round().max(self.sent + STEP)
        };
        let progress = self.forwarded.as_ref().or_else(|| handle.and_then(|handle| handle.progress.as_ref()));
        // Programs show the newest notification alone: the server's last message stays in it.
        let is_asked = handle.is_some_and(|handle| handle.requests.values().any(|request| request.state.is_open()));
        let message = match (is_asked, progress) {
            _ if handle.is_some_and(|handle| handle.view.is_gated()) => waiting::PAUSED.to_owned(),
            (true, _) => waiting::FOR_A_PERSON.to_owned(),
            (false, Some(Progress { message: Some(said), .. })) => said.clone(),
            (false, _) => waiting::alive(ran),
        };
        let total = progress.and_then(|progress| progress.total).filter(|total| *total >= self.sent);
        let mut params = progress_params(&token, self.sent, None, Some(&message));
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

/// A number of a server; `None` for one that is too large to be counted on and written again.
fn finite(json: &str) -> Option<f64> {
    json.parse().ok().filter(|number: &f64| number.is_finite())
}

fn progress_params(token: &Value, progress: f64, total: Option<f64>, message: Option<&str>) -> Value {
    let mut params = json!({"progressToken": token, "progress": progress});
    if let Some(params) = params.as_object_mut() {
        params.extend(total.map(|total| ("total".to_owned(), total.into())));
        params.extend(message.map(|message| ("message".to_owned(), message.into())));
    }
    params
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heartbeat_after_a_number_beyond_all_numbers_is_still_a_number() {
        assert_eq!((finite("1e999"), finite("-1e999"), finite("12.5")), (None, None, Some(12.5)));
        let params = progress_params(&json!(1), finite("1e999").unwrap_or_default(), finite("1e999"), None);
        assert_eq!(params, json!({"progressToken": 1, "progress": 0.0}), "`null` is no progress");
    }
}
