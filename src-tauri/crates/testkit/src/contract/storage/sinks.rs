//! A sink reads back as it was put, its progress never brings back what was removed, and its facts are in the audit log.

use domain::audit::log_sink::{LogSink, SinkFailure, SinkSignal};
use domain::audit::{Actor, AuditEvent, Subject, Verb};
use domain::ids::PersonId;
use domain::ports::{Registry, SinkNote, SinkUnit};
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
    let both = &SinkSignal::ALL;
    let mut first = LogSink::new(1, "https://collector.example/otlp".into(), headers, both, before.last + 1);
    let traces = &[SinkSignal::Traces];
    let second = LogSink::new(2, "http://127.0.0.1:4318".into(), Vec::new(), traces, 1);
    for sink in [&second, &first] {
        let unit = SinkUnit { sink: sink.clone(), audit: fact(Verb::SinkAdded) };
        registry.put_sink(unit).await.expect("it is stored");
    }
    let after = registry.sinks().await.expect("sinks");
    assert_eq!(after.sinks, [first.clone(), second.clone()], "by id");
    assert_eq!(after.last, before.last + 2, "each has its fact");

    let since = Timestamp::from_millis(9_952_000);
    for (signal, is_paused) in [(SinkSignal::Logs, false), (SinkSignal::Logs, true), (SinkSignal::Traces, true)] {
        let progress = first.signals.get_mut(&signal).expect("it is sent");
        progress.next_number += 2;
        progress.taken = Some(Timestamp::from_millis(9_951_000));
        (progress.skipped, progress.rejected) = (3, 1);
        progress.rejected_since = Some(Timestamp::from_millis(9_950_500));
        progress.failure = Some(SinkFailure { why: "answered 401".into(), since, is_paused });
        let note = SinkNote { sink: 1, signal, progress: progress.clone() };
        registry.note_sink(note).await.expect("it is noted");
        assert_eq!(stored(registry).await, [first.clone(), second.clone()], "with what went wrong");
    }
    for progress in first.signals.values_mut() {
        progress.failure = None;
    }
    first.headers.pop();
    let resumed = SinkUnit { sink: first.clone(), audit: fact(Verb::SinkResumed) };
    registry.put_sink(resumed).await.expect("it is stored");
    assert_eq!(stored(registry).await, [first.clone(), second.clone()]);

    let progress = first.signals.get(&SinkSignal::Logs).cloned().expect("it is sent");
    let late = SinkNote { sink: 1, signal: SinkSignal::Logs, progress };
    let unsent = SinkNote { sink: 2, signal: SinkSignal::Logs, progress: late.progress.clone() };
    registry.note_sink(unsent).await.expect("nobody is told");
    assert_eq!(stored(registry).await, [first, second.clone()], "what is not sent has no progress");
    registry.remove_sink(1, fact(Verb::SinkRemoved)).await.expect("it is removed");
    registry.note_sink(late).await.expect("nobody is told");
    assert_eq!(stored(registry).await, [second], "what was on its way brings nothing back");
    registry.remove_sink(2, fact(Verb::SinkRemoved)).await.expect("it is removed");
    let last = registry.sinks().await.expect("sinks").last;
    assert_eq!(last, before.last + 5, "progress is no fact");
}
