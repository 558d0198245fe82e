//! A core that is killed at each step of a halt and of the way back (check 7.4 of the design of stop): it comes back
//! halted when anybody was told so, its page is whole, no task that is known to have ended is asked again, and each stage
//! is in force or not.
//!
//! CI runs each step once; `cargo xtask torture` runs 200 rounds, the further ones at random moments.

use serde_json::{Value, json};
use tests::by_hand::{self, Agent};
use tests::gate::Gate;
use tests::home::{Ran, looks, wait_for};
use tests::hostile::Deed;
use tests::server::{Manner, Recorder};
use tests::torture::{Campaign, Random, Round};

use crate::PROGRAM;
use crate::statements::{Log, modern, no_method};

/// The exit code of what was refused (product.md).
const REFUSED: i32 = 5;
/// Open tasks at the halt.
const TASKS: usize = 3;
/// Nothing is on record yet.
const BEFORE_THE_COMMIT: &str = "registry.put_halt:before:1";
/// The steps of a halt: its commit, the gate, when the gate closed, and the cancels.
const STEPS: [&str; 6] = [
    BEFORE_THE_COMMIT,
    "registry.put_halt:after:1",
    "registry.put_halt:before:2",
    "registry.put_halt:after:2",
    "upstream.cancel:before:1",
    "upstream.cancel:after:2",
];
/// The way back.
const STAGES: [&str; 4] = ["acknowledged", "requests", "read-only", "calls"];

/// A core with open tasks on a server.
struct Halted<'a> {
    server: &'a Recorder,
    gate: Gate,
}

impl Halted<'_> {
    fn run(&self, args: &[&str]) -> Ran {
        self.gate.home().run(args)
    }

    fn ok(&self, args: &[&str]) {
        let ran = self.run(args);
        assert_eq!(ran.code, 0, "`{args:?}`: {}{}\n{}", ran.out, ran.err, self.gate.home().core_log());
    }

    /// What is halted; null when nothing is.
    fn page(&self) -> Value {
        self.gate.home().json(["halt", "--json"])["halt"].take()
    }

    /// The state of each task on the page, by its handle.
    fn states(page: &Value) -> Vec<(String, String)> {
        let tasks = page["tasks"].as_array().expect("tasks").iter();
        let text = |value: &Value| value.as_str().expect("a word").to_owned();
        tasks.map(|task| (text(&task["id"]), text(&task["state"]))).collect()
    }

    /// A call that must be refused without reaching the server.
    fn is_refused(&self, nonce: &str) {
        let ran = self.run(&["call", "recorder", "quick", "--args", &json!({"nonce": nonce}).to_string()]);
        assert_eq!(ran.code, REFUSED, "it is halted: {}{}", ran.out, ran.err);
        assert!(!self.server.seen().calls.contains_key(nonce), "and the server never heard of it");
    }

    /// Waits until the core has died, or is through with all that it has to do.
    fn until_dead_or(&mut self, is_done: impl Fn(&Self) -> bool) -> bool {
        for () in looks() {
            if self.gate.has_ended() {
                return true;
            }
            if is_done(self) {
                return self.gate.has_ended();
            }
        }
        panic!("it neither died nor came to its end: {}", self.gate.home().core_log());
    }

    fn is_confirmed(&self) -> bool {
        // A core that dies under the question answers nothing.
        let ran = self.run(&["halt", "--json"]);
        ran.code == 0 && ran.json()["halt"]["counts"]["confirmed"] == TASKS
    }
}

/// A moment at random: of a halt, or of any change while it is carried out.
fn any_moment(random: &mut Random) -> String {
    let side = random.pick(&["before", "after"]);
    match random.below(3) {
        0 => format!("registry.put_halt:{side}:{}", 1 + random.below(2)),
        1 => format!("upstream.cancel:{side}:{}", 1 + random.below(3)),
        _ => format!("registry.commit:{side}:{}", 1 + random.below(12)),
    }
}

fn halt_and_resume(point: &str, random: &mut Random, round: &mut Round) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    let server = runtime.block_on(Recorder::start(Manner::default())).expect("a loopback server");
    let gate = Gate::open(PROGRAM);
    gate.add_server("recorder", &["--url", &server.url()]);
    let begin = |number| gate.home().call("recorder", "hold", &json!({"nonce": format!("hold-{number}")}));
    let ids: Vec<String> = (0..TASKS).map(begin).collect();
    ids.iter().for_each(|id| drop(gate.home().wait_taken(id)));
    let mut halted = Halted { server: &server, gate };

    halted.gate.kill();
    halted.gate.start_with(&[("CORE_UNDER_TEST_ABORT_AT", point)]);
    let order = ["halt", "--reason", "wrong month", "--yes"];
    let told = halted.run(&order);
    let was_killed = halted.until_dead_or(|halted| told.code == 0 && halted.is_confirmed());
    if !was_killed {
        // It passed that point less often; what it would die of later is no part of this.
        halted.gate.kill();
    }
    halted.gate.start();
    let page = halted.page();
    match point {
        BEFORE_THE_COMMIT => assert!(page.is_null() && told.code != 0, "nobody was told that there is one: {page}"),
        step if step.starts_with("registry.put_halt") => {
            assert!(was_killed && page.is_object(), "{step}: it is on record, so it holds: {page}");
        }
        _ => assert!(page.is_object() || told.code != 0, "{point}: whoever was told can rely on it: {}", told.out),
    }
    if page.is_null() {
        halted.ok(&order);
    }
    halted.is_refused("after the halt");
    let first = halted.page();
    let known: Vec<String> =
        Halted::states(&first).into_iter().filter(|(_, state)| state == "confirmed").map(|(id, _)| id).collect();
    let cancels_of = |id: &String| {
        let number = ids.iter().position(|known| known == id).expect("one of ours");
        let task = server.task_of(&format!("hold-{number}")).expect("it was taken");
        server.seen().cancels.get(&task).copied()
    };
    let asked: Vec<Option<u32>> = known.iter().map(cancels_of).collect();
    wait_for(
        "all tasks are confirmed",
        || halted.is_confirmed().then_some(()),
        || format!("{point}: {:#}\n{}", halted.page(), halted.gate.home().core_log()),
    );
    let mut listed: Vec<String> = Halted::states(&halted.page()).into_iter().map(|(id, _)| id).collect();
    listed.sort_unstable();
    let mut all = ids.clone();
    all.sort_unstable();
    assert_eq!(listed, all, "{point}: the page has every task");
    assert_eq!(known.iter().map(cancels_of).collect::<Vec<_>>(), asked, "{point}: what had ended is not asked again");

    let dies_at = usize::try_from(random.below(4)).unwrap_or_default();
    for (number, stage) in STAGES.into_iter().enumerate() {
        if number == dies_at {
            let side = *random.pick(&["before", "after"]);
            halted.gate.kill();
            halted.gate.start_with(&[("CORE_UNDER_TEST_ABORT_AT", &format!("registry.put_halt:{side}:1"))]);
            let cut = halted.run(&["resume", stage]);
            assert_ne!(cut.code, 0, "the core died under `{stage}`: {}", cut.out);
            assert!(halted.until_dead_or(|_| false), "it dies");
            halted.gate.start();
            let page = halted.page();
            let taken = page["steps"].as_array().map_or(STAGES.len(), Vec::len);
            assert_eq!(taken, number + usize::from(side == "after"), "{stage}, {side}: it is in force or not: {page}");
            if side == "after" {
                continue;
            }
        }
        halted.ok(&["resume", stage]);
    }
    assert_eq!(halted.page(), Value::Null, "it is over");
    halted.ok(&["call", "recorder", "quick", "--args", r#"{"nonce":"over"}"#, "--wait"]);
    (round.weight, round.handles) = (1, ids.len());
}

#[test]
fn torture_a_halt_holds_and_its_page_is_whole_wherever_the_core_is_killed() {
    let mut steps = STEPS.iter();
    let sample = u32::try_from(STEPS.len()).unwrap_or(1);
    Campaign::new("halts", sample).run(|random, round| {
        let point = steps.next().map_or_else(|| any_moment(random), |step| (*step).to_owned());
        println!("the core dies at {point}");
        halt_and_resume(&point, random, round);
    });
}

#[test]
fn a_call_that_had_left_when_the_core_was_killed_is_on_the_page_of_the_halt() {
    let log = Log::default();
    // It takes calls and never says a word to them.
    let silent = log.serve(|asked| match asked.method() {
        "tools/call" => Deed::SayAndHang(Vec::new()),
        _ => modern(asked, no_method),
    });
    let mut gate = Gate::open(PROGRAM);
    gate.add_server("silent", &["--url", &silent.url()]);
    for point in ["registry.put_halt:after:1", "registry.put_halt:before:3"] {
        let name = format!("bot-{}", point.replace([':', '.', '_'], "-"));
        let agent = Agent::new(&gate.url("silent"), &gate.add_agent(&name));
        gate.kill();
        gate.start_with(&[("CORE_UNDER_TEST_ABORT_AT", point)]);
        let before = log.of("tools/call").len();
        std::thread::scope(|threads| {
            let params = json!({"name": "job", "arguments": {"point": point}});
            // Without tasks it waits for its reply, and the call has no row until somebody wants one.
            let call = by_hand::modern(json!(1), "tools/call", &params, "{}");
            let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "job")];
            let agent = &agent;
            threads.spawn(move || agent.try_post(&headers, &call));
            log.wait_for("tools/call", before + 1);
            let halted = gate.home().run(["halt", "--reason", "wrong month", "--yes"]);
            println!("{point}: the halt ended with {}", halted.code);
            if !looks().any(|()| gate.has_ended()) {
                // Ends the call as well, which would be waited for.
                gate.kill();
                panic!("{point}: the core lives on: {}", gate.home().core_log());
            }
        });
        gate.start();
        let page = || gate.home().json(["halt", "--json"])["halt"].take();
        let is_ours = |task: &Value| task["agent"] == name.as_str() && task["state"] == "notConfirmed";
        let page = wait_for(
            "the call is on the page",
            || Some(page()).filter(|page| page["tasks"].as_array().is_some_and(|tasks| tasks.iter().any(is_ours))),
            || format!("{point}: {:#}\n{}", page(), gate.home().core_log()),
        );
        assert!(page["closedAt"].is_string(), "{point}: it says since when no call left: {page}");
        assert_eq!(log.of("tools/call").len(), before + 1, "{point}: it was sent once");
        for stage in STAGES {
            let more: &[&str] = if stage == "acknowledged" { &["--with-open"] } else { &[] };
            let ran = gate.home().run([&["resume", stage], more].concat());
            assert_eq!(ran.code, 0, "{point}, {stage}: {}", ran.err);
        }
    }
}
