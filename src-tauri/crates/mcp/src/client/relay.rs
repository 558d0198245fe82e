//! `subscriptions/listen` on behalf of agents: one stream with the union of what they asked for (2026; §2.7).
//!
//! Apart from the engine's own subscription (`subscription.rs`), because a list change must not wait for tasks and the
//! other way round. A new union opens a new stream first and closes the old one then. What is said comes to all readers
//! of the connection; here is only who asked for it. A server that refused is not asked again on this connection.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::connection::Connection;
use crate::dialect::extension2026;
use crate::link::{Outgoing, Tag};
use crate::view::Fields;

/// What somebody wants to hear.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    /// Changes of the tools.
    pub tools: bool,
    /// Changes of the prompts.
    pub prompts: bool,
    /// Changes of the resources.
    pub resources: bool,
    /// Updates of these resources, by the server's URIs.
    pub uris: BTreeSet<String>,
}

impl Filter {
    /// Whether it asks for anything.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn join(&mut self, other: &Self) {
        self.tools |= other.tools;
        self.prompts |= other.prompts;
        self.resources |= other.resources;
        self.uris.extend(other.uris.iter().cloned());
    }

    /// What of this is in `other` as well.
    #[must_use]
    pub fn within(&self, other: &Self) -> Self {
        Self {
            tools: self.tools && other.tools,
            prompts: self.prompts && other.prompts,
            resources: self.resources && other.resources,
            uris: self.uris.intersection(&other.uris).cloned().collect(),
        }
    }

    fn params(&self) -> Value {
        let mut wanted = serde_json::Map::new();
        for (name, is) in [
            ("toolsListChanged", self.tools),
            ("promptsListChanged", self.prompts),
            ("resourcesListChanged", self.resources),
        ] {
            if is {
                wanted.insert(name.into(), true.into());
            }
        }
        if !self.uris.is_empty() {
            wanted.insert("resourceSubscriptions".into(), json!(self.uris));
        }
        json!({ "notifications": wanted })
    }

    fn read(acknowledged: &Fields<'_>) -> Self {
        let Some(filter) = acknowledged.object_or_none("notifications") else { return Self::default() };
        let is = |name: &str| filter.flag(name) == Some(true);
        let uris = filter.list("resourceSubscriptions").unwrap_or_default();
        Self {
            tools: is("toolsListChanged"),
            prompts: is("promptsListChanged"),
            resources: is("resourcesListChanged"),
            uris: uris.into_iter().filter_map(|uri| serde_json::from_str(uri.get()).ok()).collect(),
        }
    }
}

/// What was accepted so far, and of which union.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Accepted {
    /// The newest union that was answered, by its number.
    round: u64,
    filter: Filter,
}

#[derive(Default)]
struct Wishes {
    next: u64,
    by_hold: BTreeMap<u64, Filter>,
    round: u64,
}

/// All holds of one connection.
pub(crate) struct Relay {
    wishes: Arc<Mutex<Wishes>>,
    wanted: Arc<watch::Sender<(u64, Filter)>>,
    accepted: watch::Sender<Accepted>,
    waiting: Mutex<Option<(Tag, oneshot::Sender<Filter>)>>,
}

impl Default for Relay {
    fn default() -> Self {
        Self {
            wishes: Arc::default(),
            wanted: Arc::new(watch::Sender::new((0, Filter::default()))),
            accepted: watch::Sender::new(Accepted::default()),
            waiting: Mutex::default(),
        }
    }
}

/// Keeps what it asked for asked for.
pub struct Listening {
    filter: Filter,
    hold: Option<Hold>,
}

struct Hold {
    id: u64,
    round: u64,
    wishes: Arc<Mutex<Wishes>>,
    wanted: Arc<watch::Sender<(u64, Filter)>>,
    accepted: watch::Receiver<Accepted>,
    /// Cancelled at the end of the connection: nobody answers a union after that.
    closed: CancellationToken,
}

impl Listening {
    /// Of a server that says it unasked.
    pub(crate) const fn idle(filter: Filter) -> Self {
        Self { filter, hold: None }
    }

    /// Waits until the server has answered, and says what of it the server will say: nothing, when the connection ends
    /// first. Cancel-safe.
    pub async fn accepted(&mut self) -> Filter {
        let Some(hold) = &mut self.hold else { return self.filter.clone() };
        let round = hold.round;
        tokio::select! {
            biased;
            accepted = hold.accepted.wait_for(|accepted| accepted.round >= round) => match accepted {
                Ok(accepted) => self.filter.within(&accepted.filter),
                Err(_) => Filter::default(),
            },
            () = hold.closed.cancelled() => Filter::default(),
        }
    }
}

impl Listening {
    /// What the server will say, if it has answered by now.
    #[must_use]
    pub fn accepted_by_now(&self) -> Option<Filter> {
        let Some(hold) = &self.hold else { return Some(self.filter.clone()) };
        let accepted = hold.accepted.borrow();
        (accepted.round >= hold.round).then(|| self.filter.within(&accepted.filter))
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        if let Some(hold) = &self.hold {
            let mut wishes = hold.wishes.lock();
            wishes.by_hold.remove(&hold.id);
            wishes.publish(&hold.wanted);
        }
    }
}

impl Wishes {
    fn publish(&mut self, wanted: &watch::Sender<(u64, Filter)>) -> u64 {
        let mut union = Filter::default();
        self.by_hold.values().for_each(|filter| union.join(filter));
        self.round += 1;
        let round = self.round;
        wanted.send_replace((round, union));
        round
    }
}

impl Relay {
    /// Asks for something more.
    pub(crate) fn hold(&self, filter: Filter, closed: CancellationToken) -> Listening {
        let mut wishes = self.wishes.lock();
        wishes.next += 1;
        let id = wishes.next;
        wishes.by_hold.insert(id, filter.clone());
        let round = wishes.publish(&self.wanted);
        drop(wishes);
        let (wishes, wanted) = (Arc::clone(&self.wishes), Arc::clone(&self.wanted));
        Listening {
            filter,
            hold: Some(Hold { id, round, wishes, wanted, accepted: self.accepted.subscribe(), closed }),
        }
    }

    /// An acknowledgement came. Returns whether it was for this stream.
    pub(crate) fn acknowledged(&self, params: &Fields<'_>, on: Option<Tag>) -> bool {
        let is_ours = |waiting: &mut (Tag, oneshot::Sender<Filter>)| on == Some(waiting.0);
        let Some((_, told)) = self.waiting.lock().take_if(is_ours) else { return false };
        let _ = told.send(Filter::read(params));
        true
    }

    fn settle(&self, round: u64, filter: Filter) {
        self.accepted.send_replace(Accepted { round, filter });
    }
}

/// A stream that was acknowledged.
struct Running {
    tag: Tag,
    asked: Filter,
    accepted: Filter,
    since: Instant,
    ended: oneshot::Receiver<()>,
}

impl Connection {
    async fn open_relay(self: &Arc<Self>, wanted: &Filter) -> Option<Running> {
        let tag = self.next_tag();
        let (told, acknowledged) = oneshot::channel();
        *self.relay.waiting.lock() = Some((tag, told));
        let (gone, mut ended) = oneshot::channel();
        let connection = Arc::clone(self);
        let params = wanted.params();
        self.scope.spawn("mcp relayed subscription", async move {
            let outgoing = Outgoing {
                method: extension2026::LISTEN.into(),
                params,
                verbatim: Vec::new(),
                tag,
                limit: None,
                param_headers: Vec::new(),
                agent_params: None,
            };
            // How it ends does not matter: the next one is opened all the same.
            drop(connection.link.request(outgoing).await);
            let _ = gone.send(());
        });
        let accepted = tokio::select! {
            biased;
            accepted = acknowledged => accepted.ok(),
            _ = &mut ended => None,
            () = tokio::time::sleep(self.policy.reply_limit) => None,
        };
        self.relay.waiting.lock().take_if(|(waiting, _)| *waiting == tag);
        let Some(accepted) = accepted else {
            drop(self.link.cancel(tag, None).await);
            return None;
        };
        Some(Running { tag, asked: wanted.clone(), accepted, since: Instant::now(), ended })
    }
}

/// Keeps the stream in step with what is wanted. Ends with the connection's scope.
pub(crate) async fn keep_relayed(connection: Arc<Connection>) {
    let policy = Arc::clone(&connection.policy);
    let mut wanted = connection.relay.wanted.subscribe();
    // Somebody may have asked before this ran for the first time.
    wanted.mark_changed();
    let mut running: Option<Running> = None;
    let mut wait = Duration::ZERO;
    let mut earliest = Instant::now();
    let mut retry = false;
    loop {
        tokio::select! {
            changed = wanted.changed() => if changed.is_err() { return },
            () = end_of(&mut running) => {
                let lived = running.take().map_or(Duration::ZERO, |old| old.since.elapsed());
                connection.unasked.missed();
                wait = longer(if lived > policy.backoff_last { Duration::ZERO } else { wait }, &policy);
                earliest = Instant::now() + wait;
            }
            () = tokio::time::sleep_until(earliest), if retry => {}
        }
        let (round, want) = wanted.borrow_and_update().clone();
        retry = running.is_none() && !want.is_empty() && Instant::now() < earliest;
        if retry {
            // Nothing is accepted until the time has come to ask again; nobody waits so long for an answer.
            connection.relay.settle(round, Filter::default());
            continue;
        }
        if want.is_empty() {
            if let Some(old) = running.take() {
                drop(connection.link.cancel(old.tag, None).await);
            }
            connection.relay.settle(round, Filter::default());
            continue;
        }
        if let Some(running) = running.as_ref().filter(|running| running.asked == want) {
            connection.relay.settle(round, running.accepted.clone());
            continue;
        }
        match connection.open_relay(&want).await {
            Some(new) => {
                connection.relay.settle(round, new.accepted.clone());
                if let Some(old) = running.replace(new) {
                    drop(connection.link.cancel(old.tag, None).await);
                }
            }
            None => {
                // What ran before goes on for those who had it; the newcomers are told that nothing was accepted.
                let kept = running.as_ref().map(|running| running.accepted.clone()).unwrap_or_default();
                connection.relay.settle(round, kept);
                wait = longer(wait, &policy);
                earliest = Instant::now() + wait;
                retry = true;
            }
        }
    }
}

async fn end_of(running: &mut Option<Running>) {
    match running {
        Some(running) => drop((&mut running.ended).await),
        None => std::future::pending().await,
    }
}

fn longer(wait: Duration, policy: &domain::policy::Policy) -> Duration {
    wait.saturating_mul(2).clamp(policy.backoff_first, policy.backoff_last)
}
