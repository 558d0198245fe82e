//! When agents were last active, how many calls they made, and what happens when one is gone.
//!
//! Kept in memory and flushed in batches (ruling 6). There is one definition of *connected* ([`Presence::connected`]): an
//! agent that is not connected and silent for `orphan_after` is gone, so that its open tasks are marked, and unmarked
//! when it returns. A session of which nothing is open is no connection. After a start every agent with open tasks counts
//! as just gone. Who has access is in `snapshot.rs`.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use domain::client::learned_timeout::{AbandonedCall, LearnedTimeout, learn};
use domain::ids::AgentId;
use domain::policy::plain_text;
use domain::ports::{AgentNote, RegistryError};
use domain::task::{TaskHandle, Transition};
use domain::time::Timestamp;
use futures::stream::{self, StreamExt};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::access::sessions::{AgentDoor, AgentSession, ListSessions};
use crate::core::EngineCore;
use crate::engine::Engine;

/// Handles of one agent that are marked at a time, so that their commits share fsyncs.
const MARKED_AT_ONCE: usize = 64;

/// What is known of an agent at this moment, fresher than the registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Presence {
    /// When it was last active, in any run; `None` when never.
    pub seen: Option<Timestamp>,
    /// Calls of tools so far, in all.
    pub calls: u64,
    /// What its program says it is, `name version`.
    pub client: Option<String>,
    /// Whether a stream of it is open (a bridge, a request, the stream of a session), or it was active within
    /// `connected_for`. It has a session ([`Engine::agent_sessions`]) exactly while it is.
    pub connected: bool,
    /// Since when it is connected without a break; `None` when it is not.
    pub connected_since: Option<Timestamp>,
    /// The door that its last request came through in this run.
    pub door: Option<AgentDoor>,
    /// The timeout that its program was seen to have, however long ago.
    pub learned_timeout: Option<LearnedTimeout>,
}

/// The open bridge of an agent. Dropped, the bridge has ended.
pub struct AgentBridge {
    core: Arc<EngineCore>,
    agent: AgentId,
    opened: Timestamp,
}

impl AgentBridge {
    pub(crate) fn open(core: &Arc<EngineCore>, agent: AgentId) -> Self {
        let (presences, opened) = (&core.access.presences, core.time.now());
        let was_connected = presences.is_connected(core, agent);
        presences.bridges.lock().entry(agent).or_default().push(opened);
        if !was_connected {
            presences.change(core, agent, |entry| entry.presence.connected_since = Some(opened));
        }
        Self { core: Arc::clone(core), agent, opened }
    }
}

impl Drop for AgentBridge {
    fn drop(&mut self) {
        let mut bridges = self.core.access.presences.bridges.lock();
        let Some(open) = bridges.get_mut(&self.agent) else { return };
        if let Some(at) = open.iter().position(|opened| *opened == self.opened) {
            open.swap_remove(at);
        }
        if !open.is_empty() {
            return;
        }
        bridges.remove(&self.agent);
        drop(bridges);
        self.core.access.presences.left(&self.core, self.agent);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reachability {
    Here,
    /// Without a connection since then.
    Away(Instant),
    /// Away for so long that its tasks are orphaned.
    Gone,
}

#[derive(Debug)]
struct PresenceEntry {
    /// Without whether it is connected, which is worked out when it is asked.
    presence: Presence,
    /// When it was last active, until it says that it leaves.
    last_active: Option<Instant>,
    reachability: Reachability,
    /// Not flushed yet.
    stale: bool,
    /// Its tasks are to be unmarked.
    back: bool,
    /// The last call that its program gave up.
    abandoned: Option<AbandonedCall>,
}

impl PresenceEntry {
    fn is_recent(&self, core: &EngineCore) -> bool {
        self.last_active.is_some_and(|active| active.elapsed() < core.policy.gateway.connected_for)
    }
}

/// Whether a stream of an agent is open besides its bridges: an open request, or a subscription.
type HasStream = Arc<dyn Fn(AgentId) -> bool + Send + Sync>;

/// Every agent that was active in this run, or has open tasks.
#[derive(Default)]
pub(crate) struct PresenceTable {
    entries: Mutex<HashMap<AgentId, PresenceEntry>>,
    has_stream: OnceLock<HasStream>,
    /// When the open bridges of agents were opened.
    bridges: Mutex<HashMap<AgentId, Vec<Timestamp>>>,
    sessions: OnceLock<ListSessions>,
    /// Notified when an agent is back.
    returned: Notify,
}

impl PresenceTable {
    fn change<R>(&self, core: &EngineCore, id: AgentId, change: impl FnOnce(&mut PresenceEntry) -> R) -> R {
        let mut entries = self.entries.lock();
        let entry = entries.entry(id).or_insert_with(|| {
            let known = core.access.snapshot().get(id);
            let presence = Presence {
                seen: known.as_ref().and_then(|agent| agent.seen),
                calls: known.as_ref().map_or(0, |agent| agent.calls),
                client: known.as_ref().and_then(|agent| agent.client.clone()),
                connected: false,
                connected_since: None,
                door: None,
                learned_timeout: known.as_ref().and_then(|agent| agent.learned_timeout),
            };
            // Marks of an earlier run are removed when it is first active.
            let reachability = Reachability::Away(Instant::now());
            PresenceEntry { presence, last_active: None, reachability, stale: false, back: true, abandoned: None }
        });
        change(entry)
    }

    pub(crate) fn called(&self, core: &EngineCore, id: AgentId, now: Timestamp) {
        self.change(core, id, |entry| {
            entry.presence.calls = entry.presence.calls.saturating_add(1);
            entry.presence.seen = entry.presence.seen.max(Some(now));
            entry.stale = true;
            if let Reachability::Away(since) = &mut entry.reachability {
                *since = Instant::now();
            }
        });
    }

    /// It said that it leaves: its bridge ended, or it closed its session.
    pub(crate) fn left(&self, core: &EngineCore, id: AgentId) {
        self.change(core, id, |entry| entry.last_active = None);
    }

    /// How to list open sessions. The first one counts.
    pub(super) fn set_sessions(&self, sessions: ListSessions) {
        let _ = self.sessions.set(sessions);
    }

    /// The open sessions of an agent, as whoever serves it lists them.
    pub(super) fn sessions(&self, id: AgentId) -> Vec<AgentSession> {
        self.sessions.get().map(|sessions| sessions(id)).unwrap_or_default()
    }

    /// When each open bridge of an agent was opened.
    pub(super) fn bridges(&self, id: AgentId) -> Vec<Timestamp> {
        self.bridges.lock().get(&id).cloned().unwrap_or_default()
    }

    /// Whether a stream of the agent is open.
    fn has_stream(&self, id: AgentId) -> bool {
        self.bridges.lock().contains_key(&id) || self.has_stream.get().is_some_and(|has_stream| has_stream(id))
    }

    /// Whether a stream of the agent is open, or it was active within `connected_for`.
    fn is_connected(&self, core: &EngineCore, id: AgentId) -> bool {
        let is_recent = self.entries.lock().get(&id).is_some_and(|entry| entry.is_recent(core));
        is_recent || self.has_stream(id)
    }

    /// How to find out about open streams. The first one counts.
    pub(crate) fn set_has_stream(&self, has_stream: HasStream) {
        let _ = self.has_stream.set(has_stream);
    }

    /// What the agent's program says it is, when it was active in this run.
    pub(crate) fn client(&self, id: AgentId) -> Option<String> {
        self.entries.lock().get(&id).and_then(|entry| entry.presence.client.clone())
    }

    /// Agents that are back, and agents that are gone by now.
    fn moved(&self, core: &EngineCore) -> (Vec<AgentId>, Vec<AgentId>) {
        let (now, patience) = (Instant::now(), core.policy.gateway.orphan_after);
        let (mut back, mut gone) = (Vec::new(), Vec::new());
        // Asked before the lock is taken: what answers has locks of its own.
        let known: Vec<AgentId> = self.entries.lock().keys().copied().collect();
        let streams: HashSet<AgentId> = known.into_iter().filter(|id| self.has_stream(*id)).collect();
        let knows_streams = self.has_stream.get().is_some();
        for (id, entry) in self.entries.lock().iter_mut() {
            if streams.contains(id) {
                // An open bridge is here, also between two requests.
                entry.back |= entry.reachability == Reachability::Gone;
                entry.reachability = Reachability::Here;
            }
            match entry.reachability {
                Reachability::Here => {
                    if std::mem::take(&mut entry.back) {
                        back.push(*id);
                    }
                    // An idle session keeps nobody here.
                    if knows_streams && !streams.contains(id) && !entry.is_recent(core) {
                        entry.reachability = Reachability::Away(entry.last_active.unwrap_or(now));
                    }
                }
                Reachability::Away(since) => {
                    if now.saturating_duration_since(since) >= patience {
                        entry.reachability = Reachability::Gone;
                        gone.push(*id);
                    }
                }
                Reachability::Gone => {}
            }
        }
        (back, gone)
    }

    fn notes(&self) -> Vec<AgentNote> {
        let mut entries = self.entries.lock();
        let note = |(id, entry): (&AgentId, &mut PresenceEntry)| {
            if !std::mem::take(&mut entry.stale) {
                return None;
            }
            let Presence { seen, calls, client, learned_timeout, connected: _, connected_since: _, door: _ } =
                entry.presence.clone();
            seen.map(|seen| AgentNote { id: *id, seen, calls, client, learned_timeout })
        };
        entries.iter_mut().filter_map(note).collect()
    }

    fn notes_kept(&self, notes: &[AgentNote]) {
        let mut entries = self.entries.lock();
        for note in notes {
            if let Some(entry) = entries.get_mut(&note.id) {
                entry.stale = true;
            }
        }
    }
}

/// Marks tasks of agents that left or returned, and flushes, for ever.
pub(crate) async fn run(core: Arc<EngineCore>) {
    for handle in core.ledger.all() {
        if let Some(agent) = handle.agent {
            core.access.presences.change(&core, agent, |_| {});
        }
    }
    loop {
        tokio::select! {
            () = core.access.presences.returned.notified() => {}
            () = core.time.next_interval(core.policy.gateway.notes_flush) => {}
        }
        let (back, gone) = core.access.presences.moved(&core);
        for agent in back {
            mark(&core, agent, TaskHandle::agent_back).await;
        }
        for agent in gone {
            tracing::info!(agent.id = %agent, "an agent is gone; its open tasks continue");
            mark(&core, agent, TaskHandle::agent_gone).await;
        }
        flush(&core).await;
    }
}

async fn mark(core: &EngineCore, agent: AgentId, step: fn(&TaskHandle, Timestamp) -> Transition) {
    let all = stream::iter(core.ledger.of_agent(agent)).map(|handle| async move {
        let stored = core.ledger.apply(handle.id, &step).await;
        if let Err(error) = stored {
            tracing::warn!(handle.id = %handle.id, %error, "that an agent came or went could not be stored");
        }
    });
    all.buffer_unordered(MARKED_AT_ONCE).collect::<()>().await;
}

/// Flushes what changed since the last flush.
pub(crate) async fn flush(core: &EngineCore) {
    let notes = core.access.presences.notes();
    if notes.is_empty() {
        return;
    }
    match core.registry.note_agents(notes.clone()).await {
        Ok(()) | Err(RegistryError::Closed) => {}
        Err(error) => {
            tracing::warn!(%error, "when agents were last active could not be stored, trying again");
            core.access.presences.notes_kept(&notes);
        }
    }
}

impl Engine {
    /// The agent was active; `client` is what its program says it is, when it says so.
    pub fn agent_seen(&self, id: AgentId, client: Option<&str>) {
        self.agent_active(id, client, None);
    }

    /// A request of the agent came through this door.
    pub fn agent_asked(&self, id: AgentId, client: Option<&str>, door: AgentDoor) {
        self.agent_active(id, client, Some(door));
    }

    fn agent_active(&self, id: AgentId, client: Option<&str>, door: Option<AgentDoor>) {
        let core = &self.core;
        let (now, active) = (core.time.now(), Instant::now());
        let (returns, may_begin) = core.access.presences.change(core, id, |entry| {
            let is_recent = |last: Instant| active.duration_since(last) < core.policy.gateway.connected_for;
            let may_begin = entry.presence.connected_since.is_none() || !entry.last_active.is_some_and(is_recent);
            entry.presence.seen = entry.presence.seen.max(Some(now));
            entry.last_active = Some(active);
            entry.presence.door = door.or(entry.presence.door);
            entry.stale = true;
            // Compared as it came first: it is the same with every request, and seldom needs to be made plain.
            if let Some(client) = client.filter(|client| entry.presence.client.as_deref() != Some(client)) {
                let client = plain_text(client, core.policy.gateway.client_name_chars);
                if entry.presence.client.as_deref() != Some(client.as_str()) {
                    entry.presence.client = Some(client);
                }
            }
            let before = std::mem::replace(&mut entry.reachability, Reachability::Here);
            entry.back |= before == Reachability::Gone;
            (entry.back && before != Reachability::Here, may_begin)
        });
        // Seldom: an agent that talks was heard of a moment ago.
        if may_begin {
            let has_stream = core.access.presences.has_stream(id);
            core.access.presences.change(core, id, |entry| {
                if !has_stream || entry.presence.connected_since.is_none() {
                    entry.presence.connected_since = Some(now);
                }
            });
        }
        if returns {
            core.access.presences.returned.notify_one();
        }
    }

    /// The agent's program gave up a call that was held for it for so long. `is_timeout`: it said that it ran out of time,
    /// and nothing that it received made it wait longer.
    pub fn call_abandoned(&self, id: AgentId, waited: Duration, is_timeout: bool) {
        let core = &self.core;
        let call = AbandonedCall { at: core.time.now(), waited, is_timeout };
        let learned = core.access.presences.change(core, id, |entry| {
            let learned = learn(entry.abandoned.replace(call), call, &core.policy.gateway);
            if learned.is_some() {
                entry.presence.learned_timeout = learned;
                entry.stale = true;
            }
            learned
        });
        if let Some(timeout) = learned {
            tracing::info!(agent.id = %id, after = ?timeout.after, "the timeout of an agent's program was learned");
        }
    }

    /// After this the agent's program gives a call up, as far as it showed.
    #[must_use]
    pub fn learned_timeout(&self, id: AgentId) -> Option<Duration> {
        let core = &self.core;
        let learned = match core.access.presences.entries.lock().get(&id) {
            Some(entry) => entry.presence.learned_timeout,
            None => core.access.snapshot().get(id).and_then(|agent| agent.learned_timeout),
        };
        learned.filter(|timeout| timeout.is_current(core.time.now(), &core.policy.gateway)).map(|timeout| timeout.after)
    }

    /// The agent's last connection, stream or session ended. When it stays silent for `gateway.orphan_after`, its open
    /// tasks are orphaned; its next activity takes that back.
    pub fn agent_gone(&self, id: AgentId) {
        let core = &self.core;
        let now = Instant::now();
        core.access.presences.change(core, id, |entry| {
            if entry.reachability == Reachability::Here {
                entry.reachability = Reachability::Away(now);
            }
        });
    }

    /// The agent closed its last connection or session itself: it is not connected any more.
    pub fn agent_left(&self, id: AgentId) {
        self.core.access.presences.left(&self.core, id);
    }

    /// A bridge of the agent is open until the value is dropped.
    #[must_use]
    pub fn agent_bridge(&self, id: AgentId) -> AgentBridge {
        AgentBridge::open(&self.core, id)
    }

    /// Says how to find out whether a stream of an agent is open. Whoever serves agents calls it once.
    pub fn set_agent_streams(&self, has_stream: impl Fn(AgentId) -> bool + Send + Sync + 'static) {
        self.core.access.presences.set_has_stream(Arc::new(has_stream));
    }

    /// What is known of an agent at this moment; `None` when it was not active in this run of the core.
    #[must_use]
    pub fn presence(&self, id: AgentId) -> Option<Presence> {
        let core = &self.core;
        let known =
            core.access.presences.entries.lock().get(&id).map(|entry| (entry.presence.clone(), entry.is_recent(core)));
        let (presence, is_recent) = known?;
        let connected = is_recent || core.access.presences.has_stream(id);
        let connected_since = presence.connected_since.filter(|_| connected);
        Some(Presence { connected, connected_since, ..presence })
    }
}
