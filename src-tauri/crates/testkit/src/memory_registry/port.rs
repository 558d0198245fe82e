//! The `Registry` port over what is kept in memory.

use std::collections::BTreeMap;

use domain::agent::Agent;
use domain::audit::AuditEvent;
use domain::budget::price::Price;
use domain::budget::window::Window;
use domain::ids::{AgentId, HaltId, HandleId, JobKey, OperationId, PlanId, Seq, ServerId, SessionKey, UpstreamTaskId};
use domain::policy::RetentionPolicy;
use domain::ports::change::Changes;
use domain::ports::{
    AgentNote, AgentUnit, AuditCheck, AuditPage, AuditQuery, AuditRows, BudgetNote, CancelFacts, Commit, CommitError,
    ContactNote, HaltUnit, HideUnit, HourSum, InboxPage, KnownTask, PlanUnit, PortFuture, PriceUnit, Recorded,
    Recording, Registry, RegistryError, RegistryFacts, Removal, RuleUnit, SeriesQuery, ServerUnit, SpendRow,
    StorageFacts, StoredUse, TaskCursor, TaskGroups, TaskListQuery, TaskPage, TaskQuery, TaskRows, UserDataItem,
    WasteRow,
};
use domain::raw_message::RawNote;
use domain::rule::Rule;
use domain::server::Server;
use domain::server::halt::Halt;
use domain::server::tool_memory::{ToolMemory, ToolMemoryUnit};
use domain::task::cancel::plan::BulkPlan;
use domain::task::decider::Decider;
use domain::task::figures::TaskTally;
use domain::task::observation::LogLine;
use domain::task::payload::{Payload, PayloadKind};
use domain::task::status::Phase;
use domain::task::{TaskHandle, UsualDuration};
use domain::time::Timestamp;

use super::MemoryRegistry;
use super::store::{StoredTask, due, is_asked_for, needs_attention};
use super::{agents, audit_rows, halts, plans, questions, storage, task_list};

fn size(limit: u32) -> usize {
    usize::try_from(limit).unwrap_or(usize::MAX)
}

fn ready<'a, T: Send + 'a>(value: T) -> PortFuture<'a, T> {
    Box::pin(std::future::ready(value))
}

impl Registry for MemoryRegistry {
    fn admit(&self, unit: Commit) -> PortFuture<'_, Result<Recorded, CommitError>> {
        ready(self.with(|state, policy| state.admit(unit, policy)).map_err(CommitError::from).flatten())
    }

    fn commit(&self, unit: Commit) -> PortFuture<'_, Result<Recorded, CommitError>> {
        ready(self.with(|state, policy| state.commit(unit, policy)).map_err(CommitError::from).flatten())
    }

    fn note_contacts(&self, notes: Vec<ContactNote>) -> PortFuture<'_, Result<(), RegistryError>> {
        ready(self.with(|state, _| state.note(notes)))
    }

    fn put_server(&self, unit: ServerUnit) -> PortFuture<'_, Result<Seq, RegistryError>> {
        ready(self.with(|state, _| state.put_server(unit)).flatten())
    }

    fn remove_server(&self, id: ServerId, audit: Vec<AuditEvent>) -> PortFuture<'_, Result<Seq, RegistryError>> {
        ready(self.with(|state, _| state.remove_server(id, audit)))
    }

    fn put_agent(&self, unit: AgentUnit) -> PortFuture<'_, Result<Seq, RegistryError>> {
        ready(self.with(|state, _| agents::put(state, unit)).flatten())
    }

    fn note_agents(&self, notes: Vec<AgentNote>) -> PortFuture<'_, Result<(), RegistryError>> {
        ready(self.with(|state, _| agents::note(state, notes)))
    }

    fn note_budget(&self, note: BudgetNote) -> PortFuture<'_, Result<(), RegistryError>> {
        ready(self.with(|state, policy| state.budgets.note(note, &policy.counting)))
    }

    fn windows(&self, ended: u32) -> PortFuture<'_, Result<Vec<Window>, RegistryError>> {
        ready(self.with(|state, _| state.budgets.windows(ended)))
    }

    fn spend(&self, query: SeriesQuery) -> PortFuture<'_, Result<Vec<SpendRow>, RegistryError>> {
        ready(self.with(|state, _| state.budgets.spend(&query)))
    }

    fn waste(&self, query: SeriesQuery) -> PortFuture<'_, Result<Vec<WasteRow>, RegistryError>> {
        ready(self.with(|state, _| state.budgets.waste(&query)))
    }

    fn put_price(&self, unit: PriceUnit) -> PortFuture<'_, Result<(), RegistryError>> {
        ready(self.with(|state, _| agents::put_price(state, unit)))
    }

    fn spend_by_hour(&self, query: SeriesQuery) -> PortFuture<'_, Result<Vec<HourSum>, RegistryError>> {
        ready(self.with(|state, _| state.budgets.spend_by_hour(&query)))
    }

    fn counted_hours(&self, query: SeriesQuery) -> PortFuture<'_, Result<Vec<Timestamp>, RegistryError>> {
        ready(self.with(|state, _| state.budgets.counted_hours(&query)))
    }

    fn prices(&self) -> PortFuture<'_, Result<Vec<Price>, RegistryError>> {
        ready(self.with(|state, _| state.budgets.prices()))
    }

    fn put_tool_memory(&self, unit: ToolMemoryUnit) -> PortFuture<'_, Result<(), RegistryError>> {
        ready(self.with(|state, _| state.put_tools(unit)))
    }

    fn tool_memory(&self, server: ServerId) -> PortFuture<'_, Result<Option<ToolMemory>, RegistryError>> {
        ready(self.with(|state, _| state.tools.get(&server).cloned()))
    }

    fn put_rule(&self, unit: RuleUnit) -> PortFuture<'_, Result<Seq, RegistryError>> {
        ready(self.with(|state, _| agents::put_rule(state, unit)))
    }

    fn put_plan(&self, unit: PlanUnit) -> PortFuture<'_, Result<(), RegistryError>> {
        ready(self.with(|state, _| plans::put(state, unit)))
    }

    fn plan(&self, id: PlanId) -> PortFuture<'_, Result<Option<BulkPlan>, RegistryError>> {
        ready(self.with(|state, _| plans::find(state, |plan| plan.id == id)))
    }

    fn plan_of(&self, operation: OperationId) -> PortFuture<'_, Result<Option<BulkPlan>, RegistryError>> {
        ready(self.with(|state, _| plans::run_by(state, operation)))
    }

    fn running_plans(&self) -> PortFuture<'_, Result<Vec<BulkPlan>, RegistryError>> {
        ready(self.with(|state, _| plans::running(state)))
    }

    fn put_halt(&self, unit: HaltUnit) -> PortFuture<'_, Result<Seq, RegistryError>> {
        ready(self.with(|state, _| halts::put(state, unit)))
    }

    fn halts(&self, limit: u32) -> PortFuture<'_, Result<Vec<Halt>, RegistryError>> {
        ready(self.with(|state, _| halts::all(state, size(limit))))
    }

    fn halted_tasks(
        &self,
        halt: HaltId,
        after: Option<HandleId>,
        limit: u32,
    ) -> PortFuture<'_, Result<Vec<HandleId>, RegistryError>> {
        ready(self.with(|state, _| halts::tasks(state, halt, after, size(limit))))
    }

    fn agents(&self) -> PortFuture<'_, Result<Vec<Agent>, RegistryError>> {
        ready(self.with(|state, _| agents::all(state)))
    }

    fn rules(&self) -> PortFuture<'_, Result<Vec<Rule>, RegistryError>> {
        ready(self.with(|state, _| state.rules.values().cloned().collect()))
    }

    fn attempts(&self, job: JobKey, limit: u32) -> PortFuture<'_, Result<Vec<HandleId>, RegistryError>> {
        ready(self.with(|state, policy| agents::attempts(state, &job, size(limit.min(policy.page_rows_max)))))
    }

    fn children(&self, id: HandleId, limit: u32) -> PortFuture<'_, Result<Vec<HandleId>, RegistryError>> {
        ready(self.with(|state, policy| agents::children(state, id, size(limit.min(policy.page_rows_max)))))
    }

    fn repeats(&self, agent: AgentId, job: JobKey) -> PortFuture<'_, Result<Vec<HandleId>, RegistryError>> {
        ready(self.with(|state, policy| agents::repeats(state, agent, &job, size(policy.gateway.repeats_max))))
    }

    fn undelivered(&self, since: Timestamp, limit: u32) -> PortFuture<'_, Result<Vec<HandleId>, RegistryError>> {
        ready(self.with(|state, _| agents::undelivered(state, since, size(limit))))
    }

    fn agent_tasks(
        &self,
        agent: AgentId,
        after: Option<HandleId>,
        limit: u32,
    ) -> PortFuture<'_, Result<Vec<TaskHandle>, RegistryError>> {
        ready(self.with(|state, policy| {
            let found = agents::given(state, agent, after);
            let rows = found.into_iter().take(size(limit.min(policy.page_rows_max)));
            rows.filter_map(|handle| state.rows.get(&handle.id)).map(StoredTask::handle).collect()
        }))
    }

    fn record(&self, audit: Vec<AuditEvent>) -> PortFuture<'_, Result<(), RegistryError>> {
        ready(self.with(|state, _| state.facts(audit)))
    }

    fn servers(&self) -> PortFuture<'_, Result<Vec<Server>, RegistryError>> {
        ready(self.with(|state, _| {
            let here = state.servers.values().filter(|(_, removed)| !removed);
            let by_name: BTreeMap<&str, &Server> = here.map(|(server, _)| (server.name.as_str(), server)).collect();
            by_name.into_values().cloned().collect()
        }))
    }

    fn server(&self, id: ServerId) -> PortFuture<'_, Result<Option<Server>, RegistryError>> {
        ready(self.with(|state, _| state.servers.get(&id).map(|(server, _)| server.clone())))
    }

    fn handle(&self, id: HandleId) -> PortFuture<'_, Result<Option<TaskHandle>, RegistryError>> {
        ready(self.with(|state, _| state.rows.get(&id).map(StoredTask::handle)))
    }

    fn handles_starting(&self, text: &str, limit: u32) -> PortFuture<'_, Result<Vec<HandleId>, RegistryError>> {
        ready(self.with(|state, policy| {
            let like = state.rows.iter().filter(|(id, _)| id.to_string().starts_with(text));
            let mut found: Vec<(Timestamp, HandleId)> = like.map(|(id, row)| (row.stored().created, *id)).collect();
            found.sort_unstable_by(|a, b| b.cmp(a));
            found.into_iter().take(size(limit.min(policy.page_rows_max))).map(|(_, id)| id).collect()
        }))
    }

    fn find_task(
        &self,
        server: ServerId,
        generation: u32,
        session: Option<SessionKey>,
        task: UpstreamTaskId,
    ) -> PortFuture<'_, Result<Option<KnownTask>, RegistryError>> {
        ready(self.with(|state, _| {
            let key = (server, generation, session, task);
            let kept = state.tasks.get(&key).copied().map(KnownTask::Kept);
            kept.or_else(|| state.removed_tasks.contains(&key).then_some(KnownTask::Removed))
        }))
    }

    fn open_handles(
        &self,
        server: Option<ServerId>,
        after: Option<HandleId>,
        limit: u32,
    ) -> PortFuture<'_, Result<Vec<TaskHandle>, RegistryError>> {
        ready(self.with(|state, policy| {
            let from = after.map_or(std::ops::Bound::Unbounded, std::ops::Bound::Excluded);
            state
                .rows
                .range((from, std::ops::Bound::Unbounded))
                .map(|(_, row)| row)
                .filter(|row| !row.phase.is_over() && server.is_none_or(|server| row.stored().server == server))
                .take(size(limit.min(policy.page_rows_max)))
                .map(StoredTask::handle)
                .collect()
        }))
    }

    fn open_count(&self, server: Option<ServerId>) -> PortFuture<'_, Result<u64, RegistryError>> {
        ready(self.with(|state, _| {
            let open =
                |row: &&StoredTask| !row.phase.is_over() && server.is_none_or(|server| row.stored().server == server);
            state.rows.values().filter(open).count() as u64
        }))
    }

    fn list(&self, query: TaskQuery) -> PortFuture<'_, Result<TaskPage, RegistryError>> {
        ready(self.with(|state, policy| {
            let key = |row: &StoredTask| (row.stored().created, row.stored().id);
            let before = query.before.map(|before| (before.created, before.id));
            let mut found: Vec<&StoredTask> = state
                .rows
                .values()
                .filter(|row| is_asked_for(row, &query))
                .filter(|row| query.phases.is_empty() || query.phases.contains(&row.phase))
                .filter(|row| before.is_none_or(|before| key(row) < before))
                .collect();
            found.sort_unstable_by_key(|row| std::cmp::Reverse(key(row)));
            let limit = size(query.limit.min(policy.page_rows_max));
            let more = found.len() > limit;
            found.truncate(limit);
            let cursor = |row: &&StoredTask| TaskCursor { created: row.stored().created, id: row.stored().id };
            TaskPage {
                next: found.last().filter(|_| more).map(cursor),
                rows: found.into_iter().map(|row| (row.handle(), row.next_poll())).collect(),
            }
        }))
    }

    fn counts(&self, query: TaskQuery) -> PortFuture<'_, Result<Vec<(Phase, u64)>, RegistryError>> {
        ready(self.with(|state, _| {
            let count = |phase: Phase| {
                let here = state.rows.values().filter(|row| row.phase == phase && is_asked_for(row, &query)).count();
                (phase, here as u64)
            };
            Phase::ALL.into_iter().map(count).filter(|(_, count)| *count > 0).collect()
        }))
    }

    fn tallies(&self) -> PortFuture<'_, Result<Vec<TaskTally>, RegistryError>> {
        ready(self.with(|state, _| task_list::tallies(state)))
    }

    fn page(&self, query: TaskListQuery, offset: u64, limit: u32) -> PortFuture<'_, Result<TaskRows, RegistryError>> {
        ready(self.with(|state, policy| {
            let skipped = usize::try_from(offset).unwrap_or(usize::MAX);
            let rows = task_list::found(state, &query).into_iter().skip(skipped);
            let rows = rows.take(size(limit.min(policy.page_rows_max))).map(|row| (row.handle(), row.next_poll()));
            TaskRows { rows: rows.collect() }
        }))
    }

    fn view(&self, query: TaskListQuery) -> PortFuture<'_, Result<TaskGroups, RegistryError>> {
        ready(self.with(|state, _| task_list::view(state, &query)))
    }

    fn matching_ids(&self, query: TaskListQuery, limit: u32) -> PortFuture<'_, Result<Vec<HandleId>, RegistryError>> {
        ready(self.with(|state, _| {
            task_list::found(state, &query).into_iter().take(size(limit)).map(|row| row.stored().id).collect()
        }))
    }

    fn attention(&self, limit: u32) -> PortFuture<'_, Result<Vec<TaskHandle>, RegistryError>> {
        ready(self.with(|state, policy| {
            let mut found: Vec<&StoredTask> = state.rows.values().filter(|row| needs_attention(row)).collect();
            found.sort_unstable_by_key(|row| std::cmp::Reverse((row.stored().changed, row.stored().id)));
            found.into_iter().take(size(limit.min(policy.inbox_rows_max))).map(StoredTask::handle).collect()
        }))
    }

    fn hide(&self, unit: HideUnit) -> PortFuture<'_, Result<(), RegistryError>> {
        ready(self.with(|state, _| task_list::hide(state, unit)))
    }

    fn cancels(&self, server: ServerId) -> PortFuture<'_, Result<CancelFacts, RegistryError>> {
        ready(self.with(|state, _| task_list::cancels(state, server)))
    }

    fn desk_put(
        &self,
        kind: &str,
        key: &str,
        value: Option<String>,
        at: Timestamp,
    ) -> PortFuture<'_, Result<(), RegistryError>> {
        ready(self.with(|state, policy| task_list::put(state, (kind, key), value, at, policy)).flatten())
    }

    fn desk_decide(
        &self,
        kind: &str,
        key: &str,
        value: Option<String>,
        audit: Vec<AuditEvent>,
    ) -> PortFuture<'_, Result<(), RegistryError>> {
        let at = audit.last().map_or(Timestamp::EPOCH, |event| event.at);
        let decided = self.with(|state, policy| {
            task_list::put(state, (kind, key), value, at, policy)?;
            state.facts(audit);
            Ok(())
        });
        ready(decided.flatten())
    }

    fn desk_list(&self, kind: &str) -> PortFuture<'_, Result<Vec<UserDataItem>, RegistryError>> {
        ready(self.with(|state, _| task_list::lying(state, kind)))
    }

    fn raw_list(&self, id: HandleId) -> PortFuture<'_, Result<Vec<RawNote>, RegistryError>> {
        ready(self.with(|state, _| {
            let Some(row) = state.rows.get(&id) else { return Vec::new() };
            row.raw.iter().map(|(n, message)| task_list::note(*n, message)).collect()
        }))
    }

    fn raw(&self, id: HandleId, n: u64) -> PortFuture<'_, Result<Option<Payload>, RegistryError>> {
        ready(self.with(|state, _| {
            let mut kept = state.rows.get(&id)?.raw.iter();
            kept.find(|(number, _)| *number == n).map(|(_, message)| message.body.clone())
        }))
    }

    fn inbox(&self, offset: u64, limit: u32) -> PortFuture<'_, Result<InboxPage, RegistryError>> {
        ready(self.with(|state, policy| questions::open(state, offset, limit.min(policy.inbox_rows_max))))
    }

    fn answered(
        &self,
        by: Option<Decider>,
        offset: u64,
        limit: u32,
    ) -> PortFuture<'_, Result<InboxPage, RegistryError>> {
        ready(
            self.with(|state, policy| {
                questions::answered(state, by.as_ref(), offset, limit.min(policy.inbox_rows_max))
            }),
        )
    }

    fn ticking(&self, now: Timestamp, limit: u32) -> PortFuture<'_, Result<Vec<HandleId>, RegistryError>> {
        ready(self.with(|state, _| due(state.rows.iter(), |row| row.tick_at, now, limit)))
    }

    fn deliverable(&self, now: Timestamp, limit: u32) -> PortFuture<'_, Result<Vec<HandleId>, RegistryError>> {
        ready(self.with(|state, _| due(state.rows.iter(), |row| row.deliver_at, now, limit)))
    }

    fn payload(&self, id: HandleId, kind: PayloadKind) -> PortFuture<'_, Result<Option<Payload>, RegistryError>> {
        ready(self.with(|state, _| state.rows.get(&id).and_then(|row| row.payloads.get(&kind).cloned())))
    }

    fn status_log(&self, id: HandleId, limit: u32) -> PortFuture<'_, Result<Vec<LogLine>, RegistryError>> {
        ready(self.with(|state, _| {
            let Some(row) = state.rows.get(&id) else { return Vec::new() };
            let skipped = row.log.len().saturating_sub(size(limit));
            row.log.iter().skip(skipped).cloned().collect()
        }))
    }

    fn usual(
        &self,
        server: ServerId,
        tool: &str,
        samples_min: u32,
    ) -> PortFuture<'_, Result<Option<UsualDuration>, RegistryError>> {
        ready(self.with(|state, _| state.usual(server, tool, samples_min)))
    }

    fn newest_seq(&self) -> PortFuture<'_, Result<Seq, RegistryError>> {
        ready(self.with(|state, _| Seq(state.seq)))
    }

    fn changes_since(&self, after: Seq, limit: u32) -> PortFuture<'_, Result<Changes, RegistryError>> {
        ready(self.with(|state, _| {
            if after.0 < state.pruned_upto || after.0 > state.seq {
                return Changes { upto: Seq(state.seq), truncated: true, rows: Vec::new() };
            }
            let newer = state.changes.iter().map(|(change, _)| *change).filter(|change| change.seq > after);
            let rows: Vec<_> = newer.take(size(limit.max(1))).collect();
            Changes { upto: rows.last().map_or(after, |last| last.seq), truncated: false, rows }
        }))
    }

    fn audit_page(
        &self,
        handle: Option<HandleId>,
        after: u64,
        limit: u32,
    ) -> PortFuture<'_, Result<AuditPage, RegistryError>> {
        ready(self.with(|state, policy| {
            audit_rows::page(&state.audit, handle, after, size(limit.clamp(1, policy.page_rows_max)))
        }))
    }

    fn audit_rows(&self, query: AuditQuery) -> PortFuture<'_, Result<AuditRows, RegistryError>> {
        ready(self.with(|state, policy| audit_rows::filtered(&state.audit, &query, policy.page_rows_max)))
    }

    fn next_poll(&self, id: HandleId) -> PortFuture<'_, Result<Option<Timestamp>, RegistryError>> {
        ready(self.with(|state, _| state.rows.get(&id).and_then(StoredTask::next_poll)))
    }

    fn facts(&self) -> PortFuture<'_, Result<RegistryFacts, RegistryError>> {
        ready(self.with(|state, _| storage::facts(state)))
    }

    fn prune(&self, before: Timestamp) -> PortFuture<'_, Result<u64, RegistryError>> {
        ready(self.with(|state, policy| state.prune(before, policy)))
    }

    fn recording(&self) -> Recording {
        Recording::Possible
    }

    fn try_recording(&self) -> PortFuture<'_, Recording> {
        ready(Recording::Possible)
    }

    fn storage(&self, limits: RetentionPolicy, now: Timestamp) -> PortFuture<'_, Result<StorageFacts, RegistryError>> {
        ready(self.with(|state, _| state.storage(&limits, now)))
    }

    fn clean(&self, limits: RetentionPolicy, now: Timestamp) -> PortFuture<'_, Result<Removal, RegistryError>> {
        ready(self.with(|state, _| state.clean(&limits, now)))
    }

    fn shrink(&self, _whole: bool) -> PortFuture<'_, Result<bool, RegistryError>> {
        ready(self.with(|_, _| false))
    }

    fn stored_use(&self) -> PortFuture<'_, Result<Vec<StoredUse>, RegistryError>> {
        ready(self.with(|state, _| state.stored_use()))
    }

    fn verify_audit(&self, after: Option<u64>, rows: u32) -> PortFuture<'_, Result<AuditCheck, RegistryError>> {
        ready(self.with(|state, _| state.verify(after, rows)))
    }

    fn audit_verified(&self) -> PortFuture<'_, Result<Option<u64>, RegistryError>> {
        ready(self.with(|state, _| state.verified))
    }

    fn close(&self) -> PortFuture<'_, ()> {
        self.state.lock().closed = true;
        ready(())
    }
}
