//! An agent that calls itself what it likes (finding A13): its limits are counted as before, the name is only shown.

use serde_json::{Value, json};
use tests::by_hand::{Agent, TASKS, modern};
use tests::gate::Gate;
use tests::home::wait_for;
use tests::peers;

use crate::PROGRAM;

/// About how many tokens the report has; it says so itself, by its own rule of thumb.
const REPORT: u64 = 12_000;
/// Names of programs whose models count fewer tokens than the most cautious way does.
const NAMES: [&str; 4] = ["claude-code", "codex-mcp-client", "gemini-cli-mcp-client", "claude-ai"];

/// Calls for the report under this name; what came back in the end.
fn report(gate: &Gate, agent: &Agent, name: &str) -> Value {
    let folder = gate.home().path().join("empty");
    std::fs::create_dir_all(&folder).expect("a folder");
    let post = |method: &str, params: &Value, named: &str| {
        let mut message: Value = serde_json::from_str(&modern(json!(1), method, params, TASKS)).expect("JSON");
        message["params"]["_meta"]["io.modelcontextprotocol/clientInfo"] = json!({"name": name, "version": "1"});
        let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", method), ("mcp-name", named)];
        agent.post(&headers, &message.to_string()).json()
    };
    let params = json!({"name": "huge_report", "arguments": {"tokens": REPORT, "path": folder}});
    let begun = post("tools/call", &params, "huge_report");
    let Some(task) = begun["result"]["taskId"].as_str() else { return begun["result"].clone() };
    let get = || post("tasks/get", &json!({"taskId": task}), task)["result"].clone();
    wait_for("the report is there", || Some(get()).filter(|seen| seen["status"] == "completed"), || get().to_string())
        ["result"]
        .clone()
}

fn is_held(result: &Value) -> bool {
    !result["_meta"]["io.taskwarden/held"].is_null()
}

#[test]
fn the_name_that_an_agent_gives_itself_lifts_no_limit_of_tokens() {
    let demo = peers::demo_http(PROGRAM);
    let gate = Gate::open(PROGRAM);
    gate.add_server("demo", &["--url", demo.url()]);

    // How many tokens the report has in the family of least, which a person may choose.
    let counted = gate.add_agent("counted");
    gate.count_by("counted", "o200k", 200_000);
    let agent = Agent::new(&gate.url("demo"), &counted);
    let whole = report(&gate, &agent, "it");
    assert!(!is_held(&whole), "without a limit it comes whole");
    let task = gate.wait_task("the report is counted", |task| {
        task["agent"] == "counted" && task["tokens"]["result"].as_u64().is_some_and(|tokens| tokens > 0)
    });
    let tokens = task["tokens"]["result"].as_u64().expect("a number");
    let limit = tokens + tokens / 50;
    gate.limit("--agent", "counted", "--result-tokens", &format!("{limit}:hold"));
    assert!(!is_held(&report(&gate, &agent, "it")), "what a person set counts: {tokens} tokens are below {limit}");

    let token = gate.add_agent("pretender");
    gate.limit("--agent", "pretender", "--result-tokens", &format!("{limit}:hold"));
    let pretender = Agent::new(&gate.url("demo"), &token);
    let plain = report(&gate, &pretender, "it");
    assert!(is_held(&plain), "counted with caution it is above {limit}: {plain}");
    for name in NAMES {
        let got = report(&gate, &pretender, name);
        assert!(is_held(&got), "`{name}` is only a name: {got}");
        let told = |result: &Value| {
            let held = &result["_meta"]["io.taskwarden/held"];
            (held["tokens"].clone(), held["family"].clone())
        };
        assert_eq!(told(&got), told(&plain), "`{name}` is counted like everybody");
        let shown = gate.home().json(["agents", "list", "--json"]).to_string();
        assert!(shown.contains(name), "the name is shown: {shown}");
    }
}
