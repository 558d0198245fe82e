//! A pause that asks which calls are sent, as one sentence: for the command line, notifications and the tray.
//!
//! Names only: neither the tools nor the reason are in it, because it is shown where anybody can read it.

use super::time::count;
use crate::dto::pause::PauseDto;

/// What waits for a choice: `3 calls of order-bot wait for your choice`.
#[must_use]
pub fn asks(pause: &PauseDto) -> String {
    let calls = count(pause.waiting, "call");
    let wait = if pause.waiting == 1 { "waits" } else { "wait" };
    let whose = match (&pause.agent, &pause.server) {
        (Some(agent), _) => format!(" of {agent}"),
        (None, Some(server)) => format!(" to {server}"),
        (None, None) => String::new(),
    };
    format!("{calls}{whose} {wait} for your choice")
}

/// Why they wait: `Paused since 14:12; none of them was sent.`. `since` is in the reader's words.
#[must_use]
pub fn why(pause: &PauseDto, since: &str) -> String {
    let state = if pause.agent.is_some() { "Paused" } else { "Frozen" };
    let sent = if pause.waiting == 1 { "it was not sent" } else { "none of them was sent" };
    format!("{state} {since}; {sent}.")
}
