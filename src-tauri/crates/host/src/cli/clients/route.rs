//! `taskwarden clients route` and `clients undo`: shows the lines of files that change, asks, and has them changed.
//!
//! The core edits and writes the files; here it is shown and agreed to. What was shown is what is written: another edit
//! than the one that was agreed to is refused.

use api::calls::clients::route::{ClientRouted, RouteClient};
use api::calls::clients::undo::{ClientUndone, UndoClient};
use api::dto::client::{ChangedLinesDto, FileEditDto, FileEditStateDto, FileScopeDto, LeftOutDto};
use api::{ApiError, Code};
use clap::Args;
use serde::Serialize;

use super::FolderArgs;
use crate::app::core_client::CoreClient;
use crate::cli::input::prompt;
use crate::cli::output::exit_code::{CommandResult, DONE};
use crate::cli::output::screen::Screen;
use crate::cli::output::sentences::{one_line, plain};
use crate::config::Config;

/// The program and its servers.
#[derive(Debug, Args)]
pub(crate) struct RouteArgs {
    /// The agent program, by its word such as `claude-code`.
    client: String,
    /// Only this server, by its name in the file or in Taskwarden. Give it again for more. Servers in the file of a
    /// project are included only by name. Default: all imported servers in the user's files.
    #[arg(long = "server", value_name = "NAME")]
    servers: Vec<String>,
    #[command(flatten)]
    agreement: Agreement,
    #[command(flatten)]
    folder: FolderArgs,
}

/// The program whose routes are taken back.
#[derive(Debug, Args)]
pub(crate) struct UndoArgs {
    /// The agent program, by its word such as `claude-code`.
    client: String,
    #[command(flatten)]
    agreement: Agreement,
}

/// Whether files are changed, and who is asked.
#[derive(Debug, Args)]
struct Agreement {
    /// Show the lines that would change, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Change the files without being asked.
    #[arg(long, short, conflicts_with = "dry_run")]
    yes: bool,
}

pub(super) async fn route(input: RouteArgs, config: &Config, screen: &Screen) -> CommandResult {
    let core = CoreClient::attach(config)?;
    let RouteArgs { client, servers, agreement, folder } = input;
    let asked = RouteClient { client, servers, folder: folder.input().folder, agreed: Vec::new() };
    let shown: ClientRouted = core.request("clients.route", &asked).await?;
    if !screen.is_json() {
        print_left_out(&shown.left_out, screen);
    }
    let question = "Route these servers through Taskwarden?";
    let Some(agreed) = agree(&shown, &shown.files, &agreement, question, screen).await? else { return Ok(DONE) };
    if shown.adds_agent && !agreed.is_empty() {
        screen.note_to_people(&format!(
            "Adds the agent `{}`, with its token in a file that only you can read.",
            shown.agent
        ));
    }
    let done: ClientRouted = core.request("clients.route", &RouteClient { agreed, ..asked }).await?;
    report(&done, &done.files, "Routed", screen)?;
    if screen.is_json() || !changed_any(&done.files) {
        return finish(&done.files);
    }
    for file in done.files.iter().filter(|file| file.state == FileEditStateDto::Done) {
        if let Some(restore) = &file.restore {
            screen.note(&format!("To take it back without Taskwarden:\n  {}", plain(restore)));
        }
        if !file.exchanged {
            screen.warning("this file system cannot exchange files; an edit in that moment could have been lost");
        }
    }
    screen.note(&format!(
        "Restart the program. `taskwarden clients undo {}` takes it back; the copy is kept for 30 days.",
        done.client
    ));
    finish(&done.files)
}

pub(super) async fn undo(input: UndoArgs, config: &Config, screen: &Screen) -> CommandResult {
    let core = CoreClient::attach(config)?;
    let asked = UndoClient { client: input.client, agreed: Vec::new() };
    let shown: ClientUndone = core.request("clients.undo", &asked).await?;
    let question = "Take these routes back?";
    let Some(agreed) = agree(&shown, &shown.files, &input.agreement, question, screen).await? else {
        return Ok(DONE);
    };
    let done: ClientUndone = core.request("clients.undo", &UndoClient { agreed, ..asked }).await?;
    report(&done, &done.files, "Took back the routes", screen)?;
    if !screen.is_json() && changed_any(&done.files) {
        let agent = &done.client;
        screen.note(&format!("Restart the program. `taskwarden agents revoke {agent}` takes the access of its agent."));
    }
    finish(&done.files)
}

/// Shows the edits and asks; `None` when nothing is to be done.
async fn agree<T: Serialize + Sync>(
    all: &T,
    files: &[FileEditDto],
    agreement: &Agreement,
    question: &str,
    screen: &Screen,
) -> Result<Option<Vec<String>>, ApiError> {
    let agreed: Vec<String> = files.iter().filter_map(|file| file.fingerprint.clone()).collect();
    if agreement.dry_run && screen.is_json() {
        screen.json(all)?;
        return Ok(None);
    }
    if !screen.is_json() {
        files.iter().for_each(|file| print_edit(file, screen));
        if files.is_empty() {
            screen.line("There is nothing to change.");
            return Ok(None);
        }
    }
    if agreement.dry_run {
        screen.line("Nothing was changed.");
        return Ok(None);
    }
    if agreement.yes || agreed.is_empty() {
        return Ok(Some(agreed));
    }
    if !screen.can_ask() {
        return Err(ApiError::new(
            Code::Refused,
            "nothing was changed: nobody agreed",
            "Run it in a terminal, or look at it with `--dry-run` and pass `--yes`.",
        ));
    }
    if prompt::yes(question).await? {
        return Ok(Some(agreed));
    }
    screen.line("Nothing was changed.");
    Ok(None)
}

fn print_edit(file: &FileEditDto, screen: &Screen) {
    screen.line(&format!("--- {}", one_line(&file.path)));
    if file.scope == Some(FileScopeDto::Project) {
        screen.warning("this file belongs to a project; others who work on it may not have Taskwarden");
    }
    if let Some(problem) = &file.problem {
        screen.warning(&format!("this file cannot be changed: {}", one_line(problem)));
    }
    file.lines.iter().for_each(|lines| print_lines(lines, screen));
    for kept in &file.kept {
        screen.note(&format!("{}.", one_line(kept)));
    }
}

fn print_lines(lines: &ChangedLinesDto, screen: &Screen) {
    screen.line(&format!("@@ line {} @@", lines.line));
    for (sign, lines) in [('-', &lines.removed), ('+', &lines.added)] {
        for line in lines {
            screen.line(&format!("{sign}{}", plain(line)));
        }
    }
}

fn print_left_out(servers: &[LeftOutDto], screen: &Screen) {
    for server in servers {
        screen.note(&format!("`{}` is left as it is: {}.", one_line(&server.name), one_line(&server.why)));
    }
}

fn report<T: Serialize>(all: &T, files: &[FileEditDto], what: &str, screen: &Screen) -> Result<(), ApiError> {
    if screen.is_json() {
        return screen.json(all).map(|_| ());
    }
    for file in files {
        match file.state {
            FileEditStateDto::Done => screen.line(&format!("{what} in {}.", one_line(&file.path))),
            FileEditStateDto::Shown => {
                screen.warning(&format!("{} changed since you agreed; it stays as it is", one_line(&file.path)));
            }
            FileEditStateDto::Refused => {}
        }
    }
    Ok(())
}

/// Whether the program has something new to read.
fn changed_any(files: &[FileEditDto]) -> bool {
    files.iter().any(|file| file.state == FileEditStateDto::Done)
}

/// An error for the first file that stays as it was.
fn finish(files: &[FileEditDto]) -> CommandResult {
    let Some(file) = files.iter().find(|file| file.state != FileEditStateDto::Done) else { return Ok(DONE) };
    let why = file.problem.as_deref().map_or_else(|| "its entries changed since you agreed".into(), one_line);
    Err(ApiError::new(
        Code::Refused,
        format!("`{}` was not changed: {why}", one_line(&file.path)),
        "The lines that were shown can be changed by hand, or run the command again.",
    ))
}
