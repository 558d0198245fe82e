//! Numbers of tokens, token limits and hours as people type them: `20000`, `20k`, `1.5M`, `60k:ask`.
//!
//! Only parses; what a limit may do is the core's decision. How such numbers are shown is in `api::format::tokens`.

use api::dto::{AtLimitDto, LimitDto};
use api::{ApiError, Code};

use crate::cli::output::sentences::one_line;

/// A number of tokens.
pub(crate) fn tokens(text: &str) -> Result<u64, ApiError> {
    read(text).ok_or_else(|| no_number(text, "Give a whole number, such as `20000`, `20k` or `1.5M`."))
}

fn no_number(text: &str, hint: &str) -> ApiError {
    ApiError::new(Code::Usage, format!("`{}` is not a number of tokens", one_line(text)), hint)
}

/// A number of whole hours.
pub(crate) fn hours(text: &str) -> Result<u64, &'static str> {
    match text.parse() {
        Ok(hours @ 1..) => Ok(hours),
        Ok(0) | Err(_) => Err("give whole hours, such as `24` or `48`"),
    }
}

/// A limit with its action; `None` removes it.
pub(crate) fn limit(text: &str, fallback: AtLimitDto) -> Result<Option<LimitDto>, ApiError> {
    if text.eq_ignore_ascii_case("none") {
        return Ok(None);
    }
    let (number, at) = match text.split_once(':') {
        Some((number, word)) => (number, at_limit(word)?),
        None => (text, fallback),
    };
    let hint = "Give a number, such as `20k` or `20k:ask`, or `none` to remove the limit.";
    let tokens = read(number).ok_or_else(|| no_number(number, hint))?;
    Ok(Some(LimitDto { tokens, at }))
}

/// The word for an action, as people type it.
pub(crate) const fn at_word(at: AtLimitDto) -> &'static str {
    match at {
        AtLimitDto::Warn => "warn",
        AtLimitDto::Ask => "ask",
        AtLimitDto::Hold => "hold",
        AtLimitDto::Stop => "stop",
    }
}

fn at_limit(word: &str) -> Result<AtLimitDto, ApiError> {
    const ALL: [AtLimitDto; 4] = [AtLimitDto::Warn, AtLimitDto::Ask, AtLimitDto::Hold, AtLimitDto::Stop];
    ALL.into_iter().find(|at| at_word(*at) == word).ok_or_else(|| {
        ApiError::new(
            Code::Usage,
            format!("unknown action `{}`", one_line(word)),
            "Use `warn`, `ask`, `hold` or `stop` after the colon, such as `20k:hold`.",
        )
    })
}

fn read(text: &str) -> Option<u64> {
    let text = ungrouped(text.trim())?;
    let (number, unit) = match text.strip_suffix(['k', 'K']) {
        Some(number) => (number, 1_000),
        None => match text.strip_suffix(['m', 'M']) {
            Some(number) => (number, 1_000_000),
            None => (text.as_str(), 1),
        },
    };
    let (whole, rest) = number.split_once('.').unwrap_or((number, ""));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || number.contains('.') && !digits(rest) {
        return None;
    }
    let whole = whole.parse::<u64>().ok()?.checked_mul(unit)?;
    if rest.is_empty() {
        return Some(whole);
    }
    let places = 10_u64.checked_pow(u32::try_from(rest.len()).ok()?)?;
    let part = rest.parse::<u64>().ok()?.checked_mul(unit)?;
    // A fraction of a token is not a number of tokens.
    if part % places == 0 { whole.checked_add(part / places) } else { None }
}

/// Removes the separators between groups of three digits. `1,5k` is refused: a comma is not a decimal point here.
fn ungrouped(text: &str) -> Option<String> {
    let mut groups = text.split([',', '_']);
    let first = groups.next()?;
    let mut whole = first.to_owned();
    for group in groups {
        // The last group may be followed by a fraction and a unit.
        let digits = group.bytes().take_while(u8::is_ascii_digit).count();
        if digits != 3 || !(1..=3).contains(&first.len()) {
            return None;
        }
        whole.push_str(group);
    }
    Some(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_tokens_are_read_as_people_write_them() {
        for (text, number) in [
            ("20000", Some(20_000)),
            ("20,000", Some(20_000)),
            ("1_200_000", Some(1_200_000)),
            ("1,200.5k", Some(1_200_500)),
            ("1,5k", None),
            ("1,5M", None),
            ("1000,000", None),
            ("1,000,00", None),
            (",500", None),
            ("20k", Some(20_000)),
            ("1.5M", Some(1_500_000)),
            ("0.5k", Some(500)),
            ("1.0005k", None),
            ("1.5", None),
            ("1.", None),
            ("-3", None),
            ("", None),
            ("k", None),
            ("99999999999999999999", None),
        ] {
            assert_eq!(read(text), number, "`{text}`");
        }
    }

    #[test]
    fn a_limit_says_what_happens_or_leaves_it_to_the_usual() {
        let hold = |tokens| Some(LimitDto { tokens, at: AtLimitDto::Hold });
        assert_eq!(limit("20k", AtLimitDto::Hold).expect("a limit"), hold(20_000));
        let ask = Some(LimitDto { tokens: 5, at: AtLimitDto::Ask });
        assert_eq!(limit("5:ask", AtLimitDto::Hold).expect("a limit"), ask);
        assert_eq!(limit("none", AtLimitDto::Hold).expect("no limit"), None);
        assert!(limit("5:explode", AtLimitDto::Hold).is_err(), "nothing of ours");
    }
}
