//! Phases, states and moments in the words people read (architecture.md, appendix; style 86-92).
//!
//! Server text passes through [`plain`] or [`one_line`] before it reaches a terminal. Colour only ever comes beside a
//! word, never alone.

use anstyle::{AnsiColor, Style};
use api::dto::{
    DoorDto, HistoryEvent, IntentDto, OriginDto, RefusedQuestionsDto, ResultDto, ServerDto, TaskDto, moment,
};
use api::format::tokens::grouped;
pub(crate) use api::format::shell_word::shell_quote as shell_word;
use api::format::time;
use domain::ports::Clock as _;
use domain::task::status::Phase;
use domain::time::Timestamp;
use domain::tokens::Family;
use engine::SystemClock;

/// Longest text of a server in one line. Judgement: a wide terminal.
const LINE_CHARS: usize = 300;
/// Longest text of a server in a paragraph. Judgement: a screenful.
const PARAGRAPH_CHARS: usize = 4_000;

/// The moment now.
pub(crate) fn now() -> Timestamp {
    SystemClock.now()
}

/// Text of a server as one harmless line.
pub(crate) fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    domain::policy::plain_text(&words.join(" "), LINE_CHARS)
}

/// Text of a server as harmless lines, each behind a bar that tells whose it is.
pub(crate) fn quoted(text: &str) -> String {
    let plain = domain::policy::plain_text(text, PARAGRAPH_CHARS);
    plain.lines().map(|line| format!("  │ {line}")).collect::<Vec<_>>().join("\n")
}

/// Text of a server that may have many lines and is printed whole.
pub(crate) fn plain(text: &str) -> String {
    domain::policy::plain_text(text, usize::MAX)
}

/// The word for a phase.
pub(crate) fn phase(task: &TaskDto) -> String {
    match Phase::from_word(&task.phase) {
        Some(Phase::Overdue) if task.overdue_why.as_deref() == Some("usual") => "Later than usual".into(),
        Some(phase) => phase_label(phase).into(),
        None => one_line(&task.phase),
    }
}

/// What people read for a phase.
pub(crate) const fn phase_label(phase: Phase) -> &'static str {
    match phase {
        Phase::Waiting => "Waiting for you",
        Phase::Overdue => "Later than agreed",
        Phase::Unconfirmed => "Not confirmed",
        Phase::Blocked => "Server needs sign-in",
        Phase::Running => "Working",
        Phase::Answering => "Sending answer",
        Phase::Cancelling => "Cancellation asked",
        Phase::Done => "Done",
        Phase::DoneWithError => "Finished with an error",
        Phase::Failed => "Failed",
        Phase::Cancelled => "Cancelled",
        Phase::Revoked => "Access revoked",
        Phase::Unwatched => "Not watched",
        Phase::Silent => "No news",
        Phase::Lost => "Lost by the server",
        Phase::Expired => "Expired",
    }
}

/// Whose task it is, in a table: nobody's is a person's own, or was found.
pub(crate) fn whose(agent: Option<&str>) -> String {
    agent.map_or_else(|| "-".into(), one_line)
}

/// A family of tokenizers in the words that people read; its own word where it is none of ours.
pub(crate) fn family(word: &str) -> &str {
    Family::from_word(word).map_or(word, |family| family.label())
}

/// The colour that goes with a phase.
pub(crate) fn tone(phase: &str) -> AnsiColor {
    match Phase::from_word(phase) {
        Some(Phase::Waiting | Phase::Overdue | Phase::Unconfirmed | Phase::Blocked) => AnsiColor::Yellow,
        Some(Phase::Running | Phase::Answering) => AnsiColor::Blue,
        Some(Phase::Done) => AnsiColor::Green,
        Some(Phase::DoneWithError | Phase::Failed) => AnsiColor::Red,
        Some(Phase::Silent | Phase::Lost | Phase::Expired) => AnsiColor::Magenta,
        Some(Phase::Cancelling | Phase::Cancelled | Phase::Revoked | Phase::Unwatched) | None => AnsiColor::White,
    }
}

/// The phase with its colour, for lines (tables colour by themselves).
pub(crate) fn coloured_phase(task: &TaskDto) -> String {
    let style = Style::new().fg_color(Some(tone(&task.phase).into()));
    format!("{style}{}{style:#}", phase(task))
}

/// Where a wish to stop stands. `sent` says whether it ever left for the server.
pub(crate) fn stop(state: &str, server: &str, sent: bool) -> String {
    match state {
        "asked" if !sent => format!("recorded; not sent to {server} yet"),
        "asked" => format!("asked; {server} has not answered yet"),
        "acknowledged" => format!("acknowledged by {server}; it has not said that it stopped"),
        "stopped" => format!("stopped, {server} says so"),
        "finishedAnyway" => "finished anyway, before it could stop".into(),
        "refused" if !sent => format!("could not be sent to {server}"),
        "refused" => format!("refused by {server}"),
        "notAsked" => "not asked".into(),
        other => one_line(other),
    }
}

/// What a person did, in the words of people: `answered question-1`.
pub(crate) fn decided(event: &HistoryEvent) -> String {
    let key = event.key.as_deref().map(|key| format!(" `{}`", one_line(key))).unwrap_or_default();
    match event.verb.as_str() {
        "admitted" => "started".into(),
        "answerBegun" => format!("answered{key}"),
        "answerUndone" => format!("answer to{key} taken back"),
        "stopBegun" => "cancel asked for".into(),
        "revoked" => "taken from its agent".into(),
        "unwatched" => "no longer watched, as decided".into(),
        "resultHeld" => "result held".into(),
        "resultReleased" => "result released".into(),
        "resultWithheld" => "result withheld".into(),
        "limitLifted" => "let go on past its limit".into(),
        other => format!("{}{key}", one_line(other)),
    }
}

/// ` in a terminal (process 4711, /usr/bin/taskwarden)`.
pub(crate) fn way_in(origin: &OriginDto) -> String {
    let door = match origin.door {
        DoorDto::Window => "in the window",
        DoorDto::Browser => "in a browser",
        DoorDto::Terminal => "in a terminal",
    };
    let process = origin.process.map(|process| format!("process {process}"));
    let file = origin.executable.as_deref().map(one_line);
    let proof: Vec<String> = process.into_iter().chain(file).collect();
    if proof.is_empty() { format!(" {door}") } else { format!(" {door} ({})", proof.join(", ")) }
}

/// `12 questions refused since 5 min ago: too many open`.
pub(crate) fn refused_questions(server: &ServerDto) -> Option<String> {
    let RefusedQuestionsDto { count, since } = server.refused_questions.as_ref()?;
    let since = moment(since).map(|at| format!(" since {}", time::ago(at, now()))).unwrap_or_default();
    Some(format!("{} refused{since}: too many open", time::count(*count, "question")))
}

/// `server says "working" · last heard 8 s ago · next look in 22 s`.
pub(crate) fn truth(task: &TaskDto) -> String {
    let now = now();
    let mut parts = vec![match (&task.status, task.view.as_str()) {
        (Some(word), _) => format!("{} says `{}`", task.server, one_line(word)),
        (None, "awaiting" | "ownCall") => format!("{} has not replied yet", task.server),
        (None, "asking") => format!("{} asks before it starts", task.server),
        (None, "direct") => format!("{} answered at once", task.server),
        (None, "refused") => format!("{} answered with an error", task.server),
        (None, "notSent") => "nothing was sent".into(),
        (None, "unanswered") => "the reply can no longer arrive".into(),
        (None, _) => format!("{} said nothing yet", task.server),
    }];
    if let Some(seen) = moment(&task.last_seen_at) {
        parts.push(format!("last heard {}", time::ago(seen, now)));
    }
    if let Some(look) = task.next_look_at.as_deref().and_then(moment) {
        parts.push(format!("next look {}", time::until(look, now)));
    }
    if let Some(last) = &task.contact.last {
        parts.push(one_line(last));
    }
    parts.join(" · ")
}

/// `71 %`, `3 of 8`, or the server's words.
pub(crate) fn progress(task: &TaskDto) -> Option<String> {
    let progress = task.progress.as_ref()?;
    let number = match (progress.done, progress.total) {
        (Some(done), Some(total)) if total > 0.0 => Some(format!("{:.0} %", (done / total * 100.0).clamp(0.0, 100.0))),
        (Some(done), _) => Some(format!("{done}")),
        (None, _) => None,
    };
    let words = progress.message.as_deref().map(one_line).filter(|words| !words.is_empty());
    match (number, words) {
        (Some(number), Some(words)) => Some(format!("{number} {words}")),
        (number, words) => number.or(words),
    }
}

/// What there is to say about a task in one line: its question, its error, its progress, its message.
pub(crate) fn saying(task: &TaskDto) -> String {
    if let Some(open) = task.requests.iter().find(|request| request.is_open()) {
        return one_line(&open.message);
    }
    if let Some(error) = &task.error {
        return one_line(&error.message);
    }
    if let Some(wish) = task.intent.as_ref().filter(|_| task.phase == "cancelling" || task.phase == "revoked") {
        return wish_line(wish, &task.server);
    }
    if task.phase == "done" {
        // The server's last message is of the work before; what counts now is the result.
        return task.result.as_ref().map(result_line).unwrap_or_default();
    }
    if task.over {
        return task.contact.last.as_deref().or(task.status_message.as_deref()).map(one_line).unwrap_or_default();
    }
    let message = task.status_message.as_deref().map(one_line).filter(|text| !text.is_empty());
    match (progress(task), message) {
        (Some(progress), Some(message)) => format!("{progress} · {message}"),
        (progress, message) => progress.or(message).unwrap_or_default(),
    }
}

fn result_line(result: &ResultDto) -> String {
    match (result.state.as_str(), result.bytes) {
        ("stored", Some(bytes)) => format!("result of {} bytes", grouped(bytes)),
        ("notFetched", _) => "the result is being fetched".into(),
        ("unavailable", _) => "the server no longer gives the result".into(),
        _ => String::new(),
    }
}

fn wish_line(wish: &IntentDto, server: &str) -> String {
    wish.state.as_deref().map(|state| stop(state, server, wish.sent_at.is_some())).unwrap_or_default()
}

/// `4 min 20 s (usually 3 min)`.
pub(crate) fn elapsed(task: &TaskDto) -> String {
    let took = time::span_ms(task.elapsed_ms);
    match &task.usual {
        Some(usual) if !task.over => format!("{took} (usually {})", time::span_ms(usual.median_ms)),
        Some(_) | None => took,
    }
}

/// How the task came here.
pub(crate) fn birth(task: &TaskDto) -> &'static str {
    match task.origin.as_str() {
        "agent" => "started by an agent",
        "discovered" => "found in the server's list",
        "adopted" => "adopted by its id",
        _ => "started here",
    }
}

/// How long it worked, waiting for people not counted.
pub(crate) fn work(task: &TaskDto) -> String {
    let asked = if task.requests.is_empty() { "" } else { ", waiting for people not counted" };
    if task.over { format!("took {}{asked}", elapsed(task)) } else { format!("worked {} so far{asked}", elapsed(task)) }
}

/// A handle for people: enough of it to be unique on a screen; whole when it is not read by a person.
pub(crate) fn short_id(id: &str, whole: bool) -> &str {
    /// `hdl_` and ten characters: 50 random bits. Judgement.
    const SHOWN: usize = 14;
    if whole { id } else { id.get(..SHOWN).unwrap_or(id) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cancel_that_never_left_is_not_told_as_the_servers_refusal() {
        assert_eq!(stop("refused", "ci", false), "could not be sent to ci");
        assert_eq!(stop("refused", "ci", true), "refused by ci");
        assert_eq!(stop("asked", "ci", false), "recorded; not sent to ci yet");
    }

    #[test]
    fn text_of_servers_stays_one_line() {
        assert_eq!(one_line("a\n\u{1b}[31mb\tc"), "a [31mb c");
    }
}
