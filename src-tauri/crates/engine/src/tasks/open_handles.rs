//! The open handles in memory, indexed by connection, agent, trace and server.
//!
//! Bookkeeping under the ledger's lock. Whose a handle is and its trace never change, and where it lives only when it
//! leaves the gate, so an index is touched when a handle comes or goes, or leaves.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::Hash;
use std::sync::Arc;

use domain::ids::{AgentId, HandleId, ServerId};
use domain::task::TaskHandle;
use domain::task::status::Miss;
use domain::time::Timestamp;

use crate::connections::connection_key::ConnectionKey;

/// Polls of a task that failed in a row, until now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailingPolls {
    /// How many they are, from 1.
    pub count: u32,
    /// When the first of them failed.
    pub since: Timestamp,
    /// Why the last one did.
    pub last: Miss,
}

/// One open handle.
pub(crate) struct OpenHandle {
    /// As last committed, with contact fresher than the registry's.
    pub(crate) handle: Arc<TaskHandle>,
    /// When it is polled next.
    pub(crate) next_poll: Option<Timestamp>,
    /// Its polls fail. In memory only: a poll that fails is no commit (ruling 6).
    pub(crate) failing: Option<FailingPolls>,
    /// Contact or next poll changed since the last flush.
    pub(crate) stale_note: bool,
    /// Commits that have begun and are not kept yet: the registry may be ahead of this.
    pub(crate) unfinished_commits: usize,
    /// How far the times of `handle` moved with the clock in memory only; the registry has them without it.
    pub(crate) unrecorded_step_ms: i64,
}

/// All open handles.
#[derive(Default)]
pub(crate) struct OpenHandles {
    held: HashMap<HandleId, OpenHandle>,
    by_connection: HashMap<ConnectionKey, HashSet<HandleId>>,
    /// By creation, so that the newest is found at once.
    by_agent: HashMap<AgentId, BTreeSet<(Timestamp, HandleId)>>,
    by_trace: HashMap<Arc<str>, HashSet<HandleId>>,
    by_server: HashMap<ServerId, u64>,
    questions: HashMap<ServerId, ServerQuestions>,
}

/// Open questions of one server, beside the first one of each task.
#[derive(Default)]
pub(crate) struct ServerQuestions {
    pub(crate) all: usize,
    /// Those of tasks of each agent that has any.
    by_agent: HashMap<AgentId, usize>,
}

impl ServerQuestions {
    pub(crate) fn of_agent(&self, agent: AgentId) -> usize {
        self.by_agent.get(&agent).copied().unwrap_or(0)
    }

    pub(crate) fn of_agents(&self) -> usize {
        self.by_agent.values().sum()
    }

    fn change(&mut self, agent: Option<AgentId>, gone: usize, come: usize) {
        let changed = |count: usize| count.saturating_add(come).saturating_sub(gone);
        self.all = changed(self.all);
        let Some(agent) = agent else { return };
        match changed(self.of_agent(agent)) {
            0 => self.by_agent.remove(&agent),
            count => self.by_agent.insert(agent, count),
        };
    }
}

impl OpenHandles {
    pub(crate) fn get(&self, id: HandleId) -> Option<&OpenHandle> {
        self.held.get(&id)
    }

    /// Replaces a handle that is here by a later state of it.
    pub(crate) fn replace(&mut self, handle: &Arc<TaskHandle>) -> bool {
        let Some(held) = self.held.get_mut(&handle.id) else { return false };
        let before = std::mem::replace(&mut held.handle, Arc::clone(handle));
        held.stale_note = true;
        let (old, new) = (ConnectionKey::of(&before), ConnectionKey::of(handle));
        if old != new {
            leave(&mut self.by_connection, &old, handle.id);
            self.by_connection.entry(new).or_default().insert(handle.id);
        }
        self.count_questions(Some(&before), Some(handle));
        true
    }

    /// Open questions of a server, beside the first one of each task.
    pub(crate) fn questions(&self, server: ServerId) -> Option<&ServerQuestions> {
        self.questions.get(&server)
    }

    /// The server with the most open questions beside the first one of each task, and how many.
    pub(crate) fn most_questions_of_server(&self) -> Option<(ServerId, usize)> {
        let counted = self.questions.iter().map(|(server, questions)| (*server, questions.all));
        counted.filter(|(_, all)| *all > 0).max_by_key(|(server, all)| (*all, *server))
    }

    /// The task with the most open questions, and how many.
    pub(crate) fn most_questions_of_task(&self) -> Option<(HandleId, usize)> {
        let counted = self.held.values().map(|held| (held.handle.id, held.handle.open_questions()));
        counted.filter(|(_, open)| *open > 0).max_by_key(|(task, open)| (*open, *task))
    }

    fn count_questions(&mut self, before: Option<&TaskHandle>, after: Option<&TaskHandle>) {
        let Some(task) = after.or(before) else { return };
        let beside_the_first =
            |handle: Option<&TaskHandle>| handle.map_or(0, TaskHandle::open_questions).saturating_sub(1);
        let (gone, come) = (beside_the_first(before), beside_the_first(after));
        if gone != come {
            self.questions.entry(task.server).or_default().change(task.agent, gone, come);
        }
    }

    pub(crate) fn get_mut(&mut self, id: HandleId) -> Option<&mut OpenHandle> {
        self.held.get_mut(&id)
    }

    pub(crate) fn all_mut(&mut self) -> impl Iterator<Item = &mut OpenHandle> {
        self.held.values_mut()
    }

    /// Takes up a handle that is not here yet.
    pub(crate) fn insert(&mut self, handle: Arc<TaskHandle>) {
        let id = handle.id;
        self.by_connection.entry(ConnectionKey::of(&handle)).or_default().insert(id);
        if let Some(agent) = handle.agent {
            self.by_agent.entry(agent).or_default().insert((handle.created, id));
        }
        if let Some(trace) = &handle.trace {
            self.by_trace.entry(Arc::clone(trace)).or_default().insert(id);
        }
        let server = handle.server;
        self.count_questions(self.held.get(&id).map(|held| Arc::clone(&held.handle)).as_deref(), Some(&handle));
        let held = OpenHandle {
            handle,
            next_poll: None,
            failing: None,
            stale_note: false,
            unfinished_commits: 0,
            unrecorded_step_ms: 0,
        };
        if self.held.insert(id, held).is_none() {
            *self.by_server.entry(server).or_default() += 1;
        }
    }

    /// Forgets a handle.
    pub(crate) fn remove(&mut self, id: HandleId) {
        let Some(OpenHandle { handle, .. }) = self.held.remove(&id) else { return };
        self.count_questions(Some(&handle), None);
        leave(&mut self.by_connection, &ConnectionKey::of(&handle), id);
        if let Some(agent) = handle.agent {
            let emptied = self.by_agent.get_mut(&agent).is_some_and(|ids| {
                ids.remove(&(handle.created, id));
                ids.is_empty()
            });
            if emptied {
                self.by_agent.remove(&agent);
            }
        }
        if let Some(trace) = &handle.trace {
            leave(&mut self.by_trace, trace, id);
        }
        if let Some(count) = self.by_server.get_mut(&handle.server) {
            *count = count.saturating_sub(1);
        }
    }

    pub(crate) fn count(&self, server: ServerId) -> u64 {
        self.by_server.get(&server).copied().unwrap_or(0)
    }

    pub(crate) fn all(&self) -> Vec<Arc<TaskHandle>> {
        self.held.values().map(|held| Arc::clone(&held.handle)).collect()
    }

    pub(crate) fn of_connection(&self, key: ConnectionKey) -> Vec<Arc<TaskHandle>> {
        self.those(self.by_connection.get(&key))
    }

    pub(crate) fn of_server(&self, server: ServerId) -> Vec<Arc<TaskHandle>> {
        let keys = self.by_connection.iter().filter(|(key, _)| key.server == server);
        keys.flat_map(|(_, ids)| self.those(Some(ids))).collect()
    }

    pub(crate) fn of_agent(&self, agent: AgentId) -> Vec<Arc<TaskHandle>> {
        let held = |(_, id): &(Timestamp, HandleId)| self.held.get(id).map(|held| Arc::clone(&held.handle));
        self.by_agent.get(&agent).into_iter().flatten().filter_map(held).collect()
    }

    /// The newest of an agent for which this holds.
    pub(crate) fn newest_of_agent(&self, agent: AgentId, holds: impl Fn(&TaskHandle) -> bool) -> Option<HandleId> {
        let mut newest = self.by_agent.get(&agent)?.iter().rev();
        newest.find(|(_, id)| self.held.get(id).is_some_and(|held| holds(&held.handle))).map(|(_, id)| *id)
    }

    pub(crate) fn of_trace(&self, trace: &str) -> Vec<Arc<TaskHandle>> {
        self.those(self.by_trace.get(trace))
    }

    pub(crate) fn connection_keys(&self) -> Vec<ConnectionKey> {
        self.by_connection.keys().copied().collect()
    }

    fn those(&self, ids: Option<&HashSet<HandleId>>) -> Vec<Arc<TaskHandle>> {
        let held = |id: &HandleId| self.held.get(id).map(|held| Arc::clone(&held.handle));
        ids.into_iter().flatten().filter_map(held).collect()
    }
}

fn leave<K: Hash + Eq + Clone>(index: &mut HashMap<K, HashSet<HandleId>>, key: &K, id: HandleId) {
    if let Some(ids) = index.get_mut(key) {
        ids.remove(&id);
        if ids.is_empty() {
            index.remove(key);
        }
    }
}
