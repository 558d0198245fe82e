//! Prices are kept as they were set, hours that were counted are known, and sums by hour are the sums of their rows.

use domain::audit::{Actor, AuditEvent, Subject, Verb};
use domain::budget::price::Price;
use domain::budget::window::{TokenFlow, TokenSource};
use domain::ids::PersonId;
use domain::ports::{BudgetNote, HourSum, PriceUnit, Registry, SeriesQuery, SpendRow};
use domain::time::Timestamp;
use domain::tokens::{Exactness, Family};

use super::fixtures::ContractFixtures;

const FIXTURES: ContractFixtures = ContractFixtures::of(9);
const HOUR: i64 = 3_600_000;

/// Hours of this part alone, later than those of the others.
fn hour(number: i64) -> Timestamp {
    Timestamp::from_millis(5_000 * HOUR + number * HOUR)
}

fn hours(from: i64, to: i64) -> SeriesQuery {
    SeriesQuery { agent: None, from: hour(from), to: hour(to) }
}

pub(crate) async fn check(registry: &dyn Registry) {
    check_prices(registry).await;
    check_hours(registry).await;
    check_sums(registry).await;
}

fn price(model: &str, input: &str, at: i64) -> Price {
    Price {
        model: model.into(),
        input: input.parse().expect("an amount"),
        output: "15".parse().expect("an amount"),
        currency: "EUR".parse().expect("a currency"),
        set_at: Timestamp::from_millis(at),
        set_by: PersonId::new("ada"),
    }
}

async fn check_prices(registry: &dyn Registry) {
    assert_eq!(registry.prices().await, Ok(Vec::new()), "no price is built in");
    let newest = registry.newest_seq().await;
    let fact = |note: &str| AuditEvent {
        at: hour(0),
        actor: Actor::Person(PersonId::new("ada")),
        verb: Verb::BudgetChanged,
        subject: Subject::Store,
        note: note.to_owned(),
    };
    let put = |price: Price, remove, note| registry.put_price(PriceUnit { price, remove, audit: vec![fact(note)] });
    let (large, small) = (price("gpt-5", "1.25", 100), price("claude-opus-4-7", "0.000001", 200));
    put(large.clone(), false, "first").await.expect("it is set");
    put(small.clone(), false, "second").await.expect("another is set");
    assert_eq!(registry.prices().await, Ok(vec![small.clone(), large.clone()]), "by model, to the last millionth");
    let dearer = price("gpt-5", "1000000", 300);
    put(dearer.clone(), false, "third").await.expect("it is set again");
    assert_eq!(registry.prices().await, Ok(vec![small, dearer.clone()]), "a model has one price, with its own date");
    put(dearer, true, "fourth").await.expect("it is taken away");
    assert_eq!(registry.prices().await.map(|all| all.len()), Ok(1));
    let page = registry.audit_page(None, 0, 10_000).await.expect("reads");
    let notes: Vec<String> = page
        .rows
        .into_iter()
        .map(|row| row.event)
        .filter(|event| event.at == hour(0) && event.subject == Subject::Store)
        .map(|event| event.note)
        .collect();
    assert_eq!(notes, ["first", "second", "third", "fourth"], "each is on record");
    assert_eq!(registry.newest_seq().await, newest, "a price changes no task, server or agent");
}

async fn check_hours(registry: &dyn Registry) {
    let note = |number| registry.note_budget(BudgetNote { hours: vec![hour(number)], ..BudgetNote::default() });
    assert_eq!(registry.counted_hours(hours(-100, 100)).await, Ok(Vec::new()));
    for number in [3, 1, 3] {
        note(number).await.expect("an hour is noted");
    }
    assert_eq!(registry.counted_hours(hours(0, 100)).await, Ok(vec![hour(1), hour(3)]), "each once, in order");
    assert_eq!(registry.counted_hours(hours(1, 3)).await, Ok(vec![hour(1)]), "of these alone");
    for number in [20, 21] {
        note(number).await.expect("an hour is noted");
    }
    let kept = registry.counted_hours(hours(-100, 100)).await;
    assert_eq!(kept, Ok(vec![hour(20), hour(21)]), "old ones go with later ones, as series do");
}

async fn check_sums(registry: &dyn Registry) {
    let row = |number, agent: u64, flow, family, exactness, tokens: u64| SpendRow {
        hour: hour(number),
        agent: FIXTURES.agent(agent),
        server: Some(FIXTURES.server(agent)),
        flow,
        family,
        exactness,
        tokens,
        passed_exactness: Exactness::Exact,
        passed: tokens.saturating_mul(2),
        messages: 1,
    };
    let results = TokenFlow::In(TokenSource::Results);
    let spend = vec![
        row(20, 1, results, Family::O200k, Exactness::Exact, 100),
        row(20, 2, results, Family::Claude47, Exactness::About, 20),
        row(20, 2, TokenFlow::KeptOut, Family::Claude47, Exactness::AtMost, 7),
        row(21, 1, results, Family::O200k, Exactness::Exact, 3),
    ];
    registry.note_budget(BudgetNote { spend, ..BudgetNote::default() }).await.expect("a flush");
    let sum = |number, flow, exactness, tokens: u64, messages| HourSum {
        hour: hour(number),
        flow,
        exactness,
        tokens,
        passed_exactness: Exactness::Exact,
        passed: tokens * 2,
        messages,
    };
    let mut all = vec![
        sum(20, results, Exactness::About, 120, 2),
        sum(20, TokenFlow::KeptOut, Exactness::AtMost, 7, 1),
        sum(21, results, Exactness::Exact, 3, 1),
    ];
    all.sort();
    assert_eq!(registry.spend_by_hour(hours(20, 22)).await, Ok(all), "over agents, servers and families");
    let one = SeriesQuery { agent: Some(FIXTURES.agent(1)), ..hours(20, 21) };
    let mine = vec![sum(20, results, Exactness::Exact, 100, 1)];
    assert_eq!(registry.spend_by_hour(one).await, Ok(mine), "of one agent");
    let most = row(22, 1, results, Family::O200k, Exactness::Exact, u64::MAX);
    let more = row(22, 2, results, Family::O200k, Exactness::Exact, u64::MAX);
    registry.note_budget(BudgetNote { spend: vec![most, more], ..BudgetNote::default() }).await.expect("a flush");
    let found = registry.spend_by_hour(hours(22, 23)).await.expect("a sum beyond all numbers is no error");
    assert!(found.iter().all(|sum| sum.tokens >= u64::MAX / 2), "it is the most that can be: {found:?}");
}
