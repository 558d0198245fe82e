//! What servers say unasked, to those who asked to hear it.
//!
//! For `subscriptions/listen` of modern agents it is one stream with what was accepted, and tasks (`modern.rs`) on it; for
//! sessions of the older eras it is the standing stream. A server that was away is listened to again, and what may have
//! been missed is told as a change. Log messages go only where their connection is the agent's own: untagged words of a
//! shared one could be about anybody (ruling 14). Nothing is replayed, nothing is stored.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use domain::ids::ServerId;
use domain::policy::Policy;
use futures::StreamExt;
use futures::future::join_all;
use futures::stream::BoxStream;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tokio::sync::{oneshot, watch};
use tokio_util::sync::CancellationToken;

use super::forward::{self, outward, session_guest};
use super::guest::Guest;
use super::reach::{Reach, declares, reach};
use super::{Gate, lists, service};
use crate::client::{Filter, Forwarding, Unasked};
use crate::link::Answer;
use crate::message::text::{member, text_member, with_members};
use crate::rewrite::{Half, Identity, rewrite_raw};
use crate::serve::fault::{Fault, FaultKind};
use crate::serve::{Request, Seat, Session};

/// The key of the subscription in `_meta` of everything on its stream.
const META_SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";
const TOOLS_CHANGED: &str = "notifications/tools/list_changed";
const PROMPTS_CHANGED: &str = "notifications/prompts/list_changed";
const RESOURCES_CHANGED: &str = "notifications/resources/list_changed";
const UPDATED: &str = "notifications/resources/updated";

/// The part of a subscription that is about tasks.
pub(super) struct TaskPart {
    /// The ids that are accepted, for the acknowledgement.
    pub(super) accepted: Vec<String>,
    /// The params of each `notifications/tasks`, without `_meta`. Poll it from before the
    /// acknowledgement is sent: what happens in between is in it.
    pub(super) news: BoxStream<'static, Box<RawValue>>,
}

/// Where what is heard goes.
enum Ear<'a> {
    /// The stream of a subscription, its id as JSON text, and whether it was acknowledged: that comes first.
    Seat(&'a Seat, &'a str, &'a CancellationToken),
    /// The standing stream of a session.
    Session(&'a Arc<Session>),
}

impl Ear<'_> {
    /// Says it. What a session without a stream must not miss waits for one.
    async fn say(&self, method: &str, params: &RawValue) {
        match self {
            Self::Seat(seat, id, acknowledged) => {
                acknowledged.cancelled().await;
                drop(seat.notify(method, &*tagged(params, id)).await);
            }
            Self::Session(session) => {
                while session.notify(method, params).await.is_err() {
                    if method == "notifications/message" {
                        return;
                    }
                    session.reachable().await;
                }
            }
        }
    }
}

/// Params with the subscription that they belong to.
fn tagged(params: &RawValue, id: &str) -> Box<RawValue> {
    let text = if params.get() == "null" { "{}" } else { params.get() };
    let meta = with_members(member(text, "_meta").unwrap_or("{}"), &[(META_SUBSCRIPTION, id.into())], &[]);
    RawValue::from_string(with_members(text, &[("_meta", meta.into())], &[])).unwrap_or_else(|_| params.to_owned())
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
    seat: &Seat,
) -> Result<Box<RawValue>, Fault> {
    let wanted = request.params.value("notifications");
    let wanted = wanted.as_ref().and_then(Value::as_object);
    let wanted = wanted.ok_or_else(|| Fault::params("`notifications` must be an object"))?;
    let many = || Fault::new(FaultKind::Internal, "too many subscriptions are open here");
    let _place = gate.listens.clone().try_acquire_owned().map_err(|_| many())?;
    let wishes = wishes(gate, guest, wanted).await?;
    let id = request.id.json();
    let first = CancellationToken::new();
    let ear = Ear::Seat(seat, &id, &first);
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
        std::future::pending::<Result<(), Fault>>().await
    };
    tokio::select! {
        told = telling => told?,
        () = following => {}
        () = seat.gone() => {}
    }
    Err(gone())
}

fn gone() -> Fault {
    Fault::new(FaultKind::Internal, "the client's stream is gone")
}

/// What the subscription wants of each server, in the servers' words.
async fn wishes(gate: &Gate, guest: &Guest, wanted: &Map<String, Value>) -> Result<Vec<(ServerId, Filter)>, Fault> {
    let is = |name: &str| wanted.get(name) == Some(&Value::Bool(true));
    let general = Filter {
        tools: is("toolsListChanged"),
        prompts: is("promptsListChanged"),
        resources: is("resourcesListChanged"),
        uris: BTreeSet::new(),
    };
    let servers = match guest.server {
        Some(server) => vec![server],
        None => gate.engine.servers().into_iter().map(|(server, _)| server).collect(),
    };
    let mut wishes: Vec<_> = servers.into_iter().map(|server| (server, general.clone())).collect();
    let uris = wanted.get("resourceSubscriptions").and_then(Value::as_array);
    let most = gate.policy.serving.ids_per_subscription_max;
    if uris.is_some_and(|uris| uris.len() > most) {
        return Err(Fault::params(format!("`notifications.resourceSubscriptions` may hold {most} URIs")));
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

type Opened = (ServerId, oneshot::Receiver<Filter>, watch::Sender<BTreeSet<String>>);

/// What is accepted: of lists what any server tells, of resources those whose server tells. Servers that do not answer
/// soon are followed all the same.
async fn acknowledgement(
    gate: &Gate,
    guest: &Guest,
    wanted: &Map<String, Value>,
    opened: &mut Vec<Opened>,
    tasks: Option<Vec<String>>,
) -> Value {
    let wait = gate.policy.gateway.merge_wait;
    let answers = opened.iter_mut().map(|(server, open, _)| async move {
        let answer = tokio::time::timeout(wait, open).await;
        (*server, answer.ok().and_then(Result::ok).unwrap_or_default())
    });
    let answers = join_all(answers).await;
    let mut told = Map::new();
    let any = |is: fn(&Filter) -> bool| answers.iter().any(|(_, filter)| is(filter));
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

/// Listens to one server for as long as it is polled, and says what is wanted. Says first, once, what the server tells.
async fn follow(
    gate: &Gate,
    guest: &Guest,
    server: ServerId,
    filter: Filter,
    mut wants: watch::Receiver<BTreeSet<String>>,
    mut opened: Option<oneshot::Sender<Filter>>,
    ear: &Ear<'_>,
) {
    let mut wait = Duration::ZERO;
    let mut was_here = false;
    loop {
        let Ok(there) = reach(gate, guest, server).await else {
            wait = longer(wait, &gate.policy);
            tokio::time::sleep(wait).await;
            continue;
        };
        wait = Duration::ZERO;
        let tells = told_by(&there, &filter);
        let mut hearing = there.forward.unsolicited();
        let uris = wants.borrow_and_update().clone();
        let mut followed = Followed { gate, there: &there, guest, uris: BTreeSet::new() };
        let mut listening = there.forward.listen(Filter { uris: uris.clone(), ..tells.clone() });
        let mut accepted = followed.take(uris, listening.accepted().await).await;
        if let Some(told) = opened.take() {
            // The one who asked may be gone, and this with it in a moment.
            drop(told.send(accepted.clone()));
        }
        if std::mem::replace(&mut was_here, true) {
            missed(gate, guest, server, &accepted, ear).await;
        }
        loop {
            tokio::select! {
                said = hearing.next() => match said {
                    Unasked::Said { method, params } => {
                        if is_for(gate, &there, &accepted, &method, &params, ear) {
                            let told = rewrite_raw(
                                Half::Params(&method),
                                (*params).to_owned(),
                                &heard_as(gate, guest, server),
                            );
                            ear.say(&method, &told).await;
                        }
                    }
                    Unasked::Missed => missed(gate, guest, server, &accepted, ear).await,
                    Unasked::Over => break,
                },
                changed = wants.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    let uris = wants.borrow_and_update().clone();
                    let newer = there.forward.listen(Filter { uris: uris.clone(), ..tells.clone() });
                    // The older hold goes when the newer one is here, so that nothing is missed in between.
                    listening = newer;
                    accepted = followed.take(uris, listening.accepted().await).await;
                }
            }
        }
    }
}

/// What a server tells by itself of what is wanted.
fn told_by(there: &Reach, filter: &Filter) -> Filter {
    Filter {
        tools: filter.tools && there.has("tools", "listChanged"),
        prompts: filter.prompts && there.has("prompts", "listChanged"),
        resources: filter.resources && there.has("resources", "listChanged"),
        uris: BTreeSet::new(),
    }
}

fn longer(wait: Duration, policy: &Policy) -> Duration {
    wait.saturating_mul(2).clamp(policy.backoff_first, policy.backoff_last)
}

/// What is said to all, in the agent's identities.
fn heard_as<'a>(gate: &'a Gate, guest: &'a Guest, server: ServerId) -> impl Fn(Identity, &str) -> Option<String> + 'a {
    outward(gate, guest, server, None)
}

/// Whether it is wanted here.
fn is_for(gate: &Gate, there: &Reach, accepted: &Filter, method: &str, params: &RawValue, ear: &Ear<'_>) -> bool {
    match (method, ear) {
        (TOOLS_CHANGED, _) => accepted.tools,
        (PROMPTS_CHANGED, _) => accepted.prompts,
        (RESOURCES_CHANGED, _) => accepted.resources,
        (UPDATED, _) => {
            // A part of a resource that is followed may be named instead of the whole.
            let uri = text_member(params.get(), "uri");
            uri.is_some_and(|uri| accepted.uris.iter().any(|wanted| uri.starts_with(wanted.as_str())))
        }
        (_, Ear::Seat(..)) => false,
        ("notifications/message", Ear::Session(session)) => {
            let level = text_member(params.get(), "level").unwrap_or_default();
            there.seat().is_some() && gate.standing.wants(session, &level)
        }
        (_, Ear::Session(_)) => there.seat().is_some(),
    }
}

/// Tells as changed whatever may have changed unheard.
async fn missed(gate: &Gate, guest: &Guest, server: ServerId, accepted: &Filter, ear: &Ear<'_>) {
    let changed =
        [(accepted.tools, TOOLS_CHANGED), (accepted.prompts, PROMPTS_CHANGED), (accepted.resources, RESOURCES_CHANGED)];
    let Ok(nothing) = RawValue::from_string("{}".to_owned()) else { return };
    for (_, method) in changed.iter().filter(|(is, _)| *is) {
        ear.say(method, &nothing).await;
    }
    for uri in &accepted.uris {
        let Ok(params) = service::result(&json!({ "uri": uri })) else { continue };
        let told = rewrite_raw(Half::Params(UPDATED), params, &heard_as(gate, guest, server));
        ear.say(UPDATED, &told).await;
    }
}

/// The resources that are followed on one connection. In the older eras each is asked for and given back.
struct Followed<'a> {
    gate: &'a Gate,
    there: &'a Reach,
    guest: &'a Guest,
    uris: BTreeSet<String>,
}

impl Followed<'_> {
    /// Follows exactly these from now on; `listened` is what a modern server accepted. Returns what is told.
    async fn take(&mut self, uris: BTreeSet<String>, listened: Filter) -> Filter {
        if self.there.is_modern() {
            return listened;
        }
        if !self.there.has("resources", "subscribe") {
            return Filter { uris: BTreeSet::new(), ..listened };
        }
        let gone: Vec<_> = self.uris.difference(&uris).cloned().collect();
        for uri in gone {
            self.uris.remove(&uri);
            give_back(self.gate, self.guest, self.there, &uri);
        }
        for uri in uris {
            if self.uris.contains(&uri) {
                continue;
            }
            self.gate.standing.one_more(self.guest.agent, self.there.server, &uri);
            // Asked again on a new connection: there the server knows nothing of it, and twice does no harm.
            let asked = self.there.forward.request(about(self.gate, self.guest, "resources/subscribe", &uri)).await;
            if let Ok(Answer::Result(_)) = asked {
                self.uris.insert(uri);
            } else {
                self.gate.standing.one_less(self.guest.agent, self.there.server, &uri);
            }
        }
        Filter { uris: self.uris.clone(), ..listened }
    }
}

impl Drop for Followed<'_> {
    fn drop(&mut self) {
        for uri in &self.uris {
            give_back(self.gate, self.guest, self.there, uri);
        }
    }
}

fn about(gate: &Gate, guest: &Guest, method: &str, uri: &str) -> Forwarding {
    Forwarding {
        method: method.to_owned(),
        params: service::result(&json!({ "uri": uri })).ok(),
        declares: declares(guest),
        heard: None,
        wants_progress: false,
        limit: Some(gate.policy.reply_limit),
    }
}

/// One less follows it; the last one tells the server.
fn give_back(gate: &Gate, guest: &Guest, there: &Reach, uri: &str) {
    if !gate.standing.one_less(guest.agent, there.server, uri) {
        return;
    }
    let forward = Arc::clone(&there.forward);
    let forwarding = about(gate, guest, "resources/unsubscribe", uri);
    gate.scope.spawn("gateway unsubscribe", async move {
        // A server that is gone follows nothing any more.
        drop(forward.request(forwarding).await);
    });
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
) -> Result<Box<RawValue>, Fault> {
    let session = guest.session().ok_or_else(Fault::no_method)?;
    let uri = request.params.text("uri").ok_or_else(|| Fault::params("`uri` must be a text"))?;
    let (server, uri) = match guest.server {
        Some(server) => (server, uri),
        None => lists::resource(gate, guest, &uri).await?,
    };
    let there = reach(gate, guest, server).await?;
    if on && !there.is_modern() {
        // The server's own word; it is asked once more by whoever follows it, which does no harm.
        let asked = there.forward.request(about(gate, guest, "resources/subscribe", &uri)).await;
        match asked.map_err(|failed| forward::unreached(gate, failed))? {
            Answer::Result(_) => {}
            Answer::Error(raw) => return Err(Fault::raw(&raw)),
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
    for server in servers {
        begin(gate, session, server);
    }
}

fn begin(gate: &Arc<Gate>, session: &Arc<Session>, server: ServerId) {
    let Some(wants) = gate.standing.begin(session, server) else { return };
    let (gate, session) = (Arc::clone(gate), Arc::clone(session));
    // Ends with the session, whose scope is cancelled then.
    session.scope().clone().spawn("gateway standing", async move {
        let Some(guest) = session_guest(&session) else { return };
        let all = Filter { tools: true, prompts: true, resources: true, uris: BTreeSet::new() };
        follow(&gate, &guest, server, all, wants, None, &Ear::Session(&session)).await;
    });
}

/// A session is over.
pub(super) fn session_over(gate: &Arc<Gate>, session: &Session) {
    gate.standing.end(session);
}
