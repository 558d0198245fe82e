//! Statements 10-27: mirrored headers, what an answer means, and tasks of the 2026-07-28 dialect.

mod many_questions;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tests::home::{Home, wait_for};
use tests::hostile::{self, Deed};
use tests::peers;

use super::{Log, add_url, error, modern, no_method, open_questions, result, result_text, task_2026};
use crate::{PROGRAM, RMCP_PEER};

/// The status of a raw `tools/call` of `grüße`, with these mirrored headers and no other.
fn raw_call(url: &str, mirrored: &str) -> String {
    let address = url.trim_start_matches("http://").trim_end_matches("/mcp");
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
    });
    let params = json!({"name": "grüße", "arguments": {"region": "łódź"}, "_meta": meta});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
         MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\n{mirrored}Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(address).expect("the peer listens");
    stream.write_all(request.as_bytes()).expect("the request is sent");
    let mut reply = String::new();
    let _ = stream.read_to_string(&mut reply);
    reply.lines().next().unwrap_or_default().to_owned()
}

#[test]
fn s10_s11_rmcp_checks_mirrored_headers_and_takes_ours_whatever_is_in_them() {
    let home = Home::new(PROGRAM);
    let _core = home.serve();
    let peer = peers::rmcp_http(RMCP_PEER);
    let name = "Mcp-Name: =?base64?Z3LDvMOfZQ==?=\r\n";
    let region = "Mcp-Param-Region: =?base64?xYLDs2TFug==?=\r\n";
    assert!(raw_call(peer.url(), &format!("{name}{region}")).contains("200"), "the check of this test is right");
    assert!(raw_call(peer.url(), name).contains("400"), "rmcp holds a missing parameter against a client");
    assert!(raw_call(peer.url(), &format!("Mcp-Name: hello\r\n{region}")).contains("400"), "and a wrong name");

    add_url(&home, "rmcp", peer.url(), "up");
    for arguments in [
        json!({"region": "eu-1", "place": {"floor": 3}, "loud": true}),
        json!({"region": "łódź \t", "place": {"floor": -1}}),
        json!({"region": "=?base64?bm90IGVuY29kZWQ=?="}),
        json!({"region": " leading", "place": {}, "loud": false}),
        json!({}),
    ] {
        let id = home.call("rmcp", "grüße", &arguments);
        home.wait_phase(&id, "done");
        let text = result_text(&home, &id);
        let key = arguments["region"].as_str().map_or("got {}".to_owned(), |region| json!(region).to_string());
        let got: Value = serde_json::from_str(&text).unwrap_or_else(|_| json!(text));
        assert!(got.to_string().contains(&key) || text.contains(&key), "the call ran with {arguments}: {text}");
    }
}

#[test]
fn s10_s15_every_request_of_a_task_names_it_and_declares_the_extension() {
    let home = Home::new(PROGRAM);
    let _core = home.serve();
    let log = Log::default();
    let id = "zażółć/7?x=#";
    let encoded = "=?base64?emHFvMOzxYLEhy83P3g9Iw==?=";
    let server = log.serve(move |asked| match asked.method() {
        "tools/call" => Deed::Say(hostile::created(&asked.id(), id)),
        "tasks/get" => result(asked, &task_2026(id, "working", &json!({}))),
        "tasks/cancel" => result(asked, &json!({"resultType": "complete"})),
        _ => modern(asked, no_method),
    });
    add_url(&home, "strict", &server.url(), "up");
    let task = home.call("strict", "job", &json!({}));
    log.wait_for("tasks/get", 1);
    assert_eq!(home.run(["tasks", "cancel", &task, "--yes"]).code, 0);
    for note in log.all() {
        let about = note.method().to_owned();
        let abilities = &note.body["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"];
        assert!(abilities["extensions"]["io.modelcontextprotocol/tasks"].is_object(), "{about}: {abilities}");
        assert_eq!(abilities["sampling"], Value::Null, "{about}: what people do not answer is not declared");
        assert_eq!(abilities["roots"], Value::Null, "{about}");
        match about.as_str() {
            "tools/call" => assert_eq!(note.header("mcp-name"), Some("job")),
            "tasks/get" | "tasks/cancel" => {
                assert_eq!(note.header("mcp-name"), Some(encoded), "{about}: the id is encoded");
                assert_eq!(note.body["params"]["taskId"], id, "{about}: and untouched in the body");
            }
            _ => assert_eq!(note.header("mcp-name"), None, "{about} has no name"),
        }
    }
}

#[test]
fn s13_s16_s24_labels_of_results_are_read_as_the_protocol_says() {
    let home = Home::new(PROGRAM);
    let _core = home.serve();
    let done = json!({"content": [{"type": "text", "text": "worked"}]});
    for (name, label, phase) in [
        ("plain", json!("complete"), "done"),
        ("slip", json!("task"), "done"),
        ("absent", Value::Null, "done"),
        ("stranger", json!("meditation"), "silent"),
    ] {
        let done = done.clone();
        let server = Log::default().serve(move |asked| match asked.method() {
            "tasks/get" => {
                let mut task = task_2026("task-1", "completed", &json!({"result": done}));
                if label.is_null() {
                    task.as_object_mut().expect("an object").remove("resultType");
                } else {
                    task["resultType"] = label.clone();
                }
                result(asked, &task)
            }
            _ => modern(asked, no_method),
        });
        add_url(&home, name, &server.url(), "up");
        let id = home.call(name, "job", &json!({}));
        let task = home.wait_phase(&id, phase);
        if phase == "silent" {
            assert!(task["contact"].to_string().contains("resultType"), "the reason names the place: {task}");
        }
    }
    let ghost = Log::default().serve(|asked| match asked.method() {
        "tools/list" => Deed::Say(hostile::created(&asked.id(), "ghost")),
        _ => modern(asked, no_method),
    });
    home.run(["servers", "add", "ghost", "--yes", "--url", &ghost.url()]);
    let listed = home.json(["tasks", "list", "--json"]);
    assert!(!listed.to_string().contains("\"server\":\"ghost\""), "no task comes of a list of tools: {listed}");
}

#[test]
fn s13_a_call_whose_reply_has_an_unknown_label_is_not_taken_for_a_result() {
    let home = Home::new(PROGRAM);
    let _core = home.serve();
    let server = Log::default().serve(|asked| match asked.method() {
        "tools/call" => result(asked, &json!({"resultType": "meditation", "content": []})),
        _ => modern(asked, no_method),
    });
    add_url(&home, "odd", &server.url(), "up");
    let id = home.call("odd", "job", &json!({}));
    let task = home.wait_phase(&id, "unconfirmed");
    assert!(task.to_string().contains("resultType"), "and it says what could not be read: {task}");
}

#[test]
fn s17_no_look_comes_earlier_than_the_last_hint_also_when_it_changes() {
    let home = Home::new(PROGRAM);
    let _core = home.serve();
    let log = Log::default();
    let looks = AtomicU32::new(0);
    // Two quick looks, then the server asks for peace, then for quicker looks again.
    let hints: [u64; 10] = [200, 200, 1_500, 1_500, 1_500, 300, 300, 300, 300, 300];
    let server = log.serve(move |asked| match asked.method() {
        "tasks/get" => {
            let look = looks.fetch_add(1, Ordering::Relaxed) as usize;
            let hint = hints.get(look).copied().unwrap_or(300);
            result(asked, &task_2026("task-1", "working", &json!({"pollIntervalMs": hint})))
        }
        _ => modern(asked, no_method),
    });
    add_url(&home, "calm", &server.url(), "up");
    home.call("calm", "job", &json!({}));
    let notes = log.wait_for("tasks/get", hints.len());
    for (look, hint) in hints.iter().enumerate().take(hints.len() - 1) {
        let gap = notes[look + 1].at.duration_since(notes[look].at);
        // The clock starts when the reply is read here; a millisecond is the way.
        assert!(gap + Duration::from_millis(1) >= Duration::from_millis(*hint), "look {look}: {gap:?} after {hint} ms");
    }
    // One look may come late on a busy machine, but not all of them as late as the old hint says.
    let quick = notes[5..].windows(2).map(|two| two[1].at.duration_since(two[0].at)).min().expect("several looks");
    assert!(quick < Duration::from_millis(1_500), "a shorter hint takes effect at the next look: {quick:?}");
}

#[test]
fn s18_tasks_of_rmcp_are_followed_on_after_the_core_was_killed() {
    let home = Home::new(PROGRAM);
    let core = home.serve();
    let peer = peers::rmcp_http(RMCP_PEER);
    add_url(&home, "rmcp", peer.url(), "up");
    let work = home.call("rmcp", "slow_sum", &json!({"a": 40, "b": 2, "millis": 3_000}));
    let asks = home.call("rmcp", "ask_name", &json!({}));
    home.wait_phase(&asks, "waiting");
    core.kill();
    let _core = home.serve();
    home.wait_phase(&work, "done");
    assert!(result_text(&home, &work).contains("42"), "the work went on meanwhile");
    assert_eq!(open_questions(&home, &asks).len(), 1, "the question is there once");
    let answered = home.run(["tasks", "answer", &asks, "--accept", r#"{"name":"Ada"}"#]);
    assert_eq!(answered.code, 0, "{}", answered.err);
    home.wait_phase(&asks, "done");
    assert!(result_text(&home, &asks).contains("Ada"));
}

#[test]
fn s19_s20_a_key_is_asked_and_answered_once_whatever_later_looks_say() {
    let home = Home::new(PROGRAM);
    let core = home.serve();
    let log = Log::default();
    let after = Arc::new(AtomicU32::new(0));
    let looks = Arc::clone(&after);
    let answered = Arc::new(AtomicU32::new(0));
    let answers = Arc::clone(&answered);
    let server = log.serve(move |asked| match asked.method() {
        "tasks/get" => {
            let late = answers.load(Ordering::Relaxed) > 0 && looks.fetch_add(1, Ordering::Relaxed) > 12;
            if late {
                return result(asked, &task_2026("task-1", "completed", &json!({"result": {"content": []}})));
            }
            // The same key for as long as the server is slow to notice its answer.
            let ask = json!({"method": "elicitation/create", "params": {"mode": "form", "message": "Go on?",
                "requestedSchema": {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}}});
            result(asked, &task_2026("task-1", "input_required", &json!({"inputRequests": {"go": ask}})))
        }
        "tasks/update" => {
            answers.fetch_add(1, Ordering::Relaxed);
            result(asked, &json!({"resultType": "complete"}))
        }
        _ => modern(asked, no_method),
    });
    add_url(&home, "slow", &server.url(), "up");
    let id = home.call("slow", "job", &json!({}));
    home.wait_phase(&id, "waiting");
    let seen = log.of("tasks/get").len();
    log.wait_for("tasks/get", seen + 4);
    assert_eq!(open_questions(&home, &id).len(), 1, "asked once however often it is seen");
    assert_eq!(home.run(["tasks", "answer", &id, "--accept", r#"{"word":"yes"}"#]).code, 0);
    let seen = log.of("tasks/get").len();
    log.wait_for("tasks/get", seen + 3);
    assert_eq!(open_questions(&home, &id).len(), 0, "not asked again while the server still lists it");
    core.kill();
    let _core = home.serve();
    let seen = log.of("tasks/get").len();
    log.wait_for("tasks/get", seen + 3);
    assert_eq!(open_questions(&home, &id).len(), 0, "nor after a restart");
    home.wait_phase(&id, "done");
    let sent = log.of("tasks/update");
    assert_eq!(sent.len(), 1, "answered once: {sent:?}");
    let answer = &sent[0].body["params"]["inputResponses"]["go"];
    assert_eq!(answer, &json!({"action": "accept", "content": {"word": "yes"}}), "the bare result, no envelope");
}

#[test]
fn s22_s23_s25_ends_of_rmcp_tasks_are_told_apart() {
    let home = Home::new(PROGRAM);
    let _core = home.serve();
    let port = peers::free_port();
    let mut peer = peers::rmcp_http_at(RMCP_PEER, port);
    add_url(&home, "rmcp", peer.url(), "up");
    let tool_error = home.call("rmcp", "complains", &json!({}));
    home.wait_phase(&tool_error, "doneWithError");
    let told = home.run(["tasks", "result", &tool_error]);
    assert!(told.out.contains("no such bee") && told.code == 1, "its words are its result: {} {}", told.out, told.err);
    let broken = home.call("rmcp", "breaks", &json!({}));
    let task = home.wait_phase(&broken, "failed");
    assert_eq!((&task["error"]["code"], &task["error"]["message"]), (&json!(-32603), &json!("it broke")), "{task}");
    let shown = home.run(["tasks", "show", &broken]).out;
    assert!(shown.contains("-32603") && shown.contains("it broke"), "code and message are shown: {shown}");

    let stranger = home.run(["tasks", "adopt", "rmcp", "never-heard-of"]);
    assert_eq!(stranger.code, 4, "{}", stranger.err);
    assert!(!stranger.err.contains("failed"), "an unknown task is not a failed one: {}", stranger.err);
    let forgotten = home.call("rmcp", "forever", &json!({}));
    home.wait_phase(&forgotten, "running");
    peer.kill();
    let _peer = peers::rmcp_http_at(RMCP_PEER, port);
    let task = home.wait_phase(&forgotten, "lost");
    assert_eq!(task["error"], Value::Null, "lost by the server, not failed: {task}");
}

#[test]
fn s27_a_missing_capability_is_named_and_says_what_to_do() {
    let home = Home::new(PROGRAM);
    let _core = home.serve();
    let missing = json!({"requiredCapabilities": {"sampling": {}, "extensions": {"com.example/wings": {}}}});
    let server = Log::default().serve(move |asked| match asked.method() {
        "tools/call" => error(asked, "400 Bad Request", -32_021, "not without", &missing),
        _ => modern(asked, no_method),
    });
    add_url(&home, "needy", &server.url(), "up");
    let ran = home.run(["call", "needy", "job", "--args", "{}", "--wait"]);
    let said = format!("{}{}", ran.out, ran.err);
    assert_eq!(ran.code, 1, "the call failed: {said}");
    for word in ["-32021", "not without", "sampling", "com.example/wings"] {
        assert!(said.contains(word), "`{word}` is named: {said}");
    }
}

#[test]
fn s26_what_a_subscription_does_not_take_is_polled_and_a_dropped_one_is_opened_again() {
    let home = Home::new(PROGRAM);
    let _core = home.serve();
    let log = Log::default();
    let calls = AtomicU32::new(0);
    let server = log.serve(move |asked| match asked.method() {
        "tools/call" => {
            let number = calls.fetch_add(1, Ordering::Relaxed) + 1;
            Deed::Say(hostile::created(&asked.id(), &format!("task-{number}")))
        }
        "tasks/get" => {
            let id = asked.body["params"]["taskId"].as_str().unwrap_or_default().to_owned();
            result(asked, &task_2026(&id, "working", &json!({})))
        }
        "subscriptions/listen" => {
            // It takes the first task only, says that it goes on, and drops the stream without a word.
            let id: Value = serde_json::from_str(&asked.id()).unwrap_or_default();
            let meta = json!({"io.modelcontextprotocol/subscriptionId": id});
            let taken = json!({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged",
                "params": {"notifications": {"taskIds": ["task-1"]}, "_meta": meta}});
            let told = task_2026("task-1", "working", &json!({"statusMessage": "pushed", "_meta": meta}));
            let pushed = json!({"jsonrpc": "2.0", "method": "notifications/tasks", "params": told});
            let body = format!("data: {taken}\n\ndata: {pushed}\n\n");
            Deed::Say(hostile::with_type("200 OK", "text/event-stream", body.as_bytes()))
        }
        _ => modern(asked, no_method),
    });
    add_url(&home, "pusher", &server.url(), "up");
    let first = home.call("pusher", "job", &json!({}));
    home.call("pusher", "job", &json!({}));
    log.wait_for("subscriptions/listen", 2);
    let of = |id: &str| log.of("tasks/get").iter().filter(|note| note.body["params"]["taskId"] == id).count();
    let (one, two) = (of("task-1"), of("task-2"));
    wait_for(
        "both tasks are looked at again: one is not taken, the other's stream was dropped",
        || (of("task-1") > one && of("task-2") > two + 2).then_some(()),
        || format!("{:?}", log.methods()),
    );
    let listens = log.of("subscriptions/listen");
    let all: Vec<&Value> =
        listens.iter().flat_map(|note| note.body["params"]["notifications"]["taskIds"].as_array()).flatten().collect();
    assert!(all.contains(&&json!("task-2")), "the second is asked for too: {all:?}");
    assert!(listens.windows(2).all(|two| two[0].body["id"] != two[1].body["id"]), "each with an id of its own");
    assert_eq!(home.task(&first)["phase"], "running", "a dropped stream says nothing about a task");
}
