//! Statements 28-36 and the sessions of 8: the 2025-11-25 dialect, its side channel for questions, and its streams.

mod many_questions;

use std::io::Write as _;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tests::home::{Home, wait_for};
use tests::hostile::{self, Asked, Deed};
use tests::peers;

use super::{Log, add_url, error, open_questions, result, result_text, task_2025};
use crate::PROGRAM;

const RELATED: &str = "io.modelcontextprotocol/related-task";

/// Opens a 2025-11-25 server with a session and these capabilities and tools; what it does not know goes to `rest`.
pub(crate) fn legacy(asked: &Asked, tasks: &Value, tools: &Value, rest: impl FnOnce(&Asked) -> Deed) -> Deed {
    match (asked.verb.as_str(), asked.method()) {
        ("POST", "server/discover") => error(asked, "400 Bad Request", -32_000, "no session", &Value::Null),
        ("POST", "initialize") => {
            let mut capabilities = json!({"tools": {}});
            if !tasks.is_null() {
                capabilities["tasks"] = tasks.clone();
            }
            let hello = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities,
                "serverInfo": {"name": "old", "version": "1"}});
            in_session("s1", result(asked, &hello))
        }
        ("POST", "tools/list") => result(asked, &json!({"tools": tools})),
        ("POST", "ping") => result(asked, &json!({})),
        // Notifications, and answers to what the server asked.
        ("POST", _) if asked.body.get("id").is_none() || asked.body.get("method").is_none() => {
            Deed::Say(hostile::json("202 Accepted", ""))
        }
        ("DELETE", _) => Deed::Say(hostile::json("200 OK", "")),
        _ => rest(asked),
    }
}

fn in_session(session: &str, deed: Deed) -> Deed {
    match deed {
        Deed::Say(bytes) => {
            let text = String::from_utf8(bytes).expect("our own bytes");
            Deed::Say(text.replacen("\r\n", &format!("\r\nMcp-Session-Id: {session}\r\n"), 1).into_bytes())
        }
        other => other,
    }
}

pub(crate) fn all_tasks() -> Value {
    json!({"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}})
}

pub(crate) fn tool(name: &str, support: Option<&str>) -> Value {
    let mut tool = json!({"name": name, "inputSchema": {"type": "object"}});
    if let Some(support) = support {
        tool["execution"] = json!({"taskSupport": support});
    }
    tool
}

pub(crate) fn no_stream(asked: &Asked) -> Deed {
    match asked.verb.as_str() {
        "GET" => Deed::Say(hostile::with_type("405 Method Not Allowed", "text/plain", b"")),
        _ => error(asked, "200 OK", -32_601, "no such method", &Value::Null),
    }
}

pub(crate) fn begin_stream(stream: &mut TcpStream) {
    let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n");
}

pub(crate) fn event(stream: &mut TcpStream, message: &Value) {
    let _ = stream.write_all(format!("data: {message}\n\n").as_bytes());
    let _ = stream.flush();
}

pub(crate) fn question(id: &str, meta: &Value) -> Value {
    let schema = json!({"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]});
    json!({"jsonrpc": "2.0", "id": id, "method": "elicitation/create",
        "params": {"message": "Which word?", "requestedSchema": schema, "_meta": meta}})
}

/// The answer to a question, once it came.
pub(crate) fn answer_to(log: &Log, id: &str) -> Value {
    wait_for(
        "the question is answered",
        || log.all().into_iter().map(|note| note.body).find(|body| body["id"] == id && body.get("method").is_none()),
        || format!("{:?}", log.methods()),
    )
}

#[test]
fn s30_s31_s32_a_question_on_the_result_stream_is_answered_there_and_an_error_is_the_outcome() {
    let home = Home::new(PROGRAM);
    let _core = home.serve();
    let log = Log::default();
    let (over, heard) = (Arc::new(AtomicBool::new(false)), log.clone());
    let server = log.serve(move |asked| {
        let (over, heard) = (Arc::clone(&over), heard.clone());
        legacy(asked, &all_tasks(), &json!([tool("job", Some("required"))]), |asked| match asked.method() {
            "tools/call" => result(asked, &json!({"task": task_2025("3", "working", &json!({"pollInterval": 2_000}))})),
            "tasks/get" => {
                let status = if over.load(Ordering::Relaxed) { "failed" } else { "input_required" };
                result(asked, &task_2025("3", status, &json!({"pollInterval": 2_000})))
            }
            "tasks/result" => {
                let id = asked.body["id"].clone();
                let broke =
                    json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32_050, "message": "the hive is empty"}});
                Deed::Talk(Box::new(move |stream| {
                    begin_stream(stream);
                    if !over.load(Ordering::Relaxed) {
                        event(stream, &question("q-1", &json!({RELATED: {"taskId": "3"}})));
                        answer_to(&heard, "q-1");
                        over.store(true, Ordering::Relaxed);
                    }
                    event(stream, &broke);
                }))
            }
            _ => no_stream(asked),
        })
    });
    add_url(&home, "old", &server.url(), "up");
    let id = home.call("old", "job", &json!({}));
    home.wait_phase(&id, "waiting");
    let all = log.all();
    let opened = all.iter().position(|note| note.method() == "tasks/result").expect("a stream for questions");
    let looked = all.iter().take(opened).filter(|note| note.method() == "tasks/get").count();
    assert_eq!(looked, 1, "a stream for questions is open within one interval: {:?}", log.methods());
    assert_eq!(log.of("tasks/result").len(), 1, "one is enough");
    assert_eq!(open_questions(&home, &id).len(), 1, "it is asked once");
    assert_eq!(home.run(["tasks", "answer", &id, "--accept", r#"{"word":"bees"}"#]).code, 0);
    let answer = answer_to(&log, "q-1");
    assert_eq!(answer["result"]["action"], "accept");
    assert_eq!(answer["result"]["content"], json!({"word": "bees"}));
    assert_eq!(answer["result"]["_meta"][RELATED], json!({"taskId": "3"}), "the answer names its task: {answer}");
    let task = home.wait_phase(&id, "failed");
    assert_eq!(task["error"]["code"], -32_050, "the error of `tasks/result` is the outcome: {task}");
    assert_eq!(task["error"]["message"], "the hive is empty");
    let answers = log.all().iter().filter(|note| note.body["id"] == "q-1").count();
    assert_eq!(answers, 1, "answered once");
}

#[test]
fn s30_s35_s36_progress_and_questions_come_on_the_standing_stream_and_nothing_else_is_needed() {
    let home = Home::new(PROGRAM);
    let _core = home.serve();
    let log = Log::default();
    let (over, heard) = (Arc::new(AtomicBool::new(false)), log.clone());
    let server = log.serve(move |asked| {
        let (over, heard) = (Arc::clone(&over), heard.clone());
        legacy(asked, &all_tasks(), &json!([tool("job", Some("optional"))]), |asked| match asked.method() {
            "tools/call" => result(asked, &json!({"task": task_2025("3", "working", &json!({}))})),
            "tasks/get" => {
                // It says `working` while it asks, as some servers do.
                let status = if over.load(Ordering::Relaxed) { "completed" } else { "working" };
                result(asked, &task_2025("3", status, &json!({})))
            }
            "tasks/result" => result(
                asked,
                &json!({"content": [{"type": "text", "text": "honey"}], "_meta": {RELATED: {"taskId": "3"}}}),
            ),
            _ if asked.verb == "GET" && asked.header("mcp-session-id") == Some("s1") => {
                Deed::Talk(Box::new(move |stream| {
                    begin_stream(stream);
                    let call = heard.wait_for("tools/call", 1).remove(0).body;
                    // The handle has been returned once somebody looks at it.
                    heard.wait_for("tasks/get", 2);
                    let token = &call["params"]["_meta"]["progressToken"];
                    event(
                        stream,
                        &json!({"jsonrpc": "2.0", "method": "notifications/progress",
                        "params": {"progressToken": token, "progress": 3, "total": 8, "message": "third frame"}}),
                    );
                    event(stream, &question("q-2", &json!({})));
                    answer_to(&heard, "q-2");
                    over.store(true, Ordering::Relaxed);
                }))
            }
            _ => no_stream(asked),
        })
    });
    add_url(&home, "old", &server.url(), "up");
    let id = home.call("old", "job", &json!({}));
    wait_for(
        "progress with the token of the call reaches the task",
        || {
            Some(home.task(&id))
                .filter(|task| task["progress"]["done"] == 3.0 && task["progress"]["message"] == "third frame")
        },
        || home.task(&id).to_string(),
    );
    home.wait_phase(&id, "waiting");
    let seen = log.of("tasks/get").len();
    log.wait_for("tasks/get", seen + 3);
    assert_eq!(open_questions(&home, &id).len(), 1, "no later `working` closes a question that is not answered");
    assert_eq!(home.run(["tasks", "answer", &id, "--decline"]).code, 0);
    let answer = answer_to(&log, "q-2");
    assert_eq!(answer["result"]["action"], "decline");
    assert_eq!(answer["result"].get("content"), None, "a no has no content: {answer}");
    assert_eq!(answer["result"]["_meta"][RELATED], json!({"taskId": "3"}), "also where the question did not: {answer}");
    home.wait_phase(&id, "done");
    assert!(result_text(&home, &id).contains("honey"));
}

#[test]
fn s28_s29_a_call_is_augmented_exactly_where_server_and_tool_allow_it() {
    let home = Home::new(PROGRAM);
    let _core = home.serve();
    let tools = json!([
        tool("required", Some("required")),
        tool("optional", Some("optional")),
        tool("forbidden", Some("forbidden")),
        tool("unsaid", None),
        tool("odd", Some("perhaps")),
    ]);
    for (server_name, abilities, augmented) in [
        ("full", all_tasks(), ["required", "optional"].as_slice()),
        ("lists-only", json!({"list": {}, "cancel": {}}), &[]),
        ("empty", json!({}), &[]),
        ("none", Value::Null, &[]),
    ] {
        let log = Log::default();
        let (abilities, tools) = (abilities, tools.clone());
        let server = log.serve(move |asked| {
            legacy(asked, &abilities, &tools, |asked| match asked.method() {
                "tools/call" if asked.body["params"].get("task").is_some() => {
                    result(asked, &json!({"task": task_2025("3", "completed", &json!({}))}))
                }
                "tools/call" | "tasks/result" => result(asked, &json!({"content": []})),
                "tasks/get" => result(asked, &task_2025("3", "completed", &json!({}))),
                "tasks/list" => result(asked, &json!({"tasks": []})),
                _ => no_stream(asked),
            })
        });
        add_url(&home, server_name, &server.url(), "up");
        for name in ["required", "optional", "forbidden", "unsaid", "odd"] {
            let id = home.call(server_name, name, &json!({}));
            home.wait_phase(&id, "done");
        }
        let calls = log.of("tools/call");
        let with_task: Vec<&str> = calls
            .iter()
            .filter(|note| note.body["params"].get("task").is_some())
            .filter_map(|note| note.body["params"]["name"].as_str())
            .collect();
        assert_eq!(with_task, augmented, "on `{server_name}`");
    }
}

#[test]
fn s33_the_list_is_read_to_its_end_and_only_where_it_was_declared() {
    let home = Home::new(PROGRAM);
    let _core = home.serve();
    let log = Log::default();
    let server = log.serve(|asked| {
        legacy(asked, &all_tasks(), &json!([]), |asked| match asked.method() {
            "tasks/list" => match asked.body["params"]["cursor"].as_str() {
                None => {
                    result(asked, &json!({"tasks": [task_2025("one", "working", &json!({}))], "nextCursor": "a=="}))
                }
                Some("a==") => result(asked, &json!({"tasks": [], "nextCursor": "0"})),
                Some("0") => {
                    result(asked, &json!({"tasks": [task_2025("two", "working", &json!({}))], "nextCursor": "c"}))
                }
                Some("c") => result(asked, &json!({"tasks": [task_2025("three", "working", &json!({}))]})),
                Some(_) => error(asked, "200 OK", -32_602, "no such cursor", &Value::Null),
            },
            "tasks/get" => {
                let id = asked.body["params"]["taskId"].as_str().unwrap_or_default().to_owned();
                result(asked, &task_2025(&id, "working", &json!({})))
            }
            _ => no_stream(asked),
        })
    });
    add_url(&home, "lists", &server.url(), "up");
    let listed = || home.json(["tasks", "list", "--server", "lists", "--json"]);
    wait_for(
        "all pages are read",
        || {
            Some(listed())
                .filter(|list| list["tasks"].as_array().or(list["items"].as_array()).is_some_and(|all| all.len() == 3))
        },
        || format!("{} {:?}", listed(), log.of("tasks/list").iter().map(|note| note.body.clone()).collect::<Vec<_>>()),
    );

    let log = Log::default();
    let server = log.serve(|asked| {
        let abilities = json!({"requests": {"tools": {"call": {}}}});
        legacy(asked, &abilities, &json!([tool("job", Some("required"))]), |asked| match asked.method() {
            "tools/call" => result(asked, &json!({"task": task_2025("3", "working", &json!({}))})),
            "tasks/get" => result(asked, &task_2025("3", "completed", &json!({}))),
            "tasks/result" => result(asked, &json!({"content": []})),
            _ => no_stream(asked),
        })
    });
    add_url(&home, "private", &server.url(), "up");
    let id = home.call("private", "job", &json!({}));
    home.wait_phase(&id, "done");
    assert_eq!(log.of("tasks/list").len(), 0, "what was not declared is not asked for: {:?}", log.methods());
}

#[test]
fn s34_a_cancel_that_comes_too_late_raises_no_alarm() {
    let home = Home::new(PROGRAM);
    let _core = home.serve();
    let log = Log::default();
    let over = Arc::new(AtomicBool::new(false));
    let server = log.serve(move |asked| {
        legacy(asked, &all_tasks(), &json!([tool("job", Some("required"))]), |asked| match asked.method() {
            "tools/call" => result(asked, &json!({"task": task_2025("3", "working", &json!({"pollInterval": 6_000}))})),
            "tasks/get" => {
                let status = if over.load(Ordering::Relaxed) { "completed" } else { "working" };
                result(asked, &task_2025("3", status, &json!({"pollInterval": 6_000})))
            }
            "tasks/cancel" => {
                over.store(true, Ordering::Relaxed);
                error(asked, "200 OK", -32_602, "task is already over", &Value::Null)
            }
            "tasks/result" => result(asked, &json!({"content": [{"type": "text", "text": "honey"}]})),
            _ => no_stream(asked),
        })
    });
    add_url(&home, "late", &server.url(), "up");
    let id = home.call("late", "job", &json!({}));
    log.wait_for("tasks/get", 1);
    let ran = home.run(["tasks", "cancel", &id, "--yes", "--wait"]);
    let task = home.wait_phase(&id, "done");
    assert_eq!(task["intent"]["state"], "finishedAnyway", "it is told as what it is: {task}");
    let said = format!("{}{}", ran.out, ran.err);
    assert!(!said.contains("-32602") && !said.to_lowercase().contains("refused"), "no alarm: {said}");
    assert!(said.contains("finished"), "and it says what happened: {said}");
    assert!(result_text(&home, &id).contains("honey"), "with its result");
    assert_eq!(log.of("tasks/cancel").len(), 1, "asked once");
}

/// How long the server of the next test wants us to stay away before we come back for an answer.
const RETRY: Duration = Duration::from_millis(1_700);

/// A server that counts its sessions, ends one when `ended` is set, and answers a call only to who comes back for it.
fn strict_about_sessions(asked: &Asked, log: &Log, sessions: &AtomicU32, ended: &AtomicBool) -> Deed {
    let session = format!("s{}", sessions.load(Ordering::Relaxed));
    match (asked.verb.as_str(), asked.method()) {
        // A refusal with a session that is none.
        ("POST", "server/discover") => {
            in_session("dead-on-arrival", error(asked, "400 Bad Request", -32_000, "no session", &Value::Null))
        }
        ("POST", "initialize") => {
            let session = format!("s{}", sessions.fetch_add(1, Ordering::Relaxed) + 1);
            ended.store(false, Ordering::Relaxed);
            in_session(&session, legacy(asked, &all_tasks(), &json!([]), no_stream))
        }
        _ if asked.header("mcp-session-id") != Some(session.as_str()) || ended.load(Ordering::Relaxed) => {
            let body = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}"#;
            Deed::Say(hostile::json("404 Not Found", body))
        }
        ("POST", "tools/call") => {
            let body = format!("id: e-1\nretry: {}\ndata: \n\n", RETRY.as_millis());
            Deed::Say(hostile::with_type("200 OK", "text/event-stream", body.as_bytes()))
        }
        ("GET", _) if asked.header("last-event-id") == Some("e-1") => {
            let call = log.of("tools/call").remove(0).body["id"].clone();
            let answer =
                json!({"jsonrpc": "2.0", "id": call, "result": {"task": task_2025("3", "working", &json!({}))}});
            let body = format!("id: e-2\ndata: {answer}\n\n");
            Deed::Say(hostile::with_type("200 OK", "text/event-stream", body.as_bytes()))
        }
        _ => legacy(asked, &all_tasks(), &json!([tool("job", Some("required"))]), |asked| match asked.method() {
            "tasks/get" => result(asked, &task_2025("3", "working", &json!({}))),
            "tasks/list" => result(asked, &json!({"tasks": []})),
            _ => no_stream(asked),
        }),
    }
}

#[test]
fn s08_sessions_streams_and_waits_are_kept_as_the_server_says() {
    let home = Home::new(PROGRAM);
    let _core = home.serve();
    let log = Log::default();
    let (sessions, ended) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicBool::new(false)));
    let (heard, made, dead) = (log.clone(), Arc::clone(&sessions), Arc::clone(&ended));
    let server = log.serve(move |asked| strict_about_sessions(asked, &heard, &made, &dead));
    add_url(&home, "old", &server.url(), "up");
    assert_eq!(log.of("initialize")[0].header("mcp-session-id"), None, "the session of a refusal is not taken up");
    home.call("old", "job", &json!({}));
    let call = log.wait_for("tools/call", 1).remove(0);
    let back = wait_for(
        "we come back for the answer",
        || log.all().into_iter().find(|note| note.header("last-event-id").is_some()),
        || format!("{:?}", log.methods()),
    );
    let away = back.at.duration_since(call.at);
    assert!(away >= RETRY, "the server asked us to stay away longer than {away:?}");
    log.wait_for("tasks/get", 1);
    assert_eq!(log.of("tools/call").len(), 1, "a call is never sent again for its answer");
    for note in log.all().iter().filter(|note| !matches!(note.method(), "server/discover" | "initialize")) {
        let about = format!("{} {}", note.verb, note.method());
        assert_eq!(note.header("mcp-session-id"), Some("s1"), "{about} carries the session");
        assert_eq!(note.header("mcp-protocol-version"), Some("2025-11-25"), "{about} carries the version");
    }
    assert!(log.methods().iter().any(|way| way == "GET "), "a standing stream was asked for, and 405 is no harm");

    ended.store(true, Ordering::Relaxed);
    let again = log.wait_for("initialize", 2).remove(1);
    assert_eq!(again.header("mcp-session-id"), None, "a lost session leads to a new one, without the old id");
    let seen = log.of("tasks/get").len();
    let looks = log.wait_for("tasks/get", seen + 1);
    let last = looks.last().and_then(|note| note.header("mcp-session-id").map(str::to_owned));
    assert_eq!(last.as_deref(), Some("s2"), "and the task is looked for in it");
    let deleted = log.all().iter().any(|note| note.verb == "DELETE");
    assert!(!deleted, "no session is ended while its tasks live");
}

#[test]
fn s18_a_task_of_server_everything_over_http_is_found_again_in_its_session_after_a_kill() {
    let home = Home::new(PROGRAM);
    let core = home.serve();
    let peer = peers::everything_http("streamableHttp");
    add_url(&home, "web", peer.url(), "up");
    let id = home.call("web", "simulate-research-query", &json!({"topic": "bees"}));
    home.wait_taken(&id);
    core.kill();
    let _core = home.serve();
    home.wait_phase(&id, "done");
    assert!(result_text(&home, &id).contains("bees"), "the server ties tasks to sessions: the old one was taken up");
}

#[test]
fn s08_a_session_is_over_whatever_body_its_404_has() {
    let home = Home::new(PROGRAM);
    let _core = home.serve();
    let own_id = |asked: &Asked| error(asked, "404 Not Found", -32_001, "Session not found", &Value::Null);
    let no_id = |_: &Asked| {
        let body = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}"#;
        Deed::Say(hostile::json("404 Not Found", body))
    };
    let other_id = |_: &Asked| {
        let body = r#"{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Session not found"}}"#;
        Deed::Say(hostile::json("404 Not Found", body))
    };
    let text = |_: &Asked| Deed::Say(hostile::with_type("404 Not Found", "text/plain", b"Invalid session ID\n"));
    let empty = |_: &Asked| Deed::Say(hostile::with_type("404 Not Found", "text/plain", b""));
    type Way = fn(&Asked) -> Deed;
    let ways: [(&str, Way); 5] =
        [("own-id", own_id), ("no-id", no_id), ("other-id", other_id), ("text", text), ("empty", empty)];
    for (name, gone) in ways {
        let log = Log::default();
        let ended = Arc::new(AtomicBool::new(false));
        let dead = Arc::clone(&ended);
        let server = log.serve(move |asked| match asked.method() {
            "server/discover" => error(asked, "400 Bad Request", -32_000, "no session", &Value::Null),
            "initialize" => {
                dead.store(false, Ordering::Relaxed);
                legacy(asked, &all_tasks(), &json!([]), no_stream)
            }
            _ if dead.load(Ordering::Relaxed) => gone(asked),
            "tools/call" => result(asked, &json!({"task": task_2025("3", "working", &json!({}))})),
            "tasks/get" => result(asked, &task_2025("3", "working", &json!({}))),
            _ => legacy(asked, &all_tasks(), &json!([tool("job", Some("required"))]), no_stream),
        });
        add_url(&home, name, &server.url(), "up");
        home.call(name, "job", &json!({}));
        log.wait_for("tasks/get", 1);
        ended.store(true, Ordering::Relaxed);
        let again = log.wait_for("initialize", 2).remove(1);
        assert_eq!(again.header("mcp-session-id"), None, "`{name}`: a new session without the old id");
    }
}
