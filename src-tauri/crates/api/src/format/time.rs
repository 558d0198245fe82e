//! Times, durations and counts as people read them: the one formatter (style 91).
//!
//! "4 min ago" up to a day, then the date; "4 min 20 s" for durations. JSON has ISO 8601 times and milliseconds (ruling 20).

use std::time::Duration;

use domain::time::Timestamp;
use domain::tokens::grouped;

const MINUTE_SECS: u64 = 60;
const HOUR_SECS: u64 = 3_600;
const DAY_SECS: u64 = 86_400;

/// A duration in its two largest units: `850 ms`, `4 s`, `4 min 20 s`, `2 h 5 min`, `3 d 4 h`.
#[must_use]
pub fn span(duration: Duration) -> String {
    let whole = duration.as_secs();
    let two = |large: u64, large_name: &str, small: u64, small_name: &str| {
        if small == 0 { format!("{large} {large_name}") } else { format!("{large} {large_name} {small} {small_name}") }
    };
    match whole {
        0 => format!("{} ms", duration.as_millis()),
        1..MINUTE_SECS => format!("{whole} s"),
        MINUTE_SECS..HOUR_SECS => two(whole / MINUTE_SECS, "min", whole % MINUTE_SECS, "s"),
        HOUR_SECS..DAY_SECS => two(whole / HOUR_SECS, "h", whole % HOUR_SECS / MINUTE_SECS, "min"),
        DAY_SECS.. => two(whole / DAY_SECS, "d", whole % DAY_SECS / HOUR_SECS, "h"),
    }
}

/// A duration given in milliseconds.
#[must_use]
pub fn span_ms(millis: u64) -> String {
    span(Duration::from_millis(millis))
}

/// A count with its noun: `1 task`, `3 tasks`, `2,000 open tasks`.
#[must_use]
pub fn count(many: u64, noun: &str) -> String {
    if many == 1 { format!("1 {noun}") } else { format!("{} {noun}s", grouped(many)) }
}

/// A moment in the past: `just now`, `4 min ago`, or the date when it is more than a day away.
#[must_use]
pub fn ago(at: Timestamp, now: Timestamp) -> String {
    let past = now.since(at);
    match past.as_secs() {
        0 => "just now".into(),
        1..DAY_SECS => format!("{} ago", rough(past)),
        DAY_SECS.. => date(at),
    }
}

/// A moment in the future: `now`, `in 22 s`, or the date when it is more than a day away.
#[must_use]
pub fn until(at: Timestamp, now: Timestamp) -> String {
    let left = at.since(now);
    match left.as_secs() {
        0 => "now".into(),
        1..DAY_SECS => format!("in {}", rough(left)),
        DAY_SECS.. => date(at),
    }
}

/// One unit is enough for "how long ago".
fn rough(duration: Duration) -> String {
    let whole = duration.as_secs();
    match whole {
        0..MINUTE_SECS => format!("{whole} s"),
        MINUTE_SECS..HOUR_SECS => format!("{} min", whole / MINUTE_SECS),
        HOUR_SECS.. => format!("{} h", whole / HOUR_SECS),
    }
}

/// `2026-11-21 03:25 UTC`.
fn date(at: Timestamp) -> String {
    let text = at.to_string();
    match (text.get(..10), text.get(11..16)) {
        (Some(day), Some(minute)) if text.ends_with('Z') => format!("{day} {minute} UTC"),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_their_noun_and_their_thousands_apart() {
        assert_eq!(
            [0, 1, 1_234, 1_000_000].map(|many| count(many, "row")),
            ["0 rows", "1 row", "1,234 rows", "1,000,000 rows"]
        );
    }

    #[test]
    fn durations_read_in_their_two_largest_units() {
        for (millis, text) in [
            (0, "0 ms"),
            (850, "850 ms"),
            (4_000, "4 s"),
            (260_000, "4 min 20 s"),
            (120_000, "2 min"),
            (7_500_000, "2 h 5 min"),
            (273_600_000, "3 d 4 h"),
        ] {
            assert_eq!(span_ms(millis), text);
        }
    }

    #[test]
    fn moments_are_relative_up_to_a_day_and_dates_after_it() {
        let now: Timestamp = "2026-11-21T03:25:00.000Z".parse().expect("a time");
        let back = |secs: i64| Timestamp::from_millis(now.as_millis() - secs * 1_000);
        assert_eq!(ago(back(0), now), "just now");
        assert_eq!(ago(back(250), now), "4 min ago");
        assert_eq!(ago(back(7_300), now), "2 h ago");
        assert_eq!(ago(back(90_000), now), "2026-11-20 02:25 UTC");
        assert_eq!(ago(back(-60), now), "just now", "a clock that steps back shows no negative time");
        assert_eq!(until(back(-22), now), "in 22 s");
        assert_eq!(until(back(5), now), "now");
    }
}
