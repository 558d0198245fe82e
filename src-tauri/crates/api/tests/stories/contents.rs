//! Large payloads in parts and pieces, and what went over the wire.

use api::Code;
use serde_json::json;
use testkit::scripted::PollReply;

use crate::world::World;

async fn finished(world: &World, result: &str) -> String {
    world.server.reply_task("report", "t1", vec![PollReply::Completed(result.to_owned())]);
    let id = world.start("report").await;
    world.until(&id, "done").await;
    id
}

#[tokio::test(start_paused = true)]
async fn a_large_result_is_read_piece_by_piece_without_losing_a_byte() {
    let world = World::new().await;
    let words = "Zürich – 東京 ".repeat(3_000);
    let result = json!({"content": [{"type": "text", "text": words}], "structuredContent": {"n": 1}}).to_string();
    let id = finished(&world, &result).await;
    let content = world.call("tasks.content", json!({"id": id, "of": "result"})).await;
    assert_eq!((&content["bytes"], &content["isError"]), (&json!(result.len()), &json!(false)));
    let part = &content["parts"][0];
    assert_eq!((&part["kind"], &part["cut"], &part["bytes"]), (&json!("text"), &json!(true), &json!(words.len())));
    assert_eq!(part["preview"].as_str().map(|text| text.chars().count()), Some(world.policy.asking.preview_chars));
    for (part, whole) in [(json!(0), &words), (json!(null), &result)] {
        let (mut read, mut offset) = (String::new(), json!(0));
        while !offset.is_null() {
            let piece = json!({"id": id, "of": "result", "part": part, "offset": offset, "limit": 1_000});
            let piece = world.call("tasks.piece", piece).await;
            read.push_str(piece["text"].as_str().expect("text"));
            offset = piece["next"].clone();
            assert_eq!(piece["bytes"], json!(whole.len()));
        }
        assert_eq!(&read, whole, "all pieces together are the whole");
    }
    let none = json!({"id": id, "of": "result", "part": 9, "offset": 0, "limit": 10});
    assert_eq!(world.try_call("tasks.piece", none).await.expect_err("no such part").code, Code::NotFound);
    let tiny = json!({"id": id, "of": "result", "part": 0, "offset": 2, "limit": 0});
    let tiny = world.call("tasks.piece", tiny).await;
    assert_eq!(tiny["text"], "ü", "a piece begins and ends at a character, and is never empty before the end");
}

#[tokio::test(start_paused = true)]
async fn arguments_can_be_read_and_an_error_says_that_there_is_no_result() {
    let world = World::new().await;
    let id = finished(&world, r#"{"content":[]}"#).await;
    let arguments = world.call("tasks.content", json!({"id": id, "of": "arguments"})).await;
    assert_eq!((&arguments["parts"][0]["kind"], &arguments["parts"][0]["preview"]), (&json!("json"), &json!("{}")));
    let none = world.try_call("tasks.content", json!({"id": id, "of": "error"})).await.expect_err("it did not fail");
    assert_eq!(none.code, Code::NotFound);
}

#[tokio::test(start_paused = true)]
async fn messages_of_a_task_are_listed_and_an_unknown_one_is_not_there() {
    let world = World::new().await;
    let id = finished(&world, r#"{"content":[]}"#).await;
    assert!(world.call("tasks.raw", json!({"id": id})).await["messages"].is_array());
    let none = json!({"id": id, "of": "raw", "part": 99, "offset": 0, "limit": 10});
    assert_eq!(world.try_call("tasks.piece", none).await.expect_err("no such message").code, Code::NotFound);
}
