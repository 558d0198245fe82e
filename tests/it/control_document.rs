//! The `OpenAPI` document of the control API against the API itself (check 7.13 of the design of stop): each documented call
//! is made, is answered with the statuses that are documented for it, and each answer fits its schema.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use tests::by_hand::{Agent, Reply};
use tests::gate::Gate;
use tests::server::{Manner, Recorder};
use tokio::runtime::Runtime;

use crate::PROGRAM;

/// More than a body may have.
const TOO_LARGE: usize = 70_000;

/// A core, its document, and what its calls were answered with.
struct Documented {
    _runtime: Runtime,
    _server: Recorder,
    gate: Gate,
    document: Value,
    seen: BTreeMap<String, BTreeSet<u16>>,
}

impl Documented {
    fn open() -> (Self, String) {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
        let server = runtime.block_on(Recorder::start(Manner::default())).expect("a loopback server");
        let gate = Gate::open(PROGRAM);
        gate.add_server("recorder", &["--url", &server.url()]);
        gate.add_agent("order-bot");
        let mut opened =
            Self { _runtime: runtime, _server: server, gate, document: Value::Null, seen: BTreeMap::new() };
        let token = opened.token("all", &["--scope", "read,cancel,revoke,halt,pause"]);
        let reply = Agent::new(&opened.url("openapi.json"), &token).get();
        opened.document = serde_json::from_str(&reply.text).expect("JSON");
        (opened, token)
    }

    fn url(&self, place: &str) -> String {
        format!("http://{}/api/v1/{place}", self.gate.address())
    }

    fn token(&self, name: &str, more: &[&str]) -> String {
        let added = self.gate.home().run([&["control", "add", name, "--all"], more].concat());
        assert_eq!(added.code, 0, "{}", added.err);
        added.out.trim().to_owned()
    }

    fn task(&self, nonce: &str) -> String {
        let id = self.gate.home().call("recorder", "hold", &json!({"nonce": nonce}));
        self.gate.home().wait_taken(&id);
        id
    }

    /// Every documented call, with what is documented for its answers.
    fn calls(&self) -> Vec<(String, Value)> {
        let paths = self.document["paths"].as_object().expect("paths").iter();
        let calls = paths.filter(|(_, path)| path["post"].is_object());
        calls.map(|(name, path)| (name.trim_start_matches('/').to_owned(), path["post"]["responses"].clone())).collect()
    }

    /// The schema of the document with its definitions, so that it can be used by itself.
    fn whole(&self, schema: &Value) -> Value {
        let mut whole = schema.clone();
        whole["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
        whole["components"] = json!({"schemas": self.document["components"]["schemas"]});
        whole
    }

    /// Makes a call that must be answered so, as documented.
    fn answers(&mut self, status: u16, call: &str, token: &str, headers: &[(&str, &str)], body: &str) -> Value {
        let reply: Reply = Agent::new(&self.url(call), token).post(headers, body);
        assert_eq!(reply.status, status, "`{call}`: {reply:?}");
        let documented = &self.document["paths"][format!("/{call}")]["post"]["responses"][status.to_string()];
        assert!(documented.is_object(), "`{call}`: {status} is documented");
        let schema = self.whole(&documented["content"]["application/json"]["schema"]);
        let schema = jsonschema::validator_for(&schema).unwrap_or_else(|error| panic!("`{call}`, {status}: {error}"));
        let answer = reply.json();
        let wrong: Vec<String> = schema.iter_errors(&answer).map(|error| error.to_string()).collect();
        assert_eq!(wrong, Vec::<String>::new(), "`{call}`, {status}: {answer}");
        self.seen.entry(call.to_owned()).or_default().insert(status);
        answer
    }

    fn ok(&mut self, call: &str, token: &str, body: &Value) -> Value {
        self.answers(200, call, token, &[], &body.to_string())
    }

    fn refused(&mut self, status: u16, call: &str, token: &str, body: &Value) {
        self.answers(status, call, token, &[], &body.to_string());
    }
}

#[test]
fn each_documented_call_answers_its_documented_statuses_with_what_its_schemas_say() {
    let (mut api, token) = Documented::open();
    assert_eq!(api.document["openapi"], "3.1.0");
    for (name, schema) in api.document["components"]["schemas"].as_object().expect("schemas") {
        let compiled = jsonschema::validator_for(&api.whole(schema));
        assert!(compiled.is_ok(), "`{name}` is a schema: {:?}", compiled.err());
    }
    let tasks: Vec<String> = (0..6).map(|number| api.task(&format!("task-{number}"))).collect();

    // Each is done.
    api.ok("tasks.list", &token, &json!({}));
    api.ok("tasks.show", &token, &json!({"id": tasks[0]}));
    api.ok("tasks.cancel", &token, &json!({"ids": [tasks[0]], "expect": 1}));
    api.ok("tasks.revoke", &token, &json!({"id": tasks[1], "reason": "loop"}));
    let plan = api.ok("plans.make", &token, &json!({"kind": "cancel", "ids": [tasks[2]]}))["planId"].clone();
    api.ok("plans.run", &token, &json!({"planId": plan}));
    api.ok("plans.show", &token, &json!({"id": plan}));
    api.ok("pauses.start", &token, &json!({"agent": "order-bot"}));
    api.ok("pauses.list", &token, &json!({}));
    api.ok("alarms.list", &token, &json!({}));

    // What no longer fits is declined.
    api.refused(409, "tasks.cancel", &token, &json!({"ids": [tasks[3]], "expect": 2}));
    api.refused(409, "tasks.revoke", &token, &json!({"id": tasks[1]}));
    api.refused(409, "plans.make", &token, &json!({"kind": "cancel", "ids": [tasks[2]]}));
    api.refused(409, "plans.run", &token, &json!({"planId": plan}));
    api.refused(409, "pauses.start", &token, &json!({"agent": "order-bot"}));

    // A token that has used up what it may do.
    let brief = api.token("brief", &["--scope", "cancel,revoke,halt,pause", "--per-hour", "1", "--per-call", "1"]);
    let other = api.ok("plans.make", &brief, &json!({"kind": "cancel", "ids": [tasks[4]]}))["planId"].clone();
    api.refused(429, "plans.make", &brief, &json!({"kind": "cancel", "ids": [tasks[3], tasks[4]]}));
    api.ok("tasks.cancel", &brief, &json!({"ids": [tasks[3]]}));
    api.refused(429, "plans.run", &brief, &json!({"planId": other}));
    api.refused(429, "tasks.cancel", &brief, &json!({"ids": [tasks[5]]}));
    api.refused(429, "tasks.revoke", &brief, &json!({"ids": [tasks[5]]}));
    api.refused(429, "pauses.start", &brief, &json!({"agent": "order-bot"}));
    api.refused(429, "halts.start", &brief, &json!({"reason": "loop", "agents": ["order-bot"]}));

    // What holds for every call, also of those to come.
    let (reads, pauses) = (api.token("reads", &["--scope", "read"]), api.token("pauses", &["--scope", "pause"]));
    let nowhere = [
        ("tasks.cancel", json!({"ids": ["hdl_x"]})),
        ("tasks.revoke", json!({"ids": ["hdl_x"]})),
        ("plans.make", json!({"kind": "cancel", "ids": ["hdl_x"]})),
        ("plans.run", json!({"planId": "pln_x"})),
        ("pauses.start", json!({"agent": "nobody"})),
        ("halts.start", json!({"reason": "loop", "agents": ["nobody"]})),
    ];
    for (call, documented) in api.calls() {
        let (large, origin) = ("x".repeat(TOO_LARGE), [("origin", "http://evil.example")]);
        api.answers(400, &call, &token, &[], "[]");
        api.answers(401, &call, &token, &[("authorization", "")], "{}");
        api.answers(403, &call, &token, &origin, "{}");
        api.answers(413, &call, &token, &[], &json!({"reason": large}).to_string());
        // Calls that act need more than `read`, and the others need it.
        let unopened = if documented["422"].is_object() { &reads } else { &pauses };
        api.answers(404, &call, unopened, &[], "{}");
        if documented["422"].is_object() {
            let known = nowhere.iter().find(|(name, _)| *name == call);
            let (_, body) = known.unwrap_or_else(|| panic!("`{call}` acts: what does it find nowhere?"));
            let key = [("idempotency-key", call.as_str())];
            api.answers(404, &call, &token, &key, &body.to_string());
            api.answers(422, &call, &token, &key, "{}");
        }
    }
    api.ok("halts.start", &token, &json!({"reason": "loop", "agents": ["order-bot"]}));
    api.ok("halts.show", &token, &json!({}));

    // What was not answered is what cannot be provoked here, and nothing else.
    for (call, documented) in api.calls() {
        let all: BTreeSet<u16> =
            documented.as_object().expect("statuses").keys().map(|status| status.parse().expect("a status")).collect();
        let acts = documented["422"].is_object();
        let rare = |status: &u16| match *status {
            500 | 503 => true,
            409 => !acts || call == "halts.start",
            429 => !acts,
            _ => false,
        };
        let missing: Vec<u16> = all.difference(&api.seen[&call]).copied().filter(|status| !rare(status)).collect();
        assert_eq!(missing, Vec::<u16>::new(), "`{call}` was answered with every status that is documented for it");
    }
}
