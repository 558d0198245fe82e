//! How full the limits of a running core are.
//!
//! Each limit is one line: how much is in use and the most that may be, for whom it is fullest. A limit that is nearly
//! used up is named with what can be done, for each whom it concerns.

use api::calls::core::findings::Finding;
use api::calls::core::limits::{LimitRow, LimitUnit};
use api::format::storage::bytes;
use api::format::tokens::grouped;

const AREA: &str = "limits";
/// Limits above this share are reported. Issue 11: above 80 %.
const NEARLY_FULL_PERCENT: u64 = 80;

pub(super) fn examine(limits: &[LimitRow]) -> Vec<Finding> {
    let share = |row: &LimitRow| row.used.saturating_mul(100) / row.most.max(1);
    let is_nearly_full = |row: &&LimitRow| row.used.saturating_mul(100) > row.most.saturating_mul(NEARLY_FULL_PERCENT);
    let mut fullest: Vec<&LimitRow> = Vec::new();
    for row in limits.iter().filter(|row| !is_nearly_full(row)) {
        match fullest.iter_mut().find(|shown| shown.name == row.name) {
            Some(shown) if share(shown) < share(row) => *shown = row,
            Some(_) => {}
            None => fullest.push(row),
        }
    }
    let fine = fullest.into_iter().map(|row| Finding::fine(AREA, describe(row)));
    limits.iter().filter(is_nearly_full).map(finding).chain(fine).collect()
}

fn finding(row: &LimitRow) -> Finding {
    let cure = if row.name.starts_with("stored ") {
        "Beyond it what ended first is removed, and calls are refused when nothing may go. `taskwarden storage` shows what \
         is stored; `taskwarden storage set` changes the limit."
    } else {
        "Anything beyond it is refused until something ends. `taskwarden tasks list` shows what is open."
    };
    Finding::note(AREA, describe(row), cure)
}

fn describe(row: &LimitRow) -> String {
    let figure = |value: u64| match row.unit {
        LimitUnit::Count => grouped(value),
        LimitUnit::Bytes => bytes(value),
    };
    format!("{}, {}: {} of {}", row.name, row.scope, figure(row.used), figure(row.most))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_above_four_fifths_is_named_with_its_use() {
        let row = |used| LimitRow {
            name: "open calls".into(),
            scope: "server demo".into(),
            used,
            most: 1_000,
            unit: LimitUnit::Count,
        };
        assert_eq!(describe(&row(801)), "open calls, server demo: 801 of 1,000");
        let limits = [row(10), row(801), row(300), row(20)];
        let messages: Vec<String> = examine(&limits).into_iter().map(|finding| finding.message).collect();
        let expected = ["open calls, server demo: 801 of 1,000", "open calls, server demo: 300 of 1,000"];
        assert_eq!(messages, expected, "each that is nearly full, and of the others the fullest");
        let small = LimitRow { unit: LimitUnit::Bytes, used: 4_096, most: 8_192, ..row(0) };
        assert_eq!(describe(&small), "open calls, server demo: 4 KiB of 8 KiB");
        let large = LimitRow { used: 5 << 20, most: 1 << 30, ..small };
        assert_eq!(describe(&large), "open calls, server demo: 5 MiB of 1 GiB");
    }
}
