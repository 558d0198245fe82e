//! What a server says unasked, brought to the task it is about.
//!
//! Pushes enter through the same `observe` as polls. Progress is thinned, and the last one always lands. A word about
//! a task that is not known yet waits a moment, because a push may be faster than the reply that creates the task.
//! Events of a connection are taken in the order of their arrival.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use domain::task::LiveOutcome;
use domain::ids::{HandleId, UpstreamTaskId};
use domain::task::observation::Progress;
use domain::ports::{AnswerToSend, UpstreamEvent, UpstreamSubject};
use domain::task::input_request::{AnswerAction, Ask, AskDoor, LiveQuestion, RequestState};
use domain::task::status::TaskStatus;
use tokio::time::Instant;

use super::book::pause;
use super::step::{Asked, Step, lacks_payload};
use super::{Follower, Job};

/// Words about unknown tasks that wait at most; a server that talks of tasks we shall never know costs no more.
const STRAYS_MAX: usize = 64;

/// Words about tasks that are not known (yet).
#[derive(Default)]
pub(crate) struct Strays(VecDeque<(Instant, UpstreamTaskId, UpstreamEvent)>);

impl Strays {
    fn keep(&mut self, until: Instant, task: UpstreamTaskId, event: UpstreamEvent) {
        if self.0.len() >= STRAYS_MAX {
            self.0.pop_front();
        }
        self.0.push_back((until, task, event));
    }

    /// Takes what was said about a task that is known now.
    pub(crate) fn claim(&mut self, task: &UpstreamTaskId) -> Vec<UpstreamEvent> {
        let (mine, others): (VecDeque<_>, VecDeque<_>) =
            std::mem::take(&mut self.0).into_iter().partition(|(_, about, _)| about == task);
        self.0 = others;
        mine.into_iter().map(|(_, _, event)| event).collect()
    }

    /// Forgets what waited long enough.
    pub(crate) fn forget(&mut self, now: Instant) {
        while self.0.front().is_some_and(|(until, _, _)| *until <= now) {
            self.0.pop_front();
        }
    }

    /// When the next one is forgotten.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.0.front().map(|(until, _, _)| *until)
    }
}

/// Tasks whose progress was committed a moment ago: the next commit is no earlier than this.
#[derive(Default)]
pub(crate) struct Coalesced(HashMap<HandleId, Instant>);

impl Coalesced {
    /// When the next kept progress may be committed.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.0.values().min().copied()
    }

    /// Takes the tasks whose progress may be committed now.
    fn ready(&mut self, now: Instant) -> Vec<HandleId> {
        let ready: Vec<_> = self.0.iter().filter(|(_, at)| **at <= now).map(|(id, _)| *id).collect();
        for id in &ready {
            self.0.remove(id);
        }
        ready
    }
}

impl Follower {
    pub(super) fn event(&mut self, event: UpstreamEvent) {
        match event {
            UpstreamEvent::Seen(task, seen) => match self.book.handle_of(&task) {
                // One look brings the end and what it ended with together.
                Some(id) if lacks_payload(&seen) => self.look_soon(id),
                Some(id) => self.pushed(id, *seen),
                None => self.stray(task.clone(), UpstreamEvent::Seen(task, seen)),
            },
            UpstreamEvent::Question(subject, question) => self.question(subject, question),
            UpstreamEvent::QuestionWithdrawn { token } => self.withdrawn(&token),
            UpstreamEvent::QuestionsRefused(count) => self.questions_refused(count),
            UpstreamEvent::VisitDone { elicitation } => self.visit_done(&elicitation),
            UpstreamEvent::Progress(subject, progress) => {
                if let Some(id) = self.subject(&subject) {
                    self.progress(id, progress);
                }
            }
            UpstreamEvent::Subscribed(tasks) => self.subscribed(&tasks),
            UpstreamEvent::PollSoon(task) => match self.book.handle_of(&task) {
                Some(id) => self.look_soon(id),
                None => self.stray(task.clone(), UpstreamEvent::PollSoon(task)),
            },
            UpstreamEvent::ToolsChanged => self.core.pulse.health_changed(self.server.id),
            UpstreamEvent::Closed(closure) => self.closed(closure),
        }
    }

    fn pushed(&mut self, id: HandleId, seen: domain::task::observation::Observation) {
        self.post.set_pushes(true);
        let told = seen.hint;
        let changed = self.take_in(id, seen);
        self.book.change(id, |track| {
            track.failures = 0;
            track.unknown = 0;
            if changed {
                track.unchanged = 0;
            }
        });
        // A server that pushes need not be polled before its safety interval is over.
        let Some(handle) = self.core.ledger.held(id) else { return };
        let hint = told.or(handle.view.task().and_then(|task| task.hint));
        let (random, policy) = (self.core.dice.share(), &self.core.policy);
        self.book.change(id, |track| {
            let calm = Instant::now() + pause(track, hint, None, random, policy);
            // Without a subscription one push promises no other; but a longer hint that it brings counts at once.
            if !track.reading && (track.subscribed || told.is_some() && track.due.is_some_and(|due| due < calm)) {
                track.due = Some(calm);
            }
        });
        self.plan(id);
    }

    fn stray(&mut self, task: UpstreamTaskId, event: UpstreamEvent) {
        self.strays.keep(Instant::now() + self.core.policy.backoff_last, task, event);
    }

    fn subject(&self, subject: &UpstreamSubject) -> Option<HandleId> {
        match subject {
            UpstreamSubject::Call(id) => Some(*id),
            UpstreamSubject::Task(task) => self.book.handle_of(task),
            UpstreamSubject::Unsaid => None,
        }
    }

    /// Who may be asking a question that does not say who asks: every call in flight, and every task that says it waits
    /// for input. The oldest is first, and stores it.
    fn candidates(&self) -> Vec<HandleId> {
        let waiting = |handle: &domain::task::TaskHandle| {
            handle.view.task().is_some_and(|task| task.status == TaskStatus::InputRequired)
        };
        let flights = self.post.in_flight();
        let handles = self.core.ledger.of_line(self.post.line);
        let asking = handles.iter().filter(|handle| waiting(handle)).map(|handle| handle.id);
        let all: BTreeSet<HandleId> = asking.chain(flights).collect();
        let mut all: Vec<HandleId> = all.into_iter().collect();
        let age = |id: &HandleId| self.core.ledger.held(*id).map(|handle| handle.created);
        // A call without a row is younger than any that has one.
        all.sort_by_key(|id| (age(id).is_none(), age(id), *id));
        all.truncate(self.core.policy.question_candidates_max);
        all
    }

    fn question(&mut self, subject: UpstreamSubject, question: LiveQuestion) {
        let (id, others) = match &subject {
            UpstreamSubject::Unsaid => {
                let mut all = self.candidates().into_iter();
                (all.next(), all.collect())
            }
            UpstreamSubject::Call(_) | UpstreamSubject::Task(_) => (self.subject(&subject), BTreeSet::new()),
        };
        match (id, subject) {
            (Some(id), _) => self.step(id, Step::Asked(Box::new(question), others)),
            (None, UpstreamSubject::Task(task)) => {
                let subject = UpstreamSubject::Task(task.clone());
                self.stray(task, UpstreamEvent::Question(subject, question));
            }
            (None, UpstreamSubject::Call(_) | UpstreamSubject::Unsaid) => self.dismiss(None, &question),
        }
    }

    /// What a question turned out to be, after it was stored.
    pub(super) fn asked(&mut self, id: HandleId, asked: Asked) {
        let Asked { question, others, outcome } = asked;
        match outcome {
            LiveOutcome::Opened(_) | LiveOutcome::Same(_) => {}
            LiveOutcome::NoSpace => self.park_question(id, question, others),
            LiveOutcome::AnsweredBefore(_) => self.core.parcels.leave(id, self.core.now()),
            LiveOutcome::Rejected(_) => {
                let task = self.core.ledger.held(id).and_then(|handle| handle.view.task().map(|task| task.id.clone()));
                self.dismiss(task, &question);
            }
        }
    }

    /// Tells the server that nobody will answer.
    pub(super) fn dismiss(&self, task: Option<UpstreamTaskId>, question: &LiveQuestion) {
        let Some(live) = self.post.live().filter(|live| live.id == question.connection) else { return };
        let door = AskDoor::Live {
            connection: question.connection,
            token: question.token.clone(),
            digest: question.digest.clone(),
        };
        let answer = AnswerToSend { door, action: AnswerAction::Dismiss, content: None };
        self.jobs.push(Box::pin(async move {
            if let Err(error) = live.upstream.answer(task, vec![answer]).await {
                tracing::debug!(%error, "a question that nobody can answer could not be dismissed");
            }
            Job::Done
        }));
    }

    fn withdrawn(&mut self, token: &str) {
        self.waiting_questions.forget(token);
        let Some(live) = self.post.live() else { return };
        // A question may still be on its way into its task: every open handle of the connection hears of it, and the
        // step waits behind the question's.
        for handle in self.core.ledger.of_line(self.post.line) {
            let asked = handle.requests.values().any(|request| match &request.door {
                AskDoor::Live { connection, token: known, .. } => *connection == live.id && known == token,
                AskDoor::Listed { .. } | AskDoor::Round { .. } => false,
            });
            if asked || self.lanes.is_busy(handle.id) {
                self.step(handle.id, Step::TakenBack(live.id, token.to_owned()));
            }
        }
    }

    /// A visit was completed: whichever task waits for it is looked at.
    fn visit_done(&mut self, elicitation: &str) {
        for handle in self.core.ledger.of_line(self.post.line) {
            let waits = handle.requests.values().any(|request| match (&request.ask, &request.state) {
                (Ask::Visit { elicitation: Some(id), .. }, RequestState::Open | RequestState::Answered(_)) => {
                    id == elicitation
                }
                _ => false,
            });
            if waits {
                self.look_soon(handle.id);
            }
        }
    }

    fn progress(&mut self, id: HandleId, progress: Progress) {
        if self.post.flight(id).is_some_and(|flight| !flight.has_row()) {
            return self.post.keep_progress(id, progress);
        }
        let now = Instant::now();
        if self.coalesced.0.contains_key(&id) || self.lanes.is_busy(id) {
            self.post.keep_progress(id, progress);
            let next = now + self.progress_gap();
            self.coalesced.0.entry(id).or_insert(next);
            return;
        }
        self.coalesced.0.insert(id, now + self.progress_gap());
        self.step(id, Step::Progressed(progress));
    }

    fn progress_gap(&self) -> Duration {
        Duration::from_secs(1) / self.core.policy.progress_per_second.max(1)
    }

    /// Commits kept progress whose time has come.
    pub(super) fn land_progress(&mut self, now: Instant) {
        for id in self.coalesced.ready(now) {
            if self.lanes.is_busy(id) {
                self.coalesced.0.insert(id, now + self.progress_gap());
            } else if let Some(progress) = self.post.take_progress(id) {
                self.coalesced.0.insert(id, now + self.progress_gap());
                self.step(id, Step::Progressed(progress));
            }
        }
    }

    fn subscribed(&mut self, tasks: &[UpstreamTaskId]) {
        self.post.set_pushes(!tasks.is_empty());
        let pushed: HashSet<HandleId> = tasks.iter().filter_map(|task| self.book.handle_of(task)).collect();
        let (core, now) = (Arc::clone(&self.core), Instant::now());
        self.book.subscribed(&pushed, |id, track| {
            let hint = core.ledger.held(id).and_then(|handle| handle.view.task().and_then(|task| task.hint));
            now + pause(track, hint, None, core.dice.share(), &core.policy)
        });
        for id in self.book.handles() {
            self.plan(id);
        }
    }

    /// The set of live tasks changed; the connection is told in a moment, once for many.
    pub(super) fn watch_soon(&mut self) {
        if self.post.live().is_some() && self.watch_at.is_none() {
            self.watch_at = Some(Instant::now() + self.core.policy.watch_settle);
        }
    }

    pub(super) fn tell_watched(&mut self) {
        let Some(live) = self.post.live() else { return };
        let held = |id| self.core.ledger.held(id).is_some_and(|handle| live.holds(&handle));
        let tasks = self.book.tasks().filter(|(_, id)| held(*id)).map(|(task, _)| task.clone()).collect();
        live.upstream.watch(tasks);
    }
}
