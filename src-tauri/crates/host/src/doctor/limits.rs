//! How full the limits of a running core are.
//!
//! One line if all is well; otherwise each limit that is nearly used up, with what can be done.

use api::calls::core::doctor::NamedFacts;
use api::calls::core::findings::Finding;
use api::calls::core::limits::{LimitRow, LimitUnit};

const KIB: u64 = domain::policy::KIB as u64;
const AREA: &str = "limits";
/// Limits above this share are reported. Issue 11: above 80 %.
const NEARLY_FULL_PERCENT: u64 = 80;

pub(super) fn examine(facts: &NamedFacts) -> Vec<Finding> {
    let nearly = |row: &&LimitRow| row.used.saturating_mul(100) > row.most.saturating_mul(NEARLY_FULL_PERCENT);
    let found: Vec<Finding> = facts.limits.iter().filter(nearly).map(finding).collect();
    match facts.limits.iter().max_by_key(|row| row.used.saturating_mul(100) / row.most.max(1)) {
        Some(fullest) if found.is_empty() => {
            vec![Finding::fine(AREA, format!("every limit has room; the fullest: {}", describe(fullest)))]
        }
        Some(_) | None => found,
    }
}

fn finding(row: &LimitRow) -> Finding {
    Finding::note(
        AREA,
        describe(row),
        "Anything beyond it is refused until something ends. `taskwarden tasks list` shows what is open.",
    )
}

fn describe(row: &LimitRow) -> String {
    let figure = |value: u64| match row.unit {
        LimitUnit::Count => value.to_string(),
        LimitUnit::Bytes => format!("{} KiB", value.div_ceil(KIB)),
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
        assert_eq!(describe(&row(801)), "open calls, server demo: 801 of 1000");
        let bytes = LimitRow { unit: LimitUnit::Bytes, used: 4_096, most: 8_192, ..row(0) };
        assert_eq!(describe(&bytes), "open calls, server demo: 4 KiB of 8 KiB");
    }
}
