//! Bars for the days of a month, as SVG that a page holds in itself.
//!
//! No chart library: one is made for screens with a pointer, and this is for paper.

use std::fmt::Write as _;

use api::dto::core::report::ReportDayDto;
use api::format::tokens::grouped;

/// Days of the longest month.
const DAYS: u32 = 31;
/// The size of the drawing, in its own units.
const BAR_WIDTH: u32 = 16;
const GAP: u32 = 5;
const HEIGHT: u32 = 110;
const LEFT: u32 = 44;

/// One bar for each day of the month, with the largest figure beside the axis.
pub(super) fn bars(title: &str, days: &[ReportDayDto], figure: impl Fn(&ReportDayDto) -> u64) -> String {
    let most = days.iter().map(&figure).max().unwrap_or_default();
    let (width, full) = (LEFT + DAYS * (BAR_WIDTH + GAP), HEIGHT + 24);
    let mut svg = format!(
        "<svg viewBox=\"0 0 {width} {full}\" role=\"img\" aria-label=\"{title}\"><text x=\"{x}\" y=\"10\" \
         class=\"axis\" text-anchor=\"end\">{named}</text><text x=\"{x}\" y=\"{HEIGHT}\" class=\"axis\" \
         text-anchor=\"end\">0</text><line x1=\"{LEFT}\" y1=\"{HEIGHT}\" x2=\"{width}\" y2=\"{HEIGHT}\"/>",
        x = LEFT - 8,
        named = grouped(most),
    );
    for number in 1..=DAYS {
        let ends = format!("-{number:02}");
        let day = days.iter().find(|day| day.date.ends_with(&ends));
        let (value, date) = day.map_or((0, ""), |day| (figure(day), day.date.as_str()));
        let x = LEFT + (number - 1) * (BAR_WIDTH + GAP) + GAP;
        if value > 0 {
            let tall = height(value, most);
            let y = HEIGHT - tall;
            // Writing to a text never fails.
            let _ = write!(
                svg,
                "<rect x=\"{x}\" y=\"{y}\" width=\"{BAR_WIDTH}\" height=\"{tall}\"><title>{date}: {}</title></rect>",
                grouped(value)
            );
        }
        if number == 1 || number % 5 == 0 {
            let (middle, below) = (x + BAR_WIDTH / 2, HEIGHT + 16);
            let _ =
                write!(svg, "<text x=\"{middle}\" y=\"{below}\" class=\"axis\" text-anchor=\"middle\">{number}</text>");
        }
    }
    svg.push_str("</svg>");
    svg
}

/// A bar that is there can be seen.
fn height(value: u64, most: u64) -> u32 {
    let room = u128::from(HEIGHT - 14);
    let tall = u128::from(value) * room / u128::from(most.max(1));
    u32::try_from(tall).unwrap_or(HEIGHT).max(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_day_has_its_bar_and_the_largest_is_named() {
        let day = |date: &str, tasks| ReportDayDto { date: date.into(), calls: 0, tasks, decisions: 0 };
        let svg = bars("Tasks a day", &[day("2026-11-01", 1), day("2026-11-30", 1_000_000)], |day| day.tasks);
        assert_eq!(svg.matches("<rect").count(), 2, "{svg}");
        assert!(svg.contains("2026-11-30: 1,000,000") && svg.contains(">1,000,000</text>"), "{svg}");
        assert!(svg.contains("height=\"2\""), "one of a million can be seen: {svg}");
        assert_eq!(bars("Tasks a day", &[], |day| day.tasks).matches("<rect").count(), 0, "an empty month has an axis");
    }
}
