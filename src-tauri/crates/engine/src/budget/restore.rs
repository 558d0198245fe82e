//! Restores the budget at a start: windows that were not emptied, results that agents have not read, status messages.
//!
//! From the registry alone. A result whose count was lost with the core is counted as soon as the engine runs
//! (`flush.rs`).

use std::sync::Arc;

use domain::ports::RegistryError;
use domain::task::TaskHandle;
use domain::task::status::Outcome;
use domain::tokens::{Count, Intake, TaskTokens};

use crate::budget::commit::status_message;
use crate::budget::counting::visible::Counted;
use crate::budget::pending_results::{PendingResults, ResultFacts, is_read};
use crate::core::EngineCore;

/// The newest tasks of an agent that are read at a start. Judgement: more than an agent may still read; older ones have
/// their figures.
const LOOKED_THROUGH: u32 = 64;

/// Restores what an earlier run left.
pub(crate) async fn restore(core: &Arc<EngineCore>) -> Result<(), RegistryError> {
    let budget = &core.budget;
    if !budget.numbers().on {
        return Ok(());
    }
    for window in core.registry.windows(0).await? {
        if window.ended.is_none() {
            budget.windows.lock().take_up(window);
        }
    }
    let agents = core.access.snapshot().all();
    for agent in agents.iter().filter(|agent| agent.revoked.is_none()) {
        let open = core.ledger.of_agent(agent.id);
        for handle in open.iter().filter(|handle| handle.ended_at().is_none() && status_message(handle).is_some()) {
            budget.set_status_message(handle, agent.id);
        }
        let tasks = core.registry.agent_tasks(agent.id, None, LOOKED_THROUGH).await?;
        let since = budget.windows.lock().oldest(agent.id);
        for handle in tasks.into_iter().filter(has_result) {
            let lately = since.is_some_and(|since| handle.ended_at().is_some_and(|ended| ended >= since));
            let facts = ResultFacts::of(&handle).filter(|_| lately);
            match handle.tokens.and_then(|tokens| tokens.result.map(|_| tokens)) {
                None => budget.uncounted.lock().push((handle, facts)),
                Some(tokens) => {
                    let result = counted(&tokens, budget.measure(agent.id).is_confirmed());
                    let read = is_read(result.intake.passed.tokens, tokens.delivered, budget.numbers().short_tokens);
                    let left = facts.filter(|facts| !read && !facts.is_done());
                    let now = core.time.now();
                    budget.windows.lock().pending(agent.id, tokens.family, now, |pending: &mut PendingResults| {
                        match left {
                            Some(facts) => pending.came(&facts, result),
                            None => {
                                pending.settled(handle.id);
                                None
                            }
                        }
                    });
                }
            }
        }
    }
    Ok(())
}

/// What was counted of a result, as the figures of its task say.
fn counted(tokens: &TaskTokens, is_confirmed: bool) -> Counted {
    let passed = Count { tokens: tokens.result.unwrap_or(0), exactness: tokens.exactness };
    let window = tokens.in_window.unwrap_or(passed);
    let own = passed.tokens.saturating_add(tokens.unsaid);
    let beyond = if is_confirmed { 0 } else { own.saturating_sub(window.tokens) };
    Counted { intake: Intake { passed, window }, unsaid: tokens.unsaid, beyond }
}

fn has_result(handle: &TaskHandle) -> bool {
    handle.view.outcome().is_some_and(Outcome::has_result)
}
