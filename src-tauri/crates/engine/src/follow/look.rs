//! A look at a task, and what it means for the next one.
//!
//! At most a few of our own reads are under way per server, and a fair number over all servers (ruling 12). A look
//! that brings nothing new touches memory only. Hints are a floor (ruling 11). What failing looks say about the
//! server as a whole is in `reach.rs`.

use std::sync::Arc;
use std::time::Duration;

use domain::task::{MissCount, TaskHandle};
use domain::ids::{HandleId, UpstreamTaskId};
use domain::task::observation::Observation;
use domain::ports::UpstreamError;
use domain::server::{ServerAddress, ServerHealth};
use domain::task::status::{GoneWhy, Miss, Needs};
use tokio::time::Instant;

use super::book::{interval, pause};
use super::step::Step;
use super::{Follower, Job};
use crate::core::Core;
use crate::post::Live;

/// A look that came back.
pub(crate) struct Looked {
    pub(crate) id: HandleId,
    /// The connection it went over.
    pub(crate) live: Arc<Live>,
    pub(crate) result: Result<Observation, UpstreamError>,
}

impl Follower {
    /// Looks at everything that is due and for which there is a slot.
    pub(super) fn look_at_due(&mut self, now: Instant) {
        if self.is_stopping() {
            return;
        }
        match self.post.live() {
            Some(live) if self.is_out_of_reach() => self.probe(now, live),
            Some(live) => {
                while self.may_read(now) {
                    let Some(id) = self.book.take_due(now) else { return };
                    self.look(id, Arc::clone(&live));
                }
            }
            // The first look waits for the first connection; until that came about or not, nothing was missed.
            None if self.link.is_opening() => {}
            None => self.miss_due(now),
        }
    }

    fn may_read(&self, now: Instant) -> bool {
        self.reading < self.core.policy.reads_per_server && self.quiet_until.is_none_or(|until| until <= now)
    }

    /// When the next look may begin; `None` while something else has to happen first.
    pub(super) fn next_look_time(&self) -> Option<Instant> {
        if self.is_stopping() {
            return None;
        }
        let due = self.book.next_due();
        if self.post.live().is_none() {
            return due.filter(|_| !self.link.is_opening());
        }
        if self.is_out_of_reach() {
            let probe = self.quiet_until.filter(|_| self.reading == 0);
            return [due, probe].into_iter().flatten().min();
        }
        if self.reading >= self.core.policy.reads_per_server {
            return None;
        }
        due.map(|due| self.quiet_until.map_or(due, |until| due.max(until)))
    }

    /// What is due now is missed, without asking anybody.
    pub(super) fn miss_due(&mut self, now: Instant) {
        while let Some(id) = self.book.take_due(now) {
            self.cannot_look(id);
        }
    }

    pub(super) fn look(&mut self, id: HandleId, live: Arc<Live>) {
        let held = self.core.ledger.held(id);
        let Some(task) = held.and_then(|handle| handle.view.task().map(|task| task.id.clone())) else {
            self.book.change(id, |track| track.reading = false);
            return;
        };
        self.book.change(id, |track| track.begun = Some(Instant::now()));
        self.reading += 1;
        let core = Arc::clone(&self.core);
        self.jobs.push(Box::pin(async move {
            let result = read(&core, &live, task).await;
            Job::Looked(Looked { id, live, result })
        }));
    }

    /// Without a connection, an interval that passes is a miss, told to nobody until it makes the task silent.
    fn cannot_look(&mut self, id: HandleId) {
        let why = match self.post.health() {
            ServerHealth::Down { why, .. } | ServerHealth::Blocked { why, .. } => why,
            ServerHealth::Unknown | ServerHealth::Connecting | ServerHealth::Up { .. } => "it is not connected".into(),
        };
        self.book.change(id, |track| {
            track.reading = false;
            track.failures = track.failures.saturating_add(1);
        });
        self.miss(id, Miss::Unreachable(why), None);
        self.schedule(id, None, None);
    }

    pub(super) fn looked(&mut self, looked: Looked) {
        self.reading = self.reading.saturating_sub(1);
        let Looked { id, live, result } = looked;
        self.book.change(id, |track| track.reading = false);
        match result {
            Ok(seen) => self.look_brought(id, &live, seen),
            Err(error) => self.look_failed(id, &live, error),
        }
    }

    fn look_brought(&mut self, id: HandleId, live: &Arc<Live>, seen: Observation) {
        self.reached();
        if let Some(handle) = self.core.ledger.held(id)
            && !live.holds(&handle)
        {
            if !self.is_same_task(&handle, &seen) {
                let why = self.end_of_home(&handle);
                self.step(id, Step::Gone(why));
                return;
            }
            live.prove(id);
            self.core.parcels.line_up(self.post.line);
        }
        // What the look brought is stored in a moment; its hint holds from this look on.
        let told = seen.hint;
        let changed = self.take_in(id, seen);
        self.book.change(id, |track| {
            track.failures = 0;
            track.unknown = 0;
            track.unchanged = if changed { 0 } else { track.unchanged.saturating_add(1) };
        });
        self.schedule(id, told, None);
    }

    /// Whether what was seen under the id of a task of an earlier session or child is that task: equal creation times
    /// prove it. A server over HTTP that never says when tasks were created is the same server as before.
    fn is_same_task(&self, handle: &TaskHandle, seen: &Observation) -> bool {
        let before = handle.view.task().and_then(|task| task.created);
        match (before, seen.created, &self.server.address) {
            (Some(ours), Some(theirs), _) => {
                ours.since(theirs).max(theirs.since(ours)) <= self.core.policy.created_slack
            }
            (None, None, ServerAddress::Http { .. }) => true,
            (Some(_) | None, Some(_) | None, ServerAddress::Http { .. } | ServerAddress::Stdio { .. }) => false,
        }
    }

    /// Applies an observation: in memory at once when nothing changed, otherwise as a step. Returns whether there is
    /// a step.
    pub(super) fn take_in(&mut self, id: HandleId, seen: Observation) -> bool {
        if !self.lanes.is_busy(id) {
            let policy = &self.core.policy;
            let room = self.core.ledger.question_room(self.server.id);
            let unchanged =
                self.core.ledger.apply_unchanged(id, |handle, _| handle.observe_within(&seen, room, policy));
            if unchanged.is_some() {
                return false;
            }
        }
        self.step(id, Step::Seen(Box::new(seen)));
        true
    }

    fn look_failed(&mut self, id: HandleId, live: &Arc<Live>, error: UpstreamError) {
        let mut retry_after = None;
        match error {
            UpstreamError::Unreachable { why, hint } => {
                // What an earlier connection still brings says nothing about this one.
                if self.post.live().is_some_and(|now| now.id == live.id) {
                    self.unreached(&why, &hint);
                }
                self.failed(id, Miss::Unreachable(why), None);
            }
            UpstreamError::RateLimited { after } => {
                retry_after = Some(self.slow_down(after));
            }
            UpstreamError::Unauthorized { why, hint } => {
                self.needs_sign_in(why, hint);
                self.book.change(id, |track| track.failures = track.failures.saturating_add(1));
            }
            UpstreamError::MissingCapability(name) => {
                self.reached();
                self.book.change(id, |track| track.failures = track.failures.saturating_add(1));
                self.step(id, Step::Blocked(Needs::Upgrade(name)));
            }
            UpstreamError::UnknownTask => {
                self.reached();
                self.unknown_task(id, live);
            }
            UpstreamError::Refused(error) => {
                self.reached();
                self.failed(id, Miss::Refused(error), None);
            }
            UpstreamError::Unreadable { path, why, raw } => {
                self.reached();
                self.failed(id, Miss::Unreadable { path, why }, raw);
            }
            error @ (UpstreamError::Unsupported(_) | UpstreamError::ChannelGone) => {
                self.failed(id, Miss::Unreachable(error.to_string()), None);
            }
        }
        self.schedule(id, None, retry_after);
    }

    fn unknown_task(&mut self, id: HandleId, live: &Arc<Live>) {
        self.book.change(id, |track| {
            // The server was reached: what failed before this answer does not slow down the few tries that are left.
            track.failures = track.unknown;
            track.unknown = track.unknown.saturating_add(1);
        });
        let stranger = self.core.ledger.held(id).filter(|handle| !live.holds(handle));
        match stranger {
            // The one look by id that a new session or child is owed (protocol.md §7.6).
            Some(handle) => {
                let why = self.end_of_home(&handle);
                self.step(id, Step::Gone(why));
            }
            None => self.failed(id, Miss::UnknownTask, None),
        }
    }

    /// Why a task of an earlier session or child is gone.
    fn end_of_home(&self, handle: &TaskHandle) -> GoneWhy {
        match &self.server.address {
            ServerAddress::Stdio { .. } => GoneWhy::ProcessEnded(self.link.last_end(&handle.home)),
            ServerAddress::Http { .. } => GoneWhy::Unknown,
        }
    }

    fn failed(&mut self, id: HandleId, miss: Miss, raw: Option<domain::task::payload::Payload>) {
        self.book.change(id, |track| track.failures = track.failures.saturating_add(1));
        self.miss(id, miss, raw);
    }

    fn miss(&mut self, id: HandleId, miss: Miss, raw: Option<domain::task::payload::Payload>) {
        let (Some(track), Some(handle)) = (self.book.track(id), self.core.ledger.held(id)) else { return };
        let count = MissCount {
            failures: track.failures,
            unknown: track.unknown,
            interval: interval(&track, hint(&handle), &self.core.policy),
        };
        if !self.lanes.is_busy(id) {
            let policy = &self.core.policy;
            let unchanged =
                self.core.ledger.apply_unchanged(id, |now_held, now| now_held.missed(&miss, &count, now, policy));
            if unchanged.is_some() {
                return;
            }
        }
        self.step(id, Step::Missed(miss, count, raw));
    }

    /// Looks at every task as soon as there are slots and its hint allows.
    pub(super) fn all_due(&mut self) {
        for id in self.book.handles() {
            self.look_soon(id);
        }
    }

    /// Looks at a task as soon as its hint allows; whoever gives reason to, the hint is a floor (ruling 11).
    pub(super) fn look_soon(&mut self, id: HandleId) {
        let told = self.core.ledger.held(id).and_then(|handle| hint(&handle));
        self.look_after(id, told);
    }

    fn look_after(&mut self, id: HandleId, told: Option<Duration>) {
        let (now, policy) = (Instant::now(), &self.core.policy);
        let gap = told.unwrap_or_default().clamp(policy.hint_floor, policy.hint_ceiling);
        self.book.change(id, |track| {
            let at = track.begun.map_or(now, |begun| now.max(begun + gap));
            if track.reading {
                track.again = true;
            } else {
                track.due = Some(track.due.map_or(at, |due| due.min(at)));
            }
        });
        self.plan(id);
    }

    /// Plans the next look by the ordinary rules. `told` is the hint of a look that is not on record yet.
    fn schedule(&mut self, id: HandleId, told: Option<Duration>, retry_after: Option<Duration>) {
        let Some(handle) = self.core.ledger.held(id) else {
            self.reconsider(id, crate::post::Touch::default());
            return;
        };
        let (random, now) = (self.core.dice.share(), Instant::now());
        let policy = &self.core.policy;
        let again = self.book.change(id, |track| {
            track.due = Some(now + pause(track, told.or(hint(&handle)), retry_after, random, policy));
            if retry_after.is_none() {
                track.hasten(now);
            }
            std::mem::take(&mut track.again)
        });
        if again == Some(true) && retry_after.is_none() {
            self.look_after(id, told.or(hint(&handle)));
        }
        self.plan(id);
    }

    /// Tells the ledger when a task is looked at next.
    pub(super) fn plan(&self, id: HandleId) {
        let Some(track) = self.book.track(id) else { return };
        let quiet = self.quiet_until;
        let at = track.due.map(|due| quiet.map_or(due, |until| due.max(until)));
        self.core.ledger.plan_look(id, at.map(|at| self.core.moment(at)));
    }
}

fn hint(handle: &TaskHandle) -> Option<Duration> {
    handle.view.task().and_then(|task| task.hint)
}

async fn read(core: &Core, live: &Live, task: UpstreamTaskId) -> Result<Observation, UpstreamError> {
    let Ok(_slot) = core.reads.acquire().await else {
        let why = "the core is stopping".into();
        return Err(UpstreamError::Unreachable { why, hint: "Start it again.".into() });
    };
    core.ask(live.upstream.read(task)).await
}
