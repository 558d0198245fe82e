//! Epochs of the audit log: it goes on from an older copy of the registry that somebody put back.
//!
//! The new name of the log and the row that says who began the epoch, where and why are one transaction; a core that dies
//! before the first checkpoint of the epoch makes it after its start. The signing key stays. What an epoch means to whoever
//! verifies the log is in `docs/audit.md`.

use domain::audit::{Actor, Verb};
use domain::digest::hex;
use domain::ids::PersonId;
use domain::ports::{BrokenCheckpoint, Checkpoint, EpochUnit, LogEpoch, LogHead};

use super::anchors::{Contradictions, contradictions};
use super::checkpoints::{fact, make, whole_tree};
use crate::engine::Engine;
use crate::error::EngineError;

/// What the row says of a new epoch.
fn note(
    origin: &str,
    head: &LogHead,
    against: &[u32],
    fault: Option<&BrokenCheckpoint>,
    reason: Option<&str>,
) -> String {
    let LogHead { size, root, .. } = head;
    let mut note =
        format!("epoch {}, `{origin}`; up to row {size} the log has root {}", LogEpoch::of(origin).number, hex(root));
    if !against.is_empty() {
        let ids: Vec<String> = against.iter().map(u32::to_string).collect();
        note = format!("{note}; contradicted by anchor {}", ids.join(", "));
    }
    if let Some(BrokenCheckpoint { size, why }) = fault {
        note = format!("{note}; the checkpoint of row {size} did not hold: {why}");
    }
    match reason {
        Some(reason) => format!("{note}; {reason}"),
        None => note,
    }
}

impl Engine {
    /// Begins a new epoch of the log and signs it. From here on, checkpoints of earlier epochs that fork from the log keep no
    /// place from getting copies, and the rows that are there take the place of what was signed last. Without a place that
    /// contradicts the log, and where it fits what was signed last, it is refused, unless the person insists: a checkpoint
    /// that contradicts it may lie where this core never looks.
    ///
    /// # Errors
    /// When nothing contradicts the log, or when it cannot be signed or recorded.
    pub async fn begin_epoch(
        &self,
        by: &PersonId,
        reason: Option<&str>,
        is_insisted: bool,
    ) -> Result<Checkpoint, EngineError> {
        let core = &self.core;
        let _no_copies = core.anchors.changing.lock().await;
        let Contradictions { anchors: against, epoch: seen } = contradictions(core).await;
        {
            let _one_at_a_time = core.checkpoints.making.lock().await;
            let mut head = whole_tree(core).await?;
            let fault = core.registry.signing_fault(head.clone()).await?;
            if against.is_empty() && fault.is_none() && !is_insisted {
                return Err(EngineError::NoEpoch { epoch: LogEpoch::of(&head.origin).number });
            }
            if fault.is_some() {
                // The epoch begins with the rows that are there, and its tree is theirs.
                core.registry.rebuild_tree().await?;
                head = whole_tree(core).await?;
            }
            let epoch = LogEpoch::of(&head.origin);
            let origin = epoch.next_origin(seen);
            // Proves that the key can be read, before anything changes.
            core.checkpoints.sign(&LogHead { origin: origin.clone(), ..head.clone() })?;
            let note = note(&origin, &head, &against, fault.as_ref(), reason);
            let audit = vec![fact(core, Actor::Person(by.clone()), Verb::EpochBegun, note)];
            let LogHead { size, root, .. } = head;
            core.registry.begin_epoch(EpochUnit { origin: origin.clone(), size, root, audit }).await?;
            tracing::warn!(log = origin, "a new epoch of the audit log begins");
            core.sinks.rename_log(origin);
            core.anchors.epoch_begun();
        }
        make(core).await
    }
}
