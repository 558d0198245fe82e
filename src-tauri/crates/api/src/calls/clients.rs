//! Agent programs that people already have: which are there, and which servers stand in their files.
//!
//! Reading is here, importing servers is in `import.rs`, routing them through Taskwarden in `route.rs`. Files are read by the host behind
//! `files.rs`; nothing is contacted or started.

pub mod files;
pub mod import;
mod known;
pub mod launch;
pub mod route;
pub mod undo;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use domain::server::{Server, ServerAddress, check_server_name};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use self::files::{ClientEntry, ClientFile, EntryReading, FileScope};
use self::known::{KnownServers, identity};
use self::launch::{ClientLaunch, LaunchVariable};
use super::servers::with_full_path;
use crate::api::{Api, LiveCore};
use crate::caller::Caller;
use crate::dto::AddressDto;
use crate::dto::client::{ClientDto, ClientFileDto, ClientServerDto, ClientVariableDto, EntryStateDto, FileScopeDto};
use crate::error::ApiError;
use crate::lookup::short;

/// Where to look for agent programs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReadClients {
    /// A project whose files are read as well; only the user's files when left out.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub folder: Option<String>,
}

/// The agent programs that were found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ClientList {
    pub clients: Vec<ClientDto>,
}

impl ClientList {
    /// Adds a file to those of its program.
    fn add(&mut self, file: &ClientFile, servers: Vec<ClientServerDto>, drift: Vec<String>) {
        let shown = ClientFileDto {
            path: file.path.display().to_string(),
            scope: file.scope.into(),
            problem: file.problem.clone(),
            drift,
            servers,
        };
        match self.clients.iter_mut().find(|client| client.client == file.client) {
            Some(client) => client.files.push(shown),
            None => {
                let (client, label) = (file.client.into(), file.label.into());
                self.clients.push(ClientDto { client, label, files: vec![shown] });
            }
        }
    }
}

/// A file that does not stand as it was routed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct DriftedFile {
    /// The program's word.
    pub client: String,
    pub path: String,
    /// What is different, a sentence without a full stop for each entry.
    pub said: Vec<String>,
}

impl Api {
    /// Which agent programs are there, their servers, and what can be done with each.
    ///
    /// # Errors
    /// When no core runs or the registry cannot be read. A file that cannot be read is a state, not an error.
    pub async fn client_list(&self, _caller: &Caller, input: ReadClients) -> Result<ClientList, ApiError> {
        let files = self.client_files(input.folder.as_deref()).await?;
        let mut list = self.client_list_of(&files).await?;
        self.add_drift(&mut list).await?;
        Ok(list)
    }

    pub(super) async fn client_files(&self, folder: Option<&str>) -> Result<Vec<ClientFile>, ApiError> {
        Ok(self.live()?.client_files.read(folder.map(PathBuf::from)).await)
    }

    /// Says of each file what does not stand in it as it was routed; also of one that was not read, because it is gone, or
    /// belongs to another project.
    async fn add_drift(&self, list: &mut ClientList) -> Result<(), ApiError> {
        let live = self.live()?;
        for DriftedFile { client, path, said } in self.check_routes().await? {
            let clients = list.clients.iter_mut().filter(|known| known.client == client);
            let mut files = clients.flat_map(|known| &mut known.files);
            if let Some(file) = files.find(|file| file.path == path) {
                file.drift.extend(said);
            } else if let Some(file) = live.client_files.known_file(&client, Path::new(&path)) {
                list.add(&file, Vec::new(), said);
            }
        }
        Ok(())
    }

    /// Files that do not stand as they were routed. Also finds out how far routes of an earlier run came, and removes
    /// copies of files that are old. Nothing is written into a file.
    ///
    /// # Errors
    /// When no core runs or the registry cannot be read.
    pub async fn check_routes(&self) -> Result<Vec<DriftedFile>, ApiError> {
        let live = self.live()?;
        let _one = self.changing_files.lock().await;
        live.client_files.remove_old_backups().await;
        let mut drifted = Vec::new();
        for route in self.settle_routes().await? {
            let path = PathBuf::from(&route.path);
            let said = match live.client_files.drift(route.client.clone(), path, route::secret(&route.changes)).await {
                Ok(said) => said,
                Err(why) => vec![why],
            };
            if !said.is_empty() {
                drifted.push(DriftedFile { client: route.client, path: route.path, said });
            }
        }
        Ok(drifted)
    }

    async fn client_list_of(&self, files: &[ClientFile]) -> Result<ClientList, ApiError> {
        let live = self.live()?;
        let known = self.known_servers().await?;
        let mut naming = ImportNames::new(&known.servers);
        let mut list = ClientList { clients: Vec::new() };
        for file in files {
            let entries = file.entries.iter();
            let servers = entries.map(|entry| entry_dto(live, files, file, entry, &known, &mut naming)).collect();
            list.add(file, servers, Vec::new());
        }
        Ok(list)
    }
}

fn entry_dto(
    live: &LiveCore,
    files: &[ClientFile],
    file: &ClientFile,
    entry: &ClientEntry,
    known: &KnownServers,
    naming: &mut ImportNames,
) -> ClientServerDto {
    let empty = ClientServerDto {
        name: entry.name.clone(),
        place: entry.place.clone(),
        folder: entry.folder.clone(),
        disabled: entry.disabled,
        state: EntryStateDto::Unresolved,
        why: None,
        server: None,
        address: None,
        fingerprint: None,
        variables: Vec::new(),
        also_in: Vec::new(),
    };
    match &entry.reading {
        EntryReading::Unresolved(why) => ClientServerDto { why: Some(why.clone()), ..empty },
        EntryReading::Routed { server, .. } => {
            let why = match server {
                Some(name) if known.servers.iter().all(|server| server.name != *name) => {
                    Some(format!("Taskwarden has no server `{name}`"))
                }
                Some(_) | None => None,
            };
            ClientServerDto { state: EntryStateDto::Routed, server: server.clone(), why, ..empty }
        }
        EntryReading::Direct(launch) => {
            let address = with_full_path(live, launch.address.clone());
            let known = known.of(live, &file.path, launch);
            if let (None, Some(why)) = (known, not_found(&address)) {
                return ClientServerDto { why: Some(why), ..empty };
            }
            let (state, server) = match known {
                Some(server) => (EntryStateDto::Known, server.name.clone()),
                None => (EntryStateDto::New, naming.name(&entry.name, file, launch)),
            };
            ClientServerDto {
                state,
                server: Some(server),
                fingerprint: Some(address.fingerprint()),
                address: Some(AddressDto::from(&address)),
                variables: launch.variables.iter().map(ClientVariableDto::from).collect(),
                also_in: also_in(files, file.client, launch),
                ..empty
            }
        }
    }
}

/// What is said of a command that is not on this machine, as far as its name is known.
fn not_found(address: &ServerAddress) -> Option<String> {
    match address {
        ServerAddress::Stdio { command, .. } if !command.starts_with('/') && !command.contains('$') => {
            Some(format!("the program `{}` was not found in the search path of the core", short(command)))
        }
        ServerAddress::Stdio { .. } | ServerAddress::Http { .. } => None,
    }
}

/// Other programs in whose files the very same server stands.
fn also_in(files: &[ClientFile], client: &str, launch: &ClientLaunch) -> Vec<String> {
    let has_it = |entry: &ClientEntry| matches!(&entry.reading, EntryReading::Direct(other) if **other == *launch);
    let others = files.iter().filter(|file| file.client != client && file.entries.iter().any(has_it));
    let words: BTreeSet<&str> = others.map(|file| file.client).collect();
    words.into_iter().map(str::to_owned).collect()
}

/// Gives names to servers that are imported: their own where that is free, and one for the same server in two files.
pub(super) struct ImportNames {
    /// With what each of them means, where it stands in a file.
    taken: BTreeMap<String, Option<String>>,
}

impl ImportNames {
    pub(super) fn new(servers: &[Server]) -> Self {
        Self { taken: servers.iter().map(|server| (server.name.clone(), None)).collect() }
    }

    pub(super) fn name(&mut self, entry: &str, file: &ClientFile, launch: &ClientLaunch) -> String {
        let means = Some(identity(&file.path, launch));
        let same = self.taken.iter().find(|(_, taken)| **taken == means);
        if let Some((name, _)) = same {
            return name.clone();
        }
        let plain = server_name(entry);
        let with_client = server_name(&format!("{plain}-{}", file.client));
        let numbered = (2_u32..).map(|number| server_name(&format!("{with_client}-{number}")));
        let mut names = [plain.clone(), with_client.clone()].into_iter().chain(numbered);
        // The numbers do not end before a name is free.
        let name = names.find(|name| !self.taken.contains_key(name)).unwrap_or(plain);
        self.taken.insert(name.clone(), means);
        name
    }
}

/// A name that a server may have, as near as possible to that of the entry.
fn server_name(entry: &str) -> String {
    /// What a name may have at most (`check_server_name`).
    const CHARS: usize = 40;
    let lower = entry.to_lowercase();
    let plain: String = lower
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() || "._-".contains(letter) { letter } else { '-' })
        .collect();
    let name = plain.trim_matches('-');
    // The end of a long name holds what tells it from another.
    let from = name.char_indices().rev().nth(CHARS.saturating_sub(1)).map_or(0, |(at, _)| at);
    let name = name.get(from..).unwrap_or_default().to_owned();
    if check_server_name(&name).is_ok() { name } else { "server".into() }
}

impl From<FileScope> for FileScopeDto {
    fn from(scope: FileScope) -> Self {
        match scope {
            FileScope::User => Self::User,
            FileScope::Project => Self::Project,
        }
    }
}

impl From<&LaunchVariable> for ClientVariableDto {
    fn from(variable: &LaunchVariable) -> Self {
        Self {
            name: variable.name.clone(),
            environment: variable.is_environment,
            secret: variable.is_secret,
            default: variable.default.clone(),
        }
    }
}
