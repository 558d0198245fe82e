//! A poll of a task, and when the next one is due.
//!
//! At most a few polls are under way per server, and a fair number over all servers (ruling 12). A poll without news
//! touches memory only. The server's hint is a floor (ruling 11). What failing polls say about the server as a whole is
//! in `circuit_breaker.rs`.

use std::sync::Arc;
use std::time::Duration;

use domain::ids::{HandleId, UpstreamTaskId};
use domain::ports::UpstreamError;
use domain::server::{ServerAddress, ServerHealth};
use domain::task::observation::Observation;
use domain::task::status::{GoneWhy, Miss, Needs};
use domain::task::{MissCount, TaskHandle};
use tokio::time::Instant;

use crate::connections::connection::PollRequest;
use crate::connections::live_connection::LiveConnection;
use crate::connections::observed::request_times::{RequestKind, RequestTimes};
use crate::core::EngineCore;
use crate::engine::Engine;
use crate::servers::actor::ServerActor;
use crate::servers::state::finished_job::{FinishedJob, PollResult};
use crate::servers::state::poll_queue::{poll_delay, poll_interval};
use crate::servers::state::task_lane::LaneUpdate;

impl ServerActor {
    /// Polls everything that is due and for which there is a slot.
    pub(crate) fn poll_due(&mut self, now: Instant) {
        if self.is_stopping() || self.is_frozen() {
            return;
        }
        match self.connection.live() {
            Some(live) if self.is_out_of_reach() => self.probe(now, live),
            Some(live) => {
                while self.may_read(now) {
                    let Some(id) = self.polls.take_due(now) else { return };
                    if self.leaves_last_slot(id) {
                        self.postpone(id, now);
                    } else {
                        self.poll(id, Arc::clone(&live));
                    }
                }
            }
            // The first poll waits for the first attempt to connect; nothing is missed before it ended.
            None if self.tracker.is_opening() => {}
            None => self.miss_due(now),
        }
    }

    fn may_read(&self, now: Instant) -> bool {
        self.reading < self.core.policy.reads_per_server && self.paused_until.is_none_or(|until| until <= now)
    }

    fn is_slow(&self, id: HandleId) -> bool {
        self.polls.state(id).is_some_and(|state| state.is_slow(&self.core.policy))
    }

    /// Whether this task has to wait, because one slot is kept for tasks whose polls end in time.
    fn leaves_last_slot(&self, id: HandleId) -> bool {
        self.slow_reading >= self.core.policy.reads_per_server.saturating_sub(1).max(1) && self.is_slow(id)
    }

    /// Puts back what was taken as due, for a moment.
    fn postpone(&mut self, id: HandleId, now: Instant) {
        let due = now + self.core.policy.backoff_first;
        self.polls.change(id, |state| {
            state.reading = false;
            state.due = Some(due);
        });
        self.plan(id);
    }

    /// When the next poll may begin; `None` while something else has to happen first.
    pub(crate) fn next_poll_time(&self) -> Option<Instant> {
        if self.is_stopping() || self.is_frozen() {
            return None;
        }
        let due = self.polls.next_due();
        if self.connection.live().is_none() {
            return due.filter(|_| !self.tracker.is_opening());
        }
        if self.is_out_of_reach() {
            let probe = self.paused_until.filter(|_| self.reading == 0);
            return [due, probe].into_iter().flatten().min();
        }
        if self.reading >= self.core.policy.reads_per_server {
            return None;
        }
        due.map(|due| self.paused_until.map_or(due, |until| due.max(until)))
    }

    /// What is due now is missed, without asking anybody.
    pub(crate) fn miss_due(&mut self, now: Instant) {
        while let Some(id) = self.polls.take_due(now) {
            self.skip_poll(id);
        }
    }

    pub(crate) fn poll(&mut self, id: HandleId, live: Arc<LiveConnection>) {
        let held = self.core.ledger.held(id);
        let Some(task) = held.and_then(|handle| handle.view.task().map(|task| task.id.clone())) else {
            self.polls.change(id, |state| state.reading = false);
            return;
        };
        let is_slow = self.is_slow(id);
        self.polls.change(id, |state| state.began = Some(Instant::now()));
        self.reading += 1;
        self.slow_reading += usize::from(is_slow);
        let (core, observed) = (Arc::clone(&self.core), Arc::clone(&self.connection.observed));
        self.jobs.push(Box::pin(async move {
            let result = read(&core, &observed.times, &live, task).await;
            FinishedJob::Polled(PollResult { id, live, is_slow, result })
        }));
    }

    /// Without a connection, an interval that passes is a miss; nobody is told before it makes the task silent.
    fn skip_poll(&mut self, id: HandleId) {
        let why = match self.connection.health() {
            ServerHealth::Down { why, .. } | ServerHealth::Ended { why, .. } | ServerHealth::Blocked { why, .. } => why,
            ServerHealth::Unknown | ServerHealth::Connecting | ServerHealth::Up { .. } => "it is not connected".into(),
        };
        self.polls.change(id, |state| {
            state.reading = false;
            state.failures = state.failures.saturating_add(1);
        });
        self.miss(id, Miss::Unreachable(why), None);
        self.schedule(id, None, None);
    }

    pub(crate) fn polled(&mut self, polled: PollResult) {
        self.reading = self.reading.saturating_sub(1);
        let PollResult { id, live, is_slow, result } = polled;
        self.slow_reading = self.slow_reading.saturating_sub(usize::from(is_slow));
        let is_answered = matches!(result, Ok(_) | Err(UpstreamError::UnknownTask));
        self.polls.change(id, |state| {
            state.reading = false;
            let took = state.began.map(|began| began.elapsed()).unwrap_or_default();
            state.failed_after = if is_answered { Duration::ZERO } else { took };
        });
        match result {
            Ok(seen) => self.poll_succeeded(id, &live, seen),
            // A server that stands still does not answer; its end wakes this actor, and then it is polled again.
            Err(_) if self.is_frozen() => self.schedule(id, None, None),
            Err(error) => self.poll_failed(id, &live, error),
        }
    }

    fn poll_succeeded(&mut self, id: HandleId, live: &Arc<LiveConnection>, seen: Observation) {
        self.reached();
        if let Some(handle) = self.core.ledger.held(id)
            && !live.holds(&handle)
        {
            if !self.is_same_task(&handle, &seen) {
                let why = self.end_of_home(&handle);
                self.apply(id, LaneUpdate::Gone(why));
                return;
            }
            live.prove(id);
            self.core.effects.deliveries.connection_restored(self.connection.key);
        }
        // What the poll brought is stored in a moment; its hint holds from now on.
        let hint_now = seen.hint;
        let changed = self.take_in(id, seen);
        self.core.ledger.poll_succeeded(id);
        self.polls.change(id, |state| {
            state.failures = 0;
            state.unknown = 0;
            state.unchanged = if changed { 0 } else { state.unchanged.saturating_add(1) };
        });
        self.schedule(id, hint_now, None);
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
    pub(crate) fn take_in(&mut self, id: HandleId, seen: Observation) -> bool {
        if !self.lanes.is_busy(id) {
            let policy = &self.core.policy;
            let ledger = &self.core.ledger;
            let unchanged = ledger
                .apply_unchanged(id, |handle, _| handle.observe_within(&seen, ledger.question_room(handle), policy));
            if unchanged.is_some() {
                return false;
            }
        }
        self.apply(id, LaneUpdate::Seen(Box::new(seen)));
        true
    }

    fn poll_failed(&mut self, id: HandleId, live: &Arc<LiveConnection>, error: UpstreamError) {
        let mut retry_after = None;
        match error {
            UpstreamError::Unreachable { why, hint } => {
                // What an earlier connection still brings says nothing about this one.
                if self.connection.live().is_some_and(|now| now.id == live.id) {
                    self.unreached(&why, &hint);
                }
                self.failed(id, Miss::Unreachable(why), None);
            }
            UpstreamError::RateLimited { after } => {
                retry_after = Some(self.slow_down(after));
            }
            UpstreamError::Unauthorized { why, hint } => {
                self.needs_sign_in(why, hint);
                self.polls.change(id, |state| state.failures = state.failures.saturating_add(1));
            }
            UpstreamError::MissingCapability(name) => {
                self.reached();
                self.polls.change(id, |state| state.failures = state.failures.saturating_add(1));
                self.apply(id, LaneUpdate::Blocked(Needs::Upgrade(name)));
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
            error @ (UpstreamError::Unsupported(_) | UpstreamError::GivenUp | UpstreamError::ChannelGone) => {
                self.failed(id, Miss::Unreachable(error.to_string()), None);
            }
        }
        self.schedule(id, None, retry_after);
    }

    fn unknown_task(&mut self, id: HandleId, live: &Arc<LiveConnection>) {
        self.polls.change(id, |state| {
            // The server was reached: what failed before this answer does not slow down the few tries that are left.
            state.failures = state.unknown;
            state.unknown = state.unknown.saturating_add(1);
        });
        let stranger = self.core.ledger.held(id).filter(|handle| !live.holds(handle));
        match stranger {
            // The one poll by id that a new session or child is owed (protocol.md §7.6).
            Some(handle) => {
                let why = self.end_of_home(&handle);
                self.apply(id, LaneUpdate::Gone(why));
            }
            None => self.failed(id, Miss::UnknownTask, None),
        }
    }

    /// Why a task of an earlier session or child is gone.
    fn end_of_home(&self, handle: &TaskHandle) -> GoneWhy {
        match &self.server.address {
            ServerAddress::Stdio { .. } => {
                self.tracker.last_end(&handle.home).unwrap_or_else(|| self.unseen_end(handle))
            }
            ServerAddress::Http { .. } => GoneWhy::Unknown,
        }
    }

    /// What is known of the process of an earlier run. That it is not found says that it ended only where nothing says
    /// that it may go on elsewhere.
    fn unseen_end(&self, handle: &TaskHandle) -> GoneWhy {
        match self.out_of_reach(handle) {
            Some(why) => GoneWhy::OutOfReach(why),
            None => GoneWhy::ProcessEnded("it was not there any more after the core was restarted".into()),
        }
    }

    /// Why the process of a task of an earlier run may go on although this core is not connected to it.
    pub(crate) fn out_of_reach(&self, handle: &TaskHandle) -> Option<String> {
        match &self.server.address {
            ServerAddress::Stdio { .. } => {
                let own = self.connection.live().and_then(|live| live.process.map(|(pid, _)| pid));
                let (server, seat) = (self.connection.key.server, self.connection.key.seat);
                self.core.connector.out_of_reach(server, seat, handle.created, own)
            }
            ServerAddress::Http { .. } => None,
        }
    }

    fn failed(&mut self, id: HandleId, miss: Miss, raw: Option<domain::task::payload::Payload>) {
        self.core.ledger.poll_failed(id, &miss);
        self.polls.change(id, |state| state.failures = state.failures.saturating_add(1));
        self.miss(id, miss, raw);
    }

    fn miss(&mut self, id: HandleId, miss: Miss, raw: Option<domain::task::payload::Payload>) {
        let (Some(state), Some(handle)) = (self.polls.state(id), self.core.ledger.held(id)) else { return };
        let count = MissCount {
            failures: state.failures,
            unknown: state.unknown,
            interval: poll_interval(&state, hint(&handle), &self.core.policy),
        };
        if !self.lanes.is_busy(id) {
            let policy = &self.core.policy;
            let unchanged =
                self.core.ledger.apply_unchanged(id, |now_held, now| now_held.missed(&miss, &count, now, policy));
            if unchanged.is_some() {
                return;
            }
        }
        self.apply(id, LaneUpdate::Missed(miss, count, raw));
    }

    /// Polls every task as soon as there are slots and its hint allows.
    pub(crate) fn all_due(&mut self) {
        for id in self.polls.handles() {
            self.poll_soon(id);
        }
    }

    /// Polls a task as soon as its hint allows; the hint is a floor for every reason to poll (ruling 11).
    pub(crate) fn poll_soon(&mut self, id: HandleId) {
        let hint_now = self.core.ledger.held(id).and_then(|handle| hint(&handle));
        self.poll_after(id, hint_now);
    }

    fn poll_after(&mut self, id: HandleId, hint_now: Option<Duration>) {
        let (now, policy) = (Instant::now(), &self.core.policy);
        let gap = hint_now.unwrap_or_default().clamp(policy.hint_floor, policy.hint_ceiling);
        self.polls.change(id, |state| {
            let at = state.began.map_or(now, |began| now.max(began + gap));
            if state.reading {
                state.again = true;
            } else {
                state.due = Some(state.due.map_or(at, |due| due.min(at)));
            }
        });
        self.plan(id);
    }

    /// Plans the next poll by the ordinary rules. `hint_now` is the hint of a poll that is not stored yet.
    fn schedule(&mut self, id: HandleId, hint_now: Option<Duration>, retry_after: Option<Duration>) {
        let Some(handle) = self.core.ledger.held(id) else {
            self.reconsider(id, PollRequest::default());
            return;
        };
        let (random, now) = (self.core.time.random.fraction(), Instant::now());
        let policy = &self.core.policy;
        let again = self.polls.change(id, |state| {
            state.due = Some(now + poll_delay(state, hint_now.or(hint(&handle)), retry_after, random, policy));
            if retry_after.is_none() {
                state.apply_earned(now);
            }
            std::mem::take(&mut state.again)
        });
        if again == Some(true) && retry_after.is_none() {
            self.poll_after(id, hint_now.or(hint(&handle)));
        }
        self.plan(id);
    }

    /// Tells the ledger when a task is polled next.
    pub(crate) fn plan(&self, id: HandleId) {
        let Some(state) = self.polls.state(id) else { return };
        let quiet = self.paused_until;
        let at = state.due.map(|due| quiet.map_or(due, |until| due.max(until)));
        self.core.ledger.plan_poll(id, at.map(|at| self.core.time.moment(at)));
    }
}

fn hint(handle: &TaskHandle) -> Option<Duration> {
    handle.view.task().and_then(|task| task.hint)
}

async fn read(
    core: &EngineCore,
    times: &RequestTimes,
    live: &LiveConnection,
    task: UpstreamTaskId,
) -> Result<Observation, UpstreamError> {
    let Ok(_slot) = core.poll_slots.acquire().await else {
        let why = "the core is stopping".into();
        return Err(UpstreamError::Unreachable { why, hint: "Start it again.".into() });
    };
    let begun = Instant::now();
    let seen = core.ask(live.upstream.read(task)).await;
    match &seen {
        // That a task is unknown is an answer.
        Ok(_) | Err(UpstreamError::UnknownTask) => {
            times.answered(RequestKind::Poll, begun.elapsed(), core.time.now());
        }
        Err(error) => times.failed(RequestKind::Poll, error.to_string(), core.time.now()),
    }
    seen
}

impl Engine {
    /// A person asked how a task is: polls it soon, regardless of the server's hint (ruling 46).
    pub fn poll_soon(&self, id: HandleId) {
        let connection = self.core.ledger.held(id).and_then(|handle| self.core.connections.of(&handle));
        if let Some(connection) = connection {
            connection.request_poll(id, PollRequest { soon: true, person_acted: true, poll_at: None });
        }
    }
}
