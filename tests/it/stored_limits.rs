//! A stranger's server that floods tasks, status messages and forms fills neither the registry nor the shares of others
//! (decision 0096). The limits are set low; the flood is many times what they allow.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use parking_lot::Mutex;
use serde_json::{Value, json};
use tests::agent::Agent;
use tests::gate::Gate;
use tests::home::wait_for;
use tests::hostile::{self, Asked, Deed, Hostile};

use crate::PROGRAM;

/// Tasks that one agent may have stored.
const AGENT_TASKS: u64 = 40;
/// Bytes that may be stored of one agent.
const AGENT_BYTES: u64 = 400_000;
/// Tasks of one flood.
const FLOOD: u32 = 120;

fn limits(gate: &mut Gate) {
    gate.kill();
    let config = format!(
        "[policy.gateway]\nrequests_per_second = 1000000\nrequests_burst = 1000000\n\
         [policy.retention]\ntasks = 100\nagent_tasks = {AGENT_TASKS}\nserver_tasks = 60\n\
         payload_bytes = 1000000\nagent_payload_bytes = {AGENT_BYTES}\nserver_payload_bytes = 600000\nusage_every = \"1s\"\n"
    );
    std::fs::write(gate.home().data().join("config.toml"), config).expect("the configuration can be written");
    gate.start();
}

/// A server whose tasks say a long word at each look, ask with a large form that they take back, and then end or go on.
fn flooder(ends: &Arc<AtomicBool>, calls: &Arc<AtomicU32>) -> Hostile {
    let (ends, calls) = (Arc::clone(ends), Arc::clone(calls));
    let looks: Mutex<HashMap<String, u32>> = Mutex::default();
    Hostile::start(move |asked| {
        let id = asked.id();
        match asked.method() {
            "server/discover" => Deed::Say(hostile::discover(&id)),
            "tools/list" => Deed::Say(hostile::tools(&id)),
            "tools/call" => {
                let number = calls.fetch_add(1, Ordering::SeqCst);
                Deed::Say(hostile::created(&id, &format!("task-{number}")))
            }
            "tasks/get" => Deed::Say(hostile::result(&id, &shown(asked, &looks, ends.load(Ordering::SeqCst)))),
            "tasks/cancel" => Deed::Say(hostile::result(&id, r#"{"resultType":"complete"}"#)),
            _ => Deed::Say(hostile::json(
                "404 Not Found",
                &format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"no"}}}}"#),
            )),
        }
    })
}

fn shown(asked: &Asked, looks: &Mutex<HashMap<String, u32>>, ends: bool) -> String {
    let task = asked.body["params"]["taskId"].as_str().unwrap_or_default().to_owned();
    let look = {
        let mut looks = looks.lock();
        let look = looks.entry(task.clone()).or_default();
        *look += 1;
        *look
    };
    let mut told = json!({
        "resultType": "complete", "taskId": task, "createdAt": "2026-11-21T00:00:00Z",
        "lastUpdatedAt": "2026-11-21T00:00:00Z", "ttlMs": null, "pollIntervalMs": 50,
        "status": "working", "statusMessage": format!("{look} {}", "word ".repeat(600)),
    });
    if look == 2 {
        told["status"] = json!("input_required");
        told["inputRequests"] = json!({"form": {"method": "elicitation/create", "params": {
            "mode": "form", "message": "say ".repeat(500), "requestedSchema": {"type": "object", "properties": {
                "field": {"type": "string", "description": "long ".repeat(1_000)}}},
        }}});
    } else if look > 3 && ends {
        told["status"] = json!("completed");
        told["result"] = json!({"content": [{"type": "text", "text": "result ".repeat(1_500)}]});
    }
    told.to_string()
}

fn storage(gate: &Gate) -> Value {
    gate.home().json(["storage", "show", "--json"])
}

/// One call; the answer as text.
fn call(agent: &mut Agent, tool: &str, number: u32) -> String {
    let params = json!({"name": tool, "arguments": {"number": number, "text": "argument ".repeat(200)}});
    agent.ask("tools/call", params).expect("an answer").to_string()
}

fn is_taken(answer: &str) -> bool {
    answer.contains("\"taskId\"")
}

/// The demo server, an agent for it, and a folder for its calls.
fn neighbour(gate: &Gate) -> impl FnMut(u32) -> String + use<> {
    let token = gate.add_agent("neighbour");
    gate.add_server("demo", &["--", PROGRAM, "demo-server"]);
    let folder = gate.home().path().join("folder");
    std::fs::create_dir_all(&folder).expect("a folder");
    let url = gate.url("demo");
    move |number| {
        std::fs::write(folder.join("a.txt"), number.to_string()).expect("a file");
        let mut agent = Agent::over_http(&url, &token);
        let params = json!({"name": "hash_tree", "arguments": {"path": folder}});
        agent.ask("tools/call", params).expect("an answer").to_string()
    }
}

#[test]
fn a_flood_of_tasks_messages_and_forms_leaves_the_registry_bounded_and_others_served() {
    let (ends, calls) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicU32::new(0)));
    let server = flooder(&ends, &calls);
    let mut gate = Gate::open(PROGRAM);
    gate.add_server("stranger", &["--url", &server.url()]);
    let token = gate.add_agent("flooder");
    let mut neighbour = neighbour(&gate);
    limits(&mut gate);
    let mut agent = Agent::over_http(&gate.url("stranger"), &token);
    let mut files = Vec::new();
    for flood in 0..3 {
        let mut taken = 0;
        for number in 0..FLOOD {
            let answer = call(&mut agent, "job", flood * FLOOD + number);
            taken += u32::from(is_taken(&answer));
            assert!(is_taken(&answer) || answer.contains("was not sent"), "sent or refused: {answer}");
        }
        assert!(taken > 0, "an agent whose old tasks may go is served");
        assert!(neighbour(flood).contains("taskId"), "another agent's calls go on");
        let left = wait_for(
            "what is over the limits is gone",
            || {
                let now = storage(&gate);
                let is_within = now["stored"]["tasks"]["rows"].as_u64()? <= AGENT_TASKS + 10
                    && now["contentBytes"].as_u64()? <= AGENT_BYTES + 100_000
                    && now["due"]["tasks"] == 0
                    && now["due"]["payloadTasks"] == 0;
                is_within.then_some(now)
            },
            || format!("{:#}\n{}", storage(&gate), gate.home().core_log()),
        );
        files.push(left["fileBytes"].as_u64().expect("a size") - left["freeBytes"].as_u64().expect("a size"));
    }
    // A task left about 40 KiB; without limits a flood of 120 would add some 4 MiB. What grows is the logs of changes and
    // of decisions.
    let (first, last) = (files[0], files[2]);
    assert!(last < first + 2_000_000, "two more floods leave little: {files:?}");
    // The last task of the flood may end after the others went.
    let shown = wait_for(
        "nothing is over a limit",
        || Some(gate.home().run(["storage", "show"])).filter(|shown| shown.out.contains("Nothing exceeds")),
        || gate.home().core_log(),
    );
    for words in ["100 in total, 40 per agent, 60 per server", "390 KiB per agent", "questions"] {
        assert!(shown.out.contains(words), "it is explained by `{words}`: {}", shown.out);
    }
    let doctor = gate.home().run(["doctor"]);
    assert!(doctor.out.contains("stored tasks"), "doctor shows use and limit: {}", doctor.out);
    gate.kill();
    gate.start();
    let report = gate.home().run(["doctor", "--json"]).out;
    assert!(!report.contains("sums of stored bytes"), "after a kill a recount finds the same: {report}");
}

#[test]
fn an_agent_whose_tasks_never_end_is_refused_before_its_call_leaves_and_told_the_way_out() {
    let (ends, calls) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU32::new(0)));
    let server = flooder(&ends, &calls);
    let mut gate = Gate::open(PROGRAM);
    gate.add_server("stranger", &["--url", &server.url()]);
    let token = gate.add_agent("flooder");
    let mut neighbour = neighbour(&gate);
    limits(&mut gate);
    let mut agent = Agent::over_http(&gate.url("stranger"), &token);
    let mut number = 0;
    let refused = wait_for(
        "the agent is refused",
        || {
            number += 1;
            Some(call(&mut agent, "job", number)).filter(|answer| !is_taken(answer))
        },
        || format!("{:#}\n{}", storage(&gate), gate.home().core_log()),
    );
    assert!(refused.contains("of this agent") && refused.contains("raise the limit"), "{refused}");
    let sent = calls.load(Ordering::SeqCst);
    assert!(!is_taken(&call(&mut agent, "job", number + 1)), "so is the next call");
    assert_eq!(calls.load(Ordering::SeqCst), sent, "and its server saw nothing of it");
    assert!(neighbour(1).contains("taskId"), "another agent's calls go on");
    let doctor = gate.home().run(["doctor"]);
    assert!(doctor.out.contains("stored") && doctor.out.contains("agent flooder"), "{}", doctor.out);
    let stays = gate.tasks().iter().filter(|task| task["server"] == "stranger").count();
    assert!(u32::try_from(stays).is_ok_and(|stays| stays == sent), "none of them was removed: {stays} of {sent}");

    let raise = ["storage", "set", "--payload-size", "1GiB", "--agent-size", "500MiB", "--server-size", "500MiB"];
    let more = ["--tasks", "100000", "--agent-tasks", "50000", "--server-tasks", "50000", "--yes"];
    let raised = gate.home().run([raise.as_slice(), &more].concat());
    assert_eq!(raised.code, 0, "a person raises the limits: {}", raised.err);
    wait_for(
        "the agent is served again",
        || {
            number += 1;
            Some(call(&mut agent, "job", number)).filter(|answer| is_taken(answer))
        },
        || format!("{:#}\n{}", storage(&gate), gate.home().core_log()),
    );
}
