//! `taskwarden audit anchors`: places to which the core copies each checkpoint.
//!
//! Only asks and prints; the core looks at a place before it writes there.

use std::path::PathBuf;

use api::ApiError;
use api::calls::Nothing;
use api::calls::core::anchors::{AddAnchor, AddCollectorAnchor, OneAnchor};
use api::dto::core::anchor::{AnchorDto, AnchorKind, AnchorList};
use clap::{Args, Subcommand};

use super::sinks::header_values;
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
    Add(AddedPlace),
    /// Copy checkpoints to a place no longer. What lies there stays as it is.
    Remove(RemoveArgs),
}

/// What kind of place it is.
#[derive(Debug, Subcommand)]
pub(crate) enum AddedPlace {
    /// A file, best on another disk. It is made where there is none; an existing one must end with a checkpoint of this
    /// log.
    File(FileArgs),
    /// A git repository: each checkpoint is a commit on its branch `taskwarden-checkpoints`.
    Git(GitArgs),
    /// A collector over OTLP/HTTP: each checkpoint is a log record, which proves something once somebody gets it back.
    Otlp(CollectorArgs),
}

#[derive(Debug, Args)]
pub(crate) struct CollectorArgs {
    /// The address of the collector, to which `/v1/logs` is added. `http` only on this machine.
    #[arg(value_name = "URL")]
    url: String,
    /// The name of an HTTP header with a secret value, such as `Authorization`. The value is read from this environment
    /// variable, or asked for.
    #[arg(long = "header", value_name = "NAME[=VARIABLE]")]
    headers: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct FileArgs {
    /// The file that gets the copies.
    #[arg(value_name = "PATH")]
    path: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct GitArgs {
    /// The folder of the repository, with a working tree or bare.
    #[arg(value_name = "REPO")]
    repository: PathBuf,
    /// Push each commit to this remote, by its name in the repository.
    #[arg(long, value_name = "REMOTE")]
    push: Option<String>,
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
        AnchorCommand::Add(AddedPlace::File(FileArgs { path })) => {
            let path = whole_path(path)?;
            let place = AddAnchor { path, kind: AnchorKind::File, remote: None };
            show(&core.request("audit.addAnchor", &place).await?, screen)
        }
        AnchorCommand::Add(AddedPlace::Git(GitArgs { repository, push })) => {
            let path = whole_path(repository)?;
            let place = AddAnchor { path, kind: AnchorKind::Git, remote: push };
            show(&core.request("audit.addAnchor", &place).await?, screen)
        }
        AnchorCommand::Add(AddedPlace::Otlp(CollectorArgs { url, headers })) => {
            let headers = header_values(&headers, screen).await?;
            show(&core.request("audit.addCollectorAnchor", &AddCollectorAnchor { url, headers }).await?, screen)
        }
        AnchorCommand::Remove(RemoveArgs { id }) => {
            let left: AnchorList = core.request("audit.removeAnchor", &OneAnchor { id }).await?;
            if screen.is_json() {
                return screen.json(&left);
            }
            screen.line(&format!("Checkpoints are not copied to anchor {id} any more; what lies there stays."));
            Ok(DONE)
        }
    }
}

/// The core has another working folder.
fn whole_path(path: PathBuf) -> Result<String, ApiError> {
    let path = std::path::absolute(&path).unwrap_or(path);
    path.to_str().map(str::to_owned).ok_or_else(|| {
        let why = format!("`{}` is not UTF-8", path.display());
        ApiError::new(api::Code::Usage, why, "Choose a path of ordinary letters.")
    })
}

/// A place after the first copy.
fn show(added: &AnchorDto, screen: &Screen) -> CommandResult {
    if screen.is_json() {
        return screen.json(added);
    }
    screen.line(&one_line(&added.sentence()));
    if added.is_beside_registry {
        let more = match added.kind {
            AnchorKind::File => "Another disk, or a folder that somebody else owns, proves more.",
            AnchorKind::Git => "A remote that somebody else keeps proves more: `--push REMOTE`.",
            AnchorKind::Otlp => "A collector on another machine proves more.",
        };
        screen.note(&format!(
            "This place is on the disk of the registry: whoever can change one can change the other. {more}"
        ));
    }
    if added.kind == AnchorKind::Otlp {
        screen.note(if added.trouble.is_some() {
            "`taskwarden audit anchors list` shows how it goes on; `taskwarden audit anchors remove ID` ends it."
        } else {
            "What it keeps is not read back: get the records from it, and `taskwarden audit verify --anchor FILE` compares \
             them with the log."
        });
    }
    Ok(DONE)
}

fn list(all: &AnchorList, screen: &Screen) -> CommandResult {
    if screen.is_json() {
        return screen.json(all);
    }
    if all.anchors.is_empty() {
        screen.line("Checkpoints are not copied anywhere. `taskwarden audit anchors add` names a place.");
    }
    for anchor in &all.anchors {
        screen.line(&one_line(&anchor.sentence()));
    }
    Ok(DONE)
}
