//! How the requests to one server went: how long its answers took, and how many failed.
//!
//! Counted in steps of some minutes, over a day, in memory only. A duration is kept as one of eight marks for each doubling,
//! so a median is exact to a twentieth, and a step costs some hundred bytes however many requests there were (decision 0038).

use std::collections::VecDeque;
use std::time::Duration;

use domain::policy::ObservedServerPolicy;
use domain::time::Timestamp;
use parking_lot::Mutex;

/// Marks for each doubling of a duration.
const MARKS_PER_DOUBLING: f64 = 8.0;

/// What was asked of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestKind {
    /// A tool was called.
    Call,
    /// A task was polled.
    Poll,
}

/// How the requests of one kind went in some span.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RequestFigures {
    /// Requests that are over.
    pub count: u64,
    /// Those without an answer, or with an error for one.
    pub failed: u64,
    /// Half of the answers came within this; `None` without an answer.
    pub median: Option<Duration>,
    /// 95 % of the answers came within this.
    pub p95: Option<Duration>,
}

/// Calls and polls of one span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpanFigures {
    /// Where the span begins.
    pub from: Timestamp,
    /// Its tool calls.
    pub calls: RequestFigures,
    /// Its polls of tasks.
    pub polls: RequestFigures,
}

/// A request that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedRequest {
    /// When it failed.
    pub at: Timestamp,
    /// What was asked.
    pub kind: RequestKind,
    /// Why; may quote the server.
    pub why: String,
}

/// How the requests to a server went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestHistory {
    /// The last hour.
    pub recent: SpanFigures,
    /// All that is kept: a day.
    pub day: SpanFigures,
    /// Steps of equal length, oldest first; one without a request is there, too.
    pub steps: Vec<SpanFigures>,
    /// The last request that failed, however long ago.
    pub last_failure: Option<FailedRequest>,
}

/// Durations of one kind in one step.
#[derive(Default)]
struct Tally {
    count: u64,
    failed: u64,
    /// Answers by mark, sorted.
    marks: Vec<(u16, u32)>,
}

struct Step {
    begins: Timestamp,
    calls: Tally,
    polls: Tally,
}

#[derive(Default)]
struct Seen {
    steps: VecDeque<Step>,
    last_failure: Option<FailedRequest>,
}

/// The requests to one server, by time.
pub(crate) struct RequestTimes {
    seen: Mutex<Seen>,
    step: Duration,
    kept: Duration,
    recent: Duration,
    charted: Duration,
}

impl RequestTimes {
    pub(crate) fn new(limits: &ObservedServerPolicy) -> Self {
        Self {
            seen: Mutex::default(),
            step: limits.times_step,
            kept: limits.times_kept,
            recent: limits.times_recent,
            charted: limits.times_charted,
        }
    }

    /// A request was answered after this long.
    pub(crate) fn answered(&self, kind: RequestKind, took: Duration, now: Timestamp) {
        self.count(kind, now, |tally| tally.add(mark_of(took)));
    }

    /// A request brought no answer, or an error for one.
    pub(crate) fn failed(&self, kind: RequestKind, why: String, now: Timestamp) {
        self.count(kind, now, |tally| {
            tally.count = tally.count.saturating_add(1);
            tally.failed = tally.failed.saturating_add(1);
        });
        self.seen.lock().last_failure = Some(FailedRequest { at: now, kind, why });
    }

    fn count(&self, kind: RequestKind, now: Timestamp, add: impl FnOnce(&mut Tally)) {
        let begins = step_begin(self.step, now);
        let mut seen = self.seen.lock();
        if seen.steps.back().is_none_or(|step| step.begins < begins) {
            seen.steps.push_back(Step { begins, calls: Tally::default(), polls: Tally::default() });
            while seen.steps.front().is_some_and(|step| now.since(step.begins) >= self.kept) {
                seen.steps.pop_front();
            }
        }
        if let Some(step) = seen.steps.back_mut() {
            match kind {
                RequestKind::Call => add(&mut step.calls),
                RequestKind::Poll => add(&mut step.polls),
            }
        }
    }

    pub(crate) fn history(&self, now: Timestamp) -> RequestHistory {
        let seen = self.seen.lock();
        let span = |from: Timestamp, until: Timestamp| {
            let steps = || seen.steps.iter().filter(move |step| step.begins >= from && step.begins < until);
            SpanFigures {
                from,
                calls: figures(steps().map(|step| &step.calls)),
                polls: figures(steps().map(|step| &step.polls)),
            }
        };
        let end = now.plus(self.step);
        let newest = step_begin(self.step, now);
        let back = |spans: Duration| {
            step_begin(self.step, Timestamp::EPOCH.plus(now.since(Timestamp::EPOCH).saturating_sub(spans)))
        };
        let mut begins = back(self.charted).plus(self.step);
        let mut steps = Vec::new();
        while begins <= newest {
            steps.push(span(begins, begins.plus(self.step)));
            begins = begins.plus(self.step);
        }
        RequestHistory {
            recent: span(back(self.recent), end),
            // A step of the same time yesterday is a day old, as for `tool_use.rs`.
            day: span(back(self.kept).plus(self.step), end),
            steps,
            last_failure: seen.last_failure.clone(),
        }
    }
}

/// Where the step begins in which a moment is.
pub(super) fn step_begin(step: Duration, now: Timestamp) -> Timestamp {
    let step = i64::try_from(step.as_millis()).unwrap_or(i64::MAX).max(1);
    Timestamp::from_millis(now.as_millis() - now.as_millis().rem_euclid(step))
}

impl Tally {
    fn add(&mut self, mark: u16) {
        self.count = self.count.saturating_add(1);
        match self.marks.binary_search_by_key(&mark, |(known, _)| *known) {
            Ok(at) => {
                if let Some((_, count)) = self.marks.get_mut(at) {
                    *count = count.saturating_add(1);
                }
            }
            Err(at) => self.marks.insert(at, (mark, 1)),
        }
    }
}

fn figures<'a>(tallies: impl Iterator<Item = &'a Tally>) -> RequestFigures {
    let mut all = std::collections::BTreeMap::<u16, u64>::new();
    let mut figures = RequestFigures::default();
    for tally in tallies {
        figures.count = figures.count.saturating_add(tally.count);
        figures.failed = figures.failed.saturating_add(tally.failed);
        for (mark, count) in &tally.marks {
            *all.entry(*mark).or_default() += u64::from(*count);
        }
    }
    let answered: u64 = all.values().sum();
    let within = |share: u64| {
        let rank = (answered * share).div_ceil(100).max(1);
        let mut passed = 0;
        all.iter().find_map(|(mark, count)| {
            passed += count;
            (passed >= rank).then(|| duration_of(*mark))
        })
    };
    figures.median = within(50);
    figures.p95 = within(95);
    figures
}

/// The mark of a duration: its logarithm, in eighths of a doubling, from a microsecond on.
fn mark_of(took: Duration) -> u16 {
    let micros = took.as_secs_f64() * 1e6;
    // Between 0 and a few hundred, whatever the duration.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a logarithm of at least one, rounded")]
    let mark = (micros.max(1.0).log2() * MARKS_PER_DOUBLING).round() as u16;
    mark
}

fn duration_of(mark: u16) -> Duration {
    Duration::from_secs_f64((f64::from(mark) / MARKS_PER_DOUBLING).exp2() / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTES: Duration = Duration::from_secs(60);

    fn at(minutes: u32) -> Timestamp {
        Timestamp::from_millis(1_700_000_400_000).plus(MINUTES * minutes)
    }

    #[test]
    fn a_median_is_exact_to_a_twentieth() {
        let times = RequestTimes::new(&ObservedServerPolicy::default());
        for took in 1..=100_u64 {
            times.answered(RequestKind::Call, Duration::from_millis(took), at(0));
        }
        let RequestFigures { count, failed, median, p95 } = times.history(at(1)).recent.calls;
        assert_eq!((count, failed), (100, 0));
        for (figure, truth) in [(median, 50.0), (p95, 95.0)] {
            let millis = figure.expect("a figure").as_secs_f64() * 1_000.0;
            assert!((millis / truth - 1.0).abs() < 0.05, "{millis} for {truth}");
        }
        assert_eq!(times.history(at(1)).recent.polls, RequestFigures::default(), "calls are not polls");
    }

    #[test]
    fn failures_are_counted_over_an_hour_and_a_day_and_forgotten_after_it() {
        let times = RequestTimes::new(&ObservedServerPolicy::default());
        times.failed(RequestKind::Poll, "first".into(), at(0));
        times.answered(RequestKind::Poll, MINUTES, at(100));
        times.failed(RequestKind::Poll, "second".into(), at(120));
        let history = times.history(at(125));
        assert_eq!((history.recent.polls.count, history.recent.polls.failed), (2, 1), "the last hour");
        assert_eq!((history.day.polls.count, history.day.polls.failed), (3, 2), "the day");
        assert_eq!(history.last_failure.map(|last| last.why).as_deref(), Some("second"));
        assert_eq!(history.steps.len(), 36, "six hours in steps of ten minutes");
        times.answered(RequestKind::Poll, MINUTES, at(24 * 60 + 30));
        assert_eq!(times.history(at(24 * 60 + 30)).day.polls.failed, 1, "the first is older than a day");
    }

    #[test]
    fn any_duration_has_a_mark() {
        for took in [Duration::ZERO, Duration::from_nanos(1), Duration::MAX] {
            let _ = duration_of(mark_of(took));
        }
    }
}
