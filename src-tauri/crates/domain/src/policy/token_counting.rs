//! The limits of counting tokens: queues, slices of held results, and when people are notified.
//!
//! Sizes of windows are in `budget/models.rs`; limits of tokens are people's, in rules. Used by the engine's budget, by
//! the gateway's slices and by the host's notifications.

use std::time::Duration;

use super::{BadPolicy, HOUR, KIB, MIB, MINUTE, SECOND};

/// Limits and times of counting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountingPolicy {
    /// Whether anything is counted. Off, no limit of tokens holds anything.
    pub on: bool,
    /// Messages that wait to be counted; what is more is taken as one token a byte, an upper bound. Judgement.
    pub queue_messages: usize,
    /// Bytes that wait to be counted; as `queue_messages`. Judgement: a burst of large results.
    pub queue_bytes: usize,
    /// Messages that are counted at a time. Judgement: enough to make the change of threads cheap, few enough that a
    /// gauge moves while a burst is counted.
    pub batch_messages: usize,
    /// Bytes that are counted at a time, at least one message. Judgement: a tenth of a second of counting.
    pub batch_bytes: usize,
    /// How often the queue is looked at while something comes, so that a call wakes nobody. Judgement: far below what a
    /// gauge shows, and 40 wake-ups a second instead of one for each message.
    pub look_every: Duration,
    /// How long a result waits to be counted for its limit; then it is taken for the most that it may be. Judgement: less
    /// than half of the patience of an agent, which starts at about 25 s.
    pub result_wait: Duration,
    /// Texts up to so many bytes are copied into the queue: a slice would keep the buffer that its message came in.
    /// Judgement: copying a few KiB costs less than the new buffer that the connection would need.
    pub copied_bytes: u64,
    /// How long counted figures are gathered before windows are shown anew. Judgement: a gauge that is read by people.
    pub show_every: Duration,
    /// How long counted figures are gathered before windows and series are stored. Judgement: what a crash may lose.
    pub flush_every: Duration,
    /// How often the figures of an open task are committed at most; at its end they always are. Judgement.
    pub task_every: Duration,
    /// Over how long the burn is taken. Judgement: a few turns of an agent.
    pub burn_over: Duration,
    /// There is no burn from less than this: a rate of a moment is none (review B6).
    pub burn_least: Duration,
    /// Nor from fewer messages than this in `burn_over` (review B6).
    pub burn_times: u32,
    /// A modern client that finds out about the gateway anew after being quiet for so long begins a new window: it has
    /// no sessions that would say so. Judgement.
    pub quiet_is_new: Duration,
    /// A session that begins so soon after the core did continues the earlier window: the client only reconnected.
    /// Judgement: reconnects back off up to half a minute.
    pub comes_back_within: Duration,
    /// Windows of an agent that are kept open beside each other: conversations at the same time. Judgement.
    pub windows_max: usize,
    /// Emptied windows that are shown of an agent. Judgement.
    pub windows_shown: u32,
    /// Tokens of one slice, unless its reader asks for less. Judgement: about a screen of a report ten times over.
    pub slice_tokens: u64,
    /// Percent of what a program shows its model of a result that a slice of one may have which the program would cut:
    /// the program counts in its own way. Judgement: the caps that were measured are met within 3 %, and JSON goes
    /// around it.
    pub slice_percent: u64,
    /// Lines of a held result that its preview shows. From the design (`inbox-budget`).
    pub short_lines: usize,
    /// Tokens that those lines may have together. Judgement.
    pub short_tokens: u64,
    /// Share of a window, in percent, at which people are notified, once for each window. From the design (80 %).
    pub warn_percent: u32,
    /// Share at which they are notified again. Judgement.
    pub full_percent: u32,
    /// Largest limit or window that a person can set, in tokens. Judgement: a thousand of today's largest windows.
    pub tokens_settable_max: u64,
    /// How far back the figures of a day go. A day.
    pub day: Duration,
    /// How long series are kept. Judgement: a year of comparing.
    pub series_kept: Duration,
    /// Points of a series that are given at once: a month by the hour. Judgement.
    pub points_max: usize,
    /// Agents shown on a screen before one searches. From the design README (Budgets, 10,000).
    pub agents_shown: usize,
}

impl Default for CountingPolicy {
    fn default() -> Self {
        Self {
            on: true,
            queue_messages: 65_536,
            queue_bytes: 64 * MIB,
            batch_messages: 256,
            batch_bytes: MIB,
            look_every: Duration::from_millis(25),
            result_wait: 10 * SECOND,
            copied_bytes: 4_096,
            show_every: SECOND,
            flush_every: 3 * SECOND,
            task_every: 5 * SECOND,
            burn_over: 10 * MINUTE,
            burn_least: 3 * MINUTE,
            burn_times: 5,
            quiet_is_new: 15 * MINUTE,
            comes_back_within: MINUTE,
            windows_max: 8,
            windows_shown: 10,
            slice_tokens: 8_000,
            slice_percent: 80,
            short_lines: 40,
            short_tokens: 1_000,
            warn_percent: 80,
            full_percent: 95,
            tokens_settable_max: 1_000_000_000,
            day: 24 * HOUR,
            series_kept: 400 * 24 * HOUR,
            points_max: 31 * 24,
            agents_shown: 50,
        }
    }
}

impl CountingPolicy {
    /// Whether the numbers fit together.
    pub(crate) fn check(&self) -> Result<(), BadPolicy> {
        let rule = |holds: bool, field, why| if holds { Ok(()) } else { Err(BadPolicy { field, why }) };
        rule(self.queue_messages > 0, "counting.queue_messages", "must be above zero")?;
        rule(self.queue_bytes >= 64 * KIB, "counting.queue_bytes", "must be 64 KiB or more")?;
        rule(self.batch_messages > 0, "counting.batch_messages", "must be above zero")?;
        rule(self.batch_bytes > 0, "counting.batch_bytes", "must be above zero")?;
        rule(self.result_wait > Duration::ZERO, "counting.result_wait", "must be above zero")?;
        rule(self.slice_tokens >= 100, "counting.slice_tokens", "must be 100 or more")?;
        rule(self.burn_over >= MINUTE, "counting.burn_over", "must be a minute or more")?;
        rule((1..=100).contains(&self.slice_percent), "counting.slice_percent", "must be from 1 to 100")?;
        rule(self.windows_max > 0, "counting.windows_max", "must be above zero")?;
        let tick = Duration::from_millis(10);
        rule(self.look_every > Duration::ZERO, "counting.look_every", "must be above zero")?;
        rule(self.show_every >= tick, "counting.show_every", "must be 10 ms or more")?;
        rule(self.flush_every >= tick, "counting.flush_every", "must be 10 ms or more")?;
        rule(self.short_tokens > 0, "counting.short_tokens", "must be above zero")?;
        rule(self.warn_percent > 0, "counting.warn_percent", "must be above zero")?;
        rule(self.warn_percent <= self.full_percent, "counting.warn_percent", "must not be above full_percent")?;
        rule(self.full_percent <= 100, "counting.full_percent", "must be 100 or less")?;
        rule(self.tokens_settable_max > 0, "counting.tokens_settable_max", "must be above zero")?;
        rule(self.day >= HOUR, "counting.day", "must be an hour or more")?;
        rule(self.points_max > 0, "counting.points_max", "must be above zero")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_counting_that_would_break_it_are_named() {
        let good = CountingPolicy::default;
        for (bad, field) in [
            (CountingPolicy { batch_messages: 0, ..good() }, "counting.batch_messages"),
            (CountingPolicy { batch_bytes: 0, ..good() }, "counting.batch_bytes"),
            (CountingPolicy { show_every: Duration::ZERO, ..good() }, "counting.show_every"),
            (CountingPolicy { flush_every: Duration::ZERO, ..good() }, "counting.flush_every"),
            (CountingPolicy { result_wait: Duration::ZERO, ..good() }, "counting.result_wait"),
            (CountingPolicy { slice_percent: 0, ..good() }, "counting.slice_percent"),
            (CountingPolicy { short_tokens: 0, ..good() }, "counting.short_tokens"),
            (CountingPolicy { warn_percent: 0, ..good() }, "counting.warn_percent"),
            (CountingPolicy { warn_percent: 96, ..good() }, "counting.warn_percent"),
            (CountingPolicy { full_percent: 101, ..good() }, "counting.full_percent"),
            (CountingPolicy { tokens_settable_max: 0, ..good() }, "counting.tokens_settable_max"),
            (CountingPolicy { day: Duration::ZERO, ..good() }, "counting.day"),
            (CountingPolicy { points_max: 0, ..good() }, "counting.points_max"),
        ] {
            assert_eq!(bad.check().map_err(|bad| bad.field), Err(field), "{bad:?}");
        }
    }
}
