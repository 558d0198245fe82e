//! `taskwarden ui`: prints the address of the window in the browser, with a one-time code (ruling 27).
//!
//! The code is never part of an address, so that no history and no log keeps it. It opens no browser, because the
//! terminal may be on another machine.

use crate::app::core_client::CoreClient;
use crate::cli::output::exit_code::{CommandResult, DONE};
use crate::cli::output::screen::Screen;
use crate::config::Config;
use crate::http::sign_in::Invitation;

pub(crate) async fn run(config: &Config, screen: &Screen) -> CommandResult {
    let invitation = CoreClient::attach(config)?.attached()?.invitation().await?;
    if screen.is_json() {
        screen.json_line(&invitation)?;
    } else {
        screen.line(&invitation.url);
        screen.line(&invitation.code);
        screen.note(&advice(&invitation));
    }
    Ok(DONE)
}

/// Prints both as a note beside other output.
pub(crate) fn note(invitation: &Invitation, screen: &Screen) {
    screen.note(&format!("Window: {}  Code: {}", invitation.url, invitation.code));
    screen.note(&advice(invitation));
}

fn advice(invitation: &Invitation) -> String {
    format!(
        "Open the address in a browser on this machine and enter the code. The code works once, within {} minutes; \
         `taskwarden ui` prints a new one.",
        invitation.minutes
    )
}
