//! What a task costs in its agent's window, why its result is held, and which limit it exceeded, in words.
//!
//! A part of `taskwarden tasks show`. Figures and decisions are the core's.

use api::dto::{AtLimitDto, ExactnessDto, FormDto, HeldDto, HeldWhy, TaskDto, TokensDto, moment};
use api::format::time;
use api::format::tokens::{grouped, marked_tokens, token_count, tokens};

use crate::cli::input::amount;
use crate::cli::output::run_limits;
use crate::cli::output::screen::Screen;
use crate::cli::output::sentences::release_command;
use crate::cli::output::sentences::{family, now, one_line, short_id};

/// Prints the lines about tokens; nothing for a task that uses no window.
pub(crate) fn show(task: &TaskDto, screen: &Screen) {
    if let Some(counted) = &task.tokens {
        screen.line(&format!("  tokens: {}", line(counted)));
    }
    let ago = |at: &str| moment(at).map(|at| time::ago(at, now())).unwrap_or_default();
    let id = short_id(&task.id, !screen.is_terminal());
    let exactness = task.tokens.as_ref().map_or(ExactnessDto::AtMost, |counted| counted.exactness);
    if let Some(over) = &task.over_limit {
        let (reached, limit) = (tokens(over.tokens, exactness), token_count(over.limit.tokens));
        let at = amount::at_word(over.limit.at);
        let settled = match &over.settled_by {
            Some(by) => format!("; {} allowed it to continue", one_line(by)),
            None if over.limit.at == AtLimitDto::Ask && !task.over && task.intent.is_none() => {
                format!("; taskwarden tasks go-on {id}, or cancel it")
            }
            None => String::new(),
        };
        screen.line(&format!("  it exceeded {limit} {} ({reached}): {at}{settled}", ago(&over.at)));
    }
    for limit in &task.run_limits {
        screen.line(&format!("  {}", run_limits::line(limit, id)));
    }
    if let Some(held) = &task.held {
        screen.line(&format!("  {}", hold(held, exactness, &ago, id)));
    }
}

/// `412 for its handle · 61,402 result, 8,000 of it read · 1,204 kept out (GPT o200k)`.
fn line(counted: &TokensDto) -> String {
    let shown = |number| tokens(number, counted.exactness);
    let mut parts = vec![format!("{} for the call", shown(counted.arguments))];
    parts.push(format!("{} for its handle", shown(counted.handle)));
    match counted.result {
        Some(result) if counted.delivered > 0 => {
            parts.push(format!("result {}, {} of it read", shown(result), shown(counted.delivered)));
        }
        Some(result) => parts.push(format!("result {}, not read yet", shown(result))),
        None => {}
    }
    parts.push(format!("{} kept out", shown(counted.kept_out)));
    format!("{} ({})", parts.join(" · "), one_line(family(&counted.family)))
}

fn hold(held: &HeldDto, exactness: ExactnessDto, ago: &impl Fn(&str) -> String, id: &str) -> String {
    let why = match (held.why, held.tokens, held.limit, held.free) {
        (HeldWhy::TooLarge, Some(size), Some(limit), _) => {
            format!(": {}, at most {} allowed", marked_tokens(size, exactness), grouped(limit))
        }
        (HeldWhy::DoesNotFit, Some(size), _, Some(free)) => {
            // Beside an upper bound of what is used, the free part is a lower bound; it must not carry `≤`.
            let about = if exactness == ExactnessDto::Exact { exactness } else { ExactnessDto::About };
            let free = if free == 0 { "none".into() } else { tokens(free, about) };
            format!(": {}, {free} free in the window", marked_tokens(size, exactness))
        }
        (HeldWhy::WouldBeCut, Some(size), Some(shown), _) => {
            let program = held.program.as_deref().map_or_else(|| "its program".into(), one_line);
            format!(
                ": {}, above the {} that {program} surely shows its model",
                marked_tokens(size, exactness),
                grouped(shown)
            )
        }
        (HeldWhy::Review | HeldWhy::TooLarge | HeldWhy::DoesNotFit | HeldWhy::WouldBeCut, ..) => String::new(),
    };
    let Some(verdict) = &held.verdict else {
        let by = one_line(&held.by);
        return format!("its result is held by {by}, {}{why}; {}", ago(&held.at), release_command(id));
    };
    let said = verdict.reason.as_deref().map(|reason| format!(" ({})", one_line(reason))).unwrap_or_default();
    let what = match (verdict.delivered, verdict.form, verdict.trim_tokens) {
        (false, ..) => "withheld".to_owned(),
        (true, Some(FormDto::Slices), _) => "delivered in parts".into(),
        (true, Some(FormDto::Trimmed), Some(most)) => format!("delivered, trimmed to {}", token_count(most)),
        (true, Some(FormDto::Trimmed | FormDto::Whole) | None, _) => "delivered".into(),
    };
    format!("its result was held{why}; {what} by {} {}{said}", one_line(&verdict.by), ago(&verdict.at))
}

#[cfg(test)]
mod tests {
    use api::dto::VerdictDto;

    use super::*;

    fn held(why: HeldWhy) -> HeldDto {
        let at = || "2026-11-21T21:05:56.969Z".to_owned();
        let verdict = VerdictDto {
            delivered: false,
            form: None,
            trim_tokens: None,
            by: "ada".into(),
            by_limit: false,
            at: at(),
            reason: Some("too dear".into()),
        };
        HeldDto {
            at: at(),
            by: "a limit".into(),
            why,
            tokens: Some(4_096),
            limit: Some(2_000),
            program: Some("Codex".into()),
            free: Some(1_204),
            verdict: Some(verdict),
        }
    }

    fn told(why: HeldWhy) -> String {
        hold(&held(why), ExactnessDto::AtMost, &|_| "1 min ago".into(), "hdl_1")
    }

    #[test]
    fn a_result_that_is_withheld_says_why() {
        let told = told(HeldWhy::TooLarge);
        assert!(told.ends_with("at most 2,000 allowed; withheld by ada 1 min ago (too dear)"), "{told}");
    }

    #[test]
    fn what_is_free_beside_an_upper_bound_is_not_called_one() {
        let told = told(HeldWhy::DoesNotFit);
        assert!(told.contains("≤ 4.1k tokens, ≈ 1.2k free"), "{told}");
    }
}
