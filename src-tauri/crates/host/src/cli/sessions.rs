//! `taskwarden sessions`: browsers that are signed in, and the end of their sessions.
//!
//! Signing in is `ui.rs` and the browser's own page; which session counts is decided by the core.

use api::calls::Nothing;
use api::calls::core::sessions::{RevokeSessions, SessionDto, SessionList};
use api::dto::moment;
use api::format::time;
use clap::{ArgGroup, Subcommand};

use super::screen::Screen;
use super::table::{Column, Layout, text};
use super::words::one_line;
use super::{DONE, Ended, table, words};
use crate::config::Config;
use crate::door::Door;

/// Commands about signed-in browsers.
#[derive(Debug, Subcommand)]
pub(crate) enum Sessions {
    /// List the browsers that are signed in.
    List,
    /// Sign browsers out at once; what they show stops being updated.
    #[command(group(ArgGroup::new("session").required(true).args(["id", "all"])))]
    Revoke {
        /// The session, by its id of `sessions list`.
        id: Option<String>,
        /// Sign out every browser.
        #[arg(long)]
        all: bool,
    },
}

pub(crate) async fn run(command: Sessions, config: &Config, screen: &Screen) -> Ended {
    let door = Door::core(config)?;
    match command {
        Sessions::List => list(&door.ask("sessions.list", &Nothing {}).await?, screen),
        Sessions::Revoke { id, .. } => {
            let which = id.map_or(RevokeSessions::Others, |id| RevokeSessions::One { id });
            revoked(&door.ask("sessions.revoke", &which).await?, screen)
        }
    }
}

fn list(list: &SessionList, screen: &Screen) -> Ended {
    if screen.is_json() {
        screen.json(list)?;
    } else if list.sessions.is_empty() {
        screen.line("No browser is signed in. `taskwarden ui` prints a code for one.");
    } else {
        let layout = Layout { header: &["ID", "SIGNED IN", "USED", "BROWSER"], cut: &["BROWSER"], spare: &[] };
        table::print(screen, layout, list.sessions.iter().map(row).collect());
    }
    Ok(DONE)
}

fn row(session: &SessionDto) -> Vec<Column> {
    let ago = |at: &str| moment(at).map_or_else(|| "-".into(), |at| time::ago(at, words::now()));
    vec![
        text(session.id.clone()),
        text(ago(&session.signed_in_at)),
        text(ago(&session.used_at)),
        text(one_line(&session.browser)),
    ]
}

fn revoked(ended: &SessionList, screen: &Screen) -> Ended {
    if screen.is_json() {
        screen.json(ended)?;
    } else if ended.sessions.is_empty() {
        screen.line("No browser was signed in.");
    } else {
        let many = u64::try_from(ended.sessions.len()).unwrap_or(u64::MAX);
        screen.line(&format!("Signed out {}.", time::count(many, "browser")));
    }
    Ok(DONE)
}
