//! The text of cards: a title and at most two lines, true for as long as they are shown.
//!
//! A card cannot count, so it names times of day where a screen would count seconds. Names come from servers: anything
//! that could act on a screen is removed, and they are cut (style 86). There are no questions, arguments, answers or
//! results here.

use std::collections::BTreeSet;

use api::format::{time, tokens};
use domain::task::input_request::{Ask, InputRequest, RequestState};
use domain::task::status::{Delivery, Intent, Phase};
use domain::task::{Attention, TaskHandle};
use domain::time::Timestamp;
use domain::tokens::Exactness;
use jiff::tz::TimeZone;

use crate::notifications::subject::SubjectContext;

/// The longest tool name in a title. Judgement: desktops cut longer titles.
const NAME_CHARS: usize = 40;

/// The person's time zone.
#[derive(Debug, Clone)]
pub(crate) struct LocalTime(pub(crate) TimeZone);

impl LocalTime {
    /// A time of today as hours and minutes, of another day with its date.
    pub(crate) fn clock(&self, at: Timestamp, now: Timestamp) -> String {
        let (Some(at), Some(now)) = (self.zoned(at), self.zoned(now)) else { return at.to_string() };
        let shape = if at.date() == now.date() { "%H:%M" } else { "%Y-%m-%d %H:%M" };
        at.strftime(shape).to_string()
    }

    /// A moment on the person's clock.
    pub(crate) fn zoned(&self, at: Timestamp) -> Option<jiff::Zoned> {
        let at = jiff::Timestamp::from_millisecond(at.as_millis()).ok()?;
        Some(at.to_zoned(self.0.clone()))
    }
}

/// Server text for a desktop: one line, nothing that acts, no markup, capped.
fn plain(text: &str, most: usize) -> String {
    let acts = |letter: char| {
        letter.is_control()
            || matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    let mut shown = String::new();
    let mut length = 0;
    for word in text.split(|letter: char| letter.is_whitespace() || acts(letter)).filter(|word| !word.is_empty()) {
        if length > 0 {
            shown.push(' ');
            length += 1;
        }
        for letter in word.chars() {
            if length >= most {
                shown.push('…');
                return shown;
            }
            // Some desktops read markup in a body; these two look alike and mean nothing.
            shown.push(match letter {
                '<' => '‹',
                '>' => '›',
                '&' => '＆',
                other => other,
            });
            length += 1;
        }
    }
    shown
}

fn tool(handle: &TaskHandle) -> String {
    handle.tool.as_deref().map_or_else(|| "a task".into(), |name| plain(name, NAME_CHARS))
}

/// The text for open questions.
pub(crate) fn waiting(
    handle: &TaskHandle,
    asked: &[&InputRequest],
    deadline: Option<Timestamp>,
    since: Timestamp,
    around: SubjectContext<'_>,
) -> (String, String) {
    let server = around.server;
    let title = match asked {
        [one] => match &one.ask {
            Ask::Visit { .. } => format!("{server} asks you to open a page"),
            Ask::Form { .. } | Ask::Sampling | Ask::Roots | Ask::Unsupported(_) => format!("{server} needs an answer"),
        },
        many => format!("{server} needs {} answers", many.len()),
    };
    let clock = |at| around.local.clock(at, around.now);
    let until = deadline.map_or_else(String::new, |at| format!(" · deadline {}", clock(at)));
    let body = format!("{} is paused · since {}{until}", paused(handle, asked), clock(since));
    (title, body)
}

/// What waits for the answer: the tool, unless it is not known which of several calls asks.
fn paused(handle: &TaskHandle, asked: &[&InputRequest]) -> String {
    let calls: BTreeSet<_> = asked.iter().flat_map(|request| handle.possible_askers(&request.key)).collect();
    if calls.is_empty() { tool(handle) } else { format!("One of {} calls", calls.len()) }
}

/// A held result, or a task past a limit that asks.
pub(crate) fn decision(handle: &TaskHandle, since: Timestamp, around: SubjectContext<'_>) -> (String, String) {
    let (tool, server) = (tool(handle), around.server);
    let clock = around.local.clock(since, around.now);
    if handle.is_held() {
        let size = handle.hold.as_ref().and_then(|hold| hold.why.tokens());
        let size = size.or_else(|| handle.tokens.and_then(|tokens| tokens.result));
        let title = size.map_or_else(
            || "A result is held".into(),
            |size| format!("A result of {} is held", counted_tokens(handle, size)),
        );
        return (title, format!("{tool} on {server} finished at {clock}; its agent has not seen the result."));
    }
    (past_limit(handle, &tool), format!("Cancel it or let it continue. On {server} · since {clock}"))
}

/// `index_folder went past 60,000 tokens`, or `index_folder reached its limit of 30 min`.
fn past_limit(handle: &TaskHandle, tool: &str) -> String {
    let cancelled_by = handle.cancel_request().and_then(|wish| wish.by.limit());
    let of_time = match cancelled_by {
        Some(kind) => handle.run_limits.get(kind),
        None => handle.asks_for_time().map(|(_, limit)| limit),
    };
    if let Some(limit) = of_time {
        return format!("{tool} reached its limit of {}", time::span(limit.allowed));
    }
    let limit = handle.over_limit.as_ref().map(|over| tokens::token_count(over.limit.tokens));
    limit.map_or_else(|| format!("{tool} is large"), |limit| format!("{tool} went past {limit}"))
}

/// With the mark of its figures; what is not counted further is a bound.
fn counted_tokens(handle: &TaskHandle, size: u64) -> String {
    let exactness = handle.tokens.map_or(Exactness::AtMost, |tokens| tokens.exactness);
    tokens::marked_tokens(size, exactness.into())
}

/// The text for a problem.
pub(crate) fn problem(handle: &TaskHandle, phase: Phase, around: SubjectContext<'_>) -> (String, String) {
    let (server, tool) = (around.server, tool(handle));
    let seen = around.local.clock(handle.contact.seen(), around.now);
    match phase {
        Phase::Cancelling if handle.cancelled_by_limit().is_some() => {
            (past_limit(handle, &tool), format!("A limit stops it. {}", not_stopped(handle, around)))
        }
        Phase::Overdue => overdue(handle, &tool, around),
        Phase::Lost => (format!("{server} lost {tool}"), format!("Last heard of at {seen}. It may have finished.")),
        Phase::Expired => (
            format!("{tool} expired on {server}"),
            format!("Last heard of at {seen}. Its result can no longer be read."),
        ),
        Phase::Unconfirmed => {
            (format!("{server} did not confirm {tool}"), "The reply is lost. It may or may not run there.".into())
        }
        Phase::Blocked => {
            (format!("{server} needs a sign-in or an upgrade"), format!("{tool} cannot be followed until then."))
        }
        Phase::Silent => {
            (format!("No news of {tool}"), format!("{server} was last heard at {seen}. It may still run."))
        }
        Phase::Cancelling => (format!("{server} has not stopped {tool}"), not_stopped(handle, around)),
        Phase::Running
        | Phase::Waiting
        | Phase::Answering
        | Phase::Done
        | Phase::DoneWithError
        | Phase::Failed
        | Phase::Cancelled
        | Phase::Revoked
        | Phase::Unwatched => refused(handle, &tool, around),
    }
}

/// The phase does not show it: the server refused a cancellation or an answer, or a limit was exceeded.
fn refused(handle: &TaskHandle, tool: &str, around: SubjectContext<'_>) -> (String, String) {
    let server = around.server;
    let stop = match &handle.intent {
        Intent::Cancel(wish) | Intent::Revoked(wish) => matches!(wish.delivery, Delivery::Refused { .. }),
        Intent::None | Intent::Unwatched { .. } => false,
    };
    let answer = handle.requests.values().any(|request| match &request.state {
        RequestState::Answered(given) => matches!(given.delivery, Delivery::Refused { .. }),
        RequestState::Open | RequestState::Confirmed(_) | RequestState::Withdrawn { .. } => false,
    });
    if stop {
        return (format!("{server} has not stopped {tool}"), not_stopped(handle, around));
    }
    if answer {
        return (
            format!("{server} did not accept an answer"),
            format!("It was for {tool}; see the task for the reason."),
        );
    }
    if handle.run_limits.is_reached() {
        return (format!("{tool} reached its time limit"), format!("It continues on {server}."));
    }
    if let Some(over) = &handle.over_limit {
        let reached = counted_tokens(handle, over.tokens);
        let state = if handle.ended_at().is_some() { "has ended" } else { "continues" };
        return (past_limit(handle, tool), format!("{reached} on {server}; it {state}."));
    }
    (format!("{tool} needs a look"), format!("Something went wrong on {server}."))
}

fn overdue(handle: &TaskHandle, tool: &str, around: SubjectContext<'_>) -> (String, String) {
    let ran = u64::try_from(handle.worked(around.now).as_millis()).unwrap_or(u64::MAX);
    let title = format!("{tool} has run {}", rough(ran));
    let body = match handle.usual {
        Some(usual) => format!(
            "Usually {} to {}. Still working on {}.",
            rough(usual.median_ms),
            rough(usual.p90_ms),
            around.server
        ),
        None => format!("Later than agreed. Still working on {}.", around.server),
    };
    (title, body)
}

fn not_stopped(handle: &TaskHandle, around: SubjectContext<'_>) -> String {
    let wish = match &handle.intent {
        Intent::Cancel(wish) | Intent::Revoked(wish) => wish,
        Intent::None | Intent::Unwatched { .. } => return "It continues.".into(),
    };
    let asked = around.local.clock(wish.at, around.now);
    match &wish.delivery {
        Delivery::Acknowledged { .. } => format!("Asked at {asked}, acknowledged, still working."),
        Delivery::Refused { .. } if wish.sent.is_none() => format!("Asked at {asked}; it could not be sent."),
        Delivery::Refused { .. } => format!("Asked at {asked}, refused by the server."),
        Delivery::Recorded | Delivery::Sent { .. } => format!("Asked at {asked}, not acknowledged yet."),
    }
}

/// The text for a task that has ended.
pub(crate) fn finished(handle: &TaskHandle, phase: Phase, around: SubjectContext<'_>) -> (String, String) {
    let tool = tool(handle);
    let title = match phase {
        Phase::Done => format!("{tool} is done"),
        Phase::DoneWithError => format!("{tool} finished with an error"),
        Phase::Failed => format!("{tool} failed"),
        Phase::Cancelled => format!("{tool} was cancelled"),
        Phase::Lost if handle.is_settled_loss(phase) => format!("{tool} was lost when a person ended its server"),
        Phase::Running
        | Phase::Waiting
        | Phase::Answering
        | Phase::Cancelling
        | Phase::Overdue
        | Phase::Unconfirmed
        | Phase::Blocked
        | Phase::Silent
        | Phase::Lost
        | Phase::Expired
        | Phase::Revoked
        | Phase::Unwatched => format!("{tool} is over"),
    };
    (title, format!("On {}.", around.server))
}

/// Many as one: `5 items need you`, `3 questions, 2 problems · oldest since 14:02`.
pub(crate) fn together(kinds: &[Attention], oldest: &str) -> (String, String) {
    let of = |wanted: Attention| kinds.iter().filter(|kind| **kind == wanted).count();
    let (questions, problems, over) = (of(Attention::Waiting), of(Attention::Problem), of(Attention::Finished));
    if over > 0 {
        return (counted(over, "task is over", "tasks are over"), format!("The first at {oldest}."));
    }
    let parts: Vec<String> = [(questions, "question", "questions"), (problems, "problem", "problems")]
        .into_iter()
        .filter(|(count, ..)| *count > 0)
        .map(|(count, one, many)| counted(count, one, many))
        .collect();
    let title = counted(questions + problems, "item needs you", "items need you");
    (title, format!("{} · oldest since {oldest}", parts.join(", ")))
}

fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// A duration in its largest unit.
fn rough(millis: u64) -> String {
    let seconds = millis / 1_000;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..7_200 => format!("{} min", seconds / 60),
        7_200.. => format!("{} h", seconds / 3_600),
    }
}

#[cfg(test)]
mod tests;
