//! One atomic change on its way to the writer, and what became of it.
//!
//! Rows are encoded and sealed where a change comes from (`tables/`), so that the writer only writes. What a change does to
//! the tables is in `transaction.rs`.

use domain::audit::AuditEvent;
use domain::ids::{HandleId, Seq, ServerId};
use domain::ports::{CommitError, ContactNote, Recorded, RegistryError};
use domain::time::Timestamp;
use serde_json::{Value, json};

use super::hidden_tasks::HiddenRows;
use super::removal::RemovalPlan;
use crate::sqlite::tables::agents::AgentRow;
use crate::sqlite::tables::agents::alarms::AlarmRow;
use crate::sqlite::tables::agents::control::ControlRow;
use crate::sqlite::tables::audit::VerifiedMark;
use crate::sqlite::tables::audit::checkpoints::SigningRow;
use crate::sqlite::tables::audit::receipts::ReceiptWrite;
use crate::sqlite::tables::audit::sinks::SinkWrite;
use crate::sqlite::tables::prices::PriceRow;
use crate::sqlite::tables::rules::RuleRow;
use crate::sqlite::tables::rules::halts::HaltRow;
use crate::sqlite::tables::rules::pauses::PauseRow;
use crate::sqlite::tables::rules::plans::PlanRow;
use crate::sqlite::tables::servers::ServerRow;
use crate::sqlite::tables::servers::routes::RouteRow;
use crate::sqlite::tables::servers::tool_memory::ToolRows;
use crate::sqlite::tables::task_row::{EncodedTask, is_of_person};
use crate::sqlite::tables::token_series::UsageRows;
use crate::sqlite::tables::user_data::UserDataRow;

/// One atomic change, ready to write.
#[derive(Debug)]
pub(crate) enum Mutation {
    Admit(Box<EncodedTask>),
    Commit(Box<EncodedTask>),
    /// As the JSON array that the statement reads.
    NoteContacts(String),
    PutServer(Box<ServerRow>),
    RemoveServer(ServerId, Vec<AuditEvent>),
    PutAgent(Box<AgentRow>),
    /// As the JSON array that the statement reads.
    NoteAgents(String),
    PutRule(Box<RuleRow>),
    PutPrice(Box<PriceRow>),
    PutTools(Box<ToolRows>),
    Hide(HiddenRows),
    PutHalt(Box<HaltRow>),
    PutPlan(Box<PlanRow>),
    PutControl(Box<ControlRow>),
    PutRoute(Box<RouteRow>),
    PutAlarm(Box<AlarmRow>),
    PutPause(Box<PauseRow>),
    RecordAudit(Vec<AuditEvent>),
    PutUserData(UserDataRow, Vec<AuditEvent>),
    NoteUsage(Box<UsageRows>),
    Remove(Box<RemovalPlan>),
    /// How far the audit chain is verified.
    MarkVerified(VerifiedMark),
    /// The tree over the audit log, or what was signed of it.
    Sign(Box<SigningRow>),
    /// Receipts of calls, or the beginning or end of a run that leaves some.
    Receipts(ReceiptWrite),
    /// A sink of the audit log, or how far rows came to one.
    PutSink(SinkWrite),
}

/// What became of a mutation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum MutationOutcome {
    /// A task has a new version.
    Recorded(Recorded),
    /// Something else changed, at this place of the change log.
    Changed(Seq),
    /// Written, and not part of the change log.
    Done,
    /// Somebody else committed the task first; nothing was written.
    Conflict,
    /// The task is here already, under this id; nothing was written.
    Exists(HandleId),
}

impl MutationOutcome {
    /// The answer to `admit` and `commit`.
    pub(crate) fn into_recorded(self) -> Result<Recorded, CommitError> {
        match self {
            Self::Recorded(recorded) => Ok(recorded),
            Self::Conflict => Err(CommitError::Conflict),
            Self::Exists(id) => Err(CommitError::Exists(id)),
            Self::Changed(_) | Self::Done => Err(mismatch().into()),
        }
    }

    /// The answer to what is part of the change log.
    pub(crate) fn into_seq(self) -> Result<Seq, RegistryError> {
        match self {
            Self::Changed(seq) => Ok(seq),
            Self::Recorded(_) | Self::Done | Self::Conflict | Self::Exists(_) => Err(mismatch()),
        }
    }

    /// The answer to everything else.
    pub(crate) fn into_done(self) -> Result<(), RegistryError> {
        match self {
            Self::Done => Ok(()),
            Self::Recorded(_) | Self::Changed(_) | Self::Conflict | Self::Exists(_) => Err(mismatch()),
        }
    }
}

fn mismatch() -> RegistryError {
    RegistryError::Other { operation: "read its writer's answer", why: "it belongs to another kind of mutation".into() }
}

impl Mutation {
    /// Contact notes as a unit.
    pub(crate) fn contacts(notes: &[ContactNote]) -> Self {
        let rows = notes.iter().map(|note| {
            json!([note.handle.to_string(), note.seen.as_millis(), note.next_poll.map(Timestamp::as_millis)])
        });
        Self::NoteContacts(Value::Array(rows.collect()).to_string())
    }

    /// Whether it may take space of the reserve when the disk is full (ruling 28): what people decided, what carries it
    /// out, and what makes room. Everything else is refused until there is room again.
    pub(crate) fn may_use_reserve(&self) -> bool {
        let is_decided = |audit: &[AuditEvent]| audit.iter().any(is_of_person);
        match self {
            Self::Commit(unit) => unit.is_decision,
            Self::RemoveServer(..) | Self::Remove(_) | Self::PutHalt(_) | Self::PutPause(_) => true,
            Self::PutRule(row) => row.is_removal(),
            Self::PutPlan(row) => row.is_small(),
            Self::PutControl(row) => row.is_urgent(),
            Self::PutPrice(row) => row.is_removal(),
            Self::PutAgent(row) => row.agent.revoked.is_some(),
            Self::PutAlarm(row) => row.is_dismissal,
            Self::PutSink(write) => write.is_removal(),
            Self::PutTools(rows) => is_decided(&rows.audit),
            Self::RecordAudit(audit) => is_decided(audit),
            Self::PutUserData(row, audit) => row.is_small() || is_decided(audit),
            Self::Admit(_)
            | Self::NoteContacts(_)
            | Self::PutServer(_)
            | Self::NoteAgents(_)
            | Self::NoteUsage(_)
            | Self::Hide(_)
            | Self::PutRoute(_)
            | Self::MarkVerified(_)
            | Self::Sign(_)
            | Self::Receipts(_) => false,
        }
    }
}
