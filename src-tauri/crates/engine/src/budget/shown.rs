//! What of a message the model of an agent sees, by the profile of its program: decision 0022, in code.
//!
//! The part that the program shows, then its cap. A name that no person confirmed is good for what is shown to people;
//! limits then count the larger of both figures. It weighs nothing: the weight comes from `count.rs`.

use domain::client::profile::ShownPart;
use domain::budget::models::CountingMethod;
use domain::ports::{PartCount, with_error};
use domain::tokens::{Count, Exactness, Intake};

use super::count::{cautious, shown, unsaid};

/// What a program takes something for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The result of a tool: it shows a part of it, and cuts that.
    Result,
    /// An error in its place: it cuts that.
    Error,
    /// Anything else is shown as it is.
    Other,
}

/// What was counted of one message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counted {
    /// Both figures.
    pub(super) intake: Intake,
    /// Tokens by our own count beyond what was passed: its maker says less, or some programs show another part.
    pub(super) unsaid: u64,
    /// Tokens that limits count beyond what stands in the window.
    pub(super) beyond: u64,
}

impl From<Count> for Counted {
    fn from(count: Count) -> Self {
        Self { intake: count.into(), unsaid: 0, beyond: 0 }
    }
}

/// The part of a message that a program shows, before its cap, by our own count.
fn part(measure: &CountingMethod, weight: &PartCount, kind: Kind) -> Count {
    let (count, instead) = (weight.count, weight.instead);
    let structured = Count { tokens: instead, exactness: measure.family.exactness() };
    match (kind, measure.profile.shown) {
        _ if instead == 0 => count,
        // All that were measured show the message of an error.
        (Kind::Other | Kind::Error, _) | (Kind::Result, ShownPart::Content) => count,
        (Kind::Result, ShownPart::StructuredFirst) => structured,
        (Kind::Result, ShownPart::Both) => Count { exactness: Exactness::AtMost, ..count + structured },
    }
}

/// What was counted of a message of so many bytes.
pub(super) fn counted(measure: &CountingMethod, weight: &PartCount, bytes: u64, kind: Kind) -> Counted {
    let (passed, part) = (shown(weight, bytes), part(measure, weight, kind));
    // What its maker says is said of the whole of it.
    let part = if part == weight.count { passed } else { part };
    let (long, media) = (measure.profile.long_result, weight.media.min(part.tokens));
    let text = part.tokens.saturating_sub(media);
    let window = match (kind, long.shown_of(text)) {
        (Kind::Other, _) => part,
        (Kind::Result | Kind::Error, seen) if seen == text => part,
        (Kind::Result | Kind::Error, seen) => Count { tokens: seen.saturating_add(media), exactness: Exactness::About },
    };
    let beyond = limited(measure, weight, bytes, (kind, 0)).saturating_sub(window.tokens);
    Counted { intake: Intake { passed, window }, unsaid: unsaid(weight, bytes), beyond }
}

/// The figure that limits are held against, with the error of an estimate on top.
pub(super) fn limited(measure: &CountingMethod, weight: &PartCount, bytes: u64, (kind, error): (Kind, u8)) -> u64 {
    let part = part(measure, weight, kind).tokens;
    let most = with_error(part, error);
    if !measure.is_confirmed() {
        return most.max(cautious(weight, bytes, error));
    }
    match kind {
        Kind::Other => most,
        Kind::Result | Kind::Error => {
            let media = weight.media.min(part);
            let least = part.saturating_sub(media).saturating_mul(100) / (100 + u64::from(error));
            measure.profile.long_result.shown_at_most(least, most.saturating_sub(media)).saturating_add(media)
        }
    }
}

/// The text of a result that its program would cut: its size by our own count and with the error of an estimate on top,
/// and what the program shows of it.
pub(super) fn would_be_cut(measure: &CountingMethod, weight: &PartCount, (kind, error): (Kind, u8)) -> Option<(u64, u64)> {
    let cap = measure.profile.long_result.cap()?;
    let text = part(measure, weight, kind).tokens.saturating_sub(weight.media);
    let most = with_error(text, error);
    (most > cap).then_some((if text > cap { text } else { most }, cap))
}

#[cfg(test)]
mod tests {
    use domain::budget::models;
    use domain::tokens::Family;
    use domain::budget::window::CountingSettings;

    use super::*;

    /// How an agent is measured that a person said to be this program.
    fn of(program: &str) -> CountingMethod {
        models::counting_method(&CountingSettings { program: Some(program.into()), ..CountingSettings::default() }, None)
    }

    fn claimed(name: &str) -> CountingMethod {
        models::counting_method(&CountingSettings::default(), Some(name))
    }

    fn weight(measure: &CountingMethod, tokens: u64, instead: u64) -> PartCount {
        let count = Count { tokens, exactness: measure.family.exactness() };
        PartCount { count, instead, ..PartCount::default() }
    }

    fn result(measure: &CountingMethod, tokens: u64, instead: u64) -> Counted {
        counted(measure, &weight(measure, tokens, instead), tokens.max(instead) * 4, Kind::Result)
    }

    /// What stood in requests of the four programs (reference agents.md, 2.4): a figure may be off by the error of its
    /// family, and by 3 % where the program cuts in its own measure.
    #[test]
    fn of_a_long_result_the_window_has_what_stood_in_the_request() {
        const CUT_PERCENT: u64 = 3;
        for (program, passed, in_request) in [
            ("claude-code", 88_842, 369),
            ("codex", 69_387, 4_929),
            ("gemini-cli", 93_280, 16_285),
            ("opencode", 107_039, 20_571),
        ] {
            let measure = of(program);
            let counted = result(&measure, passed, 0);
            let (window, bound) = (counted.intake.window, in_request * CUT_PERCENT / 100);
            assert_eq!(counted.intake.passed.tokens, passed, "{program}: what was passed is ours");
            assert!(window.tokens.abs_diff(in_request) <= bound, "{program}: {window:?} for {in_request}");
            assert_eq!(window.exactness, Exactness::About, "{program} cuts in its own measure");
            let limited = limited(&measure, &weight(&measure, passed, 0), passed * 4, (Kind::Result, 0));
            assert_eq!(limited, window.tokens, "{program}: limits are held by what is in the window");
        }
    }

    #[test]
    fn structured_content_counts_where_the_program_shows_it() {
        for (program, window) in [("claude-code", 6_271), ("gemini-cli", 4), ("opencode", 4), ("other", 6_275)] {
            let counted = result(&of(program), 4, 6_271);
            assert_eq!((counted.intake.passed.tokens, counted.intake.window.tokens), (4, window), "{program}");
        }
        let codex = result(&of("codex"), 4, 6_271).intake.window;
        assert_eq!(codex.tokens, 5_000, "the part that it shows, then its cap");
        let other = result(&of("other"), 4, 6_271).intake.window.exactness;
        assert_eq!(other, Exactness::AtMost, "what an unknown program shows is not known");
    }

    #[test]
    fn a_name_that_nobody_confirmed_gets_no_result_past_a_limit() {
        for (name, tokens, instead) in
            [("codex-mcp-client", 69_387, 0), ("claude-code", 4, 88_842), ("opencode", 4, 60_000)]
        {
            let measure = claimed(name);
            let (counted, weight) = (result(&measure, tokens, instead), weight(&measure, tokens, instead));
            let limited = limited(&measure, &weight, u64::MAX, (Kind::Result, 0));
            assert!(limited >= tokens.max(instead), "{name}: the larger of both, {limited}");
            assert_eq!(counted.intake.window.tokens + counted.beyond, limited, "{name}: the same in its window");
        }
        assert_eq!(result(&claimed("codex-mcp-client"), 69_387, 0).intake.window.tokens, 5_000, "for people it is");
    }

    #[test]
    fn an_estimate_near_the_limit_of_a_file_counts_as_shown_whole() {
        let measure = of("claude-code");
        let near = weight(&measure, 13_000, 0);
        assert_eq!(limited(&measure, &near, 99_000, (Kind::Result, 0)), 370);
        assert_eq!(limited(&measure, &near, 99_000, (Kind::Result, 10)), 12_500, "it may be a little less");
        assert_eq!(would_be_cut(&measure, &weight(&measure, 12_000, 0), (Kind::Result, 10)), Some((13_334, 12_500)));
        assert_eq!(would_be_cut(&measure, &weight(&measure, 12_000, 0), (Kind::Result, 0)), None);
    }

    #[test]
    fn pictures_are_not_cut_and_nothing_but_results_is() {
        let measure = CountingMethod { family: Family::O200k, ..of("codex") };
        let picture = PartCount { media: 3_000, ..weight(&measure, 9_000, 0) };
        assert_eq!(counted(&measure, &picture, 90_000, Kind::Result).intake.window.tokens, 8_000, "5,000 of 6,000");
        let other = counted(&measure, &weight(&measure, 9_000, 0), 90_000, Kind::Other);
        assert_eq!(other, Counted::from(Count { tokens: 9_000, exactness: Exactness::Exact }));
    }
}
