//! The budget's two workers: the one that counts, and the one that commits, shows and stores at intervals.
//!
//! A crash loses what was counted since the last flush, never what a task's commit says. The orderly end counts what
//! still waits, within a limit of time. What is counted is `count.rs`'s, how it is entered `enter.rs`'s.

use std::sync::Arc;

use domain::task::payload::PayloadKind;
use domain::policy::CountingPolicy;
use domain::ports::{BudgetNote, RegistryError};
use tokio::time::{Instant, sleep, timeout};

use super::figures;
use super::tap::{Item, Matter};
use crate::core::Core;

/// How storing goes: what the registry refuses is tried again, later each time, and told once.
#[derive(Debug, Default)]
pub(super) struct Retry {
    failures: u32,
    until: Option<Instant>,
}

impl Retry {
    /// Whether it is time to try (again).
    pub(super) fn may_try(&self) -> bool {
        self.until.is_none_or(|until| until <= Instant::now())
    }

    /// It was refused. Returns whether it is the first time in a row, which is to be told.
    pub(super) fn failed(&mut self, core: &Core) -> bool {
        self.failures = self.failures.saturating_add(1);
        self.until = Some(Instant::now() + core.back_off(self.failures));
        self.failures == 1
    }

    /// It was stored.
    pub(super) fn went(&mut self) {
        *self = Self::default();
    }
}

/// Counts what is left at the tap, for ever.
pub(crate) async fn count(core: Arc<Core>) {
    let budget = Arc::clone(&core.budget);
    if !budget.numbers().on {
        return;
    }
    let mut receive = budget.tap.receive().await;
    // Entering it failed in the middle of the work: it is not tried again.
    if let Some(batch) = budget.tap.left_in_hand() {
        budget.take_at_most(&batch);
    }
    while let Some(batch) = budget.tap.next(&mut receive).await {
        budget.take_in(&batch).await;
    }
}

/// Commits figures, shows and stores windows and series, for ever.
pub(crate) async fn keep(core: Arc<Core>) {
    let numbers = core.policy.counting.clone();
    if !numbers.on {
        return;
    }
    // What was not counted before waits for room among what passes now.
    tokio::join!(weigh_unseen(&core), keep_on(&core, &numbers));
}

async fn keep_on(core: &Arc<Core>, numbers: &CountingPolicy) {
    let mut flush_at = Instant::now() + numbers.flush_every;
    loop {
        sleep(numbers.show_every).await;
        figures::commit(core, false).await;
        core.budget.show();
        if flush_at <= Instant::now() {
            flush_at = Instant::now() + numbers.flush_every;
            if core.ages_are_sure() {
                core.budget.books.lock().end_quiet(core.now());
            }
            if core.budget.flushing.lock().await.may_try() {
                flush(core).await;
            }
        }
    }
}

/// Counts results that came while nobody counted.
async fn weigh_unseen(core: &Arc<Core>) {
    let unseen = std::mem::take(&mut *core.budget.unseen.lock());
    for (handle, facts) in unseen {
        let Some(agent) = handle.agent else { continue };
        match core.registry.payload(handle.id, PayloadKind::Result).await {
            Ok(Some(text)) => {
                let (server, tool) = (handle.server, handle.tool.clone());
                let matter = Matter { agent, server, tool, handle: handle.id, text };
                core.budget.tap.leave_later(Item::Outcome(matter, facts)).await;
            }
            Ok(None) => {}
            Err(RegistryError::Closed) => return,
            Err(error) => tracing::warn!(handle.id = %handle.id, %error, "a result cannot be read to be counted"),
        }
    }
}

/// Stores windows and series as they are. Nothing is stored twice or lost by an error.
pub(super) async fn flush(core: &Core) {
    let mut retry = core.budget.flushing.lock().await;
    let note = core.budget.books.lock().take();
    if note == BudgetNote::default() {
        return;
    }
    match core.registry.note_budget(note.clone()).await {
        Ok(()) | Err(RegistryError::Closed) => retry.went(),
        Err(error) => {
            if retry.failed(core) {
                tracing::warn!(%error, "what was counted could not be stored, trying again");
            }
            core.budget.books.lock().put_back(note);
        }
    }
}

/// Stores everything that is counted so far, and what waited to be counted when this was asked, within a limit of time.
pub(super) async fn flush_all(core: &Arc<Core>) {
    if !core.policy.counting.on {
        return;
    }
    core.budget.counted_so_far().await;
    figures::commit(core, true).await;
    flush(core).await;
}

/// The orderly end: counts what waits, within the drain limit, and stores everything.
pub(crate) async fn finish(core: &Arc<Core>) {
    let budget = &core.budget;
    if !budget.numbers().on {
        return;
    }
    let rest = async {
        let mut receive = budget.tap.receive().await;
        if let Some(batch) = budget.tap.left_in_hand() {
            budget.take_in(&batch).await;
        }
        while let Some(batch) = budget.tap.next_now(&mut receive) {
            budget.take_in(&batch).await;
        }
    };
    if timeout(core.policy.drain_limit, rest).await.is_err() {
        tracing::warn!("not everything that passed could be counted in time");
    }
    figures::commit(core, true).await;
    flush(core).await;
}
