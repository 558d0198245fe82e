//! What agents took in over time and today, and what it cost by the prices that people set.

use std::sync::Arc;
use std::time::Duration;

use api::Code;
use domain::ids::{AgentId, ServerId};
use domain::ports::Clock as _;
use domain::task::payload::Payload;
use engine::{AgentTraffic, Passed};
use serde_json::{Value, json};

use crate::agents::agent;
use crate::world::World;

const HOUR_MS: i64 = 3_600_000;

fn saw(world: &World, agent: AgentId, server: Option<ServerId>, what: Passed) {
    let session = Some(Arc::from("s1"));
    world.engine.saw(AgentTraffic { agent, door: None, session, server, handle: None, what });
}

/// A result of so many tokens on the scale of these tests.
fn result(tokens: usize) -> Passed {
    let result = json!({"content": [{"type": "text", "text": "x".repeat(tokens)}]});
    Passed::Result(Payload::new(result.to_string()))
}

async fn talking(world: &World, name: &str) -> AgentId {
    let (id, _) = agent(world, name).await;
    world.engine.session_began(id, None, Some(Arc::from("s1")), Some("some-editor"));
    id
}

/// The beginning of the hour that many hours from now.
fn hour(world: &World, from_now: i64) -> String {
    let now = world.clock.now().as_millis();
    domain::time::Timestamp::from_millis(now - now.rem_euclid(HOUR_MS) + from_now * HOUR_MS).to_string()
}

fn figures(chart: &Value, field: &str) -> Vec<u64> {
    let points = chart["points"].as_array().expect("points");
    points.iter().map(|point| point[field].as_u64().expect("a number")).collect()
}

#[tokio::test(start_paused = true)]
async fn a_chart_sums_the_parts_that_the_person_asks_for_whatever_their_length() {
    let world = World::new().await;
    let (one, other) = (talking(&world, "claude").await, talking(&world, "codex").await);
    saw(&world, one, None, result(100));
    saw(&world, other, None, result(7));
    world.engine.flush_budget().await;
    tokio::time::advance(Duration::from_secs(2 * 3_600)).await;
    saw(&world, one, None, result(30));
    // A part of two hours and one of an hour, as days of 25 and 23 hours differ.
    let starts = json!([hour(&world, -2), hour(&world, 0)]);
    let chart = world.call("budgets.chart", json!({"starts": starts})).await;
    assert_eq!(figures(&chart, "tokens"), [107, 30], "{chart}");
    assert_eq!(figures(&chart, "hours"), [2, 1], "{chart}");
    assert_eq!((&chart["tokens"], &chart["messages"]), (&json!(137), &json!(3)), "the sums are those of the parts");
    let mine = world.call("budgets.chart", json!({"starts": starts, "agent": "codex"})).await;
    assert_eq!(figures(&mine, "tokens"), [7, 0], "of one agent: {mine}");
    let shown = world.call("budgets.list", json!({})).await;
    let in_windows: u64 =
        shown["budgets"].as_array().expect("a list").iter().filter_map(|one| one["now"]["tokens"].as_u64()).sum();
    assert_eq!(chart["tokens"].as_u64(), Some(in_windows), "gauges and chart have one source");
}

#[tokio::test(start_paused = true)]
async fn an_hour_in_which_nobody_counted_is_not_an_hour_without_tokens() {
    let world = World::new().await;
    let id = talking(&world, "claude").await;
    saw(&world, id, None, result(100));
    world.engine.flush_budget().await;
    let starts: Vec<String> = (-3..=0).map(|back| hour(&world, back)).collect();
    let chart = world.call("budgets.chart", json!({"starts": starts})).await;
    assert_eq!(figures(&chart, "countedHours"), [0, 0, 0, 1], "before the core ran nothing was measured: {chart}");
    tokio::time::advance(Duration::from_secs(3_600)).await;
    world.engine.flush_budget().await;
    let starts: Vec<String> = (-1..=0).map(|back| hour(&world, back)).collect();
    let chart = world.call("budgets.chart", json!({"starts": starts})).await;
    assert_eq!(figures(&chart, "tokens"), [100, 0], "{chart}");
    assert_eq!(figures(&chart, "countedHours"), [1, 1], "a quiet hour is measured: {chart}");
}

#[tokio::test(start_paused = true)]
async fn a_chart_that_cannot_be_drawn_is_refused_with_the_reason() {
    let world = World::new().await;
    let many: Vec<String> = (0..2_000).map(|back| hour(&world, back - 2_000)).collect();
    for (starts, why) in [
        (json!([]), "no parts"),
        (json!(many), "too many"),
        (json!(["yesterday"]), "no moment"),
        (json!([hour(&world, 0), hour(&world, -1)]), "backwards"),
        (json!([hour(&world, 0), hour(&world, 0)]), "of no length"),
    ] {
        let error = world.try_call("budgets.chart", json!({"starts": starts})).await.expect_err(why);
        assert_eq!(error.code, Code::Usage, "{why}: {error:?}");
        assert!(!error.hint.is_empty(), "{why}: {error:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_day_says_what_tasks_kept_out_of_what_would_have_come_in() {
    let world = World::new().await;
    let since = hour(&world, -2);
    let empty = world.call("budgets.today", json!({"since": since})).await;
    assert_eq!((&empty["tokens"], &empty["keptOutPercent"]), (&json!(0), &Value::Null), "nothing of nothing: {empty}");
    let id = talking(&world, "claude").await;
    saw(&world, id, None, result(70));
    let ids = json!([id.to_string()]);
    let today = world.call("budgets.today", json!({"since": since, "agents": ids})).await;
    assert_eq!((&today["tokens"], &today["withoutTasks"]), (&json!(70), &json!(70)), "{today}");
    assert_eq!(today["agents"][0]["tokens"], 70, "{today}");
    let nobody = world.call("budgets.today", json!({"since": since})).await;
    assert_eq!((&nobody["agents"], &nobody["tokens"]), (&json!([]), &json!(70)), "sums are of all: {nobody}");
    let later = world.call("budgets.today", json!({"since": hour(&world, 1)})).await;
    assert_eq!(later["tokens"], 0, "the day that begins now has nothing yet: {later}");
    for wrong in [hour(&world, -100), hour(&world, 5), "today".to_owned()] {
        let error = world.try_call("budgets.today", json!({"since": wrong})).await.expect_err("no day");
        assert_eq!(error.code, Code::Usage, "{error:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_costs_anything_until_a_person_sets_a_price_and_the_sum_names_who_is_left_out() {
    let world = World::new().await;
    let (priced, bare) = (talking(&world, "claude").await, talking(&world, "codex").await);
    world.call("budgets.set", json!({"agent": "claude", "model": "claude-sonnet-4-5-20250929"})).await;
    for id in [priced, bare] {
        saw(&world, id, None, result(1_000));
        saw(&world, id, None, Passed::Call(Payload::new("x".repeat(100))));
    }
    let ask = json!({"since": hour(&world, -1), "agents": [priced.to_string(), bare.to_string()]});
    let row = |today: &Value, name: &str| {
        let rows = today["agents"].as_array().expect("rows");
        rows.iter().find(|row| row["agent"] == name).cloned().expect("it took something in")
    };
    let before = world.call("budgets.today", ask.clone()).await;
    assert_eq!((&before["costs"], &before["leftOutCount"]), (&json!([]), &json!(2)), "{before}");
    assert_eq!(row(&before, "claude")["unpriced"], "noPrice");
    assert_eq!(row(&before, "codex")["unpriced"], "noModel");
    let wanted = world.call("budgets.prices", json!({})).await;
    assert_eq!(wanted["unpriced"][0]["label"], "Anthropic Claude Sonnet 4.5", "{wanted}");

    let price = json!({"model": "claude-sonnet-4-5", "input": "3", "output": "15.00", "currency": "usd"});
    let list = world.call("budgets.setPrice", price).await;
    assert_eq!((&list["prices"][0]["input"], &list["prices"][0]["currency"]), (&json!("3.00"), &json!("USD")));
    assert_eq!(list["unpriced"], json!([]), "a dated version has the price of its model: {list}");
    let after = world.call("budgets.today", ask.clone()).await;
    let tokens = row(&after, "claude")["tokens"].as_u64().expect("a number");
    let written = tokens - 1_000;
    let micros = 1_000 * 3 + written * 15;
    assert_eq!(row(&after, "claude")["cost"]["micros"], json!(micros), "read and written differ: {after}");
    assert_eq!(after["costs"], json!([row(&after, "claude")["cost"]]), "{after}");
    assert_eq!((&after["leftOut"], &after["leftOutCount"]), (&json!(["codex"]), &json!(1)), "{after}");

    let gone = world.call("budgets.removePrice", json!({"model": "Claude-Sonnet-4-5-20250929"})).await;
    assert_eq!(gone["prices"], json!([]), "{gone}");
    assert_eq!(world.call("budgets.today", ask).await["costs"], json!([]), "without a price there is no cost");
}

#[tokio::test(start_paused = true)]
async fn amounts_of_two_currencies_are_never_added() {
    let world = World::new().await;
    for (name, model, currency) in [("claude", "claude-opus-4-7", "EUR"), ("codex", "gpt-5", "USD")] {
        let id = talking(&world, name).await;
        world.call("budgets.set", json!({"agent": name, "model": model})).await;
        saw(&world, id, None, result(500));
        let price = json!({"model": model, "input": "2", "output": "8", "currency": currency});
        world.call("budgets.setPrice", price).await;
    }
    let today = world.call("budgets.today", json!({"since": hour(&world, -1)})).await;
    let sums: Vec<(&str, u64)> = today["costs"]
        .as_array()
        .expect("costs")
        .iter()
        .map(|cost| (cost["currency"].as_str().expect("text"), cost["micros"].as_u64().expect("a number")))
        .collect();
    assert_eq!(sums, [("EUR", 1_000), ("USD", 1_000)], "{today}");
}

#[tokio::test(start_paused = true)]
async fn a_price_that_cannot_be_read_is_refused_and_names_the_field() {
    let world = World::new().await;
    let good = json!({"model": "gpt-5", "input": "1", "output": "2", "currency": "USD"});
    for (field, value, named) in [
        ("model", "hal-9000", "hal-9000"),
        ("input", "3,50", "input"),
        ("output", "-1", "output"),
        ("currency", "dollars", "currency"),
    ] {
        let mut wrong = good.clone();
        wrong[field] = json!(value);
        let error = world.try_call("budgets.setPrice", wrong).await.expect_err(field);
        assert!(error.code == Code::Usage && error.message.contains(named), "`{field}`: {error:?}");
    }
    assert_eq!(world.call("budgets.prices", json!({})).await["prices"], json!([]), "nothing was set");
    let none = world.try_call("budgets.removePrice", json!({"model": "gpt-5"})).await.expect_err("it has none");
    assert_eq!(none.code, Code::NotFound, "{none:?}");
}
