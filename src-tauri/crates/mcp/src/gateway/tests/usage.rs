//! The tap: everything that passes is seen once, with its source and its task.
//!
//! On a scale of one token a byte, so that sums say which texts were counted.

use std::collections::BTreeMap;
use std::time::Duration;

use domain::budget::waste::Waste;
use domain::budget::window::{TokenFlow, TokenSource};
use domain::ids::AgentId;
use domain::ports::{CallReply, SeriesQuery};
use domain::rule::{LimitAction, TokenLimit};
use domain::task::ResultForm;
use domain::task::status::RpcError;
use domain::time::Timestamp;
use domain::tokens::TaskTokens;
use serde_json::{Value, json};
use testkit::build::person;
use testkit::scripted::PollReply;

use crate::gateway::tests::legacy_setup::{SessionClient, ended, legacy_gateway};
use crate::gateway::tests::scripted_servers::{LinkAnswer, LinkServer, setup_over, setup_with_policy};
use crate::gateway::tests::setup::{AgentClient, GatewaySetup, task_id};

const SECOND: Duration = Duration::from_secs(1);
const DONE: &str = r#"{"content":[{"type":"text","text":"twelve bytes"}],"_meta":{"x":"not shown"}}"#;

/// Bytes from each source in all windows of agent 1.
async fn sums(setup: &GatewaySetup) -> [u64; 6] {
    sums_of(setup, 1).await
}

async fn sums_of(setup: &GatewaySetup, n: u128) -> [u64; 6] {
    setup.engine.flush_budget().await;
    let budgets = setup.engine.budgets();
    let budget = budgets.iter().find(|budget| budget.agent == AgentId::from_random(n));
    let windows: Vec<_> = budget.into_iter().flat_map(|budget| budget.now.iter().chain(&budget.beside)).collect();
    TokenSource::ALL.map(|source| windows.iter().map(|window| window.of(source).tokens).sum())
}

/// What a task object weighs.
fn task_bytes(task: &Value) -> u64 {
    let mut shown = task.clone();
    let members = shown.as_object_mut().expect("an object");
    members.retain(|name, _| !["result", "error", "inputRequests", "_meta"].contains(&name.as_str()));
    shown.to_string().len() as u64
}

fn text_bytes(result: &Value) -> u64 {
    result["content"][0]["text"].as_str().expect("a text").len() as u64
}

/// What definitions of tools count, those of `ours` and the others.
fn tool_bytes(list: &Value) -> (u64, u64) {
    let shown = |tool: &Value| {
        let members = ["name", "description", "inputSchema"].into_iter();
        let shown: serde_json::Map<_, _> =
            members.filter_map(|name| Some((name.to_owned(), tool.get(name)?.clone()))).collect();
        Value::Object(shown).to_string().len() as u64
    };
    let (mut theirs, mut ours) = (0, 0);
    for tool in list["tools"].as_array().expect("a list") {
        let is_ours = tool["name"].as_str().is_some_and(|name| name.starts_with("tasks_"));
        *(if is_ours { &mut ours } else { &mut theirs }) += shown(tool);
    }
    (theirs, ours)
}

async fn tokens(setup: &GatewaySetup, id: &str) -> TaskTokens {
    setup.engine.flush_budget().await;
    let id = id.parse().expect("an id");
    let handle = setup.registry.handle(id).await.expect("readable").expect("a task");
    handle.tokens.expect("it was counted")
}

fn all_of_agent_1() -> SeriesQuery {
    let agent = Some(AgentId::from_random(1));
    SeriesQuery { agent, from: Timestamp::EPOCH, to: Timestamp::from_millis(i64::MAX) }
}

/// What agent 1 spent.
async fn spent(setup: &GatewaySetup) -> u64 {
    setup.engine.flush_budget().await;
    let rows = setup.registry.spend(all_of_agent_1()).await.expect("readable");
    rows.into_iter().filter(|row| row.flow != TokenFlow::KeptOut).map(|row| row.tokens).sum()
}

/// What agent 1 wasted, by how often.
async fn wasted(setup: &GatewaySetup) -> BTreeMap<Waste, u64> {
    setup.engine.flush_budget().await;
    let mut counts = BTreeMap::new();
    for row in setup.registry.waste(all_of_agent_1()).await.expect("readable") {
        *counts.entry(row.waste).or_default() += row.count;
    }
    counts
}

async fn tool(agent: &AgentClient, name: &str, arguments: Value) -> Value {
    agent.ask("tools/call", json!({"name": name, "arguments": arguments})).await.result()
}

#[tokio::test(start_paused = true)]
async fn a_quick_call_is_its_name_its_arguments_and_its_result() {
    let setup = GatewaySetup::new().await;
    for _ in 0..2 {
        setup.replies("quick", Duration::ZERO, DONE);
        setup.modern(1).ask_raw("tools/call", r#"{"arguments":{"a":1},"name":"quick"}"#).await.result();
    }
    assert_eq!(sums(&setup).await, [0, 0, 2 * (5 + 7), 2 * 12, 0, 0], "each call as often as it was made");
    assert_eq!(sums_of(&setup, 2).await, [0; 6], "and nobody else's");
}

#[tokio::test(start_paused = true)]
async fn an_error_is_its_message_whoever_says_it() {
    let setup = GatewaySetup::new().await;
    let error = r#"{"code":-7,"message":"broken","data":{"long":"not shown"}}"#;
    let reply = CallReply::Error {
        error: RpcError { code: -7, message: "broken".into() },
        payload: domain::task::payload::Payload::new(error),
    };
    setup.scripted.reply("bad", Duration::ZERO, Ok(reply));
    setup.modern(1).call("bad").await.error();
    assert_eq!(sums(&setup).await, [0, 0, 3 + 2, 6, 0, 0], "the server's");
    let unknown = setup.modern(1).ask("tasks/get", json!({"taskId": "hdl_none"})).await.error();
    let ours = unknown["message"].as_str().expect("a text").len() as u64;
    assert_eq!(sums(&setup).await, [0, 0, 5, 6 + ours, 0, 0], "and ours");
}

#[tokio::test(start_paused = true)]
async fn a_task_is_its_handle_its_looks_and_its_result() {
    let setup = GatewaySetup::new().await;
    setup.scripted.reply_task("long", "upstream-1", vec![PollReply::working(), PollReply::Completed(DONE.into())]);
    let agent = setup.modern(1);
    let created = agent.call("long").await.result();
    let id = task_id(&created);
    let mut handles = task_bytes(&created);
    loop {
        let read = agent.get(&id).await.result();
        handles += task_bytes(&read);
        if read["status"] == "completed" {
            break;
        }
        tokio::time::sleep(SECOND).await;
    }
    assert_eq!(sums(&setup).await, [0, 0, 4 + 2, 12, handles, 0], "the handle and the looks apart from the result");
    let counted = tokens(&setup, &id).await;
    assert_eq!((counted.arguments, counted.result, counted.delivered), (6, Some(12), 12), "{counted:?}");
    assert_eq!(counted.handle, handles, "{counted:?}");
    let again = agent.get(&id).await.result();
    assert_eq!(sums(&setup).await[3], 24, "read twice, it is there twice");
    assert_eq!(tokens(&setup, &id).await.delivered, 24);
    assert_eq!(sums(&setup).await[4], handles + task_bytes(&again));
}

#[tokio::test(start_paused = true)]
async fn a_result_that_was_pushed_and_then_fetched_came_once() {
    let setup = GatewaySetup::new().await;
    setup.scripted.reply_task("long", "upstream-1", vec![PollReply::working(), PollReply::Completed(DONE.into())]);
    let agent = setup.modern(1);
    let created = agent.call("long").await.result();
    let id = task_id(&created);
    let mut handles = task_bytes(&created);
    let mut stream = agent.listen("subscriptions/listen", json!({"notifications": {"taskIds": [id]}}));
    stream.next().await;
    loop {
        let pushed = stream.next().await["params"].take();
        handles += task_bytes(&pushed);
        if pushed["status"] == "completed" {
            break;
        }
    }
    assert_eq!(sums(&setup).await[3], 12, "the push brought it");
    let read = agent.get(&id).await.result();
    handles += task_bytes(&read);
    assert_eq!(sums(&setup).await, [0, 0, 6, 12, handles, 0], "and the look after it did not bring it again");
    agent.get(&id).await.result();
    assert_eq!(sums(&setup).await[3], 24, "another one does");
}

#[tokio::test(start_paused = true)]
async fn a_result_that_was_pushed_short_and_then_let_through_whole_is_read() {
    let setup = GatewaySetup::new().await;
    let whole = "0123456789".repeat(300);
    let done = json!({"content": [{"type": "text", "text": whole}]}).to_string();
    setup.scripted.reply_task("long", "upstream-1", vec![PollReply::working(), PollReply::Completed(done)]);
    setup.rule("long", |rule| rule.result_limit = Some(TokenLimit { tokens: 2_000, at: LimitAction::Hold })).await;
    let agent = setup.modern(1);
    let id = task_id(&agent.call("long").await.result());
    let mut stream = agent.listen("subscriptions/listen", json!({"notifications": {"taskIds": [id]}}));
    stream.next().await;
    while stream.next().await["params"]["status"] != "completed" {}
    assert_eq!(sums(&setup).await[3], 0, "the push brought the short one");
    let handle = id.parse().expect("an id");
    setup.engine.release(handle, person("ada"), Some(ResultForm::Whole), None).await.expect("let through");
    assert_eq!(text_bytes(&agent.get(&id).await.result()["result"]), 3_000, "it comes whole");
    assert_eq!(sums(&setup).await[3], 3_000, "and is in the window");
    assert_eq!(tokens(&setup, &id).await.delivered, 3_000, "and read");
    assert_eq!(wasted(&setup).await.get(&Waste::EmptyPoll), None, "that look brought something");
}

#[tokio::test(start_paused = true)]
async fn looks_at_the_list_that_bring_nothing_are_waste_of_the_server_behind_the_door() {
    let setup = GatewaySetup::new().await;
    let agent = setup.plain(1);
    setup.replies("slow", 600 * SECOND, DONE);
    agent.call("slow").await.result();
    for _ in 0..3 {
        tool(&agent, "tasks_list", json!({})).await;
    }
    let looks = BTreeMap::from([(Waste::Look, 3), (Waste::EmptyPoll, 2), (Waste::HastyPoll, 2)]);
    assert_eq!(wasted(&setup).await, looks, "the first one brought something");
    for _ in 0..2 {
        tool(&agent.clone().at_all(), "tasks_list", json!({})).await;
    }
    assert_eq!(wasted(&setup).await, looks, "of all servers together it is no server's");
}

#[tokio::test(start_paused = true)]
async fn a_list_of_tasks_in_pages_is_looked_at_once() {
    let mut policy = domain::policy::Policy::default();
    policy.gateway.tasks_per_page = 1;
    let setup = GatewaySetup::with(policy, |_| {}).await;
    let session_client = SessionClient::new(&setup);
    for upstream in ["upstream-1", "upstream-2"] {
        setup.scripted.reply_task("long", upstream, vec![PollReply::working()]);
        session_client.task("long").await;
    }
    for turn in 1..=2 {
        let first = session_client.caller.ask("tasks/list", json!({})).await.result();
        let second = session_client.caller.ask("tasks/list", json!({"cursor": first["nextCursor"]})).await.result();
        assert_eq!(second["tasks"].as_array().map(Vec::len), Some(1), "{second}");
        let wasted = wasted(&setup).await;
        let of = |waste| wasted.get(&waste).copied().unwrap_or(0);
        assert_eq!((of(Waste::Look), of(Waste::HastyPoll)), (turn, turn - 1), "its first page is the look");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_was_given_up_was_written_all_the_same() {
    let setup = GatewaySetup::new().await;
    setup.replies("slow", 60 * SECOND, DONE);
    let call = json!({"name": "slow", "arguments": {}});
    setup.plain(1).give_up("tools/call", call, SECOND, Some(crate::server::CancelReason::Cancelled)).await;
    assert_eq!(sums(&setup).await, [0, 0, 4 + 2, 0, 0, 0], "its arguments, and no answer");
}

#[tokio::test(start_paused = true)]
async fn the_task_tools_are_calls_and_what_they_say_is_of_the_handle_until_they_bring_the_result() {
    let setup = GatewaySetup::new().await;
    let agent = setup.plain(1);
    setup.replies("slow", 60 * SECOND, DONE);
    let note = agent.call("slow").await.result();
    let mut handles = text_bytes(&note);
    let text = note["content"][0]["text"].as_str().expect("a text");
    let named = &text[text.find("hdl_").expect("a handle")..];
    let short: String = named.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
    let mut others = 0;
    let mut arguments = 4 + 2;
    for (name, input) in [
        ("tasks_wait", json!({"task": short, "seconds": 1})),
        ("tasks_result", json!({"task": short})),
        ("tasks_list", json!({})),
        ("tasks_wait", json!({"task": "hdl_unknown"})),
    ] {
        let said = tool(&agent, name, input.clone()).await;
        assert_eq!(said["_meta"]["io.taskwarden/brings"], false, "nothing of a result is in `{name}`: {said}");
        handles += text_bytes(&said);
        others += if input["task"] == short.as_str() { 0 } else { text_bytes(&said) };
        arguments += name.len() as u64 + input.to_string().len() as u64;
    }
    assert_eq!(sums(&setup).await, [0, 0, arguments, 0, handles, 0], "notes are of the handle");
    tokio::time::sleep(60 * SECOND).await;
    let waited = json!({"task": short});
    assert_eq!(tool(&agent, "tasks_wait", waited.clone()).await["content"][0]["text"], "twelve bytes");
    tool(&agent, "tasks_result", waited.clone()).await;
    arguments += 2 * waited.to_string().len() as u64 + "tasks_wait".len() as u64 + "tasks_result".len() as u64;
    assert_eq!(sums(&setup).await, [0, 0, arguments, 24, handles, 0], "and then they bring the result");
    let row = setup.rows(1).await.into_iter().next().expect("a row");
    let counted = tokens(&setup, &row.id.to_string()).await;
    assert_eq!(counted.arguments, 6, "the tools' own calls are none of the task's: {counted:?}");
    assert_eq!((counted.delivered, counted.handle), (24, handles - others), "all that was said of it: {counted:?}");
}

/// One server with two tools, in pages where it is asked for them.
fn server(paged: bool) -> std::sync::Arc<LinkServer> {
    let capabilities = json!({"tools": {}, "prompts": {}, "resources": {}});
    LinkServer::modern(11, capabilities, move |method, params| {
        match method {
        "tools/list" if paged && !params.contains("cursor") => LinkAnswer::Result(
            r#"{"resultType":"complete","tools":[{"name":"dig","description":"Digs.","title":"not shown","inputSchema":{"type":"object"}}],"nextCursor":"2"}"#.into(),
        ),
        "tools/list" if paged => {
            LinkAnswer::Result(r#"{"resultType":"complete","tools":[{"name":"zap","inputSchema":{"type":"object"}}]}"#.into())
        }
        "tools/list" => LinkAnswer::Result(
            r#"{"resultType":"complete","tools":[{"name":"dig","description":"Digs.","inputSchema":{"type":"object"}},{"name":"zap","inputSchema":{"type":"object"}}]}"#.into(),
        ),
        "prompts/get" => LinkAnswer::Result(
            r#"{"resultType":"complete","description":"not shown","messages":[{"role":"user","content":{"type":"text","text":"Say it."}}]}"#.into(),
        ),
        "resources/read" => {
            LinkAnswer::Result(r#"{"resultType":"complete","contents":[{"uri":"x:1","text":"a text"}]}"#.into())
        }
        _ => LinkAnswer::Error(r#"{"code":-32601,"message":"no such method"}"#.into()),
    }
    })
}

#[tokio::test(start_paused = true)]
async fn tools_are_in_the_window_once_theirs_and_ours_apart_behind_every_door() {
    let setup = setup_over(&[server(false)]).await;
    let agent = setup.plain(1);
    let list = agent.ask("tools/list", json!({})).await.result();
    agent.ask("tools/list", json!({})).await.result();
    let (theirs, ours) = tool_bytes(&list);
    assert!(theirs > 0 && ours > 0, "both are there: {list}");
    assert_eq!(sums(&setup).await, [theirs, ours, 0, 0, 0, 0], "as the agent got them, once");
    let all = agent.at_all().ask("tools/list", json!({})).await.result();
    let (more, ours_again) = tool_bytes(&all);
    assert_eq!(more, theirs + 2 * "one__".len() as u64, "with the names of this door");
    assert_eq!(sums(&setup).await, [theirs + more, ours + ours_again, 0, 0, 0, 0], "a shelf for each door");
}

#[tokio::test(start_paused = true)]
async fn a_list_in_pages_is_one_list() {
    let setup = setup_over(&[server(true)]).await;
    let agent = setup.plain(1);
    let first = agent.ask("tools/list", json!({})).await.result();
    let (one, none) = tool_bytes(&first);
    assert_eq!(sums(&setup).await, [one, none, 0, 0, 0, 0], "a client may stop here");
    let second = agent.ask("tools/list", json!({"cursor": "2"})).await.result();
    let (two, ours) = tool_bytes(&second);
    assert!(two > 0 && ours > 0, "ours stand at the end: {second}");
    assert_eq!(sums(&setup).await, [one + two, ours, 0, 0, 0, 0], "both pages together");
    for page in [json!({}), json!({"cursor": "2"})] {
        agent.ask("tools/list", page).await.result();
        assert_eq!(sums(&setup).await, [one + two, ours, 0, 0, 0, 0], "read again, all of it still stands there");
    }
    assert_eq!(spent(&setup).await, one + two + ours, "and it was spent once");
    // On the door to all servers pages are the gateway's.
    let mut policy = domain::policy::Policy::default();
    policy.gateway.merged_page_bytes = 1;
    let setup = setup_with_policy(policy, &[server(false)]).await;
    let agent = setup.plain(1).at_all();
    let (mut sum, mut cursor) = ((0, 0), json!({}));
    loop {
        let page = agent.ask("tools/list", cursor).await.result();
        let (theirs, ours) = tool_bytes(&page);
        sum = (sum.0 + theirs, sum.1 + ours);
        match page["nextCursor"].as_str() {
            Some(next) => cursor = json!({"cursor": next}),
            None => break,
        }
    }
    assert_eq!(sums(&setup).await, [sum.0, sum.1, 0, 0, 0, 0], "the same");
}

#[tokio::test(start_paused = true)]
async fn prompts_and_resources_are_their_texts() {
    let setup = setup_over(&[server(false)]).await;
    for agent in [setup.modern(1), setup.modern(1).at_all()] {
        let name = if agent.is_at_all() { "one__hello" } else { "hello" };
        agent.ask("prompts/get", json!({"name": name})).await.result();
        agent.ask("resources/read", json!({"uri": "x:1"})).await.result();
    }
    assert_eq!(sums(&setup).await, [0, 0, 0, 0, 0, 2 * (7 + 6)]);
    setup.modern(1).ask("completion/complete", json!({"ref": {"type": "ref/prompt", "name": "x"}})).await.error();
    assert_eq!(sums(&setup).await, [0, 0, 0, 0, 0, 26], "what only programs see does not count");
}

#[tokio::test(start_paused = true)]
async fn an_older_client_with_tasks_is_seen_the_same_way() {
    let setup = legacy_gateway().await;
    let session_client = SessionClient::new(&setup);
    setup.scripted.reply_task("long", "upstream-1", vec![PollReply::working(), PollReply::Completed(DONE.into())]);
    let call = json!({"name": "long", "arguments": {}, "task": {}});
    let created = session_client.caller.ask("tools/call", call).await.result();
    let id = created["task"]["taskId"].as_str().expect("an id").to_owned();
    let read = session_client.caller.get(&id).await.result();
    let handles = task_bytes(&created["task"]) + task_bytes(&read);
    let result = ended(&session_client.awaits(&id)).await.expect("a result");
    assert_eq!(text_bytes(&result), 12);
    assert_eq!(sums(&setup).await, [0, 0, 4 + 2, 12, handles, 0], "a nested handle, a look, a result");
    let list = session_client.caller.ask("tasks/list", json!({})).await;
    let list = list.raw().len() as u64;
    assert_eq!(sums(&setup).await[4], handles + list, "a list is a look");
}

#[tokio::test(start_paused = true)]
async fn a_session_that_begins_anew_has_an_empty_window() {
    let one = LinkServer::legacy(11, json!({"tools": {}}), |_, _| LinkAnswer::Result(DONE.into()));
    let setup = setup_over(&[one]).await;
    tokio::time::sleep(2 * setup.policy.counting.comes_back_within).await;
    let agent = setup.legacy(1, "2025-11-25", &json!({}));
    agent.ask("initialize", json!({})).await.result();
    agent.call("quick").await.result();
    assert_eq!(sums(&setup).await[3], 12);
    let now = |setup: &GatewaySetup| {
        let budgets = setup.engine.budgets();
        budgets[0].now.as_ref().map(|window| window.of(TokenSource::Results).tokens)
    };
    assert_eq!(now(&setup), Some(12));
    let other = setup.legacy_named("session-other", 1, "2025-11-25");
    other.ask("initialize", json!({})).await.result();
    setup.engine.flush_budget().await;
    assert_eq!(now(&setup), Some(0), "another conversation");
}

#[tokio::test(start_paused = true)]
async fn a_short_result_is_of_the_handle_and_slices_are_of_the_result() {
    let setup = GatewaySetup::new().await;
    let whole = "0123456789".repeat(100);
    setup.replies("huge", SECOND, &json!({"content": [{"type": "text", "text": whole}]}).to_string());
    setup.rule("huge", |rule| rule.hold_results = Some(true)).await;
    let agent = setup.plain(1);
    let calling = agent.call("huge");
    tokio::pin!(calling);
    assert!(tokio::time::timeout(5 * SECOND, &mut calling).await.is_err(), "a person looks at it first");
    let row = setup.rows(1).await.into_iter().next().expect("a row");
    setup.engine.release(row.id, person("ada"), Some(ResultForm::Slices), None).await.expect("released in slices");
    let short = calling.await.result();
    let mut handles = text_bytes(&short);
    handles += short["content"][1].to_string().len() as u64;
    assert_eq!(sums(&setup).await, [0, 0, 6, 0, handles, 0], "nothing of the result counts as read");
    let uri = format!("{}?offset=990", short["content"][1]["uri"].as_str().expect("a link"));
    let read = agent.ask("resources/read", json!({"uri": uri})).await.result();
    assert_eq!(read["contents"][0]["text"], "0123456789");
    assert_eq!(sums(&setup).await, [0, 0, 6, 10, handles, 0], "ten of it are");
    let counted = tokens(&setup, &row.id.to_string()).await;
    assert_eq!((counted.result, counted.delivered, counted.kept_out() - counted.interim), (Some(1_000), 10, 990));
}
