//! What time alone changes: overdue, expired and disobeyed cancels; and the flush of contact notes.
//!
//! A reconciler: at intervals it reads what is due before the next one, and waits for each of these moments. Which phase
//! follows is the domain's to say. Silence is not here: the actor counts misses (`servers/poll.rs`).

use std::pin::pin;
use std::sync::Arc;

use domain::ids::HandleId;
use domain::ports::RegistryError;
use domain::task::Transition;
use futures::stream::{self, StreamExt};

use crate::core::EngineCore;
use crate::runtime::time::sleep_until;

/// Handles swept at a time: enough for the registry to commit them in one group, few enough to leave it to others.
const SWEPT_AT_ONCE: usize = 64;

/// Sweeps at intervals, and between them at each moment at which a task is due, for ever.
pub(crate) async fn run(core: Arc<EngineCore>) {
    // Kept while tasks are swept in between, so that no look is left out.
    let mut look = pin!(core.time.next_interval(core.policy.sweep_every));
    loop {
        tokio::select! {
            () = look.as_mut() => {
                tick(&core).await;
                see_foreign_commits(&core).await;
                look.set(core.time.next_interval(core.policy.sweep_every));
            }
            () = sleep_until(core.effects.ticks.first_due().map(|at| core.time.instant(at))) => {
                let due = core.effects.ticks.take_due(core.time.now());
                tick_all(&core, due).await;
            }
            () = core.effects.ticks.sooner() => {}
        }
    }
}

/// Ticks what is due, and notes what will be before the next interval.
async fn tick(core: &Arc<EngineCore>) {
    let mut limit = core.policy.batch_rows;
    let until = core.time.now().plus(core.policy.sweep_every);
    core.effects.ticks.begin(until);
    loop {
        let ticking = match core.registry.ticking(until, limit).await {
            Ok(ticking) => ticking,
            Err(RegistryError::Closed) => return,
            Err(error) => return tracing::warn!(%error, "what is due cannot be read, trying again"),
        };
        let full = ticking.len() >= usize::try_from(limit).unwrap_or(usize::MAX);
        let moved = tick_all(core, ticking).await;
        match (full, moved) {
            (false, _) => return,
            (true, true) => {}
            // A whole batch that did not move must not hide what is behind it.
            (true, false) if limit < u32::MAX => limit = limit.saturating_mul(2),
            (true, false) => return,
        }
    }
}

/// Ticks these handles, and says whether one of them changed.
async fn tick_all(core: &EngineCore, ids: impl IntoIterator<Item = HandleId>) -> bool {
    let swept: Vec<bool> =
        stream::iter(ids).map(|id| tick_one(core, id)).buffer_unordered(SWEPT_AT_ONCE).collect().await;
    swept.into_iter().any(|changed| changed)
}

async fn tick_one(core: &EngineCore, id: HandleId) -> bool {
    // In memory where it is open; what is not is swept at the first interval after its moment.
    if let Some(at) = core.ledger.held(id).and_then(|handle| handle.next_tick(&core.policy))
        && at > core.time.now()
    {
        core.effects.ticks.note(id, Some(at));
        return false;
    }
    let ticked = core.ledger.apply(id, |handle, now| match core.gate.freezes(handle) {
        // Its time stands still while a halt freezes its questions.
        Some(_) if handle.asked_since().is_some() => Transition::none(handle),
        Some(_) | None => handle.ticked(now, &core.policy),
    });
    match ticked.await {
        Ok(applied) => applied.changed,
        Err(error) => {
            tracing::warn!(handle.id = %id, %error, "a task could not be swept, trying again");
            false
        }
    }
}

/// Rows that others committed (the api adds servers by itself) reach the feeds a second later at most.
async fn see_foreign_commits(core: &EngineCore) {
    if let Ok(newest) = core.registry.newest_seq().await {
        core.effects.commits.committed(newest);
    }
}

/// Flushes contact that moved, at intervals, for ever (ruling 6).
pub(crate) async fn flush_contacts(core: Arc<EngineCore>) {
    loop {
        core.time.next_interval(core.policy.contact_flush).await;
        flush(&core).await;
    }
}

/// Flushes contact that moved since the last flush.
pub(crate) async fn flush(core: &EngineCore) {
    let notes = core.ledger.notes();
    if notes.is_empty() {
        return;
    }
    match core.registry.note_contacts(notes.clone()).await {
        Ok(()) | Err(RegistryError::Closed) => {}
        Err(error) => {
            tracing::warn!(%error, "when tasks were last seen could not be stored, trying again");
            core.ledger.notes_kept(&notes);
        }
    }
}
