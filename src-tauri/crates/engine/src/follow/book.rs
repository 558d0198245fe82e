//! Which tasks of one server are looked at, and when next: pure bookkeeping without clock, registry or wire.
//!
//! A track is what a poll needs to know and nothing more; 10,000 of them fit in a few megabytes.
//! The handle itself is the ledger's. Read `look.rs` for what happens at a look.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::Duration;

use domain::ids::{HandleId, UpstreamTaskId};
use domain::policy::Policy;
use domain::policy::schedule::{PollState, next_poll};
use tokio::time::Instant;

/// What is remembered between two looks at one task.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Track {
    /// When it is looked at next; `None` while a look is under way.
    pub(crate) due: Option<Instant>,
    /// When the last look began.
    pub(crate) begun: Option<Instant>,
    /// Polls that an act of a person earned, the earlier first; they are due whatever the hint (ruling 46).
    pub(crate) earned: [Option<Instant>; 2],
    /// A look is under way.
    pub(crate) reading: bool,
    /// Look again as soon as the one under way is done.
    pub(crate) again: bool,
    /// A live subscription covers it.
    pub(crate) subscribed: bool,
    /// Polls in a row that brought no change.
    pub(crate) unchanged: u32,
    /// Polls in a row that brought nothing.
    pub(crate) failures: u32,
    /// "Unknown task" answers in a row.
    pub(crate) unknown: u32,
}

impl Track {
    /// A person acted: two polls are earned, unless the ones of an act a moment ago are still to come.
    pub(crate) fn earn(&mut self, now: Instant, after: [Duration; 2]) {
        if self.earned.iter().all(Option::is_none) {
            self.earned = after.map(|wait| Some(now + wait));
        }
        self.hasten(now);
    }

    /// The next poll is no later than the next one that was earned. What was earned until now is used up, polled or not:
    /// without a connection it must not be due again and again.
    pub(crate) fn hasten(&mut self, now: Instant) {
        for earned in &mut self.earned {
            earned.take_if(|at| *at <= now);
        }
        if let (Some(due), Some(earned)) = (&mut self.due, self.earned.iter().flatten().min()) {
            *due = (*due).min(*earned);
        }
    }
}

#[derive(Debug)]
struct Entry {
    track: Track,
    task: UpstreamTaskId,
}

/// All tracks of one server, with the queue of looks that are due.
#[derive(Debug, Default)]
pub(crate) struct Book {
    tracks: HashMap<HandleId, Entry>,
    due: BTreeSet<(Instant, HandleId)>,
    tasks: HashMap<UpstreamTaskId, HandleId>,
}

impl Book {
    /// The handle of a task that is looked at.
    pub(crate) fn handle_of(&self, task: &UpstreamTaskId) -> Option<HandleId> {
        self.tasks.get(task).copied()
    }

    /// The track of a handle.
    pub(crate) fn track(&self, id: HandleId) -> Option<Track> {
        self.tracks.get(&id).map(|entry| entry.track)
    }

    /// Changes a track; its place in the queue follows.
    pub(crate) fn change<R>(&mut self, id: HandleId, change: impl FnOnce(&mut Track) -> R) -> Option<R> {
        let track = &mut self.tracks.get_mut(&id)?.track;
        let before = track.due;
        let said = change(track);
        if track.due != before {
            if let Some(at) = before {
                self.due.remove(&(at, id));
            }
            if let Some(at) = track.due {
                self.due.insert((at, id));
            }
        }
        Some(said)
    }

    /// Begins to look at a task; returns whether it is new here.
    pub(crate) fn open(&mut self, id: HandleId, task: &UpstreamTaskId, due: Instant) -> bool {
        if self.tracks.contains_key(&id) {
            return false;
        }
        self.tasks.insert(task.clone(), id);
        self.tracks.insert(id, Entry { track: Track::default(), task: task.clone() });
        self.change(id, |track| track.due = Some(due));
        true
    }

    /// Polls it no more; returns whether it was looked at.
    pub(crate) fn close(&mut self, id: HandleId) -> bool {
        let Some(Entry { track, task }) = self.tracks.remove(&id) else { return false };
        if let Some(at) = track.due {
            self.due.remove(&(at, id));
        }
        if self.tasks.get(&task) == Some(&id) {
            self.tasks.remove(&task);
        }
        true
    }

    /// When the next look is due.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.due.first().map(|(at, _)| *at)
    }

    /// Takes the handle whose look has been due for longest; its look is then under way.
    pub(crate) fn take_due(&mut self, now: Instant) -> Option<HandleId> {
        if self.next_due()? > now {
            return None;
        }
        self.take_first()
    }

    /// Takes the handle that is due first, also before its time; its look is then under way.
    pub(crate) fn take_first(&mut self) -> Option<HandleId> {
        let (_, id) = self.due.pop_first()?;
        if let Some(entry) = self.tracks.get_mut(&id) {
            entry.track.due = None;
            entry.track.reading = true;
        }
        Some(id)
    }

    /// Every handle that is looked at.
    pub(crate) fn handles(&self) -> Vec<HandleId> {
        self.tracks.keys().copied().collect()
    }

    /// Every task that is looked at, for a subscription.
    pub(crate) fn tasks(&self) -> impl Iterator<Item = (&UpstreamTaskId, HandleId)> {
        self.tasks.iter().map(|(task, id)| (task, *id))
    }

    /// How many tasks are looked at.
    pub(crate) fn len(&self) -> usize {
        self.tracks.len()
    }

    /// From now on exactly these are pushed. Those that no longer are get their next look by their own interval.
    pub(crate) fn subscribed(&mut self, pushed: &HashSet<HandleId>, mut due: impl FnMut(HandleId, &Track) -> Instant) {
        for id in self.handles() {
            let now = pushed.contains(&id);
            self.change(id, |track| {
                let lost = track.subscribed && !now;
                track.subscribed = now;
                if lost && let Some(at) = track.due {
                    track.due = Some(at.min(due(id, track)));
                }
            });
        }
    }
}

/// How long to wait until the next look at a task with this track.
pub(crate) fn pause(
    track: &Track,
    hint: Option<Duration>,
    retry_after: Option<Duration>,
    random: f64,
    policy: &Policy,
) -> Duration {
    // A subscription says nothing about a task that a look could not find.
    let subscribed = track.subscribed && track.failures == 0;
    let looks = PollState { hint, unchanged: track.unchanged, failures: track.failures, retry_after, subscribed };
    next_poll(&looks, random, policy)
}

/// The interval at which a task is looked at while all is well, for counting intervals without news.
pub(crate) fn interval(track: &Track, hint: Option<Duration>, policy: &Policy) -> Duration {
    let calm = Track { failures: 0, ..*track };
    pause(&calm, hint, None, 0.0, policy)
}
