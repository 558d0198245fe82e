//! What the last calls of an agent look like: the same call again and again, two in turn, or the same error.
//!
//! Pure, and without memory: what was told before is in `call_episodes.rs`.

use std::collections::HashMap;
use std::time::Duration;

use crate::agent::alarm::{AlarmKind, CalledTool};
use crate::agent::call_history::{CallHistory, SeenCall, SeenResult};
use crate::policy::AlarmPolicy;
use crate::rule::{ResolvedRule, SameCallLimit};

/// What is limited for an agent, by its rules.
pub trait CallLimits {
    /// What holds for calls of this tool.
    fn resolve(&self, called: &CalledTool) -> ResolvedRule;
}

/// What was found in the calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallPattern {
    pub kind: AlarmKind,
    pub called: CalledTool,
    pub other: Option<CalledTool>,
    /// The fingerprints of its calls, each once.
    pub calls: Vec<u64>,
    /// Calls that belong to it.
    pub count: u32,
    pub limit: u32,
    pub first: Duration,
    pub last: Duration,
    /// The number of its newest call.
    pub newest: u64,
}

/// Calls that are looked at as one.
struct CallRun<'a> {
    calls: Vec<&'a SeenCall>,
    /// Calls, and once more each whose result is that of the same call before.
    weight: u32,
}

impl<'a> CallRun<'a> {
    const fn empty() -> Self {
        Self { calls: Vec::new(), weight: 0 }
    }

    fn push(&mut self, call: &'a SeenCall) {
        let before = self.calls.iter().rev().find(|before| before.fingerprint == call.fingerprint);
        let is_equal = call.result.is_some() && before.is_some_and(|before| before.result == call.result);
        self.weight = self.weight.saturating_add(1 + u32::from(is_equal));
        self.calls.push(call);
    }

    /// The pattern that these calls are, with as many as the limit allows or more.
    fn pattern(&self, kind: AlarmKind, limit: u32) -> Option<CallPattern> {
        let (first, last) = (self.calls.first()?, self.calls.last()?);
        let mut calls: Vec<u64> = self.calls.iter().map(|call| call.fingerprint).collect();
        calls.sort_unstable();
        calls.dedup();
        let other = self.calls.iter().find(|call| call.fingerprint != first.fingerprint);
        Some(CallPattern {
            kind,
            called: first.called.clone(),
            other: other.filter(|_| kind == AlarmKind::Alternating).map(|call| call.called.clone()),
            calls,
            count: u32::try_from(self.calls.len()).unwrap_or(u32::MAX),
            limit,
            first: first.at,
            last: last.at,
            newest: last.number,
        })
    }
}

/// The limit for equal calls of a tool; `None` where it is turned off.
fn same_call_limit(rule: &ResolvedRule, policy: &AlarmPolicy) -> Option<SameCallLimit> {
    Some(rule.same_call_limit.unwrap_or(policy.same_call())).filter(|limit| limit.count > 0)
}

/// What is found now, two calls in turn before each of them.
pub fn patterns(
    history: &CallHistory,
    now: Duration,
    limits: &impl CallLimits,
    policy: &AlarmPolicy,
) -> Vec<CallPattern> {
    let mut known: HashMap<CalledTool, Option<SameCallLimit>> = HashMap::new();
    let mut calls: Vec<(&SeenCall, SameCallLimit)> = Vec::new();
    for call in history.calls() {
        let limit = match known.get(&call.called) {
            Some(limit) => *limit,
            None => {
                let limit = same_call_limit(&limits.resolve(&call.called), policy);
                known.insert(call.called.clone(), limit);
                limit
            }
        };
        if let Some(limit) = limit.filter(|limit| now.saturating_sub(call.at) <= limit.window) {
            calls.push((call, limit));
        }
    }
    let mut found = alternating(&calls);
    found.extend(same_errors(&calls, policy.same_errors));
    found.extend(same_calls(&calls));
    found
}

fn same_calls(calls: &[(&SeenCall, SameCallLimit)]) -> Vec<CallPattern> {
    let mut runs: Vec<(CallRun<'_>, u32)> = Vec::new();
    let mut places: HashMap<u64, usize> = HashMap::new();
    for (call, limit) in calls {
        let place = *places.entry(call.fingerprint).or_insert_with(|| {
            runs.push((CallRun::empty(), limit.count));
            runs.len() - 1
        });
        if let Some((run, _)) = runs.get_mut(place) {
            run.push(call);
        }
    }
    let reached = runs.iter().filter(|(run, limit)| run.weight >= *limit && run.calls.len() > 1);
    reached.filter_map(|(run, limit)| run.pattern(AlarmKind::SameCall, *limit)).collect()
}

/// Every stretch in which two calls take turns for long enough.
fn alternating(calls: &[(&SeenCall, SameCallLimit)]) -> Vec<CallPattern> {
    let mut found = Vec::new();
    let mut begins = 0;
    while begins < calls.len() {
        let stretch = turns(calls.get(begins..).unwrap_or_default());
        let mut run = CallRun::empty();
        let mut limit = 0;
        for (call, of_tool) in calls.iter().skip(begins).take(stretch) {
            run.push(call);
            limit = limit.max(of_tool.count);
        }
        // Two of each are needed to call it turns.
        if stretch >= 4 && run.weight >= limit {
            found.extend(run.pattern(AlarmKind::Alternating, limit));
        }
        // The last call may begin the next stretch.
        begins += stretch.saturating_sub(1).max(1);
    }
    found
}

/// How many calls from the first on are two in turn.
fn turns(calls: &[(&SeenCall, SameCallLimit)]) -> usize {
    let [(first, _), (second, _), rest @ ..] = calls else { return calls.len() };
    if first.fingerprint == second.fingerprint {
        return 1;
    }
    let pair = [first.fingerprint, second.fingerprint];
    2 + rest.iter().zip(pair.iter().cycle()).take_while(|((call, _), print)| call.fingerprint == **print).count()
}

/// Tools whose last calls, different ones among them, all brought the same error.
fn same_errors(calls: &[(&SeenCall, SameCallLimit)], limit: u32) -> Vec<CallPattern> {
    let mut runs: HashMap<&CalledTool, (SeenResult, CallRun<'_>)> = HashMap::new();
    for (call, _) in calls {
        let Some(result) = call.result else { continue };
        match runs.get_mut(&call.called) {
            Some((same, run)) if *same == result => run.push(call),
            Some(_) | None => {
                let mut run = CallRun::empty();
                run.push(call);
                runs.insert(&call.called, (result, run));
            }
        }
    }
    let mut found: Vec<CallPattern> = runs
        .values()
        .filter(|(result, run)| result.is_error && run.calls.len() >= usize::try_from(limit).unwrap_or(usize::MAX))
        .filter_map(|(_, run)| run.pattern(AlarmKind::SameError, limit))
        // Equal calls are told as such.
        .filter(|pattern| pattern.calls.len() > 1)
        .collect();
    found.sort_by_key(|pattern| pattern.newest);
    found
}
