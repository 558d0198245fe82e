//! The window in the browser: who gets in, and what a page of another place gets.

use std::net::TcpListener;

use reqwest::{Client, Response, StatusCode, header};
use serde_json::{Value, json};

use crate::home::{Core, Home, PROGRAM};

/// A browser that may or may not be signed in.
struct Browser {
    client: Client,
    base: String,
    cookie: String,
    word: String,
    /// What it says it is.
    agent: String,
}

impl Browser {
    fn at(base: &str) -> Self {
        let base = base.trim_end_matches('/').to_owned();
        Self { client: Client::new(), base, cookie: String::new(), word: "1".into(), agent: "Firefox".into() }
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    async fn get(&self, path: &str) -> Response {
        let request = self.client.get(self.url(path)).header(header::COOKIE, &self.cookie);
        request.header("x-taskwarden", &self.word).send().await.expect("an answer")
    }

    async fn post(&self, path: &str, body: &Value) -> Response {
        let request = self.client.post(self.url(path)).header(header::COOKIE, &self.cookie);
        let request = request.header(header::USER_AGENT, self.agent.as_bytes());
        request.header("x-taskwarden", &self.word).body(body.to_string()).send().await.expect("an answer")
    }

    async fn sign_in(&mut self, code: &str) -> StatusCode {
        let reply = self.post("/ui/sign-in", &json!({ "code": code })).await;
        let text = |name: &str| reply.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        if let (Some(cookie), Some(word)) = (text("set-cookie"), text("x-taskwarden")) {
            for part in ["HttpOnly", "SameSite=Strict"] {
                assert!(cookie.contains(part), "the cookie is {part}: it is sent by our page alone");
            }
            self.cookie = cookie.split(';').next().unwrap_or_default().to_owned();
            self.word = word;
        }
        reply.status()
    }
}

fn core_with_a_window() -> (Home, Core, Browser, String) {
    let home = Home::new();
    let (core, said) = home.serve_with(&["--listen", "127.0.0.1:0"]);
    let text = |name: &str| said.get(name).and_then(Value::as_str).expect("it is said").to_owned();
    let browser = Browser::at(&text("url"));
    assert!(!text("url").contains(&text("code")), "no secret is in an address that is sent");
    assert_eq!(text("link"), format!("{}#code={}", text("url"), text("code")), "the fragment of a link is never sent");
    (home, core, browser, text("code"))
}

#[tokio::test]
async fn a_program_that_guesses_codes_is_slowed_down_and_keeps_nobody_out() {
    let (_home, _core, browser, code) = core_with_a_window();
    let guess = json!({ "code": "0000-0000-0000" });
    let mut compared = 0;
    let refused = loop {
        let reply = browser.post("/ui/sign-in", &guess).await;
        if reply.status() != StatusCode::UNAUTHORIZED {
            break reply;
        }
        compared += 1;
        assert!(compared < 1_000, "guessing ends");
    };
    let most = domain::policy::HostPolicy::default().code_tries_max;
    assert_eq!((compared, refused.status()), (most, StatusCode::TOO_MANY_REQUESTS));
    let wait = refused.headers().get(header::RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    assert!(wait.is_some_and(|seconds| (1..=60).contains(&seconds)), "it says when: {wait:?}");
    let body: Value = refused.json().await.expect("an error object");
    assert!(body["message"].as_str().is_some_and(|text| text.contains("too many wrong codes")), "{body}");
    let right = browser.post("/ui/sign-in", &json!({ "code": code })).await;
    assert_eq!(right.status(), StatusCode::NO_CONTENT, "the person with the right code comes in");
}

#[tokio::test]
async fn a_body_that_is_too_large_is_refused_with_the_limit_as_json() {
    let (_home, _core, mut browser, code) = core_with_a_window();
    assert_eq!(browser.sign_in(&code).await, StatusCode::NO_CONTENT);
    let reply = browser.post("/ui/call/servers.list", &json!({ "x": "x".repeat(5 << 20) })).await;
    assert_eq!(reply.status(), StatusCode::PAYLOAD_TOO_LARGE);
    let body: Value = reply.json().await.expect("an error object");
    let limit = domain::policy::HostPolicy::default().call_body_bytes;
    assert!(body["message"].as_str().is_some_and(|text| text.contains(&format!("more than {limit} bytes"))), "{body}");
    assert_eq!(body["code"], "refused", "as all refusals: {body}");
}

#[tokio::test]
async fn a_browser_becomes_the_persons_with_the_code_of_the_terminal_and_not_without() {
    let (home, _core, mut browser, code) = core_with_a_window();
    assert_eq!(browser.get("/ui/session").await.status(), StatusCode::UNAUTHORIZED, "nobody is signed in");
    assert_eq!(browser.post("/ui/call/servers.list", &json!({})).await.status(), StatusCode::UNAUTHORIZED);
    let refused: Value = browser.post("/ui/feed", &json!({})).await.json().await.expect("an error object");
    assert_eq!(refused["code"], "refused", "no feed either: {refused}");
    assert_eq!(browser.sign_in("0000-0000").await, StatusCode::UNAUTHORIZED, "a guess");
    assert_eq!(browser.sign_in(&code).await, StatusCode::NO_CONTENT, "the code");
    assert_eq!(browser.get("/ui/session").await.status(), StatusCode::NO_CONTENT);
    let listed: Value = browser.post("/ui/call/servers.list", &json!({})).await.json().await.expect("an answer");
    assert_eq!(listed, json!({ "servers": [] }));
    assert_eq!(browser.sign_in(&code).await, StatusCode::UNAUTHORIZED, "a code counts once");
    let mut feed = browser.post("/ui/feed", &crate::window::watching(None)).await;
    assert_eq!(
        feed.headers().get(header::CONTENT_TYPE).map(|kind| kind.as_bytes()),
        Some(&b"application/x-ndjson"[..])
    );
    let mut line = Vec::new();
    while !line.contains(&b'\n') {
        line.extend(feed.chunk().await.expect("it goes on").expect("a frame"));
    }
    let frame: Value = serde_json::from_slice(&line).expect("one frame a line");
    assert_eq!(frame["type"], "snapshot", "{frame}");

    let word = std::mem::replace(&mut browser.word, "1".into());
    let status = browser.post("/ui/call/servers.list", &json!({})).await.status();
    assert_eq!(status, StatusCode::UNAUTHORIZED, "a cookie that another port was sent is worth nothing");
    browser.word = word;

    let mut second = Browser::at(&browser.base);
    let fresh = home.ok(&["ui", "--json"]).json();
    let fresh = fresh["code"].as_str().expect("a code");
    assert_eq!(second.sign_in(fresh).await, StatusCode::NO_CONTENT, "`taskwarden ui` lets another one in");
    assert_eq!(browser.get("/ui/session").await.status(), StatusCode::NO_CONTENT, "beside the first");
}

#[tokio::test]
async fn what_another_site_sends_is_refused_even_with_the_persons_cookie() {
    let (_home, _core, mut browser, code) = core_with_a_window();
    assert_eq!(browser.sign_in(&code).await, StatusCode::NO_CONTENT);
    let call = |name: &'static str, value: &'static str| {
        let request = browser.client.post(browser.url("/ui/call/servers.list")).header(header::COOKIE, &browser.cookie);
        request.header("x-taskwarden", &browser.word).header(name, value).body("{}").send()
    };
    for (name, value) in [
        ("origin", "http://evil.example"),
        ("origin", "null"),
        ("host", "evil.example"),
        ("host", "evil.example:7717"),
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
    ] {
        let reply = call(name, value).await.expect("an answer");
        assert_eq!(reply.status(), StatusCode::FORBIDDEN, "`{name}: {value}` is another site's");
        assert!(reply.headers().get("access-control-allow-origin").is_none(), "and cannot read the answer");
    }
    let page = browser.client.get(browser.url("/")).header("host", "evil.example").send().await.expect("an answer");
    assert_eq!(page.status(), StatusCode::FORBIDDEN, "a name that was pointed here gets not even the page");
}

#[tokio::test]
async fn every_page_carries_the_content_policy_and_runs_nothing_from_outside() {
    let (_home, _core, browser, _) = core_with_a_window();
    for path in ["/", "/nothing-here", "/ui/session", "/ui/nothing"] {
        let reply = browser.get(path).await;
        let header = |name: &str| reply.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let policy = header("content-security-policy");
        assert!(policy.contains("default-src 'none'") && policy.contains("script-src 'self';"), "{path}: {policy}");
        assert!(!policy.contains("unsafe"), "{path}: nothing inline");
        assert_eq!(header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(header("referrer-policy"), "no-referrer", "{path}");
    }
    let reply = browser.get("/").await;
    assert_eq!(reply.status(), StatusCode::OK, "built or not, there is a page");
}

#[tokio::test]
async fn wrong_codes_of_another_program_do_not_keep_the_person_out() {
    let (home, _core, mut browser, code) = core_with_a_window();
    for _ in 0..50 {
        assert_eq!(browser.sign_in("AAAA-AAAA-AAAA").await, StatusCode::UNAUTHORIZED);
    }
    assert_eq!(browser.sign_in(&code).await, StatusCode::NO_CONTENT, "the person's own code still counts");
    let said = home.ok(&["ui"]).out;
    assert!(said.lines().next().is_some_and(|link| link.contains("/#code=")), "the first line is the link: {said}");
    let fresh = said.lines().nth(1).expect("the code stands on its own line").to_owned();
    assert_eq!(browser.sign_in(&fresh).await, StatusCode::NO_CONTENT);
}

#[test]
fn what_a_server_started_gets_no_code() {
    let (home, _core, ..) = core_with_a_window();
    let out = home.folder("out", &[]);
    // Once: it is started again and again, and what it wrote is read meanwhile.
    let script = format!(
        "[ -e '{0}/finished' ] && exit; \
         '{PROGRAM}' ui > '{0}/said' 2>&1; echo \"code $?\" >> '{0}/said'; touch '{0}/finished'",
        out.display()
    );
    let env = format!("TASKWARDEN_HOME={}", home.data().display());
    home.run(&["servers", "add", "fooled", "--yes", "--env", &env, "--", "sh", "-c", &script]);
    let said = std::fs::read_to_string(out.join("said")).expect("its try");
    assert!(said.contains("code 5") && said.contains("started by a server or an agent"), "it is refused: {said}");
}

#[test]
fn a_taken_port_takes_the_page_away_and_not_the_core() {
    let home = Home::new();
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("its address").to_string();
    let asked = home.run(&["serve", "--listen", &address]);
    assert_eq!(asked.code, Some(1), "a port that was asked for by name must be had: {asked:?}");
    assert!(asked.err.contains(&address) && asked.err.contains("Choose another port"), "{}", asked.err);
    std::fs::write(home.data().join("config.toml"), "").expect("the data directory is there");
    let mut command = home.command(&["serve", "--json"]);
    command.env("TASKWARDEN_LISTEN", &address);
    let (_core, said) = home.listening(command);
    assert_eq!(said["url"], Value::Null, "the core runs without a page");
    let refused = home.run(&["ui"]);
    assert_eq!(refused.code, Some(5), "{refused:?}");
    assert!(refused.err.contains("--listen"), "the way out is told: {}", refused.err);
    let open = home.run(&["serve", "--listen", "0.0.0.0:7717"]);
    assert_eq!(open.code, Some(2), "the window is never shown to other machines: {open:?}");
}

#[tokio::test]
async fn the_audit_of_a_decision_holds_its_door_its_process_and_its_program() {
    let (home, _core, mut browser, code) = core_with_a_window();
    browser.sign_in(&code).await;
    home.ok(&["servers", "add", "demo", "--yes", "--", PROGRAM, "demo-server"]);
    let typed = home.call("tool_error", "{}");
    let input = json!({ "server": "demo", "tool": "tool_error", "arguments": {} });
    let clicked: Value = browser.post("/ui/call/tasks.start", &input).await.json().await.expect("a task");
    let mut origins = Vec::new();
    for id in [json!(typed), clicked["id"].clone()] {
        let history: Value =
            browser.post("/ui/call/tasks.history", &json!({ "id": id })).await.json().await.expect("JSON");
        let events = history["events"].as_array().expect("events").clone();
        origins.push(events.iter().find(|event| event["verb"] == "admitted").expect("who asked")["origin"].clone());
    }
    let program = std::fs::canonicalize(PROGRAM).expect("the program").display().to_string();
    assert_eq!((&origins[0]["door"], &origins[0]["executable"]), (&json!("terminal"), &json!(program)));
    assert!(origins[0]["process"].as_u64().is_some_and(|pid| pid > 1), "{}", origins[0]);
    assert_eq!(origins[1], json!({ "door": "browser", "process": null, "executable": null }), "TCP names no process");
    let verified: Value =
        browser.post("/ui/call/audit.verify", &json!({ "whole": true })).await.json().await.expect("JSON");
    assert_eq!(
        (&verified["complete"], &verified["broken"]),
        (&json!(true), &Value::Null),
        "the chain fits: {verified}"
    );
}

#[tokio::test]
async fn a_revoked_browser_is_out_at_once_with_its_feed_and_the_others_stay() {
    let (home, _core, mut first, code) = core_with_a_window();
    first.agent = format!("Lost\u{202e}Laptop {}", "x".repeat(1_000));
    assert_eq!(first.sign_in(&code).await, StatusCode::NO_CONTENT);
    let mut second = Browser::at(&first.base);
    let fresh = || home.ok(&["ui", "--json"]).json()["code"].as_str().expect("a code").to_owned();
    assert_eq!(second.sign_in(&fresh()).await, StatusCode::NO_CONTENT);
    let mut feed = first.post("/ui/feed", &crate::window::watching(None)).await;
    assert!(feed.chunk().await.expect("it goes on").is_some(), "the first has a feed");

    let list = home.ok(&["sessions", "list", "--json"]).json();
    let (one, two) = (&list["sessions"][0], &list["sessions"][1]);
    let browser = one["browser"].as_str().expect("a name");
    assert!(browser.starts_with("LostLaptop x") && browser.chars().count() < 200, "plain and cut: {browser:?}");
    assert_eq!((&one["current"], &two["browser"]), (&json!(false), &json!("Firefox")), "a terminal is none: {list}");
    assert!(one["signedInAt"].is_string() && one["usedAt"].is_string(), "{list}");
    let text = list.to_string();
    for secret in [&first.word, &second.word] {
        assert!(!text.contains(secret.as_str()), "no secret of a session is told");
    }
    let seen: Value = second.post("/ui/call/sessions.list", &json!({})).await.json().await.expect("JSON");
    assert_eq!(seen["sessions"][1]["current"], true, "a browser knows itself: {seen}");

    let said = home.ok(&["sessions", "revoke", one["id"].as_str().expect("an id")]).out;
    assert!(said.contains("Signed out 1 browser"), "{said}");
    while feed.chunk().await.expect("it ends in order").is_some() {}
    assert_eq!(first.get("/ui/session").await.status(), StatusCode::UNAUTHORIZED, "the first is out");
    assert_eq!(second.get("/ui/session").await.status(), StatusCode::NO_CONTENT, "the second is not");

    assert_eq!(first.sign_in(&fresh()).await, StatusCode::NO_CONTENT, "with a new code it comes back");
    let others = json!({ "which": "others" });
    assert_eq!(second.post("/ui/call/sessions.revoke", &others).await.status(), StatusCode::OK);
    assert_eq!(first.get("/ui/session").await.status(), StatusCode::UNAUTHORIZED, "all others are out");
    assert_eq!(second.get("/ui/session").await.status(), StatusCode::NO_CONTENT, "the one that asked stays");
    home.ok(&["sessions", "revoke", "--all"]);
    assert_eq!(second.get("/ui/session").await.status(), StatusCode::UNAUTHORIZED, "from a terminal, all are out");
    let gone = home.run(&["sessions", "revoke", "nothing0"]);
    assert!(gone.code == Some(4) && gone.err.contains("sessions list"), "the way on is told: {gone:?}");
    let which = home.run(&["sessions", "revoke"]);
    assert_eq!(which.code, Some(2), "nobody is signed out by mistake: {which:?}");
    let rows = home.ok(&["audit", "verify", "--json"]).json();
    assert_eq!(rows["broken"], Value::Null, "what ended is part of the chain: {rows}");
}

/// The core again, at the address it had; the connections of the browsers ended with the one before.
fn again(home: &Home, browsers: [&mut Browser; 2]) -> Core {
    let address = browsers[0].base.trim_start_matches("http://").to_owned();
    for browser in browsers {
        browser.client = Client::new();
    }
    home.serve_with(&["--listen", &address]).0
}

#[tokio::test]
async fn a_signed_in_browser_stays_so_over_a_restart_and_a_revoked_one_stays_out() {
    let (home, core, mut stays, code) = core_with_a_window();
    assert_eq!(stays.sign_in(&code).await, StatusCode::NO_CONTENT);
    let mut goes = Browser::at(&stays.base);
    goes.agent = "Lost laptop".into();
    let fresh = home.ok(&["ui", "--json"]).json()["code"].as_str().expect("a code").to_owned();
    assert_eq!(goes.sign_in(&fresh).await, StatusCode::NO_CONTENT);
    let list = home.ok(&["sessions", "list", "--json"]).json();
    home.ok(&["sessions", "revoke", list["sessions"][1]["id"].as_str().expect("an id")]);
    let (since, id) = (list["sessions"][0]["signedInAt"].clone(), list["sessions"][0]["id"].clone());

    core.kill();
    let core = again(&home, [&mut stays, &mut goes]);
    assert_eq!(stays.get("/ui/session").await.status(), StatusCode::NO_CONTENT, "nobody types a code again");
    assert_eq!(goes.get("/ui/session").await.status(), StatusCode::UNAUTHORIZED, "a revoked session does not return");
    let list = home.ok(&["sessions", "list", "--json"]).json();
    assert_eq!(list["sessions"].as_array().map(Vec::len), Some(1), "{list}");
    assert_eq!(list["sessions"][0]["id"], id, "it is the same session: {list}");
    let second =
        |time: &Value| time.as_str().expect("a time").parse::<jiff::Timestamp>().expect("a moment").as_second();
    let moved = second(&list["sessions"][0]["signedInAt"]) - second(&since);
    assert!(moved.abs() <= 2, "its time goes on: {list}");
    let data = walked(&home.data());
    let cookie = stays.cookie.split('=').nth(1).expect("its value");
    for secret in [stays.word.as_str(), cookie] {
        assert!(data.iter().all(|file| !contains(file, secret)), "no file holds a secret of the session");
    }

    home.ok(&["sessions", "revoke", "--all"]);
    core.kill();
    let _core = again(&home, [&mut stays, &mut goes]);
    assert_eq!(stays.get("/ui/session").await.status(), StatusCode::UNAUTHORIZED, "signed out is signed out");
}

/// What is in every file below a folder.
fn walked(folder: &std::path::Path) -> Vec<Vec<u8>> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .flat_map(|entry| match entry.file_type() {
            Ok(kind) if kind.is_dir() => walked(&entry.path()),
            Ok(kind) if kind.is_file() => std::fs::read(entry.path()).into_iter().collect(),
            _ => Vec::new(),
        })
        .collect()
}

fn contains(file: &[u8], text: &str) -> bool {
    file.windows(text.len()).any(|window| window == text.as_bytes())
}
