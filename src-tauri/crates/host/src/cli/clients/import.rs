//! `taskwarden clients import`: shows what each server runs, asks once per server, and imports those that were agreed to.
//!
//! Values that a file leaves open come from the environment of this command or from a prompt, never from arguments. The
//! core reads the files again and refuses what changed meanwhile.

use std::collections::BTreeMap;

use api::calls::clients::import::{ImportList, ImportPick, ImportServers, ImportedServer};
use api::dto::client::{ClientDto, ClientServerDto, ClientVariableDto, EntryStateDto, ImportStateDto};
use api::{ApiError, Code};
use clap::Args;

use super::{FolderArgs, found};
use crate::app::core_client::CoreClient;
use crate::cli::input::prompt;
use crate::cli::output::exit_code::{CommandResult, DONE};
use crate::cli::output::screen::Screen;
use crate::cli::output::sentences::one_line;
use crate::cli::servers::consent;
use crate::config::Config;

/// Servers to import.
#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// Import from this agent program only, by its word such as `claude-code`.
    client: Option<String>,
    /// Show what would be imported, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Agree to all servers without being asked.
    #[arg(long, short)]
    yes: bool,
    /// Import entries too that are disabled in their program. Taskwarden runs them all the same.
    #[arg(long)]
    disabled: bool,
    #[command(flatten)]
    folder: FolderArgs,
}

/// One server that may be imported, with the program and the file in which it was found first.
struct Offer<'a> {
    client: &'a ClientDto,
    path: &'a str,
    server: &'a ClientServerDto,
}

pub(super) async fn import(input: ImportArgs, config: &Config, screen: &Screen) -> CommandResult {
    let core = CoreClient::attach(config)?;
    let list = found(&input.folder, &core).await?;
    let mut clients: Vec<&ClientDto> = list.clients.iter().collect();
    if let Some(word) = &input.client {
        clients.retain(|client| client.client == *word);
        if clients.is_empty() {
            return Err(super::no_such_client(word, &list));
        }
    }
    let (left_out, offers): (Vec<Offer<'_>>, Vec<Offer<'_>>) =
        offers(&clients).into_iter().partition(|offer| offer.server.disabled && !input.disabled);
    if !left_out.is_empty() {
        let names: Vec<String> = left_out.iter().map(|offer| one_line(&offer.server.name)).collect();
        screen.note_to_people(&format!(
            "Left out, because their program does not start them: {}. `--disabled` imports them too.",
            names.join(", ")
        ));
    }
    if input.dry_run && screen.is_json() {
        return screen.json(&offers.iter().map(|offer| offer.server).collect::<Vec<_>>());
    }
    if offers.is_empty() && !screen.is_json() {
        screen.line("There is nothing to import. `taskwarden clients list` shows the state of each server.");
        return Ok(DONE);
    }
    if !input.dry_run && !input.yes && !offers.is_empty() && !screen.can_ask() {
        return Err(ApiError::new(
            Code::Refused,
            "nothing was imported: nobody agreed",
            "Run it in a terminal, or look at `taskwarden clients import --dry-run` and pass `--yes`.",
        ));
    }
    let mut picks = Vec::new();
    for offer in &offers {
        if input.dry_run || !input.yes {
            show(offer, screen);
        }
        if !input.dry_run
            && let Some(pick) = picked(offer, input.yes, screen).await?
        {
            picks.push(pick);
        }
    }
    if input.dry_run {
        screen.line("Nothing was imported.");
        return Ok(DONE);
    }
    let input = ImportServers { folder: input.folder.input().folder, picks };
    let done: ImportList = core.request("clients.import", &input).await?;
    report(&done, screen)
}

/// Each server once, however many files it stands in.
fn offers<'a>(clients: &[&'a ClientDto]) -> Vec<Offer<'a>> {
    let mut offers: Vec<Offer<'a>> = Vec::new();
    for client in clients {
        for file in &client.files {
            for server in file.servers.iter().filter(|server| server.state == EntryStateDto::New) {
                if offers.iter().all(|offer| offer.server.server != server.server) {
                    offers.push(Offer { client, path: &file.path, server });
                }
            }
        }
    }
    offers
}

fn show(offer: &Offer<'_>, screen: &Screen) {
    let Offer { client, path, server } = offer;
    let also =
        if server.also_in.is_empty() { String::new() } else { format!(", also in {}", server.also_in.join(", ")) };
    screen.note(&format!("\n{}, in {}{also}", client.label, one_line(path)));
    if let (Some(name), Some(address)) = (&server.server, &server.address) {
        consent::show(name, address, screen);
    }
    if server.disabled {
        screen.note("  disabled     in its program; Taskwarden runs it all the same");
    }
    if !server.variables.is_empty() {
        let names: Vec<String> = server.variables.iter().map(|variable| one_line(&variable.name)).collect();
        screen.note(&format!("  asks for     {}", names.join(", ")));
    }
}

/// The entry with all its values, if the person agrees.
async fn picked(offer: &Offer<'_>, agrees: bool, screen: &Screen) -> Result<Option<ImportPick>, ApiError> {
    let Offer { path, server, .. } = offer;
    let name = one_line(server.server.as_deref().unwrap_or(&server.name));
    let question = format!("Import `{name}`, and run or contact it whenever the core runs?");
    if !agrees && !prompt::yes(&question).await? {
        return Ok(None);
    }
    let mut values = BTreeMap::new();
    for variable in &server.variables {
        match value_of(variable, screen).await? {
            Some(value) => values.insert(variable.name.clone(), value),
            None => {
                screen.warning(&format!(
                    "`{name}` is left out: `{}` has no value. Set it in your environment, or type it when asked.",
                    one_line(&variable.name)
                ));
                return Ok(None);
            }
        };
    }
    let fingerprint = server.fingerprint.clone().unwrap_or_default();
    Ok(Some(ImportPick { path: (*path).to_owned(), place: server.place.clone(), fingerprint, values }))
}

/// The value of a variable: from the environment, typed, or what it is usually.
async fn value_of(variable: &ClientVariableDto, screen: &Screen) -> Result<Option<String>, ApiError> {
    let given = std::env::var(&variable.name).ok().filter(|value| variable.environment && !value.is_empty());
    if given.is_some() {
        return Ok(given);
    }
    if !screen.can_ask() {
        return Ok(variable.default.clone());
    }
    let name = one_line(&variable.name);
    let typed = match (variable.secret, &variable.default) {
        (true, _) => prompt::hidden(&format!("Value of {name} (not shown): ")).await?,
        (false, Some(usual)) => prompt::line(&format!("Value of {name} [{}]: ", one_line(usual))).await?,
        (false, None) => prompt::line(&format!("Value of {name}: ")).await?,
    };
    Ok(typed.filter(|value| !value.is_empty()).or_else(|| variable.default.clone()))
}

fn report(done: &ImportList, screen: &Screen) -> CommandResult {
    let is_refused = |server: &&ImportedServer| server.state == ImportStateDto::Refused;
    if screen.is_json() {
        screen.json(done)?;
        return Ok(if done.servers.iter().any(|server| is_refused(&server)) { Code::Refused.exit() } else { DONE });
    }
    for server in &done.servers {
        let known = server.server.as_deref().unwrap_or_default();
        match server.state {
            ImportStateDto::Added => screen.line(&format!("Imported `{known}`.")),
            ImportStateDto::Known => screen.line(&format!("`{known}` is in Taskwarden already.")),
            ImportStateDto::Refused => {
                let why = server.why.as_deref().map(one_line).unwrap_or_default();
                screen.warning(&format!("`{}` was not imported: {why}", one_line(&server.name)));
            }
        }
    }
    if done.servers.is_empty() {
        screen.line("Nothing was imported.");
    }
    match done.servers.iter().find(is_refused) {
        None => Ok(DONE),
        Some(refused) => Err(ApiError::new(
            Code::Refused,
            format!("`{}` was not imported", one_line(&refused.name)),
            "`taskwarden clients list` shows the state of each server; run the import again when it is mended.",
        )),
    }
}
