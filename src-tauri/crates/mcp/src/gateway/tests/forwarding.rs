//! What passes through: lists, prompts, resources, subscriptions, and what servers say (statements 54, 59-64).

use std::time::Duration;

use domain::policy::Policy;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::gateway::tests::scripted_servers::{LinkAnswer, LinkServer, setup_over, setup_with_policy};
use crate::gateway::tests::setup::{AgentClient, GatewaySetup, LIMIT};
use crate::server::Service;
use crate::server::response_stream::{StreamMessage, StreamWriter};
use crate::wire::message::{Answer, Id};

fn tools(names: &[&str]) -> String {
    let tools: Vec<String> = names
        .iter()
        .map(|name| format!(r#"{{"vendor":1.0,"name":"{name}","inputSchema":{{"type":"object"}}}}"#))
        .collect();
    format!(r#"{{"resultType":"complete","tools":[{}],"ttlMs":60000,"cacheScope":"public"}}"#, tools.join(","))
}

fn everything() -> Value {
    json!({"tools": {"listChanged": true}, "prompts": {}, "resources": {"subscribe": true}, "logging": {}, "completions": {}})
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array().expect("a list").iter().map(|entry| entry["name"].as_str().expect("a name")).collect()
}

/// Two servers that both have a tool `dig` and a resource `x:1`.
fn servers() -> (std::sync::Arc<LinkServer>, std::sync::Arc<LinkServer>) {
    let one = LinkServer::modern(11, everything(), |method, params| {
        match method {
        "tools/list" => LinkAnswer::Result(tools(&["dig", "zap", "ask"])),
        "prompts/list" => LinkAnswer::Result(r#"{"resultType":"complete","prompts":[{"name":"hello"}]}"#.into()),
        "prompts/get" if params.contains("requestState") => {
            LinkAnswer::Result(format!(r#"{{"resultType":"complete","messages":[],"echo":{params}}}"#))
        }
        "prompts/get" => LinkAnswer::Result(
            r#"{"resultType":"input_required","requestState":"s-\u0041","inputRequests":{"k":{"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{"n":{"type":"number"}}}}}}}"#.into(),
        ),
        "resources/list" => LinkAnswer::Result(r#"{"resultType":"complete","resources":[{"uri":"x:1","name":"a"},{"uri":"only:one","name":"b"}]}"#.into()),
        "resources/templates/list" => LinkAnswer::Result(r#"{"resultType":"complete","resourceTemplates":[{"uriTemplate":"t:{id}","name":"t"}]}"#.into()),
        "resources/read" => LinkAnswer::Result(format!(r#"{{"resultType":"complete","contents":[{{"uri":"x:1","text":"one"}}],"echo":{params}}}"#)),
        "subscriptions/listen" => LinkAnswer::Hold,
        _ => LinkAnswer::Error(r#"{"code":-32601,"message":"no such method","vendor":1.50}"#.into()),
    }
    });
    let two = LinkServer::legacy(12, everything(), |method, params| match method {
        "tools/list" => LinkAnswer::Result(r#"{"tools":[{"name":"dig","inputSchema":{"type":"object"}}]}"#.into()),
        "resources/list" => LinkAnswer::Result(r#"{"resources":[{"uri":"x:1","name":"c"}]}"#.into()),
        "resources/read" => {
            LinkAnswer::Error(r#"{"code":-32002,"message":"no such resource","data":{"uri":"x:1"}}"#.into())
        }
        "prompts/get" => LinkAnswer::Saying(
            vec![
                ("notifications/progress", r#"{"progressToken":TOKEN,"progress":1,"vendor":2.50}"#.into()),
                ("notifications/message", r#"{"level":"info","data":"on the way"}"#.into()),
            ],
            Box::new(LinkAnswer::Result(format!(r#"{{"messages":[],"echo":{params}}}"#))),
        ),
        "completion/complete" => LinkAnswer::Asking("roots/list", "{}"),
        "resources/subscribe" | "resources/unsubscribe" | "logging/setLevel" => LinkAnswer::Result("{}".into()),
        _ => LinkAnswer::Error(r#"{"code":-32601,"message":"no such method"}"#.into()),
    });
    (one, two)
}

#[tokio::test(start_paused = true)]
async fn behind_the_door_of_one_server_its_list_is_byte_for_byte_its_own() {
    let (one, two) = servers();
    let setup = setup_over(&[one.clone(), two]).await;
    let outcome = setup.modern(1).ask("tools/list", json!({})).await;
    assert_eq!(
        outcome.raw(),
        tools(&["dig", "zap", "ask"]),
        "no prefix, no order of ours, no number spelled anew (60, 61)"
    );
    let error = setup.modern(1).ask("vendor/unknown", json!({"x": 1})).await.error();
    assert_eq!(error, json!({"code": -32601, "message": "no such method", "vendor": 1.50}), "the server's own error");
    let prompts = setup.modern(1).ask("resources/list", json!({})).await.result();
    assert_eq!((&prompts["ttlMs"], &prompts["cacheScope"]), (&json!(0), &json!("private")), "hints where none came");
}

#[tokio::test(start_paused = true)]
async fn on_the_door_to_all_servers_names_are_prefixed_and_find_their_way_back() {
    let (one, two) = servers();
    let setup = setup_over(&[one.clone(), two.clone()]).await;
    let agent = setup.modern(1).at_all();
    let list = agent.ask("tools/list", json!({})).await.result();
    let wanted = ["one__dig", "one__zap", "one__ask", "two__dig"];
    assert_eq!(names(&list["tools"]), wanted, "by server, each in its own order (64)");
    assert_eq!(list["tools"][0]["vendor"].to_string(), "1.0", "entries are as they were");
    assert_eq!((&list["cacheScope"], &list["ttlMs"]), (&json!("private"), &json!(0)), "private, and the shortest (54)");
    let again = agent.ask("tools/list", json!({})).await.result();
    assert_eq!(list, again, "the order is stable");
    let prompts = agent.ask("prompts/list", json!({})).await.result();
    assert_eq!(names(&prompts["prompts"]), ["one__hello"], "a server without prompts adds none");
    agent.ask("prompts/get", json!({"name": "one__hello"})).await.result();
    let asked: Value = serde_json::from_str(&one.times("prompts/get")[0]).expect("JSON");
    assert_eq!(asked["name"], "hello", "the server's own name");
    let unknown = agent.ask("prompts/get", json!({"name": "nobody__hello"})).await.error();
    assert_eq!(unknown["code"], -32602, "a prompt of no server");
    let called = agent.ask("tools/call", json!({"name": "two__dig", "arguments": {}})).await.error();
    assert_eq!(called["message"], "no such method", "a call reached its server");
    assert!(
        two.times("tools/call")[0].contains(r#""name":"dig""#),
        "under its own name: {:?}",
        two.times("tools/call")
    );
    assert!(one.times("tools/call").is_empty(), "and no other");
}

#[tokio::test(start_paused = true)]
async fn a_resource_that_two_servers_list_is_wrapped_and_read_where_it_is() {
    let (one, two) = servers();
    let setup = setup_over(&[one.clone(), two.clone()]).await;
    let agent = setup.modern(1).at_all();
    let list = agent.ask("resources/list", json!({})).await.result();
    let uris: Vec<_> = list["resources"].as_array().expect("a list").iter().map(|entry| &entry["uri"]).collect();
    assert_eq!(uris, ["tw:one/x%3A1", "only:one", "tw:two/x%3A1"], "only what two have is wrapped");
    let read = agent.ask("resources/read", json!({"uri": "tw:one/x%3A1"})).await.result();
    assert_eq!(read["echo"]["uri"], "x:1", "the server's own URI");
    assert_eq!(read["contents"][0]["uri"], "tw:one/x%3A1", "and the agent's in the answer");
    let error = agent.ask("resources/read", json!({"uri": "tw:two/x%3A1"})).await.error();
    assert_eq!(error["code"], -32602, "a code that this era retired is told in its words (protocol.md §2.1)");
    assert_eq!(error["data"]["uri"], "x:1", "the rest is the server's");
    let before = one.times("resources/read").len();
    agent.ask("resources/read", json!({"uri": "t:77"})).await.result();
    assert_eq!(one.times("resources/read").len(), before + 1, "a template tells where an unlisted one is");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_away_is_left_out_and_that_is_said_to_who_wants_to_hear() {
    let (one, two) = servers();
    let setup = setup_over(&[one.clone(), two.clone()]).await;
    two.goes();
    let params = json!({"_meta": {"io.modelcontextprotocol/logLevel": "warning"}});
    let outcome = setup.modern(1).at_all().ask("tools/list", params).await;
    assert_eq!(names(&outcome.result()["tools"]).len(), 3, "those of the other are there");
    assert_eq!(outcome.said.len(), 1, "one message: {:?}", outcome.said);
    assert!(outcome.said[0]["params"]["data"].to_string().contains("two"), "it names the server");
    assert!(setup.modern(1).at_all().ask("tools/list", json!({})).await.said.is_empty(), "nobody else is told");
}

#[tokio::test(start_paused = true)]
async fn a_kept_list_is_read_anew_when_its_server_says_that_it_changed() {
    let (one, two) = servers();
    let setup = setup_over(&[one.clone(), two.clone()]).await;
    let agent = setup.plain(1).at_all();
    let before = two.times("tools/list").len();
    for _ in 0..3 {
        agent.ask("tools/list", json!({})).await.result();
    }
    assert_eq!(two.times("tools/list").len(), before + 1, "kept while the server would tell of a change");
    two.says("notifications/tools/list_changed", "{}").await;
    tokio::time::sleep(Duration::from_millis(1)).await;
    agent.ask("tools/list", json!({})).await.result();
    // Once for the agent, and once to compare it with what a person last saw.
    assert_eq!(two.times("tools/list").len(), before + 3, "read anew");
}

#[tokio::test(start_paused = true)]
async fn progress_and_logs_pass_with_the_agents_own_token_and_unknown_members() {
    let (one, two) = servers();
    let setup = setup_over(&[two.clone(), one]).await;
    let agent = setup.legacy(1, "2025-11-25", &json!({}));
    for token in [json!("mine"), json!(7)] {
        let outcome = agent.ask("prompts/get", json!({"name": "p", "_meta": {"progressToken": token}})).await;
        assert!(!outcome.raw().contains("mine"), "the server was given another token: {}", outcome.raw());
        let said: Vec<_> = outcome.said.iter().map(|said| said["params"].to_string()).collect();
        let progress = json!({"progressToken": token, "progress": 1, "vendor": 2.50}).to_string();
        assert_eq!(
            said,
            [progress, json!({"level": "info", "data": "on the way"}).to_string()],
            "in order, type kept (62)"
        );
    }
    let quiet = agent.ask("prompts/get", json!({"name": "p"})).await;
    assert_eq!(quiet.said.len(), 1, "without a token no progress is told");
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_given_up_is_cancelled_at_its_server() {
    let one = LinkServer::modern(11, everything(), |_, _| LinkAnswer::Hold);
    let setup = setup_over(std::slice::from_ref(&one)).await;
    let patience = Duration::from_secs(1);
    setup.modern(1).give_up("prompts/get", json!({"name": "p"}), patience, None).await;
    setup.until("it is cancelled", |_| one.cancelled.lock().contains(&"prompts/get".to_owned())).await;
}

#[tokio::test(start_paused = true)]
async fn a_question_before_a_prompt_passes_to_modern_agents_with_its_state_byte_for_byte() {
    let (one, two) = servers();
    let setup = setup_over(&[one.clone(), two]).await;
    let agent = setup.modern(1);
    let asked = agent.ask("prompts/get", json!({"name": "hello"})).await;
    assert!(asked.raw().contains(r#""requestState":"s-\u0041""#), "as it was written (63): {}", asked.raw());
    let retry = r#"{"name":"hello","inputResponses":{"k":{"action":"accept","content":{}}},"requestState":"s-\u0041"}"#;
    agent.ask_raw("prompts/get", retry).await.result();
    let sent = one.times("prompts/get").pop().expect("the retry");
    assert!(sent.contains(r#""requestState":"s-\u0041""#), "and back: {sent}");
}

#[tokio::test(start_paused = true)]
async fn a_subscription_tells_what_was_asked_for_under_its_own_id() {
    let (one, two) = servers();
    let setup = setup_over(&[two.clone(), one]).await;
    let filter = json!({"notifications": {
        "toolsListChanged": true, "promptsListChanged": true, "resourceSubscriptions": ["x:1"],
    }});
    let mut stream = setup.modern(1).listen("subscriptions/listen", filter);
    let ack = stream.next().await;
    assert_eq!(ack["method"], "notifications/subscriptions/acknowledged", "the acknowledgement is first");
    let accepted = json!({"toolsListChanged": true, "resourceSubscriptions": ["x:1"]});
    assert_eq!(ack["params"]["notifications"], accepted, "of prompts this server tells no changes");
    assert_eq!(ack["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 1, "the id, in its type (62)");
    two.says("notifications/prompts/list_changed", "{}").await;
    two.says("notifications/resources/updated", r#"{"uri":"x:1","vendor":1.0}"#).await;
    let updated = stream.next().await;
    assert_eq!(updated["method"], "notifications/resources/updated", "what was not asked for is not told");
    assert_eq!(updated["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 1, "tied to the subscription");
    assert_eq!(updated["params"]["vendor"], json!(1.0), "unknown members stay");
    two.says("notifications/tools/list_changed", "{}").await;
    assert_eq!(stream.next().await["method"], "notifications/tools/list_changed");
    drop(stream);
}

#[tokio::test(start_paused = true)]
async fn a_question_during_a_forwarded_request_reaches_the_session_that_sent_it() {
    let (one, two) = servers();
    let setup = setup_over(&[two.clone(), one]).await;
    let agent = setup.modern(1);
    let complete = json!({"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "a", "value": "b"}});
    let answer = agent.ask("completion/complete", complete).await.result();
    assert_eq!(answer["error"], -32601, "a modern agent is not asked in the middle; its server is told so");
}

/// A session with a standing stream, and what is said on it.
async fn standing(setup: &GatewaySetup, agent: &AgentClient) -> mpsc::Receiver<StreamMessage> {
    let (outlet, frames) = StreamWriter::open();
    agent.session().stand(outlet);
    setup.gateway.notification(agent.session(), "notifications/initialized", None).await;
    frames
}

async fn said(frames: &mut mpsc::Receiver<StreamMessage>) -> Value {
    let frame =
        tokio::time::timeout(LIMIT, frames.recv()).await.expect("something is said").expect("the stream is open");
    serde_json::from_slice(&frame.bytes).expect("a frame is JSON")
}

#[tokio::test(start_paused = true)]
async fn a_session_hears_changes_updates_and_logs_of_its_own_connection_alone() {
    let (one, two) = servers();
    let setup = setup_over(&[two.clone(), one]).await;
    let (agent, stranger) = (setup.legacy(1, "2025-11-25", &json!({})), setup.legacy(2, "2025-11-25", &json!({})));
    let mut outcome = standing(&setup, &agent).await;
    let mut foreign = standing(&setup, &stranger).await;
    agent.ask("resources/subscribe", json!({"uri": "x:1"})).await.result();
    setup.until("the agent's line follows it", |_| two.times("resources/subscribe").len() >= 2).await;
    agent.ask("logging/setLevel", json!({"level": "warning"})).await.result();
    for unknown in [json!({"level": "loud"}), json!({"level": 3}), json!({})] {
        let refused = agent.ask("logging/setLevel", unknown).await.error();
        assert_eq!(refused["code"], -32602, "there is no such level: {refused}");
        assert!(
            refused["message"].as_str().is_some_and(|words| words.contains("warning")),
            "they are named: {refused}"
        );
    }
    assert_eq!(two.times("logging/setLevel").len(), 1, "what is refused is not passed on");
    let own = |agent: &AgentClient| Some(agent.agent);
    two.says_to(own(&agent), "notifications/message", r#"{"level":"debug","data":"too quiet"}"#).await;
    two.says_to(own(&agent), "notifications/message", r#"{"level":"error","data":"loud","vendor":1.0}"#).await;
    let log = said(&mut outcome).await;
    assert_eq!(log["params"]["data"], "loud", "what the level lets through: {log}");
    assert_eq!(log["params"]["vendor"].to_string(), "1.0", "raw");
    two.says_to(own(&agent), "notifications/resources/updated", r#"{"uri":"y:2"}"#).await;
    two.says_to(own(&agent), "notifications/resources/updated", r#"{"uri":"x:1/part"}"#).await;
    assert_eq!(said(&mut outcome).await["params"]["uri"], "x:1/part", "only what is followed");
    two.says_to(own(&agent), "notifications/tools/list_changed", "{}").await;
    assert_eq!(said(&mut outcome).await["method"], "notifications/tools/list_changed", "changes of lists");
    tokio::time::sleep(Duration::from_millis(10)).await;
    assert!(foreign.try_recv().is_err(), "nothing of it reaches another agent (ruling 14)");
    agent.ask("resources/unsubscribe", json!({"uri": "x:1"})).await.result();
    setup.until("the server is told", |_| two.times("resources/unsubscribe").len() == 1).await;
    let params = two.times("resources/unsubscribe");
    assert_eq!(params, [r#"{"uri":"x:1"}"#], "under its own URI");
}

#[tokio::test(start_paused = true)]
async fn a_session_gets_what_a_modern_server_asks_by_a_result_as_a_question() {
    let (one, _) = servers();
    let setup = setup_over(std::slice::from_ref(&one)).await;
    let agent = setup.legacy(1, "2025-11-25", &json!({"elicitation": {}}));
    let (caller, session) = (agent.clone(), agent.session().clone());
    let mut stream = caller.listen("prompts/get", json!({"name": "hello", "vendor": 1.0}));
    let asked = stream.next().await;
    assert_eq!(asked["method"], "elicitation/create", "the question comes on the request's stream");
    assert_eq!(asked["params"]["message"], "Who?", "as the server put it");
    let reply = RawValue::from_string(r#"{"action":"accept","content":{"n":1.50}}"#.to_owned()).expect("JSON");
    let id = Id::read(&asked["id"].to_string(), 64).expect("an id");
    session.asks().deliver(&id, Answer::Result(reply));
    setup.until("the server is asked again", |_| one.times("prompts/get").len() == 2).await;
    let again = one.times("prompts/get").pop().expect("the second round");
    assert!(again.contains(r#""k":{"action":"accept","content":{"n":1.50}}"#), "the answer as it was: {again}");
    assert!(
        again.contains(r#""requestState":"s-\u0041""#) && again.contains(r#""vendor":1.0"#),
        "and the rest: {again}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_merged_list_that_is_too_long_goes_on_behind_a_cursor() {
    let mut policy = Policy::default();
    policy.gateway.merged_page_bytes = 120;
    let (one, two) = servers();
    let setup = setup_with_policy(policy, &[one, two]).await;
    let agent = setup.modern(1).at_all();
    let (mut all, mut params, mut pages) = (Vec::new(), json!({}), 0);
    loop {
        let page = agent.ask("tools/list", params).await.result();
        all.extend(names(&page["tools"]).into_iter().map(str::to_owned));
        pages += 1;
        let Some(next) = page["nextCursor"].as_str() else { break };
        params = json!({ "cursor": next });
    }
    assert!(pages > 1, "it has {pages} pages");
    assert_eq!(all, ["one__dig", "one__zap", "one__ask", "two__dig"], "each tool once, in order");
    let bad = agent.ask("tools/list", json!({"cursor": "bm9uZQ"})).await.error();
    assert_eq!(bad["code"], -32602, "a cursor that is none");
}

#[tokio::test(start_paused = true)]
async fn no_identity_of_a_server_is_in_what_an_agent_reads() {
    const CANARY: &str = "canary-7f3a";
    let related = format!(
        r#"{{"io.modelcontextprotocol/related-task":{{"taskId":"{CANARY}"}},"io.modelcontextprotocol/serverInfo":{{"name":"{CANARY}"}},"io.modelcontextprotocol/subscriptionId":"{CANARY}"}}"#
    );
    let answer = related.clone();
    let one = LinkServer::modern(11, everything(), move |method, _| match method {
        "prompts/get" => LinkAnswer::Saying(
            vec![
                ("notifications/progress", format!(r#"{{"progressToken":TOKEN,"progress":1,"_meta":{related}}}"#)),
                ("notifications/message", format!(r#"{{"level":"info","data":1,"_meta":{related}}}"#)),
            ],
            Box::new(LinkAnswer::Result(format!(r#"{{"resultType":"complete","messages":[],"_meta":{answer}}}"#))),
        ),
        _ => LinkAnswer::Result(format!(r#"{{"resultType":"complete","tools":[],"content":[],"_meta":{answer}}}"#)),
    });
    let setup = setup_over(&[one]).await;
    let agent = setup.modern(1);
    for (method, params) in [
        ("prompts/get", json!({"name": "p", "_meta": {"progressToken": 1}})),
        ("tools/list", json!({})),
        ("resources/read", json!({"uri": "x:1"})),
        ("tools/call", json!({"name": "dig", "arguments": {}})),
    ] {
        let outcome = agent.ask(method, params).await;
        assert!(!outcome.raw().contains(CANARY), "{method} lets an identity through (59): {}", outcome.raw());
        let said = serde_json::to_string(&outcome.said).expect("JSON");
        assert!(!said.contains(CANARY), "{method}, on the way: {said}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_agent_of_all_servers_is_told_when_there_are_others() {
    let (one, two) = servers();
    let setup = setup_over(&[one, two.clone()]).await;
    let agent = setup.modern(1).at_all();
    let mut stream = agent.listen("subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}));
    let ack = stream.next().await;
    assert_eq!(ack["params"]["notifications"]["toolsListChanged"], true, "the merged list is ours to tell of: {ack}");
    setup.engine.server_removed(two.id).await.expect("it is not followed any more");
    assert_eq!(stream.next().await["method"], "notifications/tools/list_changed", "its tools are gone");
    let list = agent.ask("tools/list", json!({})).await.result();
    assert_eq!(names(&list["tools"]), ["one__dig", "one__zap", "one__ask"], "those of the other stay");
}

#[tokio::test(start_paused = true)]
async fn what_a_server_logs_on_the_way_is_kept_out_of_the_window() {
    const LOG: &str = r#"{"level":"info","data":"dug ten of a hundred"}"#;
    let one = LinkServer::modern(11, everything(), |method, _| match method {
        "tools/list" => LinkAnswer::Result(tools(&["dig"])),
        _ => {
            let logs = LinkAnswer::Saying(vec![("notifications/message", LOG.into())], Box::new(LinkAnswer::Hold));
            LinkAnswer::After(Duration::from_secs(10), Box::new(logs))
        }
    });
    let setup = setup_over(&[one]).await;
    let held = tokio::time::timeout(Duration::from_secs(15), setup.plain(1).call("dig")).await;
    assert!(held.is_err(), "the call is held");
    setup.engine.flush_budget().await;
    let row = setup.rows(1).await.into_iter().next().expect("the call is a task");
    let said = row.tokens.map(|tokens| tokens.interim);
    assert_eq!(said, Some(LOG.len() as u64), "its client was told, and its model reads no log");
}
