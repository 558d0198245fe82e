//! Spend and waste by the hour, gathered in memory until they are flushed.
//!
//! Only ever added to: spend never falls. One row for each hour, agent, server and kind, as in the registry, so that
//! little gathers while the registry cannot write.

use std::collections::BTreeMap;

use domain::budget::waste::Waste;
use domain::budget::window::TokenFlow;
use domain::ids::{AgentId, ServerId};
use domain::ports::{SpendRow, WasteRow};
use domain::time::Timestamp;
use domain::tokens::{Count, Exactness, Family, Intake};

type SpendKey = (Timestamp, AgentId, Option<ServerId>, TokenFlow, Family);
type WasteKey = (Timestamp, Option<AgentId>, ServerId, Waste);

#[derive(Debug, Clone, Copy, Default)]
struct HourSum {
    count: Intake,
    times: u64,
}

impl HourSum {
    fn add(&mut self, count: Intake, times: u64) {
        self.count = self.count + count;
        self.times = self.times.saturating_add(times);
    }
}

/// What is not flushed yet.
#[derive(Debug, Default)]
pub(crate) struct SpendSeries {
    spend: BTreeMap<SpendKey, HourSum>,
    waste: BTreeMap<WasteKey, HourSum>,
    /// The last hour that is noted as counted.
    noted: Option<Timestamp>,
}

/// The start of the hour of a moment.
fn hour(now: Timestamp) -> Timestamp {
    const HOUR_MS: i64 = 3_600_000;
    Timestamp::from_millis(now.as_millis() - now.as_millis().rem_euclid(HOUR_MS))
}

impl SpendSeries {
    /// Tokens flowed, in so many messages.
    pub(crate) fn flowed(
        &mut self,
        now: Timestamp,
        whose: (AgentId, Option<ServerId>, Family),
        flow: TokenFlow,
        count: Intake,
        messages: u64,
    ) {
        let (agent, server, family) = whose;
        self.spend.entry((hour(now), agent, server, flow, family)).or_default().add(count, messages);
    }

    /// Something was wasted once.
    pub(crate) fn wasted(&mut self, now: Timestamp, whose: (Option<AgentId>, ServerId), waste: Waste, count: Count) {
        let (agent, server) = whose;
        self.waste.entry((hour(now), agent, server, waste)).or_default().add(count.into(), 1);
    }

    /// The hour that runs, once: whether anything passed or not, it was counted.
    pub(crate) fn take_hour(&mut self, now: Timestamp) -> Option<Timestamp> {
        let now = hour(now);
        (self.noted != Some(now)).then(|| *self.noted.insert(now))
    }

    pub(crate) fn take(&mut self) -> (Vec<SpendRow>, Vec<WasteRow>) {
        let spend = std::mem::take(&mut self.spend).into_iter().map(|((hour, agent, server, flow, family), sum)| {
            let Intake { passed, window } = sum.count;
            SpendRow {
                hour,
                agent,
                server,
                flow,
                family,
                exactness: window.exactness,
                tokens: window.tokens,
                passed_exactness: passed.exactness,
                passed: passed.tokens,
                messages: sum.times,
            }
        });
        let waste = std::mem::take(&mut self.waste).into_iter().map(|((hour, agent, server, waste), sum)| {
            let Count { tokens, exactness } = sum.count.window;
            WasteRow { hour, agent, server, waste, count: sum.times, tokens, exactness }
        });
        (spend.collect(), waste.collect())
    }

    /// Puts back what could not be flushed.
    pub(crate) fn put_back(&mut self, spend: Vec<SpendRow>, waste: Vec<WasteRow>) {
        // The hour is noted again with the next flush.
        self.noted = None;
        let count = |tokens: u64, exactness: Exactness| Count { tokens, exactness };
        for row in spend {
            let key = (row.hour, row.agent, row.server, row.flow, row.family);
            let (window, passed) = (count(row.tokens, row.exactness), count(row.passed, row.passed_exactness));
            let both = Intake { passed, window };
            self.spend.entry(key).or_default().add(both, row.messages);
        }
        for row in waste {
            let key = (row.hour, row.agent, row.server, row.waste);
            self.waste.entry(key).or_default().add(count(row.tokens, row.exactness).into(), row.count);
        }
    }
}
