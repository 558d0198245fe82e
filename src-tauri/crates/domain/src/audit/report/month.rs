//! A month in UTC, as people write it.
//!
//! Dates are read from the text of a moment, so that no calendar is computed here.

use std::fmt;

use crate::time::Timestamp;

/// Characters of a date in ISO 8601, without the time.
const DATE_CHARS: usize = 10;
const MONTHS: u8 = 12;

/// A month of a year after 1969, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReportMonth {
    year: u16,
    /// January is the first, so this is from 1 to 12.
    month: u8,
}

impl ReportMonth {
    /// Reads a month that is written like `2026-11`.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let (year, month) = text.split_once('-')?;
        let are_digits = year.len() == 4 && month.len() == 2 && text.bytes().all(|b| b == b'-' || b.is_ascii_digit());
        let (year, month) = (year.parse().ok()?, month.parse().ok()?);
        (are_digits && year >= 1970 && (1..=MONTHS).contains(&month)).then_some(Self { year, month })
    }

    /// The month of a moment.
    #[must_use]
    pub fn of(at: Timestamp) -> Option<Self> {
        Self::read(date(at).rsplit_once('-')?.0)
    }

    /// The month before; `None` for the first.
    #[must_use]
    pub fn before(self) -> Option<Self> {
        match self {
            Self { year, month: 1 } => (year > 1970).then(|| Self { year: year - 1, month: MONTHS }),
            Self { year, month } => Some(Self { year, month: month - 1 }),
        }
    }

    /// Its first moment, and the first of the month after it.
    #[must_use]
    pub fn bounds(self) -> Option<(Timestamp, Timestamp)> {
        let after = match self {
            Self { year, month: MONTHS } => Self { year: year + 1, month: 1 },
            Self { year, month } => Self { year, month: month + 1 },
        };
        let begins = |month: Self| format!("{month}-01T00:00:00Z").parse().ok();
        Some((begins(self)?, begins(after)?))
    }
}

impl fmt::Display for ReportMonth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}", self.year, self.month)
    }
}

/// The date of a moment in UTC, such as `2026-11-21`.
pub(super) fn date(at: Timestamp) -> String {
    at.to_string().chars().take(DATE_CHARS).collect()
}
