//! Results that a person looks at before the agent gets them.

use std::time::Duration;

use domain::ids::HandleId;
use domain::rule::{LimitAction, TokenLimit};
use domain::task::ResultForm;
use serde_json::{Value, json};
use testkit::build::person;
use testkit::scripted::PollReply;

use crate::gateway::tests::setup::{AgentClient, GatewaySetup, task_id};

const SECOND: Duration = Duration::from_secs(1);
const SECRET: &str = r#"{"content":[{"type":"text","text":"a canary in the coal mine"}]}"#;

/// A task whose result waits for a person.
async fn held(setup: &GatewaySetup, agent: &AgentClient) -> HandleId {
    setup.rule("long", |rule| rule.hold_results = Some(true)).await;
    setup.scripted.reply_task("long", "upstream-1", vec![PollReply::working(), PollReply::Completed(SECRET.into())]);
    let id = task_id(&agent.call("long").await.result());
    let begun = tokio::time::Instant::now();
    loop {
        let read = agent.get(&id).await;
        assert!(!read.raw().contains("canary"), "nothing of the result shows: {}", read.raw());
        let read = read.result();
        assert_eq!(read["status"], "working", "it goes on, as far as the agent is concerned");
        if read["statusMessage"] == "A person is checking the result." {
            return id.parse().expect("an id");
        }
        assert!(begun.elapsed() < 60 * SECOND, "the result is held: {read}");
        tokio::time::sleep(SECOND / 10).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_held_result_reaches_its_agent_when_a_person_delivers_it() {
    let setup = GatewaySetup::new().await;
    let agent = setup.modern(1);
    let id = held(&setup, &agent).await;
    setup.engine.release(id, person("ada"), Some(ResultForm::Whole), None).await.expect("it is delivered");
    let done: Value = agent.until_status(&id.to_string(), "completed").await;
    assert_eq!(done["result"]["content"][0]["text"], "a canary in the coal mine", "as it came");
}

#[tokio::test(start_paused = true)]
async fn a_withheld_result_never_reaches_its_agent() {
    let setup = GatewaySetup::new().await;
    let agent = setup.modern(1);
    let id = held(&setup, &agent).await;
    let reason = Some("it names a customer".to_owned());
    setup.engine.release(id, person("ada"), None, reason).await.expect("it is withheld");
    let failed = agent.until_status(&id.to_string(), "failed").await;
    let said = failed["error"]["message"].as_str().unwrap_or_default();
    assert!(said.contains("it names a customer"), "the person's reason is told: {failed}");
    assert!(!failed.to_string().contains("canary"), "and nothing of the result: {failed}");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_for_its_result_gets_it_when_a_person_delivers_it() {
    let setup = GatewaySetup::new().await;
    setup.rule("slow", |rule| rule.hold_results = Some(true)).await;
    setup.replies("slow", SECOND, SECRET);
    let agent = setup.plain(1);
    let calling = agent.call("slow");
    tokio::pin!(calling);
    let early = tokio::time::timeout(5 * SECOND, &mut calling).await;
    assert!(early.is_err(), "the result is ready and held");
    let row = setup.rows(1).await.into_iter().next().expect("a row");
    setup.engine.release(row.id, person("ada"), Some(ResultForm::Whole), None).await.expect("it is delivered");
    assert!(calling.await.raw().contains("canary"), "the call ends with its result");
}

#[tokio::test(start_paused = true)]
async fn pictures_over_a_limit_that_holds_are_asked_about_and_come_when_a_person_lets_them() {
    let setup = GatewaySetup::new().await;
    let picture = json!({"type": "image", "data": "iVBO".repeat(20_000), "mimeType": "image/png"});
    let whole = json!({"content": [{"type": "text", "text": "a map"}, picture]}).to_string();
    setup.rule("map", |rule| rule.result_limit = Some(TokenLimit { tokens: 400, at: LimitAction::Hold })).await;
    let agent = setup.plain(1);
    for form in [ResultForm::Slices, ResultForm::Whole] {
        setup.replies("map", Duration::ZERO, &whole);
        agent.call("map").await.result();
        let task = setup.rows(1).await.into_iter().next().expect("it is kept");
        assert!(task.is_held(), "somebody is asked: no slice would show the picture");
        let look = json!({"name": "tasks_wait", "arguments": {"task": task.id.to_string(), "seconds": 1}});
        let waits = agent.ask("tools/call", look.clone()).await.result();
        let said = waits["content"][0]["text"].as_str().expect("a text");
        assert!(said.contains("that are allowed, and a person decides"), "and its agent is told so: {said}");
        setup.engine.release(task.id, person("ada"), Some(form), None).await.expect("it is held");
        let came = agent.ask("tools/call", look).await.result();
        let said = came["content"][0]["text"].as_str().expect("a text");
        if form == ResultForm::Whole {
            assert_eq!((said, &came["content"][1]), ("a map", &picture), "as it is");
            let read = json!({"name": "tasks_result", "arguments": {"task": task.id.to_string()}});
            let read = agent.ask("tools/call", read).await.result();
            assert_eq!(read["content"], came["content"], "and read later, too: parts of it would be text");
        } else {
            let who = "A person decided that it comes in slices.";
            assert!(said.ends_with(&format!("[Not in its text: pictures. {who}]")), "{said}");
        }
    }
}
