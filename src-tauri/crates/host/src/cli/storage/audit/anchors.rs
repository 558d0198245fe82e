//! `taskwarden audit anchors`: files to which the core copies each checkpoint.
//!
//! Only asks and prints; the core looks at the file before it writes there.

use std::path::PathBuf;

use api::ApiError;
use api::calls::Nothing;
use api::calls::core::anchors::{AddAnchor, OneAnchor};
use api::dto::core::anchor::{AnchorDto, AnchorList};
use clap::{Args, Subcommand};

use crate::app::core_client::CoreClient;
use crate::cli::output::exit_code::{CommandResult, DONE};
use crate::cli::output::screen::Screen;
use crate::cli::output::sentences::one_line;
use crate::config::Config;

/// Commands about anchors.
#[derive(Debug, Subcommand)]
pub(crate) enum AnchorCommand {
    /// List the places, how far their copies go, and what is wrong with one.
    List,
    /// Copy each checkpoint to one more place.
    #[command(subcommand)]
    Add(AnchorKind),
    /// Copy checkpoints to a place no longer. The file stays as it is.
    Remove(RemoveArgs),
}

/// What kind of place it is.
#[derive(Debug, Subcommand)]
pub(crate) enum AnchorKind {
    /// A file, best on another disk. It is made where there is none; an existing one must end with a checkpoint of this
    /// log.
    File(FileArgs),
}

#[derive(Debug, Args)]
pub(crate) struct FileArgs {
    /// The file that gets the copies.
    #[arg(value_name = "PATH")]
    path: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct RemoveArgs {
    /// The number of the anchor, as `list` shows it.
    #[arg(value_name = "ID")]
    id: u32,
}

pub(super) async fn run(command: AnchorCommand, config: &Config, screen: &Screen) -> CommandResult {
    let core = CoreClient::attach(config)?;
    match command {
        AnchorCommand::List => list(&core.request("audit.anchors", &Nothing {}).await?, screen),
        AnchorCommand::Add(AnchorKind::File(FileArgs { path })) => add(&core, path, screen).await,
        AnchorCommand::Remove(RemoveArgs { id }) => {
            let left: AnchorList = core.request("audit.removeAnchor", &OneAnchor { id }).await?;
            if screen.is_json() {
                return screen.json(&left);
            }
            screen.line(&format!("Checkpoints are not copied to anchor {id} any more; its file stays."));
            Ok(DONE)
        }
    }
}

async fn add(core: &CoreClient, path: PathBuf, screen: &Screen) -> CommandResult {
    // The core has another working folder.
    let path = std::path::absolute(&path).unwrap_or(path);
    let Some(path) = path.to_str().map(str::to_owned) else {
        return Err(ApiError::new(
            api::Code::Usage,
            format!("`{}` is not UTF-8", path.display()),
            "Choose a path of ordinary letters.",
        ));
    };
    let added: AnchorDto = core.request("audit.addAnchor", &AddAnchor { path }).await?;
    if screen.is_json() {
        return screen.json(&added);
    }
    screen.line(&one_line(&added.sentence()));
    if added.is_beside_registry {
        screen.note(
            "This file is on the disk of the registry: whoever can change one can change the other. Another disk, or a \
             folder that somebody else owns, proves more.",
        );
    }
    Ok(DONE)
}

fn list(all: &AnchorList, screen: &Screen) -> CommandResult {
    if screen.is_json() {
        return screen.json(all);
    }
    if all.anchors.is_empty() {
        screen.line("Checkpoints are not copied anywhere. `taskwarden audit anchors add file PATH` names a place.");
    }
    for anchor in &all.anchors {
        screen.line(&one_line(&anchor.sentence()));
    }
    Ok(DONE)
}
