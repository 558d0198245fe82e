//! Checkpoints of the audit log: when they are made, and what a lost key leaves in the log.
//!
//! The registry keeps the tree, a `LogSigner` has the key; recording waits for neither. Without a signer no checkpoint is
//! made, and none where the rows do not lead from what was signed last to what would be signed. What one proves is in
//! `docs/audit.md`.

use std::sync::{Arc, OnceLock};

use domain::audit::{Actor, AuditEvent, Subject, Verb};
use domain::ids::PersonId;
use domain::ports::{Checkpoint, CheckpointUnit, LogHead, LogKey, LogSigner, RegistryError, SignedHead};
use tokio::time::{Instant, sleep_until};

use crate::core::EngineCore;
use crate::engine::Engine;
use crate::error::EngineError;

/// The key of the audit log, when the host gave one.
#[derive(Default)]
pub(crate) struct CheckpointState {
    signer: OnceLock<Arc<dyn LogSigner>>,
    /// One checkpoint at a time, and one change of the name of the log.
    pub(super) making: tokio::sync::Mutex<()>,
}

impl CheckpointState {
    /// Signs a head with the key of the log.
    pub(super) fn sign(&self, head: &LogHead) -> Result<SignedHead, EngineError> {
        let signer = self.signer.get();
        let signer = signer.ok_or_else(|| EngineError::NotSigned("this core has no key for it".into()))?;
        signer.sign(head).map_err(|error| EngineError::NotSigned(error.0))
    }
}

impl Engine {
    /// Gives the engine the key of the audit log; from here on it makes checkpoints by itself. A second signer is ignored.
    pub fn sign_log(&self, signer: Arc<dyn LogSigner>) {
        let core = &self.core;
        if core.checkpoints.signer.set(signer).is_ok() {
            let held = Arc::clone(core);
            core.supervisor.spawn_steady("checkpoints", &core.policy, move || Box::pin(run(Arc::clone(&held))));
        }
    }

    /// Makes a checkpoint now, which covers the row that says who asked for it, and what for.
    ///
    /// # Errors
    /// When it cannot be recorded or signed.
    pub async fn checkpoint(&self, by: &PersonId, what_for: Verb, note: String) -> Result<Checkpoint, EngineError> {
        let asked = fact(&self.core, Actor::Person(by.clone()), what_for, note);
        self.core.registry.record(vec![asked]).await?;
        make(&self.core).await
    }
}

pub(super) fn fact(core: &EngineCore, actor: Actor, verb: Verb, note: String) -> AuditEvent {
    AuditEvent { at: core.time.now(), actor, verb, subject: Subject::Store, note }
}

/// Takes all rows into the tree and signs it, where they lead there from what was signed last; gives the checkpoint that is
/// there when nothing is new.
pub(super) async fn make(core: &EngineCore) -> Result<Checkpoint, EngineError> {
    let _one_at_a_time = core.checkpoints.making.lock().await;
    let head = whole_tree(core).await?;
    let newest = core.registry.checkpoints(1).await?.into_iter().next();
    if let Some(broken) = core.registry.signing_fault(head.clone()).await? {
        return Err(EngineError::LogBroken { row: broken.size, why: broken.why });
    }
    if let Some(newest) = newest.filter(|newest| newest.size == head.size && newest.root == head.root) {
        return Ok(newest);
    }
    let SignedHead { note, key, public } = core.checkpoints.sign(&head)?;
    let audit = replaced(core, &core.registry.log_keys().await?, &key, &public);
    let checkpoint = Checkpoint { size: head.size, root: head.root, note, at: core.time.now(), key };
    core.registry.put_checkpoint(CheckpointUnit { checkpoint: checkpoint.clone(), public, audit }).await?;
    core.anchors.checkpoint_made();
    // Rows without a commit of the change log are signed after a while, and are sent then.
    core.sinks.look_again();
    Ok(checkpoint)
}

/// Takes all rows into the tree.
pub(super) async fn whole_tree(core: &EngineCore) -> Result<LogHead, RegistryError> {
    loop {
        let grown = core.registry.grow_tree(core.policy.audit.tree_rows_at_once).await?;
        if grown.head.size >= grown.last {
            return Ok(grown.head);
        }
    }
}

/// The fact that a key signs that is not the one before.
fn replaced(core: &EngineCore, known: &[LogKey], key: &str, public: &str) -> Vec<AuditEvent> {
    let before = known.iter().find(|known| known.retired.is_none());
    // In a new epoch the same key has another name, and with it another id.
    let Some(before) = before.filter(|before| bytes_of(&before.public) != bytes_of(public)) else { return Vec::new() };
    tracing::warn!(key.id = key, before.id = %before.id, "a new key signs the audit log; the one before is gone");
    let note = format!("key {key} signs from here on; key {} was not there any more", before.id);
    vec![fact(core, Actor::System("checkpoints"), Verb::SigningKeyReplaced, note)]
}

/// The key itself in `NAME+ID+BASE64`.
fn bytes_of(public: &str) -> &str {
    public.splitn(3, '+').nth(2).unwrap_or(public)
}

/// Makes a checkpoint when one is due; says whether it did.
async fn step(core: &EngineCore, is_due: bool) -> Result<bool, EngineError> {
    let most = core.policy.audit.checkpoint_rows;
    let unsigned = core.registry.unsigned_rows(most).await?;
    let wants = unsigned.rows > 0 && (is_due || unsigned.has_decision || unsigned.rows >= most);
    if wants {
        make(core).await?;
    }
    Ok(wants)
}

/// Makes checkpoints after decisions, after many rows, and after a while, for ever.
async fn run(core: Arc<EngineCore>) {
    let mut commits = core.effects.commits.commits();
    let policy = core.policy.audit.clone();
    let mut due = Instant::now() + policy.checkpoint_every;
    let mut failures = 0;
    loop {
        tokio::select! {
            changed = commits.changed() => if changed.is_err() { return },
            () = sleep_until(due) => {}
        }
        let is_due = Instant::now() >= due;
        match step(&core, is_due).await {
            Ok(is_made) => {
                failures = 0;
                if is_made || is_due {
                    due = Instant::now() + policy.checkpoint_every;
                }
                // Commits that come closer together share a checkpoint.
                tokio::time::sleep(policy.checkpoint_gap).await;
            }
            Err(EngineError::Registry(RegistryError::Closed)) => return,
            Err(error) => {
                failures += 1;
                if failures == 1 {
                    tracing::warn!(%error, "the audit log is recorded and cannot be signed, trying again");
                }
                due = Instant::now();
                core.pause(failures).await;
            }
        }
    }
}

/// Signs what is not signed yet, before the registry closes.
pub(crate) async fn finish(core: &EngineCore) {
    if core.checkpoints.signer.get().is_none() {
        return;
    }
    if let Err(error) = step(core, true).await {
        tracing::warn!(%error, "the last rows of the audit log are not signed; the next start signs them");
    }
}
