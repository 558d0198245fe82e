//! Listens to one server for one agent, and passes on what the agent subscribed to.
//!
//! After a gap the server is listened to again, and what may have been missed is announced as a change. Log messages are
//! passed on only from a connection that is the agent's own: untagged messages of a shared one could be about anybody
//! (ruling 14). Who listens is `listen.rs` and `session_listener.rs`.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use domain::ids::ServerId;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::gateway::conversion::meta::META_SUBSCRIPTION;
use crate::gateway::conversion::raw_json::with_meta;
use crate::gateway::conversion::{raw_json, result_dialect};
use crate::gateway::request_context::RequestContext;
use crate::gateway::servers::connection::{GatewayConnection, connect, own_request};
use crate::gateway::servers::identities;
use crate::gateway::state::GatewayState;
use crate::server::{ResponseStream, Session};
use crate::upstream::transport::link::{Answer, LinkError};
use crate::upstream::{Broadcast, SubscriptionFilter};
use crate::wire::raw_json::text_member;
use crate::wire::rewrite::{RewrittenPart, rewrite_raw};

const TOOLS_CHANGED: &str = "notifications/tools/list_changed";
const PROMPTS_CHANGED: &str = "notifications/prompts/list_changed";
const RESOURCES_CHANGED: &str = "notifications/resources/list_changed";
const RESOURCE_UPDATED: &str = "notifications/resources/updated";

/// Where notifications go.
pub(crate) enum NotificationSink<'a> {
    /// The stream of a subscription.
    Subscription {
        stream: &'a ResponseStream,
        /// The id of the subscription as JSON text.
        id: &'a str,
        /// Cancelled when the acknowledgement was sent, which comes before all notifications.
        acknowledged: &'a CancellationToken,
    },
    /// The standing stream of a session.
    Session(&'a Arc<Session>),
}

impl NotificationSink<'_> {
    /// Sends a notification. What a session must not miss waits until it has a stream.
    async fn send(&self, method: &str, params: &RawValue) {
        match self {
            Self::Subscription { stream, id, acknowledged } => {
                acknowledged.cancelled().await;
                drop(stream.notify(method, &*tagged(params, id)).await);
            }
            Self::Session(session) => {
                let older = result_dialect::session_params(params);
                while session.notify(method, older.as_deref().unwrap_or(params)).await.is_err() {
                    if method == "notifications/message" {
                        return;
                    }
                    session.reachable().await;
                }
            }
        }
    }

    /// Announces that these lists changed.
    pub(crate) async fn send_lists_changed(&self, lists: &SubscriptionFilter) {
        let Some(nothing) = raw_json::raw("{}".to_owned()) else { return };
        let lists =
            [(lists.tools, TOOLS_CHANGED), (lists.prompts, PROMPTS_CHANGED), (lists.resources, RESOURCES_CHANGED)];
        for (_, method) in lists.iter().filter(|(is_wanted, _)| *is_wanted) {
            self.send(method, &nothing).await;
        }
    }
}

/// Params with the subscription that they belong to.
pub(crate) fn tagged(params: &RawValue, id: &str) -> Box<RawValue> {
    let text = if params.get() == "null" { "{}" } else { params.get() };
    raw_json::raw(with_meta(text, META_SUBSCRIPTION, id)).unwrap_or_else(|| params.to_owned())
}

/// The lists that a subscriber may want, all of them.
pub(crate) const fn all_lists() -> SubscriptionFilter {
    SubscriptionFilter { tools: true, prompts: true, resources: true, uris: BTreeSet::new() }
}

/// Waits until the set of servers differs from `known`; returns the new ones.
pub(crate) async fn servers_changed(state: &GatewayState, known: &mut BTreeSet<ServerId>) -> Vec<ServerId> {
    let mut changes = state.engine.servers_watch();
    loop {
        let now = BTreeSet::from_iter(state.server_ids());
        if now != *known {
            let new = now.difference(known).copied().collect();
            *known = now;
            return new;
        }
        if changes.changed().await.is_err() {
            return std::future::pending().await;
        }
        // Several that are added together are announced together.
        tokio::time::sleep(state.policy.sweep_every).await;
    }
}

/// What is wanted of one server, over all its connections.
pub(crate) struct ServerListener<'a> {
    context: &'a RequestContext,
    server: ServerId,
    lists: SubscriptionFilter,
    /// The resources that are subscribed to, as they change.
    uris: watch::Receiver<BTreeSet<String>>,
    /// Told once what the server accepts.
    accepted: Option<oneshot::Sender<SubscriptionFilter>>,
    sink: &'a NotificationSink<'a>,
    /// Whether there was a connection before this one, so that something may have been missed.
    was_connected: bool,
}

/// Why listening on a connection ended.
#[derive(PartialEq, Eq)]
enum ListeningEnd {
    ConnectionLost,
    /// The subscriber is gone.
    Unsubscribed,
}

impl<'a> ServerListener<'a> {
    pub(crate) const fn new(
        context: &'a RequestContext,
        server: ServerId,
        lists: SubscriptionFilter,
        uris: watch::Receiver<BTreeSet<String>>,
        sink: &'a NotificationSink<'a>,
    ) -> Self {
        Self { context, server, lists, uris, accepted: None, sink, was_connected: false }
    }

    /// Tells `accepted` once what the server accepts.
    pub(crate) fn telling(self, accepted: oneshot::Sender<SubscriptionFilter>) -> Self {
        Self { accepted: Some(accepted), ..self }
    }

    /// Listens for as long as it is polled, or until the subscriber is gone.
    pub(crate) async fn run(mut self) {
        let policy = Arc::clone(&self.context.state.policy);
        let mut wait = Duration::ZERO;
        let mut ended = None;
        loop {
            // A connection that has ended must never be listened to again: every wait on it ends at once, so this loop
            // would spin and keep its runtime worker.
            let connection = connect(self.context, self.server).await.ok();
            let connection = connection.filter(|connection| ended != Some(connection.id()));
            let mut lived = Duration::ZERO;
            if let Some(connection) = connection {
                let begun = Instant::now();
                if self.listen(&connection).await == ListeningEnd::Unsubscribed {
                    return;
                }
                ended = Some(connection.id());
                lived = begun.elapsed();
            }
            // A server whose connections end as soon as they begin is connected to less and less often.
            wait = if lived > wait.max(policy.backoff_first) {
                Duration::ZERO
            } else {
                wait.saturating_mul(2).clamp(policy.backoff_first, policy.backoff_last)
            };
            tokio::time::sleep(wait).await;
        }
    }

    /// Listens on one connection until it is lost.
    async fn listen(&mut self, connection: &GatewayConnection) -> ListeningEnd {
        let notified = connection.notified_lists();
        let lists = SubscriptionFilter {
            tools: self.lists.tools && notified.tools,
            prompts: self.lists.prompts && notified.prompts,
            resources: self.lists.resources && notified.resources,
            uris: BTreeSet::new(),
        };
        let mut hearing = connection.forward.unsolicited();
        let uris = self.uris.borrow_and_update().clone();
        let mut legacy = LegacySubscriptions { connection, context: self.context, uris: BTreeSet::new() };
        let mut listening = connection.forward.listen(SubscriptionFilter { uris: uris.clone(), ..lists.clone() });
        let mut accepted = legacy.set(uris, listening.accepted().await).await;
        if let Some(told) = self.accepted.take() {
            // Whoever asked may be gone; then this future is dropped in a moment.
            drop(told.send(accepted.clone()));
        }
        if std::mem::replace(&mut self.was_connected, true) {
            self.announce_missed(&accepted).await;
        }
        loop {
            tokio::select! {
                said = hearing.next() => match said {
                    Broadcast::Said { method, params } => {
                        if self.is_wanted(connection, &accepted, &method, &params) {
                            let params = self.for_agent(&method, (*params).to_owned());
                            self.sink.send(&method, &params).await;
                        }
                    }
                    Broadcast::Missed => self.announce_missed(&accepted).await,
                    Broadcast::Over => return ListeningEnd::ConnectionLost,
                },
                changed = self.uris.changed() => {
                    if changed.is_err() {
                        return ListeningEnd::Unsubscribed;
                    }
                    let uris = self.uris.borrow_and_update().clone();
                    // The old subscription is dropped when the new one is here, so that nothing is missed in between.
                    let newer = connection.forward.listen(SubscriptionFilter { uris: uris.clone(), ..lists.clone() });
                    listening = newer;
                    accepted = legacy.set(uris, listening.accepted().await).await;
                }
            }
        }
    }

    fn for_agent(&self, method: &str, params: Box<RawValue>) -> Box<RawValue> {
        rewrite_raw(RewrittenPart::Params(method), params, &identities::for_agent(self.context, self.server, None))
    }

    fn is_wanted(
        &self,
        connection: &GatewayConnection,
        accepted: &SubscriptionFilter,
        method: &str,
        params: &RawValue,
    ) -> bool {
        match (method, self.sink) {
            (TOOLS_CHANGED, _) => accepted.tools,
            (PROMPTS_CHANGED, _) => accepted.prompts,
            (RESOURCES_CHANGED, _) => accepted.resources,
            (RESOURCE_UPDATED, _) => {
                // The server may name a part of the resource that was subscribed to.
                let uri = text_member(params.get(), "uri");
                uri.is_some_and(|uri| accepted.uris.iter().any(|wanted| uri.starts_with(wanted.as_str())))
            }
            (_, NotificationSink::Subscription { .. }) => false,
            ("notifications/message", NotificationSink::Session(session)) => {
                let level = text_member(params.get(), "level").unwrap_or_default();
                connection.own_agent().is_some() && self.context.state.sessions.wants_level(session, &level)
            }
            (_, NotificationSink::Session(_)) => connection.own_agent().is_some(),
        }
    }

    /// Announces as changed everything that may have changed while nobody listened.
    async fn announce_missed(&self, accepted: &SubscriptionFilter) {
        self.sink.send_lists_changed(accepted).await;
        for uri in &accepted.uris {
            let Ok(params) = raw_json::serialize(&json!({ "uri": uri })) else { continue };
            self.sink.send(RESOURCE_UPDATED, &self.for_agent(RESOURCE_UPDATED, params)).await;
        }
    }
}

/// The resources that are subscribed to on one connection of an older era, where each needs a request of its own.
struct LegacySubscriptions<'a> {
    connection: &'a GatewayConnection,
    context: &'a RequestContext,
    uris: BTreeSet<String>,
}

impl LegacySubscriptions<'_> {
    /// Subscribes to exactly these. Returns what is accepted; `listened` is what a modern server accepted.
    async fn set(&mut self, uris: BTreeSet<String>, listened: SubscriptionFilter) -> SubscriptionFilter {
        if self.connection.is_modern() {
            return listened;
        }
        if !self.connection.has("resources", "subscribe") {
            return SubscriptionFilter { uris: BTreeSet::new(), ..listened };
        }
        let gone: Vec<_> = self.uris.difference(&uris).cloned().collect();
        for uri in gone {
            self.uris.remove(&uri);
            unsubscribe(self.context, self.connection, &uri);
        }
        let (agent, server) = (self.context.agent, self.connection.server);
        for uri in uris {
            if self.uris.contains(&uri) {
                continue;
            }
            let sessions = &self.context.state.sessions;
            sessions.add_subscriber(agent, server, &uri);
            // Sent again on a new connection, where the server knows nothing of it; twice does no harm.
            if let Ok(Answer::Result(_)) = subscribe(self.context, self.connection, &uri).await {
                self.uris.insert(uri);
            } else {
                sessions.remove_subscriber(agent, server, &uri);
            }
        }
        SubscriptionFilter { uris: self.uris.clone(), ..listened }
    }
}

impl Drop for LegacySubscriptions<'_> {
    fn drop(&mut self) {
        for uri in &self.uris {
            unsubscribe(self.context, self.connection, uri);
        }
    }
}

/// `resources/subscribe`.
///
/// # Errors
/// When the server cannot be reached.
pub(crate) async fn subscribe(
    context: &RequestContext,
    connection: &GatewayConnection,
    uri: &str,
) -> Result<Answer, LinkError> {
    let params = raw_json::serialize(&json!({ "uri": uri })).ok();
    connection.request(context, "resources/subscribe", params).await
}

/// `resources/unsubscribe`, if this was the agent's last subscriber.
fn unsubscribe(context: &RequestContext, connection: &GatewayConnection, uri: &str) {
    if !context.state.sessions.remove_subscriber(context.agent, connection.server, uri) {
        return;
    }
    let params = raw_json::serialize(&json!({ "uri": uri })).ok();
    let forwarding = own_request(context, "resources/unsubscribe", params);
    let forward = Arc::clone(&connection.forward);
    context.state.scope.spawn("gateway unsubscribe", async move {
        // A server that is gone has no subscribers any more.
        drop(forward.request(forwarding).await);
    });
}
