//! The part of a `subscriptions/listen` that is about tasks: each change that the agent can see.
//!
//! The stream of the subscription and everything else on it is `subscriptions/listen.rs`.

use std::collections::HashSet;

use domain::task::{AgentView, agent_view};
use engine::HandleWatch;
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::gateway::clients::usage::UsageReport;
use crate::gateway::request_context::RequestContext;
use crate::gateway::tasks::lookup;
use crate::gateway::tasks::modern_tasks::{TaskDelivery, whole};
use crate::server::Request;
use crate::server::rpc_error::RequestError;

pub(crate) struct TaskSubscription {
    /// The ids that are accepted, for the acknowledgement.
    pub(crate) accepted: Vec<String>,
    /// The params of each `notifications/tasks`, without `_meta`. Poll it from before the acknowledgement is sent, so that
    /// no change in between is lost. It never ends.
    pub(crate) changes: BoxStream<'static, Box<RawValue>>,
}

/// Subscribes to the tasks that the request names; `None` when it names none.
///
/// # Errors
/// When the client did not declare the extension.
pub(crate) async fn subscribe(
    context: &RequestContext,
    request: &Request,
) -> Result<Option<TaskSubscription>, RequestError> {
    let wanted = request.params.value("notifications");
    let Some(ids) = wanted.as_ref().and_then(|wanted| wanted.get("taskIds")) else { return Ok(None) };
    if !context.accepts_tasks() {
        return Err(RequestError::needs_tasks());
    }
    let ids = ids.as_array().ok_or_else(|| RequestError::params("`notifications.taskIds` must be a list"))?;
    let most = context.state.policy.serving.ids_per_subscription_max;
    if ids.len() > most {
        return Err(RequestError::params(format!("`notifications.taskIds` may hold {most} ids")));
    }
    let mut seen = HashSet::new();
    let (mut accepted, mut watched) = (Vec::new(), Vec::new());
    for id in ids.iter().filter_map(Value::as_str).filter(|id| seen.insert(*id)) {
        // Ids of no task of this agent are left out of the acknowledgement.
        let Ok(handle) = lookup::task(context, id).await else { continue };
        if let Ok(Some(watch)) = context.state.watch(handle.id).await {
            accepted.push(id.to_owned());
            watched.push(changes(context.clone(), watch));
        }
    }
    // The stream of a subscription stays open when all its tasks have ended.
    let changes = stream::select_all(watched).chain(stream::pending()).boxed();
    Ok(Some(TaskSubscription { accepted, changes }))
}

/// Each change of one task that its agent can see, up to its end.
fn changes(context: RequestContext, watch: HandleWatch) -> BoxStream<'static, Box<RawValue>> {
    let seen = agent_view(&watch.now(), context.state.clock.now());
    let is_over = seen.is_terminal() || seen == AgentView::Gone;
    let next = (!is_over).then_some((context, watch, seen));
    stream::unfold(next, |next| async {
        let (context, mut watch, seen) = next?;
        loop {
            let handle = watch.changed().await;
            let sight = agent_view(&handle, context.state.clock.now());
            if sight == AgentView::Gone {
                return None;
            }
            if sight == seen {
                continue;
            }
            let mut usage = UsageReport::new(&context);
            let Ok(task) = whole(&context, &handle, TaskDelivery::Pushed, &mut usage).await else { continue };
            usage.finish_push();
            let is_over = sight.is_terminal();
            return Some((task, (!is_over).then_some((context, watch, sight))));
        }
    })
    .boxed()
}
