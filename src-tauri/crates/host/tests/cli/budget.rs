//! Budgets on the command line: what fills a window, limits that hold, and decisions that are obeyed.

use serde_json::{Value, json};

use crate::bridge::Agent;
use crate::home::Home;

/// The one decision that waits.
fn until_asked(home: &Home) -> Value {
    let mut last = Value::Null;
    for _ in 0..500 {
        last = home.ok(&["inbox", "--json"]).json();
        if last["decisions"][0]["task"].is_string() {
            return last["decisions"][0].clone();
        }
    }
    panic!("nobody is asked: {last}");
}

#[test]
fn a_large_result_is_held_with_its_cost_and_reaches_its_agent_in_the_form_that_was_chosen() {
    let (home, _core) = Home::with_demo();
    home.ok(&["agents", "add", "claude", "--save"]);
    home.ok(&["budget", "set", "claude", "--tokenizer", "o200k", "--window", "200k"]);
    home.ok(&["rules", "set", "--agent", "claude", "--result-tokens", "2k:ask"]);
    let mut agent = Agent::start(&home);
    agent.greet();
    agent.ask(2, "tools/list", json!({}));
    agent.answer(2);
    let folder = home.folder("work", &["a.txt"]);
    agent.ask(3, "tools/call", json!({"name": "huge_report", "arguments": {"tokens": 5_000, "path": folder}}));
    let row = until_asked(&home);
    assert_eq!(
        (&row["kind"], &row["limit"], &row["exactness"]),
        (&json!("held"), &json!(2_000), &json!("exact")),
        "{row}"
    );
    let size = row["tokens"].as_u64().expect("its cost is known before the agent reads it");
    let id = row["task"].as_str().expect("a task").to_owned();
    let inbox = home.ok(&["inbox"]).out;
    assert!(inbox.contains("To decide:") && inbox.contains("taskwarden tasks release"), "{inbox}");
    assert!(inbox.contains("huge_report on demo for claude"), "whose it is stands there: {inbox}");
    let own = home.call("flaky", "{}");
    home.watch(&own);
    let whose = |task: &str, agent: &str| {
        let list = home.ok(&["tasks", "list"]).out;
        let row = list.lines().find(|line| line.contains(task)).map(str::to_owned).unwrap_or(list);
        assert!(row.split_whitespace().any(|word| word == agent), "whose task it is: {row}");
    };
    whose(&id, "claude");
    whose(&own, "-");
    home.call("flaky", "{}");
    let page = home.ok(&["tasks", "list", "--server", "demo", "--limit", "1"]).err;
    assert!(page.contains("tasks list --server demo --limit 1 --before "), "the next page is of the same list: {page}");
    let shown = home.ok(&["tasks", "show", &id]).out;
    assert!(shown.contains("its result is held by a limit") && shown.contains("at most 2,000 allowed"), "{shown}");

    let unsaid = home.run(&["tasks", "release", &id, "--deliver", "--reason", "too dear"]);
    assert_eq!(unsaid.code, Some(2), "a reason that nobody would read decides nothing: {unsaid:?}");
    assert!(shown.contains(&format!("taskwarden tasks release {id} --slices")), "with the ways to decide: {shown}");
    let released = home.ok(&["tasks", "release", &id, "--slices"]).out;
    assert!(released.contains("in parts"), "{released}");
    let answer = agent.answer(3);
    let text = answer.to_string();
    assert!(text.contains("taskwarden://results/") && text.len() < 20_000, "a short result with a link: {answer}");
    assert_eq!(home.ok(&["inbox", "--json"]).json()["decisions"], json!([]), "the decision is made");
    assert_eq!(home.run(&["tasks", "release", &id, "--deliver"]).code, Some(5), "once");

    let list = home.ok(&["budget", "--json"]).json();
    let budget = &list["budgets"][0];
    assert_eq!((&budget["agent"], &budget["windowTokens"]), (&json!("claude"), &json!(200_000)), "{list}");
    let standing = budget["now"]["tokens"].as_u64().expect("a figure");
    assert!(standing > 0 && standing < size, "the handle stands there and not the report: {standing} of {size}");
    let table = home.ok(&["budget"]).out;
    assert!(table.contains("claude") && table.contains("GPT o200k, exact") && table.contains("200k"), "{table}");
    let one = home.ok(&["budget", "claude"]).out;
    assert!(
        one.contains("not seen here") && one.contains("Results that will arrive") && one.contains("huge_report"),
        "{one}"
    );
    let today = home.ok(&["budget", "--today"]).out;
    assert!(today.contains("CAME IN") && today.contains("claude"), "{today}");
    let csv = home.ok(&["budget", "--history", "3", "--csv"]).out;
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines.len(), 5, "a head, three whole hours and the one that runs: {csv}");
    assert!(lines[0].starts_with("at,tools,ownTools,") && lines[4].ends_with("exact,o200k"), "{csv}");
    let hours = home.ok(&["budget", "--history", "3"]).err;
    assert!(hours.contains("Counted as: GPT o200k. Hours without traffic"), "{hours}");
    let days = home.ok(&["budget", "--history", "5000"]).err;
    assert!(days.contains("Days without traffic"), "a point is what was left out: {days}");
    let all = home.ok(&["budget", "--today", "--json"]).json();
    assert_eq!((&all["agents"][0]["budget"]["agent"], &all["more"]), (&json!("claude"), &json!(0)), "{all}");
    let one = home.ok(&["budget", "claude", "--today", "--json"]).json();
    assert_eq!(one["budget"]["agent"], "claude", "one agent is one object: {one}");
    let far = home.run(&["budget", "--history", "100000"]);
    assert_eq!(far.code, Some(2), "{far:?}");
    assert!(far.err.contains("9,600 hours"), "what is kept is named: {}", far.err);
    let shown = home.ok(&["tasks", "show", &id]).out;
    assert!(shown.contains("tokens:") && shown.contains("o200k"), "{shown}");
}

#[test]
fn limits_are_set_by_people_in_their_words_and_taken_away() {
    let (home, _core) = Home::with_demo();
    home.ok(&["agents", "add", "claude"]);
    let set = |args: &[&str]| {
        let mut all = vec!["rules", "set", "--agent", "claude"];
        all.extend(args);
        home.run(&all)
    };
    let all = set(&["--result-tokens", "20k", "--task-tokens", "60,000:stop", "--window-tokens", "0.16M", "--json"]);
    let rule = all.json()["rules"][0].clone();
    assert_eq!(rule["resultLimit"], json!({"tokens": 20_000, "at": "hold"}), "{rule}");
    assert_eq!(rule["taskLimit"], json!({"tokens": 60_000, "at": "stop"}), "{rule}");
    assert_eq!(rule["windowLimit"], json!({"tokens": 160_000, "at": "ask"}), "{rule}");
    let shown = home.ok(&["rules", "list"]).out;
    assert!(shown.contains("result 20,000 hold, task 60,000 stop, window 160,000 ask"), "{shown}");
    let wrong = set(&["--result-tokens", "20k:stop"]);
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
    assert!(wrong.err.contains("warn, ask, hold"), "what is allowed is named: {}", wrong.err);
    assert_eq!(set(&["--result-tokens", "many"]).code, Some(2));
    assert_eq!(home.run(&["rules", "set", "--server", "demo", "--window-tokens", "5k"]).code, Some(2), "no window");
    let gone = set(&["--result-tokens", "none", "--task-tokens", "none", "--window-tokens", "none", "--json"]);
    assert_eq!(gone.json()["rules"], json!([]), "{gone:?}");
}

#[test]
fn how_an_agent_is_counted_is_set_and_taken_back() {
    let (home, core) = Home::with_demo();
    home.ok(&["agents", "add", "claude"]);
    let told = home.ok(&["budget"]).out;
    assert!(told.contains("Nothing has been counted yet"), "an empty screen says what will be there: {told}");
    let told = home.ok(&["budget", "set", "claude", "--tokenizer", "cl100k", "--window", "128k"]).out;
    assert!(told.contains("GPT cl100k, exact, in a window of 128k"), "{told}");
    let back = home.ok(&["budget", "set", "claude", "--tokenizer", "auto", "--json"]).json();
    assert_eq!((&back["family"]["id"], &back["windowTokens"]), (&json!("unknown"), &json!(128_000)), "{back}");
    home.ok(&["budget", "empty", "claude"]);
    for (args, code) in [
        (vec!["budget", "set", "claude"], 2),
        (vec!["budget", "set", "claude", "--tokenizer", "gpt-9"], 2),
        (vec!["budget", "set", "claude", "--model", "hal-9000"], 2),
        (vec!["budget", "set", "claude", "--window", "0"], 2),
        (vec!["budget", "set", "claude", "--window", "-5"], 2),
        (vec!["budget", "nobody"], 4),
        (vec!["budget", "--csv"], 2),
        (vec!["budget", "--waste", "--csv"], 2),
        (vec!["budget", "--today", "--csv"], 2),
    ] {
        let ran = home.run(&args);
        assert_eq!(ran.code, Some(code), "`{args:?}`: {ran:?}");
    }
    for (args, told) in [
        (vec!["budget", "--history", "2d"], "whole hours, such as `24`"),
        (vec!["budget", "--history", "-1"], "whole hours, such as `24`"),
        (vec!["budget", "set", "claude", "--window", "-5"], "`-5` is not a number of tokens"),
        (vec!["budget", "set", "claude", "--tokenizer", "gpt-9"], "possible values: o200k, cl100k"),
        (vec!["rules", "set", "--agent", "claude", "--result-tokens", "-5"], "`-5` is not a number of tokens"),
        (vec!["rules", "set", "--agent", "claude", "--result-tokens", "off"], "`none` to remove the limit"),
    ] {
        let ran = home.run(&args);
        assert!(ran.code == Some(2) && ran.err.contains(told), "the place and what belongs there: {ran:?}");
    }
    let help = home.ok(&["budget", "set", "--help"]).out;
    assert!(help.contains("Examples:") && help.contains("such as `200k`") && help.contains("claude47"), "{help}");
    core.kill();
    let alone = home.ok(&["budget"]);
    assert!(alone.out.contains("claude") && alone.err.contains("No core is running"), "{alone:?}");
    assert_eq!(home.run(&["budget", "set", "claude", "--window", "5k"]).code, Some(3), "that needs one");
}

#[test]
fn a_price_is_set_shown_with_its_date_and_removed_by_a_person_alone() {
    let (home, _core) = Home::with_demo();
    let none = home.ok(&["budget", "price"]).out;
    assert!(none.contains("No price is set"), "none is built in: {none}");
    let set = ["budget", "price", "GPT-5", "--input", "1.25", "--output", "10", "--currency", "usd"];
    home.ok(&set);
    let list = home.ok(&["budget", "price", "--json"]).json();
    let price = &list["prices"][0];
    assert_eq!(
        (&price["model"], &price["label"], &price["input"], &price["output"], &price["currency"]),
        (&json!("gpt-5"), &json!("OpenAI GPT-5"), &json!("1.25"), &json!("10.00"), &json!("USD")),
        "{list}"
    );
    assert!(price["setAt"].as_str().is_some_and(|at| at.ends_with('Z')), "{price}");
    let table = home.ok(&["budget", "price"]).out;
    assert!(table.contains("gpt-5") && table.contains("OpenAI GPT-5") && table.contains("1.25"), "{table}");
    for wrong in [
        &["budget", "price", "gpt-5", "--input", "1"][..],
        &["budget", "price", "gpt-5", "--input", "1,5", "--output", "2", "--currency", "USD"],
        &["budget", "price", "hal-9000", "--input", "1", "--output", "2", "--currency", "USD"],
        &["budget", "price", "--remove"],
    ] {
        let refused = home.run(wrong);
        assert_eq!(refused.code, Some(2), "{wrong:?}: {refused:?}");
    }
    home.ok(&["budget", "price", "gpt-5", "--remove"]);
    assert_eq!(home.ok(&["budget", "price", "--json"]).json()["prices"], json!([]));
    let gone = home.run(&["budget", "price", "gpt-5", "--remove"]);
    assert_eq!(gone.code, Some(4), "it has none any more: {gone:?}");
}
