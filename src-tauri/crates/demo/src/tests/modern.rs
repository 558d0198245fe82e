//! The dialect of 2026-07-28 over pipes.

use serde_json::{Value, json};

use super::peer::{Peer, declaring, modern, quick, text};

async fn task(peer: &mut Peer, tool: &str, arguments: Value) -> String {
    let result = peer.result("tools/call", modern(json!({"name": tool, "arguments": arguments}))).await;
    assert_eq!(result["resultType"], "task", "a long call becomes a task: {result}");
    result["taskId"].as_str().expect("a handle").to_owned()
}

async fn look(peer: &mut Peer, id: &str) -> Value {
    let task = peer.result("tasks/get", modern(json!({"taskId": id}))).await;
    assert_eq!(task["resultType"], "complete", "a look is complete, whatever the task is");
    task
}

/// Looks until the task's status is `status`.
async fn at(peer: &mut Peer, id: &str, status: &str) -> Value {
    let begun = tokio::time::Instant::now();
    loop {
        let task = look(peer, id).await;
        if task["status"] == status {
            return task;
        }
        assert!(begun.elapsed() < super::peer::LIMIT, "waited for `{status}`, last seen {task}");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn discovery_tells_versions_extension_and_freshness() {
    let mut peer = Peer::start(quick());
    let mut hello = peer.result("server/discover", modern(json!({}))).await;
    let version = hello["_meta"]["io.modelcontextprotocol/serverInfo"]["version"].take();
    assert_eq!(version, env!("CARGO_PKG_VERSION"), "the program's version");
    hello["instructions"] = Value::Null;
    let golden = json!({
        "resultType": "complete",
        "supportedVersions": ["2026-07-28"],
        "capabilities": {"tools": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}},
        "instructions": null,
        "ttlMs": 300_000,
        "cacheScope": "private",
        "_meta": {"io.modelcontextprotocol/serverInfo": {
            "name": "taskwarden-demo", "title": "Taskwarden demo", "version": null,
        }},
    });
    assert_eq!(hello, golden, "byte-true to the specification");
    assert!(peer.close().await, "the server ends with its input");
}

#[tokio::test]
async fn every_tool_is_listed_with_schema_and_hints_and_without_the_old_flags() {
    let mut peer = Peer::start(quick());
    let list = peer.result("tools/list", modern(json!({}))).await;
    let names: Vec<&str> =
        list["tools"].as_array().expect("a list").iter().filter_map(|tool| tool["name"].as_str()).collect();
    let all = [
        "index_folder",
        "hash_tree",
        "plan_sorting",
        "tidy_downloads",
        "sign_in",
        "runaway",
        "stubborn",
        "huge_report",
        "flaky",
        "tool_error",
    ];
    assert_eq!(names, all, "in a stable order");
    for tool in list["tools"].as_array().expect("a list") {
        assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
        assert!(tool["annotations"]["readOnlyHint"].is_boolean(), "{tool}");
        assert!(tool.get("execution").is_none(), "the 2025 flag is not for modern clients");
    }
    assert_eq!(list["cacheScope"], "private");
    assert!(list["ttlMs"].is_u64());
}

#[tokio::test]
async fn requests_that_break_the_rules_get_the_right_code() {
    let mut peer = Peer::start(quick());
    let bare = declaring(json!({"name": "runaway"}), json!({}));
    let future = {
        let mut params = modern(json!({}));
        params["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2099-01-01".into();
        params
    };
    let without_capabilities = json!({"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}});
    let id = json!({"taskId": "nobody-knows-it"});
    let only_forms = declaring(json!({"name": "sign_in"}), json!({"elicitation": {}}));
    for (method, params, code) in [
        ("server/discover", json!({}), -32_602),
        ("server/discover", without_capabilities, -32_602),
        ("server/discover", future, -32_022),
        ("ping", modern(json!({})), -32_601),
        ("initialize", modern(json!({"protocolVersion": "2025-11-25"})), -32_601),
        ("tasks/list", modern(json!({})), -32_601),
        ("tasks/result", modern(id.clone()), -32_601),
        ("resources/list", modern(json!({})), -32_601),
        ("tools/call", bare, -32_021),
        ("tools/call", only_forms, -32_021),
        ("tools/call", modern(json!({"name": "no_such_tool"})), -32_602),
        ("tools/call", modern(json!({"name": "stubborn", "arguments": {"seconds": 0}})), -32_602),
        ("tools/call", modern(json!({"name": "stubborn", "arguments": []})), -32_602),
        ("tools/call", modern(json!({"name": "runaway", "requestState": "made up"})), -32_602),
        ("tasks/get", modern(id.clone()), -32_602),
        ("tasks/cancel", modern(id.clone()), -32_602),
        ("tasks/update", modern(id.clone()), -32_602),
        ("tasks/get", declaring(id.clone(), json!({})), -32_021),
        ("tasks/update", declaring(id.clone(), json!({"tasks": {}})), -32_021),
        ("subscriptions/listen", declaring(json!({"notifications": {"taskIds": []}}), json!({})), -32_021),
        ("tools/list", modern(json!({"cursor": "x"})), -32_602),
    ] {
        let response = peer.call(method, params.clone()).await;
        assert_eq!(response["error"]["code"], code, "`{method}` with {params}: {response}");
        if code == -32_022 {
            assert_eq!(response["error"]["data"], json!({"supported": ["2026-07-28"], "requested": "2099-01-01"}));
        }
    }
    let refused = peer.call("tasks/get", declaring(id, json!({}))).await;
    let required = json!({"requiredCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}}});
    assert_eq!(refused["error"]["data"], required, "it names what is missing");
}

#[tokio::test]
async fn arguments_never_appear_in_errors() {
    let mut peer = Peer::start(quick());
    let call = modern(json!({"name": "stubborn", "arguments": {"seconds": "hunter2"}}));
    let response = peer.call("tools/call", call).await;
    assert_eq!(response["error"]["code"], -32_602);
    assert!(!response.to_string().contains("hunter2"), "the value is not told: {response}");
    assert!(response.to_string().contains("/seconds"), "its place is: {response}");
}

#[tokio::test]
async fn lines_that_are_no_messages_are_answered_and_do_not_end_the_server() {
    let mut policy = quick();
    policy.serving.body_cap_bytes = 4_096;
    let mut peer = Peer::start(policy);
    for (line, code) in [
        ("not json", -32_700),
        ("[]", -32_600),
        ("{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}", -32_600),
        ("{\"id\":{},\"method\":\"ping\"}", -32_600),
        ("{\"id\":1,\"method\":\"ping\"}", -32_600),
        ("{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", -32_600),
        (&"[".repeat(2_000), -32_600),
    ] {
        peer.write(line).await;
        assert_eq!(peer.next().await["error"]["code"], code, "{line}");
    }
    peer.write("   ").await;
    let long = json!({"id": 77, "method": "tools/list", "params": {"x": "y".repeat(10_000)}, "jsonrpc": "2.0"});
    peer.send(long).await;
    let refused = peer.next().await;
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(77), &json!(-32_600)), "the request is named");
    assert!(peer.result("tools/list", modern(json!({}))).await["tools"].is_array(), "the server goes on");
}

#[tokio::test]
async fn a_task_runs_to_a_result_that_every_look_tells_again() {
    let mut peer = Peer::start(quick());
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("a.txt"), "one two three\n").expect("a file");
    let call = modern(json!({"name": "index_folder", "arguments": {"path": folder.path(), "pause_ms": 30}}));
    let seed = peer.result("tools/call", call).await;
    let mut members: Vec<&str> = seed.as_object().expect("an object").keys().map(String::as_str).collect();
    members.retain(|name| *name != "statusMessage");
    let golden = ["resultType", "taskId", "status", "createdAt", "lastUpdatedAt", "ttlMs", "pollIntervalMs", "_meta"];
    assert_eq!(members, golden, "the seed is flat and has no payload");
    assert_eq!(seed["ttlMs"], 3_600_000, "one hour");
    assert_eq!(seed["pollIntervalMs"], 1_000);
    let id = seed["taskId"].as_str().expect("a handle");
    assert!(id.len() >= 32, "128 bits in hex");
    let done = at(&mut peer, id, "completed").await;
    assert_eq!(done["result"]["structuredContent"]["words"], 3, "{done}");
    assert_eq!(done["result"]["isError"], false);
    assert_eq!(done["result"]["resultType"], "complete");
    assert_eq!(done["statusMessage"], "1 of 1 files");
    assert_eq!(look(&mut peer, id).await, done, "the end does not change");
}

#[tokio::test]
async fn a_tool_error_completes_and_a_rpc_error_fails() {
    let mut peer = Peer::start(quick());
    let missing = task(&mut peer, "hash_tree", json!({"path": "/no/such/folder"})).await;
    let done = at(&mut peer, &missing, "completed").await;
    assert_eq!(done["result"]["isError"], true);
    assert_eq!(text(&done["result"]), "The folder `/no/such/folder` does not exist.");
    let flaky = task(&mut peer, "flaky", json!({})).await;
    let failed = at(&mut peer, &flaky, "failed").await;
    assert_eq!(failed["error"]["code"], -32_010, "{failed}");
    assert!(failed.get("result").is_none());
    let plain = peer.result("tools/call", modern(json!({"name": "tool_error"}))).await;
    assert_eq!((&plain["resultType"], &plain["isError"]), (&json!("complete"), &json!(true)), "never a task");
}

#[tokio::test]
async fn runaway_stops_at_once_and_not_with_its_next_tick() {
    let mut policy = quick();
    policy.serving.tick = 2 * super::peer::LIMIT;
    let mut peer = Peer::start(policy);
    let id = task(&mut peer, "runaway", json!({})).await;
    at(&mut peer, &id, "working").await;
    let ack = peer.result("tasks/cancel", modern(json!({"taskId": id}))).await;
    let members: Vec<&String> = ack.as_object().expect("an object").keys().collect();
    assert_eq!(members, ["resultType", "_meta"], "only an acknowledgement");
    let gone = at(&mut peer, &id, "cancelled").await;
    assert!(gone.get("result").is_none() && gone.get("error").is_none(), "nothing comes with it");
    let again = peer.result("tasks/cancel", modern(json!({"taskId": id}))).await;
    assert_eq!(again["resultType"], "complete", "a second wish is acknowledged too");
}

#[tokio::test]
async fn stubborn_acknowledges_the_cancel_and_finishes_anyway() {
    let mut peer = Peer::start(quick());
    let id = task(&mut peer, "stubborn", json!({"seconds": 6})).await;
    peer.result("tasks/cancel", modern(json!({"taskId": id}))).await;
    assert_eq!(look(&mut peer, &id).await["status"], "working", "it was acknowledged, not obeyed");
    let done = at(&mut peer, &id, "completed").await;
    assert!(text(&done["result"]).contains("asked to stop"), "it tells so: {done}");
}

#[tokio::test]
async fn a_task_asks_by_form_and_goes_on_with_the_answer() {
    let mut peer = Peer::start(quick());
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("photo.jpg"), "x").expect("a file");
    let id = task(&mut peer, "tidy_downloads", json!({"folder": folder.path()})).await;
    let asking = at(&mut peer, &id, "input_required").await;
    let question = &asking["inputRequests"]["question-1"];
    assert_eq!(question["method"], "elicitation/create", "{asking}");
    assert_eq!(question["params"]["mode"], "form");
    assert_eq!(question["params"]["requestedSchema"]["properties"]["dry_run"]["default"], true);
    assert_eq!(look(&mut peer, &id).await["inputRequests"], asking["inputRequests"], "the same key until answered");

    let update = |responses: Value| modern(json!({"taskId": id, "inputResponses": responses}));
    let unknown = json!({"other": {"action": "accept"}});
    assert_eq!(
        peer.result("tasks/update", update(unknown)).await["resultType"],
        "complete",
        "unknown keys are ignored"
    );
    let bad = peer.call("tasks/update", update(json!({"question-1": {"action": "maybe"}}))).await;
    assert_eq!(bad["error"]["code"], -32_602, "an answer that is none is refused");
    assert_eq!(look(&mut peer, &id).await["status"], "input_required", "and the question is still open");

    let yes = json!({"question-1": {"action": "accept", "content": {"go": true, "dry_run": false}}});
    peer.result("tasks/update", update(yes.clone())).await;
    let done = at(&mut peer, &id, "completed").await;
    assert!(folder.path().join("Images/photo.jpg").exists(), "it was moved: {done}");
    peer.result("tasks/update", update(yes)).await;
}

#[tokio::test]
async fn a_call_without_tasks_asks_by_several_round_trips() {
    let mut peer = Peer::start(quick());
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("song.mp3"), "x").expect("a file");
    let forms = json!({"elicitation": {}});
    let call = json!({"name": "tidy_downloads", "arguments": {"folder": folder.path()}});
    let asked = peer.result("tools/call", declaring(call.clone(), forms.clone())).await;
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let state = asked["requestState"].clone();

    let mut other = call.clone();
    other["arguments"]["dry_run"] = false.into();
    other["requestState"] = state.clone();
    let stolen = peer.call("tools/call", declaring(other, forms.clone())).await;
    assert_eq!(stolen["error"]["code"], -32_602, "the state belongs to the same arguments");

    let mut empty = call.clone();
    empty["requestState"] = state;
    let again = peer.result("tools/call", declaring(empty, forms.clone())).await;
    assert_eq!(again["resultType"], "input_required", "a missing answer is asked for again");
    assert_eq!(again["inputRequests"], asked["inputRequests"], "under the same key");

    let mut odd = call.clone();
    odd["requestState"] = again["requestState"].clone();
    odd["inputResponses"] = json!({"question-1": {"action": "maybe"}});
    let refused = peer.call("tools/call", declaring(odd, forms.clone())).await;
    assert_eq!(refused["error"]["code"], -32_602, "an answer that is none is refused, and the call stays parked");

    let mut retry = call;
    retry["requestState"] = again["requestState"].clone();
    retry["inputResponses"] = json!({"question-1": {"action": "accept", "content": {"go": true, "dry_run": true}}});
    let done = peer.result("tools/call", declaring(retry.clone(), forms.clone())).await;
    assert_eq!(done["resultType"], "complete", "{done}");
    assert!(text(&done).starts_with("Dry run: 1 files would be moved"), "{done}");
    let used = peer.call("tools/call", declaring(retry, forms)).await;
    assert_eq!(used["error"]["code"], -32_602, "the state is good for one retry");
}

#[tokio::test]
async fn a_held_call_tells_progress_and_can_be_cancelled() {
    let mut peer = Peer::start(quick());
    let mut call = declaring(json!({"name": "stubborn", "arguments": {"seconds": 4}}), json!({}));
    call["_meta"]["progressToken"] = "t-1".into();
    let done = peer.result("tools/call", call.clone()).await;
    assert_eq!(done["resultType"], "complete", "never a task for a client without the extension");
    let told: Vec<f64> = peer
        .aside
        .drain(..)
        .filter_map(|news| {
            assert_eq!(news["method"], "notifications/progress");
            assert_eq!(news["params"]["progressToken"], "t-1", "the token as it came");
            news["params"]["progress"].as_f64()
        })
        .collect();
    assert!(!told.is_empty() && told.is_sorted(), "progress grows: {told:?}");

    call["arguments"] = json!({"seconds": 3_000});
    let id = peer.begin("tools/call", call).await;
    peer.until(|message| message["method"] == "notifications/progress").await;
    peer.send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})).await;
    peer.result("tools/list", modern(json!({}))).await;
    let late = peer.aside.iter().any(|message| message["id"] == id);
    assert!(!late, "a cancelled request is not answered");
}

#[tokio::test]
async fn a_subscription_acknowledges_first_and_pushes_every_change_to_the_end() {
    let mut peer = Peer::start(quick());
    let id = task(&mut peer, "stubborn", json!({"seconds": 5})).await;
    let listen = modern(json!({"notifications": {"taskIds": [id, "unknown"]}}));
    peer.send(json!({"jsonrpc": "2.0", "id": "sub-1", "method": "subscriptions/listen", "params": listen})).await;
    let ack = peer.next().await;
    let golden = json!({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": {
        "notifications": {"taskIds": [id]}, "_meta": {"io.modelcontextprotocol/subscriptionId": "sub-1"},
    }});
    assert_eq!(ack, golden, "first, and without the unknown id");
    let end = peer.until(|message| message["params"]["status"] == "completed").await;
    assert_eq!(end["method"], "notifications/tasks");
    assert_eq!(end["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], "sub-1");
    let mut look = look(&mut peer, &id).await;
    look["result"]["_meta"].take();
    let mut pushed = end["params"]["result"].clone();
    pushed["_meta"].take();
    assert_eq!(pushed, look["result"], "a push holds what a look holds");
    assert!(!peer.aside.is_empty(), "changes on the way were pushed too");
    peer.send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "sub-1"}})).await;
    assert!(peer.close().await);
}

#[tokio::test]
async fn an_expired_task_is_unknown_like_any_other() {
    let mut policy = quick();
    policy.serving.task_ttl = std::time::Duration::from_millis(200);
    policy.serving.sweep_every = std::time::Duration::from_millis(20);
    let mut peer = Peer::start(policy);
    let id = task(&mut peer, "runaway", json!({})).await;
    let begun = tokio::time::Instant::now();
    let gone = loop {
        let response = peer.call("tasks/get", modern(json!({"taskId": id}))).await;
        if response.get("error").is_some() {
            break response;
        }
        assert!(begun.elapsed() < super::peer::LIMIT, "it expires");
        tokio::task::yield_now().await;
    };
    let unknown = peer.call("tasks/get", modern(json!({"taskId": "x"}))).await;
    assert_eq!(gone["error"], unknown["error"], "nothing tells expired from unknown");
}

#[tokio::test]
async fn a_request_under_an_id_in_work_is_refused() {
    let mut peer = Peer::start(quick());
    let call = declaring(json!({"name": "stubborn", "arguments": {"seconds": 5}}), json!({}));
    peer.send(json!({"jsonrpc": "2.0", "id": "same", "method": "tools/call", "params": call})).await;
    peer.send(json!({"jsonrpc": "2.0", "id": "same", "method": "tools/list", "params": modern(json!({}))})).await;
    assert_eq!(peer.next().await["error"]["code"], -32_600, "the second one");
    assert!(peer.next().await["result"]["content"].is_array(), "the first one is not disturbed");
}

#[tokio::test]
async fn the_number_of_tasks_is_bounded() {
    let mut policy = quick();
    policy.serving.tasks_max = 2;
    let mut peer = Peer::start(policy);
    task(&mut peer, "runaway", json!({})).await;
    task(&mut peer, "runaway", json!({})).await;
    let third = peer.call("tools/call", modern(json!({"name": "runaway"}))).await;
    assert_eq!(third["error"]["code"], -32_603, "{third}");
}

#[tokio::test]
async fn the_oldest_results_make_room_for_new_ones() {
    let mut policy = quick();
    policy.serving.results_cap_bytes = 10_000;
    let mut peer = Peer::start(policy);
    let report = json!({"tokens": 2_000});
    let first = task(&mut peer, "huge_report", report.clone()).await;
    at(&mut peer, &first, "completed").await;
    let working = task(&mut peer, "runaway", json!({})).await;
    let second = task(&mut peer, "huge_report", report).await;
    at(&mut peer, &second, "completed").await;
    let gone = peer.call("tasks/get", modern(json!({"taskId": first}))).await;
    assert_eq!(gone["error"]["code"], -32_602, "the older result is gone: {gone}");
    assert_eq!(look(&mut peer, &working).await["status"], "working", "work is never forgotten for room");
}

#[tokio::test]
async fn a_cancelled_tidying_tells_how_far_it_came() {
    let mut peer = Peer::start(quick());
    let folder = tempfile::tempdir().expect("a folder");
    for number in 0..2_000 {
        std::fs::write(folder.path().join(format!("{number}.jpg")), "x").expect("a file");
    }
    let id = task(&mut peer, "tidy_downloads", json!({"folder": folder.path()})).await;
    at(&mut peer, &id, "input_required").await;
    let yes = json!({"question-1": {"action": "accept", "content": {"go": true, "dry_run": false}}});
    peer.result("tasks/update", modern(json!({"taskId": id, "inputResponses": yes}))).await;
    peer.result("tasks/cancel", modern(json!({"taskId": id}))).await;
    let end = at(&mut peer, &id, "cancelled").await;
    let told = end["statusMessage"].as_str().expect("a line").to_owned();
    let moved = std::fs::read_dir(folder.path().join("Images")).map_or(0, Iterator::count);
    assert!(moved < 2_000, "it stopped on the way");
    let grouped = domain::tokens::grouped(moved as u64);
    assert_eq!(told, format!("stopped: {grouped} of 2,000 files moved"), "as the folder shows");
}
