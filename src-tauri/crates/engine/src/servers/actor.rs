//! The actor of one connection: connects, polls open tasks when they are due, and takes in what the server pushes.
//!
//! A loop over a closed set of inputs (requests, finished jobs, events, time). It awaits nothing but the next input:
//! reads, commits and connecting are jobs beside it. It sends no answers or cancels (`decisions/deliver.rs`) and calls
//! no tools. Read `connect.rs`, `poll.rs`, `circuit_breaker.rs` and `push.rs` for its parts, `state/task_lane.rs` for
//! commits.

use std::sync::Arc;

use domain::ids::{HandleId, UpstreamTaskId};
use domain::ports::UpstreamEvent;
use domain::server::{Server, ServerHealth};
use domain::task::TaskHandle;
use domain::task::status::Contact;
use domain::time::Timestamp;
use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use tokio::time::Instant;

use crate::connections::connection::{PollRequest, ServerConnection};
use crate::connections::task_needs::{is_settled, lacks_result};
use crate::core::EngineCore;
use crate::runtime::time::sleep_until;
use crate::servers::state::connection_tracker::ConnectionTracker;
use crate::servers::state::finished_job::FinishedJob;
use crate::servers::state::poll_queue::PollQueue;
use crate::servers::state::push_buffers::{EarlyEvents, ProgressThrottle};
use crate::servers::state::question_buffer::WaitingQuestions;
use crate::servers::state::reach_check::ReachCheck;
use crate::servers::state::task_lane::{AppliedUpdate, LaneUpdate, TaskLanes};

/// The actor of one connection.
pub(crate) struct ServerActor {
    pub(super) core: Arc<EngineCore>,
    pub(super) connection: Arc<ServerConnection>,
    pub(super) server: Server,
    pub(super) tracker: ConnectionTracker,
    pub(super) polls: PollQueue,
    pub(super) lanes: TaskLanes,
    pub(super) jobs: FuturesUnordered<BoxFuture<'static, FinishedJob>>,
    /// Polls under way.
    pub(super) reading: usize,
    /// Those of them whose poll before took long and failed.
    pub(super) slow_reading: usize,
    /// No poll before this moment: the server asked for it, or fails again and again.
    pub(super) paused_until: Option<Instant>,
    /// Polls in a row, over all tasks, that did not reach the server.
    pub(super) unreachable: u32,
    /// The connection is open, and yet health is not up: reads do not get through, or want a sign-in.
    pub(super) is_unhealthy: bool,
    /// Asked in a row to slow down.
    pub(super) slow_downs: u32,
    /// When it is checked next that the server answers, because an agent's own connection did not reach it.
    pub(super) check: ReachCheck,
    /// When the server's list is read next.
    pub(super) list_at: Option<Instant>,
    /// When the connection gets the new set of tasks to subscribe to.
    pub(super) watch_at: Option<Instant>,
    /// When an agent's own connection is checked for idleness.
    pub(super) idle_at: Option<Instant>,
    /// When its tools are listed again because it says that they changed, and when that was done last.
    pub(super) tools_at: Option<Instant>,
    pub(super) tools_listed: Option<Instant>,
    pub(super) early_events: EarlyEvents,
    pub(super) progress_throttle: ProgressThrottle,
    /// Live questions without space, until others close.
    pub(super) waiting_questions: WaitingQuestions,
}

/// The upstream task to poll, when there is one.
fn watched_task(handle: &TaskHandle, now: Timestamp) -> Option<&UpstreamTaskId> {
    let gone = matches!(handle.contact, Contact::Gone { .. });
    let task = handle.view.task()?;
    (!gone && !is_settled(handle, now)).then_some(&task.id)
}

impl ServerActor {
    /// An actor with the tasks that the ledger holds for its connection.
    pub(crate) fn new(core: Arc<EngineCore>, connection: Arc<ServerConnection>) -> Self {
        let server = connection.configured();
        let mut actor = Self {
            core,
            connection,
            server,
            tracker: ConnectionTracker::default(),
            polls: PollQueue::default(),
            lanes: TaskLanes::default(),
            jobs: FuturesUnordered::new(),
            reading: 0,
            slow_reading: 0,
            paused_until: None,
            unreachable: 0,
            is_unhealthy: false,
            slow_downs: 0,
            check: ReachCheck::default(),
            list_at: None,
            watch_at: None,
            idle_at: None,
            tools_at: None,
            tools_listed: None,
            early_events: EarlyEvents::default(),
            progress_throttle: ProgressThrottle::default(),
            waiting_questions: WaitingQuestions::default(),
        };
        for handle in actor.core.ledger.of_connection(actor.connection.key) {
            actor.reconsider(handle.id, PollRequest::default());
        }
        actor
    }

    /// Runs until the connection is removed or closed for idleness.
    pub(crate) async fn run(mut self) {
        self.drop_earlier_connection();
        self.connect();
        let leave = self.connection.leave.clone();
        loop {
            self.take_requests();
            self.run_due();
            let wait = self.next_wake();
            let listens = !self.lanes.is_full();
            tokio::select! {
                () = leave.cancelled() => break,
                () = self.connection.wake.notified() => {}
                Some(job) = self.jobs.next(), if !self.jobs.is_empty() => self.finish(job),
                event = self.tracker.next_event(), if listens => self.handle_event(event),
                () = sleep_until(wait) => {}
            }
        }
    }

    /// Everything that is due by now.
    fn run_due(&mut self) {
        let now = Instant::now();
        self.retry_connect(now);
        self.land_progress(now);
        self.check_when_due(now);
        self.end_early_events(now);
        self.bring_up_questions();
        if self.watch_at.is_some_and(|at| at <= now) {
            self.watch_at = None;
            self.update_subscription();
        }
        if self.list_at.is_some_and(|at| at <= now) && !self.is_frozen() {
            self.list_at = Some(now + self.core.policy.list_every);
            self.list();
        }
        if !self.is_frozen() {
            self.list_tools_when_due(now);
        }
        self.poll_due(now);
        self.close_when_idle(now);
    }

    /// The next moment at which something is due.
    fn next_wake(&self) -> Option<Instant> {
        // What waits for the end of a freeze is not due: the end wakes this actor.
        let is_frozen = self.is_frozen();
        [
            self.next_poll_time(),
            self.tracker.retry_at(),
            self.check.next(),
            self.list_at.filter(|_| !is_frozen),
            self.watch_at,
            self.idle_at,
            self.tools_at.filter(|_| !is_frozen),
            self.early_events.next(),
            self.progress_throttle.next(),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    fn take_requests(&mut self) {
        let requests = self.connection.take_requests();
        if let Some(server) = requests.server {
            self.reconfigure(server);
        }
        if let Some((why, hint)) = requests.unreached {
            self.unreached_by_others(&why, &hint);
        }
        if let Some((why, hint)) = requests.unauthorized {
            self.refused_for_others(why, hint);
        }
        if requests.check {
            self.check_soon();
        }
        if requests.connect_now {
            self.connect_now();
        }
        if let Some((by, act)) = requests.act {
            self.act(by, act);
        }
        match requests.sign_in {
            Some(true) => self.signed_in(),
            Some(false) => self.signed_out(),
            None => {}
        }
        for (id, poll) in requests.polls {
            self.reconsider(id, poll);
        }
    }

    fn finish(&mut self, job: FinishedJob) {
        match job {
            FinishedJob::Polled(polled) => self.polled(polled),
            FinishedJob::Updated(stepped) => self.update_applied(stepped),
            FinishedJob::Connected(outcome, ended_before) => {
                self.tracker.ended_before = ended_before;
                self.connected(*outcome);
            }
            FinishedJob::Listed(found) => self.listed(found),
            FinishedJob::Remembered(connection) => self.remembered(connection),
            FinishedJob::Checked(connection, answer) => self.checked(connection, answer),
            FinishedJob::Closed => self.closed_for_person(),
            FinishedJob::Done => {}
        }
    }

    fn handle_event(&mut self, event: Option<UpstreamEvent>) {
        match event {
            Some(event) => self.event(event),
            None => self.stream_ended(),
        }
    }

    /// Applies something that happened to a task, after what happened to it before.
    pub(super) fn apply(&mut self, id: HandleId, step: LaneUpdate) {
        if let Some(step) = self.lanes.enter(id, step) {
            self.start_update(id, step);
        }
    }

    fn start_update(&mut self, id: HandleId, step: LaneUpdate) {
        let running =
            crate::servers::state::task_lane::run(Arc::clone(&self.core), Arc::clone(&self.connection), id, step);
        self.jobs.push(Box::pin(async move { FinishedJob::Updated(running.await) }));
    }

    fn update_applied(&mut self, stepped: AppliedUpdate) {
        let id = stepped.id;
        if let Some(asked) = stepped.asked {
            self.asked(id, asked);
        }
        if let Some(next) = self.lanes.leave(id) {
            self.start_update(id, next);
        }
        if stepped.replaced {
            self.raise_generation();
        }
        self.reconsider(id, PollRequest::default());
    }

    /// Begins, continues or ends polling a task, as its handle says now.
    pub(super) fn reconsider(&mut self, id: HandleId, poll: PollRequest) {
        let handle = self.core.ledger.held(id);
        let now = self.core.time.now();
        let task = handle.as_ref().and_then(|handle| watched_task(handle, now));
        let Some(task) = task else {
            if self.polls.close(id) {
                self.core.ledger.plan_poll(id, None);
                self.watch_soon();
            }
            return;
        };
        let first = self.core.time.instant(poll.poll_at.unwrap_or(now));
        if self.polls.open(id, task, first) {
            self.watch_soon();
            for event in self.early_events.claim(task) {
                self.event(event);
            }
        }
        if poll.person_acted {
            let policy = &self.core.policy;
            let after = [policy.first_poll_after_act, policy.second_poll_after_act];
            self.polls.change(id, |state| state.earn(Instant::now(), after));
        }
        if poll.soon || (poll.poll_at.is_some() && handle.as_deref().is_some_and(lacks_result)) {
            self.poll_soon(id);
        }
        self.plan(id);
    }
}

impl Drop for ServerActor {
    /// An actor that panics must not leave its server looking healthy; it is restarted after a while.
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.connection.set_health(ServerHealth::Down {
                since: self.core.time.now(),
                why: "Taskwarden failed while it was connected".into(),
                hint: "It is restarted automatically; please report this with the log.".into(),
                retry_at: None,
            });
        }
    }
}
