//! Statements 37-40: what a person sees of a question and what becomes of the answer.
//!
//! The form with every kind of field and enumeration is server-everything's own. The dialogue at a terminal runs on a
//! real one, made by `script` of util-linux.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};
use tests::home::{Home, wait_for};
use tests::peers;

use super::{Log, add_command, add_url, modern, no_method, open_questions, result, result_text, task_2026};
use crate::{PROGRAM, RMCP_PEER};

#[test]
fn s37_every_kind_of_field_of_server_everything_is_checked_before_it_is_sent() {
    let home = Home::new(PROGRAM);
    let _core = home.serve();
    add_command(&home, "everything", &[], &peers::everything_command());
    let id = home.call("everything", "trigger-elicitation-request", &json!({}));
    home.wait_phase(&id, "waiting");
    let asked = open_questions(&home, &id).remove(0);
    let fields = asked["schema"]["properties"].as_object().expect("fields");
    let has = |what: &str, test: &dyn Fn(&Value) -> bool| {
        assert!(fields.values().any(test), "the form of this peer has {what}: {fields:?}");
    };
    has("an untitled choice", &|rule| rule["enum"].is_array() && rule["enumNames"].is_null());
    has("a titled choice", &|rule| rule["oneOf"][0]["const"].is_string());
    has("an untitled list of choices", &|rule| rule["items"]["enum"].is_array());
    has("a titled list of choices", &|rule| rule["items"]["anyOf"][0]["const"].is_string());
    has("an old titled choice", &|rule| rule["enumNames"].is_array());
    has("a default", &|rule| !rule["default"].is_null());
    for format in ["email", "uri", "date"] {
        has(format, &|rule| rule["format"] == format);
    }
    let mut good = json!({"name": "Ada"});
    for (name, rule) in fields {
        // One value that breaks each rule, and one that fits.
        let choices = |at: &Value| at.as_array().into_iter().flatten().cloned().collect::<Vec<_>>();
        let (fits, breaks): (Value, Vec<Value>) = match rule["type"].as_str().unwrap_or_default() {
            "string" if rule["enum"].is_array() => {
                (choices(&rule["enum"])[0].clone(), vec![json!("none of them"), json!(1)])
            }
            "string" if rule["oneOf"].is_array() => (
                choices(&rule["oneOf"])[0]["const"].clone(),
                vec![choices(&rule["oneOf"])[0]["title"].clone(), json!([])],
            ),
            "string" => match rule["format"].as_str() {
                Some("email") => (json!("ada@example.org"), vec![json!("ada"), json!("@")]),
                Some("uri") => (json!("https://example.org/x"), vec![json!("example"), json!("")]),
                Some("date") => (json!("2026-02-28"), vec![json!("2026-02-30"), json!("28.2.2026")]),
                Some(_) | None => (json!("some words"), vec![json!(7), json!({"a": 1})]),
            },
            "integer" => (rule["minimum"].clone(), vec![json!(1.5), json!("1"), json!(1e12)]),
            "number" => (rule["minimum"].clone(), vec![json!("1"), json!(1e300)]),
            "boolean" => (json!(false), vec![json!("yes"), json!(1)]),
            "array" if rule["items"]["enum"].is_array() => {
                (json!([rule["items"]["enum"][0]]), vec![json!(["none of them"]), json!("one"), json!([1])])
            }
            "array" => {
                let first = &rule["items"]["anyOf"][0];
                (json!([first["const"]]), vec![json!([first["title"]]), json!({})])
            }
            other => panic!("a kind of field that the protocol does not know: {other}"),
        };
        for bad in breaks {
            // A field without limits has no value that is too large.
            if bad.is_number() && rule["maximum"].is_null() && bad != json!(1.5) {
                continue;
            }
            let mut content = good.clone();
            content[name] = bad.clone();
            let ran = home.run(["tasks", "answer", &id, "--accept", &content.to_string()]);
            assert_eq!(ran.code, 5, "`{name}` must not be {bad} by {rule}: {} {}", ran.out, ran.err);
            assert!(ran.err.contains(name.as_str()), "and it is named: {}", ran.err);
        }
        if name != "name" {
            good[name] = fits;
        }
    }
    let ran = home.run(["tasks", "answer", &id, "--accept", "{}"]);
    assert!(ran.code == 5 && ran.err.contains("required"), "a required field is missed: {}", ran.err);
    let ran = home.run(["tasks", "answer", &id, "--accept", &good.to_string()]);
    assert_eq!(ran.code, 0, "what fits is taken: {good}: {}", ran.err);
    home.wait_phase(&id, "done");
    let got = result_text(&home, &id);
    assert!(got.contains("Ada") && got.contains("2026-02-28"), "the peer has it: {got}");
}

/// Runs a command on a terminal of its own, typing these lines; what was shown.
fn on_a_terminal(home: &Home, args: &str, typed: &str) -> String {
    let mut command = std::process::Command::new("script");
    command.args(["-qec", &format!("{PROGRAM} {args}"), "/dev/null"]);
    command.env("TASKWARDEN_HOME", home.data()).env("NO_COLOR", "1").env_remove("DISPLAY");
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("`script` of util-linux is installed");
    let mut stdin = child.stdin.take().expect("its input");
    stdin.write_all(typed.as_bytes()).expect("lines are typed");
    let mut shown = String::new();
    let _ = child.stdout.take().expect("its screen").read_to_string(&mut shown);
    let _ = child.wait();
    drop(stdin);
    shown
}

#[test]
fn s37_the_form_of_server_everything_can_be_filled_in_at_the_terminal() {
    let home = Home::new(PROGRAM);
    let _core = home.serve();
    add_command(&home, "everything", &[], &peers::everything_command());
    let id = home.call("everything", "trigger-elicitation-request", &json!({}));
    home.wait_phase(&id, "waiting");
    let asked = open_questions(&home, &id).remove(0);
    let mut typed = String::from("a\n");
    for (name, rule) in asked["schema"]["properties"].as_object().expect("fields") {
        typed.push_str(match name.as_str() {
            "name" => "\nAda\n",                                           // required: Enter alone is not enough
            _ if rule["format"] == "email" => "nobody\nada@example.org\n", // asked again until it fits
            _ if !rule["default"].is_null() => "\n",                       // the server's default
            _ if rule["oneOf"].is_array() || rule["enum"].is_array() => "2\n",
            _ if rule["items"].is_object() => "1,2\n",
            _ => "\n", // optional: left out
        });
    }
    let shown = on_a_terminal(&home, &format!("tasks watch {id}"), &typed);
    home.wait_phase(&id, "done");
    assert!(shown.contains("everything"), "the server that asks is named: {shown}");
    assert!(shown.contains("required") && shown.contains("e-mail"), "what does not fit is asked again: {shown}");
    let got = result_text(&home, &id);
    assert!(got.contains("Ada") && got.contains("ada@example.org"), "the peer got what was typed: {got}");
    for rule in asked["schema"]["properties"].as_object().expect("fields").values() {
        let Some(default) = rule["default"].as_str().filter(|_| rule["format"].is_null()) else { continue };
        assert!(got.contains(default), "and the default `{default}`: {got}");
    }
    for (answer, word) in [("d\n", "declined"), ("m\n", "cancel")] {
        let id = home.call("everything", "trigger-elicitation-request", &json!({}));
        home.wait_phase(&id, "waiting");
        on_a_terminal(&home, &format!("tasks watch {id}"), answer);
        home.wait_phase(&id, "done");
        let got = result_text(&home, &id).to_lowercase();
        assert!(got.contains(word), "a no and a dismissal differ: {got}");
    }
}

/// A listener that counts who knocks.
fn doorbell() -> (u16, Arc<AtomicU32>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let port = listener.local_addr().expect("its address").port();
    let knocks = Arc::new(AtomicU32::new(0));
    let counting = Arc::clone(&knocks);
    std::thread::spawn(move || {
        for _ in listener.incoming() {
            counting.fetch_add(1, Ordering::Relaxed);
        }
    });
    (port, knocks)
}

/// A modern server whose one task asks this until it is answered.
fn asks(log: &Log, params: Value) -> tests::hostile::Hostile {
    let answered = Arc::new(AtomicU32::new(0));
    log.serve(move |asked| match asked.method() {
        "tasks/get" if answered.load(Ordering::Relaxed) > 0 => {
            result(asked, &task_2026("task-1", "completed", &json!({"result": {"content": []}})))
        }
        "tasks/get" => {
            let ask = json!({"q": {"method": "elicitation/create", "params": params}});
            result(asked, &task_2026("task-1", "input_required", &json!({"inputRequests": ask})))
        }
        "tasks/update" => {
            answered.fetch_add(1, Ordering::Relaxed);
            result(asked, &json!({"resultType": "complete"}))
        }
        _ => modern(asked, no_method),
    })
}

#[test]
fn s38_a_page_is_shown_whole_with_its_host_and_nobody_knocks_before_consent() {
    let home = Home::new(PROGRAM);
    let _core = home.serve();
    let (port, knocks) = doorbell();
    let url = format!("http://127.0.0.1:{port}/sign-in?{}&end=here", "state=0123456789&".repeat(60));
    let log = Log::default();
    let server = asks(&log, json!({"mode": "url", "message": "Sign in", "url": url}));
    add_url(&home, "door", &server.url(), "up");
    let id = home.call("door", "job", &json!({}));
    home.wait_phase(&id, "waiting");
    assert_eq!(open_questions(&home, &id)[0]["url"], url, "the whole address");
    for args in [vec!["tasks", "show", &id], vec!["inbox"], vec!["tasks", "watch", &id]] {
        let ran = home.run(&args);
        assert!(!format!("{}{}", ran.out, ran.err).contains("panicked"), "{args:?}");
        if args[0] == "tasks" {
            let shown = format!("{}{}", ran.out, ran.err);
            assert!(shown.contains(&url), "{args:?} shows the whole address: {shown}");
            assert!(shown.contains(&format!("host  127.0.0.1:{port}\n")), "and its host apart: {shown}");
        }
    }
    on_a_terminal(&home, &format!("tasks watch {id}"), "l\n");
    assert_eq!(home.task(&id)["phase"], "waiting", "left open");
    let seen = log.of("tasks/get").len();
    log.wait_for("tasks/get", seen + 3);
    assert_eq!(knocks.load(Ordering::Relaxed), 0, "nothing is fetched, however long it waits");
    let ran = home.run(["tasks", "answer", &id, "--accept"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    home.wait_phase(&id, "done");
    let answer = &log.of("tasks/update")[0].body["params"]["inputResponses"]["q"];
    assert_eq!(answer, &json!({"action": "accept"}), "consent has no content");
    assert_eq!(knocks.load(Ordering::Relaxed), 0, "and a page is opened by a browser or not at all");
}

#[test]
fn s38_a_page_with_letters_of_other_scripts_is_shown_as_what_it_is() {
    let home = Home::new(PROGRAM);
    let _core = home.serve();
    for (name, url) in
        [("cyrillic", "https://\u{440}\u{430}ypal.example/login"), ("puny", "https://xn--ypal-43d9g.example/login")]
    {
        let server = asks(&Log::default(), json!({"mode": "url", "message": "Sign in", "url": url}));
        add_url(&home, name, &server.url(), "up");
        let id = home.call(name, "job", &json!({}));
        home.wait_phase(&id, "waiting");
        let shown = home.run(["tasks", "show", &id]).out;
        assert!(shown.contains("xn--ypal-43d9g.example"), "the name that is asked for: {shown}");
        assert!(shown.contains("look alike"), "with a warning: {shown}");
        let shown = on_a_terminal(&home, &format!("tasks watch {id}"), "l\n");
        assert!(
            shown.contains("xn--ypal-43d9g.example") && shown.contains("look alike"),
            "also in the dialogue: {shown}"
        );
    }
    for url in ["javascript:alert(1)", "file:///etc/passwd"] {
        let server = asks(&Log::default(), json!({"mode": "url", "message": "Sign in", "url": url}));
        let name = url.split(':').next().unwrap_or_default();
        add_url(&home, name, &server.url(), "up");
        let id = home.call(name, "job", &json!({}));
        home.wait_phase(&id, "waiting");
        let shown = on_a_terminal(&home, &format!("tasks watch {id}"), "o\n");
        assert!(shown.contains("not opened"), "what is no web address is not opened: {shown}");
        assert_eq!(home.task(&id)["phase"], "waiting", "and not consented to");
    }
}

#[test]
fn s39_a_question_of_a_task_and_one_before_it_look_the_same_and_name_the_server_as_configured() {
    let home = Home::new(PROGRAM);
    let _core = home.serve();
    let peer = peers::rmcp_http(RMCP_PEER);
    add_url(&home, "my-own-name", peer.url(), "up");
    let task = home.call("my-own-name", "ask_name", &json!({}));
    let call = home.call("my-own-name", "ask_before", &json!({}));
    home.wait_phase(&task, "waiting");
    home.wait_phase(&call, "waiting");
    let (mut of_task, mut of_call) = (open_questions(&home, &task).remove(0), open_questions(&home, &call).remove(0));
    for question in [&of_task, &of_call] {
        assert_eq!(question["server"], "my-own-name", "not what the server calls itself: {question}");
    }
    let names = |question: &mut Value| question.as_object_mut().map(|all| all.keys().cloned().collect::<Vec<_>>());
    assert_eq!(names(&mut of_task), names(&mut of_call), "the same of both is told");
    for id in [&task, &call] {
        let shown = on_a_terminal(&home, &format!("tasks watch {id}"), "l\n");
        assert!(shown.contains("my-own-name"), "the dialogue names who asks: {shown}");
    }
    let inbox = home.run(["inbox"]).out;
    assert!(inbox.matches("my-own-name").count() >= 2, "and so does the inbox: {inbox}");
}

#[test]
fn s40_a_form_that_asks_for_secrets_warns_wherever_it_is_answered() {
    let home = Home::new(PROGRAM);
    let _core = home.serve();
    let fields = json!({"api-key": {"type": "string"}, "colour": {"type": "string"}, "code": {"type": "string", "title": "Your PIN"}});
    let form = json!({"message": "Just a few things", "requestedSchema": {"type": "object", "properties": fields}});
    let log = Log::default();
    let server = asks(&log, form);
    add_url(&home, "nosy", &server.url(), "up");
    let id = home.call("nosy", "job", &json!({}));
    home.wait_phase(&id, "waiting");
    assert_eq!(open_questions(&home, &id)[0]["secretFields"], json!(["api-key", "code"]), "these and no others");
    let shown = on_a_terminal(&home, &format!("tasks watch {id}"), "l\n");
    assert!(shown.contains("`api-key` looks like a secret"), "the dialogue warns: {shown}");
    let shown = home.run(["tasks", "show", &id]).err;
    assert!(shown.contains("`code` looks like a secret"), "`tasks show` warns: {shown}");
    let ran = home.run(["tasks", "answer", &id, "--accept", r#"{"api-key":"hunter2-canary"}"#]);
    assert!(ran.code == 0 && ran.err.contains("looks like a secret"), "so does answering: {}", ran.err);
    home.wait_phase(&id, "done");
    let stored = std::fs::read_dir(home.data()).expect("the data directory").flatten().map(|entry| entry.path());
    for file in stored.filter(|path| path.is_file()) {
        let bytes = std::fs::read(&file).unwrap_or_default();
        let found = bytes.windows(14).any(|part| part == b"hunter2-canary");
        assert!(!found, "{} does not hold what was answered", file.display());
    }
    wait_for("the server has it", || log.of("tasks/update").pop(), || format!("{:?}", log.methods()));
}
