//! A core whose runtime does not turn any more: it ends by itself, with the code that asks for a restart.
//!
//! The worker is held by the program under test, at a kill point; the program that ships has no way to freeze.

use serde_json::json;
use tests::home::{Home, wait_for};
use tests::server::{Manner, Recorder};

use crate::PROGRAM;

/// `EX_TEMPFAIL`: whoever started the core starts it again.
const RESTART: i32 = 75;

#[test]
fn a_core_that_is_held_ends_with_75_and_the_next_one_has_everything() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    let server = runtime.block_on(Recorder::start(Manner::default())).expect("a loopback server");
    let home = Home::new(PROGRAM);
    let core = home.serve();
    assert_eq!(home.run(["servers", "add", "recorder", "--yes", "--url", &server.url()]).code, 0, "it is added");
    let task = home.call("recorder", "hold", &json!({"nonce": "held"}));
    home.wait_taken(&task);
    core.stop();
    // The only worker is held at the first commit after the start.
    let held = [("TOKIO_WORKER_THREADS", "1"), ("CORE_UNDER_TEST_HOLD_AT", "registry.commit:before:1")];
    let mut core = home.serve_with(&held);
    // Any change commits; its command gets no answer.
    drop(home.command().args(["tasks", "cancel", &task]).spawn().expect("a command"));
    wait_for("the held core ends", || core.ended().then_some(()), || home.core_log());
    assert_eq!(core.stop(), Some(RESTART), "{}", home.core_log());
    let _next = home.serve();
    assert_eq!(home.task(&task)["id"], json!(task), "nothing is lost");
}
