//! Progress of a call towards its agent: what the server says as it says it, and a sign of life in between.
//!
//! The server's notifications come through a [`CallListener`] and go out with the agent's own token in place of ours; unknown
//! members stay. When the server is silent, a held call tells every while that it goes on, because many clients reset
//! their patience by progress. A client without a token hears none, and one that does not read is not waited for by the
//! server: what does not fit the small buffer is left out.

use std::time::Duration;

use domain::task::TaskHandle;
use domain::ids::ServerId;
use domain::task::observation::Progress;
use domain::task::payload::Payload;
use domain::policy::plain_text;
use domain::ports::{CallListener, CallObserver};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::guest::Guest;
use super::model_text::waiting;
use super::wire::Written;
use super::{Gate, forward};
use crate::wire::raw_json::{member, text_member};
use crate::server::ResponseStream;
use crate::server::request_params::members;

/// Notifications of one call that wait for its client. Judgement: progress replaces itself, so a few are enough.
const HEARD_MAX: usize = 32;

/// Characters of a server's message that a sign of life says again. Claude Code shows 200.
const MESSAGE_CHARS: usize = 200;

/// One notification of the server about this call.
struct Said {
    progress: bool,
    params: Payload,
}

/// The end of a teller that hangs at the call.
struct Ear(mpsc::Sender<Said>);

impl CallObserver for Ear {
    fn heard(&self, method: &str, params: Payload) {
        let progress = method == "notifications/progress";
        if progress || method == "notifications/message" {
            // A client that does not read misses a courtesy, nothing it waits for.
            drop(self.0.try_send(Said { progress, params }));
        }
    }
}

/// Tells one client about one call.
pub(super) struct Teller {
    gate: std::sync::Arc<Gate>,
    guest: Guest,
    server: ServerId,
    token: Option<Value>,
    heard: mpsc::Receiver<Said>,
    every: Duration,
    begun: Instant,
    /// When the next sign of life is due.
    due: Instant,
    told: f64,
    raw: bool,
    /// The server's last progress, where it was passed on raw.
    last: Option<Progress>,
    /// What was heard and is not told yet: kept when a telling is broken off.
    untold: Option<Said>,
}

impl Teller {
    /// A teller, and who listens for it at the call.
    pub(super) fn new(
        gate: &std::sync::Arc<Gate>,
        guest: &Guest,
        server: ServerId,
        token: Option<Value>,
    ) -> (Self, CallListener) {
        let (to, heard) = mpsc::channel(HEARD_MAX);
        let listener = CallListener(std::sync::Arc::new(Ear(to)));
        let now = Instant::now();
        let every = gate.policy.gateway.progress_every;
        let gate = std::sync::Arc::clone(gate);
        let guest = guest.clone();
        (
            Self {
                gate,
                guest,
                server,
                token,
                heard,
                every,
                begun: now,
                due: now + every,
                told: 0.0,
                raw: false,
                last: None,
                untold: None,
            },
            listener,
        )
    }

    /// The client has heard nothing for longer than this teller knows: the next sign of life is due now.
    pub(super) fn hurry(&mut self) {
        self.due = self.begun;
    }

    /// Tells what comes next, or the sign of life when it is due; returns after each. Cancel-safe: what was heard and
    /// not told is told by the next call.
    pub(super) async fn next(&mut self, handle: Option<&TaskHandle>, seat: &ResponseStream) {
        let due = self.due;
        if self.untold.is_none() {
            let heard = async {
                match self.heard.recv().await {
                    Some(said) => said,
                    // Nobody says anything about the call any more.
                    None => std::future::pending().await,
                }
            };
            self.untold = tokio::time::timeout_at(due, heard).await.ok();
        }
        match &self.untold {
            Some(_) => self.pass_on(handle, seat).await,
            None => self.alive(handle, seat).await,
        }
    }

    /// Tells everything that was heard so far: before an answer, which ends it.
    pub(super) async fn rest(&mut self, handle: Option<&TaskHandle>, seat: &ResponseStream) {
        loop {
            if self.untold.is_none() {
                self.untold = self.heard.try_recv().ok();
            }
            if self.untold.is_none() {
                return;
            }
            self.pass_on(handle, seat).await;
        }
    }

    /// Tells the progress that the handle has, where none was passed on raw.
    pub(super) async fn handle(&mut self, handle: &TaskHandle, message: Option<&str>, seat: &ResponseStream) {
        let done = handle.progress.as_ref().and_then(|progress| progress.done);
        let (false, Some(token), Some(done)) = (self.raw, &self.token, done) else { return };
        if done <= self.told {
            return;
        }
        let mut params = json!({"progressToken": token, "progress": done});
        let total = handle.progress.as_ref().and_then(|progress| progress.total);
        if let (Some(params), Some(total)) = (params.as_object_mut(), total) {
            params.insert("total".to_owned(), total.into());
        }
        if let (Some(params), Some(message)) = (params.as_object_mut(), message) {
            params.insert("message".to_owned(), message.into());
        }
        self.told = done;
        self.say("notifications/progress", &params, seat).await;
    }

    async fn pass_on(&mut self, handle: Option<&TaskHandle>, seat: &ResponseStream) {
        if let Some((method, params)) = self.message(handle).await {
            self.say(method, &params, seat).await;
        }
        let Some(said) = self.untold.take() else { return };
        // Hosts show their models no log; what the server says as progress is known to the engine.
        if let (Some(handle), false) = (handle, said.progress) {
            self.gate.engine.kept_out(handle.id, said.params);
        }
    }

    /// What is untold, for the agent: its own token, and no identities of the server.
    async fn message(&mut self, handle: Option<&TaskHandle>) -> Option<(&'static str, Box<RawValue>)> {
        let said = self.untold.as_ref()?;
        let rewritten = forward::down(&self.gate, &self.guest, self.server, handle, &said.params).await.ok()?;
        if !said.progress {
            return Some(("notifications/message", rewritten));
        }
        let token = self.token.as_ref()?;
        self.raw = true;
        self.last = Some(Progress {
            done: None,
            total: member(rewritten.get(), "total").and_then(|total| total.parse().ok()),
            message: text_member(rewritten.get(), "message").map(|said| plain_text(&said, MESSAGE_CHARS)),
        });
        let mut written = Written::new();
        for (name, value) in members(rewritten.get())? {
            match &*name {
                "progressToken" => written.say("progressToken", token),
                "progress" => {
                    self.told = value.get().parse().unwrap_or(self.told);
                    written.raw("progress", value.get());
                }
                other => written.raw(other, value.get()),
            }
        }
        Some(("notifications/progress", written.end().ok()?))
    }

    /// A sign of life: a little more than before, so that it only grows.
    async fn alive(&mut self, handle: Option<&TaskHandle>, seat: &ResponseStream) {
        /// Below any step that a server counts by.
        const LITTLE: f64 = 0.001;
        self.due = Instant::now() + self.every;
        let Some(token) = &self.token else { return };
        // A call that was joined runs for longer than this teller; an earlier one may have told its client so.
        let ran = handle.map_or(self.begun.elapsed(), |handle| self.gate.clock.now().since(handle.created));
        self.told = if self.raw || handle.is_some_and(|handle| handle.progress.is_some()) {
            self.told + LITTLE
        } else {
            ran.as_secs_f64().round().max(self.told + LITTLE)
        };
        let progress = self.last.as_ref().or_else(|| handle.and_then(|handle| handle.progress.as_ref()));
        // Programs show the newest notification alone: what the server said last stays in it.
        let is_asked = handle.is_some_and(|handle| handle.requests.values().any(|request| request.state.is_open()));
        let message = match (is_asked, progress) {
            (true, _) => waiting::FOR_A_PERSON.to_owned(),
            (false, Some(Progress { message: Some(said), .. })) => said.clone(),
            (false, _) => waiting::alive(ran),
        };
        let mut params = json!({"progressToken": token, "progress": self.told, "message": message});
        let total = progress.and_then(|progress| progress.total).filter(|total| *total >= self.told);
        if let (Some(params), Some(total)) = (params.as_object_mut(), total) {
            params.insert("total".to_owned(), total.into());
        }
        self.say("notifications/progress", &params, seat).await;
    }

    async fn say<P: serde::Serialize + Sync + ?Sized>(&mut self, method: &str, params: &P, seat: &ResponseStream) {
        if method == "notifications/progress" {
            self.due = Instant::now() + self.every;
        }
        // A client that is gone has dropped this future, or will.
        drop(seat.notify(method, params).await);
    }
}
