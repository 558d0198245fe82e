//! `taskwarden sessions`: list signed-in browsers, and sign them out.
//!
//! Signing in is `ui.rs` and the page in the browser; the core decides which session is valid.

use api::calls::Nothing;
use api::calls::core::sessions::{RevokeSessions, SessionDto, SessionList};
use api::dto::moment;
use api::format::time;
use clap::{ArgGroup, Subcommand};

use crate::app::core_client::CoreClient;
use crate::cli::output::exit_code::{CommandResult, DONE};
use crate::cli::output::screen::Screen;
use crate::cli::output::sentences::one_line;
use crate::cli::output::table::{TableCell, TableLayout, text};
use crate::cli::output::{sentences, table};
use crate::config::Config;

/// Commands about signed-in browsers.
#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
    /// List signed-in browsers.
    List,
    /// Sign browsers out at once. What they show is no longer updated.
    #[command(group(ArgGroup::new("session").required(true).args(["id", "all"])))]
    Revoke {
        /// The id of the session, from `sessions list`.
        id: Option<String>,
        /// Sign out every browser.
        #[arg(long)]
        all: bool,
    },
}

pub(crate) async fn run(command: SessionsCommand, config: &Config, screen: &Screen) -> CommandResult {
    let core = CoreClient::attach(config)?;
    match command {
        SessionsCommand::List => list(&core.request("sessions.list", &Nothing {}).await?, screen),
        SessionsCommand::Revoke { id, .. } => {
            let which = id.map_or(RevokeSessions::Others, |id| RevokeSessions::One { id });
            revoked(&core.request("sessions.revoke", &which).await?, screen)
        }
    }
}

fn list(list: &SessionList, screen: &Screen) -> CommandResult {
    if screen.is_json() {
        screen.json(list)?;
    } else if list.sessions.is_empty() {
        screen.line("No browser is signed in. `taskwarden ui` prints a code for one.");
    } else {
        let layout = TableLayout { header: &["ID", "SIGNED IN", "USED", "BROWSER"], cut: &["BROWSER"], spare: &[] };
        table::print(screen, layout, list.sessions.iter().map(row).collect());
    }
    Ok(DONE)
}

fn row(session: &SessionDto) -> Vec<TableCell> {
    let ago = |at: &str| moment(at).map_or_else(|| "-".into(), |at| time::ago(at, sentences::now()));
    vec![
        text(session.id.clone()),
        text(ago(&session.signed_in_at)),
        text(ago(&session.used_at)),
        text(one_line(&session.browser)),
    ]
}

fn revoked(ended: &SessionList, screen: &Screen) -> CommandResult {
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
