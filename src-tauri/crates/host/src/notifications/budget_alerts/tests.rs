//! Which cards stand on the screen as windows fill.

use std::sync::Arc;
use std::time::Duration;

use domain::budget::models::{CountingMethod, SizeFrom};
use domain::budget::window::TokenSource;
use domain::rule::{LimitAction, TokenLimit};
use domain::time::Timestamp;
use domain::tokens::{Count, Exactness, Family};

use super::*;

fn budget(window: u128, tokens: u64, exactness: Exactness) -> AgentBudget {
    let agent = AgentId::from_random(1);
    let mut now = Window::new(WindowId::from_random(window), agent, Family::O200k, Timestamp::EPOCH);
    let count = Count { tokens, exactness };
    now.take_in(TokenSource::Results, count, Timestamp::EPOCH, Duration::from_secs(600));
    AgentBudget {
        agent,
        measure: CountingMethod {
            family: Family::O200k,
            window: Some((200_000, SizeFrom::Set)),
            profile: &domain::client::profile::UNKNOWN,
            program_from: domain::budget::models::ProgramFrom::Nobody,
        },
        error_percent: 0,
        now: Some(Arc::new(now)),
        beside: Vec::new(),
        burn: domain::budget::window::Burn::Quiet,
        coming: Vec::new(),
        limit: None,
    }
}

/// Titles and bodies of shown cards, and a word for those that go.
fn told(fill: &mut BudgetAlerts, budget: &AgentBudget) -> Vec<String> {
    let acts = fill.update(std::slice::from_ref(budget), &CountingPolicy::default(), |_| "research-7".into());
    acts.into_iter()
        .map(|act| match act {
            CardChange::Show(card) => format!("{}: {}", card.title, card.body),
            CardChange::Withdraw(_) => "away".into(),
        })
        .collect()
}

fn empty() -> BudgetAlerts {
    BudgetAlerts::new(&[], &CountingPolicy::default())
}

#[test]
fn a_window_that_fills_is_told_once_for_each_level() {
    let mut fill = empty();
    assert!(told(&mut fill, &budget(1, 159_999, Exactness::Exact)).is_empty(), "79 % is nothing to say");
    let first = told(&mut fill, &budget(1, 163_208, Exactness::Exact));
    assert_eq!(first, ["research-7 used 81 % of its window: 163,208 of 200k tokens, exact."]);
    assert!(told(&mut fill, &budget(1, 170_000, Exactness::Exact)).is_empty(), "it was told");
    let second = told(&mut fill, &budget(1, 190_100, Exactness::About));
    assert_eq!(second, ["research-7 used 95 % of its window: ≈ 190k of 200k tokens."], "and again when nearly full");
    assert!(told(&mut fill, &budget(1, 199_000, Exactness::Exact)).is_empty(), "twice is enough");
}

#[test]
fn a_window_that_took_in_more_than_it_holds_is_full_and_no_more() {
    let told = told(&mut empty(), &budget(1, 881_000, Exactness::About));
    assert_eq!(told, ["research-7 used 100 % of its window: ≈ 200k of 200k tokens."]);
}

#[test]
fn an_emptied_window_takes_its_card_along_and_the_next_one_is_told_anew() {
    let mut fill = empty();
    told(&mut fill, &budget(1, 163_208, Exactness::Exact));
    assert_eq!(told(&mut fill, &budget(2, 10, Exactness::Exact)), ["away"]);
    assert_eq!(told(&mut fill, &budget(2, 163_208, Exactness::Exact)).len(), 1, "another window");
}

#[test]
fn a_restart_repeats_nothing() {
    let full = budget(1, 163_208, Exactness::Exact);
    let mut fill = BudgetAlerts::new(std::slice::from_ref(&full), &CountingPolicy::default());
    assert!(told(&mut fill, &full).is_empty(), "the run before told it");
    assert_eq!(told(&mut fill, &budget(1, 195_000, Exactness::Exact)).len(), 1, "what comes after is news");
}

#[test]
fn the_limit_of_a_rule_is_told_as_such_also_where_the_size_is_not_known() {
    let mut limited = budget(1, 61_000, Exactness::Exact);
    limited.limit = Some(TokenLimit { tokens: 60_000, at: LimitAction::Warn });
    limited.measure.window = None;
    let shown = told(&mut empty(), &limited);
    assert_eq!(shown, ["research-7 exceeds the limit of its window: 61,000 tokens, at most 60k allowed, exact."]);
}

#[test]
fn while_nothing_may_be_told_cards_of_emptied_windows_still_go() {
    let mut fill = empty();
    let full = budget(1, 163_208, Exactness::Exact);
    told(&mut fill, &full);
    let quiet = |fill: &mut BudgetAlerts, budget: &AgentBudget| {
        fill.emptied(std::slice::from_ref(budget), &CountingPolicy::default())
            .into_iter()
            .map(|act| matches!(act, CardChange::Withdraw(_)))
            .collect::<Vec<_>>()
    };
    assert!(quiet(&mut fill, &budget(1, 195_000, Exactness::Exact)).is_empty(), "it is fuller, and nothing is told");
    assert_eq!(quiet(&mut fill, &budget(2, 10, Exactness::Exact)), [true], "the card goes");
    assert!(quiet(&mut fill, &budget(2, 10, Exactness::Exact)).is_empty(), "once");
    assert_eq!(told(&mut fill, &budget(2, 195_000, Exactness::Exact)).len(), 1, "and what fills later is told");
}
