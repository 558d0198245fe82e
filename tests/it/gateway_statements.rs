//! Statements 46-77 of protocol.md §8.2, held against the real program. The table is `../STATEMENTS.md`.
//!
//! Names begin with the numbers they prove. What can only be seen from inside is proven in the crates, and what takes
//! a client or a kill in `clients.rs`, `conformance.rs` and `gateway_kill.rs`.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};
use tests::by_hand::{Agent, modern};
use tests::gate::Gate;
use tests::peers;
use tests::server::{Manner, Recorder};
use tokio::runtime::Runtime;

use crate::{PROGRAM, RMCP_PEER};

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime")
}

fn recorder(runtime: &Runtime) -> Recorder {
    let manner = Manner { poll_interval: Duration::from_millis(100), slow: Duration::from_millis(300), pushes: false };
    runtime.block_on(Recorder::start(manner)).expect("a loopback server")
}

/// A gate with one strict server `rec`, and an agent on it.
fn with_recorder(runtime: &Runtime) -> (Gate, Recorder, Agent) {
    let server = recorder(runtime);
    let gate = Gate::open(PROGRAM);
    gate.add_server("rec", &["--url", &server.url()]);
    let agent = Agent::new(&gate.url("rec"), &gate.add_agent("bee"));
    (gate, server, agent)
}

#[test]
fn s46_s47_s51_s53_s54_both_eras_are_served_on_one_endpoint_and_never_mixed() {
    let runtime = runtime();
    let (gate, _server, agent) = with_recorder(&runtime);
    let extension = "/capabilities/extensions/io.modelcontextprotocol~1tasks";

    let discovered = agent.ask("server/discover", &json!({})).result();
    assert!(discovered.pointer(extension).is_some(), "tasks are an extension in the modern era: {discovered}");
    assert!(discovered.pointer("/capabilities/tasks").is_none(), "and nothing of 2025: {discovered}");
    for version in ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] {
        let (_, reply) = agent.open(version);
        let hello = reply.result();
        assert_eq!(hello["protocolVersion"], version, "the session speaks what was asked for");
        assert!(hello.pointer(extension).is_none(), "a session has no extension: {hello}");
        let has_tasks = hello.pointer("/capabilities/tasks").is_some();
        assert_eq!(has_tasks, version == "2025-11-25", "tasks are of 2025-11-25 alone: {hello}");
    }
    let params = json!({"_meta": {"io.modelcontextprotocol/protocolVersion": "2099-01-01",
        "io.modelcontextprotocol/clientCapabilities": {}}});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": params}).to_string();
    let refused = agent.post(&[("mcp-protocol-version", "2099-01-01"), ("mcp-method", "server/discover")], &body);
    assert_eq!(refused.refusal(), (400, -32022), "an unknown version is refused: {refused:?}");
    let supported = refused.json()["error"]["data"]["supported"].to_string();
    assert!(supported.contains("2026-07-28"), "and what is supported is listed: {supported}");

    let plain = agent.ask_with("{}", "tools/call", &json!({"name": "work", "arguments": {"nonce": "held"}})).result();
    assert_eq!(plain["resultType"], "complete", "no task goes to who declared none: {plain}");
    for method in ["tasks/result", "tasks/list"] {
        let id = json!({"taskId": "hdl_00000000000000000000000000"});
        assert_eq!(agent.ask(method, &id).refusal(), (404, -32601), "`{method}` is not of this era");
    }
    let ignored =
        agent.ask("tools/call", &json!({"name": "quick", "arguments": {"nonce": "quick"}, "task": {}})).result();
    assert_eq!(ignored["resultType"], "complete", "`params.task` means nothing in this era: {ignored}");

    let all = Agent::new(&gate.url("*"), &gate.add_agent("wasp"));
    let listed = all.ask("tools/list", &json!({})).result();
    assert!(
        listed["ttlMs"].is_u64() && listed["cacheScope"] == "private",
        "a merged list may be kept by its agent alone: {listed}"
    );
}

#[test]
fn s48_s50_s52_a_head_that_does_not_fit_its_body_is_refused_and_tasks_need_the_extension() {
    let runtime = runtime();
    let (_gate, _server, agent) = with_recorder(&runtime);
    let list = modern(json!(1), "tools/list", &json!({}), "{}");
    let version = ("mcp-protocol-version", "2026-07-28");
    let refused = agent.post(&[version, ("mcp-method", "tools/call")], &list);
    assert_eq!(refused.refusal(), (400, -32020), "a method that the body does not name: {refused:?}");
    let call = modern(json!(1), "tools/call", &json!({"name": "quick", "arguments": {}}), "{}");
    let refused = agent.post(&[version, ("mcp-method", "tools/call"), ("mcp-name", "slow")], &call);
    assert_eq!(refused.refusal(), (400, -32020), "a name that the body does not name: {refused:?}");
    let bare = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#;
    let refused = agent.post(&[version, ("mcp-method", "tools/list")], bare);
    assert_eq!(refused.refusal(), (400, -32602), "no `_meta`: {refused:?}");
    let refused = agent.ask("bees/dance", &json!({}));
    assert_eq!(refused.refusal(), (404, -32601), "no such method: {refused:?}");

    let task = agent.start("work", &json!({"nonce": "work"}));
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let refused = agent.ask_with("{}", method, &json!({"taskId": task, "inputResponses": {}}));
        assert_eq!(refused.refusal().1, -32021, "`{method}` from who declares no tasks: {refused:?}");
        let needed = refused.json()["error"]["data"].to_string();
        assert!(needed.contains("io.modelcontextprotocol/tasks"), "and it says what is missing: {needed}");
        let known = agent.ask(method, &json!({"taskId": task, "inputResponses": {}})).result();
        assert_eq!(known["resultType"], "complete", "`{method}` is answered completely: {known}");
    }
}

/// Sends bytes and reads what comes until the other side has said a status line.
fn raw(gate: &Gate, bytes: &str) -> String {
    let mut socket = TcpStream::connect(gate.address()).expect("the gateway accepts");
    socket.set_read_timeout(Some(Duration::from_secs(20))).expect("a limit");
    socket.write_all(bytes.as_bytes()).expect("it reads");
    let mut said = Vec::new();
    let mut part = [0; 4_096];
    while !said.windows(4).any(|end| end == b"\r\n\r\n") {
        match socket.read(&mut part) {
            Ok(0) | Err(_) => break,
            Ok(read) => said.extend_from_slice(part.get(..read).unwrap_or_default()),
        }
    }
    String::from_utf8_lossy(&said).into_owned()
}

#[test]
fn s49_strangers_are_turned_away_before_a_byte_of_their_body_is_read() {
    let runtime = runtime();
    let (gate, server, agent) = with_recorder(&runtime);
    let list = modern(json!(1), "tools/list", &json!({}), "{}");
    let sound = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/list")];
    for (header, value) in [("origin", "http://evil.example"), ("host", "evil.example")] {
        let refused = agent.post(&[sound[0], sound[1], (header, value)], &list);
        assert_eq!(refused.status, 403, "`{header}: {value}` is another place: {refused:?}");
    }
    let wrong = format!("Bearer twa_{}", "A".repeat(43));
    for token in ["", "Bearer ", "Basic YWJj", wrong.as_str()] {
        let refused = agent.post(&[sound[0], sound[1], ("authorization", token)], &list);
        assert_eq!(refused.status, 401, "`{token}` opens nothing: {refused:?}");
        assert!(refused.header("www-authenticate").starts_with("Bearer"), "and it says what would: {refused:?}");
    }
    // The body that is announced never comes: whoever waited for it would not answer.
    let head = format!(
        "POST /mcp/rec HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: 1000000\r\n\r\n",
        gate.address()
    );
    let said = raw(&gate, &head);
    assert!(said.starts_with("HTTP/1.1 401"), "the token is asked for before the body: {said}");
    // Two lengths, or a length beside chunks, are how requests are smuggled past a proxy.
    let token = "authorization: Bearer x\r\n";
    for lengths in ["content-length: 5\r\ncontent-length: 6\r\n", "content-length: 5\r\ntransfer-encoding: chunked\r\n"]
    {
        let said =
            raw(&gate, &format!("POST /mcp/rec HTTP/1.1\r\nhost: {}\r\n{token}{lengths}\r\nhello", gate.address()));
        let status = said.split(' ').nth(1).unwrap_or_default();
        assert!(matches!(status, "400" | "401" | ""), "`{lengths}` reaches nobody: {said}");
    }
    assert!(server.seen().calls.is_empty(), "the server behind heard of none of it");
}

#[test]
fn s55_s56_s59_s74_equal_ids_of_two_servers_are_two_handles_and_nothing_of_them_leaks() {
    let runtime = runtime();
    let (one, two) = (recorder(&runtime), recorder(&runtime));
    let mut gate = Gate::open(PROGRAM);
    gate.add_server("one", &["--url", &one.url()]);
    gate.add_server("two", &["--url", &two.url()]);
    let agent = Agent::new(&gate.url("*"), &gate.add_agent("bee"));
    let first = agent.start("one__hold", &json!({"nonce": "of one"}));
    let second = agent.start("two__hold", &json!({"nonce": "of two"}));
    assert_eq!(one.task_of("of one"), two.task_of("of two"), "both servers use the same id");
    assert_ne!(first, second, "and the agent has two");
    for id in [&first, &second] {
        let random = id.strip_prefix("hdl_").expect("our prefix");
        // 26 letters of 32 are 130 bits.
        assert!(random.len() == 26 && random.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{id}");
    }
    gate.kill();
    gate.start();
    agent.wait_status(&first, "working");
    assert_eq!(agent.ask("tasks/cancel", &json!({"taskId": first})).result()["resultType"], "complete");
    agent.wait_status(&first, "cancelled");
    let theirs = one.task_of("of one").expect("the server's id");
    assert!(one.seen().cancels.contains_key(&theirs), "the cancel found its way home");
    assert!(two.seen().cancels.is_empty(), "and no other");
    let seen = agent.ask("tasks/get", &json!({"taskId": second})).text;
    assert!(!seen.contains(&theirs), "the server's id is not in what the agent reads: {seen}");
    for server in [&one, &two] {
        let seen = server.seen();
        assert_eq!(seen.credentials, 0, "the agent's token reaches no server");
        assert_eq!(seen.violations, Vec::<String>::new(), "and the servers were spoken to correctly");
    }
}

#[test]
fn s58_a_foreign_handle_an_unknown_one_and_a_revoked_agents_are_one_answer() {
    let runtime = runtime();
    let (gate, server, bee) = with_recorder(&runtime);
    let wasp = Agent::new(&gate.url("rec"), &gate.add_agent("wasp"));
    let task = bee.start("hold", &json!({"nonce": "hold"}));
    let unknown = "hdl_00000000000000000000000000";
    for method in ["tasks/get", "tasks/cancel", "tasks/update"] {
        let foreign = wasp.ask(method, &json!({"taskId": task, "inputResponses": {}}));
        let guessed = wasp.ask(method, &json!({"taskId": unknown, "inputResponses": {}}));
        assert_eq!(foreign.refusal().1, -32602, "{foreign:?}");
        assert_eq!((foreign.status, &foreign.text), (guessed.status, &guessed.text), "`{method}` tells nothing apart");
    }
    let theirs = server.task_of("hold").expect("the server's id");
    assert!(!server.seen().cancels.contains_key(&theirs), "a foreign cancel reached nobody");

    let ran = gate.home().run(["agents", "revoke", "bee", "--yes"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(bee.ask("tasks/get", &json!({"taskId": task})).status, 403, "a revoked agent is out at once");
    gate.wait_task("what it started is stopped", |seen| seen["id"] == task.as_str() && seen["phase"] == "cancelled");
}

#[test]
fn s62_s63_ids_keep_their_type_and_state_comes_back_byte_for_byte() {
    let peer = peers::rmcp_http(RMCP_PEER);
    let gate = Gate::open(PROGRAM);
    gate.add_server("rmcp", &["--url", peer.url()]);
    gate.ask_the_agent("rmcp");
    let agent = Agent::new(&gate.url("rmcp"), &gate.add_agent("bee"));
    for id in [json!(7), json!("seven"), json!("7")] {
        let body = modern(id.clone(), "tools/call", &json!({"name": "sum", "arguments": {"a": 40, "b": 2}}), "{}");
        let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "sum")];
        assert_eq!(agent.post(&headers, &body).json()["id"], id, "the reply carries the id as it was");
    }
    let abilities = r#"{"elicitation":{"form":{}},"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;
    let call = json!({"name": "ask_before", "arguments": {}});
    let asked = agent.ask_with(abilities, "tools/call", &call).result();
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let mut again = call;
    again["inputResponses"] = json!({"go": {"action": "accept", "content": {"go": true}}});
    again["requestState"] = asked["requestState"].clone();
    let done = agent.ask_with(abilities, "tools/call", &again).result();
    assert!(done.to_string().contains("state-of-the-peer"), "the server has its own state back: {done}");
}

#[test]
fn s64_tools_of_all_servers_have_their_place_and_find_home() {
    let runtime = runtime();
    let (one, two) = (recorder(&runtime), recorder(&runtime));
    let gate = Gate::open(PROGRAM);
    gate.add_server("one", &["--url", &one.url()]);
    gate.add_server("two", &["--url", &two.url()]);
    let agent = Agent::new(&gate.url("*"), &gate.add_agent("bee"));
    let names = || {
        let listed = agent.ask("tools/list", &json!({})).result();
        let tools = listed["tools"].as_array().cloned().unwrap_or_default();
        tools.iter().filter_map(|tool| tool["name"].as_str().map(str::to_owned)).collect::<Vec<_>>()
    };
    let first = names();
    assert_eq!(first.len(), 12, "six tools of each: {first:?}");
    assert!(first.iter().all(|name| name.starts_with("one__") || name.starts_with("two__")), "{first:?}");
    assert_eq!(first, names(), "in the same order every time");
    let done = agent.ask("tools/call", &json!({"name": "two__quick", "arguments": {"nonce": "for two"}})).result();
    assert_eq!(done["resultType"], "complete", "a prefixed call is made: {done}");
    assert_eq!((one.seen().calls.len(), two.seen().calls.len()), (0, 1), "the call went to its server alone");
    let wrong = agent.ask("tools/call", &json!({"name": "three__quick", "arguments": {}}));
    assert_eq!(wrong.refusal().1, -32602, "a tool of nobody: {wrong:?}");
}

#[test]
fn s68_people_are_asked_by_default_and_the_agent_sees_work_go_on() {
    let peer = peers::rmcp_http(RMCP_PEER);
    let gate = Gate::open(PROGRAM);
    gate.add_server("rmcp", &["--url", peer.url()]);
    let agent = Agent::new(&gate.url("rmcp"), &gate.add_agent("bee"));
    let task = agent.start("ask_name", &json!({}));
    gate.home().wait_phase(&task, "waiting");
    let seen = agent.ask("tasks/get", &json!({"taskId": task})).result();
    assert_eq!(seen["status"], "working", "the agent is not asked: {seen}");
    assert!(
        seen["statusMessage"].as_str().is_some_and(|text| text.contains("person")),
        "and is told why it waits: {seen}"
    );
    let meant =
        json!({"taskId": task, "inputResponses": {"name": {"action": "accept", "content": {"name": "Mallory"}}}});
    agent.ask("tasks/update", &meant);
    let ran = gate.home().run(["tasks", "answer", &task, "--accept", r#"{"name":"Ada"}"#]);
    assert_eq!(ran.code, 0, "what the agent said did not count: {}", ran.err);
    let done = agent.wait_status(&task, "completed");
    assert!(done.to_string().contains("accept: Ada"), "{done}");
    let again = agent.ask("tasks/get", &json!({"taskId": task})).result();
    assert_eq!(again, done, "and an end is the end");
}

#[test]
fn s71_s72_a_session_of_2025_waits_for_its_result_and_hears_what_it_belongs_to() {
    let gate = Gate::open(PROGRAM);
    let everything = peers::everything_command();
    let everything: Vec<&str> = std::iter::once("--").chain(everything.iter().map(String::as_str)).collect();
    gate.add_server("everything", &everything);
    let peer = peers::rmcp_http(RMCP_PEER);
    gate.add_server("rmcp", &["--url", peer.url()]);
    let token = gate.add_agent("bee");
    let cases = [
        ("everything", "simulate-research-query", json!({"topic": "ants"}), "completed", "ants"),
        ("rmcp", "slow_sum", json!({"a": 40, "b": 2}), "completed", "42"),
        ("rmcp", "complains", json!({}), "failed", "no such bee"),
    ];
    for (server, tool, arguments, status, words) in cases {
        let agent = Agent::new(&gate.url(server), &token);
        let (session, _) = agent.open("2025-11-25");
        let call = json!({"name": tool, "arguments": arguments, "task": {}});
        let created = agent.in_session(&session, "tools/call", &call).result();
        let id = created["task"]["taskId"].clone();
        assert!(id.as_str().is_some_and(|id| id.starts_with("hdl_")), "a task of 2025 under our id: {created}");
        // It blocks until the end: one question, one answer.
        let result = agent.in_session(&session, "tasks/result", &json!({"taskId": id})).result();
        assert!(result.to_string().contains(words), "`{tool}` replays its result: {result}");
        let related = &result["_meta"]["io.modelcontextprotocol/related-task"]["taskId"];
        assert_eq!(related, &id, "and says which task it is of: {result}");
        let seen = agent.in_session(&session, "tasks/get", &json!({"taskId": id})).result();
        assert_eq!(seen["status"], status, "a tool error is `failed` in 2025: {seen}");
    }
    let agent = Agent::new(&gate.url("rmcp"), &token);
    let (session, _) = agent.open("2025-11-25");
    let created =
        agent.in_session(&session, "tools/call", &json!({"name": "breaks", "arguments": {}, "task": {}})).result();
    let replayed = agent.in_session(&session, "tasks/result", &json!({"taskId": created["task"]["taskId"]})).json();
    assert!(
        replayed["error"]["message"].as_str().is_some_and(|text| text.contains("broke")),
        "errors are replayed: {replayed}"
    );
    let endless =
        agent.in_session(&session, "tools/call", &json!({"name": "unmoved", "arguments": {}, "task": {}})).result();
    let cancelled = agent.in_session(&session, "tasks/cancel", &json!({"taskId": endless["task"]["taskId"]})).result();
    assert_eq!(
        cancelled["status"], "cancelled",
        "to its agent it is cancelled at once, whatever the server does: {cancelled}"
    );
}

#[test]
fn s73_s76_one_server_that_dies_takes_its_own_tasks_and_no_others() {
    let runtime = runtime();
    let port = peers::free_port();
    let mut mortal = peers::rmcp_http_at(RMCP_PEER, port);
    let lasting = recorder(&runtime);
    let gate = Gate::open(PROGRAM);
    gate.add_server("mortal", &["--url", mortal.url()]);
    gate.add_server("lasting", &["--url", &lasting.url()]);
    let agent = Agent::new(&gate.url("*"), &gate.add_agent("bee"));
    let lost = agent.start("mortal__forever", &json!({}));
    let kept = agent.start("lasting__hold", &json!({"nonce": "kept"}));
    mortal.kill();
    agent.wait_status(&lost, "working");
    let _again = peers::rmcp_http_at(RMCP_PEER, port);
    gate.home().wait_phase(&lost, "lost");
    let gone = agent.ask("tasks/get", &json!({"taskId": lost}));
    assert_eq!(gone.refusal().1, -32602, "only when the server is back and does not know it, it is gone: {gone:?}");
    agent.wait_status(&kept, "working");
    let quick = agent.ask("tools/call", &json!({"name": "lasting__quick", "arguments": {"nonce": "quick"}})).result();
    assert_eq!(quick["resultType"], "complete", "the other server noticed nothing: {quick}");
}

#[test]
fn s75_nothing_that_an_agent_sends_reaches_the_configuration() {
    let runtime = runtime();
    let (gate, _server, agent) = with_recorder(&runtime);
    let before = gate.home().json(["servers", "list", "--json"]);
    let evil = json!({"name": "evil", "command": ["sh", "-c", "true"]});
    for method in ["servers.add", "servers/add", "agents.add", "tasks.answer", "rules.put"] {
        let refused = agent.ask(method, &evil);
        assert_eq!(refused.refusal(), (404, -32601), "`{method}` is no method of an agent: {refused:?}");
    }
    let token = gate.add_agent("wasp");
    for path in ["api/servers.add", "api/call", "servers", "agents"] {
        let door = Agent::new(&format!("http://{}/{path}", gate.address()), &token);
        let refused = door.post(&[], &evil.to_string());
        assert!(
            (400..500).contains(&refused.status),
            "an agent's token opens `/mcp` alone, not `/{path}`: {refused:?}"
        );
    }
    let after = gate.home().json(["servers", "list", "--json"]);
    let names = |list: &Value| {
        list["servers"].as_array().into_iter().flatten().map(|one| one["name"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(names(&before), names(&after), "and no server came of it");
}
