//! Results that are too large for their agent: what stands for them, and how they are read.

use std::time::Duration;

use domain::ids::{AgentId, HandleId};
use domain::ports::AgentUnit;
use domain::rule::{LimitAction, RuleScope, TokenLimit};
use domain::task::decider::Decider;
use domain::task::{ResultForm, TaskHandle};
use domain::tokens::Family;
use serde_json::{Value, json};
use testkit::build::person;
use testkit::scripted::{OnCancel, PollReply};

use crate::gateway::tests::legacy_setup::{SessionClient, ended};
use crate::gateway::tests::scripted_servers::{LinkAnswer, LinkServer, setup_over};
use crate::gateway::tests::setup::{AgentClient, GatewaySetup, task_id};

const SECOND: Duration = Duration::from_secs(1);

/// A report that is longer than a slice, in letters of one to four bytes.
fn report() -> String {
    (0..3_000).map(|line| format!("{line}: bees, 蜜蜂在跳舞, 🐝 and ärger\n")).collect()
}

fn result(text: &str) -> String {
    json!({"content": [{"type": "text", "text": text}]}).to_string()
}

async fn limited(setup: &GatewaySetup, tool: &str, tokens: u64, at: LimitAction) {
    setup.rule(tool, |rule| rule.result_limit = Some(TokenLimit { tokens, at })).await;
}

/// The newest task of agent 1.
async fn row(setup: &GatewaySetup) -> TaskHandle {
    setup.rows(1).await.into_iter().next().expect("a row")
}

fn link(short: &Value) -> String {
    let link = short["content"].as_array().expect("blocks").iter().find(|block| block["type"] == "resource_link");
    link.expect("a link")["uri"].as_str().expect("a URI").to_owned()
}

async fn read(agent: &AgentClient, uri: &str) -> Value {
    agent.ask("resources/read", json!({"uri": uri})).await.result()
}

/// All slices of a result, joined.
async fn all(agent: &AgentClient, uri: &str) -> (String, usize) {
    let (mut joined, mut offset, mut slices) = (String::new(), 0, 0);
    loop {
        let said = read(agent, &format!("{uri}?offset={offset}")).await;
        let slice = &said["contents"][0];
        joined.push_str(slice["text"].as_str().expect("a text"));
        slices += 1;
        match slice["_meta"]["io.taskwarden/slice"]["next"].as_u64() {
            Some(next) => {
                let on = said["contents"][1]["text"].as_str().expect("it says where it goes on");
                assert!(on.contains(&format!("?offset={next}")), "also to a model that sees texts alone: {on}");
                offset = next;
            }
            None => return (joined, slices),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_result_over_its_limit_is_short_and_its_slices_are_the_whole() {
    let setup = GatewaySetup::new().await;
    let text = report();
    setup.replies("huge", Duration::ZERO, &result(&text));
    limited(&setup, "huge", 20_000, LimitAction::Hold).await;
    let agent = setup.plain(1);
    let outcome = agent.call("huge").await;
    let short = outcome.result();
    let said = short["content"][0]["text"].as_str().expect("a text");
    let size = domain::tokens::grouped(text.len() as u64);
    assert!(said.starts_with(&format!("This result has at most {size} tokens")), "its size comes first: {said}");
    assert!(said.contains("more than the 20,000 that are allowed here"), "and the limit: {said}");
    assert!(said.contains("\n\n0: bees, 蜜蜂在跳舞, 🐝 and ärger\n1: bees"), "then how it begins: {said}");
    assert!(outcome.raw().len() < 4_000, "and not much of it: {} bytes", outcome.raw().len());
    let held = &short["_meta"]["io.taskwarden/held"];
    let row = row(&setup).await;
    assert_eq!(
        (&held["id"], &held["tokens"]),
        (&json!(row.id.to_string()), &json!(text.len())),
        "for programs: {held}"
    );
    assert_eq!(short["isError"], false, "{short}");
    let (joined, slices) = all(&agent, &link(&short)).await;
    assert_eq!(joined, text, "the slices together are the whole, to the character");
    assert!(slices as u64 >= text.len() as u64 / setup.policy.counting.slice_tokens, "none is too large: {slices}");
    // And by the task tool, from where the short result says.
    let at = said.find("\"offset\":").expect("it names an offset") + "\"offset\":".len();
    let mut offset: usize = said[at..].split('}').next().and_then(|n| n.parse().ok()).expect("a number");
    let mut joined: String = text.chars().take(offset).collect();
    assert!(said.contains(joined.trim_end_matches('\n')), "up to there it was shown");
    loop {
        let call = json!({"name": "tasks_result", "arguments": {"task": row.id.to_string(), "offset": offset}});
        let part = agent.ask("tools/call", call).await.result();
        let text = part["content"][0]["text"].as_str().expect("a text").to_owned();
        match part["_meta"]["io.taskwarden/slice"]["next"].as_u64() {
            Some(next) => {
                let note =
                    format!("\n[{next} of {} characters; continue with offset {next}]", report().chars().count());
                joined.push_str(text.strip_suffix(&note).expect("it says where to go on"));
                offset = next as usize;
            }
            None => {
                joined.push_str(&text);
                break;
            }
        }
    }
    assert_eq!(joined, text, "nothing was lost on this way either");
}

#[tokio::test(start_paused = true)]
async fn an_end_reads_the_same_wherever_it_is_read() {
    let setup = GatewaySetup::new().await;
    let whole = json!({"content": [{"type": "text", "text": report()}], "structuredContent": {"a": 1}});
    let looks = vec![PollReply::working(), PollReply::Completed(whole.to_string())];
    setup.scripted.reply_task("huge", "upstream-1", looks);
    limited(&setup, "huge", 20_000, LimitAction::Hold).await;
    let session_client = SessionClient::new(&setup);
    let id = session_client.task("huge").await;
    let by_result = ended(&session_client.awaits(&id)).await.expect("a result");
    let of = |result: &Value| (result["content"].clone(), result["isError"].clone());
    let short = of(&by_result);
    assert_eq!(short.1, false, "a short result stands for a call that did not fail: {by_result}");
    let wait = json!({"name": "tasks_wait", "arguments": {"task": id}});
    let waited = session_client.caller.ask("tools/call", wait.clone()).await.result();
    assert_eq!(of(&waited), short, "waited for by the task tool");
    assert_eq!(of(&ended(&session_client.awaits(&id)).await.expect("a result")), short, "and once more");
    assert_eq!(of(&setup.plain(1).ask("tools/call", wait).await.result()), short, "in the other era");
    let modern = setup.modern(1);
    let read = modern.get(&id).await.result();
    assert_eq!(modern.get(&id).await.result(), read, "by a look, and the next one");
    assert_eq!(read["result"]["content"][1], short.0[1], "the same link");
    let text = |content: &Value| content[0]["text"].as_str().map(str::to_owned).expect("a text");
    let (theirs, ours) = (text(&read["result"]["content"]), text(&short.0));
    let (before, _) = theirs.split_once("[… it goes on").expect("it says how to go on");
    assert!(ours.starts_with(before), "the same but for the tools that a client has: {theirs}");
}

#[tokio::test(start_paused = true)]
async fn a_result_that_waits_for_a_person_says_so_with_its_size_and_limit() {
    let setup = GatewaySetup::new().await;
    setup.replies("huge", 30 * SECOND, &result(&report()));
    limited(&setup, "huge", 20_000, LimitAction::Ask).await;
    let agent = setup.plain(1);
    agent.call("huge").await.result();
    tokio::time::sleep(10 * SECOND).await;
    let id = row(&setup).await.id.to_string();
    let size = domain::tokens::grouped(report().len() as u64);
    for (name, arguments) in [("tasks_wait", json!({"task": id, "seconds": 1})), ("tasks_result", json!({"task": id}))]
    {
        let call = json!({"name": name, "arguments": arguments});
        let waits = agent.ask("tools/call", call).await.result();
        let said = waits["content"][0]["text"].as_str().expect("a text");
        assert!(said.contains("The work is done, but its result is held back"), "`{name}`: {said}");
        assert!(said.contains(&size) && said.contains("20,000 that are allowed"), "`{name}`: {said}");
        assert!(!said.contains("bees"), "and nothing of it: {said}");
    }
    let uri = format!("taskwarden://results/{id}");
    assert_eq!(agent.ask("resources/read", json!({"uri": uri})).await.error()["code"], -32_602, "nothing to read yet");
    setup.engine.release(row(&setup).await.id, person("ada"), Some(ResultForm::Whole), None).await.expect("released");
    let call = json!({"name": "tasks_wait", "arguments": {"task": id}});
    let done = agent.ask("tools/call", call).await.result();
    assert_eq!(done["content"][0]["text"], report(), "whole, because a person said so");
    let said = read(&agent, &uri).await;
    assert_eq!(said["contents"][0]["text"], report(), "without a range the whole is read");
    assert_eq!(said["contents"].as_array().map(Vec::len), Some(1), "and it goes on nowhere");
    let part = read(&agent, &format!("{uri}?offset=3&tokens=4")).await;
    assert_eq!(part["contents"][0]["text"], "bees", "with one a part");
    assert_eq!(part["contents"][1]["uri"], format!("{uri}?offset=7&tokens=4"), "and the next one is as large");
    let misspelt = agent.ask("resources/read", json!({"uri": format!("{uri}?ofset=5")})).await.error();
    assert_eq!(misspelt["code"], -32_602, "a misspelt range does not bring the whole: {misspelt}");
}

#[tokio::test(start_paused = true)]
async fn no_answer_brings_more_of_a_result_than_its_limit_and_the_short_one_half_of_that() {
    let setup = GatewaySetup::new().await;
    let text: String = (0..150).map(|line| format!("line {line:04}\n")).collect();
    for _ in 0..2 {
        setup.replies("huge", Duration::ZERO, &result(&text));
    }
    limited(&setup, "huge", 500, LimitAction::Hold).await;
    // The limit of a window is its agent's; how much of it is free is told with the result.
    let window = Some(TokenLimit { tokens: 1_200, at: LimitAction::Hold });
    for n in [1, 2] {
        if n == 2 {
            setup.rule("huge", |_| {}).await;
            setup.rule_of(RuleScope::Agent(AgentId::from_random(n)), |rule| rule.window_limit = window).await;
        }
        let agent = setup.plain(n);
        let short = agent.call("huge").await.result();
        let held = &short["_meta"]["io.taskwarden/held"];
        let most = held["limit"].as_u64().unwrap_or_else(|| panic!("it is held: {short}"));
        let (least, limit) = if n == 1 { (500, 500) } else { (1_000, 1_200) };
        assert!((least..=limit).contains(&most), "the limit, or what is free: {short}");
        let said = short["content"][0]["text"].as_str().expect("a text");
        let (_, shown) = said.split_once("\n\n").expect("how it begins");
        let (shown, _) = shown.split_once("\n\n[… it goes on").expect("and that it goes on");
        assert!(text.starts_with(shown) && shown.len() as u64 <= most / 2, "it is cut at half of {most}: {shown}");
        assert!(!said.contains("line 0149"), "the last line is not in the short result: {said}");
        let told = format!("in slices of up to {} tokens", domain::tokens::grouped(most));
        assert!(said.contains(&told), "it says how large they are: {said}");
        let uri = link(&short);
        for range in ["", "?tokens=8000", "?offset=9"] {
            let part = read(&agent, &format!("{uri}{range}")).await;
            let brought = part["contents"][0]["text"].as_str().expect("a text").len() as u64;
            assert!(brought <= most && brought > most / 2, "`{range}` brings {brought} of {most}");
        }
        assert_eq!(all(&agent, &uri).await.0, text, "the slices together are the whole all the same");
        let call = json!({"name": "tasks_result", "arguments": {"task": held["id"]}});
        let part = agent.ask("tools/call", call).await.result();
        let next = part["_meta"]["io.taskwarden/slice"]["next"].as_u64().expect("it goes on");
        assert!(next <= most, "nor does the task tool bring more: {part}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_short_result_names_what_no_slice_shows_and_who_can_let_it_come() {
    let setup = GatewaySetup::new().await;
    let text = json!({"type": "text", "text": "x".repeat(600)});
    let picture = json!({"type": "image", "data": "iVBO".repeat(50), "mimeType": "image/png"});
    let file = json!({"type": "resource", "resource": {"uri": "x:1", "blob": "iVBO"}});
    for (result, unseen) in [
        (json!({"content": [text, picture]}), Some("pictures")),
        (json!({"content": [text, picture, file]}), Some("bytes, pictures")),
        (json!({"content": [text]}), None),
    ] {
        setup.replies("huge", Duration::ZERO, &result.to_string());
        limited(&setup, "huge", 400, LimitAction::Hold).await;
        let short = setup.plain(1).call("huge").await.result();
        let said = short["content"][0]["text"].as_str().expect("a text");
        match unseen {
            Some(unseen) => {
                let who = "Nobody was asked for that; a person can let the whole come, in Taskwarden.";
                assert!(said.ends_with(&format!("[Not in its text: {unseen}. {who}]")), "{said}");
            }
            None => assert!(!said.contains("a person can"), "nobody is needed for what slices show: {said}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_number_that_is_none_is_refused_in_words_and_one_in_a_text_is_taken() {
    let setup = GatewaySetup::new().await;
    setup.replies("huge", Duration::ZERO, &result(&report()));
    limited(&setup, "huge", 20_000, LimitAction::Hold).await;
    let agent = setup.plain(1);
    agent.call("huge").await.result();
    let id = row(&setup).await.id.to_string();
    let ask = |name: &'static str, said: Value| {
        let mut arguments = json!({"task": id, "limit": 4});
        arguments[name] = said;
        let call = json!({"name": "tasks_result", "arguments": arguments});
        let agent = agent.clone();
        async move { agent.ask("tools/call", call).await.result() }
    };
    for said in [json!(3), json!("3"), json!(3.0)] {
        let part = ask("offset", said.clone()).await;
        let text = part["content"][0]["text"].as_str().expect("a text");
        assert!(text.starts_with("bees\n["), "{said} is where it begins: {text}");
    }
    let from_the_beginning = ask("offset", Value::Null).await;
    assert_eq!(from_the_beginning["_meta"]["io.taskwarden/slice"]["offset"], 0, "nothing said is the beginning");
    for (name, said, words) in [
        ("offset", json!(-1), "`offset` must be a whole number, such as 8000."),
        ("offset", json!("there"), "`offset` must be a whole number, such as 8000."),
        ("limit", json!(1.5), "`limit` must be a whole number, such as 8000."),
        ("ofset", json!(3), "`ofset` is not known here; `tasks_result` takes `task`, `offset` and `limit`."),
    ] {
        let refused = ask(name, said).await;
        assert_eq!((&refused["isError"], &refused["content"][0]["text"]), (&json!(true), &json!(words)));
    }
}

#[tokio::test(start_paused = true)]
async fn a_result_that_cannot_be_cut_is_no_stop_of_taskwarden() {
    let setup = GatewaySetup::new().await;
    let id = HandleId::from_random(1);
    let cut =
        crate::gateway::results::cutting::run(&setup.gateway.state, id, |_| -> () { panic!("a scale that fails") });
    let fault = cut.await.expect_err("it failed");
    assert_eq!(fault.json()["message"], "the result could not be cut");
    let next = crate::gateway::results::cutting::run(&setup.gateway.state, id, |_| 7).await;
    assert_eq!(next.ok(), Some(7), "and the next one is cut");
}

#[tokio::test(start_paused = true)]
async fn a_trimmed_result_is_valid_json_and_always_the_same() {
    let setup = GatewaySetup::new().await;
    let members: Vec<(String, Value)> = (0..200).map(|n| (format!("m{n}"), json!({"text": "蜜".repeat(20)}))).collect();
    let members: serde_json::Map<String, Value> = members.into_iter().collect();
    let whole = json!({"content": [{"type": "text", "text": report()}], "structuredContent": members});
    setup.scripted.reply_task(
        "huge",
        "upstream-1",
        vec![PollReply::working(), PollReply::Completed(whole.to_string())],
    );
    limited(&setup, "huge", 2_000, LimitAction::Ask).await;
    let agent = setup.modern(1);
    let id = task_id(&agent.call("huge").await.result());
    let handle: HandleId = id.parse().expect("an id");
    let begun = tokio::time::Instant::now();
    while !row(&setup).await.is_held() || !row(&setup).await.view.is_terminal() {
        assert!(begun.elapsed() < 60 * SECOND, "it is held");
        tokio::time::sleep(SECOND / 10).await;
    }
    setup
        .engine
        .release(handle, person("ada"), Some(ResultForm::Trimmed { tokens: 1_000 }), None)
        .await
        .expect("trimmed");
    let done = agent.until_status(&id, "completed").await;
    let text = done["result"]["content"][0]["text"].as_str().expect("a text");
    assert!(text.starts_with("0: bees") && text.len() < 1_200, "cut: {} bytes", text.len());
    let kept = done["result"]["structuredContent"].as_object().expect("still an object");
    assert!(!kept.is_empty() && kept.len() < 200, "members from its end are left out: {}", kept.len());
    assert_eq!(agent.get(&id).await.result()["result"], done["result"], "the same each time");
    let (joined, _) = all(&agent, &format!("taskwarden://results/{id}")).await;
    assert!(joined.len() < 1_300, "what is read in slices is the trimmed one: {} bytes", joined.len());
}

#[tokio::test(start_paused = true)]
async fn withheld_foreign_and_unknown_results_are_one_answer() {
    let setup = GatewaySetup::new().await;
    setup.replies("huge", SECOND, &result(&report()));
    limited(&setup, "huge", 20_000, LimitAction::Hold).await;
    let agent = setup.plain(1);
    let short = agent.call("huge").await.result();
    let uri = link(&short);
    let unknown = setup.plain(1).ask("resources/read", json!({"uri": "taskwarden://results/hdl_x"})).await.error();
    for stranger in [setup.plain(2), setup.plain(2).at_all()] {
        let foreign = stranger.ask("resources/read", json!({"uri": uri})).await.error();
        assert_eq!(foreign, unknown, "nothing tells them apart");
    }
    let id = row(&setup).await.id;
    let reason = Some("it names a customer".to_owned());
    setup.engine.release(id, person("ada"), None, reason).await.expect("withheld after all");
    assert_eq!(agent.ask("resources/read", json!({"uri": uri})).await.error(), unknown, "nor a withheld one");
    let call = json!({"name": "tasks_result", "arguments": {"task": id.to_string(), "offset": 0}});
    let refused = agent.ask("tools/call", call).await.result();
    assert_eq!(refused["isError"], false, "a person decided that: {refused}");
    let said = refused["content"][0]["text"].as_str().expect("a text");
    assert!(said.contains("withheld") && said.contains("it names a customer"), "the person's reason: {said}");
    assert!(!said.contains("bees"), "and nothing else: {said}");
}

#[tokio::test(start_paused = true)]
async fn ranges_out_of_bounds_are_empty_and_wrong_ones_are_refused() {
    let setup = GatewaySetup::new().await;
    setup.replies("huge", Duration::ZERO, &result(&report()));
    limited(&setup, "huge", 20_000, LimitAction::Hold).await;
    let agent = setup.modern(1);
    let uri = link(&agent.call("huge").await.result());
    let of = report().chars().count();
    let past = read(&agent, &format!("{uri}?offset={}", of + 7)).await;
    let place = json!({"offset": of, "next": null, "of": of});
    assert_eq!(past["contents"][0]["text"], "");
    assert_eq!(past["contents"][0]["_meta"]["io.taskwarden/slice"], place, "it says where the end is");
    let one = read(&agent, &format!("{uri}?tokens=0")).await;
    assert_eq!(one["contents"][0]["text"], "0", "a slice is never empty before the end");
    let most = read(&agent, &format!("{uri}?tokens=999999999")).await;
    assert!(most["contents"][0]["text"].as_str().is_some_and(|text| text.len() <= 8_000), "nor larger than allowed");
    let wrong = agent.ask("resources/read", json!({"uri": format!("{uri}?offset=-1")})).await.error();
    assert_eq!(wrong["code"], -32_602, "{wrong}");
    let beside = json!({"uri": uri, "_meta": {"io.taskwarden/range": {"offset": 3, "tokens": 4}}});
    let part = agent.ask("resources/read", beside).await.result();
    assert_eq!(part["contents"][0]["text"], "bees", "a range may stand beside the URI");
    assert_eq!((&part["ttlMs"], &part["cacheScope"]), (&json!(0), &json!("private")), "as this era has it: {part}");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_knows_no_links_is_told_in_words() {
    let setup = GatewaySetup::new().await;
    for _ in 0..3 {
        setup.replies("huge", Duration::ZERO, &result(&report()));
    }
    limited(&setup, "huge", 20_000, LimitAction::Hold).await;
    let old = setup.legacy(1, "2025-03-26", &json!({})).call("huge").await.result();
    assert_eq!(old["content"].as_array().map(Vec::len), Some(1), "a text alone: {old}");
    let said = old["content"][0]["text"].as_str().expect("a text");
    assert!(said.contains("taskwarden://results/hdl_") && said.contains("tasks_result"), "with both ways: {said}");
    let newer = setup.legacy(1, "2025-06-18", &json!({})).call("huge").await.result();
    assert_eq!(newer["content"][1]["type"], "resource_link", "{newer}");
    let knows = setup.modern(1).call("huge").await.result();
    let said = knows["content"][0]["text"].as_str().expect("a text");
    assert!(!said.contains("tasks_result"), "who has no task tools is not told of them: {said}");
}

#[tokio::test(start_paused = true)]
async fn results_are_resources_of_every_door() {
    let bare =
        LinkServer::modern(11, json!({"tools": {}}), |_, _| LinkAnswer::Error(r#"{"code":-7,"message":"no"}"#.into()));
    // Some have resources and no templates, and say so this way.
    let without = LinkServer::legacy(12, json!({"resources": {}}), |method, _| match method {
        "resources/list" => LinkAnswer::Result(r#"{"resources":[]}"#.into()),
        _ => LinkAnswer::Error(r#"{"code":-32601,"message":"no such method"}"#.into()),
    });
    for servers in [vec![bare], vec![without]] {
        offers_results(&setup_over(&servers).await).await;
    }
}

async fn offers_results(setup: &GatewaySetup) {
    for version in ["2025-11-25", "2025-03-26"] {
        let hello = setup.legacy(1, version, &json!({})).ask("initialize", json!({})).await.result();
        assert!(hello["capabilities"]["resources"].is_object(), "{hello}");
    }
    let found = setup.modern(1).ask("server/discover", json!({})).await.result();
    assert!(found["capabilities"]["resources"].is_object(), "{found}");
    for agent in [setup.modern(1), setup.modern(1).at_all(), setup.legacy(1, "2025-11-25", &json!({}))] {
        let list = agent.ask("resources/list", json!({})).await.result();
        assert_eq!(list["resources"], json!([]), "the server has none: {list}");
        let templates = agent.ask("resources/templates/list", json!({})).await.result();
        let template = &templates["resourceTemplates"][0]["uriTemplate"];
        assert_eq!(template, "taskwarden://results/{handle}{?offset,tokens}", "{templates}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stop_by_a_limit_is_read_by_the_agent() {
    let setup = GatewaySetup::new().await;
    setup.scripted.on_cancel(OnCancel::Obey);
    setup.scripted.reply_task("long", "upstream-1", vec![PollReply::working()]);
    let (modern, session_client) = (setup.modern(1), SessionClient::new(&setup));
    let id = task_id(&modern.call("long").await.result());
    let waiting = setup.plain(1);
    let call = json!({"name": "tasks_wait", "arguments": {"task": id}});
    let waiting = waiting.ask("tools/call", call);
    tokio::pin!(waiting);
    assert!(tokio::time::timeout(SECOND, &mut waiting).await.is_err(), "it works");
    let why = "61000 tokens, the limit of a task is 60000";
    setup
        .engine
        .cancel(id.parse().expect("an id"), Decider::Limit(domain::rule::LimitKind::Tokens), Some(why.to_owned()))
        .await
        .expect("asked to stop");
    let ended = modern.until_status(&id, "cancelled").await;
    assert!(ended["statusMessage"].as_str().is_some_and(|said| said.contains(why)), "{ended}");
    let told = waiting.await.result();
    assert_eq!(told["content"][0]["text"], ended["statusMessage"], "the same words, as an ordinary result: {told}");
    let legacy = session_client.caller.get(&id).await.result();
    assert_eq!(legacy["status"], "cancelled", "{legacy}");
    assert!(legacy["statusMessage"].as_str().is_some_and(|said| said.contains(why)), "{legacy}");
}

#[tokio::test(start_paused = true)]
async fn an_end_stays_as_it_was_shown_when_its_agent_is_counted_otherwise() {
    let setup = GatewaySetup::new().await;
    let whole = json!({"content": [{"type": "text", "text": report()}]});
    setup.scripted.reply_task(
        "huge",
        "upstream-1",
        vec![PollReply::working(), PollReply::Completed(whole.to_string())],
    );
    limited(&setup, "huge", 20_000, LimitAction::Hold).await;
    let agent = setup.modern(1);
    let id = task_id(&agent.call("huge").await.result());
    let shown = agent.until_status(&id, "completed").await["result"].take();
    setup.engine.flush_budget().await;
    let mut counted = crate::gateway::tests::setup::agent(1);
    counted.meter.family = Some(Family::O200k);
    let unit = AgentUnit { agent: counted, audit: Vec::new(), ended_pause: None };
    setup.registry.put_agent(unit).await.expect("the agent is taken");
    setup.engine.agents_changed().await.expect("the agents are read");
    for _ in 0..2 {
        assert_eq!(agent.get(&id).await.result()["result"], shown, "the same, with the family of that time (69)");
        setup.engine.flush_budget().await;
    }
}
