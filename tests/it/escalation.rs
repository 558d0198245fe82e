//! A person goes step by step against a task that does not end, up to the shutdown of its server (checks 7.1 and 3.1 of
//! the design of stop): what is said to be gone is gone, and what is somebody else's is left alone.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::not_run::not_run;
use tests::by_hand::Agent;
use tests::gate::Gate;
use tests::home::{Home, wait_for};
use tests::server::{Manner, Recorder};
use tests::torture::SetOnDrop;

use crate::PROGRAM;

/// Grandchildren that a call of the server starts; half of them leave its process group.
const GRANDCHILDREN: usize = 50;

/// A server that ignores cancels, the end of its input and SIGTERM, as everything does that it starts.
const STUBBORN: &str = r#"
trap '' TERM
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$1" "$2"; }
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([^,}]*\).*/\1/p')
  case "$line" in
    *'"server/discover"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id" ;;
    *'"initialize"'*) answer "$id" '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"stubborn","version":"1"}}' ;;
    *'"tools/list"'*) answer "$id" '{"tools":[{"name":"work","inputSchema":{"type":"object"}},{"name":"wait","inputSchema":{"type":"object"}}]}' ;;
    *'"tools/call"'*'"work"'*)
      for child in 1 2 3 4 5; do
        ( for n in 1 2 3 4 5; do sleep 1000 & setsid sleep 1000 & done; wait; while :; do sleep 1000; done ) </dev/null >/dev/null &
      done
      eval "$EXTRA" ;;
    *'"tools/call"'*) ;;
    *'"id"'*) answer "$id" '{}' ;;
  esac
done
while :; do sleep 1000; done
"#;

/// Processes whose environment has this mark, without those that have ended.
fn marked(mark: &str) -> Vec<u32> {
    let processes = std::fs::read_dir("/proc").expect("processes").filter_map(Result::ok);
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| {
        let environ = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environ.split(|byte| *byte == 0).any(|entry| entry == format!("STUBBORN_MARK={mark}").as_bytes())
    })
    .collect()
}

/// Adds the stubborn server; returns the mark of its processes.
fn add_stubborn(home: &Home, extra: &str) -> String {
    let (script, mark) = (home.path().join("stubborn.sh"), home.path().display().to_string());
    std::fs::write(&script, STUBBORN).expect("the script is written");
    let script = script.display().to_string();
    let (mark_entry, extra) = (format!("STUBBORN_MARK={mark}"), format!("EXTRA={extra}"));
    let command =
        ["servers", "add", "stubborn", "--yes", "--", "/usr/bin/env", &mark_entry, &extra, "/bin/sh", &script];
    let ran = home.run(command);
    assert_eq!(ran.code, 0, "{}", ran.err);
    mark
}

/// Starts the call that never ends, and waits until everything runs that it starts.
fn start_work(home: &Home, mark: &str) -> String {
    let id = home.call("stubborn", "work", &json!({}));
    let running = || marked(mark).len();
    wait_for(
        "the grandchildren run",
        || (running() > GRANDCHILDREN).then_some(()),
        || format!("{} processes\n{}", running(), home.core_log()),
    );
    id
}

fn steps(shown: &Value) -> Vec<u64> {
    let steps = shown["escalation"]["steps"].as_array().expect("steps");
    steps.iter().map(|step| step["number"].as_u64().expect("a number")).collect()
}

#[test]
fn a_shutdown_leaves_no_process_and_says_stopped_only_when_none_is_left() {
    let home = Home::new(PROGRAM);
    let _core = home.serve();
    let mark = add_stubborn(&home, "");
    let id = start_work(&home, &mark);
    let other = home.call("stubborn", "wait", &json!({}));
    let cancelled = home.run(["tasks", "cancel", &id, "--reason", "runs away"]);
    assert_eq!(cancelled.code, 0, "{}", cancelled.err);

    let unasked = home.run(["tasks", "escalate", &id, "--step", "5"]);
    assert_eq!(unasked.code, 5, "nobody agreed: {}", unasked.out);
    assert!(unasked.err.contains("Shut down stubborn (ends 2 tasks)"), "what ends is named: {}", unasked.err);
    assert!(marked(&mark).len() > GRANDCHILDREN, "and nothing ended");

    let (is_over, looks) = (AtomicBool::new(false), AtomicUsize::new(0));
    let (escalated, took) = std::thread::scope(|scope| {
        let watching = scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                let shown = home.task(&id);
                if !shown["escalation"]["stopped"].is_null() {
                    assert_eq!(marked(&mark), Vec::<u32>::new(), "it says stopped: {}", shown["escalation"]);
                }
                looks.fetch_add(1, Ordering::Relaxed);
            }
        });
        let escalating = SetOnDrop(&is_over);
        let begun = Instant::now();
        let ran = home.run(["tasks", "escalate", &id, "--step", "5", "--reason", "enough", "--yes", "--json"]);
        let took = begun.elapsed();
        drop(escalating);
        watching.join().expect("it never said stopped too early");
        assert_eq!(ran.code, 0, "{}\n{}\n{}", ran.out, ran.err, home.core_log());
        (ran.json(), took)
    });
    assert!(looks.load(Ordering::Relaxed) > 2, "it was looked at while the processes ended");
    assert_eq!(marked(&mark), Vec::<u32>::new(), "no process is left, in the group or outside");
    assert!(took < Duration::from_secs(10), "two waits of 3 s, and the commands themselves: {took:?}");

    assert_eq!(steps(&escalated), [1, 5]);
    let last = &escalated["escalation"]["steps"][1];
    assert_eq!(last["processes"]["state"], "gone", "{last}");
    assert!(last["processes"]["ended"].as_u64().is_some_and(|ended| ended > 50), "all were seen: {last}");
    assert_eq!((&last["reason"], &last["otherTasks"]), (&json!("enough"), &json!(1)), "{last}");
    assert_eq!(escalated["escalation"]["stopped"]["by"], "processes");
    let lost = home.task(&other);
    assert_eq!((&lost["phase"], &lost["serverEnded"]["how"]), (&json!("lost"), &json!("ended")), "{lost}");
    assert_eq!(lost["escalation"]["stopped"]["by"], "processes", "it is known of the other task, too");

    let again = home.run(["tasks", "escalate", &id, "--step", "5", "--yes", "--json"]);
    assert_eq!((again.code, steps(&again.json())), (0, vec![1, 5]), "a step is taken once: {}", again.err);
    let lower = home.run(["tasks", "escalate", &id, "--step", "1"]);
    assert_eq!(lower.code, 5, "steps only go up: {}", lower.out);
    let decisions = home.task(&id)["decisions"].clone();
    let rows = decisions.as_array().expect("decisions").iter().filter(|decision| decision["verb"] == "escalated");
    assert_eq!(rows.count(), 1, "one audit row: {decisions}");
    let text = home.run(["tasks", "show", &id]).out;
    assert!(text.contains("its processes were seen to be gone"), "{text}");
}

#[test]
fn a_process_of_somebody_else_in_the_group_is_named_and_not_touched() {
    if !rustix::process::geteuid().is_root() {
        // The unit tests of the keeper have the other case.
        not_run("only root can start a process as somebody else");
        return;
    }
    let home = Home::new(PROGRAM);
    let _core = home.serve();
    let pid_file = home.path().join("other.pid");
    let extra = format!(
        "setpriv --reuid 65534 --clear-groups sleep 1000 </dev/null >/dev/null 2>&1 & echo $! > {}",
        pid_file.display()
    );
    let mark = add_stubborn(&home, &extra);
    let id = start_work(&home, &mark);
    let other: u32 = wait_for(
        "the other user's process runs",
        || {
            let pid = std::fs::read_to_string(&pid_file).ok()?.trim().parse().ok()?;
            let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
            status.contains("Uid:\t65534\t65534").then_some(pid)
        },
        String::new,
    );
    let ran = home.run(["tasks", "escalate", &id, "--step", "5", "--yes", "--json"]);
    let left = marked(&mark);
    let end = rustix::process::Pid::from_raw(i32::try_from(other).expect("a pid")).expect("a pid");
    let was_alive = rustix::process::kill_process(end, rustix::process::Signal::KILL).is_ok();
    assert!(was_alive, "it was not touched");
    assert_eq!(left, [other], "everything else is gone");
    assert_eq!(ran.code, 1, "the command says that something is left: {}", ran.err);
    let last = &ran.json()["escalation"]["steps"][0];
    let want = json!([{"pid": other, "name": "sleep", "foreign": true}]);
    assert_eq!((&last["processes"]["state"], &last["processes"]["named"]), (&json!("left"), &want), "{last}");
    assert_eq!(home.task(&id)["escalation"]["stopped"], Value::Null, "and nobody says stopped");
}

#[test]
fn a_shutdown_that_was_recorded_is_carried_out_by_the_next_core() {
    let home = Home::new(PROGRAM);
    let core = home.serve();
    let mark = add_stubborn(&home, "");
    let id = start_work(&home, &mark);
    core.kill();
    // A core ends right after one commit, each a commit later than the one before, until that is the commit of the step.
    let is_recorded = (1..8).any(|commit| {
        let mut core = home.serve_with(&[("CORE_UNDER_TEST_ABORT_AT", &format!("registry.commit:after:{commit}"))]);
        drop(home.run(["tasks", "escalate", &id, "--step", "5", "--yes"]));
        wait_for("the core ends", || core.ended().then_some(()), || home.core_log());
        steps(&home.task(&id)) == [5]
    });
    assert!(is_recorded, "{}", home.task(&id));
    assert!(marked(&mark).len() > GRANDCHILDREN, "nothing was done yet");
    let _next = home.serve();
    let shown = || home.task(&id);
    wait_for("the processes are gone", || marked(&mark).is_empty().then_some(()), || shown().to_string());
    wait_for(
        "it is known",
        || (shown()["escalation"]["steps"][0]["processes"]["state"] == "gone").then_some(()),
        || format!("{}\n{}", shown(), home.core_log()),
    );
}

/// What people did to servers and what came of it, oldest first: verb and note.
fn acts_on_servers(home: &Home) -> Vec<(String, String)> {
    let listed = home.json(["audit", "list", "--verb", "processEnded", "--verb", "serverActEnded", "--json"]);
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let rows = listed["rows"].as_array().expect("rows").iter().rev();
    rows.map(|row| (text(&row["verb"]), text(&row["note"]))).collect()
}

#[test]
fn what_came_of_the_end_of_a_server_is_on_record_also_when_the_core_was_killed_in_between() {
    let home = Home::new(PROGRAM);
    let core = home.serve();
    let mark = add_stubborn(&home, "");
    start_work(&home, &mark);
    let ended = home.run(["servers", "end", "stubborn", "--yes"]);
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert_eq!(marked(&mark), Vec::<u32>::new(), "no process is left");
    let shown = home.json(["servers", "show", "stubborn", "--json"]);
    assert_eq!(shown["health"]["kind"], "ended", "a person wanted that, so it is not in trouble: {shown}");
    let rows = acts_on_servers(&home);
    let verbs: Vec<&str> = rows.iter().map(|(verb, _)| verb.as_str()).collect();
    assert_eq!(verbs, ["processEnded", "serverActEnded"], "the wish is recorded first: {rows:?}");
    let (asked, told) = (&rows[0].1, &rows[1].1);
    let pid = asked.split([' ', ',']).nth(1).expect("a process");
    let start = format!("stubborn: process {pid} was ended by SIGKILL, and with it ");
    assert!(told.starts_with(&start) && told.ends_with("; none is left"), "{asked:?}, {told:?}");

    core.kill();
    let mut core = home.serve_with(&[("CORE_UNDER_TEST_ABORT_AT", "registry.desk_decide:after:1")]);
    let id = start_work(&home, &mark);
    drop(home.run(["servers", "end", "stubborn", "--yes"]));
    wait_for("the core ends", || core.ended().then_some(()), || home.core_log());
    assert_eq!(acts_on_servers(&home).len(), 3, "the wish is on record");
    assert!(marked(&mark).len() > GRANDCHILDREN, "and nothing was done yet");
    let _next = home.serve();
    let rows = wait_for(
        "it is known what came of it",
        || Some(acts_on_servers(&home)).filter(|rows| rows.len() == 4),
        || format!("{:?}\n{}", acts_on_servers(&home), home.core_log()),
    );
    assert_eq!(marked(&mark), Vec::<u32>::new(), "the next core ended it, and did not start it again");
    let (asked, told) = (&rows[2].1, &rows[3].1);
    let pid = asked.split([' ', ',']).nth(1).expect("a process");
    let start = format!("stubborn: cut off; at the next start of Taskwarden process {pid} was ended by SIGKILL");
    assert!(rows[3].0 == "serverActEnded" && told.starts_with(&start), "{asked:?}, {told:?}");
    let lost = home.wait_phase(&id, "lost");
    assert_eq!(lost["serverEnded"]["how"], "ended", "{lost}");
}

#[test]
fn each_step_goes_up_and_ends_what_it_names() {
    let gate = Gate::open(PROGRAM);
    let home = gate.home();
    add_stubborn(home, "");
    let (bee, wasp) = (gate.add_agent("bee"), gate.add_agent("wasp"));
    let start = |token: &str| Agent::new(&gate.url("stubborn"), token).start("wait", &json!({}));
    let mut calls: Vec<String> = [&bee, &bee, &bee, &wasp].into_iter().map(|token| start(token)).collect();
    calls.sort();
    let id_of = |agent: &str| {
        let task = gate.wait_task("the task runs", |task| task["agent"] == agent && task["over"] == false);
        task["id"].as_str().expect("an id").to_owned()
    };
    let id = id_of("bee");
    let take = |more: &[&str]| home.run(["tasks", "escalate", &id, "--json"].iter().chain(more).copied());
    for number in 1..=3 {
        let ran = take(&[]);
        assert_eq!((ran.code, ran.json()["step"].as_u64()), (0, Some(number)), "{}", ran.err);
        if number == 2 {
            let held = &ran.json()["task"]["held"];
            assert!(held.is_object() && held["verdict"].is_null(), "its result is held: {held}");
        }
    }
    let lower = take(&["--step", "2"]);
    assert_eq!(lower.code, 5, "{}", lower.out);
    assert!(lower.err.contains("steps only go up"), "{}", lower.err);
    let asks = take(&[]);
    assert!(asks.code == 5 && asks.err.contains("Revoke bee (2 other tasks)"), "{}", asks.err);
    let revoked = take(&["--yes"]);
    assert_eq!(revoked.code, 0, "{}", revoked.err);
    assert_eq!(steps(&revoked.json()), [1, 2, 3, 4]);
    assert_eq!(revoked.json()["escalation"]["steps"][3]["otherTasks"], 2, "{}", revoked.out);
    let late = Agent::new(&gate.url("stubborn"), &bee).ask("tools/list", &json!({}));
    assert!(late.status == 401 || late.status == 403, "the agent has no access: {late:?}");
    let of_wasp = home.task(&id_of("wasp"));
    assert_eq!(of_wasp["intent"], Value::Null, "nobody asked the other agent's task to cancel: {of_wasp}");
}

#[test]
fn a_task_of_a_remote_server_has_no_fifth_step_and_says_who_could_end_it() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    let server = runtime.block_on(Recorder::start(Manner::default())).expect("a loopback server");
    let gate = Gate::open(PROGRAM);
    gate.add_server("rec", &["--url", &server.url()]);
    let home = gate.home();
    let id = home.call("rec", "hold", &json!({"nonce": "held"}));
    home.wait_taken(&id);
    let last = home.run(["tasks", "escalate", &id, "--step", "5", "--yes"]);
    assert_eq!(last.code, 5, "{}", last.out);
    assert!(last.err.contains("It runs on 127.0.0.1:") && last.err.contains("Only its operator"), "{}", last.err);
    let long = home.run(["tasks", "escalate", &id, "--reason", &"x".repeat(10_000)]);
    assert_eq!(long.code, 2, "a reason has a length: {}", long.err);
    assert_eq!(steps(&home.task(&id)), Vec::<u64>::new(), "nothing was done");

    let first = home.run(["tasks", "escalate", &id, "--json"]);
    assert_eq!((first.code, steps(&first.json())), (0, vec![1]), "{}", first.err);
    home.wait_phase(&id, "cancelled");
    let shown = home.task(&id);
    assert_eq!(shown["escalation"]["stopped"]["by"], "server", "its server said so: {shown}");
    let second = home.call("rec", "hold", &json!({"nonce": "another"}));
    let record = home.task(&second)["escalation"]["record"].clone();
    let sentence = record["sentence"].as_str().unwrap_or_default();
    assert!(sentence.starts_with("rec obeyed 1 of 1 cancel, half within "), "what it did before is told: {record}");
}
