//! What each task costs and keeps out, gathered until it is committed with the task.
//!
//! What is here are additions: the figures themselves are the handle's, so a restart goes on with them and a conflict adds
//! to what another commit stored. Committed at most each `task_every` while a task is open, and at once at its end, after
//! a read, and when it went past its limit. Counting is `count.rs`'s, the limit of results `limits.rs`'s.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use domain::task::{TaskHandle, Transition};
use domain::ids::HandleId;
use domain::ports::{RegistryError, with_error};
use domain::rule::TokenLimit;
use domain::time::Timestamp;
use domain::tokens::{Count, Exactness, Family, TaskTokens};
use futures::stream::{self, StreamExt};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::Budget;
use super::flush::Retry;
use super::shown::Counted;
use crate::core::{Core, then};
use crate::ledger::LedgerError;
use crate::roster::Roster;

/// Tasks whose figures are committed at a time, so that their commits share fsyncs. Judgement.
const COMMITTED_AT_ONCE: usize = 64;

/// Which figure of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Figure {
    /// The name of the tool and the arguments.
    Arguments,
    /// Its handle, and looks at it.
    Handle,
    /// Output on the way.
    Interim,
    /// Its result as it came: how much more it is by our own count than what its maker says, and what of it would stand in
    /// the window.
    Result(u64, Count),
    /// What of its result was read, and what of that stands in the window.
    Delivered(u64),
}

impl Figure {
    /// That of a result.
    pub(super) fn result(counted: Counted) -> Self {
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
pub(super) struct Figures {
    added: Mutex<HashMap<HandleId, Added>>,
    retry: Mutex<Retry>,
}

impl Figures {
    /// Adds to a figure of a task.
    pub(super) fn add(&self, id: HandleId, family: Family, figure: Figure, count: Count) {
        let one = single(family, figure, count);
        let soon = match figure {
            Figure::Result(..) | Figure::Delivered(_) => true,
            Figure::Arguments | Figure::Handle | Figure::Interim => false,
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

    /// Takes those that are due: which are past a limit is the caller's to say.
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

fn single(family: Family, figure: Figure, count: Count) -> TaskTokens {
    let mut one = TaskTokens { exactness: count.exactness, ..TaskTokens::new(family) };
    match figure {
        Figure::Arguments => one.arguments = count.tokens,
        Figure::Handle => one.handle = count.tokens,
        Figure::Interim => one.interim = count.tokens,
        Figure::Result(unsaid, in_window) => {
            (one.result, one.unsaid, one.in_window) = (Some(count.tokens), unsaid, Some(in_window));
        }
        Figure::Delivered(in_window) => (one.delivered, one.delivered_in_window) = (count.tokens, in_window),
    }
    one
}

/// The figures of a task with what was added. A task stays in its family, so that what was shown of its end stays the
/// same; what was counted in another is about as much.
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

/// The result of a task is this large: part of the commit that brings it.
pub(super) fn weighed(handle: &TaskHandle, family: Family, counted: Counted) -> Transition {
    handle.counted(with(handle, single(family, Figure::result(counted), counted.intake.passed)))
}

/// All that a task said and brought: what stands in the window of a program that a person confirmed, else the larger of
/// both figures.
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

/// What a task said and brought, with what was `said` and is in no figure yet, when that is more than its limit: as it was
/// counted, where that is over already, or else with the error of an estimate on top.
fn beyond(budget: &Budget, (handle, tokens, said): (&TaskHandle, &TaskTokens, u64), limit: TokenLimit) -> Option<u64> {
    let is_confirmed = handle.agent.is_some_and(|agent| budget.measure(agent).is_confirmed());
    let counted = total(tokens, is_confirmed).saturating_add(said);
    let most = with_error(counted, budget.scale.error_percent(tokens.family));
    [counted, most].into_iter().find(|tokens| *tokens > limit.tokens)
}

/// How much this task may say and bring.
fn limit(roster: &Roster, handle: &TaskHandle) -> Option<TokenLimit> {
    let tool = handle.tool.as_deref().unwrap_or_default();
    roster.resolve(handle.agent?, handle.server, tool).task_limit
}

/// The new figures, and what follows when they are too much with what was `said` and is in no figure yet.
fn step(
    (budget, roster): (&Budget, &Roster),
    handle: &TaskHandle,
    (added, said): (TaskTokens, u64),
    now: Timestamp,
) -> Transition {
    let tokens = with(handle, added);
    let counted = handle.counted(tokens);
    let over = |limit| beyond(budget, (handle, &tokens, said), limit).map(|tokens| (tokens, limit));
    match limit(roster, handle).and_then(over) {
        Some((tokens, limit)) => then(counted, |next| next.exceed_limit(tokens, limit, now)),
        None => counted,
    }
}

/// Commits the figures that are due, or all of them.
pub(super) async fn commit(core: &Arc<Core>, all: bool) {
    let (budget, roster) = (core.budget.as_ref(), core.roster());
    let limited = roster.rules().all().iter().any(|rule| rule.task_limit.is_some());
    let over = |id: HandleId, added: &TaskTokens| {
        limited
            && core.ledger.held(id).is_some_and(|handle| {
                let tokens = with(&handle, *added);
                let said = core.budget.lines.waiting(id);
                let over = |limit| beyond(budget, (&handle, &tokens, said), limit).is_some();
                handle.over_limit.is_none() && limit(&roster, &handle).is_some_and(over)
            })
    };
    let retry = &core.budget.figures.retry;
    if !all && !retry.lock().may_try() {
        return;
    }
    let every = if all { Duration::ZERO } else { core.policy.counting.task_every };
    let due = core.budget.figures.take(every, over);
    let stored = stream::iter(due).map(|(id, added)| {
        let judged = (budget, &*roster);
        async move {
            let added_and_said = (added.tokens, core.budget.lines.waiting(id));
            match core.ledger.apply(id, |handle, now| step(judged, handle, added_and_said, now)).await {
                Ok(_) | Err(LedgerError::Unknown | LedgerError::Registry(RegistryError::Closed)) => Ok(()),
                Err(error) => {
                    core.budget.figures.put_back(id, added);
                    Err((id, error))
                }
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
