//! Anchors: copies of checkpoints in files that people named, which a rewritten or shortened log contradicts.
//!
//! The newest checkpoint is copied soon after it was made. Before each copy, the last checkpoint in the file is compared
//! with the log; a file that contradicts it gets no copy, because it is the evidence. The places are a decision of
//! people, a row before anything is written there. The files themselves are behind [`AnchorFiles`].

use std::path::Path;
use std::sync::{Arc, OnceLock};

use domain::audit::{Actor, Verb};
use domain::ids::PersonId;
use domain::ports::{AnchorFileFault, AnchorFiles, RegistryError};
use domain::time::Timestamp;
use futures::future::join_all;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use super::checkpoints::{fact, make, whole_tree};
use crate::core::EngineCore;
use crate::engine::Engine;
use crate::error::EngineError;

/// Where the places lie among what people keep.
const KIND: &str = "anchors";
const KEY: &str = "places";

/// A place as people named it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    id: u32,
    path: String,
}

fn read_places(text: &str) -> Option<Vec<Place>> {
    let places: Vec<Value> = serde_json::from_str(text).ok()?;
    let place = |place: &Value| {
        let id = u32::try_from(place.get("id")?.as_u64()?).ok()?;
        Some(Place { id, path: place.get("path")?.as_str()?.to_owned() })
    };
    places.iter().map(place).collect()
}

/// How it is with a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnchorStatus {
    /// What people call it by; given once.
    pub id: u32,
    /// The whole path of the file.
    pub path: String,
    /// How many rows the newest copy covers, as far as this run of the core knows.
    pub newest: Option<u64>,
    /// When this run copied last.
    pub copied: Option<Timestamp>,
    /// Why it gets no copies now.
    pub trouble: Option<AnchorTrouble>,
    /// Whether it is on the disk of the registry.
    pub is_beside_registry: bool,
}

/// Why a place gets no copies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnchorTrouble {
    /// It cannot be read or written; it is tried again.
    Unreachable(String),
    /// It holds something else.
    NotOurs(String),
    /// What it holds and the log cannot both be right.
    Contradicts(String),
}

impl AnchorTrouble {
    /// The sentence, whose subject is the place.
    #[must_use]
    pub fn words(&self) -> &str {
        let (Self::Unreachable(why) | Self::NotOurs(why) | Self::Contradicts(why)) = self;
        why
    }

    /// Whether trying again may help.
    fn may_pass(&self) -> bool {
        matches!(self, Self::Unreachable(_))
    }
}

impl From<AnchorFileFault> for AnchorTrouble {
    fn from(fault: AnchorFileFault) -> Self {
        match fault {
            AnchorFileFault::Unreachable(why) => Self::Unreachable(why),
            AnchorFileFault::NotOurs(why) => Self::NotOurs(why),
        }
    }
}

/// The files, the places, and what is known of them.
#[derive(Default)]
pub(crate) struct AnchorState {
    files: OnceLock<Arc<dyn AnchorFiles>>,
    places: Mutex<Vec<AnchorStatus>>,
    /// One change of the places at a time.
    changing: tokio::sync::Mutex<()>,
    made: Notify,
}

impl AnchorStatus {
    fn new(Place { id, path }: Place) -> Self {
        Self { id, path, newest: None, copied: None, trouble: None, is_beside_registry: false }
    }
}

impl AnchorState {
    /// A checkpoint is there to be copied.
    pub(super) fn checkpoint_made(&self) {
        self.made.notify_one();
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
    /// Gives the engine the files; from here on it copies checkpoints by itself. Later calls are ignored.
    ///
    /// # Errors
    /// When the places cannot be read.
    pub async fn keep_anchors(&self, files: Arc<dyn AnchorFiles>) -> Result<(), RegistryError> {
        let core = &self.core;
        let kept = core.registry.desk_list(KIND).await?;
        if let Some(item) = kept.iter().find(|item| item.key == KEY) {
            match read_places(&item.value) {
                Some(places) => *core.anchors.places.lock() = places.into_iter().map(AnchorStatus::new).collect(),
                None => tracing::warn!("the places of anchors do not read; no checkpoint is copied"),
            }
        }
        if core.anchors.files.set(files).is_ok() {
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

    /// From here on copies each checkpoint to this file, the first one at once.
    ///
    /// # Errors
    /// When the file cannot be used, contradicts the log, or the decision cannot be recorded.
    pub async fn add_anchor(&self, path: &str, by: &PersonId) -> Result<AnchorStatus, EngineError> {
        let core = &self.core;
        let _one_at_a_time = core.anchors.changing.lock().await;
        let files =
            core.anchors.files.get().ok_or_else(|| EngineError::NoAnchor("this core keeps no anchors".into()))?;
        let before = core.anchors.all();
        let most = core.policy.audit.anchors_max;
        if before.iter().any(|place| place.path == path) {
            return Err(EngineError::NoAnchor(format!("checkpoints are copied to `{path}` already")));
        }
        if before.len() >= most {
            return Err(EngineError::NoAnchor(format!(
                "checkpoints are copied to {most} places already, as many as may be"
            )));
        }
        let id = before.iter().map(|place| place.id).max().unwrap_or(0).saturating_add(1);
        let mut place = AnchorStatus::new(Place { id, path: path.to_owned() });
        let refused = |trouble: &AnchorTrouble| EngineError::NoAnchor(format!("`{path}` {}", trouble.words()));
        files.prepare(Path::new(path)).await.map_err(|fault| refused(&fault.into()))?;
        look(core, files.as_ref(), &mut place).await.map_err(|trouble| refused(&trouble))?;
        place.is_beside_registry = files.is_beside_registry(Path::new(path)).await;
        let places = before.iter().chain([&place]);
        self.record_places(places, Verb::AnchorAdded, path, by).await?;
        core.anchors.places.lock().push(place.clone());
        // Its own row is covered by the first copy.
        make(core).await?;
        copy(core, files.as_ref(), place).await?;
        let added = self.anchors().into_iter().find(|place| place.id == id);
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
        self.record_places(left, Verb::AnchorRemoved, &gone.path, by).await?;
        core.anchors.places.lock().retain(|place| place.id != id);
        Ok(())
    }

    async fn record_places(
        &self,
        places: impl Iterator<Item = &AnchorStatus>,
        verb: Verb,
        path: &str,
        by: &PersonId,
    ) -> Result<(), EngineError> {
        let place = |place: &AnchorStatus| json!({"id": place.id, "path": place.path});
        let places = Value::Array(places.map(place).collect());
        let fact = fact(&self.core, Actor::Person(by.clone()), verb, path.to_owned());
        Ok(self.core.registry.desk_decide(KIND, KEY, places.to_string(), vec![fact]).await?)
    }
}

/// Compares what lies at a place with the log and with what was written there, and notes how far its copies go.
async fn look(core: &EngineCore, files: &dyn AnchorFiles, place: &mut AnchorStatus) -> Result<(), AnchorTrouble> {
    let unread = |error: RegistryError| AnchorTrouble::Unreachable(format!("cannot be compared with the log: {error}"));
    let keys = core.registry.log_keys().await.map_err(unread)?.into_iter().map(|key| key.public).collect();
    let found = files.newest(Path::new(&place.path), keys).await?;
    let size = found.as_ref().map_or(0, |head| head.size);
    // More is possible: a copy that was written, and was not said to be.
    if let Some(written) = place.newest.filter(|written| size < *written) {
        return Err(AnchorTrouble::Contradicts(format!(
            "does not hold the checkpoint of row {written} any more, which was written there"
        )));
    }
    let Some(head) = found else { return Ok(()) };
    let log = whole_tree(core).await.map_err(unread)?;
    let root = core.registry.tree_roots(vec![head.span()]).await.map_err(unread)?.into_iter().next().flatten();
    if let Some(why) = head.contradiction(&log, root) {
        return Err(AnchorTrouble::Contradicts(why));
    }
    place.newest = Some(head.size);
    Ok(())
}

/// Brings the newest checkpoint to a place, and remembers how that went.
async fn copy(core: &EngineCore, files: &dyn AnchorFiles, mut place: AnchorStatus) -> Result<(), RegistryError> {
    if place.trouble.as_ref().is_some_and(|trouble| !trouble.may_pass()) {
        return Ok(());
    }
    let Some(newest) = core.registry.checkpoints(1).await?.into_iter().next() else { return Ok(()) };
    let had = place.trouble.take();
    let path = place.path.clone();
    let went = async {
        look(core, files, &mut place).await?;
        place.is_beside_registry = files.is_beside_registry(Path::new(&path)).await;
        if place.newest != Some(newest.size) {
            // A blank line ends the note, as the checkpoints that are printed end.
            files.append(Path::new(&path), format!("{}\n", newest.note)).await?;
            (place.newest, place.copied) = (Some(newest.size), Some(core.time.now()));
        }
        Ok(())
    };
    if let Err(trouble) = went.await {
        if had.as_ref() != Some(&trouble) {
            tracing::warn!(anchor = place.id, why = trouble.words(), "a checkpoint was not copied to its place");
        }
        place.trouble = Some(trouble);
    } else if had.is_some() {
        tracing::info!(anchor = place.id, "checkpoints are copied to this place again");
    }
    core.anchors.learn(place);
    Ok(())
}

async fn copy_to_all(core: &EngineCore) {
    let Some(files) = core.anchors.files.get() else { return };
    let copies = core.anchors.all().into_iter().map(|place| copy(core, files.as_ref(), place));
    for went in join_all(copies).await {
        if let Err(error) = went {
            tracing::warn!(%error, "checkpoints cannot be read to be copied, trying again");
        }
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
