//! Rows of the audit log go to the collectors that people named, each at its own pace, and nothing waits for them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use domain::audit::log_sink::{CollectorHeaderError, LogSink, SinkProgress, SinkRefused, SinkSignal};
use domain::ids::PersonId;
use domain::policy::{Policy, RetentionPolicy};
use domain::ports::{Clock, CollectorReply, LogCollectors, PortFuture, Secret};
use engine::{EngineError, NewSink};
use parking_lot::Mutex;
use serde_json::Value;
use testkit::build::http_server;

use crate::signed_log::PlainSigner;
use crate::world::World;

const SECOND: Duration = Duration::from_secs(1);

/// Collectors that take what they get, except for the replies that a test planned.
#[derive(Default)]
pub(crate) struct Collectors {
    planned: Mutex<BTreeMap<(u32, SinkSignal), VecDeque<CollectorReply>>>,
    /// A collector that never answers.
    silent: Mutex<Option<u32>>,
    /// Numbers of rows in each request that was taken.
    pub(crate) taken: Mutex<BTreeMap<u32, Vec<Vec<u64>>>>,
    /// Spans of each request that was taken.
    pub(crate) spans: Mutex<Vec<Vec<Value>>>,
    pub(crate) requests: Mutex<u64>,
    headers: Mutex<BTreeMap<u32, Vec<String>>>,
}

fn numbers(request: &str) -> Vec<u64> {
    let request: Value = serde_json::from_str(request).expect("JSON");
    let records = request.pointer("/resourceLogs/0/scopeLogs/0/logRecords").and_then(Value::as_array).cloned();
    let uid = |record: &Value| record.pointer("/attributes/0/value/stringValue")?.as_str().map(str::to_owned);
    let number = |uid: String| uid.rsplit_once('/')?.1.parse().ok();
    records.expect("records").iter().filter_map(uid).filter_map(number).collect()
}

fn spans(request: &str) -> Vec<Value> {
    let request: Value = serde_json::from_str(request).expect("JSON");
    let spans = request.pointer("/resourceSpans/0/scopeSpans/0/spans").and_then(Value::as_array).cloned();
    spans.expect("spans")
}

impl Collectors {
    fn plan(&self, sink: u32, replies: impl IntoIterator<Item = CollectorReply>) {
        self.plan_of(SinkSignal::Logs, sink, replies);
    }

    pub(crate) fn plan_of(&self, signal: SinkSignal, sink: u32, replies: impl IntoIterator<Item = CollectorReply>) {
        self.planned.lock().entry((sink, signal)).or_default().extend(replies);
    }

    fn rows(&self, sink: u32) -> Vec<u64> {
        self.taken.lock().get(&sink).cloned().unwrap_or_default().concat()
    }
}

impl LogCollectors for Collectors {
    fn send(&self, sink: &LogSink, signal: SinkSignal, request: String) -> PortFuture<'_, CollectorReply> {
        *self.requests.lock() += 1;
        let id = sink.id;
        if *self.silent.lock() == Some(id) {
            return Box::pin(std::future::pending());
        }
        let planned = self.planned.lock().get_mut(&(id, signal)).and_then(VecDeque::pop_front);
        let reply = planned.unwrap_or(CollectorReply::Taken { rejected: 0 });
        if matches!(reply, CollectorReply::Taken { .. }) {
            match signal {
                SinkSignal::Logs => self.taken.lock().entry(id).or_default().push(numbers(&request)),
                SinkSignal::Traces => self.spans.lock().push(spans(&request)),
            }
        }
        Box::pin(async move { reply })
    }

    fn keep_headers(&self, sink: u32, headers: &[(String, Secret)]) -> Result<(), CollectorHeaderError> {
        self.headers.lock().insert(sink, headers.iter().map(|(name, _)| name.clone()).collect());
        Ok(())
    }

    fn forget_headers(&self, sink: u32, _names: &[String]) {
        self.headers.lock().remove(&sink);
    }
}

pub(crate) fn ada() -> PersonId {
    PersonId::new("ada")
}

pub(crate) fn new(place: &str) -> NewSink {
    let origin = format!("https://{place}");
    let headers = vec![("Authorization".to_owned(), Secret::new("hush"))];
    NewSink { url: origin.clone(), origin, headers, signals: vec![SinkSignal::Logs], first: Some(1) }
}

/// How far log records came.
fn logs(sink: &LogSink) -> SinkProgress {
    sink.signals.get(&SinkSignal::Logs).cloned().expect("log records are sent")
}

pub(crate) struct Stage {
    pub(crate) world: World,
    pub(crate) collectors: Arc<Collectors>,
}

impl Stage {
    async fn new() -> Self {
        let (world, _, _) = World::new().await;
        Self::equipped(world).await
    }

    pub(crate) async fn equipped(world: World) -> Self {
        let stage = Self { world, collectors: Arc::default() };
        stage.equip().await;
        stage
    }

    async fn equip(&self) {
        self.world.engine.sign_log(Arc::new(PlainSigner));
        self.world.engine.send_log(self.collectors.clone()).await.expect("the sinks are read");
    }

    /// Something that a person decides, which is no change of the change log.
    async fn decide(&self) {
        let limits = self.world.engine.storage_limits().limits().clone();
        self.world.engine.set_storage_limits(limits, &ada()).await.expect("it is recorded");
    }

    pub(crate) async fn last(&self) -> u64 {
        self.world.registry.sinks().await.expect("sinks").last
    }

    async fn sink(&self, id: u32) -> SinkProgress {
        logs(&self.stored(id).await)
    }

    pub(crate) async fn stored(&self, id: u32) -> LogSink {
        let stored = self.world.registry.sinks().await.expect("sinks").sinks;
        stored.into_iter().find(|sink| sink.id == id).expect("it is there")
    }

    async fn add(&self, new: NewSink) -> SinkProgress {
        logs(&self.world.engine.add_sink(new, &ada()).await.expect("it is recorded"))
    }
}

#[tokio::test(start_paused = true)]
async fn a_collector_rejects_no_more_than_it_was_sent() {
    let stage = Stage::new().await;
    let lie = CollectorReply::Taken { rejected: u64::MAX };
    stage.collectors.plan(1, [lie]);
    let added = stage.add(new("liar.example")).await;
    let first = stage.collectors.taken.lock().get(&1).map_or(0, |requests| requests[0].len());
    assert_eq!(added.rejected, u64::try_from(first).expect("a count"), "its word counts up to the rows of the request");
    assert_eq!(added.waiting(stage.last().await), 0, "and what it got is not sent again");
    let since = added.rejected_since.expect("since then");
    let more = CollectorReply::Taken { rejected: 1 };
    stage.collectors.plan(1, [more]);
    stage.decide().await;
    stage.world.pass(90 * SECOND).await;
    let later = stage.sink(1).await;
    assert_eq!((later.rejected, later.rejected_since), (added.rejected + 1, Some(since)), "the first time stays");
}

#[tokio::test(start_paused = true)]
async fn a_sink_begins_with_a_row_that_can_be_there() {
    let stage = Stage::new().await;
    stage.decide().await;
    let last = stage.last().await;
    let beyond = last + 2;
    for (first, refused) in [(0, SinkRefused::FirstIsZero), (beyond, SinkRefused::NotWritten { first: beyond, last })] {
        let asked = NewSink { first: Some(first), ..new("one.example") };
        let added = stage.world.engine.add_sink(asked, &ada()).await;
        assert!(matches!(&added, Err(EngineError::Sink(why)) if *why == refused), "{first}: {added:?}");
    }
    assert_eq!((stage.last().await, *stage.collectors.requests.lock()), (last, 0), "nothing is recorded or sent");
    assert!(stage.collectors.headers.lock().is_empty(), "and no header is stored");
}

#[tokio::test(start_paused = true)]
async fn rows_go_out_soon_after_they_are_written_and_an_idle_log_sends_nothing() {
    let mut stage = Stage::new().await;
    let added = stage.add(new("one.example")).await;
    assert_eq!(added.waiting(stage.last().await), 0, "the first rows were taken before it returns");
    stage.decide().await;
    stage.world.pass(90 * SECOND).await;
    let every: Vec<u64> = (1..=stage.last().await).collect();
    assert_eq!(stage.collectors.rows(1), every, "also rows that are no change of the change log");
    let requests = *stage.collectors.requests.lock();
    stage.world.pass(3_600 * SECOND).await;
    assert_eq!(*stage.collectors.requests.lock(), requests, "an hour without news brings no request");

    stage.world.restart().await;
    stage.equip().await;
    stage.decide().await;
    stage.world.pass(90 * SECOND).await;
    let every: Vec<u64> = (1..=stage.last().await).collect();
    assert_eq!(stage.collectors.rows(1), every, "a restart goes on where it was");
    stage.world.engine.remove_sink(1, &ada()).await.expect("it is removed");
    assert!(stage.collectors.headers.lock().is_empty(), "its headers are forgotten");
    stage.world.pass(90 * SECOND).await;
    assert_eq!(stage.collectors.rows(1), every, "and then no more");
}

#[tokio::test(start_paused = true)]
async fn a_collector_that_does_not_answer_delays_no_decision_and_no_other_collector() {
    let stage = Stage::new().await;
    *stage.collectors.silent.lock() = Some(1);
    stage.world.engine.add_sink(new("one.example"), &ada()).await.expect("it is taken");
    stage.world.engine.add_sink(new("two.example"), &ada()).await.expect("it is taken");
    stage.decide().await;
    stage.world.pass(90 * SECOND).await;
    let every: Vec<u64> = (1..=stage.last().await).collect();
    assert_eq!((stage.collectors.rows(1), stage.collectors.rows(2)), (Vec::new(), every));
    assert_eq!(stage.sink(1).await.next_number, 1, "what was not taken stays to be sent");
}

#[tokio::test(start_paused = true)]
async fn a_collector_that_asked_to_be_left_alone_is_left_alone_when_people_change_another() {
    let stage = Stage::new().await;
    let busy = CollectorReply::Later { why: "answered 503".into(), wait: Some(600 * SECOND) };
    stage.collectors.plan(1, [busy]);
    stage.world.engine.add_sink(new("one.example"), &ada()).await.expect("it is recorded");
    stage.world.engine.add_sink(new("two.example"), &ada()).await.expect("it is recorded");
    stage.world.engine.resume_sink(2, &[], &ada()).await.expect("it is resumed");
    stage.world.pass(90 * SECOND).await;
    assert!(stage.collectors.rows(1).is_empty() && !stage.collectors.rows(2).is_empty(), "the other goes on");
    stage.world.engine.resume_sink(1, &[], &ada()).await.expect("it is resumed");
    let every: Vec<u64> = (1..=stage.last().await).collect();
    assert_eq!(stage.collectors.rows(1), every, "a person may ask for it at once");
}

#[tokio::test(start_paused = true)]
async fn a_refused_sink_gets_nothing_until_it_is_resumed_also_after_a_restart() {
    let mut stage = Stage::new().await;
    stage.collectors.plan(1, [CollectorReply::Refused { why: "answered 401".into() }]);
    let added = stage.add(new("one.example")).await;
    assert!(added.is_paused(), "{added:?}");
    stage.decide().await;
    stage.world.restart().await;
    stage.equip().await;
    stage.world.pass(3_600 * SECOND).await;
    assert_eq!(*stage.collectors.requests.lock(), 1, "nothing is sent");
    let resumed = stage.world.engine.resume_sink(1, &[], &ada()).await.expect("it is resumed");
    assert_eq!(logs(&resumed).failure, None, "{resumed:?}");
    stage.world.pass(90 * SECOND).await;
    let every: Vec<u64> = (1..=stage.last().await).collect();
    assert_eq!(stage.collectors.rows(1), every, "and nothing was lost");
}

#[tokio::test(start_paused = true)]
async fn a_collector_is_tried_again_with_growing_pauses_and_not_before_it_asked() {
    let stage = Stage::new().await;
    let later =
        |wait: Option<u64>| CollectorReply::Later { why: "answered 503".into(), wait: wait.map(Duration::from_secs) };
    stage.collectors.plan(1, [later(Some(600)), later(None), later(None)]);
    let added = stage.add(new("one.example")).await;
    let since = added.failure.expect("it failed").since;
    stage.world.pass(500 * SECOND).await;
    assert_eq!(*stage.collectors.requests.lock(), 1, "it is left alone");
    let failure = stage.sink(1).await.failure.expect("it fails");
    assert_eq!((failure.since, failure.is_paused), (since, false));
    stage.world.pass(1_000 * SECOND).await;
    assert_eq!(*stage.collectors.requests.lock(), 4, "twice refused for a while, then taken");
    assert_eq!(stage.sink(1).await.failure, None);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_too_large_is_made_smaller_and_a_single_row_that_is_pauses_the_sink() {
    let stage = Stage::new().await;
    let too_large = || CollectorReply::TooLarge { why: "answered 413".into() };
    for _ in 0..10 {
        stage.decide().await;
    }
    stage.collectors.plan(1, [too_large(), too_large()]);
    stage.world.engine.add_sink(new("one.example"), &ada()).await.expect("it is recorded");
    stage.world.pass(90 * SECOND).await;
    let first = stage.collectors.taken.lock()[&1][0].len();
    assert!((1..=4).contains(&first), "{first} rows in the first request that was taken");
    let every: Vec<u64> = (1..=stage.last().await).collect();
    assert_eq!(stage.collectors.rows(1), every);
    stage.collectors.plan(1, std::iter::repeat_with(too_large).take(10));
    stage.decide().await;
    stage.world.pass(90 * SECOND).await;
    assert!(stage.sink(1).await.is_paused(), "one row cannot be made smaller");
}

#[tokio::test(start_paused = true)]
async fn rows_that_retention_removed_before_they_were_sent_are_counted() {
    let retention = RetentionPolicy { segment_rows: 4, ..RetentionPolicy::default() };
    let policy = Policy { retention: retention.clone(), ..Policy::default() };
    let (world, _, _) = Box::pin(World::with(http_server(1, "one"), policy)).await;
    let stage = Stage::equipped(world).await;
    for _ in 0..20 {
        stage.decide().await;
    }
    stage.collectors.plan(1, [CollectorReply::Later { why: "answered 503".into(), wait: Some(3_600 * SECOND) }]);
    stage.world.engine.add_sink(new("one.example"), &ada()).await.expect("it is recorded");
    let limits = RetentionPolicy { audit_age: SECOND, ..retention };
    let late = stage.world.clock.now().plus(100 * 24 * 3_600 * SECOND);
    while stage.world.registry.clean(limits.clone(), late).await.expect("it cleans").audit_rows > 0 {}
    stage.world.pass(2 * 3_600 * SECOND).await;
    let (sink, sent) = (stage.sink(1).await, stage.collectors.rows(1));
    let first = *sent.first().expect("rows are sent");
    assert!(first > 1, "some are gone: {sent:?}");
    assert_eq!(sink.skipped, first - 1, "and are counted");
}

#[tokio::test(start_paused = true)]
async fn there_are_no_more_sinks_than_may_be_and_no_two_with_one_address() {
    let stage = Stage::new().await;
    for place in 0..stage.world.policy.audit.sinks_max {
        stage.world.engine.add_sink(new(&format!("{place}.example")), &ada()).await.expect("it is taken");
    }
    let refused = stage.world.engine.add_sink(new("more.example"), &ada()).await;
    assert!(matches!(refused, Err(EngineError::Sink(SinkRefused::TooMany { .. }))), "{refused:?}");
    stage.world.engine.remove_sink(2, &ada()).await.expect("it is removed");
    let refused = stage.world.engine.add_sink(new("0.example"), &ada()).await;
    assert!(matches!(refused, Err(EngineError::Sink(SinkRefused::SameAddress { id: 1, .. }))), "{refused:?}");
    let unknown = stage.world.engine.resume_sink(2, &[], &ada()).await;
    assert!(matches!(unknown, Err(EngineError::Sink(SinkRefused::Unknown(2)))), "{unknown:?}");
}
