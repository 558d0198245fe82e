//! Moments, as values: wall time in whole milliseconds since 1970 in UTC. Nothing here reads a clock.
//!
//! Server timestamps order observations and are never subtracted from ours (architecture.md §3.6).

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A moment in milliseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(i64);

/// A text that is not a moment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an ISO 8601 time")]
pub struct BadTimestamp(String);

impl Timestamp {
    /// The beginning of 1970.
    pub const EPOCH: Self = Self(0);

    /// From milliseconds since 1970.
    #[must_use]
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Milliseconds since 1970.
    #[must_use]
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// The moment `span` later; stays at the last representable moment instead of overflowing.
    #[must_use]
    pub fn plus(self, span: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(span.as_millis()).unwrap_or(i64::MAX)))
    }

    /// The moment this many milliseconds later; earlier when negative.
    #[must_use]
    pub fn shifted(self, millis: i64) -> Self {
        Self(self.0.saturating_add(millis))
    }

    /// The time from `earlier` to this moment; zero when `earlier` is later.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

impl fmt::Display for Timestamp {
    /// ISO 8601 in UTC with milliseconds: `2026-11-21T03:25:00.000Z` (ruling 20).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(moment) => write!(f, "{moment:.3}"),
            Err(_) => write!(f, "{} ms", self.0),
        }
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Timestamp {
    type Err = BadTimestamp;

    fn from_str(text: &str) -> Result<Self, BadTimestamp> {
        text.parse::<jiff::Timestamp>()
            .map(|moment| Self(moment.as_millisecond()))
            .map_err(|_| BadTimestamp(text.chars().take(80).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_written_with_milliseconds_and_read_back() {
        let text = "2026-11-21T03:25:00.120Z";
        let moment: Timestamp = text.parse().expect("a valid time");
        assert_eq!(moment.to_string(), text);
    }

    #[test]
    fn a_moment_far_away_neither_overflows_nor_panics() {
        let last = Timestamp::from_millis(i64::MAX).plus(Duration::MAX);
        assert_eq!(last.as_millis(), i64::MAX);
        assert!(last.to_string().ends_with("ms"), "outside the calendar it is a plain number");
        assert_eq!(Timestamp::EPOCH.since(last), Duration::ZERO);
    }
}
