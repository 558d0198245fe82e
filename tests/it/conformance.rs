//! The official conformance runner: every check behind the gateway ends as it ends against the server itself.
//!
//! Four servers: our serving face and rmcp with the task fixtures, the official TypeScript SDK in either era.
//! Its scenarios for OAuth clients are in `sign_in.rs`.
//! What is compared is each check of each scenario by id, name and verdict; `cargo xtask conformance` prints the table.
//! The runner cannot send a token, so a forwarder that adds it stands before the gateway and changes nothing else.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;
use tests::clients::{Told, node};
use tests::forwarder::Forwarder;
use tests::gate::Gate;

use crate::{CONFORMANCE_SERVER, PROGRAM, RMCP_PEER};

mod sign_in;

const RUNNER: &str = "node_modules/@modelcontextprotocol/conformance/dist/index.js";

/// What a tasks server must do; the rest of the runner's suites is about everything else.
const TASKS: [&str; 10] = [
    "tasks-lifecycle",
    "tasks-capability-negotiation",
    "tasks-wire-fields",
    "tasks-request-state-removal",
    "tasks-mrtr-input",
    "tasks-request-headers",
    "tasks-dispatch-and-envelope",
    "tasks-status-notifications",
    "tasks-required-task-error",
    "tasks-mrtr-composition",
];

/// What differs, with the checks that may fail behind the gateway; no other check of these scenarios may.
///
/// By design: the first two are about how a server streams its replies, which is our own face's choice: it answers in
/// JSON where nothing else is to be said, and its calls outlive a stream as tasks. The third tests that a tool refuses
/// clients without tasks: giving such clients the tool all the same is what the gateway is for (protocol.md §7.3).
const DIFFERENT: [(&str, &[&str]); 3] = [
    ("server-sse-multiple-streams", &[]),
    ("server-sse-polling", &[]),
    ("tasks-required-task-error", &["Sep2663ServerReturnsMissingCapabilityWhenRequired"]),
];

/// One check of a scenario.
struct Check {
    id: String,
    name: String,
    verdict: String,
    why: String,
}

impl fmt::Display for Check {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} ({}) {} {}", self.name, self.id, self.verdict, self.why)
    }
}

impl PartialEq for Check {
    fn eq(&self, other: &Self) -> bool {
        (&self.id, &self.name, &self.verdict) == (&other.id, &other.name, &other.verdict)
    }
}

impl Check {
    /// Those of one scenario, in the order in which they were made.
    fn read(file: &Path) -> Vec<Self> {
        let text = std::fs::read_to_string(file).expect("the checks of a scenario");
        let checks: Value = serde_json::from_str(&text).expect("JSON");
        let text = |check: &Value, member: &str| check[member].as_str().unwrap_or_default().to_owned();
        let made = checks.as_array().into_iter().flatten();
        made.map(|check| Self {
            id: text(check, "id"),
            name: text(check, "name"),
            verdict: text(check, "status"),
            why: text(check, "errorMessage"),
        })
        .collect()
    }
}

/// Checks by scenario, in the order in which they were made.
type Verdicts = BTreeMap<String, Vec<Check>>;

/// What to run: one revision's whole suite, or scenarios by name.
enum Suite {
    Revision(&'static str),
    Named(&'static [&'static str]),
}

fn run(url: &str, suite: &Suite) -> Verdicts {
    let place = tempfile::tempdir().expect("a folder");
    let runs: Vec<Vec<&str>> = match suite {
        Suite::Revision(revision) => vec![vec!["--suite", "all", "--spec-version", revision]],
        Suite::Named(names) => names.iter().map(|name| vec!["--scenario", name]).collect(),
    };
    for arguments in runs {
        let mut runner = node(RUNNER);
        runner.args(["server", "--url", url, "--output-dir"]).arg(place.path()).args(&arguments);
        let ran = runner.stdin(Stdio::null()).output().expect("the runner starts");
        // It ends with 1 when a check failed; what failed is in the files.
        assert!(
            ran.status.code().is_some_and(|code| code < 2),
            "the runner ran: {}",
            String::from_utf8_lossy(&ran.stderr)
        );
    }
    read(place.path())
}

fn read(place: &Path) -> Verdicts {
    let mut verdicts = Verdicts::new();
    for entry in std::fs::read_dir(place).expect("the folder of the results").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        // `server-NAME-2026-11-21T11-14-24-327Z`
        let time = name.len().saturating_sub("-2026-11-21T11-14-24-327Z".len());
        let scenario = name.get("server-".len()..time).unwrap_or_default().to_owned();
        verdicts.insert(scenario, Check::read(&entry.path().join("checks.json")));
    }
    verdicts
}

/// Runs the suite against the server and against the gateway before it, prints the table, and demands equality.
fn compare(server: &str, suite: &Suite, at_least: usize) {
    let direct = run(server, suite);
    let gate = Gate::open(PROGRAM);
    gate.add_server("fixtures", &["--url", server]);
    // The runner answers questions itself, as an agent does.
    gate.ask_the_agent("fixtures");
    let token = gate.add_agent("conformance");
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    let forwarder = runtime.block_on(Forwarder::start(gate.address(), Some(&token))).expect("a forwarder");
    let behind = run(&format!("http://{}/mcp/fixtures", forwarder.address()), suite);

    let passed = |checks: &[Check]| checks.iter().filter(|check| check.verdict == "SUCCESS").count();
    let (mut count, mut differences) = (0, Vec::new());
    println!("{:<50} {:>6} {:>7} {:>7}", "scenario", "checks", "before", "behind");
    for (scenario, before) in &direct {
        let after = behind.get(scenario).map_or(&[][..], Vec::as_slice);
        count += before.len();
        let excused = DIFFERENT.iter().find(|(name, _)| name == scenario);
        let word = match excused {
            _ if before == after => "",
            Some(_) => "  differs, see DIFFERENT",
            None => "  differs",
        };
        println!("{scenario:<50} {:>6} {:>7} {:>7}{word}", before.len(), passed(before), passed(after));
        if let Some((_, named)) = excused {
            let failed = after.iter().filter(|check| check.verdict == "FAILURE");
            let failed = failed.filter(|check| !named.contains(&check.name.as_str()));
            differences.extend(failed.map(|check| format!("{scenario}: fails {check}")));
            continue;
        }
        let lost = before.iter().filter(|check| !after.contains(check)).map(|check| format!("{scenario}: - {check}"));
        let new = after.iter().filter(|check| !before.contains(check)).map(|check| format!("{scenario}: + {check}"));
        differences.extend(lost.chain(new));
    }
    println!("{} scenarios, {count} checks", direct.len());
    assert!(direct.len() >= at_least, "the runner ran its scenarios, not {} of them", direct.len());
    assert!(count > direct.len(), "and made checks: {count}");
    assert!(direct.keys().eq(behind.keys()), "the same scenarios ran: {:?}", behind.keys());
    assert!(differences.is_empty(), "behind the gateway it is otherwise:\n{}", differences.join("\n"));
}

#[test]
fn conformance_of_tasks_is_behind_the_gateway_as_before_it() {
    let place = tempfile::tempdir().expect("a folder");
    let mut server = Told::start(std::process::Command::new(CONFORMANCE_SERVER), place.path());
    compare(&server.first_line(), &Suite::Named(&TASKS), TASKS.len());
}

#[test]
fn conformance_of_tasks_of_rmcp_is_behind_the_gateway_as_before_it() {
    let place = tempfile::tempdir().expect("a folder");
    let mut fixtures = std::process::Command::new(RMCP_PEER);
    fixtures.arg("fixtures");
    let mut server = Told::start(fixtures, place.path());
    compare(&server.first_line(), &Suite::Named(&TASKS), TASKS.len());
}

#[test]
fn conformance_of_2026_is_behind_the_gateway_as_before_it() {
    let place = tempfile::tempdir().expect("a folder");
    let mut fixtures = node("fixtures.mjs");
    fixtures.arg("modern");
    let mut server = Told::start(fixtures, place.path());
    compare(&server.first_line(), &Suite::Revision("2026-07-28"), 40);
}

#[test]
fn conformance_of_2025_is_behind_the_gateway_as_before_it() {
    let place = tempfile::tempdir().expect("a folder");
    let mut fixtures = node("fixtures.mjs");
    fixtures.arg("legacy");
    let mut server = Told::start(fixtures, place.path());
    compare(&server.first_line(), &Suite::Revision("2025-11-25"), 33);
}
