//! Token figures as people read them: `163,208`, `≈ 118k`, `≤ 9k`, `82 %`.
//!
//! Exact figures are written out, estimates rounded, bounds rounded up. JSON has plain numbers with their exactness.

use domain::tokens::token_noun;
pub use domain::tokens::{grouped, token_count};

use crate::dto::{BudgetDto, ExactnessDto};

/// A number of tokens with its mark: exact ones whole, others in two or three digits.
#[must_use]
pub fn tokens(number: u64, exactness: ExactnessDto) -> String {
    let shown = match exactness {
        ExactnessDto::Exact => grouped(number),
        ExactnessDto::About => rounded(number, false),
        ExactnessDto::AtMost => rounded(number, true),
    };
    format!("{}{shown}", exactness.mark())
}

/// A number of tokens with its mark and its noun: `≤ 1 token`, `≈ 118k tokens`.
#[must_use]
pub fn marked_tokens(number: u64, exactness: ExactnessDto) -> String {
    format!("{} {}", tokens(number, exactness), token_noun(number))
}

/// A size in few letters: `900`, `6.1k`, `200k`, `1.84M`.
#[must_use]
pub fn short(number: u64) -> String {
    rounded(number, false)
}

/// How full a window is, in percent; `None` when its size is not known or nothing was seen of it.
#[must_use]
pub fn share(budget: &BudgetDto) -> Option<u64> {
    let size = budget.window_tokens.filter(|size| *size > 0)?;
    let tokens = budget.now.as_ref()?.tokens;
    // A window is never fuller than full: what came in beyond that says how often it was (`fullTimes`).
    Some(u64::try_from(u128::from(tokens) * 100 / u128::from(size)).unwrap_or(u64::MAX).min(100))
}

fn rounded(number: u64, up: bool) -> String {
    const K: u64 = 1_000;
    const M: u64 = 1_000_000;
    /// From where thousands round to a million.
    const NEARLY_M: u64 = 999_500;
    let scaled = |unit: u64| if up { number.div_ceil(unit) } else { number.saturating_add(unit / 2) / unit };
    let with = |parts: u64, of: u64, unit: &str| {
        let (whole, rest) = (parts / of, parts % of);
        let digits = if of == 10 { 1 } else { 2 };
        let rest = format!("{rest:0digits$}");
        let rest = rest.trim_end_matches('0');
        if rest.is_empty() { format!("{whole}{unit}") } else { format!("{whole}.{rest}{unit}") }
    };
    match number {
        0..K => number.to_string(),
        K..10_000 => with(scaled(K / 10), 10, "k"),
        10_000..NEARLY_M => format!("{}k", scaled(K)),
        NEARLY_M..10_000_000 => with(scaled(M / 100), 100, "M"),
        10_000_000.. => format!("{}M", grouped(scaled(M))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exact_figure_is_written_out_and_others_say_what_they_are() {
        for (number, exactness, text) in [
            (163_208, ExactnessDto::Exact, "163,208"),
            (999, ExactnessDto::Exact, "999"),
            (2_410_118, ExactnessDto::Exact, "2,410,118"),
            (117_812, ExactnessDto::About, "≈ 118k"),
            (1_844_000, ExactnessDto::About, "≈ 1.84M"),
            (6_060, ExactnessDto::About, "≈ 6.1k"),
            (8_001, ExactnessDto::AtMost, "≤ 8.1k"),
            (70_001, ExactnessDto::AtMost, "≤ 71k"),
            (999_501, ExactnessDto::AtMost, "≤ 1M"),
            (0, ExactnessDto::AtMost, "≤ 0"),
        ] {
            assert_eq!(tokens(number, exactness), text, "{number}");
        }
    }

    #[test]
    fn one_token_is_written_in_the_singular_whatever_its_mark() {
        for (number, exactness, text) in [
            (1, ExactnessDto::Exact, "1 token"),
            (1, ExactnessDto::About, "≈ 1 token"),
            (1, ExactnessDto::AtMost, "≤ 1 token"),
            (0, ExactnessDto::Exact, "0 tokens"),
            (1_001, ExactnessDto::AtMost, "≤ 1.1k tokens"),
        ] {
            assert_eq!(marked_tokens(number, exactness), text, "{number}");
        }
        assert_eq!(token_count(1), "1 token");
        assert_eq!(token_count(2_000), "2,000 tokens");
    }

    #[test]
    fn sizes_are_short() {
        for (number, text) in [(200_000, "200k"), (1_000_000, "1M"), (262_144, "262k"), (12_400_000, "12M")] {
            assert_eq!(short(number), text);
        }
    }
}
