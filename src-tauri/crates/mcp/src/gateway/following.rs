//! Listening to one server for one agent: what it says to everybody, to the ear that asked for it.
//!
//! A server that was away is listened to again, and what may have been missed is told as a change. Log messages go only
//! where their connection is the agent's own: untagged words of a shared one could be about anybody (ruling 14). Resources
//! of the older eras are asked for one by one, and given back by the last who follows them (`standing.rs`). Who listens
//! is `subscribe.rs`.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use domain::ids::ServerId;
use domain::policy::Policy;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::era::{self, META_SUBSCRIPTION};
use super::forward::outward;
use super::guest::Guest;
use super::reach::{Reach, declares, reach};
use super::{Gate, service};
use crate::upstream::{Broadcast, Forwarding, SubscriptionFilter};
use crate::upstream::transport::link::Answer;
use crate::wire::raw_json::{member, text_member, with_members};
use crate::wire::rewrite::{Identity, MessagePart, rewrite_raw};
use crate::server::{ResponseStream, Session};

const TOOLS_CHANGED: &str = "notifications/tools/list_changed";
const PROMPTS_CHANGED: &str = "notifications/prompts/list_changed";
const RESOURCES_CHANGED: &str = "notifications/resources/list_changed";
const UPDATED: &str = "notifications/resources/updated";

/// Where what is heard goes.
pub(super) enum Ear<'a> {
    /// The stream of a subscription, its id as JSON text, and whether it was acknowledged: that comes first.
    ResponseStream(&'a ResponseStream, &'a str, &'a CancellationToken),
    /// The standing stream of a session.
    Session(&'a Arc<Session>),
}

impl Ear<'_> {
    /// Says it. What a session without a stream must not miss waits for one.
    async fn say(&self, method: &str, params: &RawValue) {
        match self {
            Self::ResponseStream(seat, id, acknowledged) => {
                acknowledged.cancelled().await;
                drop(seat.notify(method, &*tagged(params, id)).await);
            }
            Self::Session(session) => {
                let older = era::session_params(params);
                while session.notify(method, older.as_deref().unwrap_or(params)).await.is_err() {
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
pub(super) fn tagged(params: &RawValue, id: &str) -> Box<RawValue> {
    let text = if params.get() == "null" { "{}" } else { params.get() };
    let meta = with_members(member(text, "_meta").unwrap_or("{}"), &[(META_SUBSCRIPTION, id.into())], &[]);
    RawValue::from_string(with_members(text, &[("_meta", meta.into())], &[])).unwrap_or_else(|_| params.to_owned())
}

/// Listens to one server for as long as it is polled, and says what is wanted. Says first, once, what the server tells.
pub(super) async fn follow(
    gate: &Gate,
    guest: &Guest,
    server: ServerId,
    filter: SubscriptionFilter,
    wants: watch::Receiver<BTreeSet<String>>,
    opened: Option<oneshot::Sender<SubscriptionFilter>>,
    ear: &Ear<'_>,
) {
    let mut subscriber = Subscriber { gate, guest, filter, wants, opened, ear, was_here: false };
    let mut wait = Duration::ZERO;
    let mut ended = None;
    loop {
        // A connection that has ended must never be listened to again: every wait on it is over at once, so that this
        // loop would turn without end and keep its runtime worker.
        let there = reach(gate, guest, server).await.ok().filter(|there| ended != Some(there.connection()));
        let mut lived = Duration::ZERO;
        if let Some(there) = there {
            let begun = Instant::now();
            if subscriber.listen(&there).await == Ended::NothingWanted {
                return;
            }
            ended = Some(there.connection());
            lived = begun.elapsed();
        }
        // A server whose connections end as soon as they begin is not connected to in a circle for its listeners.
        wait = if lived > wait.max(gate.policy.backoff_first) { Duration::ZERO } else { longer(wait, &gate.policy) };
        tokio::time::sleep(wait).await;
    }
}

/// Why listening on a connection ended.
#[derive(PartialEq, Eq)]
enum Ended {
    /// The connection is over.
    Connection,
    /// Whoever wanted it is gone.
    NothingWanted,
}

/// What is wanted of one server, over all its connections.
struct Subscriber<'a> {
    gate: &'a Gate,
    guest: &'a Guest,
    filter: SubscriptionFilter,
    wants: watch::Receiver<BTreeSet<String>>,
    /// Told once what the first connection accepts.
    opened: Option<oneshot::Sender<SubscriptionFilter>>,
    ear: &'a Ear<'a>,
    /// Whether there was a connection before this one, so that something may have been missed.
    was_here: bool,
}

impl Subscriber<'_> {
    /// Listens on one connection until it is over.
    async fn listen(&mut self, there: &Reach) -> Ended {
        let Self { gate, guest, ear, .. } = *self;
        let server = there.server;
        let tells = told_by(there, &self.filter);
        let mut hearing = there.forward.unsolicited();
        let uris = self.wants.borrow_and_update().clone();
        let mut followed = Followed { gate, there, guest, uris: BTreeSet::new() };
        let mut listening = there.forward.listen(SubscriptionFilter { uris: uris.clone(), ..tells.clone() });
        let mut accepted = followed.take(uris, listening.accepted().await).await;
        if let Some(told) = self.opened.take() {
            // The one who asked may be gone, and this with it in a moment.
            drop(told.send(accepted.clone()));
        }
        if std::mem::replace(&mut self.was_here, true) {
            missed(gate, guest, server, &accepted, ear).await;
        }
        loop {
            tokio::select! {
                said = hearing.next() => match said {
                    Broadcast::Said { method, params } => {
                        if is_for(gate, there, &accepted, &method, &params, ear) {
                            let told = rewrite_raw(
                                MessagePart::Params(&method),
                                (*params).to_owned(),
                                &heard_as(gate, guest, server),
                            );
                            ear.say(&method, &told).await;
                        }
                    }
                    Broadcast::Missed => missed(gate, guest, server, &accepted, ear).await,
                    Broadcast::Over => return Ended::Connection,
                },
                changed = self.wants.changed() => {
                    if changed.is_err() {
                        return Ended::NothingWanted;
                    }
                    let uris = self.wants.borrow_and_update().clone();
                    let newer = there.forward.listen(SubscriptionFilter { uris: uris.clone(), ..tells.clone() });
                    // The older hold goes when the newer one is here, so that nothing is missed in between.
                    listening = newer;
                    accepted = followed.take(uris, listening.accepted().await).await;
                }
            }
        }
    }
}

/// Waits until other servers are behind the door to all of them than `known`; says which are new.
pub(super) async fn servers_changed(gate: &Gate, known: &mut BTreeSet<ServerId>) -> Vec<ServerId> {
    loop {
        tokio::time::sleep(gate.policy.sweep_every).await;
        let now: BTreeSet<ServerId> = gate.engine.servers().into_iter().map(|(server, _)| server).collect();
        if now != *known {
            let new = now.difference(known).copied().collect();
            *known = now;
            return new;
        }
    }
}

/// Tells that lists changed, of those kinds that are wanted.
pub(super) async fn changed(wanted: &SubscriptionFilter, ear: &Ear<'_>) {
    let Ok(nothing) = RawValue::from_string("{}".to_owned()) else { return };
    let lists =
        [(wanted.tools, TOOLS_CHANGED), (wanted.prompts, PROMPTS_CHANGED), (wanted.resources, RESOURCES_CHANGED)];
    for (_, method) in lists.iter().filter(|(is, _)| *is) {
        ear.say(method, &nothing).await;
    }
}

/// What a server tells by itself of what is wanted.
fn told_by(there: &Reach, filter: &SubscriptionFilter) -> SubscriptionFilter {
    SubscriptionFilter {
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
fn is_for(gate: &Gate, there: &Reach, accepted: &SubscriptionFilter, method: &str, params: &RawValue, ear: &Ear<'_>) -> bool {
    match (method, ear) {
        (TOOLS_CHANGED, _) => accepted.tools,
        (PROMPTS_CHANGED, _) => accepted.prompts,
        (RESOURCES_CHANGED, _) => accepted.resources,
        (UPDATED, _) => {
            // A part of a resource that is followed may be named instead of the whole.
            let uri = text_member(params.get(), "uri");
            uri.is_some_and(|uri| accepted.uris.iter().any(|wanted| uri.starts_with(wanted.as_str())))
        }
        (_, Ear::ResponseStream(..)) => false,
        ("notifications/message", Ear::Session(session)) => {
            let level = text_member(params.get(), "level").unwrap_or_default();
            there.seat().is_some() && gate.standing.wants(session, &level)
        }
        (_, Ear::Session(_)) => there.seat().is_some(),
    }
}

/// Tells as changed whatever may have changed unheard.
async fn missed(gate: &Gate, guest: &Guest, server: ServerId, accepted: &SubscriptionFilter, ear: &Ear<'_>) {
    changed(accepted, ear).await;
    for uri in &accepted.uris {
        let Ok(params) = service::result(&json!({ "uri": uri })) else { continue };
        let told = rewrite_raw(MessagePart::Params(UPDATED), params, &heard_as(gate, guest, server));
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
    async fn take(&mut self, uris: BTreeSet<String>, listened: SubscriptionFilter) -> SubscriptionFilter {
        if self.there.is_modern() {
            return listened;
        }
        if !self.there.has("resources", "subscribe") {
            return SubscriptionFilter { uris: BTreeSet::new(), ..listened };
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
        SubscriptionFilter { uris: self.uris.clone(), ..listened }
    }
}

impl Drop for Followed<'_> {
    fn drop(&mut self) {
        for uri in &self.uris {
            give_back(self.gate, self.guest, self.there, uri);
        }
    }
}

pub(super) fn about(gate: &Gate, guest: &Guest, method: &str, uri: &str) -> Forwarding {
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
