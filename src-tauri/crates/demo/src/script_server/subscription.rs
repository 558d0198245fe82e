//! `subscriptions/listen`: acknowledges first, then sends the whole task at every change.
//!
//! Unknown ids are left out of the acknowledgement, and nothing is replayed: clients read each task once after
//! subscribing. The stream stays open until the client closes it or the server shuts down.

use std::sync::Arc;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use serde_json::{Map, Value, json};

use super::dialect_json;
use super::job_watch::JobWatch;
use super::state::ScriptState;
use crate::script_server::script::{JobOwner, ScriptJob};
use mcp::server::ResponseStream;
use mcp::server::rpc_error::{RequestError, RequestErrorKind};
use mcp::server::{ModernClient, Request};

/// The key of the subscription in `_meta` of everything on its stream.
const META_SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// Serves one subscription; only ends early when there is nobody to tell.
pub(super) async fn listen(
    state: &Arc<ScriptState>,
    client: &ModernClient,
    request: &Request,
    stream: ResponseStream,
) -> Result<Value, RequestError> {
    let wanted = request.params.value("notifications");
    let wanted = wanted.as_ref().and_then(Value::as_object);
    let wanted = wanted.ok_or_else(|| RequestError::params("`notifications` must be an object"))?;
    let jobs = jobs(state, client, wanted)?;
    let many = || RequestError::new(RequestErrorKind::Internal, "too many subscriptions are open here");
    let _place = state.listens.clone().try_acquire_owned().map_err(|_| many())?;
    let id: Value = serde_json::from_str(&request.id.json()).unwrap_or_default();
    let meta = json!({META_SUBSCRIPTION: id});

    // Followed from before the acknowledgement: what happens in between is pushed.
    let rest = state.limits.push_rest;
    let mut waits: FuturesUnordered<_> =
        jobs.iter().flatten().map(|job| next(job.clone(), JobWatch::of(&**job, rest))).collect();
    let mut accepted = Map::new();
    if let Some(jobs) = &jobs {
        accepted.insert("taskIds".to_owned(), jobs.iter().map(|job| job.id()).collect());
    }
    let ack = json!({"notifications": accepted, "_meta": meta});
    drop(jobs);
    stream.notify("notifications/subscriptions/acknowledged", &ack).await.map_err(|_| gone())?;

    while let Some((job, watch)) = waits.next().await {
        let Some(watch) = watch else { continue };
        let snapshot = job.snapshot();
        let mut task = dialect_json::modern_task(job.id(), &snapshot, &state.script.card());
        task.insert("_meta".to_owned(), meta.clone());
        stream.notify("notifications/tasks", &Value::Object(task)).await.map_err(|_| gone())?;
        if !snapshot.stage.is_over() {
            waits.push(next(job, watch));
        }
    }
    // Nothing more can happen here; the client or the end of the face closes the stream.
    std::future::pending().await
}

/// The jobs to follow; `None` when the client does not ask for tasks.
fn jobs(
    state: &ScriptState,
    client: &ModernClient,
    wanted: &Map<String, Value>,
) -> Result<Option<Vec<Arc<dyn ScriptJob>>>, RequestError> {
    let Some(ids) = wanted.get("taskIds") else { return Ok(None) };
    if !client.has_tasks() {
        return Err(RequestError::needs_tasks());
    }
    let ids = ids.as_array().ok_or_else(|| RequestError::params("`notifications.taskIds` must be an array"))?;
    let most = state.limits.ids_per_subscription_max;
    if ids.len() > most {
        return Err(RequestError::params(format!("`notifications.taskIds` may hold {most} ids")));
    }
    let mut seen = std::collections::HashSet::new();
    let ids = ids.iter().filter_map(Value::as_str).filter(|id| seen.insert(*id));
    Ok(Some(ids.filter_map(|id| state.script.job(&JobOwner::Bearer, id)).collect()))
}

async fn next(job: Arc<dyn ScriptJob>, mut watch: JobWatch) -> (Arc<dyn ScriptJob>, Option<JobWatch>) {
    let alive = watch.changed().await;
    (job, alive.then_some(watch))
}

fn gone() -> RequestError {
    RequestError::new(RequestErrorKind::Internal, "the client's stream is gone")
}
