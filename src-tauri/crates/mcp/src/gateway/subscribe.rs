//! What servers say unasked, to those who asked to hear it.
//!
//! For `subscriptions/listen` of modern agents it is one stream with what was accepted, and tasks (`modern.rs`) on it; for
//! sessions of the older eras it is the standing stream. Listening itself is `following.rs`. Nothing is replayed, nothing
//! is stored.

use std::collections::BTreeSet;
use std::sync::Arc;

use domain::ids::ServerId;
use futures::StreamExt;
use futures::future::join_all;
use futures::stream::BoxStream;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tokio::sync::{oneshot, watch};
use tokio_util::sync::CancellationToken;

use super::following::{Ear, about, changed, follow, servers_changed, tagged};
use super::forward::{self, session_guest};
use super::guest::Guest;
use super::reach::reach;
use super::{Gate, lists, service, slices};
use crate::upstream::SubscriptionFilter;
use crate::upstream::transport::link::Answer;
use crate::server::rpc_error::{RequestError, RequestErrorKind};
use crate::server::{Request, ResponseStream, Session};

/// The part of a subscription that is about tasks.
pub(super) struct TaskPart {
    /// The ids that are accepted, for the acknowledgement.
    pub(super) accepted: Vec<String>,
    /// The params of each `notifications/tasks`, without `_meta`. Poll it from before the
    /// acknowledgement is sent: what happens in between is in it.
    pub(super) news: BoxStream<'static, Box<RawValue>>,
}

/// Serves one `subscriptions/listen`.
///
/// # Errors
/// When the filter is none, or too many are open.
pub(super) async fn listen(
    gate: &Arc<Gate>,
    guest: &Guest,
    request: Request,
    tasks: Option<TaskPart>,
    seat: &ResponseStream,
) -> Result<Box<RawValue>, RequestError> {
    let wanted = request.params.value("notifications");
    let wanted = wanted.as_ref().and_then(Value::as_object);
    let wanted = wanted.ok_or_else(|| RequestError::params("`notifications` must be an object"))?;
    let many = || RequestError::new(RequestErrorKind::Internal, "too many subscriptions are open here");
    let _share = gate.limits.subscribe(guest.agent).ok_or_else(many)?;
    let _place = gate.listens.clone().try_acquire_owned().map_err(|_| many())?;
    let wishes = wishes(gate, guest, wanted).await?;
    let id = request.id.json();
    let first = CancellationToken::new();
    let ear = Ear::ResponseStream(seat, &id, &first);
    let (mut opened, mut following) = (Vec::new(), Vec::new());
    for (server, filter) in &wishes {
        let (told, open) = oneshot::channel();
        // A sender that is kept, so that what is wanted stays what it is.
        let (keep, wants) = watch::channel(filter.uris.clone());
        opened.push((*server, open, keep));
        following.push(follow(gate, guest, *server, filter.clone(), wants, Some(told), &ear));
    }
    let following = async {
        join_all(following).await;
        // With nothing to follow, only tasks are told.
        std::future::pending::<()>().await;
    };
    tokio::pin!(following);
    let (accepted_tasks, mut news) = match tasks {
        Some(TaskPart { accepted, news }) => (Some(accepted), news),
        None => (None, futures::stream::pending().boxed()),
    };
    let acknowledged = acknowledgement(gate, guest, wanted, &mut opened, accepted_tasks);
    let ack = tokio::select! {
        ack = acknowledged => ack,
        () = &mut following => return Err(gone()),
    };
    let ack = service::result(&ack)?;
    seat.notify("notifications/subscriptions/acknowledged", &*tagged(&ack, &id)).await.map_err(|_| gone())?;
    first.cancel();
    let telling = async {
        while let Some(task) = news.next().await {
            seat.notify("notifications/tasks", &*tagged(&task, &id)).await.map_err(|_| gone())?;
        }
        // Nothing more happens to these tasks; the client or the end of the face closes the stream.
        std::future::pending::<Result<(), RequestError>>().await
    };
    let changing = async {
        let mut known = wishes.iter().map(|(server, _)| *server).collect();
        let wanted = general(wanted);
        loop {
            servers_changed(gate, &mut known).await;
            changed(&wanted, &ear).await;
        }
    };
    tokio::select! {
        told = telling => told?,
        () = following => {}
        () = changing, if guest.server.is_none() => {}
        () = seat.gone() => {}
    }
    Err(gone())
}

fn gone() -> RequestError {
    RequestError::new(RequestErrorKind::Internal, "the client's stream is gone")
}

/// What the subscription wants of lists.
fn general(wanted: &Map<String, Value>) -> SubscriptionFilter {
    let is = |name: &str| wanted.get(name) == Some(&Value::Bool(true));
    SubscriptionFilter {
        tools: is("toolsListChanged"),
        prompts: is("promptsListChanged"),
        resources: is("resourcesListChanged"),
        uris: BTreeSet::new(),
    }
}

/// What the subscription wants of each server, in the servers' words.
async fn wishes(gate: &Gate, guest: &Guest, wanted: &Map<String, Value>) -> Result<Vec<(ServerId, SubscriptionFilter)>, RequestError> {
    let general = general(wanted);
    let servers = match guest.server {
        Some(server) => vec![server],
        None => gate.engine.servers().into_iter().map(|(server, _)| server).collect(),
    };
    let mut wishes: Vec<_> = servers.into_iter().map(|server| (server, general.clone())).collect();
    let uris = wanted.get("resourceSubscriptions").and_then(Value::as_array);
    let most = gate.policy.serving.ids_per_subscription_max;
    if uris.is_some_and(|uris| uris.len() > most) {
        return Err(RequestError::params(format!("`notifications.resourceSubscriptions` may hold {most} URIs")));
    }
    for uri in uris.into_iter().flatten().filter_map(Value::as_str) {
        let (server, there) = match guest.server {
            Some(server) => (server, uri.to_owned()),
            // A URI of no server is not accepted; the others are.
            None => match lists::resource(gate, guest, uri).await {
                Ok(found) => found,
                Err(_) => continue,
            },
        };
        if let Some((_, filter)) = wishes.iter_mut().find(|(other, _)| *other == server) {
            filter.uris.insert(there);
        }
    }
    wishes.retain(|(_, filter)| !filter.is_empty());
    Ok(wishes)
}

type Opened = (ServerId, oneshot::Receiver<SubscriptionFilter>, watch::Sender<BTreeSet<String>>);

/// What is accepted: of lists what any server tells, of resources those whose server tells. Servers that do not answer
/// soon are followed all the same.
async fn acknowledgement(
    gate: &Gate,
    guest: &Guest,
    wanted: &Map<String, Value>,
    opened: &mut [Opened],
    tasks: Option<Vec<String>>,
) -> Value {
    let wait = gate.policy.gateway.merge_wait;
    let answers = opened.iter_mut().map(|(server, open, _)| async move {
        let answer = tokio::time::timeout(wait, open).await;
        (*server, answer.ok().and_then(Result::ok).unwrap_or_default())
    });
    let answers = join_all(answers).await;
    let mut told = Map::new();
    // A merged list changes with the set of servers, too, and that is ours to tell.
    let asked = general(wanted);
    let any = |is: fn(&SubscriptionFilter) -> bool| {
        answers.iter().any(|(_, filter)| is(filter)) || (guest.server.is_none() && is(&asked))
    };
    for (name, is) in [
        ("toolsListChanged", any(|filter| filter.tools)),
        ("promptsListChanged", any(|filter| filter.prompts)),
        ("resourcesListChanged", any(|filter| filter.resources)),
    ] {
        if is && wanted.contains_key(name) {
            told.insert(name.to_owned(), true.into());
        }
    }
    if wanted.contains_key("resourceSubscriptions") {
        let uris = answers.iter().flat_map(|(server, filter)| {
            filter.uris.iter().map(|uri| match guest.server {
                Some(_) => uri.clone(),
                None => gate.lists.uri_out(gate, *server, uri).unwrap_or_else(|| uri.clone()),
            })
        });
        told.insert("resourceSubscriptions".to_owned(), uris.collect::<Vec<_>>().into());
    }
    if let Some(tasks) = tasks {
        told.insert("taskIds".to_owned(), tasks.into());
    }
    json!({ "notifications": told })
}

/// `resources/subscribe` and `resources/unsubscribe` of a session.
///
/// # Errors
/// The server's own, raw.
pub(super) async fn resource(
    gate: &Arc<Gate>,
    guest: &Guest,
    request: Request,
    on: bool,
) -> Result<Box<RawValue>, RequestError> {
    let session = guest.session().ok_or_else(RequestError::no_method)?;
    let uri = request.params.text("uri").ok_or_else(|| RequestError::params("`uri` must be a text"))?;
    let (server, uri) = match guest.server {
        Some(_) if slices::is_result(&uri) => return Err(lists::unknown_resource()),
        Some(server) => (server, uri),
        None => lists::resource(gate, guest, &uri).await?,
    };
    let there = reach(gate, guest, server).await?;
    if on && !there.is_modern() {
        // The server's own word; it is asked once more by whoever follows it, which does no harm.
        let asked = there.forward.request(about(gate, guest, "resources/subscribe", &uri)).await;
        match asked.map_err(|failed| forward::unreached(gate, failed))? {
            Answer::Result(_) => {}
            Answer::Error(raw) => return Err(RequestError::raw(&raw)),
        }
    }
    begin(gate, session, server);
    gate.standing.follow(session, server, &uri, on);
    service::result(&json!({}))
}

/// A session can hear from now on: what its servers say unasked goes to its standing stream.
pub(super) fn session_began(gate: &Arc<Gate>, session: &Arc<Session>) {
    let Some(guest) = session_guest(session) else { return };
    let servers = match guest.server {
        Some(server) => vec![server],
        None => gate.engine.servers().into_iter().map(|(server, _)| server).collect(),
    };
    for server in &servers {
        begin(gate, session, *server);
    }
    if guest.server.is_some() {
        return;
    }
    let mut known: BTreeSet<ServerId> = servers.into_iter().collect();
    let (gate, session) = (Arc::clone(gate), Arc::clone(session));
    session.scope().clone().spawn("gateway servers", async move {
        let all = SubscriptionFilter { tools: true, prompts: true, resources: true, uris: BTreeSet::new() };
        loop {
            for new in servers_changed(&gate, &mut known).await {
                begin(&gate, &session, new);
            }
            changed(&all, &Ear::Session(&session)).await;
        }
    });
}

fn begin(gate: &Arc<Gate>, session: &Arc<Session>, server: ServerId) {
    let Some(wants) = gate.standing.begin(session, server) else { return };
    let (gate, session) = (Arc::clone(gate), Arc::clone(session));
    // Ends with the session, whose scope is cancelled then.
    session.scope().clone().spawn("gateway standing", async move {
        let Some(guest) = session_guest(&session) else { return };
        let all = SubscriptionFilter { tools: true, prompts: true, resources: true, uris: BTreeSet::new() };
        follow(&gate, &guest, server, all, wants, None, &Ear::Session(&session)).await;
    });
}

/// A session is over.
pub(super) fn session_over(gate: &Arc<Gate>, session: &Session) {
    gate.standing.end(session);
}
