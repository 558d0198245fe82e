//! Control calls with an idempotency key whose core is killed in the middle, and their repeat: it says what became of the
//! first one, asks what is left, and does nothing twice (check 7.7 of the design of stop).

use std::time::Duration;

use serde_json::{Value, json};
use tests::by_hand::{Agent, Reply};
use tests::gate::Gate;
use tests::home::{looks, wait_for};
use tests::server::{Manner, Recorder};
use tokio::runtime::Runtime;

use crate::PROGRAM;

/// The call is done and its answer is not kept: the first answer of a run is the note that the call began.
const DONE_NOT_ANSWERED: &str = "registry.keep_answer:before:2";

/// A core with a server and a supervisor program.
struct Supervised {
    _runtime: Runtime,
    server: Recorder,
    gate: Gate,
    token: String,
}

impl Supervised {
    fn open() -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
        let manner = Manner { slow: Duration::from_secs(10), pushes: false, ..Manner::default() };
        let server = runtime.block_on(Recorder::start(manner)).expect("a loopback server");
        let gate = Gate::open(PROGRAM);
        gate.add_server("recorder", &["--url", &server.url()]);
        let scopes = "read,cancel,revoke,halt,pause";
        let added = gate.home().run(["control", "add", "night-watch", "--scope", scopes, "--all"]);
        assert_eq!(added.code, 0, "{}", added.err);
        let token = added.out.trim().to_owned();
        Self { _runtime: runtime, server, gate, token }
    }

    /// A call with this key; nothing when the core ended before it had answered.
    fn keyed(&self, call: &str, key: &str, body: &Value) -> Option<Reply> {
        let url = format!("http://{}/api/v1/{call}", self.gate.address());
        Agent::new(&url, &self.token).try_post(&[("idempotency-key", key)], &body.to_string())
    }

    /// A call without a key, which is answered.
    fn call(&self, call: &str, body: &Value) -> Value {
        let url = format!("http://{}/api/v1/{call}", self.gate.address());
        let reply = Agent::new(&url, &self.token).post(&[], &body.to_string());
        assert_eq!(reply.status, 200, "`{call}`: {reply:?}");
        reply.json()
    }

    /// Makes a call whose core dies there, and repeats it with the next core. The answer to the first one, if it came
    /// before the core died, and to the second.
    fn cut(&mut self, point: &str, call: &str, body: &Value) -> (Option<Reply>, Reply) {
        self.gate.kill();
        self.gate.start_with(&[("CORE_UNDER_TEST_ABORT_AT", point)]);
        let first = self.keyed(call, "k1", body);
        for () in looks() {
            if self.gate.has_ended() {
                self.gate.start();
            }
            if let Some(again) = self.keyed(call, "k1", body) {
                return (first, again);
            }
        }
        panic!("{point}: no core answers: {}", self.gate.home().core_log());
    }

    /// The same where the first call must not be answered, and the repeat must be taken.
    fn unanswered(&mut self, call: &str, body: &Value) -> Value {
        let (first, again) = self.cut(DONE_NOT_ANSWERED, call, body);
        assert!(first.is_none(), "`{call}`: the core died before it answered: {first:?}");
        assert_eq!(again.status, 200, "`{call}` is answered from what is on record: {again:?}");
        let kept = self.keyed(call, "k1", body).expect("an answer");
        assert_eq!((kept.status, &kept.text), (200, &again.text), "and from then on the same");
        assert_eq!(kept.header("idempotency-replayed"), "true");
        let other = self.keyed(call, "k1", &json!({"reason": "another"})).expect("an answer");
        assert_eq!(other.status, 422, "the key stays with its call: {other:?}");
        again.json()
    }

    fn start(&self, tool: &str, many: usize) -> Vec<String> {
        let begin = |number| self.gate.home().call("recorder", tool, &json!({"nonce": format!("{tool}-{number}")}));
        let ids: Vec<String> = (0..many).map(begin).collect();
        // The server answers `slow` itself, and makes no task of it.
        if tool != "slow" {
            ids.iter().for_each(|id| drop(self.gate.home().wait_taken(id)));
        }
        ids
    }
}

#[test]
fn a_plan_whose_run_is_killed_is_run_once_and_its_repeat_names_what_was_asked_and_what_had_ended() {
    let begun = ["registry.keep_answer:after:1", "registry.put_plan:after:1", "upstream.cancel:after:4"];
    for point in std::iter::once(DONE_NOT_ANSWERED).chain(begun) {
        let mut core = Supervised::open();
        core.start("hold", 10);
        let mut short = core.start("slow", 2);
        let plan = core.call("plans.make", &json!({"kind": "cancel", "filter": {"server": "recorder"}}));
        assert_eq!(plan["count"], 12, "{point}: {plan}");
        short.iter().for_each(|id| drop(core.gate.home().wait_phase(id, "done")));
        let run = json!({"planId": plan["planId"], "reason": "wrong month"});
        let (first, again) = core.cut(point, "plans.run", &run);
        assert_eq!(again.status, 200, "{point}: {again:?}");
        let told = again.json();
        assert!(first.is_none_or(|first| first.json()["operation"] == told["operation"]), "{point}: one run: {told}");
        assert_eq!((&told["asked"], &told["left"]), (&json!(10), &json!(0)), "{point}: {told}");
        let refused = told["refused"].as_array().expect("a list").iter();
        let mut refused: Vec<String> = refused.filter_map(|one| one["id"].as_str().map(str::to_owned)).collect();
        refused.sort_unstable();
        short.sort_unstable();
        assert_eq!(refused, short, "{point}: what had ended is named: {told}");
        wait_for(
            "each task has its result",
            || {
                let shown = core.call("plans.show", &json!({"id": plan["planId"]}));
                (shown["operation"]["counts"]["stopped"] == 10).then_some(())
            },
            || core.gate.home().core_log(),
        );
        assert_eq!(core.server.seen().cancels.len(), 10, "{point}: no other task was asked");
        let rows = core.gate.home().json(["audit", "list", "--verb", "bulkBegun", "--json"]);
        assert_eq!(rows["rows"].as_array().map(Vec::len), Some(1), "{point}: it was run once: {rows}");
    }
}

#[test]
fn a_cancel_whose_core_was_killed_tells_of_its_tasks_when_it_is_repeated_and_asks_no_later_ones() {
    let mut core = Supervised::open();
    let ids = core.start("hold", 3);
    let body = json!({"filter": {"server": "recorder"}, "expect": 3, "reason": "loop"});
    core.gate.kill();
    core.gate.start_with(&[("CORE_UNDER_TEST_ABORT_AT", DONE_NOT_ANSWERED)]);
    assert!(core.keyed("tasks.cancel", "k1", &body).is_none(), "the core died before it answered");
    assert!(looks().any(|()| core.gate.has_ended()), "it ends");
    core.gate.start();
    let late = core.gate.home().call("recorder", "hold", &json!({"nonce": "late"}));
    core.gate.home().wait_taken(&late);
    let told = core.keyed("tasks.cancel", "k1", &body).expect("an answer");
    assert_eq!(told.status, 200, "{told:?}");
    let outcomes = told.json()["outcomes"].clone();
    let outcomes = outcomes.as_array().expect("a list");
    let named = |id: &String| outcomes.iter().any(|one| one["id"] == json!(id) && one["state"] != "notAsked");
    assert!(outcomes.len() == 3 && ids.iter().all(named), "each of the three, and what became of it: {told:?}");
    assert_eq!(core.gate.home().task(&late)["intent"], Value::Null, "what began since is not asked");
    let used = core.gate.home().json(["audit", "list", "--verb", "stopBegun", "--json"]);
    assert_eq!(used["rows"].as_array().map(Vec::len), Some(3), "each was asked once: {used}");
}

#[test]
fn a_revocation_a_pause_and_a_halt_whose_core_was_killed_are_done_once() {
    let mut core = Supervised::open();
    let id = core.start("hold", 1).remove(0);
    let revoked = core.unanswered("tasks.revoke", &json!({"id": id, "reason": "loop"}));
    assert_eq!(revoked["outcomes"][0]["id"], json!(id), "{revoked}");

    let mut core = Supervised::open();
    core.gate.add_agent("order-bot");
    let paused = core.unanswered("pauses.start", &json!({"agent": "order-bot", "reason": "loop"}));
    let listed = core.gate.home().json(["pauses", "list", "--json"]);
    assert_eq!((listed["pauses"].as_array().map(Vec::len), &listed["pauses"][0]["id"]), (Some(1), &paused["id"]));

    let mut core = Supervised::open();
    let halted = core.unanswered("halts.start", &json!({"reason": "loop", "servers": ["recorder"]}));
    assert!(halted["halt"]["closedAt"].is_string(), "{halted}");
    let page = core.gate.home().json(["halt", "--json"]);
    assert_eq!(page["halt"]["orders"].as_array().map(Vec::len), Some(1), "one order: {page}");
}
