//! `taskwarden ui`: prints a link to the window in the browser that signs in once, and its code (ruling 27).
//!
//! The code stands in the fragment of the link, which a browser sends nowhere, and the page removes it at once (decision
//! 0035). It opens no browser: the terminal may be on another machine, and arguments of a program are seen by others.

use std::net::SocketAddr;

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
        screen.line(&invitation.link);
        screen.line(&invitation.code);
        screen.note(&advice(&invitation));
    }
    Ok(DONE)
}

/// Prints both as a note beside other output.
pub(crate) fn note(invitation: &Invitation, screen: &Screen) {
    screen.note(&format!("Window: {}", invitation.link));
    screen.note(&advice(invitation));
}

/// Where the window is, for a core whose starter may not sign in.
pub(crate) fn note_without_link(bound: SocketAddr, screen: &Screen) {
    screen.note(&format!("Window: {}", page_url(bound)));
    screen.note(
        "There is no sign-in link here, because an agent or a server started this core. Run `taskwarden ui` in a \
         terminal of your own for one.",
    );
}

/// The address of the page, without a code.
pub(crate) fn page_url(bound: SocketAddr) -> String {
    format!("http://{bound}/")
}

fn advice(invitation: &Invitation) -> String {
    format!(
        "Open this link in a browser on this machine: it signs in once, within {} minutes. `taskwarden ui` prints a new \
         one.",
        invitation.minutes
    )
}
