//! Limits of tokens: how they are set, what they hold and stop, and what people decide about it.

use api::Code;
use api::dto::HeldWhy;
use api::feed::frame::SubscribeInput;
use domain::task::payload::Payload;
use serde_json::{Value, json};
use testkit::scripted::PollReply;

use crate::agents::{agent, handle};
use crate::reader::Reader;
use crate::world::World;

/// A task that ends with a result of so many bytes of text: as many tokens on the scale of these tests.
fn brings(bytes: usize) -> Vec<PollReply> {
    let result = json!({"content": [{"type": "text", "text": "x".repeat(bytes)}]});
    vec![PollReply::working(), PollReply::Completed(result.to_string())]
}

async fn limited(world: &World, field: &str, tokens: u64, at: &str) {
    let mut rule = json!({"scope": {"kind": "agent", "agent": "claude"}});
    rule[field] = json!({"tokens": tokens, "at": at});
    world.call("rules.put", rule).await;
}

#[tokio::test(start_paused = true)]
async fn limits_are_put_with_a_rule_and_read_back() {
    let world = World::new().await;
    agent(&world, "claude").await;
    let of_agent = json!({"kind": "agent", "agent": "claude"});
    let rule = json!({
        "scope": of_agent,
        "resultLimit": {"tokens": 20_000, "at": "hold"},
        "taskLimit": {"tokens": 60_000, "at": "ask"},
        "windowLimit": {"tokens": 160_000, "at": "warn"},
    });
    let list = world.call("rules.put", rule.clone()).await;
    for field in ["resultLimit", "taskLimit", "windowLimit"] {
        assert_eq!(list["rules"][0][field], rule[field], "{list}");
    }
    let server = json!({"kind": "server", "server": "ci"});
    for (wrong, named) in [
        (json!({"scope": of_agent, "resultLimit": {"tokens": 5, "at": "stop"}}), "warn, ask, hold"),
        (json!({"scope": of_agent, "taskLimit": {"tokens": 5, "at": "hold"}}), "warn, ask, stop"),
        (json!({"scope": of_agent, "windowLimit": {"tokens": 5, "at": "stop"}}), "warn, ask, hold"),
        (json!({"scope": of_agent, "resultLimit": {"tokens": 0, "at": "hold"}}), "1 to"),
        (json!({"scope": server, "windowLimit": {"tokens": 5, "at": "ask"}}), "agent"),
    ] {
        let error = world.try_call("rules.put", wrong).await.expect_err(named);
        assert!(error.code == Code::Usage && error.hint.contains(named), "what is allowed is named: {error:?}");
    }
    let list = world.call("rules.put", json!({"scope": of_agent})).await;
    assert_eq!(list["rules"], json!([]), "limits go with their rule");
}

#[tokio::test(start_paused = true)]
async fn a_result_over_its_limit_waits_in_the_inbox_and_is_delivered_in_the_form_that_a_person_chose() {
    let world = World::new().await;
    let (id, _) = agent(&world, "claude").await;
    limited(&world, "resultLimit", 500, "ask").await;
    let mut reader = Reader::open(&world, SubscribeInput::default()).await;
    for (n, (verdict, form, trim)) in [
        (json!({"deliver": true, "form": "slices"}), json!("slices"), Value::Null),
        (json!({"deliver": true, "form": "trimmed", "trimTokens": 100}), json!("trimmed"), json!(100)),
        (json!({"deliver": true}), json!("whole"), Value::Null),
        (json!({"deliver": false, "reason": "too much"}), Value::Null, Value::Null),
    ]
    .into_iter()
    .enumerate()
    {
        world.server.reply_task("report", &format!("t{n}"), brings(800));
        let task = handle(&world, id, "report").await;
        let row = format!("{task}/held");
        reader.until("it waits", |now| now.inbox.contains_key(&row)).await;
        let told = &reader.inbox[&row];
        assert_eq!((told.kind.as_str(), told.tokens, told.limit), ("held", Some(800), Some(500)), "{told:?}");
        let held = world.call("tasks.show", json!({"id": task})).await["held"].clone();
        assert_eq!((&held["why"], &held["tokens"], &held["by"]), (&json!("tooLarge"), &json!(800), &json!("a limit")));
        let mut input = verdict;
        input["id"] = json!(task);
        let decided = world.call("tasks.release", input).await["held"]["verdict"].clone();
        assert_eq!((&decided["form"], &decided["trimTokens"]), (&form, &trim), "{decided}");
        assert_eq!((&decided["by"], &decided["byLimit"]), (&json!("ada"), &json!(false)), "{decided}");
        reader.until("nothing waits any more", |now| !now.inbox.contains_key(&row)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_held_result_says_in_the_inbox_which_limit_it_waits_for() {
    let world = World::new().await;
    let (id, _) = agent(&world, "claude").await;
    let mut reader = Reader::open(&world, SubscribeInput::default()).await;
    for (tool, field, why, limit) in
        [("report", "resultLimit", HeldWhy::TooLarge, Some(500)), ("index", "windowLimit", HeldWhy::DoesNotFit, None)]
    {
        limited(&world, field, 500, "ask").await;
        world.server.reply_task(tool, tool, brings(4_000));
        let row = format!("{}/held", handle(&world, id, tool).await);
        reader.until("it waits", |now| now.inbox.contains_key(&row)).await;
        let told = &reader.inbox[&row];
        assert_eq!((told.why, told.limit, told.tokens), (Some(why), limit, Some(4_000)), "{told:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_agent_needs_a_person_while_its_result_is_held_or_its_task_asks_to_go_on() {
    let world = World::new().await;
    let (id, _) = agent(&world, "claude").await;
    let rule = json!({
        "scope": {"kind": "agent", "agent": "claude"},
        "resultLimit": {"tokens": 500, "at": "ask"},
        "taskLimit": {"tokens": 2_000, "at": "ask"},
    });
    world.call("rules.put", rule).await;
    let needs = async || world.call("agents.list", json!({})).await["agents"][0]["waiting"].clone();
    let mut reader = Reader::open(&world, SubscribeInput::default()).await;
    world.server.reply_task("report", "t1", brings(800));
    let report = handle(&world, id, "report").await;
    reader.until("its result is held", |now| now.agents["claude"].waiting == 1).await;
    world.server.reply_task("index", "t2", vec![PollReply::working()]);
    let index = handle(&world, id, "index").await;
    world.engine.kept_out(index.parse().expect("ours"), Payload::new("y".repeat(3_000)));
    reader.until("its task asks to go on", |now| now.agents["claude"].waiting == 2).await;
    assert_eq!((reader.inbox.len(), needs().await), (2, json!(2)), "as many as stand in the inbox");
    let later = Reader::open(&world, SubscribeInput::default()).await;
    assert_eq!(later.agents["claude"].waiting, 2, "a window that opens later says the same");
    world.call("tasks.goOn", json!({"id": index})).await;
    world.call("tasks.hold", json!({"id": index})).await;
    reader.until("a result that is still to come needs nobody", |now| now.agents["claude"].waiting == 1).await;
    world.call("tasks.release", json!({"id": report, "deliver": true})).await;
    reader.until("everything is decided", |now| now.agents["claude"].waiting == 0).await;
    assert_eq!((reader.inbox.len(), needs().await), (0, json!(0)), "the list says the same");
}

#[tokio::test(start_paused = true)]
async fn a_form_that_makes_no_sense_decides_nothing() {
    let world = World::new().await;
    let (id, _) = agent(&world, "claude").await;
    limited(&world, "resultLimit", 500, "ask").await;
    world.server.reply_task("report", "t1", brings(800));
    let task = handle(&world, id, "report").await;
    world.until(&task, "done").await;
    for wrong in [
        json!({"id": task, "deliver": true, "form": "trimmed"}),
        json!({"id": task, "deliver": true, "form": "slices", "trimTokens": 5}),
        json!({"id": task, "deliver": true, "form": "trimmed", "trimTokens": 0}),
        json!({"id": task, "deliver": false, "form": "whole"}),
    ] {
        let error = world.try_call("tasks.release", wrong.clone()).await.expect_err("no form");
        assert_eq!(error.code, Code::Usage, "{wrong}: {error:?}");
    }
    let held = world.call("tasks.show", json!({"id": task})).await["held"].clone();
    assert_eq!(held["verdict"], Value::Null, "it still waits: {held}");
}

#[tokio::test(start_paused = true)]
async fn a_result_that_a_limit_slices_is_no_item_and_a_person_can_still_release_it() {
    let world = World::new().await;
    let (id, _) = agent(&world, "claude").await;
    limited(&world, "resultLimit", 500, "hold").await;
    world.server.reply_task("report", "t1", brings(800));
    let task = handle(&world, id, "report").await;
    let shown = world.until(&task, "done").await;
    let verdict = &shown["held"]["verdict"];
    assert_eq!((&verdict["byLimit"], &verdict["form"]), (&json!(true), &json!("slices")), "{shown}");
    let reader = Reader::open(&world, SubscribeInput::default()).await;
    assert!(reader.inbox.is_empty(), "nobody is asked: {:?}", reader.inbox);
    let released = world.call("tasks.release", json!({"id": task, "deliver": true})).await;
    assert_eq!(released["held"]["verdict"]["form"], "whole", "{released}");
    let again = world.try_call("tasks.release", json!({"id": task, "deliver": true})).await.expect_err("decided");
    assert_eq!(again.code, Code::Refused, "{again:?}");
}

#[tokio::test(start_paused = true)]
async fn a_task_past_its_limit_asks_in_the_inbox_and_goes_on_when_a_person_says_so() {
    let world = World::new().await;
    let (id, _) = agent(&world, "claude").await;
    limited(&world, "taskLimit", 300, "ask").await;
    let mut reader = Reader::open(&world, SubscribeInput::default()).await;
    world.server.reply_task("index", "t1", vec![PollReply::working()]);
    let task = handle(&world, id, "index").await;
    let not_asked = world.try_call("tasks.goOn", json!({"id": task})).await.expect_err("nobody is asked");
    assert_eq!(not_asked.code, Code::Refused, "{not_asked:?}");
    world.engine.kept_out(task.parse().expect("ours"), Payload::new("y".repeat(1_000)));
    let row = format!("{task}/overLimit");
    reader.until("it asks", |now| now.inbox.contains_key(&row)).await;
    let told = &reader.inbox[&row];
    assert!(told.tokens.is_some_and(|tokens| tokens > 1_000) && told.limit == Some(300), "{told:?}");
    let shown = world.call("tasks.goOn", json!({"id": task})).await;
    assert_eq!(shown["overLimit"]["settledBy"], "ada", "{shown}");
    assert_eq!(shown["overLimit"]["limit"], json!({"tokens": 300, "at": "ask"}), "{shown}");
    reader.until("it asks no more", |now| !now.inbox.contains_key(&row)).await;
    let history = world.call("tasks.history", json!({"id": task})).await.to_string();
    assert!(history.contains("overLimit") && history.contains("limitLifted"), "both are on record: {history}");
    let again = world.try_call("tasks.goOn", json!({"id": task})).await.expect_err("once");
    assert_eq!(again.code, Code::Refused, "{again:?}");
}

#[tokio::test(start_paused = true)]
async fn a_limit_that_stops_a_task_says_that_it_was_the_limit() {
    let world = World::new().await;
    let (id, _) = agent(&world, "claude").await;
    limited(&world, "taskLimit", 300, "stop").await;
    world.server.reply_task("index", "t1", vec![PollReply::working()]);
    let task = handle(&world, id, "index").await;
    world.engine.kept_out(task.parse().expect("ours"), Payload::new("y".repeat(1_000)));
    let shown = world.until(&task, "cancelled").await;
    assert_eq!((&shown["intent"]["kind"], &shown["intent"]["by"]), (&json!("cancel"), &json!("a limit")), "{shown}");
    assert!(shown["intent"]["reason"].as_str().is_some_and(|why| why.contains("300")), "with its number: {shown}");
}

#[tokio::test(start_paused = true)]
async fn a_task_and_its_row_say_what_it_costs_the_window() {
    let world = World::new().await;
    let (id, _) = agent(&world, "claude").await;
    world.server.reply_task("report", "t1", brings(800));
    let task = handle(&world, id, "report").await;
    world.until(&task, "done").await;
    world.engine.flush_budget().await;
    let shown = world.call("tasks.show", json!({"id": task})).await["tokens"].clone();
    assert_eq!((&shown["result"], &shown["delivered"]), (&json!(800), &json!(0)), "before anybody read it: {shown}");
    assert!(shown["keptOut"].as_u64().is_some_and(|tokens| tokens >= 800), "{shown}");
    assert_eq!((&shown["family"], &shown["exactness"]), (&json!("unknown"), &json!("exact")), "{shown}");
    let page = json!({"query": {}, "group": null, "offset": 0, "limit": 9});
    assert_eq!(world.call("tasks.page", page).await["rows"][0]["tokens"], shown, "the row says the same");
    world.server.reply_task("report", "t2", brings(10));
    let own = world.start("report").await;
    assert_eq!(world.until(&own, "done").await["tokens"], Value::Null, "a person has no window");
}
