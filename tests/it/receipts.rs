//! Receipts of agents' calls, from outside: each call leaves one, also a quick or refused one; they are the calls that the
//! server got; and after a kill the only ones that are missing lie in a time that the audit log names.

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use domain::time::Timestamp;
use serde_json::{Value, json};
use tests::bench::resident_kib;
use tests::by_hand::{Agent, Reply};
use tests::gate::Gate;
use tests::home::{Home, pause_for, wait_for};
use tests::server::{Manner, Recorder};
use tests::torture::{Campaign, SetOnDrop};

use crate::PROGRAM;

/// More requests than an agent makes otherwise.
const FAST: &[(&str, &str)] = &[
    ("TASKWARDEN_POLICY_GATEWAY_REQUESTS_PER_SECOND", "1000000"),
    ("TASKWARDEN_POLICY_GATEWAY_REQUESTS_BURST", "1000000"),
];
/// Agents that call at once, and how many calls each makes. The full campaign is check 7 of the design: 5,000 calls a second
/// for a minute, by more agents, because each waits for its answer.
const AGENTS: usize = 4;
const CALLS: usize = 800;
const AGENTS_TORTURE: usize = 20;
const SECONDS_TORTURE: usize = 60;
const RATE_TORTURE: usize = 5_000;
/// Agents whose calls a killed core may lose.
const AGENTS_KILLED: usize = 16;
/// Answered calls before each kill: at least so many, and fewer than so many more by chance.
const CALLS_BEFORE_KILL: usize = 16;
const MORE_BEFORE_KILL: u32 = 100;
/// How much a core may grow by receipts, whatever comes: `AuditPolicy` bounds those that wait, and their
/// arguments. The rest is for the calls themselves.
const MEMORY_MAX_KIB: u64 = 160 * 1_024;

fn recorder() -> (tokio::runtime::Runtime, Recorder) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    let server = runtime.block_on(Recorder::start(Manner::default())).expect("a loopback server");
    (runtime, server)
}

/// All receipts, the oldest first.
fn receipts(home: &Home, filter: &[&str]) -> Vec<Value> {
    let mut all = Vec::new();
    let mut before = None;
    loop {
        let mut args = vec!["audit", "calls", "--limit", "1000", "--json"];
        args.extend_from_slice(filter);
        let place: String;
        if let Some(before) = before {
            place = format!("{before}");
            args.extend(["--before", place.as_str()]);
        }
        let page = home.json(args);
        all.extend(page["rows"].as_array().expect("rows").iter().cloned());
        match page["next"].as_u64() {
            Some(next) => before = Some(next),
            None => break,
        }
    }
    all.reverse();
    all
}

/// Waits until as many receipts are stored, and gives them.
fn wait_receipts(home: &Home, many: usize) -> Vec<Value> {
    let look = || Some(receipts(home, &[])).filter(|all| all.len() >= many);
    let all = wait_for(&format!("{many} receipts are stored"), look, || {
        format!("{} are\n{}", receipts(home, &[]).len(), home.core_log())
    });
    assert_eq!(all.len(), many, "one receipt for each call");
    all
}

fn call(agent: &Agent, tool: &str, nonce: &str) -> Reply {
    agent.ask("tools/call", &json!({"name": tool, "arguments": {"nonce": nonce}}))
}

/// A quick call that is answered with its result.
fn answered(agent: &Agent, nonce: &str) {
    let reply = call(agent, "quick", nonce);
    assert!(reply.json().get("result").is_some(), "it is answered: {reply:?}");
}

fn verify(home: &Home) -> (i32, String) {
    let verified = home.run(["audit", "verify"]);
    (verified.code, format!("{}{}", verified.out, verified.err))
}

fn notes(home: &Home, verb: &str) -> Vec<String> {
    let listed = home.json(["audit", "list", "--verb", verb, "--limit", "1000", "--json"]);
    let rows = listed["rows"].as_array().expect("rows");
    rows.iter().filter_map(|row| row["note"].as_str().map(str::to_owned)).collect()
}

#[test]
fn each_call_leaves_one_receipt_whether_it_was_quick_became_a_task_or_was_refused() {
    let (_runtime, server) = recorder();
    let gate = Gate::open(PROGRAM);
    let home = gate.home();
    gate.add_server("recorder", &["--url", &server.url()]);
    let token = gate.add_agent("bee");
    let (agent, everywhere) = (Agent::new(&gate.url("recorder"), &token), Agent::new(&gate.url("*"), &token));

    for nonce in ["one", "one", "two"] {
        answered(&agent, nonce);
    }
    let task = agent.start("work", &json!({"nonce": "three"}));
    call(&everywhere, "nowhere__quick", "four");
    agent.ask("tools/call", &json!({"name": "quick", "arguments": "no object"}));
    let halted = home.run(["halt", "--reason", "a test", "--scope", "calls", "--yes"]);
    assert_eq!(halted.code, 0, "work is halted: {}", halted.err);
    call(&agent, "quick", "five");
    // Looking at a task is no call of a server.
    agent.ask("tasks/get", &json!({"taskId": task}));

    let all = wait_receipts(home, 7);
    let told: Vec<_> =
        all.iter().map(|row| (row["tool"].as_str(), row["verdict"].as_str(), row["outcome"].as_str())).collect();
    let is = |tool, verdict, outcome| (Some(tool), Some(verdict), Some(outcome));
    assert_eq!(
        told,
        [
            is("quick", "allowed", "result"),
            is("quick", "allowed", "result"),
            is("quick", "allowed", "result"),
            is("work", "allowed", "task"),
            is("nowhere__quick", "unknownTool", "refused"),
            is("quick", "invalid", "refused"),
            is("quick", "halted", "refused"),
        ],
        "{all:#?}"
    );
    assert!(all.iter().all(|row| row["agent"] == "bee"), "each names its agent: {all:#?}");
    assert_eq!((&all[3]["handle"], &all[0]["handle"]), (&json!(task), &Value::Null), "and its task");
    assert_eq!((&all[0]["server"], &all[4]["server"]), (&json!("recorder"), &Value::Null), "and its server");
    assert_eq!(all[0]["argsMark"], all[1]["argsMark"], "equal arguments have equal marks");
    assert_ne!(all[0]["argsMark"], all[2]["argsMark"], "and others have others");
    assert_eq!(all[5]["argsMark"], Value::Null, "what does not read has none");
    assert!(all[0]["bytesOut"].as_u64().is_some_and(|bytes| bytes > 0), "{:#}", all[0]);

    assert_eq!(receipts(home, &["--verdict", "halted"]).len(), 1, "they are found by verdict");
    assert_eq!(receipts(home, &["--outcome", "refused", "--tool", "quick"]).len(), 2, "and by several conditions");
    assert_eq!(receipts(home, &["--task", task.as_str()]).len(), 1, "and by task");
    let wrong = home.run(["audit", "calls", "--outcome", "reslut"]);
    assert!(wrong.code != 0 && wrong.err.contains("result"), "a wrong word is told: {}", wrong.err);
    let stored = std::fs::read(home.data().join("registry.db")).expect("the registry");
    assert!(!stored.windows(9).any(|part| part == b"no object"), "no argument is stored with a receipt");
    let (code, said) = verify(home);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("7 receipts verified"), "{said}");
}

/// Calls of some agents at once, each with a nonce of its own: as fast as they can, or each agent no faster than this.
fn burst(gate: &Gate, tokens: &[String], calls: usize, pace: Option<Duration>) {
    std::thread::scope(|scope| {
        for (number, token) in tokens.iter().enumerate() {
            let agent = Agent::new(&gate.url("recorder"), token);
            scope.spawn(move || {
                let mut due = Instant::now();
                for at in 0..calls {
                    answered(&agent, &format!("{number}-{at}"));
                    due += pace.unwrap_or_default();
                    pause_for(due.saturating_duration_since(Instant::now()));
                }
            });
        }
    });
}

#[test]
fn receipts_are_the_calls_that_the_server_got_under_a_burst_of_thousands_and_an_orderly_end_loses_none() {
    let (_runtime, server) = recorder();
    let mut gate = Gate::open(PROGRAM);
    gate.add_server("recorder", &["--url", &server.url()]);
    let is_torture = std::env::var_os("TASKWARDEN_TORTURE").is_some();
    let agents = if is_torture { AGENTS_TORTURE } else { AGENTS };
    let tokens: Vec<String> = (0..agents).map(|number| gate.add_agent(&format!("agent-{number}"))).collect();
    gate.kill();
    gate.start_with(FAST);
    let told = notes(gate.home(), "receiptsMissing").len();
    let calls = if is_torture { RATE_TORTURE * SECONDS_TORTURE / agents } else { CALLS };
    let pace =
        Duration::from_secs(1) * u32::try_from(agents).expect("some") / u32::try_from(RATE_TORTURE).expect("some");
    let (begun, memory) = (Instant::now(), resident_kib(gate.pid()));
    burst(&gate, &tokens, calls, is_torture.then_some(pace));
    let (took, grown) = (begun.elapsed(), resident_kib(gate.pid()).saturating_sub(memory));
    let rate = u128::try_from(agents * calls).expect("some") * 1_000 / took.as_millis().max(1);
    println!("{} calls in {took:?}, {rate} a second; the core grew by {grown} KiB", agents * calls);
    assert!(grown < MEMORY_MAX_KIB, "what waits is bounded: the core grew by {grown} KiB");
    assert_eq!(gate.stop(), Some(0), "the core is shut down");
    // On a busy machine a call may last long enough to become a task.
    let all = receipts(gate.home(), &["--verdict", "allowed"]);
    let seen = server.seen().calls;
    assert_eq!(seen.values().sum::<u32>(), u32::try_from(all.len()).expect("some thousands"), "each call has one");
    assert_eq!((all.len(), seen.len()), (agents * calls, agents * calls), "and each was made once");
    for number in 0..agents {
        let name = format!("agent-{number}");
        assert_eq!(all.iter().filter(|row| row["agent"] == name.as_str()).count(), calls, "of {name}");
    }
    let marks: std::collections::BTreeSet<_> = all.iter().map(|row| row["argsMark"].to_string()).collect();
    assert_eq!(marks.len(), all.len(), "each call has arguments of its own, and a mark of its own");
    gate.start();
    assert_eq!(notes(gate.home(), "receiptsMissing").len(), told, "an orderly end loses none, and says so of none");
    let (code, said) = verify(gate.home());
    assert_eq!(code, 0, "{said}");
}

/// The times that rows `receiptsMissing` name.
fn windows(home: &Home) -> Vec<(String, String)> {
    let window = |note: String| {
        let (_, times) = note.split_once(" from ")?;
        let (from, rest) = times.split_once(" to ")?;
        let (to, _) = rest.split_once(" may have no receipt")?;
        Some((from.to_owned(), to.to_owned()))
    };
    notes(home, "receiptsMissing").into_iter().filter_map(window).collect()
}

/// The time as the audit log writes it.
#[expect(clippy::disallowed_methods, reason = "an agent has a clock of its own")]
fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    Timestamp::from_millis(i64::try_from(since.as_millis()).expect("not so late")).to_string()
}

#[test]
fn after_kills_under_load_every_missing_receipt_lies_in_a_time_that_the_log_names_and_none_is_there_twice() {
    let (_runtime, server) = recorder();
    let mut gate = Gate::open(PROGRAM);
    gate.add_server("recorder", &["--url", &server.url()]);
    let names: Vec<String> = (0..AGENTS_KILLED).map(|number| format!("bee-{number}")).collect();
    let tokens: Vec<String> = names.iter().map(|name| gate.add_agent(name)).collect();
    gate.kill();
    let workers = std::env::var("TOKIO_WORKER_THREADS").unwrap_or_else(|_| "2".into());
    let fast = [FAST, &[("TOKIO_WORKER_THREADS", workers.as_str())]].concat();
    gate.start_with(&fast);
    // The moment at which each call had its answer. Each call of an agent has arguments of another size, by which its receipt is
    // known; several agents keep the sizes small.
    let mut heard_at: BTreeMap<(String, u64), String> = BTreeMap::new();
    let (mut sent, mut kills) = (0_usize, 0_usize);
    Campaign::new("receipts", 6).run(|random, _| {
        let is_over = AtomicBool::new(false);
        let (url, names, tokens) = (gate.url("recorder"), &names, &tokens);
        let wanted = CALLS_BEFORE_KILL + usize::try_from(random.below(MORE_BEFORE_KILL)).expect("a count");
        let answered = AtomicUsize::new(0);
        let (over, begun, answered) = (&is_over, sent, &answered);
        let heard = std::thread::scope(|scope| {
            let calling = scope.spawn(move || {
                let open = |token: &String| tests::agent::Agent::over_http(&url, token);
                let mut agents: Vec<_> = tokens.iter().map(open).collect();
                let mut heard = Vec::new();
                for number in begun.. {
                    if over.load(Ordering::Relaxed) {
                        return (heard, number);
                    }
                    let (nth, length) = (number % agents.len(), number / agents.len());
                    let arguments = json!({"nonce": "n".repeat(length + 1)});
                    let size = u64::try_from(arguments.to_string().len()).expect("a size");
                    match agents[nth].ask("tools/call", json!({"name": "quick", "arguments": arguments})) {
                        Ok(answer) if answer.get("result").is_some() => {
                            heard.push(((names[nth].clone(), size), now()));
                            answered.fetch_add(1, Ordering::Relaxed);
                        }
                        Ok(_) => {}
                        Err(_) => return (heard, number + 1),
                    }
                }
                (heard, begun)
            });
            let killing = SetOnDrop(&is_over);
            let are_answered = || (answered.load(Ordering::Relaxed) >= wanted).then_some(());
            wait_for("calls are answered", are_answered, || gate.home().core_log());
            pause_for(Duration::from_millis(random.below(1_000).into()));
            gate.kill();
            drop(killing);
            calling.join().expect("the agent ends")
        });
        (sent, kills) = (heard.1, kills + 1);
        heard_at.extend(heard.0);
        gate.start_with(&fast);
        let (code, said) = verify(gate.home());
        assert_eq!(code, 0, "the chain and the receipts are whole after the kill: {said}");
    });
    assert!(heard_at.len() >= CALLS_BEFORE_KILL * kills, "each call counts once: {} calls", heard_at.len());
    assert_eq!(gate.stop(), Some(0), "the last core is shut down");
    let all = receipts(gate.home(), &[]);
    let numbers: Vec<u64> = all.iter().filter_map(|row| row["number"].as_u64()).collect();
    assert!(numbers.iter().zip(1..).all(|(number, wanted)| *number == wanted), "numbers have no gap");
    let mut sizes: BTreeMap<(String, u64), u32> = BTreeMap::new();
    for row in &all {
        let agent = row["agent"].as_str().expect("a name").to_owned();
        *sizes.entry((agent, row["bytesIn"].as_u64().expect("a size"))).or_default() += 1;
    }
    assert!(sizes.values().all(|times| *times == 1), "no receipt is there twice");
    let windows = windows(gate.home());
    assert!(windows.len() >= kills, "each of {kills} kills has a row: {windows:?}");
    let is_named = |at: &str| windows.iter().any(|(from, to)| from.as_str() <= at && at <= to.as_str());
    let lost: Vec<_> = heard_at.iter().filter(|(call, _)| !sizes.contains_key(call)).collect();
    for ((agent, size), at) in &lost {
        assert!(is_named(at), "the call of {size} bytes by {agent} was answered at {at}, outside of {windows:?}");
    }
    assert!(lost.len() < heard_at.len(), "a second of calls is lost with each kill, and no more: {} calls", lost.len());
    println!(
        "{} calls answered, {} receipts, {} missing in {} windows",
        heard_at.len(),
        all.len(),
        lost.len(),
        windows.len()
    );
}

/// Runs statements on the registry of a core that has ended.
fn change(home: &Home, sql: &str) {
    let script =
        "import sqlite3, sys\nwith sqlite3.connect(sys.argv[1]) as registry:\n    registry.execute(sys.argv[2])\n";
    let registry = home.data().join("registry.db");
    let done = Command::new("python3").args(["-c", script]).arg(registry).arg(sql).status().expect("python");
    assert!(done.success(), "`{sql}` is done");
}

/// An export of one agent's rows has the calls of this agent, each with a proof of its own.
fn matching_calls_are_proven_one_by_one(gate: &Gate) {
    let token = gate.add_agent("wasp");
    answered(&Agent::new(&gate.url("recorder"), &token), "of another agent");
    wait_receipts(gate.home(), 21);
    let file = gate.home().path().join("matching.jsonl");
    let file = file.display().to_string();
    for (agent, calls) in [("bee", "20 receipts"), ("wasp", "1 receipt")] {
        let exported = gate.home().run(["audit", "export", "--agent", agent, "--gaps", "hashes", "-o", &file]);
        assert_eq!(exported.code, 0, "{}", exported.err);
        assert!(exported.err.contains(&format!("and {calls} to")), "{calls} of {agent}: {}", exported.err);
        let checked = gate.home().run(["audit", "verify", &file]);
        assert_eq!(checked.code, 0, "{}{}", checked.out, checked.err);
        assert!(checked.out.contains(calls) && checked.out.contains("that vouch"), "{}", checked.out);
        let text = std::fs::read_to_string(&file).expect("the export");
        std::fs::write(&file, text.replacen("\"tool\":\"quick\"", "\"tool\":\"quack\"", 1)).expect("a file");
        let checked = gate.home().run(["audit", "verify", &file]);
        assert!(checked.code == 1 && checked.out.contains("BROKEN at row"), "{}{}", checked.out, checked.err);
    }
}

#[test]
fn a_changed_receipt_is_named_and_an_export_with_it_verifies_nothing() {
    let (_runtime, server) = recorder();
    let mut gate = Gate::open(PROGRAM);
    gate.add_server("recorder", &["--url", &server.url()]);
    let token = gate.add_agent("bee");
    let agent = Agent::new(&gate.url("recorder"), &token);
    for number in 0..20 {
        answered(&agent, &format!("n{number}"));
    }
    wait_receipts(gate.home(), 20);
    let sound = gate.home().path().join("sound.jsonl");
    let exported = gate.home().run(["audit", "export", "-o", &sound.display().to_string()]);
    assert_eq!(exported.code, 0, "{}", exported.err);
    assert!(exported.err.contains("20 receipts"), "the export says what it holds: {}", exported.err);
    let checked = gate.home().run(["audit", "verify", &sound.display().to_string()]);
    assert_eq!(checked.code, 0, "{}{}", checked.out, checked.err);
    assert!(checked.out.contains("20 receipts of calls"), "{}", checked.out);
    let text = std::fs::read_to_string(&sound).expect("the export");
    let forged = gate.home().path().join("forged.jsonl");
    std::fs::write(&forged, text.replacen("\"tool\":\"quick\"", "\"tool\":\"quack\"", 1)).expect("a copy");
    let checked = gate.home().run(["audit", "verify", &forged.display().to_string()]);
    assert_eq!(checked.code, 1, "{}{}", checked.out, checked.err);
    assert!(checked.out.contains("BROKEN at row"), "{}", checked.out);
    matching_calls_are_proven_one_by_one(&gate);

    assert_eq!(gate.stop(), Some(0), "the core is shut down");
    change(gate.home(), "UPDATE receipts SET bytes_in = bytes_in + 1 WHERE number = 7");
    let (code, said) = verify(gate.home());
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("Receipt 7 does not hold"), "the first wrong receipt is named: {said}");
    gate.start();
    let doctor = gate.home().run(["doctor"]);
    assert!(doctor.code == 1 && doctor.out.contains("receipt 7 of a call does not hold"), "{doctor:?}");
    let evidence = gate.home().path().join("evidence.jsonl");
    gate.home().run(["audit", "export", "-o", &evidence.display().to_string()]);
    let checked = gate.home().run(["audit", "verify", &evidence.display().to_string()]);
    assert_eq!(checked.code, 1, "what was exported is what is stored: {}{}", checked.out, checked.err);
}
