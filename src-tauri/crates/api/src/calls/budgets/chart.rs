//! Tokens over time in the parts that a caller names: hours, parts of days, days of the person's time zone.
//!
//! The registry adds up over agents and servers, this adds up over hours. Nothing is estimated between hours: an hour
//! belongs to the part in which it begins. Steps of equal length, as the command line shows them, are `series.rs`.

use std::collections::BTreeSet;

use domain::budget::window::TokenFlow;
use domain::ports::SeriesQuery;
use domain::time::Timestamp;
use domain::tokens::Count;

use super::series::{HOUR, hour_of};
use crate::api::Api;
use crate::caller::Caller;
use crate::dto::budget::spend::{ChartDto, ChartPoint, ShowChart};
use crate::dto::{iso, moment};
use crate::error::{ApiError, Code};
use crate::lookup::short;

/// One part, as it is added up.
#[derive(Default)]
struct Part {
    tokens: Count,
    passed: Count,
    kept_out: Count,
    messages: u64,
    counted: BTreeSet<Timestamp>,
}

impl Api {
    /// Tokens that came into windows and that tasks kept out, in these parts of time.
    ///
    /// # Errors
    /// When there is no such agent, the parts are none, too many or out of order, or the registry cannot be read.
    pub async fn budget_chart(&self, _caller: &Caller, input: ShowChart) -> Result<ChartDto, ApiError> {
        let starts = self.parts(&input.starts)?;
        let agent = match &input.agent {
            Some(name) => Some(self.find_agent(name).await?.id),
            None => None,
        };
        self.flush_budget().await;
        let (first, now) = (starts.first().copied().unwrap_or(Timestamp::EPOCH), self.now());
        // What runs is there as far as it went, and an hour that began before the first part is of none.
        let to = hour_of(now).shifted(HOUR);
        let query = SeriesQuery { agent, from: first, to };
        let mut parts: Vec<Part> = starts.iter().map(|_| Part::default()).collect();
        let at = |hour: Timestamp| starts.partition_point(|start| *start <= hour).checked_sub(1);
        for row in self.registry.spend_by_hour(query).await? {
            let Some(part) = at(row.hour).and_then(|at| parts.get_mut(at)) else { continue };
            let count = Count { tokens: row.tokens, exactness: row.exactness };
            match row.flow {
                TokenFlow::In(_) => {
                    part.tokens = part.tokens + count;
                    part.passed = part.passed + Count { tokens: row.passed, exactness: row.passed_exactness };
                    part.messages = part.messages.saturating_add(row.messages);
                }
                TokenFlow::KeptOut => part.kept_out = part.kept_out + count,
            }
            part.counted.insert(row.hour);
        }
        for hour in self.registry.counted_hours(query).await? {
            if let Some(part) = at(hour).and_then(|at| parts.get_mut(at)) {
                part.counted.insert(hour);
            }
        }
        let tokens: Count = parts.iter().map(|part| part.tokens).sum();
        let kept_out: Count = parts.iter().map(|part| part.kept_out).sum();
        let messages = parts.iter().fold(0, |sum: u64, part| sum.saturating_add(part.messages));
        let ends = starts.iter().skip(1).copied().chain([to]);
        let points = starts.iter().zip(ends).zip(parts).map(|((start, end), part)| part.shown(*start, end.min(to)));
        Ok(ChartDto {
            points: points.collect(),
            tokens: tokens.tokens,
            exactness: tokens.exactness.into(),
            kept_out: kept_out.tokens,
            kept_out_exactness: kept_out.exactness.into(),
            messages,
        })
    }

    /// The moments at which parts begin, in order and not too many.
    fn parts(&self, starts: &[String]) -> Result<Vec<Timestamp>, ApiError> {
        let most = self.policy.counting.points_max;
        if starts.is_empty() || starts.len() > most {
            return Err(ApiError::new(
                Code::Usage,
                format!("a chart of {} parts cannot be given", starts.len()),
                format!("Ask for 1 to {most} parts of time."),
            ));
        }
        let read = |text: &String| {
            moment(text).ok_or_else(|| {
                ApiError::new(
                    Code::Usage,
                    format!("`{}` is not a moment", short(text)),
                    "Write moments as in `2026-11-21T23:00:00.000Z`.",
                )
            })
        };
        let starts = starts.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        if starts.is_sorted_by(|one, other| one < other) {
            return Ok(starts);
        }
        Err(ApiError::new(
            Code::Usage,
            "the parts of a chart are not in order",
            "Each part must begin later than the one before it.",
        ))
    }
}

impl Part {
    fn shown(self, start: Timestamp, end: Timestamp) -> ChartPoint {
        // Hours that begin in it: an hour in which it begins belongs to the part before.
        let hours = |at: Timestamp| at.as_millis().div_euclid(HOUR) + i64::from(at.as_millis().rem_euclid(HOUR) > 0);
        let hours = hours(end).saturating_sub(hours(start)).max(0);
        ChartPoint {
            at: iso(start),
            tokens: self.tokens.tokens,
            exactness: self.tokens.exactness.into(),
            passed: self.passed.tokens,
            passed_exactness: self.passed.exactness.into(),
            kept_out: self.kept_out.tokens,
            kept_out_exactness: self.kept_out.exactness.into(),
            messages: self.messages,
            counted_hours: u32::try_from(self.counted.len()).unwrap_or(u32::MAX),
            hours: u32::try_from(hours).unwrap_or(u32::MAX),
        }
    }
}
