//! Limits on what may be started or delivered, and the decision they lead to.
//!
//! Pure: usage comes in as a value, the decision goes out. Admission asks before a call leaves the machine.
//! Context tokens are a kind of budget like any other (issue 5 counts them); a reservation is released by the
//! terminal transition of the same handle, in the same commit, so there is no counter to drift.

use std::time::Duration;

use crate::ids::{AgentId, ServerId};

/// Whom a budget binds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Everything this core starts.
    Everyone,
    /// One agent.
    Agent(AgentId),
    /// One server.
    Server(ServerId),
}

/// What is limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Open tasks at the same time.
    Concurrent(u64),
    /// Calls started within a span.
    Started {
        /// How many.
        calls: u64,
        /// In which span.
        per: Duration,
    },
    /// Time one task may take, waiting for people not counted.
    Wall(Duration),
    /// Tokens that may enter the agent's context window, in the agent's tokenizer family.
    ContextTokens(u64),
}

/// What happens at the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AtLimit {
    /// Say so and go on.
    Warn,
    /// Ask a person.
    Ask,
    /// Refuse.
    Refuse,
}

/// A limit on a scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Whom it binds.
    pub scope: Scope,
    /// What is limited.
    pub limit: Limit,
    /// What happens.
    pub at_limit: AtLimit,
}

/// What is used now within one budget's scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Open tasks.
    pub open: u64,
    /// Calls started within the budget's span.
    pub started: u64,
    /// Context tokens so far.
    pub context_tokens: u64,
}

/// What a new call would add.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Proposal {
    /// Context tokens it is known to bring.
    pub context_tokens: u64,
}

/// The answer to "may this start?".
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Yes.
    Allow,
    /// Yes, and a person is told that this budget is used up.
    AllowAndWarn(Budget),
    /// Only when a person agrees.
    Ask(Budget),
    /// No.
    Refuse(Budget),
}

/// Decides on the strictest of the budgets that the proposal would break. `usage` is paired with its budget.
#[must_use]
pub fn decide(budgets: &[(Budget, Usage)], proposal: Proposal) -> Decision {
    let broken = |(budget, usage): &&(Budget, Usage)| match budget.limit {
        Limit::Concurrent(most) => usage.open >= most,
        Limit::Started { calls, .. } => usage.started >= calls,
        Limit::ContextTokens(most) => usage.context_tokens.saturating_add(proposal.context_tokens) > most,
        // A time limit is met by running tasks, not by starting one.
        Limit::Wall(_) => false,
    };
    let strictness = |budget: &Budget| match budget.at_limit {
        AtLimit::Warn => 0_u8,
        AtLimit::Ask => 1,
        AtLimit::Refuse => 2,
    };
    match budgets.iter().filter(broken).map(|(budget, _)| *budget).max_by_key(strictness) {
        None => Decision::Allow,
        Some(budget) => match budget.at_limit {
            AtLimit::Warn => Decision::AllowAndWarn(budget),
            AtLimit::Ask => Decision::Ask(budget),
            AtLimit::Refuse => Decision::Refuse(budget),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(limit: Limit, usage: Usage, tokens: u64, refused: bool) {
        let budget = Budget { scope: Scope::Everyone, limit, at_limit: AtLimit::Refuse };
        let decision = decide(&[(budget, usage)], Proposal { context_tokens: tokens });
        assert_eq!(decision == Decision::Refuse(budget), refused, "{limit:?} at {usage:?} with {tokens} more");
    }

    #[test]
    fn a_call_that_would_break_a_budget_is_refused_and_one_within_it_is_not() {
        let usage = Usage { open: 3, started: 5, context_tokens: 900 };
        check(Limit::Concurrent(3), usage, 0, true);
        check(Limit::Concurrent(4), usage, 0, false);
        check(Limit::Started { calls: 5, per: Duration::from_secs(60) }, usage, 0, true);
        check(Limit::ContextTokens(1_000), usage, 100, false);
        check(Limit::ContextTokens(1_000), usage, 101, true);
        check(Limit::Wall(Duration::from_secs(1)), usage, 0, false);
    }

    #[test]
    fn the_strictest_broken_budget_decides() {
        let of = |at_limit| Budget { scope: Scope::Everyone, limit: Limit::Concurrent(0), at_limit };
        let all = [of(AtLimit::Ask), of(AtLimit::Refuse), of(AtLimit::Warn)].map(|b| (b, Usage::default()));
        assert_eq!(decide(&all, Proposal::default()), Decision::Refuse(of(AtLimit::Refuse)));
        assert_eq!(decide(&all[..1], Proposal::default()), Decision::Ask(of(AtLimit::Ask)));
        assert_eq!(decide(&all[2..], Proposal::default()), Decision::AllowAndWarn(of(AtLimit::Warn)));
        assert_eq!(decide(&[], Proposal::default()), Decision::Allow);
    }
}
