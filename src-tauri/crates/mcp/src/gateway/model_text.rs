//! Every sentence that only a model reads (ruling 47).
//!
//! A sentence says who decided or what failed, what was done and what was not, and what to do next; it claims nothing
//! that is not known. Words of people, programs and servers are capped and quoted, so that nobody takes them for ours.
//! Whether a sentence is an ordinary result or an error is decided where it is sent (decision 0021). `golden.txt` holds
//! all of them for proofreading.

pub mod access;
pub mod core_away;
pub(crate) mod ended;
pub(crate) mod held;
pub(crate) mod refused;
#[cfg(test)]
mod tests;
pub(crate) mod tool_definitions;
pub(crate) mod waiting;

use domain::policy::plain_text;
use domain::time::Timestamp;

/// Longest reason of a person that is passed on. The window's field takes 300 characters.
const REASON_CHARS: usize = 300;
/// Longest name from a caller that a sentence repeats.
const NAME_CHARS: usize = 80;

/// Words of a person or a server between quotation marks, on one line.
fn quoted(words: &str, cap: usize) -> String {
    let one_line = words.split_whitespace().collect::<Vec<_>>().join(" ").replace('"', "'");
    format!("\"{}\"", plain_text(&one_line, cap))
}

/// A moment as a sentence names it: `at 14:02 UTC`. A model cannot know the time zone of a person.
fn at(moment: Timestamp) -> String {
    let text = moment.to_string();
    let time = text.split('T').nth(1).and_then(|time| time.get(..5)).unwrap_or(&text);
    format!("at {time} UTC")
}

/// The same with its day, for what may be read on another one.
fn on(moment: Timestamp) -> String {
    let text = moment.to_string();
    format!("{} on {}", at(moment), text.split('T').next().unwrap_or(&text))
}

/// What a supervisor program did at a moment, with its reason where one is known: words of the program, which nobody takes
/// for ours or the user's.
fn a_program(did: &str, when: &str, reason: Option<&str>) -> String {
    let who = "A supervisor program that the user allowed";
    match reason.map(str::trim).filter(|reason| !reason.is_empty()) {
        Some(reason) => format!("{who} {did} {when}. The program gave this reason: {}.", quoted(reason, REASON_CHARS)),
        None => format!("{who} {did} {when}."),
    }
}

/// What a person did at a moment, with the reason where one is known.
fn a_person(did: &str, when: &str, reason: Option<&str>) -> String {
    match reason.map(str::trim).filter(|reason| !reason.is_empty()) {
        Some(reason) => format!("A person {did} in Taskwarden {when} and said: {}.", quoted(reason, REASON_CHARS)),
        None => format!("A person {did} in Taskwarden {when}."),
    }
}
