//! What stands in the windows of agents, as people read it, set it and empty it.

use std::sync::Arc;
use std::time::Duration;

use api::Code;
use api::feed::frame::SubscribeInput;
use domain::ids::{AgentId, ServerId};
use domain::task::payload::Payload;
use engine::{AgentTraffic, Passed};
use serde_json::{Value, json};

use crate::agents::agent;
use crate::reader::Reader;
use crate::world::World;

const HOUR_MS: u64 = 3_600_000;

/// Something passed between the gateway and an agent at the door of all.
fn saw(world: &World, agent: AgentId, server: Option<ServerId>, what: Passed) {
    let session = Some(Arc::from("s1"));
    world.engine.saw(AgentTraffic { agent, door: None, session, server, handle: None, what });
}

/// A result of so many bytes of text, which are as many tokens on the scale of these tests.
fn result(bytes: usize) -> Passed {
    let result = json!({"content": [{"type": "text", "text": "x".repeat(bytes)}]});
    Passed::Result(Payload::new(result.to_string()))
}

fn tools(names: &[(&str, usize)]) -> Passed {
    let list: Vec<Value> = names
        .iter()
        .map(|(name, letters)| json!({"name": name, "description": "d".repeat(*letters), "inputSchema": {}}))
        .collect();
    Passed::Tools {
        list: Payload::new(json!({"tools": list}).to_string()),
        own: Payload::new(json!({"tools": []}).to_string()),
        is_first: true,
        is_last: true,
    }
}

async fn server(world: &World) -> ServerId {
    world.registry.servers().await.expect("servers")[0].id
}

/// An agent whose client says what it is, with a session.
async fn talking(world: &World, name: &str) -> AgentId {
    let (id, _) = agent(world, name).await;
    world.engine.session_began(id, None, Some(Arc::from("s1")), Some("some-editor"));
    id
}

fn part(budget: &Value, source: &str) -> u64 {
    let parts = budget["now"]["sources"].as_array().expect("sources");
    let found = parts.iter().find(|part| part["source"] == source).expect("every source is there");
    found["tokens"].as_u64().expect("a number")
}

#[tokio::test(start_paused = true)]
async fn a_budget_says_what_fills_the_window_by_source_and_the_parts_add_up() {
    let world = World::new().await;
    let id = talking(&world, "claude").await;
    let ci = server(&world).await;
    saw(&world, id, None, tools(&[("ci_small", 10), ("ci_large", 400)]));
    saw(&world, id, Some(ci), result(1_000));
    world.engine.flush_budget().await;
    let list = world.call("budgets.list", json!({})).await;
    let budget = &list["budgets"][0];
    assert_eq!((&budget["agent"], &list["more"]), (&json!("claude"), &json!(0)), "{list}");
    assert_eq!(part(budget, "results"), 1_000, "{budget}");
    let sum: u64 = budget["now"]["sources"]
        .as_array()
        .expect("sources")
        .iter()
        .map(|part| part["tokens"].as_u64().unwrap_or(0))
        .sum();
    assert_eq!(budget["now"]["tokens"].as_u64(), Some(sum), "the parts are the whole: {budget}");
    assert_eq!(budget["windowTokens"], Value::Null, "nothing says how large it is");
    let shown = world.call("budgets.show", json!({"agent": "claude"})).await;
    let tools: Vec<&str> =
        shown["tools"].as_array().expect("tools").iter().filter_map(|tool| tool["tool"].as_str()).collect();
    assert_eq!(tools, ["ci_large", "ci_small"], "the most costly first: {shown}");
    let spent: u64 =
        shown["spentToday"].as_array().expect("sources").iter().map(|part| part["tokens"].as_u64().unwrap_or(0)).sum();
    assert_eq!(spent, sum, "everything came in today: {shown}");
    let unknown = world.try_call("budgets.show", json!({"agent": "clade"})).await.expect_err("no such agent");
    assert!(unknown.code == Code::NotFound && unknown.hint.contains("`claude`"), "{unknown:?}");
}

#[tokio::test(start_paused = true)]
async fn who_is_nearest_to_the_limit_comes_first_and_who_has_no_window_last() {
    let world = World::new().await;
    for (name, tokens) in [("calm", 100), ("near", 900)] {
        let id = talking(&world, name).await;
        saw(&world, id, None, result(tokens));
        world.call("budgets.set", json!({"agent": name, "windowTokens": 1_000})).await;
    }
    let id = talking(&world, "open").await;
    saw(&world, id, None, result(50));
    agent(&world, "unseen").await;
    world.call("budgets.set", json!({"agent": "unseen", "family": "o200k"})).await;
    world.engine.flush_budget().await;
    let list = world.call("budgets.list", json!({})).await;
    let names: Vec<&str> =
        list["budgets"].as_array().expect("a list").iter().filter_map(|one| one["agent"].as_str()).collect();
    assert_eq!(names, ["near", "calm", "open", "unseen"], "{list}");
}

#[tokio::test(start_paused = true)]
async fn how_an_agent_is_counted_is_set_field_by_field_and_taken_back_by_null() {
    let world = World::new().await;
    agent(&world, "claude").await;
    let set = world.call("budgets.set", json!({"agent": "claude", "family": "o200k", "windowTokens": 200_000})).await;
    assert_eq!((&set["family"]["id"], &set["windowTokens"]), (&json!("o200k"), &json!(200_000)), "{set}");
    assert_eq!(set["windowFrom"], "set");
    let set = world.call("budgets.set", json!({"agent": "claude", "family": "cl100k"})).await;
    assert_eq!(set["windowTokens"], json!(200_000), "what is left out stays: {set}");
    let set = world.call("budgets.set", json!({"agent": "claude", "family": null, "windowTokens": null})).await;
    assert_eq!((&set["family"]["id"], &set["windowTokens"]), (&json!("unknown"), &Value::Null), "{set}");
    for (wrong, why) in [
        (json!({"agent": "claude", "family": "gpt-9"}), "no such family"),
        (json!({"agent": "claude", "model": "hal-9000"}), "no such model"),
        (json!({"agent": "claude", "program": "codecs"}), "no such program"),
        (json!({"agent": "claude", "windowTokens": 0}), "no window"),
        (json!({"agent": "claude", "windowTokens": u64::MAX}), "beyond all windows"),
    ] {
        let error = world.try_call("budgets.set", wrong).await.expect_err(why);
        assert_eq!(error.code, Code::Usage, "{why}: {error:?}");
    }
    world.call("agents.revoke", json!({"agent": "claude"})).await;
    let late = world.try_call("budgets.set", json!({"agent": "claude", "family": "o200k"})).await.expect_err("revoked");
    assert_eq!(late.code, Code::Refused, "{late:?}");
}

#[tokio::test(start_paused = true)]
async fn every_family_and_model_that_can_be_set_is_offered() {
    let world = World::new().await;
    agent(&world, "claude").await;
    let choices = world.call("budgets.choices", json!({})).await;
    for family in choices["families"].as_array().expect("families") {
        let set = world.call("budgets.set", json!({"agent": "claude", "family": family["id"]})).await;
        assert_eq!(set["family"], *family, "what is offered is what is set");
    }
    world.call("budgets.set", json!({"agent": "claude", "family": null})).await;
    let models = choices["models"].as_array().expect("models");
    for program in choices["programs"].as_array().expect("programs") {
        let set = world.call("budgets.set", json!({"agent": "claude", "program": program["id"]})).await;
        assert_eq!(set["agent"], "claude", "{set}");
    }
    world.call("budgets.set", json!({"agent": "claude", "program": null})).await;
    assert!(!models.is_empty(), "there is a table");
    for model in models {
        let set = world.call("budgets.set", json!({"agent": "claude", "model": model["name"]})).await;
        assert_eq!((&set["windowTokens"], &set["windowFrom"]), (&model["windowTokens"], &json!("model")), "{set}");
        assert!(model["source"].as_str().is_some_and(|source| !source.is_empty()), "each size has its source: {model}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_emptied_window_begins_anew_and_the_spend_stays() {
    let world = World::new().await;
    let id = talking(&world, "claude").await;
    saw(&world, id, None, result(700));
    world.engine.flush_budget().await;
    world.call("budgets.empty", json!({"agent": "claude"})).await;
    let shown = world.call("budgets.show", json!({"agent": "claude"})).await;
    let now = &shown["budget"]["now"];
    assert!(now.is_null() || now["tokens"] == 0, "nothing stands in it: {shown}");
    assert_eq!(shown["earlier"][0]["tokens"], 700, "the one before is kept: {shown}");
    assert!(shown["earlier"][0]["endedAt"].is_string(), "{shown}");
    let results = shown["spentToday"].as_array().expect("sources").iter().find(|part| part["source"] == "results");
    assert_eq!(results.map(|part| &part["tokens"]), Some(&json!(700)), "spend only grows: {shown}");
}

#[tokio::test(start_paused = true)]
async fn a_series_has_no_gaps_and_sums_its_hours() {
    let world = World::new().await;
    let id = talking(&world, "claude").await;
    let ci = server(&world).await;
    saw(&world, id, Some(ci), result(100));
    world.engine.flush_budget().await;
    tokio::time::advance(Duration::from_secs(3 * 3_600)).await;
    saw(&world, id, Some(ci), result(30));
    let series = world.call("budgets.series", json!({"spanMs": 6 * HOUR_MS, "stepMs": HOUR_MS})).await;
    let points = series["points"].as_array().expect("points");
    let results: Vec<u64> = points
        .iter()
        .map(|point| {
            point["sources"].as_array().and_then(|parts| parts.iter().find(|part| part["source"] == "results"))
        })
        .map(|part| part.and_then(|part| part["tokens"].as_u64()).expect("every source in every point"))
        .collect();
    assert_eq!(results, [0, 0, 0, 100, 0, 0, 30], "six whole hours and the one that runs, quiet ones too: {series}");
    let day = world.call("budgets.series", json!({"agent": "claude", "spanMs": 48 * HOUR_MS, "stepMs": 24 * HOUR_MS}));
    let day = day.await;
    let points = day["points"].as_array().expect("points");
    assert_eq!(points.len(), 3, "two whole days and the one that runs: {day}");
    let messages: u64 = points.iter().filter_map(|point| point["messages"].as_u64()).sum();
    assert_eq!(messages, 2, "longer points are sums: {day}");
    for (wrong, why) in [
        (json!({"spanMs": HOUR_MS, "stepMs": 0}), "no length"),
        (json!({"spanMs": HOUR_MS, "stepMs": HOUR_MS + 1}), "no whole hours"),
        (json!({"spanMs": u64::MAX, "stepMs": HOUR_MS}), "too many"),
    ] {
        let error = world.try_call("budgets.series", wrong).await.expect_err(why);
        assert_eq!(error.code, Code::Usage, "{why}: {error:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn looks_that_brought_nothing_are_waste_of_their_server_with_advice() {
    let world = World::new().await;
    let id = talking(&world, "claude").await;
    let ci = server(&world).await;
    let look = |empty| Passed::Look { said: Payload::new(r#"{"taskId":"t","status":"working"}"#), empty, hasty: false };
    saw(&world, id, Some(ci), look(false));
    let day = json!({"spanMs": 24 * HOUR_MS});
    assert_eq!(world.call("budgets.waste", day.clone()).await["servers"], json!([]), "a look as such is none");
    for _ in 0..3 {
        saw(&world, id, Some(ci), look(true));
    }
    let waste = world.call("budgets.waste", day).await["servers"][0].clone();
    assert_eq!((&waste["server"], &waste["looks"], &waste["empty"]), (&json!("ci"), &json!(4), &json!(3)), "{waste}");
    assert!(waste["tokens"].as_u64().is_some_and(|tokens| tokens > 0), "it cost something: {waste}");
    assert!(waste["advice"].as_str().is_some_and(|advice| advice.contains("tasks_wait")), "{waste}");
    let other = agent(&world, "other").await;
    let none = world.call("budgets.waste", json!({"spanMs": HOUR_MS, "agent": other.0.to_string()})).await;
    assert_eq!(none["servers"], json!([]), "not this agent's: {none}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_was_removed_and_added_again_wastes_in_two_rows_told_apart_by_id() {
    let world = World::new().await;
    let id = talking(&world, "claude").await;
    let look =
        || Passed::Look { said: Payload::new(r#"{"taskId":"t","status":"working"}"#), empty: true, hasty: false };
    let before = server(&world).await;
    saw(&world, id, Some(before), look());
    world.call("servers.remove", json!({"name": "ci"})).await;
    let address = json!({"kind": "http", "url": "https://host.example/mcp"});
    let added = world.call("servers.add", json!({"name": "ci", "address": address, "agreed": true})).await;
    let after: ServerId = added["server"]["id"].as_str().expect("an id").parse().expect("an id");
    saw(&world, id, Some(after), look());
    let list = world.call("budgets.waste", json!({"spanMs": 24 * HOUR_MS})).await;
    let rows = list["servers"].as_array().expect("rows");
    let mut ids: Vec<&str> = rows.iter().filter_map(|row| row["serverId"].as_str()).collect();
    ids.sort_unstable();
    let mut both = [before.to_string(), after.to_string()];
    both.sort_unstable();
    assert_eq!(ids, both, "{list}");
    assert!(rows.iter().all(|row| row["server"] == "ci"), "both bear its name: {list}");
}

#[tokio::test(start_paused = true)]
async fn an_open_window_hears_of_budgets_once_in_a_while() {
    let world = World::new().await;
    let id = talking(&world, "claude").await;
    let mut reader = Reader::open(&world, SubscribeInput { visible: true, ..SubscribeInput::default() }).await;
    saw(&world, id, None, result(10));
    let tokens =
        |now: &Reader| now.budgets.budgets.first().and_then(|budget| budget.now.as_ref()).map(|now| now.tokens);
    reader.until("the first result is there", |now| tokens(now) == Some(10)).await;
    let before = reader.came.len();
    for _ in 0..50 {
        saw(&world, id, None, result(1));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    reader.until("all are there", |now| tokens(now) == Some(60)).await;
    assert!(
        reader.came.len() - before <= 4,
        "a second's worth comes together, in {} frames",
        reader.came.len() - before
    );
    assert_eq!(reader.budgets.warn_percent, world.policy.counting.warn_percent);
}

#[tokio::test(start_paused = true)]
async fn without_a_core_the_last_windows_can_be_read() {
    use api::Api;
    use domain::ports::Clock;
    use testkit::token_counter::ByteTokenCounter;

    let world = World::new().await;
    let id = talking(&world, "claude").await;
    saw(&world, id, None, result(123));
    world.engine.flush_budget().await;
    let clock: Arc<dyn Clock> = world.clock.clone();
    let alone = Api::reading(world.registry.clone(), clock, world.policy.clone(), Arc::new(ByteTokenCounter));
    let text = alone.dispatch(&world.caller, "budgets.list", "{}").await.expect("it reads");
    let list: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(list["budgets"][0]["now"]["tokens"], 123, "{list}");
    assert_eq!(list["budgets"][0]["coming"], json!([]), "nothing can come in");
}
