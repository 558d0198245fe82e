//! What the memory registry keeps, and each change of it.
//!
//! Every change happens under one lock, so it is atomic; conflicts and doubles are found before anything is changed.

use std::collections::{BTreeMap, HashMap, VecDeque};

use domain::agent::Agent;
use domain::audit::AuditEvent;
use domain::ports::change::{Change, Entity};
use domain::task::{TaskHandle, UsualDuration};
use domain::ids::{AgentId, HandleId, Seq, ServerId, SessionKey, UpstreamTaskId};
use domain::task::observation::LogLine;
use domain::task::payload::{Payload, PayloadKind};
use domain::policy::Policy;
use domain::ports::{AuditLink, Commit, CommitError, ContactNote, Recorded, RegistryError, ServerUnit};
use domain::raw_message::RawMessage;
use domain::rule::Rule;
use domain::server::Server;
use domain::task::status::{Contact, Phase};
use domain::time::Timestamp;

use super::budget::Budgets;
use super::chain;

/// Change rows looked at per stretch of pruning, as in the real one.
const STRETCH: usize = 5_000;

/// Where an upstream task lives.
pub(super) type TaskKey = (ServerId, u32, Option<SessionKey>, UpstreamTaskId);

/// One task with what belongs to it.
#[derive(Debug, Clone)]
pub(super) struct Row {
    handle: TaskHandle,
    pub(super) phase: Phase,
    pub(super) tick_at: Option<Timestamp>,
    pub(super) deliver_at: Option<Timestamp>,
    pub(super) log: VecDeque<LogLine>,
    pub(super) payloads: BTreeMap<PayloadKind, Payload>,
    pub(super) raw: VecDeque<(u64, RawMessage)>,
    noted: Option<ContactNote>,
}

impl Row {
    /// The handle with the newest contact.
    pub(super) fn handle(&self) -> TaskHandle {
        let mut handle = self.handle.clone();
        if let (Contact::Fresh { seen }, Some(noted)) = (&handle.contact, self.noted) {
            handle.contact = Contact::Fresh { seen: noted.seen.max(*seen) };
        }
        handle
    }

    /// The handle as stored.
    pub(super) fn stored(&self) -> &TaskHandle {
        &self.handle
    }

    /// When it is looked at next.
    pub(super) fn next_poll(&self) -> Option<Timestamp> {
        self.noted.filter(|_| !self.phase.is_over()).and_then(|noted| noted.next_poll)
    }
}

/// Everything.
#[derive(Debug, Clone, Default)]
pub(super) struct State {
    pub(super) closed: bool,
    pub(super) rows: BTreeMap<HandleId, Row>,
    pub(super) tasks: HashMap<TaskKey, HandleId>,
    pub(super) agents: BTreeMap<AgentId, Agent>,
    /// By the text of their scope.
    pub(super) rules: BTreeMap<String, Rule>,
    pub(super) servers: BTreeMap<ServerId, (Server, bool)>,
    pub(super) changes: VecDeque<(Change, Timestamp)>,
    pub(super) seq: u64,
    pub(super) pruned_upto: u64,
    changed_at: i64,
    pub(super) audit: Vec<AuditLink>,
    pub(super) removed_segments: u64,
    /// The last audit row that was removed.
    pub(super) removed_audit: Option<AuditLink>,
    pub(super) verified: Option<u64>,
    durations: HashMap<(ServerId, String), VecDeque<u64>>,
    pub(super) budgets: Budgets,
    /// By kind and key: JSON text and when it was put.
    pub(super) desk: BTreeMap<(String, String), (String, Timestamp)>,
}

fn task_key(handle: &TaskHandle) -> Option<TaskKey> {
    let task = handle.view.task()?;
    Some((handle.server, handle.home.generation, handle.home.session.clone(), task.id.clone()))
}

impl State {
    pub(super) fn change(&mut self, entity: Entity, at: Option<Timestamp>, removed: bool) -> Seq {
        self.seq += 1;
        self.changed_at = at.map_or(self.changed_at, Timestamp::as_millis);
        let seq = Seq(self.seq);
        self.changes.push_back((Change { seq, entity, removed }, Timestamp::from_millis(self.changed_at)));
        seq
    }

    /// Adds facts to the chain.
    pub(super) fn facts(&mut self, events: Vec<AuditEvent>) {
        for event in events {
            self.audit.push(chain::link(self.audit.last(), event));
        }
    }

    /// A new handle.
    pub(super) fn admit(&mut self, unit: Commit, policy: &Policy) -> Result<Recorded, CommitError> {
        if self.rows.contains_key(&unit.handle.id) {
            return Err(CommitError::Exists(unit.handle.id));
        }
        self.holder(&unit.handle)?;
        let row = Row {
            handle: unit.handle.clone(),
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
    pub(super) fn commit(&mut self, unit: Commit, policy: &Policy) -> Result<Recorded, CommitError> {
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

    fn write(&mut self, mut row: Row, unit: Commit, policy: &Policy) -> Recorded {
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
            let known = self.durations.entry((handle.server, tool.to_string())).or_default();
            known.push_back(took);
            while known.len() > usize::try_from(policy.usual_samples_kept).unwrap_or(usize::MAX) {
                known.pop_front();
            }
        }
        self.facts(audit);
        let seq = self.change(Entity::Handle(handle.id), Some(handle.changed), false);
        let recorded = Recorded { seq, version: handle.version };
        (row.phase, row.tick_at, row.deliver_at) = (phase, tick_at, deliver_at);
        row.handle = handle;
        self.rows.insert(row.handle.id, row);
        recorded
    }

    /// Flushes contact notes.
    pub(super) fn note(&mut self, notes: Vec<ContactNote>) {
        for note in notes {
            if let Some(row) = self.rows.get_mut(&note.handle) {
                let seen = row.noted.map_or(note.seen, |noted| noted.seen.max(note.seen));
                row.noted = Some(ContactNote { seen, ..note });
            }
        }
    }

    /// Adds or changes a server.
    pub(super) fn put_server(&mut self, unit: ServerUnit) -> Result<Seq, RegistryError> {
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
    pub(super) fn remove_server(&mut self, id: ServerId, audit: Vec<AuditEvent>) -> Seq {
        if let Some((_, removed)) = self.servers.get_mut(&id) {
            *removed = true;
        }
        let at = audit.last().map(|event| event.at);
        self.facts(audit);
        self.change(Entity::Server(id), at, true)
    }

    /// What a tool usually takes.
    pub(super) fn usual(&self, server: ServerId, tool: &str, samples_min: u32) -> Option<UsualDuration> {
        let mut sorted: Vec<u64> = self.durations.get(&(server, tool.to_owned()))?.iter().copied().collect();
        sorted.sort_unstable();
        let samples = u32::try_from(sorted.len()).ok()?;
        let rank = |percent: usize| sorted.get((sorted.len() * percent).div_ceil(100).checked_sub(1)?).copied();
        (samples >= samples_min).then_some(())?;
        Some(UsualDuration { samples, median_ms: rank(50)?, p90_ms: rank(90)?, p95_ms: rank(95)? })
    }

    /// Removes old change rows.
    pub(super) fn prune(&mut self, before: Timestamp) -> u64 {
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
