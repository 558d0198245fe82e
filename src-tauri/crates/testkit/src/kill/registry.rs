//! A registry with kill points around every transaction that changes something, and a disk that can be full.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use domain::agent::Agent;
use domain::audit::AuditEvent;
use domain::ports::change::Changes;
use domain::task::figures::TaskTally;
use domain::task::{TaskHandle, UsualDuration};
use domain::ids::{AgentId, HandleId, JobKey, Seq, ServerId, SessionKey, UpstreamTaskId};
use domain::task::observation::LogLine;
use domain::task::payload::{Payload, PayloadKind};
use domain::policy::RetentionPolicy;
use domain::ports::{AgentNote, AgentUnit, AuditCheck, AuditPage, BudgetNote, CancelFacts, Commit, CommitError, ContactNote, InboxPage, PayloadUse, PortFuture, Recorded, Recording, RecordingFault, Registry, RegistryError, RegistryFacts, Removal, RuleUnit, SeriesQuery, ServerUnit, SpendRow, StorageFacts, TaskGroups, TaskListQuery, TaskPage, TaskQuery, TaskRows, UserDataItem, WasteRow};
use domain::raw_message::RawNote;
use domain::rule::Rule;
use domain::server::Server;
use domain::task::status::Phase;
use domain::time::Timestamp;
use domain::budget::window::Window;

use super::KillPoints;

type Answer<'a, T> = PortFuture<'a, Result<T, RegistryError>>;

/// Wraps a registry.
pub struct KilledRegistry {
    inner: Arc<dyn Registry>,
    points: KillPoints,
    full: AtomicBool,
    refused: AtomicU64,
}

impl KilledRegistry {
    /// `inner` gets these points.
    #[must_use]
    pub fn new(inner: Arc<dyn Registry>, points: KillPoints) -> Self {
        Self { inner, points, full: AtomicBool::new(false), refused: AtomicU64::new(0) }
    }

    /// The disk is full from now on, or no longer: writing fails, reading goes on.
    pub fn fill_disk(&self, full: bool) {
        self.full.store(full, Ordering::Relaxed);
    }

    /// Commits that found the disk full.
    pub fn refused_commits(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    async fn write<T>(
        &self,
        name: &'static str,
        act: impl Future<Output = Result<T, RegistryError>>,
    ) -> Result<T, RegistryError> {
        self.room()?;
        self.points.around(name, act).await
    }

    fn room(&self) -> Result<(), RegistryError> {
        if self.full.load(Ordering::Relaxed) {
            return Err(RegistryError::Full { path: "registry".into() });
        }
        Ok(())
    }
}

impl Registry for KilledRegistry {
    fn admit(&self, unit: Commit) -> PortFuture<'_, Result<Recorded, CommitError>> {
        Box::pin(async move {
            self.room()?;
            self.points.around("registry.admit", self.inner.admit(unit)).await
        })
    }

    fn commit(&self, unit: Commit) -> PortFuture<'_, Result<Recorded, CommitError>> {
        Box::pin(async move {
            self.room().inspect_err(|_| {
                self.refused.fetch_add(1, Ordering::Relaxed);
            })?;
            self.points.around("registry.commit", self.inner.commit(unit)).await
        })
    }

    fn note_contacts(&self, notes: Vec<ContactNote>) -> Answer<'_, ()> {
        Box::pin(self.write("registry.note_contacts", self.inner.note_contacts(notes)))
    }

    fn put_server(&self, unit: ServerUnit) -> Answer<'_, Seq> {
        Box::pin(self.write("registry.put_server", self.inner.put_server(unit)))
    }

    fn remove_server(&self, id: ServerId, audit: Vec<AuditEvent>) -> Answer<'_, Seq> {
        Box::pin(self.write("registry.remove_server", self.inner.remove_server(id, audit)))
    }

    fn put_agent(&self, unit: AgentUnit) -> Answer<'_, Seq> {
        Box::pin(async move {
            // An agent's access is taken away with the space of the reserve (ruling 28).
            if unit.agent.revoked.is_none() {
                self.room()?;
            }
            self.points.around("registry.put_agent", self.inner.put_agent(unit)).await
        })
    }

    fn note_agents(&self, notes: Vec<AgentNote>) -> Answer<'_, ()> {
        Box::pin(self.write("registry.note_agents", self.inner.note_agents(notes)))
    }

    fn note_budget(&self, note: BudgetNote) -> Answer<'_, ()> {
        Box::pin(self.write("registry.note_budget", self.inner.note_budget(note)))
    }

    fn windows(&self, ended: u32) -> Answer<'_, Vec<Window>> {
        self.inner.windows(ended)
    }

    fn spend(&self, query: SeriesQuery) -> Answer<'_, Vec<SpendRow>> {
        self.inner.spend(query)
    }

    fn waste(&self, query: SeriesQuery) -> Answer<'_, Vec<WasteRow>> {
        self.inner.waste(query)
    }

    fn put_rule(&self, unit: RuleUnit) -> Answer<'_, Seq> {
        Box::pin(self.write("registry.put_rule", self.inner.put_rule(unit)))
    }

    fn agents(&self) -> Answer<'_, Vec<Agent>> {
        self.inner.agents()
    }

    fn rules(&self) -> Answer<'_, Vec<Rule>> {
        self.inner.rules()
    }

    fn attempts(&self, job: JobKey, limit: u32) -> Answer<'_, Vec<HandleId>> {
        self.inner.attempts(job, limit)
    }

    fn children(&self, id: HandleId, limit: u32) -> Answer<'_, Vec<HandleId>> {
        self.inner.children(id, limit)
    }

    fn repeats(&self, agent: AgentId, job: JobKey) -> Answer<'_, Vec<HandleId>> {
        self.inner.repeats(agent, job)
    }

    fn undelivered(&self, since: Timestamp, limit: u32) -> Answer<'_, Vec<HandleId>> {
        self.inner.undelivered(since, limit)
    }

    fn agent_tasks(&self, agent: AgentId, after: Option<HandleId>, limit: u32) -> Answer<'_, Vec<TaskHandle>> {
        self.inner.agent_tasks(agent, after, limit)
    }

    fn record(&self, audit: Vec<AuditEvent>) -> Answer<'_, ()> {
        Box::pin(self.write("registry.record", self.inner.record(audit)))
    }

    fn servers(&self) -> Answer<'_, Vec<Server>> {
        self.inner.servers()
    }

    fn server(&self, id: ServerId) -> Answer<'_, Option<Server>> {
        self.inner.server(id)
    }

    fn handle(&self, id: HandleId) -> Answer<'_, Option<TaskHandle>> {
        self.inner.handle(id)
    }

    fn handles_starting(&self, text: &str, limit: u32) -> Answer<'_, Vec<HandleId>> {
        self.inner.handles_starting(text, limit)
    }

    fn find_task(
        &self,
        server: ServerId,
        generation: u32,
        session: Option<SessionKey>,
        task: UpstreamTaskId,
    ) -> Answer<'_, Option<HandleId>> {
        self.inner.find_task(server, generation, session, task)
    }

    fn open_handles(
        &self,
        server: Option<ServerId>,
        after: Option<HandleId>,
        limit: u32,
    ) -> Answer<'_, Vec<TaskHandle>> {
        self.inner.open_handles(server, after, limit)
    }

    fn open_count(&self, server: Option<ServerId>) -> Answer<'_, u64> {
        self.inner.open_count(server)
    }

    fn list(&self, query: TaskQuery) -> Answer<'_, TaskPage> {
        self.inner.list(query)
    }

    fn counts(&self, query: TaskQuery) -> Answer<'_, Vec<(Phase, u64)>> {
        self.inner.counts(query)
    }

    fn tallies(&self) -> Answer<'_, Vec<TaskTally>> {
        self.inner.tallies()
    }

    fn page(&self, query: TaskListQuery, offset: u64, limit: u32) -> Answer<'_, TaskRows> {
        self.inner.page(query, offset, limit)
    }

    fn view(&self, query: TaskListQuery) -> Answer<'_, TaskGroups> {
        self.inner.view(query)
    }

    fn matching_ids(&self, query: TaskListQuery, limit: u32) -> Answer<'_, Vec<HandleId>> {
        self.inner.matching_ids(query, limit)
    }

    fn attention(&self, limit: u32) -> Answer<'_, Vec<TaskHandle>> {
        self.inner.attention(limit)
    }

    fn cancels(&self, server: ServerId) -> Answer<'_, CancelFacts> {
        self.inner.cancels(server)
    }

    fn desk_put(&self, kind: &str, key: &str, value: Option<String>, at: Timestamp) -> Answer<'_, ()> {
        Box::pin(self.write("registry.desk_put", self.inner.desk_put(kind, key, value, at)))
    }

    fn desk_decide(&self, kind: &str, key: &str, value: String, audit: Vec<AuditEvent>) -> Answer<'_, ()> {
        Box::pin(self.write("registry.desk_decide", self.inner.desk_decide(kind, key, value, audit)))
    }

    fn desk_list(&self, kind: &str) -> Answer<'_, Vec<UserDataItem>> {
        self.inner.desk_list(kind)
    }

    fn raw_list(&self, id: HandleId) -> Answer<'_, Vec<RawNote>> {
        self.inner.raw_list(id)
    }

    fn raw(&self, id: HandleId, n: u64) -> Answer<'_, Option<Payload>> {
        self.inner.raw(id, n)
    }

    fn inbox(&self, offset: u64, limit: u32) -> Answer<'_, InboxPage> {
        self.inner.inbox(offset, limit)
    }

    fn ticking(&self, now: Timestamp, limit: u32) -> Answer<'_, Vec<HandleId>> {
        self.inner.ticking(now, limit)
    }

    fn deliverable(&self, now: Timestamp, limit: u32) -> Answer<'_, Vec<HandleId>> {
        self.inner.deliverable(now, limit)
    }

    fn payload(&self, id: HandleId, kind: PayloadKind) -> Answer<'_, Option<Payload>> {
        self.inner.payload(id, kind)
    }

    fn status_log(&self, id: HandleId, limit: u32) -> Answer<'_, Vec<LogLine>> {
        self.inner.status_log(id, limit)
    }

    fn usual(&self, server: ServerId, tool: &str, samples_min: u32) -> Answer<'_, Option<UsualDuration>> {
        self.inner.usual(server, tool, samples_min)
    }

    fn newest_seq(&self) -> Answer<'_, Seq> {
        self.inner.newest_seq()
    }

    fn changes_since(&self, after: Seq, limit: u32) -> Answer<'_, Changes> {
        self.inner.changes_since(after, limit)
    }

    fn audit_page(&self, handle: Option<HandleId>, after: u64, limit: u32) -> Answer<'_, AuditPage> {
        self.inner.audit_page(handle, after, limit)
    }

    fn next_poll(&self, id: HandleId) -> Answer<'_, Option<Timestamp>> {
        self.inner.next_poll(id)
    }

    fn facts(&self) -> Answer<'_, RegistryFacts> {
        self.inner.facts()
    }

    fn prune(&self, before: Timestamp) -> Answer<'_, u64> {
        Box::pin(self.write("registry.prune", self.inner.prune(before)))
    }

    fn recording(&self) -> Recording {
        if self.full.load(Ordering::Relaxed) {
            return Recording::Impossible(RecordingFault::DiskFull);
        }
        self.inner.recording()
    }

    fn try_recording(&self) -> PortFuture<'_, Recording> {
        if self.full.load(Ordering::Relaxed) {
            return Box::pin(async { Recording::Impossible(RecordingFault::DiskFull) });
        }
        self.inner.try_recording()
    }

    fn storage(&self, limits: RetentionPolicy, now: Timestamp) -> Answer<'_, StorageFacts> {
        self.inner.storage(limits, now)
    }

    fn clean(&self, limits: RetentionPolicy, now: Timestamp) -> Answer<'_, Removal> {
        Box::pin(self.write("registry.clean", self.inner.clean(limits, now)))
    }

    fn shrink(&self, whole: bool) -> Answer<'_, bool> {
        self.inner.shrink(whole)
    }

    fn payload_use(&self) -> Answer<'_, Vec<PayloadUse>> {
        self.inner.payload_use()
    }

    fn verify_audit(&self, after: Option<u64>, rows: u32) -> Answer<'_, AuditCheck> {
        self.inner.verify_audit(after, rows)
    }

    fn audit_verified(&self) -> Answer<'_, Option<u64>> {
        self.inner.audit_verified()
    }

    fn close(&self) -> PortFuture<'_, ()> {
        self.inner.close()
    }
}
