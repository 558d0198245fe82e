//! When agents were last heard of, how much they called, and what follows when one is gone.
//!
//! Words of the moment are in memory and flushed in batches (ruling 6). An agent without a connection that is not
//! heard of for `orphan_after` is gone: its open tasks are marked, and unmarked when it is heard of again. After a
//! start every agent with open tasks counts as just gone. Who has access is in `roster.rs`.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use domain::task::{TaskHandle, Transition};
use domain::ids::AgentId;
use domain::client::learned_timeout::{AbandonedCall, LearnedTimeout, learn};
use domain::policy::plain_text;
use domain::ports::{AgentNote, RegistryError};
use domain::time::Timestamp;
use futures::stream::{self, StreamExt};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::core::Core;

/// Handles of one agent that are marked at a time, so that their commits share fsyncs.
const MARKED_AT_ONCE: usize = 64;

/// What is known of an agent at this moment, fresher than the registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Presence {
    /// When it was last heard of, in any run; `None` when never.
    pub seen: Option<Timestamp>,
    /// Calls of tools so far, in all.
    pub calls: u64,
    /// What its program says it is, `name version`.
    pub client: Option<String>,
    /// Whether a stream of it is open, or it was heard of within `connected_for`.
    pub connected: bool,
    /// The timeout that its program was seen to have, however long ago.
    pub learned_timeout: Option<LearnedTimeout>,
}

/// The open bridge of an agent. Dropped, the bridge has ended.
pub struct AgentBridge {
    core: Arc<Core>,
    agent: AgentId,
}

impl AgentBridge {
    pub(crate) fn open(core: &Arc<Core>, agent: AgentId) -> Self {
        let mut bridges = core.presences.bridges.lock();
        let open = bridges.entry(agent).or_insert(0_usize);
        *open = open.saturating_add(1);
        drop(bridges);
        Self { core: Arc::clone(core), agent }
    }
}

impl Drop for AgentBridge {
    fn drop(&mut self) {
        let mut bridges = self.core.presences.bridges.lock();
        let Some(open) = bridges.get_mut(&self.agent) else { return };
        *open = open.saturating_sub(1);
        if *open > 0 {
            return;
        }
        bridges.remove(&self.agent);
        drop(bridges);
        self.core.presences.left(&self.core, self.agent);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whereabouts {
    /// Connected.
    Here,
    /// Without a connection since then.
    Away(Instant),
    /// Away for so long that its tasks are orphaned.
    Gone,
}

#[derive(Debug)]
struct Word {
    /// Without whether it is connected, which is worked out when it is asked.
    presence: Presence,
    /// Its last word, until it says that it leaves.
    heard: Option<Instant>,
    whereabouts: Whereabouts,
    /// Not flushed yet.
    stale: bool,
    /// Its tasks are to be unmarked.
    back: bool,
    /// The last call that its program gave up.
    abandoned: Option<AbandonedCall>,
}

/// Whether a stream of an agent is open besides its bridges: a request in work, or a standing stream.
type HasStream = Arc<dyn Fn(AgentId) -> bool + Send + Sync>;

/// The words of all agents that were heard of in this run, or have open tasks.
#[derive(Default)]
pub(crate) struct Presences {
    words: Mutex<HashMap<AgentId, Word>>,
    has_stream: OnceLock<HasStream>,
    /// Open bridges of agents.
    bridges: Mutex<HashMap<AgentId, usize>>,
    /// Told when an agent is back.
    returned: Notify,
}

impl Presences {
    fn change<R>(&self, core: &Core, id: AgentId, change: impl FnOnce(&mut Word) -> R) -> R {
        let mut words = self.words.lock();
        let word = words.entry(id).or_insert_with(|| {
            let known = core.roster().get(id);
            let presence = Presence {
                seen: known.as_ref().and_then(|agent| agent.seen),
                calls: known.as_ref().map_or(0, |agent| agent.calls),
                client: known.as_ref().and_then(|agent| agent.client.clone()),
                connected: false,
                learned_timeout: known.as_ref().and_then(|agent| agent.learned_timeout),
            };
            // Marks of an earlier run are taken off with the first word.
            let whereabouts = Whereabouts::Away(Instant::now());
            Word { presence, heard: None, whereabouts, stale: false, back: true, abandoned: None }
        });
        change(word)
    }

    /// The agent said something.
    pub(crate) fn seen(&self, core: &Core, id: AgentId, client: Option<&str>) {
        let now = core.now();
        let returns = self.change(core, id, |word| {
            word.presence.seen = word.presence.seen.max(Some(now));
            word.heard = Some(Instant::now());
            word.stale = true;
            if let Some(client) = client {
                let client = plain_text(client, core.policy.gateway.client_name_chars);
                if word.presence.client.as_deref() != Some(client.as_str()) {
                    word.presence.client = Some(client);
                }
            }
            let before = std::mem::replace(&mut word.whereabouts, Whereabouts::Here);
            word.back |= before == Whereabouts::Gone;
            word.back && before != Whereabouts::Here
        });
        if returns {
            self.returned.notify_one();
        }
    }

    /// The agent calls a tool.
    pub(crate) fn called(&self, core: &Core, id: AgentId) {
        let now = core.now();
        self.change(core, id, |word| {
            word.presence.calls = word.presence.calls.saturating_add(1);
            word.presence.seen = word.presence.seen.max(Some(now));
            word.stale = true;
            if let Whereabouts::Away(since) = &mut word.whereabouts {
                *since = Instant::now();
            }
        });
    }

    /// Its program gave a held call up: learns the program's timeout where this shows one (decision 0020).
    pub(crate) fn call_abandoned(&self, core: &Core, id: AgentId, waited: Duration, is_timeout: bool) {
        let call = AbandonedCall { at: core.now(), waited, is_timeout };
        let learned = self.change(core, id, |word| {
            let learned = learn(word.abandoned.replace(call), call, &core.policy.gateway);
            if learned.is_some() {
                word.presence.learned_timeout = learned;
                word.stale = true;
            }
            learned
        });
        if let Some(timeout) = learned {
            tracing::info!(agent.id = %id, after = ?timeout.after, "the timeout of an agent's program was learned");
        }
    }

    /// The timeout that the agent's program was seen to have, while that counts.
    pub(crate) fn learned_timeout(&self, core: &Core, id: AgentId) -> Option<Duration> {
        let learned = match self.words.lock().get(&id) {
            Some(word) => word.presence.learned_timeout,
            None => core.roster().get(id).and_then(|agent| agent.learned_timeout),
        };
        learned.filter(|timeout| timeout.is_current(core.now(), &core.policy.gateway)).map(|timeout| timeout.after)
    }

    /// Its last connection or session ended.
    pub(crate) fn away(&self, core: &Core, id: AgentId) {
        let now = Instant::now();
        self.change(core, id, |word| {
            if word.whereabouts == Whereabouts::Here {
                word.whereabouts = Whereabouts::Away(now);
            }
        });
    }

    /// It said that it leaves: its bridge ended, or it closed its session.
    pub(crate) fn left(&self, core: &Core, id: AgentId) {
        self.change(core, id, |word| word.heard = None);
    }

    /// Who knows of open streams. The first one counts.
    pub(crate) fn set_has_stream(&self, has_stream: HasStream) {
        let _ = self.has_stream.set(has_stream);
    }

    /// What is known of an agent at this moment; `None` when it was not heard of in this run.
    pub(crate) fn get(&self, core: &Core, id: AgentId) -> Option<Presence> {
        let (presence, heard) = self.words.lock().get(&id).map(|word| (word.presence.clone(), word.heard))?;
        let has_bridge = self.bridges.lock().contains_key(&id);
        let has_stream = has_bridge || self.has_stream.get().is_some_and(|has_stream| has_stream(id));
        let is_recent = heard.is_some_and(|heard| heard.elapsed() < core.policy.gateway.connected_for);
        Some(Presence { connected: has_stream || is_recent, ..presence })
    }

    /// What the agent's program says it is, when it was heard of in this run.
    pub(crate) fn client(&self, id: AgentId) -> Option<String> {
        self.words.lock().get(&id).and_then(|word| word.presence.client.clone())
    }

    /// Those who are back, and those who are gone by now.
    fn moved(&self, core: &Core) -> (Vec<AgentId>, Vec<AgentId>) {
        let (now, patience) = (Instant::now(), core.policy.gateway.orphan_after);
        let (mut back, mut gone) = (Vec::new(), Vec::new());
        for (id, word) in self.words.lock().iter_mut() {
            match word.whereabouts {
                Whereabouts::Here => {
                    if std::mem::take(&mut word.back) {
                        back.push(*id);
                    }
                }
                Whereabouts::Away(since) => {
                    if now.saturating_duration_since(since) >= patience {
                        word.whereabouts = Whereabouts::Gone;
                        gone.push(*id);
                    }
                }
                Whereabouts::Gone => {}
            }
        }
        (back, gone)
    }

    fn notes(&self) -> Vec<AgentNote> {
        let mut words = self.words.lock();
        let note = |(id, word): (&AgentId, &mut Word)| {
            if !std::mem::take(&mut word.stale) {
                return None;
            }
            let Presence { seen, calls, client, connected: _, learned_timeout } = word.presence.clone();
            seen.map(|seen| AgentNote { id: *id, seen, calls, client, learned_timeout })
        };
        words.iter_mut().filter_map(note).collect()
    }

    fn notes_kept(&self, notes: &[AgentNote]) {
        let mut words = self.words.lock();
        for note in notes {
            if let Some(word) = words.get_mut(&note.id) {
                word.stale = true;
            }
        }
    }
}

/// Marks, unmarks and flushes, for ever.
pub(crate) async fn run(core: Arc<Core>) {
    for handle in core.ledger.all() {
        if let Some(agent) = handle.agent {
            core.presences.change(&core, agent, |_| {});
        }
    }
    loop {
        tokio::select! {
            () = core.presences.returned.notified() => {}
            () = tokio::time::sleep(core.policy.gateway.notes_flush) => {}
        }
        let (back, gone) = core.presences.moved(&core);
        for agent in back {
            mark(&core, agent, TaskHandle::agent_back).await;
        }
        for agent in gone {
            tracing::info!(agent.id = %agent, "an agent is gone; its open tasks go on");
            mark(&core, agent, TaskHandle::agent_gone).await;
        }
        flush(&core).await;
    }
}

async fn mark(core: &Core, agent: AgentId, step: fn(&TaskHandle, Timestamp) -> Transition) {
    let all = stream::iter(core.ledger.of_agent(agent)).map(|handle| async move {
        let stored = core.ledger.apply(handle.id, &step).await;
        if let Err(error) = stored {
            tracing::warn!(handle.id = %handle.id, %error, "that an agent came or went could not be stored");
        }
    });
    all.buffer_unordered(MARKED_AT_ONCE).collect::<()>().await;
}

/// Flushes what was heard of agents since the last flush.
pub(crate) async fn flush(core: &Core) {
    let notes = core.presences.notes();
    if notes.is_empty() {
        return;
    }
    match core.registry.note_agents(notes.clone()).await {
        Ok(()) | Err(RegistryError::Closed) => {}
        Err(error) => {
            tracing::warn!(%error, "when agents were last heard of could not be stored, trying again");
            core.presences.notes_kept(&notes);
        }
    }
}
