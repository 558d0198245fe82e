//! Limits of tokens, as agents and people meet them: a report that is too large, a task that talks too much, a full window.
//!
//! Three agents have the same day: one of 2026-07-28 with tasks, a session of 2025-11-25, and one over plain pipes. The
//! server behind is the demo, which splits its time between `huge_report` and `runaway`. What a kill around the commit of
//! a result leaves to its agent is in `budget_kill.rs`; whether the figures are true is in `transcript.rs`.

use std::path::PathBuf;

use serde_json::{Value, json};
use tests::budget::{occupied, of};
use tests::clients::{Told, python};
use tests::gate::Gate;
use tests::home::wait_for;
use tests::peers::{self, HttpPeer};
use tests::reader::{Reader, held, link, words};

use crate::PROGRAM;

/// What one result may have here.
const LIMIT: u64 = 5_000;
/// About how many tokens the report has; it says so itself, by its own rule of thumb.
const REPORT: u64 = 12_000;

/// A core with the demo server behind it.
struct Stage {
    gate: Gate,
    _demo: HttpPeer,
}

impl Stage {
    fn set() -> Self {
        let demo = peers::demo_http(PROGRAM);
        let gate = Gate::open(PROGRAM);
        gate.add_server("demo", &["--url", demo.url()]);
        Self { gate, _demo: demo }
    }

    /// Three agents, one a way. The bridge comes last: what starts one adds nobody afterwards, where that is strict.
    fn readers(&self) -> [Reader; 3] {
        let tokens = ["modern", "session", "bridge"].map(|name| {
            let token = self.gate.add_agent(name);
            self.gate.count_by(name, "o200k", 200_000);
            token
        });
        [
            Reader::modern(&self.gate, "demo", "modern", &tokens[0]),
            Reader::session(&self.gate, "demo", "session", &tokens[1]),
            Reader::bridge(&self.gate, "demo", "bridge", &tokens[2]),
        ]
    }

    fn limit(&self, reader: &Reader, what: &str, limit: &str) {
        self.gate.limit("--agent", reader.name(), what, limit);
    }

    /// Arguments for a report about nearly nothing: then it is made of numbers, the same every time.
    fn report(&self) -> Value {
        let folder: PathBuf = self.gate.home().path().join("empty");
        std::fs::create_dir_all(&folder).expect("a folder");
        json!({"tokens": REPORT, "path": folder})
    }

    /// The newest task of this agent and tool, once it is as wanted.
    fn task(&self, reader: &Reader, tool: &str, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        let mine = |task: &Value| task["tool"] == tool && task["agent"] == reader.name();
        wait_for(
            &format!("{tool} of {} {what}", reader.name()),
            || {
                let newest = self.gate.tasks().into_iter().find(mine)?;
                Some(self.gate.home().task(newest["id"].as_str()?)).filter(&is_it)
            },
            || format!("{:#?}\ncore: {}", self.gate.tasks(), self.gate.home().core_log()),
        )
    }

    fn run(&self, args: &[&str]) {
        let ran = self.gate.home().run(args);
        assert_eq!(ran.code, 0, "{args:?}: {}", ran.err);
    }
}

fn id(task: &Value) -> String {
    task["id"].as_str().expect("an id").to_owned()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("a number, not {value}"))
}

/// The report that an unlimited agent gets, to compare with.
fn whole_report(stage: &Stage) -> String {
    let token = stage.gate.add_agent("free");
    let free = Reader::modern(&stage.gate, "demo", "free", &token);
    let report = words(&free.call("huge_report", &stage.report()));
    assert!(report.starts_with("Files below `") && report.len() > 20_000, "the report is a large one: {report:.200}");
    report
}

#[test]
fn a_report_over_its_limit_is_given_short_and_read_in_slices_by_every_kind_of_agent() {
    let stage = Stage::set();
    let whole = whole_report(&stage);
    for reader in stage.readers() {
        let name = reader.name().to_owned();
        stage.limit(&reader, "--result-tokens", &format!("{LIMIT}:hold"));
        let got = reader.call("huge_report", &stage.report());
        let (short, said) = (held(&got), words(&got));
        let size = number(&short["tokens"]);
        assert!(size > LIMIT && short["limit"] == LIMIT, "{name} reads how large it is before it is: {got}");
        assert_eq!((&short["family"], &short["exactness"]), (&json!("o200k"), &json!("exact")), "{name}: {short}");
        assert!(said.contains("tokens (GPT o200k, exact)"), "{name}: in words too: {said:.300}");
        assert!(
            said.contains("Files below `") && said.len() < whole.len() / 4,
            "{name}: with its first lines: {said:.300}"
        );

        let task = stage.task(&reader, "huge_report", "is done", |task| task["tokens"]["result"].is_u64());
        assert_eq!(task["tokens"]["result"], size, "people see the same size: {task}");
        assert_eq!(task["tokens"]["delivered"], 0, "and that {name} read nothing of it yet: {task}");
        assert_eq!(task["held"]["why"], "tooLarge", "and why: {task}");

        let before = stage.gate.budget(&name);
        let slices = reader.slices(&link(&got), 2_500);
        assert_eq!(slices.concat(), whole, "{name}: the slices are the whole");
        assert!(slices.len() >= 4, "{name}: and none is larger than asked for: {}", slices.len());
        let read = |tokens: &Value| tokens["delivered"].as_u64() >= Some(size * 99 / 100);
        let tokens = stage.gate.wait_tokens("what was read is counted", &id(&task), read);
        // Each slice says where the next one is; and at each border one token may have become two, or two one.
        let more = 100 * slices.len() as u64;
        assert!((size - 2..size + more).contains(&number(&tokens["delivered"])), "{name}: once: {tokens}");
        let grown = of(&stage.gate.budget(&name), "results") - of(&before, "results");
        assert_eq!(tokens["delivered"], grown, "{name}: and the same is in the window");

        if reader.has_task_tools() {
            let parts = reader.parts(&id(&task));
            assert_eq!(parts.concat(), whole, "{name}: `tasks_result` gives the same in parts");
            assert!(parts.len() >= 2, "{name}: in several");
        }
    }
}

#[test]
fn one_slice_of_a_large_report_costs_one_slice() {
    let stage = Stage::set();
    let [reader, ..] = stage.readers();
    stage.limit(&reader, "--result-tokens", &format!("{LIMIT}:hold"));
    let got = reader.call("huge_report", &stage.report());
    let read = reader.ask("resources/read", &json!({"uri": format!("{}?offset=30000&tokens=500", link(&got))}));
    assert!(read["result"]["contents"][0]["text"].is_string(), "a slice from the middle: {read}");
    let budget = stage.gate.wait_budget("the slice is counted", "modern", |budget| of(budget, "results") > 0);
    // The slice itself, and a line that says where the next one is.
    assert!(of(&budget, "results") <= 600, "it is in the window: {budget}");
    let outside = number(&held(&got)["tokens"]) - 600;
    assert!(occupied(&budget) < outside / 2, "the rest is not: {budget}");
    let task = stage.task(&reader, "huge_report", "is done", |task| task["tokens"]["result"].is_u64());
    stage.gate.wait_tokens("the rest is kept out", &id(&task), |tokens| tokens["keptOut"].as_u64() >= Some(outside));

    let before = of(&budget, "results");
    reader.ask("resources/read", &json!({"uri": link(&got)}));
    let budget = stage.gate.wait_budget("a whole slice is counted", "modern", |budget| of(budget, "results") > before);
    let came = of(&budget, "results") - before;
    assert!(
        (LIMIT * 9 / 10..=LIMIT).contains(&came),
        "with the line after it, it is no more than one result may be: {came}"
    );
}

#[test]
fn a_person_decides_about_a_report_over_its_limit_and_every_kind_of_agent_gets_what_was_decided() {
    let stage = Stage::set();
    let whole = whole_report(&stage);
    for reader in stage.readers() {
        let name = reader.name().to_owned();
        stage.limit(&reader, "--result-tokens", &format!("{LIMIT}:ask"));
        let verdicts: [&[&str]; 4] =
            [&["--deliver"], &["--slices"], &["--trim", "1000"], &["--withhold", "--reason", "too much of it"]];
        for verdict in verdicts {
            let got = std::thread::scope(|scope| {
                let calling = scope.spawn(|| reader.call("huge_report", &stage.report()));
                let task = stage.task(&reader, "huge_report", "is held", |task| {
                    task["held"]["why"] == "tooLarge" && task["held"]["verdict"].is_null()
                });
                let row = stage.gate.wait_waiting("held", &id(&task));
                assert!(row["tokens"]["result"].as_u64().or(row["tokens"].as_u64()) > Some(LIMIT), "its size: {row}");
                assert!(!calling.is_finished(), "{name} waits for the person");
                stage.run(&[&["tasks", "release", &id(&task)], verdict].concat());
                calling.join().expect("the call ends")
            });
            let said = words(&got);
            match verdict[0] {
                "--deliver" => assert_eq!(said, whole, "{name} has it whole"),
                "--slices" => {
                    assert!(said.len() < whole.len() / 4, "{name} has the short result: {said:.300}");
                    assert_eq!(reader.slices(&link(&got), 8_000).concat(), whole, "{name} reads the whole");
                }
                "--trim" => {
                    assert!(
                        said.len() < whole.len() / 4 && said.len() > 1_000,
                        "{name} has the beginning: {}",
                        said.len()
                    );
                    assert_eq!(said[..500], whole[..500], "{name}: as it is");
                }
                _ => {
                    assert!(said.contains("too much of it"), "{name} reads why it does not get it: {got}");
                    assert!(!said.contains("Files below"), "{name} gets nothing of it: {got}");
                }
            }
        }
    }
}

#[test]
fn what_was_withheld_and_what_is_anothers_cannot_be_read_in_slices() {
    let stage = Stage::set();
    let [modern, session, _bridge] = stage.readers();
    for reader in [&modern, &session] {
        stage.limit(reader, "--result-tokens", &format!("{LIMIT}:hold"));
    }
    let uri = link(&modern.call("huge_report", &stage.report()));
    let unknown = session.ask("resources/read", &json!({"uri": "taskwarden://results/hdl_00000000000000000000000000"}));
    let foreign = session.ask("resources/read", &json!({"uri": uri}));
    assert!(unknown["error"]["code"].is_i64(), "there is no such resource: {unknown}");
    let same = |answer: &Value| answer["error"]["code"].clone();
    assert_eq!(same(&foreign), same(&unknown), "another's result is not there: {foreign}");
    let task = stage.task(&modern, "huge_report", "is held", |task| task["held"]["why"] == "tooLarge");
    stage.run(&["tasks", "release", &id(&task), "--withhold", "--reason", "no"]);
    let gone = modern.ask("resources/read", &json!({"uri": uri}));
    assert!(gone["error"]["code"].is_i64(), "what a person took back is not there any more: {gone}");
}

#[test]
fn a_job_that_says_too_much_is_stopped_and_its_agent_reads_why() {
    let stage = Stage::set();
    let stopped = |reader: &Reader| {
        let name = reader.name();
        let got = reader.call("runaway", &json!({}));
        let said = words(&got);
        assert!(said.contains("limit") && said.contains("200"), "{name} reads which limit it was: {got}");
        let task = stage.task(reader, "runaway", "is over", |task| task["phase"] == "cancelled");
        assert_eq!(task["overLimit"]["limit"]["tokens"], 200, "people see it too: {task}");
        assert!(number(&task["overLimit"]["tokens"]) > 200, "and how much it was: {task}");
    };
    let (readers, stopped) = (stage.readers(), &stopped);
    std::thread::scope(|scope| {
        for reader in &readers {
            stage.limit(reader, "--task-tokens", "200:stop");
            scope.spawn(move || stopped(reader));
        }
    });
}

#[test]
fn a_job_past_its_limit_goes_on_when_a_person_lets_it() {
    let stage = Stage::set();
    let [reader, ..] = stage.readers();
    stage.limit(&reader, "--task-tokens", "200:ask");
    let begun = reader.begin("runaway", &json!({}));
    let task = id(&stage.task(&reader, "runaway", "asks to go on", |task| task["overLimit"]["tokens"].is_u64()));
    let row = stage.gate.wait_waiting("overLimit", &task);
    assert_eq!(row["tool"], "runaway", "a person is asked: {row}");
    stage.run(&["tasks", "go-on", &task]);
    let settled = stage.gate.home().task(&task);
    assert!(settled["overLimit"]["settledBy"].is_string(), "the answer is kept: {settled}");
    let words_of = |task: &Value| task["statusMessage"].clone();
    let (before, now) = (words_of(&settled), || stage.gate.home().task(&task));
    wait_for("it works on", || (words_of(&now()) != before).then_some(()), || now().to_string());
    assert_eq!(stage.gate.waiting("overLimit", &task), Vec::<Value>::new(), "and nobody is asked again");
    stage.run(&["tasks", "cancel", &task, "--yes", "--wait"]);
    let ended = reader.end(begun);
    assert!(!words(&ended).contains("limit"), "this stop was a person's: {ended}");
}

#[test]
fn what_does_not_fit_the_window_is_held_until_the_window_is_emptied() {
    let stage = Stage::set();
    let [reader, ..] = stage.readers();
    let first = words(&reader.call("huge_report", &stage.report()));
    let filled =
        stage.gate.wait_budget("the report is in the window", "modern", |budget| of(budget, "results") > LIMIT);
    let limit = occupied(&filled) + 2_000;
    stage.limit(&reader, "--window-tokens", &format!("{limit}:hold"));
    let second = reader.call("huge_report", &stage.report());
    assert!(number(&held(&second)["tokens"]) > 2_000, "the second does not fit: {second}");
    let task = stage.task(&reader, "huge_report", "does not fit", |task| task["held"]["why"] == "doesNotFit");
    let free = task["held"]["free"].as_u64();
    assert!(free.is_some_and(|free| free <= 2_000), "and people see what was free: {task}");
    stage.run(&["budget", "empty", "modern"]);
    let emptied = stage.gate.budget("modern");
    assert_eq!(occupied(&emptied), 0, "an emptied window is empty: {emptied}");
    assert_eq!(words(&reader.call("huge_report", &stage.report())), first, "and takes a report whole again");
}

#[test]
fn counts_survive_a_killed_core() {
    let mut stage = Stage::set();
    let token = stage.gate.add_agent("modern");
    stage.gate.count_by("modern", "o200k", 200_000);
    let reader = Reader::modern(&stage.gate, "demo", "modern", &token);
    reader.ask("tools/list", &json!({}));
    reader.call("tool_error", &json!({}));
    reader.call("huge_report", &stage.report());
    let seen = |budget: &Value| of(budget, "tools") > 0 && of(budget, "results") > LIMIT;
    stage.gate.wait_budget("all of it is counted", "modern", seen);
    let task = stage.task(&reader, "huge_report", "is read", |task| {
        task["tokens"]["delivered"].is_u64() && task["tokens"]["delivered"] == task["tokens"]["result"]
    });
    // What was shown is in the registry: showing stores first.
    let before = stage.gate.budget("modern");
    stage.gate.kill();
    stage.gate.start();
    let after = stage.gate.budget("modern");
    let kept = |budget: &Value| (budget["budget"]["now"]["sources"].clone(), budget["spentToday"].clone());
    assert_eq!(kept(&after), kept(&before), "the window and what was spent are what they were");
    assert_eq!(after["budget"]["now"]["id"], before["budget"]["now"]["id"], "it is the same window");
    let again = stage.gate.home().task(&id(&task));
    assert_eq!(again["tokens"], task["tokens"], "and the task's own figures");
    reader.call("tool_error", &json!({}));
    let grown =
        stage.gate.wait_budget("it goes on", "modern", |budget| of(budget, "arguments") > of(&before, "arguments"));
    assert_eq!(of(&grown, "tools"), of(&before, "tools"), "and what it had in its window is still there: {grown}");
}

#[test]
fn an_agents_program_raises_no_limit_and_releases_nothing_by_any_door() {
    let mut stage = Stage::set();
    stage.gate.kill();
    std::fs::write(stage.gate.home().data().join("config.toml"), "strict_agents = true\n").expect("it can be written");
    stage.gate.start();
    let token = stage.gate.add_agent("climber");
    stage.gate.limit("--agent", "climber", "--result-tokens", &format!("{LIMIT}:hold"));
    let rules = stage.gate.home().json(["rules", "list", "--json"]);
    let mut client = python("clients", "climber.py");
    let connect = stage.gate.connect("demo", "climber", &token);
    let command = std::iter::once(connect.get_program()).chain(connect.get_args());
    let command: Vec<String> = command.map(|word| word.to_string_lossy().into_owned()).collect();
    for (name, value) in connect.get_envs() {
        match value {
            Some(value) => client.env(name, value),
            None => client.env_remove(name),
        };
    }
    let some_task = "hdl_00000000000000000000000000";
    let tries = json!([
        ["rules", "set", "--agent", "climber", "--result-tokens", "900000:warn"],
        ["rules", "unset", "--agent", "climber"],
        ["budget", "set", "climber", "--window", "9000000"],
        ["budget", "empty", "climber"],
        ["tasks", "release", some_task, "--deliver"],
        ["tasks", "go-on", some_task],
    ]);
    client.env("CLIENT_COMMAND", json!(command).to_string()).env("CLIENT_PROGRAM", PROGRAM);
    client.env("CLIENT_TRIES", tries.to_string());
    let told = Told::start(client, stage.gate.home().path()).wait("done");
    assert_eq!(told["greeted"], true, "its bridge is let in: {told}");
    assert_eq!(told["codes"], json!([5, 5, 5, 5, 5, 5]), "and every try of its program is refused: {told}");
    // This test started the client, so its own commands are the agent's until the next core.
    stage.gate.kill();
    stage.gate.start();
    assert_eq!(stage.gate.home().json(["rules", "list", "--json"]), rules, "the rules are what they were");
}
