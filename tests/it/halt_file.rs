//! The file HALT while nothing reaches the core's socket (check 7.11 of the design of stop): calls of agents are refused
//! within a second, and once work was resumed neither the file nor a restart halts it again.
//!
//! The second is demanded of a release build (`cargo xtask torture`); a debug build on a busy machine gets more.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tests::by_hand::Agent;
use tests::gate::Gate;
use tests::home::wait_for;
use tests::server::{Manner, Recorder};

use crate::PROGRAM;
use crate::attacks::AT_ONCE;

/// The exit code where no core is found (product.md).
const NO_CORE: i32 = 3;
/// stop.md §7, check 11.
const WITHIN: Duration = Duration::from_secs(1);

#[test]
fn the_file_halts_calls_within_a_second_while_the_socket_is_out_of_reach_and_halts_once() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    let server = runtime.block_on(Recorder::start(Manner::default())).expect("a loopback server");
    let mut gate = Gate::open(PROGRAM);
    gate.add_server("recorder", &["--url", &server.url()]);
    let agent = Agent::new(&gate.url("recorder"), &gate.add_agent("order-bot"));
    let call = || agent.ask("tools/call", &json!({"name": "quick", "arguments": {"nonce": "again"}})).result();
    assert_ne!(call()["isError"], true, "calls pass");

    let socket = gate.home().data().join("core.sock");
    let away = socket.with_extension("away");
    fs::rename(&socket, &away).expect("the socket is moved");
    assert_eq!(gate.home().run(["halt", "--reason", "stop", "--yes"]).code, NO_CORE, "nobody reaches the core there");
    let file = gate.home().data().join("HALT");
    let made = Instant::now();
    fs::write(&file, "").expect("the file is made");
    let refused = wait_for(
        "calls are refused",
        || Some(call()).filter(|result| result["isError"] == true),
        || gate.home().core_log(),
    );
    let took = made.elapsed();
    println!("from the file to the first call that is refused: {took:?}");
    assert!(refused.to_string().contains("halted"), "the agent is told why: {refused}");
    let is_whole = std::env::var_os("TASKWARDEN_TORTURE").is_some();
    assert!(took < if is_whole { WITHIN } else { AT_ONCE }, "it took {took:?}");

    let page = || gate.home().json(["halt", "--json"])["halt"].take();
    fs::rename(&away, &socket).expect("the socket is moved back");
    assert_eq!(page()["orders"][0]["by"], Value::Null, "no person gave the order: {}", page());
    let is_aside = || file.symlink_metadata().is_err();
    wait_for("the file is put aside", || is_aside().then_some(()), || gate.home().core_log());
    for stage in ["acknowledged", "requests", "read-only", "calls"] {
        let ran = gate.home().run(["resume", stage]);
        assert_eq!(ran.code, 0, "{stage}: {}", ran.err);
    }
    assert_ne!(call()["isError"], true, "calls pass again");
    gate.kill();
    gate.start();
    assert_eq!(gate.home().json(["halt", "--json"])["halt"], Value::Null, "and a restart halts nothing");
}
