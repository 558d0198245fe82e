//! Power cuts: the core is ended around its commits and calls, and at random moments, while people call, answer and cancel.
//!
//! After each cut a new core takes over. At the end every handle is there, no call was made twice, no question was answered
//! with two values, every recorded answer was delivered, and every cancel reached its server. The kill points really
//! abort the process (ruling 39); they live in `core-under-test`, not in what ships.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tests::home::{Core, Home, wait_for};
use tests::server::{Manner, Recorder};
use tests::torture::{Campaign, Pulse, Random, kill_at_each, kill_at_some};

use crate::PROGRAM;

/// A person with a data directory, a strict server, and a core that may die at any moment.
struct Person<'a> {
    home: &'a Home,
    core: Option<Core>,
    /// How often the core was started without kill points.
    restarts: u32,
    /// Handles by the nonce of their call.
    handles: BTreeMap<&'static str, String>,
}

impl<'a> Person<'a> {
    fn new(home: &'a Home, core: Core) -> Self {
        Self { home, core: Some(core), restarts: 0, handles: BTreeMap::new() }
    }

    /// Makes sure that a core is running.
    fn revive(&mut self) {
        if self.core.as_mut().is_none_or(Core::ended) {
            self.core = Some(self.home.serve());
            self.restarts += 1;
        }
    }

    /// Runs a command until a core was there for all of it. `done` tells from the registry whether an attempt that was
    /// cut short has taken effect.
    fn persist(&mut self, args: &[&str], done: impl Fn(&Home) -> bool) {
        for _ in 0..20 {
            let ran = self.home.run(args);
            if ran.code == 0 {
                return;
            }
            self.revive();
            if done(self.home) {
                return;
            }
        }
        panic!("`{args:?}` never worked; core: {}", self.home.core_log());
    }

    /// Runs a reading command until no core died under it.
    fn read(&mut self, args: &[&str]) -> Value {
        let home = self.home;
        let answer = || {
            self.revive();
            let ran = home.run(args);
            (ran.code == 0).then(|| ran.json())
        };
        wait_for(&format!("{args:?} is answered"), answer, || home.core_log())
    }

    fn call(&mut self, tool: &'static str, nonce: &'static str, server: &Recorder) {
        for _ in 0..20 {
            let arguments = json!({"nonce": nonce}).to_string();
            let ran = self.home.run(["call", "recorder", tool, "--args", &arguments, "--json"]);
            if ran.code == 0 {
                let id = ran.json()["id"].as_str().expect("an id").to_owned();
                self.handles.insert(nonce, id);
                return;
            }
            self.revive();
            // Each tool is called once in the story, so a handle of this tool is the one that was cut short.
            let listed = self.read(&["tasks", "list", "--json"]);
            let mine = listed["tasks"].as_array().into_iter().flatten().find(|task| task["tool"] == tool);
            if let Some(task) = mine {
                self.handles.insert(nonce, task["id"].as_str().expect("an id").to_owned());
                return;
            }
            assert!(!server.seen().calls.contains_key(nonce), "a call left the machine without a handle on record");
        }
        panic!("the call `{tool}` never worked; core: {}", self.home.core_log());
    }

    fn wait_phases(&mut self, nonce: &'static str, phases: &[&str]) -> Value {
        let id = self.handles[nonce].clone();
        let home = self.home;
        wait_for(
            &format!("{nonce} is one of {phases:?}"),
            || {
                self.revive();
                let ran = home.run(["tasks", "show", &id, "--json"]);
                (ran.code == 0).then(|| ran.json()).filter(|task| phases.iter().any(|phase| task["phase"] == *phase))
            },
            || format!("{}\ncore: {}", home.run(["tasks", "show", &id, "--json"]).out, home.core_log()),
        )
    }
}

/// What a story was.
struct Told {
    restarts: u32,
    handles: usize,
}

/// Calls, answers and cancels while the core may die anywhere, then checks that nothing was lost or done twice.
fn story(home: &Home, server: &Recorder, core: Core) -> Told {
    let mut person = Person::new(home, core);
    let url = server.url();
    let is_added = |home: &Home| home.run(["servers", "show", "recorder", "--json"]).code == 0;
    person.persist(&["servers", "add", "recorder", "--yes", "--url", &url], is_added);

    person.call("ask", "ask", server);
    person.call("hold", "hold", server);
    person.call("work", "work", server);
    person.call("slow", "slow", server);
    person.call("quick", "quick", server);

    // A call whose reply was on its way when the core died is not sent again, and says so.
    let asked = person.wait_phases("ask", &["waiting", "unconfirmed"]);
    if asked["phase"] == "waiting" {
        let id = person.handles["ask"].clone();
        let answered = |home: &Home| {
            let task = home.run(["tasks", "show", &id, "--json"]);
            task.code == 0 && task.json()["requests"][0]["state"] != "open"
        };
        person.persist(&["tasks", "answer", &id, "--accept", r#"{"word":"bees"}"#], answered);
        person.wait_phases("ask", &["done"]);
    }
    let held = person.wait_phases("hold", &["running", "unconfirmed"]);
    if held["phase"] == "running" {
        let id = person.handles["hold"].clone();
        let wished = |home: &Home| {
            let task = home.run(["tasks", "show", &id, "--json"]);
            task.code == 0 && !task.json()["intent"].is_null()
        };
        person.persist(&["tasks", "cancel", &id, "--yes"], wished);
        person.wait_phases("hold", &["cancelled"]);
        let (tasks, cancels) = (server.tasks_of("hold"), server.seen().cancels);
        assert!(tasks.iter().any(|task| cancels.contains_key(task)), "the cancel reached the server");
    }
    for nonce in ["work", "slow", "quick"] {
        person.wait_phases(nonce, &["done", "unconfirmed"]);
    }
    check(server, &mut person);
    Told { restarts: person.restarts, handles: person.handles.len() }
}

fn check(server: &Recorder, person: &mut Person<'_>) {
    let seen = server.seen();
    assert_eq!(seen.violations, Vec::<String>::new(), "the client keeps to the protocol");
    for (nonce, calls) in &seen.calls {
        assert_eq!(*calls, 1, "the call `{nonce}` was made once");
    }
    for (task, answers) in &seen.answers {
        let first = answers.first().expect("at least one");
        assert!(answers.iter().all(|answer| answer == first), "{task} got one answer, however often: {answers:?}");
        assert_eq!(first.1["content"]["word"], "bees", "and it is the one that was recorded");
    }
    let listed = person.read(&["tasks", "list", "--json"]);
    let count = listed["tasks"].as_array().map_or(0, Vec::len);
    assert_eq!(count, person.handles.len(), "every handle is there, and none twice: {listed}");
    let inbox = person.read(&["inbox", "--json"]);
    assert_eq!(inbox["items"], json!([]), "nothing is asked again after it was answered");
}

fn recorder() -> (tokio::runtime::Runtime, Recorder) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    let manner = Manner { poll_interval: Duration::from_millis(100), slow: Duration::from_millis(300), pushes: false };
    let server = runtime.block_on(Recorder::start(manner)).expect("a loopback server");
    (runtime, server)
}

#[test]
fn the_story_holds_when_nothing_is_killed() {
    let (_runtime, server) = recorder();
    let home = Home::new(PROGRAM);
    let core = home.serve();
    assert_eq!(story(&home, &server, core).restarts, 0, "the core ran through");
}

/// Runs the story with the core aborting at `point`; returns whether it got there.
fn cut(point: &str) -> bool {
    let (_runtime, server) = recorder();
    let home = Home::new(PROGRAM);
    let core = home.serve_with(&[("CORE_UNDER_TEST_ABORT_AT", point)]);
    story(&home, &server, core).restarts > 0
}

fn assert_passes(points: &[&str], passages: u32, at_least: u32) {
    println!("{points:?}: {passages} passages");
    assert!(passages >= at_least, "the story passes {points:?} often enough to mean something, not {passages} times");
}

/// Kills the core before and after each passage of these points.
fn cut_everywhere(points: &[&str], at_least: u32) {
    assert_passes(points, points.iter().map(|point| kill_at_each(point, cut)).sum(), at_least);
}

#[test]
fn nothing_is_lost_when_the_core_dies_around_any_admission_or_change_of_a_server() {
    cut_everywhere(&["registry.admit", "registry.put_server"], 12);
}

#[test]
fn nothing_is_lost_when_the_core_dies_around_any_commit() {
    let point = "registry.commit";
    assert_passes(&[point], kill_at_some(point, cut), 20);
}

#[test]
fn nothing_is_lost_when_the_core_dies_around_any_call_answer_or_cancel() {
    cut_everywhere(&["upstream.call", "upstream.answer", "upstream.cancel"], 12);
}

/// CI kills at 50 random moments; `cargo xtask torture` at 1,000.
#[test]
fn torture_nothing_is_lost_over_many_kills_at_random_moments() {
    Campaign::new("kills under people", 50).run(|random, round| {
        let (_runtime, server) = recorder();
        let home = Home::new(PROGRAM);
        let core = home.serve();
        let pulse = Pulse::start(home.data().join("core.sock"));
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let killer = scope.spawn(|| kill_at_random(&home.data(), &stop, random));
            let told = std::panic::catch_unwind(AssertUnwindSafe(|| story(&home, &server, core)));
            stop.store(true, Ordering::Relaxed);
            round.weight = killer.join().expect("the killer ends");
            match told {
                Ok(told) => round.handles = told.handles,
                Err(why) => std::panic::resume_unwind(why),
            }
        });
        round.answers = server.seen().answers.len();
        round.gap = pulse.stop();
    });
}

/// Kills whatever core holds the data directory, a few times a story; returns how often.
pub(crate) fn kill_at_random(data: &std::path::Path, stop: &AtomicBool, random: &mut Random) -> u32 {
    /// The longer it lives, the further the story gets: a few kills, then peace.
    const KILLS_A_STORY: u32 = 8;
    let mut kills = 0;
    while !stop.load(Ordering::Relaxed) && kills < KILLS_A_STORY {
        tests::home::pause_for(Duration::from_millis(random.below(1_024).into()));
        let pid = std::fs::read_to_string(data.join("core.lock")).unwrap_or_default();
        let Some(pid) = pid.trim().parse().ok().and_then(rustix::process::Pid::from_raw) else { continue };
        if rustix::process::kill_process(pid, rustix::process::Signal::KILL).is_ok() {
            kills += 1;
        }
    }
    kills
}
