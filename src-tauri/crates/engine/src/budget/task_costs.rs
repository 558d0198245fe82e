//! What each task costs and keeps out, gathered until it is committed with the task.
//!
//! Here are additions only: the figures are in the handle, so a restart goes on with them and a conflict adds to what
//! another commit stored. Committed at most each `task_every`, and at once at the end of a task, after a read, and past
//! its limit.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use domain::ids::HandleId;
use domain::ports::{RegistryError, with_error};
use domain::rule::TokenLimit;
use domain::task::{TaskHandle, Transition};
use domain::time::Timestamp;
use domain::tokens::{Count, Exactness, Family, TaskTokens};
use futures::stream::{self, StreamExt};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::Budget;
use super::retry::RetryState;
use crate::access::snapshot::AccessSnapshot;
use crate::budget::counting::visible::Counted;
use crate::core::{EngineCore, then};
use crate::error::LedgerError;

/// Tasks whose figures are committed at a time, so that their commits share fsyncs. Judgement.
const COMMITTED_AT_ONCE: usize = 64;

/// A part of what a task costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CostPart {
    /// The name of the tool and the arguments.
    Arguments,
    /// Its handle, and polls of it.
    Handle,
    /// Output before the result.
    Interim,
    /// Its result: how much more it is by our own count than its server reports, and how much of it would be in the window.
    Result(u64, Count),
    /// How much of its result was read, and how much of that is in the window.
    Delivered(u64),
}

impl CostPart {
    pub(crate) fn result(counted: Counted) -> Self {
        Self::Result(counted.unsaid, counted.intake.window)
    }
}

#[derive(Debug, Clone, Copy)]
struct Added {
    tokens: TaskTokens,
    since: Instant,
    soon: bool,
}

/// Additions that are not committed yet.
#[derive(Default)]
pub(crate) struct TaskCosts {
    added: Mutex<HashMap<HandleId, Added>>,
    retry: Mutex<RetryState>,
}

impl TaskCosts {
    /// Adds to a figure of a task.
    pub(crate) fn add(&self, id: HandleId, family: Family, figure: CostPart, count: Count) {
        let one = single(family, figure, count);
        let soon = match figure {
            CostPart::Result(..) | CostPart::Delivered(_) => true,
            CostPart::Arguments | CostPart::Handle | CostPart::Interim => false,
        };
        let mut all = self.added.lock();
        let added =
            all.entry(id).or_insert_with(|| Added { tokens: TaskTokens::new(family), since: Instant::now(), soon });
        added.tokens = sum(added.tokens, one);
        added.soon |= soon;
    }

    fn put_back(&self, id: HandleId, taken: Added) {
        let mut all = self.added.lock();
        let tokens = all.get(&id).map_or(taken.tokens, |later| sum(taken.tokens, later.tokens));
        all.insert(id, Added { tokens, ..taken });
    }

    /// Takes those that are due or, as `over` says, past a limit.
    fn take(&self, every: Duration, over: impl Fn(HandleId, &TaskTokens) -> bool) -> Vec<(HandleId, Added)> {
        let now = Instant::now();
        let due = |id: &HandleId, added: &Added| {
            added.soon || now.duration_since(added.since) >= every || over(*id, &added.tokens)
        };
        let mut all = self.added.lock();
        let ids: Vec<HandleId> = all.iter().filter(|(id, added)| due(id, added)).map(|(id, _)| *id).collect();
        ids.into_iter().filter_map(|id| all.remove(&id).map(|added| (id, added))).collect()
    }
}

fn single(family: Family, figure: CostPart, count: Count) -> TaskTokens {
    let mut one = TaskTokens { exactness: count.exactness, ..TaskTokens::new(family) };
    match figure {
        CostPart::Arguments => one.arguments = count.tokens,
        CostPart::Handle => one.handle = count.tokens,
        CostPart::Interim => one.interim = count.tokens,
        CostPart::Result(unsaid, in_window) => {
            (one.result, one.unsaid, one.in_window) = (Some(count.tokens), unsaid, Some(in_window));
        }
        CostPart::Delivered(in_window) => (one.delivered, one.delivered_in_window) = (count.tokens, in_window),
    }
    one
}

/// The figures of a task with what was added. A task stays in its family, so that what was shown of its end stays the
/// same; counts in another family become estimates.
fn sum(before: TaskTokens, added: TaskTokens) -> TaskTokens {
    let moved = match added.family {
        family if family == before.family => Exactness::Exact,
        Family::Unknown => Exactness::AtMost,
        Family::O200k | Family::Cl100k | Family::Claude3 | Family::Claude47 | Family::Gemini | Family::Llama => {
            Exactness::About
        }
    };
    TaskTokens {
        family: before.family,
        exactness: before.exactness.max(added.exactness).max(moved),
        arguments: before.arguments.saturating_add(added.arguments),
        handle: before.handle.saturating_add(added.handle),
        interim: before.interim.saturating_add(added.interim),
        result: added.result.or(before.result),
        in_window: added.in_window.or(before.in_window),
        delivered_in_window: before.delivered_in_window.saturating_add(added.delivered_in_window),
        delivered: before.delivered.saturating_add(added.delivered),
        unsaid: if added.result.is_some() { added.unsaid } else { before.unsaid },
    }
}

/// The figures of this task with what was added.
fn with(handle: &TaskHandle, added: TaskTokens) -> TaskTokens {
    handle.tokens.map_or(added, |before| sum(before, added))
}

/// Adds the size of a result to its task, in the commit that brings it.
pub(crate) fn with_result_cost(handle: &TaskHandle, family: Family, counted: Counted) -> Transition {
    handle.counted(with(handle, single(family, CostPart::result(counted), counted.intake.passed)))
}

/// All tokens of a task: what is in the window of a program that a person confirmed, else the larger of both figures.
fn total(tokens: &TaskTokens, is_confirmed: bool) -> u64 {
    let passed = tokens.result.unwrap_or(0);
    let in_window = tokens.in_window.map_or(passed, |count| count.tokens);
    let again_in_window = tokens.delivered_in_window.saturating_sub(in_window);
    let again = tokens.delivered.saturating_sub(passed);
    let (result, again) = match is_confirmed {
        true => (in_window, again_in_window),
        false => (passed.saturating_add(tokens.unsaid).max(in_window), again.max(again_in_window)),
    };
    let parts = [tokens.arguments, tokens.handle, tokens.interim, result, again];
    parts.into_iter().fold(0, u64::saturating_add)
}

/// Checks the costs of tasks against their limits.
#[derive(Clone, Copy)]
struct TaskLimits<'a> {
    budget: &'a Budget,
    snapshot: &'a AccessSnapshot,
}

/// What is added to the figures of a task.
#[derive(Clone, Copy)]
struct Additions {
    tokens: TaskTokens,
    /// Said by its server, and in no figure yet.
    said: u64,
}

impl TaskLimits<'_> {
    /// The tokens of a task with these additions, when they are more than its limit: as they were counted, where that is
    /// over already, or else with the error of an estimate on top.
    fn exceeded(self, handle: &TaskHandle, added: Additions) -> Option<(u64, TokenLimit)> {
        let agent = handle.agent?;
        let limit =
            self.snapshot.resolve(agent, handle.server, handle.tool.as_deref().unwrap_or_default()).task_limit?;
        let tokens = with(handle, added.tokens);
        let counted = total(&tokens, self.budget.measure(agent).is_confirmed()).saturating_add(added.said);
        let most = with_error(counted, self.budget.scale.error_percent(tokens.family));
        let over = [counted, most].into_iter().find(|tokens| *tokens > limit.tokens);
        over.map(|tokens| (tokens, limit))
    }

    /// The new figures, and what follows when they are too much.
    fn step(self, handle: &TaskHandle, added: Additions, now: Timestamp) -> Transition {
        let counted = handle.counted(with(handle, added.tokens));
        match self.exceeded(handle, added) {
            Some((tokens, limit)) => then(counted, |next| next.exceed_limit(tokens, limit, now)),
            None => counted,
        }
    }
}

/// Commits the figures that are due, or all of them.
pub(crate) async fn commit(core: &Arc<EngineCore>, all: bool) {
    let (budget, snapshot) = (core.budget.as_ref(), core.access.snapshot());
    let limits = TaskLimits { budget, snapshot: &snapshot };
    let has_limits = snapshot.rules().all().iter().any(|rule| rule.task_limit.is_some());
    let additions = |id, tokens| Additions { tokens, said: budget.status_messages.waiting(id) };
    let over = |id: HandleId, added: &TaskTokens| {
        let exceeds = |handle: Arc<TaskHandle>| {
            handle.over_limit.is_none() && limits.exceeded(&handle, additions(id, *added)).is_some()
        };
        has_limits && core.ledger.held(id).is_some_and(exceeds)
    };
    let retry = &core.budget.task_costs.retry;
    if !all && !retry.lock().may_try() {
        return;
    }
    let every = if all { Duration::ZERO } else { core.policy.counting.task_every };
    let due = core.budget.task_costs.take(every, over);
    let stored = stream::iter(due).map(|(id, added)| async move {
        let additions = additions(id, added.tokens);
        match core.ledger.apply(id, |handle, now| limits.step(handle, additions, now)).await {
            Ok(_) | Err(LedgerError::Unknown | LedgerError::Registry(RegistryError::Closed)) => Ok(()),
            Err(error) => {
                core.budget.task_costs.put_back(id, added);
                Err((id, error))
            }
        }
    });
    let stored: Vec<_> = stored.buffer_unordered(COMMITTED_AT_ONCE).collect().await;
    let mut refused = stored.iter().filter_map(|stored| stored.as_ref().err());
    match refused.next() {
        Some((id, error)) => {
            let tasks = 1 + refused.count();
            if retry.lock().failed(core) {
                tracing::warn!(handle.id = %id, tasks, %error, "what tasks cost could not be stored, trying again");
            }
        }
        None if stored.is_empty() => {}
        None => retry.lock().went(),
    }
}
