//! How often each tool of one server was called in the last day of this run, and how long its plain replies took.
//!
//! Counted with `request_times.rs`: the calls of all tools together are the calls it has for the day. Calls that became tasks
//! are not timed here; the registry keeps what those took.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use domain::policy::ObservedServerPolicy;
use domain::time::Timestamp;
use parking_lot::Mutex;

use crate::connections::observed::request_times::step_begin;

/// Tools of one server that are counted. Judgement: more are listed by no server that people use.
const TOOLS_MAX: usize = 2_048;

/// Replies of a tool from which its usual time is taken. Judgement: enough for a median that follows a change.
const TIMES_KEPT: usize = 21;

/// Calls of one tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ToolUse {
    /// Calls in the last day of this run that are over or became a task.
    pub calls: u64,
    /// Half of the last plain replies came within this; `None` while there are too few.
    pub median: Option<Duration>,
    /// The replies that it is taken from.
    pub samples: u32,
}

#[derive(Default)]
struct Calls {
    /// How many in each step, oldest first.
    steps: VecDeque<(Timestamp, u64)>,
    took: VecDeque<Duration>,
}

/// The calls of one server by tool.
pub(crate) struct ToolCalls {
    seen: Mutex<HashMap<Arc<str>, Calls>>,
    step: Duration,
    kept: Duration,
}

impl ToolCalls {
    pub(crate) fn new(limits: &ObservedServerPolicy) -> Self {
        Self { seen: Mutex::default(), step: limits.times_step, kept: limits.times_kept }
    }

    /// A call was answered or failed; `took` is the time to a plain reply, and `None` for a task or a failure.
    pub(crate) fn called(&self, tool: &Arc<str>, took: Option<Duration>, now: Timestamp) {
        let begins = step_begin(self.step, now);
        let mut seen = self.seen.lock();
        if seen.len() >= TOOLS_MAX && !seen.contains_key(tool) {
            return;
        }
        let calls = seen.entry(Arc::clone(tool)).or_default();
        match calls.steps.back_mut().filter(|(step, _)| *step >= begins) {
            Some((_, count)) => *count = count.saturating_add(1),
            None => calls.steps.push_back((begins, 1)),
        }
        while calls.steps.front().is_some_and(|(step, _)| now.since(*step) >= self.kept) {
            calls.steps.pop_front();
        }
        if let Some(took) = took {
            if calls.took.len() >= TIMES_KEPT {
                calls.took.pop_front();
            }
            calls.took.push_back(took);
        }
    }

    /// What is known of each tool; a usual time needs `samples_min` replies.
    pub(crate) fn of_tools(&self, samples_min: u32, now: Timestamp) -> BTreeMap<Arc<str>, ToolUse> {
        let seen = self.seen.lock();
        let of = |calls: &Calls| {
            let steps = calls.steps.iter().filter(|(step, _)| now.since(*step) < self.kept);
            let samples = u32::try_from(calls.took.len()).unwrap_or(u32::MAX);
            let median = (samples >= samples_min).then(|| median(&calls.took)).flatten();
            ToolUse { calls: steps.map(|(_, count)| count).sum(), median, samples }
        };
        seen.iter().map(|(tool, calls)| (Arc::clone(tool), of(calls))).collect()
    }
}

/// The nearest rank, as for durations of tasks.
fn median(took: &VecDeque<Duration>) -> Option<Duration> {
    let mut sorted: Vec<Duration> = took.iter().copied().collect();
    sorted.sort_unstable();
    sorted.get(sorted.len().div_ceil(2).checked_sub(1)?).copied()
}

#[cfg(test)]
mod tests {
    use domain::policy::Policy;

    use super::*;

    const MS: Duration = Duration::from_millis(1);
    const HOUR: Duration = Duration::from_secs(3_600);

    fn calls() -> (ToolCalls, Arc<str>, Timestamp) {
        let now = Timestamp::EPOCH.plus(1_000 * HOUR);
        (ToolCalls::new(&Policy::default().observed), Arc::from("read"), now)
    }

    #[test]
    fn calls_of_a_day_are_counted_and_older_ones_are_not() {
        let (calls, tool, now) = calls();
        calls.called(&tool, Some(MS), now);
        calls.called(&tool, None, now.plus(HOUR));
        let of = |now| calls.of_tools(5, now).get(&tool).copied().unwrap_or_default().calls;
        assert_eq!(of(now.plus(2 * HOUR)), 2, "a task and a failure are calls, too");
        assert_eq!(of(now.plus(24 * HOUR)), 1, "the first is a day old");
        assert_eq!(of(now.plus(26 * HOUR)), 0);
    }

    #[test]
    fn a_usual_time_needs_enough_plain_replies_and_follows_the_last_ones() {
        let (calls, tool, now) = calls();
        let usual = || calls.of_tools(5, now).get(&tool).copied().unwrap_or_default();
        for took in [900, 10, 20, 30] {
            calls.called(&tool, Some(took * MS), now);
        }
        calls.called(&tool, None, now);
        assert_eq!((usual().median, usual().calls), (None, 5), "four replies are too few");
        calls.called(&tool, Some(40 * MS), now);
        assert_eq!((usual().median, usual().samples), (Some(30 * MS), 5), "half came within this");
        for took in 1..=21 {
            calls.called(&tool, Some(took * MS), now);
        }
        assert_eq!((usual().median, usual().samples), (Some(11 * MS), 21), "the last ones count");
    }

    #[test]
    fn tools_beyond_the_bound_are_not_counted() {
        let (calls, tool, now) = calls();
        for number in 0..TOOLS_MAX {
            calls.called(&Arc::from(format!("tool {number}")), None, now);
        }
        calls.called(&tool, None, now);
        assert_eq!(calls.of_tools(5, now).len(), TOOLS_MAX);
        calls.called(&Arc::from("tool 7"), None, now);
        assert_eq!(calls.of_tools(5, now).get("tool 7").map(|tool| tool.calls), Some(2), "known ones go on");
    }
}
