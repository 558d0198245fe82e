//! Notifies sessions of 2025-11-25 about their tasks, and asks the tasks' questions, on the standing stream.
//!
//! A session is notified of a task from the moment it begins it or asks for it, so that a client that comes back after a
//! restart is notified again. Each notification has the newest state; states in between may be left out. A session
//! without a standing stream misses them and polls. Questions wait for a `tasks/result` stream first (protocol.md §9.15).

use std::collections::HashSet;
use std::sync::Arc;

use domain::ids::{HandleId, RequestKey};
use domain::task::TaskHandle;
use domain::task::input_request::{Ask, RequestState};
use engine::HandleWatch;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use crate::gateway::conversion::legacy_task::LegacyTask;
use crate::gateway::conversion::{input_requests, legacy_task};
use crate::gateway::request_context::RequestContext;
use crate::gateway::state::GatewayState;
use crate::gateway::tasks::elicitation::{ElicitationOutcome, ElicitationStream};
use crate::gateway::tasks::{elicitation, legacy_view};
use crate::server::{Session, SessionTransport};

/// Notifies the session about the task until it ends; `token` is that of the original call.
pub(crate) fn start(context: &RequestContext, watch: HandleWatch, token: Option<Value>) {
    let Some(session) = context.session() else { return };
    let id = watch.now().id;
    if !context.state.notified_tasks.add(session, id, context.state.policy.serving.tasks_per_owner_max) {
        return;
    }
    let (context, notified) = (context.clone(), Arc::clone(session));
    session.scope().spawn("task news", async move {
        tokio::select! {
            () = notify(&context, &notified, watch, token) => {}
            () = ask(&context.state, &notified, id) => {}
        }
        context.state.notified_tasks.remove(&notified, id);
    });
}

/// Sends status, progress and completed links, until the task is over.
async fn notify(context: &RequestContext, session: &Session, mut watch: HandleWatch, token: Option<Value>) {
    let mut sent = NotifiedState { token, task: None, progress: None, links: HashSet::new() };
    loop {
        let handle = watch.now();
        // The agent sees the task no more, and reads so when it asks.
        let Ok(task) = legacy_view::task(context, &handle).await else { return };
        let over = task.is_over();
        if let Some(progress) = sent.new_progress(&handle).filter(|_| !over) {
            // A session without a stream misses it, here and below.
            drop(session.notify("notifications/progress", &progress).await);
        }
        for link in sent.completed_links(&handle) {
            drop(session.notify("notifications/elicitation/complete", &link).await);
        }
        let status = task.status;
        if sent.is_new(&task) {
            drop(session.notify("notifications/tasks/status", &*task.raw).await);
            sent.task = Some(task);
        }
        if over {
            return;
        }
        wait(&context.state, &mut watch, status).await;
    }
}

/// Waits for the next change; mere progress is sent at most once in the interval of the policy.
async fn wait(state: &GatewayState, watch: &mut HandleWatch, sent: &'static str) {
    let until = Instant::now() + state.policy.serving.push_rest;
    legacy_view::changed(watch).await;
    while legacy_task::status_of(&watch.now(), state.clock.now()) == Some(sent) {
        if tokio::time::timeout_at(until, watch.changed()).await.is_err() {
            return;
        }
    }
}

/// What was sent to a session about one task.
struct NotifiedState {
    token: Option<Value>,
    task: Option<LegacyTask>,
    progress: Option<f64>,
    links: HashSet<RequestKey>,
}

impl NotifiedState {
    fn is_new(&self, task: &LegacyTask) -> bool {
        self.task.as_ref().is_none_or(|told| told.raw.get() != task.raw.get())
    }

    /// Progress with the token of the original call, each value once and only when it grew (protocol.md §1.7).
    fn new_progress(&mut self, handle: &TaskHandle) -> Option<Map<String, Value>> {
        let progress = handle.progress.as_ref()?;
        let done = progress.done?;
        if self.progress.is_some_and(|told| done <= told) {
            return None;
        }
        let mut params = legacy_task::progress(self.token.as_ref()?, progress)?;
        params.insert("_meta".to_owned(), legacy_task::related(handle.id));
        self.progress = Some(done);
        Some(params)
    }

    /// Links whose pages were completed since the last call.
    fn completed_links(&mut self, handle: &TaskHandle) -> Vec<Value> {
        let is_done = |ask: &Ask, state: &RequestState| match (ask, state) {
            (Ask::Visit { .. }, RequestState::Confirmed(_)) => true,
            (Ask::Visit { .. } | Ask::Form { .. } | Ask::Sampling | Ask::Roots | Ask::Unsupported(_), _) => false,
        };
        let done = handle.requests.values().filter(|request| is_done(&request.ask, &request.state));
        done.filter(|request| self.links.insert(request.key.clone()))
            .map(|request| {
                let id = input_requests::elicitation_id(handle.id, request);
                json!({"elicitationId": id, "_meta": legacy_task::related(handle.id)})
            })
            .collect()
    }
}

/// Asks what no `tasks/result` asks, on the standing stream. Never ends by itself.
async fn ask(state: &GatewayState, session: &Session, id: HandleId) {
    let Ok(Some(mut watch)) = state.watch(id).await else { return std::future::pending().await };
    loop {
        while elicitation::open_questions(&watch.now(), state.clock.now()).is_empty() {
            watch.changed().await;
        }
        if session.door() == SessionTransport::Http {
            // The stream of a `tasks/result` is better; it has this long to come.
            tokio::time::sleep(state.policy.serving.question_patience).await;
        }
        session.reachable().await;
        let released = state.elicitations.released();
        match elicitation::ask_next(state, session, ElicitationStream::Standing, &watch.now()).await {
            Ok(ElicitationOutcome::Settled) => {}
            Ok(ElicitationOutcome::Nothing) => tokio::select! {
                () = released => {}
                _ = watch.changed() => {}
            },
            // The stream was lost, or has too many questions, or the registry is busy: a later round asks again.
            Ok(ElicitationOutcome::StreamLost) | Err(_) => {
                tokio::time::sleep(state.policy.serving.question_patience).await
            }
        }
    }
}
