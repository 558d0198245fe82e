//! `taskwarden clients`: agent programs that are installed here, and the servers in their files.
//!
//! The core reads the files; here is only what is shown and asked.

mod import;
mod route;

use anstyle::AnsiColor;
use api::calls::clients::{ClientList, ReadClients};
use api::dto::client::{ClientDto, ClientServerDto, EntryStateDto};
use api::format::time;
use api::suggestion::did_you_mean;
use api::{ApiError, Code};
use clap::{Args, Subcommand};

use super::output::screen::Screen;
use super::output::sentences::one_line;
use super::output::table::{self, TableCell, TableLayout, text, toned};
use super::servers::address_line;
use crate::app::core_client::CoreClient;
use crate::cli::output::exit_code::{CommandResult, DONE};
use crate::config::Config;

/// Commands about agent programs.
#[derive(Debug, Subcommand)]
pub(crate) enum ClientsCommand {
    /// List the agent programs that are found, and the servers in their files.
    List(FolderArgs),
    /// Import servers from the files of agent programs. Shows what each one runs, and asks.
    Import(import::ImportArgs),
    /// Route the imported servers of a program through Taskwarden. Shows the lines of its files that change, and asks.
    Route(route::RouteArgs),
    /// Take the routes of a program back.
    Undo(route::UndoArgs),
}

/// The project whose files are read.
#[derive(Debug, Args)]
pub(crate) struct FolderArgs {
    /// The project whose files are read as well. Default: the current folder.
    #[arg(long, value_name = "FOLDER")]
    folder: Option<String>,
}

impl FolderArgs {
    /// What is asked of the core, which does not know the current folder.
    fn input(&self) -> ReadClients {
        let folder = match &self.folder {
            Some(folder) => std::path::absolute(folder).ok(),
            None => std::env::current_dir().ok(),
        };
        ReadClients { folder: folder.and_then(|folder| folder.into_os_string().into_string().ok()) }
    }
}

pub(crate) async fn run(command: ClientsCommand, config: &Config, screen: &Screen) -> CommandResult {
    match command {
        ClientsCommand::List(folder) => list(&folder, config, screen).await,
        ClientsCommand::Import(input) => import::import(input, config, screen).await,
        ClientsCommand::Route(input) => route::route(input, config, screen).await,
        ClientsCommand::Undo(input) => route::undo(input, config, screen).await,
    }
}

async fn found(folder: &FolderArgs, core: &CoreClient) -> Result<ClientList, ApiError> {
    core.request("clients.list", &folder.input()).await
}

fn no_such_client(word: &str, list: &ClientList) -> ApiError {
    let words = list.clients.iter().map(|client| client.client.as_str());
    let hint =
        did_you_mean(word, words).unwrap_or_else(|| "`taskwarden clients list` lists those that were found.".into());
    ApiError::new(Code::NotFound, format!("no files of `{}` were found", one_line(word)), hint)
}

async fn list(folder: &FolderArgs, config: &Config, screen: &Screen) -> CommandResult {
    let core = CoreClient::attach(config)?;
    let list = found(folder, &core).await?;
    if screen.is_json() {
        return screen.json(&list);
    }
    if list.clients.is_empty() {
        screen.line("No agent program was found. `taskwarden agents add` prints settings for any program.");
        return Ok(DONE);
    }
    for client in &list.clients {
        print(client, screen);
    }
    Ok(DONE)
}

fn print(client: &ClientDto, screen: &Screen) {
    let servers = client.files.iter().flat_map(|file| &file.servers);
    let count = u64::try_from(servers.clone().count()).unwrap_or(u64::MAX);
    let routed = servers.filter(|server| server.state == EntryStateDto::Routed).count();
    let routed = if routed == 0 { String::new() } else { format!(", {routed} routed through Taskwarden") };
    screen.line(&format!("{} ({}): {}{routed}", client.label, client.client, time::count(count, "server")));
    for file in &client.files {
        screen.line(&format!("  {}", one_line(&file.path)));
        if let Some(problem) = &file.problem {
            screen.warning(&format!("this file cannot be used: {}", one_line(problem)));
        }
        for drift in &file.drift {
            screen.warning(&format!("this file changed since it was routed: {}", one_line(drift)));
        }
        if file.servers.is_empty() {
            continue;
        }
        let rows = file.servers.iter().map(row).collect();
        let layout = TableLayout {
            header: &["  NAME", "STATE", "IN TASKWARDEN", "WHAT"],
            cut: &["WHAT"],
            spare: &["IN TASKWARDEN"],
        };
        table::print(screen, layout, rows);
    }
}

fn row(server: &ClientServerDto) -> Vec<TableCell> {
    let what = match (&server.why, &server.address) {
        (Some(why), _) => one_line(why),
        (None, Some(address)) => address_line(address),
        (None, None) => String::new(),
    };
    let also =
        if server.also_in.is_empty() { String::new() } else { format!("also in {}; ", server.also_in.join(", ")) };
    let off = if server.disabled { "disabled; " } else { "" };
    let folder = server.folder.as_ref().map(|folder| format!("in {}; ", one_line(folder))).unwrap_or_default();
    vec![
        text(format!("  {}", one_line(&server.name))),
        match server.state {
            EntryStateDto::New => text("not imported"),
            EntryStateDto::Known => toned("imported", AnsiColor::Blue),
            EntryStateDto::Routed => toned("routed", AnsiColor::Green),
            EntryStateDto::Unresolved => toned("cannot be imported", AnsiColor::Yellow),
        },
        text(server.server.clone().filter(|_| server.state != EntryStateDto::New).unwrap_or_else(|| "-".into())),
        text(format!("{off}{also}{folder}{what}")),
    ]
}
