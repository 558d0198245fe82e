//! Why a result is held, and how much of it one answer may bring.

use domain::task::{HoldReason, ResultForm, ResultHold, TaskHandle};

use crate::gateway::state::GatewayState;

/// Tokens that a page may have whatever the limit is, as the least that the policy allows. Judgement: below it, the words
/// that say how to continue are more than the page brings.
pub(crate) const LEAST_PAGE_TOKENS: u64 = 100;

pub(crate) fn reason(handle: &TaskHandle) -> HoldReason {
    handle.hold.as_ref().map_or(HoldReason::Review, |ResultHold { why, .. }| *why)
}

/// Tokens of a result that one answer may bring; `None` where it is not held for its size.
pub(crate) fn answer_tokens(state: &GatewayState, handle: &TaskHandle) -> Option<u64> {
    let slice_percent = state.policy.counting.slice_percent;
    match reason(handle) {
        HoldReason::TooLarge { limit, .. } => Some(limit),
        HoldReason::DoesNotFit { free, .. } => Some(free),
        // The program counts in its own way, and puts JSON around it.
        HoldReason::WouldBeCut { shown, .. } => Some(shown.saturating_mul(slice_percent) / 100),
        HoldReason::Review => None,
    }
}

/// Tokens that one page of this result may have, with the words after it.
pub(crate) fn page_tokens(state: &GatewayState, handle: &TaskHandle) -> u64 {
    let most = state.policy.counting.slice_tokens;
    match handle.form() {
        Some(ResultForm::Slices) => answer_tokens(state, handle)
            .map_or(most, |limit| limit.clamp(LEAST_PAGE_TOKENS, most.max(LEAST_PAGE_TOKENS))),
        // A person released it.
        Some(ResultForm::Whole | ResultForm::Trimmed { .. }) | None => most,
    }
}
