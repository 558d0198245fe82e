//! Servers and inputs that break the rules: one clear line and a hint each, the others untouched, nothing lost.

use std::fmt::Write as _;

use serde_json::{Value, json};
use tests::home::{Core, Home, wait_for};
use tests::hostile::{self, Asked, Deed, Hostile};

use crate::PROGRAM;

/// A core with the demo server, whose health shows that the others are untouched.
fn home_with_demo() -> (Home, Core) {
    let home = Home::new(PROGRAM);
    let core = home.serve();
    let added = home.run(["servers", "add", "demo", "--yes", "--", PROGRAM, "demo-server"]);
    assert_eq!(added.code, 0, "{}", added.err);
    (home, core)
}

fn demo_works(home: &Home) {
    let folder = home.path().join("folder");
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("a.txt"), "bees").expect("a file");
    let id = home.call("demo", "hash_tree", &json!({"path": folder}));
    home.wait_phase(&id, "done");
}

/// Adds a server that cannot work and checks what is said about it.
fn add_fails(home: &Home, name: &str, args: &[&str], says: &[&str]) {
    let ran = home.run([["servers", "add", name, "--yes"].as_slice(), args].concat());
    let said = format!("{}{}", ran.out, ran.err).to_lowercase();
    for word in says {
        assert!(said.contains(word), "adding `{name}` says `{word}`: {said}");
    }
    assert!(said.contains("hint:"), "and what to do: {said}");
    assert!(!said.contains("panicked"), "without falling over: {said}");
}

#[test]
fn commands_that_do_not_exist_or_end_at_once_are_named_with_their_last_words() {
    let (home, _core) = home_with_demo();
    add_fails(&home, "nobody", &["--", "no-such-program-here"], &["no-such-program-here"]);
    add_fails(&home, "brief", &["--", "sh", "-c", "echo my last words >&2; exit 3"], &["my last words", "3"]);
    add_fails(&home, "chatty", &["--", "sh", "-c", "echo this is no protocol; exit 0"], &["chatty"]);
    demo_works(&home);
}

#[test]
fn addresses_that_refuse_redirect_answer_pages_or_want_sign_in_are_told_apart() {
    let (home, _core) = home_with_demo();
    let refused = format!("http://127.0.0.1:{}/mcp", tests::peers::free_port());
    add_fails(&home, "refused", &["--url", &refused], &["refused"]);

    let page = Hostile::start(|_| Deed::Say(hostile::with_type("200 OK", "text/html", b"<h1>Welcome</h1>")));
    add_fails(&home, "page", &["--url", &page.url()], &["web page"]);

    let away = Hostile::start(|_| {
        Deed::Say(b"HTTP/1.1 307 Temporary Redirect\r\nLocation: http://127.0.0.2:9/mcp\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_vec())
    });
    add_fails(&home, "away", &["--url", &away.url()], &["redirect", "127.0.0.2"]);

    let door = Hostile::start(|_| {
        Deed::Say(
            b"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                .to_vec(),
        )
    });
    let added = home.run(["servers", "add", "door", "--yes", "--url", &door.url()]);
    assert!(added.code == 0 && added.out.contains("servers sign-in door"), "it is there: {}{}", added.out, added.err);
    let shown = home.json(["servers", "show", "door", "--json"]);
    assert_eq!(shown["health"]["kind"], "blocked", "{shown}");
    demo_works(&home);
}

/// A server that opens correctly and gives every `tasks/get` the answer of the test.
fn bad_reader(look: impl Fn(&Asked) -> Deed + Send + Sync + 'static) -> Hostile {
    bad_reader_of("task-1", look)
}

fn bad_reader_of(task: &'static str, look: impl Fn(&Asked) -> Deed + Send + Sync + 'static) -> Hostile {
    Hostile::start(move |asked| {
        let id = asked.id();
        match asked.method() {
            "server/discover" => Deed::Say(hostile::discover(&id)),
            "tools/list" => Deed::Say(hostile::tools(&id)),
            "tools/call" => Deed::Say(hostile::created(&id, task)),
            "tasks/get" => look(asked),
            _ => Deed::Say(hostile::json(
                "404 Not Found",
                &format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"no"}}}}"#),
            )),
        }
    })
}

fn add(home: &Home, name: &str, server: &Hostile) {
    let ran = home.run(["servers", "add", name, "--yes", "--url", &server.url()]);
    assert_eq!(ran.code, 0, "adding `{name}` succeeds: {}", ran.err);
}

fn task_json(asked: &Asked, more: &str) -> Vec<u8> {
    hostile::result(
        &asked.id(),
        &format!(
            r#"{{"resultType":"complete","taskId":"task-1","createdAt":"2026-11-21T00:00:00Z","lastUpdatedAt":"2026-11-21T00:00:00Z",{more}}}"#
        ),
    )
}

fn becomes_silent(name: &str, says: &str, look: impl Fn(&Asked) -> Deed + Send + Sync + 'static) {
    let (home, _core) = home_with_demo();
    let server = bad_reader(look);
    add(&home, name, &server);
    let id = home.call(name, "job", &json!({}));
    let task = home.wait_phase(&id, "silent");
    let said = task["contact"].to_string().to_lowercase();
    assert!(said.contains(says), "why it is silent names `{says}`: {task}");
    demo_works(&home);
}

#[test]
fn an_answer_that_is_not_utf8_makes_the_task_silent_not_failed() {
    becomes_silent("blur", "utf-8", |_| {
        Deed::Say(hostile::with_type(
            "200 OK",
            "application/json",
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"\xff\xfe\"}",
        ))
    });
}

#[test]
fn an_answer_nested_too_deep_makes_the_task_silent_not_failed() {
    becomes_silent("deep", "deep", |asked| {
        let mut deep = String::new();
        let _ = write!(deep, "{}{}", "[".repeat(50_000), "]".repeat(50_000));
        Deed::Say(task_json(asked, &format!(r#""status":"working","x":{deep}"#)))
    });
}

#[test]
fn an_answer_that_is_too_large_makes_the_task_silent_and_memory_stays_bounded() {
    becomes_silent("huge", "16777216 bytes", |asked| {
        Deed::Say(task_json(asked, &format!(r#""status":"working","x":"{}""#, "y".repeat(40 * 1_048_576))))
    });
}

#[test]
fn an_answer_cut_in_the_middle_makes_the_task_silent_not_failed() {
    becomes_silent("cut", "", |_| {
        Deed::Say(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n{\"jsonrpc\":".to_vec(),
        )
    });
}

#[test]
fn an_answer_for_another_task_is_not_taken_for_ours() {
    becomes_silent("mixed", "task", |asked| {
        Deed::Say(hostile::result(
            &asked.id(),
            r#"{"resultType":"complete","taskId":"task-2","status":"completed","result":{"content":[]},"ttlMs":null}"#,
        ))
    });
}

#[test]
fn unknown_words_and_absurd_numbers_are_shown_and_do_no_harm() {
    let (home, _core) = home_with_demo();
    let server = bad_reader(|asked| {
        Deed::Say(task_json(
            asked,
            r#""status":"meditating\u001b[31m","statusMessage":"\u202eevil","ttlMs":-1e300,"pollIntervalMs":-5"#,
        ))
    });
    add(&home, "odd", &server);
    let id = home.call("odd", "job", &json!({}));
    wait_for(
        "the unknown word is shown",
        || {
            Some(home.task(&id))
                .filter(|task| task["status"].as_str().is_some_and(|word| word.starts_with("meditating")))
        },
        || home.task(&id).to_string(),
    );
    let task = home.task(&id);
    assert_eq!(task["phase"], "running", "an unknown word counts as not finished: {task}");
    let shown = home.run(["tasks", "show", &id]);
    assert!(!shown.out.contains('\u{1b}') && !shown.out.contains('\u{202e}'), "server text cannot act: {}", shown.out);
    demo_works(&home);
}

#[test]
fn a_server_that_leaves_a_terminal_state_is_recorded_once_and_not_believed() {
    let (home, _core) = home_with_demo();
    let looks = std::sync::atomic::AtomicU32::new(0);
    let server = bad_reader(move |asked| {
        let flap = looks.fetch_add(1, std::sync::atomic::Ordering::Relaxed) % 2 == 1;
        let more = if flap {
            r#""status":"working","ttlMs":null,"pollIntervalMs":100"#
        } else {
            r#""status":"completed","ttlMs":null,"result":{"content":[{"type":"text","text":"first word"}]}"#
        };
        Deed::Say(task_json(asked, more))
    });
    add(&home, "flap", &server);
    let id = home.call("flap", "job", &json!({}));
    home.wait_phase(&id, "done");
    let adopted = home.run(["tasks", "adopt", "flap", "task-1"]);
    assert_eq!(adopted.code, 0, "adopting a known task finds its handle: {}", adopted.err);
    assert_eq!(home.task(&id)["phase"], "done", "a terminal state never changes");
    let ran = home.run(["tasks", "result", &id]);
    assert!(ran.out.contains("first word"), "{}", ran.out);
}

#[test]
fn task_ids_of_any_length_and_characters_are_carried_faithfully() {
    let (home, _core) = home_with_demo();
    for (name, task) in [
        ("short", "3"),
        ("unicode", "zażółć 🐝 \u{0001}\n\"quoted\""),
        ("sentinel", "=?base64?bm90?="),
        ("path", "../../etc/passwd?x=1#y"),
    ] {
        let server = bad_reader_of(task, move |asked| {
            let same = asked.body.pointer("/params/taskId").and_then(Value::as_str) == Some(task);
            let status = if same { "completed" } else { "failed" };
            let body = json!({"resultType": "complete", "taskId": task, "status": status, "ttlMs": null,
                "createdAt": "2026-11-21T00:00:00Z", "lastUpdatedAt": "2026-11-21T00:00:00Z",
                "result": {"content": []}, "error": {"code": -1, "message": "another id came back"}});
            Deed::Say(hostile::result(&asked.id(), &body.to_string()))
        });
        add(&home, name, &server);
        let id = home.call(name, "job", &json!({}));
        home.wait_phase(&id, "done");
        let listing = home.run(["tasks", "list", "--json"]).out;
        assert!(task.len() < 4 || !listing.contains(task), "upstream ids are not shown");
    }
}

#[test]
fn a_server_that_never_answers_leaves_the_others_alone_and_the_wait_ends_with_exit_7() {
    let (home, _core) = home_with_demo();
    let server = Hostile::start(|asked| {
        let id = asked.id();
        match asked.method() {
            "server/discover" => Deed::Say(hostile::discover(&id)),
            "tools/list" => Deed::Say(hostile::tools(&id)),
            _ => Deed::SayAndHang(Vec::new()),
        }
    });
    add(&home, "mute", &server);
    let ran = home.run(["call", "mute", "job", "--args", "{}", "--wait", "--timeout", "2"]);
    assert_eq!(ran.code, 7, "plain wall time: {} {}", ran.out, ran.err);
    demo_works(&home);
}

#[test]
fn what_a_person_types_wrong_is_named_with_a_way_out_and_the_right_exit_code() {
    let (home, _core) = home_with_demo();
    let known = home.call("demo", "tool_error", &json!({}));
    home.wait_phase(&known, "doneWithError");
    for (args, code, says) in [
        (vec!["call", "dmeo", "hash_tree", "--args", "{}"], 4, "demo"),
        (vec!["call", "demo", "hash_treee", "--args", "{}"], 4, "hash_tree"),
        (vec!["call", "demo", "hash_tree", "--args", "{\"path\": "], 2, "json"),
        (vec!["call", "demo", "hash_tree", "--args", "[]"], 2, "object"),
        (vec!["call", "demo", "hash_tree", "--args", "{\"path\": 7}"], 2, "path"),
        (vec!["tasks", "show", "hdl_zzzz"], 4, "hdl_zzzz"),
        (vec!["tasks", "show", "nonsense"], 4, "nonsense"),
        (vec!["tasks", "answer", &known, "--decline"], 5, "answer"),
        (vec!["tasks", "answer", &known, "--key", "nokey", "--decline"], 4, "nokey"),
        (vec!["tasks", "answer", &known, "--accept", "{"], 2, "json"),
        (vec!["tasks", "list", "--phase", "sleeping"], 2, "waiting"),
        (vec!["tasks", "adopt", "demo", "no-such-task"], 4, "not"),
        (vec!["servers", "add", "Bad Name", "--yes", "--", "true"], 2, "name"),
        (vec!["servers", "add", "demo", "--yes", "--", "true"], 5, "demo"),
        (vec!["servers", "remove", "nobody", "--yes"], 4, "nobody"),
        (vec!["answer"], 2, "write `taskwarden tasks answer`"),
        (vec!["nonsense"], 2, "nonsense"),
    ] {
        let ran = home.run(&args);
        assert_eq!(ran.code, code, "exit code of {args:?}: {} {}", ran.out, ran.err);
        assert!(ran.err.to_lowercase().contains(says), "{args:?} says `{says}`: {}", ran.err);
        assert!(!ran.err.contains("panicked"), "{args:?}: {}", ran.err);
    }
}

/// A task of a server that answers so: waits until it says what troubles it, and what `tasks show` prints then.
fn troubled(name: &str, says: &str, look: impl Fn(&Asked) -> Deed + Send + Sync + 'static) -> (Value, String) {
    let home = Home::new(PROGRAM);
    let _core = home.serve();
    let server = bad_reader(look);
    add(&home, name, &server);
    let id = home.call(name, "job", &json!({}));
    let task = wait_for(
        "its trouble is told",
        || Some(home.task(&id)).filter(|task| task["trouble"].as_str().is_some_and(|words| words.contains(says))),
        || home.task(&id).to_string(),
    );
    let shown = home.run(["tasks", "show", &id]).out;
    assert!(shown.contains(says), "people read `{says}`: {shown}");
    (task, shown)
}

#[test]
fn a_task_whose_checks_fail_says_why_before_it_counts_as_silent() {
    let looks = std::sync::atomic::AtomicU32::new(0);
    let (task, _) = troubled("large", "could not be read: the answer has more than", move |asked| {
        // A hint that keeps it from being silent for a while.
        let hint = r#""status":"working","ttlMs":null,"pollIntervalMs":5000"#;
        if looks.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 0 {
            return Deed::Say(task_json(asked, hint));
        }
        Deed::Say(task_json(asked, &format!(r#"{hint},"x":"{}""#, "y".repeat(17 * 1_048_576))))
    });
    assert!(task["trouble"].as_str().is_some_and(|words| words.starts_with("its last ")), "{task}");
    assert_eq!((&task["phase"], &task["contact"]["kind"]), (&json!("running"), &json!("fresh")), "{task}");
    assert!(task["contact"]["failures"].as_u64().is_some_and(|failed| failed > 0), "{task}");
    assert!(task["contact"]["failingSince"].is_string(), "{task}");
}

#[test]
fn a_server_that_needs_input_and_asks_nothing_that_can_be_answered_is_shown_so() {
    let says = "asks nothing that can be answered here: it sent no question";
    let (task, _) =
        troubled("mute", says, |asked| Deed::Say(task_json(asked, r#""status":"input_required","ttlMs":null"#)));
    assert_eq!(task["status"], "input_required", "the server's own word stays: {task}");
    let (_, shown) = troubled("sampler", "people do not answer `sampling/createMessage`", |asked| {
        let asks = r#""inputRequests":{"q":{"method":"sampling/createMessage","params":{}}}"#;
        Deed::Say(task_json(asked, &format!(r#""status":"input_required","ttlMs":null,{asks}"#)))
    });
    assert!(!shown.contains("to answer:"), "no command is shown that would be refused: {shown}");
}

#[test]
fn a_task_that_completed_without_a_result_says_that_none_was_sent() {
    let (task, _) = troubled("empty", "the server sent no result", |asked| {
        Deed::Say(task_json(asked, r#""status":"completed","ttlMs":null"#))
    });
    assert_eq!((&task["phase"], &task["result"]["state"]), (&json!("done"), &json!("unavailable")), "{task}");
}
