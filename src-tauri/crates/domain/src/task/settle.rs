//! What every transition has in common: facts, effects, and the settling at its end.
//!
//! Settling runs the pause clock (promise A5), decides whether there is anything to commit (rule 2), and clears notes
//! of what may be notified again. It decides nothing about servers, people or questions: see the files beside this one.

use std::mem::discriminant;

use super::{
    AgentFailure, AgentView, Attention, Audience, Effect, OwnFailure, TaskHandle, Told, Transition, agent_failure,
    agent_view,
};
use crate::audit::{Actor, AuditEvent, Subject, Verb};
use crate::ids::RequestKey;
use crate::raw_message::{Direction, RawMessage, RawText};
use crate::task::payload::{Payload, PayloadKind, PayloadWrite};
use crate::task::status::{CancelRequest, Contact, Intent, Phase, ServerView};
use crate::time::Timestamp;

impl TaskHandle {
    /// Whether nothing more is expected of the task, whatever the time.
    pub fn is_over(&self) -> bool {
        self.view.is_terminal() || self.contact.is_gone() || self.is_unwatched()
    }

    /// Whether a person stopped watching it.
    pub(crate) fn is_unwatched(&self) -> bool {
        matches!(self.intent, Intent::Unwatched { .. }) || self.told.contains(&Told::Resolved)
    }

    /// When nothing more was expected of it; `None` while something is.
    #[must_use]
    pub fn ended_at(&self) -> Option<Timestamp> {
        self.is_over().then(|| self.ended.unwrap_or(self.changed))
    }

    /// Whether a question is open, whoever is asked.
    pub(crate) fn has_open_request(&self) -> bool {
        self.requests.values().any(|request| request.state.is_open())
    }

    /// The cancel request, when there is one.
    #[must_use]
    pub fn cancel_request(&self) -> Option<&CancelRequest> {
        self.intent.cancel_request()
    }

    /// The cancel request, to be moved on.
    pub(crate) fn cancel_request_mut(&mut self) -> Option<&mut CancelRequest> {
        self.intent.cancel_request_mut()
    }

    /// When the server may have dropped the task.
    pub(crate) fn expires(&self) -> Option<Timestamp> {
        self.view.task().and_then(|task| task.expires)
    }
}

impl Transition {
    /// Adds a fact about the task.
    pub(crate) fn fact(&mut self, at: Timestamp, actor: Actor, verb: Verb, note: impl Into<String>) {
        let subject = Subject::Handle(self.next.id);
        self.audit.push(AuditEvent { at, actor, verb, subject, note: note.into() });
    }

    /// Adds a fact about one of its questions.
    pub(crate) fn request_fact(
        &mut self,
        at: Timestamp,
        actor: Actor,
        verb: Verb,
        key: &RequestKey,
        note: impl Into<String>,
    ) {
        let subject = Subject::Request(self.next.id, key.clone());
        self.audit.push(AuditEvent { at, actor, verb, subject, note: note.into() });
    }

    /// Adds an effect once.
    pub(crate) fn effect(&mut self, effect: Effect) {
        if !self.effects.contains(&effect) {
            self.effects.push(effect);
        }
    }

    /// Keeps a raw message.
    pub(crate) fn said(&mut self, at: Timestamp, direction: Direction, about: &str, text: &RawText) {
        self.raw.push(RawMessage::new(at, direction, about, text));
    }

    /// Stores or erases a payload.
    pub(crate) fn keep(&mut self, kind: PayloadKind, payload: Option<Payload>) {
        self.payloads.push(PayloadWrite { kind, payload });
    }

    /// The server of this task, as the one who acted.
    pub(crate) fn by_server(&self) -> Actor {
        Actor::Server(self.next.server)
    }

    /// Ends a transition: pause clock, what may be notified again, and whether there is anything to commit.
    pub(crate) fn settle(mut self, before: &TaskHandle, now: Timestamp) -> Self {
        let people_at = before.people_tick().filter(|at| *at <= now);
        run_pause_clock(&mut self.next, people_at.is_some(), now);
        note_progress(&mut self.next, before, now);
        forget_told(&mut self.next, before, now);
        keep_shown_end(&mut self.next, before, now);
        let facts = !self.audit.is_empty() || !self.log.is_empty() || !self.payloads.is_empty() || !self.raw.is_empty();
        self.changed = facts || differs(before, &self.next);
        if self.changed {
            self.tell_overdue(now);
            if let Some(since) = people_at {
                self.people_asked(since, now);
            }
            self.touch(before, now);
            if self.next.is_over() {
                self.next.frozen_since = None;
                self.next.more_questions = 0;
                self.next.shared.elsewhere.clear();
            }
            self.next.ended = if self.next.is_over() { self.next.ended.or(Some(now)) } else { None };
        }
        self
    }

    /// It changed in this moment, which does not go back when a clock does. While an agent sees the same end, the moment
    /// that it sees stays.
    pub(crate) fn touch(&mut self, before: &TaskHandle, now: Timestamp) {
        self.changed = true;
        self.next.changed = now.max(before.changed);
        if self.next.agent.is_none() {
            return;
        }
        let shown = agent_view(&self.next, now);
        self.next.end_shown = match (shown.is_terminal(), shown == agent_view(before, now)) {
            (true, true) => before.end_shown.or(Some(before.changed)),
            (true, false) => Some(self.next.changed),
            (false, _) => None,
        };
    }

    /// Notes the cause of a loss with the transition in which it was lost, and forgets it when it is found again. `first`
    /// says when the first task was lost for the same cause.
    #[must_use]
    pub fn with_loss_cause(mut self, now: Timestamp, first: impl FnOnce(&TaskHandle) -> Timestamp) -> Self {
        match (self.next.phase(now), self.next.loss_cause) {
            (phase @ (Phase::Lost | Phase::Unconfirmed), None) if self.changed && !self.next.is_settled_loss(phase) => {
                self.next.loss_cause = Some(first(&self.next));
            }
            (Phase::Lost | Phase::Unconfirmed, _) | (_, None) => {}
            (_, Some(_)) => self.next.loss_cause = None,
        }
        self
    }

    /// The commit of this moment says that people are asked by time alone. The clock stands since they are, however late
    /// that is looked at.
    pub(crate) fn people_asked(&mut self, since: Timestamp, now: Timestamp) {
        if !self.next.has_request_for_people(now) {
            return;
        }
        self.next.paused_since.get_or_insert(since);
        if self.next.phase(now).asks_people() {
            self.effect(Effect::Tell(Attention::Waiting));
        }
    }

    /// Says once that the task is overdue.
    pub(crate) fn tell_overdue(&mut self, now: Timestamp) {
        if self.next.phase(now) == Phase::Overdue && self.next.told.insert(Told::Overdue) {
            self.effect(Effect::Tell(Attention::Problem));
        }
    }
}

/// Waiting for a person stops the clock, as a pause does, and moves the due time by as long as it lasted. A question
/// that only the agent is asked does not: the server may work on, and nobody else would notice. Where people are asked by
/// time alone, the clock stops with the commit that says so (`is_tick_due`), not by a look that brings nothing new.
fn run_pause_clock(next: &mut TaskHandle, is_tick_due: bool, now: Timestamp) {
    let stands_still = next.stands_still() && !next.is_over();
    // A question that may be another task's counts as its own do: where the agent alone is asked, no person is waited for.
    let is_agents = next.audience == Audience::Agent && next.orphaned.is_none();
    let waits_elsewhere = (!next.shared.elsewhere.is_empty() && !is_agents) || stands_still;
    let waits = next.has_request_for_people(now) || waits_elsewhere;
    match (waits, next.paused_since) {
        (true, None) if is_tick_due && !waits_elsewhere => {}
        (true, None) => next.paused_since = Some(now),
        (false, Some(since)) => {
            let waited = now.since(since);
            next.paused_ms = next.paused_ms.saturating_add(u64::try_from(waited.as_millis()).unwrap_or(u64::MAX));
            if let Some(due) = &mut next.due {
                due.at = due.at.plus(waited);
            }
            next.run_limits.dues_mut().for_each(|due| *due = due.plus(waited));
            next.paused_since = None;
        }
        (true, Some(_)) | (false, None) => {}
    }
}

/// A new status or message is progress, new figures are, and so is a question or its answer; a new time to live or poll
/// interval is not. While it waits for a person, the moment counts from the beginning of the wait, because the end of the
/// wait moves it by the whole of it.
fn note_progress(next: &mut TaskHandle, before: &TaskHandle, now: Timestamp) {
    let same_words = match (&before.view, &next.view) {
        (ServerView::Task(old), ServerView::Task(new)) => old.status == new.status && old.message == new.message,
        (old, new) => old == new,
    };
    if !same_words || before.progress != next.progress || before.requests != next.requests {
        let from = next.paused_since.unwrap_or(now);
        next.run_limits.progressed(from);
    }
}

/// An end that the agent may have been shown stays what it is for this agent, whatever is learnt later (statement 69).
fn keep_shown_end(next: &mut TaskHandle, before: &TaskHandle, now: Timestamp) {
    if before.given.is_none() {
        return;
    }
    match agent_view(before, now) {
        AgentView::Cancelled => {
            if agent_view(next, now) != AgentView::Cancelled {
                next.cancelled_for_agent = next.cancelled_for_agent.or(Some(now));
            }
        }
        AgentView::Failed => {
            // The words stay, too: a late error of the server's is not the one that was shown.
            let failure = agent_failure(before, now);
            if failure == agent_failure(next, now) {
                return;
            }
            let failure = match failure {
                Some(AgentFailure::Ours(failure)) => failure,
                Some(AgentFailure::Stored) | None => OwnFailure::WithoutReason,
            };
            next.failed_for_agent.get_or_insert_with(|| failure.kept());
        }
        AgentView::Working { .. } | AgentView::InputRequired { .. } | AgentView::Completed | AgentView::Gone => {}
    }
}

/// What was notified about a moment or a cancel request that has changed since may be notified again.
fn forget_told(next: &mut TaskHandle, before: &TaskHandle, now: Timestamp) {
    if next.due != before.due && next.due.is_none_or(|due| due.at > now) {
        next.told.remove(&Told::Overdue);
    }
    if next.expires() != before.expires() && next.expires().is_none_or(|expires| expires > now) {
        next.told.remove(&Told::Expiry);
    }
    if next.cancel_request().map(|cancel_request| cancel_request.at)
        != before.cancel_request().map(|cancel_request| cancel_request.at)
    {
        next.told.remove(&Told::Disobeyed);
    }
    if next.requests != before.requests {
        next.told.remove(&Told::AnswerUnfit);
    }
}

/// Whether anything is worth a commit: not when it was last seen, how often a poll failed, nor the server's clock.
fn differs(before: &TaskHandle, next: &TaskHandle) -> bool {
    let same_contact = match (&before.contact, &next.contact) {
        (Contact::Fresh { .. }, Contact::Fresh { .. }) => true,
        (Contact::Silent { last, .. }, Contact::Silent { last: later, .. }) => {
            discriminant(last) == discriminant(later)
        }
        (old, new) => old == new,
    };
    let same_view = match (&before.view, &next.view) {
        (ServerView::Task(old), ServerView::Task(new)) => {
            old == new || *old == crate::task::status::TaskView { updated: old.updated, ..new.clone() }
        }
        (old, new) => old == new,
    };
    !same_contact
        || !same_view
        || before.home != next.home
        || before.intent != next.intent
        || before.requests != next.requests
        || before.shared != next.shared
        || before.more_questions != next.more_questions
        || before.progress != next.progress
        || before.due != next.due
        || before.paused_since != next.paused_since
        || before.paused_ms != next.paused_ms
        || before.frozen_since != next.frozen_since
        || before.contradicted != next.contradicted
        || before.told != next.told
        || before.audience != next.audience
        || before.given != next.given
        || before.undelivered != next.undelivered
        || before.orphaned != next.orphaned
        || before.hold != next.hold
        || before.escalation != next.escalation
        || before.tokens != next.tokens
        || before.over_limit != next.over_limit
        || before.run_limits != next.run_limits
        || before.cancelled_for_agent != next.cancelled_for_agent
        || before.failed_for_agent != next.failed_for_agent
        || before.loss_cause != next.loss_cause
}
