//! Durations, moments and limits of time as people type them: `30min`, `2h:cancel`.
//!
//! Only parses; which times are allowed is the core's decision. How a time is shown is in `api::format::time`.

use api::dto::task::run_limit::{AtRunLimit, RunLimitDto};
use api::{ApiError, Code};

use domain::time::Timestamp;

use crate::cli::output::sentences::{now, one_line};
use crate::config;

/// A duration, in milliseconds.
pub(crate) fn span(text: &str) -> Result<u64, ApiError> {
    let span = config::span(text).ok_or_else(|| {
        ApiError::new(
            Code::Usage,
            format!("`{}` is not a duration", one_line(text)),
            "Give a number and a unit, such as `90s`, `15min`, `12h` or `30d`.",
        )
    })?;
    Ok(u64::try_from(span.as_millis()).unwrap_or(u64::MAX))
}

/// A moment for the core: `2h` is two hours ago, and a date or a time is left as it is, for the core to read.
pub(crate) fn moment(text: &str) -> String {
    moment_at(now(), text)
}

fn moment_at(now: Timestamp, text: &str) -> String {
    let Some(ago) = config::span(text) else { return text.to_owned() };
    let ago = i64::try_from(ago.as_millis()).unwrap_or(i64::MAX);
    Timestamp::from_millis(now.as_millis().saturating_sub(ago).max(0)).to_string()
}

/// A limit with its action, `ask` where none is given; `None` removes it.
pub(crate) fn limit(text: &str) -> Result<Option<RunLimitDto>, ApiError> {
    if text.eq_ignore_ascii_case("none") {
        return Ok(None);
    }
    let (time, at) = match text.split_once(':') {
        Some((time, word)) => (time, action(word)?),
        None => (text, AtRunLimit::Ask),
    };
    Ok(Some(RunLimitDto { allowed_ms: span(time)?, at }))
}

fn action(word: &str) -> Result<AtRunLimit, ApiError> {
    const ALL: [AtRunLimit; 3] = [AtRunLimit::Warn, AtRunLimit::Ask, AtRunLimit::Cancel];
    ALL.into_iter().find(|at| at.as_str() == word).ok_or_else(|| {
        ApiError::new(
            Code::Usage,
            format!("unknown action `{}`", one_line(word)),
            "Use `warn`, `ask` or `cancel` after the colon, such as `30min:cancel`.",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_that_long_ago_and_anything_else_is_left_to_the_core() {
        let now: Timestamp = "2026-11-21T14:02:00Z".parse().expect("a time");
        assert_eq!(moment_at(now, "2h"), "2026-11-21T12:02:00.000Z");
        assert_eq!(moment_at(now, "90000d"), "1970-01-01T00:00:00.000Z", "before there were times");
        for text in ["2026-11-21", "2026-11-21T22:00:00Z", "yesterday", "-5min", ""] {
            assert_eq!(moment_at(now, text), text);
        }
    }

    #[test]
    fn a_limit_of_time_has_an_action_or_asks() {
        let of = |allowed_ms, at| Some(RunLimitDto { allowed_ms, at });
        assert_eq!(limit("30min").expect("a limit"), of(1_800_000, AtRunLimit::Ask));
        assert_eq!(limit("2s:cancel").expect("a limit"), of(2_000, AtRunLimit::Cancel));
        assert_eq!(limit("None").expect("no limit"), None);
        for unreadable in ["", "30", "-5min", "30min:", "30min:hold", "30min:Cancel", ":ask", "30min:ask:ask"] {
            let error = limit(unreadable).expect_err(unreadable);
            assert_eq!(error.code, Code::Usage, "`{unreadable}`");
        }
    }
}
