//! The words that several commands print: phases, states, times and commands to run next (style 86-92).
//!
//! Read this file to proofread them. Server text passes through [`plain`] or [`one_line`] before it reaches a terminal.
//! Colour only ever accompanies a word.

use anstyle::{AnsiColor, Style};
use api::dto::pause::{TaskPauseDto, TaskPauseKind};
use api::dto::task::facts::{CancelStateDto, OverdueWhy, ResultState};
use api::dto::task::{ServerViewKind, TaskOrigin};
use api::dto::{DoorDto, EndedHow, HistoryEvent, IntentDto, OriginDto, ResultDto, ServerEndedDto, TaskDto, moment};
pub(crate) use api::format::shell_word::shell_quote as shell_word;
use api::format::time;
use api::format::tokens::grouped;
use domain::audit::Verb;
use domain::policy::{plain_text, without_terminal_sequences};
use domain::ports::Clock as _;
use domain::task::status::Phase;
use domain::time::Timestamp;
use domain::tokens::Family;
use engine::SystemClock;

/// Longest text of a server in one line. Judgement: a wide terminal.
const LINE_CHARS: usize = 300;
/// Longest text of a server in a paragraph. Judgement: a screenful.
const PARAGRAPH_CHARS: usize = 4_000;

pub(crate) fn now() -> Timestamp {
    SystemClock.now()
}

/// Server text as one harmless line.
pub(crate) fn one_line(text: &str) -> String {
    let text = without_terminal_sequences(text);
    let words: Vec<&str> = text.split_whitespace().collect();
    plain_text(&words.join(" "), LINE_CHARS)
}

/// Server text as harmless lines, each behind a bar that marks it as a quotation.
pub(crate) fn quoted(text: &str) -> String {
    let plain = plain_text(&without_terminal_sequences(text), PARAGRAPH_CHARS);
    plain.lines().map(|line| format!("  │ {line}")).collect::<Vec<_>>().join("\n")
}

/// Harmless server text of any length, printed whole.
pub(crate) fn plain(text: &str) -> String {
    plain_text(&without_terminal_sequences(text), usize::MAX)
}

/// The label of a task's phase.
pub(crate) const fn phase(task: &TaskDto) -> &'static str {
    if let Some(TaskPauseDto { kind, .. }) = &task.paused {
        match (task.phase.0, kind) {
            (Phase::Waiting, TaskPauseKind::AgentPaused) => return "Waiting: paused",
            (Phase::Waiting, TaskPauseKind::ServerFrozen) => return "Waiting: server frozen",
            (Phase::Waiting, TaskPauseKind::Alarm) => return "Waiting: alarm",
            (Phase::Running, TaskPauseKind::Frozen) => return "Frozen",
            _ => {}
        }
    }
    match (task.phase.0, task.overdue_why) {
        (Phase::Overdue, Some(OverdueWhy::Usual)) => "Later than usual",
        (phase, _) => phase.label(),
    }
}

/// The agent of a task, in a table; `-` for a person's own task or one that was found.
pub(crate) fn whose(agent: Option<&str>) -> String {
    agent.map_or_else(|| "-".into(), one_line)
}

/// The label of a tokenizer family; its own word if we do not know it.
pub(crate) fn family(word: &str) -> &str {
    Family::from_word(word).map_or(word, |family| family.label())
}

/// The colour that goes with a phase.
pub(crate) const fn tone(phase: Phase) -> AnsiColor {
    match phase {
        Phase::Waiting | Phase::Overdue | Phase::Unconfirmed | Phase::Blocked => AnsiColor::Yellow,
        Phase::Running | Phase::Answering => AnsiColor::Blue,
        Phase::Done => AnsiColor::Green,
        Phase::DoneWithError | Phase::Failed => AnsiColor::Red,
        Phase::Silent | Phase::Lost | Phase::Expired => AnsiColor::Magenta,
        Phase::Cancelling | Phase::Cancelled | Phase::Revoked | Phase::Unwatched => AnsiColor::White,
    }
}

/// The label of a task's phase with what the phase alone does not say: `Done, result held` (ruling 3).
pub(crate) fn flagged_phase(task: &TaskDto) -> String {
    let is_held = task.held.as_ref().is_some_and(|held| held.verdict.is_none());
    let flag = match (is_held, task.over) {
        (true, true) => ", result held",
        (true, false) => ", result will be held",
        (false, false) if task.orphaned_at.is_some() => ", agent gone",
        (false, _) => "",
    };
    format!("{}{flag}", phase(task))
}

/// The phase and its flag with their colour, for lines (tables colour by themselves).
pub(crate) fn coloured_phase(task: &TaskDto) -> String {
    let style = Style::new().fg_color(Some(tone(task.phase.0).into()));
    format!("{style}{}{style:#}", flagged_phase(task))
}

/// The state of a cancel request. `sent` says whether it ever left for the server.
pub(crate) fn cancel_state(state: CancelStateDto, server: &str, sent: bool) -> String {
    match state {
        CancelStateDto::Asked if !sent => format!("recorded, not sent to {server} yet"),
        CancelStateDto::Asked => format!("sent, {server} has not answered yet"),
        CancelStateDto::Acknowledged => format!("acknowledged by {server}, which has not reported the end yet"),
        CancelStateDto::Stopped => format!("cancelled, confirmed by {server}"),
        CancelStateDto::EndedHere => format!("cancelled here; {server} was not asked"),
        CancelStateDto::FinishedAnyway => "finished anyway, before it could be cancelled".into(),
        CancelStateDto::Refused if !sent => format!("could not be sent to {server}"),
        CancelStateDto::Refused => format!("refused by {server}"),
        CancelStateDto::NotAsked => "not asked to cancel".into(),
    }
}

/// Who gave an order to stop: a person, or a supervisor program by the name and id of its control token.
pub(crate) fn ordered_by(by: &str, token_name: Option<&str>) -> String {
    match (by.strip_prefix("control:"), token_name) {
        (Some(id), Some(name)) if name != id => format!("the control token {} ({})", one_line(name), one_line(id)),
        (Some(id), _) => format!("the control token {}", one_line(id)),
        (None, _) => one_line(by),
    }
}

/// What a person decided: `answered question-1`.
pub(crate) fn decided(event: &HistoryEvent) -> String {
    let key = event.key.as_deref().map(|key| format!(" `{}`", one_line(key))).unwrap_or_default();
    match event.verb.0 {
        Verb::Admitted => "started".into(),
        Verb::AnswerBegun => {
            let did = match event.note.as_str() {
                "decline" => "declined",
                "dismiss" => "dismissed",
                _ => "answered",
            };
            format!("{did}{key}")
        }
        Verb::AnswerUndone => format!("answer to{key} withdrawn"),
        Verb::CancelBegun => "asked to cancel".into(),
        Verb::Revoked => "taken from its agent".into(),
        Verb::Escalated => "a further step to end it".into(),
        Verb::Unwatched => "stopped watching".into(),
        // A person loses a task by what the note says of its server.
        Verb::Lost => format!("lost, because {}", one_line(&event.note)),
        Verb::ResultHeld => "result held".into(),
        Verb::ResultReleased => "result released".into(),
        Verb::ResultWithheld => "result withheld".into(),
        Verb::LimitLifted => "allowed to continue past its limit".into(),
        // Only what people decide comes here; the rest of the audit log has its own words.
        other => format!("{}{key}", other.word()),
    }
}

/// Where a decision came from: ` in a terminal (process 4711, /usr/bin/taskwarden)`.
pub(crate) fn decision_origin(origin: &OriginDto) -> String {
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

fn ends_the_wait(task: &TaskDto) -> &'static str {
    let asks = task.paused.as_ref().is_some_and(|paused| paused.kind == TaskPauseKind::Alarm);
    if asks { "decides about an alarm" } else { "ends a pause" }
}

/// `server says "working" · last heard 8 s ago · next poll in 22 s`.
pub(crate) fn status_line(task: &TaskDto) -> String {
    let now = now();
    let mut parts = vec![match (&task.status, task.view) {
        (Some(word), _) => format!("{} says `{}`", task.server, one_line(word)),
        (None, ServerViewKind::Awaiting | ServerViewKind::OwnCall) => format!("{} has not replied yet", task.server),
        (None, ServerViewKind::Gated) => format!("not sent: it waits until a person {}", ends_the_wait(task)),
        (None, ServerViewKind::Asking) => format!("{} asks before it starts", task.server),
        (None, ServerViewKind::Direct) => format!("{} replied without a task", task.server),
        (None, ServerViewKind::Refused) => format!("{} answered with an error", task.server),
        (None, ServerViewKind::NotSent) => format!("nothing of it runs on {}", task.server),
        (None, ServerViewKind::Unanswered) => "the reply is lost".into(),
        (None, ServerViewKind::Task) => format!("{} has said nothing yet", task.server),
    }];
    if let Some(seen) = moment(&task.last_seen_at) {
        parts.push(format!("last heard {}", time::ago(seen, now)));
    }
    if let Some(look) = task.next_look_at.as_deref().and_then(moment) {
        parts.push(format!("next poll {}", time::until(look, now)));
    }
    if let Some(ended) = &task.server_ended {
        parts.push(server_ended(ended));
    } else if let Some(trouble) = &task.trouble {
        let since = task.contact.failing_since.as_deref().filter(|_| task.contact.failures > 1).and_then(moment);
        let since = since.map(|since| format!(" (the first {})", time::ago(since, now))).unwrap_or_default();
        parts.push(format!("{}{since}", one_line(trouble)));
    } else if let Some(last) = &task.contact.last {
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

/// The most important news of a task in one line: its question, error, progress or message.
pub(crate) fn saying(task: &TaskDto) -> String {
    if let Some(says) = task.says.as_deref().filter(|says| !says.is_empty()) {
        return one_line(says);
    }
    if let Some(open) = task.requests.iter().find(|request| request.is_open()) {
        return one_line(&open.message);
    }
    if let Some(error) = &task.error {
        return one_line(&error.message);
    }
    if let Some(intent) = task.intent.as_ref().filter(|_| matches!(task.phase.0, Phase::Cancelling | Phase::Revoked)) {
        return cancel_line(intent, &task.server);
    }
    if task.phase.0 == Phase::Done {
        // The server's last message is about the work; what matters now is the result.
        return task.result.as_ref().map(result_line).unwrap_or_default();
    }
    if let Some(ended) = &task.server_ended {
        return server_ended(ended);
    }
    if task.over {
        return task.contact.last.as_deref().or(task.status_message.as_deref()).map(one_line).unwrap_or_default();
    }
    if let Some(trouble) = &task.trouble {
        return one_line(trouble);
    }
    let message = task.status_message.as_deref().map(one_line).filter(|text| !text.is_empty());
    match (progress(task), message) {
        (Some(progress), Some(message)) => format!("{progress} · {message}"),
        (progress, message) => progress.or(message).unwrap_or_default(),
    }
}

fn result_line(result: &ResultDto) -> String {
    match (result.state, result.bytes) {
        (ResultState::Stored, Some(bytes)) => format!("result of {} bytes", grouped(bytes)),
        (ResultState::NotFetched, _) => "the result is being fetched".into(),
        (ResultState::Unavailable, _) => "the server sent no result".into(),
        (ResultState::Stored, None) => String::new(),
    }
}

/// How the server of a lost task was ended: `its server was ended by ada 3 min ago`.
fn server_ended(ended: &ServerEndedDto) -> String {
    let by = one_line(&ended.by);
    let when = moment(&ended.at).map(|at| format!(" {}", time::ago(at, now()))).unwrap_or_default();
    match ended.how {
        EndedHow::Ended => format!("its server was ended by {by}{when}"),
        EndedHow::Restarted => format!("its server was restarted by {by}{when}"),
        EndedHow::Changed => format!("its server was changed by {by}{when}"),
    }
}

fn cancel_line(intent: &IntentDto, server: &str) -> String {
    intent.state.map(|state| cancel_state(state, server, intent.sent_at.is_some())).unwrap_or_default()
}

/// `4 min 20 s (usually 3 min)`.
pub(crate) fn elapsed(task: &TaskDto) -> String {
    let took = time::span_ms(task.elapsed_ms);
    match &task.usual {
        Some(usual) if !task.over => format!("{took} (usually {})", time::span_ms(usual.median_ms)),
        Some(_) | None => took,
    }
}

/// How the task came to Taskwarden.
pub(crate) fn how_it_began(task: &TaskDto) -> &'static str {
    match task.origin {
        TaskOrigin::Agent => "started by an agent",
        TaskOrigin::Discovered => "found in the server's list",
        TaskOrigin::Adopted => "adopted by its id",
        TaskOrigin::Started => "started here",
    }
}

/// How long it worked, without the time it waited for people or was paused.
pub(crate) fn time_worked(task: &TaskDto) -> String {
    let without = match (task.requests.is_empty(), task.paused_ms > 0 || task.paused_since.is_some()) {
        // A question that only the agent was asked stopped no clock.
        (_, false) => "",
        (true, true) => ", not counting the time it stood still",
        (false, true) => ", not counting the time it waited for people",
    };
    let took = elapsed(task);
    match (task.over, task.phase.0) {
        (true, _) => format!("took {took}{without}"),
        (false, Phase::Unconfirmed | Phase::Lost) => format!("worked {took} as far as is known{without}"),
        (false, _) => format!("worked {took} so far{without}"),
    }
}

/// The command that decides about a held result, with its four outcomes.
pub(crate) fn release_command(id: &str) -> String {
    format!("taskwarden tasks release {id} --slices, --deliver, --trim TOKENS or --withhold")
}

/// A handle, cut to what is unique on a screen; whole where no person reads it.
pub(crate) fn short_id(id: &str, whole: bool) -> &str {
    /// `hdl_` and ten characters: 50 random bits. Judgement.
    const SHOWN: usize = 14;
    if whole { id } else { id.get(..SHOWN).unwrap_or(id) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_control_token_is_named_with_its_id() {
        assert_eq!(ordered_by("ada", None), "ada");
        assert_eq!(ordered_by("control:ctl_1", Some("night-watch")), "the control token night-watch (ctl_1)");
        assert_eq!(ordered_by("control:ctl_1", Some("ctl_1")), "the control token ctl_1", "its name is not known");
        assert_eq!(ordered_by("control:ctl_1", None), "the control token ctl_1", "an older core names none");
    }

    #[test]
    fn a_task_that_a_person_lost_with_its_server_says_how() {
        let lost = serde_json::json!({
            "at": "2026-11-29T12:00:00.000Z", "lane": "person", "verb": "lost", "actor": "person", "who": "ada",
            "key": null, "note": "its server was ended",
        });
        let event: HistoryEvent = serde_json::from_value(lost).expect("an event");
        assert_eq!(decided(&event), "lost, because its server was ended");
    }

    #[test]
    fn a_person_who_declined_is_not_said_to_have_answered() {
        for (note, said) in [("accept", "answered `k`"), ("decline", "declined `k`"), ("dismiss", "dismissed `k`")] {
            let answer = serde_json::json!({
                "at": "2026-11-29T12:00:00.000Z", "lane": "person", "verb": "answerBegun", "actor": "person", "who": "ada",
                "key": "k", "note": note,
            });
            let event: HistoryEvent = serde_json::from_value(answer).expect("an event");
            assert_eq!(decided(&event), said);
        }
    }

    #[test]
    fn a_cancel_that_was_never_sent_is_not_shown_as_the_servers_refusal() {
        assert_eq!(cancel_state(CancelStateDto::Refused, "ci", false), "could not be sent to ci");
        assert_eq!(cancel_state(CancelStateDto::Refused, "ci", true), "refused by ci");
        assert_eq!(cancel_state(CancelStateDto::Asked, "ci", false), "recorded, not sent to ci yet");
    }

    #[test]
    fn text_of_servers_stays_one_line() {
        assert_eq!(one_line("a\n\u{1b}[31mb\tc"), "a b c");
        assert_eq!(one_line("\u{1b}]0;title\u{7}\u{1b}[2Kx\u{202e}y"), "xy", "and leaves no part of a sequence");
        assert_eq!(quoted("a\u{1b}[0m\nb"), "  │ a\n  │ b");
    }
}
