//! Tells a session of 2025-11-25 about tasks that it knows: news and questions on its standing stream.
//!
//! A session is told of a task from the moment it begins it or asks for it, so that a client that came back after a
//! restart hears of it again. News are a level: each says the newest state, and states in between may be missed. All
//! of it is a courtesy; a session without a standing stream misses it and polls. A question waits for a `tasks/result`
//! stream first (protocol.md §9.15). Nothing is decided or stored here.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use domain::task::TaskHandle;
use domain::ids::{HandleId, RequestKey};
use domain::task::input_request::{Ask, RequestState};
use engine::HandleWatch;
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::Gate;
use super::asking::{self, Asked, Stream};
use super::bridge::{self, LegacyTask};
use super::guest::Guest;
use super::legacy_tasks;
use crate::server::{Session, SessionTransport};

/// Which session is told about which tasks.
#[derive(Default)]
pub(crate) struct Couriers(Mutex<HashMap<String, HashSet<HandleId>>>);

impl Couriers {
    /// Whether this is new to the session. A session with too many tasks polls for the rest.
    fn begin(&self, session: &Session, id: HandleId, most: usize) -> bool {
        let mut told = self.0.lock();
        let tasks = told.entry(session.id().to_owned()).or_default();
        tasks.len() < most && tasks.insert(id)
    }

    fn end(&self, session: &Session, id: HandleId) {
        if let Some(tasks) = self.0.lock().get_mut(session.id()) {
            tasks.remove(&id);
        }
    }

    /// The session is over: what was told to it ends with its scope.
    pub(super) fn forget(&self, session: &Session) {
        self.0.lock().remove(session.id());
    }

    /// Whether a task that this session knows is still open.
    pub(super) fn is_busy(&self, session: &Session) -> bool {
        self.0.lock().get(session.id()).is_some_and(|tasks| !tasks.is_empty())
    }
}

/// Tells `session` about the task until it ends; `token` is that of the original call.
pub(super) fn follow(gate: &Arc<Gate>, guest: &Guest, watch: HandleWatch, token: Option<Value>) {
    let Some(session) = guest.session() else { return };
    let id = watch.now().id;
    if !gate.couriers.begin(session, id, gate.policy.serving.tasks_per_owner_max) {
        return;
    }
    let (gate, guest, told) = (Arc::clone(gate), guest.clone(), Arc::clone(session));
    session.scope().spawn("task news", async move {
        tokio::select! {
            () = news(&gate, &guest, &told, watch, token) => {}
            () = questions(&gate, &told, id) => {}
        }
        gate.couriers.end(&told, id);
    });
}

/// Says status, progress and the end of links, until the task is over.
async fn news(gate: &Gate, guest: &Guest, session: &Session, mut watch: HandleWatch, token: Option<Value>) {
    let mut told = Telling { token, task: None, progress: None, links: HashSet::new() };
    loop {
        let handle = watch.now();
        // Gone for this agent: it reads so when it asks.
        let Ok(task) = legacy_tasks::task(gate, guest, &handle).await else { return };
        let over = task.is_over();
        if let Some(progress) = told.grown(&handle).filter(|_| !over) {
            // A session without a stream misses it, here and below.
            drop(session.notify("notifications/progress", &progress).await);
        }
        for link in told.links_done(&handle) {
            drop(session.notify("notifications/elicitation/complete", &link).await);
        }
        let word = task.word;
        if told.is_new(&task) {
            drop(session.notify("notifications/tasks/status", &*task.raw).await);
            told.task = Some(task);
        }
        if over {
            return;
        }
        rest(gate, &mut watch, word).await;
    }
}

/// Waits for the next change; mere progress comes no closer together than the policy's rest.
async fn rest(gate: &Gate, watch: &mut HandleWatch, told: &'static str) {
    let until = Instant::now() + gate.policy.serving.push_rest;
    legacy_tasks::moved(watch).await;
    while bridge::legacy_word_of(&watch.now(), gate.clock.now()) == Some(told) {
        if tokio::time::timeout_at(until, watch.changed()).await.is_err() {
            return;
        }
    }
}

/// What a session was told of one task.
struct Telling {
    token: Option<Value>,
    task: Option<LegacyTask>,
    progress: Option<f64>,
    links: HashSet<RequestKey>,
}

impl Telling {
    fn is_new(&self, task: &LegacyTask) -> bool {
        self.task.as_ref().is_none_or(|told| told.raw.get() != task.raw.get())
    }

    /// Progress with the token of the original call, each state once and only when it grew (protocol.md §1.7).
    fn grown(&mut self, handle: &TaskHandle) -> Option<Map<String, Value>> {
        let progress = handle.progress.as_ref()?;
        let done = progress.done?;
        if self.progress.is_some_and(|told| done <= told) {
            return None;
        }
        let mut params = bridge::progress(self.token.as_ref()?, progress)?;
        params.insert("_meta".to_owned(), bridge::related(handle.id));
        self.progress = Some(done);
        Some(params)
    }

    /// Links whose pages were completed since.
    fn links_done(&mut self, handle: &TaskHandle) -> Vec<Value> {
        let is_done = |ask: &Ask, state: &RequestState| match (ask, state) {
            (Ask::Visit { .. }, RequestState::Confirmed(_)) => true,
            (Ask::Visit { .. } | Ask::Form { .. } | Ask::Sampling | Ask::Roots | Ask::Unsupported(_), _) => false,
        };
        let done = handle.requests.values().filter(|request| is_done(&request.ask, &request.state));
        done.filter(|request| self.links.insert(request.key.clone()))
            .map(|request| {
                let id = bridge::elicitation_id(handle.id, request);
                json!({"elicitationId": id, "_meta": bridge::related(handle.id)})
            })
            .collect()
    }
}

/// Asks what no `tasks/result` asks, on the standing stream. Ends with the news.
async fn questions(gate: &Gate, session: &Session, id: HandleId) {
    let Ok(Some(mut watch)) = asking::watch(gate, id).await else { return std::future::pending().await };
    loop {
        while asking::open_to_agent(&watch.now(), gate.clock.now()).is_empty() {
            watch.changed().await;
        }
        if session.door() == SessionTransport::Http {
            // A `tasks/result` is the better stream; it has this long to come.
            tokio::time::sleep(gate.policy.serving.question_patience).await;
        }
        session.reachable().await;
        let freed = gate.claims.freed();
        match asking::ask_next(gate, session, Stream::Standing, &watch.now()).await {
            Ok(Asked::Settled) => {}
            Ok(Asked::Nothing) => tokio::select! {
                () = freed => {}
                _ = watch.changed() => {}
            },
            // The stream was lost, or has too many questions, or the registry has no time: a later round asks again.
            Ok(Asked::StreamLost) | Err(_) => tokio::time::sleep(gate.policy.serving.question_patience).await,
        }
    }
}
