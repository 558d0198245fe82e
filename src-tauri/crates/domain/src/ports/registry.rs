//! The durable registry: one method per atomic unit.
//!
//! Every mutating method is one transaction that holds the state, the change rows with the counter, and the audit
//! rows together, durable when it returns (`synchronous = FULL`). Reads see only committed state.

pub(crate) mod alarms;
pub(crate) mod audit;
pub(crate) mod budget;
pub(crate) mod checkpoints;
pub(crate) mod control;
pub(crate) mod error;
pub(crate) mod pauses;
pub(crate) mod receipts;
pub(crate) mod routes;
pub(crate) mod sinks;
pub(crate) mod storage;
pub(crate) mod task_list;

use std::sync::Arc;

use super::PortFuture;
use super::registry::alarms::AlarmStore;
use super::registry::audit::{AuditQuery, AuditRows};
use super::registry::budget::{BudgetNote, HourSum, PriceUnit, SeriesQuery, SpendRow, WasteRow};
use super::registry::checkpoints::CheckpointStore;
use super::registry::control::ControlStore;
use super::registry::error::RegistryError;
use super::registry::pauses::{PauseStore, PauseUnit};
use super::registry::receipts::ReceiptStore;
use super::registry::routes::RouteStore;
use super::registry::sinks::SinkStore;
use super::registry::storage::{AuditCheck, Recording, RegistryFacts, Removal, StorageFacts, StoredUse};
use super::registry::task_list::{CancelFacts, HideUnit, TaskGroups, TaskListQuery, TaskRows, UserDataItem};
use crate::agent::Agent;
use crate::audit::AuditEvent;
use crate::budget::price::Price;
use crate::budget::window::Window;
use crate::client::learned_timeout::LearnedTimeout;
use crate::ids::{AgentId, HaltId, HandleId, JobKey, OperationId, PlanId, Seq, ServerId, SessionKey, UpstreamTaskId};
use crate::policy::RetentionPolicy;
use crate::ports::change::Changes;
use crate::raw_message::RawNote;
use crate::rule::Rule;
use crate::server::Server;
use crate::server::halt::Halt;
use crate::server::tool_memory::{ToolMemory, ToolMemoryUnit};
use crate::task::cancel::plan::BulkPlan;
use crate::task::decider::Decider;
use crate::task::figures::TaskTally;
use crate::task::input_request::InputRequest;
use crate::task::observation::LogLine;
use crate::task::payload::{Payload, PayloadKind};
use crate::task::status::Phase;
use crate::task::{Commit, TaskHandle, UsualDuration};
use crate::time::Timestamp;

/// What is known of a task of a server by its id there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KnownTask {
    /// It is stored under this handle.
    Kept(HandleId),
    /// Retention removed it.
    Removed,
}

/// Why a commit did not happen.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommitError {
    /// Somebody else committed this handle first: load and decide again.
    #[error("the task changed meanwhile")]
    Conflict,
    /// A task with this upstream id is here already (admission by list or adoption).
    #[error("the task is here already")]
    Exists(HandleId),
    /// The registry itself.
    #[error(transparent)]
    Registry(#[from] RegistryError),
}

/// What a commit became.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recorded {
    /// Its place in the change log.
    pub seq: Seq,
    /// The handle's version from now on.
    pub version: u64,
}

/// When a task was last seen: kept in memory and flushed in batches (ruling 6). Not a change of the task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContactNote {
    pub handle: HandleId,
    pub seen: Timestamp,
    /// When it will be polled next.
    pub next_poll: Option<Timestamp>,
}

/// A change of a server's configuration or of what was negotiated.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerUnit {
    /// The server as it should be.
    pub server: Server,
    /// Facts; empty for what is only negotiated.
    pub audit: Vec<AuditEvent>,
}

/// A change of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentUnit {
    /// The agent as it should be.
    pub agent: Agent,
    pub audit: Vec<AuditEvent>,
    /// Its pause, which ends with its access.
    pub ended_pause: Option<PauseUnit>,
}

/// What changes about an agent all the time: flushed in batches, not a change of the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentNote {
    pub id: AgentId,
    /// When it was last seen.
    pub seen: Timestamp,
    /// Calls of tools so far, in all.
    pub calls: u64,
    /// What its program says it is; `None` leaves what is known.
    pub client: Option<String>,
    /// The timeout that its program was seen to have; `None` leaves what is known.
    pub learned_timeout: Option<LearnedTimeout>,
}

/// A rule put or taken away. There is at most one for a scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleUnit {
    /// The rule; when it is taken away, only its scope counts.
    pub rule: Rule,
    /// Whether its row is taken away, and its version with it. A rule that people remove is kept as one that says nothing.
    pub remove: bool,
    pub audit: Vec<AuditEvent>,
}

/// A halt that begins, widens, closes or reaches a stage of the way back. At most one is not over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HaltUnit {
    pub halt: Halt,
    /// Open tasks that are to be cancelled by it, added to those of before.
    pub targets: Vec<HandleId>,
    pub audit: Vec<AuditEvent>,
}

/// A plan that is made, begun, continued or over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanUnit {
    pub plan: BulkPlan,
    /// When it is forgotten; `None` while it runs.
    pub kept_until: Option<Timestamp>,
    pub at: Timestamp,
    pub audit: Vec<AuditEvent>,
}

/// Which tasks to list. All conditions must hold; an empty list is no condition.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TaskQuery {
    /// Any of these phases.
    pub phases: Vec<Phase>,
    /// On this server.
    pub server: Option<ServerId>,
    /// Of this agent.
    pub agent: Option<AgentId>,
    /// Created before this place: newest first, pages by key.
    pub before: Option<TaskCursor>,
    /// Rows at most.
    pub limit: u32,
}

/// A place in a list that is ordered by creation, newest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskCursor {
    pub created: Timestamp,
    pub id: HandleId,
}

/// A page of tasks, newest first.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskPage {
    /// The tasks with the time of their next poll.
    pub rows: Vec<(TaskHandle, Option<Timestamp>)>,
    /// Where the next page begins; `None` at the end.
    pub next: Option<TaskCursor>,
}

/// An open question with its task.
#[derive(Debug, Clone, PartialEq)]
pub struct InboxItem {
    /// The task; items of one task share it.
    pub handle: Arc<TaskHandle>,
    pub request: InputRequest,
}

/// A page of the inbox, oldest first.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct InboxPage {
    pub items: Vec<InboxItem>,
    /// Open questions before, on and after this page.
    pub total: u64,
}

/// One audit row with its hash link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditLink {
    /// Position in the chain, from 1 without gaps.
    pub number: u64,
    pub event: AuditEvent,
    /// What layout 2 adds; `None` for a row of layout 1.
    pub salted: Option<SaltedFields>,
    /// Hex SHA-256 of the row before.
    pub previous: String,
    /// Hex SHA-256 of this row.
    pub hash: String,
}

/// What a row of layout 2 has beside the fields of layout 1 (`docs/audit.md`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SaltedFields {
    /// The server that the row is about; empty where none is.
    pub server: String,
    /// The agent that the row is about; empty where none is.
    pub agent: String,
    /// What was erased is `None`, and the note of the event is then empty.
    pub erasable: Option<ErasableDetail>,
    /// Hex SHA-256 that stands for note and detail.
    pub commitment: String,
}

/// The part of a row that goes with its note when that is erased.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErasableDetail {
    /// RFC 8785 JSON.
    pub detail: String,
    /// Hex; protects a short note from guessing.
    pub salt: String,
}

/// A page of the audit log, oldest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditPage {
    pub rows: Vec<AuditLink>,
    /// Where the next page begins; `None` at the end.
    pub next_after: Option<u64>,
}

/// The durable registry.
pub trait Registry:
    ControlStore + RouteStore + CheckpointStore + AlarmStore + ReceiptStore + PauseStore + SinkStore
{
    /// Records a new handle before anything leaves the machine. For a handle whose view is a task already, fails with
    /// [`CommitError::Exists`] when (server, generation, session, upstream id) is known.
    fn admit(&self, unit: Commit) -> PortFuture<'_, Result<Recorded, CommitError>>;
    /// Changes a handle if nobody else did since it was read.
    fn commit(&self, unit: Commit) -> PortFuture<'_, Result<Recorded, CommitError>>;
    /// Flushes contact notes; unknown handles are skipped. No change rows, no versions.
    fn note_contacts(&self, notes: Vec<ContactNote>) -> PortFuture<'_, Result<(), RegistryError>>;
    /// Adds or changes a server.
    fn put_server(&self, unit: ServerUnit) -> PortFuture<'_, Result<Seq, RegistryError>>;
    /// Removes a server; its tasks stay for the record.
    fn remove_server(&self, id: ServerId, audit: Vec<AuditEvent>) -> PortFuture<'_, Result<Seq, RegistryError>>;
    /// Adds or changes an agent. Two agents with access never share a name or a token. Of one that is known, access
    /// that was taken away stays so, what [`Registry::note_agents`] noted stays as it is, and of two tokens the one that
    /// was made last is kept.
    fn put_agent(&self, unit: AgentUnit) -> PortFuture<'_, Result<Seq, RegistryError>>;
    /// Flushes what changes all the time; unknown agents are skipped. No change rows.
    fn note_agents(&self, notes: Vec<AgentNote>) -> PortFuture<'_, Result<(), RegistryError>>;
    /// Flushes what was counted. No change rows. Adding is exact: nothing is added twice or lost when this returns.
    fn note_budget(&self, note: BudgetNote) -> PortFuture<'_, Result<(), RegistryError>>;
    /// Puts or takes away the price of a model. No change row: prices change no task, server or agent.
    fn put_price(&self, unit: PriceUnit) -> PortFuture<'_, Result<(), RegistryError>>;
    /// Stores what changed of what is remembered of a server's tools. No change row: it changes no server.
    fn put_tool_memory(&self, unit: ToolMemoryUnit) -> PortFuture<'_, Result<(), RegistryError>>;
    /// Puts or takes away a rule.
    fn put_rule(&self, unit: RuleUnit) -> PortFuture<'_, Result<Seq, RegistryError>>;
    /// Stores a halt with the tasks that it cancels.
    fn put_halt(&self, unit: HaltUnit) -> PortFuture<'_, Result<Seq, RegistryError>>;
    /// Stores a plan, and forgets those that are of no use any more. Not a change of the change log: the tasks change.
    fn put_plan(&self, unit: PlanUnit) -> PortFuture<'_, Result<(), RegistryError>>;
    /// Records facts that belong to no handle.
    fn record(&self, audit: Vec<AuditEvent>) -> PortFuture<'_, Result<(), RegistryError>>;

    /// All configured servers by name.
    fn servers(&self) -> PortFuture<'_, Result<Vec<Server>, RegistryError>>;
    /// One server, also when it was removed (tasks outlive their server's configuration).
    fn server(&self, id: ServerId) -> PortFuture<'_, Result<Option<Server>, RegistryError>>;
    /// What is remembered of the tools of a server; `None` when they were never listed, or the server was removed.
    fn tool_memory(&self, server: ServerId) -> PortFuture<'_, Result<Option<ToolMemory>, RegistryError>>;
    /// All agents ever added, by name, those with access first.
    fn agents(&self) -> PortFuture<'_, Result<Vec<Agent>, RegistryError>>;
    /// The windows that are not emptied, then the last `ended` of each agent that are; each the newest first.
    fn windows(&self, ended: u32) -> PortFuture<'_, Result<Vec<Window>, RegistryError>>;
    /// What flowed in these hours, the oldest first.
    fn spend(&self, query: SeriesQuery) -> PortFuture<'_, Result<Vec<SpendRow>, RegistryError>>;
    /// The same, added up over agents, servers and families: as few rows as hours have kinds of flow.
    fn spend_by_hour(&self, query: SeriesQuery) -> PortFuture<'_, Result<Vec<HourSum>, RegistryError>>;
    /// The hours of these in which counting ran, whoever used anything, the oldest first.
    fn counted_hours(&self, query: SeriesQuery) -> PortFuture<'_, Result<Vec<Timestamp>, RegistryError>>;
    /// All prices, by model.
    fn prices(&self) -> PortFuture<'_, Result<Vec<Price>, RegistryError>>;
    /// What was wasted in these hours, the oldest first.
    fn waste(&self, query: SeriesQuery) -> PortFuture<'_, Result<Vec<WasteRow>, RegistryError>>;
    /// All rules, by scope.
    fn rules(&self) -> PortFuture<'_, Result<Vec<Rule>, RegistryError>>;
    /// Halts, the newest first, at most `limit`. One that is not over is the newest.
    fn halts(&self, limit: u32) -> PortFuture<'_, Result<Vec<Halt>, RegistryError>>;
    /// Tasks that a halt cancels, by id, those after `after`, at most `limit`.
    fn halted_tasks(
        &self,
        halt: HaltId,
        after: Option<HandleId>,
        limit: u32,
    ) -> PortFuture<'_, Result<Vec<HandleId>, RegistryError>>;
    /// A plan; `None` when there is none, or it is forgotten.
    fn plan(&self, id: PlanId) -> PortFuture<'_, Result<Option<BulkPlan>, RegistryError>>;
    /// The plan that an operation runs.
    fn plan_of(&self, operation: OperationId) -> PortFuture<'_, Result<Option<BulkPlan>, RegistryError>>;
    /// Plans whose operation has not ended, the oldest first.
    fn running_plans(&self) -> PortFuture<'_, Result<Vec<BulkPlan>, RegistryError>>;
    /// The attempts of a job, newest first, at most `limit`.
    fn attempts(&self, job: JobKey, limit: u32) -> PortFuture<'_, Result<Vec<HandleId>, RegistryError>>;
    /// What was called while this task was open, newest first, at most `limit`.
    fn children(&self, id: HandleId, limit: u32) -> PortFuture<'_, Result<Vec<HandleId>, RegistryError>>;
    /// Attempts of a job by this agent whose reply it never got ([`TaskHandle::is_undelivered`]), newest first, at most
    /// `gateway.repeats_max`.
    fn repeats(&self, agent: AgentId, job: JobKey) -> PortFuture<'_, Result<Vec<HandleId>, RegistryError>>;
    /// Tasks of all agents whose reply was never delivered ([`TaskHandle::is_undelivered`]) and that changed since
    /// then, newest first, at most `limit`: for the start.
    fn undelivered(&self, since: Timestamp, limit: u32) -> PortFuture<'_, Result<Vec<HandleId>, RegistryError>>;
    /// Tasks whose handle this agent was given and still has, newest first, those older than `after`.
    fn agent_tasks(
        &self,
        agent: AgentId,
        after: Option<HandleId>,
        limit: u32,
    ) -> PortFuture<'_, Result<Vec<TaskHandle>, RegistryError>>;
    fn handle(&self, id: HandleId) -> PortFuture<'_, Result<Option<TaskHandle>, RegistryError>>;
    /// Ids that begin with this text (the whole `hdl_…` or its first characters), at most `limit`, newest first.
    fn handles_starting(&self, text: &str, limit: u32) -> PortFuture<'_, Result<Vec<HandleId>, RegistryError>>;
    /// What is known of an upstream task; `None` when nothing is.
    fn find_task(
        &self,
        server: ServerId,
        generation: u32,
        session: Option<SessionKey>,
        task: UpstreamTaskId,
    ) -> PortFuture<'_, Result<Option<KnownTask>, RegistryError>>;
    /// Handles whose phase is not over, of one server or all, by id after `after`, at most `limit`.
    fn open_handles(
        &self,
        server: Option<ServerId>,
        after: Option<HandleId>,
        limit: u32,
    ) -> PortFuture<'_, Result<Vec<TaskHandle>, RegistryError>>;
    /// How many handles of a server (or all) are open.
    fn open_count(&self, server: Option<ServerId>) -> PortFuture<'_, Result<u64, RegistryError>>;
    /// A page of tasks.
    fn list(&self, query: TaskQuery) -> PortFuture<'_, Result<TaskPage, RegistryError>>;
    /// How many tasks there are in each phase, for the same conditions but the phase. Unused phases are left out.
    fn counts(&self, query: TaskQuery) -> PortFuture<'_, Result<Vec<(Phase, u64)>, RegistryError>>;
    /// All tasks by server, agent and [state](crate::task::figures::CountedState), hidden ones apart, as of one moment.
    fn tallies(&self) -> PortFuture<'_, Result<Vec<TaskTally>, RegistryError>>;
    /// A stretch of a list on a screen, by place: at most `limit` rows from the one with this many before it.
    fn page(&self, query: TaskListQuery, offset: u64, limit: u32) -> PortFuture<'_, Result<TaskRows, RegistryError>>;
    /// How a list on a screen is divided, with the number of tasks in each group.
    fn view(&self, query: TaskListQuery) -> PortFuture<'_, Result<TaskGroups, RegistryError>>;
    /// The tasks of a list on a screen by id, in its order, at most `limit`.
    fn matching_ids(&self, query: TaskListQuery, limit: u32) -> PortFuture<'_, Result<Vec<HandleId>, RegistryError>>;
    /// Tasks whose [`Phase::needs_attention`], that [are held](TaskHandle::is_held) or that
    /// [ask at a limit](TaskHandle::asks_at_limit), the last changed first, at most `limit`.
    fn attention(&self, limit: u32) -> PortFuture<'_, Result<Vec<TaskHandle>, RegistryError>>;
    /// Hides tasks from lists and figures, or shows them again. Only tasks that
    /// [may be hidden](crate::task::figures::CountedState::may_be_hidden) are; one whose phase changes, or whose result
    /// is held, is shown again without being asked. Nothing enters the change log, because the task does not change.
    fn hide(&self, unit: HideUnit) -> PortFuture<'_, Result<(), RegistryError>>;
    /// How the cancels of a server ended.
    fn cancels(&self, server: ServerId) -> PortFuture<'_, Result<CancelFacts, RegistryError>>;
    /// Puts something on the desk, replaces it, or takes it away (`None`). Beyond the caps of the policy the oldest of
    /// its kind fall out; a value above `desk_value_bytes` is refused. Not a change of the change log.
    fn desk_put(
        &self,
        kind: &str,
        key: &str,
        value: Option<String>,
        at: Timestamp,
    ) -> PortFuture<'_, Result<(), RegistryError>>;
    /// Puts a decision of a person on the desk, or takes it away, together with its audit rows, as one change.
    fn desk_decide(
        &self,
        kind: &str,
        key: &str,
        value: Option<String>,
        audit: Vec<AuditEvent>,
    ) -> PortFuture<'_, Result<(), RegistryError>>;
    /// What of one kind lies on the desk, the last put first.
    fn desk_list(&self, kind: &str) -> PortFuture<'_, Result<Vec<UserDataItem>, RegistryError>>;
    /// The raw messages that are kept of a task, oldest first.
    fn raw_list(&self, id: HandleId) -> PortFuture<'_, Result<Vec<RawNote>, RegistryError>>;
    /// One of them.
    fn raw(&self, id: HandleId, n: u64) -> PortFuture<'_, Result<Option<Payload>, RegistryError>>;
    /// Open questions that people are asked ([`TaskHandle::asks_people`]) of tasks whose [`Phase::asks_people`], oldest
    /// first, at most `limit` from the one with `offset` before it.
    fn inbox(&self, offset: u64, limit: u32) -> PortFuture<'_, Result<InboxPage, RegistryError>>;
    /// Answered questions of the tasks that are kept, the last answered first, at most `limit` from the one with
    /// `offset` before it; with `by`, those alone that this one answered.
    fn answered(
        &self,
        by: Option<Decider>,
        offset: u64,
        limit: u32,
    ) -> PortFuture<'_, Result<InboxPage, RegistryError>>;
    /// Handles whose phase may have changed by time alone.
    fn ticking(&self, now: Timestamp, limit: u32) -> PortFuture<'_, Result<Vec<HandleId>, RegistryError>>;
    /// Handles with something to deliver now.
    fn deliverable(&self, now: Timestamp, limit: u32) -> PortFuture<'_, Result<Vec<HandleId>, RegistryError>>;
    /// A stored payload.
    fn payload(&self, id: HandleId, kind: PayloadKind) -> PortFuture<'_, Result<Option<Payload>, RegistryError>>;
    /// The status log, oldest first.
    fn status_log(&self, id: HandleId, limit: u32) -> PortFuture<'_, Result<Vec<LogLine>, RegistryError>>;
    /// What this tool on this server usually takes; `None` below `samples_min` finished calls.
    fn usual(
        &self,
        server: ServerId,
        tool: &str,
        samples_min: u32,
    ) -> PortFuture<'_, Result<Option<UsualDuration>, RegistryError>>;
    /// The newest place of the change log.
    fn newest_seq(&self) -> PortFuture<'_, Result<Seq, RegistryError>>;
    /// What changed after a place, at most `limit` rows.
    fn changes_since(&self, after: Seq, limit: u32) -> PortFuture<'_, Result<Changes, RegistryError>>;
    /// The audit rows of one handle (or all), after a position.
    fn audit_page(
        &self,
        handle: Option<HandleId>,
        after: u64,
        limit: u32,
    ) -> PortFuture<'_, Result<AuditPage, RegistryError>>;
    /// Audit rows by a filter, as they are stored.
    fn audit_rows(&self, query: AuditQuery) -> PortFuture<'_, Result<AuditRows, RegistryError>>;
    /// When a handle will be polled next, as last flushed.
    fn next_poll(&self, id: HandleId) -> PortFuture<'_, Result<Option<Timestamp>, RegistryError>>;
    /// Facts for `doctor`, with a quick integrity check.
    fn facts(&self) -> PortFuture<'_, Result<RegistryFacts, RegistryError>>;
    /// Removes change rows older than `before`, and forgets how long tools take beyond `retention.learned_tools` of a
    /// server; returns how many change rows went.
    fn prune(&self, before: Timestamp) -> PortFuture<'_, Result<u64, RegistryError>>;
    /// Whether changes are recorded at this moment; from memory, without waiting.
    fn recording(&self) -> Recording;
    /// Tries to record again after it was not possible, and says whether it is now.
    fn try_recording(&self) -> PortFuture<'_, Recording>;
    /// What is stored, and what [`Registry::clean`] by these limits would remove now.
    fn storage(&self, limits: RetentionPolicy, now: Timestamp) -> PortFuture<'_, Result<StorageFacts, RegistryError>>;
    /// Removes one small stretch of what these limits do not keep; nothing when it is all removed. Never removes what
    /// is open, held or unanswered, nor a reply that may still be asked for; audit rows go in whole segments that leave a tombstone.
    fn clean(&self, limits: RetentionPolicy, now: Timestamp) -> PortFuture<'_, Result<Removal, RegistryError>>;
    /// Gives one small step of free space back to the disk; returns whether there is more. With `whole`, writes the
    /// file anew instead, which needs as much room as it has and holds up commits.
    fn shrink(&self, whole: bool) -> PortFuture<'_, Result<bool, RegistryError>>;
    /// What is stored, by server and agent.
    fn stored_use(&self) -> PortFuture<'_, Result<Vec<StoredUse>, RegistryError>>;
    /// Verifies at most `rows` rows of the audit chain after row `after`, whose hash was verified before; `None` begins
    /// at the first row. With a writer, what is verified is remembered for [`Registry::audit_verified`].
    fn verify_audit(&self, after: Option<u64>, rows: u32) -> PortFuture<'_, Result<AuditCheck, RegistryError>>;
    /// The row up to which the chain was verified before; `None` when the mark is missing or does not fit the chain.
    fn audit_verified(&self) -> PortFuture<'_, Result<Option<u64>, RegistryError>>;
    /// Finishes what was accepted and closes. Later calls fail with [`RegistryError::Closed`].
    fn close(&self) -> PortFuture<'_, ()>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cure_for_a_damaged_registry_holds_with_and_without_a_backup() {
        let hint = RegistryError::Damaged { path: "/data/registry.db".into(), finding: "bent".into() }.hint();
        assert!(hint.contains("If there is a `backups` folder"), "a backup is not promised: {hint}");
        assert!(hint.contains("Otherwise"), "and there is a way on without one: {hint}");
    }
}
