//! `subscriptions/listen` of modern agents: one stream with list changes, resources and tasks.
//!
//! What each server accepts is gathered for the acknowledgement, which is sent first. Nothing is replayed or stored.

use std::collections::BTreeSet;

use domain::ids::ServerId;
use futures::StreamExt;
use futures::future::join_all;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tokio::sync::{oneshot, watch};
use tokio_util::sync::CancellationToken;

use crate::gateway::conversion::raw_json;
use crate::gateway::request_context::RequestContext;
use crate::gateway::servers::targets;
use crate::gateway::subscriptions::server_listener::{NotificationSink, ServerListener, servers_changed, tagged};
use crate::gateway::tasks::task_subscription::TaskSubscription;
use crate::server::rpc_error::{RequestError, RequestErrorKind};
use crate::server::{Request, ResponseStream};
use crate::upstream::SubscriptionFilter;

/// Serves one subscription for as long as its stream is open.
///
/// # Errors
/// When the filter is no object, too many are open, or the stream is gone.
pub(crate) async fn listen(
    context: &RequestContext,
    request: Request,
    tasks: Option<TaskSubscription>,
    stream: &ResponseStream,
) -> Result<Box<RawValue>, RequestError> {
    let wanted = request.params.value("notifications");
    let wanted = wanted.as_ref().and_then(Value::as_object);
    let wanted = wanted.ok_or_else(|| RequestError::params("`notifications` must be an object"))?;
    let too_many = || RequestError::new(RequestErrorKind::Internal, "too many subscriptions are open here");
    let _agents_slot = context.state.limits.admit_subscription(context.agent).ok_or_else(too_many)?;
    let _slot = context.state.subscriptions.clone().try_acquire_owned().map_err(|_| too_many())?;
    let filters = filters_by_server(context, wanted).await?;
    let id = request.id.json();
    let acknowledged = CancellationToken::new();
    let sink = NotificationSink::Subscription { stream, id: &id, acknowledged: &acknowledged };
    let (mut opened, mut listeners) = (Vec::new(), Vec::new());
    for (server, filter) in &filters {
        let (told, accepted) = oneshot::channel();
        // The sender is kept, because a listener ends when it is dropped.
        let (keep_alive, uris) = watch::channel(filter.uris.clone());
        opened.push(OpenedListener { server: *server, accepted, _keep_alive: keep_alive });
        listeners.push(ServerListener::new(context, *server, filter.clone(), uris, &sink).telling(told).run());
    }
    let listening = async {
        join_all(listeners).await;
        // Without servers to listen to, the stream stays open for tasks.
        std::future::pending::<()>().await;
    };
    tokio::pin!(listening);
    let (accepted_tasks, mut changes) = match tasks {
        Some(TaskSubscription { accepted, changes }) => (Some(accepted), changes),
        None => (None, futures::stream::pending().boxed()),
    };
    let acknowledgement = tokio::select! {
        acknowledgement = acknowledgement(context, wanted, &mut opened, accepted_tasks) => acknowledgement,
        () = &mut listening => return Err(gone()),
    };
    let params = tagged(&raw_json::serialize(&acknowledgement)?, &id);
    stream.notify("notifications/subscriptions/acknowledged", &*params).await.map_err(|_| gone())?;
    acknowledged.cancel();
    let sending_tasks = async {
        while let Some(task) = changes.next().await {
            stream.notify("notifications/tasks", &*tagged(&task, &id)).await.map_err(|_| gone())?;
        }
        std::future::pending::<Result<(), RequestError>>().await
    };
    let watching_servers = async {
        let mut known = filters.iter().map(|(server, _)| *server).collect();
        let lists = wanted_lists(wanted);
        loop {
            servers_changed(&context.state, &mut known).await;
            sink.send_lists_changed(&lists).await;
        }
    };
    tokio::select! {
        sent = sending_tasks => sent?,
        () = listening => {}
        () = watching_servers, if context.server.is_none() => {}
        () = stream.gone() => {}
    }
    Err(gone())
}

fn gone() -> RequestError {
    RequestError::new(RequestErrorKind::Internal, "the client's stream is gone")
}

fn wanted_lists(wanted: &Map<String, Value>) -> SubscriptionFilter {
    let is = |name: &str| wanted.get(name) == Some(&Value::Bool(true));
    SubscriptionFilter {
        tools: is("toolsListChanged"),
        prompts: is("promptsListChanged"),
        resources: is("resourcesListChanged"),
        uris: BTreeSet::new(),
    }
}

/// What the subscription wants of each server, with the servers' own URIs.
async fn filters_by_server(
    context: &RequestContext,
    wanted: &Map<String, Value>,
) -> Result<Vec<(ServerId, SubscriptionFilter)>, RequestError> {
    let lists = wanted_lists(wanted);
    let mut filters: Vec<_> = context.servers().into_iter().map(|server| (server, lists.clone())).collect();
    let uris = wanted.get("resourceSubscriptions").and_then(Value::as_array);
    let most = context.state.policy.serving.ids_per_subscription_max;
    if uris.is_some_and(|uris| uris.len() > most) {
        return Err(RequestError::params(format!("`notifications.resourceSubscriptions` may hold {most} URIs")));
    }
    for uri in uris.into_iter().flatten().filter_map(Value::as_str) {
        let (server, uri) = match context.server {
            Some(server) => (server, uri.to_owned()),
            // A URI of no server is not accepted; the others are.
            None => match targets::resource(context, uri).await {
                Ok(found) => found,
                Err(_) => continue,
            },
        };
        if let Some((_, filter)) = filters.iter_mut().find(|(other, _)| *other == server) {
            filter.uris.insert(uri);
        }
    }
    filters.retain(|(_, filter)| !filter.is_empty());
    Ok(filters)
}

struct OpenedListener {
    server: ServerId,
    accepted: oneshot::Receiver<SubscriptionFilter>,
    _keep_alive: watch::Sender<BTreeSet<String>>,
}

/// What is accepted: lists of which any server notifies, and resources of which their server does. A server that does not
/// answer in time is listened to all the same.
async fn acknowledgement(
    context: &RequestContext,
    wanted: &Map<String, Value>,
    opened: &mut [OpenedListener],
    tasks: Option<Vec<String>>,
) -> Value {
    let wait = context.state.policy.gateway.merge_wait;
    let answers = opened.iter_mut().map(|listener| async move {
        let answer = tokio::time::timeout(wait, &mut listener.accepted).await;
        (listener.server, answer.ok().and_then(Result::ok).unwrap_or_default())
    });
    let answers = join_all(answers).await;
    let mut accepted = Map::new();
    // A merged list changes with the set of servers, too, which the gateway itself notices.
    let asked = wanted_lists(wanted);
    let any = |is: fn(&SubscriptionFilter) -> bool| {
        answers.iter().any(|(_, filter)| is(filter)) || (context.server.is_none() && is(&asked))
    };
    for (name, is_accepted) in [
        ("toolsListChanged", any(|filter| filter.tools)),
        ("promptsListChanged", any(|filter| filter.prompts)),
        ("resourcesListChanged", any(|filter| filter.resources)),
    ] {
        if is_accepted && wanted.contains_key(name) {
            accepted.insert(name.to_owned(), true.into());
        }
    }
    if wanted.contains_key("resourceSubscriptions") {
        let uris = answers.iter().flat_map(|(server, filter)| {
            filter.uris.iter().map(|uri| match context.server {
                Some(_) => uri.clone(),
                None => targets::uri_for_agent(&context.state, *server, uri).unwrap_or_else(|| uri.clone()),
            })
        });
        accepted.insert("resourceSubscriptions".to_owned(), uris.collect::<Vec<_>>().into());
    }
    if let Some(tasks) = tasks {
        accepted.insert("taskIds".to_owned(), tasks.into());
    }
    json!({ "notifications": accepted })
}
