//! Tasks that ended go to collectors as spans, each once, with the outcome that they had in the end.

use std::time::Duration;

use domain::audit::log_sink::SinkSignal;
use domain::ids::{HandleId, ServerId};
use domain::ports::CollectorReply;
use domain::task::status::Phase;
use serde_json::Value;
use testkit::scripted::{PollReply, ScriptedServer};

use crate::log_sinks::{Stage, ada, new};
use crate::world::World;

const SECOND: Duration = Duration::from_secs(1);

/// A world whose collector gets traces.
async fn traced() -> (Stage, ScriptedServer, ServerId) {
    let (world, server, id) = World::new().await;
    let stage = Stage::equipped(world).await;
    let mut asked = new("one.example");
    asked.signals = vec![SinkSignal::Traces];
    stage.world.engine.add_sink(asked, &ada()).await.expect("it is recorded");
    (stage, server, id)
}

fn value(span: &Value, key: &str) -> Option<String> {
    let all = span.get("attributes")?.as_array()?;
    let one = all.iter().find(|one| one.get("key").is_some_and(|named| named == key))?;
    Some(one.pointer("/value/stringValue")?.as_str()?.to_owned())
}

fn tasks(spans: &[Value]) -> Vec<String> {
    spans.iter().filter_map(|span| value(span, "taskwarden.task.id")).collect()
}

async fn done(stage: &Stage, server: &ScriptedServer, id: ServerId, name: &str) -> HandleId {
    server.reply_task("work", name, vec![PollReply::done()]);
    let task = stage.world.call(id, "work").await;
    stage.world.until_phase(task, Phase::Done).await;
    task
}

#[tokio::test(start_paused = true)]
async fn a_task_is_sent_when_it_ended_and_an_idle_log_sends_nothing() {
    let (stage, server, id) = traced().await;
    server.reply_task("work", "open", vec![PollReply::working()]);
    stage.world.call(id, "work").await;
    let ended = done(&stage, &server, id, "ended").await;
    stage.world.pass(90 * SECOND).await;
    let spans = stage.collectors.spans.lock().concat();
    assert_eq!(tasks(&spans), [ended.to_string()], "one that is open is not sent");
    assert!(stage.collectors.taken.lock().is_empty(), "and no log records were asked for");
    let traces = stage.stored(1).await.signals.get(&SinkSignal::Traces).cloned().expect("they are sent");
    assert_eq!(traces.waiting(stage.last().await), 0, "rows without an end are passed, too");
    let requests = *stage.collectors.requests.lock();
    stage.world.pass(600 * SECOND).await;
    assert_eq!(*stage.collectors.requests.lock(), requests, "nothing ended, and nothing is sent");
}

#[tokio::test(start_paused = true)]
async fn a_task_whose_result_is_still_being_fetched_is_sent_with_the_outcome_that_it_has_then() {
    let (stage, server, id) = traced().await;
    let looks = vec![PollReply::NotFetched, PollReply::NotFetched, PollReply::ToolError("hush".into())];
    server.reply_task("work", "slow", looks);
    let task = stage.world.call(id, "work").await;
    stage.world.until_phase(task, Phase::DoneWithError).await;
    stage.world.pass(90 * SECOND).await;
    let spans = stage.collectors.spans.lock().concat();
    assert_eq!(tasks(&spans), [task.to_string()], "once");
    assert_eq!(value(&spans[0], "error.type").as_deref(), Some("tool_error"), "{spans:?}");
    assert_eq!(spans[0].pointer("/status/code"), Some(&Value::from(2)), "{spans:?}");
}

#[tokio::test(start_paused = true)]
async fn spans_that_are_too_many_for_one_request_come_in_smaller_ones() {
    let (stage, server, id) = traced().await;
    let busy = CollectorReply::Later { why: "answered 503".into(), wait: Some(600 * SECOND) };
    let too_large = || CollectorReply::TooLarge { why: "answered 413".into() };
    stage.collectors.plan_of(SinkSignal::Traces, 1, [busy, too_large(), too_large()]);
    let mut ended = Vec::new();
    for number in 0..6 {
        ended.push(done(&stage, &server, id, &format!("t{number}")).await.to_string());
    }
    stage.world.pass(1_200 * SECOND).await;
    let requests = stage.collectors.spans.lock().clone();
    assert!(requests.iter().all(|spans| spans.len() <= 2) && requests.len() >= 3, "{} requests", requests.len());
    assert_eq!(tasks(&requests.concat()), ended, "each once, in the order in which they ended");
    stage.collectors.plan_of(SinkSignal::Traces, 1, std::iter::repeat_with(too_large).take(3));
    done(&stage, &server, id, "last").await;
    stage.world.pass(90 * SECOND).await;
    let traces = stage.stored(1).await.signals.get(&SinkSignal::Traces).cloned().expect("they are sent");
    assert!(traces.is_paused(), "one span cannot be made smaller: {traces:?}");
}

#[tokio::test(start_paused = true)]
async fn a_task_that_nobody_watches_any_more_is_sent_once_and_says_nothing_of_its_outcome() {
    let (stage, server, id) = traced().await;
    server.reply_task("work", "t1", vec![PollReply::working()]);
    let task = stage.world.call(id, "work").await;
    stage.world.pass(5 * SECOND).await;
    stage.world.engine.unwatch(task, ada(), None).await.expect("nobody watches it");
    stage.world.pass(90 * SECOND).await;
    let spans = stage.collectors.spans.lock().concat();
    assert_eq!(tasks(&spans), [task.to_string()]);
    assert_eq!(value(&spans[0], "taskwarden.task.phase").as_deref(), Some("unwatched"), "{spans:?}");
    assert_eq!(spans[0].pointer("/status/code"), Some(&Value::from(0)), "{spans:?}");
}
