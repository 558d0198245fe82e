//! The budget's two workers: one counts, the other commits, shows and stores at intervals.
//!
//! A crash loses what was counted since the last flush, never what a task's commit says. A shutdown counts what still
//! waits, within a time limit. Read `counting/count.rs` for counting, `record.rs` for what becomes of a count.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::ids::AgentId;
use domain::policy::CountingPolicy;
use domain::ports::{BudgetNote, RegistryError};
use domain::task::TaskHandle;
use domain::task::payload::PayloadKind;
use futures::future::join_all;
use tokio::time::{Instant, timeout};

use super::counting::queue::{CountingItem, TaskText};
use super::task_costs;
use crate::budget::pending_results::ResultFacts;
use crate::core::EngineCore;

/// Counts what is queued, for ever.
pub(crate) async fn count(core: Arc<EngineCore>) {
    let budget = Arc::clone(&core.budget);
    if !budget.numbers().on {
        return;
    }
    let consumer = budget.queue.consumer().await;
    // Entering this batch panicked half way: it is not tried again.
    if let Some(batch) = budget.queue.left_in_hand() {
        budget.take_at_most(&batch);
    }
    loop {
        budget.queue.wait_until_not_empty().await;
        // From here on it looks at intervals, until nothing came in one.
        loop {
            budget.queue.wait_interval().await;
            let mut has_counted = false;
            while let Some(batch) = budget.queue.next_batch(&consumer) {
                budget.take_in(&batch).await;
                has_counted = true;
            }
            if !has_counted {
                break;
            }
        }
    }
}

/// Commits figures, shows and stores windows and series, for ever.
pub(crate) async fn keep(core: Arc<EngineCore>) {
    let numbers = core.policy.counting.clone();
    if !numbers.on {
        return;
    }
    // Results of an earlier run wait for room in the queue among what passes now.
    tokio::join!(count_uncounted(&core), keep_on(&core, &numbers));
}

async fn keep_on(core: &Arc<EngineCore>, numbers: &CountingPolicy) {
    let mut flush_at = Instant::now() + numbers.flush_every;
    loop {
        core.time.next_interval(numbers.show_every).await;
        task_costs::commit(core, false).await;
        core.budget.show();
        if flush_at <= Instant::now() {
            flush_at = Instant::now() + numbers.flush_every;
            if core.time.ages_are_sure() {
                core.budget.windows.lock().end_quiet(core.time.now());
            }
            if core.budget.flushing.lock().await.may_try() {
                flush(core).await;
            }
        }
    }
}

/// Counts results that arrived while the core did not run: those of one agent wait for no other's.
async fn count_uncounted(core: &Arc<EngineCore>) {
    let mut by_agent: BTreeMap<AgentId, Vec<_>> = BTreeMap::new();
    for (handle, facts) in std::mem::take(&mut *core.budget.uncounted.lock()) {
        if let Some(agent) = handle.agent {
            by_agent.entry(agent).or_default().push((handle, facts));
        }
    }
    join_all(by_agent.into_iter().map(|(agent, uncounted)| count_uncounted_of(core, agent, uncounted))).await;
}

async fn count_uncounted_of(core: &Arc<EngineCore>, agent: AgentId, uncounted: Vec<(TaskHandle, Option<ResultFacts>)>) {
    for (handle, facts) in uncounted {
        match core.registry.payload(handle.id, PayloadKind::Result).await {
            Ok(Some(text)) => {
                let (server, tool) = (handle.server, handle.tool.clone());
                let matter = TaskText { agent, server, tool, handle: handle.id, text };
                core.budget.queue.push_later(CountingItem::Result(matter, facts)).await;
            }
            Ok(None) => {}
            Err(RegistryError::Closed) => return,
            Err(error) => tracing::warn!(handle.id = %handle.id, %error, "a result cannot be read to be counted"),
        }
    }
}

/// Stores windows and series as they are. Nothing is stored twice or lost by an error.
pub(super) async fn flush(core: &EngineCore) {
    let mut retry = core.budget.flushing.lock().await;
    let note = {
        let mut windows = core.budget.windows.lock();
        let note = windows.take();
        BudgetNote { hours: windows.take_hour(core.time.now()).into_iter().collect(), ..note }
    };
    if note == BudgetNote::default() {
        return;
    }
    match core.registry.note_budget(note.clone()).await {
        Ok(()) | Err(RegistryError::Closed) => retry.went(),
        Err(error) => {
            if retry.failed(core) {
                tracing::warn!(%error, "what was counted could not be stored, trying again");
            }
            core.budget.windows.lock().put_back(note);
        }
    }
}

/// Stores everything that is counted so far, and what waited to be counted when this was asked, within a limit of time.
pub(super) async fn flush_all(core: &Arc<EngineCore>) {
    if !core.policy.counting.on {
        return;
    }
    core.budget.counted_so_far(core.budget.queue.agents()).await;
    task_costs::commit(core, true).await;
    flush(core).await;
}

/// The shutdown: counts what waits, within the drain limit, and stores everything.
pub(crate) async fn finish(core: &Arc<EngineCore>) {
    let budget = &core.budget;
    if !budget.numbers().on {
        return;
    }
    let rest = async {
        let consumer = budget.queue.consumer().await;
        if let Some(batch) = budget.queue.left_in_hand() {
            budget.take_in(&batch).await;
        }
        while let Some(batch) = budget.queue.next_batch(&consumer) {
            budget.take_in(&batch).await;
        }
    };
    if timeout(core.policy.drain_limit, rest).await.is_err() {
        tracing::warn!("not everything that passed could be counted in time");
    }
    task_costs::commit(core, true).await;
    flush(core).await;
}
