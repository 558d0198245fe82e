//! A 2025 server that asks very much on the stream of one task: bounded, counted, and brought up one after the other.

use serde_json::json;
use tests::home::{Home, wait_for};
use tests::hostile::Deed;

use super::super::{Log, add_url, open_questions, result, task_2025};
use super::{RELATED, all_tasks, begin_stream, event, legacy, no_stream, question, tool};
use crate::PROGRAM;

/// Questions that come at once on one stream.
const MANY: usize = 200;

#[test]
fn two_hundred_questions_on_one_stream_are_bounded_counted_and_come_up_as_others_are_answered() {
    let home = Home::new(PROGRAM);
    let _core = home.serve();
    let log = Log::default();
    let heard = log.clone();
    let server = log.serve(move |asked| {
        let heard = heard.clone();
        legacy(asked, &all_tasks(), &json!([tool("job", Some("required"))]), |asked| match asked.method() {
            "tools/call" => result(asked, &json!({"task": task_2025("3", "working", &json!({}))})),
            "tasks/get" => {
                let over = heard.all().iter().any(|note| note.method() == "tasks/cancel");
                result(asked, &task_2025("3", if over { "cancelled" } else { "input_required" }, &json!({})))
            }
            "tasks/cancel" => result(asked, &task_2025("3", "cancelled", &json!({}))),
            "tasks/result" => Deed::Talk(Box::new(move |stream| {
                begin_stream(stream);
                for number in 0..MANY {
                    let mut asks = question(&format!("q-{number}"), &json!({RELATED: {"taskId": "3"}}));
                    asks["params"]["message"] = json!(format!("Which word of line {number}?"));
                    event(stream, &asks);
                }
                heard.wait_for("tasks/cancel", 1);
            })),
            _ => no_stream(asked),
        })
    });
    add_url(&home, "old", &server.url(), "up");
    let id = home.call("old", "job", &json!({}));
    let counts = || {
        let task = home.task(&id);
        let open = task["requests"].as_array().map_or(0, |all| all.iter().filter(|one| one["state"] == "open").count());
        (open, task["moreQuestions"].as_u64().unwrap_or(0))
    };
    let wait_counts = |wanted: (usize, u64)| {
        wait_for("the questions are counted", || (counts() == wanted).then_some(()), || format!("{:?}", counts()));
    };
    wait_counts((64, 136));
    let inbox = home.json(["inbox", "--json"]);
    assert_eq!(inbox["total"], 64, "the others are not open yet");
    let last = inbox["items"].as_array().and_then(|items| items.last()).cloned().unwrap_or_default();
    assert_eq!(last["moreQuestions"], 136, "and the inbox names them: {last}");
    for row in open_questions(&home, &id).iter().take(3) {
        let key = row["key"].as_str().expect("a question has a key");
        let ran = home.run(["tasks", "answer", &id, "--key", key, "--accept", r#"{"word":"bees"}"#]);
        assert_eq!(ran.code, 0, "{}", ran.err);
    }
    wait_counts((64, 133));
    wait_for(
        "the server has three answers",
        || (log.all().iter().filter(|note| note.body["result"]["action"] == "accept").count() == 3).then_some(()),
        || format!("{:?}", log.methods()),
    );
    assert_eq!(home.run(["tasks", "cancel", &id, "--yes"]).code, 0, "it can be cancelled under all of them");
    home.wait_phase(&id, "cancelled");
    assert_eq!(home.json(["inbox", "--json"])["total"], 0, "and nothing is left");
}
