//! A server that wants to be asked once an hour, and a person who cancels (finding B3, ruling 46).

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use serde_json::json;
use tests::home::Home;

use crate::PROGRAM;
use crate::statements::{Log, add_url, modern, no_method, result, task_2026};

const HOUR_MS: u64 = 3_600_000;

#[test]
fn the_end_after_an_acknowledged_cancel_is_seen_in_seconds_though_the_server_wants_an_hour_between_polls() {
    let home = Home::new(PROGRAM);
    let _core = home.serve();
    let log = Log::default();
    // It is still at work at the first poll after the cancel, and has ended at the second.
    let polls_after_cancel = Arc::new(AtomicU32::new(0));
    let (polls, heard) = (Arc::clone(&polls_after_cancel), log.clone());
    let hint = json!({"pollIntervalMs": HOUR_MS});
    let server = log.serve(move |asked| match asked.method() {
        "tools/call" => {
            let more = json!({"resultType": "task", "pollIntervalMs": HOUR_MS});
            result(asked, &task_2026("far", "working", &more))
        }
        "tasks/get" => {
            let is_cancelled = !heard.of("tasks/cancel").is_empty();
            let is_over = is_cancelled && polls.fetch_add(1, Ordering::Relaxed) > 0;
            result(asked, &task_2026("far", if is_over { "cancelled" } else { "working" }, &hint))
        }
        "tasks/cancel" => result(asked, &json!({"resultType": "complete"})),
        _ => modern(asked, no_method),
    });
    add_url(&home, "far", &server.url(), "up");
    let id = home.call("far", "job", &json!({}));
    home.wait_taken(&id);

    let ran = home.run(["tasks", "cancel", &id]);
    assert_eq!(ran.code, 0, "the server acknowledges: {}{}", ran.out, ran.err);
    let (acknowledged, before) = (Instant::now(), log.of("tasks/get").len());
    // Any limit below an hour shows it.
    let task = home.wait_phase(&id, "cancelled");
    println!("the end was seen {:?} after the acknowledgement", acknowledged.elapsed());
    assert_eq!(task["intent"]["state"], "stopped", "as the server confirmed: {task}");
    assert!(log.of("tasks/get").len() <= before + 2, "two polls are earned, no more: {:?}", log.methods());
}
