//! What is stored and for how long, clean-up, and verification of the audit log.
//!
//! Anybody may look; only a person sets limits or removes. The engine and the registry find and remove in small steps.

use std::time::Duration;

use domain::policy::{BadPolicy, RetentionPolicy};
use domain::ports::Recording;
use engine::{RecordingState, StorageLimits};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;
use ts_rs::TS;

use crate::api::Api;
use crate::caller::{Ability, Caller};
use crate::calls::Nothing;
use crate::dto::core::storage::{
    AuditRecheckedDto, AuditVerifiedDto, BrokenRowDto, RecordingDto, RemovalDto, StorageDto, UnrecordedCallDto,
};
use crate::dto::iso;
use crate::error::{ApiError, Code};
use crate::format::time::{count, span};
use crate::format::tokens::grouped;
use crate::lookup::Names;

/// Limits to set; what is null stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct SetStorage {
    /// Payloads of tasks that ended longer ago go.
    pub payload_age_ms: Option<u64>,
    /// Bytes of the contents of all tasks.
    pub payload_bytes: Option<u64>,
    /// The same of one agent.
    pub agent_payload_bytes: Option<u64>,
    /// The same of one server.
    pub server_payload_bytes: Option<u64>,
    /// Tasks that ended longer ago go.
    pub task_age_ms: Option<u64>,
    /// How many tasks are stored.
    pub tasks: Option<u64>,
    /// Stored tasks of one agent.
    pub agent_tasks: Option<u64>,
    /// Stored tasks of one server.
    pub server_tasks: Option<u64>,
    /// Receipts of calls that are older go.
    pub receipt_age_ms: Option<u64>,
    /// How many receipts of calls are stored.
    pub receipts: Option<u64>,
    /// Audit segments that are older go.
    pub audit_age_ms: Option<u64>,
    /// Only say what would exceed these limits and when it would go; nothing is set.
    pub preview: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct CleanStorage {
    /// Write the registry anew afterwards, so that all free space goes back to the disk. Changes wait meanwhile.
    pub compact: bool,
}

/// What a clean-up removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct StorageCleaned {
    /// What is gone.
    pub removed: RemovalDto,
    /// What is left.
    pub storage: StorageDto,
}

/// A check of the audit log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct VerifyAudit {
    /// From the first row; otherwise from where it was verified before.
    pub whole: bool,
}

impl Api {
    /// Whether changes are recorded, with the calls that have no row meanwhile. Without a core there is nothing to record.
    ///
    /// # Errors
    /// When the registry cannot be read.
    pub async fn recording(&self, caller: &Caller, _input: Nothing) -> Result<RecordingDto, ApiError> {
        let Some(engine) = self.engine() else { return Ok(RecordingDto::Ok) };
        let mut state = engine.recording();
        if caller.require(Ability::Read).is_err() {
            // `doctor` is for everybody; whose calls are in flight is not.
            state.unrecorded.clear();
        }
        self.recording_dto(&state, &mut Names::default()).await
    }

    /// As it is shown.
    pub(crate) async fn recording_dto(
        &self,
        state: &RecordingState,
        names: &mut Names,
    ) -> Result<RecordingDto, ApiError> {
        let mut calls = Vec::with_capacity(state.unrecorded.len());
        if state.recording != Recording::Possible {
            for call in &state.unrecorded {
                calls.push(UnrecordedCallDto {
                    id: call.id.to_string(),
                    server: self.server_name(call.server, names).await?,
                    agent: self.agent_name(call.agent, names).await?,
                    tool: call.tool.to_string(),
                    since: iso(call.since),
                });
            }
        }
        Ok(RecordingDto::of(state.recording, iso(state.since), calls))
    }

    /// What is stored, how long it is kept, and what clean-up would remove now.
    ///
    /// # Errors
    /// When the registry cannot be read.
    pub async fn storage_show(&self, _caller: &Caller, _input: Nothing) -> Result<StorageDto, ApiError> {
        let limits = match self.engine() {
            Some(engine) => engine.storage_limits(),
            None => StorageLimits::on_record(&*self.registry, &self.policy.retention, self.now()).await?,
        };
        self.storage_by(&limits).await
    }

    /// What is stored, and what of it exceeds these limits.
    async fn storage_by(&self, limits: &StorageLimits) -> Result<StorageDto, ApiError> {
        let by = limits.limits().clone();
        let by = match self.engine() {
            Some(engine) => engine.clean_up_limits(by),
            None => by,
        };
        let facts = self.registry.storage(by, self.now()).await?;
        Ok(StorageDto::of(&facts, limits, &self.policy.retention, self.policy.reserve_file_bytes))
    }

    /// Sets how long what is stored is kept, or says what that would remove. What a lowered limit removes waits, so that
    /// it can be undone.
    ///
    /// # Errors
    /// When the limits do not fit together, or it cannot be recorded.
    pub async fn storage_set(&self, caller: &Caller, input: SetStorage) -> Result<StorageDto, ApiError> {
        let live = self.live()?;
        let now = live.engine.storage_limits().limits().clone();
        let age = |ms: Option<u64>, otherwise| ms.map_or(otherwise, Duration::from_millis);
        let limits = RetentionPolicy {
            payload_age: age(input.payload_age_ms, now.payload_age),
            task_age: age(input.task_age_ms, now.task_age),
            receipt_age: age(input.receipt_age_ms, now.receipt_age),
            receipts: input.receipts.unwrap_or(now.receipts),
            audit_age: age(input.audit_age_ms, now.audit_age),
            payload_bytes: input.payload_bytes.unwrap_or(now.payload_bytes),
            agent_payload_bytes: input.agent_payload_bytes.unwrap_or(now.agent_payload_bytes),
            server_payload_bytes: input.server_payload_bytes.unwrap_or(now.server_payload_bytes),
            tasks: input.tasks.unwrap_or(now.tasks),
            agent_tasks: input.agent_tasks.unwrap_or(now.agent_tasks),
            server_tasks: input.server_tasks.unwrap_or(now.server_tasks),
            ..now
        };
        limits.check().map_err(|bad| misfit(&bad, &limits))?;
        if input.preview {
            return self.storage_by(&live.engine.storage_limits_after(limits)).await;
        }
        live.engine.set_storage_limits(limits, &caller.person).await?;
        self.storage_show(caller, Nothing {}).await
    }

    /// Removes what is over its limit now.
    ///
    /// # Errors
    /// When the registry cannot be written.
    pub async fn storage_clean(&self, caller: &Caller, input: CleanStorage) -> Result<StorageCleaned, ApiError> {
        let live = self.live()?;
        let removed = live.engine.clean_storage(input.compact).await?.into();
        Ok(StorageCleaned { removed, storage: self.storage_show(caller, Nothing {}).await? })
    }

    /// Verifies the audit log, in stretches; a long one in several calls, each of which goes on where the last ended.
    ///
    /// # Errors
    /// When the registry cannot be read.
    pub async fn audit_verify(&self, _caller: &Caller, input: VerifyAudit) -> Result<AuditVerifiedDto, ApiError> {
        let until = Instant::now() + self.policy.asking.verify_limit;
        let mut after = if input.whole { None } else { self.registry.audit_verified().await? };
        let (mut checked, mut erased, mut first_erased) = (0_u64, 0_u64, None);
        loop {
            let check = self.registry.verify_audit(after, self.policy.retention.verified_at_once).await?;
            checked = checked.saturating_add(check.rows);
            erased = erased.saturating_add(check.erased);
            first_erased = first_erased.or(check.first_erased);
            after = Some(check.upto);
            // Without a core nothing remembers how far it came.
            let is_late = self.is_running() && Instant::now() >= until;
            if check.is_complete() || is_late {
                return Ok(AuditVerifiedDto {
                    checked,
                    verified_to: check.upto,
                    last: check.last,
                    first: check.first,
                    complete: check.is_complete() && check.broken.is_none(),
                    erased,
                    first_erased,
                    broken: check.broken.map(BrokenRowDto::of),
                });
            }
        }
    }

    /// Verifies rows again that were verified before, for a limited time: a core goes on where it stopped the last time, so
    /// that all of them are looked at in a few rounds. Without a core nothing remembers the place, and it begins behind
    /// another row each time.
    ///
    /// # Errors
    /// When the registry cannot be read.
    pub(crate) async fn audit_reverify(&self, verified_to: u64) -> Result<AuditRecheckedDto, ApiError> {
        let until = Instant::now() + self.policy.audit.reverify_limit;
        let anywhere = u64::try_from(self.now().as_millis()).ok().and_then(|now| now.checked_rem(verified_to));
        let mut after = if self.is_running() { None } else { anywhere };
        let mut rows = 0_u64;
        loop {
            let check = self.registry.reverify_audit(after, self.policy.retention.verified_at_once).await?;
            rows = rows.saturating_add(check.rows);
            let is_done = check.broken.is_some() || check.rows == 0 || rows >= check.of;
            if is_done || Instant::now() >= until {
                return Ok(AuditRecheckedDto {
                    rows: rows.min(check.of),
                    of: check.of,
                    broken: check.broken.map(BrokenRowDto::of),
                });
            }
            // Behind the last row a round begins at the first.
            after = Some(if check.upto < check.end { check.upto } else { 0 });
        }
    }
}

/// Why limits do not fit together, in the words of people: what was wanted, what is allowed, and the flags that set it.
fn misfit(bad: &BadPolicy, wanted: &RetentionPolicy) -> ApiError {
    let (why, flags) = match bad.field {
        "retention.payload_age" => {
            (format!("payloads are kept for a day or more, not for {}", span(wanted.payload_age)), "`--payload-age`")
        }
        "retention.task_age" => (
            format!(
                "tasks would be kept for {} and their payloads for {}, but no payload is kept longer than its task",
                span(wanted.task_age),
                span(wanted.payload_age)
            ),
            "`--task-age` and `--payload-age`",
        ),
        "retention.audit_age" => (
            format!(
                "audit rows would be kept for {} and tasks for {}, but no task is kept longer than its audit rows",
                span(wanted.audit_age),
                span(wanted.task_age)
            ),
            "`--audit-age` and `--task-age`",
        ),
        "retention.receipt_age" => {
            (format!("receipts are kept for a day or more, not for {}", span(wanted.receipt_age)), "`--receipt-age`")
        }
        "retention.receipts" => ("at least one receipt must be allowed".into(), "`--receipts`"),
        "retention.payload_bytes" => ("at least one byte must be allowed for payloads".into(), "`--payload-size`"),
        "retention.agent_payload_bytes" => (
            above_total("agent", size(wanted.agent_payload_bytes), &size(wanted.payload_bytes)),
            "`--agent-size` and `--payload-size`",
        ),
        "retention.server_payload_bytes" => (
            above_total("server", size(wanted.server_payload_bytes), &size(wanted.payload_bytes)),
            "`--server-size` and `--payload-size`",
        ),
        "retention.tasks" => ("at least one task must be allowed".into(), "`--tasks`"),
        "retention.agent_tasks" => (
            above_total("agent", count(wanted.agent_tasks, "task"), &count(wanted.tasks, "task")),
            "`--agent-tasks` and `--tasks`",
        ),
        "retention.server_tasks" => (
            above_total("server", count(wanted.server_tasks, "task"), &count(wanted.tasks, "task")),
            "`--server-tasks` and `--tasks`",
        ),
        field => (format!("`{field}` {}", bad.why), "the option of that name"),
    };
    ApiError::new(
        Code::Usage,
        format!("these limits cannot be set: {why}"),
        format!("In a terminal: `taskwarden storage set` with {flags}. `taskwarden storage` shows all limits."),
    )
}

/// A limit of each agent or server that is nothing, or more than all of them have together.
fn above_total(of: &str, one: String, all: &str) -> String {
    format!("each {of} would have {one} of {all} in total; a limit per {of} is above zero and not above the total")
}

/// A number of bytes in the largest unit that shows it whole.
fn size(bytes: u64) -> String {
    const UNITS: [(&str, u32); 3] = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let whole = UNITS.into_iter().find(|(_, power)| bytes > 0 && bytes.trailing_zeros() >= *power);
    whole.map_or_else(|| count(bytes, "byte"), |(unit, power)| format!("{} {unit}", grouped(bytes >> power)))
}
