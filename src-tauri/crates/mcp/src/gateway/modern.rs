//! Tasks and discovery of 2026-07-28: read from memory and the registry, never from a server.
//!
//! What an agent sees is `domain::task::agent_view`, spelled by `wire.rs`. A client that did not declare the
//! extension in this very request has no tasks here (protocol.md §2.6). Answers and stops are recorded by the engine;
//! acknowledging says no more than that.

use std::sync::Arc;

use domain::task::decider::Decider;
use domain::task::{AgentView, TaskHandle, agent_view};
use domain::ids::HandleId;
use domain::task::payload::{Payload, PayloadKind};
use engine::{EngineError, HandleWatch};
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::budget::{self, Tap};
use super::guest::Guest;
use super::subscribe::TaskPart;
use super::wire::End;
use super::{Gate, find, merge, outcome, questions, service, wire};
use crate::server::rpc_error::{RequestError, TASKS_EXTENSION};
use crate::server::version;
use crate::server::{Request, RequestParams};

/// `server/discover`.
///
/// # Errors
/// When the one server behind the door cannot be reached.
pub(super) async fn discover(gate: &Arc<Gate>, guest: &Guest) -> Result<Box<RawValue>, RequestError> {
    let greeting = merge::greeting(gate, guest).await?;
    let mut capabilities = greeting.capabilities;
    // Of the extensions of servers only this one is routed, and we route it whatever stands behind (protocol.md §7.3).
    capabilities.insert("extensions".to_owned(), json!({TASKS_EXTENSION: {}}));
    capabilities.remove("tasks");
    for ours in ["tools", "resources"] {
        capabilities.entry(ours).or_insert_with(|| json!({}));
    }
    let mut found = json!({
        "supportedVersions": version::MODERN,
        "capabilities": capabilities,
        "ttlMs": 0,
        "cacheScope": "private",
    });
    if let (Some(instructions), Some(found)) = (greeting.instructions, found.as_object_mut()) {
        found.insert("instructions".to_owned(), instructions.into());
    }
    let found = wire::ours("complete", &found)?;
    budget::begins(gate, guest);
    Ok(found)
}

/// The task that a request names, from a client that declares the extension.
async fn named(gate: &Gate, guest: &Guest, params: &RequestParams) -> Result<Arc<TaskHandle>, RequestError> {
    if !guest.takes_tasks() {
        return Err(RequestError::needs_tasks());
    }
    find::named(gate, guest, params).await
}

/// `tasks/get`.
///
/// # Errors
/// When the task is unknown to this agent.
pub(super) async fn get(
    gate: &Arc<Gate>,
    guest: &Guest,
    params: &RequestParams,
    tap: &mut Tap<'_>,
) -> Result<Box<RawValue>, RequestError> {
    let handle = named(gate, guest, params).await?;
    whole(gate, guest, &handle, Way::Asked, tap).await
}

/// How a task comes to its agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// It looked.
    Asked,
    /// It is told.
    Pushed,
}

impl Way {
    const fn kind(self) -> Option<&'static str> {
        match self {
            Self::Asked => Some("complete"),
            Self::Pushed => None,
        }
    }

    /// What stands for the task and what it ended with are two things in the window. A result that was pushed and is
    /// then fetched came once: its client shows it once.
    fn shows(self, tap: &mut Tap<'_>, gate: &Gate, guest: &Guest, of: (&TaskHandle, &RawValue, Option<&End>)) {
        let (handle, bare, end) = of;
        let came_before = match self {
            Self::Asked => {
                let glance = gate.looks.at(gate, guest, handle);
                tap.shows(glance.look(Payload::new(bare.get())));
                glance.pushed
            }
            Self::Pushed => {
                gate.looks.told(gate, guest, handle, end.is_some());
                tap.handle(bare);
                false
            }
        };
        if let Some(end) = end.filter(|_| !came_before) {
            tap.ended(end);
        }
    }
}

/// The whole task as its agent sees it now.
async fn whole(
    gate: &Gate,
    guest: &Guest,
    handle: &TaskHandle,
    way: Way,
    tap: &mut Tap<'_>,
) -> Result<Box<RawValue>, RequestError> {
    tap.about(handle);
    let now = gate.clock.now();
    let sight = agent_view(handle, now);
    let write = |filling| wire::task(handle, way.kind(), filling, now, &gate.policy)?.end();
    let mut filling = wire::Filling::default();
    if handle.view.task().is_some() {
        filling.said = outcome::stored(gate, guest, handle, PayloadKind::Task).await?;
    }
    match &sight {
        AgentView::Completed | AgentView::Failed => {
            let end = match outcome::end(gate, guest, handle, &sight).await? {
                End::Result { text, form } => End::Result { text: wire::complete_text(text), form },
                End::Note(text) => End::Note(wire::complete_text(text)),
                End::Error(error) => End::Error(error),
            };
            let bare = write(wire::Filling { said: filling.said.clone(), ..wire::Filling::default() })?;
            way.shows(tap, gate, guest, (handle, &bare, Some(&end)));
            filling.end = Some(end);
            return write(filling);
        }
        AgentView::InputRequired { keys } => filling.asks = Some(questions::input_requests(gate, handle, keys).await?),
        AgentView::Working { .. } | AgentView::Cancelled | AgentView::Gone => {}
    }
    let task = write(filling)?;
    way.shows(tap, gate, guest, (handle, &task, None));
    Ok(task)
}

/// `tasks/update`.
///
/// # Errors
/// When the task is unknown to this agent.
pub(super) async fn update(gate: &Arc<Gate>, guest: &Guest, params: &RequestParams) -> Result<Box<RawValue>, RequestError> {
    let handle = named(gate, guest, params).await?;
    let responses = params.get("inputResponses").unwrap_or_default();
    questions::answer(gate, guest, &handle, responses).await?;
    wire::ours("complete", &json!({}))
}

/// `tasks/cancel`.
///
/// # Errors
/// When the task is unknown to this agent.
pub(super) async fn cancel(gate: &Arc<Gate>, guest: &Guest, params: &RequestParams) -> Result<Box<RawValue>, RequestError> {
    let handle = named(gate, guest, params).await?;
    ask_stop(gate, guest, handle.id).await?;
    wire::ours("complete", &json!({}))
}

/// Records that the agent wants the task stopped. One that is over, or was asked before, is acknowledged as well.
///
/// # Errors
/// When it cannot be recorded.
pub(super) async fn ask_stop(gate: &Gate, guest: &Guest, id: HandleId) -> Result<(), RequestError> {
    match gate.engine.cancel(id, Decider::Agent(guest.agent), None).await {
        Ok(()) | Err(EngineError::Refused(_)) => Ok(()),
        Err(error) => Err(service::fault(&error)),
    }
}

/// The part of a `subscriptions/listen` that is about tasks; `None` when it asks for none.
///
/// # Errors
/// When the client did not declare the extension.
pub(super) async fn task_part(gate: &Arc<Gate>, guest: &Guest, request: &Request) -> Result<Option<TaskPart>, RequestError> {
    let wanted = request.params.value("notifications");
    let Some(ids) = wanted.as_ref().and_then(|wanted| wanted.get("taskIds")) else { return Ok(None) };
    if !guest.takes_tasks() {
        return Err(RequestError::needs_tasks());
    }
    let ids = ids.as_array().ok_or_else(|| RequestError::params("`notifications.taskIds` must be a list"))?;
    let most = gate.policy.serving.ids_per_subscription_max;
    if ids.len() > most {
        return Err(RequestError::params(format!("`notifications.taskIds` may hold {most} ids")));
    }
    let mut seen = std::collections::HashSet::new();
    let mut accepted = Vec::new();
    let mut watched = Vec::new();
    for id in ids.iter().filter_map(Value::as_str).filter(|id| seen.insert(*id)) {
        // Ids that are none of this agent's are left out of the acknowledgement.
        let Ok(handle) = find::task(gate, guest, id).await else { continue };
        if let Ok(Some(watch)) = gate.engine.watch(handle.id).await {
            accepted.push(id.to_owned());
            watched.push(news(Arc::clone(gate), guest.clone(), watch));
        }
    }
    // Without an end of its own: the stream of a subscription stays open when all its tasks are over.
    let news = stream::select_all(watched).chain(stream::pending()).boxed();
    Ok(Some(TaskPart { accepted, news }))
}

/// What is said of one task: each change that its agent can see, up to its end.
fn news(gate: Arc<Gate>, guest: Guest, watch: HandleWatch) -> BoxStream<'static, Box<RawValue>> {
    let first = watch.now();
    let told = agent_view(&first, gate.clock.now());
    let over = told.is_terminal() || told == AgentView::Gone;
    let state = (!over).then_some((gate, guest, watch, told));
    stream::unfold(state, |state| async {
        let (gate, guest, mut watch, told) = state?;
        loop {
            let handle = watch.changed().await;
            let sight = agent_view(&handle, gate.clock.now());
            if sight == AgentView::Gone {
                return None;
            }
            if sight == told {
                continue;
            }
            let mut tap = Tap::new(&gate, &guest);
            let Ok(task) = whole(&gate, &guest, &handle, Way::Pushed, &mut tap).await else { continue };
            tap.pushed();
            let over = sight.is_terminal();
            return Some((task, (!over).then_some((gate, guest, watch, sight))));
        }
    })
    .boxed()
}
