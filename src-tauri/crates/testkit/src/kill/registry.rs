//! A registry with kill points around every transaction that changes something, and a disk that can be full.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

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
    Recording, RecordingFault, Registry, RegistryError, RegistryFacts, Removal, RuleUnit, SeriesQuery, ServerUnit,
    SpendRow, StorageFacts, StoredUse, TaskGroups, TaskListQuery, TaskPage, TaskQuery, TaskRows, UserDataItem,
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

use super::KillPoints;

type Answer<'a, T> = PortFuture<'a, Result<T, RegistryError>>;

/// Wraps a registry.
pub struct KillPointRegistry {
    pub(super) inner: Arc<dyn Registry>,
    points: KillPoints,
    full: AtomicBool,
    refused: AtomicU64,
    /// How long a decision takes on a full disk, in milliseconds; 0 when it is refused as everything else.
    decision_ms: AtomicU64,
}

impl KillPointRegistry {
    /// `inner` gets these points.
    #[must_use]
    pub fn new(inner: Arc<dyn Registry>, points: KillPoints) -> Self {
        Self {
            inner,
            points,
            full: AtomicBool::default(),
            refused: AtomicU64::default(),
            decision_ms: AtomicU64::default(),
        }
    }

    /// The disk is full from now on, or no longer: writing fails, reading goes on.
    pub fn fill_disk(&self, full: bool) {
        self.full.store(full, Ordering::Relaxed);
    }

    /// On a full disk, cancels that people decided are recorded with the space of a reserve, which takes this long.
    pub fn record_decisions_in(&self, time: Duration) {
        self.decision_ms.store(u64::try_from(time.as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Commits that found the disk full.
    pub fn refused_commits(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    pub(super) async fn write<T, F>(&self, name: &'static str, act: impl FnOnce() -> F) -> Result<T, RegistryError>
    where
        F: Future<Output = Result<T, RegistryError>>,
    {
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

/// Methods that change something, each between two kill points.
macro_rules! writes {
    ($($name:ident($($argument:ident: $type:ty),*) -> $answer:ty;)+) => {$(
        fn $name(&self, $($argument: $type),*) -> Answer<'_, $answer> {
            Box::pin(self.write(concat!("registry.", stringify!($name)), move || self.inner.$name($($argument),*)))
        }
    )+};
}

/// Methods that only read.
macro_rules! reads {
    ($($name:ident($($argument:ident: $type:ty),*) -> $answer:ty;)+) => {$(
        fn $name(&self, $($argument: $type),*) -> Answer<'_, $answer> {
            self.inner.$name($($argument),*)
        }
    )+};
}

impl Registry for KillPointRegistry {
    fn admit(&self, unit: Commit) -> PortFuture<'_, Result<Recorded, CommitError>> {
        Box::pin(async move {
            self.room()?;
            self.points.around("registry.admit", move || self.inner.admit(unit)).await
        })
    }

    fn commit(&self, unit: Commit) -> PortFuture<'_, Result<Recorded, CommitError>> {
        Box::pin(async move {
            let decision_ms = self.decision_ms.load(Ordering::Relaxed);
            if self.room().is_err() && decision_ms > 0 && unit.handle.cancel_request().is_some() {
                tokio::time::sleep(Duration::from_millis(decision_ms)).await;
            } else {
                self.room().inspect_err(|_| {
                    self.refused.fetch_add(1, Ordering::Relaxed);
                })?;
            }
            self.points.around("registry.commit", move || self.inner.commit(unit)).await
        })
    }

    fn put_agent(&self, unit: AgentUnit) -> Answer<'_, Seq> {
        Box::pin(async move {
            // An agent's access is taken away with the space of the reserve (ruling 28).
            if unit.agent.revoked.is_none() {
                self.room()?;
            }
            self.points.around("registry.put_agent", move || self.inner.put_agent(unit)).await
        })
    }

    fn put_halt(&self, unit: HaltUnit) -> Answer<'_, Seq> {
        // With the space of the reserve, whether or not the disk is full (ruling 28).
        Box::pin(self.points.around("registry.put_halt", move || self.inner.put_halt(unit)))
    }

    fn put_plan(&self, unit: PlanUnit) -> Answer<'_, ()> {
        // As a halt.
        Box::pin(self.points.around("registry.put_plan", move || self.inner.put_plan(unit)))
    }

    fn desk_put(&self, kind: &str, key: &str, value: Option<String>, at: Timestamp) -> Answer<'_, ()> {
        let (kind, key) = (kind.to_owned(), key.to_owned());
        let put = move || async move { self.inner.desk_put(&kind, &key, value, at).await };
        Box::pin(self.write("registry.desk_put", put))
    }

    fn desk_decide(&self, kind: &str, key: &str, value: Option<String>, audit: Vec<AuditEvent>) -> Answer<'_, ()> {
        let (kind, key) = (kind.to_owned(), key.to_owned());
        let decide = move || async move { self.inner.desk_decide(&kind, &key, value, audit).await };
        Box::pin(self.write("registry.desk_decide", decide))
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

    fn close(&self) -> PortFuture<'_, ()> {
        self.inner.close()
    }

    writes! {
        note_contacts(notes: Vec<ContactNote>) -> ();
        put_server(unit: ServerUnit) -> Seq;
        remove_server(id: ServerId, audit: Vec<AuditEvent>) -> Seq;
        note_agents(notes: Vec<AgentNote>) -> ();
        note_budget(note: BudgetNote) -> ();
        put_price(unit: PriceUnit) -> ();
        put_tool_memory(unit: ToolMemoryUnit) -> ();
        put_rule(unit: RuleUnit) -> Seq;
        record(audit: Vec<AuditEvent>) -> ();
        hide(unit: HideUnit) -> ();
        prune(before: Timestamp) -> u64;
        clean(limits: RetentionPolicy, now: Timestamp) -> Removal;
    }

    reads! {
        windows(ended: u32) -> Vec<Window>;
        spend(query: SeriesQuery) -> Vec<SpendRow>;
        waste(query: SeriesQuery) -> Vec<WasteRow>;
        spend_by_hour(query: SeriesQuery) -> Vec<HourSum>;
        counted_hours(query: SeriesQuery) -> Vec<Timestamp>;
        prices() -> Vec<Price>;
        agents() -> Vec<Agent>;
        rules() -> Vec<Rule>;
        halts(limit: u32) -> Vec<Halt>;
        plan(id: PlanId) -> Option<BulkPlan>;
        plan_of(operation: OperationId) -> Option<BulkPlan>;
        running_plans() -> Vec<BulkPlan>;
        halted_tasks(halt: HaltId, after: Option<HandleId>, limit: u32) -> Vec<HandleId>;
        attempts(job: JobKey, limit: u32) -> Vec<HandleId>;
        children(id: HandleId, limit: u32) -> Vec<HandleId>;
        repeats(agent: AgentId, job: JobKey) -> Vec<HandleId>;
        undelivered(since: Timestamp, limit: u32) -> Vec<HandleId>;
        agent_tasks(agent: AgentId, after: Option<HandleId>, limit: u32) -> Vec<TaskHandle>;
        servers() -> Vec<Server>;
        server(id: ServerId) -> Option<Server>;
        tool_memory(server: ServerId) -> Option<ToolMemory>;
        handle(id: HandleId) -> Option<TaskHandle>;
        handles_starting(text: &str, limit: u32) -> Vec<HandleId>;
        find_task(server: ServerId, generation: u32, session: Option<SessionKey>, task: UpstreamTaskId) -> Option<KnownTask>;
        open_handles(server: Option<ServerId>, after: Option<HandleId>, limit: u32) -> Vec<TaskHandle>;
        open_count(server: Option<ServerId>) -> u64;
        list(query: TaskQuery) -> TaskPage;
        counts(query: TaskQuery) -> Vec<(Phase, u64)>;
        tallies() -> Vec<TaskTally>;
        page(query: TaskListQuery, offset: u64, limit: u32) -> TaskRows;
        view(query: TaskListQuery) -> TaskGroups;
        matching_ids(query: TaskListQuery, limit: u32) -> Vec<HandleId>;
        attention(limit: u32) -> Vec<TaskHandle>;
        cancels(server: ServerId) -> CancelFacts;
        desk_list(kind: &str) -> Vec<UserDataItem>;
        raw_list(id: HandleId) -> Vec<RawNote>;
        raw(id: HandleId, n: u64) -> Option<Payload>;
        inbox(offset: u64, limit: u32) -> InboxPage;
        answered(by: Option<Decider>, offset: u64, limit: u32) -> InboxPage;
        ticking(now: Timestamp, limit: u32) -> Vec<HandleId>;
        deliverable(now: Timestamp, limit: u32) -> Vec<HandleId>;
        payload(id: HandleId, kind: PayloadKind) -> Option<Payload>;
        status_log(id: HandleId, limit: u32) -> Vec<LogLine>;
        usual(server: ServerId, tool: &str, samples_min: u32) -> Option<UsualDuration>;
        newest_seq() -> Seq;
        changes_since(after: Seq, limit: u32) -> Changes;
        audit_page(handle: Option<HandleId>, after: u64, limit: u32) -> AuditPage;
        audit_rows(query: AuditQuery) -> AuditRows;
        next_poll(id: HandleId) -> Option<Timestamp>;
        facts() -> RegistryFacts;
        storage(limits: RetentionPolicy, now: Timestamp) -> StorageFacts;
        shrink(whole: bool) -> bool;
        stored_use() -> Vec<StoredUse>;
        verify_audit(after: Option<u64>, rows: u32) -> AuditCheck;
        audit_verified() -> Option<u64>;
    }
}
