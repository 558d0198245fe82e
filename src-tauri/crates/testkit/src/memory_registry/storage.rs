//! What is stored and what retention removes, in memory: the same order and the same exceptions as on disk.
//!
//! Sizes are those of the plain payloads, so figures in bytes differ from SQLite's; there are no pages to give back.

use std::collections::BTreeSet;

use domain::audit::{Actor, AuditEvent, Subject, Verb};
use domain::ids::HandleId;
use domain::policy::RetentionPolicy;
use domain::ports::change::Entity;
use domain::ports::{
    AuditCheck, AuditLink, AuditRecheck, BrokenLink, RegistryFacts, Removal, StorageFacts, StoredKind, StoredUse,
};
use domain::task::TaskHandle;
use domain::task::input_request::RequestState;
use domain::time::Timestamp;

use super::audit_chain;
use super::store::{MemoryStore, StoredTask};

fn may_go(row: &StoredTask, undelivered_before: Timestamp) -> bool {
    let task = row.stored();
    let asks = task.requests.values().any(|request| request.state == RequestState::Open);
    row.phase.is_over()
        && !task.is_held()
        && (!task.is_undelivered() || task.changed < undelivered_before)
        && !task.asks_at_limit()
        && row.deliver_at.is_none()
        && !asks
}

pub(super) fn facts(state: &MemoryStore) -> RegistryFacts {
    let open = |row: &StoredTask| {
        let stored = row.stored();
        stored.requests.values().filter(|request| stored.asks_people(request, stored.changed)).count()
    };
    RegistryFacts {
        place: "memory".into(),
        schema: 1,
        tasks: state.rows.len() as u64,
        open_requests: state.rows.values().map(open).sum::<usize>() as u64,
        audit_rows: state.audit.len() as u64,
        bytes: 0,
        findings: audit_chain::finding_after(state.removed_audit.as_ref(), &state.audit).into_iter().collect(),
    }
}

fn payload_bytes(row: &StoredTask) -> u64 {
    row.payloads.values().map(|payload| payload.as_str().len() as u64).sum()
}

fn raw_bytes(row: &StoredTask) -> u64 {
    row.raw.iter().map(|(_, message)| message.body.as_str().len() as u64).sum()
}

fn question_bytes(row: &StoredTask) -> u64 {
    row.stored().requests.values().map(|request| request.ask.bytes() as u64).sum()
}

fn line_bytes(row: &StoredTask) -> u64 {
    row.log.iter().map(|line| (line.status.len() + line.text.len()) as u64).sum()
}

/// Bytes of all contents of a task.
fn content_bytes(row: &StoredTask) -> u64 {
    payload_bytes(row) + raw_bytes(row) + question_bytes(row) + line_bytes(row)
}

fn before(now: Timestamp, age: std::time::Duration) -> Timestamp {
    Timestamp::from_millis(now.as_millis() - i64::try_from(age.as_millis()).unwrap_or(i64::MAX))
}

/// What goes, without removing it.
struct Due {
    /// Tasks that lose their payloads for their age.
    payloads: Vec<HandleId>,
    /// Tasks that lose all contents, because there are too many bytes.
    contents: Vec<HandleId>,
    tasks: Vec<HandleId>,
    /// The last receipt that goes, and how many go.
    receipts: Option<(u64, u64)>,
    audit: Vec<u64>,
}

/// Those of `rows`, in their order, that go until no owner has more than its limit; `size` is zero for what is gone.
fn beyond(
    rows: &[(&HandleId, &StoredTask)],
    limits: [u64; 3],
    size: &dyn Fn(&HandleId, &StoredTask) -> u64,
    may_go: &dyn Fn(&StoredTask) -> bool,
) -> Vec<HandleId> {
    let mut gone: BTreeSet<HandleId> = BTreeSet::new();
    let mut order = Vec::new();
    let mut within = |limit: u64, is_its: &dyn Fn(&TaskHandle) -> bool| {
        let its: Vec<_> = rows.iter().filter(|(id, row)| is_its(row.stored()) && !gone.contains(id)).collect();
        let mut sum: u64 = its.iter().map(|(id, row)| size(id, row)).sum();
        for (id, row) in its {
            if sum > limit && may_go(row) && size(id, row) > 0 {
                gone.insert(**id);
                order.push(**id);
                sum -= size(id, row);
            }
        }
    };
    let owners: BTreeSet<_> = rows.iter().map(|(_, row)| (row.stored().agent, row.stored().server)).collect();
    let [of_agent, of_server, of_all] = limits;
    for agent in owners.iter().filter_map(|(agent, _)| *agent) {
        within(of_agent, &|task| task.agent == Some(agent));
    }
    for (_, server) in &owners {
        within(of_server, &|task| task.server == *server);
    }
    within(of_all, &|_| true);
    order
}

fn due(state: &MemoryStore, limits: &RetentionPolicy, now: Timestamp) -> Due {
    let mut rows: Vec<(&HandleId, &StoredTask)> = state.rows.iter().collect();
    rows.sort_by_key(|(_, row)| row.number);
    let old = before(now, limits.payload_age);
    let undelivered_before = before(now, limits.undelivered_for);
    let may_go = |row: &StoredTask| may_go(row, undelivered_before);
    let is_aged = |row: &StoredTask| may_go(row) && row.stored().changed < old && !row.payloads.is_empty();
    let payloads = rows.iter().filter(|(_, row)| is_aged(row)).map(|(id, _)| **id).collect();
    let left = |_: &HandleId, row: &StoredTask| content_bytes(row) - if is_aged(row) { payload_bytes(row) } else { 0 };
    let bytes = [limits.agent_payload_bytes, limits.server_payload_bytes, limits.payload_bytes];
    let contents = beyond(&rows, bytes, &left, &may_go);
    let old = before(now, limits.task_age);
    let is_old = |row: &StoredTask| row.stored().created < old && row.stored().changed < old;
    let mut tasks: Vec<HandleId> =
        rows.iter().filter(|(_, row)| may_go(row) && is_old(row)).map(|(id, _)| **id).collect();
    rows.retain(|(id, _)| !tasks.contains(id));
    rows.sort_by_key(|(_, row)| (row.stored().changed, row.number));
    let numbers = [limits.agent_tasks, limits.server_tasks, limits.tasks];
    tasks.extend(beyond(&rows, numbers, &|_, _| 1, &may_go));
    let receipts = state.old_receipts(limits, before(now, limits.receipts_kept_for()));
    Due {
        payloads,
        contents,
        tasks,
        receipts,
        audit: state.old_audit(before(now, limits.audit_age), limits.segment_rows),
    }
}

fn count(of: usize) -> u64 {
    u64::try_from(of).unwrap_or(u64::MAX)
}

impl MemoryStore {
    /// What is stored, by server and agent.
    pub(super) fn stored_use(&self) -> Vec<StoredUse> {
        let mut all: Vec<StoredUse> = Vec::new();
        for row in self.rows.values() {
            let (server, agent, bytes) = (row.stored().server, row.stored().agent, content_bytes(row));
            match all.iter_mut().find(|used| used.server == server && used.agent == agent) {
                Some(used) => (used.bytes, used.tasks) = (used.bytes + bytes, used.tasks + 1),
                None => all.push(StoredUse { server, agent, bytes, tasks: 1 }),
            }
        }
        all
    }

    /// Numbers of audit rows in whole old segments.
    fn old_audit(&self, than: Timestamp, rows: u64) -> Vec<u64> {
        let (Some(first), Some(newest)) = (self.audit.first(), self.audit.last()) else { return Vec::new() };
        let is_open = |subject: &Subject| match subject {
            Subject::Handle(id) | Subject::Request(id, _) => self.rows.get(id).is_some_and(|row| !row.phase.is_over()),
            Subject::Server(_) | Subject::Agent(_) | Subject::Store | Subject::Unknown(_) => false,
        };
        let size = usize::try_from(rows).unwrap_or(usize::MAX);
        let mut gone = Vec::new();
        for (index, segment) in self.audit.chunks(size).enumerate() {
            let last = first.number + (count(index) + 1) * rows - 1;
            let stays = segment.len() < size
                || last + rows > newest.number
                || segment.iter().any(|row| row.event.at >= than || is_open(&row.event.subject));
            if stays {
                break;
            }
            gone.extend(segment.iter().map(|row| row.number));
        }
        gone
    }

    pub(super) fn storage(&self, limits: &RetentionPolicy, now: Timestamp) -> StorageFacts {
        let rows = |rows: usize| StoredKind { rows: count(rows), bytes: 0 };
        let all = |rows: &dyn Fn(&StoredTask) -> usize, bytes: &dyn Fn(&StoredTask) -> u64| StoredKind {
            rows: self.rows.values().map(|row| count(rows(row))).sum(),
            bytes: self.rows.values().map(bytes).sum(),
        };
        let stays = |row: &StoredTask| !may_go(row, before(now, limits.undelivered_for));
        let kept = |rows: &dyn Fn(&StoredTask) -> usize, bytes: &dyn Fn(&StoredTask) -> u64| StoredKind {
            rows: self.rows.values().filter(|row| stays(row)).map(|row| count(rows(row))).sum(),
            bytes: self.rows.values().filter(|row| stays(row)).map(bytes).sum(),
        };
        let gone = due(self, limits, now);
        let bytes = |ids: &[HandleId], of: &dyn Fn(&StoredTask) -> u64| -> u64 {
            ids.iter().filter_map(|id| self.rows.get(id)).map(of).sum()
        };
        let aged: BTreeSet<&HandleId> = gone.payloads.iter().collect();
        let twice: Vec<HandleId> = gone.contents.iter().filter(|id| aged.contains(id)).copied().collect();
        StorageFacts {
            tasks: rows(self.rows.len()),
            payloads: all(&|row| row.payloads.len(), &payload_bytes),
            kept_payloads: kept(&|row| row.payloads.len(), &payload_bytes),
            kept_tasks: kept(&|_| 1, &content_bytes),
            raw_messages: all(&|row| row.raw.len(), &raw_bytes),
            questions: all(&|row| row.stored().requests.len(), &question_bytes),
            status_lines: all(&|row| row.log.len(), &line_bytes),
            changes: rows(self.changes.len()),
            receipts: rows(self.receipts.rows.len()),
            audit: rows(self.audit.len()),
            removed_segments: self.removed_segments,
            oldest_task: self.rows.values().map(|row| row.stored().created).min(),
            file_bytes: 0,
            free_bytes: 0,
            shrinks: true,
            reserve_bytes: 0,
            due: Removal {
                payload_tasks: count(gone.payloads.len() + gone.contents.len()),
                payload_bytes: bytes(&gone.payloads, &payload_bytes) + bytes(&gone.contents, &content_bytes)
                    - bytes(&twice, &payload_bytes),
                tasks: count(gone.tasks.len()),
                receipts: gone.receipts.map_or(0, |(_, count)| count),
                audit_rows: count(gone.audit.len()),
            },
        }
    }

    /// Removes one stretch: payloads, else contents, else tasks, else one audit segment.
    pub(super) fn clean(&mut self, limits: &RetentionPolicy, now: Timestamp) -> Removal {
        let Due { payloads, contents, tasks, receipts, audit } = due(self, limits, now);
        let most = usize::try_from(limits.removed_at_once).unwrap_or(usize::MAX);
        let mut removal = Removal::default();
        let (verb, note) = if !payloads.is_empty() {
            for id in payloads.into_iter().take(most) {
                if let Some(row) = self.rows.get_mut(&id) {
                    removal.payload_tasks += 1;
                    removal.payload_bytes += payload_bytes(row);
                    row.payloads.clear();
                }
            }
            let Removal { payload_tasks, payload_bytes, .. } = removal;
            (Verb::StorageCleaned, format!("payloads of {payload_tasks} tasks, {payload_bytes} bytes"))
        } else if !contents.is_empty() {
            for id in contents.into_iter().take(most) {
                if let Some(row) = self.rows.get_mut(&id) {
                    removal.payload_tasks += 1;
                    removal.payload_bytes += content_bytes(row);
                    row.lose_contents();
                }
                self.change(Entity::Handle(id), Some(now), false);
            }
            let Removal { payload_tasks, payload_bytes, .. } = removal;
            (Verb::StorageCleaned, format!("contents of {payload_tasks} tasks, {payload_bytes} bytes"))
        } else if !tasks.is_empty() {
            for id in tasks.into_iter().take(most) {
                self.rows.remove(&id);
                self.hidden.remove(&id);
                let gone = self.tasks.iter().filter(|(_, holder)| **holder == id).map(|(task, _)| task.clone());
                self.removed_tasks.extend(gone.collect::<Vec<_>>());
                self.tasks.retain(|_, holder| *holder != id);
                self.change(Entity::Handle(id), Some(now), true);
                removal.tasks += 1;
            }
            (Verb::StorageCleaned, format!("{} tasks", removal.tasks))
        } else if let Some((last, count)) = receipts {
            self.remove_receipts(last);
            removal.receipts = count;
            (Verb::StorageCleaned, format!("{count} receipts, up to receipt {last}"))
        } else if !audit.is_empty() {
            let rows = usize::try_from(limits.segment_rows).unwrap_or(usize::MAX).min(self.audit.len());
            self.grow_tree(usize::MAX);
            let gone: Vec<_> = self.audit.drain(..rows).collect();
            self.removed_segments += 1;
            removal.audit_rows = count(gone.len());
            let number = |row: Option<&AuditLink>| row.map_or(0, |row| row.number);
            let note = format!("rows {} to {}", number(gone.first()), number(gone.last()));
            self.removed_audit = gone.into_iter().last();
            (Verb::SegmentRemoved, note)
        } else {
            return removal;
        };
        self.facts(vec![AuditEvent {
            at: now,
            actor: Actor::System("retention"),
            verb,
            subject: Subject::Store,
            note,
        }]);
        removal
    }

    /// Verifies a stretch of the chain.
    pub(super) fn verify(&mut self, after: Option<u64>, rows: u32) -> AuditCheck {
        let last = self.audit.last().map_or(0, |row| row.number);
        let first = self.audit.first().map_or(0, |row| row.number);
        let behind = after.and_then(|number| self.audit.iter().find(|row| row.number == number)).cloned();
        let behind = behind.or_else(|| self.removed_audit.clone());
        let from = behind.as_ref().map_or(0, |row| row.number);
        let most = usize::try_from(rows).unwrap_or(usize::MAX);
        let stretch: Vec<_> = self.audit.iter().filter(|row| row.number > from).take(most).cloned().collect();
        let broken =
            audit_chain::finding_after(behind.as_ref(), &stretch).map(|why| BrokenLink { number: from + 1, why });
        let upto = if broken.is_some() { from } else { stretch.last().map_or(from, |row| row.number) };
        if broken.is_none() {
            self.verified = Some(upto);
        }
        // Rows of layout 1 cannot lose their text.
        AuditCheck { rows: count(stretch.len()), upto, last, first, broken, ..AuditCheck::default() }
    }

    /// Verifies everything again that was verified before.
    pub(super) fn reverify(&self) -> AuditRecheck {
        let Some(end) = self.verified else { return AuditRecheck::default() };
        let first = self.audit.first().map_or(0, |row| row.number);
        let before: Vec<_> = self.audit.iter().filter(|row| row.number <= end).cloned().collect();
        let finding = audit_chain::finding_after(self.removed_audit.as_ref(), &before);
        let broken = finding.map(|why| BrokenLink { number: first, why });
        AuditRecheck { rows: count(before.len()), upto: end, end, of: count(before.len()), broken }
    }
}
