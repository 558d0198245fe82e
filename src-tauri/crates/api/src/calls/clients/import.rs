//! Imports servers from the files of agent programs, each after a person saw what it runs.
//!
//! The agreement is bound to the fingerprint that was shown: what changed in the file meanwhile is refused and shown
//! again. Values of secrets go from the file into the vault and are never part of a reply. The files stay as they are.

use std::collections::BTreeMap;

use domain::ids::ServerId;
use domain::ports::ServerUnit;
use domain::server::{Server, ServerAddress};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::ImportNames;
use super::files::{ClientEntry, ClientFile, EntryReading, HiddenValues};
use super::known::KnownServers;
use super::launch::ClientLaunch;
use crate::api::Api;
use crate::caller::Caller;
use crate::calls::servers::{added, check_address, forget_secrets, keep_secrets, new_server, with_full_path};
use crate::dto::client::ImportStateDto;
use crate::error::ApiError;

/// Servers to import. Has no `Debug`: it carries secrets.
#[derive(Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ImportServers {
    /// The project whose files were read as well.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub folder: Option<String>,
    pub picks: Vec<ImportPick>,
}

/// One entry of a file that a person agreed to. Has no `Debug`: it carries secrets.
#[derive(Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ImportPick {
    pub path: String,
    /// The keys that lead to it in the file.
    pub place: Vec<String>,
    /// What the person was shown and agreed to.
    pub fingerprint: String,
    /// Values that the file leaves open, by the names of its variables.
    #[serde(default)]
    #[ts(optional, type = "Record<string, string>")]
    pub values: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ImportList {
    /// What became of each pick, in their order.
    pub servers: Vec<ImportedServer>,
}

/// What became of one pick.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ImportedServer {
    /// The last key of its place: the name in its file.
    pub name: String,
    pub state: ImportStateDto,
    /// Its name in Taskwarden; null where it was refused.
    pub server: Option<String>,
    /// Why it was refused, as a sentence; null otherwise.
    pub why: Option<String>,
}

/// An entry that was found again where the person saw it.
#[derive(Clone, Copy)]
struct Found<'a> {
    file: &'a ClientFile,
    entry: &'a ClientEntry,
    launch: &'a ClientLaunch,
}

impl Api {
    /// Imports servers that a person agreed to. One that is refused leaves the others alone.
    ///
    /// # Errors
    /// When no core runs or the registry cannot be read.
    pub async fn client_import(&self, caller: &Caller, input: ImportServers) -> Result<ImportList, ApiError> {
        let files = self.client_files(input.folder.as_deref()).await?;
        let mut servers = Vec::with_capacity(input.picks.len());
        for pick in input.picks {
            let name = pick.place.last().cloned().unwrap_or_default();
            let refused = |why: String| ImportedServer {
                name: name.clone(),
                state: ImportStateDto::Refused,
                server: None,
                why: Some(why),
            };
            servers.push(match self.import_one(caller, &files, &pick).await {
                Ok((state, server)) => ImportedServer { name: name.clone(), state, server: Some(server), why: None },
                Err(why) => refused(why),
            });
        }
        Ok(ImportList { servers })
    }

    /// Imports one entry; the error is a sentence for the person.
    async fn import_one(
        &self,
        caller: &Caller,
        files: &[ClientFile],
        pick: &ImportPick,
    ) -> Result<(ImportStateDto, String), String> {
        let live = self.live().map_err(|error| error.message)?;
        let (file, entry) = found(files, pick).ok_or("it is not in the file any more")?;
        let launch = match &entry.reading {
            EntryReading::Direct(launch) => launch,
            EntryReading::Routed { .. } => return Err("it is routed through Taskwarden already".into()),
            EntryReading::Unresolved(why) => return Err(why.clone()),
        };
        let shown = with_full_path(live, launch.address.clone());
        if shown.fingerprint() != pick.fingerprint {
            return Err("its entry changed since you agreed; look at it again".into());
        }
        let known = self.known_servers().await.map_err(|error| error.message)?;
        if let Some(server) = known.of(live, &file.path, launch) {
            return Ok((ImportStateDto::Known, server.name.clone()));
        }
        let (state, server) = self.import_launch(caller, &known, Found { file, entry, launch }, &pick.values).await?;
        self.remember_import(&known, server.id, &file.path, launch).await.map_err(|error| error.message)?;
        Ok((state, server.name))
    }

    /// The server with the values that the person gave: one that is there already, or a new one.
    async fn import_launch(
        &self,
        caller: &Caller,
        known: &KnownServers,
        found: Found<'_>,
        values: &BTreeMap<String, String>,
    ) -> Result<(ImportStateDto, Server), String> {
        let live = self.live().map_err(|error| error.message)?;
        let Found { file, entry, launch } = found;
        let (address, secrets) =
            launch.filled(values).map_err(|variable| format!("`{}` has no value", variable.name))?;
        let address = with_full_path(live, address);
        if let Some(server) = known.equal(live, &address, &secrets) {
            return Ok((ImportStateDto::Known, server.clone()));
        }
        let name = ImportNames::new(&known.servers).name(&entry.name, file, launch);
        let server = self.add_imported(caller, name, address, &secrets).await?;
        Ok((ImportStateDto::Added, server))
    }

    async fn add_imported(
        &self,
        caller: &Caller,
        name: String,
        address: ServerAddress,
        secrets: &HiddenValues,
    ) -> Result<Server, String> {
        let live = self.live().map_err(|error| error.message)?;
        check_address(&address, &secrets.0).map_err(|error| error.message)?;
        let id = ServerId::from_random((live.draw)());
        keep_secrets(live, id, &secrets.0).map_err(|error| error.message)?;
        let server = new_server(id, name, address, caller, self.now());
        let unit = ServerUnit { audit: added(&server, caller, self.now()), server: server.clone() };
        if let Err(error) = self.registry.put_server(unit).await {
            forget_secrets(live, id, secrets.0.keys());
            return Err(error.to_string());
        }
        live.engine.server_changed(id).await.map_err(|error| error.to_string())?;
        Ok(server)
    }
}

fn found<'a>(files: &'a [ClientFile], pick: &ImportPick) -> Option<(&'a ClientFile, &'a ClientEntry)> {
    let file = files.iter().find(|file| file.path.to_str() == Some(pick.path.as_str()))?;
    let entry = file.entries.iter().find(|entry| entry.place == pick.place)?;
    Some((file, entry))
}
