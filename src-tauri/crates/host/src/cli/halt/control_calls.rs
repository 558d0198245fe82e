//! `taskwarden halt`, `pause` and `pauses list` for a supervisor program with its control token.
//!
//! It sees of a halt what its own orders did to tasks in its reach, and of pauses those that it began. Only a person ends
//! either. What the token reaches is the core's decision.

use api::calls::Nothing;
use api::calls::halts::StartHalts;
use api::calls::pauses::PauseInput;
use api::control::halts::ControlHaltShown;
use api::control::pauses::{ControlPause, ControlPauseList};
use api::dto::moment;
use api::format::time::{self, count};

use super::counted_tasks;
use super::pause::stands_still;
use crate::app::control_client::ControlClient;
use crate::cli::output::exit_code::{CommandResult, DONE};
use crate::cli::output::screen::Screen;
use crate::cli::output::sentences::now;

pub(super) async fn show_halt(program: &ControlClient, screen: &Screen) -> CommandResult {
    print_halt(&program.request("halts.show", &Nothing {}).await?, screen)
}

pub(super) async fn halt(input: StartHalts, program: &ControlClient, screen: &Screen) -> CommandResult {
    print_halt(&program.request("halts.start", &input).await?, screen)
}

fn print_halt(shown: &ControlHaltShown, screen: &Screen) -> CommandResult {
    if screen.is_json() {
        return screen.json(shown);
    }
    let Some(halt) = &shown.halt else {
        screen.line("Nothing is halted by this control token.");
        return Ok(DONE);
    };
    screen.line(&format!("Halted since {}. Only a person lets work begin again.", halt.at));
    if let Some(closed) = &halt.closed_at {
        screen.line(&format!("No call that this covers has left since {closed}."));
    }
    if let Some(tasks) = counted_tasks(&halt.counts) {
        screen.line(&tasks);
    }
    Ok(DONE)
}

pub(super) async fn pause(input: PauseInput, program: &ControlClient, screen: &Screen) -> CommandResult {
    let pause: ControlPause = program.request("pauses.start", &input).await?;
    if screen.is_json() {
        return screen.json(&pause);
    }
    screen.line(&sentence(&pause, input.hold_results));
    screen.note("Only a person ends it, with `taskwarden unpause`.");
    Ok(DONE)
}

pub(super) async fn list_pauses(program: &ControlClient, screen: &Screen) -> CommandResult {
    let list: ControlPauseList = program.request("pauses.list", &Nothing {}).await?;
    if screen.is_json() {
        return screen.json(&list);
    }
    if list.pauses.is_empty() {
        screen.line("Nothing is paused by this control token.");
    }
    for pause in &list.pauses {
        let since = moment(&pause.since).map(|at| time::ago(at, now())).unwrap_or_default();
        screen.line(&sentence(pause, false));
        screen.line(&format!("Paused {since}; {}.", waiting(pause.waiting)));
    }
    Ok(DONE)
}

fn sentence(pause: &ControlPause, holds_results: bool) -> String {
    stands_still(pause.agent.as_deref(), pause.server.as_deref(), pause.processes.as_ref(), holds_results)
}

fn waiting(calls: u64) -> String {
    match calls {
        0 => "no call waits".into(),
        1 => "1 call waits".into(),
        calls => format!("{} wait", count(calls, "call")),
    }
}
