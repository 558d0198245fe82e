//! `taskwarden ui`: where the window of the running core is in the browser, with a one-time code (ruling 27).
//!
//! The code is printed and never part of an address, so that no history and no log keeps it. It opens no browser: a
//! terminal may be far from one.

use super::screen::Screen;
use super::{DONE, Ended};
use crate::config::Config;
use crate::door::Door;
use crate::sign_in::Invitation;

pub(crate) async fn run(config: &Config, screen: &Screen) -> Ended {
    let invitation = Door::core(config)?.attached()?.invitation().await?;
    if screen.is_json() {
        screen.json_line(&invitation)?;
    } else {
        screen.line(&invitation.url);
        screen.line(&invitation.code);
        screen.note(&advice(&invitation));
    }
    Ok(DONE)
}

/// The same as a remark beside other output.
pub(crate) fn say(invitation: &Invitation, screen: &Screen) {
    screen.note(&format!("Window: {}  Code: {}", invitation.url, invitation.code));
    screen.note(&advice(invitation));
}

fn advice(invitation: &Invitation) -> String {
    format!(
        "Open the address in a browser on this machine and enter the code. It counts once, for {} minutes; \
         `taskwarden ui` prints another.",
        invitation.minutes
    )
}
