//! The eras that begin with `initialize`, over pipes.

use serde_json::{Value, json};

use super::peer::{Peer, modern, quick, text};

const TASKS: &str = "2025-11-25";

fn all() -> Value {
    json!({"elicitation": {"form": {}, "url": {}}})
}

async fn task(peer: &mut Peer, tool: &str, arguments: Value) -> String {
    let result = peer.result("tools/call", json!({"name": tool, "arguments": arguments, "task": {}})).await;
    assert_eq!(result["task"]["status"], "working", "a task begins at work: {result}");
    result["task"]["taskId"].as_str().expect("a handle").to_owned()
}

#[tokio::test]
async fn initialize_offers_tasks_to_the_version_that_has_them_and_no_other() {
    for (asked, agreed, tasks) in [
        (TASKS, TASKS, true),
        ("2025-06-18", "2025-06-18", false),
        ("2025-03-26", "2025-03-26", false),
        ("2024-11-05", "2024-11-05", false),
        ("1999-01-01", TASKS, true),
        ("2026-07-28", TASKS, true),
    ] {
        let mut peer = Peer::start(quick());
        let hello = peer.initialize(asked, json!({})).await;
        assert_eq!(hello["protocolVersion"], agreed, "asked for {asked}");
        assert_eq!(hello["capabilities"]["tasks"].is_object(), tasks, "tasks with {asked}");
        assert!(hello["capabilities"].get("extensions").is_none(), "never both dialects on one connection");
        assert!(hello.get("resultType").is_none(), "not a word of the modern era");
        assert_eq!(peer.result("ping", json!({})).await, json!({}));
        let list = peer.result("tools/list", json!({})).await;
        assert_eq!(list["tools"][0]["execution"]["taskSupport"] == "optional", tasks);
        let refused = peer.call("tasks/list", json!({})).await;
        assert_eq!(refused["error"]["code"] == -32_601, !tasks, "{refused}");
    }
}

#[tokio::test]
async fn nothing_is_served_before_the_session_is_open() {
    let mut peer = Peer::start(quick());
    assert_eq!(peer.call("tools/list", json!({})).await["error"]["code"], -32_602);
    assert_eq!(peer.call("initialize", json!({})).await["error"]["code"], -32_602, "the version is missing");
    peer.initialize(TASKS, json!({})).await;
    let again = peer.call("initialize", json!({"protocolVersion": TASKS})).await;
    assert_eq!(again["error"]["code"], -32_600, "only once");
    let modern_too = peer.result("server/discover", modern(json!({}))).await;
    assert_eq!(modern_too["resultType"], "complete", "both eras live on one pipe");
}

#[tokio::test]
async fn task_support_decides_which_calls_are_tasks() {
    let mut peer = Peer::start(quick());
    peer.initialize(TASKS, all()).await;
    let forbidden = peer.call("tools/call", json!({"name": "tool_error", "task": {}})).await;
    assert_eq!(forbidden["error"]["code"], -32_601);
    let required = peer.call("tools/call", json!({"name": "runaway"})).await;
    assert_eq!(required["error"]["code"], -32_601);
    let optional = peer.result("tools/call", json!({"name": "stubborn", "arguments": {"seconds": 1}})).await;
    assert!(text(&optional).starts_with("Finished"), "a blocking call blocks: {optional}");
    let ttl = peer.call("tools/call", json!({"name": "stubborn", "task": {"ttl": "long"}})).await;
    assert_eq!(ttl["error"]["code"], -32_602);
    let short = peer.result("tools/call", json!({"name": "stubborn", "task": {"ttl": 60_000}})).await;
    assert_eq!(short["task"]["ttl"], 60_000, "a shorter life is granted");
}

#[tokio::test]
async fn a_result_is_waited_for_and_tied_to_its_task() {
    let mut peer = Peer::start(quick());
    peer.initialize(TASKS, all()).await;
    let call = json!({"name": "stubborn", "arguments": {"seconds": 4}, "task": {}, "_meta": {"progressToken": 7}});
    let created = peer.result("tools/call", call).await;
    let id = created["task"]["taskId"].clone();
    let members: Vec<&str> = created["task"]
        .as_object()
        .expect("nested")
        .keys()
        .map(String::as_str)
        .filter(|name| *name != "statusMessage")
        .collect();
    assert_eq!(members, ["taskId", "status", "createdAt", "lastUpdatedAt", "ttl", "pollInterval"]);
    let result = peer.result("tasks/result", json!({"taskId": id})).await;
    assert!(text(&result).starts_with("Finished"), "{result}");
    assert_eq!(result["_meta"]["io.modelcontextprotocol/related-task"]["taskId"], id);
    let task = peer.result("tasks/get", json!({"taskId": id})).await;
    assert_eq!(task["status"], "completed", "flat: {task}");
    assert!(task.get("result").is_none(), "the payload is for tasks/result alone");
    let again = peer.result("tasks/result", json!({"taskId": id})).await;
    assert_eq!(again, result, "and can be read again");

    if !peer.aside.iter().any(|message| message["params"]["status"] == "completed") {
        peer.until(|message| message["params"]["status"] == "completed").await;
    }
    let news =
        |method: &str| peer.aside.iter().filter(|message| message["method"] == method).cloned().collect::<Vec<_>>();
    let progress = news("notifications/progress");
    assert!(!progress.is_empty(), "progress goes on after the handle was returned");
    for told in &progress {
        assert_eq!(told["params"]["progressToken"], 7, "with the token of the call");
        assert_eq!(told["params"]["_meta"]["io.modelcontextprotocol/related-task"]["taskId"], id);
    }
    for told in news("notifications/tasks/status") {
        assert_eq!(told["params"]["taskId"], id, "flat");
        assert!(told["params"].get("_meta").is_none(), "no related-task here");
    }
}

#[tokio::test]
async fn errors_and_tool_errors_are_replayed_and_both_read_failed() {
    let mut peer = Peer::start(quick());
    peer.initialize(TASKS, all()).await;
    let flaky = task(&mut peer, "flaky", json!({})).await;
    let replayed = peer.call("tasks/result", json!({"taskId": flaky})).await;
    assert_eq!(replayed["error"]["code"], -32_010, "{replayed}");
    assert_eq!(peer.result("tasks/get", json!({"taskId": flaky})).await["status"], "failed");
    let wrong = task(&mut peer, "hash_tree", json!({"path": "/no/such/folder"})).await;
    assert_eq!(peer.result("tasks/result", json!({"taskId": wrong})).await["isError"], true);
    assert_eq!(peer.result("tasks/get", json!({"taskId": wrong})).await["status"], "failed");
}

#[tokio::test]
async fn cancel_answers_cancelled_and_a_second_one_is_an_error() {
    let mut peer = Peer::start(quick());
    peer.initialize(TASKS, all()).await;
    for tool in ["runaway", "stubborn"] {
        let id = task(&mut peer, tool, json!({})).await;
        let waiting = peer.begin("tasks/result", json!({"taskId": id})).await;
        let cancelled = peer.result("tasks/cancel", json!({"taskId": id})).await;
        assert_eq!((&cancelled["status"], &cancelled["taskId"]), (&json!("cancelled"), &json!(id)), "{tool}");
        let again = peer.call("tasks/cancel", json!({"taskId": id})).await;
        assert_eq!(again["error"]["code"], -32_602);
        let pending = peer.aside.iter().find(|message| message["id"] == waiting).cloned();
        let pending = match pending {
            Some(pending) => pending,
            None => peer.answer_to(waiting).await,
        };
        assert!(pending["error"]["code"].is_i64(), "who waits for the result is told: {pending}");
        assert_eq!(peer.result("tasks/get", json!({"taskId": id})).await["status"], "cancelled", "{tool} stays so");
    }
    let unknown = peer.call("tasks/cancel", json!({"taskId": "x"})).await;
    assert_eq!(unknown["error"]["code"], -32_602);
}

#[tokio::test]
async fn tasks_are_listed_page_by_page() {
    let mut policy = quick();
    policy.serving.tasks_per_page = 2;
    let mut peer = Peer::start(policy);
    peer.initialize(TASKS, all()).await;
    let mut begun = Vec::new();
    for _ in 0..5 {
        begun.push(task(&mut peer, "runaway", json!({})).await);
    }
    let (mut listed, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let params = if cursor.is_null() { json!({}) } else { json!({"cursor": cursor}) };
        let page = peer.result("tasks/list", params).await;
        for task in page["tasks"].as_array().expect("a page") {
            listed.push(task["taskId"].as_str().expect("an id").to_owned());
        }
        cursor = page.get("nextCursor").cloned().unwrap_or_default();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(listed, begun, "each once, in the order of creation");
    assert_eq!(peer.call("tasks/list", json!({"cursor": "x"})).await["error"]["code"], -32_602);
}

#[tokio::test]
async fn a_tasks_question_comes_at_once_on_pipes_and_once_only() {
    let mut peer = Peer::start(quick());
    peer.initialize(TASKS, all()).await;
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("photo.jpg"), "x").expect("a file");
    let id = task(&mut peer, "tidy_downloads", json!({"folder": folder.path()})).await;
    let asked = peer.until(|message| message["method"] == "elicitation/create").await;
    assert_eq!(asked["params"]["_meta"]["io.modelcontextprotocol/related-task"]["taskId"], id);
    assert_eq!(asked["params"]["mode"], "form");
    let waiting = peer.begin("tasks/result", json!({"taskId": id})).await;
    assert_eq!(peer.result("tasks/get", json!({"taskId": id})).await["status"], "input_required");
    let twice = peer.aside.iter().filter(|message| message["method"] == "elicitation/create").count();
    assert_eq!(twice, 0, "a question that waits is not asked again on another stream");
    peer.send(json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "decline"}})).await;
    let result = peer.answer_to(waiting).await;
    assert_eq!(text(&result["result"]), "Nothing was touched: the person declined.");
    assert!(folder.path().join("photo.jpg").exists());
}

#[tokio::test]
async fn cancelling_a_task_withdraws_its_question() {
    let mut peer = Peer::start(quick());
    peer.initialize(TASKS, all()).await;
    let id = task(&mut peer, "sign_in", json!({})).await;
    let asked = peer.until(|message| message["method"] == "elicitation/create").await;
    assert_eq!(asked["params"]["mode"], "url");
    assert!(asked["params"]["elicitationId"].is_string(), "the 2025 form of a link has an id");
    peer.result("tasks/cancel", json!({"taskId": id})).await;
    let withdrawn = peer.until(|message| message["method"] == "notifications/cancelled").await;
    assert_eq!(withdrawn["params"]["requestId"], asked["id"]);
}

#[tokio::test]
async fn a_blocking_call_asks_on_the_way_and_an_older_client_gets_a_form_it_can_read() {
    let mut peer = Peer::start(quick());
    peer.initialize("2025-06-18", json!({"elicitation": {}})).await;
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("photo.jpg"), "x").expect("a file");
    let call = peer
        .begin("tools/call", json!({"name": "tidy_downloads", "arguments": {"folder": folder.path()}, "task": {}}))
        .await;
    let asked = peer.until(|message| message["method"] == "elicitation/create").await;
    let properties = asked["params"]["requestedSchema"]["properties"].as_object().expect("a schema");
    assert!(asked["params"].get("mode").is_none(), "a later word");
    assert!(properties.values().all(|field| field["type"] != "array"), "lists came later: {asked}");
    assert_eq!(properties["clash"]["enum"], json!(["skip", "number"]), "the older spelling of a choice: {asked}");
    peer.send(json!({"jsonrpc": "2.0", "id": asked["id"], "result":
        {"action": "accept", "content": {"go": true, "dry_run": false}}}))
        .await;
    let result = peer.answer_to(call).await;
    assert!(text(&result["result"]).starts_with("1 files moved"), "{result}");
    assert!(folder.path().join("Images/photo.jpg").exists());
}

#[tokio::test]
async fn a_client_that_cannot_show_questions_is_told_so_and_nothing_happens() {
    let mut peer = Peer::start(quick());
    peer.initialize(TASKS, json!({})).await;
    let folder = tempfile::tempdir().expect("a folder");
    let refused =
        peer.result("tools/call", json!({"name": "tidy_downloads", "arguments": {"folder": folder.path()}})).await;
    assert_eq!(refused["isError"], true, "{refused}");
    let refused = peer.result("tools/call", json!({"name": "sign_in"})).await;
    assert_eq!(refused["isError"], true, "{refused}");
}

#[tokio::test]
async fn batches_of_old_clients_are_answered() {
    let mut peer = Peer::start(quick());
    peer.initialize("2025-03-26", json!({})).await;
    peer.send(json!([
        {"jsonrpc": "2.0", "id": "a", "method": "ping"},
        {"jsonrpc": "2.0", "id": "b", "method": "tools/list"},
        {"jsonrpc": "2.0", "method": "notifications/nothing"},
    ]))
    .await;
    let mut ids = vec![peer.next().await["id"].clone(), peer.next().await["id"].clone()];
    ids.sort_by_key(Value::to_string);
    assert_eq!(ids, [json!("a"), json!("b")]);
}

#[tokio::test]
async fn work_ends_with_the_input() {
    let mut peer = Peer::start(quick());
    peer.initialize(TASKS, all()).await;
    task(&mut peer, "runaway", json!({})).await;
    assert!(peer.close().await, "a task does not keep the process");
}
