//! Control tokens as a supervisor program uses them, from outside the process: what they open, what they never open, and
//! how they end.

mod bodies;
mod feed;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::home::{Core, Home, PATIENCE, PROGRAM};

/// A core with a listener, the demo server, and a control token.
struct Supervised {
    home: Home,
    core: Core,
    port: u16,
    token: String,
}

/// What was answered.
#[derive(Debug)]
struct Answer {
    status: u16,
    head: String,
    body: Value,
    raw_head: String,
}

impl Answer {
    fn raw_header(&self, name: &str) -> Option<String> {
        self.raw_head.lines().find_map(|line| {
            let (header, value) = line.split_once(':')?;
            header.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
        })
    }
}

impl Supervised {
    fn open(token: &[&str]) -> Self {
        let home = Home::new();
        let (core, said) = home.serve_with(&["--listen", "127.0.0.1:0"]);
        let port = port_of(&said);
        home.ok(&["servers", "add", "demo", "--yes", "--", PROGRAM, "demo-server"]);
        let token = add(&home, "watch", token);
        Self { home, core, port, token }
    }

    fn send(&self, method: &str, path: &str, headers: &str, body: &str) -> Answer {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("a connection");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a limit");
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n{headers}\r\n{body}",
            self.port,
            body.len()
        );
        stream.write_all(request.as_bytes()).expect("it is sent");
        let mut reply = Vec::new();
        let _ = stream.read_to_end(&mut reply);
        let reply = String::from_utf8_lossy(&reply);
        let (head, body) = reply.split_once("\r\n\r\n").unwrap_or((&reply, ""));
        let status = head.get(9..12).and_then(|digits| digits.parse().ok()).unwrap_or_default();
        let body = serde_json::from_str(body).or_else(|_| serde_json::from_str(&json_of(body))).unwrap_or_default();
        Answer { status, head: head.to_lowercase(), body, raw_head: head.to_owned() }
    }

    /// A call with the token, and further headers.
    fn keyed(&self, call: &str, headers: &str, body: &Value) -> Answer {
        let headers = format!("Authorization: Bearer {}\r\n{headers}", self.token);
        self.send("POST", &format!("/api/v1/{call}"), &headers, &body.to_string())
    }

    fn call(&self, call: &str, body: &Value) -> Answer {
        self.keyed(call, "", body)
    }

    /// Waits until a task is over.
    fn until_over(&self, id: &str) {
        let begun = Instant::now();
        while self.home.task(id)["over"] != true {
            assert!(begun.elapsed() < PATIENCE, "task {id} ends");
        }
    }
}

/// A supervisor agent in a session of 2025-11-25 at the tools of the control API.
struct Tools<'a> {
    core: &'a Supervised,
    session: String,
}

impl<'a> Tools<'a> {
    fn open(core: &'a Supervised) -> Self {
        let hello =
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "sup", "version": "1"}});
        let opened = post_tools(core, "", "initialize", &hello);
        assert_eq!(opened.body["result"]["protocolVersion"], "2025-11-25", "{opened:?}");
        let session = opened.raw_header("mcp-session-id").expect("a session");
        Self { core, session: format!("Mcp-Session-Id: {session}\r\n") }
    }

    fn ask(&self, method: &str, params: &Value) -> Answer {
        post_tools(self.core, &self.session, method, params)
    }

    /// Calls a tool. Returns the text of its result, and whether it is an error.
    fn call(&self, tool: &str, arguments: &Value) -> (String, bool) {
        let answer = self.ask("tools/call", &json!({"name": tool, "arguments": arguments}));
        let result = &answer.body["result"];
        let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("`{tool}` has a result: {answer:?}"));
        (text.to_owned(), result["isError"] == true)
    }

    fn names(&self) -> Vec<String> {
        let listed = self.ask("tools/list", &json!({})).body;
        let tools = listed["result"]["tools"].as_array().cloned().unwrap_or_default();
        tools.iter().filter_map(|tool| tool["name"].as_str().map(str::to_owned)).collect()
    }
}

fn post_tools(core: &Supervised, headers: &str, method: &str, params: &Value) -> Answer {
    let headers =
        format!("Authorization: Bearer {}\r\nAccept: application/json, text/event-stream\r\n{headers}", core.token);
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    core.send("POST", "/api/v1/mcp", &headers, &message.to_string())
}

/// The JSON of a chunked body: its line that is an object, or the last message of an event stream.
fn json_of(body: &str) -> String {
    let message = body.lines().rfind(|line| line.starts_with("data:") && line.contains('{'));
    let whole = || body.lines().filter(|line| line.starts_with('{')).collect::<String>();
    message.map_or_else(whole, |line| line.trim_start_matches("data:").trim().to_owned())
}

fn port_of(said: &Value) -> u16 {
    let url = said["url"].as_str().expect("an address").trim_end_matches('/');
    url.rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port")
}

fn add(home: &Home, name: &str, more: &[&str]) -> String {
    let added = home.ok(&[&["control", "add", name], more].concat()).out.trim().to_owned();
    assert!(added.starts_with("twc_"), "the token alone is on standard output: {added}");
    added
}

#[test]
fn a_plan_of_a_supervisor_ends_its_tasks_once_and_the_audit_log_names_the_token() {
    let core = Supervised::open(&["--scope", "read,cancel", "--all"]);
    let tasks: Vec<String> = (0..3).map(|_| core.home.call_taken("runaway", "{}")).collect();
    let listed = core.call("tasks.list", &json!({"open": true, "limit": 2}));
    assert_eq!((listed.status, listed.body["tasks"].as_array().map(Vec::len)), (200, Some(2)), "{listed:?}");
    let rest = core.call("tasks.list", &json!({"open": true, "before": listed.body["next"]}));
    assert_eq!(rest.body["tasks"].as_array().map(Vec::len), Some(1), "the next page has the rest: {rest:?}");

    let made = core.call("plans.make", &json!({"kind": "cancel", "filter": {"tool": "runaway"}}));
    assert_eq!((made.status, &made.body["count"]), (200, &json!(3)), "{made:?}");
    let run = json!({"planId": made.body["planId"], "reason": "wrong month"});
    // Two at once with one key: one runs it, the other gets its answer, or is asked to come again.
    let (first, second) = std::thread::scope(|scope| {
        let again = scope.spawn(|| core.keyed("plans.run", "Idempotency-Key: k1\r\n", &run));
        (core.keyed("plans.run", "Idempotency-Key: k1\r\n", &run), again.join().expect("it is answered"))
    });
    let mut statuses = [first.status, second.status];
    statuses.sort_unstable();
    assert!(statuses == [200, 200] || statuses == [200, 409], "{first:?} {second:?}");
    let repeat = core.keyed("plans.run", "Idempotency-Key: k1\r\n", &run);
    assert_eq!((repeat.status, &repeat.body["asked"]), (200, &json!(3)), "the same answer again: {repeat:?}");
    assert!(repeat.head.contains("idempotency-replayed: true"), "{repeat:?}");
    let other = core.keyed("plans.run", "Idempotency-Key: k1\r\n", &json!({"planId": made.body["planId"]}));
    assert_eq!(other.status, 422, "the key belongs to another body: {other:?}");
    let twice = core.call("plans.run", &run);
    assert_eq!(twice.status, 409, "a plan is run once: {twice:?}");

    let begun = Instant::now();
    loop {
        let shown = core.call("plans.show", &json!({"id": made.body["planId"]}));
        if shown.body["operation"]["settled"] == true {
            assert_eq!(shown.body["operation"]["counts"]["stopped"], 3, "{shown:?}");
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "the operation settles: {shown:?}");
    }
    for id in &tasks {
        let by = core.home.task(id)["intent"]["by"].to_string();
        assert!(by.contains("control:ctl_"), "the task names the token: {by}");
        let shown = core.home.ok(&["tasks", "show", id]).out;
        let is_named = shown.contains("by the control token watch (ctl_") && !shown.contains("control:");
        assert!(is_named, "people read its name: {shown}");
    }
    core.core.signal(rustix::process::Signal::TERM);
}

#[test]
fn what_is_out_of_reach_is_answered_like_what_does_not_exist() {
    let core = Supervised::open(&["--scope", "read,cancel,revoke,halt", "--all"]);
    core.home.ok(&["agents", "add", "order-bot"]);
    let of_bot = add(&core.home, "bot-watch", &["--scope", "read,cancel,revoke,halt", "--agent", "order-bot"]);
    let of_bot = Supervised { token: of_bot, ..core };
    let task = of_bot.home.call_taken("runaway", "{}");
    let unknown = "hdl_00000000000000000000000000";
    let same = |call: &str, body: &dyn Fn(&str) -> Value| {
        let (out, none) = (of_bot.call(call, &body(&task)), of_bot.call(call, &body(unknown)));
        assert_eq!((out.status, none.status), (404, 404), "`{call}`: {out:?} {none:?}");
        let words = |answer: &Answer, id: &str| answer.body.to_string().replace(id, "ID");
        assert_eq!(words(&out, &task), words(&none, unknown), "`{call}` says the same of both");
    };
    same("tasks.show", &|id| json!({"id": id}));
    same("tasks.cancel", &|id| json!({"ids": [id]}));
    same("tasks.revoke", &|id| json!({"id": id}));
    same("plans.make", &|id| json!({"kind": "cancel", "ids": [id]}));
    assert_eq!(of_bot.call("tasks.list", &json!({})).body["tasks"], json!([]), "its list is empty");
    let none = of_bot.call("plans.make", &json!({"kind": "cancel", "filter": {}}));
    assert_eq!(none.status, 409, "nothing in reach matches: {none:?}");
    let all = of_bot.call("halts.start", &json!({"reason": "stop"}));
    assert_eq!(all.status, 404, "everything is more than its reach: {all:?}");
    let server = of_bot.call("halts.start", &json!({"reason": "stop", "servers": ["demo"]}));
    assert_eq!(server.status, 404, "so is a server that others use: {server:?}");
    assert_eq!(of_bot.home.ok(&["halt", "--json"]).json()["halt"], Value::Null, "nothing is halted");
    let halted = of_bot.call("halts.start", &json!({"reason": "stop", "agents": ["order-bot"]}));
    assert!(halted.body["halt"]["closedAt"].is_string(), "its own agent can be halted: {halted:?}");
    let by = of_bot.home.ok(&["halt", "--json"]).json()["halt"]["orders"][0]["by"].to_string();
    assert!(by.contains("control:ctl_"), "the order names the token: {by}");
    let rows = of_bot.home.ok(&["audit", "list", "--actor", "control", "--json"]).json()["rows"].clone();
    let rows = rows.as_array().expect("rows");
    assert!(!rows.is_empty(), "the halt is found by who ordered it");
    let is_named = |row: &Value| row["who"] == "bot-watch" && row["actor"].to_string().contains("control:ctl_");
    assert!(rows.iter().all(is_named), "the log names the token, not Taskwarden: {rows:?}");
    let whole = rows[0]["actor"].as_str().expect("an actor");
    let of_one = of_bot.home.ok(&["audit", "list", "--actor", whole, "--json"]).json()["rows"].clone();
    assert_eq!(of_one.as_array(), Some(rows), "and by the one token");
    for call in ["halts.resume", "tasks.answer", "tasks.release", "agents.revoke", "controlTokens.add", "no.such"] {
        let refused = of_bot.call(call, &json!({}));
        assert_eq!(refused.status, 404, "no control token opens `{call}`: {refused:?}");
    }
    assert_eq!(of_bot.home.task(&task)["over"], false, "the task of the person goes on");
}

#[test]
fn a_token_pauses_what_it_reaches_and_only_a_person_ends_that() {
    let core = Supervised::open(&["--scope", "cancel", "--all"]);
    core.home.ok(&["agents", "add", "order-bot"]);
    core.home.ok(&["agents", "add", "other"]);
    let input = json!({"agent": "order-bot", "reason": "wrong month"});
    let without = core.call("pauses.start", &input);
    assert_eq!(without.status, 404, "this token has another scope: {without:?}");
    let of_bot = add(&core.home, "bot-watch", &["--scope", "read,pause", "--agent", "order-bot"]);
    let of_bot = Supervised { token: of_bot, ..core };
    let (out, none) = (
        of_bot.call("pauses.start", &json!({"agent": "other"})),
        of_bot.call("pauses.start", &json!({"agent": "none"})),
    );
    assert_eq!((out.status, none.status), (404, 404), "{out:?} {none:?}");
    assert_eq!(out.body.to_string().replace("other", "none"), none.body.to_string(), "both are said alike");
    let server = of_bot.call("pauses.start", &json!({"server": "demo"}));
    assert_eq!(server.status, 404, "a server that others use is more than its reach: {server:?}");
    assert_eq!(of_bot.call("pauses.start", &json!({})).status, 400, "something must be named");

    let paused = of_bot.call("pauses.start", &input);
    assert_eq!((paused.status, &paused.body["agent"]), (200, &json!("order-bot")), "{paused:?}");
    assert_eq!(of_bot.call("pauses.start", &input).status, 409, "it is paused already");
    let list = of_bot.call("pauses.list", &json!({}));
    assert_eq!(list.body["pauses"][0]["id"], paused.body["id"], "the token sees what it began: {list:?}");
    let shown = of_bot.home.ok(&["pauses", "list", "--json"]).json();
    assert!(shown["pauses"][0]["by"].to_string().contains("control:ctl_"), "it is named: {shown}");
    let told = of_bot.home.ok(&["pauses", "list"]).out;
    assert!(told.contains("Paused by the control token bot-watch (ctl_"), "people read its name as well: {told}");
    let tokens = of_bot.home.ok(&["control", "list", "--json"]).json();
    let id = tokens["tokens"][0]["id"].as_str().expect("an id").to_owned();
    let listed = of_bot.home.ok(&["control", "list"]).out;
    assert!(told.contains(&id) && listed.contains(&id), "and finds its id in the list of tokens: {listed}");
    assert_eq!(of_bot.call("pauses.end", &json!({"agent": "order-bot"})).status, 404, "no token ends a pause");
    of_bot.home.ok(&["unpause", "order-bot"]);
    of_bot.core.signal(rustix::process::Signal::TERM);
}

#[test]
fn the_door_takes_a_control_token_in_its_header_and_nothing_else() {
    let core = Supervised::open(&["--scope", "read,cancel", "--all"]);
    let bearer = format!("Authorization: Bearer {}\r\n", core.token);
    let agent = core.home.ok(&["agents", "add", "claude"]).out.trim().to_owned();
    let in_address = core.send("POST", &format!("/api/v1/tasks.list?token={}", core.token), &bearer, "{}");
    assert_eq!(in_address.status, 400, "a token never stands in an address: {in_address:?}");
    let page =
        core.send("POST", "/api/v1/tasks.list", &format!("{bearer}Origin: http://127.0.0.1:{}\r\n", core.port), "{}");
    assert_eq!(page.status, 403, "also our own page is refused: {page:?}");
    for wrong in [String::new(), format!("Authorization: Bearer {agent}\r\n"), format!("{bearer}{bearer}")] {
        let refused = core.send("POST", "/api/v1/tasks.list", &wrong, "{}");
        assert_eq!(refused.status, 401, "`{wrong}`: {refused:?}");
    }
    assert_eq!(core.send("POST", "/mcp", &bearer, "{}").status, 401, "it is no agent's token");
    assert_eq!(core.send("POST", "/ui/call/tasks.list", &bearer, "{}").status, 401, "and no browser's");
    let long = core.call("tasks.cancel", &json!({"filter": {}, "reason": "x".repeat(10_000)}));
    assert_eq!(long.status, 400, "a reason of 10,000 characters: {long:?}");
    assert_eq!(core.call("tasks.list", &json!({"opne": true})).status, 400, "a field that does not exist");
    let large = core.call("tasks.list", &json!({"before": "x".repeat(100_000)}));
    assert_eq!(large.status, 413, "a body that is too large: {large:?}");
    let document = core.send("GET", "/api/v1/openapi.json", &bearer, "");
    assert_eq!((document.status, &document.body["openapi"]), (200, &json!("3.1.0")));
    assert!(document.body["paths"]["/plans.run"]["post"].is_object(), "it has the calls");
    assert_eq!(core.send("GET", "/api/v1/openapi.json", "", "").status, 401, "the document needs a token as well");
}

#[test]
fn a_token_ends_no_more_than_it_may_and_nothing_once_it_is_revoked_or_over() {
    let limits = ["--per-call", "2", "--per-hour", "3", "--needs-reason"];
    let core = Supervised::open(&[&["--scope", "cancel", "--all"], &limits[..]].concat());
    let tasks: Vec<String> = (0..3).map(|_| core.home.call_taken("runaway", "{}")).collect();
    let silent = core.call("tasks.cancel", &json!({"ids": [tasks[0]]}));
    assert_eq!(silent.status, 400, "it needs a reason: {silent:?}");
    let many = core.call("tasks.cancel", &json!({"ids": tasks, "reason": "loop"}));
    assert_eq!((many.status, &many.body["code"]), (429, &json!("overLimit")), "{many:?}");
    let other = core.call("tasks.cancel", &json!({"ids": [tasks[0]], "expect": 2, "reason": "loop"}));
    assert_eq!(other.status, 409, "another number was expected: {other:?}");
    let two = core.call("tasks.cancel", &json!({"ids": tasks[..2], "reason": "loop"}));
    assert_eq!((two.status, &two.body["outcomes"][1]["id"]), (200, &json!(tasks[1])), "{two:?}");
    tasks[..2].iter().for_each(|id| core.until_over(id));
    let one = core.home.call_taken("runaway", "{}");
    let hour = core.call("tasks.cancel", &json!({"ids": [tasks[2], one], "reason": "loop"}));
    assert_eq!(hour.status, 429, "four in an hour are too many: {hour:?}");
    assert!(hour.head.contains("retry-after: "), "it says when it fits again: {hour:?}");
    let why = hour.body["message"].as_str().expect("a message");
    assert!(why.contains("each halt and each pause") && why.contains("acted 2 times"), "a pause counts as well: {why}");
    assert_eq!(core.home.task(&tasks[2])["intent"], Value::Null, "nothing was asked");

    // The count is kept when the core is killed.
    core.core.kill();
    let (again, said) = core.home.serve_with(&["--listen", "127.0.0.1:0"]);
    let core = Supervised { core: again, port: port_of(&said), ..core };
    let third = core.home.call_taken("runaway", "{}");
    let fourth = core.home.call_taken("runaway", "{}");
    let hour = core.call("tasks.cancel", &json!({"ids": [third, fourth], "reason": "loop"}));
    assert_eq!(hour.status, 429, "also after a restart: {hour:?}");
    core.home.ok(&["control", "revoke", "watch"]);
    let revoked = core.call("tasks.cancel", &json!({"ids": [third], "reason": "loop"}));
    assert_eq!(revoked.status, 401, "a revoked token opens nothing: {revoked:?}");
    let brief = add(&core.home, "brief", &["--scope", "cancel", "--all", "--until", "1s"]);
    let core = Supervised { token: brief, ..core };
    let begun = Instant::now();
    while core.call("tasks.cancel", &json!({"ids": ["none"]})).status != 401 {
        assert!(begun.elapsed() < PATIENCE, "its time ends");
    }
    assert_eq!(core.home.task(&third)["intent"], Value::Null, "nothing was asked");
    let listed = core.home.ok(&["control", "list", "--json"]).json();
    assert_eq!(listed["tokens"][0]["inForce"], false, "{listed}");
    assert!(!listed.to_string().contains("twc_"), "a token is shown once");
    let table = core.home.ok(&["control", "list"]).out;
    let row = table.lines().find(|line| line.trim_start().starts_with("brief")).expect("its row");
    let says_when = row.contains("ago") || row.contains("just now");
    assert!(row.contains("time is over") && says_when, "it says when the time ended: {table}");
}

#[test]
fn what_a_control_token_cannot_be_is_refused_with_a_way_out() {
    let (home, _core) = Home::with_demo();
    for (args, code, says) in [
        (&["--scope", "cancel"][..], 2, "nothing says what"),
        (&["--scope", "resume", "--all"], 2, "no scope `resume`"),
        (&["--scope", "answer", "--all"], 2, "no scope `answer`"),
        (&["--scope", "cancel", "--all", "--server", "demo"], 2, "everything, or what is named"),
        (&["--scope", "cancel", "--agent", "nobody"], 4, "no agent `nobody`"),
        (&["--scope", "cancel", "--all", "--per-call", "0"], 2, "cannot end 0 tasks"),
        (&["--scope", "cancel", "--all", "--until", "soon"], 2, "not a duration"),
    ] {
        let ran = home.run(&[&["control", "add", "watch", "--json"], args].concat());
        let message = ran.error()["message"].to_string();
        assert!(ran.code == Some(code) && message.contains(says), "{args:?}: {ran:?}");
    }
    add(&home, "watch", &["--scope", "read", "--server", "demo"]);
    let again = home.run(&["control", "add", "watch", "--scope", "read", "--all", "--json"]);
    assert_eq!((again.code, &again.error()["code"]), (Some(5), &"refused".into()), "the name is taken: {again:?}");
    assert!(home.ok(&["control", "list"]).out.contains("on demo"), "the list says what it reaches");
    assert_eq!(home.run(&["control", "revoke", "nobody"]).code, Some(4));
}

#[test]
fn the_example_of_the_documentation_runs_as_it_is_written() {
    let core = Supervised::open(&["--scope", "read,cancel", "--all"]);
    let task = core.home.call_taken("runaway", "{}");
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/control-api.md");
    let page = std::fs::read_to_string(page).expect("the page is there");
    let example = page.split("## A plan with curl").nth(1).expect("its section");
    let script = example.split("```sh\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a script");
    let ran = Command::new("sh")
        .args(["-e", "-c", script])
        .env("URL", format!("http://127.0.0.1:{}/api/v1", core.port))
        .env("TOKEN", &core.token)
        .output()
        .expect("a shell");
    let out = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success() && out.contains("\"asked\":1"), "{ran:?}");
    core.until_over(&task);
}

#[test]
fn a_supervisor_agent_ends_and_halts_work_with_the_tools_that_its_token_opens() {
    let core = Supervised::open(&["--scope", "read,cancel,revoke,halt", "--all", "--per-call", "2"]);
    let tools = Tools::open(&core);
    assert_eq!(tools.names(), ["list_tasks", "show_task", "cancel_tasks", "revoke_tasks", "halt"]);
    assert_eq!(tools.ask("ping", &json!({})).body["result"], json!({}));

    let tasks: Vec<String> = (0..3).map(|_| core.home.call_taken("runaway", "{}")).collect();
    let (listed, is_error) = tools.call("list_tasks", &json!({"open": true}));
    assert!(!is_error && tasks.iter().all(|id| listed.contains(id.as_str())), "each handle is whole: {listed}");
    assert!(!listed.contains("null") && !listed.contains("createdAt"), "the list is short: {listed}");
    let (shown, _) = tools.call("show_task", &json!({"id": tasks[0]}));
    assert!(shown.contains("createdAt") && shown.contains(&tasks[0]), "one task has its times: {shown}");

    let (many, is_error) = tools.call("revoke_tasks", &json!({"ids": tasks, "reason": "loop"}));
    assert!(is_error && many.contains("may end 2 tasks"), "three are more than one call may end: {many}");
    for id in &tasks {
        assert_eq!(core.home.task(id)["intent"], Value::Null, "nothing was asked");
    }
    let (revoked, is_error) = tools.call("revoke_tasks", &json!({"ids": tasks[..2], "reason": "loop"}));
    assert!(!is_error && tasks[..2].iter().all(|id| revoked.contains(id.as_str())), "{revoked}");
    tasks[..2].iter().for_each(|id| core.until_over(id));
    let (again, is_error) = tools.call("revoke_tasks", &json!({"ids": [tasks[0], tasks[2]], "reason": "loop"}));
    let named = again.contains(tasks[0].as_str()) && again.contains(tasks[2].as_str());
    assert!(!is_error && named, "one that was revoked before spoils nothing: {again}");
    core.until_over(&tasks[2]);
    let fourth = core.home.call_taken("runaway", "{}");
    let (cancelled, is_error) = tools.call("cancel_tasks", &json!({"filter": {"tool": "runaway"}, "expect": 1}));
    assert!(!is_error && cancelled.contains(&fourth), "{cancelled}");
    core.until_over(&fourth);
    let (halted, is_error) = tools.call("halt", &json!({"reason": "month end", "servers": ["demo"]}));
    assert!(!is_error && halted.contains("closedAt"), "{halted}");
    let orders = core.home.ok(&["halt", "--json"]).json()["halt"]["orders"].clone();
    assert!(orders.to_string().contains("control:ctl_"), "the halt is the token's: {orders}");
    for (tool, arguments, says) in [
        ("show_task", json!({"id": "hdl_x"}), "there is no task `hdl_x`"),
        ("show_task", json!({"idd": "hdl_x"}), "idd"),
        ("cancel_tasks", json!({}), "exactly one of `ids` and `filter`"),
        ("revoke_tasks", json!({"ids": []}), "`ids` is an empty list"),
        ("revoke_tasks", json!({}), "exactly one of `id` and `ids`"),
        ("halt", json!({}), "reason"),
    ] {
        let (said, is_error) = tools.call(tool, &arguments);
        assert!(is_error && said.contains(says), "`{tool}` {arguments}: {said}");
    }
}

#[test]
fn the_tools_of_a_token_are_those_of_its_scopes_and_end_with_it() {
    let core = Supervised::open(&["--scope", "read", "--all"]);
    let tools = Tools::open(&core);
    assert_eq!(tools.names(), ["list_tasks", "show_task"]);
    for tool in ["cancel_tasks", "halt", "plans.make", "no_such"] {
        let refused = tools.ask("tools/call", &json!({"name": tool, "arguments": {"reason": "x"}}));
        assert_eq!(refused.body["error"]["code"], -32_602, "`{tool}`: {refused:?}");
    }
    let foreign = add(&core.home, "other", &["--scope", "read,cancel", "--all"]);
    let bearer =
        |token: &str| format!("Authorization: Bearer {token}\r\nAccept: application/json, text/event-stream\r\n");
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}).to_string();
    let taken = core.send("POST", "/api/v1/mcp", &format!("{}{}", bearer(&foreign), tools.session), &list);
    assert_eq!(taken.status, 404, "the session is of another token: {taken:?}");
    let agent = core.home.ok(&["agents", "add", "claude"]).out.trim().to_owned();
    assert_eq!(core.send("POST", "/api/v1/mcp", &bearer(&agent), &list).status, 401, "an agent's token opens no tools");
    let stream = core.send("GET", "/api/v1/mcp", &format!("{}{}", bearer(&core.token), tools.session), "");
    assert_eq!(stream.status, 405, "nothing is sent by itself: {stream:?}");

    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "sup", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {}});
    let modern = |method: &str, name: &str, params: Value| {
        let mut params = params;
        params["_meta"] = meta.clone();
        let name = if name.is_empty() { String::new() } else { format!("Mcp-Name: {name}\r\n") };
        post_tools(
            &core,
            &format!("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n{name}"),
            method,
            &params,
        )
    };
    let discovered = modern("server/discover", "", json!({}));
    assert_eq!(discovered.body["result"]["supportedVersions"], json!(["2026-07-28"]), "{discovered:?}");
    let listed = modern("tools/call", "list_tasks", json!({"name": "list_tasks", "arguments": {}}));
    assert_eq!(listed.body["result"]["resultType"], "complete", "{listed:?}");

    core.home.ok(&["control", "revoke", "watch"]);
    let ended = tools.ask("tools/list", &json!({}));
    assert_eq!(ended.status, 401, "a revoked token has no tools any more: {ended:?}");
}
