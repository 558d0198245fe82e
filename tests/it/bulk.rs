//! Many tasks ended at once: a plan fixes which, its run asks each, and it says what became of them, also after a kill.

use std::time::{Duration, Instant};

use futures::stream::{self, StreamExt};
use host::app::socket_client::SocketClient;
use serde_json::{Value, json};
use tests::bench::{attach, call, start};
use tests::home::{Core, Home, wait_for};
use tests::server::{Manner, Recorder};
use tokio::runtime::Runtime;

use crate::PROGRAM;

const STARTED_AT_ONCE: usize = 32;

struct Stage {
    runtime: Runtime,
    server: Recorder,
    home: Home,
    core: Option<Core>,
    door: SocketClient,
}

impl Stage {
    fn open(manner: Manner) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
        let server = runtime.block_on(Recorder::start(manner)).expect("a loopback server");
        let home = Home::new(PROGRAM);
        let core = Some(home.serve());
        let added = home.run(["servers", "add", "recorder", "--url", &server.url(), "--yes"]);
        assert_eq!(added.code, 0, "{}", added.err);
        let door = attach(&home);
        Self { runtime, server, home, core, door }
    }

    fn start(&self, tool: &str, many: usize) -> Vec<String> {
        let started = stream::iter(0..many)
            .map(|n| {
                let nonce = format!("{tool}-{n}");
                async move { start(&self.door, "recorder", tool, &nonce).await }
            })
            .buffered(STARTED_AT_ONCE)
            .collect();
        let ids: Vec<String> = self.runtime.block_on(started);
        let taken = || {
            let tasks = (0..many).filter(|n| self.server.task_of(&format!("{tool}-{n}")).is_some()).count();
            (tasks == many).then_some(())
        };
        wait_for("the server has all of them", taken, || self.home.core_log());
        ids
    }

    fn ask(&self, name: &str, input: &Value) -> Value {
        self.runtime.block_on(call(&self.door, name, input))
    }

    /// The error of a call that must be refused.
    fn refusal(&self, name: &str, input: &Value) -> Value {
        let refused = self.runtime.block_on(self.door.call(name, input.to_string()));
        let error = refused.err().unwrap_or_else(|| panic!("`{name}` {input} is refused"));
        serde_json::to_value(error).expect("JSON")
    }

    fn plan(&self, filter: &Value) -> Value {
        self.ask("plans.make", &json!({"kind": "cancel", "filter": filter}))
    }

    /// Waits until so many tasks of a plan are stopped. On a busy machine one may be not confirmed before.
    fn stopped(&self, plan: &str, many: usize) -> Value {
        let operation = || self.ask("plans.show", &json!({"id": plan}))["operation"].take();
        let look = || Some(operation()).filter(|operation| operation["counts"]["stopped"] == many);
        wait_for("its tasks are stopped", look, || format!("{}\n{}", operation(), self.home.core_log()))
    }

    /// Waits until each task of a plan has its final result.
    fn settled(&self, plan: &str) -> Value {
        let look = || {
            let shown = self.ask("plans.show", &json!({"id": plan}));
            (shown["operation"]["settled"] == true).then_some(shown)
        };
        wait_for("each task has its result", look, || self.home.core_log())
    }
}

#[test]
fn a_thousand_tasks_are_asked_to_cancel_each_once_with_a_result_each() {
    const TASKS: usize = 1_000;
    let stage = Stage::open(Manner { pushes: false, ..Manner::default() });
    stage.start("hold", TASKS);
    let plan = stage.plan(&json!({"server": "recorder"}));
    assert_eq!(plan["count"], TASKS, "{plan}");
    assert_eq!(plan["handles"].as_array().map(Vec::len), Some(100), "the first hundred are named");
    let id = plan["planId"].as_str().expect("an id");
    let from = Instant::now();
    let begun = stage.ask("plans.run", &json!({"planId": id, "reason": "wrong month"}));
    let recorded = from.elapsed();
    // On a slow machine it replies before all are asked, and says how many are left.
    let told = [&begun["asked"], &begun["left"]].map(|count| count.as_u64().unwrap_or_default()).iter().sum::<u64>();
    assert_eq!((told, &begun["refused"]), (TASKS as u64, &json!([])), "{begun}");
    let operation = stage.stopped(id, TASKS);
    assert_eq!(operation["settled"], true, "one result for each: {operation}");
    let seen = stage.server.seen();
    assert_eq!((seen.cancels.len(), seen.cancelled_at.len()), (TASKS, TASKS), "each was asked, once");
    let span = match (seen.cancelled_at.iter().min(), seen.cancelled_at.iter().max()) {
        (Some(first), Some(last)) => last.duration_since(*first),
        _ => panic!("cancels arrived"),
    };
    // The second of stop.md §7, check 2, is for a released program on a quiet machine (`cargo xtask torture`).
    let is_whole = std::env::var_os("TASKWARDEN_TORTURE").is_some();
    assert!(!is_whole || span < Duration::from_secs(1), "from the first cancel to the last: {span:?}");
    eprintln!("{TASKS} cancels, from the first to the last at the server: {span:?}; recorded within {recorded:?}");
}

#[test]
fn a_run_that_is_killed_goes_on_after_the_restart_and_asks_every_task() {
    const TASKS: usize = 400;
    let mut stage = Stage::open(Manner { pushes: false, ..Manner::default() });
    stage.start("hold", TASKS);
    let plan = stage.plan(&json!({}));
    let id = plan["planId"].as_str().expect("an id").to_owned();
    let run = json!({"planId": id, "reason": "enough"}).to_string();
    std::thread::scope(|scope| {
        let (runtime, door) = (&stage.runtime, attach(&stage.home));
        // Its reply is lost with the core.
        scope.spawn(move || drop(runtime.block_on(door.call("plans.run", run))));
        let begun = || (!stage.server.seen().cancels.is_empty()).then_some(());
        wait_for("the first cancel arrived", begun, || stage.home.core_log());
        stage.core.take().expect("a core").kill();
    });
    let before = stage.server.seen().cancels.len();
    assert!(before < TASKS, "the core died in the middle ({before})");
    stage.core = Some(stage.home.serve());
    let operation = stage.stopped(&id, TASKS);
    assert_eq!(operation["counts"]["notAsked"], 0, "{operation}");
    assert_eq!(stage.server.seen().cancels.len(), TASKS, "every task was asked");
    let again = stage.refusal("plans.run", &json!({"planId": id}));
    assert_eq!(again["code"], "refused", "it was run before the kill: {again}");
}

#[test]
fn a_plan_that_is_run_twice_at_once_runs_once() {
    let stage = Stage::open(Manner { pushes: false, ..Manner::default() });
    stage.start("hold", 40);
    let id = stage.plan(&json!({}))["planId"].as_str().expect("an id").to_owned();
    let run = json!({"planId": id}).to_string();
    let other = attach(&stage.home);
    let both =
        async { futures::join!(stage.door.call("plans.run", run.clone()), other.call("plans.run", run.clone())) };
    let (one, two) = stage.runtime.block_on(both);
    assert!(one.is_ok() != two.is_ok(), "one of them: {one:?} {two:?}");
    stage.settled(&id);
    assert!(stage.server.seen().cancels.values().all(|times| *times == 1), "each task was asked once");
}

#[test]
fn tasks_that_end_before_the_run_are_named_and_what_begins_meanwhile_is_not_asked() {
    let stage = Stage::open(Manner { slow: Duration::from_secs(6), pushes: false, ..Manner::default() });
    stage.start("hold", 10);
    // Calls that the server answers by itself after a while.
    let short: Vec<String> =
        (0..2).map(|n| stage.runtime.block_on(start(&stage.door, "recorder", "slow", &format!("slow-{n}")))).collect();
    let plan = stage.plan(&json!({"server": "recorder"}));
    assert_eq!(plan["count"], 12, "{plan}");
    let id = plan["planId"].as_str().expect("an id");
    let late = start(&stage.door, "recorder", "hold", "late");
    let late = stage.runtime.block_on(late);
    for task in &short {
        stage.home.wait_phase(task, "done");
    }
    let begun = stage.ask("plans.run", &json!({"planId": id}));
    assert_eq!(begun["asked"], 10, "{begun}");
    let mut named: Vec<&str> =
        begun["refused"].as_array().expect("a list").iter().filter_map(|one| one["id"].as_str()).collect();
    named.sort_unstable();
    let mut short: Vec<&str> = short.iter().map(String::as_str).collect();
    short.sort_unstable();
    assert_eq!(named, short, "those that ended are named: {begun}");
    let shown = stage.settled(id);
    let counts = &shown["operation"]["counts"];
    assert_eq!((&counts["stopped"], &counts["endedMeanwhile"]), (&json!(10), &json!(2)), "{shown}");
    assert_eq!(stage.home.task(&late)["intent"], Value::Null, "it was not counted, so it was not asked");
    let by_operation = stage.ask("plans.show", &json!({"id": begun["operation"]}));
    assert_eq!(by_operation["planId"], id, "the operation names its plan");
}

#[test]
fn what_does_not_fit_is_refused_with_its_reason_and_nothing_is_asked() {
    let stage = Stage::open(Manner { pushes: false, ..Manner::default() });
    let ids = stage.start("hold", 3);
    let none = stage.refusal("plans.make", &json!({"kind": "cancel", "filter": {"phases": ["waiting"]}}));
    assert_eq!(none["code"], "refused");
    let said = none["message"].as_str().unwrap_or_default();
    assert!(said.contains("the phase `waiting` hides 3 open tasks"), "the filter that hides them is named: {said}");
    let both = json!({"phases": ["waiting"], "server": "recorder"});
    let both = stage.refusal("plans.make", &json!({"kind": "cancel", "filter": both}));
    assert!(both["message"].as_str().is_some_and(|said| said.contains("the phase `waiting` hides 3 tasks")), "{both}");
    let unknown = stage.refusal("plans.make", &json!({"kind": "cancel", "filter": {"server": "recoder"}}));
    assert_eq!(unknown["code"], "notFound", "{unknown}");
    let nothing = stage.refusal("plans.make", &json!({"kind": "cancel"}));
    assert_eq!(nothing["code"], "usage", "all tasks are never meant by accident: {nothing}");

    let id = stage.plan(&json!({}))["planId"].as_str().expect("an id").to_owned();
    let long = stage.refusal("plans.run", &json!({"planId": id, "reason": "x".repeat(10_000)}));
    assert_eq!(long["code"], "usage", "{long}");
    let gone = stage.refusal("plans.run", &json!({"planId": "pln_0000000000000000000000000a"}));
    assert_eq!(gone["code"], "notFound", "{gone}");
    let wrong = stage.refusal("tasks.cancel", &json!({"ids": ids, "expect": 4}));
    assert!(wrong["message"].as_str().is_some_and(|said| said.contains("3 tasks match now, and 4")), "{wrong}");
    for list in ["servers", "agents", "tools", "scope"] {
        let empty = stage.refusal("halts.start", &json!({"reason": "wrong month", list: []}));
        assert_eq!(empty["code"], "usage", "an empty choice is not everything: {empty}");
    }
    assert_eq!(stage.ask("halts.show", &json!({}))["halt"], Value::Null, "nothing is halted");
    assert!(stage.server.seen().cancels.is_empty(), "nothing was asked");

    let listed = stage.home.run(["tasks", "cancel", "--server", "recorder"]);
    assert_eq!(listed.code, 5, "nobody agreed: {}", listed.err);
    assert!(listed.err.contains("3 tasks"), "the count is told: {}", listed.err);
    let revoked = stage.home.run(["tasks", "revoke", "--phase", "running", "--yes", "--json"]);
    assert_eq!(revoked.code, 0, "{}", revoked.err);
    assert_eq!(revoked.json()["stops"].as_array().map(Vec::len), Some(3), "{}", revoked.out);
    let again = stage.home.run(["tasks", "revoke", "--all", "--yes"]);
    assert_eq!(again.code, 5, "nothing is left: {}", again.err);
}
