//! A sink reads back as it was put, its progress never brings back what was removed, and its facts are in the audit log.

use domain::audit::log_sink::{LogSink, SinkFailure};
use domain::audit::{Actor, AuditEvent, Subject, Verb};
use domain::ids::PersonId;
use domain::ports::{Registry, SinkUnit};
use domain::time::Timestamp;

fn fact(verb: Verb) -> Vec<AuditEvent> {
    let (at, actor) = (Timestamp::from_millis(9_950_000), Actor::Person(PersonId::new("ada")));
    vec![AuditEvent { at, actor, verb, subject: Subject::Store, note: "sink 1".into() }]
}

async fn stored(registry: &dyn Registry) -> Vec<LogSink> {
    registry.sinks().await.expect("sinks").sinks
}

pub(crate) async fn check(registry: &dyn Registry) {
    let before = registry.sinks().await.expect("sinks");
    assert!(before.sinks.is_empty() && before.last > 0 && before.origin.starts_with("taskwarden/"), "{before:?}");
    let headers = vec!["Authorization".to_owned(), "X-Tenant".to_owned()];
    let mut first = LogSink::new(1, "https://collector.example/v1/logs".into(), headers, before.last + 1);
    let second = LogSink::new(2, "http://127.0.0.1:4318/v1/logs".into(), Vec::new(), 1);
    for sink in [&second, &first] {
        let unit = SinkUnit { sink: sink.clone(), audit: fact(Verb::SinkAdded) };
        registry.put_sink(unit).await.expect("it is stored");
    }
    let after = registry.sinks().await.expect("sinks");
    assert_eq!(after.sinks, [first.clone(), second.clone()], "by id");
    assert_eq!(after.last, before.last + 2, "each has its fact");

    first.next_number += 2;
    first.taken = Some(Timestamp::from_millis(9_951_000));
    (first.skipped, first.rejected, first.rejected_since) = (3, 1, Some(Timestamp::from_millis(9_950_500)));
    let since = Timestamp::from_millis(9_952_000);
    for is_paused in [false, true] {
        first.failure = Some(SinkFailure { why: "answered 401".into(), since, is_paused });
        registry.note_sink(first.clone()).await.expect("it is noted");
        assert_eq!(stored(registry).await, [first.clone(), second.clone()], "with what went wrong");
    }
    first.failure = None;
    first.headers.pop();
    let resumed = SinkUnit { sink: first.clone(), audit: fact(Verb::SinkResumed) };
    registry.put_sink(resumed).await.expect("it is stored");
    assert_eq!(stored(registry).await, [first.clone(), second.clone()]);

    registry.remove_sink(1, fact(Verb::SinkRemoved)).await.expect("it is removed");
    registry.note_sink(first).await.expect("nobody is told");
    assert_eq!(stored(registry).await, [second], "what was on its way brings nothing back");
    registry.remove_sink(2, fact(Verb::SinkRemoved)).await.expect("it is removed");
    let last = registry.sinks().await.expect("sinks").last;
    assert_eq!(last, before.last + 5, "progress is no fact");
}
