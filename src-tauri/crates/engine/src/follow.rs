//! One actor per server: connects, looks at its open tasks when they are due, and takes in what the server says.
//!
//! A loop over one closed set of inputs (words left at the post, finished jobs, events of the connection, time).
//! Nothing is awaited in the loop but the next input: reads, commits and connecting are jobs beside it.
//! It never sends answers or stops (`deliver.rs`) and never calls tools (`admission.rs`).
//! Read `follow/connect.rs` for connections, `look.rs` and `reach.rs` for polls, `event.rs` for pushes, `step.rs`
//! for commits.

mod book;
mod connect;
mod event;
mod kept;
mod look;
mod reach;
mod row;
mod step;
mod waiting_questions;

use std::sync::Arc;

use domain::task::TaskHandle;
use domain::ids::{ConnectionId, HandleId, UpstreamTaskId};
use domain::ports::{Connected, UpstreamError, UpstreamEvent};
use domain::server::{Server, ServerHealth};
use domain::task::status::{Contact, Outcome, ServerView, TaskStatus};
use domain::time::Timestamp;
use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use tokio::time::Instant;

use self::book::Book;
use self::connect::Link;
pub(crate) use self::connect::live_connections;
use self::event::{Coalesced, Strays};
pub(crate) use self::kept::is_of_another;
use self::look::Looked;
use self::step::{Lanes, Step, Stepped};
use self::waiting_questions::WaitingQuestions;
use crate::core::Core;
use crate::discover::{Found, sweep_list};
use crate::post::{Post, Touch};

/// Something the follower waited for.
pub(crate) enum Job {
    /// A look at a task came back.
    Looked(Looked),
    /// A step of a task was applied.
    Stepped(Stepped),
    /// A connection was opened, or not.
    Connected(Box<Result<Connected, UpstreamError>>),
    /// The server's own list was read.
    Listed(Found),
    /// What a connection taught about its server is stored.
    Remembered(ConnectionId),
    /// Something that needs no further word.
    Done,
}

/// Follows one server until its post says to leave.
pub(crate) struct Follower {
    core: Arc<Core>,
    post: Arc<Post>,
    server: Server,
    link: Link,
    book: Book,
    lanes: Lanes,
    jobs: FuturesUnordered<BoxFuture<'static, Job>>,
    /// Our own reads under way.
    reading: usize,
    /// No look at anything before this moment: the server asked for it, or fails again and again.
    quiet_until: Option<Instant>,
    /// Looks in a row, over all tasks, that did not reach the server.
    unreachable: u32,
    /// The connection is open, and yet health is not up: reads do not get through, or want a sign-in.
    ailing: bool,
    /// Asked in a row to slow down.
    slowed: u32,
    /// When the server's list is read next.
    list_at: Option<Instant>,
    /// When the set of watched tasks is told to the connection.
    watch_at: Option<Instant>,
    /// When an agent's own line is looked at for idleness.
    idle_at: Option<Instant>,
    strays: Strays,
    coalesced: Coalesced,
    /// Live questions without space, until others close.
    waiting_questions: WaitingQuestions,
}

/// Whether nothing is left to look at or to do for a handle, so that nobody needs it in memory.
pub(crate) fn is_settled(handle: &TaskHandle, now: Timestamp) -> bool {
    handle.phase(now).is_over() && !lacks_result(handle)
}

fn lacks_result(handle: &TaskHandle) -> bool {
    match &handle.view {
        ServerView::Task(task) => task.status == TaskStatus::Completed(Outcome::NotFetched),
        ServerView::Awaiting { .. }
        | ServerView::OwnCall { .. }
        | ServerView::Asking { .. }
        | ServerView::NotSent { .. }
        | ServerView::Unanswered { .. }
        | ServerView::Direct(_)
        | ServerView::Refused(_) => false,
    }
}

/// The upstream task to look at, when there is one to look at.
fn watched_task(handle: &TaskHandle, now: Timestamp) -> Option<&UpstreamTaskId> {
    let gone = matches!(handle.contact, Contact::Gone { .. });
    let task = handle.view.task()?;
    (!gone && !is_settled(handle, now)).then_some(&task.id)
}

impl Follower {
    /// A follower with the tasks that the ledger holds for its server.
    pub(crate) fn new(core: Arc<Core>, post: Arc<Post>) -> Self {
        let server = post.configured();
        let mut follower = Self {
            core,
            post,
            server,
            link: Link::default(),
            book: Book::default(),
            lanes: Lanes::default(),
            jobs: FuturesUnordered::new(),
            reading: 0,
            quiet_until: None,
            unreachable: 0,
            ailing: false,
            slowed: 0,
            list_at: None,
            watch_at: None,
            idle_at: None,
            strays: Strays::default(),
            coalesced: Coalesced::default(),
            waiting_questions: WaitingQuestions::default(),
        };
        for handle in follower.core.ledger.of_line(follower.post.line) {
            follower.reconsider(handle.id, Touch::default());
        }
        follower
    }

    /// Runs until the post says to leave.
    pub(crate) async fn run(mut self) {
        self.drop_leftover();
        self.connect();
        let leave = self.post.leave.clone();
        loop {
            self.hear_words();
            self.keep_time();
            let wait = self.next_time();
            let listens = !self.lanes.is_full();
            tokio::select! {
                () = leave.cancelled() => break,
                () = self.post.wake.notified() => {}
                Some(job) = self.jobs.next(), if !self.jobs.is_empty() => self.finish(job),
                event = self.link.next_event(), if listens => self.hear(event),
                () = sleep_until(wait) => {}
            }
        }
    }

    /// Everything that is due by now.
    fn keep_time(&mut self) {
        let now = Instant::now();
        self.retry_connect(now);
        self.land_progress(now);
        self.strays.forget(now);
        self.bring_up_questions();
        if self.watch_at.is_some_and(|at| at <= now) {
            self.watch_at = None;
            self.tell_watched();
        }
        if self.list_at.is_some_and(|at| at <= now) {
            self.list_at = Some(now + self.core.policy.list_every);
            self.list();
        }
        self.look_at_due(now);
        self.end_when_idle(now);
    }

    /// The next moment at which something is due.
    fn next_time(&self) -> Option<Instant> {
        [
            self.next_look_time(),
            self.link.retry_at(),
            self.list_at,
            self.watch_at,
            self.idle_at,
            self.strays.next(),
            self.coalesced.next(),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    fn hear_words(&mut self) {
        let words = self.post.words();
        if let Some(server) = words.server {
            self.reconfigure(server);
        }
        if let Some((why, hint)) = words.unreached {
            self.unreached_by_others(&why, &hint);
        }
        if words.connect_now {
            self.connect_now();
        }
        for (id, touch) in words.touched {
            self.reconsider(id, touch);
        }
    }

    fn finish(&mut self, job: Job) {
        match job {
            Job::Looked(looked) => self.looked(looked),
            Job::Stepped(stepped) => self.stepped(stepped),
            Job::Connected(outcome) => self.connected(*outcome),
            Job::Listed(found) => self.listed(found),
            Job::Remembered(connection) => self.remembered(connection),
            Job::Done => {}
        }
    }

    fn hear(&mut self, event: Option<UpstreamEvent>) {
        match event {
            Some(event) => self.event(event),
            None => self.stream_ended(),
        }
    }

    /// Applies something that happened to a task, after what happened to it before.
    fn step(&mut self, id: HandleId, step: Step) {
        if let Some(step) = self.lanes.enter(id, step) {
            self.start_step(id, step);
        }
    }

    fn start_step(&mut self, id: HandleId, step: Step) {
        let running = step::run(Arc::clone(&self.core), Arc::clone(&self.post), id, step);
        self.jobs.push(Box::pin(async move { Job::Stepped(running.await) }));
    }

    fn stepped(&mut self, stepped: Stepped) {
        let id = stepped.id;
        if let Some(asked) = stepped.asked {
            self.asked(id, asked);
        }
        if let Some(next) = self.lanes.leave(id) {
            self.start_step(id, next);
        }
        if stepped.replaced {
            self.raise_generation();
        }
        self.reconsider(id, Touch::default());
    }

    /// Reads the server's own list, beside everything else.
    fn list(&mut self) {
        let Some(live) = self.post.live() else { return };
        let (core, post) = (Arc::clone(&self.core), Arc::clone(&self.post));
        // Tasks of earlier sessions and generations are known by their id alone while they are open.
        let open = self.book.tasks().map(|(task, id)| (task.clone(), id)).collect();
        self.jobs.push(Box::pin(async move { Job::Listed(sweep_list(core, post, live, open).await) }));
    }

    fn listed(&mut self, found: Found) {
        for id in found.moved {
            self.look_soon(id);
        }
        if let Some(after) = found.slow_down {
            self.slow_down(after);
        }
        if found.no_list {
            self.list_at = None;
        }
    }

    /// Begins, goes on or ends looking at a task, as its handle says now.
    fn reconsider(&mut self, id: HandleId, touch: Touch) {
        let handle = self.core.ledger.held(id);
        let now = self.core.now();
        let task = handle.as_ref().and_then(|handle| watched_task(handle, now));
        let Some(task) = task else {
            if self.book.close(id) {
                self.core.ledger.plan_look(id, None);
                self.watch_soon();
            }
            return;
        };
        let first = self.core.instant(touch.look_at.unwrap_or(now));
        if self.book.open(id, task, first) {
            self.watch_soon();
            for event in self.strays.claim(task) {
                self.event(event);
            }
        }
        if touch.person_acted {
            let policy = &self.core.policy;
            let after = [policy.first_poll_after_act, policy.second_poll_after_act];
            self.book.change(id, |track| track.earn(Instant::now(), after));
        }
        if touch.soon || (touch.look_at.is_some() && lacks(handle.as_deref())) {
            self.look_soon(id);
        }
        self.plan(id);
    }
}

fn lacks(handle: Option<&TaskHandle>) -> bool {
    handle.is_some_and(lacks_result)
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

impl Drop for Follower {
    /// A follower that panics must not leave its server looking healthy; it is started anew after a while.
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.post.set_health(ServerHealth::Down {
                since: self.core.now(),
                why: "Taskwarden failed while following it".into(),
                hint: "It is taken up again by itself; please report this with the log.".into(),
                retry_at: None,
            });
        }
    }
}
