//! The `Registry` port on SQLite: each method handed to the module of its aggregate.
//!
//! Changes are encoded here, in the caller's task, and written by the writer; without a writer (opened for reading
//! only) they are refused. Dropping a future leaves the registry consistent, though the change may have been made.

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
    Recording, Registry, RegistryError, RegistryFacts, Removal, RouteStore, RouteUnit, RuleUnit, SeriesQuery,
    ServerUnit, SpendRow, StorageFacts, StoredUse, TaskGroups, TaskListQuery, TaskPage, TaskQuery, TaskRows,
    UserDataItem, WasteRow,
};
use domain::raw_message::RawNote;
use domain::rule::Rule;
use domain::server::Server;
use domain::server::halt::Halt;
use domain::server::route::ClientRoute;
use domain::server::tool_memory::{ToolMemory, ToolMemoryUnit};
use domain::task::cancel::plan::BulkPlan;
use domain::task::decider::Decider;
use domain::task::figures::TaskTally;
use domain::task::observation::LogLine;
use domain::task::payload::{Payload, PayloadKind};
use domain::task::status::Phase;
use domain::task::{Home, TaskHandle, UsualDuration};
use domain::time::Timestamp;

use super::SqliteRegistry;
use super::tables::agents::{self, AgentRow};
use super::tables::prices::PriceRow;
use super::tables::rules::RuleRow;
use super::tables::rules::halts::HaltRow;
use super::tables::rules::plans::PlanRow;
use super::tables::servers::ServerRow;
use super::tables::servers::routes::RouteRow;
use super::tables::servers::tool_memory::ToolRows;
use super::tables::task_row::EncodedTask;
use super::tables::token_series::UsageRows;
use super::tables::user_data::UserDataRow;
use super::write::hidden_tasks::HiddenRows;
use super::write::mutation::{Mutation, MutationOutcome};
use super::write::writer::Writer;

impl SqliteRegistry {
    pub(super) fn writer(&self) -> Result<&Writer, RegistryError> {
        self.writer.as_ref().ok_or_else(|| RegistryError::ReadOnly { path: self.base.path.clone() })
    }

    async fn write(&self, unit: Mutation) -> Result<MutationOutcome, RegistryError> {
        self.writer()?.write(unit).await
    }
}

impl Registry for SqliteRegistry {
    fn admit(&self, unit: Commit) -> PortFuture<'_, Result<Recorded, CommitError>> {
        Box::pin(async move {
            let unit = EncodedTask::of(&unit, &self.base.sealer, self.base.limits)?;
            self.write(Mutation::Admit(Box::new(unit))).await?.into_recorded()
        })
    }

    fn commit(&self, unit: Commit) -> PortFuture<'_, Result<Recorded, CommitError>> {
        Box::pin(async move {
            let unit = EncodedTask::of(&unit, &self.base.sealer, self.base.limits)?;
            self.write(Mutation::Commit(Box::new(unit))).await?.into_recorded()
        })
    }

    fn note_contacts(&self, notes: Vec<ContactNote>) -> PortFuture<'_, Result<(), RegistryError>> {
        Box::pin(async move {
            if notes.is_empty() {
                return Ok(());
            }
            self.write(Mutation::contacts(&notes)).await?.into_done()
        })
    }

    fn put_server(&self, unit: ServerUnit) -> PortFuture<'_, Result<Seq, RegistryError>> {
        Box::pin(async move {
            let row = ServerRow::of(&unit, &self.base.sealer)?;
            self.write(Mutation::PutServer(Box::new(row))).await?.into_seq()
        })
    }

    fn remove_server(&self, id: ServerId, audit: Vec<AuditEvent>) -> PortFuture<'_, Result<Seq, RegistryError>> {
        Box::pin(async move { self.write(Mutation::RemoveServer(id, audit)).await?.into_seq() })
    }

    fn put_agent(&self, unit: AgentUnit) -> PortFuture<'_, Result<Seq, RegistryError>> {
        Box::pin(async move {
            let row = AgentRow::of(unit)?;
            self.write(Mutation::PutAgent(Box::new(row))).await?.into_seq()
        })
    }

    fn note_agents(&self, notes: Vec<AgentNote>) -> PortFuture<'_, Result<(), RegistryError>> {
        Box::pin(async move {
            if notes.is_empty() {
                return Ok(());
            }
            self.write(Mutation::NoteAgents(agents::notes(&notes))).await?.into_done()
        })
    }

    fn note_budget(&self, note: BudgetNote) -> PortFuture<'_, Result<(), RegistryError>> {
        Box::pin(async move {
            if note == BudgetNote::default() {
                return Ok(());
            }
            let rows = UsageRows::of(&note, &self.base.sealer)?;
            self.write(Mutation::NoteUsage(Box::new(rows))).await?.into_done()
        })
    }

    fn windows(&self, ended: u32) -> PortFuture<'_, Result<Vec<Window>, RegistryError>> {
        Box::pin(self.read_windows(ended))
    }

    fn spend(&self, query: SeriesQuery) -> PortFuture<'_, Result<Vec<SpendRow>, RegistryError>> {
        Box::pin(self.read_spend(query))
    }

    fn waste(&self, query: SeriesQuery) -> PortFuture<'_, Result<Vec<WasteRow>, RegistryError>> {
        Box::pin(self.read_waste(query))
    }

    fn spend_by_hour(&self, query: SeriesQuery) -> PortFuture<'_, Result<Vec<HourSum>, RegistryError>> {
        Box::pin(self.read_spend_by_hour(query))
    }

    fn counted_hours(&self, query: SeriesQuery) -> PortFuture<'_, Result<Vec<Timestamp>, RegistryError>> {
        Box::pin(self.read_counted_hours(query))
    }

    fn prices(&self) -> PortFuture<'_, Result<Vec<Price>, RegistryError>> {
        Box::pin(self.read_prices())
    }

    fn put_price(&self, unit: PriceUnit) -> PortFuture<'_, Result<(), RegistryError>> {
        Box::pin(async move { self.write(Mutation::PutPrice(Box::new(PriceRow::of(unit)))).await?.into_done() })
    }

    fn put_tool_memory(&self, unit: ToolMemoryUnit) -> PortFuture<'_, Result<(), RegistryError>> {
        Box::pin(async move {
            let rows = ToolRows::of(&unit, &self.base.sealer)?;
            self.write(Mutation::PutTools(Box::new(rows))).await?.into_done()
        })
    }

    fn tool_memory(&self, server: ServerId) -> PortFuture<'_, Result<Option<ToolMemory>, RegistryError>> {
        Box::pin(self.read_tool_memory(server))
    }

    fn put_rule(&self, unit: RuleUnit) -> PortFuture<'_, Result<Seq, RegistryError>> {
        Box::pin(async move {
            let row = RuleRow::of(unit)?;
            self.write(Mutation::PutRule(Box::new(row))).await?.into_seq()
        })
    }

    fn put_halt(&self, unit: HaltUnit) -> PortFuture<'_, Result<Seq, RegistryError>> {
        Box::pin(async move { self.write(Mutation::PutHalt(Box::new(HaltRow::of(unit)?))).await?.into_seq() })
    }

    fn halts(&self, limit: u32) -> PortFuture<'_, Result<Vec<Halt>, RegistryError>> {
        Box::pin(self.read_halts(limit))
    }

    fn halted_tasks(
        &self,
        halt: HaltId,
        after: Option<HandleId>,
        limit: u32,
    ) -> PortFuture<'_, Result<Vec<HandleId>, RegistryError>> {
        Box::pin(self.read_halted_tasks(halt, after, limit))
    }

    fn put_plan(&self, unit: PlanUnit) -> PortFuture<'_, Result<(), RegistryError>> {
        Box::pin(async move { self.write(Mutation::PutPlan(Box::new(PlanRow::of(&unit)?))).await?.into_done() })
    }

    fn plan(&self, id: PlanId) -> PortFuture<'_, Result<Option<BulkPlan>, RegistryError>> {
        Box::pin(self.read_plan(id))
    }

    fn plan_of(&self, operation: OperationId) -> PortFuture<'_, Result<Option<BulkPlan>, RegistryError>> {
        Box::pin(self.read_plan_of(operation))
    }

    fn running_plans(&self) -> PortFuture<'_, Result<Vec<BulkPlan>, RegistryError>> {
        Box::pin(self.read_running_plans())
    }

    fn agents(&self) -> PortFuture<'_, Result<Vec<Agent>, RegistryError>> {
        Box::pin(self.read_agents())
    }

    fn rules(&self) -> PortFuture<'_, Result<Vec<Rule>, RegistryError>> {
        Box::pin(self.read_rules())
    }

    fn attempts(&self, job: JobKey, limit: u32) -> PortFuture<'_, Result<Vec<HandleId>, RegistryError>> {
        Box::pin(self.read_attempts(job, limit))
    }

    fn children(&self, id: HandleId, limit: u32) -> PortFuture<'_, Result<Vec<HandleId>, RegistryError>> {
        Box::pin(self.read_children(id, limit))
    }

    fn repeats(&self, agent: AgentId, job: JobKey) -> PortFuture<'_, Result<Vec<HandleId>, RegistryError>> {
        Box::pin(self.read_repeats(agent, job))
    }

    fn undelivered(&self, since: Timestamp, limit: u32) -> PortFuture<'_, Result<Vec<HandleId>, RegistryError>> {
        Box::pin(self.read_undelivered(since, limit))
    }

    fn agent_tasks(
        &self,
        agent: AgentId,
        after: Option<HandleId>,
        limit: u32,
    ) -> PortFuture<'_, Result<Vec<TaskHandle>, RegistryError>> {
        Box::pin(self.read_agent_tasks(agent, after, limit))
    }

    fn record(&self, audit: Vec<AuditEvent>) -> PortFuture<'_, Result<(), RegistryError>> {
        Box::pin(async move { self.write(Mutation::RecordAudit(audit)).await?.into_done() })
    }

    fn servers(&self) -> PortFuture<'_, Result<Vec<Server>, RegistryError>> {
        Box::pin(self.read_servers())
    }

    fn server(&self, id: ServerId) -> PortFuture<'_, Result<Option<Server>, RegistryError>> {
        Box::pin(self.read_server(id))
    }

    fn handle(&self, id: HandleId) -> PortFuture<'_, Result<Option<TaskHandle>, RegistryError>> {
        Box::pin(self.read_handle(id))
    }

    fn handles_starting(&self, text: &str, limit: u32) -> PortFuture<'_, Result<Vec<HandleId>, RegistryError>> {
        let text = text.to_owned();
        Box::pin(async move { self.read_starting(&text, limit).await })
    }

    fn find_task(
        &self,
        server: ServerId,
        generation: u32,
        session: Option<SessionKey>,
        task: UpstreamTaskId,
    ) -> PortFuture<'_, Result<Option<KnownTask>, RegistryError>> {
        Box::pin(self.read_task(server, Home { generation, session }, task))
    }

    fn open_handles(
        &self,
        server: Option<ServerId>,
        after: Option<HandleId>,
        limit: u32,
    ) -> PortFuture<'_, Result<Vec<TaskHandle>, RegistryError>> {
        Box::pin(self.read_open(server, after, limit))
    }

    fn open_count(&self, server: Option<ServerId>) -> PortFuture<'_, Result<u64, RegistryError>> {
        Box::pin(self.read_open_count(server))
    }

    fn list(&self, query: TaskQuery) -> PortFuture<'_, Result<TaskPage, RegistryError>> {
        Box::pin(self.read_page(query))
    }

    fn counts(&self, query: TaskQuery) -> PortFuture<'_, Result<Vec<(Phase, u64)>, RegistryError>> {
        Box::pin(self.read_counts(query))
    }

    fn tallies(&self) -> PortFuture<'_, Result<Vec<TaskTally>, RegistryError>> {
        Box::pin(self.read_tallies())
    }

    fn page(&self, query: TaskListQuery, offset: u64, limit: u32) -> PortFuture<'_, Result<TaskRows, RegistryError>> {
        Box::pin(self.read_screen(query, offset, limit))
    }

    fn view(&self, query: TaskListQuery) -> PortFuture<'_, Result<TaskGroups, RegistryError>> {
        Box::pin(self.read_view(query))
    }

    fn matching_ids(&self, query: TaskListQuery, limit: u32) -> PortFuture<'_, Result<Vec<HandleId>, RegistryError>> {
        Box::pin(self.read_matching(query, limit))
    }

    fn attention(&self, limit: u32) -> PortFuture<'_, Result<Vec<TaskHandle>, RegistryError>> {
        Box::pin(self.read_attention(limit))
    }

    fn hide(&self, unit: HideUnit) -> PortFuture<'_, Result<(), RegistryError>> {
        let rows = HiddenRows::of(&unit);
        Box::pin(async move { self.write(Mutation::Hide(rows)).await?.into_done() })
    }

    fn cancels(&self, server: ServerId) -> PortFuture<'_, Result<CancelFacts, RegistryError>> {
        Box::pin(self.read_cancels(server))
    }

    fn desk_put(
        &self,
        kind: &str,
        key: &str,
        value: Option<String>,
        at: Timestamp,
    ) -> PortFuture<'_, Result<(), RegistryError>> {
        let row = UserDataRow::of(&self.base, kind, key, value.as_deref(), at);
        Box::pin(async move { self.write(Mutation::PutUserData(row?, Vec::new())).await?.into_done() })
    }

    fn desk_decide(
        &self,
        kind: &str,
        key: &str,
        value: Option<String>,
        audit: Vec<AuditEvent>,
    ) -> PortFuture<'_, Result<(), RegistryError>> {
        let at = audit.last().map_or(Timestamp::EPOCH, |event| event.at);
        let row = UserDataRow::of(&self.base, kind, key, value.as_deref(), at);
        Box::pin(async move { self.write(Mutation::PutUserData(row?, audit)).await?.into_done() })
    }

    fn desk_list(&self, kind: &str) -> PortFuture<'_, Result<Vec<UserDataItem>, RegistryError>> {
        let kind = kind.to_owned();
        Box::pin(async move { self.read_desk(&kind).await })
    }

    fn raw_list(&self, id: HandleId) -> PortFuture<'_, Result<Vec<RawNote>, RegistryError>> {
        Box::pin(self.read_raw_list(id))
    }

    fn raw(&self, id: HandleId, n: u64) -> PortFuture<'_, Result<Option<Payload>, RegistryError>> {
        Box::pin(self.read_raw(id, n))
    }

    fn inbox(&self, offset: u64, limit: u32) -> PortFuture<'_, Result<InboxPage, RegistryError>> {
        Box::pin(self.read_inbox(offset, limit))
    }

    fn answered(
        &self,
        by: Option<Decider>,
        offset: u64,
        limit: u32,
    ) -> PortFuture<'_, Result<InboxPage, RegistryError>> {
        Box::pin(self.read_answered(by, offset, limit))
    }

    fn ticking(&self, now: Timestamp, limit: u32) -> PortFuture<'_, Result<Vec<HandleId>, RegistryError>> {
        Box::pin(self.read_ticking(now, limit))
    }

    fn deliverable(&self, now: Timestamp, limit: u32) -> PortFuture<'_, Result<Vec<HandleId>, RegistryError>> {
        Box::pin(self.read_deliverable(now, limit))
    }

    fn payload(&self, id: HandleId, kind: PayloadKind) -> PortFuture<'_, Result<Option<Payload>, RegistryError>> {
        Box::pin(self.read_payload(id, kind))
    }

    fn status_log(&self, id: HandleId, limit: u32) -> PortFuture<'_, Result<Vec<LogLine>, RegistryError>> {
        Box::pin(self.read_log(id, limit))
    }

    fn usual(
        &self,
        server: ServerId,
        tool: &str,
        samples_min: u32,
    ) -> PortFuture<'_, Result<Option<UsualDuration>, RegistryError>> {
        let tool = tool.to_owned();
        Box::pin(async move { self.read_usual(server, &tool, samples_min).await })
    }

    fn newest_seq(&self) -> PortFuture<'_, Result<Seq, RegistryError>> {
        Box::pin(self.read_newest())
    }

    fn changes_since(&self, after: Seq, limit: u32) -> PortFuture<'_, Result<Changes, RegistryError>> {
        Box::pin(self.read_changes(after, limit))
    }

    fn audit_page(
        &self,
        handle: Option<HandleId>,
        after: u64,
        limit: u32,
    ) -> PortFuture<'_, Result<AuditPage, RegistryError>> {
        Box::pin(self.read_audit(handle, after, limit))
    }

    fn audit_rows(&self, query: AuditQuery) -> PortFuture<'_, Result<AuditRows, RegistryError>> {
        Box::pin(self.read_audit_rows(query))
    }

    fn next_poll(&self, id: HandleId) -> PortFuture<'_, Result<Option<Timestamp>, RegistryError>> {
        Box::pin(self.read_next_look(id))
    }

    fn facts(&self) -> PortFuture<'_, Result<RegistryFacts, RegistryError>> {
        Box::pin(self.read_facts())
    }

    fn prune(&self, before: Timestamp) -> PortFuture<'_, Result<u64, RegistryError>> {
        Box::pin(async move { self.writer()?.prune(before).await })
    }

    fn recording(&self) -> Recording {
        self.base.health.recording()
    }

    fn try_recording(&self) -> PortFuture<'_, Recording> {
        Box::pin(async move {
            match &self.writer {
                Some(writer) => writer.try_recording().await.unwrap_or_else(|_| self.base.health.recording()),
                None => self.base.health.recording(),
            }
        })
    }

    fn storage(&self, limits: RetentionPolicy, now: Timestamp) -> PortFuture<'_, Result<StorageFacts, RegistryError>> {
        Box::pin(async move { self.read_storage(&limits, now).await })
    }

    fn clean(&self, limits: RetentionPolicy, now: Timestamp) -> PortFuture<'_, Result<Removal, RegistryError>> {
        Box::pin(async move { self.clean_stretch(&limits, now).await })
    }

    fn shrink(&self, whole: bool) -> PortFuture<'_, Result<bool, RegistryError>> {
        Box::pin(async move { self.writer()?.shrink(whole).await })
    }

    fn stored_use(&self) -> PortFuture<'_, Result<Vec<StoredUse>, RegistryError>> {
        Box::pin(self.read_stored_use())
    }

    fn verify_audit(&self, after: Option<u64>, rows: u32) -> PortFuture<'_, Result<AuditCheck, RegistryError>> {
        Box::pin(async move {
            let (check, mark) = self.verify_stretch(after, rows).await?;
            self.keep_verified(mark).await;
            Ok(check)
        })
    }

    fn audit_verified(&self) -> PortFuture<'_, Result<Option<u64>, RegistryError>> {
        Box::pin(self.read_verified())
    }

    fn close(&self) -> PortFuture<'_, ()> {
        Box::pin(async move {
            if let Some(writer) = &self.writer {
                match writer.close().await {
                    Ok(()) | Err(RegistryError::Closed) => {}
                    Err(error) => tracing::warn!(%error, "the registry did not close in order"),
                }
            }
            self.readers.close().await;
        })
    }
}

impl RouteStore for SqliteRegistry {
    fn put_route(&self, unit: RouteUnit) -> PortFuture<'_, Result<(), RegistryError>> {
        Box::pin(async move {
            let row = RouteRow::of(&self.base, unit)?;
            self.write(Mutation::PutRoute(Box::new(row))).await?.into_done()
        })
    }

    fn open_routes(&self) -> PortFuture<'_, Result<Vec<ClientRoute>, RegistryError>> {
        Box::pin(self.read_open_routes())
    }
}
