//! Anchors: copies of checkpoints in places that people named, which a rewritten or shortened log contradicts.
//!
//! The newest checkpoint is copied soon after it was made. Before each copy, the last checkpoint at the place is compared
//! with the log; a place that contradicts it gets no copy, because it is the evidence. The places are a decision of
//! people, a row before anything is written there. What a collector has cannot be read back, so it gets the newest
//! checkpoint whatever it holds. Files, repositories and collectors themselves are behind [`AnchorPlaces`].

mod anchor_status;

use std::sync::{Arc, OnceLock};

use domain::audit::log_sink::SinkRefused;
use domain::audit::{Actor, Verb};
use domain::ids::PersonId;
use domain::ports::{AnchorPlace, AnchorPlaceFault, AnchorPlaces, LogEpoch, RegistryError, Secret};
use futures::future::join_all;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

pub use self::anchor_status::{AnchorStatus, AnchorTrouble};
use self::anchor_status::{named, read_places, stored};
use super::checkpoints::{fact, make, whole_tree};
use super::log_records::checkpoint_request;
use crate::core::EngineCore;
use crate::engine::Engine;
use crate::error::EngineError;

/// Where the places lie among what people keep.
const KIND: &str = "anchors";
const KEY: &str = "places";

/// How places are reached, which ones people named, and what is known of them.
#[derive(Default)]
pub(crate) struct AnchorState {
    reached: OnceLock<Arc<dyn AnchorPlaces>>,
    places: Mutex<Vec<AnchorStatus>>,
    /// One change of the places at a time, and no copies meanwhile.
    pub(super) changing: tokio::sync::Mutex<()>,
    made: Notify,
}

impl AnchorState {
    /// A checkpoint is there to be copied.
    pub(super) fn checkpoint_made(&self) {
        self.made.notify_one();
    }

    /// A person knows that the log forked: places whose last checkpoint is of an earlier epoch get copies again.
    pub(super) fn epoch_begun(&self) {
        for place in self.places.lock().iter_mut() {
            place.newest = None;
            place.trouble.take_if(|trouble| matches!(trouble, AnchorTrouble::Contradicts(_)));
        }
    }

    fn all(&self) -> Vec<AnchorStatus> {
        self.places.lock().clone()
    }

    /// Takes what was learned, unless the place was removed meanwhile.
    fn learn(&self, learned: AnchorStatus) {
        if let Some(place) = self.places.lock().iter_mut().find(|place| place.id == learned.id) {
            *place = learned;
        }
    }

    fn wants_another_try(&self) -> bool {
        self.places.lock().iter().any(|place| place.trouble.as_ref().is_some_and(AnchorTrouble::may_pass))
    }
}

impl Engine {
    /// Gives the engine the way to places; from here on it copies checkpoints by itself. Later calls are ignored.
    ///
    /// # Errors
    /// When the places cannot be read.
    pub async fn keep_anchors(&self, reached: Arc<dyn AnchorPlaces>) -> Result<(), RegistryError> {
        let core = &self.core;
        let kept = core.registry.desk_list(KIND).await?;
        if let Some(item) = kept.iter().find(|item| item.key == KEY) {
            match read_places(&item.value) {
                Some(places) => {
                    let places = places.into_iter().map(|(id, place)| AnchorStatus::new(id, place));
                    *core.anchors.places.lock() = places.collect();
                }
                None => tracing::warn!("the places of anchors do not read; no checkpoint is copied"),
            }
        }
        if core.anchors.reached.set(reached).is_ok() {
            let held = Arc::clone(core);
            core.supervisor.spawn_steady("anchors", &core.policy, move || Box::pin(run(Arc::clone(&held))));
        }
        Ok(())
    }

    /// How it is with each place.
    #[must_use]
    pub fn anchors(&self) -> Vec<AnchorStatus> {
        self.core.anchors.all()
    }

    /// From here on copies each checkpoint to this place, the first one at once.
    ///
    /// # Errors
    /// When the place cannot be used, contradicts the log, or the decision cannot be recorded.
    pub async fn add_anchor(&self, place: AnchorPlace, by: &PersonId) -> Result<AnchorStatus, EngineError> {
        self.add_place(place, &[], by).await
    }

    /// From here on sends each checkpoint to this collector, the first one at once; the address is the one in front of the
    /// path of the signal. How the first attempt went is in what is returned.
    ///
    /// # Errors
    /// When it gets checkpoints already, or a header or the decision cannot be stored.
    pub async fn add_collector_anchor(
        &self,
        url: String,
        headers: &[(String, Secret)],
        by: &PersonId,
    ) -> Result<AnchorStatus, EngineError> {
        let names = headers.iter().map(|(name, _)| name.clone()).collect();
        self.add_place(AnchorPlace::Otlp { number: 0, url, headers: names }, headers, by).await
    }

    async fn add_place(
        &self,
        mut place: AnchorPlace,
        headers: &[(String, Secret)],
        by: &PersonId,
    ) -> Result<AnchorStatus, EngineError> {
        let core = &self.core;
        let _one_at_a_time = core.anchors.changing.lock().await;
        let reached =
            core.anchors.reached.get().ok_or_else(|| EngineError::NoAnchor("this core keeps no anchors".into()))?;
        let before = core.anchors.all();
        let most = core.policy.audit.anchors_max;
        let path = place.shown();
        if before.iter().any(|known| known.place.path() == place.path()) {
            return Err(EngineError::NoAnchor(format!("checkpoints are copied to `{path}` already")));
        }
        if before.len() >= most {
            return Err(EngineError::NoAnchor(format!(
                "checkpoints are copied to {most} places already, as many as may be"
            )));
        }
        let id = before.iter().map(|known| known.id).max().unwrap_or(0).saturating_add(1);
        if let AnchorPlace::Otlp { number, .. } = &mut place {
            *number = id;
        }
        let refused = |trouble: &AnchorTrouble| EngineError::NoAnchor(format!("`{path}` {}", trouble.words()));
        reached.prepare(&place).await.map_err(|fault| refused(&fault.into()))?;
        let mut added = AnchorStatus::new(id, place);
        look(core, reached.as_ref(), &mut added).await.map_err(|trouble| refused(&trouble))?;
        added.is_beside_registry = reached.is_beside_registry(&added.place).await;
        reached.keep_headers(id, headers).map_err(SinkRefused::from)?;
        let recorded = self.record_places(before.iter().chain([&added]), Verb::AnchorAdded, &added.place, by).await;
        if let (Err(_), AnchorPlace::Otlp { headers, .. }) = (&recorded, &added.place) {
            reached.forget_headers(id, headers);
        }
        recorded?;
        core.anchors.places.lock().push(added.clone());
        // Its own row is covered by the first copy.
        make(core).await?;
        copy(core, reached.as_ref(), added).await?;
        let added = self.anchors().into_iter().find(|known| known.id == id);
        added.ok_or_else(|| EngineError::NoAnchor(format!("`{path}` was removed meanwhile")))
    }

    /// Copies nothing to this place any more; what lies there stays.
    ///
    /// # Errors
    /// When there is no such place, or the decision cannot be recorded.
    pub async fn remove_anchor(&self, id: u32, by: &PersonId) -> Result<(), EngineError> {
        let core = &self.core;
        let _one_at_a_time = core.anchors.changing.lock().await;
        let before = core.anchors.all();
        let Some(gone) = before.iter().find(|place| place.id == id) else {
            return Err(EngineError::NoAnchor(format!("there is no anchor {id}")));
        };
        let left = before.iter().filter(|place| place.id != id);
        self.record_places(left, Verb::AnchorRemoved, &gone.place, by).await?;
        core.anchors.places.lock().retain(|place| place.id != id);
        if let (Some(reached), AnchorPlace::Otlp { headers, .. }) = (core.anchors.reached.get(), &gone.place) {
            reached.forget_headers(id, headers);
        }
        Ok(())
    }

    async fn record_places(
        &self,
        places: impl Iterator<Item = &AnchorStatus>,
        verb: Verb,
        changed: &AnchorPlace,
        by: &PersonId,
    ) -> Result<(), EngineError> {
        let places = Value::Array(places.map(stored).collect());
        let fact = fact(&self.core, Actor::Person(by.clone()), verb, named(changed));
        Ok(self.core.registry.desk_decide(KIND, KEY, Some(places.to_string()), vec![fact]).await?)
    }
}

/// Compares what lies at a place with the log and with what was written there, and notes how far its copies go. Gives the
/// name of the log.
async fn look(
    core: &EngineCore,
    reached: &dyn AnchorPlaces,
    anchor: &mut AnchorStatus,
) -> Result<String, AnchorTrouble> {
    let unread = |error: RegistryError| AnchorTrouble::Unreachable(format!("cannot be compared with the log: {error}"));
    if matches!(anchor.place, AnchorPlace::Otlp { .. }) {
        return Ok(whole_tree(core).await.map_err(unread)?.origin);
    }
    let keys = core.registry.log_keys().await.map_err(unread)?.into_iter().map(|key| key.public).collect();
    let found = reached.newest(&anchor.place, keys).await?;
    let size = found.as_ref().map_or(0, |head| head.size);
    // More is possible: a copy that was written, and was not said to be.
    if let Some(written) = anchor.newest.filter(|written| size < *written) {
        return Err(AnchorTrouble::Contradicts(format!(
            "does not hold the checkpoint of row {written} any more, which was written there"
        )));
    }
    let log = whole_tree(core).await.map_err(unread)?;
    let Some(head) = found else { return Ok(log.origin) };
    let root = core.registry.tree_roots(vec![head.span()]).await.map_err(unread)?.into_iter().next().flatten();
    // Who began the epoch of this log knows of the forks before it.
    let known = LogEpoch::of(&log.origin).number;
    let found = LogEpoch::of(&head.origin);
    anchor.epoch = if found.log == LogEpoch::of(&log.origin).log { found.number } else { 0 };
    if let Some(why) = head.contradiction(&log, root, known) {
        return Err(AnchorTrouble::Contradicts(why));
    }
    // A checkpoint of an earlier epoch is none of this one, however many rows it has.
    anchor.newest = (found.number == known).then_some(head.size);
    Ok(log.origin)
}

/// Brings the newest checkpoint to a place, and remembers how that went.
async fn copy(core: &EngineCore, reached: &dyn AnchorPlaces, mut anchor: AnchorStatus) -> Result<(), RegistryError> {
    let is_too_early = anchor.not_before.is_some_and(|at| core.time.now() < at);
    if is_too_early || anchor.trouble.as_ref().is_some_and(|trouble| !trouble.may_pass()) {
        return Ok(());
    }
    let Some(newest) = core.registry.checkpoints(1).await?.into_iter().next() else { return Ok(()) };
    let had = anchor.trouble.take();
    let went = async {
        let origin = look(core, reached, &mut anchor).await?;
        anchor.is_beside_registry = reached.is_beside_registry(&anchor.place).await;
        // A core that died when it had begun an epoch has not signed it yet.
        let is_of_epoch = newest.note.split_whitespace().next() == Some(origin.as_str());
        if is_of_epoch && anchor.newest != Some(newest.size) {
            let put = match &anchor.place {
                AnchorPlace::Otlp { .. } => reached.send(&anchor.place, checkpoint_request(&origin, &newest)),
                place => reached.append(place, newest.size, newest.note),
            };
            let put = put.await;
            anchor.not_before = match &put {
                Err(AnchorPlaceFault::Later { wait: Some(wait), .. }) => {
                    Some(core.time.now().plus((*wait).min(core.policy.retry_after_ceiling)))
                }
                _ => None,
            };
            put?;
            (anchor.newest, anchor.copied) = (Some(newest.size), Some(core.time.now()));
        }
        Ok(())
    };
    if let Err(trouble) = went.await {
        if had.as_ref() != Some(&trouble) {
            tracing::warn!(anchor = anchor.id, why = trouble.words(), "a checkpoint was not copied to its place");
        }
        anchor.trouble = Some(trouble);
    } else if had.is_some() {
        tracing::info!(anchor = anchor.id, "checkpoints are copied to this place again");
    }
    core.anchors.learn(anchor);
    Ok(())
}

async fn copy_to_all(core: &EngineCore) {
    let Some(reached) = core.anchors.reached.get() else { return };
    let copies = core.anchors.all().into_iter().map(|anchor| copy(core, reached.as_ref(), anchor));
    for went in join_all(copies).await {
        if let Err(error) = went {
            tracing::warn!(%error, "checkpoints cannot be read to be copied, trying again");
        }
    }
}

/// What places have against the log.
pub(super) struct Contradictions {
    /// Numbers of the places that contradict it.
    pub(super) anchors: Vec<u32>,
    /// The latest epoch of a checkpoint in any place; 0 where there is none.
    pub(super) epoch: u32,
}

/// Looks at each place for what contradicts the log; the caller holds `changing`.
pub(super) async fn contradictions(core: &EngineCore) -> Contradictions {
    copy_to_all(core).await;
    let all = core.anchors.all();
    let contradicts = |anchor: &&AnchorStatus| matches!(anchor.trouble, Some(AnchorTrouble::Contradicts(_)));
    Contradictions {
        anchors: all.iter().filter(contradicts).map(|anchor| anchor.id).collect(),
        epoch: all.iter().map(|anchor| anchor.epoch).max().unwrap_or(0),
    }
}

/// Copies checkpoints as they are made, for ever.
async fn run(core: Arc<EngineCore>) {
    let policy = core.policy.audit.clone();
    loop {
        {
            let _no_change = core.anchors.changing.lock().await;
            copy_to_all(&core).await;
        }
        sleep(policy.anchor_gap).await;
        if core.anchors.wants_another_try() {
            tokio::select! {
                () = core.anchors.made.notified() => {}
                () = sleep(policy.anchor_again) => {}
            }
        } else {
            core.anchors.made.notified().await;
        }
    }
}

/// Copies the last checkpoint, before the registry closes.
pub(crate) async fn finish(core: &EngineCore) {
    if timeout(core.policy.audit.anchor_limit, copy_to_all(core)).await.is_err() {
        tracing::warn!("the last checkpoint was not copied to each of its places; the next start does it");
    }
}
