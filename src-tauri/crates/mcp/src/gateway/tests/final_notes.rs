//! Ends that a person or a rule decided: what a model reads that only called a tool, and what clients that know tasks get.

use std::time::Duration;

use domain::policy::Policy;
use domain::ports::CallError;
use domain::ports::UpstreamError;
use domain::task::status::ServerView;
use serde_json::{Value, json};
use testkit::build::person;
use testkit::scripted::{EngineAction, OnCancel, PollReply};

use crate::gateway::tests::legacy_setup::SessionClient;
use crate::gateway::tests::scripted_servers::{LinkAnswer, LinkServer, setup_over};
use crate::gateway::tests::setup::{AgentClient, GatewaySetup, LIMIT, RequestOutcome, task_id};

const SECOND: Duration = Duration::from_secs(1);

/// The text of an ordinary result.
fn words(outcome: &RequestOutcome) -> String {
    let result = outcome.result();
    assert_eq!(result["isError"], false, "an ordinary result: {result}");
    result["content"][0]["text"].as_str().expect("a text").to_owned()
}

fn is_older(answer: &Value) -> bool {
    let text = answer.to_string();
    !text.contains("resultType") && !text.contains("io.modelcontextprotocol/serverInfo")
}

/// A call of `tool`, and what a person does to its row.
async fn while_it_runs<F: Future<Output = ()>>(
    setup: &GatewaySetup,
    agent: &AgentClient,
    tool: &str,
    act: impl FnOnce(domain::ids::HandleId) -> F,
) -> RequestOutcome {
    let calling = agent.call(tool);
    tokio::pin!(calling);
    assert!(tokio::time::timeout(5 * SECOND, &mut calling).await.is_err(), "it works");
    act(setup.rows(1).await.first().expect("a row").id).await;
    tokio::time::timeout(LIMIT, calling).await.expect("the call is answered")
}

#[tokio::test(start_paused = true)]
async fn a_persons_cancel_of_a_tool_call_is_an_ordinary_result_with_the_reason() {
    // A server that does not answer the notification in this time will not.
    let policy = Policy { cancel_grace: 2 * SECOND, ..Policy::default() };
    let setup = GatewaySetup::with(policy, |_| {}).await;
    for agent in [setup.plain(1), setup.legacy(1, "2025-06-18", &json!({}))] {
        setup.replies("slow", 600 * SECOND, "{}");
        let outcome = while_it_runs(&setup, &agent, "slow", |id| {
            let reason = Some("wrong \"branch\"".to_owned());
            let cancelling = setup.engine.cancel(id, person("ada"), reason);
            async { cancelling.await.expect("it is recorded") }
        });
        let said = words(&outcome.await);
        assert!(said.starts_with("A person cancelled this call in Taskwarden at "), "{said}");
        assert!(said.contains("and said: \"wrong 'branch'\"."), "quoted, so that it ends where it ends: {said}");
        assert!(said.contains("The server was told to stop but does not confirm that"), "as far as is known: {said}");
        assert!(said.ends_with("Do not repeat this call unless the user asks for it."), "{said}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stop_that_the_server_confirms_is_told_as_confirmed_and_to_clients_that_know_tasks_in_their_shape() {
    let setup = GatewaySetup::new().await;
    setup.scripted.on_cancel(OnCancel::Obey);
    setup.scripted.reply_task("long", "upstream-1", vec![PollReply::working()]);
    let (modern, session_client) = (setup.modern(1), SessionClient::new(&setup));
    let id = task_id(&modern.call("long").await.result());
    let wait = json!({"name": "tasks_wait", "arguments": {"task": id}});
    let plain = setup.plain(1);
    let waiting = plain.ask("tools/call", wait);
    tokio::pin!(waiting);
    assert!(tokio::time::timeout(SECOND, &mut waiting).await.is_err(), "it works");
    let reason = Some("too slow".to_owned());
    setup.engine.cancel(id.parse().expect("an id"), person("ada"), reason).await.expect("it is recorded");
    let task = modern.until_status(&id, "cancelled").await;
    let said = words(&waiting.await);
    assert!(said.contains("\"too slow\". The server confirmed that it stopped"), "{said}");
    assert_eq!(task["statusMessage"], said.as_str(), "the same words beside the status: {task}");
    let legacy = session_client.caller.get(&id).await.result();
    assert_eq!((&legacy["status"], &legacy["statusMessage"]), (&json!("cancelled"), &task["statusMessage"]));
}

#[tokio::test(start_paused = true)]
async fn what_the_agent_cancelled_itself_keeps_its_servers_words() {
    let setup = GatewaySetup::new().await;
    setup.scripted.on_cancel(OnCancel::Obey);
    setup.scripted.reply_task("long", "upstream-1", vec![PollReply::working()]);
    let modern = setup.modern(1);
    let id = task_id(&modern.call("long").await.result());
    modern.ask("tasks/cancel", json!({"taskId": id})).await.result();
    let task = modern.until_status(&id, "cancelled").await;
    assert!(!task.to_string().contains("A person"), "nobody else did: {task}");
    let read = setup.plain(1).ask("tools/call", json!({"name": "tasks_result", "arguments": {"task": id}})).await;
    assert!(words(&read).starts_with("You asked at "), "{}", words(&read));
}

#[tokio::test(start_paused = true)]
async fn a_task_that_is_taken_from_its_agent_is_told_to_the_call_and_unknown_to_the_protocol() {
    let setup = GatewaySetup::new().await;
    setup.scripted.reply_task("long", "upstream-1", vec![PollReply::working()]);
    let agent = setup.plain(1);
    let outcome = while_it_runs(&setup, &agent, "long", |id| {
        let revoking = setup.engine.revoke(id, person("ada"), Some("mine now".to_owned()));
        async { revoking.await.expect("it is taken") }
    });
    let said = words(&outcome.await);
    assert!(said.starts_with("A person took this call from you in Taskwarden at "), "{said}");
    assert!(said.contains("and said: \"mine now\"") && said.contains("Its result will not reach you"), "{said}");
    let id = setup.rows(1).await[0].id.to_string();
    for tool in ["tasks_wait", "tasks_result", "tasks_cancel"] {
        for name in [&id[..], &id[..12]] {
            let call = json!({"name": tool, "arguments": {"task": name}});
            assert_eq!(words(&agent.ask("tools/call", call.clone()).await), said, "`{tool}` of {name}");
            let foreign = setup.plain(2).ask("tools/call", call).await.result();
            let told = foreign["content"][0]["text"].as_str().expect("a text");
            assert!(told.starts_with("There is no such task."), "nothing of it is told to others: {told}");
        }
    }
    assert_eq!(setup.modern(1).get(&id).await.error()["code"], -32602, "unknown from then on (ruling 19)");
}

#[tokio::test(start_paused = true)]
async fn every_held_call_of_a_revoked_agent_gets_the_same_words() {
    const CALLS: usize = 12;
    for round in 0..20 {
        let setup = GatewaySetup::new().await;
        for n in 0..CALLS {
            setup.replies("slow", 600 * SECOND, "{}");
            setup.scripted.reply_task("long", &format!("upstream-{n}"), vec![PollReply::working()]);
        }
        let older = setup.legacy(1, "2025-11-25", &json!({}));
        let callers = [setup.plain(1), setup.legacy(1, "2025-06-18", &json!({})), older];
        let calls = (0..CALLS).map(|n| {
            let agent = callers[n % 3].clone();
            let arguments = json!({"name": if n % 2 == 0 { "slow" } else { "long" }, "arguments": {"n": n}});
            async move { agent.ask("tools/call", arguments).await }
        });
        let held = futures::future::join_all(calls);
        tokio::pin!(held);
        // Not always at the same moment of a call.
        let until = Duration::from_millis(20 + 50 * round);
        assert!(tokio::time::timeout(until, &mut held).await.is_err(), "they are held");
        let why = Some("the project is over".to_owned());
        setup.engine.revoke_agent(callers[0].agent, person("ada"), why).await.expect("the agent is out");
        let told = tokio::time::timeout(LIMIT, held).await.expect("every call is answered");
        assert_eq!(told.len(), CALLS);
        for outcome in &told {
            let said = words(outcome);
            assert!(said.starts_with("A person revoked this agent's access to its tools in Taskwarden at "), "{said}");
            assert!(said.contains("and said: \"the project is over\"."), "round {round}: {said}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_may_know_an_output_schema_is_told_in_an_error_because_it_throws_the_rest_away() {
    let setup = GatewaySetup::new().await;
    setup.replies("slow", 600 * SECOND, "{}");
    let agent = setup.modern(1);
    let calling = agent.call("slow");
    tokio::pin!(calling);
    assert!(tokio::time::timeout(SECOND, &mut calling).await.is_err(), "it is held");
    setup.engine.revoke_agent(agent.agent, person("ada"), None).await.expect("the agent is out");
    let told = calling.await.result();
    assert_eq!((&told["resultType"], &told["isError"]), (&json!("complete"), &json!(true)), "{told}");
    assert!(told["content"][0]["text"].as_str().is_some_and(|said| said.starts_with("A person revoked")), "{told}");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_a_limit_refuses_is_an_ordinary_result() {
    let policy = Policy { open_calls_per_server: 4, ..Policy::default() };
    let setup = GatewaySetup::with(policy, |_| {}).await;
    let agent = setup.plain(1);
    let sent = || setup.scripted.times(|act| matches!(act, EngineAction::Call { .. })).len();
    let mut held = Vec::new();
    for n in 0..4 {
        setup.replies("slow", 600 * SECOND, "{}");
        held.push(agent.listen("tools/call", json!({"name": "slow", "arguments": {"n": n}})));
        tokio::time::sleep(SECOND).await;
    }
    let before = sent();
    let said = words(&agent.call("other").await);
    assert!(said.starts_with("This call was not sent: ") && said.contains("calls of this agent are open"), "{said}");
    assert_eq!(sent(), before, "and it was not");
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_reply_is_lost_fails_and_says_that_nobody_knows() {
    let setup = GatewaySetup::new().await;
    let lost = UpstreamError::Unreachable { why: "the child ended".into(), hint: String::new() };
    setup.scripted.reply("slow", SECOND, Err(CallError::ReplyLost(lost)));
    let error = setup.plain(1).call("slow").await.error();
    let said = error["message"].as_str().expect("a message");
    assert!(said.contains("It is not known whether the work was done, in whole or in part"), "{said}");
    assert!(!said.contains("the child ended"), "without words of the machine: {said}");
    assert!(matches!(setup.rows(1).await[0].view, ServerView::Unanswered { .. }));
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_reply_cannot_be_read_is_not_told_as_one_that_lost_its_connection() {
    let setup = GatewaySetup::new().await;
    let why = "the answer has more than 9 bytes".to_owned();
    let unreadable = UpstreamError::Unreadable { path: "$".into(), why, raw: None };
    setup.scripted.reply("slow", SECOND, Err(CallError::ReplyLost(unreadable)));
    let error = setup.plain(1).call("slow").await.error();
    let said = error["message"].as_str().expect("a message");
    assert!(said.contains("The server replied to this call, but Taskwarden cannot read the reply"), "{said}");
    assert!(said.contains("It is not known whether the work was done"), "{said}");
    assert!(setup.rows(1).await[0].view.is_reply_unreadable());
}

#[tokio::test(start_paused = true)]
async fn an_older_client_sees_nothing_of_the_modern_era_whatever_its_server_says() {
    let about = r#""_meta":{"io.modelcontextprotocol/serverInfo":{"name":"x","version":"1"}}"#;
    let server = LinkServer::modern(11, json!({"tools": {}, "resources": {}, "prompts": {}}), move |method, params| {
        let kept = r#""ttlMs":5,"cacheScope":"public""#;
        let tool = r#"{"name":"a","inputSchema":{"type":"object"}}"#;
        let body = match method {
            "tools/list" => format!(r#""tools":[{tool}],{kept}"#),
            "resources/list" => format!(r#""resources":[],{kept}"#),
            "prompts/list" => format!(r#""prompts":[],{kept}"#),
            "resources/read" => format!(r#""contents":[],{kept}"#),
            "prompts/get" => r#""messages":[]"#.to_owned(),
            "tools/call" if params.contains("wrong") => r#""content":[],"isError":true"#.to_owned(),
            "tools/call" if params.contains("slow") => {
                let result = format!(r#"{{"resultType":"complete","content":[],{about}}}"#);
                return LinkAnswer::After(5 * SECOND, Box::new(LinkAnswer::Result(result)));
            }
            "tools/call" if params.contains("fails") => {
                return LinkAnswer::Error(r#"{"code":-7,"message":"no"}"#.to_owned());
            }
            "tools/call" => r#""content":[]"#.to_owned(),
            _ => return LinkAnswer::Error(r#"{"code":-32601,"message":"no such method"}"#.into()),
        };
        LinkAnswer::Result(format!(r#"{{"resultType":"complete",{body},{about}}}"#))
    });
    let setup = setup_over(&[server]).await;
    for version in ["2025-11-25", "2025-06-18", "2024-11-05"] {
        let older = setup.legacy(1, version, &json!({}));
        for (method, params) in [
            ("initialize", json!({"protocolVersion": version, "capabilities": {}})),
            ("tools/list", json!({})),
            ("resources/list", json!({})),
            ("resources/templates/list", json!({})),
            ("prompts/list", json!({})),
            ("resources/read", json!({"uri": "a://b"})),
            ("prompts/get", json!({"name": "p"})),
            ("ping", json!({})),
            ("tools/call", json!({"name": "quick", "arguments": {}})),
            ("tools/call", json!({"name": "wrong", "arguments": {}})),
            ("tools/call", json!({"name": "slow", "arguments": {}})),
            ("tools/call", json!({"name": "fails", "arguments": {}})),
            ("tools/call", json!({"name": "tasks_list", "arguments": {}})),
            ("tools/call", json!({"name": "tasks_wait", "arguments": {"task": "hdl_unknown00"}})),
        ] {
            let answer = older.ask(method, params.clone()).await.answer;
            let answer = match answer {
                Ok(answered) => serde_json::from_str(answered.text()).expect("JSON"),
                Err(fault) => fault.json(),
            };
            assert!(is_older(&answer), "{version}: `{method}` {params}: {answer}");
            let is_kept = answer.get("ttlMs").is_some() || answer.get("cacheScope").is_some();
            assert!(!is_kept, "{version}: `{method}`: {answer}");
        }
    }
    let modern = setup.plain(1).call("quick").await.result();
    assert_eq!(modern["resultType"], "complete", "a modern client has its own: {modern}");
}
