//! Which tools agents are offered by name, and that a call reaches the tool that was listed (decision 0046).

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::scripted_servers::{LinkAnswer, LinkServer, setup_over};
use super::setup::AgentClient;

/// A server that lists these tools, each with its place as its description, and answers every call.
fn lists(n: u128, names: &'static [&'static str]) -> Arc<LinkServer> {
    LinkServer::modern(n, json!({"tools": {}}), move |method, _| match method {
        "tools/list" => LinkAnswer::Result(page(names, 0, None)),
        "tools/call" => LinkAnswer::Result(json!({"resultType": "complete", "content": []}).to_string()),
        _ => LinkAnswer::Error(r#"{"code":-32601,"message":"no such method"}"#.into()),
    })
}

fn page(names: &[&str], first: usize, next: Option<&str>) -> String {
    let tool = |(at, name): (usize, &&str)| json!({"name": name, "description": (first + at).to_string(), "inputSchema": {"type": "object"}});
    let tools: Vec<Value> = names.iter().enumerate().map(tool).collect();
    let mut page = json!({"resultType": "complete", "tools": tools});
    if let Some(next) = next {
        page["nextCursor"] = next.into();
    }
    page.to_string()
}

/// Names and descriptions of the servers' tools as an agent reads them, without our own four at their own names.
async fn offered(agent: &AgentClient, params: Value) -> Vec<(String, String)> {
    let list = agent.ask("tools/list", params).await.result();
    let word = |tool: &Value, member: &str| tool[member].as_str().expect("text").to_owned();
    let tools = list["tools"].as_array().expect("a list").iter();
    let is_own = |tool: &&Value| tool["title"].is_string();
    tools.filter(|tool| !is_own(tool)).map(|tool| (word(tool, "name"), word(tool, "description"))).collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(name, place)| ((*name).to_owned(), (*place).to_owned())).collect()
}

/// The names under which the server was called.
fn called(server: &LinkServer) -> Vec<String> {
    let name = |params: &String| {
        let params: Value = serde_json::from_str(params).expect("JSON");
        params["name"].as_str().expect("a name").to_owned()
    };
    server.times("tools/call").iter().map(name).collect()
}

const ODD: &[&str] = &[
    "add",
    "line\nbreak",
    "right\u{202e}left",
    "zero\u{200b}width",
    "",
    "a b",
    "add",
    "ADD",
    "a.b-c_d",
    "\u{e9}t\u{e9}",
    "a/b",
];

#[tokio::test(start_paused = true)]
async fn tools_with_invalid_names_and_second_tools_of_one_name_are_not_offered() {
    let server = lists(11, ODD);
    let setup = setup_over(&[Arc::clone(&server)]).await;
    for agent in [setup.modern(1), setup.plain(1), setup.legacy(1, "2025-06-18", &json!({}))] {
        let one = offered(&agent, json!({})).await;
        assert_eq!(one, pairs(&[("add", "0"), ("ADD", "7"), ("a.b-c_d", "8")]), "of two with one name the first");
        let all = offered(&agent.clone().at_all(), json!({})).await;
        assert_eq!(all, pairs(&[("one__add", "0"), ("one__ADD", "7"), ("one__a.b-c_d", "8")]));
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_is_not_offered_cannot_be_called_by_its_name() {
    let server = lists(11, ODD);
    let setup = setup_over(&[Arc::clone(&server)]).await;
    let too_long = "x".repeat(129);
    for name in ["line\nbreak", "right\u{202e}left", "zero\u{200b}width", "", "a/b", &too_long] {
        for (agent, name) in [(setup.modern(1), name.to_owned()), (setup.modern(1).at_all(), format!("one__{name}"))] {
            let error = agent.ask("tools/call", json!({"name": name, "arguments": {}})).await.error();
            assert_eq!(error["code"], -32602, "{name:?}: {error}");
            let message = error["message"].as_str().expect("a message");
            assert!(!message.contains(['\n', '\u{202e}', '\u{200b}']), "and it is not repeated raw: {message:?}");
        }
    }
    assert_eq!(called(&server), [""; 0], "nothing reached the server");
    setup.modern(1).call("a.b-c_d").await.result();
    assert_eq!(called(&server), ["a.b-c_d"], "what is offered does");
}

#[tokio::test(start_paused = true)]
async fn a_name_of_an_earlier_page_is_not_offered_again_on_a_later_one() {
    let server = LinkServer::modern(11, json!({"tools": {}}), |method, params| match method {
        "tools/list" if params.contains(r#""cursor":"2""#) => {
            LinkAnswer::Result(page(&["add", "sub", "sub"], 10, None))
        }
        "tools/list" => LinkAnswer::Result(page(&["add", "mul"], 0, Some("2"))),
        _ => LinkAnswer::Error(r#"{"code":-32601,"message":"no such method"}"#.into()),
    });
    let setup = setup_over(&[server]).await;
    for reading in 0..2 {
        let first = offered(&setup.modern(1), json!({})).await;
        assert_eq!(first, pairs(&[("add", "0"), ("mul", "1")]), "reading {reading}");
        let second = offered(&setup.modern(1), json!({"cursor": "2"})).await;
        assert_eq!(second, pairs(&[("sub", "11")]), "reading {reading}");
    }
    let all = offered(&setup.modern(1).at_all(), json!({})).await;
    assert_eq!(all, pairs(&[("one__add", "0"), ("one__mul", "1"), ("one__sub", "11")]));
}

#[tokio::test(start_paused = true)]
async fn a_server_cannot_take_the_names_of_our_task_tools() {
    let server = lists(11, &["tasks_wait", "add", "tasks_cancel"]);
    let setup = setup_over(&[Arc::clone(&server)]).await;
    let agent = setup.plain(1);
    let list = agent.ask("tools/list", json!({})).await.result();
    let names: Vec<&str> =
        list["tools"].as_array().expect("a list").iter().map(|tool| tool["name"].as_str().expect("a name")).collect();
    let expected =
        ["one__tasks_wait", "add", "one__tasks_cancel", "tasks_wait", "tasks_result", "tasks_list", "tasks_cancel"];
    assert_eq!(names, expected, "its tools have a prefix, ours follow");
    let ours = agent.ask("tools/call", json!({"name": "tasks_wait", "arguments": {"task": "hdl_none"}})).await.result();
    assert!(ours["content"][0]["text"].as_str().is_some_and(|text| text.contains("no such task")), "{ours}");
    assert_eq!(called(&server), [""; 0], "ours answered");
    agent.call("one__tasks_wait").await.result();
    agent.call("one__tasks_cancel").await.result();
    assert_eq!(called(&server), ["tasks_wait", "tasks_cancel"], "under the prefix, the server's own");
    let all = offered(&agent.clone().at_all(), json!({})).await;
    assert_eq!(all, pairs(&[("one__tasks_wait", "0"), ("one__add", "1"), ("one__tasks_cancel", "2")]), "as everywhere");
    let knows_tasks = offered(&setup.modern(1), json!({})).await;
    let own_names = pairs(&[("tasks_wait", "0"), ("add", "1"), ("tasks_cancel", "2")]);
    assert_eq!(knows_tasks, own_names, "a client that knows tasks has none of ours");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_lists_the_prefixed_name_as_well_is_called_by_the_first_of_both() {
    for (names, description, tool) in [
        (&["one__tasks_wait", "tasks_wait"] as &'static [&'static str], "0", "one__tasks_wait"),
        (&["tasks_wait", "one__tasks_wait"], "0", "tasks_wait"),
    ] {
        let server = lists(11, names);
        let setup = setup_over(&[Arc::clone(&server)]).await;
        let agent = setup.plain(1);
        let listed = offered(&agent, json!({})).await;
        assert_eq!(listed, pairs(&[("one__tasks_wait", description)]), "one of them is offered");
        agent.call("one__tasks_wait").await.result();
        assert_eq!(called(&server), [tool], "and that one is called");
    }
}

#[tokio::test(start_paused = true)]
async fn of_names_that_are_shortened_to_the_same_the_first_is_offered_and_called() {
    // As long as a shortened name, and the same as one.
    let long = format!("{}x", "very_long_".repeat(8));
    let short = crate::gateway::servers::names::prefixed("one", &long);
    let bare = short.strip_prefix("one__").expect("a prefix").to_owned();
    let names: &'static [&'static str] = Box::leak(Box::new([&*bare.leak(), &*long.leak()]));
    let server = lists(11, names);
    let setup = setup_over(&[Arc::clone(&server)]).await;
    let agent = setup.modern(1).at_all();
    assert_eq!(offered(&agent, json!({})).await, pairs(&[(&short, "0")]), "two names are one here");
    agent.call(&short).await.result();
    assert_eq!(called(&server), [names[0]], "the one that was offered");
}

/// A clock of processor time.
fn processor_time(of: rustix::time::ClockId) -> Duration {
    let now = rustix::time::clock_gettime(of);
    let part = |number: i64| u64::try_from(number).expect("it is not negative");
    Duration::from_secs(part(now.tv_sec)) + Duration::from_nanos(part(now.tv_nsec))
}

#[tokio::test(start_paused = true)]
async fn a_list_that_is_very_long_is_worked_on_beside_the_thread_that_answers_agents() {
    let names: Vec<String> = (0..2_000).map(|nth| format!("tool_{nth}")).collect();
    let tool =
        |name: &String| json!({"name": name, "description": "x".repeat(2_000), "inputSchema": {"type": "object"}});
    let tools: Vec<Value> = names.iter().chain(&names).map(tool).collect();
    let long = json!({"resultType": "complete", "tools": tools}).to_string();
    let server = LinkServer::modern(11, json!({"tools": {}}), move |method, _| match method {
        "tools/list" => LinkAnswer::Result(long.clone()),
        _ => LinkAnswer::Error(r#"{"code":-32601,"message":"no such method"}"#.into()),
    });
    let setup = setup_over(&[server]).await;
    for agent in [setup.plain(1), setup.plain(1).at_all()] {
        let clocks = [rustix::time::ClockId::ThreadCPUTime, rustix::time::ClockId::ProcessCPUTime];
        let before = clocks.map(processor_time);
        let listed = agent.ask("tools/list", json!({})).await;
        let [here, everywhere] = clocks.map(processor_time);
        let (here, everywhere) = (here.saturating_sub(before[0]), everywhere.saturating_sub(before[1]));
        assert!(here * 2 < everywhere, "{here:?} of {everywhere:?} on this thread");
        let count = listed.result()["tools"].as_array().map(Vec::len);
        assert!(count.is_some_and(|count| count >= 1_500), "each name once, up to the end of a page: {count:?}");
    }
}
