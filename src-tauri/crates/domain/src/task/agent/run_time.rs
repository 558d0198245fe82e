//! Limits of how long a task runs, and what people decide about a task that reached one.
//!
//! A limit is a moment that moves with every wait for a person and every step of the wall clock, like the due time
//! beside it. Only our clock counts: no time of a server enters. Limits of tokens are in `token_usage.rs`.

use std::time::Duration;

use crate::audit::{Actor, Verb};
use crate::ids::PersonId;
use crate::rule::{LimitKind, ResolvedRule, RuleSource, RunAction, SetRunLimit};
use crate::task::decider::Decider;
use crate::task::status::LogLine;
use crate::task::{Attention, Effect, Refusal, TaskHandle, Transition};
use crate::time::Timestamp;

/// One limit of time of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskRunLimit {
    /// So long it may run, or run without progress, by the rule.
    pub agreed: Duration,
    /// So long it may now: more where a person allowed more.
    pub allowed: Duration,
    pub action: RunAction,
    pub rule: RuleSource,
    /// When it is reached, unless the task waits for a person until then.
    pub due: Timestamp,
    /// When it was reached. Forgotten when a person allows more, and with new progress.
    pub reached: Option<Timestamp>,
    /// Who removed it, and when.
    pub removed: Option<(PersonId, Timestamp)>,
}

impl TaskRunLimit {
    /// A limit that begins to count now.
    #[must_use]
    pub fn new(set: SetRunLimit, now: Timestamp) -> Self {
        let SetRunLimit { limit, rule } = set;
        let due = now.plus(limit.allowed);
        let (agreed, action) = (limit.allowed, limit.action);
        Self { agreed, allowed: agreed, action, rule, due, reached: None, removed: None }
    }

    /// What it counts at this moment, without a wait that goes on.
    #[must_use]
    pub fn spent(&self, paused_since: Option<Timestamp>, now: Timestamp) -> Duration {
        let until = paused_since.unwrap_or(now);
        let over = until.since(self.due);
        self.allowed.saturating_sub(self.due.since(until)).saturating_add(over)
    }

    const fn is_in_force(&self) -> bool {
        self.removed.is_none()
    }

    /// The rule in words, for notes: `the rule for this tool, version 3`.
    fn rule_words(&self) -> String {
        self.rule.words()
    }
}

/// The limits of time of a task.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TaskRunLimits {
    /// How long it runs.
    pub time: Option<TaskRunLimit>,
    /// How long it runs without progress.
    pub progress: Option<TaskRunLimit>,
}

impl TaskRunLimits {
    /// Those of a task that begins now.
    #[must_use]
    pub fn begun(rules: &ResolvedRule, now: Timestamp) -> Self {
        let begun = |set: Option<SetRunLimit>| set.map(|set| TaskRunLimit::new(set, now));
        Self { time: begun(rules.time_limit), progress: begun(rules.progress_limit) }
    }

    /// The limit of this kind; there is none of tokens here.
    #[must_use]
    pub const fn get(&self, kind: LimitKind) -> Option<&TaskRunLimit> {
        match kind {
            LimitKind::Tokens | LimitKind::Calls => None,
            LimitKind::Time => self.time.as_ref(),
            LimitKind::Progress => self.progress.as_ref(),
        }
    }

    const fn get_mut(&mut self, kind: LimitKind) -> Option<&mut TaskRunLimit> {
        match kind {
            LimitKind::Tokens | LimitKind::Calls => None,
            LimitKind::Time => self.time.as_mut(),
            LimitKind::Progress => self.progress.as_mut(),
        }
    }

    /// Whether it has no limit.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.time.is_none() && self.progress.is_none()
    }

    /// Whether one was reached that still applies.
    #[must_use]
    pub fn is_reached(&self) -> bool {
        let reached = |limit: &TaskRunLimit| limit.reached.is_some() && limit.is_in_force();
        [&self.time, &self.progress].into_iter().flatten().any(reached)
    }

    /// Every moment at which one is reached, for what moves them all.
    pub(crate) fn dues_mut(&mut self) -> impl Iterator<Item = &mut Timestamp> {
        [&mut self.time, &mut self.progress].into_iter().flatten().map(|limit| &mut limit.due)
    }

    /// It showed progress: that limit counts from this moment again, and what a person allowed besides is over.
    pub(crate) fn progressed(&mut self, from: Timestamp) {
        if let Some(limit) = &mut self.progress {
            limit.allowed = limit.agreed;
            limit.due = from.plus(limit.agreed);
            limit.reached = None;
        }
    }
}

/// What a person decides about a task that reached a limit of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MoreTime {
    /// So much more, counted from the decision.
    Allow(Duration),
    /// The limit does not apply to this task any more.
    Unlimited,
}

/// The limits of time, the one that is shown first in front.
const KINDS: [LimitKind; 2] = [LimitKind::Time, LimitKind::Progress];

impl TaskHandle {
    /// When a limit of time is reached next; `None` while nothing can reach one.
    pub(crate) fn run_limit_tick(&self) -> Option<Timestamp> {
        KINDS.into_iter().filter_map(|kind| self.run_limit_due(kind)).min()
    }

    /// When this limit is reached: not while it waits for a person or will before that, nor once it is over or asked to
    /// cancel.
    fn run_limit_due(&self, kind: LimitKind) -> Option<Timestamp> {
        let counts = self.paused_since.is_none() && !self.is_over() && self.cancel_request().is_none();
        let limit = self.run_limits.get(kind).filter(|limit| counts && limit.is_in_force())?;
        let is_in_time = self.people_tick().is_none_or(|people_at| limit.due < people_at);
        (limit.reached.is_none() && is_in_time).then_some(limit.due)
    }

    /// It reached a limit of time, if it did: people are notified, or asked, or it is cancelled.
    pub(crate) fn run_limit_reached(&self, now: Timestamp) -> Option<Transition> {
        let is_reached = |kind: &LimitKind| self.run_limit_due(*kind).is_some_and(|due| due <= now);
        let kind = KINDS.into_iter().find(is_reached)?;
        let limit = self.run_limits.get(kind)?;
        let spent = span_words(limit.spent(self.paused_since, now));
        let allowed = span_words(limit.allowed);
        let what = match kind {
            LimitKind::Progress => format!("no progress for {spent}, allowed {allowed}"),
            LimitKind::Time | LimitKind::Tokens | LimitKind::Calls => format!("running {spent}, allowed {allowed}"),
        };
        let mut step = Transition::none(self);
        if limit.action == RunAction::Cancel
            && let Ok(cancelled) = self.cancel(Decider::Limit(kind), Some(&what), now)
        {
            step = cancelled;
        }
        let status = self.view.task().map(|task| task.status.word().to_owned()).unwrap_or_default();
        step.log.push(LogLine { at: now, status, text: format!("Limit reached: {what}.") });
        step.fact(now, Actor::System("limits"), Verb::OverLimit, format!("{what}, by {}", limit.rule_words()));
        step.effect(Effect::Tell(match limit.action {
            RunAction::Ask => Attention::Waiting,
            RunAction::Warn | RunAction::Cancel => Attention::Problem,
        }));
        if let Some(limit) = step.next.run_limits.get_mut(kind) {
            limit.reached = Some(now);
        }
        Some(step.settle(self, now))
    }

    /// The limit of time about which a person is asked.
    #[must_use]
    pub fn asks_for_time(&self) -> Option<(LimitKind, &TaskRunLimit)> {
        if self.is_over() || self.cancel_request().is_some() {
            return None;
        }
        let asking =
            |limit: &TaskRunLimit| limit.action == RunAction::Ask && limit.reached.is_some() && limit.is_in_force();
        KINDS.into_iter().find_map(|kind| Some((kind, self.run_limits.get(kind).filter(|limit| asking(limit))?)))
    }

    /// Whether a person is asked if it may continue past a limit of tokens or of time.
    #[must_use]
    pub fn asks_at_limit(&self) -> bool {
        self.asks_to_go_on() || self.asks_for_time().is_some()
    }

    /// A person allows more time, or removes the limit.
    ///
    /// # Errors
    /// A [`Refusal`] when it has no such limit, a person removed it before, or nothing more can come of the task.
    pub fn allow_time(
        &self,
        kind: LimitKind,
        more: MoreTime,
        by: &PersonId,
        now: Timestamp,
    ) -> Result<Transition, Refusal> {
        if self.is_over() {
            return Err(Refusal::AlreadyOver(self.phase(now).word()));
        }
        let Some(limit) = self.run_limits.get(kind) else { return Err(Refusal::NoSuchLimit(kind.word())) };
        if let Some((by, at)) = &limit.removed {
            return Err(Refusal::AlreadyDecided { by: by.clone(), at: *at });
        }
        let mut step = Transition::none(self);
        let spent = limit.spent(self.paused_since, now);
        let note = match more {
            MoreTime::Allow(more) => format!("{} more of the {} limit", span_words(more), kind.word()),
            MoreTime::Unlimited => format!("the {} limit is removed", kind.word()),
        };
        if let Some(limit) = step.next.run_limits.get_mut(kind) {
            match more {
                MoreTime::Allow(more) => {
                    limit.allowed = spent.saturating_add(more);
                    limit.due = self.paused_since.unwrap_or(now).plus(more);
                    limit.reached = None;
                }
                MoreTime::Unlimited => limit.removed = Some((by.clone(), now)),
            }
        }
        step.fact(now, Actor::Person(by.clone()), Verb::LimitLifted, note);
        Ok(step.settle(self, now))
    }
}

/// A time in its two largest units, for notes: `41 min`, `1 h 5 min`, `12 s`.
fn span_words(span: Duration) -> String {
    let seconds = span.as_secs();
    let (hours, minutes, rest) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    match (hours, minutes, rest) {
        (0, 0, 0) => format!("{} ms", span.as_millis()),
        (0, 0, rest) => format!("{rest} s"),
        (0, minutes, 0) => format!("{minutes} min"),
        (0, minutes, rest) => format!("{minutes} min {rest} s"),
        (hours, 0, _) => format!("{hours} h"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}
