//! Checkpoints of the audit log: one is made now, and those that are there are compared with the rows.
//!
//! The engine and the registry make and compare them; the formats are in `docs/audit.md`.

use domain::audit::Verb;
use domain::ports::{BrokenCheckpoint, LeafSpan, TreeCheck, TreeStart};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;
use ts_rs::TS;

use crate::api::Api;
use crate::caller::{Ability, Caller};
use crate::dto::core::audit::{CheckpointDto, TreeVerifiedDto, hex, unhex};
use crate::dto::core::storage::BrokenRowDto;
use crate::dto::iso;
use crate::error::{ApiError, Code};

/// A checkpoint that is asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct MakeCheckpoint {
    /// Begin a new epoch of the log with it, because an older copy of the registry was put back.
    #[ts(optional = nullable)]
    pub new_epoch: Option<NewEpoch>,
}

/// A new epoch of the log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct NewEpoch {
    /// Why, in the words of the person; a part of the row that records it.
    #[ts(optional = nullable)]
    pub reason: Option<String>,
    /// Also where no place that gets copies of checkpoints contradicts the log.
    #[ts(optional, as = "Option<bool>")]
    pub force: bool,
}

/// A comparison of checkpoints with the rows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct VerifyTree {
    /// All checkpoints; otherwise the newest ones.
    pub whole: bool,
    /// Go on after a call that stopped: its `next` value.
    pub after: Option<String>,
}

impl Api {
    /// Makes a checkpoint of the audit log now, or begins a new epoch with one.
    ///
    /// # Errors
    /// When no core runs, the log cannot be signed, or nothing asks for a new epoch.
    pub async fn audit_checkpoint(&self, caller: &Caller, input: MakeCheckpoint) -> Result<CheckpointDto, ApiError> {
        let engine = &self.live()?.engine;
        let made = match input.new_epoch {
            Some(NewEpoch { reason, force }) => {
                caller.require(Ability::Configure)?;
                let reason = self.bounded_reason(reason.as_deref())?;
                engine.begin_epoch(&caller.person, reason.as_deref(), force).await?
            }
            None => engine.checkpoint(&caller.person, Verb::Checkpointed, String::new()).await?,
        };
        Ok(CheckpointDto::of(&made))
    }

    /// Compares checkpoints with the rows, in stretches; many of them in several calls.
    ///
    /// # Errors
    /// When the registry cannot be read.
    pub async fn audit_verify_tree(&self, _caller: &Caller, input: VerifyTree) -> Result<TreeVerifiedDto, ApiError> {
        let until = Instant::now() + self.policy.asking.verify_limit;
        let policy = &self.policy.audit;
        let (mut start, rows) = match input.after {
            Some(text) => (TreeStart::After(unhex(&text).ok_or_else(bad_place)?), policy.tree_rows_at_once),
            None if input.whole => (TreeStart::First, policy.tree_rows_at_once),
            None => (TreeStart::Recent, policy.checked_rows),
        };
        let mut compared = 0_u64;
        loop {
            let check = self.registry.check_tree(start, rows).await?;
            compared = compared.saturating_add(check.compared);
            // Without a core each command is one process, and has the time that it needs.
            let is_late = self.is_running() && Instant::now() >= until;
            match check.next {
                Some(next) if check.broken.is_none() && !is_late => start = TreeStart::After(next),
                next => {
                    let unsigned = self.registry.unsigned_rows(policy.checkpoint_rows).await?;
                    let late = unsigned.since.filter(|since| since.plus(policy.unsigned_told_after) < self.now());
                    return Ok(TreeVerifiedDto {
                        compared,
                        newest: check.newest,
                        epoch: check.epoch,
                        unsigned: unsigned.rows,
                        late_since: late.map(iso),
                        broken: check.broken.map(|broken| BrokenRowDto { number: broken.size, why: broken.why }),
                        next: next.as_deref().map(hex),
                    });
                }
            }
        }
    }
}

impl Api {
    /// Why an export of these rows would prove nothing; `None` where they are those that were signed, and the newest checkpoint
    /// is what was signed last. Rows elsewhere are not read: it takes as long as the range is, however long the log.
    pub(crate) async fn range_fault(&self, first: u64, last: u64) -> Result<Option<BrokenCheckpoint>, ApiError> {
        let policy = &self.policy.audit;
        let newest = self.compared(TreeStart::Recent, policy.checked_rows, u64::MAX).await?;
        if newest.broken.is_some() {
            return Ok(newest.broken);
        }
        let range = self.compared(TreeStart::Before(first), policy.tree_rows_at_once, last).await?;
        let Some((size, root)) = range.proven.filter(|(size, _)| range.broken.is_none() && *size >= last) else {
            return Ok(range.broken);
        };
        // Proofs are made from the stored tree, which has to lead through the same root.
        let stored = self.registry.tree_roots(vec![LeafSpan { begin: 0, end: size }]).await?;
        let is_same = stored.first().is_some_and(|stored| *stored == Some(root));
        let why = "the stored tree does not match the rows up to it";
        Ok((!is_same).then(|| BrokenCheckpoint { size, why: why.into() }))
    }

    /// Compares checkpoints from here until one holds that covers this row, until one does not hold, or to the end.
    async fn compared(&self, mut start: TreeStart, rows: u32, last: u64) -> Result<TreeCheck, ApiError> {
        loop {
            let check = self.registry.check_tree(start, rows).await?;
            let is_proven = check.proven.is_some_and(|(size, _)| size >= last);
            match check.next.clone() {
                Some(next) if check.broken.is_none() && !is_proven => start = TreeStart::After(next),
                Some(_) | None => return Ok(check),
            }
        }
    }
}

fn bad_place() -> ApiError {
    ApiError::new(Code::Usage, "`after`: this is no `next` value", "Begin again without `after`.")
}
