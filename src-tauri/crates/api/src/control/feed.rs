//! The feed of a supervisor program: that something in its reach changed, so that it looks again.
//!
//! It says ids and phases, never content, and is read from the change log like every feed: a program that was away names
//! the place it came to and is told what it missed, or that it must read everything again. It ends with its token. How it
//! is written is the host's (`http/control_feed.rs`); how many may be open is counted in `open_feeds.rs`.

use std::collections::BTreeSet;
use std::pin::Pin;

use domain::ids::{AlarmId, HandleId, PauseId, Seq};
use domain::server::halt::{Halt, HaltedBy};
use domain::server::pause::Pause;
use engine::{ChangeFrame, Engine};
use futures::StreamExt as _;
use futures::stream::{self, BoxStream};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::caller::ControlCaller;
use super::open_feeds::ControlFeedRegistration;
use super::table::no_such_call;
use crate::api::Api;
use crate::caller::Ability;
use crate::error::ApiError;

/// What changed in reach since the event before. Look again at what is named.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ControlChanges {
    /// Tasks that began or changed, each as it is now.
    pub tasks: Vec<ControlTaskChange>,
    /// The halt that this token took part in, or what became of its tasks: `halts.show` has it.
    pub halt: bool,
    /// Pauses that this token began: `pauses.list` has them.
    pub pauses: bool,
    /// Alarms in reach: `alarms.list` has them.
    #[serde(default)]
    pub alarms: bool,
}

/// A task that began or changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ControlTaskChange {
    /// The handle, `hdl_…`.
    pub id: String,
    /// Its phase when the event was made.
    pub phase: String,
    pub over: bool,
}

/// Why everything must be read again, or why the feed ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ControlFeedNote {
    pub why: String,
}

/// One event of a feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ControlFeedEvent {
    Changed(ControlChanges),
    /// What was told before is not enough to know what is: read the lists.
    ReadAgain(ControlFeedNote),
    /// The last event: nothing follows.
    Ended(ControlFeedNote),
}

/// A place in the change log, and what happened up to it; no event when nothing of that is in reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlFeedItem {
    pub place: u64,
    pub event: Option<ControlFeedEvent>,
}

/// Whose feed it is, and where what that program reaches is read.
struct FeedReach {
    api: Api,
    caller: ControlCaller,
}

/// What this token brought to a stand, and the alarms in its reach.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct OwnOrders {
    /// Whether it took part in the halt in force.
    halt: bool,
    /// Its pauses in force.
    pauses: BTreeSet<PauseId>,
    /// Alarms in its reach, each with its state and how often its calls were counted.
    alarms: BTreeSet<(AlarmId, &'static str, u32)>,
}

/// Halts that are looked at for a program that was away. Judgement: more than there are in a day.
const HALTS_READ: u32 = 16;

const BEGINS: &str = "the feed begins here";
const FOREIGN_PLACE: &str = "the place in `Last-Event-ID` is not one of this core";
const FELL_BEHIND: &str = "more changed since the last event than the change log keeps";

/// A feed while it is open.
struct OpenFeed {
    reach: FeedReach,
    engine: Engine,
    frames: BoxStream<'static, ChangeFrame>,
    /// Done when the token opens nothing any more.
    ended: Pin<Box<dyn Future<Output = &'static str> + Send>>,
    place: u64,
    /// What the program knows of halts and pauses; `None` while that is not known, after it was away.
    known: Option<OwnOrders>,
    _registration: ControlFeedRegistration,
}

impl Api {
    /// Opens the feed of a supervisor program, after a place or from now on. It ends with the token and with the core.
    ///
    /// # Errors
    /// When the token may not read, too many feeds are open, or the registry cannot be read.
    pub async fn control_feed(
        &self,
        caller: &ControlCaller,
        after: Option<u64>,
    ) -> Result<BoxStream<'static, ControlFeedItem>, ApiError> {
        if !caller.may(Ability::Read) {
            return Err(no_such_call("feed"));
        }
        let engine = self.live()?.engine.clone();
        let registration = self.control_feeds.take(&caller.token, &self.policy.control.tokens)?;
        let newest = self.registry.newest_seq().await?.0;
        let (place, why) = match after {
            None => (newest, Some(BEGINS)),
            Some(place) if place > newest => (newest, Some(FOREIGN_PLACE)),
            Some(place) => (place, None),
        };
        let event = why.map(|why| ControlFeedEvent::ReadAgain(ControlFeedNote { why: why.to_owned() }));
        let first = ControlFeedItem { place, event };
        let (watched, id) = (engine.clone(), caller.id());
        let mut open = OpenFeed {
            reach: FeedReach { api: self.clone(), caller: caller.clone() },
            frames: engine.feed(Some(Seq(place))),
            engine,
            ended: Box::pin(async move { watched.control_token_end(id).await }),
            place,
            known: None,
            _registration: registration,
        };
        if why.is_some() {
            open.known = Some(open.reach.own_orders().await?);
        }
        let rest = stream::unfold(Some(open), |open| async move {
            let mut open = open?;
            let item = open.next().await?;
            let is_last = matches!(item.event, Some(ControlFeedEvent::Ended(_)));
            Some((item, (!is_last).then_some(open)))
        });
        Ok(stream::once(async move { first }).chain(rest).boxed())
    }
}

impl OpenFeed {
    /// The next item; `None` when the core ends.
    async fn next(&mut self) -> Option<ControlFeedItem> {
        let frame = tokio::select! {
            biased;
            why = &mut self.ended => return Some(self.last(why)),
            // Dropped early, the stream keeps its place.
            frame = self.frames.next() => frame?,
        };
        let event = match self.told(&frame).await {
            Ok(event) => event,
            Err(error) => return Some(self.last(&error.message)),
        };
        // It may have been revoked while rows were read.
        if let Some(why) = self.engine.control_ended(self.reach.caller.id()) {
            return Some(self.last(why));
        }
        self.place = frame.upto.0;
        Some(ControlFeedItem { place: self.place, event })
    }

    fn last(&self, why: &str) -> ControlFeedItem {
        let note = ControlFeedNote { why: why.to_owned() };
        ControlFeedItem { place: self.place, event: Some(ControlFeedEvent::Ended(note)) }
    }

    /// What of a frame is in reach.
    async fn told(&mut self, frame: &ChangeFrame) -> Result<Option<ControlFeedEvent>, ApiError> {
        if frame.resync {
            self.known = Some(self.reach.own_orders().await?);
            return Ok(Some(ControlFeedEvent::ReadAgain(ControlFeedNote { why: FELL_BEHIND.to_owned() })));
        }
        let mut changes = ControlChanges::default();
        for id in &frame.handles {
            changes.tasks.extend(self.reach.task(*id).await?);
        }
        if frame.halts || frame.alarms || !frame.agents.is_empty() || !frame.servers.is_empty() {
            let now = self.reach.own_orders().await?;
            match self.known.replace(now.clone()) {
                Some(known) => {
                    // Also when only its tasks changed.
                    changes.halt = frame.halts && (known.halt || now.halt);
                    changes.pauses = known.pauses != now.pauses;
                    changes.alarms = known.alarms != now.alarms;
                }
                None => {
                    changes.halt = frame.halts && self.reach.took_part_in_halts().await?;
                    changes.pauses = self.reach.has_made_pauses().await?;
                    changes.alarms = frame.alarms && !now.alarms.is_empty();
                }
            }
        }
        Ok((changes != ControlChanges::default()).then_some(ControlFeedEvent::Changed(changes)))
    }
}

impl FeedReach {
    /// A task as it is now; `None` when it is not in reach.
    async fn task(&self, id: HandleId) -> Result<Option<ControlTaskChange>, ApiError> {
        let task = self.api.registry.handle(id).await?.filter(|task| self.caller.token.reaches(task));
        Ok(task.map(|task| {
            let phase = task.phase(self.api.now());
            let over = phase.is_over() || task.view.is_terminal();
            ControlTaskChange { id: task.id.to_string(), phase: phase.word().to_owned(), over }
        }))
    }

    /// From the registry, which has what the change log tells of; the engine may know of it a moment later.
    async fn own_orders(&self) -> Result<OwnOrders, ApiError> {
        let newest = self.api.registry.halts(1).await?.into_iter().next();
        let halt = newest.is_some_and(|halt| !halt.is_over() && self.is_in(&halt));
        let pauses = self.api.registry.pauses().await?.into_iter();
        let pauses = pauses.filter(|pause| pause.is_in_force() && self.has_begun(pause)).map(|pause| pause.id);
        let alarms = self.api.kept_alarms().await?.into_iter();
        let alarms = alarms.filter(|alarm| self.caller.token.reaches_alarm(alarm));
        let alarms = alarms.map(|alarm| (alarm.id, alarm.state.word(), alarm.count)).collect();
        Ok(OwnOrders { halt, pauses: pauses.collect(), alarms })
    }

    /// Whether this token gave an order of a halt in force or of one before.
    async fn took_part_in_halts(&self) -> Result<bool, ApiError> {
        Ok(self.api.registry.halts(HALTS_READ).await?.iter().any(|halt| self.is_in(halt)))
    }

    /// Whether this token began a pause, in force or not.
    async fn has_made_pauses(&self) -> Result<bool, ApiError> {
        Ok(self.api.registry.pauses().await?.iter().any(|pause| self.has_begun(pause)))
    }

    fn is_in(&self, halt: &Halt) -> bool {
        let by = Some(HaltedBy::Control(self.caller.id()));
        halt.orders.iter().any(|order| order.by == by)
    }

    fn has_begun(&self, pause: &Pause) -> bool {
        pause.by == HaltedBy::Control(self.caller.id())
    }
}
