//! `subscriptions/listen`: pushes the whole task at every change, acknowledged first.
//!
//! Ids that are unknown are left out of the acknowledgement. Nothing is replayed: whoever listens looks once
//! afterwards. The stream stays open until its client closes it or the face ends.

use std::sync::Arc;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use serde_json::{Map, Value, json};

use super::super::desk::{Job, Owner};
use super::super::fault::{Fault, FaultKind};
use super::super::seat::Seat;
use super::super::service::{ModernClient, Request};
use super::follow::Follower;
use super::{Inner, wire};

/// The key of the subscription in `_meta` of everything on its stream.
const META_SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// Serves one subscription; only ends early when there is nobody to tell.
pub(super) async fn listen(
    front: &Arc<Inner>,
    client: &ModernClient,
    request: &Request,
    seat: Seat,
) -> Result<Value, Fault> {
    let wanted = request.params.value("notifications");
    let wanted = wanted.as_ref().and_then(Value::as_object);
    let wanted = wanted.ok_or_else(|| Fault::params("`notifications` must be an object"))?;
    let jobs = jobs(front, client, wanted)?;
    let many = || Fault::new(FaultKind::Internal, "too many subscriptions are open here");
    let _place = front.listens.clone().try_acquire_owned().map_err(|_| many())?;
    let id: Value = serde_json::from_str(&request.id.json()).unwrap_or_default();
    let meta = json!({META_SUBSCRIPTION: id});

    // Followed from before the acknowledgement: what happens in between is pushed.
    let rest = front.limits.push_rest;
    let mut waits: FuturesUnordered<_> =
        jobs.iter().flatten().map(|job| next(job.clone(), Follower::of(&**job, rest))).collect();
    let mut accepted = Map::new();
    if let Some(jobs) = &jobs {
        accepted.insert("taskIds".to_owned(), jobs.iter().map(|job| job.id()).collect());
    }
    let ack = json!({"notifications": accepted, "_meta": meta});
    drop(jobs);
    seat.notify("notifications/subscriptions/acknowledged", &ack).await.map_err(|_| gone())?;

    while let Some((job, follower)) = waits.next().await {
        let Some(follower) = follower else { continue };
        let sheet = job.sheet();
        let mut task = wire::modern_task(job.id(), &sheet, &front.desk.card());
        task.insert("_meta".to_owned(), meta.clone());
        seat.notify("notifications/tasks", &Value::Object(task)).await.map_err(|_| gone())?;
        if !sheet.stage.is_over() {
            waits.push(next(job, follower));
        }
    }
    // Nothing more can happen here; the client or the end of the face closes the stream.
    std::future::pending().await
}

/// The jobs to follow; `None` when the client does not ask for tasks.
fn jobs(front: &Inner, client: &ModernClient, wanted: &Map<String, Value>) -> Result<Option<Vec<Arc<dyn Job>>>, Fault> {
    let Some(ids) = wanted.get("taskIds") else { return Ok(None) };
    if !client.has_tasks() {
        return Err(Fault::needs_tasks());
    }
    let ids = ids.as_array().ok_or_else(|| Fault::params("`notifications.taskIds` must be a list"))?;
    let most = front.limits.ids_per_subscription_max;
    if ids.len() > most {
        return Err(Fault::params(format!("`notifications.taskIds` may hold {most} ids")));
    }
    let mut seen = std::collections::HashSet::new();
    let ids = ids.iter().filter_map(Value::as_str).filter(|id| seen.insert(*id));
    Ok(Some(ids.filter_map(|id| front.desk.job(&Owner::Bearer, id)).collect()))
}

async fn next(job: Arc<dyn Job>, mut follower: Follower) -> (Arc<dyn Job>, Option<Follower>) {
    let alive = follower.changed().await;
    (job, alive.then_some(follower))
}

fn gone() -> Fault {
    Fault::new(FaultKind::Internal, "the client's stream is gone")
}
