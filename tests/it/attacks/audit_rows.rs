//! Who decided, on record, and whether somebody who may decide nothing can bury it (finding A15).

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tests::gate::Gate;
use tests::home::{Home, wait_for};
use tests::server::{Manner, Recorder};

use crate::PROGRAM;

/// Refused requests at each door.
const REFUSED: usize = 4_000;
/// What they may add to the log: bursts of lines of a few places. All of them are megabytes.
const LOG_GROWTH_MAX: u64 = 256 * 1_024;

/// Fields of `/proc/PID/stat` after the name: state first, the start time is the twentieth.
fn stat(pid: u32) -> Vec<String> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("it has not been waited for");
    let after = text.rsplit_once(") ").expect("a name in brackets").1;
    after.split_whitespace().map(str::to_owned).collect()
}

/// Runs a command; its process id and start time as the kernel has them.
fn run_and_look(home: &Home, args: &[&str]) -> (u32, String) {
    let mut command = home.command();
    command.args(args).stdout(Stdio::null()).stderr(Stdio::inherit());
    let mut child = command.spawn().expect("the program starts");
    let pid = child.id();
    // Ended and not waited for: nobody else can have its number.
    wait_for("the command ends", || (stat(pid).first()? == "Z").then_some(()), || format!("{args:?}"));
    let started = stat(pid).get(19).expect("a start time").clone();
    assert_eq!(child.wait().expect("it ends").code(), Some(0), "`{args:?}` succeeds");
    (pid, started)
}

/// The newest row of this verb, whole.
fn newest(home: &Home, verb: &str) -> Value {
    let listed = home.json(["audit", "list", "--verb", verb, "--limit", "1", "--json"]);
    let number = listed["rows"][0]["number"].to_string();
    home.json(["audit", "show", &number, "--json"])
}

fn rows(home: &Home) -> u64 {
    home.json(["audit", "list", "--limit", "1", "--json"])["last"].as_u64().expect("a number")
}

fn log_bytes(home: &Home) -> u64 {
    let files = std::fs::read_dir(home.data().join("logs")).expect("logs").flatten();
    files.filter_map(|file| file.metadata().ok()).map(|facts| facts.len()).sum()
}

#[test]
fn a_decision_of_the_command_line_is_recorded_with_its_door_process_start_and_executable() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    let server = runtime.block_on(Recorder::start(Manner::default())).expect("a loopback server");
    let home = Home::new(PROGRAM);
    let _core = home.serve();
    assert_eq!(home.run(["servers", "add", "recorder", "--yes", "--url", &server.url()]).code, 0, "it is added");
    let task = home.call("recorder", "hold", &json!({"nonce": "held"}));
    home.wait_taken(&task);
    for (args, verb) in [
        (vec!["agents", "add", "bee"], "agentAdded"),
        (vec!["rules", "set", "--agent", "bee", "--ask", "people"], "ruleChanged"),
        (vec!["tasks", "cancel", &task, "--yes"], "stopBegun"),
        (vec!["agents", "revoke", "bee", "--yes"], "agentRevoked"),
    ] {
        let (pid, started) = run_and_look(&home, &args);
        let shown = newest(&home, verb);
        let detail = &shown["row"]["detail"];
        assert_eq!(detail["door"], "terminal", "`{args:?}`: {shown}");
        assert_eq!(detail["process"], format!("{pid}@{started}"), "`{args:?}`, with its start time: {shown}");
        let executable = std::fs::canonicalize(PROGRAM).expect("it is there");
        let named = detail["executable"].as_str().map(Path::new);
        assert_eq!(named, Some(executable.as_path()), "and its program: {shown}");
    }
}

/// Status lines that a request gets, sent again and again.
fn refused_over_http(gate: &Gate, path: &str, header: impl Fn(usize) -> (String, String), method: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let client = reqwest::Client::new();
    let url = format!("http://{}{path}", gate.address());
    runtime.block_on(async {
        for number in 0..REFUSED {
            let (name, value) = header(number);
            let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "name": format!("evil-{number}")});
            let asked = client.post(&url).header(name, value).header("content-type", "application/json");
            let answer = asked.body(body.to_string()).send().await.expect("an answer");
            let status = answer.status().as_u16();
            assert!(matches!(status, 401 | 403 | 404 | 429), "`{path}` is refused: {status}");
        }
    });
}

#[test]
fn thousands_of_refused_requests_bury_no_decision_in_the_audit_log_and_fill_no_log_file() {
    let gate = Gate::open(PROGRAM);
    let home = gate.home();
    gate.add_agent("bee");
    let decided = newest(home, "agentAdded");
    let (rows_before, log_before) = (rows(home), log_bytes(home));

    refused_over_http(&gate, "/mcp", |number| ("authorization".into(), format!("Bearer twa_{number}")), "initialize");
    refused_over_http(&gate, "/mcp", |number| ("x-number".into(), number.to_string()), "initialize");
    refused_over_http(&gate, "/ui/call/agents.add", |_| ("x-taskwarden".into(), "1".into()), "agents.add");
    refused_over_http(&gate, "/api/v1/tasks.cancel", |n| ("authorization".into(), format!("Bearer twc_{n}")), "x");
    let told = home.path().join("statuses");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/it/attacks/refused.py");
    let mut refused = Command::new("python3");
    refused.arg(script).arg(home.data().join("core.sock")).arg(REFUSED.to_string()).arg(&told);
    assert!(refused.status().expect("python").success(), "it goes on alone");
    let statuses = wait_for(
        "the process without a parent has asked",
        || serde_json::from_slice::<Value>(&std::fs::read(&told).ok()?).ok(),
        || home.core_log(),
    );
    assert_eq!(statuses.as_object().map(|all| all.keys().all(|code| code.starts_with('4'))), Some(true), "{statuses}");

    assert_eq!(rows(home), rows_before, "nothing that was refused is a row");
    let grown = log_bytes(home).saturating_sub(log_before);
    println!("the log grew by {grown} bytes in {} refused requests", 5 * REFUSED);
    assert!(grown < LOG_GROWTH_MAX, "the log grew by {grown} bytes");
    assert_eq!(newest(home, "agentAdded"), decided, "the decision before is there as it was");
    let verified = home.run(["audit", "verify"]);
    assert_eq!(verified.code, 0, "and the log verifies: {}{}", verified.out, verified.err);
    let agents = home.json(["agents", "list", "--json"]);
    assert_eq!(agents["agents"].as_array().map(Vec::len), Some(1), "nobody was added: {agents}");
}
