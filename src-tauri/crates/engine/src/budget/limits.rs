//! The limits that a result meets on its way in, before the commit that would let its agent have it.
//!
//! Every result of an agent's task comes through the ledger, by whichever path; there it is weighed when a rule limits it
//! and it may be over, and held in the same commit when it is. So no result over its limit is ever shown unheld, also when
//! the core dies around the commit. Without a limit this is one look at the rules. Limits of tasks are in `figures.rs`.

use std::collections::HashMap;
use std::sync::Arc;

use domain::handle::{HoldWhy, Transition};
use domain::ids::{AgentId, HandleId, ServerId};
use domain::payload::{Payload, PayloadKind};
use domain::ports::{Scale, Weight};
use domain::rule::{AtTokens, TokenLimit};
use domain::time::Timestamp;
use domain::tokens::Family;
use parking_lot::Mutex;
use tokio::sync::Semaphore;

use super::{Budget, count, figures};
use crate::core::then;

/// Results that are weighed at a time. Judgement: two cores' worth; more would only slow each other down.
const WEIGHED_AT_ONCE: usize = 2;

/// Weights that are remembered until their commit. Judgement: as many results as can be on their way at once; one that
/// is forgotten is weighed again.
const REMEMBERED_MAX: usize = 1_024;

/// Weights of results that are on their way into the registry.
pub(super) struct Limits {
    slots: Semaphore,
    known: Mutex<HashMap<HandleId, (Payload, Family, Weight)>>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { slots: Semaphore::new(WEIGHED_AT_ONCE), known: Mutex::default() }
    }
}

impl Limits {
    async fn weigh(&self, scale: &Arc<dyn Scale>, id: HandleId, family: Family, result: &Payload) -> Weight {
        if let Some((known, by, weight)) = self.known.lock().get(&id)
            && *by == family
            && known == result
        {
            return *weight;
        }
        // Never closed; without a slot it would only be weighed beside others.
        let _slot = self.slots.acquire().await;
        let weight = count::weigh_result(scale, family, result).await;
        let mut known = self.known.lock();
        if known.len() >= REMEMBERED_MAX {
            known.clear();
        }
        known.insert(id, (result.clone(), family, weight));
        weight
    }

    /// Takes the weight of a result that is committed now.
    pub(super) fn take(&self, id: HandleId) -> Option<(Payload, Family, Weight)> {
        self.known.lock().remove(&id)
    }
}

/// A result that may be over a limit.
struct Case {
    agent: AgentId,
    result: Payload,
    one: Option<TokenLimit>,
    window: Option<TokenLimit>,
}

/// Whether a result may have more tokens than this. A byte of text is never more than one token; media are counted by
/// their size, which can be more than their bytes.
fn may_exceed(result: &Payload, tokens: u64) -> bool {
    const MEDIA: [&str; 4] = ["image", "audio", "blob", "\\u"];
    result.bytes() > tokens || MEDIA.iter().any(|word| result.as_str().contains(word))
}

impl Budget {
    /// Whether a plain result must be remembered, because it may be over a limit and wait here for somebody.
    pub(crate) fn may_hold(&self, agent: AgentId, server: ServerId, tool: &str, result: &Payload) -> bool {
        self.limits_of(agent, server, tool, result).is_some()
    }

    /// The limits that this result may be over.
    fn limits_of(
        &self,
        agent: AgentId,
        server: ServerId,
        tool: &str,
        result: &Payload,
    ) -> Option<(Option<TokenLimit>, Option<TokenLimit>)> {
        if !self.numbers().on {
            return None;
        }
        let rules = self.roster().resolve(agent, server, tool);
        let one = rules.result_limit.filter(|limit| may_exceed(result, limit.tokens));
        let window = rules.window_limit.filter(|limit| match limit.at {
            // That a window is full is told as such, not as news of a result.
            AtTokens::Warn | AtTokens::Stop => false,
            AtTokens::Ask | AtTokens::Hold => {
                may_exceed(result, limit.tokens.saturating_sub(self.books.lock().occupied(agent)))
            }
        });
        (one.is_some() || window.is_some()).then_some((one, window))
    }

    /// What a commit must be looked at for.
    fn case(&self, step: &Transition) -> Option<Case> {
        let agent = step.next.agent?;
        let result = step.payloads.iter().find(|write| write.kind == PayloadKind::Result)?.payload.as_ref()?;
        if step.next.hold.is_some() {
            return None;
        }
        let tool = step.next.tool.as_deref().unwrap_or_default();
        let (one, window) = self.limits_of(agent, step.next.server, tool, result)?;
        Some(Case { agent, result: result.clone(), one, window })
    }

    /// A transition, with the hold that a limit puts on the result that it brings. Waits only while such a result is
    /// weighed.
    pub(crate) async fn within_limits(&self, step: Transition, now: Timestamp) -> Transition {
        match self.case(&step) {
            None => step,
            Some(case) => Box::pin(self.judged(step, case, now)).await,
        }
    }

    async fn judged(&self, step: Transition, case: Case, now: Timestamp) -> Transition {
        let family = step.next.tokens.map_or_else(|| self.measure(case.agent).family, |tokens| tokens.family);
        let weight = self.limits.weigh(&self.scale, step.next.id, family, &case.result).await;
        // Held with the error of an estimate on top; told as it was counted, where that is over already.
        let error = self.scale.error_percent(family);
        let counted = count::cautious(&weight, case.result.bytes(), 0);
        let tokens = count::cautious(&weight, case.result.bytes(), error);
        let told = |limit: u64| if counted > limit { counted } else { tokens };
        let shown = count::shown(&weight, case.result.bytes());
        let step = then(step, |next| figures::weighed(next, family, shown));
        let large = case.one.filter(|limit| tokens > limit.tokens);
        let free = |limit: TokenLimit| limit.tokens.saturating_sub(self.books.lock().occupied(case.agent));
        let full = case.window.map(|limit| (limit.at, free(limit))).filter(|(_, free)| tokens > *free);
        let holds = [
            large.map(|limit| (limit.at, HoldWhy::TooLarge { tokens: told(limit.tokens), limit: limit.tokens })),
            full.map(|(at, free)| (at, HoldWhy::DoesNotFit { tokens: told(free), free })),
        ];
        let of = |wanted: AtTokens| holds.iter().flatten().find(|(at, _)| *at == wanted).map(|(_, why)| *why);
        match (of(AtTokens::Ask), of(AtTokens::Hold)) {
            (Some(why), _) => then(step, |next| next.hold_at_limit(why, false, now)),
            (None, Some(why)) => then(step, |next| next.hold_at_limit(why, true, now)),
            (None, None) => match large {
                Some(limit) => then(step, |next| next.goes_over(told(limit.tokens), limit, now)),
                None => step,
            },
        }
    }
}
