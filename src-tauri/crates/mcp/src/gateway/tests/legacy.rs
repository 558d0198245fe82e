//! The legacy face: each cell of protocol.md §7.3 in which the agent is of 2025-11-25 or older, and the status table both
//! ways (statements 53, 70-72).

use std::time::Duration;

use domain::ports::CallReply;
use domain::task::TaskHandle;
use domain::task::payload::Payload;
use domain::task::status::{RpcError, ServerView};
use serde_json::{Value, json};
use testkit::scripted::{EngineAction, OnCancel, PollReply};

use super::legacy_setup::{SessionClient, WITH_TASKS, ended, legacy_gateway, shows_all, until_task};
use super::setup::GatewaySetup;
use crate::server::Service;
use crate::server::session::SessionTransport;

const SECOND: Duration = Duration::from_secs(1);
const DONE: &str = r#"{"content":[{"type":"text","text":"done"}],"vendor":1.50}"#;

fn related(id: &str) -> Value {
    json!({"taskId": id})
}

/// The result of a task, waited for.
async fn result_of(session_client: &SessionClient, id: &str) -> Result<Value, Value> {
    ended(&session_client.awaits(id)).await
}

async fn status_of(session_client: &SessionClient, id: &str) -> Value {
    session_client.caller.get(id).await.result()
}

#[tokio::test(start_paused = true)]
async fn a_modern_task_is_nested_waited_for_and_related_to_its_2025_agent() {
    let setup = GatewaySetup::new().await;
    let mut session_client = SessionClient::new(&setup);
    setup.scripted.reply_task(
        "long",
        "upstream-1",
        vec![PollReply::says("half way"), PollReply::Completed(DONE.into())],
    );
    let id = session_client.task("long").await;
    let working = status_of(&session_client, &id).await;
    assert_eq!(working["status"], "working", "as it begins: {working}");
    for (fact, is_there) in [("ttl", true), ("pollInterval", true), ("createdAt", true), ("ttlMs", false)] {
        assert_eq!(working.get(fact).is_some(), is_there, "`{fact}` in {working}");
    }
    let result = result_of(&session_client, &id).await.expect("a result");
    assert_eq!(result["content"][0]["text"], "done", "the server's own: {result}");
    assert_eq!(result["vendor"].to_string(), "1.5", "unknown members stay: {result}");
    assert_eq!(result["_meta"]["io.modelcontextprotocol/related-task"], related(&id), "by our id (71)");
    assert_eq!(status_of(&session_client, &id).await["status"], "completed", "and so it reads");
    assert_eq!(
        session_client.hears("notifications/tasks/status").await["params"]["taskId"],
        id.as_str(),
        "told unasked too"
    );
}

#[tokio::test(start_paused = true)]
async fn a_tool_error_is_completed_there_and_failed_here_and_the_result_replays_it() {
    let setup = GatewaySetup::new().await;
    let session_client = SessionClient::new(&setup);
    let wrong = r#"{"content":[],"isError":true}"#;
    setup.scripted.reply_task("odd", "upstream-1", vec![PollReply::working(), PollReply::ToolError(wrong.into())]);
    let id = session_client.task("odd").await;
    let result = result_of(&session_client, &id).await.expect("a tool error is a result");
    assert_eq!(result["isError"], true, "{result}");
    assert_eq!(status_of(&session_client, &id).await["status"], "failed", "2025 calls it a failure (72)");
    let modern = setup.modern(1).get(&id).await.result();
    assert_eq!(modern["status"], "completed", "2026 does not: {modern}");
}

#[tokio::test(start_paused = true)]
async fn a_json_rpc_error_of_a_task_is_replayed_by_tasks_result() {
    let setup = GatewaySetup::new().await;
    let session_client = SessionClient::new(&setup);
    let error = RpcError { code: -7, message: "broken".into() };
    setup.scripted.reply_task("bad", "upstream-1", vec![PollReply::working(), PollReply::Failed(error)]);
    let id = session_client.task("bad").await;
    let error = result_of(&session_client, &id).await.expect_err("the call's own error");
    assert_eq!(error["code"], -7, "its own code (71): {error}");
    let read = status_of(&session_client, &id).await;
    assert_eq!((&read["status"], &read["statusMessage"]), (&json!("failed"), &json!("broken")), "{read}");
}

#[tokio::test(start_paused = true)]
async fn a_server_without_tasks_gets_one_of_ours_when_a_2025_agent_asks_for_it() {
    let setup = GatewaySetup::new().await;
    let session_client = SessionClient::new(&setup);
    setup.replies("plain", 30 * SECOND, DONE);
    let id = session_client.task("plain").await;
    assert_eq!(status_of(&session_client, &id).await["status"], "working", "it has a handle at once");
    assert_eq!(result_of(&session_client, &id).await.expect("a result")["content"][0]["text"], "done", "when it ends");
    setup.replies("quick", Duration::ZERO, DONE);
    let quick = session_client.task("quick").await;
    assert_eq!(status_of(&session_client, &quick).await["status"], "completed", "a plain result is a finished task");
    assert_eq!(
        result_of(&session_client, &quick).await.expect("a result")["content"][0]["text"],
        "done",
        "with its result"
    );
}

#[tokio::test(start_paused = true)]
async fn an_error_of_a_plain_call_is_the_end_of_the_task_that_was_asked_for() {
    let setup = GatewaySetup::new().await;
    let session_client = SessionClient::new(&setup);
    let error = RpcError { code: -32_602, message: "no such tool".into() };
    let payload = Payload::new(r#"{"code":-32602,"message":"no such tool","data":{"x":1}}"#);
    setup.scripted.reply("none", Duration::ZERO, Ok(CallReply::Error { error, payload }));
    let id = session_client.task("none").await;
    let error = result_of(&session_client, &id).await.expect_err("the call's own error");
    assert_eq!(error, json!({"code": -32602, "message": "no such tool", "data": {"x": 1}}), "raw");
}

#[tokio::test(start_paused = true)]
async fn a_2025_task_of_a_2025_server_is_relayed_under_our_id() {
    let setup = legacy_gateway().await;
    let session_client = SessionClient::new(&setup);
    setup.scripted.reply_task(
        "long",
        "upstream-1",
        vec![PollReply::working(), PollReply::working(), PollReply::Completed(DONE.into())],
    );
    let id = session_client.task("long").await;
    let result = result_of(&session_client, &id).await.expect("a result");
    assert_eq!(result["_meta"]["io.modelcontextprotocol/related-task"], related(&id), "by our id");
    assert!(!result.to_string().contains("upstream-1"), "never by the server's (59): {result}");
    setup.scripted.reply_task(
        "odd",
        "upstream-2",
        vec![PollReply::ToolError(r#"{"content":[],"isError":true}"#.into())],
    );
    let odd = session_client.task("odd").await;
    assert_eq!(
        result_of(&session_client, &odd).await.expect("a result")["isError"],
        true,
        "what the server failed with"
    );
    assert_eq!(status_of(&session_client, &odd).await["status"], "failed", "failed on both sides (72)");
}

#[tokio::test(start_paused = true)]
async fn a_modern_agent_gets_the_flat_task_of_a_2025_server() {
    let setup = legacy_gateway().await;
    let agent = setup.modern(1);
    let wrong = r#"{"content":[],"isError":true}"#;
    setup.scripted.reply_task("odd", "upstream-1", vec![PollReply::working(), PollReply::ToolError(wrong.into())]);
    let created = agent.call("odd").await.result();
    assert_eq!(created["resultType"], "task", "flat and at once: {created}");
    let id = created["taskId"].as_str().expect("an id").to_owned();
    let done = agent.until_status(&id, "completed").await;
    assert_eq!(done["result"]["isError"], true, "failed with a result there is completed here (72): {done}");
    assert_eq!(done["result"]["resultType"], "complete", "a result of this era says its kind");
    let error = RpcError { code: -9, message: "no".into() };
    setup.scripted.reply_task("bad", "upstream-2", vec![PollReply::working(), PollReply::Failed(error)]);
    let bad = agent.call("bad").await.result()["taskId"].as_str().expect("an id").to_owned();
    assert_eq!(agent.until_status(&bad, "failed").await["error"]["code"], -9, "an error there is an error here");
}

#[tokio::test(start_paused = true)]
async fn a_call_without_task_is_held_until_its_servers_task_ends() {
    for version in [WITH_TASKS, "2025-06-18", "2024-11-05"] {
        let setup = GatewaySetup::new().await;
        let session_client = SessionClient::with(&setup, SessionTransport::Http, version, &shows_all());
        setup.scripted.reply_task("long", "upstream-1", vec![PollReply::working(), PollReply::Completed(DONE.into())]);
        let held = session_client.caller.call("long").await.result();
        assert_eq!(held["content"][0]["text"], "done", "{version}: the plain result");
        assert!(held.get("task").is_none(), "{version}: no handle: {held}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_2025_servers_task_is_held_for_those_who_know_none() {
    let setup = legacy_gateway().await;
    let plain = setup.plain(1);
    setup.scripted.reply_task("needed", "upstream-1", vec![PollReply::working(), PollReply::Completed(DONE.into())]);
    let held = plain.call("needed").await.result();
    assert_eq!(held["content"][0]["text"], "done", "the call lasts as long as the task");
    assert_eq!(held["resultType"], "complete", "in the words of this era: {held}");
}

#[tokio::test(start_paused = true)]
async fn versions_before_2025_11_25_have_no_tasks_and_those_with_tasks_have_all_four_methods() {
    let setup = GatewaySetup::new().await;
    let old = SessionClient::with(&setup, SessionTransport::Http, "2025-06-18", &shows_all());
    for method in ["tasks/get", "tasks/result", "tasks/list", "tasks/cancel", "tasks/update"] {
        let refused = old.caller.ask(method, json!({"taskId": "hdl_x"})).await.error();
        assert_eq!(refused["code"], -32601, "{method} is not of that version: {refused}");
    }
    setup.replies("plain", Duration::ZERO, DONE);
    let params = json!({"name": "plain", "arguments": {}, "task": {}});
    let result = old.caller.ask("tools/call", params).await.result();
    assert_eq!(result["content"][0]["text"], "done", "`task` means nothing there (§1.1): {result}");
    let modern = setup.modern(1);
    for method in ["tasks/result", "tasks/list"] {
        assert_eq!(modern.ask(method, json!({})).await.error()["code"], -32601, "{method} was removed (53)");
    }
    setup.replies("plain", Duration::ZERO, DONE);
    let params = json!({"name": "plain", "arguments": {}, "task": {}});
    let result = modern.ask("tools/call", params).await.result();
    assert_eq!(result["resultType"], "complete", "`task` is ignored on the modern face (53): {result}");
}

#[tokio::test(start_paused = true)]
async fn cancelling_answers_cancelled_at_once_though_the_server_goes_on() {
    let setup = GatewaySetup::new().await;
    let session_client = SessionClient::new(&setup);
    setup.scripted.on_cancel(OnCancel::Ignore);
    setup.scripted.reply_task("long", "upstream-1", vec![PollReply::working()]);
    let id = session_client.task("long").await;
    let waiting = session_client.awaits(&id);
    let cancelled = session_client.caller.ask("tasks/cancel", json!({"taskId": id})).await.result();
    assert_eq!(cancelled["status"], "cancelled", "as that version must (71): {cancelled}");
    ended(&waiting).await.expect_err("who waits for the result hears that there is none");
    setup
        .until("the server was asked to stop", |setup| {
            !setup.scripted.times(|act| matches!(act, EngineAction::Cancel(_))).is_empty()
        })
        .await;
    setup.scripted.becomes("upstream-1", PollReply::Completed(DONE.into()));
    let record = until_task(&setup, &id, "finished for people", |handle| handle.view.is_terminal()).await;
    assert!(matches!(record.view, ServerView::Task(_)), "the server's own account goes on");
    assert_eq!(
        status_of(&session_client, &id).await["status"],
        "cancelled",
        "an end never changes towards the agent (69)"
    );
    let again = session_client.caller.ask("tasks/cancel", json!({"taskId": id})).await.error();
    assert_eq!(again["code"], -32602, "what is over cannot be cancelled (§1.9): {again}");
}

#[tokio::test(start_paused = true)]
async fn the_list_holds_the_agents_own_tasks_newest_first_and_in_pages() {
    let setup = GatewaySetup::new().await;
    let session_client = SessionClient::new(&setup);
    let stranger = setup.legacy(2, WITH_TASKS, &shows_all());
    let most = setup.policy.gateway.tasks_per_page as usize;
    let mut made = Vec::new();
    for number in 0..=most {
        setup.replies("quick", Duration::ZERO, DONE);
        let asked = json!({"name": "quick", "arguments": {"n": number}, "task": {}});
        let created = session_client.caller.ask("tools/call", asked).await.result();
        made.push(created["task"]["taskId"].as_str().expect("an id").to_owned());
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    made.reverse();
    let first = session_client.caller.ask("tasks/list", json!({})).await.result();
    let next = first["nextCursor"].as_str().expect("there is more").to_owned();
    let second = session_client.caller.ask("tasks/list", json!({"cursor": next})).await.result();
    let ids = |page: &Value| -> Vec<String> {
        let tasks = page["tasks"].as_array().expect("tasks");
        tasks.iter().map(|task| task["taskId"].as_str().expect("an id").to_owned()).collect()
    };
    assert_eq!([ids(&first), ids(&second)].concat(), made, "all of them, newest first, none twice");
    assert!(second.get("nextCursor").is_none(), "the end: {second}");
    assert_eq!(stranger.ask("tasks/list", json!({})).await.result()["tasks"], json!([]), "another agent has none");
    let foreign = stranger.ask("tasks/list", json!({"cursor": made[0]})).await.error();
    assert_eq!(foreign["code"], -32602, "a cursor is its agent's alone: {foreign}");
}

#[tokio::test(start_paused = true)]
async fn unknown_foreign_and_revoked_tasks_are_one_answer_in_every_method() {
    let setup = GatewaySetup::new().await;
    let session_client = SessionClient::new(&setup);
    let stranger = setup.legacy(2, WITH_TASKS, &shows_all());
    setup.scripted.reply_task("long", "upstream-1", vec![PollReply::working()]);
    let id = session_client.task("long").await;
    setup.scripted.reply_task("long", "upstream-2", vec![PollReply::working()]);
    let params = json!({"name": "long", "arguments": {"again": 1}, "task": {}});
    let taken = session_client.caller.ask("tools/call", params).await.result()["task"]["taskId"].clone();
    let revoked = taken.as_str().expect("an id").parse().expect("ours");
    setup.engine.revoke(revoked, testkit::build::person("ada"), None).await.expect("it is taken");
    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        let unknown = stranger.ask(method, json!({"taskId": "hdl_00000000000000000000000000"})).await.error();
        assert_eq!(unknown["code"], -32602, "{method}: {unknown}");
        assert_eq!(stranger.ask(method, json!({"taskId": id})).await.error(), unknown, "{method}: foreign (58)");
        assert_eq!(
            session_client.caller.ask(method, json!({"taskId": taken})).await.error(),
            unknown,
            "{method}: revoked"
        );
        assert_eq!(stranger.ask(method, json!({"taskId": "task-1"})).await.error(), unknown, "{method}: nonsense");
    }
}

#[tokio::test(start_paused = true)]
async fn progress_goes_on_under_the_original_token_after_the_handle_was_returned() {
    let setup = GatewaySetup::new().await;
    let mut session_client = SessionClient::new(&setup);
    setup.scripted.reply_task("long", "upstream-1", vec![PollReply::working()]);
    let params = json!({"name": "long", "arguments": {}, "task": {}, "_meta": {"progressToken": "mine"}});
    let id = session_client.caller.ask("tools/call", params).await.result()["task"]["taskId"].clone();
    let subject = super::legacy_setup::its_task();
    let progress =
        domain::task::observation::Progress { done: Some(3.0), total: Some(9.0), message: Some("three".into()) };
    assert!(setup.scripted.say(domain::ports::UpstreamEvent::Progress(subject, progress)), "the line is up");
    let told = session_client.hears("notifications/progress").await["params"].clone();
    let expected = json!({"progressToken": "mine", "progress": 3, "total": 9, "message": "three",
        "_meta": {"io.modelcontextprotocol/related-task": {"taskId": id}}});
    assert_eq!(told, expected, "the token lives as long as the task (§1.7)");
}

#[tokio::test(start_paused = true)]
async fn a_session_that_comes_back_is_told_about_the_task_it_asks_for() {
    let setup = GatewaySetup::new().await;
    let id = {
        let first = SessionClient::new(&setup);
        setup.scripted.reply_task("long", "upstream-1", vec![PollReply::working()]);
        let id = first.task("long").await;
        setup.gateway.session_over(first.caller.session());
        first.caller.session().leave();
        id
    };
    let mut second = SessionClient::new(&setup);
    assert_eq!(status_of(&second, &id).await["status"], "working", "tasks are the agent's, not the session's");
    setup.scripted.becomes("upstream-1", PollReply::Completed(DONE.into()));
    loop {
        let told = second.hears("notifications/tasks/status").await;
        if told["params"]["status"] == "completed" {
            assert_eq!(told["params"]["taskId"], id.as_str(), "told on the new stream");
            break;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_repeated_call_whose_handle_arrived_is_a_new_task() {
    let setup = GatewaySetup::new().await;
    let session_client = SessionClient::new(&setup);
    for task in ["upstream-1", "upstream-2"] {
        setup.scripted.reply_task("long", task, vec![PollReply::working()]);
    }
    let (first, second) = (session_client.task("long").await, session_client.task("long").await);
    assert_ne!(first, second, "nothing was undelivered (ruling 24)");
    let attempt = |handle: &TaskHandle| handle.attempt;
    let handle = until_task(&setup, &second, "there", |_| true).await;
    assert_eq!(attempt(&handle), 2, "two attempts of one job");
}

#[tokio::test(start_paused = true)]
async fn a_ttl_that_was_asked_for_is_shown_back_and_a_bad_one_refused() {
    let setup = GatewaySetup::new().await;
    let session_client = SessionClient::new(&setup);
    setup.scripted.reply_task("long", "upstream-1", vec![PollReply::working()]);
    let asked = json!({"name": "long", "arguments": {}, "task": {"ttl": 600_000}});
    let created = session_client.caller.ask("tools/call", asked).await.result();
    assert_eq!(created["task"]["ttl"], 600_000, "{created}");
    for bad in
        [json!({"ttl": "soon"}), json!({"ttl": -1}), json!({"ttl": 1e308}), json!({"ttl": 1_u64 << 53}), json!("yes")]
    {
        let asked = json!({"name": "long", "arguments": {}, "task": bad});
        assert_eq!(session_client.caller.ask("tools/call", asked).await.error()["code"], -32602, "{bad}");
    }
    let calls = setup.scripted.times(|act| matches!(act, EngineAction::Call { .. })).len();
    assert_eq!(calls, 1, "what is refused was never sent");
}

#[tokio::test(start_paused = true)]
async fn a_session_is_greeted_with_its_own_dialect_alone() {
    let setup = GatewaySetup::new().await;
    for (version, tasks) in [(WITH_TASKS, true), ("2025-06-18", false), ("2025-03-26", false), ("2024-11-05", false)] {
        // At the door of all servers a greeting waits for none of them.
        let caller = setup.legacy(1, version, &json!({})).at_all();
        let hello = json!({"protocolVersion": version, "capabilities": {}});
        let hello = caller.ask("initialize", hello).await.result();
        assert_eq!(hello["protocolVersion"], version, "{hello}");
        assert_eq!(hello["serverInfo"]["name"], "taskwarden", "{hello}");
        assert_eq!(hello["capabilities"].get("tasks").is_some(), tasks, "{version} (47): {hello}");
        assert!(hello["capabilities"].get("extensions").is_none(), "the other dialect is not named (47): {hello}");
        assert!(hello["capabilities"].get("tools").is_some(), "there are tools: {hello}");
    }
}
