//! Episodes of one agent: a pattern from when it is found until it has been quiet for long enough.
//!
//! An episode is one alarm. Patterns that share a call are one episode, and a tool that is limited by a rule counts by
//! that rule. Storing alarms is the engine's.

use std::time::Duration;

use crate::agent::alarm::{AlarmKind, CallAlarm, CalledTool};
use crate::agent::call_history::{CallHistory, SeenCall};
use crate::agent::call_pattern::{CallLimits, CallPattern, patterns};
use crate::ids::AlarmId;
use crate::policy::{AlarmPolicy, CALLS_REMEMBERED};

/// Something that an agent does again and again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Episode {
    pub kind: AlarmKind,
    pub called: CalledTool,
    pub other: Option<CalledTool>,
    pub count: u32,
    pub limit: u32,
    pub first: Duration,
    pub last: Duration,
    /// Its alarm as stored; `None` until it is.
    pub alarm: Option<CallAlarm>,
    /// Fingerprints of its calls; none are known of an episode of an earlier run.
    calls: Vec<u64>,
    /// Calls up to this number are counted.
    newest: Option<u64>,
}

impl Episode {
    fn begun(pattern: CallPattern) -> Self {
        let CallPattern { kind, called, other, calls, count, limit, first, last, newest } = pattern;
        Self { kind, called, other, count, limit, first, last, alarm: None, calls, newest: Some(newest) }
    }

    /// An episode of an earlier run of the core, whose alarm is open. It is quiet from now on: calls are stored only now and
    /// then, so nobody knows how long it was quiet before, and a loop that goes on must raise no second alarm.
    #[must_use]
    pub fn resumed(alarm: CallAlarm, now: Duration) -> Self {
        Self {
            kind: alarm.kind,
            called: alarm.called.clone(),
            other: alarm.other.clone(),
            count: alarm.count,
            limit: alarm.limit,
            first: now,
            last: now,
            alarm: Some(alarm),
            calls: Vec::new(),
            newest: None,
        }
    }

    /// Whether it has been quiet for so long that it is over. One whose alarm asks a person goes on until the person
    /// decides, so that its calls raise no second one.
    #[must_use]
    pub fn is_over(&self, now: Duration, policy: &AlarmPolicy) -> bool {
        !self.alarm.as_ref().is_some_and(CallAlarm::asks) && now.saturating_sub(self.last) >= policy.quiet
    }

    /// When the last call of it came that this run of the core has seen.
    #[must_use]
    pub fn last_seen(&self) -> Option<Duration> {
        (self.newest.is_some() || self.last > self.first).then_some(self.last)
    }

    fn has_pattern(&self, pattern: &CallPattern) -> bool {
        let shares = self.calls.iter().any(|call| pattern.calls.contains(call));
        shares || (self.calls.is_empty() && self.kind == pattern.kind && self.called == pattern.called)
    }

    /// Takes up a pattern that belongs to it. Calls of an earlier run are counted already; those of this one are new.
    fn join(&mut self, pattern: CallPattern, history: &CallHistory) {
        if self.newest.is_none() {
            self.count = self.count.saturating_add(pattern.count);
            self.newest = Some(pattern.newest);
        }
        self.last = self.last.max(pattern.last);
        for call in pattern.calls {
            if !self.calls.contains(&call) {
                self.calls.push(call);
            }
        }
        let beyond = self.calls.len().saturating_sub(CALLS_REMEMBERED);
        self.calls.drain(..beyond);
        self.count(history);
    }

    /// Counts calls of it that came since.
    fn count(&mut self, history: &CallHistory) {
        let Some(newest) = self.newest else { return };
        let is_new = |call: &&SeenCall| call.number > newest && self.calls.contains(&call.fingerprint);
        let mut count = self.count;
        let (mut upto, mut last) = (newest, self.last);
        for call in history.calls().filter(is_new) {
            count = count.saturating_add(1);
            (upto, last) = (call.number, last.max(call.at));
        }
        (self.count, self.newest, self.last) = (count, Some(upto), last);
    }
}

/// A number of calls with its limit.
struct Reached {
    kind: AlarmKind,
    count: u32,
    limit: u32,
}

/// The episodes of one agent that are not over.
#[derive(Debug, Default)]
pub struct AgentEpisodes(pub Vec<Episode>);

impl AgentEpisodes {
    /// Looks at the calls: episodes go on or begin. `open` is how many calls were in flight at once since the last look.
    pub fn look(
        &mut self,
        history: &mut CallHistory,
        open: u32,
        now: Duration,
        limits: &impl CallLimits,
        policy: &AlarmPolicy,
    ) {
        for episode in &mut self.0 {
            episode.count(history);
        }
        for pattern in patterns(history, now, limits, policy) {
            match self.0.iter_mut().find(|episode| episode.has_pattern(&pattern)) {
                Some(episode) => episode.join(pattern, history),
                None => self.begin(Episode::begun(pattern), policy),
            }
        }
        let Some(called) = most_called(history) else { return };
        let rule = limits.resolve(&called);
        let rate = history.in_last_minute(now);
        let per_minute = rule.calls_per_minute.unwrap_or(policy.calls_per_minute);
        self.reached(Reached { kind: AlarmKind::CallRate, count: rate, limit: per_minute }, &called, now, policy);
        let at_once = rule.open_calls.unwrap_or(policy.open_calls);
        self.reached(Reached { kind: AlarmKind::OpenCalls, count: open, limit: at_once }, &called, now, policy);
    }

    /// Takes out the episodes that are over, and forgets their calls.
    pub fn take_over(&mut self, history: &mut CallHistory, now: Duration, policy: &AlarmPolicy) -> Vec<Episode> {
        let (over, left) = std::mem::take(&mut self.0).into_iter().partition(|episode| episode.is_over(now, policy));
        self.0 = left;
        let over: Vec<Episode> = over;
        for episode in &over {
            history.forget(&episode.calls);
        }
        over
    }

    /// Takes over what a person did about an alarm.
    pub fn settle(&mut self, alarm: &CallAlarm) {
        if let Some(episode) = self.of_alarm(alarm.id) {
            episode.alarm = Some(alarm.clone());
        }
    }

    /// Begins the count of an alarm's calls anew: the next pattern of them is another episode. Numbers of calls have no
    /// calls of their own, and go on until they have been quiet.
    pub fn begin_anew(&mut self, alarm: &CallAlarm, history: &mut CallHistory) {
        if matches!(alarm.kind, AlarmKind::CallRate | AlarmKind::OpenCalls) {
            return self.settle(alarm);
        }
        if let Some(episode) = self.of_alarm(alarm.id) {
            history.forget(&episode.calls);
        }
        self.0.retain(|episode| episode.alarm.as_ref().is_none_or(|known| known.id != alarm.id));
    }

    fn of_alarm(&mut self, id: AlarmId) -> Option<&mut Episode> {
        self.0.iter_mut().find(|episode| episode.alarm.as_ref().is_some_and(|alarm| alarm.id == id))
    }

    /// A number that has a limit of its own; a limit of 0 is turned off.
    fn reached(&mut self, number: Reached, called: &CalledTool, now: Duration, policy: &AlarmPolicy) {
        let Reached { kind, count, limit } = number;
        if limit == 0 || count < limit {
            return;
        }
        if let Some(episode) = self.0.iter_mut().find(|episode| episode.kind == kind) {
            episode.count = episode.count.max(count);
            episode.last = now;
            return;
        }
        let pattern = CallPattern {
            kind,
            called: called.clone(),
            other: None,
            calls: Vec::new(),
            count,
            limit,
            first: now,
            last: now,
            newest: 0,
        };
        self.begin(Episode::begun(pattern), policy);
    }

    fn begin(&mut self, episode: Episode, policy: &AlarmPolicy) {
        if self.0.len() < policy.episodes_per_agent {
            self.0.push(episode);
        }
    }
}

/// The tool with most of the remembered calls.
fn most_called(history: &CallHistory) -> Option<CalledTool> {
    let mut counts: Vec<(&CalledTool, u32)> = Vec::new();
    for call in history.calls() {
        match counts.iter_mut().find(|(called, _)| **called == call.called) {
            Some((_, count)) => *count += 1,
            None => counts.push((&call.called, 1)),
        }
    }
    counts.into_iter().max_by_key(|(_, count)| *count).map(|(called, _)| called.clone())
}

#[cfg(test)]
mod tests;
