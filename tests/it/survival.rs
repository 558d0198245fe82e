//! kill -9 of the core under calls over HTTP, of clients that only do what their SDK does: the call they wait for is
//! answered when they come back, and their session goes on without a word (decision 0024).

use std::time::Duration;

use serde_json::{Value, json};
use tests::clients::{Told, node};
use tests::gate::Gate;
use tests::home::{pause_for, wait_for};
use tests::peers;
use tests::torture::SetOnDrop;

use crate::PROGRAM;

/// Longer than the kill and the start take, shorter than a client waits.
const LONG: &str = r#"{"duration":6,"steps":3}"#;

fn client(gate: &Gate, token: &str, name: &str, call: [&str; 2]) -> Told {
    let mut client = node("resume.mjs");
    client.args(call).args(["echo", r#"{"message":"again"}"#]);
    client.env("CLIENT_URL", gate.url(name)).env("CLIENT_TOKEN", token);
    Told::start(client, gate.home().path())
}

fn until_running(gate: &Gate) {
    gate.wait_task("the call runs", |task| task["phase"] == "running" || task["phase"] == "working");
}

/// Time for the response to become a stream, so that the client knows where to come back to.
fn until_streaming() {
    pause_for(Duration::from_secs(2));
}

#[test]
fn a_call_over_http_is_answered_by_the_next_core_and_the_session_goes_on() {
    let mut gate = Gate::open(PROGRAM);
    let command = peers::everything_command();
    let command: Vec<&str> = std::iter::once("--").chain(command.iter().map(String::as_str)).collect();
    gate.add_server("everything", &command);
    let token = gate.add_agent("bee");
    let mut told = client(&gate, &token, "everything", ["trigger-long-running-operation", LONG]);
    told.wait("connected");
    until_running(&gate);
    until_streaming();
    gate.kill();
    gate.start();
    let done = told.wait("done");
    assert!(done["text"].as_str().is_some_and(|text| text.contains("completed")), "its own result: {done}");
    let ms = done["ms"].as_u64().expect("a time");
    assert!(ms < 20_000, "long before the client's limit of 60 s: {done}");
    let next = told.wait("next");
    assert_eq!(next["initialized"], 1, "nobody had to say `initialize` again");
    assert!(next["text"].as_str().is_some_and(|text| text.contains("again")), "the next call works: {next}");
    let calls = gate.tasks().iter().filter(|task| task["tool"] == "trigger-long-running-operation").count();
    assert_eq!(calls, 1, "the server was called once");
}

#[test]
fn a_call_whose_reply_is_lost_with_the_core_ends_at_once_with_what_is_known() {
    let mut gate = Gate::open(PROGRAM);
    let peer = peers::everything_http("streamableHttp");
    gate.add_server("everything", &["--url", peer.url()]);
    let token = gate.add_agent("bee");
    let mut told = client(&gate, &token, "everything", ["trigger-long-running-operation", LONG]);
    told.wait("connected");
    until_running(&gate);
    until_streaming();
    gate.kill();
    gate.start();
    let told_lost = told.wait_any(&["done", "failed"]);
    let text = told_lost.to_string();
    assert!(text.contains("not known") || text.contains("not confirmed"), "an honest word: {told_lost}");
}

/// A client that opens a connection for each request, so that none is left of a killed core.
fn without_pool() -> reqwest::Client {
    reqwest::Client::builder().pool_max_idle_per_host(0).build().expect("a client")
}

#[test]
fn a_session_of_an_earlier_core_is_its_agents_alone_and_ends_when_the_client_ends_it() {
    let mut gate = Gate::open(PROGRAM);
    let command = peers::everything_command();
    let command: Vec<&str> = std::iter::once("--").chain(command.iter().map(String::as_str)).collect();
    gate.add_server("everything", &command);
    let (bee, wasp) = (gate.add_agent("bee"), gate.add_agent("wasp"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let (http, url) = (without_pool(), gate.url("everything"));
    let ask = |token: &str, session: Option<&str>, method: reqwest::Method, body: &Value| {
        let mut request = http
            .request(method, &url)
            .bearer_auth(token)
            .header("accept", "application/json, text/event-stream")
            .header("content-type", "application/json")
            .body(body.to_string());
        if let Some(session) = session {
            request = request.header("mcp-session-id", session).header("mcp-protocol-version", "2025-11-25");
        }
        runtime.block_on(async {
            let response = request.send().await.expect("an answer");
            let session = response.headers().get("mcp-session-id").and_then(|id| id.to_str().ok()).map(str::to_owned);
            (response.status().as_u16(), session, response.text().await.expect("a body"))
        })
    };
    let who = json!({"name": "bee", "version": "1"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}}, "clientInfo": who});
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
    let (_, session, _) = ask(&bee, None, reqwest::Method::POST, &hello);
    let session = session.expect("a session");
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    gate.kill();
    gate.start();
    let (status, _, text) = ask(&wasp, Some(&session), reqwest::Method::POST, &list);
    assert_eq!(status, 404, "another agent finds nothing under this name: {text}");
    let (status, _, text) = ask(&bee, Some(&session), reqwest::Method::POST, &list);
    assert_eq!((status, text.contains("echo")), (200, true), "its own agent goes on in it: {text}");
    let (status, ..) = ask(&bee, Some(&format!("{session}x")), reqwest::Method::POST, &list);
    assert_eq!(status, 404, "a name that we did not give is none");
    let (status, ..) = ask(&bee, Some(&session), reqwest::Method::DELETE, &json!({}));
    assert_eq!(status, 204);
    let (status, ..) = ask(&bee, Some(&session), reqwest::Method::POST, &list);
    assert_eq!(status, 404, "what its client ended is over");
}

#[test]
fn a_client_that_lost_its_stream_alone_gets_the_answer_of_the_same_call() {
    let gate = Gate::open(PROGRAM);
    let command = peers::everything_command();
    let command: Vec<&str> = std::iter::once("--").chain(command.iter().map(String::as_str)).collect();
    gate.add_server("everything", &command);
    let token = gate.add_agent("bee");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let (http, url) = (without_pool(), gate.url("everything"));
    let request = |method: reqwest::Method, session: &str, body: &Value| {
        let mut request = http
            .request(method, &url)
            .bearer_auth(&token)
            .header("accept", "application/json, text/event-stream")
            .header("content-type", "application/json")
            .body(body.to_string());
        if !session.is_empty() {
            request = request.header("mcp-session-id", session).header("mcp-protocol-version", "2025-11-25");
        }
        request
    };
    runtime.block_on(async {
        let who = json!({"name": "bee", "version": "1"});
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": who});
        let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
        let opened = request(reqwest::Method::POST, "", &hello).send().await.expect("an answer");
        let session = opened.headers()["mcp-session-id"].to_str().expect("a text").to_owned();
        let params = json!({"name": "trigger-long-running-operation", "arguments": {"duration": 3, "steps": 3}});
        let call = json!({"jsonrpc": "2.0", "id": "a", "method": "tools/call", "params": params});
        let mut stream = request(reqwest::Method::POST, &session, &call).send().await.expect("a stream");
        assert_eq!(stream.headers()["content-type"], "text/event-stream", "a long call becomes a stream");
        let mut said = String::new();
        let id = loop {
            said.push_str(&String::from_utf8_lossy(&stream.chunk().await.expect("a piece").expect("it goes on")));
            let id = said.lines().find_map(|line| line.strip_prefix("id: "));
            if let Some(id) = id.filter(|_| said.contains("\ndata: \n")) {
                break id.to_owned();
            }
        };
        assert!(said.contains("retry: 2000"), "it says when to come back: {said}");
        drop(stream);
        let back = request(reqwest::Method::GET, &session, &Value::Null).header("last-event-id", &id);
        let text = back.send().await.expect("a stream").text().await.expect("it ends with the answer");
        let answer = text.lines().filter_map(|line| line.strip_prefix("data: {")).next().expect("an answer");
        let answer: Value = serde_json::from_str(&format!("{{{answer}")).expect("JSON");
        assert_eq!(answer["id"], "a", "the answer to its request: {text}");
        assert!(answer["result"]["content"][0]["text"].as_str().is_some_and(|text| text.contains("completed")));
        assert!(text.contains("id: end"), "and nothing to come back for: {text}");
        for (last, status) in [("end", 405), (id.as_str(), 200)] {
            let back = request(reqwest::Method::GET, &session, &Value::Null).header("last-event-id", last);
            let answer = back.send().await.expect("an answer");
            assert_eq!(answer.status(), status, "{last}");
            // Read to its end: who hangs up on an answer is taken not to have it, and the same call would join it.
            answer.text().await.expect("it ends");
        }
        let call = json!({"jsonrpc": "2.0", "id": "b", "method": "tools/call", "params": params});
        let again = request(reqwest::Method::POST, &session, &call).send().await.expect("a stream");
        assert!(again.text().await.expect("it ends").contains("completed"), "it works");
    });
    let calls = gate.tasks().iter().filter(|task| task["tool"] == "trigger-long-running-operation").count();
    assert_eq!(calls, 2, "coming back is no call, and the same call after its answer is a new one");
}

#[test]
fn eight_clients_through_bridges_call_on_while_their_core_is_killed_ten_times() {
    let mut gate = Gate::open(PROGRAM);
    let command = peers::everything_command();
    let command: Vec<&str> = std::iter::once("--").chain(command.iter().map(String::as_str)).collect();
    gate.add_server("everything", &command);
    let token = gate.add_agent("bee");
    gate.kill();
    // Eight clients without a pause are more than one agent may send.
    let calm = "listen = \"off\"\n[policy.gateway]\nrequests_per_second = 1000000\nrequests_burst = 1000000\n";
    std::fs::write(gate.home().data().join("config.toml"), calm).expect("the configuration can be written");
    let over = std::sync::atomic::AtomicBool::new(false);
    let commands: Vec<_> = (0..8).map(|_| gate.connect("everything", "bee", &token)).collect();
    let lock = gate.home().data().join("core.lock");
    let core = || std::fs::read_to_string(&lock).ok()?.trim().parse::<i32>().ok();
    std::thread::scope(|threads| {
        let clients: Vec<_> = commands
            .into_iter()
            .enumerate()
            .map(|(number, command)| {
                let over = &over;
                threads.spawn(move || {
                    let mut agent = tests::agent::Agent::over_bridge(&command);
                    let mut call = |message: String| {
                        let params = json!({"name": "echo", "arguments": {"message": message}});
                        let answer = agent.ask("tools/call", params).expect("the bridge stays");
                        let text = ended(&mut agent, answer).to_string();
                        (text.contains(&message), text)
                    };
                    for turn in 0_u32.. {
                        // How many calls fit between the kills depends on the machine; the one after them succeeds.
                        let is_last = over.load(std::sync::atomic::Ordering::Relaxed);
                        let (is_own, text) = call(format!("{number} {turn}"));
                        if is_last {
                            assert!(is_own, "after the kills a call succeeds: {text}");
                            break;
                        }
                        // A call that the kill hit may be unconfirmed; none has another's answer, and none is missing.
                        assert!(is_own || text.contains("not "), "its own answer: {text}");
                    }
                })
            })
            .collect();
        let killing = SetOnDrop(&over);
        for _ in 0..10 {
            let pid = wait_for(
                "a core of a bridge listens",
                || {
                    let pid = core()?;
                    std::os::unix::net::UnixStream::connect(gate.home().data().join("core.sock")).ok()?;
                    std::path::Path::new(&format!("/proc/{pid}")).exists().then_some(pid)
                },
                String::new,
            );
            pause_for(Duration::from_millis(300));
            let pid = rustix::process::Pid::from_raw(pid).expect("a process");
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("it is killed");
            wait_for("it is gone", || rustix::process::test_kill_process(pid).is_err().then_some(()), String::new);
        }
        drop(killing);
        for client in clients {
            client.join().expect("a client fell over");
        }
    });
}

/// What a call came to: on a busy machine a quick call too is a task first, and its end is asked for by its handle.
fn ended(agent: &mut tests::agent::Agent, mut answer: Value) -> Value {
    for () in tests::home::looks() {
        let result = &answer["result"];
        let is_task = result["resultType"] == "task" || result["status"] == "working";
        if !is_task {
            return answer;
        }
        let id = result["taskId"].clone();
        answer = agent.ask("tasks/get", json!({"taskId": id})).expect("the bridge stays");
    }
    panic!("the task does not end: {answer}");
}
