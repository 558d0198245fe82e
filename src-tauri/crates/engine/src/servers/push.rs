//! What a server pushes, brought to the task it is about, in the order of arrival.
//!
//! Pushes enter through the same `observe` as polls. Progress is throttled, and the last one is always stored. An event
//! of a task that is not known yet waits a moment, because a push may be faster than the reply that creates the task. Of
//! what waited in vain a question alone is not dropped: it is put to the calls in flight, or refused.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;

use domain::ids::{HandleId, UpstreamTaskId};
use domain::ports::{AnswerToSend, UpstreamEvent, UpstreamSubject};
use domain::task::input_request::{AnswerAction, Ask, AskDoor, LiveQuestion, RequestState};
use domain::task::observation::Progress;
use domain::task::status::TaskStatus;
use domain::task::{LiveOutcome, TaskHandle};
use tokio::time::Instant;

use crate::connections::live_connection::LiveConnection;
use crate::servers::actor::ServerActor;
use crate::servers::state::finished_job::FinishedJob;
use crate::servers::state::poll_queue::poll_delay;
use crate::servers::state::task_lane::{LaneUpdate, StoredQuestion, lacks_payload};

impl ServerActor {
    pub(crate) fn event(&mut self, event: UpstreamEvent) {
        match event {
            UpstreamEvent::Seen(task, seen) => match self.polls.handle_of(&task) {
                // One poll brings the end and what it ended with together.
                Some(id) if lacks_payload(&seen) => self.poll_soon(id),
                Some(id) => self.pushed(id, *seen),
                None => self.keep_early(task.clone(), UpstreamEvent::Seen(task, seen)),
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
            UpstreamEvent::PollSoon(task) => match self.polls.handle_of(&task) {
                Some(id) => self.poll_soon(id),
                None => self.keep_early(task.clone(), UpstreamEvent::PollSoon(task)),
            },
            UpstreamEvent::ToolsChanged => self.tools_changed(),
            UpstreamEvent::StreamLost => self.check_soon(),
            UpstreamEvent::Closed(closure) => self.closed(closure),
        }
    }

    fn pushed(&mut self, id: HandleId, seen: domain::task::observation::Observation) {
        self.connection.set_pushes(true);
        let hint_now = seen.hint;
        let changed = self.take_in(id, seen);
        self.core.ledger.poll_succeeded(id);
        self.polls.change(id, |state| {
            state.failures = 0;
            state.unknown = 0;
            if changed {
                state.unchanged = 0;
            }
        });
        // A server that pushes need not be polled before its safety interval is over.
        let Some(handle) = self.core.ledger.held(id) else { return };
        let hint = hint_now.or(handle.view.task().and_then(|task| task.hint));
        let (random, policy) = (self.core.time.random.fraction(), &self.core.policy);
        self.polls.change(id, |state| {
            let calm = Instant::now() + poll_delay(state, hint, None, random, policy);
            // Without a subscription one push promises no other; but a longer hint that it brings counts at once.
            if !state.reading && (state.subscribed || hint_now.is_some() && state.due.is_some_and(|due| due < calm)) {
                state.due = Some(calm);
            }
        });
        self.plan(id);
    }

    fn keep_early(&mut self, task: UpstreamTaskId, event: UpstreamEvent) {
        // The server of a question waits for the answer; a reply that is on its way comes at once.
        let is_question = matches!(event, UpstreamEvent::Question(..));
        let policy = &self.core.policy;
        let wait = if is_question { policy.promote_after } else { policy.backoff_last };
        if let Some(oldest) = self.early_events.keep(Instant::now() + wait, task, event) {
            self.unclaimed(oldest);
        }
    }

    /// Ends the wait of events whose task did not come.
    pub(crate) fn end_early_events(&mut self, now: Instant) {
        for event in self.early_events.end(now) {
            self.unclaimed(event);
        }
    }

    /// An event of a task that is not open here. A question may be that of a call in flight: a server may give a task its
    /// id, and ask, before it replies to the call. Without such a call nobody can be asked.
    fn unclaimed(&mut self, event: UpstreamEvent) {
        let UpstreamEvent::Question(_, question) = event else { return };
        // With its connection the server's wait for an answer is over.
        let Some(live) = self.connection.live().filter(|live| live.id == question.connection) else { return };
        let mut calls = self.by_age(self.connection.in_flight_on(&live).into_iter().collect()).into_iter();
        match calls.next() {
            Some(first) => self.apply(first, LaneUpdate::Asked(Box::new(question), calls.collect())),
            None => self.refuse_question(live, question.token),
        }
    }

    /// Refuses a question about a task that is not open here, so that its server does not wait for ever.
    fn refuse_question(&self, live: Arc<LiveConnection>, token: String) {
        self.connection.observed.log.question_refused(self.connection.key.seat, self.core.time.now());
        self.jobs.push(Box::pin(async move {
            if let Err(error) = live.upstream.refuse_question(token).await {
                tracing::debug!(%error, "a question about a task that is not open could not be refused");
            }
            FinishedJob::Done
        }));
    }

    fn subject(&self, subject: &UpstreamSubject) -> Option<HandleId> {
        match subject {
            UpstreamSubject::Call(id) => Some(*id),
            UpstreamSubject::Task(task) => self.polls.handle_of(task),
            UpstreamSubject::Unsaid => None,
        }
    }

    /// Who asks a question that does not say who asks, the one that stores it first.
    ///
    /// A task that was asked by the same request on an earlier connection asks again, and nobody else. A request that was
    /// closed with its task is nobody's. Then come the tasks that were asked the very same on an earlier connection. Where
    /// there is none of these, it may be every call in flight here, and every task here that says it waits for input. What
    /// ended, what lost its reply, and what belongs to an earlier process is none of them.
    fn candidates(&mut self, question: &LiveQuestion) -> Vec<HandleId> {
        let Some(live) = self.connection.live() else { return Vec::new() };
        let handles = self.core.ledger.of_connection(self.connection.key);
        let again: Vec<_> = handles.iter().filter(|handle| handle.is_asked_again(question)).collect();
        if let Some(same) = again.iter().find(|handle| handle.was_asked_by(&question.token)) {
            return vec![same.id];
        }
        let closed = |handle: &TaskHandle| live.holds(handle) && handle.has_closed(question);
        let was_closed = self.tracker.ended_before.iter().any(closed) || handles.iter().any(|handle| closed(handle));
        // A process that outlived its core asks again once; a server that uses an id again asks something new.
        if was_closed && self.tracker.closed_again.insert(question.token.clone()) {
            return Vec::new();
        }
        if !again.is_empty() {
            return self.by_age(again.into_iter().map(|handle| handle.id).collect());
        }
        let waiting = |handle: &TaskHandle| {
            let wants_input = handle.view.task().is_some_and(|task| task.status == TaskStatus::InputRequired);
            wants_input && handle.may_ask_live() && live.holds(handle)
        };
        let asking = handles.iter().filter(|handle| waiting(handle)).map(|handle| handle.id);
        let all: BTreeSet<HandleId> = asking.chain(self.connection.in_flight_on(&live)).collect();
        self.by_age(all)
    }

    /// The oldest first, as many as may share a question. What a person stopped watching comes last: it stores nothing.
    fn by_age(&self, ids: BTreeSet<HandleId>) -> Vec<HandleId> {
        let mut all: Vec<HandleId> = ids.into_iter().collect();
        all.sort_by_cached_key(|id| {
            let held = self.core.ledger.held(*id);
            let is_over = held.as_ref().is_some_and(|handle| handle.ended_at().is_some());
            // A call without a row is younger than any that has one.
            (is_over, held.is_none(), held.map(|handle| handle.created), *id)
        });
        all.truncate(self.core.policy.question_candidates_max);
        all
    }

    fn question(&mut self, subject: UpstreamSubject, question: LiveQuestion) {
        let (id, others) = match &subject {
            UpstreamSubject::Unsaid => {
                let mut all = self.candidates(&question).into_iter();
                (all.next(), all.collect())
            }
            UpstreamSubject::Call(_) | UpstreamSubject::Task(_) => (self.subject(&subject), BTreeSet::new()),
        };
        match (id, subject) {
            (Some(id), _) => self.apply(id, LaneUpdate::Asked(Box::new(question), others)),
            (None, UpstreamSubject::Task(task)) => {
                let subject = UpstreamSubject::Task(task.clone());
                self.keep_early(task, UpstreamEvent::Question(subject, question));
            }
            (None, UpstreamSubject::Call(_) | UpstreamSubject::Unsaid) => self.dismiss(None, &question),
        }
    }

    /// What a question turned out to be, after it was stored.
    pub(crate) fn asked(&mut self, id: HandleId, asked: StoredQuestion) {
        let StoredQuestion { question, others, outcome } = asked;
        match outcome {
            LiveOutcome::Opened(_) | LiveOutcome::Same(_) => {}
            LiveOutcome::NoSpace => self.park_question(id, question, others),
            LiveOutcome::AnsweredBefore(_) => self.core.effects.deliveries.push(id, self.core.time.now()),
            LiveOutcome::Rejected(_) => {
                let task = self.core.ledger.held(id).and_then(|handle| handle.view.task().map(|task| task.id.clone()));
                self.dismiss(task, &question);
            }
        }
    }

    /// Dismisses a question that nobody will answer.
    pub(crate) fn dismiss(&self, task: Option<UpstreamTaskId>, question: &LiveQuestion) {
        let Some(live) = self.connection.live().filter(|live| live.id == question.connection) else { return };
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
            FinishedJob::Done
        }));
    }

    fn withdrawn(&mut self, token: &str) {
        self.waiting_questions.forget(token);
        self.early_events.forget_question(token);
        let Some(live) = self.connection.live() else { return };
        // A question may still be on its way into its task: every open handle of the connection gets the withdrawal,
        // which waits behind the question.
        for handle in self.core.ledger.of_connection(self.connection.key) {
            let asked = handle.requests.values().any(|request| match &request.door {
                AskDoor::Live { connection, token: known, .. } => *connection == live.id && known == token,
                AskDoor::Listed { .. } | AskDoor::Round { .. } => false,
            });
            if asked || self.lanes.is_busy(handle.id) {
                self.apply(handle.id, LaneUpdate::TakenBack(live.id, token.to_owned()));
            }
        }
    }

    /// A visit was completed: polls the task that waits for it.
    fn visit_done(&mut self, elicitation: &str) {
        for handle in self.core.ledger.of_connection(self.connection.key) {
            let waits = handle.requests.values().any(|request| match (&request.ask, &request.state) {
                (Ask::Visit { elicitation: Some(id), .. }, RequestState::Open | RequestState::Answered(_)) => {
                    id == elicitation
                }
                _ => false,
            });
            if waits {
                self.poll_soon(handle.id);
            }
        }
    }

    fn progress(&mut self, id: HandleId, progress: Progress) {
        if self.connection.in_flight_call(id).is_some_and(|in_flight| !in_flight.has_row()) {
            return self.connection.keep_progress(id, progress);
        }
        let now = Instant::now();
        if self.progress_throttle.0.contains_key(&id) || self.lanes.is_busy(id) {
            self.connection.keep_progress(id, progress);
            let next = now + self.progress_gap();
            self.progress_throttle.0.entry(id).or_insert(next);
            return;
        }
        self.progress_throttle.0.insert(id, now + self.progress_gap());
        self.apply(id, LaneUpdate::Progressed(progress));
    }

    fn progress_gap(&self) -> Duration {
        Duration::from_secs(1) / self.core.policy.progress_per_second.max(1)
    }

    /// Commits kept progress whose time has come.
    pub(crate) fn land_progress(&mut self, now: Instant) {
        for id in self.progress_throttle.ready(now) {
            if self.lanes.is_busy(id) {
                self.progress_throttle.0.insert(id, now + self.progress_gap());
            } else if let Some(progress) = self.connection.take_progress(id) {
                self.progress_throttle.0.insert(id, now + self.progress_gap());
                self.apply(id, LaneUpdate::Progressed(progress));
            }
        }
    }

    fn subscribed(&mut self, tasks: &[UpstreamTaskId]) {
        self.connection.set_pushes(!tasks.is_empty());
        let pushed: HashSet<HandleId> = tasks.iter().filter_map(|task| self.polls.handle_of(task)).collect();
        let (core, now) = (Arc::clone(&self.core), Instant::now());
        self.polls.subscribed(&pushed, |id, state| {
            let hint = core.ledger.held(id).and_then(|handle| handle.view.task().and_then(|task| task.hint));
            now + poll_delay(state, hint, None, core.time.random.fraction(), &core.policy)
        });
        for id in self.polls.handles() {
            self.plan(id);
        }
    }

    /// The set of tasks to subscribe to changed; the connection gets it in a moment, once for many changes.
    pub(crate) fn watch_soon(&mut self) {
        if self.connection.live().is_some() && self.watch_at.is_none() {
            self.watch_at = Some(Instant::now() + self.core.policy.watch_settle);
        }
    }

    pub(crate) fn update_subscription(&mut self) {
        let Some(live) = self.connection.live() else { return };
        let held = |id| self.core.ledger.held(id).is_some_and(|handle| live.holds(&handle));
        let tasks = self.polls.tasks().filter(|(_, id)| held(*id)).map(|(task, _)| task.clone()).collect();
        live.upstream.watch(tasks);
    }
}
