//! The state of the memory registry, and each change of it.
//!
//! Every change happens under one lock, so it is atomic; conflicts and duplicates are found before anything is changed.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};

use domain::agent::Agent;
use domain::agent::alarm::CallAlarm;
use domain::audit::AuditEvent;
use domain::audit::log_sink::LogSink;
use domain::ids::{AgentId, AlarmId, HandleId, PauseId, RouteId, Seq, ServerId, SessionKey, UpstreamTaskId};
use domain::policy::Policy;
use domain::ports::change::{Change, Entity};
use domain::ports::{AuditLink, Commit, CommitError, ContactNote, Recorded, RegistryError, ServerUnit, TaskQuery};
use domain::raw_message::RawMessage;
use domain::rule::Rule;
use domain::server::Server;
use domain::server::pause::Pause;
use domain::server::route::ClientRoute;
use domain::server::tool_memory::{ToolMemory, ToolMemoryUnit};
use domain::task::observation::LogLine;
use domain::task::payload::{Payload, PayloadKind};
use domain::task::status::{Contact, Phase};
use domain::task::{TaskHandle, UsualDuration};
use domain::time::Timestamp;

use crate::memory_registry::audit_chain;
use crate::memory_registry::audit_chain::receipts::MemoryReceipts;
use crate::memory_registry::checkpoints::SignedLog;
use crate::memory_registry::control::ControlTokens;
use crate::memory_registry::halts::HaltStore;
use crate::memory_registry::plans::PlanStore;
use crate::memory_registry::token_usage::UsageStore;

/// Change rows looked at per stretch of pruning, as in the real one.
const STRETCH: usize = 5_000;

/// Where an upstream task lives.
pub(crate) type TaskKey = (ServerId, u32, Option<SessionKey>, UpstreamTaskId);

/// One task with what belongs to it.
#[derive(Debug, Clone)]
pub(crate) struct StoredTask {
    handle: TaskHandle,
    /// Its place in the order of admission.
    pub(crate) number: u64,
    pub(crate) phase: Phase,
    pub(crate) tick_at: Option<Timestamp>,
    pub(crate) deliver_at: Option<Timestamp>,
    pub(crate) log: VecDeque<LogLine>,
    pub(crate) payloads: BTreeMap<PayloadKind, Payload>,
    pub(crate) raw: VecDeque<(u64, RawMessage)>,
    noted: Option<ContactNote>,
}

impl StoredTask {
    /// The handle with the newest contact.
    pub(crate) fn handle(&self) -> TaskHandle {
        let mut handle = self.handle.clone();
        if let (Contact::Fresh { seen }, Some(noted)) = (&handle.contact, self.noted) {
            handle.contact = Contact::Fresh { seen: noted.seen.max(*seen) };
        }
        handle
    }

    /// The handle as stored.
    pub(crate) fn stored(&self) -> &TaskHandle {
        &self.handle
    }

    /// Everything but the task itself goes.
    pub(crate) fn lose_contents(&mut self) {
        self.payloads.clear();
        self.log.clear();
        self.raw.clear();
        self.handle.requests.clear();
    }

    /// When it is looked at next.
    pub(crate) fn next_poll(&self) -> Option<Timestamp> {
        self.noted.filter(|_| !self.phase.is_over()).and_then(|noted| noted.next_poll)
    }
}

#[derive(Debug, Clone, Default)]
pub(crate) struct MemoryStore {
    pub(crate) closed: bool,
    pub(crate) rows: BTreeMap<HandleId, StoredTask>,
    /// Tasks that were ever admitted.
    admitted: u64,
    pub(crate) tasks: HashMap<TaskKey, HandleId>,
    /// Keys of tasks that retention removed.
    pub(crate) removed_tasks: HashSet<TaskKey>,
    pub(crate) agents: BTreeMap<AgentId, Agent>,
    /// By the text of their scope.
    pub(crate) rules: BTreeMap<String, Rule>,
    pub(crate) servers: BTreeMap<ServerId, (Server, bool)>,
    pub(crate) changes: VecDeque<(Change, Timestamp)>,
    pub(crate) seq: u64,
    pub(crate) pruned_upto: u64,
    changed_at: i64,
    pub(crate) audit: Vec<AuditLink>,
    pub(crate) removed_segments: u64,
    /// The last audit row that was removed.
    pub(crate) removed_audit: Option<AuditLink>,
    pub(crate) verified: Option<u64>,
    pub(crate) signed: SignedLog,
    /// When a call of the tool finished last, and how long its latest calls took.
    durations: HashMap<(ServerId, String), (Timestamp, VecDeque<u64>)>,
    pub(crate) tools: BTreeMap<ServerId, ToolMemory>,
    pub(crate) halts: HaltStore,
    pub(crate) pauses: BTreeMap<PauseId, Pause>,
    pub(crate) plans: PlanStore,
    pub(crate) control: ControlTokens,
    pub(crate) routes: BTreeMap<RouteId, ClientRoute>,
    pub(crate) alarms: BTreeMap<AlarmId, CallAlarm>,
    pub(crate) receipts: MemoryReceipts,
    pub(crate) sinks: BTreeMap<u32, LogSink>,
    pub(crate) budgets: UsageStore,
    /// By kind and key: JSON text and when it was put.
    pub(crate) desk: BTreeMap<(String, String), (String, Timestamp)>,
    /// Tasks that a person hid from lists.
    pub(crate) hidden: BTreeSet<HandleId>,
}

fn task_key(handle: &TaskHandle) -> Option<TaskKey> {
    let task = handle.view.task()?;
    Some((handle.server, handle.home.generation, handle.home.session.clone(), task.id.clone()))
}

impl MemoryStore {
    /// Stores what changed of what is remembered of a server's tools.
    pub(crate) fn put_tools(&mut self, unit: ToolMemoryUnit) {
        let ToolMemoryUnit { server, seen, left_out, told, put, forget, audit } = unit;
        let kept = self.tools.remove(&server).map(|memory| memory.tools).unwrap_or_default();
        let mut memory = ToolMemory { seen, tools: kept, left_out, told };
        memory.tools.retain(|name, _| !forget.contains(name));
        memory.tools.extend(put.into_iter().map(|tool| (tool.name.clone(), tool)));
        self.tools.insert(server, memory);
        self.facts(audit);
    }

    pub(crate) fn change(&mut self, entity: Entity, at: Option<Timestamp>, removed: bool) -> Seq {
        self.seq += 1;
        self.changed_at = at.map_or(self.changed_at, Timestamp::as_millis);
        let seq = Seq(self.seq);
        self.changes.push_back((Change { seq, entity, removed }, Timestamp::from_millis(self.changed_at)));
        seq
    }

    /// Adds facts to the chain.
    pub(crate) fn facts(&mut self, events: Vec<AuditEvent>) {
        for event in events {
            self.audit.push(audit_chain::link(self.audit.last(), event));
        }
    }

    /// A new handle.
    pub(crate) fn admit(&mut self, unit: Commit, policy: &Policy) -> Result<Recorded, CommitError> {
        if self.rows.contains_key(&unit.handle.id) {
            return Err(CommitError::Exists(unit.handle.id));
        }
        self.holder(&unit.handle)?;
        self.admitted += 1;
        let row = StoredTask {
            handle: unit.handle.clone(),
            number: self.admitted,
            phase: unit.phase,
            tick_at: None,
            deliver_at: None,
            log: VecDeque::new(),
            payloads: BTreeMap::new(),
            raw: VecDeque::new(),
            noted: None,
        };
        Ok(self.write(row, unit, policy))
    }

    /// A change of a handle.
    pub(crate) fn commit(&mut self, unit: Commit, policy: &Policy) -> Result<Recorded, CommitError> {
        let read = self.rows.get(&unit.handle.id).map(|row| row.handle.version);
        if read != Some(unit.handle.version) {
            return Err(CommitError::Conflict);
        }
        self.holder(&unit.handle)?;
        let row = self.rows.remove(&unit.handle.id).ok_or(CommitError::Conflict)?;
        Ok(self.write(row, unit, policy))
    }

    fn holder(&self, handle: &TaskHandle) -> Result<(), CommitError> {
        let holder = task_key(handle).and_then(|key| self.tasks.get(&key).copied());
        match holder {
            Some(other) if other != handle.id => Err(CommitError::Exists(other)),
            Some(_) | None => Ok(()),
        }
    }

    fn write(&mut self, mut row: StoredTask, unit: Commit, policy: &Policy) -> Recorded {
        let Commit { mut handle, phase, tick_at, deliver_at, audit, log, payloads, raw, learned_ms } = unit;
        let (before, after) = (task_key(&row.handle), task_key(&handle));
        if let Some(before) = before {
            self.tasks.remove(&before);
        }
        if let Some(after) = after {
            self.tasks.insert(after, handle.id);
        }
        handle.version += 1;
        // These never change.
        (handle.server, handle.agent, handle.created) = (row.handle.server, row.handle.agent, row.handle.created);
        (handle.job, handle.parent) = (row.handle.job.clone(), row.handle.parent);
        for write in payloads {
            match write.payload {
                Some(payload) => row.payloads.insert(write.kind, payload),
                None => row.payloads.remove(&write.kind),
            };
        }
        for message in raw {
            let n = row.raw.back().map_or(1, |(last, _)| last + 1);
            row.raw.push_back((n, message));
        }
        while row.raw.len() > usize::try_from(policy.raw_messages_per_task).unwrap_or(usize::MAX) {
            row.raw.pop_front();
        }
        row.log.extend(log);
        let cap = usize::try_from(policy.log_lines_per_task).unwrap_or(usize::MAX);
        while row.log.len() > cap {
            row.log.pop_front();
        }
        if let (Some(took), Some(tool)) = (learned_ms, &handle.tool) {
            let none = (handle.changed, VecDeque::new());
            let (at, known) = self.durations.entry((handle.server, tool.to_string())).or_insert(none);
            *at = handle.changed.max(*at);
            known.push_back(took);
            while known.len() > usize::try_from(policy.usual_samples_kept).unwrap_or(usize::MAX) {
                known.pop_front();
            }
        }
        self.facts(audit);
        let seq = self.change(Entity::Handle(handle.id), Some(handle.changed), false);
        let recorded = Recorded { seq, version: handle.version };
        let stands = |handle: &TaskHandle, phase: Phase| (phase, handle.is_held(), handle.is_settled_wait(phase));
        if stands(&row.handle, row.phase) != stands(&handle, phase) {
            self.hidden.remove(&handle.id);
        }
        (row.phase, row.tick_at, row.deliver_at) = (phase, tick_at, deliver_at);
        row.handle = handle;
        self.rows.insert(row.handle.id, row);
        recorded
    }

    /// Flushes contact notes.
    pub(crate) fn note(&mut self, notes: Vec<ContactNote>) {
        for note in notes {
            if let Some(row) = self.rows.get_mut(&note.handle) {
                let seen = row.noted.map_or(note.seen, |noted| noted.seen.max(note.seen));
                row.noted = Some(ContactNote { seen, ..note });
            }
        }
    }

    /// Adds or changes a server.
    pub(crate) fn put_server(&mut self, unit: ServerUnit) -> Result<Seq, RegistryError> {
        let ServerUnit { server, audit } = unit;
        let same_name = |(id, (other, removed)): (&ServerId, &(Server, bool))| {
            !removed && other.name == server.name && *id != server.id
        };
        if self.servers.iter().any(same_name) {
            return Err(RegistryError::Other { operation: "commit", why: "two servers have one name".into() });
        }
        let (id, at) = (server.id, audit.last().map(|event| event.at));
        self.servers.insert(id, (server, false));
        self.facts(audit);
        Ok(self.change(Entity::Server(id), at, false))
    }

    /// Removes a server.
    pub(crate) fn remove_server(&mut self, id: ServerId, audit: Vec<AuditEvent>) -> Seq {
        self.tools.remove(&id);
        self.durations.retain(|(server, _), _| *server != id);
        if let Some((_, removed)) = self.servers.get_mut(&id) {
            *removed = true;
        }
        let at = audit.last().map(|event| event.at);
        self.facts(audit);
        self.change(Entity::Server(id), at, true)
    }

    /// What a tool usually takes.
    pub(crate) fn usual(&self, server: ServerId, tool: &str, samples_min: u32) -> Option<UsualDuration> {
        let mut sorted: Vec<u64> = self.durations.get(&(server, tool.to_owned()))?.1.iter().copied().collect();
        sorted.sort_unstable();
        let samples = u32::try_from(sorted.len()).ok()?;
        let rank = |percent: usize| sorted.get((sorted.len() * percent).div_ceil(100).checked_sub(1)?).copied();
        (samples >= samples_min).then_some(())?;
        Some(UsualDuration { samples, median_ms: rank(50)?, p90_ms: rank(90)?, p95_ms: rank(95)? })
    }

    /// Forgets the tools of each server beyond the limit, those that finished a call longest ago first.
    fn forget_tools(&mut self, most: u32) {
        let mut known: Vec<_> =
            self.durations.iter().map(|((server, tool), (at, _))| (*server, Reverse(*at), tool.clone())).collect();
        known.sort();
        let mut counts: HashMap<ServerId, u32> = HashMap::new();
        for (server, _, tool) in known {
            let count = counts.entry(server).or_default();
            *count += 1;
            if *count > most {
                self.durations.remove(&(server, tool));
            }
        }
    }

    /// Removes old change rows.
    pub(crate) fn prune(&mut self, before: Timestamp, policy: &Policy) -> u64 {
        self.forget_tools(policy.retention.learned_tools);
        let mut all = 0;
        loop {
            let old = self.changes.iter().take(STRETCH).rposition(|(_, at)| *at < before);
            let Some(last) = old else { return all };
            for _ in 0..=last {
                if let Some((gone, _)) = self.changes.pop_front() {
                    self.pruned_upto = self.pruned_upto.max(gone.seq.0);
                    all += 1;
                }
            }
        }
    }
}

/// All conditions but the phase.
pub(super) fn is_asked_for(row: &StoredTask, query: &TaskQuery) -> bool {
    let handle = row.stored();
    query.server.is_none_or(|server| handle.server == server)
        && query.agent.is_none_or(|agent| handle.agent == Some(agent))
}

/// Ids that are due by now, the longest due first.
pub(super) fn due<'a>(
    rows: impl Iterator<Item = (&'a HandleId, &'a StoredTask)>,
    at: impl Fn(&StoredTask) -> Option<Timestamp>,
    now: Timestamp,
    limit: u32,
) -> Vec<HandleId> {
    let mut due: Vec<(Timestamp, HandleId)> =
        rows.filter_map(|(id, row)| at(row).filter(|at| *at <= now).map(|at| (at, *id))).collect();
    due.sort_unstable();
    due.into_iter().take(usize::try_from(limit).unwrap_or(usize::MAX)).map(|(_, id)| id).collect()
}

/// Whether people are to look at it: by its phase, or because it asks whether it may go on.
pub(super) fn needs_attention(row: &StoredTask) -> bool {
    let is_trouble = row.phase.needs_attention() && !row.stored().is_settled_loss(row.phase);
    is_trouble || row.stored().is_held() || row.stored().asks_at_limit()
}
