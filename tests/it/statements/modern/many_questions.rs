//! A 2026 server that asks without end: what is kept of its questions is bounded while they are open and after.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Map, Value, json};
use tests::bench::resident_kib;
use tests::home::{Home, wait_for};

use super::super::{Log, add_url, modern, no_method, result, task_2026};
use crate::PROGRAM;

/// Questions of one task that are open at once: the default of the policy.
const OPEN: usize = 64;
/// Growth of a core that is explained by its allocator and one large message. A core that keeps what it is asked grows by
/// hundreds of MiB.
const GROWTH_MAX_KIB: u64 = 96 * 1_024;

fn form(message: &str, schema: &Value) -> Value {
    json!({"method": "elicitation/create", "params": {"mode": "form", "message": message, "requestedSchema": schema}})
}

fn small_form() -> Value {
    json!({"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]})
}

#[test]
fn of_a_thousand_questions_at_once_a_few_are_open_and_the_core_stays_as_it_was() {
    let home = Home::new(PROGRAM);
    let core = home.serve();
    let log = Log::default();
    let questions: Map<String, Value> =
        (0..1_000).map(|number| (format!("q-{number:04}"), form(&format!("Line {number}?"), &small_form()))).collect();
    let asking = task_2026("many", "input_required", &json!({"inputRequests": questions}));
    let server = log.serve(move |asked| match asked.method() {
        "tools/call" => result(asked, &task_2026("many", "working", &json!({"resultType": "task"}))),
        "tasks/get" => result(asked, &asking),
        "tasks/cancel" => result(asked, &json!({"resultType": "complete"})),
        _ => modern(asked, no_method),
    });
    add_url(&home, "curious", &server.url(), "up");
    let before = resident_kib(core.pid());
    let id = home.call("curious", "job", &json!({}));
    wait_for(
        "the questions are counted",
        || (home.task(&id)["moreQuestions"] == 1_000 - OPEN).then_some(()),
        || home.task(&id).to_string(),
    );
    let polls = log.of("tasks/get").len();
    log.wait_for("tasks/get", polls + 20);
    assert_eq!(home.json(["inbox", "--json"])["total"], OPEN, "the inbox answers, with those that are open");
    let grown = resident_kib(core.pid()).saturating_sub(before);
    assert!(grown < GROWTH_MAX_KIB, "1,000 questions, asked twenty times, cost {grown} KiB");
    assert_eq!(home.run(["tasks", "cancel", &id, "--yes"]).code, 0, "it can be cancelled under all of them");
}

#[test]
fn a_server_that_asks_another_large_form_at_each_look_fills_neither_memory_nor_disk() {
    let home = Home::new(PROGRAM);
    let core = home.serve();
    let log = Log::default();
    let looks = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&looks);
    let server = log.serve(move |asked| match asked.method() {
        "tools/call" => result(asked, &task_2026("endless", "working", &json!({"resultType": "task"}))),
        "tasks/get" => {
            let look = counted.fetch_add(1, Ordering::Relaxed);
            // Texts are as large in memory as on the wire, numbers sixteen times as large.
            let filler = if look.is_multiple_of(2) { json!("x".repeat(240_000)) } else { json!(vec![0; 120_000]) };
            let schema = json!({"type": "object", "properties": {}, "description": filler});
            let questions = json!({format!("q-{look}"): form("Another?", &schema)});
            result(asked, &task_2026("endless", "input_required", &json!({"inputRequests": questions})))
        }
        _ => modern(asked, no_method),
    });
    add_url(&home, "endless", &server.url(), "up");
    let before = resident_kib(core.pid());
    let id = home.call("endless", "job", &json!({}));
    log.wait_for("tasks/get", 44);
    let grown = resident_kib(core.pid()).saturating_sub(before);
    assert!(grown < GROWTH_MAX_KIB, "44 large forms cost {grown} KiB of memory");
    let stored: u64 = ["registry.db", "registry.db-wal"]
        .iter()
        .filter_map(|name| Some(home.data().join(name).metadata().ok()?.len()))
        .sum();
    assert!(stored < 32 * 1_024 * 1_024, "44 large forms cost {stored} bytes of the disk");
    let task = home.task(&id);
    let forms = task["requests"].as_array().into_iter().flatten().filter(|request| request["kind"] == "form").count();
    assert!((1..22).contains(&forms), "forms are taken until they are too much: {forms}");
}
