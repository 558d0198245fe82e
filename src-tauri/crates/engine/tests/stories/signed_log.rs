//! The audit log is signed soon after a decision and not without news, and copies of what was signed go to their places.

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use domain::audit::Verb;
use domain::audit::log_sink::CollectorHeaderError;
use domain::ids::PersonId;
use domain::policy::Policy;
use domain::ports::{
    AnchorPlace, AnchorPlaceFault, AnchorPlaces, AuditFilter, AuditOrder, AuditQuery, LogHead, LogSigner, PortFuture,
    Registry, Secret, SecretError, SignedHead,
};
use engine::{AnchorTrouble, EngineError};
use parking_lot::Mutex;
use testkit::clock::TestClock;
use testkit::kill::{Fate, KillPointRegistry, KillPoints};
use testkit::memory_registry::MemoryRegistry;
use testkit::scripted::ScriptedConnector;
use tokio::sync::Notify;

use crate::world::World;

const SECOND: Duration = Duration::from_secs(1);
const PLACE: &str = "/media/usb/log.notes";

/// Writes down what it was asked to sign: a note here is the size and the root.
pub(crate) struct PlainSigner;

fn note(head: &LogHead) -> String {
    let root: String = head.root.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{} {} {root}\n", head.origin, head.size)
}

fn read(note: &str) -> Option<LogHead> {
    let mut words = note.split_whitespace();
    let (origin, size, root) = (words.next()?, words.next()?, words.next()?);
    let byte = |at: usize| u8::from_str_radix(root.get(2 * at..2 * at + 2)?, 16).ok();
    let root: Vec<u8> = (0..32).map(byte).collect::<Option<_>>()?;
    Some(LogHead { origin: origin.into(), size: size.parse().ok()?, root: root.try_into().ok()? })
}

impl LogSigner for PlainSigner {
    fn sign(&self, head: &LogHead) -> Result<SignedHead, SecretError> {
        Ok(SignedHead { note: note(head), key: "key".into(), public: "public".into() })
    }
}

/// A disk that can be taken away.
#[derive(Default)]
struct Disk {
    files: Mutex<HashMap<PathBuf, String>>,
    is_away: Mutex<bool>,
    /// What a collector answers to the next requests; then it takes everything.
    answers: Mutex<VecDeque<Result<(), AnchorPlaceFault>>>,
    /// Requests that a collector got.
    asked: AtomicUsize,
}

impl Disk {
    fn text(&self) -> String {
        self.files.lock().get(Path::new(PLACE)).cloned().unwrap_or_default()
    }

    /// The sizes that the place holds, the oldest first.
    fn sizes(&self) -> Vec<u64> {
        self.text().lines().filter_map(read).map(|head| head.size).collect()
    }

    fn here<T>(&self, then: impl FnOnce(&mut HashMap<PathBuf, String>) -> Option<T>) -> Result<T, AnchorPlaceFault> {
        let gone = || AnchorPlaceFault::Unreachable("is not there".into());
        if *self.is_away.lock() { Err(gone()) } else { then(&mut self.files.lock()).ok_or_else(gone) }
    }
}

impl AnchorPlaces for Disk {
    fn newest(
        &self,
        place: &AnchorPlace,
        _keys: Vec<String>,
    ) -> PortFuture<'_, Result<Option<LogHead>, AnchorPlaceFault>> {
        let found = self.here(|files| {
            let text = files.get(place.path())?;
            let last = text.lines().rfind(|line| !line.is_empty());
            Some(last.map(|line| read(line).ok_or(AnchorPlaceFault::NotOurs("is a shopping list".into()))))
        });
        Box::pin(async move { found?.transpose() })
    }

    fn prepare(&self, place: &AnchorPlace) -> PortFuture<'_, Result<(), AnchorPlaceFault>> {
        let done = self.here(|files| {
            files.entry(place.path().to_owned()).or_default();
            Some(())
        });
        Box::pin(async move { done })
    }

    fn append(&self, place: &AnchorPlace, _size: u64, note: String) -> PortFuture<'_, Result<(), AnchorPlaceFault>> {
        let done = self.here(|files| {
            files.get_mut(place.path())?.push_str(&note);
            Some(())
        });
        Box::pin(async move { done })
    }

    fn send(&self, place: &AnchorPlace, request: String) -> PortFuture<'_, Result<(), AnchorPlaceFault>> {
        let answer = self.answers.lock().pop_front().unwrap_or(Ok(()));
        if answer.is_ok() {
            self.files.lock().entry(place.path().to_owned()).or_default().push_str(&format!("{request}\n"));
        }
        self.asked.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move { answer })
    }

    fn keep_headers(&self, _number: u32, _headers: &[(String, Secret)]) -> Result<(), CollectorHeaderError> {
        Ok(())
    }

    fn forget_headers(&self, _number: u32, _names: &[String]) {}

    fn is_beside_registry(&self, _place: &AnchorPlace) -> PortFuture<'_, bool> {
        Box::pin(async { false })
    }
}

fn place(path: &str) -> AnchorPlace {
    AnchorPlace::File(path.into())
}

fn ada() -> PersonId {
    PersonId::new("ada")
}

/// The notes of all rows with this verb, the newest first.
async fn notes(registry: &dyn Registry, verb: Verb) -> Vec<String> {
    let filter = AuditFilter { verbs: vec![verb.word().into()], ..AuditFilter::default() };
    let query = AuditQuery { filter, order: AuditOrder::NewestFirst, behind: None, limit: 100 };
    let found = registry.audit_rows(query).await.expect("rows");
    found.rows.into_iter().map(|row| row.note.unwrap_or_default()).collect()
}

struct Stage {
    world: World,
    disk: Arc<Disk>,
}

impl Stage {
    async fn new() -> Self {
        let (world, _, _) = World::new().await;
        let stage = Self { world, disk: Arc::default() };
        stage.equip().await;
        stage
    }

    async fn equip(&self) {
        self.world.engine.sign_log(Arc::new(PlainSigner));
        self.world.engine.keep_anchors(self.disk.clone()).await.expect("the places are read");
    }

    /// Something that a person decides.
    async fn decide(&self) {
        let limits = self.world.engine.storage_limits().limits().clone();
        self.world.engine.set_storage_limits(limits, &ada()).await.expect("it is recorded");
    }

    async fn signed(&self) -> u64 {
        let newest = self.world.registry.checkpoints(1).await.expect("checkpoints");
        newest.first().map_or(0, |newest| newest.size)
    }

    async fn rows(&self, verb: Verb) -> usize {
        notes(self.world.registry.as_ref(), verb).await.len()
    }

    fn trouble(&self) -> Option<AnchorTrouble> {
        self.world.engine.anchors().first().and_then(|anchor| anchor.trouble.clone())
    }
}

#[tokio::test(start_paused = true)]
async fn a_decision_is_signed_at_once_and_an_idle_log_is_not_signed_again() {
    let stage = Stage::new().await;
    stage.decide().await;
    stage.world.pass(90 * SECOND).await;
    let signed = stage.signed().await;
    assert!(signed > 0, "it is signed");
    stage.world.pass(3_600 * SECOND).await;
    assert_eq!(stage.signed().await, signed, "an hour without news brings no checkpoint");
    stage.decide().await;
    stage.world.pass(90 * SECOND).await;
    assert!(stage.signed().await > signed, "and news bring one");
}

#[tokio::test(start_paused = true)]
async fn checkpoints_are_copied_to_the_place_that_a_person_named_and_after_a_restart_too() {
    let mut stage = Stage::new().await;
    let added = stage.world.engine.add_anchor(place(PLACE), &ada()).await.expect("it is taken");
    assert_eq!(Some(stage.signed().await), added.newest, "the first copy is there at once");
    assert_eq!(stage.rows(Verb::AnchorAdded).await, 1, "who named it is on record");
    stage.decide().await;
    stage.world.pass(90 * SECOND).await;
    assert_eq!(stage.disk.sizes().last(), Some(&stage.signed().await));
    stage.world.restart().await;
    stage.equip().await;
    stage.decide().await;
    stage.world.pass(90 * SECOND).await;
    let sizes = stage.disk.sizes();
    assert_eq!(sizes.last(), Some(&stage.signed().await), "{sizes:?}");
    assert!(sizes.is_sorted_by(|one, other| one < other), "each checkpoint once: {sizes:?}");
    stage.world.engine.remove_anchor(added.id, &ada()).await.expect("it is removed");
    stage.decide().await;
    stage.world.pass(90 * SECOND).await;
    assert_eq!(stage.disk.sizes(), sizes, "and then no more");
}

#[tokio::test(start_paused = true)]
async fn a_disk_that_was_away_gets_the_newest_checkpoint_when_it_is_back() {
    let stage = Stage::new().await;
    stage.world.engine.add_anchor(place(PLACE), &ada()).await.expect("it is taken");
    *stage.disk.is_away.lock() = true;
    stage.decide().await;
    stage.world.pass(90 * SECOND).await;
    assert!(matches!(stage.trouble(), Some(AnchorTrouble::Unreachable(_))), "{:?}", stage.trouble());
    *stage.disk.is_away.lock() = false;
    stage.world.pass(stage.world.policy.audit.anchor_again + 20 * SECOND).await;
    assert_eq!(stage.trouble(), None);
    assert_eq!(stage.disk.sizes().last(), Some(&stage.signed().await));
}

#[tokio::test(start_paused = true)]
async fn an_anchor_that_the_log_contradicts_is_reported_and_never_written_to() {
    let mut stage = Stage::new().await;
    stage.world.engine.add_anchor(place(PLACE), &ada()).await.expect("it is taken");
    let head = stage.disk.text().lines().find_map(read).expect("a note");
    for (head, word) in [
        (LogHead { size: head.size + 5_000, ..head.clone() }, "rows were cut off"),
        (LogHead { root: [9; 32], ..head.clone() }, "were changed"),
        (LogHead { origin: "taskwarden/other".into(), ..head.clone() }, "another log"),
    ] {
        let evidence = note(&head);
        stage.disk.files.lock().insert(PLACE.into(), evidence.clone());
        stage.world.restart().await;
        stage.equip().await;
        stage.decide().await;
        stage.world.pass(90 * SECOND).await;
        let trouble = stage.trouble();
        assert!(matches!(&trouble, Some(AnchorTrouble::Contradicts(why)) if why.contains(word)), "{word}: {trouble:?}");
        assert_eq!(stage.disk.text(), evidence, "the evidence stays as it is");
    }
}

#[tokio::test(start_paused = true)]
async fn a_file_that_was_emptied_or_put_back_while_the_core_runs_is_reported() {
    for (what, is_older_kept) in [("emptied", false), ("put back", true)] {
        let stage = Stage::new().await;
        stage.world.engine.add_anchor(place(PLACE), &ada()).await.expect("it is taken");
        let older = stage.disk.text();
        stage.decide().await;
        stage.world.pass(90 * SECOND).await;
        let left = if is_older_kept { older } else { String::new() };
        stage.disk.files.lock().insert(PLACE.into(), left.clone());
        stage.decide().await;
        stage.world.pass(90 * SECOND).await;
        let trouble = stage.trouble();
        assert!(
            matches!(&trouble, Some(AnchorTrouble::Contradicts(why)) if why.contains("does not hold the checkpoint of row")),
            "{what}: {trouble:?}"
        );
        assert_eq!(stage.disk.text(), left, "{what}: nothing covers what was done to it");
    }
}

#[tokio::test(start_paused = true)]
async fn a_place_is_refused_before_it_is_on_record() {
    let stage = Stage::new().await;
    stage.disk.files.lock().insert(PLACE.into(), "milk\n".into());
    let refused = stage.world.engine.add_anchor(place(PLACE), &ada()).await;
    assert!(matches!(&refused, Err(EngineError::NoAnchor(why)) if why.contains("shopping list")), "{refused:?}");
    assert_eq!((stage.rows(Verb::AnchorAdded).await, stage.disk.text().as_str()), (0, "milk\n"));
    for number in 0..stage.world.policy.audit.anchors_max {
        stage.world.engine.add_anchor(place(&format!("/media/{number}")), &ada()).await.expect("it is taken");
    }
    let refused = stage.world.engine.add_anchor(place("/media/more"), &ada()).await;
    assert!(matches!(&refused, Err(EngineError::NoAnchor(why)) if why.contains("as many as may be")), "{refused:?}");
    let refused = stage.world.engine.add_anchor(place("/media/0"), &ada()).await;
    assert!(matches!(&refused, Err(EngineError::NoAnchor(why)) if why.contains("already")), "{refused:?}");
}

#[tokio::test(start_paused = true)]
async fn a_new_epoch_is_for_a_log_that_an_anchor_contradicts_and_copies_go_on_in_it() {
    let mut stage = Stage::new().await;
    stage.world.engine.add_anchor(place(PLACE), &ada()).await.expect("it is taken");
    let refused = stage.world.engine.begin_epoch(&ada(), None, false).await;
    assert!(matches!(refused, Err(EngineError::NoEpoch { epoch: 1 })), "nothing contradicts the log: {refused:?}");

    // The log that was lost had begun an epoch of its own.
    let head = stage.disk.text().lines().find_map(read).expect("a note");
    let lost = LogHead { origin: format!("{}/2", head.origin), size: head.size + 5_000, root: [9; 32] };
    stage.disk.files.lock().insert(PLACE.into(), note(&lost));
    stage.world.restart().await;
    stage.equip().await;
    let made = stage.world.engine.begin_epoch(&ada(), Some("restored the copy of Monday"), false).await;
    let made = made.expect("the place is looked at before");
    let origin = format!("{}/3", head.origin);
    assert_eq!(read(&made.note).map(|head| head.origin), Some(origin.clone()), "a lost epoch is not begun again");
    let said = notes(stage.world.registry.as_ref(), Verb::EpochBegun).await.concat();
    for word in ["epoch 3", "contradicted by anchor 1", "restored the copy of Monday"] {
        assert!(said.contains(word), "{word}: {said}");
    }
    assert_eq!(stage.rows(Verb::SigningKeyReplaced).await, 0, "the key is the same");

    stage.decide().await;
    stage.world.pass(90 * SECOND).await;
    assert_eq!((stage.trouble(), stage.disk.sizes().last()), (None, Some(&stage.signed().await)), "copies go on");
    assert!(stage.disk.text().starts_with(&note(&lost)), "behind the evidence, which stays");
    stage.world.restart().await;
    stage.equip().await;
    stage.decide().await;
    stage.world.pass(90 * SECOND).await;
    assert_eq!(
        (stage.trouble(), stage.disk.sizes().last()),
        (None, Some(&stage.signed().await)),
        "and after a restart"
    );

    let refused = stage.world.engine.begin_epoch(&ada(), None, false).await;
    assert!(matches!(refused, Err(EngineError::NoEpoch { epoch: 3 })), "{refused:?}");
    let insisted = stage.world.engine.begin_epoch(&ada(), None, true).await.expect("a person insists");
    assert_eq!(read(&insisted.note).map(|head| head.origin), Some(format!("{}/4", head.origin)));
}

#[tokio::test(start_paused = true)]
async fn a_core_that_is_killed_while_it_begins_an_epoch_has_begun_it_whole_or_not_at_all() {
    for target in [
        "registry.begin_epoch:before",
        "registry.begin_epoch:after",
        "registry.put_checkpoint:before",
        "registry.put_checkpoint:after",
    ] {
        let killed = Arc::new(Notify::new());
        let (tell, begins, is_dead) = (killed.clone(), AtomicBool::new(false), AtomicBool::new(false));
        let points = KillPoints::new(move |name| {
            let begins = begins.fetch_or(name.starts_with("registry.begin_epoch"), Ordering::Relaxed)
                || name.starts_with("registry.begin_epoch");
            if begins && name.starts_with(target) {
                is_dead.store(true, Ordering::Relaxed);
                tell.notify_one();
            }
            if is_dead.load(Ordering::Relaxed) { Fate::Hang } else { Fate::Live }
        });
        let memory: Arc<dyn Registry> = Arc::new(MemoryRegistry::new(Policy::default()));
        let registry = Arc::new(KillPointRegistry::new(memory.clone(), points));
        let scripted = Arc::new(ScriptedConnector::default());
        let (connector, clock) = (scripted.clone(), Arc::new(TestClock::new()));
        let mut world = Box::pin(World::over(registry, connector, scripted, Policy::default(), clock, 1)).await;
        world.engine.sign_log(Arc::new(PlainSigner));
        let by = ada();
        tokio::select! {
            done = world.engine.begin_epoch(&by, None, true) => panic!("{target}: nobody killed it: {done:?}"),
            () = killed.notified() => {}
        }
        world.kill().await;
        world.registry = memory.clone();
        world.start().await;
        world.engine.sign_log(Arc::new(PlainSigner));
        world.pass(90 * SECOND).await;

        let is_begun = target != "registry.begin_epoch:before";
        let origin = memory.grow_tree(1_000).await.expect("the tree").head.origin;
        let rows = notes(memory.as_ref(), Verb::EpochBegun).await.len();
        assert_eq!((rows, origin.ends_with("/2")), (usize::from(is_begun), is_begun), "killed at {target}: {origin}");
        let newest = memory.checkpoints(1).await.expect("checkpoints");
        let signed = newest.first().and_then(|newest| read(&newest.note)).map(|head| head.origin);
        assert_eq!(signed.filter(|_| is_begun), is_begun.then_some(origin), "killed at {target}: the epoch is signed");
    }
}

#[tokio::test(start_paused = true)]
async fn a_collector_gets_the_newest_checkpoint_when_it_takes_one_and_is_left_alone_as_long_as_it_asks() {
    let mut stage = Stage::new().await;
    let hour = 3_600 * SECOND;
    let busy = |wait| Err(AnchorPlaceFault::Later { why: "answered 503".into(), wait });
    stage.disk.answers.lock().extend([busy(Some(hour / 2)), busy(None)]);
    let url = "https://collector.example/hush".to_owned();
    let added = stage.world.engine.add_collector_anchor(url.clone(), &[], &ada()).await.expect("it is taken");
    assert!(matches!(&added.trouble, Some(AnchorTrouble::Unreachable(why)) if why == "answered 503"), "{added:?}");
    let said = notes(stage.world.registry.as_ref(), Verb::AnchorAdded).await;
    assert_eq!(said, ["https://collector.example (otlp)"], "a path may hold a key");
    stage.decide().await;
    stage.world.pass(hour / 4).await;
    assert_eq!(stage.disk.asked.load(Ordering::Relaxed), 1, "it asked to be left alone");
    stage.world.pass(hour / 2).await;
    assert_eq!((stage.trouble(), stage.signed().await), (None, stage.world.engine.anchors()[0].newest.expect("sent")));

    let sent = || {
        let text = stage.disk.files.lock().get(Path::new(&url)).cloned().unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect::<Vec<serde_json::Value>>()
    };
    let newest = stage.world.registry.checkpoints(1).await.expect("checkpoints").remove(0);
    let requests = sent();
    let record = requests.last().and_then(|last| last.pointer("/resourceLogs/0/scopeLogs/0/logRecords/0"));
    let record = record.expect("one record");
    assert_eq!(record["body"]["stringValue"], newest.note, "its text is the whole note");
    assert_eq!(record["eventName"], "taskwarden.audit.checkpoint");
    let uid = format!("memory/checkpoint/{}", newest.size);
    assert_eq!(record["attributes"][0]["value"]["stringValue"], uid);

    // A killed core does not know what was taken, and sends the same record again.
    stage.world.restart().await;
    stage.equip().await;
    stage.world.pass(90 * SECOND).await;
    let again = sent();
    let distinct: std::collections::BTreeSet<String> = again.iter().map(ToString::to_string).collect();
    assert!(again.len() > distinct.len(), "{again:#?}");

    stage.disk.answers.lock().push_back(Err(AnchorPlaceFault::Refused("answered 401".into())));
    stage.decide().await;
    stage.world.pass(90 * SECOND).await;
    let refused = Some(AnchorTrouble::Refused("answered 401".into()));
    let asked = stage.disk.asked.load(Ordering::Relaxed);
    stage.decide().await;
    stage.world.pass(hour).await;
    assert_eq!((stage.trouble(), stage.disk.asked.load(Ordering::Relaxed)), (refused, asked), "it is not asked again");
    stage.world.restart().await;
    stage.equip().await;
    stage.world.pass(90 * SECOND).await;
    assert_eq!(stage.trouble(), None, "a new run of the core tries once more");
}
