//! Numbers of calls that raise an alarm, as people type them: `20/10min`, `600`, `off`.
//!
//! Only parses; which numbers are allowed is the core's decision.

use api::dto::SameCallLimitDto;
use api::{ApiError, Code};

use super::run_time::span;
use crate::cli::output::sentences::one_line;

/// The time that stands beside a limit that is turned off, in milliseconds: any will do.
const OFF_WINDOW_MS: u64 = 60_000;

/// Equal calls within a time; `None` returns to the default.
pub(crate) fn same_calls(text: &str) -> Result<Option<SameCallLimitDto>, ApiError> {
    if text.eq_ignore_ascii_case("none") {
        return Ok(None);
    }
    if text.eq_ignore_ascii_case("off") {
        return Ok(Some(SameCallLimitDto { count: 0, window_ms: OFF_WINDOW_MS }));
    }
    let (count, window) = text.split_once('/').ok_or_else(|| unreadable(text, "`20/10min`"))?;
    let count = number(count).ok_or_else(|| unreadable(text, "`20/10min`"))?;
    Ok(Some(SameCallLimitDto { count, window_ms: span(window)? }))
}

/// A number of calls; `None` returns to the default.
pub(crate) fn calls(text: &str) -> Result<Option<u32>, ApiError> {
    if text.eq_ignore_ascii_case("none") {
        return Ok(None);
    }
    if text.eq_ignore_ascii_case("off") {
        return Ok(Some(0));
    }
    number(text).map(Some).ok_or_else(|| unreadable(text, "`600`"))
}

fn number(text: &str) -> Option<u32> {
    text.parse().ok().filter(|count| *count > 0)
}

fn unreadable(text: &str, example: &str) -> ApiError {
    ApiError::new(
        Code::Usage,
        format!("`{}` is not a number of calls", one_line(text)),
        format!("Write it like {example}, or `off` for no alarm."),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_calls_are_read_and_off_is_no_alarm() {
        let of = |count, window_ms| Some(SameCallLimitDto { count, window_ms });
        assert_eq!(same_calls("20/10min").expect("a limit"), of(20, 600_000));
        assert_eq!(same_calls("off").expect("no alarm"), of(0, OFF_WINDOW_MS));
        assert_eq!((same_calls("none").expect("the default"), calls("None").expect("the default")), (None, None));
        assert_eq!((calls("600").expect("a number"), calls("OFF").expect("no alarm")), (Some(600), Some(0)));
        for text in ["", "20", "0/10min", "20/", "-1/1min", "20/10"] {
            assert_eq!(same_calls(text).expect_err(text).code, Code::Usage, "`{text}`");
        }
        for text in ["", "0", "-1", "10/min"] {
            assert_eq!(calls(text).expect_err(text).code, Code::Usage, "`{text}`");
        }
    }
}
