//! Five calls at once on one connection of the 2025 dialect, and a question that names none of them (finding B2).

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use tests::home::{Home, wait_for};
use tests::hostile::Deed;

use crate::PROGRAM;
use crate::statements::legacy::{answer_to, begin_stream, event, legacy, no_stream, question, tool};
use crate::statements::{Log, add_url};

const CALLS: usize = 5;

/// The ids of rows in this phase.
fn in_phase(home: &Home, phase: &str) -> BTreeSet<String> {
    let listed = home.json(["tasks", "list", "--json"]);
    let rows = listed["tasks"].as_array().cloned().unwrap_or_default();
    rows.iter().filter(|row| row["phase"] == phase).filter_map(|row| row["id"].as_str().map(str::to_owned)).collect()
}

/// The tasks that may be asking, by the inbox; none while the question goes from one task to another.
fn may_be_asking(home: &Home) -> BTreeSet<String> {
    let inbox = home.json(["inbox", "--json"]);
    assert!(matches!(inbox["total"].as_u64(), Some(0 | 1)), "there is one question: {inbox}");
    let ids = inbox["items"][0]["oneOf"].as_array().cloned().unwrap_or_default();
    ids.iter().filter_map(|id| id.as_str().map(str::to_owned)).collect()
}

/// The JSON-RPC id of the call with this number, as the server got it.
fn rpc_id(log: &Log, number: usize) -> Value {
    let calls = log.of("tools/call");
    let call = calls.iter().find(|note| note.body["params"]["arguments"]["number"] == number);
    call.expect("the call arrived").body["id"].clone()
}

#[test]
fn a_question_of_one_of_five_calls_is_shown_at_all_of_them_and_a_cancel_guesses_nothing() {
    let home = Home::new(PROGRAM);
    let _core = home.serve();
    let log = Log::default();
    let heard = log.clone();
    // The client opens another stream when the first one ends; the question is not asked again there.
    let is_asked = Arc::new(AtomicBool::new(false));
    let server = log.serve(move |asked| {
        let (heard, is_asked) = (heard.clone(), Arc::clone(&is_asked));
        legacy(asked, &Value::Null, &json!([tool("job", None)]), |asked| match asked.method() {
            "tools/call" => {
                let id = asked.body["id"].clone();
                Deed::Talk(Box::new(move |stream| {
                    begin_stream(stream);
                    answer_to(&heard, "q-1");
                    let text = json!([{"type": "text", "text": "honey"}]);
                    event(stream, &json!({"jsonrpc": "2.0", "id": id, "result": {"content": text}}));
                }))
            }
            _ if asked.verb == "GET" && !is_asked.swap(true, Ordering::Relaxed) => {
                Deed::Talk(Box::new(move |stream| {
                    begin_stream(stream);
                    heard.wait_for("tools/call", CALLS);
                    event(stream, &question("q-1", &json!({})));
                    answer_to(&heard, "q-1");
                }))
            }
            _ => no_stream(asked),
        })
    });
    add_url(&home, "hostile", &server.url(), "up");
    let calls: Vec<String> = (0..CALLS).map(|number| home.call("hostile", "job", &json!({"number": number}))).collect();
    let all: BTreeSet<String> = calls.iter().cloned().collect();
    wait_for(
        "all five calls may be waiting",
        || (in_phase(&home, "waiting") == all).then_some(()),
        || format!("{}; {:?}", home.run(["tasks", "list"]).out, log.methods()),
    );
    assert_eq!(may_be_asking(&home), all, "the question names all of them");
    let told = home.run(["inbox"]).out;
    assert!(told.contains("hostile asks during one of 5 calls"), "and says that nobody knows which: {told}");

    // Neither the call that stores the question nor another one takes it along.
    for (number, left) in [(0, 4), (3, 3)] {
        let ran = home.run(["tasks", "cancel", &calls[number], "--yes"]);
        assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
        wait_for(
            "the others may still be waiting",
            || (may_be_asking(&home).len() == left && !may_be_asking(&home).contains(&calls[number])).then_some(()),
            || home.run(["inbox", "--json"]).out,
        );
        let cancels = log.wait_for("notifications/cancelled", CALLS - left);
        let aimed: Vec<Value> = cancels.iter().map(|note| note.body["params"]["requestId"].clone()).collect();
        assert_eq!(aimed.last(), Some(&rpc_id(&log, number)), "the cancel names the call of its task: {aimed:?}");
        let answers = log.all().iter().filter(|note| note.body["id"] == "q-1").count();
        assert_eq!(answers, 0, "and says nothing to the question");
    }
    let asking = home.json(["inbox", "--json"])["items"][0].clone();
    let (task, key) = (asking["task"].as_str().expect("a task"), asking["key"].as_str().expect("a key"));
    let ran = home.run(["tasks", "answer", task, "--key", key, "--accept", r#"{"word":"bees"}"#]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    for number in [1, 2, 4] {
        home.wait_phase(&calls[number], "done");
    }
    assert_eq!(log.all().iter().filter(|note| note.body["id"] == "q-1").count(), 1, "it is answered once");
    assert_eq!(log.of("notifications/cancelled").len(), 2, "two cancels for two acts: {:?}", log.methods());
}
