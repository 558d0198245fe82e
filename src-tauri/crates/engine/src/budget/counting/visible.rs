//! How much of a message an agent's model sees, by the profile of its program (decision 0022).
//!
//! First the part that the program shows, then its cap. A program name that no person confirmed is good enough for what
//! people are shown; limits then count the larger of both figures. Counting itself is `count.rs`.

use domain::budget::models::CountingMethod;
use domain::client::profile::ShownPart;
use domain::ports::{PartCount, with_error};
use domain::tokens::{Count, Exactness, Intake};

/// What a program takes something for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MessageKind {
    /// The result of a tool: it shows a part of it, and cuts that.
    Result,
    /// An error in its place: it cuts that.
    Error,
    /// Anything else is shown as it is.
    Other,
}

/// What was counted of one message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counted {
    /// What was passed, and what of it is in the window.
    pub(crate) intake: Intake,
    /// Tokens by our own count beyond what was passed: its maker says less, or some programs show another part.
    pub(crate) unsaid: u64,
    /// Tokens that limits count beyond what is in the window.
    pub(crate) beyond: u64,
}

impl From<Count> for Counted {
    fn from(count: Count) -> Self {
        Self { intake: count.into(), unsaid: 0, beyond: 0 }
    }
}

/// The figure that limits are held against, of a text of so many bytes: an estimate with its error on top.
fn cautious(weight: &PartCount, bytes: u64, error_percent: u8) -> u64 {
    shown(weight, bytes).tokens.max(with_error(weight.own(), error_percent))
}

/// How much more it is by our own count than the figure to show.
fn unsaid(weight: &PartCount, bytes: u64) -> u64 {
    weight.own().saturating_sub(shown(weight, bytes).tokens)
}

/// The figure to show of a text of so many bytes. What its maker says can be true between half of what its text is by our
/// own count, whose error is far smaller, and one token a byte.
fn shown(weight: &PartCount, bytes: u64) -> Count {
    let text = weight.count.tokens.saturating_sub(weight.media);
    let possible = text.div_ceil(2)..=bytes.max(weight.count.tokens);
    let believed = weight.reported.is_none_or(|reported| possible.contains(&reported));
    if believed { weight.shown() } else { weight.count }
}

/// The part of a message that a program shows, before its cap, by our own count.
fn part(measure: &CountingMethod, weight: &PartCount, kind: MessageKind) -> Count {
    let (count, instead) = (weight.count, weight.instead);
    let structured = Count { tokens: instead, exactness: measure.family.exactness() };
    match (kind, measure.profile.shown) {
        _ if instead == 0 => count,
        // All that were measured show the message of an error.
        (MessageKind::Other | MessageKind::Error, _) | (MessageKind::Result, ShownPart::Content) => count,
        (MessageKind::Result, ShownPart::StructuredFirst) => structured,
        (MessageKind::Result, ShownPart::Both) => Count { exactness: Exactness::AtMost, ..count + structured },
    }
}

/// What was counted of a message of so many bytes.
pub(crate) fn counted(measure: &CountingMethod, weight: &PartCount, bytes: u64, kind: MessageKind) -> Counted {
    let (passed, part) = (shown(weight, bytes), part(measure, weight, kind));
    // What its maker says is said of the whole of it.
    let part = if part == weight.count { passed } else { part };
    let (long, media) = (measure.profile.long_result, weight.media.min(part.tokens));
    let text = part.tokens.saturating_sub(media);
    let window = match (kind, long.shown_of(text)) {
        (MessageKind::Other, _) => part,
        (MessageKind::Result | MessageKind::Error, seen) if seen == text => part,
        (MessageKind::Result | MessageKind::Error, seen) => {
            Count { tokens: seen.saturating_add(media), exactness: Exactness::About }
        }
    };
    let beyond = limited(measure, weight, bytes, kind, 0).saturating_sub(window.tokens);
    Counted { intake: Intake { passed, window }, unsaid: unsaid(weight, bytes), beyond }
}

/// The figure that limits are held against, with the error of an estimate on top.
pub(crate) fn limited(measure: &CountingMethod, weight: &PartCount, bytes: u64, kind: MessageKind, error: u8) -> u64 {
    let part = part(measure, weight, kind).tokens;
    let most = with_error(part, error);
    if !measure.is_confirmed() {
        return most.max(cautious(weight, bytes, error));
    }
    match kind {
        MessageKind::Other => most,
        MessageKind::Result | MessageKind::Error => {
            let media = weight.media.min(part);
            let least = part.saturating_sub(media).saturating_mul(100) / (100 + u64::from(error));
            measure.profile.long_result.shown_at_most(least, most.saturating_sub(media)).saturating_add(media)
        }
    }
}

/// The text of a result that its program would cut: its size by our own count and with the error of an estimate on top,
/// and what the program shows of it.
pub(crate) fn would_be_cut(
    measure: &CountingMethod,
    weight: &PartCount,
    kind: MessageKind,
    error: u8,
) -> Option<(u64, u64)> {
    let cap = measure.profile.long_result.cap()?;
    let text = part(measure, weight, kind).tokens.saturating_sub(weight.media);
    let most = with_error(text, error);
    (most > cap).then_some((if text > cap { text } else { most }, cap))
}

#[cfg(test)]
mod tests {
    use domain::budget::models;
    use domain::budget::window::CountingSettings;
    use domain::tokens::Family;

    use super::*;

    /// How an agent is measured that a person said to be this program.
    fn of(program: &str) -> CountingMethod {
        models::counting_method(
            &CountingSettings { program: Some(program.into()), ..CountingSettings::default() },
            None,
        )
    }

    fn claimed(name: &str) -> CountingMethod {
        models::counting_method(&CountingSettings::default(), Some(name))
    }

    fn weight(measure: &CountingMethod, tokens: u64, instead: u64) -> PartCount {
        let count = Count { tokens, exactness: measure.family.exactness() };
        PartCount { count, instead, ..PartCount::default() }
    }

    fn result(measure: &CountingMethod, tokens: u64, instead: u64) -> Counted {
        counted(measure, &weight(measure, tokens, instead), tokens.max(instead) * 4, MessageKind::Result)
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
            let limited = limited(&measure, &weight(&measure, passed, 0), passed * 4, MessageKind::Result, 0);
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
            let limited = limited(&measure, &weight, u64::MAX, MessageKind::Result, 0);
            assert!(limited >= tokens.max(instead), "{name}: the larger of both, {limited}");
            assert_eq!(counted.intake.window.tokens + counted.beyond, limited, "{name}: the same in its window");
        }
        assert_eq!(result(&claimed("codex-mcp-client"), 69_387, 0).intake.window.tokens, 5_000, "for people it is");
    }

    #[test]
    fn an_estimate_near_the_limit_of_a_file_counts_as_shown_whole() {
        let measure = of("claude-code");
        let near = weight(&measure, 13_000, 0);
        assert_eq!(limited(&measure, &near, 99_000, MessageKind::Result, 0), 370);
        assert_eq!(limited(&measure, &near, 99_000, MessageKind::Result, 10), 12_500, "it may be a little less");
        assert_eq!(
            would_be_cut(&measure, &weight(&measure, 12_000, 0), MessageKind::Result, 10),
            Some((13_334, 12_500))
        );
        assert_eq!(would_be_cut(&measure, &weight(&measure, 12_000, 0), MessageKind::Result, 0), None);
    }

    #[test]
    fn pictures_are_not_cut_and_nothing_but_results_is() {
        let measure = CountingMethod { family: Family::O200k, ..of("codex") };
        let picture = PartCount { media: 3_000, ..weight(&measure, 9_000, 0) };
        assert_eq!(
            counted(&measure, &picture, 90_000, MessageKind::Result).intake.window.tokens,
            8_000,
            "5,000 of 6,000"
        );
        let other = counted(&measure, &weight(&measure, 9_000, 0), 90_000, MessageKind::Other);
        assert_eq!(other, Counted::from(Count { tokens: 9_000, exactness: Exactness::Exact }));
    }

    #[test]
    fn what_its_maker_says_is_shown_where_it_can_be_true() {
        let count = Count { tokens: 1_001, exactness: Exactness::About };
        let told = |reported, media| {
            let weight = PartCount { count, reported: Some(reported), media, ..PartCount::default() };
            shown(&weight, 4_000)
        };
        let (ours, theirs) = (count, |tokens| Count { tokens, exactness: Exactness::Exact });
        assert_eq!(told(1, 0), ours, "a thousand tokens are not one");
        assert_eq!(told(500, 0), ours);
        assert_eq!(told(501, 0), theirs(501), "half of ours may be true");
        assert_eq!(told(4_000, 0), theirs(4_000), "a token a byte may be true");
        assert_eq!(told(4_001, 0), ours, "and more may not");
        assert_eq!(told(1, 1_000), theirs(1), "of pictures we know less");
    }
}
